"""How alike two cells are, by their boxes and texts, in the published forms."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
import numpy.typing as npt

from extractbench_nb.errors import InputError, nearest
from extractbench_nb.tables.cells import Box, Table
from extractbench_nb.tables.reading import read_table

if TYPE_CHECKING:
    from difflib import SequenceMatcher

__all__ = [
    "TEXT_KINDS",
    "Numbers",
    "checked_names",
    "checked_variant",
    "dilate",
    "hull_overlap",
    "iou",
    "pair_similarity",
    "row_extents",
    "text_similarity",
]


def checked_names(given: Any, known: Iterable[str], what: str = "metrics") -> list[str]:
    """Return the names that are asked for."""
    names = list(known)
    if not isinstance(given, Iterable):
        raise InputError(f"{what} is {given!r}; choose among {', '.join(names)}")
    asked = [given] if isinstance(given, str) else list(given)
    for name in asked:
        if name not in names:
            raise InputError(f"{what}: no {name!r}; {nearest(str(name), names)}")
    if not asked:
        raise InputError(f"{what} is empty; choose among {', '.join(names)}")
    return [name for name in names if name in asked]


def checked_variant(given: Any, known: Iterable[str]) -> str:
    """Return the variant of grid table similarity."""
    names = list(known)
    if not isinstance(given, str) or given not in names:
        raise InputError(f"variant is {given!r}; {nearest(str(given), names)}")
    return given


Numbers: TypeAlias = npt.NDArray[np.float64]


def dilate(table: Any) -> Table:
    """Give each cell the box of the rows and columns that it covers, without gaps in between.

    Parameters
    ----------
    table : Table or whatever `read_table` reads
        The table; some of its cells may be without a box.

    Returns
    -------
    Table
        The same cells with other boxes, also those that had none.

    Raises
    ------
    InputError
        The table is not as it should be; no cell has a box; or rows, or columns, are not in the
        order of their boxes (x and y grow to the right and down), so that one would have less than
        no height or width.

    Notes
    -----
    Section 5 of Smock, Pesala and Abraham, "PubTables-1M" (2022): the boundaries of two adjacent
    rows move until they meet halfway, where they overlap too. A row reaches from the top to the
    bottom of the cells that lie in it alone. The paper does not say what holds for rows that have
    none: here they share the space between their neighbours equally, also where that is none. The
    first and the last row reach to the edge of the box around all cells. Columns likewise.

    Examples
    --------
    >>> cells = [
    ...     {"row_nums": [0], "column_nums": [0], "bbox": [0, 0, 10, 5]},
    ...     {"row_nums": [1], "column_nums": [0], "bbox": [2, 7, 12, 9]},
    ... ]
    >>> [cell.box for cell in dilate(cells).cells]
    [(0.0, 0.0, 12.0, 6.0), (0.0, 6.0, 12.0, 9.0)]
    """
    found = read_table(table).rebuilt()
    if not found.cells:
        return found
    across, down = _boundaries(found.transposed(), "column", 0), _boundaries(found, "row", 1)

    def box(rows: tuple[int, ...], columns: tuple[int, ...]) -> Box:
        x0, x1 = across[columns[0]], across[columns[-1] + 1]
        return (x0, down[rows[0]], x1, down[rows[-1] + 1])

    cells = (cell._replace(box=box(cell.rows, cell.columns)) for cell in found.cells)
    return replace(found, cells=tuple(cells))


def row_extents(table: Table, axis: int = 1) -> Numbers:
    """Return how far the cells reach that lie in one row alone."""
    found = np.full((table.grid.shape[0], 2), np.nan)
    for cell in table.cells:
        if cell.box is not None and len(cell.rows) == 1:
            row = found[cell.rows[0]]
            row[0] = np.fmin(row[0], cell.box[axis])
            row[1] = np.fmax(row[1], cell.box[axis + 2])
    return found


def _boundaries(table: Table, name: str, axis: int) -> list[float]:
    """Return where each row begins, and where the last one ends."""
    boxes = np.array([cell.box for cell in table.cells if cell.box is not None])
    if not len(boxes):
        raise InputError("the table: no cell has a bbox, so there is nothing to dilate")
    low, high = boxes[:, axis].min(), boxes[:, axis + 2].max()
    extents = row_extents(table, axis)
    known = np.flatnonzero(~np.isnan(extents[:, 0]))
    _in_order(known, extents[known].mean(axis=1), name)
    # the edges that face each other, and the rows that they belong to
    ends = [low, *extents[known, 1]]
    starts = [*extents[known, 0], high]
    before, after = [-1, *known], [*known, len(extents)]
    found = np.concatenate([*map(_between, ends, starts, before, after)])
    found[0], found[-1] = low, high
    _in_order(np.arange(len(found)) - 1, found, name)
    return [float(place) for place in found]


def _in_order(numbers: npt.NDArray[np.intp], places: Numbers, name: str) -> None:
    """Refuse rows whose middles, or ends, do not go on."""
    back = np.flatnonzero(np.diff(places) < 0)
    if len(back):
        raise InputError(
            f"the table: {name} {numbers[back[0] + 1]} has no room behind the one before; "
            f"{name}s must be in the order of their boxes"
        )


def _between(end: float, start: float, before: int, after: int) -> Numbers:
    """Return the boundaries from a row's end to the start of the next one that is known."""
    if after - before == 1 or start < end:
        return np.full(after - before, (end + start) / 2)
    return np.linspace(end, start, after - before)


_Texts: TypeAlias = Sequence[str]


def iou(a: Numbers, b: Numbers) -> Numbers:
    """Return the intersection over the union of boxes.

    Examples
    --------
    >>> iou(np.array([0, 0, 2, 1]), np.array([[0, 0, 1, 1], [5, 5, 6, 6]])).tolist()
    [0.5, 0.0]
    """
    common = _intersection(a, b)
    return _share(common, _area(a) + _area(b) - common)


def hull_overlap(a: Numbers, b: Numbers) -> Numbers:
    """Return the intersection of boxes over the smallest box around both.

    Never more than `iou`, and the same where one box is in the other: what the published code
    computes, there in single precision.
    """
    low, high = np.minimum(a[..., :2], b[..., :2]), np.maximum(a[..., 2:], b[..., 2:])
    return _share(_intersection(a, b), (high - low).prod(axis=-1))


def _area(boxes: Numbers) -> Numbers:
    """Return areas; an inverted box has none."""
    found: Numbers = np.maximum(boxes[..., 2:] - boxes[..., :2], 0).prod(axis=-1)
    return found


def _intersection(a: Numbers, b: Numbers) -> Numbers:
    low, high = np.maximum(a[..., :2], b[..., :2]), np.minimum(a[..., 2:], b[..., 2:])
    there = (_area(a) > 0) & (_area(b) > 0)
    return np.where(there, np.maximum(high - low, 0).prod(axis=-1), 0)


def _share(part: Numbers, whole: Numbers) -> Numbers:
    return np.divide(part, whole, out=np.zeros(part.shape), where=part > 0)


def text_similarity(true: _Texts, predicted: _Texts) -> Numbers:
    """Return the longest common subsequences of texts, over their mean lengths.

    Examples
    --------
    >>> text_similarity(["tide"], ["diet", "tide"]).tolist()
    [[0.5, 1.0]]
    """
    from rapidfuzz.distance import LCSseq
    from rapidfuzz.process import cdist

    alike: Numbers = cdist(true, predicted, scorer=LCSseq.similarity, dtype=np.float64)
    alike *= 2
    length, other = (np.array([*map(len, side)], dtype=np.float64) for side in (true, predicted))
    empty, blank = np.flatnonzero(length == 0), np.flatnonzero(other == 0)
    length[empty] = 1  # nothing is in common with an empty text, whatever that is divided by
    alike /= length[:, None] + other[None]
    alike[np.ix_(empty, blank)] = 1
    return alike


def pair_similarity(pairs: Iterable[tuple[str, str]], kind: str) -> list[float]:
    """Return what texts have in common, over their mean length, pair by pair.

    Examples
    --------
    >>> [pair_similarity([("tide", "diet"), ("diet", "tide")], kind) for kind in TEXT_KINDS]
    [[0.25, 0.25], [0.25, 0.5]]
    """
    matchers = _matchers()
    by_second: dict[str, SequenceMatcher[str]] = {}  # difflib keeps what it knows of the second
    found = []
    for true, predicted in pairs:
        if not true or not predicted:
            found.append(float(true == predicted))
            continue
        matcher = by_second.get(predicted)
        if matcher is None:
            matcher = by_second[predicted] = matchers(None, "", predicted, kind == "blocks")
        matcher.set_seq1(true)
        found.append(2 * TEXT_KINDS[kind](matcher) / (len(true) + len(predicted)))
    return found


def _substring(matcher: SequenceMatcher[str]) -> int:
    return matcher.find_longest_match().size


def _blocks(matcher: SequenceMatcher[str]) -> int:
    return sum(block[2] for block in matcher.get_matching_blocks())


#: By kind, what is common to two texts, in characters.
TEXT_KINDS: Mapping[str, Callable[[SequenceMatcher[str]], int]] = MappingProxyType(
    {"substring": _substring, "blocks": _blocks}
)


def _matchers() -> type[SequenceMatcher[str]]:
    """Return difflib's class, or cydifflib's, which does the same in a third of the time."""
    try:
        from cydifflib import SequenceMatcher as Matcher
    except ImportError:
        from difflib import SequenceMatcher as Matcher
    found: type[SequenceMatcher[str]] = Matcher
    return found
