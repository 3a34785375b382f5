"""Fields judged by a model that takes 20 ms: how near the time comes to what the limit allows."""

import asyncio
import json
import subprocess
import sys
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from itertools import count
from pathlib import Path
from typing import Any

import pytest

import extractbench_nb as xb
from extractbench_nb.judges import LLM, LLMJudge
from extractbench_nb.judges.client import litellm
from tests.benchmarks.evaluators import label

LATENCY, AT_ONCE = 0.02, 32
#: What a real model takes at least; then the client's own time hardly counts.
REAL_LATENCY, FEWER = 0.2, 250
MODEL = "openai/test-model"
GROUP = "judged fields"


class Remote:
    """The server, in a process of its own."""

    def __init__(self, process: "subprocess.Popen[str]") -> None:
        assert process.stdin is not None
        assert process.stdout is not None
        self._in, self._out = process.stdin, process.stdout
        self.url = self._out.readline().strip()

    def counts(self) -> tuple[int, int]:
        """Requests since the last time, and how many were under way at once."""
        self._in.write("\n")
        self._in.flush()
        requests, peak = json.loads(self._out.readline())
        return requests, peak


@contextmanager
def serving(latency: float) -> Iterator[Remote]:
    process = subprocess.Popen(
        [sys.executable, "-m", "tests.llm_server", str(latency)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        cwd=Path(__file__).parents[2],
    )
    with process:
        yield Remote(process)
        assert process.stdin is not None
        process.stdin.close()


@pytest.fixture(scope="module")
def server() -> Iterator[Remote]:
    with serving(LATENCY) as remote:
        yield remote


@pytest.fixture
def fields(benchmark: Any) -> int:
    return 40 if benchmark.disabled else 1000


def document(fields: int) -> tuple[dict[str, Any], dict[str, str], dict[str, str]]:
    config = {"metrics": [{"metric_id": "string_semantic", "params": {"model": MODEL}}]}
    field = {"type": "string", "evaluation_config": config}
    names = [f"f{i}" for i in range(fields)]
    schema = {"type": "object", "properties": dict.fromkeys(names, field)}
    return schema, {n: f"gold {n}" for n in names}, {n: f"predicted {n}" for n in names}


@pytest.fixture
def evaluate(
    server: Remote, fields: int, tmp_path: Path
) -> Callable[[Path | bool], xb.core.Evaluation]:
    case = document(fields)

    def run(cache: Path | bool) -> xb.core.Evaluation:
        judge = LLMJudge(LLM(MODEL, api_base=server.url, max_concurrency=AT_ONCE, cache=cache))
        return xb.evaluate(*case, judge=judge)

    LLMJudge(LLM(MODEL, api_base=server.url)).check()
    return run


def test_ours(evaluate, server, fields, timed, benchmark, tmp_path):
    number = count()
    server.counts()
    found = timed(
        GROUP,
        label("extractbench-nb"),
        lambda: evaluate(tmp_path / str(next(number))),
        rounds=3,
        warm=1,
    )
    requests, peak = server.counts()
    assert found.summary.judged == found.summary.passed == fields
    assert requests == fields * next(number)
    assert peak <= AT_ONCE
    bound = fields * LATENCY / AT_ONCE
    benchmark.extra_info["work"] = (
        f"{fields:,} fields, {fields:,} requests, {peak} at once: {bound:.3f} s of waiting"
    )


def test_ours_again(evaluate, server, fields, timed, benchmark, tmp_path):
    evaluate(tmp_path)
    server.counts()
    name = label("extractbench-nb") + ", second run"
    found = timed(GROUP, name, lambda: evaluate(tmp_path), rounds=3, warm=0)
    requests, _ = server.counts()
    assert found.summary.passed == fields
    assert requests == 0
    benchmark.extra_info["work"] = f"{fields:,} fields, 0 requests"


def test_ours_where_nothing_differs(server, fields, timed, benchmark):
    schema, gold, _ = document(fields)
    judge = LLMJudge(LLM(MODEL, api_base=server.url, cache=False))
    judge.check()
    server.counts()
    name = label("extractbench-nb") + ", gold = prediction"
    found = timed(
        GROUP, name, lambda: xb.evaluate(schema, gold, dict(gold), judge=judge), rounds=3, warm=0
    )
    requests, _ = server.counts()
    assert found.summary.passed == fields
    assert requests == 0
    benchmark.extra_info["work"] = f"{fields:,} fields, 0 requests"


def test_ours_with_a_model_of_usual_speed(timed, benchmark):
    fields = 40 if benchmark.disabled else FEWER
    case = document(fields)
    with serving(REAL_LATENCY) as slow:
        judge = LLMJudge(LLM(MODEL, api_base=slow.url, max_concurrency=AT_ONCE, cache=False))
        judge.check()
        name = label("extractbench-nb") + f", {REAL_LATENCY:g} s an answer"
        found = timed(GROUP, name, lambda: xb.evaluate(*case, judge=judge), rounds=3, warm=1)
        requests, peak = slow.counts()
    assert found.summary.passed == fields
    assert requests % fields == 0
    bound = fields * REAL_LATENCY / AT_ONCE
    benchmark.extra_info["work"] = (
        f"{fields} fields, {fields} requests, {peak} at once: {bound:.3f} s of waiting"
    )


def test_litellm(server, fields, timed, benchmark):
    """The client alone: what its calls take where nothing else is done."""

    async def call(turns: asyncio.Semaphore, text: str) -> Any:
        async with turns:
            return await litellm().acompletion(
                model=MODEL,
                api_base=server.url,
                api_key="none-needed",
                messages=[{"role": "user", "content": text * 200}],
                **{"no-log": True},
            )

    async def calls() -> list[Any]:
        turns = asyncio.Semaphore(AT_ONCE)
        try:
            return await asyncio.gather(*[call(turns, f"{i:09d}") for i in range(fields)])
        finally:
            await litellm().close_litellm_async_clients()
            litellm().in_memory_llm_clients_cache.flush_cache()

    server.counts()
    found = timed(
        GROUP, label("litellm") + " alone", lambda: asyncio.run(calls()), rounds=3, warm=1
    )
    requests, _ = server.counts()
    assert len(found) == fields
    benchmark.extra_info["work"] = f"{fields:,} requests"
    assert requests % fields == 0


@pytest.fixture
def published(server: Remote, monkeypatch: pytest.MonkeyPatch) -> Callable[..., Any]:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        package = pytest.importorskip("extract_bench")
        from loguru import logger

    logger.disable("extract_bench")
    monkeypatch.setenv("OPENAI_API_BASE", server.url)
    monkeypatch.setenv("OPENAI_API_KEY", "none-needed")

    async def evaluate(case: Any) -> Any:
        config = package.StructuredEvaluatorConfig(metrics=[])
        try:
            return await package.StructuredEvaluator(config).evaluate_async(*case)
        finally:  # LiteLLM keeps clients, and each belongs to a loop
            await litellm().close_litellm_async_clients()
            litellm().in_memory_llm_clients_cache.flush_cache()

    def run(*case: Any) -> Any:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return asyncio.run(evaluate(case))

    return run


@pytest.mark.parametrize("differs", [True, False], ids=["", "gold = prediction"])
def test_extract_bench(differs, server, published, fields, timed, benchmark):
    schema, gold, predicted = document(fields)
    case = schema, gold, predicted if differs else dict(gold)
    name = label("extract-bench") + ("" if differs else ", gold = prediction")
    server.counts()
    found = timed(GROUP, name, lambda: published(*case), rounds=3, warm=1)
    requests, peak = server.counts()
    results = [one for ones in found["results"].values() for one in ones.values()]
    judged = [one for one in results if one.metric_id == "string_semantic"]
    assert len(judged) == fields
    benchmark.extra_info["work"] = (
        f"{fields:,} fields, {fields:,} requests each time, {peak} at once"
    )
    assert requests > 0
    assert requests % fields == 0
