"""Score curves: scores against corruption rates, table metrics against the share kept."""

from __future__ import annotations

from collections import Counter, defaultdict
from typing import TYPE_CHECKING, Any, NamedTuple

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

__all__ = ["keep_curves", "sensitivity"]


_COLUMNS = ("metric", "profile", "measure", "corruption", "rate", "score", "low", "high")
_STYLES = ("-", "--", ":", "-.")
_MOST = len(PALETTE) * len(_STYLES)

#: More lines than this are drawn without the bands of their intervals.
_MOST_WITH_BANDS = 8

#: Distance of two names in points, and how far below 0 a name may go, as a share of the score.
_APART, _LOWEST = 13.0, 0.01
_POINTS_PER_INCH = 72


class _Line(NamedTuple):
    label: str
    rows: pd.DataFrame
    style: dict[str, Any]

    @property
    def colour(self) -> str:
        return str(self.style["color"])


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
    lines = _lines(table[table["score"].notna()])
    ax = new_axes(ax, max(3.8, 1.2 + 0.19 * len(lines)))
    last = max(line.rows["rate"].iloc[-1] for line in lines) or 1.0
    ax.set(xlim=(0, last), ylim=(0, 1.03))
    ends = [(line.label, float(line.rows["score"].iloc[-1]), line.colour) for line in lines]
    of_documents = table["document"].notna().any()
    if of_documents:
        ax.plot([0, last], [1, 1 - last], color=GREY, linewidth=0.9, linestyle=(0, (1, 3)))
        ends.append(("1 − rate", 1 - last, GREY))
    for line in lines:
        _draw_line(ax, line, band=len(lines) <= _MOST_WITH_BANDS)
    _name(ax, ends)
    what = "of the places that are corrupted" if of_documents else "of each value that is changed"
    titled(ax, x=f"rate: share {what}", y=_measures(table))
    quiet(ax, grid="y")
    titled(ax, _title(table))
    return ax


def _lines(table: pd.DataFrame) -> list[_Line]:
    """Return the lines, each with the style that tells it apart from the others."""
    if table.empty:
        raise InputError("frame: no row has a score")
    places = defaultdict(list)
    for place, key in enumerate(zip(table["corruption"], _subjects(table), strict=True)):
        places[key].append(place)
    keys = list(places)
    if len(keys) > _MOST:
        raise InputError(f"frame has {len(keys)} lines; choose rows of at most {_MOST}")
    return [
        _Line(_label(key, keys), table.iloc[places[key]].sort_values("rate"), style)
        for key, style in zip(keys, _styles(keys), strict=True)
    ]


def _subjects(table: pd.DataFrame) -> list[str]:
    """Name what was tried; a metric with its profile where it was tried under several."""
    pairs = list(zip(table["metric"], table["profile"], strict=True))
    under = Counter(metric for metric, _ in set(pairs) if not pd.isna(metric))
    return [
        profile if pd.isna(metric) else f"{metric}, {profile}" if under[metric] > 1 else metric
        for metric, profile in pairs
    ]


def _styles(keys: list[tuple[str, str]]) -> list[dict[str, Any]]:
    several_corruptions = len({corruption for corruption, _ in keys}) > 1
    first, second = (0, 1) if several_corruptions else (1, 0)
    hues = list(dict.fromkeys(key[first] for key in keys))
    kinds = list(dict.fromkeys(key[second] for key in keys))
    styles = []
    for key in keys:
        hue = hues.index(key[first])
        turn = hue // len(PALETTE) + (kinds.index(key[second]) if len(kinds) > 1 else hue)
        colour = PALETTE[hue % len(PALETTE)]
        styles.append({"color": colour, "linestyle": _STYLES[turn % len(_STYLES)]})
    return styles


def _label(key: tuple[str, str], keys: list[tuple[str, str]]) -> str:
    """Name a line by what differs between the lines."""
    parts = [key[i] for i in (0, 1) if len({k[i] for k in keys}) > 1]
    return words(" · ".join(parts or key[:1]))


def _draw_line(ax: Axes, line: _Line, *, band: bool) -> None:
    """Draw the scores of one line, and their intervals as a band if there are any."""
    numbers = line.rows[["rate", "score", "low", "high"]].astype("float64")
    rate, score = numbers["rate"].to_numpy(), numbers["score"].to_numpy()
    ax.plot(rate, score, linewidth=1.8, marker="o", markersize=3.5, zorder=3, **line.style)
    known = numbers.dropna()
    if band and len(known):
        rate, low, high = (known[name].to_numpy() for name in ("rate", "low", "high"))
        ax.fill_between(rate, low, high, color=line.colour, alpha=0.1, linewidth=0, zorder=2)


def _name(ax: Axes, ends: list[tuple[str, float, str]]) -> None:
    """Write the names of lines beside their right ends, one below the other."""
    height = ax.get_window_extent().height / ax.figure.dpi * _POINTS_PER_INCH
    places = _above_ground([end for _, end, _ in ends], _APART / height)
    right = ax.get_xlim()[1]
    for (label, end, colour), place in zip(ends, places, strict=True):
        ax.annotate(
            label,
            xy=(right, end),
            xytext=(10, place),
            textcoords=("offset points", "data"),
            va="center",
            fontsize=8.5,
            color=INK,
            annotation_clip=False,
            arrowprops={
                "arrowstyle": "-",
                "color": colour,
                "linewidth": 0.8,
                "shrinkA": 0,
                "shrinkB": 2,
                "relpos": (0, 0.5),
            },
        )


def _above_ground(places: list[float], gap: float) -> list[float]:
    """Move names apart, and up where the lowest would cover the numbers of the axis."""
    moved = spread(places, gap)
    ground = _LOWEST
    for i in sorted(range(len(moved)), key=lambda i: moved[i]):
        moved[i] = max(moved[i], ground)
        ground = moved[i] + gap
    return moved


def _measures(table: pd.DataFrame) -> str:
    names = dict.fromkeys(table["measure"].str.replace("_", " "))
    return words(" or ".join(names))


def _title(table: pd.DataFrame) -> str:
    """Say what all lines have in common."""
    subjects = set(_subjects(table))
    corruptions = set(table["corruption"])
    parts = [words(next(iter(names))) for names in (corruptions, subjects) if len(names) == 1]
    return "Score under corruption" + (": " + ", ".join(parts) if parts else "")


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
    _name_lines(ax, ends)
    ax.set(xlim=(0, 1), ylim=(0, 1.02))
    titled(
        ax,
        x=f"x: probability of keeping {_WHAT.get(mode, words(mode))}",
        y=f"mean score of {rows['tables'].max():,} tables",
    )
    quiet(ax, grid="y")
    title = f"{words(mode)} kept; grey: 2s / (1 + s) for a share s"
    titled(ax, title)
    return ax


def _name_lines(ax: Axes, ends: list[tuple[str, float, dict[str, Any]]]) -> None:
    ends = sorted(ends, key=lambda end: end[1])
    heights = spread([end[1] for end in ends], _LABELS_APART)
    for (label, _, style), y in zip(ends, heights, strict=True):
        ax.annotate(label, (1.06, y), color=INK, fontsize=8, va="center", annotation_clip=False)
        ax.plot([1.01, 1.05], [y, y], linewidth=2, clip_on=False, **style)
