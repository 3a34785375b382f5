"""The released ExtractBench dataset: where it comes from, and which files belong to it.

The figures and hashes in this package come from a copy of the dataset at the pinned commit. All
files but one PDF were at hand then; that one has no hash, and is unverified.
"""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import NamedTuple

from extractbench_nb.benchmark.caching import cache_folder, file_hash
from extractbench_nb.benchmark.shipped import shipped_rows

__all__ = [
    "COMMIT",
    "LICENCE",
    "RAW_URL",
    "REPOSITORY",
    "ReleasedFile",
    "check_files",
    "download_folder",
    "missing_files",
    "released_files",
]

REPOSITORY = "https://github.com/ContextualAI/extract-bench"
COMMIT = "88bc6ac0eac2e9cbf73dd697e329de555410f203"
RAW_URL = f"https://raw.githubusercontent.com/ContextualAI/extract-bench/{COMMIT}"
LICENCE = "MIT"


class ReleasedFile(NamedTuple):
    """A file of the released dataset.

    Attributes
    ----------
    path : str
        Below the dataset's folder, ``/`` between the parts.
    source : str
        Below the repository's root.
    size : int or None
        Bytes; None where the file was never at hand.
    sha256 : str or None
        64 hexadecimal digits; None where the file was never at hand.
    """

    path: str
    source: str
    size: int | None
    sha256: str | None


@cache
def released_files() -> tuple[ReleasedFile, ...]:
    """List the files of the released dataset: schemas, golds, PDFs and the licence.

    Returns
    -------
    tuple of ReleasedFile
        Ordered by path.
    """
    return tuple(
        ReleasedFile(
            row["path"],
            row["source"],
            int(row["size"]) if row["size"] else None,
            row["sha256"] or None,
        )
        for row in shipped_rows("data/registry.csv")
    )


def download_folder() -> Path:
    """Return the folder that `fetch_dataset` fills where no other is named."""
    return cache_folder() / f"extractbench-{COMMIT[:12]}"


def missing_files(root: Path) -> list[str]:
    """List the released files with a known hash that a folder lacks, without reading any."""
    return [f.path for f in released_files() if f.sha256 and not (root / f.path).is_file()]


def check_files(root: Path) -> dict[str, int]:
    """Compare a folder with the released files.

    Parameters
    ----------
    root : pathlib.Path
        The dataset's folder.

    Returns
    -------
    dict of str to int
        How many of the released files are ``verified`` (the same content), ``unverified`` (there,
        but their content was never at hand), ``changed`` and ``missing``.
    """
    counts = dict.fromkeys(("verified", "unverified", "changed", "missing"), 0)
    for file in released_files():
        counts[_state(file_hash(root / file.path), file.sha256)] += 1
    return counts


def _state(found: str | None, expected: str | None) -> str:
    if found is None:
        return "missing"
    if expected is None:
        return "unverified"
    return "verified" if found == expected else "changed"
