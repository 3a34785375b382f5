"""The HTML tree of a view: as JSON for a live page, and as static HTML."""

from __future__ import annotations

import json
from typing import Any

import pytest

from extractbench_nb.support.nodes import Node, h, static_html, wire
from tests.widgets.hostile import HOSTILE, Twin


@pytest.mark.parametrize(
    "node, live, static",
    [
        (
            h("p", "a", None, ["b", h("b", "c")]),
            ["p", {}, "a", "b", ["b", {}, "c"]],
            "<p>ab<b>c</b></p>",
        ),
        (
            h("p", cls="x", title="t", hidden=False),
            ["p", {"class": "x", "title": "t"}],
            '<p class="x"></p>',
        ),
        (h("p", "x", live=True), ["p", {}, "x"], ""),
        (h("p", h("i", static=True), "x"), ["p", {}, "x"], "<p><i></i>x</p>"),
        (h("button", "Go", do="go"), ["button", {"data-do": "go"}, "Go"], ""),
        (h("button", "score", keep=True), ["button", {}, "score"], "<span>score</span>"),
        (h("tr", do="row", send=3), ["tr", {"data-do": "row", "data-send": "3"}], "<tr></tr>"),
        (
            h("span", role="img", aria_label="3 of 4"),
            ["span", {"role": "img", "aria-label": "3 of 4"}],
            '<span role="img" aria-label="3 of 4"></span>',
        ),
        (
            h("li", role="option", aria_label="a", tabindex=0),
            ["li", {"role": "option", "aria-label": "a", "tabindex": 0}],
            "<li></li>",
        ),
        (h("details", open=True), ["details", {"open": True}], "<details open></details>"),
        (h("img", src="data:image/png;base64,"), ["img", {"src": "data:image/png;base64,"}], None),
    ],
)
def test_one_tree_gives_both(node: Node, live: list[Any], static: str | None) -> None:
    assert json.loads(wire(node)) == live
    assert static is None or static_html(node) == static


def test_parts_stand_in_their_places() -> None:
    parts = {"rows": h("p", "rows"), "tools": h("p", h("input"), "tools")}
    page = h("div", h("div", part="tools"), h("div", part="rows"))
    assert static_html(page, parts) == "<div><div><p>tools</p></div><div><p>rows</p></div></div>"
    assert json.loads(wire(page, {"tools": "_p1", "rows": "_p2"}))[2:] == [
        ["div", {"data-part": "_p1"}],
        ["div", {"data-part": "_p2"}],
    ]


@pytest.mark.parametrize("attack", HOSTILE)
def test_hostile_texts_stay_texts(attack: str) -> None:
    text = HOSTILE[attack]
    node = h(
        "div", h("p", text, cls=text, aria_label=text, role="img"), do="go", send={text: [text]}
    )
    twin = Twin(static_html(node))
    twin.check()
    assert set(twin.tags) == {"div", "p"}
    assert wire(node).isascii()
    *_, child = json.loads(wire(node))
    assert not any(0xD800 <= ord(c) < 0xE000 for c in child[2])
