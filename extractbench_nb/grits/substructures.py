"""Factored 2D-MSS: the most similar rows and columns of two grids, by nested dynamic programming.

The paper (section 6) factors a problem that is NP-hard: rows are aligned with rows where the
similarity of two rows is that of their best alignment, and columns likewise. What is selected is a
valid substructure of each grid, so that its similarity is a lower bound of the best one; the lesser
of the two alignments' scores is an upper bound.

All pairs of rows are aligned at once. A step goes along one antidiagonal of the inner alignments,
so that a table takes as many steps of numpy as the two grids have rows and columns.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import NamedTuple, TypeAlias

import numpy as np
import numpy.typing as npt

__all__ = ["Alignment", "Rewards", "align", "alignment_scores", "line_similarities", "trace"]

Numbers: TypeAlias = npt.NDArray[np.float64]
Indices: TypeAlias = npt.NDArray[np.intp]
#: Similarities of the entries of pairs of lines, by their indices: shape (pairs, entries, entries).
Rewards: TypeAlias = Callable[[Indices, Indices], Numbers]

#: How many similarities are in memory at once.
_CELLS = 1 << 21


class Alignment(NamedTuple):
    """Aligned lines: indices of both sides, in order, and the score of the whole alignment."""

    true: npt.NDArray[np.intp]
    predicted: npt.NDArray[np.intp]
    score: float


def line_similarities(rewards: Rewards, possible: npt.NDArray[np.bool_], entries: int) -> Numbers:
    """Return the score of the best alignment of every two lines.

    Parameters
    ----------
    rewards : callable
        Gives the similarities of the entries of some pairs of lines.
    possible : ndarray of shape (true lines, predicted lines)
        Which pairs may have anything in common; the others are not looked at.
    entries : int
        Pairs of entries in a pair of lines.

    Returns
    -------
    ndarray of shape (true lines, predicted lines)
        0 and up to the shorter line's length.
    """
    found = np.zeros(possible.shape)
    step = max(1, _CELLS // max(1, entries))
    for true, predicted in _blocks(possible, step):
        found[true, predicted] = _aligned_entries(rewards(true, predicted))
    return found


def _blocks(possible: npt.NDArray[np.bool_], step: int) -> Iterator[tuple[Indices, Indices]]:
    """Yield the indices of possible pairs, in order, so many at a time at most."""
    lines = max(1, _CELLS // max(1, possible.shape[1]))
    for first in range(0, len(possible), lines):
        true, predicted = np.nonzero(possible[first : first + lines])
        true += first
        for at in range(0, len(true), step):
            yield true[at : at + step], predicted[at : at + step]


def _aligned_entries(rewards: Numbers) -> Numbers:
    """Align the last two axes, for all pairs at once, antidiagonal by antidiagonal."""
    pairs, first, second = rewards.shape
    # by place in the true line; the place in the predicted one follows from the antidiagonal
    before = np.zeros((first + 1, pairs))
    last = np.zeros_like(before)
    cells = np.ascontiguousarray(rewards.transpose(1, 2, 0))
    for diagonal in range(2, first + second + 1):
        low, high = max(1, diagonal - second), min(first, diagonal - 1)
        places = np.arange(low - 1, high)
        best = cells[places, diagonal - 2 - places]
        best += before[low - 1 : high]
        np.maximum(best, last[low - 1 : high], out=best)
        np.maximum(best, last[low : high + 1], out=before[low : high + 1])
        before, last = last, before
    return last[first].copy()


def align(similarities: Numbers) -> Alignment:
    """Align lines by their similarities.

    Parameters
    ----------
    similarities : ndarray of shape (true lines, predicted lines)
        0 and up.

    Returns
    -------
    Alignment
        Of several that are best, the one that is found from the end by pairing two lines where that
        is best, else leaving out the true one, else the predicted one.

    Examples
    --------
    >>> align(np.array([[1.0, 0.0], [0.0, 0.0], [0.0, 2.0]]))[:2]
    (array([0, 2]), array([0, 1]))
    """
    return trace(alignment_scores(similarities), similarities)


def alignment_scores(similarities: Numbers) -> Numbers:
    """Return the score of the best alignment of the first lines of either side.

    Parameters
    ----------
    similarities : ndarray of shape (..., true lines, predicted lines)
        0 and up.

    Returns
    -------
    ndarray of shape (..., true lines + 1, predicted lines + 1)
        By how many lines of either side there are.
    """
    *many, lines, others = similarities.shape
    scores = np.zeros((*many, lines + 1, others + 1))
    for diagonal in range(2, lines + others + 1):
        places = np.arange(max(1, diagonal - others), min(lines, diagonal - 1) + 1)
        beside = diagonal - places
        best = scores[..., places - 1, beside - 1] + similarities[..., places - 1, beside - 1]
        np.maximum(best, scores[..., places - 1, beside], out=best)
        np.maximum(best, scores[..., places, beside - 1], out=best)
        scores[..., places, beside] = best
    return scores


def trace(scores: Numbers, similarities: Numbers) -> Alignment:
    """Return the alignment whose scores are known, as `align` does.

    Parameters
    ----------
    scores : ndarray of shape (true lines + 1, predicted lines + 1)
        From `alignment_scores`.
    similarities : ndarray of shape (true lines, predicted lines)
        0 and up.

    Returns
    -------
    Alignment
        The best one, chosen among several by the same rule.
    """
    pairs = list(_traced(scores, similarities))[::-1]
    found = np.array(pairs, dtype=np.intp).reshape(-1, 2)
    return Alignment(found[:, 0], found[:, 1], float(scores[-1, -1]))


def _traced(scores: Numbers, similarities: Numbers) -> Iterator[tuple[int, int]]:
    """Yield the pairs of the alignment, last first."""
    true, predicted = similarities.shape
    while true and predicted:
        best = scores[true, predicted]
        paired = scores[true - 1, predicted - 1] + similarities[true - 1, predicted - 1]
        if paired == best:
            true, predicted = true - 1, predicted - 1
            yield true, predicted
        elif scores[true - 1, predicted] == best:
            true -= 1
        else:
            predicted -= 1
