"""Figures of attempts: how the outputs of runs ended, and how many are valid at which length."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

import pandas as pd

from extractbench_nb.breakdowns.sources import label
from extractbench_nb.errors import InputError
from extractbench_nb.extraction.failing import count_failures, group_attempts
from extractbench_nb.extraction.lengths import LENGTH_COLUMNS
from extractbench_nb.extraction.parsing import FAILURES
from extractbench_nb.plots.drawing import INK, PALETTE, new_axes, quiet, stack, words
from extractbench_nb.plots.tables import checked

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["ENDINGS", "attempts", "validity"]

#: A colour each ending, the same in all figures: blue is valid, warm are texts that are no use,
#: greens and greys are calls that gave none.
ENDINGS: Mapping[str, str] = MappingProxyType(
    {
        "none": "#0072B2",
        "empty_response": "#E69F00",
        "trailing_comma": "#F0E442",
        "truncated_json": "#D55E00",
        "malformed_json": "#CC79A7",
        "not_an_object": "#F6C6DC",
        "schema_violation": "#7A1F4B",
        "page_limit": "#009E73",
        "context_length": "#8FD9BF",
        "schema_rejected": "#14532D",
        "refused": "#333333",
        "rate_limited": "#6b6b6b",
        "timeout": "#a3a3a3",
        "other": "#d4d4d4",
    }
)

_UNITS: Mapping[str, str] = MappingProxyType(
    {
        "gold_tokens": "GPT-2 tokens of gold",
        "gold_values": "values of gold",
        "array_items": "array items of gold",
        "fields": "fields of gold outside of arrays",
        "pages": "pages of the PDF",
        "pdf_tokens": "GPT-2 tokens of the PDF's text",
        "output_tokens": "GPT-2 tokens of the output",
        "output_characters": "characters of the output",
    }
)

_MARKERS = ("o", "s", "D", "^", "v", "P", "X")
_DRAWN = ("shortest", "median", "longest", "share", "low", "high", "valid", "attempts")

#: Distance of two groups at one length, in points.
_APART = 4.0


def attempts(
    frame: pd.DataFrame, *, by: str | Iterable[str] = "run", ax: Axes | None = None
) -> Axes:
    """Draw how the outputs of runs ended.

    Table 7 of the ExtractBench paper as a picture, and what was valid beside it.

    Parameters
    ----------
    frame : pandas.DataFrame
        From `read_outputs`.
    by : str or iterable of str, optional
        What makes a bar, as for `failure_modes`: one column, or several.
    ax : matplotlib.axes.Axes, optional
        Where to draw; a new figure by default.

    Returns
    -------
    matplotlib.axes.Axes
        One bar a group, in the order in which they first occur, stacked by ending: valid outputs
        first, then failures. Endings that nowhere occur are left out; a colour always stands for
        the same one.

    Raises
    ------
    InputError
        The frame is another one or empty, or has no such column.
    """
    rows = checked(frame, ("failure",), "frame")
    groups = group_attempts(rows, by)
    names = [label(key) for key in groups.labels]
    counts = pd.DataFrame(count_failures(rows, groups).T, names, list(FAILURES))
    bars = counts[[name for name in ENDINGS if counts[name].any()]]
    colours = [ENDINGS[name] for name in bars.columns]
    bars.columns = pd.Index([_ending(name) for name in bars.columns])
    ax = new_axes(ax, 1.4 + 0.4 * len(bars))
    stack(ax, bars, colours, f"How outputs ended by {words(' and '.join(map(str, groups.names)))}")
    ax.set_xlabel("outputs", fontsize=9)
    return ax


def _ending(name: str) -> str:
    return "valid" if name == "none" else name.replace("_", " ")


def validity(frame: pd.DataFrame, *, ax: Axes | None = None) -> Axes:
    """Draw how many outputs are valid, from short ones to long ones.

    Parameters
    ----------
    frame : pandas.DataFrame
        From `validity_by_length`, of one measure.
    ax : matplotlib.axes.Axes, optional
        Where to draw; a new figure by default.

    Returns
    -------
    matplotlib.axes.Axes
        A point a bin, at the median of its lengths, with the interval; a colour and shape a group.
        Of a single group also valid of all outputs, and a line from the shortest to the longest;
        points of several groups are moved apart. The axis is logarithmic where no length is 0.
        Attempts without a length are counted in the title.

    Raises
    ------
    InputError
        The frame is another one or empty, is of several measures, or no attempt has a length.
    """
    rows = checked(frame, LENGTH_COLUMNS.names, "frame")
    measures = rows["measure"].unique().tolist()
    if len(measures) > 1:
        raise InputError(f"frame: of {len(measures)} measures ({', '.join(measures)}); draw one")
    left_out = int(rows.loc[rows["bin"].isna(), "attempts"].sum())
    rows = rows[rows["bin"].notna()]
    if rows.empty:
        raise InputError(f"frame: none of {left_out:,} attempts has a length, nothing to draw")
    names = frame.columns[: frame.columns.get_loc("measure")].tolist()
    groups = group_attempts(rows, names or None)
    ax = new_axes(ax, 3.6)
    _set_axes(ax, rows, measures[0])
    for number, key in enumerate(groups.labels):
        own = rows[groups.numbers == number].astype(dict.fromkeys(_DRAWN, "float64"))
        _draw_group(ax, own, number, len(groups.labels), label(key))
    _finish(ax, left_out, groups.names)
    return ax


def _set_axes(ax: Axes, rows: pd.DataFrame, measure: str) -> None:
    """Set the scale and the limits, with room for numbers on the right."""
    from matplotlib.ticker import FuncFormatter, NullFormatter

    low, high = float(rows["shortest"].min()), float(rows["longest"].max())
    if low > 0:
        ax.set_xscale("log")
        ax.set_xlim(low / 1.6, high * 2.2)
        ax.xaxis.set_minor_formatter(NullFormatter())
    else:
        room = 0.1 * (high - low) or 1.0
        ax.set_xlim(low - 0.5 * room, high + 1.5 * room)
    ax.xaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:,g}"))
    ax.set_ylim(-6, 106)
    ax.set_xlabel(_UNITS.get(measure, words(measure)), fontsize=9)
    ax.set_ylabel("valid outputs (%)", fontsize=9)
    quiet(ax, grid="y")
    ax.tick_params(axis="x", which="minor", length=0)


def _draw_group(ax: Axes, own: pd.DataFrame, number: int, groups: int, name: str) -> None:
    from matplotlib.transforms import offset_copy

    apart = _APART * (number - (groups - 1) / 2)
    moved = offset_copy(ax.transData, fig=ax.get_figure(root=True), x=apart, units="points")
    colour, marker = PALETTE[number % len(PALETTE)], _MARKERS[number % len(_MARKERS)]
    at, share = own["median"], 100 * own["share"]
    style: dict[str, Any] = {"color": colour, "transform": moved}
    ax.vlines(at, 100 * own["low"], 100 * own["high"], linewidth=1.6, **style)
    ax.plot(at, share, label=words(name), linewidth=0.9, marker=marker, markersize=6, **style)
    if groups == 1:
        ax.hlines(share, own["shortest"], own["longest"], linewidth=1, alpha=0.5, **style)
        for x, y, valid, tried in zip(at, share, own["valid"], own["attempts"], strict=True):
            ax.annotate(
                f"{valid:.0f}/{tried:.0f}",
                (x, y),
                xytext=(7, 5),
                textcoords="offset points",
                color=INK,
                fontsize=8.5,
            )


def _finish(ax: Axes, left_out: int, names: list[str]) -> None:
    more = f"; {left_out:,} without a length left out" if left_out else ""
    ax.set_title(f"Validity by length{more}", loc="left", fontsize=10.5)
    if names:
        title = words(label(tuple(names)))
        ax.legend(
            title=title,
            loc="center left",
            bbox_to_anchor=(1, 0.5),
            frameon=False,
            fontsize=9,
            title_fontsize=9,
        )
