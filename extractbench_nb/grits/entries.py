"""What is compared of two tables: grids of entries, equal ones numbered alike, and how alike."""

from __future__ import annotations

from collections.abc import Callable, Hashable
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from extractbench_nb.grits.cells import Table
from extractbench_nb.grits.similarity import Numbers, text_similarity
from extractbench_nb.grits.substructures import Indices

__all__ = ["BoxEntries", "TextEntries"]

#: The largest matrix of similarities that is kept.
_KEPT = 1 << 22


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

    def similar(self, true: Indices, predicted: Indices) -> Numbers:
        """Return how much entries overlap; their shapes go together."""
        return self._overlap(self._boxes[true], self._boxes[predicted])

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
    return lambda cell, row, column: table.cells[cell].span_from(row, column)


class TextEntries:
    """Entries that are texts.

    Attributes
    ----------
    true, predicted : ndarray of shape (rows, columns)
        The number of the text at each position, from 0 on either side.
    """

    def __init__(self, true: Table, predicted: Table, kind: str) -> None:
        sides = _Numbering(), _Numbering()
        self.true, self.predicted = (
            side.grid(table, _text_of(table))
            for side, table in zip(sides, (true, predicted), strict=True)
        )
        self._texts, self._others = (list(side.known) for side in sides)
        self._kind = kind

    @cached_property
    def _all(self) -> Numbers | None:
        """Similarities of all texts, where they are few enough to be kept."""
        if len(self._texts) * len(self._others) > _KEPT:
            return None
        return text_similarity(self._texts, self._others, self._kind)

    def similar(self, true: Indices, predicted: Indices) -> Numbers:
        """Return how much texts have in common; the shapes of the indices go together."""
        if self._all is not None:
            return self._all[true, predicted]
        if true.shape == predicted.shape and len(true) > 1:  # few of the pairs are asked for
            rows = zip(true, predicted, strict=True)
            return np.concatenate([self.similar(a[None], b[None]) for a, b in rows])
        (first, at), (second, beside) = (
            np.unique(side, return_inverse=True) for side in (true, predicted)
        )
        texts = [self._texts[n] for n in first]
        others = [self._others[n] for n in second]
        found = text_similarity(texts, others, self._kind)
        return found[at.reshape(true.shape), beside.reshape(predicted.shape)]

    def may_be_similar(self, true: Indices, predicted: Indices) -> npt.NDArray[np.bool_]:
        """Return that any lines may have something in common."""
        return np.ones((len(true), len(predicted)), dtype=np.bool_)


def _text_of(table: Table) -> Callable[[int, int, int], Hashable]:
    return lambda cell, row, column: table.cells[cell].text
