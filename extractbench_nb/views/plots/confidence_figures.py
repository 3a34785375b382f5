"""The reliability diagram of confidences."""

from __future__ import annotations

from typing import TYPE_CHECKING

from extractbench_nb.views.plots import axes as drawing
from extractbench_nb.views.plots.axes import BLUE, GREY

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes

_HEIGHT, _MARGIN, _HUNDRED = 3.8, 4.0, 100


def reliability(calibration: pd.DataFrame, *, ax: Axes | None = None) -> Axes:
    """Draw a reliability diagram: accuracy over confidence.

    Parameters
    ----------
    calibration : pandas.DataFrame
        The result of ``xb.stats.calibration``.
    ax : matplotlib.axes.Axes, optional
        Where to draw; a new figure by default.

    Returns
    -------
    matplotlib.axes.Axes
        One point per bin, with its interval, in percent. Points on the diagonal are calibrated,
        points below it overconfident.

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
    columns = ["confidence", "accuracy", "low", "high"]
    frame = drawing.checked(calibration, ("bin", *columns), "calibration")
    bins = _HUNDRED * frame.loc[frame["bin"].notna(), columns]
    ax = drawing.new_axes(ax, _HEIGHT)
    ax.plot([0, _HUNDRED], [0, _HUNDRED], color=GREY, linewidth=1, linestyle="--", zorder=1)
    ax.vlines(bins["confidence"], bins["low"], bins["high"], color=BLUE, linewidth=1.6)
    ax.plot(bins["confidence"], bins["accuracy"], color=BLUE, linewidth=0.9, marker="o")
    ax.set(xlim=(-_MARGIN, _HUNDRED + _MARGIN), ylim=(-_MARGIN, _HUNDRED + _MARGIN))
    title = "Reliability: below the diagonal is overconfident"
    drawing.titled(ax, title, x="confidence (%)", y="right values (%)", grid="y")
    return ax
