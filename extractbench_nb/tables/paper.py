"""The paper's quality control, its Figure 6, and its printed figures, checked."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from extractbench_nb.core.frames import Column, FrameSpec, as_pandas
from extractbench_nb.errors import InputError
from extractbench_nb.runs import shipped_frame
from extractbench_nb.tables.cells import Cell, Table, check_share, is_share, is_whole
from extractbench_nb.tables.grid_similarity import checked_names, line_extents
from extractbench_nb.tables.reading import read_table
from extractbench_nb.tables.table_metrics import TABLE_METRICS, compare_rows


def is_complex(table: Table) -> bool:
    """Return whether a cell covers several rows or columns (sections 3 and 7 of the paper)."""
    return any(_spans(cell) for cell in table.cells)


def _spans(cell: Cell) -> bool:
    return len(cell.rows) * len(cell.columns) > 1


TABLE_CHECK_COLUMNS = FrameSpec(
    "table_checks",
    "one row per table",
    (
        Column("table", "int64", "its number", "0 and up"),
        Column("rows_overlap", "boolean", "whether rows overlap; NA without boxes", nullable=True),
        Column("columns_overlap", "boolean", "the same for columns", nullable=True),
        Column("objects", "Int64", "table, rows, columns, headers, spanning cells", "", True),
        Column("content_distance", "Float64", "mean distance from the source", "0 to 1", True),
        Column("kept", "bool", "whether the table passes all checks"),
        Column("reason", "string", "reason why it fails; empty if it passes"),
    ),
)


def check_tables(
    tables: Iterable[Any],
    sources: Iterable[Any] | None = None,
    *,
    max_objects: int = 100,
    limit: float = 0.05,
) -> pd.DataFrame:
    """Apply the paper's quality control: decide which tables to keep, with reasons for the rest.

    Parameters
    ----------
    tables : iterable of tables
        Each in any form that `read_table` reads.
    sources : iterable of tables or None, optional
        For each table, None or a table with the same cells and the texts of another source.
    max_objects : int, optional
        Maximum number of objects of a table: the table, its rows and columns, the column header,
        projected row headers, and other cells that span.
    limit : float, optional
        Maximum mean distance between the texts of a table and of its source, 0 to 1: the
        Levenshtein distance over the longer length, averaged over all cells.

    Returns
    -------
    pandas.DataFrame
        One row per table, see `TABLE_CHECK_COLUMNS`. Rows overlap if the y-ranges of cells that
        span one row only do; columns likewise. A table that cannot be read, or whose source cannot
        be read or has other cells, is not kept.

    Raises
    ------
    InputError
        A number is invalid, a single table is given instead of a list, or the numbers of tables and
        sources differ.

    Notes
    -----
    Section 4, "Quality control", of Smock, Pesala and Abraham, "PubTables-1M" (2021), whose limits
    are the defaults.

    Examples
    --------
    >>> cells = [
    ...     {"row_nums": [0], "column_nums": [0], "bbox": [0, 0, 9, 5]},
    ...     {"row_nums": [1], "column_nums": [0], "bbox": [0, 4, 9, 9]},
    ... ]
    >>> check_tables([cells])["reason"].item()
    'rows overlap'
    """
    check_share(limit, "limit")
    if not is_whole(max_objects):
        raise InputError(f"max_objects is {max_objects!r}; expected a whole number")
    listed = list_of_tables(tables, "tables")
    others = [None] * len(listed) if sources is None else list_of_tables(sources, "sources")
    if len(others) != len(listed):
        raise InputError(f"there are {len(listed)} tables and {len(others)} sources")
    return TABLE_CHECK_COLUMNS.from_rows(
        (n, *_checked(table, source, max_objects, float(limit)))
        for n, (table, source) in enumerate(zip(listed, others, strict=True))
    )


def list_of_tables(given: Any, name: str) -> list[Any]:
    """Return the given tables as a list; a single table is refused."""
    given = as_pandas(given)
    if isinstance(given, Table | pd.DataFrame | str | Path | bytes | Mapping | Cell):
        raise InputError(f"{name} is {type(given).__name__}; expected a list of tables: [table]")
    if not isinstance(given, Iterable):
        raise InputError(f"{name} is {type(given).__name__}; expected a list of tables")
    tables = list(given)
    if tables and all(isinstance(item, Mapping | Cell) for item in tables):
        raise InputError(f"{name} is a single table; put it into a list: [table]")
    return tables


def _checked(
    given: Any, source: Any, most: int, limit: float
) -> tuple[bool | None, bool | None, int | None, float | None, bool, str]:
    try:
        table = read_table(given)
    except InputError as error:
        return None, None, None, None, False, str(error)
    rows, columns = _overlap(table, 1), _overlap(table, 0)
    objects, distance, problem = _count_objects(table), None, ""
    if source is not None:
        try:
            distance = _mean_distance(table, read_table(source, name="source"))
        except InputError as error:
            problem = str(error)
    reasons = {
        "rows overlap": rows,
        "columns overlap": columns,
        f"more than {most} objects": objects > most,
        f"contents differ by more than {limit:g}": distance is not None and distance > limit,
        problem: problem,
    }
    reason = "; ".join(text for text, holds in reasons.items() if holds)
    return rows, columns, objects, distance, not reason, reason


def _count_objects(table: Table) -> int:
    """Count the objects that a structure detector has to find (section 5 of the paper).

    The paper does not say whether a projected row header is a spanning cell as well; here it is
    counted once.
    """
    if not table.size:
        return 0
    has_header = any(cell.is_header for cell in table.cells)
    objects = sum(cell.is_projected or _spans(cell) for cell in table.cells)
    return 1 + sum(table.grid.shape) + has_header + objects


def _mean_distance(table: Table, source: Table) -> float:
    """Return the mean over the cells of the edit distance over the longer length."""
    from rapidfuzz.distance import Levenshtein

    cells, others = ({(c.rows, c.columns): c.text for c in side.cells} for side in (table, source))
    for rows, columns in sorted(cells.keys() ^ others.keys()):
        raise InputError(
            "source: the tables do not have the same cells: only one has a cell over rows "
            f"{list(rows)} and columns {list(columns)}"
        )
    distances = [Levenshtein.normalized_distance(text, others[at]) for at, text in cells.items()]
    return float(np.mean(distances)) if distances else 0.0


def _overlap(table: Table, axis: int) -> bool | None:
    """Say whether columns (axis 0) or rows (1) overlap; None if no cell in one only has a box."""
    extents = line_extents(table, axis)
    extents = extents[~np.isnan(extents[:, 0])]
    if not len(extents):
        return None
    low, high = extents[np.argsort(extents[:, 0], kind="stable")].T
    return bool((np.maximum.accumulate(high)[:-1] > low[1:]).any())


#: What is kept at random.
KEEP_MODES = ("rows", "columns", "both")

KEEP_COLUMNS = FrameSpec(
    "keep_curves",
    "one row per mode, probability and metric",
    (
        Column("mode", "string", "what is kept at random", ", ".join(KEEP_MODES)),
        Column("x", "float64", "probability with which each row, or column, is kept", "0 to 1"),
        Column("metric", "string", "metric, or ideal"),
        Column("score", "Float64", "mean score", "0 to 1", nullable=True),
        Column("precision", "Float64", "mean precision", "0 to 1", nullable=True),
        Column("recall", "Float64", "mean recall", "0 to 1", nullable=True),
        Column("tables", "int64", "tables that have a score", "0 and up"),
    ),
)


_RATES = tuple(n / 10 for n in range(11))


def keep_curves(
    tables: Iterable[Any],
    *,
    metrics: str | Sequence[str] = ("grits_top", "grits_con"),
    modes: str | Sequence[str] = KEEP_MODES,
    rates: Sequence[float] = _RATES,
    seed: int = 0,
) -> pd.DataFrame:
    """Score random parts of tables against the whole; a line is kept with probability x.

    A meaningful metric gives a recall close to the share s that is kept (x for rows or for columns,
    x squared for both), and the f-score 2s / (1 + s).

    Parameters
    ----------
    tables : iterable
        Tables in any form that `read_table` reads.
    metrics : str or sequence of str, optional
        As in `compare_tables`.
    modes : str or sequence of str, optional
        Lines that may be dropped: ``rows``, ``columns`` or ``both``.
    rates : sequence of float, optional
        Values of x, 0 to 1.
    seed : int, optional
        Of one number per line, which is kept if its number is below x: parts are nested.

    Returns
    -------
    pandas.DataFrame
        One row per mode, x and metric: mean score, precision and recall over tables. The metric
        ``ideal`` has the scores for the share of positions that was actually kept.

    Raises
    ------
    InputError
        A table cannot be read or is empty, a single table is given instead of a list, a name is
        unknown, or a rate is not between 0 and 1.

    Notes
    -----
    Section 7 and Figure 6 of Smock, Pesala and Abraham, "PubTables-1M" (2021). GriTS scores a
    substructure, in which each position keeps its cell with its full span; for all other metrics
    cells span only the lines that are kept.
    """
    chosen = checked_names(modes, KEEP_MODES, "modes")
    names = checked_names(metrics, TABLE_METRICS)
    if not len(rates) or not all(map(is_share, rates)):
        raise InputError(f"rates is {rates!r}; expected one or more numbers from 0 to 1")
    listed = enumerate(list_of_tables(tables, "tables"))
    originals = [read_table(table, name=f"table {n}") for n, table in listed]
    if not originals or not all(table.size for table in originals):
        raise InputError("tables: expected at least one table, and no table without rows")
    rows: list[tuple[Any, ...]] = []
    rng = np.random.default_rng(seed)
    for table in originals:
        drawn = [rng.random(size) for size in table.grid.shape]
        for mode, x in product(chosen, rates):
            masks: list[Any] = [
                side < x if mode in (which, "both") else np.ones_like(side, dtype=np.bool_)
                for side, which in zip(drawn, KEEP_MODES[:2], strict=True)
            ]
            down, across = (np.flatnonzero(flags).tolist() for flags in masks)
            scored = compare_rows(table, table, names, "paper", (down, across))
            for name, row in zip(names, scored, strict=True):
                rows.append((mode, float(x), name, *row[:3]))
            share = float(np.prod([flags.mean() for flags in masks]))
            rows.append((mode, float(x), "ideal", 2 * share / (1 + share), 1.0, share))
    scores = pd.DataFrame(rows, columns=KEEP_COLUMNS.names[:-1])
    by_rate = scores.groupby(["mode", "x", "metric"], sort=False)
    means = by_rate.mean().assign(tables=by_rate["score"].count())
    return KEEP_COLUMNS.from_records(means.reset_index())


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
        Column("formula", "string", "formula over other figures, if any", "", True),
        Column("recomputed", "Float64", "the value of the formula", "", True),
        Column("agrees", "boolean", "whether it rounds to the printed figure", "", True),
    ),
)

ERRATA_COLUMNS = FrameSpec(
    "errata",
    "one row per erratum",
    (
        Column("id", "string", "short name; for figures, the name in `statistics`"),
        Column("where", "string", "section, table or figure"),
        Column("published", "string", "the printed figure or statement"),
        Column("recomputed", "string", "the recomputed figure or finding"),
        Column("explanation", "string", "reason"),
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
