"""Means by number of documents, length and rows; the tables of AOE's released code."""

import json
import math
import os
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from extractbench_nb.construction import (
    fixed_level,
    level_statistics,
    quantile_levels,
    released_statistics,
)
from extractbench_nb.construction.statistics import MEASURES
from extractbench_nb.errors import InputError

FOLDER = os.environ.get("EXTRACTBENCH_CONFORMANCE")

#: The released code's files, and our names of the tables.
FILES = {
    "all_models_domain_average_scores.csv": "domain",
    "all_models_task_average_scores.csv": "task",
    "all_models_overall_average_scores.csv": "overall",
    **{
        f"all_models_domain_{measure.released}_{theirs}_level.csv": f"{measure.released}_{ours}"
        for measure in MEASURES.values()
        for theirs, ours in (("fixed", "fixed"), ("dynamic", "quantile"))
    },
}
DISTRIBUTION = "dataset_fixed_level_distribution_summary.json"


def cases() -> list[Any]:
    if FOLDER is None:
        return []
    lines = (Path(FOLDER) / "aoe_pipeline_dev.jsonl").read_text(encoding="utf-8").splitlines()
    found = [json.loads(line) for line in lines]
    return [pytest.param(c, id=c["id"]) for c in found if c["kind"] == "statistics"]


def same(found: Any, expected: Any) -> bool:
    if expected is None:
        return bool(pd.isna(found))
    if isinstance(expected, float):
        return math.isclose(found, expected, rel_tol=0, abs_tol=1e-9)
    return bool(found == expected)


@pytest.mark.skipif(FOLDER is None, reason="needs the recorded cases")
@pytest.mark.parametrize("case", cases())
def test_recorded_tables(case: Any):
    assert case["input"]["models"] == list(case["input"]["items"])
    found, expected = released_statistics(case["input"]["items"]), case["expected"]
    assert set(expected) == {*FILES, DISTRIBUTION}
    for file, table in FILES.items():
        frame = found[table]
        assert list(frame.columns) == expected[file]["columns"], file
        assert len(frame) == len(expected[file]["rows"]), file
        for row, cells in zip(frame.to_numpy().tolist(), expected[file]["rows"], strict=True):
            assert all(map(same, row, cells)), (file, row, cells)
    counts = expected[DISTRIBUTION]
    for measure, part in found["distribution"].groupby("measure"):
        levels = dict(zip(part["level"], part["tables"], strict=True))
        assert levels == counts[f"{measure}_distribution_fixed"]
        assert sum(levels.values()) == counts["total_unique_items_analyzed"]


def test_no_records_and_records_without_scores():
    for items in ({}, {"m": {}}, {"m": {"legal": [{}, {"record_id": "legal_1_0_zh"}]}}):
        found = released_statistics(items)  # type: ignore[arg-type]
        assert all(frame.empty for frame in found.values())


def test_a_score_that_is_not_a_number():
    scores = {"predict_answer": {"one_piece": {"score1": "many"}}}
    record = {"record_id": "legal_1_0_zh", "scores": scores}
    with pytest.raises(InputError, match="score1 of 'legal_1_0_zh' is 'many'"):
        released_statistics({"m": {"legal": [record]}})


@pytest.mark.parametrize(
    "measure, value, level",
    [
        ("documents", 0, "0-5"),
        ("documents", 5, "0-5"),
        ("documents", 6, "6-10"),
        ("documents", 11, ">10"),
        ("average_length", 9999.99, "<10000"),
        ("average_length", 10000, "10000-20000"),
        ("average_length", 20000, "10000-20000"),
        ("average_length", 20000.01, ">20000"),
        ("rows", 0, "0"),
        ("rows", 3, "1-3"),
        ("rows", 4, "4-7"),
        ("rows", 8, ">7"),
    ],
)
def test_fixed_levels(measure: str, value: float, level: str):
    assert fixed_level(measure, value) == level


@pytest.mark.parametrize(
    "measure, values, ends",
    [
        ("documents", [4, 4], (4, 4)),
        ("documents", [1, 2, 3, 4], (2, 3)),
        ("rows", [1, 8], (1, 8)),
        ("documents", [1, 8], (1 + 7 / 3, 1 + 14 / 3)),
    ],
)
def test_quantiles(measure: str, values: list[float], ends: tuple[float, float]):
    found, labels = quantile_levels(measure, values)
    assert found == pytest.approx(ends)
    assert len(labels) == 3


SCORES = pd.DataFrame(
    {
        "run": ["m", "m", "m", "n"],
        "domain": ["legal", "legal", "finance", "legal"],
        "table": ["a", "b", "c", "a"],
        "documents": [2, 9, 3, 2],
        "rows": [1, 5, 9, 1],
        "cell_f1": [0.5, None, 0.25, 1.0],
        "row_f1": [1.0, 0.5, 0.75, 0.0],
    }
)


def test_means_by_fixed_levels():
    found = level_statistics(SCORES)
    assert found.columns.tolist()[:4] == ["run", "domain", "measure", "level"]
    f1 = found[(found["metric"] == "cell_f1") & (found["measure"] == "documents")]
    assert f1.drop(columns=["measure", "metric"]).to_numpy().tolist() == [
        ["m", "legal", "0-5", 1, 1, 0.5],
        ["m", "legal", "6-10", 1, 0, 0.0],
        ["m", "finance", "0-5", 1, 1, 0.25],
        ["n", "legal", "0-5", 1, 1, 1.0],
    ]
    without = level_statistics(SCORES, failures="missing").query("metric == 'cell_f1'")
    assert without["mean"].isna().sum() == 2  # by documents and by rows


def test_means_of_all_tables_by_quantiles():
    found = level_statistics(SCORES, by=(), levels="quantile", measures=["rows"])
    assert found["level"].unique().tolist() == ["<= 1.00", "1.00 < AC <= 5.00", "> 5.00"]
    assert found["tables"].tolist() == [2, 2, 1, 1, 1, 1]
    missing = SCORES.assign(rows=[1, None, 5, 9])
    levels = level_statistics(missing, by=(), measures=["rows"])["level"]
    assert levels.isna().sum() == 2


@given(
    st.lists(st.integers(0, 12), min_size=1, max_size=20), st.sampled_from(["fixed", "quantile"])
)
def test_every_table_is_in_one_level_and_means_add_up(values: list[int], levels: str):
    scores = pd.DataFrame({"documents": values, "metric": [v / 12 for v in values]})
    found = level_statistics(scores, levels=levels)
    assert found["tables"].sum() == len(values)
    total = (found["tables"] * found["mean"]).sum() / len(values)
    assert total == pytest.approx(scores["metric"].mean())


@pytest.mark.parametrize(
    "call, message",
    [
        (lambda: fixed_level("doc", 1), "no measure 'doc'"),
        (lambda: quantile_levels("rows", []), "no values"),
        (lambda: quantile_levels("rows", [1], 1), "2 or more"),
        (lambda: level_statistics(SCORES, levels="fix"), "did you mean 'fixed'"),
        (lambda: level_statistics(SCORES, failures="drop"), "failures='drop'"),
        (lambda: level_statistics(SCORES[["run"]]), "expected one of documents"),
        (lambda: level_statistics(SCORES[["rows"]]), "at least one metric"),
    ],
)
def test_arguments_that_cannot_be_used(call: Any, message: str):
    with pytest.raises(InputError, match=message):
        call()
