"""Outputs of runs, stage by stage: parsed and validated, evaluated, put into tables."""

from collections.abc import Callable
from typing import Any, NamedTuple

import pandas as pd
import pytest

import extractbench_nb as xb
from extractbench_nb.runs.outputs import predictions
from extractbench_nb.stats.failures import failure_positions, validity_by_length
from tests.attempts import outputs
from tests.benchmarks.evaluators import label

OURS = label("extractbench-nb")
CORES = 2


class Work(NamedTuple):
    """What a stage begins with, made once by the stages before it."""

    group: str
    dataset: xb.runs.Dataset
    models: list[str]
    cores: int
    outputs: pd.DataFrame
    attempts: pd.DataFrame


class Tables(NamedTuple):
    baseline: xb.benchmark.BaselineTables
    parts: list[pd.DataFrame]
    failures: list[pd.DataFrame]


#: How outputs end, in turn.
ENDINGS = ["none", "none", "empty_response", "none", "trailing_comma", "truncated_json", "none"]


def evaluated(work: Work) -> xb.runs.Evaluations:
    rows = predictions(work.attempts)
    return xb.evaluate_runs(rows, dataset=work.dataset, n_jobs=work.cores, progress=False)


def summed_up(work: Work, attempts: pd.DataFrame) -> xb.benchmark.BaselineTables:
    return xb.benchmark.baseline_tables(attempts, work.dataset, n_jobs=work.cores)


def failure_tables(attempts: pd.DataFrame, dataset: xb.runs.Dataset) -> list[pd.DataFrame]:
    return [
        xb.stats.failure_modes(attempts),
        xb.stats.failure_modes(attempts, ["run", "domain"]),
        failure_positions(attempts),
        *(validity_by_length(attempts, dataset, of) for of in ("gold_tokens", "pdf_tokens")),
        validity_by_length(attempts, dataset, by="run"),
    ]


def whole(work: Work) -> Tables:
    """Go from texts to all tables."""
    attempts = xb.read_outputs(work.outputs, work.dataset)
    found = summed_up(work, attempts)
    schemas = work.dataset.schemas["schema"]
    parts = [found.table, *map(found.of_schema, schemas), found.of_schema("overall")]
    return Tables(found, parts, failure_tables(attempts, work.dataset))


@pytest.fixture(scope="module", params=["extractbench", "sample"])
def work(
    request: pytest.FixtureRequest, dataset: Callable[[str], xb.runs.Dataset], *, quick: bool
) -> Work:
    loaded = dataset(request.param)
    models = [f"model {number}" for number in range(2 if quick else 6)]
    runs = [outputs(model, ENDINGS, loaded, dropped=0.1) for model in models]
    texts = pd.concat(runs, ignore_index=True)
    group = f"runs of six models, {len(loaded.documents)} documents"
    cores = 1 if quick else CORES
    return Work(group, loaded, models, cores, texts, xb.read_outputs(texts, loaded))


def note(benchmark: Any, work: Work, more: str) -> None:
    benchmark.extra_info["work"] = f"{len(work.outputs)} outputs, {more}"


def test_parse_and_validate(work: Work, timed: Any, benchmark: Any) -> None:
    name = f"{OURS}, parse and validate"
    found = timed(work.group, name, xb.read_outputs, work.outputs, work.dataset, rounds=5, warm=1)
    assert found["failure"].tolist() == work.attempts["failure"].tolist()
    note(benchmark, work, f"{found['valid'].sum()} valid")


def test_evaluate(work: Work, timed: Any, benchmark: Any) -> None:
    name = f"{OURS}, evaluate on {CORES} cores"
    evs = timed(work.group, name, evaluated, work, rounds=2, warm=0)
    assert len(evs) == len(work.outputs)
    assert evs.summary.loc[work.attempts["valid"].to_numpy(), "passed"].mean() > 1
    note(benchmark, work, f"{len(evs.fields):,} field rows")


def test_baseline_tables(work: Work, timed: Any, benchmark: Any) -> None:
    name = f"{OURS}, evaluate and sum up as Tables 5, 9 to 13"
    found = timed(work.group, name, summed_up, work, work.attempts, rounds=2, warm=0)
    total = found.of_schema("overall").loc["total"]
    assert (total["documents"], total["valid"]) == (len(work.outputs), work.attempts["valid"].sum())
    assert 0 < total["pass_rate"] < total["ceiling"]
    note(benchmark, work, f"{len(found.results)} rows")


def test_failure_tables(work: Work, timed: Any, benchmark: Any) -> None:
    name = f"{OURS}, failure tables"
    found = timed(work.group, name, failure_tables, work.attempts, work.dataset, rounds=5, warm=1)
    check_failures(found, work)
    note(benchmark, work, f"{len(found)} tables")


def test_whole_chain(work: Work, timed: Any, benchmark: Any) -> None:
    name = f"{OURS}, from texts to all tables"
    found = timed(work.group, name, whole, work, rounds=2, warm=0)
    check_failures(found.failures, work)
    assert found.baseline.failures.equals(found.failures[0])
    assert [len(part) for part in found.parts] == [len(work.models) + 1] * len(found.parts)
    note(benchmark, work, f"{len(found.parts) + len(found.failures)} tables")


def check_failures(tables: list[pd.DataFrame], work: Work) -> None:
    """The tables hold the failures that were put in, and all attempts."""
    counts = work.attempts["failure"].value_counts().drop("none")
    by_run, by_both, places, *lengths = tables
    for table in (by_run, by_both):
        assert table.iloc[:-1, -1].to_dict() == counts.to_dict()
    assert places.groupby("failure")["attempts"].sum().to_dict() == counts.to_dict()
    assert [table["attempts"].sum() for table in lengths] == [len(work.outputs)] * 3
