"""Names that have moved or gone: one table, ``moved.csv``, for namespaces and the command line."""

from __future__ import annotations

import csv
from collections.abc import Callable
from functools import cache
from importlib.resources import files
from typing import NoReturn


@cache
def moved_rows() -> dict[str, dict[str, str]]:
    """Return the rows of the table (old, new, note) by the old name."""
    text = (files("extractbench_nb.support") / "moved.csv").read_text(encoding="utf-8")
    return {row["old"]: row for row in csv.DictReader(text.splitlines())}


def moved_hint(old: str) -> str:
    """Return a sentence that says where a name is now, or what to use; empty for other names."""
    rows = moved_rows()
    if old not in rows:
        return ""
    new, note = rows[old]["new"], rows[old]["note"]
    hint = f"{old} is now {new}" if new else f"{old} is no longer available"
    inside = (row for name, row in rows.items() if new and name.startswith(f"{old}."))
    example = next((row for row in inside if row["new"].startswith(f"{new}.")), None)
    if example:
        hint += f", e.g. {example['old']} is now {example['new']}"
    return f"{hint}. {note}" if note else hint


def moved_names(module: str) -> Callable[[str], NoReturn]:
    """Return a ``__getattr__`` for a namespace that says where its former names are.

    Parameters
    ----------
    module : str
        ``__name__`` of the namespace.
    """
    space = module.partition(".")[2].removeprefix("core.").removeprefix("views.")
    prefix = f"xb.{space}." if space else "xb."

    def refuse(name: str) -> NoReturn:
        hint = moved_hint(prefix + name)
        problem = f"module {module!r} has no attribute {name!r}"
        raise AttributeError(f"{problem}; {hint}" if hint else problem, name=name)

    return refuse
