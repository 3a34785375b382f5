"""Shared parts of all figures: colours, Axes, escaped labels, heat maps, stacked bars."""

from __future__ import annotations

import textwrap
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
import numpy.typing as npt
import pandas as pd

from extractbench_nb.benchmark import display_name
from extractbench_nb.core.frames import as_pandas
from extractbench_nb.errors import InputError, nearest, needs
from extractbench_nb.support.wording import one_line
from extractbench_nb.views.palette import LIGHT, SERIES, ink_on

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.axis import Axis

Numbers: TypeAlias = npt.NDArray[np.float64]

#: Colours of series; blue is also what rises or is significant, vermillion what falls or is not.
PALETTE = SERIES
BLUE, VERMILLION = PALETTE[:2]

INK, GREY = LIGHT.texts["on-high"], LIGHT.texts["quiet"]
RULE, MISSING, PALE = "#d9d9d9", "#ededed", "#bdbdbd"

_WIDTH = 7.5
_GRID_WIDTH = 9.0
_LONGEST = 40
_SIZE = 8.5
_SMALLEST = 5.5

#: Width of a character as a share of the size of the letters, and points per inch.
_CHARACTER = 0.6
_INCH = 72

#: The share of the width that labels of rows may take, and lines that a label of a column may.
_ROWS_SHARE = 0.45
_MOST_LINES = 3

#: The place of a legend above the Axes, its look, and the most entries on one line.
_ABOVE: dict[str, Any] = {"loc": "lower left", "bbox_to_anchor": (0, 1.0), "frameon": False}
_ABOVE |= {"handlelength": 1.2, "handleheight": 1.0, "columnspacing": 1.4}
_ABOVE |= {"borderaxespad": 0.2, "borderpad": 0.2}
_MOST_IN_A_LINE = 5


def new_axes(ax: Axes | None, height: float) -> Axes:
    """Return the given Axes, or those of a new figure of notebook width."""
    if ax is not None:
        return ax
    needs("matplotlib", "notebook")
    from extractbench_nb.views.plots.figures import new_figure

    return new_figure(_WIDTH, height).add_subplot()


def grid(n: int, *, columns: int = 3, height: float = 2.6) -> tuple[Axes, ...]:
    """Return Axes side by side in one new figure, to be drawn into one after the other.

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
        `n` or `columns` is less than 1, or `height` is not above 0.

    Examples
    --------
    >>> import matplotlib
    >>> matplotlib.use("Agg")
    >>> axes = grid(5, columns=3)
    >>> len(axes), axes[0].figure.get_size_inches().tolist()
    (5, [9.0, 5.2])
    """
    for name, count in (("n", n), ("columns", columns)):
        if count < 1:
            raise InputError(f"{name}: expected 1 or more Axes, found {count!r}")
    if not height > 0:
        raise InputError(f"height: expected inches above 0, found {height!r}")
    needs("matplotlib", "notebook")
    from extractbench_nb.views.plots.figures import new_figure

    columns = min(columns, n)
    rows = -(-n // columns)
    figure = new_figure(_GRID_WIDTH, height * rows)
    places, axes = figure.add_gridspec(rows, 1), []
    for row in range(rows):
        in_row = min(columns, n - row * columns)
        inside = places[row].subgridspec(1, in_row)
        axes += [figure.add_subplot(inside[column]) for column in range(in_row)]
    return tuple(axes)


def words(text: object, longest: int = _LONGEST) -> str:
    r"""Make any text fit for a label: one line, short, printable, without math.

    Examples
    --------
    >>> words("a\nlong  name", longest=8)
    'a long …'
    """
    short = one_line(str(text), longest)
    return (" " if short.startswith("_") else "") + short.replace("$", r"\$")


def distinct(names: Iterable[object], longest: int = _LONGEST, column: str = "run") -> list[str]:
    """Make names fit for labels that stay distinct: the middle of long ones is left out.

    Examples
    --------
    >>> distinct(["simulated GPT-5", "simulated GPT-5.2"], longest=12)
    ['simu…d GPT-5', 'simu…GPT-5.2']
    """
    texts = [one_line(display_name(name, column), 10 * _LONGEST) for name in names]
    longest = max(longest, 6)
    start = longest // 3
    cut = {
        text: text if len(text) <= longest else f"{text[:start]}…{text[start + 1 - longest :]}"
        for text in texts
    }
    common = Counter(cut.values())
    for number, text in enumerate(cut, 1):
        if common[cut[text]] > 1:
            cut[text] = f"{cut[text][: longest - 3]} {number}"
    return [words(cut[text], len(cut[text]) + 1) for text in texts]


def fitting(points: float, size: float = 9) -> int:
    """Return how many characters of a size fit into a width in points."""
    return max(int(points / (_CHARACTER * size)), 1)


def room(ax: Axes) -> tuple[float, float]:
    """Return the width and height in points that Axes may take with labels, before any layout."""
    spec, place = ax.get_subplotspec(), ax.get_position()
    across, down = place.width, place.height
    if spec is not None:
        grid = spec.get_gridspec()
        across, down = len(spec.colspan) / grid.ncols, len(spec.rowspan) / grid.nrows
    inch = _INCH / ax.figure.dpi
    return across * ax.figure.bbox.width * inch, down * ax.figure.bbox.height * inch


def inner(ax: Axes) -> float:
    """Return the width in points that is left beside the labels of the rows."""
    lines = [line for label in ax.get_yticklabels() for line in label.get_text().split("\n")]
    return room(ax)[0] - _CHARACTER * 9 * max(3, *map(len, lines), 0) - 30


def row_labels(ax: Axes, names: Iterable[object], column: str = "run") -> None:
    """Name the rows from 0 on, within their share of the width."""
    labels = distinct(names, fitting(_ROWS_SHARE * room(ax)[0]), column)
    ax.set_yticks(np.arange(len(labels)), labels)


def number(value: float) -> str:
    """Write a number in three or four digits, with thousands separators.

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


def titled(
    ax: Axes, title: str = "", *, x: str = "", y: str = "", grid: str = "", pad: float = 6.0
) -> None:
    """Write the title and the names of the axes that are given; with a grid, make it `quiet`."""
    if grid:
        quiet(ax, grid=grid)
    width = inner(ax)
    if title:
        title = textwrap.fill(title, fitting(width, 10.5))
        ax.set_title(title, loc="left", fontsize=10.5, pad=pad)
    if x:
        ax.set_xlabel(textwrap.fill(x, fitting(width)), fontsize=9)
    if y:
        ax.set_ylabel(y, fontsize=9)


def legend_above(ax: Axes, title: str = "") -> None:
    """Put the legend between the title and the Axes, in as many columns as fit."""
    handles, entries = ax.get_legend_handles_labels()
    entries = [textwrap.fill(entry, fitting(inner(ax) - 26, _SIZE)) for entry in entries]
    widest = _CHARACTER * _SIZE * max(map(len, entries)) + 26
    lines = -(-len(entries) // min(max(int(inner(ax) / widest), 1), _MOST_IN_A_LINE))
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

    shades = parts / wholes.where(wholes > 0)
    pairs = zip(parts.to_numpy(dtype=float), wholes.to_numpy(dtype=float), strict=True)
    texts = [
        [
            write(part, whole) if np.isfinite(part) and whole > 0 else "–"
            for part, whole in zip(*row, strict=True)
        ]
        for row in pairs
    ]
    rows, columns = shades.shape
    values = shades.to_numpy(dtype=float, na_value=np.nan)
    palette = LinearSegmentedColormap.from_list("scores", LIGHT.shades)
    mesh = np.ma.masked_invalid(values)
    ax.pcolormesh(mesh, cmap=palette, vmin=0, vmax=1, edgecolors="white", linewidth=1.5)
    ax.set_facecolor(MISSING)
    ax.set(xlim=(0, columns), ylim=(rows, 0))
    sides = (shades.index, shades.columns)
    down, across = ("field" if side.name is None else str(side.name) for side in sides)
    row_labels(ax, shades.index, down)
    ax.set_yticks(np.arange(rows) + 0.5, [label.get_text() for label in ax.get_yticklabels()])
    width = inner(ax) / columns
    heads = distinct(shades.columns, 24, across)
    most = max(fitting(width) - 1, 1)  # a gap between two names
    lines = [textwrap.wrap(head, most, break_long_words=False) for head in heads]
    fits = all(
        len(head) <= _MOST_LINES and max(map(len, head), default=0) <= most for head in lines
    )
    labels = ["\n".join(head) for head in lines] if fits else heads
    ax.set_xticks(np.arange(columns) + 0.5, labels, rotation=0 if fits else 90)
    quiet(ax)
    lines_below = _MOST_LINES if fits else _CHARACTER * max(map(len, heads))
    height = (room(ax)[1] - 9 * lines_below - 50) / rows
    ax.tick_params(axis="y", labelsize=float(np.clip(0.85 * height, _SMALLEST, 9)))
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
    ends: Sequence[tuple[str, str]] = (),
) -> None:
    """Draw one bar per row, from left to right its columns, numbers inside, a legend above.

    `ends` are texts at the ends of the bars, and longer ones where they fit and a part is too
    narrow for its number; `column` is what the rows are values of, and `x` what is measured.
    """
    left = np.zeros(len(table))
    longest = float(table.sum(axis=1).max()) or 1.0
    row_labels(ax, table.index, column)
    ax.set_ylim(len(table) - 0.5, -0.5)
    ends_width = _CHARACTER * _SIZE * max((len(short) for short, _ in ends), default=-1) + 8
    width = max(inner(ax) - ends_width, 0.3 * inner(ax))
    ax.set_xlim(0, longest * max(inner(ax), 1) / max(width, 1))
    without_number = set()
    for name, colour in zip(table.columns, colours, strict=True):
        widths = table[name].to_numpy(dtype=float)
        rows = np.arange(len(table))
        style: dict[str, Any] = {"color": colour, "edgecolor": "white", "linewidth": 0.8}
        ax.barh(rows, widths, left=left, height=0.68, label=words(name), **style)
        for row, value in enumerate(widths):
            text, middle = number(value), left[row] + value / 2
            if value * width / longest > _CHARACTER * _SIZE * len(text) + 2:
                inside: dict[str, Any] = {"ha": "center", "va": "center", "fontsize": _SIZE}
                ax.text(middle, float(row), text, color=ink_on(colour), **inside)
            elif value:
                without_number.add(row)
        left += widths
    for row, (short, long) in enumerate(ends):
        beside = width + ends_width - left[row] * width / longest - 8
        text = long if row in without_number and len(long) <= fitting(beside, _SIZE) else short
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
            raise InputError(f"{what}: there is no column {column!r}; {nearest(column, names)}")
    if data.empty:
        raise InputError(f"{what}: no rows, nothing to draw")
    return data


def known(name: object, names: Iterable[str], what: str) -> None:
    """Raise an error that names the nearest known name if a name is unknown."""
    choices = list(names)
    if name not in choices:
        raise InputError(f"{what}={name!r}: {nearest(name, choices)}")
