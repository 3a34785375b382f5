"""Several judges that vote: who is asked what, what the rows say, and what a failure does."""

import asyncio
from typing import Any

import pytest

import extractbench_nb as xb
from extractbench_nb.core.text.judging import JudgeCall, JudgeError, Question, Verdict
from extractbench_nb.core.text.offline_judge import OfflineJudge
from extractbench_nb.judges import Ensemble, LLMJudge
from tests.judges.llm.conftest import MakeJudge
from tests.llm_server import LLMServer, answer, failure

SCHEMA: dict[str, Any] = {
    "type": "object",
    "properties": {
        "seller": {"type": "string"},
        "day": {"type": "string"},
        "parties": {
            "type": "array",
            "items": {"type": "object", "properties": {"name": {"type": "string"}}},
        },
    },
}
GOLD = {"seller": "ACME", "day": "6 Apr 2025", "parties": [{"name": "Ann Lee"}, {"name": "Bob"}]}
PREDICTED = {
    "seller": "Zenith",
    "day": "2025-04-06",
    "parties": [{"name": "Ann  Lee"}, {"name": "Rob"}],
}


class Fixed:
    """Gives one score to everything, in the simplest way there is."""

    def __init__(self, score: float | Exception, name: str = "fixed") -> None:
        self.score, self.name = score, name
        self.seen: list[tuple[str, str]] = []

    def compare(self, gold: str, predicted: str) -> Verdict:
        self.seen.append((gold, predicted))
        if isinstance(self.score, Exception):
            raise self.score
        return Verdict(self.score, "fixed")


class Waiting(Fixed):
    """The same, to be awaited."""

    async def compare(self, gold: str, predicted: str) -> Verdict:  # type: ignore[override]
        await asyncio.sleep(0)
        return super().compare(gold, predicted)


class Asking(Fixed):
    """The same, for whole questions, with a call to tell of."""

    asked: Question | None = None

    async def ask(self, question: Question) -> Verdict:
        self.asked = question
        score = super().compare("", "").score
        return Verdict(score, "fixed", "because", (JudgeCall(self.name, score=score),))


def ask(judge: Ensemble, gold: Any = "a", predicted: Any = "b", **more: Any) -> Verdict:
    return asyncio.run(judge.ask(Question(gold, predicted, **more)))


def test_all_kinds_of_judges_vote(make: MakeJudge, server: LLMServer) -> None:
    server.respond = lambda _: answer(0.9, "nearly")
    members = ["offline", make(), Fixed(0.8), Waiting(0.2, "waiting"), Asking(1.0, "asking")]
    verdict = ask(Ensemble(members), "6 Apr 2025", "2025-04-06")
    assert verdict.score == 0.9
    assert verdict.reason == "voted"
    assert verdict.reasoning == (
        "median of offline 1: date | openai/test-model 0.9: nearly | fixed 0.8: fixed"
        " | waiting 0.2: fixed | asking 1: because"
    )
    assert [call.model for call in verdict.calls] == ["openai/test-model", "asking"]
    assert len(server.requests) == 1


@pytest.mark.parametrize(
    "vote, scores, mark, score",
    [
        ("median", [1.0, 0.1, None], 0.7, None),
        ("min", [1.0, 0.1, None], 0.7, 0.0),  # what is certain
        ("median", [0.8, 0.8, None], 0.9, 0.8),  # the field's mark
    ],
)
def test_a_member_without_a_verdict(
    vote: str, scores: list[float | None], mark: float, score: float | None
) -> None:
    members = [Fixed(ValueError("down") if s is None else s, f"j{i}") for i, s in enumerate(scores)]
    judge = Ensemble(members, vote)
    if score is not None:
        assert ask(judge, params={"pass_threshold": mark}).score == score
        return
    with pytest.raises(JudgeError, match="gave no verdict") as caught:
        ask(judge, params={"pass_threshold": mark})
    assert "ValueError: down" in str(caught.value)


def test_a_model_that_is_down(make: MakeJudge, server: LLMServer) -> None:
    server.respond = lambda _: failure(400)
    judge = Ensemble(["offline", make(), Fixed(1.0)], "median")
    ev = xb.evaluate(SCHEMA, GOLD, PREDICTED, judge=judge)
    rows = ev.fields.set_index("path")
    assert rows.loc["$.day", "outcome"] == "correct"  # two of three
    assert rows.loc["$.seller", ["outcome", "reason"]].tolist() == ["judge_error", "bad_request"]
    assert "openai/test-model" in rows.loc["$.seller", "reasoning"]
    calls = ev.judge_calls
    assert calls["error"].notna().all()
    assert set(calls["path"]) >= {"$.day", "$.seller"}  # also behind a verdict that stands
    working = xb.evaluate(SCHEMA, GOLD, PREDICTED, judge=Ensemble(["offline", Fixed(1.0)], "max"))
    assert ev.summary["pass_rate"] <= working.summary["pass_rate"]
    assert ev.summary["evaluated"] == working.summary["evaluated"]


def test_a_field_does_not_make_all_members_one_model(make: MakeJudge, server: LLMServer) -> None:
    judge = Ensemble([make(), make("openai/other")])
    params = {"model": "openai/third", "additional_instructions": "Heed this."}
    judge.check(params)
    assert {c.model for c in ask(judge, params=params).calls} == {
        "openai/test-model",
        "openai/other",
    }
    assert all("Heed this." in request.text for request in server.requests)


@pytest.mark.parametrize(
    "judges, told",
    [
        ([], r"judges is \[\]; expected a list of two judges or more"),
        (["offline"], "expected a list of two judges or more"),
        ("offline", "judges is 'offline'; expected a list"),
        (None, "judges is None; expected a list"),
        (["offline", "ofline"], r"judges\[1\] is 'ofline'; did you mean 'offline'"),
        (["offline", 5], r"judges\[1\] is 5; expected 'offline', the id of a model"),
        ([Fixed, "offline"], r"judges\[0\] is <class"),
        (["offline", Fixed(1), OfflineJudge()], r"judges\[0\] and judges\[2\] are the same"),
        (["openai/x", LLMJudge("openai/x")], r"several times use LLMJudge\(n=...\)"),
    ],
)
def test_members_that_are_refused(judges: Any, told: str) -> None:
    with pytest.raises(xb.InputError, match=told):
        Ensemble(judges)
