"""The places of a document that its schema declares, found in a copy that may be changed.

Nothing here recurses, so that a document may be nested as deep as memory allows.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import cached_property
from typing import Any, NamedTuple

from extractbench_nb._json import bracketed
from extractbench_nb.pairing import resolve_union
from extractbench_nb.records import item_node
from extractbench_nb.schema.nodes import Node
from extractbench_nb.values import MISSING

__all__ = ["Document", "Place", "copied"]


def copied(value: Any) -> Any:
    """Copy a JSON value of any depth; mappings become dicts, sequences lists."""
    holder = [value]
    stack: list[tuple[Any, Any]] = [(holder, 0)]
    while stack:
        box, key = stack.pop()
        part = box[key]
        if isinstance(part, Mapping):
            box[key] = own = dict(part)
            stack.extend((own, name) for name in own)
        elif isinstance(part, list | tuple):
            box[key] = items = list(part)
            stack.extend((items, i) for i in range(len(items)))
    return holder[0]


class Place(NamedTuple):
    """A place in a document: its path, its schema, and what it is a member or an item of."""

    path: str
    node: Node
    box: Any
    key: Any
    above: Place | None

    @property
    def value(self) -> Any:
        """What stands there now; None also where nothing does."""
        return self.box.get(self.key) if isinstance(self.box, dict) else self.box[self.key]

    def put(self, value: Any) -> None:
        """Write a value there."""
        self.box[self.key] = value

    def item(self, index: int) -> Place:
        """Return the place of an array's item."""
        node = item_node(self.node, index) or self.node
        return Place(f"{self.path}[{index}]", node, self.value, index, self)


class Document:
    """A copy of a document, with the places that its schema declares and scores.

    Places under ``skip``, keys that the schema does not know, and values of no declared type are
    left out.

    Parameters
    ----------
    root : Node
        The schema.
    value : object
        The document; it is copied.
    """

    def __init__(self, root: Node, value: Any) -> None:
        self._holder = [copied(value)]
        self.places = list(_walk(Place("$", root, self._holder, 0, None)))

    @property
    def value(self) -> Any:
        """The document as it is now."""
        return self._holder[0]

    @cached_property
    def leaves(self) -> list[Place]:
        """Scalars that are not null and have a declared type or metric, in document order."""
        return [p for p in self.places if _is_leaf(p.value) and not _is_unscored(p.node)]

    @cached_property
    def arrays(self) -> list[Place]:
        """Arrays whose items have one schema, outer before inner."""
        return [
            p
            for p in self.places
            if p.node.kind == "array" and isinstance(p.value, list) and not p.node.children.prefix
        ]

    @cached_property
    def objects(self) -> list[Place]:
        """Objects, outer before inner."""
        return [p for p in self.places if p.node.kind == "object" and isinstance(p.value, dict)]

    @cached_property
    def absent(self) -> list[Place]:
        """Declared properties of objects that are there, but are null, empty or have no key."""
        found = []
        for place in self.objects:
            for name, child in place.node.children.properties.items():
                scored = not (_is_skipped(child) or _is_unscored(child) or child.kind == "null")
                if scored and place.value.get(name) in (None, []):
                    found.append(Place(place.path + child.step, child, place.value, name, place))
        return found


def _walk(start: Place) -> Iterator[Place]:
    stack = [start]
    while stack:
        place = stack.pop()
        if place.node.kind == "union":
            place = place._replace(node=resolve_union(place.node, place.value, MISSING))
        if not _is_skipped(place.node):
            yield place
            stack.extend(reversed(list(_below(place))))


def _below(place: Place) -> Iterator[Place]:
    value, node = place.value, place.node
    if isinstance(value, dict):
        if node.flattened:
            for key, part in value.items():
                if isinstance(part, list):
                    yield Place(place.path + bracketed(str(key)), node, value, key, place)
        elif node.kind == "object":
            yield from _members(place)
    elif isinstance(value, list) and node.kind == "array":
        for i in range(len(value)):
            if item_node(node, i) is not None:
                yield place.item(i)


def _members(place: Place) -> Iterator[Place]:
    below, value = place.node.children, place.value
    for key in value:
        if key in below.properties:
            child = below.properties[key]
            yield Place(place.path + child.step, child, value, key, place)
        elif (entry := below.entry(key)) is not None:
            yield Place(place.path + bracketed(key), entry, value, key, place)


def _is_leaf(value: Any) -> bool:
    return value is not None and not isinstance(value, dict | list)


def _is_skipped(node: Node) -> bool:
    return node.config is not None and node.config.skip


def _is_unscored(node: Node) -> bool:
    return node.kind == "any" and node.config is None
