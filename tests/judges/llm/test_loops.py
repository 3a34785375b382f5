"""One judge in many loops and threads: one limit, one question at a time, nothing left behind."""

import asyncio
import threading
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

import extractbench_nb as xb
from extractbench_nb.core.text.judging import Question
from extractbench_nb.judges.client import BACKGROUND
from tests.judges.llm.conftest import MakeJudge, ask
from tests.llm_server import HANG, LLMServer
from tests.waiting import until

SCHEMA = {"type": "object", "properties": {f"f{i}": {"type": "string"} for i in range(12)}}
GOLD = {f"f{i}": f"gold {i}" for i in range(12)}
PREDICTED = {name: text.upper() for name, text in GOLD.items()}
PREDICTED |= {f"f{i}": f"other {i}" for i in range(6)}


def test_in_a_script_and_in_a_running_loop(make: MakeJudge, server: LLMServer) -> None:
    judge = make(cache=False)
    script = xb.evaluate(SCHEMA, GOLD, PREDICTED, judge=judge)

    async def cell() -> Any:
        return xb.evaluate(SCHEMA, GOLD, PREDICTED, judge=judge)

    async def awaited() -> Any:
        return await xb.evaluate_async(SCHEMA, GOLD, PREDICTED, judge=judge)

    others = asyncio.run(cell()), asyncio.run(awaited())
    assert script.summary.passed == 6
    assert script.fields.outcome.value_counts().to_dict() == {"correct": 6, "incorrect": 6}
    for other in others:
        assert other.fields.equals(script.fields)
        assert other.summary.equals(script.summary)
    assert len(server.requests) == 36
    assert script.meta["judge"] == "openai/test-model"


def test_one_limit_for_all_threads_and_loops(make: MakeJudge, server: LLMServer) -> None:
    server.hold(3)
    judge = make(max_concurrency=3, cache=False)
    with ThreadPoolExecutor(4) as pool:
        found = list(
            pool.map(lambda _: xb.evaluate(SCHEMA, GOLD, PREDICTED, judge=judge), range(4))
        )
    assert len(server.requests) == 48
    assert server.peak == 3
    assert all(one.fields.equals(found[0].fields) for one in found)


def test_connections_stay_open_from_one_loop_to_the_next(
    make: MakeJudge, server: LLMServer
) -> None:
    judge = make()
    for i in range(20):
        ask(judge, str(i))
    assert (len(server.requests), server.connections) == (20, 1)


def test_equal_questions_at_once_are_asked_once(make: MakeJudge, server: LLMServer) -> None:
    server.latency = 0.05
    judge = make("openai/gpt-4o-mini")

    async def many() -> list[Any]:
        return await asyncio.gather(*[judge.ask(Question("a", "b")) for _ in range(10)])

    with ThreadPoolExecutor(3) as pool:
        found = [
            v for verdicts in pool.map(lambda _: asyncio.run(many()), range(3)) for v in verdicts
        ]
    assert len(server.requests) == 1
    assert len({verdict[:3] for verdict in found}) == 1
    calls = [verdict.calls[0] for verdict in found]
    assert sorted(call.attempts for call in calls) == [0] * 29 + [1]
    assert sum(call.cost_usd for call in calls) == 2.1e-05
    assert sum(not call.cached for call in calls) == 1


def test_a_cancelled_question_frees_its_turn(make: MakeJudge, server: LLMServer) -> None:
    server.script(HANG)
    judge = make(max_concurrency=1)

    async def give_up() -> None:
        asked = asyncio.create_task(judge.ask(Question("a", "a")))
        await until(lambda: server.requests, asked)
        asked.cancel()
        with pytest.raises(asyncio.CancelledError):
            await asked

    asyncio.run(give_up())
    assert ask(judge, "a", "a").score == 1.0
    assert len(server.requests) == 2


def test_the_loop_ends_and_begins_again(make: MakeJudge, server: LLMServer) -> None:
    judge = make(cache=False)
    ask(judge)
    before = BACKGROUND.loop()
    BACKGROUND.close()
    assert before.is_closed()
    assert not [t for t in threading.enumerate() if t.name == "extractbench-judges"]
    BACKGROUND.close()
    assert ask(judge, "a", "a").score == 1.0
    assert len(server.requests) == 2
