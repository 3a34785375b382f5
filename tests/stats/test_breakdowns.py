"""`breakdown` and `difficulty`: sums, rates, orders, and what is refused."""

from __future__ import annotations

from typing import Any

import pandas as pd
import pytest
from pandas.testing import assert_frame_equal

import extractbench_nb as xb
from extractbench_nb.core.evaluation_frames import OUTCOMES
from extractbench_nb.stats.breakdowns import (
    breakdown,
    difficulty,
)

GROUPS = [
    "outcome",
    "metric",
    "field",
    "domain",
    "depth",
    "required",
    "run",
    "document",
    "schema",
    "reason",
    ["run", "domain"],
    ["schema", "field", "metric"],
]
TEXT = pd.StringDtype("python")
JUDGED = [o for o in OUTCOMES if o != "judge_error"]


@pytest.mark.parametrize("counted", [True, False])
@pytest.mark.parametrize("by", GROUPS, ids=str)
def test_groups_add_up_to_the_whole(batch: Any, by: Any, counted: bool) -> None:
    rows = batch.fields[batch.fields["counted"]] if counted else batch.fields
    found = breakdown(batch, by, counted=counted)
    assert found["rows"].sum() == len(rows)
    assert found["judged"].sum() == rows["passed"].notna().sum()
    assert found["passed"].sum() == rows["passed"].sum()
    assert (found["mean_score"] * found["rows"]).sum() == pytest.approx(rows["score"].sum())
    assert (found[list(OUTCOMES)].sum(axis=1) == found["rows"]).all()
    assert (found[JUDGED].sum(axis=1) == found["judged"]).all()
    assert found["pass_rate"].tolist() == pytest.approx((found["passed"] / found["rows"]).tolist())
    names = [by] if isinstance(by, str) else by
    assert not found.duplicated(names).any()
    assert {c: str(found[c].dtype) for c in names} == {c: str(rows[c].dtype) for c in names}


def test_totals_are_those_of_the_summary(evaluations: Any) -> None:
    """A node with several metrics has a row a metric; without such nodes rows are nodes."""
    checked = 0
    for ev in list(evaluations["quill-large"].values()):
        counted = ev.fields[ev.fields["counted"]]
        if counted["path"].duplicated().any():
            continue
        checked += 1
        found = breakdown(ev, "outcome")
        assert found["rows"].sum() == ev.summary["evaluated"]
        assert found["passed"].sum() == ev.summary["passed"]
        assert found["omission"].sum() == ev.summary["omissions"]
    assert checked >= 3


def test_worst_first_and_own_orders(batch: Any) -> None:
    for by in ("field", "metric", "run", "document", "domain", "schema"):
        assert breakdown(batch, by)["pass_rate"].is_monotonic_increasing
    assert breakdown(batch, "depth")["depth"].is_monotonic_increasing
    assert breakdown(batch, "required")["required"].tolist() == [False, True]
    places = [OUTCOMES.index(o) for o in breakdown(batch, "outcome")["outcome"]]
    assert places == sorted(places)
    nested = breakdown(batch, ["run", "field"])
    assert nested["run"].is_monotonic_increasing
    assert nested.groupby("run")["pass_rate"].apply(lambda r: r.is_monotonic_increasing).all()


@pytest.mark.parametrize("seed", range(3))
def test_order_of_rows_leaves_no_trace(batch: Any, seed: int) -> None:
    shuffled = batch.fields.sample(frac=1, random_state=seed)
    for by in ("metric", "schema", ["run", "outcome"]):
        assert_frame_equal(breakdown(batch, by), breakdown(shuffled, by), check_exact=True)
    assert_frame_equal(difficulty(batch), difficulty(shuffled), check_exact=True)


def fields_of(*rows: tuple[Any, ...], **columns: Any) -> pd.DataFrame:
    """Rows of run, document, field, gold_state, score (None: no verdict), outcome."""
    names = ["run", "document", "field", "gold_state", "score", "outcome"]
    cells = dict(zip(names, zip(*rows, strict=True), strict=True))
    scores = cells.pop("score")
    frame = pd.DataFrame({name: pd.array(texts, dtype=TEXT) for name, texts in cells.items()})
    frame["score"] = pd.array(scores, dtype="Float64")
    frame["passed"] = pd.array([None if s is None else s == 1 for s in scores], dtype="boolean")
    return frame.assign(reason=frame["outcome"] + "_why", counted=True, **columns)


UNJUDGED = fields_of(
    ("x", "d", "a", "present", 1.0, "correct"),
    ("x", "d", "b", "present", None, "judge_error"),
    ("x", "e", "a", "present", 0.5, "incorrect"),
    ("x", "e", "b", "null", 1.0, "both_absent"),
)


def test_rows_without_a_verdict_lower_the_pass_rate() -> None:
    row = breakdown(UNJUDGED, "run").iloc[0]
    assert row[["rows", "judged", "passed", "judge_error", "documents"]].tolist() == [4, 3, 2, 1, 2]
    assert row["pass_rate"] == 0.5
    assert row["pass_rate_judged"] == pytest.approx(2 / 3)
    assert row["mean_score"] == pytest.approx(2.5 / 4)
    alone = breakdown(UNJUDGED[1:2], "field").iloc[0]
    assert alone["pass_rate_judged"] is pd.NA


def test_a_batch_lends_its_extra_columns(batch: Any) -> None:
    class Results:
        fields = batch.fields
        summary = batch.summary.assign(model=batch.summary["run"].str.slice(0, 5))

    found = breakdown(Results, "model").set_index("model")
    assert (
        found.loc["quill", "rows"]
        == (batch.fields["run"].str.startswith("quill") & batch.fields["counted"]).sum()
    )
    with pytest.raises(xb.InputError, match="by is 'omissions'"):
        breakdown(Results, "omissions")


@pytest.mark.parametrize(
    "source, by, message",
    [
        (UNJUDGED, "domian", "by is 'domian'; expected one of"),
        (UNJUDGED, "outcomes", "did you mean 'outcome'?"),
        (UNJUDGED, ["run", "fields"], "by is 'fields'; did you mean 'field'?"),
        (UNJUDGED, "score", "by is 'score', which does not name groups"),
        (UNJUDGED, [], "by is empty"),
        (UNJUDGED.drop(columns="passed"), "run", "fields: there is no column 'passed'"),
        (UNJUDGED.assign(outcome="right"), "run", "outcome 'right' is unknown"),
        (UNJUDGED.assign(outcome=None), "run", "outcome None is unknown"),
        ("text", "run", "str has no frame 'fields'"),
    ],
)
def test_what_is_refused(source: Any, by: Any, message: str) -> None:
    with pytest.raises(xb.InputError) as caught:
        breakdown(source, by)
    assert message in str(caught.value)


HARD = fields_of(
    # passes nowhere
    ("x", "d", "never", "present", 0.2, "incorrect"),
    ("y", "d", "never", "present", 0.0, "omission"),
    ("y", "e", "never", "present", 0.0, "omission"),
    # passes in one run; absent golds that pass do not make it look easy
    ("x", "d", "half", "present", 1.0, "correct"),
    ("y", "d", "half", "present", 0.0, "omission"),
    ("x", "e", "half", "missing", 1.0, "both_absent"),
    ("y", "e", "half", "null", 1.0, "both_absent"),
    ("y", "f", "half", "empty", 0.0, "hallucination"),
    # passes everywhere
    ("x", "d", "easy", "present", 1.0, "correct"),
    ("y", "d", "easy", "present", 1.0, "correct"),
    # gold never has it
    ("x", "d", "absent", "missing", 1.0, "both_absent"),
    ("y", "d", "absent", "missing", 0.0, "hallucination"),
    # no verdict is no pass
    ("x", "d", "unjudged", "present", None, "judge_error"),
    ("y", "d", "unjudged", "present", 1.0, "correct"),
    schema="s",
)


def test_difficulty_by_hand() -> None:
    found = difficulty(HARD)
    assert found["field"].tolist() == ["never", "half", "unjudged", "easy"]
    assert found["rows"].tolist() == [3, 2, 2, 2]
    assert found["documents"].tolist() == [2, 1, 1, 1]
    assert found["runs"].tolist() == [2, 2, 2, 2]
    assert found["pass_rate"].tolist() == [0, 0.5, 0.5, 1]
    assert found["runs_failing"].tolist() == [2, 1, 1, 0]
    assert found["failed_by_all"].tolist() == [True, False, False, False]
    assert found["outcome"].tolist() == ["omission", "omission", "judge_error", pd.NA]
    assert found["reason"].tolist()[0] == "omission_why"
    assert found["best_run"].tolist() == ["x", "x", "y", pd.NA]
    assert found["hallucinations"].tolist() == [0, 1, 0, 0]
    assert found["mean_score"].tolist() == pytest.approx([0.2 / 3, 0.5, 0.5, 1])
