"""The gate: what a candidate lost against a baseline, and golden cases of single documents."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from extractbench_nb.core import Accepted, Evaluation, evaluate
from extractbench_nb.core.frames import TEXT, Column, DescribedFrames, FrameSpec, ScoredResult
from extractbench_nb.core.values import canonical, read_document
from extractbench_nb.errors import InputError, nearest
from extractbench_nb.runs import (
    content_digest,
    first_difference,
    load_evaluations,
    scoring_digest,
)
from extractbench_nb.stats.breakdowns import complete_rows, join_rows, summary_of
from extractbench_nb.stats.compare import MEASURES, Comparison, compare_runs
from extractbench_nb.stats.intervals import check_share, number, with_range
from extractbench_nb.support.cards import TextCard
from extractbench_nb.support.files import write_texts
from extractbench_nb.support.model_json import readable_output
from extractbench_nb.support.wording import (
    cut,
    document_json,
    markdown_cell,
    one_line,
    plural,
    value_text,
)

__tracebackhide__ = True  # pytest shows the test that failed

#: Verdicts on all documents, on a field, and on a document; the last two with the worst first.
VERDICTS = ("pass", "fail", "inconclusive")
CHANGES = ("regressed", "unknown", "lower", "higher", "improved")
DOCUMENT_VERDICTS = (
    "regressed",
    "only_baseline",
    "unknown",
    "improved",
    "only_candidate",
    "same",
)
#: Scores that differ by less are equal.
SAME = 1e-9
_SIDES, _TIMES = ("baseline", "candidate"), ("was", "is")

REGRESSION_COLUMNS = FrameSpec(
    "fields",
    "one row per field and metric that differs, worst first",
    (
        Column("document", "string", "document id"),
        Column("path", "string", "instance path with gold's index"),
        Column("field", "string", "path without indices"),
        Column("metric", "string", "metric id", nullable=True),
        Column("counted", "bool", "whether the node enters the field-level scores"),
        Column("verdict", "string", "kind of change", ", ".join(CHANGES)),
        Column("score_was", "Float64", "score in the baseline", "0 to 1", True),
        Column("score_is", "Float64", "score in the candidate", "0 to 1", True),
        Column("outcome_was", "string", "outcome in the baseline, if any", "", True),
        Column("outcome_is", "string", "outcome in the candidate, if any", nullable=True),
        Column("reason", "string", "reason code in the candidate", nullable=True),
        Column("gold", "object", "gold value", nullable=True),
        Column("was", "object", "value in the baseline; None also if missing", nullable=True),
        Column("is", "object", "value in the candidate; None also if missing", nullable=True),
    ),
)

DOCUMENT_COLUMNS = FrameSpec(
    "by_document",
    "one row per document of either side, largest drop first",
    (
        Column("document", "string", "document id"),
        Column("verdict", "string", "kind of change in the score", ", ".join(DOCUMENT_VERDICTS)),
        Column("valid_was", "boolean", "whether the baseline's output is JSON", nullable=True),
        Column("valid_is", "boolean", "whether the candidate's output is JSON", nullable=True),
        Column("was", "Float64", "score in the baseline; 0 if invalid", "0 to 1", True),
        Column("is", "Float64", "score in the candidate; 0 if invalid", "0 to 1", True),
        Column("difference", "Float64", "is - was", "-1 to 1", True),
        Column("regressed", "int64", "counted rows of `fields` that regressed", "0 and up"),
        Column("improved", "int64", "counted rows of `fields` that improved", "0 and up"),
        Column("unknown", "int64", "counted nodes without a verdict, both sides", "0 and up"),
    ),
)

#: Rows that a text lists, and a Markdown summary; characters of a cell there.
_SHOWN, _LISTED, _LONGEST = 10, 25, 60
_HEADS = ("document", "field", "was", "is", "gold", "value was", "value is")


@dataclass(frozen=True, repr=False, eq=False)
class Regressions(TextCard, DescribedFrames):
    """The changes from a baseline to a candidate. Made by `regressions`.

    Attributes
    ----------
    verdict : str
        ``pass``, ``fail`` or ``inconclusive``; `regressions` defines them.
    reason : str
        The verdict in a sentence.
    measure : str
        The score that decides.
    runs : tuple of str
        Names of the two runs, the baseline's first.
    comparison : Comparison
        The interval and the test, as `compare_runs` gives them.
    notes : tuple of str
        What was left out of the comparison, or limits what it shows.
    fields : pandas.DataFrame
        One row per field and metric that differs, worst first.
    by_document : pandas.DataFrame
        One row per document of either side, the largest drop first.
    """

    _specs = (REGRESSION_COLUMNS, DOCUMENT_COLUMNS)

    verdict: str
    reason: str
    measure: str
    runs: tuple[str, str]
    comparison: Comparison
    notes: tuple[str, ...]
    fields: pd.DataFrame
    by_document: pd.DataFrame

    @property
    def summary(self) -> pd.Series:
        """Mean scores, their difference as in `compare_runs`, and counts, as floats.

        ``regressed``, ``improved`` and so on count documents, ``fields_regressed`` and
        ``fields_improved`` counted rows of `fields`.
        """
        row = self.comparison.differences.iloc[0]
        names = {"was": "mean_a", "is": "mean_b", "difference": "b_minus_a"}
        names |= {name: name for name in ("low", "high", "p_value", "detectable", "documents")}
        verdicts = self.by_document["verdict"].value_counts()
        entries = {
            **{name: row[column] for name, column in names.items()},
            **{name: verdicts.get(name, 0) for name in DOCUMENT_VERDICTS},
            **{f"fields_{n}": self.by_document[n].sum() for n in ("regressed", "improved")},
        }
        return pd.Series({n: np.nan if pd.isna(v) else float(v) for n, v in entries.items()})

    def to_markdown(self) -> str:
        """Write a summary for a pull request, with the first 25 rows that regressed.

        Returns
        -------
        str
            Markdown that fits into a comment on GitHub. Text of documents and models is escaped.
        """
        lines = [f"### Extraction gate: {self.verdict}\n", f"{markdown_cell(self.reason, 1_000)}\n"]
        lines.append(self._counts() + "\n")
        # a zero-width space: GitHub would notify the user that a document's name mentions
        lines += [f"- {markdown_cell(note, 400).replace('@', '@&#8203;')}" for note in self.notes]
        rows = self._listed()
        if len(rows):
            lines.append(f"\n| {' | '.join(_HEADS)} |\n{'|---' * len(_HEADS)}|")
        for row in rows.head(_LISTED).to_dict("records"):
            # in code, GitHub makes neither links nor mentions of a text
            cells = [f"<code>{markdown_cell(c, _LONGEST)}</code>" if c else "" for c in _cells(row)]
            cells[2:4] = _cells(row)[2:4]
            lines.append(f"| {' | '.join(cells)} |")
        if len(rows) > _LISTED:
            lines.append(f"\nListed: {_LISTED} of {plural(len(rows), 'row')}.")
        return "\n".join(lines) + "\n"

    def __repr__(self) -> str:
        """Write the verdict, scores, notes and the worst regressions."""
        names = " to ".join(one_line(name, 40) for name in self.runs)
        lines = [f"Regressions from {names}: {self.verdict}", one_line(self.reason, 1_000)]
        lines += [self._counts(), *(one_line(note, 400) for note in self.notes)]
        rows = self._listed()
        for row in rows.head(_SHOWN).to_dict("records"):
            document, path, was, is_, _, *values = _cells(row)
            before, after = (one_line(text, 60) or "nothing" for text in values)
            where = f"{one_line(document, 60)} {one_line(path, 80)}"
            lines.append(f"  {one_line(f'{where}: {was} -> {is_}: {before} -> {after}', 240)}")
        if len(rows) > _SHOWN:
            lines.append(f"listed: {_SHOWN} of {plural(len(rows), 'row')}; fields has all")
        return "\n  ".join(lines)

    def _listed(self) -> pd.DataFrame:
        """Return the rows that regressed, without those of outputs that are not read any more."""
        is_broken = self.fields["reason"].eq("invalid_output").fillna(value=False)
        return self.fields[self.fields["verdict"].eq("regressed") & ~is_broken.astype(bool)]

    def _counts(self) -> str:
        rows = self._listed()
        text = plural(len(rows), "row") + " regressed"
        if len(rows) < (self.fields["verdict"] == "regressed").sum():
            text += " in outputs that are still JSON"
        fields, documents = rows["field"].nunique(), rows["document"].nunique()
        where = f": {plural(fields, 'field')} in {plural(documents, 'document')}"
        return text + (where if len(rows) else "")


def _cells(row: Mapping[Any, Any]) -> list[str]:
    """Return the texts of a row: document, path, both sides, gold and both values."""
    values = [row[name] for name in ("gold", *_TIMES)]
    types = {type(value) for value in values if value is not None}
    write = canonical if len(types - {float}) > 1 else value_text  # quotes tell types apart
    texts = [
        "" if v is None else plural(len(v), "item") if isinstance(v, list) and v else write(v)
        for v in values
    ]
    return [row["document"], row["path"], *(_verdict(row, time) for time in _TIMES), *texts]


def _verdict(row: Mapping[Any, Any], time: str) -> str:
    """Write outcome and score of one side."""
    outcome, score = row[f"outcome_{time}"], row[f"score_{time}"]
    text = "absent" if pd.isna(outcome) else str(outcome)
    return text if pd.isna(score) else f"{text} {score:.3g}"


# --- the comparison ---------------------------------------------------------------------------


def regressions(  # noqa: PLR0913 - options of one statistic, all keyword-only
    baseline: ScoredResult | str | Path,
    evs: ScoredResult | str | Path,
    *,
    run: str | None = None,
    baseline_run: str | None = None,
    measure: str | None = None,
    max_drop: float = 0.02,
    confidence: float = 0.95,
    resamples: int = 9999,
    seed: int = 0,
) -> Regressions:
    """Compare a candidate with a baseline, field by field, and decide whether it got worse.

    Parameters
    ----------
    baseline, evs : ScoredResult, str or pathlib.Path
        Results of `evaluate_runs` or ``evaluate_tables``, anything with `rows` and `scores`, or the
        folder of saved ones. Both must be made with the same schemas, gold and settings.
    run, baseline_run : str, optional
        The runs to compare, required if there are several. By default, `baseline_run` has the same
        name as `run`.
    measure : str, optional
        The score that determines the verdict; by default ``pass_rate`` or, for tables, their first
        measure.
    max_drop : float, optional
        The largest acceptable drop in its mean over documents, from 0 to 1.
    confidence, resamples, seed : optional
        As in `compare_runs`.

    Returns
    -------
    Regressions
        ``.verdict``, ``.summary``, and the changes in ``.fields`` and ``.by_document``.

    Raises
    ------
    InputError
        The two were evaluated with other inputs or settings, a run must be chosen or is unknown, no
        document can be compared, or an option is out of range.

    Notes
    -----
    The verdict depends on the mean of `measure` over the documents of both sides:

    - ``fail``: the score dropped by more than `max_drop`, and the paired sign-flip test shows that
      there is a drop at all (p is at most 1 - `confidence` for the null hypothesis of a drop of
      zero, not of `max_drop`). If the candidate lacks outputs, the verdict is ``fail`` as well.
    - ``pass``: the interval of the difference excludes a drop of `max_drop`, or nothing differs.
    - ``inconclusive``: neither, often because there are too few documents for their spread. With
      fewer than six, there is no interval, and no test can be significant.

    Documents in which a judge gave no verdict on a counted node are left out. Outputs that are not
    JSON score 0. Uncounted rows that occur on one side only are not listed.

    Examples
    --------
    >>> from extractbench_nb.runs import evaluate_runs
    >>> schema = {"type": "object", "properties": {"year": {"type": "integer"}}}
    >>> def evaluated(years):
    ...     rows = [("run", f"d{i}", {"year": year}) for i, year in enumerate(years)]
    ...     runs = pd.DataFrame(rows, columns=["run", "document", "predicted"])
    ...     given = {"schema": [schema] * len(runs), "gold": [{"year": 2024}] * len(runs)}
    ...     return evaluate_runs(runs.assign(**given), progress=False)
    >>> found = regressions(evaluated([2024] * 8), evaluated([2024, 2024] + [2025] * 6))
    >>> found.verdict, found.summary[["difference", "p_value"]].tolist()
    ('fail', [-0.75, 0.03125])
    >>> found.fields.loc[0, ["document", "path", "verdict", "was", "is"]].tolist()
    ['d2', '$.year', 'regressed', 2024, 2025]
    """
    check_share("max_drop", max_drop)
    sources = [_loaded(baseline, "baseline"), _loaded(evs, "evs")]
    outputs = [_with_names(summary_of(source)) for source in sources]
    names = [list(frame["run"].unique()) for frame in outputs]
    candidate = _chosen(names[1], run, "run", "the candidate", None)
    runs = _chosen(names[0], baseline_run, "baseline_run", "the baseline", candidate), candidate
    if sources[0] is sources[1] and runs[0] == runs[1]:
        raise InputError(
            f"baseline and evs are the same results, and both runs are {runs[0]!r}: nothing is "
            "compared; name another one with baseline_run="
        )
    if measure is None:
        measure = str(getattr(type(sources[1]), "measures", MEASURES)[0])
    for source in sources:
        if measure not in (known := list(source.scores["measure"].unique())):
            raise InputError(f"measure={measure!r}; {nearest(measure, known)}")
    was, is_ = (_outputs(*one, measure) for one in zip(outputs, runs, strict=True))
    common = sorted(set(was.index) & set(is_.index))
    if not common:
        raise InputError("baseline and evs have no document in common")
    rows = [_rows(source, run) for source, run in zip(sources, runs, strict=True)]
    joined = _joined(*(side[side["document"].isin(common)] for side in rows))
    _refuse_other_settings(sources)
    _refuse_other_gold(joined)
    _refuse_other_schemas(sources, (was, is_), common)
    fields = _changed_fields(joined)
    documents = _changed_documents(was, is_, rows, fields)
    compared = documents.loc[documents["difference"].notna(), "document"].tolist()
    if not compared:
        raise InputError(
            f"{measure} is known of no document on both sides: a judge gave no verdict on a "
            "counted node; evaluate_runs(..., resume=folder) asks it again"
        )
    tables = {
        name: side.loc[compared].assign(**{measure: side["score"]}).reset_index()
        for name, side in zip(_SIDES, (was, is_), strict=True)
    }
    drawing: dict[str, Any] = {"confidence": confidence, "resamples": resamples, "seed": seed}
    comparison = compare_runs(tables, measures=measure, baseline="baseline", **drawing)
    lost = int((documents["verdict"] == "only_baseline").sum())
    difference = comparison.differences.iloc[0]
    verdict = decide(difference, max_drop, complete=not lost)
    reason = _reason(difference, verdict, max_drop, comparison.drawing.percent, lost)
    notes = tuple(_notes(documents, len(compared)))
    return Regressions(verdict, reason, measure, runs, comparison, notes, fields, documents)


def decide(difference: Mapping[Any, Any] | pd.Series, max_drop: float, *, complete: bool) -> str:
    """Decide on a row of `Comparison.differences`; `complete`: the candidate lacks no output."""
    if not complete or _fell(difference, max_drop):
        return "fail"
    low = difference["low"]
    is_excluded = max_drop >= 1 or (not pd.isna(low) and low >= -max_drop - SAME)
    return "pass" if is_excluded or not _differs(difference) else "inconclusive"


def _fell(difference: Mapping[Any, Any] | pd.Series, max_drop: float) -> bool:
    return bool(difference["significant"] and -difference["b_minus_a"] > max_drop + SAME)


def _differs(difference: Mapping[Any, Any] | pd.Series) -> bool:
    return bool(difference["a_higher"] or difference["b_higher"])


def _reason(row: pd.Series, verdict: str, max_drop: float, percent: str, lost: int) -> str:
    change = with_range(row["b_minus_a"], row["low"], row["high"], sign=True)
    text = (
        f"{row['measure']} {number(row['mean_a'])} -> {number(row['mean_b'])}: {change} ({percent} "
        f"interval), p {number(row['p_value'], 4)}, {plural(int(row['documents']), 'document')}."
    )
    if lost:
        have = "has" if lost == 1 else "have"
        text += f" {plural(lost, 'document')} of the baseline {have} no output in the candidate."
    if _fell(row, max_drop):
        return f"{text} The drop is larger than {max_drop:g} and not explained by chance."
    if verdict == "inconclusive":
        return f"{text} A drop by more than {max_drop:g} can be neither shown nor excluded."
    if verdict == "pass" and _differs(row):
        return f"{text} A drop by more than {max_drop:g} can be excluded."
    return text + (" No document has another score." if verdict == "pass" else "")


_FEWEST, _NAMED = 6, 5


def _notes(documents: pd.DataFrame, compared: int) -> Iterable[str]:
    is_new = (~documents["valid_is"] & documents["valid_was"]).fillna(value=False)
    verdicts = documents["verdict"]
    for which, noun, text in (
        (
            verdicts == "only_baseline",
            "document",
            " of the baseline without output in the candidate",
        ),
        (verdicts == "only_candidate", "document", " only in the candidate, not compared"),
        (
            verdicts == "unknown",
            "document",
            " left out, because a judge gave no verdict on a field",
        ),
        (is_new, "output", " unreadable now, scored 0"),
    ):
        names = documents.loc[which, "document"].tolist()
        listed = [one_line(name, 40) for name in names[:_NAMED]] + ["…"] * (len(names) > _NAMED)
        if names:
            yield f"{plural(len(names), noun)}{text}: {', '.join(listed)}"
    if compared < _FEWEST:
        yield (
            f"{plural(compared, 'document')}: with fewer than {_FEWEST} no test can show a drop at "
            "a confidence of 0.95"
        )


# --- what is compared -------------------------------------------------------------------------


def _loaded(source: object, name: str) -> ScoredResult:
    source = load_evaluations(source) if isinstance(source, str | Path) else source
    if not isinstance(source, ScoredResult):
        raise InputError(
            f"{name} is {type(source).__name__}; expected the results of evaluate_runs or of "
            "evaluate_tables, or the folder of saved ones"
        )
    return source


def _with_names(frame: pd.DataFrame) -> pd.DataFrame:
    """Name runs and documents that have no name."""
    ids = {name: frame[name].astype(TEXT).fillna("unnamed") for name in ("run", "document")}
    return frame.assign(**ids)


def _chosen(names: list[str], run: str | None, option: str, side: str, like: str | None) -> str:
    """Return the run to compare: the one asked for, the one with a name, or the only one."""
    if run is not None and str(run) not in names:
        raise InputError(f"{option}={run!r} is not in {side}; {nearest(str(run), names)}")
    if run is None and like not in names and len(names) > 1:
        listed = ", ".join(repr(cut(name, 40)) for name in names[:6])
        raise InputError(f"{side} has {len(names)} runs; choose one with {option}=: {listed}")
    return str(run if run is not None else like if like in names else names[0])


def _outputs(outputs: pd.DataFrame, run: str, measure: str) -> pd.DataFrame:
    """Return the outputs of a run by document, with the `score` that decides."""
    chosen = outputs[(outputs["run"] == run).to_numpy()].set_index("document")
    if not chosen.index.is_unique:
        twice = chosen.index[chosen.index.duplicated()][0]
        raise InputError(f"run {run!r} has document {twice!r} twice; tell runs apart by `run`")
    valid = chosen.get("valid", chosen.get("readable", True))
    chosen = chosen.assign(valid=valid, schema=chosen.get("schema"))
    score = chosen[measure].astype("Float64").where(chosen["valid"].to_numpy(dtype=bool), 0.0)
    return chosen.assign(score=score)


_ROW = [
    *("document", "path", "field", "metric", "counted", "inner", "gold_state"),
    *("outcome", "score", "passed", "reason", "gold", "predicted"),
]


def _rows(source: Any, run: str) -> pd.DataFrame:
    """Return the rows of a run; `inner` ones are of items, which their array's row has too."""
    rows = _with_names(complete_rows(source.rows))
    rows = rows[(rows["run"] == run).to_numpy()]
    is_inner = rows["field"].str.contains("[]", regex=False).astype(bool)
    return rows.assign(inner=is_inner & hasattr(source, "arrays"))[_ROW]


def _joined(*sides: pd.DataFrame) -> pd.DataFrame:
    """Join rows of both sides, the nth of equal keys with the nth; `side` tells who has a row."""
    was, is_ = (rows.assign(at=np.arange(len(rows))) for rows in sides)
    how: Any = {"how": "outer", "suffixes": ("_was", "_is"), "indicator": "side"}
    joined = join_rows(was, is_, ["document", "path", "metric"], **how)
    joined["side"] = joined["side"].astype(str)
    return joined.sort_values(["document", "at_is", "at_was"], kind="stable", ignore_index=True)


def _refuse(what: str) -> None:
    raise InputError(f"the baseline was evaluated with {what}; evaluate one of them again")


def _settings(source: ScoredResult) -> dict[str, Any]:
    meta = dict(getattr(source, "meta", {}))
    plain = {name: meta[name] for name in ("profile", "judge", "variant") if name in meta}
    return dict(meta.get("settings", plain))


def _refuse_other_settings(sources: list[ScoredResult]) -> None:
    """Raise `InputError` that names the first other metric or setting."""
    was, is_ = map(_settings, sources)
    codes = was.pop("metrics", None) or {}, is_.pop("metrics", None) or {}
    for name in sorted({*codes[0]} & {*codes[1]}):
        if codes[0][name] != codes[1][name]:
            _refuse(f"other code of the metric {name!r}")
    names = {*was, *is_} - {"accepted"}  # of a document, see `_refuse_other_schemas`
    for name in sorted(names, key=lambda name: (name.endswith("_options"), name)):
        if was.get(name) != is_.get(name):
            what = name.removesuffix("_options")
            what, old, new = first_difference(what, was.get(name), is_.get(name))
            _refuse(f"{what} {cut(repr(old), 80)}, the candidate with {cut(repr(new), 80)}")


def _refuse_other_gold(joined: pd.DataFrame) -> None:
    """Raise `InputError` that names the first field with other gold or another metric."""
    outside = joined[~joined["inner_is"].fillna(joined["inner_was"]).astype(bool)]
    has_gold = outside["gold_state_was"].eq("present") | outside["gold_state_is"].eq("present")
    for row in outside[has_gold.to_numpy(bool, na_value=False)].to_dict("records"):
        where = f"document {row['document']!r}: "
        if row["side"] != "both":
            has, lacks = _SIDES if row["side"] == "left_only" else _SIDES[::-1]
            raise InputError(
                f"{where}{row['path']} is scored by {row['metric']} in the {has} and not in the "
                f"{lacks}, so gold, schema or metrics differ; evaluate the baseline again"
            )
        was, is_ = canonical(row["gold_was"]), canonical(row["gold_is"])
        if was != is_:
            raise InputError(
                f"{where}gold at {row['path']} is {cut(was, 60)} in the baseline and "
                f"{cut(is_, 60)} in the candidate; evaluate the baseline again with this gold"
            )


def _refuse_other_schemas(
    sources: list[ScoredResult], sides: Iterable[pd.DataFrame], common: list[str]
) -> None:
    """Raise `InputError` that names the first document with other accepted values or schema."""
    accepted, schemas = [], []
    for source, side in zip(sources, sides, strict=True):
        accepted.append(_settings(source).get("accepted") or {})
        digests = getattr(source, "meta", {}).get("schemas", {})
        schemas.append([set(digests.get(label, ())) for label in side.loc[common, "schema"]])
    for document, was, is_ in zip(common, *schemas, strict=True):
        if accepted[0].get(document) != accepted[1].get(document):
            _refuse(f"other accepted alternatives for document {document!r}")
        # a label may stand for several schemas, and one side for fewer documents
        if was and is_ and not (was <= is_ or is_ <= was):
            _refuse(f"another schema for document {document!r}")


# --- changes ----------------------------------------------------------------------------------


def _changed_fields(joined: pd.DataFrame) -> pd.DataFrame:
    """Return the rows that differ, with their verdicts.

    A counted row that only one side has is invented: it fails.
    """
    verdicts = [joined[f"passed_{time}"].astype("boolean") for time in _TIMES]
    known = [side.notna().to_numpy() for side in verdicts]
    passes = [side.fillna(value=False).to_numpy(bool) for side in verdicts]
    fails = [known[n] & ~passes[n] for n in (0, 1)]
    both = joined["side"].eq("both").to_numpy()
    counted = (joined["counted_was"].eq(True) | joined["counted_is"].eq(True)).to_numpy()
    judged, alone = both & known[0] & known[1], ~both & counted
    scores = [joined[f"score_{time}"].astype("Float64") for time in _TIMES]
    rise = (scores[1] - scores[0]).to_numpy(np.float64, na_value=0.0)
    cases = {
        "unknown": both & (known[0] != known[1]),
        "regressed": (judged & passes[0] & fails[1]) | (alone & fails[1]),
        "improved": (judged & fails[0] & passes[1]) | (alone & fails[0]),
        "lower": judged & (rise < -SAME),
        "higher": judged & (rise > SAME),
    }
    is_missing = joined["side"].eq("left_only")  # in the candidate
    changes = joined.rename(
        columns={"predicted_was": "was", "predicted_is": "is", "reason_is": "reason"}
    ).assign(
        **{n: joined[f"{n}_is"].mask(is_missing, joined[f"{n}_was"]) for n in ("field", "gold")},
        counted=counted,
        verdict=np.select(list(cases.values()), list(cases), default=""),
        rise=(scores[1].fillna(0.0) - scores[0].fillna(0.0)).astype(np.float64).round(12),
        inner=~counted,
    )
    changes = changes[changes["verdict"] != ""]
    ranked = changes.assign(rank=changes["verdict"].map(CHANGES.index))
    order = ["rank", "inner", "rise", "document"]
    return REGRESSION_COLUMNS.from_records(ranked.sort_values(order, kind="stable"))


def _changed_documents(
    was: pd.DataFrame, is_: pd.DataFrame, rows: list[pd.DataFrame], fields: pd.DataFrame
) -> pd.DataFrame:
    """Return the documents of both sides; one without all verdicts has no difference."""
    names = pd.Index(dict.fromkeys([*was.index, *is_.index]), name="document")
    has_was, has_is = (names.isin(side.index) for side in (was, is_))
    was, is_ = was.reindex(names), is_.reindex(names)
    open_rows = [side[side["counted"].astype(bool) & side["passed"].isna()] for side in rows]
    open_nodes = pd.concat([side.drop_duplicates(["document", "path"]) for side in open_rows])
    counts = fields[fields["counted"]].groupby("verdict")["document"].value_counts()
    gap = (is_["score"] - was["score"]).astype(float)
    table = pd.DataFrame(
        {
            **{n: [counts.get((n, d), 0) for d in names] for n in ("regressed", "improved")},
            "valid_was": was["valid"],
            "valid_is": is_["valid"],
            "was": was["score"],
            "is": is_["score"],
            "unknown": open_nodes["document"].value_counts().reindex(names, fill_value=0),
        }
    )
    is_open = (table["unknown"] > 0) | gap.isna()
    table["difference"] = gap.mask(is_open)
    table["verdict"] = np.select(
        [~has_was, ~has_is, is_open, gap.abs() <= SAME, gap > 0],
        ["only_candidate", "only_baseline", "unknown", "same", "improved"],
        default="regressed",
    )
    table["rank"] = table["verdict"].map(DOCUMENT_VERDICTS.index)
    table = table.sort_values(["rank", "difference"], kind="stable").reset_index()
    return DOCUMENT_COLUMNS.from_records(table)


# --- golden cases -----------------------------------------------------------------------------

GOLD, SCHEMA, BASELINE = "gold.json", "schema.json", "baseline.json"
_FORMAT, _UPDATE = 1, "run pytest --update-baseline"
_MOST, _WIDEST = 20, 100
_GOOD = ("correct", "both_absent")
_STORED = ["path", "metric", "outcome", "score", "predicted"]


class GoldenError(AssertionError):
    """An output is worse than the baseline of its golden case, or there is no baseline."""


@dataclass(frozen=True, repr=False)
class GoldenCase:
    """A golden case: a folder with gold, a schema and the stored baseline.

    The pytest fixture ``golden`` gives one by name.

    Attributes
    ----------
    name : str
        Its path in the folder of cases.
    folder : pathlib.Path
        Where ``gold.json`` and ``baseline.json`` are, and whatever else the case needs.
    root : pathlib.Path
        The folder of all cases. A case without ``schema.json`` has that of the nearest folder
        above it, up to here.
    update : bool
        Whether `check` writes a new baseline.
    record : callable
        Takes the names and values of what is recorded in a JUnit report.
    """

    name: str
    folder: Path
    root: Path
    update: bool = False
    record: Callable[[str, object], None] = lambda _name, _value: None

    @property
    def schema(self) -> Any:
        """The JSON Schema of the case."""
        above = (self.folder, *self.folder.parents)
        for folder in above[: above.index(self.root) + 1]:
            if (folder / SCHEMA).is_file():
                return _read(folder / SCHEMA, "schema")
        raise InputError(
            f"golden case {self.name!r} has no {SCHEMA}, neither in {str(self.folder)!r} nor above "
            f"it up to {str(self.root)!r}"
        )

    @property
    def gold(self) -> Any:
        """The correct output."""
        return _read(self.folder / GOLD, "gold")

    def check(
        self,
        output: Any,
        *,
        profile: Any = "strict",
        judge: Any = "offline",
        alignment: Any = "optimal",
        metrics: Any = None,
        accepted: Any = None,
    ) -> Evaluation:
        """Evaluate an output, and raise if a counted field is worse than in the baseline.

        Parameters
        ----------
        output : object
            The model's output: a value, a ``pathlib.Path`` (a file) or text, from which a code
            fence is removed, in a form that `as_scorer` accepts.
        profile, judge, alignment, metrics, accepted : object, optional
            See `evaluate`; the same as when the baseline was written. ``strict``, the default,
            counts every value inside arrays, and what the output invents.

        Returns
        -------
        Evaluation
            The result; nothing in it is worse than in the baseline.

        Raises
        ------
        GoldenError
            A field got worse or has no verdict; or there is no baseline, or it was made with other
            gold, another schema or other settings.
        InputError
            A file of the case cannot be read.
        """
        accepted = Accepted.read(accepted)
        how = {"profile": profile, "judge": judge, "alignment": alignment, "metrics": metrics}
        predicted = readable_output(output)
        ev = evaluate(self.schema, self.gold, predicted, accepted=accepted, **how)
        # what has to be equal for two results to be comparable
        about = {"schema": scoring_digest(self.schema), "gold": content_digest(self.gold)}
        about |= {name: str(ev.meta[name]) for name in ("profile", "judge", "alignment")}
        if metrics:  # `parse_schema` keeps them in the document
            about["metrics"] = scoring_digest(ev.inputs.schema.document)
        if accepted:
            about["accepted"] = content_digest([[one.path, one.value] for one in accepted])
        for name in MEASURES:
            self.record(f"{self.name}.{name}", round(float(ev.summary[name]), 6))
        rows = ev.fields[ev.fields["counted"]]
        if self.update:
            self._write(ev, rows, about)
            return ev
        changes = _changed_fields(_since_baseline(self._stored(about), rows))
        worse = changes[changes["verdict"].isin(("regressed", "unknown", "lower"))]
        self.record(f"{self.name}.regressed", len(worse))
        if len(worse):
            raise self._error(_message(ev, worse))
        if len(changes):
            self.record("golden_improved", self.name)
        return ev

    def __repr__(self) -> str:
        """Write the name; failures of tests show it."""
        return f"GoldenCase({self.name!r})"

    def _write(self, ev: Evaluation, rows: pd.DataFrame, about: dict[str, Any]) -> None:
        if ev.inputs.problem is not None:
            problem = one_line(ev.inputs.problem, 200)
            raise self._error(f": the output is not JSON, so it is no baseline: {problem}")
        if rows["score"].isna().any():
            raise self._error(": a judge gave no verdict; a baseline needs all of them")
        content = {
            "format": _FORMAT,
            **about,
            "scores": {name: round(float(ev.summary[name]), 6) for name in MEASURES},
            "fields": [  # all other counted fields pass with a score of 1; arrays are too long
                {**row, "predicted": None if isinstance(value, list) else document_json(value)}
                for row in rows[_STORED].to_dict("records")
                for value in [row["predicted"]]
                if row["score"] != 1 or row["outcome"] not in _GOOD
            ],
        }
        text = json.dumps(content, indent=1, ensure_ascii=True) + "\n"
        write_texts({self.folder / BASELINE: text})
        self.record("golden_updated", self.name)

    def _stored(self, about: dict[str, Any]) -> pd.DataFrame:
        """Read the rows of the baseline, and refuse one that was made from other inputs."""
        path = self.folder / BASELINE
        if not path.is_file():
            raise self._error(f" has no {BASELINE}; {_UPDATE}")
        stored = _read(path, "baseline")
        if not isinstance(stored, dict) or stored.get("format") != _FORMAT:
            raise InputError(f"{str(path)!r} is not a baseline of this version; {_UPDATE}")
        for name in (*about, "metrics", "accepted"):
            if stored.get(name) != about.get(name):
                other = f"{name} {stored.get(name)!r}, not with {about.get(name)!r}"
                if name in ("gold", "schema", "metrics", "accepted"):
                    other = f"other {name}" + (".json" if name in ("gold", "schema") else "=")
                raise self._error(f": the baseline was made with {other}; {_UPDATE}")
        try:
            rows = [[row[name] for name in _STORED] for row in stored["fields"]]
            return pd.DataFrame(rows, columns=_STORED, dtype=object).astype({"score": "Float64"})
        except (KeyError, TypeError, ValueError):
            raise InputError(f"{str(path)!r} is damaged; {_UPDATE}") from None

    def _error(self, text: str) -> GoldenError:
        return GoldenError(f"golden case {self.name!r}{text}")


def _since_baseline(stored: pd.DataFrame, rows: pd.DataFrame) -> pd.DataFrame:
    """Join stored rows and new ones; what is not stored passed, unless the output invents it."""
    stored = stored.assign(counted=True, passed=stored["outcome"].isin(_GOOD))
    sides = [side.assign(document="", inner=False).reindex(columns=_ROW) for side in (stored, rows)]
    joined = _joined(*sides)
    passed = joined["side"].eq("right_only") & joined["outcome_is"].ne("hallucination")
    was: dict[str, Any] = {"passed": True, "score": 1.0, "outcome": "correct", "counted": True}
    for name, value in was.items():
        joined[f"{name}_was"] = joined[f"{name}_was"].mask(passed, value)
    return joined.assign(side=joined["side"].mask(passed, "both"))


def _message(ev: Evaluation, worse: pd.DataFrame) -> str:
    """Name the fields that got worse, with gold, the stored value and the new one."""
    unknown = int(worse["verdict"].eq("unknown").sum())
    text = f": {plural(len(worse) - unknown, 'field')} worse than the baseline"
    lines = [text + (f", {plural(unknown, 'field')} without a verdict" if unknown else "")]
    if ev.inputs.problem is not None:
        lines.append(f"  the output is not JSON: {one_line(ev.inputs.problem, 200)}")
    for row in worse.head(_MOST).to_dict("records"):
        was, is_ = (_verdict(row, time) for time in _TIMES)
        lines.append(f"  {one_line(row['path'], _WIDEST)}: was {was}, is {is_}")
        names = ("gold", "was", "is") if row["was"] is not None else ("gold", "is")
        lines += [f"    {name:<4} {one_line(canonical(row[name]), _WIDEST)}" for name in names]
    if len(worse) > _MOST:
        lines.append(f"  ... {len(worse) - _MOST} more")
    return "\n".join([*lines, f"If this is intended: {_UPDATE}"])


def _read(path: Path, what: str) -> Any:
    """Read a file of a case; in an error pytest shows the test, and not this package."""
    try:
        return read_document(path, what)
    except InputError as error:
        raise error.with_traceback(None) from None
