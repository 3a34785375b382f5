"""Batches: outputs a second on one and two cores, on a Dask cluster, and memory meanwhile."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

import extractbench_nb as xb
from extractbench_nb.runs import evaluate_runs, load_evaluations
from tests.benchmarks.evaluators import label
from tests.benchmarks.workloads import generated_runs, synthetic_dataset

OURS = label("extractbench-nb")
RUNS = 5
#: Documents: as many as the figures are for, and few where nothing is timed.
MANY, FEW = 2_000, 8

MEASURED = """
import json, sys
import extractbench_nb as xb
from extractbench_nb.runs import evaluate_runs

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

#: Two worker processes, those of ``n_jobs`` or of a Dask cluster: seconds, and peaks of memory.
TWO_WORKERS = """
import json, resource, sys, time
import extractbench_nb as xb
from extractbench_nb.runs import evaluate_runs

def peak():
    status = open("/proc/self/status").read()
    return int(status.partition("VmHWM:")[2].split()[0]) / 1024

def evaluate(**options):
    started = time.perf_counter()
    evs = evaluate_runs(dataset, save_to=sys.argv[2], progress=False, **options)
    return evs.meta["evaluated"], time.perf_counter() - started

if __name__ == "__main__":
    dataset = xb.load_dataset(sys.argv[1])
    if sys.argv[3] == "n_jobs=2":
        found = evaluate(n_jobs=2)
        workers = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss / 1024
    else:
        from distributed import Client, LocalCluster
        with (
            LocalCluster(
                n_workers=2,
                threads_per_worker=1,
                host="127.0.0.1",
                dashboard_address=None,
                local_directory=sys.argv[2] + "-scratch",
            ) as cluster,
            Client(cluster) as client,
        ):
            found = evaluate(executor=client.get_executor())
            workers = max(client.run(peak).values())
    sys.stdout.write(json.dumps([*found, peak(), workers]))
"""


@pytest.fixture(scope="module")
def batch(dataset, tmp_path_factory, request) -> xb.runs.Dataset:
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
    assert evs.summary.valid.mean() > 0.99
    assert evs.summary.pass_rate.between(0.3, 0.99).mean() > 0.5
    work = f"{outputs:,} outputs"
    if benchmark.stats is not None:
        work += f", {outputs / benchmark.stats.stats.min:.0f} a second"
    benchmark.extra_info["work"] = work


@pytest.mark.parametrize("cores", [1, 2])
def test_schemas_nobody_has_seen(cores, quick, timed, benchmark, tmp_path):
    """Schemas of 10 to 400 keys; starting the second process is part of it."""
    runs = generated_runs(3, 6) if quick else generated_runs()
    folders = iter(range(100))

    def run():
        folder = tmp_path / str(next(folders))
        return evaluate_runs(runs, n_jobs=cores, save_to=folder, progress=False)

    name = f"{OURS}, {cores} core{'s' if cores > 1 else ''}"
    evs = timed("batch to disk, unseen schemas", name, run, rounds=1, warm=0)

    assert len(evs) == len(runs)
    assert evs.summary.valid.all()
    work = f"{len(runs)} outputs, {runs.schema.map(id).nunique()} schemas"
    if benchmark.stats is not None:
        work += f", {len(runs) / benchmark.stats.stats.min:.0f} a second"
    benchmark.extra_info["work"] = work


@pytest.fixture(scope="module")
def digests() -> dict[str, str]:
    """The digest of the results of each kind of workers."""
    return {}


@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="needs /proc")
@pytest.mark.parametrize("workers", ["n_jobs=2", "Dask"])
def test_two_workers(workers, batch, digests, timed, benchmark, tmp_path):
    """The rows are the same; time without the start of the cluster, memory of each process."""
    if workers == "Dask":
        pytest.importorskip("distributed")
    script, folder = tmp_path / "two_workers.py", tmp_path / "b"
    script.write_text(TWO_WORKERS, encoding="utf-8")

    def run():
        command = [sys.executable, str(script), str(batch.root), str(folder), workers]
        done = subprocess.run(command, check=True, capture_output=True)
        return json.loads(done.stdout)

    found = timed("batch to disk, two workers", f"{OURS}, {workers}", run, rounds=1, warm=0)

    evaluated, seconds, main, worker = found
    assert evaluated == len(batch.documents) * RUNS
    digests[workers] = json.loads((folder / "batch.json").read_text())["digest"]
    assert len(set(digests.values())) == 1
    work = f"{evaluated:,} outputs in {seconds:.1f} s, {evaluated / seconds:.0f} a second"
    benchmark.extra_info["work"] = f"{work}; peak {main:.0f} MB, of a worker {worker:.0f} MB"


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
