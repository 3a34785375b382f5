"""Leaving out pairs of lines that cannot matter changes nothing, ties included."""

import random
from importlib import import_module
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from extractbench_nb.tables.cells import table_of_cells
from extractbench_nb.tables.grid_alignment import (
    corridors,
    diagonal_corridor,
    likely_alignment,
)
from extractbench_nb.tables.grid_similarity import GriTS, grits
from tests.tables.test_grits import TABLES, Cells

API: Any = import_module("extractbench_nb.tables.grid_alignment")


def both(true: Any, predicted: Any, **options: Any) -> tuple[GriTS, GriTS]:
    """Score with pairs left out, however small the tables, and with none."""
    found = []
    for few in (0, 1 << 60):
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(API, "_FEW", few)
            patch.setattr(API, "_MANY", few)
            found.append(grits(true, predicted, **options))
    return found[0], found[1]


def check(pair: tuple[GriTS, GriTS]) -> None:
    few, whole = pair
    for name in ("scores", "rows", "columns"):
        assert getattr(few, name).equals(getattr(whole, name)), name


@settings(max_examples=60, deadline=None)
@given(TABLES, TABLES, st.sampled_from(["paper", "paper_substring", "released"]))
def test_nothing_is_lost(true: Cells, predicted: Cells, variant: str) -> None:
    check(both(true, predicted, variant=variant))


def grid(rows: list[list[str]]) -> Cells:
    return [
        {"row_nums": [i], "column_nums": [j], "text": text}
        for i, row in enumerate(rows)
        for j, text in enumerate(row)
    ]


@pytest.mark.parametrize("seed", range(8))
@pytest.mark.parametrize("letters", ["ab", "abcdefgh0123456789"])
def test_nothing_is_lost_of_longer_tables(seed: int, letters: str) -> None:
    """Few letters: many alignments are equally good. Rows are dropped, doubled and swapped."""
    rng = random.Random(seed)
    rows = [["".join(rng.choices(letters, k=3)) for _ in range(5)] for _ in range(25)]
    other = [row for row in rows for _ in range(rng.choice([0, 1, 1, 1, 1, 2]))]
    at = rng.randrange(len(other) - 3)
    other[at : at + 3] = other[at : at + 3][::-1]
    other = [[t if rng.random() < 0.8 else rng.choice(letters) for t in row] for row in other]
    check(both(grid(rows), grid(other)))


def test_much_is_left_out_where_tables_are_alike() -> None:
    """A table beside itself: nothing but the diagonal."""
    lines = table_of_cells(grid([[f"{i} {j}" for j in range(4)] for i in range(30)])).grid
    guess = likely_alignment(lines, lines)
    for left in (
        diagonal_corridor(guess, (30, 30), 4.0, lambda pairs: pairs * 4.0),
        corridors(np.full((1, 30, 30), 4.0), lambda pairs: pairs * 4.0)[0],
    ):
        assert left.sum() == 30
        assert left.diagonal().all()
