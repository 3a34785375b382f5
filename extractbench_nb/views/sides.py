"""A gold and a predicted value side by side, with the differences marked."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from itertools import groupby, takewhile
from os.path import commonprefix
from typing import Any, NamedTuple

from extractbench_nb.core.values import json_type
from extractbench_nb.support.wording import clean, document_json, plural, trimmed, value_text

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
    """Show two values with their differences marked, long ones from the first difference."""
    kinds = json_type(gold), json_type(extracted)
    if "array" in kinds or None in (gold, extracted):
        return alone(gold, limit=limit), alone(extracted, limit=limit)
    if kinds[0] == kinds[1]:
        ours, theirs = value_text(gold), value_text(extracted)
    else:  # quotes tell the text "1" from the number 1
        ours, theirs = value_text([gold])[1:-1], value_text([extracted])[1:-1]
    if max(len(ours), len(theirs)) > 2 * limit:
        return _excerpt(ours, theirs, limit)
    return _marked(clean(ours), clean(theirs))


def beside(gold: Any, predicted: Any, states: Sequence[str], *, limit: int) -> Sides:
    """Show two values by their states, objects and arrays as JSON, so that these are compared."""
    listed = [isinstance(value, dict | list | tuple) for value in (gold, predicted)]
    values = [
        value_text(value) if is_listed else value
        for value, is_listed in zip((gold, predicted), listed, strict=True)
    ]
    if [*states] == ["present", "present"] and listed[0] == listed[1]:
        return compared(*values, limit=limit)
    one, other = (alone(v, s, limit=limit) for v, s in zip(values, states, strict=True))
    return one, other


def _excerpt(ours: str, theirs: str, limit: int) -> Sides:
    """Show `limit` characters of two long texts, from a little before the first difference."""
    if ours == theirs:
        return [Segment("same", trimmed(ours, limit))], [Segment("same", trimmed(theirs, limit))]
    start = len(commonprefix((ours, theirs)))  # noqa: RUF071 - by character
    longest = max(len(ours), len(theirs))
    skipped = max(0, min(start - min(_LEAD, limit // 4), longest - limit))
    lead, window = start - skipped, slice(skipped, skipped + 2 * limit)
    left, right = _marked(clean(ours[window]), clean(theirs[window]))
    if skipped and len(left) == len(right) == 1:  # too different to be compared
        left, right = (
            [Segment("same", side.text[:lead]), Segment("changed", side.text[lead:])]
            for (side,) in (left, right)
        )
    begin = [Segment("note", "… ")] if skipped else []
    return [*begin, *_window(left, 0, limit)], [*begin, *_window(right, 0, limit)]


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
#: Characters of a long value that an excerpt is taken from.
_IN_EXCERPT = 2_000
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
        gold, predicted = compared(row.gold, row.predicted, limit=_IN_EXCERPT)
    else:
        gold = alone(row.gold, row.gold_state, limit=_IN_EXCERPT)
        predicted = alone(row.predicted, row.predicted_state, limit=_IN_EXCERPT)
    longest = _longest(gold, predicted)
    skipped = max(0, _first_difference(gold, predicted) - _LEAD) if longest > limit else 0
    return _window(gold, skipped, limit), _window(predicted, skipped, limit)


def _longest(gold: list[Segment], predicted: list[Segment]) -> int:
    return max(sum(len(piece.text) for piece in side) for side in (gold, predicted))


def _first_difference(gold: list[Segment], predicted: list[Segment]) -> int:
    """Count the characters before the first marked difference; 0 where nothing is marked."""
    ends = [
        sum(len(piece.text) for piece in takewhile(lambda piece: piece.kind != "changed", side))
        for side in (gold, predicted)
        if any(piece.kind == "changed" for piece in side)
    ]
    return min(ends, default=0)


def whole(row: Any, limit: int = 2_000) -> tuple[Side, Side]:
    """Show both values from their beginning, or from a difference that `limit` would leave out.

    Objects and arrays are shown as indented JSON, without marks.
    """
    values, states = (row.gold, row.predicted), (row.gold_state, row.predicted_state)
    texts = [
        json.dumps(document_json(value), ensure_ascii=False, indent=2)
        if isinstance(value, dict | list | tuple) and value
        else value_text(value)
        for value in values
    ]
    plain = {json_type(value) for value in values}.isdisjoint({"array", "object", "null"})
    sides: list[list[Segment]]
    if plain and set(states) == {"present"}:
        sides = list(compared(*values, limit=MOST))
    else:
        sides = [
            [Segment("same", trimmed(text, MOST))] if state == "present" else alone(None, state)
            for text, state in zip(texts, states, strict=True)
        ]
    start = _first_difference(sides[0], sides[1])
    # as much as there is room for is shown, also before a difference near the end
    skipped = min(start - _LEAD, _longest(sides[0], sides[1]) - limit)
    skipped = max(0, skipped) if start + _LEAD > limit else 0
    gold, predicted = (
        Side(state, _window(side, skipped, limit), max(0, len(text) - limit))
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
