"""``evaluation_config``: its three forms, parsed into `NodeConfig`.

The forms are a preset name, ``{"metric_id", "params"}`` and
``{"metrics": [{"metric_id", "weight", "params"}], "aggregation_weight"}`` (appendix C of the
ExtractBench paper, and its README). An object may have ``accepted``, our addition: lists of scalars
that have the same meaning in the field, ``[["USA", "United States"]]``; alone, it keeps the default
metric. A metric's own name is accepted wherever a preset's is, so that a user's metric needs no
preset.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field, replace
from types import MappingProxyType
from typing import Any

import pandas as pd

from extractbench_nb.core.field_metrics.registry import REGISTRY, Metric, Registry
from extractbench_nb.core.frames import Column, FrameSpec
from extractbench_nb.core.values.json_values import equality_key, json_type
from extractbench_nb.errors import ConfigError, nearest

#: Metrics by the names of their presets (Table 4 of the ExtractBench paper, and its README).
PRESETS: Mapping[str, Metric] = MappingProxyType(
    {name: entry for name, entry in REGISTRY.built_in.items() if entry.use}
)
#: The metric of nodes that are not scored.
SKIP = REGISTRY.built_in_that("skips").name

PRESET_COLUMNS = FrameSpec(
    "presets",
    "one row per preset",
    (
        Column("preset", "string", "name to use in evaluation_config"),
        Column("metric", "string", "metric of the preset"),
        Column("params", "object", "params that it sets, as a dict"),
        Column("default_for", "string", "JSON type that uses it by default", nullable=True),
        Column("use", "string", "what it is for"),
    ),
)


def presets() -> pd.DataFrame:
    """List the presets that an ``evaluation_config`` can select.

    Returns
    -------
    pandas.DataFrame
        One row per preset: preset, metric, params, default_for, use.

    Examples
    --------
    >>> presets().set_index("preset").loc["number_tolerance", "params"]
    {'tolerance': 0.001}
    """
    return PRESET_COLUMNS.from_rows(
        (name, entry.name, dict(entry.preset), entry.default_for, entry.use)
        for name, entry in PRESETS.items()
    )


@dataclass(frozen=True, slots=True)
class MetricSpec:
    """One metric of a node.

    Parameters
    ----------
    metric_id : str
        Name of the metric.
    params : mapping, optional
        Its params as the schema declares them.
    weight : float, optional
        Its weight among the metrics of the node, 0 or more.
    """

    metric_id: str
    params: Mapping[str, Any] = field(default_factory=dict)
    weight: float = 1.0

    @property
    def entry(self) -> Metric:
        """The declaration of the metric with this name; `UNKNOWN` if it does not exist."""
        return REGISTRY.look_up(self.metric_id)

    def __hash__(self) -> int:
        """Hash by identity of content; params are compared by ``==``."""
        return hash((self.metric_id, self.weight, tuple(sorted(self.params))))


@dataclass(frozen=True, slots=True)
class NodeConfig:
    """How a node is scored.

    Parameters
    ----------
    metrics : tuple of MetricSpec
        Its metrics. The node passes if all of them pass.
    weight : float, optional
        ``aggregation_weight``: its weight among the nodes of the document, 0 or more.
    accepted : tuple of tuple, optional
        Groups of values that have the same meaning.

    Attributes
    ----------
    skip : bool
        Whether the node is left out of the scores.
    """

    metrics: tuple[MetricSpec, ...]
    weight: float = 1.0
    accepted: tuple[tuple[Any, ...], ...] = ()
    skip: bool = field(init=False, compare=False)

    def __post_init__(self) -> None:
        """Note whether the node is left out of the scores."""
        object.__setattr__(self, "skip", any(spec.entry.skips for spec in self.metrics))


#: Configs of nodes that declare none, by JSON Schema type. Objects and nulls are not scored.
DEFAULTS: Mapping[str, NodeConfig] = {
    entry.default_for: NodeConfig((MetricSpec(name, entry.preset),))
    for name, entry in PRESETS.items()
    if entry.default_for is not None
}


_METRIC_KEYS = ("metric_id", "params", "weight")
_KEYS = (*_METRIC_KEYS, "metrics", "aggregation_weight", "preset", "accepted")


def parse_config(
    value: Any, pointer: str, registry: Registry | None, default: NodeConfig | None = None
) -> NodeConfig | None:
    """Read one ``evaluation_config``; `default` is for one that names no metric.

    Without a registry, names and params of metrics are not checked.
    """
    if value is None:
        return None
    if isinstance(value, str):
        return NodeConfig((_spec(value, pointer, registry),))
    is_object = isinstance(value, Mapping)
    _expect(is_object, value, pointer, "a preset name or an object with 'metric_id'")
    _check_keys(value, _KEYS, pointer)
    accepted = _accepted(value["accepted"], f"{pointer}/accepted") if "accepted" in value else ()
    weight = _weight(value.get("aggregation_weight", 1.0), f"{pointer}/aggregation_weight")
    entry = {k: v for k, v in value.items() if k not in ("accepted", "aggregation_weight")}
    if default is not None and value and not entry:
        return NodeConfig(default.metrics, weight, accepted)
    named = [key for key in ("metrics", "metric_id", "preset") if key in value]
    if registry is not None and len(named) > 1:
        raise ConfigError(pointer, f"has {named[0]!r} and {named[1]!r}; expected one of them")
    if "metrics" in value:
        entries = value["metrics"]
        if entries == [] and registry is None:  # the published package: nothing to score
            return NodeConfig((MetricSpec(SKIP),), weight, accepted)
        is_list = isinstance(entries, list) and bool(entries)
        _expect(is_list, entries, f"{pointer}/metrics", "a list of at least one metric")
        specs = [_spec(e, f"{pointer}/metrics/{i}", registry) for i, e in enumerate(entries)]
    elif "preset" in value:
        if registry is not None:
            _check_keys(entry, ("preset",), pointer)
        specs = [_named(value["preset"], f"{pointer}/preset", registry)]
    else:
        specs = [_spec(entry if "metric_id" in entry else value, pointer, registry)]
    return NodeConfig(tuple(specs), weight, accepted)


def for_format(config: NodeConfig | None, keywords: Mapping[str, Any]) -> NodeConfig | None:
    """Replace metrics that declare another one for the node's ``format``, such as ``uri``."""
    kind = keywords.get("format")
    if config is None or not isinstance(kind, str):
        return config
    names = {spec.metric_id for spec in config.metrics}  # whoever names both means both
    others = [spec.entry.by_format.get(kind, spec.metric_id) for spec in config.metrics]
    specs = tuple(
        spec if other in names else replace(spec, metric_id=other)
        for spec, other in zip(config.metrics, others, strict=True)
    )
    return replace(config, metrics=specs)


def check_types(
    config: NodeConfig | None,
    types: Collection[str],
    label: str,
    pointer: str,
) -> None:
    """Check that each metric of a node applies to one of its types."""
    for spec in config.metrics if config is not None else ():
        entry = spec.entry
        applies = () if entry.takes_node or "any" in entry.applies_to else entry.applies_to
        allowed = {"number" if name == "integer" else name for name in applies}
        if types and allowed and "object" not in types and allowed.isdisjoint(types):
            problem = f"found {spec.metric_id!r} at a node of type {label}"
            raise ConfigError(pointer, f"{problem}; it applies to {', '.join(applies)}")


_CONTAINERS = frozenset(("object", "array", "unknown"))


def _accepted(value: Any, pointer: str) -> tuple[tuple[Any, ...], ...]:
    """Read the lists of values that have the same meaning."""
    _expect(isinstance(value, list), value, pointer, "a list of lists of values")
    expected = "a list of two or more values that mean the same: texts, numbers, booleans or nulls"
    for i, group in enumerate(value):
        is_group = isinstance(group, list) and len(group) > 1
        is_group = is_group and _CONTAINERS.isdisjoint(map(json_type, group))
        _expect(is_group, group, f"{pointer}/{i}", expected)
    seen = set()
    for member in (member for group in value for member in group):
        if equality_key(member) in seen:
            raise ConfigError(pointer, f"has {member!r} twice; expected each value once")
        seen.add(equality_key(member))
    return tuple(map(tuple, value))


def _spec(entry: Any, pointer: str, registry: Registry | None) -> MetricSpec:
    """Read one metric: its name or that of a preset, or an object with ``metric_id``."""
    if isinstance(entry, str):
        return _named(entry, pointer, registry)
    is_metric = isinstance(entry, Mapping) and "metric_id" in entry
    _expect(is_metric, entry, pointer, "an object with 'metric_id'")
    _check_keys(entry, _METRIC_KEYS, pointer)
    metric_id, params = entry["metric_id"], entry.get("params")
    params = {} if params is None else params
    _expect(isinstance(params, Mapping), params, f"{pointer}/params", "an object of params")
    _expect_metric(metric_id, "metric", f"{pointer}/metric_id", registry)
    problem = registry and registry.problem_with_params(metric_id, params)
    if problem:
        raise ConfigError(f"{pointer}/params", problem)
    weight = _weight(entry.get("weight", 1.0), f"{pointer}/weight")
    return MetricSpec(metric_id, dict(params), weight)


def _named(name: Any, pointer: str, registry: Registry | None) -> MetricSpec:
    """Read the name of a preset or a metric."""
    _expect_metric(name, "preset", pointer, registry)
    return MetricSpec(name, PRESETS[name].preset if name in PRESETS else {})


def _expect_metric(name: Any, what: str, pointer: str, registry: Registry | None) -> None:
    if registry is None:
        _expect(isinstance(name, str) and bool(name), name, pointer, "the name of a metric")
    elif not isinstance(name, str) or name not in registry.entries:
        raise ConfigError(pointer, f"unknown {what} {name!r}; {nearest(name, registry.entries)}")


def _check_keys(value: Mapping[str, Any], allowed: Iterable[str], pointer: str) -> None:
    for key in value:
        if key not in allowed:
            raise ConfigError(pointer, f"unknown key {key!r}; {nearest(key, allowed)}")


def _weight(value: Any, pointer: str) -> float:
    is_weight = json_type(value) == "number" and 0 <= value < float("inf")
    _expect(is_weight, value, pointer, "a number that is 0 or more")
    return float(value)


def _expect(is_valid: bool, value: object, pointer: str, expected: str) -> None:
    if not is_valid:
        raise ConfigError(pointer, f"found {value!r}; expected {expected}")
