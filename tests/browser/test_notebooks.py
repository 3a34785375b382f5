"""Cards as a reader of the notebooks sees them, among the rules of JupyterLab's style sheet."""

from pathlib import Path

import pytest

nbconvert = pytest.importorskip("nbconvert")
NOTEBOOK = Path(__file__).resolve().parents[2] / "notebooks/00_quickstart.ipynb"
ALIGNED = "cells => cells.map(cell => getComputedStyle(cell).textAlign)"


@pytest.fixture
def page(tmp_path, open_file):
    html, _ = nbconvert.HTMLExporter().from_filename(str(NOTEBOOK))
    path = tmp_path / "00_quickstart.html"
    path.write_text(html, encoding="utf-8")
    return open_file(path, offline=True).page  # the exporter names scripts elsewhere


def test_texts_of_cards_stand_left_and_numbers_right(page):
    texts = page.locator(".xb-root td:not(.xb-num)").evaluate_all(ALIGNED)
    numbers = page.locator(".xb-root td.xb-num").evaluate_all(ALIGNED)
    assert len(texts) > 20
    assert set(texts) == {"left"}
    assert set(numbers) == {"right"}
