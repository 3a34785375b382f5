"""Tables judged by a model: what it is asked, what its calls say, and what a failure does."""

import json
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path

import pytest

from extractbench_nb.construction.comparing import compare
from extractbench_nb.judges.client import BACKGROUND
from extractbench_nb.judges.llm import LLMJudge
from tests.llm_server import LLMServer, Reply, Request, answer, failure
from tests.waiting import PATIENCE

pytestmark = pytest.mark.skipif(find_spec("litellm") is None, reason="needs LiteLLM")

GOLD = "case,crime,note\nFirst case,bribery,x\nSecond case,theft,y\n"
ANSWER = "```csv\nCase No,crime,note\nFirst case,taking bribes,x\nThe second one,theft,y\n```"


@pytest.fixture(scope="module", autouse=True)
def no_thread_left() -> Iterator[None]:
    yield
    BACKGROUND.close()


@pytest.fixture
def server() -> Iterator[LLMServer]:
    with LLMServer(accept) as running:
        yield running


@pytest.fixture
def judge(server: LLMServer, tmp_path: Path) -> LLMJudge:
    cache = tmp_path / "answers"
    options = {"api_base": server.url, "retry_wait": 0.0, "max_attempts": 1, "timeout": PATIENCE}
    return LLMJudge("openai/test-model", cache=cache, **options)


def accept(request: Request) -> Reply:
    """Accept the two renamings, the paraphrase and the key that is described."""
    same = {("case", "Case No"), ("bribery", "taking bribes"), ("Second case", "The second one")}
    texts = tuple(json.loads(request.quoted[name]) for name in ("gold", "predicted"))
    return answer(float(texts in same), "as listed")


def test_columns_rows_and_cells_are_asked_about(server: LLMServer, judge: LLMJudge) -> None:
    found = compare(GOLD, ANSWER, keys="case", judge=judge)
    assert found.columns["rule"].tolist() == ["judge", "name", "name"]
    assert found.rows["rule"].tolist() == ["exact", "judge"]
    assert found.summary["cell_f1"] == 1.0
    calls = found.judge_calls
    assert set(calls["field"]) == {"[].column", "[].key", "[].crime"}
    assert found.summary["llm_calls"] == len(calls) == len(server.requests)
    assert found.cells.loc[0, "reasoning"] == "as listed"
    again = compare(GOLD, ANSWER, keys="case", judge=judge)
    assert len(server.requests) == len(calls)
    assert again.judge_calls["cached"].all()


def test_aoe_asks_about_keys_that_are_a_little_alike(server: LLMServer, judge: LLMJudge) -> None:
    answer_text = ANSWER.replace("Case No", "case")
    found = compare(GOLD, answer_text, keys="case", judge=judge, profile="aoe")
    assert found.rows["rule"].tolist() == ["exact", "judge"]
    assert found.summary["cell_f1"] == 1.0
    assert set(found.judge_calls["field"]) == {"[].key", "[].crime"}


@pytest.mark.parametrize("profile", ["strict", "aoe"])
def test_a_model_that_is_down_never_raises_a_score(
    server: LLMServer, judge: LLMJudge, profile: str
) -> None:
    text = ANSWER.replace("Case No", "case") if profile == "aoe" else ANSWER
    server.respond = lambda _: failure(500, "down")
    down = compare(GOLD, text, keys="case", judge=judge, profile=profile)
    server.respond = accept
    up = compare(GOLD, text, keys="case", judge=judge, profile=profile)
    assert down.summary["cell_f1"] <= up.summary["cell_f1"]
    assert "judge_failed" in set(down.warnings["kind"])
    assert down.judge_calls["error"].notna().any()
