"""Bootstrap and Wilson intervals, the paired sign-flip test, Holm's correction, detectable effects.

The p-values are those of ``scipy.stats.permutation_test`` with ``permutation_type="samples"``,
computed for many samples at once.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import pandas as pd

from extractbench_nb.errors import InputError

Numbers = npt.NDArray[np.float64]

#: Sums of equal values in another order differ in the last digits; these digits are kept.
DIGITS, EQUAL = 12, 1e-12

#: How many cells of a resampling matrix are in memory at once, and how many means share one pass.
_CELLS, _TOGETHER = 1 << 20, 512
_FEWEST = 100


@dataclass(frozen=True, slots=True)
class Drawing:
    """Confidence of intervals, number of resamples and sign flips, and seed of the generators."""

    confidence: float
    resamples: int
    seed: int

    def __post_init__(self) -> None:
        """Check that the values are in range."""
        is_number = isinstance(self.confidence, float | int | np.number)
        if not is_number or not 0 < self.confidence < 1:
            raise InputError(f"confidence={self.confidence!r}; it lies between 0 and 1, as 0.95")
        for name, least in (("resamples", _FEWEST), ("seed", 0)):
            value = getattr(self, name)
            is_integer = isinstance(value, int | np.integer) and not isinstance(value, bool)
            if not is_integer or value < least:
                raise InputError(f"{name}={value!r}; it is a whole number from {least} up")

    @property
    def tails(self) -> tuple[float, float]:
        """The two quantiles that enclose the confidence."""
        return (1 - self.confidence) / 2, (1 + self.confidence) / 2

    @property
    def quantile(self) -> float:
        """The standard normal quantile of the upper one, 1.96 for a confidence of 0.95."""
        from scipy.special import ndtri

        return float(ndtri(self.tails[1]))

    @property
    def alpha(self) -> float:
        """The error that is accepted, 0.05 for a confidence of 0.95."""
        return round(1 - self.confidence, DIGITS)

    @property
    def percent(self) -> str:
        """The confidence as text, ``95 %``."""
        return f"{100 * self.confidence:.4g} %"

    def generator(self, size: int, purpose: str) -> np.random.Generator:
        """Return the generator for samples of one size."""
        number = ("bootstrap", "flips", "weights").index(purpose)
        return np.random.default_rng([self.seed, size, number])


def check_share(name: str, value: Any) -> None:
    """Raise `InputError` unless an argument is a number from 0 to 1."""
    is_number = isinstance(value, int | float | np.number) and not isinstance(value, bool)
    if not is_number or not 0 <= value <= 1:
        found = f" is a {type(value).__name__}" if np.ndim(value) else f"={value!r}"
        raise InputError(f"{name}{found}; it is a share from 0 to 1, as 0.05")


def _by_size(samples: Sequence[Numbers], which: Sequence[int]) -> Iterator[list[int]]:
    """Group samples of one length in blocks whose resamples fit into memory."""
    by_size = defaultdict(list)
    for i in which:
        by_size[len(samples[i])].append(i)
    for same in by_size.values():
        yield from (same[i : i + _TOGETHER] for i in range(0, len(same), _TOGETHER))


def _chunks(total: int, size: int) -> Iterator[int]:
    """Yield numbers that add up to `total`, each small enough for a matrix of `size` columns."""
    step = max(1, _CELLS // size)
    for start in range(0, total, step):
        yield min(step, total - start)


class Interval(NamedTuple):
    """A confidence interval and how it was made; None if it is not known."""

    low: float | None
    high: float | None
    method: str


def mean_intervals(samples: Sequence[Numbers], drawing: Drawing) -> list[Interval]:
    """Return a bootstrap interval for the mean of each sample.

    B. Efron, R. J. Tibshirani, An Introduction to the Bootstrap (1993), section 14.3. For a mean
    the jackknife has a closed form: the acceleration is sum(d^3) / (6 sum(d^2)^1.5) with d the
    deviations from the mean.
    """
    intervals: dict[int, Interval] = {}
    varied = []
    for i, sample in enumerate(samples):
        if len(sample) <= 1:
            intervals[i] = Interval(None, None, "one document")
        elif np.ptp(sample) <= EQUAL * max(1.0, float(np.abs(sample).max())):
            mean = float(sample.mean())
            intervals[i] = Interval(mean, mean, "all equal")
        else:
            varied.append(i)
    for block in _by_size(samples, varied):
        values = np.stack([samples[i] for i in block])
        means, size = values.mean(axis=1), values.shape[1]
        deviations = values - means[:, None]
        scale = np.abs(deviations).max(axis=1)
        deviations /= scale[:, None]
        resampled = np.vstack([c @ deviations.T for c in counts_drawn(size, drawing)]) / size
        acceleration = (deviations**3).sum(axis=1) / (6 * (deviations**2).sum(axis=1) ** 1.5)
        bounds, defined = bca_bounds(
            np.round(resampled, DIGITS), np.zeros(len(means)), acceleration, drawing
        )
        ends = means[:, None] + scale[:, None] * bounds
        for i, (low, high), bca in zip(block, ends.tolist(), defined, strict=True):
            intervals[i] = Interval(low, high, "BCa" if bca else "percentile")
    return [intervals[i] for i in range(len(samples))]


def counts_drawn(size: int, drawing: Drawing) -> Iterator[Numbers]:
    """Yield how often each of `size` documents is in each resample, some resamples at a time."""
    generator = drawing.generator(size, "bootstrap")
    for rows in _chunks(drawing.resamples, size):
        drawn = generator.integers(0, size, (rows, size))
        drawn += np.arange(rows)[:, None] * size
        counts = np.bincount(drawn.ravel(), minlength=rows * size)
        yield counts.reshape(rows, size).astype(np.float64)


def weights_drawn(size: int, drawing: Drawing, columns: int = 1) -> Iterator[Numbers]:
    """Yield random weights of `size` documents and one more, which add up to 1, as rows.

    They are uniform on the simplex: the Bayesian bootstrap (D. B. Rubin, Annals of Statistics 9,
    1981) with one additional document, the last column. If that has the highest possible value, the
    quantiles of the weighted mean are the upper bounds of N. Gaffke (Mathematical Methods of
    Statistics 14, 2005); with the lowest possible value, the lower bounds. If each document is 0 or
    1 these are the bounds of Clopper and Pearson. For other bounded values no counterexample to
    their coverage is known, and there is no proof (E. Learned-Miller, P. S. Thomas,
    arXiv:1905.06208, 2019). `columns` is the width of what is computed per row.
    """
    generator = drawing.generator(size, "weights")
    for rows in _chunks(drawing.resamples, max(size, columns)):
        drawn = generator.standard_exponential((rows, size + 1))
        yield drawn / drawn.sum(axis=1, keepdims=True)


def bca_bounds(
    resampled: Numbers, estimates: Numbers, acceleration: Numbers, drawing: Drawing
) -> tuple[Numbers, npt.NDArray[np.bool_]]:
    """Return bias-corrected and accelerated bounds, percentiles where those are not defined."""
    from scipy.special import ndtr, ndtri

    below = (resampled < estimates).mean(axis=0) + (resampled <= estimates).mean(axis=0)
    bias = ndtri(below / 2)[:, None]
    curve = acceleration[:, None]
    with np.errstate(invalid="ignore"):
        shifted = bias + ndtri(np.array(drawing.tails))
        stretch = 1 - curve * shifted
        levels = ndtr(bias + shifted / stretch)
        defined = np.isfinite(levels).all(axis=1) & (stretch > 0).all(axis=1)
    defined &= np.isfinite(bias[:, 0])
    levels = np.where(defined[:, None], levels, drawing.tails)
    bounds = [np.quantile(column, at) for column, at in zip(resampled.T, levels, strict=True)]
    return np.array(bounds).reshape(-1, 2), defined


def resampled_interval(
    value: float, resampled: Numbers, left_out: Numbers, times: Numbers, drawing: Drawing
) -> Interval:
    """Return the interval of a statistic from its resamples, NaN where it is not defined.

    `left_out` has its values without one unit each, which stands for `times` equal units: the
    acceleration is a sixth of the skewness of this jackknife.
    """
    defined = resampled[~np.isnan(resampled)]
    undefined = 1 - len(defined) / len(resampled)
    deviations = np.average(left_out, weights=times) - left_out
    spread = float((times * deviations**2).sum())
    acceleration = np.nan
    if spread > 0 and not undefined:
        acceleration = float((times * deviations**3).sum() / (6 * spread**1.5))
    bounds, bca = bca_bounds(defined[:, None], np.array([value]), np.array([acceleration]), drawing)
    method = "BCa" if bca[0] else "percentile"
    method += f", {undefined:.1%} of resamples undefined" if undefined else ""
    low, high = map(float, bounds[0])
    return Interval(low, high, method)


def wilson_interval(share: float, rows: float, drawing: Drawing) -> Interval:
    """Return Wilson's score interval (E. B. Wilson, JASA 22, 1927).

    Examples
    --------
    >>> low, high, _ = wilson_interval(0.0, 7, Drawing(0.95, 100, 0))
    >>> low, round(high, 3)
    (0.0, 0.354)
    """
    z = drawing.quantile
    middle = share + z**2 / (2 * rows)
    half = z * math.sqrt(share * (1 - share) / rows + z**2 / (4 * rows**2))
    low, high = ((middle + side * half) / (1 + z**2 / rows) for side in (-1, 1))
    # rounding must not leave the share itself outside
    return Interval(max(0.0, min(low, share)), min(1.0, max(high, share)), "Wilson")


#: Maximum number of differing documents for which all sign flips are tried.
_EXACT = 16
_POWER = 0.8


class PValue(NamedTuple):
    """A p-value, from all sign flips (``exact``) or a sample of them."""

    p: float
    method: str


def sign_flip_tests(samples: Sequence[Numbers], drawing: Drawing) -> list[PValue]:
    """Test for each sample of paired differences whether their mean is 0.

    Under the hypothesis that the two sides could be exchanged in any document, each difference has
    either sign with equal probability. The p-value is the share of sign flips with a mean at least
    as far from 0 as the one found, which counts as one of the flips where those are a sample (B.
    Phipson, G. K. Smyth, Permutation p-values should never be zero, Statistical Applications in
    Genetics and Molecular Biology 9, 2010).
    """
    tests: dict[int, PValue] = {}
    many = []
    for i, sample in enumerate(samples):
        differing = sample[np.abs(sample) > EQUAL]
        if len(differing) > _EXACT:
            many.append(i)
            continue
        signs = _all_signs(len(differing))
        far = _as_far(differing[:, None], [signs])[0] if len(differing) else 1
        tests[i] = PValue(float(far / len(signs)), "exact")
    for block in _by_size(samples, many):
        size = len(samples[block[0]])
        differences = np.stack([samples[i] for i in block], axis=1)
        generator = drawing.generator(size, "flips")
        drawn = (
            generator.integers(0, 2, (rows, size), dtype=np.int8).astype(np.float64)
            for rows in _chunks(drawing.resamples, size)
        )
        flips = (2.0 * signs - 1.0 for signs in drawn)
        for i, far in zip(block, _as_far(differences, flips), strict=True):
            tests[i] = PValue(float((1 + far) / (1 + drawing.resamples)), "sampled")
    return [tests[i] for i in range(len(samples))]


@lru_cache(maxsize=_EXACT)
def _all_signs(size: int) -> Numbers:
    """Return all sign flips with the first sign fixed: the others only negate the same sums."""
    numbers = np.arange(1 << max(0, size - 1))[:, None] << 1
    flipped: Numbers = ((numbers >> np.arange(size)) & 1).astype(np.float64)
    return 1.0 - 2.0 * flipped


def _as_far(differences: Numbers, flips: Iterable[Numbers]) -> npt.NDArray[np.int64]:
    """Count for each column the sign flips with a mean at least as far from 0 as the observed."""
    scaled = differences / np.abs(differences).max(axis=0)
    mean = np.abs(np.round(scaled.mean(axis=0), DIGITS))
    far = np.zeros(scaled.shape[1], dtype=np.int64)
    for signs in flips:
        far += (np.abs(np.round(signs @ scaled / len(scaled), DIGITS)) >= mean).sum(axis=0)
    return far


def holm(p_values: npt.ArrayLike) -> Numbers:
    """Adjust p-values by S. Holm's sequentially rejective procedure (Scand. J. Stat. 6, 1979)."""
    values = np.asarray(p_values, dtype=np.float64)
    adjusted = np.full(len(values), np.nan)
    order = np.argsort(values, kind="stable")[: np.count_nonzero(~np.isnan(values))]
    factors = len(order) - np.arange(len(order))
    adjusted[order] = np.minimum(1.0, np.maximum.accumulate(values[order] * factors))
    return adjusted


def detectable_difference(differences: Numbers, drawing: Drawing) -> float | None:
    """Return the minimum detectable mean difference; None if the differences do not vary.

    H. S. Bloom, Minimum detectable effects, Evaluation Review 19 (1995).
    """
    from scipy.stats import t

    size = len(differences)
    if size <= 1 or np.ptp(differences) <= EQUAL:
        return None
    quantiles: Any = t.ppf([1 - drawing.alpha / 2, _POWER], size - 1)
    return float(quantiles.sum() * differences.std(ddof=1) / np.sqrt(size))


def number(value: Any, digits: int = 3, *, sign: bool = False) -> str:
    """Write a number, ``n/a`` where it is missing."""
    # 0.0 is added because of -0.0
    return "n/a" if pd.isna(value) else f"{value + 0.0:{'+' if sign else ''}.{digits}f}"


def with_range(value: Any, low: Any, high: Any, digits: int = 3, *, sign: bool = False) -> str:
    """Write a number with its interval, ``0.812 [0.790, 0.833]``."""
    ends = ", ".join(number(end, digits, sign=sign) for end in (low, high))
    ends = "n/a" if pd.isna(low) else ends
    return f"{number(value, digits, sign=sign)} [{ends}]"
