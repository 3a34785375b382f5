"""Counts of values by document and confidence, and quantities under weights of the documents."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from extractbench_nb.stats.intervals import Drawing, Numbers, weights_drawn

if TYPE_CHECKING:
    from scipy.sparse import csr_array


@dataclass(frozen=True, eq=False)
class Levels:
    """Amounts per document (rows) and distinct confidence (columns, ascending).

    Parameters
    ----------
    values : numpy.ndarray
        The distinct confidences.
    units, wrong : scipy.sparse.csr_array
        Amount of values, and of wrong ones.
    """

    values: Numbers
    units: csr_array[Any, tuple[int, int]]
    wrong: csr_array[Any, tuple[int, int]]

    @classmethod
    def of(cls, confidence: Any, cluster: Any, units: Any, wrong: Any) -> Levels:
        """Add up amounts by document and confidence; `cluster` may be any labels."""
        from scipy.sparse import csr_array

        values, level = np.unique(np.asarray(confidence, dtype=np.float64), return_inverse=True)
        codes, names = pd.factorize(np.asarray(cluster))
        shape = len(names), len(values)

        def table(amounts: Any) -> csr_array[Any, tuple[int, int]]:
            summed = csr_array((np.asarray(amounts, dtype=np.float64), (codes, level)), shape=shape)
            summed.sum_duplicates()
            return summed

        return cls(values, table(units), table(wrong))

    @property
    def documents(self) -> int:
        """Number of documents."""
        return int(self.units.shape[0])

    def totals(self) -> tuple[Numbers, Numbers]:
        """Return units and wrong ones by level, over all documents."""
        return np.asarray(self.units.sum(axis=0)), np.asarray(self.wrong.sum(axis=0))

    def resampled(self, drawing: Drawing) -> Iterator[tuple[Numbers, Numbers, Numbers]]:
        """Yield units and wrong ones by level under random weights, some resamples at a time.

        The weights are those of `weights_drawn`; that of the additional document comes third. They
        are multiplied by the number of documents.
        """
        for drawn in weights_drawn(self.documents, drawing, len(self.values)):
            weights = drawn[:, :-1] * self.documents
            extra = drawn[:, -1] * self.documents
            yield weights @ self.units, weights @ self.wrong, extra

    def quantiles(
        self,
        measure: Callable[[Numbers, Numbers, Numbers], tuple[Numbers, Numbers]],
        drawing: Drawing,
    ) -> tuple[Numbers, Numbers]:
        """Return the interval of a measure that has two versions, with the lowest and the highest.

        `measure` takes what `resampled` yields, and returns both versions for each resample: with
        the additional document as good and as bad as it can be.
        """
        parts = [measure(*parts) for parts in self.resampled(drawing)]
        low, high = (np.concatenate(ends) for ends in zip(*parts, strict=True))
        below, above = drawing.tails
        return np.quantile(low, below, axis=0), np.quantile(high, above, axis=0)
