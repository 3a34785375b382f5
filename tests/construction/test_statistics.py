"""Means by number of documents, length and rows."""

from typing import Any

import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from extractbench_nb.construction import level_statistics
from extractbench_nb.errors import InputError

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


@pytest.mark.parametrize(
    "measure, levels",
    [
        ("documents", {0: "0-5", 5: "0-5", 6: "6-10", 11: ">10"}),
        (
            "average_length",
            {9999.99: "<10000", 10000: "10000-20000", 20000: "10000-20000", 20000.01: ">20000"},
        ),
        ("rows", {0: "0", 3: "1-3", 4: "4-7", 8: ">7"}),
    ],
)
def test_fixed_levels(measure: str, levels: dict[float, str]):
    for value, level in levels.items():
        scores = pd.DataFrame({measure: [value], "f1": [0.5]})
        assert level_statistics(scores)["level"].tolist() == [level]


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
    assert found["level"].unique().tolist() == ["<= 1", "1 to 5", "> 5"]
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
    "scores, options, message",
    [
        (SCORES, {"measures": ["doc"]}, "measures='doc'"),
        (SCORES, {"levels": "fix"}, "did you mean 'fixed'"),
        (SCORES, {"quantiles": 1}, "2 or more"),
        (SCORES, {"failures": "drop"}, "failures='drop'"),
        (SCORES[["run"]], {}, "expected one of documents"),
        (SCORES[["rows"]], {}, "at least one metric"),
    ],
)
def test_arguments_that_cannot_be_used(scores: Any, options: dict[str, Any], message: str):
    with pytest.raises(InputError, match=message):
        level_statistics(scores, **options)
