"""A gold and a predicted value side by side, with the differences marked."""

from __future__ import annotations

import json
from collections.abc import Sequence
from itertools import groupby
from os.path import commonprefix
from typing import Any, NamedTuple

from extractbench_nb.core.schema import MISSING
from extractbench_nb.core.values import json_type
from extractbench_nb.support.wording import clean, document_json, plural, value_text

#: Largest number of characters of a value in a page.
MOST = 100_000
#: Characters of a value in a list, and of those shown before its first difference.
SHORT, _LEAD = 280, 40
#: Least number of characters that are compared: what follows an insertion is beyond the limit.
_COMPARED = 4_000
#: Lowest Levenshtein similarity of texts whose differences are marked.
_ALIKE = 0.4
#: Fewer equal characters than this between two differences are marked with them.
_SHORTEST_EQUAL = 3
_NOTES = {"missing": "missing", "null": "null", "empty": "empty list"}


class Segment(NamedTuple):
    """Part of a shown value; kind is ``same``, ``changed`` or ``note`` (text of ours)."""

    kind: str
    text: str


class Side(NamedTuple):
    """A value: its state, what is shown of it, and how many characters are not."""

    state: str
    segments: list[Segment]
    hidden: int


def beside(
    gold: Any,
    predicted: Any,
    states: Sequence[str] = (),
    *,
    limit: int = SHORT,
    form: str = "count",
) -> tuple[Side, Side]:
    """Show at most `limit` characters of two values, which include the first difference.

    By its `form`, an array is the ``count`` of its items; or arrays and objects are JSON on one
    ``line``, or ``indented`` JSON, which is not compared. Without `states`, a value is present
    unless it is `MISSING` or None.
    """
    values = (gold, predicted)
    found = tuple(states) or tuple(
        "missing" if v is MISSING else "null" if v is None else "present" for v in values
    )
    notes = [_note(value, state, form) for value, state in zip(values, found, strict=True)]
    is_json = [isinstance(value, dict | list | tuple) for value in values]
    is_compared = not any(notes) and is_json[0] == is_json[1]
    if form == "indented" and any(is_json):
        texts, is_compared = [_indented(value) for value in values], False
    elif is_compared and json_type(gold) != json_type(predicted):
        # quotes tell the text "1" from the number 1
        texts = [value_text([value])[1:-1] for value in values]
    else:
        texts = [value_text(None if value is MISSING else value) for value in values]
    written = _marked(texts[0], texts[1], limit) if is_compared else [_cut(t, limit) for t in texts]
    one, other = (
        Side(state, [Segment("note", note)], 0)
        if note
        else Side(state, segments, max(0, len(text) - limit))
        for state, note, segments, text in zip(found, notes, written, texts, strict=True)
    )
    return one, other


def alone(value: Any, state: str = "", *, limit: int = SHORT) -> list[Segment]:
    """Show one value without marks; an absent one or an array as a note."""
    return beside(value, MISSING, (state or "present", "missing"), limit=limit)[0].segments


def _note(value: Any, state: str, form: str) -> str:
    """Say in words of ours what is shown in the place of a value; empty if it is shown."""
    if state in _NOTES or value is None:
        return _NOTES.get(state, "null")
    is_counted = form == "count" and isinstance(value, list | tuple)
    return plural(len(value), "item") if is_counted else ""


def _indented(value: Any) -> str:
    if isinstance(value, dict | list | tuple) and value:
        return json.dumps(document_json(value), ensure_ascii=False, indent=2)
    return value_text(None if value is MISSING else value)


def _marked(gold: str, predicted: str, limit: int) -> list[list[Segment]]:
    """Show two texts with their differences marked, long ones from shortly before the first."""
    start, longest = len(commonprefix((gold, predicted))), max(len(gold), len(predicted))  # noqa: RUF071 - by character
    # as much as there is room for is shown, also before a difference near the end
    skipped = min(start - min(_LEAD, limit // 4), longest - limit)
    skipped = max(0, skipped) if start + _LEAD > limit and gold != predicted else 0
    window = slice(skipped, skipped + max(2 * limit, _COMPARED))
    sides = _differences(clean(gold[window]), clean(predicted[window]))
    if skipped and len(sides[0]) == len(sides[1]) == 1:  # too different to be compared
        lead = start - skipped
        sides = [
            [Segment("same", side.text[:lead]), Segment("changed", side.text[lead:])]
            for (side,) in sides
        ]
    begin = [Segment("note", "… ")] if skipped else []
    return [[*begin, *_shortened(side, limit)] for side in sides]


def _differences(gold: str, predicted: str) -> list[list[Segment]]:
    from rapidfuzz.distance import Levenshtein

    if gold == predicted or Levenshtein.normalized_similarity(gold, predicted) < _ALIKE:
        return [[Segment("same", gold)], [Segment("same", predicted)]]
    steps = Levenshtein.opcodes(gold, predicted)
    parts: tuple[list[tuple[bool, str]], ...] = ([], [])
    for at, step in enumerate(steps):
        is_between = 0 < at < len(steps) - 1
        is_short = step.src_end - step.src_start < _SHORTEST_EQUAL
        is_same = step.tag == "equal" and not (is_between and is_short)
        parts[0].append((is_same, gold[step.src_start : step.src_end]))
        parts[1].append((is_same, predicted[step.dest_start : step.dest_end]))
    return [
        [
            Segment("same" if is_same else "changed", text)
            for is_same, run in groupby(side, key=lambda part: part[0])
            if (text := "".join(part for _, part in run))
        ]
        for side in parts
    ]


def _cut(text: str, limit: int) -> list[Segment]:
    return _shortened([Segment("same", clean(text[: limit + 1]))], limit)


def _shortened(side: list[Segment], limit: int) -> list[Segment]:
    """Return the first `limit` characters; an ellipsis marks what is left out."""
    shown: list[Segment] = []
    for kind, text in side:
        if len(text) > limit:
            return [*shown, Segment(kind, text[:limit]), Segment("note", " …")]
        shown.append(Segment(kind, text))
        limit -= len(text)
    return shown
