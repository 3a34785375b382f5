"""One event loop in a thread of its own, on which all requests of this process are made.

Callers come from many loops, threads and notebook cells, and their loops end. On this loop,
connections stay open between evaluations, one concurrency limit holds for all callers, and equal
questions of different callers are asked once.
"""

from __future__ import annotations

import asyncio
import atexit
import os
import threading
from collections.abc import Awaitable, Callable, Coroutine, Hashable
from contextlib import suppress
from typing import Any, Generic, TypeVar

T = TypeVar("T")

_CLOSING_TIMEOUT_S = 5.0


class BackgroundLoop:
    """The event loop and its thread; both start on first use."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._loop: asyncio.AbstractEventLoop | None = None
        self._thread: threading.Thread | None = None
        #: Functions to await on the loop before it closes.
        self.before_closing: list[Callable[[], Awaitable[None]]] = []

    async def run(self, coroutine: Coroutine[Any, Any, T]) -> T:
        """Run a coroutine on the background loop and await it; cancelling either cancels both."""
        try:
            future = asyncio.run_coroutine_threadsafe(coroutine, self.loop())
        except BaseException:  # interrupted before it was submitted: it will not be awaited
            coroutine.close()
            raise
        return await asyncio.wrap_future(future)

    def loop(self) -> asyncio.AbstractEventLoop:
        """Return the loop, running."""
        with self._lock:
            if self._loop is None:
                self._loop = asyncio.new_event_loop()
                self._thread = threading.Thread(
                    target=self._loop.run_forever, name="extractbench-judges", daemon=True
                )
                self._thread.start()
            return self._loop

    def close(self) -> None:
        """Cancel all tasks, close connections, and end the loop and its thread."""
        with self._lock:
            loop, thread = self._loop, self._thread
            self._loop = self._thread = None
        if loop is None or thread is None:
            return
        with suppress(Exception):
            asyncio.run_coroutine_threadsafe(self._end(), loop).result(_CLOSING_TIMEOUT_S)
        loop.call_soon_threadsafe(loop.stop)
        thread.join(_CLOSING_TIMEOUT_S)
        if not thread.is_alive():
            with suppress(Exception):  # tasks that were added while closing
                loop.run_until_complete(self._cancel_all())
            loop.close()

    async def _cancel_all(self) -> None:
        tasks = asyncio.all_tasks() - {asyncio.current_task()}
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    async def _end(self) -> None:
        await self._cancel_all()
        for work in self.before_closing:
            await work()

    def forget(self) -> None:
        """Reset in a forked process, which has no copy of the thread."""
        self._lock = threading.Lock()
        self._loop = self._thread = None


class Shared(Generic[T]):
    """Runs work once for all concurrent callers with the same key; for use on one loop only."""

    def __init__(self) -> None:
        self._tasks: dict[Hashable, tuple[asyncio.Task[T], list[None]]] = {}

    async def get(
        self, key: Hashable, work: Callable[[], Coroutine[Any, Any, T]]
    ) -> tuple[T, bool]:
        """Await the running work for a key, or start it; also return whether it was running."""
        joined = key in self._tasks and not self._tasks[key][0].done()
        if not joined:
            self._tasks[key] = (asyncio.ensure_future(work()), [])
            # callers get its exception; without callers nobody retrieves it
            self._tasks[key][0].add_done_callback(lambda done: done.cancelled() or done.exception())
        task, waiting = shared = self._tasks[key]
        waiting.append(None)
        try:
            return await asyncio.shield(task), joined
        finally:
            waiting.pop()
            if not waiting:
                task.cancel()
                if self._tasks.get(key) is shared:
                    del self._tasks[key]

    def forget(self) -> None:
        """Reset in a forked process, which has no copy of the tasks."""
        self._tasks = {}


BACKGROUND = BackgroundLoop()
atexit.register(BACKGROUND.close)
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=BACKGROUND.forget)
