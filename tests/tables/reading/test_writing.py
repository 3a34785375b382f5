"""Tables written as frames and HTML: what is written is read again."""

import random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from extractbench_nb.tables.cells import Cell, Table, table_of_cells
from extractbench_nb.tables.reading import read_table

TEXTS = st.text(st.characters(codec="utf-8"), max_size=6) | st.sampled_from(
    ["", " ", "a<b", "&amp;", "</td>", "\r\n", "\x85", "]]>", '"', "<!--", "2020"]
)


def tiled(seed: int, shape: tuple[int, int], texts: list[str]) -> Table:
    """A table of random cells without holes and overlaps; the first rows are often headers."""
    rng = random.Random(seed)
    free = {(r, c) for r in range(shape[0]) for c in range(shape[1])}
    headers, cells = rng.randint(0, shape[0]), []
    for r, c in sorted(free):
        height, width = rng.choice([(1, 1), (1, 1), (1, 2), (2, 1), (2, 2), (3, 1)])
        rows = [(i, j) for i in range(r, r + height) for j in range(c, c + width)]
        covered = rows if free.issuperset(rows) else [(r, c)]
        if (r, c) in free:
            free.difference_update(covered)
            across = tuple(sorted({j for _, j in covered}))
            down = tuple(sorted({i for i, _ in covered}))
            cells.append(Cell(down, across, rng.choice(texts), None, r < headers))
    return table_of_cells(cells)


SHAPES = st.tuples(st.integers(1, 5), st.integers(1, 4))
TABLES = st.builds(tiled, st.integers(0, 10**6), SHAPES, st.lists(TEXTS, min_size=1, max_size=5))


def fit(text: str) -> bool:
    """Whether XML can hold a text."""
    return all(c in "\t\n\r" or " " <= c <= "\ud7ff" or "\ue000" <= c != "\uffff" for c in text)


@settings(max_examples=80, deadline=None)
@given(
    TABLES.filter(lambda table: all(fit(c.text) and "\ufffe" not in c.text for c in table.cells))
)
def test_html_that_is_written_is_read(table: Table) -> None:
    found = read_table(table.to_html())
    assert found.cells == table.cells
    assert found.grid.tolist() == table.grid.tolist()
    assert found.notes == ()


@settings(max_examples=80, deadline=None)
@given(TABLES)
def test_a_frame_that_is_written_is_read(table: Table) -> None:
    found = read_table(table.to_frame())
    assert found.texts == table.texts
    headers = [all(table.cells[n].is_header for n in row) for row in table.grid.tolist()]
    first = headers.index(False) if False in headers else len(headers)
    assert [found.cells[row[0]].is_header for row in found.grid.tolist()] == [
        n < first for n in range(len(headers))
    ]


def test_frames_of_odd_tables() -> None:
    assert read_table([]).to_frame().shape == (0, 0)
    assert read_table(read_table([]).to_frame()).size == 0
    assert read_table("a,b").to_frame().shape == (0, 2)
    assert read_table("<tr><td>a</td></tr>").to_frame().columns.tolist() == [0]
    assert read_table("a,b\n\ud800,").to_frame().to_numpy().tolist() == [["\ud800", ""]]


def test_what_xml_cannot_hold_is_replaced() -> None:
    written = table_of_cells([Cell((0,), (0,), "a\0b\ud800\x0b\uffff\U0001f600")]).to_html()
    assert read_table(written).texts == [["a\ufffdb\ufffd\ufffd\ufffd\U0001f600"]]


@pytest.mark.parametrize(
    "cells",
    [
        [Cell((0, 2), (0,), "a"), Cell((1,), (0,), "b")],
        [Cell((0, 1), (0, 1), "a"), Cell((1,), (1,), "b")],
    ],
    ids=["two parts", "a corner"],
)
def test_a_cell_that_is_no_rectangle_is_written_in_pieces(cells: list[Cell]) -> None:
    table = table_of_cells(cells)
    found = read_table(table.to_html())
    assert found.texts == table.texts
    assert found.notes == ()
    assert len(found.cells) == 3
