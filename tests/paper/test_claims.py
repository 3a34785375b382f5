from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from scipy import stats

from extractbench_nb import paper
from extractbench_nb.paper.claim_tests import (
    ANALYSES,
    CLAIM_COLUMNS,
    strongest_factors,
)
from extractbench_nb.paper.facts import facts_of
from extractbench_nb.paper.regression import (
    CORRELATION_COLUMNS,
    REGRESSION_COLUMNS,
    Association,
    associate,
    fit,
    kendall,
    profile_interval,
    spearman,
)
from extractbench_nb.paper.verdicts import (
    LEVEL_OF_ATTEMPTS,
    RULES,
    VERDICTS,
    Ruled,
    by_analyses,
    by_association,
    by_count,
    by_difference,
    by_no_association,
    by_one_cause,
    by_threshold,
)

fives = st.lists(st.integers(0, 4), min_size=5, max_size=5).map(lambda v: np.array(v, dtype=float))


@given(one=fives, two=fives)
def test_rank_correlations_are_scipys(one: np.ndarray, two: np.ndarray) -> None:
    assume(len(set(one)) > 1 and len(set(two)) > 1)
    assert float(spearman(one, two)) == pytest.approx(stats.spearmanr(one, two).statistic)
    assert float(kendall(one, two)) == pytest.approx(stats.kendalltau(one, two).statistic)


@settings(max_examples=10, deadline=None)
@given(one=fives, two=fives)
def test_p_values_are_those_of_all_orders(one: np.ndarray, two: np.ndarray) -> None:
    assume(len(set(one)) > 1 and len(set(two)) > 1)
    exact = stats.permutation_test(
        (two,),
        lambda order: abs(float(spearman(one, order))),
        permutation_type="pairings",
        alternative="greater",
        n_resamples=np.inf,
    )
    found = associate(one, two)
    assert found.p_value == pytest.approx(exact.pvalue)
    assert found.p_smallest <= found.p_value


def test_perfect_order_and_no_order() -> None:
    line = np.arange(5.0)
    for measure in ("spearman", "kendall"):
        found = associate(line, line[::-1], measure=measure)
        assert found == pytest.approx((-1, 2 / 120, 2 / 120, -1, -1))
    assert associate(line, np.ones(5)) == (None,) * 5


def test_correlations() -> None:
    frame = paper.correlations()
    assert frame.columns.tolist() == CORRELATION_COLUMNS.names
    assert len(frame) == 10 * 3 * 5 * 2
    known = frame.dropna()
    assert known["correlation"].between(-1, 1).all()
    assert (known["p_value"] >= known["p_smallest"] - 1e-12).all()
    assert known["p_smallest"].min() == pytest.approx(2 / 120)
    own = frame.set_index(["group", "outcome", "factor", "measure"])
    assert own.loc[("pooled", "validity", "keys", "spearman"), "correlation"] == pytest.approx(-0.9)
    assert own.loc[("able", "validity", "tokens", "spearman"), "correlation"] == pytest.approx(-0.8)


# --- Firth's logistic regression -----------------------------------------------------------


@given(a=st.integers(0, 20), b=st.integers(0, 20), n=st.integers(20, 40), m=st.integers(20, 40))
def test_two_groups_have_a_closed_form(a: int, b: int, n: int, m: int) -> None:
    """In a saturated 2 x 2 table, the penalty adds one half to each cell."""
    design = np.array([[[1.0, 0.0], [1.0, 1.0]]])
    found = fit(design, np.array([float(a), float(b)]), np.array([float(n), float(m)]))
    odds = [np.log((k + 0.5) / (t - k + 0.5)) for k, t in ((a, n), (b, m))]
    assert found.coefficients[0] == pytest.approx([odds[0], odds[1] - odds[0]], abs=1e-6)
    errors = [
        1 / (t * p * (1 - p)) for t, p in ((n, (a + 0.5) / (n + 1)), (m, (b + 0.5) / (m + 1)))
    ]
    assert found.errors[0] == pytest.approx([errors[0] ** 0.5, sum(errors) ** 0.5], rel=1e-5)


def test_separation_stays_finite_and_a_row_without_trials_counts_for_nothing() -> None:
    x = np.arange(5.0)
    design = np.column_stack([np.ones(5), x])
    successes, trials = np.array([10.0, 10, 10, 0, 0]), np.full(5, 10.0)
    found = fit(design[None], successes, trials)
    assert np.isfinite(found.coefficients).all()
    assert found.coefficients[0, 1] < -1
    low, high = profile_interval(design, successes, trials, column=1)
    assert low < found.coefficients[0, 1] < high < 0
    kept = np.array([1.0, 1, 1, 1, 0])
    without = fit(design[None], successes * kept, trials * kept)
    shorter = fit(design[None, :4], successes[:4], trials[:4])
    assert without.coefficients == pytest.approx(shorter.coefficients, abs=1e-6)


def test_a_batch_is_its_members() -> None:
    generator = np.random.default_rng(3)
    designs = np.concatenate([np.ones((4, 6, 1)), generator.normal(size=(4, 6, 2))], axis=2)
    successes, trials = generator.integers(0, 9, 6).astype(float), np.full(6, 9.0)
    together = fit(designs, successes, trials)
    for index in range(4):
        alone = fit(designs[index : index + 1], successes, trials)
        assert together.coefficients[index] == pytest.approx(alone.coefficients[0], abs=1e-6)


def test_regressions() -> None:
    frame = paper.regressions()
    assert frame.columns.tolist() == REGRESSION_COLUMNS.names
    assert len(frame) == 2 * 3 * 5
    numbers = frame.select_dtypes("number")
    assert np.isfinite(numbers.to_numpy()).all()
    assert frame["p_value"].between(1 / 120, 1).all()
    assert (frame["odds_low"] < frame["odds_ratio"]).all()
    assert (frame["odds_ratio"] < frame["odds_high"]).all()
    assert frame.set_index("group").loc["able", "cells"].eq(28).all()
    own = frame.set_index(["group", "outcome", "factor"])["odds_ratio"]
    assert own["pooled", "validity", "keys"] < 1


# --- verdicts ------------------------------------------------------------------------------


LINE = {"a": 1.0, "b": 2.0, "c": 3.0}
#: Cases of each rule with the verdict: numbers that flip it.
CASES = [
    (lambda: by_association(Association(-0.9, 0.03, 0.017, -1.0, -0.8), sign=-1), "supported"),
    (lambda: by_association(Association(-0.9, 0.083, 0.017, -1.0, -0.8), sign=-1), "weak"),
    (lambda: by_association(Association(-0.9, 0.03, 0.017, -1.0, 0.2), sign=-1), "weak"),
    (lambda: by_association(Association(0.9, 0.03, 0.017, 0.8, 1.0), sign=-1), "contradicted"),
    (lambda: by_association(Association(*[None] * 5), sign=-1), "not identifiable"),
    (lambda: by_no_association([Association(0.1, 1, 1, -0.4, 0.4)] * 2), "supported"),
    (lambda: by_no_association([Association(0.1, 1, 1, -0.5, 0.4)]), "weak"),
    (
        lambda: by_no_association(
            [Association(0.1, 1, 1, -0.4, 0.4), Association(-0.5, 1, 1, -0.5, -0.5)]
        ),
        "contradicted",
    ),
    (lambda: by_analyses([True] * 36), "supported"),
    (lambda: by_analyses([True] * 35 + [False]), "supported"),
    (lambda: by_analyses([True] * 34 + [False] * 2), "not identifiable"),
    (lambda: by_analyses([False] * 35 + [True]), "not identifiable"),
    (lambda: by_analyses([False] * 36), "contradicted"),
    (lambda: by_count(True, ""), "supported"),
    (lambda: by_count(False, ""), "contradicted"),
    (lambda: by_difference(True, 0.05), "supported"),
    (lambda: by_difference(True, 0.051), "weak"),
    (lambda: by_difference(True, 0.01, level=LEVEL_OF_ATTEMPTS), "supported"),
    (lambda: by_difference(True, 0.011, level=LEVEL_OF_ATTEMPTS), "weak"),
    (lambda: by_difference(False, 0.001), "contradicted"),
    (lambda: by_threshold(LINE, {"a": 0, "b": 1, "c": 1}), "supported"),
    (lambda: by_threshold(LINE, {"a": 0, "b": 0.9, "c": 1}), "weak"),
    (lambda: by_threshold(LINE, {"a": 0, "b": 1, "c": 0.5}), "weak"),
    (lambda: by_threshold(LINE, {"a": 1, "b": 0, "c": 0}), "contradicted"),
    (lambda: by_threshold(LINE, {"a": 1, "b": 1, "c": 1}), "contradicted"),
    (lambda: by_one_cause("x", {"x": 9, "y": 2}, as_claimed=True, p_value=0.01), "supported"),
    (lambda: by_one_cause("x", {"x": 9, "y": 2}, as_claimed=True, p_value=0.02), "weak"),
    (
        lambda: by_one_cause("x", {"x": 9, "y": 1 / 3}, as_claimed=True, p_value=0.01),
        "not identifiable",
    ),
    (lambda: by_one_cause("x", {"x": 9, "y": 2}, as_claimed=False, p_value=0.01), "contradicted"),
]


@pytest.mark.parametrize("ruled, verdict", CASES)
def test_a_verdict_flips_with_its_numbers(ruled: Callable[[], Ruled], verdict: str) -> None:
    assert ruled().verdict == verdict


def test_no_rule_has_its_verdict_built_in() -> None:
    reached: dict[str, set[str]] = {}
    for ruled, _ in CASES:
        reached.setdefault(ruled().rule, set()).add(ruled().verdict)
    assert set(reached) == set(RULES)
    assert all({"supported", "contradicted"} <= verdicts for verdicts in reached.values())


def test_no_factor_is_always_the_strongest() -> None:
    wins = strongest_factors(facts_of())
    assert sum(wins.values()) >= ANALYSES == 36
    assert 0 < max(wins.values()) < ANALYSES


def test_claims() -> None:
    frame = paper.claims()
    assert frame.columns.tolist() == CLAIM_COLUMNS.names
    assert frame["id"].is_unique
    assert set(frame["verdict"]) == set(VERDICTS)
    assert frame.drop(columns="p_value").notna().all(axis=None)
    own = frame.set_index("id")["verdict"]
    assert own[["breadth-dominant", "volume-dominant"]].eq("not identifiable").all()
    assert own["gpt-5-elsewhere"] == "contradicted"
    assert own["page-limit-blocks-claude"] == "supported"
    assert own["depth-weak"] == "weak"
    assert own[["flash-over-pro", "profiles-differ", "sports-most-valid"]].eq("supported").all()
    assert own[["gpt-5-fewest-valid", "research-most-varied"]].eq("contradicted").all()
    assert set(frame["rule"]) == set(RULES) == set(frame.attrs["rules"])


def test_the_page_limit_is_counted_for_both_models_that_have_it() -> None:
    row = paper.claims().set_index("id").loc["page-limit-blocks-claude"]
    assert "Claude 0 of 20, others 40 of 40" in row["evidence"]
    assert "Claude Sonnet 4.5 10, Claude Opus 4.5 10" in row["evidence"]
