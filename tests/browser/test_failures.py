"""The failure explorer in JupyterLab: clicked, dragged over, typed at, and asked in Python."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

import pytest

from tests.browser.lab import Lab, Notebook, serious_findings

CELLS = [
    """
import extractbench_nb as xb
ds = xb.load_dataset()
evs = xb.evaluate_runs(ds, profile="paper", progress=False)
view = xb.explore(evs, dataset=ds)
view
""",
    """
HOSTILE = ["<script>window.hacked = 1</script>", "<img src=x onerror='window.hacked = 1'>",
           "user\\u202egnp.exe", "half \\ud800 pair", "x" * 1_000_000, "a\\x00b\\x1b[31m"]
schema = {"type": "object", "properties": {
    **{f"f{i}{t[:50]}": {"type": "string"} for i, t in enumerate(HOSTILE)},
    "list": {"type": "array", "items": {"type": "string"}}}}
gold = {f"f{i}{t[:50]}": t for i, t in enumerate(HOSTILE)} | {"list": ["1"]}
wrong = {key: "no " + str(value) for key, value in gold.items()} | {"list": ["1"]}
documents = {text: xb.evaluate(schema, gold, wrong) for text in HOSTILE}
hostile = xb.explore({run: documents for run in ("r1", HOSTILE[1])})
hostile
""",
    """
wide = xb.explore(evs.fields.assign(document=evs.fields["document"] + evs.fields["run"]))
wide.schema = "quarterly_report"
wide
""",
]
CASH, REPORT = "balance.cash.now", "brindlemoor_10q_q2_fy2031"


@pytest.fixture(scope="module")
def opened(lab: Lab) -> Iterator[Notebook]:
    return lab.open(CELLS)


@pytest.fixture
def notebook(opened: Notebook) -> Iterator[Notebook]:
    """The notebook with the first view as it was at first; nothing may go wrong on the page."""
    opened.page.set_viewport_size({"width": 1400, "height": 900})
    opened.run("view.location = {}")
    yield opened
    opened.check()


def expect(found: Any) -> Any:
    from playwright.sync_api import expect as wait

    return wait(found, "on the page")


def grid(notebook: Notebook, cell: int = 0) -> Any:
    return notebook.output(cell).get_by_role("grid").first


def at(notebook: Notebook, row: int, column: int, cell: int = 0) -> Any:
    """A cell by its place on the page; row and column 0 are the headers."""
    return grid(notebook, cell).locator(f'[data-row="{row}"][data-column="{column}"]')


def values(notebook: Notebook, cell: int = 0) -> Any:
    return notebook.output(cell).locator(".xb-values")


def paths(notebook: Notebook, cell: int = 0) -> Any:
    return values(notebook, cell).locator(".xb-path-block")


def bounds(found: Any) -> Any:
    return found.bounding_box()


def chosen(notebook: Notebook) -> Any:
    return grid(notebook).locator('[aria-selected="true"]')


#: Controls that are in sight before the headline, and all places where Tab stops.
CONTROLS = """view => {
  const shown = [...view.querySelectorAll("*")].filter((e) => e.checkVisibility() && !e.disabled);
  const controls = shown.filter((e) => e.matches("button, select, input, summary"));
  const number = view.querySelector(".xb-big");
  const before = (e) => e.compareDocumentPosition(number) & Node.DOCUMENT_POSITION_FOLLOWING;
  return [controls.filter(before).length, shown.filter((e) => e.tabIndex >= 0).length];
}"""


def test_few_controls_are_before_the_first_number(notebook: Notebook) -> None:
    before, stops = notebook.output(0).locator(".xb-explore").evaluate(CONTROLS)
    assert before <= 4
    assert stops <= 15


def test_a_click_opens_the_values_of_a_cell(notebook: Notebook) -> None:
    at(notebook, 1, 2).click()
    notebook.wait_python("list(view.selected_cell)", [CASH, REPORT])
    expect(at(notebook, 1, 2)).to_have_attribute("aria-selected", "true")
    expect(values(notebook).get_by_text("3 of 4 rows not passed")).to_be_visible()
    expect(paths(notebook)).to_have_count(1)
    for run in ("heron-vision", "osprey-7b", "quill-large", "quill-mini"):
        expect(values(notebook).get_by_role("button", name=run)).to_have_count(1)
    expect(values(notebook).locator("mark").first).to_have_text("000")
    notebook.wait_python("sorted(set(view.selection['field']))", [CASH])


def test_the_values_of_eight_columns_are_in_sight(notebook: Notebook) -> None:
    expect(grid(notebook, 2).get_by_role("columnheader")).to_have_count(8)
    at(notebook, 3, 2, cell=2).click()
    expect(paths(notebook, 2)).to_have_count(1)
    view = notebook.panel.locator(".jp-WindowedPanel-outer").bounding_box()
    box = paths(notebook, 2).first.bounding_box()
    assert view["y"] <= box["y"]
    assert box["y"] + box["height"] <= view["y"] + view["height"]
    chosen_box = at(notebook, 3, 2, cell=2).bounding_box()
    assert view["y"] <= chosen_box["y"] <= view["y"] + view["height"]
    assert box["x"] >= chosen_box["x"] + chosen_box["width"]  # beside each other


def test_a_name_takes_its_line(notebook: Notebook) -> None:
    at(notebook, 2, 0).click()
    notebook.wait_python("view.selected_cell[1]", None)
    expect(chosen(notebook)).to_have_count(2)
    values(notebook).get_by_role("button", name="Clear selection").click()
    notebook.wait_python("len(view.selected_cell)", 0)
    expect(chosen(notebook)).to_have_count(0)


def test_keys_alone_are_enough(notebook: Notebook) -> None:
    keyboard = notebook.page.keyboard
    at(notebook, 1, 1).focus()
    keyboard.press("ArrowDown")
    expect(at(notebook, 2, 1)).to_be_focused()
    keyboard.press("Enter")
    notebook.wait_python(
        "list(view.selected_cell)", ["balance.cash.before", "castellan_10k_fy2030"]
    )
    expect(at(notebook, 2, 1)).to_be_focused()
    keyboard.press("Escape")
    notebook.wait_python("len(view.selected_cell)", 0)
    keyboard.press("ArrowDown")
    keyboard.press("Home")
    expect(at(notebook, 3, 0)).to_be_focused()
    keyboard.press("Enter")
    notebook.wait_python("view.selected_cell[1]", None)
    expect(chosen(notebook)).to_have_count(2)


def test_two_runs_are_compared_with_one_click(notebook: Notebook) -> None:
    output = notebook.output(0)
    first = output.locator(".xb-headline")
    output.get_by_label("A run").select_option(label="heron-vision")
    output.get_by_label("B run").select_option(label="quill-large")
    expect(first).to_contain_text("heron-vision →")
    output.get_by_role("checkbox", name="differences only").check()
    notebook.wait_python("view.selection['run'].unique().tolist()", ["heron-vision", "quill-large"])
    block = paths(notebook).first
    expect(block.get_by_role("button", name="heron-vision")).to_have_count(1)
    expect(block.get_by_role("button", name="quill-large")).to_have_count(1)


def test_few_controls_come_before_the_first_number(notebook: Notebook) -> None:
    output = notebook.output(0)
    controls = output.locator("select, input, button, summary").filter(visible=True)
    number = output.locator(".xb-big").bounding_box()["y"]
    assert sum(box["y"] < number for box in map(bounds, controls.all())) <= 4
    stops = output.locator("select, input, button:not(:disabled), summary, [tabindex='0']")
    reached = [e for e in stops.filter(visible=True).all() if e.evaluate("e => e.tabIndex >= 0")]
    assert len(reached) <= 15


def test_one_stop_of_the_tab_key_is_in_the_heatmap(notebook: Notebook) -> None:
    expect(grid(notebook).locator('[tabindex="0"]')).to_have_count(1)
    at(notebook, 5, 1).click()
    expect(at(notebook, 5, 1)).to_have_attribute("tabindex", "0")
    expect(grid(notebook).locator('[tabindex="0"]')).to_have_count(1)
    notebook.page.keyboard.press("Tab")
    expect(grid(notebook).locator(":focus")).to_have_count(0)


def test_pages_turn(notebook: Notebook) -> None:
    later = notebook.output(0).get_by_role("button", name="Next fields")
    later.focus()
    notebook.page.keyboard.press("Enter")
    expect(notebook.output(0)).to_contain_text("fields 41 to 80 of 336")
    expect(later).to_be_focused()


def test_typing_and_ticking_filter(notebook: Notebook) -> None:
    output = notebook.output(0)
    output.get_by_text("Filters and layout").click()
    output.get_by_label("Find in values").fill("cash.now")
    notebook.wait_python("view.selection['field'].unique().tolist()", [CASH])
    output.get_by_label("without invalid outputs").check()
    expect(output.locator(".xb-invalid")).to_have_count(0)
    output.get_by_role("button", name="Clear filters").click()
    notebook.wait_python("[view.text, view.valid_only]", ["", False])


def test_a_count_of_failures_lists_its_rows(notebook: Notebook) -> None:
    chip = values(notebook).get_by_role("button", name=re.compile("^value mismatch"))
    count = int(chip.locator("b").inner_text())
    chip.click()
    notebook.wait_python("[view.reason, len(view.selection)]", ["value_mismatch", count])
    expect(chip).to_have_attribute("aria-pressed", "true")


def test_a_value_opens_its_output_and_escape_goes_back(notebook: Notebook) -> None:
    at(notebook, 1, 2).click()
    values(notebook).get_by_role("button", name="heron-vision").first.click()
    output = notebook.output(0)
    expect(output.get_by_role("navigation")).to_contain_text("heron-vision · " + REPORT)
    notebook.wait_python("view.trail[0].selected_row", "$.balance.cash.now")
    rows = output.locator(".xb-rows")
    assert rows.evaluate("table => getComputedStyle(table).tableLayout") == "fixed"  # its styles
    notebook.page.keyboard.press("Escape")
    notebook.wait_python("len(view.trail)", 0)
    expect(paths(notebook)).to_have_count(1)


def test_the_way_back_stays_in_sight(notebook: Notebook) -> None:
    at(notebook, 1, 2).click()
    values(notebook).get_by_role("button", name="heron-vision").first.click()
    way = notebook.output(0).get_by_role("navigation")
    expect(way).to_be_visible()
    notebook.page.mouse.move(700, 500)
    notebook.page.mouse.wheel(0, 350)
    expect(way).to_be_in_viewport()
    notebook.page.keyboard.press("Escape")


def test_from_a_cell_to_the_page_of_the_pdf_in_three_clicks(notebook: Notebook) -> None:
    notebook.run("view.schema = 'rowing'")
    output = notebook.output(0)
    grid(notebook).get_by_role("row", name="regatta").get_by_role("gridcell").last.click()
    values(notebook).locator(".xb-answer button").nth(1).click()
    output.get_by_role("button", name="Show on the page").click()
    expect(output.get_by_role("navigation")).to_contain_text("PDF")
    expect(output.locator("img").first).to_be_visible()
    notebook.wait_python("[opened.kind for opened in view.trail]", ["evaluation", "evidence"])
    output.get_by_role("navigation").get_by_role("button", name="Failures").click()
    notebook.wait_python("len(view.trail)", 0)
    expect(paths(notebook)).to_have_count(1)
    values(notebook).get_by_role("button", name="page", exact=True).last.click()  # or in two
    expect(output.locator("img").first).to_be_visible()


@pytest.mark.parametrize("width", [900, 1400])
def test_only_the_heatmap_scrolls_sideways(notebook: Notebook, width: int) -> None:
    notebook.page.set_viewport_size({"width": width, "height": 1000})
    notebook.run("view.rows, view.columns = 'document', 'field'")
    expect(grid(notebook).get_by_role("columnheader")).to_have_count(24)
    output = notebook.output(0)
    room = "element => element.scrollWidth - element.clientWidth"
    assert output.evaluate(room) <= 0
    assert output.locator(".xb-box").evaluate(room) > 100


def test_the_twin_is_readable_at_900_pixels(notebook: Notebook) -> None:
    html = notebook.python("xb.explore(evs, rows='run').to_html()")
    page = notebook.page.context.new_page()
    page.set_viewport_size({"width": 900, "height": 900})
    page.set_content(html)
    heads = page.locator(".xb-heat thead th")
    expect(heads.first).to_contain_text("castellan_10k_fy2030")
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    page.close()


@pytest.mark.parametrize("dark", [False, True])
def test_axe_finds_nothing_serious(notebook: Notebook, dark: bool) -> None:
    at(notebook, 5, 1).click()
    expect(paths(notebook).first).to_be_visible()
    if dark:
        with notebook.dark():
            assert serious_findings(notebook, 0) == []
    else:
        assert serious_findings(notebook, 0) == []
        notebook.run("view.rows, view.columns, view.measure = 'run', 'field', 'pass_rate'")
        expect(grid(notebook).get_by_role("columnheader")).to_have_count(24)
        assert serious_findings(notebook, 0) == []


def test_hostile_content_is_text(notebook: Notebook) -> None:
    heads = grid(notebook, 1).get_by_role("rowheader")
    expect(heads.filter(has_text="f0<script>windo")).to_be_visible()
    heads.filter(has_text="f4xxx").click()
    notebook.wait_python("len(hostile.selection)", 12)
    expect(paths(notebook, 1)).to_have_count(6)
    first = paths(notebook, 1).first
    assert len(first.inner_text()) < 3_000
    first.get_by_role("button", name="Show all").click()
    expect(first.get_by_role("button", name="Show all")).to_have_count(0)
    expect(first.locator(".xb-value").first).to_have_text(re.compile("x{90000}"))
    assert notebook.page.evaluate("window.hacked") is None
    assert notebook.output(1).locator("script, img").count() == 0
