"""The static twin of a list of matches."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from extractbench_nb.report.sides import Segment
from extractbench_nb.widgets.static import MARKS, element, score_text, segments_html, table

__all__ = ["counts_html", "detail_html", "page_html"]


def counts_html(counts: dict[str, Any], note: str) -> str:
    """Write the counts as evaluated and at the present thresholds.

    Parameters
    ----------
    counts : dict
        As `Board.counts` gives them.
    note : str
        What is to be said of the thresholds.

    Returns
    -------
    str
        HTML.
    """
    heads = ["", *counts["heads"]]
    numbers = range(1, len(heads) - 1)
    rows = [
        [element("b", name), *(element("span", text) for text in texts)]
        for name, texts, _ in counts["rows"]
        if name == "as evaluated" or counts["values"]
    ]
    changed = f"Thresholds: {counts['values']}. " if counts["values"] else ""
    told = changed + "A partial pair counts as one missed and one spurious item. " + note
    return table(heads, rows, list(numbers)) + element("p", told.strip(), "xb-quiet")


def page_html(page: dict[str, Any], told: str) -> str:
    """Write the rows of a page: a line a pair or item, what failed marked.

    Parameters
    ----------
    page : dict
        As `Board.page` gives it.
    told : str
        Order and filters, in words.

    Returns
    -------
    str
        HTML; it says how many rows are not on it.
    """
    if not page["rows"]:
        return element("p", empty_text(page), "xb-empty")
    first, last, rows = (f"{page[name]:,}" for name in ("first", "last", "rows"))
    head = f"{told}. Rows {first} to {last} of {rows}:"
    body = [_line(left, right) for left, right in _pairs(page["left"], page["right"])]
    heads = ("gold", "predicted", "status", "similarity", "gold item", "predicted item")
    hidden = page["rows"] - page["last"]
    more = element("p", f"… {hidden:,} more rows") if hidden else ""
    return element("p", head) + table(heads, body, (0, 1, 3)) + more


def empty_text(page: dict[str, Any]) -> str:
    """Say why no row is shown."""
    if page["all"]:
        return "No item matches; clear the filters."
    if page["items"]:
        return "The items were not aligned: the model that was asked gave no answer of use."
    return "Both arrays are empty: there is nothing to match."


def _pairs(
    left: Sequence[dict[str, Any]], right: Sequence[dict[str, Any]]
) -> list[tuple[dict[str, Any] | None, dict[str, Any] | None]]:
    """Put partners on one line, in the order of the gold items; then those without a partner."""
    theirs = {card["at"]: card for card in right}
    paired = [(card, theirs.get(card["partner"])) for card in left]
    return [*paired, *((None, card) for card in right if card["partner"] is None)]


def _line(left: dict[str, Any] | None, right: dict[str, Any] | None) -> list[str]:
    card = left or right or {}
    status = card["status"]
    failed = f" ({', '.join(card['failed'])})" if card["failed"] else ""
    similarity = card["similarity"]
    return [
        *(str(side["at"]) if side else "–" for side in (left, right)),
        element("span", f"{MARKS[status]} {status}{failed}"),
        "–" if similarity is None else score_text(similarity),
        _item(left),
        _item(right),
    ]


def _item(card: dict[str, Any] | None) -> str:
    if card is None:
        return ""
    key = element("div", card["key"], "xb-quiet") if card["key"] else ""
    lines = [
        f"<div>{_place(place, failed)}{_side(side)}</div>" for place, side, failed in card["lines"]
    ]
    more = element("div", f"… {card['more']:,} more", "xb-quiet") if card["more"] else ""
    return key + "".join(lines) + more


def _place(place: str, failed: bool) -> str:
    mark = f"{MARKS['incorrect']} " if failed else ""
    name = f"{mark}{place}: " if place else mark
    return element("b" if failed else "span", name, "" if failed else "xb-quiet") if name else ""


def _side(side: Sequence[Sequence[str]]) -> str:
    return segments_html(Segment(*piece) for piece in side)


def detail_html(model: dict[str, Any]) -> str:
    """Write the chosen pair key by key.

    Parameters
    ----------
    model : dict
        As `detail` gives it.

    Returns
    -------
    str
        HTML.
    """
    similarity = model["similarity"]
    alike = "" if similarity is None else f", similarity {score_text(similarity)}"
    failed = f"; failed: {', '.join(model['failed'])}" if model["failed"] else ""
    head = element("h4", f"{model['title']}: {model['status']}{alike}{failed}")
    note = element("p", model["note"]) if model["note"] else ""
    scored = ("metric", "score", "outcome") if model["scored"] else ()
    heads = ("field", *model["sides"], *scored)
    rows = [_detail_line(row, model) for row in model["rows"]]
    numbers = [at for at, name in enumerate(heads) if name == "score"]
    return head + note + table(heads, rows, numbers) + element("p", left_out(model), "xb-quiet")


def left_out(model: dict[str, Any]) -> str:
    """Say what the list of fields does not show."""
    parts = []
    if model["more"]:
        parts.append(f"… {model['more']:,} more fields.")
    if model["absent"]:
        parts.append(f"Absent on both sides: {model['absent']:,}.")
    return " ".join(parts)


def _detail_line(row: dict[str, Any], model: dict[str, Any]) -> list[str]:
    values = [element("b", row["place"])]
    for side in model["sides"]:
        length = row["more"].get(side)
        cut = element("em", f" ({length:,} characters)", "xb-quiet") if length else ""
        values.append(_side(row[side]) + cut)
    return [*values, *(_verdict(row["verdict"]) if model["scored"] else ())]


def _verdict(verdict: dict[str, Any] | None) -> list[str]:
    if verdict is None:
        return [element("em", "not scored", "xb-quiet"), "", ""]
    outcome = verdict["outcome"]
    why = f"{MARKS.get(outcome, '')} {outcome.replace('_', ' ')} ({verdict['reason']})"
    reasoning = element("div", verdict["reasoning"], "xb-quiet") if verdict["reasoning"] else ""
    return [
        element("span", verdict["metric"]),
        score_text(verdict["score"]),
        element("span", why) + reasoning,
    ]
