"""Cells to tables, where a position without a cell gets an empty one, and the table says so."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np

from extractbench_nb.errors import InputError
from extractbench_nb.grits.cells import Cell, Grid, Table

__all__ = ["MOST_POSITIONS", "Notes", "check_size", "mended", "table_of_rows"]

#: Positions beyond which a table is taken for a mistake.
MOST_POSITIONS = 1_000_000
_MOST_NOTES = 20


class Notes:
    """What had to be mended, in order; of very many notes the first 20 and a count are kept."""

    def __init__(self, *first: str) -> None:
        self.kept = list(first)
        self.more = 0

    def add(self, note: str) -> None:
        """Take one more note."""
        if len(self.kept) < _MOST_NOTES:
            self.kept.append(note)
        else:
            self.more += 1

    def texts(self) -> tuple[str, ...]:
        """Return the notes."""
        return (*self.kept, f"and {self.more} more") if self.more else tuple(self.kept)


def check_size(rows: int, columns: int, name: str) -> None:
    """Raise an `InputError` for a table that is greater than any on a page."""
    if rows * columns > MOST_POSITIONS:
        raise InputError(
            f"{name} has {rows:,} rows x {columns:,} columns; "
            f"expected at most {MOST_POSITIONS:,} positions"
        )


def table_of_rows(rows: Sequence[Sequence[str]], headers: int, notes: Notes, name: str) -> Table:
    """Make a table of texts, row by row; rows may be of unequal length.

    Parameters
    ----------
    rows : sequence of sequence of str
        The texts.
    headers : int
        How many of the rows are column headers, 0 and up.
    notes : Notes
        Takes what is mended.
    name : str
        What errors call the table.

    Returns
    -------
    Table
        As wide as the longest row.

    Raises
    ------
    InputError
        There are more than a million positions.
    """
    check_size(len(rows), max(map(len, rows), default=0), name)
    cells = (
        Cell((r,), (c,), text, None, r < headers)
        for r, row in enumerate(rows)
        for c, text in enumerate(row)
    )
    return mended(cells, notes, name)


def mended(cells: Iterable[Cell], notes: Notes, name: str) -> Table:
    """Make a table of cells; a position without one gets an empty cell.

    Parameters
    ----------
    cells : iterable of Cell
        Each covers neighbouring rows and columns. Where two overlap, the later one wins.
    notes : Notes
        Takes what is mended.
    name : str
        What errors call the table.

    Returns
    -------
    Table
        Its cells are sorted by where they start, by row and then by column.

    Raises
    ------
    InputError
        There are more than a million positions.
    """
    known = list(cells)
    if not known:
        return Table((), np.zeros((1, 0), dtype=np.intp), notes.texts())
    shape = (max(c.rows[-1] for c in known) + 1, max(c.columns[-1] for c in known) + 1)
    check_size(*shape, name)
    grid = _covered(known, shape, notes)
    known += _filled(known, grid, notes)
    order = sorted(range(len(known)), key=lambda n: (known[n].rows[0], known[n].columns[0]))
    place = np.empty(len(order), dtype=np.intp)
    place[order] = np.arange(len(order))
    return Table(tuple(known[n] for n in order), place[grid], notes.texts())


def _covered(cells: list[Cell], shape: tuple[int, int], notes: Notes) -> Grid:
    grid = np.full(shape, -1, dtype=np.intp)
    for n, (rows, columns, *_) in enumerate(cells):
        if len(rows) == len(columns) == 1:
            grid[rows[0], columns[0]] = n
            continue
        part = grid[rows[0] : rows[-1] + 1, columns[0] : columns[-1] + 1]
        if (part >= 0).any():
            notes.add(
                f"row {rows[0]}, column {columns[0]}: the cell overlaps an earlier one, and wins"
            )
        part[:] = n
    return grid


def _filled(cells: list[Cell], grid: Grid, notes: Notes) -> list[Cell]:
    """Return an empty cell for each hole, a header where the whole row is one."""
    added: list[Cell] = []
    for row in np.flatnonzero((grid < 0).any(axis=1)).tolist():
        holes = np.flatnonzero(grid[row] < 0).tolist()
        there = set(grid[row].tolist()) - {-1}
        is_header = bool(there) and all(cells[n].is_header for n in there)
        first = len(cells) + len(added)
        grid[row, holes] = np.arange(first, first + len(holes))
        added += [Cell((row,), (column,), "", None, is_header) for column in holes]
        notes.add(f"row {row}: {_positions(len(holes))} without a cell, filled")
    return added


def _positions(count: int) -> str:
    return f"{count} position{'s' * (count > 1)}"
