"""The view of an evaluation in JupyterLab: clicked, typed at, and asked in Python."""

from __future__ import annotations

from typing import Any

import pytest

from tests.browser.lab import Lab, Notebook, serious_findings

sync_api = pytest.importorskip("playwright.sync_api")
expect = sync_api.expect

CELLS = [
    """
import extractbench_nb as xb
from extractbench_nb.widgets.evaluation_view import EvaluationView
ds = xb.load_dataset()
predicted = ds.root / "runs/osprey-7b/brindlemoor_10q_q2_fy2031.json"
gold = ds.gold("brindlemoor_10q_q2_fy2031")
ev = xb.evaluate(ds.schema("quarterly_report"), gold, predicted)
view = EvaluationView(ev)
view
""",
    """
bad = "<img src=x onerror='window.hacked = 1'>"
text = {"type": "string", "description": bad, "evaluation_config": "string_exact"}
schema = {"type": "object", "properties": {bad: text, "long": text, "arabic": text, "none": text}}
first = {bad: bad, "long": "word " * 30_000, "arabic": "\\u202eتقييم استخراج"}
second = {bad: "<script>window.hacked = 1</script>", "long": "word " * 30_001, "none": "\\x00"}
hostile = EvaluationView(xb.evaluate(schema, first, second))
hostile
""",
    """
skipped = {"type": "object", "properties": {"a": {"type": "string", "evaluation_config": "skip"}}}
EvaluationView(xb.evaluate(skipped, {"a": "x"}, {"a": "y"}))
""",
    """
EvaluationView(xb.evaluate(ds.schema("quarterly_report"), gold, "Sorry, I cannot do that."))
""",
]


@pytest.fixture(scope="module")
def notebook(lab: Lab) -> Notebook:
    return lab.open(CELLS)


@pytest.fixture(autouse=True)
def afresh(request: pytest.FixtureRequest, notebook: Notebook) -> None:
    """Each test starts with nothing chosen and nothing left out."""
    notebook.run("view.clear(node=True); view.selected_row = ''; view.worst_first = False")
    notebook.run("view._list.number = 0")
    expect(rows(notebook)).to_have_count(50)


def rows(notebook: Notebook) -> Any:
    return notebook.output(0).get_by_role("grid").locator("[data-label]")


def row(notebook: Notebook, path: str) -> Any:
    path_of = notebook.page.locator(".xb-path").get_by_text(path, exact=True)
    return rows(notebook).filter(has=path_of)


def status(notebook: Notebook) -> Any:
    return notebook.output(0).locator(".xb-tools").first.get_by_role("status").first


def test_a_node_of_the_tree_leaves_its_fields(notebook: Notebook) -> None:
    node = notebook.output(0).locator('[role=treeitem][data-path="$.properties.filing"]')
    node.click()
    expect(rows(notebook)).to_have_count(10)
    expect(status(notebook)).to_have_text("10 fields (471 in all)")
    notebook.wait_python("view.selected_path", "$.properties.filing")
    notebook.wait_python("len(view.rows)", 10)


def test_a_row_opens_in_full_with_its_differences(notebook: Notebook) -> None:
    audited = row(notebook, "$.filing.audited")
    audited.click()
    notebook.wait_python("view.selected_row", "$.filing.audited")
    expect(audited).to_have_attribute("aria-selected", "true")
    chosen = notebook.output(0).get_by_role("region", name="Chosen field")
    expect(chosen).to_contain_text("≠ incorrect (value_mismatch)")
    expect(chosen.get_by_role("group", name="gold value")).to_have_text("false")
    expect(chosen.get_by_role("group", name="predicted value")).to_have_text("true")


def test_filters_leave_what_they_say(notebook: Notebook) -> None:
    out = notebook.output(0)
    out.get_by_role("combobox", name="Outcome").select_option("− omission")
    expect(rows(notebook)).to_have_count(5)
    notebook.wait_python("view.outcome", "omission")
    out.get_by_role("combobox", name="Metric").select_option(index=1)
    expect(out.get_by_text("No field matches; clear the filters.")).to_be_visible()
    out.get_by_role("button", name="Clear filters").click()
    expect(rows(notebook)).to_have_count(50)
    notebook.wait_python("[view.outcome, view.metric, len(view.rows)]", ["", "", 471])


def test_text_is_found_while_it_is_typed(notebook: Notebook) -> None:
    find = notebook.output(0).get_by_role("textbox", name="Find")
    find.press_sequentially("FILING.c")
    expect(rows(notebook)).to_have_count(2)
    notebook.wait_python("view.rows['path'].tolist()", ["$.filing.closes_on", "$.filing.currency"])


def test_check_boxes_and_order(notebook: Notebook) -> None:
    out = notebook.output(0)
    out.get_by_role("checkbox", name="not passed only").check()
    out.get_by_role("checkbox", name="counted only").check()
    expect(rows(notebook)).to_have_count(12)
    out.get_by_role("combobox", name="Order").select_option("worst first")
    notebook.wait_python("view.worst_first", True)
    notebook.wait_python("bool(view.rows['score'].is_monotonic_increasing)", True)


def test_python_moves_the_page(notebook: Notebook) -> None:
    notebook.run("view.outcome = 'correct'; view.selected_row = view.rows['path'].iloc[60]")
    chosen = notebook.output(0).locator('[data-label][aria-selected="true"]')
    expect(chosen).to_be_visible()
    expect(chosen).to_be_in_viewport()
    expect(status(notebook)).to_contain_text("51 to 100 of ")
    box = notebook.output(0).get_by_role("combobox", name="Outcome")
    assert box.evaluate("box => box.selectedOptions[0].text").endswith("correct")


def test_pages_turn(notebook: Notebook) -> None:
    out = notebook.output(0)
    expect(out.get_by_role("button", name="Previous")).to_be_disabled()
    out.get_by_role("button", name="Next").click()
    expect(status(notebook)).to_have_text("51 to 100 of 471 fields")
    expect(rows(notebook).first).to_have_attribute("data-label", "50")
    out.get_by_role("button", name="Previous").click()
    expect(status(notebook)).to_have_text("1 to 50 of 471 fields")


def test_the_focus_is_kept_where_a_button_can_no_longer_be_pressed(notebook: Notebook) -> None:
    out = notebook.output(0)
    notebook.run("view._list.number = 8")
    expect(status(notebook)).to_have_text("401 to 450 of 471 fields")
    out.get_by_role("button", name="Next").focus()
    notebook.page.keyboard.press("Enter")
    expect(status(notebook)).to_have_text("451 to 471 of 471 fields")
    expect(out.get_by_role("button", name="Next")).to_be_disabled()
    expect(out.get_by_role("button", name="Previous")).to_be_focused()


def test_keys_walk_choose_and_turn_the_page(notebook: Notebook) -> None:
    keyboard, all_rows = notebook.page.keyboard, rows(notebook)
    all_rows.first.focus()
    keyboard.press("ArrowDown")
    keyboard.press("ArrowDown")
    expect(all_rows.nth(2)).to_be_focused()
    keyboard.press("Enter")
    notebook.wait_python("view.selected_row", "$.filing.span")
    expect(all_rows.nth(2)).to_be_focused()
    keyboard.press("Home")
    expect(all_rows.first).to_be_focused()
    keyboard.press("End")
    keyboard.press("ArrowDown")
    expect(status(notebook)).to_have_text("51 to 100 of 471 fields")
    expect(all_rows.first).to_be_focused()
    keyboard.press("ArrowUp")
    expect(status(notebook)).to_have_text("1 to 50 of 471 fields")
    expect(all_rows.last).to_be_focused()
    assert notebook.panel.locator(".jp-CodeCell").count() == len(CELLS) + 1


def test_one_key_press_enters_the_list_and_leaves_it(notebook: Notebook) -> None:
    out = notebook.output(0)
    out.get_by_role("button", name="Copy rows as Python").focus()
    notebook.page.keyboard.press("Tab")
    entered = notebook.output(0).locator('[data-label][tabindex="0"]')
    expect(entered).to_be_focused()
    width = entered.evaluate("row => getComputedStyle(row).outlineWidth")
    assert float(width.removesuffix("px")) >= 2
    notebook.page.keyboard.press("Tab")
    assert not out.evaluate("out => Boolean(document.activeElement.closest('[data-label]'))")


def test_the_copied_code_gives_the_rows(notebook: Notebook) -> None:
    notebook.page.context.grant_permissions(["clipboard-read", "clipboard-write"])
    notebook.run("view.only_failed = True; view.selected_path = 'filing'")
    expect(rows(notebook)).to_have_count(1)
    out = notebook.output(0)
    out.get_by_role("button", name="Copy rows as Python").click()
    expect(out.get_by_text("Copied")).to_be_visible()
    code = notebook.page.evaluate("navigator.clipboard.readText()")
    notebook.wait_python(f"({code})['path'].tolist()", ["$.filing.audited"])
    rows(notebook).first.click()
    out.get_by_role("button", name="Copy field as Python").click()
    expect(out.get_by_text("Copied").last).to_be_visible()
    code = notebook.page.evaluate("navigator.clipboard.readText()")
    assert code == 'ev.fields[ev.fields["path"] == "$.filing.audited"]'


def test_without_a_clipboard_the_code_is_put_into_a_box(notebook: Notebook) -> None:
    page = notebook.page
    page.evaluate("Object.defineProperty(navigator, 'clipboard', { value: undefined })")
    out = notebook.output(0)
    out.get_by_role("button", name="Copy rows as Python").click()
    box = out.get_by_role("textbox", name="Copy rows as Python")
    expect(box).to_be_focused()
    expect(box).to_have_value("ev.fields")
    assert box.evaluate("box => box.selectionEnd - box.selectionStart") == len("ev.fields")
    assert page.evaluate("delete navigator.clipboard") is not None


def test_the_head_tells_and_unfolds(notebook: Notebook) -> None:
    out = notebook.output(0)
    expect(out.get_by_text("278 of 290 fields pass")).to_be_visible()
    bar = out.locator(".xb-legend").get_by_role("img")
    assert "5 omission" in bar.get_attribute("aria-label")
    out.get_by_text("4 warnings").click()
    expect(out.locator("details li").first).to_be_visible()
    out.get_by_text("4 warnings").click()


def test_hostile_texts_stay_texts(notebook: Notebook) -> None:
    out = notebook.output(1)
    expect(out.locator("[data-label]").first).to_contain_text("<script>window.hacked")
    out.locator("[data-label]").first.click()
    chosen = out.get_by_role("region", name="Chosen field")
    expect(chosen).to_contain_text("<img src=x onerror='window.hacked = 1'>")
    assert notebook.page.evaluate("window.hacked") is None


def test_a_long_value_is_shown_in_two_steps(notebook: Notebook) -> None:
    notebook.run("hostile.selected_row = 'long'")
    chosen = notebook.output(1).get_by_role("region", name="Chosen field")
    value = chosen.get_by_role("group", name="gold value")
    expect(chosen.get_by_text("… 148,000 more characters")).to_be_visible()
    chosen.get_by_role("button", name="Show all").click()
    expect(chosen.get_by_text("… 50,000 more characters")).to_be_visible()
    assert value.evaluate("value => value.textContent.length") == 100_000
    expect(value).to_be_focused()
    expect(chosen.get_by_role("button", name="Show all")).to_be_hidden()


def test_right_to_left_text_runs_right_to_left(notebook: Notebook) -> None:
    cell = notebook.output(1).locator('[data-label="2"] [data-side="gold"]')
    assert cell.evaluate("cell => getComputedStyle(cell).direction") == "rtl"


def test_what_is_missing_is_said(notebook: Notebook) -> None:
    expect(notebook.output(2)).to_contain_text("The schema scores no field of this document.")
    expect(notebook.output(3)).to_contain_text("The prediction is not JSON.")
    expect(notebook.output(3)).to_contain_text("Sorry, I cannot do that.")


@pytest.mark.parametrize("width", [900, 1400])
def test_nothing_overflows(notebook: Notebook, width: int) -> None:
    notebook.page.set_viewport_size({"width": width, "height": 1000})
    notebook.run("view.selected_row = view.rows['path'].iloc[3]")
    for cell in range(len(CELLS)):
        out = notebook.output(cell)
        assert out.evaluate("element => element.scrollWidth <= element.clientWidth + 1")


@pytest.mark.parametrize("cell", range(len(CELLS)))
def test_screen_readers_are_served(notebook: Notebook, cell: int) -> None:
    notebook.run("view.selected_row = view.rows['path'].iloc[3]")
    assert serious_findings(notebook, cell) == []


def test_no_errors_on_the_console(notebook: Notebook) -> None:
    notebook.check()
