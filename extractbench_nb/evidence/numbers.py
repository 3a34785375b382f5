"""Numbers in running text, in the ways that documents write them."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple

from extractbench_nb.metrics.units import MONEY_SCALES, SCALES, SMALL_NUMBERS, WHOLE_TENS

__all__ = ["Figure", "find_figures", "in_words", "shape_of", "tidy"]

_ENGLISH = r"\d{1,3}(?:,\d{3})+(?:\.\d+)?"
_CONTINENTAL = r"\d{1,3}(?:\.\d{3})+(?:,\d+)?"
_SPACED = r"(?<!\d )[1-9]\d{0,2}(?: \d{3})+(?:[.,]\d+)?(?! \d)"
_SWISS = r"[1-9]\d{0,2}(?:'\d{3})+(?:[.,]\d+)?"
_PLAIN = r"\d+(?:[.,]\d+)?|[.,]\d+"
#: Not a part of a longer number, version, date, clock time or heading.
_ALONE = r"(?<![\d.,])(?<!\d['/:])", r"(?![.,:/']?\d)"
_FIGURE = re.compile(f"{_ALONE[0]}(?:{_ENGLISH}|{_CONTINENTAL}|{_PLAIN}){_ALONE[1]}")
_GROUPED = re.compile(f"{_ALONE[0]}(?:{_SPACED}|{_SWISS}){_ALONE[1]}")
_AFTER = re.compile(r"\s?(?P<percent>%|per ?cent\b|pct\b)|[\s-]{0,2}(?P<scale>[A-Za-z]+)\b")
_WORDS = {number: word for word, number in SMALL_NUMBERS.items()}
_HUNDRED = 100
_GROUP = 3
_YEARS = range(1900, 2100)
_LONGEST = 40


class Figure(NamedTuple):
    """A number that stands in a text.

    Attributes
    ----------
    value : float
        Without its sign.
    start, end : int
        Its digits in the text.
    is_negative : bool
        A minus stands before it, or parentheses around it.
    is_percent : bool
        A percent sign or word follows.
    scale : float
        What the word behind it multiplies it by (million, bn); 1 without one.
    is_sure : bool
        False where it may be read in another way, or is glued to a word.
    """

    value: float
    start: int
    end: int
    is_negative: bool = False
    is_percent: bool = False
    scale: float = 1.0
    is_sure: bool = True


def tidy(number: float) -> float:
    """Round to twelve significant digits, so that equal numbers are equal floats.

    Parameters
    ----------
    number : float
        Finite.

    Returns
    -------
    float
        The number.
    """
    return float(f"{number:.12g}")


def find_figures(text: str) -> Iterator[Figure]:
    """Find the numbers in a text; parts of versions, clock times and dotted headings are none.

    Parameters
    ----------
    text : str
        As `text.unify` returns it.

    Yields
    ------
    Figure
        One for each reading: ``1.234`` may be a thousand and more, or one and a little.

    Examples
    --------
    >>> [figure.value for figure in find_figures("12.5% of (1,204) on 3.1.2")]
    [12.5, 1204.0, 1.204]
    >>> [figure.value for figure in find_figures("1.234,5 km and 12 500 m")]
    [1234.5, 12.0, 500.0, 12500.0]
    """
    for match in _FIGURE.finditer(text):
        for value, is_sure in _readings(match[0]):
            yield _figure(text, match.span(), value, is_sure)
    for match in _GROUPED.finditer(text):
        digits = re.sub("[ ']", "", match[0]).replace(",", ".")
        yield _figure(text, match.span(), float(digits), False)


def _readings(digits: str) -> Iterator[tuple[float, bool]]:
    """Yield what digits may mean, the usual reading first."""
    if len(digits) > _LONGEST:
        return
    marks = [mark for mark in digits if mark in ".,"]
    if len(set(marks)) > 1:
        thousands, point = marks[0], marks[-1]
        yield tidy(float(digits.replace(thousands, "").replace(point, "."))), True
    elif len(marks) > 1:
        yield tidy(float(digits.replace(marks[0], ""))), True
    elif not marks:
        yield tidy(float(digits)), True
    else:
        yield from _one_mark(digits, marks[0])


def _one_mark(digits: str, mark: str) -> Iterator[tuple[float, bool]]:
    whole, _, rest = digits.partition(mark)
    may_group = len(rest) == _GROUP and 0 < len(whole) <= _GROUP and whole[0] != "0"
    grouped, pointed = tidy(float(whole + rest)), tidy(float(f"{whole or 0}.{rest}"))
    yield (grouped, True) if may_group and mark == "," else (pointed, mark == ".")
    if may_group:
        yield (pointed, False) if mark == "," else (grouped, False)


def _figure(text: str, span: tuple[int, int], value: float, is_sure: bool) -> Figure:
    start, end = span
    before, after = text[max(0, start - 3) : start], text[end : end + 16]
    is_negative = _is_negative(before, after)
    glued = before[-1:].isalpha()
    found = _AFTER.match(after)
    if found is None:
        return Figure(value, start, end, is_negative, is_sure=is_sure and not glued)
    scale = _scale(found["scale"]) if found["scale"] else 1.0
    is_percent = found["percent"] is not None
    return Figure(value, start, end, is_negative, is_percent, scale, is_sure and not glued)


def _scale(word: str) -> float:
    return float(SCALES.get(word.lower()) or MONEY_SCALES.get(word.lower(), 1))


def _is_negative(before: str, after: str) -> bool:
    marks = before.rstrip("$€£¥ ")
    if marks.endswith("("):
        return after.lstrip(" %").startswith(")")
    return marks.endswith("-") and not marks[-2:-1].isalnum()


def in_words(number: float) -> str | None:
    """Write a small whole number in English words.

    Parameters
    ----------
    number : float
        Any number.

    Returns
    -------
    str or None
        None above ninety-nine, below zero and between whole numbers.

    Examples
    --------
    >>> in_words(25), in_words(7), in_words(7.5)
    ('twenty-five', 'seven', None)
    """
    if not 0 <= number < _HUNDRED or number != int(number):
        return None
    whole = int(number)
    if whole in _WORDS:
        return _WORDS[whole]
    ones = whole % WHOLE_TENS.step
    return f"{_WORDS[whole - ones]}-{_WORDS[ones]}"


def shape_of(number: float) -> tuple[int, int]:
    """Return how many significant digits a number has, and its order of magnitude.

    Parameters
    ----------
    number : float
        Finite, 0 and up. Zeros at the end are not significant. Years have a shape of their own,
        with 0 digits.

    Returns
    -------
    tuple of (int, int)
        Significant digits and power of ten.

    Examples
    --------
    >>> shape_of(1234.5), shape_of(5000), shape_of(0.25), shape_of(2024)
    ((5, 3), (1, 3), (2, -1), (0, 3))
    """
    if number in _YEARS:
        return 0, 3
    digits, _, power = f"{number:.11e}".partition("e")
    return max(1, len(digits.replace(".", "").rstrip("0"))), int(power)
