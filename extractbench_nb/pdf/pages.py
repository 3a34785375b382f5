"""The pages of a PDF: their text, the boxes of its characters and their images, through PDFium.

A PDF of a few kilobytes may unpack to gigabytes or draw for minutes, and PDFium ends a process that
runs out of memory: files are opened in a separate process (`pdf_worker`) only, with limits.
"""

from __future__ import annotations

import json
import operator
import struct
import subprocess
import sys
import zlib
from collections.abc import Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path
from typing import Any, NamedTuple, Protocol, runtime_checkable

import numpy as np
import numpy.typing as npt
import pandas as pd

from extractbench_nb.core.frames import as_pandas
from extractbench_nb.errors import InputError, needs
from extractbench_nb.pdf import pdf_worker
from extractbench_nb.support.files import file_hash, reading


class Limits(NamedTuple):
    """What reading one PDF may take: bytes of memory, characters of text, pixels of an image.

    A step may take 20 s, and a second more for each 100 kB of the file: some ten times as long as
    real documents take.
    """

    memory: int = 2 * 2**30
    characters: int = 50_000_000
    pixels: int = 40_000_000
    seconds: float = 20
    bytes_per_second: int = 100_000


LIMITS = Limits()
#: Pages whose boxes are read together, because starting the process takes as long.
_PAGES_AT_ONCE = 16


def read_pages(path: Path) -> tuple[str, ...]:
    """Read the text layer of a PDF; a file that has not changed is read once per process."""
    return _texts(path, file_hash(path), "pages")


def read_layers(path: Path) -> tuple[str, ...]:
    """Read the text layer of a PDF with one character per index of PDFium."""
    return _texts(path, file_hash(path), "layers")


@lru_cache(maxsize=200)
def _texts(path: Path, _content: str | None, operation: str) -> tuple[str, ...]:
    return tuple(ask(path, operation)[0]["texts"])


def character_boxes(path: Path, page: int) -> npt.NDArray[np.float32]:
    """Find the boxes of the characters of a page, as `pdf_worker` writes them."""
    block, place = divmod(page - 1, _PAGES_AT_ONCE)
    return _boxes(path, file_hash(path), block)[place]


@lru_cache(maxsize=20)
def _boxes(path: Path, _content: str | None, block: int) -> list[npt.NDArray[np.float32]]:
    first = block * _PAGES_AT_ONCE
    answer, packed = ask(path, "boxes", first=first, end=first + _PAGES_AT_ONCE)
    rows = np.frombuffer(packed, dtype=np.float32).reshape(-1, 5)
    return np.split(rows, np.cumsum(answer["counts"])[:-1])


def ask(path: Path, operation: str, **options: Any) -> tuple[dict[str, Any], bytes]:
    """Read or render a PDF in a separate process; return its answer, and pixels or boxes.

    A process of its own limits time and memory, and survives a crash of PDFium.
    """
    name = f"PDF {str(path)!r}"
    with reading(name, path):
        seconds = LIMITS.seconds + path.stat().st_size / LIMITS.bytes_per_second
    needs("pypdfium2", "pdf")  # the process imports it
    request = {"operation": operation, "path": str(path), **LIMITS._asdict(), **options}
    try:
        process = subprocess.run(  # noqa: S603 - our own interpreter and script
            [sys.executable, "-P", pdf_worker.__file__],
            input=json.dumps(request).encode(),
            capture_output=True,
            timeout=seconds,
            check=False,
        )
    except subprocess.TimeoutExpired:
        doing = "drawn" if operation == "draw" else "read"
        raise InputError(f"{name} cannot be {doing} within {seconds:.3g} s") from None
    head, _, content = process.stdout.partition(b"\n")
    if process.returncode or not head:
        raise InputError(
            f"{name} cannot be read: the reader crashed or needed more than "
            f"{LIMITS.memory / 2**30:g} GB of memory (exit code {process.returncode})"
        )
    answer: dict[str, Any] = json.loads(head)
    if "error" in answer:
        raise InputError(f"{name} cannot be read: {answer['error']}")
    return answer, content


# --- places -----------------------------------------------------------------------------------

Box = tuple[float, float, float, float]


class Excerpt(NamedTuple):
    """A piece of one page (counted from 1): a range of PDFium's character indices."""

    page: int
    first: int
    end: int


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
    ds, document : Dataset or None, str or pathlib.Path
        As in `find_evidence`.
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


def _png(pixels: npt.NDArray[np.uint8]) -> bytes:
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
