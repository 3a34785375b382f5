"""`StructuredEvaluator`: extract-bench's evaluator with its format of results."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from extractbench_nb._json import json_text, without_brackets
from extractbench_nb.compat.metric_classes import MetricResult
from extractbench_nb.engine.records import ArrayRecord, Leaf, settled, states
from extractbench_nb.engine.scoring import Scored
from extractbench_nb.engine.traversal import Aligner
from extractbench_nb.evaluation.api import evaluate, evaluate_async
from extractbench_nb.evaluation.result import Evaluation
from extractbench_nb.field_metrics.registry import REGISTRY
from extractbench_nb.field_metrics.strings import normal_url
from extractbench_nb.judges.base import Judge
from extractbench_nb.report.contents import full_path, published_reason
from extractbench_nb.schema.config import PRESETS
from extractbench_nb.schema.nodes import MISSING, Schema, Unusable, resolve_states
from extractbench_nb.schema.parse import SchemaSource, parse_schema


@dataclass
class StructuredEvaluatorConfig:
    """Options of a `StructuredEvaluator`.

    Parameters
    ----------
    metrics : sequence, optional
        Ignored, as in extract-bench: the schema names the metrics, and `global_metric_registry`
        holds them.
    judge, alignment : object, optional
        See `evaluate`.

    Examples
    --------
    >>> StructuredEvaluatorConfig(metrics=[]).judge
    'offline'
    """

    metrics: Sequence[Any] = ()
    judge: str | Judge = field(default="offline", kw_only=True)
    alignment: str | Aligner = field(default="optimal", kw_only=True)


class StructuredEvaluator:
    """Compares documents field by field, with results as nested dicts: path -> metric -> result.

    Parameters
    ----------
    config : StructuredEvaluatorConfig, optional
        Judge and alignment.

    Examples
    --------
    >>> schema = {"type": "object", "properties": {"year": {"type": "integer"}}}
    >>> evaluator = StructuredEvaluator(StructuredEvaluatorConfig(metrics=[]))
    >>> results = evaluator.evaluate(schema, {"year": 2024}, {"year": 2025})["results"]
    >>> results["$.properties.year"]["integer_exact"].passed
    False
    """

    def __init__(self, config: StructuredEvaluatorConfig | None = None) -> None:
        self.config = config if config is not None else StructuredEvaluatorConfig()

    def evaluate(self, json_schema: Any, gold_json: Any, extracted_json: Any) -> dict[str, Any]:
        """Evaluate one document, in a script or in a notebook cell.

        Parameters
        ----------
        json_schema, gold_json, extracted_json : object
            As `evaluate` takes them.

        Returns
        -------
        dict
            ``schema``, the parsed `Schema`, and ``results``: a `MetricResult` by path and metric
            id. Paths are ``$.properties.name``, of map entries
            ``$.properties.m.additionalProperties.key``. A union whose branches disagree about
            their metric has the path of the branch that was compared,
            ``$.properties.u.anyOf[0]``. Details hold gold, extracted, the params of the metric,
            reason and reasoning; for arrays also the counts and items of the alignment. A metric
            that failed has the key ``error_<metric>`` and score 0.

        Raises
        ------
        SchemaError, ConfigError, InputError
            As `evaluate` raises them.
        """
        schema = with_absolute_tolerances(json_schema)
        return _published(evaluate(schema, gold_json, extracted_json, **self._options))

    async def evaluate_async(
        self, json_schema: Any, gold_json: Any, extracted_json: Any
    ) -> dict[str, Any]:
        """Evaluate one document in the running event loop.

        Parameters
        ----------
        json_schema, gold_json, extracted_json : object
            As `evaluate` takes them.

        Returns
        -------
        dict
            The same as `evaluate` returns.
        """
        schema = with_absolute_tolerances(json_schema)
        ev = await evaluate_async(schema, gold_json, extracted_json, **self._options)
        return _published(ev)

    @property
    def _options(self) -> dict[str, Any]:
        c = self.config
        return {"judge": c.judge, "alignment": c.alignment, "profile": "paper"}


def with_absolute_tolerances(schema: SchemaSource) -> Schema:
    """Make the tolerances that a schema declares absolute, as extract-bench reads them.

    The default of `number_tolerance`, 0.1 % of gold, and a param ``mode`` stay.
    """

    def rewritten(part: Any) -> Any:
        if isinstance(part, list):
            return [rewritten(item) for item in part]
        if not isinstance(part, Mapping):
            return part
        part = {key: rewritten(value) for key, value in part.items()}
        params = part.get("params")
        declares = isinstance(params, dict) and "tolerance" in params
        if declares and part.get("metric_id") == "number_tolerance":
            part["params"] = {"mode": "absolute", **params}
        return part

    parsed = parse_schema(schema)
    document = rewritten(parsed.document)
    return parsed if document == parsed.document else parse_schema(document)


# --- results ----------------------------------------------------------------------------------


def _published(ev: Evaluation) -> dict[str, Any]:
    """Write the counted fields of an evaluation as extract-bench does."""
    branches = dict(_disputed_branches(ev.schema))
    results: dict[str, dict[str, MetricResult]] = {}
    for leaf in ev.records:
        if leaf.counted:
            quoted = full_path(leaf.node.schema_path, leaf.paths.gold)
            quoted += branches.get(id(leaf.node), "")
            plain = without_brackets(quoted)
            # a key may hold anything, also what looks like another path
            results[quoted if plain in results else plain] = dict(_results(leaf))
    return {"schema": ev.schema, "results": results}


def _disputed_branches(schema: Schema) -> Iterator[tuple[int, str]]:
    """Yield what a union becomes for each branch, by id, if its branches disagree on a metric."""
    for node in schema.nodes():
        if node.kind != "union" or node.config is not None:
            continue
        branches = node.children.branches
        metrics = {
            tuple(spec.metric_id for spec in branch.config.metrics)
            for branch in branches
            if branch.kind != "null" and branch.config is not None
        }
        if len(metrics) > 1:
            keyword = "oneOf" if "oneOf" in node.keywords else "anyOf"
            for index in range(len(branches)):
                yield id(node.choose(index)), f".{keyword}[{index}]"


def _results(leaf: Leaf) -> Iterator[tuple[str, MetricResult]]:
    """Yield the results of a leaf with the keys under which they are published."""
    specs = leaf.node.config.metrics if leaf.node.config is not None else ()
    for index, verdict in enumerate(settled(leaf)):
        returned: Any = verdict.result
        if verdict.outcome == "judge_error":
            details = returned if isinstance(returned, Mapping) else {"error": verdict.reasoning}
            failed = MetricResult("unknown", 0.0, False, dict(details))
            yield f"error_{verdict.metric}", failed
        elif isinstance(returned, MetricResult):  # of a metric that is a class
            is_named = isinstance(returned.metric_id, str)
            yield returned.metric_id if is_named else verdict.metric, returned
        else:
            params: Mapping[str, Any] = {}
            if index < len(specs) and specs[index].metric_id == verdict.metric:
                params = specs[index].params
            elif verdict.metric in PRESETS:  # the default of the type
                params = PRESETS[verdict.metric].params
            details = _details(leaf, verdict, params)
            score = verdict.score or 0.0
            yield verdict.metric, MetricResult(verdict.metric, score, verdict.passed, details)


def _details(leaf: Leaf, verdict: Scored, params: Mapping[str, Any]) -> dict[str, Any]:
    """Say why two values were not compared, or what was compared with which params."""
    resolution = resolve_states(*states(leaf))
    if verdict.outcome == "structural":
        reason: str | None = verdict.reason
    else:
        reason = None if resolution is None else published_reason(resolution.reason)
    if verdict.outcome == "both_absent":
        return {"reason": reason}
    gold, extracted = _value(leaf.gold), _value(leaf.predicted)
    details: dict[str, Any] = {"gold": gold, "extracted": extracted}
    if reason is not None:
        return {**details, "reason": reason}
    entry = REGISTRY.entries.get(verdict.metric)
    details |= {**(entry.defaults if entry is not None else {}), **params}
    if verdict.metric == "string_url":
        details["gold_normalized"] = normal_url(json_text(gold))
        details["extracted_normalized"] = normal_url(json_text(extracted))
    if verdict.metric == "array_llm" or (entry is not None and entry.judged):
        counts = _alignment(leaf) if isinstance(leaf, ArrayRecord) else {}
        details["structured_output"] = {"score": verdict.score, **counts}
    if verdict.reasoning is not None:
        details["reasoning"] = verdict.reasoning
    return details


def _value(value: Any) -> Any:
    return None if value is MISSING or isinstance(value, Unusable) else value


def _alignment(array: ArrayRecord) -> dict[str, Any]:
    """Count and list the items of an array; a ratio without a denominator is 1."""
    pairs = [pair for pair in array.pairs if pair.status == "matched"]
    in_gold = {pair.gold_index for pair in pairs}
    in_predicted = {pair.predicted_index for pair in pairs}
    gold, extracted, matched = len(array.gold_items), len(array.predicted_items), array.matched
    precision = matched / extracted if extracted else 1.0
    recall = matched / gold if gold else 1.0
    total = precision + recall
    return {
        "matches_summary": {
            "matched": matched,
            "missed_gold": gold - matched,
            "spurious_pred": extracted - matched,
        },
        "aggregate_metrics": {
            "precision": precision,
            "recall": recall,
            "f1": 2 * precision * recall / total if total else 0.0,
        },
        "matched_items": _texts(array.gold_items, in_gold, inside=True),
        "missed_gold_items": _texts(array.gold_items, in_gold, inside=False),
        "spurious_pred_items": _texts(array.predicted_items, in_predicted, inside=False),
    }


def _texts(items: Sequence[Any], indices: set[int | None], *, inside: bool) -> list[str]:
    return [json_text(item) for i, item in enumerate(items) if (i in indices) is inside]
