"""The text of a PDF, indexed so that values are found in it together with their place."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections import Counter, OrderedDict, defaultdict
from collections.abc import Iterator, Sequence
from functools import cached_property
from pathlib import Path
from threading import Lock
from typing import NamedTuple

from extractbench_nb.benchmark.audit.pdftext import PdfText
from extractbench_nb.benchmark.pdf import read_layers
from extractbench_nb.errors import InputError
from extractbench_nb.evidence.numbers import Figure, find_figures, shape_of
from extractbench_nb.evidence.positions import positions
from extractbench_nb.metrics.dates import find_dates

__all__ = ["DocumentIndex", "Excerpt", "index_of"]

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
        """Find letters and digits in a row.

        Parameters
        ----------
        squashed : str
            As `squash` returns it.

        Yields
        ------
        tuple of (int, int, bool)
            Start and end in `text`, and whether these are whole words.
        """
        start = self.squashed.find(squashed) if squashed else -1
        while start >= 0:
            yield *self.span(start, start + len(squashed)), self._is_whole(start, len(squashed))
            start = self.squashed.find(squashed, start + 1)

    def span(self, start: int, end: int) -> tuple[int, int]:
        """Turn a span of `squashed` into one of `text`.

        Parameters
        ----------
        start, end : int
            The span; not empty.

        Returns
        -------
        tuple of (int, int)
            Start and end.
        """
        return self._place(start), self._place(end - 1) + 1

    def _place(self, offset: int) -> int:
        word = bisect_right(self._starts, offset) - 1
        first, last = self._spans[word]
        return min(first + offset - self._starts[word], last - 1)

    def span_of_words(self, first: int, end: int) -> tuple[int, int]:
        """Return the span in `text` of words.

        Parameters
        ----------
        first, end : int
            Indices in `words`; the last one is left out.

        Returns
        -------
        tuple of (int, int)
            Start and end.
        """
        return self._spans[first][0], self._spans[end - 1][1]

    def page_of(self, position: int) -> int:
        """Return the page of a position.

        Parameters
        ----------
        position : int
            In `text`.

        Returns
        -------
        int
            Counted from 1.
        """
        return bisect_right(self._page_starts, position)

    def excerpts(self, start: int, end: int) -> list[Excerpt]:
        """Return where a span of `text` stands in PDFium's own list of characters.

        Parameters
        ----------
        start, end : int
            The span; not empty.

        Returns
        -------
        list of Excerpt
            One a page, in order.
        """
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
        """Return the text of an excerpt as the PDF has it.

        Parameters
        ----------
        excerpt : Excerpt
            Of this document.

        Returns
        -------
        str
            With single spaces.
        """
        layer = self.layers[excerpt.page - 1]
        return _BLANKS.sub(" ", layer[excerpt.first : excerpt.end]).strip()

    def context(self, start: int, end: int) -> str:
        """Return the text around a span.

        Parameters
        ----------
        start, end : int
            The span in `text`; of a long one the beginning is shown.

        Returns
        -------
        str
            Whole words of one page, some 60 characters to each side.
        """
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
    """Index the text of a PDF, or take the index that is at hand.

    Parameters
    ----------
    path : pathlib.Path
        The file. It is read again when its size or its time of change is another.

    Returns
    -------
    DocumentIndex
        To be read only.

    Raises
    ------
    InputError
        The file cannot be read as a PDF.
    """
    try:
        status = path.stat()
    except OSError as error:
        problem = error.strerror or str(error)
        raise InputError(f"PDF {str(path)!r} cannot be read: {problem}") from None
    return _SHELF.get((path.resolve(), status.st_mtime_ns, status.st_size))
