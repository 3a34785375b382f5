"""Figures of the paper's claims: a factor and failure, correlations, permutations."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from itertools import permutations as all_orders
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import pandas as pd

from extractbench_nb.errors import InputError
from extractbench_nb.paper.regression import fit, spearman
from extractbench_nb.plots.drawing import (
    BLUE,
    GREY,
    INK,
    OUTCOMES,
    PALETTE,
    VERMILLION,
    Numbers,
    by_domain,
    checked,
    known,
    name_points,
    new_axes,
    quiet,
    titled,
    words,
)

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["Curve", "correlations", "factor", "fitted_curve", "permutations"]


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


_UNITS: Mapping[str, str] = MappingProxyType(
    {
        "keys": "keys of the schema",
        "depth": "nesting depth (levels)",
        "pages": "pages a document",
        "tokens": "gold tokens a document",
        "fields": "fields a document",
        "array_items": "array items a document",
    }
)

#: All orders of more domains are too many to draw.
_MOST_DOMAINS = 8
_NOISE = 1e-9


def factor(
    counts: pd.DataFrame,
    table: pd.DataFrame,
    name: str,
    *,
    outcome: str = "validity",
    ax: Axes | None = None,
) -> Axes:
    """Draw an outcome against one factor of complexity, one point per domain.

    Parameters
    ----------
    counts : pandas.DataFrame
        ``paper.counts()``, or some of its rows.
    table : pandas.DataFrame
        ``paper.published(6)``, ``paper.table(6)`` or ``complexity(ds, by="domain")``, with the
        same names of domains.
    name : str
        A column of `table`: keys, depth, pages, tokens, fields or array_items.
    outcome : str, optional
        ``"validity"`` or ``"pass_rate"``.
    ax : matplotlib.axes.Axes, optional
        Where to draw; a new figure by default.

    Returns
    -------
    matplotlib.axes.Axes
        The shares in percent; the factor on a logarithmic axis. Of three different values and
        more also a logistic curve, one intercept for all models, with Firth's penalty. The dark
        band is its 95% interval with attempts taken as independent, which is far too narrow; the
        light band is where the curve goes when any one domain is left out.

    Raises
    ------
    InputError
        A name is unknown, a frame is another one or empty, or a factor is 0 or less.
    """
    rows = by_domain(counts, table, name, outcome=outcome)
    ax = new_axes(ax, 3.4)
    values, successes, trials = (
        rows[column].to_numpy() for column in ("factor", "successes", "trials")
    )
    curve = fitted_curve(values, successes, trials)
    if curve is not None:
        _curve(ax, curve)
    ax.scatter(values, 100 * rows["share"], s=42, color=INK, zorder=4)
    ax.set_xscale("log", base=2)
    ax.set_ylim(-6, 106)
    titled(ax, x=_UNITS.get(name, words(name)), y=OUTCOMES[outcome][2])
    _plain_log(ax, values)
    name_points(ax, [words(d, 14) for d in rows.index], values, 100 * rows["share"].to_numpy())
    quiet(ax, grid="y")
    return ax


def _curve(ax: Axes, curve: Curve) -> None:
    style: dict[str, Any] = {"color": BLUE, "linewidth": 0}
    ax.fill_between(curve.at, 100 * curve.least, 100 * curve.most, alpha=0.13, **style)
    ax.fill_between(curve.at, 100 * curve.low, 100 * curve.high, alpha=0.32, **style)
    ax.plot(curve.at, 100 * curve.share, color=BLUE, linewidth=1.8)


def _plain_log(ax: Axes, values: Numbers) -> None:
    """Tick the axis at the values that occur, one of each cluster, and give labels room."""
    from matplotlib.ticker import FixedLocator, FuncFormatter, NullLocator

    low, high = np.log2(values.min()), np.log2(values.max())
    room = 0.16 * (high - low) or 1.0
    ax.set_xlim(2 ** (low - room), 2 ** (high + room))
    ticks: list[float] = []
    for value in np.unique(values):
        if not ticks or np.log2(value / ticks[-1]) > 0.14 * (high - low):
            ticks.append(float(value))
    ax.xaxis.set_major_locator(FixedLocator(ticks))
    ax.xaxis.set_minor_locator(NullLocator())
    ax.xaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:,.0f}"))


def correlations(
    frame: pd.DataFrame,
    outcome: str = "validity",
    *,
    groups: Iterable[str] = ("pooled", "able"),
    measure: str = "spearman",
    ax: Axes | None = None,
) -> Axes:
    """Draw the rank correlation of each factor with an outcome, and its uncertainty.

    Parameters
    ----------
    frame : pandas.DataFrame
        ``paper.correlations()``.
    outcome : str, optional
        ``"validity"``, ``"pass_rate"`` or ``"scored_pass_rate"``.
    groups : iterable of str, optional
        Groups of models to draw beside one another, at least one.
    measure : str, optional
        ``"spearman"`` or ``"kendall"``.
    ax : matplotlib.axes.Axes, optional
        Where to draw; a new figure by default.

    Returns
    -------
    matplotlib.axes.Axes
        One row per factor, one point per group. The line spans the correlations found with any one
        domain left out. The exact p-values are on the right, in the order of the groups. A factor
        without a correlation has no point.

    Raises
    ------
    InputError
        A column is missing, the frame is empty, or it has no such outcome, group or measure.
    """
    names = list(dict.fromkeys(groups))
    rows = _chosen(frame, outcome, names, measure)
    factors = rows["factor"].drop_duplicates().tolist()
    ax = new_axes(ax, 1.2 + (0.3 + 0.16 * len(names)) * len(factors))
    ax.axvline(0, color=GREY, linewidth=1)
    for i, group in enumerate(names):
        own = rows[rows["group"] == group].set_index("factor").reindex(factors)
        offset = 0.24 * (i - (len(names) - 1) / 2)
        places: Numbers = np.arange(len(factors), dtype=np.float64) + offset
        _estimates(ax, own, places, PALETTE[i % len(PALETTE)], group)
    ax.set_yticks(np.arange(len(factors)), [words(f).replace("_", " ") for f in factors])
    ax.set(xlim=(-1.08, 1.45), ylim=(len(factors) - 0.5, -0.5))
    ax.set_xticks([-1, -0.5, 0, 0.5, 1])
    titled(
        ax,
        "Point: all domains. Line: any one left out",
        x=f"{measure} correlation with {words(outcome)} over the domains",
    )
    quiet(ax, grid="x")
    if len(names) > 1:
        ax.legend(
            loc="lower right", bbox_to_anchor=(1, 1), ncols=len(names), frameon=False, fontsize=9
        )
    return ax


def _chosen(frame: pd.DataFrame, outcome: str, groups: list[str], measure: str) -> pd.DataFrame:
    needed = ("group", "outcome", "factor", "measure", "correlation", "p_value")
    ends = ("without_one_low", "without_one_high")
    rows = checked(frame, (*needed, *ends), "frame")
    if not groups:
        raise InputError("`groups` is empty; name one, for example 'pooled'")
    for group in groups:
        known(group, rows["group"].unique().tolist(), "groups")
    known(outcome, rows["outcome"].unique().tolist(), "outcome")
    known(measure, rows["measure"].unique().tolist(), "measure")
    wanted = rows["group"].isin(groups) & rows["outcome"].eq(outcome) & rows["measure"].eq(measure)
    found = checked(rows[wanted], (), "frame")
    columns = {name: found[name].astype("float64") for name in ("correlation", "p_value", *ends)}
    return found.assign(**columns)


def _estimates(ax: Axes, own: pd.DataFrame, places: Numbers, colour: str, group: str) -> None:
    ends = own[["without_one_low", "without_one_high"]].to_numpy(dtype=float)
    known = np.isfinite(ends).all(axis=1)
    if known.any():
        ax.hlines(places[known], ends[known, 0], ends[known, 1], colors=colour, linewidth=2.2)
    ax.scatter(own["correlation"], places, s=46, color=colour, zorder=3, label=words(group))
    for place, p in zip(places, own["p_value"], strict=True):
        text = f"p = {p:.2f}" if np.isfinite(p) else "constant"
        ax.text(1.12, place, text, va="center", fontsize=8.5, color=colour)


def permutations(
    counts: pd.DataFrame,
    table: pd.DataFrame,
    name: str,
    *,
    outcome: str = "validity",
    ax: Axes | None = None,
) -> Axes:
    """Draw Spearman's correlation in every order of the domains, and where the real one stands.

    Parameters
    ----------
    counts : pandas.DataFrame
        ``paper.counts()``, or some of its rows; of two to eight domains.
    table : pandas.DataFrame
        As for `factor`.
    name : str
        A column of `table`.
    outcome : str, optional
        ``"validity"`` or ``"pass_rate"``.
    ax : matplotlib.axes.Axes, optional
        Where to draw; a new figure by default.

    Returns
    -------
    matplotlib.axes.Axes
        One bar per value of the correlation, as high as the number of orders that give it; those at
        least as extreme as the real one are vermillion, and their share is the exact p-value.

    Raises
    ------
    InputError
        As for `factor`; also where the outcome or the factor is the same in all domains, or there
        are more than eight.
    """
    rows = by_domain(counts, table, name, outcome=outcome)
    if len(rows) > _MOST_DOMAINS:
        raise InputError(f"counts: {len(rows)} domains; at most {_MOST_DOMAINS} can be permuted")
    values, shares = rows["factor"].to_numpy(), rows["share"].to_numpy()
    if len(set(values)) < 2 or len(set(shares)) < 2:  # noqa: PLR2004 - one value has no rank
        raise InputError(f"{name!r} or the outcome is the same in all domains: no correlation")
    found = float(spearman(values, shares))
    orders = np.array(list(all_orders(range(len(values)))))
    sizes, heights = np.unique(spearman(values, shares[orders]).round(9), return_counts=True)
    extreme = np.abs(sizes) >= abs(found) - _NOISE - 1e-9
    ax = new_axes(ax, 3.2)
    width = 0.8 * float(np.diff(sizes).min())
    ax.bar(sizes, heights, width=width, color=np.where(extreme, VERMILLION, "#bdbdbd"))
    _mark(ax, found, int(heights[extreme].sum()), len(orders))
    ax.set_ylim(0, float(heights.max()) * 1.32)
    titled(
        ax,
        x=f"Spearman's correlation with {words(name).replace('_', ' ')}",
        y="orders of the domains",
    )
    quiet(ax, grid="y")
    return ax


def _mark(ax: Axes, found: float, extreme: int, orders: int) -> None:
    ax.axvline(found, color=INK, linewidth=1.2, linestyle="--")
    ax.set_title(
        f"found: {found:+.2f}; {extreme} of {orders} orders are as extreme, "
        f"p = {extreme / orders:.3f}",
        loc="left",
        fontsize=10,
    )
