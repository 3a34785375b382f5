"""Columns and rows of two tables, aligned one to one: `align_columns`, `align_rows`.

Nothing depends on the order of rows or columns: both are put in the order of their content first,
and ties in an assignment are then broken by content.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import reduce
from heapq import nlargest
from itertools import chain
from math import nan
from typing import Any, NamedTuple, TypeAlias

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
Ask: TypeAlias = Callable[[Sequence[tuple[str, str, str]]], Sequence[float | None]]
Matrix: TypeAlias = npt.NDArray[Any]
Pair: TypeAlias = tuple[int, int]

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
    rule: str | None = None


class RowMatch(NamedTuple):
    """A row of gold, of the prediction, or both, by position; similarity of the keys, 0 to 1."""

    gold: int | None
    predicted: int | None
    status: str
    rule: str | None = None
    similarity: float | None = None


class Side(NamedTuple):
    """One table as rows are matched, one tuple of texts per row.

    Keys; comparable texts of the cells that both tables have by name; and all cells of the table's
    own columns, by which rows are ordered.
    """

    keys: Sequence[tuple[str, ...]]
    cells: Sequence[tuple[str, ...]]
    content: Sequence[tuple[str, ...]]


# --- columns --------------------------------------------------------------------------------------


def align_columns(gold: Sequence[str], predicted: Sequence[str], ask: Ask) -> list[ColumnMatch]:
    """Align columns by name, normalised name, base name, and then by a judge.

    Each name occurs once on its side. A name that differs in a number is never the same, nor is one
    with another unit. The result is in the order of gold, and then of the prediction.
    """
    partner: dict[str, tuple[str, str]] = {}

    def rest() -> tuple[list[str], list[str]]:
        used = {name for name, _ in partner.values()}
        return sorted(set(gold) - partner.keys()), sorted(set(predicted) - used)

    for rule, key in (("name", str), ("normalised", column_key)):
        ours, theirs = rest()
        waiting = defaultdict(list)
        for name in reversed(theirs):
            waiting[key(name)].append(name)
        for name in ours:
            if waiting.get(key(name)):
                partner[name] = waiting[key(name)].pop(), rule
    bases: dict[str, tuple[list[str], list[str]]] = defaultdict(lambda: ([], []))
    for side, names in enumerate(rest()):
        for name in names:
            bases[unit_of_column(name)[0]][side].append(name)
    for base, (ours, theirs) in bases.items():
        units = [unit_of_column(name)[1] for name in (*ours, *theirs)]
        if base and len(ours) == len(theirs) == 1 and not all(units):  # one of them names no unit
            partner[ours[0]] = theirs[0], "unit"

    ours, theirs = rest()
    judged, failed = _judged("column", _columns_to_judge(ours, theirs), ours, theirs, ask)
    partner |= {ours[a]: (theirs[b], "judge") for a, b, _ in judged}
    failed_names = {ours[a] for a in failed[0]}, {theirs[b] for b in failed[1]}
    found = []
    for name in gold:
        if name in partner:
            other, rule = partner[name]
            found.append(ColumnMatch(name, other, "matched" if other == name else "renamed", rule))
        else:
            status = "judge_error" if name in failed_names[0] else "missing"
            found.append(ColumnMatch(name, None, status))
    used = {name for name, _ in partner.values()}
    return found + [
        ColumnMatch(None, name, "judge_error" if name in failed_names[1] else "extra")
        for name in predicted
        if name not in used
    ]


def _columns_to_judge(ours: Sequence[str], theirs: Sequence[str]) -> list[Pair]:
    """Return the pairs of names that may be the same; of many, the likeliest for each of gold's."""
    from rapidfuzz import fuzz

    by_gold = [
        [
            (a, b)
            for b, other in enumerate(theirs)
            if protected(one) == protected(other) and _units_agree(one, other)
        ]
        for a, one in enumerate(ours)
    ]
    if sum(map(len, by_gold)) > _MOST_COLUMN_PAIRS:
        by_gold = [
            nlargest(_LIKELIEST, pairs, key=lambda pair: fuzz.ratio(ours[pair[0]], theirs[pair[1]]))
            for pairs in by_gold
        ]
    return list(chain.from_iterable(by_gold))


def _units_agree(one: str, other: str) -> bool:
    """Whether two names have no units that differ, such as a percentage beside an amount."""
    units = unit_of_column(one)[1], unit_of_column(other)[1]
    percents = ["%" in unit or "ratio" in unit for unit in units]
    return not all(units) or units[0] == units[1] or percents[0] == percents[1]


# --- assignments ----------------------------------------------------------------------------------


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
    if worth.size == 1:
        return [(0, 0)] if worth[0, 0] > 0 else []
    if not worth.any():
        return []
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
    judged, failed = _judged("key", likely, keys[0], keys[1], ask)
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
    cells, waiting = sides[0].cells, defaultdict(list)
    for b in reversed(theirs):
        waiting[sides[1].cells[b]].append(b)
    pairs = [(a, waiting[cells[a]].pop()) for a in ours if waiting.get(cells[a])]
    done = [{pair[n] for pair in pairs} for n in (0, 1)]
    ours, theirs = ([r for r in rows if r not in done[n]] for n, rows in enumerate((ours, theirs)))
    if len(ours) * len(theirs) > _MOST_EQUAL:
        return pairs + list(zip(ours, theirs, strict=False))
    worth = _agreement(sides, ours, theirs) + 1.0
    return pairs + [(ours[i], theirs[j]) for i, j in _assigned(worth)]


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
