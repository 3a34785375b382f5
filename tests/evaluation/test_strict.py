"""Profile ``strict``: F1 for arrays, item leaves counted, what nobody asked for is a fault."""

from __future__ import annotations

import copy
from typing import Any

import pytest

import extractbench_nb as xb
from extractbench_nb.core.profile_rules import PROFILES
from tests.evaluation.schemas import STRING, arr, obj

PAIR = obj(k=STRING, n=STRING)
SCHEMA = obj(name=STRING, r=arr(PAIR))


def record(letter: str, number: str) -> dict[str, str]:
    return {"k": letter * 8, "n": number}


def counted(schema: Any, gold: Any, predicted: Any, profile: str = "strict") -> list[list[Any]]:
    fields = xb.evaluate(schema, gold, predicted, profile=profile).fields
    return fields.loc[fields["counted"], ["path", "outcome"]].to_numpy().tolist()


def test_item_leaves_count_in_place_of_the_array() -> None:
    gold = {"name": "N", "r": [record("a", "1"), record("b", "2"), record("c", "3")]}
    predicted = {"name": "N", "r": [record("b", "2"), record("a", "9"), record("z", "8")]}
    ev = xb.evaluate(SCHEMA, gold, predicted, profile="strict")
    rows = ev.fields[["path", "outcome", "counted"]].to_numpy().tolist()
    assert rows[:2] == [["$.name", "correct", True], ["$.r", "incorrect", False]]
    below = {tuple(row[:2]) for row in rows[2:] if row[2]}
    assert {
        ("$.r[0].k", "correct"),
        ("$.r[0].n", "incorrect"),
        ("$.r[1].k", "correct"),
        ("$.r[1].n", "correct"),
        ("$.r[2].k", "omission"),
        ("$.r[2].n", "omission"),
    } <= below
    assert len(rows) == len(below) + 2 == 10
    s = ev.summary
    assert (s["evaluated"], s["passed"], s["omissions"], s["hallucinations"]) == (9, 4, 2, 2)
    assert ev.arrays.loc[0, "score"] == pytest.approx(2 / 6)


def test_an_array_in_place_of_which_stands_another_type_has_a_score() -> None:
    schema = obj(r=arr(arr(STRING)))
    ev = xb.evaluate(schema, {"r": [["x", "y"], ["z"]]}, {"r": [True, ["z"]]}, alignment=_in_order)
    assert ev.arrays[["path", "score"]].to_numpy().tolist() == [
        ["$.r", 0.5], ["$.r[0]", 0.0], ["$.r[1]", 1.0],
    ]  # fmt: skip


def _in_order(gold: Any, predicted: Any, node: Any) -> list[tuple[int, int]]:
    return [(i, i) for i in range(min(len(gold), len(predicted)))]


def test_two_right_rows_among_five_hundred_invented_ones() -> None:
    gold = {"name": "N", "r": [record("a", "1"), record("b", "2")]}
    invented = [record("qw"[i % 2], str(i + 100)) for i in range(500)]
    predicted = {"name": "N", "r": [*invented[:250], *gold["r"], *invented[250:]]}
    paper = xb.evaluate(SCHEMA, gold, predicted, profile="paper").summary
    strict = xb.evaluate(SCHEMA, gold, predicted, profile="strict").summary
    assert paper["overall_score"] == 1.0
    assert strict["overall_score"] == pytest.approx(5 / 1005)
    assert strict["hallucinations"] == 1000


@pytest.mark.parametrize("gold, predicted", [({"r": []}, {}), ({}, {"r": None}), ({}, {})])
def test_an_array_without_leaves_stays_a_node(gold: Any, predicted: Any) -> None:
    assert counted(SCHEMA, {"name": "N", **gold}, {"name": "N", **predicted}) == [
        ["$.name", "correct"],
        ["$.r", "both_absent"],
    ]


def test_whole_array_omitted_or_invented() -> None:
    items = {"name": "N", "r": [record("a", "1"), {"k": "b"}]}
    assert counted(SCHEMA, items, {"name": "N"}) == [
        ["$.name", "correct"],
        ["$.r[0].k", "omission"],
        ["$.r[0].n", "omission"],
        ["$.r[1].k", "omission"],
    ]
    found = counted(SCHEMA, {"name": "N"}, items)
    assert [outcome for _, outcome in found] == ["correct"] + ["hallucination"] * 3


def test_nested_arrays_of_missed_items() -> None:
    schema = obj(r=arr(obj(k=STRING, t=arr(STRING))))
    gold = {"r": [{"k": "aaaa", "t": ["1", "2"]}, {"k": "bbbb", "t": ["3"]}]}
    assert sorted(counted(schema, gold, {"r": gold["r"][:1]})) == [
        ["$.r[0].k", "correct"],
        ["$.r[0].t[0]", "correct"],
        ["$.r[0].t[1]", "correct"],
        ["$.r[1].k", "omission"],
        ["$.r[1].t[0]", "omission"],
    ]


UNDECLARED = [
    # gold, predicted, hallucinated paths
    pytest.param({}, {"z": "1"}, ["$.z"], id="a leaf"),
    pytest.param({"z": "2"}, {"z": "1"}, [], id="gold has something there"),
    pytest.param({"z": None}, {"z": "1"}, ["$.z"], id="gold has null there"),
    pytest.param({"z": {"p": 1}}, {"z": "1"}, [], id="gold has an object there"),
    pytest.param({"z": [[{"p": 1}]]}, {"z": ["1"]}, [], id="gold has an array there"),
    pytest.param(
        {"z": [{"p": 1}]}, {"z": [{"p": 1}, "2"]}, ["$.z[1]"], id="gold has an object beside it"
    ),
    pytest.param({"z": [{"p": 1}]}, {"z": ["1", "2"]}, ["$.z[1]"], id="gold has one object there"),
    pytest.param({"z": [{}]}, {"z": ["1"]}, ["$.z[0]"], id="gold has an empty object there"),
    pytest.param({"z": 1}, {"z": {"p": 2}}, ["$.z.p"], id="gold has nothing below"),
    pytest.param({}, {"z": None}, [], id="null is no leaf"),
    pytest.param(
        {}, {"z": {"p": 1, "q": [2, {"s": 3}]}}, ["$.z.p", "$.z.q[0]", "$.z.q[1].s"], id="t"
    ),
    pytest.param({"z": {"p": 1}}, {"z": {"p": 1, "q": 2}}, ["$.z.q"], id="part of a tree"),
]


@pytest.mark.parametrize("kinds", [[STRING, obj(x=STRING)], [arr(STRING), obj(x=STRING)]])
def test_an_invented_object_without_declared_keys_counts_once(kinds: list[Any]) -> None:
    schema, predicted = obj(name=STRING, p={"anyOf": kinds}), {"name": "N", "p": {"z": {"v": 1}}}
    assert counted(schema, {"name": "N"}, predicted) == [
        ["$.name", "correct"],
        ["$.p", "hallucination"],
    ]


@pytest.mark.parametrize("gold, predicted, paths", UNDECLARED)
def test_undeclared_predicted_leaves(gold: Any, predicted: Any, paths: list[str]) -> None:
    schema = obj(name=STRING)
    found = counted(schema, {"name": "N", **gold}, {"name": "N", **predicted})
    assert found == [["$.name", "correct"], *([p, "hallucination"] for p in paths)]
    paper = counted(schema, {"name": "N", **gold}, {"name": "N", **predicted}, "paper")
    assert paper == [["$.name", "correct"]]


def test_leaves_that_gold_lacks_where_the_schema_has_null() -> None:
    schema, gold = obj(name=STRING, z={"type": "null"}), {"name": "N", "z": [["1"]]}
    assert counted(schema, gold, copy.deepcopy(gold)) == [["$.name", "correct"]]
    found = counted(schema, gold, {"name": "N", "z": [["1", "2"]]})
    assert found == [["$.name", "correct"], ["$.z[0][1]", "hallucination"]]


def test_undeclared_leaf_of_an_item() -> None:
    gold = {"name": "N", "r": [record("a", "1")]}
    predicted = {"name": "N", "r": [{**record("a", "1"), "x": "2"}]}
    assert ["$.r[0].x", "hallucination"] in counted(SCHEMA, gold, predicted)


def test_undeclared_key_that_gold_keeps_everything_under() -> None:
    """Four of the five sports golds: nothing but the name is declared."""
    gold = {"name": "N", "events": [{"e": "100 m", "t": 49.2}]}
    ev = xb.evaluate(SCHEMA, gold, {"name": "N"}, profile="strict")
    assert ev.summary["pass_rate"] == 1.0
    assert ev.summary["gold_coverage"] == pytest.approx(1 / 3)
    assert ev.warnings[["side", "path", "kind"]].to_numpy().tolist() == [
        ["gold", "$.events", "undeclared"]
    ]


def test_profiles_are_one_table_of_rules() -> None:
    table = xb.profiles()
    assert table.columns.tolist() == ["strict", "paper", "meaning"]
    assert len(table) == 3
    assert table.loc["array_score", ["paper", "strict"]].tolist() == ["recall", "f1"]
    assert not table["meaning"].isna().any()


@pytest.mark.parametrize("profile", PROFILES)
def test_identical_documents_pass_in_every_profile(profile: str) -> None:
    gold = {"name": "N", "r": [record("a", "1"), record("b", "2")]}
    s = xb.evaluate(SCHEMA, gold, {**gold}, profile=profile).summary
    assert s[["overall_score", "field_score", "pass_rate"]].tolist() == [1, 1, 1]


PERFECT = [
    pytest.param(
        obj(m={"type": "object", "additionalProperties": {"type": "object"}}),
        {"m": {"EUR": {"USD": 1.1}, "odd key": {"a.b": [1, {"": 2}]}}},
        id="a map of free objects",
    ),
    pytest.param(
        obj(r=arr({"type": "object", "additionalProperties": obj(k=STRING)})),
        {"r": [{"a": {"k": "x", "more": {"b": 1}}}]},
        id="undeclared keys below a map in an item",
    ),
]


@pytest.mark.parametrize("schema, gold", PERFECT)
def test_what_gold_has_is_not_invented(schema: Any, gold: Any) -> None:
    ev = xb.evaluate(schema, gold, copy.deepcopy(gold), profile="strict")
    assert ev.summary[["pass_rate", "field_score", "hallucinations"]].tolist() == [1, 1, 0]


BRANCHES = [
    pytest.param(obj(a=STRING), obj(b=STRING, c=STRING), id="two objects"),
    pytest.param(
        {**obj(a=STRING), "required": ["a"]}, {**obj(b=STRING), "required": ["b"]}, id="required"
    ),
    pytest.param(obj(a=STRING), {"anyOf": [obj(b=STRING), obj(c=STRING)]}, id="a union in one"),
]


@pytest.mark.parametrize("own", [{"a": "h"}, {}], ids=["beside gold's", "in place of gold's"])
@pytest.mark.parametrize("one, two", BRANCHES)
def test_leaves_of_another_branch_are_invented(one: Any, two: Any, own: Any) -> None:
    schema, gold = obj(u={"anyOf": [one, two]}), {"u": {"a": "h"}}
    predicted = {"u": {**own, "b": "1", "c": "2"}}
    ev = xb.evaluate(schema, gold, predicted, profile="strict")
    assert ev.fields[["path", "outcome"]].to_numpy().tolist() == [
        ["$.u.a", "correct" if own else "omission"],
        ["$.u.b", "hallucination"],
        ["$.u.c", "hallucination"],
    ]
    undeclared = ev.warnings[ev.warnings["kind"] == "undeclared"]
    assert undeclared[["side", "path"]].to_numpy().tolist() == [
        ["predicted", "$.u.b"],
        ["predicted", "$.u.c"],
    ]
    in_items = xb.evaluate(obj(r=arr(schema)), {"r": [gold]}, {"r": [predicted]}, profile="strict")
    assert in_items.summary["hallucinations"] == 2


def test_an_item_of_another_kind_keeps_the_leaves_of_gold() -> None:
    gold = {"name": "N", "r": [record("a", "1"), record("b", "2")]}
    predicted = {"name": "N", "r": [record("a", "1"), "bbbbbbbb 2"]}
    assert counted(SCHEMA, gold, predicted)[-2:] == [
        ["$.r[1].k", "structural"],
        ["$.r[1].n", "structural"],
    ]
    texts = {"name": "N", "r": [record("a", "1"), "bbbbbbbb 2"]}
    assert counted(SCHEMA, texts, gold)[-1] == ["$.r[1]", "incorrect"]


def test_leaves_of_a_broken_array_show_where_it_stands() -> None:
    rows = arr({"anyOf": [obj(k=STRING), arr({"type": "string"})]})
    gold, predicted = {"r": [{}, ["x"]]}, {"r": [{"k": "x"}, ["y", "z"]]}
    ev = xb.evaluate(obj(r=rows), gold, predicted, profile="strict")
    row = ev.fields.set_index("path").loc["$.r[1][0]"]
    assert row[["gold", "predicted"]].tolist() == ["x", {"k": "x"}]
    assert row["predicted_path"] == "$.r[0][0]"  # not $.r[1][0], where the prediction has y


def test_fields_of_an_item_that_are_absent_on_both_sides_do_not_count() -> None:
    """They have no row where the item is missed: naming it must not earn them."""
    gold = {"name": "N", "r": [{"k": "aaaaaaaa"}]}
    for item in ({"k": "aaaaaaab"}, {"k": "zzzz"}, None):
        found = counted(SCHEMA, gold, {"name": "N", "r": [item] if item else []})
        assert "both_absent" not in [outcome for _, outcome in found]
    assert counted(SCHEMA, gold, gold) == [["$.name", "correct"], ["$.r[0].k", "correct"]]


def test_an_array_whose_items_hold_nothing_counts_itself() -> None:
    """Else one invented leaf would take the place of ten missed items."""
    gold = {"name": "N", "r": [{}] * 10}
    omitted = xb.evaluate(SCHEMA, gold, {"name": "N"}, profile="strict").summary
    invented = {"name": "N", "r": [{"k": "zzzz"}]}
    assert (
        xb.evaluate(SCHEMA, gold, invented, profile="strict").summary["overall_score"]
        < (omitted["overall_score"])
    )
    assert counted(SCHEMA, gold, gold)[-1] == ["$.r", "correct"]


INNER = obj(a=STRING)
TWO = {"anyOf": [obj(a=STRING), obj(b=STRING)]}
TREE = {"$ref": "#/$defs/tree"}
DEFS = {"$defs": {"tree": obj(v=STRING, next=TREE)}}
MAP = {"type": "object", "additionalProperties": INNER}
MISFITS = [
    # schema of p, gold, predicted, hallucinated paths
    pytest.param(INNER, None, "t", ["$.p"], id="a scalar for an object"),
    pytest.param(INNER, {}, "t", ["$.p"], id="gold is empty"),
    pytest.param(INNER, {"a": None}, "t", ["$.p"], id="gold holds nothing"),
    pytest.param(INNER, {"a": "x"}, "t", [], id="gold has a value: structural below"),
    pytest.param(INNER, None, [1, {"z": 2}], ["$.p[0]", "$.p[1].z"], id="a list for an object"),
    pytest.param(INNER, None, [None, {}], [], id="nothing for an object"),
    pytest.param(obj(o=INNER), None, {"o": 5}, ["$.p.o"], id="below an object"),
    pytest.param(TWO, None, 5, ["$.p"], id="a scalar for a union of objects"),
    pytest.param(TREE, None, 5, ["$.p"], id="a scalar for a tree"),
    pytest.param(TREE, None, {"next": 5}, ["$.p.next"], id="a scalar in a tree"),
    pytest.param({"type": "null"}, None, "t", ["$.p"], id="a scalar for null"),
    pytest.param({"type": "null"}, None, {"k": 1}, ["$.p.k"], id="an object for null"),
    pytest.param(MAP, None, 5, ["$.p"], id="a scalar for a map"),
    pytest.param(MAP, {}, {"k": 5}, ["$.p['k']"], id="a scalar for an entry"),
    pytest.param({**INNER, "evaluation_config": "skip"}, None, 5, [], id="skipped"),
    pytest.param(
        arr(INNER),
        [{"a": "x"}],
        [{"a": "x"}, 5, "t", [1], None, {}],
        ["$.p[+1]", "$.p[+2]", "$.p[+3][0]"],
        id="spurious items",
    ),
    pytest.param(
        arr(obj(o=INNER)),
        [{"o": {"a": "x"}}],
        [{"o": {"a": "x"}}, {"o": 5}],
        ["$.p[+1].o"],
        id="a scalar for an object in a spurious item",
    ),
    pytest.param(arr({"type": "null"}), [None], [None, 5], ["$.p[+1]"], id="items that are null"),
    pytest.param(
        arr(arr(INNER)),
        [[{"a": "x"}]],
        [[{"a": "x"}], [5]],
        ["$.p[+1]", "$.p[+1][+0]"],
        id="of items",
    ),
]


@pytest.mark.parametrize("schema, gold, predicted, paths", MISFITS)
def test_values_of_a_wrong_type_where_gold_has_nothing(
    schema: Any, gold: Any, predicted: Any, paths: list[str]
) -> None:
    documents = {"name": "N", "p": gold}, {"name": "N", "p": predicted}
    ev = xb.evaluate(obj(name=STRING, p=schema) | DEFS, *documents, profile="strict")
    rows = ev.fields[ev.fields["counted"] & (ev.fields["outcome"] == "hallucination")]
    assert [path for path in rows["path"] if path != "$.p" or not ev.arrays.size] == paths
    assert not rows["path"].duplicated().any()


def test_an_invented_leaf_is_the_one_at_whose_path_gold_has_nothing() -> None:
    gold, predicted = {"z": [[], "x"]}, {"z": ["x", "x"]}
    ev = xb.evaluate({"type": "object"}, gold, predicted, profile="strict")
    rows = ev.fields[ev.fields["outcome"] == "hallucination"]
    assert rows["path"].tolist() == ["$.z[0]"]
