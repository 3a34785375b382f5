"""Mean scores by number of documents, length of documents and number of rows."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import Any

import numpy as np
import pandas as pd

from extractbench_nb._frames import Column, FrameSpec
from extractbench_nb.errors import InputError, nearest

#: AOE's levels: the largest value of each but the last, and labels; lengths are in the unit of the
#: dataset, and 10,000 is in the second level.
_FIXED: Mapping[str, tuple[tuple[float, ...], tuple[str, ...]]] = {
    "documents": ((5, 10), ("0-5", "6-10", ">10")),
    "average_length": ((np.nextafter(10_000, 0), 20_000), ("<10000", "10000-20000", ">20000")),
    "rows": ((0, 3, 7), ("0", "1-3", "4-7", ">7")),
}

STATISTICS_COLUMNS = FrameSpec(
    "statistics",
    "one row per group, level and metric",
    (
        Column("measure", "string", "what the levels are of", "documents, average_length, rows"),
        Column("level", "string", "label of the level", "", nullable=True),
        Column("metric", "string", "column of the scores"),
        Column("tables", "int64", "tables of the group in the level", "1 and up"),
        Column("scored", "int64", "those that have a value", "0 to tables"),
        Column("mean", "Float64", "mean, in the unit of the metric", "", nullable=True),
    ),
)


def level_statistics(
    scores: pd.DataFrame,
    *,
    by: Sequence[str] = ("run", "domain"),
    measures: Sequence[str] = tuple(_FIXED),
    levels: str = "fixed",
    quantiles: int = 3,
    failures: str = "zero",
) -> pd.DataFrame:
    """Average scores by the number of documents, their length and the number of gold rows.

    Parameters
    ----------
    scores : pandas.DataFrame
        One row per run and table: the columns of `by` and `measures`, and the metrics, which are
        all other columns of numbers.
    by : list of str, optional
        Columns that form groups; those that the frame lacks are left out.
    measures : list of str, optional
        Columns whose values are grouped into levels: ``"documents"``, ``"average_length"``,
        ``"rows"``; those that the frame lacks are left out.
    levels : str, optional
        ``"fixed"``: AOE's levels, such as up to 5, up to 10 and more documents. ``"quantile"``:
        levels with about equally many tables, over all rows of the frame.
    quantiles : int, optional
        Number of levels by quantiles, 2 or more.
    failures : str, optional
        ``"zero"``: a missing score counts as 0, as in AOE's tables. ``"missing"``: it is left out.

    Returns
    -------
    pandas.DataFrame
        One row per group, measure, level and metric: the columns of `by`, then those of
        `STATISTICS_COLUMNS`. Means are not rounded.

    Raises
    ------
    InputError
        If an option is unknown, or the frame has none of the measures or no metric.

    Examples
    --------
    >>> scores = pd.DataFrame({"run": "m", "documents": [2, 9], "cell_f1": [0.5, None]})
    >>> level_statistics(scores)[["run", "level", "tables", "scored", "mean"]]
      run level  tables  scored  mean
    0   m   0-5       1       1   0.5
    1   m  6-10       1       0   0.0
    """
    for name, value, allowed in (
        ("levels", levels, ("fixed", "quantile")),
        ("failures", failures, ("zero", "missing")),
        *(("measures", measure, tuple(_FIXED)) for measure in measures),
    ):
        if value not in allowed:
            raise InputError(f"{name}={value!r}; {nearest(value, allowed)}")
    if type(quantiles) is not int or quantiles <= 1:
        raise InputError(f"quantiles is {quantiles!r}; expected a whole number, 2 or more")
    groups = [name for name in by if name in scores]
    present = [name for name in measures if name in scores]
    numbers = scores.select_dtypes(["number", "bool", "boolean"]).columns
    metrics = [name for name in numbers if name not in {*groups, *_FIXED}]
    if not present or not metrics:
        raise InputError(
            f"scores has the columns {', '.join(map(str, scores.columns))}; expected one of "
            f"{', '.join(_FIXED)} and at least one metric"
        )
    cells = scores[groups].to_numpy(dtype=object).tolist()
    names = pd.Series([*map(tuple, cells)], index=scores.index)
    rows = []
    leveled = {name: _levels(scores[name], name, levels, quantiles) for name in present}
    for group in dict.fromkeys(names):
        for measure, (labels, level_of_row) in leveled.items():
            for label in (*labels, None):
                in_level = level_of_row.isna() if label is None else level_of_row == label
                part = scores[in_level & names.map(group.__eq__)]
                for metric in metrics if len(part) else ():
                    values = part[metric].astype("Float64")
                    scored = int(values.notna().sum())
                    values = values.fillna(0.0) if failures == "zero" else values.dropna()
                    mean = float(values.mean()) if len(values) else None
                    rows.append((*group, measure, label, metric, len(part), scored, mean))
    columns = (*(Column(name, "object", "group") for name in groups), *STATISTICS_COLUMNS.columns)
    return FrameSpec("statistics", STATISTICS_COLUMNS.grain, columns).from_rows(rows)


def _levels(
    values: pd.Series[Any], measure: str, kind: str, quantiles: int
) -> tuple[tuple[str, ...], pd.Series[Any]]:
    """Return all labels in order, and the label of each value; None for a missing value."""
    ends, labels = _FIXED[measure]
    numbers = values.astype("Float64").to_numpy(dtype=float, na_value=np.nan)
    known = numbers[~np.isnan(numbers)]
    if kind == "quantile" and len(known):
        shares = np.arange(1, quantiles) / quantiles
        ends = tuple(np.unique(np.quantile(known, shares)).tolist())
        between = (f"{low:g} to {high:g}" for low, high in pairwise(ends))
        labels = (f"<= {ends[0]:g}", *between, f"> {ends[-1]:g}")
    places = np.searchsorted(ends, numbers)
    found = [
        None if np.isnan(n) else labels[place] for n, place in zip(numbers, places, strict=True)
    ]
    return labels, pd.Series(found, index=values.index, dtype=object)
