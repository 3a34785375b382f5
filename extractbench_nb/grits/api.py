"""`grits`: how alike two tables are, and which rows and columns were taken for which."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import pandas as pd

from extractbench_nb._frames import Column, FrameSpec
from extractbench_nb.errors import InputError, nearest
from extractbench_nb.grits.cells import Table
from extractbench_nb.grits.corridor import corridor, diagonal_corridor, likely_alignment
from extractbench_nb.grits.dilation import dilate
from extractbench_nb.grits.entries import BoxEntries, Entries, SlowTextEntries, TextEntries
from extractbench_nb.grits.options import checked_names, checked_variant
from extractbench_nb.grits.reading import read_table
from extractbench_nb.grits.similarity import Numbers, hull_overlap, iou
from extractbench_nb.grits.substructures import Alignment, Indices, align, line_similarities

__all__ = [
    "ALIGNED_COLUMNS",
    "GRITS_METRICS",
    "GRITS_VARIANTS",
    "SCORE_COLUMNS",
    "GriTS",
    "grits",
    "refuse_boxless",
    "table_similarity",
]

#: What of a table is compared: topology, content, location, and location without adjustment.
GRITS_METRICS = ("top", "con", "loc", "rawloc")
_LOCATIONS = GRITS_METRICS[2:]

SCORE_COLUMNS = FrameSpec(
    "scores",
    "one row a metric, its name in the index",
    (
        Column("fscore", "float64", "2 x similarity / (positions of both grids)", "0 to 1"),
        Column("precision", "float64", "similarity / positions of the predicted grid", "0 to 1"),
        Column("recall", "float64", "similarity / positions of the true grid", "0 to 1"),
        Column("upper_bound", "float64", "no alignment gives a greater fscore", "0 to 1"),
    ),
)

ALIGNED_COLUMNS = FrameSpec(
    "aligned",
    "one row a metric and pair of lines (rows, or columns), in order",
    (
        Column("metric", "string", "metric", ", ".join(GRITS_METRICS)),
        Column("true", "int64", "index in the true table", "0 and up"),
        Column("predicted", "int64", "index in the predicted table", "0 and up"),
        Column("similarity", "float64", "2 x similarity / (entries of both lines)", "0 to 1"),
    ),
)


class _Variant(NamedTuple):
    """How boxes are compared, and texts: None is by their longest common subsequence."""

    boxes: Callable[[Numbers, Numbers], Numbers]
    texts: str | None


#: How boxes and texts are compared.
GRITS_VARIANTS: Mapping[str, _Variant] = MappingProxyType(
    {
        "paper": _Variant(iou, None),
        "paper_substring": _Variant(iou, "substring"),
        "released": _Variant(hull_overlap, "blocks"),
    }
)


@dataclass(frozen=True, eq=False, repr=False)
class GriTS:
    """How alike two tables are; made by `grits`.

    Parameters
    ----------
    scores : pandas.DataFrame
        One row a metric: fscore, precision, recall, upper_bound.
    rows, columns : pandas.DataFrame
        The aligned lines: metric, true, predicted, similarity.
    true, predicted : Table
        What was compared.
    variant : str
        How.
    similarities : dict of str to ndarray
        By metric, how alike the entries at the aligned positions are: aligned rows x columns.
    """

    scores: pd.DataFrame
    rows: pd.DataFrame
    columns: pd.DataFrame
    true: Table
    predicted: Table
    variant: str
    similarities: Mapping[str, Numbers]

    def similarity(self, metric: str) -> Numbers:
        """Return how alike the entries at the aligned positions are.

        Parameters
        ----------
        metric : str
            One of those in `scores`.

        Returns
        -------
        ndarray of shape (aligned rows, aligned columns)
            0 to 1; lines in the order of `rows` and `columns`.

        Raises
        ------
        InputError
            The metric was not computed.
        """
        if metric not in self.similarities:
            raise InputError(f"metric: no {metric!r}; {nearest(str(metric), self.similarities)}")
        return self.similarities[metric]

    def __repr__(self) -> str:
        """Return the f-scores and the shapes of both tables."""
        shapes = " against ".join(" x ".join(map(str, t.grid.shape)) for t in self._tables)
        scores = ", ".join(f"{name} {row.fscore:.3f}" for name, row in self.scores.iterrows())
        return f"GriTS({scores}; {shapes} positions, variant {self.variant!r})"

    def _repr_html_(self) -> str:
        from extractbench_nb.grits.drawing import grits_html

        return grits_html(self)

    @property
    def _tables(self) -> tuple[Table, Table]:
        return self.true, self.predicted


def grits(
    true: Any,
    predicted: Any,
    metrics: str | Sequence[str] | None = None,
    variant: str = "paper",
    *,
    tidy: bool = False,
) -> GriTS:
    """Score a predicted table against the true one by grid table similarity.

    Parameters
    ----------
    true, predicted : list of dict, str, pandas.DataFrame, pathlib.Path or Table
        Two tables in any form that `read_table` reads: cells with ``row_nums`` and ``column_nums``,
        and where known ``text`` (or ``cell_text``), ``bbox`` (x0, y0, x1, y1) and
        ``is_column_header``; HTML, CSV or a table in Markdown; a DataFrame; a JSON array of
        objects.
    metrics : str or sequence of str, optional
        ``top`` (topology: which positions a cell covers), ``con`` (content: its text), ``loc``
        (location: its box) and ``rawloc`` (the predicted boxes as a model gave them, against the
        true ones dilated, see `dilate`). By default the first three, without ``loc`` where a cell
        has no box.
    variant : str, optional
        ``"paper"``: intersection over union, and the longest common subsequence.
        ``"paper_substring"``: the longest common substring, as the paper's text has it.
        ``"released"``: what the published code computes, for comparison with the literature: the
        smallest box around both in place of the union, and difflib's matching blocks.
    tidy : bool, optional
        Whether white space in texts is collapsed, as in `read_table`.

    Returns
    -------
    GriTS
        ``.scores``, ``.rows``, ``.columns``.

    Raises
    ------
    InputError
        A table is not as it should be (a position without a cell, say), a cell lacks the box that
        ``loc`` needs, or a name is not known.

    Notes
    -----
    Section 6 of Smock, Pesala and Abraham, "PubTables-1M: Towards comprehensive table extraction
    from unstructured documents" (2022), equations 1 to 3. The search is a heuristic: ``fscore`` is
    a lower bound of the best one, ``upper_bound`` an upper one. Among alignments that are equally
    good, one is chosen by a fixed rule, see `align`. Two empty tables are alike; beside an empty
    one a table has the f-score 0, and the ratio over the empty one is 1.

    Examples
    --------
    >>> def row(*texts):
    ...     return [{"row_nums": [0], "column_nums": [n], "text": t} for n, t in enumerate(texts)]
    >>> grits(row("Year", "Sales"), row("Year", "Sale"))
    GriTS(top 1.000, con 0.944; 1 x 2 against 1 x 2 positions, variant 'paper')
    """
    checked_variant(variant, GRITS_VARIANTS)
    tables = (
        read_table(true, name="true", tidy=tidy),
        read_table(predicted, name="predicted", tidy=tidy),
    )
    names = _chosen(metrics, tables)
    found = {name: _Metric(name, *tables, GRITS_VARIANTS[variant]).result() for name in names}
    scores = SCORE_COLUMNS.from_rows(result.scores for result in found.values())
    scores.index = pd.Index(names, name="metric", dtype=object)
    rows, columns = (
        ALIGNED_COLUMNS.from_rows(
            (name, *pair) for name, result in found.items() for pair in result.aligned[axis]
        )
        for axis in (0, 1)
    )
    similarities = {name: result.similarity for name, result in found.items()}
    return GriTS(scores, rows, columns, *tables, variant, similarities)


def table_similarity(
    true: Table, predicted: Table, metric: str, variant: str = "paper"
) -> tuple[float, float, float, float]:
    """Return f-score, precision, recall and upper bound of one metric, as `grits` has them.

    Parameters
    ----------
    true, predicted : Table
        Two tables, with boxes where the metric needs them.
    metric : str
        One of `GRITS_METRICS`.
    variant : str, optional
        One of `GRITS_VARIANTS`.

    Returns
    -------
    tuple of float
        0 to 1 each.
    """
    return _Metric(metric, true, predicted, GRITS_VARIANTS[variant]).result().scores


def _chosen(metrics: str | Sequence[str] | None, tables: tuple[Table, Table]) -> tuple[str, ...]:
    located = all(table.has_boxes for table in tables)
    if metrics is None:
        return GRITS_METRICS[: 3 if located else 2]
    names = tuple(checked_names(metrics, GRITS_METRICS))
    for name in names:
        if name in _LOCATIONS:
            refuse_boxless(tables, name)
    return names


def refuse_boxless(tables: tuple[Table, Table], metric: str) -> None:
    """Refuse cells without a box.

    Parameters
    ----------
    tables : tuple of Table
        True and predicted.
    metric : str
        What needs the boxes.

    Raises
    ------
    InputError
        A cell has none.
    """
    for side, table in zip(_SIDES, tables, strict=True):
        for number, cell in enumerate(table.cells):
            if cell.box is None:
                raise InputError(
                    f"{side}, cell {number} has no bbox, which the metric {metric!r} needs"
                )


_SIDES = ("true", "predicted")

#: Pairs of entries up to which all of them are compared, where that takes long and where not.
_FEW, _MANY = 1 << 8, 1 << 22


class _Result(NamedTuple):
    scores: tuple[float, float, float, float]
    aligned: tuple[list[tuple[int, int, float]], list[tuple[int, int, float]]]
    similarity: Numbers


class _Metric:
    """One metric on two tables."""

    def __init__(self, name: str, true: Table, predicted: Table, variant: _Variant) -> None:
        if name == "rawloc":
            true = dilate(true)
        self.entries = _entries(name, true, predicted, variant)
        self._bounds = self.entries.upper_bounds()

    def result(self) -> _Result:
        true, predicted = self.entries.true, self.entries.predicted
        if not true.size or not predicted.size:
            alike = float(true.size == predicted.size)
            ratios = [alike if grid.size else 1.0 for grid in (predicted, true)]
            return _Result((alike, ratios[0], ratios[1], alike), ([], []), np.zeros((0, 0)))
        rows, columns = self._aligned(true, predicted), self._aligned(true.T, predicted.T)
        common = self.entries.similar(
            true[np.ix_(rows.true, columns.true)],
            predicted[np.ix_(rows.predicted, columns.predicted)],
        )
        sizes = true.size, predicted.size
        scores = (*_ratios(float(common.sum()), *sizes), _bound(rows, columns, *sizes))
        by_row = 2 * common.sum(axis=1) / (true.shape[1] + predicted.shape[1])
        by_column = 2 * common.sum(axis=0) / (true.shape[0] + predicted.shape[0])
        return _Result(scores, (_pairs(rows, by_row), _pairs(columns, by_column)), common)

    def _aligned(self, true: Indices, predicted: Indices) -> Alignment:
        """Align lines; those that are the same are looked at once."""
        lines = _Lines(self.entries, true, predicted)
        if lines.comparisons <= (_FEW if self._bounds else _MANY):
            return align(lines.similarities())
        if self._bounds:
            upper = _Lines(self._bounds, true, predicted).similarities()
            pairs = corridor(align(upper), upper, lines.similarities)
        else:
            most = min(true.shape[1], predicted.shape[1])
            guess = likely_alignment(true, predicted)
            pairs = diagonal_corridor(guess, lines.shape, most, lines.similarities)
        return align(lines.similarities(pairs))


def _entries(name: str, true: Table, predicted: Table, variant: _Variant) -> Entries:
    if name != "con":
        return BoxEntries(true, predicted, variant.boxes, spans=name == "top")
    if variant.texts is None:
        return TextEntries(true, predicted)
    return SlowTextEntries(true, predicted, variant.texts)


class _Lines:
    """The lines of two grids, equal ones together."""

    def __init__(self, entries: Entries, true: Indices, predicted: Indices) -> None:
        self._entries = entries
        self._true, which = np.unique(true, axis=0, return_inverse=True)
        self._predicted, beside = np.unique(predicted, axis=0, return_inverse=True)
        self._places = np.ix_(which.ravel(), beside.ravel())
        self._possible = entries.may_be_similar(self._true, self._predicted)

    @property
    def shape(self) -> tuple[int, int]:
        """How many lines there are."""
        return self._places[0].size, self._places[1].size

    @property
    def comparisons(self) -> int:
        """How many pairs of entries there are in all pairs of lines."""
        return self._true.size * self._predicted.size

    def similarities(self, pairs: npt.NDArray[np.bool_] | None = None) -> Numbers:
        """Return how similar lines are, at least those pairs; by default all."""
        possible = self._possible
        if pairs is not None:
            possible = np.zeros_like(possible)
            np.logical_or.at(possible, self._places, pairs)
            possible &= self._possible
        entries = self._true.shape[1] * self._predicted.shape[1]
        return line_similarities(self._rewards, possible, entries)[self._places]

    def _rewards(self, first: Indices, second: Indices) -> Numbers:
        return self._entries.of_lines(self._true[first], self._predicted[second])


def _ratios(common: float, true: int, predicted: int) -> tuple[float, float, float]:
    precision, recall = common / predicted, common / true
    both = precision + recall
    return (2 * precision * recall / both if both else 0.0), precision, recall


def _bound(rows: Alignment, columns: Alignment, true: int, predicted: int) -> float:
    return _ratios(min(rows.score, columns.score), true, predicted)[0]


def _pairs(lines: Alignment, similarity: Numbers) -> list[tuple[int, int, float]]:
    columns = (lines.true.tolist(), lines.predicted.tolist(), similarity.tolist())
    return list(zip(*columns, strict=True))
