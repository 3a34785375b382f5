"""`render_page`: a page as an image, with places marked."""

from __future__ import annotations

import operator
import struct
import zlib
from collections.abc import Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol, runtime_checkable

import numpy as np
import pandas as pd

from extractbench_nb.core.frames import as_pandas
from extractbench_nb.errors import InputError
from extractbench_nb.pdf.page_text import Excerpt
from extractbench_nb.pdf.pages import LIMITS, ask, character_boxes

if TYPE_CHECKING:
    from numpy.typing import NDArray


Box = tuple[float, float, float, float]


class Line(NamedTuple):
    """The part of an excerpt in one line, and the box around it.

    The box is ``x0, y0, x1, y1`` on the page before any rotation, in PDF points from the bottom
    left.
    """

    excerpt: Excerpt
    box: Box


def lines_of(path: Path, excerpt: Excerpt) -> list[Line]:
    """Split an excerpt into lines, with the boxes around them."""
    lines: list[Line] = []
    characters = character_boxes(path, excerpt.page)[excerpt.first : excerpt.end].tolist()
    for index, (x0, y0, x1, y1, direction) in enumerate(characters, excerpt.first):
        if direction < 0:
            continue
        if lines:
            piece, (left, bottom, right, top) = lines[-1]
            # a character is in the line if its middle is, across the direction of the text
            low, middle, high = (left, x0 + x1, right) if direction else (bottom, y0 + y1, top)
            if low <= middle / 2 <= high:
                joined = min(left, x0), min(bottom, y0), max(right, x1), max(top, y1)
                lines[-1] = Line(piece._replace(end=index + 1), joined)
                continue
        lines.append(Line(Excerpt(excerpt.page, index, index + 1), (x0, y0, x1, y1)))
    return lines or [Line(excerpt, tuple(characters[0][:4]))]


@runtime_checkable
class HasPdfs(Protocol):
    """An object that finds the PDF of a document by its id: a `Dataset`, or your own."""

    def pdf_path(self, document: str, /) -> Path:
        """Return the PDF of a document."""


def pdf_of(ds: HasPdfs | None, document: Any) -> Path:
    """Return the path of a PDF: `document` itself, or what `ds` has for that id."""
    if isinstance(document, Path):
        return document
    if not isinstance(document, str):
        raise InputError(
            f"document: expected the id of a document or the pathlib.Path of a PDF, "
            f"found {document!r:.80}"
        )
    if not isinstance(ds, HasPdfs):
        raise InputError(
            f"ds: document {document!r:.80} is looked up in a Dataset as load_dataset returns it, "
            f"found {ds!r:.80}; for a PDF of your own pass document=pathlib.Path(...)"
        )
    return ds.pdf_path(document)


_MARK = (255, 222, 89)
EDGES = ("x0", "y0", "x1", "y1")


@dataclass(frozen=True, slots=True)
class PageImage:
    """A page as an image; made by `render_page`.

    Attributes
    ----------
    png : bytes
        The image as a PNG file.
    width, height : int
        Size of the image in pixels.
    page, pages : int
        Number of the page, from 1, and number of pages in the document.
    points : tuple of (float, float)
        Width and height of the displayed page, cropped and rotated, in PDF points.
    boxes : tuple of (int, int, int, int)
        The marked boxes in the image: left, top, right, bottom in pixels from the top left.
    """

    png: bytes = field(repr=False)
    width: int
    height: int
    page: int
    pages: int
    points: tuple[float, float]
    boxes: tuple[tuple[int, int, int, int], ...] = ()

    def _repr_png_(self) -> bytes:
        """Return the picture, for a notebook."""
        return self.png


def render_page(
    ds: HasPdfs | None,
    document: str | Path,
    page: int,
    *,
    scale: float = 1.5,
    boxes: Iterable[Sequence[float]] | pd.DataFrame = (),
    mark: bool = True,
) -> PageImage:
    """Render a page of a PDF as an image.

    Parameters
    ----------
    ds : Dataset or None
        As `load_dataset` returns it; None if `document` is a path.
    document : str or pathlib.Path
        The id of a document, or the path of any PDF.
    page : int
        Number of the page, from 1.
    scale : float, optional
        Pixels per point, above 0 and up to 10. At 1 a letter-size page has 612 x 792 pixels.
    boxes : iterable of (float, float, float, float) or pandas.DataFrame, optional
        x0, y0, x1, y1 on this page in PDF points; or a result of `find_evidence`.
    mark : bool, optional
        Whether to draw the boxes into the image.

    Returns
    -------
    PageImage
        The image, its size, and the boxes in pixels; a notebook shows it.

    Raises
    ------
    InputError
        The page does not exist; a scale or box is out of range; the image would have more than 40
        million pixels; or the PDF cannot be read.
    DatasetError
        The document is not in the dataset, or has no PDF (`MissingPdfError`).

    Examples
    --------
    >>> import extractbench_nb as xb
    >>> from extractbench_nb.pdf import find_evidence, render_page
    >>> ds = xb.load_dataset()
    >>> found = find_evidence(ds, "night bus demand", "Verrin Transit Authority")
    >>> render_page(ds, "night bus demand", 1, scale=1, boxes=found).width
    596
    """
    boxes = as_pandas(boxes)
    if isinstance(boxes, pd.DataFrame):
        boxes = boxes.loc[boxes["page"] == page, list(EDGES)].to_numpy().tolist()
    places, number = np.full((1, len(EDGES)), np.nan), 0
    with suppress(TypeError, ValueError):
        number = operator.index(page)
        places = np.array(list(boxes), dtype=float).reshape(-1, len(EDGES))
    if not np.isfinite(places).all():
        raise InputError(
            f"page={page!r}, boxes={boxes!r:.80}; expected a whole number, and boxes of four "
            "finite numbers x0, y0, x1, y1"
        )
    if not 0 < scale <= 10:  # noqa: PLR2004
        raise InputError(f"scale={scale!r}; expected a number above 0 and up to 10")
    path = pdf_of(ds, document)
    drawn, content = ask(path, "draw", page=number, scale=scale, boxes=places.tolist())
    if "points" not in drawn:
        raise InputError(f"page={page!r}; {str(path)!r} has pages 1 to {drawn['pages']}")
    points = (float(drawn["points"][0]), float(drawn["points"][1]))
    if "shape" not in drawn:
        raise InputError(
            f"scale={scale!r}: the page has {points[0]:.0f} x {points[1]:.0f} points, the picture "
            f"would have {points[0] * points[1] * scale**2:,.0f} pixels; expected "
            f"{LIMITS.pixels:,} at most"
        )
    height, stride, width, channels = drawn["shape"]
    rows = np.frombuffer(content, dtype=np.uint8).reshape(height, stride)[:, : width * channels]
    pixels = np.array(rows.reshape(height, width, channels)[:, :, :3])
    marked = []
    for corners in drawn["boxes"]:
        (left, right), (top, bottom) = (sorted(pair) for pair in zip(*corners, strict=True))
        marked.append((left, top, right, bottom))
        if mark:
            # multiplied, so that the text stays visible
            ends = (top, bottom), (left, right)
            area = tuple(slice(max(0, a - 2), max(0, b + 2)) for a, b in ends)
            pixels[area] = pixels[area] * np.array(_MARK, dtype=np.uint16) // 255
    return PageImage(_png(pixels), width, height, number, drawn["pages"], points, tuple(marked))


def _png(pixels: NDArray[np.uint8]) -> bytes:
    """Encode as PNG (ISO/IEC 15948), true colour, without filters."""
    height, width = pixels.shape[:2]
    lines = np.zeros((height, 1 + 3 * width), dtype=np.uint8)
    lines[:, 1:] = pixels.reshape(height, 3 * width)
    header = struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)
    png = b"\x89PNG\r\n\x1a\n"
    for name, content in (
        (b"IHDR", header),
        (b"IDAT", zlib.compress(lines.tobytes(), 6)),
        (b"IEND", b""),
    ):
        checksum = struct.pack(">I", zlib.crc32(name + content))
        png += struct.pack(">I", len(content)) + name + content + checksum
    return png
