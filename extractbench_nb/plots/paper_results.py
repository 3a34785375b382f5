"""Figures of the paper's results: models and domains, failures, modes, reproduction."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from extractbench_nb.errors import InputError
from extractbench_nb.plots.drawing import (
    BLUE,
    GREY,
    OUTCOMES,
    PALETTE,
    VERMILLION,
    checked,
    heat,
    known,
    new_axes,
    quiet,
    spread,
    stack,
    titled,
    words,
)

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["failures", "modes", "reproduction", "results"]


_STATUSES = ("equal", "rounding", "differs", "not_reproducible")
_STATUS_COLOURS = ("#0072B2", "#56B4E9", "#D55E00", "#bdbdbd")


def results(counts: pd.DataFrame, *, outcome: str = "validity", ax: Axes | None = None) -> Axes:
    """Draw a share by model and domain.

    Tables 9 to 13 of the ExtractBench paper as a picture.

    Parameters
    ----------
    counts : pandas.DataFrame
        ``paper.counts()``, or some of its rows.
    outcome : str, optional
        ``"validity"``: valid documents; ``"pass_rate"``: passed fields of documents x keys.
    ax : matplotlib.axes.Axes, optional
        Where to draw; a new figure by default.

    Returns
    -------
    matplotlib.axes.Axes
        One row per model, one column per domain; each cell with its percentage and counts, grey
        where a count is not known.

    Raises
    ------
    InputError
        The frame is another one or empty, or there is no such outcome.
    """
    known(outcome, OUTCOMES, "outcome")
    part, whole, name = OUTCOMES[outcome]
    rows = checked(counts, ("model", "domain", part, whole), "counts")
    parts, wholes = (_table(rows, column) for column in (part, whole))
    shares = parts / wholes.where(wholes > 0)
    ax = new_axes(ax, 1.0 + 0.52 * len(shares))
    heat(ax, shares, _texts(parts, wholes))
    titled(ax, name[0].upper() + name[1:], x="domain")
    return ax


def _table(rows: pd.DataFrame, column: str) -> pd.DataFrame:
    """Return a count by model and domain, in their order; what is partly unknown is unknown."""
    values = rows[column].astype("Float64").astype("float64")
    sums = values.groupby([rows["model"], rows["domain"]]).sum(skipna=False)
    models, domains = (rows[name].drop_duplicates() for name in ("model", "domain"))
    return sums.unstack("domain").reindex(index=models, columns=domains)  # noqa: PD010 - a Series


def _texts(parts: pd.DataFrame, wholes: pd.DataFrame) -> list[list[str]]:
    pairs = zip(parts.to_numpy(dtype=float), wholes.to_numpy(dtype=float), strict=True)
    return [[_cell(part, whole) for part, whole in zip(*row, strict=True)] for row in pairs]


def _cell(part: float, whole: float) -> str:
    can_tell = np.isfinite(part) and whole > 0
    return f"{100 * part / whole:.0f}%\n{part:,.0f}/{whole:,.0f}" if can_tell else "–"


def failures(table: pd.DataFrame, *, ax: Axes | None = None) -> Axes:
    """Draw why outputs were invalid, model by model.

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
    """
    kinds = checked(table, (), "table").drop(index="total", errors="ignore")
    bars = checked(kinds, (), "table").astype("Float64").fillna(0.0).astype("float64").T
    bars = bars.loc[bars.sum(axis=1).sort_values(ascending=False, kind="stable").index]
    ax = new_axes(ax, 1.1 + 0.4 * len(bars))
    stack(
        ax,
        bars,
        [PALETTE[i % len(PALETTE)] for i in range(bars.shape[1])],
        "Why outputs were invalid",
    )
    titled(ax, x="invalid outputs")
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

    Table 8 of the ExtractBench paper beside Tables 9 to 13.

    Parameters
    ----------
    before, after : pandas.DataFrame
        ``paper.counts("prompt")`` and ``paper.counts("structured")``.
    domain : str, optional
        One domain; all of them together by default.
    labels : tuple of str, optional
        What the two sides are called.
    ax : matplotlib.axes.Axes, optional
        Where to draw; a new figure by default.

    Returns
    -------
    matplotlib.axes.Axes
        One line per model that both have: blue where it rises, vermillion where it falls. Models
        with the same two rates share a label.

    Raises
    ------
    InputError
        A frame is another one or empty, there is no such domain, or no model is in both.
    """
    rates = pd.concat([_rates(before, domain, "before"), _rates(after, domain, "after")], axis=1)
    rates = rates.dropna()
    if rates.empty:
        raise InputError("before, after: no model is in both")
    ax = new_axes(ax, 4.0)
    slopes = rates.reset_index().groupby(["before", "after"], sort=False)["model"].agg(list)
    top = max(float(rates.to_numpy().max()) * 1.06, 1.0)
    for old, new in slopes.index.tolist():
        colour = GREY if new == old else BLUE if new > old else VERMILLION
        ax.plot([0, 1], [old, new], color=colour, linewidth=1.8, marker="o", markersize=5)
    _slope_labels(ax, slopes, top)
    ax.set(xlim=(-0.28, 1.95), ylim=(-0.05 * top, top))
    ax.set_xticks([0, 1], [words(label) for label in labels])
    titled(ax, words(domain or "all domains"), x="mode", y="passed fields (%)")
    quiet(ax, grid="y")
    return ax


def _rates(counts: pd.DataFrame, domain: str | None, what: str) -> pd.Series[float]:
    rows = checked(counts, ("model", "domain", "passed", "fields"), what)
    if domain is not None:
        known(domain, rows["domain"].unique().tolist(), "domain")
        rows = rows[rows["domain"] == domain]
    sums = rows.groupby("model", sort=False)[["passed", "fields"]].sum().astype("float64")
    return (100 * sums["passed"] / sums["fields"]).rename(what)


def _slope_labels(ax: Axes, slopes: pd.Series[Any], top: float) -> None:
    """Name each model at the end of its line, the labels moved apart where they would meet."""
    rates: list[tuple[float, float]] = slopes.index.tolist()
    ends = [(new, n) for (_, new), names in zip(rates, slopes, strict=True) for n in names]
    places = spread([new for new, _ in ends], 0.065 * top)
    for place, (new, name) in zip(places, ends, strict=True):
        ax.annotate(
            f"{words(name)}  {new:.1f}",
            (1, new),
            xytext=(1.12, place),
            va="center",
            fontsize=8.5,
            arrowprops={"arrowstyle": "-", "color": "#bdbdbd", "linewidth": 0.6},
        )


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
        One bar per table, stacked by status, in percent of its figures.

    Raises
    ------
    InputError
        The frame is another one, or empty.
    """
    rows = checked(frame, ("table", "cells", *_STATUSES), "frame")
    cells = rows["cells"].astype("float64").where(rows["cells"] > 0)
    shares = rows[list(_STATUSES)].astype("float64").div(cells, axis=0).fillna(0.0) * 100
    shares.columns = pd.Index([name.replace("_", " ") for name in _STATUSES])
    shares.index = pd.Index(list(map(_part, rows["table"], rows["cells"])))
    ax = new_axes(ax, 1.2 + 0.3 * len(shares))
    stack(ax, shares, _STATUS_COLOURS, "What can be recomputed")
    titled(ax, x="printed figures (%)")
    return ax


def _part(table: object, cells: object) -> str:
    name = {"figure2": "Figure 2", "text": "Text"}.get(str(table), f"Table {table}")
    return f"{name}  ({cells})"
