"""The content of a report on one evaluation: what ``report.json`` holds, as plain JSON values.

Keys and meanings are those of extract-bench where it has them, so that a program that reads its
``report.json`` reads ours too. ``summary``, ``arrays``, ``warnings``, ``rules`` and ``meta`` are
the frames and the summary of the evaluation.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence
from datetime import datetime
from math import isnan
from statistics import fmean, median
from typing import Any, TypeAlias

import pandas as pd

from extractbench_nb.core import REGISTRY, Evaluation, find_causes, resolve_union, total_cost
from extractbench_nb.core.schema import MISSING, Node, Schema
from extractbench_nb.core.values import PATH_STEP, json_type, member
from extractbench_nb.judges import document_hash
from extractbench_nb.support.wording import document_json

Record: TypeAlias = dict[str, Any]

#: The counts of an array in ``array_breakdown`` and in fields.csv.
COUNTS = ("matched", "missed_gold", "spurious_pred", "precision", "recall", "f1")
#: The cause of overall_score is stated if it is so much lower than pass_rate.
_FAR = 0.1
_BUCKETS = ("0.0-0.2", "0.2-0.4", "0.4-0.6", "0.6-0.8", "0.8-1.0")
_REASONS = {
    "gold_empty": "gold_empty_array",
    "both_empty": "both_empty_array",
    "predicted_missing": "extracted_missing",
    "predicted_null": "extracted_null",
    "predicted_empty": "extracted_empty_array",
    "required_missing": "extracted_missing",
}


def report_content(
    ev: Evaluation,
    name: str | None = None,
    *,
    max_reasoning_length: int = 200,
    top_n_lowest_fields: int = 5,
) -> Record:
    """Collect the content of a report; the name is made from time and content by default."""
    schema, gold, extracted, problem = ev.inputs
    summary, now = ev.summary, datetime.now()
    document = dict(schema.document)
    arrays = _arrays(ev)
    rows = field_outcomes(ev, max_reasoning_length, arrays)
    missing = {
        side: len({row["path"] for row in rows if row[f"{side}_state"] == "missing"})
        for side in ("gold", "extracted")
    }
    return {
        "output_name": name or f"{now:%Y%m%d-%H%M}-{digest([document, gold, extracted])}",
        "timestamp": now.isoformat(),
        "schema_hash": digest(document),
        "gold_hash": digest(gold),
        "extracted_hash": digest(extracted),
        "schema_stats": _schema_stats(schema),
        "gold_stats": _content_stats("gold", gold, missing["gold"]),
        "extracted_stats": _content_stats("extracted", extracted, missing["extracted"]),
        "coverage": _coverage(schema, gold, None if problem else extracted),
        "outcomes": _outcomes(rows, summary, ev.judge_calls, top_n_lowest_fields),
        "field_outcomes": rows,
        "overall_score": float(summary["overall_score"]),
        "overall_pass_rate": float(summary["pass_rate"]),
        "field_score": float(summary["field_score"]),
        "causes": _causes(ev),
        "summary": {str(key): _plain(float(value)) for key, value in summary.items()},
        "arrays": arrays,
        "warnings": _records(ev.warnings[["side", "path", "kind", "message"]]),
        "rules": _records(ev.rules),
        "problem": problem,
        "meta": dict(ev.meta),
    }


def _causes(ev: Evaluation) -> list[str]:
    """Say why the pass rate is low, and the overall score if it is another one."""
    rate, overall = find_causes(ev), find_causes(ev, measure="overall_score")
    is_other = rate.score - overall.score > _FAR
    texts = [f"pass_rate {rate.text}" if rate.text else ""]
    return [text for text in (*texts, f"overall_score {overall.text}" * is_other) if text]


def _records(frame: pd.DataFrame) -> list[Record]:
    """Return the rows of a frame as JSON values, with None for what is missing."""
    return [
        {
            str(name): document_json(value) if name in ("gold", "predicted") else _plain(value)
            for name, value in row.items()
        }
        for row in frame.to_dict("records")
    ]


def _plain(value: Any) -> Any:
    if value is pd.NA or (isinstance(value, float) and isnan(value)):
        return None
    return list(value) if isinstance(value, tuple) else value


def digest(document: Any) -> str:
    """Return the first 8 hex digits of the SHA-256 of a document as JSON with sorted keys."""
    try:
        return document_hash(document)
    except (TypeError, ValueError, RecursionError):
        return document_hash(document_json(document))


# --- rows -----------------------------------------------------------------------------------------


def _arrays(ev: Evaluation) -> list[Record]:
    """Return the arrays that are not inside another array, with the pairs of their items."""
    arrays = [
        row
        for row in _records(ev.arrays)
        if all(step[3] is None for step in PATH_STEP.finditer(row["path"]))
    ]
    matches, pairs = ev.matches, defaultdict(list)
    for row in _records(matches[matches["path"].isin([array["path"] for array in arrays])]):
        pairs[row.pop("path")].append(row)
    return [{**array, "matches": pairs[array["path"]]} for array in arrays]


def _breakdown(array: Record) -> Record:
    """Count and list the items of an array; a pair that differs is in both lists of others."""
    pairs, matched = array["matches"], array["matched"]
    others = [pair for pair in pairs if pair["status"] != "matched"]
    return {
        "matched": matched,
        "missed_gold": None if matched is None else array["gold_items"] - matched,
        "spurious_pred": None if matched is None else array["predicted_items"] - matched,
        **{name: array[name] for name in COUNTS[3:]},
        "matched_items": [pair["gold"] for pair in pairs if pair["status"] == "matched"],
        "missed_gold_items": [p["gold"] for p in others if p["gold_index"] is not None],
        "spurious_pred_items": [p["predicted"] for p in others if p["predicted_index"] is not None],
    }


def field_outcomes(
    ev: Evaluation, limit: int | None = None, arrays: list[Record] | None = None
) -> list[Record]:
    """Return the counted rows; a judge's reasoning is cut to `limit` characters and ``...``."""
    fields, arrays = ev.fields, _arrays(ev) if arrays is None else arrays
    by_path = {array["path"]: array for array in arrays}
    rows = []
    for row in _records(fields[fields["counted"]]):
        array, reasoning = by_path.get(row["path"]), row["reasoning"]
        if reasoning is not None and limit is not None and len(reasoning) > limit:
            reasoning = reasoning[:limit] + "..."
        rows.append(
            {
                "path": full_path(row["schema_path"], row["path"]),
                "normalized_path": row["path"].removeprefix("$").removeprefix(".") or "$",
                "metric_id": row["metric"],
                "score": row["score"],
                "passed": bool(row["passed"]),
                "reason": _REASONS.get(row["reason"], row["reason"]) or None,
                "gold_value": row["gold"],
                "extracted_value": row["predicted"],
                "reasoning": reasoning,
                "array_breakdown": None if array is None else _breakdown(array),
                "gold_state": row["gold_state"],
                "extracted_state": row["predicted_state"],
                **{name: row[name] for name in ("outcome", "field", "required", "weight")},
                "accepted_as": row["accepted_as"],
            }
        )
    return rows


def full_path(schema_path: str | None, path: str) -> str:
    """Write a path in the schema with the keys of maps and the indices of items.

    Examples
    --------
    >>> full_path("$.properties.rows.items.properties.id", "$.rows[2].id")
    '$.properties.rows.items[2].properties.id'
    """
    if schema_path is None:
        return path
    keywords = (step[0] for step in PATH_STEP.finditer(schema_path))
    steps = (step[0] for step in PATH_STEP.finditer(path))
    written = "$"
    for keyword in keywords:
        written += keyword
        if keyword in (".properties", ".anyOf", ".oneOf", ".patternProperties"):
            written += next(keywords, "")
        elif keyword == ".prefixItems":
            next(keywords, "")
        if keyword == ".properties":
            next(steps, "")
        elif keyword not in (".anyOf", ".oneOf"):
            written += next(steps, "")
    return written + "".join(steps)


# --- outcomes -------------------------------------------------------------------------------------


def _outcomes(rows: list[Record], summary: pd.Series, calls: pd.DataFrame, lowest: int) -> Record:
    """Count fields in the totals, and rows (one per field and metric) everywhere else."""
    evaluated, passed = int(summary["evaluated"]), int(summary["passed"])
    required = {True: "required", False: "optional"}
    return {
        "total_evaluated": evaluated,
        "total_passed": passed,
        "total_failed": evaluated - passed,
        "pass_rate": float(summary["pass_rate"]),
        "pass_by_metric": _passes((row["metric_id"], row) for row in rows),
        "pass_by_type": _passes((_type_of(row), row) for row in rows),
        "pass_by_required": _passes((required[bool(row["required"])], row) for row in rows),
        "confusion": _confusion(rows),
        "llm_stats": _llm_stats(rows, calls, lowest),
        "error_breakdown": _error_breakdown([row for row in rows if not row["passed"]]),
    }


def _passes(pairs: Iterable[tuple[str, Record]]) -> dict[str, dict[str, int]]:
    counts: defaultdict[str, dict[str, int]] = defaultdict(lambda: {"passed": 0, "failed": 0})
    for name, row in pairs:
        counts[name]["passed" if row["passed"] else "failed"] += 1
    return dict(counts)


def _type_of(row: Record) -> str:
    """Name the type that a metric's name begins with, else the type of the value."""
    prefix = str(row["metric_id"]).partition("_")[0]
    if prefix in ("string", "number", "integer", "boolean", "array"):
        return prefix
    value = row["extracted_value"] if row["gold_value"] is None else row["gold_value"]
    return "unknown" if value is None else json_type(value)


def _confusion(rows: Iterable[Record]) -> Record:
    """Fill the confusion matrix; rows without a verdict are left out.

    A wrong value, an omission and a structural fault are false negatives; an invented value is a
    false positive.
    """
    judged = [row for row in rows if row["score"] is not None]
    passed = sum(row["passed"] for row in judged)
    absent = sum(row["passed"] and row["outcome"] == "both_absent" for row in judged)
    missed = sum(not row["passed"] and row["gold_state"] == "present" for row in judged)
    right, invented = passed - absent, len(judged) - passed - missed
    precision = right / (right + invented) if right + invented else 1.0
    recall = right / (right + missed) if right + missed else 1.0
    total = precision + recall
    return {
        "true_positive": right,
        "false_positive": invented,
        "false_negative": missed,
        "true_negative": absent,
        "precision": precision,
        "recall": recall,
        "f1": 2 * precision * recall / total if total else 0.0,
    }


def _llm_stats(rows: Iterable[Record], calls: pd.DataFrame, lowest: int) -> Record | None:
    judged = [
        row
        for row in rows
        if row["score"] is not None
        and row["outcome"] in ("correct", "incorrect")
        and _is_judged(row["metric_id"])
    ]
    if not judged and calls.empty:
        return None
    scores = [row["score"] for row in judged]
    buckets = Counter(_BUCKETS[min(int(score * 5), 4)] for score in scores)
    judged.sort(key=lambda row: row["score"])
    return {
        "call_count": len(calls),
        "judged_fields": len(judged),
        "avg_score": fmean(scores) if scores else None,
        "median_score": median(scores) if scores else None,
        "score_distribution": {name: buckets[name] for name in _BUCKETS},
        "top_lowest_fields": [
            {
                "path": row["normalized_path"],
                "metric_id": row["metric_id"],
                "score": row["score"],
                "reasoning": row["reasoning"] or "",
            }
            for row in judged[:lowest]
        ],
        "cost_usd": _plain(total_cost(calls)),
        "by_model": {
            str(model): {
                "calls": len(group),
                "cached": int(group["cached"].sum()),
                "failed": int(group["error"].notna().sum()),
                "requests": int(group["attempts"].sum()),
                "prompt_tokens": int(group["prompt_tokens"].sum()),
                "completion_tokens": int(group["completion_tokens"].sum()),
                "cost_usd": _plain(total_cost(group)),
            }
            for model, group in calls.groupby("model")
        },
    }


def _is_judged(metric_id: str) -> bool:
    entry = REGISTRY.entries.get(metric_id)
    return entry is not None and entry.judged


def _error_breakdown(failed: Sequence[Record]) -> Record | None:
    if not failed:
        return None
    groups: defaultdict[str, list[str]] = defaultdict(list)
    for row in failed:
        groups[_category(row)].append(row["normalized_path"])
    by_size = sorted(groups.items(), key=lambda group: -len(group[1]))
    return {
        "by_path_prefix": dict(Counter(_top_key(row["normalized_path"]) for row in failed)),
        "by_metric_type": dict(Counter(row["metric_id"] for row in failed)),
        "by_reason": {category: len(paths) for category, paths in by_size},
        "details": [
            {"category": category, "count": len(paths), "paths": paths}
            for category, paths in by_size
        ],
    }


def _top_key(path: str) -> str:
    """Return the first step of a normalized path, ``$`` for the root."""
    step = PATH_STEP.match(path) or PATH_STEP.match("." + path)
    return step[0].removeprefix(".") if step else path


def _category(row: Record) -> str:
    names = {"hallucination": "gold_absent", "omission": "extracted_absent"}
    names["judge_error"] = "judge_error"
    if row["outcome"] in names:
        return names[row["outcome"]]
    mismatches = ("type_mismatch", "branch_mismatch", "gold_type_mismatch")
    if row["outcome"] == "structural" or row["reason"] in mismatches:
        return "mismatch"
    if _is_judged(row["metric_id"]) or row["metric_id"] == "array_llm":
        return "semantic_mismatch"
    is_number = row["metric_id"].startswith(("number", "integer"))
    return "numeric_mismatch" if is_number else "value_mismatch"


# --- schema and documents -------------------------------------------------------------------------


def _schema_stats(schema: Schema) -> Record:
    """Count the nodes of a schema by type, and its properties by whether they are required."""
    nodes = list(schema.nodes())
    listed = set(map(id, nodes))  # without those below a recursive reference
    properties = [child for node in nodes for child in node.children.properties.values()]
    declared = [child for child in properties if id(child) in listed]
    required = Counter(_kind(child) for child in declared if child.required)
    optional = Counter(_kind(child) for child in declared if not child.required)
    return {
        "total_nodes": len(nodes),
        "counts_by_type": dict(Counter(map(_kind, nodes))),
        "required_keys_count": required.total(),
        "optional_keys_count": optional.total(),
        "required_by_type": dict(required),
        "optional_by_type": dict(optional),
    }


def _kind(node: Node) -> str:
    if node.kind == "union":
        return "anyof"
    return node.label.partition(" | ")[0] if node.kind == "scalar" else node.kind


def _content_stats(label: str, document: Any, missing: int) -> Record:
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
    arrays = {
        "array_field_count": len(lengths),
        "total_items": sum(lengths),
        "min_length": min(lengths, default=0),
        "median_length": median(lengths or [0]),
        "max_length": max(lengths, default=0),
    }
    return {
        "label": label,
        "total_keys": kinds.total(),
        "counts_by_type": dict(kinds),
        "array_stats": arrays if lengths else None,
        "null_count": kinds["null"],
        "missing_count": missing,
    }


def _coverage(schema: Schema, gold: Any, extracted: Any) -> Record:
    """Compare the leaves of two documents whatever their values; array items by index."""
    in_gold, in_extracted = set(_leaf_paths(gold)), set(_leaf_paths(extracted))
    paths = {
        "missing": sorted(in_gold - in_extracted),
        "spurious": sorted(in_extracted - in_gold),
        "required_missing": sorted(_required_missing(schema.root, gold, extracted)),
    }
    return {
        "present_in_both": len(in_gold & in_extracted),
        "missing_in_extracted": len(paths["missing"]),
        "spurious_in_extracted": len(paths["spurious"]),
        "required_missing": len(paths["required_missing"]),
        **{f"{name}_paths": listed for name, listed in paths.items()},
    }


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
