"""Evaluations with a model as judge: what is asked, what the frames say, what a failure does."""

import copy
import json
from dataclasses import replace
from typing import Any

import pandas as pd
import pytest

import extractbench_nb as xb
from tests.judges.llm.conftest import MakeJudge
from tests.llm_server import (
    CUT,
    EMPTY,
    HANG,
    MARK,
    UNTIL_IT_HANGS,
    LLMServer,
    Reply,
    answer,
    failure,
)

SCHEMA: dict[str, Any] = {
    "type": "object",
    "properties": {
        "seller": {
            "type": "string",
            "description": "Who sells, as the contract names them",
            "evaluation_config": {
                "metric_id": "string_semantic",
                "params": {"additional_instructions": "Legal forms matter."},
            },
        },
        "total": {"type": "number"},
        "parties": {
            "type": "array",
            "items": {
                "type": "object",
                "properties": {"name": {"type": "string"}, "share": {"type": "integer"}},
            },
        },
    },
}
GOLD = {
    "seller": "ACME",
    "total": 5,
    "parties": [{"name": "Ann", "share": 1}, {"name": "Bob", "share": 2}],
}
PREDICTED = {
    "seller": "Acme AG",
    "total": 5,
    "parties": [{"name": "ANN", "share": 1}, {"name": "BOB", "share": 2}],
}


def run(judge: Any, **changes: Any) -> xb.core.Evaluation:
    return xb.evaluate(SCHEMA, GOLD, PREDICTED | changes, judge=judge)


def test_each_call_is_a_row(make: MakeJudge, server: LLMServer) -> None:
    ev = run(make())
    calls = ev.judge_calls
    assert calls["path"].tolist() == ["$.seller", "$.parties[0].name", "$.parties[1].name"]
    assert calls["field"].tolist() == ["seller", "parties[].name", "parties[].name"]
    assert set(calls["model"]) == {"openai/test-model"}
    assert calls["score"].tolist() == [0.0, 1.0, 1.0]
    assert calls["attempts"].sum() == len(server.requests) == 3
    assert calls["prompt_tokens"].tolist() == [100, 100, 100]
    assert ev.summary["llm_calls"] == 3
    assert ev.fields.set_index("path").loc["$.seller", "outcome"] == "incorrect"
    described = xb.core.Evaluation.columns().query("frame == 'judge_calls'")
    assert described["column"].tolist() == list(calls.columns)


def test_a_model_is_named_as_a_text(server: LLMServer, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-test")
    monkeypatch.setenv("OPENAI_API_BASE", server.url)
    server.respond = lambda _: answer(0.9)
    ev = run("openai/test-model")
    assert ev.meta["judge"] == "openai/test-model"
    assert ev.fields.set_index("path").loc["$.seller", "score"] == 0.9


def test_a_field_may_name_another_model(make: MakeJudge, server: LLMServer) -> None:
    schema = copy.deepcopy(SCHEMA)
    schema["properties"]["seller"]["evaluation_config"]["params"]["model"] = "openai/other-model"
    ev = xb.evaluate(schema, GOLD, PREDICTED, judge=make())
    assert ev.judge_calls["model"].tolist()[0] == "openai/other-model"
    assert {r.body["model"] for r in server.requests} == {"other-model", "test-model"}
    assert not ev.warnings["kind"].str.contains("param").any()


GOOD = answer(0.75, "near enough")
BODY = json.dumps({"mark_code": MARK, "score": 0.75, "reasoning": "near enough"})
CORRECT = ("correct", "judged", True)
#: What the server does with one question, one reply a request: what its row says, and what it took.
#: Four attempts at most; an answer is 100 tokens asked and 10 given.
ONE_QUESTION = {
    "good": ([GOOD], CORRECT, 1),
    "just": ([answer(0.7)], CORRECT, 1),
    "not quite": ([answer(0.69)], ("incorrect", "judged", False), 1),
    "fenced": ([Reply(f"```json\n{BODY}\n```")], CORRECT, 1),
    "in prose": ([Reply(f"I would say {{so}}: {BODY} That is all.")], CORRECT, 1),
    "429, then good": ([failure(429, Retry_After="0.01"), GOOD], CORRECT, 2),
    "429": ([failure(429, Retry_After="0.01")] * 4, ("judge_error", "rate_limit", None), 4),
    "429, later": ([failure(429, Retry_After="86400")], ("judge_error", "rate_limit", None), 1),
    "500, then good": ([failure(500), failure(500), failure(500), GOOD], CORRECT, 4),
    "500": ([failure(500)] * 4, ("judge_error", "server_error", None), 4),
    "hangs, then good": ([HANG, GOOD], CORRECT, 2),
    "hangs": ([HANG] * 4, ("judge_error", "timeout", None), 4),
    "cut, then good": ([CUT, GOOD], CORRECT, 2),
    "cut": ([CUT] * 4, ("judge_error", "connection", None), 4),
    "empty, then good": ([EMPTY, GOOD], CORRECT, 2),
    "empty": ([EMPTY] * 2, ("judge_error", "empty", None), 2),
    "prose, then good": ([Reply("They differ."), GOOD], CORRECT, 2),
    "prose": ([Reply("They differ.")] * 2, ("judge_error", "unparsable", None), 2),
    "all of it": ([failure(500), EMPTY, CUT, GOOD], CORRECT, 4),
    "400": ([failure(400)], ("judge_error", "bad_request", None), 1),
    "401": ([failure(401)], ("judge_error", "bad_key", None), 1),
}


@pytest.mark.parametrize("replies, verdict, requests", ONE_QUESTION.values(), ids=ONE_QUESTION)
def test_what_the_frames_say(
    replies: list[Reply],
    verdict: tuple[str, str, bool | None],
    requests: int,
    make: MakeJudge,
    server: LLMServer,
) -> None:
    server.respond = lambda _: failure(418)  # one request too many
    server.script(*replies)
    judge = make("openai/gpt-4o-mini", max_attempts=4, timeout=UNTIL_IT_HANGS)
    predicted = GOLD | {"seller": "Acme AG"}
    ev = xb.evaluate(SCHEMA, GOLD, predicted, judge=judge)
    row = ev.fields.set_index("path").loc["$.seller"]
    passed = None if row["passed"] is pd.NA else bool(row["passed"])
    assert (row["outcome"], row["reason"], passed) == verdict
    assert len(server.requests) == requests

    answered = sum(reply.status == 200 and not reply.cut and reply != HANG for reply in replies)
    (call,) = ev.judge_calls.itertuples()
    assert (call.path, call.attempts, call.cached) == ("$.seller", requests, False)
    if answered:
        assert (call.prompt_tokens, call.completion_tokens) == (100 * answered, 10 * answered)
        assert call.cost_usd == pytest.approx(2.1e-05 * answered)
    else:
        assert (call.prompt_tokens, call.cost_usd, call.answer) == (pd.NA, pd.NA, pd.NA)
    failed = passed is None
    assert (call.score is pd.NA, call.error is not pd.NA) == (failed, failed)
    assert row["score"] is call.score or row["score"] == call.score
    assert not failed or verdict[1] in call.error
    assert not failed or call.error in row["reasoning"]

    summary = ev.summary
    # seller and total, name and share of two parties
    assert (summary["evaluated"], summary["judge_errors"]) == (6, failed)
    assert summary["judged"] == 6 - failed
    assert summary["pass_rate"] == pytest.approx((5 + (passed or 0)) / 6)
    assert summary["pass_rate_judged"] == pytest.approx((5 + (passed or 0)) / (6 - failed))
    assert summary["llm_calls"] == 1
    assert summary["llm_cost_usd"] == pytest.approx(2.1e-05 * answered)


MANY: dict[str, Any] = {
    "type": "object",
    "properties": {f"f{i:02}": {"type": "string"} for i in range(20)},
}
TEXTS = {name: f"text {name}" for name in MANY["properties"]}
SHOUTED = {name: text.upper() for name, text in TEXTS.items()}


def test_a_refused_key_is_not_tried_on_every_field(make: MakeJudge, server: LLMServer) -> None:
    server.respond = lambda _: failure(401)
    ev = xb.evaluate(MANY, TEXTS, SHOUTED, judge=make(max_concurrency=3))
    assert 1 <= len(server.requests) <= 3
    assert ev.judge_calls["attempts"].sum() == len(server.requests)
    assert set(ev.fields["reason"]) == {"bad_key"}
    assert (ev.summary["judge_errors"], ev.summary["pass_rate"]) == (20, 0)
    assert ev.summary[["pass_rate_judged"]].isna().all()


def test_a_budget_that_runs_out_keeps_what_is_done(make: MakeJudge, server: LLMServer) -> None:
    server.respond = lambda _: replace(answer(1.0), tokens=(10, 100_000))  # 0.06 US dollars
    judge = make("openai/gpt-4o-mini", budget_usd=0.32, max_concurrency=1, max_tokens=100_000)
    ev = xb.evaluate(MANY, TEXTS, SHOUTED, judge=judge)
    assert len(server.requests) == 5
    assert ev.fields["reason"].value_counts().to_dict() == {"budget": 15, "judged": 5}
    summary = ev.summary
    assert (summary["judged"], summary["judge_errors"], summary["pass_rate"]) == (5, 15, 0.25)
    assert summary["pass_rate_judged"] == 1
    assert summary["llm_cost_usd"] == pytest.approx(0.3, rel=1e-3)
    assert "of 0.32 US dollars" in ev.fields["reasoning"].str.cat()
    unlimited = make("openai/gpt-4o-mini", max_tokens=100_000)
    again = xb.evaluate(MANY, TEXTS, SHOUTED, judge=unlimited)
    assert (len(server.requests), again.summary["judged"]) == (20, 20)
