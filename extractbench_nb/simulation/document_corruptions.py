"""The corruptions by name, and `corrupt_document`."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any, NamedTuple

import pandas as pd

from extractbench_nb.core import refuse_non_json
from extractbench_nb.core.frames import Column, FrameSpec
from extractbench_nb.core.schema import MISSING, SchemaSource, parse_schema
from extractbench_nb.core.values import json_text, json_type, read_document
from extractbench_nb.errors import InputError, nearest
from extractbench_nb.simulation.documents import Document, Place, Task, copied, pool_of
from extractbench_nb.simulation.value_corruptions import (
    CHANGED,
    KEPT,
    UNCLEAR,
    VALUE_CORRUPTIONS,
    corrupt,
)
from extractbench_nb.stats import check_share


class Change(NamedTuple):
    """One change: the place in gold, its old value and its new one."""

    place: Place
    before: Any
    after: Any


class Corruption(NamedTuple):
    """A corruption of documents; `apply` changes the document of a task."""

    name: str
    level: str
    meaning: str
    summary: str
    apply: Callable[[Task], list[Change]]


# --- values and members -----------------------------------------------------------------------


def _replace(
    task: Task, places: Iterable[Place], new_value: Callable[[Task, Place], Any]
) -> list[Change]:
    """Replace the value at each drawn place; `MISSING` leaves it as it is."""
    changes = []
    for place in filter(task.draws, places):
        before, after = place.value, new_value(task, place)
        if after is not MISSING:
            changes.append(Change(place, before, after))
            place.put(after)
    return changes


def _change_values(name: str, task: Task) -> list[Change]:
    def corrupted(task: Task, place: Place) -> Any:
        value = corrupt(name, place.value, task.strength, f"{task.seed}\x1f{place.path}")
        return MISSING if value is None else value

    return _replace(task, task.document.leaves, corrupted)


def _substitute(task: Task) -> list[Change]:
    def borrowed(task: Task, place: Place) -> Any:
        value = task.borrow(place, (place.value,))
        return MISSING if isinstance(value, dict | list) else value

    return _replace(task, task.document.leaves, borrowed)


def _wrong_type(task: Task) -> list[Change]:
    """Write a scalar as a type that neither the schema nor gold has at its place."""

    def retyped(_: Task, place: Place) -> Any:
        value, types = place.value, place.node.types
        for other in (json_text(value), [value]):
            if types and json_type(other) not in {*types, json_type(value)}:
                return other
        return MISSING

    return _replace(task, task.document.leaves, retyped)


def _members(task: Task) -> list[Place]:
    return [place for place in task.document.leaves if isinstance(place.box, dict)]


def _null_out(task: Task) -> list[Change]:
    return _replace(task, _members(task), lambda *_: None)


def _omit(task: Task) -> list[Change]:
    drawn = list(filter(task.draws, _members(task)))
    return [Change(place, place.box.pop(place.key), None) for place in drawn]


def _hallucinate(task: Task) -> list[Change]:
    return _replace(task, task.document.absent, lambda task, place: task.borrow(place, ()))


# --- items ------------------------------------------------------------------------------------

#: What is done to the items of one array: the changes, and the new items.
_Items = tuple[list[Change], list[Any]]


def _of_arrays(change_items: Callable[[Task, list[Place]], _Items], task: Task) -> list[Change]:
    """Change the items of every array, inner arrays first."""
    by_array = []
    for array in reversed(task.document.arrays):
        places = [array.item(i) for i in range(len(array.value))]
        changes, array.value[:] = change_items(task, places)
        by_array.append(changes)
    return [change for changes in reversed(by_array) for change in changes]


#: Rewrites one item: the items in its place, and the recorded values before and after.
_Rewrite = Callable[[Task, Place], tuple[list[Any], Any, Any] | None]


def _rewrite_items(rewrite: _Rewrite, task: Task) -> list[Change]:
    """Rewrite each drawn item; None leaves an item as it is."""

    def change_items(task: Task, places: list[Place]) -> _Items:
        changes: list[Change] = []
        items: list[Any] = []
        for place in places:
            rewritten = rewrite(task, place) if task.draws(place) else None
            new, *recorded = rewritten or ([place.value],)
            changes += [Change(place, *recorded)] if recorded else []
            items += new
        return changes, items

    return _of_arrays(change_items, task)


def _drop_items(task: Task) -> list[Change]:
    changes = _rewrite_items(lambda _, place: ([], place.value, None), task)
    dropped = {change.place.path for change in changes}

    def is_inside(path: str) -> bool:
        return any(path[:i] in dropped for i, mark in enumerate(path) if mark in ".[")

    # a dropped item has one row, and none for what it held
    return [change for change in changes if not is_inside(change.place.path)]


def _duplicated(_: Task, place: Place) -> tuple[list[Any], Any, Any]:
    twice = [place.value, copied(place.value)]
    return twice, place.value, twice


def _split(task: Task, place: Place) -> tuple[list[Any], Any, Any] | None:
    """Split an item in two: a text between words, an object or array between members."""
    item = place.value
    parts: list[Any] = item.split() if isinstance(item, str) else []
    if isinstance(item, dict | list):
        parts = list(item.items()) if isinstance(item, dict) else item
    if len(parts) <= 1:
        return None
    cut = task.generator(place).randrange(1, len(parts))
    halves = parts[:cut], parts[cut:]
    new = [" ".join(half) if isinstance(item, str) else type(item)(half) for half in halves]
    return new, item, new


def _spurious(task: Task, place: Place) -> tuple[list[Any], Any, Any] | None:
    new = task.borrow(place, place.box)
    return None if new is MISSING else ([place.value, new], None, new)


def _shuffled(task: Task, places: list[Place]) -> _Items:
    """Permute the drawn items so that none keeps its position."""
    items = [place.value for place in places]
    drawn = list(filter(task.draws, places))
    if len(drawn) <= 1:
        return [], items
    order: list[Place] = list(drawn)
    task.generator(places[0]).shuffle(order)
    pairs = zip(order, order[1:] + order[:1], strict=True)
    new = {place.key: other.value for place, other in pairs}
    changes = [Change(place, place.value, new[place.key]) for place in drawn]
    return changes, [new.get(i, item) for i, item in enumerate(items)]


def _merged(task: Task, places: list[Place]) -> _Items:
    changes: list[Change] = []
    items: list[Any] = []
    joins = False
    for place in places:
        both = _joined(items[-1], place.value) if joins else None
        if both is None:
            items.append(place.value)
        else:
            before = [items[-1], place.value]
            changes.append(Change(places[place.key - 1], before, both))
            items[-1] = both
        joins = task.draws(place)
    return changes, items


def _joined(first: Any, second: Any) -> Any:
    """Join two texts, two arrays or two objects; None for all other values."""
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


# --- the table --------------------------------------------------------------------------------

_rewriting = partial(partial, _rewrite_items)

#: All corruptions by name.
CORRUPTIONS = {
    corruption.name: corruption
    for corruption in (
        *(
            Corruption(name, "value", meaning, summary, partial(_change_values, name))
            for name, (meaning, summary, _) in VALUE_CORRUPTIONS.items()
        ),
        Corruption("substitute", "value", CHANGED, "another document's value", _substitute),
        Corruption("null_out", "presence", CHANGED, "null for a member's value", _null_out),
        Corruption("omit", "presence", CHANGED, "key and value left out", _omit),
        Corruption("hallucinate", "presence", CHANGED, "a value where gold has none", _hallucinate),
        Corruption("shuffle_items", "item", KEPT, "items moved", partial(_of_arrays, _shuffled)),
        Corruption("drop_items", "item", CHANGED, "items left out", _drop_items),
        Corruption("duplicate_items", "item", CHANGED, "items twice", _rewriting(_duplicated)),
        Corruption("split_items", "item", CHANGED, "items broken in two", _rewriting(_split)),
        Corruption("merge_items", "item", CHANGED, "items joined", partial(_of_arrays, _merged)),
        Corruption("spurious_items", "item", CHANGED, "items invented", _rewriting(_spurious)),
        Corruption("wrong_type", "structure", UNCLEAR, "a number as text, and so on", _wrong_type),
    )
}

CORRUPTION_COLUMNS = FrameSpec(
    "corruptions",
    "one row per corruption",
    (
        Column("corruption", "string", "name"),
        Column("level", "string", "what it changes", "value, presence, item, structure"),
        Column("meaning", "string", "whether the meaning is kept", "kept, unclear, changed"),
        Column("summary", "string", "what the corruption does"),
    ),
)


def corruptions() -> pd.DataFrame:
    """List the corruptions that `corrupt_document` and `sensitivity` support.

    Returns
    -------
    pandas.DataFrame
        One row per corruption: corruption, level, meaning (kept, unclear, changed), summary.

    Examples
    --------
    >>> corruptions().set_index("corruption").loc["shuffle_items", "meaning"]
    'kept'
    """
    return CORRUPTION_COLUMNS.from_rows(corruption[:4] for corruption in CORRUPTIONS.values())


def chosen(names: Iterable[str]) -> list[Corruption]:
    """Return corruptions by name."""
    for name in names:
        if name not in CORRUPTIONS:
            raise InputError(f"corruption is {name!r}; {nearest(name, CORRUPTIONS)}")
    return [CORRUPTIONS[name] for name in dict.fromkeys(names)]


# --- documents --------------------------------------------------------------------------------

RECORD_COLUMNS = FrameSpec(
    "record",
    "one row per change",
    (
        Column("path", "string", "path in gold"),
        Column("field", "string", "path without indices"),
        Column("corruption", "string", "what was done"),
        Column("item", "Int64", "index of the gold item in its array", "0 and up", True),
        Column("before", "object", "gold value; both items if two are merged", "", True),
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
    corruption: str | Mapping[str, float],
    rate: float = 0.1,
    *,
    strength: float = 0.3,
    donors: Iterable[Any] = (),
    seed: int | str = 0,
) -> Corrupted:
    """Corrupt a gold document in one way or in several, and record each change.

    Parameters
    ----------
    schema, gold : object
        As `evaluate` takes them. Only what the schema declares and does not skip is corrupted.
    corruption : str or mapping of str to float
        A name that `corruptions` lists; or several names with the rate of each, which are applied
        one after another, items of arrays last.
    rate : float, optional
        Probability that a place is corrupted, in [0, 1], independent of all other places, if
        `corruption` is a name.
    strength : float, optional
        Share of a corrupted value's words, letters, digits or units that changes, in [0, 1]; at
        least one changes.
    donors : iterable of object, optional
        Gold values of other documents under the same schema. ``hallucinate``, ``substitute`` and
        ``spurious_items`` borrow values from them, and change nothing without donors.
    seed : int or str, optional
        The same seed gives the same result. A place that is corrupted at one rate is corrupted at
        every higher rate.

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
    ``before`` is None for an invented item, ``after`` for an omitted value. Items inside a dropped
    item have no rows of their own. With several corruptions, path and ``before`` are those of the
    document that the earlier ones left.

    Examples
    --------
    >>> schema = {"type": "object", "properties": {"year": {"type": "integer"}}}
    >>> made = corrupt_document(schema, {"year": 2031}, "sign", rate=1)
    >>> made.value
    {'year': -2031}
    >>> made.record[["path", "corruption", "before", "after"]].values.tolist()
    [['$.year', 'sign', 2031, -2031]]
    """
    rates = corruption if isinstance(corruption, Mapping) else {corruption: rate}
    chosen(rates)
    for number in rates.values():
        check_share("rate", number)
    check_share("strength", strength)
    root = parse_schema(schema).root
    values = []
    for what, source in (("gold", gold), *(("donor", donor) for donor in donors)):
        values.append(copied(read_document(source, what)))
        refuse_non_json(values[-1])
    value, pools = values[0], [pool_of(root, donor) for donor in values[1:]]
    rows = []
    for one in sorted((c for c in CORRUPTIONS.values() if c.name in rates), key=_turn):
        document = Document(root, value)
        task = Task(document, f"{seed}\x1f{one.name}", rates[one.name], strength, pools)
        for place, before, after in one.apply(task):
            item = place.key if isinstance(place.key, int) else None
            ids = (place.path, place.node.field, one.name, item)
            rows.append((*ids, copied(before), copied(after)))
        value = document.value
    return Corrupted(value, RECORD_COLUMNS.from_rows(rows))


def _turn(corruption: Corruption) -> int:
    """Order corruptions: omitted values are not filled; indices stay gold's until items change."""
    return 0 if corruption.name == "hallucinate" else 2 if corruption.level == "item" else 1
