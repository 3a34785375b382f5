"""The evidence view in JupyterLab: values chosen by click and key, pages that follow."""

from __future__ import annotations

from typing import Any

import pytest

from tests.browser.lab import Lab, Notebook, serious_findings

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


@pytest.fixture(scope="module")
def notebook(lab: Lab) -> Notebook:
    return lab.open(CELLS)


def options(notebook: Notebook, cell: int = 0) -> Any:
    return notebook.output(cell).get_by_role("listbox", name="Values").get_by_role("option")


def option(notebook: Notebook, words: str) -> Any:
    return options(notebook).filter(has_text=words)


def says(notebook: Notebook) -> Any:
    return notebook.output(0).locator(".xb-says")


def test_a_value_that_is_nowhere_is_said_to_be_missing(notebook: Notebook) -> None:
    option(notebook, "Somebody Else").click()
    notebook.wait_python("view.selected_path", "$.filing.registrant")
    expect(says(notebook)).to_contain_text("Not found in the document.")
    expect(option(notebook, "Somebody Else")).to_have_attribute("aria-selected", "true")


def test_the_other_side_finds_it_and_shows_the_page(notebook: Notebook) -> None:
    notebook.output(0).get_by_role("button", name="Gold values").click()
    notebook.wait_python("view.side", "gold")
    expect(says(notebook)).to_contain_text("page 1")
    picture = notebook.output(0).locator("img.xb-page")
    expect(picture).to_have_attribute("alt", "Page 1, with the place marked")
    expect(picture).to_be_visible()
    assert picture.evaluate("image => image.naturalWidth") > 500


def test_keys_walk_the_list_and_enter_chooses(notebook: Notebook) -> None:
    keyboard = notebook.page.keyboard
    first = options(notebook).first
    first.click()
    keyboard.press("ArrowDown")
    keyboard.press("ArrowDown")
    third = options(notebook).nth(2)
    expect(third).to_be_focused()
    keyboard.press("Enter")
    expect(third).to_have_attribute("aria-selected", "true")
    notebook.wait_python("view.selected_path == view.values['path'][2]", True)
    expect(third).to_be_focused()


def test_places_and_pages_are_turned(notebook: Notebook) -> None:
    notebook.run("view.page = 1")
    where = notebook.output(0).locator(".xb-pager").last
    expect(where).to_contain_text("page 1 of 7")
    where.get_by_role("button", name="Page ›").click()
    expect(where).to_contain_text("page 2 of 7")
    notebook.wait_python("view.page", 2)
    notebook.output(0).get_by_role("region").press("PageUp")
    notebook.wait_python("view.page", 1)


def test_filters_keep_what_is_not_found(notebook: Notebook) -> None:
    out = notebook.output(0)
    notebook.run("view.side = 'predicted'")
    out.get_by_label("Show").select_option(index=2)
    expect(option(notebook, "Somebody Else")).to_be_visible()
    assert all("not found" in text for text in options(notebook).all_inner_texts())
    out.get_by_label("Find", exact=True).fill("no such value")
    expect(out.get_by_text("No value matches; clear the filters.")).to_be_visible()
    out.get_by_label("Find", exact=True).fill("")
    out.get_by_label("Show").select_option(index=0)


def test_any_text_can_be_looked_for(notebook: Notebook) -> None:
    box = notebook.output(0).get_by_label("Look for")
    box.fill("Total assets")
    box.press("Enter")
    notebook.wait_python("view.sought", "Total assets")
    expect(says(notebook)).to_contain_text("Place 1 of")


def test_hostile_values_stay_text(notebook: Notebook) -> None:
    shown = options(notebook, 1).first
    expect(shown).to_contain_text("<img src=x")
    shown.click()
    expect(notebook.output(1).locator(".xb-says")).to_contain_text("<img src=x")
    assert notebook.page.evaluate("window.hacked") is None


@pytest.mark.parametrize("cell", [0, 1])
def test_nothing_overflows_and_screen_readers_are_served(notebook: Notebook, cell: int) -> None:
    out = notebook.output(cell)
    assert out.evaluate("element => element.scrollWidth <= element.clientWidth + 1")
    assert serious_findings(notebook, cell) == []


def test_no_errors_on_the_console(notebook: Notebook) -> None:
    notebook.check()
