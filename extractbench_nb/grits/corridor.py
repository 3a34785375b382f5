"""Which lines can be paired in a best alignment: what is far from a good one need not be looked at.

A pair of lines adds at most the number of entries of the shorter line. An alignment through a pair
far from the diagonal leaves out as many lines as it is away, so that a known alignment, which is a
lower bound, shows that it is not the best: nothing is lost by the exclusion, ties included.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from extractbench_nb.grits.substructures import Indices, Numbers, align

__all__ = ["corridor"]

_Pairs: TypeAlias = npt.NDArray[np.bool_]
#: Scores are sums of floats.
_MARGIN = 1e-6


def corridor(true: Indices, predicted: Indices, scores: Callable[[_Pairs], Numbers]) -> _Pairs:
    """Return which pairs of lines may be in a best alignment.

    Parameters
    ----------
    true, predicted : ndarray of shape (lines, entries)
        Lines of either grid, equal entries numbered alike.
    scores : callable
        Gives the similarities of lines, at least of the pairs that it is told.

    Returns
    -------
    ndarray of shape (true lines, predicted lines)
        False where a pair is in no best alignment.
    """
    lines, others = len(true), len(predicted)
    known = np.zeros((lines, others), dtype=np.bool_)
    guess = align(_shared(true, predicted))
    known[guess.true, guess.predicted] = True
    reached = float(scores(known)[known].sum())
    i, j = np.arange(lines)[:, None], np.arange(others)[None]
    most = np.minimum(i, j) + 1 + np.minimum(lines - 1 - i, others - 1 - j)
    possible: _Pairs = most * min(true.shape[1], predicted.shape[1]) >= reached - _MARGIN
    return possible


def _shared(true: Indices, predicted: Indices) -> Numbers:
    """Return how many entries lines share, rare ones above all; any two lines a little."""
    from scipy.sparse import csr_array

    count = int(max(true.max(), predicted.max())) + 1
    sides: list[Any] = []
    for lines in (true, predicted):
        places = np.repeat(np.arange(len(lines)), lines.shape[1]), lines.ravel()
        held = csr_array((np.ones(lines.size), places), shape=(len(lines), count))
        held.data[:] = 1
        sides.append(held)
    often: Numbers = sides[0].sum(axis=0) * sides[1].sum(axis=0)
    rare = np.divide(1.0, often, out=np.zeros(count), where=often > 0)
    found: Numbers = ((sides[0] * rare[None]) @ sides[1].T).toarray()
    return found + _LITTLE


#: Less than what lines share, so that it only fills gaps.
_LITTLE = 1e-9
