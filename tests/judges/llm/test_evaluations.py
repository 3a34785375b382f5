"""Evaluations with a model as judge: what is asked, what the frames say, what a failure does."""

import copy
import pickle
from collections.abc import Callable
from typing import Any

import pandas as pd
import pytest

import extractbench_nb as xb
from extractbench_nb.evaluation.frames import CALL_COLUMNS
from tests.judges.llm.conftest import MakeJudge
from tests.llm_server import HANG, LLMServer, Reply, answer, failure, truthful

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
    "parties": [{"name": "Ann", "share": 1}, {"name": "Bob", "share": 2}],
}


def run(judge: Any, **changes: Any) -> xb.Evaluation:
    return xb.evaluate(SCHEMA, GOLD, PREDICTED | changes, judge=judge)


def test_the_question_has_what_the_schema_says(make: MakeJudge, server: LLMServer) -> None:
    run(make())
    prompt = next(r.text for r in server.requests if "Acme AG" in r.text)
    for said in ("seller", "Who sells, as the contract names them", "Legal forms matter."):
        assert said in prompt
    assert not [r for r in server.requests if "integer_exact" in r.prompt]  # no model for numbers


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
    described = xb.Evaluation.columns().query("frame == 'judge_calls'")
    assert described["column"].tolist() == list(calls.columns)


def test_a_second_run_asks_nothing_and_says_the_same(make: MakeJudge, server: LLMServer) -> None:
    first = run(make())
    asked = len(server.requests)
    second = run(make())
    assert len(server.requests) == asked
    for name in ("fields", "arrays", "matches"):
        pd.testing.assert_frame_equal(getattr(first, name), getattr(second, name))
    assert second.judge_calls["cached"].all()
    assert not first.judge_calls["cached"].any()


def test_calls_survive_pickling(make: MakeJudge) -> None:
    ev = run(make())
    for other in (pickle.loads(pickle.dumps(ev)), copy.deepcopy(ev)):  # noqa: S301 - our own
        pd.testing.assert_frame_equal(other.judge_calls, ev.judge_calls)


def test_no_model_no_calls() -> None:
    calls = run("offline").judge_calls
    assert len(calls) == 0
    assert list(calls.columns) == CALL_COLUMNS.names


@pytest.mark.parametrize(
    "reply, reason",
    [
        (lambda _: HANG, "timeout"),
        (lambda _: failure(500), "server_error"),
        (lambda _: failure(401), "bad_key"),
        (lambda _: Reply(""), "empty"),
        (lambda _: Reply("I would rather not say."), "unparsable"),
    ],
    ids=["timeout", "server_error", "bad_key", "empty", "unparsable"],
)
def test_a_failure_is_no_verdict(
    reply: Callable[[Any], Reply], reason: str, make: MakeJudge, server: LLMServer
) -> None:
    working = run(make())
    server.respond = reply
    ev = run(make(cache=False, timeout=0.3, max_attempts=2))
    row = ev.fields.set_index("path").loc["$.seller"]
    assert (row["outcome"], row["reason"], row["score"]) == ("judge_error", reason, pd.NA)
    assert row["reasoning"]
    assert ev.summary["evaluated"] == working.summary["evaluated"]
    assert ev.summary["pass_rate"] <= working.summary["pass_rate"]
    assert ev.summary["judge_errors"] >= 1
    assert ev.judge_calls.set_index("path").loc["$.seller", "error"]
    assert ev.matches["status"].tolist().count("matched") == 0  # an open field keeps pairs open


def test_half_of_the_calls_failing_never_raises_a_rate(make: MakeJudge, server: LLMServer) -> None:
    schema = {"type": "object", "properties": {f"f{i}": {"type": "string"} for i in range(20)}}
    gold = {f"f{i}": f"text {i}" for i in range(20)}
    predicted = gold | {f"f{i}": f"other {i}" for i in range(0, 20, 3)}
    working = xb.evaluate(schema, gold, predicted, judge=make())
    server.respond = lambda r: failure(400) if "text 1" in r.text else truthful(r)
    ev = xb.evaluate(schema, gold, predicted, judge=make(cache=False))
    failed = int(ev.summary["judge_errors"])
    assert 0 < failed < 20
    assert ev.summary["pass_rate"] <= working.summary["pass_rate"]
    assert ev.summary["judged"] == 20 - failed
    passed = ev.fields["passed"].dropna()
    assert ev.summary["pass_rate_judged"] == pytest.approx(passed.mean())


def test_a_model_is_named_as_a_text(server: LLMServer, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-test")
    monkeypatch.setenv("OPENAI_API_BASE", server.url)
    server.respond = lambda _: answer(0.9)
    ev = run("openai/test-model")
    assert ev.meta["judge"] == "openai/test-model"
    assert ev.fields.set_index("path").loc["$.seller", "score"] == 0.9


def test_a_missing_key_is_told_before_anything_is_asked(server: LLMServer) -> None:
    with pytest.raises(xb.InputError, match="OPENAI_API_KEY"):
        run("openai/gpt-4o-mini")
    assert server.requests == []


def test_a_param_that_cannot_be_used_is_told_before_anything_is_asked(
    make: MakeJudge, server: LLMServer
) -> None:
    schema = copy.deepcopy(SCHEMA)
    params = schema["properties"]["seller"]["evaluation_config"]["params"]
    params["prompt_template"] = "{no_such_placeholder}"
    with pytest.raises(xb.ConfigError, match="no_such_placeholder"):
        xb.evaluate(schema, GOLD, PREDICTED, judge=make())
    assert server.requests == []


def test_a_field_may_name_another_model(make: MakeJudge, server: LLMServer) -> None:
    schema = copy.deepcopy(SCHEMA)
    schema["properties"]["seller"]["evaluation_config"]["params"]["model"] = "openai/other-model"
    ev = xb.evaluate(schema, GOLD, PREDICTED, judge=make())
    assert ev.judge_calls["model"].tolist()[0] == "openai/other-model"
    assert {r.body["model"] for r in server.requests} == {"other-model", "test-model"}
    assert not ev.warnings["kind"].str.contains("param").any()


def test_a_batch_asks_a_model_too(make: MakeJudge, server: LLMServer) -> None:
    runs = pd.DataFrame(
        {
            "run": ["a", "b"],
            "document": ["d", "d"],
            "schema": [SCHEMA, SCHEMA],
            "gold": [GOLD, GOLD],
            "predicted": [PREDICTED, GOLD],
        }
    )
    evs = xb.evaluate_runs(runs, judge=make(), progress=False)
    assert evs.by_run.set_index("run")["pass_rate"].to_dict() == {"a": pytest.approx(2 / 3), "b": 1}
    assert len(server.requests) == 4  # equal questions are asked once
