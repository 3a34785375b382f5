"""Waiting in tests: for a condition or an event, never for a time that ought to be enough.

No test may depend on how fast it runs; `tests/gates` refuses shorter limits than PATIENCE. What
has no limit of its own ends with the test, by pytest-timeout.
"""

import asyncio
import sys
import time
from collections.abc import Callable
from types import FrameType
from typing import Any, TypeVar

T = TypeVar("T")

#: Seconds after which something hangs, on the busiest of machines.
PATIENCE = 240.0


def wait_until(condition: Callable[[], object]) -> None:
    """Wait until a condition holds; it raises where it never will."""
    end = time.monotonic() + PATIENCE
    while not condition():
        if time.monotonic() > end:
            raise TimeoutError("it hangs")
        time.sleep(0.01)


async def until(condition: Callable[[], object], *tasks: asyncio.Future[Any]) -> None:
    """Wait until a condition holds that tasks bring about; fail once one of them has ended."""
    async with asyncio.timeout(PATIENCE):
        while not condition():
            for task in tasks:
                if task.done():
                    raise AssertionError("it has ended") from task.exception()
            await asyncio.sleep(0.005)


def calls_of(function: Callable[[], T]) -> tuple[T, int]:
    """Return a result and how many Python functions ran for it: work, on whatever machine."""
    count = 0

    def profile(_: FrameType, event: str, __: object) -> None:
        nonlocal count
        count += event == "call"

    before = sys.getprofile()
    sys.setprofile(profile)
    try:
        found = function()
    finally:
        sys.setprofile(before)
    return found, count
