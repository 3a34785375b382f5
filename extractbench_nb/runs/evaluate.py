"""`evaluate_runs`: chunks of outputs are evaluated here, in processes, or by an executor."""

from __future__ import annotations

import asyncio
import os
import pickle
import sys
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
from contextlib import closing
from dataclasses import dataclass, replace
from functools import lru_cache
from itertools import islice
from pathlib import Path
from typing import Any, NamedTuple

import pandas as pd

from extractbench_nb.core import (
    REGISTRY,
    Accepted,
    Aligner,
    Evaluation,
    Metric,
    Profile,
    Run,
    choose_alignment,
)
from extractbench_nb.core.schema import Schema, SchemaSource
from extractbench_nb.core.text import Judge, OfflineJudge, choose_judge
from extractbench_nb.errors import ExtractBenchError, InputError, needs
from extractbench_nb.runs.dataset import Documents
from extractbench_nb.runs.inputs import (
    IDS,
    SUMMARIES,
    SUMMARY,
    Plan,
    accepted_digests,
    evaluated_source,
    read_output,
    read_runs,
    schema_digests,
)
from extractbench_nb.runs.results import Evaluations, FolderSource, meta_of
from extractbench_nb.runs.storage import (
    PARTS,
    Columns,
    Finished,
    FolderStorage,
    MemoryStorage,
    check_folder,
    open_storage,
    settings_of,
    to_columns,
    write_files,
)
from extractbench_nb.support.concurrency import (
    progress_bar,
    run_anywhere,
    worker_count,
    worker_pool,
)


class Task(NamedTuple):
    """One output to evaluate: its position in the batch, the key of its schema, its inputs."""

    position: int
    schema: str
    gold: Any
    predicted: Any
    accepted: Accepted


class Failed(NamedTuple):
    """An output that could not be evaluated, and why."""

    position: int
    problem: str
    trace: str | None


#: The results of a chunk.
Done = list[Finished | Failed]
#: The results of all chunks, in the order in which they are done.
Chunks = Generator[Done, None, None]
Submit = Callable[[Sequence[Task]], "Future[Done]"]


@dataclass(frozen=True)
class Context:
    """What all chunks share: the options, and the schemas by key."""

    judge: Judge
    alignment: str | Aligner
    profile: Profile
    max_concurrency: int
    schemas: Mapping[str, Schema]


# --- one chunk ----------------------------------------------------------------------------------


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
        scores, parts = _cells_of(evaluation, output.message)
        summary = (output.message is None, output.message, output.line, output.column, *scores)
        return Finished(task.position, summary, parts, evaluation.is_settled)
    except Exception as error:  # noqa: BLE001 - an aligner may raise anything
        return _failure(task.position, error)


#: Cells of rows if the output is invalid; the reasoning of a field is the parser's message.
_INVALID: Mapping[str, Mapping[str, Any]] = {
    "fields": {
        "predicted_path": None,
        "score": 0.0,
        "passed": False,
        "outcome": "structural",
        "reason": "invalid_output",
        "predicted": None,
        "predicted_state": "missing",
        "accepted_as": None,
    },
    "arrays": {"score": 0.0, "passed": False},
}
_KEPT = ("evaluated", "null_pass_rate", "unlabelled", "gold_coverage")


def _cells_of(
    evaluation: Evaluation, problem: str | None
) -> tuple[list[float], dict[str, Columns]]:
    """Return the summary's entries and the cells of each part; none pass with a problem."""
    rows = evaluation.frame_rows()
    summary = dict(zip(SUMMARY.names, rows["summary"][0], strict=True))
    if problem is not None:
        for part, cells in _INVALID.items():
            changed, names = {**cells, "reasoning": problem}, PARTS[part].names
            rows[part] = [tuple(map(changed.get, names, row)) for row in rows[part]]
        entries = {c.name: 0.0 if c.dtype == "float64" else 0 for c in SUMMARY.columns}
        entries |= {name: summary[name] for name in _KEPT}
        summary = entries | dict.fromkeys(("judged", "failed", "structural"), summary["evaluated"])
    return [*summary.values()], {n: to_columns(spec, rows[n]) for n, spec in PARTS.items()}


def _failure(position: int, error: Exception) -> Failed:
    """Describe why an output failed; with the traceback if the error is not one of ours."""
    if isinstance(error, ExtractBenchError):
        return Failed(position, str(error), None)
    trace = "".join(traceback.format_exception(error))
    return Failed(position, f"{type(error).__name__}: {error}", trace)


# --- all chunks -----------------------------------------------------------------------------------

_LARGEST = 32
#: Chunks per worker; with many, the workers finish at nearly the same time.
_CHUNKS_A_WORKER = 8
#: Chunks in flight or in the queue, per worker.
_AHEAD = 3
#: Processes take about a second to start: they are for work of more seconds than `_WORTH`, which is
#: estimated after `_TRIAL` seconds in this process.
_WORTH, _TRIAL = 2.0, 0.3


def _count_workers(n_jobs: Any, executor: Any) -> int:
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
    return getattr(executor, "_max_workers", None) or worker_count(-1)


def _runner(
    context: Context, outputs: int, workers: int, executor: Executor | None
) -> Callable[[Iterator[Task]], Chunks]:
    """Make what evaluates outputs: this process, worker processes, or an executor of the user's.

    Worker processes are started when outputs take long enough to be worth it. That is known only of
    the package's own metrics: with metrics, judges or aligners of the user's they start at once.
    """
    # many chunks, but with enough outputs in each for awaited calls to overlap
    overlapping = min(context.max_concurrency, -(-outputs // workers))
    many = outputs // (workers * _CHUNKS_A_WORKER)
    size, slots = max(1, min(_LARGEST, max(overlapping, many))), workers * _AHEAD
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
            seconds, remaining = time.perf_counter() - started, outputs - chunk[-1].position
            if seconds > _TRIAL and seconds / done * remaining > _WORTH:
                break
        with worker_pool(workers, __name__) as pool:
            yield from _bounded(_submitting(pool, *sent), _chunks(tasks, size), slots)

    if isinstance(executor, ThreadPoolExecutor):  # threads share the context
        submit: Submit = lambda chunk: executor.submit(run_chunk, context, chunk)  # noqa: E731
        return lambda tasks: _bounded(submit, _chunks(tasks, size), slots)
    if executor is None and workers == 1:
        return here
    sent = context, *_sendable(context)  # what cannot be sent is an error before any work
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
        needed = {task.schema: schemas[task.schema] for task in chunk}
        return executor.submit(run_packed, packed, needed, tasks)

    return submit


def _sendable(context: Context) -> tuple[bytes, dict[str, bytes]]:
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
    context = _context_of(packed)
    parsed = {key: _schema_of(packed, content) for key, content in schemas.items()}
    return run_chunk(replace(context, schemas=parsed), pickle.loads(tasks))  # noqa: S301 - packed by this package


@lru_cache(maxsize=1)
def _context_of(packed: bytes) -> Context:
    """Restore a context; in another process its metrics are registered."""
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
    return context


@lru_cache(maxsize=200)
def _schema_of(packed: bytes, content: bytes) -> Schema:
    schema: Schema = pickle.loads(content)  # noqa: S301 - packed by this package
    return schema


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


# --- a batch --------------------------------------------------------------------------------------

_SHOWN = 3
_PASS_RATE = SUMMARIES.names.index("pass_rate") - len(IDS)


def _run(
    plan: Plan,
    storage: MemoryStorage | FolderStorage,
    evaluate_tasks: Callable[[Iterator[Task]], Chunks],
    *,
    progress: bool,
) -> dict[str, Any]:
    """Evaluate and store what is not finished; return the counts for ``meta``.

    After the first failure no further output is started.
    """
    started, passed = time.perf_counter(), 0.0
    counts = {"evaluated": 0, "reused": 0}
    failed: list[Failed] = []

    def tasks() -> Iterator[Task]:
        for position, cell in enumerate(plan.cells):
            if failed:
                return
            try:
                if storage.has(position):
                    counts["reused"] += 1
                    bar.update()
                    continue
                accepted = plan.accepted.get(cell.document, Accepted())
                task = Task(position, cell.schema_key, plan.gold(cell), cell.predicted, accepted)
            except Exception as error:  # noqa: BLE001 - a dataset may raise anything
                failed.append(_failure(position, error))
                return
            yield task

    bar = progress_bar(shown=progress, total=len(plan.cells), unit="doc", desc="evaluate")
    # closed at once, so that an interruption ends the worker processes
    with bar, closing(evaluate_tasks(tasks())) as chunks:
        for done in chunks:
            finished = [item for item in done if isinstance(item, Finished)]
            failed.extend(item for item in done if isinstance(item, Failed))
            storage.keep(finished)
            counts["evaluated"] += len(finished)
            passed += sum(item.summary[_PASS_RATE] for item in finished)
            if counts["evaluated"]:
                bar.set_postfix(pass_rate=f"{passed / counts['evaluated']:.3f}", refresh=False)
            bar.update(len(finished))
    if failed:
        raise _error_of(plan, failed)
    return {**counts, "seconds": time.perf_counter() - started}


def _error_of(plan: Plan, failed: list[Failed]) -> InputError:
    """Name the first outputs that failed, and count the others of the same problem."""
    first = min(failed, key=lambda item: item.position)
    same = sorted(item.position for item in failed if item.problem == first.problem)
    names = "; ".join(plan.cells[position].name for position in same[:_SHOWN])
    more = f" and {len(same) - _SHOWN} more" if len(same) > _SHOWN else ""
    error = InputError(f"{names}{more}: {first.problem}")
    if first.trace:
        error.add_note(first.trace)
    return error


def evaluate_runs(  # noqa: PLR0913 - one flat call is what users write; the options are keywords
    runs: pd.DataFrame | str | Path | Documents,
    *,
    dataset: Documents | None = None,
    gold: str | Path | Mapping[str, Any] | None = None,
    judge: str | Judge = "offline",
    alignment: str | Aligner = "optimal",
    profile: str | Profile = "strict",
    schema: SchemaSource | None = None,
    metrics: Mapping[str, Any] | None = None,
    accepted: Any = None,
    n_jobs: int = 1,
    executor: Executor | None = None,
    max_concurrency: int = 8,
    progress: bool = True,
    save_to: str | Path | None = None,
    resume: str | Path | None = None,
) -> Evaluations:
    """Evaluate the outputs of many runs on many documents.

    Parameters
    ----------
    runs : pandas.DataFrame, str, pathlib.Path or Dataset
        - A folder of outputs, ``run/document.json`` or ``run/document.pred.json``, or a folder with
          the files of a single run. If there are ``*.pred.json``, other files are ignored.
        - A frame with columns run, document and predicted (a value, JSON text, or a
          ``pathlib.Path``; None or NA if there is no output), and optionally domain, schema and
          gold in the same forms. All other columns are kept in ``summary``: numbers, booleans,
          texts, lists and dicts unchanged, anything else, such as timestamps, as text. A Polars
          or Arrow frame is read as a pandas one.
        - A dataset that has runs, or one or several runs of `extract`, whose cost and latency are
          kept.
    dataset : Dataset, optional
        The source of schema and gold if they are not columns: anything with ``listing`` or
        ``documents`` (a frame with columns document, domain, schema), ``schema(id)``, ``gold(id)``.
    gold : str, pathlib.Path or mapping from str, optional
        A folder with ``document.json`` or ``document.gold.json``, or a dict from document to gold
        value or path. Used if `runs` has no gold; it precedes that of `dataset`.
    judge, alignment, profile : optional
        See `evaluate`. A judge that calls models is checked before any work.
    schema : schema, optional
        The schema for all documents, in a form that `evaluate` accepts, or the name of its file.
    metrics : mapping from str, optional
        Other metrics for some fields, such as ``{"lines[].amount": "number_exact"}``, in every
        schema that has the field; see `parse_schema`.
    accepted : pandas.DataFrame, list of dict, str or pathlib.Path, optional
        Additional correct values: a frame or records with ``document``, ``path`` and
        ``value``, or the name of such a JSON or CSV file. See `Dataset.accepted`.
    n_jobs : int, optional
        The maximum number of worker processes; 1 means this process, -1 one per processor.
        Processes are started only if the outputs take more than about two seconds, but immediately
        if you use metrics, judges or aligners of your own.
    executor : concurrent.futures.Executor, optional
        An executor to use instead of `n_jobs`: threads, processes, or a Dask client's
        ``get_executor()``.
    max_concurrency : int, optional
        The maximum number of documents that each worker evaluates at the same time, if metrics are
        awaited.
    progress : bool, optional
        Whether to show a progress bar.
    save_to : str or pathlib.Path, optional
        A folder that does not contain a batch yet. Finished outputs are immediately written to its
        subfolder ``parts``, so that memory use does not grow with the batch. At the end, one
        Parquet file per frame and ``batch.json`` are written.
    resume : str or pathlib.Path, optional
        Like `save_to`, but the folder may contain a batch. Outputs that were finished with the same
        inputs are not evaluated again, unless a metric gave no verdict (``judge_error``). Stored
        outputs that are not in `runs` stay in ``parts``. If a part cannot be read, a warning names
        it, and its outputs are evaluated again.

    Returns
    -------
    Evaluations
        One evaluation per output, in the order of `runs`.

    Raises
    ------
    InputError
        Before any work: a column is missing or has a wrong type, a pair of run and document
        occurs twice, a document or a field in `metrics` is unknown, a file cannot be read, or a
        judge has no key. `save_to` contains a batch, or the batch in `resume` has other settings or
        is in use by another process. During the work: a gold document is not JSON, an accepted
        alternative does not fit gold, or a worker process died. Finished outputs are kept.
    SchemaError, ConfigError
        A schema cannot be read, or a metric is not one for its field.
    OutputError
        The folder cannot be written.

    Notes
    -----
    Outputs that are absent, empty or not JSON are evaluated as well. For them, ``valid`` in
    ``summary`` is False, with the parser's message and position, and every field fails (section 4
    of the ExtractBench paper). Threads share one judge, whereas each worker process has a copy with
    its own ``budget_usd`` and ``max_concurrency``; all copies share the cache. If a judge or
    aligner has an attribute ``fingerprint`` (a JSON value), a batch can be resumed only with the
    same value.

    Examples
    --------
    >>> schema = {"type": "object", "properties": {"year": {"type": "integer"}}}
    >>> runs = pd.DataFrame(
    ...     {
    ...         "run": ["a", "b"],
    ...         "document": ["report", "report"],
    ...         "predicted": [{"year": 2024}, "{'year': 2024}"],
    ...     }
    ... )
    >>> golds = {"report": {"year": 2024}}
    >>> evs = evaluate_runs(runs, gold=golds, schema=schema, progress=False)
    >>> evs.summary[["run", "valid", "pass_rate"]].values.tolist()
    [['a', True, 1.0], ['b', False, 0.0]]
    """
    profile = Profile.named(profile)
    options: dict[str, Any] = {"judge": judge, "alignment": alignment, "profile": profile}
    judge = choose_judge(judge)
    alignment = choose_alignment(alignment, judge)
    limit: object = max_concurrency
    if type(limit) is not int or limit < 1:
        raise InputError(f"max_concurrency is {limit!r}; expected 1 or more")
    workers = _count_workers(n_jobs, executor)
    folder = _folder_of(save_to, resume)
    plan = read_runs(runs, dataset, schema, metrics, accepted, gold)
    for parsed in plan.schemas.values():
        Run.check_models(judge, alignment, parsed)
    settings = settings_of(judge, alignment, profile, custom_metrics(plan.schemas.values()))
    documents = {cell.document for cell in plan.cells}
    description = {
        **settings,
        "outputs": len(plan.cells),
        "runs": len({cell.run for cell in plan.cells}),
        "documents": len(documents),
        "schemas": schema_digests(plan),
        "accepted": sum(len(plan.accepted.get(document, Accepted())) for document in documents),
        "alternatives": accepted_digests(plan),
        "extras": [[column.name, column.dtype] for column in plan.extras],
    }
    context = Context(judge, alignment, profile, max_concurrency, plan.schemas)
    evaluate_tasks = _runner(context, len(plan.cells), workers, executor)
    source: MemoryStorage | FolderSource
    if folder is None:
        source = memory = MemoryStorage(plan, description)
        counts = _run(plan, memory, evaluate_tasks, progress=progress)
    else:
        with open_storage(folder, plan, settings) as storage:
            counts = _run(plan, storage, evaluate_tasks, progress=progress)
            digest = write_files(folder, storage.results(), description)
        counts["folder"] = str(folder)
        source = FolderSource(folder, description["extras"], digest)
    versions = {"pandas": pd.__version__, "python": sys.version.split()[0]}
    return Evaluations(source, meta_of(description) | counts | versions, plan, options)


def _folder_of(save_to: str | Path | None, resume: str | Path | None) -> Path | None:
    if save_to is None and resume is None:
        return None
    if save_to is not None and resume is not None:
        raise InputError("save_to and resume are both set; pass resume alone")
    needs("pyarrow.parquet", "batch")
    folder = Path(str(resume if save_to is None else save_to))
    check_folder(folder, "resume" if save_to is None else "save_to")
    return folder
