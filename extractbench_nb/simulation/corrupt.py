"""`corrupt_document` and `corrupt_mixed`: one corruption, or several at once; invalid values."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import islice
from numbers import Real
from pathlib import Path
from random import Random
from typing import Any, NamedTuple

import pandas as pd

from extractbench_nb._frames import Column, FrameSpec
from extractbench_nb._json import json_text, read_document
from extractbench_nb.errors import InputError
from extractbench_nb.evaluation.api import refuse_non_json
from extractbench_nb.extraction.conforming import Conformance, Location, touches
from extractbench_nb.schema.nodes import MISSING, Node, Schema
from extractbench_nb.schema.parse import parse_schema
from extractbench_nb.simulation.catalogue import CORRUPTIONS, ITEM, STRUCTURE, Corruption, chosen
from extractbench_nb.simulation.documents import (
    Change,
    Document,
    Draws,
    Place,
    Pool,
    Task,
    borrowed,
    copied,
    generator,
    pool_of,
)

__all__ = [
    "RECORD_COLUMNS",
    "Corrupted",
    "Mixed",
    "check_rates",
    "check_share",
    "corrupt_document",
    "corrupt_mixed",
    "corrupted_copy",
    "mixed_copy",
    "record_columns",
    "violated",
]


RECORD_COLUMNS = FrameSpec(
    "record",
    "one row per change",
    (
        Column("path", "string", "place in gold, with gold's indices"),
        Column("field", "string", "path without indices"),
        Column("corruption", "string", "what was done"),
        Column("item", "Int64", "index of gold's item in its array", "0 and up", True),
        Column("before", "object", "what stood there; both items where two are merged", "", True),
        Column("after", "object", "what stands there; both parts of a split item", "", True),
    ),
)


@dataclass(frozen=True, slots=True, eq=False)
class Corrupted:
    """A corrupted document and the record of its changes.

    Attributes
    ----------
    value : object
        The corrupted JSON; it shares nothing with gold.
    record : pandas.DataFrame
        One row per change: path, field, corruption, item, before, after.
    """

    value: Any
    record: pd.DataFrame

    def __repr__(self) -> str:
        """Say how much was done; the document may be long."""
        names = ", ".join(self.record["corruption"].unique())
        return f"Corrupted({len(self.record)} changes{': ' + names if names else ''})"


def corrupt_document(  # noqa: PLR0913 - one flat call is what users write; the options are keywords
    schema: Mapping[str, Any] | str | Path | Schema,
    gold: Any,
    corruption: str,
    rate: float = 0.1,
    *,
    strength: float = 0.3,
    donors: Iterable[Any] = (),
    seed: int | str = 0,
) -> Corrupted:
    """Corrupt a gold document in one way, and record each change.

    Parameters
    ----------
    schema : dict, str, pathlib.Path or Schema
        JSON Schema: a dict, JSON text, a file, or parsed. Only what it declares and does not skip
        is corrupted.
    gold : object
        The right document: a value, a ``pathlib.Path`` (a file) or a ``str`` (JSON text). It is
        not changed.
    corruption : str
        A name that `corruptions` lists.
    rate : float, optional
        Probability that a place is corrupted, in [0, 1], independently of all other places.
        `corruptions` lists what counts as a place.
    strength : float, optional
        How much of a value changes where values are corrupted, above 0 and up to 1: the share of
        its words, letters, digits or units, at least one.
    donors : iterable of object, optional
        Gold values of other documents under the same schema. ``hallucinate``, ``substitute`` and
        ``spurious_items`` borrow from them, and change nothing without donors.
    seed : int or str, optional
        The same seed gives the same result. A place that is corrupted at one rate is corrupted in
        the same way at every higher rate. The same holds for which items are moved, but not for
        where they go.

    Returns
    -------
    Corrupted
        ``.value`` is the corrupted document, ``.record`` has one row per change.

    Raises
    ------
    SchemaError, ConfigError
        The schema cannot be read.
    InputError
        Gold is not JSON, the corruption is not known, or a number is out of range.

    Notes
    -----
    A null in the record is either a JSON null or no value: ``before`` is null for an invented item,
    ``after`` for an omitted value. Items inside a dropped item have no rows of their own.

    Examples
    --------
    >>> schema = {"type": "object", "properties": {"year": {"type": "integer"}}}
    >>> made = corrupt_document(schema, {"year": 2031}, "sign", rate=1)
    >>> made.value
    {'year': -2031}
    >>> made.record[["path", "corruption", "before", "after"]].values.tolist()
    [['$.year', 'sign', 2031, -2031]]
    """
    check_share("rate", rate)
    check_share("strength", strength, above=0)
    root = parse_schema(schema).root
    (what,) = chosen([corruption])
    value = _read(gold, "gold")
    pools = [pool_of(root, _read(donor, "donor")) for donor in donors]
    draws = Draws(str(seed), rate)
    made, changes = corrupted_copy(root, value, what, draws, (strength, pools))
    record = record_columns([(what.name, change) for change in changes])
    return Corrupted(made, RECORD_COLUMNS.build(record))


def _read(source: Any, what: str) -> Any:
    value = copied(read_document(source, what))
    refuse_non_json(value)
    return value


def check_share(name: str, value: Any, above: float | None = None) -> None:
    """Raise `InputError` unless a value lies in [0, 1], and above a bound if one is given."""
    number = isinstance(value, Real) and not isinstance(value, bool)
    if not number or not 0 <= value <= 1 or (above is not None and value <= above):
        expected = "a number from 0 to 1" if above is None else f"above {above:g}, up to 1"
        raise InputError(f"{name}={value!r}; expected {expected}")


def corrupted_copy(
    root: Node,
    gold: Any,
    corruption: Corruption,
    draws: Draws,
    how: tuple[float, Sequence[Pool]],
) -> tuple[Any, list[Change]]:
    """Corrupt a copy of gold."""
    document = Document(root, gold)
    own = Draws(f"{draws.seed}\x1f{corruption.name}", draws.rate)
    changes = corruption.apply(Task(document, own, *how))
    return document.value, changes


_NESTING, _SHUFFLE, _MERGE = "wrong_nesting", "shuffle_items", "merge_items"
#: Corruptions of an item after which what is inside the item can be changed too.
_OPEN = (_SHUFFLE, "spurious_items")


class Mixed(NamedTuple):
    """A corrupted copy, and what was done to it: corruption and change, in document order."""

    value: Any
    changes: list[tuple[str, Change]]


def corrupt_mixed(
    schema: Mapping[str, Any] | str | Path | Schema,
    gold: Any,
    rates: Mapping[str, float],
    *,
    strength: float = 0.3,
    donors: Iterable[Any] = (),
    seed: int | str = 0,
) -> Corrupted:
    """Corrupt a gold document in several ways at once, and record each change.

    Parameters
    ----------
    schema : dict, str, pathlib.Path or Schema
        JSON Schema: a dict, JSON text, a file, or parsed.
    gold : object
        The right document: a value, a ``pathlib.Path`` (a file) or a ``str`` (JSON text).
    rates : mapping of str to float
        Probability of each corruption that `corruptions` lists, in [0, 1]. Where two are drawn for
        one place the one that the list has first is done.
    strength : float, optional
        How much of a value changes, above 0 and up to 1; see `corrupt_document`.
    donors : iterable of object, optional
        Gold values of other documents under the same schema.
    seed : int or str, optional
        The same seed gives the same result.

    Returns
    -------
    Corrupted
        ``.value`` is the corrupted document, ``.record`` has one row per change, with gold's paths.
        No path has two, and nothing inside a dropped, doubled, split or merged item, or inside an
        object or array at a wrong level, is changed by itself.

    Raises
    ------
    SchemaError, ConfigError
        The schema cannot be read.
    InputError
        Gold is not JSON, a corruption is not known, or a number is out of range.

    Examples
    --------
    >>> schema = {"type": "object", "properties": {"year": {"type": "integer"}, "tags": {
    ...     "type": "array", "items": {"type": "string"}}}}
    >>> made = corrupt_mixed(schema, {"year": 2031, "tags": ["a"]}, {"sign": 1, "drop_items": 1})
    >>> made.value
    {'year': -2031, 'tags': []}
    >>> made.record[["path", "corruption"]].values.tolist()
    [['$.year', 'sign'], ['$.tags[0]', 'drop_items']]
    """
    check_rates(rates)
    check_share("strength", strength, above=0)
    root = parse_schema(schema).root
    pools = [pool_of(root, _read(donor, "donor")) for donor in donors]
    document = Document(root, _read(gold, "gold"))
    made = mixed_copy(document, rates, str(seed), (strength, pools))
    return Corrupted(made.value, RECORD_COLUMNS.build(record_columns(made.changes)))


def check_rates(rates: Any, name: str = "rates") -> None:
    """Raise `InputError` unless a mapping has known corruptions and probabilities."""
    if not isinstance(rates, Mapping):
        raise InputError(f"{name} is {rates!r}; expected a dict such as {{'typo': 0.1}}")
    if rates:
        chosen(rates)
    for corruption, rate in rates.items():
        check_share(f"{name}[{corruption!r}]", rate)


def record_columns(changes: Sequence[tuple[str, Change]]) -> dict[str, list[Any]]:
    """Return the columns of a record: path, field, corruption, item, before, after."""
    keys = [change.place.key for _, change in changes]
    return {
        "path": [change.place.path for _, change in changes],
        "field": [change.place.node.field for _, change in changes],
        "corruption": [name for name, _ in changes],
        "item": [key if isinstance(key, int) else None for key in keys],
        "before": [copied(change.before) for _, change in changes],
        "after": [copied(change.after) for _, change in changes],
    }


def mixed_copy(
    document: Document,
    rates: Mapping[str, float],
    seed: str,
    how: tuple[float, Sequence[Pool]],
    allowed: Conformance | None = None,
) -> Mixed:
    """Corrupt a document in several ways."""
    kept = {n: r for n, r in rates.items() if r and (allowed is None or _level(n) != STRUCTURE)}
    draws = {name: Draws(f"{seed}\x1f{name}", kept[name]) for name in CORRUPTIONS if name in kept}
    work = _Work(document, draws, how)
    work.plan()
    work.change_values(allowed)
    work.write_arrays(allowed)
    return Mixed(document.value, work.changes())


def _level(name: str) -> str:
    return CORRUPTIONS[name].level


class _Rewrite(NamedTuple):
    """What becomes of one item: whether it stays, what stands after it, and what is told of it.

    ``items`` is how many gold items it is about: two where an item is merged with the next.
    """

    name: str
    stays: bool
    added: list[Any]
    change: Change
    items: int = 1


@dataclass(slots=True)
class _Array:
    """An array and what is done to its items, by gold's index."""

    items: list[Any]
    rewrites: dict[int, _Rewrite] = field(default_factory=dict)
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
        """Write the array from its items as they are when this is first called."""
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
        return told + [(_SHUFFLE, change) for change in moves]


def _rewrite_item(name: str, place: Place, seed: str, donors: Sequence[Pool]) -> _Rewrite | None:
    """Say what a corruption of items makes of one item."""
    value = place.value
    if name == "drop_items":
        return _Rewrite(name, False, [], Change(place, value, None))
    if name == "duplicate_items":
        twice = [copied(value), copied(value)]
        return _Rewrite(name, True, [copied(value)], Change(place, value, twice))
    if name == "spurious_items":
        new = borrowed(donors, place.node.field, place.box, generator(f"{seed}\x1f{place.path}"))
        return None if new is MISSING else _Rewrite(name, True, [new], Change(place, None, new))
    return _apart(name, place, seed)


def _apart(name: str, place: Place, seed: str) -> _Rewrite | None:
    """Split an item, or merge it with the next, in an array of its own."""
    array = place.above
    count = 2 if name == _MERGE else 1
    before = place.box[place.key : place.key + count]
    if array is None or len(before) < count:
        return None
    own = Document(array.node, before)
    draws = Draws(f"{seed}\x1f{place.path}", 1, "$[0]".__eq__)  # its first item
    if not CORRUPTIONS[name].apply(Task(own, draws, 1.0, ())):
        return None
    told = copied(before) if name == _MERGE else before[0]
    after = own.value[0] if name == _MERGE else own.value
    return _Rewrite(name, False, own.value, Change(place, told, copied(after)), count)


class _Work:
    """One document on its way from gold to what a model says."""

    def __init__(
        self, document: Document, draws: Mapping[str, Draws], how: tuple[float, Sequence[Pool]]
    ) -> None:
        self.document, self.draws, self.how = document, draws, how
        # found in gold, before anything is changed
        self.arrays = {place.path: _Array(place.value) for place in document.arrays}
        self.paths = [place.path for place in document.places]
        self.keyless = {p.path for p in document.absent if p.key not in p.box}
        self.leaves = document.leaves
        self.taken: set[str] = set()
        self.closed: set[str] = set()
        self.nested: set[str] = set()
        self.done: list[tuple[str, Change]] = []

    def plan(self) -> None:
        """Choose what is done to items and to levels, outer places first."""
        names = [name for name in self.draws if _level(name) == ITEM]
        lifted: dict[int, set[str]] = {}
        for place in self.document.places:
            if place.path in self.closed or _is_below(place, self.closed):
                self.closed.add(place.path)
            elif self._is_misplaced(place, lifted):
                self.nested.add(place.path)
                self.closed.add(place.path)
            elif place.above is not None and place.above.path in self.arrays:
                self._plan_item(place, self.arrays[place.above.path], names)
        self.closed.update(p.path for p in self.document.absent if _is_below(p, self.closed))
        self.taken |= self.closed

    def _is_misplaced(self, place: Place, lifted: dict[int, set[str]]) -> bool:
        """Draw a container for a wrong level, unless its members would meet others there."""
        draws = self.draws.get(_NESTING)
        if draws is None or not draws.hits(place.path) or not isinstance(place.box, dict):
            return False
        if not isinstance(place.value, dict):
            return isinstance(place.value, list) and bool(place.value)
        above = place.above.node.children.properties if place.above is not None else {}
        names = lifted.setdefault(id(place.box), {*above, *place.box})
        free = bool(place.value) and names.isdisjoint(place.value)
        names.update(place.value if free else ())
        return free

    def _plan_item(self, place: Place, array: _Array, names: Sequence[str]) -> None:
        for name in names:
            if not self.draws[name].hits(place.path):
                continue
            if name == _SHUFFLE:
                array.move(place)
                self.taken.add(place.path)
                return
            rewrite = _rewrite_item(name, place, self.draws[name].seed, self.how[1])
            if rewrite is not None:
                array.rewrites[place.key] = rewrite
                self.taken.add(place.path)
                if name not in _OPEN:
                    stem = place.path[: place.path.rindex("[")]
                    self.closed.update(f"{stem}[{place.key + i}]" for i in range(rewrite.items))
                return

    def change_values(self, allowed: Conformance | None) -> None:
        """Do what is done to values, members and levels."""
        for name, draws in self.draws.items():
            if _level(name) == ITEM:
                continue
            allowed_here = self.nested.__contains__ if name == _NESTING else self._is_free
            own = replace(draws, allowed=allowed_here)
            found = CORRUPTIONS[name].apply(Task(self.document, own, *self.how))
            self.done.extend((name, change) for change in found)
            self.taken.update(change.place.path for change in found)
        while allowed is not None and self._undo(allowed.faults(self.document.value)):
            pass

    def _is_free(self, path: str) -> bool:
        return path not in self.taken

    def _undo(self, faults: Sequence[tuple[Location, Location]]) -> bool:
        """Take back what causes faults; say whether anything was."""
        places = [(i, _location(change.place)) for i, (_, change) in enumerate(self.done)]
        guilty: set[int] = set()
        for where, cause in faults:
            found = {i for i, location in places if touches(location, cause)}
            guilty |= found or {i for i, location in places if touches(location, where)}
        for i in sorted(guilty, reverse=True):
            place, before, _ = self.done.pop(i)[1]
            if place.path in self.keyless:
                del place.box[place.key]
            else:
                place.put(before)
        return bool(guilty)

    def write_arrays(self, allowed: Conformance | None) -> None:
        """Write the arrays with their changes, inner ones first."""
        written = [one for one in self.arrays.values() if one.is_changed]
        for array in reversed(written):
            array.write()
        arrays = {id(array.items): array for array in written}
        while allowed is not None and self._rewind(arrays, allowed.faults(self.document.value)):
            pass

    def _rewind(
        self, arrays: Mapping[int, _Array], faults: Sequence[tuple[Location, Location]]
    ) -> bool:
        """Take back the changes to items that cause faults; say whether there were any."""
        guilty: dict[int, set[int]] = {}
        for where, cause in faults:
            ways = (_on_the_way(self.document.value, place, arrays) for place in (cause, where))
            found = ((a, items) for way in ways for a, i in way if (items := a.rewritten(i)))
            for array, items in islice(found, 1):  # the deepest
                guilty.setdefault(id(array.items), set()).update(items)
        for array_id, items in guilty.items():
            arrays[array_id].take_back(items)
        return bool(guilty)

    def changes(self) -> list[tuple[str, Change]]:
        """Return what was done, in document order."""
        told = [one for array in self.arrays.values() for one in array.changes()]
        paths = {path: i for i, path in enumerate(self.paths)}
        last = len(paths)
        return sorted(
            self.done + told,
            key=lambda one: (paths.get(one[1].place.path, last), one[1].place.path),
        )


def _is_below(place: Place, closed: set[str]) -> bool:
    return place.above is not None and place.above.path in closed


def _location(place: Place) -> Location:
    """Return the keys and indices on the way to a place; the root has none of its own."""
    return tuple(reversed([p.key for p in (place, *place.ancestors()) if p.above is not None]))


def _on_the_way(
    value: Any, location: Location, arrays: Mapping[int, _Array]
) -> list[tuple[_Array, int | None]]:
    """List the rewritten arrays on the way to a place, with the index there, deepest first."""
    found: list[tuple[_Array, int | None]] = []
    for key in (*location, None):
        array = arrays.get(id(value))
        if array is not None:
            found.append((array, key))
        if key is not None:
            value = value.get(key) if isinstance(value, dict) else value[key]
    return found[::-1]


def violated(document: Document, mixed: Mixed, allowed: Conformance, rng: Random) -> Mixed | None:
    """Write one scalar as a type that the schema does not allow there."""
    changed = {change.place.path for _, change in mixed.changes}
    places = [
        place
        for place in document.places
        if isinstance(place.box, dict)  # an item may stand elsewhere now
        and not (isinstance(place.value, list | dict) and place.value)
        and place.path not in changed
        and not place.is_inside(changed)
    ]
    for place in rng.sample(places, len(places)):
        before = place.value
        others = [json_text(before), [before]]
        if isinstance(before, list | dict):
            others = others[:1]
        elif before is None or isinstance(before, str):
            others = others[1:]
        for after in others:
            place.put(after)
            if allowed.faults(mixed.value):
                change = Change(place, before, copied(after))
                return Mixed(mixed.value, [*mixed.changes, ("wrong_type", change)])
        place.put(before)
    return None
