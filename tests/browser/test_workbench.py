"""The metric workbench in JupyterLab: moved, clicked, typed at, driven by keys, asked in Python."""

from __future__ import annotations

import json
import re
from typing import Any

import pytest

from tests.browser.lab import Lab, Notebook, serious_findings

CELLS = [
    """
import extractbench_nb as xb
from extractbench_nb.widgets.workbench_view import Workbench
cases = [(f"Northwind Paper {n}", f"Northwind Paper {'x' * (n % 7)}", n % 7 < 3)
         for n in range(1000)]
view = Workbench("string_fuzzy", cases)
view
""",
    """
@xb.metric("prototype", applies_to="string")
def prototype(gold, predicted, *, threshold=0.5, weight=0.5, n=4, fold=True, mode="words"):
    if "boom" in predicted:
        raise ValueError("<script>window.hacked = 1</script>")
    return float(gold[:n] == predicted[:n])
bad = "<img src=x onerror='window.hacked = 1'>"
mine = Workbench(prototype, [("Acme", "Acme Ltd"), (bad, "boom \\u202e"), ("Moss", "moss")])
mine
""",
    """
text = {"type": "string"}
person = {"type": "object", "properties": {"full_name": text, "affiliation": text}}
schema = {"type": "object", "properties": {"authors": {"type": "array", "items": person}}}
gold = {"authors": [{"full_name": f"Ada {n}", "affiliation": "Moss"} for n in range(3)]}
Workbench("string_fuzzy", xb.evaluate(schema, gold, gold))
""",
]


@pytest.fixture(scope="module")
def notebook(lab: Lab) -> Notebook:
    opened = lab.open(CELLS)
    opened.page.context.grant_permissions(["clipboard-read", "clipboard-write"])
    return opened


def rows(notebook: Notebook, cell: int = 0) -> Any:
    return notebook.output(cell).locator("tr[data-case]")


def curve(notebook: Notebook, cell: int = 0) -> Any:
    return notebook.output(cell).locator("svg[role=slider]")


def figure(notebook: Notebook, name: str, cell: int = 0) -> Any:
    return notebook.output(cell).locator(".xb-fact", has_text=name)


def reset(notebook: Notebook) -> None:
    notebook.run(
        "view.reset(); view.shown, view.sort, view.text = 'all', 'given', ''; view.page = 0"
    )
    notebook.run("view.selected_case = None")


def test_the_slider_moves_the_verdicts(notebook: Notebook) -> None:
    from playwright.sync_api import expect

    reset(notebook)
    slider = notebook.output(0).get_by_label("threshold", exact=True)
    slider.focus()
    for _ in range(3):
        notebook.page.keyboard.press("ArrowRight")
    notebook.wait_python("view.params['threshold']", 0.83)
    flips = notebook.python("int(view.results['flip'].notna().sum())")
    assert flips > 0
    expect(figure(notebook, "Flips")).to_contain_text(f"0 gained, {flips} lost")
    expect(notebook.output(0).get_by_text('"threshold": 0.83')).to_be_visible()
    expect(curve(notebook)).to_have_attribute("aria-valuetext", re.compile("^0.83: "))
    notebook.check()


def test_a_click_on_the_curve_sets_the_threshold(notebook: Notebook) -> None:
    from playwright.sync_api import expect

    reset(notebook)
    box = curve(notebook).bounding_box()
    curve(notebook).click(position={"x": 38 + 0.5 * (box["width"] - 50), "y": 100})
    notebook.wait_python("view.params['threshold']", 0.5)
    slider = notebook.output(0).get_by_label("threshold", exact=True)
    expect(slider).to_have_value("0.5")
    notebook.check()


def test_arrow_keys_drive_the_curve_and_focus_stays(notebook: Notebook) -> None:
    from playwright.sync_api import expect

    reset(notebook)
    curve(notebook).focus()
    for _ in range(15):
        notebook.page.keyboard.press("ArrowLeft")
    notebook.wait_python("view.params['threshold']", 0.65)
    expect(curve(notebook)).to_have_attribute("aria-valuetext", re.compile("^0.65: "))
    expect(curve(notebook)).to_be_focused()
    notebook.page.keyboard.press("End")
    notebook.wait_python("view.params['threshold']", 1.0)
    notebook.page.keyboard.press("Home")
    notebook.wait_python("view.params['threshold']", 0.0)
    notebook.check()


def test_only_flips_sorted_and_found(notebook: Notebook) -> None:
    from playwright.sync_api import expect

    reset(notebook)
    notebook.run("view.params = {'threshold': 0.9}")
    output = notebook.output(0)
    output.get_by_label("Show").select_option(label="Only flips")
    notebook.wait_python("view.shown", "flips")
    output.get_by_label("Sort").select_option(label="Lowest score first")
    notebook.wait_python("view.sort", "lowest")
    output.get_by_label("Find").fill("Paper 99")
    notebook.wait_python("view.text", "Paper 99")
    expected = notebook.python("view.selection.index.tolist()")
    assert 0 < len(expected) < 20
    expect(rows(notebook)).to_have_count(len(expected))
    assert rows(notebook).evaluate_all("all => all.map(r => Number(r.dataset.case))") == expected
    expect(rows(notebook).first).to_contain_text("▼ lost")
    output.get_by_label("Find").fill("nowhere")
    expect(output.get_by_text("No case matches")).to_be_visible()
    notebook.check()


def test_a_case_is_chosen_both_ways(notebook: Notebook) -> None:
    from playwright.sync_api import expect

    reset(notebook)
    rows(notebook).nth(3).click()
    notebook.wait_python("view.selected_case", 3)
    chosen = notebook.output(0).get_by_role("region", name="The chosen case")
    expect(chosen).to_contain_text("Northwind Paper xxx")
    expect(rows(notebook).nth(3)).to_have_attribute("aria-selected", "true")
    notebook.run("view.selected_case = 777")
    expect(notebook.output(0).locator('tr[data-case="777"]')).to_have_attribute(
        "aria-selected", "true"
    )
    expect(chosen).to_contain_text("Case 777")
    notebook.run("view.selected_case = None")
    expect(chosen).to_have_count(0)
    notebook.check()


def test_rows_and_pages_by_keys_alone(notebook: Notebook) -> None:
    from playwright.sync_api import expect

    reset(notebook)
    press = notebook.page.keyboard.press
    expect(rows(notebook).first).to_have_attribute("data-case", "0")
    rows(notebook).first.focus()
    press("ArrowDown")
    press("ArrowDown")
    press("Enter")
    notebook.wait_python("view.selected_case", 2)
    expect(notebook.output(0).locator('tr[data-case="2"]')).to_be_focused()
    press("End")
    press("ArrowDown")
    notebook.wait_python("view.page", 1)
    expect(notebook.output(0).locator('tr[data-case="20"]')).to_be_focused()
    press("PageDown")
    expect(notebook.output(0).locator('tr[data-case="40"]')).to_be_focused()
    press("ArrowUp")
    expect(notebook.output(0).locator('tr[data-case="39"]')).to_be_focused()
    press("Tab")
    expect(notebook.output(0).get_by_role("button", name="‹ Previous")).to_be_focused()
    press("Enter")
    notebook.wait_python("view.page", 0)
    notebook.check()


def test_the_config_is_copied(notebook: Notebook) -> None:
    from playwright.sync_api import expect

    reset(notebook)
    notebook.run("view.params = {'threshold': 0.77}")
    expect(notebook.output(0).get_by_text('"threshold": 0.77')).to_be_visible()
    notebook.output(0).get_by_role("button", name="Copy as evaluation_config").click()
    expect(notebook.output(0).get_by_text("Copied")).to_be_visible()
    copied = json.loads(notebook.page.evaluate("navigator.clipboard.readText()"))
    assert copied == notebook.python("view.config")
    notebook.check()


def test_a_baseline_of_now(notebook: Notebook) -> None:
    from playwright.sync_api import expect

    reset(notebook)
    notebook.run("view.params = {'threshold': 0.9}")
    notebook.output(0).get_by_role("button", name="Use as baseline").click()
    expect(notebook.output(0).get_by_text("Baseline: string_fuzzy(threshold=0.9")).to_be_visible()
    notebook.output(0).get_by_role("button", name="Reset").click()
    expect(figure(notebook, "Flips")).to_contain_text(", 0 lost")
    notebook.wait_python("view.params['threshold']", 0.8)
    notebook.run("view.keep_as_baseline()")
    notebook.check()


# --- a metric of the user's ----------------------------------------------------------------------


def test_every_control_reaches_the_function(notebook: Notebook) -> None:
    from playwright.sync_api import expect

    output = notebook.output(1)
    output.get_by_label("n", exact=True).fill("1")
    notebook.page.keyboard.press("Tab")
    notebook.wait_python("mine.params['n']", 1)
    output.get_by_label("fold").uncheck()
    notebook.wait_python("mine.params['fold']", False)
    output.get_by_label("mode").fill("letters")
    notebook.page.keyboard.press("Enter")
    notebook.wait_python("mine.params['mode']", "letters")
    output.get_by_label("weight", exact=True).focus()
    notebook.page.keyboard.press("ArrowRight")
    notebook.wait_python("mine.params['weight']", 1.0)
    expect(figure(notebook, "Without a verdict", 1)).to_contain_text("1")
    notebook.check()


def test_an_error_is_text_in_its_row(notebook: Notebook) -> None:
    from playwright.sync_api import expect

    expect(rows(notebook, 1).nth(1)).to_contain_text("ValueError: <script>window.hacked = 1")
    rows(notebook, 1).nth(1).click()
    chosen = notebook.output(1).get_by_role("region", name="The chosen case")
    expect(chosen).to_contain_text("<img src=x onerror='window.hacked = 1'>")
    assert notebook.page.evaluate("window.hacked") is None
    notebook.check()


def test_a_redefined_function_is_scored_again(notebook: Notebook) -> None:
    from playwright.sync_api import expect

    notebook.run(
        """
@xb.metric("prototype", applies_to="string")
def prototype(gold, predicted, *, threshold=0.5, letters=2):
    return float(gold[:letters].lower() == predicted[:letters].lower())
"""
    )
    notebook.output(1).get_by_role("button", name="Score again").click()
    notebook.wait_python("mine.params", {"threshold": 0.5, "letters": 2})
    expect(notebook.output(1).get_by_label("letters")).to_have_value("2")
    expect(figure(notebook, "Flips", 1)).to_contain_text("1 gained, 0 lost")
    expect(rows(notebook, 1).nth(2)).to_contain_text("▲ gained")
    notebook.check()


# --- for everybody -------------------------------------------------------------------------------


@pytest.mark.parametrize("cell", [0, 1])
def test_nothing_stands_in_the_way_of_assistive_software(notebook: Notebook, cell: int) -> None:
    reset(notebook)
    notebook.run("view.selected_case = 1")
    assert serious_findings(notebook, cell) == []
    notebook.check()


def test_a_path_stands_on_one_line_where_there_is_room(notebook: Notebook) -> None:
    notebook.page.set_viewport_size({"width": 1400, "height": 1000})
    paths = rows(notebook, 2).locator(".xb-label")
    assert paths.all_inner_texts()[:2] == ["$.authors[0].full_name", "$.authors[0].affiliation"]
    tops = """cells => cells.map(cell => {
        const range = document.createRange();
        range.selectNodeContents(cell);
        return new Set([...range.getClientRects()].map(box => Math.round(box.top))).size;
    })"""
    assert set(paths.evaluate_all(tops)) == {1}
    notebook.check()


@pytest.mark.parametrize("width", [900, 1400])
def test_nothing_overflows(notebook: Notebook, width: int) -> None:
    notebook.page.set_viewport_size({"width": width, "height": 1000})
    for cell in (0, 1, 2):
        output = notebook.output(cell)
        wide = output.evaluate("element => element.scrollWidth - element.clientWidth")
        assert wide <= 1
    notebook.check()
