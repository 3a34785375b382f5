"""The thresholds of an array: which there are, and the schema of the array under other values."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from typing import NamedTuple

from extractbench_nb.alignment.similarity import pass_threshold
from extractbench_nb.metrics.registry import REGISTRY
from extractbench_nb.schema.config import MetricSpec, NodeConfig
from extractbench_nb.schema.nodes import Children, Node

__all__ = [
    "ALIGN",
    "PASS",
    "Knob",
    "Settings",
    "awaits",
    "configured",
    "settings_of",
    "thresholds_of",
    "under",
]

#: Keys of the thresholds of the array itself; those of its items have their fields.
ALIGN, PASS = "align_threshold", "pass_threshold"
_ARRAY_METRIC = "array_llm"


class Knob(NamedTuple):
    """A threshold that can be changed: the param of one metric of one field.

    ``key`` is what people call it: ``align_threshold``, ``pass_threshold``, or the item's field.
    """

    key: str
    field: str
    metric: str
    param: str
    declared: float


#: Values by field, metric and param.
Settings = Mapping[tuple[str, str, str], float]


def thresholds_of(array: Node) -> list[Knob]:
    """List the thresholds that decide what becomes of the items of an array.

    Parameters
    ----------
    array : Node
        The array's node.

    Returns
    -------
    list of Knob
        First the array's own, then those of its items' fields in schema order. Where a field has
        several metrics with a threshold, the key of each names the metric too.
    """
    own = [
        Knob(key, array.field, _ARRAY_METRIC, key, pass_threshold(array, key, default))
        for key, default in ((ALIGN, 0.5), (PASS, 0.7))
        if _ARRAY_METRIC in _metric_ids(array)
    ]
    found: dict[tuple[str, str], Knob] = {}
    for node in _below(array):
        for knob in _knobs(node):
            found.setdefault((knob.field, knob.metric), knob)
    names = Counter(field for field, _ in found)
    named = [
        knob if names[knob.field] == 1 else knob._replace(key=f"{knob.field} {knob.metric}")
        for knob in found.values()
    ]
    return own + named


def _metric_ids(node: Node) -> list[str]:
    return [spec.metric_id for spec in node.config.metrics] if node.config is not None else []


def _below(array: Node) -> Iterator[Node]:
    """Walk the nodes below an array; a recursive reference is not unfolded."""
    stack = list(reversed(list(array.children)))
    while stack:
        node = stack.pop()
        if node.config is not None and node.config.skip:
            continue
        yield node
        if not node.recursive:
            stack.extend(reversed(list(node.children)))


def _knobs(node: Node) -> Iterator[Knob]:
    for spec in node.config.metrics if node.config is not None else ():
        entry = REGISTRY.entries.get(spec.metric_id)
        param = PASS if spec.metric_id == _ARRAY_METRIC else entry and entry.threshold
        if entry is not None and param:
            yield Knob(node.field, node.field, spec.metric_id, param, _mark(spec, param))


def _mark(spec: MetricSpec, param: str) -> float:
    default = REGISTRY.entries[spec.metric_id].defaults.get(param, 0.7)
    value = spec.params.get(param, default)
    return float(value) if isinstance(value, int | float) else float(default)


def awaits(array: Node) -> bool:
    """Whether a metric of the items must be awaited: to run it again may cost something."""
    entries = (REGISTRY.entries.get(name) for node in _below(array) for name in _metric_ids(node))
    return any(entry is not None and entry.is_async for entry in entries)


def settings_of(knobs: Iterable[Knob], values: Mapping[str, float]) -> Settings:
    """Return the values of thresholds, given by key, by field, metric and param."""
    return {(k.field, k.metric, k.param): values[k.key] for k in knobs if k.key in values}


def configured(node: Node, settings: Settings) -> NodeConfig | None:
    """Return the config of a node with its thresholds set; the same one where none is."""
    config = node.config
    if config is None:
        return None
    params = [
        {p: v for (field, metric, p), v in settings.items() if (field, metric) == at}
        for at in ((node.field, spec.metric_id) for spec in config.metrics)
    ]
    if not any(params):
        return config
    specs = (
        replace(spec, params={**spec.params, **changed})
        for spec, changed in zip(config.metrics, params, strict=True)
    )
    return replace(config, metrics=tuple(specs))


def under(node: Node, settings: Settings) -> Node:
    """Return a node whose thresholds, and those of all below it, are set.

    Parameters
    ----------
    node : Node
        The array's node.
    settings : mapping
        Values by field, metric and param.

    Returns
    -------
    Node
        A copy; what is below it is copied when it is first asked for.
    """
    return replace(
        node,
        config=configured(node, settings),
        loaded=None,
        loader=lambda: _children(node.children, settings),
        _choices={},
    )


def _children(below: Children, settings: Settings) -> Children:
    return below.mapped(lambda child: under(child, settings))
