"""`Table` and `Cell`: tables as grids of cells, checked and indexed; as frames and HTML."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from difflib import get_close_matches
from html import escape
from itertools import takewhile
from math import isfinite
from typing import Any, NamedTuple, TypeAlias

import numpy as np
import numpy.typing as npt
import pandas as pd

from extractbench_nb.errors import InputError, nearest
from extractbench_nb.support.cards import NO_MATHS, STYLE

#: x0, y0, x1, y1, in the unit of the page.
Box: TypeAlias = tuple[float, float, float, float]
Numbers: TypeAlias = npt.NDArray[np.float64]
Indices: TypeAlias = npt.NDArray[np.intp]

#: The keys of a cell, in the order of the fields of `Cell`.
_NAMES = ("row_nums", "column_nums", "text", "bbox", "is_column_header", "is_projected_row_header")
_KNOWN = {*_NAMES, "cell_text"}
_CORNERS = 4
#: Tables of up to this many positions may have any number of positions without a cell.
_FEW = 1 << 22
#: Row and column numbers must be below this; larger ones are taken for a mistake.
_MOST = 100_000


class Cell(NamedTuple):
    """A cell of a table.

    The numbers of the rows and columns that it covers, from 0, ascending; its text; its box (x0,
    y0, x1, y1, in the unit of the page); whether it belongs to the column header; and whether it is
    a projected row header: a header for the rows below it, in a row of its own.
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


@dataclass(frozen=True, eq=False, repr=False)
class Table:
    """A table, with its cells and the grid that they cover.

    Attributes
    ----------
    cells : tuple of Cell
        The cells, in the order given.
    grid : ndarray of shape (rows, columns)
        Index in `cells` of the cell that covers each position, the last one if several do. An empty
        table has the shape (1, 0).
    notes : tuple of str
        Repairs made when the table was read.
    """

    cells: tuple[Cell, ...]
    grid: Indices
    notes: tuple[str, ...] = ()

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
        """Return the texts as a DataFrame, one row per row of the table below its header.

        The header is the first rows in which all cells are column headers; several rows give a
        MultiIndex. The text of a cell is repeated at every position that it covers.

        Returns
        -------
        pandas.DataFrame
            The texts.
        """
        if not self.size:
            return pd.DataFrame()
        texts, headers = self.texts, header_rows(self)
        data = np.array(texts[headers:], dtype=object).reshape(-1, self.grid.shape[1])
        dtype = pd.StringDtype("python")  # as in _frames: Arrow cannot hold a lone surrogate
        frame = pd.DataFrame(data, dtype=dtype)
        if headers == 1:
            frame.columns = pd.Index(texts[0], dtype=object)
        elif headers:
            frame.columns = pd.MultiIndex.from_arrays(texts[:headers])
        return frame

    def to_html(self) -> str:
        r"""Return the table as an HTML ``table`` element with spans, a head and escaped texts.

        `read_table` reads it as the same cells. Boxes and flags of projected row headers are not
        written; a character that XML cannot hold becomes U+FFFD. A cell that is not a rectangle is
        written as several that are.

        Returns
        -------
        str
            Well-formed XML.

        Examples
        --------
        >>> from extractbench_nb.tables import read_table
        >>> read_table("Year,Sales\n2020,<1").to_html().splitlines()[5]
        '<tr><td>2020</td><td>&lt;1</td></tr>'
        """
        if not self.size:
            return "<table></table>"

        written: list[list[str]] = [[] for _ in self.grid]
        for number, top, _, height, width in rectangles(self.grid):
            cell = self.cells[number]
            tag = "th" if cell.is_header else "td"
            text = escape(_UNFIT.sub("\ufffd", cell.text), quote=False).replace("\r", "&#13;")
            sizes = (("rowspan", height), ("colspan", width))
            spans = "".join(f' {name}="{size}"' for name, size in sizes if size > 1)
            written[top].append(f"<{tag}{spans}>{text}</{tag}>")
        rows = [f"<tr>{''.join(row)}</tr>" for row in written]
        head = header_rows(self)
        # a cell that begins in the head and reaches below it would be cut off at its end
        while 0 < head < len(rows) and (self.grid[head - 1] == self.grid[head]).any():
            head -= 1
        parts = (("thead", rows[:head]), ("tbody", rows[head:]))
        lines = [line for tag, part in parts if part for line in (f"<{tag}>", *part, f"</{tag}>")]
        return "\n".join(("<table>", *lines, "</table>"))

    def __repr__(self) -> str:
        """Return the shape and the number of cells."""
        rows, columns = self.grid.shape if self.grid.size else (0, 0)
        more = f", {len(self.notes)} notes" if self.notes else ""
        return f"Table({rows} x {columns} positions, {len(self.cells)} cells{more})"

    def _repr_html_(self) -> str:
        return f'<div class="xb-root xb-cells {NO_MATHS}">{STYLE}{BORDERS}{self.to_html()}</div>'

    def part(self, rows: Iterable[int], columns: Iterable[int]) -> Table:
        """Return a table with the rows and columns of these numbers, in the given order.

        Cells span only the lines that are kept, as in a newly written table.

        Parameters
        ----------
        rows, columns : iterable of int
            Numbers of the lines to keep.

        Returns
        -------
        Table
            The empty table if no row or no column is kept.
        """
        down = _checked_lines(rows, self.grid.shape[0], "rows")
        across = _checked_lines(columns, self.grid.shape[1], "columns")
        if not down or not across:
            return EMPTY
        new_rows, new_columns = ({old: n for n, old in enumerate(side)} for side in (down, across))
        cells = []
        for cell in self.cells:
            its_rows = sorted(new_rows[row] for row in cell.rows if row in new_rows)
            its_columns = sorted(new_columns[n] for n in cell.columns if n in new_columns)
            if its_rows and its_columns:
                cells.append(cell._replace(rows=tuple(its_rows), columns=tuple(its_columns)))
        return replace(table_of_cells(cells), notes=self.notes)


#: Without borders a spanning cell looks like a cell next to a blank one.
BORDERS = """<style>.xb-cells.xb-cells.xb-cells th,.xb-cells.xb-cells.xb-cells td{
border:1px solid var(--jp-border-color2,#8886);padding:.15em .5em}</style>"""

#: Without rows and columns.
EMPTY = Table((), np.zeros((1, 0), dtype=np.intp))


def _checked_lines(lines: Iterable[int], count: int, name: str) -> tuple[int, ...]:
    checked = tuple(map(int, lines))
    if len(set(checked)) < len(checked) or any(not 0 <= line < count for line in checked):
        raise InputError(f"{name} are {list(checked)}; expected different numbers below {count}")
    return checked


def table_of_cells(cells: Iterable[Mapping[str, Any] | Cell], name: str = "table") -> Table:
    """Make a table of cells; if several cells cover a position, the last one counts."""
    read = tuple(_read_cell(cell, f"{name}, cell {n}") for n, cell in enumerate(cells))
    if not read:
        return EMPTY
    rows = max(cell.rows[-1] for cell in read) + 1
    columns = max(cell.columns[-1] for cell in read) + 1
    covered = sum(len(cell.rows) * len(cell.columns) for cell in read)
    if rows * columns > max(covered, _FEW):
        raise InputError(
            f"{name}: {rows:,} rows and {columns:,} columns, but the cells cover {covered:,} "
            "positions at most; add empty cells, or number the rows and columns from 0"
        )
    grid, _ = covered_grid(read, (rows, columns))
    holes = np.argwhere(grid < 0)
    if len(holes):
        row, column = holes[0]
        raise InputError(
            f"{name}: no cell covers row {row}, column {column} ({len(holes)} positions in all); "
            "add an empty cell there"
        )
    return Table(read, grid)


def covered_grid(cells: Sequence[Cell], shape: tuple[int, int]) -> tuple[Indices, list[Cell]]:
    """Return the number of the last cell at each position, or -1, and cells over earlier ones."""
    grid = np.full(shape, -1, dtype=np.intp)
    overlapping = []
    for n, cell in enumerate(cells):
        if len(cell.rows) == len(cell.columns) == 1:
            grid[cell.rows[0], cell.columns[0]] = n
            continue
        positions = np.ix_(cell.rows, cell.columns)
        if (grid[positions] >= 0).any():
            overlapping.append(cell)
        grid[positions] = n
    return grid, overlapping


def _read_cell(cell: Mapping[str, Any] | Cell, where: str) -> Cell:
    if isinstance(cell, Cell):
        cell = dict(zip(_NAMES, cell, strict=True))
    elif not isinstance(cell, Mapping):
        raise InputError(f"{where} is {type(cell).__name__}; expected a dict")
    for key in () if cell.keys() <= _KNOWN else cell:
        # other keys of a dataset are ignored, misspelt ones of ours are not
        if key not in _KNOWN and get_close_matches(str(key), _KNOWN, 1, _NEAR):
            raise InputError(f"{where}: no key {key!r}; {nearest(str(key), _KNOWN)}")
    rows, columns = (_line_numbers(cell.get(name), where, name) for name in _NAMES[:2])
    text, box = cell.get("text", cell.get("cell_text")), _read_box(cell.get("bbox"), where)
    if not isinstance(text, _TEXT):
        raise InputError(f"{where}: text is {text!r}; expected a str")
    flags = [cell.get(name) for name in _NAMES[4:]]
    for name, flag in zip(_NAMES[4:], flags, strict=True):
        if not isinstance(flag, _FLAG):
            raise InputError(f"{where}: {name} is {flag!r}; expected a bool")
    return Cell(rows, columns, text or "", box, *map(bool, flags))


#: Tuples: these are asked several times per cell, and a union takes longer.
_NUMBERS = (float, int, np.number)
_TEXT = (str, type(None))
_FLAG = (bool, np.bool_, type(None))


def _line_numbers(value: Any, where: str, name: str) -> tuple[int, ...]:
    if type(value) in (list, tuple) and len(value) == 1 and type(value[0]) is int:
        numbers = value  # most cells are like that
    else:
        values = list(value) if _is_sequence(value) else []
        numbers = sorted({int(n) for n in values}) if all(map(is_whole, values)) else []
    if not numbers or not 0 <= numbers[0] <= numbers[-1] < _MOST:
        raise InputError(
            f"{where}: {name} is {value!r}; expected whole numbers from 0, at least one"
        )
    return tuple(numbers)


def _read_box(value: Any, where: str) -> Box | None:
    if value is None:
        return None
    plain = type(value) in (list, tuple) and len(value) == _CORNERS
    if plain and {float, int}.issuperset(map(type, value)) and isfinite(sum(value)):
        return tuple(map(float, value))  # type: ignore[return-value] # most boxes are like that
    corners = list(value) if _is_sequence(value) else []
    are_numbers = all(isinstance(x, _NUMBERS) and isfinite(x) for x in corners)
    if len(corners) != _CORNERS or not are_numbers:
        raise InputError(f"{where}: bbox is {value!r}; expected four numbers x0, y0, x1, y1")
    x0, y0, x1, y1 = map(float, corners)
    return x0, y0, x1, y1


#: Similarity from which on an unknown key is taken for a misspelt one.
_NEAR = 0.8


def is_whole(value: Any) -> bool:
    """Return whether a value is a whole number, of Python or numpy."""
    return isinstance(value, int | np.integer) and not isinstance(value, bool)


def is_share(value: Any) -> bool:
    """Return whether a value is a number from 0 to 1."""
    is_number = is_whole(value) or isinstance(value, float | np.floating)
    return is_number and bool(0 <= value <= 1)


def check_share(value: Any, name: str) -> None:
    """Raise `InputError` unless a value is a number from 0 to 1."""
    if not is_share(value):
        raise InputError(f"{name} is {value!r}; expected a number from 0 to 1")


def _is_sequence(value: Any) -> bool:
    if type(value) in (list, tuple):
        return True
    return isinstance(value, Sequence | np.ndarray) and not isinstance(value, str | bytes)


#: What XML cannot hold.
_UNFIT = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


def header_rows(table: Table) -> int:
    """Count the first rows in which every position is a header."""
    is_header = [cell.is_header for cell in table.cells]
    return leading(all(is_header[n] for n in row) for row in table.grid.tolist())


def leading(flags: Iterable[bool]) -> int:
    """Count the flags before the first false one."""
    return len(list(takewhile(bool, flags)))


#: In place of a cell's number: no cell is at the position.
GAP = -1


def rectangles(grid: Indices) -> Iterator[tuple[int, int, int, int, int]]:
    """Divide a grid into rectangles of one cell each: cell, top, left, height, width."""
    counts = np.bincount(grid.ravel() - GAP).tolist()
    taken = np.zeros(grid.shape, dtype=bool)
    for (top, left), cell in np.ndenumerate(grid):
        if not taken[top, left]:
            reach = counts[cell - GAP]
            near = np.s_[top : top + reach, left : left + reach]
            free = (grid[near] == cell) & ~taken[near]
            width = leading(free[0].tolist())
            height = leading(free[:, :width].all(axis=1).tolist())
            taken[top : top + height, left : left + width] = True
            yield int(cell), top, left, height, width
