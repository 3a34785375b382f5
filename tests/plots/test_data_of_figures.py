"""What figures are drawn from: names made safe, labels moved apart, frames, curves."""

import math

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from extractbench_nb import paper
from extractbench_nb.benchmark.complexities import complexity
from extractbench_nb.errors import InputError
from extractbench_nb.plots.drawing import (
    Box,
    by_domain,
    candidates,
    choose_places,
    measured,
    number,
    spread,
    words,
)
from extractbench_nb.plots.paper_results import fitted_curve

PLACES = st.lists(st.floats(-1e3, 1e3), min_size=1, max_size=12)


@given(PLACES, st.floats(0.01, 50))
def test_spread_keeps_labels_apart_and_in_order(places: list[float], gap: float) -> None:
    moved = spread(places, gap)
    order = sorted(range(len(places)), key=lambda i: places[i])
    distances = np.diff([moved[i] for i in order])
    assert (distances >= gap * (1 - 1e-6) - 1e-9).all()
    assert math.isclose(sum(moved), sum(places), rel_tol=1e-6, abs_tol=1e-6)


@given(st.lists(st.integers(0, 100), min_size=1, max_size=8, unique=True))
def test_spread_leaves_alone_what_is_apart(places: list[int]) -> None:
    assert spread([float(p) for p in places], 0.5) == places


FRAME = Box(0.0, 0.0, 160.0, 140.0)
POINTS = st.lists(
    st.tuples(st.integers(10, 150), st.integers(10, 130)), min_size=1, max_size=3, unique=True
)


def boxes(points: list[tuple[float, float]], width: float) -> list[Box]:
    shifts = [s for s in choose_places(points, [width] * len(points), FRAME) if s is not None]
    corners = [(x + right, y + up) for (x, y), (right, up) in zip(points, shifts, strict=True)]
    return [Box(left, bottom, left + width, bottom + 9.5) for left, bottom in corners]


def covered(box: Box, others: list[Box]) -> float:
    """What a label covers of the others, and what of it is outside of the frame."""
    outside = 40.0 * 9.5 - box.overlap(FRAME)
    return sum(box.overlap(other) for other in others) + outside


@given(POINTS)
def test_a_name_covers_something_only_where_every_place_does(
    points: list[tuple[float, float]],
) -> None:
    placed = boxes(points, 40.0)
    marks = [Box(x - 5.0, y - 5.0, x + 5.0, y + 5.0) for x, y in points]
    for i, (x, y) in enumerate(points):
        others = [*marks, *placed[:i]]
        free = [place for place in candidates(x, y, 40.0) if covered(place, others) < 1e-6]
        assert not free or covered(placed[i], others) < 1e-6


def test_the_first_name_goes_right_and_one_at_the_edge_left() -> None:
    assert boxes([(20.0, 70.0)], 40.0)[0].left == 27.0
    assert boxes([(150.0, 70.0)], 40.0)[0].right == 143.0


def test_a_crowd_of_names_is_still_named() -> None:
    assert len(boxes([(80.0, 70.0)] * 30, 40.0)) == 30


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
    of_paper = measured(paper.table(6), columns, "table")
    own = measured(complexity(by="domain"), columns, "table")
    one, two = (frame.sort_values(["keys"]).to_numpy() for frame in (of_paper, own))
    np.testing.assert_allclose(one, two)


def test_missing_figures_stay_missing() -> None:
    assert measured(paper.table(6), ("pages",), "table")["pages"].isna().tolist() == [
        domain == "research" for domain in paper.table(6).index
    ]


def test_by_domain_adds_up_the_models() -> None:
    rows = by_domain(paper.counts(), paper.published(6), "keys", outcome="validity")
    assert rows["successes"].to_dict() == {
        "sports": 27,
        "credit": 40,
        "research": 14,
        "resumes": 26,
        "10-K/Q": 0,
    }
    assert rows["trials"].tolist() == [30, 60, 36, 42, 42]
    assert rows.loc["credit", "share"] == pytest.approx(40 / 60)


def test_by_domain_leaves_out_what_is_not_known() -> None:
    counts = paper.counts("structured")
    rows = by_domain(counts, paper.published(6), "keys", outcome="validity")
    assert rows.index.tolist() == ["resumes", "10-K/Q"]


COUNTS, TABLE = paper.counts(), paper.published(6)


@pytest.mark.parametrize(
    "counts, table, factor, outcome, message",
    [
        (COUNTS, TABLE, "key", "validity", "no column 'key'; did you mean 'keys'"),
        (COUNTS, TABLE, "keys", "valid", "outcome='valid'"),
        (COUNTS.head(0), TABLE, "keys", "validity", "counts: no rows"),
        (COUNTS, TABLE.head(0), "keys", "validity", "table: no rows"),
        (COUNTS.drop(columns="valid"), TABLE, "keys", "validity", "no column 'valid'"),
        (COUNTS, TABLE.rename(index=str.upper).drop("10-K/Q"), "keys", "validity", "no domain has"),
        (COUNTS, TABLE.assign(keys=0), "keys", "validity", "0 or less"),
        ("counts", TABLE, "keys", "validity", "expected a DataFrame, found str"),
    ],
)
def test_by_domain_refuses(
    counts: object, table: object, factor: str, outcome: str, message: str
) -> None:
    with pytest.raises(InputError, match=message):
        by_domain(counts, table, factor, outcome=outcome)


FACTOR = np.array([12.0, 13, 16, 31, 369])
SUCCESSES, TRIALS = np.array([27.0, 40, 14, 26, 0]), np.array([30.0, 60, 36, 42, 42])


def penalised_fit(
    factor: np.ndarray, successes: np.ndarray, trials: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Maximise the penalised likelihood with a general optimiser; return estimates, covariance."""
    from scipy.optimize import minimize

    design = np.column_stack([np.ones(len(factor)), np.log2(factor)])

    def information(beta: np.ndarray) -> np.ndarray:
        chance = 1 / (1 + np.exp(-design @ beta))
        return design.T @ (design * (trials * chance * (1 - chance))[:, None])

    def loss(beta: np.ndarray) -> float:
        eta = design @ beta
        likelihood = (successes * eta - trials * np.logaddexp(0, eta)).sum()
        return -likelihood - np.linalg.slogdet(information(beta))[1] / 2

    options = {"xatol": 1e-10, "fatol": 1e-12, "maxiter": 4000, "maxfev": 4000}
    found = minimize(loss, np.zeros(2), method="Nelder-Mead", options=options).x
    return found, np.linalg.inv(information(found))


def test_the_curve_and_its_interval() -> None:
    curve = fitted_curve(FACTOR, SUCCESSES, TRIALS)
    assert curve is not None
    beta, covariance = penalised_fit(FACTOR, SUCCESSES, TRIALS)
    points = np.column_stack([np.ones(len(curve.at)), np.log2(curve.at)])
    eta = points @ beta
    error = 1.959964 * np.sqrt(np.einsum("ij,jk,ik->i", points, covariance, points))
    for share, log_odds in (
        (curve.share, eta),
        (curve.low, eta - error),
        (curve.high, eta + error),
    ):
        np.testing.assert_allclose(share, 1 / (1 + np.exp(-log_odds)), atol=1e-5)


def test_the_band_holds_every_curve_with_one_domain_left_out() -> None:
    curve = fitted_curve(FACTOR, SUCCESSES, TRIALS)
    assert curve is not None
    points = np.column_stack([np.ones(len(curve.at)), np.log2(curve.at)])
    without = np.stack(
        [
            1 / (1 + np.exp(-points @ penalised_fit(*(np.delete(v, i) for v in data))[0]))
            for i in range(5)
            for data in [(FACTOR, SUCCESSES, TRIALS)]
        ]
    )
    np.testing.assert_allclose(curve.least, without.min(0), atol=1e-4)
    np.testing.assert_allclose(curve.most, without.max(0), atol=1e-4)


@pytest.mark.parametrize("values", [[3.0], [3.0, 4.0], [3.0, 3.0, 4.0, 4.0]])
def test_too_few_values_give_no_curve(values: list[float]) -> None:
    factor = np.array(values)
    assert fitted_curve(factor, np.ones(len(factor)), np.full(len(factor), 2.0)) is None


@pytest.mark.parametrize("successes", [[0, 0, 0], [9, 9, 9], [9, 9, 0], [0, 0, 0.0]])
def test_separated_shares_give_a_finite_curve(successes: list[float]) -> None:
    curve = fitted_curve(np.array([1.0, 10, 100]), np.array(successes, float), np.full(3, 9.0))
    assert curve is not None
    assert all(np.isfinite(values).all() for values in curve)
    assert (curve.low <= curve.share).all()
    assert (curve.share <= curve.high).all()


def test_a_value_that_only_one_domain_differs_in_does_not_break_the_band() -> None:
    # depth: 3, 3 and 4, 5; leaving one out always leaves two values
    curve = fitted_curve(np.array([3.0, 3, 4, 5]), np.array([1.0, 2, 3, 4]), np.full(4, 5.0))
    assert curve is not None
    assert pd.Series(curve.most - curve.least).ge(0).all()
