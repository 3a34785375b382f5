"""Tables of DataFrames."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import date, time
from typing import Any, TypeAlias

import numpy as np
import pandas as pd

from extractbench_nb._json import canonical
from extractbench_nb.grits.cells import Cell, Table
from extractbench_nb.grits.reading.mending import Notes, check_size, mended

__all__ = ["table_of_frame"]

_Labels: TypeAlias = Sequence[tuple[str, ...]]
#: First line, line after the last, level, text.
_Spans: TypeAlias = Iterator[tuple[int, int, int, str]]


def table_of_frame(frame: pd.DataFrame, name: str) -> Table:
    """Make a table of a DataFrame.

    Parameters
    ----------
    frame : pandas.DataFrame
        Its columns become header rows, one a level; above the last level, equal neighbours below
        equal parents are one cell. An index becomes columns at the left in the same way, with its
        names in the header. A RangeIndex as pandas makes it by itself is no part of the table,
        on either axis.
    name : str
        What errors call the table.

    Returns
    -------
    Table
        Missing values are empty texts. Whole numbers that pandas holds as floats because some are
        missing are written as whole numbers, booleans as ``true`` and ``false``, dates as ISO.

    Raises
    ------
    InputError
        There are more than a million positions.

    Examples
    --------
    >>> frame = pd.DataFrame({("2020", "Q1"): [1.0, None], ("2020", "Q2"): [2.5, 3.0]})
    >>> table = table_of_frame(frame, "table")
    >>> table.texts
    [['2020', '2020'], ['Q1', 'Q2'], ['1', '2.5'], ['', '3.0']]
    >>> table.cells[0].columns
    (0, 1)
    """
    top = 0 if _is_default(frame.columns) else frame.columns.nlevels
    left = 0 if _is_default(frame.index) else frame.index.nlevels
    check_size(top + len(frame), left + frame.shape[1], name)
    return mended(_cells(frame, top, left), Notes(), name)


def _is_default(index: pd.Index[Any]) -> bool:
    return (
        isinstance(index, pd.RangeIndex)
        and index.name is None
        and (index.start, index.step) == (0, 1)
    )


def _cells(frame: pd.DataFrame, top: int, left: int) -> Iterator[Cell]:
    if top:
        yield from (
            Cell(tuple(range(top)), (level,), _text(text), None, is_header=True)
            for level, text in enumerate(frame.index.names[:left])
        )
        for first, stop, level, text in _spans(_labels(frame.columns)):
            columns = tuple(range(left + first, left + stop))
            yield Cell((level,), columns, text, None, is_header=True)
    if left:
        for first, stop, level, text in _spans(_labels(frame.index)):
            yield Cell(tuple(range(top + first, top + stop)), (level,), text)
    for column in range(frame.shape[1]):
        for row, text in enumerate(_texts(frame.iloc[:, column])):
            yield Cell((top + row,), (left + column,), text)


def _labels(index: pd.Index[Any]) -> _Labels:
    plain = index.set_names(list(range(index.nlevels)))  # a level may have another's number as name
    levels = [_texts(plain.get_level_values(n).to_series()) for n in range(index.nlevels)]
    return list(zip(*levels, strict=True))


def _spans(labels: _Labels) -> _Spans:
    """Join equal neighbours below equal parents, but for the last level."""
    levels = len(labels[0]) if labels else 0
    for level in range(levels):
        first = 0
        for stop in range(1, len(labels) + 1):
            is_new = stop == len(labels) or labels[stop][: level + 1] != labels[first][: level + 1]
            if is_new or level == levels - 1:
                yield first, stop, level, labels[first][level]
                first = stop


def _texts(values: pd.Series[Any]) -> list[str]:
    """Write the values of a column."""
    known, kind = values.dropna(), values.dtype.kind
    if kind == "f" and len(known) < len(values) and (known % 1 == 0).all():
        return ["" if pd.isna(value) else str(int(value)) for value in values]
    if kind == "M" and (known == known.dt.normalize()).all():
        return ["" if pd.isna(value) else value.date().isoformat() for value in values]
    return [_text(value) for value in values.array]  # a Series would widen single precision


def _text(value: Any) -> str:
    if pd.api.types.is_scalar(value) and pd.isna(value):
        return ""
    if isinstance(value, np.bool_ | np.integer):
        value = value.item()
    if isinstance(value, date | time):
        return value.isoformat()
    return canonical(value) if isinstance(value, int | dict | list | tuple) else str(value)
