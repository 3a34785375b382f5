"""Two compared tables as a model of lines and patches."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from extractbench_nb.tables.cells import GAP
from extractbench_nb.tables.grid_similarity import GRITS_METRICS, grits
from extractbench_nb.tables.grits_result import Comparison, compare, patches_of
from tests.widgets.tables.tables import PREDICTED, TRUE, plain

_TEXTS = st.lists(
    st.lists(st.sampled_from(["", "a", "b", "ab", "abc"]), min_size=3, max_size=3), max_size=5
)


@st.composite
def spanning(draw: Any) -> list[dict[str, Any]]:
    """Cells of a table, some of which lie over others."""
    cells = plain(draw(_TEXTS))
    if cells:
        height = cells[-1]["row_nums"][0] + 1
        for _ in range(draw(st.integers(0, 2))):
            rows = draw(st.sets(st.integers(0, height - 1), min_size=1, max_size=3))
            columns = draw(st.sets(st.integers(0, 2), min_size=1, max_size=3))
            cells.append({"row_nums": sorted(rows), "column_nums": sorted(columns), "text": "over"})
    return cells


def found(true: Any, predicted: Any, metric: str = "con") -> Comparison:
    return compare(grits(true, predicted), metric)


@settings(deadline=None)
@given(spanning(), spanning(), st.sampled_from(["top", "con"]))
def test_every_line_stands_once_and_in_order(true: Any, predicted: Any, metric: str) -> None:
    result = grits(true, predicted)
    both = compare(result, metric)
    for axis, lines in enumerate((both.rows, both.columns)):
        for side, table in enumerate(both.tables):
            own = [line.at(side) for line in lines if line.at(side) is not None]
            assert own == list(range(table.grid.shape[axis] if table.size else 0))
    frame = result.rows[result.rows["metric"] == metric]
    pairs = [line[:3] for line in both.rows if None not in line[:2]]
    assert pairs == list(frame[["true", "predicted", "similarity"]].itertuples(index=False))


@settings(deadline=None)
@given(spanning(), spanning(), st.sampled_from(["top", "con"]))
def test_positions_add_up_to_the_score(true: Any, predicted: Any, metric: str) -> None:
    result = grits(true, predicted)
    both = compare(result, metric)
    sums = [float(np.nansum(values)) for values in both.positions]
    size = sum(table.size for table in both.tables)
    assert sums[0] == pytest.approx(sums[1])
    if size:
        assert sum(sums) / size == pytest.approx(result.scores.loc[metric, "fscore"])


@settings(deadline=None)
@given(spanning(), spanning())
def test_partners_are_partners_of_each_other(true: Any, predicted: Any) -> None:
    both = found(true, predicted)
    for side in (0, 1):
        for place in np.ndindex(*both.tables[side].grid.shape):
            partner = both.partner(side, *place)
            assert (partner is None) == bool(np.isnan(both.positions[side][place]))
            if partner is not None:
                assert both.partner(1 - side, *partner) == place
                assert both.positions[side][place] == both.positions[1 - side][partner]


@settings(deadline=None)
@given(spanning(), spanning(), st.data())
def test_patches_cover_each_place_once(true: Any, predicted: Any, data: Any) -> None:
    both = found(true, predicted)
    first = data.draw(st.integers(0, len(both.rows)))
    rows = both.rows[first : data.draw(st.integers(first, len(both.rows)))]
    for side in (0, 1):
        columns = [n for line in both.columns if (n := line.at(side)) is not None]
        cells = np.full((len(rows), len(columns)), -9)
        for top, patches in enumerate(patches_of(both, side, rows, both.columns)):
            for patch in patches:
                left = columns.index(patch.column)
                place = np.s_[top : top + patch.height, left : left + patch.width]
                assert (cells[place] == -9).all()
                cells[place] = patch.cell
                assert patch.cell == GAP or both.tables[side].grid[patch.row, patch.column] == (
                    patch.cell
                )
        for line, drawn_cells in zip(rows, cells, strict=True):
            at = line.at(side)
            if at is not None and both.tables[side].size:
                assert (drawn_cells == both.tables[side].grid[at]).all()


def boxed(texts: Any, shift: float = 0) -> list[dict[str, Any]]:
    """Cells with boxes of 10 by 5, each moved to the right."""
    cells = plain(texts)
    for cell in cells:
        x, y = 10 * cell["column_nums"][0] + shift, 5 * cell["row_nums"][0]
        cell["bbox"] = [x, y, x + 10, y + 5]
    return cells


@pytest.mark.parametrize("metric", GRITS_METRICS)
def test_every_metric_adds_up(metric: str) -> None:
    true, predicted = boxed([["a", "b"], ["c", "d"]]), boxed([["a", "x"]], 2.5)
    result = grits(true, predicted, metrics=[metric])
    both = compare(result, metric)
    total = float(np.nansum(both.positions[0]))
    assert 2 * total / 6 == pytest.approx(result.scores.loc[metric, "fscore"])


def test_a_cell_goes_through_the_gap_of_a_row_that_it_does_not_have() -> None:
    tall = [
        {"row_nums": [0, 1], "column_nums": [0], "text": "tall"},
        {"row_nums": [0], "column_nums": [1], "text": "north"},
        {"row_nums": [1], "column_nums": [1], "text": "south"},
    ]
    three = plain([["tall", "north"], ["zzz", "QQQQQ"], ["tall", "south"]])
    both = found(tall, three)
    drawn = patches_of(both, 0, both.rows, both.columns)
    assert [line[:2] for line in both.rows] == [(0, 0), (None, 1), (1, 2)]
    assert [[(patch.cell, patch.height) for patch in patches] for patches in drawn] == [
        [(0, 3), (1, 1)],
        [(GAP, 1)],
        [(2, 1)],
    ]


def test_each_cell_has_what_became_of_it() -> None:
    both = found(TRUE, PREDICTED)
    cells = both.tables[0].cells
    told = {cell.text: both.states(0)[n][0] for n, cell in enumerate(cells)}
    assert [told[text] for text in ("North", "30.2", "Sales in 2022", "West", "91.4")] == [
        *("alike", "unlike", "partly", "alone", "alone"),
    ]
    number = next(n for n, cell in enumerate(cells) if cell.text == "Sales in 2022")
    assert both.states(0)[number][1] == pytest.approx(12 / 13 / 2)
