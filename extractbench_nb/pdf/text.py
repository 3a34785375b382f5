"""The text of a PDF, indexed: words, numbers, dates and passages with their places."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections import Counter, OrderedDict, defaultdict
from collections.abc import Iterator, Sequence
from functools import cached_property
from itertools import accumulate, compress, pairwise
from pathlib import Path
from threading import Lock
from typing import NamedTuple

from extractbench_nb.errors import InputError
from extractbench_nb.language.dates import find_dates
from extractbench_nb.language.quantities import (
    MONEY_SCALES,
    SCALES,
    SMALL_NUMBERS,
    WHOLE_TENS,
    read_tokens,
)
from extractbench_nb.language.text import unify
from extractbench_nb.pdf.pages import read_layers

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
    """Return the share of a long text that is in the PDF, and the runs of words that are not.

    Words count as in the PDF if four or more of them stand there in a row.
    """
    words, found = pieces(text, pdf)
    missing: list[list[str]] = []
    end = 0
    for first, length in [*found, (len(words), 0)]:
        if first > end:
            missing.append(words[end:first])
        end = first + length
    absent = sum(map(len, missing))
    share = (len(words) - absent) / len(words) if words else 1.0
    return share, [" ".join(run) for run in missing]


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


_ENGLISH = r"\d{1,3}(?:,\d{3})+(?:\.\d+)?"
_CONTINENTAL = r"\d{1,3}(?:\.\d{3})+(?:,\d+)?"
_SPACED = r"(?<!\d )[1-9]\d{0,2}(?: \d{3})+(?:[.,]\d+)?(?! \d)"
_SWISS = r"[1-9]\d{0,2}(?:'\d{3})+(?:[.,]\d+)?"
_PLAIN = r"\d+(?:[.,]\d+)?|[.,]\d+"
#: Not a part of a longer number, version, date, clock time or heading.
_ALONE = r"(?<![\d.,])(?<!\d['/:])", r"(?![.,:/']?\d)"
_FIGURE = re.compile(f"{_ALONE[0]}(?:{_ENGLISH}|{_CONTINENTAL}|{_PLAIN}){_ALONE[1]}")
_GROUPED = re.compile(f"{_ALONE[0]}(?:{_SPACED}|{_SWISS}){_ALONE[1]}")
_UNIT_AFTER = re.compile(r"\s?(?P<percent>%|per ?cent\b|pct\b)|[\s-]{0,2}(?P<scale>[A-Za-z]+)\b")
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
    """Round to twelve significant digits, so that equal numbers are equal floats."""
    return float(f"{number:.12g}")


def find_figures(text: str) -> Iterator[Figure]:
    """Find the numbers in a text; parts of versions, clock times and dotted headings are none.

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
    marks = before.rstrip("$€£¥ ")
    if marks.endswith("("):
        is_negative = after.lstrip(" %").startswith(")")
    else:
        is_negative = marks.endswith("-") and not marks[-2:-1].isalnum()
    glued = before[-1:].isalpha()
    found = _UNIT_AFTER.match(after)
    if found is None:
        return Figure(value, start, end, is_negative, is_sure=is_sure and not glued)
    word = (found["scale"] or "").lower()
    scale = float(SCALES.get(word) or MONEY_SCALES.get(word, 1))
    is_percent = found["percent"] is not None
    return Figure(value, start, end, is_negative, is_percent, scale, is_sure and not glued)


def in_words(number: float) -> str | None:
    """Write a small whole number in English words.

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

    Examples
    --------
    >>> shape_of(1234.5), shape_of(5000), shape_of(0.25), shape_of(2024)
    ((5, 3), (1, 3), (2, -1), (0, 3))
    """
    if number in _YEARS:
        return 0, 3
    digits, _, power = f"{number:.11e}".partition("e")
    return max(1, len(digits.replace(".", "").rstrip("0"))), int(power)


_TOKEN = re.compile(r"\S+")


def positions(page: str) -> tuple[str, list[int]]:
    r"""Normalise the text of a page and keep where each character comes from.

    Examples
    --------
    >>> positions("ﬁrst  re-\nsult")
    ('first result', [0, 0, 1, 2, 3, 5, 6, 7, 10, 11, 12, 13])
    """
    text, places = _without(page, range(len(page)), LINE_HYPHEN)
    words: list[str] = []
    found: list[int] = []
    for match in _TOKEN.finditer(text):
        word = unify(match[0])
        if not word:
            continue
        if words:
            found.append(places[match.start() - 1])
        found += _inside(word, match[0], places[match.start() : match.end()])
        words.append(word)
    return " ".join(words), found


def _without(
    text: str, places: Sequence[int], pattern: re.Pattern[str]
) -> tuple[str, Sequence[int]]:
    """Cut every match out of a text."""
    kept: list[int] = []
    pieces: list[str] = []
    end = 0
    for match in pattern.finditer(text):
        pieces.append(text[end : match.start()])
        kept += places[end : match.start()]
        end = match.end()
    if not end:
        return text, places
    return "".join((*pieces, text[end:])), [*kept, *places[end:]]


def _inside(word: str, original: str, places: Sequence[int]) -> Sequence[int]:
    if original.isascii():
        return places
    found: list[int] = []
    for place, character in zip(places, original, strict=True):
        part = unify(character)
        if part and word.startswith(f" {part}", len(found)):  # 1½ becomes 1 1/2
            part = f" {part}"
        found += [place] * len(part)
    if len(found) == len(word):
        return found
    return [places[index * len(places) // len(word)] for index in range(len(word))]


_AROUND = 60
_BLANKS = re.compile(r"[\s\x00-\x1f\x7f-\x9f\ufffe]+")
#: Characters of text that are kept indexed, some 85 bytes each.
_MOST_CHARACTERS = 2_000_000


class Excerpt(NamedTuple):
    """A piece of one page.

    Attributes
    ----------
    page : int
        Counted from 1.
    first, end : int
        Its characters in PDFium's own list.
    """

    page: int
    first: int
    end: int


class DocumentIndex(PdfText):
    """The text of one PDF, with the place of every character.

    Parameters
    ----------
    layers : sequence of str
        One text a page, as `benchmark.pdf.read_layers` returns them.
    """

    def __init__(self, layers: Sequence[str]) -> None:
        super().__init__(layers)
        self.layers = tuple(layers)
        self._positions: dict[int, list[int]] = {}

    @property
    def pages_without_text(self) -> int:
        """How many pages have no letter and no digit: scanned, drawn or blank."""
        texts = self.text.split("\n")
        return sum(not any(map(str.isalnum, text)) for text in texts) if self.layers else 0

    @cached_property
    def lower(self) -> str:
        """The text in lower case, character for character."""
        lower = self.text.lower()
        if len(lower) == len(self.text):
            return lower
        return "".join(c.lower() if len(c.lower()) == 1 else c for c in self.text)

    @cached_property
    def dated(self) -> dict[tuple[int, int | None, int | None], list[tuple[int, int]]]:
        """The spans of each date, by year, month and day; both readings of ambiguous ones."""
        found: dict[tuple[int, int | None, int | None], list[tuple[int, int]]] = defaultdict(list)
        for start, end, date in find_dates(self.lower):
            for reading in date.readings:
                found[reading].append((start, end))
        return dict(found)

    @cached_property
    def years(self) -> dict[float, list[tuple[int, int]]]:
        """The spans of the dates of each year."""
        found: dict[float, set[tuple[int, int]]] = defaultdict(set)
        for (year, _, _), spans in self.dated.items():
            found[float(year)].update(spans)
        return {year: sorted(spans) for year, spans in found.items()}

    @cached_property
    def figures(self) -> dict[float, list[Figure]]:
        """The numbers in digits, by the values that they may have, signs dropped."""
        found: dict[float, list[Figure]] = defaultdict(list)
        for figure in find_figures(self.text):
            found[figure.value].append(figure)
        return dict(found)

    @cached_property
    def shapes(self) -> Counter[tuple[int, int]]:
        """How many numbers have each shape, see `numbers.shape_of`."""
        return Counter(
            shape_of(value)
            for value, figures in self.figures.items()
            for figure in figures
            if figure.is_sure
        )

    def occurrences(self, squashed: str) -> Iterator[tuple[int, int, bool]]:
        """Find letters and digits in a row."""
        start = self.squashed.find(squashed) if squashed else -1
        while start >= 0:
            yield *self.span(start, start + len(squashed)), self._is_whole(start, len(squashed))
            start = self.squashed.find(squashed, start + 1)

    def span(self, start: int, end: int) -> tuple[int, int]:
        """Turn a span of `squashed` into one of `text`."""
        return self._place(start), self._place(end - 1) + 1

    def _place(self, offset: int) -> int:
        word = bisect_right(self._starts, offset) - 1
        first, last = self._spans[word]
        return min(first + offset - self._starts[word], last - 1)

    def span_of_words(self, first: int, end: int) -> tuple[int, int]:
        """Return the span in `text` of words."""
        return self._spans[first][0], self._spans[end - 1][1]

    def page_of(self, position: int) -> int:
        """Return the page of a position."""
        return bisect_right(self._page_starts, position)

    def excerpts(self, start: int, end: int) -> list[Excerpt]:
        """Return where a span of `text` stands in PDFium's own list of characters."""
        found = []
        for page in range(self.page_of(start), self.page_of(end - 1) + 1):
            origin = self._page_starts[page - 1]
            places = self._page_positions(page)
            first, last = max(0, start - origin), min(len(places), end - origin)
            if first < last:
                found.append(Excerpt(page, places[first], places[last - 1] + 1))
        return found

    def _page_positions(self, page: int) -> list[int]:
        if page not in self._positions:
            self._positions[page] = positions(self.layers[page - 1])[1]
        return self._positions[page]

    def original(self, excerpt: Excerpt) -> str:
        """Return the text of an excerpt as the PDF has it."""
        layer = self.layers[excerpt.page - 1]
        return _BLANKS.sub(" ", layer[excerpt.first : excerpt.end]).strip()

    def context(self, start: int, end: int) -> str:
        """Return the text around a span."""
        page = self.page_of(start)
        text = self.text[self._page_starts[page - 1] :].partition("\n")[0]
        start, end = (place - self._page_starts[page - 1] for place in (start, end))
        end = min(end, start + 2 * _AROUND)
        first = max(0, text.rfind(" ", 0, max(0, start - _AROUND)) + 1)
        last = text.find(" ", end + _AROUND)
        return text[first : last if 0 <= last < end + 2 * _AROUND else end + _AROUND]


class _Shelf:
    """The indices that were used last, as many as fit."""

    def __init__(self) -> None:
        self._lock = Lock()
        self._kept: OrderedDict[tuple[Path, int, int], DocumentIndex] = OrderedDict()

    def get(self, key: tuple[Path, int, int]) -> DocumentIndex:
        with self._lock:
            if key not in self._kept:
                self._kept[key] = DocumentIndex(read_layers(key[0]))
            self._kept.move_to_end(key)
            while len(self._kept) > 1 and self._size() > _MOST_CHARACTERS:
                self._kept.popitem(last=False)
            return self._kept[key]

    def _size(self) -> int:
        return sum(len(index.text) for index in self._kept.values())


_SHELF = _Shelf()


def index_of(path: Path) -> DocumentIndex:
    """Index the text of a PDF, or take the index that is available."""
    try:
        status = path.stat()
    except OSError as error:
        problem = error.strerror or str(error)
        raise InputError(f"PDF {str(path)!r} cannot be read: {problem}") from None
    return _SHELF.get((path.resolve(), status.st_mtime_ns, status.st_size))
