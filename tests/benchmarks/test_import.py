"""What importing costs, each in a new process."""

import subprocess
import sys

import pytest

LOADED = "import sys; print(*sorted({'pandas', 'scipy', 'jsonschema'} & set(sys.modules)))"


@pytest.mark.parametrize("module", ["extractbench_nb", "pandas"])
def test_import(module, timed, benchmark):
    command = [sys.executable, "-c", f"import {module}; {LOADED}"]

    def start() -> str:
        return subprocess.run(command, capture_output=True, text=True, check=True).stdout

    loaded = timed("import", module, start, rounds=15, warm=1).split()
    benchmark.extra_info["work"] = f"a new process; loads {', '.join(loaded)}"
    assert loaded == ["pandas"]
