"""``evaluation_config``: its three forms, parsed into `NodeConfig`.

The forms are a preset name, ``{"metric_id", "params"}`` and ``{"metrics": [{"metric_id",
"weight", "params"}], "aggregation_weight"}`` (appendix C of the ExtractBench paper, and its
README). An object may have ``accepted``, our addition: lists of scalars that mean the same in the
field, ``[["USA", "United States"]]``; alone, it keeps the default metric. A metric's own name is
accepted wherever a preset's is, so that a user's metric needs no preset.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from types import MappingProxyType
from typing import Any

import pandas as pd

from extractbench_nb.core.field_metrics.registry import (
    REGISTRY,
    UNKNOWN,
    Metric,
    Registry,
)
from extractbench_nb.core.frames import Column, FrameSpec
from extractbench_nb.core.values import equality_key, json_type
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
        Column("preset", "string", "name to write in evaluation_config"),
        Column("metric", "string", "metric that it names"),
        Column("params", "object", "params it sets, as a dict"),
        Column("default_for", "string", "JSON type that uses it by default", nullable=True),
        Column("use", "string", "what it is for"),
    ),
)


def presets() -> pd.DataFrame:
    """List the presets that an ``evaluation_config`` can name.

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
        return REGISTRY.entries.get(self.metric_id, UNKNOWN)

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
        Groups of values that mean the same.

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
    value: Any,
    pointer: str,
    registry: Registry | None,
    default: NodeConfig | None = None,
    keywords: Mapping[str, Any] = MappingProxyType({}),
) -> NodeConfig | None:
    """Read one ``evaluation_config``; `default` is for one that names no metric.

    Metrics give way to those that they declare for the ``format`` among the node's keywords, such
    as ``uri``. Without a registry, names and params of metrics are not checked.
    """
    if value is None:
        return None
    if isinstance(value, str):
        config = NodeConfig((_spec(value, pointer, registry),))
    elif isinstance(value, Mapping):
        config = _config_of_object(value, pointer, registry, default)
    else:
        expected = "a preset name or an object with 'metric_id'"
        raise ConfigError(pointer, f"found {value!r}; expected {expected}")
    form = keywords.get("format")
    if not isinstance(form, str):
        return config
    names = {spec.metric_id for spec in config.metrics}  # whoever names both means both
    others = [spec.entry.by_format.get(form, spec.metric_id) for spec in config.metrics]
    specs = tuple(
        spec if other in names else replace(spec, metric_id=other)
        for spec, other in zip(config.metrics, others, strict=True)
    )
    return replace(config, metrics=specs)


def _config_of_object(
    value: Mapping[str, Any], pointer: str, registry: Registry | None, default: NodeConfig | None
) -> NodeConfig:
    _check_keys(value, _KEYS, pointer)
    accepted = _accepted(value["accepted"], f"{pointer}/accepted") if "accepted" in value else ()
    weight = _weight(value, "aggregation_weight", pointer)
    metric = {k: v for k, v in value.items() if k not in ("accepted", "aggregation_weight")}
    if default is not None and value and not metric:
        return NodeConfig(default.metrics, weight, accepted)
    named = [key for key in ("metrics", "metric_id", "preset") if key in value]
    if len(named) > 1:
        raise ConfigError(pointer, f"has {named[0]!r} and {named[1]!r}; expected one of them")
    if "metrics" in value:
        listed, at = value["metrics"], f"{pointer}/metrics"
        if not isinstance(listed, list) or not listed:
            raise ConfigError(at, f"found {listed!r}; expected a list of at least one metric")
        specs = [_spec(metric, f"{at}/{i}", registry) for i, metric in enumerate(listed)]
    elif "preset" in value:
        _check_keys(metric, ("preset",), pointer)
        specs = [_spec(str(value["preset"]), f"{pointer}/preset", registry)]
    else:
        specs = [_spec(metric if "metric_id" in metric else value, pointer, registry)]
    return NodeConfig(tuple(specs), weight, accepted)


def _spec(written: Any, pointer: str, registry: Registry | None) -> MetricSpec:
    """Read one metric: its name or that of a preset, or an object with ``metric_id``."""
    is_preset = isinstance(written, str)
    if is_preset:
        name, at = written, pointer
        params, weight = PRESETS[name].preset if name in PRESETS else {}, 1.0
    else:
        if not isinstance(written, Mapping) or "metric_id" not in written:
            raise ConfigError(pointer, f"found {written!r}; expected an object with 'metric_id'")
        _check_keys(written, _METRIC_KEYS, pointer)
        name, at = written["metric_id"], f"{pointer}/metric_id"
        params = {} if written.get("params") is None else written["params"]
        if not isinstance(params, Mapping):
            problem = f"found {params!r}; expected an object of params"
            raise ConfigError(f"{pointer}/params", problem)
        weight = _weight(written, "weight", pointer)
    if registry is not None:
        if not isinstance(name, str) or name not in registry.entries:
            what = "preset" if is_preset else "metric"
            raise ConfigError(at, f"unknown {what} {name!r}; {nearest(name, registry.entries)}")
        if not is_preset and (fault := registry.entries[name].problem_with(params)):
            raise ConfigError(f"{pointer}/params", fault)
    return MetricSpec(name, params if is_preset else dict(params), weight)


_CONTAINERS = frozenset(("object", "array", "unknown"))


def _accepted(value: Any, pointer: str) -> tuple[tuple[Any, ...], ...]:
    """Read the lists of values that mean the same."""
    if not isinstance(value, list):
        raise ConfigError(pointer, f"found {value!r}; expected a list of lists of values")
    seen = set()
    for i, group in enumerate(value):
        is_group = isinstance(group, list) and len(group) > 1
        if not is_group or not _CONTAINERS.isdisjoint(map(json_type, group)):
            expected = "two or more values that mean the same: texts, numbers, booleans or nulls"
            raise ConfigError(f"{pointer}/{i}", f"found {group!r}; expected a list of {expected}")
        for member in group:
            if equality_key(member) in seen:
                raise ConfigError(pointer, f"has {member!r} twice; expected each value once")
            seen.add(equality_key(member))
    return tuple(map(tuple, value))


def _check_keys(value: Mapping[str, Any], allowed: Iterable[str], pointer: str) -> None:
    for key in value:
        if key not in allowed:
            raise ConfigError(pointer, f"unknown key {key!r}; {nearest(key, allowed)}")


def _weight(value: Mapping[str, Any], key: str, pointer: str) -> float:
    weight = value.get(key, 1.0)
    if json_type(weight) != "number" or not 0 <= weight < float("inf"):
        problem = f"found {weight!r}; expected a number that is 0 or more"
        raise ConfigError(f"{pointer}/{key}", problem)
    return float(weight)
