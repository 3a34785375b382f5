"""`evaluate_tables`: the answers of many runs for many tables, compared with gold and rated."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any, TypeAlias

import pandas as pd

from extractbench_nb.construction.comparing import compare
from extractbench_nb.construction.evaluations import (
    QUALITY_WEIGHTS,
    SUMMARY_COLUMNS,
    TableEvaluations,
    table_evaluations,
)
from extractbench_nb.construction.table_comparison import TableComparison
from extractbench_nb.construction.table_dataset import (
    TableDataset,
    TableTask,
    answers_in,
    load,
    prompt_text,
)
from extractbench_nb.construction.table_rules import TableRules, rules_of
from extractbench_nb.core.frames import as_pandas
from extractbench_nb.core.text import Judge, JudgeError, OfflineJudge, check_judge, choose_judge
from extractbench_nb.errors import DatasetError, InputError
from extractbench_nb.judges import (
    MARK_SCHEMA,
    ModelJudge,
    Unparsable,
    mark_of,
    mark_request,
    marked_objects,
    message,
    quoted,
)
from extractbench_nb.runs import Run, frame_of_outputs, is_run
from extractbench_nb.support.concurrency import progress_bar, run_anywhere
from extractbench_nb.support.files import read_text

_TEXT_FILES = (".txt", ".md", ".csv", ".tsv", ".json", ".jsonl")
#: Columns of a `Run` that are kept.
_OF_RUNS = ("finish_reason", "prompt_tokens", "completion_tokens", "cost_usd", "latency_seconds")
#: Columns of the frame of runs that are no columns of the user's.
_OF_ANSWERS = ("run", "document", "predicted")

#: An answer as a row of the frame of runs, and the table that it is for.
_Answer: TypeAlias = tuple[dict[Any, Any], TableTask]
#: A comparison, and the columns of ``summary`` that it does not have itself.
_Scored: TypeAlias = tuple[TableComparison, dict[str, Any]]


def evaluate_tables(
    runs: Any,
    *,
    dataset: TableDataset | str | os.PathLike[str] | None = None,
    judge: str | Judge = "offline",
    profile: str | TableRules = "strict",
    quality: str | Judge | None = None,
    progress: bool = True,
) -> TableEvaluations:
    """Compare the answers of many runs with the gold tables of a dataset.

    Parameters
    ----------
    runs : TableDataset, Run, pandas.DataFrame, str, path or list
        A dataset with runs; the result of `construct`; a folder of runs (``run/table.txt``, or
        folders that `construct` made), or one such folder; a frame with the columns run, document
        (or table) and predicted (anything that `compare` takes; None for no answer); or a list of
        runs and frames. Other columns of a frame are kept in ``summary``.
    dataset : TableDataset, str or path, optional
        The dataset with gold; what `load` takes. Not needed if `runs` is a dataset.
    judge, profile : object, optional
        See `compare`.
    quality : str or LLMJudge, optional
        A model that rates each answer by intent, columns, content and format, 0 to 100, as in AOE.
        The ratings have their own columns and enter no other score. By default there are none.
    progress : bool, optional
        Whether to show a progress bar.

    Returns
    -------
    TableEvaluations
        One comparison per answer.

    Raises
    ------
    InputError
        A column or the dataset is missing, a run has a table twice, an option is invalid, or a
        model has no key; checked before the first comparison. An answer without a table raises no
        error.
    DatasetError
        A table is not in the dataset, or cannot be read.

    Examples
    --------
    >>> from extractbench_nb.construction import evaluate_tables, load
    >>> found = evaluate_tables(load(), progress=False)
    >>> found.by_run[["run", "tables", "direct"]].round(2).values.tolist()
    [['osprey-7b', 3, 0.33], ['quill-large', 3, 1.0], ['quill-mini', 3, 0.67]]
    """
    rules, chosen = rules_of(profile), choose_judge(judge)
    rater = None if quality is None else _rater(quality)
    if not isinstance(chosen, OfflineJudge):
        check_judge(chosen, {})
    answers = _read(runs, dataset)
    shown = progress_bar(
        answers, shown=progress, total=len(answers), unit="table", desc="compare tables"
    )
    scored = [_compared(chosen, rules, *answer) for answer in shown]
    if rater is not None:
        scored = _rated(rater, scored, answers)
    names = {"profile": rules.name, "judge": chosen.name, "quality": rater and rater.name}
    return table_evaluations(scored, names)


def _compared(judge: Judge, rules: TableRules, row: dict[Any, Any], task: TableTask) -> _Scored:
    """Compare an answer with its gold table."""
    run = str(row["run"])
    roles = {name: list(getattr(task, name)) or None for name in ("keys", "values", "numeric")}
    gold: Any = task.gold
    if rules.released:  # the released code infers types from CSV; no numbers are named: none
        gold, roles["numeric"] = gold.to_csv(index=False), list(task.numeric)
    try:
        found = compare(gold, row["predicted"], judge=judge, profile=rules, **roles)
    except InputError as error:
        raise InputError(f"run {run!r}, table {task.id!r}: {error}") from error
    schema = f"{task.task}{f' ({task.language})' if task.language else ''}" or task.id
    labels = {"run": run, "document": task.id, "domain": task.domain or None, "schema": schema}
    about = {
        "task": task.task or None,
        "language": task.language or None,
        "documents": len(task.documents),
        "average_length": task.average_length,
    }
    own = {name: value for name, value in row.items() if name not in _OF_ANSWERS}
    return found.labelled(**labels), about | own


# --- input --------------------------------------------------------------------------------------


def _read(runs: Any, dataset: Any) -> list[_Answer]:
    """Read what is compared, and check all of it before any work."""
    if dataset is not None and not isinstance(dataset, TableDataset):
        dataset = load(dataset)
    frame, gold = _frame_of(runs, dataset)
    clash = [n for n in frame.columns if n in SUMMARY_COLUMNS.names and n not in _OF_ANSWERS]
    if clash:
        raise InputError(f"runs: column {clash[0]!r} is also a column of the result; rename it")
    if frame.empty:
        raise InputError("runs holds no answers; expected at least one")
    if gold is None:
        raise InputError("runs has no gold; pass dataset=")
    frame["predicted"] = pd.Series(map(_read_file, frame["predicted"]), frame.index, dtype=object)
    return [(row, gold[str(row["document"])]) for row in frame.to_dict("records")]


def _read_file(predicted: Any) -> Any:
    is_text = isinstance(predicted, Path) and predicted.suffix.lower() in _TEXT_FILES
    return read_text(predicted, "answer") if is_text else predicted


def _frame_of(runs: Any, dataset: Any) -> tuple[pd.DataFrame, TableDataset | None]:
    """Return run, document, predicted and other columns, and where gold is."""
    if isinstance(runs, str | os.PathLike):
        path = Path(runs)
        if is_run(path):
            runs = Run.open(path)
        elif dataset is None:
            try:
                runs = load(runs)
            except DatasetError as error:
                raise DatasetError(f"{error}; if gold is elsewhere, pass dataset") from error
        elif not path.is_dir():
            raise DatasetError(f"no folder {str(path)!r}")
        else:
            runs = answers_in(path, [task.id for task in dataset])
            if runs.empty:
                raise InputError(f"{str(path)!r} holds no answers; expected files run/table.txt")
    if isinstance(runs, TableDataset):
        dataset = dataset or runs
        if runs.runs.empty:
            raise InputError(f"dataset {runs.name!r} has no runs in {str(runs.root)!r}")
        runs = runs.runs
    sources = list(runs) if isinstance(runs, list | tuple) else [runs]
    frame = frame_of_outputs([_named(source) for source in sources])
    frame = frame.rename(columns={"raw": "predicted"})
    return frame.astype(object).where(frame.notna(), None), dataset


def _named(source: Any) -> Any:
    """Return a frame whose tables are in the column ``document``."""
    if isinstance(source, Run):
        frame = source.outputs
        told = (name for name in ("error_reason", "error") if frame[name].notna().any())
        return frame[["run", "document", "raw", *_OF_RUNS, *told]]
    source = as_pandas(source)
    if isinstance(source, pd.DataFrame) and "document" not in source.columns:
        return source.rename(columns={"table": "document"})
    return source


# --- ratings ---------------------------------------------------------------------------------

_HIGHEST = 100
_SCHEMA = {
    "type": "object",
    "properties": {
        **MARK_SCHEMA,
        **{
            name: {"type": "integer", "minimum": 0, "maximum": _HIGHEST} for name in QUALITY_WEIGHTS
        },
    },
    "required": ["mark_code", *QUALITY_WEIGHTS],
    "additionalProperties": False,
}


def _rater(judge: str | Judge) -> ModelJudge:
    """Return a model that rates tables."""
    chosen = choose_judge(judge, "quality")
    if not isinstance(chosen, ModelJudge):
        raise InputError(
            f"quality is {judge!r}; expected a model such as 'openai/gpt-4o-mini', or an LLMJudge"
        )
    check_judge(chosen, {})
    return chosen


def _rated(
    rater: ModelJudge, scored: Sequence[_Scored], answers: Sequence[_Answer]
) -> list[_Scored]:
    """Add ratings to answers, and their calls to the comparisons; no answer is not rated."""

    async def rated(one: _Scored, answer: _Answer) -> _Scored:
        (found, about), (row, task) = one, answer
        predicted = row["predicted"]
        if not isinstance(predicted, str):
            columns = len(found.predicted.columns)
            predicted = found.predicted.to_csv(index=False) if columns else ""
        if not predicted.strip():
            return found, about | {"quality_problem": "there is no answer"}
        gold = found.gold.to_csv(index=False)
        try:
            texts = {"query": task.query, "gold": gold, "predicted": predicted}
            mark = mark_of(texts)
            blocks = {**quoted(texts), "mark": mark_request(mark)}
            question = prompt_text("rating").format_map(blocks)
            asked = (message("system", prompt_text("rating_system")), message("user", question))
            scores, call = await rater.answer(asked, partial(_rating, mark=mark), _SCHEMA)
        except JudgeError as error:
            calls = tuple(error.calls)
            rating: dict[str, Any] = {"quality_problem": str(error)}
        else:
            weights = QUALITY_WEIGHTS.values()
            mean = sum(w * score for w, score in zip(weights, scores, strict=True)) / sum(weights)
            names = (f"quality_{name}" for name in QUALITY_WEIGHTS)
            rating = {"quality": mean, **dict(zip(names, scores, strict=True))}
            calls = (call._replace(score=mean / _HIGHEST),)
        more = ((None, call) for call in calls)
        return replace(found, _calls=(*found._calls, *more)), about | rating

    async def gathered() -> list[_Scored]:
        pairs = zip(scored, answers, strict=True)
        return await asyncio.gather(*(rated(*pair) for pair in pairs))

    found: list[_Scored] = run_anywhere(gathered())
    return found


def _rating(text: str | None, mark: str) -> tuple[int, ...]:
    """Read the four scores of a reply, which names its mark: a quoted object is no rating."""
    reply = marked_objects(text, mark, "intent")[-1]
    given = [reply.get(name) for name in QUALITY_WEIGHTS]
    scores = tuple(score for score in given if type(score) is int and 0 <= score <= _HIGHEST)
    if len(scores) < len(QUALITY_WEIGHTS):
        raise Unparsable(
            f"expected a JSON object with whole numbers from 0 to {_HIGHEST}: "
            f"{', '.join(QUALITY_WEIGHTS)}"
        )
    return scores
