"""Logistic regressions and correlations: factors against valid outputs and passed fields."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cache
from itertools import permutations, product
from typing import Any, NamedTuple, TypeAlias

import numpy as np
import numpy.typing as npt
import pandas as pd

from extractbench_nb._frames import Column, FrameSpec
from extractbench_nb.paper.cells import CLAUDE, DOMAINS, MODELS, value_of
from extractbench_nb.paper.facts import GROUPS, Facts, Tally, attempts, facts_of

Numbers: TypeAlias = npt.NDArray[np.float64]

#: Columns of Table 6 that the paper relates to failures.
FACTORS = ("keys", "tokens", "pages", "depth", "array_items")

#: Shares by domain: valid documents; passed fields of documents x keys; passed of scored fields.
OUTCOMES = ("validity", "pass_rate", "scored_pass_rate")


def factor_values(factor: str) -> Numbers:
    """Return a factor by domain, as Table 6 prints it."""
    return np.array([value_of(6, domain, factor) for domain in DOMAINS])


def outcome_values(outcome: str, group: str, facts: Facts) -> Numbers:
    """Return an outcome by domain, from 0 to 1."""
    parts = [outcome_counts(outcome, attempts(group, d), facts.scored[d]) for d in DOMAINS]
    return np.array([successes / trials for successes, trials in parts])


def outcome_counts(outcome: str, counted: Tally, scored: int) -> tuple[int, int]:
    """Return successes and trials of an outcome."""
    if outcome == "validity":
        return counted.valid, counted.documents
    if outcome == "pass_rate":
        return counted.passed, counted.fields
    return counted.passed, counted.documents * scored


_ROUNDS = 60
_LONGEST_STEP = 2.0
_CLOSE = 1e-8

#: Half of the 95% point of chi-squared with one degree of freedom.
_HALF_CHI2_95 = 1.920729


class Fit(NamedTuple):
    """Estimates of a batch of designs."""

    #: Log-odds, of shape (batch, k).
    coefficients: Numbers
    #: Standard errors from the information matrix, for independent rows, of shape (batch, k).
    errors: Numbers
    #: Log-likelihood plus half the log determinant of the information, of shape (batch,).
    penalised: Numbers


def fit(
    design: Numbers,
    successes: Numbers,
    trials: Numbers,
    *,
    start: Numbers | None = None,
    free: npt.NDArray[np.bool_] | None = None,
) -> Fit:
    """Fit binomial logistic regressions with Firth's penalty.

    References
    ----------
    D. Firth, Bias reduction of maximum likelihood estimates, Biometrika 80 (1993).
    G. Heinze and M. Schemper, A solution to the problem of separation in logistic regression,
    Statistics in Medicine 21 (2002).

    Examples
    --------
    One group of 3 successes in 10, and the penalty's half success and half failure:

    >>> found = fit(np.ones((1, 1, 1)), np.array([3.0]), np.array([10.0]))
    >>> round(float(1 / (1 + np.exp(-found.coefficients[0, 0]))), 4) == round(3.5 / 11, 4)
    True
    """
    size = design.shape[-1]
    beta = np.zeros((len(design), size)) if start is None else start.copy()
    moving = np.ones(size, dtype=bool) if free is None else free
    for _ in range(_ROUNDS):
        score, information = _score(design, beta, successes, trials)
        step = np.zeros_like(beta)
        inner = information[:, moving][:, :, moving]
        step[:, moving] = np.linalg.solve(inner, score[:, moving, None])[..., 0]
        beta += np.clip(step, -_LONGEST_STEP, _LONGEST_STEP)
        if np.abs(step).max() < _CLOSE:
            break
    _, information = _score(design, beta, successes, trials)
    errors = np.sqrt(np.diagonal(np.linalg.inv(information), axis1=-2, axis2=-1))
    eta = np.einsum("bnk,bk->bn", design, beta)
    likelihood = (successes * eta - trials * np.logaddexp(0, eta)).sum(axis=-1)
    return Fit(beta, errors, likelihood + np.linalg.slogdet(information)[1] / 2)


def _score(
    design: Numbers, beta: Numbers, successes: Numbers, trials: Numbers
) -> tuple[Numbers, Numbers]:
    """Return Firth's score and the information matrix."""
    chance = 1 / (1 + np.exp(-np.einsum("bnk,bk->bn", design, beta)))
    weights = trials * chance * (1 - chance)
    information = np.einsum("bnk,bn,bnl->bkl", design, weights, design)
    inverse = np.linalg.inv(information)
    leverage = weights * np.einsum("bnk,bkl,bnl->bn", design, inverse, design)
    residual = successes - trials * chance + leverage * (0.5 - chance)
    return np.einsum("bnk,bn->bk", design, residual), information


def profile_interval(
    design: Numbers, successes: Numbers, trials: Numbers, *, column: int
) -> tuple[float, float]:
    """Return the 95% interval of a coefficient from the profile of the penalised likelihood."""
    best = fit(design[None], successes, trials)
    centre, error = best.coefficients[0, column], best.errors[0, column]
    limit = best.penalised[0] - _HALF_CHI2_95
    inside, outside = np.full(2, centre), centre + np.array([-1.0, 1.0]) * 12 * max(error, 0.05)
    free = np.arange(design.shape[-1]) != column
    both = np.broadcast_to(design, (2, *design.shape))
    for _ in range(30):
        middle = (inside + outside) / 2
        start = np.repeat(best.coefficients, 2, axis=0)
        start[:, column] = middle
        is_in = fit(both, successes, trials, start=start, free=free).penalised >= limit
        inside, outside = np.where(is_in, middle, inside), np.where(is_in, outside, middle)
    return float(inside[0]), float(inside[1])


CORRELATION_COLUMNS = FrameSpec(
    "correlations",
    "one row per group of models, outcome, factor and measure",
    (
        Column("group", "string", "models added up: pooled, able, GPT, Claude, or one model"),
        Column("outcome", "string", "validity, pass_rate or scored_pass_rate, by domain"),
        Column("factor", "string", "keys, tokens, pages, depth or array_items, by domain"),
        Column("measure", "string", "spearman or kendall (tau-b)"),
        Column("domains", "int64", "number of domains", "5"),
        Column("correlation", "Float64", "missing where the outcome is constant", "-1 to 1", True),
        Column("p_value", "Float64", "share of all 120 orders at least as extreme", "0 to 1", True),
        Column("p_smallest", "Float64", "smallest p-value that the ties allow", "0 to 1", True),
        Column("without_one_low", "Float64", "lowest with one domain left out", "-1 to 1", True),
        Column("without_one_high", "Float64", "highest with one domain left out", "-1 to 1", True),
    ),
)

#: Two results of floating-point arithmetic that are the same correlation.
_NOISE = 1e-9


def _orders(values: Numbers) -> Numbers:
    """Compare each pair of values along the last axis: -1, 0 or 1."""
    signs: Numbers = np.sign(values[..., :, None] - values[..., None, :])
    return signs


def spearman(one: Numbers, two: Numbers) -> Numbers:
    """Return Spearman's rank correlation along the last axis.

    Examples
    --------
    >>> float(spearman(np.array([1.0, 2, 3]), np.array([5.0, 9, 7])))
    0.5
    """
    # the sum over a value's pairs is twice the distance of its rank from the mean rank
    return _cosine(_orders(one).sum(-1), _orders(two).sum(-1), axes=(-1,))


def kendall(one: Numbers, two: Numbers) -> Numbers:
    """Return Kendall's tau-b along the last axis.

    Examples
    --------
    >>> round(float(kendall(np.array([1.0, 2, 3]), np.array([5.0, 9, 7]))), 3)
    0.333
    """
    return _cosine(_orders(one), _orders(two), axes=(-2, -1))


def _cosine(one: Numbers, two: Numbers, *, axes: tuple[int, ...]) -> Numbers:
    scale = np.sqrt((one**2).sum(axis=axes) * (two**2).sum(axis=axes))
    with np.errstate(invalid="ignore", divide="ignore"):
        found: Numbers = (one * two).sum(axis=axes) / scale
    return found


_MEASURES: Mapping[str, Callable[[Numbers, Numbers], Numbers]] = {
    "spearman": spearman,
    "kendall": kendall,
}


class Association(NamedTuple):
    """A correlation, its exact p-values, and its range with one domain left out."""

    correlation: float | None
    p_value: float | None
    p_smallest: float | None
    without_one_low: float | None
    without_one_high: float | None

    @property
    def size(self) -> float:
        """The absolute correlation; 0 where the outcome is constant."""
        return abs(self.correlation or 0.0)

    @property
    def steady(self) -> bool:
        """Whether the sign stays the same whichever domain is left out."""
        low, high = self.without_one_low, self.without_one_high
        return low is not None and high is not None and low * high > 0


def associate(factor: Numbers, outcome: Numbers, *, measure: str = "spearman") -> Association:
    """Correlate a factor with an outcome and permute the outcome over the domains.

    Examples
    --------
    >>> found = associate(np.arange(5.0), np.array([0.9, 0.7, 0.6, 0.4, 0.0]))
    >>> round(found.correlation, 2), round(found.p_value, 4) == round(2 / 120, 4)
    (-1.0, True)
    """
    correlate = _MEASURES[measure]
    correlation = float(correlate(factor, outcome))
    if np.isnan(correlation):
        return Association(None, None, None, None, None)
    orders = np.array(list(permutations(range(len(outcome)))))
    sizes = np.abs(correlate(factor, outcome[orders]))
    subsets = [np.delete(np.arange(len(outcome)), left_out) for left_out in range(len(outcome))]
    without = np.array([float(correlate(factor[k], outcome[k])) for k in subsets])
    without = without[~np.isnan(without)]
    return Association(
        correlation,
        float((sizes >= abs(correlation) - _NOISE).mean()),
        float((sizes >= sizes.max() - _NOISE).mean()),
        float(without.min()) if len(without) else None,
        float(without.max()) if len(without) else None,
    )


Key = tuple[str, str, str, str]


def associations(facts: Facts) -> dict[Key, Association]:
    """Return all associations by group, outcome, factor and measure."""
    return {
        (group, outcome, factor, measure): associate(factor_values(factor), values, measure=measure)
        for group, outcome in product(GROUPS, OUTCOMES)
        for values in [outcome_values(outcome, group, facts)]
        for factor, measure in product(FACTORS, _MEASURES)
    }


def correlations() -> pd.DataFrame:
    """Correlate the paper's factors with its outcomes over the five domains.

    The factors are those of Table 6; the outcomes follow from the counts of Tables 9 to 13. The
    p-values are exact: all 120 orders of five domains are enumerated, so none can be smaller than
    2/120, or than 0.083 after Holm's correction for five factors.

    Returns
    -------
    pandas.DataFrame
        One row per group of models, outcome, factor and measure (``spearman``, ``kendall``): group,
        outcome, factor, measure, domains, correlation (-1 to 1), p_value, p_smallest (the smallest
        that is possible), and without_one_low and without_one_high, the range of the correlation
        with any one domain left out.

    Examples
    --------
    >>> frame = correlations().set_index(["group", "outcome", "factor", "measure"])
    >>> frame.loc[("pooled", "validity", "keys", "spearman"), "correlation"].round(2).item()
    -0.9
    """
    found = associations(facts_of()).items()
    return CORRELATION_COLUMNS.from_rows((*key, len(DOMAINS), *cells) for key, cells in found)


REGRESSION_COLUMNS = FrameSpec(
    "regressions",
    "one row per group of attempts, outcome and factor",
    (
        Column("group", "string", "pooled, or able: without Claude on credit agreements"),
        Column("outcome", "string", "validity, pass_rate or scored_pass_rate"),
        Column("factor", "string", "keys, tokens, pages, depth or array_items"),
        Column("cells", "int64", "model x domain counts that were fitted", "28 or 30"),
        Column("domains", "int64", "clusters: a factor has one value per domain", "5"),
        Column("coefficient", "float64", "log odds when the factor doubles"),
        Column("error", "float64", "standard error, cells treated as independent", "0 and up"),
        Column("odds_ratio", "float64", "odds when the factor doubles", "0 and up"),
        Column("odds_low", "float64", "lower end of 95%, cells treated as independent"),
        Column("odds_high", "float64", "upper end of 95%, cells treated as independent"),
        Column("without_one_low", "float64", "lowest odds ratio with one domain left out"),
        Column("without_one_high", "float64", "highest odds ratio with one domain left out"),
        Column("gain", "float64", "penalised log-likelihood above a model without the factor"),
        Column(
            "p_value", "float64", "share of all 120 assignments to domains with at least this gain"
        ),
    ),
)

_ROUNDING = 1e-7


def regressions() -> pd.DataFrame:
    """Fit one logistic model per factor to the published counts.

    A cell is a model on a domain. Each model has its own intercept; the factor enters as its
    logarithm to base 2, so that an odds ratio is for a factor twice as large. Firth's penalty
    keeps estimates finite (no 10-K/Q output is valid). ``odds_low`` and ``odds_high``, the 95 %
    interval of ``odds_ratio``, treat cells as independent and are far too narrow, since a factor
    has five values. Use ``without_one_low`` and ``without_one_high``, the range of the odds ratio
    with any one domain left out, and ``p_value``, which permutes the factor over whole domains.
    Models with several factors are not fitted: five domains cannot separate their effects.

    Returns
    -------
    pandas.DataFrame
        One row per group, outcome and factor: group, outcome, factor, cells, domains, coefficient,
        error, odds_ratio, odds_low, odds_high, without_one_low, without_one_high, gain, p_value.

    Examples
    --------
    >>> frame = regressions().set_index(["group", "outcome", "factor"])
    >>> frame.loc[("pooled", "validity", "keys"), ["odds_ratio", "p_value"]].round(3).tolist()
    [0.393, 0.058]
    """
    keys = product(("pooled", "able"), OUTCOMES, FACTORS)
    return REGRESSION_COLUMNS.from_rows((*key, *_fitted(*key)) for key in keys)


def _design(values: Numbers) -> Numbers:
    """Return one intercept per model, and the factor, which has one value per domain."""
    logs = np.log2(values)
    intercepts = np.repeat(np.eye(len(MODELS)), len(DOMAINS), axis=0)
    return np.column_stack([intercepts, np.tile(logs - logs.mean(), len(MODELS))])


@cache
def _fitted(group: str, outcome: str, factor: str) -> tuple[Any, ...]:
    """Return the cells of a row of `regressions` that are computed."""
    values = factor_values(factor)
    scored = facts_of().scored
    cells = [
        outcome_counts(outcome, attempts(model, domain), scored[domain])
        if group == "pooled" or not (domain == "credit" and model in CLAUDE)
        else (0, 0)
        for model in MODELS
        for domain in DOMAINS
    ]
    successes, trials = np.array(cells, dtype=float).T
    design = _design(values)
    fitted = fit(design[None], successes, trials)
    slope = float(fitted.coefficients[0, -1])
    low, high = profile_interval(design, successes, trials, column=-1 % design.shape[1])

    # each domain is left out in turn: a cell without trials has no influence on the fit
    weights = np.tile(1 - np.eye(len(DOMAINS)), len(MODELS))
    batch = np.broadcast_to(design, (len(DOMAINS), *design.shape))
    without = fit(batch, successes * weights, trials * weights).coefficients[:, -1]

    # what the factor adds to the intercepts, as it is and in every order of the domains
    designs = np.stack([_design(np.array(order)) for order in permutations(values)])
    free = np.arange(designs.shape[-1]) != designs.shape[-1] - 1
    gains = (
        fit(designs, successes, trials).penalised
        - fit(designs, successes, trials, free=free).penalised
    )
    return (
        int((trials > 0).sum()),
        len(DOMAINS),
        slope,
        float(fitted.errors[0, -1]),
        *(float(np.exp(x)) for x in (slope, low, high, without.min(), without.max())),
        float(gains[0]),
        float((gains >= gains[0] - _ROUNDING).mean()),
    )
