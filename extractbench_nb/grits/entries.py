"""What is compared of two tables: grids of entries, equal ones numbered alike, and how alike."""

from __future__ import annotations

from collections.abc import Callable, Hashable
from functools import cached_property
from itertools import pairwise
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from extractbench_nb.grits.cells import Table
from extractbench_nb.grits.corridor import corridors
from extractbench_nb.grits.similarity import Numbers, pair_similarity, text_similarity
from extractbench_nb.grits.substructures import Indices

__all__ = ["BoxEntries", "Entries", "SlowTextEntries", "TextEntries"]

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
