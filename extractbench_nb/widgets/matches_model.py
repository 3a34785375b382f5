"""State of the matches view: one array, its rows, item cards, and pairs in full."""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Callable, Container, Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import pandas as pd

from extractbench_nb._json import bracketed, json_type, leaf_texts, member
from extractbench_nb.display.sides import Segment, alone, compared
from extractbench_nb.display.text import clean, cut, fitted, value_text
from extractbench_nb.errors import nearest
from extractbench_nb.evaluation import MapItem
from extractbench_nb.evaluation.result import Evaluation
from extractbench_nb.evaluation.thresholds import ALIGN, ArrayMatches, Outcome
from extractbench_nb.schema.nodes import MISSING
from extractbench_nb.widgets.view import page_of

STATUSES = ("matched", "partial", "missed", "spurious")
#: In which order rows can stand, by what people call it.
SORTS = (
    *("gold order", "gold order, partners beside"),
    *("least alike first", "most alike first", "status"),
)
_WORST_FIRST = ("partial", "missed", "spurious", "matched")
_QUOTED = re.compile(r"\['([A-Za-z_$][\w$-]*)'\]")
#: The step of an item: ``[3]``, ``[+3]``, or ``['key'][3]``.
_STEP = re.compile(r"(?:\['(?:[^'\\]|\\.)*'\])?\[\+?\d+\]", re.DOTALL)
_DEEPEST = 200


class Row(NamedTuple):
    """What became of one item, or of a pair of items: a row of ``matches``."""

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


def counted(rows: Iterable[Row]) -> dict[str, int]:
    """Count rows by status, each status once, also if there is none."""
    found = Counter(row.status for row in rows)
    return {status: found[status] for status in STATUSES}


def ordered(rows: Sequence[Row], sort: str) -> list[Row]:
    """Put rows in order."""
    rows = sorted(rows, key=_gold_order(rows))
    sign = {"least alike first": 1.0, "most alike first": -1.0}.get(sort)
    if sign is not None:
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

    def holds(row: Row) -> bool:
        items = f"{value_text(row.gold)}\n{value_text(row.predicted)}"
        return not wanted or wanted in items.casefold()

    return [row for row in rows if status in ("", row.status) and holds(row)]


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
    found = []
    stack: list[tuple[str, Any, int]] = [("", _item(item), 0)]
    while stack:
        place, top, depth = stack.pop()
        if isinstance(top, dict) and top and depth < _DEEPEST:
            below = [(place + member(str(k)), v, depth + 1) for k, v in top.items()]
            stack.extend(reversed(below))
        else:
            found.append((plain(place), top))
    return found


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

#: Stands for a field of an item that is not an object, and so has no such place.
NO_PLACE = object()


class Kind(NamedTuple):
    """What a whole item is, in words, before its value or in place of it."""

    told: str
    value: Any = MISSING


def values_by_place(row: Row) -> dict[str, Values]:
    """List the places of a pair of items, or of an item without a partner."""
    gold, predicted = _item(row.gold), _item(row.predicted)
    if row.is_pair and isinstance(gold, dict) != isinstance(predicted, dict):
        words = [
            "text" if kind == "string" else kind for kind in (json_type(gold), json_type(predicted))
        ]
        told = f"{words[1]} (expected as in gold: {words[0]})"
        if isinstance(predicted, dict):
            fields = {p: (NO_PLACE, value) for p, value in entries(predicted) if p}
            return {"": (gold, Kind(told)), **fields}
        fields = {p: (value, NO_PLACE) for p, value in entries(gold) if p}
        return {"": (Kind(words[0]), Kind(told + ": ", predicted)), **fields}
    ours = dict(entries(gold)) if row.gold_index is not None else {}
    theirs = dict(entries(predicted)) if row.predicted_index is not None else {}
    places = dict.fromkeys((*ours, *theirs))
    if ("" in ours) != ("" in theirs) and row.is_pair:
        del places[""]  # an object without fields
    return {place: (ours.get(place, MISSING), theirs.get(place, MISSING)) for place in places}


def _item(item: Any) -> Any:
    return item.item if isinstance(item, MapItem) else item


_LINES = 5
_LONGEST_VALUE, _MARKED = 90, 160
_WIDEST_PLACE = 40
_WIDEST_KEY = 60

Sides = tuple[list[Segment], list[Segment]]


def sides(gold: Any, predicted: Any, limit: int, marked: int) -> Sides:
    """Lay two values side by side, with what differs marked; arrays as their JSON."""
    one, two = _written(gold), _written(predicted)
    told = any(v is MISSING or v is NO_PLACE or isinstance(v, Kind) for v in (gold, predicted))
    same = type(gold) is type(predicted) and bool(gold == predicted)
    if not told and not same and max(len(value_text(one)), len(value_text(two))) <= marked:
        return compared(one, two, limit=marked)
    return _alone(gold, limit), _alone(predicted, limit)


def _written(value: Any) -> Any:
    listed = isinstance(value, dict | list | tuple) and not isinstance(value, Kind)
    return value_text(value) if listed else value


def _alone(value: Any, limit: int) -> list[Segment]:
    if value is NO_PLACE:
        return []
    if isinstance(value, Kind):
        told = [Segment("note", value.told)]
        return told if value.value is MISSING else told + _alone(value.value, limit)
    return alone(_written(value), "missing" if value is MISSING else "present", limit=limit)


def label(place: str, width: int = _WIDEST_PLACE) -> str:
    """Write a place within an item for a reader; empty for a scalar item."""
    return fitted(place.removeprefix("."), width)


def cards(
    rows: Sequence[Row], failed: Mapping[int, set[str]], field: str, beside: bool
) -> dict[str, Any]:
    """Write a page of rows as the two columns that the page draws."""
    columns: tuple[list[dict[str, Any]], list[dict[str, Any]]] = [], []
    for row in rows:
        places: set[str] = set()
        if row.is_pair and row.gold_index is not None:
            places = {f.removeprefix(field) for f in row.failed_fields}
            places |= failed.get(row.gold_index, set())
        for side, item in enumerate((row.gold, row.predicted)):
            if row.pair[side] is None:
                continue
            lines, more = _lines(row, side, places)
            columns[side].append(
                {
                    "at": row.pair[side],
                    "partner": row.pair[1 - side],
                    "status": row.status,
                    "similarity": row.similarity,
                    "key": fitted(item.key, _WIDEST_KEY) if isinstance(item, MapItem) else "",
                    "lines": lines,
                    "more": more,
                    "failed": [
                        label(f.removeprefix(".") or "value") for f in sorted(places)[:_LINES]
                    ],
                }
            )
    left, right = columns
    if not beside:
        right.sort(key=lambda card: card["at"])
    return {"left": left, "right": right}


def _lines(row: Row, side: int, failed: set[str]) -> tuple[list[list[Any]], int]:
    values = values_by_place(row)
    places = [place for place, both in values.items() if both[side] is not NO_PLACE]
    bad = [place for place in places if place in failed]
    first = {*bad[:_LINES], *[p for p in places if p not in failed][: max(0, _LINES - len(bad))]}
    lines = []
    for place in places:
        if place in first:
            gold, predicted = map(_in_words, values[place])
            pieces = sides(gold, predicted, _LONGEST_VALUE, _MARKED if row.is_pair else 0)[side]
            lines.append([label(place), pieces, place in failed])
    return lines, len(places) - len(lines)


def _in_words(value: Any) -> Any:
    """Write an array by what it holds: a card has no room for its brackets."""
    if isinstance(value, Kind):
        return value._replace(value=_in_words(value.value))
    return " · ".join(leaf_texts(value)) or value if isinstance(value, list | tuple) else value


_MOST_OFFERED = 200
_WIDEST_TITLE = 90


def offered_arrays(arrays: pd.DataFrame, path: str) -> list[tuple[str, str]]:
    """List the arrays to choose from."""
    outer = sorted(range(len(arrays)), key=lambda at: str(arrays["path"].iloc[at]).count("["))
    kept = set(outer[:_MOST_OFFERED])
    rows = [
        row
        for at, row in enumerate(arrays.itertuples(index=False))
        if at in kept or row.path == path
    ]
    counts = "({0.gold_items:,} gold, {0.predicted_items:,} predicted, {0.matched:,} matched)"
    return [
        (f"{fitted(str(row.path), _WIDEST_TITLE)}  {counts.format(row)}", str(row.path))
        for row in rows
    ]


#: Characters of a value that are shown at once, and that are shown on request.
LIMIT, WHOLE = 1_000, 100_000
#: Characters of the longer side up to which differences are marked.
_MARKED_IN_FULL = 6_000
_MOST_ROWS = 200
_LONGEST_REASON = 600
_WIDEST = 120


def detail(
    row: Row,
    fields: pd.DataFrame,
    start: str,
    note: str = "",
    whole: Container[int] = (),
) -> dict[str, Any]:
    """Write one pair, or one item without a partner, key by key."""
    absent = fields["outcome"] == "both_absent"
    places = list(_places(row, fields[~absent], start))
    kept = places[:_MOST_ROWS]
    names = ("Gold item", "predicted item" if row.is_pair else "Predicted item")
    items = zip(names, row.pair, (row.gold, row.predicted), strict=True)
    title = " and ".join(
        f"{name} {index}" + (f" ({fitted(item.key, 60)})" if isinstance(item, MapItem) else "")
        for name, index, item in items
        if index is not None
    )
    shown = []
    for at, (place, values, verdict) in enumerate(kept):
        known: dict[str, Any] = {"place": "", "gold": [], "predicted": [], "more": {}}
        if values is not None:
            known = {"place": label(place, _WIDEST), **_both(*values, at in whole)}
        shown.append({"at": at, **known, "verdict": _verdict(verdict)})
    sides = zip(("gold", "predicted"), row.pair, strict=True)
    return {
        "title": title,
        "status": row.status,
        "similarity": row.similarity,
        "failed": [fitted(f, _WIDEST) for f in row.failed_fields[:20]],
        "note": note,
        "sides": [side for side, at in sides if at is not None],
        "scored": row.is_pair or any(verdict is not None for *_, verdict in kept),
        "rows": shown,
        "more": len(places) - len(kept),
        "absent": int(absent.sum()),
    }


def _places(row: Row, fields: pd.DataFrame, start: str) -> Iterator[tuple[str, Values | None, Any]]:
    """List the places that were scored, in their order, then what else the items hold.

    Each with its values, which are missing at the second metric of a place, and with its row of
    ``fields``, None if it was not scored.
    """
    known: set[str] = set()
    both = values_by_place(row)
    for found in fields.itertuples():
        place = plain(str(found.path)[len(start) :])
        values = both.get(place) or (
            MISSING if found.gold_state == "missing" else found.gold,
            MISSING if found.predicted_state == "missing" else found.predicted,
        )
        yield place, None if place in known else values, found
        known.add(place)
    for place, values in both.items():
        if place not in known:
            yield place, values, None


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


def _both(gold: Any, predicted: Any, in_full: bool) -> dict[str, Any]:
    limit = WHOLE if in_full else LIMIT
    written = sides(gold, predicted, limit, _MARKED_IN_FULL)
    lengths = {"gold": len(_text(gold)), "predicted": len(_text(predicted))}
    return {
        **dict(zip(lengths, (_cut(side, limit) for side in written), strict=True)),
        "more": {side: n for side, n in lengths.items() if n > LIMIT and not in_full},
    }


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


#: Rows on a page.
PAGE = 25

Pair = tuple[int | None, int | None]

_COUNTS = ("gold_items", "predicted_items", "matched", "partial", "missed", "spurious")
_RATIOS = ("precision", "recall", "f1", "score")
_HEADS = ("gold", "predicted", *STATUSES, "precision", "recall", "F1", "score", "passes")


class Board:
    """One array of an evaluation at the present thresholds."""

    def __init__(self, ev: Evaluation, path: str) -> None:
        self.path = path
        self.array = ArrayMatches(ev, path)
        self.knobs = {knob.key: knob for knob in self.array.knobs}
        self.values: dict[str, float] = {}
        self._use(self.array.evaluated)

    def try_thresholds(self, values: Mapping[str, float]) -> None:
        """Decide what becomes of the items at other thresholds; see `ArrayMatches.at`."""
        self.values = dict(values)
        self._use(self.array.at(values))

    def _use(self, outcome: Outcome) -> None:
        self.outcome = outcome
        columns = [outcome.matches[name].tolist() for name in Row._fields]
        self.rows = [
            Row._make(None if cell is pd.NA else cell for cell in cells)
            for cells in zip(*columns, strict=True)
        ]
        self._theirs = {r.predicted_index: r for r in self.rows if r.predicted_index is not None}
        self._ours = {r.gold_index: r for r in self.rows if r.gold_index is not None}
        self._steps = item_steps([self._ours[at].gold for at in sorted(self._ours)])
        places = failed_places(outcome.fields, self.path, self._steps)
        self._failed = dict(enumerate(places))

    @property
    def field(self) -> str:
        """The field of the array's items, ``authors[]``."""
        field = str(self.outcome.summary["field"])
        return ("" if field == "$" else field) + "[]"

    def threshold(self, key: str) -> float:
        """Return the present value of a threshold."""
        return self.values.get(key, self.knobs[key].declared)

    def problem_with(self, values: Mapping[Any, Any]) -> str | None:
        """Say what is wrong with values of thresholds, or return None."""
        for key, value in values.items():
            if key not in self.knobs:
                return f"there is no threshold {key!r}; {nearest(key, self.knobs)}"
            number = isinstance(value, int | float) and not isinstance(value, bool)
            if not number or not 0.0 <= value <= 1.0:
                return f"{key} is {value!r}; expected a number from 0 to 1"
        return None

    def row_of(self, pair: Pair) -> Row | None:
        """Return the row of a pair; one index is enough where the other is None."""
        gold_index, predicted_index = pair
        if gold_index is not None:
            row = self._ours.get(gold_index)
            return row if row and predicted_index in (None, row.predicted_index) else None
        return self._theirs.get(predicted_index) if predicted_index is not None else None

    def page(self, rows: list[Row], number: int, sort: str) -> dict[str, Any]:
        """Write one page of rows as the front end draws it."""
        page, array = page_of(len(rows), number, PAGE), self.outcome.summary
        shown = rows[page.first : page.last]
        return {
            **cards(shown, self._failed, self.field, sort != "gold order"),
            "page": page.number,
            "pages": page.pages,
            "first": page.first + 1 if shown else 0,
            "last": page.last,
            "rows": len(rows),
            "all": len(self.rows),
            "items": int(array["gold_items"] + array["predicted_items"]),
        }

    def detail(self, row: Row, whole: set[int]) -> dict[str, Any]:
        """Write one row in full; see `detail`."""
        at = row.gold_index
        start = self.path + (f"[+{row.predicted_index}]" if at is None else self._steps[at])
        fields = self.outcome.fields
        paths = fields["path"]
        inside = (paths == start) | paths.str.startswith((start + ".", start + "["))
        return detail(row, fields[inside.astype(bool)], start, self._note(row), whole)

    def _note(self, row: Row) -> str:
        """Say which item the alignment would have paired it with."""
        if row.is_pair:
            return ""
        for gold_index, (predicted_index, similarity) in self.outcome.apart.items():
            if row.pair in ((gold_index, None), (None, predicted_index)):
                ours = row.gold_index is not None
                other = f"predicted item {predicted_index}" if ours else f"gold item {gold_index}"
                mark = f" {self.threshold(ALIGN):.2f}" if ALIGN in self.knobs else ""
                return (
                    f"The alignment set it beside {other}: similarity {similarity:.2f} is below "
                    f"align_threshold{mark}."
                )
        return ""

    def counts(self) -> dict[str, Any]:
        """Write the counts as evaluated and at the present thresholds."""
        first = _texts(self.array.evaluated.summary)
        now = _texts(self.outcome.summary)
        changed = [one != two for one, two in zip(first, now, strict=True)]
        rows = [["as evaluated", first, [False] * len(first)]]
        if self.knobs:
            rows.append(["now", now, changed])
        values = "; ".join(
            f"{fitted(key, 60)} {self.knobs[key].declared:.2f} → {value:.2f}"
            for key, value in self.values.items()
            if value != self.knobs[key].declared
        )
        return {"heads": list(_HEADS), "rows": rows, "values": values}

    def __str__(self) -> str:
        """Say what is shown, in one line."""
        ours, theirs = (int(self.outcome.summary[name]) for name in _COUNTS[:2])
        head = f"{fitted(self.path, 90)} · {ours:,} gold, {theirs:,} predicted items · "
        if self.outcome.summary["matched"] is pd.NA:
            return head + "not aligned"
        matched, partial, missed, spurious = (
            f"{int(self.outcome.summary[status]):,} {status}" for status in STATUSES
        )
        return f"{head}{matched}, {partial}; {missed}, {spurious}"


def _texts(summary: pd.Series) -> list[str]:
    counts = ["n/a" if summary[n] is pd.NA else f"{int(summary[n]):,}" for n in _COUNTS]
    ratios = ["n/a" if summary[name] is pd.NA else f"{summary[name]:.3f}" for name in _RATIOS]
    passed = summary["passed"]
    return [*counts, *ratios, "n/a" if passed is pd.NA else "yes" if passed else "no"]
