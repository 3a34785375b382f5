"""Array matches in JupyterLab: clicked, driven by keys, filtered, and asked in Python."""

from __future__ import annotations

import re
from typing import Any

import pytest

from tests.browser.lab import Lab, Notebook, serious_findings

sync_api = pytest.importorskip("playwright.sync_api")
expect = sync_api.expect

CELLS = [
    """
import copy, pickle
import extractbench_nb as xb
from extractbench_nb.widgets.matches_view import MatchesView
ds = xb.load_dataset()
gold = ds.gold("[okafor30] ledger parsing")
predicted = copy.deepcopy(gold)
found = predicted["references"]
found[2]["work_title"] += " revisited"
found[4] = {"work_title": "An invented work", "released": 1700, "source": "Nowhere"}
found[0], found[3] = found[3], found[0]
ev = xb.evaluate(ds.schema("preprint"), gold, predicted)
view = MatchesView(ev, "references")
view
""",
    """
exact = {"type": "string", "evaluation_config": "string_exact"}
rows = {"type": "object", "properties": {"rows": {"type": "array", "items": exact}}}
many = xb.evaluate(rows, {"rows": [f"item {i}" for i in range(1000)]},
                   {"rows": [f"item {i}" for i in reversed(range(1000))]})
large = MatchesView(many)
large
""",
    """
bad = "<img src=x onerror='window.hacked = 1'>"
key = "<script>window.hacked = 1</script>"
item = {"type": "object", "properties": {key: exact, "n": exact}}
attack = {"type": "object", "properties": {bad: {"type": "array", "items": item}}}
hostile = MatchesView(xb.evaluate(attack,
    {bad: [{key: bad, "n": "\\x00\\u202e\\ud800"}, {key: "y" * 1_000_000, "n": "same"}]},
    {bad: [{key: bad, "n": "x"}, {key: "y" * 999_999, "n": "same"}]}))
hostile
""",
    'MatchesView(xb.evaluate(rows, {"rows": []}, {"rows": []}))',
    'fixed = MatchesView(pickle.loads(pickle.dumps(ev)), "references"); fixed',
]


@pytest.fixture(scope="module")
def notebook(lab: Lab) -> Notebook:
    return lab.open(CELLS)


@pytest.fixture
def out(notebook: Notebook) -> Any:
    """The first view, as it was at the start."""
    notebook.run("""
view._status.value, view._text.value, view._sort.value = "", "", "gold order"
view.thresholds = {}
view.selected_pair = (0, None)  # on the first page
view.selected_pair = None
view._knob.value = "align_threshold"
""")
    notebook.wait_python("view.rows['gold_index'].tolist()[0]", 0)
    out = notebook.output(0)
    expect(out.locator(".xb-pager")).to_contain_text("rows 1–25 of 27")
    expect(card(out, "left", 0)).to_be_attached()
    return out


def card(out: Any, side: str, at: int) -> Any:
    return out.locator(f'[data-side="{side}"][data-at="{at}"]')


def row(out: Any, name: str) -> Any:
    return out.locator(f'[data-row="{name}"]')


def test_a_click_selects_the_pair(notebook: Notebook, out: Any) -> None:
    card(out, "left", 3).click()
    notebook.wait_python("view.selected_pair", [3, 0])
    expect(card(out, "left", 3)).to_have_attribute("aria-selected", "true")
    expect(card(out, "right", 0)).to_have_attribute("aria-selected", "true")
    expect(out.locator(".xb-detail")).to_contain_text("Gold item 3 and predicted item 0")
    card(out, "right", 1).click()
    notebook.wait_python("view.selected_pair", [1, 1])
    expect(card(out, "right", 0)).to_have_attribute("aria-selected", "false")


def test_python_selects_a_pair_on_the_page(notebook: Notebook, out: Any) -> None:
    notebook.run("view.selected_pair = (2, None)")
    expect(card(out, "left", 2)).to_have_attribute("aria-selected", "true")
    detail = out.locator(".xb-detail")
    expect(detail.locator(".xb-bad")).to_contain_text("string_fuzzy")
    expect(detail.locator(".xb-bad mark")).to_have_text([" revisited"])
    notebook.run("view.selected_pair = (25, None)")  # on the second page
    expect(card(out, "left", 25)).to_be_in_viewport()
    notebook.run("view.selected_pair = None")
    expect(out.locator('[aria-selected="true"]')).to_have_count(0)
    expect(detail).to_contain_text("Choose an item")


def test_lines_lead_from_partner_to_partner(out: Any) -> None:
    line = out.locator("path.xb-line").nth(2)
    expect(out.locator("path.xb-line")).to_have_count(23)
    expect(line).to_have_class(re.compile("xb-line-partial"))

    def ends() -> Any:
        return line.evaluate("""path => {
            const box = path.ownerSVGElement.getBoundingClientRect();
            const at = length => path.getPointAtLength(length);
            const first = at(0), last = at(path.getTotalLength());
            return [first.x + box.left, first.y + box.top, last.x + box.left, last.y + box.top];
        }""")

    for frame in (0, 200):
        out.locator(".xb-frame").evaluate("(frame, top) => { frame.scrollTop = top; }", frame)
        left, right = (card(out, side, 2).bounding_box() for side in ("left", "right"))
        x1, y1, x2, y2 = ends()
        assert abs(x1 - left["x"] - left["width"]) < 15
        assert abs(x2 - right["x"]) < 15
        assert left["y"] < y1 < left["y"] + left["height"]
        assert right["y"] < y2 < right["y"] + right["height"]


def test_the_pointer_and_the_focus_show_the_partner(notebook: Notebook, out: Any) -> None:
    card(out, "left", 3).hover()
    expect(card(out, "right", 0)).to_have_class(re.compile("xb-near"))
    expect(out.locator("path.xb-near")).to_have_count(1)
    out.locator(".xb-pager").hover()
    expect(card(out, "right", 0)).not_to_have_class(re.compile("xb-near"))
    card(out, "right", 3).focus()
    expect(card(out, "left", 0)).to_have_class(re.compile("xb-near"))


def test_arrow_keys_walk_and_enter_selects(notebook: Notebook, out: Any) -> None:
    keyboard = notebook.page.keyboard
    card(out, "left", 0).focus()
    keyboard.press("ArrowDown")
    expect(card(out, "left", 1)).to_be_focused()
    keyboard.press("End")
    expect(card(out, "left", 23)).to_be_focused()
    expect(card(out, "left", 23)).to_be_in_viewport()
    keyboard.press("Home")
    keyboard.press("ArrowRight")  # to its partner
    expect(card(out, "right", 3)).to_be_focused()
    keyboard.press("ArrowDown")  # the spurious item, which has none
    keyboard.press("ArrowLeft")
    expect(card(out, "right", 4)).to_be_focused()
    keyboard.press("Enter")
    notebook.wait_python("view.selected_pair", [None, 4])
    expect(card(out, "right", 4)).to_be_focused()
    expect(card(out, "right", 4)).to_have_attribute("tabindex", "0")
    expect(notebook.panel.locator(".jp-CodeCell.jp-mod-active")).to_have_count(1)
    expect(notebook.panel.locator(".jp-CodeCell").first).to_have_class(re.compile("jp-mod-active"))


def test_tab_reaches_every_control_in_order(notebook: Notebook, out: Any) -> None:
    out.get_by_role("combobox", name="Array").focus()
    reached = []
    for _ in range(9):
        notebook.page.keyboard.press("Tab")
        reached.append(
            notebook.page.evaluate("""() => {
                const at = document.activeElement;
                return at.getAttribute('role') || at.type || at.tagName;
            }""")
        )
        outlined = "getComputedStyle(document.activeElement).outlineStyle"
        assert notebook.page.evaluate(outlined) != "none" or reached[-1] in ("text", "select-one")
    assert reached == [
        *("select-one", "range", "submit"),
        *("select-one", "select-one", "text"),
        *("button", "option", "option"),
    ]


def test_the_slider_decides_pairs_anew(notebook: Notebook, out: Any) -> None:
    slider = out.get_by_role("slider")
    slider.focus()
    notebook.page.keyboard.press("End")
    notebook.wait_python("view.thresholds", {"align_threshold": 1.0})
    expect(card(out, "left", 2)).to_contain_text("missed")
    expect(row(out, "now").locator("mark")).to_have_text(["0"])
    expect(out.get_by_text("Changed: align_threshold 0.50 → 1.00.")).to_be_visible()
    expect(out.locator("path.xb-line-partial")).to_have_count(0)
    notebook.wait_python("int(view.summary['partial'])", 0)
    out.get_by_role("button", name="As declared").click()
    notebook.wait_python("view.thresholds", {})
    expect(card(out, "left", 2)).to_contain_text("partial")
    expect(slider).to_have_value("0.5")


def test_the_threshold_of_a_field_aligns_anew(notebook: Notebook, out: Any) -> None:
    out.get_by_role("combobox", name="Threshold").select_option(
        "references[].work_title: string_fuzzy threshold (0.80)"
    )
    expect(out.get_by_role("slider")).to_have_value("0.8")
    out.get_by_role("slider").focus()
    notebook.page.keyboard.press("PageDown")
    notebook.wait_python("len(view.thresholds)", 1)
    before, now = (row(out, name).locator("td").nth(2) for name in ("as evaluated", "now"))
    expect(before).to_have_text("24")
    expect(now).to_have_text("25")
    expect(card(out, "left", 2)).to_contain_text("matched")
    notebook.wait_python("int(view.summary['matched'])", 25)


def test_filters_search_and_order(notebook: Notebook, out: Any) -> None:
    out.get_by_role("combobox", name="Show").select_option("spurious (1)")
    expect(out.locator(".xb-card")).to_have_count(1)
    expect(out.get_by_text("No gold items here.")).to_be_visible()
    out.get_by_role("combobox", name="Show").select_option("all (27)")
    expect(out.locator(".xb-pager")).to_contain_text("rows 1–25 of 27")
    out.get_by_role("textbox", name="Find").fill("invented WORK")
    expect(out.locator(".xb-card")).to_have_count(1)
    notebook.wait_python("view.rows['predicted_index'].tolist()", [4])
    out.get_by_role("textbox", name="Find").fill("nothing like this")
    expect(out.get_by_text("No item matches; clear the filters.")).to_be_visible()
    out.get_by_role("textbox", name="Find").fill("")
    out.get_by_role("combobox", name="Order").select_option("status")
    expect(out.locator(".xb-card").first).to_contain_text("partial")
    expect(out.locator("path.xb-line").first).to_have_class(re.compile("xb-line-partial"))


def test_another_array_is_picked(notebook: Notebook, out: Any) -> None:
    out.get_by_role("combobox", name="Array").select_option(
        re.compile(r"^\$\.topics ").pattern and "$.topics  (4 gold, 4 predicted, 4 matched)"
    )
    notebook.wait_python("view.path", "$.topics")
    expect(out.locator(".xb-card")).to_have_count(8)
    notebook.run("view.path = 'references'")
    expect(card(out, "left", 20)).to_be_attached()


def test_a_thousand_items_are_turned_page_by_page(notebook: Notebook) -> None:
    out = notebook.output(1)
    expect(out.get_by_text("rows 1–25 of 1,000")).to_be_visible()
    expect(out.get_by_role("button", name="‹ Previous")).to_be_disabled()
    out.get_by_role("button", name="Next ›").click()
    expect(out.get_by_text("rows 26–50 of 1,000")).to_be_visible()
    expect(out.get_by_role("button", name="Next ›")).to_be_focused()
    expect(card(out, "left", 25)).to_be_visible()
    notebook.run("large.selected_pair = (999, None)")
    expect(out.get_by_text("rows 976–1000 of 1,000")).to_be_visible()
    expect(card(out, "right", 0)).to_have_attribute("aria-selected", "true")
    expect(out.get_by_role("button", name="Next ›")).to_be_disabled()


def test_hostile_texts_stay_text(notebook: Notebook) -> None:
    out = notebook.output(2)
    expect(card(out, "left", 0)).to_contain_text("<img src=x")
    expect(card(out, "left", 0)).to_contain_text("<script>")
    card(out, "left", 1).click()
    notebook.wait_python("hostile.selected_pair", [1, 1])
    out.get_by_role("button", name=re.compile("Show all of .*, gold")).click()
    longest = "cells => Math.max(...[...cells].map(cell => cell.textContent.length))"
    expect(out.get_by_role("button", name=re.compile("Show all"))).to_have_count(0)
    assert out.locator(".xb-detail td").evaluate_all(longest) == 100_000
    assert notebook.page.evaluate("window.hacked") is None


def test_empty_arrays_say_so(notebook: Notebook) -> None:
    out = notebook.output(3)
    expect(out.get_by_text("Both arrays are empty: there is nothing to match.")).to_be_visible()
    expect(out.locator(".xb-frame")).to_be_hidden()


def test_without_records_the_slider_is_off(notebook: Notebook) -> None:
    out = notebook.output(4)
    expect(out.get_by_role("slider")).to_be_disabled()
    expect(out.get_by_text("without its records")).to_be_visible()
    card(out, "left", 2).click()
    notebook.wait_python("fixed.selected_pair", [2, 2])


@pytest.mark.parametrize("width", [1400, 900])
def test_nothing_overflows(notebook: Notebook, width: int) -> None:
    notebook.page.set_viewport_size({"width": width, "height": 1000})
    for cell in range(5):
        out = notebook.output(cell)
        assert out.evaluate("element => element.scrollWidth <= element.clientWidth + 1")
        counts = out.locator(".xb-scroll")
        assert counts.evaluate("element => element.scrollWidth <= element.clientWidth + 1")


@pytest.mark.parametrize("cell", range(5))
def test_screen_readers_are_served(notebook: Notebook, cell: int) -> None:
    assert serious_findings(notebook, cell) == []


def test_each_slider_of_a_page_has_its_own_label(notebook: Notebook, out: Any) -> None:
    expect(out.get_by_role("slider", name="Value")).to_have_count(1)
    sliders = notebook.panel.get_by_role("slider", name="Value")
    notebook.output(4).scroll_into_view_if_needed()
    expect(notebook.output(4).get_by_role("slider", name="Value")).to_have_count(1)
    ids = sliders.evaluate_all("all => all.map(each => each.id)")
    assert len(ids) > 1
    assert len(set(ids)) == len(ids)


def test_no_errors_on_the_console(notebook: Notebook) -> None:
    notebook.check()
