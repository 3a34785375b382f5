"""Two values side by side: what is marked, and what is shown of long ones."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from extractbench_nb.core.schema import MISSING
from extractbench_nb.support.wording import clean
from extractbench_nb.views.sides import MOST, Segment, Side, alone, beside
from tests.widgets.hostile import HOSTILE

WORDS = "word " * 30_000


def text(side: Side) -> str:
    return "".join(piece.text for piece in side.segments if piece.kind != "note")


def marked(side: Side) -> str:
    """A side as text, differences in brackets, notes in angle brackets."""
    signs = {"same": "{}", "changed": "[{}]", "note": "<{}>"}
    return "".join(signs[part.kind].format(part.text) for part in side.segments)


@pytest.mark.parametrize("limit", [160, 2_000, MOST])
@pytest.mark.parametrize(
    "gold, predicted, changed",
    [
        (WORDS, WORDS + "more", "more"),
        (WORDS + "a", WORDS + "b", "b"),
        (WORDS[:75_000] + "X" + WORDS, WORDS[:75_000] + "Y" + WORDS, "Y"),
        ("X" + WORDS, "Y" + WORDS, "Y"),
        (WORDS + "X" * 300_000, WORDS + "Y" * 300_000, "Y" * 40),
    ],
    ids=["added at the end", "end", "middle", "beginning", "second half"],
)
def test_as_much_as_there_is_room_for_is_shown_with_the_difference(
    gold: str, predicted: str, changed: str, limit: int
) -> None:
    left, right = beside(gold, predicted, limit=limit)
    assert max(len(text(left)), len(text(right))) == limit
    assert [left.hidden, right.hidden] == [len(gold) - limit, len(predicted) - limit]
    assert changed in "".join(s.text for s in right.segments if s.kind == "changed")


@pytest.mark.parametrize(
    "gold, predicted, left, right",
    [
        ("2024-01-15", "2024-01-16", "2024-01-1[5]", "2024-01-1[6]"),
        ("Acme Inc.", "Acme Inc", "Acme Inc[.]", "Acme Inc"),
        ("Acme Inc", "Acme Inc.", "Acme Inc", "Acme Inc[.]"),
        ("color", "colour", "color", "colo[u]r"),
        ("one two", "six ten", "one two", "six ten"),
        ("abcXdefgh", "abcYdZfgh", "abc[Xde]fgh", "abc[YdZ]fgh"),
        (1240.5, 1240.8, "1240.[5]", "1240.[8]"),
        (1240, "1240", "1240", '["]1240["]'),
        (True, "yes", "true", '"yes"'),
        (None, "x", "<null>", "x"),
        (MISSING, [1], "<missing>", "<1 item>"),
        ([1], [1, 2], "<1 item>", "<2 items>"),
        ([], "x", "<0 items>", "x"),
        ({"a": 1}, {"a": 2}, '{"a": [1]}', '{"a": [2]}'),
        ("a\u202eb", "a\u202ec", "a\ufffd[b]", "a\ufffd[c]"),
        ("same", "same", "same", "same"),
        ("", "", "", ""),
    ],
)
def test_differences_are_marked(gold: Any, predicted: Any, left: str, right: str) -> None:
    assert tuple(map(marked, beside(gold, predicted))) == (left, right)


def test_the_form_of_arrays() -> None:
    lists = [{"a": 1}, {"a": 2}], [{"a": 1}, {"a": 3}]
    assert [*map(marked, beside(*lists))] == ["<2 items>", "<2 items>"]
    assert marked(beside(*lists, form="line")[1]) == '[{"a": 1}, {"a": [3]}]'
    gold, predicted = beside(*lists, form="indented")
    assert json.loads(text(gold)) == lists[0]
    assert "\n    " in text(predicted)
    assert {s.kind for s in predicted.segments} == {"same"}
    empty = beside([], None, ("empty", "missing"))
    assert [(side.state, marked(side)) for side in empty] == [
        ("empty", "<empty list>"),
        ("missing", "<missing>"),
    ]


def test_long_texts_are_cut_around_the_first_difference() -> None:
    left, right = beside("x" * 600, "x" * 599 + "y")
    assert marked(left) == f"<… >{'x' * 279}[x]"
    assert marked(right) == f"<… >{'x' * 279}[y]"
    left, right = beside("x" * 600, "x" * 600)
    assert marked(left) == marked(right) == f"{'x' * 280}< …>"
    assert alone("y" * 100, limit=10) == [Segment("same", "y" * 10), Segment("note", " …")]


@pytest.mark.parametrize("attack", HOSTILE)
@pytest.mark.parametrize("limit", [160, MOST])
@pytest.mark.parametrize("form", ["count", "line", "indented"])
def test_hostile_values_are_cleaned_and_bounded(attack: str, limit: int, form: str) -> None:
    value = HOSTILE[attack]
    for pair in ((value, "x"), ([value], {"k": value}), (value, value + "!")):
        for side in beside(*pair, limit=limit, form=form):
            assert len(text(side)) <= limit
            assert clean(text(side)) == text(side)


@given(st.text(max_size=300), st.text(max_size=300))
def test_nothing_is_lost_within_the_budget(gold: str, predicted: str) -> None:
    assert [*map(text, beside(gold, predicted, limit=300))] == [clean(gold), clean(predicted)]
    assert all(len(text(side)) <= 50 for side in beside(gold, predicted, limit=50))
