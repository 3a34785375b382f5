"""The user's own columns, such as a model's name or temperature, which the summary keeps."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import pandas as pd
from pandas.api import types

from extractbench_nb._frames import Column
from extractbench_nb.batch.cells import value_from_text, value_to_text
from extractbench_nb.batch.times import is_time, time_cells, time_dtype

__all__ = ["extra_columns", "is_missing", "own_columns"]


def extra_columns(
    frame: pd.DataFrame, names: list[str]
) -> tuple[tuple[Column, ...], tuple[tuple[Any, ...], ...]]:
    """Take columns out of a frame in a form that every file format keeps.

    Parameters
    ----------
    frame : pandas.DataFrame
        The user's.
    names : list of str
        Which columns.

    Returns
    -------
    tuple of (tuple of Column, tuple of tuple)
        Their declarations, and one row of cells a row of the frame. Numbers, booleans and texts
        stay what they are, with nullable dtypes; points in time, lists and dicts too; categories
        become what they stand for, and anything else text.
    """
    columns, cells = [], []
    for name in names:
        dtype = _dtype(frame[name])
        columns.append([name, dtype])
        cells.append(_cells(frame[name], dtype))
    rows = zip(*cells, strict=True) if cells else (() for _ in range(len(frame)))
    return own_columns(columns), tuple(rows)


def own_columns(pairs: Iterable[Sequence[str]]) -> tuple[Column, ...]:
    """Declare columns of the user's from pairs of name and dtype."""
    return tuple(
        Column(name, dtype, "column of the user's", nullable=True) for name, dtype in pairs
    )


def _dtype(series: pd.Series) -> str:
    if isinstance(series.dtype, pd.CategoricalDtype):
        return _dtype(series.dtype.categories.to_series())
    known = time_dtype(series.dtype) or _number_dtype(series.dtype)
    if known is not None:
        return known
    values = [value for value in series.tolist() if not is_missing(value)]
    if all(isinstance(value, str) for value in values):
        return "string"
    return "object" if types.is_object_dtype(series.dtype) else "string"


def _number_dtype(dtype: Any) -> str | None:
    kinds = {
        "boolean": types.is_bool_dtype,
        "Int64": types.is_integer_dtype,
        "Float64": types.is_float_dtype,
    }
    return next((name for name, is_kind in kinds.items() if is_kind(dtype)), None)


def _cells(series: pd.Series, dtype: str) -> Sequence[Any]:
    if is_time(dtype):
        return time_cells(series, dtype)
    return [_cell(value, dtype) for value in series.tolist()]


def _cell(value: Any, dtype: str) -> Any:
    if is_missing(value):
        return None
    if dtype == "object":
        text = value_to_text(value)
        return None if text is None else value_from_text(text)
    return str(value) if dtype == "string" else value


def is_missing(value: Any) -> bool:
    """Say whether a cell holds nothing: None, NA, NaT or NaN."""
    if value is None or value is pd.NA or value is pd.NaT:
        return True
    return isinstance(value, float) and value != value  # noqa: PLR0124 - NaN
