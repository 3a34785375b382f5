"""Corruptions of single texts and numbers."""

from __future__ import annotations

import json
import random
import re
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from extractbench_nb.simulation.documents import generator, some

#: Whether a corrupted value still has the same meaning.
KEPT, UNCLEAR, CHANGED = "kept", "unclear", "changed"

#: Greatest number that is corrupted: a million times as much is still finite.
LARGEST = 1e300

_TRIES = 20

#: Takes a value, the share of it to change, and a generator; None if it does not apply.
_Function = Callable[[Any, float, random.Random], Any]

_WORDS = json.loads((Path(__file__).parent / "data/words.json").read_text(encoding="utf-8"))
#: A unit and one that is another: in scale, in currency, in time or in length.
_UNITS: Mapping[str, str] = _WORDS["units"]
_SHORT: Mapping[str, str] = _WORDS["abbreviations"]
_MONTHS = (
    "January February March April May June July August September October November December"
).split()
_MONTH = "|".join(_MONTHS)

_GAP = re.compile(r"(?<=\S)\s+(?=\S)")
_DIGIT = re.compile(r"\d")
_LETTER = re.compile(r"[^\W\d_]")
_WORD = re.compile(r"[^\W\d_]{3,}")
_LONG = re.compile(r"(?<!\w)(?:" + "|".join(_SHORT) + r")(?!\w)", re.IGNORECASE)
_UNIT = re.compile(
    r"[$€£%]|(?<![a-z])(?:" + "|".join(u for u in _UNITS if u.isalpha()) + r")(?![a-z])",
    re.IGNORECASE,
)
_DATE = re.compile(
    r"(?<!\w)(?:(?P<iso>\d{4})-(?P<month>0[1-9]|1[0-2])-(?P<day>0[1-9]|[12]\d|3[01])"
    rf"|(?P<day_first>[1-9]|[12]\d|3[01]) (?P<name>{_MONTH}) (?P<year>\d{{4}})"
    rf"|(?P<name_first>{_MONTH}) (?P<day_second>[1-9]|[12]\d|3[01]), (?P<year_last>\d{{4}}))(?!\w)"
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
    return _wider(text, strength, rng) or f" {text}  "


def _exchanged_words(text: str, strength: float, rng: random.Random) -> str | None:
    words = text.split()
    for i in some(range(len(words) - 1), strength, rng) if len(words) > 1 else ():
        words[i], words[i + 1] = words[i + 1], words[i]
    return " ".join(words) if len(words) > 1 else None


def _fewer_words(text: str, strength: float, rng: random.Random) -> str | None:
    words = text.split()
    if len(words) <= 1:
        return None
    gone = set(some(range(len(words)), min(strength, 1 - 1 / len(words)), rng))
    return " ".join(word for i, word in enumerate(words) if i not in gone)


def _truncated(text: str, strength: float, _: random.Random) -> str | None:
    """Cut off the end; at least one character is removed and one remains."""
    length = min(len(text) - 1, max(1, round(len(text) * (1 - strength))))
    return text[:length] if length > 0 else None


def _misspelt(word: str, rng: random.Random) -> str:
    i = rng.randrange(1, len(word) - 1)
    kind = rng.choice(("swap", "drop", "other"))
    if kind == "swap":
        return word[:i] + word[i + 1] + word[i] + word[i + 2 :]
    letter = rng.choice("abcdefghijklmnopqrstuvwxyz") if kind == "other" else ""
    return word[:i] + letter + word[i + 1 :]


def _other_date(found: str, rng: random.Random) -> str:
    match = _DATE.fullmatch(found)
    assert match is not None  # noqa: S101 - the pattern found it
    part = match.groupdict()
    year = part["iso"] or part["year"] or part["year_last"]
    day = int(part["day"] or part["day_first"] or part["day_second"])
    month = int(part["month"] or 1 + _MONTHS.index(part["name"] or part["name_first"]))
    name = _MONTHS[month - 1]
    formats = (f"{year}-{month:02}-{day:02}", f"{day} {name} {year}", f"{name} {day}, {year}")
    return rng.choice([text for text in formats if text != found])


_other_digits = _replacing(
    _DIGIT, lambda digit, rng: rng.choice([d for d in "0123456789" if d != digit])
)


def _other_number(number: float, strength: float, rng: random.Random) -> float | None:
    text = _other_digits(repr(number), strength, rng)
    return _as_type_of(number, text) if text is not None and "e" not in text else None


def _rounded(number: float, strength: float, _: random.Random) -> float | None:
    """Keep the leading significant digits: fewer of them at a higher strength."""
    digits = len(_DIGIT.findall(repr(abs(number)).strip("0").lstrip(".")))
    significant = min(digits - 1, max(1, round(digits * (1 - strength))))
    return _as_type_of(number, f"{number:.{significant}g}") if significant > 0 else None


def _as_type_of(number: float, text: str) -> float:
    is_integer = isinstance(number, int) and text.lstrip("-").isdigit()
    return int(text) if is_integer else type(number)(float(text))


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
    "date_format": (KEPT, "dates in another format", {"string": _replacing(_DATE, _other_date)}),
    "word_order": (UNCLEAR, "neighbouring words exchanged", {"string": _exchanged_words}),
    "typo": (UNCLEAR, "a letter of a word changed", {"string": _replacing(_WORD, _misspelt)}),
    "rounding": (UNCLEAR, "fewer significant digits", {"number": _rounded}),
    "dropped_word": (CHANGED, "words left out", {"string": _fewer_words}),
    "truncation": (CHANGED, "the end cut off", {"string": _truncated}),
    "changed_digit": (
        CHANGED,
        "digits replaced",
        {"string": _other_digits, "number": _other_number},
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


def corrupt(name: str, value: Any, strength: float, seed: str) -> Any:
    """Corrupt one value; None if the corruption does not apply."""
    function = VALUE_CORRUPTIONS[name][2].get(kind_of(value) or "")
    for attempt in range(_TRIES if function else 0):  # swapping equal words changes nothing
        found = function(value, strength, generator(f"{seed}\x1f{attempt}"))  # type: ignore[misc]
        if found is None or found != value:
            return found
    return None
