"""Two values side by side: what is marked, and what is shown of long ones."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from extractbench_nb.support.wording import clean
from extractbench_nb.views.sides import Pair, Segment, alone, compared, excerpts, whole

WORDS = "word " * 30_000


@pytest.mark.parametrize("limit", [2_000, 100_000])
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
    pair = Pair(gold, predicted, "present", "present")
    left, right = (side for side in whole(pair, limit))
    texts = ["".join(s.text for s in one.segments if s.kind != "note") for one in (left, right)]
    assert limit - len("… ") <= max(map(len, texts)) <= limit
    assert [one.hidden for one in (left, right)] == [len(gold) - limit, len(predicted) - limit]
    marked = ("".join(s.text for s in side if s.kind == "changed") for side in (right.segments,))
    assert changed in next(marked)
    row = excerpts(pair)[1]
    assert any(s.kind == "changed" and s.text.startswith(changed[:20]) for s in row)
    assert sum(len(s.text) for s in row[:-1]) <= 200


def marked(side: list[Segment]) -> str:
    """A side as text, differences in brackets, notes in angle brackets."""
    signs = {"same": "{}", "changed": "[{}]", "note": "<{}>"}
    return "".join(signs[part.kind].format(part.text) for part in side)


@pytest.mark.parametrize(
    "gold, extracted, left, right",
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
        ([1], [1, 2], "<1 item>", "<2 items>"),
        ([], "x", "<0 items>", "x"),
        ({"a": 1}, {"a": 2}, '{"a": [1]}', '{"a": [2]}'),
        ("a\u202eb", "a\u202ec", "a\ufffd[b]", "a\ufffd[c]"),
        ("same", "same", "same", "same"),
        ("", "", "", ""),
    ],
)
def test_compared(gold: Any, extracted: Any, left: str, right: str) -> None:
    sides = compared(gold, extracted)
    assert tuple(map(marked, sides)) == (left, right)


def test_long_texts_are_cut_around_the_first_difference() -> None:
    left, right = compared("x" * 600, "x" * 599 + "y")
    assert left == [
        *(start := [Segment("note", "… "), Segment("same", "x" * 279)]),
        ("changed", "x"),
    ]
    assert right == [*start, ("changed", "y")]
    left, right = compared("x" * 600, "x" * 600)
    assert left == right == [Segment("same", "x" * 279 + "…")]
    assert len(alone("y" * 100, limit=10)[0].text) == 10


@given(st.text(max_size=40), st.text(max_size=40))
def test_nothing_is_lost(gold: str, extracted: str) -> None:
    left, right = compared(gold, extracted)
    assert "".join(part.text for part in left) == clean(gold)
    assert "".join(part.text for part in right) == clean(extracted)
