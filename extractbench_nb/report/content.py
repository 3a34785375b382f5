"""Statistics of a report: schema, documents, outcomes of the fields, arrays, errors."""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence
from math import isnan
from statistics import fmean, median
from typing import Any

import pandas as pd

from extractbench_nb._json import json_type, member
from extractbench_nb.engine.pairing import resolve_union
from extractbench_nb.evaluation.frames import total_cost
from extractbench_nb.field_metrics.registry import REGISTRY
from extractbench_nb.report.models import (
    ArrayBreakdown,
    ArrayItem,
    ArrayStats,
    ConfusionCounts,
    ContentStats,
    CoverageStats,
    ErrorBreakdown,
    ErrorGroup,
    ErrorSplit,
    FieldOutcome,
    LlmStats,
    LowScoringField,
    ModelCalls,
    OutcomeStats,
    SchemaStats,
)
from extractbench_nb.schema.nodes import MISSING, Node, Schema

__all__ = [
    "array_breakdowns",
    "content_stats",
    "coverage_stats",
    "field_outcomes",
    "outcome_stats",
    "published_reason",
    "schema_paths",
    "schema_stats",
]


_MEMBER = r"\.[A-Za-z_$][\w$-]*|\['(?:[^'\\]|\\.)*'\]"
_STEP = re.compile(rf"{_MEMBER}|\[\+?\d+\]", re.DOTALL)
_KEYWORD = re.compile(
    rf"\.properties(?:{_MEMBER})|\.additionalProperties|\.items|\.prefixItems\[\d+\]"
    r"|\.anyOf\[\d+\]|\.oneOf\[\d+\]",
    re.DOTALL,
)
_REASONS = {
    "gold_empty": "gold_empty_array",
    "both_empty": "both_empty_array",
    "predicted_missing": "extracted_missing",
    "predicted_null": "extracted_null",
    "predicted_empty": "extracted_empty_array",
    "required_missing": "extracted_missing",
}


def published_reason(reason: str) -> str:
    """Return the published package's word for one of our reason words, else the word itself."""
    return _REASONS.get(reason, reason)


def normalized(path: str) -> str:
    """Write an instance path without its root: ``$.borrower.name`` is ``borrower.name``."""
    return path.removeprefix("$").removeprefix(".") or "$"


def top_key(path: str) -> str:
    """Return the first key of a normalized path, ``$`` for the root."""
    first = _STEP.match(path) or _STEP.match("." + path)
    return first.group().removeprefix(".") if first else path


def is_outermost(path: str) -> bool:
    """Whether no step of an instance path is an index."""
    return not any(re.match(r"\[\+?\d", step) for step in _STEP.findall(path))


def schema_paths(rows: Iterable[tuple[str | None, str, str]]) -> list[str]:
    """Write the full path of every row: that of the schema, with keys and indices put in."""
    seen: Counter[tuple[str, str]] = Counter()
    paths = []
    for schema_path, path, metric in rows:
        full = path if schema_path is None else _placed(schema_path, path)
        seen[full, metric] += 1
        nth = seen[full, metric]
        paths.append(full if nth == 1 else f"{full}#{nth}")
    return paths


def _placed(schema_path: str, path: str) -> str:
    """Walk both paths at once; where they do not fit, the instance path is appended whole."""
    keywords = _KEYWORD.findall(schema_path)
    steps = _STEP.findall(path)
    if "$" + "".join(keywords) != schema_path or "$" + "".join(steps) != path:
        return f"{schema_path} {path}"
    written, place = "$", 0
    for keyword in keywords:
        if keyword.startswith((".anyOf[", ".oneOf[")):
            written += keyword
            continue
        if place == len(steps):
            break
        named = keyword.startswith(".properties")
        written += keyword if named else keyword.partition("[")[0] + steps[place]
        place += 1
    else:
        if place == len(steps):
            return written
    return f"{schema_path} {path}"


def schema_stats(schema: Schema) -> SchemaStats:
    """Count the nodes of a schema by type, and its properties by whether they are required."""
    kinds: Counter[str] = Counter()
    required: Counter[str] = Counter()
    optional: Counter[str] = Counter()
    nodes = list(schema.nodes())
    listed = set(map(id, nodes))
    for node in nodes:
        kinds[_kind(node)] += 1
        for child in node.children.properties.values():
            if id(child) in listed:  # not below a recursive reference that is not unfolded
                (required if child.required else optional)[_kind(child)] += 1
    return SchemaStats(
        total_nodes=kinds.total(),
        counts_by_type=dict(kinds),
        required_keys_count=required.total(),
        optional_keys_count=optional.total(),
        required_by_type=dict(required),
        optional_by_type=dict(optional),
    )


def _kind(node: Node) -> str:
    if node.kind == "union":
        return "anyof"
    return node.label.partition(" | ")[0] if node.kind == "scalar" else node.kind


def content_stats(label: str, document: Any, missing: int) -> ContentStats:
    """Count what a document holds."""
    kinds: Counter[str] = Counter()
    lengths: list[int] = []
    stack = [document]
    while stack:
        top = stack.pop()
        if isinstance(top, dict):
            kinds.update(
                "integer"
                if (kind := json_type(value)) == "number" and isinstance(value, int)
                else kind
                for value in top.values()
            )
            stack.extend(reversed(top.values()))
        elif isinstance(top, list | tuple):
            lengths.append(len(top))
            stack.extend(reversed(top))
    return ContentStats(
        label=label,
        total_keys=kinds.total(),
        counts_by_type=dict(kinds),
        array_stats=ArrayStats(
            len(lengths), sum(lengths), min(lengths), median(lengths), max(lengths)
        )
        if lengths
        else None,
        null_count=kinds["null"],
        missing_count=missing,
    )


def coverage_stats(schema: Schema, gold: Any, extracted: Any) -> CoverageStats:
    """Compare which leaves two documents have."""
    ours, theirs = set(_leaf_paths(gold)), set(_leaf_paths(extracted))
    lacking = sorted(_required_missing(schema.root, gold, extracted))
    return CoverageStats(
        present_in_both=len(ours & theirs),
        missing_in_extracted=len(ours - theirs),
        spurious_in_extracted=len(theirs - ours),
        required_missing=len(lacking),
        missing_paths=sorted(ours - theirs),
        spurious_paths=sorted(theirs - ours),
        required_missing_paths=lacking,
    )


def _leaf_paths(document: Any) -> Iterator[str]:
    stack = [("", document)]
    while stack:
        path, top = stack.pop()
        if isinstance(top, dict):
            for key, value in top.items():
                here = (path + member(str(key))).removeprefix(".")
                if isinstance(value, dict | list | tuple) and value:
                    stack.append((here, value))
                else:
                    yield here
        elif isinstance(top, list | tuple):
            stack.extend((f"{path}[{i}]", value) for i, value in enumerate(top))
        elif path:
            yield path


def _required_missing(root: Node, gold: Any, extracted: Any) -> Iterator[str]:
    """Yield required keys that gold has and the other has not; an absent parent is told alone."""
    stack = [("", root, gold, extracted)]
    while stack:
        path, node, ours, theirs = stack.pop()
        if not isinstance(ours, dict):
            continue
        if node.kind == "union":
            node = resolve_union(node, ours, MISSING)
        found = theirs if isinstance(theirs, dict) else {}
        for key, child in node.children.properties.items():
            here = (path + member(key)).removeprefix(".")
            if key in ours and key not in found and child.required:
                yield here
            elif key in ours and key in found:
                stack.append((here, child, ours[key], found[key]))


def array_breakdowns(
    arrays: pd.DataFrame, matches: pd.DataFrame, fields: pd.DataFrame
) -> list[ArrayBreakdown]:
    """Return a breakdown of each array that is not inside another array, with its items."""
    outermost = [row for row in _records(arrays) if is_outermost(row["path"])]
    declared = {
        row["path"]: row["schema_path"] for row in _records(fields[["path", "schema_path"]])
    }
    paths = schema_paths((declared.get(row["path"]), row["path"], "") for row in outermost)
    items: defaultdict[tuple[str, str], list[ArrayItem]] = defaultdict(list)
    for row in _records(matches[matches["path"].isin([row["path"] for row in outermost])]):
        item = ArrayItem(
            gold_index=row["gold_index"],
            extracted_index=row["predicted_index"],
            similarity=row["similarity"],
            failed_fields=list(row["failed_fields"]),
            gold_value=row["gold"],
            extracted_value=row["predicted"],
        )
        items[row["path"], row["status"]].append(item)
    same_names = ("counted", "matched", "partial", "precision", "recall", "f1", "score", "passed")
    statuses = ("matched", "partial", "missed", "spurious")
    breakdowns = []
    for row, path in zip(outermost, paths, strict=True):
        measures: dict[str, Any] = {name: row[name] for name in same_names}
        items_by_status: dict[str, Any] = {f"{s}_items": items[row["path"], s] for s in statuses}
        breakdowns.append(
            ArrayBreakdown(
                path=path,
                normalized_path=normalized(row["path"]),
                missed_gold=row["missed"],
                spurious_pred=row["spurious"],
                **measures,
                **items_by_status,
            )
        )
    return breakdowns


def _records(frame: pd.DataFrame) -> list[dict[str, Any]]:
    """Return the rows of a frame, with None for what is missing."""
    return [
        {str(name): None if value is pd.NA else value for name, value in row.items()}
        for row in frame.to_dict("records")
    ]


_TYPES = ("string", "number", "integer", "boolean", "array")
_BUCKETS = ("0.0-0.2", "0.2-0.4", "0.4-0.6", "0.6-0.8", "0.8-1.0")


def shortened(text: str | None, limit: int) -> str | None:
    """Cut a judge's words to `limit` characters, with ``...`` after them."""
    return text if text is None or len(text) <= limit else text[:limit] + "..."


def field_outcomes(
    fields: pd.DataFrame, arrays: Iterable[ArrayBreakdown], limit: int
) -> list[FieldOutcome]:
    """Turn the counted rows of an evaluation into rows of a report."""
    rows = _records(fields[fields["counted"]])
    paths = schema_paths((r["schema_path"], r["path"], r["metric"]) for r in rows)
    by_path = {array.normalized_path: array for array in arrays}
    return [
        _outcome(row, path, by_path.get(normalized(row["path"])), limit)
        for row, path in zip(rows, paths, strict=True)
    ]


def _outcome(
    row: dict[str, Any], path: str, array: ArrayBreakdown | None, limit: int
) -> FieldOutcome:
    counts = ("matched", "missed_gold", "spurious_pred", "precision", "recall", "f1")
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
        **{name: getattr(array, name, None) for name in counts},
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
    """Count the outcomes of the fields; list the `lowest` judged fields with the worst scores."""
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
        pass_rate_judged=None if isnan(judged_rate) else judged_rate,
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
    judged = [
        r
        for r in rows
        if r.score is not None and r.outcome in ("correct", "incorrect") and _is_judged(r)
    ]
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
        by_model={
            str(name): ModelCalls(
                calls=len(group),
                cached=int(group["cached"].sum()),
                failed=int(group["error"].notna().sum()),
                requests=int(group["attempts"].sum()),
                prompt_tokens=int(group["prompt_tokens"].sum()),
                completion_tokens=int(group["completion_tokens"].sum()),
                cost_usd=_cost(group),
            )
            for name, group in calls.groupby("model")
        },
    )


def _cost(calls: pd.DataFrame) -> float | None:
    cost = total_cost(calls)
    return None if isnan(cost) else cost


def _is_judged(row: FieldOutcome) -> bool:
    entry = REGISTRY.entries.get(row.metric_id)
    return entry is not None and entry.judged


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
    if _is_judged(row) or row.metric_id == "array_llm":
        return "semantic_mismatch"
    return (
        "numeric_mismatch" if row.metric_id.startswith(("number", "integer")) else "value_mismatch"
    )
