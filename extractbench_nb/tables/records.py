"""Tables of records, rows and DataFrames."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from datetime import date, datetime, time, timedelta
from typing import Any, TypeAlias

import numpy as np
import pandas as pd

from extractbench_nb._json import canonical
from extractbench_nb.display.html import one_line
from extractbench_nb.errors import InputError
from extractbench_nb.tables.cells import Cell, Table
from extractbench_nb.tables.html_reading import Notes, check_size, mended, table_of_rows

__all__ = [
    "is_row",
    "items_of_object",
    "read_records",
    "read_rows",
    "table_of_frame",
    "tables_of_arrays",
    "text_of",
    "texts_of",
    "texts_of_rows",
]


#: Whole numbers from here on keep their exponent, as JavaScript writes them.
_GREAT = 1e21
_CONTAINERS = (dict, list, tuple, np.ndarray)


def text_of(value: Any, *, only_day: bool = False) -> str:
    """Write one value as the text of a cell.

    Examples
    --------
    >>> [text_of(value) for value in (1.0, 2.5, True, None, date(2020, 1, 2), [1.0, None])]
    ['1', '2.5', 'true', '', '2020-01-02', '[1, null]']
    """
    if isinstance(value, str):
        return str.__str__(value)
    if isinstance(value, _CONTAINERS):
        return canonical(_plain(value))
    if _is_missing(value):
        return ""
    known = _known(value)
    if isinstance(known, float | np.floating) and _is_whole(known):
        return str(int(known))
    if isinstance(known, date | time):
        text = known.isoformat()
        return text.partition("T")[0] if only_day and isinstance(known, datetime) else text
    return canonical(known) if isinstance(known, int) else str(known)


def texts_of(values: Iterable[Any]) -> list[str]:
    """Write the values of a column.

    Examples
    --------
    >>> texts_of([datetime(2020, 1, 2), None])
    ['2020-01-02', '']
    """
    known = list(values)
    only_day = _are_days(known)
    return [text_of(value, only_day=only_day) for value in known]


def texts_of_rows(rows: Sequence[Sequence[Any]]) -> list[list[str]]:
    """Write the values of rows, which may be of unequal length, column by column as `texts_of`."""
    width = max(map(len, rows), default=0)
    days = [_are_days(row[n] for row in rows if n < len(row)) for n in range(width)]
    return [
        [text_of(value, only_day=day) for value, day in zip(row, days, strict=False)]
        for row in rows
    ]


def _is_whole(number: Any) -> bool:
    return bool(number.is_integer() and abs(number) < _GREAT)


def _is_missing(value: Any) -> bool:
    return value is None or bool(pd.api.types.is_scalar(value) and pd.isna(value))


def _known(value: Any) -> Any:
    """Return what is written alike for a value of numpy, or a span of time."""
    if isinstance(value, np.bool_ | np.integer):
        return value.item()
    kind = {np.datetime64: pd.Timestamp, timedelta: pd.Timedelta, np.timedelta64: pd.Timedelta}
    for source, wanted in kind.items():
        if isinstance(value, source):
            try:
                return wanted(value)
            except ValueError:  # beyond what pandas counts
                return str(value)
    return value


def _are_days(values: Iterable[Any]) -> bool:
    """Whether each date with a time is at midnight."""
    return not any(
        value.hour or value.minute or value.second or value.microsecond or _nanosecond(value)
        for value in map(_moment, values)
        if value is not None
    )


def _moment(value: Any) -> datetime | None:
    known = _known(value) if isinstance(value, np.datetime64) else value
    return known if isinstance(known, datetime) and not _is_missing(known) else None


def _nanosecond(value: datetime) -> int:
    return value.nanosecond if isinstance(value, pd.Timestamp) else 0


def _plain(value: Any) -> Any:
    """Return a value of which JSON is written as `text_of` writes what is in it."""
    try:
        return _json_value(value)
    except RecursionError:
        return value


def _json_value(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _json_value(item) for key, item in value.items()}
    if isinstance(value, np.ndarray):
        return _json_value(value.tolist())
    if isinstance(value, list | tuple):
        return [_json_value(item) for item in value]
    if isinstance(value, str | int) or _is_missing(value):
        return None if _is_missing(value) else value
    known = _known(value)
    if isinstance(known, float | np.floating):
        number = float(str(known))  # single precision is not widened
        return int(number) if _is_whole(number) else number
    return known if isinstance(known, int) else text_of(known)


#: Keys of an object under which the names of columns stand.
_HEADERS = ("columns", "column_names", "header", "headers")
#: Keys under which the rows stand, where several arrays could hold them; the first one counts.
_ROWS = ("rows", "data", "table", "items", "records")


def read_records(
    items: Iterable[Mapping[str, Any]], columns: Sequence[str] | None = None, name: str = "table"
) -> Table:
    """Make a table of objects: a header row of their keys, then a row each.

    Parameters
    ----------
    items : iterable of dict
        Flat objects, as an extracted array holds them.
    columns : sequence of str, optional
        The keys to show, in order. By default all, in the order in which they first appear.
    name : str, optional
        What errors call the table.

    Returns
    -------
    Table
        A null, and a key that is missing, is an empty text; texts stay as they are; anything else
        is written as in a DataFrame: 1.0 is ``1``, dates are ISO, objects and arrays JSON.

    Raises
    ------
    InputError
        An item is no dict, or the columns are not as they should be.

    Examples
    --------
    >>> read_records([{"year": 2020, "audited": True}, {"year": 2021, "note": None}]).texts
    [['year', 'audited', 'note'], ['2020', 'true', ''], ['2021', '', '']]
    """
    known = list(items)
    for number, item in enumerate(known):
        if not isinstance(item, Mapping):
            raise InputError(f"{name}, item {number} is {type(item).__name__}; expected a dict")
    keys = _keys(known) if columns is None else _chosen(columns, name)
    check_size(len(known) + 1, len(keys), name)
    rows = texts_of_rows([[item.get(key) for key in keys] for item in known])
    return table_of_rows([[*map(text_of, keys)], *rows] if keys else [], 1, Notes(), name)


def read_rows(items: Iterable[Sequence[Any]], name: str = "table") -> Table:
    """Make a table of rows; the first one is the header.

    Examples
    --------
    >>> read_rows([["Year", "Sales"], [2020, 1.5]]).texts
    [['Year', 'Sales'], ['2020', '1.5']]
    """
    rows = list(items)
    for number, row in enumerate(rows):
        _check_row(row, f"{name}, item {number}")
    texts = [*texts_of_rows(rows[:1]), *texts_of_rows(rows[1:])]
    return table_of_rows(texts, 1, Notes(), name)


def is_row(item: Any) -> bool:
    """Whether an item is a list, a tuple that is no cell, or an array of one dimension or more."""
    return isinstance(item, list | tuple | np.ndarray) and not isinstance(item, Cell)


def items_of_object(value: Mapping[Any, Any], name: str, kind: str) -> list[Any]:
    """Return the array of objects or of rows that an object holds, or is.

    Examples
    --------
    >>> items_of_object({"columns": ["a"], "data": [[1]]}, "table", "a JSON object")
    [['a'], [1]]
    >>> items_of_object({"a": [1, 2], "b": [3, 4]}, "table", "a JSON object")
    [{'a': 1, 'b': 3}, {'a': 2, 'b': 4}]
    """
    ways: list[Callable[[], list[Any] | None]] = [
        lambda: _rows_in(value, name),
        lambda: _rows_below(value, name),
        lambda: _columns_in(value),
    ]
    for way in ways:
        found = way()
        if found is not None:
            return found
    if value and all(map(_is_single, value.values())):
        return [value]
    raise InputError(
        f"{name} is {kind}; expected an array of objects or of rows, or an object with one such "
        "array, with an array of single values for each column, or with single values"
    )


def _rows_in(value: Mapping[Any, Any], name: str) -> list[Any] | None:
    """Return the array of objects or rows among the members, below the header that is beside it."""
    key, header = _header(value)
    others = {other: list(m) for other, m in value.items() if other != key and _is_array(m)}
    arrays = {other: items for other, items in others.items() if not any(map(_is_single, items))}
    is_apart = key is None and not any(arrays.values()) and not {*_ROWS} & {*arrays}
    if is_apart and len(others) == len(value) and any(others.values()):
        return None  # columns, some of them empty
    rows = _picked(arrays, name)
    if rows:
        return [header, *rows] if header and is_row(rows[0]) else rows
    return [header] if header and (rows is not None or not others) else rows


def _rows_below(value: Mapping[Any, Any], name: str) -> list[Any] | None:
    found: dict[Any, list[Any]] = {}
    for key, member in value.items():
        if isinstance(member, Mapping):
            items = _rows_in(member, name)
            if items is None and (key in _ROWS or len(value) == 1):
                items = _columns_in(member)
            if items is not None:
                found[key] = items
    return _picked(found, name)


def _columns_in(value: Mapping[Any, Any]) -> list[Any] | None:
    """Return the rows of an object whose members are columns."""
    columns = list(value.values())
    if not columns or not all(map(_is_array, columns)) or _header(value)[0] is not None:
        return None
    is_flat = all(_is_single(item) for column in columns for item in column)
    if not is_flat or len({*map(len, columns)}) > 1 or any(map(_is_key_of_cells, value)):
        return None
    return [dict(zip(value, row, strict=True)) for row in zip(*columns, strict=True)]


def _header(value: Mapping[Any, Any]) -> tuple[str | None, list[Any]]:
    """Return the key under which the names of columns stand, and these."""
    for key in _HEADERS:
        items = list(value[key]) if _is_array(value.get(key)) else []
        if items and all(map(_is_single, items)):
            return key, items
        if items and any(_is_array(member) for other, member in value.items() if other != key):
            if all(isinstance(item, Mapping) and "name" in item for item in items):
                return key, [item["name"] for item in items]
            if len(items) == 1 and is_row(items[0]):
                return key, list(items[0])
    return None, []


def _picked(arrays: Mapping[Any, list[Any]], name: str) -> list[Any] | None:
    """Return the one array that is not empty, or that with the first of the known keys."""
    full = {key: items for key, items in arrays.items() if items} or arrays
    known = [key for key in _ROWS if key in full]
    if len(full) == 1 or known:
        return full[known[0]] if known else next(iter(full.values()))
    if any(full.values()):
        keys = one_line(", ".join(map(repr, full)), 80)
        raise InputError(
            f"{name} is an object with {len(full)} arrays: {keys}; expected one, or one of them "
            f"called {', '.join(_ROWS)}"
        )
    return [] if full else None


def _is_array(value: Any) -> bool:
    return is_row(value) and not (isinstance(value, np.ndarray) and value.ndim == 0)


def _is_single(value: Any) -> bool:
    return not isinstance(value, Mapping | Cell) and not is_row(value)


def _is_key_of_cells(key: Any) -> bool:
    return key in ("row_nums", "column_nums")


def _check_row(row: Any, where: str) -> None:
    if not is_row(row):
        raise InputError(f"{where} is {type(row).__name__}; expected a list")
    for number, value in enumerate(row):
        if isinstance(value, Mapping) or is_row(value):
            raise InputError(
                f"{where}: value {number} is {type(value).__name__}; expected a single value, "
                "as in a list of rows of which the first is the header"
            )


def _keys(items: list[Mapping[str, Any]]) -> list[Any]:
    return list(dict.fromkeys(key for item in items for key in item))


def _chosen(columns: Sequence[str], name: str) -> list[str]:
    chosen = [] if isinstance(columns, str) else list(columns)
    if len({*chosen}) < len(chosen) or not all(isinstance(key, str) for key in chosen):
        raise InputError(f"{name}: columns is {columns!r}; expected texts, each once")
    if isinstance(columns, str):
        raise InputError(f"{name}: columns is {columns!r}; expected a list of texts")
    return chosen


def tables_of_arrays(gold: Iterable[Any], predicted: Iterable[Any]) -> tuple[Table, Table]:
    """Make two tables of two arrays, with columns in one order.

    Examples
    --------
    >>> tables = tables_of_arrays([{"a": 1, "b": 2}], [{"c": 3, "b": 2}, 5])
    >>> [table.texts[0] for table in tables]
    [['a', 'b'], ['b', 'c', 'value']]
    """
    sides = _objects(gold), _objects(predicted)
    order = list(dict.fromkeys(key for side in sides for key in _keys(side)))
    true, found = (
        read_records(side, [key for key in order if key in used], name)
        for name, side, used in zip(
            ("gold", "predicted"), sides, (set(_keys(side)) for side in sides), strict=True
        )
    )
    return true, found


def _objects(items: Iterable[Any]) -> list[Mapping[str, Any]]:
    return [item if isinstance(item, Mapping) else {"value": item} for item in items]


_Labels: TypeAlias = Sequence[tuple[str, ...]]
#: First line, line after the last, level, text.
_Spans: TypeAlias = Iterator[tuple[int, int, int, str]]


def table_of_frame(frame: pd.DataFrame, name: str) -> Table:
    """Make a table of a DataFrame.

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
