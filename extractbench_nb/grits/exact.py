"""Whether two tables are the same."""

from __future__ import annotations

from collections import Counter

from extractbench_nb.grits.cells import Table

__all__ = ["exact_match"]


def exact_match(true: Table, predicted: Table, *, topology_only: bool = False) -> bool:
    """Say whether two tables have the same cells.

    Parameters
    ----------
    true, predicted : Table
        Two tables.
    topology_only : bool, optional
        Whether texts do not matter.

    Returns
    -------
    bool
        True where the same rows and columns are covered by cells with the same texts, character by
        character. The order of cells, boxes and headers do not matter.

    Examples
    --------
    >>> from extractbench_nb.grits.cells import table_of_cells
    >>> one, other = (
    ...     table_of_cells([{"row_nums": [0], "column_nums": [0], "text": text}])
    ...     for text in ("Sales", "sales")
    ... )
    >>> exact_match(one, other), exact_match(one, other, topology_only=True)
    (False, True)
    """
    cells, others = (
        Counter((c.rows, c.columns, "" if topology_only else c.text) for c in table.cells)
        for table in (true.rebuilt(), predicted.rebuilt())
    )
    return cells == others
