"""`corrupt_document` and `corrupt_mixed`: one corruption, or several at once; invalid values."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import islice
from numbers import Real
from random import Random
from typing import Any, TypeAlias

import pandas as pd

from extractbench_nb._frames import Column, FrameSpec
from extractbench_nb._json import json_text, read_document
from extractbench_nb.errors import InputError
from extractbench_nb.evaluation.api import refuse_non_json
from extractbench_nb.extraction.parsing import Conformance, Location, touches
from extractbench_nb.schema.parse import SchemaSource, parse_schema
from extractbench_nb.simulation.catalogue import (
    CORRUPTIONS,
    ITEM,
    ITEM_REWRITES,
    STRUCTURE,
    Corruption,
    Rewrite,
    chosen,
    merged,
)
from extractbench_nb.simulation.documents import (
    Change,
    Document,
    Draws,
    Place,
    Pool,
    Task,
    copied,
    generator,
    pool_of,
)

RECORD_COLUMNS = FrameSpec(
    "record",
    "one row per change",
    (
        Column("path", "string", "place in gold, with gold's indices"),
        Column("field", "string", "path without indices"),
        Column("corruption", "string", "what was done"),
        Column("item", "Int64", "index of gold's item in its array", "0 and up", True),
        Column("before", "object", "gold's value; both items if two are merged", "", True),
        Column("after", "object", "the new value; both parts of a split item", "", True),
    ),
)


@dataclass(frozen=True, slots=True, eq=False)
class Corrupted:
    """A corrupted document and the record of its changes.

    Attributes
    ----------
    value : object
        The corrupted JSON value; it shares no object with gold.
    record : pandas.DataFrame
        One row per change: path, field, corruption, item, before, after.
    """

    value: Any
    record: pd.DataFrame

    def __repr__(self) -> str:
        """Write the number of changes; the document may be long."""
        names = ", ".join(self.record["corruption"].unique())
        return f"Corrupted({len(self.record)} changes{': ' + names if names else ''})"


def corrupt_document(  # noqa: PLR0913 - one flat call is what users write; the options are keywords
    schema: SchemaSource,
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
    schema : dict, str, pathlib.Path, Schema, Pydantic model class or TypeAdapter
        JSON Schema: a dict, JSON text, a file, or parsed. Only what it declares and does not skip
        is corrupted.
    gold : object
        The gold document: a value, a ``pathlib.Path`` (a file) or a ``str`` (JSON text). It is
        not changed.
    corruption : str
        A name that `corruptions` lists.
    rate : float, optional
        Probability that a place is corrupted, in [0, 1], independent of all other places. The
        column places of `corruptions` says what a place is.
    strength : float, optional
        Share of a corrupted value's words, letters, digits or units that changes, above 0 and up to
        1; at least one changes.
    donors : iterable of object, optional
        Gold values of other documents under the same schema. ``hallucinate``, ``substitute`` and
        ``spurious_items`` borrow values from them, and change nothing without donors.
    seed : int or str, optional
        The same seed gives the same result. A place that is corrupted at one rate is corrupted in
        the same way at every higher rate; of moved items this holds for the choice of items, not
        for their new positions.

    Returns
    -------
    Corrupted
        ``.value`` is the corrupted document, ``.record`` has one row per change.

    Raises
    ------
    SchemaError, ConfigError
        The schema cannot be read.
    InputError
        Gold is not JSON, the corruption is unknown, or a number is out of range.

    Notes
    -----
    None in the record is either a JSON null or no value: ``before`` is None for an invented item,
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
    (what,) = chosen([corruption])
    document, how = _read(schema, gold, strength, donors)
    changes = corrupt_one_way(document, what, Draws(str(seed), rate), how)
    return Corrupted(document.value, RECORD_COLUMNS.from_rows(record_rows(changes)))


#: How values are corrupted: how much of each changes, and the values of other documents.
How: TypeAlias = tuple[float, Sequence[Pool]]


def _read(schema: Any, gold: Any, strength: float, donors: Iterable[Any]) -> tuple[Document, How]:
    """Read the schema, gold and donors of a user."""
    check_share("strength", strength, above=0)
    root = parse_schema(schema).root
    values = []
    for what, source in (("gold", gold), *(("donor", donor) for donor in donors)):
        values.append(copied(read_document(source, what)))
        refuse_non_json(values[-1])
    return Document(root, values[0]), (strength, [pool_of(root, value) for value in values[1:]])


def check_share(name: str, value: Any, above: float | None = None) -> None:
    """Raise `InputError` unless a value lies in [0, 1], and above a bound if one is given."""
    number = isinstance(value, Real) and not isinstance(value, bool)
    if not number or not 0 <= value <= 1 or (above is not None and value <= above):
        expected = "a number from 0 to 1" if above is None else f"above {above:g}, up to 1"
        raise InputError(f"{name}={value!r}; expected {expected}")


def corrupt_one_way(
    document: Document, corruption: Corruption, draws: Draws, how: How
) -> list[Change]:
    """Corrupt a document in one way."""
    of_corruption = replace(draws, seed=f"{draws.seed}\x1f{corruption.name}")
    return corruption.apply(Task(corruption.name, document, of_corruption, *how))


_NESTING, _SHUFFLE, _MERGE = "wrong_nesting", "shuffle_items", "merge_items"


def corrupt_mixed(
    schema: SchemaSource,
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
    schema : dict, str, pathlib.Path, Schema, Pydantic model class or TypeAdapter
        JSON Schema: a dict, JSON text, a file, or parsed.
    gold : object
        The gold document: a value, a ``pathlib.Path`` (a file) or a ``str`` (JSON text).
    rates : mapping of str to float
        Probability of each corruption that `corruptions` lists, in [0, 1]. If two are drawn for one
        place, the one that is listed first is applied.
    strength : float, optional
        Share of a value that changes, above 0 and up to 1; see `corrupt_document`.
    donors : iterable of object, optional
        Gold values of other documents under the same schema.
    seed : int or str, optional
        The same seed gives the same result.

    Returns
    -------
    Corrupted
        ``.value`` is the corrupted document, ``.record`` has one row per change, with gold's paths.
        No path changes twice, and nothing changes inside a dropped, duplicated, split or merged
        item, or inside an object or array that was moved to a wrong level.

    Raises
    ------
    SchemaError, ConfigError
        The schema cannot be read.
    InputError
        Gold is not JSON, a corruption is unknown, or a number is out of range.

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
    document, how = _read(schema, gold, strength, donors)
    changes = corrupt_several_ways(document, rates, str(seed), how)
    return Corrupted(document.value, RECORD_COLUMNS.from_rows(record_rows(changes)))


def check_rates(rates: Any, name: str = "rates") -> None:
    """Raise `InputError` unless a mapping has known corruptions and probabilities."""
    if not isinstance(rates, Mapping):
        raise InputError(f"{name} is {rates!r}; expected a dict such as {{'typo': 0.1}}")
    if rates:
        chosen(rates)
    for corruption, rate in rates.items():
        check_share(f"{name}[{corruption!r}]", rate)


def record_rows(changes: Iterable[Change]) -> list[tuple[Any, ...]]:
    """Return the rows of a record: path, field, corruption, item, before, after."""
    rows = []
    for name, place, before, after in changes:
        item = place.key if isinstance(place.key, int) else None
        rows.append((place.path, place.node.field, name, item, copied(before), copied(after)))
    return rows


def corrupt_several_ways(
    document: Document,
    rates: Mapping[str, float],
    seed: str,
    how: How,
    allowed: Conformance | None = None,
) -> list[Change]:
    """Corrupt a document in several ways, only as `allowed` permits; in document order."""
    draws = {
        name: Draws(f"{seed}\x1f{name}", rates[name])
        for name, corruption in CORRUPTIONS.items()
        if rates.get(name) and (allowed is None or corruption.level != STRUCTURE)
    }
    mixture = _Mixture(document, draws, how)
    mixture.plan()
    mixture.change_values(allowed)
    mixture.write_arrays(allowed)
    return mixture.changes()


@dataclass(slots=True)
class _Array:
    """An array and the changes of its items, by gold's index."""

    items: list[Any]
    rewrites: dict[int, Rewrite] = field(default_factory=dict)
    moved: list[tuple[Place, Any]] = field(default_factory=list)
    _before: list[Any] = field(default_factory=list)
    _origin: list[int] = field(default_factory=list)

    def _moves(self) -> list[tuple[tuple[Place, Any], tuple[Place, Any]]]:
        """Pair each moved item with the next one, which takes its place; a single one stays."""
        moved = self.moved if len(self.moved) > 1 else []
        return list(zip(moved, moved[1:] + moved[:1], strict=True))

    def write(self) -> None:
        """Write the array from its items at the time of the first call."""
        self._before = self._before or list(self.items)
        order = list(range(len(self._before)))
        for (place, _), (other, _) in self._moves():
            order[place.key] = other.key
        gone = {
            i + 1 for i, rewrite in self.rewrites.items() if rewrite.change.corruption == _MERGE
        }
        new: list[tuple[int, Any]] = []
        for i in order:
            rewrite = self.rewrites.get(i)
            if i not in gone and (rewrite is None or rewrite.stays):
                new.append((i, self._before[i]))
            new.extend((i, item) for item in (rewrite.added if rewrite else ()))
        self._origin = [i for i, _ in new]
        self.items[:] = [item for _, item in new]

    def rewritten(self, index: int | None) -> set[int]:
        """Return the indices of the gold items behind an index; with None, of all that changed."""
        return {i for i in self.rewrites if index is None or i == self._origin[index]}

    def changes(self) -> list[Change]:
        """Return the changes, moved items last."""
        rewrites = [rewrite.change for _, rewrite in sorted(self.rewrites.items())]
        moves = self._moves()
        return rewrites + [Change(_SHUFFLE, *item, other) for item, (_, other) in moves]


def _rewrite_item(name: str, place: Place, seed: str, donors: Sequence[Pool]) -> Rewrite | None:
    """Plan a corruption of one item; None if it does not apply."""
    if name == _MERGE:
        before = copied(place.box[place.key : place.key + 2])
        both = merged(*copied(before)) if len(before) > 1 else None
        change = Change(name, place, before, copied(both))
        return None if both is None else Rewrite(False, [both], change)
    # the text that seeds a split has always named the item's place in an array of its own
    how = "\x1f$[0]\x1fhow" if name == "split_items" else ""
    return ITEM_REWRITES[name](place, generator(f"{seed}\x1f{place.path}{how}"), donors)


class _Mixture:
    """A document and the corruptions that are drawn for it."""

    def __init__(self, document: Document, draws: Mapping[str, Draws], how: How) -> None:
        self.document, self.draws, self.how = document, draws, how
        # found in gold, before anything is changed
        self.arrays = {place.path: _Array(place.value) for place in document.arrays}
        self.keyless = {p.path for p in document.absent if p.key not in p.box}
        self.leaves = document.leaves
        self.taken: set[str] = set()
        self.closed: set[str] = set()
        self.nested: set[str] = set()
        self.done: list[Change] = []

    def plan(self) -> None:
        """Choose the corruptions of items and of levels, outer places first."""
        lifted: dict[int, set[str]] = {}
        for place in self.document.places:
            above = place.above.path if place.above is not None else None
            if place.path in self.closed or above in self.closed:
                self.closed.add(place.path)
            elif self._is_misplaced(place, lifted):
                self.nested.add(place.path)
                self.closed.add(place.path)
            elif above in self.arrays:
                self._plan_item(place, self.arrays[above])
        self.closed.update(
            p.path for p in self.document.absent if p.above and p.above.path in self.closed
        )
        self.taken |= self.closed

    def _is_misplaced(self, place: Place, lifted: dict[int, set[str]]) -> bool:
        """Whether a container is drawn for the wrong level and its members fit there.

        `lifted` holds, for each object, the names that are taken on the level above its members.
        """
        draws = self.draws.get(_NESTING)
        if draws is None or not draws.hits(place.path) or not isinstance(place.box, dict):
            return False
        if not isinstance(place.value, dict):
            return isinstance(place.value, list) and bool(place.value)
        above = place.above.node.children.properties if place.above is not None else {}
        names = lifted.setdefault(id(place.box), {*above, *place.box})
        fits = bool(place.value) and names.isdisjoint(place.value)
        if fits:
            names.update(place.value)
        return fits

    def _plan_item(self, place: Place, array: _Array) -> None:
        for name, draws in self.draws.items():
            if CORRUPTIONS[name].level != ITEM or not draws.hits(place.path):
                continue
            if name == _SHUFFLE:
                array.moved.append((place, copied(place.value)))
            else:
                rewrite = _rewrite_item(name, place, draws.seed, self.how[1])
                if rewrite is None:
                    continue
                array.rewrites[place.key] = rewrite
                if name != "spurious_items":  # what is inside cannot be changed too
                    stem = place.path[: place.path.rindex("[")]
                    items = (place.key, place.key + 1) if name == _MERGE else (place.key,)
                    self.closed.update(f"{stem}[{item}]" for item in items)
            self.taken.add(place.path)
            return

    def change_values(self, allowed: Conformance | None) -> None:
        """Apply the changes of values, members and levels; undo what violates the schema."""

        def is_free(path: str) -> bool:
            return path not in self.taken

        for name, draws in self.draws.items():
            if CORRUPTIONS[name].level == ITEM:
                continue
            allowed_here = self.nested.__contains__ if name == _NESTING else is_free
            task = Task(name, self.document, replace(draws, allowed=allowed_here), *self.how)
            changes = CORRUPTIONS[name].apply(task)
            self.done.extend(changes)
            self.taken.update(change.place.path for change in changes)
        while allowed is not None:
            locations = [
                (i, tuple(p.key for p in reversed((c.place, *c.place.ancestors())) if p.above))
                for i, c in enumerate(self.done)
            ]
            guilty: set[int] = set()
            for where, cause in allowed.faults(self.document.value):
                here = {i for i, location in locations if touches(location, cause)}
                guilty |= here or {i for i, location in locations if touches(location, where)}
            for i in sorted(guilty, reverse=True):
                _, place, before, _ = self.done.pop(i)
                if place.path in self.keyless:
                    del place.box[place.key]
                else:
                    place.put(before)
            if not guilty:
                return

    def write_arrays(self, allowed: Conformance | None) -> None:
        """Write the arrays with their changes, inner ones first; undo what violates the schema."""
        changed = [a for a in self.arrays.values() if a.rewrites or len(a.moved) > 1]
        for array in reversed(changed):
            array.write()
        arrays = {id(array.items): array for array in changed}
        while allowed is not None:
            guilty: dict[int, set[int]] = {}
            for where, cause in allowed.faults(self.document.value):
                ways = (
                    _arrays_above(self.document.value, place, arrays) for place in (cause, where)
                )
                rewritten = (
                    (a, items) for way in ways for a, i in way if (items := a.rewritten(i))
                )
                for array, items in islice(rewritten, 1):  # the deepest
                    guilty.setdefault(id(array.items), set()).update(items)
            for array_id, items in guilty.items():
                for item in items:
                    del arrays[array_id].rewrites[item]
                arrays[array_id].write()
            if not guilty:
                return

    def changes(self) -> list[Change]:
        """Return what was done, in document order."""
        done = self.done + [change for array in self.arrays.values() for change in array.changes()]
        order = {place.path: i for i, place in enumerate(self.document.places)}

        def position(change: Change) -> tuple[int, str]:
            path = change.place.path
            return order.get(path, len(order)), path

        return sorted(done, key=position)


def _arrays_above(
    value: Any, location: Location, arrays: Mapping[int, _Array]
) -> list[tuple[_Array, int | None]]:
    """List the rewritten arrays above a place, deepest first, with the index in each."""
    above: list[tuple[_Array, int | None]] = []
    for key in (*location, None):
        array = arrays.get(id(value))
        if array is not None:
            above.append((array, key))
        if key is not None:
            value = value.get(key) if isinstance(value, dict) else value[key]
    return above[::-1]


def violated(
    document: Document, changes: Iterable[Change], allowed: Conformance, rng: Random
) -> Change | None:
    """Write one scalar that was not changed as a type that the schema does not allow there."""
    changed = {change.place.path for change in changes}
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
        others: list[Any] = [] if before is None or isinstance(before, str) else [json_text(before)]
        others += [] if isinstance(before, list | dict) else [[before]]
        for after in others:
            place.put(after)
            if allowed.faults(document.value):
                return Change("wrong_type", place, before, copied(after))
        place.put(before)
    return None
