"""A part of a table that was not rebuilt is, but for GriTS, the table that is there of it."""

from collections.abc import Callable
from typing import Any

import pytest

from extractbench_nb.tables.canonical import canonicalize
from extractbench_nb.tables.cells import Table, table_of_cells
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
FUNCTIONS: dict[str, Callable[[Table], Any]] = {
    "canonicalize": lambda table: canonicalize(table).table.cells,
    "is_complex": is_complex,
    "dilate": lambda table: dilate(table).cells,
    "check_tables": lambda table: check_tables([table], [table]).to_dict("list"),
}


@pytest.mark.parametrize("name", FUNCTIONS)
@pytest.mark.parametrize(
    "rows, columns",
    [([0, 1], [0, 2]), ([0, 1, 3], [1, 2, 3]), ([3], [0]), ([1, 2, 3], [0, 1])],
)
def test_functions_of_one_table(name: str, rows: list[int], columns: list[int]) -> None:
    part, anew = (WHOLE.part(rows, columns, rebuilt=rebuilt) for rebuilt in (False, True))
    assert repr(FUNCTIONS[name](part)) == repr(FUNCTIONS[name](anew))
    assert part.part_of == (tuple(rows), tuple(columns))
