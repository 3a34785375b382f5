"""The pages of a PDF, their text and their images, through PDFium.

A PDF of a few kilobytes may unpack to gigabytes, and PDFium ends a process that runs out of
memory: each file is first read in a separate process (`worker`) with a memory limit.
"""

from __future__ import annotations

import json
import subprocess
import sys
from collections import OrderedDict
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from threading import Lock
from typing import TYPE_CHECKING, Any, NamedTuple

from extractbench_nb._files import file_hash
from extractbench_nb.errors import InputError
from extractbench_nb.pdf import worker as pdf_worker

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray
    from pypdfium2 import PdfDocument


#: What one PDF may take: bytes of memory, seconds, characters of text, pixels of a picture.
_MEMORY, _SECONDS, _CHARACTERS = 2 * 2**30, 300, 50_000_000
MOST_PIXELS = 40_000_000

#: PDFium may be entered by one thread at a time.
_ONE_AT_A_TIME = Lock()

#: Texts of the PDFs that were read last, up to so many characters, by content and operation.
_KEPT_CHARACTERS = 20_000_000
_KEPT: OrderedDict[tuple[str, str, int], tuple[str, ...]] = OrderedDict()
_KEEPING = Lock()


class Drawn(NamedTuple):
    """A page as PDFium draws it; without pixels if the page does not exist or is too large."""

    pages: int
    points: tuple[float, float] | None
    pixels: NDArray[np.uint8] | None
    boxes: list[list[list[int]]]


@contextmanager
def opened(path: Path) -> Iterator[PdfDocument]:
    """Open a PDF in this process; no other thread enters PDFium until it is closed.

    Only for a file that `read_layers` has read: nothing limits what it takes here.
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
    """Read the text layer of a PDF; a file that has not changed is read once per process."""
    return _texts(path, "pages")


def read_layers(path: Path) -> tuple[str, ...]:
    """Read the text layer of a PDF so that each character has its place in PDFium's own list."""
    return _texts(path, "layers")


def draw_page(path: Path, page: int, scale: float, boxes: Sequence[Sequence[float]]) -> Drawn:
    """Draw a page of a PDF."""
    import numpy as np

    options = {"page": int(page), "scale": scale, "boxes": [list(box) for box in boxes]}
    found, content = _ask(path, "draw", most=MOST_PIXELS, **options)
    points = (float(found["points"][0]), float(found["points"][1])) if "points" in found else None
    if "shape" not in found:
        return Drawn(found["pages"], points, None, [])
    height, stride, width, channels = found["shape"]
    rows = np.frombuffer(content, dtype=np.uint8).reshape(height, stride)[:, : width * channels]
    pixels = np.array(rows.reshape(height, width, channels)[:, :, :3])
    return Drawn(found["pages"], points, pixels, found["boxes"])


def _texts(path: Path, operation: str) -> tuple[str, ...]:
    """Have the texts of a PDF read, or take those that are kept."""
    key = (file_hash(path) or "", operation, _CHARACTERS)
    with _KEEPING:
        found = _KEPT.get(key)
        if found is not None:
            _KEPT.move_to_end(key)
            return found
    found = tuple(_ask(path, operation, most=_CHARACTERS)[0]["texts"])
    if key[0] and file_hash(path) == key[0]:  # it was not replaced meanwhile
        with _KEEPING:
            _KEPT[key] = found
            while sum(len(text) for texts in _KEPT.values() for text in texts) > _KEPT_CHARACTERS:
                _KEPT.popitem(last=False)
    return found


def _ask(path: Path, operation: str, **options: Any) -> tuple[dict[str, Any], bytes]:
    """Have a PDF read in a process of its own."""
    if not path.is_file() and path.exists():
        raise InputError(f"PDF {str(path)!r} cannot be read: it is not a regular file")
    request = {"operation": operation, "path": str(path), "memory": _MEMORY, **options}
    command = [sys.executable, "-P", pdf_worker.__file__]
    try:
        done = subprocess.run(  # noqa: S603 - our own interpreter and script
            command,
            input=json.dumps(request).encode(),
            capture_output=True,
            timeout=_SECONDS,
            check=False,
        )
    except subprocess.TimeoutExpired:
        raise InputError(f"PDF {str(path)!r} cannot be read within {_SECONDS} s") from None
    head, _, content = done.stdout.partition(b"\n")
    if done.returncode or not head:
        raise InputError(
            f"PDF {str(path)!r} cannot be read: reading it crashed, or took more than "
            f"{_MEMORY / 2**30:g} GB of memory (exit code {done.returncode})"
        )
    found: dict[str, Any] = json.loads(head)
    if "error" in found:
        raise InputError(f"PDF {str(path)!r} cannot be read: {found['error']}")
    return found, content
