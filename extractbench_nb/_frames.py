"""Frames whose columns are declared once: name, dtype, range, meaning."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

__all__ = ["Column", "FrameSpec", "describe_frames"]


@dataclass(frozen=True, slots=True)
class Column:
    """One column of a result frame.

    Parameters
    ----------
    name : str
        Column name.
    dtype : str
        pandas dtype: ``string``, ``Float64``, ``Int64``, ``boolean``, ``bool``, ``int64``,
        ``float64`` or ``object``.
    meaning : str
        What a cell says.
    values : str, optional
        Range or allowed values, in words.
    nullable : bool, optional
        Whether a cell may be missing (``pd.NA``, or any Python value in ``object`` columns).
    """

    name: str
    dtype: str
    meaning: str
    values: str = ""
    nullable: bool = False


@dataclass(frozen=True, slots=True)
class FrameSpec:
    """A result frame: what one row is, and its columns in order."""

    name: str
    grain: str
    columns: tuple[Column, ...]

    @property
    def names(self) -> list[str]:
        """Column names in order."""
        return [column.name for column in self.columns]

    def build(self, data: Mapping[str, Sequence[Any]] | None = None) -> pd.DataFrame:
        """Make the frame, with the declared columns, order and dtypes, also when it is empty."""
        data = data or {}
        arrays = {c.name: _array(data.get(c.name, ()), c.dtype) for c in self.columns}
        return pd.DataFrame(arrays, copy=False)

    def from_rows(self, rows: Iterable[Sequence[Any]]) -> pd.DataFrame:
        """Make the frame from rows, each with a cell a column in the declared order."""
        columns = list(zip(*rows, strict=True))
        return self.build(dict(zip(self.names, columns, strict=True)) if columns else None)

    def describe(self) -> pd.DataFrame:
        """Return the declaration itself as a frame: one row per column."""
        rows = [(c.name, c.dtype, c.values, c.nullable, c.meaning) for c in self.columns]
        return pd.DataFrame(rows, columns=["column", "dtype", "values", "nullable", "meaning"])


def describe_frames(specs: Iterable[FrameSpec]) -> pd.DataFrame:
    """Return the declarations of several frames as one: one row per column, with its frame."""
    return pd.concat([s.describe().assign(frame=s.name) for s in specs], ignore_index=True)


#: Python storage: text from documents may hold lone surrogates, which Arrow cannot.
_TEXT = pd.StringDtype("python")

_MASKED: dict[str, tuple[type[Any], Any]] = {
    "Float64": (np.float64, 1.0),
    "Int64": (np.int64, 1),
    "boolean": (np.bool_, False),
}


def _array(values: Sequence[Any], dtype: str) -> Any:
    if dtype == "object":
        cells = np.fromiter(values, dtype=object, count=len(values))
        return pd.Series(cells, dtype=object)  # a bare array of texts would become text
    if dtype in _MASKED:
        return _masked(values, dtype)
    if dtype == "string":
        cells = np.fromiter(values, dtype=object, count=len(values))
        return pd.array(cells, dtype=_TEXT)
    return np.array(values, dtype=dtype)


def _masked(values: Sequence[Any], dtype: str) -> Any:
    scalar, filler = _MASKED[dtype]
    mask = np.fromiter((v is None for v in values), dtype=bool, count=len(values))
    filled = [filler if v is None else v for v in values] if mask.any() else values
    data = np.array(filled, dtype=scalar)
    if dtype == "Float64":
        return pd.arrays.FloatingArray(data, mask)
    if dtype == "Int64":
        return pd.arrays.IntegerArray(data, mask)
    return pd.arrays.BooleanArray(data, mask)
