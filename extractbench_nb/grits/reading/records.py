"""Tables of records: a row for each object, a column for each key."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from extractbench_nb.errors import InputError
from extractbench_nb.grits.cells import Cell, Table
from extractbench_nb.grits.reading.mending import Notes, check_size, table_of_rows
from extractbench_nb.grits.reading.values import text_of, texts_of_rows

__all__ = ["is_row", "read_records", "read_rows", "tables_of_arrays"]


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

    Parameters
    ----------
    items : iterable of sequence
        Lists, tuples or arrays of single values.
    name : str, optional
        What errors call the table.

    Returns
    -------
    Table
        Values are written as by `read_records`. As wide as the longest row; what shorter ones lack
        is filled and noted.

    Raises
    ------
    InputError
        An item is no list, or has a list or dict in it.

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

    Parameters
    ----------
    gold, predicted : iterable
        Items of an array; one that is no object has a column ``value``.

    Returns
    -------
    tuple of Table
        A header row of keys, then a row an item. The keys of gold come first, in the order in which
        they first appear; a key that no item of a side has is no column of it.

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
