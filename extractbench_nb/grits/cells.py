"""Tables as grids of cells: read from lists of cells, checked, indexed."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from math import isfinite
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

import numpy as np
import numpy.typing as npt

from extractbench_nb._html import STYLE
from extractbench_nb.errors import InputError, nearest

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["Box", "Cell", "Table", "table_of_cells"]

#: x0, y0, x1, y1, in whatever unit the page has.
Box: TypeAlias = tuple[float, float, float, float]
Grid: TypeAlias = npt.NDArray[np.intp]

_FLAGS = ("is_column_header", "is_projected_row_header")
_KEYS = ("row_nums", "column_nums", "bbox", "text", "cell_text", *_FLAGS)
_KNOWN = frozenset(_KEYS)
_CORNERS = 4
#: Positions up to which those without a cell are looked for.
_FEW = 1 << 22
#: Rows or columns beyond which a number is taken for a mistake.
_MOST = 100_000


class Cell(NamedTuple):
    """A cell: the rows and columns that it covers, its text, its box, whether it is a header.

    Parameters
    ----------
    rows, columns : tuple of int
        Which it covers, from 0, in order.
    text : str
        Its text.
    box : tuple of float, or None
        x0, y0, x1, y1, in whatever unit the page has.
    is_header : bool
        Whether it is one of the column header.
    is_projected : bool
        Whether it is a header for the rows below it, in a row of its own.
    """

    rows: tuple[int, ...]
    columns: tuple[int, ...]
    text: str = ""
    box: Box | None = None
    is_header: bool = False
    is_projected: bool = False

    def span_from(self, row: int, column: int) -> Box:
        """Return the cell's extent in grid units, seen from one of the positions it covers.

        Parameters
        ----------
        row, column : int
            The position.

        Returns
        -------
        tuple of float
            x0, y0, x1, y1; (0, 0, 1, 1) for a cell that does not span.
        """
        left, top = self.columns[0] - column, self.rows[0] - row
        return (left, top, self.columns[-1] - column + 1, self.rows[-1] - row + 1)


@dataclass(frozen=True, eq=False, repr=False)
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

    def to_frame(self) -> pd.DataFrame:
        """Return the texts as a DataFrame; header rows become its columns.

        Returns
        -------
        pandas.DataFrame
            The text of a cell stands at every position that it covers.
        """
        from extractbench_nb.grits.reading.writing import frame_of

        return frame_of(self)

    def to_html(self) -> str:
        """Return the table as HTML, with spans and a head; its texts are escaped.

        Returns
        -------
        str
            A ``table`` element.
        """
        from extractbench_nb.grits.reading.writing import html_of

        return html_of(self)

    def __repr__(self) -> str:
        """Return the shape and the number of cells."""
        rows, columns = self.grid.shape if self.grid.size else (0, 0)
        more = f", {len(self.notes)} notes" if self.notes else ""
        return f"Table({rows} x {columns} positions, {len(self.cells)} cells{more})"

    def _repr_html_(self) -> str:
        return f'<div class="xb-root xb-cells">{STYLE}{_LINES}{self.to_html()}</div>'

    def transposed(self) -> Table:
        """Return the table with rows for columns.

        Returns
        -------
        Table
            Of the same cells; boxes stay as they are.
        """
        cells = (cell._replace(rows=cell.columns, columns=cell.rows) for cell in self.cells)
        back = None if self.part_of is None else (self.part_of[1], self.part_of[0])
        return Table(tuple(cells), self.grid.T, self.notes, back)

    def part(self, rows: Iterable[int], columns: Iterable[int], *, rebuilt: bool = True) -> Table:
        """Return the table with some of its lines, in the order given.

        Parameters
        ----------
        rows, columns : iterable of int
            Which to keep.
        rebuilt : bool, optional
            Whether cells span only what is kept of them, as in a table that was written anew. If
            not, every position keeps what it held, its cell with all of its span: a substructure,
            of which grid table similarity speaks. `grits` alone looks at it like that, and
            ``cells`` are still those of the whole table.

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
        >>> table_of_cells([cell]).part([0], [0, 2]).cells[0].columns
        (0, 1)
        """
        down = _lines(rows, self.grid.shape[0], "rows")
        across = _lines(columns, self.grid.shape[1], "columns")
        if not down or not across:
            return _EMPTY
        first = tuple(self.row_nums[n] for n in down)
        second = tuple(self.column_nums[n] for n in across)
        part = Table(self.cells, self.grid[np.ix_(down, across)], self.notes, (first, second))
        return part.rebuilt() if rebuilt else part

    def rebuilt(self) -> Table:
        """Return the table as if it had been written anew: cells span what is there of them.

        Returns
        -------
        Table
            The same table, unless it is a part that `part` has not rebuilt.
        """
        if self.part_of is None:
            return self
        down, across = ({old: new for new, old in enumerate(lines)} for lines in self.part_of)
        kept = (
            cell._replace(rows=_moved(cell.rows, down), columns=_moved(cell.columns, across))
            for cell in self.cells
        )
        found = table_of_cells(cell for cell in kept if cell.rows and cell.columns)
        return Table(found.cells, found.grid, self.notes)


#: Without lines a cell that spans looks like one beside a blank.
_LINES = """<style>.xb-cells.xb-cells.xb-cells th,.xb-cells.xb-cells.xb-cells td{
border:1px solid var(--jp-border-color2,#8886);padding:.15em .5em}</style>"""

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
        ``is_projected_row_header``. What else a dict holds is not looked at.
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
    known = tuple(map(_Reader(name).cell, cells))
    if not known:
        return _EMPTY
    return Table(known, _grid(known, name))


def _grid(cells: tuple[Cell, ...], name: str) -> Grid:
    """Return which cell covers each position, the last one where there are several."""
    rows = max(cell.rows[-1] for cell in cells) + 1
    columns = max(cell.columns[-1] for cell in cells) + 1
    covered = sum(len(cell.rows) * len(cell.columns) for cell in cells)
    if rows * columns > max(covered, _FEW):
        raise InputError(
            f"{name}: {rows:,} rows and {columns:,} columns, but the cells cover {covered:,} "
            "positions at most; add empty cells, or number the rows and columns from 0"
        )
    grid = np.full((rows, columns), -1, dtype=np.intp)
    for n, cell in enumerate(cells):
        if len(cell.rows) == len(cell.columns) == 1:
            grid[cell.rows[0], cell.columns[0]] = n
        else:
            grid[np.ix_(cell.rows, cell.columns)] = n
    holes = np.argwhere(grid < 0)
    if len(holes):
        row, column = holes[0]
        raise InputError(
            f"{name}: no cell covers row {row}, column {column} ({len(holes)} positions in all); "
            "add an empty cell there"
        )
    return grid


class _Reader:
    """Reads cells one after the other; errors say which."""

    def __init__(self, name: str) -> None:
        self._name = name
        self._number = -1

    def cell(self, given: Mapping[str, Any] | Cell) -> Cell:
        self._number += 1
        if isinstance(given, Cell):
            return self._checked(given)
        if not isinstance(given, Mapping):
            raise self._error(f" is {type(given).__name__}; expected a dict")
        if not given.keys() <= _KNOWN:
            self._refuse_misspelt(given)
        text = given.get("text", given.get("cell_text"))
        rows = self._numbers(given.get("row_nums"), "row_nums")
        columns = self._numbers(given.get("column_nums"), "column_nums")
        flags = (self._flag(given.get(name), name) for name in _FLAGS)
        return Cell(rows, columns, self._text(text), self._box(given.get("bbox")), *flags)

    def _checked(self, cell: Cell) -> Cell:
        if self._numbers(cell.rows, "rows") != cell.rows:
            raise self._error(f": rows are {cell.rows!r}; expected a sorted tuple")
        if self._numbers(cell.columns, "columns") != cell.columns:
            raise self._error(f": columns are {cell.columns!r}; expected a sorted tuple")
        if not isinstance(cell.text, str):
            raise self._error(f": text is {cell.text!r}; expected a str")
        self._box(cell.box)
        return cell

    def _refuse_misspelt(self, given: Mapping[str, Any]) -> None:
        """Refuse a key that is nearly one of ours; what else a dataset tells of cells is left."""
        for key in given:
            if key not in _KNOWN and get_close_matches(str(key), _KEYS, 1, _NEAR):
                raise self._error(f": no key {key!r}; {nearest(str(key), _KEYS)}")

    def _error(self, problem: str) -> InputError:
        return InputError(f"{self._name}, cell {self._number}{problem}")

    def _text(self, value: Any) -> str:
        if value is None:
            return ""
        if not isinstance(value, str):
            raise self._error(f": text is {value!r}; expected a str")
        return value

    def _flag(self, value: Any, key: str) -> bool:
        if value is None or isinstance(value, bool | np.bool_):
            return bool(value)
        raise self._error(f": {key} is {value!r}; expected a bool")

    def _numbers(self, value: Any, key: str) -> tuple[int, ...]:
        if type(value) in _PLAIN and len(value) == 1 and type(value[0]) is int:
            found = value  # most cells are like that
        else:
            found = sorted(set(_whole(value))) if _is_sequence(value) else []
            if found and len(found) < len({*value}):
                found = []
        if not found or not 0 <= found[0] <= found[-1] < _MOST:
            raise self._error(f": {key} is {value!r}; expected whole numbers from 0, at least one")
        return tuple(found)

    def _box(self, value: Any) -> Box | None:
        if value is None:
            return None
        corners = list(value) if _is_sequence(value) else []
        numbers = [float(x) for x in corners if isinstance(x, _NUMBER) and isfinite(x)]
        if len(corners) != _CORNERS or len(numbers) != _CORNERS:
            raise self._error(f": bbox is {value!r}; expected four numbers x0, y0, x1, y1")
        x0, y0, x1, y1 = numbers
        return x0, y0, x1, y1


_PLAIN = (list, tuple)
#: How near a key is to one of ours that is taken for it.
_NEAR = 0.8
_NUMBER = (float, int, np.number)


def _whole(values: Iterable[Any]) -> Iterator[int]:
    for value in values:
        if isinstance(value, int | np.integer) and not isinstance(value, bool):
            yield int(value)


def _is_sequence(value: Any) -> bool:
    if type(value) is list:
        return True
    return isinstance(value, Sequence | np.ndarray) and not isinstance(value, str | bytes)
