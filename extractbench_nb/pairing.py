"""Pairing a gold value with a predicted one, down to the leaves and arrays of the schema."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from functools import cache
from typing import Any, NamedTuple

from extractbench_nb._json import bracketed, json_type
from extractbench_nb.schema.config import NodeConfig, parse_config
from extractbench_nb.schema.nodes import Node
from extractbench_nb.schema.presets import PRESETS
from extractbench_nb.values import BROKEN, MISFIT, MISSING, Unusable

__all__ = ["EMPTY_MAP", "Point", "is_map_of_arrays", "pair_up", "resolve_union"]


class Point(NamedTuple):
    """A place where two values meet and a score is due: a leaf or an array.

    ``suffix`` is the path from where pairing began; it is the same on both sides.
    """

    node: Node
    gold: Any
    predicted: Any
    suffix: str


def pair_up(
    node: Node,
    gold: Any,
    predicted: Any,
    *,
    released: bool = False,
    inherit: bool = False,
) -> list[Point]:
    """Pair a gold value with a predicted one, down to the leaves and arrays of the schema.

    Parameters
    ----------
    node : Node
        The schema node both stand at.
    gold, predicted : object
        The values; `MISSING` where the key is absent.
    released : bool, optional
        Pair as the published package does: nothing is compared below an object that is null on
        either side, nor in an ``anyOf`` without its own metric.
    inherit : bool, optional
        Where pairing as the package does: an ``anyOf`` without a metric takes the one that its
        branches agree on, with the params of its preset. A branch that declares none stands for
        the metric of its type; null, skipped branches and those of several metrics have no say.

    Returns
    -------
    list of Point
        In schema order. Arrays are one point each; what is in them is a matter of alignment.
    """
    points: list[Point] = []
    if released:
        _ReleasedPairing(points, inherit).collect(node, gold, predicted, "")
    else:
        _collect(points, node, gold, predicted, "")
    return points


def _collect(points: list[Point], node: Node, gold: Any, predicted: Any, suffix: str) -> None:
    if node.kind == "union":
        node = resolve_union(node, gold, predicted)
    if node.config is not None and node.config.skip:
        return
    kind = node.kind
    whole = kind == "object" and node.config is not None
    if whole:
        points.append(Point(node.itself, gold, predicted, suffix))
    if kind == "object" and (gold is MISSING or gold is None or isinstance(gold, dict)):
        _collect_object(points, node, gold, predicted, suffix)
    elif kind != "null" and not whole:
        points.append(Point(node, gold, predicted, suffix))


def _collect_object(
    points: list[Point], node: Node, gold: Any, predicted: Any, suffix: str
) -> None:
    below = node.children
    has_gold, has_predicted = isinstance(gold, dict), isinstance(predicted, dict)
    if node.recursive and not has_gold and not has_predicted:
        return
    ours = gold if has_gold else _NOTHING
    theirs = predicted if has_predicted else _NOTHING
    rest = MISSING if has_predicted else _below_broken(node, predicted)
    lack = None if gold is None else MISSING  # below null everything is null
    for name, child in below.properties.items():
        one, two = ours.get(name, lack), theirs.get(name, rest)
        _collect(points, child, one, two, suffix + child.step)
    if below.additional is not None:
        for key in dict.fromkeys((*ours, *theirs)):
            if key not in below.properties:
                one, two = ours.get(key, lack), theirs.get(key, rest)
                step = bracketed(str(key))
                _collect(points, below.additional, one, two, suffix + step)


class _ReleasedPairing:
    """Pairs as the published package does.

    A union is a place of its own where it has a metric, else it is left out. Below a nullable
    object that is null on either side nothing is compared, and all of it passes. A map without
    entries is one place, where both sides are absent.
    """

    def __init__(self, points: list[Point], inherit: bool) -> None:
        self.points = points
        self.inherit = inherit

    def collect(self, node: Node, gold: Any, predicted: Any, suffix: str) -> None:
        if node.kind == "union" or (node.kind not in _CONTAINERS and _has_alternatives(node)):
            config = _own_or_agreed(node, self.inherit)
            if config is not None and not config.skip:
                whole = _whole_union(_with_config(node, config), gold, predicted)
                self.points.append(Point(whole, gold, predicted, suffix))
        elif node.kind == "object" and (gold is MISSING or gold is None or isinstance(gold, dict)):
            if node.config is not None and not node.config.skip:
                self.points.append(Point(node.itself, gold, predicted, suffix))
            hidden = node.nullable and (gold is None or predicted is None)
            ours, theirs = (None, None) if hidden else (gold, predicted)
            for child, step, one, two in _released_children(node, ours, theirs):
                self.collect(child, one, two, suffix + step)
        else:
            _collect(self.points, node, gold, predicted, suffix)


def _own_or_agreed(node: Node, inherit: bool) -> NodeConfig | None:
    """Return the config that a union declares, or the one that its branches agree on."""
    if node.declared:
        return node.config
    if not inherit:
        return None
    if node.kind != "union":  # a list of types in which one is not null
        return node.config if _has_type_list(node) else None
    votes = {}
    for branch in node.children.branches:
        config = _vote(branch)
        if config is not None and not config.skip and len(config.metrics) == 1:
            votes[config.metrics[0].metric_id] = config
    if len(votes) != 1:
        return None
    ((metric_id, config),) = votes.items()
    return _of_preset(metric_id) or config


def _vote(branch: Node) -> NodeConfig | None:
    return _own_or_agreed(branch, inherit=True) if branch.kind == "union" else branch.config


@cache
def _of_preset(metric_id: str) -> NodeConfig | None:
    return parse_config(metric_id, "", None) if metric_id in PRESETS else None


def _with_config(node: Node, config: NodeConfig) -> Node:
    return node if config is node.config else replace(node, config=config, _choices={})


def _released_children(
    node: Node, gold: Any, predicted: Any
) -> Iterator[tuple[Node, str, Any, Any]]:
    below = node.children
    ours, theirs = (side if isinstance(side, dict) else _NOTHING for side in (gold, predicted))
    lack = None if gold is None else MISSING  # below null everything is null
    rest = MISSING if isinstance(predicted, dict) else _below_broken(node, predicted)
    if node.recursive and not ours and not theirs:
        return
    for name, child in below.properties.items():
        yield child, child.step, ours.get(name, lack), theirs.get(name, rest)
    if below.additional is not None:
        keys = dict.fromkeys(k for k in (*ours, *theirs) if k not in below.properties)
        for key in keys:
            step = bracketed(str(key))
            yield below.additional, step, ours.get(key, lack), theirs.get(key, rest)
        if not keys:
            yield below.additional, EMPTY_MAP, None, None


#: Stands for the key of a map that has none, where that is a place of its own.
EMPTY_MAP = "[*]"
_ALTERNATIVES = {"anyOf", "oneOf"}
_CONTAINERS = ("object", "array")


def _has_alternatives(node: Node) -> bool:
    return bool(_ALTERNATIVES & node.keywords.keys()) or _has_type_list(node)


def _has_type_list(node: Node) -> bool:
    return isinstance(node.keywords.get("type"), list)


def _whole_union(node: Node, gold: Any, predicted: Any) -> Node:
    """Return a union as one value of any type; only where an array is due is there more to do."""
    due = isinstance(gold, list | dict) and predicted is not MISSING and predicted is not None
    if due and node.kind == "union" and _aligned_as_array(node):
        return resolve_union(node, gold, predicted)
    return node.whole


_NOTHING: dict[str, Any] = {}


def _below_broken(node: Node, predicted: Any) -> Any:
    if predicted is MISSING or predicted is None or isinstance(predicted, Unusable):
        return predicted
    return MISFIT if json_type(predicted) in node.types else BROKEN


def resolve_union(node: Node, gold: Any, predicted: Any) -> Node:
    """Return the node that a union is for these values.

    Parameters
    ----------
    node : Node
        A union.
    gold, predicted : object
        The first branch that gold fits decides, else predicted; else the first that is not null.

    Returns
    -------
    Node
        At the union's own path. A map of arrays under an array metric comes back as an array of
        its (key, item) pairs.
    """
    while node.kind == "union":
        value = gold if gold is not MISSING and gold is not None else predicted
        index = _branch_index(node, value)
        chosen = node.choose(index)
        if chosen.kind == "object" and _aligned_as_array(node) and is_map_of_arrays(chosen):
            return node.choose_flattened(index)
        node = chosen
    return node


def _aligned_as_array(node: Node) -> bool:
    return node.config is not None and node.config.metrics[0].metric_id == "array_llm"


def is_map_of_arrays(node: Node) -> bool:
    """Whether a node is an object whose only content is a map from keys to arrays."""
    below = node.children
    values = below.additional
    return not below.properties and values is not None and values.kind == "array"


def _branch_index(node: Node, value: Any) -> int:
    branches = node.children.branches
    if value is not MISSING and value is not None and not isinstance(value, Unusable):
        for fits in (_fits_fully, _fits_type):
            for index, branch in enumerate(branches):
                if fits(branch, value):
                    return index
    return next((i for i, b in enumerate(branches) if b.kind != "null"), 0)


def _fits_type(branch: Node, value: Any) -> bool:
    return branch.kind == "any" or json_type(value) in branch.types


def _fits_fully(branch: Node, value: Any) -> bool:
    """Type, enum, const and whole numbers; for objects also required, unknown and constant keys."""
    if not _fits_type(branch, value):
        return False
    if branch.kind == "union":
        return any(_fits_fully(b, value) for b in branch.children.branches)
    words = branch.keywords
    if "const" in words and words["const"] != value:
        return False
    if isinstance(words.get("enum"), list) and value not in words["enum"]:
        return False
    if branch.label.startswith("integer"):
        return isinstance(value, int) or float(value).is_integer()
    return branch.kind != "object" or _object_fits(branch, value)


def _object_fits(branch: Node, value: dict[str, Any]) -> bool:
    below = branch.children
    if any(child.required and name not in value for name, child in below.properties.items()):
        return False
    if below.additional is None and any(key not in below.properties for key in value):
        return False
    return all(
        child.keywords.get("const", value[name]) == value[name]
        for name, child in below.properties.items()
        if name in value
    )
