"""Intervals for rates of runs: documents are what a run is a sample of."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import numpy as np
import numpy.typing as npt
import pandas as pd

from extractbench_nb.stats.bootstrap import Interval, bca_bounds, counts_drawn
from extractbench_nb.stats.cohen import wilson_interval
from extractbench_nb.stats.drawing import DIGITS, EQUAL, Drawing, Numbers

__all__ = ["rate_interval", "valid_interval"]

#: How many strata have seeds of their own for each seed of a drawing.
_STRATA = 10_007
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


def rate_interval(
    rows: pd.DataFrame, part: str, whole: str, drawing: Drawing, *, most: float = 1.0
) -> Interval:
    """Return a bootstrap interval for the sum of one count over the sum of another.

    Parameters
    ----------
    rows : pandas.DataFrame
        One row an attempt: schema, document and the counts.
    part, whole : str
        Columns, counts of 0 and up.
    drawing : Drawing
        Confidence, resamples and seed.
    most : float, optional
        The largest rate there can be, above 0.

    Returns
    -------
    Interval
        Documents are resampled within their schemas (those of schemas with a single one among each
        other), all attempts at one together; BCa, percentiles where that is not defined. Where no
        resample differs from the others, Wilson's interval of the rate over `most`, as of so many
        outputs as there are documents with some of `whole`. None where that adds up to 0.
    """
    strata = list(_strata(rows, part, whole))
    total = sum(counts.sum(axis=0) for counts in strata)
    if not np.any(total) or total[1] == 0:
        return _UNKNOWN
    drawn = sum(_drawn(counts, drawing, place) for place, counts in enumerate(strata))
    resampled = _ratios(np.asarray(drawn))
    resampled = resampled[~np.isnan(resampled)]
    value = float(total[0] / total[1])
    if not resampled.size or np.ptp(resampled) < EQUAL:
        documents = sum(int((counts[:, 1] > 0).sum()) for counts in strata)
        low, high, method = wilson_interval(min(1.0, value / most), documents, drawing)
        assert low is not None and high is not None  # noqa: S101, PT018 - Wilson's always are
        return Interval(most * low, most * high, method)
    left_out = _ratios(np.concatenate([total - counts for counts in strata]))
    curve = _skewness(left_out[~np.isnan(left_out)])
    found, bca = bca_bounds(resampled[:, None], np.array([value]), np.array([curve]), drawing)
    low, high = (float(bound) for bound in found[0])
    return Interval(low, high, "BCa" if bca[0] else "percentile")


def _strata(rows: pd.DataFrame, part: str, whole: str) -> Iterator[Numbers]:
    """Yield the counts of each schema's documents, two columns; single documents go together."""
    sums = rows.groupby(["schema", "document"], sort=True)[[part, whole]].sum()
    alone = sums.groupby(level="schema").transform("size") == 1
    for several in (sums[~alone].groupby(level="schema", sort=True), [("", sums[alone])]):
        for _, counts in several:
            if len(counts):
                yield counts.to_numpy(dtype=np.float64)


def _drawn(counts: Numbers, drawing: Drawing, place: int) -> Numbers:
    """Resample one stratum; strata of one size are not drawn alike."""
    own = replace(drawing, seed=_STRATA * drawing.seed + place)
    return np.vstack([drawn @ counts for drawn in counts_drawn(len(counts), own)])


def _ratios(sums: Numbers) -> Numbers:
    with np.errstate(invalid="ignore", divide="ignore"):
        found: Numbers = np.where(sums[:, 1] > 0, sums[:, 0] / sums[:, 1], np.nan)
    return found.round(DIGITS)


def _skewness(left_out: npt.NDArray[np.float64]) -> float:
    """Return a sixth of the skewness of the jackknife: the acceleration of BCa."""
    deviations = left_out.mean() - left_out
    spread = float((deviations**2).sum())
    return float((deviations**3).sum() / (6 * spread**1.5)) if spread > 0 else float("nan")
