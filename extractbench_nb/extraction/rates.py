"""Intervals for rates of runs: documents are what a run is a sample of, not fields.

Fields of one document stand and fall together, and an output that is not valid takes all of them
along. So the variance of a rate is that of its documents within their schemas (Taylor
linearization, as for a stratified sample), and the interval is Wilson's for as many independent
fields as would have that variance: the effective sample size, which is corrected for the few
degrees of freedom as by E. L. Korn and B. I. Graubard, "Confidence intervals for proportions with
small expected number of positive counts estimated from survey data", Survey Methodology 24 (1998).
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
import pandas as pd

from extractbench_nb.stats.bootstrap import Interval
from extractbench_nb.stats.drawing import EQUAL, Drawing, Numbers
from extractbench_nb.stats.wilson import wilson_interval

__all__ = ["rate_interval", "valid_interval"]

_UNKNOWN = Interval(None, None, "undefined")


def valid_interval(rows: pd.DataFrame, drawing: Drawing) -> Interval:
    """Return Wilson's interval for the share of valid outputs.

    Parameters
    ----------
    rows : pandas.DataFrame
        One row an attempt: document, valid.
    drawing : Drawing
        Confidence.

    Returns
    -------
    Interval
        As of so many outputs as there are documents: attempts at one document go together.
    """
    return wilson_interval(float(rows["valid"].mean()), rows["document"].nunique(), drawing)


def rate_interval(rows: pd.DataFrame, columns: tuple[str, str, str], drawing: Drawing) -> Interval:
    """Return an interval for the sum of one count over the sum of another.

    Parameters
    ----------
    rows : pandas.DataFrame
        One row an attempt: schema, document and the counts.
    columns : tuple of str
        Columns of the part, of the whole, and of the most that the part can be.
    drawing : Drawing
        Confidence.

    Returns
    -------
    Interval
        Wilson's, scaled to the most that the rate can be; see the module. Attempts at one document
        go together, and so do the documents of schemas that have a single one. A schema whose
        documents are all alike is not taken for one without spread: its own is that of Wilson's
        centre, as of so many outputs as it has documents. Where no schema has any spread, the
        interval is that of so many outputs as there are documents. None where the whole, or the
        most, adds up to 0.
    """
    strata = list(_strata(rows, columns))
    part, whole, most = np.concatenate([np.zeros((1, 3)), *strata]).sum(axis=0)
    if not whole or not most:
        return _UNKNOWN
    share, documents = min(1.0, part / most), sum(map(len, strata))
    spreads = [_spread(counts, part / whole, drawing) for counts in strata]
    size = float(documents)
    if 0 < share < 1 and any(spread.observed for spread in spreads):
        size = _effective_size(spreads, share, float(most), drawing)
    low, high, method = wilson_interval(share, size, drawing)
    ceiling = float(most / whole)
    return Interval(_scaled(low, ceiling), _scaled(high, ceiling), method)


class _Spread(NamedTuple):
    """Variance of a stratum's total, its degrees of freedom, and whether it was observed."""

    variance: float
    freedom: float
    observed: bool


def _strata(rows: pd.DataFrame, columns: tuple[str, str, str]) -> Iterator[Numbers]:
    """Yield counts of each schema's documents that have some; single documents go together."""
    sums = rows.groupby(["schema", "document"], sort=True)[list(dict.fromkeys(columns))].sum()
    sums = sums[sums[columns[1]] > 0]
    alone = sums.groupby(level="schema").transform("size").eq(1)
    for _, counts in sums[~alone].groupby(level="schema", sort=True):
        yield counts[list(columns)].to_numpy(dtype=np.float64)
    single = sums[alone]
    if len(single):
        yield single[list(columns)].to_numpy(dtype=np.float64)


def _spread(counts: Numbers, rate: float, drawing: Drawing) -> _Spread:
    documents = len(counts)
    residuals = counts[:, 0] - rate * counts[:, 1]
    squares = float(((residuals - residuals.mean()) ** 2).sum())
    if squares > EQUAL:
        return _Spread(documents / (documents - 1) * squares, documents - 1, observed=True)
    most = float(counts[:, 2].sum())
    z = drawing.quantile
    centre = (counts[:, 0].sum() / most * documents + z**2 / 2) / (documents + z**2) if most else 0
    return _Spread(most**2 * centre * (1 - centre) / (documents + z**2), documents, observed=False)


def _effective_size(spreads: list[_Spread], share: float, most: float, drawing: Drawing) -> float:
    """Return how many independent trials have the variance, less for few degrees of freedom."""
    from scipy.special import stdtrit

    variance = sum(spread.variance for spread in spreads)
    freedom = variance**2 / sum(spread.variance**2 / spread.freedom for spread in spreads)
    t = float(stdtrit(freedom, drawing.tails[1]))
    return share * (1 - share) / (variance / most**2) * (drawing.quantile / t) ** 2


def _scaled(bound: float | None, ceiling: float) -> float:
    return ceiling * (math.nan if bound is None else bound)
