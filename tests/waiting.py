"""Waiting in tests: for a condition or an event, never for a time that ought to be enough.

No test may depend on how fast it runs; `tests/gates` refuses shorter limits than PATIENCE.
"""

import sys
import time
from collections.abc import Callable
from types import FrameType
from typing import TypeVar

T = TypeVar("T")

#: Seconds after which something hangs, on the busiest of machines.
PATIENCE = 1800.0


def wait_until(condition: Callable[[], object]) -> None:
    """Wait until a condition holds."""
    end = time.monotonic() + PATIENCE
    while not condition():
        if time.monotonic() > end:
            raise TimeoutError("it hangs")
        time.sleep(0.01)


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
