"""An interruption comes through at any moment, and leaves no event loop half made or closed."""

import asyncio
import signal
import sys
import threading

import pytest

from extractbench_nb.support.concurrency import run_anywhere
from tests.waiting import PATIENCE, wait_until

GOOD = {"seller": "Northwind Paper"}


@pytest.fixture(autouse=True)
def interruptible():
    """Raise KeyboardInterrupt, also where a background shell has SIGINT ignored."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


def interrupt():
    signal.raise_signal(signal.SIGINT)


async def seven():
    return 7


async def interrupted():
    interrupt()
    await asyncio.sleep(PATIENCE)


def test_work_is_interrupted_at_once():
    with pytest.raises(KeyboardInterrupt):
        run_anywhere(interrupted())
    assert run_anywhere(seven()) == 7


# Where a loop is running (a notebook cell), and the work is done in another thread.

needs_kill = pytest.mark.skipif(
    not hasattr(signal, "pthread_kill"), reason="no signal wakes a thread that waits"
)


def interrupt_main(*, within):
    """Interrupt the main thread once it is in a function of an executor: result, shutdown."""
    wait_for_main(within)
    signal.pthread_kill(threading.main_thread().ident, signal.SIGINT)


def wait_for_main(within):
    main = threading.main_thread().ident
    wait_until(lambda: within in names_of(sys._current_frames()[main]))


def names_of(frame):
    return [] if frame is None else [frame.f_code.co_name, *names_of(frame.f_back)]


def in_a_cell(coroutine):
    async def cell():
        signal.signal(signal.SIGINT, signal.default_int_handler)  # not the one of asyncio.run
        return run_anywhere(coroutine)

    return asyncio.run(cell())


@needs_kill
def test_a_cell_is_interrupted_and_waits_for_the_work_to_end():
    ended = []

    async def work():
        interrupt_main(within="result")
        try:
            await asyncio.sleep(PATIENCE)
        finally:
            ended.append(True)

    with pytest.raises(KeyboardInterrupt):
        in_a_cell(work())
    assert ended == [True]
