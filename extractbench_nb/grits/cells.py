"""Tables as grids of cells: read from lists of cells, checked, indexed."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from math import isfinite
from typing import Any, NamedTuple, TypeAlias

import numpy as np
import numpy.typing as npt

from extractbench_nb.errors import InputError, nearest

__all__ = ["Box", "Cell", "Table", "table_of_cells"]

#: x0, y0, x1, y1, in whatever unit the page has.
Box: TypeAlias = tuple[float, float, float, float]
Grid: TypeAlias = npt.NDArray[np.intp]

_FLAGS = ("is_column_header", "is_projected_row_header")
_KEYS = ("row_nums", "column_nums", "bbox", "text", "cell_text", *_FLAGS)
_CORNERS = 4
#: Rows or columns beyond which a number is taken for a mistake.
_MOST = 100_000


class Cell(NamedTuple):
    """A cell: the rows and columns that it covers, its text, its box, whether it is a header.

    A header is one of columns; a projected row header stands in a row of its own, for the rows
    below it.
    """

    rows: tuple[int, ...]
    columns: tuple[int, ...]
    text: str = ""
    box: Box | None = None
    is_header: bool = False
    is_projected: bool = False

    def span_from(self, row: int, column: int) -> Box:
        """Return the cell's extent in grid units, seen from one of the positions it covers."""
        left, top = self.columns[0] - column, self.rows[0] - row
        return (left, top, self.columns[-1] - column + 1, self.rows[-1] - row + 1)


@dataclass(frozen=True, eq=False)
class Table:
    """A table: its cells and the grid that they cover.

    Attributes
    ----------
    cells : tuple of Cell
        In the order given.
    grid : ndarray of shape (rows, columns)
        Which cell covers each position; where several do, the last one. An empty table has the
        shape (1, 0).
    notes : tuple of str
        What had to be mended when the table was read.
    part_of : tuple of row numbers and column numbers, or None
        Where the lines were in the table that this is a part of, see `part`.
    """

    cells: tuple[Cell, ...]
    grid: Grid
    notes: tuple[str, ...] = ()
    part_of: tuple[tuple[int, ...], tuple[int, ...]] | None = None

    @property
    def row_nums(self) -> Sequence[int]:
        """The number of each row, in the whole table where this is a part."""
        return self.part_of[0] if self.part_of else range(self.grid.shape[0])

    @property
    def column_nums(self) -> Sequence[int]:
        """The number of each column, in the whole table where this is a part."""
        return self.part_of[1] if self.part_of else range(self.grid.shape[1])

    @property
    def size(self) -> int:
        """Number of grid positions."""
        return int(self.grid.size)

    @property
    def texts(self) -> list[list[str]]:
        """The text at each position, row by row."""
        return [[self.cells[n].text for n in row] for row in self.grid.tolist()]

    @property
    def has_boxes(self) -> bool:
        """Whether every cell has a box."""
        return all(cell.box is not None for cell in self.cells)

    def transposed(self) -> Table:
        """Return the table with rows for columns."""
        cells = (cell._replace(rows=cell.columns, columns=cell.rows) for cell in self.cells)
        back = None if self.part_of is None else (self.part_of[1], self.part_of[0])
        return Table(tuple(cells), self.grid.T, self.notes, back)

    def part(self, rows: Iterable[int], columns: Iterable[int], *, rebuilt: bool = False) -> Table:
        """Return the table with some of its lines, in the order given.

        Parameters
        ----------
        rows, columns : iterable of int
            Which to keep.
        rebuilt : bool, optional
            Whether cells span only what is kept of them, as in a table that was written anew. By
            default every position keeps what it held, its cell with all of its span: the
            substructures of which grid table similarity speaks.

        Returns
        -------
        Table
            The empty table where no row or no column is kept.

        Raises
        ------
        InputError
            There is no such line, or one is named twice.

        Examples
        --------
        >>> cell = {"row_nums": [0], "column_nums": [0, 1, 2], "text": "Sales"}
        >>> table_of_cells([cell]).part([0], [0, 2], rebuilt=True).cells[0].columns
        (0, 1)
        """
        lines = (
            _lines(rows, self.grid.shape[0], "rows"),
            _lines(columns, self.grid.shape[1], "columns"),
        )
        if not all(lines):
            return _EMPTY
        grid = self.grid[np.ix_(*lines)]
        if not rebuilt:
            numbers = zip((self.row_nums, self.column_nums), lines, strict=True)
            first, second = (tuple(known[n] for n in kept) for known, kept in numbers)
            return Table(self.cells, grid, self.notes, (first, second))
        places = [{old: new for new, old in enumerate(kept)} for kept in lines]
        kept = (
            cell._replace(
                rows=_moved(cell.rows, places[0]), columns=_moved(cell.columns, places[1])
            )
            for cell in self.cells
        )
        return table_of_cells(cell for cell in kept if cell.rows and cell.columns)


_EMPTY = Table((), np.zeros((1, 0), dtype=np.intp))


def _lines(given: Iterable[int], count: int, name: str) -> tuple[int, ...]:
    lines = tuple(map(int, given))
    if len(set(lines)) < len(lines) or any(not 0 <= line < count for line in lines):
        raise InputError(f"{name} are {list(lines)}; expected different numbers below {count}")
    return lines


def _moved(lines: tuple[int, ...], places: Mapping[int, int]) -> tuple[int, ...]:
    return tuple(sorted(places[line] for line in lines if line in places))


def table_of_cells(cells: Iterable[Mapping[str, Any] | Cell], name: str = "table") -> Table:
    """Make a table of cells.

    Parameters
    ----------
    cells : iterable of dict or Cell
        Each with ``row_nums`` and ``column_nums`` (whole numbers from 0), and where known ``text``
        (or ``cell_text``), ``bbox`` (x0, y0, x1, y1), ``is_column_header`` and
        ``is_projected_row_header``.
    name : str, optional
        What errors call the table.

    Returns
    -------
    Table
        Its grid reaches to the last row and column that a cell covers.

    Raises
    ------
    InputError
        A cell is not as it should be, or a position is covered by none.

    Examples
    --------
    >>> table_of_cells([{"row_nums": [0], "column_nums": [0, 1], "text": "Total"}]).grid.tolist()
    [[0, 0]]
    """
    known = tuple(_cell(cell, f"{name}, cell {n}") for n, cell in enumerate(cells))
    if not known:
        return _EMPTY
    shape = (max(c.rows[-1] for c in known) + 1, max(c.columns[-1] for c in known) + 1)
    grid = np.full(shape, -1, dtype=np.intp)
    for n, cell in enumerate(known):
        grid[np.ix_(cell.rows, cell.columns)] = n
    holes = np.argwhere(grid < 0)
    if len(holes):
        row, column = holes[0]
        raise InputError(
            f"{name}: no cell covers row {row}, column {column} ({len(holes)} positions in all); "
            "add an empty cell there"
        )
    return Table(known, grid)


def _cell(given: Mapping[str, Any] | Cell, name: str) -> Cell:
    if isinstance(given, Cell):
        return given
    if not isinstance(given, Mapping):
        raise InputError(f"{name} is {type(given).__name__}; expected a dict")
    for key in given:
        if key not in _KEYS:
            raise InputError(f"{name}: no key {key!r}; {nearest(str(key), _KEYS)}")
    text = given.get("text", given.get("cell_text", ""))
    if not isinstance(text, str):
        raise InputError(f"{name}: text is {text!r}; expected a str")
    return Cell(
        _numbers(given.get("row_nums"), f"{name}: row_nums"),
        _numbers(given.get("column_nums"), f"{name}: column_nums"),
        text,
        _box(given.get("bbox"), f"{name}: bbox"),
        *(bool(given.get(flag, False)) for flag in _FLAGS),
    )


def _numbers(value: Any, name: str) -> tuple[int, ...]:
    found = sorted(set(_whole(value))) if _is_sequence(value) else []
    if not found or len(found) < len({*value}) or not 0 <= found[0] <= found[-1] < _MOST:
        raise InputError(f"{name} is {value!r}; expected whole numbers from 0, at least one")
    return tuple(found)


def _whole(values: Iterable[Any]) -> Iterator[int]:
    for value in values:
        if isinstance(value, int | np.integer) and not isinstance(value, bool):
            yield int(value)


def _box(value: Any, name: str) -> Box | None:
    if value is None:
        return None
    corners = list(value) if _is_sequence(value) else []
    numbers = [x for x in corners if isinstance(x, int | float | np.number) and isfinite(x)]
    if len(corners) != _CORNERS or len(numbers) != _CORNERS:
        raise InputError(f"{name} is {value!r}; expected four numbers x0, y0, x1, y1")
    x0, y0, x1, y1 = map(float, numbers)
    return x0, y0, x1, y1


def _is_sequence(value: Any) -> bool:
    return isinstance(value, Sequence | np.ndarray) and not isinstance(value, str | bytes)
