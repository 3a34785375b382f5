"""The failure explorer in JupyterLab: clicked, dragged over, typed at, and asked in Python."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

import pytest

from extractbench_nb.widgets.static import asset, score_text
from tests.browser.lab import Lab, Notebook, serious_findings

CELLS = [
    """
import extractbench_nb as xb
evs = xb.evaluate_runs(xb.load_dataset(), progress=False)
view = xb.explore(evs)
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
]
CASH, REPORT = "balance.cash.now", "brindlemoor_10q_q2_fy2031"


@pytest.fixture(scope="module")
def opened(lab: Lab) -> Iterator[Notebook]:
    return lab.open(CELLS)


@pytest.fixture
def notebook(opened: Notebook) -> Iterator[Notebook]:
    """The notebook with the first view as it was at first; nothing may go wrong on the page."""
    opened.run(
        "view.selected_block, view.find = (), 'another'\n"
        "view.rows, view.columns, view.measure, view.find = 'field', 'document', 'score', ''\n"
        "view.row_order = view.column_order = 'worst'\n"
        "view.schema = view.run = None\n"
        "view.failed_by_every_run = view.inside_arrays = view.valid_only = False"
    )
    yield opened
    opened.check()


def expect(found: Any) -> Any:
    from playwright.sync_api import expect as wait

    return wait(found, "on the page")


def grid(notebook: Notebook, cell: int = 0) -> Any:
    return notebook.output(cell).get_by_role("grid")


def at(notebook: Notebook, row: int, column: int) -> Any:
    """A cell by its place on the page; row and column 0 are the headers."""
    return grid(notebook).locator(f'[data-r="{row}"][data-c="{column}"]')


def values(notebook: Notebook, cell: int = 0) -> Any:
    return notebook.output(cell).locator(".xb-values")


def chosen(notebook: Notebook) -> Any:
    return grid(notebook).locator('[aria-selected="true"]')


def selected(notebook: Notebook, row: str, column: str) -> None:
    notebook.wait_python("list(view.selected_cell)", [row, column])


def test_a_click_opens_the_values_of_a_cell(notebook: Notebook) -> None:
    cell = grid(notebook).get_by_role("gridcell", name=f"{CASH}, {REPORT}")
    cell.click()
    selected(notebook, CASH, REPORT)
    expect(cell).to_have_attribute("aria-selected", "true")
    expect(values(notebook).get_by_role("listitem")).to_have_count(4)
    expect(values(notebook).get_by_text("3 of 4 rows not passed")).to_be_visible()
    expect(values(notebook).locator("mark").first).to_have_text("000")
    notebook.wait_python("sorted(set(view.selection['field']))", [CASH])
    bars = notebook.output(0).locator(".xb-breakdown")
    expect(bars).to_contain_text("Selection: 4 rows")


def test_python_turns_to_the_cell_that_it_chooses(notebook: Notebook) -> None:
    notebook.run("view.selected_cell = ('held_on', '[autumn] lantern cup')")
    expect(chosen(notebook)).to_have_count(1)
    expect(chosen(notebook)).to_have_attribute("aria-label", re.compile(r"^held_on, \[autumn\]"))
    expect(values(notebook).get_by_role("listitem").first).to_contain_text("$.held_on")


def test_dragging_takes_a_block(notebook: Notebook) -> None:
    at(notebook, 2, 1).hover()
    notebook.page.mouse.down()
    at(notebook, 4, 2).hover()
    expect(chosen(notebook)).to_have_count(6)
    notebook.page.mouse.up()
    notebook.wait_python("[len(names) for names in view.selected_block]", [3, 2])
    notebook.wait_python("len(view.selection)", 24)
    notebook.wait_python("view.selected_cell", [])
    expect(values(notebook)).to_contain_text("3 fields × 2 documents")
    expect(values(notebook)).to_contain_text("rows 1–20 of 24")
    values(notebook).get_by_role("button", name="Next rows").click()
    expect(values(notebook)).to_contain_text("rows 21–24 of 24")
    notebook.output(0).get_by_role("button", name="Clear selection").click()
    notebook.wait_python("len(view.selected_block)", 0)
    expect(chosen(notebook)).to_have_count(0)


def test_keys_alone_are_enough(notebook: Notebook) -> None:
    keyboard = notebook.page.keyboard
    at(notebook, 1, 1).focus()
    keyboard.press("ArrowDown")
    expect(at(notebook, 2, 1)).to_be_focused()
    keyboard.press("Enter")
    selected(notebook, "balance.cash.before", "castellan_10k_fy2030")
    expect(at(notebook, 2, 1)).to_be_focused()
    keyboard.press("Shift+ArrowRight")
    keyboard.press("Shift+ArrowDown")
    notebook.wait_python("[len(names) for names in view.selected_block]", [2, 2])
    expect(chosen(notebook)).to_have_count(4)
    keyboard.press("Escape")
    notebook.wait_python("len(view.selected_block)", 0)
    keyboard.press("Home")
    expect(at(notebook, 3, 0)).to_be_focused()
    keyboard.press("Enter")
    notebook.wait_python("[len(names) for names in view.selected_block]", [1, 2])
    keyboard.press("Control+End")
    expect(at(notebook, 60, 2)).to_be_focused()
    keyboard.press("ArrowDown")
    expect(at(notebook, 1, 2)).to_be_focused()
    expect(notebook.output(0)).to_contain_text("fields 61–120 of 336")
    keyboard.press("PageUp")
    expect(notebook.output(0)).to_contain_text("fields 1–60 of 336")
    expect(at(notebook, 60, 2)).to_be_focused()


def test_one_stop_of_the_tab_key_is_in_the_heatmap(notebook: Notebook) -> None:
    expect(grid(notebook).locator('[tabindex="0"]')).to_have_count(1)
    at(notebook, 5, 1).click()
    expect(grid(notebook).locator('[tabindex="0"]')).to_have_count(1)
    expect(at(notebook, 5, 1)).to_have_attribute("tabindex", "0")
    notebook.page.keyboard.press("Tab")
    expect(grid(notebook).locator(":focus")).to_have_count(0)


def test_a_button_that_is_used_up_hands_the_focus_on(notebook: Notebook) -> None:
    notebook.run("view.find = 'balance'")
    expect(notebook.output(0)).to_contain_text("fields 1–60 of 90")
    later, earlier = (
        notebook.output(0).get_by_role("button", name=f"{name} fields")
        for name in ("Next", "Previous")
    )
    later.focus()
    notebook.page.keyboard.press("Enter")
    expect(notebook.output(0)).to_contain_text("fields 61–90 of 90")
    expect(earlier).to_be_focused()


def test_menus_change_what_is_shown(notebook: Notebook) -> None:
    output = notebook.output(0)
    output.get_by_label("Show", exact=True).select_option("most frequent outcome")
    notebook.wait_python("view.measure", "outcome")
    expect(output.locator(".xb-legend")).to_contain_text("hallucination")
    output.get_by_label("Rows", exact=True).select_option("documents")
    notebook.wait_python("[view.rows, view.columns]", ["document", "field"])
    expect(output.get_by_label("Columns", exact=True)).to_have_value("fields")
    output.get_by_label("Columns", exact=True).select_option("runs")
    expect(grid(notebook)).to_have_attribute("aria-label", re.compile("^document by run"))
    expect(grid(notebook).locator(".xb-invalid")).to_have_count(8)


def test_typing_and_ticking_filter_the_fields(notebook: Notebook) -> None:
    output = notebook.output(0)
    output.get_by_label("Field", exact=True).fill("cash.now")
    notebook.wait_python("view.selection['field'].unique().tolist()", [CASH])
    expect(grid(notebook).get_by_role("row")).to_have_count(2)
    output.get_by_label("without invalid outputs").check()
    expect(at(notebook, 1, 1)).not_to_have_class(re.compile("xb-partly"))
    output.get_by_label("failed by every run").check()
    expect(output).to_contain_text("No field matches: fields with 'cash.now' in their name, fields")
    output.get_by_label("Field", exact=True).fill("")
    output.get_by_label("failed by every run").uncheck()
    expect(grid(notebook)).to_be_visible()


def test_a_schema_is_chosen_by_its_menu(notebook: Notebook) -> None:
    notebook.output(0).get_by_label("Schema", exact=True).select_option("rowing")
    notebook.wait_python("view.selection['schema'].unique().tolist()", ["rowing"])
    expect(grid(notebook).get_by_role("columnheader")).to_have_count(3)


@pytest.mark.parametrize("width", [900, 1400])
def test_only_the_heatmap_scrolls_sideways(notebook: Notebook, width: int) -> None:
    notebook.page.set_viewport_size({"width": width, "height": 1000})
    notebook.run("view.rows, view.columns = 'document', 'field'")
    expect(grid(notebook).get_by_role("columnheader")).to_have_count(40)
    output = notebook.output(0)
    room = "element => element.scrollWidth - element.clientWidth"
    assert output.evaluate(room) <= 0
    assert output.locator(".xb-box").evaluate(room) > 100


@pytest.mark.parametrize("width", [900, 1400])
def test_names_of_bars_and_columns_do_not_break_within_words(
    notebook: Notebook, width: int
) -> None:
    notebook.page.set_viewport_size({"width": width, "height": 1000})
    notebook.run("view.rows, view.columns = 'document', 'run'")
    expect(grid(notebook)).to_have_attribute("aria-label", re.compile("^document by run"))
    lines = "names => names.map(name => name.getClientRects().length)"
    bars = notebook.output(0).locator(".xb-breakdown th > span")
    expect(bars.filter(has_text="heron-vision")).to_be_visible()
    assert set(bars.evaluate_all(lines)) == {1}
    cut = "names => names.filter(name => name.scrollWidth > name.clientWidth).length"
    assert notebook.output(0).locator(".xb-breakdown th").evaluate_all(cut) == 0
    assert bars.evaluate_all("names => names.map(name => name.offsetHeight > 20)").count(True) == 0
    heads = grid(notebook).get_by_role("columnheader").locator(".xb-line")
    assert heads.evaluate_all("names => names.map(name => name.offsetHeight > 20)").count(True) == 0


def test_a_run_is_the_mean_over_its_documents(notebook: Notebook) -> None:
    notebook.run("view.rows, view.columns, view.measure = 'run', 'document', 'pass_rate'")
    heads = grid(notebook).get_by_role("rowheader")
    expect(heads.first).to_contain_text("osprey-7b")
    assert heads.locator(".xb-mean").all_inner_texts() == ["0.60", "0.73", "0.78", "0.98"]
    output = notebook.output(0)
    expect(output.locator(".xb-legend")).to_contain_text("of a run, mean over documents")
    by_run = output.get_by_role("table", name=re.compile("^By run: pass rate, mean over documents"))
    assert by_run.locator(".xb-num").all_inner_texts() == ["60 %", "73 %", "78 %", "98 %"]
    by_domain = output.get_by_role("table", name="By domain: share of rows that pass")
    expect(by_domain).to_contain_text("60 %")


def test_scores_are_written_by_one_rule(notebook: Notebook) -> None:
    scores = [0, 1e-9, 0.004, 0.005, 0.995, 0.9999, 1, None, *(n / 1000 for n in range(1001))]
    script = f"scores => {{ {asset('shared/dom.js')}\nreturn scores.map(scoreText); }}"
    assert notebook.page.evaluate(script, scores) == [score_text(score) for score in scores]


def test_the_twin_is_readable_at_900_pixels(notebook: Notebook) -> None:
    html = notebook.python("xb.explore(evs, rows='run').to_html()")
    page = notebook.page.context.new_page()
    page.set_viewport_size({"width": 900, "height": 900})
    page.set_content(html)
    heads = page.locator(".xb-static-heat thead th")
    assert heads.all_inner_texts()[2:4] == ["1 ⊘", "2 ⊘"]
    assert set(heads.evaluate_all("heads => heads.map(head => head.offsetHeight > 30)")) == {False}
    expect(page.locator(".xb-columns li").first).to_contain_text("castellan_10k_fy2030 ⊘ · 0.49")
    page.close()


def test_axe_finds_nothing_serious(notebook: Notebook) -> None:
    at(notebook, 5, 1).click()
    expect(values(notebook).get_by_role("listitem").first).to_be_visible()
    assert serious_findings(notebook, 0) == []
    notebook.run("view.rows, view.columns, view.measure = 'run', 'field', 'outcome'")
    expect(grid(notebook).get_by_role("columnheader")).to_have_count(40)
    assert serious_findings(notebook, 0) == []


def test_hostile_content_is_text(notebook: Notebook) -> None:
    heads = grid(notebook, 1).get_by_role("rowheader")
    expect(heads.filter(has_text="f0<script>windo")).to_be_visible()
    expect(grid(notebook, 1).locator(".xb-failed")).to_have_count(6)
    heads.filter(has_text="f4xxx").click()
    notebook.wait_python("len(hostile.selection)", 12)
    items = values(notebook, 1).get_by_role("listitem")
    expect(items).to_have_count(12)
    shown = items.first.inner_text()
    assert len(shown) < 3_000
    items.first.get_by_role("button").click()
    expect(items.first.get_by_role("button")).to_have_count(1)
    expect(items.first.locator(".xb-side").first).to_have_text(re.compile("x{90000}"))
    assert notebook.page.evaluate("window.hacked") is None
    assert notebook.output(1).locator("script, img").count() == 0
