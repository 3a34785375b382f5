"""Dilated boxes: rows and columns that meet halfway, without gaps or overlap."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from extractbench_nb.errors import InputError
from extractbench_nb.grits.cells import Box, Table
from extractbench_nb.grits.reading import read_table

__all__ = ["dilate", "row_extents"]

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
