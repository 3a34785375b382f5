"""The curve of a threshold: how many cases pass at each of its values, and who agrees with that."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from extractbench_nb._frames import Column, FrameSpec
from extractbench_nb.metrics.registry import Param
from extractbench_nb.stats.cohen import kappas
from extractbench_nb.widgets.workbench.scores import Verdicts
from extractbench_nb.widgets.workbench.tuning import is_whole

__all__ = ["CURVE_COLUMNS", "MEASURES", "Grid", "at_marks", "curve_frame", "stops"]

Flags = np.ndarray[Any, np.dtype[np.bool_]]

#: What is measured where cases have an expected verdict.
MEASURES = ("accuracy", "precision", "recall", "kappa")

CURVE_COLUMNS = FrameSpec(
    "curve",
    "one row a value of the threshold",
    (
        Column("param", "string", "the param that changes; `score` where a score itself does"),
        Column("threshold", "float64", "its value"),
        Column("passing", "int64", "cases that pass", "0 and up"),
        Column("pass_rate", "Float64", "passing / cases; one without a verdict fails", "0 to 1"),
        Column("labelled", "int64", "cases with a verdict and an expected one", "0 and up"),
        Column("accuracy", "Float64", "share of the labelled that agree", "0 to 1", True),
        Column("precision", "Float64", "share of the passing that should", "0 to 1", True),
        Column("recall", "Float64", "share of those that should pass that do", "0 to 1", True),
        Column("kappa", "Float64", "agreement beyond chance, Cohen's", "-1 to 1", True),
    ),
)

_STEPS = (1, 2, 5)
_DECADES = range(-3, 3)


class Grid(NamedTuple):
    """Which cases pass, and which have a verdict: a row a value of the threshold."""

    passed: Flags
    decided: Flags


def at_marks(found: Verdicts, mark: float | None, thresholds: Sequence[float]) -> Grid:
    """Decide every case at other thresholds, from its score alone.

    Parameters
    ----------
    found : Verdicts
        Scores, and verdicts at `mark`.
    mark : float or None
        The score that passes now; None: whatever the verdicts, the score decides.
    thresholds : sequence of float
        The scores that pass then.

    Returns
    -------
    Grid
        One row a threshold. Absent and structural values keep their verdict, and so does a case
        whose metric gave a verdict that is not its score's.
    """
    metric = np.isin(np.array(found.outcome, dtype=object), ("correct", "incorrect"))
    follows = metric & found.decided
    if mark is not None:
        follows &= (found.score >= mark) == found.passed
    reached = found.score >= np.array(thresholds, dtype=np.float64)[:, None]
    passed = np.where(follows, reached, found.passed)
    return Grid(passed, np.broadcast_to(found.decided, passed.shape))


def curve_frame(
    param: str, thresholds: Sequence[float], grid: Grid, expected: Sequence[bool | None]
) -> pd.DataFrame:
    """Make the frame of a curve.

    Parameters
    ----------
    param : str
        The param that changes.
    thresholds : sequence of float
        Its values.
    grid : Grid
        A row a value, a column a case.
    expected : sequence of (bool or None)
        The verdicts of people.

    Returns
    -------
    pandas.DataFrame
        With the columns of `CURVE_COLUMNS`.
    """
    cases = len(expected)
    passing = grid.passed.sum(axis=1)
    labels = np.array([value is not None for value in expected], dtype=np.bool_)
    counts = _counts(grid, labels, np.array([bool(value) for value in expected], dtype=np.bool_))
    measured = _measures(counts)
    return CURVE_COLUMNS.build(
        {
            "param": [param] * len(thresholds),
            "threshold": list(thresholds),
            "passing": passing.tolist(),
            "pass_rate": (passing / cases if cases else np.zeros(len(thresholds))).tolist(),
            "labelled": counts.sum(axis=(1, 2)).astype(int).tolist(),
            **{name: _known(values) for name, values in measured.items()},
        }
    )


def _counts(grid: Grid, labels: Flags, right: Flags) -> Any:
    """Return a table a threshold: expected to pass or not, by passed or not."""
    known = grid.decided & labels
    cells = [
        [(known & (right == should) & (grid.passed == does)).sum(axis=1) for does in (True, False)]
        for should in (True, False)
    ]
    return np.moveaxis(np.array(cells, dtype=np.float64), 2, 0)


def _measures(counts: Any) -> dict[str, Any]:
    both, missed, extra = counts[:, 0, 0], counts[:, 0, 1], counts[:, 1, 0]
    total = counts.sum(axis=(1, 2))
    with np.errstate(invalid="ignore"):
        return {
            "accuracy": np.trace(counts, axis1=1, axis2=2) / total,
            "precision": both / (both + extra),
            "recall": both / (both + missed),
            "kappa": kappas(counts),
        }


def _known(values: Any) -> list[float | None]:
    return [None if np.isnan(value) else float(value) for value in values]


def stops(param: Param, value: float | None, *, parts: int = 100) -> list[float]:
    """Return values of a number to try: even steps between two bounds, else 1, 2, 5, 10, ...

    Parameters
    ----------
    param : Param
        A number.
    value : float or None
        A value that is to be among them.
    parts : int, optional
        Steps between two bounds.

    Returns
    -------
    list of float
        In order. Without bounds, from a thousandth to some hundred times the default, and 0.
    """
    own = [float(v) for v in (value, param.default) if v is not None and math.isfinite(v)]
    if param.minimum is not None and param.maximum is not None:
        low, high = param.minimum, param.maximum
        found = [low + (high - low) * n / parts for n in range(parts + 1)]
    else:
        found = _series(abs(own[-1]) if own and own[-1] else 1.0, both=not own or own[-1] <= 0)
    inside = [v for v in (*found, *own) if param.problem(v) is None]
    if is_whole(param):
        inside = [v for v in inside if v.is_integer()]
    return sorted({float(f"{v:.12g}") for v in inside} | set(own))


def _series(size: float, *, both: bool) -> list[float]:
    top = 10.0 ** math.floor(math.log10(size))
    up = [step * top * 10.0**decade for decade in _DECADES for step in _STEPS]
    return [0.0, *filter(math.isfinite, up), *(-v for v in up if both and math.isfinite(v))]
