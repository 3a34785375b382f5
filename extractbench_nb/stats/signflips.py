"""The paired sign-flip test, Holm's correction, and what so many documents could show.

The p-values are those of ``scipy.stats.permutation_test`` with ``permutation_type="samples"``,
for many samples at once.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from extractbench_nb.stats.drawing import DIGITS, EQUAL, Drawing, Numbers, by_size, chunks

__all__ = ["PValue", "detectable_difference", "holm", "sign_flip_tests"]

#: Up to so many documents that differ, all sign flips are looked at.
_EXACT = 16
_POWER = 0.8


class PValue(NamedTuple):
    """A p-value, and whether all sign flips were looked at (``exact``) or a sample of them."""

    p: float
    method: str


def sign_flip_tests(samples: Sequence[Numbers], drawing: Drawing) -> list[PValue]:
    """Test for each sample of paired differences whether their mean is 0.

    Under the hypothesis that the two sides could be exchanged in any document, each difference has
    either sign with equal probability. The p-value is the share of sign flips with a mean at least
    as far from 0 as the one found.

    Parameters
    ----------
    samples : sequence of ndarray of shape (n,)
        One difference a document.
    drawing : Drawing
        Resamples and seed.

    Returns
    -------
    list of PValue
        Two-sided, ``exact`` where at most 16 differences are not 0. Otherwise ``sampled``: the
        flips drawn and the one found, (1 + as far) / (1 + resamples), which is never 0.

    References
    ----------
    B. Phipson, G. K. Smyth, Permutation p-values should never be zero, Statistical Applications in
    Genetics and Molecular Biology 9 (2010).
    """
    found: dict[int, PValue] = {}
    many = []
    for i, sample in enumerate(samples):
        differing = sample[np.abs(sample) > EQUAL]
        if len(differing) <= _EXACT:
            found[i] = PValue(_exact_p(differing), "exact")
        else:
            many.append(i)
    for block in by_size(samples, many):
        far = _as_far(np.stack([samples[i] for i in block], axis=1), drawing)
        for i, count in zip(block, far, strict=True):
            found[i] = PValue(float((1 + count) / (1 + drawing.resamples)), "sampled")
    return [found[i] for i in range(len(samples))]


def _exact_p(differences: Numbers) -> float:
    if not len(differences):
        return 1.0
    scaled = differences / np.abs(differences).max()
    sums = np.abs(np.round(_all_signs(len(scaled)) @ scaled, DIGITS))
    return float((sums >= sums[0]).mean())


@lru_cache(maxsize=_EXACT)
def _all_signs(size: int) -> Numbers:
    """Return all signs but for the first, which needs no flip: sums come in pairs of +x and -x."""
    numbers = np.arange(1 << (size - 1))[:, None] << 1
    flipped: Numbers = ((numbers >> np.arange(size)) & 1).astype(np.float64)
    return 1.0 - 2.0 * flipped


def _as_far(differences: Numbers, drawing: Drawing) -> npt.NDArray[np.int64]:
    """Count the drawn sign flips whose mean is as far from 0 as the one found."""
    size = len(differences)
    scaled = differences / np.abs(differences).max(axis=0)
    found = np.abs(np.round(scaled.mean(axis=0), DIGITS))
    generator = drawing.generator(size, "flips")
    count = np.zeros(scaled.shape[1], dtype=np.int64)
    for rows in chunks(drawing.resamples, size):
        signs = generator.integers(0, 2, (rows, size), dtype=np.int8) * 2.0 - 1.0
        means = np.abs(np.round(signs @ scaled / size, DIGITS))
        count += (means >= found).sum(axis=0)
    return count


def holm(p_values: npt.ArrayLike) -> Numbers:
    """Adjust p-values so that all that stay under alpha are true with probability 1 - alpha.

    Parameters
    ----------
    p_values : array_like of shape (k,)
        The p-values of one family; NaN where there was no test.

    Returns
    -------
    ndarray of shape (k,)
        Adjusted p-values in the same order, at most 1; NaN where there was no test.

    References
    ----------
    S. Holm, A simple sequentially rejective multiple test procedure, Scandinavian Journal of
    Statistics 6 (1979).

    Examples
    --------
    >>> holm([0.01, 0.04, 0.03]).tolist()
    [0.03, 0.06, 0.06]
    """
    given = np.asarray(p_values, dtype=np.float64)
    adjusted = np.full(len(given), np.nan)
    order = np.argsort(given, kind="stable")[: int((~np.isnan(given)).sum())]
    factors = len(order) - np.arange(len(order))
    adjusted[order] = np.minimum(1.0, np.maximum.accumulate(given[order] * factors))
    return adjusted


def detectable_difference(differences: Numbers, drawing: Drawing) -> float | None:
    """Return the smallest true mean difference that so many documents would show.

    Parameters
    ----------
    differences : ndarray of shape (n,)
        One paired difference a document; their spread is taken for the true one.
    drawing : Drawing
        Confidence of the two-sided test, without correction for many pairs.

    Returns
    -------
    float or None
        (t(1 - alpha / 2) + t(0.8)) * sd / sqrt(n), t with n - 1 degrees of freedom: a true
        difference of this size is found with a probability of 80 %. None for fewer than two
        documents or without any spread.

    References
    ----------
    H. S. Bloom, Minimum detectable effects, Evaluation Review 19 (1995).
    """
    from scipy.stats import t

    size = len(differences)
    if size <= 1 or np.ptp(differences) <= EQUAL:
        return None
    quantiles: Any = t.ppf([1 - drawing.alpha / 2, _POWER], size - 1)
    return float(quantiles.sum() * differences.std(ddof=1) / np.sqrt(size))
