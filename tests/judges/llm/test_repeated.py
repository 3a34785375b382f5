"""Asking one model several times: n answers, each kept for itself, and the vote over them."""

import asyncio
import copy
import pickle
from typing import Any

import pytest

import extractbench_nb as xb
from extractbench_nb.judges.base import Question
from extractbench_nb.judges.llm import LLMJudge
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


def test_one_sample_may_be_asked_for(make: MakeJudge, server: LLMServer) -> None:
    judge = make(n=3)
    verdict = asyncio.run(judge.ask(Question("a", "b"), sample=1))
    assert len(server.requests) == len(verdict.calls) == 1
    whole = ask(judge)
    assert [call.cached for call in whole.calls] == [False, True, False]


def test_they_are_asked_at_once(make: MakeJudge, server: LLMServer) -> None:
    server.hold(6)
    ask(make(n=6, max_concurrency=6))
    assert server.peak == 6


def test_one_answer_is_as_before(make: MakeJudge, server: LLMServer) -> None:
    server.respond = lambda _: answer(0.5, "half")
    assert ask(make(n=1))[:3] == (0.5, "judged", "half")


def test_missing_answers(make: MakeJudge, server: LLMServer) -> None:
    server.script(answer(1.0), failure(400), answer(1.0))
    assert ask(make(n=3, max_concurrency=1)).score == 1.0
    server.script(answer(1.0), failure(400), answer(0.0))
    error = fail(make(n=3, max_concurrency=1), "c")
    assert error.reason == "bad_request"
    assert [call.error is None for call in error.calls].count(False) == 1
    assert len(error.calls) == 3


def test_the_mark_of_the_field_decides_what_is_missing(make: MakeJudge, server: LLMServer) -> None:
    server.script(answer(0.6), failure(400), answer(0.6))
    assert ask(make(n=3, vote="mean"), params={"pass_threshold": 0.39}).score == pytest.approx(0.4)
    server.script(failure(400))
    assert fail(make(n=3, vote="mean"), params={"pass_threshold": 0.5}).calls  # 0.4 or 0.73


def test_frames(make: MakeJudge, server: LLMServer) -> None:
    first = xb.evaluate(SCHEMA, GOLD, PREDICTED, judge=make(n=3))
    assert first.judge_calls["path"].tolist() == ["$.a"] * 3 + ["$.b"] * 3
    assert first.summary["llm_calls"] == len(server.requests) == 6
    second = xb.evaluate(SCHEMA, GOLD, PREDICTED, judge=make(n=3))
    assert len(server.requests) == 6
    assert second.fields.equals(first.fields)


@pytest.mark.parametrize("n", [0, -1, 101, 2.0, True, None, "5"])
def test_how_many_is_checked(n: Any) -> None:
    with pytest.raises(xb.InputError, match=r"n is .*expected a whole number from 1 to 100"):
        LLMJudge("openai/x", n=n)


@pytest.mark.parametrize("vote", ["mode", "", None, ["median"]])
def test_the_vote_is_checked(vote: Any) -> None:
    with pytest.raises(xb.InputError, match=r"vote is .*expected one of 'median', 'mean', 'min'"):
        LLMJudge("openai/x", vote=vote)


def test_options_are_part_of_the_judge() -> None:
    judge = LLMJudge("openai/x", n=5, vote="mean")
    assert repr(judge) == "LLMJudge('openai/x', n=5, vote='mean')"
    assert judge.fingerprint["n"] == 5
    for other in (copy.copy(judge), pickle.loads(pickle.dumps(judge))):  # noqa: S301 - our own
        assert other == judge
        assert other.settings_for() == judge.settings_for()
    assert judge != LLMJudge("openai/x", n=5)
    assert LLMJudge("openai/x", n=100).settings_for().n == 100


def test_params_of_a_field_do_not_override_them(make: MakeJudge, server: LLMServer) -> None:
    assert len(ask(make(n=2), params={"n": 7, "vote": "max"}).calls) == 2


def test_what_cannot_be_asked_is_an_error_not_a_missing_answer(make: MakeJudge) -> None:
    with pytest.raises(xb.ConfigError, match="temperature"):
        ask(make(n=3), params={"temperature": -1})
