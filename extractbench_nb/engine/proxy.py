"""Estimated similarity of all pairs of items of a large array, computed by columns.

Each field of the items is a column. Codes and numbers are compared by equality, short texts by
rapidfuzz, long texts and nested arrays as bags of tokens (cosine of tf-idf vectors). The result
only proposes pairs; the declared metrics then run on these.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from rapidfuzz.distance import Levenshtein
from rapidfuzz.process import cdist

from extractbench_nb._json import json_text, json_type
from extractbench_nb.engine.pairing import pair_up
from extractbench_nb.engine.similarity import MapItem, text_of
from extractbench_nb.field_metrics.numbers import as_number
from extractbench_nb.language.tokens import prepare
from extractbench_nb.schema.nodes import MISSING, Node, Unusable

Matrix = NDArray[np.float32]
Flags = NDArray[np.bool_]

#: How the values of a metric's column are compared; any other metric: as texts.
_KINDS = {
    "string_exact": "equality",
    "string_case_insensitive": "equality",
    "number_exact": "equality",
    "integer_exact": "equality",
    "boolean_exact": "equality",
    "number_tolerance": "number",
    "string_semantic": "judged",
    "string_llm": "judged",
    "string_normalized": "judged",
    "date": "judged",
}
_LONGEST_READ = 120
_SHORT_TEXT = 64
_LIKELY_TEXT = 0.9
_LIKELY_BAG = 0.8
_CUTOFF = 0.3
_WORD = 64
_TOKEN = re.compile(r"\w+")
_LONG_TOKEN = 20
_FEW_PAIRS = 256
_SHORT_BAG = 200


def proxy_matrix(node: Node, gold: Sequence[Any], predicted: Sequence[Any]) -> tuple[Matrix, Flags]:
    """Estimate similarity, and which pairs are likely to match, for all pairs of items."""
    shape = (len(gold), len(predicted))
    total, count = np.zeros(shape, np.float32), np.zeros(shape, np.float32)
    likely = np.ones(shape, np.bool_)
    ours, theirs = _columns(node, gold, True), _columns(node, predicted, False)
    for name in dict.fromkeys((*ours, *theirs)):
        column = ours.get(name) or theirs[name]
        gold_values = ours[name].values if name in ours else {}
        predicted_values = theirs[name].values if name in theirs else {}
        _add_column(column, gold_values, predicted_values, total, count, likely)
    np.divide(total, count, out=total, where=count > 0)
    total[count == 0] = 1.0
    # where one item is a container and the other is not, they are compared as texts
    kinds = [np.array([_container(item) for item in side]) for side in (gold, predicted)]
    differ = kinds[0][:, None] != kinds[1][None, :]
    if differ.any():
        texts = [[text_of(item) for item in side] for side in (gold, predicted)]
        total[differ] = bag_similarity(*texts)[differ]
        likely[differ] = False
    return total, likely


def _container(item: Any) -> str:
    kind = json_type(item.item if isinstance(item, MapItem) else item)
    return kind if kind in ("object", "array") else "scalar"


class Column(NamedTuple):
    """One field of the items: how its values are compared, its node, and the values by row."""

    kind: str
    node: Node
    values: dict[int, Any]


def _columns(node: Node, items: Sequence[Any], is_gold: bool) -> dict[str, Column]:
    """Spread items over columns, by path within the item."""
    columns: dict[str, Column] = {}
    for row, entry in enumerate(items):
        item = entry
        if isinstance(entry, MapItem):
            columns.setdefault("key", Column("judged", node, {})).values[row] = entry.key
            item = entry.item
        if json_type(item) not in node.types and node.types and isinstance(item, str):
            columns.setdefault("whole", Column("bag", node, {})).values[row] = item
            continue
        pair = (item, MISSING) if is_gold else (MISSING, item)
        for point in pair_up(node, *pair):
            value = point.gold if is_gold else point.predicted
            if value is not MISSING and value is not None and not isinstance(value, Unusable):
                column = Column(_kind(point.node, value), point.node, {})
                columns.setdefault(point.suffix or "item", column).values[row] = value
    return columns


def _kind(node: Node, value: Any) -> str:
    if node.kind == "array" or isinstance(value, dict | list):
        return "bag"
    metric = node.config.metrics[0].metric_id if node.config is not None else "string_semantic"
    return _KINDS.get(metric, "text")


def _add_column(
    column: Column,
    gold: dict[int, Any],
    predicted: dict[int, Any],
    total: Matrix,
    count: Matrix,
    likely: Flags,
) -> None:
    """Add the similarity of a column to the matrices in place; values are given by item index."""
    in_gold, in_predicted = np.zeros(total.shape[0], bool), np.zeros(total.shape[1], bool)
    in_gold[list(gold)], in_predicted[list(predicted)] = True, True
    if gold and predicted:
        compare = _COMPARE[column.kind]
        similar, passes = compare(column.node, list(gold.values()), list(predicted.values()))
        rows, cols = np.fromiter(gold, int), np.fromiter(predicted, int)
        all_items = len(rows) == total.shape[0] and len(cols) == total.shape[1]
        block = ... if all_items else np.ix_(rows, cols)  # faster without an index
        total[block] += similar
        likely[block] &= passes
    count += in_gold[:, None] | in_predicted[None, :]
    likely &= ~(in_gold[:, None] ^ in_predicted[None, :])


def _by_equality(_: Node, gold: list[Any], predicted: list[Any]) -> tuple[Matrix, Flags]:
    codes: dict[str, int] = {}
    left, right = (
        np.array([codes.setdefault(_code(v), len(codes)) for v in side])
        for side in (gold, predicted)
    )
    same = left[:, None] == right[None, :]
    return same.astype(np.float32), same


def _code(value: Any) -> str:
    number = as_number(value)
    return repr(number + 0.0) if isinstance(number, float) else json_text(value).casefold().strip()


def _by_number(node: Node, gold: list[Any], predicted: list[Any]) -> tuple[Matrix, Flags]:
    left, right = _numbers(gold), _numbers(predicted)
    if left is None or right is None:
        return _by_equality(node, gold, predicted)
    params = node.config.metrics[0].params if node.config is not None else {}
    gap = np.abs(left[:, None] - right[None, :])
    margin = np.full_like(left, params.get("tolerance", 0.001))
    if params.get("mode", "relative") == "relative":
        margin *= np.abs(left)
    near = gap <= margin[:, None] * (1 + 1e-9)
    return near.astype(np.float32), near


def _numbers(values: list[Any]) -> NDArray[np.float64] | None:
    """Read the values as numbers; None unless all of them are."""
    numbers = [as_number(v) for v in values]
    try:
        return None if None in numbers else np.array(numbers, np.float64)
    except OverflowError:
        return None


def _by_text(_: Node, gold: list[Any], predicted: list[Any]) -> tuple[Matrix, Flags]:
    left, rows = _unique([json_text(v).casefold() for v in gold])
    right, columns = _unique([json_text(v).casefold() for v in predicted])
    length = sum(map(len, left)) / len(left) + sum(map(len, right)) / len(right)
    if length > 2 * _SHORT_TEXT:
        similar = bag_similarity(left, right)
        threshold = _LIKELY_BAG
    else:
        similar = _levenshtein(left, right)
        threshold = _LIKELY_TEXT
    if len(left) < len(gold) or len(right) < len(predicted):
        similar = similar[np.ix_(rows, columns)]
    return similar, similar >= threshold


def _levenshtein(one: Sequence[str], two: Sequence[str]) -> Matrix:
    """Compare all texts; those that fit a machine word apart from longer ones.

    rapidfuzz compares many texts at a time where none of the first argument is longer than that,
    which is ten times as fast.
    """
    long = np.fromiter((len(text) > _WORD for text in one), np.bool_, len(one))
    if long.all():
        if any(len(text) <= _WORD for text in two):
            return _levenshtein(two, one).T
    elif long.any():
        similar = np.empty((len(one), len(two)), np.float32)
        for rows in (np.flatnonzero(long), np.flatnonzero(~long)):
            similar[rows] = _levenshtein([one[row] for row in rows.tolist()], two)
        return similar
    scorer = Levenshtein.normalized_similarity
    return cdist(one, two, scorer=scorer, score_cutoff=_CUTOFF, dtype=np.float32)


def _by_judge(node: Node, gold: list[Any], predicted: list[Any]) -> tuple[Matrix, Flags]:
    """Compare short texts by characters and by the judge's tokens, whichever is more similar.

    The judge's tokens make equal dates, quantities and initials similar. Long texts are compared
    as texts only: they share enough words if they mean the same.
    """
    left, rows = _unique([json_text(v) for v in gold])
    right, columns = _unique([json_text(v) for v in predicted])
    if max(map(len, (*left, *right))) > _LONGEST_READ:
        return _by_text(node, gold, predicted)
    lower = [[text.casefold() for text in side] for side in (left, right)]
    similar = np.maximum(_levenshtein(*lower), _cosine(_judge_tokens(left), _judge_tokens(right)))
    similar = similar[np.ix_(rows, columns)]
    return similar, similar >= _LIKELY_TEXT


def _judge_tokens(texts: Sequence[str]) -> list[list[str]]:
    """Return the judge's tokens of each text, and their initials."""
    return [[part for token in prepare(text).tokens for part in _parts(token)] for text in texts]


def _parts(token: str) -> list[str]:
    if token[0] == "@":  # a date, with both its readings where there are two
        return ["@" + reading for reading in token[1:].split("~")]
    return [token, "^" + token[0]]


def _unique(texts: list[str]) -> tuple[list[str], NDArray[np.int64]]:
    """Return the distinct texts, and for each text its position among them."""
    positions: dict[str, int] = {}
    codes = np.array([positions.setdefault(text, len(positions)) for text in texts], np.int64)
    return list(positions), codes


def _by_bag(_: Node, gold: list[Any], predicted: list[Any]) -> tuple[Matrix, Flags]:
    left, right = [text_of(v) for v in gold], [text_of(v) for v in predicted]
    similar = bag_similarity(left, right)
    return similar, similar >= _LIKELY_BAG


_COMPARE = {
    "equality": _by_equality,
    "number": _by_number,
    "text": _by_text,
    "judged": _by_judge,
    "bag": _by_bag,
}


def bag_similarity(one: Sequence[str], two: Sequence[str]) -> Matrix:
    """Cosine of tf-idf token vectors for all pairs of texts."""
    return _cosine([_tokens(text) for text in one], [_tokens(text) for text in two])


def _cosine(one: Sequence[Sequence[str]], two: Sequence[Sequence[str]]) -> Matrix:
    bags = _unit_bags((*one, *two))
    left, right = bags[: len(one)], bags[len(one) :]
    if len(one) * len(two) <= _FEW_PAIRS:
        rows = [[sum(v * b[t] for t, v in a.items() if t in b) for b in right] for a in left]
        similar: Matrix = np.array(rows, np.float32).reshape(len(one), len(two))
    else:
        codes = {token: i for i, token in enumerate({t: None for bag in bags for t in bag})}
        product = _sparse(left, codes) @ _sparse(right, codes).T
        similar = np.asarray(product.toarray(), dtype=np.float32)
    return np.clip(similar, 0.0, 1.0, out=similar)


def _unit_bags(tokens: Sequence[Sequence[str]]) -> list[dict[str, float]]:
    """Return the tf-idf vectors of texts, scaled to length 1."""
    counts = [Counter(words) for words in tokens]
    seen_in = Counter(token for bag in counts for token in bag)
    weight = {t: math.log((1 + len(counts)) / n) + 0.01 for t, n in seen_in.items()}
    bags = []
    for bag in counts:
        values = {t: n * weight[t] for t, n in bag.items()}
        norm = math.sqrt(sum(v * v for v in values.values())) or 1.0
        bags.append({t: v / norm for t, v in values.items()})
    return bags


def _sparse(bags: Sequence[dict[str, float]], codes: dict[str, int]) -> Any:
    """Write vectors as the rows of a sparse matrix; `codes` gives each token its column."""
    from scipy.sparse import csr_matrix

    columns = [codes[token] for bag in bags for token in bag]
    data = [value for bag in bags for value in bag.values()]
    starts = np.cumsum([0, *(len(bag) for bag in bags)])
    arrays = (np.array(data, np.float32), np.array(columns, np.int32), starts.astype(np.int32))
    return csr_matrix(arrays, shape=(len(bags), max(1, len(codes))))


def _tokens(text: str) -> list[str]:
    """Return the words of a text; of short texts and of very long words also the trigrams."""
    words = _TOKEN.findall(text.casefold())
    short = len(text) <= _SHORT_BAG
    tokens = [word for word in words if len(word) <= _LONG_TOKEN]
    for word in words:
        if short or len(word) > _LONG_TOKEN:
            tokens.extend(word[i : i + 3] for i in range(len(word) - 2))
    return tokens or [text]
