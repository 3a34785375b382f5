"""Estimates of a metric for all pairs of many values, vectorised.

A metric declares one where it is registered. In large arrays the estimate chooses which items are
compared by the metric itself; no score that is reported comes from it.
"""

from __future__ import annotations

import itertools
import math
import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray
from rapidfuzz.distance import Levenshtein
from rapidfuzz.process import cdist

from extractbench_nb.core.text.quantities import as_number
from extractbench_nb.core.text.word_tokens import prepare
from extractbench_nb.core.values import json_text, leaf_texts

Matrix = NDArray[np.float32]
Flags = NDArray[np.bool_]
#: Similarity in [0, 1] of all pairs of values, gold by predicted, and which are likely to pass.
Estimated = tuple[Matrix | Flags, Flags]

#: Similarity of texts by characters, and of bags of words, from which a pass is likely.
_LIKELY_TEXT, _LIKELY_BAG = 0.9, 0.8
#: Similarity by characters below which it counts as 0; the higher, the less time it takes.
_CUTOFF, _CUTOFF_OF_MANY = 0.3, 0.7
#: Pairs of texts beyond which texts that occur on both sides are only compared with others.
_SPARSE = 250_000
#: Mean length of the longer texts from which they are compared by their words.
_LONG_TEXT = 64
#: Length of the longest text whose dates, quantities and initials are read.
_LONGEST_READ = 120
_WORD = re.compile(r"\w+")
_LONG_WORD = 20
_SHORT_BAG = 200
#: Rows of a sparse product that are made dense at once.
_ROWS = 512


def equal_codes(gold: Sequence[Any], predicted: Sequence[Any], _: Mapping[str, Any]) -> Estimated:
    """Compare codes, numbers and names: the same or not."""
    same = _same(*(map(_code, side) for side in (gold, predicted)))
    return same, same


def _same(gold: Iterable[str], predicted: Iterable[str]) -> Flags:
    numbers: defaultdict[str, int] = defaultdict(itertools.count().__next__)
    left, right = (np.array([numbers[text] for text in side]) for side in (gold, predicted))
    same: Flags = left[:, None] == right
    return same


def _code(value: Any) -> str:
    number = as_number(value)
    return repr(number + 0.0) if isinstance(number, float) else json_text(value).casefold().strip()


def near_numbers(
    gold: Sequence[Any], predicted: Sequence[Any], params: Mapping[str, Any]
) -> Estimated:
    """Compare numbers by a tolerance; if any value is not a number, all as codes."""
    left, right = _numbers(gold), _numbers(predicted)
    if left is None or right is None:
        return equal_codes(gold, predicted, params)
    margin = np.full_like(left, params.get("tolerance", 0.001))
    if params.get("mode", "relative") == "relative":
        margin *= np.abs(left)
    margin *= 1 + 1e-9
    near = ((left - margin)[:, None] <= right) & (right <= (left + margin)[:, None])
    return near, near


def _numbers(values: Sequence[Any]) -> NDArray[np.float64] | None:
    """Read the values as numbers; None unless all of them are."""
    numbers = [as_number(v) for v in values]
    try:
        return None if None in numbers else np.array(numbers, np.float64)
    except OverflowError:
        return None


def similar_texts(gold: Sequence[Any], predicted: Sequence[Any], _: Mapping[str, Any]) -> Estimated:
    """Compare short texts by characters, long ones by their words."""
    left, right = ([json_text(v).casefold() for v in side] for side in (gold, predicted))
    if sum(sum(map(len, side)) / len(side) for side in (left, right)) > 2 * _LONG_TEXT:
        return _bags(*([_words(text) for text in side] for side in (left, right)))
    similar = _by_characters(left, right)
    return similar, similar >= _LIKELY_TEXT


def _by_characters(left: list[str], right: list[str], cutoff: float = _CUTOFF) -> Matrix:
    """Compare texts by characters.

    In long columns, texts that occur on both sides are not compared with each other: most of them
    belong to the items that have the same text.
    """
    compare = partial(
        cdist,
        scorer=Levenshtein.normalized_similarity,
        score_cutoff=cutoff,
        dtype=np.float32,
    )
    if len(left) * len(right) <= _SPARSE:
        return compare(left, right)
    similar = _same(left, right).astype(np.float32)
    rows, columns = _on_one_side(left, right)
    shared = sorted(set(range(len(left))).difference(rows))
    for block in ((rows, range(len(right))), (shared, columns)):
        if block[0] and block[1]:
            texts = [
                [side[n] for n in some] for side, some in zip((left, right), block, strict=True)
            ]
            similar[np.ix_(*block)] = compare(*texts)
    return similar


def _on_one_side(left: list[str], right: list[str]) -> tuple[list[int], list[int]]:
    """Return the indices of texts that do not occur on the other side."""
    ours, theirs = set(left), set(right)
    return (
        [i for i, text in enumerate(left) if text not in theirs],
        [j for j, text in enumerate(right) if text not in ours],
    )


def judged_texts(
    gold: Sequence[Any], predicted: Sequence[Any], params: Mapping[str, Any]
) -> Estimated:
    """Compare short texts by characters and by the judge's tokens, whichever is more similar.

    The judge's tokens make equal dates, quantities and initials similar; they are read of texts
    that do not occur on the other side. Long texts are compared as texts only: they share enough
    words if they have the same meaning.
    """
    texts = [[json_text(v) for v in side] for side in (gold, predicted)]
    if max(map(len, itertools.chain(*texts))) > _LONGEST_READ:
        return similar_texts(gold, predicted, params)
    left, right = ([text.casefold() for text in side] for side in texts)
    # their tokens tell texts apart that differ in more characters
    cutoff = _CUTOFF if len(left) * len(right) <= _SPARSE else _CUTOFF_OF_MANY
    similar = _by_characters(left, right, cutoff)
    unpaired = _on_one_side(left, right)
    if all(unpaired):
        tokens = [
            [_judge_tokens(side[i]) for i in some]
            for side, some in zip(texts, unpaired, strict=True)
        ]
        block = np.ix_(*unpaired)
        similar[block] = np.maximum(similar[block], _bags(*tokens)[0])
    return similar, similar >= _LIKELY_TEXT


def _judge_tokens(text: str) -> list[str]:
    """Return the judge's tokens of a text, and their initials; of a date all its readings."""
    tokens = []
    for token in prepare(text).tokens:
        is_date = token[0] == "@"
        tokens += ["@" + r for r in token[1:].split("~")] if is_date else [token, "^" + token[0]]
    return tokens


def similar_bags(gold: Sequence[Any], predicted: Sequence[Any], _: Mapping[str, Any]) -> Estimated:
    """Compare objects, arrays and long texts by the words of all their values."""
    return _bags(*([_words(" ".join(leaf_texts(v))) for v in side] for side in (gold, predicted)))


def _words(text: str) -> list[str]:
    """Return the words of a text; of short texts and of very long words also the trigrams."""
    words = _WORD.findall(text.casefold())
    short = len(text) <= _SHORT_BAG
    tokens = [word for word in words if len(word) <= _LONG_WORD]
    for word in words:
        if short or len(word) > _LONG_WORD:
            tokens += [word[i : i + 3] for i in range(len(word) - 2)]
    return tokens or [text]


def _bags(one: Sequence[Sequence[str]], two: Sequence[Sequence[str]]) -> Estimated:
    """Return the cosines of the tf-idf vectors of texts, which are given as tokens."""
    from scipy.sparse import csr_matrix

    bags = [Counter(words) for words in (*one, *two)]
    numbers: defaultdict[str, int] = defaultdict(itertools.count().__next__)
    codes = np.array([numbers[token] for bag in bags for token in bag], np.int32)
    times = np.array([n for bag in bags for n in bag.values()], np.float64)
    weights = np.array([math.log((1 + len(bags)) / (n + 1)) + 0.01 for n in range(len(bags))])
    values = times * weights[np.bincount(codes) - 1][codes]
    rows = np.repeat(np.arange(len(bags)), [len(bag) for bag in bags])
    values /= np.sqrt(np.bincount(rows, values * values))[rows]
    vectors = csr_matrix((values.astype(np.float32), (rows, codes)), (len(bags), len(numbers)))
    left, right = vectors[: len(one)], vectors[len(one) :].T.tocsr()
    similar = np.empty((len(one), len(two)), np.float32)
    for start in range(0, len(one), _ROWS):  # a sparse product takes much memory
        similar[start : start + _ROWS] = (left[start : start + _ROWS] @ right).toarray()
    np.clip(similar, 0.0, 1.0, out=similar)
    return similar, similar >= _LIKELY_BAG
