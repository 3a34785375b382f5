"""`difficulty`: which fields are hard, and for whom."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd

from extractbench_nb._frames import Column, FrameSpec
from extractbench_nb.breakdowns.groups import chosen_rows
from extractbench_nb.breakdowns.sources import TEXT, gather, refuse_missing

__all__ = ["DIFFICULTY_COLUMNS", "difficulty"]

DIFFICULTY_COLUMNS = FrameSpec(
    "difficulty",
    "one row a schema and field that gold has somewhere, the hardest first",
    (
        Column("schema", "string", "schema id", nullable=True),
        Column("field", "string", "path with the indices taken out"),
        Column("rows", "int64", "rows in which gold is present", "1 and up"),
        Column("documents", "int64", "documents in which gold is present", "1 and up"),
        Column("runs", "int64", "runs that were asked for them", "1 and up"),
        Column("passed", "int64", "rows that pass", "0 to rows"),
        Column("pass_rate", "float64", "passed / rows", "0 to 1"),
        Column("mean_score", "float64", "mean score; a row without a verdict adds 0", "0 to 1"),
        Column("runs_failing", "int64", "runs in which no row passes", "0 to runs"),
        Column("failed_by_all", "bool", "whether that is so in all runs"),
        Column("outcome", "string", "commonest outcome of the rows that fail", nullable=True),
        Column("reason", "string", "commonest reason of the rows that fail", nullable=True),
        Column("best_run", "string", "run that does best; missing where all do alike", "", True),
        Column("hallucinations", "int64", "rows with a value where gold has none"),
    ),
)


def difficulty(source: object, *, counted: bool = True) -> pd.DataFrame:
    """Rank the fields by how hard they are.

    Only rows in which gold is present count: a field that is absent on both sides passes, and says
    nothing of how hard it is to read. What was invented where gold has nothing is a column of its
    own.

    Parameters
    ----------
    source : results of a batch, Evaluation, pandas.DataFrame, mapping or list
        Where the rows of `fields` are, as in `breakdown`. In a batch the fields of an invalid
        document are rows that fail, so they count.
    counted : bool, optional
        True: the rows that enter the scores. False: also the fields of array items; those have
        rows only where the item was paired, so their rates are over paired items.

    Returns
    -------
    pandas.DataFrame
        One row a schema and field: schema (missing where the source has none), field, rows,
        documents, runs, passed, pass_rate, mean_score, runs_failing (runs in which no row passes),
        failed_by_all, the commonest outcome and reason of the rows that fail, best_run (highest
        pass rate, then mean score) and hallucinations. Sorted by pass rate, mean score, then the
        number of rows. A node with several metrics has a row a metric and counts once for each.

    Raises
    ------
    InputError
        The source holds no fields.

    Examples
    --------
    >>> import extractbench_nb as xb
    >>> schema = {"type": "object", "properties": {"a": {"type": "integer"},
    ...           "b": {"type": "integer"}, "c": {"type": "integer"}}}
    >>> gold = {"a": 1, "b": 2, "c": None}
    >>> evs = {"x": xb.evaluate(schema, gold, {"a": 1}), "y": xb.evaluate(schema, gold, {"c": 3})}
    >>> difficulty(evs)[["field", "pass_rate", "runs_failing", "failed_by_all", "best_run"]]
      field  pass_rate  runs_failing  failed_by_all best_run
    0     b        0.0             2           True     <NA>
    1     a        0.5             1          False        x
    """
    fields = gather(source, "fields")
    refuse_missing(fields, ("field", "gold_state", "reason"))
    rows = _keyed(chosen_rows(fields, counted=counted))
    asked = rows[rows["gold_state"].to_numpy() == "present"]
    names = asked.drop_duplicates("key").set_index("key")[["schema", "field"]]
    table = names.join([_rates(asked, ["key"]), _by_run(asked), _best_run(asked)])
    failing = asked[~asked["passed"]]
    table = table.join(_commonest_failure(failing))
    invented = rows.loc[rows["outcome"].to_numpy() == "hallucination", "key"].value_counts()
    table["hallucinations"] = invented.reindex(table.index, fill_value=0)
    return _finished(table)


def _keyed(rows: pd.DataFrame) -> pd.DataFrame:
    """Keep what is needed, and number the fields; `key` is one number a schema and field."""
    passed = rows["passed"].astype("boolean").fillna(value=False)
    frame = rows[["field", "gold_state", "outcome", "reason"]].assign(
        passed=passed.to_numpy(dtype=bool),
        score=rows["score"].astype("Float64").fillna(0.0).to_numpy(dtype=np.float64),
    )
    for name in ("schema", "run", "document"):
        absent = pd.array([None] * len(rows), dtype=TEXT)
        frame[name] = rows[name].array if name in rows.columns else absent
    frame["key"] = frame.groupby(["schema", "field"], dropna=False, sort=False).ngroup()
    return frame


def _rates(rows: pd.DataFrame, key: list[str]) -> pd.DataFrame:
    groups = rows.groupby(key, dropna=False)
    table = groups.agg(
        rows=("passed", "size"), passed=("passed", "sum"), mean_score=("score", "mean")
    )
    table["documents"] = groups["document"].nunique().clip(lower=1)
    table["pass_rate"] = table["passed"] / table["rows"]
    return table.round({"mean_score": 12})  # whatever the order of the rows


def _by_run(rows: pd.DataFrame) -> pd.DataFrame:
    """Count the runs that were asked for each field, and those that fail it."""
    passes = rows.groupby(["key", "run"], dropna=False)["passed"].any()
    groups = passes.groupby("key")
    table = pd.DataFrame({"runs": groups.size(), "runs_failing": groups.size() - groups.sum()})
    table["failed_by_all"] = table["runs"] == table["runs_failing"]
    return table


def _best_run(rows: pd.DataFrame) -> pd.Series:
    """Name the run that does best on each field, where not all do alike."""
    runs = _rates(rows, ["key", "run"])[["pass_rate", "mean_score"]].reset_index()
    groups = runs.groupby("key")[["pass_rate", "mean_score"]]
    alike = (groups.max() == groups.min()).all(axis=1)
    ranked = runs.sort_values(
        ["pass_rate", "mean_score", "run"], ascending=[False, False, True], kind="stable"
    )
    best = ranked.drop_duplicates("key").set_index("key")["run"]
    return best[~alike.reindex(best.index)].rename("best_run")


def _commonest_failure(failing: pd.DataFrame) -> pd.DataFrame:
    """Return each field's commonest pair of outcome and reason, the first by name of equals."""
    pair = ["outcome", "reason"]
    counts = failing.groupby(["key", *pair], dropna=False).size().rename("n").reset_index()
    ranked = counts.sort_values(["n", *pair], ascending=[False, True, True], kind="stable")
    return ranked.drop_duplicates("key").set_index("key")[pair]


def _finished(table: pd.DataFrame) -> pd.DataFrame:
    table = table.sort_values(
        ["pass_rate", "mean_score", "rows", "schema", "field"],
        ascending=[True, True, False, True, True],
        kind="stable",
    )
    data = {name: _cells(table[name]) for name in DIFFICULTY_COLUMNS.names}
    return DIFFICULTY_COLUMNS.build(data)


def _cells(column: pd.Series) -> list[Any]:
    return [None if missing else v for v, missing in zip(column, column.isna(), strict=True)]
