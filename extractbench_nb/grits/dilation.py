"""Dilated boxes: rows and columns that meet halfway, without gaps or overlap."""

from __future__ import annotations

from typing import TypeAlias

import numpy as np
import numpy.typing as npt

from extractbench_nb.errors import InputError
from extractbench_nb.grits.cells import Box, Table

__all__ = ["dilate", "row_extents"]

Numbers: TypeAlias = npt.NDArray[np.float64]


def dilate(table: Table) -> Table:
    """Give each cell the box of the rows and columns that it covers, without gaps in between.

    Parameters
    ----------
    table : Table
        Its cells' boxes; some may be without one.

    Returns
    -------
    Table
        The same cells with other boxes, also those that had none.

    Raises
    ------
    InputError
        No cell has a box; or rows, or columns, are not in order, so that one would have less than
        no height or width.

    Notes
    -----
    Section 5 of Smock, Pesala and Abraham, "PubTables-1M" (2022): the boundaries of two adjacent
    rows move until they meet halfway, where they overlap too. A row reaches from the top to the
    bottom of the cells that lie in it alone. The paper does not say what holds for rows that have
    none: here they share the space between their neighbours equally. The first and the last one
    reach to the edge of the box around all cells. Columns likewise.

    Examples
    --------
    >>> from extractbench_nb.grits.cells import table_of_cells
    >>> cells = [
    ...     {"row_nums": [0], "column_nums": [0], "bbox": [0, 0, 10, 5]},
    ...     {"row_nums": [1], "column_nums": [0], "bbox": [2, 7, 12, 9]},
    ... ]
    >>> [cell.box for cell in dilate(table_of_cells(cells)).cells]
    [(0.0, 0.0, 12.0, 6.0), (0.0, 6.0, 12.0, 9.0)]
    """
    if not table.cells:
        return table
    across, down = _boundaries(table.transposed(), "column", 0), _boundaries(table, "row", 1)

    def box(rows: tuple[int, ...], columns: tuple[int, ...]) -> Box:
        x0, x1 = across[columns[0]], across[columns[-1] + 1]
        return (x0, down[rows[0]], x1, down[rows[-1] + 1])

    cells = (cell._replace(box=box(cell.rows, cell.columns)) for cell in table.cells)
    return Table(tuple(cells), table.grid, table.notes)


def row_extents(table: Table, axis: int = 1) -> Numbers:
    """Return how far the cells reach that lie in one row alone.

    Parameters
    ----------
    table : Table
        A table; transposed for its columns.
    axis : int, optional
        The coordinate that is looked at: 1 for y, 0 for x.

    Returns
    -------
    ndarray of shape (rows, 2)
        Least and greatest coordinate; NaN for a row without such cells, or without their boxes.
    """
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
    # the edges that face each other, and the rows that they belong to
    ends = [low, *extents[known, 1]]
    starts = [*extents[known, 0], high]
    before, after = [-1, *known], [*known, len(extents)]
    found = [_between(*gap) for gap in zip(ends, starts, before, after, strict=True)]
    boundaries = np.concatenate(found)
    if len(known) and known[0] == 0:
        boundaries[0] = low
    if len(known) and known[-1] == len(extents) - 1:
        boundaries[-1] = high
    inverted = np.flatnonzero(np.diff(boundaries) < 0)
    if len(inverted):
        raise InputError(
            f"the table: {name} {inverted[0]} has no room between its neighbours; "
            f"{name}s must be in order on the page"
        )
    return [float(place) for place in boundaries]


def _between(end: float, start: float, before: int, after: int) -> Numbers:
    """Return the boundaries from a row's end to the start of the next one that is known."""
    if after - before == 1 or start < end:
        return np.full(after - before, (end + start) / 2)
    return np.linspace(end, start, after - before)
