"""Metrics of tables beside the share of a table that is kept."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pandas as pd

from extractbench_nb.errors import InputError
from extractbench_nb.plots.drawing import INK, PALETTE, new_axes, quiet, spread, words
from extractbench_nb.plots.tables import checked, known

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["keep_curves"]

_COLUMNS = ("mode", "x", "metric", "score", "tables")
_IDEAL = "ideal"
_STYLES = ("-", "--", ":")
#: Distance of two names, as a share of the score.
_APART = 0.06
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
        A line a metric, named at the right in the order of the lines at half way; thick and pale
        what keeping that share of the positions is worth.

    Raises
    ------
    InputError
        Columns are missing, or there is nothing of that mode to draw.
    """
    table = checked(frame, _COLUMNS, "frame")
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
            "ls": _STYLES[n // len(PALETTE) % 3],
        }
        ax.plot(line["x"], line["score"], linewidth=1.6, **style)
        ends.append((words(name), float(line["score"].iloc[len(line) // 2]), style))
    _name(ax, ends)
    ax.set(xlim=(0, 1), ylim=(0, 1.02))
    ax.set_xlabel(f"x: probability of keeping {_WHAT.get(mode, words(mode))}", fontsize=9)
    ax.set_ylabel(f"mean score of {rows['tables'].max():,} tables", fontsize=9)
    quiet(ax, grid="y")
    title = f"{words(mode)} kept; grey: 2s / (1 + s) for a share s"
    ax.set_title(title, loc="left", fontsize=10.5)
    return ax


def _name(ax: Axes, ends: list[tuple[str, float, dict[str, Any]]]) -> None:
    ends = sorted(ends, key=lambda end: end[1])
    heights = spread([end[1] for end in ends], _APART)
    for (label, _, style), y in zip(ends, heights, strict=True):
        ax.annotate(label, (1.06, y), color=INK, fontsize=8, va="center", annotation_clip=False)
        ax.plot([1.01, 1.05], [y, y], linewidth=2, clip_on=False, **style)
