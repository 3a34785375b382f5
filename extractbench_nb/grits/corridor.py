"""Which lines can be paired in a best alignment: what cannot be is not looked at.

A known alignment is a lower bound of the best score. Where even upper bounds of all similarities
make an alignment through a pair of lines no better than that, the pair is in no best alignment:
nothing is lost by leaving it out, ties included.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from extractbench_nb.grits.substructures import (
    Alignment,
    Indices,
    Numbers,
    align,
    alignment_scores,
    trace,
)

__all__ = ["corridor", "corridors", "diagonal_corridor", "likely_alignment"]

_Pairs: TypeAlias = npt.NDArray[np.bool_]
#: Scores are sums of floats.
_MARGIN = 1e-6


def corridor(guess: Alignment, upper: Numbers, scores: Callable[[_Pairs], Numbers]) -> _Pairs:
    """Return which pairs of lines may be in a best alignment.

    Parameters
    ----------
    guess : Alignment
        A good one; the better, the fewer pairs are left.
    upper : ndarray of shape (true lines, predicted lines)
        No two lines are more similar than that.
    scores : callable
        Gives the similarities of lines, at least of the pairs that it is told.

    Returns
    -------
    ndarray of shape (true lines, predicted lines)
        False where a pair is in no best alignment.
    """
    reached = _reached(guess, upper.shape, scores)
    possible: _Pairs = _through(upper, alignment_scores(upper)) >= reached - _MARGIN
    return possible


def diagonal_corridor(
    guess: Alignment, shape: tuple[int, ...], most: float, scores: Callable[[_Pairs], Numbers]
) -> _Pairs:
    """Return which pairs of lines may be in a best alignment, where one bound holds for all pairs.

    An alignment through a pair leaves out as many lines as the pair is away from the diagonal.

    Parameters
    ----------
    guess : Alignment
        A good one.
    shape : tuple of int
        True lines, predicted lines.
    most : float
        No two lines are more similar than that.
    scores : callable
        As in `corridor`.

    Returns
    -------
    ndarray of shape (true lines, predicted lines)
        False where a pair is in no best alignment.
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
    """Return which entries may be paired in the best alignments of many lines with each other.

    Parameters
    ----------
    upper : ndarray of shape (pairs of lines, entries, entries)
        No two entries are more similar than that.
    scores : callable
        Gives the similarities of entries, at least of the places that it is told.

    Returns
    -------
    ndarray of shape (pairs of lines, entries, entries)
        False where two entries are not paired in any best alignment of their lines.
    """
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
    """Align lines by the entries that they share, rare ones above all.

    Parameters
    ----------
    true, predicted : ndarray of shape (lines, entries)
        Lines of either grid, equal entries numbered alike.

    Returns
    -------
    Alignment
        As many pairs as there are lines, where those that share something allow it.
    """
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
