"""The notebook of views: alive on a narrow dark page, and exported without any script."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import nbformat
import pytest

from tests.browser.lab import Lab, Notebook, serious_findings

nbconvert = pytest.importorskip("nbconvert")
PATH = Path(__file__).resolve().parents[2] / "notebooks/01_why_is_the_score_low.ipynb"
CODE = [cell for cell in nbformat.read(PATH, as_version=4).cells if cell.cell_type == "code"]
VIEWS = [
    at
    for at, cell in enumerate(CODE)
    if any("xb-twin" in o.get("data", {}).get("text/html", "") for o in cell.outputs)
]


@pytest.fixture(scope="module")
def dark(browser: Any, jupyterlab: Lab) -> Iterator[Notebook]:
    with jupyterlab.used_by(browser, dark=True) as lab:
        yield lab.open([cell.source for cell in CODE], width=900)


@pytest.fixture
def exported(tmp_path: Path, open_file: Any) -> Any:
    html, _ = nbconvert.HTMLExporter().from_filename(str(PATH))
    path = tmp_path / "07.html"
    path.write_text(html, encoding="utf-8")
    return open_file(path, java_script_enabled=False, offline=True, width=1000).page


def test_every_kind_of_view_is_in_it() -> None:
    assert len(VIEWS) >= 7


@pytest.mark.parametrize("cell", VIEWS)
def test_views_are_alive_fit_and_serve_screen_readers(cell: int, dark: Notebook) -> None:
    output = dark.output(cell)
    output.locator(".xb").first.wait_for()
    assert output.locator(".xb-twin").count() == 0  # the live view stands in its place
    assert output.evaluate("element => element.scrollWidth <= element.clientWidth + 1")
    assert serious_findings(dark, cell) == []


def test_no_errors_on_the_console(dark: Notebook) -> None:
    dark.check()


def test_the_export_is_readable_without_javascript(exported: Any) -> None:
    twins = exported.locator(".xb-twin")
    assert twins.count() == len(VIEWS)
    for twin in twins.all():
        assert len(twin.inner_text().split()) > 20
    words = exported.locator("body").inner_text()
    assert "Loading widget" not in words
    assert "Error displaying widget" not in words
    for said in ("money.margin_percent", "7:12.48", "≠ incorrect", "≠ finish"):
        assert said in words


def test_colours_of_the_export_are_there_without_javascript(exported: Any) -> None:
    bars = exported.locator(".xb-twin .xb-part")
    assert bars.count() > 20
    colours = bars.evaluate_all("parts => parts.map(p => getComputedStyle(p).backgroundColor)")
    assert len(set(colours)) >= 4
    picture = exported.locator(".xb-twin img")
    assert picture.evaluate("image => image.naturalWidth") > 400
