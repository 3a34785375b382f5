"""The rows of evaluations: collected, packed for processes and databases, and made into frames."""

from __future__ import annotations

import json
import re
import zlib
from collections.abc import Iterable, Sequence
from dataclasses import replace
from functools import lru_cache
from itertools import chain
from typing import TYPE_CHECKING, Any, Final

import numpy as np
import pandas as pd
from pandas.api.types import pandas_dtype

from extractbench_nb.core import Evaluation
from extractbench_nb.core.frames import Column, FrameSpec
from extractbench_nb.errors import needs
from extractbench_nb.support.wording import document_json

if TYPE_CHECKING:
    import pyarrow as pa

# --- columns ----------------------------------------------------------------------------------

#: The columns that identify an output.
IDS = (
    Column("run", "string", "name of the run, usually a model's name"),
    Column("document", "string", "document id"),
    Column("domain", "string", "domain of the document, if known", nullable=True),
    Column("schema", "string", "schema id, or the schema's title or hash"),
)
SUMMARY = Evaluation.spec("summary")
#: Entries of the summary that are averaged over documents; the others are added up.
UNITS = SUMMARY.measures

#: The stored frames of one evaluation that have many rows, by their names.
PARTS: Final = {
    name: Evaluation.spec(name) for name in ("fields", "arrays", "matches", "judge_calls")
}
SUMMARIES = FrameSpec(
    "summary",
    "one row per run and document",
    (
        *IDS,
        Column("valid", "bool", "whether the output is JSON, so that it could be evaluated"),
        Column("message", "string", "why an output is invalid, in the parser's words", "", True),
        Column("line", "Int64", "line at which parsing failed", "1 and up", True),
        Column("column", "Int64", "character in that line", "1 and up", True),
        *SUMMARY.columns,
    ),
)


def _led_by_ids(spec: FrameSpec) -> FrameSpec:
    return FrameSpec(spec.name, f"{spec.grain}, in each run and document", (*IDS, *spec.columns))


FRAMES: Final = {**{name: _led_by_ids(spec) for name, spec in PARTS.items()}, "summary": SUMMARIES}
#: The outcomes of cross-field rules; they have a file of their own if there are rules.
BATCH_RULES = _led_by_ids(Evaluation.spec("rules"))
MISMATCHES = _led_by_ids(Evaluation.spec("mismatches"))
MISSING_PAIRS = FrameSpec("missing", "one row per output that other runs have", IDS)

_POOLED = "passed / evaluated, all documents together; missing where nothing is evaluated"


def _over_documents(how: str, *, units: bool) -> tuple[Column, ...]:
    columns = (column for column in SUMMARY.columns if (column.name in UNITS) is units)
    return tuple(replace(c, meaning=f"{how} over documents: {c.meaning}") for c in columns)


BY_RUN = FrameSpec(
    "by_run",
    "one row per run",
    (
        Column("run", "string", "name of the run"),
        Column("documents", "int64", "outputs of the run, invalid ones included", "1 and up"),
        Column("invalid", "int64", "outputs that are not JSON, empty or absent", "0 and up"),
        Column("missing", "int64", "documents that only other runs have", "0 and up"),
        *_over_documents("mean", units=True),
        Column("pooled_pass_rate", "Float64", _POOLED, "0 to 1", True),
        *_over_documents("sum", units=False),
    ),
)

# --- the rows of one evaluation -----------------------------------------------------------------

#: Run, document, domain and schema.
Ids = tuple[str, str, str | None, str]
#: The rows of one part of an output: as they are in this process, or packed.
Part = list[tuple[Any, ...]] | bytes
#: The cells of rows by column; values of columns of objects are JSON text.
Columns = Sequence[Sequence[Any]]

#: Cells of a field's row if the output is invalid; its reasoning is the parser's message.
_INVALID_FIELD = {
    "predicted_path": None,
    "score": 0.0,
    "passed": False,
    "outcome": "structural",
    "reason": "invalid_output",
    "predicted": None,
    "predicted_state": "missing",
    "accepted_as": None,
}
_INVALID_ARRAY = {"score": 0.0, "passed": False}
_KEPT = ("evaluated", "null_pass_rate", "unlabelled", "gold_coverage")


def rows_of(evaluation: Evaluation, problem: str | None) -> tuple[list[float], dict[str, Part]]:
    """Return the summary's entries and the rows of each part; none pass with a problem."""
    parts = evaluation.frame_rows()
    summary = dict(zip(SUMMARY.names, parts.pop("summary")[0], strict=True))
    if problem is not None:
        changes: dict[str, dict[str, Any]] = {
            "fields": {**_INVALID_FIELD, "reasoning": problem},
            "arrays": _INVALID_ARRAY,
        }
        for part, changed in changes.items():
            names = PARTS[part].names
            parts[part] = [tuple(map(changed.get, names, row)) for row in parts[part]]
        entries = {c.name: 0.0 if c.dtype == "float64" else 0 for c in SUMMARY.columns}
        entries |= {name: summary[name] for name in _KEPT}
        summary = entries | dict.fromkeys(("judged", "failed", "structural"), summary["evaluated"])
    return list(summary.values()), {**parts}


def packed_part(name: str, part: Part) -> bytes:
    """Compress the rows of a part, for another process or a database."""
    if isinstance(part, bytes):
        return part
    return _pack(to_columns(PARTS[name], part)) if part else _empty(name)


def _pack(columns: Columns) -> bytes:
    text = json.dumps(columns, ensure_ascii=False, separators=(",", ":"))
    return zlib.compress(text.encode("utf-8", "surrogatepass"), level=1)


@lru_cache(maxsize=16)
def _empty(name: str) -> bytes:
    return _pack(to_columns(PARTS[name], ()))


def part_columns(name: str, packed: bytes) -> Columns | None:
    """Undo `packed_part`; None if there are no rows."""
    if packed == _empty(name):
        return None
    columns: Columns = json.loads(zlib.decompress(packed).decode("utf-8", "surrogatepass"))
    return columns


def to_columns(spec: FrameSpec, rows: Sequence[Sequence[Any]]) -> Columns:
    """Return the cells of rows by column."""
    columns = list(zip(*rows, strict=True)) if rows else [()] * len(spec.columns)
    return [
        [value_to_text(cell) for cell in cells] if column.dtype == "object" else cells
        for column, cells in zip(spec.columns, columns, strict=True)
    ]


def summary_spec(extras: Sequence[Column]) -> FrameSpec:
    """Return the columns of ``summary``, the user's own last."""
    return FrameSpec("summary", SUMMARIES.grain, (*SUMMARIES.columns, *extras))


# --- frames -------------------------------------------------------------------------------------


def part_frame(spec: FrameSpec, name: str, outputs: Iterable[tuple[Ids, Part]]) -> pd.DataFrame:
    """Build the frame of a part of many outputs, once for all of them."""
    ids, counts = [], []
    columns = PARTS[name].columns
    frame_cells: list[Any] = [[] for _ in columns]
    memos: list[dict[Any, Any]] = [{} for _ in columns]
    for output, part in outputs:
        if isinstance(part, bytes):
            packed = zip(columns, part_columns(name, part) or (), memos, strict=False)
            parts = [_restored(*arguments) for arguments in packed]
        else:
            plain = zip(columns, zip(*part, strict=True), strict=False)
            parts = [[*map(_own, cells)] if c.dtype == "object" else cells for c, cells in plain]
        ids.append(output)
        counts.append(len(parts[0]) if parts else 0)
        for cells, joined in zip(parts, frame_cells, strict=False):
            joined.extend(cells)
    leading = np.array([*ids, (None,) * len(IDS)], dtype=object)[:-1]  # one output is no scalar
    cells_of = [*(np.repeat(leading[:, n], counts) for n in range(len(IDS))), *frame_cells]
    del frame_cells
    arrays = {column.name: _array(column, cells_of.pop(0)) for column in spec.columns}
    return pd.DataFrame(arrays, copy=False)


def _array(column: Column, cells: Sequence[Any]) -> pd.Series:
    return FrameSpec("", "", (column,)).build({column.name: cells})[column.name]


_LARGEST = 2**63
_SAFE = {str, float, bool, type(None), tuple}  # tuples are paths


def _own(value: Any) -> Any:
    """Return what a value is after it was written and read; containers are new ones."""
    if type(value) in _SAFE or (type(value) is int and -_LARGEST < value < _LARGEST):
        return value
    return json.loads(value_to_text(value) or "null")


#: Columns of values that are tuples.
_TUPLES = ("failed_fields", "paths_gold", "paths_predicted")


def _restored(column: Column, cells: Sequence[Any], memo: dict[Any, Any]) -> Sequence[Any]:
    """Restore values; equal texts and scalars share one object, containers do not."""
    if column.dtype == "string":
        return [memo.setdefault(cell, cell) for cell in cells]
    if column.dtype != "object":
        return cells
    restored, is_tuple = [], column.name in _TUPLES
    for text in cells:
        if text is not None and text[0] in "[{" and not is_tuple:
            restored.append(json.loads(text))
            continue
        if text not in memo:
            value: Any = None if text is None else json.loads(text)
            memo[text] = tuple(value) if is_tuple else value
        restored.append(memo[text])
    return restored


# --- values as text -----------------------------------------------------------------------------

#: Writes values, of which none is looked at for circles: they end in a RecursionError.
_VALUES = json.JSONEncoder(ensure_ascii=False, check_circular=False, separators=(",", ":"))
#: Levels that are written of a value that is nested too deep for JSON.
_MOST_LEVELS = 100

ESCAPE = "\x1a"
#: What readers of the files need to know.
ESCAPING = "a lone surrogate, or U+001A itself, is U+001A and four hexadecimal digits"
_TO_ESCAPE = re.compile("[\x1a\ud800-\udfff]")
_ESCAPED = re.compile("\x1a([0-9a-f]{4})")


def value_to_text(value: Any) -> str | None:
    """Write a value as JSON text."""
    if value is None:
        return None
    try:
        return _VALUES.encode(value)
    except (TypeError, ValueError, RecursionError):
        return _VALUES.encode(document_json(value, _MOST_LEVELS))


def escape(text: str) -> str:
    """Replace what UTF-8 cannot hold."""
    return _TO_ESCAPE.sub(lambda found: f"{ESCAPE}{ord(found[0]):04x}", text)


def unescape(text: str) -> str:
    """Undo `escape`."""
    return _ESCAPED.sub(lambda found: chr(int(found[1], 16)), text) if ESCAPE in text else text


# --- Arrow ------------------------------------------------------------------------------------


@lru_cache(maxsize=64)
def arrow_schema(spec: FrameSpec) -> pa.Schema:
    """Return the Arrow types of a frame; values are JSON text."""
    pa = needs("pyarrow", "batch")
    texts = {"object": "string"}
    aliases = ((c.name, texts.get(c.dtype, c.dtype.lower())) for c in spec.columns)
    return pa.schema([(name, pa.type_for_alias(alias)) for name, alias in aliases])


def record_batch(spec: FrameSpec, columns: Columns) -> pa.RecordBatch:
    """Make an Arrow record batch of rows."""
    pa = needs("pyarrow", "batch")
    schema = arrow_schema(spec)
    columns_of_types = zip(columns, schema.types, strict=True)
    arrays = [_arrow_array(cells, kind) for cells, kind in columns_of_types]
    return pa.RecordBatch.from_arrays(arrays, schema=schema)


def _arrow_array(cells: Sequence[Any], kind: pa.DataType) -> pa.Array:
    pa = needs("pyarrow", "batch")
    try:
        array = pa.array(cells, kind)
        is_text = pa.types.is_string(kind) and array.buffers()[2] is not None
        if not is_text or ESCAPE.encode() not in array.buffers()[2].to_pybytes():
            return array
    except UnicodeEncodeError:  # a lone surrogate
        pass
    return pa.array([None if cell is None else escape(cell) for cell in cells], kind)


def joined_columns(outputs: Sequence[tuple[Ids, Columns]]) -> Columns:
    """Join the rows of one part of some outputs, led by run, document, domain and schema."""
    leading = zip(*(ids for ids, columns in outputs for _ in columns[0]), strict=True)
    rows = (list(chain(*cells)) for cells in zip(*(columns for _, columns in outputs), strict=True))
    return [*leading, *rows]


def to_frame(table: pa.Table, spec: FrameSpec) -> pd.DataFrame:
    """Restore a frame with the declared dtypes and the values as Python objects."""
    arrays = {c.name: _pandas_array(table.column(c.name), c) for c in spec.columns}
    return pd.DataFrame(arrays, copy=False)


def _pandas_array(data: pa.ChunkedArray, column: Column) -> Any:
    if column.dtype in ("string", "object"):
        # each distinct text is made once: rows repeat runs, fields and reasons
        encoded = data.dictionary_encode().unify_dictionaries().combine_chunks()
        chunk = encoded.chunk(0) if hasattr(encoded, "chunk") else encoded
        texts = [unescape(text) for text in chunk.dictionary.to_pylist()]
        codes = chunk.indices.fill_null(len(texts)).to_numpy(zero_copy_only=False)
        cells = np.array([*texts, None], dtype=object)[codes]
        if column.dtype == "object":
            cells = _restored(column, cells.tolist(), {})
        return _array(column, cells)
    dtype: Any = pandas_dtype(column.dtype)
    if column.dtype.startswith("datetime64["):  # of the user's columns, in older folders
        return data.to_pandas().astype(dtype).array
    if isinstance(dtype, np.dtype):
        return np.asarray(data.to_numpy(), dtype=dtype)
    return dtype.__from_arrow__(data)
