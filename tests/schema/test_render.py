"""The three views of a schema: frame, text tree, HTML tree."""

from __future__ import annotations

import re
from typing import Any

import pytest

import extractbench_nb as xb
from extractbench_nb.views.schema_view import schema_tree

STRING = {"type": "string"}

PAPER: dict[str, Any] = {
    "type": "object",
    "required": ["title"],
    "properties": {
        "title": {
            "type": "string",
            "description": "Main title",
            "evaluation_config": {"metric_id": "string_fuzzy", "params": {"threshold": 0.9}},
        },
        "year": {"type": ["integer", "null"]},
        "authors": {
            "type": "array",
            "items": {"type": "object", "properties": {"name": STRING, "ids": {"type": "array"}}},
        },
        "figures": {"type": "object", "additionalProperties": {"type": "number"}},
        "venue": {"anyOf": [STRING, {"type": "object", "properties": {"k": STRING}}]},
        "parent": {"$ref": "#"},
    },
}

TREE = """\
$ object
├─ title: string · required · string_fuzzy(threshold=0.9)
├─ year: integer | null · integer_exact
├─ authors: array · array_llm
│  └─ []: object
│     ├─ name: string · string_semantic
│     └─ ids: array · array_llm
│        └─ []: any
├─ figures: object
│  └─ *: number · number_tolerance
├─ venue: string | object
│  └─ venue: object
│     └─ k: string · string_semantic
└─ parent: object · ↻ #"""


def test_text_tree() -> None:
    assert repr(xb.schema.parse_schema(PAPER)) == TREE


def test_text_tree_has_a_budget() -> None:
    wide = {"type": "object", "properties": {f"k{i}": STRING for i in range(1_000)}}
    lines = repr(xb.schema.parse_schema(wide)).splitlines()
    assert len(lines) == 401
    assert lines[-1] == "… 601 more nodes; .to_frame() lists them all"


def test_frame_rows() -> None:
    frame = xb.schema.parse_schema(PAPER).to_frame()
    row = frame.set_index("field").loc["title"]
    assert row.to_dict() == {
        "schema_path": "$.properties.title",
        "type": "string",
        "depth": 1,
        "required": True,
        "nullable": False,
        "metric": "string_fuzzy",
        "params": {"threshold": 0.9},
        "description": "Main title",
    }
    shown = frame[["schema_path", "field", "depth"]].to_numpy().tolist()
    assert shown == [
        ["$", "$", 0],
        ["$.properties.title", "title", 1],
        ["$.properties.year", "year", 1],
        ["$.properties.authors", "authors", 1],
        ["$.properties.authors.items", "authors[]", 2],
        ["$.properties.authors.items.properties.name", "authors[].name", 3],
        ["$.properties.authors.items.properties.ids", "authors[].ids", 3],
        ["$.properties.authors.items.properties.ids.items", "authors[].ids[]", 4],
        ["$.properties.figures", "figures", 1],
        ["$.properties.figures.additionalProperties", "figures.*", 2],
        ["$.properties.venue", "venue", 1],
        ["$.properties.venue.anyOf[1]", "venue", 1],
        ["$.properties.venue.anyOf[1].properties.k", "venue.k", 2],
        ["$.properties.parent", "parent", 1],
    ]


def test_several_metrics_share_a_row() -> None:
    config = {
        "metrics": [
            {"metric_id": "string_exact"},
            {"metric_id": "string_fuzzy", "params": {"threshold": 0.5}},
        ]
    }
    schema = {"type": "object", "properties": {"a": {**STRING, "evaluation_config": config}}}
    row = xb.schema.parse_schema(schema).to_frame().iloc[1]
    assert row["metric"] == "string_exact + string_fuzzy"
    assert row["params"] == [{}, {"threshold": 0.5}]


def test_odd_names_are_quoted() -> None:
    schema = {"type": "object", "properties": {"a b": STRING, "x.y": STRING, "q'": STRING}}
    assert xb.schema.parse_schema(schema).to_frame()["field"].tolist()[1:] == [
        "['a b']",
        "['x.y']",
        "['q\\'']",
    ]


HOSTILE = "<script>alert(1)</script><img src=x onerror=alert(2)>"


def test_html_is_static_and_escaped() -> None:
    schema = {
        "type": "object",
        "properties": {
            HOSTILE: {"type": "string", "description": HOSTILE + '" onclick="x'},
            "m": {"enum": [HOSTILE]},
            "r": {"type": "array", "items": {"type": "object", "properties": {HOSTILE: {}}}},
        },
    }
    html = xb.schema.parse_schema(schema)._repr_html_()
    assert "<script" not in html
    assert "<img" not in html
    assert not re.search(r"<[^>]+\son\w+=", html)
    assert "&lt;script&gt;" in html
    assert "<details" in html


def test_html_unfolds_the_first_nodes() -> None:
    inner = {"type": "object", "properties": {"x": STRING}}
    schema = {"type": "object", "properties": {f"k{i}": inner for i in range(80)}}
    html = xb.schema.parse_schema(schema)._repr_html_()
    assert (html.count("<details open>"), html.count("<details>")) == (60, 21)
    assert html.index("<details open>") < html.index("<details>")


def pet(kind: str, **more: Any) -> dict[str, Any]:
    return {"type": "object", "properties": {"kind": {"const": kind}, "age": STRING}, **more}


BRANCHES = [
    pytest.param(
        [pet("dog", title="Dog"), pet("cat")], ["p (Dog)", "p (oneOf[1])"], id="title or place"
    ),
    pytest.param(
        [{"$ref": "#/$defs/One"}, {"$ref": "#/$defs/Two"}], ["p (One)", "p (Two)"], id="reference"
    ),
    pytest.param([pet("dog"), {"type": "array"}], ["p", "p"], id="told apart by type"),
]


@pytest.mark.parametrize("branches, names", BRANCHES)
def test_branches_are_told_apart(branches: list[Any], names: list[str]) -> None:
    one = {"type": "object", "properties": {"x": STRING}}
    schema = xb.schema.parse_schema(
        {
            "$defs": {"One": one, "Two": {"type": "object"}},
            "type": "object",
            "properties": {"p": {"oneOf": branches}},
        }
    )
    rows = [row for row in schema.shown() if row.parent == 1]
    assert [row.name for row in rows] == names
    for name in names:
        assert f"─ {name}: " in repr(schema)
        assert f"<b>{name}</b>" in schema._repr_html_()
    assert [n.name for n in schema_tree(schema) if n.parent == 1] == names
