"""Outcomes of the fields: rows, counts, confusion matrix, groups of errors, judged scores."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from math import isnan
from statistics import fmean, median
from typing import Any

import pandas as pd

from extractbench_nb._json import json_type
from extractbench_nb.evaluation.frames import total_cost
from extractbench_nb.field_metrics.registry import REGISTRY
from extractbench_nb.report.content import (
    is_outermost,
    normalized,
    published_reason,
    schema_paths,
    top_key,
)
from extractbench_nb.report.models import (
    ArrayBreakdown,
    ArrayItem,
    ConfusionCounts,
    ErrorBreakdown,
    ErrorGroup,
    ErrorSplit,
    FieldOutcome,
    LlmStats,
    LowScoringField,
    ModelCalls,
    OutcomeStats,
)

__all__ = [
    "array_breakdowns",
    "confusion_counts",
    "error_split",
    "field_outcomes",
    "outcome_stats",
    "shortened",
]


def array_breakdowns(
    arrays: pd.DataFrame, matches: pd.DataFrame, fields: pd.DataFrame
) -> list[ArrayBreakdown]:
    """Collect the arrays that stand in no other array."""
    outermost = [row for row in arrays.to_dict("records") if is_outermost(row["path"])]
    places = dict(zip(fields["path"], fields["schema_path"], strict=True))
    known = [_known(places.get(row["path"])) for row in outermost]
    full = schema_paths(
        (place, row["path"], "") for place, row in zip(known, outermost, strict=True)
    )
    items = _items(matches[matches["path"].isin([row["path"] for row in outermost])])
    return [
        _breakdown(row, path, items[row["path"]]) for row, path in zip(outermost, full, strict=True)
    ]


def _known(value: Any) -> Any:
    return None if value is pd.NA else value


def _items(matches: pd.DataFrame) -> dict[str, dict[str, list[ArrayItem]]]:
    found: defaultdict[str, dict[str, list[ArrayItem]]] = defaultdict(lambda: defaultdict(list))
    for row in matches.to_dict("records"):
        item = ArrayItem(
            gold_index=_known(row["gold_index"]),
            extracted_index=_known(row["predicted_index"]),
            similarity=_known(row["similarity"]),
            failed_fields=list(row["failed_fields"]),
            gold_value=row["gold"],
            extracted_value=row["predicted"],
        )
        found[row["path"]][row["status"]].append(item)
    return found


def _breakdown(row: dict[Any, Any], path: str, items: dict[str, list[ArrayItem]]) -> ArrayBreakdown:
    return ArrayBreakdown(
        path=path,
        normalized_path=normalized(row["path"]),
        counted=row["counted"],
        matched=_known(row["matched"]),
        missed_gold=_known(row["missed"]),
        spurious_pred=_known(row["spurious"]),
        partial=_known(row["partial"]),
        precision=_known(row["precision"]),
        recall=_known(row["recall"]),
        f1=_known(row["f1"]),
        score=_known(row["score"]),
        passed=_known(row["passed"]),
        matched_items=items["matched"],
        partial_items=items["partial"],
        missed_items=items["missed"],
        spurious_items=items["spurious"],
    )


_TYPES = ("string", "number", "integer", "boolean", "array")
_BUCKETS = ("0.0-0.2", "0.2-0.4", "0.4-0.6", "0.6-0.8", "0.8-1.0")


def shortened(text: str | None, limit: int) -> str | None:
    """Cut a judge's words to `limit` characters, with ``...`` after them."""
    return text if text is None or len(text) <= limit else text[:limit] + "..."


def field_outcomes(
    fields: pd.DataFrame, arrays: Iterable[ArrayBreakdown], limit: int
) -> list[FieldOutcome]:
    """Turn the counted rows of an evaluation into rows of a report."""
    rows = [_present(row) for row in fields[fields["counted"]].to_dict("records")]
    paths = schema_paths((r["schema_path"], r["path"], r["metric"]) for r in rows)
    by_path = {array.normalized_path: array for array in arrays}
    return [
        _outcome(row, path, by_path.get(normalized(row["path"])), limit)
        for row, path in zip(rows, paths, strict=True)
    ]


def _present(row: dict[Any, Any]) -> dict[str, Any]:
    return {str(name): None if value is pd.NA else value for name, value in row.items()}


def _outcome(
    row: dict[str, Any], path: str, array: ArrayBreakdown | None, limit: int
) -> FieldOutcome:
    return FieldOutcome(
        path=path,
        normalized_path=normalized(row["path"]),
        metric_id=row["metric"],
        score=row["score"],
        passed=row["passed"] is not None and bool(row["passed"]),
        reason=published_reason(row["reason"]) or None,
        gold_value=row["gold"],
        extracted_value=row["predicted"],
        reasoning=shortened(row["reasoning"], limit),
        matched=array.matched if array else None,
        missed_gold=array.missed_gold if array else None,
        spurious_pred=array.spurious_pred if array else None,
        precision=array.precision if array else None,
        recall=array.recall if array else None,
        f1=array.f1 if array else None,
        outcome=row["outcome"],
        gold_state=row["gold_state"],
        extracted_state=row["predicted_state"],
        field=row["field"],
        required=row["required"],
        weight=row["weight"],
        array_breakdown=array,
    )


def outcome_stats(
    rows: Sequence[FieldOutcome], summary: pd.Series, calls: pd.DataFrame, lowest: int
) -> OutcomeStats:
    """Count what came of the fields."""
    evaluated, passed = int(summary["evaluated"]), int(summary["passed"])
    judged_rate = float(summary["pass_rate_judged"])
    return OutcomeStats(
        total_evaluated=evaluated,
        total_passed=passed,
        total_failed=evaluated - passed,
        pass_rate=float(summary["pass_rate"]),
        pass_by_metric=_passes((r.metric_id, r.passed) for r in rows),
        pass_by_type=_passes((_type_of(r), r.passed) for r in rows),
        pass_by_required=_passes(
            ("required" if r.required else "optional", r.passed) for r in rows
        ),
        confusion=confusion_counts(rows),
        llm_stats=_llm_stats(rows, calls, lowest),
        error_breakdown=_error_breakdown([r for r in rows if not r.passed]),
        split=error_split(summary),
        judge_errors=int(summary["judge_errors"]),
        pass_rate_judged=None if judged_rate != judged_rate else judged_rate,  # noqa: PLR0124
    )


def _passes(pairs: Iterable[tuple[str, bool]]) -> dict[str, dict[str, int]]:
    counts: defaultdict[str, dict[str, int]] = defaultdict(lambda: {"passed": 0, "failed": 0})
    for name, passed in pairs:
        counts[name]["passed" if passed else "failed"] += 1
    return dict(counts)


def _type_of(row: FieldOutcome) -> str:
    """Name the type that a metric's name begins with, else the type of the value."""
    prefix = row.metric_id.partition("_")[0]
    if prefix in _TYPES:
        return prefix
    value = row.extracted_value if row.gold_value is None else row.gold_value
    return "unknown" if value is None else json_type(value)


def confusion_counts(rows: Iterable[FieldOutcome]) -> ConfusionCounts:
    """Fill the confusion matrix; rows without a verdict stand outside."""
    cells: Counter[str] = Counter()
    for row in rows:
        if row.score is None:
            continue
        if row.passed:
            cells["tn" if row.outcome == "both_absent" else "tp"] += 1
        else:
            cells["fn" if row.gold_state == "present" else "fp"] += 1
    return ConfusionCounts(cells["tp"], cells["fp"], cells["fn"], cells["tn"])


def error_split(summary: pd.Series) -> ErrorSplit:
    """Split the fields that did not pass by what went wrong."""
    names = ("omissions", "hallucinations", "structural", "judge_errors")
    omitted, invented, structural, unjudged = (int(summary[name]) for name in names)
    failed = int(summary["evaluated"] - summary["passed"])
    wrong = failed - omitted - invented - structural - unjudged
    return ErrorSplit(omitted, invented, wrong, structural, unjudged)


def _llm_stats(rows: Iterable[FieldOutcome], calls: pd.DataFrame, lowest: int) -> LlmStats | None:
    judged = [r for r in rows if r.score is not None and _is_judged(r)]
    if not judged and calls.empty:
        return None
    scores = [r.score for r in judged if r.score is not None]
    buckets = Counter(_BUCKETS[min(int(score * 5), 4)] for score in scores)
    judged.sort(key=lambda r: r.score or 0.0)
    return LlmStats(
        call_count=len(calls),
        avg_score=fmean(scores) if scores else None,
        median_score=median(scores) if scores else None,
        score_distribution={name: buckets[name] for name in _BUCKETS},
        top_lowest_fields=[
            LowScoringField(r.normalized_path, r.metric_id, r.score or 0.0, r.reasoning or "")
            for r in judged[:lowest]
        ],
        judged_fields=len(judged),
        cost_usd=_cost(calls),
        by_model={str(name): _of_model(group) for name, group in calls.groupby("model")},
    )


def _of_model(calls: pd.DataFrame) -> ModelCalls:
    return ModelCalls(
        calls=len(calls),
        cached=int(calls["cached"].sum()),
        failed=int(calls["error"].notna().sum()),
        requests=int(calls["attempts"].sum()),
        prompt_tokens=int(calls["prompt_tokens"].sum()),
        completion_tokens=int(calls["completion_tokens"].sum()),
        cost_usd=_cost(calls),
    )


def _cost(calls: pd.DataFrame) -> float | None:
    cost = total_cost(calls)
    return None if isnan(cost) else cost


def _is_judged(row: FieldOutcome) -> bool:
    entry = REGISTRY.entries.get(row.metric_id)
    return entry is not None and entry.judged and row.outcome in ("correct", "incorrect")


def _error_breakdown(failed: Sequence[FieldOutcome]) -> ErrorBreakdown | None:
    if not failed:
        return None
    paths: defaultdict[str, list[str]] = defaultdict(list)
    for row in failed:
        paths[_category(row)].append(row.normalized_path)
    groups = sorted(paths.items(), key=lambda group: -len(group[1]))
    return ErrorBreakdown(
        by_path_prefix=dict(Counter(top_key(r.normalized_path) for r in failed)),
        by_metric_type=dict(Counter(r.metric_id for r in failed)),
        by_reason={category: len(found) for category, found in groups},
        details=[ErrorGroup(category, len(found), found) for category, found in groups],
    )


_CATEGORIES = {
    "hallucination": "gold_absent",
    "omission": "extracted_absent",
    "structural": "mismatch",
    "judge_error": "judge_error",
}


def _category(row: FieldOutcome) -> str:
    known = _CATEGORIES.get(row.outcome)
    if known is not None:
        return known
    if row.reason in ("type_mismatch", "branch_mismatch", "gold_type_mismatch"):
        return "mismatch"
    entry = REGISTRY.entries.get(row.metric_id)
    if (entry is not None and entry.judged) or row.metric_id == "array_llm":
        return "semantic_mismatch"
    return (
        "numeric_mismatch" if row.metric_id.startswith(("number", "integer")) else "value_mismatch"
    )
