"""No judge spends more than its budget, whatever the tokenizer of the model makes of a text."""

import re
from collections.abc import Callable

import pytest

from extractbench_nb.judges.calls import most_tokens
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
    cost = judge.spent_usd
    assert cost > 0
    poor, rich = (make(PRICED, budget_usd=cost * share, **limits) for share in (0.999, 2.5))
    assert fail(poor, text, "x").reason == "budget"
    assert (poor.spent_usd, len(server.requests)) == (0.0, 1)
    assert ask(rich, text, "x").score == 1.0
    assert rich.spent_usd == cost


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
