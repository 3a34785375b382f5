"""TEDS by Zhang and Shasha (1989), compiled by numba: what ours is compared with."""

from functools import cache
from typing import Any

import numpy as np
from rapidfuzz.distance import Levenshtein
from rapidfuzz.process import cdist

from extractbench_nb.tables.cells import Table
from extractbench_nb.tables.compare_arrays import table_sections


def score(one: Table, other: Table) -> float:
    (tags, first, cells), (other_tags, other_first, other_cells) = map(tree, (one, other))
    costs = (tags[:, None] != other_tags).astype(np.float64)
    texts, others = ([cell.text for cell in side] for side in (cells, other_cells))
    spans, other_spans = (
        np.array([c.span_from(c.rows[0], c.columns[0]) for c in side])
        for side in (cells, other_cells)
    )
    differ = (spans[:, None] != other_spans).any(axis=-1)
    distances = cdist(texts, others, scorer=Levenshtein.normalized_distance, dtype=np.float64)
    costs[np.ix_(tags == "td", other_tags == "td")] = np.where(differ, 1.0, distances)
    return float(1 - compiled()(first, other_first, costs) / max(costs.shape))


def tree(table: Table) -> tuple[Any, Any, list[Any]]:
    """The tags of the nodes in postorder, the first node of each one's subtree, and the cells."""
    nodes: list[tuple[str, int]] = []
    cells = []
    for tag, rows in table_sections(table):
        section = len(nodes)
        for row in rows:
            first = len(nodes)
            nodes += [("td", first + n) for n in range(len(row))]
            nodes.append(("tr", first))
            cells += row
        nodes.append((tag, section))
    tags, starts = zip(*nodes, ("table", 0), strict=True)
    return np.array(tags), np.array(starts), cells


@cache
def compiled() -> Any:
    import numba

    return numba.njit(distance)


def distance(first: Any, other_first: Any, costs: Any) -> float:
    n, m = costs.shape
    trees, forests = np.zeros((n, m)), np.zeros((n + 1, m + 1))
    # roots of subtrees with a left sibling, and of the tree
    roots = [i for i in range(n) if not (first[i + 1 :] == first[i]).any()]
    other_roots = [j for j in range(m) if not (other_first[j + 1 :] == other_first[j]).any()]
    for root in roots:
        start = first[root]
        for other_root in other_roots:
            other_start = other_first[other_root]
            for j in range(other_root - other_start + 2):
                forests[0, j] = j
            for i in range(start, root + 1):
                row = i - start
                forests[row + 1, 0] = row + 1
                for j in range(other_start, other_root + 1):
                    column = j - other_start
                    best = min(forests[row, column + 1], forests[row + 1, column]) + 1
                    if first[i] == start and other_first[j] == other_start:
                        best = min(best, forests[row, column] + costs[i, j])
                        trees[i, j] = best
                    else:
                        before = forests[first[i] - start, other_first[j] - other_start]
                        best = min(best, before + trees[i, j])
                    forests[row + 1, column + 1] = best
    return float(trees[-1, -1])
