"""Figures of evaluated runs: what happened, which fields are hard, which runs differ."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from extractbench_nb.breakdowns import breakdown
from extractbench_nb.breakdowns import difficulty as ranked
from extractbench_nb.breakdowns.sources import gather
from extractbench_nb.errors import InputError
from extractbench_nb.evaluation.frames import OUTCOMES
from extractbench_nb.plots.drawing import (
    BLUE,
    GREY,
    INK,
    heat,
    new_axes,
    quiet,
    segments,
    stack,
    words,
)
from extractbench_nb.plots.tables import checked, known

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from extractbench_nb.stats import Comparison

__all__ = ["differences", "difficulty", "outcomes"]

#: Blues are right or rightly absent; warm colours are faults of content, black of form.
_COLOURS = {
    "correct": "#0072B2",
    "both_absent": "#56B4E9",
    "incorrect": "#E69F00",
    "omission": "#F0E442",
    "hallucination": "#D55E00",
    "structural": "#333333",
    "judge_error": "#bdbdbd",
}


def outcomes(source: object, *, by: str = "run", ax: Axes | None = None) -> Axes:
    """Draw what happened to the scored fields, run by run.

    Parameters
    ----------
    source : results of a batch, Evaluation, pandas.DataFrame, mapping or list
        Where the rows of `fields` are, as `breakdown` takes them.
    by : str, optional
        What makes a bar: ``run``, ``domain``, ``schema``, ``document``, ``metric``, ...
    ax : matplotlib.axes.Axes, optional
        Where to draw; a new figure by default.

    Returns
    -------
    matplotlib.axes.Axes
        One bar a group, the best on top, stacked by outcome, in counted rows of `fields`. Outcomes
        that nowhere occur are left out.

    Raises
    ------
    InputError
        The source holds no fields, or has no such column.
    """
    table = checked(breakdown(source, by), (by, *OUTCOMES), "source")
    bars = table.iloc[::-1].set_index(by)[list(_COLOURS)]
    bars = bars.loc[:, bars.sum() > 0]
    colours = [_COLOURS[name] for name in bars.columns]
    bars.columns = pd.Index([name.replace("_", " ") for name in bars.columns])
    ax = new_axes(ax, 1.3 + 0.4 * len(bars))
    stack(ax, bars, colours, f"Outcomes by {words(by)}")
    ax.set_xlabel("scored fields", fontsize=9)
    return ax


def difficulty(source: object, *, top: int = 15, ax: Axes | None = None) -> Axes:
    """Draw how often the hardest fields pass, run by run.

    Parameters
    ----------
    source : results of a batch, Evaluation, pandas.DataFrame, mapping or list
        Where the rows of `fields` are, as `difficulty` takes them.
    top : int, optional
        How many fields, the hardest first; 1 and up.
    ax : matplotlib.axes.Axes, optional
        Where to draw; a new figure by default.

    Returns
    -------
    matplotlib.axes.Axes
        One row a field that gold has somewhere, one column a run; each cell with passed rows of
        all rows, shaded by the share that passes, grey where the run was not asked.

    Raises
    ------
    InputError
        The source holds no fields, or `top` is less than 1.
    """
    if top < 1:
        raise InputError(f"top={top!r}: expected 1 or more")
    hardest = checked(ranked(source), (), "source").head(top)
    fields = gather(source, "fields")
    asked = fields[fields["gold_state"].eq("present")]
    names = [name for name in ("schema", "field") if name in asked.columns]
    runs = ["run"] if "run" in asked.columns else []
    table = breakdown(asked, [*names, *runs])
    if not runs:
        table = table.assign(run="all rows")
    keyed = table.set_index([*names, "run"])
    order = hardest.set_index(names).index
    passed, rows = (
        keyed[column].unstack("run").reindex(order)  # noqa: PD010 - a Series
        for column in ("passed", "rows")
    )
    shares = (passed / rows).set_axis(_labels(hardest), axis=0)
    ax = new_axes(ax, 1.2 + 0.3 * len(shares))
    heat(ax, shares, _texts(passed, rows))
    ax.set_xlabel("run; passed rows of those in which gold has a value", fontsize=9)
    ax.set_title(f"The {len(shares)} hardest fields", loc="left", fontsize=10.5)
    return ax


def _labels(hardest: pd.DataFrame) -> list[str]:
    """Name the fields; with their schema where two schemas share a name among them."""
    if not hardest["field"].duplicated().any():
        return hardest["field"].tolist()
    return [f"{s}: {f}" for s, f in zip(hardest["schema"], hardest["field"], strict=True)]


def _texts(passed: pd.DataFrame, rows: pd.DataFrame) -> list[list[str]]:
    pairs = zip(passed.to_numpy(dtype=float), rows.to_numpy(dtype=float), strict=True)
    return [[_of(*cell) for cell in zip(*row, strict=True)] for row in pairs]


def _of(passed: float, rows: float) -> str:
    return f"{passed:.0f}/{rows:.0f}" if np.isfinite(rows) else "–"


def differences(
    comparison: Comparison, measure: str | None = None, *, ax: Axes | None = None
) -> Axes:
    """Draw the differences between runs with their intervals.

    Parameters
    ----------
    comparison : Comparison
        As ``compare_runs(source)`` returns it.
    measure : str, optional
        One of its measures; the first by default.
    ax : matplotlib.axes.Axes, optional
        Where to draw; a new figure by default.

    Returns
    -------
    matplotlib.axes.Axes
        One row a pair, the largest difference on top: the mean difference over documents, turned
        so that it is not negative, and its interval. Filled where it is significant after Holm's
        correction, hollow where not. A pair of one document has no interval.

    Raises
    ------
    InputError
        There is no such measure.
    """
    name = comparison.measures[0] if measure is None else measure
    known(name, comparison.measures, "measure")
    rows = comparison.differences
    rows = _turned(checked(rows[rows["measure"] == name], (), "comparison"))
    ax = new_axes(ax, 1.1 + 0.36 * len(rows))
    places = np.arange(len(rows))
    colours = np.where(rows["significant"], BLUE, GREY)
    ax.axvline(0, color=INK, linewidth=1)
    segments(ax, rows["low"], rows["high"], colours)
    fills = np.where(rows["significant"], BLUE, "white")
    ax.scatter(
        rows["mean"],
        places,
        s=52,
        color=fills,
        edgecolors=colours.tolist(),
        linewidth=1.6,
        zorder=3,
    )
    ax.set_yticks(places, rows["label"].tolist())
    ax.set_ylim(len(rows) - 0.5, -0.5)
    ax.set_xlabel(_unit(name, comparison), fontsize=9)
    ax.set_title("Filled: more than noise (Holm)", loc="left", fontsize=10.5)
    quiet(ax, grid="x")
    return ax


def _turned(rows: pd.DataFrame) -> pd.DataFrame:
    """Turn each pair so that its difference is not negative, and sort by it."""
    numbers = rows[["b_minus_a", "low", "high"]].astype("float64")
    sign = np.where(numbers["b_minus_a"] < 0, -1.0, 1.0)
    ends = numbers[["low", "high"]].mul(sign, axis=0)
    better, other = (
        np.where(sign < 0, rows[one], rows[two]) for one, two in (("a", "b"), ("b", "a"))
    )
    table = pd.DataFrame(
        {
            "mean": numbers["b_minus_a"] * sign,
            "low": ends.min(axis=1),
            "high": ends.max(axis=1),
            "significant": rows["significant"].fillna(value=False).astype(bool),
            "label": [
                f"{words(b, 22)} − {words(a, 22)}" for b, a in zip(better, other, strict=True)
            ],
        }
    )
    return table.sort_values("mean", ascending=False, kind="stable")


def _unit(name: str, comparison: Comparison) -> str:
    percent = f"{100 * comparison.drawing.confidence:g}%"
    return f"difference in {words(name)} (mean over documents, {percent} interval)"
