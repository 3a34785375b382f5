import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from scipy import stats

from extractbench_nb import paper
from extractbench_nb.paper.claim_tests import (
    ANALYSES,
    CLAIM_COLUMNS,
    VERDICTS,
    of_association,
    of_p_value,
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


@pytest.mark.parametrize(
    "found, verdict",
    [
        (Association(-0.9, 0.03, 0.017, -1.0, -0.8), "supported"),
        (Association(-0.9, 0.083, 0.017, -1.0, -0.8), "weak"),
        (Association(-0.9, 0.03, 0.017, -1.0, 0.2), "weak"),
        (Association(0.9, 0.03, 0.017, 0.8, 1.0), "contradicted"),
        (Association(None, None, None, None, None), "not identifiable"),
    ],
)
def test_verdict_on_an_association(found: Association, verdict: str) -> None:
    assert of_association(found, sign=-1)[0] == verdict


@pytest.mark.parametrize(
    "p_value, verdict", [(0.001, "supported"), (0.05, "supported"), (0.06, "weak")]
)
def test_verdict_on_a_p_value(p_value: float, verdict: str) -> None:
    assert of_p_value(p_value) == verdict


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


def test_the_page_limit_is_counted_for_both_models_that_have_it() -> None:
    row = paper.claims().set_index("id").loc["page-limit-blocks-claude"]
    assert "Claude 0 of 20, others 40 of 40" in row["evidence"]
    assert "Claude Sonnet 4.5 10, Claude Opus 4.5 10" in row["evidence"]
