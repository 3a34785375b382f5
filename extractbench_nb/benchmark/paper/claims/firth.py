"""Logistic regression of counts with Firth's penalty, many designs at once.

With five domains and shares of 0 and 1, the plain estimates run off to infinity; the penalty
(Jeffreys' prior) keeps them finite.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from extractbench_nb.benchmark.paper.claims.design import Numbers

__all__ = ["Fit", "fit", "profile_interval"]

_ROUNDS = 60
_LONGEST_STEP = 2.0
_CLOSE = 1e-8

#: Half of the 95% point of chi-squared with one degree of freedom.
_HALF_CHI2_95 = 1.920729


class Fit(NamedTuple):
    """Estimates of a batch of designs.

    Attributes
    ----------
    coefficients : ndarray of shape (batch, k)
        Log-odds.
    errors : ndarray of shape (batch, k)
        Standard errors from the information matrix: rows taken as independent.
    penalised : ndarray of shape (batch,)
        Log-likelihood plus half the log determinant of the information.
    """

    coefficients: Numbers
    errors: Numbers
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

    Parameters
    ----------
    design : ndarray of shape (batch, n, k)
        Columns of full rank, a constant among them.
    successes, trials : ndarray of shape (batch, n) or (n,)
        Counts; a row with no trials does not count.
    start : ndarray of shape (batch, k), optional
        First guess; zeros by default.
    free : ndarray of bool of shape (k,), optional
        Coefficients to estimate; the others stay as in `start`. All by default.

    Returns
    -------
    Fit
        Finite estimates, also where a factor separates successes from failures.

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
    return _finish(design, beta, successes, trials)


def _chances(design: Numbers, beta: Numbers) -> Numbers:
    found: Numbers = 1 / (1 + np.exp(-np.einsum("bnk,bk->bn", design, beta)))
    return found


def _score(
    design: Numbers, beta: Numbers, successes: Numbers, trials: Numbers
) -> tuple[Numbers, Numbers]:
    """Return Firth's score and the information matrix."""
    chance = _chances(design, beta)
    weights = trials * chance * (1 - chance)
    information = np.einsum("bnk,bn,bnl->bkl", design, weights, design)
    inverse = np.linalg.inv(information)
    leverage = weights * np.einsum("bnk,bkl,bnl->bn", design, inverse, design)
    residual = successes - trials * chance + leverage * (0.5 - chance)
    return np.einsum("bnk,bn->bk", design, residual), information


def _finish(design: Numbers, beta: Numbers, successes: Numbers, trials: Numbers) -> Fit:
    eta = np.einsum("bnk,bk->bn", design, beta)
    likelihood = (successes * eta - trials * np.logaddexp(0, eta)).sum(axis=-1)
    _, information = _score(design, beta, successes, trials)
    errors = np.sqrt(np.diagonal(np.linalg.inv(information), axis1=-2, axis2=-1))
    penalised = likelihood + np.linalg.slogdet(information)[1] / 2
    return Fit(beta, errors, penalised)


def profile_interval(
    design: Numbers, successes: Numbers, trials: Numbers, *, column: int
) -> tuple[float, float]:
    """Return the 95% interval of a coefficient from the profile of the penalised likelihood.

    Parameters
    ----------
    design : ndarray of shape (n, k)
        One design.
    successes, trials : ndarray of shape (n,)
        Counts.
    column : int
        Which coefficient.

    Returns
    -------
    tuple of float
        Lower and upper end, by bisection.
    """
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
        kept = fit(both, successes, trials, start=start, free=free).penalised >= limit
        inside, outside = np.where(kept, middle, inside), np.where(kept, outside, middle)
    return float(inside[0]), float(inside[1])
