"""Bootstrap and Wilson intervals, the paired sign-flip test, Holm's correction, detectable effects.

Bootstrap intervals are those of ``scipy.stats.bootstrap``, and p-values those of
``scipy.stats.permutation_test`` with ``permutation_type="samples"``, for many samples at once.
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

#: How many cells of a resampling matrix are in memory at once.
_CELLS = 1 << 20
_FEWEST = 100


@dataclass(frozen=True)
class Drawing:
    """Confidence of intervals, number of resamples and sign flips, and seed of the generators."""

    confidence: float
    resamples: int = 9999
    seed: int = 0

    def __post_init__(self) -> None:
        """Check that the values are in range."""
        check_share("confidence", self.confidence)
        if self.confidence in (0, 1):
            raise InputError(f"confidence={self.confidence!r}; it lies between 0 and 1, as 0.95")
        for name, least in (("resamples", _FEWEST), ("seed", 0)):
            value = getattr(self, name)
            is_integer = isinstance(value, int | np.integer) and not isinstance(value, bool)
            if not is_integer or value < least:
                raise InputError(f"{name}={value!r}; it is a whole number from {least} up")

    @property
    def upper(self) -> float:
        """The upper one of the two quantiles that enclose the confidence."""
        return (1 + self.confidence) / 2

    @property
    def quantile(self) -> float:
        """The standard normal quantile of the upper one, 1.96 for a confidence of 0.95."""
        from scipy.special import ndtri

        return float(ndtri(self.upper))

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
        number = ("bootstrap", "flips").index(purpose)
        return np.random.default_rng([self.seed, size, number])


def check_share(name: str, value: Any) -> None:
    """Raise `InputError` unless an argument is a number from 0 to 1."""
    is_number = isinstance(value, int | float | np.number) and not isinstance(value, bool)
    if not is_number or not 0 <= value <= 1:
        found = f" is a {type(value).__name__}" if np.ndim(value) else f"={value!r}"
        raise InputError(f"{name}{found}; it is a share from 0 to 1, as 0.05")


class Interval(NamedTuple):
    """A confidence interval and how it was made; None if it is not known."""

    low: float | None
    high: float | None
    method: str


# --- bootstrap intervals ----------------------------------------------------------------------


def mean_intervals(samples: Sequence[Numbers], drawing: Drawing) -> list[Interval]:
    """Return a bootstrap interval for the mean of each sample.

    B. Efron, R. J. Tibshirani, An Introduction to the Bootstrap (1993), section 14.3, with the
    quantiles of `bca_bounds`. For a mean the jackknife has a closed form: the acceleration is
    sum(d^3) / (6 sum(d^2)^1.5) with d the deviations from the mean.
    """
    intervals: dict[int, Interval] = {}
    varied = []
    for i, sample in enumerate(samples):
        if len(sample) <= 1:
            intervals[i] = Interval(None, None, "one document")
        elif _all_equal(sample):
            mean = float(sample.mean())
            intervals[i] = Interval(mean, mean, "all equal")
        else:
            varied.append(i)
    for block in _by_size(samples, varied, 512):
        values = np.stack([samples[i] for i in block])
        means, size = values.mean(axis=1), values.shape[1]
        deviations = values - means[:, None]
        scale = np.abs(deviations).max(axis=1)
        deviations /= scale[:, None]
        resampled = np.vstack([c @ deviations.T for c in counts_drawn(size, drawing)]) / size
        acceleration = (deviations**3).sum(axis=1) / (6 * (deviations**2).sum(axis=1) ** 1.5)
        bounds, defined = bca_bounds(
            np.round(resampled, DIGITS), np.zeros(len(means)), acceleration, drawing, size
        )
        ends = means[:, None] + scale[:, None] * bounds
        for i, (low, high), bca in zip(block, ends.tolist(), defined, strict=True):
            intervals[i] = Interval(low, high, "BCa" if bca else "percentile")
    return [intervals[i] for i in range(len(samples))]


def _all_equal(sample: Numbers) -> bool:
    return bool(np.ptp(sample) <= EQUAL * max(1.0, float(np.abs(sample).max())))


def _by_size(
    samples: Sequence[Numbers], which: Iterable[int], together: int
) -> Iterator[list[int]]:
    """Group samples of one length, so that they share resamples, in blocks that fit into memory."""
    by_size = defaultdict(list)
    for i in which:
        by_size[len(samples[i])].append(i)
    for same in by_size.values():
        yield from (same[i : i + together] for i in range(0, len(same), together))


def _chunks(total: int, size: int) -> Iterator[int]:
    """Yield numbers that add up to `total`, each small enough for a matrix of `size` columns."""
    step = max(1, _CELLS // size)
    for start in range(0, total, step):
        yield min(step, total - start)


def counts_drawn(size: int, drawing: Drawing) -> Iterator[Numbers]:
    """Yield how often each of `size` documents is in each resample, some resamples at a time."""
    generator = drawing.generator(size, "bootstrap")
    for rows in _chunks(drawing.resamples, size):
        drawn = generator.integers(0, size, (rows, size))
        drawn += np.arange(rows)[:, None] * size
        counts = np.bincount(drawn.ravel(), minlength=rows * size)
        yield counts.reshape(rows, size).astype(np.float64)


def bca_bounds(
    resampled: Numbers, estimates: Numbers, acceleration: Numbers, drawing: Drawing, units: int
) -> tuple[Numbers, npt.NDArray[np.bool_]]:
    """Return bias-corrected and accelerated bounds, percentiles where those are not defined.

    Resamples of n units vary too little by sqrt((n - 1) / n), and normal quantiles ignore that the
    spread is estimated. So the quantiles are expanded to those of Student's t with n - 1 degrees
    of freedom, times sqrt(n / (n - 1)) (T. C. Hesterberg, The American Statistician 69, 2015,
    section 5.3). With many units nothing changes.
    """
    from scipy.special import ndtr, ndtri, stdtrit

    reach = stdtrit(units - 1, drawing.upper) * math.sqrt(units / (units - 1))
    normal = np.array([-reach, reach])
    below = (resampled < estimates).mean(axis=0) + (resampled <= estimates).mean(axis=0)
    bias = ndtri(below / 2)[:, None]
    curve = acceleration[:, None]
    with np.errstate(invalid="ignore"):
        shifted = bias + normal
        stretch = 1 - curve * shifted
        levels = ndtr(bias + shifted / stretch)
        defined = np.isfinite(levels).all(axis=1) & (stretch > 0).all(axis=1)
    defined &= np.isfinite(bias[:, 0])
    levels = np.where(defined[:, None], levels, ndtr(normal))
    bounds = [np.quantile(column, at) for column, at in zip(resampled.T, levels, strict=True)]
    return np.array(bounds).reshape(-1, 2), defined


def resampled_interval(
    value: float, resampled: Numbers, left_out: Numbers, drawing: Drawing
) -> Interval:
    """Return the interval of a statistic from its resamples, NaN where it is not defined.

    `left_out` has its values without one document each: the acceleration is a sixth of the skewness
    of this jackknife.
    """
    defined = resampled[~np.isnan(resampled)]
    undefined = 1 - len(defined) / len(resampled)
    deviations = left_out.mean() - left_out
    spread = float((deviations**2).sum())
    curve = np.array([np.nan])
    if spread > 0 and not undefined:
        curve[0] = (deviations**3).sum() / (6 * spread**1.5)
    bounds, bca = bca_bounds(defined[:, None], np.array([value]), curve, drawing, len(left_out))
    method = "BCa" if bca[0] else "percentile"
    method += f", {undefined:.1%} of resamples undefined" if undefined else ""
    low, high = map(float, bounds[0])
    return Interval(low, high, method)


def wilson_interval(share: float, rows: float, drawing: Drawing) -> Interval:
    """Return Wilson's score interval (E. B. Wilson, JASA 22, 1927)."""
    z = drawing.quantile
    middle = share + z**2 / (2 * rows)
    half = z * math.sqrt(share * (1 - share) / rows + z**2 / (4 * rows**2))
    low, high = ((middle + side * half) / (1 + z**2 / rows) for side in (-1, 1))
    # rounding must not leave the share itself outside
    return Interval(max(0.0, min(low, share)), min(1.0, max(high, share)), "Wilson")


# --- paired differences -----------------------------------------------------------------------

#: Maximum number of documents, or of differing ones, for which all sign flips are tried.
_EXACT = 16
_POWER = 0.8


class PairedTest(NamedTuple):
    """P-value and interval of a mean difference, from all sign flips (``exact``) or a sample."""

    p: float
    method: str
    interval: Interval


def sign_flip_tests(samples: Sequence[Numbers], drawing: Drawing) -> list[PairedTest]:
    """Test for each sample of paired differences whether their mean is 0, and invert the test.

    Under the hypothesis that the two sides could be exchanged in any document, each difference has
    either sign with equal probability. The p-value is the share of sign flips with a mean at least
    as far from 0 as the one found, which counts as one of the flips where those are a sample (B.
    Phipson, G. K. Smyth, Permutation p-values should never be zero, Statistical Applications in
    Genetics and Molecular Biology 9, 2010).

    The interval has every m for which the differences less m are not rejected, so it contains 0 if
    and only if p is above 1 - confidence. The flip of a subset of the documents is as far from m as
    what was found if m is between the mean of the subset and the mean of the rest; so the ends are
    quantiles of means of subsets (J. A. Hartigan, JASA 64, 1969). If no p-value can be as small as
    1 - confidence, as with five documents and 0.95, there is no interval.
    """
    exact: list[int] = []
    alone: list[int] = []
    many: list[int] = []
    for i, sample in enumerate(samples):
        few_differ = np.count_nonzero(np.abs(sample) > EQUAL) <= _EXACT
        (exact if len(sample) <= _EXACT else alone if few_differ else many).append(i)
    tests: dict[int, PairedTest] = {}
    blocks = [
        *(("exact", block) for block in _by_size(samples, exact, 64)),
        *(("exact", [i]) for i in alone),
        *(("sampled", block) for block in _by_size(samples, many, 64)),
    ]
    for method, block in blocks:
        values = np.stack([samples[i] for i in block], axis=1)
        scale = np.maximum(np.abs(values).max(axis=0), np.finfo(float).tiny)
        flips = _flips_drawn(values, drawing) if len(values) > _EXACT else [_all_flips(len(values))]
        lows, highs = map(
            np.vstack, zip(*(_between(flip, values / scale) for flip in flips), strict=True)
        )
        p_values = ((lows <= 0) & (highs >= 0)).mean(axis=0)
        at = int(drawing.alpha * len(lows) + EQUAL * len(lows))
        ends = np.stack(
            [np.partition(lows, at, axis=0)[at], -np.partition(-highs, at, axis=0)[at]], axis=1
        )
        for i, p, (low, high) in zip(block, p_values.tolist(), ends * scale[:, None], strict=True):
            name = "all equal" if _all_equal(samples[i]) else "sign flips"
            interval = Interval(float(low), float(high), name)
            if not np.isfinite(low):
                is_one = len(samples[i]) == 1
                interval = Interval(None, None, "one document" if is_one else "too few documents")
            tests[i] = PairedTest(p, method, interval)
    return [tests[i] for i in range(len(samples))]


@lru_cache(maxsize=_EXACT)
def _all_flips(size: int) -> Numbers:
    """Return which documents each flip has, as rows; the first has none.

    The last document is in none: to flip a subset is to flip the rest, but for the sign.
    """
    numbers = np.arange(1 << (size - 1))[:, None]
    flips: Numbers = ((numbers >> np.arange(size)) & 1).astype(np.float64)
    return flips


def _flips_drawn(values: Numbers, drawing: Drawing) -> Iterator[Numbers]:
    """Yield flips of more documents than all can be tried for, some at a time.

    If few documents differ, all their flips are equally often among them: p-values are exact.
    """
    size = len(values)
    generator = drawing.generator(size, "flips")
    differing = np.flatnonzero((np.abs(values) > EQUAL).any(axis=1))
    total, patterns = drawing.resamples, np.zeros((1, 0))
    if len(differing) > _EXACT:
        yield np.zeros((1, size))  # what was found is one of the flips
    else:
        patterns = _all_flips(max(1, len(differing)))[:, : len(differing)]
        total = -(-total // len(patterns)) * len(patterns)
    start = 0
    for rows in _chunks(total, size):
        flips = generator.integers(0, 2, (rows, size), dtype=np.int8).astype(np.float64)
        if len(differing) <= _EXACT:
            flips[:, differing] = patterns[np.arange(start, start + rows) % len(patterns)]
        start += rows
        yield flips


def _between(flips: Numbers, values: Numbers) -> tuple[Numbers, Numbers]:
    """Return the lower and the higher of two means: of what each flip has, and of the rest."""
    inside = flips.sum(axis=1)[:, None]
    sums, outside = flips @ values, len(values) - inside
    with np.errstate(invalid="ignore", divide="ignore"):
        means = np.stack([sums / inside, (values.sum(axis=0) - sums) / outside]).round(DIGITS)
    is_whole = (inside == 0) | (outside == 0)  # it is as far from any mean as what was found
    return (
        np.where(is_whole, -np.inf, means.min(axis=0)),
        np.where(is_whole, np.inf, means.max(axis=0)),
    )


def holm(p_values: npt.ArrayLike) -> Numbers:
    """Adjust p-values by S. Holm's sequentially rejective procedure (Scand. J. Stat. 6, 1979)."""
    values = np.asarray(p_values, dtype=np.float64)
    order = np.argsort(values, kind="stable")
    adjusted = np.maximum.accumulate(values[order] * (len(values) - np.arange(len(values))))
    return np.minimum(1.0, adjusted)[np.argsort(order)]


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
