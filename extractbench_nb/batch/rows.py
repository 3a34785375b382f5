"""The rows of one evaluation, straight from its records, without frames on the way."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from extractbench_nb._frames import Column, FrameSpec
from extractbench_nb.batch.arrow import arrow_schema, pack, record_batch, unpack
from extractbench_nb.engine.records import settled
from extractbench_nb.evaluation.frames import (
    ARRAY_COLUMNS,
    CALL_COLUMNS,
    FIELD_COLUMNS,
    MATCH_COLUMNS,
    SUMMARY,
    array_row,
    call_rows,
    field_rows,
    in_order,
    match_rows,
)
from extractbench_nb.evaluation.result import Evaluation

if TYPE_CHECKING:
    import pyarrow as pa

__all__ = [
    "BY_RUN",
    "FRAMES",
    "IDS",
    "MISSING_PAIRS",
    "OUTCOME",
    "OWN_SUMMARY",
    "PARTS",
    "SUMMARIES",
    "UNITS",
    "Result",
    "Rows",
    "invalid_rows",
    "is_settled",
    "packed_rows",
    "part_batch",
    "rows_of",
    "summary_batch",
    "summary_spec",
]


#: What says which output a row is about.
IDS = (
    Column("run", "string", "name of the run, mostly a model's name"),
    Column("document", "string", "document id"),
    Column("domain", "string", "domain of the document, where it is known", nullable=True),
    Column("schema", "string", "schema id, or the schema's title or hash"),
)

#: What became of an output as a whole.
OUTCOME = (
    Column("outcome", "string", "whether the output could be evaluated", "evaluated, invalid"),
    Column("message", "string", "why an output is invalid, the parser's words", nullable=True),
    Column("line", "Int64", "line at which the parser gave up", "1 and up", True),
    Column("column", "Int64", "character in that line", "1 and up", True),
)

#: The frames of one evaluation that have many rows, by their names.
PARTS: Final = {
    spec.name: spec for spec in (FIELD_COLUMNS, ARRAY_COLUMNS, MATCH_COLUMNS, CALL_COLUMNS)
}

OWN_SUMMARY = FrameSpec("summary", "one row a run and document", (*OUTCOME, *SUMMARY.columns))
SUMMARIES = FrameSpec("summary", "one row a run and document", (*IDS, *OWN_SUMMARY.columns))

FRAMES: Final = {
    **{
        name: FrameSpec(name, f"{spec.grain}, in each run and document", (*IDS, *spec.columns))
        for name, spec in PARTS.items()
    },
    "summary": SUMMARIES,
}

MISSING_PAIRS = FrameSpec("missing", "one row an output that other runs have", IDS)

#: Entries of the summary that are averaged over documents; the others are added up.
UNITS = ("overall_score", "field_score", "pass_rate", "pass_rate_judged", "gold_coverage")

BY_RUN = FrameSpec(
    "by_run",
    "one row a run",
    (
        Column("run", "string", "name of the run"),
        Column("documents", "int64", "outputs of the run, invalid ones included", "1 and up"),
        Column("invalid", "int64", "outputs that are no JSON, empty or absent", "0 and up"),
        Column("missing", "int64", "documents that only other runs have", "0 and up"),
        *(
            Column(c.name, c.dtype, f"mean over documents: {c.meaning}", c.values, c.nullable)
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
            Column(c.name, c.dtype, f"sum over documents: {c.meaning}", c.values, c.nullable)
            for c in SUMMARY.columns
            if c.name not in UNITS
        ),
    ),
)


Row = tuple[Any, ...]
#: Rows of each part, and the summary's entries.
Rows = tuple[dict[str, list[Row]], list[float]]

#: What a field's row says where the output is invalid, but for the message.
_INVALID_FIELD = {
    "predicted_path": None,
    "score": 0.0,
    "passed": False,
    "outcome": "structural",
    "reason": "invalid_output",
    "predicted": None,
    "predicted_state": "missing",
}
_INVALID_ARRAY = {"score": 0.0, "passed": False}


def rows_of(evaluation: Evaluation) -> Rows:
    """Return the rows of an evaluation's frames, and the entries of its summary."""
    arrays = evaluation.array_records()
    leaves = in_order(evaluation.records, inside=evaluation.profile.rows_inside_arrays)
    parts = {
        "fields": [row for leaf in leaves for row in field_rows(leaf)],
        "arrays": [array_row(array) for array in arrays],
        "matches": [row for array in arrays for row in match_rows(array)],
        "judge_calls": list(call_rows(evaluation.records)),
    }
    return parts, evaluation.summary.tolist()


def is_settled(evaluation: Evaluation) -> bool:
    """Say whether every metric gave a verdict, those inside arrays included."""
    return not any(
        verdict.outcome == "judge_error"
        for leaf in in_order(evaluation.records)
        for verdict in settled(leaf)
    )


def invalid_rows(evaluation: Evaluation, message: str) -> Rows:
    """Return the rows of an output that is invalid: nothing passes."""
    parts, _ = rows_of(evaluation)
    fault = {**_INVALID_FIELD, "reasoning": message}
    fields = [_changed(row, FIELD_COLUMNS, fault) for row in parts["fields"]]
    arrays = [_changed(row, ARRAY_COLUMNS, _INVALID_ARRAY) for row in parts["arrays"]]
    return {**parts, "fields": fields, "arrays": arrays}, _invalid_summary(evaluation)


def _changed(row: Row, spec: FrameSpec, changes: dict[str, Any]) -> Row:
    return tuple(changes.get(name, cell) for name, cell in zip(spec.names, row, strict=True))


def _invalid_summary(evaluation: Evaluation) -> list[float]:
    summary = evaluation.summary
    evaluated = summary["evaluated"]
    failed = {
        "evaluated": evaluated,
        "judged": evaluated,
        "failed": evaluated,
        "structural": evaluated,
        "gold_coverage": summary["gold_coverage"],
    }
    return [failed.get(name, 0.0) for name in SUMMARY.names]


def packed_rows(parts: dict[str, list[Row]]) -> dict[str, bytes]:
    """Pack the rows of each part for transport and storage."""
    return {name: pack(record_batch(spec, parts[name])) for name, spec in PARTS.items()}


_ID_SPEC = FrameSpec("ids", "one output", IDS)


class Result(NamedTuple):
    """One finished output: run, document, domain, schema; its summary row; packed rows."""

    ids: tuple[str, str, str | None, str]
    extras: tuple[Any, ...]
    summary: tuple[Any, ...]
    parts: Mapping[str, bytes]


def summary_spec(extras: Sequence[Column]) -> FrameSpec:
    """Return the columns of ``summary``, those of the user's last."""
    return FrameSpec("summary", SUMMARIES.grain, (*SUMMARIES.columns, *extras))


def summary_batch(spec: FrameSpec, results: Iterable[Result]) -> pa.RecordBatch:
    """Make the rows of ``summary``."""
    return record_batch(spec, [(*r.ids, *r.summary, *r.extras) for r in results])


def part_batch(name: str, result: Result) -> pa.RecordBatch:
    """Unpack the rows of one part of a result, led by run, document, domain and schema."""
    import pyarrow as pa

    rows = unpack(result.parts[name], PARTS[name])
    texts = record_batch(_ID_SPEC, [result.ids]).columns
    leading = [pa.repeat(text[0], rows.num_rows) for text in texts]
    schema = arrow_schema(FRAMES[name])
    return pa.RecordBatch.from_arrays([*leading, *rows.columns], schema=schema)
