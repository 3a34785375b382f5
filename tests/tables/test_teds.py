import random
from functools import lru_cache
from typing import Any, NamedTuple

import pytest
from apted import APTED, Config
from hypothesis import given, settings
from hypothesis import strategies as st
from rapidfuzz.distance import Levenshtein

from extractbench_nb.tables.cells import Cell, Table, table_of_cells
from extractbench_nb.tables.table_metrics import count_nodes, table_sections, teds


def table(*rows: list[str], head: int = 0) -> Table:
    return table_of_cells(
        Cell((r,), (c,), text, is_header=r < head)
        for r, row in enumerate(rows)
        for c, text in enumerate(row)
    )


def make(seed: int) -> Table:
    """A table with spanning cells, rows that no cell begins in, and texts of many kinds."""
    rng = random.Random(seed)
    height, width, head = rng.randint(1, 4), rng.randint(1, 4), rng.randint(0, 2)
    free = {(r, c) for r in range(height) for c in range(width)}
    cells = []
    while free:
        r, c = min(free)
        down, across = rng.choice([1, 1, 1, 2]), rng.choice([1, 1, 2, 3])
        covered = {(r + i, c + j) for i in range(down) for j in range(across)}
        if not covered <= free:
            covered = {(r, c)}
        free -= covered
        rows, columns = (tuple(sorted({place[axis] for place in covered})) for axis in (0, 1))
        text = rng.choice(["a", "abc", "12.5", "Total", "", "p q", "né", "日本", "x{y\\"])
        cells.append(Cell(rows, columns, text, is_header=r < head))
    return table_of_cells(cells)


TABLES = st.builds(make, st.integers(0, 10**6))


class Node(NamedTuple):
    label: tuple[Any, ...]
    children: "tuple[Node, ...]" = ()


def tree(of: Table) -> Node:
    """The tree as the paper has it, node by node."""

    def leaf(cell: Cell) -> Node:
        spans = cell.rows[-1] - cell.rows[0], cell.columns[-1] - cell.columns[0]
        return Node(("td", *spans, cell.text))

    return Node(
        ("table",),
        tuple(
            Node((tag,), tuple(Node(("tr",), tuple(map(leaf, row))) for row in rows))
            for tag, rows in table_sections(of)
        ),
    )


def renaming(a: Node, b: Node) -> float:
    if a.label[:3] != b.label[:3]:
        return 1.0
    return Levenshtein.normalized_distance(a.label[3], b.label[3]) if a.label[0] == "td" else 0.0


def size(forest: tuple[Node, ...]) -> int:
    return sum(1 + size(node.children) for node in forest)


def recursive_distance(one: Table, other: Table) -> float:
    """The distance by its definition: the last node goes, or comes, or is renamed."""

    @lru_cache(None)
    def between(forest: tuple[Node, ...], beside: tuple[Node, ...]) -> float:
        if not forest or not beside:
            return size(forest) + size(beside)
        (*some, a), (*others, b) = forest, beside
        return min(
            between((*some, *a.children), beside) + 1,
            between(forest, (*others, *b.children)) + 1,
            between(tuple(some), tuple(others)) + between(a.children, b.children) + renaming(a, b),
        )

    return between((tree(one),), (tree(other),))


class Costs(Config):
    def rename(self, node1: Node, node2: Node) -> float:
        return renaming(node1, node2)


def library_distance(one: Table, other: Table) -> float:
    """The distance by APTED, the library that the published code uses."""
    return float(APTED(tree(one), tree(other), Costs()).compute_edit_distance())


@settings(max_examples=60, deadline=None)
@given(TABLES, TABLES)
@pytest.mark.parametrize("distance", [recursive_distance, library_distance])
def test_equal_to_other_ways(distance: Any, one: Table, other: Table) -> None:
    nodes = [size((tree(side),)) for side in (one, other)]
    assert [count_nodes(one), count_nodes(other)] == nodes
    expected = distance(one, other)
    assert teds(one, other) == pytest.approx(max(0, 1 - expected / max(nodes)), abs=1e-12)


def changed(table: Table, seed: int) -> Table:
    """The table without some of its lines; rows are swapped, texts and headers differ."""
    rng = random.Random(seed)
    rows, columns = (
        [n for n in range(count) if rng.random() < 0.9] or [0] for count in table.grid.shape
    )
    at = rng.randrange(len(rows))
    rows[at : at + 2] = rows[at : at + 2][::-1]
    head = rng.choice([0, 1, 1, 2])
    return table_of_cells(
        cell._replace(text=cell.text if rng.random() < 0.8 else "ab", is_header=cell.rows[0] < head)
        for cell in table.part(rows, columns).cells
    )


@pytest.mark.parametrize("seed", range(12))
def test_larger_tables(seed: int) -> None:
    rng = random.Random(seed)
    height, width = rng.choice([(12, 4), (4, 12), (20, 1), (1, 20)])
    rows = [[f"{rng.randint(0, 30)}" for _ in range(width)] for _ in range(height)]
    one = table(*rows, head=seed % 3)
    other = changed(one, seed)
    cost = library_distance(one, other) / max(map(count_nodes, (one, other)))
    assert teds(one, other) == pytest.approx(max(0, 1 - cost), abs=1e-12)


@settings(max_examples=60, deadline=None)
@given(TABLES, TABLES)
def test_properties(one: Table, other: Table) -> None:
    assert teds(one, one) == 1.0
    assert teds(one, other) == pytest.approx(teds(other, one), abs=1e-12)
    assert 0 <= teds(one, other) <= teds(one, other, structure_only=True) + 1e-12 <= 1 + 1e-12


EMPTY = table_of_cells([])


@pytest.mark.parametrize(
    "true, predicted, structure_only, score",
    [
        (EMPTY, EMPTY, False, 1.0),
        (EMPTY, table(["a"]), False, 0.0),
        (table(["a"]), EMPTY, True, 0.0),
        # table, tbody, tr, 2 td: a text of 4 characters differs in one
        (table(["Year", "Sale"]), table(["Year", "Gale"]), False, 1 - 0.25 / 5),
        (table(["Year", "Sale"]), table(["Year", "Gale"]), True, 1.0),
        (table(["a"]), table([""]), False, 1 - 1 / 4),
        (table([""]), table([""]), False, 1.0),
        # a column is missing: one td for each of two rows, of 8 nodes
        (table(["a", "b"], ["c", "d"]), table(["a"], ["c"]), False, 1 - 2 / 8),
        # a row is missing: a tr and two td
        (table(["a", "b"], ["c", "d"]), table(["c", "d"]), False, 1 - 3 / 8),
        # no head: head and body go, and another body comes that has the rows of both
        (table(["a"], ["b"], head=1), table(["a"], ["b"]), False, 1 - 3 / 7),
        # a head for a body: renamed
        (table(["a"], head=1), table(["a"]), False, 1 - 1 / 4),
        # a cell that spans two columns against two cells: renamed, and one more
        (table_of_cells([Cell((0,), (0, 1), "a")]), table(["a", "b"]), False, 1 - 2 / 5),
        (table_of_cells([Cell((0,), (0, 1), "a")]), table(["a", "b"]), True, 1 - 2 / 5),
        # a body of 3 rows below a head for one row of 3 cells: the body becomes the row,
        # the head and 3 rows go, another body comes, and a cell spans more
        (
            table(["h"], ["x"], ["y"], ["z"], head=1),
            table_of_cells(
                [
                    Cell((0,), (0, 1, 2), "h"),
                    *(Cell((1,), (n,), text) for n, text in enumerate("xyz")),
                ]
            ),
            True,
            1 - 7 / 11,
        ),
        # 3 rows of one against one row of 6: 3 renamed, 3 more, 3 tr gone, one come, of 9 nodes
        (table(["a"], ["b"], ["c"]), table([*"uvwxyz"]), False, 0.0),
    ],
)
def test_scores(true: Table, predicted: Table, structure_only: bool, score: float) -> None:
    for pair in ((true, predicted), (predicted, true)):
        assert teds(*pair, structure_only=structure_only) == pytest.approx(score)
