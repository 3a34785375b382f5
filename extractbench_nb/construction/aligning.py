"""Columns and rows of two tables aligned one to one, their cells listed, and a judge asked.

Nothing depends on the order of rows or columns: both are put in the order of their content first,
and ties in an assignment are then broken by content.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import reduce
from itertools import chain, product
from math import nan
from typing import Any, NamedTuple, Protocol, TypeAlias, runtime_checkable

import numpy as np
import numpy.typing as npt

from extractbench_nb.construction.answers import Reading
from extractbench_nb.construction.table_rules import (
    PASS_MARK,
    TableRules,
    column_key,
    is_absent,
    protected,
    row_key,
    unit_of_column,
)
from extractbench_nb.core.text import (
    Judge,
    JudgeCall,
    JudgeError,
    OfflineJudge,
    Question,
    check_judge,
    choose_judge,
    verdict_of,
)
from extractbench_nb.core.values import member
from extractbench_nb.errors import ExtractBenchError
from extractbench_nb.judges import gather_verdicts
from extractbench_nb.support.concurrency import run_anywhere

#: The metric whose question a judge of names, keys and cells gets.
METRIC = "string_semantic"
#: A column (or ``column``, ``key``), gold's text and the predicted text.
TextPair: TypeAlias = tuple[str, str, str]
#: Judges pairs of texts: a score each, or None for no verdict.
Ask: TypeAlias = Callable[[Sequence[TextPair]], Sequence[float | None]]
#: One warning: side, path, kind, message, value.
Note: TypeAlias = tuple[str, str, str, str, Any]
Matrix: TypeAlias = npt.NDArray[Any]
Pair: TypeAlias = tuple[int, int]

#: A judge is asked about so many keys per row, if they are alike at all.
_LIKELIEST, _LIKELIEST_RELEASED, _FAINTLY_ALIKE = 3, 5, 40.0
#: Pairs of rows with equal keys up to which they are assigned by their cells.
_MOST_EQUAL = 4_000_000


class Tables(NamedTuple):
    """The two tables of a comparison as texts, and the roles of gold's columns."""

    gold: Reading
    predicted: Reading
    keys: list[str]
    values: list[str]
    numeric: list[str]
    #: Number of compared columns that were asked for, those that gold lacks included.
    configured: int
    rules: TableRules


class ColumnMatch(NamedTuple):
    """A column of gold, of the prediction, or both, and the rule that aligned them."""

    gold: str | None
    predicted: str | None
    status: str
    rule: str | None = None


class RowMatch(NamedTuple):
    """A row of gold, of the prediction, or both, by position; similarity of the keys, 0 to 1."""

    gold: int | None
    predicted: int | None
    status: str
    rule: str | None = None
    similarity: float | None = None


class Verdict(NamedTuple):
    """The verdict on one cell: outcome, score, reason, a judge's similarity and words."""

    outcome: str
    score: float | None
    reason: str
    similarity: float | None = None
    reasoning: str | None = None


class Alignment(NamedTuple):
    """What a comparison found: alignment, records of cells without ``kind``, warnings."""

    tables: Tables
    columns: list[ColumnMatch]
    rows: list[RowMatch]
    cells: list[dict[str, Any]]
    notes: list[Note]


class Side(NamedTuple):
    """One table as rows are matched, one tuple of texts per row.

    Keys; comparable texts of the cells that both tables have by name; and all cells of the table's
    own columns, by which rows are ordered.
    """

    keys: Sequence[tuple[str, ...]]
    cells: Sequence[tuple[str, ...]]
    content: Sequence[tuple[str, ...]]


# --- questions to a judge -------------------------------------------------------------------------

_ABOUT = {
    "column": "The name of a table's column. The same if both columns hold the same quantity, in "
    "the same unit.",
    "key": "The key that names a row of a table. The same if both name the same thing and the "
    "same year.",
}


@runtime_checkable
class TableJudge(Protocol):
    """A judge that answers AOE's two questions itself: one with recorded answers, for example."""

    def match_key(self, key: str, keys: Sequence[str]) -> str | None:
        """Return the key of gold that a predicted key means, "" for none, None if unknown."""
        ...

    def score_cell(self, column: str, gold: str, predicted: str) -> float | None:
        """Return the score of two texts, 0 to 1, or None without a verdict."""
        ...


class Asker:
    """Asks one judge, each question once, and keeps the calls."""

    def __init__(self, judge: str | Judge) -> None:
        self.judge: Any = choose_judge(judge)
        if not isinstance(self.judge, OfflineJudge):
            check_judge(self.judge, {})
        self._answers: dict[TextPair, Verdict] = {}
        self.calls: list[tuple[str | None, JudgeCall]] = []
        self.failures: list[str] = []

    def answers(self, questions: Sequence[TextPair]) -> list[Verdict]:
        """Answer questions about pairs of texts; the outcome is ``judge_error`` without a score."""
        new = [q for q in dict.fromkeys(questions) if q not in self._answers]
        if new:
            self._answers |= zip(new, self._asked(new), strict=True)
        return [self._answers[question] for question in questions]

    def scores(self, questions: Sequence[TextPair]) -> list[float | None]:
        """Return the judge's scores alone; None without a verdict."""
        return [answer.similarity for answer in self.answers(questions)]

    def _asked(self, questions: Sequence[TextPair]) -> list[Verdict]:
        judge = self.judge
        if isinstance(judge, OfflineJudge):
            verdicts = [judge.compare(gold, predicted) for _, gold, predicted in questions]
            return [_judged(verdict.score, verdict.reason) for verdict in verdicts]
        if isinstance(judge, TableJudge):
            scores = [judge.score_cell(*question) for question in questions]
            self.failures += ["not recorded" for score in scores if score is None]
            return [_judged(s, "not_recorded" if s is None else "recorded") for s in scores]

        def question_of(column: str, gold: str, predicted: str) -> Question:
            about = _ABOUT.get(column, f"A cell of the table's column {column!r}.")
            field = f"[].{column}"
            return Question(gold, predicted, METRIC, field=field, type="string", description=about)

        async def gathered() -> list[Any]:
            return await gather_verdicts(verdict_of(judge, question_of(*q)) for q in questions)

        outcomes = zip(questions, run_anywhere(gathered()), strict=True)
        return [self._read(column, outcome) for (column, _, _), outcome in outcomes]

    def _read(self, column: str, outcome: Any) -> Verdict:
        if isinstance(outcome, ExtractBenchError):
            raise outcome  # it cannot be asked at all
        self.calls += [(column, call) for call in getattr(outcome, "calls", ())]
        if isinstance(outcome, Exception):
            self.failures.append(str(outcome))
            reason = outcome.reason if isinstance(outcome, JudgeError) else "judge_failed"
            return _judged(None, reason, str(outcome))
        return _judged(outcome.score, outcome.reason, outcome.reasoning)

    def key_of(self, key: str, keys: Sequence[str]) -> str | None:
        """Ask which key of gold a predicted key means; None without a verdict, "" for no key."""
        if isinstance(self.judge, TableJudge):
            named = self.judge.match_key(key, keys)
            if named is None:
                self.failures.append("not recorded")
            return named
        from rapidfuzz import fuzz, process

        limit, cutoff = _LIKELIEST_RELEASED, _FAINTLY_ALIKE
        likely = process.extract(key, keys, scorer=fuzz.ratio, limit=limit, score_cutoff=cutoff)
        names = [name for name, _, _ in likely]
        scores = self.scores([("key", name, key) for name in names])
        if names and all(score is None for score in scores):
            return None
        passed = [(s, n) for s, n in zip(scores, names, strict=True) if s and s >= PASS_MARK]
        return max(passed, key=lambda pair: pair[0], default=(0.0, ""))[1]


def _judged(score: float | None, reason: str, words: str | None = None) -> Verdict:
    """Return the verdict of a judge: right or not, with its score as the similarity."""
    if score is None:
        return Verdict("judge_error", None, reason, None, words)
    passes = score >= PASS_MARK
    return Verdict("correct" if passes else "incorrect", float(passes), reason, score, words)


# --- columns --------------------------------------------------------------------------------------


def align_columns(gold: Sequence[str], predicted: Sequence[str], ask: Ask) -> list[ColumnMatch]:
    """Align columns by name, normalised name, base name, and then by a judge.

    Each name occurs once on its side. A name that differs in a number is never the same, nor is one
    with another unit. The result is in the order of gold, and then of the prediction.
    """
    partner: dict[str, tuple[str, str]] = {}

    def groups(key: Callable[[str], str]) -> list[tuple[list[str], list[str]]]:
        """Group the names without a partner on both sides by what they share."""
        used = {name for name, _ in partner.values()}
        found: dict[str, tuple[list[str], list[str]]] = defaultdict(lambda: ([], []))
        for name in sorted(set(gold) - partner.keys()):
            found[key(name)][0].append(name)
        for name in sorted(set(predicted) - used):
            found[key(name)][1].append(name)
        return list(found.values())

    for rule, key in (("name", str), ("normalised", column_key)):
        for ours, theirs in groups(key):
            partner |= {a: (b, rule) for a, b in zip(ours, theirs, strict=False)}
    for ours, theirs in groups(lambda name: unit_of_column(name)[0]):
        units = [unit_of_column(name)[1] for name in (*ours, *theirs)]
        if len(ours) == len(theirs) == 1 and not all(units):  # one of them names no unit
            partner[ours[0]] = theirs[0], "unit"

    ours, theirs = (groups(lambda _: "") or [([], [])])[0]
    likely = [
        (a, b)
        for (a, one), (b, other) in product(enumerate(ours), enumerate(theirs))
        if protected(one) == protected(other) and _units_agree(one, other)
    ]
    judged, failed = _judged_pairs("column", likely, ours, theirs, ask)
    partner |= {ours[a]: (theirs[b], "judge") for a, b, _ in judged}
    is_open = {ours[a] for a in failed[0]}, {theirs[b] for b in failed[1]}
    found = []
    for name in gold:
        if name in partner:
            other, rule = partner[name]
            found.append(ColumnMatch(name, other, "matched" if other == name else "renamed", rule))
        else:
            found.append(
                ColumnMatch(name, None, "judge_error" if name in is_open[0] else "missing")
            )
    used = {name for name, _ in partner.values()}
    return found + [
        ColumnMatch(None, name, "judge_error" if name in is_open[1] else "extra")
        for name in predicted
        if name not in used
    ]


def _units_agree(one: str, other: str) -> bool:
    """Whether two names have no units that differ, such as a percentage beside an amount."""
    units = unit_of_column(one)[1], unit_of_column(other)[1]
    percents = ["%" in unit or "ratio" in unit for unit in units]
    return not all(units) or units[0] == units[1] or percents[0] == percents[1]


# --- assignments ----------------------------------------------------------------------------------


def _judged_pairs(
    kind: str, pairs: Iterable[Pair], ours: Sequence[str], theirs: Sequence[str], ask: Ask
) -> tuple[list[tuple[int, int, float]], tuple[set[int], set[int]]]:
    """Assign pairs of texts that a judge accepts; also return what stays open on each side.

    Whatever an open verdict could change stays open: all that accepted and open pairs connect. So
    a judge that fails never makes room for a pair that it would have ruled out.
    """
    asked = sorted(pairs)  # ties are broken by content
    verdicts = ask([(kind, ours[a], theirs[b]) for a, b in asked]) if asked else []
    edges = [
        (a, b, nan if score is None else score)
        for (a, b), score in zip(asked, verdicts, strict=True)
        if score is None or score >= PASS_MARK
    ]
    found: list[tuple[int, int, float]] = []
    failed: tuple[set[int], set[int]] = set(), set()
    for left, right, scores in _components(edges):
        if np.isnan(scores).any():
            failed[0].update(left)
            failed[1].update(right)
            continue
        # the size outweighs all scores, so that as many pairs as possible come first
        worth = np.where(scores > 0, min(scores.shape) + scores, 0.0)
        found += [(left[i], right[j], float(scores[i, j])) for i, j in _assigned(worth)]
    return found, failed


def _components(
    edges: Sequence[tuple[int, int, float]],
) -> Iterator[tuple[list[int], list[int], Matrix]]:
    """Split weighted pairs into parts that do not touch: places of both sides, and their matrix."""
    if not edges:
        return
    from scipy.sparse import coo_array
    from scipy.sparse.csgraph import connected_components

    left, right, weights = map(np.array, zip(*edges, strict=True))
    size, others = int(left.max()) + 1, int(right.max()) + 1
    graph = coo_array((np.ones(len(left)), (left, right + size)), shape=(size + others,) * 2)
    part = connected_components(graph, directed=False)[1][left]
    order = np.argsort(part, kind="stable")
    for chosen in np.split(order, np.flatnonzero(np.diff(part[order])) + 1):
        rows, i = np.unique(left[chosen], return_inverse=True)
        columns, j = np.unique(right[chosen], return_inverse=True)
        matrix = np.zeros((len(rows), len(columns)))
        matrix[i, j] = weights[chosen]
        yield rows.tolist(), columns.tolist(), matrix


def _assigned(worth: Matrix) -> list[Pair]:
    """Solve the assignment problem; pairs that are worth nothing are left out."""
    from scipy.optimize import linear_sum_assignment

    sides = (side.tolist() for side in linear_sum_assignment(worth, maximize=True))
    return [(i, j) for i, j in zip(*sides, strict=True) if worth[i, j] > 0]


# --- rows -----------------------------------------------------------------------------------------


def align_rows(gold: Side, predicted: Side, *, threshold: float, ask: Ask) -> list[RowMatch]:
    """Match rows one to one by their keys: in the order of gold, and then of the prediction.

    Equal keys come first, then keys that are equal once normalised. Of the rest, the number of
    pairs and then the total similarity (from `threshold`, 0 to 100, on) is as large as possible;
    then a judge decides. Keys that differ in a number or a year are never compared. Where several
    rows have the same key, their cells decide.
    """
    # rows are numbered in the order of their content until the end
    orders = [sorted(range(len(s.content)), key=s.content.__getitem__) for s in (gold, predicted)]
    sides = [
        Side(*([part[row] for row in order] for part in side))
        for side, order in zip((gold, predicted), orders, strict=True)
    ]
    free = [list(range(len(order))) for order in orders]
    matches: list[tuple[int, int, str, float]] = []

    def blocks(key: Callable[[Any], Any]) -> list[tuple[list[int], list[int]]]:
        """Group the free rows of both sides by what their keys share, where both have some."""
        groups: dict[Any, tuple[list[int], list[int]]] = defaultdict(lambda: ([], []))
        for n in (0, 1):
            for row in free[n]:
                groups[key(sides[n].keys[row])][n].append(row)
        groups.pop(None, None)
        return [block for block in groups.values() if all(block)]

    def keep(found: list[tuple[int, int, str, float]]) -> None:
        matches.extend(found)
        for n in (0, 1):
            taken = {match[n] for match in found}
            free[n] = [row for row in free[n] if row not in taken]

    for rule, key in (("exact", tuple), ("normalised", _normalised)):
        keep([(a, b, rule, 1.0) for block in blocks(key) for a, b in _by_cells(sides, *block)])
    keep([match for block in blocks(_numbers) for match in _similar(sides, *block, threshold)])
    likely = [pair for block in blocks(_numbers) for pair in _likeliest(sides, *block)]
    keys = [[" | ".join(key) for key in side.keys] for side in sides]
    judged, failed = _judged_pairs("key", likely, keys[0], keys[1], ask)
    keep([(a, b, "judge", score) for a, b, score in judged])

    found = [
        RowMatch(orders[0][a], orders[1][b], "matched", rule, similarity)
        for a, b, rule, similarity in matches
    ]
    alone = [
        {row: "judge_error" if row in failed[n] else status for row in free[n]}
        for n, status in enumerate(("missed", "spurious"))
    ]
    found += [RowMatch(orders[0][a], None, status) for a, status in alone[0].items()]
    found += [RowMatch(None, orders[1][b], status) for b, status in alone[1].items()]
    return in_order(found)


def in_order(rows: Iterable[RowMatch]) -> list[RowMatch]:
    """Put rows in the order of gold, and those without a partner there in the prediction's."""
    return sorted(rows, key=lambda row: (row.gold is None, row.gold or 0, row.predicted or 0))


def _normalised(key: Sequence[str]) -> tuple[str, ...]:
    return tuple("" if is_absent(text) else row_key(text) for text in key)


def _numbers(key: Sequence[str]) -> tuple[tuple[str, ...], ...] | None:
    """Return the numbers of a key; None for a blank one, which matches no other key."""
    return tuple(map(protected, key)) if any(_normalised(key)) else None


def _by_cells(sides: Sequence[Side], ours: list[int], theirs: list[int]) -> list[Pair]:
    """Pair rows with the same key so that as many of their cells as possible are equal."""
    if len(ours) == len(theirs) == 1:
        return [(ours[0], theirs[0])]
    if len(ours) * len(theirs) > _MOST_EQUAL:
        return list(zip(ours, theirs, strict=False))
    worth = _agreement(sides, ours, theirs) + 1.0
    return [(ours[i], theirs[j]) for i, j in _assigned(worth)]


def _agreement(sides: Sequence[Side], ours: Sequence[int], theirs: Sequence[int]) -> Matrix:
    """Count the equal cells of each pair of rows."""
    found = np.zeros((len(ours), len(theirs)))
    for n in range(len(sides[0].cells[0]) if sides[0].cells else 0):
        codes: dict[str, int] = {}
        left, right = (
            np.array([codes.setdefault(side.cells[row][n], len(codes)) for row in rows])
            for side, rows in zip(sides, (ours, theirs), strict=True)
        )
        found += left[:, None] == right
    return found


def _likeness(
    sides: Sequence[Side], ours: Sequence[int], theirs: Sequence[int], cutoff: float
) -> Matrix:
    """Compare keys, 0 to 100, by the least similar of several key columns."""
    from rapidfuzz import fuzz
    from rapidfuzz.process import cdist

    def words(text: str) -> str:
        return " ".join(sorted(row_key(text).split()))

    left, right = (
        zip(*(map(words, side.keys[row]) for row in rows), strict=True)
        for side, rows in zip(sides, (ours, theirs), strict=True)
    )
    columns = (
        cdist(one, other, scorer=fuzz.ratio, dtype=np.float32, score_cutoff=cutoff)
        for one, other in zip(left, right, strict=True)
    )
    return reduce(np.minimum, columns)


def _similar(
    sides: Sequence[Side], ours: Sequence[int], theirs: Sequence[int], threshold: float
) -> Iterator[tuple[int, int, str, float]]:
    """Pair rows whose keys reach a similarity: as many as possible, then the most similar."""
    threshold = max(threshold, 1.0)
    table = _likeness(sides, ours, theirs, threshold)
    places, others = np.nonzero(table >= threshold)
    values = table[places, others].astype(np.float64)
    edges = list(zip(places.tolist(), others.tolist(), values.tolist(), strict=True))
    for left, right, likeness in _components(edges):
        rows, columns = [ours[n] for n in left], [theirs[n] for n in right]
        agreement = _agreement(sides, rows, columns) if likeness.size > 1 else 0.0
        worth = np.where(likeness > 0, 1e6 + likeness + 1e-4 * agreement, 0.0)
        for i, j in _assigned(worth):
            yield rows[i], columns[j], "similar", float(likeness[i, j]) / 100


def _likeliest(sides: Sequence[Side], ours: Sequence[int], theirs: Sequence[int]) -> list[Pair]:
    """Return the pairs with the most similar keys, a few for each row of either side."""
    table = _likeness(sides, ours, theirs, _FAINTLY_ALIKE)
    is_likely = np.zeros(table.shape, dtype=bool)
    for axis in (0, 1):
        count = min(_LIKELIEST, table.shape[axis])
        places = np.argpartition(-table, count - 1, axis=axis).take(range(count), axis=axis)
        np.put_along_axis(is_likely, places, values=True, axis=axis)
    pairs = np.argwhere(is_likely & (table > 0)).tolist()
    return [(ours[a], theirs[b]) for a, b in pairs]


# --- cells ----------------------------------------------------------------------------------------

_OPEN_COLUMN = Verdict("judge_error", None, "column_judge_failed")
#: The metric of `evaluate` that compares such cells.
_METRICS = {"judge": METRIC, "exact": "string_exact", "fuzzy": "string_fuzzy"}
#: Verdicts on all cells of a row without a partner.
_OF_ROWS = {
    "missed": Verdict("omission", 0.0, "row_missed"),
    "spurious": Verdict("hallucination", 0.0, "row_spurious"),
    "judge_error": Verdict("judge_error", None, "row_judge_failed"),
}


def cell_records(
    tables: Tables,
    columns: Sequence[ColumnMatch],
    rows: Sequence[RowMatch],
    verdicts_of: Callable[[Sequence[TextPair]], Sequence[Verdict]],
) -> list[dict[str, Any]]:
    """List the cells of the compared columns, row by row, and then filled cells of extra columns.

    `verdicts_of` judges cells of matched rows, from column, gold and predicted text. The rules of
    ``aoe`` have no extra columns.
    """
    rules, failure = tables.rules, tables.predicted.failure
    partner = {column.gold: column for column in columns}
    compared = [partner[name] for name in tables.values]
    extra = [column for column in columns if column.gold is None and not rules.released]

    def texts(row: RowMatch, column: ColumnMatch) -> list[str | None]:
        sides = (
            (tables.gold, column.gold, row.gold),
            (
                tables.predicted,
                column.predicted,
                row.predicted,
            ),
        )
        return [None if None in (name, at) else t.columns[name][at] for t, name, at in sides]  # type: ignore[index]

    asked: list[TextPair] = []
    for row, column in product((row for row in rows if row.status == "matched"), compared):
        gold, predicted = texts(row, column)
        asked.append((str(column.gold), gold or "", predicted or ""))
    judged = iter(verdicts_of(asked))
    number = "number_tolerance" if rules.released else "number_exact"
    metrics = dict.fromkeys(partner, _METRICS[rules.cells]) | dict.fromkeys(tables.numeric, number)
    metrics[None] = METRIC
    found = []
    for row, column in chain(product(rows, compared), product(rows, extra)):
        gold, predicted = texts(row, column)
        if column.gold is None and is_absent(predicted or ""):
            continue
        if failure is not None:
            verdict = Verdict("structural", 0.0, failure)
        elif row.status != "matched":
            verdict = _OF_ROWS[row.status]
        elif column.gold is not None:
            verdict = next(judged)
        elif column.status == "extra":
            verdict = Verdict("hallucination", 0.0, "column_extra")
        else:
            verdict = _OPEN_COLUMN
        name = member(str(column.predicted if column.gold is None else column.gold))
        at = f"[{row.gold}]" if row.gold is not None else f"[+{row.predicted}]"
        passed = verdict.outcome in ("correct", "both_absent")
        found.append(
            verdict._asdict()
            | {
                "path": f"${at}{name}",
                "field": f"[]{name}",
                "metric": metrics[column.gold],
                "passed": None if verdict.score is None else passed,
                "gold": gold,
                "predicted": predicted,
                "gold_state": _state(gold),
                "predicted_state": _state(predicted),
                "required": column.gold is not None,
                "gold_row": row.gold,
                "predicted_row": row.predicted,
                "column": column.gold,
                "predicted_column": None if row.predicted is None else column.predicted,
                "depth": 2,  # table, row, cell
                "counted": True,
                "weight": 1.0,
            }
        )
    return found


def _state(text: str | None) -> str:
    if text is None:
        return "missing"
    return "present" if text.strip() else "null"
