"""Metrics written as classes: base class, context and result.

The interface is the published package's: a class with a ``metric_id`` and an async method
``evaluate(node, config)`` that returns a `MetricResult`. Deriving from `BaseMetric` is optional.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

from extractbench_nb.errors import ConfigError, nearest
from extractbench_nb.field_metrics.registry import REGISTRY, Metric, MetricScore, Registry
from extractbench_nb.schema.config import MetricSpec
from extractbench_nb.schema.nodes import Node, resolve_states, state_of


@dataclass(frozen=True, slots=True)
class MetricResult:
    """The result of a class-based metric.

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
            None if there is no text under that key.
        """
        value = self.details.get(name) if isinstance(self.details, Mapping) else None
        return value if isinstance(value, str) and value else None


def error_result(error: BaseException) -> MetricResult:
    """Return the published package's result of a metric that failed."""
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
        Any other argument raises an error.

    Raises
    ------
    ConfigError
        An unknown field, or `metric_id` is not a str.

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
        """Return the config as a dict, as in a schema.

        Parameters
        ----------
        exclude_none : bool, optional
            Whether to leave out entries that are None.

        Returns
        -------
        dict
            The entries ``metric_id``, ``weight`` and ``params``.
        """
        config = {"metric_id": self.metric_id, "weight": self.weight, "params": self.params}
        return {k: v for k, v in config.items() if not (exclude_none and v is None)}


def refuse_unknown(what: str, unknown: Mapping[str, Any], known: tuple[str, ...]) -> None:
    """Raise `ConfigError` for the first unknown field."""
    for name in unknown:
        raise ConfigError(None, f"{what} has no field {name!r}; {nearest(name, known)}")


def _keyword(meaning: str, *names: str) -> property:
    """Return a property that is the first of these keywords that a schema node has."""

    def value(context: MetricContext) -> Any:
        keywords = context.keywords
        return next((keywords[name] for name in names if name in keywords), None)

    return property(value, doc=meaning)


class MetricContext:
    """The context of a metric: both values, and what the schema says of them.

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
        """Return gold's value, None for null, ``MISSING`` where the key is absent."""
        return self._gold

    def get_extracted_value(self) -> Any:
        """Return the extracted value, None for null, ``MISSING`` where the key is absent."""
        return self._extracted

    def get_type(self) -> str | None:
        """Return the JSON Schema type; None if the schema allows several, or says nothing."""
        names = self.keywords.get("type")
        names = [n for n in names if n != "null"] if isinstance(names, list) else [names]
        if self._node.kind == "union" or {"anyOf", "oneOf"} & self.keywords.keys():
            return None
        if len(names) == 1 and isinstance(names[0], str):
            return names[0]
        return self._node.kind if self._node.kind in ("object", "array") else None

    def get_metadata_summary(self) -> dict[str, Any]:
        """Return what the schema says about the value, for prompts.

        These are schema_type, description, example, nullable and title, if they are there.
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

    example = _keyword("The schema's examples.", "examples", "example")
    nullable = _keyword("Whether the schema says ``nullable``; None if it does not.", "nullable")
    default = _keyword("The schema's default.", "default")
    evaluation_config = _keyword(
        "The node's ``evaluation_config`` as the schema has it.", "evaluation_config"
    )

    @property
    def schema_path(self) -> str:
        """The path of the node in the schema."""
        return self._node.schema_path

    def __repr__(self) -> str:
        """Return the path and both values."""
        return f"MetricContext({self.schema_path!r}, {self._gold!r}, {self._extracted!r})"


class BaseMetric:
    """A metric as a class: a ``metric_id`` and an async method `evaluate`.

    Attributes
    ----------
    metric_id : str
        The name in an ``evaluation_config``.
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
    >>> from extractbench_nb.field_metrics.classes import global_metric_registry
    >>> global_metric_registry.register_metric(SameInitial)
    'same_initial'
    >>> global_metric_registry.unregister_metric("same_initial")
    """

    metric_id: str
    recurse_into_children: bool = True

    async def evaluate(self, node: Any, config: MetricConfig | None = None) -> MetricResult:
        """Compare a gold and an extracted value.

        Parameters
        ----------
        node : MetricContext
            The values and their schema.
        config : MetricConfig, optional
            The config that the schema declares for the metric, with its params.

        Returns
        -------
        MetricResult
            Score and verdict.
        """
        raise NotImplementedError(f"{type(self).__name__} has no method evaluate(node, config)")


class UnknownMetricError(ConfigError, KeyError):
    """An unknown metric; also a `KeyError`, which the published package raises."""

    __str__ = ConfigError.__str__


@dataclass(frozen=True, slots=True)
class _OfClass:
    """The function of a registry entry: creates a metric for each call."""

    factory: Callable[[], Any]

    async def __call__(
        self, node: Node, gold: Any, extracted: Any, spec: MetricSpec
    ) -> MetricResult:
        context = MetricContext(node, gold, extracted)
        config = MetricConfig(spec.metric_id, spec.weight, dict(spec.params) or None)
        result = self.factory().evaluate(context, config)
        if inspect.isawaitable(result):
            result = await result
        if isinstance(result, MetricResult):
            return result
        if isinstance(result, type) or not {"metric_id", "score"} <= set(dir(result)):
            raise TypeError(f"evaluate returned {result!r}; expected a MetricResult")
        passed, details = getattr(result, "passed", None), getattr(result, "details", None)
        return MetricResult(result.metric_id, result.score, passed, details)


@dataclass(frozen=True, slots=True)
class _OfFunction(BaseMetric):
    """Wraps a metric that is a function in the interface of a class."""

    entry: Metric

    @property
    def metric_id(self) -> str:  # type: ignore[override]
        return self.entry.name

    async def evaluate(self, node: Any, config: MetricConfig | None = None) -> MetricResult:
        gold, extracted = node.get_gold_value(), node.get_extracted_value()
        params = dict(config.params or {}) if config is not None else {}
        resolved = resolve_states(state_of(gold), state_of(extracted))
        if resolved is not None:
            details = {"reason": resolved.reason.replace("predicted", "extracted")}
            return MetricResult(self.metric_id, resolved.score, resolved.passed, details)
        result = self.entry(gold, extracted, **params)
        if inspect.isawaitable(result):
            result = await result
        scored = result if isinstance(result, MetricScore) else MetricScore(float(result))
        passed = scored.score >= self.entry.pass_mark(params)
        details = {"gold": gold, "extracted": extracted}
        verdict = passed if scored.passed is None else scored.passed
        return MetricResult(self.metric_id, float(scored.score), verdict, details)


class MetricRegistry:
    """Metrics by name. A class is kept as a factory, which makes a metric for every call.

    Parameters
    ----------
    aliases : mapping of str to str, optional
        From further names to the names of metrics.
    entries : Registry, optional
        Where the metrics are kept; by default a new, empty registry that evaluations do not use.
        `global_metric_registry` is the one that they use.
    """

    def __init__(
        self, *, aliases: Mapping[str, str] | None = None, entries: Registry | None = None
    ) -> None:
        self._entries = (Registry() if entries is None else entries).entries
        self._aliases = dict(aliases or {})
        self._descriptors: dict[str, Any] = {}

    def register_metric_factory(
        self, metric_id: str, factory: Callable[[], Any], *, override: bool = False
    ) -> None:
        """Add a metric under a name.

        Parameters
        ----------
        metric_id : str
            The name.
        factory : callable
            A class or function that takes nothing and returns the metric.
        override : bool, optional
            Whether to replace another metric of that name. A class or function that is defined
            again, as when a notebook cell is rerun, may always replace itself.

        Raises
        ------
        ConfigError
            The name is taken or not a non-empty str, or `factory` is not callable.
        """
        given: object = metric_id
        if not isinstance(given, str) or not given:
            raise ConfigError(None, f"metric_id is {given!r}; expected a name, a str")
        if not callable(factory):
            raise ConfigError(None, f"{factory!r} is not a factory; expected a class or function")
        earlier = self._entries.get(metric_id)
        if earlier is not None and not (override or _is_defined_anew(earlier, metric_id, factory)):
            raise ConfigError(
                None, f"metric {metric_id!r} is already registered; override=True replaces it"
            )
        self._entries[metric_id] = Metric(
            metric_id,
            _OfClass(factory),
            ("any",),
            pass_rule="the metric decides",
            source="class",
            summary=_summary(factory),
            takes_node=True,
        )
        self._link()

    def register_metric(
        self,
        factory: Callable[[], Any],
        *,
        override: bool = False,
        aliases: tuple[str, ...] = (),
    ) -> str:
        """Add a metric under its own ``metric_id``.

        Parameters
        ----------
        factory : callable
            The metric's class, or a function that returns the metric.
        override : bool, optional
            Whether to replace another metric of that name; see `register_metric_factory`.
        aliases : tuple of str, optional
            Other names for it.

        Returns
        -------
        str
            The ``metric_id``.

        Raises
        ------
        ConfigError
            A name is taken, or what the factory makes has no ``metric_id`` or no ``evaluate``.
        """
        if not callable(factory):
            raise ConfigError(None, f"{factory!r} is not a metric class; pass the class itself")
        sample = factory()
        metric_id: Any = getattr(sample, "metric_id", None)
        if not isinstance(metric_id, str) or not callable(getattr(sample, "evaluate", None)):
            raise ConfigError(
                None,
                f"{sample!r} is not a metric; expected a metric_id (a str) and a method "
                "evaluate(node, config)",
            )
        for alias in aliases:
            existing = self._entries.get(alias)
            if existing is not None and existing.name != metric_id and not override:
                raise ConfigError(
                    None, f"alias {alias!r} is the name of a metric; override=True replaces it"
                )
        self.register_metric_factory(metric_id, factory, override=override)
        self._aliases.update(dict.fromkeys(aliases, metric_id))
        self._link()
        return metric_id

    def _link(self) -> None:
        """Enter the aliases of all metrics that are registered."""
        for alias, target in self._aliases.items():
            if target in self._entries:
                self._entries[alias] = self._entries[target]

    def has_metric(self, metric_id: str) -> bool:
        """Return whether a name or alias is registered.

        Parameters
        ----------
        metric_id : str
            The name or alias.

        Returns
        -------
        bool
            Whether it is registered.
        """
        return self._aliases.get(metric_id, metric_id) in self._entries

    def create_metric(self, metric_id: str) -> Any:
        """Create a metric by name.

        Parameters
        ----------
        metric_id : str
            The name or an alias.

        Returns
        -------
        BaseMetric
            A new metric, with ``metric_id`` and ``evaluate``.

        Raises
        ------
        UnknownMetricError
            No metric has that name.
        """
        entry = self._entries.get(self._aliases.get(metric_id, metric_id))
        if entry is None:
            hint = nearest(metric_id, self._entries)
            raise UnknownMetricError(None, f"unknown metric {metric_id!r}; {hint}")
        if isinstance(entry.function, _OfClass):
            return entry.function.factory()
        return _OfFunction(entry)

    def available_metrics(self) -> tuple[str, ...]:
        """List the names of all metrics.

        Returns
        -------
        tuple of str
            The names, without aliases.
        """
        return tuple(dict.fromkeys(entry.name for entry in self._entries.values()))

    def unregister_metric(self, metric_id: str) -> None:
        """Remove a metric and its aliases, if it is registered.

        Parameters
        ----------
        metric_id : str
            Its name, or an alias.
        """
        target = self._aliases.get(metric_id, metric_id)
        names = [name for name, entry in self._entries.items() if entry.name == target]
        for name in (*names, target, metric_id):
            self._entries.pop(name, None)
        self._aliases = {a: t for a, t in self._aliases.items() if a != metric_id and t != target}
        self._descriptors.pop(target, None)

    def register_metric_descriptor(
        self, metric_id: str, descriptor: Any, *, override: bool = False
    ) -> None:
        """Keep a description of a metric for prompts.

        Parameters
        ----------
        metric_id : str
            The metric.
        descriptor : object
            The description; its ``metric_id`` is the same.
        override : bool, optional
            Whether to replace the one that is there.

        Raises
        ------
        ConfigError
            There is one, or it is another metric's.
        """
        if metric_id in self._descriptors and not override:
            raise ConfigError(None, f"metric {metric_id!r} has a descriptor; override=True")
        if descriptor.metric_id != metric_id:
            found = descriptor.metric_id
            raise ConfigError(None, f"the descriptor is of {found!r}; expected {metric_id!r}")
        self._descriptors[metric_id] = descriptor

    def get_metric_descriptor(self, metric_id: str) -> Any:
        """Return the description of a metric for prompts.

        Parameters
        ----------
        metric_id : str
            The metric, or an alias.

        Returns
        -------
        object or None
            None if there is none.
        """
        return self._descriptors.get(self._aliases.get(metric_id, metric_id))


def _is_defined_anew(earlier: Metric, metric_id: str, factory: Callable[[], Any]) -> bool:
    """Whether an entry is of the same class or function, by where it is defined."""
    if earlier.name != metric_id or not isinstance(earlier.function, _OfClass):
        return False
    one, two = _defined(earlier.function.factory), _defined(factory)
    return one is not None and one == two


def _defined(factory: Callable[[], Any]) -> tuple[str, str] | None:
    module, name = (getattr(factory, word, None) for word in ("__module__", "__qualname__"))
    if not isinstance(module, str) or not isinstance(name, str) or name.endswith("<lambda>"):
        return None
    return module, name


def _summary(factory: Callable[[], Any]) -> str:
    """Return the first line of a docstring that is the factory's own, not its base's."""
    text = inspect.cleandoc(getattr(factory, "__dict__", {}).get("__doc__") or "")
    generated = text.startswith(f"{getattr(factory, '__name__', '')}(")  # what a dataclass writes
    return "" if generated else text.partition("\n")[0]


#: The registry that all evaluations use, in the form of the published package.
global_metric_registry = MetricRegistry(entries=REGISTRY)
