"""From the outputs of runs to tables as the paper has them: validity, pass rates, failures."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from extractbench_nb._frames import Column, FrameSpec
from extractbench_nb.batch import Evaluations, evaluate_runs
from extractbench_nb.batch.inputs import Documents
from extractbench_nb.benchmark.complexity import complexity
from extractbench_nb.breakdowns.sources import refuse_missing
from extractbench_nb.errors import InputError, nearest
from extractbench_nb.extraction.reading import failure_modes, predictions
from extractbench_nb.inputs import Aligner
from extractbench_nb.judges.base import Judge
from extractbench_nb.profiles import Profile

__all__ = ["BASELINE_COLUMNS", "BaselineTables", "baseline_tables"]

#: The name of what is summed up over all domains, or all runs.
OVERALL, ALL_RUNS = "overall", "total"

BASELINE_COLUMNS = FrameSpec(
    "results",
    "one row a run and schema; the rows of all runs, and of all schemas, come last",
    (
        Column("run", "string", "run; total for all"),
        Column("schema", "string", "schema, the paper's domain; overall for all"),
        Column("documents", "int64", "attempts", "0 and up"),
        Column("valid", "int64", "valid outputs", "0 to documents"),
        Column("valid_rate", "float64", "valid / documents", "0 to 1"),
        Column("passed", "int64", "fields that pass in valid outputs", "0 and up"),
        Column("fields", "int64", "documents x keys of their schema", "0 and up"),
        Column("pass_rate", "float64", "passed / fields", "0 to 1"),
        Column("ceiling", "float64", "scored fields / fields: what a perfect run gets", "0 to 1"),
        Column("evaluated_valid", "int64", "scored fields of valid outputs", "0 and up"),
        Column("accuracy_valid", "Float64", "passed / evaluated_valid", "0 to 1", True),
    ),
)

_SUMS = ("documents", "valid", "passed", "fields", "evaluated", "evaluated_valid")


@dataclass(frozen=True, eq=False)
class BaselineTables:
    """Validity, pass rates and failures of runs; made by `baseline_tables`.

    Parameters
    ----------
    results : pandas.DataFrame
        One row a run and schema; see `BASELINE_COLUMNS`.
    failures : pandas.DataFrame
        How attempts failed, one column a run: the form of Table 7.
    evaluations : Evaluations
        What the numbers are from.
    """

    results: pd.DataFrame
    failures: pd.DataFrame
    evaluations: Evaluations

    @property
    def table(self) -> pd.DataFrame:
        """The form of Table 5: a row a run, its valid outputs, pass rates by schema, accuracy."""
        rows = self.results
        rates = rows.pivot_table(index="run", columns="schema", values="pass_rate", sort=False)
        whole = rows[rows["schema"] == OVERALL].set_index("run")
        found = rates.reindex(index=whole.index)
        found.insert(0, "valid", whole["valid"])
        found.insert(1, "attempts", whole["documents"])
        found["accuracy_valid"] = whole["accuracy_valid"]
        return found.rename_axis(columns=None)

    def of_schema(self, name: str) -> pd.DataFrame:
        """Return the form of Tables 9 to 13: one row a run, for one schema.

        Parameters
        ----------
        name : str
            A schema of the dataset, or ``overall``.

        Returns
        -------
        pandas.DataFrame
            Indexed by run: documents, valid, passed, fields, pass_rate and the rest of `results`.

        Raises
        ------
        InputError
            No output is of that schema.
        """
        rows = self.results[self.results["schema"] == name]
        if rows.empty:
            raise InputError(f"unknown schema {name!r}; {nearest(name, self.results['schema'])}")
        return rows.drop(columns="schema").set_index("run")

    def __repr__(self) -> str:
        """Write the table with its rates as percentages."""
        whole = self.results[self.results["schema"] == OVERALL]
        lines = [
            f"  {row['run']}: {row['valid']} of {row['documents']} valid, "
            f"pass rate {row['pass_rate']:.1%} (at most {row['ceiling']:.1%})"
            for row in whole.to_dict("records")
        ]
        return "\n".join([f"BaselineTables of {len(whole) - 1} runs", *lines])


def baseline_tables(
    attempts: pd.DataFrame,
    dataset: Documents,
    *,
    judge: str | Judge = "offline",
    alignment: str | Aligner = "optimal",
    profile: str | Profile = "paper",
    n_jobs: int = 1,
) -> BaselineTables:
    """Evaluate the outputs of runs and sum them up as the paper does.

    Parameters
    ----------
    attempts : pandas.DataFrame
        From `read_outputs`.
    dataset : Dataset
        Where schemas and gold come from.
    judge, alignment, profile, n_jobs : object, optional
        See `evaluate_runs`.

    Returns
    -------
    BaselineTables
        ``table`` is the form of Table 5, ``failures`` of Table 7, ``of_schema(name)`` of 9 to 13.

    Raises
    ------
    InputError
        See `evaluate_runs`.

    Notes
    -----
    The pass rate is that of Table 5: fields that pass over documents times the keys of their
    schema; invalid outputs pass none. A schema has more keys than fields that are scored (an array
    is one), so that not even gold itself reaches 1: ``ceiling`` says how far. ``accuracy_valid``
    is over the scored fields of valid outputs, a biased sample (section 4.1 of the ExtractBench
    paper).
    """
    refuse_missing(attempts, ("run", "document", "schema", "valid"), "attempts")
    evs = evaluate_runs(
        predictions(attempts),
        dataset=dataset,
        judge=judge,
        alignment=alignment,
        profile=profile,
        n_jobs=n_jobs,
        progress=False,
    )
    counts = _counts(attempts, evs, dataset)
    return BaselineTables(_results(counts), failure_modes(attempts), evs)


def _counts(attempts: pd.DataFrame, evs: Evaluations, dataset: Documents) -> pd.DataFrame:
    """Count one attempt a row: what is to be summed up."""
    names = attempts["schema"].dropna().unique()
    keys = {name: int(complexity(dataset.schema(name))["keys"].iloc[0]) for name in names}
    given = attempts[["run", "document", "schema", "valid"]]
    scored = evs.summary[["run", "document", "passed", "evaluated"]]
    rows = given.merge(scored, on=["run", "document"], how="left", validate="one_to_one")
    valid = rows["valid"].astype("int64")
    return pd.DataFrame(
        {
            "run": rows["run"],
            "schema": rows["schema"],
            "documents": 1,
            "valid": valid,
            "passed": rows["passed"].astype("int64") * valid,
            "fields": rows["schema"].map(keys).astype("int64"),
            "evaluated": rows["evaluated"].astype("int64"),
            "evaluated_valid": rows["evaluated"].astype("int64") * valid,
        }
    )


def _results(counts: pd.DataFrame) -> pd.DataFrame:
    sums = list(_SUMS)
    parts = [
        part.groupby(["run", "schema"], sort=False)[sums].sum().reset_index()
        for rows in (counts, counts.assign(run=ALL_RUNS))
        for part in (rows, rows.assign(schema=OVERALL))
    ]
    found = pd.concat(parts, ignore_index=True)
    order = list(dict.fromkeys([*counts["run"], ALL_RUNS]))
    found["_at"] = found["run"].map({run: place for place, run in enumerate(order)})
    found["_last"] = found["schema"] == OVERALL
    found = found.sort_values(["_at", "_last"], kind="stable", ignore_index=True)
    found["valid_rate"] = found["valid"] / found["documents"]
    found["pass_rate"] = found["passed"] / found["fields"]
    found["ceiling"] = found["evaluated"] / found["fields"]
    some = found["evaluated_valid"].replace(0, np.nan)
    found["accuracy_valid"] = (found["passed"] / some).astype("Float64")
    columns: dict[str, Any] = {name: found[name] for name in BASELINE_COLUMNS.names}
    return BASELINE_COLUMNS.build(columns)
