"""Corruptions of single values: texts, numbers, dates, absence."""

from __future__ import annotations

import random
import re
from collections.abc import Callable, Mapping
from typing import Any

from extractbench_nb.schema.states import MISSING
from extractbench_nb.simulation.tasks import Change, Place, Task, borrowed, generator, some

__all__ = [
    "LARGEST",
    "VALUE_CORRUPTIONS",
    "abbreviation",
    "case",
    "change_values",
    "changed_digit",
    "changed_digits",
    "corrupt",
    "date_format",
    "dropped_word",
    "hallucinate",
    "kind_of",
    "kinds",
    "null_out",
    "omit",
    "replaced",
    "rounding",
    "scale",
    "sign",
    "substitute",
    "truncation",
    "typo",
    "unit",
    "whitespace",
    "word_order",
]


def null_out(task: Task) -> list[Change]:
    """Write null for a member of an object that holds a scalar."""
    changes = [Change(place, place.value, None) for place in _drawn_members(task)]
    for change in changes:
        change.place.put(None)
    return changes


def omit(task: Task) -> list[Change]:
    """Leave out a member of an object that holds a scalar, key and value."""
    return [Change(place, place.box.pop(place.key), None) for place in _drawn_members(task)]


def _drawn_members(task: Task) -> list[Place]:
    members = [place for place in task.document.leaves if isinstance(place.box, dict)]
    return [place for place in members if task.draws.hits(place.path)]


def hallucinate(task: Task) -> list[Change]:
    """Fill in what gold leaves empty: the value that another document has in this field."""
    changes = []
    for place in task.document.absent:
        if task.draws.hits(place.path):
            rng = task.draws.generator(place.path)
            after = borrowed(task.donors, place.node.field, (), rng)
            if after is not MISSING:
                changes.append(Change(place, place.value, after))
                place.put(after)
    return changes


def substitute(task: Task) -> list[Change]:
    """Replace a scalar by the one that another document has in this field."""
    changes = []
    for place in task.document.leaves:
        if task.draws.hits(place.path):
            before, rng = place.value, task.draws.generator(place.path)
            after = borrowed(task.donors, place.node.field, (before,), rng)
            if after is not MISSING and not isinstance(after, dict | list):
                changes.append(Change(place, before, after))
                place.put(after)
    return changes


_TOKEN = re.compile(r"\S+")
_GAP = re.compile(r"(?<=\S)\s+(?=\S)")
_DIGIT = re.compile(r"\d")
_LETTER = re.compile(r"[^\W\d_]")
_WORD = re.compile(r"[^\W\d_]{3,}")
_LETTERS = "abcdefghijklmnopqrstuvwxyz"
_PAIR = 2

#: A unit and one that is another: in scale, in currency, in time or in length.
_UNITS: Mapping[str, str] = {
    "thousand": "million",
    "million": "billion",
    "billion": "million",
    "%": " bp",
    "percent": "basis points",
    "$": "€",
    "€": "$",
    "£": "€",
    "usd": "EUR",
    "eur": "USD",
    "gbp": "EUR",
    "days": "months",
    "months": "years",
    "years": "months",
    "km": "miles",
    "m": "ft",
    "kg": "lb",
    "hours": "minutes",
    "minutes": "hours",
}
_UNIT = re.compile(
    r"[$€£%]|(?<![a-z])(?:" + "|".join(u for u in _UNITS if u.isalpha()) + r")(?![a-z])",
    re.IGNORECASE,
)


def replaced(
    text: str,
    pattern: re.Pattern[str],
    change: Callable[[str, random.Random], str],
    strength: float,
    rng: random.Random,
) -> str | None:
    """Change a share of the places that a pattern finds."""
    found = [(match.start(), rng.random()) for match in pattern.finditer(text)]
    if not found:
        return None
    chosen = dict(some(found, strength, rng))

    def swap(match: re.Match[str]) -> str:
        own = chosen.get(match.start())
        return match[0] if own is None else change(match[0], random.Random(own))

    return pattern.sub(swap, text)


def whitespace(text: str, strength: float, rng: random.Random) -> str:
    """Put more space between words."""
    wider = replaced(text, _GAP, lambda gap, own: gap + own.choice(" \n\t"), strength, rng)
    return wider if wider is not None else f" {text}  "


def case(text: str, strength: float, rng: random.Random) -> str | None:
    """Write letters in the other case."""
    return replaced(text, _LETTER, lambda letter, _: letter.swapcase(), strength, rng)


def word_order(text: str, strength: float, rng: random.Random) -> str | None:
    """Exchange neighbouring words."""
    words = _TOKEN.findall(text)
    if len(words) < _PAIR:
        return None
    for i in some(range(len(words) - 1), strength, rng):
        words[i], words[i + 1] = words[i + 1], words[i]
    return " ".join(words)


def typo(text: str, strength: float, rng: random.Random) -> str | None:
    """Change one letter of a word; digits stay."""
    return replaced(text, _WORD, _misspell, strength, rng)


def _misspell(word: str, rng: random.Random) -> str:
    at = rng.randrange(1, len(word) - 1)
    kind = rng.choice(("swap", "drop", "other"))
    if kind == "swap":
        return word[:at] + word[at + 1] + word[at] + word[at + 2 :]
    return word[:at] + (rng.choice(_LETTERS) if kind == "other" else "") + word[at + 1 :]


def dropped_word(text: str, strength: float, rng: random.Random) -> str | None:
    """Leave words out; one at least stays."""
    words = _TOKEN.findall(text)
    if len(words) < _PAIR:
        return None
    gone = set(some(range(len(words)), min(strength, 1 - 1 / len(words)), rng))
    return " ".join(word for i, word in enumerate(words) if i not in gone)


def truncation(text: str, strength: float, _: random.Random) -> str | None:
    """Cut off the end; at least one character goes and one stays."""
    kept = min(len(text) - 1, max(1, round(len(text) * (1 - strength))))
    return text[:kept] if kept > 0 else None


def changed_digit(text: str, strength: float, rng: random.Random) -> str | None:
    """Replace digits by other ones; signs, points and separators stay."""
    return replaced(text, _DIGIT, _other_digit, strength, rng)


def _other_digit(digit: str, rng: random.Random) -> str:
    return rng.choice([d for d in "0123456789" if d != digit])


def unit(text: str, strength: float, rng: random.Random) -> str | None:
    """Replace a unit by another one."""
    return replaced(text, _UNIT, lambda found, _: _UNITS[found.lower()], strength, rng)


_SHORT: Mapping[str, str] = {
    "and": "&",
    "approximately": "approx.",
    "association": "Assoc.",
    "avenue": "Ave.",
    "boulevard": "Blvd.",
    "company": "Co.",
    "conference": "Conf.",
    "corporation": "Corp.",
    "department": "Dept.",
    "doctor": "Dr.",
    "edition": "ed.",
    "figure": "Fig.",
    "government": "Govt.",
    "incorporated": "Inc.",
    "institute": "Inst.",
    "international": "Intl.",
    "journal": "J.",
    "laboratory": "Lab.",
    "limited": "Ltd.",
    "management": "Mgmt.",
    "manager": "Mgr.",
    "million": "mn",
    "billion": "bn",
    "number": "No.",
    "percent": "%",
    "proceedings": "Proc.",
    "professor": "Prof.",
    "road": "Rd.",
    "science": "Sci.",
    "street": "St.",
    "technology": "Tech.",
    "transactions": "Trans.",
    "university": "Univ.",
    "versus": "vs.",
    "volume": "vol.",
}
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


def abbreviation(text: str, strength: float, rng: random.Random) -> str | None:
    """Shorten ordinary words: Street to St., University to Univ."""
    return replaced(text, _LONG, lambda word, _: _SHORT[word.lower()], strength, rng)


def date_format(text: str, strength: float, rng: random.Random) -> str | None:
    """Write dates in another format: 2031-04-06, 6 April 2031 or April 6, 2031."""
    return replaced(text, _DATE, _rewritten, strength, rng)


def _rewritten(found: str, rng: random.Random) -> str:
    year, month, day = _parts(found)
    ways = (
        f"{year}-{month:02}-{day:02}",
        f"{day} {_MONTHS[month - 1]} {year}",
        f"{_MONTHS[month - 1]} {day}, {year}",
    )
    return rng.choice([way for way in ways if way != found])


def _parts(found: str) -> tuple[str, int, int]:
    match = _DATE.fullmatch(found)
    assert match is not None  # noqa: S101 - the pattern found it
    part = match.groupdict()
    if part["iso"]:
        return part["iso"], int(part["month"]), int(part["day"])
    if part["name"]:
        return part["year"], _MONTHS.index(part["name"]) + 1, int(part["day_first"])
    return part["year_last"], _MONTHS.index(part["name_first"]) + 1, int(part["day_second"])


def changed_digits(number: float, strength: float, rng: random.Random) -> float | None:
    """Replace a share of the digits, at least one."""
    text = changed_digit(repr(number), strength, rng)
    return _like(number, text) if text is not None and "e" not in text else None


def rounding(number: float, strength: float, _: random.Random) -> float | None:
    """Keep the leading significant digits: fewer of them at a higher strength."""
    digits = len(_DIGIT.findall(repr(abs(number)).strip("0").lstrip(".")))
    kept = min(digits - 1, max(1, round(digits * (1 - strength))))
    return _like(number, f"{number:.{kept}g}") if kept > 0 else None


def scale(number: float, strength: float, _: random.Random) -> float:
    """Read thousands for units, or millions at a strength above a half."""
    return number * (1_000 if strength <= 1 / 2 else 1_000_000)


def sign(number: float, _: float, __: random.Random) -> float:
    """Write minus for plus."""
    return -number


def _like(number: float, text: str) -> float:
    whole = isinstance(number, int)
    return int(text) if whole and text.lstrip("-").isdigit() else type(number)(float(text))


#: Numbers up to here are corrupted: a million times as much is still a number.
LARGEST = 1e300

_TRIES = 20

#: What is done, by the name of the corruption and the kind of value.
VALUE_CORRUPTIONS: Mapping[tuple[str, str], Callable[[Any, float, random.Random], Any]] = {
    ("whitespace", "string"): whitespace,
    ("case", "string"): case,
    ("abbreviation", "string"): abbreviation,
    ("date_format", "string"): date_format,
    ("word_order", "string"): word_order,
    ("typo", "string"): typo,
    ("dropped_word", "string"): dropped_word,
    ("truncation", "string"): truncation,
    ("changed_digit", "string"): changed_digit,
    ("changed_digit", "number"): changed_digits,
    ("unit", "string"): unit,
    ("unit", "number"): scale,
    ("rounding", "number"): rounding,
    ("sign", "number"): sign,
}


def kind_of(value: object) -> str | None:
    """Return ``string`` or ``number``; None for a value that these corruptions leave alone."""
    if isinstance(value, str):
        return "string" if value else None
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    return "number" if abs(value) <= LARGEST else None


def kinds(name: str) -> list[str]:
    """Return the kinds of value that a corruption is for; none for those of whole documents."""
    return [kind for known, kind in VALUE_CORRUPTIONS if known == name]


def corrupt(name: str, value: Any, strength: float, seed: str) -> Any:
    """Corrupt one value.

    Examples
    --------
    >>> corrupt("case", "Acme", 1.0, "0")
    'aCME'
    """
    function = VALUE_CORRUPTIONS.get((name, kind_of(value) or ""))
    if function is None:
        return None
    for attempt in range(_TRIES):  # a swap of equal words, or of a letter with itself
        found = function(value, strength, generator(f"{seed}\x1f{attempt}"))
        if found is None or found != value:
            return found
    return None


def change_values(name: str) -> Callable[[Task], list[Change]]:
    """Return what corrupts the leaves of a document, each with the probability that is drawn."""

    def change(task: Task) -> list[Change]:
        changes = []
        for place in task.document.leaves:
            if task.draws.hits(place.path):
                before, seed = place.value, f"{task.draws.seed}\x1f{place.path}"
                after = corrupt(name, before, task.strength, seed)
                if after is not None:
                    place.put(after)
                    changes.append(Change(place, before, after))
        return changes

    return change
