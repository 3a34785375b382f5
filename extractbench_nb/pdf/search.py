"""Searching the text of a PDF for one value: as text, number or date.

An occurrence is exact, or there are one or more doubts about it: another sign, a scale that is not
stated, a part of a date. Each doubt takes a tenth off its similarity.
"""

from __future__ import annotations

import math
import re
from bisect import bisect_left, bisect_right
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from datetime import date
from itertools import islice
from typing import Any, NamedTuple

import pandas as pd

from extractbench_nb.core.text import Date, Quantity, other_writings, parse_date
from extractbench_nb.errors import InputError
from extractbench_nb.pdf.page_text import (
    MOST_HITS,
    TELLING,
    Figure,
    Passage,
    PdfText,
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

#: What a doubt leaves of the similarity.
_DOUBT = 0.9
#: The least similarity of a text with another spelling, and the letters that it needs.
_ALIKE, _SPELT = 0.85, 12
#: From this number on, a float does not hold every digit of an integer.
INEXACT = 2**53
#: Scripts that write without spaces between words: Thai and its neighbours, Chinese, Japanese.
UNSPACED = re.compile("[\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u2e80-\ua4cf\uf900-\ufaff]")
#: Characters of a text that are compared letter by letter; five times as many, word by word.
_COMPARED = 800
#: Words of the shortest piece of a text, and words that may be between others or around them.
_FEW = 4
#: Words of a text that may be apart from each other, or misspelt without being compared as a whole.
_MANY = 8
#: Positions of a word that are tried.
_MOST_PLACES = 200
#: The least share of equal letters in two spellings of a word, or of words of a text in pieces.
_MOSTLY = 0.75
_SCALES = {"thousands": 1e3, "millions": 1e6, "billions": 1e9}


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


def _hit(start: int, end: int, doubts: int, written: str) -> Hit:
    return Hit(((start, end),), _DOUBT**doubts, written)


def without_overlaps(hits: Iterable[Hit]) -> list[Hit]:
    """Keep the best hit of those that overlap."""
    best: list[Hit] = []
    for hit in sorted(hits, key=lambda hit: (hit.start, -hit.similarity)):
        if not best or hit.start >= best[-1].spans[-1][1]:
            best.append(hit)
        elif hit.similarity > best[-1].similarity:
            best[-1] = hit
    return sorted(best, key=lambda hit: (-hit.similarity, hit.start))


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
    plain = value.item() if hasattr(value, "item") else value
    if isinstance(plain, str) or is_sought(plain):
        return plain  # type: ignore[no-any-return]
    raise InputError(
        f"value: {value!r:.80} cannot be searched for; expected a text, a finite number or a "
        "date. For an array or object use ground_values"
    )


def search(value: str | float, index: PdfText) -> list[Hit]:
    """Find every occurrence of a value, the best ones first."""
    if isinstance(value, str):
        return without_overlaps(_find_any(value, index))
    digits = str(abs(value))
    is_long = isinstance(value, int) and abs(value) > INEXACT
    hits = _find_exact(digits, digits, index) if is_long else _find_number(value, index)
    return without_overlaps(islice(hits, MOST_HITS))


def _find_any(text: str, index: PdfText) -> Iterator[Hit]:
    """Find a text as a date or an amount, if it is one, and as it is."""
    dated, amount = date_of(text), amount_of(text)
    if dated is not None:
        yield from islice(_find_date(*dated, index), MOST_HITS)
    elif amount is not None:
        for hit in islice(_find_number(amount.value, index), MOST_HITS):
            end = hit.spans[0][1]
            after = index.lower[end : end + len(" percent")].lstrip()
            fits = amount.unit != "%" or after.startswith(("%", "percent", "per cent", "pct"))
            yield hit if fits else hit._replace(similarity=hit.similarity * _DOUBT)
    if amount is None or amount.unit:
        found = list(islice(_find_exact(text, squash(text), index), MOST_HITS))
        if not found and dated is None and amount is None:
            found = list(islice(_find_inexact(text, index), MOST_HITS))
        yield from found
    for sign in other_writings(text.strip().lower()):  # the sign of a currency code: $ for USD
        matches = islice(re.finditer(re.escape(sign), index.text), MOST_HITS)
        yield from (_hit(*match.span(), 6, "number") for match in matches)


# --- texts --------------------------------------------------------------------------------------


def _find_exact(text: str, key: str, index: PdfText) -> Iterator[Hit]:
    """Find a text whatever its case, spacing, punctuation, accents and line breaks."""
    digits = re.findall(r"\d+", text)
    # long numbers, such as telephone numbers, may be grouped differently
    any_grouping = not digits or len("".join(digits)) >= TELLING
    is_inside = len(key) >= TELLING and not key.isdigit()
    is_unspaced = bool(key and UNSPACED.match(key[0]) and UNSPACED.match(key[-1]))
    is_code = len(key) < TELLING and text.isupper()
    for start, end, is_whole in index.occurrences(key):
        original = index.text[start:end]
        if not (is_whole or is_inside or is_unspaced):
            continue
        if not any_grouping and digits != re.findall(r"\d+", original):
            continue
        doubts = 0 if is_whole or is_unspaced else 1
        doubts += 2 if is_code and not original.isupper() else 0
        yield _hit(start, end, doubts, "as_is")


def _find_inexact(text: str, index: PdfText) -> Iterator[Hit]:
    """Find a link without its beginning; or a text with another order or spelling, or in pieces."""
    linked = re.sub(r"^(?:https?://|mailto:)?(?:www\.)?", "", text, flags=re.IGNORECASE)
    if linked != text and (found := list(_find_exact(linked, squash(linked), index))):
        yield from found
        return
    words = words_of(text)
    if 2 <= len(words) <= _MANY and sum(map(str.isalpha, set(words))) >= 2:  # noqa: PLR2004
        spans = words_apart(words, index)
        if spans:
            yield Hit(tuple(spans), _DOUBT, "apart")
            return
    if len(words) >= _MANY:
        share, spans = spans_of_pieces(text, index)
        if share >= _MOSTLY:
            yield Hit(tuple(spans), share, "in_pieces")
            return
    nearest = nearest_words(text, index) if sum(map(len, words)) >= _SPELT else None
    if nearest is not None and nearest[2] >= _ALIKE:
        first, end, similarity = nearest
        beside = index.span_of_words(max(0, first - 1), min(len(index.words), end + 1))
        # other numbers are another value; one may stand beside the words, as a year does
        if set(re.findall(r"\d+", text)) <= set(re.findall(r"\d+", index.text[slice(*beside)])):
            yield Hit((index.span_of_words(first, end),), similarity, "similar")


# --- numbers ------------------------------------------------------------------------------------


def amount_of(text: str) -> Quantity | None:
    """Read a text that consists of a number, a share or an amount of money."""
    digits = text.strip()
    if digits.isdigit() and (digits.startswith("0") or len(digits) > TELLING):
        return None  # a code
    quantity = Quantity.read(text)
    if quantity is None or not any(map(str.isdigit, text)):
        return None
    return quantity if quantity.unit in ("", "%") or quantity.is_money else None


def spellings(value: float) -> Iterator[tuple[float, float]]:
    """Yield a number in the scales of tables and texts, and in percent up to ten."""
    size = abs(value)
    for scale in (1.0, *_SCALES.values()):
        if size >= scale or scale == 1:
            yield tidy(size / scale), scale
    if 0 < size <= 10:  # noqa: PLR2004
        yield tidy(size * 100), 0.01


def _find_number(value: float, index: PdfText) -> Iterator[Hit]:
    for number, scale in spellings(value):
        for figure in index.figures.get(number, ()):
            doubts = _doubts_about_scale(figure, scale, index)
            if doubts is not None:
                doubts += (not figure.is_sure) + (figure.is_negative != (value < 0))
                yield _hit(figure.start, figure.end, doubts, "number")
    size = abs(value)
    for (year, *_), spans in index.dated.items():
        if year == size:
            yield from (_hit(*span, 1, "number") for span in spans)
    names = [name for name, scale in _SCALES.items() if scale == size]
    for words in (*other_writings(size), *names):
        for start, end, is_whole in index.occurrences(squash(words)):
            if is_whole:
                yield _hit(start, end, 1, "number")


def _doubts_about_scale(figure: Figure, scale: float, index: PdfText) -> int | None:
    """Count the doubts about a number that would have this scale; None if it has another one."""
    if scale == 1:
        return 0
    stated = 0.01 if figure.is_percent else figure.scale
    if stated == 1 and scale > 1:  # the page may state it above; the last one counts
        top = index.text.rfind("\n", 0, figure.start) + 1
        stating = r"\bin (thousands|millions|billions)\b|\b(thousands|millions) of\b"
        for match in re.compile(stating).finditer(index.lower, top, figure.start):
            stated = _SCALES[match[1] or match[2]]
    if stated == scale:
        return 1
    # a table may state its scale on another page, or in the heading of a column
    is_long = shape_of(figure.value)[0] >= 3  # noqa: PLR2004
    return 3 if is_long and figure.scale == 1 else None


# --- dates --------------------------------------------------------------------------------------


def date_of(text: str) -> tuple[Date, int] | None:
    """Read a text that consists of a date; return it with the number of doubts about it."""
    midnight = Date.unshifted(text)
    if midnight is not None:
        return Date(midnight.year, midnight.month, midnight.day), 1
    read = parse_date(text)
    return None if read is None else (read, 0)


def _find_date(sought_date: Date, doubts: int, index: PdfText) -> Iterator[Hit]:
    if sought_date.month is None:
        digits = str(sought_date.year)
        for start, end, is_whole in index.occurrences(digits):
            if is_whole and end - start == len(digits):
                yield _hit(start, end, doubts, "date")
        return
    for year, month, day in sought_date.readings:
        for (*year_and_month, found_day), spans in index.dated.items():
            # the first of a month may be written as the month; a month is in each of its days
            is_part = day is None or (day == 1 and found_day is None)
            if year_and_month == [year, month] and (day == found_day or is_part):
                less = 0 if day == found_day else 2
                yield from (_hit(*span, doubts + less, "date") for span in spans)


# --- texts with another order or spelling, or in pieces ----------------------------------------


def nearest_passage(text: str, pdf: PdfText) -> Passage | None:
    """Find the passage that is most similar to a text."""
    nearest = nearest_words(text, pdf)
    return None if nearest is None else pdf.passage(*nearest)


def nearest_words(text: str, pdf: PdfText) -> tuple[int, int, float] | None:
    """Find the words that are most similar to a text: the first, the end and their similarity.

    Each word votes for the positions at which the text would begin if the word occurred at its
    positions in the PDF. Around the positions with the most votes, the stretch of letters and
    digits that is most similar gives the similarity. It may cut words at both ends: each of them is
    left out if the words are more similar to the text without it.
    """
    from rapidfuzz import fuzz

    words = words_of(text[:_COMPARED])
    wanted = "".join(words)
    best: tuple[int, int, float] | None = None
    for begin in _beginnings(words, pdf) if wanted else ():
        low, high = max(0, begin - 3), min(len(pdf.words), begin + len(words) + 3)
        offset = pdf.starts[low]
        window = pdf.squashed[offset : pdf.starts[high]]
        found = fuzz.partial_ratio_alignment(wanted, window)
        if found is None or found.dest_end <= found.dest_start:
            continue
        similarity = fuzz.ratio(wanted, window[found.dest_start : found.dest_end]) / 100
        if similarity < 0.6 or (best is not None and similarity <= best[2]):  # noqa: PLR2004
            continue
        start, end = offset + found.dest_start, offset + found.dest_end
        firsts = {bisect_right(pdf.starts, start) - 1, bisect_left(pdf.starts, start)}
        ends = {bisect_left(pdf.starts, end), bisect_right(pdf.starts, end) - 1}
        choices = [(first, last) for first in firsts for last in ends if first < last]
        spelt = {(a, b): pdf.squashed[pdf.starts[a] : pdf.starts[b]] for a, b in choices}
        whole = max(sorted(choices), key=lambda words: fuzz.ratio(wanted, spelt[words]))
        best = *whole, similarity
    return best


def _beginnings(words: Sequence[str], pdf: PdfText) -> list[int]:
    """Return the word indices where the text most likely begins."""
    from rapidfuzz import fuzz, process

    voters = [(word, i) for i, word in enumerate(words) if word in pdf.places]
    if len(words) <= _MANY:  # a word that the PDF does not have votes with the most similar one
        for i, word in enumerate(words):
            if word not in pdf.places and len(word) >= _FEW:
                near = process.extractOne(
                    word, pdf.places.keys(), scorer=fuzz.ratio, score_cutoff=100 * _MOSTLY
                )
                voters += [] if near is None else [(near[0], i)]
    votes: Counter[int] = Counter()
    for word, i in sorted(voters, key=lambda voter: len(pdf.places[voter[0]])):  # rare ones first
        for position in pdf.places[word][:_MOST_PLACES]:
            votes[(position - i) // 2] += 1
    return [2 * pair for pair, _ in votes.most_common(_FEW)]


def words_apart(words: Sequence[str], pdf: PdfText) -> list[tuple[int, int]]:
    """Find all words close to the rarest one; return the spans of adjacent ones."""
    wanted = set(words)
    if not wanted <= pdf.places.keys():
        return []
    rarest = min(words, key=lambda word: len(pdf.places[word]))
    for position in islice(pdf.places[rarest], _MOST_PLACES):
        around = len(words) + _FEW
        window = range(max(0, position - around), min(len(pdf.words), position + around))
        if not wanted.issubset(map(pdf.words.__getitem__, window)):
            continue
        nearest = {
            min((i for i in window if pdf.words[i] == word), key=lambda i: abs(i - position))
            for word in wanted
        }
        firsts = sorted(i for i in nearest if i - 1 not in nearest)
        ends = sorted(i + 1 for i in nearest if i + 1 not in nearest)
        return list(map(pdf.span_of_words, firsts, ends))
    return []


def covered(text: str, pdf: PdfText) -> tuple[float, list[str]]:
    """Return the share of a long text that is in the PDF, and the runs of words that are not.

    Words count as in the PDF if four or more of them occur there consecutively.
    """
    words, found = pieces(text, pdf)
    runs, end = [], 0
    for first, count in [*found, (len(words), 0)]:
        runs += [" ".join(words[end:first])] if first > end else []
        end = first + count
    return _share(words, found), runs


def _share(words: Sequence[str], found: Sequence[tuple[int, int]]) -> float:
    return sum(count for _, count in found) / len(words) if words else 1.0


def pieces(text: str, pdf: PdfText) -> tuple[list[str], list[tuple[int, int]]]:
    """Split a long text into the pieces of four words or more that are in the PDF."""
    words = words_of(text[: 5 * _COMPARED])
    found: list[tuple[int, int]] = []
    i = 0
    while i < len(words):
        lengths = range(min(_FEW, len(words) - i), len(words) - i + 1)
        longer = bisect_left(lengths, True, key=lambda n: not pdf.has("".join(words[i : i + n])))
        if longer:
            found.append((i, lengths[longer - 1]))
        i += lengths[longer - 1] if longer else 1
    return words, found


def spans_of_pieces(text: str, pdf: PdfText) -> tuple[float, list[tuple[int, int]]]:
    """Return the share of a long text that is in the PDF, and the spans, in order if possible."""
    words, found = pieces(text, pdf)
    spans: list[tuple[int, int]] = []
    after = 0
    for first, count in found:
        key = "".join(words[first : first + count])
        start = pdf.squashed.find(key, after)
        start = pdf.squashed.find(key) if start < 0 else start
        after = start + len(key)
        spans.append(pdf.span(start, after))
    return _share(words, found), spans
