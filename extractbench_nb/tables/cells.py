"""`Table` and `Cell`: tables as grids of cells, checked and indexed; as frames and HTML."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from html import escape
from itertools import takewhile
from math import isfinite
from typing import Any, NamedTuple, TypeAlias

import numpy as np
import numpy.typing as npt
import pandas as pd

from extractbench_nb.display.html import STYLE
from extractbench_nb.errors import InputError, nearest

#: x0, y0, x1, y1, in whatever unit the page has.
Box: TypeAlias = tuple[float, float, float, float]
Numbers: TypeAlias = npt.NDArray[np.float64]
Indices: TypeAlias = npt.NDArray[np.intp]

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
    grid: Indices
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
        return frame_of(self)

    def to_html(self) -> str:
        """Return the table as HTML, with spans and a head; its texts are escaped.

        Returns
        -------
        str
            A ``table`` element.
        """
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

    Examples
    --------
    >>> table_of_cells([{"row_nums": [0], "column_nums": [0, 1], "text": "Total"}]).grid.tolist()
    [[0, 0]]
    """
    known = tuple(map(_Reader(name).cell, cells))
    if not known:
        return _EMPTY
    return Table(known, _grid(known, name))


def _grid(cells: tuple[Cell, ...], name: str) -> Indices:
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


#: What XML cannot hold.
_UNFIT = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


def frame_of(table: Table) -> pd.DataFrame:
    r"""Return the texts of a table as a DataFrame.

    Parameters
    ----------
    table : Table
        Any table.

    Returns
    -------
    pandas.DataFrame
        One row per row that is not among the first ones with nothing but column headers; those are
        its columns, several of them a MultiIndex. A cell's text is at each position it covers.

    Examples
    --------
    >>> from extractbench_nb.tables import read_table
    >>> frame_of(read_table("Year,Sales\n2020,1.5"))
       Year Sales
    0  2020   1.5
    """
    if not table.size:
        return pd.DataFrame()
    texts, headers = table.texts, _header_rows(table)
    data = np.array(texts[headers:], dtype=object).reshape(-1, table.grid.shape[1])
    dtype = pd.StringDtype("python")  # as in _frames: Arrow cannot hold a lone surrogate
    frame = pd.DataFrame(data, dtype=dtype)
    if headers == 1:
        frame.columns = pd.Index(texts[0], dtype=object)
    elif headers:
        frame.columns = pd.MultiIndex.from_arrays(texts[:headers])
    return frame


def html_of(table: Table) -> str:
    r"""Write a table as HTML.

    Parameters
    ----------
    table : Table
        Any table.

    Returns
    -------
    str
        Well-formed XML, which `read_table` reads as the same cells; boxes are not written, nor
        which cells are projected row headers, and a character that XML cannot hold becomes U+FFFD.
        A cell that is not a rectangle is written once for each of its positions.

    Examples
    --------
    >>> from extractbench_nb.tables import read_table
    >>> print(html_of(read_table("Year,Sales\n2020,<1")))
    <table>
    <thead>
    <tr><th>Year</th><th>Sales</th></tr>
    </thead>
    <tbody>
    <tr><td>2020</td><td>&lt;1</td></tr>
    </tbody>
    </table>
    """
    if not table.size:
        return "<table></table>"
    rows = [f"<tr>{''.join(cells)}</tr>" for cells in _rows(table)]
    head = _rows_in_head(table)
    parts = (("thead", rows[:head]), ("tbody", rows[head:]))
    lines = [line for tag, part in parts if part for line in (f"<{tag}>", *part, f"</{tag}>")]
    return "\n".join(("<table>", *lines, "</table>"))


def _header_rows(table: Table) -> int:
    """Count the first rows in which every position is a header."""
    is_header = [cell.is_header for cell in table.cells]
    return _run(all(is_header[n] for n in row) for row in table.grid.tolist())


def _run(found: Iterable[bool]) -> int:
    """Count the first ones that are true."""
    return len(list(takewhile(bool, found)))


def _rows_in_head(table: Table) -> int:
    """Count the header rows that no cell leaves."""
    grid, rows = table.grid, _header_rows(table)
    return next((n for n in range(rows, 0, -1) if n == len(grid) or _parts(grid, n)), 0)


def _parts(grid: Indices, row: int) -> bool:
    return not (grid[row - 1] == grid[row]).any()


def _rows(table: Table) -> list[list[str]]:
    """Write the cells that start in each row."""
    grid = table.grid
    counts = np.bincount(grid.ravel(), minlength=len(table.cells)).tolist()
    rows: list[list[str]] = [[] for _ in grid]
    done = set()
    for (row, column), n in np.ndenumerate(grid):
        if n in done:
            continue
        height, width = _extent(grid[row : row + counts[n], column : column + counts[n]])
        if height * width == counts[n]:
            done.add(n)
        else:
            height = width = 1
        rows[row].append(_element(table.cells[n], height, width))
    return rows


def _extent(grid: Indices) -> tuple[int, int]:
    """Measure the rectangle of the cell at the first position."""
    width = _run((grid[0] == grid[0, 0]).tolist())
    return _run((grid[:, :width] == grid[0, 0]).all(axis=1).tolist()), width


def _element(cell: Cell, height: int, width: int) -> str:
    tag = "th" if cell.is_header else "td"
    text = escape(_UNFIT.sub("\ufffd", cell.text), quote=False).replace("\r", "&#13;")
    return f"<{tag}{spans_html(height, width)}>{text}</{tag}>"


def spans_html(height: int, width: int) -> str:
    """Write the spans of a cell as attributes; nothing for one row and column."""
    spans = (("rowspan", height), ("colspan", width))
    return "".join(f' {name}="{span}"' for name, span in spans if span > 1)
