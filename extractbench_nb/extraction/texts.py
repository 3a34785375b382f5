"""Corruptions of single texts: what extraction and PDF text do to words, letters and digits.

Each takes a text, a strength and a random generator, and returns the corrupted text, or None where
it does not apply: a text without a digit has no digit to change. The strength is the share of the
words, letters, digits or units that are changed, at least one.
"""

from __future__ import annotations

import random
import re
from collections.abc import Callable, Mapping

from extractbench_nb.extraction.draws import some

__all__ = [
    "case",
    "changed_digit",
    "dropped_word",
    "replaced",
    "truncation",
    "typo",
    "unit",
    "whitespace",
    "word_order",
]

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
    """Change a share of the places that a pattern finds.

    Parameters
    ----------
    text : str
        The text.
    pattern : re.Pattern
        Finds the places.
    change : callable
        Takes what was found and a generator of that place's own.
    strength : float
        Share of the places, in [0, 1].
    rng : random.Random
        Decides which places, and how.

    Returns
    -------
    str or None
        The changed text; None where nothing is found.
    """
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
