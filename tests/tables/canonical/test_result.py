"""Boxes, arguments, what the result says of itself, and how complex tables are."""

import re

import pytest

from extractbench_nb.errors import InputError
from extractbench_nb.tables.canonical import CHANGE_COLUMNS, canonicalize
from extractbench_nb.tables.cells import Box, Cell, Table, table_of_cells
from tests.tables.canonical.drawings import drawing_of, table_of

WIDE = """
    # Item  | Sales |
    #       | 2020  | 2021
      Paper | 5     | 7
"""


def with_boxes(table: Table, *, gap: float = 0) -> Table:
    """Columns 10 wide and rows 5 high, with a gap between columns."""
    return table_of_cells(cell._replace(box=box_of(cell, gap)) for cell in table.cells)


def box_of(cell: Cell, gap: float) -> Box:
    rows, columns = cell.rows, cell.columns
    return (10.0 * columns[0], 5.0 * rows[0], 10.0 * columns[-1] + 10 - gap, 5.0 * rows[-1] + 5)


def find(table: Table, text: str) -> list[Cell]:
    return [cell for cell in table.cells if cell.text == text]


def test_a_merged_cell_has_the_box_around_all() -> None:
    found = canonicalize(with_boxes(table_of(WIDE))).table
    assert find(found, "Sales") == [Cell((0,), (1, 2), "Sales", (10, 0, 30, 5), True)]
    assert find(found, "Item") == [Cell((0, 1), (0,), "Item", (0, 0, 10, 10), True)]
    assert find(found, "7") == [Cell((2,), (2,), "7", (20, 10, 30, 15))]


def test_only_a_share_of_a_blank_cell_counts() -> None:
    drawing = """
        #      | <  | Sales
        # Name | No | 2020
          x    | 1  | 2
    """
    found = canonicalize(with_boxes(table_of(drawing), gap=2)).table
    assert [cell.box for cell in find(found, "Name")] == [(0, 0, 9, 10)]
    assert [cell.box for cell in find(found, "No")] == [(9, 0, 18, 10)]


@pytest.mark.parametrize("sides", ["text", "blank", "neither"])
def test_boxes_may_be_missing(sides: str) -> None:
    def is_missing(cell: Cell) -> bool:
        return sides in ("text" if cell.text else "blank", "neither")

    table = with_boxes(table_of(WIDE))
    cells = [cell._replace(box=None) if is_missing(cell) else cell for cell in table.cells]
    boxes = {"text": (20, 0, 30, 5), "blank": (10, 0, 20, 5), "neither": None}
    assert find(canonicalize(cells).table, "Sales")[0].box == boxes[sides]


@pytest.mark.parametrize("gap, count", [(0, 1), (-1, 1), (0.5, 2)])
def test_repeated_texts_with_a_gap_are_two_nodes(gap: float, count: int) -> None:
    table = table_of("# Item | Sales | Sales\n# ^    | 2020  | 2021\n  Paper | 5 | 7")
    assert len(find(canonicalize(with_boxes(table, gap=gap)).table, "Sales")) == count


@pytest.mark.parametrize(
    "header_rows, expected",
    [
        (None, "# A | <\n# B | C\n= Sec | <\n  x | y"),
        (0, "= A | <\n  B | C\n= Sec | <\n  x | y"),
        (1, "# A | <\n  B | C\n= Sec | <\n  x | y"),
        (3, "# A | <\n# B | C\n# Sec | ^\n  x | y"),
    ],
)
def test_header_rows(header_rows: int | None, expected: str) -> None:
    table = table_of("# A | <\n  B | C\n  Sec |\n  x | y")
    found = canonicalize(table, header_rows=header_rows)
    assert drawing_of(found.table) == drawing_of(table_of(expected))


@pytest.mark.parametrize(
    "header_rows, message",
    [
        (-1, "header_rows is -1; expected None or 0 to 3, the rows"),
        (True, "header_rows is True; expected None or 0 to 3, the rows"),
        (1.0, "header_rows is 1.0; expected None or 0 to 3, the rows"),
    ],
)
def test_header_rows_that_cannot_be(header_rows: object, message: str) -> None:
    with pytest.raises(InputError, match=re.escape(message)):
        canonicalize(table_of(WIDE), header_rows=header_rows)  # type: ignore[arg-type]


def test_the_frame_of_changes() -> None:
    found = canonicalize(table_of(WIDE))
    assert found.changes.columns.tolist() == CHANGE_COLUMNS.names
    expected = ["parent", (0,), (1, 2), ("Sales", ""), ("Sales",)]
    assert found.changes.iloc[0].tolist() == expected
    empty = canonicalize(found.table).changes
    assert empty.dtypes.equals(found.changes.dtypes)


def test_cells_that_are_covered_in_part_or_no_rectangle_stay() -> None:
    cells = [
        Cell((0,), (0, 1), "A", None, True),
        Cell((0,), (1, 2), "B", None, True),
        *(Cell((1,), (n,), "", None, True) for n in range(3)),
        *(Cell((2,), (n,), "1") for n in range(3)),
        *(Cell((3,), (n,), str(n)) for n in (1, 2)),
        Cell((3,), (0, 1, 2), ""),
        Cell((4,), (0, 2), "x"),
        Cell((4,), (1,), "y"),
    ]
    found = canonicalize(cells)
    texts = table_of_cells(cells).texts
    texts[1] = ["", "B", "B"]
    assert found.table.texts == texts
    assert {cells[0], cells[-2]} <= set(found.table.cells)
