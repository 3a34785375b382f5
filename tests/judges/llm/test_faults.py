"""Every fault of a server: what the judge says, and how many requests it made."""

import asyncio
import json
from dataclasses import replace

import pytest

import extractbench_nb as xb
from extractbench_nb.judges.base import JudgeError, Question
from tests.judges.llm.conftest import MakeJudge, ask, fail
from tests.llm_server import (
    CUT,
    EMPTY,
    HANG,
    UNTIL_IT_HANGS,
    LLMServer,
    Reply,
    answer,
    failure,
)

GOOD = answer(0.25, "because")
BODY = '{"score": 0.25, "reasoning": "because"}'
PASSING = {
    "429": failure(429),
    "429 with Retry-After": failure(429, Retry_After="0.01"),
    "408": failure(408),
    "500": failure(500),
    "502": failure(502),
    "503": failure(503),
    "529": failure(529),
    "cut": CUT,
    "hang": HANG,
    "no completion": Reply(body={"nonsense": 1}),
    "no choices": Reply(body={"id": "x", "object": "chat.completion", "choices": []}),
}
LASTING = {
    "400": (failure(400), "bad_request"),
    "401": (failure(401), "bad_key"),
    "403": (failure(403), "forbidden"),
    "404": (failure(404), "not_found"),
    "422": (failure(422), "bad_request"),
    "context": (
        replace(
            failure(400, "This model's maximum context length is 10 tokens"),
            error_code="context_length_exceeded",
        ),
        "context_window",
    ),
    "quota": (replace(failure(429), error_code="insufficient_quota"), "quota"),
    "patience": (failure(429, Retry_After="100000"), "rate_limit"),
}
EXHAUSTED = {
    "429": (failure(429), "rate_limit"),
    "500": (failure(500), "server_error"),
    "cut": (CUT, "connection"),
    "hang": (HANG, "timeout"),
}
READABLE = {
    "plain": BODY,
    "fenced": f"```json\n{BODY}\n```",
    "trailing comma": BODY.replace("}", ",}"),
    "in prose": f"They differ, so {{I}} say:\n{BODY}\nThat's all.",
    "single quotes": "{'score': 0.25, 'reasoning': 'because'}",
}
UNREADABLE = {
    "empty": (EMPTY, "empty"),
    "null": (Reply(None), "empty"),
    "blank": (Reply("  \n"), "empty"),
    "prose": (Reply("They are the same."), "unparsable"),
    "no score": (Reply('{"verdict": "same"}'), "unparsable"),
    "score above 1": (Reply('{"score": 7, "reasoning": "x"}'), "unparsable"),
    "score of true": (Reply('{"score": true, "reasoning": "x"}'), "unparsable"),
    "cut off": (Reply(BODY[:-5], finish_reason="length"), "unparsable"),
}


@pytest.mark.parametrize("text", READABLE.values(), ids=READABLE)
def test_wrapped_answers_are_read_at_once(make: MakeJudge, server: LLMServer, text: str) -> None:
    server.script(Reply(text))
    verdict = ask(make())
    assert (verdict.score, verdict.reasoning, verdict.reason) == (0.25, "because", "judged")
    assert len(server.requests) == 1
    (call,) = verdict.calls
    assert (call.attempts, call.cached, call.answer, call.error) == (1, False, text, None)
    assert (call.prompt_tokens, call.completion_tokens, call.score) == (100, 10, 0.25)


@pytest.mark.parametrize("fault", PASSING.values(), ids=PASSING)
def test_passing_trouble_is_tried_again(make: MakeJudge, server: LLMServer, fault: Reply) -> None:
    server.script(fault, fault, GOOD)
    verdict = ask(make(timeout=UNTIL_IT_HANGS))
    assert verdict.score == 0.25
    assert len(server.requests) == verdict.calls[0].attempts == 3
    assert verdict.calls[0].prompt_tokens == 100


@pytest.mark.parametrize("fault, reason", LASTING.values(), ids=LASTING)
def test_lasting_trouble_is_not(
    make: MakeJudge, server: LLMServer, fault: Reply, reason: str
) -> None:
    server.script(fault)
    error = fail(make())
    assert (error.reason, len(server.requests)) == (reason, 1)
    (call,) = error.calls
    assert (call.attempts, call.score, call.answer) == (1, None, None)
    assert call.error is not None
    assert reason in call.error


@pytest.mark.parametrize("fault, reason", EXHAUSTED.values(), ids=EXHAUSTED)
def test_attempts_come_to_an_end(
    make: MakeJudge, server: LLMServer, fault: Reply, reason: str
) -> None:
    server.script(*[fault] * 9)
    error = fail(make(max_attempts=3, timeout=UNTIL_IT_HANGS))
    assert (error.reason, len(server.requests), error.calls[0].attempts) == (reason, 3, 3)
    assert "after 3 requests" in str(error)


@pytest.mark.parametrize("bad, reason", UNREADABLE.values(), ids=UNREADABLE)
def test_an_unreadable_answer_is_asked_for_once_more(
    make: MakeJudge, server: LLMServer, bad: Reply, reason: str
) -> None:
    server.script(bad, GOOD)
    verdict = ask(make())
    assert (verdict.score, len(server.requests)) == (0.25, 2)
    assert verdict.calls[0].prompt_tokens == 200
    assert "cannot be used" in server.requests[1].prompt
    server.forget()

    server.script(bad, bad, GOOD)
    error = fail(make(), "other")
    assert (error.reason, len(server.requests)) == (reason, 2)
    assert error.calls[0].prompt_tokens == 200


def test_a_limit_that_cuts_answers_off_is_named(make: MakeJudge, server: LLMServer) -> None:
    server.script(*[Reply("", finish_reason="length")] * 2)
    assert "max_tokens=50" in str(fail(make(max_tokens=50)))


def test_trouble_during_the_second_question(make: MakeJudge, server: LLMServer) -> None:
    server.script(failure(500), EMPTY, failure(429), GOOD)
    verdict = ask(make())
    assert (verdict.score, verdict.calls[0].attempts, len(server.requests)) == (0.25, 4, 4)


def test_a_server_that_is_not_there(make: MakeJudge) -> None:
    error = fail(make(api_base="http://127.0.0.1:9/v1", max_attempts=2))
    assert (error.reason, error.calls[0].attempts) == ("connection", 2)


def test_a_refused_key_is_shown_once_only_until_the_next_check(
    make: MakeJudge, server: LLMServer
) -> None:
    server.script(failure(401))
    judge = make()
    assert "the key in" in str(fail(judge))
    assert fail(judge, "other").calls[0].attempts == 0
    assert len(server.requests) == 1
    judge.check()
    assert ask(judge, "same", "same").score == 1.0


def test_failures_are_not_kept(make: MakeJudge, server: LLMServer) -> None:
    judge = make(max_attempts=1)
    server.script(failure(500), EMPTY, EMPTY)
    assert [fail(judge).reason, fail(judge).reason] == ["server_error", "empty"]
    assert judge.cache is not None
    assert judge.cache.info().answers == 0
    assert ask(judge).score == 0.0


def test_a_budget_stops_the_asking(make: MakeJudge, server: LLMServer) -> None:
    server.respond = lambda _: replace(answer(1.0), tokens=(10, 100_000))  # 0.06 US dollars
    judge = make("openai/gpt-4o-mini", budget_usd=0.2, max_concurrency=1, max_tokens=100_000)
    judge.check()

    async def many() -> list[object]:
        asked = [judge.ask(Question(f"{i}", "b")) for i in range(10)]
        return list(await asyncio.gather(*asked, return_exceptions=True))

    found = asyncio.run(many())
    refused = [one for one in found if isinstance(one, JudgeError)]
    assert (len(server.requests), len(refused)) == (3, 7)
    assert {error.reason for error in refused} == {"budget"}
    assert {error.calls[0].attempts for error in refused} == {0}
    assert judge.spent_usd == pytest.approx(0.18, rel=1e-3)


def test_the_frames_say_so(make: MakeJudge, server: LLMServer) -> None:
    names = ["right", "wrong", "down", "mute"]
    schema = {"type": "object", "properties": {name: {"type": "string"} for name in names}}
    gold = {name: f"{name} gold" for name in names}

    def respond(request: object) -> Reply:
        text = str(getattr(request, "text", ""))
        if '"down gold"' in text:
            return failure(500)
        return EMPTY if '"mute gold"' in text else answer(float('"right gold"' in text), "words")

    server.respond = respond
    predicted = dict.fromkeys(names, "something")
    result = xb.evaluate(schema, gold, predicted, judge=make(max_attempts=3))
    rows = result.fields.set_index("field")
    assert rows.outcome.to_dict() == {
        "right": "correct",
        "wrong": "incorrect",
        "down": "judge_error",
        "mute": "judge_error",
    }
    assert rows.score.isna().sum() == 2
    assert rows.reasoning["right"] == "words"
    assert "server_error" in rows.reasoning["down"]
    assert len(server.requests) == 1 + 1 + 3 + 2
    summary = result.summary
    assert (summary.pass_rate, summary.pass_rate_judged, summary.judged) == (0.25, 0.5, 2)


def test_the_answer_as_it_came_is_in_the_call(make: MakeJudge, server: LLMServer) -> None:
    text = json.dumps({"score": 1, "reasoning": "\ud800 \x00 é"})
    server.script(Reply(text))
    judge = make()
    first, again = ask(judge), ask(judge)
    assert first.reasoning == again.reasoning == "\\ud800 \x00 é"  # frames can be written
    assert first.calls[0].answer == again.calls[0].answer == text
    assert len(server.requests) == 1
