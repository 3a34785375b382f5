"""Figures of the paper's results: models, domains, failures, modes."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pandas as pd

from extractbench_nb.benchmark import display_name
from extractbench_nb.errors import InputError
from extractbench_nb.support.pandas_helpers import known_sums
from extractbench_nb.views.palette import ENDINGS
from extractbench_nb.views.plots import axes as drawing
from extractbench_nb.views.plots.axes import BLUE, GREY, PALE, VERMILLION, words

if TYPE_CHECKING:
    from matplotlib.axes import Axes


#: Successes and trials of an outcome in `counts`, and its name.
OUTCOMES = {
    "validity": ("valid", "documents", "valid documents (%)"),
    "pass_rate": ("passed", "fields", "passed fields (%)"),
}


def results(counts: pd.DataFrame, *, outcome: str = "validity", ax: Axes | None = None) -> Axes:
    """Draw a share by model and domain.

    Tables 9 to 13 of the ExtractBench paper as a picture.

    Parameters
    ----------
    counts : pandas.DataFrame
        ``benchmark.counts()``, or some of its rows.
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
    >>> ax = xb.plots.results(xb.benchmark.counts())
    >>> ax.get_title(loc="left")
    'Valid documents (%)'
    """
    drawing.known(outcome, OUTCOMES, "outcome")
    part, whole, name = OUTCOMES[outcome]
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
        ``benchmark.table(7)``: one row per kind of failure, one column per model. A row of totals
        is left out.
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
    >>> ax = xb.plots.failures(xb.benchmark.table(7))
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
        ``benchmark.counts("prompt")`` and ``benchmark.counts("structured")``.
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
    >>> prompt, structured = xb.benchmark.counts("prompt"), xb.benchmark.counts("structured")
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
    heights = drawing.apart([new for new, _ in ends], 0.065 * top)
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
