"""`regressions`: what a candidate lost against a baseline, row by row, and whether it got worse."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from extractbench_nb.core.frames import TEXT, Column, DescribedFrames, FrameSpec, ScoredResult
from extractbench_nb.core.values import canonical
from extractbench_nb.errors import InputError, nearest
from extractbench_nb.runs import (
    first_difference,
    load_evaluations,
)
from extractbench_nb.stats.breakdowns import complete_rows, join_rows, summary_of
from extractbench_nb.stats.compare import MEASURES, Comparison, compare_runs
from extractbench_nb.stats.intervals import check_share, number, with_range
from extractbench_nb.support.cards import TextCard
from extractbench_nb.support.wording import (
    cut,
    markdown_cell,
    one_line,
    plural,
    value_text,
)

#: Verdicts on a field or an item, the worst first.
CHANGES = ("regressed", "unknown", "other_failure", "lower", "higher", "improved")
#: Verdicts on a document, the worst first.
DOCUMENT_VERDICTS = (
    "regressed",
    "only_baseline",
    "unknown",
    "improved",
    "only_candidate",
    "same",
)

_IDS = (
    Column("document", "string", "document id"),
    Column("domain", "string", "domain of the document, if known", nullable=True),
    Column("schema", "string", "schema id, or the schema's title or hash", nullable=True),
)

REGRESSION_COLUMNS = FrameSpec(
    "fields",
    "one row per field and metric, or array item, that differs; the worst first",
    (
        *_IDS,
        Column("path", "string", "instance path with gold's index; a spurious item: its array"),
        Column("field", "string", "path with the indices taken out"),
        Column("metric", "string", "metric id; missing for an item of an array", nullable=True),
        Column("counted", "bool", "whether the node enters the field-level scores"),
        Column("verdict", "string", "what became of it", ", ".join(CHANGES)),
        Column("score_was", "Float64", "score in the baseline", "0 to 1", True),
        Column("score_is", "Float64", "score in the candidate", "0 to 1", True),
        Column("outcome_was", "string", "outcome of the field, or status of the item", "", True),
        Column("outcome_is", "string", "the same in the candidate", nullable=True),
        Column("reason", "string", "why, in the candidate; missing for an item", nullable=True),
        Column("gold", "object", "gold's value", nullable=True),
        Column("was", "object", "value in the baseline; None also where missing", nullable=True),
        Column("is", "object", "value in the candidate; None also where missing", nullable=True),
    ),
)

DOCUMENT_COLUMNS = FrameSpec(
    "by_document",
    "one row per document of either side, the largest drop first",
    (
        *_IDS,
        Column("verdict", "string", "by its score", ", ".join(DOCUMENT_VERDICTS)),
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

#: Verdicts on a document without a difference.
_OPEN = ["only_baseline", "only_candidate", "unknown"]
_WHY = ["outcome", "reason"]
_RENAMED = {"predicted_was": "was", "predicted_is": "is", "reason_is": "reason"}

SIDES = ("baseline", "candidate")
_TIMES = ("was", "is")
#: Scores that differ by less are equal.
SAME = 1e-9


# --- regressions: the result ------------------------------------------------------------------

#: Verdicts on all documents together.
VERDICTS = ("pass", "fail", "inconclusive")


@dataclass(frozen=True, repr=False, eq=False)
class Regressions(TextCard, DescribedFrames):
    """What changed from a baseline to a candidate. Made by `regressions`; every frame is a copy.

    Attributes
    ----------
    verdict : str
        ``pass``, ``fail`` or ``inconclusive``; `regressions` defines them.
    reason : str
        The verdict in a sentence.
    measure : str
        The score that decides.
    max_drop : float
        The drop of its mean that is accepted, 0 to 1.
    runs : tuple of str
        Names of the two runs, the baseline's first.
    comparison : Comparison
        The interval and the test, as `compare_runs` gives them.
    notes : tuple of str
        What was left out of the comparison, or limits what it shows.
    """

    _specs = (REGRESSION_COLUMNS, DOCUMENT_COLUMNS)

    verdict: str
    reason: str
    measure: str
    max_drop: float
    runs: tuple[str, str]
    comparison: Comparison
    notes: tuple[str, ...]
    _fields: pd.DataFrame
    _by_document: pd.DataFrame

    @property
    def fields(self) -> pd.DataFrame:
        """One row per field and metric, or array item, that differs; the worst first."""
        return self._fields.copy()

    @property
    def by_document(self) -> pd.DataFrame:
        """One row per document of either side, the largest drop first."""
        return self._by_document.copy()

    @property
    def summary(self) -> pd.Series:
        """Scores and counts as floats: was, is, difference, low, high, p_value and others.

        ``was`` and ``is`` are means over the compared documents, ``low`` and ``high`` the ends of
        the interval of ``difference`` (NaN for a single document), ``detectable`` the true
        difference that is found with 80 % probability. ``regressed`` and ``improved`` count
        documents, ``fields_regressed`` and ``fields_improved`` counted rows of `fields`.
        """
        row = self.comparison.differences.iloc[0]
        verdicts = self._by_document["verdict"].value_counts()
        entries = {
            "was": row["mean_a"],
            "is": row["mean_b"],
            "difference": row["b_minus_a"],
            **{name: row[name] for name in ("low", "high", "p_value", "detectable", "documents")},
            **{name: verdicts.get(name, 0) for name in DOCUMENT_VERDICTS},
            "fields_regressed": self._by_document["regressed"].sum(),
            "fields_improved": self._by_document["improved"].sum(),
        }
        return pd.Series({n: np.nan if pd.isna(v) else float(v) for n, v in entries.items()})

    def to_markdown(self, *, most: int = 25) -> str:
        """Write a summary for a pull request.

        Parameters
        ----------
        most : int, optional
            Largest number of regressions to list, 0 and up.

        Returns
        -------
        str
            Markdown of at most 60,000 characters (a comment on GitHub takes 65,536). Text of
            documents and models is escaped.
        """
        head = f"### Extraction gate: {self.verdict}\n\n{markdown_cell(self.reason, 1_000)}\n"
        head += f"\n{self._counts()}\n"
        # a zero-width space: GitHub would notify the user that a document's name mentions
        notes = "".join(f"- {markdown_cell(note, 400)}\n" for note in self.notes)
        notes = notes.replace("@", "@&#8203;")
        rows = _listed(self._fields)
        table = [_MARKDOWN_HEAD] if len(rows) and most else []
        room = _MOST_CHARACTERS - len(head) - len(notes) - len(_MARKDOWN_HEAD) - _ROOM
        for row in rows.head(most).to_dict("records"):
            line = f"| {' | '.join(_markdown_cells(row))} |\n"
            room -= len(line)
            if room < 0:
                break
            table.append(line)
        listed = max(0, len(table) - 1)
        count = f"\nListed: {listed} of {plural(len(rows), 'row')}.\n" if listed < len(rows) else ""
        return "\n".join(part for part in (head, notes, "".join(table)) if part) + count

    def __repr__(self) -> str:
        """Write the verdict, scores, notes and the worst regressions."""
        rows = _listed(self._fields)
        names = " to ".join(one_line(name, 40) for name in self.runs)
        lines = [f"Regressions from {names}: {self.verdict}", one_line(self.reason, 1_000)]
        lines += [self._counts(), *(one_line(note, 400) for note in self.notes)]
        shown = rows.head(_SHOWN).to_dict("records")
        lines += [f"  {one_line(_change_text(row), 240)}" for row in shown]
        if len(rows) > _SHOWN:
            lines.append(f"listed: {_SHOWN} of {plural(len(rows), 'row')}; fields has all")
        return "\n  ".join(lines)

    def _counts(self) -> str:
        """Count the rows that regressed, and the fields and documents that they are of."""
        rows = _listed(self._fields)
        found = plural(len(rows), "row") + " regressed"
        if len(rows) < (self._fields["verdict"] == "regressed").sum():
            found += " in outputs that are still JSON"
        if rows.empty:
            return found
        fields, documents = rows["field"].nunique(), rows["document"].nunique()
        return f"{found}: {plural(fields, 'field')} in {plural(documents, 'document')}"


_SHOWN = 10
#: Of a summary; what its last line takes.
_MOST_CHARACTERS, _ROOM = 60_000, 100
_MARKDOWN_HEAD = (
    "| document | field | was | is | gold | value was | value is |\n|---|---|---|---|---|---|---|\n"
)
_LONGEST = 100


def _listed(fields: pd.DataFrame) -> pd.DataFrame:
    """Return the rows that regressed, without those of outputs that are not read any more."""
    is_listed = (fields["verdict"] == "regressed") & (fields["reason"] != "invalid_output").fillna(
        value=True
    )
    return fields[is_listed.to_numpy(dtype=bool)]


def _change_text(row: Mapping[Any, Any]) -> str:
    document, path, was, is_, _, *values = _cells(row)
    before, after = (one_line(text, 60) or "nothing" for text in values)
    where = f"{one_line(document, 60)} {one_line(path, 80)}"
    return f"{where}: {was} -> {is_}: {before} -> {after}"


def _cells(row: Mapping[Any, Any]) -> list[str]:
    """Return the texts of a row: document, path, both sides, gold and both values."""
    cells = [row["document"], row["path"]]
    for side in ("was", "is"):
        outcome, score = row[f"outcome_{side}"], row[f"score_{side}"]
        text = "absent" if pd.isna(outcome) else str(outcome)
        cells.append(text if pd.isna(score) else f"{text} {score:.3g}")
    values = [row[name] for name in ("gold", "was", "is")]
    types = {type(value) for value in values if value is not None}
    write = canonical if len(types - {float}) > 1 else value_text  # quotes tell types apart
    for value in values:
        if isinstance(value, list) and not pd.isna(row["metric"]):
            cells.append(plural(len(value), "item"))
        else:
            cells.append("" if value is None else write(value))
    return cells


def _markdown_cells(row: Mapping[Any, Any]) -> list[str]:
    """Escape the cells of a row; in code, GitHub makes neither links nor mentions of a text."""
    document, path, was, is_, *values = _cells(row)
    quoted = [markdown_cell(text, _LONGEST) for text in (document, path, *values)]
    code = [f"<code>{text}</code>" if text else "" for text in quoted]
    return [*code[:2], was, is_, *code[2:]]


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
        Results of `evaluate_runs`, of ``tables.evaluate_tables`` or
        ``construction.evaluate_tables``, or anything with `rows` and `scores`; or the folder of
        saved ones. Both must be made with the same schemas, gold, accepted alternatives, profile,
        judge, alignment and variant.
    run : str, optional
        The run of `evs` to compare; needed if it has several.
    baseline_run : str, optional
        The run of `baseline`. By default its only one, else the one with the name of the
        candidate's run.
    measure : str, optional
        The score that decides, a measure of `scores`. By default ``pass_rate``, and of tables the
        first of the ``measures`` that the results name.
    max_drop : float, optional
        The drop of its mean over documents that is accepted, 0 to 1.
    confidence : float, optional
        Of the interval and the test, between 0 and 1.
    resamples : int, optional
        Bootstrap resamples and sign flips, 100 and up.
    seed : int, optional
        The same seed gives the same result.

    Returns
    -------
    Regressions
        ``.verdict``, ``.summary``, and the changes in ``.fields`` and ``.by_document``.

    Raises
    ------
    InputError
        The two were evaluated with other schemas, gold, accepted alternatives or settings; a run
        must be chosen or is unknown; both sides are the same run of the same results; no document
        can be compared; or an option is out of range.

    Notes
    -----
    The verdict is about the mean of `measure` over the documents that both sides have:

    - ``fail``: the score fell by more than `max_drop`, and the paired sign-flip test shows that it
      fell at all (p at most 1 - `confidence` for a drop of zero, not of `max_drop`); or documents
      of the baseline have no output in the candidate.
    - ``pass``: a drop by more than `max_drop` can be excluded: the interval of the difference ends
      above it. Also if nothing differs.
    - ``inconclusive``: neither. The documents are too few for their spread.

    The score of fewer than six documents that differ never fails, since no test of so few is
    significant at 0.95, and fewer than six documents have no interval. Documents in which a judge
    gave no verdict on a counted node are left out. An output that is not JSON has a score of 0.

    Rows inside array items are compared if gold's item is paired on both sides. An item that only
    one side finds is a row of its own, and so is a spurious item that only one side has.

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
    outputs = [with_names(summary_of(source)) for source in sources]
    runs = [list(frame["run"].unique()) for frame in outputs]
    candidate = _chosen(runs[1], run, "run", "evs", None)
    names = _chosen(runs[0], baseline_run, "baseline_run", "baseline", candidate), candidate
    if sources[0] is sources[1] and names[0] == names[1]:
        raise InputError(
            f"baseline and evs are the same results, and both runs are {names[0]!r}: nothing is "
            "compared; name another one with baseline_run="
        )
    measure = _measure(sources, measure)
    _refuse_other_settings(sources)
    given = zip(sources, outputs, names, strict=True)
    sides = [Side.of(*one, measure) for one in given]
    common = sorted(set(sides[0].outputs.index) & set(sides[1].outputs.index))
    if not common:
        raise InputError("baseline and evs have no document in common")
    joined = join(sides, common)
    _refuse_other_gold(joined)
    _refuse_other_inputs(sources, sides, common)
    changes = row_changes(joined, sides)
    documents = document_changes(sides, changes)
    kept = documents.loc[documents["difference"].notna(), "document"].tolist()
    if not kept:
        raise InputError(
            f"{measure} is known of no document on both sides: a judge gave no verdict on a "
            "counted node; evaluate_runs(..., resume=folder) asks it again"
        )
    tables = {
        name: side.outputs.loc[kept].assign(**{measure: side.outputs["score"]}).reset_index()
        for name, side in zip(SIDES, sides, strict=True)
    }
    comparison = compare_runs(
        tables,
        measures=measure,
        baseline="baseline",
        confidence=confidence,
        resamples=resamples,
        seed=seed,
    )
    lost = int((documents["verdict"] == "only_baseline").sum())
    difference = comparison.differences.iloc[0]
    verdict = decide(difference, max_drop, complete=not lost)
    reason = _reason(difference, verdict, max_drop, comparison, lost)
    notes = tuple(_notes(documents, sources, len(kept)))
    return Regressions(
        verdict, reason, measure, float(max_drop), names, comparison, notes, changes, documents
    )


def decide(difference: Mapping[Any, Any] | pd.Series, max_drop: float, *, complete: bool) -> str:
    """Decide on a row of `Comparison.differences`; `complete`: the candidate lacks no output.

    The test is against a drop of zero: it says that the score fell, and the drop that was found
    says by how much. A true drop of just `max_drop` is found larger half of the time, so it fails
    up to half of the time, the more often the more documents there are.
    """
    if not complete or _fell(difference, max_drop):
        return "fail"
    low = difference["low"]
    is_excluded = max_drop >= 1 or (not pd.isna(low) and low >= -max_drop - SAME)
    nothing_differs = not difference["a_higher"] and not difference["b_higher"]
    return "pass" if is_excluded or nothing_differs else "inconclusive"


def _fell(difference: Mapping[Any, Any] | pd.Series, max_drop: float) -> bool:
    return bool(difference["significant"] and -difference["b_minus_a"] > max_drop + SAME)


# --- what is compared -------------------------------------------------------------------------


def _loaded(source: object, name: str) -> ScoredResult:
    source = load_evaluations(source) if isinstance(source, str | Path) else source
    if not isinstance(source, ScoredResult):
        raise InputError(
            f"{name} is {type(source).__name__}; expected the results of evaluate_runs or of "
            "evaluate_tables, or the folder of saved ones"
        )
    return source


def _chosen(names: list[str], run: str | None, option: str, side: str, like: str | None) -> str:
    """Return the run to compare."""
    if run is not None:
        if str(run) not in names:
            raise InputError(f"{option}={run!r} is not in {side}; {nearest(str(run), names)}")
        return str(run)
    if like in names or len(names) == 1:
        return str(like if like in names else names[0])
    listed = ", ".join(repr(cut(name, 40)) for name in names[:6])
    raise InputError(f"{side} has {len(names)} runs; choose one with {option}=: {listed}")


def _measure(sources: list[ScoredResult], asked: str | None) -> str:
    """Return the measure that decides, which both sides have."""
    if asked is None:
        asked = str(getattr(type(sources[1]), "measures", MEASURES)[0])
    known = [list(source.scores["measure"].unique()) for source in sources]
    if lacking := [names for names in known if asked not in names]:
        raise InputError(f"measure={asked!r}; {nearest(asked, lacking[0])}")
    return asked


def _meta(source: Any) -> dict[str, Any]:
    return dict(getattr(source, "meta", {}))


def _settings(source: ScoredResult) -> dict[str, Any]:
    """Return what the verdicts of a result depend on."""
    meta = _meta(source)
    plain = {name: meta[name] for name in ("profile", "judge", "variant") if name in meta}
    return dict(meta.get("settings", plain))


def _refuse_other_settings(sources: list[ScoredResult]) -> None:
    """Raise `InputError` that names the first setting in which the two differ."""
    was, is_ = map(_settings, sources)
    codes = [settings.pop("metrics", None) or {} for settings in (was, is_)]
    for name in sorted(set(codes[0]) & set(codes[1])):
        if codes[0][name] != codes[1][name]:
            raise InputError(
                f"metric {name!r} of the baseline has other code than that of the candidate; "
                "evaluate the baseline again"
            )
    names = {*was, *is_} - {"accepted"}  # compared for the common documents
    for name in sorted(names, key=lambda name: (name.endswith("_options"), name)):
        if was.get(name) != is_.get(name):
            what = name.removesuffix("_options")
            what, old, new = first_difference(what, was.get(name), is_.get(name))
            raise InputError(
                f"the baseline was evaluated with {what} {cut(repr(old), 80)}, the candidate with "
                f"{cut(repr(new), 80)}; evaluate one of them again"
            )


def _refuse_other_inputs(sources: list[ScoredResult], sides: list[Side], common: list[str]) -> None:
    """Raise `InputError` that names a document with other alternatives or another schema."""
    accepted = [_settings(source).get("accepted", {}) for source in sources]
    digests = [
        [
            set(_meta(source).get("schemas", {}).get(label, ()))
            for label in side.outputs.loc[common, "schema"]
        ]
        for source, side in zip(sources, sides, strict=True)
    ]
    for document, was, is_ in zip(common, *digests, strict=True):
        old, new = (of_side.get(document) for of_side in accepted)
        if old != new:
            what = {True: "accepted alternatives", False: "no accepted alternatives"}
            raise InputError(
                f"the baseline was evaluated with {what[bool(old)]} for document {document!r}, the "
                f"candidate with {'other ones' if old and new else 'some' if new else 'none'}; "
                "evaluate one of them again"
            )
        # a label may stand for several schemas, and one side for fewer documents
        if was and is_ and not (was <= is_ or is_ <= was):
            raise InputError(
                f"document {document!r}: the baseline was evaluated with another schema; evaluate "
                "one of them again"
            )


# --- words ------------------------------------------------------------------------------------


def _reason(
    row: pd.Series, verdict: str, max_drop: float, comparison: Comparison, lost: int
) -> str:
    measure, percent = row["measure"], comparison.drawing.percent
    change = with_range(row["b_minus_a"], row["low"], row["high"], sign=True)
    text = (
        f"{measure} {number(row['mean_a'])} -> {number(row['mean_b'])}: {change} ({percent} "
        f"interval), p {number(row['p_value'], 4)}, {plural(int(row['documents']), 'document')}. "
    )
    said = [f"A drop by more than {max_drop:g} can be neither shown nor excluded."]
    if verdict == "fail":
        have = f"{plural(lost, 'document')} of the baseline {'has' if lost == 1 else 'have'}"
        said = [f"{have} no output in the candidate."] * bool(lost)
        fell = f"The drop is larger than {max_drop:g} and not explained by chance."
        said += [fell] * _fell(row, max_drop)
    elif verdict == "pass":
        said = [f"A drop by more than {max_drop:g} can be excluded."]
        if not row["a_higher"] and not row["b_higher"]:
            said = ["No document has another score."]
    return text + " ".join(said)


def _notes(documents: pd.DataFrame, sources: list[ScoredResult], kept: int) -> Iterable[str]:
    by_verdict = documents.groupby("verdict")["document"].agg(list).to_dict()
    for verdict, text in (
        ("only_baseline", "of the baseline without output in the candidate"),
        ("only_candidate", "only in the candidate, not compared"),
        ("unknown", "left out, because a judge gave no verdict on a field"),
    ):
        names = by_verdict.get(verdict, [])
        if names:
            yield f"{plural(len(names), 'document')} {text}: {_first_names(names)}"
    is_new = ~documents["valid_is"] & documents["valid_was"]
    broken = documents.loc[is_new.fillna(value=False), "document"].tolist()
    if broken:
        yield f"{plural(len(broken), 'output')} unreadable now, scored 0: {_first_names(broken)}"
    if kept < _FEWEST:
        yield (
            f"{plural(kept, 'document')}: with fewer than {_FEWEST} no test can show a drop at a "
            "confidence of 0.95"
        )
    versions = [_meta(source).get("extractbench_nb") for source in sources]
    if versions[0] != versions[1]:
        yield f"evaluated with extractbench_nb {versions[0]} and {versions[1]}"


def _first_names(names: list[str]) -> str:
    """List the first documents; an ellipsis stands for the others."""
    more = ", …" if len(names) > _NAMED else ""
    return ", ".join(one_line(name, 40) for name in names[:_NAMED]) + more


_FEWEST, _NAMED = 6, 5


# --- what differs between two runs ------------------------------------------------------------

_ROW = [
    *("run", "document", "path", "field", "metric", "item", "inner", "counted", "gold_state"),
    *("outcome", "score", "passed", "reason", "gold", "predicted"),
]


class Side(NamedTuple):
    """One run: its outputs, by document, with the `score` that decides, and its rows."""

    outputs: pd.DataFrame
    rows: pd.DataFrame

    @classmethod
    def of(cls, source: ScoredResult, outputs: pd.DataFrame, run: str, measure: str) -> Side:
        """Take one run of a result; `outputs` are those of all its runs."""
        chosen = outputs[(outputs["run"] == run).to_numpy()].set_index("document")
        if not chosen.index.is_unique:
            twice = chosen.index[chosen.index.duplicated()][0]
            raise InputError(f"run {run!r} has document {twice!r} twice; tell runs apart by `run`")
        valid = chosen.get("valid", chosen.get("readable", True))
        labels = {name: chosen.get(name) for name in ("domain", "schema")}
        chosen = chosen.assign(valid=valid, **labels)
        values = chosen[measure].astype("Float64")  # without an output that is read it is 0
        chosen["score"] = values.where(chosen["valid"].to_numpy(dtype=bool), 0.0)
        rows, items = with_names(complete_rows(source.rows)), _items(source)
        rows = rows.assign(item=pd.Series(dtype=TEXT), inner=False)
        if items is not None:
            rows["inner"] = rows["field"].str.contains("[]", regex=False).astype(bool)
            rows = pd.concat([rows[_ROW], with_names(items)[_ROW].astype(rows[_ROW].dtypes)])
        return cls(chosen, rows.loc[(rows["run"] == run).to_numpy(), _ROW])


def with_names(frame: pd.DataFrame) -> pd.DataFrame:
    """Name runs and documents that have no name."""
    ids = {name: frame[name].astype(TEXT).fillna("unnamed") for name in ("run", "document")}
    return frame.assign(**ids)


def _items(source: Any) -> pd.DataFrame | None:
    """Return items of arrays as rows: gold's by their index, spurious ones by their text."""
    matches = getattr(source, "matches", None)
    if matches is None or "gold_index" not in matches.columns:
        return None
    if "run" not in matches.columns:  # of one evaluation
        matches = matches.assign(**source.scores.loc[0, ["run", "document"]])
    fields = dict(zip(source.arrays["path"], source.arrays["field"], strict=True))
    numbers, is_gold = matches["gold_index"], matches["gold_index"].notna()
    missed = (matches["status"] == "missed").fillna(value=False)
    spurious = matches["predicted"].where(~is_gold).map(canonical)
    found: pd.DataFrame = matches.assign(
        item=spurious.where(~is_gold, ""),
        path=matches["path"].where(~is_gold, matches["path"] + "[" + numbers.astype(TEXT) + "]"),
        field=[f"{fields[path]}[]" for path in matches["path"]],
        outcome=matches["status"],
        score=matches["similarity"],
        passed=is_gold & ~missed,
        counted=False,
        inner=True,
        gold_state="present",
        **dict.fromkeys(("metric", "reason"), pd.NA),
    )
    return found


def join(sides: list[Side], common: list[str]) -> pd.DataFrame:
    """Join rows of both sides, the nth of equal keys with the nth; `side` tells who has a row.

    Items are joined where both outputs are valid.
    """
    valid = [name for name in common if all(side.outputs.loc[name, "valid"] for side in sides)]
    chosen: list[pd.DataFrame] = []
    for rows in (side.rows for side in sides):
        is_item, document = rows["item"].notna(), rows["document"]
        kept = rows[document.isin(valid) | (document.isin(common) & ~is_item)]
        chosen.append(kept.assign(at=np.arange(len(kept))))
    keys = ["document", "path", "metric", "item"]
    how: Any = {"how": "outer", "suffixes": ("_was", "_is"), "indicator": "side"}
    joined = join_rows(chosen[0], chosen[1], keys, **how)
    joined["side"] = joined["side"].astype(str)
    return joined.sort_values(["document", "at_is", "at_was"], kind="stable", ignore_index=True)


def _refuse_other_gold(joined: pd.DataFrame) -> None:
    """Raise `InputError` that names the first place with other gold or another metric.

    Items of arrays are left out: the row of their array has all of gold.
    """
    both, was, is_ = (joined["side"] == name for name in ("both", "left_only", "right_only"))
    outside = ~joined["inner_is"].fillna(joined["inner_was"]).astype(bool)
    present = [(joined[f"gold_state_{side}"] == "present").fillna(value=False) for side in _TIMES]
    alone = joined[outside & ((was & present[0]) | (is_ & present[1]))]
    for row in alone.to_dict("records"):
        has, lacks = SIDES if row["side"] == "left_only" else SIDES[::-1]
        raise InputError(
            f"document {row['document']!r}: {row['path']} is scored by {row['metric']} in the "
            f"{has} and not in the {lacks}, so gold, schema or metrics differ; evaluate the "
            "baseline again"
        )
    rows = joined[outside & both & (present[0] | present[1])]
    for document, path, was_, now in zip(
        rows["document"], rows["path"], rows["gold_was"], rows["gold_is"], strict=True
    ):
        if canonical(was_) != canonical(now):
            raise InputError(
                f"document {document!r}: gold at {path} is {cut(canonical(was_), 60)} in the "
                f"baseline and {cut(canonical(now), 60)} in the candidate; evaluate the baseline "
                "again with this gold"
            )


# --- changes ----------------------------------------------------------------------------------


def row_changes(joined: pd.DataFrame, sides: list[Side]) -> pd.DataFrame:
    """Build ``fields``: the rows that differ, with their verdicts.

    A counted row or a spurious item that only one side has is invented: such a row fails.
    """
    was, is_ = (
        joined.filter(regex=f"_{time}$").rename(columns=lambda name: name.rpartition("_")[0])
        for time in _TIMES
    )
    # an absent field of an item is counted only where it was invented
    counted = was["counted"].eq(True) | is_["counted"].eq(True)
    known = [side["passed"].notna().to_numpy() for side in (was, is_)]
    passes = [side["passed"].eq(True).fillna(value=False).to_numpy(bool) for side in (was, is_)]
    has = [(joined["side"] != name).to_numpy() for name in ("right_only", "left_only")]
    both, is_field = has[0] & has[1], joined["item"].isna().to_numpy()
    judged = both & known[0] & known[1]
    alone = ~both & (counted | joined["item"].fillna("").ne("")).to_numpy()
    other = (was[_WHY].ne(is_[_WHY])).fillna(value=True).any(axis=1).to_numpy()
    scores = [side["score"].astype("Float64") for side in (was, is_)]
    rise = (scores[1] - scores[0]).to_numpy(np.float64, na_value=0.0)
    full = (scores[1].fillna(0.0) - scores[0].fillna(0.0)).to_numpy(np.float64)
    cases = {
        "unknown": both & (known[0] != known[1]),
        "regressed": (judged & passes[0] & ~passes[1]) | (alone & has[1] & known[1] & ~passes[1]),
        "improved": (judged & ~passes[0] & passes[1]) | (alone & has[0] & known[0] & ~passes[0]),
        "lower": judged & is_field & (rise < -SAME),
        "higher": judged & is_field & (rise > SAME),
        "other_failure": judged & is_field & ~passes[0] & ~passes[1] & other,
    }
    named = {name: joined["document"].map(sides[1].outputs[name]) for name in ("domain", "schema")}
    changes = joined.rename(columns=_RENAMED).assign(
        **named,
        field=is_["field"].fillna(was["field"]),
        gold=is_["gold"].where(has[1], was["gold"]),
        counted=counted,
        verdict=np.select(list(cases.values()), list(cases), default=""),
        rise=full.round(12),
        inner=~counted,
    )
    changes = changes[changes["verdict"] != ""]
    ranked = changes.assign(rank=changes["verdict"].map(CHANGES.index))
    order = ["rank", "inner", "rise", "document"]
    return REGRESSION_COLUMNS.from_records(ranked.sort_values(order, kind="stable"))


def document_changes(sides: list[Side], changes: pd.DataFrame) -> pd.DataFrame:
    """Build ``by_document``; a document without all verdicts has no difference."""
    names = pd.Index(dict.fromkeys([*sides[0].outputs.index, *sides[1].outputs.index]))
    was, is_ = (side.outputs.reindex(names) for side in sides)
    has = [names.isin(side.outputs.index) for side in sides]
    unknown = sum(_unknown(side.rows).reindex(names, fill_value=0) for side in sides)
    gap = (is_["score"] - was["score"]).astype(float)
    verdict = np.select(
        [~has[0], ~has[1], (unknown > 0) | gap.isna(), gap.abs() <= SAME, gap > 0],
        ["only_candidate", "only_baseline", "unknown", "same", "improved"],
        default="regressed",
    )
    counted = changes[changes["counted"]]
    counts = {
        name: counted.loc[counted["verdict"] == name, "document"].value_counts()
        for name in ("regressed", "improved")
    }
    found = pd.DataFrame(
        {
            **{name: was[name].where(has[0], is_[name]) for name in ("domain", "schema")},
            **{
                f"valid_{time}": side["valid"]
                for time, side in zip(_TIMES, (was, is_), strict=True)
            },
            **{name: of.reindex(names, fill_value=0) for name, of in counts.items()},
            "document": names,
            "verdict": verdict,
            "was": was["score"],
            "is": is_["score"],
            "difference": gap.where(~np.isin(verdict, _OPEN)),
            "unknown": unknown,
            "rank": [DOCUMENT_VERDICTS.index(name) for name in verdict],
        }
    )
    return DOCUMENT_COLUMNS.from_records(found.sort_values(["rank", "difference"], kind="stable"))


def _unknown(rows: pd.DataFrame) -> pd.Series:
    """Count the counted nodes of each document that have no verdict."""
    nodes = rows[rows["counted"].to_numpy(bool) & rows["passed"].isna().to_numpy()]
    return nodes.drop_duplicates(["document", "path"])["document"].value_counts()
