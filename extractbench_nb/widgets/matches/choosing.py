"""The arrays of an evaluation, to choose from."""

from __future__ import annotations

from typing import Any

import pandas as pd

from extractbench_nb.report.texts import fitted

__all__ = ["offered_arrays"]

_MOST_OFFERED = 200
_WIDEST = 90


def offered_arrays(arrays: pd.DataFrame, path: str) -> list[tuple[str, str]]:
    """List the arrays to choose from.

    Parameters
    ----------
    arrays : pandas.DataFrame
        ``Evaluation.arrays``.
    path : str
        The array that is shown; it is always among them.

    Returns
    -------
    list of tuple of (str, str)
        What to show, path with counts, and the path. At most 200, outer arrays first.
    """
    outer = sorted(range(len(arrays)), key=lambda at: str(arrays["path"].iloc[at]).count("["))
    kept = set(outer[:_MOST_OFFERED])
    rows = [
        row
        for at, row in enumerate(arrays.itertuples(index=False))
        if at in kept or row.path == path
    ]
    return [(_offer(row), str(row.path)) for row in rows]


def _offer(row: Any) -> str:
    items = f"{row.gold_items:,} gold, {row.predicted_items:,} predicted"
    return f"{fitted(str(row.path), _WIDEST)}  ({items}, {row.matched:,} matched)"
