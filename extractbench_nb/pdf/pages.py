"""The pages of a PDF, their text and their images, through PDFium.

A PDF of a few kilobytes may unpack to gigabytes, and PDFium ends a process that runs out of
memory: each file is first read in a separate process (`worker`) with a memory limit.
"""

from __future__ import annotations

import json
import subprocess
import sys
from collections import OrderedDict
from collections.abc import Hashable
from pathlib import Path
from threading import Lock
from typing import Any

from extractbench_nb.errors import InputError, needs
from extractbench_nb.pdf import pdf_worker
from extractbench_nb.support.files import file_hash

#: Limits for one PDF: bytes of memory, seconds, characters of text, pixels of an image.
_MEMORY, _SECONDS, _CHARACTERS = 2 * 2**30, 300, 50_000_000
MOST_PIXELS = 40_000_000


class Recent:
    """A least-recently-used cache limited by total characters; the newest value always stays."""

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

    def keep(self, key: Hashable, value: Any, characters: int) -> None:
        """Keep a value; drop the oldest while there are too many characters."""
        with self._lock:
            self._kept[key] = value, characters
            while len(self._kept) > 1 and sum(n for _, n in self._kept.values()) > self.most:
                self._kept.popitem(last=False)

    def clear(self) -> None:
        """Remove all values."""
        with self._lock:
            self._kept.clear()


#: Texts of PDFs, by content and operation.
_TEXTS = Recent(20_000_000)


def read_pages(path: Path) -> tuple[str, ...]:
    """Read the text layer of a PDF; a file that has not changed is read once per process."""
    return _texts(path, "pages")


def read_layers(path: Path) -> tuple[str, ...]:
    """Read the text layer of a PDF with one character per index of PDFium."""
    return _texts(path, "layers")


def _texts(path: Path, operation: str) -> tuple[str, ...]:
    """Return the texts of a PDF, read once per content."""
    content = file_hash(path)
    key = (content, operation, _CHARACTERS)
    texts: tuple[str, ...] | None = _TEXTS.get(key)
    if texts is None:
        texts = tuple(ask(path, operation, most=_CHARACTERS)[0]["texts"])
        if content is not None and file_hash(path) == content:  # not replaced meanwhile
            _TEXTS.keep(key, texts, sum(map(len, texts)))
    return texts


def ask(path: Path, operation: str, **options: Any) -> tuple[dict[str, Any], bytes]:
    """Read or render a PDF in a separate process; return its answer and the pixels, if any.

    A process of its own limits time and memory, and survives a crash of PDFium.
    """
    if not path.is_file():
        problem = "it is not a regular file" if path.exists() else "no such file"
        raise InputError(f"PDF {str(path)!r} cannot be read: {problem}")
    needs("pypdfium2", "pdf")  # the process imports it
    request = {"operation": operation, "path": str(path), "memory": _MEMORY, **options}
    command = [sys.executable, "-P", pdf_worker.__file__]
    try:
        process = subprocess.run(  # noqa: S603 - our own interpreter and script
            command,
            input=json.dumps(request).encode(),
            capture_output=True,
            timeout=_SECONDS,
            check=False,
        )
    except subprocess.TimeoutExpired:
        raise InputError(f"PDF {str(path)!r} cannot be read within {_SECONDS} s") from None
    head, _, pixels = process.stdout.partition(b"\n")
    if process.returncode or not head:
        raise InputError(
            f"PDF {str(path)!r} cannot be read: the reader crashed or needed more than "
            f"{_MEMORY / 2**30:g} GB of memory (exit code {process.returncode})"
        )
    answer: dict[str, Any] = json.loads(head)
    if "error" in answer:
        raise InputError(f"PDF {str(path)!r} cannot be read: {answer['error']}")
    return answer, pixels
