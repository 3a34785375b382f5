"""The corruptions by name: what each one changes, where, and whether the meaning is kept."""

from __future__ import annotations

import json
import random
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import pandas as pd

from extractbench_nb.core.frames import Column, FrameSpec
from extractbench_nb.core.schema import MISSING
from extractbench_nb.core.values import json_text, json_type
from extractbench_nb.errors import InputError, nearest
from extractbench_nb.simulation.documents import (
    Change,
    Place,
    Pool,
    Task,
    borrowed,
    copied,
    generator,
    some,
)

#: Whether a corrupted value still has the same meaning.
KEPT, UNCLEAR, CHANGED = "kept", "unclear", "changed"

#: What a corruption works on.
VALUE, PRESENCE, ITEM, STRUCTURE = "value", "presence", "item", "structure"

_PAIR = 2

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


# --- single texts and numbers -----------------------------------------------------------------

_Function = Callable[[Any, float, random.Random], Any]

_TOKEN = re.compile(r"\S+")
_GAP = re.compile(r"(?<=\S)\s+(?=\S)")
_DIGIT = re.compile(r"\d")
_LETTER = re.compile(r"[^\W\d_]")
_WORD = re.compile(r"[^\W\d_]{3,}")
_LETTERS = "abcdefghijklmnopqrstuvwxyz"

_WORDS = json.loads((Path(__file__).parent / "data/words.json").read_text(encoding="utf-8"))
#: A unit and one that is another: in scale, in currency, in time or in length.
_UNITS: Mapping[str, str] = _WORDS["units"]
_SHORT: Mapping[str, str] = _WORDS["abbreviations"]
_UNIT = re.compile(
    r"[$€£%]|(?<![a-z])(?:" + "|".join(u for u in _UNITS if u.isalpha()) + r")(?![a-z])",
    re.IGNORECASE,
)


def _replacing(pattern: re.Pattern[str], change: Callable[[str, random.Random], str]) -> _Function:
    """Return the corruption that changes a share of the places that a pattern finds."""

    def replaced(text: str, strength: float, rng: random.Random) -> str | None:
        found = [(match.start(), rng.random()) for match in pattern.finditer(text)]
        if not found:
            return None
        chosen = dict(some(found, strength, rng))

        def swap(match: re.Match[str]) -> str:
            seed = chosen.get(match.start())
            return match[0] if seed is None else change(match[0], random.Random(seed))

        return pattern.sub(swap, text)

    return replaced


_wider = _replacing(_GAP, lambda gap, rng: gap + rng.choice(" \n\t"))


def _whitespace(text: str, strength: float, rng: random.Random) -> str:
    """Put more space between words."""
    return _wider(text, strength, rng) or f" {text}  "


def _word_order(text: str, strength: float, rng: random.Random) -> str | None:
    """Exchange neighbouring words."""
    words = _TOKEN.findall(text)
    if len(words) < _PAIR:
        return None
    for i in some(range(len(words) - 1), strength, rng):
        words[i], words[i + 1] = words[i + 1], words[i]
    return " ".join(words)


def _misspell(word: str, rng: random.Random) -> str:
    i = rng.randrange(1, len(word) - 1)
    kind = rng.choice(("swap", "drop", "other"))
    if kind == "swap":
        return word[:i] + word[i + 1] + word[i] + word[i + 2 :]
    return word[:i] + (rng.choice(_LETTERS) if kind == "other" else "") + word[i + 1 :]


def _dropped_word(text: str, strength: float, rng: random.Random) -> str | None:
    """Leave out words, but not all."""
    words = _TOKEN.findall(text)
    if len(words) < _PAIR:
        return None
    gone = set(some(range(len(words)), min(strength, 1 - 1 / len(words)), rng))
    return " ".join(word for i, word in enumerate(words) if i not in gone)


def _truncation(text: str, strength: float, _: random.Random) -> str | None:
    """Cut off the end; at least one character is removed and one remains."""
    length = min(len(text) - 1, max(1, round(len(text) * (1 - strength))))
    return text[:length] if length > 0 else None


_LONG = re.compile(r"(?<!\w)(?:" + "|".join(_SHORT) + r")(?!\w)", re.IGNORECASE)

_MONTHS = (
    "January February March April May June July August September October November December"
).split()
_MONTH = "|".join(_MONTHS)
_DATE = re.compile(
    r"(?<!\w)(?:(?P<iso>\d{4})-(?P<month>0[1-9]|1[0-2])-(?P<day>0[1-9]|[12]\d|3[01])"
    rf"|(?P<day_first>[1-9]|[12]\d|3[01]) (?P<name>{_MONTH}) (?P<year>\d{{4}})"
    rf"|(?P<name_first>{_MONTH}) (?P<day_second>[1-9]|[12]\d|3[01]), (?P<year_last>\d{{4}}))(?!\w)"
)


def _rewritten(found: str, rng: random.Random) -> str:
    """Write a date in another format."""
    match = _DATE.fullmatch(found)
    assert match is not None  # noqa: S101 - the pattern found it
    part = match.groupdict()
    year = part["iso"] or part["year"] or part["year_last"]
    day = int(part["day"] or part["day_first"] or part["day_second"])
    month = int(part["month"] or 1 + _MONTHS.index(part["name"] or part["name_first"]))
    formats = (
        f"{year}-{month:02}-{day:02}",
        f"{day} {_MONTHS[month - 1]} {year}",
        f"{_MONTHS[month - 1]} {day}, {year}",
    )
    return rng.choice([text for text in formats if text != found])


_changed_digit = _replacing(
    _DIGIT, lambda digit, rng: rng.choice([d for d in "0123456789" if d != digit])
)


def _changed_digits(number: float, strength: float, rng: random.Random) -> float | None:
    """Replace a share of the digits, at least one."""
    text = _changed_digit(repr(number), strength, rng)
    return _like(number, text) if text is not None and "e" not in text else None


def _rounding(number: float, strength: float, _: random.Random) -> float | None:
    """Keep the leading significant digits: fewer of them at a higher strength."""
    digits = len(_DIGIT.findall(repr(abs(number)).strip("0").lstrip(".")))
    significant = min(digits - 1, max(1, round(digits * (1 - strength))))
    return _like(number, f"{number:.{significant}g}") if significant > 0 else None


def _like(number: float, text: str) -> float:
    is_integer = isinstance(number, int)
    return int(text) if is_integer and text.lstrip("-").isdigit() else type(number)(float(text))


#: Greatest number that is corrupted: a million times as much is still finite.
LARGEST = 1e300

_TRIES = 20

#: By name: whether the meaning is kept, what is done, and the function for each kind of value.
VALUE_CORRUPTIONS: Mapping[str, tuple[str, str, Mapping[str, _Function]]] = {
    "whitespace": (KEPT, "more space between words", {"string": _whitespace}),
    "case": (
        KEPT,
        "letters in the other case",
        {"string": _replacing(_LETTER, lambda letter, _: letter.swapcase())},
    ),
    "abbreviation": (
        KEPT,
        "ordinary words shortened",
        {"string": _replacing(_LONG, lambda word, _: _SHORT[word.lower()])},
    ),
    "date_format": (KEPT, "dates in another format", {"string": _replacing(_DATE, _rewritten)}),
    "word_order": (UNCLEAR, "neighbouring words exchanged", {"string": _word_order}),
    "typo": (UNCLEAR, "a letter of a word changed", {"string": _replacing(_WORD, _misspell)}),
    "rounding": (UNCLEAR, "fewer significant digits", {"number": _rounding}),
    "dropped_word": (CHANGED, "words left out", {"string": _dropped_word}),
    "truncation": (CHANGED, "the end cut off", {"string": _truncation}),
    "changed_digit": (
        CHANGED,
        "digits replaced",
        {"string": _changed_digit, "number": _changed_digits},
    ),
    "unit": (
        CHANGED,
        "a unit replaced by another; thousands or millions for units",
        {
            "string": _replacing(_UNIT, lambda unit, _: _UNITS[unit.lower()]),
            "number": lambda number, share, _: number * (1_000 if share <= 1 / 2 else 1_000_000),
        },
    ),
    "sign": (CHANGED, "minus for plus", {"number": lambda number, *_: -number}),
}


def kind_of(value: object) -> str | None:
    """Return ``string`` or ``number``; None for a value that is not corrupted."""
    if isinstance(value, str):
        return "string" if value else None
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    return "number" if abs(value) <= LARGEST else None


def kinds(name: str) -> list[str]:
    """Return the kinds of value that a corruption applies to; none if it needs a document."""
    return list(VALUE_CORRUPTIONS[name][2]) if name in VALUE_CORRUPTIONS else []


def corrupt(name: str, value: Any, strength: float, seed: str) -> Any:
    """Corrupt one value; None if the corruption does not apply."""
    kind = kind_of(value)
    if kind is None or kind not in kinds(name):
        return None
    function = VALUE_CORRUPTIONS[name][2][kind]
    for attempt in range(_TRIES):  # swapping equal words changes nothing
        found = function(value, strength, generator(f"{seed}\x1f{attempt}"))
        if found is None or found != value:
            return found
    return None


# --- values -----------------------------------------------------------------------------------

#: A function that returns the new value of a place; `MISSING` leaves the place unchanged.
After = Callable[[Task, Place], Any]


def _each(places: Iterable[Place], task: Task, after: After) -> list[Change]:
    """Replace the value at each drawn place with the result of a function."""
    changes = []
    for place in places:
        if task.draws.hits(place.path):
            before, new = place.value, after(task, place)
            if new is not MISSING:
                changes.append(Change(task.corruption, place, before, new))
                place.put(new)
    return changes


def _changing(name: str) -> Apply:
    def after(task: Task, place: Place) -> Any:
        value = corrupt(name, place.value, task.strength, f"{task.draws.seed}\x1f{place.path}")
        return MISSING if value is None else value

    return lambda task: _each(task.document.leaves, task, after)


for _name, (_meaning, _summary, _kinds) in VALUE_CORRUPTIONS.items():
    _places = " and ".join({"string": "texts", "number": "numbers"}[kind] for kind in _kinds)
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
    return [Change(task.corruption, place, place.box.pop(place.key), None) for place in drawn]


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

#: Changes the items of one array: takes the task and the places, returns changes and new items.
_ChangeItems = Callable[[Task, list[Place]], tuple[list[Change], list[Any]]]


def _of_arrays(
    name: str, meaning: str, places: str, summary: str
) -> Callable[[_ChangeItems], _ChangeItems]:
    """Register a corruption of the items of every array, inner arrays first."""

    def register(change_items: _ChangeItems) -> _ChangeItems:
        def apply(task: Task) -> list[Change]:
            by_array = []
            for array in reversed(task.document.arrays):
                places = [array.item(i) for i in range(len(array.value))]
                changes, array.value[:] = change_items(task, places)
                by_array.append(changes)
            in_order = [change for changes in reversed(by_array) for change in changes]
            # a dropped item has one row, and none for what it held
            dropped = {c.place.path for c in in_order if name == "drop_items"}
            return [change for change in in_order if not change.place.is_inside(dropped)]

        CORRUPTIONS[name] = Corruption(name, ITEM, meaning, places, summary, apply)
        return change_items

    return register


#: Rewrites one item: the items in its place, and the recorded values before and after.
_Rewrite = Callable[[Place, random.Random, Sequence[Pool]], tuple[list[Any], Any, Any] | None]


def _rewriting(name: str, places: str, summary: str) -> Callable[[_Rewrite], _Rewrite]:
    """Register a corruption that rewrites each drawn item; None leaves an item as it is."""

    def register(rewrite: _Rewrite) -> _Rewrite:
        @_of_arrays(name, CHANGED, places, summary)
        def change_items(task: Task, places: list[Place]) -> tuple[list[Change], list[Any]]:
            changes: list[Change] = []
            items: list[Any] = []
            for place in places:
                rewritten = None
                if task.draws.hits(place.path):
                    rewritten = rewrite(place, task.draws.generator(place.path), task.donors)
                new, *recorded = rewritten or ([place.value],)
                changes += [Change(name, place, *recorded)] if recorded else []
                items += new
            return changes, items

        return rewrite

    return register


@_of_arrays("shuffle_items", KEPT, _ITEMS, "items moved")
def _shuffle(task: Task, places: list[Place]) -> tuple[list[Change], list[Any]]:
    """Permute the drawn items of each array so that none keeps its position."""
    items = [place.value for place in places]
    drawn = [place for place in places if task.draws.hits(place.path)]
    if len(drawn) < _PAIR:
        return [], items
    order = list(drawn)
    task.draws.generator(places[0].path).shuffle(order)
    pairs = zip(order, order[1:] + order[:1], strict=True)
    new = {place.key: other.value for place, other in pairs}
    changes = [Change(task.corruption, place, place.value, new[place.key]) for place in drawn]
    return changes, [new.get(i, item) for i, item in enumerate(items)]


@_rewriting("drop_items", _ITEMS, "items left out")
def _drop(place: Place, *_: Any) -> tuple[list[Any], Any, Any]:
    return [], place.value, None


@_rewriting("duplicate_items", _ITEMS, "items twice")
def _duplicate(place: Place, *_: Any) -> tuple[list[Any], Any, Any]:
    twice = [place.value, copied(place.value)]
    return twice, place.value, twice


@_rewriting("split_items", "items of arrays that have two parts or words", "an item broken in two")
def _split(place: Place, rng: random.Random, _: Any) -> tuple[list[Any], Any, Any] | None:
    """Split an item in two: a text between words, an object or array between members."""
    item = place.value
    parts: list[Any] = item.split() if isinstance(item, str) else []
    if isinstance(item, dict | list):
        parts = list(item.items()) if isinstance(item, dict) else item
    if len(parts) < _PAIR:
        return None
    cut = rng.randrange(1, len(parts))
    halves = parts[:cut], parts[cut:]
    new = [" ".join(half) if isinstance(item, str) else type(item)(half) for half in halves]
    return new, item, new


@_of_arrays(
    "merge_items",
    CHANGED,
    "items of arrays with a next one of the same type",
    "an item run together with the next",
)
def _merge(task: Task, places: list[Place]) -> tuple[list[Change], list[Any]]:
    changes: list[Change] = []
    items: list[Any] = []
    joins = False
    for place in places:
        both = _merged(items[-1], place.value) if joins else None
        if both is None:
            items.append(place.value)
        else:
            before = [items[-1], place.value]
            changes.append(Change(task.corruption, places[place.key - 1], before, both))
            items[-1] = both
        joins = task.draws.hits(place.path)
    return changes, items


def _merged(first: Any, second: Any) -> Any:
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


@_rewriting(
    "spurious_items",
    "items of arrays for which another document has other items",
    "an item of another document after it",
)
def _spurious(
    place: Place, rng: random.Random, donors: Sequence[Pool]
) -> tuple[list[Any], Any, Any] | None:
    new = borrowed(donors, place.node.field, place.box, rng)
    return None if new is MISSING else ([place.value, new], None, new)


# --- structure --------------------------------------------------------------------------------


@_registered(
    STRUCTURE,
    UNCLEAR,
    "members of objects that hold an object or array",
    "members one level too high, an array one level too deep",
)
def _wrong_nesting(task: Task) -> list[Change]:
    """Put an object's members one level too high, or an array one level too deep.

    Only members of objects are changed, and no empty ones. A lifted member is dropped if its new
    level already has a member of that name.
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
            changes.append(Change(task.corruption, place, before, place.value))
    return changes[::-1]


@_registered(
    STRUCTURE, UNCLEAR, "scalars of a declared type", "a number as text, a text in an array"
)
def _wrong_type(task: Task) -> list[Change]:
    """Write a scalar as a type that neither the schema nor gold has at its place."""

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
        Column("meaning", "string", "whether the meaning is kept", "kept, unclear, changed"),
        Column("places", "string", "what can be corrupted"),
        Column("summary", "string", "what is done"),
    ),
)


def corruptions() -> pd.DataFrame:
    """List the corruptions that `corrupt_document` and `sensitivity` know.

    Returns
    -------
    pandas.DataFrame
        One row per corruption: corruption, level (``value``, ``presence``, ``item``,
        ``structure``), meaning (``kept``, ``unclear``, ``changed``), places, summary.

    Examples
    --------
    >>> corruptions().set_index("corruption").loc["shuffle_items", "meaning"]
    'kept'
    """
    return CORRUPTION_COLUMNS.from_rows(corruption[:5] for corruption in CORRUPTIONS.values())


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
