"""Verdicts on cases: the engine's own, remembered, and an error wherever there is none."""

from __future__ import annotations

import asyncio
from itertools import product
from typing import Any

import numpy as np
import pandas as pd
import pytest

import extractbench_nb as xb
from extractbench_nb.core.profile_rules import PROFILES
from extractbench_nb.core.schema.schema_nodes import MISSING
from extractbench_nb.views.workbench_cases import Case, CaseScorer, Remembering, Verdicts
from extractbench_nb.views.workbench_model import Cases, Tuning, read_cases


class Counting:
    """A judge that counts what it is asked, and refuses one text."""

    name = "counting"

    def __init__(self) -> None:
        self.asked: list[tuple[str, str]] = []

    def compare(self, gold: str, predicted: str) -> xb.judges.Verdict:
        self.asked.append((gold, predicted))
        if predicted == "down":
            raise TimeoutError("no answer")
        return xb.judges.Verdict(0.75, "said", "because")


class CountingAsync(Counting):
    """The same, awaited."""

    async def compare(self, gold: str, predicted: str) -> Any:  # type: ignore[override]
        await asyncio.sleep(0)
        return super().compare(gold, predicted)


def verdicts(metric: Any, cases: Any, **options: Any) -> Verdicts:
    tuning = Tuning(metric)
    found = cases if isinstance(cases, Cases) else read_cases(cases)
    return CaseScorer(found.rows, **options).verdicts(tuning.config(tuning.start))


def test_verdicts_are_those_of_evaluate(evs: xb.runs.Evaluations) -> None:
    runs = evs.fields
    rows = runs[(runs["metric"] == "string_semantic") & runs["counted"]].head(60)
    found = verdicts("string_semantic", read_cases(rows))
    assert found.score.tolist() == rows["score"].tolist()
    assert found.passed.tolist() == rows["passed"].tolist()
    assert list(found.outcome) == rows["outcome"].tolist()


@pytest.mark.parametrize(
    "case, score, passed, outcome",
    [
        (("Ada", "Ada"), 1.0, True, "correct"),
        (("kitten", "sitting"), 4 / 7, False, "incorrect"),
        (("Ada", None), 0.0, False, "omission"),
        ((None, "Ada"), 0.0, False, "hallucination"),
        ((None, None), 1.0, True, "both_absent"),
        (("Ada", 3), 0.0, False, "structural"),
        (("", ""), 1.0, True, "correct"),
        ((["a"], ["a"]), 1.0, True, "correct"),
    ],
)
def test_states_and_types(case: Any, score: float, passed: bool, outcome: str) -> None:
    found = verdicts("string_fuzzy", [case])
    assert found.score.tolist() == [pytest.approx(score)]
    assert (found.passed.tolist(), found.outcome) == ([passed], (outcome,))
    assert found.decided.all()


def test_a_key_that_is_not_there() -> None:
    cases = Cases((Case("a", MISSING), Case(MISSING, MISSING)), read_cases([("", "")] * 2).more)
    assert verdicts("string_exact", cases).reason == ("predicted_missing", "both_missing")


def test_items_of_arrays_do_not_count_as_cases() -> None:
    found = verdicts("array_llm", [(["a", "b", "c", "d"], ["d", "c", "x", "b"]), ([1], [2])])
    assert found.score.tolist() == [0.75, 0.0]


def test_several_metrics_are_one_verdict() -> None:
    config = {
        "metrics": [{"metric_id": "string_exact", "weight": 3}, {"metric_id": "string_fuzzy"}]
    }
    found = verdicts(config, [("abcd", "abce"), ("a", "a")])
    assert found.score.tolist() == [pytest.approx(0.75 / 4), 1.0]
    assert found.passed.tolist() == [False, True]


@pytest.mark.parametrize(
    "returned, told",
    [
        (RuntimeError("no <b>"), "RuntimeError: no <b>"),
        ("seven", "returned 'seven'; expected a score"),
        (1.5, "returned 1.5; expected a score"),
        (float("nan"), "returned nan; expected a score"),
        (None, "returned None; expected a score"),
        ([], "returned []; expected a score"),
    ],
)
def test_a_metric_that_fails_is_an_error_in_its_row(metric: Any, returned: Any, told: str) -> None:
    @metric("odd")
    def odd(gold: str, predicted: str) -> Any:
        if predicted == "fine":
            return True
        if isinstance(returned, Exception):
            raise returned
        return returned

    found = verdicts("odd", [("a", "fine"), ("a", "b")])
    assert found.decided.tolist() == [True, False]
    assert found.error(0) is None
    assert told in (found.error(1) or "")
    assert np.isnan(found.score[1])


@pytest.mark.parametrize("profile", PROFILES)
def test_every_case_is_scored_as_a_property_by_itself(profile: str) -> None:
    values = ["Ada", "ada", "", None, 3, True, ["a", "b"], ["b"], {"n": "a"}, MISSING]
    rows = tuple(Case(*pair, _TYPES.get(type(pair[0]), ())) for pair in product(values, values))
    found = verdicts(
        "string_fuzzy", Cases(rows, pd.DataFrame(index=range(len(rows)))), profile=profile
    )
    expected = [_by_itself(case, profile) for case in rows]
    told = zip(found.score.tolist(), found.outcome, found.reason, strict=True)
    assert list(told) == expected


_TYPES = {str: ("string",), int: ("number",), bool: ("boolean",), list: ("array",)}


def _by_itself(case: Case, profile: str) -> tuple[float, str, str]:
    node = {
        "evaluation_config": {"metric_id": "string_fuzzy", "params": Tuning("string_fuzzy").start}
    }
    schema = {
        "type": "object",
        "properties": {"c": node | ({"type": list(case.types)} if case.types else {})},
    }
    sides = [{} if v is MISSING else {"c": v} for v in (case.gold, case.predicted)]
    fields = xb.evaluate(schema, *sides, profile=profile).fields
    row = fields[fields["path"] == "$.c"].iloc[0]
    return float(row["score"]), str(row["outcome"]), str(row["reason"])


def test_a_metric_that_is_awaited(metric: Any) -> None:
    @metric("later")
    async def later(gold: str, predicted: str) -> float:
        await asyncio.sleep(0)
        return 0.5

    assert verdicts("later", [("a", "b")] * 3).score.tolist() == [0.5] * 3


def test_no_cases_and_more_than_a_batch() -> None:
    assert verdicts("string_exact", []).score.shape == (0,)
    many = [("a", "a" if n % 3 else "b") for n in range(4500)]
    assert verdicts("string_exact", many).passed.sum() == 3000


def test_the_same_config_is_scored_once(metric: Any) -> None:
    calls = []

    @metric("counted")
    def counted(gold: str, predicted: str, *, threshold: float = 0.5) -> float:
        calls.append(predicted)
        return 1.0

    scorer, tuning = CaseScorer(read_cases([("a", "b")]).rows), Tuning("counted")
    for value in (0.5, 0.6, 0.5, 0.6):
        scorer.verdicts(tuning.config({"threshold": value}))
    assert len(calls) == 2
    scorer.forget()
    scorer.verdicts(tuning.config({"threshold": 0.5}))
    assert len(calls) == 3


@pytest.mark.parametrize("judge", [Counting(), CountingAsync()], ids=["sync", "async"])
def test_a_judge_is_asked_once_about_each_pair(judge: Counting) -> None:
    cases = read_cases([("a", "b"), ("a", "b"), ("a", "down")])
    scorer, tuning = CaseScorer(cases.rows, judge=judge), Tuning("string_semantic")
    passing = []
    for value in (0.5, 0.7, 0.9):
        found = scorer.verdicts(tuning.config({"pass_threshold": value}))
        passing.append(found.passed.tolist())
        assert found.error(2) == "TimeoutError: no answer"
    assert passing == [[True, True, False], [True, True, False], [False, False, False]]
    assert set(judge.asked) == {("a", "b"), ("a", "down")}
    before = len(judge.asked)
    scorer.verdicts(tuning.config({"pass_threshold": 0.1}))
    assert len(judge.asked) == before
    scorer.forget()
    scorer.verdicts(tuning.config({"pass_threshold": 0.1}))
    assert len(judge.asked) > before


def test_a_judge_that_returns_something_to_await() -> None:
    class Handing(Counting):
        def compare(self, gold: str, predicted: str) -> Any:
            async def later() -> xb.judges.Verdict:
                return super(Handing, self).compare(gold, predicted)

            return later()

    judge = Handing()
    wrapped = Remembering(judge)
    for _ in range(2):
        answer: Any = wrapped.compare("a", "b")
        if asyncio.iscoroutine(answer):
            answer = asyncio.run(answer)
        assert answer.score == 0.75
    assert judge.asked == [("a", "b")]
