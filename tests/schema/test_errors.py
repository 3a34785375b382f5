"""Bad schemas: each raises one error that says where, what was found and what would be right."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from pydantic import BaseModel

import extractbench_nb as xb

STRING = {"type": "string"}


def obj(**properties: Any) -> dict[str, Any]:
    return {"type": "object", "properties": properties}


class Model(BaseModel):
    x: int = 1


class Unwritable(BaseModel):
    call: Callable[[], None]


SCHEMAS = [
    (5, "", "found number; expected an object (a JSON Schema)"),
    ({"type": "strin"}, "/type", "unknown type 'strin'; did you mean 'string'?"),
    (
        obj(a={"type": ["string", "strng"]}),
        "/properties/a/type",
        "unknown type 'strng'; did you mean 'string'?",
    ),
    (obj(a=5), "/properties/a", "found 5; expected a schema"),
    (
        {"type": "object", "required": "a"},
        "/required",
        "found 'a'; expected a list of property names",
    ),
    (
        {"$defs": {"name": STRING}, **obj(a={"$ref": "#/$defs/nam"})},
        "/properties/a/$ref",
        "'#/$defs/nam' leads nowhere: no 'nam'; did you mean 'name'?",
    ),
    (
        obj(a={"$ref": "#/properties/b/anyOf/7"}, b={"anyOf": [STRING]}),
        "/properties/a/$ref",
        "'#/properties/b/anyOf/7' leads nowhere: nothing at '7'",
    ),
    (
        obj(a={"$ref": "https://example.org/s.json"}),
        "/properties/a/$ref",
        "found 'https://example.org/s.json'; expected a pointer into this document",
    ),
    (obj(a={"$ref": 5}), "/properties/a/$ref", "found 5; expected a pointer"),
    (
        {"$defs": {"a": {"$ref": "#/$defs/a"}}, **obj(x={"$ref": "#/$defs/a"})},
        "/$defs/a",
        "refers to itself without any structure in between",
    ),
    (
        {
            "$defs": {"a": {"allOf": [{"$ref": "#/$defs/b"}]}, "b": {"$ref": "#/$defs/a"}},
            **obj(x={"$ref": "#/$defs/a"}),
        },
        "/$defs/a",
        "refers to itself without any structure in between",
    ),
    (
        obj(a={**STRING, "allOf": [{"type": "integer"}]}),
        "/properties/a/allOf/0/type",
        "found 'integer' where another part of allOf says 'string'",
    ),
    (
        obj(a={"allOf": [{"enum": [1]}, {"enum": [2]}]}),
        "/properties/a/allOf/1/enum",
        "shares no value with another part of allOf",
    ),
    (
        obj(a={"allOf": [{"const": 1}, {"const": 2}]}),
        "/properties/a/allOf/1/const",
        "found 2; another part of allOf says 1",
    ),
    (
        obj(a={"allOf": [obj(x=STRING), obj(x={"type": "number"})]}),
        "/properties/a/allOf/1/properties/x/type",
        "found 'number' where another part of allOf says 'string'",
    ),
    ({"anyOf": [{"$ref": "#"}, STRING]}, "", "refers to itself without any structure in between"),
    (
        {
            "$defs": {
                f"d{i}": {"anyOf": [{"$ref": f"#/$defs/d{i + 1}", "title": t} for t in "ab"]}
                for i in range(16)
            }
            | {"d16": STRING},
            **obj(x={"$ref": "#/$defs/d0"}),
        },
        "/$defs/d0",
        "has more than 50,000 branches, with those of its branches",
    ),
    (
        {
            "$defs": {
                "a": {"oneOf": [{"$ref": "#/$defs/b"}, STRING]},
                "b": {"anyOf": [{"$ref": "#/$defs/a"}]},
            },
            **obj(x={"$ref": "#/$defs/a"}),
        },
        "/$defs/a",
        "refers to itself without any structure in between",
    ),
    (
        {"allOf": [{"type": {}}, {"type": "object"}]},
        "/allOf/0/type",
        "unknown type {}; expected one of array",
    ),
    (
        {
            "$defs": {"t": obj(kid={"$ref": "#/$defs/t"}, bad={"type": 7})},
            **obj(a={"$ref": "#/$defs/t"}),
        },
        "/$defs/t/properties/bad/type",
        "unknown type 7",
    ),
    (obj(a={"not": 5}), "/properties/a/not", "found 5; expected a schema"),
    (
        obj(a={"if": {"properties": 1}}),
        "/properties/a/if/properties",
        "found 1; expected an object of schemas",
    ),
    (obj(a={"$recursiveRef": "#"}), "/properties/a/$recursiveRef", "found '#'; expected '$ref'"),
    (obj(a={"$dynamicRef": "#x"}), "/properties/a/$dynamicRef", "found '#x'; expected '$ref'"),
    (
        {**obj(a={"items": [STRING]}), "$schema": "https://json-schema.org/draft/2020-12/schema"},
        "/properties/a/items",
        "found a list; expected a schema ('prefixItems' takes a list)",
    ),
    (obj(a={"$ref": "#name"}), "/properties/a/$ref", "found '#name'; expected a"),
    *(
        (obj(a={key: value}), f"/properties/a/{key}", f"found {value!r}; expected {what}")
        for key, value, what in [
            ("properties", [], "an object of schemas"),
            ("items", 5, "a schema"),
            ("prefixItems", {}, "a list of schemas"),
            ("anyOf", {}, "a list of schemas"),
            ("enum", "x", "a list"),
            ("minLength", "3", "a number that is 0 or more"),
            ("maxItems", -1, "a number that is 0 or more"),
            ("minimum", "0", "a number"),
            ("multipleOf", None, "a number"),
            ("uniqueItems", 1, "true or false"),
            ("pattern", ["x"], "a string"),
            ("format", 5, "a string"),
            ("patternProperties", ["^x"], "an object of schemas"),
            ("additionalProperties", "yes", "a schema"),
            ("dependentRequired", [], "an object of lists of property names"),
        ]
    ),
    (obj(a={"allOf": []}), "/properties/a/allOf", "found []; expected a list of"),
    *(
        (
            obj(a={"patternProperties": {"^x": {}, pattern: {}}}),
            f"/properties/a/patternProperties/{pattern.replace('/', '~1')}",
            f"pattern {pattern!r} cannot be read",
        )
        for pattern in ("(", "[a", "a/*+?", "*")
    ),
    (Model(), "", "found an instance of the model Model; pass the class"),
    (BaseModel, "", "the model BaseModel has no JSON Schema: "),
    (Unwritable, "", "the model Unwritable has no JSON Schema: "),
    (
        int,
        "",
        "found a type; expected an object (a JSON Schema), a Pydantic model class or a TypeAdapter",
    ),
    (list[int], "", "found a GenericAlias; expected an object"),
    ({1}, "", "found a set; expected an object"),
]


@pytest.mark.parametrize("schema, pointer, problem", SCHEMAS)
def test_schema_error(schema: Any, pointer: str, problem: str) -> None:
    with pytest.raises(xb.SchemaError) as caught:
        xb.schema.parse_schema(schema)
    assert str(caught.value).startswith(f"at #{pointer}: {problem}")
    assert caught.value.pointer == pointer


AT = "/properties/a~1b/evaluation_config"
KNOWN = "expected one of array_llm, boolean_exact"
CONFIGS = [
    ("string_exct", "", "unknown preset 'string_exct'; did you mean 'string_exact'"),
    ("nothing_near", "", f"unknown preset 'nothing_near'; {KNOWN}"),
    (5, "", "found 5; expected a preset name or an object with 'metric_id'"),
    (
        {"metric_id": "strng_exact"},
        "/metric_id",
        "unknown metric 'strng_exact'; did you mean 'string_exact'",
    ),
    ({"metric_id": 5}, "/metric_id", f"unknown metric 5; {KNOWN}"),
    (
        {"metric_id": "number_tolerance", "params": {"tolerence": 1}},
        "/params",
        "number_tolerance has no param 'tolerence'; did you mean 'tolerance'?",
    ),
    (
        {"metric_id": "number_tolerance", "params": {"tolerance": -1}},
        "/params",
        "number_tolerance: tolerance is -1; expected a number that is 0 or more",
    ),
    (
        {"metric_id": "number_tolerance", "params": {"mode": "rel"}},
        "/params",
        "number_tolerance: mode is 'rel'; expected one of 'relative', 'absolute'",
    ),
    (
        {"metric_id": "string_fuzzy", "params": {"threshold": True}},
        "/params",
        "string_fuzzy: threshold is True; expected a number from 0 to 1",
    ),
    (
        {"metrics": [{"metric_id": "array_llm", "params": {"align_threshold": 1.5}}]},
        "/metrics/0/params",
        "array_llm: align_threshold is 1.5; expected a number from 0 to 1",
    ),
    ({"metric_id": "date", "params": []}, "/params", "found []; expected an object of"),
    ({"metric": "date"}, "", "unknown key 'metric'; did you mean 'metrics' or 'metric_id'?"),
    (
        {"metrics": [{"metric_id": "date", "wieght": 1}]},
        "/metrics/0",
        "unknown key 'wieght'; did you mean 'weight'?",
    ),
    ({"metrics": []}, "/metrics", "found []; expected a list of at least one metric"),
    (
        {"metrics": [{"weight": 1}]},
        "/metrics/0",
        "found {'weight': 1}; expected an object with 'metric_id'",
    ),
    (
        {"metrics": [{"metric_id": "date", "weight": -1}]},
        "/metrics/0/weight",
        "found -1; expected a number that is 0 or more",
    ),
    (
        {"metrics": [{"metric_id": "date"}], "aggregation_weight": "2"},
        "/aggregation_weight",
        "found '2'; expected a number that is 0 or more",
    ),
    (
        {"metric_id": "date", "metrics": [{"metric_id": "date"}]},
        "",
        "has 'metrics' and 'metric_id'; expected one of them",
    ),
    (
        {"preset": "string_fuzzy", "params": {"threshold": 0.9}},
        "",
        "unknown key 'params'; expected preset",
    ),
]


@pytest.mark.parametrize("config, below, problem", CONFIGS)
def test_config_error(config: Any, below: str, problem: str) -> None:
    with pytest.raises(xb.ConfigError) as caught:
        xb.evaluate(obj(**{"a/b": {**STRING, "evaluation_config": config}}), {}, {})
    assert str(caught.value).startswith(f"at #{AT}{below}: {problem}")


def test_schema_text_that_is_not_json() -> None:
    with pytest.raises(xb.InputError, match=r"schema text is not JSON: .* at line 2 column 1$"):
        xb.schema.parse_schema("{\n]")


def test_a_file_name_as_text_gets_a_hint() -> None:
    with pytest.raises(xb.InputError, match=r"a str is JSON text; for a file pass pathlib\.Path"):
        xb.schema.parse_schema("schema.json")


def test_schema_file_missing(tmp_path: Path) -> None:
    with pytest.raises(xb.InputError, match=r"schema file '.*gone.json' cannot be read: No such"):
        xb.schema.parse_schema(tmp_path / "gone.json")


def test_schema_file_that_is_not_json(tmp_path: Path) -> None:
    path = tmp_path / "bad.json"
    path.write_text("{", encoding="utf-8")
    with pytest.raises(xb.InputError, match=r"schema file '.*bad.json' is not JSON: .*line 1"):
        xb.schema.parse_schema(path)


def test_schema_nested_beyond_reason() -> None:
    schema: dict[str, Any] = {"type": "string"}
    for _ in range(3_000):
        schema = {"type": "array", "items": schema}
    with pytest.raises(xb.SchemaError, match="nested too deep"):
        xb.schema.parse_schema(schema)


def test_a_schema_that_contains_itself_is_refused() -> None:
    schema: dict[str, Any] = {"type": "object"}
    schema["properties"] = {"a": schema}
    with pytest.raises(xb.SchemaError, match="schema is circular"):
        xb.schema.parse_schema(schema)


def test_combinations_of_all_of_without_end_are_refused() -> None:
    """Rings of references of several lengths meet again after the product of their lengths."""
    defs = {
        f"r{k}_{i}": obj(n={"$ref": f"#/$defs/r{k}_{(i + 1) % k}"})
        for k in (2, 3, 5, 7, 11, 13)
        for i in range(k)
    }
    rings = [{"$ref": f"#/$defs/r{k}_0"} for k in (2, 3, 5, 7, 11, 13)]
    with pytest.raises(xb.SchemaError, match="merges more than 5,000 schemas through its allOfs"):
        xb.schema.parse_schema({"$defs": defs, "allOf": rings})


@pytest.mark.parametrize(
    "error", [xb.SchemaError("/a", "found 1"), xb.ConfigError("/a", "found 1")], ids=repr
)
def test_errors_are_value_errors_that_keep_their_pointer(error: xb.SchemaError) -> None:
    assert isinstance(error, xb.ExtractBenchError)
    assert isinstance(error, ValueError)
    assert str(error) == "at #/a: found 1"


def test_an_error_in_a_file_names_it(tmp_path: Path) -> None:
    file = tmp_path / "invoice-schema.json"
    total = {"type": "number", "evaluation_config": "numbr_exact"}
    file.write_text(json.dumps({"type": "object", "properties": {"total": total}}))
    named = re.escape(f"(schema file {str(file)!r})")
    pattern = rf"^at #/properties/total/evaluation_config: .* {named}$"
    with pytest.raises(xb.ConfigError, match=pattern):
        xb.schema.parse_schema(file)
    runs = pd.DataFrame({"run": "r", "document": "d", "predicted": "{}", "gold": "{}"}, index=[0])
    with pytest.raises(xb.ConfigError, match=pattern):
        xb.evaluate_runs(runs.assign(schema=file), progress=False)
