"""The registry of metrics that are classes: a face over the one registry of all metrics.

What is registered with `global_metric_registry` can be named in an ``evaluation_config``, runs in
every profile and is listed by ``metrics()``. The methods are the published package's.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from extractbench_nb.errors import ConfigError, nearest
from extractbench_nb.metrics.classes import BaseMetric, MetricConfig, MetricContext, MetricResult
from extractbench_nb.metrics.registry import REGISTRY, Metric, MetricScore, Registry
from extractbench_nb.schema.config import MetricSpec
from extractbench_nb.schema.nodes import Node
from extractbench_nb.values import resolve_states, state_of

__all__ = ["MetricRegistry", "UnknownMetricError", "global_metric_registry"]


class UnknownMetricError(ConfigError, KeyError):
    """A name that no metric has; a `KeyError` too, which the published package raises.

    Parameters
    ----------
    pointer : str or None
        JSON Pointer of the place that names it; None where no schema is involved.
    problem : str
        What was found and what would be right.
    """

    __str__ = ConfigError.__str__


@dataclass(frozen=True, slots=True)
class _OfClass:
    """The function of a registry entry: a fresh metric from its factory, asked once."""

    factory: Callable[[], Any]

    async def __call__(
        self, node: Node, gold: Any, extracted: Any, spec: MetricSpec
    ) -> MetricResult:
        place = MetricContext(node, gold, extracted)
        config = MetricConfig(spec.metric_id, spec.weight, dict(spec.params) or None)
        result = self.factory().evaluate(place, config)
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
    """A metric that is a function, in the form of a class."""

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
        found = result if isinstance(result, MetricScore) else MetricScore(float(result))
        passed = found.score >= self.entry.pass_mark(params)
        details = {"gold": gold, "extracted": extracted}
        verdict = passed if found.passed is None else found.passed
        return MetricResult(self.metric_id, float(found.score), verdict, details)


class MetricRegistry:
    """Metrics by name; those that are classes are kept as factories, asked anew for every value.

    Parameters
    ----------
    aliases : mapping of str to str, optional
        Other names, by the name that they stand for.
    entries : Registry, optional
        Where the metrics are kept; by default a new and empty place that no evaluation asks.
        `global_metric_registry` keeps them where all evaluations look.
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
            anew, as when a notebook cell runs again, needs no leave to take its own place.

        Raises
        ------
        ConfigError
            The name is taken or no name, or the factory makes no metric.
        """
        _refuse_no_name(metric_id)
        if not callable(factory):
            raise ConfigError(None, f"{factory!r} is no factory; expected a class or function")
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
            raise ConfigError(None, f"{factory!r} is no metric class; pass the class itself")
        sample = factory()
        metric_id: Any = getattr(sample, "metric_id", None)
        if not isinstance(metric_id, str) or not callable(getattr(sample, "evaluate", None)):
            raise ConfigError(
                None,
                f"{sample!r} is no metric; expected a metric_id (a str) and a method "
                "evaluate(node, config)",
            )
        for alias in aliases:
            self._refuse_taken(alias, metric_id, override)
        self.register_metric_factory(metric_id, factory, override=override)
        self._aliases.update(dict.fromkeys(aliases, metric_id))
        self._link()
        return metric_id

    def _refuse_taken(self, alias: str, metric_id: str, override: bool) -> None:
        found = self._entries.get(alias)
        if found is not None and found.name != metric_id and not override:
            raise ConfigError(
                None, f"alias {alias!r} is the name of a metric; override=True replaces it"
            )

    def _link(self) -> None:
        """Put every alias beside the metric that it stands for, once that is there."""
        for alias, target in self._aliases.items():
            if target in self._entries:
                self._entries[alias] = self._entries[target]

    def has_metric(self, metric_id: str) -> bool:
        """Say whether a name or alias is known.

        Parameters
        ----------
        metric_id : str
            The name.

        Returns
        -------
        bool
            Whether it is.
        """
        return self._aliases.get(metric_id, metric_id) in self._entries

    def create_metric(self, metric_id: str) -> Any:
        """Make the metric of a name.

        Parameters
        ----------
        metric_id : str
            The name, or an alias.

        Returns
        -------
        BaseMetric
            A new one, with ``metric_id`` and ``evaluate``.

        Raises
        ------
        UnknownMetricError
            There is none of that name.
        """
        entry = self._entries.get(self._aliases.get(metric_id, metric_id))
        if entry is None:
            hint = nearest(metric_id, self._entries)
            raise UnknownMetricError(None, f"unknown metric {metric_id!r}; {hint}")
        if isinstance(entry.function, _OfClass):
            return entry.function.factory()
        return _OfFunction(entry)

    def available_metrics(self) -> tuple[str, ...]:
        """List the metrics.

        Returns
        -------
        tuple of str
            Their names, without aliases.
        """
        return tuple(dict.fromkeys(entry.name for entry in self._entries.values()))

    def unregister_metric(self, metric_id: str) -> None:
        """Take a metric out, with its aliases; nothing happens where there is none.

        Parameters
        ----------
        metric_id : str
            Its name, or an alias.
        """
        target = self._aliases.get(metric_id, metric_id)
        gone = [name for name, entry in self._entries.items() if entry.name == target]
        for name in (*gone, target, metric_id):
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
            None where there is none.
        """
        return self._descriptors.get(self._aliases.get(metric_id, metric_id))


def _refuse_no_name(metric_id: object) -> None:
    if not isinstance(metric_id, str) or not metric_id:
        raise ConfigError(None, f"metric_id is {metric_id!r}; expected a name, a str")


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


global_metric_registry = MetricRegistry(entries=REGISTRY)
global_metric_registry.__doc__ = (
    "The registry that all evaluations ask, in the form of the published package."
)
