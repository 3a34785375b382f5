"""Running coroutines anywhere, worker processes, and progress bars."""

from __future__ import annotations

import os
import threading
import time
import warnings
from collections.abc import Coroutine, Iterator
from concurrent.futures import Executor, Future, ThreadPoolExecutor
from contextlib import contextmanager, suppress
from importlib import import_module
from typing import Any, TypeVar

from extractbench_nb.errors import InputError, needs

T = TypeVar("T")


def run_anywhere(coroutine: Coroutine[Any, Any, T]) -> T:
    """Run a coroutine to its end, also where an event loop is running (a notebook cell)."""
    import asyncio

    try:
        try:
            asyncio.get_running_loop()
        except RuntimeError:
            return asyncio.run(coroutine)
        return _run_elsewhere(coroutine)
    finally:
        with suppress(RuntimeError, ValueError):  # still running after a second interruption
            coroutine.close()  # an interruption may come before it is awaited


def _run_elsewhere(coroutine: Coroutine[Any, Any, T]) -> T:
    """Run a coroutine in another thread; an interruption here cancels it there, and waits.

    Whichever thread settles `begun` first owns the coroutine: the other thread runs it, this one
    closes it.
    """
    import asyncio

    begun: Future[tuple[asyncio.AbstractEventLoop, asyncio.Task[Any]]] = Future()

    async def work() -> T:
        task = asyncio.current_task()
        assert task is not None  # noqa: S101 - a running coroutine has one
        begun.set_result((asyncio.get_running_loop(), task))
        return await coroutine

    with ThreadPoolExecutor(1) as pool:
        try:
            return pool.submit(lambda: asyncio.run(work())).result()
        except BaseException:
            if begun.cancel():
                coroutine.close()
            else:
                loop, task = begun.result()
                with suppress(RuntimeError):  # the loop has ended
                    loop.call_soon_threadsafe(task.cancel)
            raise


_WATCH_SECONDS = 1.0


def worker_count(n_jobs: Any) -> int:
    """Return the number of processes."""
    if type(n_jobs) is not int or n_jobs < -1 or n_jobs == 0:
        raise InputError(f"n_jobs is {n_jobs!r}; expected 1 or more, or -1 for all processors")
    if n_jobs > 0:
        return n_jobs
    loky = needs("loky", "batch")

    return int(loky.cpu_count())


@contextmanager
def worker_pool(workers: int, module: str) -> Iterator[Executor]:
    """Start worker processes, which import a module at once, and end all of them at the end."""
    loky = needs("loky", "batch")

    pool = loky.ProcessPoolExecutor(workers, initializer=_begin, initargs=(os.getpid(), module))
    try:
        pool.submit(int)  # loky starts no process before the first task
        yield pool
    finally:
        pool.shutdown(wait=True, kill_workers=True)


def _begin(parent: int, module: str) -> None:
    """End this worker when its parent ends, on systems that report the parent; import a module."""
    if os.name == "posix":

        def watch() -> None:
            while os.getppid() == parent:
                time.sleep(_WATCH_SECONDS)
            os._exit(1)

        threading.Thread(target=watch, daemon=True).start()
    import_module(module)


def progress_bar(items: Any = None, *, shown: bool, **options: Any) -> Any:
    """Make a tqdm bar; a hidden one imports nothing for notebooks."""
    if not shown:
        from tqdm import tqdm

        return tqdm(items, disable=True, **options)
    with warnings.catch_warnings():  # a notebook without ipywidgets gets a bar of text
        warnings.simplefilter("ignore")
        from tqdm.auto import tqdm as auto
    return auto(items, **options)
