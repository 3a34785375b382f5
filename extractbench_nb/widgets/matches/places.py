"""What stands at each place of two items, also where only one of them is an object."""

from __future__ import annotations

from typing import Any, NamedTuple

from extractbench_nb._json import json_type
from extractbench_nb.alignment.similarity import MapItem
from extractbench_nb.values import MISSING
from extractbench_nb.widgets.matches.model import Row, entries

__all__ = ["NO_PLACE", "Kind", "Values", "values_by_place"]

Values = tuple[Any, Any]

#: Stands for a field of an item that is no object, and so has no such place.
NO_PLACE = object()


class Kind(NamedTuple):
    """What a whole item is, in words, before its value or in place of it."""

    told: str
    value: Any = MISSING


def values_by_place(row: Row) -> dict[str, Values]:
    """List the places of a pair of items, or of an item without a partner.

    Parameters
    ----------
    row : Row
        The pair.

    Returns
    -------
    dict of str to tuple
        What gold and the prediction have there; `MISSING` where a side lacks it. Where only one
        side is an object, the first place is the whole item: `Kind` says what was found and
        expected, and the side that is no object has `NO_PLACE` at the fields of the other.
    """
    gold, predicted = _item(row.gold), _item(row.predicted)
    if row.is_pair and isinstance(gold, dict) != isinstance(predicted, dict):
        return _unlike(gold, predicted)
    ours = dict(entries(gold)) if row.gold_index is not None else {}
    theirs = dict(entries(predicted)) if row.predicted_index is not None else {}
    places = dict.fromkeys((*ours, *theirs))
    if ("" in ours) != ("" in theirs) and row.is_pair:
        del places[""]  # an object without fields
    return {place: (ours.get(place, MISSING), theirs.get(place, MISSING)) for place in places}


def _item(item: Any) -> Any:
    return item.item if isinstance(item, MapItem) else item


def _unlike(gold: Any, predicted: Any) -> dict[str, Values]:
    expected = f"{_word(predicted)} (expected as in gold: {_word(gold)})"
    if isinstance(predicted, dict):
        fields = {p: (NO_PLACE, value) for p, value in entries(predicted) if p}
        return {"": (gold, Kind(expected)), **fields}
    fields = {p: (value, NO_PLACE) for p, value in entries(gold) if p}
    return {"": (Kind(_word(gold)), Kind(expected + ": ", predicted)), **fields}


def _word(value: Any) -> str:
    kind = json_type(value)
    return "text" if kind == "string" else kind
