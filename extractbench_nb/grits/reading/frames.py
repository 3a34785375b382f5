"""Tables of DataFrames."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, TypeAlias

import pandas as pd

from extractbench_nb.grits.cells import Cell, Table
from extractbench_nb.grits.reading.mending import Notes, check_size, mended
from extractbench_nb.grits.reading.values import text_of, texts_of

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
        names in the header. An index of whole numbers without a name, as pandas makes it by itself
        and as it is left by filters and sorts, is no part of the table; name it to keep it. Nor
        are columns that are numbered from 0.
    name : str
        What errors call the table.

    Returns
    -------
    Table
        Missing values are empty texts. Floats that are whole numbers are written as whole numbers,
        with a gap in the column or without, booleans as ``true`` and ``false``, dates as ISO.

    Raises
    ------
    InputError
        There are more than a million positions.

    Examples
    --------
    >>> frame = pd.DataFrame({("2020", "Q1"): [1.0, None], ("2020", "Q2"): [2.5, 3.0]})
    >>> table = table_of_frame(frame, "table")
    >>> table.texts
    [['2020', '2020'], ['Q1', 'Q2'], ['1', '2.5'], ['', '3']]
    >>> table.cells[0].columns
    (0, 1)
    """
    top = 0 if _are_numbered(frame.columns) else frame.columns.nlevels
    left = 0 if _are_positions(frame.index) else frame.index.nlevels
    check_size(top + len(frame), left + frame.shape[1], name)
    return mended(_cells(frame, top, left), Notes(), name)


def _are_numbered(index: pd.Index[Any]) -> bool:
    return (
        isinstance(index, pd.RangeIndex)
        and index.name is None
        and (index.start, index.step) == (0, 1)
    )


def _are_positions(index: pd.Index[Any]) -> bool:
    """Whether an index says no more than which rows they were."""
    return index.nlevels == 1 and index.name is None and index.inferred_type in ("integer", "empty")


def _cells(frame: pd.DataFrame, top: int, left: int) -> Iterator[Cell]:
    if top:
        yield from (
            Cell(tuple(range(top)), (level,), text_of(text), None, is_header=True)
            for level, text in enumerate(frame.index.names[:left])
        )
        for first, stop, level, text in _spans(_labels(frame.columns)):
            columns = tuple(range(left + first, left + stop))
            yield Cell((level,), columns, text, None, is_header=True)
    if left:
        for first, stop, level, text in _spans(_labels(frame.index)):
            yield Cell(tuple(range(top + first, top + stop)), (level,), text)
    for column in range(frame.shape[1]):
        for row, text in enumerate(texts_of(frame.iloc[:, column].array)):
            yield Cell((top + row,), (left + column,), text)


def _labels(index: pd.Index[Any]) -> _Labels:
    plain = index.set_names(list(range(index.nlevels)))  # a level may have another's number as name
    levels = [texts_of(plain.get_level_values(n).array) for n in range(index.nlevels)]
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
