"""How complex a table is: whether cells span, and how many objects it has."""

from __future__ import annotations

from typing import Any

from extractbench_nb.grits.cells import Cell, Table
from extractbench_nb.grits.reading import read_table

__all__ = ["count_objects", "is_complex"]


def is_complex(table: Any) -> bool:
    """Return whether a table is complex: whether a cell covers several rows or columns.

    Parameters
    ----------
    table : Table or whatever `read_table` reads
        The table; canonicalize it first to compare with the paper's counts.

    Returns
    -------
    bool
        False for a simple table. Projected row headers and blank cells count like any other cell.

    Raises
    ------
    InputError
        The table is not as it should be.

    Notes
    -----
    Sections 3 and 7 of the paper that `canonicalize` names: complex tables are those with any
    spanning cells; 52.7 % of PubTables-1M, and 40.1 % before canonicalization.

    Examples
    --------
    >>> is_complex([{"row_nums": [0], "column_nums": [0, 1], "text": "Sales"}])
    True
    """
    return any(_spans(cell) for cell in read_table(table).rebuilt().cells)


def count_objects(table: Any) -> int:
    """Count the objects that a detector of table structure has to find.

    Parameters
    ----------
    table : Table or whatever `read_table` reads
        The table.

    Returns
    -------
    int
        1 for the table, 1 a row, 1 a column, 1 for the column header where there is one, 1 a
        projected row header, and 1 a cell that spans several rows or columns and is not a projected
        row header; 0 for an empty table.

    Raises
    ------
    InputError
        The table is not as it should be.

    Notes
    -----
    The classes of section 5 of the paper that `canonicalize` names; section 4 caps the objects of a
    table at 100. The paper does not say whether a projected row header is a spanning cell as well;
    here it is counted once.

    Examples
    --------
    >>> rows = [["Item", "Sales"], ["Paper", "5"]]
    >>> import pandas as pd
    >>> count_objects(pd.DataFrame(rows[1:], columns=rows[0]))  # table, 2 rows, 2 columns, header
    6
    """
    found: Table = read_table(table).rebuilt()
    if not found.size:
        return 0
    has_header = any(cell.is_header for cell in found.cells)
    objects = sum(cell.is_projected or _spans(cell) for cell in found.cells)
    return 1 + sum(found.grid.shape) + has_header + objects


def _spans(cell: Cell) -> bool:
    return len(cell.rows) > 1 or len(cell.columns) > 1
