"""Who evaluates the chunks: this process, worker processes, or the user's executor."""

from __future__ import annotations

import asyncio
import os
import pickle
import traceback
import uuid
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import (
    FIRST_COMPLETED,
    CancelledError,
    Executor,
    Future,
    ThreadPoolExecutor,
    wait,
)
from contextlib import contextmanager
from dataclasses import dataclass
from functools import lru_cache
from itertools import islice
from typing import Any, NamedTuple

from extractbench_nb._concurrency import run_anywhere, worker_count, worker_pool
from extractbench_nb._json import read_document
from extractbench_nb.batch.inputs import Output, read_output
from extractbench_nb.batch.rows import invalid_rows, is_settled, packed_rows, rows_of
from extractbench_nb.engine.inputs import Aligner
from extractbench_nb.engine.profiles import Profile
from extractbench_nb.errors import ExtractBenchError, InputError
from extractbench_nb.evaluation.api import Run
from extractbench_nb.evaluation.result import Evaluation
from extractbench_nb.field_metrics.registry import REGISTRY, Metric
from extractbench_nb.judges.base import Judge
from extractbench_nb.schema.nodes import Schema

__all__ = [
    "Context",
    "Done",
    "Failed",
    "Finished",
    "Pool",
    "Runner",
    "Task",
    "Work",
    "failure",
    "pack_context",
    "run_chunk",
    "run_packed",
]


class Task(NamedTuple):
    """One output to evaluate: its place in the batch, the key of its schema, and its inputs."""

    place: int
    schema: str
    gold: Any
    predicted: Any


class Finished(NamedTuple):
    """One evaluated output: the row of the summary, and the packed rows of each part.

    ``settled`` is False where a metric gave no verdict; another time it may.
    """

    place: int
    summary: tuple[Any, ...]
    parts: dict[str, bytes]
    settled: bool


class Failed(NamedTuple):
    """An output that could not be evaluated, and why."""

    place: int
    problem: str
    trace: str | None


#: What became of a chunk.
Done = list[Finished | Failed]


@dataclass(frozen=True)
class Context:
    """What all chunks share: the options, and the schemas by key."""

    judge: str | Judge
    alignment: str | Aligner
    profile: Profile
    max_concurrency: int
    schemas: dict[str, Schema]


def run_chunk(context: Context, tasks: Sequence[Task]) -> Done:
    """Evaluate the outputs of a chunk, also where an event loop is running (a notebook cell)."""
    return run_anywhere(_run_all(context, tasks))


async def _run_all(context: Context, tasks: Sequence[Task]) -> Done:
    gate = asyncio.Semaphore(context.max_concurrency)

    async def run(task: Task) -> Finished | Failed:
        async with gate:
            return await _run_one(context, task)

    return list(await asyncio.gather(*map(run, tasks)))


async def _run_one(context: Context, task: Task) -> Finished | Failed:
    try:
        output = read_output(task.predicted)
        evaluation = await _evaluate(context, task, output)
        if output.message is None:
            outcome, (parts, scores) = "evaluated", rows_of(evaluation)
        else:
            outcome, (parts, scores) = "invalid", invalid_rows(evaluation, output.message)
        summary = (outcome, output.message, output.line, output.column, *scores)
        return Finished(task.place, summary, packed_rows(parts), is_settled(evaluation))
    except Exception as error:  # noqa: BLE001 - an aligner may raise anything; it is told where
        return failure(task.place, error)


def failure(place: int, error: Exception) -> Failed:
    """Tell what went wrong with an output; with the traceback where it is no error of ours."""
    if isinstance(error, ExtractBenchError):
        return Failed(place, str(error), None)
    trace = "".join(traceback.format_exception(error))
    return Failed(place, f"{type(error).__name__}: {error}", trace)


async def _evaluate(context: Context, task: Task, output: Output) -> Evaluation:
    """Evaluate one output; an invalid one as an empty prediction."""
    predicted = output.source
    if output.message is not None:
        predicted = {} if isinstance(read_document(task.gold, "gold"), dict) else None
    run = Run(
        context.schemas[task.schema],
        task.gold,
        predicted,
        judge=context.judge,
        alignment=context.alignment,
        profile=context.profile,
        checked=True,
    )
    return await run.complete()


_TOKEN = uuid.uuid4().hex
#: What stood in the registry before metrics of another process took its place.
_replaced: dict[str, Metric | None] = {}


class _Packed(NamedTuple):
    """Metrics come first: the schemas in the context name them."""

    origin: tuple[int, str]
    metrics: Mapping[str, Metric]
    context: bytes


def pack_context(context: Context, metrics: Mapping[str, Metric]) -> bytes:
    """Pack options, schemas and the metrics of the user's, functions of a notebook included."""
    import cloudpickle

    try:
        packed = _Packed(_origin(), dict(metrics), cloudpickle.dumps(context))
        return bytes(cloudpickle.dumps(packed))
    except Exception as error:
        raise InputError(
            f"the judge, the alignment or a metric cannot be sent to another process "
            f"({type(error).__name__}: {error}); use n_jobs=1 or executor=ThreadPoolExecutor()"
        ) from error


def run_packed(context: bytes, tasks: bytes) -> Done:
    """Run a chunk in a worker process."""
    return run_chunk(_unpacked(context), pickle.loads(tasks))  # noqa: S301 - packed by this package


@lru_cache(maxsize=1)
def _unpacked(packed: bytes) -> Context:
    found: _Packed = pickle.loads(packed)  # noqa: S301 - packed by this package
    if found.origin != _origin():
        _install(found.metrics)
    context: Context = pickle.loads(found.context)  # noqa: S301 - packed by this package
    return context


def _origin() -> tuple[int, str]:
    """Tell this process from others; a fork has the same token."""
    return os.getpid(), _TOKEN


def _install(metrics: Mapping[str, Metric]) -> None:
    for name, before in _replaced.items():
        REGISTRY.entries.pop(name, None)
        if before is not None:
            REGISTRY.entries[name] = before
    _replaced.clear()
    _replaced.update({name: REGISTRY.entries.get(name) for name in metrics})
    REGISTRY.entries.update(metrics)


#: From tasks to their results, chunk by chunk, in the order in which they are done.
Runner = Callable[[Iterable[Task]], Iterator[Done]]

_LARGEST_CHUNK = 32
#: So many chunks a worker, that none waits long for the others at the end.
_CHUNKS_A_WORKER = 8
#: Chunks that wait in the queue, a worker.
_AHEAD = 2


@dataclass(frozen=True)
class Work:
    """What there is to do.

    Parameters
    ----------
    context : Context
        Options and schemas.
    metrics : mapping of str to Metric
        The user's own, for other processes.
    count : int
        How many outputs there are at most.
    """

    context: Context
    metrics: Mapping[str, Metric]
    count: int


class Pool:
    """Who evaluates: this process, new worker processes, or an executor of the user's.

    Parameters
    ----------
    n_jobs : int
        Worker processes; 1 is this process, -1 one a processor.
    executor : concurrent.futures.Executor or None
        The user's; it is left running.

    Raises
    ------
    InputError
        One of the two is not what it should be, or both are given.
    """

    def __init__(self, n_jobs: Any, executor: Any) -> None:
        workers = worker_count(n_jobs)
        if executor is not None and n_jobs != 1:
            raise InputError(f"n_jobs={n_jobs} and executor= are both given; pass one of the two")
        if executor is not None and not isinstance(executor, Executor):
            raise InputError(
                f"executor is {executor!r}; expected a concurrent.futures.Executor, such as "
                "ProcessPoolExecutor() or a Dask client's get_executor()"
            )
        self._executor = executor
        own = getattr(executor, "_max_workers", None) if executor is not None else workers
        self._workers = int(own) if own and own > 0 else worker_count(-1)

    @contextmanager
    def runner(self, work: Work) -> Iterator[Runner]:
        """Make what evaluates, and clean up afterwards."""
        if self._executor is not None:
            yield _on(self._executor, work, self._workers)
        elif self._workers == 1:
            yield lambda tasks: _here(work.context, tasks)
        else:
            with worker_pool(self._workers) as pool:
                yield _on(pool, work, self._workers)


def _here(context: Context, tasks: Iterable[Task]) -> Iterator[Done]:
    drawn = iter(tasks)
    while chunk := list(islice(drawn, context.max_concurrency)):
        yield run_chunk(context, chunk)


def _on(executor: Executor, work: Work, workers: int) -> Runner:
    if isinstance(executor, ThreadPoolExecutor):
        submit = _to_threads(executor, work.context)
    else:
        submit = _to_processes(executor, work.context, work.metrics)
    size = _chunk_size(work.count, workers, work.context.max_concurrency)
    return lambda tasks: _bounded(submit, iter(tasks), size, workers * (1 + _AHEAD))


def _chunk_size(count: int, workers: int, concurrency: int) -> int:
    """Balance: many chunks, but so many outputs in each that awaited calls overlap."""
    overlapping = min(concurrency, -(-count // workers))
    return max(1, min(_LARGEST_CHUNK, max(overlapping, count // (workers * _CHUNKS_A_WORKER))))


Submit = Callable[[Sequence[Task]], "Future[Done]"]


def _to_threads(executor: Executor, context: Context) -> Submit:
    return lambda chunk: executor.submit(run_chunk, context, chunk)


def _to_processes(executor: Executor, context: Context, metrics: Mapping[str, Metric]) -> Submit:
    packed = pack_context(context, metrics)

    def submit(chunk: Sequence[Task]) -> Future[Done]:
        try:
            tasks = pickle.dumps(chunk)
        except Exception:  # noqa: BLE001 - nested too deep, or no JSON: evaluated here
            found: Future[Done] = Future()
            found.set_result(run_chunk(context, chunk))
            return found
        return executor.submit(run_packed, packed, tasks)

    return submit


def _bounded(submit: Submit, tasks: Iterator[Task], size: int, slots: int) -> Iterator[Done]:
    """Keep a bounded number of chunks in flight; what is not begun is cancelled at the end."""
    flying: dict[Future[Done], list[Task]] = {}
    try:
        while True:
            while len(flying) < slots and (chunk := list(islice(tasks, size))):
                flying[_submitted(submit, chunk)] = chunk
            if not flying:
                return
            done, _ = wait(flying, return_when=FIRST_COMPLETED)
            for future in done:
                yield _result(future, flying.pop(future))
    finally:
        for future in flying:
            future.cancel()


def _submitted(submit: Submit, chunk: Sequence[Task]) -> Future[Done]:
    try:
        return submit(chunk)
    except Exception as error:  # noqa: BLE001 - a pool that broke meanwhile refuses more
        refused: Future[Done] = Future()
        refused.set_exception(error)
        return refused


def _result(future: Future[Done], chunk: Sequence[Task]) -> Done:
    try:
        return future.result()
    except (Exception, CancelledError) as error:  # noqa: BLE001 - whatever ends a worker is told
        problem = f"its worker failed: {type(error).__name__}: {error}"
        return [Failed(task.place, problem, None) for task in chunk]
