"""Two values side by side: what is marked, and what is told instead of a value."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from extractbench_nb.display.sides import Segment, alone, compared
from extractbench_nb.report.html import bar, listed


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
    from extractbench_nb.display.text import clean

    left, right = compared(gold, extracted)
    assert "".join(part.text for part in left) == clean(gold)
    assert "".join(part.text for part in right) == clean(extracted)


@given(st.lists(st.tuples(st.text(), st.integers(0, 10_000)), max_size=7))
def test_a_bar_is_full(parts: list[tuple[str, int]]) -> None:
    laid = bar(parts)
    assert [name for name, _, _ in laid] == [name for name, n in parts if n]
    assert sum(width for _, _, width in laid) == pytest.approx(100 if laid else 0, abs=0.01)
    for (_, start, width), (_, following, _) in pairwise(laid):
        assert start + width == pytest.approx(following, abs=0.01)


@pytest.mark.parametrize("most, shown, more", [(0, [], 3), (2, [1, 2], 1), (3, [1, 2, 3], 0)])
def test_listed(most: int, shown: list[int], more: int) -> None:
    assert listed([1, 2, 3], most) == (shown, more)
