"""A logistic curve through the shares of a few domains, and how far it can be trusted."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from extractbench_nb.benchmark.paper.claims.firth import fit
from extractbench_nb.plots.drawing import Numbers

__all__ = ["Curve", "fitted_curve"]

_POINTS = 81
_NORMAL_95 = 1.959964

#: Two domains can be passed through exactly; a third is what a curve could be wrong about.
_FEWEST = 3


class Curve(NamedTuple):
    """A fitted curve at some values of a factor.

    Attributes
    ----------
    at : ndarray of shape (points,)
        Values of the factor.
    share, low, high : ndarray of shape (points,)
        The curve and its 95% interval with attempts taken as independent, from 0 to 1.
    least, most : ndarray of shape (points,)
        The lowest and highest of the curves with one domain left out, from 0 to 1.
    """

    at: Numbers
    share: Numbers
    low: Numbers
    high: Numbers
    least: Numbers
    most: Numbers


def fitted_curve(factor: Numbers, successes: Numbers, trials: Numbers) -> Curve | None:
    """Fit a logistic curve over the logarithm of a factor, with Firth's penalty.

    Parameters
    ----------
    factor : ndarray of shape (n,)
        One positive value a domain.
    successes, trials : ndarray of shape (n,)
        Counts of the domains.

    Returns
    -------
    Curve or None
        None where fewer than three values differ: too few for a curve.

    Examples
    --------
    >>> values, trials = np.array([10.0, 20.0, 40.0, 80.0]), np.full(4, 10.0)
    >>> curve = fitted_curve(values, np.array([9.0, 7.0, 3.0, 1.0]), trials)
    >>> bool(curve.share[0] > 0.8), bool(curve.share[-1] < 0.2)
    (True, True)
    """
    if len(np.unique(factor)) < _FEWEST:
        return None
    logs = np.log2(factor)
    room = 0.08 * (logs.max() - logs.min())
    at = np.linspace(logs.min() - room, logs.max() + room, _POINTS)
    # centred on a point, the intercept is the curve there, and its error is the curve's
    designs = _designs(logs - at[:, None])
    found = fit(designs, successes, trials)
    middle, error = found.coefficients[:, 0], _NORMAL_95 * found.errors[:, 0]
    others = _without_one(logs, at, successes, trials)
    shares = map(_share, (middle, middle - error, middle + error, others.min(0), others.max(0)))
    return Curve(2.0**at, *shares)


def _designs(values: Numbers) -> Numbers:
    return np.stack([np.ones_like(values), values], axis=-1)


def _share(log_odds: Numbers) -> Numbers:
    found: Numbers = 1 / (1 + np.exp(-log_odds))
    return found


def _without_one(logs: Numbers, at: Numbers, successes: Numbers, trials: Numbers) -> Numbers:
    """Return the log odds with each domain left out, where the others still differ."""
    n = len(logs)
    others = [np.delete(np.arange(n), i) for i in range(n)]
    kept = [o for o in others if len(np.unique(logs[o])) > 1]
    rows = np.stack([np.isin(np.arange(n), o) for o in kept]).astype(float)
    centre = logs.mean()
    designs = np.broadcast_to(_designs(logs - centre), (len(kept), n, 2))
    found = fit(designs, successes * rows, trials * rows).coefficients
    curves: Numbers = found[:, :1] + found[:, 1:] * (at - centre)
    return curves
