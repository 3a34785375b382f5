"""Rank correlations over five domains, with exact permutation p-values."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from itertools import permutations
from types import MappingProxyType
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from extractbench_nb._frames import Column, FrameSpec
from extractbench_nb.benchmark.paper.claims.design import (
    FACTORS,
    GROUPS,
    OUTCOMES,
    Numbers,
    factor_values,
    outcome_values,
)
from extractbench_nb.benchmark.paper.facts import Facts, facts_of
from extractbench_nb.benchmark.paper.names import DOMAINS

__all__ = [
    "CORRELATION_COLUMNS",
    "Association",
    "associate",
    "associations",
    "correlations",
    "kendall",
    "spearman",
]

CORRELATION_COLUMNS = FrameSpec(
    "correlations",
    "one row a group of models, outcome, factor and measure",
    (
        Column("group", "string", "models added up: pooled, able, GPT, Claude, or one model"),
        Column("outcome", "string", "validity, pass_rate or scored_pass_rate, by domain"),
        Column("factor", "string", "keys, tokens, pages, depth or array_items, by domain"),
        Column("measure", "string", "spearman or kendall (tau-b)"),
        Column("domains", "int64", "number of domains", "5"),
        Column("correlation", "Float64", "missing where the outcome is constant", "-1 to 1", True),
        Column("p_value", "Float64", "share of all 120 orders at least as extreme", "0 to 1", True),
        Column("p_smallest", "Float64", "the least that these ties allow", "0 to 1", True),
        Column("without_one_low", "Float64", "least with one domain left out", "-1 to 1", True),
        Column("without_one_high", "Float64", "most with one domain left out", "-1 to 1", True),
    ),
)

#: Two results of floating-point arithmetic that are the same correlation.
_NOISE = 1e-9


def _ranks(values: Numbers) -> Numbers:
    """Rank along the last axis, ties at their mean."""
    below = (values[..., None, :] < values[..., :, None]).sum(-1)
    equal = (values[..., None, :] == values[..., :, None]).sum(-1)
    ranks: Numbers = below + (equal + 1) / 2
    return ranks


def spearman(one: Numbers, two: Numbers) -> Numbers:
    """Return Spearman's rank correlation along the last axis.

    Parameters
    ----------
    one, two : ndarray of shape (..., n)
        Values; ties get their mean rank.

    Returns
    -------
    ndarray of shape (...)
        From -1 to 1; NaN where either side is constant.

    Examples
    --------
    >>> float(spearman(np.array([1.0, 2, 3]), np.array([5.0, 9, 7])))
    0.5
    """
    first, second = (_ranks(v) - (v.shape[-1] + 1) / 2 for v in (one, two))
    return _cosine(first, second, axes=(-1,))


def kendall(one: Numbers, two: Numbers) -> Numbers:
    """Return Kendall's tau-b along the last axis.

    Parameters
    ----------
    one, two : ndarray of shape (..., n)
        Values; ties as in tau-b.

    Returns
    -------
    ndarray of shape (...)
        From -1 to 1; NaN where either side is constant.

    Examples
    --------
    >>> round(float(kendall(np.array([1.0, 2, 3]), np.array([5.0, 9, 7]))), 3)
    0.333
    """
    first, second = (np.sign(v[..., :, None] - v[..., None, :]) for v in (one, two))
    return _cosine(first, second, axes=(-2, -1))


def _cosine(one: Numbers, two: Numbers, *, axes: tuple[int, ...]) -> Numbers:
    scale = np.sqrt((one**2).sum(axis=axes) * (two**2).sum(axis=axes))
    with np.errstate(invalid="ignore", divide="ignore"):
        found: Numbers = (one * two).sum(axis=axes) / scale
    return found


_MEASURES: Mapping[str, Callable[[Numbers, Numbers], Numbers]] = MappingProxyType(
    {"spearman": spearman, "kendall": kendall}
)


class Association(NamedTuple):
    """A correlation, its exact p-values, and its range with one domain left out."""

    correlation: float | None
    p_value: float | None
    p_smallest: float | None
    without_one_low: float | None
    without_one_high: float | None

    @property
    def steady(self) -> bool:
        """Whether the sign stays the same whichever domain is left out."""
        low, high = self.without_one_low, self.without_one_high
        return low is not None and high is not None and low * high > 0


def associate(factor: Numbers, outcome: Numbers, *, measure: str = "spearman") -> Association:
    """Correlate a factor with an outcome and permute the outcome over the domains.

    Parameters
    ----------
    factor, outcome : ndarray of shape (n,)
        One value a domain; n of 8 or fewer, since all n! orders are tried.
    measure : str, optional
        ``"spearman"`` or ``"kendall"``.

    Returns
    -------
    Association
        The p-value is two-sided: the share of orders with a correlation at least as large in
        absolute value. All None where either side is constant.

    Examples
    --------
    >>> found = associate(np.arange(5.0), np.array([0.9, 0.7, 0.6, 0.4, 0.0]))
    >>> round(found.correlation, 2), round(found.p_value, 4) == round(2 / 120, 4)
    (-1.0, True)
    """
    correlate = _MEASURES[measure]
    found = float(correlate(factor, outcome))
    if np.isnan(found):
        return Association(None, None, None, None, None)
    orders = np.array(list(permutations(range(len(outcome)))))
    sizes = np.abs(correlate(factor, outcome[orders]))
    kept = [np.delete(np.arange(len(outcome)), left_out) for left_out in range(len(outcome))]
    without = np.array([float(correlate(factor[k], outcome[k])) for k in kept])
    without = without[~np.isnan(without)]
    return Association(
        found,
        float((sizes >= abs(found) - _NOISE).mean()),
        float((sizes >= sizes.max() - _NOISE).mean()),
        float(without.min()) if len(without) else None,
        float(without.max()) if len(without) else None,
    )


Key = tuple[str, str, str, str]


def associations(facts: Facts) -> dict[Key, Association]:
    """Return all associations by group, outcome, factor and measure."""
    return dict(_all(facts))


def _all(facts: Facts) -> Iterator[tuple[Key, Association]]:
    for group in GROUPS:
        for outcome in OUTCOMES:
            values = outcome_values(outcome, group, facts)
            for factor in FACTORS:
                for measure in _MEASURES:
                    found = associate(factor_values(factor), values, measure=measure)
                    yield (group, outcome, factor, measure), found


def correlations() -> pd.DataFrame:
    """Correlate the paper's factors with its outcomes over the five domains.

    Factors are Table 6's, outcomes follow from the counts of Tables 9 to 13. The p-values are
    exact: all 120 orders of five domains are tried, so that none can be smaller than 2/120, and
    after Holm's correction for five factors none can be smaller than 0.083.

    Returns
    -------
    pandas.DataFrame
        One row a group of models, outcome, factor and measure: group, outcome, factor, measure,
        domains, correlation, p_value, p_smallest, without_one_low, without_one_high.

    Examples
    --------
    >>> frame = correlations().set_index(["group", "outcome", "factor", "measure"])
    >>> frame.loc[("pooled", "validity", "keys", "spearman"), "correlation"].round(2).item()
    -0.9
    """
    rows: list[tuple[Any, ...]] = [
        (*key, len(DOMAINS), *found) for key, found in associations(facts_of()).items()
    ]
    columns = zip(*rows, strict=True)
    return CORRELATION_COLUMNS.build(dict(zip(CORRELATION_COLUMNS.names, columns, strict=True)))
