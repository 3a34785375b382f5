"""nbval compares kept outputs with new ones, and fails where one number is another."""

import os
import re
import subprocess
import sys
from pathlib import Path

import nbformat
from nbformat import NotebookNode

from tests.waiting import PATIENCE

CONFIG = Path(__file__).parents[2] / "notebooks" / "nbval.cfg"
SOURCE = "import pandas as pd\n\npd.DataFrame({'score': [0.5, 1.0]}).to_string()"
TABLE = "   score\n0    0.5\n1    1.0"


def cell(kept: str) -> NotebookNode:
    output = nbformat.v4.new_output("execute_result", {"text/plain": repr(kept)}, execution_count=1)
    return nbformat.v4.new_code_cell(SOURCE, execution_count=1, outputs=[output])


def test_a_changed_number_is_found(tmp_path: Path) -> None:
    cells = [cell(TABLE), cell(TABLE.replace("0.5", "0.6"))]
    nbformat.write(nbformat.v4.new_notebook(cells=cells), tmp_path / "kept.ipynb")
    options = ["--nbval", "--nbval-current-env", f"--nbval-sanitize-with={CONFIG}", "-v"]
    options += [f"--nbval-cell-timeout={PATIENCE}", f"--nbval-kernel-startup-timeout={PATIENCE}"]
    alone = ["-p", "no:cacheprovider", "-c", os.devnull, f"--rootdir={tmp_path}"]
    found = subprocess.run(
        [sys.executable, "-m", "pytest", *alone, *options, str(tmp_path)],
        capture_output=True,
        text=True,
        check=False,
        timeout=PATIENCE,
    )
    assert found.returncode == 1, found.stdout + found.stderr
    assert re.search(r"Cell 0 PASSED", found.stdout)
    assert re.search(r"Cell 1 FAILED", found.stdout)
    assert "1 failed, 1 passed" in found.stdout
