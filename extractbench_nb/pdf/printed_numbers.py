"""Numbers in digits in running text, with the values that they may have."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple

from extractbench_nb.core.text import Quantity

_FORMS = (
    r"\d{1,3}(?:,\d{3}){1,9}(?:\.\d+)?",  # 1,234.5
    r"\d{1,3}(?:\.\d{3}){1,9}(?:,\d+)?",  # 1.234,5
    r"\d{1,40}(?:[.,]\d{1,40})?|[.,]\d{1,40}",
)
_GROUPED_FORMS = (
    r"(?<!\d )[1-9]\d{0,2}(?: \d{3})+(?:[.,]\d+)?(?! \d)",  # 1 234.5
    r"[1-9]\d{0,2}(?:'\d{3})+(?:[.,]\d+)?",  # 1'234.5
)
#: Numbers that are no part of a longer number, version, date, clock time or heading.
_FIGURE, _GROUPED = (
    re.compile(rf"(?<![\d.,])(?<!\d['/:])(?:{'|'.join(forms)})(?![.,:/']?\d)")
    for forms in (_FORMS, _GROUPED_FORMS)
)
_UNIT = re.compile(r"\s?(?P<percent>%|per ?cent\b|pct\b)|[\s-]{0,2}(?P<scale>[A-Za-z]+)\b")


class Figure(NamedTuple):
    """A number in a text: its value without sign, and where its digits are.

    ``scale`` is what the word behind it multiplies it by (million, bn); ``is_sure`` is False where
    it may be read in another way, or is glued to a word.
    """

    value: float
    start: int
    end: int
    is_negative: bool = False
    is_percent: bool = False
    scale: float = 1.0
    is_sure: bool = True


def tidy(number: float) -> float:
    """Round to twelve significant digits, so that equal numbers are equal floats."""
    return float(f"{number:.12g}")


def find_figures(text: str) -> Iterator[Figure]:
    """Find the numbers in a text, except parts of versions, clock times and dotted headings."""
    for match in _FIGURE.finditer(text):
        for value, is_sure in _values(match[0]):
            yield _figure(text, *match.span(), value, is_sure)
    for match in _GROUPED.finditer(text):
        digits = re.sub("[ ']", "", match[0]).replace(",", ".")
        yield _figure(text, *match.span(), float(digits), False)


def _values(digits: str) -> Iterator[tuple[float, bool]]:
    """Yield the possible values of digits, the usual reading first, and whether it is sure."""
    marks = [mark for mark in digits if mark in ".,"]
    if len(set(marks)) > 1:  # the last one is the decimal point
        whole, _, rest = digits.rpartition(marks[-1])
        yield tidy(float(f"{whole.replace(marks[0], '')}.{rest}")), True
        return
    grouped = tidy(float(re.sub("[.,]", "", digits)))
    if len(marks) != 1:
        yield grouped, True
        return
    whole, mark, rest = digits.partition(marks[0])
    pointed = tidy(float(f"{whole or 0}.{rest}"))
    if not re.fullmatch(r"[1-9]\d{0,2}[.,]\d{3}", digits):
        yield pointed, mark == "."
    else:  # 1,234 or 1.234
        likely, other = (grouped, pointed) if mark == "," else (pointed, grouped)
        yield from ((likely, True), (other, False))


def _figure(text: str, start: int, end: int, value: float, is_sure: bool) -> Figure:
    """Read the sign, percent sign or scale word beside a number."""
    before, after = text[max(0, start - 3) : start], text[end : end + 16]
    marks = before.rstrip("$€£¥ ")
    if marks.endswith("("):
        is_negative = after.lstrip(" %").startswith(")")
    else:
        is_negative = marks.endswith("-") and not marks[-2:-1].isalnum()
    unit = _UNIT.match(after)
    is_percent = unit is not None and unit["percent"] is not None
    scale = Quantity.scale_of((unit["scale"] or "").lower()) if unit else 1.0
    is_sure = is_sure and not before[-1:].isalpha()
    return Figure(value, start, end, is_negative, is_percent, scale, is_sure)


def shape_of(number: float) -> tuple[int, int]:
    """Return the number of significant digits and the order of magnitude; a year has 0 digits.

    Examples
    --------
    >>> shape_of(1234.5), shape_of(5000), shape_of(0.25), shape_of(2024)
    ((5, 3), (1, 3), (2, -1), (0, 3))
    """
    if number in range(1900, 2100):
        return 0, 3
    digits, _, power = f"{number:.11e}".partition("e")
    return max(1, len(digits.replace(".", "").rstrip("0"))), int(power)
