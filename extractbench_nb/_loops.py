"""Running what must be awaited from code that cannot: in a script, and in a notebook cell.

Ctrl-C may come at any moment: it waits while an event loop is made or closed, then comes through.
"""

from __future__ import annotations

import asyncio
import signal
import threading
from collections.abc import Coroutine, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager, suppress
from types import FrameType
from typing import Any, TypeVar

__all__ = ["run_anywhere", "run_loop", "undisturbed"]

T = TypeVar("T")


def run_anywhere(coroutine: Coroutine[Any, Any, T]) -> T:
    """Run a coroutine to its end, also where an event loop is running (a notebook cell).

    Parameters
    ----------
    coroutine : coroutine
        What to run; in another thread where this one has a running loop.

    Returns
    -------
    object
        Its result.
    """
    try:
        if _is_in_loop():
            return _run_elsewhere(coroutine)
        return run_loop(coroutine)
    finally:
        with suppress(RuntimeError, ValueError):  # it runs on, after a second interruption
            coroutine.close()  # the first may come before it is awaited


def _is_in_loop() -> bool:
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return False
    return True


def _run_elsewhere(coroutine: Coroutine[Any, Any, T]) -> T:
    """Run a coroutine in another thread; an interruption here cancels it there, and waits.

    Who settles `begun` first has the coroutine: the thread, to run it, or this one, to close it.
    """
    begun: Future[tuple[asyncio.AbstractEventLoop, asyncio.Task[Any]]] = Future()

    async def work() -> T:
        task = asyncio.current_task()
        assert task is not None  # noqa: S101 - a coroutine that runs has one
        begun.set_result((asyncio.get_running_loop(), task))
        return await coroutine

    with ThreadPoolExecutor(1) as pool:
        try:
            return pool.submit(lambda: run_loop(work())).result()
        except BaseException:
            if begun.cancel():
                coroutine.close()
            else:
                loop, task = begun.result()
                with suppress(RuntimeError):  # it has ended
                    loop.call_soon_threadsafe(task.cancel)
            raise


def run_loop(coroutine: Coroutine[Any, Any, T]) -> T:
    """Run a coroutine in a new event loop, as ``asyncio.run`` does.

    Parameters
    ----------
    coroutine : coroutine
        What to run.

    Returns
    -------
    object
        Its result.

    Notes
    -----
    A loop that is half closed when an interruption comes cannot be closed a second time, and says
    so with a traceback when it is collected.
    """
    runner = asyncio.Runner()
    try:
        with undisturbed():
            runner.get_loop()
        return runner.run(coroutine)
    finally:
        with undisturbed():
            runner.close()
        coroutine.close()


@contextmanager
def undisturbed() -> Iterator[None]:
    """Put one interruption (SIGINT) off until the block ends; a second one comes at once.

    Yields
    ------
    None
        In other threads than the main one, which no signal reaches, this does nothing.
    """
    before = signal.getsignal(signal.SIGINT)
    if threading.current_thread() is not threading.main_thread() or not callable(before):
        yield
        return
    waiting: list[tuple[int, FrameType | None]] = []

    def put_off(number: int, frame: FrameType | None) -> None:
        if waiting:
            before(number, frame)
        waiting.append((number, frame))

    signal.signal(signal.SIGINT, put_off)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)
        if waiting:
            before(*waiting[0])
