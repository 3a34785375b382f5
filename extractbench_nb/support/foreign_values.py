"""Values of other libraries as plain ones: decimals, frames of Polars or Arrow, Pydantic models."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from datetime import date, time
from decimal import Decimal
from fractions import Fraction
from typing import Any

import pandas as pd
from pandas.api.types import pandas_dtype

from extractbench_nb.errors import InputError, needs

# --- decimals -------------------------------------------------------------------------------------


def as_written(number: int | float) -> Fraction:
    """Return the decimal that a number is written as: 0.1 is a tenth."""
    return Fraction(repr(number)) if isinstance(number, float) else Fraction(number)


def json_number(value: Decimal) -> int | float | str:
    """Return a decimal as a JSON number, as text if no float is written with the same digits."""
    number = float(value) if value.is_finite() else math.nan
    if not math.isfinite(number) or as_written(number) != Fraction(value):
        return str(value)
    return int(number) if number.is_integer() else number


# --- frames -----------------------------------------------------------------------------------


def as_pandas(frame: Any) -> Any:
    """Return a Polars, Arrow or other frame with Arrow's C interface as a pandas one.

    A lazy frame of Polars is collected.

    Structs and maps become dicts, lists become lists, nulls inside them None, decimals numbers,
    dates and times text. Columns of integers and booleans with nulls keep their type. Anything else
    is returned as it is.

    Examples
    --------
    >>> import pyarrow as pa
    >>> table = pa.table({"run": ["a", "b"], "predicted": [{"x": [1, None]}, None]})
    >>> as_pandas(table)["predicted"].tolist()
    [{'x': [1, None]}, None]
    """
    if type(frame).__name__ == "LazyFrame" and hasattr(frame, "collect"):
        frame = frame.collect()
    kind = type(frame)
    if isinstance(frame, pd.DataFrame) or not (
        hasattr(kind, "__arrow_c_stream__") and hasattr(kind, "columns")
    ):
        return frame
    pa = needs("pyarrow", "batch")
    try:
        table = frame if isinstance(frame, pa.Table) else pa.table(frame)
        named = zip(table.column_names, table.columns, strict=True)
        columns = [_of_arrow(name, column) for name, column in named]
    except (pa.ArrowException, TypeError) as error:
        raise InputError(f"{kind.__name__} cannot be read as a frame: {error}") from None
    # an index that pandas wrote is no column
    kept = [at for at, name in enumerate(table.column_names) if not _INDEX.match(name)]
    found = pd.DataFrame(dict(enumerate(columns)), index=range(table.num_rows))[kept]
    return found.set_axis([table.column_names[at] for at in kept], axis="columns")


_INDEX = re.compile(r"__index_level_\d+__\Z")


def _of_arrow(name: str, column: Any) -> pd.Series:
    """Return a column of an Arrow table; nested cells as Python objects."""
    pa = needs("pyarrow", "batch")
    kind = column.type
    if pa.types.is_nested(kind):
        try:
            cells = column.to_pylist(maps_as_pydicts="strict")
        except KeyError as error:
            raise InputError(f"column {name!r}: a map has the key {error} twice") from None
        return pd.Series([_json_value(cell) for cell in cells], dtype=object)
    if pa.types.is_dictionary(kind):
        return pd.Series(column.to_pylist())
    types = {pa.type_for_alias(name.lower()): pandas_dtype(name) for name in _WITH_NULLS}
    found: pd.Series = column.to_pandas(types_mapper=types.get if column.null_count else None)
    return found


def _json_value(cell: Any) -> Any:
    """Return a nested cell with JSON in place of decimals, dates and times."""
    if isinstance(cell, dict):
        return {key: _json_value(value) for key, value in cell.items()}
    if isinstance(cell, list):
        return [_json_value(value) for value in cell]
    if isinstance(cell, Decimal):
        return json_number(cell)
    return cell.isoformat() if isinstance(cell, date | time) else cell


#: Types that pandas has with nulls too, but not by default. Arrow's names are in lower case.
_WITH_NULLS = (
    *("boolean", "Int8", "Int16", "Int32", "Int64"),
    *("UInt8", "UInt16", "UInt32", "UInt64"),
)


# --- Pydantic models --------------------------------------------------------------------------


def is_model(value: object) -> bool:
    """Whether a value is an instance of a Pydantic model, told by the methods of its class."""
    kind = type(value)
    return all(callable(getattr(kind, name, None)) for name in ("model_dump", "model_json_schema"))


def model_values(model: Any, what: str) -> Any:
    """Return the values of a Pydantic model as JSON that its validation schema describes.

    Computed fields are left out. Where a field has another alias in dumps than in input, its key is
    the one of input. Decimals are numbers where that loses no digit, so that metrics of numbers
    apply.
    """
    options = {"mode": "json", "by_alias": True, "round_trip": True, "warnings": False}
    try:
        return _as_input(model, model.model_dump(**options))
    except Exception as error:  # noqa: BLE001 - serializers of the user's may raise anything
        reason = " ".join(str(error).split())
        raise InputError(
            f"{what}: the model {type(model).__name__} cannot be written as JSON: {reason}"
        ) from None


def _as_input(value: Any, dumped: Any) -> Any:
    """Give dumped models the keys of input, and numbers for decimals, which dumps write as text."""
    if isinstance(value, Decimal) and dumped == str(value):
        return json_number(value)
    if isinstance(value, list | tuple | set | frozenset):
        if isinstance(dumped, list) and len(value) == len(dumped):
            return [_as_input(*pair) for pair in zip(value, dumped, strict=True)]
    elif isinstance(value, Mapping):
        if isinstance(dumped, dict) and len(value) == len(dumped):
            pairs = zip(value.values(), dumped.items(), strict=True)
            return {key: _as_input(inner, written) for inner, (key, written) in pairs}
    elif getattr(type(value), "__pydantic_root_model__", False):
        return _as_input(value.root, dumped)
    elif isinstance(dumped, dict) and is_model(value):
        fields = getattr(type(value), "model_fields", {}).items()
        known = {field.serialization_alias or name: (name, field) for name, field in fields}
        renamed = {}
        for key, written in dumped.items():
            name, field = known.get(key, (key, None))
            inner = written if field is None else _as_input(getattr(value, name), written)
            renamed[_input_name(field, name) if field is not None else key] = inner
        return renamed
    return dumped


def _input_name(field: Any, name: str) -> str:
    """Return the key of a field in its validation schema, as Pydantic chooses it."""
    alias = field.validation_alias
    if isinstance(alias, str):
        return alias
    choices = getattr(alias, "choices", ())
    paths = [[one] if isinstance(one, str) else one.path for one in choices]
    return next((path[0] for path in paths if len(path) == 1), name)
