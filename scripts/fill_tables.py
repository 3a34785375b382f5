"""Fill the tables of documentation pages from the frames that their code makes.

    python -m scripts.fill_tables [PAGE...]

Below a comment ``<!-- table: NAME -->`` stands a Markdown table of the frame NAME, which a Python
block of the same page makes, or a function of `page_tables`. Without arguments, all pages of docs/
are filled.
"""

from __future__ import annotations

import contextlib
import os
import re
import sys
import tempfile
from pathlib import Path
from typing import Any

import pandas as pd
from markdown_it import MarkdownIt

from scripts.page_tables import TABLES

ROOT = Path(__file__).parents[1]
TABLE = re.compile(r"(<!-- table: (\w+) -->\n)((?:\|.*\n)*)")
NOT_RUN = "<!-- not run: "


def has_tables(page: Path) -> bool:
    return bool(TABLE.search(page.read_text(encoding="utf-8")))


def tabulated(frame: pd.DataFrame) -> str:
    """Return a Markdown table; numbers are aligned to the right."""
    heads = [str(name) for name in frame.columns]
    marks = [
        "--:" if pd.api.types.is_numeric_dtype(frame[name]) and frame[name].dtype != bool else "---"
        for name in frame.columns
    ]
    columns = [
        [_cell(value, rounded=pd.api.types.is_float_dtype(frame[name])) for value in frame[name]]
        for name in frame.columns
    ]
    rows = [heads, marks, *map(list, zip(*columns, strict=True))]
    return "".join(f"| {' | '.join(row)} |\n" for row in rows)


def _cell(value: Any, *, rounded: bool) -> str:
    """Write a value; numbers of gold and predictions, in a column of objects, as they are."""
    text = "" if pd.isna(value) else f"{value:.3f}" if rounded else str(value)
    return text.replace("|", r"\|").replace("\n", " ")


def names_of(page: Path) -> dict[str, Any]:
    """Run the Python blocks of a page in an empty folder, and return what they define."""
    space: dict[str, Any] = {"__name__": "__main__"}
    tokens, skip = MarkdownIt().parse(page.read_text(encoding="utf-8")), False
    with tempfile.TemporaryDirectory() as folder, contextlib.chdir(folder):
        for token in tokens:
            if token.type == "html_block":
                skip = token.content.startswith(NOT_RUN)
            elif token.type == "fence":
                if token.info.strip() == "python" and not skip:
                    exec(compile(token.content, str(page), "exec"), space)  # noqa: S102 - our pages
                skip = False
    return space


def filled(page: Path) -> str:
    """Return the text of a page with its tables as the code makes them."""
    text = page.read_text(encoding="utf-8")
    wanted = {found[2] for found in TABLE.finditer(text)}
    frames = {name: TABLES[name]() for name in wanted & TABLES.keys()}
    if wanted - frames.keys():
        frames |= names_of(page)
    return TABLE.sub(lambda found: found[1] + tabulated(frames[found[2]]), text)


if __name__ == "__main__":
    os.environ.setdefault("MPLBACKEND", "agg")
    chosen = [Path(name) for name in sys.argv[1:]] or sorted(ROOT.glob("docs/**/*.md"))
    for path in filter(has_tables, chosen):
        path.resolve().write_text(filled(path), encoding="utf-8")
