"""Shared parts of all figures: colours, Axes, escaped labels, heat maps, stacked bars."""

from __future__ import annotations

import textwrap
from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
import numpy.typing as npt
import pandas as pd

from extractbench_nb.benchmark import display_name
from extractbench_nb.core.frames import as_pandas
from extractbench_nb.errors import InputError, nearest, needs, no_column
from extractbench_nb.support.wording import one_line
from extractbench_nb.views.palette import LIGHT, SERIES, ink_on

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.axis import Axis

    from extractbench_nb.views.plots.figures import DataFigure

Numbers: TypeAlias = npt.NDArray[np.float64]

#: Colours of series; blue is also what rises or is significant, vermillion what falls or is not.
PALETTE = SERIES
BLUE, VERMILLION = PALETTE[:2]

INK, GREY = LIGHT.texts["on-high"], LIGHT.texts["quiet"]
RULE, MISSING, PALE = "#d9d9d9", "#ededed", "#bdbdbd"

_WIDTH, _GRID_WIDTH = 7.5, 9.0
_SIZE, _SMALLEST = 8.5, 5.5
_LONGEST = 40

#: Width of a character as a share of the size of the letters, and points per inch.
_CHARACTER, _INCH = 0.6, 72

#: The place of a legend above the Axes, and its look.
_ABOVE: dict[str, Any] = {"loc": "lower left", "bbox_to_anchor": (0, 1.0), "frameon": False}
_ABOVE |= {"handlelength": 1.2, "handleheight": 1.0, "columnspacing": 1.4}
_ABOVE |= {"borderaxespad": 0.2, "borderpad": 0.2}


def new_axes(ax: Axes | None, height: float) -> Axes:
    """Return the given Axes, or those of a new figure of notebook width."""
    return _new_figure(_WIDTH, height).add_subplot() if ax is None else ax


def _new_figure(width: float, height: float) -> DataFigure:
    needs("matplotlib", "notebook")
    from extractbench_nb.views.plots.figures import new_figure

    return new_figure(width, height)


def grid(n: int, *, columns: int = 3, height: float = 2.6) -> tuple[Axes, ...]:
    """Create a figure with several Axes, and return these in reading order.

    Parameters
    ----------
    n : int
        Number of Axes, 1 or more.
    columns : int, optional
        Axes in a row, 1 or more. The figure is 9 inches wide, however many there are.
    height : float, optional
        Height of a row in inches, above 0.

    Returns
    -------
    tuple of matplotlib.axes.Axes
        `n` Axes, row by row; if the last row has fewer, they are wider. Their figure is
        ``axes[0].figure``.

    Raises
    ------
    InputError
        A number is too small.

    Examples
    --------
    >>> import matplotlib
    >>> matplotlib.use("Agg")
    >>> axes = grid(5, columns=3)
    >>> len(axes), axes[0].figure.get_size_inches().tolist()
    (5, [9.0, 5.2])
    """
    if n < 1 or columns < 1 or not height > 0:
        raise InputError(f"grid: expected 1 or more Axes, found {n=}, {columns=}, {height=}")
    rows = -(-n // columns)
    figure = _new_figure(_GRID_WIDTH, height * rows)
    axes: list[Axes] = []
    places = figure.add_gridspec(rows, 1)
    for row in range(rows):
        in_row = min(columns, n - len(axes))
        inside = places[row].subgridspec(1, in_row)
        axes += [figure.add_subplot(inside[column]) for column in range(in_row)]
    return tuple(axes)


def words(text: object, longest: int = _LONGEST) -> str:
    """Make any text fit for a label: one line, short, printable, without math."""
    short = one_line(str(text), longest)
    return (" " if short.startswith("_") else "") + short.replace("$", r"\$")


def distinct(names: Iterable[object], longest: int = _LONGEST, column: str = "run") -> list[str]:
    """Make names fit for labels that stay distinct: the middle of long ones is left out.

    Examples
    --------
    >>> distinct(["simulated GPT-5", "simulated GPT-5.2"], longest=12)
    ['simu…d GPT-5', 'simu…GPT-5.2']
    """
    longest = max(longest, 6)
    start = longest // 3
    labels: dict[str, str] = {}
    texts = [one_line(display_name(name, column), 10 * _LONGEST) for name in names]
    for text in dict.fromkeys(texts):
        label = text
        if len(text) > longest:
            label = f"{text[:start]}…{text[start + 1 - longest :]}"
        if label in labels.values():
            label = f"{label[: longest - 3]} {len(labels) + 1}"
        labels[text] = label
    return [words(labels[text], longest + 1) for text in texts]


def fitting(points: float, size: float = 9) -> int:
    """Return how many characters of a size fit into a width in points."""
    return max(int(points / (_CHARACTER * size)), 1)


def room(ax: Axes) -> float:
    """Return the width in points that Axes may take with labels, before any layout."""
    spec = ax.get_subplotspec()
    share = (
        ax.get_position().width if spec is None else len(spec.colspan) / spec.get_gridspec().ncols
    )
    return share * ax.figure.bbox.width * _INCH / ax.figure.dpi


def inner(ax: Axes) -> float:
    """Return the width in points that is left beside the labels of the rows."""
    lines = [line for label in ax.get_yticklabels() for line in label.get_text().split("\n")]
    return room(ax) - _CHARACTER * 9 * max(3, *map(len, lines), 0) - 30


def row_labels(
    ax: Axes, names: Iterable[object], column: str = "run", *, middle: float = 0.0
) -> None:
    """Name the rows from `middle` on, within their share of the width."""
    labels = distinct(names, fitting(0.45 * room(ax)), column)
    ax.set_yticks(np.arange(len(labels)) + middle, labels)


def number(value: float) -> str:
    """Write a number in three or four digits, with thousands separators."""
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


def titled(
    ax: Axes, title: str = "", *, x: str = "", y: str = "", grid: str = "", pad: float = 6.0
) -> None:
    """Write the title and the names of the axes that are given; with a grid, make it `quiet`."""
    if grid:
        quiet(ax, grid=grid)
    width = inner(ax)
    if title:
        ax.set_title(textwrap.fill(title, fitting(width, 10.5)), loc="left", fontsize=10.5, pad=pad)
    if x:
        ax.set_xlabel(textwrap.fill(x, fitting(width)), fontsize=9)
    if y:
        ax.set_ylabel(y, fontsize=9)


def legend_above(ax: Axes, title: str = "") -> None:
    """Put the legend between the title and the Axes, in as many columns as fit, at most five."""
    handles, entries = ax.get_legend_handles_labels()
    entries = [textwrap.fill(entry, fitting(inner(ax) - 26, _SIZE)) for entry in entries]
    widest = _CHARACTER * _SIZE * max(map(len, entries)) + 26
    lines = -(-len(entries) // min(max(int(inner(ax) / widest), 1), 5))
    ax.legend(handles, entries, ncols=-(-len(entries) // lines), fontsize=_SIZE, **_ABOVE)
    if title:
        titled(ax, title, pad=8.0 + 14 * (lines + sum("\n" in entry for entry in entries)))


def note(
    ax: Axes, text: str, at: tuple[Any, Any], shift: tuple[float, float], **style: Any
) -> None:
    """Write a text at a distance, in points, from a place."""
    options: dict[str, Any] = {"fontsize": _SIZE, "color": INK, "annotation_clip": False, **style}
    ax.annotate(text, at, xytext=shift, textcoords="offset points", **options)


def log_numbers(axis: Axis) -> None:
    """Write the numbers of a logarithmic axis out, at its main ticks alone."""
    from matplotlib.ticker import FuncFormatter, NullFormatter

    def written(value: float, _: object) -> str:
        return f"{value:,g}" if value < 1e5 else f"{value / 1e3:,.0f}k"  # noqa: PLR2004

    axis.set_major_formatter(FuncFormatter(written))
    axis.set_minor_formatter(NullFormatter())
    axis.set_tick_params(which="minor", length=0)


def heat_of_shares(
    ax: Axes, parts: pd.DataFrame, wholes: pd.DataFrame, write: Callable[[float, float], str]
) -> None:
    """Draw parts of wholes as a table of shaded cells; a dash if unknown, or if the whole is 0.

    The lower a share, the stronger its colour, as in the views. Numbers are left out if they are
    too wide for their cells.
    """
    from matplotlib.colors import LinearSegmentedColormap, to_hex

    texts = [
        [
            write(part, whole) if np.isfinite(part) and whole > 0 else "–"
            for part, whole in zip(*row, strict=True)
        ]
        for row in zip(parts.to_numpy(float), wholes.to_numpy(float), strict=True)
    ]
    shades = parts / wholes.where(wholes > 0)
    values = shades.to_numpy(dtype=float, na_value=np.nan)
    rows, columns = values.shape
    palette = LinearSegmentedColormap.from_list("scores", LIGHT.shades)
    mesh = np.ma.masked_invalid(values)
    ax.pcolormesh(mesh, cmap=palette, vmin=0, vmax=1, edgecolors="white", linewidth=1.5)
    ax.set_facecolor(MISSING)
    ax.set(xlim=(0, columns), ylim=(rows, 0))
    down, across = (
        "field" if side.name is None else str(side.name) for side in (shades.index, shades.columns)
    )
    row_labels(ax, shades.index, down, middle=0.5)
    width = inner(ax) / columns
    heads = distinct(shades.columns, 24, across)
    wrapped = [textwrap.fill(head, max(fitting(width) - 1, 1)) for head in heads]
    fits = max(head.count("\n") for head in wrapped) < 3  # noqa: PLR2004
    labels = wrapped if fits else heads
    ax.set_xticks(np.arange(columns) + 0.5, labels, rotation=0 if fits else 90)
    quiet(ax)
    ax.spines["bottom"].set_visible(False)
    longest = max(len(line) for row in texts for text in row for line in text.split("\n"))
    size = min(_SIZE, width / (_CHARACTER * (longest + 1)))
    for row, column in np.ndindex(rows, columns) if size >= _SMALLEST else ():
        known = np.isfinite(values[row, column])
        ink = ink_on(to_hex(palette(values[row, column]))) if known else GREY
        place = (column + 0.5, row + 0.5, texts[row][column])
        ax.text(*place, color=ink, ha="center", va="center", fontsize=size)


def segments(ax: Axes, low: Any, high: Any, colours: Any) -> None:
    """Draw one horizontal line per row, from low to high; none if an end is missing."""
    ends = np.column_stack([np.asarray(low, dtype=float), np.asarray(high, dtype=float)])
    rows = np.flatnonzero(np.isfinite(ends).all(axis=1))
    if len(rows):
        drawn = np.broadcast_to(colours, len(ends))[rows].tolist()
        ax.hlines(rows, ends[rows, 0], ends[rows, 1], colors=drawn, linewidth=2, zorder=1)


def stack(  # noqa: PLR0913 - keyword options
    ax: Axes,
    table: pd.DataFrame,
    colours: Sequence[str],
    title: str,
    *,
    x: str,
    column: str = "run",
    ends: Sequence[str] = (),
) -> None:
    """Draw one bar per row, from left to right its columns, numbers inside, a legend above.

    `ends` are texts at the ends of the bars; `column` is what the rows are values of, and `x` what
    is measured.
    """
    rows, left = np.arange(len(table)), np.zeros(len(table))
    longest = float(table.sum(axis=1).max()) or 1.0
    row_labels(ax, table.index, column)
    beside = _CHARACTER * _SIZE * max(map(len, ends), default=-1) + 8
    width = max(inner(ax) - beside, 0.3 * inner(ax))
    ax.set(xlim=(0, longest * inner(ax) / width), ylim=(len(table) - 0.5, -0.5))
    for name, colour in zip(table.columns, colours, strict=True):
        widths = table[name].to_numpy(dtype=float)
        style: dict[str, Any] = {"color": colour, "edgecolor": "white", "linewidth": 0.8}
        ax.barh(rows, widths, left=left, height=0.68, label=words(name), **style)
        for row, value in enumerate(widths):
            text = number(value)
            if value * width / longest > _CHARACTER * _SIZE * len(text) + 2:
                inside: dict[str, Any] = {"ha": "center", "va": "center", "fontsize": _SIZE}
                ax.text(left[row] + value / 2, row, text, color=ink_on(colour), **inside)
        left += widths
    for row, text in enumerate(ends):
        note(ax, text, (left[row], row), (5, 0), va="center")
    quiet(ax, grid="x")
    legend_above(ax, title) if len(table.columns) else titled(ax, title)
    if "%" in x:
        ax.set_xticks([tick for tick in ax.get_xticks() if tick <= 100])  # noqa: PLR2004
    titled(ax, x=x)


def checked(data: object, columns: Iterable[str], what: str) -> pd.DataFrame:
    """Check that a frame has rows and columns to draw."""
    data = as_pandas(data)
    if not isinstance(data, pd.DataFrame):
        raise InputError(f"{what}: expected a DataFrame, found {type(data).__name__}")
    names = [str(name) for name in data.columns]
    for column in columns:
        if column not in names:
            raise InputError(f"{what}: {no_column(column, names)}")
    if data.empty:
        raise InputError(f"{what}: no rows, nothing to draw")
    return data


def known(name: object, names: Iterable[str], what: str) -> None:
    """Raise an error that names the nearest known name if a name is unknown."""
    choices = list(names)
    if name not in choices:
        raise InputError(f"{what}={name!r}: {nearest(name, choices)}")
