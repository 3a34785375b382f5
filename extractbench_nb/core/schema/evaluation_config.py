"""``evaluation_config``: its three forms, parsed into `NodeConfig`.

The forms are a preset name, ``{"metric_id", "params"}`` and ``{"metrics": [{"metric_id",
"weight", "params"}], "aggregation_weight"}`` (appendix C of the ExtractBench paper, and its
README). An object may have ``accepted``, our addition: lists of scalars that mean the same in the
field, ``[["USA", "United States"]]``; alone, it keeps the default metric. A metric's own name is
accepted wherever a preset's is, so that a user's metric needs no preset.
"""

from __future__ import annotations

from collections.abc import Collection, Hashable, Iterable, Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any, NamedTuple, Protocol

import pandas as pd

from extractbench_nb.core.field_metrics.registry import REGISTRY, Metric
from extractbench_nb.core.frames import Column, FrameSpec
from extractbench_nb.core.values.json_values import equality_key, json_type
from extractbench_nb.errors import ConfigError, nearest


class Preset(NamedTuple):
    """A named metric with its parameters (Table 4 of the ExtractBench paper, and its README)."""

    metric_id: str
    params: Mapping[str, Any]
    use: str


#: All presets by name, which is that of their metric.
PRESETS: Mapping[str, Preset] = MappingProxyType(
    {
        name: Preset(name, MappingProxyType(entry.preset), entry.use)
        for name, entry in REGISTRY.built_in.items()
        if entry.use
    }
)

#: Metric of a node that declares none, by JSON Schema type. Objects and nulls are not scored.
DEFAULT_METRICS: Mapping[str, str] = MappingProxyType(
    {e.default_for: name for name, e in REGISTRY.built_in.items() if e.default_for is not None}
)
#: The metric of nodes that are not scored.
SKIP = REGISTRY.built_in_that("skips").name

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
        (name, preset.metric_id, dict(preset.params), default_for.get(name), preset.use)
        for name, preset in PRESETS.items()
    )


_KEYS = ("metric_id", "params", "weight", "metrics", "aggregation_weight", "preset", "accepted")
_METRIC_KEYS = ("metric_id", "params", "weight")


class MetricCatalogue(Protocol):
    """What the schema asks of the registry: which names exist, which params are right."""

    def names(self) -> Iterable[str]:
        """Return the names of all registered metrics."""
        ...

    def takes_objects(self, metric_id: str) -> bool:
        """Say whether a metric can be asked about an object as a whole."""
        ...

    def types_of(self, metric_id: str) -> tuple[str, ...]:
        """Return the JSON Schema types that a metric applies to; none where to all."""
        ...

    def made_for(self, metric_id: str) -> tuple[str, ...]:
        """Return the JSON Schema types that a metric names; it may compare others as well."""
        ...

    def problem_with_params(self, metric_id: str, params: Mapping[str, Any]) -> str | None:
        """Say what is wrong with a metric's params, or return None."""
        ...

    def config_of(self, metric: Any) -> Any:
        """Return the ``evaluation_config`` of a name, a function or a config."""
        ...

    def version(self) -> Hashable:
        """Return what is another one once a metric is added, replaced or taken out."""
        ...


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

    @property
    def entry(self) -> Metric:
        """What the metric of this name declares; `UNKNOWN` if there is none (any more)."""
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


_DEFAULTS = {
    kind: NodeConfig((MetricSpec(name, PRESETS[name].params, 1.0, "default"),))
    for kind, name in DEFAULT_METRICS.items()
}


def default_config(kind: str) -> NodeConfig | None:
    """Return the config of a node of this JSON Schema type that declares none."""
    return _DEFAULTS.get(kind)


def parse_config(
    value: Any,
    pointer: str,
    catalogue: MetricCatalogue | None,
    default: NodeConfig | None = None,
) -> NodeConfig | None:
    """Read one ``evaluation_config``; `default` is for one that names no metric."""
    if value is None:
        return None
    if isinstance(value, str):
        return NodeConfig((_named(value, pointer, catalogue),))
    if not isinstance(value, Mapping):
        expected = "expected a preset name or an object with 'metric_id'"
        raise ConfigError(pointer, f"found {value!r}; {expected}")
    _check_keys(value, _KEYS, pointer)
    accepted = _accepted(value["accepted"], f"{pointer}/accepted") if "accepted" in value else ()
    weight = _weight(value.get("aggregation_weight", 1.0), f"{pointer}/aggregation_weight")
    if default is not None and value and set(value) <= {"accepted", "aggregation_weight"}:
        return NodeConfig(default.metrics, weight, accepted)
    if "metrics" in value:
        entries = value["metrics"]
        if entries == [] and catalogue is None:  # the published package: nothing to score
            return NodeConfig((MetricSpec(SKIP),), weight, accepted)
        if "metric_id" in value or "preset" in value:
            raise ConfigError(pointer, "has both 'metrics' and 'metric_id'; expected one of them")
        if not isinstance(entries, list) or not entries:
            problem = f"found {entries!r}; expected a list of at least one metric"
            raise ConfigError(f"{pointer}/metrics", problem)
        specs = [_spec(e, f"{pointer}/metrics/{i}", catalogue) for i, e in enumerate(entries)]
    elif "preset" in value:
        if catalogue is not None and {"params", "metric_id"} & set(value):
            problem = "has 'preset' with 'params' or 'metric_id'; expected 'metric_id' and 'params'"
            raise ConfigError(pointer, f"{problem}, or 'preset' alone")
        specs = [_named(value["preset"], f"{pointer}/preset", catalogue)]
    else:
        entry = {k: v for k, v in value.items() if k not in ("accepted", "aggregation_weight")}
        specs = [_spec(entry if "metric_id" in entry else value, pointer, catalogue)]
    return NodeConfig(tuple(specs), weight, accepted)


def check_types(
    config: NodeConfig | None,
    types: Collection[str],
    label: str,
    pointer: str,
    catalogue: MetricCatalogue,
) -> None:
    """Check that each metric of a node applies to one of its types."""
    for spec in config.metrics if config is not None else ():
        applies = catalogue.types_of(spec.metric_id)
        known = {"number" if name == "integer" else name for name in applies}
        if types and known and "object" not in types and known.isdisjoint(types):
            problem = f"found {spec.metric_id!r} at a node of type {label}"
            raise ConfigError(pointer, f"{problem}; it applies to {', '.join(applies)}")


def _accepted(value: Any, pointer: str) -> tuple[tuple[Any, ...], ...]:
    """Read the lists of values that mean the same."""
    if not isinstance(value, list):
        raise ConfigError(pointer, f"found {value!r}; expected a list of lists of values")
    for i, members in enumerate(value):
        if not isinstance(members, list) or len(members) <= 1:
            problem = "expected a list of two or more values that mean the same"
            raise ConfigError(f"{pointer}/{i}", f"found {members!r}; {problem}")
        for j, member in enumerate(members):
            if json_type(member) not in ("string", "number", "boolean", "null"):
                problem = f"found {member!r}; expected a text, a number, a boolean or null"
                raise ConfigError(f"{pointer}/{i}/{j}", problem)
    flat = [member for members in value for member in members]
    keys = list(map(equality_key, flat))
    twice = next((n for n, key in enumerate(keys) if key in keys[:n]), None)
    if twice is not None:
        raise ConfigError(pointer, f"has {flat[twice]!r} twice; expected each value once")
    return tuple(map(tuple, value))


def _named(name: Any, pointer: str, catalogue: MetricCatalogue | None) -> MetricSpec:
    """Read the name of a preset or of a metric."""
    preset = PRESETS.get(name) if isinstance(name, str) else None
    if preset is not None:
        return MetricSpec(preset.metric_id, preset.params, 1.0, "preset")
    types = _checked_types(name, "preset", pointer, catalogue)
    return MetricSpec(name, types=types)


def _spec(entry: Any, pointer: str, catalogue: MetricCatalogue | None) -> MetricSpec:
    if isinstance(entry, str):
        return _named(entry, pointer, catalogue)
    if not isinstance(entry, Mapping) or "metric_id" not in entry:
        raise ConfigError(pointer, f"found {entry!r}; expected an object with 'metric_id'")
    _check_keys(entry, _METRIC_KEYS, pointer)
    metric_id, params = entry["metric_id"], entry.get("params")
    params = {} if params is None else params
    if not isinstance(params, Mapping):
        raise ConfigError(f"{pointer}/params", f"found {params!r}; expected an object of params")
    types = _checked_types(metric_id, "metric", f"{pointer}/metric_id", catalogue)
    problem = catalogue and catalogue.problem_with_params(metric_id, params)
    if problem:
        raise ConfigError(f"{pointer}/params", problem)
    weight = _weight(entry.get("weight", 1.0), f"{pointer}/weight")
    return MetricSpec(metric_id, dict(params), weight, types=types)


def _checked_types(
    name: Any, what: str, pointer: str, catalogue: MetricCatalogue | None
) -> tuple[str, ...]:
    """Refuse a name that is not a metric's; return the JSON Schema types that it names."""
    if catalogue is not None and (not isinstance(name, str) or name not in catalogue.names()):
        known = {*catalogue.names(), *(PRESETS if what == "preset" else ())}
        raise ConfigError(pointer, f"unknown {what} {name!r}; {nearest(name, known)}")
    if not isinstance(name, str) or not name:
        raise ConfigError(pointer, f"found {name!r}; expected the name of a metric")
    return catalogue.made_for(name) if catalogue is not None else ()


def _check_keys(value: Mapping[str, Any], known: Iterable[str], pointer: str) -> None:
    for key in value:
        if key not in known:
            raise ConfigError(pointer, f"unknown key {key!r}; {nearest(key, known)}")


def _weight(value: Any, pointer: str) -> float:
    number = isinstance(value, int | float) and not isinstance(value, bool)
    if not number or not 0 <= value < float("inf"):
        raise ConfigError(pointer, f"found {value!r}; expected a number that is 0 or more")
    return float(value)
