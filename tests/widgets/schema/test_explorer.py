"""The schema explorer without a page: selection, static twin, hostile names."""

from __future__ import annotations

from typing import Any

import pytest
import traitlets

import extractbench_nb as xb
from tests.widgets.hostile import HOSTILE, Twin

SCHEMA = {
    "type": "object",
    "properties": {
        "total": {"type": "number"},
        "lines": {
            "type": "array",
            "items": {"type": "object", "properties": {"total": {"type": "number"}}},
        },
    },
}
TOTAL = "$.properties.lines.items.properties.total"


@pytest.mark.parametrize("name", ["lines[].total", TOTAL])
def test_a_node_is_chosen_by_field_or_by_schema_path(name: str) -> None:
    view = xb.show(SCHEMA)
    view.selected_path = name
    assert view.selected_path == TOTAL
    assert view.selection["field"].tolist() == ["lines[].total"]


def test_the_selection_is_the_subtree() -> None:
    view = xb.show(SCHEMA)
    assert len(view.selection) == 5
    view.selected_path = "lines"
    assert view.selection["field"].tolist() == ["lines", "lines[]", "lines[].total"]
    view.selected_path = ""
    assert len(view.selection) == 5


def test_an_unknown_node_is_refused_with_the_nearest_name() -> None:
    view = xb.show(SCHEMA)
    with pytest.raises(traitlets.TraitError, match=r"'lines\[\].totl'.*did you mean 'lines\[\]"):
        view.selected_path = "lines[].totl"
    assert view.selected_path == ""


def test_a_click_arrives_as_the_schema_path() -> None:
    view = xb.show(SCHEMA)
    seen: list[str] = []
    view.observe(lambda change: seen.append(change["new"]), "selected_path")
    at = view.selection["schema_path"].tolist().index(TOTAL)
    view._handle_custom_msg({"do": "node", "value": at}, [])  # what the page sends
    assert seen == [TOTAL]


def test_the_twin_reads_without_style() -> None:
    ev = xb.evaluate(SCHEMA, {"total": 1}, {"total": 2})
    twin = Twin(xb.show(ev.schema, ev).to_html())
    twin.check()
    assert "totalnumber" in twin.text.replace(" ", "")
    assert "1 incorrect" in twin.text
    assert "number_tolerance" in twin.text


@pytest.mark.parametrize("text", HOSTILE.values(), ids=HOSTILE)
def test_hostile_schemas_stay_text(text: str) -> None:
    schema: dict[str, Any] = {
        "type": "object",
        "description": text,
        "properties": {
            text: {"type": "string", "description": text, "enum": [text]},
            "list": {
                "type": "array",
                "items": {"type": "object", "properties": {text: {"type": "string"}}},
            },
        },
    }
    view = xb.show(schema)
    Twin(view.to_html()).check()
    assert len(view._p0) + len(view._p1) < 40_000
    view.perform("node", 1)
    assert view.selected_path == view._schema.to_frame()["schema_path"][1]
    Twin(view.to_html()).check()


def test_a_search_unfolds_and_marks_what_it_finds() -> None:
    names = {
        f"f{i}": {"type": "object", "properties": {"x": {"type": "string"}}} for i in range(3000)
    }
    names["f2999"]["properties"]["needle"] = {"type": "string"}  # type: ignore[index]
    view = xb.show({"type": "object", "properties": names})
    assert "needle" not in view._p1
    view.perform("set:text", " NEEDLE ")
    assert "1 found" in view._p0
    assert '["mark",{"class":"xb-found"},"needle"]' in view._p1


def test_a_deep_schema_is_nested_only_so_far() -> None:
    schema: dict[str, Any] = {"type": "string"}
    for _ in range(90):
        schema = {"type": "object", "properties": {"a": schema, "b": {"type": "string"}}}
    Twin(xb.show(schema).to_html()).check()


def test_an_empty_schema_has_one_node() -> None:
    view = xb.show({"type": "object"})
    assert repr(view) == "Schema · 1 node · depth 0"
    Twin(view.to_html()).check()
