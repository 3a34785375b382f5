"""What is tried: a profile as it is, or a metric that is put on every field it applies to."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from extractbench_nb.errors import ConfigError, InputError, nearest
from extractbench_nb.inputs import read_schema
from extractbench_nb.metrics import REGISTRY
from extractbench_nb.profiles import PROFILES, Profile, get_profile
from extractbench_nb.schema.config import NodeConfig, parse_config
from extractbench_nb.schema.nodes import Children, Node, Schema
from extractbench_nb.schema.presets import PRESETS

__all__ = ["Subject", "subjects"]

_SCALARS = frozenset({"string", "number", "integer", "boolean"})


@dataclass(frozen=True)
class Subject:
    """A profile, or a metric under a profile.

    Parameters
    ----------
    metric : str or None
        The metric's label; None for a profile.
    profile : Profile
        The rules.
    config : NodeConfig or None
        The metric's rules; None for a profile.
    declared : str, mapping or None
        The ``evaluation_config`` that the user gave, to be put on single values.
    """

    metric: str | None
    profile: Profile
    config: NodeConfig | None = None
    declared: Any = field(default=None, compare=False)

    def schema(self, source: Any) -> Schema:
        """Read a schema under the rules, and put the metric on the fields it applies to."""
        schema = read_schema(source, self.profile)
        if self.config is None:
            return schema
        kinds = _kinds(self.config)
        return replace(schema, root=_with_metric(schema.root, self.config, kinds))

    @property
    def metric_ids(self) -> list[str]:
        """The ids under which the metric's rows stand in ``fields``."""
        return [] if self.config is None else [spec.metric_id for spec in self.config.metrics]


def subjects(chosen: Any, profile: str | Profile) -> list[Subject]:
    """Read what a user wants to try.

    Parameters
    ----------
    chosen : str, Profile, callable, mapping or sequence
        A profile, a metric or preset, a registered function, an ``evaluation_config``, or several.
    profile : str or Profile
        The rules for metrics.

    Returns
    -------
    list of Subject
        In the order given.

    Raises
    ------
    InputError
        A function is not registered, nothing is given, or one thing twice.
    ConfigError
        A name or config is not known.
    """
    several = isinstance(chosen, Sequence) and not isinstance(chosen, str)
    rules = get_profile(profile)
    found = [_subject(one, rules) for one in (chosen if several else [chosen])]
    if not found:
        raise InputError("metric_or_profile is empty; expected a metric, a profile, or several")
    labels = [(subject.metric, subject.profile.name) for subject in found]
    twice = [label for label in labels if labels.count(label) > 1]
    if twice:
        raise InputError(f"metric_or_profile holds {twice[0][0] or twice[0][1]!r} twice")
    return found


def _subject(one: Any, rules: Profile) -> Subject:
    if isinstance(one, Profile) or (isinstance(one, str) and one in PROFILES):
        return Subject(None, get_profile(one))
    if isinstance(one, Mapping):
        config = parse_config(dict(one), "/evaluation_config", REGISTRY)
        assert config is not None  # noqa: S101 - only null is no config
        return Subject(_label(config), rules, config, dict(one))
    name = _registered(one) if callable(one) else one
    if not isinstance(name, str) or name not in {*PRESETS, *REGISTRY.names()}:
        known = {*PRESETS, *REGISTRY.names(), *PROFILES}
        raise ConfigError(None, f"unknown metric or profile {name!r}; {nearest(name, known)}")
    return Subject(name, rules, parse_config(name, "/evaluation_config", REGISTRY), name)


def _registered(function: Callable[..., Any]) -> str:
    for entry in REGISTRY.entries.values():
        if entry.function is function:
            return entry.name
    raise InputError(f"{function!r} is not registered; decorate it with @metric")


def _label(config: NodeConfig) -> str:
    """Name a config by its metrics, with the params that it sets."""
    return " + ".join(
        spec.metric_id + (f"({_params(spec.params)})" if spec.params else "")
        for spec in config.metrics
    )


def _params(params: Mapping[str, Any]) -> str:
    return ", ".join(f"{name}={value!r}" for name, value in params.items())


def _kinds(config: NodeConfig) -> frozenset[str]:
    """Return the JSON types that all metrics of a config are meant for; numbers may be whole."""
    found = _SCALARS | {"array"}
    for spec in config.metrics:
        own = set(REGISTRY.get(spec.metric_id).applies_to)
        own = (own - {"any"}) or set(_SCALARS)
        found &= own | ({"integer"} if "number" in own else set())
    return frozenset(found)


def _with_metric(node: Node, config: NodeConfig, kinds: frozenset[str]) -> Node:
    """Return a node whose fields have the metric; what is skipped stays so."""
    if node.config is not None and node.config.skip:
        return node
    own = node.config
    if _is_meant(node, kinds):
        own = replace(config, weight=node.weight)
    elif node.kind == "union" and "array" not in kinds:
        own = None  # its branches have their own
    return replace(
        node,
        config=own,
        loaded=None,
        loader=lambda: _children_with_metric(node.children, config, kinds),
        _choices={},
    )


def _children_with_metric(below: Children, config: NodeConfig, kinds: frozenset[str]) -> Children:
    def put(node: Node) -> Node:
        return _with_metric(node, config, kinds)

    return below.mapped(put)


def _is_meant(node: Node, kinds: frozenset[str]) -> bool:
    if node.kind == "array":
        return "array" in kinds
    if node.kind != "scalar":
        return False
    if node.label.startswith("integer"):
        return "integer" in kinds
    return bool(node.types) and node.types - {"null"} <= kinds
