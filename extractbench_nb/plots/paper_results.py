"""Figures of the paper's results and claims: models, domains, factors, correlations."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import permutations as all_orders
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import pandas as pd

from extractbench_nb._frames import known_sums
from extractbench_nb.display.names import display_name
from extractbench_nb.display.palette import ENDINGS
from extractbench_nb.errors import InputError
from extractbench_nb.paper.cells import STATUSES
from extractbench_nb.paper.regression import fit, spearman
from extractbench_nb.plots import drawing
from extractbench_nb.plots.drawing import (
    BLUE,
    GREY,
    INK,
    MISSING,
    PALE,
    PALETTE,
    VERMILLION,
    Numbers,
    words,
)

if TYPE_CHECKING:
    from matplotlib.axes import Axes


#: From data, from printed figures, rounding, differs, declared, not reproducible.
_STATUS_COLOURS = (BLUE, PALETTE[4], PALETTE[2], VERMILLION, MISSING, PALE)


def results(counts: pd.DataFrame, *, outcome: str = "validity", ax: Axes | None = None) -> Axes:
    """Draw a share by model and domain.

    Tables 9 to 13 of the ExtractBench paper as a picture.

    Parameters
    ----------
    counts : pandas.DataFrame
        ``paper.counts()``, or some of its rows.
    outcome : str, optional
        ``"validity"``: valid documents of all documents. ``"pass_rate"``: passed fields of
        documents x schema keys, as in Table 5.
    ax : matplotlib.axes.Axes, optional
        Where to draw; a new figure by default.

    Returns
    -------
    matplotlib.axes.Axes
        One row per model, one column per domain; each cell with its percentage and counts, grey if
        a count is unknown.

    Raises
    ------
    InputError
        A column is missing, the frame is empty, or the outcome is unknown.

    Examples
    --------
    >>> import extractbench_nb as xb
    >>> ax = xb.plots.results(xb.paper.counts())
    >>> ax.get_title(loc="left")
    'Valid documents (%)'
    """
    drawing.known(outcome, drawing.OUTCOMES, "outcome")
    part, whole, name = drawing.OUTCOMES[outcome]
    rows = drawing.checked(counts, ("model", "domain", part, whole), "counts")
    models, domains = (rows[column].drop_duplicates() for column in ("model", "domain"))

    def summed(column: str) -> pd.DataFrame:
        """Sum by model and domain; a sum with a missing part is missing."""
        values = rows[column].astype("Float64").astype("float64")
        sums = known_sums(values, [rows["model"], rows["domain"]], sort=True)
        return sums.unstack("domain").reindex(index=models, columns=domains)  # noqa: PD010 - a Series

    parts, wholes = summed(part), summed(whole)
    ax = drawing.new_axes(ax, 1.0 + 0.52 * len(parts))
    drawing.heat_of_shares(
        ax, parts, wholes, lambda n, of: f"{100 * n / of:.0f}%\n{n:,.0f}/{of:,.0f}"
    )
    drawing.titled(ax, name[0].upper() + name[1:], x="domain")
    return ax


def failures(table: pd.DataFrame, *, ax: Axes | None = None) -> Axes:
    """Draw the failures of each model's outputs by kind.

    Table 7 of the ExtractBench paper as a picture.

    Parameters
    ----------
    table : pandas.DataFrame
        ``paper.table(7)``: one row per kind of failure, one column per model. A row of totals is
        left out.
    ax : matplotlib.axes.Axes, optional
        Where to draw; a new figure by default.

    Returns
    -------
    matplotlib.axes.Axes
        One bar per model, the model with most failures on top, stacked by kind.

    Raises
    ------
    InputError
        The frame is empty.

    Examples
    --------
    >>> import extractbench_nb as xb
    >>> ax = xb.plots.failures(xb.paper.table(7))
    >>> [label.get_text() for label in ax.get_yticklabels()]
    ['Claude Opus 4.5', ..., 'Gemini 3 Flash']
    """
    kinds = drawing.checked(table, (), "table").drop(index="total", errors="ignore")
    bars = drawing.checked(kinds, (), "table").astype("Float64").fillna(0.0).astype("float64").T
    bars = bars.loc[bars.sum(axis=1).sort_values(ascending=False, kind="stable").index]
    ax = drawing.new_axes(ax, 1.1 + 0.4 * len(bars))
    colours = [
        next(
            (c for name, c in ENDINGS.items() if display_name(name).startswith(str(kind))),
            ENDINGS["other"],
        )
        for kind in bars.columns
    ]
    drawing.stack(ax, bars, colours, "Why outputs were invalid")
    drawing.titled(ax, x="invalid outputs")
    return ax


def modes(
    before: pd.DataFrame,
    after: pd.DataFrame,
    domain: str | None = None,
    *,
    labels: tuple[str, str] = ("prompt", "structured"),
    ax: Axes | None = None,
) -> Axes:
    """Draw how each model's pass rate changes from one mode to another.

    Compares Table 8 of the ExtractBench paper with Tables 9 to 13.

    Parameters
    ----------
    before, after : pandas.DataFrame
        ``paper.counts("prompt")`` and ``paper.counts("structured")``.
    domain : str, optional
        One domain; all domains together by default.
    labels : tuple of str, optional
        Names of the two sides.
    ax : matplotlib.axes.Axes, optional
        Where to draw; a new figure by default.

    Returns
    -------
    matplotlib.axes.Axes
        One line per model that both frames have: blue if the rate rises, vermillion if it falls.
        Models with the same two rates share a line.

    Raises
    ------
    InputError
        A frame lacks columns or rows, the domain is unknown, or the frames have no model in common.

    Examples
    --------
    >>> import extractbench_nb as xb
    >>> prompt, structured = xb.paper.counts("prompt"), xb.paper.counts("structured")
    >>> ax = xb.plots.modes(prompt, structured, domain="credit")
    >>> [label.get_text() for label in ax.get_xticklabels()]
    ['prompt', 'structured']
    """
    rates = pd.concat([_rates(before, domain, "before"), _rates(after, domain, "after")], axis=1)
    rates = rates.dropna()
    if rates.empty:
        raise InputError("before and after have no model in common")
    ax = drawing.new_axes(ax, 4.0)
    slopes = rates.reset_index().groupby(["before", "after"], sort=False)["model"].agg(list)
    top = max(float(rates.to_numpy().max()) * 1.06, 1.0)
    for old, new in slopes.index.tolist():
        colour = GREY if new == old else BLUE if new > old else VERMILLION
        ax.plot([0, 1], [old, new], color=colour, linewidth=1.8, marker="o", markersize=5)
    ends = [
        (new, name)
        for (_, new), names in zip(slopes.index.tolist(), slopes, strict=True)
        for name in names
    ]
    heights = drawing.spread([new for new, _ in ends], 0.065 * top)
    arrow = {"arrowstyle": "-", "color": PALE, "linewidth": 0.6}
    for height, (new, name) in zip(heights, ends, strict=True):
        text = f"{words(name)}  {new:.1f}"
        ax.annotate(text, (1, new), (1.12, height), va="center", fontsize=8.5, arrowprops=arrow)
    ax.set(xlim=(-0.28, 1.95), ylim=(-0.05 * top, top))
    ax.set_xticks([0, 1], [words(label) for label in labels])
    drawing.titled(ax, words(domain or "all domains"), x="mode", y="passed fields (%)", grid="y")
    return ax


def _rates(counts: pd.DataFrame, domain: str | None, what: str) -> pd.Series[float]:
    rows = drawing.checked(counts, ("model", "domain", "passed", "fields"), what)
    if domain is not None:
        drawing.known(domain, rows["domain"].unique().tolist(), "domain")
        rows = rows[rows["domain"] == domain]
    sums = rows.groupby("model", sort=False)[["passed", "fields"]].sum().astype("float64")
    return (100 * sums["passed"] / sums["fields"]).rename(what)


def reproduction(frame: pd.DataFrame, *, ax: Axes | None = None) -> Axes:
    """Draw how many printed figures of each table are reproduced.

    Parameters
    ----------
    frame : pandas.DataFrame
        ``paper.reproduction()``: one row per table.
    ax : matplotlib.axes.Axes, optional
        Where to draw; a new figure by default.

    Returns
    -------
    matplotlib.axes.Axes
        One bar per table, stacked by status, in percent of its figures; what is equal is split by
        whether it was recomputed from data or agrees with other printed figures.

    Raises
    ------
    InputError
        A column is missing, or the frame is empty.

    Examples
    --------
    >>> import extractbench_nb as xb
    >>> ax = xb.plots.reproduction(xb.paper.reproduction())
    >>> ax.get_xlabel()
    'printed figures (%)'
    """
    columns = [status.replace(" ", "_") for status in STATUSES]
    rows = drawing.checked(frame, ("table", "cells", "from_data", *columns), "frame")
    parts = rows[["from_data", *columns]].assign(equal=rows["equal"] - rows["from_data"])
    cells = rows["cells"].astype("float64").where(rows["cells"] > 0)
    shares = parts.astype("float64").div(cells, axis=0).fillna(0.0) * 100
    shares.columns = pd.Index(["equal, from data", "equal to printed figures", *STATUSES[1:]])
    other = {"figure2": "Figure 2", "text": "Text"}
    shares.index = pd.Index(
        f"{other.get(str(part), f'Table {part}')}  ({n})"
        for part, n in zip(rows["table"], rows["cells"], strict=True)
    )
    ax = drawing.new_axes(ax, 1.2 + 0.3 * len(shares))
    drawing.stack(ax, shares, _STATUS_COLOURS, "What can be recomputed")
    drawing.titled(ax, x="printed figures (%)")
    return ax


_POINTS = 81
_NORMAL_95 = 1.959964

#: Two domains can be passed through exactly; a third is what a curve could be wrong about.
_FEWEST = 3


class Curve(NamedTuple):
    """A fitted curve at some values of a factor; shares are from 0 to 1."""

    at: Numbers
    share: Numbers
    #: The 95% interval, with attempts taken as independent.
    low: Numbers
    high: Numbers
    #: The lowest and highest of the curves with one domain left out.
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

    def designs(values: Numbers) -> Numbers:
        return np.stack([np.ones_like(values), values], axis=-1)

    # centred on a point, the intercept is the curve there, and its error is the curve's
    found = fit(designs(logs - at[:, None]), successes, trials)
    middle, error = found.coefficients[:, 0], _NORMAL_95 * found.errors[:, 0]
    # each domain left out in turn, where the others still differ
    n, centre = len(logs), logs.mean()
    kept = [k for k in 1.0 - np.eye(n) if len(np.unique(logs[k > 0])) > 1]
    batch = np.broadcast_to(designs(logs - centre), (len(kept), n, 2))
    without = fit(batch, successes * np.stack(kept), trials * np.stack(kept)).coefficients
    others = without[:, :1] + without[:, 1:] * (at - centre)
    log_odds = (middle, middle - error, middle + error, others.min(0), others.max(0))
    return Curve(2.0**at, *(1 / (1 + np.exp(-odds)) for odds in log_odds))


_UNITS = {
    "keys": "keys of the schema",
    "depth": "nesting depth (levels)",
    "pages": "pages per document",
    "tokens": "gold tokens per document",
    "fields": "fields per document",
    "array_items": "array items per document",
}

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
        The shares in percent, over the factor on a logarithmic axis. If the factor has three
        different values or more, also a logistic curve (one intercept for all models, Firth's
        penalty). The inner band is its 95 % interval if attempts were independent, which is far
        too narrow; the outer band covers the curves with any one domain left out. The first Axes
        of a figure with a curve has a legend.

    Raises
    ------
    InputError
        A name is unknown, a column is missing, a frame is empty, or a factor is 0 or less.

    Examples
    --------
    >>> import extractbench_nb as xb
    >>> ax = xb.plots.factor(xb.paper.counts(), xb.paper.published(6), "keys")
    >>> ax.get_xlabel()
    'keys of the schema'
    """
    rows = drawing.by_domain(counts, table, name, outcome=outcome)
    ax = drawing.new_axes(ax, 3.4)
    values, successes, trials = (
        rows[column].to_numpy() for column in ("factor", "successes", "trials")
    )
    curve = fitted_curve(values, successes, trials)
    if curve is not None:
        ax.plot(curve.at, 100 * curve.share, color=BLUE, linewidth=1.8, label="logistic curve")
        bands = (
            ("95% band, too narrow", curve.low, curve.high, 0.32),
            ("any one domain left out", curve.least, curve.most, 0.13),
        )
        for label, low, high, alpha in bands:
            band: dict[str, Any] = {"color": BLUE, "linewidth": 0, "alpha": alpha, "label": label}
            ax.fill_between(curve.at, 100 * low, 100 * high, **band)
    ax.scatter(values, 100 * rows["share"], s=42, color=INK, zorder=4)
    ax.set_xscale("log", base=2)
    ax.set_ylim(-6, 106)
    drawing.titled(ax, x=_UNITS.get(name, words(name)), y=drawing.OUTCOMES[outcome][2], grid="y")
    _plain_log(ax, values)
    if curve is not None and not any(other.get_legend() for other in ax.figure.axes):
        drawing.legend_above(ax)  # once per figure
    names = [words(domain, 14) for domain in rows.index]
    drawing.name_points(ax, names, values, 100 * rows["share"].to_numpy())
    return ax


def _plain_log(ax: Axes, values: Numbers) -> None:
    """Put ticks at the values that occur, one per cluster, so that labels do not overlap."""
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
        Groups of models, one point each; at least one.
    measure : str, optional
        ``"spearman"`` or ``"kendall"``.
    ax : matplotlib.axes.Axes, optional
        Where to draw; a new figure by default.

    Returns
    -------
    matplotlib.axes.Axes
        One row per factor, one point per group. A line spans the correlations with any one domain
        left out. The exact p-values are on the right, in the order of the groups. A factor without
        a correlation has no point.

    Raises
    ------
    InputError
        A column is missing, the frame is empty, or it has no such outcome, group or measure.

    Examples
    --------
    >>> import extractbench_nb as xb
    >>> ax = xb.plots.correlations(xb.paper.correlations(), outcome="validity")
    >>> [label.get_text() for label in ax.get_yticklabels()]
    ['keys', 'tokens', 'pages', 'depth', 'array items']
    """
    names = list(dict.fromkeys(groups))
    ends = ["without_one_low", "without_one_high"]
    numbers = ["correlation", "p_value", *ends]
    rows = drawing.checked(frame, ("group", "outcome", "factor", "measure", *numbers), "frame")
    if not names:
        raise InputError("`groups` is empty; name one, for example 'pooled'")
    for group in names:
        drawing.known(group, rows["group"].unique().tolist(), "groups")
    drawing.known(outcome, rows["outcome"].unique().tolist(), "outcome")
    drawing.known(measure, rows["measure"].unique().tolist(), "measure")
    wanted = rows["group"].isin(names) & rows["outcome"].eq(outcome) & rows["measure"].eq(measure)
    rows = drawing.checked(rows[wanted], (), "frame").astype(dict.fromkeys(numbers, "float64"))
    factors = rows["factor"].drop_duplicates().tolist()
    ax = drawing.new_axes(ax, 1.2 + (0.3 + 0.16 * len(names)) * len(factors))
    ax.axvline(0, color=GREY, linewidth=1)
    for i, group in enumerate(names):
        own = rows[rows["group"] == group].set_index("factor").reindex(factors)
        places = np.arange(len(factors)) + 0.24 * (i - (len(names) - 1) / 2)
        colour = PALETTE[i % len(PALETTE)]
        lines = own[ends].to_numpy(dtype=float)
        drawn = np.isfinite(lines).all(axis=1)
        if drawn.any():
            low, high = lines[drawn].T
            ax.hlines(places[drawn], low, high, colors=colour, linewidth=2.2)
        ax.scatter(own["correlation"], places, s=46, color=colour, zorder=3, label=words(group))
        for place, p in zip(places, own["p_value"], strict=True):
            text = f"p = {p:.2f}" if np.isfinite(p) else "constant"
            ax.text(1.12, place, text, va="center", fontsize=8.5, color=colour)
    ax.set_yticks(np.arange(len(factors)), [words(display_name(f)) for f in factors])
    ax.set(xlim=(-1.08, 1.45), ylim=(len(factors) - 0.5, -0.5))
    ax.set_xticks([-1, -0.5, 0, 0.5, 1])
    about = f"{measure} correlation with {words(display_name(outcome))} over the domains"
    drawing.titled(ax, "Point: all domains. Line: any one left out", x=about, grid="x")
    if len(names) > 1:
        drawing.legend_above(ax, ax.get_title(loc="left"))
    return ax


def permutations(
    counts: pd.DataFrame,
    table: pd.DataFrame,
    name: str,
    *,
    outcome: str = "validity",
    ax: Axes | None = None,
) -> Axes:
    """Draw the permutation distribution of Spearman's correlation over the domains.

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
        One bar per value of the correlation, as high as the number of orders of the domains that
        give it. Values at least as extreme as the observed one are vermillion; their share is the
        exact two-sided p-value.

    Raises
    ------
    InputError
        As for `factor`; or if the outcome or the factor is the same in all domains, or there are
        more than eight domains.

    Examples
    --------
    >>> import extractbench_nb as xb
    >>> ax = xb.plots.permutations(xb.paper.counts(), xb.paper.published(6), "keys")
    >>> ax.get_title(loc="left")
    'found: -0.90; 10 of 120 orders are as extreme, p = 0.083'
    """
    rows = drawing.by_domain(counts, table, name, outcome=outcome)
    if len(rows) > _MOST_DOMAINS:
        raise InputError(f"counts: {len(rows)} domains; at most {_MOST_DOMAINS} can be permuted")
    values, shares = rows["factor"].to_numpy(), rows["share"].to_numpy()
    if len(set(values)) < 2 or len(set(shares)) < 2:  # noqa: PLR2004 - one value has no rank
        raise InputError(f"{name!r} or the outcome is the same in all domains: no correlation")
    found = float(spearman(values, shares))
    orders = np.array(list(all_orders(range(len(values)))))
    sizes, heights = np.unique(spearman(values, shares[orders]).round(9), return_counts=True)
    extreme = np.abs(sizes) >= abs(found) - _NOISE - 1e-9
    ax = drawing.new_axes(ax, 3.2)
    width = 0.8 * float(np.diff(sizes).min())
    ax.bar(sizes, heights, width=width, color=np.where(extreme, VERMILLION, PALE))
    ax.axvline(found, color=INK, linewidth=1.2, linestyle="--")
    n, share = int(heights[extreme].sum()), heights[extreme].sum() / len(orders)
    title = f"found: {found:+.2f}; {n} of {len(orders)} orders are as extreme, p = {share:.3f}"
    ax.set_ylim(0, float(heights.max()) * 1.32)
    about = f"Spearman's correlation with {words(display_name(name))}"
    drawing.titled(ax, title, x=about, y="orders of the domains", grid="y")
    return ax
