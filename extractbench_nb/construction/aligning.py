"""Columns and rows of two tables, aligned one to one: `align_columns`, `align_rows`.

Nothing depends on the order of rows or columns: both are put in the order of their content first,
and ties in an assignment are then broken by content.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import reduce
from heapq import nlargest
from math import nan
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from extractbench_nb.construction.table_rules import (
    PASS_MARK,
    column_key,
    is_absent,
    protected,
    row_key,
    unit_of_column,
)

#: Judges pairs of texts: field of the question, gold, predicted; a score, or None for no verdict.
Ask = Callable[[Sequence[tuple[str, str, str]]], Sequence[float | None]]
Pair = tuple[int, int]
#: A matched pair, the rule that matched it, and its similarity, 0 to 1.
Match = tuple[int, int, str, float]

#: Up to this many pairs of columns are all judged; else, as of rows, a few of the likeliest.
_MOST_COLUMN_PAIRS = 900
_LIKELIEST = 3
_FAINTLY_ALIKE = 40.0
#: Pairs of rows with equal keys up to which they are assigned by their cells.
_MOST_EQUAL = 4_000_000


class ColumnMatch(NamedTuple):
    """A column of gold, of the prediction, or both, and the rule that aligned them."""

    gold: str | None
    predicted: str | None
    status: str
    rule: str = ""


class RowMatch(NamedTuple):
    """A row of gold, of the prediction, or both, by position; similarity of the keys, 0 to 1."""

    gold: int | None
    predicted: int | None
    status: str
    rule: str = ""
    similarity: float | None = None


# --- columns --------------------------------------------------------------------------------------


def align_columns(gold: Sequence[str], predicted: Sequence[str], ask: Ask) -> list[ColumnMatch]:
    """Align columns by name, normalised name, base name, and then by a judge.

    Each name stands once on its side. A name that differs in a number is never the same, nor is one
    with another unit. The result is in the order of gold, and then of the prediction.
    """
    found = _same_names(gold, predicted)
    ours, theirs = _left(gold, predicted, found)
    judged, failed = _judged("column", _pairs_to_judge(ours, theirs), ours, theirs, ask)
    found |= {ours[a]: (theirs[b], "judge") for a, b, _ in judged}
    no_verdict = {ours[a] for a in failed[0]}, {theirs[b] for b in failed[1]}
    rows = []
    for name in gold:
        other, rule = found.get(name, (None, ""))
        status = "judge_error" if name in no_verdict[0] else "missing"
        if other is not None:
            status = "matched" if other == name else "renamed"
        rows.append(ColumnMatch(name, other, status, rule))
    used = {other for other, _ in found.values()}
    return rows + [
        ColumnMatch(None, name, "judge_error" if name in no_verdict[1] else "extra")
        for name in predicted
        if name not in used
    ]


def _same_names(gold: Sequence[str], predicted: Sequence[str]) -> dict[str, tuple[str, str]]:
    """Align names that are the same without a judge; return partner and rule by gold's name."""
    found: dict[str, tuple[str, str]] = {}
    for rule, key in (("name", str), ("normalised", column_key)):
        ours, theirs = _left(gold, predicted, found)
        waiting = defaultdict(list)
        for name in reversed(theirs):
            waiting[key(name)].append(name)
        for name in ours:
            if waiting.get(key(name)):
                found[name] = (waiting[key(name)].pop(), rule)
    bases: dict[str, tuple[list[str], list[str]]] = defaultdict(lambda: ([], []))
    for side, names in enumerate(_left(gold, predicted, found)):
        for name in names:
            bases[unit_of_column(name)[0]][side].append(name)
    for base, (ours, theirs) in bases.items():
        units = [unit_of_column(name)[1] for name in (*ours, *theirs)]
        if base and len(ours) == len(theirs) == 1 and not all(units):  # one of them names no unit
            found[ours[0]] = (theirs[0], "unit")
    return found


def _left(
    gold: Iterable[str], predicted: Iterable[str], found: dict[str, tuple[str, str]]
) -> tuple[list[str], list[str]]:
    used = {other for other, _ in found.values()}
    return sorted(set(gold) - found.keys()), sorted(set(predicted) - used)


def _pairs_to_judge(ours: Sequence[str], theirs: Sequence[str]) -> list[Pair]:
    """Return the pairs of names that may be the same; of many, the likeliest for each of gold's."""
    from rapidfuzz import fuzz

    numbers = [[protected(name) for name in names] for names in (ours, theirs)]
    by_gold = [
        [
            (a, b)
            for b, other in enumerate(theirs)
            if numbers[0][a] == numbers[1][b] and _units_agree(one, other)
        ]
        for a, one in enumerate(ours)
    ]
    if sum(map(len, by_gold)) > _MOST_COLUMN_PAIRS:
        by_gold = [
            nlargest(_LIKELIEST, pairs, key=lambda pair: fuzz.ratio(ours[pair[0]], theirs[pair[1]]))
            for pairs in by_gold
        ]
    return [pair for pairs in by_gold for pair in pairs]


def _units_agree(one: str, other: str) -> bool:
    """Whether two names have no units that differ, such as a percentage beside an amount."""
    units = unit_of_column(one)[1], unit_of_column(other)[1]
    percents = ["%" in unit or "ratio" in unit for unit in units]
    return not all(units) or units[0] == units[1] or percents[0] == percents[1]


# --- what a judge accepts -------------------------------------------------------------------------


def _judged(
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
    failed: tuple[set[int], set[int]] = (set(), set())
    for left, right, worth in _components(edges):
        if np.isnan(worth).any():
            failed[0].update(left)
            failed[1].update(right)
            continue
        bonus = np.where(worth > 0, 10.0 * min(worth.shape) + worth, 0.0)
        found += [(left[i], right[j], float(worth[i, j])) for i, j in _assigned(bonus)]
    return found, failed


def _components(
    edges: Sequence[tuple[int, int, float]],
) -> Iterator[tuple[list[int], list[int], npt.NDArray[np.float64]]]:
    """Split weighted pairs into parts that do not touch: places of both sides, and their matrix."""
    parent: dict[int, int] = {}

    def root(node: int) -> int:
        while parent.setdefault(node, node) != node:
            parent[node] = node = parent[parent[node]]
        return node

    for place, other, _ in edges:
        parent[root(~other)] = root(place)  # places of the other side are negative
    parts = defaultdict(list)
    for edge in edges:
        parts[root(edge[0])].append(edge)
    for part in parts.values():
        left, right = sorted({e[0] for e in part}), sorted({e[1] for e in part})
        rows, columns = ({n: k for k, n in enumerate(side)} for side in (left, right))
        matrix = np.zeros((len(left), len(right)))
        for place, other, value in part:
            matrix[rows[place], columns[other]] = value
        yield left, right, matrix


def _assigned(worth: npt.NDArray[np.float64]) -> list[Pair]:
    """Solve the assignment problem; pairs that are worth nothing are left out."""
    if worth.size == 1:
        return [(0, 0)] if worth[0, 0] > 0 else []
    if not worth.size or not worth.any():
        return []
    from scipy.optimize import linear_sum_assignment

    pairs = zip(
        *(side.tolist() for side in linear_sum_assignment(worth, maximize=True)), strict=True
    )
    return [(i, j) for i, j in pairs if worth[i, j] > 0]


# --- rows -----------------------------------------------------------------------------------------


class Side(NamedTuple):
    """One table as rows are matched, one tuple of texts per row.

    Keys; comparable texts of the cells that both tables have by name; and all cells of the table's
    own columns, by which rows are ordered.
    """

    keys: list[tuple[str, ...]]
    cells: list[tuple[str, ...]]
    content: list[tuple[str, ...]]


def align_rows(gold: Side, predicted: Side, *, threshold: float, judge: Ask) -> list[RowMatch]:
    """Match rows one to one by their keys: in the order of gold, and then of the prediction.

    Equal keys come first, then keys that are equal once normalised. Of the rest, the number of
    pairs and then the total similarity (from `threshold`, 0 to 100, on) is as large as possible;
    then `judge` decides. Keys that differ in a number or a year are never
    compared. Where several rows have the same key, their cells decide.
    """
    orders = [sorted(range(len(s.content)), key=s.content.__getitem__) for s in (gold, predicted)]
    sides = (
        Side(*([column[row] for row in order] for column in side))
        for side, order in zip((gold, predicted), orders, strict=True)
    )
    rows = _Rows(*sides)
    ours, theirs = (list(range(len(order))) for order in orders)
    matches: list[Match] = []
    for rule, key in (("exact", tuple), ("normalised", _normalised)):
        found = [
            (a, b, rule, 1.0)
            for block in rows.grouped(ours, theirs, key)
            for a, b in rows.by_cells(*block)
        ]
        matches += found
        ours, theirs = _unmatched(ours, theirs, found)
    pairs = []
    for left, right in rows.grouped(ours, theirs, _numbers):
        found = rows.similar(left, right, max(threshold, 1.0))
        matches += found
        left, right = _unmatched(left, right, found)  # noqa: PLW2901
        if left and right:
            pairs += rows.likeliest(left, right)
    left_keys, right_keys = ([" | ".join(key) for key in side.keys] for side in rows)
    judged, failed = _judged("key", pairs, left_keys, right_keys, judge)
    matches += [(a, b, "judge", score) for a, b, score in judged]
    found_rows = [
        RowMatch(orders[0][a], orders[1][b], "matched", rule, similarity)
        for a, b, rule, similarity in matches
    ]
    ours, theirs = _unmatched(range(len(orders[0])), range(len(orders[1])), matches)
    found_rows += [
        RowMatch(orders[0][a], None, "judge_error" if a in failed[0] else "missed") for a in ours
    ]
    found_rows += [
        RowMatch(None, orders[1][b], "judge_error" if b in failed[1] else "spurious")
        for b in theirs
    ]
    return in_order(found_rows)


def in_order(rows: Iterable[RowMatch]) -> list[RowMatch]:
    """Put rows in the order of gold, and those without a partner there in the prediction's."""
    return sorted(rows, key=lambda row: (row.gold is None, row.gold or 0, row.predicted or 0))


def _unmatched(
    ours: Iterable[int], theirs: Iterable[int], matches: Iterable[tuple[Any, ...]]
) -> tuple[list[int], list[int]]:
    done = list(matches)
    left, right = {match[0] for match in done}, {match[1] for match in done}
    return [a for a in ours if a not in left], [b for b in theirs if b not in right]


def _normalised(key: Sequence[str]) -> tuple[str, ...]:
    return tuple("" if is_absent(text) else row_key(text) for text in key)


def _numbers(key: Sequence[str]) -> tuple[tuple[str, ...], ...] | None:
    """Return the numbers of a key; None for a blank one, which matches no other key."""
    return tuple(map(protected, key)) if any(_normalised(key)) else None


def _words(text: str) -> str:
    return " ".join(sorted(row_key(text).split()))


class _Rows(NamedTuple):
    """The rows of both tables in the order of their content, and the pairs among some of them."""

    gold: Side
    predicted: Side

    def grouped(
        self, ours: Sequence[int], theirs: Sequence[int], key: Callable[[Any], Any]
    ) -> list[tuple[list[int], list[int]]]:
        """Group the rows of both sides by what their keys share, where both have some."""
        groups: dict[Any, tuple[list[int], list[int]]] = defaultdict(lambda: ([], []))
        for n, (side, rows) in enumerate(zip(self, (ours, theirs), strict=True)):
            for row in rows:
                groups[key(side.keys[row])][n].append(row)
        groups.pop(None, None)
        return [group for group in groups.values() if all(group)]

    def by_cells(self, ours: list[int], theirs: list[int]) -> list[Pair]:
        """Pair rows with the same key so that as many of their cells as possible are equal."""
        if len(ours) == len(theirs) == 1:
            return [(ours[0], theirs[0])]
        waiting = defaultdict(list)
        for b in reversed(theirs):
            waiting[self.predicted.cells[b]].append(b)
        cells = self.gold.cells
        equal = [(a, waiting[cells[a]].pop()) for a in ours if waiting.get(cells[a])]
        ours, theirs = _unmatched(ours, theirs, equal)
        if not ours or not theirs:
            return equal
        if len(ours) * len(theirs) > _MOST_EQUAL:
            return equal + list(zip(ours, theirs, strict=False))
        worth = self.agreement(ours, theirs) + 1.0
        return equal + [(ours[i], theirs[j]) for i, j in _assigned(worth)]

    def agreement(self, ours: Sequence[int], theirs: Sequence[int]) -> npt.NDArray[np.float64]:
        """Count the equal cells of each pair of rows."""
        found = np.zeros((len(ours), len(theirs)))
        for n in range(len(self.gold.cells[0]) if self.gold.cells else 0):
            codes: dict[str, int] = {}
            left, right = (
                np.array([codes.setdefault(side.cells[row][n], len(codes)) for row in rows])
                for side, rows in zip(self, (ours, theirs), strict=True)
            )
            found += left[:, None] == right
        return found

    def likeness(
        self, ours: Sequence[int], theirs: Sequence[int], cutoff: float
    ) -> npt.NDArray[np.float32]:
        """Compare keys, 0 to 100, by the least similar of several key columns."""
        from rapidfuzz import fuzz
        from rapidfuzz.process import cdist

        left, right = (
            list(zip(*(map(_words, side.keys[row]) for row in rows), strict=True))
            for side, rows in zip(self, (ours, theirs), strict=True)
        )
        of_columns = (
            cdist(one, other, scorer=fuzz.ratio, dtype=np.float32, score_cutoff=cutoff)
            for one, other in zip(left, right, strict=True)
        )
        return reduce(np.minimum, of_columns)

    def similar(self, ours: Sequence[int], theirs: Sequence[int], threshold: float) -> list[Match]:
        """Pair rows whose keys reach a similarity: as many as possible, then the most similar."""
        table = self.likeness(ours, theirs, threshold)
        places, others = np.nonzero(table >= threshold)
        values = table[places, others].astype(np.float64)
        edges = list(zip(places.tolist(), others.tolist(), values.tolist(), strict=True))
        found = []
        for a, b, likeness in _components(edges):
            rows, columns = [ours[n] for n in a], [theirs[n] for n in b]
            agreement = self.agreement(rows, columns) if likeness.size > 1 else 0.0
            worth = np.where(likeness > 0, 1e6 + likeness + 1e-4 * agreement, 0.0)
            found += [
                (rows[i], columns[j], "similar", float(likeness[i, j]) / 100)
                for i, j in _assigned(worth)
            ]
        return found

    def likeliest(self, ours: Sequence[int], theirs: Sequence[int]) -> list[Pair]:
        """Return the pairs with the most similar keys, a few for each row of either side."""
        table = self.likeness(ours, theirs, _FAINTLY_ALIKE)
        is_likely = np.zeros(table.shape, dtype=bool)
        for axis in (0, 1):
            count = min(_LIKELIEST, table.shape[axis])
            places = np.argpartition(-table, count - 1, axis=axis).take(range(count), axis=axis)
            np.put_along_axis(is_likely, places, values=True, axis=axis)
        pairs = np.argwhere(is_likely & (table > 0)).tolist()
        return [(ours[a], theirs[b]) for a, b in pairs]
