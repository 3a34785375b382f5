"""An array without a page: rows in order, what differs in pairs, the pair in full, thresholds."""

from __future__ import annotations

import math
import pickle
from typing import Any

import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import extractbench_nb as xb
from extractbench_nb.core.schema.schema_nodes import MISSING
from extractbench_nb.core.similarity import MapItem, map_items
from extractbench_nb.core.traversal import array_items
from extractbench_nb.views.matches_model import ORDERS, Board, Row, ordered, short_sides

TEXT = {"type": "string", "evaluation_config": "string_fuzzy"}
OBJECT = {"type": "object", "properties": {"n": TEXT, "m": TEXT, "year": {"type": "integer"}}}
MAPPED = {
    "anyOf": [
        {"type": "object", "additionalProperties": {"type": "array", "items": OBJECT}},
        {"type": "null"},
    ],
    "evaluation_config": "array_llm",
}


def row(gold_index: int | None, predicted_index: int | None, **values: Any) -> Row:
    one_sided = "missed" if predicted_index is None else "spurious"
    status = one_sided if None in (gold_index, predicted_index) else "matched"
    usual = {"status": status, "similarity": None, "failed_fields": (), "gold": "", "predicted": ""}
    return Row(gold_index, predicted_index, **(usual | values))


def document(rows: Any) -> dict[str, Any]:
    return {"type": "object", "properties": {"rows": rows}}


def board(items: Any, gold: Any, predicted: Any, profile: str = "strict", **more: Any) -> Board:
    rows = items if items is MAPPED else {"type": "array", "items": items, **more}
    ev = xb.evaluate(document(rows), {"rows": gold}, {"rows": predicted}, profile=profile)
    return Board(ev, "$.rows")


def texts(side: Any) -> str:
    return "".join(text for _, text in getattr(side, "segments", side))


def lines(found: Board, at: int = 0) -> list[tuple[str, str, str, bool]]:
    listed, _ = found.lines(found.rows[at])
    return [(place, texts(sides[0]), texts(sides[1]), failed) for place, sides, failed in listed]


def places(found: Board, at: int = 0) -> dict[str, str | None]:
    """The outcome by place of a pair."""
    listed, _ = found.places(found.rows[at], ())
    return {place.name: place.field and place.field.outcome for place in listed}


# --- order and filters ----------------------------------------------------------------------------

ROWS = [
    row(0, 2, similarity=1.0),
    row(1, None),
    row(2, 0, status="differing", similarity=0.5),
    row(3, 4, status="differing", similarity=0.75),
    row(None, 1),
]


@pytest.mark.parametrize(
    "sort, order",
    [("pairs", [0, 1, 2, 3, 4]), ("similarity", [2, 3, 0, 1, 4]), ("failing", [2, 3, 1, 4, 0])],
)
def test_rows_are_in_the_order_that_is_asked_for(sort: str, order: list[int]) -> None:
    assert ordered(ROWS, sort) == [ROWS[at] for at in order]
    assert set(ORDERS) == {"pairs", "similarity", "failing"}


@pytest.mark.parametrize("text, found", [("  ADA ", True), ("straße", True), ("nobody", False)])
def test_a_text_is_found_in_either_item(text: str, found: bool) -> None:
    one = board(TEXT, ["Ada L."], ["STRASSE"])
    assert any(one.has_text(item, text) for item in one.rows) == found


# --- what differs ---------------------------------------------------------------------------------

GOLD = {"n": "Ada", "m": "x", "year": 1}
NESTED = {"type": "object", "properties": {"n": TEXT, "tags": {"type": "array", "items": TEXT}}}
UNION = {"anyOf": [TEXT, OBJECT]}


@pytest.mark.parametrize(
    "items, gold, predicted, expected",
    [
        # of a pair that differs, what differs
        (OBJECT, GOLD, GOLD | {"n": "Ada!", "year": 2}, [("n", "Ada", "Ada!"), ("year", "1", "2")]),
        (NESTED, {"n": "a", "tags": ["x", "y"]}, {"n": "a", "tags": ["x", "zzz"]},
         [("tags", "x · y", "x · zzz")]),
        ({"type": "object", "additionalProperties": TEXT}, {"a": "same", "b c": "one"},
         {"a": "same", "b c": "two"}, [("['b c']", "one", "two")]),
        # an object beside another type is compared as a whole
        (UNION, "Ada", {"n": "Ada", "y": 1}, [("", "Ada", '{"n": "Ada", "y": 1}')]),
    ],
)  # fmt: skip
def test_the_lines_of_a_pair_that_differs(
    items: Any, gold: Any, predicted: Any, expected: list[Any]
) -> None:
    found = board(items, [gold], [predicted], evaluation_config={
        "metrics": [{"metric_id": "array_llm", "params": {"align_threshold": 0.0}}]
    })  # fmt: skip
    assert [line[:3] for line in lines(found)] == expected
    assert all(failed for *_, failed in lines(found))
    assert places(found)


def test_sums_count_the_pairs_of_each_field_and_show_the_commonest_difference() -> None:
    gold = [GOLD | {"n": f"name {at} of 9", "m": f"text {at} of 9"} for at in range(9)]
    predicted = [one | {"year": 0 if at < 4 else 1} for at, one in enumerate(gold)]
    predicted[3] = predicted[3] | {"year": 7}
    predicted[8] = predicted[8] | {"m": "another text"}
    found = board(OBJECT, gold, predicted)
    assert found.sums == {"year": 4, "m": 1}
    sides, often = found.commonest("year")
    assert (*map(texts, sides), often) == ("1", "0", 3)
    assert found.cause.startswith("4 of 9 gold items matched, 5 differing. Because")


def test_failed_places_come_first_and_then_those_that_were_sought() -> None:
    names = [f"f{i}" for i in range(12)]
    items = {"type": "object", "properties": dict.fromkeys(names, TEXT)}
    gold = dict.fromkeys(names, "same") | {"f7": "Needle"}
    found = board(items, [gold], [gold | {"f9": "other", "f11": "odd"}])
    listed, hidden = found.lines(found.rows[0], " needle")
    assert [place for place, *_ in listed] == ["f0", "f1", "f7", "f9", "f11"]
    assert hidden == 7


def test_items_of_maps_have_their_key_and_their_failed_places() -> None:
    gold = {"b": [{"n": "1", "m": "x"}], "a": [{"n": "2", "m": "y"}, {"n": "3", "m": "z"}]}
    predicted = {"a": [{"n": "3", "m": "z"}, {"n": "2", "m": "yyyy"}], "c": []}
    found = board(MAPPED, gold, predicted)
    at = next(at for at, one in enumerate(found.rows) if one.status == "differing")
    assert lines(found, at) == [("m", "y", "yyyy", True)]
    assert found.rows[at].title == "Gold item 1 (a) and predicted item 1 (a)"
    assert places(found, at) == {"n": "correct", "m": "incorrect"}
    assert found.start(found.rows[at]) == "$.rows['a'][0]"
    assert found.sums == {"m": 1}


@settings(deadline=None, max_examples=50)
@given(st.dictionaries(st.text("a'\\][.0", max_size=4), st.lists(st.integers(), max_size=3)))
def test_items_of_a_map_have_the_steps_of_their_records(value: dict[str, list[int]]) -> None:
    node = xb.schema.parse_schema(document(MAPPED)).root.children.properties["rows"]
    found = board(MAPPED, value, {})
    steps = array_items(node.choose(0, flattened=True), value)[1]
    assert [found.start(one) for one in found.rows] == [f"$.rows{step}" for step in steps]
    assert len(map_items(value)) == len(found.rows)
    assert all(isinstance(one.gold, MapItem) for one in found.rows)


@pytest.mark.parametrize(
    "gold, predicted, ours, theirs",
    [
        ("Ada", MISSING, "Ada", "missing"),
        (None, "x", "null", "x"),
        (1, "1", "1", '"1"'),
        (True, 1, "true", "1"),
        ([1], [1, 2], "1", "1 · 2"),
        ({}, {}, "{}", "{}"),
        (math.nan, 1, '"NaN"', "1"),
    ],
)
def test_two_values_side_by_side(gold: Any, predicted: Any, ours: str, theirs: str) -> None:
    assert tuple(map(texts, short_sides(gold, predicted))) == (ours, theirs)


# --- a pair in full -------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "profile, undeclared", [("paper", {"more": None}), ("strict", {"more[0]": "hallucination"})]
)
def test_each_field_has_its_verdict(profile: str, undeclared: dict[str, Any]) -> None:
    found = board(
        {"type": "object", "properties": {**OBJECT["properties"], "gone": TEXT, "never": TEXT}},  # type: ignore[dict-item]
        [{"n": "Ada", "m": "x", "year": 1, "gone": "x"}],
        [{"n": "Ada", "m": "x", "year": "y", "more": [1]}],
        profile,
    )
    told = {"n": "correct", "m": "correct", "year": "structural", "gone": "omission"}
    assert places(found) == told | undeclared
    (gone,) = (p for p in found.places(found.rows[0], ())[0] if p.name == "gone")
    assert texts(gone.sides[1]) == "missing"


def test_an_item_alone_has_a_verdict_where_it_counts() -> None:
    assert places(board(TEXT, ["abc"], [], "paper")) == {"": None}
    assert places(board(TEXT, ["abc"], [])) == {"": "omission"}
    assert places(board(TEXT, [], ["abc"])) == {"": "hallucination"}


def test_two_metrics_of_a_field_show_its_values_once() -> None:
    both = {"metrics": [{"metric_id": "string_fuzzy"}, {"metric_id": "string_exact"}]}
    items = {"type": "object", "properties": {"n": {"type": "string", "evaluation_config": both}}}
    found = board(items, [{"n": "Ada"}], [{"n": "Ada."}])
    listed, _ = found.places(found.rows[0], ())
    assert [(p.name, p.field.metric) for p in listed] == [
        ("n", "string_fuzzy"),
        ("", "string_exact"),
    ]
    assert listed[1].sides is None


def test_long_values_and_many_fields_are_cut() -> None:
    found = board(TEXT, ["x" * 5_000], ["x" * 5_000])
    for whole, hidden in ((set(), 4_000), ({0}, 0)):
        (only,), _ = found.places(found.rows[0], whole)
        assert only.sides[0].hidden == hidden
    item = {f"f{i}": i for i in range(500)}
    found = board({"type": "object"}, [item], [item])
    listed, hidden = found.places(found.rows[0], ())
    assert (len(listed), hidden) == (200, 300)


def test_a_deep_item_is_listed_without_an_error() -> None:
    deep: Any = 1
    for _ in range(5_000):
        deep = {"a": deep}
    found = board({"type": "object"}, [{"a": 1}], [deep])
    assert [found.lines(one) for one in found.rows]


# --- thresholds -----------------------------------------------------------------------------------


@pytest.mark.parametrize("profile", ["paper", "strict"])
@pytest.mark.parametrize("values", [{"align_threshold": 0.8}, {"pass_threshold": 0.1}])
def test_other_thresholds_give_what_an_evaluation_under_them_gives(
    values: dict[str, float], profile: str
) -> None:
    gold = [{"n": f"some name {at}", "m": "x", "year": at} for at in range(4)]
    predicted = [gold[1] | {"year": 9, "m": "other"}, gold[0], gold[2] | {"n": "some name"}]
    tried = board(OBJECT, gold, predicted, profile)
    before = tried.matches
    tried.try_thresholds(values)
    config = {"metrics": [{"metric_id": "array_llm", "params": values}]}
    declared = board(OBJECT, gold, predicted, profile, evaluation_config=config)
    pd.testing.assert_frame_equal(tried.matches, declared.matches)
    pd.testing.assert_series_equal(tried.summary, declared.summary, check_names=False)
    tried.try_thresholds({})
    pd.testing.assert_frame_equal(tried.matches, before)
    assert declared.declared == {"align_threshold": 0.5, "pass_threshold": 0.7} | values


class Judge:
    name = "counting"

    def compare(self, gold: str, predicted: str) -> xb.judges.Verdict:
        return xb.judges.Verdict(0.6, "counted")


@pytest.mark.parametrize(
    "config, options, note",
    [
        ("array_llm", {"judge": Judge()}, "had a judge"),
        ("array_llm", {"accepted": [{"path": "$.rows[0]", "value": "b"}]}, "or alternatives"),
        ("set_f1", {}, "has no thresholds"),
    ],
)
def test_thresholds_that_are_fixed_say_why(config: str, options: Any, note: str) -> None:
    rows = {"type": "array", "items": {"type": "string"}, "evaluation_config": config}
    ev = xb.evaluate(document(rows), {"rows": ["a"]}, {"rows": ["b"]}, **options)
    found = Board(pickle.loads(pickle.dumps(ev)), "$.rows")  # noqa: S301 - our own bytes
    assert found.declared == {}
    assert note in found.note
