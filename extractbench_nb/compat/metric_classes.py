"""Metrics written as classes: base class, context, result and registry."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

from extractbench_nb.core import REGISTRY, Metric
from extractbench_nb.core.schema import MetricSpec, Node
from extractbench_nb.errors import ConfigError


@dataclass(frozen=True)
class MetricResult:
    """The result of a metric.

    Parameters
    ----------
    metric_id : str
        The metric.
    score : float
        In [0, 1].
    passed : bool or None, optional
        The verdict; None passes at a score of 1.
    details : dict or None, optional
        Anything else. ``reason`` and ``reasoning`` are shown in ``Evaluation.fields``.

    Examples
    --------
    >>> MetricResult("my_custom", 0.5, details={"reason": "half_right"})
    MetricResult(metric_id='my_custom', score=0.5, passed=None, details={'reason': 'half_right'})
    """

    metric_id: str
    score: float
    passed: bool | None = None
    details: dict[str, Any] | None = None


@dataclass(frozen=True)
class MetricConfig:
    """One metric of an ``evaluation_config``, as a metric's `evaluate` gets it.

    Parameters
    ----------
    metric_id : str
        The metric.
    weight : float or None, optional
        Its weight among the metrics of a field.
    params : dict or None, optional
        Its params.

    Examples
    --------
    >>> MetricConfig("string_fuzzy", params={"threshold": 0.9}).weight is None
    True
    """

    metric_id: str
    weight: float | None = None
    params: dict[str, Any] | None = None


def _keyword(meaning: str, *names: str) -> property:
    """Return a property that is the first of these keywords that a schema node has."""

    def value(context: MetricContext) -> Any:
        keywords = context.keywords
        return next((keywords[name] for name in names if name in keywords), None)

    return property(value, doc=meaning)


class MetricContext:
    """The ``node`` of a metric: both values, and what the schema says of them."""

    __slots__ = ("_extracted", "_gold", "_node")

    def __init__(self, node: Node, gold: Any, extracted: Any) -> None:
        self._node, self._gold, self._extracted = node, gold, extracted

    def get_gold_value(self) -> Any:
        """Return the gold value."""
        return self._gold

    def get_extracted_value(self) -> Any:
        """Return the extracted value."""
        return self._extracted

    def get_type(self) -> str | None:
        """Return the JSON Schema type; None if there is none, or several."""
        names = self.keywords.get("type")
        names = [n for n in names if n != "null"] if isinstance(names, list) else [names]
        if self._node.kind == "union" or {"anyOf", "oneOf"} & self.keywords.keys():
            return None
        if len(names) == 1 and isinstance(names[0], str):
            return names[0]
        return self._node.kind if self._node.kind in ("object", "array") else None

    def get_metadata_summary(self) -> dict[str, Any]:
        """Return schema_type, description, example, nullable and title, if they are declared."""
        summary = {
            "schema_type": self.get_type(),
            "description": self.description or None,
            "example": self.example,
            "nullable": self.nullable,
            "title": self.title or None,
        }
        return {name: value for name, value in summary.items() if value is not None}

    @property
    def keywords(self) -> Mapping[str, Any]:
        """The JSON Schema keywords of the node, read-only."""
        return MappingProxyType(dict(self._node.keywords))

    @property
    def schema_path(self) -> str:
        """The path of the node in the schema."""
        return self._node.schema_path

    description = _keyword("The schema's description.", "description")
    title = _keyword("The schema's title.", "title")
    example = _keyword("The schema's examples.", "examples", "example")
    nullable = _keyword("Whether the schema says ``nullable``; None if it does not.", "nullable")
    default = _keyword("The schema's default.", "default")
    evaluation_config = _keyword("The node's ``evaluation_config``.", "evaluation_config")

    def __repr__(self) -> str:
        """Return the path and both values."""
        return f"MetricContext({self.schema_path!r}, {self._gold!r}, {self._extracted!r})"


class BaseMetric:
    """A metric as a class: a ``metric_id`` and an async method `evaluate`.

    Deriving from it is optional. A metric compares values that are present on both sides; absent
    ones are decided by their states.

    Attributes
    ----------
    metric_id : str
        The name in an ``evaluation_config``.

    Examples
    --------
    >>> class SameInitial(BaseMetric):
    ...     metric_id = "same_initial"
    ...
    ...     async def evaluate(self, node, config=None):
    ...         same = node.get_gold_value()[:1] == node.get_extracted_value()[:1]
    ...         return MetricResult(self.metric_id, float(same), same)
    >>> global_metric_registry.register_metric(SameInitial)
    'same_initial'
    >>> global_metric_registry.unregister_metric("same_initial")
    """

    metric_id: str

    async def evaluate(self, node: Any, config: MetricConfig | None = None) -> MetricResult:
        """Compare a gold value with an extracted value.

        Parameters
        ----------
        node : object
            Both values and their schema; see `MetricContext`.
        config : MetricConfig, optional
            What the schema declares for the metric, with its params.

        Returns
        -------
        MetricResult
            Score and verdict.
        """
        raise NotImplementedError(f"{type(self).__name__} has no method evaluate(node, config)")


@dataclass(frozen=True)
class _CallOfClass:
    """The function of a registry entry: it creates the metric for each call and awaits it."""

    factory: Callable[[], Any]

    async def __call__(
        self, node: Node, gold: Any, extracted: Any, spec: MetricSpec
    ) -> MetricResult:
        config = MetricConfig(spec.metric_id, spec.weight, dict(spec.params) or None)
        result = self.factory().evaluate(MetricContext(node, gold, extracted), config)
        if inspect.isawaitable(result):
            result = await result
        if isinstance(result, type) or not {"metric_id", "score"} <= set(dir(result)):
            raise TypeError(f"evaluate returned {result!r}; expected a MetricResult")
        passed, details = getattr(result, "passed", None), getattr(result, "details", None)
        return MetricResult(result.metric_id, result.score, passed, details)


class MetricRegistry:
    """The metrics of all evaluations by name; `global_metric_registry` is the only instance."""

    def register_metric(self, factory: Any, *, override: bool = False) -> str:
        """Add a metric under its ``metric_id``, and return that.

        `factory` is the class of the metric, or a function that returns the metric. A class or
        function that is defined again, as when a notebook cell is rerun, replaces itself; any
        other metric of that name is replaced only if `override`, else a `ConfigError` is raised.
        """
        sample: Any = factory() if callable(factory) else None
        name = getattr(sample, "metric_id", None)
        if not (isinstance(name, str) and name) or not callable(getattr(sample, "evaluate", None)):
            raise ConfigError(
                None,
                f"{factory!r} is not a metric; expected a class with a metric_id (a str) and a "
                "method evaluate(node, config)",
            )
        earlier = REGISTRY.entries.get(name)
        if earlier is not None and not (override or _place(earlier.function) == _place(factory)):
            raise ConfigError(
                None, f"metric {name!r} is already registered; override=True replaces it"
            )
        REGISTRY.entries[name] = Metric(
            name,
            _CallOfClass(factory),
            ("any",),
            pass_rule="the metric decides",
            source="class",
            summary="",
            takes_node=True,
        )
        return name

    def has_metric(self, metric_id: str) -> bool:
        """Whether a name or alias is registered."""
        return metric_id in REGISTRY.entries

    def available_metrics(self) -> tuple[str, ...]:
        """Return the names of all metrics, without aliases; `metrics` describes them."""
        return tuple(dict.fromkeys(entry.name for entry in REGISTRY.entries.values()))

    def unregister_metric(self, metric_id: str) -> None:
        """Remove a metric, if it is registered."""
        REGISTRY.entries.pop(metric_id, None)


def _place(function: Any) -> tuple[str, str]:
    """Return where a class or function is defined, the same for a cell that runs again."""
    factory = getattr(function, "factory", function)
    module, name = (
        getattr(factory, word, repr(factory)) for word in ("__module__", "__qualname__")
    )
    return module, name


#: The registry that all evaluations use.
global_metric_registry = MetricRegistry()
