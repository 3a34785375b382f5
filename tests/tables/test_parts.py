"""A part of a table that was not rebuilt is, but for GriTS, the table that is there of it."""

from collections.abc import Callable
from typing import Any

import pytest

from extractbench_nb.tables.canonical import canonicalize
from extractbench_nb.tables.cells import Table, table_of_cells
from extractbench_nb.tables.comparing import (
    adjacency,
    adjacency_relations,
    bleu,
    count_nodes,
    exact_match,
    structure_tokens,
    table_sections,
    teds,
)
from extractbench_nb.tables.grid_similarity import dilate
from extractbench_nb.tables.quality import check_tables, is_complex

_CELLS = [
    ([0], [0, 1], "Item", True),
    ([0], [2, 3], "Sales", True),
    ([1], [0], "", True),
    ([1], [1], "kg", True),
    ([1], [2], "2020", True),
    ([1], [3], "2021", True),
    ([2, 3], [0], "Paper", False),
    ([2], [1], "5", False),
    ([2], [2, 3], "6", False),
    ([3], [1], "7", False),
    ([3], [2], "", False),
    ([3], [3], "9", False),
]
WHOLE = table_of_cells(
    {
        "row_nums": rows,
        "column_nums": columns,
        "text": text,
        "is_column_header": is_header,
        "bbox": [20 * columns[0], 10 * rows[0], 20 * columns[-1] + 15, 10 * rows[-1] + 8],
    }
    for rows, columns, text, is_header in _CELLS
)


def _canonical(table: Table) -> Any:
    found = canonicalize(table)
    return found.table.cells, found.given.cells, found.changes.to_dict("list")


FUNCTIONS: dict[str, Callable[[Table], Any]] = {
    "canonicalize": _canonical,
    "is_complex": is_complex,
    "dilate": lambda table: dilate(table).cells,
    "adjacency_relations": adjacency_relations,
    "structure_tokens": structure_tokens,
    "table_sections": table_sections,
    "count_nodes": count_nodes,
    "check_tables": lambda table: check_tables([table]).astype(object).to_dict("list"),
}
PAIRED: dict[str, Callable[[Table, Table], Any]] = {
    "adjacency": adjacency,
    "bleu": bleu,
    "teds": teds,
    "exact_match": exact_match,
    "check_tables": lambda one, other: check_tables([one], [other]).to_dict("list"),
}
LINES = [([0, 1], [0, 2]), ([0, 1, 3], [1, 2, 3]), ([3], [0]), ([1, 2, 3], [0, 1])]


@pytest.mark.parametrize("name", FUNCTIONS)
@pytest.mark.parametrize("rows, columns", LINES)
def test_of_one_table(name: str, rows: list[int], columns: list[int]) -> None:
    part, anew = (WHOLE.part(rows, columns, rebuilt=rebuilt) for rebuilt in (False, True))
    assert repr(FUNCTIONS[name](part)) == repr(FUNCTIONS[name](anew))


@pytest.mark.parametrize("name", PAIRED)
@pytest.mark.parametrize("rows, columns", LINES)
def test_of_two_tables(name: str, rows: list[int], columns: list[int]) -> None:
    part, anew = (WHOLE.part(rows, columns, rebuilt=rebuilt) for rebuilt in (False, True))
    function = PAIRED[name]
    expected = repr(function(anew, anew))
    assert [repr(function(*pair)) for pair in ((part, anew), (anew, part))] == [expected] * 2


def test_parts_of_one_side() -> None:
    """Beside the whole table: what a metric says of a part is what it says of the rebuilt one."""
    part, anew = (WHOLE.part([0, 1], [0, 2], rebuilt=rebuilt) for rebuilt in (False, True))
    for function in (adjacency, bleu, teds, exact_match):
        assert function(WHOLE, part) == function(WHOLE, anew) != function(WHOLE, WHOLE)
