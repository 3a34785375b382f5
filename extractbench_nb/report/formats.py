"""A report as ``report.json``, ``summary.txt``, ``fields.csv`` and ``fields.md``."""

from __future__ import annotations

import csv
import io
import json
import math
import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import fields, is_dataclass
from textwrap import wrap
from typing import Any

import pandas as pd

from extractbench_nb.display.text import (
    accepted_text,
    document_json,
    dollars,
    fitted,
    markdown_cell,
    value_text,
)
from extractbench_nb.report.content import COUNTS, warning_groups
from extractbench_nb.report.models import (
    ArrayBreakdown,
    ConfusionCounts,
    EvaluationReport,
    FieldOutcome,
)

_WIDTH = 80
_MOST_ARRAYS = 10
_MOST_FAILED = 10
_MOST_METRICS = 8
_MOST_WARNINGS = 6
_MOST_MODELS = 4


def summary_text(report: EvaluationReport) -> str:
    """Write ``summary.txt``."""
    lines = [
        "=" * _WIDTH,
        fitted(f"EVALUATION REPORT: {report.output_name}", _WIDTH),
        fitted(f"Timestamp: {report.timestamp}", _WIDTH),
        fitted(
            f"Profile: {report.profile}, judge: {report.judge}, alignment: {report.alignment}",
            _WIDTH,
        ),
        "=" * _WIDTH,
    ]
    for title, section in _SECTIONS:
        content = list(section(report))
        if content:
            lines += ["", title, "-" * 40, *(f"  {line}" for line in content)]
    lines += ["", "=" * _WIDTH]
    return "\n".join(lines) + "\n"


def _overall(report: EvaluationReport) -> Iterator[str]:
    o = report.outcomes
    yield f"Overall Score: {report.overall_score:.3f} (item-weighted)"
    yield f"Field Score: {report.field_score:.3f} (flat average)"
    yield f"Pass Rate: {report.overall_pass_rate:.1%}"
    fields = "field" if o.total_evaluated == 1 else "fields"
    counts = f"{o.total_passed} passed, {o.total_failed} failed"
    yield f"Evaluated: {o.total_evaluated} {fields} ({counts})"
    if not o.total_evaluated:
        yield "No field is scored: the scores are meaningless."
    if report.problem is not None:
        yield fitted(f"The extracted text is not JSON: {report.problem}", _WIDTH - 2)
    if o.judge_errors:
        judged = "none" if o.pass_rate_judged is None else f"{o.pass_rate_judged:.1%}"
        yield (
            f"Judge Errors: {o.judge_errors} without a verdict, so the pass rate is a lower bound"
        )
        yield f"Pass Rate of the judged: {judged}"
    if report.gold_coverage < 1:
        yield f"The schema declares only {report.gold_coverage:.1%} of gold's values"


def _arrays(report: EvaluationReport) -> Iterator[str]:
    """Describe the arrays with the lowest F1, in the order of the report."""
    arrays = [a for a in report.array_breakdowns if not a.is_empty]
    ranked = sorted(arrays, key=lambda a: a.f1 if a.f1 is not None else 0.0)
    lowest = {id(a) for a in ranked[:_MOST_ARRAYS]}
    for array in arrays:
        if id(array) not in lowest:
            continue
        verdict = {True: "PASS", False: "FAIL", None: "OPEN"}[array.passed]
        score = f" [{verdict}] score={_number(array.score)}"
        yield fitted(array.normalized_path, _WIDTH - 2 - len(score)) + score
        if array.matched is None:
            yield "  Items: not aligned"
            continue
        partial = f" ({array.partial} of them partial pairs)" if array.partial else ""
        yield (
            f"  Items: {array.matched} matched, {array.missed_gold} missed, "
            f"{array.spurious_pred} spurious{partial}"
        )
        yield f"  P={_number(array.precision)} R={_number(array.recall)} F1={_number(array.f1)}"
    yield from _more(len(arrays) - len(lowest), "more arrays with better F1")


def _number(value: float | None) -> str:
    return "n/a" if value is None else f"{value:.3f}"


def _failed(report: EvaluationReport) -> Iterator[str]:
    failed = [row for row in report.field_outcomes if not row.passed]
    for row in failed[:_MOST_FAILED]:
        yield fitted(row.normalized_path, _WIDTH - 2)
        score = f", Score: {_number(row.score)}"
        yield "  Metric: " + fitted(row.metric_id, _WIDTH - 12 - len(score)) + score
        if reason := _why(row):
            yield "  " + fitted("Reason: " + reason, _WIDTH - 4)
    yield from _more(len(failed) - _MOST_FAILED, "more in fields.csv")


def _why(row: FieldOutcome) -> str:
    said = (row.reason, accepted_text(row.accepted_as), row.reasoning)
    return ": ".join(text for text in said if text)


def _split(report: EvaluationReport) -> Iterator[str]:
    split = report.outcomes.split
    if report.outcomes.total_failed:
        yield f"Omissions: {split.omission} (gold has a value, the extraction none)"
        yield f"Hallucinations: {split.hallucination} (the extraction has one, gold none)"
        yield f"Wrong Values: {split.wrong_value}"
        yield f"Structural: {split.structural} (a type that neither schema nor gold has)"
        if split.judge_error:
            yield f"Judge Errors: {split.judge_error} (no verdict)"


def _confusion(report: EvaluationReport) -> Iterator[str]:
    c = report.outcomes.confusion
    yield (
        f"True Positive: {c.true_positive}, False Positive: {c.false_positive}, "
        f"False Negative: {c.false_negative}, True Negative: {c.true_negative}"
    )
    yield f"P={c.precision:.3f} R={c.recall:.3f} F1={c.f1:.3f}"


def _metrics(report: EvaluationReport) -> Iterator[str]:
    by_metric = sorted(report.outcomes.pass_by_metric.items())
    for name, counts in by_metric[:_MOST_METRICS]:
        passed, total = counts["passed"], sum(counts.values())
        rate = f": {passed / total:.1%} ({passed}/{total})"
        yield fitted(name, _WIDTH - 2 - len(rate)) + rate
    yield from _more(len(by_metric) - _MOST_METRICS, "more metrics")


def _llm(report: EvaluationReport) -> Iterator[str]:
    stats = report.outcomes.llm_stats
    if stats is None:
        return
    yield (
        f"Judged Fields: {stats.judged_fields}, LLM Calls: {stats.call_count}, "
        f"Cost: {dollars(stats.cost_usd)}"
    )
    yield f"Avg Score: {_number(stats.avg_score)}, Median Score: {_number(stats.median_score)}"
    models = list(stats.by_model.items())
    for name, calls in models[:_MOST_MODELS]:
        counts = (
            f": {calls.calls} calls ({calls.cached} cached, {calls.failed} failed), "
            f"{calls.requests} requests"
        )
        yield fitted(name, _WIDTH - 2 - len(counts)) + counts
    yield from _more(len(models) - _MOST_MODELS, "more models in report.json")


def _schema(report: EvaluationReport) -> Iterator[str]:
    stats = report.schema_stats
    yield (
        f"Total Nodes: {stats.total_nodes}, Required Keys: {stats.required_keys_count}, "
        f"Optional Keys: {stats.optional_keys_count}"
    )
    counts = ", ".join(f"{name}: {n}" for name, n in sorted(stats.counts_by_type.items()))
    yield from wrap("By Type: " + counts, _WIDTH - 2)


def _coverage(report: EvaluationReport) -> Iterator[str]:
    c = report.coverage
    yield f"Present in Both: {c.present_in_both}"
    yield f"Missing in Extracted: {c.missing_in_extracted}"
    yield f"Spurious in Extracted: {c.spurious_in_extracted}"
    yield f"Required Missing: {c.required_missing}"


def _rules(report: EvaluationReport) -> Iterator[str]:
    for row in report.rules:
        extracted = row.outcome_extracted or "not JSON"
        paths = ", ".join([*row.paths_gold, *row.paths_extracted][:3])
        detail = "; ".join(filter(None, [paths, row.message]))
        outcome = f"gold {row.outcome_gold}, extracted {extracted}"
        line = f"{row.rule}: {outcome}{f' ({detail})' if detail else ''}"
        yield fitted(line, _WIDTH - 2)


def _warnings(report: EvaluationReport) -> Iterator[str]:
    groups = warning_groups(report)
    for (side, kind), group in groups[:_MOST_WARNINGS]:
        paths = ", ".join(w.path for w in group[:3]) + (", …" if len(group) > 3 else "")  # noqa: PLR2004
        yield fitted(f"{side} {kind}: {len(group)} ({paths})", _WIDTH - 2)
    yield from _more(len(groups) - _MOST_WARNINGS, "more kinds in report.json")


def _more(hidden: int, what: str) -> Iterable[str]:
    return [f"… {hidden} {what}"] if hidden > 0 else []


_SECTIONS: tuple[tuple[str, Callable[[EvaluationReport], Iterator[str]]], ...] = (
    ("OVERALL RESULTS", _overall),
    ("ARRAY BREAKDOWN", _arrays),
    ("FAILED FIELDS (first 10)", _failed),
    ("WHAT WENT WRONG", _split),
    ("PASS RATE BY METRIC", _metrics),
    ("JUDGED FIELDS", _llm),
    ("CONFUSION MATRIX (fields and metrics)", _confusion),
    ("COVERAGE (leaves)", _coverage),
    ("SCHEMA STATISTICS", _schema),
    ("CROSS-FIELD RULES", _rules),
    ("WARNINGS", _warnings),
)


#: The columns of the published package in its order, then further ones.
CSV_COLUMNS = tuple(
    (
        "path normalized_path metric_id score passed gold_value extracted_value reasoning matched "
        "missed_gold spurious_pred precision recall f1 reason outcome gold_state extracted_state "
        "field required weight accepted_as"
    ).split()
)

_VALUES = ("gold_value", "extracted_value")
_LEFT_OUT = ("evaluation", "array_breakdown")
#: What begins a formula, full-width forms included, behind any number of apostrophes.
_RISKY = re.compile(r"'*[=+\-@\t\r\n\uff1d\uff0b\uff0d\uff20]")
_NUMBER = re.compile(r"[+-]?\d+(\.\d+)?([eE][+-]?\d+)?%?", re.ASCII)
_LONGEST_CELL = 80


def json_text(report: Any) -> str:
    """Write ``report.json`` as strict JSON, whatever the documents contain."""
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
            array = value.array_breakdown
            record["array_breakdown"] = None if array is None else _published_breakdown(array)
        return record
    if isinstance(value, pd.DataFrame):
        cells = value.astype(object).where(value.notna(), None)
        return [document_json(row) for row in cells.to_dict("records")]
    if isinstance(value, dict):
        return {str(key): _record(v) for key, v in value.items()}
    if isinstance(value, list):
        return [_record(v) for v in value]
    if isinstance(value, float) and not math.isfinite(value):
        return None
    return value


def _published_breakdown(array: ArrayBreakdown) -> dict[str, Any]:
    """Write an array as in the published package's repository: counts and the bare items."""
    missed = [*array.partial_items, *array.missed_items]
    spurious = [*array.partial_items, *array.spurious_items]
    return {name: getattr(array, name) for name in COUNTS} | {
        "matched_items": [document_json(item.gold_value) for item in array.matched_items],
        "missed_gold_items": [document_json(item.gold_value) for item in missed],
        "spurious_pred_items": [document_json(item.extracted_value) for item in spurious],
    }


def csv_text(rows: Iterable[FieldOutcome]) -> str:
    """Write ``fields.csv``: one row per counted field and metric."""
    out = io.StringIO()
    writer = csv.writer(out)
    writer.writerow(CSV_COLUMNS)
    writer.writerows([escaped_cell(getattr(row, name)) for name in CSV_COLUMNS] for row in rows)
    return out.getvalue()


def escaped_cell(value: Any) -> str:
    """Write a cell of a CSV file so that no spreadsheet takes it for a formula."""
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
    """Write ``fields.md``: a Markdown table of the counted fields."""
    lines = [
        "| Path | Metric | Score | Passed | Outcome | Gold | Extracted | Reason |",
        "|---|---|---:|---|---|---|---|---|",
    ]
    for row in rows:
        cells = (
            markdown_cell(row.normalized_path, 2 * _LONGEST_CELL),
            markdown_cell(row.metric_id, _LONGEST_CELL),
            "" if row.score is None else f"{row.score:.3f}",
            "Yes" if row.passed else "No",
            row.outcome,
            markdown_cell(value_text(row.gold_value), _LONGEST_CELL),
            markdown_cell(value_text(row.extracted_value), _LONGEST_CELL),
            markdown_cell(_why(row), max(limit, 1)),
        )
        lines.append(f"| {' | '.join(cells)} |")
    return "\n".join(lines) + "\n"
