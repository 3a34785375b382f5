"""Complexity of a schema: keys and depth, as in Table 1 of the ExtractBench paper."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from extractbench_nb.core.schema import Node, SchemaSource, parse_schema


class SchemaComplexity(NamedTuple):
    """Scored leaves of a schema, and the deepest nesting of a node; the root has depth 0."""

    keys: int
    depth: int


def schema_complexity(schema: SchemaSource) -> SchemaComplexity:
    """Return the number of keys of a schema and the depth of its deepest node.

    Examples
    --------
    >>> tags = {"type": "array", "items": {"type": "string"}}
    >>> date = {"anyOf": [{"type": "string"}, {"type": "integer"}, {"type": "null"}]}
    >>> schema_complexity({"type": "object", "properties": {"tags": tags, "date": date}})
    SchemaComplexity(keys=2, depth=2)
    """
    nodes = list(parse_schema(schema).nodes())
    return SchemaComplexity(_count(nodes), max(node.depth for node in nodes))


def keys_outside_arrays(schema: SchemaSource) -> int:
    """Count the keys of a schema that are outside all arrays.

    Examples
    --------
    >>> tags = {"type": "array", "items": {"type": "string"}}
    >>> keys_outside_arrays({"type": "object", "properties": {"tags": tags, "date": {}}})
    1
    """
    return _count(list(parse_schema(schema).nodes()), into_arrays=False)


def _count(nodes: list[Node], *, into_arrays: bool = True) -> int:
    """Return the number of keys of the first node; in `nodes` parents come before children."""
    keys: dict[int, int] = {}
    for node in reversed(nodes):
        left_out = not into_arrays and _is_array(node)
        keys[id(node)] = 0 if left_out else _keys(node, keys)
    return keys[id(nodes[0])]


def _is_array(node: Node) -> bool:
    """Whether a node is an array wherever it is not null."""
    if node.kind != "union":
        return node.kind == "array"
    branches = [b.kind for b in node.children.branches if b.kind != "null"]
    return bool(branches) and set(branches) == {"array"}


def _keys(node: Node, counted: Mapping[int, int]) -> int:
    if node.config is not None and node.config.skip:
        return 0
    items = node.children.items
    if isinstance(node.keywords.get("items"), Mapping):
        items = None  # declared, as the other children are
    children = (child for child in node.children if items is None or child is not items)
    below = [counted[id(child)] for child in children if id(child) in counted]
    if node.recursive and not below:  # not unfolded again
        return 0
    keys = max(below, default=0) if node.kind == "union" else sum(below)
    return keys or int(node.config is not None or node.kind in _SCORED_WITHOUT_CONFIG)


#: Values of any type are scored by the type they have.
_SCORED_WITHOUT_CONFIG = ("any",)
