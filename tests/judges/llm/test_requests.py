"""What is sent and what comes back: parameters, costs, odd values, several answers."""

import json

import pytest

from tests.judges.llm.conftest import MakeJudge, ask, fail
from tests.llm_server import (
    MARK,
    LLMServer,
    Reply,
    answer,
    failure,
)


def test_models_that_can_are_held_to_the_schema(make: MakeJudge, server: LLMServer) -> None:
    ask(make("openai/gpt-4o-mini"))
    form = server.requests[0].body["response_format"]
    assert form["type"] == "json_schema"
    assert form["json_schema"]["strict"] is True
    assert form["json_schema"]["schema"]["required"] == ["mark_code", "reasoning", "score"]
    ask(make())
    assert "response_format" not in server.requests[1].body


def test_models_without_temperature_get_none(make: MakeJudge, server: LLMServer) -> None:
    ask(make("openai/o3-mini"))
    assert "temperature" not in server.requests[0].body


def test_what_it_cost(make: MakeJudge) -> None:
    judge = make("openai/gpt-4o-mini")
    first, again, unknown = ask(judge), ask(judge), ask(make())
    assert (first.calls[0].cost_usd, again.calls[0].cost_usd) == (2.1e-05, 0.0)
    assert unknown.calls[0].cost_usd is None
    assert judge.model.spent_usd == 2.1e-05
    assert sum(entry.cost_usd or 0 for entry in judge.model.cache.entries()) == 2.1e-05


def test_a_name_that_is_like_a_known_one_has_no_price(make: MakeJudge) -> None:
    """LiteLLM takes such a model for one of the family, at no cost at all."""
    judge = make("openai/my-own-claude-opus-4.5")
    assert ask(judge).calls[0].cost_usd is None
    assert judge.model.spent_usd == 0


def test_hostile_values_arrive(make: MakeJudge, server: LLMServer) -> None:
    values = [
        "\ud800",
        "\x00",
        "<script>alert(1)</script>",
        float("nan"),
        {"\udfff": [1, {}]},
        10**5000,
    ]
    for value in values:
        assert ask(make(), value, "x").score == 0.0
    assert len(server.requests) == len(values)


def test_values_nested_too_deep_are_no_verdict(make: MakeJudge, server: LLMServer) -> None:
    deep: list[object] = []
    for _ in range(100_000):
        deep = [deep]
    assert fail(make(), deep, "x").reason == "too_deep"
    assert not server.requests


def test_a_limit_that_cuts_answers_off_is_named(make: MakeJudge, server: LLMServer) -> None:
    server.script(*[Reply("", finish_reason="length")] * 2)
    assert "max_tokens=50" in str(fail(make(max_tokens=50)))


def test_a_refused_key_is_shown_once_only_until_the_next_check(
    make: MakeJudge, server: LLMServer
) -> None:
    server.script(failure(401))
    judge = make()
    assert fail(judge).reason == "bad_key"
    assert fail(judge, "other").calls[0].attempts == 0
    assert len(server.requests) == 1
    judge.check()
    assert ask(judge, "same", "same").score == 1.0


def test_the_answer_as_it_came_is_in_the_call(make: MakeJudge, server: LLMServer) -> None:
    text = json.dumps({"mark_code": MARK, "score": 1, "reasoning": "\ud800 \x00 é"})
    server.script(Reply(text))
    judge = make()
    first, again = ask(judge), ask(judge)
    assert first.reasoning == again.reasoning == "\\ud800 \x00 é"  # frames can be written
    sent = text.replace(MARK, server.requests[0].mark)
    assert first.calls[0].answer == again.calls[0].answer == sent
    assert len(server.requests) == 1


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
