"""Who evaluates the chunks: this process, worker processes, or an executor of the user's."""

from __future__ import annotations

import pickle
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
from itertools import islice
from typing import Any

from extractbench_nb._pools import worker_count, worker_pool
from extractbench_nb.batch.remote import pack_context, run_packed
from extractbench_nb.batch.worker import Context, Done, Failed, Task, run_chunk
from extractbench_nb.errors import InputError
from extractbench_nb.metrics import Metric

__all__ = ["Pool", "Runner", "Work"]

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
        """Make what evaluates, and clean up afterwards.

        Parameters
        ----------
        work : Work
            What there is to do.

        Yields
        ------
        callable
            From an iterable of tasks to an iterator of the results of each chunk.
        """
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
