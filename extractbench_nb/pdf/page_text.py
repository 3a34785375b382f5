"""The text of a PDF, indexed: words, numbers, dates and passages with their places."""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence
from functools import cached_property
from itertools import accumulate, compress, islice, pairwise
from pathlib import Path
from typing import NamedTuple, TypeVar

from extractbench_nb.core.text import Date, Quantity
from extractbench_nb.pdf.pages import Recent, read_layers
from extractbench_nb.support.files import reading
from extractbench_nb.support.folding import unify

Key = TypeVar("Key")
Value = TypeVar("Value")

_WORD = re.compile(r"[^\W_]+")
#: The hyphen that ends a line, for which PDFium mostly writes U+0002 or U+FFFE.
LINE_HYPHEN = re.compile("[\x02\ufffe]\\s*|(?<=[^\\W\\d_])-[ \\t]*\r?\n\\s*(?=[^\\W\\d_A-Z])")
_NUMBER = re.compile(r"\d+(?:,\d{3})*(?:\.\d+)?|\.\d+")
_SHORT = 6
_BEFORE, _AFTER = 4, 12
_MAX_PROBES = 2_000
_AROUND = 60
_BLANKS = re.compile(r"[\s\x00-\x1f\x7f-\x9f\ufffe]+")


class Passage(NamedTuple):
    """A piece of a PDF that is similar to a value: its text, and with words around it.

    The similarity, in [0, 1], is of letters and digits alone.
    """

    text: str
    around: str
    page: int
    similarity: float


def words_of(text: str) -> list[str]:
    """Split a text into words and numbers, casefolded, without accents and punctuation."""
    return _WORD.findall(unify(text).casefold())


def squash(text: str) -> str:
    """Reduce a text to its letters and digits."""
    return "".join(words_of(text))


class Excerpt(NamedTuple):
    """A piece of one page (counted from 1): a range of PDFium's character indices."""

    page: int
    first: int
    end: int


def _grouped(pairs: Iterable[tuple[Key, Value]]) -> dict[Key, list[Value]]:
    found: dict[Key, list[Value]] = defaultdict(list)
    for key, value in pairs:
        found[key].append(value)
    return dict(found)


class PdfText:
    """The text of one PDF, indexed, from one text per page (`read_pages`, `read_layers`).

    Places in the PDF itself (`excerpts`, `original`) need the texts of `read_layers`.
    """

    def __init__(self, pages: Sequence[str]) -> None:
        self.layers = tuple(pages)
        self._positions: dict[int, list[int]] = {}
        clean = [unify(LINE_HYPHEN.sub("", page)) for page in pages]
        self.pages = len(clean)
        self.text = "\n".join(clean)
        self._page_starts = [0, *accumulate(len(page) + 1 for page in clean)][: self.pages]
        self._spans = [match.span() for match in _WORD.finditer(self.text)]
        self.words = [self.text[start:end].casefold() for start, end in self._spans]
        self.squashed = "".join(self.words)
        self._starts = [0, *accumulate(map(len, self.words))]
        self._boundaries = frozenset(self._starts)

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
        """The positions of each word, as indices of `words`."""
        return _grouped((word, i) for i, word in enumerate(self.words))

    @cached_property
    def numbers(self) -> frozenset[float]:
        """Every number in digits, without its sign and unit."""
        return frozenset(float(m[0].replace(",", "")) for m in _NUMBER.finditer(self.text))

    @cached_property
    def quantities(self) -> frozenset[float]:
        """Every quantity with its scale words multiplied in: 2.5 billion, twenty-five."""
        return Quantity.sizes_in(self.text)

    def has(self, squashed: str) -> bool:
        """Whether the PDF has these consecutive letters and digits."""
        if len(squashed) > _SHORT and not squashed.isdigit():
            return squashed in self.squashed
        return any(is_whole for _, is_whole in islice(self._finds(squashed), _MAX_PROBES))

    def _finds(self, squashed: str) -> Iterator[tuple[int, bool]]:
        """Yield the start of each occurrence, and whether it consists of whole words."""
        start = self.squashed.find(squashed)
        while start >= 0:
            yield start, start in self._boundaries and start + len(squashed) in self._boundaries
            start = self.squashed.find(squashed, start + 1)

    def window(self, first: int, count: int) -> tuple[str, int]:
        """Return a piece of the squashed text."""
        start = self._starts[max(0, first)]
        end = self._starts[min(len(self.words), first + count)]
        return self.squashed[start:end], start

    def passage(self, start: int, end: int, similarity: float) -> Passage:
        """Return the words around a span of the squashed text, as the PDF has them."""
        first = max(0, bisect_right(self._starts, start) - 1)
        last = min(len(self._spans), max(first + 1, bisect_right(self._starts, end - 1)))
        page = bisect_right(self._page_starts, self._spans[first][0])
        wider = self._spans[max(0, first - _BEFORE) : last + _AFTER]
        text, around = (
            " ".join(self.text[spans[0][0] : spans[-1][1]].split())
            for spans in (self._spans[first:last], wider)
        )
        return Passage(text, around, page, similarity)

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
        return _grouped(
            (reading, (start, end))
            for start, end, date in Date.all_in(self.lower)
            for reading in date.readings
        )

    @cached_property
    def years(self) -> dict[float, list[tuple[int, int]]]:
        """The spans of the dates of each year."""
        spans = _grouped((float(date[0]), s) for date, spans in self.dated.items() for s in spans)
        return {year: sorted(set(found)) for year, found in spans.items()}

    @cached_property
    def figures(self) -> dict[float, list[Figure]]:
        """The numbers in digits, by the values that they may have, signs dropped."""
        return _grouped((figure.value, figure) for figure in find_figures(self.text))

    @cached_property
    def shapes(self) -> Counter[tuple[int, int]]:
        """How many numbers have each shape; see `shape_of`."""
        return Counter(
            shape_of(value)
            for value, figures in self.figures.items()
            for figure in figures
            if figure.is_sure
        )

    def occurrences(self, squashed: str) -> Iterator[tuple[int, int, bool]]:
        """Find consecutive letters and digits."""
        for start, is_whole in self._finds(squashed) if squashed else ():
            yield *self.span(start, start + len(squashed)), is_whole

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
        """Return a span of `text` as ranges of PDFium's character indices."""
        found = []
        for page in range(self.page_of(start), self.page_of(end - 1) + 1):
            origin = self._page_starts[page - 1]
            if page not in self._positions:
                self._positions[page] = positions(self.layers[page - 1])[1]
            offsets = self._positions[page]
            first, last = max(0, start - origin), min(len(offsets), end - origin)
            if first < last:
                found.append(Excerpt(page, offsets[first], offsets[last - 1] + 1))
        return found

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
    """Find the passage that is most similar to a text.

    Each word votes, rare words first, for the positions at which the text would begin if the word
    occurred at its positions in the PDF. The positions with the most votes are compared by letters
    and digits.
    """
    found = nearest_span(text, pdf)
    return None if found is None else pdf.passage(*found)


def nearest_span(text: str, pdf: PdfText) -> tuple[int, int, float] | None:
    """Find the span of the squashed text that is most similar to a text."""
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
    from rapidfuzz import fuzz, process

    votes: Counter[int] = Counter()
    in_pdf = sorted({(len(pdf.places[w]), w, i) for i, w in enumerate(words) if w in pdf.places})
    voters = [(w, i) for _, w, i in in_pdf[:_MOST_VOTERS]]
    if len(words) <= _SPELT_WORDS:  # unknown words vote with the word of the most similar spelling
        for i, word in enumerate(words):
            if word not in pdf.places and len(word) >= _MIN_PIECE:
                near = process.extractOne(
                    word, pdf.places.keys(), scorer=fuzz.ratio, score_cutoff=_SPELLING_CUTOFF
                )
                voters += [] if near is None else [(near[0], i)]
    for word, i in voters:
        for position in pdf.places[word][:_MOST_PLACES]:
            votes[(position - i) // 2] += 1
    return [2 * pair for pair, _ in votes.most_common(_WINDOWS)]


def covered(text: str, pdf: PdfText) -> tuple[float, list[str]]:
    """Return the share of a long text that is in the PDF, and the runs of words that are not.

    Words count as in the PDF if four or more of them occur there consecutively.
    """
    words, found = pieces(text, pdf)
    ends = [0, *(first + length for first, length in found)]
    runs = zip(ends, [*(first for first, _ in found), len(words)], strict=True)
    missing = [" ".join(words[end:first]) for end, first in runs if first > end]
    share = sum(length for _, length in found) / len(words) if words else 1.0
    return share, missing


def pieces(text: str, pdf: PdfText) -> tuple[list[str], list[tuple[int, int]]]:
    """Split a long text into the pieces of four words or more that are in the PDF."""
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
    """Return how many words from index `i` are consecutive in the PDF; 0 for fewer than four."""

    def occurs(count: int) -> bool:
        return pdf.has("".join(words[i : i + count]))

    left = len(words) - i
    low = min(_MIN_PIECE, left)
    if not occurs(low):
        return 0
    length = low
    while length < left and occurs(min(2 * length, left)):
        length = min(2 * length, left)
    longer = range(length + 1, min(2 * length, left))
    return length + bisect_left(longer, True, key=lambda count: not occurs(count))


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
_GROUP = 3
_YEARS = range(1900, 2100)
_LONGEST = 40


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
        for value, is_sure in _readings(match[0]):
            yield _figure(text, match.span(), value, is_sure)
    for match in _GROUPED.finditer(text):
        digits = re.sub("[ ']", "", match[0]).replace(",", ".")
        yield _figure(text, match.span(), float(digits), False)


def _readings(digits: str) -> Iterator[tuple[float, bool]]:
    """Yield the possible values of digits, the usual reading first."""
    if len(digits) > _LONGEST:
        return
    marks = [mark for mark in digits if mark in ".,"]
    if len(set(marks)) > 1:
        thousands, point = marks[0], marks[-1]
        yield tidy(float(digits.replace(thousands, "").replace(point, "."))), True
        return
    grouped = tidy(float(re.sub("[.,]", "", digits)))
    if len(marks) != 1:
        yield grouped, True
        return
    whole, mark, rest = digits.partition(marks[0])
    pointed = tidy(float(f"{whole or 0}.{rest}"))
    if len(rest) != _GROUP or not 0 < len(whole) <= _GROUP or whole[0] == "0":
        yield pointed, mark == "."
    elif mark == ",":
        yield from ((grouped, True), (pointed, False))
    else:
        yield from ((pointed, True), (grouped, False))


def _figure(text: str, span: tuple[int, int], value: float, is_sure: bool) -> Figure:
    start, end = span
    before, after = text[max(0, start - 3) : start], text[end : end + 16]
    marks = before.rstrip("$€£¥ ")
    if marks.endswith("("):
        is_negative = after.lstrip(" %").startswith(")")
    else:
        is_negative = marks.endswith("-") and not marks[-2:-1].isalnum()
    is_sure = is_sure and not before[-1:].isalpha()
    unit = _UNIT_AFTER.match(after)
    if unit is None:
        return Figure(value, start, end, is_negative, is_sure=is_sure)
    scale = Quantity.scale_of((unit["scale"] or "").lower())
    return Figure(value, start, end, is_negative, unit["percent"] is not None, scale, is_sure)


def shape_of(number: float) -> tuple[int, int]:
    """Return the number of significant digits and the order of magnitude; a year has 0 digits.

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
    r"""Normalise the text of a page, and return the original position of each character.

    Examples
    --------
    >>> positions("ﬁrst  re-\nsult")
    ('first result', [0, 0, 1, 2, 3, 5, 6, 7, 10, 11, 12, 13])
    """
    before: list[int] = []
    end = 0
    for match in LINE_HYPHEN.finditer(page):
        before += range(end, match.start())
        end = match.end()
    offsets = [*before, *range(end, len(page))]
    text = "".join(map(page.__getitem__, offsets))
    words: list[str] = []
    found: list[int] = []
    for match in _TOKEN.finditer(text):
        word = unify(match[0])
        if not word:
            continue
        if words:
            found.append(offsets[match.start() - 1])
        found += _inside(word, match[0], offsets[match.start() : match.end()])
        words.append(word)
    return " ".join(words), found


def _inside(word: str, original: str, places: Sequence[int]) -> Sequence[int]:
    if original.isascii():
        return places
    found: list[int] = []
    for offset, character in zip(places, original, strict=True):
        part = unify(character)
        if part and word.startswith(f" {part}", len(found)):  # 1½ becomes 1 1/2
            part = f" {part}"
        found += [offset] * len(part)
    if len(found) == len(word):
        return found
    return [places[index * len(places) // len(word)] for index in range(len(word))]


_INDICES = Recent(2_000_000)  # some 85 bytes per character


def index_of(path: Path) -> PdfText:
    """Return the index of a PDF's text, made once per version of the file."""
    with reading(f"PDF {str(path)!r}"):
        status = path.stat()
    key = (path.resolve(), status.st_mtime_ns, status.st_size)
    index: PdfText | None = _INDICES.get(key)
    if index is None:
        index = PdfText(read_layers(path))
        _INDICES.keep(key, index, len(index.text))
    return index
