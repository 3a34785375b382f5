"""Constructs of public schemas that were refused or failed, and schemas made to take long."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import pytest

import extractbench_nb as xb

STRING = {"type": "string"}
NUMBER = {"type": "number"}


def obj(**properties: Any) -> dict[str, Any]:
    return {"type": "object", "properties": properties}


BESIDE = {"oneOf": [{}, {"properties": {}}], "properties": {"w": {}}}
STATES = {**obj(state={"enum": ["AL", "AK"]}), "required": ["state"]}
READABLE = [
    # schema of `a`, label, fields of `a` and below, a value
    pytest.param(BESIDE, "object", ["a", "a", "a.w", "a", "a.w"], {"w": 1}, id="KeyError"),
    pytest.param(
        {**STRING, "oneOf": [STRING, NUMBER]}, "string", ["a"], "x", id="a branch against the type"
    ),
    pytest.param(
        {"$ref": "#/$defs/path", "type": "object"},
        "object",
        ["a", "a.path"],
        {"path": "p"},
        id="a branch against the type beside a reference",
    ),
    pytest.param(
        {"anyOf": [STRING, {"type": "array", "anyOf": [STRING]}]},
        "string | array",
        ["a", "a", "a[]"],
        ["x"],
        id="a branch without a branch",
    ),
    pytest.param(
        {"enum": ["a", "b"], "oneOf": [{"enum": ["a"]}, {"enum": ["c"]}]},
        "string",
        ["a"],
        "a",
        id="a branch against the enum",
    ),
    pytest.param(
        {"allOf": [{"enum": ["a"]}, {"oneOf": [{"enum": ["a"]}, {"const": "b", "enum": ["b"]}]}]},
        "string",
        ["a"],
        "a",
        id="a branch against another part of allOf",
    ),
    pytest.param(
        {**STATES, "oneOf": [obj(state={"enum": ["ON"]}), obj(state={"enum": ["AK"]})]},
        "object",
        ["a", "a", "a.state", "a", "a.state"],
        {"state": "AK"},
        id="a property of a branch",
    ),
    pytest.param(
        {"allOf": [{"items": {"oneOf": [{"type": "array"}, NUMBER]}}, {"items": NUMBER}]},
        "array",
        ["a", "a[]"],
        [1.5],
        id="a branch of items",
    ),
    pytest.param(
        {"allOf": [{"type": ["number", "string"]}, {"type": ["integer", "string"]}]},
        "integer | string",
        ["a"],
        3,
        id="an integer is a number",
    ),
]


@pytest.mark.parametrize("profile", ["paper", "strict"])
@pytest.mark.parametrize("schema, label, fields, value", READABLE)
def test_a_valid_schema_is_read(
    *, schema: Any, label: str, fields: list[str], value: Any, profile: str
) -> None:
    path = {"oneOf": [STRING, obj(path=STRING)]}
    parsed = xb.schema.parse_schema({**obj(a=schema), "$defs": {"path": path}})
    assert parsed.root.children.properties["a"].label == label
    assert parsed.to_frame()["field"].tolist()[1:] == fields
    ev = xb.evaluate(parsed, {"a": value}, {"a": value}, profile=profile)
    assert ev.summary["overall_score"] == 1.0


def test_a_schema_that_unfolds_without_end_is_unfolded_with_the_data() -> None:
    defs = {
        f"d{i}": obj(v=STRING, **{f"p{j}": {"$ref": f"#/$defs/d{i + 1}"} for j in range(10)})
        for i in range(8)
    }
    schema = xb.schema.parse_schema({"$defs": {**defs, "d8": STRING}, "$ref": "#/$defs/d0"})
    assert len(schema.to_frame()) == 1 + 8 * 11
    gold = {"v": "a", "p3": {"p9": {"v": "b"}}}
    fields = xb.evaluate(schema, gold, {"p3": {"p9": {"v": "c"}}}).fields
    wrong = fields.query("outcome != 'both_absent'")
    assert wrong[["path", "outcome"]].to_numpy().tolist() == [
        ["$.v", "omission"],
        ["$.p3.p9.v", "incorrect"],
    ]


def doubled(keyword: str, times: int, schema: Any) -> Any:
    """A schema that holds itself twice, so many times."""
    for _ in range(times):
        schema = {keyword: [schema, schema]}
    return schema


def deep(levels: int, around: Callable[[Any], Any]) -> Any:
    schema: Any = STRING
    for _ in range(levels):
        schema = around(schema)
    return schema


def referring(keyword: str, times: int, **beside: Any) -> Any:
    """Definitions that refer to the next one twice."""
    defs: dict[str, Any] = {}
    for i in range(times):
        ref = {"$ref": f"#/$defs/d{i + 1}"}
        defs[f"d{i}"] = {keyword: [ref, {**ref, "title": "again"}], **beside}
    return {"$defs": {**defs, f"d{times}": STRING}, **obj(a={"$ref": "#/$defs/d0"})}


TOO_DEEP, TOO_MANY = "nested too deep to be read", "has more than 1,000,000 values"
LABORIOUS = [
    # schema, the error's text
    pytest.param(deep(100_000, lambda s: {"items": s}), TOO_DEEP, id="100,000 arrays"),
    pytest.param(deep(100_000, lambda s: obj(a=s)), TOO_DEEP, id="100,000 objects"),
    pytest.param(deep(100_000, lambda s: {"anyOf": [s]}), TOO_DEEP, id="100,000 unions"),
    pytest.param(deep(400, lambda s: {"items": s}), TOO_DEEP, id="400 arrays"),
    pytest.param(deep(199, lambda s: {"items": s}), None, id="199 arrays"),
    pytest.param(doubled("allOf", 25, STRING), TOO_MANY, id="allOf doubled 25 times"),
    pytest.param(doubled("anyOf", 14, STRING), None, id="anyOf doubled 14 times"),
    pytest.param(referring("allOf", 25), None, id="references in allOf"),
    pytest.param(referring("anyOf", 25), "more than 50,000 branches", id="references in anyOf"),
    pytest.param(
        referring("anyOf", 14, type=["object", "string"]),
        "merges more than 5,000 schemas",
        id="references in anyOf, with keywords beside",
    ),
]


@pytest.mark.parametrize("schema, problem", LABORIOUS)
def test_a_laborious_schema_is_read_or_refused_at_once(schema: Any, problem: str | None) -> None:
    start = time.process_time()
    if problem is None:
        xb.schema.parse_schema(schema)
    else:
        with pytest.raises(xb.SchemaError, match=problem):
            xb.schema.parse_schema(schema)
    assert time.process_time() - start < 10  # seconds: once it took minutes
