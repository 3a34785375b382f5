"""Intervals and tests against scipy, against the truth in simulations, and at their edges."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from extractbench_nb.errors import InputError
from extractbench_nb.stats.intervals import (
    Drawing,
    bca_bounds,
    detectable_difference,
    holm,
    mean_intervals,
    sign_flip_tests,
)

DRAWING = Drawing(0.95, 2000, 7)


def expanded(confidence: float, size: int) -> float:
    """Return the confidence of scipy's normal quantiles that are ours for a number of documents."""
    reach = stats.t.ppf((1 + confidence) / 2, size - 1) * np.sqrt(size / (size - 1))
    return float(1 - 2 * stats.norm.sf(reach))


def samples_of(size: int, kind: str, count: int = 1) -> list[np.ndarray]:
    rng = np.random.default_rng([size, len(kind)])
    draw = {
        "uniform": lambda: rng.random(size),
        "skewed": lambda: rng.beta(8, 1, size),
        "quarters": lambda: rng.integers(0, 5, size) / 4,
        "dollars": lambda: 1000 + rng.exponential(50, size),
    }[kind]
    return [draw() for _ in range(count)]


@pytest.mark.parametrize("kind", ["uniform", "skewed", "quarters", "dollars"])
@pytest.mark.parametrize("size", [5, 14, 35, 200])
@pytest.mark.parametrize("confidence", [0.8, 0.95])
def test_interval_is_that_of_scipy(size: int, kind: str, confidence: float) -> None:
    drawing = Drawing(confidence, 2000, 3)
    (sample,) = samples_of(size, kind)
    (found,) = mean_intervals([sample], drawing)
    expected = stats.bootstrap(
        (sample,),
        lambda x, axis: np.round(np.mean(x, axis=axis), 10),  # equal means stay equal
        n_resamples=2000,
        confidence_level=expanded(confidence, size),
        method="BCa",
        rng=drawing.generator(size, "bootstrap"),
    ).confidence_interval
    assert found.method == "BCa"
    assert [found.low, found.high] == pytest.approx(list(expected), rel=1e-9)


def test_percentile_where_bca_is_not_defined() -> None:
    resampled = np.linspace(0, 1, 1001)[:, None]
    for estimate, curve in ((-1.0, 0.0), (2.0, 0.0), (0.5, np.nan), (0.5, 3.0)):
        bounds, bca = bca_bounds(resampled, np.array([estimate]), np.array([curve]), DRAWING, 10**6)
        assert not bca[0]
        assert bounds[0].tolist() == pytest.approx([0.025, 0.975], abs=1e-5)


@pytest.mark.parametrize(
    "sample, expected",
    [
        ([0.4], (None, None, "one document")),
        ([0.4, 0.4, 0.4], (0.4, 0.4, "all equal")),
        ([0.3 - 0.2, 0.4 - 0.3], (0.1, 0.1, "all equal")),
        ([0.0, 0.0], (0.0, 0.0, "all equal")),
        ([0.0, 1.0], (0.0, 1.0, "BCa")),
    ],
)
def test_few_or_equal_values(sample: list[float], expected: tuple[object, ...]) -> None:
    (found,) = mean_intervals([np.array(sample)], DRAWING)
    assert tuple(found) == pytest.approx(expected)


def test_intervals_do_not_depend_on_what_else_is_computed() -> None:
    many = [*samples_of(14, "uniform", 600), *samples_of(35, "skewed", 3)]
    together = mean_intervals(many, DRAWING)
    for i in (0, 511, 512, 599, 602):
        (alone,) = mean_intervals([many[i]], DRAWING)
        assert alone == pytest.approx(together[i], abs=1e-11)


@settings(max_examples=30)
@given(st.permutations(range(12)), st.floats(-5, 5), st.floats(0.01, 100))
def test_interval_moves_with_the_values(order: list[int], shift: float, factor: float) -> None:
    values = samples_of(12, "uniform")[0]
    (plain,) = mean_intervals([values], DRAWING)
    (moved,) = mean_intervals([values * factor + shift], DRAWING)
    expected = [plain.low * factor + shift, plain.high * factor + shift]
    assert [moved.low, moved.high] == pytest.approx(expected, abs=1e-8)
    (mirrored,) = mean_intervals([-values], DRAWING)
    assert [mirrored.low, mirrored.high] == pytest.approx([-plain.high, -plain.low], abs=1e-9)


@pytest.mark.parametrize("size", [2, 3, 6, 10, 13])
@pytest.mark.parametrize("kind", ["uniform", "quarters"])
def test_exact_p_is_that_of_scipy(size: int, kind: str) -> None:
    rng = np.random.default_rng(size)
    differences = rng.normal(0.3, 1, size) if kind == "uniform" else rng.integers(-2, 4, size) / 4
    expected = stats.permutation_test(
        (differences,),
        lambda x, axis: np.mean(x, axis=axis),
        permutation_type="samples",
        vectorized=True,
        n_resamples=2**14,
    )
    (found,) = sign_flip_tests([differences], DRAWING)
    assert found[:2] == pytest.approx((expected.pvalue, "exact"))


@pytest.mark.parametrize("size, shift", [(17, 0.4), (35, 0.2), (120, 0.15), (400, 0.02)])
def test_sampled_p_is_near_that_of_scipy(size: int, shift: float) -> None:
    """Both draw 9,999 flips; they differ by less than four standard errors of the two."""
    differences = np.random.default_rng(size).normal(shift, 1, size)
    expected = stats.permutation_test(
        (differences,),
        lambda x, axis: np.mean(x, axis=axis),
        permutation_type="samples",
        vectorized=True,
        n_resamples=9999,
        batch=500,
        rng=5,
    ).pvalue
    (found,) = sign_flip_tests([differences], Drawing(0.95, 9999, 0))
    assert found.method == "sampled"
    error = 4 * np.sqrt(2 * expected * (1 - expected) / 9999) + 2e-4
    assert found.p == pytest.approx(expected, abs=error)


@pytest.mark.parametrize(
    "differences, expected",
    [
        ([0.0, 0.0, 0.0], (1.0, "exact")),
        ([1e-16, -1e-16], (1.0, "exact")),
        ([0.2], (1.0, "exact")),
        ([0.2] * 5, (2 / 2**5, "exact")),
        ([0.2] * 5 + [0.0] * 400, (2 / 2**5, "exact")),
        ([0.1] * 16, (2 / 2**16, "exact")),
        ([0.1] * 40, (1 / 2001, "sampled")),
        ([0.1, -0.1] * 30, (1.0, "sampled")),
    ],
)
def test_p_of_extreme_differences(differences: list[float], expected: tuple[float, str]) -> None:
    (found,) = sign_flip_tests([np.array(differences)], DRAWING)
    assert found[:2] == expected


NONE = (None, None, "too few documents")


@pytest.mark.parametrize(
    "differences, confidence, expected",
    [
        ([0.2], 0.95, (None, None, "one document")),
        ([0.1, 0.2, 0.3, 0.4, 0.5], 0.95, NONE),
        ([0.0] * 5, 0.95, NONE),
        ([0.1, 0.2, 0.3, 0.4, 0.5], 0.9, (0.1, 0.5, "sign flips")),  # 1 of 16 flips is 0.0625
        ([0.1, 0.2, 0.3, 0.4, 0.5, 0.6], 0.95, (0.1, 0.6, "sign flips")),
        ([0.1, 0.2, 0.3, 0.4, 0.5, 0.6], 0.9, (0.2, 0.5, "sign flips")),  # 3 of 32 flips
        ([1.0, 2.0, 3.0], 0.75, (1.0, 3.0, "sign flips")),  # 1 of 4 flips is 0.25
        ([0.2] * 6, 0.95, (0.2, 0.2, "all equal")),
        ([0.2] * 40, 0.95, (0.2, 0.2, "all equal")),
        ([0.0] * 40, 0.95, (0.0, 0.0, "all equal")),
        ([0.2] * 5, 0.9, (0.2, 0.2, "all equal")),
    ],
)
def test_interval_of_differences_by_hand(
    differences: list[float], confidence: float, expected: tuple[object, ...]
) -> None:
    (found,) = sign_flip_tests([np.array(differences)], Drawing(confidence, 999, 0))
    assert tuple(found.interval) == pytest.approx(expected)


@given(
    st.lists(st.sampled_from([-0.5, -0.2, 0.0, 0.0, 0.1, 0.3, 0.7]), min_size=1, max_size=24),
    st.sampled_from([0.8, 0.95]),
)
@settings(max_examples=60)
def test_interval_is_the_inverted_test(values: list[float], confidence: float) -> None:
    """It has 0 where p is above 1 - confidence, and every other mean by the same rule."""
    drawing, differences = Drawing(confidence, 400, 1), np.array(values)
    (found,) = sign_flip_tests([differences], drawing)
    low, high, _ = found.interval
    rejected = found.p <= drawing.alpha
    assert (low is not None and not low <= 0 <= high) == rejected
    if low is None or len(values) > 16:  # the flips of more documents are drawn
        return
    shifts = [low - 1e-6, low + 1e-6, high - 1e-6, high + 1e-6]
    moved = sign_flip_tests([differences - shift for shift in shifts], drawing)
    kept = [test.p > drawing.alpha for test in moved]
    assert kept == ([False, True, True, False] if high - low > 1e-5 else [False] * 4)


@pytest.mark.parametrize("size", [8, 14, 35])
@pytest.mark.parametrize("lost", [0.0, 0.15])
def test_intervals_of_differences_cover_their_mean(size: int, lost: float) -> None:
    """1,000 batches in which either side loses documents: 95 % within 2 %."""
    rng = np.random.default_rng([size, 5])
    scores = rng.beta(8, 1, (2, 1000, size)) * (rng.random((2, 1000, size)) >= lost)
    tests = sign_flip_tests(list(scores[1] - scores[0]), Drawing(0.95, 999, 0))
    inside = [test.interval.low <= 0 <= test.interval.high for test in tests]
    assert np.mean(inside) == pytest.approx(0.95, abs=0.02)


@pytest.mark.parametrize("size, least", [(5, 0.89), (8, 0.92), (14, 0.93), (35, 0.93)])
def test_intervals_of_means_cover_normal_means(size: int, least: float) -> None:
    samples = np.random.default_rng(size).normal(0, 1, (2000, size))
    intervals = mean_intervals(list(samples), Drawing(0.95, 999, 0))
    assert least < np.mean([low <= 0 <= high for low, high, _ in intervals]) < 0.97


@pytest.mark.parametrize("size", [15, 40])
def test_a_detectable_difference_is_found_four_times_in_five(size: int) -> None:
    """2,000 batches whose true difference is the detectable one: 80 % within 4 %."""
    rng = np.random.default_rng(3)
    noise = rng.normal(0, 1, (2000, size))
    unit = (noise[0] - noise[0].mean()) / noise[0].std(ddof=1)  # a spread of exactly 1
    effect = detectable_difference(unit, DRAWING)
    assert effect is not None
    found = sign_flip_tests(list(noise + effect), Drawing(0.95, 999, 0))
    assert np.mean([p.p <= 0.05 for p in found]) == pytest.approx(0.8, abs=0.04)


@pytest.mark.parametrize("sample", [[], [0.5], [0.1, 0.1, 0.1]])
def test_nothing_is_detectable_without_spread(sample: list[float]) -> None:
    assert detectable_difference(np.array(sample), DRAWING) is None


@pytest.mark.parametrize(
    "given_, expected",
    [
        ([], []),
        ([0.2], [0.2]),
        ([0.01, 0.02, 0.03], [0.03, 0.04, 0.04]),
        ([0.04, 0.01, 0.03, 0.005], [0.06, 0.03, 0.06, 0.02]),  # Wikipedia's worked example
        ([0.5, 0.6, 0.7], [1.0, 1.0, 1.0]),
        ([0.02, 0.02], [0.04, 0.04]),
    ],
)
def test_holm_by_hand(given_: list[float], expected: list[float]) -> None:
    assert holm(given_).tolist() == pytest.approx(expected)


@pytest.mark.parametrize(
    "options, message",
    [
        ((0, 999, 0), "confidence=0;"),
        ((1.0, 999, 0), "confidence=1.0"),
        ((95, 999, 0), "confidence=95; it is a share"),
        ((float("nan"), 999, 0), "confidence=nan; it is a share"),
        ((0.95, 99, 0), "resamples=99; it is a whole number from 100 up"),
        ((0.95, 1e4, 0), "resamples=10000.0"),
        ((0.95, True, 0), "resamples=True"),
        ((0.95, 999, -1), "seed=-1; it is a whole number from 0 up"),
        ((0.95, 999, None), "seed=None"),
    ],
)
def test_options_out_of_range(options: tuple[float, int, int], message: str) -> None:
    with pytest.raises(InputError) as caught:
        Drawing(*options)
    assert message in str(caught.value)
