"""Evaluation of chunks: in this process, in worker processes, or by a user's executor."""

from __future__ import annotations

import asyncio
import os
import pickle
import time
import traceback
import uuid
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import (
    FIRST_COMPLETED,
    CancelledError,
    Executor,
    Future,
    ThreadPoolExecutor,
    wait,
)
from dataclasses import dataclass, replace
from functools import lru_cache
from itertools import islice
from pathlib import Path
from typing import Any, NamedTuple

import pandas as pd

from extractbench_nb.core import (
    REGISTRY,
    RULES,
    Accepted,
    Aligner,
    Metric,
    Profile,
    Rule,
    Run,
    read_predicted,
)
from extractbench_nb.core.schema import Schema
from extractbench_nb.core.text import Judge, OfflineJudge
from extractbench_nb.core.values import read_document
from extractbench_nb.errors import ExtractBenchError, InputError, needs
from extractbench_nb.runs.inputs import Cell, Plan, evaluated_source, read_output
from extractbench_nb.runs.rows import BATCH_RULES, Part, packed_part, rows_of
from extractbench_nb.support.concurrency import run_anywhere, worker_count, worker_pool
from extractbench_nb.support.files import source_hash


class Task(NamedTuple):
    """One output to evaluate: its position in the batch, the key of its schema, its inputs."""

    position: int
    schema: str
    gold: Any
    predicted: Any
    accepted: Accepted = Accepted()


class Finished(NamedTuple):
    """One evaluated output: its entries of the summary, and the rows of each part.

    ``settled`` is False if a metric gave no verdict; the output is evaluated again on resuming.
    """

    position: int
    summary: tuple[Any, ...]
    parts: dict[str, Part]
    settled: bool


class Failed(NamedTuple):
    """An output that could not be evaluated, and why."""

    position: int
    problem: str
    trace: str | None


#: The results of a chunk.
Done = list[Finished | Failed]


@dataclass(frozen=True)
class Context:
    """What all chunks share: the options, and the schemas by key."""

    judge: Judge
    alignment: str | Aligner
    profile: Profile
    max_concurrency: int
    schemas: Mapping[str, Schema]
    outputs: int


def run_chunk(context: Context, tasks: Sequence[Task]) -> Done:
    """Evaluate the outputs of a chunk, also where an event loop is running (a notebook cell)."""
    gate = asyncio.Semaphore(context.max_concurrency)

    async def run(task: Task) -> Finished | Failed:
        async with gate:
            return await _run_one(context, task)

    async def run_all() -> Done:
        return list(await asyncio.gather(*map(run, tasks)))

    return run_anywhere(run_all())


async def _run_one(context: Context, task: Task) -> Finished | Failed:
    try:
        output = read_output(task.predicted)
        evaluation = await Run(
            context.schemas[task.schema],
            task.gold,
            evaluated_source(output, task.gold),
            judge=context.judge,
            alignment=context.alignment,
            profile=context.profile,
            checked=True,
            accepted=task.accepted if output.message is None else Accepted(),
        ).complete()
        scores, parts = rows_of(evaluation, output.message)
        summary = (output.message is None, output.message, output.line, output.column, *scores)
        return Finished(task.position, summary, parts, evaluation.is_settled)
    except Exception as error:  # noqa: BLE001 - an aligner may raise anything
        return failure(task.position, error)


def failure(position: int, error: Exception) -> Failed:
    """Describe why an output failed; with the traceback if the error is not one of ours."""
    if isinstance(error, ExtractBenchError):
        return Failed(position, str(error), None)
    trace = "".join(traceback.format_exception(error))
    return Failed(position, f"{type(error).__name__}: {error}", trace)


# --- chunks ---------------------------------------------------------------------------------------

#: From tasks to their results, chunk by chunk, in the order in which they are done.
Chunks = Generator[Done, None, None]
Runner = Callable[[Iterator[Task]], Chunks]
Submit = Callable[[Sequence[Task]], "Future[Done]"]

_LARGEST = 32
#: Chunks per worker; with many, the workers finish at nearly the same time.
_CHUNKS_A_WORKER = 8
#: Chunks that wait in the queue, per worker.
_AHEAD = 2
#: Processes take about a second to start: they are for work of more seconds than `_WORTH`, which is
#: estimated after `_TRIAL` seconds in this process.
_WORTH, _TRIAL = 2.0, 0.3


def count_workers(n_jobs: Any, executor: Any) -> int:
    """Check the two options, and return the number of workers; 1 is this process."""
    workers = worker_count(n_jobs)
    if executor is None:
        return workers
    if n_jobs != 1:
        raise InputError(f"n_jobs={n_jobs} and executor= are both set; pass only one of them")
    if not isinstance(executor, Executor):
        raise InputError(
            f"executor is {executor!r}; expected a concurrent.futures.Executor, such as "
            "ProcessPoolExecutor() or a Dask client's get_executor()"
        )
    threads_or_processes = getattr(executor, "_max_workers", None) or 0
    return int(threads_or_processes) if threads_or_processes > 0 else worker_count(-1)


def runner(context: Context, workers: int, executor: Executor | None) -> Runner:
    """Make what evaluates outputs: this process, worker processes, or an executor of the user's.

    Worker processes are started when outputs take long enough to be worth it. That is known only of
    the package's own metrics: with metrics, judges or aligners of the user's they start at once.
    """
    # many chunks, but with enough outputs in each for awaited calls to overlap
    overlapping = min(context.max_concurrency, -(-context.outputs // workers))
    many = context.outputs // (workers * _CHUNKS_A_WORKER)
    size = max(1, min(_LARGEST, max(overlapping, many)))
    slots = workers * (1 + _AHEAD)
    has_own_code = not isinstance(context.judge, OfflineJudge) or (
        not isinstance(context.alignment, str) or custom_metrics(context.schemas.values())
    )

    def here(tasks: Iterator[Task]) -> Chunks:
        for chunk in _chunks(tasks, context.max_concurrency):
            yield run_chunk(context, chunk)

    def in_processes(tasks: Iterator[Task]) -> Chunks:
        started, done = time.perf_counter(), 0
        while not has_own_code:
            chunk = [*islice(tasks, context.max_concurrency)]
            if not chunk:
                return
            yield run_chunk(context, chunk)
            done += len(chunk)
            seconds, remaining = time.perf_counter() - started, context.outputs - chunk[-1].position
            if seconds > _TRIAL and seconds / done * remaining > _WORTH:
                break
        with worker_pool(workers, __name__) as pool:
            yield from _bounded(_submitting(pool, *sent), _chunks(tasks, size), slots)

    if isinstance(executor, ThreadPoolExecutor):  # threads share the context
        submit: Submit = lambda chunk: executor.submit(run_chunk, context, chunk)  # noqa: E731
        return lambda tasks: _bounded(submit, _chunks(tasks, size), slots)
    if executor is None and workers == 1:
        return here
    sent = context, *_packed(context)  # what cannot be sent is an error before any work
    if executor is None:
        return in_processes
    submit = _submitting(executor, *sent)
    return lambda tasks: _bounded(submit, _chunks(tasks, size), slots)


def _chunks(tasks: Iterator[Task], size: int) -> Iterator[list[Task]]:
    while chunk := list(islice(tasks, size)):
        yield chunk


def _bounded(submit: Submit, chunks: Iterator[list[Task]], slots: int) -> Chunks:
    """Keep a bounded number of chunks in flight; cancel those that have not begun at the end."""
    pending: dict[Future[Done], list[Task]] = {}
    try:
        while True:
            for chunk in islice(chunks, slots - len(pending)):
                try:
                    future = submit(chunk)
                except Exception as error:  # noqa: BLE001 - a pool that broke meanwhile refuses more
                    future = Future()
                    future.set_exception(error)
                pending[future] = chunk
            if not pending:
                return
            done, _ = wait(pending, return_when=FIRST_COMPLETED)
            for future in done:
                chunk = pending.pop(future)
                try:
                    results = future.result()
                except (Exception, CancelledError) as error:  # noqa: BLE001 - whatever ends a worker is reported
                    problem = f"its worker process failed: {type(error).__name__}: {error}"
                    results = [Failed(task.position, problem, None) for task in chunk]
                yield results
    finally:
        for future in pending:
            future.cancel()


# --- other processes ------------------------------------------------------------------------------

_TOKEN = uuid.uuid4().hex
#: Parsed schemas that a worker keeps.
_MOST_SCHEMAS = 200
#: Registry entries that metrics of another process have replaced in this one.
_replaced: dict[str, Metric | None] = {}


def _submitting(
    executor: Executor, context: Context, packed: bytes, schemas: Mapping[str, bytes]
) -> Submit:
    """Return what sends a chunk to other processes, with the context and the schemas it needs."""

    def submit(chunk: Sequence[Task]) -> Future[Done]:
        try:
            tasks = pickle.dumps(chunk)
        except Exception:  # noqa: BLE001 - nested too deep, or no JSON: evaluated here
            here: Future[Done] = Future()
            here.set_result(run_chunk(context, chunk))
            return here
        named = {task.schema: schemas[task.schema] for task in chunk}
        return executor.submit(run_packed, packed, named, tasks)

    return submit


def _packed(context: Context) -> tuple[bytes, dict[str, bytes]]:
    """Pickle the context and each schema; metrics come first, since the schemas name them."""
    cloudpickle = needs("cloudpickle", "batch")  # it comes with loky
    try:
        metrics = custom_metrics(context.schemas.values())
        content = cloudpickle.dumps(replace(context, schemas={}))
        packed = cloudpickle.dumps((_origin(), metrics, content))
        return packed, {key: cloudpickle.dumps(s) for key, s in context.schemas.items()}
    except Exception as error:
        raise InputError(
            f"the judge, the alignment or a metric cannot be sent to another process "
            f"({type(error).__name__}: {error}); use n_jobs=1 or executor=ThreadPoolExecutor()"
        ) from error


def run_packed(packed: bytes, schemas: Mapping[str, bytes], tasks: bytes) -> Done:
    """Run a chunk in a worker process; `schemas` are those of its tasks."""
    context, parsed = _unpacked(packed)
    for key in schemas.keys() - parsed.keys():
        parsed[key] = pickle.loads(schemas[key])  # noqa: S301 - packed by this package
    context = replace(context, schemas={key: parsed[key] for key in schemas})
    for key in [*parsed][:-_MOST_SCHEMAS]:
        parsed.pop(key, None)
    done = run_chunk(context, pickle.loads(tasks))  # noqa: S301 - packed by this package
    return [item if isinstance(item, Failed) else packed_parts(item) for item in done]


def packed_parts(item: Finished) -> Finished:
    """Pack the rows of an output."""
    return item._replace(parts={name: packed_part(name, part) for name, part in item.parts.items()})


@lru_cache(maxsize=1)
def _unpacked(packed: bytes) -> tuple[Context, dict[str, Schema]]:
    """Restore a context; in another process its metrics are registered.

    The schemas that this process has parsed are kept beside it.
    """
    origin, metrics, content = pickle.loads(packed)  # noqa: S301 - packed by this package
    if origin != _origin():
        for name, before in _replaced.items():
            REGISTRY.entries.pop(name, None)
            if before is not None:
                REGISTRY.entries[name] = before
        _replaced.clear()
        _replaced.update({name: REGISTRY.entries.get(name) for name in metrics})
        REGISTRY.entries.update(metrics)
    context: Context = pickle.loads(content)  # noqa: S301 - packed by this package
    return context, {}


def _origin() -> tuple[int, str]:
    """Identify this process; a fork has the same token."""
    return os.getpid(), _TOKEN


def custom_metrics(schemas: Iterable[Schema]) -> dict[str, Metric]:
    """Return the user's metrics that schemas name, and those that replace built-in ones."""
    built_in = REGISTRY.built_in
    own = {name: m for name, m in REGISTRY.entries.items() if m is not built_in.get(name)}
    named = {
        spec.metric_id
        for schema in (schemas if own else ())
        for node in schema.nodes()
        if node.config is not None
        for spec in node.config.metrics
    }
    return {name: own[name] for name in own if name in named or name in built_in}


# --- cross-field rules ----------------------------------------------------------------------------


class CheckedRules(NamedTuple):
    """The outcomes of rules over a batch; ``sources`` has a hash of each rule's source."""

    sources: Mapping[str, str]
    rows: tuple[tuple[Any, ...], ...]

    def frame(self) -> pd.DataFrame:
        """Make the frame ``rules`` of a batch."""
        return BATCH_RULES.from_rows(self.rows)


def check_batch(plan: Plan) -> CheckedRules | None:
    """Run the registered rules over gold and outputs, in this process; None without rules."""
    rules = tuple(RULES.values())
    if not rules:
        return None
    rows: list[tuple[Any, ...]] = []
    of_golds: dict[Any, list[tuple[Rule, Any]]] = {}  # the runs share gold
    for cell in plan.cells:
        key = (_gold_key(cell), cell.schema, cell.schema_key)
        if key not in of_golds:
            names = plan.schemas[cell.schema_key].names(cell.schema)
            wanted = [made for made in rules if made.is_for(names)]
            gold = read_document(plan.gold(cell), "gold") if wanted else None
            of_golds[key] = [(made, made.check(gold)) for made in wanted]
        if of_golds[key]:
            output = read_output(cell.predicted)
            value, problem = read_predicted(output.source)
            is_read = output.message is None and problem is None
            for made, of_gold in of_golds[key]:
                of_output = made.check(value) if is_read else None
                rows.append((*cell.ids, *made.row(of_gold, of_output)))
    return CheckedRules({made.name: source_hash(made.function) for made in rules}, tuple(rows))


def _gold_key(cell: Cell) -> Any:
    """Return what two cells share only if they have the same gold."""
    if cell.gold is None:
        return cell.document
    return cell.gold if isinstance(cell.gold, str | Path) else id(cell.gold)
