"""`evaluate_tables`: the answers of many runs for many tables, compared with gold and rated."""

from __future__ import annotations

import asyncio
import json
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial
from pathlib import Path
from typing import Any, ClassVar, TypeAlias

import pandas as pd

from extractbench_nb.construction.comparing import (
    MEASURES,
    SUMMARY,
    TableComparison,
    compare,
    labelled_frame,
)
from extractbench_nb.construction.retrieval import EvidenceRecall
from extractbench_nb.construction.table_dataset import (
    TableDataset,
    TableTask,
    answers_in,
    load,
    prompt_text,
)
from extractbench_nb.construction.table_rules import TableRules, rules_of
from extractbench_nb.core.frames import Column, FrameSpec, as_pandas, scores_of
from extractbench_nb.core.text import Judge, JudgeError, OfflineJudge, check_judge, choose_judge
from extractbench_nb.errors import InputError, nearest
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
from extractbench_nb.support.cards import TextCard
from extractbench_nb.support.concurrency import progress_bar, run_anywhere
from extractbench_nb.support.files import make_folder, read_text, write_texts

#: The parts of a rating, and AOE's weights of them.
QUALITY_WEIGHTS = {"intent": 2, "columns": 3, "content": 3, "format": 2}
_QUALITY = [f"quality_{name}" for name in QUALITY_WEIGHTS]

SUMMARY_COLUMNS = FrameSpec(
    "summary",
    "one row per run and table",
    (
        Column("run", "string", "name of the run, usually a model's name"),
        Column("document", "string", "id of the table"),
        Column("domain", "string", "domain of the table, if known", nullable=True),
        Column("schema", "string", "task and language, which decide the columns; else the table"),
        Column("task", "string", "kind of table, if known", nullable=True),
        Column("language", "string", "language of query and documents, if known", nullable=True),
        Column("valid", "bool", "whether there is a table"),
        Column("direct", "bool", "whether AOE's released code reads the answer unchanged"),
        Column("mapped", "bool", "whether there is a table with rows, read by rules"),
        Column("problem", "string", "what was repaired, or why there is no table", nullable=True),
        Column("documents", "Int64", "documents that the table is built from", "0 and up", True),
        *SUMMARY.columns,
        Column("quality", "Float64", "weighted mean of the next four", "0 to 100", True),
        *(Column(name, "Int64", "rated by the model", "0 to 100", True) for name in _QUALITY),
    ),
)
BY_RUN = FrameSpec(
    "by_run",
    "one row per run",
    (
        Column("run", "string", "name of the run"),
        Column("tables", "int64", "answers of the run, including those without tables", "1 and up"),
        Column("missing", "int64", "tables that only other runs have", "0 and up"),
        Column("invalid", "int64", "answers without a table", "0 to tables"),
        Column("direct", "float64", "share of direct answers", "0 to 1"),
        Column("mapped", "float64", "share of answers with a table that has rows", "0 to 1"),
        *(Column(n, "float64", f"mean over tables: {n}", "0 to 1") for n in MEASURES),
        Column("task_cell_f1", "float64", "mean over tasks of the mean cell_f1, as in AOE"),
        Column("quality", "Float64", "mean over rated tables", "0 to 100", True),
        Column("judge_errors", "int64", "cells without a verdict", "0 and up"),
        Column("llm_calls", "int64", "calls of a language model", "0 and up"),
        Column("llm_cost_usd", "Float64", "cost of these calls", "0 and up", True),
    ),
)
_SHOWN = ["run", "tables", "missing", "direct", "mapped", "cell_f1", "row_f1", "column_recall"]
#: The scores of a table in AOE's files, and our names of them where they differ.
AOE_SCORES = {
    **{name: name for name in ("column_recall", "row_precision", "row_recall", "row_f1")},
    **{name: name for name in ("cell_precision", "cell_recall", "cell_f1")},
    "total_compared_cells_in_matched": "matched_cells",
    "average_cell_score_in_matched": "average_cell_score",
}

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
        runs and frames.
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
    records = [{**found.summary.to_dict(), **found.meta, **about} for found, about in scored]
    frame = SUMMARY_COLUMNS.from_records(records)
    if rater is None:
        frame = frame.drop(columns=["quality", *_QUALITY])
    names = {"profile": rules.name, "judge": chosen.name, "quality": rater and rater.name}
    found = {(c.meta["run"], c.meta["document"]): c for c, _ in scored}
    return TableEvaluations(found, frame, names)


def _compared(judge: Judge, rules: TableRules, run: str, answer: Any, task: TableTask) -> _Scored:
    """Compare an answer with its gold table."""
    roles = {name: list(getattr(task, name)) or None for name in ("keys", "values", "numeric")}
    gold: Any = task.gold
    if rules.released:  # the released code infers types from CSV; no numbers are named: none
        gold, roles["numeric"] = gold.to_csv(index=False), list(task.numeric)
    try:
        found = compare(gold, answer, judge=judge, profile=rules, **roles)
    except InputError as error:
        raise InputError(f"run {run!r}, table {task.id!r}: {error}") from error
    schema = f"{task.task}{f' ({task.language})' if task.language else ''}" or task.id
    labels = {"run": run, "document": task.id, "domain": task.domain or None, "schema": schema}
    about = {
        "valid": bool(len(found.predicted.columns)),
        "task": task.task or None,
        "language": task.language or None,
        "documents": len(task.documents),
    }
    return found.labelled(**labels), about


def _read(runs: Any, dataset: Any) -> list[tuple[str, Any, TableTask]]:
    """Return runs, answers (text, object or None) and tasks; all are checked before any work."""
    if dataset is not None and not isinstance(dataset, TableDataset):
        dataset = load(dataset)
    if isinstance(runs, str | os.PathLike):
        path = Path(runs)
        if is_run(path):
            runs = Run.open(path)
        else:
            runs = load(runs) if dataset is None else answers_in(path, [t.id for t in dataset])
    if isinstance(runs, TableDataset):
        dataset, runs = dataset or runs, runs.runs
    frame = frame_of_outputs([_named(s) for s in (runs if isinstance(runs, list) else [runs])])
    if frame.empty:
        raise InputError("runs holds no answers; expected files run/table.txt, or rows of a frame")
    if dataset is None:
        raise InputError("runs has no gold; pass dataset=")
    raw = frame["raw"].astype(object).where(frame["raw"].notna(), None)
    return [
        (
            str(run),
            read_text(answer, "answer") if isinstance(answer, Path) else answer,
            dataset[id_],
        )
        for run, id_, answer in zip(frame["run"], frame["document"].map(str), raw, strict=True)
    ]


def _named(source: Any) -> Any:
    """Return a frame whose tables are in the column ``document``, and answers in ``raw``."""
    source = source.outputs if isinstance(source, Run) else as_pandas(source)
    if not isinstance(source, pd.DataFrame):
        return source
    source = source.rename(columns={"predicted": "raw", "table": "document"})
    return source[[name for name in ("run", "document", "raw") if name in source.columns]]


@dataclass(frozen=True, repr=False, eq=False)
class TableEvaluations(TextCard):
    """The immutable comparisons of a batch of tables; made by `evaluate_tables`.

    A `ScoredResult`: `compare_runs`, `breakdown`, `difficulty` and `explore` take it with
    ``measure=``; a table is a ``document``. The frames of `TableComparison` are led by run,
    document, domain and schema.

    Attributes
    ----------
    summary : pandas.DataFrame
        One row per run and table.
    meta : dict
        Profile, judge, and the model that rates.
    """

    _comparisons: Mapping[tuple[str, str], TableComparison]
    summary: pd.DataFrame
    meta: Mapping[str, Any]

    #: What `compare_runs` compares by default.
    measures: ClassVar[tuple[str, ...]] = ("cell_f1", "row_f1", "column_recall")

    def __len__(self) -> int:
        """Count the answers."""
        return len(self._comparisons)

    @cached_property
    def rows(self) -> pd.DataFrame:
        """One row per run, table and cell of gold or the prediction."""
        return self._together("cells")

    @property
    def scores(self) -> pd.DataFrame:
        """One row per run, table and measure of `summary`."""
        return scores_of(self.summary, MEASURES)

    @cached_property
    def matches(self) -> pd.DataFrame:
        """One row per row of gold, plus one per spurious predicted row."""
        return self._together("matches")

    @cached_property
    def columns(self) -> pd.DataFrame:
        """One row per column of gold, plus one per extra predicted column."""
        return self._together("columns")

    @cached_property
    def judge_calls(self) -> pd.DataFrame:
        """One row per call of a model; those for ratings have the metric ``table_quality``."""
        return self._together("judge_calls")

    def _together(self, name: str) -> pd.DataFrame:
        found = self._comparisons.values()
        return labelled_frame(found, [getattr(one, name) for one in found])

    @property
    def by_run(self) -> pd.DataFrame:
        """One row per run, in the order of the runs."""
        return BY_RUN.from_records(self._means("run"))

    def _means(self, *by: str) -> pd.DataFrame:
        """Average the scores of answers by run, or by run and domain."""
        groups = self.summary.groupby(list(by), sort=False, dropna=False)
        means = groups[["direct", "mapped", *MEASURES]].mean()
        of_task = list(dict.fromkeys([*by, "domain", "schema"]))
        tasks = self.summary.groupby(of_task, sort=False, dropna=False)["cell_f1"].mean()
        levels = list(range(len(by)))
        means["task_cell_f1"] = tasks.groupby(level=levels, sort=False, dropna=False).mean()
        means["quality"] = groups["quality"].mean() if "quality" in self.summary else None
        means["tables"] = groups.size()
        means["missing"] = self.summary["document"].nunique() - means["tables"]
        means["invalid"] = means["tables"] - groups["valid"].sum()
        for name in ("judge_errors", "llm_calls"):
            means[name] = groups[name].sum().astype(int)
        means["llm_cost_usd"] = groups["llm_cost_usd"].agg(lambda cost: cost.sum(skipna=False))
        return means.reset_index()

    def comparison(self, run: str, document: str) -> TableComparison:
        """Return the comparison of one answer, by values of ``run`` and ``document``.

        Raises
        ------
        InputError
            The run has no answer for the document.
        """
        found = self._comparisons
        if (run, document) not in found:
            near = nearest(f"{run}, {document}", [", ".join(key) for key in found])
            raise InputError(f"no answer of run {run!r} for table {document!r}; {near}")
        return found[run, document]

    def losses(self, recalls: Mapping[str, EvidenceRecall] | None = None) -> pd.DataFrame:
        """Add up the points that each answer lost at each stage, like `TableComparison.losses`.

        `recalls` are results of `evidence_recall` by id of the table. The frame has one row per
        run, table, side and stage; comparisons by ``aoe`` are an `InputError`.
        """
        found, recalls = self._comparisons, recalls or {}
        parts = [one.losses(recalls.get(table)) for (_, table), one in found.items()]
        return labelled_frame(found.values(), parts)

    def write_aoe(self, folder: str | Path) -> Path:
        """Write the files of AOE's evaluation.

        Parameters
        ----------
        folder : str or pathlib.Path
            The folder; created if it does not exist. Files of the same names are replaced.

        Returns
        -------
        pathlib.Path
            The folder. ``{run}/{table}.json`` has ``if_csv_parsed``, ``one_piece`` (the ratings,
            null without ``quality=``) and ``cell_scores``, rounded to three digits;
            ``statistics.csv`` has the means of each run by domain and over all domains.

        Raises
        ------
        InputError
            The name of a run or table cannot be that of a file.
        OutputError
            A file cannot be written.
        """
        folder, files = Path(folder), dict[Path, str]()
        for row in self.summary.to_dict("records"):
            for name in (row["run"], row["document"]):
                if Path(name).name != name or name == "..":
                    raise InputError(f"{name!r} cannot be the name of a file; rename it")
            ratings = [row.get(name) for name in _QUALITY]
            scores = {name: round(row[our], 3) for name, our in AOE_SCORES.items()}
            scores["total_compared_cells_in_matched"] = int(row["matched_cells"])
            content = {
                "if_csv_parsed": {name: int(row[name]) for name in ("direct", "mapped")},
                "one_piece": {
                    f"score{n}": None if pd.isna(rating) else int(rating)
                    for n, rating in enumerate(ratings, 1)
                },
                "cell_scores": scores,
            }
            text = json.dumps(content, ensure_ascii=False, indent=4) + "\n"
            files[make_folder(folder / row["run"]) / f"{row['document']}.json"] = text
        by_domain = self._means("run", "domain").sort_values(["run", "domain"])
        means = pd.concat([by_domain, self._means("run").assign(domain="all")])
        names = ["run", "domain", *(n for n in BY_RUN.names if n not in ("run", "missing"))]
        statistics = means.sort_values("run", kind="stable")[names]
        files[folder / "statistics.csv"] = statistics.to_csv(index=False)
        write_texts(files)
        return folder

    def __repr__(self) -> str:
        """Write the means of each run."""
        means = self.by_run[_SHOWN].to_string(index=False, float_format="{:.3f}".format)
        return f"TableEvaluations ({self.meta['profile']})\n{means}"


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
    rater: ModelJudge, scored: Sequence[_Scored], answers: Sequence[tuple[str, Any, TableTask]]
) -> list[_Scored]:
    """Add ratings to answers, and their calls to the comparisons; no answer is not rated."""

    async def rated(one: _Scored, predicted: Any, task: TableTask) -> _Scored:
        found, about = one
        if not isinstance(predicted, str):
            columns = len(found.predicted.columns)
            predicted = found.predicted.to_csv(index=False) if columns else ""
        if not predicted.strip():
            return one
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
            problem = filter(None, (found.meta["problem"], f"no rating: {error}"))
            rating: dict[str, Any] = {"problem": "; ".join(problem)}
        else:
            weights = QUALITY_WEIGHTS.values()
            mean = sum(w * score for w, score in zip(weights, scores, strict=True)) / sum(weights)
            rating = {"quality": mean, **dict(zip(_QUALITY, scores, strict=True))}
            calls = (call._replace(score=mean / _HIGHEST),)
        more = ((None, call) for call in calls)
        return replace(found, _calls=(*found._calls, *more)), about | rating

    async def gathered() -> list[_Scored]:
        pairs = zip(scored, answers, strict=True)
        return await asyncio.gather(*(rated(one, *answer[1:]) for one, answer in pairs))

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
