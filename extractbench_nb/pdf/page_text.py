"""The text of a PDF, indexed: words, numbers and dates with their places on the pages."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence
from functools import cached_property, lru_cache
from itertools import accumulate, compress, islice, pairwise
from pathlib import Path
from typing import Any, NamedTuple

from extractbench_nb.core.text import Date, Quantity
from extractbench_nb.pdf.pages import Excerpt, read_layers
from extractbench_nb.support.files import file_hash
from extractbench_nb.support.folding import unify

#: So many letters or digits hardly ever follow each other by chance.
TELLING = 7
#: More occurrences of one value are not looked at.
MOST_HITS = 5_000
#: Characters of context on either side of an occurrence.
_AROUND = 60

_WORD = re.compile(r"[^\W_]+")
_NUMBER = re.compile(r"\d+(?:,\d{3})*(?:\.\d+)?|\.\d+")
#: The hyphen that ends a line, for which PDFium mostly writes U+0002 or U+FFFE.
_LINE_HYPHEN = re.compile("[\x02\ufffe]\\s*|(?<=[^\\W\\d_])-[ \\t]*\r?\n\\s*(?=[^\\W\\d_A-Z])")


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


def _grouped(pairs: Iterable[tuple[Any, Any]]) -> dict[Any, list[Any]]:
    groups = defaultdict[Any, list[Any]](list)
    for key, value in pairs:
        groups[key].append(value)
    return dict(groups)


class PdfText:
    """The text of one PDF, indexed, from one text per page (`read_pages`, `read_layers`).

    Words are found in `squashed`, which has the letters and digits of all words without gaps, and
    are placed in `text` by `spans`; `starts` are the offsets of the words in `squashed`. Places in
    the PDF itself (`excerpts`, `original`) need the texts of `read_layers`.
    """

    def __init__(self, pages: Sequence[str]) -> None:
        self.layers = tuple(pages)
        clean = [unify(_LINE_HYPHEN.sub("", page)) for page in pages]
        self.pages = len(clean)
        self.pages_without_text = sum(not any(map(str.isalnum, page)) for page in clean)
        self.text = "\n".join(clean)
        self._page_starts = [0, *accumulate(len(page) + 1 for page in clean)][: self.pages]
        self._positions: dict[int, list[int]] = {}
        self.spans = [match.span() for match in _WORD.finditer(self.text)]
        self.words = [self.text[start:end].casefold() for start, end in self.spans]
        self.squashed = "".join(self.words)
        self.starts = [0, *accumulate(map(len, self.words))]
        self._boundaries = frozenset(self.starts)

    # --- what occurs ------------------------------------------------------------------------

    @cached_property
    def counts(self) -> Counter[str]:
        """How often each word occurs."""
        return Counter(self.words)

    @cached_property
    def pairs(self) -> Counter[tuple[str, str]]:
        """How often two words follow each other with nothing but blanks between them."""
        gaps = (self.text[a[1] : b[0]].isspace() for a, b in pairwise(self.spans))
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

    @cached_property
    def figures(self) -> dict[float, list[Figure]]:
        """The numbers in digits, by the values that they may have, signs dropped."""
        return _grouped((figure.value, figure) for figure in find_figures(self.text))

    @cached_property
    def shapes(self) -> Counter[tuple[int, int]]:
        """How many numbers have each shape; see `shape_of`."""
        figures = [figure for found in self.figures.values() for figure in found]
        return Counter(shape_of(figure.value) for figure in figures if figure.is_sure)

    @cached_property
    def dated(self) -> dict[tuple[int, int | None, int | None], list[tuple[int, int]]]:
        """The spans of each date, by year, month and day; both readings of ambiguous ones."""
        return _grouped(
            (reading, (start, end))
            for start, end, date in Date.all_in(self.lower)
            for reading in date.readings
        )

    @cached_property
    def lower(self) -> str:
        """The text in lower case, character for character."""
        lower = self.text.lower()
        if len(lower) == len(self.text):
            return lower
        return "".join(c.lower() if len(c.lower()) == 1 else c for c in self.text)

    def has(self, squashed: str) -> bool:
        """Whether the PDF has these consecutive letters and digits."""
        if len(squashed) >= TELLING and not squashed.isdigit():
            return squashed in self.squashed
        return any(is_whole for *_, is_whole in islice(self.occurrences(squashed), MOST_HITS))

    # --- where it occurs --------------------------------------------------------------------

    def occurrences(self, squashed: str) -> Iterator[tuple[int, int, bool]]:
        """Find letters and digits: spans of `text`, and whether they consist of whole words."""
        start = self.squashed.find(squashed) if squashed else -1
        while start >= 0:
            end = start + len(squashed)
            yield *self.span(start, end), start in self._boundaries and end in self._boundaries
            start = self.squashed.find(squashed, start + 1)

    def span(self, start: int, end: int) -> tuple[int, int]:
        """Turn a span of `squashed` into one of `text`."""
        return self._place(start), self._place(end - 1) + 1

    def _place(self, offset: int) -> int:
        word = bisect_right(self.starts, offset) - 1
        first, last = self.spans[word]
        return min(first + offset - self.starts[word], last - 1)  # casefolding may lengthen words

    def span_of_words(self, first: int, end: int) -> tuple[int, int]:
        """Return the span in `text` of words."""
        return self.spans[first][0], self.spans[end - 1][1]

    def page_of(self, position: int) -> int:
        """Return the page of a position in `text`."""
        return bisect_right(self._page_starts, position)

    def passage(self, first: int, end: int, similarity: float) -> Passage:
        """Return words as the PDF has them, and with the words around them."""
        wide = max(0, first - 4), min(len(self.words), end + 12)
        text, around = (
            " ".join(self.text[slice(*self.span_of_words(*words))].split())
            for words in ((first, end), wide)
        )
        return Passage(text, around, self.page_of(self.spans[first][0]), similarity)

    def context(self, start: int, end: int) -> str:
        """Return the text around a span, on its page; a long span is cut."""
        origin = self._page_starts[self.page_of(start) - 1]
        page = self.text[origin:].partition("\n")[0]
        start, end = start - origin, min(end - origin, start - origin + 2 * _AROUND)
        first = page.rfind(" ", 0, max(0, start - _AROUND)) + 1
        last = page.find(" ", end + _AROUND)
        return page[first : last if 0 <= last < end + 2 * _AROUND else end + _AROUND]

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
        layer = self.layers[excerpt.page - 1][excerpt.first : excerpt.end]
        return re.sub(r"[\s\x00-\x1f\x7f-\x9f\ufffe]+", " ", layer).strip()


def positions(page: str) -> tuple[str, list[int]]:
    r"""Normalise the text of a page, and return the original position of each character.

    Examples
    --------
    >>> positions("ﬁrst  re-\nsult")
    ('first result', [0, 0, 1, 2, 3, 5, 6, 7, 10, 11, 12, 13])
    """
    hyphens = [match.span() for match in _LINE_HYPHEN.finditer(page)]
    ends = [0, *(end for _, end in hyphens)]
    starts = [*(start for start, _ in hyphens), len(page)]
    offsets = [i for end, start in zip(ends, starts, strict=True) for i in range(end, start)]
    text = "".join(map(page.__getitem__, offsets))
    words: list[str] = []
    found: list[int] = []
    for match in re.finditer(r"\S+", text):
        word = unify(match[0])
        if word:
            found += [offsets[match.start() - 1]] if words else []
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


def index_of(path: Path) -> PdfText:
    """Return the index of a PDF's text, made once per content of the file."""
    return _index(path, file_hash(path))


@lru_cache(maxsize=10)  # some 85 bytes per character
def _index(path: Path, _content: str | None) -> PdfText:
    return PdfText(read_layers(path))


# --- numbers in digits -----------------------------------------------------------------------

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
    """Return the number of significant digits and the order of magnitude; a year has 0 digits."""
    if number in range(1900, 2100):
        return 0, 3
    digits, _, power = f"{number:.11e}".partition("e")
    return max(1, len(digits.replace(".", "").rstrip("0"))), int(power)
