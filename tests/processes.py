"""No process outlives the tests that started it, however they end: `watch` has what is left killed.

A process of its own looks whether this one is still there. What was started from here, and from
there on, is known by a variable of its environment: also kernels and servers, which have a session
and a process group of their own.
"""

import os
import subprocess
import sys
import time
from contextlib import suppress
from uuid import uuid4

import psutil

VARIABLE = "EXTRACTBENCH_NB_STARTED_BY"


def watch() -> None:
    """Have all that this process starts from now on killed once it is gone."""
    os.environ[VARIABLE] = f"{os.environ.get(VARIABLE, '')}/{uuid4().hex}"
    watching = subprocess.Popen(
        [sys.executable, __file__, str(os.getpid())],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        start_new_session=True,  # who interrupts the tests does not interrupt it
    )
    watching.returncode = 0  # nobody waits for it


def started_by(mark: str) -> list[psutil.Process]:
    """Return the processes whose variable begins so, without this one."""
    found = []
    for process in psutil.process_iter():
        with suppress(psutil.Error, OSError):
            if process.environ().get(VARIABLE, "").startswith(mark):
                found.append(process)
    return [process for process in found if process.pid != os.getpid()]


def clean_up_after(parent: int) -> None:
    """Wait until the parent is gone; then end, and at last kill, what it has left."""
    mark = os.environ[VARIABLE]
    while os.getppid() == parent and psutil.pid_exists(parent):
        time.sleep(0.2)
    for end in (psutil.Process.terminate, *[psutil.Process.kill] * 10):
        left = started_by(mark)
        for process in left:
            with suppress(psutil.Error):
                end(process)
        psutil.wait_procs(left, timeout=3)


if __name__ == "__main__":
    clean_up_after(int(sys.argv[1]))
