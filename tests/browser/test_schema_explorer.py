"""The schema explorer in JupyterLab: clicked, typed at, and asked in Python."""

from __future__ import annotations

from typing import Any

import pytest

from tests.browser.lab import Notebook, serious_findings

sync_api = pytest.importorskip("playwright.sync_api")
expect = sync_api.expect

CELLS = [
    """
import extractbench_nb as xb
ds = xb.load_dataset()
document = ds.documents["document"][6]
gold = ds.gold(document)
predicted = {**gold, "filing": {**gold["filing"], "currency": "XXX"}, "people": None}
ev = xb.evaluate(ds.schema("quarterly_report"), gold, predicted)
view = xb.show(ev.schema, ev)
view
""",
    """
bad = "<img src=x onerror='window.hacked = 1'>"
hostile = xb.show({"type": "object", "properties": {
    bad: {"type": "string", "description": "<script>window.hacked = 1</script>"},
    "x" * 1_000_000: {"type": "object", "properties": {"\\x00\\u202e\\ud800": {"type": "null"}}},
}})
hostile
""",
    'xb.show({"type": "object"})',
]


def item(notebook: Notebook, field: str) -> Any:
    return (
        notebook.output(0)
        .locator(f'[data-item][title^="{field}"]')
        .filter(has=notebook.page.locator(".xb-name"))
        .first
    )


def open_(item: Any) -> bool:
    found: bool = item.evaluate("summary => summary.parentElement.open")
    return found


FILING = "$.properties.filing"


def test_a_click_selects_a_node_in_python(notebook: Notebook) -> None:
    item(notebook, "filing").click()
    notebook.wait_python("view.selected_path", FILING)
    expect(item(notebook, "filing")).to_have_attribute("aria-current", "true")


def test_python_selects_a_node_on_the_page(notebook: Notebook) -> None:
    notebook.run("view.selected_path = 'income.net_sales.now'")
    chosen = item(notebook, "income.net_sales.now")
    expect(chosen).to_be_visible()  # what is above it unfolds
    expect(chosen).to_have_attribute("aria-current", "true")
    assert open_(item(notebook, "income"))


def test_arrow_keys_walk_and_fold_and_enter_selects(notebook: Notebook) -> None:
    keyboard = notebook.page.keyboard
    item(notebook, "$").click()
    keyboard.press("End")
    keyboard.press("Home")
    expect(item(notebook, "$")).to_be_focused()
    keyboard.press("ArrowDown")
    expect(item(notebook, "filing")).to_be_focused()
    if open_(item(notebook, "filing")):
        keyboard.press("ArrowLeft")
    assert not open_(item(notebook, "filing"))
    keyboard.press("ArrowRight")
    assert open_(item(notebook, "filing"))
    keyboard.press("ArrowRight")
    first = item(notebook, "filing.registrant")
    expect(first).to_be_focused()
    keyboard.press("Enter")
    notebook.wait_python("view.selected_path", FILING + ".properties.registrant")
    keyboard.press("ArrowLeft")
    expect(item(notebook, "filing")).to_be_focused()


def test_the_search_box_finds_and_reveals(notebook: Notebook) -> None:
    out = notebook.output(0)
    box = out.get_by_role("searchbox")
    box.fill("coupon_percent")
    expect(out.get_by_role("status")).to_have_text("1 found")
    found = item(notebook, "notes.borrowings[].coupon_percent")
    expect(found).to_be_visible()
    box.press("Enter")
    expect(found).to_be_focused()
    box.fill("nothing like this")
    expect(out.get_by_role("status")).to_have_text("0 found")
    box.press("Escape")
    expect(box).to_have_value("")


def test_hostile_names_stay_text(notebook: Notebook) -> None:
    expect(notebook.output(1).locator("[data-item]").nth(1)).to_contain_text("<img src=x")
    assert notebook.page.evaluate("window.hacked") is None
    notebook.output(1).locator("[data-item]").nth(2).click()
    notebook.wait_python("len(hostile.selected_path) > 1_000_000", True)


def test_nothing_overflows(notebook: Notebook) -> None:
    for cell in range(3):
        out = notebook.output(cell)
        assert out.evaluate("element => element.scrollWidth <= element.clientWidth + 1")


@pytest.mark.parametrize("cell", [0, 1, 2])
def test_screen_readers_are_served(notebook: Notebook, cell: int) -> None:
    assert serious_findings(notebook, cell) == []


def test_no_errors_on_the_console(notebook: Notebook) -> None:
    notebook.check()
