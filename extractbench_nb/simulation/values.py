"""Corruptions of single texts and numbers."""

from __future__ import annotations

import json
import random
import re
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from extractbench_nb.simulation.documents import generator, some

_Function = Callable[[Any, float, random.Random], Any]

_TOKEN = re.compile(r"\S+")
_GAP = re.compile(r"(?<=\S)\s+(?=\S)")
_DIGIT = re.compile(r"\d")
_LETTER = re.compile(r"[^\W\d_]")
_WORD = re.compile(r"[^\W\d_]{3,}")
_LETTERS = "abcdefghijklmnopqrstuvwxyz"
_PAIR = 2

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
            own = chosen.get(match.start())
            return match[0] if own is None else change(match[0], random.Random(own))

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
    at = rng.randrange(1, len(word) - 1)
    kind = rng.choice(("swap", "drop", "other"))
    if kind == "swap":
        return word[:at] + word[at + 1] + word[at] + word[at + 2 :]
    return word[:at] + (rng.choice(_LETTERS) if kind == "other" else "") + word[at + 1 :]


def _dropped_word(text: str, strength: float, rng: random.Random) -> str | None:
    """Leave words out; one at least stays."""
    words = _TOKEN.findall(text)
    if len(words) < _PAIR:
        return None
    gone = set(some(range(len(words)), min(strength, 1 - 1 / len(words)), rng))
    return " ".join(word for i, word in enumerate(words) if i not in gone)


def _truncation(text: str, strength: float, _: random.Random) -> str | None:
    """Cut off the end; at least one character goes and one stays."""
    kept = min(len(text) - 1, max(1, round(len(text) * (1 - strength))))
    return text[:kept] if kept > 0 else None


def _other_digit(digit: str, rng: random.Random) -> str:
    return rng.choice([d for d in "0123456789" if d != digit])


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
    """Write a date in another way."""
    match = _DATE.fullmatch(found)
    assert match is not None  # noqa: S101 - the pattern found it
    part = match.groupdict()
    year = part["iso"] or part["year"] or part["year_last"]
    day = int(part["day"] or part["day_first"] or part["day_second"])
    month = int(part["month"] or 1 + _MONTHS.index(part["name"] or part["name_first"]))
    ways = (
        f"{year}-{month:02}-{day:02}",
        f"{day} {_MONTHS[month - 1]} {year}",
        f"{_MONTHS[month - 1]} {day}, {year}",
    )
    return rng.choice([way for way in ways if way != found])


_changed_digit = _replacing(_DIGIT, _other_digit)


def _changed_digits(number: float, strength: float, rng: random.Random) -> float | None:
    """Replace a share of the digits, at least one."""
    text = _changed_digit(repr(number), strength, rng)
    return _like(number, text) if text is not None and "e" not in text else None


def _rounding(number: float, strength: float, _: random.Random) -> float | None:
    """Keep the leading significant digits: fewer of them at a higher strength."""
    digits = len(_DIGIT.findall(repr(abs(number)).strip("0").lstrip(".")))
    kept = min(digits - 1, max(1, round(digits * (1 - strength))))
    return _like(number, f"{number:.{kept}g}") if kept > 0 else None


def _scale(number: float, strength: float, _: random.Random) -> float:
    """Read thousands for units, or millions at a strength above a half."""
    return number * (1_000 if strength <= 1 / 2 else 1_000_000)


def _like(number: float, text: str) -> float:
    whole = isinstance(number, int)
    return int(text) if whole and text.lstrip("-").isdigit() else type(number)(float(text))


#: Numbers up to here are corrupted: a million times as much is still a number.
LARGEST = 1e300

_TRIES = 20

#: Whether what is corrupted still says the same.
KEPT, UNCLEAR, CHANGED = "kept", "unclear", "changed"

#: By name: what becomes of the meaning, what is done, and the function for each kind of value.
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
        {"string": _replacing(_UNIT, lambda unit, _: _UNITS[unit.lower()]), "number": _scale},
    ),
    "sign": (CHANGED, "minus for plus", {"number": lambda number, *_: -number}),
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
    return list(VALUE_CORRUPTIONS[name][2]) if name in VALUE_CORRUPTIONS else []


def corrupt(name: str, value: Any, strength: float, seed: str) -> Any:
    """Corrupt one value; None where the corruption does not apply."""
    kind = kind_of(value)
    if kind is None or kind not in kinds(name):
        return None
    function = VALUE_CORRUPTIONS[name][2][kind]
    for attempt in range(_TRIES):  # a swap of equal words, or of a letter with itself
        found = function(value, strength, generator(f"{seed}\x1f{attempt}"))
        if found is None or found != value:
            return found
    return None
