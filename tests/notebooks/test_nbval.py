"""nbval compares kept outputs with new ones, and fails where one number is another."""

import os
import re
import subprocess
import sys
from pathlib import Path

import nbformat
import pytest
from nbformat import NotebookNode

from extractbench_nb import benchmark, plots
from tests.waiting import PATIENCE

CONFIG = Path(__file__).parents[2] / "notebooks" / "nbval.cfg"
SOURCE = "import pandas as pd\n\npd.DataFrame({'score': [0.5, 1.0]}).to_string()"
TABLE = "   score\n0    0.5\n1    1.0"

FIGURE = """import extractbench_nb as xb
counts = xb.benchmark.counts()
counts.loc[0, "valid"] += {more}
ax = xb.plots.results(counts)"""


def cell(kept: str) -> NotebookNode:
    output = nbformat.v4.new_output("execute_result", {"text/plain": repr(kept)}, execution_count=1)
    return nbformat.v4.new_code_cell(SOURCE, execution_count=1, outputs=[output])


def figure_cell(kept: str, more: int) -> NotebookNode:
    """A cell that draws a figure, kept as another picture of the same data, or of others."""
    output = nbformat.v4.new_output("display_data", {"text/plain": kept, "image/png": "iVBORw0K"})
    return nbformat.v4.new_code_cell(FIGURE.format(more=more), execution_count=1, outputs=[output])


def compared(cells: list[NotebookNode], folder: Path) -> str:
    """Let nbval compare the cells of a notebook, and return what it prints."""
    nbformat.write(nbformat.v4.new_notebook(cells=cells), folder / "kept.ipynb")
    options = ["--nbval", "--nbval-current-env", f"--nbval-sanitize-with={CONFIG}", "-v"]
    options += [f"--nbval-cell-timeout={PATIENCE}", f"--nbval-kernel-startup-timeout={PATIENCE}"]
    alone = ["-p", "no:cacheprovider", "-c", os.devnull, f"--rootdir={folder}"]
    found = subprocess.run(
        [sys.executable, "-m", "pytest", *alone, *options, str(folder)],
        capture_output=True,
        text=True,
        check=False,
        timeout=PATIENCE,
    )
    assert found.returncode == 1, found.stdout + found.stderr
    return found.stdout


def test_a_changed_number_is_found(tmp_path: Path) -> None:
    found = compared([cell(TABLE), cell(TABLE.replace("0.5", "0.6"))], tmp_path)
    assert re.search(r"Cell 0 PASSED", found)
    assert re.search(r"Cell 1 FAILED", found)
    assert "1 failed, 1 passed" in found


def test_a_changed_value_in_a_figure_is_found(tmp_path: Path) -> None:
    """Pictures are not compared; the text of a figure has a digest of what it shows."""
    plt = pytest.importorskip("matplotlib.pyplot")
    kept = repr(plots.results(benchmark.counts()).figure)
    plt.close("all")
    found = compared([figure_cell(kept, 0), figure_cell(kept, 1)], tmp_path)
    assert re.search(r"Cell 0 PASSED", found), found
    assert re.search(r"Cell 1 FAILED", found)
    assert "digest" in found
