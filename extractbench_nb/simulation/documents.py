"""Documents to corrupt: their places, random draws, and values of other documents."""

from __future__ import annotations

import random
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from hashlib import blake2b
from typing import Any, NamedTuple, TypeVar

from extractbench_nb.core import resolve_union
from extractbench_nb.core.schema import MISSING, Node
from extractbench_nb.core.values import bracketed, json_text, scalars

T = TypeVar("T")

_BYTES = 8
_ALL = 2.0 ** (8 * _BYTES)
_TRIES = 20


def generator(text: str) -> random.Random:
    """Return a generator that is seeded with a text; any text, lone surrogates included."""
    return random.Random(_number(text))


def _number(text: str) -> int:
    digest = blake2b(text.encode("utf-8", "surrogatepass"), digest_size=_BYTES)
    return int.from_bytes(digest.digest())


def some(found: Sequence[T], share: float, rng: random.Random) -> list[T]:
    """Choose a share of what was found, at least one, in order."""
    order = rng.sample(range(len(found)), len(found))
    count = max(1, round(share * len(found)))
    return [found[i] for i in sorted(order[:count])]


def copied(value: Any) -> Any:
    """Copy a JSON value of any depth; mappings become dicts, sequences lists."""
    holder = [value]
    stack: list[tuple[Any, Any]] = [(holder, 0)]
    while stack:
        box, key = stack.pop()
        part = box[key]
        if isinstance(part, Mapping):
            box[key] = members = dict(part)
            stack.extend((members, name) for name in members)
        elif isinstance(part, list | tuple):
            box[key] = items = list(part)
            stack.extend((items, i) for i in range(len(items)))
    return holder[0]


class Place(NamedTuple):
    """A place in a document: its path, its schema, its container and its key in it."""

    path: str
    node: Node
    box: Any
    key: Any

    @property
    def value(self) -> Any:
        """The value there now; None also if there is none."""
        return self.box.get(self.key) if isinstance(self.box, dict) else self.box[self.key]

    def put(self, value: Any) -> None:
        """Write a value there."""
        self.box[self.key] = value

    def item(self, index: int) -> Place:
        """Return the place of an array's item."""
        node = self.node.item(index) or self.node
        return Place(f"{self.path}[{index}]", node, self.value, index)

    def below(self) -> Iterator[Place]:
        """Yield the places of items and members that the schema declares."""
        value, node = self.value, self.node
        if isinstance(value, list) and node.kind == "array":
            yield from (self.item(i) for i in range(len(value)) if node.item(i) is not None)
        for key, part in value.items() if isinstance(value, dict) else ():
            if node.flattened:
                if isinstance(part, list):
                    yield Place(self.path + bracketed(str(key)), node, value, key)
            elif node.kind == "object" and (child := node.children.properties.get(key)) is not None:
                yield Place(self.path + child.step, child, value, key)
            elif node.kind == "object" and (entry := node.children.entry(key)) is not None:
                yield Place(self.path + bracketed(key), entry, value, key)


class Document:
    """A copy of a document, with the places that its schema declares and scores.

    Skipped nodes, undeclared keys and values of no declared type are left out.
    """

    def __init__(self, root: Node, value: Any) -> None:
        self._holder = [copied(value)]
        self.places: list[Place] = []
        stack = [Place("$", root, self._holder, 0)]
        while stack:
            place = stack.pop()
            if place.node.kind == "union":
                place = place._replace(node=resolve_union(place.node, place.value, MISSING))
            if not _is_skipped(place.node):
                self.places.append(place)
                stack.extend(reversed(list(place.below())))

    @property
    def value(self) -> Any:
        """The document as it is now."""
        return self._holder[0]

    @cached_property
    def leaves(self) -> list[Place]:
        """Scalars that are not null and have a declared type or metric, in document order."""
        return [
            place
            for place in self.places
            if not isinstance(place.value, dict | list | None) and not _is_unscored(place.node)
        ]

    @cached_property
    def arrays(self) -> list[Place]:
        """Arrays whose items have one schema, outer before inner."""
        arrays = (place for place in self.places if place.node.kind == "array")
        return [a for a in arrays if isinstance(a.value, list) and not a.node.children.prefix]

    @cached_property
    def absent(self) -> list[Place]:
        """Declared properties that are null, an empty array or missing in an existing object."""
        found = []
        for place in self.places:
            if place.node.kind != "object" or not isinstance(place.value, dict):
                continue
            for name, child in place.node.children.properties.items():
                scored = not (_is_skipped(child) or _is_unscored(child) or child.kind == "null")
                if scored and place.value.get(name) in (None, []):
                    found.append(Place(place.path + child.step, child, place.value, name))
        return found


def _is_skipped(node: Node) -> bool:
    return node.config is not None and node.config.skip


def _is_unscored(node: Node) -> bool:
    return node.kind == "any" and node.config is None


#: The values of a document by field, items under the field of the items.
Pool = Mapping[str, Sequence[Any]]


def pool_of(root: Node, value: Any) -> Pool:
    """Collect the values that a document can lend to others of its schema."""
    found = defaultdict(list)
    for place in Document(root, value).places:
        if any(map(json_text, scalars(place.value))):  # a value that is not null or empty
            found[place.node.field].append(place.value)
    return dict(found)


class Task(NamedTuple):
    """The input of a corruption: document, seed, rate, strength, and values of other documents.

    Each place has one uniform number of its own, which is compared with the rate: a place that is
    drawn at one rate is drawn at every higher one.
    """

    document: Document
    seed: str
    rate: float
    strength: float
    donors: Sequence[Pool]

    def draws(self, place: Place) -> bool:
        """Whether a place is drawn, independently of all others."""
        return _number(f"{self.seed}\x1f{place.path}") < self.rate * _ALL

    def generator(self, place: Place) -> random.Random:
        """Return a generator of the place's own, for how it is changed."""
        return generator(f"{self.seed}\x1f{place.path}\x1fhow")

    def borrow(self, place: Place, refused: Iterable[Any]) -> Any:
        """Borrow a value of the same field from another document; `MISSING` if there is none."""
        lenders = [pool[place.node.field] for pool in self.donors if place.node.field in pool]
        rng, unwanted = self.generator(place), list(refused)
        for _ in range(_TRIES if lenders else 0):
            value = rng.choice(rng.choice(lenders))
            if not any(_same(value, other) for other in unwanted):
                return copied(value)
        return MISSING


def _same(one: Any, other: Any) -> bool:
    """Compare two values; values that are nested too deep count as different."""
    try:
        return bool(one == other)
    except RecursionError:
        return False
