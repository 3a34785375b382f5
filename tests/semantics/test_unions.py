"""anyOf, oneOf, lists of types; maps; maps of arrays."""

from __future__ import annotations

from typing import Any

import pytest

import extractbench_nb as xb

STRING = {"type": "string", "evaluation_config": "string_exact"}
NUMBER = {"type": "number"}
NULL = {"type": "null"}


def obj(**properties: Any) -> dict[str, Any]:
    return {"type": "object", "properties": properties}


def arr(items: Any, config: Any = None) -> dict[str, Any]:
    return {"type": "array", "items": items} | ({"evaluation_config": config} if config else {})


def rows(schema: Any, gold: Any, predicted: Any) -> list[list[Any]]:
    fields = xb.evaluate(obj(a=schema), {"a": gold}, {"a": predicted}).fields
    return fields[["path", "metric", "outcome"]].to_numpy().tolist()


UNIONS = [
    pytest.param(
        {"anyOf": [STRING, NUMBER]}, "x", "x", [["$.a", "string_exact", "correct"]], id="s"
    ),
    pytest.param(
        {"anyOf": [{"type": "string"}, NUMBER]},
        2.0,
        2,
        [["$.a", "number_tolerance", "correct"]],
        id="the branch that gold fits",
    ),
    pytest.param(
        {"anyOf": [{"type": "string"}, NUMBER]},
        2.0,
        "2",
        [["$.a", "number_tolerance", "correct"]],
        id="a type of another branch is not structural",
    ),
    pytest.param(
        {"anyOf": [{"type": "string"}, NUMBER]},
        2.0,
        True,
        [["$.a", "number_tolerance", "structural"]],
        id="a type of no branch is",
    ),
    pytest.param(
        {"anyOf": [obj(k=STRING), STRING]},
        {"k": "x"},
        {"k": "y"},
        [["$.a.k", "string_exact", "incorrect"]],
        id="object branch is descended into",
    ),
    pytest.param(
        {"anyOf": [obj(k=STRING), STRING, NULL]},
        {"k": "x"},
        "x",
        [["$.a.k", "string_exact", "incorrect"]],
        id="text where gold has an object, both declared",
    ),
    pytest.param(
        {"anyOf": [obj(k=STRING), STRING, NULL]},
        {"k": "x"},
        5,
        [["$.a.k", "string_exact", "structural"]],
        id="number where gold has an object",
    ),
    pytest.param(
        {"anyOf": [obj(k=STRING), STRING]},
        "x",
        "x",
        [["$.a", "string_exact", "correct"]],
        id="scalar branch",
    ),
    pytest.param(
        {"anyOf": [arr(STRING), {"type": "string"}]},
        ["x"],
        ["x"],
        [["$.a", "array_llm", "correct"], ["$.a[0]", "string_exact", "correct"]],
        id="array branch",
    ),
    pytest.param(
        {"anyOf": [STRING, arr(STRING)]},
        [],
        None,
        [["$.a", "string_exact", "both_absent"]],
        id="empty",
    ),
    pytest.param(
        {"oneOf": [obj(kind={"const": "p"}, x=STRING), obj(kind={"const": "q"}, y=STRING)]},
        {"kind": "q", "y": "1"},
        {"kind": "q", "y": "1"},
        [["$.a.kind", "string_semantic", "correct"], ["$.a.y", "string_exact", "correct"]],
        id="discriminated by const",
    ),
    pytest.param(
        {"anyOf": [{**obj(x=STRING), "required": ["x"]}, {**obj(y=STRING), "required": ["y"]}]},
        {"y": "1"},
        {"y": "1"},
        [["$.a.y", "string_exact", "correct"]],
        id="told apart by required",
    ),
    pytest.param(
        {"type": ["integer", "string", "null"]},
        "x",
        "x",
        [["$.a", "string_semantic", "correct"]],
        id="type list",
    ),
    pytest.param(
        {"anyOf": [{"anyOf": [NUMBER, NULL]}, {"type": "string"}]},
        4,
        4.0,
        [["$.a", "number_tolerance", "correct"]],
        id="union in a union",
    ),
    pytest.param(
        {"anyOf": [STRING, NUMBER, NULL], "evaluation_config": "string_case_insensitive"},
        "X",
        "x",
        [["$.a", "string_case_insensitive", "correct"]],
        id="own config",
    ),
]


@pytest.mark.parametrize("schema, gold, predicted, expected", UNIONS)
def test_union(schema: Any, gold: Any, predicted: Any, expected: Any) -> None:
    found = rows(schema, gold, predicted)
    if expected[0][2] == "both_absent":  # which branch names the metric is open there
        assert [r[2] for r in found] == ["both_absent"]
    else:
        assert found == expected


def test_a_union_is_one_node_at_its_own_path() -> None:
    schema = {"anyOf": [STRING, NUMBER, obj(k=STRING), NULL]}
    ev = xb.evaluate(obj(a=schema), {"a": "x"}, {"a": "x"})
    assert ev.fields[["path", "schema_path", "depth"]].to_numpy().tolist() == [
        ["$.a", "$.properties.a", 1]
    ]
    assert ev.summary["evaluated"] == 1


README = {
    "anyOf": [arr(STRING, "array_llm"), {"type": "object", "additionalProperties": arr(STRING)}]
}


def test_map_of_arrays_under_an_array_metric_is_aligned_flattened() -> None:
    gold = {"cash": ["x", "y"], "term": ["z"]}
    predicted = {"Term": ["z", "w"], "cash": ["y"]}
    ev = xb.evaluate(obj(a=README), {"a": gold}, {"a": predicted})
    top = ev.fields[ev.fields["counted"]]
    assert top[["path", "metric"]].to_numpy().tolist() == [["$.a", "array_llm"]]
    counts = ["gold_items", "predicted_items", "matched", "missed", "spurious"]
    assert ev.arrays[counts].to_numpy().tolist() == [[3, 3, 2, 1, 1]]
    assert ev.arrays.loc[0, "score"] == pytest.approx(2 / 3)
    inner = ev.fields[~ev.fields["counted"]]["path"].tolist()
    assert inner == ["$.a['cash'][1]", "$.a['term'][0]"]
    assert ev.summary["overall_score"] == pytest.approx(2 / 3)


def test_items_under_another_key_do_not_match() -> None:
    ev = xb.evaluate(obj(a=README), {"a": {"cash": ["x"]}}, {"a": {"debt": ["x"]}})
    assert ev.arrays.loc[0, ["matched", "partial", "missed", "spurious"]].tolist() == [0, 1, 1, 1]


@pytest.mark.parametrize(
    "gold, predicted, outcome",
    [
        pytest.param({}, {}, "both_absent", id="both empty maps"),
        pytest.param({"k": []}, {"k": []}, "both_absent", id="empty lists"),
        pytest.param({"k": ["x"]}, None, "omission", id="omitted"),
        pytest.param({"k": ["x"]}, {"k": ["x"]}, "correct", id="equal"),
        pytest.param({"k": ["x"]}, ["x"], "incorrect", id="an array for a map"),
        pytest.param({"k": ["x"]}, 5, "structural", id="a number for a map"),
        pytest.param(["x"], ["x"], "correct", id="the array branch"),
    ],
)
def test_map_of_arrays_states(gold: Any, predicted: Any, outcome: str) -> None:
    ev = xb.evaluate(obj(a=README), {"a": gold}, {"a": predicted})
    top = ev.fields[ev.fields["counted"]]
    assert top["outcome"].tolist() in ([outcome], ["correct"] if outcome == "both_absent" else [])
    assert ev.summary["passed"] == (outcome in ("correct", "both_absent"))


MAP = {"type": "object", "additionalProperties": NUMBER}


def test_a_map_is_the_union_of_both_sides_keys() -> None:
    ev = xb.evaluate(obj(m=MAP), {"m": {"a.b": 1, "c": 2}}, {"m": {"c": 3, "d": 4}})
    assert ev.fields[["path", "field", "outcome", "counted"]].to_numpy().tolist() == [
        ["$.m['a.b']", "m.*", "omission", True],
        ["$.m['c']", "m.*", "incorrect", True],
        ["$.m['d']", "m.*", "hallucination", True],
    ]
    assert ev.summary["evaluated"] == 3


def test_declared_properties_beside_a_map() -> None:
    schema = {"type": "object", "properties": {"k": STRING}, "additionalProperties": NUMBER}
    ev = xb.evaluate(obj(m=schema), {"m": {"k": "x", "n": 1}}, {"m": {"k": "x", "n": 1}})
    assert ev.fields[["path", "metric"]].to_numpy().tolist() == [
        ["$.m.k", "string_exact"],
        ["$.m['n']", "number_tolerance"],
    ]


def test_map_of_objects_and_of_arrays() -> None:
    schema = {"type": "object", "additionalProperties": obj(v=NUMBER, t=arr(STRING))}
    ev = xb.evaluate(
        obj(m=schema), {"m": {"p": {"v": 1, "t": ["x"]}}}, {"m": {"p": {"v": 1, "t": []}}}
    )
    assert ev.fields[["path", "outcome"]].to_numpy().tolist() == [
        ["$.m['p'].v", "correct"],
        ["$.m['p'].t", "omission"],
    ]
    plain = {"type": "object", "additionalProperties": arr(STRING)}
    ev = xb.evaluate(obj(m=plain), {"m": {"p": ["x", "y"]}}, {"m": {"p": ["y", "x"]}})
    assert ev.arrays[["path", "matched"]].to_numpy().tolist() == [["$.m['p']", 2]]


def test_key_order_of_a_map_does_not_matter() -> None:
    one = xb.evaluate(obj(m=MAP), {"m": {"a": 1, "b": 2}}, {"m": {"b": 2, "a": 1}})
    assert one.summary["passed"] == 2


def test_prefix_items_are_compared_by_position() -> None:
    schema = {"type": "array", "prefixItems": [STRING, STRING], "items": NUMBER}
    ev = xb.evaluate(obj(t=schema), {"t": ["x", "y", 1, 2]}, {"t": ["y", "x", 2, 1]})
    assert ev.arrays.loc[0, ["gold_items", "matched"]].tolist() == [4, 2]
    matched = ev.matches[ev.matches["status"] == "matched"]
    assert matched[["gold_index", "predicted_index"]].to_numpy().tolist() == [[2, 3], [3, 2]]


def test_skip_leaves_the_node_out() -> None:
    schema = obj(
        a={**STRING, "evaluation_config": "skip"},
        b={**arr(STRING), "evaluation_config": "skip"},
        c=STRING,
    )
    ev = xb.evaluate(schema, {"a": "1", "b": ["2"], "c": "3"}, {"a": "9", "b": ["9"], "c": "3"})
    assert ev.fields["path"].tolist() == ["$.c"]
    assert ev.arrays.empty


def test_skip_on_an_object_leaves_out_what_is_below() -> None:
    schema = obj(a={**obj(k=STRING), "evaluation_config": "skip"}, c=STRING)
    ev = xb.evaluate(schema, {"a": {"k": "1"}, "c": "3"}, {"a": {"k": "2"}, "c": "3"})
    assert ev.fields["path"].tolist() == ["$.c"]


def test_a_scalar_metric_of_one_branch_does_not_score_the_array_branch() -> None:
    """As text an array would depend on the order of its items."""
    schema = {"anyOf": [STRING, arr({"type": "integer"}), NULL]}
    assert rows(schema, [1, 2], [2, 1])[0] == ["$.a", "array_llm", "correct"]
