"""Columns and rows of two tables, aligned one to one: `align_columns`, `align_rows`.

Nothing depends on the order of rows or columns. Rows are put in the order of their content first;
ties in an assignment are then broken by content.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from math import nan
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from extractbench_nb.construction.values import (
    column_key,
    is_absent,
    protected,
    row_key,
    unit_of_column,
)
from extractbench_nb.engine.bounds import solve

#: Judges pairs of texts: field of the question, gold, predicted; a score, or None for no verdict.
Ask = Callable[[Sequence[tuple[str, str, str]]], Sequence[float | None]]
Pair = tuple[int, int]

#: The score of a judge from which two texts mean the same.
PASS_MARK = 0.7
#: Up to this many pairs of columns are all judged; else, as of rows, a few of the likeliest.
_MOST_COLUMN_PAIRS = 900
_LIKELIEST = 3
_FAINTLY_ALIKE = 40.0
#: Pairs of rows with equal keys up to which they are assigned by their cells.
_MOST_EQUAL = 4_000_000
_BLOCK = 4_000_000


class ColumnMatch(NamedTuple):
    """A column of gold, of the prediction, or both.

    Parameters
    ----------
    gold, predicted : str or None
        The names.
    status : str
        ``matched``, ``renamed``, ``missing``, ``extra`` or ``judge_error``.
    rule : str
        ``name``, ``normalised``, ``unit`` (one of them names no unit), ``judge``; else empty.
    """

    gold: str | None
    predicted: str | None
    status: str
    rule: str


class RowMatch(NamedTuple):
    """A row of gold, of the prediction, or both, by position.

    Parameters
    ----------
    gold, predicted : int or None
        The positions.
    status : str
        ``matched``, ``missed``, ``spurious`` or ``judge_error``.
    rule : str
        ``exact``, ``normalised``, ``similar``, ``judge``, ``fuzzy``; else empty.
    similarity : float or None
        Of the keys, 0 to 1.
    """

    gold: int | None
    predicted: int | None
    status: str
    rule: str
    similarity: float | None


def align_columns(gold: Sequence[str], predicted: Sequence[str], ask: Ask) -> list[ColumnMatch]:
    """Align columns by name, normalised name, base name, and then by a judge.

    Parameters
    ----------
    gold, predicted : sequence of str
        The names; each stands once on its side.
    ask : callable
        The judge.

    Returns
    -------
    list of ColumnMatch
        In the order of gold, and then of the prediction. A name that differs in a number is never
        the same, nor is one with another unit.
    """
    found: dict[str, tuple[str, str]] = {}
    ours, theirs = sorted(gold), sorted(predicted)
    for rule, key in (("name", str), ("normalised", column_key)):
        waiting = defaultdict(list)
        for name in reversed(theirs):
            waiting[key(name)].append(name)
        for name in ours:
            if waiting.get(key(name)):
                found[name] = (waiting[key(name)].pop(), rule)
        ours, theirs = _left(gold, predicted, found)
    found |= _of_bases(ours, theirs)
    ours, theirs = _left(gold, predicted, found)
    judged, *failed = _judged_columns(ours, theirs, ask)
    found |= judged
    used = {other: name for name, (other, _) in found.items()}
    rows = []
    for name in gold:
        if name in found:
            other, rule = found[name]
            rows.append(ColumnMatch(name, other, "matched" if other == name else "renamed", rule))
        else:
            status = "judge_error" if name in failed[0] else "missing"
            rows.append(ColumnMatch(name, None, status, ""))
    for name in predicted:
        if name not in used:
            status = "judge_error" if name in failed[1] else "extra"
            rows.append(ColumnMatch(None, name, status, ""))
    return rows


def _left(
    gold: Iterable[str], predicted: Iterable[str], found: Mapping[str, tuple[str, str]]
) -> tuple[list[str], list[str]]:
    used = {other for other, _ in found.values()}
    return (
        sorted(name for name in gold if name not in found),
        sorted(name for name in predicted if name not in used),
    )


def _of_bases(ours: Sequence[str], theirs: Sequence[str]) -> dict[str, tuple[str, str]]:
    """Align names that are equal but for a unit that one of them lacks, where nothing else fits."""
    bases: dict[str, tuple[list[str], list[str]]] = defaultdict(lambda: ([], []))
    for side, names in enumerate((ours, theirs)):
        for name in names:
            bases[unit_of_column(name)[0]][side].append(name)
    return {
        left[0]: (right[0], "unit")
        for base, (left, right) in bases.items()
        if base and len(left) == len(right) == 1
        and not all(unit_of_column(name)[1] for name in (left[0], right[0]))
    }  # fmt: skip


def _judged_columns(
    ours: Sequence[str], theirs: Sequence[str], ask: Ask
) -> tuple[dict[str, tuple[str, str]], set[str], set[str]]:
    """Ask a judge about the names that are left; also return those of each side that stay open."""
    pairs = [
        (one, other)
        for one in ours
        for other in theirs
        if protected(one) == protected(other) and _units_agree(one, other)
    ]
    if not pairs:
        return {}, set(), set()
    if len(pairs) > _MOST_COLUMN_PAIRS:
        pairs = _likeliest_names(pairs)
    verdicts = ask([("column", one, other) for one, other in pairs])
    places = [(ours.index(one), theirs.index(other)) for one, other in pairs]
    found, failed = _judged(places, verdicts)
    chosen = {ours[i]: (theirs[j], "judge") for i, j, _ in found}
    return chosen, {ours[i] for i in failed[0]}, {theirs[j] for j in failed[1]}


def _likeliest_names(pairs: Sequence[tuple[str, str]]) -> list[tuple[str, str]]:
    """Keep a few pairs for each name of either side, the most similar ones."""
    from rapidfuzz import fuzz

    counts: Counter[tuple[int, str]] = Counter()
    kept = []
    for one, other in sorted(pairs, key=lambda pair: (-fuzz.ratio(*pair), pair)):
        if min(counts[0, one], counts[1, other]) < _LIKELIEST:
            counts.update([(0, one), (1, other)])
            kept.append((one, other))
    return sorted(kept)


def _units_agree(one: str, other: str) -> bool:
    """Whether two names have no units that differ, such as a percentage beside an amount."""
    units = unit_of_column(one)[1], unit_of_column(other)[1]
    percents = ["%" in unit or "ratio" in unit for unit in units]
    return not all(units) or units[0] == units[1] or percents[0] == percents[1]


def _assigned(worth: npt.NDArray[np.float64]) -> list[Pair]:
    """Solve the assignment problem; pairs that are worth nothing are left out."""
    if not worth.size or not worth.any():
        return []
    return [(i, j) for i, j in solve(worth) if worth[i, j] > 0]


# --- rows ---------------------------------------------------------------------------------------


class Side(NamedTuple):
    """One table as rows are matched: keys and cells by row, texts as they stand.

    Parameters
    ----------
    keys : list of tuple of str
        The key of each row.
    cells : list of tuple of str
        Comparable texts of the cells that both tables have by name.
    content : list of tuple of str
        All cells of the table's own columns, by which rows are ordered.
    """

    keys: list[tuple[str, ...]]
    cells: list[tuple[str, ...]]
    content: list[tuple[str, ...]]

    def order(self) -> list[int]:
        """Return the positions in the order of the content."""
        return sorted(range(len(self.content)), key=self.content.__getitem__)


def align_rows(
    gold: Side, predicted: Side, *, threshold: float | None, judge: Ask
) -> list[RowMatch]:
    """Match rows one to one by their keys.

    Parameters
    ----------
    gold, predicted : Side
        The two tables.
    threshold : float or None
        Similarity, 0 to 100, from which keys match; None: keys do not match by similarity.
    judge : callable
        Judges keys that are left.

    Returns
    -------
    list of RowMatch
        In the order of gold, and then of the prediction.

    Notes
    -----
    Equal keys come first, then keys that are equal once normalised. Of the rest, the number of
    pairs and then the total similarity is as large as possible. Keys that differ in a number or a
    year are never compared. Where several rows have the same key, their cells decide.
    """
    ours, theirs = gold.order(), predicted.order()
    matches: list[tuple[int, int, str, float]] = []
    for rule, key in (("exact", tuple), ("normalised", _normalised)):
        groups: dict[Any, tuple[list[int], list[int]]] = defaultdict(lambda: ([], []))
        for n, (side, left) in enumerate(((gold, ours), (predicted, theirs))):
            for row in left:
                groups[key(side.keys[row])][n].append(row)
        equal = [
            pair
            for one, other in groups.values()
            if one and other
            for pair in _by_cells(one, other, gold, predicted)
        ]
        matches += [(i, j, rule, 1.0) for i, j in equal]
        ours, theirs = _unmatched(ours, theirs, equal)
    pairs = []
    for rows, others in _blocks(gold, predicted, ours, theirs):
        left, right = rows, others
        if threshold is not None:
            found = _similar(rows, others, gold, predicted, threshold)
            matches += found
            left, right = _unmatched(rows, others, [(i, j) for i, j, *_ in found])
        if left and right:
            pairs += _likeliest(left, right, gold, predicted)
    judged, failed = _judged_rows(pairs, (ours, theirs), gold, predicted, judge)
    matches += judged
    return _all_rows(len(gold.keys), len(predicted.keys), matches, failed)


def _all_rows(
    gold: int,
    predicted: int,
    matches: Sequence[tuple[int, int, str, float]],
    failed: tuple[set[int], set[int]],
) -> list[RowMatch]:
    by_gold = {i: (j, rule, similarity) for i, j, rule, similarity in matches}
    used = {j for _, j, *_ in matches}
    rows = []
    for i in range(gold):
        if i in by_gold:
            j, rule, similarity = by_gold[i]
            rows.append(RowMatch(i, j, "matched", rule, similarity))
        else:
            status = "judge_error" if i in failed[0] else "missed"
            rows.append(RowMatch(i, None, status, "", None))
    for j in range(predicted):
        if j not in used:
            status = "judge_error" if j in failed[1] else "spurious"
            rows.append(RowMatch(None, j, status, "", None))
    return rows


def _normalised(key: Sequence[str]) -> tuple[str, ...]:
    return tuple("" if is_absent(text) else row_key(text) for text in key)


def _unmatched(
    ours: Sequence[int], theirs: Sequence[int], pairs: Iterable[Pair]
) -> tuple[list[int], list[int]]:
    done = set(pairs)
    left, right = {i for i, _ in done}, {j for _, j in done}
    return [i for i in ours if i not in left], [j for j in theirs if j not in right]


def _by_cells(ours: list[int], theirs: list[int], gold: Side, predicted: Side) -> list[Pair]:
    """Pair rows with the same key so that as many of their cells as possible are equal."""
    if len(ours) == len(theirs) == 1:
        return [(ours[0], theirs[0])]
    waiting = defaultdict(list)
    for j in reversed(theirs):
        waiting[predicted.cells[j]].append(j)
    equal = [(i, waiting[gold.cells[i]].pop()) for i in ours if waiting.get(gold.cells[i])]
    ours, theirs = _unmatched(ours, theirs, equal)
    if not ours or not theirs:
        return equal
    if len(ours) * len(theirs) > _MOST_EQUAL:
        return equal + list(zip(ours, theirs, strict=False))
    agreement = _agreement(ours, theirs, gold, predicted)
    return equal + [(ours[a], theirs[b]) for a, b in _assigned(agreement + 1.0)]


def _agreement(
    ours: Sequence[int], theirs: Sequence[int], gold: Side, predicted: Side
) -> npt.NDArray[np.float64]:
    """Count the equal cells of each pair of rows."""
    found = np.zeros((len(ours), len(theirs)))
    for n in range(len(gold.cells[0]) if gold.cells else 0):
        codes: dict[str, int] = {}
        left, right = (
            np.array([codes.setdefault(side.cells[row][n], len(codes)) for row in rows])
            for side, rows in ((gold, ours), (predicted, theirs))
        )
        found += left[:, None] == right
    return found


def _blocks(
    gold: Side, predicted: Side, ours: Sequence[int], theirs: Sequence[int]
) -> list[tuple[list[int], list[int]]]:
    """Group rows whose keys have the same numbers; those with blank keys are like no other."""
    blocks: dict[Any, tuple[list[int], list[int]]] = defaultdict(lambda: ([], []))
    for n, (side, rows) in enumerate(((gold, ours), (predicted, theirs))):
        for row in rows:
            if any(_normalised(side.keys[row])):
                blocks[tuple(map(protected, side.keys[row]))][n].append(row)
    return [block for block in blocks.values() if all(block)]


def _words(text: str) -> str:
    return " ".join(sorted(row_key(text).split()))


def _likeness(
    ours: Sequence[int], theirs: Sequence[int], gold: Side, predicted: Side, cutoff: float
) -> npt.NDArray[np.float32]:
    """Return the similarity of keys: that of the least similar of several key columns."""
    from rapidfuzz import fuzz
    from rapidfuzz.process import cdist

    found: npt.NDArray[np.float32] | None = None
    for n in range(len(gold.keys[ours[0]])):
        left = [_words(gold.keys[row][n]) for row in ours]
        right = [_words(predicted.keys[row][n]) for row in theirs]
        table = cdist(left, right, scorer=fuzz.ratio, dtype=np.float32, score_cutoff=cutoff)
        found = table if found is None else np.minimum(found, table)
    assert found is not None  # noqa: S101 - there is a key column
    return found


def _candidates(
    ours: Sequence[int], theirs: Sequence[int], gold: Side, predicted: Side, cutoff: float
) -> tuple[npt.NDArray[np.intp], npt.NDArray[np.intp], npt.NDArray[np.float64]]:
    """Return the pairs of rows, by place, whose keys are at least so similar."""
    step = max(1, _BLOCK // len(theirs))
    rows, columns, values = [], [], []
    for start in range(0, len(ours), step):
        table = _likeness(ours[start : start + step], theirs, gold, predicted, cutoff)
        places = np.nonzero(table >= cutoff)
        rows.append(places[0] + start)
        columns.append(places[1])
        values.append(table[places].astype(np.float64))
    return np.concatenate(rows), np.concatenate(columns), np.concatenate(values)


def _similar(
    ours: list[int], theirs: list[int], gold: Side, predicted: Side, threshold: float
) -> list[tuple[int, int, str, float]]:
    places, others, alike = _candidates(ours, theirs, gold, predicted, max(threshold, 1.0))
    found = []
    for a, b, likeness in _components(places.tolist(), others.tolist(), alike.tolist()):
        rows, columns = [ours[n] for n in a], [theirs[n] for n in b]
        if likeness.size == 1:
            found.append((rows[0], columns[0], "similar", float(likeness[0, 0]) / 100))
            continue
        agreement = _agreement(rows, columns, gold, predicted)
        worth = np.where(likeness > 0, 1e6 + likeness + 1e-4 * agreement, 0.0)
        found += [
            (rows[i], columns[j], "similar", float(likeness[i, j]) / 100)
            for i, j in _assigned(worth)
        ]
    return found


def _components(
    places: Sequence[int], others: Sequence[int], values: Sequence[float]
) -> Iterable[tuple[list[int], list[int], npt.NDArray[np.float64]]]:
    """Split candidates into parts that do not touch: places of both sides, and their matrix."""
    parent: dict[int, int] = {}

    def root(node: int) -> int:
        while parent.setdefault(node, node) != node:
            parent[node] = node = parent[parent[node]]
        return node

    edges = list(zip(places, others, values, strict=True))
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


def _likeliest(
    ours: Sequence[int], theirs: Sequence[int], gold: Side, predicted: Side
) -> list[Pair]:
    """Return the pairs with the most similar keys, a few for each row of either side."""
    step = max(1, _BLOCK // len(theirs))
    pairs: set[Pair] = set()
    best: list[npt.NDArray[np.float32]] = []
    rows: list[npt.NDArray[np.intp]] = []
    for start in range(0, len(ours), step):
        part = ours[start : start + step]
        table = _likeness(part, theirs, gold, predicted, _FAINTLY_ALIKE)
        for row, columns in enumerate(_top(table, 1)):
            pairs |= {(start + row, int(n)) for n in columns if table[row, n] > 0}
        top = _top(table, 0)
        best.append(np.take_along_axis(table, top, axis=0))
        rows.append(top + start)
    values, places = np.concatenate(best), np.concatenate(rows)
    top = _top(values, 0)
    for value, place, column in zip(
        np.take_along_axis(values, top, axis=0).ravel().tolist(),
        np.take_along_axis(places, top, axis=0).ravel().tolist(),
        np.broadcast_to(np.arange(len(theirs)), top.shape).ravel().tolist(),
        strict=True,
    ):
        if value > 0:
            pairs.add((place, column))
    return [(ours[a], theirs[b]) for a, b in pairs]


def _top(table: npt.NDArray[np.float32], axis: int) -> npt.NDArray[np.intp]:
    """Return the places of the largest values along an axis."""
    count = min(_LIKELIEST, table.shape[axis])
    found = np.argpartition(-table, count - 1, axis=axis)
    return found.take(range(count), axis=axis)


def _judged_rows(
    pairs: Sequence[Pair],
    order: tuple[list[int], list[int]],
    gold: Side,
    predicted: Side,
    judge: Ask,
) -> tuple[list[tuple[int, int, str, float]], tuple[set[int], set[int]]]:
    """Ask a judge about pairs of rows; also return the rows of each side that stay open."""
    ours, theirs = order
    ranks = [{row: n for n, row in enumerate(rows)} for rows in order]
    ranked = sorted((ranks[0][i], ranks[1][j]) for i, j in pairs)  # ties are broken by content
    texts = [
        ("key", " | ".join(gold.keys[ours[a]]), " | ".join(predicted.keys[theirs[b]]))
        for a, b in ranked
    ]
    found, failed = _judged(ranked, judge(texts) if texts else [])
    matches = [(ours[a], theirs[b], "judge", score) for a, b, score in found]
    return matches, ({ours[a] for a in failed[0]}, {theirs[b] for b in failed[1]})


def _judged(
    pairs: Sequence[Pair], verdicts: Sequence[float | None]
) -> tuple[list[tuple[int, int, float]], tuple[set[int], set[int]]]:
    """Assign pairs that a judge accepted; also return what stays open on each side.

    Whatever an open verdict could change stays open: all that accepted and open pairs connect. So
    a judge that fails never makes room for a pair that it would have ruled out.
    """
    edges = [
        (a, b, nan if score is None else score)
        for (a, b), score in zip(pairs, verdicts, strict=True)
        if score is None or score >= PASS_MARK
    ]
    found: list[tuple[int, int, float]] = []
    failed: tuple[set[int], set[int]] = (set(), set())
    for left, right, worth in _components(*(zip(*edges, strict=True) if edges else ((),) * 3)):
        if np.isnan(worth).any():
            failed[0].update(left)
            failed[1].update(right)
            continue
        bonus = np.where(worth > 0, 10.0 * min(worth.shape) + worth, 0.0)
        found += [(left[i], right[j], float(worth[i, j])) for i, j in _assigned(bonus)]
    return found, failed
