"""TEDS: the edit distance of two tables as trees of HTML elements.

The distance is that of Zhang and Shasha (1989), computed for all rows of a table at once: the trees
are shallow, and nearly all of their subtrees are single cells, whose distances have a closed form.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple, TypeAlias

import numpy as np
import numpy.typing as npt

from extractbench_nb.grits.bleu import table_sections
from extractbench_nb.grits.cells import Cell, Table
from extractbench_nb.grits.options import checked_variant

__all__ = ["TEDS_VARIANTS", "count_nodes", "teds"]

Numbers: TypeAlias = npt.NDArray[np.float64]
Indices: TypeAlias = npt.NDArray[np.intp]

#: Nodes that are not counted, by variant: the published code leaves out the root.
TEDS_VARIANTS = {"paper": 0, "released": 1}


def teds(
    true: Table, predicted: Table, *, structure_only: bool = False, variant: str = "paper"
) -> float:
    """Return the tree-edit-distance-based similarity of two tables.

    Parameters
    ----------
    true, predicted : Table
        Two tables.
    structure_only : bool, optional
        Whether texts do not matter (known as TEDS-Struct).
    variant : str, optional
        ``"paper"``: all nodes of a tree are counted. ``"released"``: all but the root, as the
        published code does, for comparison with the literature.

    Returns
    -------
    float
        1 - edit distance / nodes of the larger tree, 0 to 1; what would be negative (long columns
        against long rows) is 0. An empty table has no tree: beside another the score is 0, and
        that of two is 1.

    Raises
    ------
    InputError
        There is no such variant.

    Notes
    -----
    Zhong, ShafieiBavani and Jimeno Yepes, "Image-based table recognition: data, model, and
    evaluation" (2019). The nodes are the table, its head (the first rows, as far as all cells are
    column headers) and body, rows, and cells. Inserting or deleting a node costs 1. So does
    renaming one to another tag, or a cell to one with other row or column spans; of two more cells
    it costs the Levenshtein distance of the texts over the longer length. The distance is exact,
    in time and memory quadratic in the nodes.

    Examples
    --------
    >>> from extractbench_nb.grits.cells import Cell, table_of_cells
    >>> def row(*texts):
    ...     return table_of_cells(Cell((0,), (n,), text) for n, text in enumerate(texts))
    >>> teds(row("Year", "Sale"), row("Year", "Gale"))  # a quarter of one of five nodes
    0.95
    """
    uncounted = TEDS_VARIANTS[checked_variant(variant, TEDS_VARIANTS)]
    if not true.cells or not predicted.cells:
        return float(len(true.cells) == len(predicted.cells))
    trees = _tree(true), _tree(predicted)
    nodes = max(len(tree.tags) for tree in trees) - uncounted
    return max(0.0, 1 - _distance(*trees, structure_only=structure_only) / nodes)


def count_nodes(table: Table) -> int:
    """Return the number of nodes of a table's tree: cells, rows, head and body, and the table."""
    return len(_tree(table).tags)


class _Tree(NamedTuple):
    """A tree's nodes in postorder: their tags, the first node of each one's subtree, the cells."""

    tags: npt.NDArray[np.str_]
    first: Indices
    cells: list[Cell]

    @property
    def sizes(self) -> Indices:
        return np.arange(len(self.first)) - self.first + 1

    def roots(self) -> Iterator[Indices]:
        """Yield the subtrees that have an elder sibling, and the tree: first rows, all at once."""
        _, last = np.unique(self.first[::-1], return_index=True)
        roots = np.sort(len(self.first) - 1 - last)
        roots = roots[self.sizes[roots] > 1]
        are_rows = self.tags[roots] == "tr"
        if are_rows.any():
            yield roots[are_rows]
        yield from roots[~are_rows, None]


def _tree(table: Table) -> _Tree:
    nodes: list[tuple[str, int]] = []
    cells: list[Cell] = []
    for tag, rows in table_sections(table):
        section = len(nodes)
        for row in rows:
            first = len(nodes)
            nodes += [("td", first + n) for n in range(len(row))]
            nodes.append(("tr", first))
            cells += row
        nodes.append((tag, section))
    tags, starts = zip(*nodes, ("table", 0), strict=True)
    return _Tree(np.array(tags), np.array(starts), cells)


def _distance(one: _Tree, other: _Tree, *, structure_only: bool) -> float:
    if len(one.tags) > len(other.tags):
        one, other = other, one
    renaming = (one.tags[:, None] != other.tags).astype(np.float64)
    cells = np.ix_(one.tags == "td", other.tags == "td")
    renaming[cells] = _cell_costs(one.cells, other.cells, structure_only=structure_only)
    found = _Distances(one, other, renaming)
    for roots in one.roots():
        for root in roots.tolist():
            for beside in other.roots():
                found.fill(root, beside)
    return float(found.trees[-1, -1])


def _cell_costs(cells: list[Cell], others: list[Cell], *, structure_only: bool) -> Numbers:
    from rapidfuzz.distance import Levenshtein
    from rapidfuzz.process import cdist

    spans, beside = (
        np.array([c.span_from(c.rows[0], c.columns[0]) for c in side]) for side in (cells, others)
    )
    differ = (spans[:, None] != beside).any(axis=-1)
    if structure_only:
        return np.asarray(differ, dtype=np.float64)
    (texts, at), (known, place) = (
        np.unique(np.array([c.text for c in side], dtype=object), return_inverse=True)
        for side in (cells, others)
    )
    costs = cdist(texts, known, scorer=Levenshtein.normalized_distance, dtype=np.float64)
    found: Numbers = np.where(differ, 1.0, costs[np.ix_(at, place)])
    return found


class _Distances:
    """Distances of all subtrees, filled in from small ones to large ones."""

    def __init__(self, one: _Tree, other: _Tree, renaming: Numbers) -> None:
        self.one, self.other, self.renaming = one, other, renaming
        self.trees = np.zeros(renaming.shape)
        _to_leaves(self.trees, renaming, one, other)
        _to_leaves(self.trees.T, renaming.T, other, one)

    def fill(self, root: int, beside: Indices) -> None:
        """Fill in the distances of subtrees that begin where these begin.

        Parameters
        ----------
        root : int
            A subtree of the one table.
        beside : ndarray of int
            Subtrees of the other, of about one size.
        """
        start, starts = self.one.first[root], self.other.first[beside][:, None]
        width = int((beside[:, None] - starts).max()) + 1
        nodes = np.minimum(starts + np.arange(width), beside[:, None])
        before = self.other.first[nodes] - starts
        left = (before == 0) & (starts + np.arange(width) <= beside[:, None])
        steps = np.arange(width + 1, dtype=np.float64)
        forests = np.empty((root - start + 2, len(beside), width + 1))
        forests[0] = steps
        for row, node in enumerate(range(start, root + 1), 1):
            above, begin = forests[row - 1], self.one.first[node] - start
            kept = np.take_along_axis(forests[begin], before, axis=1) + self.trees[node, nodes]
            if begin == 0:
                kept = np.where(left, above[:, :-1] + self.renaming[node, nodes], kept)
            found = forests[row]
            found[:, 0] = row
            np.minimum(above[:, 1:] + 1, kept, out=found[:, 1:])
            found -= steps
            np.minimum.accumulate(found, axis=1, out=found)
            found += steps
            if begin == 0:
                self.trees[node, nodes[left]] = found[:, 1:][left]


def _to_leaves(trees: Numbers, renaming: Numbers, one: _Tree, other: _Tree) -> None:
    """Fill in how far the other table's leaves are from all subtrees: all but one node goes."""
    leaves = np.flatnonzero(other.sizes == 1)
    costs = renaming[:, leaves]
    for node, (first, size) in enumerate(zip(one.first, one.sizes, strict=True)):
        trees[node, leaves] = size - 1 + costs[first : node + 1].min(axis=0)
