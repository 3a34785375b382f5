"""Judges and aligners at their edges: what is shared, damaged, interrupted, forked, too long."""

import asyncio
import os
import threading
from typing import Any

import pytest

import extractbench_nb as xb
from tests.judges.llm.conftest import MakeJudge, ask
from tests.llm_server import HANG, LLMServer, answer
from tests.loaded import loaded_script
from tests.waiting import PATIENCE, until, wait_until


def several(count: int) -> tuple[dict[str, Any], dict[str, str], dict[str, str]]:
    names = [f"f{i}" for i in range(count)]
    schema = {"type": "object", "properties": {name: {"type": "string"} for name in names}}
    return schema, {n: f"gold {n}" for n in names}, {n: f"said {n}" for n in names}


INTERRUPTED = """
import asyncio, json, os, signal, sys, threading
import extractbench_nb as xb

signal.signal(signal.SIGINT, signal.default_int_handler)  # a shell may have it ignored
url, mode = sys.argv[1:]
judge = xb.LLM("openai/x", api_base=url, cache=False, timeout=3600)
schema = {"type": "object", "properties": {"a": {"type": "string"}}}

def interrupt():
    sys.stdin.readline()  # the request has come in
    os.kill(os.getpid(), signal.SIGINT)

def evaluate():
    threading.Thread(target=interrupt, daemon=True).start()
    try:
        xb.evaluate(schema, {"a": "x"}, {"a": "y"}, judge=judge)
    except KeyboardInterrupt:
        print("interrupted", flush=True)

async def cell():
    evaluate()

if mode == "script":
    evaluate()
else:
    loop = asyncio.new_event_loop()  # as a notebook's: signals reach the main thread
    loop.run_until_complete(cell())
    loop.close()
"""


@pytest.mark.parametrize("mode", ["script", "cell"])
def test_an_interruption_stops_a_hanging_request(server: LLMServer, mode: str) -> None:
    came = threading.Event()

    server.on_hanging = came.set
    server.respond = lambda _: HANG
    with loaded_script(INTERRUPTED, server.url, mode) as script:
        assert came.wait(PATIENCE)
        script.stdin.write("\n")
        assert script.result() == "interrupted\n"
    assert len(server.requests) == 1


@pytest.mark.skipif(not hasattr(os, "fork"), reason="there is no fork here")
@pytest.mark.filterwarnings("ignore:.*multi-threaded.*fork.*:DeprecationWarning")
def test_what_is_under_way_in_the_parent_can_be_asked_in_a_fork(
    make: MakeJudge, server: LLMServer
) -> None:
    judge = make()
    ask(judge, "warm", "up")
    server.forget()
    server.hold(2)  # the parent's request is under way when the child asks
    parent = threading.Thread(target=lambda: ask(judge, "a", "b"))
    parent.start()
    wait_until(lambda: server.requests or not parent.is_alive())
    child = os.fork()
    if child == 0:  # pragma: no cover - the other process
        try:
            verdict = ask(judge, "a", "b")
            os._exit(0 if verdict.reason == "judged" else 1)
        except BaseException:  # noqa: BLE001 - told by the exit code
            os._exit(2)
    server.release()  # the child asks itself, or waits for the parent's answer
    _, status = os.waitpid(child, 0)
    parent.join(PATIENCE)
    assert os.waitstatus_to_exitcode(status) == 0


def test_cancelling_leaves_nothing_under_way(make: MakeJudge, server: LLMServer) -> None:
    server.respond = lambda _: HANG

    async def main() -> None:
        task = asyncio.ensure_future(xb.evaluate_async(*several(5), judge=make()))
        await until(lambda: len(server.requests) >= 5, task)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    asyncio.run(main())
    server.respond = lambda _: answer(1.0)
    server.forget()
    assert xb.evaluate(*several(5), judge=make()).summary["passed"] == 5
    assert len(server.requests) == 5
