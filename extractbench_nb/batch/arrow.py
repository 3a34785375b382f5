"""Frames to Arrow and back, the only form in which rows travel and rest on disk."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from functools import lru_cache
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
from pandas.api.types import pandas_dtype

from extractbench_nb._frames import Column, FrameSpec
from extractbench_nb.engine.inputs import MAX_DEPTH
from extractbench_nb.errors import InputError

if TYPE_CHECKING:
    import pyarrow as pa

__all__ = [
    "ESCAPE",
    "ESCAPING",
    "arrow_schema",
    "escape",
    "is_time",
    "pack",
    "record_batch",
    "time_array",
    "time_cells",
    "time_dtype",
    "time_type",
    "to_frame",
    "unescape",
    "unpack",
    "value_from_text",
    "value_to_text",
]


_MISSING = np.iinfo(np.int64).min


def is_time(dtype: str) -> bool:
    """Say whether a dtype, as text, is one of points in time."""
    return dtype.startswith("datetime64[")


def time_dtype(dtype: Any) -> str | None:
    """Return the text of a dtype of points in time; None for any other dtype."""
    if isinstance(dtype, np.dtype) and dtype.kind == "M":
        return str(dtype)
    if not isinstance(dtype, pd.DatetimeTZDtype):
        return None
    try:
        named = pd.DatetimeTZDtype.construct_from_string(str(dtype)) == dtype
    except TypeError:
        named = False
    portable = named and "local" not in str(dtype)
    return str(dtype) if portable else f"datetime64[{dtype.unit}, UTC]"


def time_cells(series: pd.Series[Any], dtype: str) -> list[int | None]:
    """Count since 1970 in UTC, in the unit of a dtype."""
    unit = time_type(dtype).unit
    counts = series.astype(pandas_dtype(dtype)).to_numpy(dtype=f"datetime64[{unit}]").view(np.int64)
    return [None if count == _MISSING else count for count in counts.tolist()]


def time_type(dtype: str) -> pa.DataType:
    """Return the Arrow type of a dtype."""
    import pyarrow as pa

    return pa.Array.from_pandas(pd.Series([], dtype=pandas_dtype(dtype))).type


def time_array(data: pa.ChunkedArray, dtype: str) -> Any:
    """Make the pandas array of a dtype from an Arrow column; Parquet may have changed its unit."""
    import pyarrow as pa

    kind = time_type(dtype)
    counts = data.cast(kind).cast(pa.int64()).fill_null(_MISSING).to_numpy()
    points = pd.DatetimeIndex(np.asarray(counts).view(f"datetime64[{kind.unit}]"))
    zone = getattr(pandas_dtype(dtype), "tz", None)
    return (points if zone is None else points.tz_localize("UTC").tz_convert(zone)).array


ESCAPE = "\x1a"
#: What readers of the files need to know.
ESCAPING = "a lone surrogate, or U+001A itself, is U+001A and four hexadecimal digits"

_TO_ESCAPE = re.compile("[\x1a\ud800-\udfff]")
_ESCAPED = re.compile("\x1a([0-9a-f]{4})")
_TOO_DEEP = "… nested too deep"
_encode = json.JSONEncoder(ensure_ascii=False, separators=(",", ":"), default=str).encode


def escape(text: str) -> str:
    r"""Replace what UTF-8 cannot hold.

    Examples
    --------
    >>> escape("a\ud800b") == "a\x1ad800b"
    True
    """
    return _TO_ESCAPE.sub(lambda found: f"{ESCAPE}{ord(found[0]):04x}", text)


def unescape(text: str) -> str:
    """Undo `escape`."""
    return _ESCAPED.sub(lambda found: chr(int(found[1], 16)), text) if ESCAPE in text else text


def value_to_text(value: Any) -> str | None:
    """Write a value as JSON text."""
    if value is None:
        return None
    try:
        return _encode(value)
    except (TypeError, ValueError, RecursionError):
        return _encode(_plain(value, MAX_DEPTH))


def value_from_text(text: str) -> Any:
    """Restore a value from what `value_to_text` wrote (without its escapes)."""
    return json.loads(text)


def _plain(value: Any, levels: int) -> Any:
    """Copy a value with only what a JSON encoder takes: text keys, numbers that can be written."""
    if isinstance(value, dict | list | tuple) and not levels:
        return _TOO_DEEP
    if isinstance(value, dict):
        return {str(key): _plain(part, levels - 1) for key, part in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(part, levels - 1) for part in value]
    if isinstance(value, int):
        try:
            str(value)
        except ValueError:  # more digits than Python writes
            return hex(value)
    return value


_TEXT = pd.StringDtype("python")
_MASKED: dict[str, Any] = {
    "Float64": (pd.arrays.FloatingArray, 0.0),
    "Int64": (pd.arrays.IntegerArray, 0),
    "boolean": (pd.arrays.BooleanArray, False),
}
_SIZE_BYTES = 8
#: More than this is not unpacked.
_MOST_BYTES = 2**32
_ESCAPE_BYTE = ESCAPE.encode()


@lru_cache(maxsize=64)
def arrow_schema(spec: FrameSpec) -> pa.Schema:
    """Return the Arrow types of a frame; values are JSON text."""
    import pyarrow as pa

    types = {
        "Float64": pa.float64(),
        "float64": pa.float64(),
        "Int64": pa.int64(),
        "int64": pa.int64(),
        "boolean": pa.bool_(),
        "bool": pa.bool_(),
    }
    return pa.schema(
        [
            (c.name, time_type(c.dtype) if is_time(c.dtype) else types.get(c.dtype, pa.string()))
            for c in spec.columns
        ]
    )


def record_batch(spec: FrameSpec, rows: Sequence[Sequence[Any]]) -> pa.RecordBatch:
    """Make an Arrow record batch of rows."""
    import pyarrow as pa

    schema = arrow_schema(spec)
    columns = list(zip(*rows, strict=True)) if rows else [()] * len(spec.columns)
    arrays = [
        _column(column, cells, kind)
        for column, cells, kind in zip(spec.columns, columns, schema.types, strict=True)
    ]
    return pa.RecordBatch.from_arrays(arrays, schema=schema)


def _column(column: Column, cells: Sequence[Any], kind: pa.DataType) -> pa.Array:
    import pyarrow as pa

    if column.dtype == "object":
        cells = [value_to_text(cell) for cell in cells]
    try:
        array = pa.array(cells, kind)
    except UnicodeEncodeError:
        return pa.array(_escaped(cells), kind)
    if column.dtype == "string" and _holds_escape(array):
        return pa.array(_escaped(cells), kind)
    return array


def _holds_escape(array: pa.Array) -> bool:
    data = array.buffers()[2]
    return data is not None and data.to_pybytes().find(_ESCAPE_BYTE) >= 0


def _escaped(cells: Sequence[str | None]) -> list[str | None]:
    return [None if cell is None else escape(cell) for cell in cells]


def pack(batch: pa.RecordBatch) -> bytes:
    """Compress a record batch; its schema is not in it."""
    import pyarrow as pa

    plain = batch.serialize()
    size: bytes = plain.size.to_bytes(_SIZE_BYTES, "little")
    return size + bytes(pa.compress(plain, codec="zstd", asbytes=True))


def unpack(packed: bytes, spec: FrameSpec) -> pa.RecordBatch:
    """Undo `pack`."""
    import pyarrow as pa

    view = memoryview(packed)
    size = int.from_bytes(view[:_SIZE_BYTES], "little")
    try:
        if size > _MOST_BYTES:
            raise ValueError(f"{size:,} bytes")
        plain = pa.decompress(view[_SIZE_BYTES:], decompressed_size=size, codec="zstd")
        batch = pa.ipc.read_record_batch(plain, arrow_schema(spec))
        batch.validate(full=True)
    except (pa.ArrowException, OSError, ValueError, MemoryError) as error:
        raise InputError(f"rows of {spec.name!r} are damaged: {error}") from None
    return batch


def to_frame(table: pa.Table, spec: FrameSpec) -> pd.DataFrame:
    """Restore a frame with the declared dtypes and the values as Python objects."""
    arrays = {c.name: _pandas_array(table.column(c.name), c) for c in spec.columns}
    return pd.DataFrame(arrays, copy=False)


def _pandas_array(data: pa.ChunkedArray, column: Column) -> Any:
    if column.dtype == "string":
        return pd.array(_from_uniques(data, unescape), dtype=_TEXT)
    if column.dtype == "object":
        restore = _restore_tuple if column.name == "failed_fields" else _restore
        return pd.Series(_from_uniques(data, restore), dtype=object)
    if is_time(column.dtype):
        return time_array(data, column.dtype)
    if column.dtype not in _MASKED:
        return np.asarray(data.to_numpy(), dtype=column.dtype)
    kind, filler = _MASKED[column.dtype]
    mask = np.asarray(data.is_null().to_numpy(), dtype=bool)
    return kind(np.asarray(data.fill_null(filler).to_numpy()), mask)


class _Container(str):
    """JSON text of an object or array: each cell gets an object of its own."""

    __slots__ = ()


def _restore(text: str) -> Any:
    return _Container(text) if text[0] in "[{" else value_from_text(unescape(text))


def _restore_tuple(text: str) -> tuple[Any, ...]:
    return tuple(value_from_text(unescape(text)))


def _from_uniques(data: pa.ChunkedArray, restore: Any) -> np.ndarray[Any, Any]:
    """Restore every different text once; equal scalars share one object."""
    encoded = data.dictionary_encode().combine_chunks()
    texts = encoded.dictionary.to_pylist()
    uniques = np.empty(len(texts) + 1, dtype=object)  # the last one stands for missing
    for place, text in enumerate(texts):
        uniques[place] = restore(text)
    codes = np.asarray(encoded.indices.fill_null(len(texts)).to_numpy())
    cells: np.ndarray[Any, Any] = uniques[codes]
    if any(type(unique) is _Container for unique in uniques):
        for place, cell in enumerate(cells):
            if type(cell) is _Container:
                cells[place] = value_from_text(unescape(cell))
    return cells
