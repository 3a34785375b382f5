"""An interruption comes through at any moment, and leaves no event loop half made or closed."""

import asyncio
import signal
import threading

import pytest

from extractbench_nb._loops import run_loop, undisturbed
from extractbench_nb.batch import evaluate_runs

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
    await asyncio.sleep(60)


@pytest.fixture
def closed(monkeypatch):
    """Interrupt every event loop while it is being closed; tell of each whether it got closed."""
    found = []
    close = asyncio.SelectorEventLoop.close

    def interrupted_close(loop):
        interrupt()
        close(loop)
        found.append(loop.is_closed())

    monkeypatch.setattr(asyncio.SelectorEventLoop, "close", interrupted_close)
    return found


def test_a_loop_is_closed_before_the_interruption_comes_through(closed):
    with pytest.raises(KeyboardInterrupt):
        run_loop(seven())
    assert closed == [True]
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


def test_a_batch_is_interrupted_while_a_loop_is_closed(closed, frame_of):
    with pytest.raises(KeyboardInterrupt):
        evaluate_runs(frame_of(("r", "d", GOOD)), progress=False)
    assert closed
    assert all(closed)


def test_a_loop_is_made_before_the_interruption_comes_through(monkeypatch):
    made = []
    new = asyncio.new_event_loop

    def interrupted_new():
        interrupt()
        made.append(new())
        return made[0]

    monkeypatch.setattr(asyncio.events, "new_event_loop", interrupted_new)
    with pytest.raises(KeyboardInterrupt):
        run_loop(seven())
    assert [loop.is_closed() for loop in made] == [True]


def test_work_is_interrupted_at_once():
    with pytest.raises(KeyboardInterrupt):
        run_loop(interrupted())
    assert run_loop(seven()) == 7


def test_the_second_interruption_does_not_wait():
    seen = []

    @undisturbed()
    def twice():
        interrupt()
        seen.append("first")
        interrupt()
        seen.append("second")

    with pytest.raises(KeyboardInterrupt):
        twice()
    assert seen == ["first"]


def test_other_threads_and_other_handlers():
    found = []
    thread = threading.Thread(target=lambda: found.append(run_loop(seven())))
    thread.start()
    thread.join()
    before = signal.signal(signal.SIGINT, lambda *_: found.append("told"))
    try:
        with undisturbed():
            interrupt()
            found.append("in time")
    finally:
        signal.signal(signal.SIGINT, before)
    assert found == [7, "in time", "told"]
