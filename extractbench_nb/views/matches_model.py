"""State of the matches view: one array, its rows in order, and pairs in short and in full."""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Container, Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from typing import Any, NamedTuple

import pandas as pd

from extractbench_nb.core import Evaluation, MapItem, find_causes
from extractbench_nb.core.schema import MISSING
from extractbench_nb.core.values import bracketed, json_text, member, scalars
from extractbench_nb.stats import mismatch_kinds
from extractbench_nb.support.wording import (
    accepted_text,
    clean,
    cut,
    fitted,
    ratio_text,
    value_text,
)
from extractbench_nb.views.controls import shortened
from extractbench_nb.views.matches_thresholds import ALIGN, ArrayMatches, Outcome
from extractbench_nb.views.sides import Segment, Sides, beside

STATUSES = ("matched", "differing", "missed", "spurious")
#: Orders of rows that a user can choose.
ORDERS = {
    "failing": "differing first",
    "pairs": "pairs in gold's order, spurious last",
    "predicted": "predicted order, missed last",
    "similarity": "least alike first",
}
_QUOTED = re.compile(r"\['([A-Za-z_$][\w$-]*)'\]")
#: The step of an item: ``[3]``, ``[+3]``, or ``['key'][3]``.
_STEP = re.compile(r"(?:\['(?:[^'\\]|\\.)*'\])?\[\+?\d+\]", re.DOTALL)
_DEEPEST = 200
_NUMBER = re.compile(r"\[\+?\d+\]")


class Row(NamedTuple):
    """The result for one item or a pair of items: a row of ``matches``."""

    gold_index: int | None
    predicted_index: int | None
    status: str
    similarity: float | None
    failed_fields: tuple[str, ...]
    gold: Any
    predicted: Any

    @property
    def pair(self) -> tuple[int | None, int | None]:
        """The indices of the gold and the predicted item."""
        return self.gold_index, self.predicted_index

    @property
    def is_pair(self) -> bool:
        """Whether the row has both a gold and a predicted item."""
        return None not in self.pair


def counted(rows: Iterable[Row]) -> dict[str, int]:
    """Count rows by status, with 0 for a status without rows."""
    counts = Counter(row.status for row in rows)
    return {status: counts[status] for status in STATUSES}


def ordered(rows: Sequence[Row], sort: str) -> list[Row]:
    """Sort rows by one of `ORDERS`."""
    sides = (1, 0) if sort == "predicted" else (0, 1)
    rows = sorted(rows, key=lambda row: [_last(row.pair[side]) for side in sides])
    if sort == "similarity":
        return sorted(rows, key=lambda row: _last(row.similarity))
    return sorted(rows, key=lambda row: row.status == "matched") if sort == "failing" else rows


def _last(number: float | None) -> tuple[bool, float]:
    return number is None, number or 0


def filtered(rows: Iterable[Row], status: str = "", text: str = "") -> list[Row]:
    """Keep the rows with a status and a text in their items; an empty filter keeps all."""
    sought = text.strip().casefold()

    def contains(row: Row) -> bool:
        items = f"{value_text(row.gold)}\n{value_text(row.predicted)}"
        return not sought or sought in items.casefold()

    return [row for row in rows if status in ("", row.status) and contains(row)]


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
    """Normalise the path of a place within an item: ``['a'].b`` becomes ``.a.b``."""
    return _QUOTED.sub(r".\1", place)


def entries(item: Any) -> list[tuple[str, Any]]:
    """List the scalars and arrays of an item, each with its place within the item."""
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


def places_in(fields: pd.DataFrame, path: str, steps: Sequence[str]) -> list[set[str]]:
    """Return the places within each gold item of which `fields` has a row."""
    places: defaultdict[str, set[str]] = defaultdict(set)
    for field_path in fields["path"]:
        within = str(field_path)[len(path) :]
        step = _STEP.match(within)
        if step is not None:
            places[step[0]].add(plain(within[step.end() :]))
    return [places[step] for step in steps]


Values = tuple[Any, Any]


def values_by_place(row: Row) -> dict[str, Values]:
    """List the places of a pair of items, or of an item without a partner.

    Items of two types, of which one is an object, are compared as a whole.
    """
    gold, predicted = _item(row.gold), _item(row.predicted)
    if row.is_pair and isinstance(gold, dict) != isinstance(predicted, dict):
        return {"": (gold, predicted)}
    in_gold = dict(entries(gold)) if row.gold_index is not None else {}
    in_predicted = dict(entries(predicted)) if row.predicted_index is not None else {}
    places = dict.fromkeys((*in_gold, *in_predicted))
    if ("" in in_gold) != ("" in in_predicted) and row.is_pair:
        del places[""]  # an object without fields
    return {p: (in_gold.get(p, MISSING), in_predicted.get(p, MISSING)) for p in places}


def _item(item: Any) -> Any:
    return item.item if isinstance(item, MapItem) else item


_LINES = 5


def _is_in(place: str, fields: set[str]) -> bool:
    """Say whether a place is of one of the fields, as they are shown."""
    return place in fields or label(_NUMBER.sub("[]", place), _WIDEST) in fields


_LONGEST_VALUE, _MARKED = 90, 160
_WIDEST_PLACE = 40


def sides(gold: Any, predicted: Any, limit: int, marked: int) -> Sides:
    """Write two values side by side; short ones, up to `marked` characters, in full."""
    values = (gold, predicted)
    states = ["missing" if value is MISSING else "present" for value in values]
    texts = [value_text(value) for value in values if value is not MISSING]
    is_short = max(map(len, texts)) <= marked
    return beside(*values, states, limit=marked if is_short else limit)


def label(place: str, width: int = _WIDEST_PLACE) -> str:
    """Write the path of a place within an item; empty for a scalar item."""
    return fitted(place.removeprefix("."), width)


def lines(
    row: Row, failed: set[str], text: str = ""
) -> tuple[list[tuple[str, list[Segment], list[Segment], bool]], int]:
    """Write some places of a row, and count the others.

    A place has both values and whether it failed. Failed places come before those with a text, and
    these before others, where not all fit.
    """
    values = values_by_place(row)
    sought = text.strip().casefold()

    if failed and not sought:  # of a pair that differs, what differs
        values = {place: both for place, both in values.items() if _is_in(place, failed)} or values

    def rank(place: str) -> int:
        texts = (value_text(value).casefold() for value in values[place] if value is not MISSING)
        is_hit = sought and any(sought in text for text in texts)
        return 0 if _is_in(place, failed) else 1 if is_hit else 2

    first = set(sorted(values, key=rank)[:_LINES])
    marked = _MARKED if row.is_pair else 0
    written = []
    for place, both in values.items():
        if place in first:
            gold, predicted = map(_in_words, both)
            shown = sides(gold, predicted, _LONGEST_VALUE, marked)
            written.append((label(place), *shown, _is_in(place, failed)))
    return written, len(values) - len(written)


def _written(value: Any) -> str:
    return "missing" if value is MISSING else value_text(value)


def _in_words(value: Any) -> Any:
    """Write an array as a list of its leaves: a card has no room for brackets."""
    return (
        " · ".join(map(json_text, scalars(value))) or value
        if isinstance(value, list | tuple)
        else value
    )


_MOST_OFFERED = 200
_WIDEST_PATH = 30


def offered_arrays(arrays: pd.DataFrame, path: str) -> dict[int, str]:
    """Name the arrays of the menu by row: of too many the outermost, and the chosen one."""
    by_depth = sorted(range(len(arrays)), key=lambda i: str(arrays["path"].iloc[i]).count("["))
    outermost = set(by_depth[:_MOST_OFFERED])
    return {
        i: (
            f"{shortened(str(row.path), _WIDEST_PATH)}: "
            f"{row.gold_items:,} gold, {row.predicted_items:,} predicted"
        )
        for i, row in enumerate(arrays.itertuples(index=False))
        if i in outermost or row.path == path
    }


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
    predicted_start: str = "",
) -> dict[str, Any]:
    """Describe one pair, or one item without a partner, with a row per place and metric.

    `whole` has the numbers of the rows whose values are shown in full; `start` and
    `predicted_start` are the paths of the two items.
    """
    absent = fields["outcome"] == "both_absent"
    places = list(_places(row, fields[~absent], start))
    shown = places[:_MOST_ROWS]
    rows = []
    for n, (place, values, verdict) in enumerate(shown):
        texts: dict[str, Any] = {"place": "", "gold": [], "predicted": [], "more": {}, "paths": {}}
        if values is not None:
            limit = WHOLE if n in whole else LIMIT
            gold, predicted = sides(*values, limit, _MARKED_IN_FULL)
            lengths = {
                side: 0 if value is MISSING else len(value_text(value))
                for side, value in zip(("gold", "predicted"), values, strict=True)
            }
            texts = {
                "place": label(place, _WIDEST),
                "gold": _cut(gold, limit),
                "predicted": _cut(predicted, limit),
                "more": {s: size for s, size in lengths.items() if size > LIMIT and n not in whole},
                "paths": _paths(place, values, verdict, start, predicted_start),
            }
        rows.append({"at": n, **texts, "verdict": _verdict(verdict)})
    return {
        "note": note,
        "sides": [
            side
            for side, index in zip(("gold", "predicted"), row.pair, strict=True)
            if index is not None
        ],
        "scored": row.is_pair or any(verdict is not None for *_, verdict in shown),
        "rows": rows,
        "more": len(places) - len(shown),
        "absent": int(absent.sum()),
    }


def _paths(
    place: str, values: Values, field: Any, start: str, predicted_start: str
) -> dict[str, str]:
    """Return the path of a place in gold and in the prediction, on the sides that have it."""
    paths = {"gold": start + place, "predicted": predicted_start + place}
    if field is not None:
        other = field.predicted_path
        paths = {"gold": field.path, "predicted": other if isinstance(other, str) else field.path}
    return {
        side: path
        for (side, path), value in zip(paths.items(), values, strict=True)
        if value is not MISSING
    }


def title(row: Row) -> str:
    """Name the items of a row, with their keys in a map."""
    names = ("Gold item", "predicted item" if row.is_pair else "Predicted item")
    items = zip(names, row.pair, (row.gold, row.predicted), strict=True)
    return " and ".join(
        f"{name} {index}" + (f" ({fitted(item.key, 60)})" if isinstance(item, MapItem) else "")
        for name, index, item in items
        if index is not None
    )


def _places(row: Row, fields: pd.DataFrame, start: str) -> Iterator[tuple[str, Values | None, Any]]:
    """Yield places, scored ones first: values (once per place), row of `fields` or None."""
    seen: set[str] = set()
    values_at = values_by_place(row)
    for field in fields.itertuples():
        place = plain(str(field.path)[len(start) :])
        values = values_at.get(place) or (
            MISSING if field.gold_state == "missing" else field.gold,
            MISSING if field.predicted_state == "missing" else field.predicted,
        )
        yield place, None if place in seen else values, field
        seen.add(place)
    for place, values in values_at.items():
        # of an undeclared array only the leaves are scored
        if place not in seen and not any(leaf.startswith(place + "[") for leaf in seen):
            yield place, values, None


def _verdict(field: Any) -> dict[str, Any] | None:
    if field is None:
        return None
    reasoning = "" if field.reasoning is pd.NA else str(field.reasoning)[:_LONGEST_REASON]
    named = (field.reason, getattr(field, "mismatch", pd.NA))
    reasons = [text.replace("_", " ") for text in named if isinstance(text, str)]
    reasons.append(accepted_text(getattr(field, "accepted_as", pd.NA), _LONGEST_REASON))
    return {
        "metric": fitted(str(field.metric), _WIDEST),
        "score": None if field.score is pd.NA else round(float(field.score), 4),
        "outcome": str(field.outcome),
        "reason": fitted(" · ".join(filter(None, reasons)), _WIDEST),
        "reasoning": clean(reasoning),
    }


def _cut(side: list[Segment], limit: int) -> list[Segment]:
    """Keep the first segments of a value, up to `limit` characters."""
    kept = []
    for piece in side:
        if limit <= 0:
            break
        kept.append(piece._replace(text=cut(piece.text, limit)))
        limit -= len(piece.text)
    return kept


#: Rows on a page.
PAGE = 25

Pair = tuple[int | None, int | None]

_COUNTS = ("gold_items", "predicted_items", *STATUSES)
_RATIOS = ("precision", "recall", "f1", "score")
_HEADS = ("gold", "predicted", *STATUSES, "precision", "recall", "F1", "score", "passes")


#: Sorting a frame as `ordered` does.
SORTED = {
    "pairs": '.sort_values(["gold_index", "predicted_index"])',
    "predicted": '.sort_values(["predicted_index", "gold_index"])',
    "similarity": '.sort_values(["similarity", "gold_index", "predicted_index"])',
    "failing": '.sort_values(["gold_index", "predicted_index"])'
    '.sort_values("status", key=lambda status: status == "matched", kind="stable")',
}


class Board:
    """One array of an evaluation at the present thresholds."""

    def __init__(self, ev: Evaluation, path: str) -> None:
        self._ev, self.path = ev, path
        self.array = ArrayMatches(ev, path)
        self.knobs = {knob.key: knob for knob in self.array.knobs}
        self.values: dict[str, float] = {}
        self._use(self.array.evaluated)

    def try_thresholds(self, values: Mapping[str, float]) -> None:
        """Match the items at other thresholds; see `ArrayMatches.at`."""
        self.values = dict(values)
        self._use(self.array.at(values))

    def _use(self, outcome: Outcome) -> None:
        self.outcome = outcome
        for name in ("sums", "cause"):
            self.__dict__.pop(name, None)
        columns = [outcome.matches[name].tolist() for name in Row._fields]
        self.rows = [
            Row._make(None if cell is pd.NA else cell for cell in cells)
            for cells in zip(*columns, strict=True)
        ]
        self._theirs = {r.predicted_index: r for r in self.rows if r.predicted_index is not None}
        self._ours = {r.gold_index: r for r in self.rows if r.gold_index is not None}
        self._steps = item_steps([self._ours[at].gold for at in sorted(self._ours)])
        fields = outcome.fields
        failed = fields[~fields["passed"].fillna(False).astype(bool)]
        self._failed = places_in(failed, self.path, self._steps)
        accepted = fields[fields["accepted_as"].notna()]
        self._accepted = places_in(accepted, self.path, self._steps)
        self._kinds = pd.Series(mismatch_kinds(fields), index=fields.index, dtype=object)

    @property
    def field(self) -> str:
        """The field of the array's items, ``authors[]``."""
        field = str(self.outcome.summary["field"])
        return ("" if field == "$" else field) + "[]"

    def threshold(self, key: str) -> float:
        """Return the present value of a threshold."""
        return self.values.get(key, self.knobs[key].declared)

    def row_of(self, pair: Pair) -> Row | None:
        """Return the row of a pair; one index is enough where the other is None."""
        gold_index, predicted_index = pair
        if gold_index is not None:
            row = self._ours.get(gold_index)
            return row if row and predicted_index in (None, row.predicted_index) else None
        return self._theirs.get(predicted_index) if predicted_index is not None else None

    def failed(self, row: Row) -> set[str]:
        """Return the places of a pair that did not pass."""
        if row.gold_index is None or not row.is_pair:
            return set()
        own = {field.removeprefix(self.field) for field in row.failed_fields}
        return own | self._failed[row.gold_index]

    def failing(self, row: Row) -> set[str]:
        """Return the fields of a pair that did not pass, as they are shown."""
        return {label(_NUMBER.sub("[]", place), _WIDEST) for place in self.failed(row)}

    @cached_property
    def sums(self) -> dict[str, int]:
        """How many pairs fail in each field, most first."""
        return dict(Counter(name for row in self.rows for name in self.failing(row)).most_common())

    def commonest(self, field: str) -> tuple[Sides, int]:
        """Return the difference that most pairs have that fail in a field, and their number."""
        found: Counter[tuple[str, str]] = Counter()
        examples: dict[tuple[str, str], Values] = {}
        for row in self.rows:
            for place in self.failed(row):
                if label(_NUMBER.sub("[]", place), _WIDEST) == field:
                    both = values_by_place(row).get(place, (row.gold, row.predicted))
                    key = (_written(both[0]), _written(both[1]))
                    found[key] += 1
                    examples.setdefault(key, both)
        if not found:
            return ([], []), 0
        (key, often), *_ = found.most_common(1)
        gold, predicted = map(_in_words, examples[key])
        return sides(gold, predicted, _LONGEST_VALUE, _MARKED), often

    @cached_property
    def cause(self) -> str:
        """Say how many items matched, and in which field most of the others fail."""
        counts = counted(self.rows)
        gold = sum(row.gold_index is not None for row in self.rows)
        said = [f"{counts['matched']:,} of {gold:,} gold items matched"]
        said += [f"{counts[name]:,} {name}" for name in STATUSES[1:] if counts[name]]
        text = ", ".join(said) + "."
        why = "" if self.values else find_causes(self._ev, self.path).text
        why = why.partition(" ")[2]
        return f"{text} {why[:1].upper()}{why[1:]}." if why else text

    def accepted(self, row: Row) -> set[str]:
        """Return the places of a pair at which an accepted alternative scored."""
        if row.gold_index is None or not row.is_pair:
            return set()
        return self._accepted[row.gold_index]

    def start(self, row: Row) -> str:
        """Return the path of the item of a row, on gold's side where it has one."""
        at = row.gold_index
        return self.path + (f"[+{row.predicted_index}]" if at is None else self._steps[at])

    def holds(self, row: Row, path: str) -> bool:
        """Say whether a path is in the item of a row."""
        start = self.start(row)
        return path == start or path.startswith((f"{start}.", f"{start}["))

    def detail(self, row: Row, whole: set[int]) -> dict[str, Any]:
        """Write one row in full; see `detail`."""
        start, fields = self.start(row), self.outcome.fields
        paths = fields["path"]
        inside = (paths == start) | paths.str.startswith((start + ".", start + "["))
        within = fields[inside.astype(bool)].assign(mismatch=self._kinds[inside.astype(bool)])
        theirs = "" if row.predicted_index is None else self._predicted_start(row.predicted_index)
        return detail(row, within, start, self._note(row), whole, theirs)

    def _predicted_start(self, at: int) -> str:
        """Return the path of a predicted item in the prediction."""
        fields = self.outcome.fields
        own = fields.loc[fields["path"] == self.path, "predicted_path"]
        found = own.iloc[0] if len(own) else None
        steps = item_steps([self._theirs[i].predicted for i in sorted(self._theirs)])
        return (found if isinstance(found, str) else self.path) + steps[at]

    def _note(self, row: Row) -> str:
        """Name the item that would be paired with this one without ``align_threshold``."""
        if row.is_pair:
            return ""
        unlike = self.array.unlike(self.values)
        for gold_index, (predicted_index, similarity) in unlike.items():
            if row.pair in ((gold_index, None), (None, predicted_index)):
                is_gold = row.gold_index is not None
                other = (
                    f"predicted item {predicted_index}" if is_gold else f"gold item {gold_index}"
                )
                return (
                    f"It would be paired with {other}, but the similarity {similarity:.2f} is "
                    f"below align_threshold {self.threshold(ALIGN):.2f}."
                )
        return ""

    def counts(self) -> dict[str, Any]:
        """Write the counts as evaluated, and at the present thresholds where these differ."""
        first = _texts(self.array.evaluated.summary)
        values = [
            f"{fitted(key, 60)} {self.knobs[key].declared:.2f} → {value:.2f}"
            for key, value in self.values.items()
        ]
        rows = [("as evaluated", first, [False] * len(first))]
        if values:
            now = _texts(self.outcome.summary)
            rows.append(("now", now, [one != two for one, two in zip(first, now, strict=True)]))
        return {"heads": _HEADS, "rows": rows, "values": "; ".join(values)}

    def __str__(self) -> str:
        """Describe the array and its counts in one line."""
        gold, predicted = (int(self.outcome.summary[name]) for name in _COUNTS[:2])
        head = f"{fitted(self.path, 90)} · {gold:,} gold, {predicted:,} predicted items · "
        if self.outcome.summary["matched"] is pd.NA:
            return head + "not aligned"
        matched, differing, missed, spurious = (
            f"{int(self.outcome.summary[status]):,} {status}" for status in STATUSES
        )
        return f"{head}{matched}, {differing}; {missed}, {spurious}"


def _texts(summary: pd.Series) -> list[str]:
    counts = ["n/a" if summary[n] is pd.NA else f"{int(summary[n]):,}" for n in _COUNTS]
    ratios = ["n/a" if summary[name] is pd.NA else ratio_text(summary[name]) for name in _RATIOS]
    passed = summary["passed"]
    return [*counts, *ratios, "n/a" if passed is pd.NA else "yes" if passed else "no"]
