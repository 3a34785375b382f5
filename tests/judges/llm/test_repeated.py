"""Asking one model several times: n answers, each kept for itself, and the vote over them."""

import pytest

from tests.judges.llm.conftest import MakeJudge, ask, fail
from tests.llm_server import LLMServer, answer, failure

SCHEMA = {"type": "object", "properties": {"a": {"type": "string"}, "b": {"type": "string"}}}
GOLD, PREDICTED = {"a": "x", "b": "y"}, {"a": "x1", "b": "y1"}


@pytest.mark.parametrize(
    "vote, score", [("median", 0.5), ("mean", 0.6), ("min", 0.1), ("max", 1.0)]
)
def test_the_vote_over_the_answers(
    vote: str, score: float, make: MakeJudge, server: LLMServer
) -> None:
    server.script(*map(answer, (1.0, 0.1, 0.5, 0.9, 0.5)))
    verdict = ask(make(n=5, vote=vote))
    assert verdict.score == pytest.approx(score)
    assert verdict.reason == "judged"
    assert sorted(call.score for call in verdict.calls if call.score) == [0.1, 0.5, 0.5, 0.9, 1.0]
    assert verdict.reasoning is not None
    assert verdict.reasoning.startswith(f"{vote} of answer 1 ")
    assert verdict.reasoning.count("said so") == 5
    assert len(server.requests) == 5
    assert len({request.text for request in server.requests}) == 1


def test_each_answer_is_kept_for_itself(make: MakeJudge, server: LLMServer) -> None:
    server.script(*map(answer, (0.1, 0.2, 0.3)))
    first = ask(make(n=3))
    second = ask(make(n=3))
    assert len(server.requests) == 3
    assert [c.score for c in second.calls] == [c.score for c in first.calls]
    assert [c.cached for c in second.calls] == [True] * 3
    assert second[:3] == first[:3]
    more = ask(make(n=5))  # three are there
    assert [c.cached for c in more.calls] == [True] * 3 + [False] * 2
    assert len(server.requests) == 5
    assert ask(make()).score == first.calls[0].score  # one answer is the first of several
    assert len(server.requests) == 5


def test_missing_answers(make: MakeJudge, server: LLMServer) -> None:
    server.script(answer(1.0), failure(400), answer(1.0))
    assert ask(make(n=3, max_concurrency=1)).score == 1.0
    server.script(answer(1.0), failure(400), answer(0.0))
    error = fail(make(n=3, max_concurrency=1), "c")
    assert error.reason == "bad_request"
    assert [call.error is None for call in error.calls].count(False) == 1
    assert len(error.calls) == 3
