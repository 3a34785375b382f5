"""A gold and a predicted value side by side, with the differences marked."""

from __future__ import annotations

import json
from collections.abc import Iterable
from itertools import groupby
from typing import Any, NamedTuple

from extractbench_nb._json import json_type
from extractbench_nb.display.text import clean, document_json, plural, trimmed, value_text

_LONGEST_VALUE = 280
#: Lowest Levenshtein similarity of texts whose differences are marked.
_ALIKE = 0.4
#: Fewer equal characters than this between two differences are marked with them.
_SHORTEST_EQUAL = 3
_NOTES = {"missing": "missing", "null": "null", "empty": "empty list"}


class Segment(NamedTuple):
    """Part of a shown value; kind is ``same``, ``changed`` or ``note`` (text of ours)."""

    kind: str
    text: str


def alone(value: Any, state: str = "present", *, limit: int = _LONGEST_VALUE) -> list[Segment]:
    """Show one value without marks; an absent one or an array as a note."""
    if state in _NOTES or value is None:
        return [Segment("note", _NOTES.get(state, "null"))]
    if isinstance(value, list | tuple):
        return [Segment("note", plural(len(value), "item"))]
    return [Segment("same", trimmed(value_text(value), limit))]


def compared(gold: Any, extracted: Any, *, limit: int = _LONGEST_VALUE) -> Sides:
    """Show two values; differences are marked if both are short and similar."""
    kinds = json_type(gold), json_type(extracted)
    if "array" in kinds or None in (gold, extracted):
        return alone(gold, limit=limit), alone(extracted, limit=limit)
    if kinds[0] == kinds[1]:
        ours, theirs = value_text(gold), value_text(extracted)
    else:  # quotes tell the text "1" from the number 1
        ours, theirs = value_text([gold])[1:-1], value_text([extracted])[1:-1]
    if max(len(ours), len(theirs)) > 2 * limit:
        return [Segment("same", trimmed(ours, limit))], [Segment("same", trimmed(theirs, limit))]
    return _marked(clean(ours), clean(theirs))


def _marked(ours: str, theirs: str) -> Sides:
    from rapidfuzz.distance import Levenshtein

    if ours == theirs or Levenshtein.normalized_similarity(ours, theirs) < _ALIKE:
        return [Segment("same", ours)], [Segment("same", theirs)]
    steps = Levenshtein.opcodes(ours, theirs)
    left, right = [], []
    for i, step in enumerate(steps):
        between_differences = 0 < i < len(steps) - 1
        is_short = step.src_end - step.src_start < _SHORTEST_EQUAL
        same = step.tag == "equal" and not (between_differences and is_short)
        left.append((same, ours[step.src_start : step.src_end]))
        right.append((same, theirs[step.dest_start : step.dest_end]))
    return _segments(left), _segments(right)


def _segments(steps: Iterable[tuple[bool, str]]) -> list[Segment]:
    """Join neighbouring steps that are both equal or both changed; leave out empty segments."""
    segments = []
    for same, run in groupby(steps, key=lambda step: step[0]):
        text = "".join(part for _, part in run)
        if text:
            segments.append(Segment("same" if same else "changed", text))
    return segments


#: Largest number of characters of a value in a page.
MOST = 100_000
#: Differences are marked in texts of up to twice this length: in a row, and in the whole value.
_COMPARED_IN_ROW = 2_000
_COMPARED = 10_000
#: Characters shown before the first difference.
_LEAD = 40

Sides = tuple[list[Segment], list[Segment]]


class Pair(NamedTuple):
    """Two values with their states, as in a row of ``fields``."""

    gold: Any
    predicted: Any
    gold_state: str
    predicted_state: str


class Side(NamedTuple):
    """A value: its state, what is shown of it, and how many characters are not."""

    state: str
    segments: list[Segment]
    hidden: int


def excerpts(row: Any, limit: int = 160) -> Sides:
    """Show an excerpt of both values that begins a little before the first difference."""
    if (row.gold_state, row.predicted_state) == ("present", "present"):
        gold, predicted = compared(row.gold, row.predicted, limit=_COMPARED_IN_ROW)
    else:
        gold = alone(row.gold, row.gold_state, limit=_COMPARED_IN_ROW)
        predicted = alone(row.predicted, row.predicted_state, limit=_COMPARED_IN_ROW)
    longest = max(sum(len(piece.text) for piece in side) for side in (gold, predicted))
    equal = (side[0] for side in (gold, predicted) if len(side) > 1)
    start = next((len(piece.text) for piece in equal if piece.kind == "same"), 0)
    skipped = max(0, start - _LEAD) if longest > limit else 0
    return _window(gold, skipped, limit), _window(predicted, skipped, limit)


def whole(row: Any, limit: int = 2_000) -> tuple[Side, Side]:
    """Show both values from their beginning; objects and arrays as indented JSON."""
    values, states = (row.gold, row.predicted), (row.gold_state, row.predicted_state)
    texts = [
        json.dumps(document_json(value), ensure_ascii=False, indent=2)
        if isinstance(value, dict | list | tuple) and value
        else value_text(value)
        for value in values
    ]
    longest = max(map(len, texts))
    plain = {json_type(value) for value in values}.isdisjoint({"array", "object", "null"})
    sides: list[list[Segment]]
    if plain and longest <= 2 * _COMPARED and set(states) == {"present"}:
        sides = list(compared(*values, limit=_COMPARED))
    else:
        sides = [
            [Segment("same", trimmed(text, MOST))] if state == "present" else alone(None, state)
            for text, state in zip(texts, states, strict=True)
        ]
    gold, predicted = (
        Side(state, _window(side, 0, limit), max(0, len(text) - limit))
        for state, side, text in zip(states, sides, texts, strict=True)
    )
    return gold, predicted


def _window(side: list[Segment], skipped: int, limit: int) -> list[Segment]:
    """Return `limit` characters after the first `skipped`; an ellipsis marks what is left out."""
    window = [Segment("note", "… ")] if skipped else []
    for kind, full_text in side:
        text = full_text[skipped:]
        skipped = max(0, skipped - len(full_text))
        if len(text) > limit:
            return [*window, Segment(kind, text[:limit]), Segment("note", " …")]
        if text:
            window.append(Segment(kind, text))
            limit -= len(text)
    return window
