"""Where a dataset comes from and under which licence it may be used."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pandas as pd

from extractbench_nb.benchmark.release import COMMIT, LICENCE, REPOSITORY, check_files

__all__ = ["licence_of", "origin_of", "provenance_of"]

_OWN_LICENCE = "MIT"
_LICENCE_FILES = ("LICENSE", "LICENCE", "LICENSE.txt", "LICENSE.md", "COPYING")
_LONGEST = 200


def licence_of(name: str, root: Path) -> str | None:
    """Name the licence of a dataset; None where nothing says it."""
    if name == "extractbench":
        return LICENCE
    return _OWN_LICENCE if name == "sample" else _first_line(root)


def origin_of(name: str) -> str | None:
    """Say in a few words where a named dataset comes from; None for anybody's folder."""
    if name == "extractbench":
        return f"{REPOSITORY} at {COMMIT[:12]}"
    return "part of extractbench_nb, all of it fictional" if name == "sample" else None


def provenance_of(name: str, root: Path) -> pd.Series[Any]:
    """Say where a dataset comes from, and compare its files with the released ones.

    Parameters
    ----------
    name : str
        ``"extractbench"``, ``"sample"`` or anything.
    root : pathlib.Path
        Its folder.

    Returns
    -------
    pandas.Series
        dataset, source, commit, licence, folder; then verified, unverified, changed and missing,
        the numbers of released files in each state. What does not apply is ``pd.NA``.
    """
    released = name == "extractbench"
    facts: dict[str, Any] = {
        "dataset": name,
        "source": REPOSITORY if released else origin_of(name),
        "commit": COMMIT if released else None,
        "licence": licence_of(name, root),
        "folder": str(root),
    }
    states = dict.fromkeys(("verified", "unverified", "changed", "missing"))
    facts |= check_files(root) if released else states
    cells = [pd.NA if value is None else value for value in facts.values()]
    return pd.Series(cells, index=list(facts), dtype=object, name="provenance")


def _first_line(root: Path) -> str | None:
    for name in _LICENCE_FILES:
        try:
            lines = (root / name).read_text(encoding="utf-8", errors="replace").split("\n")
        except OSError:
            continue
        return next((line.strip()[:_LONGEST] for line in lines if line.strip()), None)
    return None
