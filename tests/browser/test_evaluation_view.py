"""The view of an evaluation in JupyterLab: clicked, typed at, and asked in Python."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import extractbench_nb as xb
from tests.browser.conftest import Opened
from tests.browser.lab import Notebook, serious_findings

sync_api = pytest.importorskip("playwright.sync_api")
expect = sync_api.expect

CELLS = [
    """
import extractbench_nb as xb
ds = xb.load_dataset()
predicted = ds.root / "runs/osprey-7b/brindlemoor_10q_q2_fy2031.json"
gold = ds.gold("brindlemoor_10q_q2_fy2031")
ev = xb.evaluate(ds.schema("quarterly_report"), gold, predicted)
view = xb.show(ev, title="osprey-7b on Brindlemoor")
view
""",
    """
bad = "<img src=x onerror='window.hacked = 1'>"
text = {"type": "string", "description": bad, "evaluation_config": "string_exact"}
schema = {"type": "object", "properties": {bad: text, "long": text, "arabic": text, "none": text}}
first = {bad: bad, "long": "word " * 30_000, "arabic": "\\u202eتقييم استخراج"}
second = {bad: "<script>window.hacked = 1</script>", "long": "word " * 30_001, "none": "\\x00"}
hostile = xb.show(xb.evaluate(schema, first, second))
hostile.sort = "document"
hostile
""",
    """
skipped = {"type": "object", "properties": {"a": {"type": "string", "evaluation_config": "skip"}}}
xb.show(xb.evaluate(skipped, {"a": "x"}, {"a": "y"}))
""",
    """
xb.show(xb.evaluate(ds.schema("quarterly_report"), gold, "Sorry, I cannot do that."))
""",
]


SIDES = ("left", "right")


@pytest.fixture(autouse=True)
def afresh(request: pytest.FixtureRequest, notebook: Notebook) -> None:
    """Each test starts with nothing chosen and nothing left out."""
    notebook.run("view.clear(); view.selected_row = ''; view.sort = 'document'; view.page = 0")
    expect(rows(notebook)).to_have_count(40)


def rows(notebook: Notebook, cell: int = 0) -> Any:
    return notebook.output(cell).locator("tbody > tr[data-item]")


def unfold(notebook: Notebook) -> None:
    """Open the filters, which stay open."""
    summary = notebook.output(0).locator(".xb-filters > summary")
    if not summary.evaluate("element => element.parentElement.open"):
        summary.click()


def row(notebook: Notebook, path: str) -> Any:
    path_of = notebook.page.locator(".xb-path").get_by_text(path, exact=True)
    return rows(notebook).filter(has=path_of)


def status(notebook: Notebook) -> Any:
    return notebook.output(0).locator("#rows").get_by_role("status").first


def opened(notebook: Notebook, cell: int = 0) -> Any:
    return notebook.output(cell).locator(".xb-detail")


def test_a_node_of_the_tree_leaves_its_fields(notebook: Notebook) -> None:
    node = notebook.output(0).locator('.xb-tree [data-item][title^="filing"]').first
    node.click()
    expect(rows(notebook)).to_have_count(10)
    expect(status(notebook)).to_contain_text("10 of 478 rows: node $.properties.filing")
    notebook.wait_python("[view.selected_path, len(view.rows)]", ["$.properties.filing", 10])
    notebook.output(0).get_by_role("button", name="Clear filters").click()
    expect(rows(notebook)).to_have_count(40)
    notebook.wait_python("view.selected_path", "")


def test_a_row_opens_beside_with_its_differences(notebook: Notebook) -> None:
    audited = row(notebook, "$.filing.audited")
    audited.click()
    notebook.wait_python("view.selected_row", "$.filing.audited")
    expect(audited).to_have_attribute("aria-current", "true")
    expect(opened(notebook)).to_contain_text("≠ incorrect: value mismatch")
    values = opened(notebook).locator(".xb-whole")
    expect(values).to_have_text(["false", "true"])
    for value in values.all():
        expect(value).to_be_in_viewport()
    audited.click()
    expect(opened(notebook)).to_have_count(0)


def test_the_detail_stays_on_the_right(notebook: Notebook) -> None:
    boxes = []
    for path in ("$.filing.audited", "$.divisions.sales"):
        notebook.run(f"view.selected_row = '{path}'")
        expect(notebook.output(0).locator(".xb-detail")).to_be_visible()
        left, right = (notebook.output(0).locator(f".xb-{s}").bounding_box() for s in SIDES)
        assert right["x"] >= left["x"] + left["width"]
        boxes.append((right["x"], right["width"], right["y"] - left["y"]))
    assert boxes[0] == boxes[1]


def test_text_is_found_and_marked_while_it_is_typed(notebook: Notebook) -> None:
    unfold(notebook)
    find = notebook.output(0).get_by_role("searchbox")
    find.press_sequentially("FILING.c")
    expect(rows(notebook)).to_have_count(2)
    notebook.wait_python("view.rows['path'].tolist()", ["$.filing.closes_on", "$.filing.currency"])
    expect(rows(notebook).locator("mark.xb-found")).to_have_text(["filing.c", "filing.c"])
    expect(find).to_have_value("FILING.c")
    find.press("Enter")
    expect(rows(notebook).first).to_be_focused()
    find.press("Escape")
    expect(rows(notebook)).to_have_count(40)


def test_check_boxes_and_the_order(notebook: Notebook) -> None:
    out = notebook.output(0)
    unfold(notebook)
    out.get_by_role("checkbox", name="not passed only").check()
    out.get_by_role("checkbox", name="counted only").check()
    expect(rows(notebook)).to_have_count(19)
    out.get_by_role("combobox", name="Order").select_option(label="failures first")
    notebook.wait_python("view.sort", "failures")


def test_python_moves_the_page(notebook: Notebook) -> None:
    notebook.run("view.outcome = 'correct'; view.selected_row = view.rows['path'].iloc[60]")
    chosen = notebook.output(0).locator('tr[aria-current="true"]')
    expect(chosen).to_be_visible()
    expect(chosen).to_be_in_viewport()
    expect(notebook.output(0).get_by_text("rows 41 to 80 of")).to_be_visible()
    chip = notebook.output(0).get_by_role("button", name=re.compile("^correct"))
    expect(chip).to_have_attribute("aria-pressed", "true")


def test_pages_turn(notebook: Notebook) -> None:
    out = notebook.output(0)
    expect(out.get_by_role("button", name="Previous")).to_be_disabled()
    out.get_by_role("button", name="Next").click()
    expect(out.get_by_text("rows 41 to 80 of 297")).to_be_visible()
    out.get_by_role("button", name="Previous").click()
    expect(out.get_by_text("rows 1 to 40 of 297")).to_be_visible()


def test_keys_walk_open_and_close(notebook: Notebook) -> None:
    keyboard, all_rows = notebook.page.keyboard, rows(notebook)
    all_rows.first.focus()
    keyboard.press("ArrowDown")
    keyboard.press("ArrowDown")
    expect(all_rows.nth(2)).to_be_focused()
    keyboard.press("Enter")
    notebook.wait_python("view.selected_row", "$.filing.span")
    expect(opened(notebook)).to_be_visible()
    expect(all_rows.nth(2)).to_be_focused()
    keyboard.press("ArrowDown")
    expect(all_rows.nth(3)).to_be_focused()
    keyboard.press("Enter")  # what was open closes, this one opens
    notebook.wait_python("view.selected_row", "$.filing.fiscal_year")
    expect(all_rows.nth(3)).to_be_focused()
    keyboard.press("Escape")
    notebook.wait_python("view.selected_row", "")
    keyboard.press("Home")
    expect(all_rows.first).to_be_focused()
    keyboard.press("End")
    expect(all_rows.last).to_be_focused()
    keyboard.press("b")  # a command of JupyterLab: inserts a cell
    assert notebook.panel.locator(".jp-CodeCell").count() == len(CELLS) + 1


def test_one_key_press_enters_the_list_and_leaves_it(notebook: Notebook) -> None:
    out = notebook.output(0)
    out.get_by_role("button", name="Next rows").focus()
    notebook.page.keyboard.press("Tab")
    entered = out.locator('tbody [data-item][tabindex="0"]')
    expect(entered).to_be_focused()
    width = entered.evaluate("row => getComputedStyle(row).outlineWidth")
    assert float(width.removesuffix("px")) >= 2
    notebook.page.keyboard.press("Tab")
    expect(entered).not_to_be_focused()
    expect(out.locator("summary", has_text="Code")).to_be_focused()


def test_the_copied_code_gives_the_rows(notebook: Notebook) -> None:
    notebook.page.context.grant_permissions(["clipboard-read", "clipboard-write"])
    notebook.run("view.only_failed = True; view.selected_path = 'filing'")
    expect(rows(notebook)).to_have_count(1)
    out = notebook.output(0)
    out.locator("summary", has_text="Code").click()
    out.get_by_role("button", name="Copy", exact=True).click()
    expect(out.get_by_text("Copied")).to_be_visible()
    code = notebook.page.evaluate("navigator.clipboard.readText()")
    notebook.wait_python(f"({code})['path'].tolist()", ["$.filing.audited"])
    rows(notebook).first.click()
    opened(notebook).get_by_role("button", name="Copy code").click()
    expect(opened(notebook).get_by_text("Copied")).to_be_visible()
    code = notebook.page.evaluate("navigator.clipboard.readText()")
    notebook.wait_python(f"({code})['path'].tolist()", ["$.filing.audited"])
    out.locator("summary", has_text="Code").click()


def test_without_a_clipboard_the_code_is_put_into_a_box(notebook: Notebook) -> None:
    page, code = notebook.page, "ev.fields.loc[[0]]"
    page.evaluate("Object.defineProperty(navigator, 'clipboard', { value: undefined })")
    rows(notebook).first.click()
    opened(notebook).get_by_role("button", name="Copy code").click()
    box = opened(notebook).get_by_role("textbox", name="Press Ctrl+C to copy")
    expect(box).to_be_focused()
    expect(box).to_have_value(code)
    assert box.evaluate("box => box.selectionEnd - box.selectionStart") == len(code)
    assert page.evaluate("delete navigator.clipboard") is not None


def test_hostile_texts_stay_texts(notebook: Notebook) -> None:
    first = rows(notebook, 1).first
    expect(first).to_contain_text("<script>window.hacked")
    first.click()
    expect(opened(notebook, 1)).to_contain_text("<img src=x onerror='window.hacked = 1'>")
    assert notebook.page.evaluate("window.hacked") is None


def test_right_to_left_text_runs_right_to_left(notebook: Notebook) -> None:
    notebook.run("hostile.selected_row = 'arabic'")
    value = opened(notebook, 1).locator(".xb-whole").first
    expect(value).to_have_css("direction", "rtl")


@pytest.mark.parametrize("width", [900, 1400])
def test_nothing_overflows(notebook: Notebook, width: int) -> None:
    notebook.page.set_viewport_size({"width": width, "height": 1000})
    notebook.run("view.selected_row = view.rows['path'].iloc[3]")
    for cell in range(len(CELLS)):
        out = notebook.output(cell)
        assert out.evaluate("element => element.scrollWidth <= element.clientWidth + 1")
    cut = (
        notebook.output(0)
        .locator(".xb-rows td, .xb-rows th")
        .evaluate_all(
            "cells => cells.filter(cell => cell.scrollWidth > cell.clientWidth + 1).length"
        )
    )
    assert cut == 0


@pytest.mark.parametrize("dark", [False, True])
def test_screen_readers_are_served(notebook: Notebook, dark: bool) -> None:
    notebook.run("view.selected_row = '$.filing.audited'; view.text = 'filing'")
    expect(opened(notebook)).to_be_visible()
    if not dark:
        findings = [serious_findings(notebook, cell) for cell in range(len(CELLS))]
    else:
        with notebook.dark():
            findings = [serious_findings(notebook, cell) for cell in range(len(CELLS))]
    assert findings == [[]] * len(CELLS)


def test_no_errors_on_the_console(notebook: Notebook) -> None:
    notebook.check()


@pytest.mark.parametrize("width", [1440, 700])
def test_the_tree_of_the_twin_cuts_no_name(
    open_file: Callable[..., Opened], tmp_path: Path, width: int
) -> None:
    ds = xb.load_dataset()
    document = "brindlemoor_10q_q2_fy2031"
    predicted = ds.root / f"runs/osprey-7b/{document}.json"
    ev = xb.evaluate(ds.schema("quarterly_report"), ds.gold(document), predicted, profile="strict")
    page = open_file(xb.show(ev).save(tmp_path / "view.html"), width=width).page
    names = page.locator(".xb-tree .xb-name:visible")
    assert names.count() > 10
    cut = "all => all.filter((one) => one.scrollWidth > one.clientWidth).length"
    assert names.evaluate_all(cut) == 0
