"""The pages of a PDF: their text, the boxes of its characters and their images, through PDFium.

A PDF of a few kilobytes may unpack to gigabytes or draw for minutes, and PDFium ends a process that
runs out of memory: files are opened in a separate process (`pdf_worker`) only, with limits.
"""

from __future__ import annotations

import json
import subprocess
import sys
from collections import OrderedDict
from collections.abc import Callable, Collection, Hashable
from pathlib import Path
from threading import Lock
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from extractbench_nb.errors import InputError, needs
from extractbench_nb.pdf import pdf_worker
from extractbench_nb.support.files import file_hash, reading

if TYPE_CHECKING:
    from numpy.typing import NDArray


class Limits(NamedTuple):
    """What may be used to read one PDF, and what is kept of all that were read.

    Each step may take 20 s, and one second more for each 100 kB of the file: about ten times as
    long as real documents take.
    """

    memory: int = 2 * 2**30
    seconds: float = 20
    bytes_per_second: int = 100_000
    characters: int = 50_000_000
    pixels: int = 40_000_000
    kept_bytes: int = 200_000_000


LIMITS = Limits()


class Recent:
    """A least-recently-used cache limited by the total size; the newest value always stays."""

    def __init__(self, most: int) -> None:
        self.most = most
        self._kept: OrderedDict[Hashable, tuple[Any, int]] = OrderedDict()
        self._lock = Lock()

    def get(self, key: Hashable) -> Any:
        """Return the value of a key, or None."""
        with self._lock:
            if key not in self._kept:
                return None
            self._kept.move_to_end(key)
            return self._kept[key][0]

    def keep(self, key: Hashable, value: Any, size: int) -> None:
        """Keep a value; drop the oldest while there are too many."""
        with self._lock:
            self._kept[key] = value, size
            while len(self._kept) > 1 and sum(n for _, n in self._kept.values()) > self.most:
                self._kept.popitem(last=False)

    def clear(self) -> None:
        """Remove all values."""
        with self._lock:
            self._kept.clear()


#: What was read, by content of the file and what it is.
KEPT = Recent(LIMITS.kept_bytes)


def once(path: Path, what: Hashable, make: Callable[[], Any], size: Callable[[Any], int]) -> Any:
    """Return what `make` makes of a file, made once per content; `size` is in bytes."""
    content = file_hash(path)
    value = KEPT.get((content, what))
    if value is None:
        value = make()
        if content is not None and file_hash(path) == content:  # not replaced meanwhile
            KEPT.keep((content, what), value, size(value))
    return value


def read_pages(path: Path) -> tuple[str, ...]:
    """Read the text layer of a PDF; a file that has not changed is read once per process."""
    return _texts(path, "pages")


def read_layers(path: Path) -> tuple[str, ...]:
    """Read the text layer of a PDF with one character per index of PDFium."""
    return _texts(path, "layers")


def _texts(path: Path, operation: str) -> tuple[str, ...]:
    def read() -> tuple[str, ...]:
        return tuple(ask(path, operation)[0]["texts"])

    texts: tuple[str, ...] = once(path, operation, read, lambda texts: sum(map(len, texts)))
    return texts


def character_boxes(path: Path, pages: Collection[int]) -> dict[int, NDArray[np.float32]]:
    """Find the boxes of the characters of pages, counted from 1: ``x0, y0, x1, y1, direction``.

    The direction is 1 for text that runs up or down the page, 0 for other text, and -1 for a
    character without a visible box, such as a line break.
    """
    content = file_hash(path)
    found = {page: KEPT.get((content, "boxes", page)) for page in sorted(pages)}
    missing = [page for page, boxes in found.items() if boxes is None]
    if missing:
        answer, packed = ask(path, "boxes", pages=missing)
        ends = np.cumsum(answer["counts"])[:-1]
        parts = np.split(np.frombuffer(packed, dtype=np.float32).reshape(-1, 5), ends)
        for page, boxes in zip(missing, parts, strict=True):
            found[page] = once(path, ("boxes", page), boxes.copy, lambda boxes: boxes.nbytes)
    return found


def ask(path: Path, operation: str, **options: Any) -> tuple[dict[str, Any], bytes]:
    """Read or render a PDF in a separate process; return its answer, and pixels or boxes.

    A process of its own limits time and memory, and survives a crash of PDFium.
    """
    name = f"PDF {str(path)!r}"
    with reading(name, path):
        size = path.stat().st_size
    needs("pypdfium2", "pdf")  # the process imports it
    request = {"operation": operation, "path": str(path), **LIMITS._asdict(), **options}
    seconds = LIMITS.seconds + size / LIMITS.bytes_per_second
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
        raise InputError(f"{name} cannot be {doing} within {seconds:.0f} s") from None
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
