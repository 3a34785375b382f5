"""The list of matches: rows in order, filtered and paged, as cards with lines between."""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import pandas as pd

from extractbench_nb._json import bracketed, json_type, leaf_texts, member
from extractbench_nb.display.sides import Segment, alone, compared
from extractbench_nb.display.text import fitted, value_text
from extractbench_nb.engine.similarity import MapItem
from extractbench_nb.schema.states import MISSING

__all__ = [
    "NO_PLACE",
    "SORTS",
    "STATUSES",
    "Kind",
    "Row",
    "Values",
    "cards",
    "counted",
    "entries",
    "failed_places",
    "filtered",
    "item_steps",
    "label",
    "ordered",
    "plain",
    "read_rows",
    "segments",
    "sides",
    "values_by_place",
]


STATUSES = ("matched", "partial", "missed", "spurious")
#: In which order rows can stand, by what people call it.
SORTS = (
    *("gold order", "gold order, partners beside"),
    *("least alike first", "most alike first", "status"),
)
_COLUMNS = [
    *("gold_index", "predicted_index", "status", "similarity", "failed_fields"),
    *("gold", "predicted"),
]
_WORST_FIRST = ("partial", "missed", "spurious", "matched")
_QUOTED = re.compile(r"\['([A-Za-z_$][\w$-]*)'\]")
#: The step of an item: ``[3]``, ``[+3]``, or ``['key'][3]``.
_STEP = re.compile(r"(?:\['(?:[^'\\]|\\.)*'\])?\[\+?\d+\]", re.DOTALL)
_DEEPEST = 200


class Row(NamedTuple):
    """What became of one item, or of a pair of items."""

    gold_index: int | None
    predicted_index: int | None
    status: str
    similarity: float | None
    failed_fields: tuple[str, ...]
    gold: Any
    predicted: Any

    @property
    def pair(self) -> tuple[int | None, int | None]:
        """The two indices."""
        return self.gold_index, self.predicted_index

    @property
    def is_pair(self) -> bool:
        """Whether there is an item on either side."""
        return None not in self.pair


def read_rows(matches: pd.DataFrame) -> list[Row]:
    """Read the rows of ``matches`` of one array."""
    columns = [matches[name].tolist() for name in _COLUMNS]
    return [Row._make(map(_known, cells)) for cells in zip(*columns, strict=True)]


def _known(value: Any) -> Any:
    return None if value is pd.NA else value


def counted(rows: Iterable[Row]) -> dict[str, int]:
    """Count rows by status, each status once, also where there is none."""
    found = Counter(row.status for row in rows)
    return {status: found[status] for status in STATUSES}


def ordered(rows: Sequence[Row], sort: str) -> list[Row]:
    """Put rows in order."""
    rows = sorted(rows, key=_gold_order(rows))
    if sort in ("least alike first", "most alike first"):
        sign = 1.0 if sort == "least alike first" else -1.0
        return sorted(rows, key=lambda r: (r.similarity is None, sign * (r.similarity or 0.0)))
    if sort == "status":
        return sorted(rows, key=lambda r: _WORST_FIRST.index(r.status))
    return rows


def _gold_order(rows: Sequence[Row]) -> Callable[[Row], tuple[int, int]]:
    partners = {r.predicted_index: r.gold_index for r in rows if r.is_pair}
    last = -1
    after: dict[int | None, int] = {}
    for at in sorted(r.predicted_index for r in rows if r.predicted_index is not None):
        partner = partners.get(at)
        last = last if partner is None else partner
        after[at] = last

    def key(row: Row) -> tuple[int, int]:
        if row.gold_index is not None:
            return row.gold_index, -1
        return after[row.predicted_index], row.predicted_index or 0

    return key


def filtered(rows: Iterable[Row], status: str = "", text: str = "") -> list[Row]:
    """Keep the rows of a status whose items hold a text."""
    wanted = text.strip().casefold()
    return [
        row
        for row in rows
        if (not status or row.status == status) and (not wanted or wanted in _search_text(row))
    ]


def _search_text(row: Row) -> str:
    sides = (value_text(item) for item in (row.gold, row.predicted) if item is not None)
    return "\n".join(sides).casefold()


def item_steps(items: Sequence[Any]) -> list[str]:
    """Return the path step of each item of one side: ``[3]``, or ``['key'][0]`` in a map."""
    seen: Counter[str] = Counter()
    steps = []
    for at, item in enumerate(items):
        if isinstance(item, MapItem):
            steps.append(f"{bracketed(item.key)}[{seen[item.key]}]")
            seen[item.key] += 1
        else:
            steps.append(f"[{at}]")
    return steps


def plain(place: str) -> str:
    """Write the steps of a place within an item in one way: ``['a'].b`` as ``.a.b``."""
    return _QUOTED.sub(r".\1", place)


def entries(item: Any) -> list[tuple[str, Any]]:
    """List what an item holds: its scalars and arrays, each with its place within the item."""
    value = item.item if isinstance(item, MapItem) else item
    return list(_entries(value))


def _entries(value: Any) -> Iterator[tuple[str, Any]]:
    stack: list[tuple[str, Any, int]] = [("", value, 0)]
    while stack:
        place, top, depth = stack.pop()
        if isinstance(top, dict) and top and depth < _DEEPEST:
            below = [(place + member(str(k)), v, depth + 1) for k, v in top.items()]
            stack.extend(reversed(below))
        else:
            yield plain(place), top


def failed_places(fields: pd.DataFrame, path: str, steps: Sequence[str]) -> list[set[str]]:
    """Find the places within each gold item that did not pass."""
    failed = fields[~fields["passed"].fillna(False).astype(bool)]
    found: defaultdict[str, set[str]] = defaultdict(set)
    for place in failed["path"]:
        within = str(place)[len(path) :]
        step = _STEP.match(within)
        if step is not None:
            found[step[0]].add(plain(within[step.end() :]))
    return [found[step] for step in steps]


Values = tuple[Any, Any]

#: Stands for a field of an item that is no object, and so has no such place.
NO_PLACE = object()


class Kind(NamedTuple):
    """What a whole item is, in words, before its value or in place of it."""

    told: str
    value: Any = MISSING


def values_by_place(row: Row) -> dict[str, Values]:
    """List the places of a pair of items, or of an item without a partner."""
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


_LINES = 5
_LONGEST_VALUE, _MARKED = 90, 160
_WIDEST_PLACE = 40
_WIDEST_KEY = 60

Sides = tuple[list[Segment], list[Segment]]


def sides(gold: Any, predicted: Any, limit: int, marked: int) -> Sides:
    """Lay two values side by side, with what differs marked; arrays as their JSON."""
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
    """Write a page of rows as the two columns that the page draws."""
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
