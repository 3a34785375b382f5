"""A server on 127.0.0.1 and judges that ask it; no key, no cache and no .env of the user's."""

import asyncio
import os
from collections.abc import Callable, Iterator
from concurrent.futures import Executor, ProcessPoolExecutor
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest

from extractbench_nb.core.text.judging import JudgeError, Question, Verdict
from extractbench_nb.judges import LLM, LLMJudge
from extractbench_nb.judges.client import BACKGROUND
from extractbench_nb.judges.environment import KEYS_OF_FILES
from tests.llm_server import LLMServer, hanging_ends, truthful
from tests.loaded import loaded_context
from tests.waiting import PATIENCE

# Not imported here: it would look for its price list.
collect_ignore_glob = [] if find_spec("litellm") else ["test_*.py"]

MakeJudge = Callable[..., LLMJudge]
#: Options of a judge; the others are of its model.
OWN = ("n", "vote", "additional_instructions")


@pytest.fixture(autouse=True)
def away_from_home(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    for name in list(os.environ):
        if name.endswith(("_API_KEY", "_API_BASE", "_BASE_URL")) or name.startswith(
            ("AWS_", "AZURE_", "GOOGLE_", "VERTEX", "DEFAULT_LLM")
        ):
            monkeypatch.delenv(name)
    monkeypatch.setenv("EXTRACTBENCH_JUDGE_CACHE", str(tmp_path / "default-cache"))
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.chdir(tmp_path)
    KEYS_OF_FILES.clear()


@pytest.fixture(scope="module", autouse=True)
def no_thread_left() -> Iterator[None]:
    """Close LiteLLM's clients: each server has one, and of many it forgets some unclosed."""
    yield
    BACKGROUND.close()


@pytest.fixture(scope="session")
def pool() -> Iterator[Executor]:
    """Two worker processes for all tests."""
    with ProcessPoolExecutor(2, mp_context=loaded_context()) as started:
        yield started


@pytest.fixture
def server() -> Iterator[LLMServer]:
    with LLMServer(truthful) as running:
        yield running


@pytest.fixture
def make(server: LLMServer, tmp_path: Path) -> Iterator[MakeJudge]:
    def judge(model: str = "openai/test-model", **options: Any) -> LLMJudge:
        usual = {"api_base": server.url, "retry_wait": 0.0, "cache": tmp_path / "answers"}
        usual["timeout"] = PATIENCE
        options = usual | options
        own = {name: options.pop(name) for name in OWN if name in options}
        return LLMJudge(LLM(model, **options), **own)

    with hanging_ends(server):
        yield judge


def ask(judge: LLMJudge, gold: Any = "a", predicted: Any = "b", **more: Any) -> Verdict:
    return asyncio.run(judge.ask(Question(gold, predicted, **more)))


def fail(judge: LLMJudge, gold: Any = "a", predicted: Any = "b", **more: Any) -> JudgeError:
    with pytest.raises(JudgeError) as caught:
        ask(judge, gold, predicted, **more)
    return caught.value
