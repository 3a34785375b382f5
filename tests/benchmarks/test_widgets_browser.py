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
schema = xb.schema.parse_schema({{"type": "object", "properties": parts}})
ev = xb.evaluate(*citation_objects(1000).case)
"""
PAINTED = {
    "tree of 373 nodes": ("xb.show(schema)", "summary[data-item]"),
    "1,000 x 1,000 matches": ('xb.show_matches(ev, "items")', "tbody[data-item]"),
    "8,000 rows of an evaluation": ("xb.show(ev)", "tr[data-item]"),
}
NEW = """([cell, painted]) => {
    const output = document.querySelectorAll('.jp-NotebookPanel .jp-CodeCell')[cell]
        .querySelector('.jp-OutputArea-output:not([data-old]):has([data-xb-live])');
    const live = output?.querySelector('[data-xb-live]')?.shadowRoot;
    return Boolean(live?.querySelector(painted));
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
def sent(view):
    data = sum(len(getattr(view, f"_p{at}")) for at in range(view._slots))
    code = len(view._esm) + len(view._style)
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
    nodes = ["items", "items[].title"]

    def click() -> str:
        before = status.all_inner_texts()
        nodes.append(nodes.pop(0))
        output.locator(
            f'[data-item][title^="{nodes[0]}\\n"], [data-item][title="{nodes[0]}"]'
        ).click()
        while (after := status.all_inner_texts()) == before:
            pass
        return " ".join(after)

    assert "rows" in timed(GROUP, "click on a node of 8,000 rows", click, rounds=10, warm=2)
    benchmark.extra_info["work"] = "page to Python and back"
    notebook.check()
