"""The cache of answers: what is kept, what is another question, other processes, damaged files."""

import sqlite3
from pathlib import Path
from typing import Any

import pytest

from extractbench_nb.errors import OutputError
from extractbench_nb.judges.cache import Entry, JudgeCache, judge_cache, request_key
from tests.judges.llm.conftest import MakeJudge, ask
from tests.llm_server import LLMServer, answer
from tests.loaded import loaded_script


def entry_of(request: dict[str, Any], answer: str, *counts: Any) -> Entry:
    return Entry(request_key(request), request, answer, *counts)


ENTRY = entry_of(
    {"model": "openai/x", "messages": [{"role": "user", "content": "é \\ud800"}]}, "\ud800"
)


@pytest.fixture
def cache(tmp_path: Path) -> JudgeCache:
    return JudgeCache(tmp_path / "here" / "answers")


def test_what_is_stored_stays(cache: JudgeCache) -> None:
    assert cache.entries() == []
    cache.clear()
    assert not cache.path.parent.exists()
    second = ENTRY._replace(answer="another answer", prompt_tokens=1, cost_usd=0.5)
    assert cache.get(ENTRY.key) is None
    assert cache.store(ENTRY)
    assert not cache.store(second)
    assert JudgeCache(cache.path.parent).get(ENTRY.key) == ENTRY
    assert cache.store(second, replace=True)
    assert cache.entries() == [second]
    cache.clear()
    assert cache.get(ENTRY.key) is None


def test_the_folder(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    assert judge_cache.path.parent == tmp_path / "default-cache"
    monkeypatch.setenv("EXTRACTBENCH_JUDGE_CACHE", str(tmp_path / "elsewhere"))
    assert judge_cache.path.parent == tmp_path / "elsewhere"
    monkeypatch.delenv("EXTRACTBENCH_JUDGE_CACHE")
    assert "extractbench-nb" in judge_cache.path.parts
    assert JudgeCache("relative").path.is_absolute()
    assert JudgeCache("a") != JudgeCache("b")


def test_what_is_no_cache_is_told_before_anything_is_asked(
    make: MakeJudge, server: LLMServer, tmp_path: Path
) -> None:
    folder = tmp_path / "broken"
    folder.mkdir()
    JudgeCache(folder).path.write_bytes(b"no database" * 1000)
    with pytest.raises(OutputError, match=r"broken.*cannot be used"):
        make(cache=folder).check()
    (tmp_path / "file").touch()
    with pytest.raises(OutputError, match="is a file, not a folder"):
        make(cache=tmp_path / "file").check()
    assert not server.requests


def test_the_second_question_is_free(make: MakeJudge, server: LLMServer) -> None:
    first, again = ask(make()), ask(make(timeout=900, max_attempts=1, max_concurrency=1))
    assert first[:3] == again[:3]
    assert len(server.requests) == 1
    (call,) = again.calls
    assert (call.cached, call.attempts, call.cost_usd, call.prompt_tokens) == (True, 0, 0.0, 0)
    assert (call.score, call.answer) == (first.score, first.calls[0].answer)


def test_what_makes_another_question(make: MakeJudge, server: LLMServer) -> None:
    ask(make())
    ask(make("openai/other-model"))
    ask(make(temperature=0.5))
    ask(make(max_tokens=5))
    ask(make(additional_instructions="Heed the case."))
    ask(make(), field="name")
    ask(make(), metric="string_llm")
    ask(make(), "b", "a")
    assert len(server.requests) == 8


def test_an_answer_that_cannot_be_kept_holds_all_the_same(
    make: MakeJudge, monkeypatch: pytest.MonkeyPatch
) -> None:
    judge = make()
    judge.check()

    def full(*_: object, **__: object) -> None:
        raise OutputError("database or disk is full")

    monkeypatch.setattr(JudgeCache, "store", full)
    with pytest.warns(RuntimeWarning, match="answers are not cached: .*disk is full"):
        assert ask(judge, "x", "x").score == 1.0


DAMAGE = {  # of the row with a key
    "cut answer": "UPDATE answers SET answer = '{cut' WHERE key = ?",
    "no verdict": "UPDATE answers SET answer = '\"the same\"' WHERE key = ?",
    "another request": "UPDATE answers SET request = replace(request, 'openai', 'o') WHERE key = ?",
}


@pytest.mark.parametrize("damage", DAMAGE.values(), ids=DAMAGE)
def test_a_damaged_answer_is_asked_for_again(
    make: MakeJudge, server: LLMServer, damage: str
) -> None:
    judge = make()
    first = ask(judge)
    cache = judge.model.cache
    with sqlite3.connect(cache.path) as database:
        database.execute(damage, [cache.entries()[0].key])
    database.close()
    assert ask(judge)[:3] == first[:3]
    assert ask(judge)[:3] == first[:3]
    assert len(server.requests) == 2


ASKING = """
import asyncio, sys
from extractbench_nb.judges import LLM, LLMJudge, Question

url, folder = sys.argv[1:]
judge = LLMJudge(LLM("openai/test-model", api_base=url, cache=folder, max_concurrency=4))
judge.check()

async def main():
    asked = [judge.ask(Question(f"gold {i}", "b")) for i in range(30)]
    return await asyncio.gather(*asked)

print("ready", flush=True)
sys.stdin.readline()
print([verdict.score for verdict in asyncio.run(main())])
"""


def test_two_processes_get_the_same_answers(server: LLMServer, tmp_path: Path) -> None:
    """Both may ask a question at the same time; the answer that is stored first holds for both."""
    numbers = iter(range(100))
    server.respond = lambda _: answer(next(numbers) / 100)
    server.latency = 0.05
    with (
        loaded_script(ASKING, server.url, str(tmp_path)) as one,
        loaded_script(ASKING, server.url, str(tmp_path)) as other,
    ):
        both = one, other
        for script in both:
            assert script.stdout.readline() == "ready\n"
        for script in both:
            script.stdin.write("\n")
            script.stdin.flush()
        first, second = (script.result() for script in both)
    assert first == second
    assert len(JudgeCache(tmp_path).entries()) == 30 <= len(server.requests) <= 60
