"""What a person waits for in JupyterLab: the first paint of a view, a click that Python answers.

The times include what driving the browser costs, some ten milliseconds.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.browser.chromium import chromium
from tests.browser.lab import Lab, Notebook

GROUP = "in JupyterLab"
SETUP = f"""
import sys
sys.path.insert(0, {str(Path(__file__).parents[2])!r})
import extractbench_nb as xb
from tests.benchmarks.workloads import citation_objects

leaf = {{"type": "string"}}
part = {{"type": "object", "properties": dict.fromkeys(map("field_{{}}".format, range(11)), leaf)}}
parts = dict.fromkeys(map("part_{{}}".format, range(31)), part)
schema = xb.parse_schema({{"type": "object", "properties": parts}})
ev = xb.evaluate(*citation_objects(1000).case)
"""
PAINTED = {
    "tree of 373 nodes": ("xb.show(schema)", '[role="treeitem"]'),
    "1,000 x 1,000 matches": ('xb.show_matches(ev, "items")', "tbody[data-item]"),
    "8,000 rows of an evaluation": ("xb.show(ev)", '[role="gridcell"]'),
}
NEW = """([cell, painted]) => {
    const output = document.querySelectorAll('.jp-NotebookPanel .jp-CodeCell')[cell]
        .querySelector('.jp-OutputArea-output:not([data-old])');
    return output && output.querySelector(painted) !== null;
}"""
OLD = """cell => document.querySelectorAll('.jp-NotebookPanel .jp-CodeCell')[cell]
    .querySelectorAll('.jp-OutputArea-output').forEach(old => old.setAttribute('data-old', ''))"""


@pytest.fixture(scope="module")
def notebook(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Notebook]:
    with chromium() as browser:
        lab = Lab(tmp_path_factory.mktemp("lab"))
        try:
            with lab.used_by(browser):
                views = (f"v{i} = {c}; v{i}" for i, (c, _) in enumerate(PAINTED.values()))
                yield lab.open([SETUP + SENT, *views])
        finally:
            lab.close()


SENT = """
from extractbench_nb.widgets.panes import Pane

def panes(widget):
    inside = [p for child in getattr(widget, "children", ()) for p in panes(child)]
    return [widget, *inside] if isinstance(widget, Pane) else inside

def sent(view):
    data = sum(len(pane.data) for pane in panes(view))
    code = sum(len(pane._esm) + len(pane._css) for pane in panes(view))
    return f"{data / 1024:.0f} KB of data, {code / 1024:.0f} KB of scripts and styles"
"""


@pytest.mark.parametrize("name", PAINTED)
def test_first_paint(name: str, notebook: Notebook, timed: Any, benchmark: Any) -> None:
    view = list(PAINTED).index(name)
    cell = view + 1
    editor = notebook.panel.locator(".jp-CodeCell").nth(cell).locator(".jp-InputArea-editor")

    def paint() -> bool:
        notebook.page.evaluate(OLD, cell)
        editor.click()
        notebook.page.keyboard.press("Control+Enter")
        notebook.page.wait_for_function(NEW, arg=[cell, PAINTED[name][1]], polling="raf")
        return True

    assert timed(GROUP, f"first paint, {name}", paint, rounds=5, warm=1)
    benchmark.extra_info["work"] = notebook.python(f"sent(v{view})")
    notebook.check()


def test_a_click_and_its_answer(notebook: Notebook, timed: Any, benchmark: Any) -> None:
    """Choose a node of the tree: Python filters 8,000 rows, and the page shows them."""
    output = notebook.output(3)
    status = output.locator("[role=status]")
    nodes = ["$.properties.items", "$.properties.items.items.properties.title"]

    def click() -> str:
        before = status.all_inner_texts()
        nodes.append(nodes.pop(0))
        output.get_by_role("tree").locator(f'[data-path="{nodes[0]}"]').click()
        while (after := status.all_inner_texts()) == before:
            pass
        return " ".join(after)

    assert "fields" in timed(GROUP, "click on a node of 8,000 rows", click, rounds=10, warm=2)
    benchmark.extra_info["work"] = "page to Python and back"
    notebook.check()
