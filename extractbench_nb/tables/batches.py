"""`evaluate_tables` and `array_tables`: scores of many tables, in the result protocol."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import cached_property, partial
from math import ceil
from types import MappingProxyType
from typing import Any, ClassVar, NamedTuple, TypeAlias

import numpy as np
import pandas as pd

from extractbench_nb.core import Evaluation
from extractbench_nb.core.frames import ROW_COLUMNS, SCORE_COLUMNS, Column, FrameSpec, as_pandas
from extractbench_nb.errors import InputError, no_column
from extractbench_nb.stats import Drawing, mean_intervals
from extractbench_nb.support.cards import card_html
from extractbench_nb.support.concurrency import progress_bar, worker_count, worker_pool
from extractbench_nb.tables.cells import EMPTY, Table, header_rows
from extractbench_nb.tables.grid_similarity import (
    GRITS_VARIANTS,
    checked_names,
    checked_variant,
    measured_page,
    ratios,
    read_lists,
)
from extractbench_nb.tables.grits_result import NEARLY, SIDES, kind_of
from extractbench_nb.tables.quality import is_complex
from extractbench_nb.tables.reading import keys_of, objects_of, read_records
from extractbench_nb.tables.table_metrics import TABLE_METRICS, compare_rows, usual_metrics

#: The name of a pair, and its tables, or lists of tables, which are not read yet.
_Pair: TypeAlias = tuple[str, Any, Any]
#: The true and the predicted tables of a document.
Sides: TypeAlias = tuple[Sequence[Table], Sequence[Table]]


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
    "one row per pair of tables, or of pages, and measure",
    (
        *SCORE_COLUMNS.columns[:-1],
        Column("score", "Float64", "f-score, similarity, or 1 for equal", "0 to 1", nullable=True),
        Column("precision", "Float64", "of the measures that have one", "0 to 1", nullable=True),
        Column("recall", "Float64", "of the measures that have one", "0 to 1", nullable=True),
        Column("true_size", "Int64", "true positions, of grits_ measures", "0 and up", True),
        Column("predicted_size", "Int64", "predicted positions", "0 and up", True),
        Column("note", "string", "why there is no score; else empty"),
    ),
)

TABLE_ROW_COLUMNS = FrameSpec(
    "table_rows",
    "one row per position of a true table, and per position of a predicted one without a partner",
    (
        *ROW_COLUMNS.columns[:2],
        Column("table", "Int64", "number of the true table; NA if there is none", "0 and up", True),
        Column("path", "string", "gold's table, row, column: `$[0][2][1]`; `$[+0]` is predicted"),
        Column("field", "string", "texts of the column's header, or column and its number"),
        Column("metric", "string", "what aligns and scores: grits_con"),
        Column("part", "string", "part of the table", "header, projected, or empty"),
        Column("row", "Int64", "row in the true table", "0 and up", True),
        Column("column", "Int64", "column in the true table", "0 and up", True),
        Column("predicted_row", "Int64", "row in the predicted table", "0 and up", True),
        Column("predicted_column", "Int64", "column in the predicted table", "0 and up", True),
        *ROW_COLUMNS.columns[2:],
        Column("reason", "string", "no_partner, differs, or empty"),
        Column("gold_state", "string", "whether gold has the position", "present, missing"),
        Column("counted", "bool", "true: every position enters the scores"),
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
        Column("low", "Float64", "lower end of its interval", "0 to 1", nullable=True),
        Column("high", "Float64", "upper end of its interval", "0 to 1", nullable=True),
        Column("micro", "Float64", "f-score of all positions, of grits_ metrics", "0 to 1", True),
    ),
)

_ABOUT = ("tables", "rows", "columns", "complex", "readable", "problem")
_ALL = "all"
_CHUNK = 16
#: In place of the third row, of location, where there is none.
_NONE = [("", None)]


class Scored(NamedTuple):
    """One document: facts in the order of `_ABOUT`, and one row per measure: its name, and values.

    Values are score, precision, recall, both sizes and note, as in `TABLE_SCORE_COLUMNS`.
    """

    about: tuple[Any, ...]
    rows: list[tuple[Any, ...]]


@dataclass(frozen=True, eq=False, repr=False)
class TableScores:
    """Scores of many tables, as statistics and views take results; made by `evaluate_tables`.

    Attributes
    ----------
    summary : pandas.DataFrame
        One row per pair: run, document, your own columns, number of true tables, rows and columns
        of the only one, complex (whether a cell spans), readable and problem (of the predicted
        tables), and a column for each measure.
    scores : pandas.DataFrame
        One row per pair and measure: run, document, measure, score, precision, recall, sizes, note.
    variant : str
        The variant of the metric.
    """

    #: What statistics compare if nothing is named.
    measures: ClassVar[tuple[str, ...]] = ("grits_top", "grits_con")

    summary: pd.DataFrame
    scores: pd.DataFrame
    variant: str
    #: Returns the tables of each document again.
    _sides: Callable[[], Iterable[Sides]]

    @cached_property
    def rows(self) -> pd.DataFrame:
        """One row per position, aligned by ``grits_con``; its mean is not the document's score."""
        runs = self.summary["run"].astype(object).where(self.summary["run"].notna(), None)
        names = zip(runs, self.summary["document"], self._sides(), strict=True)
        return TABLE_ROW_COLUMNS.from_rows(
            (run, document, *row)
            for run, document, sides in names
            for row in position_rows(*sides, self.variant)
        )

    @property
    def meta(self) -> dict[str, str]:
        """The settings on which scores depend."""
        return {"variant": self.variant}

    def __repr__(self) -> str:
        """Return the means of all tables."""
        means = self.means([])
        valid = means[means["mean"].notna()]
        shown = ", ".join(f"{row.metric} {row.mean:.3f}" for row in valid.itertuples()) or "of none"
        unread = int((~self.summary["readable"]).sum())
        more = f"; {unread:,} unreadable, scored 0" if unread else ""
        names = self.scores["measure"].unique()
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
            The columns of `by`, metric, tables, unreadable, mean, a BCa bootstrap interval of the
            mean over tables, and ``micro``: the f-score of the sums over all positions, in which
            large tables count more. With one column the group ``all`` comes last.

        Raises
        ------
        InputError
            A column does not exist, or an option is out of range.
        """
        names: list[Any] = list(by) if isinstance(by, list | tuple) else [by]
        for name in names:
            if name not in self.summary.columns:
                raise InputError(f"by: {no_column(str(name), self.summary.columns)}")
        about = self.summary[list(dict.fromkeys([*names, "readable"]))]
        measures = self.scores["measure"].nunique()  # of each table in turn
        about = about.loc[about.index.repeat(measures)].reset_index(drop=True)
        rows = pd.concat([about, self.scores[list(_AVERAGED)]], axis=1)
        groups = [*iter(rows.groupby(names, dropna=False))] if names else []
        groups += [((_ALL,), rows)] * (len(names) <= 1)
        parts = [
            (key, measure, scored[scored["score"].notna()])
            for key, group in groups
            for measure, scored in group.groupby("measure", sort=False)
        ]
        samples = [scored["score"].to_numpy(dtype=float) for *_, scored in parts]
        intervals = mean_intervals(samples, Drawing(confidence, resamples, seed))
        means = []
        for (_, measure, scored), sample, interval in zip(parts, samples, intervals, strict=True):
            unreadable = int((~scored["readable"].astype(bool)).sum())
            mean = float(sample.mean()) if len(sample) else None
            ends = (None if end is None else min(max(end, 0.0), 1.0) for end in interval[:2])
            means.append((measure, len(sample), unreadable, mean, *ends, _micro(scored)))
        found = MEAN_COLUMNS.from_rows(means)
        for level, column in enumerate(names):
            found.insert(level, column, [key[level] for key, *_ in parts])
        return found


_AVERAGED = ("measure", "score", "recall", "true_size", "predicted_size")


def _micro(scored: pd.DataFrame) -> float | None:
    """Return the f-score of sums over documents; None of measures without positions."""
    if not len(scored) or scored["true_size"].isna().any():
        return None
    sizes = scored[["true_size", "predicted_size"]].astype("int64")
    common = float((scored["recall"].astype(float) * sizes["true_size"]).sum())
    return ratios(common, *sizes.sum().tolist())[0]


def evaluate_tables(
    pairs: Any,
    *,
    metrics: str | Sequence[str] | None = None,
    variant: str = "paper",
    tidy: bool = False,
    n_jobs: int = 1,
    progress: bool = False,
) -> TableScores:
    r"""Score many predicted tables, or pages with several tables, against the true ones.

    Parameters
    ----------
    pairs : DataFrame, dict or iterable of (true, predicted)
        Tables in any form that `read_table` reads, or lists of tables as in `grits`. A dict maps a
        name to a pair; a DataFrame has the columns ``true`` and ``predicted``, and your own
        (``run``, ``document``, ``model``).
    metrics : str or sequence of str, optional
        As in `compare_tables`; lists of tables have ``grits_`` metrics only. By default
        ``grits_top`` and ``grits_con``, and ``grits_loc`` if all cells of all tables have boxes.
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
        ``.summary``, ``.scores``, ``.rows`` and ``.means()``; `compare_runs` takes it. A predicted
        table that cannot be read counts as empty, with the reason in ``problem``; a table without
        the boxes that a metric needs has no score for it, and a note.

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
    about, read = _read_pairs(pairs)
    scored = each_table(partial(_score, names, variant, tidy), read, workers, progress)
    if not names and not all(
        row[1] is not None for one in scored for row in (one.rows + _NONE)[2:3]
    ):
        # location of some of the tables only: a mean over these would mislead
        scored = [one._replace(rows=one.rows[:2]) for one in scored]
    sides = partial(map, partial(_read_sides, tidy), read)
    return TableScores(*score_frames(about, scored), variant, sides)


def _read_pairs(pairs: Any) -> tuple[pd.DataFrame, list[_Pair]]:
    """Return run, document and the user's columns, and the pairs."""
    pairs = as_pandas(pairs)
    if isinstance(pairs, Iterable) and not isinstance(pairs, pd.DataFrame | Mapping | str | bytes):
        pairs = dict(enumerate(pairs))
    if isinstance(pairs, Mapping):
        for name, pair in pairs.items():
            if not isinstance(pair, tuple | list) or len(pair) != len(SIDES):
                raise InputError(f"pairs, {str(name)!r}: expected (true, predicted)")
        sides = zip(SIDES, zip(*pairs.values(), strict=True), strict=bool(pairs))
        given = {side: pd.Series(tables, [*pairs], dtype=object) for side, tables in sides}
        pairs = pd.DataFrame(given, columns=[*SIDES])
    if not isinstance(pairs, pd.DataFrame):
        raise InputError(
            f"pairs is {type(pairs).__name__}; expected a list of (true, predicted), a dict "
            "from name to such a pair, or a DataFrame with columns true and predicted"
        )
    for side in SIDES:
        if side not in pairs.columns:
            raise InputError(f"pairs: {no_column(side, pairs.columns)}")
    if pairs.empty:
        raise InputError("pairs is empty; expected at least one pair of tables")
    about = pairs.drop(columns=list(SIDES)).reset_index(drop=True)
    taken = [*_ABOUT, *TABLE_METRICS, *TABLE_SCORE_COLUMNS.names[2:]]
    for name in about.columns.intersection(taken):
        raise InputError(f"pairs: column {name!r} is also a column of the result; rename it")
    names = list(map(str, about.get("document", pairs.index)))
    # iterators are needed again for the rows
    true, predicted = (
        [list(one) if isinstance(one, Iterator) else one for one in pairs[side]] for side in SIDES
    )
    return with_ids(about, names), list(zip(names, true, predicted, strict=True))


def with_ids(about: pd.DataFrame, names: Sequence[str]) -> pd.DataFrame:
    """Put run and document first."""
    run = about.get("run", [None] * len(names))
    ids = {"run": pd.array(list(run), dtype="string"), "document": pd.array(names, dtype="string")}
    others = about.drop(columns=list(ids), errors="ignore")
    return pd.concat([pd.DataFrame(ids), others], axis=1)


def each_table(
    task: Callable[[Any], Any], items: Sequence[Any], workers: int, progress: bool
) -> list[Any]:
    """Return a result per item, in order; many items are shared among worker processes."""
    bar = partial(progress_bar, shown=progress, total=len(items), unit="table")
    if workers == 1 or len(items) <= _CHUNK:
        return list(bar(map(task, items)))
    with worker_pool(min(workers, ceil(len(items) / _CHUNK)), __name__) as pool:
        return list(bar(pool.map(task, items, chunksize=_CHUNK)))


def _read_sides(tidy: bool, pair: _Pair) -> Sides:
    return read_lists(*pair[1:], tidy=tidy, name=f"{pair[0]}, ")[:2]


def _score(asked: tuple[str, ...] | None, variant: str, tidy: bool, pair: _Pair) -> Scored:
    document, *given = pair
    true, predicted, unreadable = read_lists(*given, tidy=tidy, name=f"{document}, ")
    names = asked or usual_metrics(true)
    return score_document(document, (true, predicted), names, variant, unreadable)


def score_document(
    document: str,
    sides: Sides,
    names: Iterable[str],
    variant: str,
    unreadable: Mapping[int, str] = MappingProxyType({}),
) -> Scored:
    """Score tables that are read; without the boxes that a measure needs, with a note."""
    true, predicted = sides
    is_pair = len(true) == len(predicted) == 1
    note = "unreadable" if unreadable else ""
    rows: list[tuple[Any, ...]] = []
    asked, values = list(names), dict[str, Any]()
    if is_pair:
        with suppress(InputError):  # a box is missing: name by name
            compared = compare_rows(true[0], predicted[0], asked, variant)
            values = dict(zip(asked, compared, strict=True))
    for name in asked:
        is_grits = name.startswith("grits_")
        sizes = [sum(table.size for table in side) if is_grits else None for side in sides]
        try:
            if is_pair:
                row = values.get(name) or compare_rows(true[0], predicted[0], [name], variant)[0]
            elif is_grits:
                page = measured_page(name.removeprefix("grits_"), true, predicted, variant)
                row = (*page.total.scores[:3], "")
            else:
                raise InputError(f"{name!r} compares two tables; lists of tables have grits_ only")
        except InputError as error:
            if not str(error).startswith("predicted"):
                raise InputError(f"{document}: {error}") from error
            row = (None, None, None, str(error))
        rows.append((name, *row[:3], *sizes, row[3] or note))
    shape = true[0].grid.shape if len(true) == 1 else (None, None)
    notes = [*unreadable.values()] or [note for table in predicted for note in table.notes]
    about = (len(true), *shape, any(map(is_complex, true)), not unreadable, "; ".join(notes))
    return Scored(about, rows)


def score_frames(
    about: pd.DataFrame, scored: Sequence[Scored]
) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Put all results into summary and scores."""
    each = about.loc[about.index.repeat(len(scored[0].rows))].reset_index(drop=True)
    rows = (row for result in scored for row in result.rows)
    ids = zip(each["run"], each["document"], rows, strict=True)
    scores = TABLE_SCORE_COLUMNS.from_rows((run, document, *row) for run, document, row in ids)
    described = pd.DataFrame([result.about for result in scored], columns=list(_ABOUT))
    kinds = {"rows": "Int64", "columns": "Int64", "problem": "string"}
    by_measure = scores.groupby("measure", sort=False)["score"]
    wide = pd.DataFrame({str(name): values.array for name, values in by_measure})
    summary = pd.concat([about, described.astype(kinds), wide], axis=1)
    return summary, pd.concat([each, scores.iloc[:, 2:]], axis=1)


def position_rows(
    true: Sequence[Table], predicted: Sequence[Table], variant: str
) -> Iterator[tuple[Any, ...]]:
    """Yield rows of `TABLE_ROW_COLUMNS` without run and document."""
    page = measured_page("con", true, predicted, variant)
    for n, m in page.pairs:
        tables = EMPTY if n is None else true[n], EMPTY if m is None else predicted[m]
        found = None if n is None or m is None else page.found[n, m]
        (down, across) = (
            {one: (other, k) for k, (one, other, _) in enumerate(lines)}
            for lines in (found.aligned if found else ((), ()))
        )
        names, grid = _column_names(tables[0]), tables[1].grid
        for (r, c), number in np.ndenumerate(tables[0].grid):
            cell = tables[0].cells[number]
            at = (n, f"$[{n}][{r}][{c}]", names[c], "grits_con", kind_of(cell), r, c)
            if found is None or r not in down or c not in across:
                missing = (None, None, "omission", 0.0, False, cell.text, None)
                yield *at, *missing, "no_partner", "present", True
                continue
            (row, i), (column, j) = down[r], across[c]
            score = float(found.similarity[i, j])
            passed = score >= 1 - NEARLY
            why = ("correct", "") if passed else ("incorrect", "differs")
            other = tables[1].cells[grid[row, column]].text
            yield *at, row, column, why[0], score, passed, cell.text, other, why[1], "present", True
        partners = [{row for row, _ in side.values()} for side in (down, across)]
        names = _column_names(tables[1])
        for (r, c), number in np.ndenumerate(grid):
            if r not in partners[0] or c not in partners[1]:
                cell = tables[1].cells[number]
                path = f"$[+{m}][{r}][{c}]"
                extra = (None, path, names[c], "grits_con", kind_of(cell), None, None, r, c)
                wrong = ("hallucination", 0.0, False, None, cell.text)
                yield *extra, *wrong, "no_partner", "missing", True


def _column_names(table: Table) -> list[str]:
    """Return the header of each column in one line, or its number."""
    heads = table.texts[: header_rows(table)]
    parts = [dict.fromkeys(text.strip() for text in column) for column in zip(*heads, strict=True)]
    names = [" / ".join(filter(None, texts)) for texts in parts] or [""] * table.grid.shape[1]
    return [name or f"column {number}" for number, name in enumerate(names)]
