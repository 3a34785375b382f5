"""Every construct of JSON Schema that section 4 of the design names, as it stands in the AST."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

import extractbench_nb as xb

STRING = {"type": "string"}
INTEGER = {"type": "integer"}


def obj(**properties: Any) -> dict[str, Any]:
    return {"type": "object", "properties": properties}


def listed(schema: Any) -> list[tuple[str, str, str | None]]:
    """Field, type and metric of every row below the root."""
    frame = xb.schema.parse_schema(schema).to_frame().iloc[1:]
    metric = frame["metric"].astype(object).where(frame["metric"].notna(), None)
    return list(zip(frame["field"], frame["type"], metric, strict=True))


def child(schema: Any, name: str = "a") -> Any:
    return xb.schema.parse_schema(schema).root.children.properties[name]


TYPES = [
    (STRING, "string", "string_semantic", False),
    ({"type": "number"}, "number", "number_tolerance", False),
    (INTEGER, "integer", "integer_exact", False),
    ({"type": "boolean"}, "boolean", "boolean_exact", False),
    ({"type": "null"}, "null", None, True),
    ({"type": "object"}, "object", None, False),
    ({"type": "array"}, "array", "array_llm", False),
    ({}, "any", None, False),
    (True, "any", None, False),
    ({"type": ["integer", "null"]}, "integer | null", "integer_exact", True),
    ({"type": ["null", "array"]}, "array | null", "array_llm", True),
    ({"type": ["object", "null"]}, "object | null", None, True),
    ({"type": "string", "nullable": True}, "string | null", "string_semantic", True),
    ({"properties": {}, "items": {}}, "array", "array_llm", False),
    ({"properties": {"x": {}}}, "object", None, False),
    ({"enum": ["a", "b"]}, "string", "string_semantic", False),
    ({"enum": [1, 2]}, "integer", "integer_exact", False),
    ({"const": 3}, "integer", "integer_exact", False),
]


@pytest.mark.parametrize("schema, label, metric, nullable", TYPES)
def test_type(schema: Any, label: str, metric: str | None, nullable: bool) -> None:
    node = child(obj(a=schema))
    found = node.config.metrics[0].metric_id if node.config else None
    assert (node.label, found, node.nullable) == (label, metric, nullable)


COMBINATIONS = [
    ({"oneOf": [STRING, INTEGER]}, [("a", "string | integer", None)]),
    ({"type": ["string", "integer"]}, [("a", "string | integer", None)]),
    (
        {"anyOf": [{"type": "array", "items": STRING}, obj(k=INTEGER), {"type": "null"}]},
        [
            ("a", "array | object | null", None),
            ("a", "array", "array_llm"),
            ("a[]", "string", "string_semantic"),
            ("a", "object", None),
            ("a.k", "integer", "integer_exact"),
        ],
    ),
    (
        {"type": ["object", "array"], "properties": {"z": STRING}, "items": INTEGER},
        [
            ("a", "object | array", None),
            ("a", "object", None),
            ("a.z", "string", "string_semantic"),
            ("a", "array", "array_llm"),
            ("a[]", "integer", "integer_exact"),
        ],
    ),
    (
        {"allOf": [obj(x=STRING), {"properties": {"y": INTEGER}, "required": ["y"]}]},
        [
            ("a", "object", None),
            ("a.x", "string", "string_semantic"),
            ("a.y", "integer", "integer_exact"),
        ],
    ),
    ({"allOf": [{"type": ["string", "null"]}, STRING]}, [("a", "string", "string_semantic")]),
    (
        {"allOf": [obj(x={"type": ["string", "integer"]}), obj(x=INTEGER)]},
        [("a", "object", None), ("a.x", "integer", "integer_exact")],
    ),
    (
        {"type": "object", "additionalProperties": {"type": "number"}},
        [("a", "object", None), ("a.*", "number", "number_tolerance")],
    ),
    (
        {"type": "object", "additionalProperties": True},
        [("a", "object", None), ("a.*", "any", None)],
    ),
    ({"type": "object", "additionalProperties": False}, [("a", "object", None)]),
    (
        {"type": "array", "prefixItems": [STRING, INTEGER], "items": {"type": "boolean"}},
        [
            ("a", "array", "array_llm"),
            ("a[0]", "string", "string_semantic"),
            ("a[1]", "integer", "integer_exact"),
            ("a[]", "boolean", "boolean_exact"),
        ],
    ),
    (
        {"type": "array", "items": {"type": "array", "items": STRING}},
        [
            ("a", "array", "array_llm"),
            ("a[]", "array", "array_llm"),
            ("a[][]", "string", "string_semantic"),
        ],
    ),
]


@pytest.mark.parametrize("schema, rows", COMBINATIONS)
def test_combination(schema: Any, rows: list[Any]) -> None:
    assert listed(obj(a=schema)) == rows


def test_a_nullable_scalar_shows_the_metric_that_scores_it() -> None:
    """The row of `anyOf: [integer, null]` names the metric of the one branch that is scored."""
    schema = obj(a={"anyOf": [INTEGER, {"type": "null"}]})
    assert xb.evaluate(schema, {"a": 1}, {"a": 1}).fields["metric"].tolist() == ["integer_exact"]
    assert listed(schema) == [("a", "integer | null", "integer_exact")]


def test_required_and_unknown_keywords_are_kept() -> None:
    schema = {**obj(a={**STRING, "x-page": 3, "examples": ["u"]}, b=STRING), "required": ["a"]}
    tree = xb.schema.parse_schema(schema)
    a, b = tree.root.children.properties.values()
    assert (a.required, b.required) == (True, False)
    assert a.keywords["x-page"] == 3
    assert a.keywords["examples"] == ["u"]


DEFS = {
    "$defs": {
        "name": {"type": "string", "description": "theirs", "evaluation_config": "string_exact"},
        "a/b~c": INTEGER,
    }
}
REFERENCES = [
    ({"$ref": "#/$defs/name"}, "string", "string_exact", "theirs"),
    ({"$ref": "#/$defs/name", "description": "mine"}, "string", "string_exact", "mine"),
    (
        {"$ref": "#/$defs/name", "evaluation_config": "string_fuzzy"},
        "string",
        "string_fuzzy",
        "theirs",
    ),
    (
        {"$ref": "#/$defs/name", "type": ["string", "null"]},
        "string | null",
        "string_exact",
        "theirs",
    ),
    ({"$ref": "#/$defs/a~1b~0c"}, "integer", "integer_exact", None),
    ({"$ref": "#/%24defs/name"}, "string", "string_exact", "theirs"),
    ({"$ref": "#/properties/z"}, "number", "number_tolerance", None),
    ({"$ref": "#/properties/u/anyOf/1"}, "boolean", "boolean_exact", None),
    ({"allOf": [{"$ref": "#/$defs/name"}], "title": "T"}, "string", "string_exact", "theirs"),
]


@pytest.mark.parametrize("reference, label, metric, description", REFERENCES)
def test_reference(reference: Any, label: str, metric: str, description: str | None) -> None:
    union = {"anyOf": [{"type": "null"}, {"type": "boolean"}]}
    node = child({**DEFS, **obj(a=reference, z={"type": "number"}, u=union)})
    assert node.label == label
    assert node.config.metrics[0].metric_id == metric
    assert node.description == description
    assert node.schema_path == "$.properties.a"


def test_root_reference_and_union_of_references() -> None:
    schema = {
        "$defs": {
            "doc": obj(a={"anyOf": [{"$ref": "#/$defs/x"}, {"type": "null"}]}),
            "x": obj(b={}),
        },
        "$ref": "#/$defs/doc",
    }
    assert [field for field, *_ in listed(schema)][-1] == "a.b"
    assert listed(schema)[0] == ("a", "object | null", None)


@pytest.mark.parametrize("root", ["#", ""])
def test_recursive_reference_is_listed_once_and_unfolds_with_the_data(root: str) -> None:
    schema = {**obj(v=STRING, kids={"type": "array", "items": {"$ref": root}})}
    tree = xb.schema.parse_schema(schema)
    assert listed(schema) == [
        ("v", "string", "string_semantic"),
        ("kids", "array", "array_llm"),
        ("kids[]", "object", None),
    ]
    node, fields = tree.root, []
    for _ in range(50):
        node = node.children.properties["kids"].children.items
        fields.append(node.field)
    assert fields[2] == "kids[].kids[].kids[]"


def test_mutually_recursive_definitions_evaluate_as_deep_as_the_data() -> None:
    schema = {
        "$defs": {"a": obj(b={"$ref": "#/$defs/b"}), "b": obj(v=STRING, a={"$ref": "#/$defs/a"})},
        **obj(a={"$ref": "#/$defs/a"}),
    }
    gold = {"a": {"b": {"v": "one", "a": {"b": {"v": "two"}}}}}
    ev = xb.evaluate(schema, gold, {"a": {"b": {"v": "one", "a": {"b": {"v": "three"}}}}})
    assert ev.fields[["path", "outcome"]].to_numpy().tolist() == [
        ["$.a.b.v", "correct"],
        ["$.a.b.a.b.v", "incorrect"],
    ]


@pytest.mark.parametrize("envelope", ["schema_definition", "schema", "json_schema"])
def test_envelope_is_unwrapped(envelope: str) -> None:
    wrapped = {
        "name": "resume",
        "description": "d",
        envelope: {"$defs": DEFS["$defs"], **obj(a={})},
    }
    tree = xb.schema.parse_schema(wrapped)
    assert (tree.envelope, [f for f, *_ in listed(wrapped)]) == (envelope, ["a"])


def test_a_property_called_schema_is_no_envelope() -> None:
    assert listed(obj(schema=STRING)) == [("schema", "string", "string_semantic")]


def test_the_four_ways_to_hand_over_a_schema(tmp_path: Path) -> None:
    text = '{"type": "object", "properties": {"a": {"type": "string"}}}'
    path = tmp_path / "s.json"
    path.write_text("\ufeff" + text, encoding="utf-8")
    parsed = xb.schema.parse_schema(text)
    assert xb.schema.parse_schema(parsed) is parsed
    assert listed(path) == listed(text) == listed(obj(a=STRING)) == listed(parsed)


def test_the_schema_is_not_changed_by_parsing() -> None:
    schema = {**DEFS, **obj(a={"$ref": "#/$defs/name", "description": "mine"})}
    before = repr(schema)
    xb.schema.parse_schema(schema).to_frame()
    assert repr(schema) == before


@pytest.mark.parametrize("keyword", ["anyOf", "oneOf"])
@pytest.mark.parametrize("beside", [{}, {"description": "beside the reference"}])
def test_a_union_may_lead_back_to_itself(keyword: str, beside: dict[str, str]) -> None:
    ref = {"$ref": "#/$defs/tree"}
    below = {"type": "object", "properties": {"child": ref}}
    schema = {
        "type": "object",
        "properties": {"t": {**ref, **beside}},
        "$defs": {"tree": {keyword: [{"type": "integer"}, below, {"type": "null"}]}},
    }
    gold = {"t": {"child": {"child": {"child": 3}}}}
    predicted = {"t": {"child": {"child": {"child": 4}}}}
    fields = xb.evaluate(schema, gold, predicted).fields
    assert fields[["path", "outcome"]].to_numpy().tolist() == [
        ["$.t.child.child.child", "incorrect"]
    ]
    first, below = xb.schema.parse_schema(schema).root.children.properties["t"], None
    below = first.children.branches[1].children.properties["child"]
    assert (first.label, below.label) == ("integer | object | null",) * 2
    assert below.types == first.types == {"number", "object"}
    assert below.nullable


TUPLE = [STRING, INTEGER]
POSITION = {"type": "integer", "minimum": 0}
URI = "https://example.org/"
DRAFTS = [
    pytest.param(
        {
            **obj(a={"type": "array", "items": TUPLE}),
            "$schema": "http://json-schema.org/draft-07/schema#",
        },
        {"a": ["x", 1]},
        id="draft 7 tuple",
    ),
    pytest.param(
        obj(a={"type": "array", "items": TUPLE, "additionalItems": {"type": "boolean"}}),
        {"a": ["x", 1, True, False]},
        id="tuple by shape",
    ),
    pytest.param(
        {**obj(a={"items": TUPLE}), "$schema": "https://json-schema.org/draft/2019-09/schema"},
        {"a": ["x", 1]},
        id="2019-09 tuple",
    ),
    pytest.param(
        {
            "$schema": "http://json-schema.org/draft-04/schema#",
            "id": URI + "root.json",
            "definitions": {"p": {**POSITION, "id": "#position", "exclusiveMinimum": True}},
            **obj(a={"$ref": "#position"}, b={"$ref": "root.json#/definitions/p"}),
        },
        {"a": 1, "b": 2},
        id="draft 4 ids",
    ),
    pytest.param(
        {"definitions": {"p": {**POSITION, "$id": "#p"}}, **obj(a={"$ref": "#p"})},
        {"a": 1},
        id="draft 6 anchor",
    ),
    pytest.param(
        {
            "$defs": {
                "p": {**POSITION, "$anchor": "p"},
                "q": {"$id": URI + "q", "$defs": {"r": STRING}, "type": "boolean"},
            },
            **obj(a={"$ref": "#p"}, b={"$ref": URI + "q"}, c={"$ref": URI + "q#/$defs/r"}),
        },
        {"a": 1, "b": True, "c": "x"},
        id="anchor and embedded resource",
    ),
    pytest.param(
        {
            "$schema": "http://json-schema.org/draft-04/schema#",
            **obj(a={**STRING, "required": True}, b=POSITION | {"exclusiveMinimum": False}),
        },
        {"a": "x", "b": 0},
        id="draft 4 booleans",
    ),
    pytest.param(
        obj(
            a={"type": "array", "prefixItems": [], "items": False},
            b=False,
            c={"anyOf": [False, STRING]},
        ),
        {"a": [], "c": "x"},
        id="boolean schemas",
    ),
    pytest.param(
        obj(
            **{"$ref": STRING, "__proto__": STRING, "": STRING, "a/b~c%25": STRING, "items": STRING}
        ),
        {"$ref": "x", "__proto__": "y", "": "z", "a/b~c%25": "u", "items": "v"},
        id="properties named like keywords",
    ),
]


@pytest.mark.parametrize("profile", ["paper", "strict"])
@pytest.mark.parametrize("schema, document", DRAFTS)
def test_a_document_of_any_draft_agrees_with_itself(
    schema: Any, document: Any, profile: str
) -> None:
    ev = xb.evaluate(schema, document, document, profile=profile)
    assert (ev.summary["overall_score"], ev.summary["pass_rate"]) == (1.0, 1.0)
    assert ev.warnings["kind"].tolist() == []


def test_items_of_a_tuple_are_read_at_their_places() -> None:
    items = {"type": "array", "items": TUPLE, "additionalItems": {"type": "boolean"}}
    assert listed(obj(a=items)) == [
        ("a", "array", "array_llm"),
        ("a[0]", "string", "string_semantic"),
        ("a[1]", "integer", "integer_exact"),
        ("a[]", "boolean", "boolean_exact"),
    ]
    assert xb.schema.parse_schema(obj(a=items)).to_frame()["schema_path"].tolist()[2:] == [
        "$.properties.a.items[0]",
        "$.properties.a.items[1]",
        "$.properties.a.items",
    ]


def test_a_limit_of_draft_4_is_checked_as_draft_4_means_it() -> None:
    schema = obj(a={"type": "integer", "minimum": 0, "exclusiveMinimum": True})
    warnings = xb.evaluate(schema, {"a": 1}, {"a": 0}).warnings
    assert warnings[["side", "path", "kind"]].to_numpy().tolist() == [
        ["predicted", "$.a", "minimum"]
    ]


def test_patterns_give_the_entries_of_a_map_their_schemas() -> None:
    schema = {
        **obj(xa=STRING),
        "patternProperties": {"^x": INTEGER, r"^\p{Lu}": STRING},
        "additionalProperties": {"type": "boolean"},
    }
    assert listed(schema) == [
        ("xa", "string", "string_semantic"),
        ("*", "integer", "integer_exact"),
        ("*", "string", "string_semantic"),
        ("*", "boolean", "boolean_exact"),
    ]
    assert "/^x/: integer" in repr(xb.schema.parse_schema(schema))
    gold = {"xa": "t", "xb": 1, "Éb": "u", "z": True}
    predicted = {"xa": "t", "xb": 2, "Éb": "u"}
    fields = xb.evaluate(schema, gold, predicted).fields
    assert fields[["path", "metric", "outcome"]].to_numpy().tolist() == [
        ["$.xa", "string_semantic", "correct"],
        ["$['xb']", "integer_exact", "incorrect"],
        ["$['Éb']", "string_semantic", "correct"],
        ["$['z']", "boolean_exact", "omission"],
    ]


ANYTHING = {"type": "object", "additionalProperties": True}
OPEN = [
    # schema with true where {} would mean the same, gold, predicted, outcomes
    (ANYTHING, {"a": 1, "b": "x"}, {"a": 2, "b": "x"}, ["incorrect", "correct"]),
    (ANYTHING, {"a": 1}, {}, ["omission"]),
    (ANYTHING, {"a": 1}, {"a": 1, "b": 2}, ["correct", "hallucination"]),
    ({"additionalProperties": True}, {"a": 1}, {"a": 2}, ["incorrect"]),
    ({"anyOf": [ANYTHING, {"type": "null"}]}, {"a": 1}, {"a": 2}, ["incorrect"]),
    ({"$ref": "#/$defs/anything"}, {"a": 1}, {"a": 2}, ["incorrect"]),
    ({"allOf": [obj(a=INTEGER), ANYTHING]}, {"a": 1, "b": 2}, {"a": 1}, ["correct", "omission"]),
    ({**obj(a=INTEGER), **ANYTHING}, {"a": 1, "b": 2}, {"a": 1, "b": 3}, ["correct", "incorrect"]),
    (
        {"type": "object", "additionalProperties": ANYTHING},
        {"k": {"a": 1}},
        {"k": {"a": 2}},
        ["incorrect"],
    ),
]


@pytest.mark.parametrize("profile", ["paper", "strict"])
@pytest.mark.parametrize("schema, gold, predicted, outcomes", OPEN)
def test_true_written_out_is_a_map_of_anything(
    *, schema: Any, gold: Any, predicted: Any, outcomes: list[str], profile: str
) -> None:
    whole = {**obj(meta=schema), "$defs": {"anything": ANYTHING}}
    as_object = json.loads(json.dumps(whole).replace("true", "{}"))
    found = [
        xb.evaluate(one, {"meta": gold}, {"meta": predicted}, profile=profile)
        for one in (whole, as_object)
    ]
    assert found[0].fields["outcome"].tolist() == outcomes
    assert found[0].fields["path"].tolist() == found[1].fields["path"].tolist()
    assert found[0].summary.to_dict() == found[1].summary.to_dict()
    assert found[0].summary["gold_coverage"] == 1.0


def test_a_schema_of_patterns_alone_scores_its_entries() -> None:
    schema = {"patternProperties": {"^[A-Z]{3}$": {"type": "number"}}}
    ev = xb.evaluate(schema, {"EUR": 1.5, "note": "x"}, {"EUR": 2.5})
    assert (ev.summary["evaluated"], ev.summary["overall_score"]) == (1, 0.0)
    undeclared = ev.warnings.query("kind == 'undeclared'")
    assert undeclared[["side", "path"]].to_numpy().tolist() == [["gold", "$.note"]]


def test_arrays_under_one_pattern_are_aligned_as_one_array() -> None:
    arrays = {"type": "array", "items": STRING}
    by_year = {"patternProperties": {"^[0-9]+$": arrays}, "evaluation_config": "array_llm"}
    gold = {"m": {"2020": ["a", "b"], "2021": ["c"]}}
    ev = xb.evaluate(obj(m=by_year), gold, {"m": {"2020": ["b", "a"], "2021": ["d"]}})
    assert ev.arrays[["path", "matched"]].to_numpy().tolist() == [["$.m", 2]]


def below_itself(**more: Any) -> dict[str, Any]:
    """A definition that is a union, one branch of which refers back to it."""
    branches = [obj(child={"$ref": "#/$defs/t"}, v=STRING), {"type": "null"}]
    return {"$defs": {"t": {"anyOf": branches}}, **obj(**more)}


def mutual(names: int) -> dict[str, Any]:
    """Definitions each of which refers to all of them."""
    refs = {f"p{i}": {"$ref": f"#/$defs/d{i}"} for i in range(names)}
    return {"$defs": {f"d{i}": obj(v=STRING, **refs) for i in range(names)}, "$ref": "#/$defs/d0"}


TREE = {"$ref": "#/$defs/t"}
DEEP = {"v": "x", "child": {"v": "y", "child": {"v": "z", "child": None}}}


def doubled(keyword: str) -> dict[str, Any]:
    """A definition that combines the next one with itself, and so on."""
    levels = {f"d{i}": {keyword: [{"$ref": f"#/$defs/d{i + 1}"}] * 2} for i in range(25)}
    return {"$defs": {**levels, "d25": obj(x=STRING)}, "$ref": "#/$defs/d0"}


CHAIN = {f"d{i}": {"$ref": f"#/$defs/d{i + 1}"} for i in range(10_000)} | {"d10000": STRING}
RECURSIVE = [
    pytest.param(below_itself(t=TREE), {}, 1, id="absent"),
    pytest.param(below_itself(t=TREE), {"t": DEEP}, 3, id="through a union"),
    pytest.param(
        below_itself(t={"type": "array", "items": TREE}), {"t": [DEEP, {"v": "u"}]}, 1, id="items"
    ),
    pytest.param(mutual(9), {"v": "a", "p1": {"p2": {"v": "b"}}}, 3, id="nine definitions"),
    pytest.param(
        {"type": "object", "additionalProperties": {"$ref": "#"}}, {"a": {"b": {}}}, 0, id="map"
    ),
    pytest.param(doubled("allOf"), {"x": "1"}, 1, id="doubled allOf"),
    pytest.param(doubled("anyOf"), {"x": "1"}, 1, id="doubled anyOf"),
    pytest.param({"$defs": CHAIN, **obj(a={"$ref": "#/$defs/d0"})}, {"a": "x"}, 1, id="chain"),
]


@pytest.mark.parametrize("profile", ["paper", "strict"])
@pytest.mark.parametrize("schema, document, evaluated", RECURSIVE)
def test_recursion_is_unfolded_along_the_data(
    schema: Any, document: Any, evaluated: int, profile: str
) -> None:
    ev = xb.evaluate(schema, document, document, profile=profile)
    assert ev.summary["overall_score"] == 1.0
    if profile == "paper":
        assert ev.summary["evaluated"] == evaluated
    wrong = xb.evaluate(schema, document, {"t": {"child": {"child": {"child": {}}}}, "p1": 5})
    assert not document or not evaluated or wrong.summary["overall_score"] < 1.0


def test_a_prediction_on_many_recursive_branches_is_read() -> None:
    branches = [
        {**obj(kind={"const": f"k{i}"}, child=TREE, v=STRING), "required": ["kind"]}
        for i in range(40)
    ]
    schema = {"$defs": {"t": {"anyOf": branches}}, **obj(t=TREE)}
    nested: dict[str, Any] = {"kind": "k0", "v": "end"}
    for i in range(80):
        nested = {"kind": f"k{i % 40}", "v": "x" * 250, "child": nested}
    ev = xb.evaluate(schema, {"t": nested}, {"t": nested})
    assert (ev.summary["evaluated"], ev.summary["overall_score"]) == (162, 1.0)
    assert set(ev.warnings["kind"]) <= {"not_validated"}  # the validator's work is bounded


@pytest.mark.parametrize(
    "name, of_text, of_array",
    [
        ("set_f1", "string_semantic", "set_f1"),
        ("table_grits", "string_semantic", "table_grits"),
        ("begins_alike", "begins_alike", "array_llm"),
        ("also_any", "also_any", "array_llm"),
        ("string_fuzzy", "string_fuzzy", "array_llm"),
    ],
)
def test_a_metric_of_a_union_is_asked_about_the_values_it_is_made_for(
    name: str, of_text: str, of_array: str
) -> None:
    xb.metric("begins_alike", applies_to="string")(lambda gold, predicted: gold == predicted)
    xb.metric("also_any", applies_to=["string", "any"])(lambda gold, predicted: gold == predicted)
    texts = {"type": "array", "items": {"type": "string"}}
    node = {"anyOf": [texts, {"type": "string"}], "evaluation_config": name}
    schema = {"properties": {"a": node}}
    for document, metric in (({"a": "Ltd. Co"}, of_text), ({"a": ["Ltd.", "Co"]}, of_array)):
        rows = xb.evaluate(schema, document, document).fields
        assert rows.set_index("path").loc["$.a", "metric"] == metric
