"""The metric workbench in JupyterLab: moved, clicked, typed at, driven by keys, asked in Python."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

import pytest

from tests.browser.lab import Lab, Notebook, serious_findings

sync_api = pytest.importorskip("playwright.sync_api")
expect = sync_api.expect

CELLS = [
    """
import extractbench_nb as xb
from extractbench_nb.views.workbench_view import Workbench
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
authors = {"type": "array", "items": person}
inner = {"type": "object", "properties": {"authors": authors}}
schema = {"type": "object", "properties": {"organisation": inner}}
people = [{"full_name": f"Ada {n}", "affiliation": "Moss"} for n in range(3)]
gold = {"organisation": {"authors": people}}
ev = xb.evaluate(schema, gold, gold)
Workbench("string_fuzzy", {"osprey-7b": {"regatta_2031": ev}})
""",
]


@pytest.fixture(scope="module")
def notebook(lab: Lab) -> Notebook:
    opened = lab.open(CELLS)
    opened.page.context.grant_permissions(["clipboard-read", "clipboard-write"])
    return opened


@pytest.fixture(autouse=True)
def afresh(notebook: Notebook) -> Iterator[None]:
    """Each test starts with the params and the list of the start."""
    notebook.run("view.reset()")
    notebook.run("view.shown, view.selected_case, view.page = 'seen', None, 0")
    yield
    notebook.check()


def rows(notebook: Notebook, cell: int = 0) -> Any:
    return notebook.output(cell).locator("tbody tr[data-item]")


def row(notebook: Notebook, case: int) -> Any:
    return notebook.output(0).locator(f'tr[data-item][data-send="{case}"]')


def figures(notebook: Notebook, cell: int = 0) -> Any:
    return notebook.output(cell).locator("div:has(> .xb-headline)").first


def curve(notebook: Notebook) -> Any:
    return notebook.output(0).locator(".xb-picture")


def detail(notebook: Notebook, cell: int = 0) -> Any:
    return notebook.output(cell).get_by_role("region", name="The chosen case")


def slider(notebook: Notebook) -> Any:
    return notebook.output(0).get_by_role("slider", name="threshold")


def test_the_slider_moves_the_verdicts(notebook: Notebook) -> None:
    slider(notebook).focus()
    for _ in range(3):
        notebook.page.keyboard.press("ArrowRight")
    expect(slider(notebook)).to_have_value("0.83")
    notebook.wait_python("view.params['threshold']", 0.83)
    flips = notebook.python("int(view.results['flip'].notna().sum())")
    assert flips > 0
    expect(figures(notebook)).to_contain_text(f"0 gained, {flips} lost")
    expect(notebook.output(0).locator(".xb-config")).to_contain_text('"threshold": 0.83')
    expect(curve(notebook)).to_have_attribute("aria-label", re.compile("now 0.83"))
    expect(slider(notebook)).to_be_focused()


def test_a_dragged_slider_says_its_value_and_sends_the_last(notebook: Notebook) -> None:
    notebook.run("seen = []; view.observe(lambda c: seen.append(c['new']['threshold']), 'params')")
    box = slider(notebook).bounding_box()
    mouse, middle = notebook.page.mouse, box["y"] + box["height"] / 2
    mouse.move(box["x"] + 0.8 * box["width"], middle)
    mouse.down()
    mouse.move(box["x"] + 0.5 * box["width"], middle, steps=5)
    label = notebook.output(0).locator(".xb-slider").first
    expect(label.locator("output")).to_have_text("0.50")
    assert notebook.python("seen") == []
    mouse.up()
    notebook.wait_python("seen", [0.5])


def test_a_click_on_the_curve_sets_the_threshold(notebook: Notebook) -> None:
    box = curve(notebook).locator("rect").bounding_box()
    notebook.page.mouse.click(box["x"] + box["width"] / 2, box["y"] + box["height"] / 2)
    notebook.wait_python("view.params['threshold']", 0.5)
    expect(slider(notebook)).to_have_value("0.5")


def test_chips_list_the_cases_that_flip(notebook: Notebook) -> None:
    notebook.run("view.params = {'threshold': 0.9}")
    notebook.output(0).get_by_role("button", name=re.compile("Lost")).click()
    notebook.wait_python("view.shown", "lost")
    expected = notebook.python("view.selection.index.tolist()[:20]")
    expect(rows(notebook).first).to_contain_text("▼ lost")
    assert rows(notebook).evaluate_all("all => all.map(r => Number(r.dataset.send))") == expected
    notebook.run("view.shown = 'errors'")
    expect(notebook.output(0).get_by_text("There are no such cases")).to_be_visible()


def test_a_case_is_chosen_both_ways(notebook: Notebook) -> None:
    place = notebook.python("view.selection.index.tolist()[2]")
    notebook.run("view.page = 0")
    row(notebook, place).click()
    notebook.wait_python("view.selected_case", place)
    expect(row(notebook, place)).to_have_attribute("aria-current", "true")
    expect(detail(notebook)).to_contain_text(f"Case {place}")
    notebook.run("view.selected_case = 777")
    expect(row(notebook, 777)).to_have_attribute("aria-current", "true")
    expect(detail(notebook)).to_contain_text("Case 777")


def test_rows_and_pages_by_keys_alone(notebook: Notebook) -> None:
    press = notebook.page.keyboard.press
    places = notebook.python("view.selection.index.tolist()")
    row(notebook, places[0]).focus()
    press("ArrowDown")
    press("ArrowDown")
    press("Enter")
    notebook.wait_python("view.selected_case", places[2])
    expect(row(notebook, places[2])).to_be_focused()
    press("End")
    expect(row(notebook, places[19])).to_be_focused()
    notebook.output(0).get_by_role("button", name="Next cases").press("Enter")
    notebook.wait_python("view.page", 1)
    expect(row(notebook, places[20])).to_be_visible()


# --- a metric of the user's ----------------------------------------------------------------------


def test_every_control_reaches_the_function(notebook: Notebook) -> None:
    output = notebook.output(1)
    output.get_by_label("n", exact=True).fill("1")
    notebook.page.keyboard.press("Tab")
    notebook.wait_python("mine.params['n']", 1)
    output.get_by_label("fold").uncheck()
    notebook.wait_python("mine.params['fold']", False)
    output.get_by_label("mode").fill("letters")
    notebook.page.keyboard.press("Enter")
    notebook.wait_python("mine.params['mode']", "letters")
    output.get_by_label("weight").fill("1.5")
    notebook.page.keyboard.press("Enter")
    notebook.wait_python("mine.params['weight']", 1.5)
    expect(output.get_by_role("alert")).to_contain_text("1 case without a verdict: ValueError")


def test_an_error_is_text_in_its_row(notebook: Notebook) -> None:
    failed = rows(notebook, 1).filter(has_text="boom")
    expect(failed).to_contain_text("ValueError: <script>window.hacked = 1")
    failed.click()
    expect(detail(notebook, 1)).to_contain_text("<img src=x onerror='window.hacked = 1'>")
    assert notebook.page.evaluate("window.hacked") is None


# --- for everybody -------------------------------------------------------------------------------


@pytest.mark.parametrize("cell", [0, 1])
def test_nothing_stands_in_the_way_of_assistive_software(notebook: Notebook, cell: int) -> None:
    notebook.run("view.selected_case = 1")
    assert serious_findings(notebook, cell) == []
    with notebook.dark():
        assert serious_findings(notebook, cell) == []


@pytest.mark.parametrize("width", [900, 1400])
def test_paths_break_between_steps_and_nothing_is_cut(notebook: Notebook, width: int) -> None:
    notebook.page.set_viewport_size({"width": width, "height": 1000})
    paths = rows(notebook, 2).locator("code")
    assert paths.first.inner_text() == "$.organisation.authors[0].full_name"
    broken = """cells => cells.flatMap(cell => [...cell.childNodes].filter(text => {
        const range = document.createRange();
        range.selectNodeContents(text);
        return new Set([...range.getClientRects()].map(box => Math.round(box.top))).size > 1;
    }).map(text => text.textContent))"""
    assert paths.evaluate_all(broken) == []
    for cell in (0, 1, 2):
        output = notebook.output(cell)
        assert output.evaluate("element => element.scrollWidth - element.clientWidth") <= 1
        inside = """element => {
            const frame = element.getBoundingClientRect();
            return [...element.querySelectorAll(".xb-verdict")].every(
                verdict => verdict.getBoundingClientRect().right <= frame.right);
        }"""
        assert output.locator(".xb-scroll").evaluate(inside)


def test_a_key_labels_the_case_that_has_the_focus(notebook: Notebook) -> None:
    first = rows(notebook, 1).nth(0)
    first.focus()
    first.press("f")
    expect(rows(notebook, 1).nth(0)).to_contain_text("fail")
    expect(figures(notebook, 1)).to_contain_text("By the labels: too few labels: 0 pass, 1 fail")
    rows(notebook, 1).nth(0).press("u")
    expect(figures(notebook, 1)).not_to_contain_text("By the labels")
