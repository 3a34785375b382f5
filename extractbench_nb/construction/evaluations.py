"""`TableEvaluations`: the comparisons of a batch as frames, and their averages."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar, NamedTuple

import pandas as pd

from extractbench_nb.construction.answers import FAILURES, READING_KINDS
from extractbench_nb.construction.evidence_recall import EvidenceRecall
from extractbench_nb.construction.table_comparison import (
    LOSS_COLUMNS,
    SUMMARY,
    TableComparison,
)
from extractbench_nb.construction.table_dataset import LENGTH_MEANING
from extractbench_nb.core.frames import Column, FrameSpec
from extractbench_nb.errors import InputError, nearest
from extractbench_nb.support.cards import TextCard
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
    Column("valid", "bool", "whether there is a table"),
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
RESERVED = frozenset(SUMMARY_COLUMNS.names) - {"run", "document"}

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
LOSSES = FrameSpec(
    "losses", "one row per run, table, side and stage", (*IDS, *LOSS_COLUMNS.columns)
)
_SHOWN = ("cell_f1", "row_f1", "column_recall", "direct", "mapped")
_MOST_RUNS = 20


class Scored(NamedTuple):
    """One answer: its comparison with gold, and what is known of it, by column of ``summary``."""

    comparison: TableComparison
    #: The columns of `IDS`, task, language, sizes, and those of a rating.
    labels: Mapping[str, Any]
    #: The user's own columns.
    extras: Mapping[str, Any]

    @property
    def ids(self) -> dict[str, Any]:
        """The cells of `IDS`."""
        return {column.name: self.labels[column.name] for column in IDS}


@dataclass(frozen=True, repr=False, eq=False)
class TableEvaluations(TextCard):
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
        absent, rows = self.missing["run"].value_counts(), []
        for run, part in self._summary.groupby("run", sort=False):
            of_tasks = part.groupby(["domain", "schema"], dropna=False)["cell_f1"].mean()
            quality = part["quality"].mean() if "quality" in part else None
            rows.append(
                {
                    **part[["direct", "mapped", *_RATIOS]].mean(),
                    **part[["judge_errors", "llm_calls"]].sum().astype(int),
                    "run": run,
                    "tables": len(part),
                    "missing": int(absent.get(run, 0)),
                    "invalid": int((~part["valid"]).sum()),
                    "task_cell_f1": of_tasks.mean(),
                    "quality": None if pd.isna(quality) else quality,
                    "llm_cost_usd": part["llm_cost_usd"].sum(skipna=False),
                }
            )
        return BY_RUN.from_records(rows)

    @property
    def missing(self) -> pd.DataFrame:
        """One row per answer that another run has and this one does not."""
        documents = {one.labels["document"]: one.ids for one in self._scored}
        runs = dict.fromkeys(run for run, _ in self._comparisons)
        spec = FrameSpec("missing", "one row per answer that other runs have", IDS)
        return spec.from_records(
            ids | {"run": run}
            for run in runs
            for document, ids in documents.items()
            if (run, document) not in self._comparisons
        )

    @cached_property
    def _comparisons(self) -> dict[tuple[str, str], TableComparison]:
        return {(one.labels["run"], one.labels["document"]): one.comparison for one in self._scored}

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
        recalls = recalls or {}
        return self._joined(
            [one.comparison.losses(recalls.get(one.labels["document"])) for one in self._scored]
        )

    @cached_property
    def _summary(self) -> pd.DataFrame:
        frame = SUMMARY_COLUMNS.from_records(map(_summary_row, self._scored))
        if self._meta["quality"] is None:
            frame = frame.drop(columns=[column.name for column in _QUALITY])
        extras = pd.DataFrame([dict(one.extras) for one in self._scored], index=frame.index)
        return pd.concat([frame, extras.infer_objects()], axis=1)

    def _frame(self, part: str) -> pd.DataFrame:
        """Return the frames of all comparisons together; built on first use."""
        frames: dict[str, pd.DataFrame] = self.__dict__.setdefault("_frames", {})
        if part not in frames:
            frames[part] = self._joined([getattr(one.comparison, part) for one in self._scored])
        return frames[part].copy()

    def _joined(self, parts: Sequence[pd.DataFrame]) -> pd.DataFrame:
        """Put one frame of each comparison together, led by their ids."""
        ids = FrameSpec("ids", "", IDS).from_records(
            one.ids for one, part in zip(self._scored, parts, strict=True) for _ in part.index
        )
        filled = [part for part in parts if len(part)] or [parts[0]]
        return pd.concat([ids, pd.concat(filled, ignore_index=True)], axis=1)

    def __repr__(self) -> str:
        """Write one line of scores per run, and what is not as it should be."""
        meta, summary = self._meta, self._summary
        counts = plural(meta["runs"], "run"), plural(meta["documents"], "table")
        lines = [f"TableEvaluations ({meta['profile']}): {', '.join(counts)}"]
        for row in self.by_run.head(_MOST_RUNS).to_dict("records"):
            scores = " · ".join(f"{name} {row[name]:.3f}" for name in _SHOWN)
            lines.append(f"{one_line(row['run'], 40)}  {scores} · {plural(row['tables'], 'table')}")
        if meta["runs"] > _MOST_RUNS:
            lines.append(f"… {meta['runs'] - _MOST_RUNS} more runs; .by_run has them")
        modes = Counter(summary["failure_mode"].dropna())
        if modes:
            listed = ", ".join(f"{count} {mode}" for mode, count in modes.most_common())
            lines.append(f"not direct: {listed}")
        absent, errors = len(self.missing), int(summary["judge_errors"].sum())
        if absent:
            lines.append(f"{plural(absent, 'answer')} missing and in no mean; .missing has them")
        if errors:
            lines.append(f"{plural(errors, 'cell')} without a verdict: scores are lower bounds")
        return "\n  ".join(lines)


def _summary_row(scored: Scored) -> dict[str, Any]:
    found = scored.comparison
    meta, scores = found.meta, {str(name): value for name, value in found.summary.items()}
    is_table = meta["mapped"] or bool(len(found.predicted.columns))
    problems = found.warnings.set_index("kind")["message"]
    return {
        **scored.labels,
        "valid": is_table,
        "message": None if is_table else problems[problems.index.isin(FAILURES)].iloc[-1],
        **{name: meta[name] for name in ("direct", "mapped", "failure_mode")},
        "pass_rate": scores["passed"] / scores["evaluated"] if scores["evaluated"] else 0.0,
        **scores,
    }
