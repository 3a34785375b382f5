"""Accepted alternatives: other readings of a gold value that are right too.

A `Place` is where gold has alternatives, seen from its entry: the document, or the innermost array
item around it. `Alternatives` finds the places of an entry.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from extractbench_nb._json import BRACKETED, equality_key, member
from extractbench_nb.schema.nodes import MISSING, Node

if TYPE_CHECKING:
    pass

#: The keys and indices that lead to a value.
Steps = tuple[str | int, ...]


class Place(NamedTuple):
    """A place with alternatives below an entry, by its path from there.

    ``values`` are the alternatives; ``readings`` the entry with each of them in the place.
    """

    suffix: str
    values: tuple[Any, ...]
    readings: tuple[Any, ...]

    def holds(self, suffix: str) -> bool:
        """Whether a path from the entry is that of the place or below it."""
        return is_below(normal_path(suffix), self.suffix)


def is_below(path: str, place: str) -> bool:
    """Whether a path is a place or below it."""
    return path.startswith(place) and path[len(place) : len(place) + 1] in ("", ".", "[")


def normal_path(path: str) -> str:
    """Write the keys of maps as those of properties: ``['key']`` becomes ``.key``."""
    if "['" not in path:
        return path
    return BRACKETED.sub(lambda m: member(re.sub(r"\\(.)", r"\1", m[1], flags=re.DOTALL)), path)


class Item:
    """An item of gold with places, as alignments see it; compared by identity."""

    __slots__ = ("places", "value")

    def __init__(self, value: Any, places: Sequence[Place]) -> None:
        self.value, self.places = value, places


def plain(items: Sequence[Any]) -> list[Any]:
    """Return items as gold has them."""
    return [item.value if type(item) is Item else item for item in items]


class Alternatives:
    """The alternatives of one gold document.

    Parameters
    ----------
    gold : object
        The document; no container in it may be there twice, and it must outlive this object.
    values : mapping
        The alternatives by the steps of their place, in the order of preference.
    """

    def __init__(self, gold: Any, values: Mapping[Steps, Sequence[Any]]) -> None:
        self.root: list[Place] = []
        self._items: dict[int, dict[int, list[Place]]] = {}
        self._wrapped: dict[int, list[Any]] = {}
        self._kept: list[Any] = []
        for steps in sorted(values, key=len):  # outer places before inner ones
            at = max((n for n, step in enumerate(steps) if isinstance(step, int)), default=-1)
            entry, places = gold, self.root
            for number, step in enumerate(steps[: at + 1]):
                if number == at and isinstance(step, int):
                    places = self._items.setdefault(id(entry), {}).setdefault(step, [])
                entry = entry[step]
            places.append(_place(entry, [str(key) for key in steps[at + 1 :]], values[steps]))

    def of_items(self, array: Any) -> dict[int, list[Place]]:
        """Return the places in the items of an array, or of a map of arrays, by position."""
        if not isinstance(array, dict):
            return self._items.get(id(array), {})
        found, start = {}, 0
        for inner in array.values():
            places = self._items.get(id(inner), {})
            found.update({start + index: some for index, some in places.items()})
            start += len(inner) if isinstance(inner, list) else inner is not None
        return found

    def wrapped(self, items: Sequence[Any]) -> Sequence[Any]:
        """Return gold's items with an `Item` for each that has places; the same list each time."""
        places = self._items.get(id(items))
        if not places:
            return items
        if id(items) not in self._wrapped:
            self._kept.append(items)
            found = [Item(v, places[i]) if i in places else v for i, v in enumerate(items)]
            self._wrapped[id(items)] = found
        return self._wrapped[id(items)]


def _place(entry: Any, keys: list[str], values: Sequence[Any]) -> Place:
    readings = tuple(_put(entry, keys, value) for value in values)
    return Place("".join(map(member, keys)), tuple(values), readings)


def _put(value: Any, keys: list[str], new: Any) -> Any:
    """Return a copy of a value with another one below these keys."""
    return {**value, keys[0]: _put(value.get(keys[0]), keys[1:], new)} if keys else new


def class_members(node: Node, gold: Any) -> tuple[Any, ...]:
    """Return the other values that the schema declares to mean the same as gold's at a node."""
    config = node.config
    if config is None or not config.accepted or isinstance(gold, dict | list):
        return ()
    own = equality_key(None if gold is MISSING else gold)
    for members in config.accepted:
        keys = [equality_key(value) for value in members]
        if own in keys:
            return tuple(v for v, key in zip(members, keys, strict=True) if key != own)
    return ()
