"""`evaluate_runs`: finished outputs are reused, all others are evaluated and stored."""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator, Mapping
from concurrent.futures import Executor
from contextlib import closing
from pathlib import Path
from typing import Any

import pandas as pd

from extractbench_nb.core import (
    Accepted,
    Aligner,
    Profile,
    Run,
    choose_alignment,
)
from extractbench_nb.core.schema import SchemaSource
from extractbench_nb.core.text import Judge, choose_judge
from extractbench_nb.errors import InputError, needs
from extractbench_nb.runs.dataset import Documents
from extractbench_nb.runs.inputs import (
    Plan,
    accepted_digests,
    own_columns,
    read_runs,
    schema_digests,
)
from extractbench_nb.runs.results import Evaluations, FolderSource, read_description
from extractbench_nb.runs.rows import IDS, SUMMARIES
from extractbench_nb.runs.storage import (
    SETTINGS,
    DamagedError,
    FolderStorage,
    MemoryStorage,
    open_storage,
    refuse_occupied,
    refuse_unfinishable,
    settings_of,
    write_files,
)
from extractbench_nb.runs.workers import (
    Context,
    Failed,
    Finished,
    Runner,
    Task,
    check_batch,
    count_workers,
    failure,
    runner,
)
from extractbench_nb.support.concurrency import progress_bar

_SHOWN = 3
_PASS_RATE = SUMMARIES.names.index("pass_rate") - len(IDS)


def _run(
    plan: Plan, storage: MemoryStorage | FolderStorage, evaluate_tasks: Runner, *, progress: bool
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
            except DamagedError:
                raise
            except Exception as error:  # noqa: BLE001 - a dataset may raise anything
                failed.append(failure(position, error))
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
    schema: SchemaSource | Mapping[str, SchemaSource] | None = None,
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
        - A folder of outputs, named after their documents: ``run/document.json`` or
          ``run/document.pred.json``, or the files of one run without a folder for it. Beside
          ``*.pred.json``, files of other names are left out.
        - A frame with columns run, document and predicted (a value, JSON text, or a
          ``pathlib.Path``; None or NA if there is no output), and optionally domain, schema and
          gold in the same forms. Runs and documents are texts; integers are converted. All other
          columns are kept in ``summary``: numbers, booleans, texts, lists and dicts as they are,
          categories as their values, and anything else, such as timestamps, as text. A Polars or
          Arrow frame is read as a pandas one.
        - A dataset that has runs, or one or several runs of `extract`, whose cost and latency are
          kept.
    dataset : Dataset, optional
        Where schema and gold come from if they are not columns: anything with ``listing`` or
        ``documents`` (a frame with columns document, domain, schema), ``schema(id)``, ``gold(id)``.
    gold : str, pathlib.Path or mapping from str, optional
        A folder with ``document.json`` or ``document.gold.json``, or a dict from document to gold
        value or path. Used where `runs` has no gold, before that of `dataset`.
    judge : str or Judge, optional
        See `evaluate`. One that asks models is checked before any work.
    alignment : str, LLMAligner or callable, optional
        See `evaluate`.
    profile : str or Profile, optional
        See `evaluate`.
    schema : schema or mapping from str, optional
        The schema of all documents, in a form that `evaluate` takes, or the name of its file; or a
        dict from the id in the column ``schema`` to the one in its place; other schemas stay.
    metrics : mapping from str, optional
        Other metrics for some fields, such as ``{"lines[].amount": "number_exact"}``, in every
        schema that has the field; see `parse_schema`.
    accepted : pandas.DataFrame, list of dict, str or pathlib.Path, optional
        Other values that are right too: a frame or records with ``document``, ``path`` and
        ``value``, or the name of such a JSON or CSV file. See `evaluate`, and `Dataset.accepted`
        for those that a dataset brings. ``meta["accepted"]`` is their number.
    n_jobs : int, optional
        Largest number of worker processes; 1 is this process, -1 one per processor. Processes are
        started if the outputs take more than about two seconds, and at once with metrics, judges or
        aligners of your own.
    executor : concurrent.futures.Executor, optional
        Evaluates in place of `n_jobs`: threads, processes, a Dask client's ``get_executor()``. It
        is left running.
    max_concurrency : int, optional
        Maximum number of documents evaluated concurrently in each worker, for awaited metrics; 1 or
        more.
    progress : bool, optional
        Whether to show a progress bar.
    save_to : str or pathlib.Path, optional
        A folder without a batch. Each finished output is written there at once, so that memory use
        does not grow with the batch; at the end ``fields.parquet``, ``arrays.parquet``,
        ``matches.parquet``, ``judge_calls.parquet``, ``summary.parquet`` and ``batch.json`` are
        written, and ``rules.parquet`` if rules are registered (see `rule`).
    resume : str or pathlib.Path, optional
        Like `save_to`, but the folder may hold a batch. Outputs that were finished there with the
        same inputs are not evaluated again, except those in which a metric gave no verdict
        (``judge_error``); answers in the cache of a judge are reused. Stored outputs that are not
        in `runs` stay in the folder and are not in the results. Results that were read from the
        folder before keep the frames that they have loaded, and raise `InputError` for the others
        if the new results differ.

    Returns
    -------
    Evaluations
        One evaluation per output, in the order of `runs`.

    Raises
    ------
    InputError
        Before any work: a column is missing or has a wrong type, a pair of run and document
        occurs twice, a document, the id of a schema or a field of `metrics` is unknown, a file
        cannot be read, or a judge has no key. During the work: a gold document is not JSON, an
        accepted alternative is for a path that gold does not have or of a wrong type, or a worker
        process died; finished outputs stay in the folder. Also if `save_to` holds a batch, or
        `resume` holds one with other settings or one that another process is using. If
        ``finished.sqlite`` is damaged, the message says which outputs are intact and how to keep
        them.
    SchemaError, ConfigError
        A schema cannot be read, or a metric is not one for its field.
    OutputError
        The folder cannot be written.

    Notes
    -----
    An output that is not JSON, is empty or absent is evaluated too: ``valid`` in ``summary`` is
    False, with the parser's message and position, and every field counts as not passed (section 4
    of the ExtractBench paper). Metrics that are defined in a notebook work in worker
    processes too.

    Model calls are in ``judge_calls``, their number and cost in ``summary`` and ``by_run``.
    Threads share one judge; each worker process has a copy, with its own ``budget_usd`` and
    ``max_concurrency``, and all copies share the cache. A judge or an aligner may have an attribute
    ``fingerprint``, a JSON value: `resume` refuses one of the same name with another.

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
    workers = count_workers(n_jobs, executor)
    folder = _folder_of(save_to, resume)
    plan = read_runs(runs, dataset, schema, metrics, accepted, gold)
    context = Context(judge, alignment, profile, max_concurrency, plan.schemas, len(plan.cells))
    for parsed in plan.schemas.values():
        Run.check_models(judge, alignment, parsed)
    settings = settings_of(context)
    documents = {cell.document for cell in plan.cells}
    description = {
        **settings,
        "outputs": len(plan.cells),
        "runs": len({cell.run for cell in plan.cells}),
        "documents": len(documents),
        "schemas": schema_digests(plan),
        "accepted": sum(len(plan.accepted.get(document, Accepted())) for document in documents),
        "alternatives": accepted_digests(plan),
    }
    evaluate_tasks = runner(context, workers, executor)
    source: MemoryStorage | FolderSource
    if folder is None:
        source = memory = MemoryStorage(plan, description)
        counts = _run(plan, memory, evaluate_tasks, progress=progress)
    else:
        with open_storage(folder, plan, settings) as storage:
            counts = _run(plan, storage, evaluate_tasks, progress=progress)
            rules = check_batch(plan)
            digest = write_files(folder, storage.results(), plan.extras, description, rules)
        counts["folder"] = str(folder)
        source = FolderSource(folder, plan.extras, digest)
    versions = {"pandas": pd.__version__, "python": sys.version.split()[0]}
    return Evaluations(source, _meta_of(description) | counts | versions, plan, options)


def _folder_of(save_to: str | Path | None, resume: str | Path | None) -> Path | None:
    if save_to is None and resume is None:
        return None
    if save_to is not None and resume is not None:
        raise InputError("save_to and resume are both set; pass resume alone")
    needs("pyarrow.parquet", "batch")
    if save_to is not None:
        refuse_occupied(Path(save_to), "save_to")
    else:
        refuse_unfinishable(Path(str(resume)))
    return Path(str(save_to or resume))


def _meta_of(description: Mapping[str, Any]) -> dict[str, Any]:
    names = ("judge", "alignment", "extractbench_nb", "outputs", "runs", "documents", "accepted")
    entries = {name: description[name] for name in names}
    settings = {name: description.get(name) for name in SETTINGS}
    settings["accepted"] = description["alternatives"]
    inputs = {"schemas": description.get("schemas", {}), "settings": settings}
    return {"profile": description["profile"]["name"], **entries, **inputs}


def load_evaluations(folder: str | Path) -> Evaluations:
    """Read the results that `evaluate_runs` or `Evaluations.save` wrote to a folder.

    Parameters
    ----------
    folder : str or pathlib.Path
        With ``batch.json`` and the Parquet files.

    Returns
    -------
    Evaluations
        Frames are read on first use, which raises `InputError` if the folder has been rewritten
        since. An output cannot be evaluated again, because the inputs are not in the folder. If
        rules were stored, ``meta["rules"]`` has their names and a hash of the source of each.

    Raises
    ------
    InputError
        There is no such folder, no finished batch in it, or one of another format.
    """
    path = Path(folder)
    needs("pyarrow.parquet", "batch")
    about = read_description(path)
    source = FolderSource(path, own_columns(about["extras"]), about.get("digest"))
    meta = _meta_of(about) | {name: about[name] for name in ("rules",) if name in about}
    return Evaluations(source, {**meta, "folder": str(path)})
