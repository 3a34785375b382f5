"""`TableEvaluations`: the comparisons of a batch as frames, and their averages."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar, NamedTuple

import pandas as pd

from extractbench_nb.construction.answers import FAILURES, READING_KINDS
from extractbench_nb.construction.evidence_recall import EvidenceRecall
from extractbench_nb.construction.table_comparison import (
    CELL_COLUMNS,
    COLUMN_COLUMNS,
    LOSS_COLUMNS,
    ROW_COLUMNS,
    SUMMARY,
    TableComparison,
)
from extractbench_nb.construction.table_dataset import LENGTH_MEANING
from extractbench_nb.core import Evaluation, total_cost
from extractbench_nb.core.frames import Column, FrameSpec
from extractbench_nb.core.text import JudgeCall
from extractbench_nb.errors import InputError, nearest
from extractbench_nb.support.cards import card_html, document_text, table_html
from extractbench_nb.support.wording import one_line, plural

#: The parts of a rating, and AOE's weights of them.
QUALITY_WEIGHTS = {"intent": 2, "columns": 3, "content": 3, "format": 2}

IDS = (
    Column("run", "string", "name of the run, usually a model's name"),
    Column("document", "string", "id of the table"),
    Column("domain", "string", "domain of the table, if known", nullable=True),
    Column("schema", "string", "task and language: what decides the columns; else the table"),
)
_RATIOS = SUMMARY.names[: SUMMARY.names.index("score_sum")]
_OWN = (
    Column("task", "string", "kind of table, if known", nullable=True),
    Column("language", "string", "language of query and documents, if known", nullable=True),
    Column("outcome", "string", "whether there is a table", "evaluated, invalid"),
    Column("message", "string", "why there is none", nullable=True),
    Column("direct", "bool", "whether AOE's released code reads the answer as it is"),
    Column("mapped", "bool", "whether there is a table with rows, read by rules"),
    Column(
        "failure_mode", "string", "why it is not direct", ", ".join(READING_KINDS), nullable=True
    ),
    Column("documents", "Int64", "documents that the table is built from", "0 and up", True),
    Column("average_length", "Float64", LENGTH_MEANING, "0 or more", True),
    Column("pass_rate", "float64", "passed / evaluated cells", "0 to 1"),
)
_QUALITY = (
    Column("quality", "Float64", "weighted mean of the next four", "0 to 100", True),
    *(
        Column(f"quality_{name}", "Int64", f"{name}, as the model rates it", "0 to 100", True)
        for name in QUALITY_WEIGHTS
    ),
    Column("quality_problem", "string", "why there is no rating", nullable=True),
)
SUMMARY_COLUMNS = FrameSpec(
    "summary", "one row per run and table", (*IDS, *_OWN, *SUMMARY.columns, *_QUALITY)
)
#: Names that a user's own columns cannot have.
RESERVED = frozenset(SUMMARY_COLUMNS.names) - {"run", "document", "domain", "task", "language"}

BY_RUN = FrameSpec(
    "by_run",
    "one row per run",
    (
        Column("run", "string", "name of the run"),
        Column("tables", "int64", "answers of the run, those without a table included", "1 and up"),
        Column("missing", "int64", "tables that only other runs have", "0 and up"),
        Column("invalid", "int64", "answers without a table", "0 to tables"),
        Column("direct", "float64", "share of direct answers", "0 to 1"),
        Column("mapped", "float64", "share of answers with a table that has rows", "0 to 1"),
        *(Column(n, "float64", f"mean over tables: {n}", "0 to 1") for n in _RATIOS),
        Column("task_cell_f1", "float64", "mean over tasks of the mean cell_f1, as in AOE"),
        Column("quality", "Float64", "mean over rated tables", "0 to 100", True),
        Column("judge_errors", "int64", "cells without a verdict", "0 and up"),
        Column("llm_calls", "int64", "calls of a language model", "0 and up"),
        Column("llm_cost_usd", "Float64", "what they cost", "0 and up", True),
    ),
)
_PARTS = {
    "cells": CELL_COLUMNS,
    "rows": ROW_COLUMNS,
    "columns": COLUMN_COLUMNS,
    "judge_calls": Evaluation.spec("judge_calls"),
    "warnings": Evaluation.spec("warnings"),
}
LOSSES = FrameSpec(
    "losses", "one row per run, table, side and stage", (*IDS, *LOSS_COLUMNS.columns)
)
_SHOWN = ("cell_f1", "row_f1", "column_recall", "direct", "mapped")
_MOST_RUNS = 20


class Labels(NamedTuple):
    """What names an answer, and what is known of its table."""

    run: str
    document: str
    domain: str = ""
    task: str = ""
    language: str = ""
    documents: int | None = None
    average_length: float | None = None
    extras: tuple[tuple[str, Any], ...] = ()

    @property
    def schema(self) -> str:
        """Task and language; the table if there is no task."""
        return f"{self.task}{f' ({self.language})' if self.language else ''}" or self.document

    @property
    def ids(self) -> tuple[str, str, str | None, str]:
        """The cells of `IDS`."""
        return self.run, self.document, self.domain or None, self.schema

    @property
    def named(self) -> dict[str, Any]:
        """The cells of `IDS` by column."""
        return {column.name: cell for column, cell in zip(IDS, self.ids, strict=True)}


class Rating(NamedTuple):
    """The rating of one answer: four scores or none, the calls of the model, and what failed."""

    scores: tuple[int, ...] = ()
    calls: tuple[JudgeCall, ...] = ()
    problem: str | None = None


class Scored(NamedTuple):
    """One answer: its labels, its comparison with gold, and its rating if one was asked for."""

    labels: Labels
    comparison: TableComparison
    rating: Rating | None = None


@dataclass(frozen=True, repr=False, eq=False)
class TableEvaluations:
    """The comparisons of a batch, frozen; made by `evaluate_tables`.

    `compare_runs` takes `summary`, where a table is a ``document``; `breakdown`, `difficulty` and
    `explore` take `fields`. `rows`, `columns`, `judge_calls` and `warnings` are the frames of
    `TableComparison`, with the first columns run, document, domain and schema.
    """

    _scored: tuple[Scored, ...]
    _meta: Mapping[str, Any]

    #: What `compare_runs` compares by default.
    measures: ClassVar[tuple[str, ...]] = ("cell_f1", "row_f1", "column_recall")

    def __len__(self) -> int:
        """Count the answers."""
        return len(self._scored)

    @property
    def meta(self) -> dict[str, Any]:
        """Profile, judge, counts."""
        return dict(self._meta)

    @property
    def summary(self) -> pd.DataFrame:
        """One row per run and table."""
        return self._summary.copy()

    @property
    def fields(self) -> pd.DataFrame:
        """One row per run, table and cell of gold or the prediction."""
        return self._frame("cells")

    @property
    def rows(self) -> pd.DataFrame:
        """One row per row of gold, plus one per spurious predicted row."""
        return self._frame("rows")

    @property
    def columns(self) -> pd.DataFrame:
        """One row per column of gold, plus one per extra predicted column."""
        return self._frame("columns")

    @property
    def judge_calls(self) -> pd.DataFrame:
        """One row per call of a model; those for ratings have the metric ``table_quality``."""
        return self._frame("judge_calls")

    @property
    def warnings(self) -> pd.DataFrame:
        """Warnings: repaired answers, blank or repeated keys, failures of the judge."""
        return self._frame("warnings")

    @property
    def by_run(self) -> pd.DataFrame:
        """One row per run, in the order of the runs."""
        summary, absent = self._summary, self.missing["run"].value_counts()
        rows = []
        for run, part in summary.groupby("run", sort=False):
            of_tasks = part.groupby(["domain", "schema"], dropna=False)["cell_f1"].mean()
            quality = part["quality"].mean() if "quality" in part else pd.NA
            rows.append(
                {
                    **part[["direct", "mapped", *_RATIOS]].mean(),
                    **part[["judge_errors", "llm_calls"]].sum().astype(int),
                    "run": run,
                    "tables": len(part),
                    "missing": int(absent.get(run, 0)),
                    "invalid": int((part["outcome"] == "invalid").sum()),
                    "task_cell_f1": of_tasks.mean(),
                    "quality": None if pd.isna(quality) else quality,
                    "llm_cost_usd": part["llm_cost_usd"].sum(skipna=False),
                }
            )
        return BY_RUN.from_records(rows)

    @property
    def missing(self) -> pd.DataFrame:
        """One row per answer that another run has and this one does not."""
        documents = {one.labels.document: one.labels for one in self._scored}
        runs = dict.fromkeys(one.labels.run for one in self._scored)
        spec = FrameSpec("missing", "one row per answer that other runs have", IDS)
        return spec.from_rows(
            (run, *labels.ids[1:])
            for run in runs
            for document, labels in documents.items()
            if (run, document) not in self._comparisons
        )

    @cached_property
    def _comparisons(self) -> dict[tuple[str, str], TableComparison]:
        return {(one.labels.run, one.labels.document): one.comparison for one in self._scored}

    def comparison(self, run: str, document: str) -> TableComparison:
        """Return the comparison of one answer.

        Parameters
        ----------
        run, document : str
            Values of ``summary["run"]`` and ``summary["document"]``.

        Returns
        -------
        TableComparison
            As `compare` returns it.

        Raises
        ------
        InputError
            The run has no answer for the document.
        """
        found = self._comparisons
        if (run, document) in found:
            return found[run, document]
        if all(name != run for name, _ in found):
            raise InputError(f"no run {run!r}; {nearest(run, {name for name, _ in found})}")
        of_run = [table for name, table in found if name == run]
        raise InputError(f"run {run!r} has no table {document!r}; {nearest(document, of_run)}")

    def losses(self, recalls: Mapping[str, EvidenceRecall] | None = None) -> pd.DataFrame:
        """Add up the points that each answer lost at each stage, as `TableComparison.losses` does.

        Parameters
        ----------
        recalls : mapping, optional
            Results of `evidence_recall` by id of the table.

        Returns
        -------
        pandas.DataFrame
            One row per run, table, side and stage: run, document, domain, schema, and the columns
            of `losses`.

        Raises
        ------
        InputError
            The comparisons use ``aoe``.
        """
        known = recalls or {}
        return LOSSES.from_records(
            one.labels.named | {str(name): cell for name, cell in row.items()}
            for one in self._scored
            for row in one.comparison.losses(known.get(one.labels.document)).to_dict("records")
        )

    @cached_property
    def _summary(self) -> pd.DataFrame:
        frame = SUMMARY_COLUMNS.from_records(map(_summary_row, self._scored))
        if self._meta["quality"] is None:
            frame = frame.drop(columns=[column.name for column in _QUALITY])
        extras = pd.DataFrame([dict(one.labels.extras) for one in self._scored], index=frame.index)
        return pd.concat([frame, extras.infer_objects()], axis=1)

    def _frame(self, part: str) -> pd.DataFrame:
        """Put the frames of all comparisons together, led by their ids; built on first use."""
        frames: dict[str, pd.DataFrame] = self.__dict__.setdefault("_frames", {})
        if part not in frames:
            parts = [getattr(one.comparison, part) for one in self._scored]
            if part == "judge_calls":
                pairs = zip(parts, self._scored, strict=True)
                parts = [_with_rating(calls, one.rating) for calls, one in pairs]
            filled = [frame for frame in parts if len(frame)] or [_PARTS[part].build()]
            ids = FrameSpec("ids", "", IDS).from_rows(
                one.labels.ids
                for one, frame in zip(self._scored, parts, strict=True)
                for _ in range(len(frame))
            )
            frames[part] = pd.concat([ids, pd.concat(filled, ignore_index=True)], axis=1)
        return frames[part].copy()

    def __repr__(self) -> str:
        """Write one line of scores per run."""
        lines = [self._title()]
        for row in self.by_run.head(_MOST_RUNS).to_dict("records"):
            scores = " · ".join(f"{name} {row[name]:.3f}" for name in _SHOWN)
            lines.append(f"{one_line(row['run'], 40)}  {scores} · {plural(row['tables'], 'table')}")
        return "\n  ".join([*lines, *self._notes()])

    def _repr_html_(self) -> str:
        """Write the same as static HTML; every text is escaped."""
        rows = [
            [
                document_text(row["run"], 40),
                *(f"{row[name]:.3f}" for name in _SHOWN),
                *(str(row[name]) for name in ("tables", "invalid", "missing")),
            ]
            for row in self.by_run.head(_MOST_RUNS).to_dict("records")
        ]
        heads = [name.replace("_", " ") for name in (*_SHOWN, "tables", "invalid", "missing")]
        notes = (f'<div class="xb-note">{document_text(note, 400)}</div>' for note in self._notes())
        return card_html(self._title(), table_html(["run"], heads, rows), *notes)

    def _title(self) -> str:
        runs, tables = (
            plural(self._meta[n], w) for n, w in (("runs", "run"), ("documents", "table"))
        )
        return f"TableEvaluations ({self._meta['profile']}): {runs}, {tables}"

    def _notes(self) -> list[str]:
        summary, notes = self._summary, []
        more = self._meta["runs"] - _MOST_RUNS
        if more > 0:
            notes.append(f"… {more} more runs; .by_run has them")
        modes = summary["failure_mode"].dropna().value_counts(sort=False)
        modes = modes.sort_values(ascending=False, kind="stable")
        if len(modes):
            listed = ", ".join(f"{count} {mode}" for mode, count in modes.items())
            notes.append(f"not direct: {listed}")
        absent = len(self.missing)
        if absent:
            notes.append(f"{plural(absent, 'answer')} missing and in no mean; .missing has them")
        errors = int(summary["judge_errors"].sum())
        if errors:
            notes.append(f"{plural(errors, 'cell')} without a verdict: scores are lower bounds")
        return notes


def _summary_row(scored: Scored) -> dict[str, Any]:
    labels, found, rating = scored
    meta, scores = found.meta, {str(name): value for name, value in found.summary.items()}
    is_table = meta["mapped"] or bool(len(found.predicted.columns))
    message = None
    if not is_table:
        told = dict(zip(found.warnings["kind"], found.warnings["message"], strict=True))
        message = next((told[kind] for kind in FAILURES if kind in told), None)
    row: dict[str, Any] = {
        **labels.named,
        "task": labels.task or None,
        "language": labels.language or None,
        "outcome": "evaluated" if is_table else "invalid",
        "message": message,
        **{name: meta[name] for name in ("direct", "mapped", "failure_mode")},
        "documents": labels.documents,
        "average_length": labels.average_length,
        "pass_rate": scores["passed"] / scores["evaluated"] if scores["evaluated"] else 0.0,
        **scores,
    }
    if rating is not None:
        calls = _with_rating(found.judge_calls, rating)
        row |= {"llm_calls": float(len(calls)), "llm_cost_usd": total_cost(calls)}
        row |= {"quality_problem": rating.problem}
        if rating.scores:
            names = (f"quality_{name}" for name in QUALITY_WEIGHTS)
            row |= dict(zip(names, rating.scores, strict=True))
            row["quality"] = quality_of(rating.scores)
    return row


def _with_rating(calls: pd.DataFrame, rating: Rating | None) -> pd.DataFrame:
    """Add the calls for a rating to those of a comparison."""
    if rating is None or not rating.calls:
        return calls
    of_rating = (("$", "$", "table_quality", *call, None) for call in rating.calls)
    added = Evaluation.spec("judge_calls").from_rows(of_rating)
    return pd.concat([calls, added], ignore_index=True) if len(calls) else added


def quality_of(scores: Sequence[int]) -> float:
    """Return the weighted mean of the four scores of a rating, 0 to 100."""
    weights = QUALITY_WEIGHTS.values()
    return sum(w * score for w, score in zip(weights, scores, strict=True)) / sum(weights)
