"""No judge spends more than its budget, whatever the tokenizer of the model makes of a text."""

import re
from collections.abc import Callable
from pathlib import Path

import pytest

import extractbench_nb as xb
from extractbench_nb.judges import LLMJudge
from extractbench_nb.judges.llm import most_tokens
from extractbench_nb.support.token_counts import count_tokens
from tests.judges.llm.conftest import MakeJudge, ask, fail
from tests.llm_server import LLMServer, Reply, Request, answer

PRICED, LONGEST = "openai/gpt-4o-mini", 100
PROSE = "The undersigned acknowledges receipt of the aforementioned documentation. " * 300
AMOUNTS = "\n".join(f"{i * 7919 % 100_000:,}.{i % 100:02} on 2{i % 1000:03}" for i in range(1_000))


def small_vocabulary(text: str) -> int:
    """Count as a tokenizer would whose words are nearly half as long."""
    return int(1.9 * count_tokens(text))


def single_digits(text: str) -> int:
    """Count as a tokenizer that reads digits one by one, and marks too."""
    return len(re.findall(r"\d|[^\W\d]+|[^\w\s]|\n", text))


@pytest.mark.parametrize(
    "text, tokens_of",
    [(PROSE, small_vocabulary), (AMOUNTS, single_digits), ("2024 1999 " * 2_000, single_digits)],
    ids=["prose", "amounts", "years"],
)
def test_a_request_that_may_exceed_the_budget_is_not_made(
    text: str, tokens_of: Callable[[str], int], make: MakeJudge, server: LLMServer
) -> None:
    def respond(request: Request) -> Reply:
        tokens = tokens_of(request.text), LONGEST
        return Reply(answer(1.0).content, tokens=tokens)

    server.respond = respond
    limits = {"max_tokens": LONGEST, "cache": False}
    judge = make(PRICED, **limits)
    ask(judge, text, "x")
    cost = judge.model.spent_usd
    assert cost > 0
    poor, rich = (make(PRICED, budget_usd=cost * share, **limits) for share in (0.999, 2.5))
    assert fail(poor, text, "x").reason == "budget"
    assert (poor.model.spent_usd, len(server.requests)) == (0.0, 1)
    assert ask(rich, text, "x").score == 1.0
    assert rich.model.spent_usd == cost


@pytest.mark.parametrize(
    "text, most",
    [
        ("", 0),
        ("plain words and more plain words", 2 * 6),
        ("2024 2025 2026 2027 2028", 24),
        ("abc", 2),
        ("a", 1),
    ],
)
def test_most_tokens(text: str, most: int) -> None:
    assert most_tokens(text) == most


def test_all_uses_of_one_model_share_its_budget(
    make: MakeJudge, server: LLMServer, tmp_path: Path
) -> None:
    server.respond = lambda _: answer(1.0)
    model = make(PRICED, max_tokens=LONGEST, cache=False).model
    ask(LLMJudge(model), "a", "b")
    cost = model.spent_usd
    ask(LLMJudge(model, additional_instructions="Heed."), "a", "b")
    assert model.spent_usd == pytest.approx(2 * cost)
    dataset = xb.load_dataset("sample")
    options = {"dataset": dataset, "folder": tmp_path / "run", "progress": False}
    one = list(dataset.listing["document"][:1])
    assert xb.extract(one, model=model, **options).unasked == []
    assert model.spent_usd == pytest.approx(3 * cost)
    with_limit = make(PRICED, max_tokens=LONGEST, cache=False, budget_usd=cost / 1e3).model
    assert fail(LLMJudge(with_limit), "a", "b").reason == "budget"
    options["folder"] = tmp_path / "another"
    assert xb.extract(one, model=with_limit, **options).unasked == one
    assert with_limit.spent_usd == 0.0
