"""`breakdown`: how many rows pass, and what happens to the others, group by group."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np
import numpy.typing as npt
import pandas as pd

from extractbench_nb._frames import Column, FrameSpec
from extractbench_nb.breakdowns.sources import (
    gather,
    known_columns,
    refuse_missing,
    with_extra_columns,
)
from extractbench_nb.errors import InputError, nearest
from extractbench_nb.evaluation.frames import OUTCOMES

__all__ = ["BREAKDOWN_COLUMNS", "breakdown", "chosen_rows"]

BREAKDOWN_COLUMNS = FrameSpec(
    "breakdown",
    "one row a group; the columns that name the group come first",
    (
        Column("rows", "int64", "rows of `fields`, judged or not", "1 and up"),
        Column("documents", "int64", "documents they come from", "1 and up"),
        Column("judged", "int64", "rows with a verdict", "0 to rows"),
        Column("passed", "int64", "rows that pass", "0 to judged"),
        Column("pass_rate", "float64", "passed / rows; a lower bound", "0 to 1"),
        Column("pass_rate_judged", "Float64", "passed / judged", "0 to 1", True),
        Column("mean_score", "float64", "mean score; a row without a verdict adds 0", "0 to 1"),
        *(Column(name, "int64", f"rows whose outcome is `{name}`") for name in OUTCOMES),
    ),
)

#: Columns of `fields` that measure or hold a value rather than name a group.
_NO_GROUPS = ("score", "passed", "gold", "predicted", "reasoning", "weight")

#: Groups that have an order of their own; all others are sorted by how badly they do.
_OWN_ORDER = ("outcome", "depth", "required", "counted")


def breakdown(
    source: object, by: str | Iterable[str] = "outcome", *, counted: bool = True
) -> pd.DataFrame:
    """Count rows, passes and outcomes by group.

    Parameters
    ----------
    source : Evaluation, results of a batch, pandas.DataFrame, mapping or list
        Where the rows of `fields` are; a mapping goes from run to one of the others, or from run
        to document to `Evaluation`.
    by : str or iterable of str, optional
        What makes a group: ``outcome``, ``metric``, ``field``, ``depth``, ``required``, ``reason``;
        of a batch also ``run``, ``document``, ``domain``, ``schema`` and its extra columns; or
        several of them. Fields of two schemas may share a name: ``["schema", "field"]`` keeps them
        apart.
    counted : bool, optional
        True: the rows that enter the scores. False: also those inside array items, of which there
        are as many as items were paired.

    Returns
    -------
    pandas.DataFrame
        One row a group: the columns of `by`, then rows, documents, judged, passed, pass_rate,
        pass_rate_judged, mean_score, and one column an outcome, which add up to rows. A node with
        several metrics has a row a metric and counts once for each; nothing is weighted. Outcome,
        depth and required are in their own order, everything else the worst first; of several
        columns that is the order within the last.

    Raises
    ------
    InputError
        `by` names no column (the nearest are named), or the source holds no fields.

    Examples
    --------
    >>> import extractbench_nb as xb
    >>> schema = {"type": "object", "properties": {"a": {"type": "integer"},
    ...           "b": {"type": "string"}}}
    >>> ev = xb.evaluate(schema, {"a": 1, "b": "x"}, {"a": 2})
    >>> breakdown(ev, "metric")[["metric", "rows", "passed", "incorrect", "omission"]]
                metric  rows  passed  incorrect  omission
    0    integer_exact     1       0          1         0
    1  string_semantic     1       0          0         1
    """
    asked = [by] if isinstance(by, str) else list(by)
    fields = with_extra_columns(gather(source, "fields"), source, asked)
    names = known_columns(asked, fields, without=_NO_GROUPS)
    rows = chosen_rows(fields, counted=counted)
    groups = rows.groupby(names, sort=False, dropna=False, observed=True)
    number = np.asarray(groups.ngroup(), dtype=np.int64)
    table = groups.size().reset_index()[names].astype(dict(rows[names].dtypes))
    sums = _row_numbers(rows).groupby(number).sum()
    measures = BREAKDOWN_COLUMNS.build(_measures(sums, _documents(rows, number)))
    return _sorted(pd.concat([table, measures], axis=1), names)


def chosen_rows(fields: pd.DataFrame, *, counted: bool) -> pd.DataFrame:
    """Return the rows that are asked for, or raise `InputError` where columns are missing.

    Parameters
    ----------
    fields : pandas.DataFrame
        Rows of the form of ``Evaluation.fields``.
    counted : bool
        Whether to leave out the rows inside array items.

    Returns
    -------
    pandas.DataFrame
        The rows, with a fresh index.
    """
    refuse_missing(fields, ("outcome", "score", "passed", *(("counted",) if counted else ())))
    unknown = set(fields["outcome"].dropna().unique()) - set(OUTCOMES)
    if unknown or fields["outcome"].isna().any():
        found = min(map(str, unknown)) if unknown else None
        raise InputError(f"fields: outcome {found!r} is unknown; {nearest(found, OUTCOMES)}")
    rows = fields[fields["counted"].to_numpy(dtype=bool)] if counted else fields
    return rows.reset_index(drop=True)


def _row_numbers(rows: pd.DataFrame) -> pd.DataFrame:
    """Return what is summed up: per row judged, passed, score and one column an outcome."""
    codes = pd.Categorical(rows["outcome"], categories=list(OUTCOMES)).codes
    numbers = pd.DataFrame(np.eye(len(OUTCOMES), dtype=np.int64)[codes], columns=list(OUTCOMES))
    passed = rows["passed"].astype("boolean")
    return numbers.assign(
        rows=1,
        judged=passed.notna().to_numpy(dtype=np.int64),
        passed=passed.fillna(value=False).to_numpy(dtype=np.int64),
        score=rows["score"].astype("Float64").fillna(0.0).to_numpy(dtype=np.float64),
    )


def _documents(rows: pd.DataFrame, number: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
    """Count the documents of each group; rows that name no document are of one evaluation."""
    if "document" not in rows.columns:
        return np.ones(len(np.unique(number)), dtype=np.int64)
    documents = pd.DataFrame({"group": number, "document": pd.factorize(rows["document"])[0]})
    return np.asarray(documents.groupby("group")["document"].nunique(), dtype=np.int64)


def _measures(sums: pd.DataFrame, documents: npt.NDArray[np.int64]) -> dict[str, Sequence[object]]:
    rows, judged, passed = (sums[name] for name in ("rows", "judged", "passed"))
    columns = {
        "rows": rows,
        "documents": pd.Series(documents),
        "judged": judged,
        "passed": passed,
        "pass_rate": passed / rows,
        "mean_score": (sums["score"] / rows).round(12),  # whatever the order of the rows
        **{name: sums[name] for name in OUTCOMES},
    }
    of_judged = [p / j if j else None for p, j in zip(passed, judged, strict=True)]
    return {name: column.tolist() for name, column in columns.items()} | {
        "pass_rate_judged": of_judged
    }


def _sorted(table: pd.DataFrame, names: list[str]) -> pd.DataFrame:
    last = names[-1]
    worst = [] if last in _OWN_ORDER else ["pass_rate", "mean_score"]
    return table.sort_values(
        [*names[:-1], *worst, last], key=_rank, kind="stable", na_position="last"
    ).reset_index(drop=True)


def _rank(column: pd.Series) -> pd.Series:
    if column.name == "outcome":
        return column.map({name: i for i, name in enumerate(OUTCOMES)}).astype("int64")
    return column.astype(str) if column.dtype == object else column
