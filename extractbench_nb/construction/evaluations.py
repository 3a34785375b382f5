"""`TableEvaluations`: the comparisons of a batch as frames, and their means."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, ClassVar

import pandas as pd

from extractbench_nb.construction.answers import FAILURES, READING_KINDS
from extractbench_nb.construction.evidence_recall import EvidenceRecall
from extractbench_nb.construction.table_comparison import (
    MEASURES,
    SUMMARY,
    TableComparison,
    labelled_frame,
)
from extractbench_nb.construction.table_dataset import LENGTH_MEANING
from extractbench_nb.core.frames import Column, FrameSpec, scores_of
from extractbench_nb.errors import InputError, nearest
from extractbench_nb.support.cards import TextCard
from extractbench_nb.support.files import make_folder, write_texts
from extractbench_nb.support.wording import one_line, plural

#: The parts of a rating, and AOE's weights of them.
QUALITY_WEIGHTS = {"intent": 2, "columns": 3, "content": 3, "format": 2}

_MODES = ", ".join(READING_KINDS)
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
        Column("message", "string", "why there is none", nullable=True),
        Column("direct", "bool", "whether AOE's released code reads the answer unchanged"),
        Column("mapped", "bool", "whether there is a table with rows, read by rules"),
        Column("failure_mode", "string", "why it is not direct", _MODES, True),
        Column("documents", "Int64", "documents that the table is built from", "0 and up", True),
        Column("average_length", "Float64", LENGTH_MEANING, "0 or more", True),
        *SUMMARY.columns,
        Column("quality", "Float64", "weighted mean of the next four", "0 to 100", True),
        *(
            Column(f"quality_{name}", "Int64", f"{name}, rated by the model", "0 to 100", True)
            for name in QUALITY_WEIGHTS
        ),
        Column("quality_problem", "string", "why there is no rating", nullable=True),
    ),
)
_QUALITY = [name for name in SUMMARY_COLUMNS.names if name.startswith("quality")]

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
        *(Column(n, "float64", f"mean over tables: {n}", "0 to 1") for n in MEASURES),
        Column("task_cell_f1", "float64", "mean over tasks of the mean cell_f1, as in AOE"),
        Column("quality", "Float64", "mean over rated tables", "0 to 100", True),
        Column("judge_errors", "int64", "cells without a verdict", "0 and up"),
        Column("llm_calls", "int64", "calls of a language model", "0 and up"),
        Column("llm_cost_usd", "Float64", "their cost", "0 and up", True),
    ),
)
_SHOWN = ("cell_f1", "row_f1", "column_recall", "direct", "mapped")
_MOST_RUNS = 20
#: The scores of a table in AOE's files, and our names of them where they differ.
AOE_SCORES = {
    **{name: name for name in ("column_recall", "row_precision", "row_recall", "row_f1")},
    **{name: name for name in ("cell_precision", "cell_recall", "cell_f1")},
    "total_compared_cells_in_matched": "matched_cells",
    "average_cell_score_in_matched": "average_cell_score",
}


@dataclass(frozen=True, repr=False, eq=False)
class TableEvaluations(TextCard):
    """The comparisons of a batch, frozen; made by `evaluate_tables`.

    A `ScoredResult`: `compare_runs`, `breakdown`, `difficulty` and `explore` take it with
    ``measure=``; a table is a ``document``. The frames of `TableComparison` are led by run,
    document, domain and schema. Each access returns a copy.
    """

    _comparisons: Mapping[tuple[str, str], TableComparison]
    _summary: pd.DataFrame
    _meta: Mapping[str, Any]

    #: What `compare_runs` compares by default.
    measures: ClassVar[tuple[str, ...]] = ("cell_f1", "row_f1", "column_recall")

    def __len__(self) -> int:
        """Count the answers."""
        return len(self._comparisons)

    @property
    def meta(self) -> dict[str, Any]:
        """Profile, judge, counts."""
        return dict(self._meta)

    @property
    def summary(self) -> pd.DataFrame:
        """One row per run and table."""
        return self._summary.copy()

    @property
    def rows(self) -> pd.DataFrame:
        """One row per run, table and cell of gold or the prediction."""
        return self._frame("cells")

    @property
    def fields(self) -> pd.DataFrame:
        """The frame `rows`, by the name that it has in `Evaluations`."""
        return self.rows

    @property
    def scores(self) -> pd.DataFrame:
        """One row per run, table and measure of `summary`."""
        return scores_of(self._summary, MEASURES)

    @property
    def matches(self) -> pd.DataFrame:
        """One row per row of gold, plus one per spurious predicted row."""
        return self._frame("matches")

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

    def _frame(self, name: str) -> pd.DataFrame:
        """Return a frame of all comparisons together; built on first use."""
        frames: dict[str, pd.DataFrame] = self.__dict__.setdefault("_frames", {})
        if name not in frames:
            found = self._comparisons.values()
            frames[name] = labelled_frame(found, [getattr(one, name) for one in found])
        return frames[name].copy()

    @property
    def by_run(self) -> pd.DataFrame:
        """One row per run, in the order of the runs."""
        means = BY_RUN.from_records(self._means("run"))
        absent = self.missing["run"].value_counts()
        return means.assign(missing=[int(absent.get(run, 0)) for run in means["run"]])

    def _means(self, *by: str) -> list[dict[str, Any]]:
        records = []
        for key, part in self._summary.groupby(list(by), sort=False, dropna=False):
            tasks = part.groupby(["domain", "schema"], dropna=False)["cell_f1"].mean()
            quality = part["quality"].mean() if "quality" in part else None
            record = {
                **dict(zip(by, key, strict=True)),
                "tables": len(part),
                "missing": 0,
                "invalid": int((~part["valid"]).sum()),
                **part[["direct", "mapped", *MEASURES]].mean(),
                "task_cell_f1": tasks.mean(),
                "quality": None if pd.isna(quality) else quality,
                **part[["judge_errors", "llm_calls"]].sum().astype(int),
                "llm_cost_usd": part["llm_cost_usd"].sum(skipna=False),
            }
            records.append({str(name): value for name, value in record.items()})
        return records

    @cached_property
    def missing(self) -> pd.DataFrame:
        """One row per answer that another run has and this one does not."""
        documents = self._summary.drop_duplicates("document")[["document", "domain", "schema"]]
        pairs = self._summary[["run"]].drop_duplicates().merge(documents, how="cross")
        known = pd.MultiIndex.from_tuples(list(self._comparisons))
        lacks = ~pd.MultiIndex.from_frame(pairs[["run", "document"]]).isin(known)
        return pairs[lacks].reset_index(drop=True)

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
        of_run = [table for name, table in found if name == run]
        if not of_run:
            raise InputError(f"no run {run!r}; {nearest(run, {name for name, _ in found})}")
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
        for row in self._summary.to_dict("records"):
            for name in (row["run"], row["document"]):
                if Path(name).name != name or name == "..":
                    raise InputError(f"{name!r} cannot be the name of a file; rename it")
            rated = (row.get(f"quality_{name}") for name in QUALITY_WEIGHTS)
            content = {
                "if_csv_parsed": {name: int(row[name]) for name in ("direct", "mapped")},
                "one_piece": {
                    f"score{n}": None if pd.isna(score) else int(score)
                    for n, score in enumerate(rated, 1)
                },
                "cell_scores": {name: round(row[our], 3) for name, our in AOE_SCORES.items()},
            }
            cells: Any = content["cell_scores"]
            cells["total_compared_cells_in_matched"] = int(row["matched_cells"])
            text = json.dumps(content, ensure_ascii=False, indent=4) + "\n"
            files[folder / row["run"] / f"{row['document']}.json"] = text
        by_domain = pd.DataFrame(self._means("run", "domain")).sort_values(["run", "domain"])
        over_all = pd.DataFrame(self._means("run")).assign(domain="all")
        means = pd.concat([by_domain, over_all]).sort_values("run", kind="stable")
        names = ["run", "domain", *(name for name in BY_RUN.names if name in means)]
        statistics = means[list(dict.fromkeys(names))].drop(columns="missing")
        files[folder / "statistics.csv"] = statistics.to_csv(index=False)
        for parent in {path.parent for path in files}:
            make_folder(parent)
        write_texts(files)
        return folder

    def __repr__(self) -> str:
        """Write one line of scores per run, and problems."""
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


def table_evaluations(
    scored: Sequence[tuple[TableComparison, Mapping[str, Any]]], meta: Mapping[str, Any]
) -> TableEvaluations:
    """Put comparisons together; each comes with further columns of ``summary``."""
    records, extras = [], []
    for comparison, about in scored:
        of_table, problems = comparison.meta, comparison.warnings
        is_table = of_table["mapped"] or bool(len(comparison.predicted.columns))
        failures = problems.loc[problems["kind"].isin(FAILURES), "message"]
        records.append(
            {
                **{str(name): value for name, value in comparison.summary.items()},
                **of_table,
                **about,
                "valid": is_table,
                "message": None if is_table else failures.iloc[-1],
            }
        )
        extras.append({n: value for n, value in about.items() if n not in SUMMARY_COLUMNS.names})
    frame = SUMMARY_COLUMNS.from_records(records)
    if meta["quality"] is None:
        frame = frame.drop(columns=_QUALITY)
    more = pd.DataFrame(extras, index=frame.index).infer_objects()
    found = {(c.meta["run"], c.meta["document"]): c for c, _ in scored}
    counts = {name: len({c.meta[label] for c, _ in scored}) for name, label in _COUNTS.items()}
    whole = {**meta, "outputs": len(scored), **counts}
    return TableEvaluations(found, pd.concat([frame, more], axis=1), whole)


_COUNTS = {"runs": "run", "documents": "document"}
