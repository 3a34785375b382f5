"""Cohen's kappa from counts, with intervals over documents or rows."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
import pandas as pd

from extractbench_nb.errors import InputError
from extractbench_nb.stats.breakdowns import TEXT, refuse_missing
from extractbench_nb.stats.intervals import (
    Drawing,
    Interval,
    Numbers,
    bca_bounds,
    counts_drawn,
    wilson_interval,
)

__all__ = ["Joined", "Kappa", "join_verdicts", "kappa_interval", "kappas", "share_interval"]


_SIDES = ("a", "b")


@dataclass(frozen=True, slots=True)
class Joined:
    """Rows of both sides in the same order, and how many found no partner.

    Attributes
    ----------
    a, b : pandas.DataFrame
        The rows that both have, in the order of the first side.
    keys : tuple of str
        The columns they were joined on.
    documents : ndarray of shape (rows,)
        A number a document.
    only_a, only_b : int
        Rows without a partner.
    """

    a: pd.DataFrame
    b: pd.DataFrame
    keys: tuple[str, ...]
    documents: npt.NDArray[np.int64]
    only_a: int
    only_b: int

    def select(self, rows: npt.NDArray[np.bool_]) -> Joined:
        """Return some of the rows, as a mask tells which."""
        places = np.flatnonzero(rows)
        a, b = (side.iloc[places] for side in (self.a, self.b))
        return replace(self, a=a, b=b, documents=self.documents[places])


def join_verdicts(
    a: pd.DataFrame, b: pd.DataFrame, on: str, names: Sequence[str] = ("path", "metric")
) -> Joined:
    """Join the rows of two sides on their keys."""
    for frame, side in zip((a, b), _SIDES, strict=True):
        refuse_missing(frame, (*names, on), f"fields of {side}")
    keys = [*_identities(a, b), *names]
    codes, others = _codes(a, b, keys)
    places = pd.Index(others).get_indexer(pd.Index(codes))
    found = np.flatnonzero(places >= 0)
    if not len(found):
        raise InputError(
            f"no row is on both sides (joined on {', '.join(keys)}); {_has(a, b, keys)}"
        )
    document = pd.factorize(a["document"])[0] if "document" in keys else np.zeros(len(a), np.int64)
    return Joined(
        a.iloc[found],
        b.iloc[places[found]],
        tuple(keys),
        document[found].astype(np.int64),
        len(a) - len(found),
        len(b) - len(found),
    )


def _identities(a: pd.DataFrame, b: pd.DataFrame) -> list[str]:
    """Return those of run and document that rows have to share."""
    names = []
    for name in ("run", "document"):
        counts = [f[name].nunique() if name in f.columns else None for f in (a, b)]
        if None in counts:
            _refuse_unnamed(name, counts)
        elif name == "document" or counts != [1, 1]:
            names.append(name)
    return names


def _refuse_unnamed(name: str, counts: list[int | None]) -> None:
    for side, count in zip(_SIDES, counts, strict=True):
        if count is not None and count > 1:
            other = _SIDES[1 - _SIDES.index(side)]
            raise InputError(
                f"{side} has {count} {name}s and {other} does not say which {name} its rows are "
                f"of; add a column {name!r} to {other}, or pass one {name} of {side}"
            )


def _codes(
    a: pd.DataFrame, b: pd.DataFrame, keys: list[str]
) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]:
    """Give each row the number of its keys; rows of a side with equal keys get several."""
    codes = np.zeros(len(a) + len(b), dtype=np.int64)
    for name in keys:
        texts = np.concatenate([frame[name].astype(TEXT).to_numpy(object) for frame in (a, b)])
        numbers, words = pd.factorize(texts, use_na_sentinel=False)
        codes = pd.factorize(codes * len(words) + numbers)[0]
    sides = [codes[: len(a)], codes[len(a) :]]
    times = [pd.Series(side).groupby(side).cumcount().to_numpy() for side in sides]
    most = max(int(t.max(initial=0)) for t in times) + 1
    first, second = (side * most + time for side, time in zip(sides, times, strict=True))
    return first, second


def _has(a: pd.DataFrame, b: pd.DataFrame, keys: list[str]) -> str:
    """Say what both sides have under the first key in which they share nothing."""
    for name in keys:
        values = [list(dict.fromkeys(frame[name].astype(str))) for frame in (a, b)]
        if not set(values[0]) & set(values[1]):
            parts = [
                f"{side} has {name} {', '.join(map(repr, found[:3]))}{' …' if found[3:] else ''}"
                if found
                else f"{side} has no rows"
                for side, found in zip(_SIDES, values, strict=True)
            ]
            return ", ".join(parts)
    return "each key occurs on both sides, but never together"


_CATEGORIES = 2


class Kappa(NamedTuple):
    """Kappa, its interval, and what was resampled; NaN and None if they are not defined."""

    value: float
    interval: Interval
    unit: str
    units: int


def kappas(counts: Numbers) -> Numbers:
    """Return Cohen's kappa of many tables of counts.

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
    """Return kappa and its bootstrap interval."""
    found = _interval_of(kappas, per_document, drawing)
    total = per_document.sum(axis=0)
    constant = any(np.count_nonzero(total.sum(axis=axis)) < _CATEGORIES for axis in (0, 1))
    return found._replace(interval=Interval(None, None, "undefined")) if constant else found


def share_interval(per_document: Numbers, drawing: Drawing) -> Interval:
    """Return an interval for the share of rows in which both sides say the same.

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
