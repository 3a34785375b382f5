"""The text of a PDF, searched whatever its spacing, case and line breaks."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from functools import cached_property
from itertools import accumulate, compress, pairwise
from typing import NamedTuple

from extractbench_nb.language.dates import find_dates
from extractbench_nb.language.quantities import read_tokens
from extractbench_nb.language.text import unify

__all__ = [
    "LINE_HYPHEN",
    "Passage",
    "PdfText",
    "covered",
    "nearest_passage",
    "nearest_span",
    "pieces",
    "squash",
    "words_of",
]


_WORD = re.compile(r"[^\W_]+")
#: The hyphen that ends a line, for which PDFium mostly writes U+0002 or U+FFFE.
LINE_HYPHEN = re.compile("[\x02\ufffe]\\s*|(?<=[^\\W\\d_])-[ \\t]*\r?\n\\s*(?=[^\\W\\d_A-Z])")
_NUMBER = re.compile(r"\d+(?:,\d{3})*(?:\.\d+)?|\.\d+")
_SHORT = 6
_BEFORE, _AFTER = 4, 12
_MAX_PROBES = 2_000


class Passage(NamedTuple):
    """A piece of a PDF that is near to a value.

    Attributes
    ----------
    text : str
        As the PDF has it, with single spaces.
    around : str
        The same with some words before and after it.
    page : int
        Counted from 1.
    similarity : float
        In [0, 1], of letters and digits alone.
    """

    text: str
    around: str
    page: int
    similarity: float


def words_of(text: str) -> list[str]:
    """Cut a text into its words and numbers, casefolded, accents and punctuation dropped.

    Examples
    --------
    >>> words_of("Société: 1,204 (née)")
    ['societe', '1', '204', 'nee']
    """
    return _WORD.findall(unify(text).casefold())


def squash(text: str) -> str:
    """Reduce a text to its letters and digits."""
    return "".join(words_of(text))


class PdfText:
    """The text of one PDF, indexed.

    Parameters
    ----------
    pages : sequence of str
        One text a page, as `benchmark.pdf.read_pages` returns them.
    """

    def __init__(self, pages: Sequence[str]) -> None:
        clean = [unify(LINE_HYPHEN.sub("", page)) for page in pages]
        self.pages = len(clean)
        self.text = "\n".join(clean)
        self._page_starts = [0, *accumulate(len(page) + 1 for page in clean)][: self.pages]
        spans = [match.span() for match in _WORD.finditer(self.text)]
        self._spans = spans
        self.words = [self.text[start:end].casefold() for start, end in spans]
        self.squashed = "".join(self.words)
        self._starts = [0, *accumulate(map(len, self.words))]

    @cached_property
    def counts(self) -> Counter[str]:
        """How often each word occurs."""
        return Counter(self.words)

    @cached_property
    def pairs(self) -> Counter[tuple[str, str]]:
        """How often two words follow each other with nothing but blanks between them."""
        gaps = (self.text[a[1] : b[0]].isspace() for a, b in pairwise(self._spans))
        return Counter(compress(pairwise(self.words), gaps))

    @cached_property
    def places(self) -> dict[str, list[int]]:
        """Where each word stands, by its index in `words`."""
        found: dict[str, list[int]] = defaultdict(list)
        for i, word in enumerate(self.words):
            found[word].append(i)
        return found

    @cached_property
    def _boundaries(self) -> frozenset[int]:
        return frozenset(self._starts)

    @cached_property
    def numbers(self) -> frozenset[float]:
        """Every number in digits, without its sign and unit."""
        return frozenset(float(m[0].replace(",", "")) for m in _NUMBER.finditer(self.text))

    @cached_property
    def quantities(self) -> frozenset[float]:
        """Every quantity with its scale words multiplied in: 2.5 billion, twenty-five."""
        tokens = read_tokens(self.text)[1]
        return frozenset(abs(token.quantity.value) for token in tokens if token.quantity)

    @cached_property
    def dates(self) -> frozenset[tuple[int, int | None, int | None]]:
        """Every date, as year, month and day; both readings of ambiguous ones."""
        found = find_dates(self.text.casefold())
        return frozenset(reading for _, _, date in found for reading in date.readings)

    def has(self, squashed: str) -> bool:
        """Say whether the PDF has these letters and digits in a row."""
        if len(squashed) > _SHORT and not squashed.isdigit():
            return squashed in self.squashed
        return any(self._is_whole(start, len(squashed)) for start in self._finds(squashed))

    def _finds(self, squashed: str) -> Iterator[int]:
        start = self.squashed.find(squashed)
        for _ in range(_MAX_PROBES):
            if start < 0:
                return
            yield start
            start = self.squashed.find(squashed, start + 1)

    def _is_whole(self, start: int, length: int) -> bool:
        return start in self._boundaries and start + length in self._boundaries

    def window(self, first: int, count: int) -> tuple[str, int]:
        """Cut a piece out of the squashed text."""
        start = self._starts[max(0, first)]
        end = self._starts[min(len(self.words), first + count)]
        return self.squashed[start:end], start

    def passage(self, start: int, end: int, similarity: float) -> Passage:
        """Return the words around a span of the squashed text, as the PDF has them."""
        first = max(0, bisect_right(self._starts, start) - 1)
        last = min(len(self._spans), max(first + 1, bisect_right(self._starts, end - 1)))
        page = bisect_right(self._page_starts, self._spans[first][0])
        around = self._original(first - _BEFORE, last + _AFTER)
        return Passage(self._original(first, last), around, page, similarity)

    def _original(self, first: int, last: int) -> str:
        spans = self._spans[max(0, first) : last]
        return " ".join(self.text[spans[0][0] : spans[-1][1]].split())


_MOST_VOTERS = 40
_MOST_PLACES = 200
_WINDOWS = 4
_SLACK = 3
_MAX_WORDS = 120
_MIN_SIMILARITY = 0.6
_SPELLING_CUTOFF = 75
_SPELT_WORDS = 6
_MIN_PIECE = 4
_MAX_COVERED_WORDS = 600


def nearest_passage(text: str, pdf: PdfText) -> Passage | None:
    """Find the passage that is most like a text.

    Each word of the text votes for the places where the text would begin if that word were the
    one it meets in the PDF; rare words first. The few places with the most votes are compared by
    their letters and digits.
    """
    found = nearest_span(text, pdf)
    return None if found is None else pdf.passage(*found)


def nearest_span(text: str, pdf: PdfText) -> tuple[int, int, float] | None:
    """Find the span of the squashed text that is most like a text."""
    from rapidfuzz import fuzz

    words = words_of(text)[:_MAX_WORDS]
    wanted = "".join(words)
    if not wanted:
        return None
    best: tuple[int, int, float] | None = None
    for first in _beginnings(words, pdf):
        window, offset = pdf.window(first - _SLACK, len(words) + 2 * _SLACK)
        found = fuzz.partial_ratio_alignment(wanted, window)
        if found is None or found.dest_end <= found.dest_start:
            continue
        similarity = fuzz.ratio(wanted, window[found.dest_start : found.dest_end]) / 100
        if similarity >= _MIN_SIMILARITY and (best is None or similarity > best[2]):
            best = offset + found.dest_start, offset + found.dest_end, similarity
    return best


def _beginnings(words: Sequence[str], pdf: PdfText) -> list[int]:
    """Return the word indices where the text most likely begins."""
    votes: Counter[int] = Counter()
    known = sorted({(len(pdf.places[w]), w, i) for i, w in enumerate(words) if w in pdf.places})
    voters = [(w, i) for _, w, i in known[:_MOST_VOTERS]]
    if len(known) < len(words) and len(words) <= _SPELT_WORDS:
        voters += _respelt(words, pdf)
    for word, i in voters:
        for place in pdf.places[word][:_MOST_PLACES]:
            votes[(place - i) // 2] += 1
    return [2 * bin_ for bin_, _ in votes.most_common(_WINDOWS)]


def _respelt(words: Sequence[str], pdf: PdfText) -> list[tuple[str, int]]:
    """Let unknown words of a short text vote by the word of the PDF that is spelt most alike."""
    from rapidfuzz import fuzz, process

    found = []
    for i, word in enumerate(words):
        if word not in pdf.places and len(word) >= _MIN_PIECE:
            near = process.extractOne(
                word, pdf.places.keys(), scorer=fuzz.ratio, score_cutoff=_SPELLING_CUTOFF
            )
            if near is not None:
                found.append((near[0], i))
    return found


def covered(text: str, pdf: PdfText) -> tuple[float, list[str]]:
    """Say how much of a long text stands in the PDF in pieces of four words or more."""
    words, found = pieces(text, pdf)
    missing: list[list[str]] = []
    end = 0
    for first, length in [*found, (len(words), 0)]:
        if first > end:
            missing.append(words[end:first])
        end = first + length
    lost = sum(map(len, missing))
    return (len(words) - lost) / len(words) if words else 1.0, [" ".join(run) for run in missing]


def pieces(text: str, pdf: PdfText) -> tuple[list[str], list[tuple[int, int]]]:
    """Cut a long text into the pieces of four words or more that stand in the PDF."""
    words = words_of(text)[:_MAX_COVERED_WORDS]
    found: list[tuple[int, int]] = []
    i = 0
    while i < len(words):
        length = _longest_piece(words, i, pdf)
        if length:
            found.append((i, length))
        i += length or 1
    return words, found


def _longest_piece(words: Sequence[str], i: int, pdf: PdfText) -> int:
    """Return how many words from index `i` stand in the PDF in a row; 0 for fewer than four."""

    def stands(count: int) -> bool:
        return pdf.has("".join(words[i : i + count]))

    left = len(words) - i
    low = min(_MIN_PIECE, left)
    if not stands(low):
        return 0
    high = low
    while high < left and stands(min(2 * high, left)):
        high = min(2 * high, left)
    if high == left:
        return left
    low, high = high, min(2 * high, left)
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if stands(middle) else (low, middle)
    return low
