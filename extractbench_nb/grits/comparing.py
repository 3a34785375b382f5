"""All metrics of two tables side by side."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType
from typing import Any, NamedTuple, TypeAlias

import pandas as pd

from extractbench_nb._frames import Column, FrameSpec
from extractbench_nb.errors import InputError
from extractbench_nb.grits.adjacency import adjacency
from extractbench_nb.grits.api import GRITS_VARIANTS, refuse_boxless, table_similarity
from extractbench_nb.grits.bleu import bleu
from extractbench_nb.grits.cells import Table
from extractbench_nb.grits.exact import exact_match
from extractbench_nb.grits.options import checked_names, checked_variant
from extractbench_nb.grits.reading import read_table
from extractbench_nb.grits.teds import count_nodes, teds

__all__ = [
    "COMPARISON_COLUMNS",
    "TABLE_METRICS",
    "compare_rows",
    "compare_tables",
]

COMPARISON_COLUMNS = FrameSpec(
    "table_comparison",
    "one row a metric, its name in the index",
    (
        Column("score", "Float64", "f-score, similarity, or 1 for equal", "0 to 1", nullable=True),
        Column("precision", "Float64", "of the metrics that have one", "0 to 1", nullable=True),
        Column("recall", "Float64", "of the metrics that have one", "0 to 1", nullable=True),
        Column("note", "string", "why there is no score; else empty"),
    ),
)


class _Row(NamedTuple):
    score: float | None
    precision: float | None = None
    recall: float | None = None
    note: str = ""


class _Options(NamedTuple):
    variant: str
    max_teds_nodes: int | None


_Metric: TypeAlias = Callable[[Table, Table, _Options], _Row]


def _grits(name: str) -> _Metric:
    def metric(true: Table, predicted: Table, options: _Options) -> _Row:
        return _Row(*table_similarity(true, predicted, name, options.variant)[:3])

    return metric


def _adjacency(true: Table, predicted: Table, _: _Options) -> _Row:
    return _Row(*adjacency(true, predicted))


def _bleu(true: Table, predicted: Table, _: _Options) -> _Row:
    return _Row(bleu(true, predicted))


def _teds(*, structure_only: bool) -> _Metric:
    def metric(true: Table, predicted: Table, options: _Options) -> _Row:
        nodes = max(map(count_nodes, (true, predicted)))
        if options.max_teds_nodes is not None and nodes > options.max_teds_nodes:
            return _Row(None, note=f"{nodes:,} nodes, more than {options.max_teds_nodes:,}")
        return _Row(teds(true, predicted, structure_only=structure_only))

    return metric


def _exact(*, topology_only: bool) -> _Metric:
    def metric(true: Table, predicted: Table, _: _Options) -> _Row:
        return _Row(float(exact_match(true, predicted, topology_only=topology_only)))

    return metric


#: By name, how two tables are compared; in the order of the rows.
TABLE_METRICS: Mapping[str, _Metric] = MappingProxyType(
    {
        "grits_top": _grits("top"),
        "grits_con": _grits("con"),
        "grits_loc": _grits("loc"),
        "grits_rawloc": _grits("rawloc"),
        "adjacency": _adjacency,
        "bleu": _bleu,
        "teds": _teds(structure_only=False),
        "teds_structure": _teds(structure_only=True),
        "exact": _exact(topology_only=False),
        "exact_topology": _exact(topology_only=True),
    }
)


def compare_tables(
    true: Any,
    predicted: Any,
    metrics: str | Sequence[str] | None = None,
    *,
    variant: str = "paper",
    max_teds_nodes: int | None = 2_000,
    tidy: bool = False,
) -> pd.DataFrame:
    """Compare two tables by all metrics that the paper names.

    Parameters
    ----------
    true, predicted : Table, list, DataFrame, str or pathlib.Path
        Two tables, in any form that `read_table` reads.
    metrics : str or sequence of str, optional
        ``grits_top``, ``grits_con``, ``grits_loc``, ``grits_rawloc``, ``adjacency`` (directed
        adjacency relations of the content), ``bleu`` (BLEU-4 on structure tokens), ``teds`` and
        ``teds_structure`` (tree edit distance, with texts and without), ``exact`` and
        ``exact_topology`` (the same cells, with the same texts or not). By default all but
        ``grits_rawloc``, and without ``grits_loc`` where a cell has no box.
    variant : str, optional
        Of grid table similarity alone, as in `grits`.
    max_teds_nodes : int or None, optional
        The largest tree (cells, rows and three more) that TEDS is computed for; a larger one has
        no score, and a note. None: any. Time and memory are quadratic in it: 2,000 nodes take about
        a second and 150 MB.
    tidy : bool, optional
        Whether white space in texts is collapsed, as in `read_table`.

    Returns
    -------
    pandas.DataFrame
        One row a metric, in the order above: score, precision, recall (NA for metrics that have
        none), note.

    Raises
    ------
    InputError
        A table is not as it should be, a cell lacks the box that a metric needs, or a name is not
        known.

    Examples
    --------
    >>> def row(*texts):
    ...     return [{"row_nums": [0], "column_nums": [n], "text": t} for n, t in enumerate(texts)]
    >>> found = compare_tables(row("Year", "Sales"), row("Year", "Sale"), ["teds", "exact"])
    >>> found["score"].to_dict()
    {'teds': 0.96, 'exact': 0.0}
    """
    checked_variant(variant, GRITS_VARIANTS)
    tables = (
        read_table(true, name="true", tidy=tidy),
        read_table(predicted, name="predicted", tidy=tidy),
    )
    if max_teds_nodes is not None and type(max_teds_nodes) is not int:
        raise InputError(f"max_teds_nodes is {max_teds_nodes!r}; expected a whole number or None")
    names = _chosen(metrics, tables)
    found = COMPARISON_COLUMNS.from_rows(compare_rows(*tables, names, variant, max_teds_nodes))
    found.index = pd.Index(names, name="metric", dtype=object)
    return found


def compare_rows(
    true: Table, predicted: Table, names: Sequence[str], variant: str, max_teds_nodes: int | None
) -> list[tuple[float | None, float | None, float | None, str]]:
    """Return the rows of `compare_tables` without a frame.

    Parameters
    ----------
    true, predicted : Table
        Two tables.
    names : sequence of str
        Of `TABLE_METRICS`.
    variant : str
        One of `GRITS_VARIANTS`.
    max_teds_nodes : int or None
        The largest tree that TEDS is computed for.

    Returns
    -------
    list of tuple
        Score, precision, recall, note; a row a name.

    Raises
    ------
    InputError
        A cell lacks the box that a metric needs.
    """
    options = _Options(variant, max_teds_nodes)
    anew = true.rebuilt(), predicted.rebuilt()
    rows: list[tuple[float | None, float | None, float | None, str]] = []
    for name in names:
        if name in _LOCATED:
            refuse_boxless((true, predicted), name)
        tables = (true, predicted) if name.startswith("grits_") else anew
        rows.append(TABLE_METRICS[name](*tables, options))
    return rows


_LOCATED = ("grits_loc", "grits_rawloc")


def _chosen(metrics: str | Sequence[str] | None, tables: tuple[Table, Table]) -> list[str]:
    if metrics is None:
        located = all(table.has_boxes for table in tables)
        left_out = _LOCATED[1:] if located else _LOCATED
        return [name for name in TABLE_METRICS if name not in left_out]
    return checked_names(metrics, TABLE_METRICS)
