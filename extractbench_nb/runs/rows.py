"""The rows of evaluations: taken from records, packed, and restored as frames; Arrow for files."""

from __future__ import annotations

import json
import re
import zlib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from functools import lru_cache
from itertools import chain
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import numpy as np
import pandas as pd
from pandas.api.types import pandas_dtype

from extractbench_nb.core import Evaluation
from extractbench_nb.core.frames import TEXT, Column, FrameSpec
from extractbench_nb.errors import needs
from extractbench_nb.support.wording import document_json

if TYPE_CHECKING:
    import pyarrow as pa

# --- the rows of one evaluation ---------------------------------------------------------------

#: The columns that identify an output.
IDS = (
    Column("run", "string", "name of the run, usually a model's name"),
    Column("document", "string", "document id"),
    Column("domain", "string", "domain of the document, if known", nullable=True),
    Column("schema", "string", "schema id, or the schema's title or hash"),
)

#: Whether an output could be evaluated, and if not, why.
OUTCOME = (
    Column("valid", "bool", "whether the output is JSON, so that it could be evaluated"),
    Column("message", "string", "why an output is invalid, in the parser's words", nullable=True),
    Column("line", "Int64", "line at which parsing failed", "1 and up", True),
    Column("column", "Int64", "character in that line", "1 and up", True),
)

SUMMARY = Evaluation.spec("summary")
RULE_COLUMNS = Evaluation.spec("rules")

#: The stored frames of one evaluation that have many rows, by their names.
PARTS: Final = {
    name: Evaluation.spec(name) for name in ("fields", "arrays", "matches", "judge_calls")
}

OWN_SUMMARY = FrameSpec("summary", "one row per run and document", (*OUTCOME, *SUMMARY.columns))
SUMMARIES = FrameSpec("summary", "one row per run and document", (*IDS, *OWN_SUMMARY.columns))

FRAMES: Final = {
    **{
        name: FrameSpec(name, f"{spec.grain}, in each run and document", (*IDS, *spec.columns))
        for name, spec in PARTS.items()
    },
    "summary": SUMMARIES,
}

#: The outcomes of cross-field rules; they have a file of their own if there are rules.
BATCH_RULES = FrameSpec(
    "rules", f"{RULE_COLUMNS.grain}, in each run and document", (*IDS, *RULE_COLUMNS.columns)
)

MISSING_PAIRS = FrameSpec("missing", "one row per output that other runs have", IDS)

#: Entries of the summary that are averaged over documents; the others are added up.
UNITS = SUMMARY.measures

BY_RUN = FrameSpec(
    "by_run",
    "one row per run",
    (
        Column("run", "string", "name of the run"),
        Column("documents", "int64", "outputs of the run, invalid ones included", "1 and up"),
        Column("invalid", "int64", "outputs that are not JSON, empty or absent", "0 and up"),
        Column("missing", "int64", "documents that only other runs have", "0 and up"),
        *(
            replace(c, meaning=f"mean over documents: {c.meaning}")
            for c in SUMMARY.columns
            if c.name in UNITS
        ),
        Column(
            "pooled_pass_rate",
            "Float64",
            "passed / evaluated, all documents together; missing where nothing is evaluated",
            "0 to 1",
            True,
        ),
        *(
            replace(c, meaning=f"sum over documents: {c.meaning}")
            for c in SUMMARY.columns
            if c.name not in UNITS
        ),
    ),
)


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


def packed_rows(
    evaluation: Evaluation, problem: str | None
) -> tuple[list[float], dict[str, bytes]]:
    """Return the summary's entries and the packed rows of each part; none pass with a problem."""
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
        known = ("evaluated", "null_pass_rate", "unlabelled", "gold_coverage")
        entries = {c.name: 0.0 if c.dtype == "float64" else 0 for c in SUMMARY.columns}
        entries |= {name: summary[name] for name in known}
        summary = entries | dict.fromkeys(("judged", "failed", "structural"), summary["evaluated"])
    packed = {
        name: pack(to_columns(spec, parts[name])) if parts[name] else _empty(name)
        for name, spec in PARTS.items()
    }
    return list(summary.values()), packed


@lru_cache(maxsize=16)
def _empty(part: str) -> bytes:
    return pack(to_columns(PARTS[part], ()))


#: Run, document, domain and schema.
Ids = tuple[str, str, str | None, str]
#: The cells of rows by column; the values of columns of objects as JSON text.
Columns = Sequence[Sequence[Any]]


class Result(NamedTuple):
    """One finished output: its ids; its summary row; its packed rows."""

    ids: Ids
    extras: tuple[Any, ...]
    summary: tuple[Any, ...]
    parts: Mapping[str, bytes]

    @property
    def row(self) -> tuple[Any, ...]:
        """The row of ``summary``, the user's own columns last."""
        return (*self.ids, *self.summary, *self.extras)

    def rows(self) -> dict[str, Columns]:
        """Unpack the rows of each part that has any."""
        return {
            name: unpack(self.parts[name]) for name in PARTS if self.parts[name] != _empty(name)
        }


def summary_spec(extras: Sequence[Column]) -> FrameSpec:
    """Return the columns of ``summary``, the user's own last."""
    return FrameSpec("summary", SUMMARIES.grain, (*SUMMARIES.columns, *extras))


def part_columns(outputs: Sequence[tuple[Ids, Columns]]) -> Columns:
    """Join the rows of one part of some outputs, led by run, document, domain and schema."""
    leading = zip(*(ids for ids, columns in outputs for _ in columns[0]), strict=True)
    rows = (list(chain(*cells)) for cells in zip(*(columns for _, columns in outputs), strict=True))
    return [*leading, *rows]


def part_frame(spec: FrameSpec, outputs: Iterable[tuple[tuple[Any, ...], Columns]]) -> pd.DataFrame:
    """Build a frame of the rows of some outputs, each led by the output's ids."""
    frame_cells: list[list[Any]] = [[] for _ in spec.columns]
    values_by_text: list[dict[str, Any]] = [{} for _ in spec.columns]
    for ids, columns in outputs:
        leading = ([value] * len(columns[0]) for value in ids)
        parts = zip(spec.columns, (*leading, *columns), frame_cells, values_by_text, strict=True)
        for column, cells, joined, values in parts:
            joined.extend(_restored(column, cells, values))
    return spec.build(dict(zip(spec.names, frame_cells, strict=True)))


def _restored(column: Column, cells: Sequence[Any], values: dict[Any, Any]) -> Sequence[Any]:
    """Restore values; equal texts and scalars share one object, containers do not."""
    if column.dtype == "string":
        return [values.setdefault(cell, cell) for cell in cells]
    if column.dtype != "object":
        return cells
    restored, is_tuple = [], column.name in _TUPLES
    for text in cells:
        if text is not None and text[0] in "[{" and not is_tuple:
            restored.append(json.loads(text))
            continue
        if text not in values:
            value: Any = None if text is None else json.loads(text)
            values[text] = tuple(value) if is_tuple else value
        restored.append(values[text])
    return restored


#: Columns of values that are tuples.
_TUPLES = ("failed_fields", "paths_gold", "paths_predicted")

# --- packing ----------------------------------------------------------------------------------


def to_columns(spec: FrameSpec, rows: Sequence[Sequence[Any]]) -> Columns:
    """Return the cells of rows by column."""
    columns = list(zip(*rows, strict=True)) if rows else [()] * len(spec.columns)
    return [
        [value_to_text(cell) for cell in cells] if column.dtype == "object" else cells
        for column, cells in zip(spec.columns, columns, strict=True)
    ]


def pack(columns: Columns) -> bytes:
    """Compress rows."""
    text = json.dumps(columns, ensure_ascii=False, separators=(",", ":"))
    return zlib.compress(text.encode("utf-8", "surrogatepass"), level=1)


def unpack(packed: bytes) -> Columns:
    """Undo `pack`."""
    columns: Columns = json.loads(zlib.decompress(packed).decode("utf-8", "surrogatepass"))
    return columns


# --- Arrow ------------------------------------------------------------------------------------


ESCAPE = "\x1a"
#: What readers of the files need to know.
ESCAPING = "a lone surrogate, or U+001A itself, is U+001A and four hexadecimal digits"

_TO_ESCAPE = re.compile("[\x1a\ud800-\udfff]")
_ESCAPED = re.compile("\x1a([0-9a-f]{4})")
#: Writes values, of which none is looked at for circles: they end in a RecursionError.
_VALUES = json.JSONEncoder(ensure_ascii=False, check_circular=False, separators=(",", ":"))


def escape(text: str) -> str:
    """Replace what UTF-8 cannot hold."""
    return _TO_ESCAPE.sub(lambda found: f"{ESCAPE}{ord(found[0]):04x}", text)


def unescape(text: str) -> str:
    """Undo `escape`."""
    return _ESCAPED.sub(lambda found: chr(int(found[1], 16)), text) if ESCAPE in text else text


#: Levels that are written of a value that is nested too deep for JSON.
_MOST_LEVELS = 100


def value_to_text(value: Any) -> str | None:
    """Write a value as JSON text."""
    if value is None:
        return None
    try:
        return _VALUES.encode(value)
    except (TypeError, ValueError, RecursionError):
        return _VALUES.encode(document_json(value, _MOST_LEVELS))


_ESCAPE_BYTE = ESCAPE.encode()


@lru_cache(maxsize=64)
def arrow_schema(spec: FrameSpec) -> pa.Schema:
    """Return the Arrow types of a frame; values are JSON text."""
    pa = needs("pyarrow", "batch")

    aliases = (
        (column.name, "string" if column.dtype == "object" else column.dtype.lower())
        for column in spec.columns
    )
    return pa.schema([(name, pa.type_for_alias(alias)) for name, alias in aliases])


def record_batch(spec: FrameSpec, columns: Columns) -> pa.RecordBatch:
    """Make an Arrow record batch of rows."""
    pa = needs("pyarrow", "batch")
    schema = arrow_schema(spec)
    arrays = [
        _column(column, cells, kind)
        for column, cells, kind in zip(spec.columns, columns, schema.types, strict=True)
    ]
    return pa.RecordBatch.from_arrays(arrays, schema=schema)


def _column(column: Column, cells: Sequence[Any], kind: pa.DataType) -> pa.Array:
    pa = needs("pyarrow", "batch")
    try:
        array = pa.array(cells, kind)
        data = array.buffers()[2] if column.dtype == "string" else None
        if data is None or _ESCAPE_BYTE not in data.to_pybytes():
            return array
    except UnicodeEncodeError:  # a lone surrogate
        pass
    return pa.array([None if cell is None else escape(cell) for cell in cells], kind)


def to_frame(table: pa.Table, spec: FrameSpec) -> pd.DataFrame:
    """Restore a frame with the declared dtypes and the values as Python objects."""
    arrays = {c.name: _pandas_array(table.column(c.name), c) for c in spec.columns}
    return pd.DataFrame(arrays, copy=False)


def _pandas_array(data: pa.ChunkedArray, column: Column) -> Any:
    if column.dtype in ("string", "object"):
        texts = [None if text is None else unescape(text) for text in data.to_pylist()]
        cells = _restored(column, texts, {})
        return pd.Series(cells, dtype=TEXT if column.dtype == "string" else object)
    dtype: Any = pandas_dtype(column.dtype)
    if column.dtype.startswith("datetime64["):  # of the user's columns, in older folders
        return data.to_pandas().astype(dtype).array
    if isinstance(dtype, np.dtype):
        return np.asarray(data.to_numpy(), dtype=dtype)
    return dtype.__from_arrow__(data)
