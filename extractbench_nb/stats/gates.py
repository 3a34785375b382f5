"""The gate: what a candidate lost against a baseline, as a batch (`regressions`) or one document.

`regressions` compares two runs field by field and decides on their mean score. `GoldenCase` holds
one document against its stored baseline; the pytest plugin and nothing else makes one.
"""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from extractbench_nb.core import Accepted, Evaluation, evaluate
from extractbench_nb.core.frames import TEXT, Column, DescribedFrames, FrameSpec
from extractbench_nb.core.values import canonical, read_document
from extractbench_nb.errors import InputError, nearest
from extractbench_nb.runs import (
    Evaluations,
    content_digest,
    first_difference,
    load_evaluations,
    scoring_digest,
)
from extractbench_nb.stats.breakdowns import join_rows
from extractbench_nb.stats.compare import MEASURES, Comparison, compare_runs
from extractbench_nb.stats.intervals import check_share, number, with_range
from extractbench_nb.support.cards import TextCard
from extractbench_nb.support.files import write_texts
from extractbench_nb.support.model_json import readable_output
from extractbench_nb.support.pandas_helpers import stacked
from extractbench_nb.support.wording import (
    cut,
    document_json,
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
    Column("schema", "string", "schema id, or the schema's title or hash"),
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

#: What fields and items have in common; document and schema are added to both.
_COMMON = [n for n in REGRESSION_COLUMNS.names if n not in ("domain", "schema")]
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
_LONGEST = 80


def _listed(fields: pd.DataFrame) -> pd.DataFrame:
    """Return the rows that regressed, without those of outputs that are not JSON any more."""
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
    baseline: Evaluations | str | Path,
    evs: Evaluations | str | Path,
    *,
    run: str | None = None,
    baseline_run: str | None = None,
    measure: str = "pass_rate",
    max_drop: float = 0.02,
    confidence: float = 0.95,
    resamples: int = 9999,
    seed: int = 0,
) -> Regressions:
    """Compare a candidate with a baseline, field by field, and decide whether it got worse.

    Parameters
    ----------
    baseline, evs : Evaluations, str or pathlib.Path
        Results of `evaluate_runs`, or the folder of saved ones. Both must be made with the same
        schemas, gold, accepted alternatives, profile, judge and alignment.
    run : str, optional
        The run of `evs` to compare; needed if it has several.
    baseline_run : str, optional
        The run of `baseline`. By default its only one, else the one with the name of the
        candidate's run.
    measure : str, optional
        The score that decides: ``pass_rate``, ``overall_score`` or ``field_score``.
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
    if measure not in MEASURES:
        raise InputError(f"measure={measure!r}; {nearest(measure, MEASURES)}")
    sources = [_loaded(baseline, "baseline"), _loaded(evs, "evs")]
    candidate = _chosen(sources[1], run, "run", "evs", None)
    names = _chosen(sources[0], baseline_run, "baseline_run", "baseline", candidate), candidate
    if sources[0] is sources[1] and names[0] == names[1]:
        raise InputError(
            f"baseline and evs are the same results, and both runs are {names[0]!r}: nothing is "
            "compared; name another one with baseline_run="
        )
    _refuse_other_settings(sources)
    sides = [Side.of(*pair) for pair in zip(sources, names, strict=True)]
    common = sorted(set(sides[0].summary.index) & set(sides[1].summary.index))
    if not common:
        raise InputError("baseline and evs have no document in common")
    joined = join(sides[0].fields, sides[1].fields, ["document", "path", "metric"], common)
    _refuse_other_gold(joined)
    _refuse_other_inputs(sources, sides, common)
    changes = node_changes(joined, sides, common)
    documents = document_changes(sides, changes, measure)
    kept = documents.loc[documents["difference"].notna(), "document"].tolist()
    if not kept:
        raise InputError(
            f"{measure} is known of no document on both sides: a judge gave no verdict on a "
            "counted node; evaluate_runs(..., resume=folder) asks it again"
        )
    tables = {
        name: side.summary.loc[kept].reset_index() for name, side in zip(SIDES, sides, strict=True)
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


def _loaded(source: object, name: str) -> Evaluations:
    if isinstance(source, str | Path):
        return load_evaluations(source)
    if not isinstance(source, Evaluations):
        raise InputError(
            f"{name} is {type(source).__name__}; expected the results of evaluate_runs, or the "
            "folder of saved ones"
        )
    return source


def _chosen(source: Evaluations, run: str | None, option: str, side: str, like: str | None) -> str:
    """Return the run to compare."""
    names = source.by_run["run"].tolist()
    if run is not None:
        if str(run) not in names:
            raise InputError(f"{option}={run!r} is not in {side}; {nearest(str(run), names)}")
        return str(run)
    if like in names or len(names) == 1:
        return str(like if like in names else names[0])
    listed = ", ".join(repr(cut(name, 40)) for name in names[:6])
    raise InputError(f"{side} has {len(names)} runs; choose one with {option}=: {listed}")


def _refuse_other_inputs(sources: list[Evaluations], sides: list[Side], common: list[str]) -> None:
    """Raise `InputError` that names a document with other alternatives or another schema."""
    accepted = [source.meta.get("settings", {}).get("accepted", {}) for source in sources]
    digests = [
        [set(source.meta.get("schemas", {}).get(label, ())) for label in side.schemas(common)]
        for source, side in zip(sources, sides, strict=True)
    ]
    for document, was, is_ in zip(common, *digests, strict=True):
        old, new = (of_side.get(document) for of_side in accepted)
        if old != new:
            what = {True: "accepted alternatives", False: "no accepted alternatives"}
            raise InputError(
                f"the baseline was evaluated with {what[bool(old)]} for document {document!r}, the "
                f"candidate with {'other ones' if old and new else 'some' if new else 'none'}; "
                "evaluate one of them again, with the same accepted="
            )
        # a label may stand for several schemas, and one side for fewer documents
        if was and is_ and not (was <= is_ or is_ <= was):
            raise InputError(
                f"document {document!r}: the baseline was evaluated with another schema; evaluate "
                "one of them again"
            )


def _refuse_other_settings(sources: list[Evaluations]) -> None:
    """Raise `InputError` that names the first setting in which the two differ."""
    was, is_ = (dict(source.meta.get("settings", {})) for source in sources)
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
    if verdict == "fail":
        fell = f"The drop is larger than {max_drop:g} and not explained by chance."
        have = "has" if lost == 1 else "have"
        absent = (
            f"{plural(lost, 'document')} of the baseline {have} no output in the candidate."
            if lost
            else ""
        )
        reasons = (absent, fell if _fell(row, max_drop) else "")
        return text + " ".join(filter(None, reasons))
    if verdict == "pass":
        if not row["a_higher"] and not row["b_higher"]:
            return f"{text}No document has another score."
        return f"{text}A drop by more than {max_drop:g} can be excluded."
    return f"{text}A drop by more than {max_drop:g} can be neither shown nor excluded."


def _notes(documents: pd.DataFrame, sources: list[Evaluations], kept: int) -> Iterable[str]:
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
        yield f"{plural(len(broken), 'output')} not JSON any more, scored 0: {_first_names(broken)}"
    if kept < _FEWEST:
        yield (
            f"{plural(kept, 'document')}: with fewer than {_FEWEST} no test can show a drop at a "
            "confidence of 0.95"
        )
    versions = [source.meta["extractbench_nb"] for source in sources]
    if versions[0] != versions[1]:
        yield f"evaluated with extractbench_nb {versions[0]} and {versions[1]}"


def _first_names(names: list[str]) -> str:
    """List the first documents; an ellipsis stands for the others."""
    more = ", …" if len(names) > _NAMED else ""
    return ", ".join(one_line(name, 40) for name in names[:_NAMED]) + more


_FEWEST, _NAMED = 6, 5


# --- what differs between two runs ------------------------------------------------------------


class Side(NamedTuple):
    """The frames of one run; `summary` is indexed by document."""

    summary: pd.DataFrame
    fields: pd.DataFrame
    matches: pd.DataFrame
    arrays: pd.DataFrame

    @classmethod
    def of(cls, source: Evaluations, run: str) -> Side:
        """Take the frames of one run of a batch."""
        frames = (source.summary, source.fields, source.matches, source.arrays)
        summary, *parts = (frame[(frame["run"] == run).to_numpy()] for frame in frames)
        return cls(summary.set_index("document"), *parts)

    def schemas(self, documents: list[str]) -> list[str]:
        """Return the labels of the documents' schemas."""
        return list(self.summary.loc[documents, "schema"])


def join(a: pd.DataFrame, b: pd.DataFrame, keys: list[str], common: list[str]) -> pd.DataFrame:
    """Join rows of both sides, the nth of equal keys with the nth; `side` tells who has a row."""
    chosen = (rows[rows["document"].isin(common)].reset_index(drop=True) for rows in (a, b))
    first, second = (rows.assign(at=np.arange(len(rows))) for rows in chosen)
    joined = join_rows(first, second, keys, how="outer", suffixes=("_was", "_is"), indicator="side")
    joined["side"] = joined["side"].astype(str)
    return joined.sort_values(["document", "at_is", "at_was"], kind="stable", ignore_index=True)


def _refuse_other_gold(joined: pd.DataFrame) -> None:
    """Raise `InputError` that names the first place with other gold or another metric.

    Items of arrays are left out: the row of their array has all of gold.
    """
    both, was, is_ = (joined["side"] == name for name in ("both", "left_only", "right_only"))
    field = joined["field_is"].fillna(joined["field_was"])
    outside = ~field.str.contains("[]", regex=False).astype(bool)
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


def node_changes(joined: pd.DataFrame, sides: list[Side], common: list[str]) -> pd.DataFrame:
    """Build ``fields``: the changed fields, the items lost or found, and spurious items."""
    evaluated = [name for name in common if all(side.summary.loc[name, "valid"] for side in sides)]
    changes = stacked([_field_changes(joined), _item_changes(sides, evaluated)])
    for name in ("domain", "schema"):
        changes[name] = changes["document"].map(sides[1].summary[name])
    scores = [changes[f"score_{side}"].astype("Float64").fillna(0.0) for side in _TIMES]
    changes = changes.assign(
        rank=changes["verdict"].map(CHANGES.index),
        inner=~changes["counted"].astype(bool),
        rise=(scores[1] - scores[0]).to_numpy(dtype=np.float64).round(12),
    )
    order = ["rank", "inner", "rise", "document"]
    return REGRESSION_COLUMNS.from_records(
        changes.sort_values(order, kind="stable", ignore_index=True)
    )


def _field_changes(joined: pd.DataFrame) -> pd.DataFrame:
    """Return the rows that differ, with their verdicts.

    A row that only one side has is a key or an item that it invented: such a row fails.
    """
    # an absent field of an item is counted only where it was invented
    counted = pd.Series(False, index=joined.index)
    for side in _TIMES:
        counted |= joined[f"counted_{side}"].astype("boolean").fillna(value=False).astype(bool)
    passed = [joined[f"passed_{side}"].astype("boolean") for side in _TIMES]
    scores = [
        joined[f"score_{side}"].astype("Float64").to_numpy(np.float64, na_value=np.nan)
        for side in _TIMES
    ]
    known = [side.notna().to_numpy() for side in passed]
    passes = [side.fillna(value=False).to_numpy(dtype=bool) for side in passed]
    has = [(joined["side"] != name).to_numpy() for name in ("right_only", "left_only")]
    both = has[0] & has[1]
    judged = both & known[0] & known[1]
    other = pd.Series(False, index=joined.index)
    for name in ("outcome", "reason"):
        other |= (joined[f"{name}_was"] != joined[f"{name}_is"]).fillna(value=True).astype(bool)
    alone = ~both & counted.to_numpy()
    with np.errstate(invalid="ignore"):
        rise = scores[1] - scores[0]
    cases = {
        "unknown": both & (known[0] != known[1]),
        "regressed": (judged & passes[0] & ~passes[1]) | (alone & has[1] & known[1] & ~passes[1]),
        "improved": (judged & ~passes[0] & passes[1]) | (alone & has[0] & known[0] & ~passes[0]),
        "lower": judged & (rise < -SAME),
        "higher": judged & (rise > SAME),
        "other_failure": judged & ~passes[0] & ~passes[1] & other.to_numpy(),
    }
    verdict = np.select(list(cases.values()), list(cases), default="")
    changed = joined.rename(columns=_RENAMED).assign(
        field=joined["field_is"].fillna(joined["field_was"]),
        gold=pd.Series(np.where(has[1], joined["gold_is"], joined["gold_was"]), dtype=object),
        counted=counted,
        verdict=verdict,
    )
    return changed.loc[changed["verdict"] != "", _COMMON]


def _item_changes(sides: list[Side], evaluated: list[str]) -> pd.DataFrame:
    """Return gold items that one side alone finds, and spurious items that one side alone has."""
    gold, spurious = [], []
    for side in sides:
        is_gold = side.matches["gold_index"].notna().to_numpy(dtype=bool)
        gold.append(side.matches[is_gold])
        invented = side.matches[~is_gold]
        texts = pd.array([canonical(item) for item in invented["predicted"]], dtype=TEXT)
        spurious.append(invented.assign(text=texts))
    items = join(gold[0], gold[1], ["document", "path", "gold_index"], evaluated)
    missed = [(items[f"status_{side}"] == "missed").fillna(value=False) for side in _TIMES]
    both = items["side"] == "both"
    items = items.assign(verdict=np.where(missed[1], "regressed", "improved"))
    items = items[(both & (missed[0] != missed[1])).to_numpy(dtype=bool)]
    items = items.assign(
        gold=items["gold_is"],
        item=[f"{p}[{i}]" for p, i in zip(items["path"], items["gold_index"], strict=True)],
    )
    more = join(spurious[0], spurious[1], ["document", "path", "text"], evaluated)
    more = more[(more["side"] != "both").to_numpy()]
    verdicts = np.where(more["side"] == "right_only", "regressed", "improved")
    more = more.assign(verdict=verdicts, gold=None, item=more["path"])
    found = stacked([items, more])
    arrays = pd.concat([side.arrays for side in sides])
    fields = dict(zip(arrays["path"], arrays["field"], strict=True))
    outcomes = {f"status_{side}": f"outcome_{side}" for side in _TIMES}
    scores = {f"similarity_{side}": f"score_{side}" for side in _TIMES}
    found = found.rename(columns={**_RENAMED, **outcomes, **scores}).assign(
        path=found["item"],
        field=[f"{fields[path]}[]" for path in found["path"]],
        metric=None,
        counted=False,
        reason=None,
    )
    return found[_COMMON]


def document_changes(sides: list[Side], changes: pd.DataFrame, measure: str) -> pd.DataFrame:
    """Build ``by_document``; a document without all verdicts has no difference."""
    rows = []
    counts = changes[changes["counted"]].groupby(["document", "verdict"]).size().to_dict()
    outputs = [side.summary.to_dict("index") for side in sides]
    for document in dict.fromkeys([*outputs[0], *outputs[1]]):
        found = [of_side.get(document) for of_side in outputs]
        first = next(row for row in found if row is not None)
        row = {name: first[name] for name in ("domain", "schema")} | {"document": document}
        for time, output in zip(_TIMES, found, strict=True):
            if output is not None:  # an output that is not JSON has a score of 0
                row[time] = float(output[measure]) if output["valid"] else 0.0
                row[f"valid_{time}"] = output["valid"]
        row |= {name: counts.get((document, name), 0) for name in ("regressed", "improved")}
        row["unknown"] = sum(int(output["judge_errors"]) for output in found if output is not None)
        if None in found:
            row["verdict"] = "only_candidate" if found[0] is None else "only_baseline"
        elif row["unknown"]:
            row["verdict"] = "unknown"
        else:
            row["difference"] = rise = row["is"] - row["was"]
            verdict = "improved" if rise > 0 else "regressed"
            row["verdict"] = "same" if abs(rise) <= SAME else verdict
        rows.append(row)
    rows.sort(key=lambda row: (DOCUMENT_VERDICTS.index(row["verdict"]), row.get("difference", 0)))
    return DOCUMENT_COLUMNS.from_records(rows)


# --- golden cases -----------------------------------------------------------------------------

GOLD, SCHEMA, BASELINE = "gold.json", "schema.json", "baseline.json"
_FORMAT = 1
_UPDATE = "run pytest --update-baseline"
_MOST, _LONGEST = 20, 100


class GoldenError(AssertionError):
    """An output is worse than the baseline of its golden case, or there is no baseline."""


_GOOD = ("correct", "both_absent")
#: Columns of ``fields`` that a baseline keeps.
_KEPT = ["path", "metric", "outcome", "score", "predicted"]
_Row = dict[str, Any]


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
        __tracebackhide__ = True
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
        __tracebackhide__ = True
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
            fence is removed, as `as_scorer` takes it.
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
            A field got worse: it passed, or had a higher score. Or a judge gave no verdict, or
            there is no baseline, or it was made with other gold, another schema or other settings.
        InputError
            A file of the case cannot be read.
        """
        __tracebackhide__ = True
        accepted = Accepted.read(accepted)
        ev = evaluate(
            self.schema,
            self.gold,
            readable_output(output),
            profile=profile,
            judge=judge,
            alignment=alignment,
            metrics=metrics,
            accepted=accepted,
        )
        about = self._about(ev, metrics, accepted)
        for name in MEASURES:
            self.record(f"{self.name}.{name}", round(float(ev.summary[name]), 6))
        if self.update:
            self._write(ev, about)
            return ev
        stored = self._stored(about)
        problems, improved = [], False
        for row in _rows(ev):
            same = stored[row["path"], row["metric"]]
            before = same.pop(0) if same else None  # passed with a score of 1
            score, best = row["score"], 1.0 if before is None else before["score"]
            was_good = before is None or before["outcome"] in _GOOD
            is_lost = was_good and row["outcome"] not in _GOOD  # may have the same score
            if score is None or score < best - SAME or is_lost:
                problems.append((before, row))
            improved |= score is not None and score > best + SAME
        self.record(f"{self.name}.regressed", len(problems))
        if problems:
            raise GoldenError(self._message(ev, problems))
        if improved or any(stored.values()):
            self.record("golden_improved", self.name)
        return ev

    def __repr__(self) -> str:
        """Write the name; failures of tests show it."""
        return f"GoldenCase({self.name!r})"

    def _about(self, ev: Evaluation, metrics: Any, accepted: Any) -> dict[str, Any]:
        """Return what has to be equal for two results to be comparable."""
        settings = {name: str(ev.meta[name]) for name in ("profile", "judge", "alignment")}
        gold = content_digest(self.gold)
        about = {"schema": scoring_digest(self.schema), "gold": gold, **settings}
        if metrics:  # `parse_schema` keeps them in the document
            about["metrics"] = scoring_digest(ev.inputs.schema.document)
        if accepted:
            about["accepted"] = content_digest([[one.path, one.value] for one in accepted])
        return about

    def _write(self, ev: Evaluation, about: dict[str, Any]) -> None:
        __tracebackhide__ = True
        if ev.inputs.problem is not None:
            problem = f"not JSON, so it is no baseline: {one_line(ev.inputs.problem, 200)}"
            raise GoldenError(f"golden case {self.name!r}: the output is {problem}")
        rows = [row for row in _rows(ev) if row["score"] != 1 or row["outcome"] not in _GOOD]
        if any(row["score"] is None for row in rows):
            raise GoldenError(
                f"golden case {self.name!r}: a judge gave no verdict; a baseline needs all of them"
            )
        for row in rows:  # arrays are too long
            is_array = isinstance(row["predicted"], list)
            row["predicted"] = None if is_array else document_json(row["predicted"])
        content = {
            "format": _FORMAT,
            **about,
            "scores": {name: round(float(ev.summary[name]), 6) for name in MEASURES},
            "fields": rows,  # all other counted fields pass with a score of 1
        }
        text = json.dumps(content, indent=1, ensure_ascii=True) + "\n"
        write_texts({self.folder / BASELINE: text})
        self.record("golden_updated", self.name)

    def _stored(self, about: dict[str, Any]) -> dict[tuple[str, str], list[_Row]]:
        """Read the rows of the baseline, and refuse one that was made from other inputs."""
        __tracebackhide__ = True
        path = self.folder / BASELINE
        if not path.is_file():
            raise GoldenError(f"golden case {self.name!r} has no {BASELINE}; {_UPDATE}")
        stored = _read(path, "baseline")
        if not isinstance(stored, dict) or stored.get("format") != _FORMAT:
            raise InputError(f"{str(path)!r} is not a baseline of this version; {_UPDATE}")
        for name in (*about, "metrics", "accepted"):
            if stored.get(name) != about.get(name):
                other = f"{name} {stored.get(name)!r}, not with {about.get(name)!r}"
                if name in ("gold", "schema"):
                    other = f"another {name}.json"
                elif name in ("metrics", "accepted"):
                    other = f"other {name}="
                raise GoldenError(
                    f"golden case {self.name!r}: the baseline was made with {other}; {_UPDATE}"
                )
        rows = defaultdict(list)
        try:
            for row in stored["fields"]:
                known = {name: row[name] for name in _KEPT} | {"score": float(row["score"])}
                rows[known["path"], known["metric"]].append(known)
        except (KeyError, TypeError, ValueError):
            raise InputError(f"{str(path)!r} is damaged; {_UPDATE}") from None
        return rows

    def _message(self, ev: Evaluation, problems: list[tuple[_Row | None, _Row]]) -> str:
        """Name the fields that got worse, with gold, the stored value and the new one."""
        unknown = sum(row["score"] is None for _, row in problems)
        counts = [f"{plural(len(problems) - unknown, 'field')} worse than the baseline"]
        counts += [f"{plural(unknown, 'field')} without a verdict"] * bool(unknown)
        lines = [f"golden case {self.name!r}: {', '.join(counts)}"]
        if ev.inputs.problem is not None:
            lines.append(f"  the output is not JSON: {one_line(ev.inputs.problem, 200)}")
        gold = dict(zip(ev.fields["path"], ev.fields["gold"], strict=True))
        for before, row in problems[:_MOST]:
            new = row["outcome"] == "hallucination"  # where gold has nothing
            was = _verdict(before) if before is not None else "absent" if new else "correct 1"
            lines.append(f"  {one_line(row['path'], _LONGEST)}: was {was}, is {_verdict(row)}")
            values = {"gold": gold[row["path"]], "is": row["predicted"]}
            if before is not None:
                values["was"] = before["predicted"]
            lines.extend(f"    {name:<4} {_text(value)}" for name, value in values.items())
        if len(problems) > _MOST:
            lines.append(f"  ... {len(problems) - _MOST} more")
        return "\n".join([*lines, f"If this is intended: {_UPDATE}"])


def _verdict(row: _Row) -> str:
    """Write outcome and score of a row."""
    return row["outcome"] if row["score"] is None else f"{row['outcome']} {row['score']:.3g}"


def _read(path: Path, what: str) -> Any:
    """Read a file of a case; in an error pytest shows the test, and not this package."""
    __tracebackhide__ = True
    try:
        return read_document(path, what)
    except InputError as error:
        raise error.with_traceback(None) from None


def _rows(ev: Evaluation) -> list[_Row]:
    fields = ev.fields
    rows: Any = fields.loc[fields["counted"], _KEPT].to_dict("records")
    return [row | {"score": None if pd.isna(row["score"]) else row["score"]} for row in rows]


def _text(value: Any) -> str:
    try:
        return one_line(canonical(value), _LONGEST)
    except RecursionError:
        return "... nested too deep"
