"""Metrics written as classes: what they derive from, what they are given, what they return.

The form is the published package's: a class with a ``metric_id`` and an async method
``evaluate(node, config)`` that returns a `MetricResult`. Deriving from `BaseMetric` is not needed.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

from extractbench_nb.errors import ConfigError, nearest
from extractbench_nb.schema.nodes import Node

__all__ = [
    "BaseMetric",
    "MetricConfig",
    "MetricContext",
    "MetricResult",
    "error_result",
    "refuse_unknown",
]


@dataclass(frozen=True, slots=True)
class MetricResult:
    """What a metric that is a class returns.

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

    def said(self, name: str) -> str | None:
        """Return a text among the details.

        Parameters
        ----------
        name : str
            Its key.

        Returns
        -------
        str or None
            None where there is no text under that key.
        """
        value = self.details.get(name) if isinstance(self.details, Mapping) else None
        return value if isinstance(value, str) and value else None


def error_result(error: BaseException) -> MetricResult:
    """Return the result that stands for a metric that failed, as the published package has it."""
    details = {"error": str(error), "error_type": type(error).__name__}
    return MetricResult("unknown", 0.0, False, details)


@dataclass(frozen=True, init=False)
class MetricConfig:
    """One metric of an ``evaluation_config``.

    Parameters
    ----------
    metric_id : str
        The metric.
    weight : float or None, optional
        Its weight among the metrics of a field.
    params : dict or None, optional
        Its params.
    **unknown : object
        Refused.

    Raises
    ------
    ConfigError
        A field that is none of these.

    Examples
    --------
    >>> MetricConfig("string_fuzzy", params={"threshold": 0.9}).model_dump(exclude_none=True)
    {'metric_id': 'string_fuzzy', 'params': {'threshold': 0.9}}
    """

    metric_id: str
    weight: float | None = None
    params: dict[str, Any] | None = None

    def __init__(
        self,
        metric_id: str,
        weight: float | None = None,
        params: dict[str, Any] | None = None,
        **unknown: Any,
    ) -> None:
        refuse_unknown("MetricConfig", unknown, ("metric_id", "weight", "params"))
        if not isinstance(metric_id, str):
            raise ConfigError(None, f"metric_id is {metric_id!r}; expected a metric's name")
        for name, value in (("metric_id", metric_id), ("weight", weight), ("params", params)):
            object.__setattr__(self, name, value)

    def model_dump(self, *, exclude_none: bool = False) -> dict[str, Any]:
        """Return the config as a schema holds it.

        Parameters
        ----------
        exclude_none : bool, optional
            Whether to leave out what is None.

        Returns
        -------
        dict
            metric_id, weight, params.
        """
        found = {"metric_id": self.metric_id, "weight": self.weight, "params": self.params}
        return {k: v for k, v in found.items() if not (exclude_none and v is None)}


def refuse_unknown(what: str, unknown: Mapping[str, Any], known: tuple[str, ...]) -> None:
    """Raise `ConfigError` for the first of the fields that are not known."""
    for name in unknown:
        raise ConfigError(None, f"{what} has no field {name!r}; {nearest(name, known)}")


class MetricContext:
    """The place that a metric is asked about: both values, and what the schema says there.

    Parameters
    ----------
    node : Node
        The schema node.
    gold, extracted : object
        The values; ``MISSING``, which is false, where the key is absent.

    Attributes
    ----------
    keywords : mapping
        The JSON Schema keywords of the node, read-only.
    """

    __slots__ = ("_extracted", "_gold", "_node")

    def __init__(self, node: Node, gold: Any, extracted: Any) -> None:
        self._node, self._gold, self._extracted = node, gold, extracted

    def get_gold_value(self) -> Any:
        """Return gold's value.

        Returns
        -------
        object
            The value, None for null, ``MISSING`` where the key is absent.
        """
        return self._gold

    def get_extracted_value(self) -> Any:
        """Return the extracted value.

        Returns
        -------
        object
            The value, None for null, ``MISSING`` where the key is absent.
        """
        return self._extracted

    def get_type(self) -> str | None:
        """Return the JSON Schema type.

        Returns
        -------
        str or None
            None where the schema allows several types, or says nothing.
        """
        names = self.keywords.get("type")
        names = [n for n in names if n != "null"] if isinstance(names, list) else [names]
        if self._node.kind == "union" or {"anyOf", "oneOf"} & self.keywords.keys():
            return None
        if len(names) == 1 and isinstance(names[0], str):
            return names[0]
        return self._node.kind if self._node.kind in ("object", "array") else None

    def get_metadata_summary(self) -> dict[str, Any]:
        """Return what the schema says about the value, for prompts.

        Returns
        -------
        dict
            Those of schema_type, description, example, nullable and title that are there.
        """
        found = {
            "schema_type": self.get_type(),
            "description": self.description or None,
            "example": self.example,
            "nullable": self.nullable,
            "title": self.title or None,
        }
        return {name: value for name, value in found.items() if value is not None}

    @property
    def keywords(self) -> Mapping[str, Any]:
        """The JSON Schema keywords of the node, read-only."""
        return MappingProxyType(dict(self._node.keywords))

    @property
    def description(self) -> str | None:
        """The schema's description."""
        return self._node.description

    @property
    def title(self) -> str | None:
        """The schema's title."""
        title = self._node.keywords.get("title")
        return title if isinstance(title, str) else None

    @property
    def example(self) -> Any:
        """The schema's examples."""
        return self._node.keywords.get("examples", self._node.keywords.get("example"))

    @property
    def nullable(self) -> bool | None:
        """Whether the schema says ``nullable``; None where it does not."""
        return self._node.keywords.get("nullable")

    @property
    def default(self) -> Any:
        """The schema's default."""
        return self._node.keywords.get("default")

    @property
    def evaluation_config(self) -> Any:
        """The node's ``evaluation_config`` as the schema has it."""
        return self._node.keywords.get("evaluation_config")

    @property
    def schema_path(self) -> str:
        """Where the node stands in the schema."""
        return self._node.schema_path

    def __repr__(self) -> str:
        """Write where it is and what the two values are."""
        return f"MetricContext({self.schema_path!r}, {self._gold!r}, {self._extracted!r})"


class BaseMetric:
    """A metric as a class: a ``metric_id`` and an async method `evaluate`.

    Attributes
    ----------
    metric_id : str
        What an ``evaluation_config`` says.
    recurse_into_children : bool
        Part of the published interface; here children of objects are always evaluated.

    Examples
    --------
    >>> class SameInitial(BaseMetric):
    ...     metric_id = "same_initial"
    ...
    ...     async def evaluate(self, node, config=None):
    ...         same = node.get_gold_value()[:1] == node.get_extracted_value()[:1]
    ...         return MetricResult(self.metric_id, float(same), same)
    >>> from extractbench_nb.metrics.factories import global_metric_registry
    >>> global_metric_registry.register_metric(SameInitial)
    'same_initial'
    >>> global_metric_registry.unregister_metric("same_initial")
    """

    metric_id: str
    recurse_into_children: bool = True

    async def evaluate(self, node: Any, config: MetricConfig | None = None) -> MetricResult:
        """Compare the two values of a place.

        Parameters
        ----------
        node : MetricContext
            The place.
        config : MetricConfig, optional
            What the schema says about the metric, its params above all.

        Returns
        -------
        MetricResult
            Score and verdict.
        """
        raise NotImplementedError(f"{type(self).__name__} has no method evaluate(node, config)")
