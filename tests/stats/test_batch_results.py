"""Statistics and breakdowns of what `evaluate_runs` returns."""

from __future__ import annotations

from typing import Any

import pytest
from pandas.testing import assert_frame_equal

import extractbench_nb as xb
from extractbench_nb.batch.results import Evaluations
from extractbench_nb.batch.run import evaluate_runs
from extractbench_nb.stats.agreements import agreement
from extractbench_nb.stats.breakdowns import breakdown, difficulty
from extractbench_nb.stats.compare import compare_runs


@pytest.fixture(scope="module")
def results() -> Evaluations:
    dataset = xb.load_dataset()
    runs = dataset.runs.assign(family=dataset.runs["run"].str.slice(0, 5))
    return evaluate_runs(runs, dataset=dataset, progress=False)


def test_comparison(results: Evaluations, batch: Any) -> None:
    found = compare_runs(results, resamples=300)
    assert_frame_equal(found.scores, compare_runs(batch, resamples=300).scores)
    assert found.scores["invalid"].sum() == 3 * (results.summary["outcome"] == "invalid").sum() > 0
    means = results.by_run.set_index("run")["pass_rate"]
    for row in found.scores.query("measure == 'pass_rate'").itertuples():
        assert row.mean == pytest.approx(means[row.group])


def test_groups_of_runs(results: Evaluations) -> None:
    found = compare_runs(results, by="family", measures="pass_rate", resamples=300)
    row = found.scores.set_index("group").loc["quill"]
    assert (row["documents"], row["outputs"]) == (14, 28)
    families = breakdown(results, "family").set_index("family")["rows"]
    runs = breakdown(results, "run").set_index("run")["rows"]
    assert families["quill"] == runs["quill-mini"] + runs["quill-large"]


def test_invalid_documents_fail_all_their_fields(results: Evaluations) -> None:
    counts = breakdown(results, "reason").set_index("reason")
    assert counts.loc["invalid_output", "rows"] == counts.loc["invalid_output", "structural"] > 8
    hard = difficulty(results)
    assert "$" not in set(hard["field"])
    asked = results.fields.query("counted and gold_state == 'present'")
    assert hard["rows"].sum() == len(asked)
    assert hard["passed"].sum() == asked["passed"].sum()
    failed = asked.groupby(["schema", "field"])["passed"].sum() == 0
    assert hard["failed_by_all"].sum() == failed.sum()


def test_agreement_of_runs(results: Evaluations) -> None:
    fields = results.fields
    one, two = (fields[fields["run"] == run] for run in ("quill-large", "quill-mini"))
    found = agreement(one, two, resamples=300)
    assert found.rows + found.unjudged + found.unmatched.a == len(one)
    assert found.units == 14
    assert agreement(results, results, resamples=100).raw == 1
