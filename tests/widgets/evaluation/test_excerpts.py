"""Both values of a field: shortly from where they differ, and in full within a budget."""

from __future__ import annotations

import json
from types import SimpleNamespace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from extractbench_nb.support.wording import clean
from extractbench_nb.views.sides import MOST, Segment, compared, excerpts, whole
from tests.widgets.hostile import HOSTILE

TEXT = "".join(f"Sentence {i} says what was found. " for i in range(60))


def row(gold: Any, predicted: Any, *states: str) -> Any:
    gold_state, predicted_state = states or ("present", "present")
    return SimpleNamespace(
        gold=gold, predicted=predicted, gold_state=gold_state, predicted_state=predicted_state
    )


def text(side: list[Segment]) -> str:
    return "".join(piece.text for piece in side)


def changed(side: list[Segment]) -> list[str]:
    return [piece.text for piece in side if piece.kind == "changed"]


def test_a_row_starts_shortly_before_the_first_difference() -> None:
    other = TEXT[:900] + "NEW" + TEXT[900:]
    gold, predicted = excerpts(row(TEXT, other))
    assert changed(gold) == []
    assert changed(predicted) == ["NEW"]
    assert text(gold).startswith("… " + TEXT[860:900])
    assert text(predicted).startswith("… " + TEXT[860:900] + "NEW")
    assert text(gold).endswith(" …")
    assert len(text(gold)) == 160 + 4


LONG = "".join(f"Sentence {i} of a long text about nothing. " for i in range(2_000))


@pytest.mark.parametrize("size", [5_000, 20_000, len(LONG)])
def test_a_difference_in_the_middle_of_a_long_text_is_marked(size: int) -> None:
    gold = LONG[:size]
    at = size // 2
    pair = row(gold, gold[:at] + "#NEW#" + gold[at + 5 :])
    for side in (
        excerpts(pair)[1],
        compared(pair.gold, pair.predicted, limit=160)[1],
        whole(pair)[1].segments,
    ):
        assert changed(side) == ["#NEW#"]
        assert text(side).startswith("… " + gold[at - 40 : at] + "#NEW#")
    everything = whole(pair, MOST)[1].segments
    assert changed(everything) == ["#NEW#"]
    assert text(everything) == pair.predicted


def test_long_texts_with_nothing_in_common_are_not_marked() -> None:
    other = LONG[::-1].upper()
    assert not any(changed(side) for side in excerpts(row(LONG, other)))
    assert not any(changed(side.segments) for side in whole(row(LONG, other), MOST))


def test_objects_and_arrays_are_indented_and_not_marked() -> None:
    gold, predicted = whole(row([{"a": 1}, {"a": 2}], [{"a": 2}, {"a": 1}]))
    assert json.loads(text(gold.segments)) == [{"a": 1}, {"a": 2}]
    assert "\n    " in text(predicted.segments)
    assert changed(gold.segments) == changed(predicted.segments) == []


def test_an_absent_value_is_named() -> None:
    gold, predicted = whole(row([], None, "empty", "missing"))
    assert (text(gold.segments), text(predicted.segments)) == ("empty list", "missing")
    assert (gold.state, predicted.state) == ("empty", "missing")


@pytest.mark.parametrize("attack", HOSTILE)
@pytest.mark.parametrize("limit", [160, MOST])
def test_hostile_values_are_cleaned_and_bounded(attack: str, limit: int) -> None:
    value = HOSTILE[attack]
    for pair in (row(value, "x"), row([value], {"k": value}), row(value, value + "!")):
        for side in (*excerpts(pair), *(found.segments for found in whole(pair, limit))):
            assert len(text(side)) <= limit + 4
            assert clean(text(side)) == text(side)


@given(gold=st.text(max_size=300), predicted=st.text(max_size=300))
def test_nothing_is_lost_within_the_budget(gold: str, predicted: str) -> None:
    found = whole(row(gold, predicted))
    assert tuple(text(side.segments) for side in found) == (clean(gold), clean(predicted))
    same = ["".join(s.text for s in side.segments if s.kind == "same") for side in found if gold]
    assert not predicted or not gold or len(same) == 2
    short = excerpts(row(gold, predicted), limit=50)
    assert all(len(text(side)) <= 54 for side in short)
