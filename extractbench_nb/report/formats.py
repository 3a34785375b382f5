"""A report as ``report.json``, ``fields.csv`` and ``fields.md``."""

from __future__ import annotations

import csv
import io
import json
import math
import re
from collections.abc import Iterable
from dataclasses import fields, is_dataclass
from typing import Any

from extractbench_nb.report.models import (
    ArrayBreakdown,
    ConfusionCounts,
    EvaluationReport,
    FieldOutcome,
)
from extractbench_nb.report.texts import clean, cut, document_json, value_text

__all__ = ["CSV_COLUMNS", "csv_text", "json_text", "markdown_text"]

#: The columns of the README in its order, then ours.
CSV_COLUMNS = (
    "path",
    "normalized_path",
    "metric_id",
    "score",
    "passed",
    "gold_value",
    "extracted_value",
    "reasoning",
    "matched",
    "missed_gold",
    "spurious_pred",
    "precision",
    "recall",
    "f1",
    "reason",
    "outcome",
    "gold_state",
    "extracted_state",
    "field",
    "required",
    "weight",
)

_VALUES = ("gold_value", "extracted_value")
_COUNTS = ("matched", "missed_gold", "spurious_pred", "precision", "recall", "f1")
_LEFT_OUT = ("evaluation", "array_breakdown")
#: What begins a formula, full-width forms included, behind any number of apostrophes.
_RISKY = re.compile(r"'*[=+\-@\t\r\n\uff1d\uff0b\uff0d\uff20]")
_NUMBER = re.compile(r"[+-]?\d+(\.\d+)?([eE][+-]?\d+)?%?", re.ASCII)
_LONGEST_CELL = 80


def json_text(report: EvaluationReport) -> str:
    """Write ``report.json``: strict JSON, whatever the documents hold.

    Parameters
    ----------
    report : EvaluationReport
        The report.

    Returns
    -------
    str
        JSON, indented by two. A statistic that is no number is null; NaN and infinities among the
        values of a document are the texts ``NaN``, ``Infinity`` and ``-Infinity``.
    """
    return json.dumps(_record(report), ensure_ascii=False, indent=2, allow_nan=False) + "\n"


def _record(value: Any) -> Any:
    if is_dataclass(value):
        record = {
            f.name: (document_json if f.name in _VALUES else _record)(getattr(value, f.name))
            for f in fields(value)
            if f.name not in _LEFT_OUT
        }
        if isinstance(value, ConfusionCounts):
            record |= {name: getattr(value, name) for name in ("precision", "recall", "f1")}
        if isinstance(value, FieldOutcome):
            record["array_breakdown"] = _published_breakdown(value.array_breakdown)
        return record
    if isinstance(value, dict):
        return {str(key): _record(v) for key, v in value.items()}
    if isinstance(value, list):
        return [_record(v) for v in value]
    if isinstance(value, float) and not math.isfinite(value):
        return None
    return value


def _published_breakdown(array: ArrayBreakdown | None) -> dict[str, Any] | None:
    """Write an array as the published package's repository does: counts, and the bare items."""
    if array is None:
        return None
    missed = [*array.partial_items, *array.missed_items]
    spurious = [*array.partial_items, *array.spurious_items]
    return {name: getattr(array, name) for name in _COUNTS} | {
        "matched_items": [document_json(item.gold_value) for item in array.matched_items],
        "missed_gold_items": [document_json(item.gold_value) for item in missed],
        "spurious_pred_items": [document_json(item.extracted_value) for item in spurious],
    }


def csv_text(rows: Iterable[FieldOutcome]) -> str:
    """Write ``fields.csv``: one row a counted field and metric.

    Parameters
    ----------
    rows : iterable of FieldOutcome
        The rows.

    Returns
    -------
    str
        CSV (RFC 4180). Null and missing values are empty cells, told apart by the state columns;
        objects and arrays are JSON. Text that a spreadsheet would run as a formula, that is text
        beginning with ``= + - @``, a tab or a line end, gets an apostrophe in front, unless it is
        a number; so does such text that has one already, so that taking one away gives it back.
    """
    out = io.StringIO()
    writer = csv.writer(out)
    writer.writerow(CSV_COLUMNS)
    writer.writerows([_cell(getattr(row, name)) for name in CSV_COLUMNS] for row in rows)
    return out.getvalue()


def _cell(value: Any) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    text = value_text(value)
    if not isinstance(value, str):
        return text
    text = text.replace("\0", "\ufffd")
    if _RISKY.match(text) and not _NUMBER.fullmatch(text):
        return "'" + text
    return text


def markdown_text(rows: Iterable[FieldOutcome], limit: int) -> str:
    """Write ``fields.md``: a table of the counted fields for GitHub and its like.

    Parameters
    ----------
    rows : iterable of FieldOutcome
        The rows.
    limit : int
        Characters of a reason to keep.

    Returns
    -------
    str
        Markdown. Every text is escaped, on one line and cut; a zero width space keeps addresses
        from becoming links.
    """
    lines = [
        "| Path | Metric | Score | Passed | Outcome | Gold | Extracted | Reason |",
        "|---|---|---:|---|---|---|---|---|",
    ]
    lines.extend(_line(row, limit) for row in rows)
    return "\n".join(lines) + "\n"


def _line(row: FieldOutcome, limit: int) -> str:
    score = "" if row.score is None else f"{row.score:.3f}"
    why = ": ".join(text for text in (row.reason, row.reasoning) if text)
    cells = (
        _escaped(row.normalized_path, 2 * _LONGEST_CELL),
        _escaped(row.metric_id, _LONGEST_CELL),
        score,
        "Yes" if row.passed else "No",
        row.outcome,
        _escaped(value_text(row.gold_value), _LONGEST_CELL),
        _escaped(value_text(row.extracted_value), _LONGEST_CELL),
        _escaped(why, max(limit, 1)),
    )
    return f"| {' | '.join(cells)} |"


_ENTITIES = str.maketrans({"&": "&amp;", "<": "&lt;", ">": "&gt;", "|": "&#124;", "`": "&#96;"})
_MARKUP = re.compile(r"[\\*\[\]~$]|(?<!\w)_|_(?!\w)")


def _escaped(text: str, limit: int) -> str:
    """Escape a text for a cell: no line end, no pipe, no code, no HTML, no emphasis."""
    line = " ".join(cut(clean(text[: limit + 1]), limit).split())
    marked = _MARKUP.sub(r"\\\g<0>", line).translate(_ENTITIES)
    return re.sub(r"(https?|ftp|www)(?=:|\.)", r"\1&#8203;", marked, flags=re.IGNORECASE)
