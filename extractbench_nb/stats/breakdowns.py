"""`breakdown` and `difficulty`: results by group, and the hardest fields."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from typing import Any

import numpy as np
import pandas as pd

from extractbench_nb.core import OUTCOMES, Evaluation
from extractbench_nb.core.frames import TEXT, Column, FrameSpec, ScoredResult, as_pandas
from extractbench_nb.errors import InputError, nearest
from extractbench_nb.stats.mismatches import mismatch_kinds
from extractbench_nb.support.pandas_helpers import refuse_missing

_LEVELS = ("run", "document")


def gather(source: object, part: str, levels: tuple[str, ...] = _LEVELS) -> pd.DataFrame:
    """Return one frame of results; a mapping goes from run to document, which are the levels."""
    source = as_pandas(source)
    if isinstance(source, pd.DataFrame):
        return source
    if isinstance(source, Mapping | list | tuple):
        refuse_two_profiles(source)
        frames = _frames(source, part, levels)
        if not frames:
            raise InputError(f"an empty {type(source).__name__} holds no results")
        return pd.concat(frames, ignore_index=True)
    found = as_pandas(getattr(source, part, None))
    if isinstance(found, pd.DataFrame):
        return found
    if isinstance(found, pd.Series) and isinstance(source, Evaluation):  # as a batch has it
        row = {str(name): [value] for name, value in source.summary.items()}
        return pd.DataFrame(row | {"valid": [source.inputs.problem is None]}).infer_objects()
    if part == "summary" and isinstance(source, ScoredResult):
        return summary_of(source)
    if part == "fields" and isinstance(source, ScoredResult):
        return complete_rows(source.rows)
    raise InputError(
        f"{type(source).__name__} has no frame {part!r}; pass an Evaluation, the results of a "
        "batch, a DataFrame, a mapping from run to one of these, or a list of them"
    )


def _frames(source: Any, part: str, levels: tuple[str, ...]) -> list[pd.DataFrame]:
    """Return the frames of a mapping, with its keys as run or document, or those of a list."""
    frames = []
    if not isinstance(source, Mapping):
        for number, value in enumerate(source):
            frame = gather(value, part, levels)
            if "document" not in frame and not isinstance(as_pandas(value), pd.DataFrame):
                frame = frame.assign(document=pd.array([str(number)] * len(frame), dtype=TEXT))
            frames.append(frame)
        return frames
    if not levels:
        raise InputError("a mapping goes from run to document to Evaluation, and no deeper")
    level, *below = levels
    for key, value in source.items():
        frame = gather(value, part, tuple(below))
        several = list(frame[level].unique()) if level in frame else []
        if len(several) > 1:
            raise InputError(
                f"{key!r} has {len(several)} {level}s ({', '.join(map(repr, several[:4]))}); pass "
                f"one {level} per key, or one DataFrame with a column that distinguishes them"
            )
        frames.append(frame.assign(**{level: pd.array([str(key)] * len(frame), dtype=TEXT)}))
    return frames


def summary_of(source: ScoredResult) -> pd.DataFrame:
    """Return one row per run and document with a column per measure."""
    if isinstance(source.summary, pd.DataFrame):
        return source.summary
    keys, scores = list(_LEVELS), source.scores
    wide = scores[keys].drop_duplicates(ignore_index=True)
    for measure, rows in scores.groupby("measure", sort=False):
        wide = wide.merge(rows[[*keys, "score"]].rename(columns={"score": measure}), "left", keys)
    return wide


def complete_rows(rows: pd.DataFrame) -> pd.DataFrame:
    """Add the columns of `Evaluation.fields` that rows of a `ScoredResult` may lack."""
    outcome = rows["outcome"]
    lacks = {
        "gold_state": ("hallucination", "both_absent"),
        "predicted_state": ("omission", "both_absent"),
    }
    states = {n: np.where(outcome.isin(of), "missing", "present") for n, of in lacks.items()}
    path = rows.get("path", rows.get("field", "$"))
    absent = {"domain": None, "schema": None, "metric": None, "reasoning": None, "reason": ""}
    given = {"path": path, "field": path, "counted": True, **absent, **states}
    return rows.assign(
        **{
            name: cells if name == "counted" else pd.Series(cells, rows.index, dtype=TEXT)
            for name, cells in given.items()
            if name not in rows.columns
        }
    )


def refuse_two_profiles(source: object) -> None:
    """Raise `InputError` if results, in mappings or lists, mix two profiles."""
    names, todo = set(), [source]
    while todo:
        value = todo.pop()
        todo += value.values() if isinstance(value, Mapping) else ()
        todo += value if isinstance(value, list | tuple) else ()
        meta = getattr(value, "meta", None)
        names |= {meta["profile"]} if isinstance(meta, Mapping) and "profile" in meta else set()
    if len(names) > 1:
        raise InputError(
            f"results of the profiles {' and '.join(map(repr, sorted(names)))} cannot be compared; "
            "evaluate all of them with one"
        )


def known_columns(by: object, frame: pd.DataFrame, *, without: Collection[str] = ()) -> list[Any]:
    """Return the columns that `by` names, or raise `InputError` with the nearest names."""
    names = list(by) if isinstance(by, Iterable) and not isinstance(by, str) else [by]
    if not names:
        raise InputError("by is empty; name a column, for example 'run'")
    known = [column for column in frame.columns if column not in without]
    for name in names:
        if isinstance(name, str) and name in without:
            raise InputError(f"by is {name!r}, which does not name groups; name another column")
        if name not in known:
            raise InputError(f"by is {name!r}; {nearest(name, map(str, known))}")
    return list(dict.fromkeys(names))


def join_rows(a: pd.DataFrame, b: pd.DataFrame, keys: list[str], **options: Any) -> pd.DataFrame:
    """Join rows of two frames on keys; of rows with equal keys the nth with the nth."""
    sides = [
        rows.assign(nth=rows.groupby(keys, dropna=False, sort=False).cumcount()) for rows in (a, b)
    ]
    return sides[0].merge(sides[1], on=[*keys, "nth"], **options)


def label(key: object) -> str:
    """Write a group's key as text: a tuple's parts joined by `` / ``."""
    return " / ".join(str(part) for part in key) if isinstance(key, tuple) else str(key)


BREAKDOWN_COLUMNS = FrameSpec(
    "breakdown",
    "one row per group; the columns that name the group come first",
    (
        Column("rows", "int64", "rows of `fields`, judged or not", "1 and up"),
        Column("documents", "int64", "documents of these rows", "1 and up"),
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

#: Columns with an order of their own; groups of others are sorted by pass rate.
_OWN_ORDER = ("outcome", "depth", "required", "counted")


def breakdown(
    source: object, by: str | Iterable[str] = "outcome", *, counted: bool = True
) -> pd.DataFrame:
    """Count rows, passes and outcomes by group.

    Parameters
    ----------
    source : Evaluation, results of a batch, pandas.DataFrame, mapping or list
        Results with `fields`. A mapping leads from run to one of the others, or from run to
        document to `Evaluation`.
    by : str or iterable of str, optional
        Columns that define the groups: ``outcome``, ``metric``, ``field``, ``depth``, ``required``,
        ``reason``, ``kind`` (of mismatch); of a batch also ``run``, ``document``, ``domain``,
        ``schema`` and its extra columns.
    counted : bool, optional
        True: only rows that enter the scores. False: also rows inside paired array items.

    Returns
    -------
    pandas.DataFrame
        One row per group: the columns of `by`, then those of `BREAKDOWN_COLUMNS`. A node counts
        once per metric, without weights. Outcome, depth and required are in their own order, other
        groups worst first.

    Raises
    ------
    InputError
        `by` is not a column, or the source has no fields or mixes two profiles.

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
    fields, summary = gather(source, "fields"), getattr(source, "summary", None)
    if isinstance(summary, pd.DataFrame):  # a batch keeps columns such as a model's name there
        known = {*fields.columns, *Evaluation.spec("summary").names}
        if extra := [name for name in asked if name in summary.columns and name not in known]:
            fields = fields.merge(summary[[*_LEVELS, *extra]], "left", list(_LEVELS))
    if "kind" in asked and "kind" not in fields and {"path", "gold", "predicted"} <= {*fields}:
        fields = fields.assign(kind=pd.array(mismatch_kinds(fields), dtype=TEXT))
    names = known_columns(asked, fields, without=_NO_GROUPS)
    rows = chosen_rows(fields, counted=counted)
    groups = rows.groupby(names, sort=False, dropna=False, observed=True)
    group = groups.ngroup().to_numpy()
    outcomes = pd.Categorical(rows["outcome"], categories=list(OUTCOMES))
    cells = pd.get_dummies(outcomes, dtype=np.int64).assign(
        rows=1,
        judged=rows["passed"].notna().to_numpy(dtype=np.int64),
        **_verdicts(rows),
    )
    sums = cells.groupby(group).sum()
    document = np.zeros(len(rows), dtype=np.int64)
    if "document" in rows.columns:
        document = pd.factorize(rows["document"])[0]
    measures = sums.assign(
        documents=pd.Series(document).groupby(group).nunique(),
        pass_rate=sums["passed"] / sums["rows"],
        pass_rate_judged=sums["passed"] / sums["judged"],
        mean_score=(sums["score"] / sums["rows"]).round(12),  # independent of the order of rows
    )
    table = groups.size().reset_index()[names].astype(dict(rows[names].dtypes))
    table = pd.concat([table, BREAKDOWN_COLUMNS.from_records(measures)], axis=1)
    worst = [] if names[-1] in _OWN_ORDER else ["pass_rate", "mean_score"]
    order = [*names[:-1], *worst, names[-1]]
    return table.sort_values(order, key=_rank, kind="stable", na_position="last", ignore_index=True)


def _verdicts(rows: pd.DataFrame) -> pd.DataFrame:
    """Return passed and score of each row; without a verdict these are False and 0."""
    passed = rows["passed"].astype("boolean").fillna(value=False).to_numpy(dtype=bool)
    score = rows["score"].astype("Float64").fillna(0.0).to_numpy(dtype=np.float64)
    return pd.DataFrame({"passed": passed, "score": score})


def _rank(column: pd.Series) -> pd.Series:
    if column.name == "outcome":
        return column.map({name: i for i, name in enumerate(OUTCOMES)}).astype("int64")
    # a missing name stays missing, and is sorted last
    return column.astype(str).where(column.notna()) if column.dtype == object else column


def chosen_rows(fields: pd.DataFrame, *, counted: bool) -> pd.DataFrame:
    """Return the counted rows, or all of them; raise `InputError` if columns are missing."""
    refuse_missing(fields, ("outcome", "score", "passed"))
    unknown = set(fields["outcome"].dropna().unique()) - set(OUTCOMES)
    if unknown or fields["outcome"].isna().any():
        found = min(map(str, unknown)) if unknown else None
        raise InputError(f"fields: outcome {found!r} is unknown; {nearest(found, OUTCOMES)}")
    is_chosen = counted and "counted" in fields.columns
    rows = fields[fields["counted"].to_numpy(dtype=bool)] if is_chosen else fields
    return rows.reset_index(drop=True)


DIFFICULTY_COLUMNS = FrameSpec(
    "difficulty",
    "one row per schema and field with a gold value, hardest first",
    (
        Column("schema", "string", "schema id", nullable=True),
        Column("field", "string", "path without indices"),
        Column("rows", "int64", "rows in which gold is present", "1 and up"),
        Column("documents", "int64", "documents in which gold is present", "1 and up"),
        Column("runs", "int64", "runs with these rows", "1 and up"),
        Column("passed", "int64", "rows that pass", "0 to rows"),
        Column("pass_rate", "float64", "passed / rows", "0 to 1"),
        Column("mean_score", "float64", "mean score; a row without a verdict adds 0", "0 to 1"),
        Column("runs_failing", "int64", "runs in which no row passes", "0 to runs"),
        Column("failed_by_all", "bool", "whether no row passes in any run"),
        Column("outcome", "string", "most frequent outcome of the rows that fail", nullable=True),
        Column("reason", "string", "most frequent reason of the rows that fail", nullable=True),
        Column("best_run", "string", "best run; missing if all are equal", "", True),
        Column("hallucinations", "int64", "rows with a value although gold has none"),
    ),
)


def difficulty(source: object, *, counted: bool = True) -> pd.DataFrame:
    """Rank the fields by difficulty.

    Only rows in which gold is present count: a field that is absent on both sides passes, which
    does not show how hard it is.

    Parameters
    ----------
    source : results of a batch, Evaluation, pandas.DataFrame, mapping or list
        Results with `fields`, as in `breakdown`.
    counted : bool, optional
        True: only rows that enter the scores. False: also the fields of paired array items.

    Returns
    -------
    pandas.DataFrame
        One row per schema and field, see `DIFFICULTY_COLUMNS`, hardest first. A node counts
        once per metric.

    Raises
    ------
    InputError
        The source contains no fields, or mixes two profiles.

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
    rows = chosen_rows(fields, counted=counted)
    ids, why = ["schema", "run", "document", "field"], ["outcome", "reason"]
    rows = rows.reindex(columns=[*ids, "gold_state", *why]).assign(**_verdicts(rows))
    rows["key"] = rows.groupby(["schema", "field"], dropna=False, sort=False).ngroup()
    asked = rows[rows["gold_state"].eq("present").to_numpy(bool)]
    order = ["pass_rate", "mean_score"]

    def rated(keys: list[str]) -> pd.DataFrame:
        groups = asked.groupby(keys, dropna=False)
        table = groups.agg(
            rows=("passed", "size"), passed=("passed", "sum"), mean_score=("score", "mean")
        )
        table["mean_score"] = table["mean_score"].round(12)  # independent of the order of rows
        return table.assign(pass_rate=table["passed"] / table["rows"])

    def first_of(table: pd.DataFrame, by: list[str], ascending: list[bool]) -> pd.DataFrame:
        ranked = table.reset_index().sort_values(by, ascending=ascending, kind="stable")
        return ranked.drop_duplicates("key").set_index("key")

    table = asked.drop_duplicates("key").set_index("key")[["schema", "field"]].join(rated(["key"]))
    table["documents"] = asked.groupby("key")["document"].nunique().clip(lower=1)
    runs = rated(["key", "run"])
    by_key = runs.groupby("key")
    table["runs"] = by_key.size()
    table["runs_failing"] = runs["passed"].eq(0).groupby("key").sum()
    table["failed_by_all"] = table["runs"] == table["runs_failing"]
    best_run = first_of(runs, [*order, "run"], [False, False, True])["run"]
    table["best_run"] = best_run[by_key[order].nunique().gt(1).any(axis=1)[best_run.index]]
    failing = asked[~asked["passed"]].groupby(["key", *why], dropna=False).size()
    table = table.join(first_of(failing.to_frame("n"), ["n", *why], [False, True, True])[why])
    invented = rows.loc[rows["outcome"].eq("hallucination").to_numpy(bool), "key"].value_counts()
    table["hallucinations"] = invented.reindex(table.index, fill_value=0)
    by, ascending = [*order, "rows", "schema", "field"], [True, True, False, True, True]
    return DIFFICULTY_COLUMNS.from_records(table.sort_values(by, ascending=ascending))
