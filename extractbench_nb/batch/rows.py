"""The rows of one evaluation, straight from its records: no frame is built on the way."""

from __future__ import annotations

from typing import Any

from extractbench_nb._frames import FrameSpec
from extractbench_nb.batch.arrow import pack, record_batch
from extractbench_nb.batch.columns import PARTS
from extractbench_nb.evaluation.frames import (
    ARRAY_COLUMNS,
    FIELD_COLUMNS,
    SUMMARY,
    array_row,
    call_rows,
    field_rows,
    in_order,
    match_rows,
)
from extractbench_nb.evaluation.result import Evaluation
from extractbench_nb.records import settled

__all__ = ["Rows", "invalid_rows", "is_settled", "packed_rows", "rows_of"]

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
    """Return the rows of an output that is invalid: nothing passes.

    Parameters
    ----------
    evaluation : Evaluation
        Of the document against an empty prediction, so that the same fields are counted.
    message : str
        Why the output is invalid.

    Returns
    -------
    tuple
        Rows of each part, and the entries of the summary: every field is structural
        (section 4 of the ExtractBench paper counts such an output as zero passed fields).
    """
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
