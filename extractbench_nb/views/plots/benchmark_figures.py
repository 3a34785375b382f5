"""Figures of the ExtractBench benchmark: results of its models, and the sizes of its documents."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from extractbench_nb.benchmark import display_name
from extractbench_nb.support.pandas_helpers import known_sums
from extractbench_nb.views.plots import axes as drawing
from extractbench_nb.views.plots.axes import BLUE, GREY, PALE, PALETTE, VERMILLION

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_MARKERS = "osD^vPX*"
#: Columns of ``benchmark.table("figure2")``, and what ``complexity(by="domain")`` calls them.
_NAMES_BY_DOMAIN = {
    "mean_pdf_tokens": "input_tokens",
    "mean_gold_tokens": "output_tokens",
    "compression": "ratio",
}

#: Successes and trials of an outcome in `counts`, and its name.
_OUTCOMES = {
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
    drawing.known(outcome, _OUTCOMES, "outcome")
    part, whole, name = _OUTCOMES[outcome]
    rows = drawing.checked(counts, ("model", "domain", part, whole), "counts")
    models, domains = (rows[column].drop_duplicates() for column in ("model", "domain"))
    keys = [rows["model"], rows["domain"]]
    numbers = rows[[part, whole]].astype("Float64").astype("float64")
    sums: pd.DataFrame = known_sums(numbers, keys, sort=True).reset_index()
    parts, wholes = (
        sums.pivot_table(name, "model", "domain", sort=False, dropna=False).loc[models, domains]
        for name in (part, whole)
    )
    ax = drawing.new_axes(ax, 1.0 + 0.52 * len(parts))
    drawing.heat_of_shares(
        ax, parts, wholes, lambda n, of: f"{100 * n / of:.0f}%\n{n:,.0f}/{of:,.0f}"
    )
    drawing.titled(ax, name[0].upper() + name[1:], x="domain")
    return ax


def tokens(table: pd.DataFrame, *, ax: Axes | None = None) -> Axes:
    """Draw the tokens in the PDF text and in the gold data of each document.

    Figure 2 of the ExtractBench paper.

    Parameters
    ----------
    table : pandas.DataFrame
        ``benchmark.table("figure2")``, or ``complexity(ds, by="domain")``.
    ax : matplotlib.axes.Axes, optional
        Where to draw; a new figure by default.

    Returns
    -------
    matplotlib.axes.Axes
        One row per domain: a line from input to output, in GPT-2 tokens on a logarithmic axis, and
        on the right the ratio of input to output. Unknown figures are left out.

    Raises
    ------
    InputError
        A column is missing, or the frame is empty.

    Examples
    --------
    >>> import extractbench_nb as xb
    >>> ax = xb.plots.tokens(xb.benchmark.table("figure2"))
    >>> [label.get_text() for label in ax.get_yticklabels()]
    ['sports', 'credit', 'research', 'resumes', '10-K/Q']
    """
    frame = _by_domain(table, ("input_tokens", "output_tokens", "ratio"))
    ax = drawing.new_axes(ax, 0.9 + 0.5 * len(frame))
    rows = np.arange(len(frame))
    pair = frame[["input_tokens", "output_tokens"]]
    drawing.segments(ax, pair.min(axis=1), pair.max(axis=1), PALE)
    ends = {"PDF text": ("input_tokens", BLUE), "gold JSON": ("output_tokens", VERMILLION)}
    for name, (column, colour) in ends.items():
        other = pair.drop(columns=column).iloc[:, 0]
        ax.scatter(frame[column], rows, s=55, color=colour, zorder=2, label=name)
        for row, (value, end) in enumerate(zip(frame[column], other, strict=True)):
            side: dict[str, Any] = {"ha": "right" if value < end else "left", "va": "center"}
            if np.isfinite(value):
                shift = (-8 if value < end else 8, 0)
                drawing.note(ax, drawing.number(value), (value, row), shift, color=colour, **side)
    drawing.row_labels(ax, frame.index)
    known = pair.to_numpy()[np.isfinite(pair) & (pair > 0)]
    if len(known):
        ax.set_xscale("log")
        drawing.log_numbers(ax.xaxis)
        ax.margins(x=0.2)  # room for the numbers at both ends
    ax.set_ylim(len(frame) - 0.5, -0.5)
    drawing.titled(ax, x="GPT-2 tokens per document, average", grid="x")
    ratios = ax.secondary_yaxis("right")
    ratios.set_yticks(rows, [f"{value:.2f}".replace("nan", "–") for value in frame["ratio"]])
    ratios.tick_params(length=0, labelsize=9)
    ratios.spines["right"].set_visible(False)
    ratios.set_ylabel("PDF tokens / gold tokens", fontsize=9)
    drawing.legend_above(ax, "Tokens of PDF text and gold JSON")
    return ax


def _by_domain(table: object, columns: Sequence[str]) -> pd.DataFrame:
    """Return columns as floats, one row per domain; those of `complexity` are renamed."""
    frame = drawing.checked(table, (), "table")
    if "schema" in frame.columns and "mean_gold_tokens" in frame.columns:
        frame = frame.set_axis([display_name(name, "schema") for name in frame["schema"]], axis=0)
        frame = frame.rename(columns=_NAMES_BY_DOMAIN)
    wanted = list(columns)
    return drawing.checked(frame, wanted, "table")[wanted].astype("Float64").astype("float64")


def documents(frame: pd.DataFrame, *, ax: Axes | None = None) -> Axes:
    """Draw the tokens in each document's PDF text against the tokens in its gold data.

    Parameters
    ----------
    frame : pandas.DataFrame
        ``complexity(ds)``: one row per document.
    ax : matplotlib.axes.Axes, optional
        Where to draw; a new figure by default.

    Returns
    -------
    matplotlib.axes.Axes
        One mark per document on logarithmic axes, with a colour and a shape per schema, and the
        line on which input and output are equal. Documents without a PDF or text are left out.

    Raises
    ------
    InputError
        A column is missing, or the frame is empty.

    Examples
    --------
    >>> import extractbench_nb as xb
    >>> ax = xb.plots.documents(xb.benchmark.complexity(xb.load_dataset()))
    >>> ax.get_xscale(), ax.get_yscale()
    ('log', 'log')
    """
    rows = drawing.checked(frame, ("schema", "pdf_tokens", "gold_tokens"), "frame")
    rows = rows[(rows["pdf_tokens"] > 0) & (rows["gold_tokens"] > 0)]
    ax = drawing.new_axes(ax, 4.2)
    ax.set(xscale="log", yscale="log")
    for axis in (ax.xaxis, ax.yaxis):
        drawing.log_numbers(axis)
    schemas = rows.groupby("schema", sort=False, dropna=False)
    names = drawing.distinct([name for name, _ in schemas], column="schema")
    for i, (name, (_, own)) in enumerate(zip(names, schemas, strict=True)):
        x, y = (own[column].astype(float) for column in ("pdf_tokens", "gold_tokens"))
        colour, marker = PALETTE[i % len(PALETTE)], _MARKERS[i % len(_MARKERS)]
        style: dict[str, Any] = {"color": colour, "marker": marker, "alpha": 0.85, "linewidth": 0}
        ax.scatter(x, y, s=42, label=name, **style)
    title = "Tokens of gold by tokens of the PDF, per document"
    if len(rows):
        both = rows[["pdf_tokens", "gold_tokens"]].to_numpy(dtype=float)
        ends = np.array([both.min() / 1.5, both.max() * 1.5])
        even: dict[str, Any] = {"color": GREY, "linewidth": 1, "linestyle": "--", "zorder": 0}
        ax.plot(ends, ends, label="as much written as read", **even)
        drawing.legend_above(ax, title)
        title = ""
    of_text = "GPT-2 tokens of the PDF's text"
    drawing.titled(ax, title, x=of_text, y="GPT-2 tokens of gold")
    drawing.quiet(ax)
    ax.spines["left"].set(visible=True, color=ax.spines["bottom"].get_edgecolor())
    return ax
