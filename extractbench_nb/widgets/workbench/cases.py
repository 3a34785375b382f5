"""The cases of a workbench: pairs of gold and predicted values, from whatever holds them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from extractbench_nb._json import json_type
from extractbench_nb.breakdowns.sources import TEXT, gather
from extractbench_nb.errors import InputError, nearest
from extractbench_nb.inputs import private_copy, refuse_non_json
from extractbench_nb.report.texts import value_text
from extractbench_nb.values import MISSING

__all__ = ["Case", "Cases", "label_text", "present", "read_cases", "side_text"]

_LABELS = ("run", "document", "path")
_OF_FIELDS = ("path", "field", "gold", "predicted", "gold_state", "predicted_state", "outcome")
_SIDES = ("gold", "predicted")
_PAIR, _TRIPLE = 2, 3
_SEARCHED = 20_000


class Case(NamedTuple):
    """A pair of values; `MISSING` where the key is absent.

    ``types`` are the JSON types that the field's schema allows; none allows all. ``expected`` is
    the verdict that people gave, None where they gave none.
    """

    gold: Any
    predicted: Any
    types: tuple[str, ...] = ()
    expected: bool | None = None


@dataclass(frozen=True)
class Cases:
    """Cases in order, and what else is known of each.

    Parameters
    ----------
    rows : tuple of Case
        The pairs.
    more : pandas.DataFrame
        Further columns, one row a case.
    """

    rows: tuple[Case, ...]
    more: pd.DataFrame

    def __len__(self) -> int:
        """Return the number of cases."""
        return len(self.rows)

    @cached_property
    def texts(self) -> list[str]:
        """What can be searched of each case: both values and the further columns, case folded."""
        sides = [(side_text(case.gold), side_text(case.predicted)) for case in self.rows]
        columns = [map(label_text, column.tolist()) for _, column in self.more.items()]
        labels = list(zip(*columns, strict=True)) or [()] * len(self)
        return [
            "\n".join(text[:_SEARCHED] for text in (*values, *more)).casefold()
            for values, more in zip(sides, labels, strict=True)
        ]

    @property
    def labelled(self) -> bool:
        """Whether any case has an expected verdict."""
        return any(case.expected is not None for case in self.rows)


def present(value: Any) -> Any:
    """Return a value, None where the key is absent."""
    return None if value is MISSING else value


def side_text(value: Any) -> str:
    """Write a value as one text; nothing where it is absent."""
    return value_text(present(value))


def label_text(value: Any) -> str:
    """Write a cell of a further column; a missing one is empty."""
    if isinstance(value, str):
        return value
    missing = value is None or value is pd.NA or (isinstance(value, float) and np.isnan(value))
    return "" if missing else value_text(value)


def read_cases(source: Any, *, field: str | None = None, kinds: Iterable[str] = ()) -> Cases:
    """Read cases.

    Parameters
    ----------
    source : pandas.DataFrame, list, Evaluation or Evaluations
        A frame with the columns gold and predicted, and perhaps expected; a list of tuples
        ``(gold, predicted)`` or ``(gold, predicted, expected)``; or what holds a frame of fields.
    field : str, optional
        For fields: the field whose rows to take, ``authors[].name``.
    kinds : iterable of str, optional
        For fields where none is named: JSON types of the values to take; all if empty.

    Returns
    -------
    Cases
        Copies: the caller's values can change.

    Raises
    ------
    InputError
        There is no gold or no predicted side, a value is none of JSON, or `field` is not known.
    """
    if isinstance(source, list | tuple) and all(isinstance(one, list | tuple) for one in source):
        frame = _from_pairs(source)
    elif isinstance(source, pd.DataFrame):
        frame = source
    else:
        frame = _fields_of(source)
    if set(_OF_FIELDS) <= set(frame.columns):
        return _from_fields(frame, field, frozenset(kinds))
    if field is not None:
        raise InputError(
            f"field={field!r} chooses among the fields of an Evaluation; the cases have none"
        )
    return _from_frame(frame)


def _from_pairs(pairs: Sequence[Sequence[Any]]) -> pd.DataFrame:
    for number, pair in enumerate(pairs):
        if len(pair) not in (_PAIR, _TRIPLE):
            raise InputError(
                f"case {number} has {len(pair)} parts; expected (gold, predicted) or "
                "(gold, predicted, expected)"
            )
    whole = [(*pair, None)[:_TRIPLE] for pair in pairs]
    columns = zip((*_SIDES, "expected"), zip(*whole, strict=True), strict=False)
    made = {name: pd.Series(_cells(values), dtype=object) for name, values in columns}
    return pd.DataFrame(made or {name: pd.Series(dtype=object) for name in _SIDES})


def _cells(values: Sequence[Any]) -> Any:
    cells = np.empty(len(values), dtype=object)
    for at, value in enumerate(values):
        cells[at] = value
    return cells


def _fields_of(source: Any) -> pd.DataFrame:
    try:
        return gather(source, "fields")
    except InputError as error:
        raise InputError(
            f"cases is {type(source).__name__}; expected a DataFrame with the columns gold and "
            f"predicted, a list of (gold, predicted) tuples, or an Evaluation ({error})"
        ) from None


def _from_frame(frame: pd.DataFrame) -> Cases:
    for side in _SIDES:
        if side not in frame.columns:
            known = [str(name) for name in frame.columns]
            raise InputError(f"cases have no column {side!r}; {nearest(side, known)}")
    golds, predicted = (_values(frame[side]) for side in _SIDES)
    expected = _expected(frame)
    for number, gold in enumerate(golds):
        _refuse(number, gold)
    rows = zip(golds, predicted, map(_declared, golds), expected, strict=True)
    more = frame.drop(columns=[c for c in (*_SIDES, "expected") if c in frame.columns])
    return Cases(tuple(Case(*row) for row in rows), more.reset_index(drop=True))


def _values(column: pd.Series) -> list[Any]:
    """Return JSON values: what pandas calls missing is null, a NaN that was put there stays."""
    loose = column.dtype == object
    return [
        None if value is None or value is pd.NA or (not loose and pd.isna(value)) else value
        for value in map(private_copy, column.tolist())
    ]


def _refuse(number: int, gold: Any) -> None:
    try:
        refuse_non_json(gold)
    except InputError as error:
        raise InputError(f"case {number}: {error}") from None


def _declared(gold: Any) -> tuple[str, ...]:
    """Return the type that a schema would declare for a gold value; any for objects and null."""
    kind = json_type(gold)
    return () if gold is MISSING or kind in ("object", "null") else (kind,)


def _expected(frame: pd.DataFrame) -> list[bool | None]:
    if "expected" not in frame.columns:
        return [None] * len(frame)
    return [_verdict(number, value) for number, value in enumerate(frame["expected"].tolist())]


def _verdict(number: int, value: Any) -> bool | None:
    if value is None or value is pd.NA or (isinstance(value, float) and np.isnan(value)):
        return None
    if isinstance(value, bool | np.bool_ | int | float) and value in (0, 1):
        return bool(value)
    raise InputError(
        f"case {number}: expected is {value!r}; expected True (passes), False, or nothing"
    )


def _from_fields(fields: pd.DataFrame, field: str | None, kinds: frozenset[str]) -> Cases:
    labels = [name for name in _LABELS if name in fields.columns]
    once = [name for name in (*labels, "predicted_path") if name in fields.columns]
    rows = fields[~fields.duplicated(once)]  # a field with several metrics has several rows
    if field is not None:
        known = [str(name) for name in rows["field"].unique()]
        if field not in known:
            raise InputError(f"there is no field {field!r}; {nearest(field, known)}")
        rows = rows[rows["field"] == field]
    golds, predicted = (
        [
            MISSING if state == "missing" else value
            for value, state in zip(rows[side], rows[f"{side}_state"], strict=True)
        ]
        for side in _SIDES
    )
    found = [
        Case(*row) for row in zip(golds, predicted, _types(rows), _expected(rows), strict=True)
    ]
    taken = [field is not None or not kinds or _kind(case) in kinds for case in found]
    more = rows.loc[taken, labels].reset_index(drop=True).astype(TEXT)
    return Cases(tuple(c for c, wanted in zip(found, taken, strict=True) if wanted), more)


def _types(rows: pd.DataFrame) -> list[tuple[str, ...]]:
    """Return the types of gold, and the predicted one where the schema allowed it too."""
    cells = zip(rows["gold"], rows["predicted"], rows["outcome"], strict=True)
    return [
        tuple(dict.fromkeys(_declared(gold) + (_declared(other) if told != "structural" else ())))
        if gold is not None
        else ()
        for gold, other, told in cells
    ]


def _kind(case: Case) -> str:
    """Return the JSON type of gold, of the prediction where gold is absent."""
    value = case.predicted if case.gold is None or case.gold is MISSING else case.gold
    return json_type(value)
