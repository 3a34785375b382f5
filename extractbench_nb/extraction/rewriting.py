"""The items of one array, several corruptions at once: what stands in place of each gold item.

The array is written anew from a plan, an item at a time, so that every change is told with gold's
index whatever else happens to the array.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from extractbench_nb.extraction.catalogue import CORRUPTIONS
from extractbench_nb.extraction.draws import Draws, generator
from extractbench_nb.extraction.places import Document, Place, copied
from extractbench_nb.extraction.tasks import Change, Pool, Task, borrowed
from extractbench_nb.values import MISSING

__all__ = ["Rewrite", "RewrittenArray", "rewrite_item"]

SHUFFLE = "shuffle_items"
_MERGE = "merge_items"


class Rewrite(NamedTuple):
    """What becomes of one item: whether it stays, what stands after it, and what is told of it.

    ``items`` is how many gold items it is about: two where an item is merged with the next.
    """

    name: str
    stays: bool
    added: list[Any]
    change: Change
    items: int = 1


@dataclass(slots=True)
class RewrittenArray:
    """An array and what is done to its items, by gold's index."""

    items: list[Any]
    rewrites: dict[int, Rewrite] = field(default_factory=dict)
    moved: list[Place] = field(default_factory=list)
    gold: dict[int, Any] = field(default_factory=dict)
    _before: list[Any] = field(default_factory=list)
    _origin: list[int] = field(default_factory=list)

    def move(self, place: Place) -> None:
        """Plan that an item changes places with the other ones that move."""
        self.moved.append(place)
        self.gold[place.key] = copied(place.value)

    @property
    def is_changed(self) -> bool:
        """Whether there is anything to do; one item alone cannot move."""
        return bool(self.rewrites) or len(self.moved) > 1

    def write(self) -> None:
        """Write the array anew, from the items as they are when this is first called."""
        self._before = self._before or list(self.items)
        gone = {i + 1 for i, one in self.rewrites.items() if one.name == _MERGE}
        new: list[tuple[int, Any]] = []
        for i in self._order():
            rewrite = self.rewrites.get(i)
            if rewrite is None or rewrite.stays:
                new.extend([(i, self._before[i])] if i not in gone else [])
            new.extend((i, one) for one in (rewrite.added if rewrite else ()))
        self._origin = [i for i, _ in new]
        self.items[:] = [one for _, one in new]

    def rewritten(self, index: int | None) -> set[int]:
        """Return which gold items made what stands at an index; with None, all that changed."""
        known = set(self.rewrites)
        return known if index is None else known & {self._origin[index]}

    def take_back(self, items: Iterable[int]) -> None:
        """Leave gold items as they are."""
        for item in items:
            del self.rewrites[item]
        self.write()

    def _order(self) -> list[int]:
        """Gold's indices in the new order: where a moved item stood, the next moved one stands."""
        order = list(range(len(self._before)))
        for place, other in zip(self.moved, self._others(), strict=True):
            order[place.key] = other.key
        return order

    def _others(self) -> list[Place]:
        return self.moved[1:] + self.moved[:1]

    def changes(self) -> list[tuple[str, Change]]:
        """Return what is done, with the name of the corruption; where items moved last."""
        told = [(one.name, one.change) for _, one in sorted(self.rewrites.items())]
        pairs = zip(self.moved, self._others(), strict=True) if len(self.moved) > 1 else ()
        moves = [Change(p, self.gold[p.key], self.gold[other.key]) for p, other in pairs]
        return told + [(SHUFFLE, change) for change in moves]


def rewrite_item(name: str, place: Place, seed: str, donors: Sequence[Pool]) -> Rewrite | None:
    """Say what a corruption of items makes of one item.

    Parameters
    ----------
    name : str
        ``drop_items``, ``duplicate_items``, ``split_items``, ``merge_items``, ``spurious_items``.
    place : Place
        The item, as gold has it.
    seed : str
        The same seed gives the same result.
    donors : sequence of mapping
        Values of other documents.

    Returns
    -------
    Rewrite or None
        None where the corruption does not apply.
    """
    value = place.value
    if name == "drop_items":
        return Rewrite(name, False, [], Change(place, value, None))
    if name == "duplicate_items":
        twice = [copied(value), copied(value)]
        return Rewrite(name, True, [copied(value)], Change(place, value, twice))
    if name == "spurious_items":
        new = borrowed(donors, place.node.field, place.box, generator(f"{seed}\x1f{place.path}"))
        return None if new is MISSING else Rewrite(name, True, [new], Change(place, None, new))
    return _apart(name, place, seed)


def _apart(name: str, place: Place, seed: str) -> Rewrite | None:
    """Split an item, or merge it with the next, in an array of its own."""
    array = place.above
    count = 2 if name == _MERGE else 1
    before = place.box[place.key : place.key + count]
    if array is None or len(before) < count:
        return None
    own = Document(array.node, before)
    draws = _First(f"{seed}\x1f{place.path}", 1)
    if not CORRUPTIONS[name].apply(Task(own, draws, 1.0, ())):
        return None
    told = copied(before) if name == _MERGE else before[0]
    after = own.value[0] if name == _MERGE else own.value
    return Rewrite(name, False, own.value, Change(place, told, copied(after)), count)


class _First(Draws):
    """Draws the first item of an array that is the whole document."""

    def hits(self, path: str) -> bool:
        return path == "$[0]"
