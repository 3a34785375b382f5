"""Metrics beside what they should say: of a table a known share is kept, at random."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from extractbench_nb._frames import Column, FrameSpec
from extractbench_nb._progress import progress_bar
from extractbench_nb.errors import InputError
from extractbench_nb.grits import GRITS_VARIANTS, TABLE_METRICS, Table, compare_rows
from extractbench_nb.grits.options import checked_names, checked_variant
from extractbench_nb.grits.quality import list_of_tables
from extractbench_nb.grits.reading import read_table

__all__ = ["KEEP_COLUMNS", "KEEP_MODES", "keep_curves"]

#: What is kept at random.
KEEP_MODES = ("rows", "columns", "both")

KEEP_COLUMNS = FrameSpec(
    "keep_curves",
    "one row a mode, probability and metric",
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
_Flags = npt.NDArray[np.bool_]


def keep_curves(  # noqa: PLR0913 - the options of one experiment, all keyword-only
    tables: Iterable[Any],
    *,
    metrics: str | Sequence[str] | None = None,
    modes: str | Sequence[str] = KEEP_MODES,
    rates: float | Sequence[float] = _RATES,
    seed: int = 0,
    rebuilt: bool = False,
    variant: str = "paper",
    max_teds_nodes: int | None = 2_000,
    progress: bool = False,
) -> pd.DataFrame:
    """Score parts of tables against the whole: each row and column is kept with probability x.

    A metric that means what it says gives a recall near the share that is kept: x for rows or for
    columns, x squared for both, and the f-score 2s / (1 + s) of that share s.

    Parameters
    ----------
    tables : iterable
        Tables in any form that `read_table` reads.
    metrics : str or sequence of str, optional
        As in `compare_tables`. By default ``grits_top`` and ``grits_con``, and ``grits_loc`` where
        all cells have boxes.
    modes : str or sequence of str, optional
        ``rows``: each row is kept with probability x, and all columns; ``columns``; ``both``.
    rates : float or sequence of float, optional
        Values of x, 0 to 1.
    seed : int, optional
        0 and up. One number is drawn for each row and column; a line is kept where it is below x,
        so that parts for a greater x hold those for a smaller one.
    rebuilt : bool, optional
        Whether a cell spans only what is kept of it. By default each position keeps what it held,
        and grid table similarity sees a substructure; metrics other than GriTS need the table
        rebuilt, and get it so.
    variant : str, optional
        Of grid table similarity.
    max_teds_nodes : int or None, optional
        As in `compare_tables`.
    progress : bool, optional
        Whether to show a bar.

    Returns
    -------
    pandas.DataFrame
        A row a mode, x and metric: mean score, precision and recall over tables. The metric
        ``ideal`` is what keeping that very share of positions is worth. Where nothing is kept, the
        recall is 0 and the precision 1.

    Raises
    ------
    InputError
        A table cannot be read, or is empty, or one is given in place of a list; a name is not
        known, a rate is not within 0 and 1, or a number is not as it should be.

    Notes
    -----
    Section 7 and Figure 6 of Smock, Pesala and Abraham, "PubTables-1M" (2022).
    """
    chosen, shares = checked_names(modes, KEEP_MODES, "modes"), _checked_rates(rates)
    _check_options(seed, variant, max_teds_nodes)
    known = _read(tables)
    names = _names(metrics, known)
    totals: dict[tuple[str, float, str], list[tuple[Any, ...]]] = {
        (mode, x, name): [] for mode in chosen for x in shares for name in (*names, _IDEAL)
    }
    rng = np.random.default_rng(seed)
    for table in progress_bar(known, shown=progress, unit="table"):
        drawn = [rng.random(size) for size in table.grid.shape]
        for mode in chosen:
            for x in shares:
                kept = [
                    side < x if mode in (which, "both") else np.ones_like(side, dtype=np.bool_)
                    for side, which in zip(drawn, KEEP_MODES[:2], strict=True)
                ]
                options = (names, rebuilt, variant, max_teds_nodes)
                for name, row in _rows(table, kept, *options):
                    totals[mode, x, name].append(row)
    return KEEP_COLUMNS.from_rows((*key, *_mean(rows)) for key, rows in totals.items())


_IDEAL = "ideal"


def _rows(
    table: Table,
    kept: list[_Flags],
    names: Sequence[str],
    rebuilt: bool,
    variant: str,
    most: int | None,
) -> Iterator[tuple[str, tuple[Any, ...]]]:
    """Yield a name and score, precision and recall of each metric."""
    lines = [np.flatnonzero(flags).tolist() for flags in kept]
    anew = table.part(*lines)
    part = anew if rebuilt else table.part(*lines, rebuilt=False)
    for name in names:
        predicted = part if name.startswith("grits_") else anew
        (row,) = compare_rows(table, predicted, [name], variant, most)
        yield name, row[:3]
    share = float(np.prod([flags.mean() for flags in kept]))
    yield _IDEAL, (2 * share / (1 + share), 1.0, share)


def _mean(rows: list[tuple[Any, ...]]) -> tuple[Any, ...]:
    columns = [[v for v in values if v is not None] for values in zip(*rows, strict=True)]
    return (*(sum(v) / len(v) if v else None for v in columns), len(columns[0]))


def _names(metrics: str | Sequence[str] | None, tables: list[Table]) -> list[str]:
    if metrics is None:
        located = all(table.has_boxes for table in tables)
        return ["grits_top", "grits_con", "grits_loc"][: 3 if located else 2]
    return checked_names(metrics, TABLE_METRICS)


def _read(tables: Iterable[Any]) -> list[Table]:
    given = list_of_tables(tables, "tables")
    if not given:
        raise InputError("tables: there is none")
    known = [read_table(table, name=f"table {n}") for n, table in enumerate(given)]
    for n, table in enumerate(known):
        if not table.size:
            raise InputError(f"table {n} is empty: nothing of it can be kept")
    return known


def _checked_rates(given: Any) -> list[float]:
    """Return the rates, each once, in the order given."""
    given = given.tolist() if isinstance(given, np.ndarray) else given
    rates = list(given) if isinstance(given, Iterable) and not isinstance(given, str) else [given]
    for rate in rates:
        number = isinstance(rate, int | float | np.integer | np.floating)
        if not number or isinstance(rate, bool) or not 0 <= rate <= 1:
            raise InputError(f"rates: {rate!r} is not within 0 and 1")
    if not rates:
        raise InputError("rates is empty; expected numbers from 0 to 1")
    return list(dict.fromkeys(map(float, rates)))


def _check_options(seed: Any, variant: Any, max_teds_nodes: Any) -> None:
    checked_variant(variant, GRITS_VARIANTS)
    if isinstance(seed, bool) or not isinstance(seed, int | np.integer) or seed < 0:
        raise InputError(f"seed is {seed!r}; expected a whole number from 0")
    if max_teds_nodes is not None and type(max_teds_nodes) is not int:
        raise InputError(f"max_teds_nodes is {max_teds_nodes!r}; expected a whole number or None")
