"""What all figures share: colours, Axes, safe words, heat maps and stacked bars."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
import numpy.typing as npt
import pandas as pd

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = [
    "BLUE",
    "GREY",
    "INK",
    "MISSING",
    "ORANGE",
    "PALETTE",
    "VERMILLION",
    "heat",
    "ink_on",
    "new_axes",
    "number",
    "quiet",
    "segments",
    "spread",
    "stack",
    "words",
]

Numbers: TypeAlias = npt.NDArray[np.float64]

BLUE, VERMILLION, GREEN, PURPLE = "#0072B2", "#D55E00", "#009E73", "#CC79A7"
ORANGE, SKY, YELLOW, BLACK = "#E69F00", "#56B4E9", "#F0E442", "#000000"

#: Okabe and Ito's colours, which readers with any colour vision tell apart.
PALETTE = (BLUE, VERMILLION, GREEN, PURPLE, ORANGE, SKY, YELLOW, BLACK)

INK, GREY, RULE, MISSING = "#1a1a1a", "#6b6b6b", "#d9d9d9", "#ededed"

_WIDTH = 7.5
_LONGEST = 40

#: A part of a bar narrower than this share of the longest bar gets no number.
_NARROW = 0.03


def new_axes(ax: Axes | None, height: float) -> Axes:
    """Return the given Axes, or those of a new figure of notebook width.

    Parameters
    ----------
    ax : matplotlib.axes.Axes or None
        Where to draw.
    height : float
        Height of a new figure in inches.

    Returns
    -------
    matplotlib.axes.Axes
        The Axes.
    """
    if ax is not None:
        return ax
    from matplotlib import pyplot as plt

    return plt.subplots(figsize=(_WIDTH, height), layout="constrained")[1]


def words(text: object, longest: int = _LONGEST) -> str:
    r"""Make any text fit for a label: one line, short, printable, without math.

    Parameters
    ----------
    text : object
        A name from data.
    longest : int, optional
        Characters to keep, 2 and up.

    Returns
    -------
    str
        The label; dollar signs are escaped, so that matplotlib shows them as they are. A space
        comes before an underscore, with which a name is left out of legends.

    Examples
    --------
    >>> words("a\nlong  name", longest=8)
    'a long …'
    """
    line = " ".join(str(text).split())
    line = "".join(c if c.isprintable() else "\N{REPLACEMENT CHARACTER}" for c in line)
    short = line if len(line) <= longest else line[: longest - 1] + "…"
    return (" " if short.startswith("_") else "") + short.replace("$", r"\$")


def number(value: float) -> str:
    """Write a number in three or four digits, with thousands separators.

    Parameters
    ----------
    value : float
        Any number; NaN is a dash.

    Returns
    -------
    str
        The number.

    Examples
    --------
    >>> number(25369.83), number(15.7), number(3.0), number(float("nan"))
    ('25,370', '15.7', '3', '–')
    """
    if not np.isfinite(value):
        return "–"
    whole = abs(value) >= 100 or float(value).is_integer()  # noqa: PLR2004 - three digits
    return f"{value:,.0f}" if whole else f"{value:,.1f}"


def quiet(ax: Axes, *, grid: str | None = None) -> None:
    """Take away what no reader needs: frame, tick marks; add a faint grid along one axis."""
    ax.spines[["top", "right", "left"]].set_visible(False)
    ax.spines["bottom"].set_color(RULE)
    ax.tick_params(length=0, labelsize=9, colors=INK)
    if grid:
        ax.grid(axis="x" if grid == "x" else "y", color=RULE, linewidth=0.6)
        ax.set_axisbelow(True)


def ink_on(colour: Any) -> str:
    """Return black or white, whichever reads better on a colour.

    Parameters
    ----------
    colour : colour
        As matplotlib takes it.

    Returns
    -------
    str
        ``"#1a1a1a"`` or ``"white"``, by the contrast ratio of WCAG 2.1.
    """
    from matplotlib.colors import to_rgb

    parts = np.array(to_rgb(colour))
    linear = np.where(parts <= 0.04045, parts / 12.92, ((parts + 0.055) / 1.055) ** 2.4)  # noqa: PLR2004 - sRGB
    light = float(linear @ [0.2126, 0.7152, 0.0722])
    return INK if (light + 0.05) ** 2 > 1.05 * 0.06 else "white"


def spread(places: Sequence[float], gap: float) -> list[float]:
    """Move labels apart along one axis, in their order and as little as needed.

    Parameters
    ----------
    places : sequence of float
        Where the labels belong.
    gap : float
        Least distance between two of them.

    Returns
    -------
    list of float
        Where they go, in the order of `places`.

    Examples
    --------
    >>> spread([1.0, 1.0, 5.0], gap=1.0)
    [0.5, 1.5, 5.0]
    """
    order = sorted(range(len(places)), key=lambda i: places[i])
    groups: list[list[int]] = []
    for i in order:
        groups.append([i])
        while len(groups) > 1 and _too_near(groups[-2], groups[-1], places, gap):
            last = groups.pop()
            groups[-1] += last
    moved = {i: place for g in groups for i, place in zip(g, _around(g, places, gap), strict=True)}
    return [moved[i] for i in range(len(places))]


def _around(group: list[int], places: Sequence[float], gap: float) -> list[float]:
    centre = sum(places[i] for i in group) / len(group)
    return [centre + gap * (k - (len(group) - 1) / 2) for k in range(len(group))]


def _too_near(one: list[int], two: list[int], places: Sequence[float], gap: float) -> bool:
    distance = _around(two, places, gap)[0] - _around(one, places, gap)[-1]
    return distance < gap * (1 - 1e-9)


def heat(ax: Axes, shades: pd.DataFrame, texts: Sequence[Sequence[str]]) -> None:
    """Draw a table whose cells are shaded from white to blue, each with its number.

    Parameters
    ----------
    ax : matplotlib.axes.Axes
        Where to draw.
    shades : pandas.DataFrame
        From 0 to 1; grey where missing. Index and columns are the labels.
    texts : sequence of sequence of str
        What stands in the cells, row by row.
    """
    from matplotlib import colormaps

    rows, columns = shades.shape
    values = shades.to_numpy(dtype=float, na_value=np.nan)
    palette = colormaps["Blues"]
    mesh = np.ma.masked_invalid(values)
    ax.pcolormesh(mesh, cmap=palette, vmin=0, vmax=1, edgecolors="white", linewidth=1.5)
    ax.set_facecolor(MISSING)
    ax.set(xlim=(0, columns), ylim=(rows, 0))
    ax.set_xticks(np.arange(columns) + 0.5, [words(c, 18) for c in shades.columns])
    ax.set_yticks(np.arange(rows) + 0.5, [words(r) for r in shades.index])
    quiet(ax)
    ax.spines["bottom"].set_visible(False)
    for row, column in np.ndindex(rows, columns):
        known = np.isfinite(values[row, column])
        ink = ink_on(palette(values[row, column])) if known else GREY
        where = (column + 0.5, row + 0.5)
        ax.text(*where, texts[row][column], ha="center", va="center", color=ink, fontsize=8.5)


def segments(ax: Axes, low: Any, high: Any, colours: Any) -> None:
    """Draw one horizontal line a row, from low to high; none where an end is not known.

    Parameters
    ----------
    ax : matplotlib.axes.Axes
        Where to draw.
    low, high : sequence of float
        Ends, one a row.
    colours : colour or sequence of colours
        One for all rows, or one a row.
    """
    ends = np.column_stack([np.asarray(low, dtype=float), np.asarray(high, dtype=float)])
    rows = np.flatnonzero(np.isfinite(ends).all(axis=1))
    if len(rows):
        own = np.broadcast_to(colours, len(ends))[rows].tolist()
        ax.hlines(rows, ends[rows, 0], ends[rows, 1], colors=own, linewidth=2, zorder=1)


def stack(ax: Axes, table: pd.DataFrame, colours: Sequence[str], title: str) -> None:
    """Draw one bar a row, from left to right its columns, numbers inside, a legend above.

    Parameters
    ----------
    ax : matplotlib.axes.Axes
        Where to draw.
    table : pandas.DataFrame
        Counts; index and columns are the labels, the first row is on top.
    colours : sequence of str
        One a column.
    title : str
        What stands above the legend.
    """
    left = np.zeros(len(table))
    longest = float(table.sum(axis=1).max()) or 1.0
    for name, colour in zip(table.columns, colours, strict=True):
        widths = table[name].to_numpy(dtype=float)
        rows = np.arange(len(table))
        style: dict[str, Any] = {"color": colour, "edgecolor": "white", "linewidth": 0.8}
        ax.barh(rows, widths, left=left, height=0.68, label=words(name), **style)
        for row in np.flatnonzero(widths > _NARROW * longest):
            middle, ink = left[row] + widths[row] / 2, ink_on(colour)
            ax.text(
                middle,
                float(row),
                number(widths[row]),
                ha="center",
                va="center",
                color=ink,
                fontsize=8.5,
            )
        left += widths
    ax.set_yticks(np.arange(len(table)), [words(r) for r in table.index])
    ax.set(xlim=(0, longest * 1.02), ylim=(len(table) - 0.5, -0.5))
    quiet(ax, grid="x")
    _legend_above(ax, len(table.columns), title)


_MOST_IN_A_LINE = 5


def _legend_above(ax: Axes, entries: int, title: str) -> None:
    lines = -(-entries // _MOST_IN_A_LINE)
    ax.legend(
        loc="lower left",
        bbox_to_anchor=(0, 1.0),
        ncols=-(-entries // lines),
        frameon=False,
        fontsize=8.5,
        handlelength=1.0,
        handleheight=1.0,
        columnspacing=1.4,
        borderaxespad=0.2,
    )
    ax.set_title(title, loc="left", fontsize=10.5, pad=10 + 16 * lines)
