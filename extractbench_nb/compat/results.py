"""From an evaluation to the results of the published form: path -> metric id -> MetricResult."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

from extractbench_nb._json import json_text
from extractbench_nb.compat.details import Compared, absence, comparison
from extractbench_nb.evaluation import Evaluation
from extractbench_nb.evaluation.frames import in_order
from extractbench_nb.metrics.classes import MetricResult
from extractbench_nb.pairing import EMPTY_MAP
from extractbench_nb.records import ArrayRecord, Leaf, settled, states
from extractbench_nb.report.paths import schema_paths
from extractbench_nb.schema.presets import PRESETS
from extractbench_nb.scoring import Scored
from extractbench_nb.values import MISSING, PRESENT, Unusable

__all__ = ["Results", "published_results"]

Results = dict[str, dict[str, MetricResult]]

_QUOTED = re.compile(r"\['((?:[^'\\]|\\.)*)'\]", re.DOTALL)


def published_results(evaluation: Evaluation) -> Results:
    """Write the counted fields of an evaluation as the published evaluator does.

    Parameters
    ----------
    evaluation : Evaluation
        As `evaluate` returns it, not restored from a pickle.

    Returns
    -------
    dict of str to dict of str to MetricResult
        By path (``$.properties.name``; of maps ``$.properties.m.additionalProperties.key``, of
        items ``$.properties.rows.items[0].properties.name``) and metric. A metric that failed
        stands under ``error_<metric>``.
    """
    counted = [leaf for leaf in in_order(evaluation.records) if leaf.counted]
    results: Results = {}
    released = evaluation.profile.released_metrics
    for leaf, quoted in zip(counted, _quoted_paths(counted), strict=True):
        plain = _QUOTED.sub(_unquoted, quoted)
        # a key may hold anything, also what looks like another path
        results[plain if plain not in results else quoted] = _of_leaf(leaf, released)
    return results


def _quoted_paths(leaves: Sequence[Leaf]) -> list[str]:
    return schema_paths((*_places(leaf), "") for leaf in leaves)


def _places(leaf: Leaf) -> tuple[str | None, str]:
    """Return the place in the schema and in gold; a map without entries has the first only."""
    path = leaf.paths.gold
    if EMPTY_MAP in _QUOTED.sub("", path):
        return None, leaf.node.schema_path
    return leaf.node.schema_path or None, path


def _unquoted(match: re.Match[str]) -> str:
    return "." + re.sub(r"\\(.)", r"\1", match.group(1), flags=re.DOTALL)


def _of_leaf(leaf: Leaf, released: bool) -> dict[str, MetricResult]:
    found = {}
    for place, verdict in enumerate(settled(leaf)):
        params = _params(leaf, place, verdict.metric)
        result = verdict.result or _result(leaf, verdict, params, released)
        failed = verdict.outcome == "judge_error" and verdict.result is not None
        own: object = result.metric_id
        name = own if isinstance(own, str) else verdict.metric
        found[f"error_{verdict.metric}" if failed else name] = result
    return found


def _params(leaf: Leaf, place: int, metric: str) -> Mapping[str, Any]:
    """Return what the schema says; where it names no metric, the params of the type's default."""
    specs = leaf.node.config.metrics if leaf.node.config is not None else ()
    if place < len(specs) and specs[place].metric_id == metric:
        return specs[place].params
    return PRESETS[metric].params if metric in PRESETS else {}


def _result(leaf: Leaf, verdict: Scored, params: Mapping[str, Any], released: bool) -> MetricResult:
    score, reason = verdict.score or 0.0, _reason(*states(leaf), verdict)
    gold, extracted = _value(leaf.gold), _value(leaf.predicted)
    if verdict.outcome == "both_absent":
        details: dict[str, Any] = {"reason": reason}
    elif reason is not None:
        details = {"gold": gold, "extracted": extracted, "reason": reason}
    else:
        both = Compared(verdict.metric, gold, extracted, params, score, verdict.reasoning, released)
        details = comparison(both)
        if isinstance(leaf, ArrayRecord) and verdict.metric == "array_llm":
            breakdown = _breakdown(leaf)
            said = details["structured_output"]
            details |= {**breakdown, "structured_output": {**said, **breakdown}}
    if verdict.reasoning is not None:
        details["reasoning"] = verdict.reasoning
    return MetricResult(verdict.metric, score, verdict.passed, details)


def _value(value: Any) -> Any:
    return None if value is MISSING or isinstance(value, Unusable) else value


def _reason(gold: str, extracted: str, verdict: Scored) -> str | None:
    """Return the published word for why no metric decided; None where one did."""
    if gold == extracted == PRESENT:
        return verdict.reason if verdict.outcome == "structural" else None
    if verdict.outcome == "structural":
        return verdict.reason
    return absence(gold, extracted)


def _breakdown(array: ArrayRecord) -> dict[str, Any]:
    """Count and list the items of an array; a ratio without a denominator is 1, as published."""
    pairs = [p for p in array.pairs if p.status == "matched"]
    ours, theirs = {p.gold_index for p in pairs}, {p.predicted_index for p in pairs}
    gold, extracted, matched = len(array.gold_items), len(array.predicted_items), array.matched
    precision = matched / extracted if extracted else 1.0
    recall = matched / gold if gold else 1.0
    both = precision + recall
    return {
        "matches_summary": {
            "matched": matched,
            "missed_gold": gold - matched,
            "spurious_pred": extracted - matched,
        },
        "aggregate_metrics": {
            "accuracy": matched / (gold + extracted - matched) if gold or extracted else 1.0,
            "precision": precision,
            "recall": recall,
            "f1": 2 * precision * recall / both if both else 0.0,
        },
        "matched_items": _texts(array.gold_items, ours, inside=True),
        "missed_gold_items": _texts(array.gold_items, ours, inside=False),
        "spurious_pred_items": _texts(array.predicted_items, theirs, inside=False),
    }


def _texts(items: Sequence[Any], indices: set[int | None], *, inside: bool) -> list[str]:
    return [json_text(item) for i, item in enumerate(items) if (i in indices) is inside]
