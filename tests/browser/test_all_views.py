"""What must hold for every view: styles that do not leak, and notebooks that are reopened."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import nbformat
import pytest

from tests.browser.chromium import new_context
from tests.browser.conftest import Opened
from tests.browser.lab import Lab, Notebook, serious_findings
from tests.browser.views import MAKING, VIEWS

sync_api = pytest.importorskip("playwright.sync_api")
expect = sync_api.expect

NUMBERS = range(len(VIEWS))
CELLS = [
    f"""
{MAKING}
import ipywidgets
box, twins = ipywidgets.VBox(), ipywidgets.HTML()
display(box, twins)
""",
    *(f"display(views[{at}])" for at in NUMBERS),
]
#: Says for each element below some what its style is; sizes that follow from the page are left out.
STYLES = """views => views.map((view) => [...view.querySelectorAll("*")].slice(0, 1500)
  .filter((element) => element.localName !== "style").map((element) => {
    const style = getComputedStyle(element);
    const names = ["boxSizing", "display", "position", "color", "backgroundColor",
      "backgroundImage", "boxShadow", "borderTop", "borderRight", "borderBottom", "borderLeft",
      "borderRadius",
      "borderCollapse",
      "paddingTop", "paddingRight", "paddingBottom", "paddingLeft", "marginTop", "marginRight",
      "marginBottom", "marginLeft", "maxWidth", "minWidth", "maxHeight", "overflowX", "overflowY",
      "fontFamily", "fontSize", "fontWeight", "fontStyle", "lineHeight", "textAlign",
      "textTransform",
      "verticalAlign", "whiteSpace", "overflowWrap", "wordBreak", "tableLayout", "listStyleType",
      "flexGrow", "flexShrink", "flexBasis", "flexWrap", "opacity", "textDecorationLine", "cursor"];
    const kind = element.localName + "." + (element.getAttribute("class") ?? "");
    return kind + ": " + names.map((name) => name + " " + style[name]).join("; ");
  }))"""
#: The variables of JupyterLab's theme that views take up.
THEME = """() => ["--jp-layout-color0", "--jp-ui-font-color1", "--jp-border-color2"].map(
  (name) => name + ":" + getComputedStyle(document.body).getPropertyValue(name)).join(";")"""


def live(notebook: Notebook) -> Any:
    """The roots of the live views in the box."""
    return notebook.panel.locator(".jp-CodeCell").first.locator(".xb-theme:not(.xb-twin)")


def same(found: list[str], expected: list[str]) -> None:
    """Compare the styles of elements, one by one."""
    assert len(found) == len(expected) > 20
    for one, other in zip(found, expected, strict=True):
        assert one == other


# --- styles ------------------------------------------------------------------------------------


def test_no_view_changes_the_style_of_another(notebook: Notebook) -> None:
    alone = []
    for at in NUMBERS:
        notebook.run(f"box.children = [views[{at}]]")
        expect(live(notebook)).to_have_count(1)
        alone.extend(live(notebook).evaluate_all(STYLES))
    notebook.run("twins.value = ''.join(view.to_html() for view in views)")
    notebook.run("box.children = views")
    expect(live(notebook)).to_have_count(len(VIEWS))
    for found, expected in zip(live(notebook).evaluate_all(STYLES), alone, strict=True):
        same(found, expected)


@pytest.fixture(scope="module")
def saved(notebook: Notebook, lab: Lab) -> Path:
    """The notebook as JupyterLab saves it."""
    notebook.run("twins.value, box.children = '', []")
    notebook.page.evaluate("window.jupyterapp.commands.execute('docmanager:save')")
    return max(lab.folder.glob("test*.ipynb"), key=lambda path: path.stat().st_mtime)


@pytest.fixture(scope="module")
def written(saved: Path) -> list[str]:
    """The twins in the saved notebook."""
    outputs = [output for cell in json.loads(saved.read_text())["cells"] for output in _of(cell)]
    found = ["".join(output["data"].get("text/html", "")) for output in outputs]
    twins = [text for text in found if "xb-twin" in text]
    assert len(twins) == len(VIEWS)
    return twins


def _of(cell: dict[str, Any]) -> list[dict[str, Any]]:
    return [output for output in cell.get("outputs", []) if "data" in output]


def _shown(open_file: Callable[..., Opened], path: Path, body: str) -> list[list[str]]:
    path.write_text(f'<!DOCTYPE html><meta charset="utf-8">{body}', encoding="utf-8")
    found: list[list[str]] = open_file(path).page.locator(".xb-twin").evaluate_all(STYLES)
    return found


def test_no_twin_changes_the_style_of_another(
    written: list[str], open_file: Callable[..., Opened], tmp_path: Path
) -> None:
    together = _shown(open_file, tmp_path / "all.html", "".join(written))
    for at, twin in enumerate(written):
        (alone,) = _shown(open_file, tmp_path / f"{at}.html", twin)
        same(together[at], alone)


# --- saved and reopened ------------------------------------------------------------------------


@pytest.fixture(scope="module", params=["trusted", "untrusted", "without a kernel"])
def reopened(request: pytest.FixtureRequest, lab: Lab, saved: Path) -> Iterator[Any]:
    """The saved notebook in a new page, where no kernel knows the views."""
    text = saved.read_text()
    if request.param != "trusted":  # the signature is of other words
        text = text.replace("display(views[", "display( views[")
    book = nbformat.reads(text, as_version=4)
    if request.param == "without a kernel":
        book.metadata = {}  # a language would start its kernel
    path = lab.folder / f"{request.param}.ipynb"
    nbformat.write(book, path)
    context = new_context(lab.browser, viewport={"width": 1400, "height": 900})
    page = context.new_page()
    page.goto(f"{lab.base}/lab/tree/{path.name}?reset&token={lab.token}")
    if request.param == "without a kernel":
        dialog = page.locator(".jp-Dialog")
        dialog.get_by_role("button", name="No Kernel", exact=True).click()
        expect(dialog).to_have_count(0)
    else:
        expect(page.locator("#jp-bottom-panel")).to_contain_text(re.compile(r"\| Idle"))
    yield page, request.param
    context.close()


def test_a_reopened_notebook_shows_the_twin_of_each_view(reopened: Any) -> None:
    page, how = reopened
    cells = page.locator(".jp-CodeCell")
    if how == "trusted":  # JupyterLab has tried to show widgets: those of others cannot be shown
        expect(cells.first.get_by_text("Error displaying widget").first).to_be_visible()
    for at in NUMBERS:
        outputs = cells.nth(1 + at).locator(".jp-OutputArea-child")
        outputs.first.scroll_into_view_if_needed()
        expect(outputs.first.locator("[data-xb], .xb-twin").first).to_be_visible()
        expect(outputs.filter(visible=True)).to_have_count(1)
        for words in ("Error displaying widget", "Loading widget"):
            expect(cells.nth(1 + at).get_by_text(words).filter(visible=True)).to_have_count(0)


def test_the_notebook_does_not_change_the_style_of_a_twin(
    reopened: Any, written: list[str], open_file: Callable[..., Opened], tmp_path: Path
) -> None:
    page, how = reopened
    if how != "trusted":
        pytest.skip("JupyterLab removes the stylesheets of outputs that are not trusted")
    theme = page.evaluate(THEME)
    for at, twin in enumerate(written):
        shown = page.locator(".jp-CodeCell").nth(1 + at).locator(".xb-twin")
        width = shown.evaluate("twin => twin.getBoundingClientRect().width")
        body = f'<body style="{theme}; width: {width}px">{twin}'
        (alone,) = _shown(open_file, tmp_path / f"{at}.html", body)
        (found,) = shown.evaluate_all(STYLES)
        same(found, alone)


def test_nbconvert_shows_each_twin_once(
    saved: Path, open_file: Callable[..., Opened], tmp_path: Path
) -> None:
    from nbconvert import HTMLExporter

    # the live parts have nothing that a page without a kernel could show
    with pytest.warns(UserWarning, match=r"widget-view\+json.* is not able to be represented"):
        html, _ = HTMLExporter().from_filename(str(saved))
    path = tmp_path / "converted.html"
    path.write_text(html, encoding="utf-8")
    page = open_file(path, offline=True).page
    expect(page.locator(".xb-twin")).to_have_count(len(VIEWS))
    for at in NUMBERS:
        expect(page.locator(".xb-twin").nth(at)).to_be_visible()
    assert "Error displaying" not in page.locator("body").inner_text()


# --- for everybody -----------------------------------------------------------------------------


@pytest.mark.parametrize("dark", [False, True])
def test_screen_readers_are_served(notebook: Notebook, dark: bool) -> None:
    def findings() -> list[str]:
        return [found for at in NUMBERS for found in serious_findings(notebook, 1 + at)]

    if not dark:
        assert findings() == []
        return
    with notebook.dark():
        assert findings() == []


def test_no_errors_on_the_console(notebook: Notebook) -> None:
    notebook.check()
