"""Figures of confidences: reliability diagram, remaining error by budget."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from extractbench_nb.errors import InputError
from extractbench_nb.views.plots import axes as drawing
from extractbench_nb.views.plots.axes import BLUE, GREY, PALETTE, VERMILLION

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from extractbench_nb.stats import Calibration, ReviewPlan

_HEIGHT = 3.8
_MARGIN = 4.0
_HUNDRED = 100


def reliability(calibration: Calibration, *, ax: Axes | None = None) -> Axes:
    """Draw a reliability diagram: accuracy over confidence.

    Parameters
    ----------
    calibration : Calibration
        The result of ``xb.stats.calibration``, with at most eight groups.
    ax : matplotlib.axes.Axes, optional
        Where to draw; a new figure by default.

    Returns
    -------
    matplotlib.axes.Axes
        One point per bin, with its interval, and a line per group, in percent. Points on the
        diagonal are calibrated, points below it overconfident.

    Raises
    ------
    InputError
        There are more than eight groups.

    Examples
    --------
    >>> import pandas as pd
    >>> import extractbench_nb as xb
    >>> schema = {"type": "object", "additionalProperties": {"type": "integer"}}
    >>> gold = {f"k{n}": n for n in range(40)}
    >>> ev = xb.evaluate(schema, gold, gold | {"k1": 0, "k2": 0, "k3": 0})
    >>> stated = pd.DataFrame({"path": ev.fields["path"], "confidence": ev.fields["score"] * 0.8})
    >>> ax = xb.plots.reliability(xb.stats.calibration(ev, stated))
    >>> ax.get_xlabel()
    'confidence (%)'
    """
    drawing.made_by(calibration, "bins", "calibration")
    bins = drawing.checked(calibration.bins, ("confidence", "accuracy"), "calibration")
    names = list(calibration.by)
    keys = bins[names].astype(str).agg(" / ".join, axis=1) if names else pd.Series("", bins.index)
    groups = keys.unique().tolist()
    if len(groups) > len(PALETTE):
        raise InputError(
            f"calibration has {len(groups)} groups; a reliability diagram has at most "
            f"{len(PALETTE)}; choose rows with calibration(rows, ...), or by=None"
        )
    ax = drawing.new_axes(ax, _HEIGHT)
    ax.plot([0, _HUNDRED], [0, _HUNDRED], color=GREY, linewidth=1, linestyle="--", zorder=1)
    labels = drawing.distinct(groups) if names else [""]
    for group, name, colour in zip(groups, labels, PALETTE, strict=False):
        own = _HUNDRED * bins.loc[keys == group, ["confidence", "accuracy", "low", "high"]]
        ax.vlines(own["confidence"], own["low"], own["high"], color=colour, linewidth=1.6)
        style: dict[str, Any] = {"color": colour, "linewidth": 0.9, "marker": "o", "markersize": 5}
        ax.plot(own["confidence"], own["accuracy"], label=name, **style)
    ax.set(xlim=(-_MARGIN, _HUNDRED + _MARGIN), ylim=(-_MARGIN, _HUNDRED + _MARGIN))
    title = "Reliability: below the diagonal is overconfident"
    drawing.titled(ax, title, x="confidence (%)", y="right values (%)", grid="y")
    if names:
        drawing.legend_above(ax, title)
    return ax


def remaining_error(plan: ReviewPlan, *, ax: Axes | None = None) -> Axes:
    """Draw the error that remains after review over the budget.

    Parameters
    ----------
    plan : ReviewPlan
        The result of ``xb.stats.review_plan``.
    ax : matplotlib.axes.Axes, optional
        Where to draw; a new figure by default.

    Returns
    -------
    matplotlib.axes.Axes
        The remaining error with its interval, the same for a random choice, and the plan's budget.

    Examples
    --------
    >>> import pandas as pd
    >>> import extractbench_nb as xb
    >>> fields = pd.DataFrame({"document": [f"d{i}" for i in range(40)], "path": "$.a",
    ...     "predicted_path": None, "predicted_state": "present", "field": "a", "counted": True,
    ...     "passed": [i >= 10 for i in range(40)]})
    >>> stated = fields[["document"]].assign(confidence=[i / 40 for i in range(40)])
    >>> ax = xb.plots.remaining_error(xb.stats.review_plan(fields, stated, budget=0.2))
    >>> ax.get_ylabel()
    'wrong values left (%)'
    """
    drawing.made_by(plan, "curve", "review_plan")
    curve = drawing.checked(plan.curve, ("budget", "remaining", "random"), "plan") * _HUNDRED
    ax = drawing.new_axes(ax, _HEIGHT)
    interval = f"{plan.drawing.percent} interval"
    ax.fill_between(curve["budget"], curve["low"], curve["high"], color=BLUE, alpha=0.15, lw=0)
    ax.plot(curve["budget"], curve["remaining"], color=BLUE, label="least confident first")
    ax.plot(curve["budget"], curve["random"], color=GREY, linestyle="--", label="random choice")
    at = np.array([_HUNDRED * plan.budget])
    ends = (_HUNDRED * plan.low, _HUNDRED * plan.high)
    ax.vlines(at, *ends, color=VERMILLION, linewidth=1.6)
    ax.plot(at, [_HUNDRED * plan.remaining], "o", color=VERMILLION, label="budget of the plan")
    ax.set(xlim=(0, _HUNDRED + _MARGIN), ylim=(0, None))
    x = f"{plan.unit}s checked (%); band and bar: {interval}"
    drawing.titled(ax, x=x, y="wrong values left (%)", grid="y")
    drawing.legend_above(ax, "Error that remains after review")
    return ax
