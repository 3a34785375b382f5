"""``evaluation_config``: three forms, presets, defaults, inference."""

from __future__ import annotations

from typing import Any

import pytest

import extractbench_nb as xb

STRING = {"type": "string"}


def config_of(schema: Any) -> Any:
    return (
        xb.schema.parse_schema({"type": "object", "properties": {"a": schema}})
        .root.children.properties["a"]
        .config
    )


def metrics_of(schema: Any) -> list[tuple[str, dict[str, Any], float]] | None:
    config = config_of(schema)
    return config and [(m.metric_id, dict(m.params), m.weight) for m in config.metrics]


PRESETS = {
    "string_exact": ("string_exact", {}),
    "string_case_insensitive": ("string_case_insensitive", {}),
    "string_normalized": ("string_normalized", {}),
    "string_fuzzy": ("string_fuzzy", {"threshold": 0.8, "case_sensitive": False}),
    "string_url": ("string_url", {}),
    "date": ("date", {"precision": "day"}),
    "string_semantic": ("string_semantic", {}),
    "string_llm": ("string_llm", {}),
    "number_exact": ("number_exact", {}),
    "number_tolerance": ("number_tolerance", {"tolerance": 0.001}),
    "integer_exact": ("integer_exact", {}),
    "boolean_exact": ("boolean_exact", {}),
    "array_llm": ("array_llm", {}),
    "set_f1": ("set_f1", {}),
    "skip": ("skip", {}),
}


@pytest.mark.parametrize("name", PRESETS)
def test_preset(name: str) -> None:
    metric, params = PRESETS[name]
    node = {"type": "array"} if metric in ("array_llm", "set_f1") else STRING
    assert metrics_of({**node, "evaluation_config": name}) == [(metric, params, 1.0)]


def test_presets_are_listed() -> None:
    frame = xb.schema.presets()
    assert frame["preset"].tolist() == list(PRESETS)
    assert frame["metric"].tolist() == [metric for metric, _ in PRESETS.values()]
    assert frame["params"].tolist() == [params for _, params in PRESETS.values()]
    default = frame.dropna(subset=["default_for"]).set_index("default_for")["preset"].to_dict()
    assert default == {
        "string": "string_semantic",
        "number": "number_tolerance",
        "integer": "integer_exact",
        "boolean": "boolean_exact",
        "array": "array_llm",
    }


FORMS = [
    ("string_exact", [("string_exact", {}, 1.0)], 1.0),
    (
        {"metric_id": "string_fuzzy", "params": {"threshold": 0.5}},
        [("string_fuzzy", {"threshold": 0.5}, 1.0)],
        1.0,
    ),
    ({"metric_id": "date"}, [("date", {}, 1.0)], 1.0),
    ({"metric_id": "date", "params": None}, [("date", {}, 1.0)], 1.0),
    (
        {
            "metrics": [
                {"metric_id": "string_exact", "weight": 2},
                {"metric_id": "string_fuzzy", "params": {"threshold": 0.6}, "weight": 0.5},
            ],
            "aggregation_weight": 3,
        },
        [("string_exact", {}, 2.0), ("string_fuzzy", {"threshold": 0.6}, 0.5)],
        3.0,
    ),
    ({"metrics": [{"metric_id": "string_exact"}]}, [("string_exact", {}, 1.0)], 1.0),
    (None, [("string_semantic", {}, 1.0)], 1.0),
]


@pytest.mark.parametrize("config, metrics, weight", FORMS)
def test_form(config: Any, metrics: Any, weight: float) -> None:
    schema = {**STRING, "evaluation_config": config}
    assert metrics_of(schema) == metrics
    assert config_of(schema).weight == weight


URI = [
    pytest.param("string_exact", "uri", "string_url", id="uri and string_exact"),
    pytest.param({"metric_id": "string_exact"}, "uri", "string_url", id="long form"),
    pytest.param("string_fuzzy", "uri", "string_fuzzy", id="another metric stays"),
    pytest.param("string_exact", "date", "string_exact", id="another format stays"),
    pytest.param(None, "uri", "string_semantic", id="the default stays"),
    pytest.param(
        {"metrics": ["string_exact", "string_url"]}, "uri", "string_exact", id="both are meant"
    ),
]


@pytest.mark.parametrize("config, form, metric", URI)
def test_uri_rule(config: Any, form: str, metric: str) -> None:
    found = metrics_of({**STRING, "format": form, "evaluation_config": config})
    assert found is not None
    assert found[0][0] == metric


def arr(config: Any = None) -> dict[str, Any]:
    return {"type": "array", "items": STRING, **({"evaluation_config": config} if config else {})}


AGREEMENT = [
    pytest.param([arr("array_llm"), {"type": "object"}], "array_llm", id="README example"),
    pytest.param([arr("set_f1"), {"type": "null"}], "set_f1", id="null does not vote"),
    pytest.param(
        [{**STRING, "evaluation_config": "string_exact"}, {"type": "integer"}],
        "string_exact",
        id="a branch without config does not vote",
    ),
    pytest.param(
        [
            {**STRING, "evaluation_config": "string_exact"},
            {"type": "integer", "evaluation_config": "string_exact"},
        ],
        "string_exact",
        id="two agree",
    ),
    pytest.param(
        [
            {**STRING, "evaluation_config": "string_exact"},
            {"type": "integer", "evaluation_config": "integer_exact"},
        ],
        None,
        id="two disagree",
    ),
]


@pytest.mark.parametrize("branches, metric", AGREEMENT)
@pytest.mark.parametrize("keyword", ["anyOf", "oneOf"])
def test_branches_agree(keyword: str, branches: Any, metric: str | None) -> None:
    found = metrics_of({keyword: branches})
    assert (found[0][0] if found else None) == metric


def test_own_config_of_a_union_wins() -> None:
    union = {
        "anyOf": [{**STRING, "evaluation_config": "string_exact"}, {"type": "null"}],
        "evaluation_config": "string_fuzzy",
    }
    found = metrics_of(union)
    assert found is not None
    assert found[0][0] == "string_fuzzy"


def test_a_metric_of_the_user_is_a_name_too() -> None:
    @xb.metric("config_probe")
    def config_probe(gold: Any, predicted: Any, *, size: float = 1.0) -> bool:
        return bool(gold == predicted and size)

    assert metrics_of({**STRING, "evaluation_config": "config_probe"}) == [
        ("config_probe", {}, 1.0)
    ]
    with pytest.raises(
        xb.ConfigError, match="config_probe has no param 'sise'; did you mean 'size'"
    ):
        metrics_of(
            {**STRING, "evaluation_config": {"metric_id": "config_probe", "params": {"sise": 2}}}
        )


@pytest.mark.parametrize("length, is_valid", [(2, True), (2.0, True), (2.5, False), (None, False)])
def test_a_param_whose_default_is_whole_takes_whole_numbers(length: Any, is_valid: bool) -> None:
    @xb.metric("config_probe")
    def config_probe(gold: Any, predicted: Any, *, length: int = 3) -> bool:
        return bool(gold[:length] == predicted[:length])

    config = {"metric_id": "config_probe", "params": {"length": length}}
    if is_valid:
        assert metrics_of({**STRING, "evaluation_config": config}) is not None
    else:
        with pytest.raises(xb.ConfigError, match=r"length is .*; expected a whole number"):
            metrics_of({**STRING, "evaluation_config": config})


CANNOT = [
    # node, what it says
    ({"type": "integer", "evaluation_config": "array_llm"}, "'array_llm' at a node of type int"),
    ({**STRING, "evaluation_config": {"metric_id": "set_f1"}}, "'set_f1' at a node of type string"),
    (
        {"type": "array", "evaluation_config": {"metrics": [{"metric_id": "texts_only"}]}},
        "'texts_only' at a node of type array",
    ),
    ({"type": ["string", "null"], "evaluation_config": "array_llm"}, "type string | null"),
    (
        {"anyOf": [STRING, {"type": "number"}], "evaluation_config": "array_llm"},
        "it applies to array",
    ),
    ({"enum": ["a", 1], "evaluation_config": "array_llm"}, "it applies to array"),
    ({"$ref": "#/properties/s", "evaluation_config": "set_f1"}, "type string"),
    ({"type": "integer", "evaluation_config": "texts_only"}, "it applies to string"),
]  # fmt: skip


@pytest.mark.parametrize("node, problem", CANNOT)
def test_a_metric_that_cannot_apply_is_refused(node: Any, problem: str) -> None:
    xb.metric("texts_only", applies_to="string")(lambda gold, predicted: gold == predicted)
    schema = {"type": "object", "properties": {"a": node, "s": STRING}}
    with pytest.raises(xb.ConfigError) as raised:
        xb.schema.parse_schema(schema)
    assert raised.value.pointer == "/properties/a/evaluation_config"
    assert problem in str(raised.value)


CAN = [
    {"evaluation_config": "array_llm"},
    {"type": ["string", "array"], "evaluation_config": "array_llm"},
    {"anyOf": [STRING, {"type": "array"}], "evaluation_config": "string_exact"},
    {"anyOf": [{}, STRING], "evaluation_config": "array_llm"},
    {"type": "object", "additionalProperties": {"type": "array"}, "evaluation_config": "array_llm"},
    {"anyOf": [{"type": "object"}, {"type": "null"}], "evaluation_config": "array_llm"},
    {"type": "array", "evaluation_config": "string_llm"},
    {"type": "array", "evaluation_config": "skip"},
    {"type": "integer", "evaluation_config": "string_exact"},
    {**STRING, "evaluation_config": "number_tolerance"},
    {"type": "number", "evaluation_config": "integer_exact"},
    {"type": "number", "evaluation_config": "whole_only"},
    {"type": "array", "evaluation_config": "for_all"},
]


@pytest.mark.parametrize("node", CAN, ids=str)
def test_a_metric_that_can_apply_is_taken(node: Any) -> None:
    xb.metric("whole_only", applies_to="integer")(lambda gold, predicted: gold == predicted)
    xb.metric("for_all")(lambda gold, predicted: gold == predicted)
    assert config_of(node) is not None or node["type"] == "object"
