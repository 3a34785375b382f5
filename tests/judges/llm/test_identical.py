"""Two values that are the same JSON: nothing is asked, unless the field words the question."""

import copy
from typing import Any

import pandas as pd
import pytest

import extractbench_nb as xb
from tests.judges.llm.conftest import MakeJudge
from tests.llm_server import LLMServer, answer, failure

SAMPLE = xb.load_dataset("sample")
TEMPLATE = "Is {gold} a fair reading, as {predicted} has it?"
ANY = ["string", "number", "boolean"]


def field(types: Any = "string", metric: str = "string_semantic", **params: Any) -> dict[str, Any]:
    config = {"metrics": [{"metric_id": metric, "params": params}]}
    return {
        "type": "object",
        "properties": {"a": {"type": types, "evaluation_config": config}},
    }


@pytest.mark.parametrize("document, schema_id", SAMPLE.documents[["document", "schema"]].to_numpy())
def test_a_perfect_prediction_asks_nothing(
    document: str, schema_id: str, make: MakeJudge, server: LLMServer
) -> None:
    server.respond = lambda _: failure(500)
    gold, schema = SAMPLE.gold(document), SAMPLE.schema(schema_id)
    ev = xb.evaluate(schema, gold, copy.deepcopy(gold), judge=make(max_attempts=1))
    assert server.requests == []
    assert len(ev.judge_calls) == 0
    assert (ev.summary["pass_rate"], ev.summary["overall_score"]) == (1, 1)
    assert (ev.summary["llm_calls"], ev.summary["llm_cost_usd"]) == (0, 0)
    offline = xb.evaluate(schema, gold, gold)
    for name in ("fields", "arrays", "matches"):
        pd.testing.assert_frame_equal(getattr(ev, name), getattr(offline, name))
    judged = ev.fields[ev.fields.metric.isin(["string_semantic", "string_llm"])]
    assert set(judged.reason) <= {"identical", "both_absent", "both_null", "both_missing"}


@pytest.mark.parametrize(
    "schema, gold, predicted, requests",
    [
        (field(), "x", "x", 0),
        (field(), "x", "X", 1),
        (field(), "x", "x ", 1),
        (field(), "", "", 0),
        (field(), "\ud800", "\ud800", 0),
        (field(), "é", "e\u0301", 1),  # only look the same
        (field(metric="string_llm"), "x", "x", 0),
        (field(ANY), 1, 1, 0),
        (field(ANY), 1, True, 1),
        (field(ANY), 1, "1", 1),
        (field(ANY), "true", True, 1),
        (field(ANY), 0.1, 0.1, 0),
        (field("array"), [1, {"b": None, "a": 2}], [1, {"a": 2, "b": None}], 0),
        (field("array"), [1, 2], [2, 1], 1),
        (field(), 1, "1", 0),  # gold's type is the annotation's fault: compared as written
        (field(pass_threshold=1.0), "x", "x", 0),
        (field(additional_instructions="Never say 1."), "x", "x", 0),
        (field(model="openai/other"), "x", "x", 0),
        (field(prompt_template=TEMPLATE), "x", "x", 1),
    ],
)
def test_the_same_json_is_not_asked_about(
    schema: Any, gold: Any, predicted: Any, requests: int, make: MakeJudge, server: LLMServer
) -> None:
    server.respond = lambda _: answer(0.25)
    ev = xb.evaluate(schema, {"a": gold}, {"a": predicted}, judge=make())
    assert len(server.requests) == len(ev.judge_calls) == requests
    row = ev.fields.iloc[0]
    verdict = (row["score"], bool(row["passed"]), row["outcome"], row["reason"])
    if requests:
        assert verdict == (0.25, False, "incorrect", "judged")
    else:
        assert verdict == (1.0, True, "correct", "identical")
        assert row["reasoning"] is pd.NA
