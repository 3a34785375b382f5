"""Execute the notebooks and keep their outputs, without anything that differs from run to run.

    python scripts/execute_notebooks.py [--check] [NOTEBOOK ...]

With --check nothing is written: a second run has to give the outputs that are kept, figures to the
byte (which holds on one machine, with one version of matplotlib).

Each notebook runs in a kernel of its own, in its own folder, with no EXTRACTBENCH_ variable set, so
that what is committed is what everybody sees. One whose cell fails is left as it was.
"""

from __future__ import annotations

import argparse
import os
import re
import sys
import time
from pathlib import Path
from typing import Any

import nbformat
from jupyter_client.manager import KernelManager
from nbformat import NotebookNode

from extractbench_nb.views.static import WIDGET, drop_live_parts

NOTEBOOKS = Path(__file__).resolve().parents[1] / "notebooks"
CELL_SECONDS = 1800
QUIET = "--IPKernelApp.log_level=ERROR"  # no warning that the kernel is on a local port
METADATA = {
    "kernelspec": {"display_name": "Python 3", "language": "python", "name": "python3"},
    "language_info": {"name": "python"},
}
_OUTPUTS = {"stream", "display_data", "execute_result", "error"}
_COLOURS = re.compile(r"\x1b\[[0-9;]*m")


class CellError(RuntimeError):
    """A cell raised an error."""


def execute(notebook: NotebookNode, folder: Path) -> NotebookNode:
    """Return an executed and cleaned copy of a notebook."""
    copy = cleaned(notebook)
    manager = KernelManager(kernel_name="python3")
    manager.start_kernel(cwd=str(folder), env=_environment(), extra_arguments=[QUIET])
    client = manager.blocking_client()
    try:
        client.start_channels()
        client.wait_for_ready(timeout=CELL_SECONDS)
        for number, cell in enumerate(_code_cells(copy), start=1):
            cell.outputs = _outputs(client, cell.source)
            cell.execution_count = number
            for output in cell.outputs:
                if output.output_type == "execute_result":
                    output.execution_count = number
    finally:
        client.stop_channels()
        manager.shutdown_kernel(now=True)
    return copy


def cleaned(notebook: NotebookNode) -> NotebookNode:
    """Return a copy without outputs, and with the metadata that mean something."""
    copy = nbformat.from_dict(notebook)
    copy.metadata = nbformat.from_dict(METADATA)
    copy.nbformat, copy.nbformat_minor = 4, 5
    for cell in copy.cells:
        tags = cell.metadata.get("tags", [])
        cell.metadata = nbformat.from_dict({"tags": tags} if tags else {})
        if cell.cell_type == "code":
            cell.outputs, cell.execution_count = [], None
    return copy


def _environment() -> dict[str, str]:
    kept = {k: v for k, v in os.environ.items() if not k.startswith("EXTRACTBENCH_")}
    return {**kept, "LITELLM_LOCAL_MODEL_COST_MAP": "True"}


def _code_cells(notebook: NotebookNode) -> list[NotebookNode]:
    return [cell for cell in notebook.cells if cell.cell_type == "code"]


def _outputs(client: Any, source: str) -> list[NotebookNode]:
    """Run one cell and return its outputs; neighbouring pieces of a stream become one."""
    found: list[NotebookNode] = []

    def keep(message: dict[str, Any]) -> None:
        if message["header"]["msg_type"] not in _OUTPUTS:
            return
        output = nbformat.v4.output_from_msg(message)
        last = found[-1] if found else None
        if last and output.output_type == "stream" == last.output_type and last.name == output.name:
            last.text += output.text
        else:
            found.append(output)

    client.execute_interactive(
        source, timeout=CELL_SECONDS, output_hook=keep, allow_stdin=False, stop_on_error=True
    )
    for output in found:
        if output.output_type == "error":
            raise CellError(_COLOURS.sub("", "\n".join(output.traceback)))
    drop_live_parts(found)
    for output in found:
        data = output.get("data", {})
        if WIDGET in data:
            raise CellError(f"a widget without a static twin: {data.get('text/plain')}")
    return found


def differences(kept: NotebookNode, new: NotebookNode) -> list[int]:
    """Return the execution counts of the cells whose outputs differ; tagged cells may."""
    return [
        cell.execution_count
        for cell, again in zip(_code_cells(kept), _code_cells(new), strict=True)
        if cell.outputs != again.outputs and not cell.metadata.get("tags")
    ]


def run(path: Path, *, check: bool) -> str:
    """Execute one notebook, and write or compare it; return what is wrong, if anything."""
    kept = nbformat.read(path, as_version=4)
    try:
        new = execute(kept, path.resolve().parent)
    except CellError as error:
        return str(error)
    if not check:
        nbformat.write(new, path)
        return ""
    cells = differences(kept, new)
    return f"other outputs in cells {', '.join(map(str, cells))}" if cells else ""


def main() -> int:
    """Execute the named notebooks, or all; return the exit status."""
    parser = argparse.ArgumentParser(description="Execute the notebooks.")
    parser.add_argument("--check", action="store_true", help="write nothing, compare the outputs")
    parser.add_argument("notebooks", nargs="*", type=Path)
    asked = parser.parse_args()
    problems = 0
    for path in asked.notebooks or sorted(NOTEBOOKS.glob("*.ipynb")):
        began = time.perf_counter()
        problem = run(path, check=asked.check)
        problems += bool(problem)
        sys.stdout.write(f"{path.name}: {time.perf_counter() - began:.1f} s {problem}\n")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
