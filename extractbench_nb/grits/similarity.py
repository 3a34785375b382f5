"""How alike two cells are: overlap of boxes, and of texts, in the forms that were published."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from types import MappingProxyType
from typing import TYPE_CHECKING, TypeAlias

import numpy as np
import numpy.typing as npt

if TYPE_CHECKING:
    from difflib import SequenceMatcher

__all__ = [
    "TEXT_KINDS",
    "Numbers",
    "hull_overlap",
    "iou",
    "pair_similarity",
    "text_similarity",
]

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


def text_similarity(true: _Texts, predicted: _Texts) -> Numbers:
    """Return the longest common subsequences of texts, over their mean lengths.

    Parameters
    ----------
    true, predicted : sequence of str
        Texts.

    Returns
    -------
    ndarray of shape (len(true), len(predicted))
        2 x common / (length + length), 0 to 1; 1 for two empty texts.

    Examples
    --------
    >>> text_similarity(["tide"], ["diet", "tide"]).tolist()
    [[0.5, 1.0]]
    """
    from rapidfuzz.distance import LCSseq
    from rapidfuzz.process import cdist

    alike: Numbers = cdist(true, predicted, scorer=LCSseq.similarity, dtype=np.float64)
    alike *= 2
    length, other = (np.array([*map(len, side)], dtype=np.float64) for side in (true, predicted))
    empty, blank = np.flatnonzero(length == 0), np.flatnonzero(other == 0)
    length[empty] = 1  # nothing is in common with an empty text, whatever that is divided by
    alike /= length[:, None] + other[None]
    alike[np.ix_(empty, blank)] = 1
    return alike


def pair_similarity(pairs: Iterable[tuple[str, str]], kind: str) -> list[float]:
    """Return what texts have in common, over their mean length, pair by pair.

    Parameters
    ----------
    pairs : iterable of (true, predicted)
        Texts.
    kind : str
        What counts as common: the longest common ``substring``, or ``blocks``, the matching blocks
        of Python's difflib, as in the published code.

    Returns
    -------
    list of float
        2 x common / (length + length), 0 to 1; 1 for two empty texts.

    Examples
    --------
    >>> [pair_similarity([("tide", "diet"), ("diet", "tide")], kind) for kind in TEXT_KINDS]
    [[0.25, 0.25], [0.25, 0.5]]
    """
    matchers = _matchers()
    by_second: dict[str, SequenceMatcher[str]] = {}  # difflib keeps what it knows of the second
    found = []
    for true, predicted in pairs:
        if not true or not predicted:
            found.append(float(true == predicted))
            continue
        matcher = by_second.get(predicted)
        if matcher is None:
            matcher = by_second[predicted] = matchers(None, "", predicted, kind == "blocks")
        matcher.set_seq1(true)
        found.append(2 * TEXT_KINDS[kind](matcher) / (len(true) + len(predicted)))
    return found


def _substring(matcher: SequenceMatcher[str]) -> int:
    return matcher.find_longest_match().size


def _blocks(matcher: SequenceMatcher[str]) -> int:
    return sum(block[2] for block in matcher.get_matching_blocks())


#: By kind, what is common to two texts, in characters.
TEXT_KINDS: Mapping[str, Callable[[SequenceMatcher[str]], int]] = MappingProxyType(
    {"substring": _substring, "blocks": _blocks}
)


def _matchers() -> type[SequenceMatcher[str]]:
    """Return difflib's class, or cydifflib's, which does the same in a third of the time."""
    try:
        from cydifflib import SequenceMatcher as Matcher
    except ImportError:
        from difflib import SequenceMatcher as Matcher
    found: type[SequenceMatcher[str]] = Matcher
    return found
