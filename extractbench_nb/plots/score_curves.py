"""Score curves: scores against corruption rates, table metrics against the share kept."""

from __future__ import annotations

from collections import Counter, defaultdict
from typing import TYPE_CHECKING, Any

import pandas as pd

from extractbench_nb.errors import InputError
from extractbench_nb.plots.drawing import (
    GREY,
    INK,
    PALETTE,
    checked,
    known,
    new_axes,
    quiet,
    spread,
    titled,
    words,
)

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_COLUMNS = ("metric", "profile", "measure", "corruption", "rate", "score", "low", "high")
_STYLES = ("-", "--", ":", "-.")
_MOST = len(PALETTE) * len(_STYLES)

#: More lines than this are drawn without the bands of their intervals.
_MOST_WITH_BANDS = 8

#: Distance of two names in points, and how far below 0 a name may go, as a share of the score.
_APART, _LOWEST = 13.0, 0.01
_POINTS_PER_INCH = 72


def sensitivity(frame: pd.DataFrame, *, ax: Axes | None = None) -> Axes:
    """Draw the score against the rate of corruption, one line per corruption and metric or profile.

    Parameters
    ----------
    frame : pandas.DataFrame
        As `sensitivity` of the package returns it; rows may be left out.
    ax : matplotlib.axes.Axes, optional
        Where to draw; a new figure by default.

    Returns
    -------
    matplotlib.axes.Axes
        Lines with their names at the right end; up to eight with their intervals as bands. Where
        there are several corruptions and several metrics or profiles, the colour is the corruption.
        What has no score is left out. For documents a dotted line shows 1 - rate: the score if all
        that is corrupted, and nothing else, were lost.

    Raises
    ------
    InputError
        Columns or scores are missing, or there are more than 32 lines.
    """
    table = checked(frame, (*_COLUMNS, "document"), "frame")
    scored = table[table["score"].notna()]
    if scored.empty:
        raise InputError("frame: no row has a score")
    places = defaultdict(list)  # not groupby, which cannot hold a lone surrogate
    for place, key in enumerate(zip(scored["corruption"], _subjects(scored), strict=True)):
        places[key].append(place)
    lines = {key: scored.iloc[own].sort_values("rate") for key, own in places.items()}
    if len(lines) > _MOST:
        raise InputError(f"frame has {len(lines)} lines; choose rows of at most {_MOST}")
    ax = new_axes(ax, max(3.8, 1.2 + 0.19 * len(lines)))
    last = float(scored["rate"].max()) or 1.0
    ax.set(xlim=(0, last), ylim=(0, 1.03))
    of_documents = table["document"].notna().any()
    if of_documents:
        ax.plot([0, last], [1, 1 - last], color=GREY, linewidth=0.9, linestyle=(0, (1, 3)))
    ends = []
    for (key, rows), style in zip(lines.items(), _styles(list(lines)), strict=True):
        numbers = rows[["rate", "score", "low", "high"]].astype("float64")
        rate, score = numbers["rate"].to_numpy(), numbers["score"].to_numpy()
        ax.plot(rate, score, linewidth=1.8, marker="o", markersize=3.5, zorder=3, **style)
        band = numbers.dropna()
        if len(lines) <= _MOST_WITH_BANDS and len(band):
            rate, low, high = (band[name].to_numpy() for name in ("rate", "low", "high"))
            colour = style["color"]
            ax.fill_between(rate, low, high, color=colour, alpha=0.1, linewidth=0, zorder=2)
        # what all lines share is in the title
        apart = [key[i] for i in (0, 1) if len({other[i] for other in lines}) > 1]
        ends.append((words(" · ".join(apart or key[:1])), float(score[-1]), style["color"]))
    if of_documents:
        ends.append(("1 − rate", 1 - last, GREY))
    _name(ax, ends)
    what = "of the places that are corrupted" if of_documents else "of each value that is changed"
    measures = words(" or ".join(table["measure"].str.replace("_", " ").unique()))
    titled(ax, x=f"rate: share {what}", y=measures)
    quiet(ax, grid="y")
    shared = [set(names) for names in (table["corruption"], _subjects(table))]
    parts = [words(next(iter(names))) for names in shared if len(names) == 1]
    titled(ax, "Score under corruption" + (": " + ", ".join(parts) if parts else ""))
    return ax


def _subjects(table: pd.DataFrame) -> list[str]:
    """Name what was tried; a metric with its profile where it was tried under several."""
    pairs = list(zip(table["metric"], table["profile"], strict=True))
    under = Counter(metric for metric, _ in set(pairs) if not pd.isna(metric))
    return [
        profile if pd.isna(metric) else f"{metric}, {profile}" if under[metric] > 1 else metric
        for metric, profile in pairs
    ]


def _styles(lines: list[tuple[str, str]]) -> list[dict[str, Any]]:
    """Tell lines apart; the colour is the corruption where there are several."""
    first, second = (0, 1) if len({corruption for corruption, _ in lines}) > 1 else (1, 0)
    hues = list(dict.fromkeys(key[first] for key in lines))
    kinds = list(dict.fromkeys(key[second] for key in lines))
    styles = []
    for key in lines:
        hue = hues.index(key[first])
        turn = hue // len(PALETTE) + (kinds.index(key[second]) if len(kinds) > 1 else hue)
        colour = PALETTE[hue % len(PALETTE)]
        styles.append({"color": colour, "linestyle": _STYLES[turn % len(_STYLES)]})
    return styles


def _name(ax: Axes, ends: list[tuple[str, float, str]]) -> None:
    """Write the names of lines beside their right ends, one below the other."""
    height = ax.get_window_extent().height / ax.figure.dpi * _POINTS_PER_INCH
    gap = _APART / height
    places = spread([end for _, end, _ in ends], gap)
    lowest = _LOWEST
    for i in sorted(range(len(places)), key=lambda i: places[i]):
        places[i] = max(places[i], lowest)  # not over the numbers of the axis
        lowest = places[i] + gap
    right = ax.get_xlim()[1]
    arrow = {"arrowstyle": "-", "linewidth": 0.8, "shrinkA": 0, "shrinkB": 2, "relpos": (0, 0.5)}
    style: dict[str, Any] = {"va": "center", "fontsize": 8.5, "color": INK}
    for (label, end, colour), place in zip(ends, places, strict=True):
        ax.annotate(
            label,
            xy=(right, end),
            xytext=(10, place),
            textcoords=("offset points", "data"),
            annotation_clip=False,
            arrowprops={**arrow, "color": colour},
            **style,
        )


_CURVE_COLUMNS = ("mode", "x", "metric", "score", "tables")
_IDEAL = "ideal"
_LINE_STYLES = ("-", "--", ":")
#: Distance of two names, as a share of the score.
_LABELS_APART = 0.06
_WHAT = {"rows": "each row", "columns": "each column", "both": "each row and column"}


def keep_curves(frame: pd.DataFrame, mode: str = "both", *, ax: Axes | None = None) -> Axes:
    """Draw the mean score against the probability of keeping rows or columns.

    Figure 6 of the PubTables-1M paper, for any metrics.

    Parameters
    ----------
    frame : pandas.DataFrame
        As `keep_curves` of the package returns it; rows may be left out.
    mode : str, optional
        ``rows``, ``columns`` or ``both``.
    ax : matplotlib.axes.Axes, optional
        Where to draw; a new figure by default.

    Returns
    -------
    matplotlib.axes.Axes
        One line per metric, named at the right in the order of the lines at half way; thick and
        pale what keeping that share of the positions is worth.

    Raises
    ------
    InputError
        Columns are missing, or there is nothing of that mode to draw.
    """
    table = checked(frame, _CURVE_COLUMNS, "frame")
    known(mode, dict.fromkeys(table["mode"]), "mode")
    rows = table[(table["mode"] == mode) & table["score"].notna()].sort_values("x")
    if rows.empty:
        raise InputError(f"frame: no row of mode {mode!r} has a score")
    ax = new_axes(ax, 3.8)
    ideal = rows[rows["metric"] == _IDEAL]
    ax.plot(ideal["x"], ideal["score"], color="#cfcfcf", linewidth=6, solid_capstyle="round")
    ends = []
    for n, name in enumerate(name for name in dict.fromkeys(rows["metric"]) if name != _IDEAL):
        line = rows[rows["metric"] == name]
        style: dict[str, Any] = {
            "color": PALETTE[n % len(PALETTE)],
            "ls": _LINE_STYLES[n // len(PALETTE) % 3],
        }
        ax.plot(line["x"], line["score"], linewidth=1.6, **style)
        ends.append((words(name), float(line["score"].iloc[len(line) // 2]), style))
    ends.sort(key=lambda end: end[1])
    heights = spread([score for _, score, _ in ends], _LABELS_APART)
    for (label, _, style), y in zip(ends, heights, strict=True):
        ax.annotate(label, (1.06, y), color=INK, fontsize=8, va="center", annotation_clip=False)
        ax.plot([1.01, 1.05], [y, y], linewidth=2, clip_on=False, **style)
    ax.set(xlim=(0, 1), ylim=(0, 1.02))
    x = f"x: probability of keeping {_WHAT.get(mode, words(mode))}"
    y_label = f"mean score of {rows['tables'].max():,} tables"
    titled(ax, f"{words(mode)} kept; grey: 2s / (1 + s) for a share s", x=x, y=y_label)
    quiet(ax, grid="y")
    return ax
