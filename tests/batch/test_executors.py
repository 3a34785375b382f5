"""The same results, whoever computes them; and what happens when a worker does not survive."""

import asyncio
import multiprocessing
import os
import signal
import subprocess
import sys
import threading
from concurrent.futures import Executor, Future, ProcessPoolExecutor, ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path

import pytest

import extractbench_nb as xb
from extractbench_nb.core.field_metrics.registry import REGISTRY, metric
from extractbench_nb.runs.evaluate import evaluate_runs
from tests.waiting import PATIENCE, until, wait_until

SCHEMA = {"type": "object", "properties": {"a": {"type": "string", "evaluation_config": "own"}}}


def own_runs(frame_of, count):
    rows = (("r", f"d{n:03}", {"a": str(n)}) for n in range(count))
    return frame_of(*rows, schema=SCHEMA, gold={"a": "7"})


# --- equal results -----------------------------------------------------------------------------


@pytest.fixture(scope="module")
def inputs(sample):
    """A quarter of the sample's outputs: each document once, each run."""
    return {"runs": sample.runs[::4], "dataset": sample, "progress": False}


@pytest.fixture(scope="module")
def expected(inputs):
    return evaluate_runs(**inputs)


@pytest.fixture(scope="module")
def spawned():
    """One process that knows nothing of this one; tests share it."""
    context = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(1, mp_context=context) as pool:
        yield pool


def test_worker_processes(inputs, expected, same):
    same(evaluate_runs(**inputs, n_jobs=2), expected)


def test_threads(inputs, expected, same):
    with ThreadPoolExecutor(3) as pool:
        same(evaluate_runs(**inputs, executor=pool, max_concurrency=2), expected)
        assert pool.submit(int).result() == 0  # the user's pool is left running


def test_dask(inputs, expected, same, tmp_path):
    distributed, dask = map(pytest.importorskip, ("distributed", "dask"))
    patient = {f"distributed.comm.timeouts.{name}": PATIENCE for name in ("connect", "tcp")}
    with (
        dask.config.set(patient | {"distributed.scheduler.worker-ttl": None}),
        distributed.LocalCluster(
            n_workers=1,
            threads_per_worker=1,
            processes=True,
            host="127.0.0.1",
            dashboard_address=None,
            local_directory=str(tmp_path),
        ) as cluster,
        distributed.Client(cluster, timeout=PATIENCE) as client,
    ):
        same(evaluate_runs(**inputs, executor=client.get_executor()), expected)


def test_shards_are_one_partitioned_dataset(sample, expected, tmp_path):
    """What Dask, DuckDB and Polars read of two folders is what both batches have."""
    duckdb, polars = map(pytest.importorskip, ("duckdb", "polars"))
    frames = pytest.importorskip("dask.dataframe")
    for number, runs in enumerate((sample.runs[::8], sample.runs[4::8])):
        folder = tmp_path / f"shard={number}"
        evaluate_runs(runs, dataset=sample, progress=False, save_to=folder)
    files = str(tmp_path / "*" / "fields.parquet")
    passed = expected.fields.groupby("run")["passed"].sum().to_dict()
    query = f"""select run, sum(passed::int), count(distinct shard)
        from read_parquet('{files}', hive_partitioning = true) group by run order by run"""  # noqa: S608
    rows = duckdb.sql(query).fetchall()
    assert [(run, count) for run, count, _ in rows] == list(passed.items())
    assert {shards for *_, shards in rows} <= {1, 2}
    scanned = polars.scan_parquet(files, hive_partitioning=True)
    sums = scanned.group_by("run").agg(polars.col("passed").sum()).sort("run").collect()
    assert dict(sums.iter_rows()) == passed
    with pytest.importorskip("dask").config.set(scheduler="synchronous"):
        found = frames.read_parquet(files).groupby("run")["passed"].sum().compute()
    assert found.sort_index().to_dict() == passed


class Backwards(Executor):
    """Runs what it is given when it has three, the last first; counts what it holds."""

    def __init__(self):
        self.waiting = []
        self.most = 0

    def submit(self, function, /, *args, **kwargs):
        future = Future()
        self.waiting.append((future, function, args))
        self.most = max(self.most, len(self.waiting))
        threading.Timer(0.01, self.work).start()
        return future

    def work(self):
        while self.waiting:
            future, function, args = self.waiting.pop()
            future.set_result(function(*args))


def test_order_does_not_depend_on_completion(frame_of, same):
    rows = [("b" if n % 2 else "a", f"d{n}", {"total": n}) for n in range(120)]
    runs = frame_of(*rows)
    executor = Backwards()
    executor._max_workers = 2
    evs = evaluate_runs(runs, executor=executor, progress=False)
    same(evs, evaluate_runs(runs, progress=False))
    assert evs.summary.document.tolist() == [row[1] for row in rows]
    assert 1 < executor.most <= 6  # bounded, however long the batch


# --- metrics and judges of the user's ----------------------------------------------------------


def test_awaited_metrics_overlap_up_to_the_limit(frame_of):
    now, most, limit = set(), [], 0

    @metric("own")
    async def own(gold, predicted):
        now.add(predicted)
        most.append(len(now))
        await until(lambda: max(most) >= limit)
        now.discard(predicted)
        return gold == predicted

    runs = own_runs(frame_of, 20)
    for limit in (1, 3, 8):
        most.clear()
        evs = evaluate_runs(runs, max_concurrency=limit, progress=False)
        assert max(most) == limit
        assert evs.summary.passed.sum() == 1
    most.clear()
    limit = 5

    async def cell():
        return evaluate_runs(runs, max_concurrency=limit, progress=False)

    asyncio.run(cell())
    assert max(most) == limit


def test_metrics_judges_and_aligners_reach_other_processes(frame_of, same, spawned):
    @metric("own")
    def own(gold, predicted, *, threshold=0.5):
        return 0.6 if gold == predicted else 0.1

    class Fixed:
        name = "fixed"

        def compare(self, gold, predicted):
            return xb.judges.Verdict(0.8, "fixed", gold + predicted)

    def align(gold, predicted, node):
        return [(0, 0)]

    text = {"type": "string", "evaluation_config": "string_semantic"}
    schema = {
        "type": "object",
        "properties": {**SCHEMA["properties"], "t": text, "l": {"type": "array", "items": text}},
    }
    value = {"a": "1", "t": "x", "l": ["p", "q"]}
    rows = [("r", str(n), {**value, "a": str(n), "l": ["q", "p"]}) for n in range(4)]
    runs = frame_of(*rows, schema=schema, gold=value)
    options = {"judge": Fixed(), "alignment": align, "progress": False}
    here = evaluate_runs(runs, **options)
    same(evaluate_runs(runs, executor=spawned, **options), here)
    assert here.fields.loc[here.fields.metric == "own", "score"].tolist() == [0.1, 0.6, 0.1, 0.1]
    assert "fixed" in here.fields.reason.tolist()
    assert here.arrays.matched.tolist() == [1] * 4


def test_a_worker_forgets_metrics_that_were_changed(frame_of, spawned):
    runs = own_runs(frame_of, 2)
    text = frame_of(
        ("r", "d", {"a": "x"}),
        schema={"type": "object", "properties": {"a": {"type": "string"}}},
        gold={"a": "x"},
    )

    def score(runs):
        return evaluate_runs(runs, executor=spawned, progress=False).fields.score[0]

    builtin = REGISTRY.entries["string_semantic"]
    for value in (0.25, 0.75):
        metric("own")(lambda gold, predicted, value=value: value)
        assert score(runs) == value
        replaced = REGISTRY.get("own")
        REGISTRY.entries["string_semantic"] = replace(replaced, name="string_semantic")
        assert score(text) == value
    REGISTRY.entries["string_semantic"] = builtin
    assert score(text) == 1.0
    assert REGISTRY.entries["string_semantic"] is builtin


def test_what_cannot_be_sent_is_said_before_any_work(frame_of):
    class Holding:
        name = "holding"
        lock = None

        def __init__(self):
            self.lock = threading.Lock()

        def compare(self, gold, predicted):
            with self.lock:
                return xb.judges.Verdict(1.0, "same")

    runs = frame_of(("r", "d", {"seller": "x"}))
    with pytest.raises(xb.InputError, match=r"judge.*cannot be sent.*lock.*ThreadPoolExecutor"):
        evaluate_runs(runs, judge=Holding(), n_jobs=2, progress=False)
    with ThreadPoolExecutor(1) as pool:
        assert len(evaluate_runs(runs, judge=Holding(), executor=pool, progress=False)) == 1


def test_outputs_that_cannot_be_sent_are_evaluated_all_the_same(frame_of, same, spawned):
    deep = []
    for _ in range(5_000):
        deep = [deep]
    runs = frame_of(("r", "deep", {"seller": deep}), ("r", "lock", {"seller": threading.Lock()}))
    found = evaluate_runs(runs, executor=spawned, progress=False)
    same(found, evaluate_runs(runs, progress=False))


SCRIPT = """
import sys
import pandas as pd
import extractbench_nb as xb
from extractbench_nb.runs import evaluate_runs

LIMIT = 3

@xb.metric("own")
def own(gold, predicted):
    return len(predicted) > LIMIT

schema = {"type": "object", "properties": {"a": {"type": "string", "evaluation_config": "own"}}}
runs = pd.DataFrame({"run": "r", "document": ["x", "y"], "predicted": [{"a": "xxxx"}, {"a": "y"}],
                     "schema": [schema] * 2, "gold": [{"a": ""}] * 2})
evs = evaluate_runs(runs, n_jobs=2, progress=False)
sys.stdout.write(str(evs.summary.passed.tolist()))
"""


def test_metrics_of_the_main_module(tmp_path):
    path = tmp_path / "script.py"
    path.write_text(SCRIPT)
    command = [sys.executable, "-W", "error", str(path)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=PATIENCE, check=False)
    assert (done.stdout, done.stderr) == ("[1, 0]", "")


# --- what goes wrong ---------------------------------------------------------------------------


@pytest.mark.filterwarnings("ignore:metric 'own' replaces")
def test_a_worker_that_dies_is_told_and_finished_work_stays(frame_of, tmp_path):
    @metric("own")
    def own(gold, predicted):
        if predicted == "150":
            os._exit(1)
        return True

    runs = own_runs(frame_of, 200)
    message = r"run 'r', document 'd1\d\d'.*its worker process failed: TerminatedWorkerError"
    with pytest.raises(xb.InputError, match=f"(?s){message}"):
        evaluate_runs(runs, n_jobs=2, progress=False, save_to=tmp_path / "b")
    metric("own")(_as_before)
    runs = runs[runs.document < "d100"]
    with pytest.raises(xb.InputError, match="with another metric 'own'"):
        evaluate_runs(runs, progress=False, resume=tmp_path / "b")


def _as_before(gold, predicted):
    return True


def test_one_bad_gold_keeps_nothing_else_from_being_finished(frame_of, tmp_path, spawned):
    metric("own")(_as_before)
    runs = own_runs(frame_of, 40)
    runs.loc[5, "gold"] = "{"
    for options in ({}, {"executor": spawned}):
        folder = tmp_path / str(len(options))
        with pytest.raises(xb.InputError, match="run 'r', document 'd005': gold text is not JSON"):
            evaluate_runs(runs, progress=False, save_to=folder, **options)
        runs.loc[5, "gold"] = "{}"
        evs = evaluate_runs(runs, progress=False, resume=folder)
        assert evs.meta["reused"] >= 7
        assert evs.meta["reused"] + evs.meta["evaluated"] == 40
        runs.loc[5, "gold"] = "{"


INTERRUPTED = """
import os, signal, sys, threading
signal.signal(signal.SIGINT, signal.default_int_handler)  # a background shell ignores it
import pandas as pd
import extractbench_nb as xb
from extractbench_nb.runs import evaluate_runs

@xb.metric("own")
def own(gold, predicted):
    if predicted > "040":
        open(sys.argv[1] + ".begun", "w").close()
        threading.Event().wait()
    return True

schema = {"type": "object", "properties": {"a": {"type": "string", "evaluation_config": "own"}}}
names = [f"{n:03}" for n in range(100)]
runs = pd.DataFrame({"run": "r", "document": names, "predicted": [{"a": n} for n in names],
                     "schema": [schema] * 100, "gold": [{"a": "x"}] * 100})
evaluate_runs(runs, n_jobs=2, progress=False, save_to=sys.argv[1])
"""


def members_of(session):
    """Processes of a session, zombies left out."""
    found = []
    for stat in Path("/proc").glob("[0-9]*/stat"):
        try:
            fields = stat.read_text().rpartition(")")[2].split()
        except OSError:
            continue
        if fields[3] == str(session) and fields[0] != "Z":
            found.append(int(stat.parent.name))
    return found


@pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="needs /proc")
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGKILL], ids=["interrupt", "kill"])
def test_no_process_is_left_over(number, tmp_path):
    script, folder = tmp_path / "script.py", tmp_path / "batch"
    script.write_text(INTERRUPTED)
    command = [sys.executable, str(script), str(folder)]
    with subprocess.Popen(command, stderr=subprocess.PIPE, start_new_session=True) as process:
        begun = Path(f"{folder}.begun")
        wait_until(lambda: begun.exists() or process.poll() is not None)
        assert len(members_of(process.pid)) >= 3
        process.send_signal(number)
        try:
            error = process.communicate(timeout=PATIENCE)[1].decode()
            wait_until(lambda: not members_of(process.pid))
        finally:
            for left_over in members_of(process.pid):
                os.kill(left_over, signal.SIGKILL)
    if number == signal.SIGINT:
        assert error.rstrip().endswith("KeyboardInterrupt")
