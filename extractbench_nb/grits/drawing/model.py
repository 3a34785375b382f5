"""The model of a picture of two tables: their lines in one order, and what became of each cell."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import TYPE_CHECKING, NamedTuple, Protocol, TypeAlias

import numpy as np

from extractbench_nb.grits.cells import Grid, Table
from extractbench_nb.grits.similarity import Numbers

if TYPE_CHECKING:
    import pandas as pd


__all__ = [
    "GAP",
    "METRICS",
    "SIDES",
    "ComparedTables",
    "Comparison",
    "DrawnRow",
    "DrawnSide",
    "Line",
    "Patch",
    "compare",
    "drawn",
    "notes_of",
    "two_digits",
]

SIDES = ("true", "predicted")
#: What each metric compares, in a word.
METRICS = {
    "top": "topology",
    "con": "content",
    "loc": "location",
    "rawloc": "raw location",
}
#: In place of a cell's number: a row that the other table alone has.
GAP = -1
#: How near to 1 a similarity is 1.
_NEARLY = 1e-9

_Place: TypeAlias = tuple[int, int]


class ComparedTables(Protocol):
    """Two tables and what their comparison found, as `GriTS` has it."""

    @property
    def scores(self) -> pd.DataFrame: ...  # noqa: D102
    @property
    def rows(self) -> pd.DataFrame: ...  # noqa: D102
    @property
    def columns(self) -> pd.DataFrame: ...  # noqa: D102
    @property
    def true(self) -> Table: ...  # noqa: D102
    @property
    def predicted(self) -> Table: ...  # noqa: D102
    def similarity(self, metric: str) -> Numbers: ...  # noqa: D102


class Line(NamedTuple):
    """A row of both tables, or of one alone; a column alike.

    ``similarity`` is as in the frames of `GriTS`, 0 where the line is alone. ``equal`` says that it
    is not alone, and that all positions which were matched on it are alike.
    """

    true: int | None
    predicted: int | None
    similarity: float = 0.0
    equal: bool = False

    def at(self, side: int) -> int | None:
        """Return its index in the true (0) or the predicted table (1)."""
        return self.predicted if side else self.true


class _Cells(NamedTuple):
    """By cell: positions, the sum of their similarities, and how many of them have a partner."""

    sizes: Numbers
    sums: Numbers
    paired: Numbers


class Patch(NamedTuple):
    """A rectangle that one cell covers; all of the cell, unless others lie over it.

    ``row`` and ``column`` are of its first position, ``height`` and ``width`` count lines as drawn.
    ``state`` is ``alike``, ``unlike``, ``partly`` (some of the cell's positions have no partner),
    ``alone`` (none has) or ``gap``; ``similarity`` is the mean over the cell's positions, 0 for
    those without a partner.
    """

    cell: int
    row: int
    column: int
    height: int
    width: int
    state: str
    similarity: float


class DrawnRow(NamedTuple):
    """A row as drawn: its line, and the patches that begin on it."""

    line: Line
    patches: tuple[Patch, ...]


class DrawnSide(NamedTuple):
    """Some lines of one of the tables; rows that it lacks are there too, as gaps."""

    columns: tuple[Line, ...]
    rows: tuple[DrawnRow, ...]


@dataclass(frozen=True, eq=False)
class Comparison:
    """Two tables as one metric aligned them.

    Attributes
    ----------
    metric : str
        Which metric.
    tables : tuple of (Table, Table)
        True and predicted.
    rows, columns : tuple of Line
        The lines of both tables in one order; between aligned ones the true lines come first.
    common : ndarray of shape (aligned rows, aligned columns)
        Similarity of the pairs of positions, 0 to 1.
    """

    metric: str
    tables: tuple[Table, Table]
    rows: tuple[Line, ...]
    columns: tuple[Line, ...]
    common: Numbers

    @cached_property
    def positions(self) -> tuple[Numbers, Numbers]:
        """By side: the similarity at each position, NaN where it has no partner."""
        return self._positions(0), self._positions(1)

    def _positions(self, side: int) -> Numbers:
        found = np.full(self.tables[side].grid.shape, np.nan)
        places = [[*self.partners(lines, side)] for lines in (self.rows, self.columns)]
        found[np.ix_(*(np.array(place, dtype=np.intp) for place in places))] = self.common
        return found

    def partners(self, lines: Sequence[Line], side: int) -> dict[int, int]:
        """Return, by index on a side, the index of a line's partner; in order."""
        both = ((line.at(side), line.at(1 - side)) for line in lines)
        return {own: other for own, other in both if own is not None and other is not None}

    def partner(self, side: int, row: int, column: int) -> _Place | None:
        """Return the position that one was matched with; None where there is none."""
        down, across = (
            self.partners(lines, side).get(at)
            for lines, at in ((self.rows, row), (self.columns, column))
        )
        return None if down is None or across is None else (down, across)

    @cached_property
    def cells(self) -> tuple[_Cells, _Cells]:
        """By side: what became of each cell."""
        return self._cells(0), self._cells(1)

    def _cells(self, side: int) -> _Cells:
        table, values = self.tables[side], self.positions[side].ravel()
        grid, paired = table.grid.ravel(), ~np.isnan(values)
        weights = (np.ones(grid.size), np.where(paired, values, 0), paired)
        sums = [np.bincount(grid, w, minlength=len(table.cells)) for w in weights]
        return _Cells(*(np.asarray(numbers, dtype=np.float64) for numbers in sums))

    def state(self, side: int, cell: int) -> tuple[str, float]:
        """Return what became of a cell, in the words of `Patch`, and its similarity."""
        if cell == GAP:
            return "gap", 0.0
        size, total, paired = (float(numbers[cell]) for numbers in self.cells[side])
        if not paired:
            return "alone", 0.0
        if paired < size:
            return "partly", total / size
        alike = total >= size - _NEARLY
        return ("alike", 1.0) if alike else ("unlike", total / size)


def compare(result: ComparedTables, metric: str) -> Comparison:
    """Set the lines of both tables in one order.

    Parameters
    ----------
    result : GriTS
        What was compared.
    metric : str
        One of those in ``result.scores``.

    Returns
    -------
    Comparison
        The picture's model, from which `drawn` takes a part.

    Raises
    ------
    InputError
        The metric was not computed.
    """
    common = result.similarity(metric)
    tables = (result.true, result.predicted)
    frames = (frame[frame["metric"] == metric] for frame in (result.rows, result.columns))
    rows, columns = (
        _lines(frame, common.min(axis=1 - axis, initial=1.0), _sizes(tables, axis))
        for axis, frame in enumerate(frames)
    )
    return Comparison(metric, tables, tuple(rows), tuple(columns), common)


def _sizes(tables: tuple[Table, Table], axis: int) -> _Place:
    """Return how many lines both have; an empty table has neither rows nor columns."""
    true, predicted = (table.grid.shape[axis] if table.size else 0 for table in tables)
    return true, predicted


def _lines(pairs: pd.DataFrame, least: Numbers, sizes: _Place) -> Iterator[Line]:
    true = predicted = 0
    columns = (pairs[name].tolist() for name in ("true", "predicted", "similarity"))
    for one, two, similarity, low in zip(*columns, least.tolist(), strict=True):
        yield from _alone(true, one, predicted, two)
        yield Line(one, two, similarity, low >= 1 - _NEARLY)
        true, predicted = one + 1, two + 1
    yield from _alone(true, sizes[0], predicted, sizes[1])


def _alone(true: int, true_end: int, predicted: int, predicted_end: int) -> Iterator[Line]:
    yield from (Line(at, None) for at in range(true, true_end))
    yield from (Line(None, at) for at in range(predicted, predicted_end))


def drawn(
    found: Comparison, rows: Sequence[Line], columns: Sequence[Line]
) -> tuple[DrawnSide, DrawnSide]:
    """Draw some lines of both tables, so that rows which were aligned stand at one height.

    Parameters
    ----------
    found : Comparison
        The tables.
    rows, columns : sequence of Line
        Lines of it, in order.

    Returns
    -------
    tuple of (DrawnSide, DrawnSide)
        True and predicted.
    """
    return _side(found, 0, rows, columns), _side(found, 1, rows, columns)


def _side(found: Comparison, side: int, rows: Sequence[Line], columns: Sequence[Line]) -> DrawnSide:
    own = [line for line in columns if line.at(side) is not None]
    across = [at for line in own if (at := line.at(side)) is not None]
    down = [line.at(side) for line in rows]
    patches: list[list[Patch]] = [[] for _ in rows]
    for cell, top, left, height, width in _rectangles(_shown(found.tables[side], down, across)):
        row = next((at for at in down[top : top + height] if at is not None), GAP)
        told = found.state(side, cell)
        patches[top].append(Patch(cell, row, across[left], height, width, *told))
    return DrawnSide(tuple(own), tuple(map(DrawnRow, rows, map(tuple, patches))))


def _shown(table: Table, down: Sequence[int | None], across: Sequence[int]) -> Grid:
    """Return the cell at each place as drawn; one that covers both rows at a gap goes through."""
    shown = np.full((len(down), len(across)), GAP, dtype=np.intp)
    there = [place for place, row in enumerate(down) if row is not None]
    own = [row for row in down if row is not None]
    shown[there] = table.grid[np.ix_(own, across)]
    for above, below in pairwise(there):
        through = shown[above] == shown[below]
        shown[above + 1 : below] = np.where(through, shown[above], GAP)
    return shown


def _rectangles(shown: Grid) -> Iterator[tuple[int, int, int, int, int]]:
    """Cut a grid into rectangles of one cell each: cell, top, left, height, width."""
    taken = np.zeros(shown.shape, dtype=bool)
    for top, left in np.ndindex(*shown.shape):
        if not taken[top, left]:
            cell = int(shown[top, left])
            free = (shown == cell) & ~taken
            width = _run(free[top, left:])
            height = _run(free[top:, left : left + width].all(axis=1))
            taken[top : top + height, left : left + width] = True
            yield cell, top, left, height, width


def _run(flags: Grid) -> int:
    """Count the flags before the first that is not set."""
    return len(flags) if flags.all() else int(flags.argmin())


def notes_of(table: Table) -> list[str]:
    """Say what a picture of a table does not show: what was mended, and cells under others."""
    covered = len(table.cells) - len(np.unique(table.grid))
    told = f"{covered:,} {'cells lie' if covered > 1 else 'cell lies'} under others, not drawn"
    return [*table.notes, *([told] if covered else [])]


def two_digits(similarity: float) -> str:
    """Write a similarity; what lies between 0 and 1 is written as neither.

    Examples
    --------
    >>> [two_digits(similarity) for similarity in (0, 0.001, 0.625, 0.999, 1)]
    ['0.00', '0.01', '0.62', '0.99', '1.00']
    """
    inside = 0 < similarity < 1
    return f"{min(0.99, max(0.01, similarity)) if inside else similarity:.2f}"
