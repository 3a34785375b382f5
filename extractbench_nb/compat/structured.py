"""`StructuredEvaluator`: extract-bench's evaluator with its format of results."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from extractbench_nb.compat.metric_classes import MetricResult
from extractbench_nb.core import Aligner, Evaluation, evaluate, evaluate_async
from extractbench_nb.core.schema import Schema, SchemaSource, parse_schema
from extractbench_nb.core.text import Judge
from extractbench_nb.core.values import json_text, without_brackets
from extractbench_nb.support.folding import normal_url
from extractbench_nb.views import COUNTS, field_outcomes


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


class Evaluating:
    """Evaluates with the judge and the alignment of a configuration, by the paper's rules."""

    config: Any

    def _evaluation(self, schema: Any, gold: Any, extracted: Any) -> Evaluation:
        schema = with_absolute_tolerances(schema)
        return evaluate(schema, gold, extracted, **self._options)

    async def _evaluation_async(self, schema: Any, gold: Any, extracted: Any) -> Evaluation:
        schema = with_absolute_tolerances(schema)
        return await evaluate_async(schema, gold, extracted, **self._options)

    @property
    def _options(self) -> dict[str, Any]:
        c = self.config
        return {"judge": c.judge, "alignment": c.alignment, "profile": "paper"}


class StructuredEvaluator(Evaluating):
    """Compares documents field by field; results are nested dicts (path -> metric -> result).

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
            ``$.properties.m.additionalProperties.key``. A metric that failed has the key
            ``error_<metric>`` and score 0.

        Raises
        ------
        SchemaError, ConfigError, InputError
            As `evaluate` raises them.
        """
        return _published(self._evaluation(json_schema, gold_json, extracted_json))

    async def evaluate_async(
        self, json_schema: Any, gold_json: Any, extracted_json: Any
    ) -> dict[str, Any]:
        """Evaluate one document in the running event loop, as a coroutine.

        Parameters
        ----------
        json_schema, gold_json, extracted_json : object
            As `evaluate` takes them.

        Returns
        -------
        dict
            The same as `evaluate` returns.
        """
        return _published(await self._evaluation_async(json_schema, gold_json, extracted_json))


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
    rows = iter(field_outcomes(ev))
    results: dict[str, dict[str, MetricResult]] = {}
    for leaf in ev.records:
        # the rows are those of the same verdicts, in the same order
        pairs = [(verdict, next(rows)) for verdict in leaf.verdicts] if leaf.counted else []
        if pairs:
            quoted = pairs[0][1]["path"]
            plain = without_brackets(quoted)
            # a key may hold anything, also what looks like another path
            results[quoted if plain in results else plain] = dict(
                _result(leaf.values, verdict, row) for verdict, row in pairs
            )
    return {"schema": ev.schema, "results": results}


def _result(
    values: tuple[Any, Any], verdict: Any, row: Mapping[str, Any]
) -> tuple[str, MetricResult]:
    """Return a result and the key under which it is published."""
    metric, returned = verdict.metric, verdict.result
    if verdict.outcome == "judge_error":
        details = returned if isinstance(returned, Mapping) else {"error": verdict.reasoning}
        return f"error_{metric}", MetricResult("unknown", 0.0, False, dict(details))
    if isinstance(returned, MetricResult):  # of a metric that is a class
        name: object = returned.metric_id  # a user's metric may set anything
        return name if isinstance(name, str) else metric, returned
    gold, extracted = values
    details = {"gold": gold, "extracted": extracted, "reason": row["reason"]}
    if metric == "string_url":
        details["gold_normalized"] = normal_url(json_text(gold))
        details["extracted_normalized"] = normal_url(json_text(extracted))
    if row["reasoning"] is not None:
        details["reasoning"] = row["reasoning"]
    details["structured_output"] = {"score": verdict.score} | _items(row["array_breakdown"])
    return metric, MetricResult(metric, verdict.score or 0.0, verdict.passed, details)


def _items(array: Mapping[str, Any] | None) -> dict[str, Any]:
    """Name the counts and the items of an array as the judge of extract-bench does."""
    if array is None:
        return {}
    counts = {name: array[name] for name in COUNTS}
    return {
        "matches_summary": {name: counts.pop(name) for name in COUNTS[:3]},
        "aggregate_metrics": counts,
        **{name: items for name, items in array.items() if name.endswith("_items")},
    }
