import pytest

from extractbench_nb.errors import InputError
from extractbench_nb.tables.cells import Box, Cell, Table, table_of_cells
from extractbench_nb.tables.grid_similarity import dilate


def column(*extents: tuple[float, float]) -> Table:
    """One cell per row, from y to y."""
    return table_of_cells(
        Cell((n,), (0,), "", (0, *at[:1], 10, at[1])) for n, at in enumerate(extents)
    )


@pytest.mark.parametrize(
    "extents, dilated",
    [
        ([(0, 4)], [(0, 4)]),
        ([(0, 4), (6, 10)], [(0, 5), (5, 10)]),
        ([(0, 4), (4, 10)], [(0, 4), (4, 10)]),
        ([(0, 6), (4, 10)], [(0, 5), (5, 10)]),
        ([(0, 1), (2, 3), (7, 8)], [(0, 1.5), (1.5, 5), (5, 8)]),
        ([(-5, -4), (-2, 0)], [(-5, -3), (-3, 0)]),
    ],
)
def test_rows_meet_halfway(
    extents: list[tuple[float, float]], dilated: list[tuple[float, float]]
) -> None:
    found = dilate(column(*extents))
    assert [cell.box for cell in found.cells] == [(0, y0, 10, y1) for y0, y1 in dilated]
    cells = [
        Cell(c.columns, c.rows, box=(c.box[1], c.box[0], c.box[3], c.box[2]))
        for c in column(*extents).cells
        if c.box
    ]
    boxes = [cell.box for cell in dilate(table_of_cells(cells)).cells]
    assert boxes == [(x0, 0, x1, 10) for x0, x1 in dilated]


def test_a_table_by_hand() -> None:
    """Rows at 0-10, 12-20, 22-30; columns at 0-30, 40-60, 70-90; a head over the last two."""
    boxes: dict[Cell, Box] = {
        Cell((0, 1), (0,), "Year", (0, 5, 20, 15)): (0, 0, 35, 21),
        Cell((0,), (1, 2), "Sales", (50, 0, 80, 10)): (35, 0, 90, 11),
        Cell((1,), (1,), "EU", (40, 12, 60, 20)): (35, 11, 65, 21),
        Cell((1,), (2,), "US", (70, 13, 80, 19)): (65, 11, 90, 21),
        Cell((2,), (0,), "2020", (2, 22, 30, 30)): (0, 21, 35, 30),
        Cell((2,), (1,), "1", (45, 23, 50, 30)): (35, 21, 65, 30),
        Cell((2,), (2,), "2", (75, 22, 90, 29)): (65, 21, 90, 30),
    }
    table = table_of_cells(boxes)
    found = dilate(table)
    assert {cell.text: cell.box for cell in found.cells} == {c.text: b for c, b in boxes.items()}
    assert (found.grid == table.grid).all()
    assert dilate(found).cells == found.cells


@pytest.mark.parametrize(
    "rows, dilated",
    [
        # between what is known, at its ends, and where nothing is
        ([(0, 3), None, None, (9, 12)], [(0, 3), (3, 6), (6, 9), (9, 12)]),
        ([None, None, (4, 12)], [(0, 2), (2, 4), (4, 12)]),
        ([(0, 4), None, None], [(0, 4), (4, 8), (8, 12)]),
        ([None, None, None], [(0, 4), (4, 8), (8, 12)]),
        # no room is left: the row is without height
        ([(0, 7), None, (5, 12)], [(0, 6), (6, 6), (6, 12)]),
    ],
)
def test_rows_without_cells_of_their_own(
    rows: list[tuple[float, float] | None], dilated: list[tuple[float, float]]
) -> None:
    every = tuple(range(len(rows)))
    cells = [Cell(every, (0,), "all", (0, 0, 10, 12))]
    for n, extent in enumerate(rows):
        box = None if extent is None else (20.0, extent[0], 30.0, extent[1])
        cells.append(Cell((n,), (1,), "", box))
    found = dilate(table_of_cells(cells))
    assert found.cells[0].box is not None
    assert found.cells[0].box[1::2] == (0, 12)
    assert [c.box[1::2] for c in found.cells[1:] if c.box] == dilated


@pytest.mark.parametrize(
    "table, message",
    [
        (table_of_cells([Cell((0,), (0,), "a")]), "no cell has a bbox"),
        (
            column((0, 30), (2, 3), (4, 10)),
            "row 1 is out of order; rows must be in",
        ),
        (column((4, 0)), "row 0 is out of order"),
        (
            table_of_cells([Cell((0,), (n,), "", (-9.0 * n, 0, 5 - 9.0 * n, 9)) for n in range(3)]),
            "column 1 is out of order",
        ),
    ],
)
def test_boxes_that_are_none(table: Table, message: str) -> None:
    with pytest.raises(InputError, match=message):
        dilate(table)
