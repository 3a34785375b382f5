"""`keep_curves`: metrics against the share of a table kept; generated tables."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import product
from typing import Any

import numpy as np
import pandas as pd

from extractbench_nb.core.frames import Column, FrameSpec
from extractbench_nb.errors import InputError
from extractbench_nb.tables.cells import Cell, Table, is_share, is_whole, table_of_cells
from extractbench_nb.tables.grid_similarity import checked_names
from extractbench_nb.tables.quality import list_of_tables
from extractbench_nb.tables.reading import read_table
from extractbench_nb.tables.table_metrics import TABLE_METRICS, compare_rows, usual_metrics

_SUBJECTS = (
    *("Copper", "Maize", "Freight", "Rental", "Paper", "Cotton", "Timber", "Transit", "Licences"),
    *("Repairs", "Fuel", "Salaries", "Insurance", "Training", "Printing", "Storage", "Research"),
)
_QUALITIES = ("gross", "net", "deferred", "domestic", "exported", "leased", "adjusted", "other")
_GROUPS = ("First half", "Second half", "North", "South", "Group A", "Group B", "Audited", "Plan")
_LEAVES = ("Units", "Price", "Share", "Change", "Mean", "SD", "Low", "High", "n", "Total")
_SECTIONS = ("Continuing operations", "Discontinued operations", "Held for sale", "Not allocated")
_ROW_HEIGHT, _LETTER, _GAP = 14.0, 4.6, 12.0
_Value = Callable[[random.Random], str]


def made_up_tables(
    count: int = 1, *, seed: int = 0, rows: int = 20, columns: int = 8
) -> list[Table]:
    """Generate tables like those in reports, up to given numbers of rows and columns.

    Half of them have a header of two rows with cells that span columns, a third have sections
    (projected row headers); some positions are blank. Each cell has a box around its text, as a
    page would have it. They are canonical: `canonicalize` has nothing to change.

    Parameters
    ----------
    count : int, optional
        Number of tables, 0 and up.
    seed : int, optional
        The same seed gives the same tables; the first tables are the same for every `count`.
    rows, columns : int, optional
        Maximum numbers of rows and columns, at least 4 and 3.

    Returns
    -------
    list of Table
        With headers, projected row headers and boxes.

    Raises
    ------
    InputError
        A number of rows or columns is too small, or the number of tables is negative.

    Examples
    --------
    >>> made_up_tables(2, rows=6, columns=4)
    [Table(5 x 4 positions, 17 cells), Table(6 x 4 positions, 21 cells)]
    """
    if count < 0 or rows < _FEWEST_ROWS or columns < _FEWEST_COLUMNS:
        raise InputError(
            f"count={count}, rows={rows}, columns={columns}; expected 0 or more tables of at least "
            f"{_FEWEST_ROWS} rows and {_FEWEST_COLUMNS} columns"
        )
    tables = []
    for n in range(count):
        rng = random.Random(f"{seed}/{n}")
        height, width = rng.randint(_FEWEST_ROWS, rows), rng.randint(_FEWEST_COLUMNS, columns)
        cells = list(_head(rng, width))
        first = max(cell.rows[-1] for cell in cells) + 1
        cells += _body(rng, range(first, height), width)
        tables.append(table_of_cells(_boxed(cells, width)))
    return tables


_FEWEST_ROWS, _FEWEST_COLUMNS = 4, 3
#: Probability that a section begins, and that a row has a blank cell.
_SELDOM = 0.15


def _head(rng: random.Random, columns: int) -> Iterator[Cell]:
    leaves = rng.sample(_LEAVES, len(_LEAVES)) + [f"Year {n}" for n in range(columns)]
    if rng.random() < 0.5 or columns < 4:  # noqa: PLR2004 - two groups of two need four
        yield Cell((0,), (0,), "Item", is_header=True)
        for column in range(1, columns):
            yield Cell((0,), (column,), leaves[column], is_header=True)
        return
    yield Cell((0, 1), (0,), "Item", is_header=True)
    groups = rng.sample(_GROUPS, len(_GROUPS))
    column = 1
    while column < columns:
        width = min(rng.choice((2, 2, 3)), columns - column)
        covered = tuple(range(column, column + width))
        if width == 1:
            yield Cell((0, 1), covered, leaves[column], is_header=True)
        else:
            yield Cell((0,), covered, groups.pop(), is_header=True)
            for n, leaf in enumerate(covered):
                yield Cell((1,), (leaf,), leaves[n], is_header=True)
        column += width


def _body(rng: random.Random, rows: range, columns: int) -> Iterator[Cell]:
    values: list[_Value] = [rng.choice(_VALUES) for _ in range(columns)]
    sections = rng.sample(_SECTIONS, len(_SECTIONS)) if rng.random() < 1 / 3 else []
    names = [f"{subject}, {quality}" for subject in _SUBJECTS for quality in _QUALITIES]
    rng.shuffle(names)
    before = False
    for row in rows:
        # a section is followed by a row of its own
        begins = row == rows.start or (not before and rng.random() < _SELDOM)
        if sections and begins and row < rows.stop - 1:
            text, all_columns = sections.pop(), tuple(range(columns))
            yield Cell((row,), all_columns, text, is_projected=True)
            before = True
            continue
        before = False
        yield Cell((row,), (0,), names.pop() if names else f"Item {row}")
        blank = rng.randrange(2, columns) if rng.random() < _SELDOM else None
        for column in range(1, columns):
            yield Cell((row,), (column,), "" if column == blank else values[column](rng))


_VALUES: tuple[_Value, ...] = (
    lambda rng: f"{rng.randint(1, 99_999):,}",
    lambda rng: f"{rng.uniform(0, 100):.1f}%",
    lambda rng: f"{rng.uniform(-50, 500):.2f}",
    lambda rng: f"{rng.uniform(1, 90):.1f} ± {rng.uniform(0.1, 9):.1f}",
    lambda rng: f"({rng.randint(1, 999):,})",
)


def _boxed(cells: list[Cell], columns: int) -> Iterator[Cell]:
    """Give each cell a box around its text, on a page with one width per column."""
    widths = [0.0] * columns
    for cell in cells:
        if len(cell.columns) == 1:
            widths[cell.columns[0]] = max(widths[cell.columns[0]], _LETTER * len(cell.text))
    for cell in cells:
        first = cell.columns[0]
        left = sum(widths[:first]) + first * _GAP
        right = left + max(_LETTER * len(cell.text), _LETTER)
        top, bottom = _ROW_HEIGHT * cell.rows[0] + 2, _ROW_HEIGHT * (cell.rows[-1] + 1) - 2
        yield cell._replace(box=(round(left, 1), top, round(right, 1), bottom))


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

_RATES = tuple(round(0.1 * n, 1) for n in range(11))


def keep_curves(
    tables: Iterable[Any],
    *,
    metrics: str | Sequence[str] | None = None,
    modes: str | Sequence[str] = KEEP_MODES,
    rates: float | Sequence[float] = _RATES,
    seed: int = 0,
) -> pd.DataFrame:
    """Score random parts of tables against the whole; each line is kept with probability x.

    A meaningful metric gives a recall close to the share s that is kept (x for rows or for columns,
    x squared for both), and the f-score 2s / (1 + s).

    Parameters
    ----------
    tables : iterable
        Tables in any form that `read_table` reads.
    metrics : str or sequence of str, optional
        As in `compare_tables`. By default ``grits_top`` and ``grits_con``, and ``grits_loc`` if all
        cells have boxes.
    modes : str or sequence of str, optional
        Lines that may be dropped: ``rows``, ``columns`` or ``both``.
    rates : float or sequence of float, optional
        Values of x, 0 to 1.
    seed : int, optional
        0 and up. One number is drawn for each row and column; a line is kept if it is below x, so
        that the parts for a greater x contain those for a smaller one.

    Returns
    -------
    pandas.DataFrame
        One row per mode, x and metric: mean score, precision and recall over tables. The metric
        ``ideal`` has the scores for the share of positions that was actually kept. If nothing is
        kept, the recall is 0 and the precision 1.

    Raises
    ------
    InputError
        A table cannot be read or is empty, a single table is given instead of a list, a name is
        unknown, a rate is not between 0 and 1, or another number is invalid.

    Notes
    -----
    Section 7 and Figure 6 of Smock, Pesala and Abraham, "PubTables-1M" (2021). GriTS scores a
    substructure, in which each position keeps its cell with its full span; for all other metrics
    cells span only the lines that are kept.
    """
    chosen = checked_names(modes, KEEP_MODES, "modes")
    given = list(rates) if isinstance(rates, Iterable) else [rates]
    if not given or not all(map(is_share, given)):
        raise InputError(f"rates is {rates!r}; expected one or more numbers from 0 to 1")
    shares = list(dict.fromkeys(map(float, given)))
    if not is_whole(seed) or seed < 0:
        raise InputError(f"seed is {seed!r}; expected a whole number from 0")
    listed = enumerate(list_of_tables(tables, "tables"))
    originals = [read_table(table, name=f"table {n}") for n, table in listed]
    if not originals:
        raise InputError("tables is empty; expected at least one table")
    for n, table in enumerate(originals):
        if not table.size:
            raise InputError(f"table {n} is empty; expected at least one row and one column")
    names = usual_metrics(originals) if metrics is None else checked_names(metrics, TABLE_METRICS)
    rows: list[tuple[Any, ...]] = []
    rng = np.random.default_rng(seed)
    for table in originals:
        drawn = [rng.random(size) for size in table.grid.shape]
        for mode, x in product(chosen, shares):
            masks: list[Any] = [
                side < x if mode in (which, "both") else np.ones_like(side, dtype=np.bool_)
                for side, which in zip(drawn, KEEP_MODES[:2], strict=True)
            ]
            down, across = (np.flatnonzero(flags).tolist() for flags in masks)
            scored = compare_rows(table, table, names, "paper", (down, across))
            for name, row in zip(names, scored, strict=True):
                rows.append((mode, x, name, *row[:3]))
            share = float(np.prod([flags.mean() for flags in masks]))
            rows.append((mode, x, "ideal", 2 * share / (1 + share), 1.0, share))
    scores = pd.DataFrame(rows, columns=KEEP_COLUMNS.names[:-1])
    by_rate = scores.groupby(["mode", "x", "metric"], sort=False)
    means = by_rate.mean().assign(tables=by_rate["score"].count())
    return KEEP_COLUMNS.from_records(means.reset_index())
