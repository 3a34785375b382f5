"""The view model of a page: a card for each item, and the lines between those that are paired."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from extractbench_nb._json import leaf_texts
from extractbench_nb.alignment.similarity import MapItem
from extractbench_nb.report.sides import Segment, alone, compared
from extractbench_nb.report.texts import fitted, value_text
from extractbench_nb.values import MISSING
from extractbench_nb.widgets.matches.model import Row
from extractbench_nb.widgets.matches.places import NO_PLACE, Kind, values_by_place

__all__ = ["cards", "label", "segments", "sides"]

_LINES = 5
_LONGEST_VALUE, _MARKED = 90, 160
_WIDEST_PLACE = 40
_WIDEST_KEY = 60

Sides = tuple[list[Segment], list[Segment]]


def sides(gold: Any, predicted: Any, limit: int, marked: int) -> Sides:
    """Lay two values side by side, with what differs marked; arrays as their JSON.

    Parameters
    ----------
    gold, predicted : object
        The values; `MISSING` where there is none, `NO_PLACE` where there can be none.
    limit : int
        Characters to show of a text.
    marked : int
        Characters of the longer text up to which differences are marked.

    Returns
    -------
    tuple of (list of Segment, list of Segment)
        The two sides.
    """
    one, two = _written(gold), _written(predicted)
    if _is_told(gold) or _is_told(predicted) or _same(gold, predicted):
        return _alone(one, gold, limit), _alone(two, predicted, limit)
    if max(len(value_text(one)), len(value_text(two))) <= marked:
        return compared(one, two, limit=marked)
    return _alone(one, gold, limit), _alone(two, predicted, limit)


def _is_told(value: Any) -> bool:
    return value is MISSING or value is NO_PLACE or isinstance(value, Kind)


def _written(value: Any) -> Any:
    listed = isinstance(value, dict | list | tuple) and not isinstance(value, Kind)
    return value_text(value) if listed else value


def _same(gold: Any, predicted: Any) -> bool:
    return type(gold) is type(predicted) and bool(gold == predicted)


def _alone(written: Any, value: Any, limit: int) -> list[Segment]:
    if value is NO_PLACE:
        return []
    if isinstance(value, Kind):
        told = [Segment("note", value.told)]
        whole = value.value
        return told if whole is MISSING else told + _alone(_written(whole), whole, limit)
    return alone(written, "missing" if value is MISSING else "present", limit=limit)


def segments(side: Sequence[Segment]) -> list[list[str]]:
    """Return stretches of a value as the page reads them."""
    return [[piece.kind, piece.text] for piece in side]


def label(place: str, width: int = _WIDEST_PLACE) -> str:
    """Write a place within an item for a reader; empty for a scalar item."""
    return fitted(place.removeprefix("."), width)


def cards(
    rows: Sequence[Row], failed: Mapping[int, set[str]], field: str, beside: bool
) -> dict[str, Any]:
    """Write a page of rows as the two columns that the page draws.

    Parameters
    ----------
    rows : sequence of Row
        The rows of one page.
    failed : mapping of int to set of str
        Places that did not pass, by gold index.
    field : str
        Field of the array's items.
    beside : bool
        Whether partners stand at the same height, in the order of the rows; else predicted items
        stand in their own order.

    Returns
    -------
    dict
        ``left`` and ``right``, the gold and predicted items: index, partner, status, similarity,
        key in a map, lines of place, stretches and whether it failed, and how many more lines.
    """
    left: list[dict[str, Any]] = []
    right: list[dict[str, Any]] = []
    for row in rows:
        places = _failed(row, failed, field)
        for side, one, index, partner in (
            (left, 0, row.gold_index, row.predicted_index),
            (right, 1, row.predicted_index, row.gold_index),
        ):
            if index is not None:
                side.append(_card(row, one, index, partner, places))
    if not beside:
        right.sort(key=lambda card: card["at"])
    return {"left": left, "right": right}


def _failed(row: Row, failed: Mapping[int, set[str]], field: str) -> set[str]:
    if not row.is_pair or row.gold_index is None:
        return set()
    return failed.get(row.gold_index, set()) | {f.removeprefix(field) for f in row.failed_fields}


def _card(row: Row, side: int, index: int, partner: int | None, failed: set[str]) -> dict[str, Any]:
    item = (row.gold, row.predicted)[side]
    lines, more = _lines(row, side, failed)
    return {
        "at": index,
        "partner": partner,
        "status": row.status,
        "similarity": row.similarity,
        "key": fitted(item.key, _WIDEST_KEY) if isinstance(item, MapItem) else "",
        "lines": lines,
        "more": more,
        "failed": [label(f.removeprefix(".") or "value") for f in sorted(failed)[:_LINES]],
    }


def _lines(row: Row, side: int, failed: set[str]) -> tuple[list[list[Any]], int]:
    values = values_by_place(row)
    places = [place for place, both in values.items() if both[side] is not NO_PLACE]
    bad = [place for place in places if place in failed]
    first = {*bad[:_LINES], *[p for p in places if p not in failed][: max(0, _LINES - len(bad))]}
    lines = []
    for place in places:
        if place in first:
            pieces = _values(row, *values[place])[side]
            lines.append([label(place), segments(pieces), place in failed])
    return lines, len(places) - len(lines)


def _values(row: Row, one: Any, two: Any) -> Sides:
    marked = _MARKED if row.is_pair else 0
    return sides(_in_words(one), _in_words(two), _LONGEST_VALUE, marked)


def _in_words(value: Any) -> Any:
    """Write an array by what it holds: a card has no room for its brackets."""
    if isinstance(value, Kind):
        return value._replace(value=_in_words(value.value))
    return " · ".join(leaf_texts(value)) or value if isinstance(value, list | tuple) else value
