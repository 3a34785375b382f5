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
from contextlib import AbstractContextManager, nullcontext
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
from extractbench_nb.core.text import Judge
from extractbench_nb.core.values import read_document
from extractbench_nb.errors import ExtractBenchError, InputError, needs
from extractbench_nb.runs.inputs import Cell, Plan, evaluated_source, read_output
from extractbench_nb.runs.rows import BATCH_RULES, packed_rows
from extractbench_nb.support.concurrency import run_anywhere, worker_count, worker_pool
from extractbench_nb.support.files import source_hash


class Task(NamedTuple):
    """One output to evaluate: its position in the batch, the key of its schema, and its inputs.

    ``accepted`` are the accepted alternatives of its document.
    """

    position: int
    schema: str
    gold: Any
    predicted: Any
    accepted: Accepted = Accepted()


class Finished(NamedTuple):
    """One evaluated output: the row of the summary, and the packed rows of each part.

    ``settled`` is False if a metric gave no verdict; the output is evaluated again on resuming.
    """

    position: int
    summary: tuple[Any, ...]
    parts: dict[str, bytes]
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
        run = Run(
            context.schemas[task.schema],
            task.gold,
            evaluated_source(output, task.gold),
            judge=context.judge,
            alignment=context.alignment,
            profile=context.profile,
            checked=True,
            accepted=task.accepted if output.message is None else Accepted(),
        )
        evaluation = await run.complete()
        scores, parts = packed_rows(evaluation, output.message)
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


_TOKEN = uuid.uuid4().hex
#: Registry entries that metrics of another process have replaced in this one.
_replaced: dict[str, Metric | None] = {}


def run_packed(packed: bytes, schemas: Mapping[str, bytes], tasks: bytes) -> Done:
    """Run a chunk in a worker process; `schemas` are those of its tasks."""
    context, parsed = _unpacked(packed)
    for key in schemas.keys() - parsed.keys():
        parsed[key] = pickle.loads(schemas[key])  # noqa: S301 - packed by this package
    context = replace(context, schemas={key: parsed[key] for key in schemas})
    for key in [*parsed][:-_MOST_SCHEMAS]:
        parsed.pop(key, None)
    return run_chunk(context, pickle.loads(tasks))  # noqa: S301 - packed by this package


@lru_cache(maxsize=1)
def _unpacked(packed: bytes) -> tuple[Context, dict[str, Schema]]:
    """Restore what `_submitting` packed; in another process its metrics are registered.

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


#: From tasks to their results, chunk by chunk, in the order in which they are done.
Runner = Callable[[Iterable[Task]], Iterator[Done]]

_LARGEST = 32
#: Parsed schemas that a worker keeps.
_MOST_SCHEMAS = 200
#: Chunks per worker; with many, the workers finish at nearly the same time.
_CHUNKS_A_WORKER = 8
#: Chunks that wait in the queue, per worker.
_AHEAD = 2


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
    threads_or_processes = getattr(executor, "_max_workers", None)
    if threads_or_processes and threads_or_processes > 0:
        return int(threads_or_processes)
    return worker_count(-1)


def start_workers(
    workers: int, executor: Executor | None
) -> AbstractContextManager[Executor | None]:
    """Return what evaluates outputs: a user's executor, new processes, or None for this process."""
    if executor is None and workers > 1:
        return worker_pool(workers, __name__)
    return nullcontext(executor)


def runner(context: Context, workers: int, executor: Executor | None) -> Runner:
    """Make what evaluates outputs: by an executor, or in this process if there is none."""
    if executor is None:
        size = context.max_concurrency
        return lambda tasks: (run_chunk(context, chunk) for chunk in _chunks(tasks, size))
    submit = _submitting(executor, context)
    # many chunks, but with enough outputs in each for awaited calls to overlap
    overlapping = min(context.max_concurrency, -(-context.outputs // workers))
    many = context.outputs // (workers * _CHUNKS_A_WORKER)
    size = max(1, min(_LARGEST, max(overlapping, many)))
    slots = workers * (1 + _AHEAD)
    return lambda tasks: _bounded(submit, _chunks(tasks, size), slots)


def _chunks(tasks: Iterable[Task], size: int) -> Iterator[list[Task]]:
    drawn = iter(tasks)
    while chunk := list(islice(drawn, size)):
        yield chunk


Submit = Callable[[Sequence[Task]], "Future[Done]"]


def _submitting(executor: Executor, context: Context) -> Submit:
    """Return what sends a chunk to an executor: threads share the context, processes get a copy."""
    if isinstance(executor, ThreadPoolExecutor):
        return lambda chunk: executor.submit(run_chunk, context, chunk)
    cloudpickle = needs("cloudpickle", "batch")  # it comes with loky

    try:
        # metrics are restored first: the schemas in the context name them
        metrics = custom_metrics(context.schemas.values())
        content = cloudpickle.dumps(replace(context, schemas={}))
        packed = cloudpickle.dumps((_origin(), metrics, content))
        schemas = {key: cloudpickle.dumps(schema) for key, schema in context.schemas.items()}
    except Exception as error:
        raise InputError(
            f"the judge, the alignment or a metric cannot be sent to another process "
            f"({type(error).__name__}: {error}); use n_jobs=1 or executor=ThreadPoolExecutor()"
        ) from error

    def submit(chunk: Sequence[Task]) -> Future[Done]:
        try:
            tasks = pickle.dumps(chunk)
        except Exception:  # noqa: BLE001 - nested too deep, or no JSON: evaluated here
            found: Future[Done] = Future()
            found.set_result(run_chunk(context, chunk))
            return found
        named = {task.schema: schemas[task.schema] for task in chunk}
        return executor.submit(run_packed, packed, named, tasks)

    return submit


def _bounded(submit: Submit, chunks: Iterator[list[Task]], slots: int) -> Iterator[Done]:
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
                    found = future.result()
                except (Exception, CancelledError) as error:  # noqa: BLE001 - whatever ends a worker is reported
                    problem = f"its worker process failed: {type(error).__name__}: {error}"
                    found = [Failed(task.position, problem, None) for task in chunk]
                yield found
    finally:
        for future in pending:
            future.cancel()


# --- cross-field rules ----------------------------------------------------------------------------


class CheckedRules(NamedTuple):
    """The outcomes of rules over a batch; ``sources`` has a hash of each rule's source."""

    sources: Mapping[str, str]
    rows: tuple[tuple[Any, ...], ...]

    def frame(self) -> pd.DataFrame:
        """Make the frame ``rules`` of a batch."""
        return BATCH_RULES.from_rows(self.rows)


def check_batch(plan: Plan) -> CheckedRules | None:
    """Run the registered rules over gold and outputs, in this process; None without rules.

    Gold is checked once for all runs.
    """
    rules = tuple(RULES.values())
    if not rules:
        return None
    rows: list[tuple[Any, ...]] = []
    checked: dict[Any, list[tuple[Rule, Any]]] = {}
    for cell in plan.cells:
        key = (_gold_key(cell), cell.schema, cell.schema_key)
        if key not in checked:
            names = plan.schemas[cell.schema_key].names(cell.schema)
            wanted = [made for made in rules if made.is_for(names)]
            gold = read_document(plan.gold(cell), "gold") if wanted else None
            checked[key] = [(made, made.check(gold)) for made in wanted]
        if checked[key]:
            output = read_output(cell.predicted)
            value, problem = read_predicted(output.source)
            is_read = output.message is None and problem is None
            for made, of_gold in checked[key]:
                of_output = made.check(value) if is_read else None
                rows.append((*cell.ids, *made.row(of_gold, of_output)))
    return CheckedRules({made.name: source_hash(made.function) for made in rules}, tuple(rows))


def _gold_key(cell: Cell) -> Any:
    """Return what two cells share only if they have the same gold."""
    if cell.gold is None:
        return cell.document
    return cell.gold if isinstance(cell.gold, str | Path) else id(cell.gold)
