"""The pages of a PDF and their text, through PDFium."""

from __future__ import annotations

from pathlib import Path
from threading import Lock
from typing import TYPE_CHECKING

from extractbench_nb.errors import InputError

if TYPE_CHECKING:
    from pypdfium2 import PdfPage

__all__ = ["read_pages"]

#: PDFium may be entered by one thread at a time.
_ONE_AT_A_TIME = Lock()


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
    import pypdfium2

    with _ONE_AT_A_TIME:
        try:
            with pypdfium2.PdfDocument(path) as pdf:
                return tuple(_text(pdf[index]) for index in range(len(pdf)))
        except (pypdfium2.PdfiumError, OSError, ValueError) as error:
            raise InputError(f"PDF {str(path)!r} cannot be read: {error}") from None


def _text(page: PdfPage) -> str:
    try:
        text: str = page.get_textpage().get_text_bounded()
    finally:
        page.close()  # and its text page: a long document is not kept in memory
    return text
