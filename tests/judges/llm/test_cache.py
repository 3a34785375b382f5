import asyncio
import gc
import json
import os
import sqlite3
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest

from extractbench_nb.core.text.judging import Question
from extractbench_nb.errors import InputError, OutputError
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


def test_an_empty_cache_makes_no_file(cache: JudgeCache) -> None:
    assert cache.info()[1:] == (0, 0, 0.0)
    assert cache.clear() == 0
    assert not cache.path.parent.exists()


def test_what_is_put_is_there_and_the_first_stays(cache: JudgeCache) -> None:
    second = entry_of(ENTRY.request, "another answer", 1, 2, 0.5)
    assert cache.get(ENTRY.key) is None
    assert cache.store([ENTRY]) == 1
    assert cache.store([second]) == 0
    assert JudgeCache(cache.path.parent).get(ENTRY.key) == ENTRY
    assert cache.store([second], replace=True) == 1
    assert cache.get(ENTRY.key) == second
    assert cache.info()._replace(bytes=0) == (cache.path, 1, 0, 0.5)
    assert cache.info().bytes % 4096 == 0 < cache.info().bytes
    assert cache.clear() == 1
    assert cache.get(ENTRY.key) is None


def test_export_is_the_same_in_whatever_order_answers_came(tmp_path: Path) -> None:
    entries = [entry_of({"model": f"m{i}"}, f"{i}", i, None, i / 7) for i in range(20)]
    texts = []
    for order in (entries, entries[::-1]):
        cache = JudgeCache(tmp_path / str(len(texts)))
        for entry in order:
            cache.store([entry])
        assert cache.export(tmp_path / "out.jsonl") == 20
        texts.append((tmp_path / "out.jsonl").read_text("ascii"))
    assert texts[0] == texts[1]
    assert texts[0].splitlines() == sorted(
        texts[0].splitlines(), key=lambda x: json.loads(x)["key"]
    )

    other = JudgeCache(tmp_path / "other")
    other.store([entries[3]])
    assert other.import_(tmp_path / "out.jsonl") == 19
    assert other.import_(tmp_path / "out.jsonl") == 0
    assert [other.get(entry.key) for entry in entries] == entries
    other.export(tmp_path / "again.jsonl")
    assert (tmp_path / "again.jsonl").read_text() == texts[0]


GOOD_LINE = {
    "key": ENTRY.key, "request": ENTRY.request, "answer": "x",
    "prompt_tokens": 1, "completion_tokens": None, "cost_usd": 0.1,
}  # fmt: skip


@pytest.mark.parametrize(
    "line",
    [
        "{",
        "[]",
        "5",
        "{}",
        json.dumps(GOOD_LINE | {"key": request_key({})}),
        json.dumps(GOOD_LINE | {"request": {"model": "openai/other"}}),
        json.dumps(GOOD_LINE | {"answer": 5}),
        json.dumps(GOOD_LINE | {"prompt_tokens": -1}),
        json.dumps(GOOD_LINE | {"prompt_tokens": True}),
        json.dumps(GOOD_LINE | {"cost_usd": float("nan")}),
        json.dumps(GOOD_LINE | {"more": 1}),
        "[" * 100_000,
    ],
)
def test_a_file_of_something_else_adds_nothing(
    cache: JudgeCache, tmp_path: Path, line: str
) -> None:
    path = tmp_path / "in.jsonl"
    path.write_text(json.dumps(GOOD_LINE) + "\n" + line + "\n")
    with pytest.raises(InputError, match=r"line 2 of .*in\.jsonl"):
        cache.import_(path)
    assert cache.info().answers == 0


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


def test_the_default_folder(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    assert judge_cache.path.parent == tmp_path / "default-cache"
    monkeypatch.setenv("EXTRACTBENCH_JUDGE_CACHE", str(tmp_path / "elsewhere"))
    assert judge_cache.path.parent == tmp_path / "elsewhere"
    monkeypatch.delenv("EXTRACTBENCH_JUDGE_CACHE")
    assert "extractbench-nb" in judge_cache.path.parts
    assert JudgeCache("relative").path.is_absolute()
    assert repr(JudgeCache()) == "JudgeCache(folder=None)"
    assert eval(repr(JudgeCache("a'b"))) == JudgeCache("a'b")  # noqa: S307 - our own repr
    assert JudgeCache("a") != JudgeCache("b")


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
    asyncio.run(make().ask(Question("a", "b"), sample=1))
    assert len(server.requests) == 9


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


# --- files that cannot be written, or are damaged; other processes ------------------------------

READ_ONLY = """
import asyncio, os, sys, warnings
from extractbench_nb.judges import LLM, LLMJudge, Question

folder, other, url = sys.argv[1:]

def judge_with(cache):
    return LLMJudge(LLM("openai/test-model", api_base=url, cache=cache, retry_wait=0))

asyncio.run(judge_with(other).ask(Question("warm", "up")))  # imports what nobody may read
os.chdir("/")  # where it may look for a .env
os.seteuid(65534)
judge = judge_with(folder)
judge.check()
with warnings.catch_warnings(record=True) as told:
    warnings.simplefilter("always")
    found = [asyncio.run(judge.ask(Question(gold, "b"))) for gold in ("a", "new")]
print([verdict.calls[0].cached for verdict in found], judge.cache.info().answers)
print(*{str(one.message).partition(": ")[0] for one in told})
"""


@pytest.mark.skipif(not hasattr(os, "getuid") or os.getuid() != 0, reason="needs another user")
def test_a_cache_that_cannot_be_written_is_read(
    make: MakeJudge, server: LLMServer, tmp_path: Path
) -> None:
    with TemporaryDirectory() as folder:
        judge = make(cache=folder)
        ask(judge)
        del judge
        gc.collect()
        Path(folder).chmod(0o555)
        with loaded_script(READ_ONLY, folder, str(tmp_path / "other"), server.url) as script:
            assert script.result() == "[True, False] 1\nanswers are not cached\n"
    assert len(server.requests) == 3


@pytest.mark.parametrize("content", [b"no database" * 1000, b"SQLite format 3\0" + b"\xff" * 9000])
def test_clearing_a_damaged_cache_makes_it_usable(tmp_path: Path, content: bytes) -> None:
    cache = JudgeCache(tmp_path)
    cache.path.write_bytes(content)
    with pytest.raises(OutputError, match=r"cannot be used: .*; clear\(\) of this cache deletes"):
        cache.info()
    assert cache.clear() == 0
    assert not cache.path.exists()
    assert cache.store([ENTRY]) == 1
    database = sqlite3.connect(cache.path)
    database.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    database.close()
    kept = bytearray(cache.path.read_bytes())
    kept[4096:] = b"\xff" * (len(kept) - 4096)  # its table is damaged while it is open
    cache.path.write_bytes(kept)
    assert cache.clear() in (0, 1)
    assert cache.get(ENTRY.key) is None


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
    assert JudgeCache(tmp_path).info().answers == 30 <= len(server.requests) <= 60
