"""The corruptions by name: what each changes, where, and whether the meaning is kept."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterable, Sequence
from typing import Any, NamedTuple

import pandas as pd

from extractbench_nb._frames import Column, FrameSpec
from extractbench_nb._json import json_text, json_type
from extractbench_nb.errors import InputError, nearest
from extractbench_nb.schema.nodes import MISSING
from extractbench_nb.simulation.documents import Change, Place, Pool, Task, borrowed, copied
from extractbench_nb.simulation.values import corrupt, kinds

#: Whether what is corrupted still says the same.
KEPT, UNCLEAR, CHANGED = "kept", "unclear", "changed"

#: What a corruption works on.
VALUE, PRESENCE, ITEM, STRUCTURE = "value", "presence", "item", "structure"

Apply = Callable[[Task], list[Change]]


class Corruption(NamedTuple):
    """A corruption of documents: its name, its effect on the meaning, and the function.

    ``apply`` changes the document of a `Task` and returns what it did.
    """

    name: str
    level: str
    meaning: str
    places: str
    summary: str
    apply: Apply


#: All corruptions by name.
CORRUPTIONS: dict[str, Corruption] = {}


def _registered(level: str, meaning: str, places: str, summary: str) -> Callable[[Apply], Apply]:
    """Register a function as a corruption under its own name."""

    def register(function: Apply) -> Apply:
        name = function.__name__.removeprefix("_")
        CORRUPTIONS[name] = Corruption(name, level, meaning, places, summary, function)
        return function

    return register


# --- values -----------------------------------------------------------------------------------

#: A function that returns what a place is to hold; `MISSING` leaves the place as it is.
After = Callable[[Task, Place], Any]


def _each(places: Iterable[Place], task: Task, after: After) -> list[Change]:
    """Replace the value at each drawn place by what a function returns."""
    changes = []
    for place in places:
        if task.draws.hits(place.path):
            before, new = place.value, after(task, place)
            if new is not MISSING:
                changes.append(Change(place, before, new))
                place.put(new)
    return changes


def _changing(name: str) -> Apply:
    def after(task: Task, place: Place) -> Any:
        value = corrupt(name, place.value, task.strength, f"{task.draws.seed}\x1f{place.path}")
        return MISSING if value is None else value

    return lambda task: _each(task.document.leaves, task, after)


for _name, _meaning, _summary in (
    ("whitespace", KEPT, "more space between words"),
    ("case", KEPT, "letters in the other case"),
    ("abbreviation", KEPT, "ordinary words shortened"),
    ("date_format", KEPT, "dates in another format"),
    ("word_order", UNCLEAR, "neighbouring words exchanged"),
    ("typo", UNCLEAR, "a letter of a word changed"),
    ("rounding", UNCLEAR, "fewer significant digits"),
    ("dropped_word", CHANGED, "words left out"),
    ("truncation", CHANGED, "the end cut off"),
    ("changed_digit", CHANGED, "digits replaced"),
    ("unit", CHANGED, "a unit replaced by another; thousands or millions for units"),
    ("sign", CHANGED, "minus for plus"),
):
    _places = " and ".join({"string": "texts", "number": "numbers"}[kind] for kind in kinds(_name))
    CORRUPTIONS[_name] = Corruption(_name, VALUE, _meaning, _places, _summary, _changing(_name))


def _lent(task: Task, place: Place, refused: Iterable[Any]) -> Any:
    return borrowed(task.donors, place.node.field, refused, task.draws.generator(place.path))


@_registered(
    VALUE,
    CHANGED,
    "scalars for which another document has another value",
    "the value of another document",
)
def _substitute(task: Task) -> list[Change]:
    def after(task: Task, place: Place) -> Any:
        value = _lent(task, place, (place.value,))
        return MISSING if isinstance(value, dict | list) else value

    return _each(task.document.leaves, task, after)


# --- presence ---------------------------------------------------------------------------------

_SCALAR = "members of objects that hold a scalar"


def _members(task: Task) -> list[Place]:
    return [place for place in task.document.leaves if isinstance(place.box, dict)]


@_registered(PRESENCE, CHANGED, _SCALAR, "null for the value")
def _null_out(task: Task) -> list[Change]:
    return _each(_members(task), task, lambda *_: None)


@_registered(PRESENCE, CHANGED, _SCALAR, "key and value left out")
def _omit(task: Task) -> list[Change]:
    drawn = [place for place in _members(task) if task.draws.hits(place.path)]
    return [Change(place, place.box.pop(place.key), None) for place in drawn]


@_registered(
    PRESENCE,
    CHANGED,
    "absent, null or empty properties that another document has",
    "the value of another document where gold has none",
)
def _hallucinate(task: Task) -> list[Change]:
    return _each(task.document.absent, task, lambda task, place: _lent(task, place, ()))


# --- items ------------------------------------------------------------------------------------

_ITEMS = "items of arrays"
_PAIR = 2

#: Returns the items that replace one item; None leaves it as it is.
Rewrite = Callable[[Place, random.Random, Sequence[Pool]], list[Any] | None]


def _each_array(
    task: Task, change: Callable[[list[Place]], tuple[list[Change], list[Any]]]
) -> list[Change]:
    """Replace the items of every array, inner arrays first; return changes in document order."""
    by_array = []
    for array in reversed(task.document.arrays):
        changes, items = change([array.item(i) for i in range(len(array.value))])
        array.value[:] = items
        by_array.append(changes)
    return [change for changes in reversed(by_array) for change in changes]


def _each_item(task: Task, rewrite: Rewrite) -> list[Change]:
    """Replace each drawn item by the items that `rewrite` returns."""

    def change(places: list[Place]) -> tuple[list[Change], list[Any]]:
        changes: list[Change] = []
        items: list[Any] = []
        for place in places:
            new = None
            if task.draws.hits(place.path):
                new = rewrite(place, task.draws.generator(place.path), task.donors)
            if new is not None:
                changes.append(Change(place, place.value, new))
            items += [place.value] if new is None else new
        return changes, items

    return _each_array(task, change)


@_registered(ITEM, KEPT, _ITEMS, "items moved")
def _shuffle_items(task: Task) -> list[Change]:
    """Permute the drawn items of each array, so that none keeps its position."""

    def move(places: list[Place]) -> tuple[list[Change], list[Any]]:
        items = [place.value for place in places]
        drawn = [place for place in places if task.draws.hits(place.path)]
        if len(drawn) < _PAIR:
            return [], items
        cycle = list(drawn)
        task.draws.generator(places[0].path).shuffle(cycle)
        pairs = zip(cycle, cycle[1:] + cycle[:1], strict=True)
        moved = {place.key: following.value for place, following in pairs}
        changes = [Change(place, place.value, moved[place.key]) for place in drawn]
        return changes, [moved.get(i, item) for i, item in enumerate(items)]

    return _each_array(task, move)


@_registered(ITEM, CHANGED, _ITEMS, "items left out")
def _drop_items(task: Task) -> list[Change]:
    """Drop items; changes within a dropped item are not reported."""
    changes = [c._replace(after=None) for c in _each_item(task, ITEM_REWRITES["drop_items"])]
    gone = {change.place.path for change in changes}
    return [change for change in changes if not change.place.is_inside(gone)]


@_registered(ITEM, CHANGED, _ITEMS, "items twice")
def _duplicate_items(task: Task) -> list[Change]:
    return _each_item(task, ITEM_REWRITES["duplicate_items"])


@_registered(ITEM, CHANGED, "items of arrays that have two parts or words", "an item broken in two")
def _split_items(task: Task) -> list[Change]:
    return _each_item(task, ITEM_REWRITES["split_items"])


def _halves(place: Place, rng: random.Random, _: Sequence[Pool]) -> list[Any] | None:
    """Break an item in two: a text between words, an object or array between its parts."""
    item = place.value
    parts: list[Any] = item.split() if isinstance(item, str) else []
    if isinstance(item, dict | list):
        parts = list(item.items()) if isinstance(item, dict) else item
    if len(parts) < _PAIR:
        return None
    cut = rng.randrange(1, len(parts))
    halves = parts[:cut], parts[cut:]
    return [" ".join(half) if isinstance(item, str) else type(item)(half) for half in halves]


@_registered(
    ITEM,
    CHANGED,
    "items of arrays with a next one of the same type",
    "an item run together with the next",
)
def _merge_items(task: Task) -> list[Change]:
    def merge(places: list[Place]) -> tuple[list[Change], list[Any]]:
        changes: list[Change] = []
        items: list[Any] = []
        joins = False
        for place in places:
            both = merged(items[-1], place.value) if joins else None
            if both is None:
                items.append(place.value)
            else:
                changes.append(Change(places[place.key - 1], [items[-1], place.value], both))
                items[-1] = both
            joins = task.draws.hits(place.path)
        return changes, items

    return _each_array(task, merge)


def merged(first: Any, second: Any) -> Any:
    """Join two texts, arrays or objects; None for values of other or different types."""
    if type(first) is not type(second) or not isinstance(first, str | dict | list):
        return None
    if isinstance(first, str):
        return f"{first} {second}"
    if isinstance(first, list):
        return first + second
    texts = {
        key: f"{value} {second[key]}"
        for key, value in first.items()
        if isinstance(value, str) and isinstance(second.get(key), str)
    }
    return {**second, **first, **texts}


@_registered(
    ITEM,
    CHANGED,
    "items of arrays for which another document has other items",
    "an item of another document after it",
)
def _spurious_items(task: Task) -> list[Change]:
    changes = _each_item(task, ITEM_REWRITES["spurious_items"])
    return [c._replace(before=None, after=c.after[1]) for c in changes]


def _with_borrowed(place: Place, rng: random.Random, donors: Sequence[Pool]) -> list[Any] | None:
    """Put an item after an item that another document has in this array, and gold has not."""
    new = borrowed(donors, place.node.field, place.box, rng)
    return None if new is MISSING else [place.value, new]


#: Corruptions that change each item independently of the others.
ITEM_REWRITES: dict[str, Rewrite] = {
    "drop_items": lambda *_: [],
    "duplicate_items": lambda place, *_: [place.value, copied(place.value)],
    "split_items": _halves,
    "spurious_items": _with_borrowed,
}


# --- structure --------------------------------------------------------------------------------


@_registered(
    STRUCTURE,
    UNCLEAR,
    "members of objects that hold an object or array",
    "members one level too high, an array one level too deep",
)
def _wrong_nesting(task: Task) -> list[Change]:
    """Put an object's members one level too high, or an array one level too deep.

    Of members of objects; empty ones are left alone. A member that is lifted gives way where its
    new level has one of that name already.
    """
    containers = {"object": dict, "array": list}
    changes = []
    for place in reversed(task.document.places):  # inner before outer
        before, box = place.value, place.box
        fits = isinstance(before, containers.get(place.node.kind, ()))
        if fits and before and isinstance(box, dict) and task.draws.hits(place.path):
            if isinstance(before, list):
                place.put({"items": before})
            else:
                for name, value in box.pop(place.key).items():
                    box.setdefault(name, value)
            changes.append(Change(place, before, place.value))
    return changes[::-1]


@_registered(
    STRUCTURE, UNCLEAR, "scalars of a declared type", "a number as text, a text in an array"
)
def _wrong_type(task: Task) -> list[Change]:
    """Write a scalar as a type that neither the schema nor gold has there."""

    def after(_: Task, place: Place) -> Any:
        value, types = place.value, place.node.types
        for other in (json_text(value), [value]):
            if types and json_type(other) not in {*types, json_type(value)}:
                return other
        return MISSING

    return _each(task.document.leaves, task, after)


# --- the table --------------------------------------------------------------------------------

CORRUPTION_COLUMNS = FrameSpec(
    "corruptions",
    "one row per corruption",
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
