"""The script that executes notebooks keeps what a kernel says; a second run says the same."""

import importlib.util
from pathlib import Path
from typing import Any

import nbformat
import pytest
from nbformat import NotebookNode

ROOT = Path(__file__).parents[2]
ELSEWHERE = {"kernelspec": {"name": "elsewhere", "display_name": "Elsewhere"}}


@pytest.fixture(scope="module")
def script() -> Any:
    path = ROOT / "scripts" / "execute_notebooks.py"
    spec = importlib.util.spec_from_file_location("execute_notebooks", path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def notebook(*sources: str) -> NotebookNode:
    cells = [nbformat.v4.new_code_cell(source) for source in sources]
    return nbformat.v4.new_notebook(cells=cells, metadata=ELSEWHERE)


def test_outputs_are_kept_in_order_and_differences_found(
    script: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("EXTRACTBENCH_RUNS", "somewhere")
    before = notebook(
        "import os\nprint('one')\nprint('two')\n'EXTRACTBENCH_RUNS' in os.environ",
        "import random\nrandom.random()",
        "import extractbench_nb as xb\nxb.show({'type': 'object'})",
    )
    before.cells[2].metadata = {"tags": ["kept"], "execution": {"iopub.status": "now"}}
    found, again = (script.execute(before, tmp_path) for _ in range(2))
    stream, result = found.cells[0].outputs
    assert stream.text == "one\ntwo\n"
    assert result.data["text/plain"] == "False"
    assert [cell.execution_count for cell in found.cells] == [1, 2, 3]
    assert found.metadata == script.METADATA
    assert found.cells[2].metadata == {"tags": ["kept"]}
    assert [cell.id for cell in found.cells] == [cell.id for cell in before.cells]
    assert "outputs" in before.cells[0]
    assert before.cells[0].outputs == []
    assert script.differences(found, again) == [2]
    (view,) = found.cells[2].outputs  # kept as its static twin
    assert sorted(view.data) == ["text/html", "text/plain"]
    assert view.data["text/plain"] == "Schema · 1 node · depth 0"


def test_a_failing_cell_is_told_and_nothing_written(script: Any, tmp_path: Path) -> None:
    path = tmp_path / "broken.ipynb"
    nbformat.write(notebook("1 / 0", "2"), path)
    before = path.read_bytes()
    assert "ZeroDivisionError" in script.run(path, check=False)
    assert path.read_bytes() == before
