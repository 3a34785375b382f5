"""Where the places of gold are in an output, if it is what a record of changes says."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator
from typing import Any, NamedTuple

import pandas as pd

from extractbench_nb._json import canonical
from extractbench_nb.extraction.catalogue import CORRUPTIONS
from extractbench_nb.values import MISSING

__all__ = ["ArrayLayout", "Stop", "TracedOutput", "Way", "alike", "is_of_item", "prefixes", "steps"]

#: A step of an instance path: a name, a quoted key, or an index, with a plus if gold has no such.
_STEP = re.compile(r"\.([A-Za-z_$][\w$-]*)|\['((?:[^'\\]|\\.)*)'\]|\[\+?(\d+)\]", re.DOTALL)


class ArrayLayout(NamedTuple):
    """Where the items of a gold array went.

    ``own`` are the indices of what stands for an item of gold, ``added`` those of what was put
    there by a change, one of which is too many. ``written`` is what the output holds if the record
    is right, with `MISSING` for an item that is changed inside.
    """

    own: dict[int, list[int]]
    added: dict[int, list[int]]
    written: list[Any]


class Stop(NamedTuple):
    """An item on the way to a place: its array, gold's index, and what the output has there."""

    array: str
    number: int
    items: list[Any]
    layout: ArrayLayout

    @property
    def own(self) -> list[int]:
        """The indices in the output of what stands for the item."""
        return self.layout.own[self.number]


class Way(NamedTuple):
    """The way to a place of gold in the output: the items on it, what holds it, and what it is."""

    stops: list[Stop]
    box: Any
    value: Any


class TracedOutput:
    """The output that a record is about: where gold's places are in it, and what they hold."""

    def __init__(self, gold: Any, value: Any, changes: Iterable[Any]) -> None:
        self._gold, self._value = gold, value
        self.changed: set[str] = set()
        self.touched: set[str] = set()
        self._rewrites: dict[str, dict[int, Any]] = defaultdict(dict)
        self._moves: dict[str, list[Any]] = defaultdict(list)
        self._layouts: dict[str, ArrayLayout | None] = {}
        for change in changes:
            self._note(change)

    def _note(self, change: Any) -> None:
        *above, path = prefixes(change.path)
        self.changed.add(path)
        self.touched.update(above)
        if not is_of_item(change) or pd.isna(change.item):
            self.touched.add(path)
        elif change.corruption == "shuffle_items":
            self._moves[above[-1]].append(change)
        else:
            self._rewrites[above[-1]][int(change.item)] = change

    def held(self, change: Any) -> Way | None:
        """Return the way to a change, if what the record says of it is so."""
        way = self.way(change.path)
        if way is None or is_of_item(change):
            return None if way is None or pd.isna(change.item) else way
        if change.corruption == "omit":
            return way if way.value is MISSING and isinstance(way.box, dict) else None
        return way if alike(way.value, change.after) else None

    def way(self, path: str) -> Way | None:
        """Return the way to a place of gold; None where the output is not as the record says."""
        gold, value, box = self._gold, self._value, None
        stops: list[Stop] = []
        for above, key in steps(path):
            box = value
            if isinstance(key, str):
                gold, value = _member(gold, key), _member(value, key)
                continue
            layout = self._layout(above, gold, value)
            if layout is None or key not in layout.own:
                return None
            stop = Stop(above, key, value, layout)
            stops.append(stop)
            gold, value = gold[key], value[stop.own[0]] if len(stop.own) == 1 else MISSING
        return Way(stops, box, value)

    def _layout(self, array: str, gold: Any, value: Any) -> ArrayLayout | None:
        """Return where the items of an array are, if they are there."""
        if array not in self._layouts:
            laid = self._laid_out(array, gold) if isinstance(gold, list) else None
            fits = laid is not None and isinstance(value, list)
            if fits and laid is not None:
                pairs = zip(laid.written, value, strict=False)
                fits = len(laid.written) == len(value) and all(
                    one is MISSING or alike(one, other) for one, other in pairs
                )
            self._layouts[array] = laid if fits else None
        return self._layouts[array]

    def _laid_out(self, array: str, gold: list[Any]) -> ArrayLayout:
        laid = ArrayLayout({}, {}, [])
        rewrites = self._rewrites[array]
        for i in self._order(array, len(gold)):
            own = MISSING if f"{array}[{i}]" in self.touched else gold[i]
            change, before = rewrites.get(i), rewrites.get(i - 1)
            if change is None and before is not None and before.corruption == "merge_items":
                continue
            stands = [own] if change is None else _instead(change, own)
            first = len(laid.written)
            there = list(range(first, first + len(stands)))
            laid.written.extend(stands)
            invented = change is not None and change.corruption == "spurious_items"
            laid.own[i] = there[:1] if invented else there
            laid.added[i] = there[1:] if invented else there
            if change is not None and change.corruption == "merge_items":
                laid.own[i + 1] = there
        return laid

    def _order(self, array: str, items: int) -> list[int]:
        """Return gold's indices in the output's order: each moved item is another one's value."""
        order = list(range(items))
        moved = sorted(self._moves[array], key=lambda change: int(change.item))
        free = [*moved[1:], *moved[:1]]
        for change in moved:
            other = next((one for one in free if alike(one.before, change.after)), None)
            if other is not None and change.item < items:
                free.remove(other)
                order[int(change.item)] = int(other.item)
        return order


def _instead(change: Any, own: Any) -> list[Any]:
    """Return what stands in place of an item of gold."""
    if change.corruption == "drop_items":
        return []
    if change.corruption == "spurious_items":
        return [own, change.after]
    several = change.corruption != "merge_items" and isinstance(change.after, list)
    return change.after if several else [change.after]


def _member(value: Any, key: str) -> Any:
    return value.get(key, MISSING) if isinstance(value, dict) else MISSING


def alike(one: Any, other: Any) -> bool:
    """Whether two values are the same JSON."""
    return one is not MISSING and canonical(one) == canonical(other)


def is_of_item(change: Any) -> bool:
    """Whether a change is one of a whole item."""
    return CORRUPTIONS[change.corruption].level == "item"


def prefixes(path: str) -> list[str]:
    """Return a path and those of what it is inside of, the root first."""
    return ["$", *(path[: step.end()] for step in _STEP.finditer(path))]


def steps(path: str) -> Iterator[tuple[str, str | int]]:
    """Yield the steps of a path: that of what it is a step in, and the key or index."""
    for step in _STEP.finditer(path):
        name, quoted, index = step.groups()
        key = name if quoted is None else re.sub(r"\\(.)", r"\1", quoted, flags=re.DOTALL)
        yield path[: step.start()], int(index) if index else key
