"""What holds of the canonical form of any table."""

import random
from collections import Counter

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from extractbench_nb.tables.canonical import Canonical, canonicalize
from extractbench_nb.tables.cells import Cell, Table, table_of_cells

TEXTS = ["", "", "", "A", "A", "B", "C", "x", "1", "2", " "]
SHAPES = [(1, 1)] * 6 + [(1, 2), (2, 1), (1, 3), (2, 2)]


def make(seed: int, rows: int, columns: int, flags: str, boxes: bool) -> Table:
    """A table with spans, blank cells and repeated texts; overlaps where a cell has no room."""
    rng = random.Random(seed)
    flagged = {r for r in range(rows) if rng.random() < 0.5} if flags == "any" else {0}
    free = {(r, c) for r in range(rows) for c in range(columns)}
    cells = []
    for r, c in sorted(free):
        if (r, c) not in free:
            continue
        height, width = rng.choice(SHAPES)
        down = tuple(range(r, min(r + height, rows)))
        across = tuple(range(c, min(c + width, columns)))
        covered = {(i, j) for i in down for j in across}
        if not covered <= free and rng.random() < 0.9:
            down, across, covered = (r,), (c,), {(r, c)}
        free -= covered
        box = (10.0 * c, 5.0 * r, 10.0 * across[-1] + rng.choice([8, 10]), 5.0 * down[-1] + 5)
        is_header = flags != "none" and r in flagged and rng.random() < 0.9
        is_projected = rng.random() < 0.05
        text = rng.choice(TEXTS)
        cells.append(Cell(down, across, text, box if boxes else None, is_header, is_projected))
    rng.shuffle(cells)
    return table_of_cells(cells)


TABLES = st.builds(
    make,
    st.integers(0, 10**9),
    st.integers(1, 6),
    st.integers(1, 5),
    st.sampled_from(["none", "first", "any"]),
    st.booleans(),
)
HEADERS = st.sampled_from([None, None, 0, 1])


def known(table: Table) -> Counter[Cell]:
    return Counter(table.cells)


@settings(max_examples=300, deadline=None)
@given(TABLES, HEADERS)
def test_what_holds_of_any_table(table: Table, header_rows: int | None) -> None:
    found = canonicalize(table, header_rows=header_rows)
    again = canonicalize(found.table, header_rows=header_rows)
    assert again.changes.empty, again.changes.to_dict("records")
    assert again.table is found.table
    check_changes(table, found)
    check_texts(table, found.table)
    check_grown_cells(table, found.table)


def check_changes(table: Table, found: Canonical) -> None:
    """A table without a change is the one given; each with one differs from it."""
    assert (found.table is table) == found.changes.empty
    if not found.changes.empty:
        assert known(found.table) != known(table)
    for change in found.changes.itertuples():
        if change.step == "row_header":
            assert change.columns == (0,)
        if change.step == "projected":
            assert len(change.rows) == 1
            assert change.columns == tuple(range(table.grid.shape[1]))


def check_texts(table: Table, found: Table) -> None:
    """No text is lost, moved or mixed."""
    assert found.grid.shape == table.grid.shape
    for before, after in zip(table.texts, found.texts, strict=True):
        assert all(b.strip() in ("", a.strip()) for b, a in zip(before, after, strict=True))
    texts, kept = (Counter(c.text for c in t.cells if c.text.strip()) for t in (table, found))
    assert set(texts) == set(kept)
    assert kept <= texts


def check_grown_cells(table: Table, found: Table) -> None:
    """Cells that grow are rectangles, and alone."""
    before = known(table)
    for number, cell in enumerate(found.cells):
        if cell not in before and cell.text.strip():
            rows, columns = cell.rows, cell.columns
            area = found.grid[rows[0] : rows[-1] + 1, columns[0] : columns[-1] + 1]
            flags_only = any(cell[:3] == other[:3] for other in table.cells)
            assert flags_only or (area == number).all()


@settings(max_examples=100, deadline=None)
@given(TABLES, st.randoms())
def test_the_order_of_cells_is_nothing(table: Table, rng: random.Random) -> None:
    """Where no two cells overlap."""
    if sum(len(c.rows) * len(c.columns) for c in table.cells) > table.size:
        return
    shuffled = table_of_cells(rng.sample(table.cells, len(table.cells)))
    one, other = canonicalize(table), canonicalize(shuffled)
    assert known(one.table) == known(other.table)
    assert one.changes.equals(other.changes)


@pytest.mark.parametrize("rows, columns", [(250, 20), (20, 250)])
def test_large_tables(rows: int, columns: int) -> None:
    """Whatever its size; a table of spanning cells alone looks for a header in each of its rows."""
    table = make(3, rows, columns, "first", boxes=True)
    found = canonicalize(table)
    assert canonicalize(found.table).changes.empty
