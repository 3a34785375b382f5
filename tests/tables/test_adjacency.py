from collections import Counter

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from extractbench_nb.tables.cells import Cell, Table, table_of_cells
from extractbench_nb.tables.table_metrics import adjacency, adjacency_relations


def table(*rows: list[str]) -> Table:
    return table_of_cells(
        Cell((r,), (c,), text) for r, row in enumerate(rows) for c, text in enumerate(row)
    )


# A head over two columns, and a cell that spans two rows.
SPANNING = table_of_cells(
    [
        Cell((0, 1), (0,), "Year"),
        Cell((0,), (1, 2), "Sales"),
        Cell((1,), (1,), "EU"),
        Cell((1,), (2,), "US"),
    ]
)
EMPTY = table_of_cells([])


@pytest.mark.parametrize(
    "given_table, relations",
    [
        (
            table(["a", "b"], ["c", "d"]),
            {
                ("a", "b", "right"): 1,
                ("c", "d", "right"): 1,
                ("a", "c", "below"): 1,
                ("b", "d", "below"): 1,
            },
        ),
        (table(["a", " ", "b"]), {("a", "b", "right"): 1}),
        (table(["a b\n", " c"]), {("ab", "c", "right"): 1}),
        (table(["a", "a", "a"]), {("a", "a", "right"): 2}),
        (
            SPANNING,
            {
                ("Year", "Sales", "right"): 1,
                ("Year", "EU", "right"): 1,
                ("EU", "US", "right"): 1,
                ("Sales", "EU", "below"): 1,
                ("Sales", "US", "below"): 1,
            },
        ),
        # side by side over two rows: one relation
        (
            table_of_cells([Cell((0, 1), (0,), "a"), Cell((0, 1), (1,), "b")]),
            {("a", "b", "right"): 1},
        ),
    ],
)
def test_relations(given_table: Table, relations: dict[tuple[str, str, str], int]) -> None:
    assert adjacency_relations(given_table) == Counter(relations)


@pytest.mark.parametrize(
    "true, predicted, ratios",
    [
        (EMPTY, EMPTY, (1, 1, 1)),
        (EMPTY, table(["a", "b"]), (0, 0, 1)),
        (table(["a", "b"]), EMPTY, (0, 1, 0)),
        (table(["a", "b", "c"]), table(["a", "b"]), (2 / 3, 1, 1 / 2)),
        # of 4 and 3 relations one is the same
        (
            table(["a", "b"], ["c", "d"]),
            table(["a", "b"], ["c", ""], ["x", ""]),
            (4 / 7, 2 / 3, 1 / 2),
        ),
        # a relation that is twice in one table counts once beside one that is there once
        (table(["a", "a", "a"]), table(["a", "a"]), (2 / 3, 1, 1 / 2)),
        # the head that is not merged costs two of seven relations
        (SPANNING, table(["Year", "Sales", "Sales"], ["", "EU", "US"]), (8 / 10, 4 / 5, 4 / 5)),
    ],
)
def test_ratios(true: Table, predicted: Table, ratios: tuple[float, float, float]) -> None:
    assert adjacency(true, predicted) == pytest.approx(ratios)


TEXTS = st.lists(
    st.lists(st.sampled_from(["a", "b", "", "c d"]), min_size=3, max_size=3), max_size=4
)
TABLES = TEXTS.map(lambda rows: table(*rows))


@settings(max_examples=80, deadline=None)
@given(TABLES, TABLES)
def test_swapping_the_tables_swaps_precision_and_recall(one: Table, other: Table) -> None:
    there, back = adjacency(one, other), adjacency(other, one)
    assert there == (back[0], back[2], back[1])
    assert all(0 <= ratio <= 1 for ratio in there)
    assert adjacency(one, one) == (1, 1, 1)
