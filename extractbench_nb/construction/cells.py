"""Verdicts on cells under the rules of ``strict`` and ``aoe-readme``, and the rows of ``cells``."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from decimal import Decimal
from typing import NamedTuple

from extractbench_nb._json import member
from extractbench_nb.construction.aligning import PASS_MARK, ColumnMatch, RowMatch
from extractbench_nb.construction.asking import METRIC, Asker
from extractbench_nb.construction.inputs import Tables
from extractbench_nb.construction.profiles import TableRules
from extractbench_nb.construction.released import sorted_words
from extractbench_nb.construction.result import CellRow
from extractbench_nb.construction.values import is_absent, number_of, text_key

#: What a cell is compared by: the metric of that kind of `evaluate`.
METRICS = {
    "number": "number_exact",
    "released_number": "number_tolerance",
    "judge": METRIC,
    "exact": "string_exact",
    "fuzzy": "string_fuzzy",
}


class CellVerdict(NamedTuple):
    """The verdict on one cell: outcome, score, reason, a judge's similarity and words."""

    outcome: str
    score: float | None
    reason: str
    similarity: float | None = None
    reasoning: str | None = None


#: Verdicts on all cells of a row without a partner.
OF_ROWS = {
    "missed": CellVerdict("omission", 0.0, "row_missed"),
    "spurious": CellVerdict("hallucination", 0.0, "row_spurious"),
    "judge_error": CellVerdict("judge_error", None, "row_judge_failed"),
}
_BOTH_NULL = CellVerdict("both_absent", 1.0, "both_null")
_GOLD_NULL = CellVerdict("hallucination", 0.0, "gold_null")
_PREDICTED_NULL = CellVerdict("omission", 0.0, "predicted_null")
_IDENTICAL = CellVerdict("correct", 1.0, "identical", 1.0)
_NORMALISED = CellVerdict("correct", 1.0, "normalised", 1.0)
_NO_NUMBER = CellVerdict("incorrect", 0.0, "not_a_number")
_NUMBERS = {
    True: CellVerdict("correct", 1.0, "number_equal", 1.0),
    False: CellVerdict("incorrect", 0.0, "number_differs"),
}
_EXTRA = CellVerdict("hallucination", 0.0, "column_extra")
_OPEN_COLUMN = CellVerdict("judge_error", None, "column_judge_failed")


class _Cell(NamedTuple):
    """A cell before its verdict: its row, the names of its column, and both texts."""

    match: RowMatch
    column: str
    other: str | None
    gold: str | None
    predicted: str | None

    @property
    def is_pair(self) -> bool:
        """Whether two texts are to be compared."""
        return self.match.status == "matched" and self.other is not None


def judge_cells(
    tables: Tables,
    columns: Sequence[ColumnMatch],
    rows: Sequence[RowMatch],
    rules: TableRules,
    asker: Asker,
) -> list[CellRow]:
    """Judge every cell that gold or the prediction has, row by row.

    Parameters
    ----------
    tables : Tables
        Both tables.
    columns : sequence of ColumnMatch
        The alignment of columns.
    rows : sequence of RowMatch
        The matching of rows.
    rules : TableRules
        The profile.
    asker : Asker
        The judge.

    Returns
    -------
    list of CellRow
        First the compared columns of all rows, then the filled cells of extra columns.
    """
    partner = {match.gold: match for match in columns if match.gold is not None}
    numeric = set(tables.numeric)
    plan = list(_plan(tables, partner, rows))
    verdicts = _Verdicts(rules, asker, numeric)
    verdicts.look_at([cell for cell in plan if cell.is_pair])
    failure = tables.predicted.failure
    found = []
    for cell in plan:
        if failure is not None:
            verdict = CellVerdict("structural", 0.0, failure)
        elif cell.is_pair:
            verdict = verdicts.of(cell)
        elif cell.match.status == "matched":
            verdict = _without_column(cell, partner[cell.column].status)
        else:
            verdict = OF_ROWS[cell.match.status]
        metric = METRICS["number" if cell.column in numeric else rules.cells]
        names, texts = (cell.column, cell.other), (cell.gold, cell.predicted)
        found.append(cell_row(cell.match, names, texts, metric, verdict))
    extra = [(match.predicted, match.status) for match in columns if match.gold is None]
    for match in rows:
        for name, status in extra if match.predicted is not None else ():
            text = tables.predicted.columns[str(name)][match.predicted or 0]
            if not is_absent(text):
                verdict = OF_ROWS.get(match.status, _EXTRA if status == "extra" else _OPEN_COLUMN)
                found.append(cell_row(match, (None, name), (None, text), METRIC, verdict))
    return found


def _plan(
    tables: Tables, partner: Mapping[str, ColumnMatch], rows: Sequence[RowMatch]
) -> Iterator[_Cell]:
    ours, theirs = tables.gold.columns, tables.predicted.columns
    for match in rows:
        for name in tables.values:
            other = partner[name].predicted
            gold = None if match.gold is None else ours[name][match.gold]
            absent = match.predicted is None or other is None
            yield _Cell(
                match,
                name,
                other,
                gold,
                None if absent else theirs[str(other)][match.predicted or 0],
            )


def _without_column(cell: _Cell, status: str) -> CellVerdict:
    """Judge a cell whose column the prediction lacks; where gold holds nothing, nothing is lost."""
    if status == "judge_error":
        return _OPEN_COLUMN
    if is_absent(cell.gold or ""):
        return CellVerdict("both_absent", 1.0, "column_missing")
    return CellVerdict("omission", 0.0, "column_missing")


class _Verdicts:
    """Verdicts on pairs of texts, each made once; the judge is asked all questions together."""

    def __init__(self, rules: TableRules, asker: Asker, numeric: set[str]) -> None:
        self._rules, self._asker, self._numeric = rules, asker, numeric
        self._known: dict[tuple[str, str | None, str | None], CellVerdict] = {}

    def look_at(self, cells: Sequence[_Cell]) -> None:
        """Judge all pairs of texts."""
        questions: dict[tuple[str, str, str], None] = {}
        for cell in cells:
            question = (cell.column, cell.gold or "", cell.predicted or "")
            if question in self._known or question in questions:
                continue
            verdict = self._by_rules(*question)
            if verdict is None:
                questions[question] = None
            else:
                self._known[question] = verdict
        for question, answer in zip(questions, self._asker.answers(list(questions)), strict=True):
            score, reason, words = answer
            if score is None:
                self._known[question] = CellVerdict("judge_error", None, reason, None, words)
                continue
            passes = score >= PASS_MARK
            worth = score if self._rules.partial_credit else float(passes)
            outcome = "correct" if passes else "incorrect"
            self._known[question] = CellVerdict(outcome, worth, reason, score, words)

    def of(self, cell: _Cell) -> CellVerdict:
        """Return the verdict on a pair that was looked at."""
        return self._known[cell.column, cell.gold, cell.predicted]

    def _by_rules(self, column: str, gold: str, predicted: str) -> CellVerdict | None:
        """Judge a pair by rules; None where the judge is to decide."""
        nothing = is_absent(gold), is_absent(predicted)
        if any(nothing):
            return _BOTH_NULL if all(nothing) else _GOLD_NULL if nothing[0] else _PREDICTED_NULL
        if gold.strip() == predicted.strip():
            return _IDENTICAL
        one, other = number_of(gold, column), number_of(predicted, column)
        if one is not None and other is not None:
            same = _equal(one, other, self._rules.numeric_tolerance)
            return _NUMBERS[same]
        if text_key(gold) == text_key(predicted):
            return _NORMALISED
        is_no_number = one is not None and column in self._numeric
        return _NO_NUMBER if is_no_number else self._by_similarity(gold, predicted)

    def _by_similarity(self, gold: str, predicted: str) -> CellVerdict | None:
        if self._rules.cells == "judge":
            return None
        if self._rules.cells == "exact":
            return CellVerdict("incorrect", 0.0, "text_differs")
        from rapidfuzz import fuzz

        alike = fuzz.ratio(sorted_words(gold), sorted_words(predicted))
        passes = round(alike) >= self._rules.threshold
        outcome = "correct" if passes else "incorrect"
        return CellVerdict(outcome, float(passes), "similarity", alike / 100)


def _equal(gold: Decimal, predicted: Decimal, tolerance: float) -> bool:
    if gold == predicted or not tolerance:
        return gold == predicted
    one, other = float(gold), float(predicted)
    return abs(one - other) <= tolerance + 1e-5 * abs(other)


def cell_row(
    match: RowMatch,
    names: tuple[str | None, str | None],
    texts: tuple[str | None, str | None],
    metric: str,
    verdict: CellVerdict,
) -> CellRow:
    """Write one row of ``cells``.

    Parameters
    ----------
    match : RowMatch
        Its row.
    names, texts : tuple of str or None
        The column's name, and the cell's text, in gold and in the prediction.
    metric : str
        What it was compared by.
    verdict : CellVerdict
        The verdict.

    Returns
    -------
    CellRow
        With its path.
    """
    row = f"[{match.gold}]" if match.gold is not None else f"[+{match.predicted}]"
    name = member(str(names[1] if names[0] is None else names[0]))
    passed = None if verdict.score is None else verdict.outcome in ("correct", "both_absent")
    return CellRow(
        f"${row}{name}",
        f"[]{name}",
        metric,
        verdict.score,
        passed,
        verdict.outcome,
        verdict.reason,
        verdict.reasoning,
        verdict.similarity,
        *texts,
        match.gold,
        match.predicted,
        names[0],
        names[1] if match.predicted is not None else None,
    )
