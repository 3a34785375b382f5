"""Recorded verdicts: shipped figures against the reports, and reports of one's own."""

import json
import os
import re
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from extractbench_nb.batch.run import evaluate_runs
from extractbench_nb.benchmark import reliability
from extractbench_nb.benchmark.dataset import load_dataset
from extractbench_nb.benchmark.reliability import (
    PAIR_COLUMNS,
    VERDICT_COLUMNS,
    recorded_outputs,
)
from extractbench_nb.errors import DatasetError, InputError

DOCUMENT = "night bus demand"


def outcome(field: str, metric: str, score: float, reason: str | None = None) -> dict[str, Any]:
    return {
        "path": "$.properties." + field.replace(".", ".properties."),
        "normalized_path": field,
        "metric_id": metric,
        "score": score,
        "passed": score >= 0.7,
        "reason": reason,
    }


@pytest.fixture
def record(tmp_path: Path) -> Callable[..., Path]:
    """Write an output and its report into a folder of runs."""

    def write(run: str, predicted: Any, rows: Any, document: str = DOCUMENT) -> Path:
        folder = tmp_path / "runs" / run
        folder.mkdir(parents=True, exist_ok=True)
        (folder / f"{document}.pred.json").write_text(json.dumps(predicted))
        report = {"field_outcomes": rows}
        (folder / f"{document}.judge-report.json").write_text(json.dumps(report))
        return tmp_path / "runs"

    return write


@pytest.fixture
def runs(record: Callable[..., Path]) -> Path:
    gold = load_dataset().gold(DOCUMENT)
    record("a", gold, [outcome("heading", "string_semantic", 1.0)])
    failing = [
        outcome("heading", "string_semantic", 0.0),
        outcome("persistent_id", "string_exact", 0.0, "value_mismatch"),
        outcome("outlet", "string_semantic", 1.0, "both_null"),
        outcome("contributors", "array_llm", 0.5),
        outcome("references", "error_123", 0.0),
        outcome("references.items", "array_llm", 1.0, "both_null"),
    ]
    failing[-1]["path"] = "$.properties.references.items"
    other = {**gold, "contributors": gold["contributors"][:1], "persistent_id": "10.1/other"}
    return record("b", other, failing)


def measured(runs: Path) -> pd.DataFrame:
    return reliability.verdicts(runs, dataset=load_dataset())


def test_who_decided(runs: Path) -> None:
    frame = measured(runs)
    assert frame.columns.tolist() == VERDICT_COLUMNS.names
    found = frame[frame["run"] == "b"].set_index("field")
    assert found["decided_by"].to_dict() == {
        "heading": "judge",
        "persistent_id": "rule",
        "outlet": "states",
        "contributors": "judge",
        "references": "failed_call",
        "references.items": "below_failed_call",
    }
    assert found.loc["references", "metric"] == "array_llm"
    assert found.loc["heading", "offline_passed"]
    assert pd.isna(found.loc["references.items", "offline_passed"])


def test_what_the_sizes_allow(runs: Path) -> None:
    found = measured(runs).set_index(["run", "field"]).loc[("b", "contributors")]
    assert (found["gold_items"], found["predicted_items"]) == (2, 1)
    assert (found["possible_score"], found["share_of_possible"]) == (0.5, 1.0)


def test_reports_and_rates(runs: Path) -> None:
    frame = measured(runs)
    before = frame.copy()
    found = reliability.reports(frame).set_index("run").loc["b"]
    assert (found["rows"], found["passed"]) == (6, 2)
    assert (found["failed_calls"], found["added"], found["added_passed"]) == (1, 1, 1)
    assert found["as_reported"] == pytest.approx(2 / 6)
    assert found["without_added"] == pytest.approx(1 / 5)
    assert found["inflation"] == pytest.approx(2 / 6 - 1 / 5)
    assert found["judged_only"] == pytest.approx(1 / 4)
    assert found["offline"] == pytest.approx(3 / 5)
    assert reliability.failed_calls(frame)["run"].tolist() == ["b"]
    rates = reliability.pass_rates(frame).set_index("run")
    assert rates.loc["b", "inflation"] == pytest.approx(found["inflation"])
    pd.testing.assert_frame_equal(frame, before)


def test_pairs_of_runs(runs: Path) -> None:
    frame = reliability.pairs(runs, dataset=load_dataset())
    assert frame.columns.tolist() == PAIR_COLUMNS.names
    assert frame["field"].tolist() == ["heading"]
    (row,) = frame.to_dict("records")
    assert (row["run_a"], row["run_b"]) == ("a", "b")
    assert row["identical"]
    assert row["flipped"]
    assert (row["alike"], row["gap"]) == (1.0, 1.0)
    assert (row["offline_a"], row["offline_b"]) == (1.0, 1.0)
    assert len(reliability.inconsistent(frame, alike=1.0)) == 1


def test_null_and_absent_are_alike(record: Callable[..., Path]) -> None:
    gold = load_dataset().gold(DOCUMENT)
    people = gold["contributors"]
    row = [outcome("contributors", "array_llm", 1.0)]
    record("a", gold, row)
    nulls = [{**person, "another": None} for person in people]
    frame = reliability.pairs(
        record("b", {**gold, "contributors": nulls}, row), dataset=load_dataset()
    )
    assert frame["identical"].tolist() == [True]


def test_agreement_reads_only_what_was_judged(runs: Path) -> None:
    frame = measured(runs)
    found = reliability.agreement(frame, metric="string_semantic")
    assert (found.rows, found.raw) == (2, 0.5)
    assert found.disagreements["run"].tolist() == ["b"]
    assert reliability.agreement(frame).rows == 3


def test_inconsistent_is_sorted_and_cut() -> None:
    frame = reliability.pairs()
    wide, narrow = (reliability.inconsistent(frame, alike=a) for a in (0.5, 0.95))
    assert len(wide) > len(narrow) > 0
    assert narrow["alike"].min() >= 0.95
    assert wide["flipped"].is_monotonic_decreasing
    assert wide.loc[wide["flipped"], "gap"].is_monotonic_decreasing
    assert (wide["gap"] > 0).all()


def test_outputs_for_a_batch(runs: Path) -> None:
    outputs = recorded_outputs(runs)
    assert outputs[["run", "document"]].to_numpy().tolist() == [["a", DOCUMENT], ["b", DOCUMENT]]
    evs = evaluate_runs(outputs, dataset=load_dataset(), progress=False)
    assert evs.by_run.set_index("run").loc["a", "pass_rate"] == 1.0


def test_two_outputs_for_one_document(runs: Path, tmp_path: Path) -> None:
    shutil.copytree(runs / "a", tmp_path / "runs" / "again" / "a")
    with pytest.raises(
        InputError, match=r"run 'a' has two outputs for document 'night bus demand'"
    ):
        recorded_outputs(runs)


def test_a_folder_without_reports(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"no \{run\}/\{document\}\.judge-report\.json"):
        reliability.verdicts(tmp_path, dataset=load_dataset())
    with pytest.raises(InputError, match=r"no \{run\}/\{document\}\.pred\.json"):
        recorded_outputs(tmp_path)


def test_a_broken_report(record: Callable[..., Path]) -> None:
    folder = record("a", {}, "nothing")
    with pytest.raises(InputError, match=r"found no list 'field_outcomes'"):
        measured(folder)


def test_an_unknown_document(record: Callable[..., Path]) -> None:
    folder = record("a", {}, [], document="night bus")
    with pytest.raises(DatasetError, match=r"no document 'night bus'"):
        measured(folder)


@pytest.mark.parametrize("alike", [-0.1, 1.1, float("nan")])
def test_similarity_out_of_range(alike: float) -> None:
    with pytest.raises(InputError, match=r"alike=.*expected a number from 0 to 1"):
        reliability.inconsistent(alike=alike)


@pytest.mark.parametrize(
    "function, column",
    [
        (reliability.inconsistent, "gap"),
        (reliability.reports, "decided_by"),
        (reliability.pass_rates, "passed"),
        (reliability.agreement, "offline_score"),
    ],
)
def test_a_missing_column(function: Any, column: str) -> None:
    source = reliability.pairs() if column == "gap" else reliability.verdicts()
    with pytest.raises(InputError, match=rf"no column '{column}'"):
        function(source.drop(columns=column))


def test_an_unknown_metric() -> None:
    with pytest.raises(InputError, match=r"did you mean 'array_llm'"):
        reliability.agreement(metric="array_lm")


def test_shipped_figures_say_nothing_of_the_documents() -> None:
    frame = reliability.verdicts()
    words = frame.select_dtypes("string").columns.tolist()
    assert words == ["run", "document", "path", "field", "metric", "decided_by", "predicted_sha256"]
    assert frame["predicted_sha256"].dropna().map(re.compile(r"[0-9a-f]{16}").fullmatch).all()
    assert frame["field"].str.fullmatch(r"[a-z_.]+").all()


@pytest.mark.skipif(
    not (os.environ.get("EXTRACTBENCH_RUNS") and os.environ.get("EXTRACTBENCH_DATASET")),
    reason="set EXTRACTBENCH_RUNS and EXTRACTBENCH_DATASET to the folders of the real data",
)
def test_shipped_figures_are_what_the_reports_say() -> None:
    folder = os.environ["EXTRACTBENCH_RUNS"]
    pd.testing.assert_frame_equal(reliability.verdicts(folder), reliability.verdicts())
    pd.testing.assert_frame_equal(reliability.pairs(folder), reliability.pairs())


def test_names_of_shipped_runs_are_short_and_distinct() -> None:
    runs = reliability.verdicts()["run"].unique()
    names = reliability.run_names(runs)
    assert list(names) == list(runs)
    assert list(names.values()) == [
        *(f"Gemini 3 Flash preview, setup {n}" for n in (1, 2, 3)),
        "Claude Haiku 4.5, setup 4",
    ]
    assert reliability.run_names(["a run", "setup1"]) == {"a run": "a run", "setup1": "setup1"}
