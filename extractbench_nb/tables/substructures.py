"""The most similar rows and columns of two grids, by nested dynamic programming.

The problem is NP-hard; the paper (section 6) factors it: rows are aligned with rows, where the
similarity of two rows is that of their best alignment, and columns likewise. The selection is a
valid substructure of each grid, so its similarity is a lower bound of the best one; the lesser of
the two alignments' scores is an upper bound.

All pairs of rows are aligned at once. A step goes along one antidiagonal of the inner alignments,
so a table takes as many steps of numpy as the two grids have rows and columns.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, NamedTuple, TypeAlias

import numpy as np
import numpy.typing as npt

__all__ = [
    "Alignment",
    "Rewards",
    "align",
    "alignment_scores",
    "corridor",
    "corridors",
    "diagonal_corridor",
    "likely_alignment",
    "line_similarities",
    "trace",
]


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
    """Return the score of the best alignment of every two lines."""
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

    Examples
    --------
    >>> align(np.array([[1.0, 0.0], [0.0, 0.0], [0.0, 2.0]]))[:2]
    (array([0, 2]), array([0, 1]))
    """
    return trace(alignment_scores(similarities), similarities)


def alignment_scores(similarities: Numbers) -> Numbers:
    """Return the score of the best alignment of the first lines of either side."""
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
    """Return the alignment whose scores are known, as `align` does."""
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


_Pairs: TypeAlias = npt.NDArray[np.bool_]
#: Scores are sums of floats.
_MARGIN = 1e-6


def corridor(guess: Alignment, upper: Numbers, scores: Callable[[_Pairs], Numbers]) -> _Pairs:
    """Return which pairs of lines may be in a best alignment."""
    reached = _reached(guess, upper.shape, scores)
    possible: _Pairs = _through(upper, alignment_scores(upper)) >= reached - _MARGIN
    return possible


def diagonal_corridor(
    guess: Alignment, shape: tuple[int, ...], most: float, scores: Callable[[_Pairs], Numbers]
) -> _Pairs:
    """Return which pairs of lines may be in a best alignment, where one bound holds for all pairs.

    An alignment through a pair leaves out as many lines as the pair is away from the diagonal.
    """
    reached = _reached(guess, shape, scores)
    lines, others = shape
    i, j = np.arange(lines, dtype=np.int32)[:, None], np.arange(others, dtype=np.int32)[None]
    pairs = np.minimum(i, j)
    pairs += np.minimum(lines - i, others - j)
    possible: _Pairs = pairs >= (reached - _MARGIN) / most
    return possible


def _reached(
    guess: Alignment, shape: tuple[int, ...], scores: Callable[[_Pairs], Numbers]
) -> float:
    """Return what a guess is worth, which the best alignment is worth at least."""
    known = np.zeros(shape, dtype=np.bool_)
    known[guess.true, guess.predicted] = True
    return float(scores(known)[known].sum())


def corridors(upper: Numbers, scores: Callable[[_Pairs], Numbers]) -> _Pairs:
    """Return which entries may be paired in the best alignments of many lines with each other."""
    known = np.zeros(upper.shape, dtype=np.bool_)
    before = alignment_scores(upper)
    for pair, similarities in enumerate(upper):
        guess = trace(before[pair], similarities)
        known[pair, guess.true, guess.predicted] = True
    reached = np.where(known, scores(known), 0).sum(axis=(1, 2))
    possible: _Pairs = _through(upper, before) >= reached[:, None, None] - _MARGIN
    return possible


def _through(upper: Numbers, before: Numbers) -> Numbers:
    """Return an upper bound of the best alignment that has a pair, for each pair."""
    after = alignment_scores(upper[..., ::-1, ::-1])[..., ::-1, ::-1]
    found: Numbers = before[..., :-1, :-1] + upper + after[..., 1:, 1:]
    return found


def likely_alignment(true: Indices, predicted: Indices) -> Alignment:
    """Align lines by the entries that they share, rare ones above all."""
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
    shared: Numbers = ((sides[0] * rare[None]) @ sides[1].T).toarray()
    return align(shared + _LITTLE)


#: Less than what lines share, so that it only fills gaps.
_LITTLE = 1e-9
