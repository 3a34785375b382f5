"""Estimates of a metric for all pairs of many values, vectorised.

A metric declares one where it is registered. In large arrays the estimate chooses which items are
compared by the metric itself; no score that is reported comes from it.
"""

from __future__ import annotations

import itertools
import math
import re
from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from rapidfuzz.distance import Levenshtein
from rapidfuzz.process import cdist

from extractbench_nb.core.text.quantities import as_number
from extractbench_nb.core.text.word_tokens import prepare
from extractbench_nb.core.values.json_values import json_text, leaf_texts

Matrix = NDArray[np.float32]
Flags = NDArray[np.bool_]
#: Similarity in [0, 1] of all pairs of values, gold by predicted, and which are likely to pass.
Estimated = tuple[Matrix | Flags, Flags]

#: Similarity of texts by characters, and of bags of words, from which a pass is likely.
_LIKELY_TEXT, _LIKELY_BAG = 0.9, 0.8
_CUTOFF = 0.3
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
    codes: dict[str, int] = {}
    left, right = (
        np.array([codes.setdefault(_code(v), len(codes)) for v in side])
        for side in (gold, predicted)
    )
    same = left[:, None] == right
    return same, same


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


def _by_characters(left: list[str], right: list[str]) -> Matrix:
    similar: Matrix = cdist(
        left,
        right,
        scorer=Levenshtein.normalized_similarity,
        score_cutoff=_CUTOFF,
        dtype=np.float32,
    )
    return similar


def judged_texts(
    gold: Sequence[Any], predicted: Sequence[Any], params: Mapping[str, Any]
) -> Estimated:
    """Compare short texts by characters and by the judge's tokens, whichever is more similar.

    The judge's tokens make equal dates, quantities and initials similar. Long texts are compared
    as texts only: they share enough words if they mean the same.
    """
    left, right = ([json_text(v) for v in side] for side in (gold, predicted))
    if max(map(len, (*left, *right))) > _LONGEST_READ:
        return similar_texts(gold, predicted, params)
    similar = _by_characters(*([text.casefold() for text in side] for side in (left, right)))
    by_tokens, _ = _bags(*([_judge_tokens(text) for text in side] for side in (left, right)))
    np.maximum(similar, by_tokens, out=similar)
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
