"""Verdicts that were recorded: repeated as they were, by nobody, and nothing made up."""

import asyncio
import json
import os
import subprocess
import sys
from math import isnan
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

import extractbench_nb as xb
from extractbench_nb.benchmark import read_verdicts
from extractbench_nb.core.text.judging import JudgeError, Question, Verdict
from extractbench_nb.judges import LLM, JudgeCache, LLMJudge, ReplayJudge
from tests.judges.llm.conftest import OWN, MakeJudge
from tests.llm_server import MARK, LLMServer, answer, failure

SCHEMA: dict[str, Any] = {
    "type": "object",
    "properties": {
        "seller": {"type": "string", "description": "who sells"},
        "day": {"type": "string"},
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
    "day": "6 Apr",
    "total": 5,
    "parties": [{"name": "Ann", "share": 3}, {"name": "Bob", "share": 4}],
}
PREDICTED = {
    "seller": "Acme AG",
    "day": "April",
    "total": 6,
    "parties": [{"name": "Bobby", "share": 4}, {"name": "Anne", "share": 3}],
}
FRAMES = ("fields", "arrays", "matches")
ASKED_ANEW = ["cached", "attempts", "prompt_tokens", "completion_tokens", "cost_usd"]


def evaluated(judge: Any, schema: Any = SCHEMA, **more: Any) -> xb.core.Evaluation:
    return xb.evaluate(schema, GOLD, PREDICTED, judge=judge, **more)


def recorded(judge: LLMJudge) -> JudgeCache:
    cache: JudgeCache = judge.model.cache
    return cache


def ask(judge: Any, gold: Any = "a", predicted: Any = "b", **more: Any) -> Verdict:
    return asyncio.run(judge.ask(Question(gold, predicted, **more)))


def refused(judge: Any, gold: Any = "a", predicted: Any = "b", **more: Any) -> tuple[str, str]:
    with pytest.raises(JudgeError) as caught:
        ask(judge, gold, predicted, **more)
    return caught.value.reason, str(caught.value)


def assert_same(one: xb.core.Evaluation, other: xb.core.Evaluation) -> None:
    for name in FRAMES:
        pd.testing.assert_frame_equal(getattr(one, name), getattr(other, name))
    left_out = [*ASKED_ANEW, "latency_seconds"]
    pd.testing.assert_frame_equal(
        one.judge_calls.drop(columns=left_out), other.judge_calls.drop(columns=left_out)
    )


@pytest.fixture
def moody(server: LLMServer) -> None:
    """Let the model say something else each time."""
    scores = iter(range(100))
    server.respond = lambda _: answer(next(scores) % 11 / 10, "as I please")


@pytest.mark.usefixtures("moody")
def test_a_replay_gives_the_same_frames(make: MakeJudge, server: LLMServer, tmp_path: Path) -> None:
    judge = make()
    first = evaluated(judge)
    asked = len(server.requests)
    assert asked == 4
    folder = recorded(judge).path.parent
    second = evaluated(ReplayJudge(folder))
    assert len(server.requests) == asked
    assert_same(first, second)
    assert second.meta["judge"] == "replay(openai/test-model)"
    calls = second.judge_calls
    assert calls["cached"].all()
    assert calls[ASKED_ANEW[1:]].sum().tolist() == [0, 0, 0, 0]
    assert second.summary.drop("llm_cost_usd").equals(first.summary.drop("llm_cost_usd"))
    assert isnan(first.summary["llm_cost_usd"])  # the model has no price
    assert second.summary["llm_cost_usd"] == 0


@pytest.mark.parametrize(
    "options",
    [
        {"n": 3, "vote": "mean"},
        {"additional_instructions": "Legal forms matter."},
        {"temperature": 0.5, "max_tokens": 99},
        {"n": 2, "vote": "max", "temperature": 1.0, "additional_instructions": "Heed."},
    ],
    ids=str,
)
@pytest.mark.usefixtures("moody")
def test_a_replay_like_the_judge_that_asked(
    options: dict[str, Any], make: MakeJudge, server: LLMServer, tmp_path: Path
) -> None:
    judge = make(**options)
    first = evaluated(judge)
    asked = len(server.requests)
    path = recorded(judge)
    own = {name: options[name] for name in OWN if name in options}
    of_model = {name: options[name] for name in options if name not in OWN}
    like = LLMJudge(LLM("openai/test-model", **of_model), **own)
    assert_same(first, evaluated(ReplayJudge(path, like=like)))
    assert len(server.requests) == asked


def truthful_aligner(request: Any) -> Any:
    """Pair the items by their place; judge texts by equality."""
    if "gold_items" not in request.quoted:
        return answer(0.9)
    count = len(request.quoted["gold_items"].splitlines())
    return json.dumps({"mark_code": MARK, "pairs": [[i, count - 1 - i] for i in range(count)]})


def test_a_whole_evaluation_with_alignments_is_replayed(
    make: MakeJudge, server: LLMServer, tmp_path: Path
) -> None:
    server.respond = truthful_aligner
    judge = make()
    gold, predicted = (
        {"parties": [{"name": f"{who} {i}"} for i in range(3)]} for who in ("Ann", "Anne")
    )
    first = xb.evaluate(SCHEMA, gold, predicted, judge=judge, alignment="llm")
    asked = len(server.requests)
    replay = ReplayJudge(recorded(judge))
    second = xb.evaluate(SCHEMA, gold, predicted, judge=replay, alignment="llm")
    assert len(server.requests) == asked
    assert_same(first, second)


def test_what_was_not_recorded(make: MakeJudge, server: LLMServer, tmp_path: Path) -> None:
    server.script(failure(400))
    judge = make(max_concurrency=1)
    evaluated(judge)  # one call failed
    replay = ReplayJudge(recorded(judge))
    ev = xb.evaluate(SCHEMA, GOLD, PREDICTED | {"day": "May"}, judge=replay)
    rows = ev.fields.set_index("path")
    assert rows.loc["$.day", ["outcome", "reason"]].tolist() == ["judge_error", "not_recorded"]
    assert rows["outcome"].tolist().count("judge_error") == 2
    assert ev.summary["judge_errors"] >= 1
    assert ev.judge_calls["cached"].all()
    assert len(ev.judge_calls) == 2


def test_others_decide_what_was_not_recorded(make: MakeJudge, tmp_path: Path) -> None:
    judge = make()
    ask(judge)
    path = recorded(judge)
    replay = ReplayJudge(path, otherwise="offline")
    assert replay.name == "replay(openai/test-model, else offline)"
    verdict = ask(replay, "6 Apr 2025", "2025-04-06")
    assert verdict[:3] == (1.0, "date", "not recorded; judged by offline: date")
    assert ask(replay)[:3] == ask(judge)[:3]
    model = ReplayJudge(path, otherwise=make("openai/other"))
    assert ask(model, "c", "c").calls[0].model == "openai/other"

    class Broken:
        name = "broken"

        def compare(self, gold: str, predicted: str) -> Verdict:
            raise ValueError("down")

    with pytest.raises(ValueError, match="down"):
        ask(ReplayJudge(path, otherwise=Broken()), "d", "d")


SCRIPT = """
import json, socket, sys
sys.modules["litellm"] = sys.modules["dotenv"] = sys.modules["tenacity"] = None
def refuse(*args, **more):
    raise AssertionError("the network was used")
for name in ("connect", "connect_ex", "sendto"):
    setattr(socket.socket, name, refuse)
socket.getaddrinfo = refuse
import extractbench_nb as xb
from extractbench_nb.benchmark import read_verdicts
from extractbench_nb.judges import ReplayJudge
path, schema, gold, predicted = json.loads(sys.argv[1])
ev = xb.evaluate(schema, gold, predicted, judge=ReplayJudge(path))
print(ev.fields.to_json())
"""


def test_no_client_no_key_no_network(make: MakeJudge, tmp_path: Path) -> None:
    judge = make()
    first = evaluated(judge)
    path = recorded(judge)
    given = json.dumps([str(path.path.parent), SCHEMA, GOLD, PREDICTED])
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", SCRIPT, given],
        capture_output=True,
        text=True,
        cwd=Path(xb.__file__).parent.parent,
        check=False,
    )
    assert (done.returncode, done.stderr) == (0, "")
    assert json.loads(done.stdout) == json.loads(first.fields.to_json())


def row(field: str = "seller", **changes: Any) -> dict[str, Any]:
    path = "$.properties." + field.replace(".", ".properties.")
    return {
        "path": path,
        "normalized_path": field,
        "metric_id": "string_semantic",
        "score": 0.8,
        "passed": True,
        "reason": None,
        "gold_value": None,
        "extracted_value": None,
        "reasoning": "the same firm",
    } | changes


def report(folder: Path, *rows: Any) -> Path:
    path = folder / "report.json"
    path.write_text(json.dumps({"output_name": "d", "field_outcomes": list(rows)}))
    return path


def test_a_report_answers(tmp_path: Path) -> None:
    verdicts = read_verdicts(report(tmp_path, row(), row("day", score=0.2, passed=False)))
    assert verdicts["status"].tolist() == ["judged", "judged"]
    replay = ReplayJudge(verdicts)
    assert replay.name == "replay(verdicts)"
    ev = evaluated(replay)
    rows = ev.fields.set_index("path")
    assert rows.loc["$.seller", ["score", "passed", "reason", "reasoning"]].tolist() == [
        *(0.8, True),
        *("recorded", "the same firm"),
    ]
    assert rows.loc["$.day", "outcome"] == "incorrect"
    assert rows.loc["$.parties[0].name", "reason"] == "not_recorded"
    assert len(ev.judge_calls) == 0
    mixed = evaluated(ReplayJudge(verdicts, otherwise="offline"))
    assert mixed.summary["judge_errors"] == 0
    assert (
        mixed.fields.set_index("path")
        .loc["$.parties[0].name", "reasoning"]
        .startswith("not recorded; judged by offline: ")
    )


@pytest.mark.parametrize(
    "changes, reason, told",
    [
        ({"metric_id": "error_1776571758432", "score": 0.0}, "recorded_failure", "failed when"),
        ({"score": 0.0, "outcome": "judge_error"}, "recorded_failure", "failed when"),
        ({"metric_id": "string_llm"}, "not_recorded", "no verdict was recorded"),
        ({"reason": "gold_null"}, "not_recorded", "no verdict was recorded"),
        ({"outcome": "omission", "reason": "x"}, "not_recorded", "no verdict was recorded"),
        ({"gold_value": "ACME Inc"}, "not_recorded", "no verdict was recorded"),
        ({"extracted_value": "Acme"}, "not_recorded", "no verdict was recorded"),
        (
            {"normalized_path": "x", "path": "$.properties.x"},
            "not_recorded",
            "'seller' by 'string_semantic'",
        ),
    ],
)
def test_what_a_report_does_not_say(
    changes: dict[str, Any], reason: str, told: str, tmp_path: Path
) -> None:
    path = read_verdicts(report(tmp_path, row(**changes)))
    found = evaluated(ReplayJudge(path)).fields.set_index("path").loc["$.seller"]
    assert (found["outcome"], found["reason"]) == ("judge_error", reason)
    with pytest.raises(JudgeError, match=told):
        ask(ReplayJudge(path), "ACME", "Acme AG", field="seller")
    other = evaluated(ReplayJudge(path, otherwise="offline")).fields.set_index("path")
    decided = other.loc["$.seller", "outcome"] in ("correct", "incorrect")
    assert decided == (reason == "not_recorded")  # a failure then is a failure now


@pytest.mark.parametrize(
    "text, told",
    [
        ("no JSON", "no list 'field_outcomes'"),
        ('{"field_outcomes": []}', "contains no verdicts"),
        ('{"field_outcomes": [{"path": "x"}]}', "row 0 of 'field_outcomes' is {'p"),
        (json.dumps({"field_outcomes": [row(score=2)]}), "a 'score' from 0 to 1"),
        (json.dumps({"field_outcomes": [row(), 5]}), "row 1 of .* is 5"),
    ],
)
def test_files_that_are_refused(text: str, told: str, tmp_path: Path) -> None:
    path = tmp_path / "file.json"
    path.write_text(text)
    with pytest.raises(xb.InputError, match=told) as caught:
        read_verdicts(path)
    assert str(path) in str(caught.value)


def test_sources_that_are_refused(tmp_path: Path) -> None:
    for bad in (None, 5, tmp_path, tmp_path / "report.json"):
        with pytest.raises(xb.InputError, match=r"expected a cache of answers.*read_verdicts"):
            ReplayJudge(bad)  # type: ignore[arg-type]
    for rows in ([], [{"field": "a"}], [{"field": "a", "metric": "m", "status": "judged"}]):
        with pytest.raises(xb.InputError, match=r"verdicts are empty|row 0 of the"):
            ReplayJudge(rows)


@pytest.mark.skipif("EXTRACTBENCH_RUNS" not in os.environ, reason="needs recorded runs")
@pytest.mark.skipif("EXTRACTBENCH_DATASET" not in os.environ, reason="needs the released dataset")
def test_recorded_reports_say_what_they_said() -> None:
    dataset = xb.load_dataset("extractbench", path=os.environ["EXTRACTBENCH_DATASET"])
    schemas = dataset.listing.set_index("document")["schema"]
    judged = failed = 0
    outputs = xb.runs.recorded_outputs(os.environ["EXTRACTBENCH_RUNS"])
    for document, predicted in zip(outputs["document"], outputs["predicted"], strict=True):
        path = predicted.with_name(f"{document}.judge-report.json")
        said = {r["path"]: r for r in json.loads(path.read_text("utf-8"))["field_outcomes"]}
        ev = xb.evaluate(
            dataset.schema(schemas[document]),
            dataset.gold(document),
            predicted,
            judge=ReplayJudge(read_verdicts(path)),
            profile="paper",
        )
        fields = ev.fields
        outside = fields[fields["counted"] & (fields["metric"] == "string_semantic")]
        assert len(outside)
        for found in outside.to_dict("records"):
            recorded = said[found["schema_path"]]
            assert found["passed"] == recorded["passed"], (document, found["path"])
            if found["reason"] == "recorded":
                assert found["score"] == recorded["score"]
                judged += 1
        failed += sum(r["metric_id"].startswith("error_") for r in said.values())
    assert judged > 30
    assert failed == 7
