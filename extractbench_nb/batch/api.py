"""`evaluate_runs`: many documents of many runs; `load_evaluations`: their results from a folder."""

from __future__ import annotations

from concurrent.futures import Executor
from pathlib import Path

import pandas as pd

from extractbench_nb.batch.extras import own_columns
from extractbench_nb.batch.guards import refuse_occupied, refuse_unfinishable
from extractbench_nb.batch.inputs import Documents, read_runs
from extractbench_nb.batch.results import Evaluations
from extractbench_nb.batch.run import Batch, Options, meta_of
from extractbench_nb.batch.saved import FolderSource, read_description
from extractbench_nb.batch.schedule import Pool
from extractbench_nb.errors import InputError
from extractbench_nb.inputs import Aligner
from extractbench_nb.judges.base import Judge
from extractbench_nb.profiles import Profile, get_profile

__all__ = ["evaluate_runs", "load_evaluations"]


def evaluate_runs(  # noqa: PLR0913 - one flat call is what users write; the options are keywords
    runs: pd.DataFrame | str | Path | Documents,
    *,
    dataset: Documents | None = None,
    judge: str | Judge = "offline",
    alignment: str | Aligner = "optimal",
    profile: str | Profile = "paper",
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
        A frame with columns run, document and predicted (a value, JSON text, or a ``pathlib.Path``;
        None or NA where there is no output), and optionally domain, schema and gold in the same
        forms. Runs and documents are texts; integers are taken as theirs. All other columns are
        kept in ``summary``: numbers, booleans, texts, points in time, lists and dicts as they are,
        categories as what they stand for, and anything else as text. Or a folder laid out as
        ``run/document.json``. Or a dataset that has runs.
    dataset : Dataset, optional
        Where schema and gold come from if they are no columns: anything with ``listing`` or
        ``documents`` (a frame with columns document, domain, schema), ``schema(id)``, ``gold(id)``.
    judge : str or Judge, optional
        See `evaluate`. One that asks models is checked before any work.
    alignment : str, LLMAligner or callable, optional
        See `evaluate`.
    profile : str or Profile, optional
        See `evaluate`.
    n_jobs : int, optional
        Worker processes; 1 is this process, -1 one a processor.
    executor : concurrent.futures.Executor, optional
        Evaluates in place of `n_jobs`: threads, processes, a Dask client's ``get_executor()``. It
        is left running.
    max_concurrency : int, optional
        So many documents at a time are evaluated in each worker where metrics are awaited; 1 or
        more.
    progress : bool, optional
        Whether to show a progress bar.
    save_to : str or pathlib.Path, optional
        A folder that holds no batch. Each finished output is kept there as it comes, so that memory
        does not grow with the batch; at the end ``fields.parquet``, ``arrays.parquet``,
        ``matches.parquet``, ``judge_calls.parquet``, ``summary.parquet`` and ``batch.json`` are
        written.
    resume : str or pathlib.Path, optional
        Like `save_to`, but the folder may hold a batch: what was finished there with the same
        inputs is not evaluated again, but for outputs in which a metric gave no verdict
        (``judge_error``); what a judge keeps in its cache is not asked again. Nothing is lost of
        what is not asked for this time; it is not in the results. Results that were read from the
        folder before keep the frames that they have, and raise `InputError` for others if the new
        results differ.

    Returns
    -------
    Evaluations
        One evaluation an output, in the order of `runs`, however it was computed.

    Raises
    ------
    InputError
        A column is missing or of a wrong type, a pair of run and document there twice, a document
        unknown, a file not readable, a judge without its key: all told before any work. A gold that
        is no JSON, or a worker that died: told when it comes up, and what is finished stays in the
        folder. `save_to` holds a batch; `resume` one with other settings, or one that another
        process works on.
    SchemaError, ConfigError
        A schema cannot be read.
    OutputError
        The folder cannot be written.

    Notes
    -----
    An output that is no JSON, is empty or absent is evaluated too: its outcome in ``summary`` is
    ``invalid``, with the parser's message and position, and every field counts as not passed
    (section 4 of the ExtractBench paper). A metric of the user's reaches worker processes also
    where it is defined in a notebook.

    Calls of models are in ``judge_calls``, their number and cost in ``summary`` and ``by_run``.
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
    ...         "schema": [schema, schema],
    ...         "gold": [{"year": 2024}, {"year": 2024}],
    ...     }
    ... )
    >>> evs = evaluate_runs(runs, progress=False)
    >>> evs.summary[["run", "outcome", "pass_rate"]].values.tolist()
    [['a', 'evaluated', 1.0], ['b', 'invalid', 0.0]]
    """
    options = Options(judge, alignment, get_profile(profile), max_concurrency)
    options.check()
    pool = Pool(n_jobs, executor)
    folder = _folder(save_to, resume)
    plan = read_runs(runs, dataset, options.profile)
    batch = Batch(plan, options, pool, progress)
    return batch.in_memory() if folder is None else batch.in_folder(folder)


def _folder(save_to: str | Path | None, resume: str | Path | None) -> Path | None:
    if save_to is not None and resume is not None:
        raise InputError("save_to and resume are both given; resume alone does what both would")
    if save_to is not None:
        refuse_occupied(Path(save_to), "save_to")
        return Path(save_to)
    if resume is not None:
        refuse_unfinishable(Path(resume))
        return Path(resume)
    return None


def load_evaluations(folder: str | Path) -> Evaluations:
    """Read the results that `evaluate_runs` or `Evaluations.save` wrote to a folder.

    Parameters
    ----------
    folder : str or pathlib.Path
        With ``batch.json`` and the Parquet files.

    Returns
    -------
    Evaluations
        Frames are read when they are asked for; where the folder has been written anew by then,
        that raises `InputError`. It cannot evaluate an output again: the inputs are not in the
        folder.

    Raises
    ------
    InputError
        There is no such folder, no finished batch in it, or one of another format.
    """
    path = Path(folder)
    found = read_description(path)
    source = FolderSource(path, own_columns(found["extras"]), found.get("digest"))
    return Evaluations(source, {**meta_of(found), "folder": str(path)})
