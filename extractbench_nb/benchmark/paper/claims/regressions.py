"""One logistic regression a factor: the odds of a valid output or a passed field."""

from __future__ import annotations

from functools import cache
from itertools import permutations
from typing import Any

import numpy as np
import pandas as pd

from extractbench_nb._frames import Column, FrameSpec
from extractbench_nb.benchmark.paper.claims.design import (
    FACTORS,
    OUTCOMES,
    Numbers,
    factor_values,
    outcome_counts,
)
from extractbench_nb.benchmark.paper.claims.firth import fit, profile_interval
from extractbench_nb.benchmark.paper.counts import tally
from extractbench_nb.benchmark.paper.facts import facts_of
from extractbench_nb.benchmark.paper.names import CLAUDE, DOMAINS, MODELS

__all__ = ["REGRESSION_COLUMNS", "regressions"]

REGRESSION_COLUMNS = FrameSpec(
    "regressions",
    "one row a group of attempts, outcome and factor",
    (
        Column("group", "string", "pooled, or able: without Claude on credit agreements"),
        Column("outcome", "string", "validity, pass_rate or scored_pass_rate"),
        Column("factor", "string", "keys, tokens, pages, depth or array_items"),
        Column("cells", "int64", "model x domain counts that were fitted", "28 or 30"),
        Column("domains", "int64", "clusters: a factor has one value a domain", "5"),
        Column("coefficient", "float64", "log odds when the factor doubles"),
        Column("error", "float64", "standard error, cells taken as independent", "0 and up"),
        Column("odds_ratio", "float64", "odds when the factor doubles", "0 and up"),
        Column("odds_low", "float64", "lower end of 95%, cells taken as independent"),
        Column("odds_high", "float64", "upper end of 95%, cells taken as independent"),
        Column("without_one_low", "float64", "least odds ratio with one domain left out"),
        Column("without_one_high", "float64", "largest odds ratio with one domain left out"),
        Column("gain", "float64", "penalised log-likelihood above a model without the factor"),
        Column("p_value", "float64", "share of all 120 assignments to domains with such a gain"),
    ),
)

_NOISE = 1e-7


def regressions() -> pd.DataFrame:
    """Fit a logistic model a factor to the published counts.

    Each cell is a model on a domain; each model has its own intercept, the factor enters as its
    logarithm to base 2, so that an odds ratio is for a factor twice as large. Firth's penalty
    keeps estimates finite (no 10-K/Q output is valid). ``odds_low`` and ``odds_high`` take cells as
    independent and are far too narrow, since a factor has five values: read ``without_one_low``
    and ``without_one_high``, and ``p_value``, which permutes the factor over whole domains. Models
    with several factors are not fitted: five domains leave nothing to tell them apart.

    Returns
    -------
    pandas.DataFrame
        One row a group, outcome and factor: group, outcome, factor, cells, domains, coefficient,
        error, odds_ratio, odds_low, odds_high, without_one_low, without_one_high, gain, p_value.
    """
    return REGRESSION_COLUMNS.build(
        dict(zip(REGRESSION_COLUMNS.names, zip(*_rows(), strict=True), strict=True))
    )


@cache
def _rows() -> tuple[tuple[Any, ...], ...]:
    return tuple(
        (group, outcome, factor, *_fitted(group, outcome, factor))
        for group in ("pooled", "able")
        for outcome in OUTCOMES
        for factor in FACTORS
    )


def _counted(group: str, outcome: str) -> tuple[Numbers, Numbers]:
    """Return successes and trials by model and domain, flattened; 0 trials where left out."""
    scored = facts_of().scored
    cells = [
        outcome_counts(outcome, tally(models=(m,), domains=(d,)), scored[d])
        if group == "pooled" or not (d == "credit" and m in CLAUDE)
        else (0, 0)
        for m in MODELS
        for d in DOMAINS
    ]
    counts = np.array(cells, dtype=float)
    return counts[:, 0], counts[:, 1]


def _design(values: Numbers) -> Numbers:
    """Return an intercept a model and the factor, which is one value a domain."""
    logs = np.log2(values)
    intercepts = np.repeat(np.eye(len(MODELS)), len(DOMAINS), axis=0)
    return np.column_stack([intercepts, np.tile(logs - logs.mean(), len(MODELS))])


def _fitted(group: str, outcome: str, factor: str) -> tuple[Any, ...]:
    values = factor_values(factor)
    successes, trials = _counted(group, outcome)
    design = _design(values)
    gain, orders = _gain(values, successes, trials)
    own = fit(design[None], successes, trials)
    low, high = profile_interval(design, successes, trials, column=-1 % design.shape[1])
    without = _without_one(design, successes, trials)
    slope = float(own.coefficients[0, -1])
    return (
        int((trials > 0).sum()),
        len(DOMAINS),
        slope,
        float(own.errors[0, -1]),
        *(float(np.exp(x)) for x in (slope, low, high, without.min(), without.max())),
        gain,
        float((orders >= gain - _NOISE).mean()),
    )


def _without_one(design: Numbers, successes: Numbers, trials: Numbers) -> Numbers:
    """Return the factor's coefficient with each domain left out in turn."""
    keep = np.tile(1 - np.eye(len(DOMAINS)), len(MODELS))
    batch = np.broadcast_to(design, (len(DOMAINS), *design.shape))
    found: Numbers = fit(batch, successes * keep, trials * keep).coefficients[:, -1]
    return found


def _gain(values: Numbers, successes: Numbers, trials: Numbers) -> tuple[float, Numbers]:
    """Return what the factor adds, as it is and in every order of the domains."""
    orders = np.array(list(permutations(range(len(values)))))
    designs = np.stack([_design(values[order]) for order in orders])
    free = np.arange(designs.shape[-1]) != designs.shape[-1] - 1
    full = fit(designs, successes, trials).penalised
    none = fit(designs, successes, trials, free=free).penalised
    return float(full[0] - none[0]), full - none
