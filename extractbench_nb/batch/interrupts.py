"""Ctrl-C at any moment: it waits while an event loop is made or closed, then it comes through."""

from __future__ import annotations

import asyncio
import signal
import threading
from collections.abc import Coroutine, Iterator
from contextlib import contextmanager
from types import FrameType
from typing import Any, TypeVar

__all__ = ["run_loop", "undisturbed"]

T = TypeVar("T")


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
