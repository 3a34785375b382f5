"""Figures of a dataset: input and output lengths, complexity, audit findings."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from extractbench_nb.benchmark import display_name
from extractbench_nb.views.plots import axes as drawing
from extractbench_nb.views.plots.axes import BLUE, GREY, INK, PALE, PALETTE, VERMILLION, words

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from extractbench_nb.gold import Audit

_FACTORS = ("pages", "keys", "depth", "tokens", "fields", "array_items")
_MARKERS = "osD^vPX*"
#: Width of a number beside a point, with its distance, in points.
_NUMBER = 46.0


def tokens(table: pd.DataFrame, *, ax: Axes | None = None) -> Axes:
    """Draw input and output per document: tokens of PDF text and of gold.

    Left part of Figure 2 of the ExtractBench paper.

    Parameters
    ----------
    table : pandas.DataFrame
        ``benchmark.table("figure2")``, or ``complexity(ds, by="domain")``.
    ax : matplotlib.axes.Axes, optional
        Where to draw; a new figure by default.

    Returns
    -------
    matplotlib.axes.Axes
        One row per domain: a line from input to output, in GPT-2 tokens on a logarithmic axis.
        Unknown figures are left out.

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
    frame = drawing.measured(table, ("input_tokens", "output_tokens"), "table")
    ax = drawing.new_axes(ax, 0.9 + 0.5 * len(frame))
    rows = np.arange(len(frame))
    ends = {"PDF text": ("input_tokens", BLUE), "gold JSON": ("output_tokens", VERMILLION)}
    drawing.segments(ax, frame.min(axis=1), frame.max(axis=1), PALE)
    for name, (column, colour) in ends.items():
        other = frame.drop(columns=column).iloc[:, 0]
        ax.scatter(frame[column], rows, s=55, color=colour, zorder=2, label=name)
        for row, (value, end) in enumerate(zip(frame[column], other, strict=True)):
            _label(ax, value, row, colour, left=bool(value < end))
    _log_rows(ax, frame, "GPT-2 tokens per document, average")
    drawing.legend_above(ax, "What there is to read, and to write")
    return ax


def compression(table: pd.DataFrame, *, ax: Axes | None = None) -> Axes:
    """Draw the ratio of input to output tokens.

    Right part of Figure 2 of the ExtractBench paper.

    Parameters
    ----------
    table : pandas.DataFrame
        ``benchmark.table("figure2")``, or ``complexity(ds, by="domain")``.
    ax : matplotlib.axes.Axes, optional
        Where to draw; a new figure by default.

    Returns
    -------
    matplotlib.axes.Axes
        One row per domain, its ratio on a logarithmic axis, with a line at 1.

    Raises
    ------
    InputError
        A column is missing, or the frame is empty.

    Examples
    --------
    >>> import extractbench_nb as xb
    >>> ax = xb.plots.compression(xb.benchmark.table("figure2"))
    >>> ax.get_xlabel()
    'PDF tokens / gold tokens'
    """
    frame = drawing.measured(table, ("ratio",), "table")
    ax = drawing.new_axes(ax, 0.9 + 0.5 * len(frame))
    rows = np.arange(len(frame))
    colours = np.where((frame["ratio"] >= 1).to_numpy(), BLUE, VERMILLION)
    ax.axvline(1, color=GREY, linewidth=1, linestyle="--", zorder=1)
    drawing.segments(ax, np.ones(len(frame)), frame["ratio"], colours)
    ax.scatter(frame["ratio"], rows, s=55, color=colours, zorder=2)
    for row, value in enumerate(frame["ratio"]):
        text = f"{value:.1f}×" if value >= 1 else f"{value:.2f}×"
        _label(ax, value, row, str(colours[row]), left=bool(value < 1), text=text)
    _log_rows(ax, frame, "PDF tokens / gold tokens")
    drawing.titled(ax, "Read for one token written")
    return ax


def _label(
    ax: Axes, value: float, row: int, colour: str, *, left: bool, text: str | None = None
) -> None:
    if not np.isfinite(value):
        return
    style = {"ha": "right" if left else "left", "va": "center", "color": colour, "fontsize": 9}
    drawing.note(ax, text or drawing.number(value), (value, row), (-8 if left else 8, 0), **style)


def _log_rows(ax: Axes, frame: pd.DataFrame, unit: str) -> None:
    """Set a logarithmic axis with room for numbers at both ends, and one row per domain."""
    ax.set_xscale("log")
    drawing.log_numbers(ax.xaxis)
    drawing.row_labels(ax, frame.index)
    values = frame.to_numpy(dtype=float)
    known = values[np.isfinite(values) & (values > 0)]
    if len(known):
        share = min(_NUMBER / drawing.inner(ax), 0.4)
        edge = max(np.ptp(np.log(known)), 0.5) * share / (1 - 2 * share)
        ax.set_xlim(known.min() * np.exp(-edge), known.max() * np.exp(edge))
    ax.set_ylim(len(frame) - 0.5, -0.5)
    drawing.titled(ax, x=unit, grid="x")


def documents(frame: pd.DataFrame, *, ax: Axes | None = None) -> Axes:
    """Draw every document: tokens of its PDF's text against tokens of its gold.

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
    title = "Every document"
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


def complexity(table: pd.DataFrame, *, ax: Axes | None = None) -> Axes:
    """Draw how complex each domain is, factor by factor.

    Tables 1 and 6 of the ExtractBench paper as a picture.

    Parameters
    ----------
    table : pandas.DataFrame
        ``benchmark.table(6)``, ``benchmark.published(6)`` or ``complexity(ds, by="domain")``.
    ax : matplotlib.axes.Axes, optional
        Where to draw; a new figure by default.

    Returns
    -------
    matplotlib.axes.Axes
        One row per domain, one column per factor, shaded by its share of the column's maximum.
        Pages, tokens, fields and array items are averages per document; a dash marks an unknown
        one.

    Raises
    ------
    InputError
        A column is missing, or the frame is empty.

    Examples
    --------
    >>> import extractbench_nb as xb
    >>> ax = xb.plots.complexity(xb.benchmark.published(6))
    >>> [label.get_text() for label in ax.get_xticklabels()]
    ['pages', 'keys', 'depth', 'tokens', 'fields', 'array items']
    """
    frame = drawing.measured(table, _FACTORS, "table")
    ax = drawing.new_axes(ax, 1.0 + 0.45 * len(frame))
    top = frame.max().where(lambda column: column > 0, 1.0)
    shares = (frame / top).rename(columns=display_name)
    drawing.heat(ax, shares, [[drawing.number(value) for value in row] for row in frame.to_numpy()])
    x = "average per document; shade: share of the column's largest"
    drawing.titled(ax, "Complexity by domain", x=x)
    return ax


def findings(audit: Audit, *, ax: Axes | None = None) -> Axes:
    """Draw what an audit found, by kind and domain.

    Parameters
    ----------
    audit : Audit
        The result of ``xb.gold.audit``.
    ax : matplotlib.axes.Axes, optional
        Where to draw; a new figure by default.

    Returns
    -------
    matplotlib.axes.Axes
        One row per kind that occurs, in the order of `Audit.kinds()`, with its severity; one column
        per domain; shaded by the logarithm of the number of findings. If there are no findings,
        a sentence says so.

    Examples
    --------
    >>> import extractbench_nb as xb
    >>> found = xb.gold.audit(xb.load_dataset(), kinds=["malformed_date", "duplicate_item"])
    >>> xb.plots.findings(found).get_title(loc="left")
    "Findings of the audit of 'sample'"
    """
    summary = audit.summary
    domains = audit.documents["domain"].drop_duplicates().tolist()
    kinds = audit.kinds().set_index("kind")
    table = summary.pivot_table(
        index="kind", columns="domain", values="findings", aggfunc="sum", fill_value=0
    )
    table = table.reindex(index=kinds.index.intersection(table.index, sort=False))
    table = table.reindex(columns=domains, fill_value=0)
    ax = drawing.new_axes(ax, 1.2 + 0.28 * max(len(table), 1))
    drawing.titled(ax, f"Findings of the audit of {words(audit.dataset)!r}")
    if table.empty:
        none = f"no findings in {len(audit.documents)} documents"
        ax.text(0.5, 0.5, none, ha="center", va="center", color=INK, transform=ax.transAxes)
        ax.set(xticks=[], yticks=[], xlabel="domain")
        ax.spines[:].set_visible(False)
        return ax
    severity = kinds["severity"]
    counts = table.to_numpy(dtype=float)
    logs = np.log1p(counts)
    labels = [f"{kind} ({severity[kind]})" for kind in table.index]
    shades = pd.DataFrame(logs / logs.max(), index=labels, columns=table.columns)
    drawing.heat(ax, shades, [[drawing.number(n) if n else "·" for n in row] for row in counts])
    drawing.titled(ax, x="domain")
    return ax
