"""Agreement and Cohen's kappa from counts, and their intervals over documents or rows."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from extractbench_nb.stats.bootstrap import Interval, bca_bounds, counts_drawn
from extractbench_nb.stats.drawing import Drawing, Numbers
from extractbench_nb.stats.wilson import wilson_interval

__all__ = ["Kappa", "kappa_interval", "kappas", "share_interval"]


_CATEGORIES = 2


class Kappa(NamedTuple):
    """Kappa, its interval, and what was resampled; NaN and None where they are not defined."""

    value: float
    interval: Interval
    unit: str
    units: int


def kappas(counts: Numbers) -> Numbers:
    """Return Cohen's kappa of many tables of counts.

    Parameters
    ----------
    counts : ndarray of shape (..., k, k)
        How often the first side said i and the second j.

    Returns
    -------
    ndarray of shape (...)
        (agreement - chance) / (1 - chance), from -1 to 1; NaN where both sides say one and the same
        thing throughout, or where there is nothing.

    References
    ----------
    J. Cohen, A coefficient of agreement for nominal scales, Educational and Psychological
    Measurement 20 (1960).

    Examples
    --------
    >>> kappas(np.array([[20.0, 5.0], [10.0, 15.0]])).item()
    0.4
    """
    total = counts.sum(axis=(-2, -1))
    agreed = np.trace(counts, axis1=-2, axis2=-1) * total
    chance = (counts.sum(axis=-1) * counts.sum(axis=-2)).sum(axis=-1)
    with np.errstate(invalid="ignore"):
        found: Numbers = np.where(
            total**2 > chance, (agreed - chance) / (total**2 - chance), np.nan
        )
    return np.round(found, 12)


def kappa_interval(per_document: Numbers, drawing: Drawing) -> Kappa:
    """Return kappa and its bootstrap interval.

    Parameters
    ----------
    per_document : ndarray of shape (documents, k, k)
        One table of counts a document.
    drawing : Drawing
        Confidence, resamples and seed.

    Returns
    -------
    Kappa
        Documents are resampled where there are several, since rows of one document are not
        independent; otherwise rows. BCa where every resample has a kappa, else percentiles of
        those that do. Where one side says the same of every row, kappa is 0 whatever the other one
        says, in each resample too: no interval then.
    """
    found = _interval_of(kappas, per_document, drawing)
    total = per_document.sum(axis=0)
    constant = any(np.count_nonzero(total.sum(axis=axis)) < _CATEGORIES for axis in (0, 1))
    return found._replace(interval=Interval(None, None, "undefined")) if constant else found


def share_interval(per_document: Numbers, drawing: Drawing) -> Interval:
    """Return an interval for the share of rows in which both sides say the same.

    Parameters
    ----------
    per_document : ndarray of shape (documents, k, k)
        One table of counts a document.
    drawing : Drawing
        Confidence, resamples and seed.

    Returns
    -------
    Interval
        Wilson's score interval over rows for one document, or where all rows agree or none does;
        else as that of kappa.

    References
    ----------
    E. B. Wilson, Probable inference, the law of succession, and statistical inference, Journal of
    the American Statistical Association 22 (1927).

    Examples
    --------
    >>> counts = np.array([[[9.0, 1.0], [0.0, 0.0]]])
    >>> low, high, method = share_interval(counts, Drawing(0.95, 100, 0))
    >>> round(low, 3), round(high, 3), method
    (0.596, 0.982, 'Wilson')
    """
    total = per_document.sum(axis=0)
    rows, agreed = float(total.sum()), float(np.trace(total))
    if not rows:
        return Interval(None, None, "undefined")
    if len(per_document) > 1 and 0 < agreed < rows:
        return _interval_of(_shares, per_document, drawing).interval
    return wilson_interval(agreed / rows, rows, drawing)


def _shares(counts: Numbers) -> Numbers:
    total = counts.sum(axis=(-2, -1))
    with np.errstate(invalid="ignore"):
        found: Numbers = np.trace(counts, axis1=-2, axis2=-1) / total
    return np.round(found, 12)


def _interval_of(
    statistic: Callable[[Numbers], Numbers], per_document: Numbers, drawing: Drawing
) -> Kappa:
    documents, size = len(per_document), per_document.shape[-1]
    total = per_document.sum(axis=0)
    value, rows = float(statistic(total)), int(total.sum())
    unit, units = ("documents", documents) if documents > 1 else ("rows", rows)
    if np.isnan(value) or units <= 1:
        return Kappa(value, Interval(None, None, "undefined"), unit, units)
    if documents > 1:
        flat = per_document.reshape(documents, size * size)
        drawn = np.vstack([counts @ flat for counts in counts_drawn(documents, drawing)])
        left_out, times = statistic(total - per_document), np.ones(documents)
    else:
        drawn, one_less, times = _over_rows(total, drawing)
        left_out = statistic(one_less)
    resampled = statistic(drawn.reshape(-1, size, size))
    acceleration = _acceleration(left_out, times)
    return Kappa(value, _interval(resampled, value, acceleration, drawing), unit, units)


def _over_rows(total: Numbers, drawing: Drawing) -> tuple[Numbers, Numbers, Numbers]:
    """Resample rows; equal rows fall together, so their counts are multinomial."""
    flat = total.ravel()
    rows = int(flat.sum())
    drawn = drawing.generator(rows, "bootstrap").multinomial(rows, flat / rows, drawing.resamples)
    one_less = total - np.eye(flat.size).reshape(-1, *total.shape)
    some = flat > 0
    return drawn.astype(np.float64), one_less[some], flat[some]


def _acceleration(left_out: Numbers, times: Numbers) -> float:
    """Return a sixth of the skewness of the jackknife, each value of which occurs `times`."""
    deviations = np.average(left_out, weights=times) - left_out
    spread = float((times * deviations**2).sum())
    if not spread > 0:
        return np.nan
    return float((times * deviations**3).sum() / (6 * spread**1.5))


def _interval(resampled: Numbers, value: float, acceleration: float, drawing: Drawing) -> Interval:
    defined = resampled[~np.isnan(resampled)]
    share = 1 - len(defined) / len(resampled)
    curve = acceleration if not share else np.nan
    bounds, bca = bca_bounds(defined[:, None], np.array([value]), np.array([curve]), drawing)
    method = "BCa" if bca[0] else "percentile"
    method += f", {share:.1%} of resamples undefined" if share else ""
    return Interval(float(bounds[0, 0]), float(bounds[0, 1]), method)
