"""``evaluation_config``: its three forms, parsed into `NodeConfig`.

The forms are a preset name, ``{"metric_id", "params"}`` and ``{"metrics": [{"metric_id",
"weight", "params"}], "aggregation_weight"}`` (appendix C of the ExtractBench paper, and its
README). An object may have ``accepted``, our addition: lists of scalars that mean the same in the
field, ``[["USA", "United States"]]``; alone, it keeps the default metric. A metric's own name is
accepted wherever a preset's is, so that a user's metric needs no preset.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field, replace
from types import MappingProxyType
from typing import Any, NamedTuple

import pandas as pd

from extractbench_nb.core.field_metrics.registry import Registry
from extractbench_nb.core.frames import Column, FrameSpec
from extractbench_nb.core.values.json_values import equality_key, json_type
from extractbench_nb.errors import ConfigError, nearest


class Preset(NamedTuple):
    """A named metric with its parameters (Table 4 of the ExtractBench paper, and its README)."""

    name: str
    use: str
    params: Mapping[str, Any]

    @property
    def metric_id(self) -> str:
        """The metric, whose name is the preset's own."""
        return self.name


_PRESETS: tuple[tuple[str, str, dict[str, Any]], ...] = (
    ("string_exact", "identifiers, codes", {}),
    ("string_case_insensitive", "enums, units, status words", {}),
    ("string_fuzzy", "names with typos", {"threshold": 0.8, "case_sensitive": False}),
    ("string_semantic", "free text; the default for strings", {}),
    ("string_url", "web addresses", {}),
    ("string_llm", "anything a judge should decide", {}),
    ("number_exact", "counts, amounts that must not be rounded", {}),
    ("number_tolerance", "reported values; default for numbers", {"tolerance": 0.001}),
    ("integer_exact", "years, counts; the default for integers", {}),
    ("boolean_exact", "flags; the default for booleans", {}),
    ("array_llm", "arrays, aligned item by item; the default for arrays", {}),
    ("skip", "nodes that are not scored", {}),
    ("date", "dates in any common format", {"precision": "day"}),
    ("string_normalized", "text; case, spacing, punctuation and Unicode aside", {}),
    ("set_f1", "arrays of scalars, order and repetition aside", {}),
)
#: All presets by name.
PRESETS: Mapping[str, Preset] = MappingProxyType({row[0]: Preset(*row) for row in _PRESETS})

#: Metric of a node that declares none, by JSON Schema type. Objects and nulls are not scored.
DEFAULT_METRICS: Mapping[str, str] = MappingProxyType(
    {
        "string": "string_semantic",
        "number": "number_tolerance",
        "integer": "integer_exact",
        "boolean": "boolean_exact",
        "array": "array_llm",
    }
)

#: Metrics that need an array, and those of the presets that are not made for one.
ARRAY_METRICS = frozenset({"array_llm", "set_f1"})
SCALAR_METRICS = PRESETS.keys() - ARRAY_METRICS - {"skip"}

PRESET_COLUMNS = FrameSpec(
    "presets",
    "one row per preset",
    (
        Column("preset", "string", "name to write in evaluation_config"),
        Column("metric", "string", "metric it stands for"),
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
    default_for = {metric: kind for kind, metric in DEFAULT_METRICS.items()}
    return PRESET_COLUMNS.from_rows(
        (p.name, p.metric_id, dict(p.params), default_for.get(p.name), p.use)
        for p in PRESETS.values()
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
    origin : str, optional
        Where it comes from: ``preset``, ``metric`` (named directly) or ``default`` (of the type).
    types : tuple of str, optional
        JSON types that its registration names; empty if it names none.
    """

    metric_id: str
    params: Mapping[str, Any] = field(default_factory=dict)
    weight: float = 1.0
    origin: str = "metric"
    types: tuple[str, ...] = field(default=(), compare=False)

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
        object.__setattr__(self, "skip", any(s.metric_id == "skip" for s in self.metrics))


_DEFAULTS = {
    kind: NodeConfig((MetricSpec(name, PRESETS[name].params, 1.0, "default"),))
    for kind, name in DEFAULT_METRICS.items()
}


def default_config(kind: str) -> NodeConfig | None:
    """Return the config of a node of this JSON Schema type that declares none."""
    return _DEFAULTS.get(kind)


_KEYS = ("metric_id", "params", "weight", "metrics", "aggregation_weight", "preset", "accepted")
_METRIC_KEYS = ("metric_id", "params", "weight")


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
    if "metrics" in value:
        entries = value["metrics"]
        if entries == [] and registry is None:  # extract-bench 0.1.0: nothing to score
            return NodeConfig((MetricSpec("skip"),), weight, accepted)
        if "metric_id" in value or "preset" in value:
            raise ConfigError(pointer, "has both 'metrics' and 'metric_id'; expected one of them")
        is_list = isinstance(entries, list) and bool(entries)
        _expect(is_list, entries, f"{pointer}/metrics", "a list of at least one metric")
        specs = [_spec(e, f"{pointer}/metrics/{i}", registry) for i, e in enumerate(entries)]
    elif "preset" in value:
        if registry is not None and {"params", "metric_id"} & value.keys():
            problem = "has 'preset' with 'params' or 'metric_id'; expected 'metric_id' and 'params'"
            raise ConfigError(pointer, f"{problem}, or 'preset' alone")
        specs = [_named(value["preset"], f"{pointer}/preset", registry)]
    else:
        specs = [_spec(entry if "metric_id" in entry else value, pointer, registry)]
    return NodeConfig(tuple(specs), weight, accepted)


def as_url(config: NodeConfig | None, keywords: Mapping[str, Any]) -> NodeConfig | None:
    """``format: uri`` with string_exact is compared as a URL (README of ExtractBench)."""
    if config is None or keywords.get("format") != "uri":
        return config
    if any(spec.metric_id == "string_url" for spec in config.metrics):
        return config  # whoever names both means both
    specs = tuple(
        replace(s, metric_id="string_url") if s.metric_id == "string_exact" else s
        for s in config.metrics
    )
    return replace(config, metrics=specs)


def check_types(
    config: NodeConfig | None,
    types: Collection[str],
    label: str,
    pointer: str,
    registry: Registry,
) -> None:
    """Check that each metric of a node applies to one of its types."""
    for spec in config.metrics if config is not None else ():
        applies = registry.types_of(spec.metric_id)
        allowed = {"number" if name == "integer" else name for name in applies}
        if types and allowed and "object" not in types and allowed.isdisjoint(types):
            problem = f"found {spec.metric_id!r} at a node of type {label}"
            raise ConfigError(pointer, f"{problem}; it applies to {', '.join(applies)}")


def _accepted(value: Any, pointer: str) -> tuple[tuple[Any, ...], ...]:
    """Read the lists of values that mean the same."""
    _expect(isinstance(value, list), value, pointer, "a list of lists of values")
    for i, group in enumerate(value):
        is_group = isinstance(group, list) and len(group) > 1
        expected = "a list of two or more values that mean the same"
        _expect(is_group, group, f"{pointer}/{i}", expected)
        for j, member in enumerate(group):
            is_scalar = json_type(member) not in ("object", "array", "unknown")
            expected = "a text, a number, a boolean or null"
            _expect(is_scalar, member, f"{pointer}/{i}/{j}", expected)
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
    types = _types_named_by(metric_id, "metric", f"{pointer}/metric_id", registry)
    problem = registry and registry.problem_with_params(metric_id, params)
    if problem:
        raise ConfigError(f"{pointer}/params", problem)
    weight = _weight(entry.get("weight", 1.0), f"{pointer}/weight")
    return MetricSpec(metric_id, dict(params), weight, types=types)


def _named(name: Any, pointer: str, registry: Registry | None) -> MetricSpec:
    preset = PRESETS.get(name) if isinstance(name, str) else None
    if preset is not None:
        return MetricSpec(preset.name, preset.params, 1.0, "preset")
    return MetricSpec(name, types=_types_named_by(name, "preset", pointer, registry))


def _types_named_by(
    name: Any, what: str, pointer: str, registry: Registry | None
) -> tuple[str, ...]:
    """Refuse a name that is not a metric's; return the JSON Schema types that it names."""
    if registry is None:
        _expect(isinstance(name, str) and bool(name), name, pointer, "the name of a metric")
        return ()
    if not isinstance(name, str) or name not in registry.names():
        names = {*registry.names(), *(PRESETS if what == "preset" else ())}
        raise ConfigError(pointer, f"unknown {what} {name!r}; {nearest(name, names)}")
    return registry.made_for(name)


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
