"""The static twin of the evidence view."""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Sequence

from extractbench_nb.widgets.evidence.model import LABELS, Place, ValueRow, shown_path
from extractbench_nb.widgets.static import element, score_text, table

__all__ = ["picture_html", "places_html", "values_html"]

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
