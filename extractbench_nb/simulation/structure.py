"""Corruptions of form: wrong types and levels, items dropped, doubled, moved or merged."""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping
from typing import Any, TypeAlias

from extractbench_nb._json import json_text, json_type
from extractbench_nb.schema.nodes import Node
from extractbench_nb.schema.states import MISSING
from extractbench_nb.simulation.tasks import Change, Draws, Place, Task, borrowed, copied

__all__ = [
    "drop_items",
    "duplicate_items",
    "merge_items",
    "shuffle_items",
    "split_items",
    "spurious_items",
    "wrong_nesting",
    "wrong_type",
]


_CONTAINERS: Mapping[str, type] = {"object": dict, "array": list}


def wrong_type(task: Task) -> list[Change]:
    """Write a scalar as a type that neither the schema nor gold has there."""
    changes = []
    for place in task.document.leaves:
        if task.draws.hits(place.path):
            before = place.value
            after = _other_type(before, place.node)
            if after is not None:
                changes.append(Change(place, before, after))
                place.put(after)
    return changes


def _other_type(value: Any, node: Node) -> Any:
    """Return a number or truth value as text, else the value in an array, else None."""
    for other in (json_text(value), [value]):
        known = {*node.types, json_type(value)}
        if node.types and json_type(other) not in known:
            return other
    return None


def wrong_nesting(task: Task) -> list[Change]:
    """Put an object's members one level too high, or an array one level too deep.

    Of members of objects; empty ones are left alone. A member that is lifted gives way where its
    new level has one of that name already.
    """
    changes = []
    for place in reversed(task.document.places):  # inner before outer
        if _can_be_moved(place) and task.draws.hits(place.path):
            before = place.value
            if isinstance(before, list):
                place.put({"items": before})
            else:
                _lift(place)
            changes.append(Change(place, before, place.value))
    return changes[::-1]


def _can_be_moved(place: Place) -> bool:
    value = place.value
    fits = isinstance(value, _CONTAINERS.get(place.node.kind, ()))
    return fits and bool(value) and isinstance(place.box, dict)


def _lift(place: Place) -> None:
    for name, value in place.box.pop(place.key).items():
        place.box.setdefault(name, value)


#: Takes the place of a drawn item; returns the items that stand there instead, or None.
_Rewrite: TypeAlias = Callable[[Place], "list[Any] | None"]
_PAIR = 2


def _each_array(task: Task, change: Callable[[list[Place]], list[Change]]) -> list[Change]:
    """Change the items of every array, inner arrays first; report in document order."""
    arrays = task.document.arrays
    found = [change([a.item(i) for i in range(len(a.value))]) for a in reversed(arrays)]
    return [one for changes in reversed(found) for one in changes]


def _each_item(task: Task, rewrite: _Rewrite) -> list[Change]:
    """Put in place of each drawn item what `rewrite` returns; None leaves it as it is."""

    def change(places: list[Place]) -> list[Change]:
        new = [rewrite(p) if task.draws.hits(p.path) else None for p in places]
        pairs = list(zip(places, new, strict=True))
        changes = [Change(p, p.value, found) for p, found in pairs if found is not None]
        _fill(places, [x for p, found in pairs for x in ([p.value] if found is None else found)])
        return changes

    return _each_array(task, change)


def _fill(places: list[Place], items: list[Any]) -> None:
    """Write the items of an array anew."""
    if places:
        places[0].box[:] = items


def drop_items(task: Task) -> list[Change]:
    """Leave items out. What was in a dropped item is not reported by itself."""
    changes = [c._replace(after=None) for c in _each_item(task, lambda _: [])]
    gone = {change.place.path for change in changes}
    return [change for change in changes if not _is_inside(change.place, gone)]


def _is_inside(place: Place, gone: set[str]) -> bool:
    above = place.above
    while above is not None:
        if above.path in gone:
            return True
        above = above.above
    return False


def duplicate_items(task: Task) -> list[Change]:
    """Put a copy after an item."""
    return _each_item(task, lambda place: [place.value, copied(place.value)])


def spurious_items(task: Task) -> list[Change]:
    """Put an item after an item that another document has in this array, and gold has not."""

    def invent(place: Place) -> list[Any] | None:
        rng = task.draws.generator(place.path)
        new = borrowed(task.donors, place.node.field, place.box, rng)
        return None if new is MISSING else [place.value, new]

    return [c._replace(before=None, after=c.after[1]) for c in _each_item(task, invent)]


def split_items(task: Task) -> list[Change]:
    """Break an item in two: a text between words, an object or array between its parts."""
    return _each_item(task, lambda place: _halves(place.value, task.draws.generator(place.path)))


def _halves(item: Any, rng: random.Random) -> list[Any] | None:
    parts: list[Any] = item.split() if isinstance(item, str) else []
    if isinstance(item, dict | list):
        parts = list(item.items()) if isinstance(item, dict) else item
    if len(parts) < _PAIR:
        return None
    cut = rng.randrange(1, len(parts))
    return [_together(item, half) for half in (parts[:cut], parts[cut:])]


def _together(item: Any, parts: list[Any]) -> Any:
    return " ".join(parts) if isinstance(item, str) else type(item)(parts)


def merge_items(task: Task) -> list[Change]:
    """Run an item and the next one together: texts in a row, other values of the first."""
    return _each_array(task, lambda places: _merged(places, task.draws))


def _merged(places: list[Place], draws: Draws) -> list[Change]:
    changes: list[Change] = []
    items: list[Any] = []
    joins = False
    for place in places:
        if joins and _fits(items[-1], place.value):
            before = [items[-1], place.value]
            items[-1] = _joined(*before)
            changes.append(Change(places[place.key - 1], before, items[-1]))
        else:
            items.append(place.value)
        joins = draws.hits(place.path)
    _fill(places, items)
    return changes


def _fits(one: Any, other: Any) -> bool:
    return type(one) is type(other) and isinstance(one, str | dict | list)


def _joined(one: Any, other: Any) -> Any:
    if isinstance(one, str):
        return f"{one} {other}"
    if isinstance(one, list):
        return one + other
    texts = {
        key: f"{value} {other[key]}"
        for key, value in one.items()
        if isinstance(value, str) and isinstance(other.get(key), str)
    }
    return {**other, **one, **texts}


def shuffle_items(task: Task) -> list[Change]:
    """Move the drawn items of an array: each takes the place of another drawn one."""
    return _each_array(task, lambda places: _moved(places, task.draws))


def _moved(places: list[Place], draws: Draws) -> list[Change]:
    drawn = [place for place in places if draws.hits(place.path)]
    if len(drawn) < _PAIR:
        return []
    order = list(drawn)
    draws.generator(places[0].path).shuffle(order)
    taken = {place.key: other for place, other in zip(order, order[1:] + order[:1], strict=True)}
    changes = [Change(place, place.value, taken[place.key].value) for place in drawn]
    _fill(places, [taken.get(place.key, place).value for place in places])
    return changes
