"""Detected objects in JupyterLab: clicked, driven by keys, resolved anew."""

from __future__ import annotations

import re
from typing import Any

import pytest

from tests.browser.lab import Notebook, serious_findings
from tests.widgets.hostile import HOSTILE
from tests.widgets.objects.objects import DOUBLED, DOUBTFUL, OBJECTS, SPANNING, TRUE_CSV, WORDS

sync_api = pytest.importorskip("playwright.sync_api")
expect = sync_api.expect

WORST = [word | {"text": text} for word, text in zip(WORDS, HOSTILE.values(), strict=False)]
CELLS = [
    f"""
import extractbench_nb as xb
from PIL import Image
objects, words = {OBJECTS!r}, {WORDS!r}
found = xb.tables.from_objects(objects, words)
view = xb.show(found, image=Image.new("RGB", (300, 80), "#eeeedd"), true={TRUE_CSV!r})
view
""",
    f"""
hostile = xb.show(xb.tables.from_objects(objects, {WORST!r}))
hostile
""",
    "xb.show(xb.tables.from_objects([]))",
]


@pytest.fixture
def out(notebook: Notebook) -> Any:
    """The first view, as it was at the start."""
    notebook.run("view.back(0); view.selected, view.threshold = None, 0.5")
    out = notebook.output(0)
    expect(out.get_by_text("Choose a box")).to_be_visible()
    return out


def box(out: Any, number: int) -> Any:
    return out.get_by_role("option", name=re.compile(f"^object {number}:"))


def click(out: Any, x: float, y: float) -> None:
    """Click where a point of the image is."""
    paper = out.locator(".xb-paper")
    size = paper.bounding_box()
    paper.click(position={"x": x / 300 * size["width"], "y": y / 80 * size["height"]})


def test_clicks_choose_the_boxes_at_a_place_in_turn(notebook: Notebook, out: Any) -> None:
    for number in (SPANNING, 5, DOUBLED, 2, 0, SPANNING):
        click(out, 150, 30)
        notebook.wait_python("view.selected", number)
        expect(box(out, number)).to_have_attribute("aria-selected", "true")
    chosen = out.get_by_role("region", name="Chosen object")
    expect(chosen).to_contain_text("align: aligned, to rows and columns (row 1; columns 1 to 2)")
    expect(out.locator("td.xb-on")).to_have_text(["11 12"])


def test_arrow_keys_choose_objects(notebook: Notebook, out: Any) -> None:
    keyboard = notebook.page.keyboard
    box(out, 0).focus()
    for key, number in (("ArrowDown", 1), ("ArrowDown", 2), ("End", 2), ("PageDown", SPANNING)):
        keyboard.press(key)
        expect(box(out, number)).to_be_focused()
        notebook.wait_python("view.selected", number)
        expect(box(out, number)).to_have_attribute("aria-selected", "true")
    for key, number in (("ArrowUp", 8), ("ArrowUp", 7), ("Enter", 7)):
        keyboard.press(key)
        notebook.wait_python("view.selected", number)
    keyboard.press("Escape")
    notebook.wait_python("view.selected", None)
    expect(out.get_by_text("Choose a box")).to_be_visible()


def test_tab_reaches_every_control_in_order(notebook: Notebook, out: Any) -> None:
    out.get_by_role("button", name="Compare the tables").focus()
    order = [
        out.get_by_role("slider", name="Threshold"),
        out.get_by_role("listbox").locator(":focus"),
        out.get_by_role("region", name="Table"),
    ]
    for control in order:
        notebook.page.keyboard.press("Tab")
        expect(control).to_be_focused()


def test_the_slider_resolves_anew(notebook: Notebook, out: Any) -> None:
    expect(box(out, DOUBTFUL)).to_have_count(0)
    expect(out.get_by_role("region", name="Table").locator("td")).to_have_count(11)
    slider = out.get_by_role("slider", name="Threshold")
    slider.focus()
    for _ in range(21):
        notebook.page.keyboard.press("ArrowLeft")
    notebook.wait_python("view.threshold", 0.29)
    expect(box(out, DOUBTFUL)).to_have_count(1)
    expect(out.get_by_role("region", name="Table").locator("td")).to_have_count(10)
    expect(out.get_by_text("3 aligned")).to_be_visible()
    expect(slider).to_be_focused()
    notebook.run("view.threshold = 0.7")
    expect(out.get_by_text("GriTS with the true table: top 1.000, con 1.000")).to_be_visible()


def test_boxes_lie_where_they_were_detected(out: Any) -> None:
    paper, found = out.locator(".xb-paper").bounding_box(), box(out, SPANNING).bounding_box()
    shares = [(found["x"] - paper["x"]) / paper["width"], found["width"] / paper["width"]]
    assert shares == pytest.approx([105 / 300, 190 / 300], abs=0.01)


def test_hostile_texts_stay_text(notebook: Notebook) -> None:
    out = notebook.output(1)
    expect(out.get_by_role("region", name="Table")).to_contain_text("<script>window")
    assert not re.search("[\x00\x07\x1b\u202e]", out.inner_text())
    assert notebook.page.evaluate("window.hacked") is None


@pytest.mark.parametrize("width", [1400, 900])
def test_nothing_overflows(notebook: Notebook, width: int) -> None:
    notebook.page.set_viewport_size({"width": width, "height": 1000})
    for at in range(len(CELLS)):
        out = notebook.output(at)
        assert out.evaluate("element => element.scrollWidth <= element.clientWidth + 1")


@pytest.mark.parametrize("at", range(len(CELLS)))
def test_screen_readers_are_served(notebook: Notebook, at: int) -> None:
    assert serious_findings(notebook, at) == []


@pytest.mark.parametrize("dark", [False, True])
def test_a_chosen_object_is_readable(notebook: Notebook, out: Any, dark: bool) -> None:
    def check() -> None:
        notebook.run(f"view.selected = {SPANNING}")
        expect(out.get_by_role("region", name="Chosen object")).to_be_visible()
        assert serious_findings(notebook, 0) == []

    if not dark:
        check()
        return
    with notebook.dark():
        check()


def test_no_errors_on_the_console(notebook: Notebook) -> None:
    notebook.check()
