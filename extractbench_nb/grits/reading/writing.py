"""Tables as other things: a DataFrame, HTML."""

from __future__ import annotations

import re
from collections.abc import Iterable
from html import escape
from itertools import takewhile

import numpy as np
import pandas as pd

from extractbench_nb.grits.cells import Cell, Grid, Table

__all__ = ["frame_of", "html_of"]

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
        One row a row that is not among the first ones with nothing but column headers; those are
        its columns, several of them a MultiIndex. A cell's text is at each position it covers.

    Examples
    --------
    >>> from extractbench_nb.grits.reading import read_table
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
        A cell that is no rectangle is written once for each of its positions.

    Examples
    --------
    >>> from extractbench_nb.grits.reading import read_table
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


def _parts(grid: Grid, row: int) -> bool:
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


def _extent(grid: Grid) -> tuple[int, int]:
    """Measure the rectangle of the cell at the first position."""
    width = _run((grid[0] == grid[0, 0]).tolist())
    return _run((grid[:, :width] == grid[0, 0]).all(axis=1).tolist()), width


def _element(cell: Cell, height: int, width: int) -> str:
    tag = "th" if cell.is_header else "td"
    spans = (("rowspan", height), ("colspan", width))
    written = "".join(f' {name}="{span}"' for name, span in spans if span > 1)
    text = escape(_UNFIT.sub("\ufffd", cell.text), quote=False).replace("\r", "&#13;")
    return f"<{tag}{written}>{text}</{tag}>"
