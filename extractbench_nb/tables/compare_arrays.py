"""`compare_tables`: GriTS, adjacency relations, BLEU, TEDS and exact match of two tables."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from itertools import groupby, pairwise
from math import exp, log
from typing import Any, NamedTuple, TypeAlias

import pandas as pd

from extractbench_nb.core.frames import Column, FrameSpec
from extractbench_nb.tables.cells import Cell, Table, header_rows
from extractbench_nb.tables.grid_similarity import (
    GRITS_VARIANTS,
    checked_names,
    checked_variant,
    read_pair,
    refuse_boxless,
    table_similarity,
)
from extractbench_nb.tables.tree_distance import Section, TreePair

#: Text, the neighbour's text, and where the neighbour is: ``"right"`` or ``"below"``.
Relation: TypeAlias = tuple[str, str, str]


class Ratios(NamedTuple):
    """An f-score with its precision and recall, each 0 to 1."""

    fscore: float
    precision: float
    recall: float


def adjacency(true: Table, predicted: Table) -> Ratios:
    """Score a table by the adjacency relations of its content.

    Göbel, Hassan, Oro and Orsi, "A methodology for evaluating algorithms for table understanding in
    PDF documents" (2012), as used in the ICDAR 2013 table competition.
    """
    in_true, in_predicted = adjacency_relations(true), adjacency_relations(predicted)
    common = (in_true & in_predicted).total()
    precision, recall = (common / n.total() if n else 1.0 for n in (in_predicted, in_true))
    both = in_true.total() + in_predicted.total()
    return Ratios(2 * common / both if both else 1.0, precision, recall)


def adjacency_relations(table: Table) -> Counter[Relation]:
    """Count the pairs of nearest neighbours; blank cells are skipped."""
    table = table.rebuilt()
    texts = ["".join(cell.text.split()) for cell in table.cells]
    grids = {"right": table.grid.tolist(), "below": table.grid.T.tolist()}
    relations: Counter[Relation] = Counter()
    for direction, lines in grids.items():
        pairs: set[tuple[int, int]] = set()
        for line in lines:
            cells = (cell for cell, _ in groupby(cell for cell in line if texts[cell]))
            pairs.update(pairwise(cells))
        relations.update((texts[a], texts[b], direction) for a, b in sorted(pairs))
    return relations


_LONGEST = 4


def bleu(true: Table, predicted: Table) -> float:
    """Return the BLEU score of a table's structure tokens, as of one sentence.

    Papineni, Roukos, Ward and Zhu, "BLEU: a method for automatic evaluation of machine translation"
    (2002); on table structure in Li et al., "TableBank" (2020). It is not symmetric: additional
    rows lower precision, missing ones incur the brevity penalty. A score of 1 means that all runs
    of four tags are equal, not that all tags are.
    """
    reference, candidate = structure_tokens(true), structure_tokens(predicted)
    longest = min(_LONGEST, len(reference), len(candidate))
    logarithms = 0.0
    for n in range(1, longest + 1):
        in_true, in_predicted = (
            Counter(zip(*(tokens[k:] for k in range(n)), strict=False))
            for tokens in (reference, candidate)
        )
        common = (in_true & in_predicted).total()
        if not common:
            return 0.0
        logarithms += log(common / in_predicted.total())
    penalty = min(0.0, 1 - len(reference) / len(candidate))
    return exp(penalty + logarithms / longest)


def structure_tokens(table: Table) -> list[str]:
    """Return the tags of a table, without its content: ``<tdy>`` is a cell with text."""
    tokens = ["<tabular>"]
    for tag, rows in table_sections(table):
        tokens.append(f"<{tag}>")
        for row in rows:
            cells = ("<tdy>" if cell.text.strip() else "<tdn>" for cell in row)
            tokens += ["<tr>", *cells, "</tr>"]
        tokens.append(f"</{tag}>")
    return [*tokens, "</tabular>"]


def table_sections(table: Table) -> list[Section]:
    """Return a table as HTML has it: head and body, rows, and the cells that begin in each."""
    table = table.rebuilt()
    rows: list[list[Cell]] = [[] for _ in table.grid] if table.cells else []
    for cell in sorted(table.cells, key=lambda cell: cell.columns[0]):
        rows[cell.rows[0]].append(cell)
    head = header_rows(table)
    return [(tag, part) for tag, part in (("thead", rows[:head]), ("tbody", rows[head:])) if part]


def exact_match(true: Table, predicted: Table, *, topology_only: bool = False) -> bool:
    """Return whether two tables have the same cells, with the same texts or without them."""
    cells, others = (
        Counter((c.rows, c.columns, "" if topology_only else c.text) for c in table.cells)
        for table in (true.rebuilt(), predicted.rebuilt())
    )
    return cells == others


#: Number of nodes that are not counted, by variant: the published code omits the root.
TEDS_VARIANTS = {"paper": 0, "released": 1}


def teds(
    true: Table, predicted: Table, *, structure_only: bool = False, variant: str = "paper"
) -> float:
    """Return the tree-edit-distance-based similarity of two tables.

    Notes
    -----
    Zhong, ShafieiBavani and Jimeno Yepes, "Image-based table recognition: data, model, and
    evaluation" (2019). The nodes are the table, its head (the first rows, as far as all cells are
    column headers) and body, rows, and cells. Inserting or deleting a node costs 1. So does
    renaming one to another tag, or a cell to one with other row or column spans; of two more cells
    it costs the Levenshtein distance of the texts over the longer length. The distance is exact.

    Examples
    --------
    >>> from extractbench_nb.tables.cells import Cell, table_of_cells
    >>> def row(*texts):
    ...     return table_of_cells(Cell((0,), (n,), text) for n, text in enumerate(texts))
    >>> teds(row("Year", "Sale"), row("Year", "Gale"))  # a quarter of one of five nodes
    0.95
    """
    uncounted = TEDS_VARIANTS[checked_variant(variant, TEDS_VARIANTS)]
    if not true.cells or not predicted.cells:
        return float(len(true.cells) == len(predicted.cells))
    pair = TreePair(table_sections(true), table_sections(predicted), texts=not structure_only)
    return max(0.0, 1 - pair.distance() / (pair.size - uncounted))


def count_nodes(table: Table) -> int:
    """Return the number of nodes of a table's tree: cells, rows, head and body, and the table."""
    sections = table_sections(table)
    return 1 + sum(1 + len(rows) + sum(map(len, rows)) for _, rows in sections)


COMPARISON_COLUMNS = FrameSpec(
    "table_comparison",
    "one row per metric, its name in the index",
    (
        Column("score", "Float64", "f-score, similarity, or 1 for equal", "0 to 1", nullable=True),
        Column("precision", "Float64", "of the metrics that have one", "0 to 1", nullable=True),
        Column("recall", "Float64", "of the metrics that have one", "0 to 1", nullable=True),
        Column("note", "string", "why there is no score; else empty"),
    ),
)


#: All metrics, in the order of the rows.
TABLE_METRICS = (
    *("grits_top", "grits_con", "grits_loc", "grits_rawloc"),
    *("adjacency", "bleu", "teds", "teds_structure", "exact", "exact_topology"),
)
_LOCATED = ("grits_loc", "grits_rawloc")
#: Larger trees have no TEDS: without much in common, 15,000 nodes take about 8 seconds.
_MOST_NODES = 20_000
_Row: TypeAlias = tuple[float | None, float | None, float | None, str]


def usual_metrics(tables: Iterable[Table]) -> tuple[str, ...]:
    """Return the default metrics of many tables."""
    return TABLE_METRICS[: 3 if all(table.has_boxes for table in tables) else 2]


def compare_tables(
    true: Any,
    predicted: Any,
    metrics: str | Sequence[str] | None = None,
    *,
    variant: str = "paper",
    tidy: bool = False,
) -> pd.DataFrame:
    """Compare two tables by all metrics that the paper names.

    Parameters
    ----------
    true, predicted : Table, list, DataFrame, str or pathlib.Path
        Two tables, in any form that `read_table` reads.
    metrics : str or sequence of str, optional
        ``grits_top``, ``grits_con``, ``grits_loc``, ``grits_rawloc``, ``adjacency`` (directed
        adjacency relations of the content), ``bleu`` (BLEU-4 on structure tokens), ``teds`` and
        ``teds_structure`` (tree edit distance, with texts and without), ``exact`` and
        ``exact_topology`` (the same cells, with the same texts or not). By default all but
        ``grits_rawloc``, and without ``grits_loc`` if a cell has no box. Tables with more than
        20,000 nodes (cells, rows and three more) have no ``teds``, and a note.
    variant : str, optional
        Variant of grid table similarity, as in `grits`; the other metrics have none.
    tidy : bool, optional
        Whether white space in texts is collapsed, as in `read_table`.

    Returns
    -------
    pandas.DataFrame
        One row per metric, in the order above: score, precision, recall (NA for metrics that have
        none), note.

    Raises
    ------
    InputError
        A table is invalid, a cell lacks the box that a metric needs, or a name is unknown.

    Examples
    --------
    >>> def row(*texts):
    ...     return [{"row_nums": [0], "column_nums": [n], "text": t} for n, t in enumerate(texts)]
    >>> found = compare_tables(row("Year", "Sales"), row("Year", "Sale"), ["teds", "exact"])
    >>> found["score"].to_dict()
    {'teds': 0.96, 'exact': 0.0}
    """
    checked_variant(variant, GRITS_VARIANTS)
    tables = read_pair(true, predicted, tidy=tidy)
    if metrics is None:
        located = all(table.has_boxes for table in tables)
        left_out = _LOCATED[1:] if located else _LOCATED
        names = [name for name in TABLE_METRICS if name not in left_out]
    else:
        names = checked_names(metrics, TABLE_METRICS)
    found = COMPARISON_COLUMNS.from_rows(compare_rows(*tables, names, variant))
    found.index = pd.Index(names, name="metric", dtype=object)
    return found


def compare_rows(true: Table, predicted: Table, names: Sequence[str], variant: str) -> list[_Row]:
    """Return score, precision, recall and note of each metric, as in `compare_tables`."""
    anew = true.rebuilt(), predicted.rebuilt()
    rows: list[_Row] = []
    for name in names:
        if name in _LOCATED:
            refuse_boxless((true, predicted), name)
        row: _Row
        if name.startswith("grits_"):
            metric = name.removeprefix("grits_")
            row = (*table_similarity(true, predicted, metric, variant)[:3], "")
        elif name == "adjacency":
            row = (*adjacency(*anew), "")
        elif name == "bleu":
            row = bleu(*anew), None, None, ""
        elif name.startswith("exact"):
            same = exact_match(*anew, topology_only=name == "exact_topology")
            row = float(same), None, None, ""
        elif (nodes := max(map(count_nodes, anew))) > _MOST_NODES:
            row = None, None, None, f"{nodes:,} nodes, more than {_MOST_NODES:,}"
        else:
            score = teds(*anew, structure_only=name == "teds_structure")
            row = score, None, None, ""
        rows.append(row)
    return rows
