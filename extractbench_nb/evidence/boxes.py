"""Where on a page a piece of text stands: one box a line."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, NamedTuple

from extractbench_nb.evidence.index import Excerpt

if TYPE_CHECKING:
    from pypdfium2 import PdfDocument, PdfTextPage

__all__ = ["Box", "Line", "lines_of"]

_UPRIGHT = 0.7


class Box(NamedTuple):
    """A rectangle on a page, in PDF points; the origin is at the bottom left.

    Attributes
    ----------
    x0, y0, x1, y1 : float
        Left, bottom, right, top, in the page's own coordinates: before any rotation.
    """

    x0: float
    y0: float
    x1: float
    y1: float

    def joined(self, other: Box) -> Box:
        """Return the smallest box around both.

        Parameters
        ----------
        other : Box
            On the same page.

        Returns
        -------
        Box
            The box.
        """
        low = min(self.x0, other.x0), min(self.y0, other.y0)
        return Box(*low, max(self.x1, other.x1), max(self.y1, other.y1))

    def holds(self, other: Box, across: bool) -> bool:
        """Say whether the middle of another box is in the same line.

        Parameters
        ----------
        other : Box
            On the same page.
        across : bool
            Whether the text runs up or down, so that a line is a column.

        Returns
        -------
        bool
            Whether it is.
        """
        if across:
            return self.x0 <= (other.x0 + other.x1) / 2 <= self.x1
        return self.y0 <= (other.y0 + other.y1) / 2 <= self.y1


class Line(NamedTuple):
    """A part of an excerpt that stands in one line.

    Attributes
    ----------
    excerpt : Excerpt
        Its characters.
    box : Box
        Around them.
    """

    excerpt: Excerpt
    box: Box


def lines_of(pdf: PdfDocument, excerpts: Sequence[Excerpt]) -> list[list[Line]]:
    """Find the boxes of excerpts.

    Parameters
    ----------
    pdf : pypdfium2.PdfDocument
        The document that they come from.
    excerpts : sequence of Excerpt
        In any order.

    Returns
    -------
    list of list of Line
        The lines of each excerpt, in the order of the text.
    """
    found: dict[int, list[Line]] = {}
    order = sorted(range(len(excerpts)), key=lambda i: excerpts[i].page)
    start = 0
    while start < len(order):
        number = excerpts[order[start]].page
        page = pdf[number - 1]
        try:
            layer = page.get_textpage()
            while start < len(order) and excerpts[order[start]].page == number:
                found[order[start]] = list(_lines(layer, excerpts[order[start]]))
                start += 1
        finally:
            page.close()
    return [found[i] for i in range(len(excerpts))]


def _lines(layer: PdfTextPage, excerpt: Excerpt) -> Iterator[Line]:
    line: Line | None = None
    for index, box, across in _boxes(layer, excerpt):
        if line is not None and line.box.holds(box, across):
            whole = line.excerpt._replace(end=index + 1)
            line = Line(whole, line.box.joined(box))
            continue
        if line is not None:
            yield line
        line = Line(Excerpt(excerpt.page, index, index + 1), box)
    yield line or Line(excerpt, Box(*layer.get_charbox(excerpt.first, loose=True)))


def _boxes(layer: PdfTextPage, excerpt: Excerpt) -> Iterator[tuple[int, Box, bool]]:
    """Yield the characters that are drawn: index, box, and whether the text runs up or down."""
    from pypdfium2.raw import FPDFText_GetCharAngle, FPDFText_IsGenerated

    for index in range(excerpt.first, excerpt.end):
        if FPDFText_IsGenerated(layer, index) == 1:
            continue
        box = Box(*layer.get_charbox(index, loose=True))
        if box.x1 > box.x0 and box.y1 > box.y0:
            angle = FPDFText_GetCharAngle(layer, index)
            yield index, box, abs(math.sin(angle)) > _UPRIGHT
