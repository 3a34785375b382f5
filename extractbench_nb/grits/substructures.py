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

__all__ = ["Alignment", "Rewards", "align", "line_similarities"]

Numbers: TypeAlias = npt.NDArray[np.float64]
#: Similarities of a block of true lines: shape (lines, predicted lines, entries, entries).
Rewards: TypeAlias = Callable[[slice], Numbers]

#: How many similarities are in memory at once.
_CELLS = 1 << 22


class Alignment(NamedTuple):
    """Aligned lines: indices of both sides, in order, and the score of the whole alignment."""

    true: npt.NDArray[np.intp]
    predicted: npt.NDArray[np.intp]
    score: float


def line_similarities(rewards: Rewards, shape: tuple[int, int, int, int]) -> Numbers:
    """Return the score of the best alignment of every two lines.

    Parameters
    ----------
    rewards : callable
        Gives the similarities of the entries of some true lines and all predicted ones.
    shape : tuple of int
        True lines, predicted lines, entries of a true line, entries of a predicted one.

    Returns
    -------
    ndarray of shape (true lines, predicted lines)
        0 and up to the shorter line's length.
    """
    lines, others, first, second = shape
    step = max(1, _CELLS // max(1, others * first * second))
    parts = [
        _aligned_entries(rewards(slice(at, min(at + step, lines)))) for at in range(0, lines, step)
    ]
    return np.concatenate(parts) if parts else np.zeros((lines, others))


def _aligned_entries(rewards: Numbers) -> Numbers:
    """Align the last two axes, for all others at once, antidiagonal by antidiagonal."""
    first, second = rewards.shape[2:]
    # by place in the true line; the place in the predicted one follows from the antidiagonal
    before = np.zeros((*rewards.shape[:2], first + 1))
    last = np.zeros_like(before)
    for diagonal in range(2, first + second + 1):
        low, high = max(1, diagonal - second), min(first, diagonal - 1)
        places = np.arange(low - 1, high)
        best = before[..., low - 1 : high] + rewards[..., places, diagonal - 2 - places]
        np.maximum(best, last[..., low - 1 : high], out=best)
        np.maximum(best, last[..., low : high + 1], out=best)
        before, last = last, before
        last[..., low : high + 1] = best
    return last[..., first].copy()


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
    scores = _scores(similarities)
    pairs = list(_traced(scores, similarities))[::-1]
    found = np.array(pairs, dtype=np.intp).reshape(-1, 2)
    return Alignment(found[:, 0], found[:, 1], float(scores[-1, -1]))


def _scores(similarities: Numbers) -> Numbers:
    lines, others = similarities.shape
    scores = np.zeros((lines + 1, others + 1))
    for diagonal in range(2, lines + others + 1):
        places = np.arange(max(1, diagonal - others), min(lines, diagonal - 1) + 1)
        beside = diagonal - places
        best = scores[places - 1, beside - 1] + similarities[places - 1, beside - 1]
        np.maximum(best, scores[places - 1, beside], out=best)
        np.maximum(best, scores[places, beside - 1], out=best)
        scores[places, beside] = best
    return scores


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
