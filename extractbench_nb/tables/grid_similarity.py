"""`grits`: similarity of two tables, and the alignment of their rows and columns."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from types import MappingProxyType
from typing import Any, NamedTuple, TypeAlias

import numpy as np
import numpy.typing as npt
import pandas as pd

from extractbench_nb._frames import Column, FrameSpec
from extractbench_nb.errors import InputError, nearest
from extractbench_nb.tables.cells import Table
from extractbench_nb.tables.reading import read_table
from extractbench_nb.tables.similarity import (
    Numbers,
    checked_names,
    checked_variant,
    dilate,
    hull_overlap,
    iou,
    pair_similarity,
    text_similarity,
)
from extractbench_nb.tables.substructures import (
    Alignment,
    Indices,
    align,
    corridor,
    corridors,
    diagonal_corridor,
    likely_alignment,
    line_similarities,
)

__all__ = [
    "ALIGNED_COLUMNS",
    "GRITS_METRICS",
    "GRITS_VARIANTS",
    "SCORE_COLUMNS",
    "BoxEntries",
    "Entries",
    "GriTS",
    "SlowTextEntries",
    "TextEntries",
    "grits",
    "refuse_boxless",
    "table_similarity",
]


#: The largest matrix of similarities that is kept.
_KEPT = 1 << 22
#: Boxes up to which all overlaps are kept.
_FEW_BOXES = 1 << 8
#: Overlaps that are computed at once; on the way there is several times that.
_BLOCK = 1 << 18


class _Numbering:
    """Numbers values as they come, equal ones alike."""

    def __init__(self) -> None:
        self.known: dict[Any, int] = {}

    def grid(self, table: Table, value: Callable[[int, int, int], Hashable]) -> Indices:
        """Return the numbers of a table's entries; `value` has the cell, row and column."""
        found = np.empty(table.grid.shape, dtype=np.intp)
        rows = enumerate(table.grid.tolist())
        for row, cells in rows:
            for column, cell in enumerate(cells):
                found[row, column] = self.known.setdefault(
                    value(cell, row, column), len(self.known)
                )
        return found


class BoxEntries:
    """Entries that are boxes: where cells are on the page, or what they span in the grid.

    Attributes
    ----------
    true, predicted : ndarray of shape (rows, columns)
        The number of the entry at each position.
    """

    def __init__(
        self,
        true: Table,
        predicted: Table,
        overlap: Callable[[Numbers, Numbers], Numbers],
        *,
        spans: bool,
    ) -> None:
        numbering = _Numbering()
        self.true, self.predicted = (
            numbering.grid(table, _span_of(table) if spans else _box_of(table))
            for table in (true, predicted)
        )
        self._boxes = np.array(list(numbering.known), dtype=np.float64).reshape(-1, 4)
        self._overlap = overlap

    @cached_property
    def _kept(self) -> Numbers | None:
        """Overlaps of all boxes, where they are few, as spans are."""
        if len(self._boxes) > _FEW_BOXES:
            return None
        return self._overlap(self._boxes[:, None], self._boxes[None])

    def similar(self, true: Indices, predicted: Indices) -> Numbers:
        """Return how much entries overlap; their shapes go together."""
        if self._kept is not None:
            return self._kept[true, predicted]
        return self._overlap(self._boxes[true], self._boxes[predicted])

    def of_lines(self, true: Indices, predicted: Indices) -> Numbers:
        """Return how much the entries of pairs of lines overlap: pairs x entries x entries."""
        found = np.empty((*true.shape, predicted.shape[1]))
        step = max(1, _BLOCK // (len(true) * predicted.shape[1]))
        for at in range(0, true.shape[1], step):
            part = true[:, at : at + step, None]
            found[:, at : at + step] = self.similar(part, predicted[:, None, :])
        return found

    def upper_bounds(self) -> None:
        """Return that comparing boxes is quick already."""

    def may_be_similar(self, true: Indices, predicted: Indices) -> npt.NDArray[np.bool_]:
        """Return which lines have boxes that may meet: the boxes around all of each do."""
        (low, high), (left, right) = (self._around(lines) for lines in (true, predicted))
        meet = (low[:, None] < right[None]) & (left[None] < high[:, None])
        return np.asarray(meet.all(axis=-1), dtype=np.bool_)

    def _around(self, lines: Indices) -> tuple[Numbers, Numbers]:
        boxes = self._boxes[lines]
        return boxes[..., :2].min(axis=1), boxes[..., 2:].max(axis=1)


def _box_of(table: Table) -> Callable[[int, int, int], Hashable]:
    return lambda cell, row, column: table.cells[cell].box


def _span_of(table: Table) -> Callable[[int, int, int], Hashable]:
    rows, columns = table.row_nums, table.column_nums
    return lambda cell, row, column: table.cells[cell].span_from(rows[row], columns[column])


class TextEntries:
    """Entries that are texts, compared by their longest common subsequence.

    Attributes
    ----------
    true, predicted : ndarray of shape (rows, columns)
        The number of the text at each position.
    texts : list of str
        By number.
    """

    def __init__(self, true: Table, predicted: Table) -> None:
        numbering = _Numbering()
        self.true = numbering.grid(true, _text_of(true))
        count = len(numbering.known)
        self.predicted = numbering.grid(predicted, _text_of(predicted))
        self.texts = list(numbering.known)
        # texts of the true table come first; the predicted ones get columns of their own
        used = np.unique(self.predicted)
        self._column = np.zeros(len(self.texts), dtype=np.intp)
        self._column[used] = np.arange(len(used))
        self._shape = count, len(used)
        self._used = used

    @cached_property
    def _kept(self) -> Numbers | None:
        """Similarities of all texts, where they are few enough."""
        if self._shape[0] * self._shape[1] > _KEPT:
            return None
        return self._between(np.arange(self._shape[0]), self._used)

    def similar(self, true: Indices, predicted: Indices) -> Numbers:
        """Return how much texts have in common; the shapes of the indices go together."""
        if self._kept is not None:
            return self._kept[true, self._column[predicted]]
        pairs = zip(true.reshape(-1, true.shape[-1]), predicted.reshape(true.shape), strict=True)
        found = [self._between(a, b).diagonal() for a, b in pairs]
        return np.array(found).reshape(true.shape)

    def of_lines(self, true: Indices, predicted: Indices) -> Numbers:
        """Return what the texts of pairs of lines have in common: pairs x entries x entries."""
        if self._kept is not None:
            return self.similar(true[:, :, None], predicted[:, None, :])
        if len(true) == 1:
            return self._between(true[0], predicted[0])[None]
        found = np.empty((*true.shape, predicted.shape[1]))
        ends = np.flatnonzero((true[1:] != true[:-1]).any(axis=1)) + 1
        for start, end in pairwise((0, *ends.tolist(), len(true))):
            beside = predicted[start:end]
            common = self._between(true[start], beside.ravel())
            found[start:end] = common.reshape(-1, *beside.shape).transpose(1, 0, 2)
        return found

    def _between(self, true: Indices, predicted: Indices) -> Numbers:
        """Compare every text with every other."""
        texts, others = ([self.texts[n] for n in side.tolist()] for side in (true, predicted))
        return text_similarity(texts, others)

    def upper_bounds(self) -> None:
        """Return that this comparison is quick already."""

    def may_be_similar(self, true: Indices, predicted: Indices) -> npt.NDArray[np.bool_]:
        """Return that any lines may have something in common."""
        return np.ones((len(true), len(predicted)), dtype=np.bool_)


class SlowTextEntries:
    """Entries that are texts, compared pair by pair in a way that takes long.

    Their longest common subsequence is as long as the longest common substring, or as matching
    blocks, at least: where even that makes a pair be in no best alignment, it is not compared.

    Attributes
    ----------
    true, predicted : ndarray of shape (rows, columns)
        The number of the text at each position.
    """

    def __init__(self, true: Table, predicted: Table, kind: str) -> None:
        self._quick = TextEntries(true, predicted)
        self.true, self.predicted = self._quick.true, self._quick.predicted
        self._kind = kind
        self._known: dict[int, float] = {}

    def similar(self, true: Indices, predicted: Indices) -> Numbers:
        """Return how much texts have in common; the shapes of the indices are the same."""
        texts = self._quick.texts
        pairs, where = np.unique(true * len(texts) + predicted, return_inverse=True)
        new = [pair for pair in pairs.tolist() if pair not in self._known]
        split = [divmod(pair, len(texts)) for pair in new]
        similarities = pair_similarity(((texts[a], texts[b]) for a, b in split), self._kind)
        self._known.update(zip(new, similarities, strict=True))
        found = np.array([self._known[pair] for pair in pairs.tolist()], dtype=np.float64)
        alike: Numbers = found[where.reshape(true.shape)]
        return alike

    def of_lines(self, true: Indices, predicted: Indices) -> Numbers:
        """Return what texts of pairs of lines have in common, 0 where that is of no account."""
        first, second = np.broadcast_arrays(true[:, :, None], predicted[:, None, :])
        found = np.zeros(first.shape)

        def scores(places: npt.NDArray[np.bool_]) -> Numbers:
            found[places] = self.similar(first[places], second[places])
            return found

        return scores(corridors(self._quick.of_lines(true, predicted), scores))

    def upper_bounds(self) -> TextEntries:
        """Return the same entries, compared in a quick way that never finds less."""
        return self._quick

    def may_be_similar(self, true: Indices, predicted: Indices) -> npt.NDArray[np.bool_]:
        """Return that any lines may have something in common."""
        return self._quick.may_be_similar(true, predicted)


def _text_of(table: Table) -> Callable[[int, int, int], Hashable]:
    return lambda cell, row, column: table.cells[cell].text


#: What is compared of two tables.
Entries: TypeAlias = BoxEntries | TextEntries | SlowTextEntries


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
    """The similarity of two tables; made by `grits`.

    Parameters
    ----------
    scores : pandas.DataFrame
        One row per metric: fscore, precision, recall, upper_bound.
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
        from extractbench_nb.tables.drawing import grits_html

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
    """Return f-score, precision, recall and upper bound of one metric, as `grits` has them."""
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
    """Refuse cells without a box."""
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
