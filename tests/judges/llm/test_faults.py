"""Every fault of a server: what the judge says, and how many requests it made."""

import json

from tests.judges.llm.conftest import MakeJudge, ask, fail
from tests.llm_server import (
    MARK,
    LLMServer,
    Reply,
    failure,
)


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
