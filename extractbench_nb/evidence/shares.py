"""Shares of what was found, and what they differ by between documents."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd

from extractbench_nb._frames import Column, FrameSpec
from extractbench_nb.stats.bootstrap import counts_drawn
from extractbench_nb.stats.drawing import Drawing

__all__ = ["SHARE_COLUMNS", "shares"]

_FEWEST_DOCUMENTS = 5
_DRAWING = Drawing(confidence=0.95, resamples=9_999, seed=0)

SHARE_COLUMNS = FrameSpec(
    "evidence_shares",
    "one row a group of counts",
    (
        Column("documents", "int64", "documents of the group", "1 and up"),
        Column("sought", "int64", "leaves or values that were looked for", "1 and up"),
        Column("share", "float64", "found, of all of the group together", "[0, 1]"),
        Column("lowest", "float64", "the share in the document that has the lowest", "[0, 1]"),
        Column("highest", "float64", "the share in the document that has the highest", "[0, 1]"),
        Column(
            "low",
            "Float64",
            "95 % bootstrap interval over documents, lower end; missing below five documents",
            "[0, 1]",
            True,
        ),
        Column("high", "Float64", "upper end", "[0, 1]", True),
    ),
)


def shares(
    counts: pd.DataFrame, by: Sequence[str], *, found: str = "found", sought: str = "values"
) -> pd.DataFrame:
    """Turn counts into shares, with what they differ by between documents.

    Parameters
    ----------
    counts : pandas.DataFrame
        Frames of `study`: documents in a column of this name.
    by : sequence of str
        Columns to group by: domain, kind, against.
    found, sought : str, optional
        The columns to divide.

    Returns
    -------
    pandas.DataFrame
        One row a group, indexed by it, in the order of the counts (see `SHARE_COLUMNS`): documents,
        sought, share, lowest, highest, low, high.

    Notes
    -----
    Documents are drawn with replacement, 9,999 times; the interval is from the 2.5th to the 97.5th
    percentile of the shares (percentile bootstrap). Below five documents it would say nothing.
    """
    groups = counts.groupby(list(by), sort=False)
    rows = {key: _share(group, found, sought) for key, group in groups}
    frame = SHARE_COLUMNS.from_rows(rows.values())
    return frame.set_axis(pd.MultiIndex.from_tuples(list(rows), names=list(by)), axis=0)


def _share(group: pd.DataFrame, found: str, sought: str) -> tuple[Any, ...]:
    each = group.groupby("document", sort=False)[[found, sought]].sum()
    parts, wholes = each[found].to_numpy(float), each[sought].to_numpy(float)
    ratios = parts / wholes
    low, high = _interval(parts, wholes) if len(each) >= _FEWEST_DOCUMENTS else (None, None)
    total = int(wholes.sum())
    return len(each), total, parts.sum() / total, ratios.min(), ratios.max(), low, high


def _interval(parts: Any, wholes: Any) -> tuple[float, float]:
    drawn = np.vstack(list(counts_drawn(len(parts), _DRAWING)))
    low, high = np.quantile(drawn @ parts / (drawn @ wholes), _DRAWING.tails)
    return float(low), float(high)
