"""No process outlives tests that are interrupted or killed, whether or not xdist runs them."""

import os
import signal
import subprocess
import sys
from pathlib import Path
from uuid import uuid4

import pytest

from tests.processes import VARIABLE, started_by
from tests.waiting import PATIENCE, wait_until

ROOT = Path(__file__).parents[2]
#: A server in a session of its own, as kernels and JupyterLab have, and a test that never ends.
SERVING = """
import subprocess, sys, threading
from tests.waiting import wait_until

def test_serving(tmp_path):
    log = tmp_path / "log"
    command = [sys.executable, "-u", "-m", "http.server", "0", "--bind", "127.0.0.1"]
    subprocess.Popen(command, stdout=log.open("w"), start_new_session=True)
    wait_until(lambda: "Serving" in log.read_text())
    threading.Event().wait()
"""
#: A shell that starts something in the background has it ignore interruptions.
PYTEST = """
import signal, sys, pytest
signal.signal(signal.SIGINT, signal.default_int_handler)
sys.exit(pytest.main())
"""


@pytest.mark.skipif(os.name != "posix", reason="needs groups of processes")
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGKILL])
@pytest.mark.parametrize("workers", [0, 2])
def test_nothing_is_left_over(tmp_path: Path, number: signal.Signals, workers: int) -> None:
    (tmp_path / "test_serving.py").write_text(SERVING)
    (tmp_path / "test_too.py").write_text(SERVING)
    options = ["-p", "conftest", f"-n{workers}", "-p", "no:cacheprovider", f"--rootdir={tmp_path}"]
    options += ["-c", str(ROOT / "pyproject.toml"), f"--basetemp={tmp_path}/temp", str(tmp_path)]
    mark = f"{os.environ.get(VARIABLE)}/{uuid4().hex}"
    running = subprocess.Popen(
        [sys.executable, "-c", PYTEST, *options],
        cwd=ROOT,
        env=os.environ | {VARIABLE: mark},
        stdout=subprocess.DEVNULL,
        stderr=subprocess.STDOUT,
        start_new_session=True,
    )
    logs = (tmp_path / "temp").glob
    wait_until(lambda: running.poll() is not None or len(list(logs("**/log"))) >= (workers or 1))
    assert len(started_by(mark)) >= 3 + 2 * workers
    (os.killpg if number == signal.SIGINT else os.kill)(running.pid, number)
    assert running.wait(PATIENCE) != 0
    wait_until(lambda: not started_by(mark))
