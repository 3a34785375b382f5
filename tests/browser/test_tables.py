"""Two compared tables in JupyterLab: clicked, driven by keys, paged, and asked in Python."""

from __future__ import annotations

import re
from typing import Any

import pytest

from tests.browser.lab import Notebook, serious_findings
from tests.widgets.hostile import HOSTILE
from tests.widgets.tables.tables import PREDICTED, TRUE

sync_api = pytest.importorskip("playwright.sync_api")
expect = sync_api.expect

WORST = [["name", "text"], *([name, text] for name, text in HOSTILE.items())]
CELLS = [
    f"""
from extractbench_nb.tables.grid_similarity import grits
from extractbench_nb.views.tables_view import TableView
true, predicted = {TRUE!r}, {PREDICTED!r}
view = TableView(grits(true, predicted))
view
""",
    """
def plain(texts):
    return [{"row_nums": [r], "column_nums": [c], "text": text}
            for r, row in enumerate(texts) for c, text in enumerate(row)]
rows = [[f"{r} {c}" for c in range(32)] for r in range(90)]
large = TableView(grits(plain(rows), plain(rows[:38] + rows[41:]), metrics="con"))
large
""",
    f"""
worst = {WORST!r}
others = [[name, text[:-3] + "!"] for name, text in worst[:-2]]
hostile = TableView(grits(plain(worst), plain(others), metrics="top"))
hostile
""",
    "TableView(grits([], []))",
    'one = TableView(grits(plain([["x"]]), [])); one',
]


@pytest.fixture
def out(notebook: Notebook) -> Any:
    """The first view, as it was at the start."""
    notebook.run('view.selected, view.only_differing, view.metric = None, False, "con"')
    out = notebook.output(0)
    expect(out.get_by_text("Choose a cell")).to_be_visible()
    return out


def grid(out: Any, side: str) -> Any:
    return out.get_by_role("grid", name=f"{side} table")


def cell(out: Any, side: str, row: int, column: int) -> Any:
    return grid(out, side).locator(f"""[data-send='["{side}", {row}, {column}]']""")


PARTNERS = "td[aria-current]"


def test_a_click_outlines_the_partner_and_shows_both(notebook: Notebook, out: Any) -> None:
    cell(out, "true", 6, 2).click()
    notebook.wait_python("view.selected", ["true", 6, 2])
    expect(cell(out, "true", 6, 2)).to_have_attribute("aria-selected", "true")
    expect(cell(out, "predicted", 4, 2)).to_have_attribute("aria-current", "true")
    pair = out.get_by_role("region", name="Chosen cell")
    expect(pair).to_contain_text("similarity 0.86 (con)")
    expect(pair.locator("mark")).to_have_text(["."])
    cell(out, "predicted", 5, 0).click()
    notebook.wait_python("view.selected", ["predicted", 5, 0])
    expect(pair).to_contain_text("no partner")
    expect(out.locator(PARTNERS)).to_have_count(0)


def test_python_selects_a_position_on_the_page(notebook: Notebook, out: Any) -> None:
    notebook.run('view.selected = ("true", 0, 4)')  # within a spanning cell
    expect(cell(out, "true", 0, 3)).to_have_attribute("aria-selected", "true")
    expect(out.locator(PARTNERS)).to_have_count(0)
    notebook.run('view.selected = ("true", 0, 3)')
    expect(cell(out, "predicted", 0, 3)).to_have_attribute("aria-current", "true")
    expect(out.locator("th.xb-on")).to_have_text(["3 → 3", "0 → 0", "3 → 3", "0 → 0"])
    notebook.run("view.selected = None")
    expect(out.locator("[aria-selected]")).to_have_count(0)


def test_arrow_keys_choose_cells_and_tab_goes_to_the_partner(notebook: Notebook, out: Any) -> None:
    keyboard = notebook.page.keyboard
    cell(out, "true", 0, 3).click()
    walk = [
        ("ArrowDown", ["true", 1, 3]),
        ("ArrowDown", ["true", 2, 0]),  # "Europe" covers all columns
        ("ArrowDown", ["true", 3, 3]),  # and it goes on in the one that it came from
        ("End", ["true", 3, 4]),
        ("ArrowLeft", ["true", 3, 3]),
        ("Tab", ["predicted", 2, 3]),
        ("ArrowUp", ["predicted", 1, 3]),  # over the gap of the lost row
        ("Home", ["predicted", 1, 0]),
        ("ArrowLeft", ["predicted", 1, 0]),
        ("PageDown", ["predicted", 5, 0]),
    ]
    for key, position in walk:
        keyboard.press(key)
        expect(cell(out, *position)).to_be_focused()
        if key != "Tab":
            notebook.wait_python("view.selected", position)
            expect(cell(out, *position)).to_have_attribute("aria-selected", "true")
    assert cell(out, "predicted", 5, 0).evaluate("e => getComputedStyle(e).outlineStyle") == "solid"
    keyboard.press("Escape")
    notebook.wait_python("view.selected", None)
    expect(notebook.panel.locator(".jp-CodeCell").first).to_have_class(re.compile("jp-mod-active"))


def test_tab_reaches_every_control_in_order(notebook: Notebook, out: Any) -> None:
    metric = out.get_by_role("combobox", name="Metric")
    metric.focus()
    notebook.page.keyboard.press("Tab")
    expect(out.get_by_role("combobox", name="Rows")).to_be_focused()
    for side in ("true", "predicted"):
        notebook.page.keyboard.press("Tab")
        expect(grid(out, side).locator("td:focus")).to_have_count(1)


def test_the_partner_of_the_cell_under_the_pointer_is_marked(out: Any) -> None:
    cell(out, "true", 4, 1).hover()
    expect(cell(out, "predicted", 3, 1)).to_have_attribute("data-near", "")
    expect(out.locator("[data-near]")).to_have_count(2)
    cell(out, "true", 5, 0).hover()  # without a partner
    expect(out.locator("[data-near]")).to_have_count(0)


def test_partners_stand_at_one_height(out: Any) -> None:
    for line in ("0 → 0", "1 → 1", "3 → 2", "4 → 3", "6 → 4"):
        left, right = (
            grid(out, side).locator("tbody th", has_text=line).bounding_box()["y"]
            for side in ("true", "predicted")
        )
        assert abs(left - right) < 1


def test_large_tables_are_turned_page_by_page(notebook: Notebook) -> None:
    out = notebook.output(1)
    notebook.run("large.selected, large.page, large.column_page = None, 0, 0")
    expect(out.get_by_text("rows 1 to 40 of 90")).to_be_visible()
    out.get_by_role("button", name="Next rows").click()
    notebook.wait_python("large.page", 1)
    expect(out.get_by_text("rows 41 to 80 of 90")).to_be_visible()
    expect(out.get_by_role("button", name="Next rows")).to_be_focused()
    out.get_by_role("button", name="Next columns").click()
    expect(cell(out, "true", 40, 31)).to_be_attached()
    notebook.run('large.selected = ["predicted", 37, 0]')
    expect(cell(out, "predicted", 37, 0)).to_have_attribute("aria-selected", "true")


def test_both_sides_scroll_together(notebook: Notebook) -> None:
    out = notebook.output(1)
    boxes = out.locator(".xb-box")
    boxes.nth(0).evaluate("box => { box.scrollTop = 120; }")
    assert boxes.nth(0).evaluate("box => box.scrollTop") == 120
    expect(boxes.nth(1)).to_have_js_property("scrollTop", 120)


def test_the_values_are_visible_after_a_click(notebook: Notebook) -> None:
    notebook.page.set_viewport_size({"width": 1400, "height": 900})
    out = notebook.output(1)
    notebook.run("large.selected, large.page, large.column_page = None, 0, 0")
    cell(out, "true", 9, 3).click()
    expect(out.get_by_role("region", name="Chosen cell")).to_be_in_viewport(ratio=1)
    expect(cell(out, "true", 9, 3)).to_be_in_viewport(ratio=1)


def test_hostile_texts_stay_text(notebook: Notebook) -> None:
    out = notebook.output(2)
    expect(grid(out, "true")).to_contain_text("<script>window")
    for row in range(1, len(HOSTILE) + 1):
        notebook.run(f'hostile.selected = ["true", {row}, 1]')
        expect(cell(out, "true", row, 1)).to_have_attribute("aria-selected", "true")
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


def test_the_dark_theme_is_readable(notebook: Notebook) -> None:
    with notebook.dark():
        cell(notebook.output(0), "true", 6, 2).click()
        expect(notebook.output(0).locator(PARTNERS)).to_have_count(1)
        assert serious_findings(notebook, 0) == []


def test_no_errors_on_the_console(notebook: Notebook) -> None:
    notebook.check()
