"""The corruptions by name: what each changes, where, and whether the meaning is kept."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import pandas as pd

from extractbench_nb._frames import Column, FrameSpec
from extractbench_nb.errors import InputError, nearest
from extractbench_nb.schema.states import MISSING
from extractbench_nb.simulation.structure import (
    drop_items,
    duplicate_items,
    merge_items,
    shuffle_items,
    split_items,
    spurious_items,
    wrong_nesting,
    wrong_type,
)
from extractbench_nb.simulation.tasks import (
    Change,
    Document,
    Draws,
    Place,
    Pool,
    Task,
    borrowed,
    copied,
    generator,
)
from extractbench_nb.simulation.values import (
    change_values,
    hallucinate,
    kinds,
    null_out,
    omit,
    substitute,
)

__all__ = [
    "CHANGED",
    "CORRUPTIONS",
    "KEPT",
    "UNCLEAR",
    "Corruption",
    "Rewrite",
    "RewrittenArray",
    "chosen",
    "corruptions",
    "rewrite_item",
]


#: Whether what is corrupted still says the same.
KEPT, UNCLEAR, CHANGED = "kept", "unclear", "changed"

#: What a corruption works on.
VALUE, PRESENCE, ITEM, STRUCTURE = "value", "presence", "item", "structure"

_SCALAR = "members of objects that hold a scalar"
_ITEMS = "items of arrays"


class Corruption(NamedTuple):
    """A corruption of documents: its name, what becomes of the meaning, and the function.

    ``apply`` changes the document of a `Task` and returns what it did.
    """

    name: str
    level: str
    meaning: str
    places: str
    summary: str
    apply: Callable[[Task], list[Change]]


def _value(name: str, meaning: str, summary: str) -> Corruption:
    places = " and ".join({"string": "texts", "number": "numbers"}[kind] for kind in kinds(name))
    return Corruption(name, VALUE, meaning, places, summary, change_values(name))


#: All corruptions by name.
CORRUPTIONS = {
    corruption.name: corruption
    for corruption in (
        _value("whitespace", KEPT, "more space between words"),
        _value("case", KEPT, "letters in the other case"),
        _value("abbreviation", KEPT, "ordinary words shortened"),
        _value("date_format", KEPT, "dates in another format"),
        _value("word_order", UNCLEAR, "neighbouring words exchanged"),
        _value("typo", UNCLEAR, "a letter of a word changed"),
        _value("rounding", UNCLEAR, "fewer significant digits"),
        _value("dropped_word", CHANGED, "words left out"),
        _value("truncation", CHANGED, "the end cut off"),
        _value("changed_digit", CHANGED, "digits replaced"),
        _value("unit", CHANGED, "a unit replaced by another; thousands or millions for units"),
        _value("sign", CHANGED, "minus for plus"),
        Corruption(
            "substitute",
            VALUE,
            CHANGED,
            "scalars for which another document has another value",
            "the value of another document",
            substitute,
        ),
        Corruption("null_out", PRESENCE, CHANGED, _SCALAR, "null for the value", null_out),
        Corruption("omit", PRESENCE, CHANGED, _SCALAR, "key and value left out", omit),
        Corruption(
            "hallucinate",
            PRESENCE,
            CHANGED,
            "absent, null or empty properties that another document has",
            "the value of another document where gold has none",
            hallucinate,
        ),
        Corruption("shuffle_items", ITEM, KEPT, _ITEMS, "items moved", shuffle_items),
        Corruption("drop_items", ITEM, CHANGED, _ITEMS, "items left out", drop_items),
        Corruption("duplicate_items", ITEM, CHANGED, _ITEMS, "items twice", duplicate_items),
        Corruption(
            "split_items",
            ITEM,
            CHANGED,
            "items of arrays that have two parts or words",
            "an item broken in two",
            split_items,
        ),
        Corruption(
            "merge_items",
            ITEM,
            CHANGED,
            "items of arrays with a next one of the same type",
            "an item run together with the next",
            merge_items,
        ),
        Corruption(
            "spurious_items",
            ITEM,
            CHANGED,
            "items of arrays for which another document has other items",
            "an item of another document after it",
            spurious_items,
        ),
        Corruption(
            "wrong_nesting",
            STRUCTURE,
            UNCLEAR,
            "members of objects that hold an object or array",
            "members one level too high, an array one level too deep",
            wrong_nesting,
        ),
        Corruption(
            "wrong_type",
            STRUCTURE,
            UNCLEAR,
            "scalars of a declared type",
            "a number as text, a text in an array",
            wrong_type,
        ),
    )
}

CORRUPTION_COLUMNS = FrameSpec(
    "corruptions",
    "one row a corruption",
    (
        Column("corruption", "string", "name"),
        Column("level", "string", "what it works on", "value, presence, item, structure"),
        Column("meaning", "string", "what becomes of the meaning", "kept, unclear, changed"),
        Column("places", "string", "what can be corrupted"),
        Column("summary", "string", "what is done"),
    ),
)


def corruptions() -> pd.DataFrame:
    """List the corruptions that `corrupt_document` and `sensitivity` know.

    Returns
    -------
    pandas.DataFrame
        One row per corruption: corruption, level, meaning, places, summary.

    Examples
    --------
    >>> corruptions().set_index("corruption").loc["shuffle_items", "meaning"]
    'kept'
    """
    columns = zip(*(c[:5] for c in CORRUPTIONS.values()), strict=True)
    return CORRUPTION_COLUMNS.build(dict(zip(CORRUPTION_COLUMNS.names, columns, strict=True)))


def chosen(names: str | Iterable[str]) -> list[Corruption]:
    """Return corruptions by name."""
    if not isinstance(names, Iterable):
        raise InputError(f"corruption is {names!r}; expected a name or a list of names")
    wanted = [names] if isinstance(names, str) else list(names)
    if not wanted:
        raise InputError("corruption is empty; expected a name or a list of names")
    for name in wanted:
        if name not in CORRUPTIONS:
            raise InputError(f"corruption is {name!r}; {nearest(name, CORRUPTIONS)}")
    return [CORRUPTIONS[name] for name in dict.fromkeys(wanted)]


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
    """Say what a corruption of items makes of one item."""
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
