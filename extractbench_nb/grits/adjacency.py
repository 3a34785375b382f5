"""Directed adjacency relations: which texts stand side by side, and one above the other."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from itertools import groupby, pairwise
from typing import NamedTuple, TypeAlias

from extractbench_nb.grits.cells import Table

__all__ = ["Ratios", "Relation", "adjacency", "adjacency_relations"]

#: Text, the neighbour's text, and where the neighbour is: ``"right"`` or ``"below"``.
Relation: TypeAlias = tuple[str, str, str]


class Ratios(NamedTuple):
    """An f-score with its precision and recall, each 0 to 1."""

    fscore: float
    precision: float
    recall: float


def adjacency(true: Table, predicted: Table) -> Ratios:
    """Score a table by the adjacency relations of its content.

    Parameters
    ----------
    true, predicted : Table
        Two tables.

    Returns
    -------
    Ratios
        Relations that both have, over those of the predicted table (precision) and of the true one
        (recall). The ratio over no relations is 1; the f-score is 1 where neither table has any.

    Notes
    -----
    Göbel, Hassan, Oro and Orsi, "A methodology for evaluating algorithms for table understanding in
    PDF documents" (2012), as used in the ICDAR 2013 table competition.

    Examples
    --------
    >>> from extractbench_nb.grits.cells import Cell, table_of_cells
    >>> def row(*texts):
    ...     return table_of_cells(Cell((0,), (n,), text) for n, text in enumerate(texts))
    >>> adjacency(row("Year", "Sales", "Tax"), row("Year", "Sales"))
    Ratios(fscore=0.666..., precision=1.0, recall=0.5)
    """
    there, found = adjacency_relations(true), adjacency_relations(predicted)
    common = (there & found).total()
    precision, recall = (common / n.total() if n else 1.0 for n in (found, there))
    both = there.total() + found.total()
    return Ratios(2 * common / both if both else 1.0, precision, recall)


def adjacency_relations(table: Table) -> Counter[Relation]:
    """Return how often each text has which nearest neighbour to the right, and below.

    Parameters
    ----------
    table : Table
        A table.

    Returns
    -------
    Counter
        By text, the neighbour's text and direction. White space is left out of texts. Blank cells
        have no relations and are looked over. A cell that spans several rows or columns has a
        relation to every neighbour along its edge, one for each neighbouring cell.

    Examples
    --------
    >>> from extractbench_nb.grits.cells import table_of_cells
    >>> cells = [("A b", 0), ("", 1), ("C", 2)]
    >>> table = table_of_cells({"row_nums": [0], "column_nums": [n], "text": t} for t, n in cells)
    >>> adjacency_relations(table)
    Counter({('Ab', 'C', 'right'): 1})
    """
    table = table.rebuilt()
    texts = ["".join(cell.text.split()) for cell in table.cells]
    grids = {"right": table.grid.tolist(), "below": table.grid.T.tolist()}
    return Counter(
        (texts[one], texts[other], direction)
        for direction, lines in grids.items()
        for one, other in sorted({pair for line in lines for pair in _neighbours(line, texts)})
    )


def _neighbours(line: list[int], texts: list[str]) -> Iterator[tuple[int, int]]:
    """Yield the pairs of cells in a row or column with nothing but blank cells between them."""
    return pairwise(cell for cell, _ in groupby(cell for cell in line if texts[cell]))
