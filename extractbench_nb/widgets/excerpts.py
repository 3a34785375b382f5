"""The two values of a field as segments of text: shortened for a row, or in full."""

from __future__ import annotations

import json
from typing import Any, NamedTuple

from extractbench_nb._json import json_type
from extractbench_nb.display.sides import Segment, alone, compared
from extractbench_nb.display.text import clean, cut, document_json, value_text

__all__ = ["MOST", "Side", "excerpts", "line", "short_path", "whole", "words"]


_LONGEST_LINE = 400
_LONGEST_PATH = 200


def words(text: str, limit: int) -> str:
    """Clean a text and cut it to `limit` characters."""
    return cut(clean(text[: limit + 1]), limit)


def line(text: object) -> str:
    """Write a text on one line of at most 400 characters."""
    return " ".join(words(str(text), _LONGEST_LINE).split())


def short_path(path: str) -> str:
    """Clean a path and cut it to 200 characters."""
    return words(path, _LONGEST_PATH)


#: Characters of a value that a page is ever sent.
MOST = 100_000
#: Texts of twice this length are still compared, in a row and where the whole value is shown.
_COMPARED_IN_ROW = 2_000
_COMPARED = 10_000
#: Characters before the first difference that say where it is.
_LEAD = 40

Sides = tuple[list[Segment], list[Segment]]


class Side(NamedTuple):
    """A value: its state, what is shown of it, and how many characters are not."""

    state: str
    segments: list[Segment]
    hidden: int


def excerpts(row: Any, limit: int = 160) -> Sides:
    """Show both values shortly, from a little before the first difference."""
    gold, predicted = _compared(row, _COMPARED_IN_ROW)
    longest = max(_length(gold), _length(predicted))
    skipped = max(0, _equal_start(gold, predicted) - _LEAD) if longest > limit else 0
    return _window(gold, skipped, limit), _window(predicted, skipped, limit)


def whole(row: Any, limit: int = 2_000) -> tuple[Side, Side]:
    """Show both values from their beginning; objects and arrays as indented JSON."""
    values, states = (row.gold, row.predicted), (row.gold_state, row.predicted_state)
    texts = [_written(value) for value in values]
    longest = max(map(len, texts))
    plain = {json_type(value) for value in values}.isdisjoint({"array", "object", "null"})
    sides: list[list[Segment]]
    if plain and longest <= 2 * _COMPARED and set(states) == {"present"}:
        sides = list(compared(*values, limit=_COMPARED))
    else:
        sides = [_plain(text, state) for text, state in zip(texts, states, strict=True)]
    gold, predicted = (
        Side(state, _window(side, 0, limit), max(0, len(text) - limit))
        for state, side, text in zip(states, sides, texts, strict=True)
    )
    return gold, predicted


def _compared(row: Any, limit: int) -> Sides:
    states = (row.gold_state, row.predicted_state)
    if states == ("present", "present"):
        return compared(row.gold, row.predicted, limit=limit)
    return (
        alone(row.gold, row.gold_state, limit=limit),
        alone(row.predicted, row.predicted_state, limit=limit),
    )


def _written(value: Any) -> str:
    if isinstance(value, dict | list | tuple) and value:
        return json.dumps(document_json(value), ensure_ascii=False, indent=2)
    return value_text(value)


def _plain(text: str, state: str) -> list[Segment]:
    if state != "present":
        return alone(None, state)
    return [Segment("same", cut(clean(text[: MOST + 1]), MOST))]


def _length(side: list[Segment]) -> int:
    return sum(len(piece.text) for piece in side)


def _equal_start(gold: list[Segment], predicted: list[Segment]) -> int:
    """Count the characters before the first difference; 0 where none is marked."""
    for side in (gold, predicted):
        if len(side) > 1 and side[0].kind == "same":
            return len(side[0].text)
    return 0


def _window(side: list[Segment], skipped: int, limit: int) -> list[Segment]:
    """Leave out the first characters and what is beyond `limit`; a mark stands for each."""
    shown = [Segment("note", "… ")] if skipped else []
    left = limit
    for kind, text in side:
        kept = text[skipped:]
        skipped = max(0, skipped - len(text))
        if len(kept) > left:
            return [*shown, Segment(kind, kept[:left]), Segment("note", " …")]
        if kept:
            shown.append(Segment(kind, kept))
            left -= len(kept)
    return shown
