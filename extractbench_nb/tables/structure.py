"""Other metrics of two tables: adjacency relations, BLEU-4, equality."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import groupby, pairwise
from math import exp, log
from typing import NamedTuple, TypeAlias

from extractbench_nb.tables.cells import Cell, Table

__all__ = [
    "Ratios",
    "Relation",
    "Section",
    "adjacency",
    "adjacency_relations",
    "bleu",
    "exact_match",
    "structure_tokens",
    "table_sections",
]


#: Text, the neighbour's text, and where the neighbour is: ``"right"`` or ``"below"``.
Relation: TypeAlias = tuple[str, str, str]


class Ratios(NamedTuple):
    """An f-score with its precision and recall, each 0 to 1."""

    fscore: float
    precision: float
    recall: float


def adjacency(true: Table, predicted: Table) -> Ratios:
    """Score a table by the adjacency relations of its content.

    Notes
    -----
    Göbel, Hassan, Oro and Orsi, "A methodology for evaluating algorithms for table understanding in
    PDF documents" (2012), as used in the ICDAR 2013 table competition.

    Examples
    --------
    >>> from extractbench_nb.tables.cells import Cell, table_of_cells
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

    Examples
    --------
    >>> from extractbench_nb.tables.cells import table_of_cells
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


_LONGEST = 4

#: ``"thead"`` or ``"tbody"``, and for each of its rows the cells that begin there.
Section: TypeAlias = tuple[str, list[list[Cell]]]


def bleu(true: Table, predicted: Table, *, spans: bool = False) -> float:
    """Return the BLEU score of a table's structure tokens, as of one sentence.

    Notes
    -----
    Papineni, Roukos, Ward and Zhu, "BLEU: a method for automatic evaluation of machine translation"
    (2002); on table structure in Li et al., "TableBank" (2020). Not symmetric: a table with rows
    too many loses precision, one with rows too few the brevity penalty. A score of 1 does not say
    that the tags are the same, only that all runs of four are.

    Examples
    --------
    >>> from extractbench_nb.tables.cells import Cell, table_of_cells
    >>> def row(*texts):
    ...     return table_of_cells(Cell((0,), (n,), text) for n, text in enumerate(texts))
    >>> import numpy as np
    >>> found = bleu(row("Year", "Sales", "Tax"), row("Year", "Sales"))
    >>> bool(np.isclose(found, (4 / 5) ** (1 / 4) * np.exp(1 - 9 / 8)))
    True
    """
    reference = structure_tokens(true, spans=spans)
    candidate = structure_tokens(predicted, spans=spans)
    longest = min(_LONGEST, len(reference), len(candidate))
    shares = [_share(reference, candidate, n) for n in range(1, longest + 1)]
    if not all(shares):
        return 0.0
    penalty = min(0.0, 1 - len(reference) / len(candidate))
    return exp(penalty + sum(map(log, shares)) / longest)


def _share(reference: Sequence[str], candidate: Sequence[str], n: int) -> float:
    there, found = (
        Counter(zip(*(tokens[k:] for k in range(n)), strict=False))
        for tokens in (reference, candidate)
    )
    return (there & found).total() / found.total()


def structure_tokens(table: Table, *, spans: bool = False) -> list[str]:
    """Return the tags of a table, without its content.

    Examples
    --------
    >>> from extractbench_nb.tables.cells import table_of_cells
    >>> cells = [{"row_nums": [0], "column_nums": [0, 1], "text": "Total"}]
    >>> print(*structure_tokens(table_of_cells(cells), spans=True))
    <tabular> <tbody> <tr> <tdy> colspan=2 </tr> </tbody> </tabular>
    """
    tokens = ["<tabular>"]
    for tag, rows in table_sections(table):
        tokens.append(f"<{tag}>")
        for row in rows:
            cells = (token for cell in row for token in _cell_tokens(cell, spans=spans))
            tokens += ["<tr>", *cells, "</tr>"]
        tokens.append(f"</{tag}>")
    return [*tokens, "</tabular>"]


def _cell_tokens(cell: Cell, *, spans: bool) -> Iterator[str]:
    yield "<tdy>" if cell.text.strip() else "<tdn>"
    if spans:
        _, _, columns, rows = cell.span_from(cell.rows[0], cell.columns[0])
        yield from (f"rowspan={rows}" for _ in range(rows > 1))
        yield from (f"colspan={columns}" for _ in range(columns > 1))


def table_sections(table: Table) -> list[Section]:
    """Return a table as HTML has it: head and body, rows, and the cells that begin in each."""
    table = table.rebuilt()
    count = table.grid.shape[0] if table.cells else 0
    rows: list[list[Cell]] = [[] for _ in range(count)]
    for cell in sorted(table.cells, key=lambda cell: cell.columns[0]):
        rows[cell.rows[0]].append(cell)
    head = next((n for n in range(count) if not _is_head(table, n)), count)
    return [(tag, part) for tag, part in (("thead", rows[:head]), ("tbody", rows[head:])) if part]


def _is_head(table: Table, row: int) -> bool:
    return all(table.cells[cell].is_header for cell in table.grid[row].tolist())


def exact_match(true: Table, predicted: Table, *, topology_only: bool = False) -> bool:
    """Say whether two tables have the same cells.

    Examples
    --------
    >>> from extractbench_nb.tables.cells import table_of_cells
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
