"""How alike two cells are: overlap of boxes, and of texts, in the forms that were published."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from difflib import SequenceMatcher
from types import MappingProxyType
from typing import TypeAlias

import numpy as np
import numpy.typing as npt

__all__ = ["TEXT_SIMILARITIES", "Numbers", "hull_overlap", "iou", "text_similarity"]

Numbers: TypeAlias = npt.NDArray[np.float64]
_Texts: TypeAlias = Sequence[str]


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


def text_similarity(true: _Texts, predicted: _Texts, kind: str = "subsequence") -> Numbers:
    """Return how much two texts have in common, over their mean length.

    Parameters
    ----------
    true, predicted : sequence of str
        Texts.
    kind : str, optional
        What counts as common: the longest common ``subsequence`` or ``substring``, or ``blocks``,
        the matching blocks of Python's difflib, as in the published code.

    Returns
    -------
    ndarray of shape (len(true), len(predicted))
        2 x common / (length + length), 0 to 1; 1 for two empty texts.

    Examples
    --------
    >>> [text_similarity(["tide"], ["diet"], kind).item() for kind in TEXT_SIMILARITIES]
    [0.5, 0.25, 0.25]
    """
    common = TEXT_SIMILARITIES[kind](true, predicted)
    lengths = np.array([*map(len, true)])[:, None] + np.array([*map(len, predicted)])[None]
    alike: Numbers = np.ones(common.shape)
    np.divide(2 * common, lengths, out=alike, where=lengths > 0)
    return alike


def _subsequence(true: _Texts, predicted: _Texts) -> npt.NDArray[np.int64]:
    from rapidfuzz.distance import LCSseq
    from rapidfuzz.process import cdist

    return cdist(true, predicted, scorer=LCSseq.similarity, dtype=np.int64)


def _substring(true: _Texts, predicted: _Texts) -> npt.NDArray[np.int64]:
    def common(matcher: SequenceMatcher[str], text: str) -> int:
        return matcher.find_longest_match(0, len(text)).size

    return _by_difflib(true, predicted, common, autojunk=False)


def _blocks(true: _Texts, predicted: _Texts) -> npt.NDArray[np.int64]:
    def common(matcher: SequenceMatcher[str], _: str) -> int:
        return sum(block.size for block in matcher.get_matching_blocks())

    return _by_difflib(true, predicted, common, autojunk=True)


def _by_difflib(
    true: _Texts,
    predicted: _Texts,
    common: Callable[[SequenceMatcher[str], str], int],
    *,
    autojunk: bool,
) -> npt.NDArray[np.int64]:
    """Compare by difflib, which keeps what it knows of the second text."""
    found = np.zeros((len(true), len(predicted)), dtype=np.int64)
    letters = [frozenset(text) for text in true]
    for column, text in enumerate(predicted):
        matcher = SequenceMatcher(None, "", text, autojunk)
        known = frozenset(text)
        for row, other in enumerate(true):
            if not letters[row].isdisjoint(known):
                matcher.set_seq1(other)
                found[row, column] = common(matcher, other)
    return found


#: By kind, what is common to each pair of texts, in characters.
TEXT_SIMILARITIES: Mapping[str, Callable[[_Texts, _Texts], npt.NDArray[np.int64]]] = (
    MappingProxyType({"subsequence": _subsequence, "substring": _substring, "blocks": _blocks})
)
