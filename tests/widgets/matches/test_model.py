"""Rows in order and filtered; pairs in short; the chosen pair key by key."""

from __future__ import annotations

import math
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import extractbench_nb as xb
from extractbench_nb.core.records import array_items
from extractbench_nb.core.schema.schema_nodes import MISSING
from extractbench_nb.core.similarity import MapItem, map_items
from extractbench_nb.views.matches_model import (
    LIMIT,
    ORDERS,
    WHOLE,
    Board,
    Row,
    entries,
    filtered,
    item_steps,
    lines,
    ordered,
    places_in,
    plain,
    sides,
    title,
)

TEXT = {"type": "string", "evaluation_config": "string_fuzzy"}


def row(gold_index: int | None, predicted_index: int | None, **values: Any) -> Row:
    one_sided = "missed" if predicted_index is None else "spurious"
    status = one_sided if None in (gold_index, predicted_index) else "matched"
    usual = {"status": status, "similarity": None, "failed_fields": (), "gold": "", "predicted": ""}
    return Row(gold_index, predicted_index, **(usual | values))


def array(items: dict[str, Any], **more: Any) -> dict[str, Any]:
    rows = {"type": "array", "items": items, **more}
    return {"type": "object", "properties": {"rows": rows}}


def board(schema: dict[str, Any], gold: Any, predicted: Any, profile: str = "strict") -> Board:
    ev = xb.evaluate(schema, {"rows": gold}, {"rows": predicted}, profile=profile)
    return Board(ev, "$.rows")


# --- order and filters -------------------------------------------------------------------------

ROWS = [
    row(0, 2, similarity=1.0),
    row(1, None),
    row(2, 0, status="differing", similarity=0.5),
    row(3, 4, status="differing", similarity=0.75),
    row(None, 1),
    row(None, 3),
]


@pytest.mark.parametrize(
    "sort, pairs",
    [
        ("pairs", [(0, 2), (1, None), (2, 0), (3, 4), (None, 1), (None, 3)]),
        ("predicted", [(2, 0), (None, 1), (0, 2), (None, 3), (3, 4), (1, None)]),
        ("similarity", [(2, 0), (3, 4), (0, 2), (1, None), (None, 1), (None, 3)]),
        ("failing", [(1, None), (2, 0), (3, 4), (None, 1), (None, 3), (0, 2)]),
    ],
)
def test_rows_stand_in_the_order_that_is_asked_for(sort: str, pairs: list[Any]) -> None:
    assert [r.pair for r in ordered(ROWS, sort)] == pairs


@given(st.permutations(range(7)), st.sets(st.integers(0, 6)), st.sampled_from(list(ORDERS)))
def test_every_row_stays_once_in_every_order(
    partners: list[int], alone: set[int], sort: str
) -> None:
    pairs = [row(i, None if i in alone else j, similarity=0.5) for i, j in enumerate(partners)]
    rows = pairs + [row(None, j) for i, j in enumerate(partners) if i in alone]
    found = ordered(rows, sort)
    assert sorted(found, key=repr) == sorted(rows, key=repr)
    if sort == "pairs":
        gold = [r.gold_index for r in found if r.gold_index is not None]
        assert gold == sorted(gold)


@pytest.mark.parametrize(
    "status, text, indices",
    [
        ("", "", [0, 1, 2]),
        ("missed", "", [1]),
        ("", "  ADA ", [0, 1]),
        ("matched", "ada", [0]),
        ("", "straße", [2]),
        ("", "nobody", []),
        ("spurious", "", []),
    ],
)
def test_filters_leave_a_status_and_a_text(status: str, text: str, indices: list[int]) -> None:
    rows = [
        row(0, 0, gold={"name": "Ada"}, predicted={"name": "ada l."}),
        row(1, None, gold=["x", {"y": "ADA"}], predicted=None),
        row(2, 1, gold="STRASSE", predicted=math.nan),
    ]
    assert [r.gold_index for r in filtered(rows, status, text)] == indices


# --- items -------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "item, listed",
    [
        ("text", [("", "text")]),
        (None, [("", None)]),
        ([1, 2], [("", [1, 2])]),
        ({}, [("", {})]),
        ({"a": 1, "b": {"c": 2, "d": {}}}, [(".a", 1), (".b.c", 2), (".b.d", {})]),
        ({"tags": ["x"], "o'k": 1}, [(".tags", ["x"]), ("['o\\'k']", 1)]),
        (MapItem("k", {"a": 1}), [(".a", 1)]),
    ],
)
def test_an_item_is_listed_by_place(item: Any, listed: list[Any]) -> None:
    assert entries(item) == listed


def test_a_deep_item_is_listed_without_an_error() -> None:
    deep: Any = 1
    for _ in range(5_000):
        deep = {"a": deep}
    ((place, _),) = entries(deep)
    assert place.count(".a") == 200


MAPS = st.dictionaries(st.text("a'\\][.0", max_size=4), st.lists(st.integers(), max_size=3))


@settings(deadline=None)
@given(MAPS)
def test_items_of_a_map_have_the_steps_of_their_records(value: dict[str, list[int]]) -> None:
    node = xb.schema.parse_schema(MAPPED).root.children.properties["rows"]
    chosen = node.choose(0, flattened=True)
    assert item_steps(map_items(value)) == array_items(chosen, value)[1]


@pytest.mark.parametrize(
    "place, written",
    [("", ""), (".a", ".a"), ("['a'].b['c d']", ".a.b['c d']"), ("['1']", "['1']")],
)
def test_a_place_is_written_in_one_way(place: str, written: str) -> None:
    assert plain(place) == written


MAPPED = {
    "type": "object",
    "properties": {
        "rows": {
            "anyOf": [
                {
                    "type": "object",
                    "additionalProperties": {
                        "type": "array",
                        "items": {"type": "object", "properties": {"n": TEXT, "m": TEXT}},
                    },
                },
                {"type": "null"},
            ],
            "evaluation_config": "array_llm",
        }
    },
}


# --- kinds of arrays ---------------------------------------------------------------------------


def shown(found: Board, at: int = 0) -> list[tuple[str, Any, Any, bool]]:
    chosen = ordered(found.rows, "pairs")[at]
    return lines(chosen, found.failed(chosen))[0]


def failing(found: Board, at: int = 0) -> list[str]:
    return [place for place, *_, failed in shown(found, at) if failed]


def texts(side: list[list[str]]) -> str:
    return "".join(text for _, text in side)


def test_failed_fields_are_marked_and_differences_too() -> None:
    items = {"type": "object", "properties": {"n": TEXT, "m": TEXT, "year": {"type": "integer"}}}
    gold, predicted = {"n": "Ada", "m": "x", "year": 1}, {"n": "Ada!", "m": "x", "year": 2}
    found = board(array(items), [gold], [predicted])
    assert failing(found) == ["n", "year"]
    name = ("n", [("same", "Ada")], [("same", "Ada"), ("changed", "!")], True)
    assert shown(found)[0] == name


def test_scalar_items_have_one_line_without_a_name() -> None:
    ((place, ours, theirs, failed),) = shown(board(array(TEXT), ["colour"], ["color"]))
    assert (place, failed) == ("", False)
    assert ours == [("same", "colo"), ("changed", "u"), ("same", "r")]
    assert texts(theirs) == "color"


def test_failed_places_come_first_and_then_those_that_were_sought() -> None:
    names = [f"f{i}" for i in range(12)]
    items = {"type": "object", "properties": dict.fromkeys(names, TEXT)}
    gold = dict.fromkeys(names, "same") | {"f7": "Needle"}
    found = board(array(items), [gold], [gold | {"f9": "other", "f11": "odd"}])
    assert [place for place, *_ in shown(found)] == ["f9", "f11"]  # of a pair that differs
    assert failing(found) == ["f9", "f11"]
    (only,) = found.rows
    listed, hidden = lines(only, found.failed(only), " needle")
    assert [place for place, *_ in listed] == ["f0", "f1", "f7", "f9", "f11"]
    assert hidden == 7


def test_arrays_inside_items_are_marked_at_their_field() -> None:
    items = {
        "type": "object",
        "properties": {"n": TEXT, "tags": {"type": "array", "items": TEXT}},
    }
    found = board(
        array(items), [{"n": "a", "tags": ["x", "y"]}], [{"n": "a", "tags": ["x", "zzz"]}]
    )
    assert failing(found) == ["tags"]
    rows = found.detail(found.rows[0], set())["rows"]
    assert [r["place"] for r in rows] == ["n", "tags", "tags[0]", "tags[1]", "tags[+1]"]
    assert texts(rows[1]["gold"]) == '["x", "y"]'


def test_an_undeclared_array_is_listed_once() -> None:
    items = {"type": "object", "properties": {"n": TEXT}}
    found = board(array(items), [{"n": "a"}], [{"n": "a", "extra": {"v": [1, 2]}}])
    places = [row["place"] for row in found.detail(found.rows[0], set())["rows"]]
    assert places == ["n", "extra.v[0]", "extra.v[1]"]


def test_items_of_maps_have_their_key_and_their_failed_places() -> None:
    gold = {"b": [{"n": "1", "m": "x"}], "a": [{"n": "2", "m": "y"}, {"n": "3", "m": "z"}]}
    predicted = {"a": [{"n": "3", "m": "z"}, {"n": "2", "m": "yyyy"}], "c": []}
    found = board(MAPPED, gold, predicted)
    pair = next(r for r in found.rows if r.status == "differing")
    assert failing(found, 1) == ["m"]
    assert title(pair) == "Gold item 1 (a) and predicted item 1 (a)"
    detail = found.detail(pair, set())
    assert detail["rows"][1]["paths"] == {
        "gold": "$.rows['a'][0].m",
        "predicted": "$.rows['a'][1].m",
    }
    assert [r["verdict"]["outcome"] for r in detail["rows"]] == ["correct", "incorrect"]


def test_fields_of_maps_inside_items_are_marked() -> None:
    items = {"type": "object", "additionalProperties": TEXT}
    found = board(array(items), [{"a": "same", "b c": "one"}], [{"a": "same", "b c": "two"}])
    assert failing(found) == ["['b c']"]


def test_positions_of_prefix_items_are_pairs() -> None:
    schema = array(TEXT, prefixItems=[TEXT, {"type": "integer"}])
    found = board(schema, ["a", 1, "x"], ["zzzzz", 1, "x"])
    assert [r.status for r in found.rows] == ["differing", "matched", "matched"]
    assert [r.pair for r in found.rows] == [(0, 0), (1, 1), (2, 2)]


OBJECT, KEYED = {"t": "Ada", "y": 1843}, {"type": "object", "properties": {"t": TEXT}}


@pytest.mark.parametrize(
    "gold, predicted, left, right",
    [
        ("Ada", OBJECT, [("", "Ada")], [("", '{"t": "Ada", "y": 1843}')]),
        ({"t": "Ada"}, ["Ada", "x"], [("", '{"t": "Ada"}')], [("", "Ada · x")]),
        (7, {}, [("", "7")], [("", "{}")]),
        ({"t": "Ada"}, {}, [("t", "Ada")], [("t", "missing")]),
    ],
)
@pytest.mark.parametrize("items", [TEXT, KEYED, {"anyOf": [TEXT, KEYED]}])
def test_an_object_beside_another_type_is_compared_as_a_whole(
    items: Any, gold: Any, predicted: Any, left: list[Any], right: list[Any]
) -> None:
    item = row(0, 0, gold=gold, predicted=predicted, failed_fields=("rows[]",))
    listed, hidden = lines(item, set())
    for side, expected in ((1, left), (2, right)):
        assert [(line[0], texts(line[side])) for line in listed] == expected
    assert hidden == 0
    found = board(array(items), [gold], [predicted])
    for chosen in found.rows:
        assert found.detail(chosen, set())["rows"]


# --- values ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "gold, predicted, ours, theirs",
    [
        ("Ada", "Ada", "Ada", "Ada"),
        ("Ada", MISSING, "Ada", "missing"),
        (None, "x", "null", "x"),
        (1, "1", "1", '"1"'),
        (1, 1.0, "1", "1.0"),
        (True, 1, "true", "1"),
        ([1], [1, 2], "[1]", "[1, 2]"),
        ({}, {}, "{}", "{}"),
        (math.nan, 1, '"NaN"', "1"),
        ("x" * 99, "x" * 98, "… " + "x" * 10, "… " + "x" * 9),
    ],
)
def test_two_values_are_laid_side_by_side(
    gold: Any, predicted: Any, ours: str, theirs: str
) -> None:
    one, two = sides(gold, predicted, 10, 20)
    assert ("".join(p.text for p in one), "".join(p.text for p in two)) == (ours, theirs)


# --- the chosen pair ---------------------------------------------------------------------------


@pytest.mark.parametrize(
    "profile, undeclared",
    [("paper", {"more": None}), ("strict", {"more[0]": "hallucination"})],
)
def test_each_field_has_its_verdict(profile: str, undeclared: dict[str, Any]) -> None:
    items = {
        "type": "object",
        "properties": {"n": TEXT, "year": {"type": "integer"}, "gone": TEXT, "never": TEXT},
    }
    found = board(
        array(items),
        [{"n": "Ada", "year": 1, "gone": "x"}],
        [{"n": "Ada", "year": "y", "more": [1]}],
        profile,
    )
    found.try_thresholds({"align_threshold": 0.0})
    detail = found.detail(found.rows[0], set())
    told = {r["place"]: r["verdict"] and r["verdict"]["outcome"] for r in detail["rows"]}
    assert told == {"n": "correct", "year": "structural", "gone": "omission"} | undeclared
    assert detail["absent"] == 1
    assert detail["sides"] == ["gold", "predicted"]
    assert texts(detail["rows"][2]["predicted"]) == "missing"


def test_an_item_alone_has_its_side_only() -> None:
    found = board(array(TEXT), ["abc"], [], "paper")
    detail = found.detail(found.rows[0], set())
    assert (title(found.rows[0]), detail["sides"]) == ("Gold item 0", ["gold"])
    assert not detail["scored"]
    assert detail["rows"][0]["verdict"] is None
    assert detail["note"] == ""
    found = board(array(TEXT), ["abc"], [])
    detail = found.detail(found.rows[0], set())
    assert detail["scored"]
    assert detail["rows"][0]["verdict"]["outcome"] == "omission"


@pytest.mark.parametrize("gold, predicted", [("abc", "xyz"), ("xyz", "abc")])
def test_items_that_are_too_unlike_name_each_other(gold: str, predicted: str) -> None:
    found = board(array(TEXT), [gold], [predicted])
    reason = "but the similarity 0.00 is below align_threshold 0.50."
    assert [found.detail(r, set())["note"] for r in found.rows] == [
        f"It would be paired with predicted item 0, {reason}",
        f"It would be paired with gold item 0, {reason}",
    ]


def test_two_metrics_of_a_field_show_its_values_once() -> None:
    both = {"metrics": [{"metric_id": "string_fuzzy"}, {"metric_id": "string_exact"}]}
    items = {
        "type": "object",
        "properties": {"n": {"type": "string", "evaluation_config": both}, "m": TEXT},
    }
    found = board(array(items), [{"n": "Ada", "m": "x"}], [{"n": "Ada.", "m": "x"}])
    rows = found.detail(found.rows[0], set())["rows"]
    assert [(r["place"], r["verdict"]["metric"]) for r in rows] == [
        ("n", "string_fuzzy"),
        ("", "string_exact"),
        ("m", "string_fuzzy"),
    ]
    assert rows[1]["gold"] == []


@pytest.mark.parametrize(
    "length, at_first, in_full",
    [(10, 10, 10), (LIMIT, LIMIT, LIMIT), (5_000, LIMIT, 5_000), (1_000_000, LIMIT, WHOLE)],
)
def test_long_values_are_cut_until_they_are_asked_for(
    length: int, at_first: int, in_full: int
) -> None:
    found = board(array(TEXT), ["x" * length], ["x" * length])
    for whole, shown_length in ((set(), at_first), ({0}, in_full)):
        (only,) = found.detail(found.rows[0], whole)["rows"]
        assert len(texts(only["gold"])) == shown_length
        expected = {"gold": length, "predicted": length} if length > LIMIT and not whole else {}
        assert only["more"] == expected


def test_differences_are_marked_in_an_abstract() -> None:
    text = "We study how structured values are read from long documents. " * 34
    found = board(array(TEXT), [text], [text.replace("study", "studied", 1)])
    for whole in (set(), {0}):
        (only,) = found.detail(found.rows[0], whole)["rows"]
        assert ("changed", "ied") in only["predicted"]


def test_many_fields_are_cut_with_their_number() -> None:
    item = {f"f{i}": i for i in range(500)}
    found = board(array({"type": "object"}), [item], [item])
    detail = found.detail(found.rows[0], set())
    assert (len(detail["rows"]), detail["more"]) == (200, 300)


def test_failed_places_of_items_that_are_one_sided_belong_to_none() -> None:
    ev = xb.evaluate(array(TEXT), {"rows": ["abc"]}, {"rows": ["xyz"]}, profile="strict")
    found = Board(ev, "$.rows")
    assert places_in(ev.fields, "$.rows", ["[0]"]) == [{""}]
    assert not failing(found, 0)
    assert not failing(found, 1)
    spurious = found.detail(found.rows[1], set())
    assert [r["verdict"]["outcome"] for r in spurious["rows"]] == ["hallucination"]
