"""Corruptions of single values: what extraction and PDF text do to a text or a number.

Each takes a value, a strength and a random generator, and returns the corrupted value, or None
where it does not apply: a text without a digit has no digit to change.
"""

from __future__ import annotations

import random
import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

__all__ = ["CHANGED", "CORRUPTIONS", "KEPT", "UNCLEAR", "Corruption", "corrupt"]

#: Whether the corrupted value still says the same.
KEPT, UNCLEAR, CHANGED = "kept", "unclear", "changed"

_TOKEN = re.compile(r"\S+")
_DIGIT = re.compile(r"\d")
_LETTERS = "abcdefghijklmnopqrstuvwxyz"
_PAIR = 2
_TRIES = 20

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


class Corruption(NamedTuple):
    """A corruption: its name, what becomes of the meaning, what it does, and the function.

    ``share`` of words, letters, digits or units, at least one, is what a strength of 0 to 1 means;
    ``kind`` is ``string`` or ``number``.
    """

    name: str
    kind: str
    meaning: str
    summary: str
    apply: Callable[[Any, float, random.Random], Any]


def _some(found: Sequence[Any], strength: float, rng: random.Random) -> list[Any]:
    """Choose a share of what was found, at least one, in order."""
    count = min(len(found), max(1, round(strength * len(found))))
    return [found[i] for i in sorted(rng.sample(range(len(found)), count))]


def _replace(text: str, pattern: re.Pattern[str], change: Callable[[str], str], draw: Any) -> str:
    """Change a share of the places that a pattern finds."""
    strength, rng = draw
    chosen = {m.start() for m in _some(list(pattern.finditer(text)), strength, rng)}
    return pattern.sub(lambda m: change(m[0]) if m.start() in chosen else m[0], text)


def _whitespace(text: str, strength: float, rng: random.Random) -> str:
    gaps = re.compile(r"(?<=\S)\s+(?=\S)")
    if not gaps.search(text):
        return f" {text}  "
    return _replace(text, gaps, lambda gap: gap + rng.choice((" ", "\n", "\t")), (strength, rng))


def _case(text: str, strength: float, rng: random.Random) -> str | None:
    letters = re.compile(r"[^\W\d_]")
    if not letters.search(text):
        return None
    return _replace(text, letters, str.swapcase, (strength, rng))


def _word_order(text: str, strength: float, rng: random.Random) -> str | None:
    words = _TOKEN.findall(text)
    if len(words) < _PAIR:
        return None
    for i in _some(range(len(words) - 1), strength, rng):
        words[i], words[i + 1] = words[i + 1], words[i]
    return " ".join(words)


def _typo(text: str, strength: float, rng: random.Random) -> str | None:
    """Change one letter of a share of the words; digits stay."""
    words = re.compile(r"[^\W\d_]{3,}")
    if not words.search(text):
        return None
    return _replace(text, words, lambda word: _misspell(word, rng), (strength, rng))


def _misspell(word: str, rng: random.Random) -> str:
    at = rng.randrange(1, len(word) - 1)
    kind = rng.choice(("swap", "drop", "other"))
    if kind == "swap":
        return word[:at] + word[at + 1] + word[at] + word[at + 2 :]
    return word[:at] + (rng.choice(_LETTERS) if kind == "other" else "") + word[at + 1 :]


def _dropped_word(text: str, strength: float, rng: random.Random) -> str | None:
    words = _TOKEN.findall(text)
    if len(words) < _PAIR:
        return None
    gone = set(_some(range(len(words)), min(strength, 1 - 1 / len(words)), rng))
    return " ".join(word for i, word in enumerate(words) if i not in gone)


def _truncation(text: str, strength: float, _: random.Random) -> str | None:
    """Cut off the end; at least one character goes and one stays."""
    kept = min(len(text) - 1, max(1, round(len(text) * (1 - strength))))
    return text[:kept] if kept > 0 else None


def _changed_digit(text: str, strength: float, rng: random.Random) -> str | None:
    if not _DIGIT.search(text):
        return None
    return _replace(text, _DIGIT, lambda digit: _other_digit(digit, rng), (strength, rng))


def _other_digit(digit: str, rng: random.Random) -> str:
    return rng.choice([d for d in "0123456789" if d != digit])


def _unit(text: str, strength: float, rng: random.Random) -> str | None:
    if not _UNIT.search(text):
        return None
    return _replace(text, _UNIT, lambda unit: _UNITS[unit.lower()], (strength, rng))


def _digit_of_number(number: float, strength: float, rng: random.Random) -> float | None:
    text = _changed_digit(repr(number), strength, rng)
    return _like(number, text) if text is not None and "e" not in text else None


def _rounding(number: float, strength: float, _: random.Random) -> float | None:
    """Keep the leading significant digits: fewer of them at a higher strength."""
    digits = len(_DIGIT.findall(repr(abs(number)).strip("0").lstrip(".")))
    kept = min(digits - 1, max(1, round(digits * (1 - strength))))
    return _like(number, f"{number:.{kept}g}") if kept > 0 else None


def _scale(number: float, strength: float, _: random.Random) -> float:
    """Read thousands for units, or millions at a higher strength."""
    return number * (1_000 if strength <= 1 / 2 else 1_000_000)


def _sign(number: float, _: float, __: random.Random) -> float:
    return -number


def _like(number: float, text: str) -> float:
    whole = isinstance(number, int)
    return int(text) if whole and text.lstrip("-").isdigit() else type(number)(float(text))


CORRUPTIONS: tuple[Corruption, ...] = (
    Corruption("whitespace", "string", KEPT, "more space between words", _whitespace),
    Corruption("case", "string", KEPT, "letters in the other case", _case),
    Corruption("word_order", "string", UNCLEAR, "neighbouring words exchanged", _word_order),
    Corruption("typo", "string", UNCLEAR, "a letter of a word changed", _typo),
    Corruption("dropped_word", "string", CHANGED, "words left out", _dropped_word),
    Corruption("truncation", "string", CHANGED, "the end cut off", _truncation),
    Corruption("changed_digit", "string", CHANGED, "digits replaced", _changed_digit),
    Corruption("unit", "string", CHANGED, "a unit replaced by another", _unit),
    Corruption("rounding", "number", UNCLEAR, "fewer significant digits", _rounding),
    Corruption("changed_digit", "number", CHANGED, "digits replaced", _digit_of_number),
    Corruption("unit", "number", CHANGED, "thousands or millions for units", _scale),
    Corruption("sign", "number", CHANGED, "minus for plus", _sign),
)


def corrupt(corruption: Corruption, value: Any, strength: float, seed: str) -> Any:
    """Corrupt one value.

    Parameters
    ----------
    corruption : Corruption
        One of `CORRUPTIONS`.
    value : str, int or float
        The value; it is not changed.
    strength : float
        Above 0, up to 1.
    seed : str
        The same seed gives the same result.

    Returns
    -------
    str, int, float or None
        A value that differs; None where the corruption does not apply, or changes nothing.

    Examples
    --------
    >>> case = next(c for c in CORRUPTIONS if c.name == "case")
    >>> corrupt(case, "Acme", 1.0, "0")
    'aCME'
    """
    for attempt in range(_TRIES):  # a swap of equal words, or of a letter with itself
        rng = random.Random(f"{seed}/{attempt}")
        found = corruption.apply(value, strength, rng)
        if found is None or found != value:
            return found
    return None
