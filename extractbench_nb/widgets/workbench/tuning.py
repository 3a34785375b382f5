"""The metric that is tuned: its declared params, their ranges, and what to write in a schema."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any, NamedTuple

from extractbench_nb.errors import ConfigError, InputError, nearest
from extractbench_nb.metrics.registry import REGISTRY, Metric, Param
from extractbench_nb.schema.config import MetricSpec, parse_config
from extractbench_nb.schema.presets import PRESETS

__all__ = ["Tuned", "Tuning", "is_whole", "rules_text"]

_KINDS = {bool: "boolean", int: "number", float: "number", str: "string"}
_SCALARS = frozenset({"string", "number", "boolean"})


class Tuned(NamedTuple):
    """A param that can be changed: its name, of which metric it is, and its value at the start.

    ``value`` is None where neither the metric nor the user gives one.
    """

    key: str
    place: int
    param: Param
    value: Any


class Tuning:
    """A metric, or several together, with params that can be changed.

    Parameters
    ----------
    metric : str, callable or mapping
        Name of a metric or preset, a function registered with `metric`, or an
        ``evaluation_config``.

    Attributes
    ----------
    name : str
        The ids of the metrics, joined by `` + ``.
    params : dict of str to Tuned
        What can be changed. With several metrics the names are ``metric_id.param``.
    threshold : str or None
        The param that a score must reach to pass; None where there is no single one.
    start : dict
        Values at the start.

    Raises
    ------
    ConfigError
        The metric is not known, or its params are wrong.
    InputError
        The function is not registered, or nothing is scored.
    """

    def __init__(self, metric: Any) -> None:
        self._specs, self._weight = _specs(metric)
        self._entries = [REGISTRY.get(spec.metric_id) for spec in self._specs]
        self.name = " + ".join(spec.metric_id for spec in self._specs)
        self.params = {tuned.key: tuned for tuned in self._tuned()}
        self.start = {key: t.value for key, t in self.params.items() if t.value is not None}
        self.threshold = self._threshold()

    @property
    def kinds(self) -> frozenset[str]:
        """The JSON types that all metrics are meant for; scalars where they take any."""
        found = _SCALARS | {"array"}
        for entry in self._entries:
            own = {"number" if kind == "integer" else kind for kind in entry.applies_to}
            found &= (own - {"any"}) or _SCALARS
        return frozenset(found)

    @property
    def own(self) -> bool:
        """Whether the metric is one of this package's, and not the user's."""
        return all(entry.source != "user" for entry in self._entries)

    def mark(self, params: Mapping[str, Any]) -> float | None:
        """Return the score that passes; None with several metrics, or one that is no number."""
        if self.threshold is not None:
            return float(params[self.threshold])
        single = len(self._entries) == 1 and self._entries[0].threshold is None
        return 1.0 if single else None

    def checked(self, params: Any) -> dict[str, Any]:
        """Check values of params.

        Parameters
        ----------
        params : mapping
            Names and values; None takes away what has no default.

        Returns
        -------
        dict
            The same, in the order in which the params are declared.

        Raises
        ------
        InputError
            A name is not known, or a value is out of range.
        """
        if not isinstance(params, Mapping):
            raise InputError(f"params is {params!r}; expected a dict of names and values")
        for name, value in params.items():
            if name not in self.params:
                raise InputError(f"{self.name} has no param {name!r}; {nearest(name, self.params)}")
            param = self.params[name].param
            problem = None if value is None and param.default is None else param.problem(value)
            if problem is not None:
                raise InputError(f"{self.name}: {problem}")
        return {k: _typed(self.params[k].param, params[k]) for k in self.params if k in params}

    def config(self, params: Mapping[str, Any]) -> dict[str, Any]:
        """Return the ``evaluation_config`` of these params, to be written in a schema."""
        several = len(self._specs) > 1
        entries = [
            _entry(spec, self._values(place, params), with_weight=several)
            for place, spec in enumerate(self._specs)
        ]
        config: dict[str, Any] = {"metrics": entries} if several else entries[0]
        return config | ({"aggregation_weight": self._weight} if self._weight != 1 else {})

    def _threshold(self) -> str | None:
        name = self._entries[0].threshold if len(self._entries) == 1 else None
        number = isinstance(self.start.get(name or ""), int | float)
        return name if number else None

    def _values(self, place: int, params: Mapping[str, Any]) -> dict[str, Any]:
        mine = [tuned for tuned in self.params.values() if tuned.place == place]
        values = {t.param.name: params.get(t.key) for t in mine}
        return {name: value for name, value in values.items() if value is not None}

    def _tuned(self) -> Iterator[Tuned]:
        ids: Counter[str] = Counter()
        for place, (spec, entry) in enumerate(zip(self._specs, self._entries, strict=True)):
            ids[spec.metric_id] += 1
            again = f"#{ids[spec.metric_id]}" if ids[spec.metric_id] > 1 else ""
            prefix = f"{spec.metric_id}{again}." if len(self._specs) > 1 else ""
            for param in _declared(entry, spec):
                value = spec.params.get(param.name, param.default)
                yield Tuned(prefix + param.name, place, param, value)


def _specs(metric: Any) -> tuple[tuple[MetricSpec, ...], float]:
    config = dict(metric) if isinstance(metric, Mapping) else _name(metric)
    parsed = parse_config(config, "/evaluation_config", REGISTRY)
    if parsed is None or parsed.skip:
        raise InputError(f"metric is {metric!r}, which scores nothing; expected a metric")
    return parsed.metrics, parsed.weight


def _name(metric: Any) -> str:
    if callable(metric):
        return _registered(metric)
    if not isinstance(metric, str) or metric not in {*PRESETS, *REGISTRY.names()}:
        known = {*PRESETS, *REGISTRY.names()}
        raise ConfigError(None, f"unknown metric {metric!r}; {nearest(metric, known)}")
    return metric


def _registered(function: Callable[..., Any]) -> str:
    for entry in REGISTRY.entries.values():
        if entry.function is function:
            return entry.name
    raise InputError(f"{function!r} is not registered; decorate it with @metric")


def _declared(entry: Metric, spec: MetricSpec) -> Iterable[Param]:
    """Return the params of a metric; those of one that is a class are what the config has."""
    if not entry.takes_node:
        return entry.params
    return [Param(name, _KINDS.get(type(v), "any"), v) for name, v in spec.params.items()]


def _entry(spec: MetricSpec, params: dict[str, Any], *, with_weight: bool) -> dict[str, Any]:
    entry: dict[str, Any] = {"metric_id": spec.metric_id}
    if params:
        entry["params"] = params
    if with_weight and spec.weight != 1:
        entry["weight"] = spec.weight
    return entry


def is_whole(param: Param) -> bool:
    """Say whether a number is a whole one: its default is, and it is no share from 0 to 1."""
    return type(param.default) is int and (param.minimum, param.maximum) != (0, 1)


def _typed(param: Param, value: Any) -> Any:
    whole = isinstance(value, float) and is_whole(param) and value.is_integer()
    return int(value) if whole else value


def rules_text(name: str, params: Mapping[str, Any]) -> str:
    """Write a metric with its params, ``string_fuzzy(threshold=0.8)``."""
    inner = ", ".join(f"{key}={value!r}" for key, value in params.items())
    return f"{name}({inner})" if inner else name
