"""The vote over several verdicts: what it is, and that a missing one never decides it."""

import asyncio
from collections.abc import Sequence
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from extractbench_nb.core.text.judging import JudgeCall, JudgeError, Question, Verdict
from extractbench_nb.judges.llm_judge import (
    VOTES,
    VerdictOrError,
    gather_verdicts,
    pass_mark,
    take_vote,
)

SCORES = st.sampled_from([0.0, 0.2, 0.5, 0.69, 0.7, 0.71, 0.9, 1.0]) | st.floats(0, 1)
MARKS = st.sampled_from([0.0, 0.5, 0.7, 1.0]) | st.floats(0, 1)
BALLOTS = st.lists(st.none() | SCORES, min_size=1, max_size=7)


def ballots(scores: Sequence[float | None]) -> list[tuple[str, VerdictOrError]]:
    calls = [JudgeCall(f"m{i}", score=score) for i, score in enumerate(scores)]
    return [
        (
            call.model,
            JudgeError("no answer", (call,), "timeout")
            if call.score is None
            else Verdict(call.score, "judged", None, (call,)),
        )
        for call in calls
    ]


def voted(scores: Sequence[float | None], vote: str, mark: float = 0.7) -> Verdict | JudgeError:
    try:
        return take_vote(ballots(scores), vote, mark)
    except JudgeError as error:
        return error


@pytest.mark.parametrize(
    "vote, scores, score",
    [
        ("median", [0.1, 0.8, 0.9], 0.8),
        ("median", [0.1, 0.9], 0.1),
        ("median", [0.2, 0.8, 0.9, 1.0], 0.8),
        ("mean", [0.5, 1.0], 0.75),
        ("min", [0.5, 1.0], 0.5),
        ("max", [0.5, 1.0], 1.0),
        ("median", [0.9, 0.8, None], 0.8),
        ("median", [0.1, 0.2, None], 0.1),
        ("median", [0.1, 0.9, None], None),
        ("median", [0.9, 0.9, None, None], None),  # half is not more than half
        ("median", [0.9, 0.9, 0.9, None], 0.9),
        ("mean", [0.0, None], 0.0),  # at most 0.5
        ("mean", [1.0, None], None),
        ("min", [0.1, None, None], 0.0),  # not all agree, whoever else speaks
        ("min", [1.0, 1.0, None], None),
        ("max", [1.0, None, None], 1.0),
        ("max", [0.1, 0.2, None], None),
        ("median", [None, None], None),
    ],
)
def test_votes(vote: str, scores: list[float | None], score: float | None) -> None:
    found = voted(scores, vote)
    assert (found.score if isinstance(found, Verdict) else None) == score


@given(BALLOTS, st.sampled_from(list(VOTES)), MARKS, st.data())
def test_a_voter_that_is_down_raises_no_score(
    scores: list[float | None], vote: str, mark: float, data: Any
) -> None:
    found = voted(scores, vote, mark)
    if isinstance(found, Verdict):
        drawn = [s if s is not None else data.draw(st.floats(0, 1)) for s in scores]
        working = voted(drawn, vote, mark)
        assert isinstance(working, Verdict)
        assert found.score <= working.score
        assert (found.score >= mark) == (working.score >= mark)


class Answer:
    def __init__(self, score: Any) -> None:
        self.score, self.reason, self.reasoning = score, "said", None


@pytest.mark.parametrize("bad", [Answer(1.5), Answer(float("nan")), Answer("much"), None, 1.0])
def test_what_is_no_verdict_is_a_failure(bad: Any) -> None:
    async def ask(answer: Any) -> Any:
        return answer

    async def both() -> list[VerdictOrError]:
        return await gather_verdicts([ask(bad), ask(Answer(1))])

    found = asyncio.run(both())
    assert isinstance(found[0], JudgeError)
    assert "expected a Verdict" in str(found[0])
    assert found[1] == Verdict(1.0, "said")


@pytest.mark.parametrize(
    "metric, params, mark",
    [
        ("string_semantic", {}, 0.7),
        ("string_semantic", {"pass_threshold": 0.9}, 0.9),
        ("array_llm", {"pass_threshold": 1}, 1.0),
        ("unheard_of", {}, 0.7),
    ],
)
def test_the_mark_is_the_fields_own(metric: str, params: dict[str, Any], mark: float) -> None:
    assert pass_mark(Question("a", "b", metric, params)) == mark
