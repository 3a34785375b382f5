"""`regressions`: what a candidate lost against a baseline, and whether by more than chance."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from extractbench_nb.core.frames import DescribedFrames
from extractbench_nb.core.values import canonical
from extractbench_nb.errors import InputError, nearest
from extractbench_nb.runs import Evaluations, first_difference, load_evaluations
from extractbench_nb.stats.changes import (
    DOCUMENT_COLUMNS,
    DOCUMENT_VERDICTS,
    REGRESSION_COLUMNS,
    SAME,
    SIDES,
    Side,
    document_changes,
    join,
    node_changes,
    refuse_other_gold,
)
from extractbench_nb.stats.compare import MEASURES, Comparison, compare_runs
from extractbench_nb.stats.intervals import check_share, number, with_range
from extractbench_nb.support.cards import TextCard
from extractbench_nb.support.wording import cut, markdown_cell, one_line, plural, value_text

# --- result -----------------------------------------------------------------------------------

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

    - ``fail``: the score fell by more than `max_drop`, and the paired sign-flip test is
      significant (p at most 1 - `confidence`); or documents of the baseline have no output in the
      candidate.
    - ``pass``: a drop by more than `max_drop` can be excluded: the interval of the difference ends
      above it. Also if nothing differs.
    - ``inconclusive``: neither. The documents are too few for their spread.

    The score of fewer than six documents that differ never fails, since no test of so few is
    significant at 0.95. Documents in which a judge gave no verdict on a counted node are left out.
    An output that is not JSON has a score of 0.

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
    _refuse_other_settings(sources[0].meta, sources[1].meta)
    sides = [Side.of(*pair) for pair in zip(sources, names, strict=True)]
    common = sorted(set(sides[0].summary.index) & set(sides[1].summary.index))
    if not common:
        raise InputError("baseline and evs have no document in common")
    joined = join(sides[0].fields, sides[1].fields, ["document", "path", "metric"], common)
    _refuse_other_alternatives(sources, common)
    refuse_other_gold(joined)
    _refuse_other_schemas(sources, sides, common)
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
    """Decide on a row of `Comparison.differences`; `complete`: the candidate lacks no output."""
    if not complete or _fell(difference, max_drop):
        return "fail"
    low = difference["low"]
    is_excluded = not pd.isna(low) and low >= -max_drop - SAME
    nothing_differs = not difference["a_higher"] and not difference["b_higher"]
    return "pass" if is_excluded or nothing_differs else "inconclusive"


def _fell(difference: Mapping[Any, Any] | pd.Series, max_drop: float) -> bool:
    """Whether the score fell by more than is accepted, and by more than chance."""
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


def _refuse_other_settings(baseline: Mapping[str, Any], candidate: Mapping[str, Any]) -> None:
    """Raise `InputError` that names the first setting in which the two differ."""
    was, is_ = (dict(meta.get("settings", {})) for meta in (baseline, candidate))
    codes = [settings.pop("metrics", None) or {} for settings in (was, is_)]
    for settings in (was, is_):
        settings.pop("accepted", None)  # compared for the common documents
    for name in sorted(set(codes[0]) & set(codes[1])):
        if codes[0][name] != codes[1][name]:
            raise InputError(
                f"metric {name!r} of the baseline has other code than that of the candidate; "
                "evaluate the baseline again"
            )
    for name in sorted({*was, *is_}, key=lambda name: (name.endswith("_options"), name)):
        if was.get(name) != is_.get(name):
            what = name.removesuffix("_options")
            what, old, new = first_difference(what, was.get(name), is_.get(name))
            raise InputError(
                f"the baseline was evaluated with {what} {cut(repr(old), 80)}, the candidate with "
                f"{cut(repr(new), 80)}; evaluate one of them again"
            )


def _refuse_other_alternatives(sources: Iterable[Evaluations], common: list[str]) -> None:
    """Raise `InputError` that names a document with other accepted alternatives on one side."""
    was, is_ = (source.meta.get("settings", {}).get("accepted", {}) for source in sources)
    for document in common:
        old, new = was.get(document), is_.get(document)
        if old != new:
            what = {True: "accepted alternatives", False: "no accepted alternatives"}
            raise InputError(
                f"the baseline was evaluated with {what[bool(old)]} for document {document!r}, the "
                f"candidate with {'other ones' if old and new else 'some' if new else 'none'}; "
                "evaluate one of them again, with the same accepted="
            )


def _refuse_other_schemas(
    sources: Iterable[Evaluations], sides: Iterable[Side], common: list[str]
) -> None:
    """Raise `InputError` that names a document whose schema differs in more than notes."""
    digests = []
    for source, side in zip(sources, sides, strict=True):
        known = source.meta.get("schemas", {})
        digests.append([set(known.get(label, ())) for label in side.summary.loc[common, "schema"]])
    for document, was, is_ in zip(common, *digests, strict=True):
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
