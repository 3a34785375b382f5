"""Batches: documents a second on one and two cores, and memory while results go to disk."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

import extractbench_nb as xb
from extractbench_nb.batch.run import evaluate_runs, load_evaluations
from tests.benchmarks.evaluators import label
from tests.benchmarks.workloads import synthetic_dataset

OURS = label("extractbench-nb")
RUNS = 5
#: Documents: as many as the figures are for, and few where nothing is timed.
MANY, FEW = 2_000, 8

MEASURED = """
import json, sys
import extractbench_nb as xb
from extractbench_nb.batch import evaluate_runs

dataset = xb.load_dataset(sys.argv[1])
runs = dataset.runs
runs = runs[runs.run < sys.argv[3]]

def peak():
    status = open("/proc/self/status").read()
    return int(status.partition("VmHWM:")[2].split()[0]) / 1024

before = peak()
evs = evaluate_runs(runs, dataset=dataset, save_to=sys.argv[2], progress=False)
sys.stdout.write(json.dumps([evs.meta["evaluated"], before, peak()]))
"""


@pytest.fixture(scope="module")
def batch(dataset, tmp_path_factory, request) -> xb.benchmark.Dataset:
    timed = not request.config.getoption("benchmark_disable")
    folder = tmp_path_factory.mktemp("synthetic")
    return synthetic_dataset(dataset("sample"), folder, MANY if timed else FEW, RUNS)


@pytest.mark.parametrize("cores", [1, 2])
def test_throughput(cores, batch, timed, benchmark, tmp_path):
    outputs = len(batch.documents) * RUNS
    folders = iter(range(100))

    def run():
        folder = tmp_path / str(next(folders))
        return evaluate_runs(batch, n_jobs=cores, save_to=folder, progress=False)

    name = f"{OURS}, {cores} core{'s' if cores > 1 else ''}"
    evs = timed("batch to disk", name, run, rounds=1, warm=0)

    assert len(evs) == outputs
    assert evs.by_run.documents.tolist() == [outputs // RUNS] * RUNS
    assert (evs.summary.outcome == "evaluated").mean() > 0.99
    assert evs.summary.pass_rate.between(0.3, 0.99).mean() > 0.5
    work = f"{outputs:,} outputs"
    if benchmark.stats is not None:
        work += f", {outputs / benchmark.stats.stats.min:.0f} a second"
    benchmark.extra_info["work"] = work


@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="needs /proc")
@pytest.mark.parametrize("runs", [1, RUNS])
def test_memory(runs, batch, timed, benchmark, tmp_path):
    """Peak resident memory of a process that evaluates one run, and all of them."""

    def run():
        command = [sys.executable, "-c", MEASURED, str(batch.root), str(tmp_path / "b")]
        done = subprocess.run([*command, f"run{runs}"], check=True, capture_output=True)
        return json.loads(done.stdout)

    outputs = len(batch.documents) * runs
    name = f"{OURS}, {outputs:,} outputs"
    evaluated, before, after = timed("memory of a batch to disk", name, run, rounds=1, warm=0)

    assert evaluated == outputs == len(load_evaluations(tmp_path / "b"))
    assert before < after
    benchmark.extra_info["work"] = f"peak {after:.0f} MB, {before:.0f} MB before"
