"""Drawings of the pairs of an array: for its view, the view of an evaluation, and reports."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pandas as pd

from extractbench_nb.core import MapItem
from extractbench_nb.support.nodes import Node, h
from extractbench_nb.support.wording import accepted_text, fitted, trimmed
from extractbench_nb.views import controls as ui
from extractbench_nb.views.matches_model import Board, Row

_SIDES = ("gold", "predicted")
#: What stands in the place of an item without a partner.
_ALONE = {"missed": "not in the prediction", "spurious": "not in gold"}
#: Fields whose sums are shown, and characters of names and of notes.
_MOST_SUMS, _WIDEST, _LONGEST = 12, 60, 600


def sums_table(board: Board, field: str = "") -> Node | None:
    """Draw in which fields pairs differ, how many of them, and the difference most of them have."""
    shown = list(board.sums.items())[:_MOST_SUMS]
    found = [(name, total, *board.commonest(name)) for name, total in shown]
    has_often = any(often > 1 for *_, often in found)
    rows = []
    for name, total, sides, often in found:
        cells = [h("td", ui.segments(s.segments), cls="xb-value", dir="auto") for s in sides]
        said = f"{often:,} of {total:,}" if often > 1 else ""
        kind = "xb-failed" if field and name == field else None
        head = h("th", name or "value", scope="row")
        count = h("td", f"{total:,}", cls="xb-num")
        last = h("td", said, cls="xb-quiet") if has_often else None
        rows.append(h("tr", head, count, cells, last, cls=kind, key=name))
    heads = ("field", "pairs", *_SIDES, *["most frequent difference"] * has_often)
    title = h("p", h("b", "What differs in pairs"))
    return h("div", title, ui.table(heads, h("tbody", rows), cls="xb-differ")) if rows else None


def field_chips(board: Board, do: str, chosen: str) -> Node | None:
    """Make chips of the fields that pairs fail in, most first."""
    shown = list(board.sums.items())[:_MOST_SUMS]
    counts = [(name, f"≠ {name or 'value'}", total) for name, total in shown]
    return ui.chips("Pairs by the field that differs", do, counts, chosen or None)


def pairs(board: Board, rows: Sequence[Row], chosen: Row | None, text: str = "") -> Node:
    """Draw pairs and items without a partner: of a pair that differs, what differs only."""
    shown = [(row, *board.lines(row, text)) for row in rows]
    is_named = any(place for _, lines, _ in shown for place, *_ in lines)
    bodies = [
        h(
            "tbody",
            _pair(row, lines, hidden, named=is_named, text=text),
            key=f"{row.pair}",
            item=True,
            do="pair",
            send=list(row.pair),
            aria_current="true" if row is chosen else None,
            reveal=f"{row.pair}" if row is chosen else None,
            found=bool(text.strip()),
            cls=f"xb-row xb-r-{row.status}",
        )
        for row, lines, hidden in shown
    ]
    heads = ("status", "gold → predicted", *["field"] * is_named, *_SIDES, "similarity")
    cells = [
        h("th", name, scope="col", key=name, cls="xb-num" if name == "similarity" else None)
        for name in heads
    ]
    return ui.table(cells, bodies, cls="xb-pairs", keys="list")


def _pair(row: Row, lines: Sequence[Any], hidden: int, *, named: bool, text: str) -> list[Node]:
    """Draw the lines of a pair, or of an item without a partner: one per field."""
    span = len(lines) + bool(hidden)
    keys = {item.key: None for item in (row.gold, row.predicted) if isinstance(item, MapItem)}
    places = " → ".join("–" if at is None else str(at) for at in row.pair)
    before = [
        h("td", ui.mark(row.status), rowspan=span),
        h("td", places, [_note(fitted(key, _WIDEST)) for key in keys], rowspan=span),
    ]
    alike = "–" if row.similarity is None else ui.score(row.similarity)
    after = h("td", alike, cls="xb-num", rowspan=span)
    trs = []
    for at, (place, texts, is_failed) in enumerate(lines):
        sides: list[Node | None] = [
            h("td", ui.segments(side.segments, text), cls="xb-value", dir="auto", key=name)
            for name, side in zip(_SIDES, texts, strict=True)
        ]
        if alone := _ALONE.get(row.status):
            empty = h("td", alone, cls="xb-quiet xb-alone", rowspan=span, key="alone")
            sides[row.gold_index is not None] = None if at else empty
        name = h("th", "≠ " if is_failed else "", place, scope="row") if named else None
        cells = [name, sides] if at else [before, name, sides, after]
        trs.append(h("tr", cells, cls="xb-failed" if is_failed else None))
    if hidden:
        trs.append(h("tr", h("th", f"… {hidden:,} more", scope="row", colspan=2)))
    return trs


def pair_detail(board: Board, row: Row, whole: set[int], *, on_page: bool = False) -> Node:
    """Draw one pair, or an item without a partner, in full: a line per field and metric."""
    places, hidden = board.places(row, whole)
    sides = [at for at in (0, 1) if row.pair[at] is not None]
    is_scored = row.is_pair or any(place.field is not None for place in places)
    names = ("field", *(_SIDES[at] for at in sides), *["verdict"] * is_scored)
    heads = [h("th", name, scope="col") for name in names]
    heads += [h("th", "PDF", scope="col", live=True)] * on_page
    rows = []
    for number, name, values, field in places:
        cells = [
            h(
                "td",
                ui.segments(values[at].segments) if values else None,
                _show_all(number, f"{name or 'the value'}, {_SIDES[at]}")
                if values and values[at].hidden and number not in whole
                else None,
                cls="xb-value",
                dir="auto",
            )
            for at in sides
        ]
        if is_scored:
            cells.append(_verdict(field))
        if on_page:
            said = f"Show {name or 'the value'} on its page"
            button = ui.button("page", "page", number, aria_label=said)
            cells.append(h("td", button if field is not None else None, live=True))
        is_failed = field is not None and field.outcome != "correct"
        kind = "xb-failed" if is_failed else None
        rows.append(h("tr", h("th", name, scope="row"), cells, cls=kind, key=number))
    return h(
        "div",
        h("p", h("b", row.title)),
        h("div", ui.table(heads, h("tbody", rows)), cls="xb-wide"),
        ui.more(hidden, "fields"),
        key=f"pair {row.pair}",
    )


def _show_all(number: int, what: str) -> list[Any]:
    return [" ", ui.button("show all", "whole", number, aria_label=f"Show all of {what}")]


def _verdict(field: Any) -> Node:
    if field is None:
        return h("td", "not scored", cls="xb-quiet")
    first, *words = fitted(str(field.metric), _LONGEST).split("_")
    reasons = [text.replace("_", " ") for text in (field.reason, field.mismatch) if pd.notna(text)]
    said = " · ".join(filter(None, ["", *reasons, accepted_text(field.accepted_as)]))
    told = [first, *((h("wbr"), f"_{word}") for word in words), f" · {said}" if said else ""]
    return h(
        "td",
        [ui.mark(field.outcome), " ", ui.score(None if pd.isna(field.score) else field.score)],
        h("div", told, cls="xb-quiet"),
        _note(trimmed(field.reasoning, _LONGEST)) if pd.notna(field.reasoning) else None,
        cls="xb-word",
    )


def _note(text: str) -> Node:
    return h("div", text, cls="xb-quiet xb-value")
