"""The curve: shares at each threshold, agreement with people, and the values that are tried."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn import metrics as reference

from extractbench_nb.core.field_metrics.registry import Param
from extractbench_nb.views.workbench_cases import Verdicts
from extractbench_nb.views.workbench_model import CURVE_COLUMNS, at_marks, curve_frame, stops

OUTCOMES = ("correct", "incorrect", "omission", "hallucination", "both_absent", "judge_error")
UNIT = [n / 100 for n in range(101)]


def curve(
    values: list[float], found: Verdicts, mark: float, expected: list[bool | None]
) -> pd.DataFrame:
    return curve_frame("t", values, at_marks(found, mark, values), found.decided, expected)


def verdicts(scores: list[float], mark: float, outcomes: list[str] | None = None) -> Verdicts:
    score = np.array(scores)
    passed = score >= mark
    told = outcomes or ["correct" if p else "incorrect" for p in passed]
    texts = (tuple(told), ("",) * len(told), (None,) * len(told))
    return Verdicts(score, passed, ~np.isnan(score), *texts)


@settings(max_examples=40, deadline=None)
@given(
    st.lists(st.tuples(st.floats(0, 1), st.sampled_from([True, False, None])), max_size=30),
    st.sampled_from(UNIT),
)
def test_shares_and_agreement_are_the_references(
    cases: list[tuple[float, bool | None]], mark: float
) -> None:
    scores, expected = [s for s, _ in cases], [e for _, e in cases]
    frame = curve(UNIT, verdicts(scores, mark), mark, expected)
    assert frame.columns.tolist() == CURVE_COLUMNS.names
    for threshold, row in list(zip(UNIT, frame.itertuples(), strict=True))[::20]:
        assert row.passing == sum(score >= threshold for score in scores)
        known = [(score >= threshold, e) for score, e in cases if e is not None]
        assert row.labelled == len(known)
        if known:
            check_agreement(row, [e for _, e in known], [p for p, _ in known])


def check_agreement(row: Any, expected: list[bool], passed: list[bool]) -> None:
    assert row.accuracy == pytest.approx(reference.accuracy_score(expected, passed))
    if any(passed):
        assert row.precision == pytest.approx(reference.precision_score(expected, passed))
    if any(expected):
        assert row.recall == pytest.approx(reference.recall_score(expected, passed))
    if len({*expected, *passed}) > 1:
        assert row.kappa == pytest.approx(reference.cohen_kappa_score(expected, passed))


@given(st.lists(st.floats(0, 1), max_size=30), st.sampled_from(UNIT))
def test_the_pass_rate_falls_and_is_right_at_the_mark(scores: list[float], mark: float) -> None:
    found = verdicts(scores, mark)
    passing = at_marks(found, mark, UNIT).sum(axis=1)
    assert (np.diff(passing) <= 0).all()
    assert passing[UNIT.index(mark)] == found.passed.sum()


@pytest.mark.parametrize(
    "score, passed, outcome, passing",
    [
        (0.6, True, "correct", [True, True, False]),
        (0.6, False, "incorrect", [False, False, False]),  # the metric said no by itself
        (0.2, True, "correct", [True, True, True]),  # and here yes
        (1.0, True, "both_absent", [True, True, True]),
        (0.0, False, "omission", [False, False, False]),
        (0.0, False, "hallucination", [False, False, False]),
        (0.0, False, "structural", [False, False, False]),
    ],
)
def test_what_the_score_does_not_decide(
    score: float, passed: bool, outcome: str, passing: list[bool]
) -> None:
    found = Verdicts(
        np.array([score]), np.array([passed]), np.array([True]), (outcome,), ("",), (None,)
    )
    assert at_marks(found, 0.5, [0.0, 0.5, 0.9])[:, 0].tolist() == passing


def test_a_case_without_a_verdict_passes_nowhere_and_agrees_with_nobody() -> None:
    found = Verdicts(
        np.array([np.nan, 1.0]),
        np.array([False, True]),
        np.array([False, True]),
        ("judge_error", "correct"),
        ("", ""),
        ("down", None),
    )
    frame = curve([0.0, 1.0], found, 0.5, [True, True])
    assert frame["passing"].tolist() == [1, 1]
    assert frame["labelled"].tolist() == [1, 1]
    assert frame["accuracy"].tolist() == [1.0, 1.0]


def test_no_cases() -> None:
    frame = curve([0.0, 1.0], verdicts([], 0.5), 0.5, [])
    assert frame["pass_rate"].tolist() == [0.0, 0.0]
    assert frame["accuracy"].isna().all()


@pytest.mark.parametrize(
    "param, value, some, ends",
    [
        (Param("t", "number", 0.8, 0.0, 1.0), 0.805, [0.8, 0.805], (0.0, 1.0)),
        (Param("t", "number", 5, 0, 10), 5, [0, 1, 5, 10], (0, 10)),
        (Param("t", "number", 0.001, 0.0), 0.001, [0, 0.001, 0.002, 0.01], (0.0, 0.5)),
        (Param("t", "number", 0.001, 0.0), 7.0, [0.001, 7.0], (0.0, 7.0)),
        (Param("t", "number", 3), 4, [0, 1, 2, 3, 4, 5], (0, 500)),
        (Param("t", "number", 0.0), 0.0, [-1, 0, 1], (-500, 500)),
        (Param("t", "number", -2.5), -2.5, [-5, -2.5, 0, 5], (-500, 500)),
        (Param("t", "number", None, 1), 100, [1, 50, 100], (1, 50_000)),
        (Param("t", "number", 1e308), 1e308, [0.0, 1e308], (0.0, 1e308)),
        (Param("t", "number", 5e-324), 5e-324, [0.0, 5e-324], None),
        (Param("t", "number", float("inf")), 1.0, [0.0, 1.0], None),
    ],
)
def test_values_that_are_tried(
    param: Param, value: float, some: list[float], ends: tuple[float, float] | None
) -> None:
    found = stops(param, value)
    assert found == sorted(set(found))
    assert set(some) <= set(found)
    assert all(param.problem(v) is None and np.isfinite(v) for v in found)
    if ends:
        assert (found[0], found[-1]) == ends
