"""Searching the text of a PDF for one value: as text, number or date."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Iterator, Sequence
from datetime import date
from itertools import islice
from typing import Any, NamedTuple

import pandas as pd

from extractbench_nb.core.text import Date, Quantity, other_writings, parse_date
from extractbench_nb.errors import InputError
from extractbench_nb.pdf.page_text import (
    Figure,
    PdfText,
    nearest_span,
    pieces,
    shape_of,
    squash,
    tidy,
    words_of,
)

#: The forms in which a value may occur in the PDF, with their meanings.
WRITTEN = {
    "as_is": "the same letters and digits",
    "number": "the same number, in digits or words; or the sign of a currency",
    "date": "the same date",
    "apart": "the same words close together, in another order or with others between them",
    "in_pieces": "a long text in pieces of four words or more",
    "similar": "a text with a similar spelling",
}


class Hit(NamedTuple):
    """One occurrence of a value: its spans in the text of the index, several if it is in pieces.

    The similarity is in (0, 1]; ``written`` is a key of `WRITTEN`.
    """

    spans: tuple[tuple[int, int], ...]
    similarity: float
    written: str

    @property
    def start(self) -> int:
        """Where it begins."""
        return self.spans[0][0]

    @property
    def end(self) -> int:
        """Where its first piece ends."""
        return self.spans[0][1]


def without_overlaps(hits: Iterable[Hit]) -> list[Hit]:
    """Keep the best hit of those that overlap."""
    by_start = sorted(hits, key=lambda hit: (hit.start, -hit.similarity))
    best: list[Hit] = []
    for hit in by_start:
        if best and hit.start < best[-1].spans[-1][1]:
            if hit.similarity > best[-1].similarity:
                best[-1] = hit
        else:
            best.append(hit)
    return sorted(best, key=lambda hit: (-hit.similarity, hit.start))


#: Scripts that write without spaces between words: Thai and its neighbours, Chinese, Japanese.
UNSPACED = re.compile("[\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u2e80-\ua4cf\uf900-\ufaff]")
_LEAST_ALIKE, _LEAST_COVERED = 0.85, 0.75
_INSIDE_WORDS, _OTHER_CASE, _APART = 0.9, 0.7, 0.9
_FEWEST_INSIDE, _FEWEST_ALIKE = 7, 12
_SHORT_CODE = 4
_LONG_DIGITS = 7
_LONG_WORDS = 8
_FEWEST_APART, _MOST_APART = 2, 8
_MOST_PLACES = 200
_SLACK = 4
_LONGEST_ALIKE = 100_000
_DIGITS = re.compile(r"\d+")
_LINK = re.compile(r"(?:https?://|mailto:)?(?:www\.)?", re.IGNORECASE)


def find_text(text: str, key: str, index: PdfText, *, exactly: bool) -> Iterator[Hit]:
    """Find a text whatever its case, spacing, punctuation, accents and line breaks."""
    hits = _exact(text, key, index)
    first = next(hits, None)
    if first is None and not exactly and len(text) <= _LONGEST_ALIKE:
        linked = _LINK.sub("", text, count=1)
        hits = _exact(linked, squash(linked), index) if linked != text else hits
        first = next(hits, None) or _alike(text, key, index)
    if first is not None:
        yield first
        yield from hits


def _alike(text: str, key: str, index: PdfText) -> Hit | None:
    """Find a text with another word order or spelling, or in pieces."""
    words = words_of(text)
    best = _words_apart(words, index) if _FEWEST_APART <= len(words) <= _MOST_APART else None
    if best is None and len(words) >= _LONG_WORDS:
        best = _in_pieces(text, index)
    if best is None and len(key) >= _FEWEST_ALIKE:
        best = _similar(text, index)
    return best


def _exact(text: str, key: str, index: PdfText) -> Iterator[Hit]:
    digits = _DIGITS.findall(text)
    # long numbers, such as telephone numbers, may be grouped differently
    any_grouping = not digits or len("".join(digits)) >= _LONG_DIGITS
    inside = len(key) >= _FEWEST_INSIDE and not key.isdigit()
    unspaced = bool(key and UNSPACED.match(key[0]) and UNSPACED.match(key[-1]))
    is_code = len(key) <= _SHORT_CODE and text.isupper()
    for start, end, is_whole in index.occurrences(key):
        text_found = index.text[start:end]
        if not (is_whole or inside or unspaced):
            continue
        if not any_grouping and digits != _DIGITS.findall(text_found):
            continue
        quality = 1.0 if is_whole or unspaced else _INSIDE_WORDS
        if is_code and not text_found.isupper():
            quality *= _OTHER_CASE
        yield Hit(((start, end),), quality, "as_is")


def _words_apart(words: Sequence[str], index: PdfText) -> Hit | None:
    """Find all words close to the rarest one; numbers do not count as words."""
    wanted = set(words)
    if sum(map(str.isalpha, wanted)) < _FEWEST_APART or not wanted <= index.places.keys():
        return None
    rarest = min(words, key=lambda word: len(index.places[word]))
    for position in index.places[rarest][:_MOST_PLACES]:
        first = max(0, position - len(words) - _SLACK)
        window = range(first, min(len(index.words), position + len(words) + _SLACK))
        if not wanted.issubset(map(index.words.__getitem__, window)):
            continue
        nearest = {
            min((i for i in window if index.words[i] == word), key=lambda i: abs(i - position))
            for word in wanted
        }
        starts = sorted(i for i in nearest if i - 1 not in nearest)
        ends = sorted(i + 1 for i in nearest if i + 1 not in nearest)
        spans = tuple(map(index.span_of_words, starts, ends))  # adjacent words share a span
        return Hit(spans, _APART, "apart")
    return None


def _in_pieces(text: str, index: PdfText) -> Hit | None:
    """Find a long text in pieces of four words or more, in order if possible."""
    words, found = pieces(text, index)
    share = sum(count for _, count in found) / len(words)
    if share < _LEAST_COVERED:
        return None
    spans: list[tuple[int, int]] = []
    after = 0
    for first, count in found:
        key = "".join(words[first : first + count])
        start = index.squashed.find(key, after)
        start = index.squashed.find(key) if start < 0 else start
        after = start + len(key)
        spans.append(index.span(start, after))
    return Hit(tuple(spans), share, "in_pieces")


def _similar(text: str, index: PdfText) -> Hit | None:
    near = nearest_span(text, index)
    if near is None or near[2] < _LEAST_ALIKE:
        return None
    start, end = index.span(*near[:2])
    if not set(_DIGITS.findall(text)) <= set(_DIGITS.findall(index.text[start:end])):
        return None
    return Hit(((start, end),), near[2], "similar")


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
    """Read a text that consists of a number, a share or an amount of money."""
    digits = text.strip()
    if digits.isdigit() and (digits.startswith("0") or len(digits) > _LONGEST_NUMBER):
        return None
    quantity = Quantity.read(text)
    if quantity is None or not any(map(str.isdigit, text)):
        return None
    if quantity.unit not in ("", "%") and not quantity.is_money:
        return None
    return quantity.value, quantity.unit


def spellings(value: float) -> Iterator[tuple[float, float]]:
    """Write a number in the scales of tables and texts.

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


def find_number(value: float, index: PdfText) -> Iterator[Hit]:
    """Find a number."""
    for number, scale in spellings(value):
        for figure in index.figures.get(number, ()):
            quality = _figure_quality(figure, scale, value, index)
            if quality:
                yield Hit(((figure.start, figure.end),), quality, "number")
    for span in index.years.get(abs(value), ()):
        yield Hit((span,), _IN_DATE, "number")
    for words in (*other_writings(abs(value)), _SCALE_WORDS.get(abs(value), "")):
        for start, end, is_whole in index.occurrences(squash(words)):
            if is_whole:
                yield Hit(((start, end),), _IN_WORDS, "number")


def find_currency(text: str, index: PdfText) -> Iterator[Hit]:
    """Find the sign of a currency code: ``USD`` as ``$``."""
    signs = other_writings(text.strip().lower())
    for match in (m for sign in signs for m in re.finditer(re.escape(sign), index.text)):
        yield Hit((match.span(),), _SIGN_FOR_CODE, "number")


def _figure_quality(figure: Figure, scale: float, value: float, index: PdfText) -> float:
    quality = 1.0 if figure.is_sure else _UNSURE
    if figure.is_negative != (value < 0):
        quality *= _OTHER_SIGN
    if scale == 1:
        return quality
    stated = 1 / _PERCENT if figure.is_percent else figure.scale
    if stated == 1 and scale > 1:  # the page may state it above; the last one counts
        top = index.text.rfind("\n", 0, figure.start) + 1
        for match in _STATED.finditer(index.lower, top, figure.start):
            stated = _NAMES[match[1] or match[2]]
    if stated == scale:
        return quality * _SCALED
    # a table may state its scale on another page, or in the heading of a column
    is_long = shape_of(figure.value)[0] >= _FEWEST_DIGITS
    return quality * _GUESSED if is_long and figure.scale == 1 else 0.0


_LONGEST = 80
_PART, _SHIFTED = 0.8, 0.9


def date_of(text: str) -> tuple[Date, float] | None:
    """Read a text that consists of a date; return it with the quality of a match of it."""
    if len(text) > _LONGEST:
        return None
    midnight = Date.unshifted(text)
    if midnight is not None:
        return Date(midnight.year, midnight.month, midnight.day), _SHIFTED
    date = parse_date(text)
    return None if date is None else (date, 1.0)


def find_date(date: Date, sure: float, index: PdfText) -> Iterator[Hit]:
    """Find a date; `sure` is the quality of a complete match."""
    if date.month is None:
        for start, end, is_whole in index.occurrences(str(date.year)):
            if is_whole and end - start == len(str(date.year)):
                yield Hit(((start, end),), sure, "date")
        return
    for year, month, day in date.readings:
        for (*year_and_month, found_day), spans in index.dated.items():
            is_part = day is None or (day == 1 and found_day is None)
            if year_and_month == [year, month] and (day == found_day or is_part):
                quality = sure if day == found_day else sure * _PART
                yield from (Hit((span,), quality, "date") for span in spans)


_MOST_HITS = 5_000
_EXACT = 2**53
_NO_PERCENT = 0.9


def is_sought(value: Any) -> bool:
    """Whether a value can be searched for: a text with a letter or digit, or a finite number."""
    if isinstance(value, str):
        return any(map(str.isalnum, value))
    if isinstance(value, bool) or not isinstance(value, int | float):
        return False
    return isinstance(value, int) or math.isfinite(value)


def sought(value: Any) -> str | float:
    """Convert a caller's value to the text or number to search for."""
    if isinstance(value, date) and value is not pd.NaT:
        return value.isoformat()
    plain = value.item() if type(value).__module__ == "numpy" and hasattr(value, "item") else value
    if isinstance(plain, str) or is_sought(plain):
        return plain  # type: ignore[no-any-return]
    raise InputError(
        f"value: {value!r:.80} cannot be searched for; expected a text, a finite number or a "
        "date. For an array or object use ground_values"
    )


def search(value: str | float, index: PdfText) -> list[Hit]:
    """Find every occurrence of a value."""
    if isinstance(value, str):
        return without_overlaps(_of_text(value, index))
    found = find_number(value, index)
    if abs(value) > _EXACT and isinstance(value, int):
        digits = str(abs(value))  # a float would lose digits
        found = find_text(digits, digits, index, exactly=True)
    return without_overlaps(islice(found, _MOST_HITS))


def _of_text(text: str, index: PdfText) -> Iterator[Hit]:
    dated, amount = date_of(text), amount_of(text)
    if dated is not None:
        yield from islice(find_date(*dated, index), _MOST_HITS)
    elif amount is not None:
        value, unit = amount
        for hit in islice(find_number(value, index), _MOST_HITS):
            after = index.lower[hit.end : hit.end + len(" percent")].lstrip()
            fits = unit != "%" or after.startswith(("%", "percent", "per cent", "pct"))
            yield hit if fits else hit._replace(similarity=hit.similarity * _NO_PERCENT)
    if amount is None or amount[1]:
        exactly = dated is not None or amount is not None
        yield from islice(find_text(text, squash(text), index, exactly=exactly), _MOST_HITS)
    yield from islice(find_currency(text, index), _MOST_HITS)
