"""`compare_runs`: what is paired with what, what is averaged, what is refused."""

from __future__ import annotations

from itertools import product
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pandas.testing import assert_frame_equal
from scipy import stats

import extractbench_nb as xb
from extractbench_nb.stats.compare import Comparison, compare_runs
from extractbench_nb.stats.intervals import holm

X = [0.5, 0.6, 0.4, 0.7, 0.5, 0.6, 0.5, 0.4]
Y = [0.7, 0.9, 0.6, 0.8, 0.4, 0.7, 0.6, 0.7]
FRAMES = ("scores", "differences")


def test_one_pair_by_hand(scores: Any) -> None:
    found = compare_runs(scores(x=X, y=Y), measures="pass_rate", resamples=999, seed=5)
    row = found.differences.iloc[0]
    paired = np.subtract(Y, X)
    subsets = product([False, True], repeat=8)
    means = sorted(paired[list(chosen)].mean() for chosen in subsets if any(chosen))
    expected = means[6 - 1], means[-6]  # 6 of 256 flips are the most below 0.025
    p = stats.permutation_test((Y, X), lambda y, x: np.mean(y - x), permutation_type="samples")
    assert row[["a", "b", "measure"]].tolist() == ["x", "y", "pass_rate"]
    assert row[["documents", "only_a", "only_b", "a_higher", "b_higher"]].tolist() == [
        8,
        0,
        0,
        1,
        7,
    ]
    assert row["b_minus_a"] == pytest.approx(np.mean(Y) - np.mean(X))
    assert row["mean_b"] - row["mean_a"] == pytest.approx(row["b_minus_a"])
    assert [row["low"], row["high"]] == pytest.approx(expected)
    assert row["p_value"] == row["p_holm"] == pytest.approx(p.pvalue)
    t = stats.t.ppf(0.975, 7) + stats.t.ppf(0.8, 7)
    assert row["detectable"] == pytest.approx(t * stats.sem(paired))
    assert row["significant"] == (p.pvalue <= 0.05)
    score = found.scores.set_index("group").loc["x"]
    assert score["mean"] == pytest.approx(np.mean(X))
    assert score["low"] < score["mean"] < score["high"]


@given(st.randoms(use_true_random=False))
@settings(max_examples=8)
def test_order_of_rows_leaves_no_trace(random: Any) -> None:
    rng = np.random.default_rng(0)
    rows = [
        {"run": run, "document": f"d{i}", "pass_rate": rng.random(), "domain": "uv"[i % 2]}
        for run in "xyz"
        for i in range(19)
        for _ in range(3)
    ]
    shuffled = random.sample(rows, len(rows))
    one, two = (
        compare_runs(pd.DataFrame(r), measures="pass_rate", resamples=300) for r in (rows, shuffled)
    )
    for name in FRAMES:
        assert_frame_equal(getattr(one, name), getattr(two, name), check_exact=True)


@pytest.mark.parametrize("size", [8, 40])
def test_swapping_the_sides_mirrors_the_difference(scores: Any, size: int) -> None:
    rng = np.random.default_rng(size)
    frame = scores(x=rng.random(size), y=rng.random(size) + 0.1)
    (one, two) = (
        compare_runs(frame, measures="pass_rate", baseline=b).differences.iloc[0] for b in "xy"
    )
    assert one[["a", "b"]].tolist() == two[["b", "a"]].tolist() == ["x", "y"]
    assert one["b_minus_a"] == -two["b_minus_a"]
    assert [one["low"], one["high"]] == pytest.approx([-two["high"], -two["low"]], abs=1e-9)
    for name, other in (("mean_a", "mean_b"), ("a_higher", "b_higher"), ("only_a", "only_b")):
        assert one[name] == two[other]
    assert one["p_value"] == two["p_value"]
    assert one["detectable"] == pytest.approx(two["detectable"])


def test_pairs_and_baseline(batch: Any) -> None:
    pairs = compare_runs(batch.summary, measures="pass_rate", resamples=200).differences
    assert len(pairs) == 6
    assert (pairs["b_minus_a"] > 0).all()
    found = compare_runs(batch.summary, measures="pass_rate", baseline="quill-mini", resamples=200)
    assert found.baseline == "quill-mini"
    assert found.differences[["a", "b"]].to_numpy().tolist() == [
        ["quill-mini", other] for other in ("heron-vision", "osprey-7b", "quill-large")
    ]


def test_holm_runs_over_the_pairs_of_a_measure(batch: Any) -> None:
    found = compare_runs(batch.summary, resamples=200)
    for _, rows in found.differences.groupby("measure"):
        assert rows["p_holm"].tolist() == holm(rows["p_value"]).tolist()
        assert (rows["significant"] == (rows["p_holm"] <= 0.05)).all()


def test_only_shared_documents_are_paired(scores: Any) -> None:
    frame = scores(x=[0.1, 0.2, 0.3, None, 0.9], y=[0.2, 0.5, None, 0.7, 0.7])
    row = compare_runs(frame, measures="pass_rate").differences.iloc[0]
    assert row[["documents", "only_a", "only_b"]].tolist() == [3, 1, 1]
    assert row["mean_a"] == pytest.approx(1.2 / 3)
    assert row["b_minus_a"] == pytest.approx((0.1 + 0.3 - 0.2) / 3)
    means = compare_runs(frame, measures="pass_rate").scores.set_index("group")["mean"]
    assert means.tolist() == pytest.approx([1.5 / 4, 2.1 / 4])  # over all that each has


def test_several_outputs_of_a_document_are_averaged_first() -> None:
    frame = pd.DataFrame(
        {
            "model": ["m", "m", "m", "n", "n"],
            "run": ["1", "2", "1", "1", "1"],
            "document": ["d", "d", "e", "d", "e"],
            "pass_rate": [0.2, 0.6, 0.8, 0.5, 0.5],
        }
    )
    found = compare_runs(frame, by="model", measures="pass_rate")
    row = found.scores.set_index("group").loc["m"]
    assert (row["documents"], row["outputs"]) == (2, 3)
    assert row["mean"] == pytest.approx((0.4 + 0.8) / 2)
    both = compare_runs(frame.assign(run="1"), by=["run", "model"], measures="pass_rate")
    assert both.scores["group"].tolist() == ["1 / m", "1 / n"]
    assert both.by == ("run", "model")
    assert both.differences[["a", "b"]].to_numpy().tolist() == [["1 / n", "1 / m"]]
    assert both.differences["b_minus_a"].tolist() == pytest.approx([0.1])
    based = compare_runs(frame, by=["run", "model"], measures="pass_rate", baseline=("1", "m"))
    assert based.differences["a"].tolist() == ["1 / m", "1 / m"]


def test_invalid_outputs_count_as_zero(scores: Any) -> None:
    frame = scores(x=[1.0, np.nan, 0.8], y=[1.0, 1.0, 0.9])
    frame["valid"] = [True, False, True] + [True] * 3
    row = compare_runs(frame, measures="pass_rate").scores.set_index("group").loc["x"]
    assert row[["documents", "invalid"]].tolist() == [3, 1]
    assert row["mean"] == pytest.approx(0.6)


def test_one_document_has_no_interval(scores: Any) -> None:
    found = compare_runs(scores(x=[0.5], y=[0.7]), measures="pass_rate")
    missing = found.scores.columns[found.scores.isna().all()].tolist()
    declared = Comparison.columns().query("frame == 'scores'")
    assert missing == ["low", "high"] == declared.loc[declared["nullable"], "column"].tolist()
    assert set(found.scores["method"]) == {"one document"}
    row = found.differences.iloc[0]
    assert row["b_minus_a"] == pytest.approx(0.2)
    assert row[["low", "high", "detectable"]].isna().all()
    assert row[["p_value", "significant"]].tolist() == [1.0, False]


def test_equal_documents_give_a_point(scores: Any) -> None:
    found = compare_runs(scores(x=[0.5] * 6, y=[0.7] * 6), measures="pass_rate")
    assert found.scores["low"].tolist() == found.scores["high"].tolist()
    assert found.scores["low"].tolist() == pytest.approx([0.5, 0.7])
    row = found.differences.iloc[0]
    assert row["low"] == row["high"] == pytest.approx(0.2)
    assert row[["method", "p_value"]].tolist() == ["all equal", 2 / 2**6]
    same = compare_runs(scores(x=X, y=X), measures="pass_rate").differences.iloc[0]
    assert same[["b_minus_a", "low", "high", "p_value"]].tolist() == [0, 0, 0, 1]
    assert same["detectable"] is pd.NA


def test_groups_that_are_numbers_are_sorted_as_numbers() -> None:
    frame = pd.DataFrame(
        {"temperature": [0.5, 10.0, 0.5, 10.0], "document": [*"aabb"], "pass_rate": [0, 1, 0, 1.0]}
    )
    frame = pd.concat([frame, frame.assign(temperature=2.0)])
    found = compare_runs(frame, by="temperature", measures="pass_rate")
    assert found.scores["group"].tolist() == ["0.5", "2.0", "10.0"]
    based = compare_runs(frame, by="temperature", measures="pass_rate", baseline=2.0)
    assert based.baseline == "2.0"


def summary_of(**changes: Any) -> pd.DataFrame:
    frame = pd.DataFrame(
        {
            "run": ["x", "x", "y", "y"],
            "document": ["a", "b", "a", "b"],
            "model": ["m", "n", None, "n"],
            "domain": ["u", "v", "u", "v"],
            "pass_rate": [0.1, 0.2, 0.3, 0.4],
            "message": ["no", "no", "no", "no"],
        }
    )
    return frame.assign(**changes)


@pytest.mark.parametrize(
    "source, options, message",
    [
        (summary_of(), {"by": "runs"}, "by is 'runs'; did you mean 'run'?"),
        (summary_of(), {"by": []}, "by is empty"),
        (summary_of(), {"by": "model"}, "column 'model' is missing in 1 of 4 rows"),
        (summary_of(), {"measures": "pass_rat"}, "'pass_rat'; did you mean 'pass_rate'?"),
        (summary_of(), {"measures": ()}, "`measures` is empty"),
        (summary_of(), {"measures": "domain"}, "no measure 'domain'"),
        (summary_of(text="a"), {"measures": "text"}, "expected a column of numbers"),
        (summary_of(run="x"), {}, "only one group, 'x'"),
        (summary_of().iloc[:0], {}, "no rows"),
        (summary_of().drop(columns="document"), {}, "no column 'document'"),
        (summary_of(document=["a", None, "a", "b"]), {}, "'document' is missing in 1 of 4"),
        (
            summary_of(pass_rate=[0.1, np.nan, 0.3, np.nan]),
            {},
            "nan at run 'x', document 'b', and in 1 more row; drop these documents",
        ),
        (summary_of(pass_rate=[0.1, np.inf, 0.3, 0]), {}, "inf at run 'x', document 'b'; drop"),
        (summary_of(), {"baseline": "z"}, "baseline='z' is not a group; expected one of x, y"),
        (
            summary_of(document=[*"abcd"], domain="u"),
            {},
            "'x' has 2 documents and 'y' has 2 documents, none of them in common",
        ),
        (summary_of(run=[1, 1, "1", "1"]), {}, "are both written '1'"),
        (summary_of(), {"confidence": 95}, "confidence=95"),
        (7, {}, "int has no frame 'summary'"),
        ({}, {}, "an empty dict holds no results"),
        ([], {}, "an empty list holds no results"),
    ],
)
def test_what_is_refused(source: Any, options: dict[str, Any], message: str) -> None:
    with pytest.raises(xb.InputError) as caught:
        compare_runs(source, **({"measures": "pass_rate"} | options))
    assert message in str(caught.value)


def test_mappings_and_lists_of_evaluations(evaluations: Any, batch: Any) -> None:
    expected = compare_runs(batch.summary, resamples=300)
    from_mapping = compare_runs(evaluations, resamples=300)
    assert_frame_equal(from_mapping.scores, expected.scores)
    assert_frame_equal(from_mapping.differences, expected.differences)
    assert from_mapping.scores["invalid"].sum() > 0
    per_run = {run: batch.summary[batch.summary["run"] == run] for run in evaluations}
    assert_frame_equal(compare_runs(per_run, resamples=300).scores, expected.scores)
    parts = list(per_run.values())
    assert_frame_equal(compare_runs(parts, resamples=300).scores, expected.scores)
    assert_frame_equal(compare_runs(batch, resamples=300).scores, expected.scores)
    renamed = compare_runs({"one": parts[0], "two": parts[1]}, resamples=300)
    assert renamed.scores["group"].unique().tolist() == ["one", "two"]
    numbered = {run: list(evs.values()) for run, evs in evaluations.items()}
    same = ["group", "measure", "documents", "invalid", "mean"]
    assert_frame_equal(compare_runs(numbered).scores[same], expected.scores[same])
