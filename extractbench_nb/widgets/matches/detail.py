"""The chosen pair in full: both items key by key, with what each field's metric said."""

from __future__ import annotations

from collections.abc import Container, Iterator
from typing import Any, NamedTuple

import pandas as pd

from extractbench_nb.alignment.similarity import MapItem
from extractbench_nb.report.sides import Segment
from extractbench_nb.report.texts import clean, cut, fitted, value_text
from extractbench_nb.values import MISSING
from extractbench_nb.widgets.matches.cards import label, segments, sides
from extractbench_nb.widgets.matches.model import Row, plain
from extractbench_nb.widgets.matches.places import NO_PLACE, Kind, Values, values_by_place

__all__ = ["LIMIT", "WHOLE", "detail", "rows_of_pair"]

#: Characters of a value that are shown at once, and that are shown on request.
LIMIT, WHOLE = 1_000, 100_000
#: Characters of the longer side up to which differences are marked.
_MARKED = 6_000
_MOST_ROWS = 200
_LONGEST_REASON = 600
_WIDEST = 120


def rows_of_pair(fields: pd.DataFrame, start: str) -> pd.DataFrame:
    """Return the rows of ``fields`` of one item.

    Parameters
    ----------
    fields : pandas.DataFrame
        Rows of ``fields`` of the array.
    start : str
        Instance path of the item.

    Returns
    -------
    pandas.DataFrame
        In document order.
    """
    paths = fields["path"]
    inside = (paths == start) | paths.str.startswith((start + ".", start + "["))
    return fields[inside.astype(bool)]


def detail(
    row: Row,
    fields: pd.DataFrame,
    start: str,
    note: str = "",
    whole: Container[int] = (),
) -> dict[str, Any]:
    """Write one pair, or one item without a partner, key by key.

    Parameters
    ----------
    row : Row
        The pair.
    fields : pandas.DataFrame
        The rows of ``fields`` of the item.
    start : str
        Instance path of the item.
    note : str, optional
        What else is to be said.
    whole : container of int, optional
        Rows, counted from 0, whose values are shown in full, up to 100,000 characters.

    Returns
    -------
    dict
        Title, status, similarity, failed fields, note, which sides there are, and rows: place, both
        sides, how long they are where not all is shown, and the verdict: metric, score, outcome,
        reason and reasoning. Fields that are absent on both sides are only counted.
    """
    absent = fields["outcome"] == "both_absent"
    places = list(_places(row, fields[~absent], start))
    kept = places[:_MOST_ROWS]
    return {
        "title": _title(row),
        "status": row.status,
        "similarity": row.similarity,
        "failed": [fitted(f, _WIDEST) for f in row.failed_fields[:20]],
        "note": note,
        "sides": [
            side for side, at in zip(("gold", "predicted"), row.pair, strict=True) if at is not None
        ],
        "scored": row.is_pair or any(place.verdict is not None for place in kept),
        "rows": [_detail_row(at, place, at in whole) for at, place in enumerate(kept)],
        "more": len(places) - len(kept),
        "absent": int(absent.sum()),
    }


class _Place(NamedTuple):
    """A place within the items; ``verdict`` is a row of ``fields``, None where none is scored.

    ``values`` are missing at the second metric of a place.
    """

    place: str
    values: Values | None
    verdict: Any


def _places(row: Row, fields: pd.DataFrame, start: str) -> Iterator[_Place]:
    """List the places that were scored, in their order, then what else the items hold."""
    known: set[str] = set()
    both = values_by_place(row)
    for found in fields.itertuples():
        place = plain(str(found.path)[len(start) :])
        values = both.get(place) or (
            _value(found.gold, str(found.gold_state)),
            _value(found.predicted, str(found.predicted_state)),
        )
        yield _Place(place, None if place in known else values, found)
        known.add(place)
    for place, values in both.items():
        if place not in known:
            yield _Place(place, values, None)


def _value(value: Any, state: str) -> Any:
    return MISSING if state == "missing" else value


def _title(row: Row) -> str:
    names = ("Gold item", "predicted item" if row.is_pair else "Predicted item")
    items = zip(names, row.pair, (row.gold, row.predicted), strict=True)
    return " and ".join(
        f"{name} {index}" + (f" ({fitted(item.key, 60)})" if isinstance(item, MapItem) else "")
        for name, index, item in items
        if index is not None
    )


def _detail_row(at: int, place: _Place, in_full: bool) -> dict[str, Any]:
    shown: dict[str, Any] = {"place": "", "gold": [], "predicted": [], "more": {}}
    if place.values is not None:
        shown = {"place": label(place.place, _WIDEST), **_both(*place.values, in_full)}
    return {"at": at, **shown, "verdict": _verdict(place.verdict)}


def _verdict(found: Any) -> dict[str, Any] | None:
    if found is None:
        return None
    reasoning = "" if found.reasoning is pd.NA else str(found.reasoning)[:_LONGEST_REASON]
    return {
        "metric": fitted(str(found.metric), _WIDEST),
        "score": None if found.score is pd.NA else round(float(found.score), 4),
        "outcome": str(found.outcome),
        "reason": fitted(str(found.reason), _WIDEST),
        "reasoning": clean(reasoning),
    }


def _both(one: Any, two: Any, in_full: bool) -> dict[str, Any]:
    limit = WHOLE if in_full else LIMIT
    ours, theirs = (_cut(side, limit) for side in sides(one, two, limit, _MARKED))
    lengths = {"gold": len(_text(one)), "predicted": len(_text(two))}
    more = {side: n for side, n in lengths.items() if n > LIMIT and not in_full}
    return {"gold": segments(ours), "predicted": segments(theirs), "more": more}


def _cut(side: list[Segment], limit: int) -> list[Segment]:
    """Keep the first stretches of a value, up to `limit` characters."""
    kept = []
    for piece in side:
        if limit <= 0:
            break
        kept.append(piece._replace(text=cut(piece.text, limit)))
        limit -= len(piece.text)
    return kept


def _text(value: Any) -> str:
    if isinstance(value, Kind):
        return value.told + _text(value.value)
    return "" if value is MISSING or value is NO_PLACE else value_text(value)
