"""Values written as texts, the same in frames, records and rows."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import date, datetime, time, timedelta
from typing import Any

import numpy as np
import pandas as pd

from extractbench_nb._json import canonical

__all__ = ["text_of", "texts_of", "texts_of_rows"]

#: Whole numbers from here on keep their exponent, as JavaScript writes them.
_GREAT = 1e21
_CONTAINERS = (dict, list, tuple, np.ndarray)


def text_of(value: Any, *, only_day: bool = False) -> str:
    """Write one value as the text of a cell.

    Parameters
    ----------
    value : object
        Any value. Texts stay as they are.
    only_day : bool, optional
        Whether a date with a time is written without the time.

    Returns
    -------
    str
        Empty for what is missing: None, NaN, NaT, ``pandas.NA``. ``true`` and ``false``. Floats
        that are whole numbers are written as whole numbers, since pandas makes such floats of
        whole numbers where one is missing. Dates and times in ISO form. Objects and arrays are
        JSON. Anything else as ``str`` writes it: decimals with all of their digits.

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

    Parameters
    ----------
    values : iterable
        Any values.

    Returns
    -------
    list of str
        As by `text_of`. Dates with times lose them where all are midnight.

    Examples
    --------
    >>> texts_of([datetime(2020, 1, 2), None])
    ['2020-01-02', '']
    """
    known = list(values)
    only_day = _are_days(known)
    return [text_of(value, only_day=only_day) for value in known]


def texts_of_rows(rows: Sequence[Sequence[Any]]) -> list[list[str]]:
    """Write the values of rows, which may be of unequal length, column by column as `texts_of`.

    Parameters
    ----------
    rows : sequence of sequence
        Any values.

    Returns
    -------
    list of list of str
        Of the same lengths.
    """
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
