"""`StructuredEvaluator`: the published evaluator's interface over the one engine."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from extractbench_nb.compat.patience import AsyncEvaluationConfig, patience
from extractbench_nb.compat.results import published_results
from extractbench_nb.evaluation import Evaluation, evaluate, evaluate_async
from extractbench_nb.inputs import Aligner
from extractbench_nb.judges.base import Judge
from extractbench_nb.profiles import Profile

__all__ = ["StructuredEvaluator", "StructuredEvaluatorConfig"]


@dataclass
class StructuredEvaluatorConfig:
    """How a `StructuredEvaluator` evaluates.

    Parameters
    ----------
    metrics : list, optional
        Part of the published interface, without effect as there: the schema names the metrics,
        and `global_metric_registry` knows them.
    async_config : AsyncEvaluationConfig or None, optional
        How metrics that wait are called.
    profile, judge, alignment : object, optional
        See `evaluate`.
    """

    metrics: Sequence[Any] = ()
    async_config: AsyncEvaluationConfig | None = None
    profile: str | Profile = field(default="paper", kw_only=True)
    judge: str | Judge = field(default="offline", kw_only=True)
    alignment: str | Aligner = field(default="optimal", kw_only=True)

    def __post_init__(self) -> None:
        """Fill in how metrics are called by default."""
        if self.async_config is None:
            self.async_config = AsyncEvaluationConfig()


class StructuredEvaluator:
    """Compares documents field by field and gives plain results: path -> metric -> result.

    Parameters
    ----------
    config : StructuredEvaluatorConfig, optional
        Profile, judge, alignment, and how metrics that wait are called.

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
        """Evaluate one document, in a script and in a notebook cell alike.

        Parameters
        ----------
        json_schema, gold_json, extracted_json : object
            As `evaluate` takes them.

        Returns
        -------
        dict
            ``schema``, the parsed `Schema`, and ``results``: by path (``$.properties.name``) and
            metric id a `MetricResult`. Its details hold gold, extracted, reason and reasoning,
            for arrays the counts and items of the alignment too. A metric that failed stands
            under ``error_<metric>`` with score 0.

        Raises
        ------
        SchemaError, ConfigError, InputError
            As `evaluate` raises them.
        """
        with patience(self._calls):
            return _published(evaluate(json_schema, gold_json, extracted_json, **self._options))

    async def evaluate_async(
        self, json_schema: Any, gold_json: Any, extracted_json: Any
    ) -> dict[str, Any]:
        """Do what `evaluate` does, awaiting metrics that wait.

        Parameters
        ----------
        json_schema, gold_json, extracted_json : object
            As `evaluate` takes them.

        Returns
        -------
        dict
            The same as `evaluate` returns.
        """
        with patience(self._calls):
            found = await evaluate_async(json_schema, gold_json, extracted_json, **self._options)
        return _published(found)

    @property
    def _calls(self) -> AsyncEvaluationConfig:
        return self.config.async_config or AsyncEvaluationConfig()

    @property
    def _options(self) -> dict[str, Any]:
        c = self.config
        return {"judge": c.judge, "alignment": c.alignment, "profile": c.profile}


def _published(evaluation: Evaluation) -> dict[str, Any]:
    return {"schema": evaluation.schema, "results": published_results(evaluation)}
