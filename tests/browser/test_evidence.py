"""The evidence view in JupyterLab: values chosen by click and key, pages that follow."""

from __future__ import annotations

from typing import Any

import pytest

from tests.browser.lab import Notebook, serious_findings

expect = pytest.importorskip("playwright.sync_api").expect

CELLS = [
    """
import extractbench_nb as xb
ds = xb.load_dataset()
document = "brindlemoor_10q_q2_fy2031"
gold = ds.gold(document)
predicted = {**gold, "filing": {**gold["filing"], "registrant": "Somebody Else Holdings AG"}}
ev = xb.evaluate(ds.schema("quarterly_report"), gold, predicted)
view = xb.show_evidence(ds, document, ev)
view
""",
    'xb.show_evidence(ds, document, {"a": "<img src=x onerror=\'window.hacked = 1\'>"})',
]


@pytest.fixture(autouse=True)
def afresh(notebook: Notebook) -> None:
    """Each test starts with all values listed."""
    notebook.run("view.shown = view.text = ''")


def values(notebook: Notebook, cell: int = 0) -> Any:
    return notebook.output(cell).get_by_role("grid", name="Values").locator("[data-item]")


def value(notebook: Notebook, words: str) -> Any:
    return values(notebook).filter(has_text=words).first


def said(notebook: Notebook, cell: int = 0) -> Any:
    return notebook.output(cell).locator(".xb-said")


def is_seen(mark: Any) -> bool:
    """Whether the middle of a mark is within its scroller."""
    seen: bool = mark.evaluate(
        """mark => {
            const pane = mark.closest("[data-scroll]").getBoundingClientRect();
            const { left, right, top, bottom } = mark.getBoundingClientRect();
            const [x, y] = [(left + right) / 2, (top + bottom) / 2];
            return x > pane.left && x < pane.right && y > pane.top && y < pane.bottom;
        }"""
    )
    return seen


def test_gold_and_predicted_are_side_by_side_and_both_are_looked_up(notebook: Notebook) -> None:
    wrong = value(notebook, "Somebody Else")
    row = notebook.output(0).locator("tbody tr", has_text="Somebody Else")
    expect(row).to_contain_text("≠ incorrect")
    expect(row).to_contain_text("Brindlemoor")
    wrong.click()
    notebook.wait_python("[view.side, view.selected_path]", ["predicted", "$.filing.registrant"])
    expect(said(notebook)).to_contain_text("Not found in the document.")
    expect(wrong).to_have_attribute("aria-selected", "true")
    row.locator("[data-item]").first.click()
    notebook.wait_python("[view.side, view.selected_path]", ["gold", "$.filing.registrant"])
    expect(said(notebook)).to_contain_text("page 1")
    picture = notebook.output(0).locator(".xb-paper img")
    assert picture.evaluate("image => image.naturalWidth") > 500
    chosen = notebook.output(0).locator(".xb-place.xb-chosen").first
    assert is_seen(chosen)
    width = chosen.bounding_box()["width"]
    assert 20 < width < picture.bounding_box()["width"]


def test_zoom_keeps_the_chosen_place_in_view(notebook: Notebook) -> None:
    out = notebook.output(0)
    notebook.run("view.side = 'gold'; view.selected_path = '$.income.net_sales.now'")
    fit = out.locator(".xb-paper").bounding_box()["width"]
    chosen = out.locator(".xb-place.xb-chosen").first
    for zoom, width in (("200 %", 1587), ("100 %", 794), ("fit width", fit)):
        out.get_by_role("combobox", name="Zoom").select_option(zoom)
        expect(out.locator(".xb-paper")).to_have_css("width", f"{width:g}px")
        assert is_seen(chosen), zoom
        assert out.evaluate("element => element.scrollWidth <= element.clientWidth + 1")


def test_keys_walk_the_list_and_enter_chooses(notebook: Notebook) -> None:
    keyboard = notebook.page.keyboard
    values(notebook).first.click()
    keyboard.press("ArrowDown")
    keyboard.press("ArrowDown")
    keyboard.press("ArrowRight")
    third = values(notebook).nth(5)
    expect(third).to_be_focused()
    keyboard.press("Enter")
    expect(third).to_have_attribute("aria-selected", "true")
    notebook.wait_python("view.side", "predicted")
    notebook.wait_python("view.selected_path == view.values['path'][2]", True)
    expect(third).to_be_focused()


def test_pages_are_turned_with_buttons(notebook: Notebook) -> None:
    notebook.run("view.page = 1")
    where = notebook.output(0).locator(".xb-pager").filter(has_text="page")
    expect(where).to_contain_text("page 1 of 7")
    where.get_by_role("button", name="Next page").focus()
    notebook.page.keyboard.press("Enter")
    expect(where).to_contain_text("page 2 of 7")
    notebook.wait_python("view.page", 2)
    expect(where.get_by_role("button", name="Next page")).to_be_focused()
    where.get_by_role("button", name="Previous page").click()
    notebook.wait_python("view.page", 1)


def test_the_list_is_filtered_by_chips_and_text(notebook: Notebook) -> None:
    out = notebook.output(0)
    out.get_by_role("button", name="all failures").click()
    expect(values(notebook)).to_have_count(2)
    out.get_by_role("button", name="all failures").click()
    expect(values(notebook)).to_have_count(200)
    out.get_by_role("button", name="predicted, not in the PDF").click()
    expect(values(notebook)).to_have_count(2)
    out.get_by_label("Filter the list").fill("no such value")
    expect(out.get_by_text("No values.")).to_be_visible()


def test_hostile_values_stay_text(notebook: Notebook) -> None:
    shown = values(notebook, 1).first
    expect(shown).to_contain_text("<img src=x")
    shown.click()
    expect(said(notebook, 1)).to_contain_text("<img src=x")
    assert notebook.page.evaluate("window.hacked") is None


@pytest.mark.parametrize("cell", [0, 1])
def test_nothing_overflows_and_screen_readers_are_served(notebook: Notebook, cell: int) -> None:
    out = notebook.output(cell)
    assert out.evaluate("element => element.scrollWidth <= element.clientWidth + 1")
    assert serious_findings(notebook, cell) == []


def test_screen_readers_are_served_in_the_dark(notebook: Notebook) -> None:
    with notebook.dark():
        assert serious_findings(notebook, 0) == []


def test_no_errors_on_the_console(notebook: Notebook) -> None:
    notebook.check()
