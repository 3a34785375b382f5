"""How alike two cells are: overlap of boxes, and of texts, in the forms that were published."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType
from typing import TYPE_CHECKING, TypeAlias

import numpy as np
import numpy.typing as npt

if TYPE_CHECKING:
    from difflib import SequenceMatcher

__all__ = ["SLOW_TEXTS", "TEXT_SIMILARITIES", "Numbers", "hull_overlap", "iou", "text_similarity"]

Numbers: TypeAlias = npt.NDArray[np.float64]
_Texts: TypeAlias = Sequence[str]
_Wanted: TypeAlias = npt.NDArray[np.bool_] | None


def iou(a: Numbers, b: Numbers) -> Numbers:
    """Return the intersection over the union of boxes.

    Parameters
    ----------
    a, b : ndarray of shape (..., 4)
        x0, y0, x1, y1; of shapes that go together.

    Returns
    -------
    ndarray of shape (...)
        0 to 1; 0 for a box without an area, also beside itself.

    Examples
    --------
    >>> iou(np.array([0, 0, 2, 1]), np.array([[0, 0, 1, 1], [5, 5, 6, 6]])).tolist()
    [0.5, 0.0]
    """
    common = _intersection(a, b)
    return _share(common, _area(a) + _area(b) - common)


def hull_overlap(a: Numbers, b: Numbers) -> Numbers:
    """Return the intersection of boxes over the smallest box around both.

    Never more than `iou`, and the same where one box is in the other: what the published code
    computes, there in single precision.

    Parameters
    ----------
    a, b : ndarray of shape (..., 4)
        x0, y0, x1, y1; of shapes that go together.

    Returns
    -------
    ndarray of shape (...)
        0 to 1.
    """
    low, high = np.minimum(a[..., :2], b[..., :2]), np.maximum(a[..., 2:], b[..., 2:])
    return _share(_intersection(a, b), (high - low).prod(axis=-1))


def _area(boxes: Numbers) -> Numbers:
    """Return areas; an inverted box has none."""
    found: Numbers = np.maximum(boxes[..., 2:] - boxes[..., :2], 0).prod(axis=-1)
    return found


def _intersection(a: Numbers, b: Numbers) -> Numbers:
    low, high = np.maximum(a[..., :2], b[..., :2]), np.minimum(a[..., 2:], b[..., 2:])
    there = (_area(a) > 0) & (_area(b) > 0)
    return np.where(there, np.maximum(high - low, 0).prod(axis=-1), 0)


def _share(part: Numbers, whole: Numbers) -> Numbers:
    return np.divide(part, whole, out=np.zeros(part.shape), where=part > 0)


def text_similarity(
    true: _Texts, predicted: _Texts, kind: str = "subsequence", wanted: _Wanted = None
) -> Numbers:
    """Return how much two texts have in common, over their mean length.

    Parameters
    ----------
    true, predicted : sequence of str
        Texts.
    kind : str, optional
        What counts as common: the longest common ``subsequence`` or ``substring``, or ``blocks``,
        the matching blocks of Python's difflib, as in the published code.
    wanted : ndarray of shape (len(true), len(predicted)), optional
        Which pairs to compare; the others are left at 0 where that saves time. By default all.

    Returns
    -------
    ndarray of shape (len(true), len(predicted))
        2 x common / (length + length), 0 to 1; 1 for two empty texts.

    Examples
    --------
    >>> [text_similarity(["tide"], ["diet"], kind).item() for kind in TEXT_SIMILARITIES]
    [0.5, 0.25, 0.25]
    """
    alike: Numbers = TEXT_SIMILARITIES[kind](true, predicted, wanted)
    alike *= 2
    length, other = (np.array([*map(len, side)], dtype=np.float64) for side in (true, predicted))
    empty, blank = np.flatnonzero(length == 0), np.flatnonzero(other == 0)
    length[empty] = 1  # nothing is in common with an empty text, whatever that is divided by
    alike /= length[:, None] + other[None]
    alike[np.ix_(empty, blank)] = 1
    return alike


def _subsequence(true: _Texts, predicted: _Texts, _: _Wanted) -> Numbers:
    from rapidfuzz.distance import LCSseq
    from rapidfuzz.process import cdist

    return cdist(true, predicted, scorer=LCSseq.similarity, dtype=np.float64)


def _substring(true: _Texts, predicted: _Texts, wanted: _Wanted) -> Numbers:
    def common(matcher: SequenceMatcher[str], text: str, other: str) -> int:
        return matcher.find_longest_match(0, len(text), 0, len(other)).size

    return _by_difflib(true, predicted, wanted, common, autojunk=False)


def _blocks(true: _Texts, predicted: _Texts, wanted: _Wanted) -> Numbers:
    def common(matcher: SequenceMatcher[str], *_: str) -> int:
        return sum(block[2] for block in matcher.get_matching_blocks())

    return _by_difflib(true, predicted, wanted, common, autojunk=True)


def _by_difflib(
    true: _Texts,
    predicted: _Texts,
    wanted: _Wanted,
    common: Callable[[SequenceMatcher[str], str, str], int],
    *,
    autojunk: bool,
) -> Numbers:
    """Compare by difflib, which keeps what it knows of the second text."""
    matchers = _matchers()
    found = np.zeros((len(true), len(predicted)))
    letters = [frozenset(text) for text in true]
    for column, text in enumerate(predicted):
        rows = range(len(true)) if wanted is None else np.flatnonzero(wanted[:, column]).tolist()
        known = frozenset(text)
        matcher = None
        for row in rows:
            if letters[row].isdisjoint(known):
                continue
            matcher = matcher or matchers(None, "", text, autojunk)
            matcher.set_seq1(true[row])
            found[row, column] = common(matcher, true[row], text)
    return found


def _matchers() -> type[SequenceMatcher[str]]:
    """Return difflib's class, or cydifflib's, which does the same in a third of the time."""
    try:
        from cydifflib import SequenceMatcher as Matcher
    except ImportError:
        from difflib import SequenceMatcher as Matcher
    found: type[SequenceMatcher[str]] = Matcher
    return found


#: By kind, what is common to each pair of texts, in characters.
TEXT_SIMILARITIES: Mapping[str, Callable[[_Texts, _Texts, _Wanted], Numbers]] = MappingProxyType(
    {"subsequence": _subsequence, "substring": _substring, "blocks": _blocks}
)

#: The kinds that are done pair by pair.
SLOW_TEXTS = frozenset({"substring", "blocks"})
