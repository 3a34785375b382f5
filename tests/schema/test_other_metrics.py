"""Other metrics by field: what `metrics` changes, and what it leaves as it is."""

from __future__ import annotations

import pickle
from typing import Any

import pytest

import extractbench_nb as xb
from extractbench_nb.core.field_metrics.registry import REGISTRY
from extractbench_nb.runs.extracting import plain_schema

AMOUNT = {"type": ["number", "null"], "evaluation_config": "number_exact"}
SCHEMA: dict[str, Any] = {
    "$defs": {
        "amount": AMOUNT,
        "pair": {"type": "object", "properties": {"now": {"$ref": "#/$defs/amount"}}},
        "tree": {
            "type": "object",
            "properties": {
                "name": {"type": "string"},
                "children": {"type": "array", "items": {"$ref": "#/$defs/tree"}},
            },
        },
    },
    "type": "object",
    "properties": {
        "total": {"$ref": "#/$defs/amount"},
        "tax": {"$ref": "#/$defs/amount"},
        "cash": {"$ref": "#/$defs/pair"},
        "debt": {"$ref": "#/$defs/pair"},
        "tags": {"type": "array", "items": {"type": "string"}},
        "odd name": {"type": "string"},
        "lines": {
            "type": "array",
            "items": {"type": "object", "properties": {"amount": {"$ref": "#/$defs/amount"}}},
        },
        "map": {"type": "object", "additionalProperties": {"type": "string"}},
        "either": {
            "anyOf": [
                {"type": "object", "properties": {"a": {"type": "string"}}},
                {"type": "object", "properties": {"a": {"type": "string"}, "b": {}}},
                {"type": "array", "items": {"type": "string"}},
            ]
        },
        "place": {"type": "string", "format": "uri"},
        "tree": {"$ref": "#/$defs/tree"},
    },
}
TOLERANT = {"metric_id": "number_tolerance", "params": {"tolerance": 0.5}}


def metrics_of(schema: Any) -> dict[str, str]:
    return {
        node.field or "$": " + ".join(spec.metric_id for spec in node.config.metrics)
        for node in schema.nodes()
        if node.config is not None
    }


@pytest.mark.parametrize(
    "field, metric, changed",
    [
        ("total", "number_tolerance", {"total"}),
        ("cash.now", TOLERANT, {"cash.now"}),
        ("lines[].amount", TOLERANT, {"lines[].amount"}),
        ("lines", "skip", {"lines"}),
        ("tags", "set_f1", {"tags"}),
        ("tags[]", "string_exact", {"tags[]"}),
        ("['odd name']", "string_exact", {"['odd name']"}),
        ("map.*", "string_exact", {"map.*"}),
        ("either.a", "string_exact", {"either.a"}),
        ("place", "string_exact", {"place"}),
        ("$", "skip", {"$"}),
    ],
)
def test_a_metric_changes_one_field(field: str, metric: Any, changed: set[str]) -> None:
    before = metrics_of(xb.schema.parse_schema(SCHEMA))
    schema = xb.schema.parse_schema(SCHEMA, metrics={field: metric})
    after = metrics_of(schema)
    assert {name for name in after if after[name] != before.get(name)} == changed
    assert metrics_of(pickle.loads(pickle.dumps(schema))) == after  # noqa: S301
    assert metrics_of(xb.schema.parse_schema(dict(schema.document))) == after
    assert "evaluation_config_by_field" not in SCHEMA
    assert plain_schema(schema) == plain_schema(SCHEMA)


def test_the_union_has_the_metric_and_its_branches_keep_theirs() -> None:
    schema = xb.schema.parse_schema(SCHEMA, metrics={"either": "array_llm"})
    union = schema.root.children.properties["either"]
    assert union.config.metrics[0].metric_id == "array_llm"
    assert [branch.config is None for branch in union.children.branches] == [True, True, False]
    assert union.choose(0).config is None
    assert union.choose(2).config.metrics[0].metric_id == "array_llm"


def test_the_rule_for_addresses_applies() -> None:
    schema = xb.schema.parse_schema(SCHEMA, metrics={"place": "string_exact"})
    assert metrics_of(schema)["place"] == "string_url"


def test_a_recursive_field_is_changed_at_its_level_only() -> None:
    names = "tree.children[].children[].name"
    schema = xb.schema.parse_schema(SCHEMA, metrics={names: "string_exact"})
    gold = {"tree": {"name": "a", "children": [{"name": "b", "children": [{"name": "C"}]}]}}
    other = {"tree": {"name": "A", "children": [{"name": "B", "children": [{"name": "C"}]}]}}
    fields = xb.evaluate(schema, gold, other).fields.set_index("field")["metric"]
    assert fields["tree.name"] == fields["tree.children[].name"] == "string_semantic"
    assert fields[names] == "string_exact"


def test_a_second_change_keeps_the_first() -> None:
    once = xb.schema.parse_schema(SCHEMA, metrics={"total": TOLERANT})
    both = xb.schema.parse_schema(once, metrics={"tax": TOLERANT})
    found = metrics_of(both)
    assert found["total"] == found["tax"] == "number_tolerance"
    assert metrics_of(once)["tax"] == "number_exact"


@pytest.mark.parametrize("profile", ["paper", "strict"])
def test_evaluate_takes_functions_under_each_profile(profile: str) -> None:
    @xb.metric("halves", applies_to="number")
    def halves(gold: float, predicted: float, *, threshold: float = 0.4) -> float:
        return 0.5

    gold, predicted = {"total": 1, "tax": 1}, {"total": 2, "tax": 2}
    for metric in (halves, "halves", {"metric_id": "halves"}, REGISTRY.get("halves")):
        ev = xb.evaluate(SCHEMA, gold, predicted, metrics={"total": metric}, profile=profile)
        rows = ev.fields.set_index("path")[["metric", "score"]]
        assert rows.loc["$.total"].tolist() == ["halves", 0.5]
        assert rows.loc["$.tax", "metric"] == "number_exact"


def not_registered(gold: Any, predicted: Any) -> float:
    return 1.0


@pytest.mark.parametrize(
    "metrics, error, problem",
    [
        ({"totl": "skip"}, xb.ConfigError, "metrics, totl: there is no field 'totl'; did you mean"),
        ({"lines.amount": "skip"}, xb.ConfigError, "did you mean 'lines[].amount'"),
        ({"total": "number_exat"}, xb.ConfigError, "metrics, total: unknown preset 'number_exat'"),
        ({"total": "set_f1"}, xb.ConfigError, "found 'set_f1' at a node of type number | null"),
        ({"total": None}, xb.ConfigError, "metrics, total: found None; expected an"),
        ({"a/b": "skip"}, xb.ConfigError, "metrics, a/b: there is no field 'a/b'"),
        (
            {"total": {"metric_id": "number_tolerance", "params": {"tolerance": -1}}},
            xb.ConfigError,
            "tolerance is -1; expected",
        ),
        ({"total": not_registered}, xb.InputError, "is not registered; decorate it with @metric"),
        (["total"], xb.InputError, "metrics is ['total']; expected a dict from field to metric"),
    ],
)
def test_a_wrong_metric_is_one_error(metrics: Any, error: type[Exception], problem: str) -> None:
    for call in (
        lambda: xb.schema.parse_schema(SCHEMA, metrics=metrics),
        lambda: xb.evaluate(SCHEMA, {}, {}, metrics=metrics),
    ):
        with pytest.raises(error) as caught:
            call()
        assert problem in str(caught.value)


@pytest.mark.parametrize(
    "value, pointer, problem",
    [
        (5, "/evaluation_config_by_field", "found 5; expected an object from field"),
        ({"x": "skip"}, "/evaluation_config_by_field/x", "there is no field 'x'"),
        ({"total": 5}, "/evaluation_config_by_field/total", "found 5; expected a preset name"),
    ],
)
def test_the_keyword_is_checked(value: Any, pointer: str, problem: str) -> None:
    with pytest.raises(xb.ConfigError) as caught:
        xb.schema.parse_schema({**SCHEMA, "evaluation_config_by_field": value})
    assert caught.value.pointer == pointer
    assert problem in str(caught.value)
