"""`canonicalize`: one cell for each node of a table's headers."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from extractbench_nb._frames import Column, FrameSpec
from extractbench_nb.errors import InputError
from extractbench_nb.grits.canonical.draft import REASONS, Change, Draft
from extractbench_nb.grits.canonical.ending import finish
from extractbench_nb.grits.canonical.header_rows import HeaderRows
from extractbench_nb.grits.canonical.html import canonical_html
from extractbench_nb.grits.canonical.nodes import merge_header
from extractbench_nb.grits.canonical.row_header import fill_first_column, project
from extractbench_nb.grits.cells import Table
from extractbench_nb.grits.reading import read_table

__all__ = ["CHANGE_COLUMNS", "Canonical", "canonicalize"]

CHANGE_COLUMNS = FrameSpec(
    "changes",
    "one row a change: a cell that covers more than before, is cut, or has other flags",
    (
        Column("step", "string", "what was done", ", ".join(REASONS)),
        Column("rows", "object", "the rows that the change is about, a tuple of int"),
        Column("columns", "object", "its columns, a tuple of int"),
        Column("before", "object", "texts of the cells that stood there, a tuple of str"),
        Column("after", "object", "texts of the cells that stand there now, a tuple of str"),
        Column("reason", "string", "why, in words"),
    ),
)


@dataclass(frozen=True, eq=False, repr=False)
class Canonical:
    """A table in canonical form; made by `canonicalize`.

    Parameters
    ----------
    table : Table
        The table; the given one where nothing was changed, else with its cells in reading order.
    changes : pandas.DataFrame
        One row a change, in the order of the steps: step, rows, columns, before, after, reason.
    given : Table
        The table as it was read.
    """

    table: Table
    changes: pd.DataFrame
    given: Table

    def __repr__(self) -> str:
        """Return how many changes there are, by step, and the size of the table."""
        rows, columns = self.table.grid.shape
        count = len(self.changes)
        steps = self.changes["step"].value_counts(sort=False)
        by_step = ", ".join(f"{number} {step}" for step, number in steps.items())
        told = f"{count} change{'' if count == 1 else 's'}{': ' if by_step else ''}{by_step}"
        return f"Canonical({told}; {rows} x {columns} positions)"

    def _repr_html_(self) -> str:
        return canonical_html(repr(self), self.given, self.table)


def canonicalize(cells: Any, *, header_rows: int | None = None, name: str = "table") -> Canonical:
    """Bring a table into canonical form: one cell for each node of its headers.

    Parameters
    ----------
    cells : Table or whatever `read_table` reads
        The table: a list of cells with ``row_nums`` and ``column_nums``, say.
    header_rows : int, optional
        How many rows the column header has, whatever is flagged; 0 for none. By default as flagged,
        or the first row where none is, and then as many more as it takes until every column has a
        header cell of its own.
    name : str, optional
        What errors call the table.

    Returns
    -------
    Canonical
        ``.table``, ``.changes``. Canonicalizing the result again with the same arguments changes
        nothing. No text is lost or moved, and no cells with different texts are merged.

    Raises
    ------
    InputError
        The table is not as it should be, or has fewer rows than `header_rows`.

    Notes
    -----
    The principle is that of section 4 of Smock, Pesala and Abraham, "PubTables-1M: Towards
    comprehensive table extraction from unstructured documents" (2022): the headers of rows and
    columns are trees, with one cell a node. ``docs/tables.md`` has the steps as rules, and says
    which are ours.

    Examples
    --------
    >>> texts = [["Item", "Sales", ""], ["", "2020", "2021"], ["Paper", "5", "7"]]
    >>> cells = [
    ...     {"row_nums": [r], "column_nums": [c], "text": text, "is_column_header": r < 2}
    ...     for r, row in enumerate(texts)
    ...     for c, text in enumerate(row)
    ... ]
    >>> found = canonicalize(cells)
    >>> found
    Canonical(2 changes: 1 parent, 1 blank; 3 x 3 positions)
    >>> found.table.texts[:2]
    [['Item', 'Sales', 'Sales'], ['Item', '2020', '2021']]
    """
    table = read_table(cells, name=name).rebuilt()
    _check(header_rows, len(table.grid), name)
    found, changes = table, list[Change]()
    while more := (result := _once(found, header_rows))[1]:  # a step may make way for one before it
        found = result[0]
        changes += more
    return Canonical(found, CHANGE_COLUMNS.from_rows(changes), table)


def _once(table: Table, header_rows: int | None) -> tuple[Table, list[Change]]:
    """Do all steps, and return the table with its changes."""
    if not table.size:
        return table, []
    draft = Draft(table)
    header = HeaderRows(draft, header_rows)
    merge_header(draft, header.count)
    while header.extend():
        merge_header(draft, header.count)
    project(draft, header.count)
    fill_first_column(draft, header.count)
    return finish(draft, header.reasons, given=header_rows is not None), draft.changes


def _check(header_rows: Any, rows: int, name: str) -> None:
    if header_rows is None:
        return
    if not isinstance(header_rows, int | np.integer) or isinstance(header_rows, bool):
        raise InputError(f"header_rows is {header_rows!r}; expected a whole number, or None")
    if not 0 <= header_rows <= rows:
        raise InputError(f"header_rows is {header_rows}; expected 0 to {rows}, the rows of {name}")
