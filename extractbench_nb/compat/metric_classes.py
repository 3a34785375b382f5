"""Metrics that are classes, with the rules of the published README."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

from extractbench_nb.compat.details import Compared, absence, comparison
from extractbench_nb.metrics.classes import BaseMetric, MetricConfig, MetricResult
from extractbench_nb.metrics.released import released_metric
from extractbench_nb.values import EMPTY, MISSING, resolve_states, state_of

__all__ = ["PolicyAwareMetric", "PublishedMetric"]


class PolicyAwareMetric(BaseMetric):
    """A metric that is asked about present values only; the states decide the rest.

    Attributes
    ----------
    metric_id : str
        What an ``evaluation_config`` says.

    Notes
    -----
    What derives from it has an async method ``_evaluate_values(*, node, gold, extracted, config)``
    that returns a `MetricResult`.

    Examples
    --------
    >>> class SameInitial(PolicyAwareMetric):
    ...     metric_id = "same_initial"
    ...
    ...     async def _evaluate_values(self, *, node, gold, extracted, config):
    ...         return MetricResult(self.metric_id, float(gold[:1] == extracted[:1]))
    """

    async def evaluate(self, node: Any, config: MetricConfig | None = None) -> MetricResult:
        """Let the states of the two values decide, or compare them.

        Parameters
        ----------
        node : MetricContext
            The place. An empty array counts as absent where its type is array.
        config : MetricConfig, optional
            What the schema says about the metric.

        Returns
        -------
        MetricResult
            Score and verdict; details has the reason where a value is absent.
        """
        gold, extracted = node.get_gold_value(), node.get_extracted_value()
        states = _state(node, gold), _state(node, extracted)
        decided = resolve_states(*states)
        if decided is None:
            return await self._evaluate_values(
                node=node, gold=gold, extracted=extracted, config=config
            )
        details: dict[str, Any] = {"reason": absence(*states)}
        if not decided.passed:
            details["gold"] = None if gold is MISSING else gold
            details["extracted"] = None if extracted is MISSING else extracted
        return MetricResult(self.metric_id, decided.score, decided.passed, details)

    async def _evaluate_values(
        self, *, node: Any, gold: Any, extracted: Any, config: MetricConfig | None
    ) -> MetricResult:
        raise NotImplementedError(f"{type(self).__name__} has no method _evaluate_values")


def _state(node: Any, value: Any) -> str:
    return EMPTY if value == [] and node.get_type() == "array" else state_of(value)


@dataclass(frozen=True)
class PublishedMetric(PolicyAwareMetric):
    """A metric of the published package as its README describes it.

    Attributes
    ----------
    metric_id : str
        The name in results.
    """

    rule: ClassVar[str]

    def params(self) -> dict[str, Any]:
        """Return the params that hold where a config says nothing.

        Returns
        -------
        dict
            By name; none by default.
        """
        return {}

    async def _evaluate_values(
        self, *, node: Any, gold: Any, extracted: Any, config: MetricConfig | None
    ) -> MetricResult:
        params = {**self.params(), **((config.params if config is not None else None) or {})}
        compare = released_metric(self.rule, params, fuzzy="levenshtein")
        assert compare is not None  # noqa: S101 - each subclass names one that is there
        score, passed = compare(gold, extracted)
        details = comparison(Compared(self.rule, gold, extracted, params, score))
        return MetricResult(self.metric_id, score, passed, details)
