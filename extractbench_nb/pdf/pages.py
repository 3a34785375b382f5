"""The pages of a PDF: their text, the boxes of its characters and their images, through PDFium.

A PDF of a few kilobytes may unpack to gigabytes or draw for minutes, and PDFium ends a process that
runs out of memory: files are opened in a separate process (`pdf_worker`) only, with limits.
"""

from __future__ import annotations

import json
import subprocess
import sys
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from extractbench_nb.errors import InputError, needs
from extractbench_nb.pdf import pdf_worker
from extractbench_nb.support.files import file_hash, reading

if TYPE_CHECKING:
    from numpy.typing import NDArray


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


def character_boxes(path: Path, page: int) -> NDArray[np.float32]:
    """Find the boxes of the characters of a page, as `pdf_worker` writes them."""
    block, place = divmod(page - 1, _PAGES_AT_ONCE)
    return _boxes(path, file_hash(path), block)[place]


@lru_cache(maxsize=20)
def _boxes(path: Path, _content: str | None, block: int) -> list[NDArray[np.float32]]:
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
