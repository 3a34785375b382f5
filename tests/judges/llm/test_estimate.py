"""What an estimate says beside what is then asked."""

from typing import Any

import pandas as pd
import pytest

import extractbench_nb as xb
from extractbench_nb.support.token_counts import count_tokens
from tests.judges.llm.aligning import asks_to_align, knowing
from tests.judges.llm.test_aligning import edited, listing, works
from tests.llm_server import LLMServer, Request

PRICED = "openai/gpt-4o-mini"
NAME = {"type": "object", "properties": {"name": {"type": "string"}, "nick": {"type": "string"}}}
ONE = ({"name": "Ann", "nick": "A"}, {"name": "Anne", "nick": "A"})


def tokens(requests: list[Request]) -> int:
    return sum(count_tokens(m["content"]) + 4 for r in requests for m in r.body["messages"])


@pytest.fixture(scope="module")
def sample() -> xb.runs.Dataset:
    return xb.load_dataset("sample")


def test_it_is_what_is_asked_then(sample: Any, server: LLMServer, make: Any) -> None:
    judge = make(PRICED)
    runs = sample.runs[sample.runs["run"].isin(sample.runs["run"].unique()[:2])]
    options = {"dataset": sample, "judge": judge}
    estimate = xb.runs.estimate_cost(runs, **options)
    assert server.requests == []
    evs = xb.evaluate_runs(runs, **options, progress=False)
    summary = estimate.summary
    assert summary["calls"] == len(evs.judge_calls) > 5
    assert summary["requests"] == len(server.requests)
    assert summary["prompt_tokens"] == tokens(server.requests)
    columns = ["run", "document", "field", "metric", "model", "cached"]
    ours, theirs = (
        frame[columns[:-1]].astype(object).sort_values(columns[:-1], ignore_index=True)
        for frame in (estimate.calls, evs.judge_calls)
    )
    pd.testing.assert_frame_equal(ours, theirs)

    again = xb.runs.estimate_cost(runs, **options).summary
    assert again["calls"] == again["cached"] == summary["calls"]
    assert again["requests"] == again["prompt_tokens"] == again["cost_usd"] == 0


def test_alignments_are_in_it(server: LLMServer, make: Any) -> None:
    server.respond = knowing(lambda item: item["id"])
    gold = {"works": works(300)}
    predicted = {"works": edited(gold["works"])}
    aligner = xb.judges.LLMAligner(make(PRICED), max_prompt_tokens=4_000)
    schema = listing()
    estimate = xb.runs.estimate_cost(schema, gold, predicted, alignment=aligner)
    xb.evaluate(schema, gold, predicted, alignment=aligner)
    assert len(server.requests) > 2
    assert estimate.summary["requests"] == len(server.requests)
    assert estimate.summary["prompt_tokens"] == tokens(server.requests)
    assert estimate.by_field[["field", "metric"]].to_numpy().tolist() == [["works", "array_llm"]]
    said = [count_tokens(str(server.respond(request))) for request in server.requests]
    assert 0.4 < estimate.summary["completion_tokens"] / sum(said) < 2.5
    assert all(map(asks_to_align, server.requests))


def test_the_same_question_twice_is_one_request(make: Any) -> None:
    schema = {"type": "object", "properties": {"items": {"type": "array", "items": NAME}}}
    gold = {"items": [{"name": f"x{i}", "nick": "same"} for i in range(4)]}
    predicted = {"items": [{"name": f"x{i}", "nick": "Same!"} for i in range(4)]}
    kept = xb.runs.estimate_cost(schema, gold, predicted, judge=make(PRICED)).summary
    assert (kept["calls"], kept["requests"]) == (4, 1)
    loose = xb.runs.estimate_cost(schema, gold, predicted, judge=make(PRICED, cache=False)).summary
    assert (loose["calls"], loose["requests"]) == (4, 4)


def test_nobody_is_asked(server: LLMServer, make: Any, tmp_path: Any) -> None:
    recorded = make(PRICED)
    xb.evaluate(NAME, *ONE, judge=recorded)
    server.forget()
    other = ({"name": "Bob", "nick": "B"}, {"name": "Rob", "nick": "B"})
    replay = xb.judges.ReplayJudge(recorded.model.cache, otherwise=make("openai/gpt-4o"))
    for judge in (replay, xb.judges.Ensemble([replay, "offline"])):
        assert xb.runs.estimate_cost(NAME, *ONE, judge=judge).summary["calls"] == 0
        found = xb.runs.estimate_cost(NAME, *other, judge=judge)
        assert found.calls["model"].tolist() == ["openai/gpt-4o"]
    gold = {"works": works(3)}
    predicted = {"works": [w | {"year": 0} for w in works(3)[::-1]]}
    aligner = xb.judges.LLMAligner(replay)
    found = xb.runs.estimate_cost(listing(), gold, predicted, alignment=aligner)
    assert found.calls[["metric", "model"]].to_numpy().tolist() == [["array_llm", "openai/gpt-4o"]]
    assert server.requests == []


@pytest.mark.parametrize("kind", ["asks", "awaits", "compares"])
def test_a_judge_of_the_users_is_named_and_not_called(kind: str) -> None:
    class Mine:
        name = f"mine, which {kind}"

        def compare(self, gold: str, predicted: str) -> xb.judges.Verdict:
            raise AssertionError("called")

    async def called(self: Any, *_: Any) -> xb.judges.Verdict:
        raise AssertionError("called")

    if kind != "compares":
        setattr(Mine, "ask" if kind == "asks" else "compare", called)
    for judge in (Mine(), xb.judges.Ensemble([Mine(), "offline"])):
        estimate = xb.runs.estimate_cost(NAME, *ONE, judge=judge)
        assert estimate.summary["calls"] == 0
        assert estimate.unknown == (Mine.name,)
        assert Mine.name in repr(estimate)
        assert Mine.name in estimate._repr_html_()
    # where nothing is to be judged nobody is missed
    assert xb.runs.estimate_cost(NAME, ONE[0], ONE[0], judge=Mine()).unknown in ((), (Mine.name,))


def test_an_aligner_needs_no_key(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    gold, predicted = ({"works": works(3)[:: 1 - 2 * n]} for n in range(2))
    predicted["works"] = [work | {"year": 0} for work in predicted["works"]]
    aligner = xb.judges.LLMAligner(xb.judges.LLM("openai/gpt-4o", cache=False))
    found = xb.runs.estimate_cost(listing(), gold, predicted, alignment=aligner)
    assert found.calls["metric"].tolist() == ["array_llm"]
