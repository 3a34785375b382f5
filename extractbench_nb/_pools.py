"""Worker processes of our own: how many, and that none outlives what it works for."""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Iterator
from concurrent.futures import Executor
from contextlib import contextmanager
from typing import Any

from extractbench_nb.errors import InputError

__all__ = ["worker_count", "worker_pool"]

_WATCH_SECONDS = 1.0


def worker_count(n_jobs: Any) -> int:
    """Return how many processes are meant.

    Parameters
    ----------
    n_jobs : int
        1 or more, or -1 for one a processor.

    Returns
    -------
    int
        1 or more.

    Raises
    ------
    InputError
        It is neither.
    """
    if type(n_jobs) is not int or n_jobs < -1 or n_jobs == 0:
        raise InputError(f"n_jobs is {n_jobs!r}; expected 1 or more, or -1 for all processors")
    if n_jobs > 0:
        return n_jobs
    import loky

    return int(loky.cpu_count())


@contextmanager
def worker_pool(workers: int) -> Iterator[Executor]:
    """Start worker processes, and end all of them whatever happens.

    Parameters
    ----------
    workers : int
        How many.

    Yields
    ------
    concurrent.futures.Executor
        Its workers end soon after this process, however that one ends.
    """
    import loky

    pool = loky.ProcessPoolExecutor(workers, initializer=_end_with, initargs=(os.getpid(),))
    try:
        yield pool
    finally:
        pool.shutdown(wait=True, kill_workers=True)


def _end_with(parent: int) -> None:
    """Have this worker end with its parent, where the system tells who that is."""
    if os.name == "posix":
        threading.Thread(target=_watch, args=(parent,), daemon=True).start()


def _watch(parent: int) -> None:
    while os.getppid() == parent:
        time.sleep(_WATCH_SECONDS)
    os._exit(1)
