"""Evaluation of chunks: in this process, in worker processes, or by a user's executor."""

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
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass
from functools import lru_cache
from itertools import islice
from typing import Any, NamedTuple

from extractbench_nb._concurrency import run_anywhere, worker_count, worker_pool
from extractbench_nb.batch.inputs import evaluated_source, read_output
from extractbench_nb.batch.rows import invalid_rows, is_settled, packed_rows, rows_of
from extractbench_nb.engine.profiles import Profile
from extractbench_nb.engine.traversal import Aligner
from extractbench_nb.errors import ExtractBenchError, InputError
from extractbench_nb.evaluation.api import Run
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
        run = Run(
            context.schemas[task.schema],
            task.gold,
            evaluated_source(output, task.gold),
            judge=context.judge,
            alignment=context.alignment,
            profile=context.profile,
            checked=True,
        )
        evaluation = await run.complete()
        if output.message is None:
            outcome, (parts, scores) = "evaluated", rows_of(evaluation)
        else:
            outcome, (parts, scores) = "invalid", invalid_rows(evaluation, output.message)
        summary = (outcome, output.message, output.line, output.column, *scores)
        return Finished(task.place, summary, packed_rows(parts), is_settled(evaluation))
    except Exception as error:  # noqa: BLE001 - an aligner may raise anything; it is told where
        return failure(task.place, error)


def failure(place: int, error: Exception) -> Failed:
    """Tell what went wrong with an output; with the traceback if it is not an error of ours."""
    if isinstance(error, ExtractBenchError):
        return Failed(place, str(error), None)
    trace = "".join(traceback.format_exception(error))
    return Failed(place, f"{type(error).__name__}: {error}", trace)


_TOKEN = uuid.uuid4().hex
#: What stood in the registry before metrics of another process took its place.
_replaced: dict[str, Metric | None] = {}


def pack_context(context: Context, metrics: Mapping[str, Metric]) -> bytes:
    """Pack options, schemas and the metrics of the user's, functions of a notebook included."""
    import cloudpickle

    try:
        # metrics come first: the schemas in the context name them
        return bytes(cloudpickle.dumps((_origin(), dict(metrics), cloudpickle.dumps(context))))
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
    origin, metrics, content = pickle.loads(packed)  # noqa: S301 - packed by this package
    if origin != _origin():
        _install(metrics)
    context: Context = pickle.loads(content)  # noqa: S301 - packed by this package
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

_LARGEST = 32
#: Chunks per worker; with many, none waits long for the others at the end.
_CHUNKS_A_WORKER = 8
#: Chunks that wait in the queue, per worker.
_AHEAD = 2


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
    def runner(
        self, context: Context, metrics: Mapping[str, Metric], count: int
    ) -> Iterator[Runner]:
        """Make what evaluates up to `count` outputs, and clean up afterwards.

        The metrics are the user's own, for other processes.
        """
        if self._executor is None and self._workers == 1:
            size = context.max_concurrency
            yield lambda tasks: (run_chunk(context, chunk) for chunk in _chunks(tasks, size))
            return
        workers = self._workers
        given = self._executor
        with nullcontext(given) if given is not None else worker_pool(workers) as executor:
            submit = _submitting(executor, context, metrics)
            # many chunks, but so many outputs in each that awaited calls overlap
            overlapping = min(context.max_concurrency, -(-count // workers))
            size = max(1, min(_LARGEST, max(overlapping, count // (workers * _CHUNKS_A_WORKER))))
            slots = workers * (1 + _AHEAD)
            yield lambda tasks: _bounded(submit, _chunks(tasks, size), slots)


def _chunks(tasks: Iterable[Task], size: int) -> Iterator[list[Task]]:
    drawn = iter(tasks)
    while chunk := list(islice(drawn, size)):
        yield chunk


Submit = Callable[[Sequence[Task]], "Future[Done]"]


def _submitting(executor: Executor, context: Context, metrics: Mapping[str, Metric]) -> Submit:
    """Return what sends a chunk to an executor: threads share the context, processes get a copy."""
    if isinstance(executor, ThreadPoolExecutor):
        return lambda chunk: executor.submit(run_chunk, context, chunk)
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


def _bounded(submit: Submit, chunks: Iterator[list[Task]], slots: int) -> Iterator[Done]:
    """Keep a bounded number of chunks in flight; what is not begun is cancelled at the end."""
    flying: dict[Future[Done], list[Task]] = {}
    try:
        while True:
            for chunk in islice(chunks, slots - len(flying)):
                try:
                    future = submit(chunk)
                except Exception as error:  # noqa: BLE001 - a pool that broke meanwhile refuses more
                    future = Future()
                    future.set_exception(error)
                flying[future] = chunk
            if not flying:
                return
            done, _ = wait(flying, return_when=FIRST_COMPLETED)
            for future in done:
                yield _result(future, flying.pop(future))
    finally:
        for future in flying:
            future.cancel()


def _result(future: Future[Done], chunk: Sequence[Task]) -> Done:
    try:
        return future.result()
    except (Exception, CancelledError) as error:  # noqa: BLE001 - whatever ends a worker is told
        problem = f"its worker failed: {type(error).__name__}: {error}"
        return [Failed(task.place, problem, None) for task in chunk]
