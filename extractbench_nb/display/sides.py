"""A gold and a predicted value side by side, with the differences marked."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import groupby
from typing import Any, NamedTuple

from extractbench_nb._json import json_type
from extractbench_nb.display.text import clean, cut, value_text

__all__ = ["Segment", "alone", "compared"]


_LONGEST_VALUE = 280
#: Texts that share less than this are shown whole: their differences would be confetti.
_ALIKE = 0.4
#: Equal characters between two differences that are too few to be told apart.
_SPECKLE = 3
_NOTES = {"missing": "missing", "null": "null", "empty": "empty list"}


class Segment(NamedTuple):
    """A stretch of a value: ``same``, ``changed``, or a ``note`` of ours in place of one."""

    kind: str
    text: str


def alone(value: Any, state: str = "present", *, limit: int = _LONGEST_VALUE) -> list[Segment]:
    """Show one value as it is; an absent one and an array as a note."""
    note = _NOTES.get(state) or _size(value)
    return [Segment("note", note)] if note else [Segment("same", _short(value_text(value), limit))]


def _size(value: Any) -> str:
    if isinstance(value, list | tuple):
        return f"{len(value)} item{'' if len(value) == 1 else 's'}"
    return "" if value is not None else "null"


def _short(text: str, limit: int) -> str:
    return cut(clean(text[: limit + 1]), limit)


def compared(
    gold: Any, extracted: Any, *, limit: int = _LONGEST_VALUE
) -> tuple[list[Segment], list[Segment]]:
    """Lay two values side by side, with what differs marked where they are short and alike."""
    kinds = json_type(gold), json_type(extracted)
    if "array" in kinds or None in (gold, extracted):
        return alone(gold, limit=limit), alone(extracted, limit=limit)
    ours, theirs = _texts(gold, extracted, quoted=kinds[0] != kinds[1])
    if max(len(ours), len(theirs)) > 2 * limit:
        return [Segment("same", _short(ours, limit))], [Segment("same", _short(theirs, limit))]
    return _marked(clean(ours), clean(theirs))


def _texts(gold: Any, extracted: Any, *, quoted: bool) -> tuple[str, str]:
    """Write both; a text beside a value of another type in the quotes of JSON."""
    if not quoted:
        return value_text(gold), value_text(extracted)
    return value_text([gold])[1:-1], value_text([extracted])[1:-1]


def _marked(ours: str, theirs: str) -> tuple[list[Segment], list[Segment]]:
    from rapidfuzz.distance import Levenshtein

    if ours == theirs or Levenshtein.normalized_similarity(ours, theirs) < _ALIKE:
        return [Segment("same", ours)], [Segment("same", theirs)]
    steps = [
        (
            step.tag == "equal",
            ours[step.src_start : step.src_end],
            theirs[step.dest_start : step.dest_end],
        )
        for step in Levenshtein.opcodes(ours, theirs)
    ]
    last = len(steps) - 1
    told = [
        (same and not (0 < i < last and len(left) < _SPECKLE), left, right)
        for i, (same, left, right) in enumerate(steps)
    ]
    return _side((same, left) for same, left, _ in told), _side(
        (same, right) for same, _, right in told
    )


def _side(steps: Iterable[tuple[bool, str]]) -> list[Segment]:
    found = []
    for same, run in groupby(steps, key=lambda step: step[0]):
        text = "".join(part for _, part in run)
        if text:
            found.append(Segment("same" if same else "changed", text))
    return found
