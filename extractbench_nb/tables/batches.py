"""`evaluate_tables` and `array_tables`: scores of many pairs of tables."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from math import ceil
from typing import Any, NamedTuple, TypeAlias

import pandas as pd

from extractbench_nb.core import Evaluation
from extractbench_nb.core.frames import Column, FrameSpec, as_pandas
from extractbench_nb.errors import InputError, no_column
from extractbench_nb.stats import Drawing, mean_intervals
from extractbench_nb.support.cards import card_html
from extractbench_nb.support.concurrency import progress_bar, worker_count, worker_pool
from extractbench_nb.tables.cells import Table
from extractbench_nb.tables.grid_similarity import GRITS_VARIANTS, checked_names, checked_variant
from extractbench_nb.tables.grits_result import SIDES
from extractbench_nb.tables.quality import is_complex
from extractbench_nb.tables.reading import keys_of, objects_of, read_records, read_table
from extractbench_nb.tables.table_metrics import (
    COMPARISON_COLUMNS,
    TABLE_METRICS,
    compare_rows,
    usual_metrics,
)

#: The name of a pair, and its tables, which are not read yet.
_Pair: TypeAlias = tuple[str, Any, Any]


def _read_pairs(pairs: Any, taken: Sequence[str]) -> tuple[pd.DataFrame, list[_Pair]]:
    """Return ``document`` and the user's columns, none of which may be `taken`, and the pairs."""
    tables: list[Any]
    pairs = as_pandas(pairs)
    if isinstance(pairs, pd.DataFrame):
        for side in SIDES:
            if side not in pairs.columns:
                raise InputError(f"pairs: {no_column(side, pairs.columns)}")
        about = pairs.drop(columns=list(SIDES)).reset_index(drop=True)
        for name in about.columns.intersection(list(taken)):
            raise InputError(f"pairs: column {name!r} is also a column of the result; rename it")
        if "document" not in about.columns:
            about.insert(0, "document", pd.Series(list(map(str, pairs.index)), dtype="string"))
        tables = list(zip(pairs["true"], pairs["predicted"], strict=True))
    else:
        if isinstance(pairs, Mapping):
            names, tables = list(map(str, pairs)), list(pairs.values())
        elif isinstance(pairs, Iterable) and not isinstance(pairs, str | bytes):
            tables = list(pairs)
            names = [str(n) for n in range(len(tables))]
        else:
            raise InputError(
                f"pairs is {type(pairs).__name__}; expected a list of (true, predicted), a dict "
                "from name to such a pair, or a DataFrame with columns true and predicted"
            )
        for name, pair in zip(names, tables, strict=True):
            if not isinstance(pair, tuple | list) or len(pair) != len(SIDES):
                raise InputError(f"pairs, {name!r}: expected (true, predicted)")
        about = pd.DataFrame({"document": pd.array(names, dtype="string")})
    if about.empty:
        raise InputError("pairs is empty; expected at least one pair of tables")
    named = zip(about["document"].astype(str), tables, strict=True)
    return about, [(name, *pair) for name, pair in named]


def array_tables(ev: Evaluation, path: str | None = None) -> tuple[Table, Table]:
    """Return an array of objects as two tables, gold and predicted, for `grits`.

    Parameters
    ----------
    ev : Evaluation
        An evaluation.
    path : str, optional
        The array, as `show_matches` takes it: ``$.authors``, ``authors``. Optional if the
        evaluation has one array.

    Returns
    -------
    tuple of Table
        Gold and predicted: a header row of keys, and one row per item in its own order. Columns are
        in the order of gold's keys, followed by keys that only the prediction has; each side has
        columns for its own keys. An item that is not an object is a row with a single text, in a
        column ``value``.

    Raises
    ------
    InputError
        `ev` is not an `Evaluation` or has no array; `path` names none, or is None although there
        are several.

    Examples
    --------
    >>> import extractbench_nb as xb
    >>> items = {"type": "object", "properties": {"year": {"type": "integer"}}}
    >>> schema = {"type": "object", "properties": {"rows": {"type": "array", "items": items}}}
    >>> ev = xb.evaluate(schema, {"rows": [{"year": 1}, {"year": 2}]}, {"rows": [{"year": 2}]})
    >>> xb.tables.grits(*array_tables(ev)).scores["fscore"].round(2).to_dict()
    {'top': 0.8, 'con': 0.8}
    """
    if not isinstance(ev, Evaluation):
        raise InputError(f"ev is {type(ev).__name__}; expected an Evaluation, as of `evaluate`")
    chosen = ev.array_path(path)
    rows = ev.matches[ev.matches["path"] == chosen]
    sides = [
        objects_of(rows[rows[f"{name}_index"].notna()].sort_values(f"{name}_index")[name])
        for name in ("gold", "predicted")
    ]
    keys, made_up = map(keys_of, sides)
    gold = read_records(sides[0], list(keys), "gold")
    columns = [key for key in keys | made_up if key in made_up]
    return gold, read_records(sides[1], columns, "predicted")


TABLE_SCORE_COLUMNS = FrameSpec(
    "table_scores",
    "one row per pair of tables and metric",
    (
        Column("document", "string", "name of the pair"),
        Column("metric", "string", "metric", "as in `compare_tables`"),
        *COMPARISON_COLUMNS.columns,
    ),
)

MEAN_COLUMNS = FrameSpec(
    "table_means",
    "one row per group and metric",
    (
        Column("metric", "string", "metric", "as in `compare_tables`"),
        Column("tables", "int64", "pairs that have a score", "0 and up"),
        Column("unreadable", "int64", "predicted tables among them that could not be read"),
        Column("mean", "Float64", "mean score", "0 to 1", nullable=True),
        Column("low", "Float64", "lower end of the interval", "0 to 1", nullable=True),
        Column("high", "Float64", "upper end of the interval", "0 to 1", nullable=True),
    ),
)

_ABOUT = ("rows", "columns", "complex", "readable", "problem")
_ALL = "all"
_CHUNK = 16


class Scored(NamedTuple):
    """One pair: the tables, and one row per metric: name, score, precision, recall, note."""

    about: tuple[int, int, bool, bool, str]
    rows: list[tuple[Any, ...]]


@dataclass(frozen=True, eq=False, repr=False)
class TableScores:
    """Scores of many pairs of tables; made by `evaluate_tables`.

    Attributes
    ----------
    summary : pandas.DataFrame
        One row per pair: document, your own columns, numbers of rows and columns of the true table,
        complex (whether a cell of it spans), readable and problem (of the predicted one), and a
        column for each metric. It can be passed to `compare_runs`.
    scores : pandas.DataFrame
        One row per pair and metric: document, your own columns, metric, score, precision, recall,
        note.
    """

    summary: pd.DataFrame
    scores: pd.DataFrame

    def __repr__(self) -> str:
        """Return the means of all tables."""
        means = self.means([])
        valid = means[means["mean"].notna()]
        shown = ", ".join(f"{row.metric} {row.mean:.3f}" for row in valid.itertuples()) or "of none"
        unread = int((~self.summary["readable"]).sum())
        more = f"; {unread:,} unreadable, scored 0" if unread else ""
        names = self.scores["metric"].unique()
        unscored = int(self.summary[names].isna().all(axis=1).sum())
        more += f"; {unscored:,} without a score" if unscored else ""
        return f"{type(self).__name__}({len(self.summary):,} tables; mean {shown}{more})"

    def _repr_html_(self) -> str:
        means = self.means().to_html(index=False, border=0, float_format="{:.3f}".format)
        return card_html(repr(self), means, limit=300)

    def means(
        self,
        by: str | Sequence[str] = "complex",
        *,
        confidence: float = 0.95,
        resamples: int = 9999,
        seed: int = 0,
    ) -> pd.DataFrame:
        """Average the scores for simple, complex and all tables, or by columns of your own.

        Parameters
        ----------
        by : str or sequence of str, optional
            Columns of `summary` that define groups; an empty list for all tables only. By default
            the split of the paper: a complex table has a cell that spans rows or columns.
        confidence : float, optional
            Confidence level of the intervals, between 0 and 1.
        resamples : int, optional
            Number of bootstrap resamples, 100 and up.
        seed : int, optional
            The same seed gives the same intervals.

        Returns
        -------
        pandas.DataFrame
            The columns of `by`, metric, tables, unreadable, mean, and a BCa bootstrap interval of
            the mean over tables. With one column the group ``all`` comes last.

        Raises
        ------
        InputError
            A column does not exist, or an option is out of range.
        """
        names: list[Any] = list(by) if isinstance(by, list | tuple) else [by]
        for name in names:
            if name not in self.summary.columns:
                raise InputError(f"by: {no_column(str(name), self.summary.columns)}")
        # pandas 2 cannot tell how many groups there are if one is without a name
        groups = [*iter(self.summary.groupby(names, sort=True, dropna=False))] if names else []
        if len(names) <= 1:
            groups.append(((_ALL,), self.summary))
        metrics = self.scores["metric"].unique()
        parts = [(key, name, part) for key, part in groups for name in metrics]
        samples = [part[name].dropna().to_numpy(dtype=float) for _, name, part in parts]
        intervals = mean_intervals(samples, Drawing(confidence, resamples, seed))
        rows = []
        for (_, name, part), sample, interval in zip(parts, samples, intervals, strict=True):
            unreadable = int((~part.loc[part[name].notna(), "readable"]).sum())
            mean = float(sample.mean()) if len(sample) else None
            ends = (None if end is None else min(max(end, 0.0), 1.0) for end in interval[:2])
            rows.append((name, len(sample), unreadable, mean, *ends))
        found = MEAN_COLUMNS.from_rows(rows)
        for level, column in enumerate(names):
            found.insert(level, column, [key[level] for key, _, _ in parts])
        return found


def evaluate_tables(
    pairs: Any,
    *,
    metrics: str | Sequence[str] | None = None,
    variant: str = "paper",
    tidy: bool = False,
    n_jobs: int = 1,
    progress: bool = False,
) -> TableScores:
    r"""Score many predicted tables against the true ones.

    Parameters
    ----------
    pairs : DataFrame, dict or iterable of (true, predicted)
        Tables in any form that `read_table` reads. A dict maps a name to a pair; a DataFrame has
        the columns ``true`` and ``predicted``, and your own (``model``, ``document``).
    metrics : str or sequence of str, optional
        As in `compare_tables`. By default ``grits_top`` and ``grits_con``, and ``grits_loc`` if all
        cells of all tables have boxes.
    variant : str, optional
        Variant of grid table similarity, as in `grits`.
    tidy : bool, optional
        Whether white space in texts is collapsed, as in `read_table`.
    n_jobs : int, optional
        Number of worker processes; -1 for one per processor. They take about two seconds to start,
        and the tables must be picklable: no generators, no open files.
    progress : bool, optional
        Whether to show a progress bar.

    Returns
    -------
    TableScores
        ``.summary``, ``.scores``, ``.means()``. A predicted table that cannot be read scores 0,
        with the reason in ``problem``; a table without the boxes that a metric needs has no score
        for it, and a note.

    Raises
    ------
    InputError
        `pairs` is invalid, a true table cannot be read or lacks the boxes that a metric needs, or a
        name is unknown.

    Examples
    --------
    >>> evaluate_tables([("Year,Sales\n2024,10", "Year,Sales\n2024,11")])
    TableScores(1 tables; mean grits_top 1.000, grits_con 0.875)
    """
    names = None if metrics is None else tuple(checked_names(metrics, TABLE_METRICS))
    checked_variant(variant, GRITS_VARIANTS)
    workers = worker_count(n_jobs)
    about, read = _read_pairs(pairs, [*_ABOUT, *TABLE_METRICS, "metric", "score", "note"])
    task = partial(_score, names, variant, tidy)
    scored = each_table(task, read, workers, progress)
    return table_scores(about, scored if names else _without_location(scored))


def each_table(
    task: Callable[[Any], Any], items: Sequence[Any], workers: int, progress: bool
) -> list[Any]:
    """Return a result per item, in order; many items are shared among worker processes."""
    bar = partial(progress_bar, shown=progress, total=len(items), unit="table")
    if workers == 1 or len(items) <= _CHUNK:
        return list(bar(map(task, items)))
    with worker_pool(min(workers, ceil(len(items) / _CHUNK)), __name__) as pool:
        return list(bar(pool.map(task, items, chunksize=_CHUNK)))


def _score(asked: tuple[str, ...] | None, variant: str, tidy: bool, pair: _Pair) -> Scored:
    document, *sides = pair
    true = read_table(sides[0], name=f"{document}, true", tidy=tidy)
    names = asked or usual_metrics([true])
    try:
        predicted = read_table(sides[1], name=f"{document}, predicted", tidy=tidy)
    except InputError as error:
        return unreadable(true, names, error)
    return score_pair(document, true, predicted, names, variant)


def unreadable(true: Table, names: Iterable[str], error: InputError) -> Scored:
    """Return a score of 0 in each metric."""
    about = (*true.grid.shape, is_complex(true), False, str(error))
    return Scored(about, [(name, 0.0, 0.0, 0.0, "unreadable") for name in names])


def score_pair(
    document: str, true: Table, predicted: Table, names: Iterable[str], variant: str
) -> Scored:
    """Score a pair of tables that are read; without the boxes that a metric needs, with a note."""
    rows = []
    for name in names:
        try:
            (row,) = compare_rows(true, predicted, [name], variant)
        except InputError as error:
            if not str(error).startswith("predicted"):
                raise InputError(f"{document}: {error}") from error
            row = (None, None, None, str(error))
        rows.append((name, *row))
    about = (*true.grid.shape, is_complex(true), True, "; ".join(predicted.notes))
    return Scored(about, rows)


def table_scores(about: pd.DataFrame, scored: Sequence[Scored]) -> TableScores:
    """Put all results into frames."""
    numbered = [(number, row) for number, result in enumerate(scored) for row in result.rows]
    numbers = [number for number, _ in numbered]
    documents = about["document"].astype("string").tolist()
    scores = TABLE_SCORE_COLUMNS.from_rows((documents[number], *row) for number, row in numbered)
    others = about.drop(columns="document").iloc[numbers].reset_index(drop=True)
    scores = pd.concat([scores[["document"]], others, scores.drop(columns="document")], axis=1)
    described = pd.DataFrame([result.about for result in scored], columns=list(_ABOUT))
    described["problem"] = described["problem"].astype("string")
    by_place = scores["score"].set_axis(pd.MultiIndex.from_arrays([numbers, scores["metric"]]))
    wide = by_place.unstack()  # noqa: PD010 - there is one score a place
    wide = wide[[name for name in TABLE_METRICS if name in wide.columns]].rename_axis(columns=None)
    return TableScores(pd.concat([about, described, wide], axis=1), scores)


def _without_location(scored: list[Scored]) -> list[Scored]:
    """Drop location unless every table has a score: a mean over some tables would mislead."""
    rows = [row for result in scored for row in result.rows]
    located = sum(row[0] == "grits_loc" and row[1] is not None for row in rows)
    if located == len(scored) and all(row[1] is not None for row in rows):
        return scored
    return [result._replace(rows=result.rows[:2]) for result in scored]
