"""`StructuredEvaluator`: the published evaluator's interface and result format."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass, field
from math import isfinite
from typing import Any, NamedTuple

from extractbench_nb._json import json_text, without_brackets
from extractbench_nb.engine.profiles import Profile
from extractbench_nb.engine.records import ArrayRecord, Leaf, settled, states
from extractbench_nb.engine.scoring import CALLER, Scored
from extractbench_nb.engine.traversal import Aligner
from extractbench_nb.errors import InputError
from extractbench_nb.evaluation.api import evaluate, evaluate_async
from extractbench_nb.evaluation.frames import in_order
from extractbench_nb.evaluation.result import Evaluation
from extractbench_nb.field_metrics.classes import MetricResult
from extractbench_nb.field_metrics.registry import REGISTRY
from extractbench_nb.field_metrics.strings import normal_url
from extractbench_nb.judges.base import Judge
from extractbench_nb.report.content import published_reason, schema_paths
from extractbench_nb.schema.config import PRESETS
from extractbench_nb.schema.nodes import MISSING, Unusable, resolve_states

__all__ = ["AsyncEvaluationConfig", "StructuredEvaluator", "StructuredEvaluatorConfig"]

PAPER = "paper"

# --- the evaluator ----------------------------------------------------------------------------


@dataclass
class AsyncEvaluationConfig:
    """Timeout and retries of metrics that are classes or ``async`` functions.

    Parameters
    ----------
    metric_timeout_seconds : float or None, optional
        Time limit for one attempt in seconds, more than 0; None for no limit.
    n_max_retries : int, optional
        Maximum number of attempts, 1 or more. Errors in the metric's code, for example a
        `TypeError`, are not retried.
    sleep_base_seconds_for_retry : float, optional
        Seconds to wait after the first attempt, 0 or more. Each further wait is longer by the
        same amount.
    max_sleep_time_seconds : float, optional
        Maximum wait between two attempts, in seconds.
    parallel_traversal : bool, optional
        Whether metrics run concurrently; if false, they run one after the other.

    Raises
    ------
    InputError
        A number is out of range.

    Examples
    --------
    >>> AsyncEvaluationConfig(metric_timeout_seconds=5, n_max_retries=1).parallel_traversal
    True
    """

    metric_timeout_seconds: float | None = 60
    n_max_retries: int = 3
    sleep_base_seconds_for_retry: float = 3
    max_sleep_time_seconds: float = 30
    parallel_traversal: bool = True

    def __post_init__(self) -> None:
        """Check the ranges."""
        checks = (
            ("metric_timeout_seconds", 0.0, False),
            ("n_max_retries", 1.0, True),
            ("sleep_base_seconds_for_retry", 0.0, True),
            ("max_sleep_time_seconds", 0.0, True),
        )
        for name, least, included in checks:
            value = getattr(self, name)
            if value is None and name == "metric_timeout_seconds":
                continue
            is_number = type(value) in (int, float) and isfinite(value)
            if not is_number or value < least or (value == least and not included):
                bound = f"{least:g} or more" if included else f"more than {least:g}"
                raise InputError(f"{name} is {value!r}; expected a number that is {bound}")


@dataclass
class StructuredEvaluatorConfig:
    """Options of a `StructuredEvaluator`.

    Parameters
    ----------
    metrics : list, optional
        Ignored, as in the published package: the schema names the metrics, and
        `global_metric_registry` holds them.
    async_config : AsyncEvaluationConfig or None, optional
        Timeout and retries of metrics that are awaited.
    profile : str or Profile, optional
        The rules; ``paper`` by default.
    judge, alignment : object, optional
        See `evaluate`.
    """

    metrics: Sequence[Any] = ()
    async_config: AsyncEvaluationConfig | None = None
    profile: str | Profile = field(default=PAPER, kw_only=True)
    judge: str | Judge = field(default="offline", kw_only=True)
    alignment: str | Aligner = field(default="optimal", kw_only=True)

    def __post_init__(self) -> None:
        """Fill in the default timeout and retries."""
        if self.async_config is None:
            self.async_config = AsyncEvaluationConfig()


class StructuredEvaluator:
    """Compares documents field by field, with results as nested dicts: path -> metric -> result.

    Parameters
    ----------
    config : StructuredEvaluatorConfig, optional
        Profile, judge, alignment, and timeout and retries of metrics that are awaited.

    Examples
    --------
    >>> schema = {"type": "object", "properties": {"year": {"type": "integer"}}}
    >>> evaluator = StructuredEvaluator(StructuredEvaluatorConfig(metrics=[]))
    >>> found = evaluator.evaluate(schema, {"year": 2024}, {"year": 2025})["results"]
    >>> found["$.properties.year"]["integer_exact"].passed
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
            ``$.properties.m.additionalProperties.key`` and of items
            ``$.properties.rows.items[0].properties.name``. Details hold gold, extracted, reason
            and reasoning; for arrays also the counts and items of the alignment. A metric that
            failed has the key ``error_<metric>`` and score 0.

        Raises
        ------
        SchemaError, ConfigError, InputError
            As `evaluate` raises them.
        """
        with _metric_calls(self.config):
            return _published(evaluate(json_schema, gold_json, extracted_json, **self._options))

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
        with _metric_calls(self.config):
            ev = await evaluate_async(json_schema, gold_json, extracted_json, **self._options)
        return _published(ev)

    @property
    def _options(self) -> dict[str, Any]:
        c = self.config
        return {"judge": c.judge, "alignment": c.alignment, "profile": c.profile}


# --- timeout and retries ----------------------------------------------------------------------

Call = Callable[[], Awaitable[Any]]

#: Mistakes in a metric's code; another attempt would end the same way.
_MISTAKES = (
    ArithmeticError,
    AssertionError,
    AttributeError,
    LookupError,
    NameError,
    NotImplementedError,
    SyntaxError,
    TypeError,
)


@contextmanager
def _metric_calls(config: StructuredEvaluatorConfig) -> Iterator[None]:
    """Apply timeout and retries to the evaluations of this task that begin inside the block."""
    token = CALLER.set(_caller(config.async_config or AsyncEvaluationConfig()))
    try:
        yield
    finally:
        CALLER.reset(token)


def _caller(config: AsyncEvaluationConfig) -> Callable[[Call], Awaitable[Any]]:
    """Return a function that awaits a metric's call with timeout and retries."""
    turn = nullcontext() if config.parallel_traversal else asyncio.Lock()
    limit, pause = config.metric_timeout_seconds, config.sleep_base_seconds_for_retry

    async def attempt(call: Call) -> Any:
        timeout = asyncio.timeout(limit)
        try:
            async with timeout:
                return await call()
        except TimeoutError:
            if timeout.expired():  # else the metric raised it
                raise TimeoutError(f"no result within {limit:g} seconds") from None
            raise

    async def attempts(call: Call) -> Any:
        async with turn:
            for number in range(1, config.n_max_retries):
                try:
                    return await attempt(call)
                except _MISTAKES:
                    raise
                except Exception:  # noqa: BLE001 - a metric of the user's raises anything
                    await asyncio.sleep(min(number * pause, config.max_sleep_time_seconds))
            return await attempt(call)

    return attempts


# --- results ----------------------------------------------------------------------------------


def _published(evaluation: Evaluation) -> dict[str, Any]:
    """Write the counted fields of an evaluation as the published evaluator does."""
    leaves = [leaf for leaf in in_order(evaluation.records) if leaf.counted]
    results: dict[str, dict[str, MetricResult]] = {}
    paths = [(leaf.node.schema_path or None, leaf.paths.gold, "") for leaf in leaves]
    for leaf, quoted in zip(leaves, schema_paths(paths), strict=True):
        plain = without_brackets(quoted)
        # a key may hold anything, also what looks like another path
        results[quoted if plain in results else plain] = _leaf_results(leaf)
    return {"schema": evaluation.schema, "results": results}


def _leaf_results(leaf: Leaf) -> dict[str, MetricResult]:
    """Return the results of a leaf by metric id."""
    specs = leaf.node.config.metrics if leaf.node.config is not None else ()
    results = {}
    for index, verdict in enumerate(settled(leaf)):
        params: Mapping[str, Any] = {}
        if index < len(specs) and specs[index].metric_id == verdict.metric:
            params = specs[index].params
        elif verdict.metric in PRESETS:  # the default of the type
            params = PRESETS[verdict.metric].params
        result = verdict.result
        if isinstance(result, dict):  # what to tell of a metric that failed
            result = MetricResult("unknown", 0.0, False, result)
        result = result or _result(leaf, verdict, params)
        failed = verdict.outcome == "judge_error" and verdict.result is not None
        metric_id: object = result.metric_id  # a user's metric may set anything
        name = metric_id if isinstance(metric_id, str) else verdict.metric
        results[f"error_{verdict.metric}" if failed else name] = result
    return results


def _result(leaf: Leaf, verdict: Scored, params: Mapping[str, Any]) -> MetricResult:
    """Write a verdict as published: details say why values were not compared, or what was."""
    score, resolution = verdict.score or 0.0, resolve_states(*states(leaf))
    reason = None
    if verdict.outcome == "structural":
        reason = verdict.reason
    elif resolution is not None:
        reason = published_reason(resolution.reason)
    gold, extracted = _value(leaf.gold), _value(leaf.predicted)
    details: dict[str, Any]
    if verdict.outcome == "both_absent":
        details = {"reason": reason}
    elif reason is not None:
        details = {"gold": gold, "extracted": extracted, "reason": reason}
    else:
        compared = Compared(verdict.metric, gold, extracted, params, score)
        details = compared.details(verdict.reasoning)
        if isinstance(leaf, ArrayRecord) and verdict.metric == "array_llm":
            counts = _alignment_counts(leaf)
            details |= {**counts, "structured_output": details["structured_output"] | counts}
    if verdict.reasoning is not None:
        details["reasoning"] = verdict.reasoning
    return MetricResult(verdict.metric, score, verdict.passed, details)


def _value(value: Any) -> Any:
    return None if value is MISSING or isinstance(value, Unusable) else value


def _alignment_counts(array: ArrayRecord) -> dict[str, Any]:
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


# --- details of a comparison ------------------------------------------------------------------


class Compared(NamedTuple):
    """Two present values that a metric compared, its params as declared, and its score."""

    metric: str
    gold: Any
    extracted: Any
    params: Mapping[str, Any]
    score: float

    def details(self, reasoning: str | None = None) -> dict[str, Any]:
        """Describe the comparison under the published keys.

        Examples
        --------
        >>> Compared("number_tolerance", 5, "5.5", {"tolerance": 1}, 1.0).details()
        {'gold': 5, 'extracted': '5.5', 'tolerance': 1.0, 'delta': 0.5}
        """
        gold, extracted = self.gold, self.extracted
        details = {"gold": gold, "extracted": extracted}
        match self.metric:
            case "string_case_insensitive":
                details["gold_normalized"] = json_text(gold).casefold()
                details["extracted_normalized"] = json_text(extracted).casefold()
            case "string_url":
                details["gold_normalized"] = normal_url(json_text(gold))
                details["extracted_normalized"] = normal_url(json_text(extracted))
            case "string_fuzzy":
                details["threshold"] = self._param("threshold", float)
                details["similarity"] = self.score
                details["case_sensitive"] = self._param("case_sensitive", bool)
            case "number_tolerance":
                details["tolerance"] = self._param("tolerance", float)
                ours, theirs = _number(gold), _number(extracted)
                if ours is not None and theirs is not None:
                    details["delta"] = round(abs(ours - theirs), 12)
            case "string_semantic" | "string_llm" | "array_llm":
                answer = {"reasoning": reasoning} if reasoning is not None else {}
                details["pass_threshold"] = self._param("pass_threshold", float)
                details["structured_output"] = {"score": self.score, **answer}
                details |= answer
        return details

    def _param(self, name: str, convert: Callable[[Any], Any]) -> Any:
        """Return a param; its default if it is not declared or cannot be converted."""
        default = REGISTRY.get(self.metric).defaults[name]
        return _converted(convert, self.params.get(name, default), default)


def _converted(convert: Callable[[Any], Any], value: Any, default: Any = None) -> Any:
    try:
        return convert(value)
    except (TypeError, ValueError, OverflowError):
        return default


def _number(value: Any) -> Any:
    return _converted(float, value)
