"""Array matches in JupyterLab: clicked, driven by keys, filtered, and asked in Python."""

from __future__ import annotations

import re
from typing import Any

import pytest

from tests.browser.lab import Notebook, serious_findings

sync_api = pytest.importorskip("playwright.sync_api")
expect = sync_api.expect

CELLS = [
    """
import copy, pickle
import extractbench_nb as xb
ds = xb.load_dataset()
gold = ds.gold("[okafor30] ledger parsing")
predicted = copy.deepcopy(gold)
found = predicted["references"]
found[2]["work_title"] += " revisited"
found[4] = {"work_title": "An invented work", "released": 1700, "source": "Nowhere"}
found[0], found[3] = found[3], found[0]
ev = xb.evaluate(ds.schema("preprint"), gold, predicted)
view = xb.show_matches(ev, "references")
view
""",
    """
bad = "<img src=x onerror='window.hacked = 1'>"
key = "<script>window.hacked = 1</script>"
exact = {"type": "string", "evaluation_config": "string_exact"}
item = {"type": "object", "properties": {key: exact, "n": exact}}
attack = {"type": "object", "properties": {bad: {"type": "array", "items": item}}}
hostile = xb.show_matches(xb.evaluate(attack,
    {bad: [{key: bad, "n": "\\x00\\u202e\\ud800"}, {key: "y" * 1_000_000, "n": "same"}]},
    {bad: [{key: bad, "n": "x"}, {key: "y" * 999_999, "n": "same"}]}))
hostile
""",
    """
rows = {"type": "object", "properties": {"rows": {"type": "array", "items": exact}}}
xb.show_matches(xb.evaluate(rows, {"rows": []}, {"rows": []}))
""",
    'fixed = xb.show_matches(pickle.loads(pickle.dumps(ev)), "references"); fixed',
    'whole = xb.show(ev); whole.selected_row = "$.references"; whole',
]


@pytest.fixture
def out(notebook: Notebook) -> Any:
    """The first view, as it was at the start."""
    notebook.run("""
view.path = "references"
view.status, view.text, view.sort, view.thresholds = "", "", "pairs", {}
view.selected_pair = None
view.page = 0
""")
    out = notebook.output(0)
    expect(out.locator(".xb-pager")).to_contain_text("rows 1 to 25 of 27")
    return out


def row(out: Any, pair: str) -> Any:
    sent = pair.replace("–", "null").replace(" →", ",")
    return out.locator(f'tbody[data-send="[{sent}]"]')


def fold(out: Any, name: str) -> None:
    """Open what is behind a button; it stays open."""
    summary = out.locator("summary", has_text=name)
    if not summary.evaluate("element => element.parentElement.open"):
        summary.click()


def detail(out: Any) -> Any:
    return out.locator(".xb-wide")


def test_a_click_opens_a_pair_under_its_row(notebook: Notebook, out: Any) -> None:
    row(out, "2 → 2").click()
    notebook.wait_python("view.selected_pair", [2, 2])
    expect(row(out, "2 → 2")).to_have_attribute("aria-current", "true")
    failed = detail(out).locator(".xb-failed")
    expect(failed).to_contain_text("string_fuzzy")
    expect(failed.locator("mark")).to_have_text([" revisited"])
    expect(failed).to_be_in_viewport()
    row(out, "2 → 2").click()
    expect(detail(out)).to_have_count(0)
    row(out, "6 → 6").click()  # below the middle of the list
    expect(detail(out).get_by_text("written_by[0].name")).to_be_in_viewport()
    expect(row(out, "6 → 6")).to_be_in_viewport()


def test_python_opens_a_pair_on_another_page(notebook: Notebook, out: Any) -> None:
    notebook.run("view.selected_pair = (25, None)")
    expect(row(out, "25 → 25")).to_be_in_viewport()
    expect(out.locator(".xb-pager")).to_contain_text("rows 26 to 27 of 27")
    expect(row(out, "– → 4")).to_contain_text("not in gold")


def test_keys_walk_open_and_close(notebook: Notebook, out: Any) -> None:
    keyboard = notebook.page.keyboard
    row(out, "0 → 3").focus()
    keyboard.press("ArrowDown")
    expect(row(out, "1 → 1")).to_be_focused()
    keyboard.press("Enter")
    notebook.wait_python("view.selected_pair", [1, 1])
    expect(row(out, "1 → 1")).to_be_focused()
    expect(detail(out)).to_be_visible()
    keyboard.press("End")
    expect(row(out, "24 → 24")).to_be_focused()
    keyboard.press("Escape")
    notebook.wait_python("view.selected_pair", None)
    expect(notebook.panel.locator(".jp-CodeCell.jp-mod-active")).to_have_count(1)


def test_tab_reaches_every_control_in_order(notebook: Notebook, out: Any) -> None:
    out.get_by_role("combobox", name="Array").focus()
    reached = []
    for _ in range(7):
        notebook.page.keyboard.press("Tab")
        reached.append(
            notebook.page.evaluate("""() => {
                let at = document.activeElement;
                while (at.shadowRoot) at = at.shadowRoot.activeElement;
                return at.type || at.localName;
            }""")
        )
    assert reached == [
        *("summary", "button", "button"),  # filters, and one of each row of chips
        *("button", "tbody", "summary", "summary"),  # the next page, the list, code, thresholds
    ]


def test_the_slider_decides_pairs_anew(notebook: Notebook, out: Any) -> None:
    fold(out, "Try thresholds")
    slider = out.get_by_role("slider", name="align_threshold")
    slider.focus()
    notebook.page.keyboard.press("End")
    notebook.wait_python("view.thresholds", {"align_threshold": 1.0})
    expect(row(out, "2 → –")).to_contain_text("missed")
    expect(out.get_by_text("Now: 24 matched, 0 differing, 2 missed")).to_be_visible()
    out.get_by_role("button", name="As declared").click()
    notebook.wait_python("view.thresholds", {})
    expect(row(out, "2 → 2")).to_contain_text("differing")
    expect(slider).to_have_value("0.5")


def test_filters_search_order_and_array(notebook: Notebook, out: Any) -> None:
    rows = out.locator("tbody[data-item]")
    fold(out, "Filters")
    spurious = out.get_by_role("group", name="Items by status").get_by_text("spurious")
    spurious.click()
    expect(rows).to_have_count(1)
    spurious.click()
    out.get_by_role("searchbox").fill("invented WORK")
    expect(rows).to_have_count(1)
    expect(rows.locator("mark")).to_have_text(["invented work"])
    out.get_by_role("searchbox").press("Enter")
    expect(rows).to_be_focused()
    out.get_by_role("searchbox").fill("nothing like this")
    expect(out.get_by_text("No item matches; clear the filters.")).to_be_visible()
    out.get_by_role("searchbox").fill("")
    out.get_by_role("combobox", name="Order").select_option("differing first")
    expect(rows.first).to_contain_text("differing")
    out.get_by_role("combobox", name="Array").select_option("$.topics: 4 gold, 4 predicted")
    notebook.wait_python("view.path", "$.topics")
    expect(rows).to_have_count(4)


def test_hostile_texts_stay_text(notebook: Notebook) -> None:
    out = notebook.output(1)
    row(out, "0 → 0").click()
    expect(detail(out)).to_contain_text("<img src=x")
    expect(detail(out)).to_contain_text("<script>")
    row(out, "1 → 1").click()
    notebook.wait_python("hostile.selected_pair", [1, 1])
    out.get_by_role("button", name=re.compile("Show all of .*, gold")).click()
    expect(out.get_by_role("button", name=re.compile("Show all"))).to_have_count(0)
    longest = "cells => Math.max(...[...cells].map(cell => cell.textContent.length))"
    assert detail(out).locator("td.xb-value").evaluate_all(longest) == 100_000 + len(" …")
    assert notebook.page.evaluate("window.hacked") is None


def test_from_the_array_of_an_evaluation_to_its_pairs_and_back(notebook: Notebook) -> None:
    out = notebook.output(4)
    out.get_by_role("button", name="All pairs and thresholds").click()
    expect(out.get_by_role("navigation", name="Way back")).to_be_visible()
    row(out, "2 → 2").click()
    notebook.wait_python("whole.trail[0].selected_pair", [2, 2])
    expect(detail(out)).to_be_visible()
    notebook.page.keyboard.press("Escape")
    expect(detail(out)).to_have_count(0)
    out.get_by_role("navigation", name="Way back").get_by_role("button").click()
    notebook.wait_python("len(whole.trail)", 0)
    expect(out.get_by_role("button", name="All pairs and thresholds")).to_be_visible()


@pytest.mark.parametrize("width", [900, 1400])
def test_nothing_overflows(notebook: Notebook, width: int) -> None:
    notebook.page.set_viewport_size({"width": width, "height": 1000})
    for cell in range(5):
        out = notebook.output(cell)
        assert out.evaluate("element => element.scrollWidth <= element.clientWidth + 1")
        for table in out.locator("table").all():
            fits = "table => table.scrollWidth <= table.parentElement.clientWidth + 1"
            assert table.evaluate(fits)


@pytest.mark.parametrize("cell", range(4))
def test_screen_readers_are_served(notebook: Notebook, cell: int) -> None:
    assert serious_findings(notebook, cell) == []


def test_screen_readers_are_served_in_the_dark(notebook: Notebook) -> None:
    notebook.run("view.selected_pair = (2, 2)")
    with notebook.dark():
        assert serious_findings(notebook, 0) == []


def test_no_errors_on_the_console(notebook: Notebook) -> None:
    notebook.check()
