"""A compared table in JupyterLab: clicked, driven by keys, its rows matched anew."""

from __future__ import annotations

import re
from typing import Any

import pytest

from tests.browser.lab import Notebook, serious_findings
from tests.widgets.hostile import HOSTILE

sync_api = pytest.importorskip("playwright.sync_api")
expect = sync_api.expect

WORST = [{"name": name, "text": text} for name, text in HOSTILE.items() if name != "surrogate"]
CELLS = [
    """
import extractbench_nb as xb
compare, task = xb.construction.compare, xb.construction.load()["retailer_results"]
keys = list(task.keys)
answer = task.gold.assign(company=task.gold["company"].str.replace("Lane", "Line & Sons"))
answer = answer.assign(stores=answer["stores"].str.replace("66", "68")).drop(columns="auditor")
answer = answer.rename(columns={"revenue_musd": "Revenue MUSD"}).iloc[::-1]
comparison = compare(task.gold, answer, keys=keys)
view = xb.show(comparison, documents=task, retriever="bm25")
view
""",
    f"""
worst = {WORST!r}
others = [{{**row, "text": row["text"][:-3] + "!"}} for row in worst[:-2]]
hostile = xb.show(compare(worst, others, keys="name"))
hostile
""",
]


@pytest.fixture
def out(notebook: Notebook) -> Any:
    """The first view, as it was at the start."""
    notebook.run("view.selected, view.only_differing = None, False")
    out = notebook.output(0)
    expect(out.get_by_text("Choose a cell")).to_be_visible()
    return out


def grid(out: Any, side: str) -> Any:
    return out.get_by_role("grid", name=f"{side} table")


def cell(out: Any, side: str, row: int, at: int) -> Any:
    return grid(out, side).locator(f"""[data-send='["{side}", {row}, {at}]']""")


def test_a_click_outlines_the_partner_and_shows_both(notebook: Notebook, out: Any) -> None:
    cell(out, "gold", 4, 4).click()
    notebook.wait_python("view.selected", ["gold", 4, "stores"])
    expect(cell(out, "gold", 4, 4)).to_have_attribute("aria-selected", "true")
    expect(cell(out, "predicted", 0, 4)).to_have_attribute("aria-current", "true")
    chosen = out.get_by_role("region", name="Chosen cell")
    expect(chosen).to_contain_text("number_differs")
    # the documents disagree: each text stands in one of them
    expect(chosen.locator("mark.xb-found")).to_have_text(["66", "68"])
    expect(chosen).to_contain_text(re.compile(r"trade_review_spring_2032.md, .* retrieved as \d"))
    cell(out, "predicted", 0, 2).click()
    notebook.wait_python("view.selected", ["predicted", 0, "Revenue MUSD"])
    expect(chosen).to_contain_text("renamed: Revenue MUSD")


def test_arrow_keys_choose_cells_and_tab_goes_to_the_partner(notebook: Notebook, out: Any) -> None:
    keyboard = notebook.page.keyboard
    cell(out, "gold", 1, 3).click()
    walk = [
        ("ArrowDown", ["gold", 2, 3]),
        ("ArrowDown", ["gold", 3, 3]),
        ("ArrowDown", ["gold", 4, 3]),
        ("Tab", ["predicted", 0, 3]),
        ("ArrowUp", ["predicted", 3, 3]),  # over the gaps of the missed rows
        ("End", ["predicted", 3, 4]),
        ("Home", ["predicted", 3, 0]),
    ]
    names = [*("company", "fiscal_year", "revenue_musd", "net_income_musd", "stores")]
    for key, place in walk:
        keyboard.press(key)
        expect(cell(out, *place)).to_be_focused()
        if key != "Tab":
            notebook.wait_python("view.selected", [*place[:2], names[place[2]]])
            expect(cell(out, *place)).to_have_attribute("aria-selected", "true")
    keyboard.press("Escape")
    notebook.wait_python("view.selected", None)


def test_hostile_texts_stay_text(notebook: Notebook) -> None:
    out = notebook.output(1)
    expect(grid(out, "gold")).to_contain_text("<script>window")
    for row in range(len(WORST)):
        notebook.run(f'hostile.selected = ["gold", {row}, "text"]')
        expect(cell(out, "gold", row, 1)).to_have_attribute("aria-selected", "true")
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


def test_the_dark_theme_is_readable(notebook: Notebook, out: Any) -> None:
    with notebook.dark():
        cell(out, "gold", 4, 4).click()
        expect(out.locator("td[aria-current]")).to_have_count(1)
        assert serious_findings(notebook, 0) == []


def test_no_errors_on_the_console(notebook: Notebook) -> None:
    notebook.check()
