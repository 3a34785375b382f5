"""Profile ``strict``: F1 for arrays, item leaves counted, what nobody asked for is a fault."""

from __future__ import annotations

from typing import Any

import pytest

import extractbench_nb as xb
from extractbench_nb.profiles import PROFILES

STRING = {"type": "string", "evaluation_config": "string_exact"}


def obj(**properties: Any) -> dict[str, Any]:
    return {"type": "object", "properties": properties}


def arr(items: Any) -> dict[str, Any]:
    return {"type": "array", "items": items}


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


def test_two_right_rows_among_five_hundred_invented_ones() -> None:
    gold = {"name": "N", "r": [record("a", "1"), record("b", "2")]}
    invented = [record("qw"[i % 2], str(i + 100)) for i in range(500)]
    predicted = {"name": "N", "r": [*invented[:250], *gold["r"], *invented[250:]]}
    paper = xb.evaluate(SCHEMA, gold, predicted).summary
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
    pytest.param({}, {"z": None}, [], id="null is no leaf"),
    pytest.param(
        {}, {"z": {"p": 1, "q": [2, {"s": 3}]}}, ["$.z.p", "$.z.q[0]", "$.z.q[1].s"], id="t"
    ),
    pytest.param({"z": {"p": 1}}, {"z": {"p": 1, "q": 2}}, ["$.z.q"], id="part of a tree"),
]


@pytest.mark.parametrize("gold, predicted, paths", UNDECLARED)
def test_undeclared_predicted_leaves(gold: Any, predicted: Any, paths: list[str]) -> None:
    schema = obj(name=STRING)
    found = counted(schema, {"name": "N", **gold}, {"name": "N", **predicted})
    assert found == [["$.name", "correct"], *([p, "hallucination"] for p in paths)]
    paper = counted(schema, {"name": "N", **gold}, {"name": "N", **predicted}, "paper")
    assert paper == [["$.name", "correct"]]


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
    released = ["extract-bench-0.1.0", "extract-bench-readme"]
    assert table.columns.tolist() == ["paper", "strict", *released, "meaning"]
    assert table.loc["array_score", ["paper", "strict"]].tolist() == ["recall", "f1"]
    assert not table["meaning"].isna().any()


@pytest.mark.parametrize("profile", PROFILES)
def test_identical_documents_pass_in_every_profile(profile: str) -> None:
    gold = {"name": "N", "r": [record("a", "1"), record("b", "2")]}
    s = xb.evaluate(SCHEMA, gold, {**gold}, profile=profile).summary
    assert s[["overall_score", "field_score", "pass_rate"]].tolist() == [1, 1, 1]
