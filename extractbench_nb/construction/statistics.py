"""Mean scores by number of documents, length of documents and number of rows.

`level_statistics` takes any frame of scores. `released_statistics` computes the tables that AOE's
released code (282e688d) writes from its own records, as it does it: rounded to two digits, means of
rounded means, missing scores of the quality judge as 0, and metrics that no earlier domain had as
missing in some tables and 0 in others.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from extractbench_nb._frames import Column, FrameSpec
from extractbench_nb.errors import InputError, nearest


@dataclass(frozen=True)
class Measure:
    """What tables are grouped by: AOE's fixed levels, and letters for those by quantiles.

    A value belongs to the first level whose threshold it does not exceed; ``strictly`` to the
    first whose threshold is larger. `released` is the name in the released code's files.
    """

    column: str
    letters: str
    released: str
    thresholds: tuple[float, ...]
    labels: tuple[str, ...]
    strictly: tuple[float, ...] = ()

    def fixed_level(self, value: float) -> str:
        """Return the label of the fixed level of a value."""
        for threshold, label in zip(self.thresholds, self.labels, strict=False):
            if value < threshold or (value == threshold and value not in self.strictly):
                return label
        return self.labels[-1]

    def levels(
        self, values: pd.Series[Any], kind: str, quantiles: int
    ) -> tuple[tuple[str, ...], pd.Series[Any]]:
        """Return all labels in order, and the label of each value; None for a missing value."""
        known = [float(value) for value in values.dropna()]
        labels = self.labels
        level: Callable[[float], str] = self.fixed_level
        if kind == "quantile" and known:
            ends, labels = quantile_levels(self.column, known, quantiles)
            level = _level_of(ends, labels)
        found = [None if pd.isna(value) else level(float(value)) for value in values]
        return tuple(dict.fromkeys(labels)), pd.Series(found, index=values.index, dtype=object)


def _level_of(ends: Sequence[float], labels: Sequence[str]) -> Callable[[float], str]:
    """Return what gives the label of a value's level, by the ends of all levels but the last."""

    def level(value: float) -> str:
        ended = (label for end, label in zip(ends, labels, strict=False) if value <= end)
        return next(ended, labels[-1])

    return level


#: AOE's levels; lengths are in the unit of the dataset.
MEASURES: Mapping[str, Measure] = {
    one.column: one
    for one in (
        Measure("documents", "D", "doc_count", (5, 10), ("0-5", "6-10", ">10")),
        Measure(
            *("average_length", "AL", "average_length"),
            *((10_000, 20_000), ("<10000", "10000-20000", ">20000"), (10_000,)),
        ),
        Measure("rows", "AC", "answers_count", (0, 3, 7), ("0", "1-3", "4-7", ">7")),
    )
}
#: Levels by quantiles.
_QUANTILES = 3


def fixed_level(measure: str, value: float) -> str:
    """Return AOE's fixed level of a value.

    Parameters
    ----------
    measure : str
        ``"documents"``, ``"average_length"`` or ``"rows"``.
    value : float
        The value.

    Returns
    -------
    str
        The label of the level.

    Examples
    --------
    >>> fixed_level("documents", 5), fixed_level("average_length", 20_000), fixed_level("rows", 8)
    ('0-5', '10000-20000', '>7')
    """
    return _measure(measure).fixed_level(value)


def quantile_levels(
    measure: str, values: Sequence[float], quantiles: int = _QUANTILES
) -> tuple[tuple[float, ...], tuple[str, ...]]:
    """Return the thresholds and labels of AOE's levels by quantiles.

    Parameters
    ----------
    measure : str
        ``"documents"``, ``"average_length"`` or ``"rows"``.
    values : sequence of float
        The values of all tables, each table once.
    quantiles : int, optional
        Number of levels, 2 or more.

    Returns
    -------
    thresholds : tuple of float
        Upper ends of all levels but the last; interpolated linearly. With one distinct value all
        are equal; with fewer distinct numbers of rows than levels they are the smallest of these.
    labels : tuple of str
        One label per level.

    Raises
    ------
    InputError
        If there are no values or fewer than two levels.

    Examples
    --------
    >>> quantile_levels("documents", [2, 4, 4, 9])
    ((4.0, 4.0), ('<= 4.00', '4.00 < D <= 4.00', '> 4.00'))
    """
    letters = _measure(measure).letters
    if type(quantiles) is not int or quantiles <= 1:
        raise InputError(f"quantiles is {quantiles!r}; expected a whole number, 2 or more")
    if not len(values):
        raise InputError("there are no values to divide into levels")
    distinct = np.unique(np.asarray(values, dtype=float))
    inner = quantiles - 1
    if len(distinct) == 1:
        ends = [float(distinct[0])] * inner
    elif measure == "rows" and len(distinct) < quantiles:
        ends = [float(value) for value in distinct[:inner]]
        ends += [ends[-1]] * (inner - len(ends))
    else:
        shares = [100 * i / quantiles for i in range(1, quantiles)]
        ends = [float(np.percentile(np.asarray(values, dtype=float), share)) for share in shares]
    between = (f"{low:.2f} < {letters} <= {high:.2f}" for low, high in pairwise(ends))
    return tuple(ends), (f"<= {ends[0]:.2f}", *between, f"> {ends[-1]:.2f}")


def _measure(name: str) -> Measure:
    if name not in MEASURES:
        raise InputError(f"no measure {name!r}; {nearest(name, MEASURES)}")
    return MEASURES[name]


# --- any scores ------------------------------------------------------------------------------

STATISTICS_COLUMNS = FrameSpec(
    "statistics",
    "one row per group, level and metric",
    (
        Column("measure", "string", "what the levels are of", "documents, average_length, rows"),
        Column("level", "string", "label of the level", "", nullable=True),
        Column("metric", "string", "column of the scores"),
        Column("tables", "int64", "tables of the group in the level", "1 and up"),
        Column("scored", "int64", "those that have a value", "0 to tables"),
        Column("mean", "Float64", "mean, in the unit of the metric", "", nullable=True),
    ),
)


def level_statistics(
    scores: pd.DataFrame,
    *,
    by: Sequence[str] = ("run", "domain"),
    measures: Sequence[str] = ("documents", "average_length", "rows"),
    levels: str = "fixed",
    quantiles: int = _QUANTILES,
    failures: str = "zero",
) -> pd.DataFrame:
    """Average scores by the number of documents, their length and the number of gold rows.

    Parameters
    ----------
    scores : pandas.DataFrame
        One row per run and table: the columns of `by` and `measures`, and the metrics, which are
        all other columns of numbers.
    by : list of str, optional
        Columns that form groups; those that the frame lacks are left out.
    measures : list of str, optional
        Columns whose values are grouped into levels: ``"documents"``, ``"average_length"``,
        ``"rows"``; those that the frame lacks are left out.
    levels : str, optional
        ``"fixed"``: AOE's levels, such as up to 5, up to 10 and more documents. ``"quantile"``:
        levels with about equally many tables, over all rows of the frame.
    quantiles : int, optional
        Number of levels by quantiles.
    failures : str, optional
        ``"zero"``: a missing score counts as 0, as in AOE's tables. ``"missing"``: it is left out.

    Returns
    -------
    pandas.DataFrame
        One row per group, measure, level and metric: the columns of `by`, then those of
        `STATISTICS_COLUMNS`. Means are not rounded.

    Raises
    ------
    InputError
        If an option is unknown, or the frame has none of the measures or no metric.

    Examples
    --------
    >>> scores = pd.DataFrame({"run": "m", "documents": [2, 9], "cell_f1": [0.5, None]})
    >>> level_statistics(scores)[["run", "level", "tables", "scored", "mean"]]
      run level  tables  scored  mean
    0   m   0-5       1       1   0.5
    1   m  6-10       1       0   0.0
    """
    for name, value, allowed in (
        ("levels", levels, ("fixed", "quantile")),
        ("failures", failures, ("zero", "missing")),
    ):
        if value not in allowed:
            raise InputError(f"{name}={value!r}; {nearest(value, allowed)}")
    groups = [name for name in by if name in scores]
    present = [_measure(name) for name in measures if name in scores]
    numbers = scores.select_dtypes(["number", "bool", "boolean"]).columns
    metrics = [name for name in numbers if name not in {*groups, *MEASURES}]
    if not present or not metrics:
        raise InputError(
            f"scores has the columns {', '.join(map(str, scores.columns))}; expected one of "
            f"{', '.join(MEASURES)} and at least one metric"
        )
    leveled = {one.column: one.levels(scores[one.column], levels, quantiles) for one in present}
    cells = scores[groups].to_numpy(dtype=object).tolist()
    names = pd.Series([*map(tuple, cells)], index=scores.index)
    rows = []
    for group in dict.fromkeys(names):
        for measure, (labels, found) in leveled.items():
            for label in (*labels, None):
                here = found.isna() if label is None else found == label
                part = scores[here & names.map(group.__eq__)]
                for metric in metrics if len(part) else ():
                    values = part[metric].astype("Float64")
                    scored = int(values.notna().sum())
                    values = values.fillna(0.0) if failures == "zero" else values.dropna()
                    mean = float(values.mean()) if len(values) else None
                    rows.append((*group, measure, label, metric, len(part), scored, mean))
    columns = (*(Column(name, "object", "group") for name in groups), *STATISTICS_COLUMNS.columns)
    return FrameSpec("statistics", STATISTICS_COLUMNS.grain, columns).from_rows(rows)


# --- AOE's own tables ------------------------------------------------------------------------

#: The order in which the released code goes through the domains.
_DOMAINS = ("financial", "legal", "academic")
#: Weights of the four scores of the quality judge.
QUALITY_WEIGHTS: Mapping[str, int] = {"score1": 2, "score2": 3, "score3": 3, "score4": 2}
#: Parts of a record's scores, and the prefixes of their metrics.
_PREFIXES: Mapping[str, str] = {
    "if_csv_parsed": "if_csv",
    "one_piece": "one_piece",
    "cell_scores": "cell_scores",
}


class _Item(NamedTuple):
    """A record with scores."""

    model: str
    domain: str
    key: str
    sizes: Mapping[str, float]
    scores: Mapping[str, float]

    @property
    def task(self) -> str:
        """Domain and number of the task, as the released code takes it from an id."""
        parts = self.key.split("_")
        has_language = len(parts) > 3 and parts[-1] in ("en", "zh")  # noqa: PLR2004
        return f"{self.domain}_{parts[-2] if has_language else parts[-1]}"


def released_statistics(
    items: Mapping[str, Mapping[str, Sequence[Mapping[str, Any]]]],
    *,
    quantiles: int = _QUANTILES,
) -> dict[str, pd.DataFrame]:
    """Compute the tables that AOE's released code writes, with the same rounding.

    Parameters
    ----------
    items : dict
        By model and domain, the records of ``eval_details_{domain}.jsonl``, each with
        ``record_id``, ``doc_length``, ``average_length``, ``answers`` and ``scores`` (or such an
        object under its id as the only key).
    quantiles : int, optional
        Number of levels by quantiles.

    Returns
    -------
    dict of str to pandas.DataFrame
        ``domain``, ``task``, ``overall``; ``doc_count``, ``average_length`` and ``answers_count``,
        each with ``_fixed`` and ``_quantile``; ``distribution`` of the records on the fixed levels.
        A metric that no domain up to then had is missing in the tables of domains, tasks and
        fixed levels, and 0 in the others. Shares are in percent, except the parsability in
        the tables by quantiles.

    Raises
    ------
    InputError
        If a score is not a number.

    Examples
    --------
    >>> scores = {"predict_answer": {"cell_scores": {"cell_f1": 0.25}}}
    >>> record = {"record_id": "financial_1_0_zh", "doc_length": {"a": 1}, "scores": scores}
    >>> released_statistics({"m": {"financial": [record]}})["task"]
      model    task_name  cell_scores_cell_f1
    0     m  financial_0                 25.0
    """
    kept: list[_Item] = []
    tables: dict[str, list[dict[str, Any]]] = {"domain": [], "task": [], "overall": []}
    for measure in MEASURES.values():
        tables |= {f"{measure.released}_{kind}": [] for kind in ("fixed", "quantile")}
    known: set[str] = set()
    for model, by_domain in items.items():
        order = [*_DOMAINS, *(set(by_domain) - {*_DOMAINS})]
        for domain in sorted(by_domain, key=lambda name: min(order.index(name), len(_DOMAINS))):
            part = [*_items(model, domain, by_domain[domain])]
            kept += part
            known.update(metric for item in part for metric in item.scores)
            tables["domain"] += _means(part, ("model", "domain"), known)
            tables["task"] += _means(part, ("model",), known, "task_name", lambda item: item.task)
            for measure in MEASURES.values():
                level = partial(_size_level, measure.column, measure.fixed_level)
                tables[f"{measure.released}_fixed"] += _means(
                    part, ("model", "domain"), known, f"{measure.released}_level", level
                )
    metrics = sorted(known)
    for model in dict.fromkeys(row["model"] for row in tables["task"]):
        rows = [row for row in tables["task"] if row["model"] == model]
        means = {m: round(sum(row.get(m, 0.0) for row in rows) / len(rows), 2) for m in metrics}
        tables["overall"].append({"model": model, **means})
    unique = list({(item.domain, item.key): item for item in reversed(kept)}.values())[::-1]
    counted = []
    for measure in MEASURES.values() if unique else ():
        sizes, name = [item.sizes[measure.column] for item in unique], measure.released
        quantile = _level_of(*quantile_levels(measure.column, sizes, quantiles))
        level = partial(_size_level, measure.column, quantile)
        tables[f"{name}_quantile"] = _means(
            kept, ("model", "domain"), known, f"{name}_dynamic_level", level, is_quantile=True
        )
        counts = Counter(map(measure.fixed_level, sizes))
        counted += [(name, label, counts[label]) for label in sorted(counts)]
    frames = {}
    for table, rows in tables.items():
        names = list(rows[0]) if rows else ["model"]
        columns = [*(column for column in names if column not in known), *metrics]
        frames[table] = pd.DataFrame(rows, columns=columns)
    frames["distribution"] = pd.DataFrame(counted, columns=["measure", "level", "tables"])
    return frames


def _size_level(column: str, level: Callable[[float], str], item: _Item) -> str:
    return level(item.sizes[column])


def _items(model: str, domain: str, records: Iterable[Mapping[str, Any]]) -> Iterator[_Item]:
    """Yield the records that have any score."""
    for record in records:
        key, content = str(record.get("record_id", "")), record
        if "record_id" not in record:
            if len(record) != 1:
                continue
            ((key, content),) = record.items()
        scores = dict(_scores(content, key)) if isinstance(content, dict) else {}
        if scores:
            lengths, answers = content.get("doc_length"), content.get("answers")
            try:
                average = float(content.get("average_length", 0.0))
            except (TypeError, ValueError):
                average = 0.0
            sizes = {
                "documents": float(len(lengths)) if isinstance(lengths, Mapping) else 0.0,
                "average_length": average,
                "rows": float(len(answers)) if isinstance(answers, list) else 0.0,
            }
            yield _Item(model, domain, key, sizes, scores)


def _scores(content: Mapping[str, Any], key: str) -> Iterator[tuple[str, float]]:
    """Yield the scores of the first prediction; those of the quality judge may be missing."""
    scores = content.get("scores")
    of_predictions = (
        value
        for name, value in (scores.items() if isinstance(scores, Mapping) else ())
        if name.startswith("predict_") and isinstance(value, Mapping)
    )
    found: Mapping[str, Any] = next(of_predictions, {})
    parts = {part: found[part] for part in _PREFIXES if isinstance(found.get(part), Mapping)}
    for part, values in parts.items():
        if part == "one_piece":
            yield from _quality(values, key)
            continue
        for metric, value in values.items():
            if isinstance(value, int | float):
                yield f"{_PREFIXES[part]}_{metric}", float(value)


def _quality(values: Mapping[str, Any], key: str) -> Iterator[tuple[str, float]]:
    weighted = 0.0
    for name, weight in QUALITY_WEIGHTS.items():
        value = values.get(name, 0.0)
        try:
            score = 0.0 if value is None else float(value)
        except (TypeError, ValueError):
            raise InputError(f"{name} of {key!r} is {value!r}; expected a number") from None
        weighted += score * weight
        yield f"one_piece_{name}", score
    yield "one_piece_overall_total_score", round(weighted / sum(QUALITY_WEIGHTS.values()), 2)


def _means(
    items: Sequence[_Item],
    names: tuple[str, ...],
    metrics: Iterable[str],
    column: str | None = None,
    level: Callable[[_Item], str] | None = None,
    *,
    is_quantile: bool = False,
) -> list[dict[str, Any]]:
    """Return one row of means per group, in the order in which the groups occur.

    Shares are in percent; so is parsability, but not in the tables by quantiles, which also count
    the items. The scores of the quality judge are in percent already.
    """
    groups: dict[tuple[str, ...], list[_Item]] = {}
    for item in items:
        named = tuple(getattr(item, name) for name in names)
        groups.setdefault((*named, level(item)) if level else named, []).append(item)
    rows = []
    for key, part in groups.items():
        row: dict[str, Any] = dict(zip((*names, column) if column else names, key, strict=True))
        if is_quantile:
            row["item_count_in_level"] = len(part)
        for metric in metrics:
            is_share = any(word in metric for word in ("f1", "precision", "recall"))
            percent = is_share and not metric.startswith("one_piece_score")
            percent = percent or (metric.startswith("if_csv_") and not is_quantile)
            mean = sum(item.scores.get(metric, 0.0) for item in part) / len(part)
            row[metric] = round(mean * (100 if percent else 1), 2)
        rows.append(row)
    return rows
