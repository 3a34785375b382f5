"""Folders for what can be had again: downloads and figures that were counted once."""

from __future__ import annotations

import hashlib
import json
import os
import stat
from collections.abc import Mapping
from contextlib import suppress
from functools import lru_cache
from pathlib import Path

from extractbench_nb._files import make_folder, replacing
from extractbench_nb.errors import OutputError

__all__ = ["CACHE_VARIABLE", "cache_folder", "file_hash", "load_figures", "save_figures"]

CACHE_VARIABLE = "EXTRACTBENCH_CACHE"


def cache_folder() -> Path:
    """Return the folder of caches: ``EXTRACTBENCH_CACHE``, else the user's own for this package."""
    named = os.environ.get(CACHE_VARIABLE)
    if named:
        return Path(named).expanduser()
    from platformdirs import user_cache_path

    return user_cache_path("extractbench-nb", appauthor=False)


def file_hash(path: Path) -> str | None:
    """Return the SHA-256 of a file.

    Parameters
    ----------
    path : pathlib.Path
        The file.

    Returns
    -------
    str or None
        64 hexadecimal digits; None where the file cannot be read. A file is read again only when
        its size or its time of change is another.
    """
    try:
        status = path.stat()
        if not stat.S_ISREG(status.st_mode):  # a pipe would have to be waited for
            return None
        return _hash(path, status.st_size, status.st_mtime_ns)
    except OSError:
        return None


@lru_cache(maxsize=4096)
def _hash(path: Path, size: int, changed: int) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def load_figures(path: Path, names: tuple[str, ...]) -> dict[str, int] | None:
    """Read figures that `save_figures` wrote.

    Parameters
    ----------
    path : pathlib.Path
        The file.
    names : tuple of str
        The figures it must hold.

    Returns
    -------
    dict of str to int or None
        The figures; None where the file is absent, broken or holds anything else.
    """
    try:
        found = json.loads(path.read_bytes())
    except (OSError, ValueError, RecursionError):
        return None
    if not isinstance(found, dict) or tuple(sorted(found)) != tuple(sorted(names)):
        return None
    return found if all(type(v) is int and v >= 0 for v in found.values()) else None


def save_figures(path: Path, figures: Mapping[str, int]) -> None:
    """Keep figures for the next time; where they cannot be kept they are counted again."""
    with suppress(OutputError):
        make_folder(path.parent)
        with replacing(path) as temporary:
            temporary.write_text(json.dumps(figures), encoding="utf-8")
