"""Statistics over a large batch: intervals and tests of every pair of runs."""

import numpy as np
import pandas as pd
import pytest

import extractbench_nb as xb
from tests.benchmarks.evaluators import label

OURS = label("extractbench-nb")
RUNS = 5
MEASURES = ("pass_rate", "overall_score", "field_score")
#: Documents where it is timed, and where it is not.
MANY, FEW = 2_000, 20


@pytest.fixture
def summary(request) -> pd.DataFrame:
    documents = FEW if request.config.getoption("benchmark_disable") else MANY
    random = np.random.default_rng(4)
    rows = [{"run": f"run{r}", "document": f"d{d}"} for r in range(RUNS) for d in range(documents)]
    scores = random.beta(8, 2, size=(len(rows), len(MEASURES)))
    return pd.DataFrame(rows).join(pd.DataFrame(scores, columns=list(MEASURES)))


def test_compare_runs(summary, timed, benchmark):
    name = f"{OURS}, {RUNS} runs x {len(summary) // RUNS:,} documents"
    found = timed("comparing runs", name, xb.compare_runs, summary, rounds=3, warm=1)

    pairs = RUNS * (RUNS - 1) // 2
    assert len(found.scores) == RUNS * len(MEASURES)
    assert len(found.differences) == pairs * len(MEASURES)
    benchmark.extra_info["work"] = f"{len(MEASURES)} measures, 9,999 resamples"
