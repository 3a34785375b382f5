"""The pages of a PDF and their text, through PDFium."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from threading import Lock
from typing import TYPE_CHECKING

from extractbench_nb.errors import InputError

if TYPE_CHECKING:
    from pypdfium2 import PdfDocument, PdfPage, PdfTextPage

__all__ = ["opened", "read_layers", "read_pages"]

#: PDFium may be entered by one thread at a time.
_ONE_AT_A_TIME = Lock()
_SURROGATES = range(0xD800, 0xE000)
_PAIR = re.compile("[\ud800-\udbff][\udc00-\udfff]")
_NO_WIDTH = "\u200b"


@contextmanager
def opened(path: Path) -> Iterator[PdfDocument]:
    """Open a PDF; no other thread enters PDFium until it is closed.

    Parameters
    ----------
    path : pathlib.Path
        The file.

    Yields
    ------
    pypdfium2.PdfDocument
        The document. Not to be opened twice by one thread at a time.

    Raises
    ------
    InputError
        The file cannot be read as a PDF: broken, encrypted, not there.
    """
    import pypdfium2

    with _ONE_AT_A_TIME:
        try:
            with pypdfium2.PdfDocument(path) as pdf:
                yield pdf
        except InputError:
            raise
        except (pypdfium2.PdfiumError, OSError, ValueError) as error:
            raise InputError(f"PDF {str(path)!r} cannot be read: {error}") from None


def read_pages(path: Path) -> tuple[str, ...]:
    """Read the text layer of a PDF.

    Parameters
    ----------
    path : pathlib.Path
        The file.

    Returns
    -------
    tuple of str
        One text a page, empty for a page without a text layer.

    Raises
    ------
    InputError
        The file cannot be read as a PDF: broken, encrypted, not there.
    """
    with opened(path) as pdf:
        return tuple(_text(pdf[index]) for index in range(len(pdf)))


def read_layers(path: Path) -> tuple[str, ...]:
    """Read the text layer of a PDF so that each character has its place in PDFium's own list.

    Parameters
    ----------
    path : pathlib.Path
        The file.

    Returns
    -------
    tuple of str
        One text a page. Its character ``i`` is PDFium's character ``i``; what a crop box hides is
        blank.

    Raises
    ------
    InputError
        The file cannot be read as a PDF: broken, encrypted, not there.
    """
    with opened(path) as pdf:
        return tuple(_layer(pdf[index]) for index in range(len(pdf)))


def _text(page: PdfPage) -> str:
    try:
        text: str = page.get_textpage().get_text_bounded()
    finally:
        page.close()  # and its text page: a long document is not kept in memory
    return text


def _layer(page: PdfPage) -> str:
    try:
        layer = page.get_textpage()
        characters = _characters(layer)
        if page.get_cropbox() == page.get_mediabox():
            return characters
        return _visible(page, layer, characters)
    finally:
        page.close()


def _characters(layer: PdfTextPage) -> str:
    """Read one code point a character; PDFium gives all in one piece only where they are plain."""
    from pypdfium2.raw import FPDFText_GetUnicode

    count: int = layer.count_chars()
    text: str = layer.get_text_range()
    if len(text) == count and all(ord(c) not in _SURROGATES for c in set(text)):
        return text
    units = "".join(chr(FPDFText_GetUnicode(layer, index)) for index in range(count))
    return _PAIR.sub(_joined, units)


def _joined(pair: re.Match[str]) -> str:
    """Make one character of two surrogates, and a blank without width, so that none is moved."""
    return pair[0].encode("utf-16-le", "surrogatepass").decode("utf-16-le") + _NO_WIDTH


def _visible(page: PdfPage, layer: PdfTextPage, characters: str) -> str:
    left, bottom, right, top = page.get_bbox()

    def is_seen(index: int) -> bool:
        x0, y0, x1, y1 = layer.get_charbox(index)
        return bool(left <= (x0 + x1) / 2 <= right and bottom <= (y0 + y1) / 2 <= top)

    return "".join(c if c.isspace() or is_seen(i) else " " for i, c in enumerate(characters))
