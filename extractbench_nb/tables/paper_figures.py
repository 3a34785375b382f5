"""Printed figures of the PubTables-1M paper: results, statistics of the data set, errata."""

from __future__ import annotations

from typing import Any

import pandas as pd

from extractbench_nb.core.frames import Column, FrameSpec
from extractbench_nb.errors import InputError
from extractbench_nb.runs import shipped_frame
from extractbench_nb.tables.cells import is_whole

_TABLES: dict[int, list[tuple[Any, ...]]] = {
    2: [
        ("model", "task", "AP50", "AP75", "AP", "AR"),
        ("DETR-R18", "TD", 0.995, 0.988, 0.966, 0.981),
        ("DETR-R18", "TSR + FA", 0.971, 0.948, 0.912, 0.942),
    ],
    3: [
        ("split", "tables", "top", "con", "loc", "rawloc"),
        ("simple", 44_355, 0.995, 0.995, 0.992, 0.947),
        ("complex", 49_479, 0.975, 0.983, 0.966, 0.909),
        ("all", 93_834, 0.985, 0.989, 0.978, 0.927),
    ],
}

STATISTIC_COLUMNS = FrameSpec(
    "statistics",
    "one row per printed figure of the data set",
    (
        Column("id", "string", "short name"),
        Column("where", "string", "section or table"),
        Column("published", "string", "the printed figure"),
        Column("formula", "string", "what it follows from; missing if from no other", "", True),
        Column("recomputed", "Float64", "the value of the formula", "", True),
        Column("agrees", "boolean", "whether it is rounded to the printed figure", "", True),
    ),
)

ERRATA_COLUMNS = FrameSpec(
    "errata",
    "one row per erratum",
    (
        Column("id", "string", "short name, for figures that of `statistics`"),
        Column("where", "string", "section, table or figure"),
        Column("published", "string", "the printed figure or statement"),
        Column("recomputed", "string", "the recomputed figure or finding"),
        Column("explanation", "string", "why"),
        Column("severity", "string", "effect on the results", "medium, low"),
    ),
)


def pubtables(number: int | str) -> pd.DataFrame:
    """Return printed figures of the GriTS paper.

    Parameters
    ----------
    number : int or str
        2: object detection of the paper's models; 3: their grid table similarity;
        ``"statistics"``: counts and shares of the data set; ``"errata"``: what does not add up.

    Returns
    -------
    pandas.DataFrame
        As printed, to three digits, in Smock, Pesala and Abraham, "PubTables-1M: Towards a
        universal dataset and metrics for training and evaluating table extraction models" (2021).
        Table 3 has a row for each split (simple, complex, all), and below them ``all (from the
        parts)``: the mean of the two splits by their sizes, which needs no model and is a check of
        the printed row. Statistics that follow from others are recomputed, with ``agrees``.

    Raises
    ------
    InputError
        `number` is none of these.

    Examples
    --------
    >>> pubtables(3).set_index("split")["top"].round(4).to_dict()
    {'simple': 0.995, 'complex': 0.975, 'all': 0.985, 'all (from the parts)': 0.9845}
    >>> pubtables("statistics").query("agrees == False")["id"].tolist()
    ['over-fintabnet']
    """
    asked: Any = number
    if asked == "statistics":
        return _statistics()
    if asked == "errata":
        return shipped_frame("tables/data/errata.csv", ERRATA_COLUMNS)
    if not is_whole(asked) or asked not in _TABLES:
        raise InputError(
            f"there is no table {number!r} of results; choose 2, 3, 'statistics' or 'errata'"
        )
    columns, *rows = _TABLES[asked]
    found = pd.DataFrame(rows, columns=list(columns))
    if "split" in found:
        parts = found.iloc[:2]
        weights = parts["tables"] / parts["tables"].sum()
        means = {name: float((parts[name] * weights).sum()) for name in columns[2:]}
        both = {"split": "all (from the parts)", "tables": int(parts["tables"].sum()), **means}
        found = pd.concat([found, pd.DataFrame([both])], ignore_index=True)
    return found


def _statistics() -> pd.DataFrame:
    spec = FrameSpec("statistics", "", STATISTIC_COLUMNS.columns[:4])
    found = shipped_frame("tables/data/statistics.csv", spec)
    records = found.astype(object).where(found.notna(), None).to_numpy().tolist()
    # the digits as printed, and what one of the unit is worth
    texts = {name: text.rstrip("%k").replace(",", "") for name, _, text, _ in records}
    units = {name: {"%": 0.01, "k": 1000.0}.get(text[-1], 1.0) for name, _, text, _ in records}
    printed = {name.replace("-", "_"): float(texts[name]) * units[name] for name in texts}
    rows = []
    for name, where, text, formula in records:
        value = None if formula is None else float(pd.eval(formula, local_dict=printed))  # type: ignore[arg-type]
        digits = len(texts[name].partition(".")[2])
        agrees = value and round(value / units[name], digits) == float(texts[name])
        rows.append((name, where, text, formula, value, agrees))
    return STATISTIC_COLUMNS.from_rows(rows)
