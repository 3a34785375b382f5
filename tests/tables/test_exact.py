import pytest

from extractbench_nb.tables.cells import Cell, Table, table_of_cells
from extractbench_nb.tables.compare_arrays import exact_match

A, B = Cell((0,), (0,), "a"), Cell((0,), (1,), "b")
TABLE = table_of_cells([A, B])
EMPTY = table_of_cells([])


@pytest.mark.parametrize(
    "other, same, same_topology",
    [
        (table_of_cells([A, B]), True, True),
        (table_of_cells([B, A]), True, True),
        (table_of_cells([A._replace(box=(0, 0, 1, 1), is_header=True), B]), True, True),
        (table_of_cells([A, B._replace(text="B")]), False, True),
        (table_of_cells([A, B._replace(text="b ")]), False, True),
        (table_of_cells([A]), False, False),
        (table_of_cells([A._replace(columns=(0, 1))]), False, False),
        (table_of_cells([A, B._replace(rows=(1,), columns=(0,))]), False, False),
        (table_of_cells([A, B, B]), False, False),
        (EMPTY, False, False),
    ],
)
def test_exact_match(other: Table, same: bool, same_topology: bool) -> None:
    for pair in ((TABLE, other), (other, TABLE)):
        assert exact_match(*pair) is same
        assert exact_match(*pair, topology_only=True) is same_topology
