"""Statistics of a report: schema, documents, outcomes of the fields, arrays, errors."""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence
from itertools import groupby
from math import isnan
from operator import attrgetter
from statistics import fmean, median
from typing import Any

import pandas as pd

from extractbench_nb._json import json_type, member
from extractbench_nb.engine.pairing import resolve_union
from extractbench_nb.evaluation.frames import total_cost
from extractbench_nb.field_metrics.registry import REGISTRY
from extractbench_nb.report import models
from extractbench_nb.schema.nodes import MISSING, Node, Schema

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
    """Return the published package's name for a reason; the reason itself if it has none."""
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
    """Return the full path of every row: the schema's path with keys and indices inserted."""
    seen: Counter[tuple[str, str]] = Counter()
    paths = []
    for schema_path, path, metric in rows:
        full = path if schema_path is None else _placed(schema_path, path)
        seen[full, metric] += 1
        nth = seen[full, metric]
        paths.append(full if nth == 1 else f"{full}#{nth}")
    return paths


def _placed(schema_path: str, path: str) -> str:
    """Insert an instance path's steps into a schema path, or append the path if they do not fit."""
    keywords, steps = _KEYWORD.findall(schema_path), _STEP.findall(path)
    branches = [keyword.startswith((".anyOf[", ".oneOf[")) for keyword in keywords]
    complete = "$" + "".join(keywords) == schema_path and "$" + "".join(steps) == path
    if not complete or branches.count(False) != len(steps):
        return f"{schema_path} {path}"
    remaining, written = iter(steps), "$"
    for keyword, is_branch in zip(keywords, branches, strict=True):
        step = "" if is_branch else next(remaining)
        named = is_branch or keyword.startswith(".properties")
        written += keyword if named else keyword.partition("[")[0] + step
    return written


def schema_stats(schema: Schema) -> models.SchemaStats:
    """Count the nodes of a schema by type, and its properties by whether they are required."""
    nodes = list(schema.nodes())
    listed = set(map(id, nodes))
    properties = [child for node in nodes for child in node.children.properties.values()]
    # without those below a recursive reference, which is not unfolded
    declared = [child for child in properties if id(child) in listed]
    required = Counter(_kind(child) for child in declared if child.required)
    optional = Counter(_kind(child) for child in declared if not child.required)
    kinds = dict(Counter(map(_kind, nodes)))
    totals = required.total(), optional.total()
    return models.SchemaStats(len(nodes), kinds, *totals, dict(required), dict(optional))


def _kind(node: Node) -> str:
    if node.kind == "union":
        return "anyof"
    return node.label.partition(" | ")[0] if node.kind == "scalar" else node.kind


def content_stats(label: str, document: Any, missing: int) -> models.ContentStats:
    """Count a document's values by type, its nulls, and the lengths of its arrays."""
    kinds: Counter[str] = Counter()
    lengths: list[int] = []
    stack = [document]
    while stack:
        top = stack.pop()
        if isinstance(top, dict):
            for value in top.values():
                kind = json_type(value)
                is_integer = kind == "number" and isinstance(value, int)
                kinds["integer" if is_integer else kind] += 1
            stack.extend(reversed(top.values()))
        elif isinstance(top, list | tuple):
            lengths.append(len(top))
            stack.extend(reversed(top))
    arrays = None
    if lengths:
        arrays = models.ArrayStats(
            len(lengths), sum(lengths), min(lengths), median(lengths), max(lengths)
        )
    return models.ContentStats(label, kinds.total(), dict(kinds), arrays, kinds["null"], missing)


def coverage_stats(schema: Schema, gold: Any, extracted: Any) -> models.CoverageStats:
    """Compare the leaf paths of two documents."""
    in_gold, in_extracted = set(_leaf_paths(gold)), set(_leaf_paths(extracted))
    missing, spurious = sorted(in_gold - in_extracted), sorted(in_extracted - in_gold)
    required = sorted(_required_missing(schema.root, gold, extracted))
    counts = (len(in_gold & in_extracted), len(missing), len(spurious), len(required))
    return models.CoverageStats(*counts, missing, spurious, required)


def _leaf_paths(document: Any) -> Iterator[str]:
    stack = [("", document)]
    while stack:
        path, top = stack.pop()
        if isinstance(top, dict):
            for key, value in top.items():
                key_path = (path + member(str(key))).removeprefix(".")
                if isinstance(value, dict | list | tuple) and value:
                    stack.append((key_path, value))
                else:
                    yield key_path
        elif isinstance(top, list | tuple):
            stack.extend((f"{path}[{i}]", value) for i, value in enumerate(top))
        elif path:
            yield path


def _required_missing(root: Node, gold: Any, extracted: Any) -> Iterator[str]:
    """Yield the paths of required keys that only gold has, except below an absent parent."""
    stack = [("", root, gold, extracted)]
    while stack:
        path, node, gold_value, extracted_value = stack.pop()
        if not isinstance(gold_value, dict):
            continue
        if node.kind == "union":
            node = resolve_union(node, gold_value, MISSING)
        present = extracted_value if isinstance(extracted_value, dict) else {}
        for key, child in node.children.properties.items():
            key_path = (path + member(key)).removeprefix(".")
            if key in gold_value and key in present:
                stack.append((key_path, child, gold_value[key], present[key]))
            elif key in gold_value and child.required:
                yield key_path


def array_breakdowns(
    arrays: pd.DataFrame, matches: pd.DataFrame, fields: pd.DataFrame
) -> list[models.ArrayBreakdown]:
    """Return a breakdown of each array that is not inside another array, with its items."""
    outermost = [row for row in _records(arrays) if is_outermost(row["path"])]
    schema_path_of = {
        row["path"]: row["schema_path"] for row in _records(fields[["path", "schema_path"]])
    }
    paths = schema_paths((schema_path_of.get(row["path"]), row["path"], "") for row in outermost)
    items: defaultdict[tuple[str, str], list[models.ArrayItem]] = defaultdict(list)
    for row in _records(matches[matches["path"].isin([row["path"] for row in outermost])]):
        item = models.ArrayItem(
            row["gold_index"],
            row["predicted_index"],
            row["similarity"],
            list(row["failed_fields"]),
            row["gold"],
            row["predicted"],
        )
        items[row["path"], row["status"]].append(item)
    measures = ("counted", "matched", "missed", "spurious", "partial", "precision", "recall", "f1")
    statuses = ("matched", "partial", "missed", "spurious")
    return [
        models.ArrayBreakdown(
            path,
            normalized(row["path"]),
            *(row[name] for name in (*measures, "score", "passed")),
            *(items[row["path"], status] for status in statuses),
        )
        for row, path in zip(outermost, paths, strict=True)
    ]


def warning_groups(report: models.EvaluationReport) -> list[tuple[Any, list[Any]]]:
    """Group the warnings of a report by side and kind, in alphabetical order."""
    key = attrgetter("side", "kind")
    return [(k, list(group)) for k, group in groupby(sorted(report.warnings, key=key), key)]


def rules(frame: pd.DataFrame) -> list[models.ReportRule]:
    """Turn the rows of ``Evaluation.rules`` into rows of a report."""
    return [
        models.ReportRule(
            row["rule"],
            row["applies_to"],
            row["outcome_gold"],
            row["outcome_predicted"],
            list(row["paths_gold"]),
            list(row["paths_predicted"]),
            row["message"],
            row["finding"],
        )
        for row in _records(frame)
    ]


def _records(frame: pd.DataFrame) -> list[dict[str, Any]]:
    """Return the rows of a frame, with None for what is missing."""
    return [
        {str(name): None if value is pd.NA else value for name, value in row.items()}
        for row in frame.to_dict("records")
    ]


_TYPES = ("string", "number", "integer", "boolean", "array")
_BUCKETS = ("0.0-0.2", "0.2-0.4", "0.4-0.6", "0.6-0.8", "0.8-1.0")
COUNTS = ("matched", "missed_gold", "spurious_pred", "precision", "recall", "f1")


def field_outcomes(
    fields: pd.DataFrame, arrays: Iterable[models.ArrayBreakdown], limit: int
) -> list[models.FieldOutcome]:
    """Turn the counted rows of an evaluation into rows of a report.

    A judge's reasoning is cut to `limit` characters, followed by ``...``.
    """
    rows = _records(fields[fields["counted"]])
    paths = schema_paths((r["schema_path"], r["path"], r["metric"]) for r in rows)
    by_path = {array.normalized_path: array for array in arrays}
    outcomes = []
    for row, path in zip(rows, paths, strict=True):
        name, reasoning = normalized(row["path"]), row["reasoning"]
        if reasoning is not None and len(reasoning) > limit:
            reasoning = reasoning[:limit] + "..."
        array = by_path.get(name)
        outcome = models.FieldOutcome(
            path=path,
            normalized_path=name,
            metric_id=row["metric"],
            score=row["score"],
            passed=bool(row["passed"]),
            reason=published_reason(row["reason"]) or None,
            gold_value=row["gold"],
            extracted_value=row["predicted"],
            reasoning=reasoning,
            **{count: getattr(array, count, None) for count in COUNTS},
            outcome=row["outcome"],
            gold_state=row["gold_state"],
            extracted_state=row["predicted_state"],
            field=row["field"],
            required=row["required"],
            weight=row["weight"],
            array_breakdown=array,
            accepted_as=row["accepted_as"],
        )
        outcomes.append(outcome)
    return outcomes


def outcome_stats(
    rows: Sequence[models.FieldOutcome], summary: pd.Series, calls: pd.DataFrame, lowest: int
) -> models.OutcomeStats:
    """Count the outcomes of the fields; list the `lowest` judged fields with the worst scores."""
    evaluated, passed = int(summary["evaluated"]), int(summary["passed"])
    failed = evaluated - passed
    names = ("omissions", "hallucinations", "structural", "judge_errors")
    omitted, invented, structural, unjudged = (int(summary[name]) for name in names)
    wrong = failed - omitted - invented - structural - unjudged
    return models.OutcomeStats(
        total_evaluated=evaluated,
        total_passed=passed,
        total_failed=failed,
        pass_rate=float(summary["pass_rate"]),
        pass_by_metric=_passes((r.metric_id, r.passed) for r in rows),
        pass_by_type=_passes((_type_of(r), r.passed) for r in rows),
        pass_by_required=_passes(
            ("required" if r.required else "optional", r.passed) for r in rows
        ),
        confusion=_confusion(rows),
        llm_stats=_llm_stats(rows, calls, lowest),
        error_breakdown=_error_breakdown([r for r in rows if not r.passed]),
        split=models.ErrorSplit(omitted, invented, wrong, structural, unjudged),
        judge_errors=unjudged,
        pass_rate_judged=_known(float(summary["pass_rate_judged"])),
    )


def _passes(pairs: Iterable[tuple[str, bool]]) -> dict[str, dict[str, int]]:
    counts: defaultdict[str, dict[str, int]] = defaultdict(lambda: {"passed": 0, "failed": 0})
    for name, passed in pairs:
        counts[name]["passed" if passed else "failed"] += 1
    return dict(counts)


def _type_of(row: models.FieldOutcome) -> str:
    """Name the type that a metric's name begins with, else the type of the value."""
    prefix = row.metric_id.partition("_")[0]
    if prefix in _TYPES:
        return prefix
    value = row.extracted_value if row.gold_value is None else row.gold_value
    return "unknown" if value is None else json_type(value)


def _confusion(rows: Iterable[models.FieldOutcome]) -> models.ConfusionCounts:
    """Fill the confusion matrix; rows without a verdict are left out."""
    judged = [row for row in rows if row.score is not None]
    absent = sum(row.passed and row.outcome == "both_absent" for row in judged)
    missed = sum(not row.passed and row.gold_state == "present" for row in judged)
    passed = sum(row.passed for row in judged)
    return models.ConfusionCounts(passed - absent, len(judged) - passed - missed, missed, absent)


def _llm_stats(
    rows: Iterable[models.FieldOutcome], calls: pd.DataFrame, lowest: int
) -> models.LlmStats | None:
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
    return models.LlmStats(
        call_count=len(calls),
        avg_score=fmean(scores) if scores else None,
        median_score=median(scores) if scores else None,
        score_distribution={name: buckets[name] for name in _BUCKETS},
        top_lowest_fields=[
            models.LowScoringField(
                r.normalized_path, r.metric_id, r.score or 0.0, r.reasoning or ""
            )
            for r in judged[:lowest]
        ],
        judged_fields=len(judged),
        cost_usd=_known(total_cost(calls)),
        by_model={
            str(name): models.ModelCalls(
                calls=len(group),
                cached=int(group["cached"].sum()),
                failed=int(group["error"].notna().sum()),
                requests=int(group["attempts"].sum()),
                prompt_tokens=int(group["prompt_tokens"].sum()),
                completion_tokens=int(group["completion_tokens"].sum()),
                cost_usd=_known(total_cost(group)),
            )
            for name, group in calls.groupby("model")
        },
    )


def _known(number: float) -> float | None:
    return None if isnan(number) else number


def _is_judged(row: models.FieldOutcome) -> bool:
    entry = REGISTRY.entries.get(row.metric_id)
    return entry is not None and entry.judged


def _error_breakdown(failed: Sequence[models.FieldOutcome]) -> models.ErrorBreakdown | None:
    if not failed:
        return None
    paths: defaultdict[str, list[str]] = defaultdict(list)
    for row in failed:
        paths[_category(row)].append(row.normalized_path)
    groups = [models.ErrorGroup(category, len(found), found) for category, found in paths.items()]
    groups.sort(key=lambda group: -group.count)
    return models.ErrorBreakdown(
        by_path_prefix=dict(Counter(top_key(r.normalized_path) for r in failed)),
        by_metric_type=dict(Counter(r.metric_id for r in failed)),
        by_reason={group.category: group.count for group in groups},
        details=groups,
    )


def _category(row: models.FieldOutcome) -> str:
    known = {"hallucination": "gold_absent", "omission": "extracted_absent"}
    if row.outcome in (*known, "judge_error"):
        return known.get(row.outcome, row.outcome)
    mismatches = ("type_mismatch", "branch_mismatch", "gold_type_mismatch")
    if row.outcome == "structural" or row.reason in mismatches:
        return "mismatch"
    if _is_judged(row) or row.metric_id == "array_llm":
        return "semantic_mismatch"
    numeric = row.metric_id.startswith(("number", "integer"))
    return "numeric_mismatch" if numeric else "value_mismatch"
