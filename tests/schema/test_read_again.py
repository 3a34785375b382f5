"""A schema that was read before: its nodes are used again, and nothing else is shared."""

from __future__ import annotations

import copy
from typing import Any

import pytest

import extractbench_nb as xb
from extractbench_nb.core.field_metrics.registry import REGISTRY


def obj(**properties: Any) -> dict[str, Any]:
    return {"type": "object", "properties": properties}


SCHEMA = obj(name={"type": "string"}, year={"type": "integer"})


def test_nodes_are_used_again_and_documents_are_not() -> None:
    one, two = xb.schema.parse_schema(SCHEMA), xb.schema.parse_schema(copy.deepcopy(SCHEMA))
    assert one.root is two.root
    assert one.document == two.document == SCHEMA
    assert one.document is not two.document
    one.document["properties"].clear()  # type: ignore[attr-defined]
    assert xb.schema.parse_schema(SCHEMA).document == SCHEMA
    assert [node.field for node in xb.schema.parse_schema(SCHEMA).nodes()] == ["", "name", "year"]


def test_a_schema_that_the_caller_changes_is_another_one() -> None:
    schema = copy.deepcopy(SCHEMA)
    before = xb.evaluate(schema, {"year": 1}, {"year": 2})
    schema["properties"]["year"]["evaluation_config"] = "skip"
    after = xb.evaluate(schema, {"year": 1}, {"year": 2})
    assert (len(before.fields), len(after.fields)) == (2, 1)


@pytest.mark.parametrize(
    "other",
    [
        obj(year={"type": "integer"}, name={"type": "string"}),
        obj(name={"type": "string"}, year={"type": "integer", "minimum": 1}),
        obj(name={"type": "string"}, year={"type": "integer", "minimum": 1.0}),
        obj(name={"type": "string"}, year={"type": "integer", "default": float("nan")}),
        obj(name={"type": "string"}, year={"type": "integer"}, **{"\ud83d\ude00": {}}),
        obj(name={"type": "string"}, year={"type": "integer"}, **{"\U0001f600": {}}),
    ],
    ids=["order", "integer", "float", "nan", "surrogates", "character"],
)
def test_what_is_written_otherwise_is_read_itself(other: Any) -> None:
    xb.schema.parse_schema(SCHEMA)
    found = xb.schema.parse_schema(other)
    assert repr(found.root.keywords["properties"]) == repr(other["properties"])
    assert list(found.root.children.properties) == list(other["properties"])


def test_metrics_are_looked_up_as_they_are_now() -> None:
    config = {"metric_id": "same_start", "params": {"letters": 2}}
    schema = obj(name={"type": "string", "evaluation_config": config})
    with pytest.raises(xb.ConfigError, match="same_start"):
        xb.schema.parse_schema(schema)

    @xb.metric("same_start")
    def two(gold: str, predicted: str, *, letters: int = 1) -> bool:
        return gold[:letters] == predicted[:letters]

    assert xb.evaluate(schema, {"name": "Ada"}, {"name": "Adb"}).summary["passed"] == 1
    del REGISTRY.entries["same_start"]

    @xb.metric("same_start")
    def one(gold: str, predicted: str) -> bool:
        return gold[:1] == predicted[:1]

    with pytest.raises(xb.ConfigError, match="no param 'letters'"):
        xb.schema.parse_schema(schema)
    del REGISTRY.entries["same_start"]
    with pytest.raises(xb.ConfigError, match="unknown metric 'same_start'"):
        xb.schema.parse_schema(schema)


def test_patterns_are_not_shared() -> None:
    """A pattern that took too long in one document is tried again in the next."""
    schema = {"type": "object", "patternProperties": {"^(a|aa)+$": {"type": "integer"}}}
    long, fit = "a" * 60 + "!", "a" * 20
    xb.evaluate(schema, {long: 1}, {long: 1})
    assert xb.evaluate(schema, {fit: 1}, {fit: 1}).fields["field"].tolist() == ["*"]
