"""What figures are drawn from: names made safe, labels moved apart, frames."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from extractbench_nb import benchmark
from extractbench_nb.benchmark.complexities import complexity
from extractbench_nb.views.plots.axes import apart, measured, number, words

PLACES = st.lists(st.floats(0, 1e3), min_size=1, max_size=12)


@given(PLACES, st.floats(0.01, 50))
def test_labels_are_moved_apart_in_their_order(places: list[float], gap: float) -> None:
    order = sorted(range(len(places)), key=lambda i: places[i])
    for top in (np.inf, max(places)):
        moved = apart(places, gap, top=top)
        assert (np.diff([moved[i] for i in order]) >= gap - 1e-6).all()
        assert max(moved) <= top
    assert all(new >= old - 1e-9 for new, old in zip(apart(places, gap), places, strict=True))


@given(st.lists(st.integers(0, 100), min_size=1, max_size=8, unique=True))
def test_labels_that_are_apart_stay(places: list[int]) -> None:
    assert apart([float(p) for p in places], 0.5, top=100) == places


@pytest.mark.parametrize(
    "text, label",
    [
        ("plain", "plain"),
        ("two\nlines\t and  spaces", "two lines and spaces"),
        ("$.a $x^2$", r"\$.a \$x^2\$"),
        ("\ud800 lone", "� lone"),
        ("bell\x07", "bell�"),
        ("x" * 50, "x" * 39 + "…"),
        ("", ""),
        (7, "7"),
    ],
)
def test_words(text: object, label: str) -> None:
    assert words(text) == label


@pytest.mark.parametrize(
    "value, text",
    [(0, "0"), (0.25, "0.2"), (15.7, "15.7"), (99.96, "100.0"), (100.4, "100"), (25366, "25,366")],
)
def test_number(value: float, text: str) -> None:
    assert number(value) == text


def test_both_public_frames_give_the_same_figures() -> None:
    columns = ("keys", "depth", "tokens", "array_items")
    table = benchmark.table(6)
    one, two = (
        measured(frame, columns, "table").sort_values(["keys"]).to_numpy()
        for frame in (table, complexity(by="domain"))
    )
    np.testing.assert_allclose(one, two)
    missing = measured(table, ("pages",), "table")["pages"].isna()
    assert missing.tolist() == [domain == "research" for domain in table.index]
