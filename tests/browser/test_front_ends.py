"""Every view in the other front ends: Notebook 7, Voila and marimo, where they are installed."""

from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
import urllib.request
from collections.abc import Iterator
from functools import partial
from importlib.util import find_spec
from pathlib import Path
from textwrap import indent
from typing import Any

import nbformat
import pytest
from nbformat.v4 import new_code_cell, new_notebook

from tests.browser.chromium import SECONDS, new_context
from tests.browser.lab import stop, wait_until_it_answers
from tests.browser.views import NAMES, SETUP, VIEWS
from tests.waiting import wait_until

sync_api = pytest.importorskip("playwright.sync_api")
expect = sync_api.expect

#: How each is started in a folder, and the address of the page with the views.
SERVERS = {
    "notebook": (
        "-m notebook --no-browser --allow-root --ip=127.0.0.1 --port={port} --ServerApp.token=",
        "notebooks/views.ipynb",
    ),
    "voila": ("-m voila views.ipynb --no-browser --Voila.ip=127.0.0.1 --port={port}", ""),
    "marimo": ("-m marimo run views.py --headless --no-token --port={port}", ""),
}


def _write(folder: Path) -> None:
    """Write the same cells for Jupyter and for marimo."""
    kernel = {"name": "python3", "display_name": "Python 3", "language": "python"}
    shown = "\n".join(f"display({code})" for code in VIEWS.values())
    cells = [new_code_cell(SETUP.strip()), new_code_cell(shown)]
    book = new_notebook(cells=cells, metadata={"kernelspec": kernel})
    nbformat.write(book, folder / "views.ipynb")
    views = ", ".join(f"mo.ui.anywidget({code})" for code in VIEWS.values())
    (folder / "views.py").write_text(
        "import marimo\n\napp = marimo.App(width='medium')\n\n\n@app.cell\ndef _():\n"
        + indent(f"import marimo as mo\n{SETUP.strip()}\nreturn mo, {NAMES}", "    ")
        + f"\n\n\n@app.cell\ndef _(mo, {NAMES}):\n    mo.vstack([{views}])\n    return\n"
    )


@pytest.fixture(scope="module", params=SERVERS)
def page(
    request: pytest.FixtureRequest, browser: Any, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Any]:
    """The page of a front end whose cells have run."""
    name: str = request.param
    if find_spec(name) is None:
        pytest.skip(f"{name} is not installed")
    folder = tmp_path_factory.mktemp(name)
    _write(folder)
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    places = ("JUPYTER_CONFIG_DIR", "JUPYTER_DATA_DIR", "JUPYTER_RUNTIME_DIR", "IPYTHONDIR", "HOME")
    command, address = SERVERS[name]
    with (folder / "log").open("w") as log:
        process = subprocess.Popen(
            [sys.executable, *command.format(port=port).split()],
            cwd=folder,
            env=os.environ | {place: str(folder / "home" / place) for place in places},
            stdout=log,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
        try:
            wait_until_it_answers(process, f"http://127.0.0.1:{port}/", folder / "log")
            context = new_context(browser, viewport={"width": 1400, "height": 1000})
            opened = context.new_page()
            opened.goto(f"http://127.0.0.1:{port}/{address}")
            if name == "notebook":
                wait_until(partial(_is_connected, f"http://127.0.0.1:{port}/api/sessions"))
                opened.get_by_role("menuitem", name="Run", exact=True).click()
                opened.get_by_role("menuitem", name="Run All Cells", exact=True).click()
            yield opened
            context.close()
        finally:
            stop(process)


def _is_connected(sessions: str) -> bool:
    """Whether a kernel is idle and heard by the page; before, "Run All Cells" does nothing.

    The page itself says "idle" before there is a kernel.
    """
    with urllib.request.urlopen(sessions, timeout=SECONDS) as answer:  # noqa: S310
        kernels = [session["kernel"] for session in json.load(answer)]
    return any(kernel["execution_state"] == "idle" and kernel["connections"] for kernel in kernels)


def views(page: Any) -> Any:
    return page.locator(".xb-theme:not(.xb-twin)")


def _wait_for_all(page: Any) -> None:
    """Wait for all views; a page of Voila now and then misses one until it is loaded again."""
    for _ in range(3):
        try:
            expect(views(page)).to_have_count(len(VIEWS), timeout=SECONDS * 1000 / 3)
        except AssertionError:
            page.reload()
        else:
            return
    expect(views(page)).to_have_count(len(VIEWS))


def test_all_views_are_live_and_fit(page: Any) -> None:
    _wait_for_all(page)
    expect(page.locator(".xb-twin").filter(visible=True)).to_have_count(0)
    for at in range(len(VIEWS)):
        root = views(page).nth(at)
        expect(root).to_be_visible()
        expect(root).to_have_class("xb-theme")  # a light page
        assert root.bounding_box()["width"] > 600
        assert root.evaluate("element => element.scrollWidth <= element.clientWidth + 1")


def test_a_view_is_clicked_typed_at_and_walked_through(page: Any) -> None:
    view = views(page).nth(list(VIEWS).index("evaluation"))
    rows = view.locator("tbody > tr[data-item]")
    current = view.locator('tr[aria-current="true"] .xb-path')
    rows.nth(1).click()  # another row is open
    expect(rows.nth(1)).to_be_focused()
    expect(current).to_have_text("$.income.gross_profit.caption")
    page.keyboard.press("ArrowDown")
    expect(rows.nth(2)).to_be_focused()
    page.keyboard.press("Enter")
    expect(current).to_have_text("$.income.gross_profit.now")
    view.locator(".xb-filters > summary").click()
    box = view.get_by_role("searchbox")
    box.press_sequentially("audited")
    expect(rows).to_have_count(1)
    expect(rows.locator("mark.xb-found")).to_have_text("audited")
    box.press("Escape")
    expect(rows).to_have_count(40)
