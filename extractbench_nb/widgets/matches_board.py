"""The state of the view of matches: array, thresholds, the pair in full; static HTML."""

from __future__ import annotations

from collections.abc import Container, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import pandas as pd

from extractbench_nb.display.sides import Segment
from extractbench_nb.display.text import clean, cut, fitted, value_text
from extractbench_nb.engine.similarity import MapItem
from extractbench_nb.errors import nearest
from extractbench_nb.evaluation.result import Evaluation
from extractbench_nb.schema.states import MISSING
from extractbench_nb.widgets.matches_items import ALIGN, ArrayMatches, Outcome
from extractbench_nb.widgets.matches_model import (
    NO_PLACE,
    STATUSES,
    Kind,
    Row,
    Values,
    cards,
    failed_places,
    item_steps,
    label,
    ordered,
    plain,
    read_rows,
    segments,
    sides,
    values_by_place,
)
from extractbench_nb.widgets.static import MARKS, element, score_text, segments_html, table

__all__ = [
    "LIMIT",
    "PAGE",
    "WHOLE",
    "Board",
    "Pair",
    "counts_html",
    "detail",
    "detail_html",
    "offered_arrays",
    "page_html",
    "rows_of_pair",
]


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
    return [(_offer(row), str(row.path)) for row in rows]


def _offer(row: Any) -> str:
    items = f"{row.gold_items:,} gold, {row.predicted_items:,} predicted"
    return f"{fitted(str(row.path), _WIDEST_TITLE)}  ({items}, {row.matched:,} matched)"


#: Characters of a value that are shown at once, and that are shown on request.
LIMIT, WHOLE = 1_000, 100_000
#: Characters of the longer side up to which differences are marked.
_MARKED = 6_000
_MOST_ROWS = 200
_LONGEST_REASON = 600
_WIDEST = 120


def rows_of_pair(fields: pd.DataFrame, start: str) -> pd.DataFrame:
    """Return the rows of ``fields`` of one item."""
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
    """Write one pair, or one item without a partner, key by key."""
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


#: Rows on a page.
PAGE = 25

Pair = tuple[int | None, int | None]

_COUNTS = ("gold_items", "predicted_items", "matched", "partial", "missed", "spurious")
_RATIOS = ("precision", "recall", "f1", "score")
_HEADS = ("gold", "predicted", *STATUSES, "precision", "recall", "F1", "score", "passes")


class Board:
    """One array of an evaluation at the present thresholds.

    Parameters
    ----------
    ev : Evaluation
        The evaluation.
    path : str
        Instance path of the array.
    """

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
        self.rows = read_rows(outcome.matches)
        ours = {row.gold_index: row.gold for row in self.rows if row.gold_index is not None}
        self._steps = item_steps([ours[at] for at in sorted(ours)])
        places = failed_places(outcome.fields, self.path, self._steps)
        self._failed = dict(enumerate(places))
        self._theirs = {r.predicted_index: r for r in self.rows if r.predicted_index is not None}
        self._ours = {r.gold_index: r for r in self.rows if r.gold_index is not None}

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

    def in_order(self, sort: str) -> list[Row]:
        """Return all rows in an order of `SORTS`."""
        return ordered(self.rows, sort)

    def page(self, rows: list[Row], number: int, sort: str) -> dict[str, Any]:
        """Write one page of rows as the front end draws it."""
        start, array = number * PAGE, self.outcome.summary
        shown = rows[start : start + PAGE]
        return {
            **cards(shown, self._failed, self.field, sort != "gold order"),
            "page": number,
            "pages": max(1, -(-len(rows) // PAGE)),
            "first": start + 1 if shown else 0,
            "last": start + len(shown),
            "rows": len(rows),
            "all": len(self.rows),
            "items": int(array["gold_items"] + array["predicted_items"]),
        }

    def detail(self, row: Row, whole: set[int]) -> dict[str, Any]:
        """Write one row in full; see `detail`."""
        start = self.path + self._step(row)
        fields = rows_of_pair(self.outcome.fields, start)
        return detail(row, fields, start, self._note(row), whole)

    def _step(self, row: Row) -> str:
        if row.gold_index is not None:
            return self._steps[row.gold_index]
        return f"[+{row.predicted_index}]"

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
        return {"heads": list(_HEADS), "rows": rows, "values": self.changes()}

    def changes(self) -> str:
        """Say which thresholds differ from the declared ones."""
        told = [
            f"{fitted(key, 60)} {self.knobs[key].declared:.2f} → {value:.2f}"
            for key, value in self.values.items()
            if value != self.knobs[key].declared
        ]
        return "; ".join(told)

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


def counts_html(counts: dict[str, Any], note: str) -> str:
    """Write the counts as evaluated and at the present thresholds."""
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
    """Write the rows of a page: a line a pair or item, what failed marked."""
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
    """Write the chosen pair key by key."""
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
    return [*values, *(_verdict_html(row["verdict"]) if model["scored"] else ())]


def _verdict_html(verdict: dict[str, Any] | None) -> list[str]:
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
