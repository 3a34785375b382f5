"""Corruptions of single numbers: digits, rounding, scale and sign.

Each takes a number, a strength and a random generator, and returns the corrupted number, or None
where it does not apply.
"""

from __future__ import annotations

import random
import re

from extractbench_nb.extraction.texts import changed_digit

__all__ = ["changed_digits", "rounding", "scale", "sign"]

_DIGIT = re.compile(r"\d")


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
