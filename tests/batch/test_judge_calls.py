"""Batches whose judge is a model: its calls, their totals, and what a resumed batch asks again."""

from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

import pandas as pd
import pytest

import extractbench_nb as xb
from extractbench_nb.core.evaluation_frames import CALL_COLUMNS
from extractbench_nb.judges.model_aligner import LLMAligner
from extractbench_nb.runs import evaluate_runs
from tests.judges.llm.aligning import knowing
from tests.judges.llm.conftest import away_from_home, make, no_thread_left, pool, server
from tests.llm_server import answer, failure, truthful

__all__ = ["away_from_home", "make", "no_thread_left", "pool", "server"]

pytest.importorskip("litellm", reason="asks a model through LiteLLM")

LINE = {"type": "object", "properties": {"item": {"type": "string"}, "count": {"type": "integer"}}}
SCHEMA = {
    "title": "bill",
    "type": "object",
    "properties": {
        "seller": {"type": "string"},
        "buyer": {"type": "string"},
        "lines": {"type": "array", "items": LINE},
    },
}
GOLD = {"seller": "Northwind", "buyer": "ACME", "lines": [{"item": "Envelope", "count": 2}]}
NEAR = {"seller": "Northwind AG", "buyer": "Acme", "lines": [{"item": "Envelopes", "count": 2}]}
IDS = ["run", "document", "domain", "schema"]


@pytest.fixture(params=[1, 2])
def workers(request):
    """How a batch is told to run: in this process, or in worker processes."""
    return {} if request.param == 1 else {"executor": request.getfixturevalue("pool")}


@pytest.fixture
def bills(frame_of):
    """Nine outputs: three fields to be judged in each but for the invalid ones."""
    outputs = {
        "r": [NEAR, {**NEAR, "seller": "North"}, "{"],
        "s": [{**NEAR, "buyer": "B"}, {**NEAR, "buyer": "B2"}, {**NEAR, "buyer": "B3"}],
        "t": [{**NEAR, "seller": f"S{n}"} for n in range(3)],
    }
    rows = [
        (run, f"d{n}", output) for run, found in outputs.items() for n, output in enumerate(found)
    ]
    return frame_of(*rows, schema=SCHEMA, gold=GOLD)


@pytest.fixture
def priced(server):
    """Have answers cost something: the model is one that LiteLLM has a price for."""
    server.respond = lambda request: replace(answer(0.8), tokens=(1000, 100))
    return "openai/gpt-4o-mini"


def test_calls_of_a_batch_are_those_of_its_evaluations(bills, make):
    evs = evaluate_runs(bills, judge=make(), progress=False)
    calls = evs.judge_calls
    assert calls.columns.tolist() == [*IDS, *CALL_COLUMNS.names]
    declared = xb.runs.Evaluations.columns().query("frame == 'judge_calls'")
    assert calls.columns.tolist() == declared["column"].tolist()
    assert [str(dtype) for dtype in calls.dtypes] == declared["dtype"].tolist()
    assert (len(calls), calls["document"].nunique(), calls["run"].nunique()) == (24, 3, 3)
    for run, document in (("r", "d0"), ("s", "d2")):
        one = evs.evaluation(run, document).judge_calls  # from the cache by now
        rows = calls[(calls["run"] == run) & (calls["document"] == document)]
        same = ["path", "field", "metric", "model", "score", "answer", "error"]
        pd.testing.assert_frame_equal(rows[same].reset_index(drop=True), one[same])
    assert "lines[].item" in set(calls["field"])


def test_all_ways_give_the_same_calls(bills, make, server, pool, tmp_path):
    """Same rows from one process, two and threads; the second and third ask nothing."""
    first = evaluate_runs(bills, judge=make(), progress=False, save_to=tmp_path / "one")
    asked = len(server.requests)
    processes = evaluate_runs(bills, judge=make(), progress=False, executor=pool)
    with ThreadPoolExecutor(2) as together:
        threads = evaluate_runs(bills, judge=make(), progress=False, executor=together)
    assert len(server.requests) == asked > 0
    said = ["run", "document", "path", "metric", "model", "score", "answer"]
    for evs in (processes, threads):
        assert evs.judge_calls["cached"].all()
        pd.testing.assert_frame_equal(evs.judge_calls[said], first.judge_calls[said])
        pd.testing.assert_frame_equal(evs.fields, first.fields)


def test_budgets_are_kept_by_process(workers, bills, make, server, priced):
    server.respond = lambda request: replace(answer(0.8), tokens=(10, 100_000))
    price = 10 * 0.15e-6 + 100_000 * 0.6e-6
    limits = {"max_concurrency": 1, "max_tokens": 100_000}
    judge = make(priced, cache=False, budget_usd=3.5 * price, **limits)
    evs = evaluate_runs(bills, judge=judge, progress=False, **workers)
    assert 3 <= len(server.requests) <= 3 * (2 if workers else 1)
    assert evs.summary["llm_cost_usd"].sum() == pytest.approx(len(server.requests) * price)
    refused = evs.judge_calls[evs.judge_calls["error"].notna()]
    assert len(refused) == 24 - len(server.requests)
    assert set(refused["attempts"]) == {0}
    assert evs.summary["judge_errors"].sum() > 0


@pytest.mark.parametrize("n_jobs", [1, 2])
def test_a_missing_key_is_told_before_any_work(n_jobs, bills, make, server, tmp_path):
    judge = xb.judges.LLMJudge("openai/gpt-4o-mini")
    with pytest.raises(xb.InputError, match="OPENAI_API_KEY") as caught:
        evaluate_runs(bills, judge=judge, progress=False, n_jobs=n_jobs, save_to=tmp_path / "batch")
    assert "document" not in str(caught.value)
    assert not (tmp_path / "batch").exists()


# --- resumed -----------------------------------------------------------------------------------


def test_what_had_no_verdict_is_asked_again(bills, make, server, same, tmp_path):
    server.respond = lambda r: failure(500) if "B2" in r.text else truthful(r)
    one = evaluate_runs(bills, judge=make(max_attempts=1), progress=False, save_to=tmp_path)
    assert one.summary["judge_errors"].sum() == 1
    server.respond = truthful
    server.forget()
    two = evaluate_runs(bills, judge=make(), progress=False, resume=tmp_path)
    assert (two.meta["evaluated"], two.meta["reused"]) == (1, 8)
    assert two.summary["judge_errors"].sum() == 0
    assert len(server.requests) == 1
    three = evaluate_runs(bills, judge=make(), progress=False, resume=tmp_path)
    assert (three.meta["evaluated"], three.meta["reused"]) == (0, 9)
    same(three, two)


def test_a_budget_that_ran_out_is_topped_up(bills, make, server, priced, tmp_path):
    usual = {"max_concurrency": 1, "retry_wait": 0.0}
    judge = make(priced, budget_usd=0.0005, **usual)
    short = evaluate_runs(bills, judge=judge, progress=False, save_to=tmp_path)
    assert short.summary["judge_errors"].sum() > 0
    asked = len(server.requests)
    more = evaluate_runs(bills, judge=make(priced, **usual), progress=False, resume=tmp_path)
    assert more.summary["judge_errors"].sum() == 0
    whole = evaluate_runs(bills, judge=make(priced, cache=False), progress=False)
    pd.testing.assert_frame_equal(more.fields, whole.fields)
    different = whole.judge_calls["path"].size  # asked each for itself without a cache
    assert asked < len(server.requests) - different <= different


OTHERS = {
    "model": ({"model": "openai/other"}, "judge 'openai/test-model', not with 'openai/other'"),
    "temperature": ({"temperature": 0.5}, "judge temperature 0.0, not with 0.5"),
    "max_tokens": ({"max_tokens": 99}, "judge max_tokens 2048, not with 99"),
    "answers": ({"n": 3}, "judge n 1, not with 3"),
    "vote": ({"vote": "min"}, "judge vote 'median', not with 'min'"),
    "instructions": (
        {"additional_instructions": "Be strict. " * 20},
        "judge additional_instructions None, not with 'Be strict. Be .*…;",
    ),
}


@pytest.mark.parametrize("options, message", OTHERS.values(), ids=OTHERS)
def test_another_judge_is_refused(options, message, bills, make, tmp_path):
    evaluate_runs(bills[:2], judge=make(), progress=False, save_to=tmp_path)
    with pytest.raises(xb.InputError, match=f"was evaluated with {message}"):
        evaluate_runs(bills, judge=make(**options), progress=False, resume=tmp_path)


class Strict:
    name = "strict"

    def __init__(self, own):
        self.fingerprint = own

    def compare(self, gold, predicted):
        return xb.judges.Verdict(float(gold == predicted), "strict")


FINGERPRINTS = {
    "text": ("a", "b", "'a', not with 'b'"),
    "key": ({"a": 1, "b": [1]}, {"a": 1, "b": [2]}, "b 1 1, not with 2"),
    "new key": ({"a": 1}, {"a": 1, "b": 2}, "b None, not with 2"),
    "fewer": ({"n": [1, 2]}, {"n": [1]}, "n 2 2, not with None"),
    "nothing": (None, {"a": 1}, r"None, not with \{'a': 1\}"),
    "named": ([{"name": "x", "t": 0}], [{"name": "y", "t": 1}], "1 'x', not with 'y'"),
}


@pytest.mark.parametrize("one, other, message", FINGERPRINTS.values(), ids=FINGERPRINTS)
def test_any_judge_may_have_a_fingerprint(one, other, message, bills, tmp_path):
    evaluate_runs(bills[:2], judge=Strict(one), progress=False, save_to=tmp_path)
    again = evaluate_runs(bills[:2], judge=Strict(one), progress=False, resume=tmp_path)
    assert again.meta["reused"] == 2
    with pytest.raises(xb.InputError, match=f"evaluated with judge {message}"):
        evaluate_runs(bills, judge=Strict(other), progress=False, resume=tmp_path)


# --- aligned by a model ------------------------------------------------------------------------

PEOPLE = {
    "type": "object",
    "properties": {
        "people": {
            "type": "array",
            "items": {
                "type": "object",
                "properties": {
                    "id": {"type": "integer"},
                    "name": {"type": "string", "evaluation_config": "string_exact"},
                },
            },
        }
    },
}


@pytest.fixture
def people(frame_of):
    gold = [{"id": n, "name": f"person {n}"} for n in range(6)]
    turned = [{**item, "name": item["name"] + "."} for item in gold[::-1]]
    rows = [("r", name, {"people": turned[: 6 - n]}) for n, name in enumerate("abc")]
    return frame_of(*rows, schema=PEOPLE, gold={"people": gold})


def test_alignments_by_a_model(workers, people, make, server, tmp_path):
    server.respond = knowing(lambda item: item["id"])
    options = {"alignment": LLMAligner(make()), "progress": False}
    evs = evaluate_runs(people, save_to=tmp_path, **workers, **options)
    assert evs.meta["alignment"] == LLMAligner(make()).name
    assert evs.judge_calls["metric"].tolist() == ["array_llm"] * 3
    assert evs.summary["llm_calls"].tolist() == [1, 1, 1]
    assert evs.arrays["differing"].tolist() == [6, 5, 4]
    again = evaluate_runs(people, resume=tmp_path, **options)
    assert again.meta["reused"] == 3
    other = {**options, "alignment": LLMAligner(make(temperature=0.5))}
    with pytest.raises(xb.InputError, match=r"alignment judge temperature 0\.0, not with 0\.5"):
        evaluate_runs(people, resume=tmp_path, **other)
