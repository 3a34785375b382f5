"""Find a number in the ways that documents write it: scaled, in percent, in words, signed."""

from __future__ import annotations

import re
from collections.abc import Iterator

from extractbench_nb.benchmark.audit.pdftext import squash
from extractbench_nb.evidence.hits import Hit
from extractbench_nb.evidence.index import DocumentIndex
from extractbench_nb.evidence.numbers import Figure, in_words, shape_of, tidy
from extractbench_nb.metrics.quantities import read_quantity
from extractbench_nb.metrics.units import CURRENCY_SIGNS, MONEY

__all__ = ["amount_of", "find_currency", "find_number", "has_percent", "spellings"]

_PERCENT, _MOST_AS_SHARE = 100.0, 10
_SCALES = (1e3, 1e6, 1e9)
_NAMES = {"thousands": 1e3, "millions": 1e6, "billions": 1e9}
_SCALE_WORDS = {scale: word for word, scale in _NAMES.items()}
_STATED = re.compile(r"\bin (thousands|millions|billions)\b|\b(thousands|millions) of\b")
_OTHER_SIGN, _UNSURE, _IN_WORDS, _IN_DATE = 0.9, 0.85, 0.9, 0.9
_SCALED, _GUESSED = 0.95, 0.75
_SIGN_FOR_CODE = 0.5
_FEWEST_DIGITS = 3
_LONGEST_NUMBER = 7


def amount_of(text: str) -> tuple[float, str] | None:
    """Read a text that is a number, a share or a sum of money and nothing else.

    Parameters
    ----------
    text : str
        Any text.

    Returns
    -------
    tuple of (float, str) or None
        The number, and ``""``, ``"%"`` or a currency. None for all else, for number words, and
        for digits that are a name: ``007``, ``20240131``.
    """
    digits = text.strip()
    if digits.isdigit() and (digits.startswith("0") or len(digits) > _LONGEST_NUMBER):
        return None
    quantity = read_quantity(text)
    if quantity is None or not any(map(str.isdigit, text)):
        return None
    if quantity.unit not in ("", "%") and quantity.unit not in MONEY:
        return None
    return quantity.value, quantity.unit


def has_percent(hit: Hit, index: DocumentIndex) -> bool:
    """Say whether a percent sign or word follows a hit.

    Parameters
    ----------
    hit : Hit
        A number.
    index : DocumentIndex
        Where it stands.

    Returns
    -------
    bool
        Whether it does.
    """
    after = index.lower[hit.end : hit.end + len(" percent")].lstrip()
    return after.startswith(("%", "percent", "per cent", "pct"))


def spellings(value: float) -> Iterator[tuple[float, float]]:
    """Write a number in the scales of tables and texts.

    Parameters
    ----------
    value : float
        Any number.

    Yields
    ------
    tuple of (float, float)
        What digits may stand for it, without sign, and what they are to be multiplied by: 1, a
        thousand, a million, a billion, or 0.01 for percent.

    Examples
    --------
    >>> list(spellings(-0.125)), list(spellings(2500))
    ([(0.125, 1.0), (12.5, 0.01)], [(2500.0, 1.0), (2.5, 1000.0)])
    """
    size = abs(value)
    yield tidy(size), 1.0
    for scale in _SCALES:
        if size >= scale:
            yield tidy(size / scale), scale
    if 0 < size <= _MOST_AS_SHARE:
        yield tidy(size * _PERCENT), 1 / _PERCENT


def find_number(value: float, index: DocumentIndex) -> Iterator[Hit]:
    """Find a number.

    Parameters
    ----------
    value : float
        Finite.
    index : DocumentIndex
        Where to look.

    Yields
    ------
    Hit
        In no order; some may overlap. One with another sign, in another scale, with two readings
        or in words is less similar.
    """
    for number, scale in spellings(value):
        for figure in index.figures.get(number, ()):
            quality = _quality(figure, scale, value, index)
            if quality:
                yield Hit(((figure.start, figure.end),), quality, "number")
    for span in index.years.get(abs(value), ()):
        yield Hit((span,), _IN_DATE, "number")
    for words in (in_words(abs(value)), _SCALE_WORDS.get(abs(value))):
        for start, end, is_whole in index.occurrences(squash(words or "")):
            if is_whole:
                yield Hit(((start, end),), _IN_WORDS, "number")


def find_currency(text: str, index: DocumentIndex) -> Iterator[Hit]:
    """Find the sign of a currency that is named by its code: ``USD`` as ``$``.

    Parameters
    ----------
    text : str
        Any text; what is no code of a currency with a sign has no hit.
    index : DocumentIndex
        Where to look.

    Yields
    ------
    Hit
        In order. Several currencies share a sign, so the similarity is 0.5.
    """
    for sign, code in CURRENCY_SIGNS.items():
        start = index.text.find(sign) if code == text.strip().lower() else -1
        while start >= 0:
            yield Hit(((start, start + 1),), _SIGN_FOR_CODE, "number")
            start = index.text.find(sign, start + 1)


def _quality(figure: Figure, scale: float, value: float, index: DocumentIndex) -> float:
    quality = 1.0 if figure.is_sure else _UNSURE
    if figure.is_negative != (value < 0):
        quality *= _OTHER_SIGN
    if scale == 1:
        return quality
    stated = 1 / _PERCENT if figure.is_percent else figure.scale
    if stated == 1 and scale > 1:
        stated = _scale_above(index, figure)
    if stated == scale:
        return quality * _SCALED
    # A table may say its scale pages away, or in the heading of a column.
    is_long = shape_of(figure.value)[0] >= _FEWEST_DIGITS
    return quality * _GUESSED if is_long and figure.scale == 1 else 0.0


def _scale_above(index: DocumentIndex, figure: Figure) -> float:
    """Return the scale that the page says last above a number; 1 if none."""
    top = index.text.rfind("\n", 0, figure.start) + 1
    scale = 1.0
    for match in _STATED.finditer(index.lower, top, figure.start):
        scale = _NAMES[match[1] or match[2]]
    return scale
