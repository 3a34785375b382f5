"""Values with what was found of them in a PDF, as small records and as static HTML."""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

import pandas as pd

from extractbench_nb.display.text import clean, single_line, value_text
from extractbench_nb.widgets.static import element, score_text, table

__all__ = [
    "FOUND",
    "LABELS",
    "NOT_FOUND",
    "NOT_SOUGHT",
    "Place",
    "ValueRow",
    "finding_counts",
    "kept_rows",
    "one_line",
    "picture_html",
    "places",
    "places_html",
    "shown_path",
    "value_rows",
    "values_html",
]


FOUND, NOT_FOUND, NOT_SOUGHT = "found", "not_found", "not_sought"
#: What is said of a value; what is not sought is null, a boolean, or has no letter or digit.
LABELS = {FOUND: "found", NOT_FOUND: "not found", NOT_SOUGHT: "not sought"}

_LONGEST = 160
_LONGEST_PATH = 300


class ValueRow(NamedTuple):
    """One value of the document: where it stands in the JSON, and in the PDF.

    ``page`` is counted from 1; it and ``score``, in [0, 1], are None where nothing was found.
    ``outcome`` is what an evaluation says of it, empty where it says nothing.
    """

    path: str
    text: str
    finding: str
    page: int | None
    score: float | None
    outcome: str


class Place(NamedTuple):
    """One place of a value: its page, the boxes of its lines in PDF points, and its words."""

    page: int
    boxes: tuple[tuple[float, float, float, float], ...]
    text: str
    context: str
    written: str
    score: float


def one_line(value: object, limit: int = _LONGEST) -> str:
    """Write any value of a document on one line of at most `limit` characters."""
    return single_line("null" if value is None else value_text(value), limit)


def value_rows(leaves: pd.DataFrame, outcomes: Mapping[str, str] | None = None) -> list[ValueRow]:
    """Turn the leaves of a JSON value into rows."""
    known = outcomes or {}
    names = ["path", "value", "grounded", "evidence_page", "evidence_score"]
    rows = []
    for path, value, grounded, page, score in leaves[names].itertuples(index=False):
        there = None if page is pd.NA else int(page)
        specificity = None if score is pd.NA else round(float(score), 4)
        said = _finding(grounded)
        rows.append(ValueRow(path, one_line(value), said, there, specificity, known.get(path, "")))
    return rows


def _finding(grounded: object) -> str:
    if grounded is pd.NA:
        return NOT_SOUGHT
    return FOUND if grounded else NOT_FOUND


def kept_rows(rows: Iterable[ValueRow], finding: str = "", text: str = "") -> list[ValueRow]:
    """Keep the rows with a finding (empty for all) whose path or value has a text, in any case."""
    wanted = text.strip().casefold()
    return [
        row
        for row in rows
        if (not finding or row.finding == finding)
        and (not wanted or wanted in row.path.casefold() or wanted in row.text.casefold())
    ]


def finding_counts(rows: Iterable[ValueRow]) -> dict[str, int]:
    """Count rows by finding; all three are there."""
    counts = dict.fromkeys(LABELS, 0)
    for row in rows:
        counts[row.finding] += 1
    return counts


def places(evidence: pd.DataFrame) -> list[Place]:
    """Join the lines of each hit."""
    found = []
    for _, lines in evidence.groupby(["hit", "page"], sort=False):
        boxes = tuple(map(tuple, lines[["x0", "y0", "x1", "y1"]].to_numpy().tolist()))
        first = lines.iloc[0]
        found.append(
            Place(
                int(first["page"]),
                boxes,
                one_line(" ".join(lines["text"]), 4 * _LONGEST),
                one_line(first["context"], 4 * _LONGEST),
                str(first["written"]).replace("_", " "),
                round(float(first["score"]), 4),
            )
        )
    return found


def shown_path(path: str) -> str:
    """Write a path on one line of bounded length, its end kept."""
    text = " ".join(clean(path[-_LONGEST_PATH:]).split())
    return text if len(path) <= _LONGEST_PATH else "…" + text[1:]


_MOST_ROWS = 20
_MOST_PLACES = 8


def values_html(rows: Sequence[ValueRow], chosen: str = "") -> str:
    """Write values with what was found of them: 20 around the chosen path, or the first ones."""
    if not rows:
        return element("p", "No value here.", "xb-empty")
    at = next((i for i, row in enumerate(rows) if row.path == chosen), 0)
    start = max(0, min(at - _MOST_ROWS // 2, len(rows) - _MOST_ROWS))
    shown = rows[start : start + _MOST_ROWS]
    cells = [
        (
            element("b" if row.path == chosen else "code", shown_path(row.path)),
            element("span", row.text),
            element("span", LABELS[row.finding]),
            "" if row.page is None else str(row.page),
            "" if row.score is None else score_text(row.score),
            element("span", row.outcome.replace("_", " ")),
        )
        for row in shown
    ]
    heads = ("path", "value", "in the PDF", "page", "score", "outcome")
    more = f"Values {start + 1:,} to {start + len(shown):,} of {len(rows):,}"
    tail = element("p", more) if len(shown) < len(rows) else ""
    return table(heads, cells, numbers=(3, 4)) + tail


def places_html(found: Sequence[Place]) -> str:
    """Write the places of one value; the first 8, and how many more there are."""
    cells = [
        (str(p.page), element("span", p.context), element("span", p.written), score_text(p.score))
        for p in found[:_MOST_PLACES]
    ]
    more = len(found) - _MOST_PLACES
    tail = element("p", f"… {more:,} more places") if more > 0 else ""
    return table(("page", "what stands there", "written", "score"), cells, numbers=(0, 3)) + tail


def picture_html(png: bytes, label: str) -> str:
    """Write a picture into the page itself."""
    data = b64encode(png).decode("ascii")
    alt = element("i", label)[3:-4].replace('"', "&quot;")
    return f'<p><img src="data:image/png;base64,{data}" alt="{alt}" style="max-width:100%"></p>'
