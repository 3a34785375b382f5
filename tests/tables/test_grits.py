"""Grid table similarity: equal to a plain oracle, and what must hold of any two tables."""

import random
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from extractbench_nb.errors import InputError
from extractbench_nb.tables.cells import Cell
from extractbench_nb.tables.grid_similarity import (
    ALIGNED_COLUMNS,
    GRITS_METRICS,
    GRITS_VARIANTS,
    SCORE_COLUMNS,
    grits,
)
from extractbench_nb.tables.reading import read_table
from tests.tables import oracle

WORDS = ["", "Year", "Sales", "sale", "2020", "2021", "5.1%", "total", "Total sales", "été"]
Cells = list[dict[str, Any]]


def make(seed: int, rows: int, columns: int) -> Cells:
    """A table with some cells over several rows and columns, and boxes that are roughly a grid."""
    rng = random.Random(seed)
    free = {(r, c) for r in range(rows) for c in range(columns)}
    cells = []
    for r, c in sorted(free):
        if (r, c) not in free:
            continue
        height, width = rng.choice([(1, 1)] * 6 + [(1, 2), (2, 1), (2, 2)])
        covered = {(r + i, c + j) for i in range(height) for j in range(width)}
        if not covered <= free:
            covered = {(r, c)}
        free -= covered
        down, across = sorted({r for r, _ in covered}), sorted({c for _, c in covered})
        box = [50 * across[0], 12 * down[0], 50 * across[-1] + 45, 12 * down[-1] + 10]
        cells.append(
            {
                "row_nums": down,
                "column_nums": across,
                "cell_text": rng.choice(WORDS),
                "bbox": [x + rng.uniform(0, 6) for x in box],
                "is_column_header": r == 0,
            }
        )
    return cells


TABLES = st.builds(make, st.integers(0, 10**6), st.integers(1, 4), st.integers(1, 4))
CHOICES = st.tuples(st.sampled_from(GRITS_METRICS[:3]), st.sampled_from(sorted(GRITS_VARIANTS)))


@settings(max_examples=80, deadline=None)
@given(TABLES, TABLES, CHOICES)
def test_equal_to_the_oracle(true: Cells, predicted: Cells, choice: tuple[str, str]) -> None:
    name, variant = choice
    found = grits(true, predicted, [name], variant).scores.loc[name]
    expected = oracle.grits(true, predicted, name, variant)
    assert found.to_dict() == pytest.approx(expected, abs=1e-12)


@settings(max_examples=40, deadline=None)
@given(TABLES, TABLES, st.sampled_from(GRITS_METRICS[:3]))
def test_between_its_bounds(true: Cells, predicted: Cells, name: str) -> None:
    """The heuristic is a lower bound of what trying everything finds, the upper bound holds."""
    found = grits(true, predicted, [name]).scores.loc[name]
    best = oracle.exact(true, predicted, name, "paper")
    assert found["fscore"] <= best + 1e-9
    assert best <= found["upper_bound"] + 1e-9


@pytest.mark.parametrize("variant", GRITS_VARIANTS)
@pytest.mark.parametrize("shape", [(1, 1), (3, 2), (12, 7)])
def test_a_table_is_like_itself(variant: str, shape: tuple[int, int]) -> None:
    table = make(1, *shape)
    found = grits(table, table, variant=variant)
    assert found.scores.to_numpy() == pytest.approx(1.0)
    assert found.rows.groupby("metric").size().eq(shape[0]).all()
    assert found.columns["similarity"].to_numpy() == pytest.approx(1.0)


@settings(max_examples=60, deadline=None)
@given(TABLES, TABLES)
def test_swapping_the_tables_swaps_precision_and_recall(one: Cells, other: Cells) -> None:
    """Where no tie is involved: real texts and boxes, in the variant `paper`."""
    there = grits(one, other, ["loc"]).scores.loc["loc"]
    back = grits(other, one, ["loc"]).scores.loc["loc"]
    assert there["upper_bound"] == pytest.approx(back["upper_bound"])
    assert there["fscore"] == pytest.approx(back["fscore"])
    assert there["precision"] == pytest.approx(back["recall"])


def keep(cells: Cells, rows: list[int]) -> Cells:
    new = {row: n for n, row in enumerate(rows)}
    kept = [c | {"row_nums": [new[r] for r in c["row_nums"] if r in new]} for c in cells]
    return [c for c in kept if c["row_nums"]]


@pytest.mark.parametrize(
    "true, predicted, scores",
    [
        ([], [], (1, 1, 1, 1)),
        ([], make(1, 2, 2), (0, 0, 1, 0)),
        (make(1, 2, 2), [], (0, 1, 0, 0)),
    ],
)
def test_empty_tables(true: Cells, predicted: Cells, scores: tuple[float, ...]) -> None:
    found = grits(true, predicted, ["top", "con", "loc"])
    assert [tuple(row) for row in found.scores.to_numpy()] == [scores] * 3
    assert found.rows.empty
    assert found.columns.empty


def test_the_result() -> None:
    found = grits(make(1, 3, 2), make(2, 2, 2))
    assert found.scores.index.tolist() == list(GRITS_METRICS[:3])
    assert found.scores.columns.tolist() == SCORE_COLUMNS.names
    assert found.rows.columns.tolist() == found.columns.columns.tolist() == ALIGNED_COLUMNS.names
    assert "3 x 2 against 2 x 2 positions, variant 'paper'" in repr(found)
    with pytest.raises(AttributeError):
        found.variant = "released"  # type: ignore[misc]
    total = found.rows.groupby("metric")["similarity"].sum() * (2 + 2) / 2
    assert total["con"] / 4 == pytest.approx(found.scores.loc["con", "precision"])


def boxes(*found: list[float]) -> Cells:
    return [
        {"row_nums": [0], "column_nums": [n], "text": "", "bbox": box}
        for n, box in enumerate(found)
    ]


@pytest.mark.parametrize(
    "predicted, rawloc",
    [
        (boxes([0, 0, 5, 10], [5, 0, 10, 10]), 1.0),  # meets halfway, as the true ones dilated
        (boxes([0, 0, 4, 10], [6, 0, 10, 10]), 0.8),  # 40 of 50 each
        (boxes([0, 0, 5, 5], [5, 0, 10, 10]), 0.75),  # a half, and all
        (boxes([0, 0, 5, 10]), 2 * 1 / 3),  # one of two
        (boxes([20, 0, 25, 10], [25, 0, 30, 10]), 0.0),
    ],
)
def test_raw_locations_by_hand(predicted: Cells, rawloc: float) -> None:
    """True boxes with a gap of 2 between them, from x = 4 to 6."""
    true = boxes([0, 0, 4, 10], [6, 0, 10, 10])
    found = grits(true, predicted, ["rawloc"]).scores
    assert found.loc["rawloc", "fscore"] == pytest.approx(rawloc)


def test_without_boxes_there_is_no_location() -> None:
    cells = [{"row_nums": [0], "column_nums": [0], "text": "a"}]
    assert grits(cells, cells).scores.index.tolist() == ["top", "con"]
    with pytest.raises(InputError, match="true, cell 0 has no bbox, which the metric 'loc' needs"):
        grits(cells, make(1, 1, 1), ["loc"])


ONE = {"row_nums": [0], "column_nums": [0], "text": "a"}


@pytest.mark.parametrize(
    "cells, message",
    [
        ("table", "true is the text 'table', in which no table was found"),
        ([ONE, ONE | {"row_num": [1]}], "cell 1: no key 'row_num'; did you mean 'row_nums'"),
        ([ONE | {"row_nums": []}], "row_nums is .*; expected whole numbers from 0"),
        ([ONE | {"row_nums": [0.5]}], "row_nums is .*; expected whole numbers from 0"),
        ([ONE | {"text": 5}], "text is 5; expected a str"),
        ([ONE | {"bbox": [0, 1, 2]}], "bbox is .*; expected four numbers"),
        ([ONE | {"bbox": [0, 1, 2, float("nan")]}], "bbox is .*; expected four numbers"),
        ([ONE | {"row_nums": [2]}], "no cell covers row 0, column 0 .2 positions in all"),
        ([ONE | {"row_nums": [99_999], "column_nums": [99_999]}], "cover 1 positions at most"),
        ([ONE | {"is_column_header": "false"}], "is_column_header is 'false'; expected a bool"),
        ([Cell((-1,), (0,), "a")], "cell 0: row_nums is .-1,.; expected whole numbers from 0"),
        ([Cell((0,), (0,), "a", (1, 2))], "cell 0: bbox is .1, 2.; expected four numbers"),
    ],
)
def test_tables_that_are_none(cells: Any, message: str) -> None:
    with pytest.raises(InputError, match=message):
        grits(cells, [ONE])


@pytest.mark.parametrize(
    "options, message",
    [
        ({"metrics": ["topology"]}, "metrics: no 'topology'"),
        ({"variant": "release"}, "variant is 'release'; did you mean 'released'"),
    ],
)
def test_bad_options(options: dict[str, Any], message: str) -> None:
    with pytest.raises(InputError, match=message):
        grits([ONE], [ONE], **options)


def test_parts_are_tables_of_their_own() -> None:
    table = read_table(make(5, 6, 5))
    for rows, columns in (([0, 2, 3], [1, 2, 4]), (range(6), [3]), ([5], range(5))):
        part = table.part(rows, columns)
        assert part.texts == [[table.texts[row][column] for column in columns] for row in rows]
        assert read_table(list(part.cells)).grid.tolist() == part.grid.tolist()
    assert table.part([], [0]).size == 0
    with pytest.raises(InputError, match=r"rows are .9.; expected different numbers below 6"):
        table.part([9], [0])
