"""Estimated similarity of all pairs of items of a large array, computed by columns.

Each field of the items is a column. Codes and numbers are compared by equality, short texts by
rapidfuzz, long texts and nested arrays as bags of tokens (cosine of tf-idf vectors). The result
only proposes pairs; the declared metrics then run on these.
"""

from __future__ import annotations

import itertools
import math
import re
from collections import Counter, defaultdict
from collections.abc import Callable, Sequence
from functools import cache
from typing import Any, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray
from rapidfuzz.distance import Levenshtein
from rapidfuzz.process import cdist, cpdist

from extractbench_nb.core.field_metrics.number_metrics import as_number
from extractbench_nb.core.pairing import pair_up
from extractbench_nb.core.schema.evaluation_config import NodeConfig
from extractbench_nb.core.schema.schema_nodes import MISSING, Node, Unusable
from extractbench_nb.core.similarity import MapItem, text_of
from extractbench_nb.core.text.word_tokens import prepare
from extractbench_nb.core.values.json_values import json_text, json_type

Matrix = NDArray[np.float32]
Flags = NDArray[np.bool_]
Indices = NDArray[np.int64]
Codes = NDArray[np.int32]

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
_TOKEN = re.compile(r"\w+")
_LONG_TOKEN = 20
_FEW_PAIRS = 256
_ROWS = 512
_SHORT_BAG = 200


def proxy_matrix(node: Node, gold: Sequence[Any], predicted: Sequence[Any]) -> tuple[Matrix, Flags]:
    """Estimate similarity, and which pairs are likely to match, for all pairs of items."""
    return Estimate(node, gold, predicted).block(np.arange(len(gold)), np.arange(len(predicted)))


class Estimate:
    """Estimated similarity of pairs of items, and which pairs are likely to match.

    Values are read and weighted once, over all items, so that a part of the matrix is equal to that
    part of the whole.
    """

    def __init__(self, node: Node, gold: Sequence[Any], predicted: Sequence[Any]) -> None:
        ours, theirs = _columns(node, gold, True), _columns(node, predicted, False)
        self._fields = []
        for name in dict.fromkeys((*ours, *theirs)):
            column = ours.get(name) or theirs[name]
            left = ours[name].values if name in ours else {}
            right = theirs[name].values if name in theirs else {}
            positions = _positions(left, len(gold)), _positions(right, len(predicted))
            compared = None
            if left and right:
                compare = _COMPARE[column.kind]
                compared = compare(column.node, list(left.values()), list(right.values()))
            self._fields.append((*positions, compared))
        self._sides = gold, predicted
        self._kinds = [np.array([_container(item) for item in side]) for side in self._sides]
        self._whole: _Cosines | None = None

    def block(
        self, rows: Indices, columns: Indices, *, upper: bool = False
    ) -> tuple[Matrix, Flags]:
        """Estimate similarity, and which pairs are likely to match, for these items.

        With `upper`, short texts count as equal, which saves most of the time: see `loss`.
        """
        shape = (len(rows), len(columns))
        total, count = np.zeros(shape, np.float32), np.zeros(shape, np.float32)
        likely = np.ones(shape, np.bool_)
        for left, right, compared in self._fields:
            ours, theirs = left[rows], right[columns]
            in_gold, in_predicted = ours >= 0, theirs >= 0
            all_items = in_gold.all() and in_predicted.all()
            if compared is not None and in_gold.any() and in_predicted.any():
                block = ... if all_items else np.ix_(in_gold, in_predicted)  # faster without
                if upper and isinstance(compared, _Texts):
                    total[block] += 1.0
                else:
                    similar, passes = compared(ours[in_gold], theirs[in_predicted])
                    total[block] += similar
                    likely[block] &= passes
            if all_items:
                count += 1.0
            else:
                count += in_gold[:, None] | in_predicted
                likely &= in_gold[:, None] == in_predicted
        np.divide(total, count, out=total, where=count > 0)
        total[count == 0] = 1.0
        # where one item is a container and the other is not, they are compared as texts
        differ = self._kinds[0][rows][:, None] != self._kinds[1][columns]
        if differ.any():
            if self._whole is None:
                texts = [[text_of(item) for item in side] for side in self._sides]
                self._whole = _Cosines(*([_tokens(text) for text in side] for side in texts))
            total[differ] = self._whole(rows, columns)[differ]
            likely[differ] = False
        return total, likely

    @property
    def has_bounds(self) -> bool:
        """Whether an upper `block` is found faster, and tells pairs apart."""
        kinds = [isinstance(field, _Texts) for _, _, field in self._fields if field is not None]
        return any(kinds) and not all(kinds)

    def loss(self, rows: Indices, columns: Indices) -> tuple[NDArray[np.float64], Flags]:
        """Return how much an upper `block` may exceed these pairs, and where texts are likely."""
        unlike, count = np.zeros(len(rows)), np.zeros(len(rows))
        likely = np.ones(len(rows), np.bool_)
        for left, right, compared in self._fields:
            ours, theirs = left[rows], right[columns]
            count += (ours >= 0) | (theirs >= 0)
            both = np.flatnonzero((ours >= 0) & (theirs >= 0))
            if isinstance(compared, _Texts) and both.size:
                similar = compared.by_characters(ours[both], theirs[both])
                unlike[both] += 1.0 - similar
                likely[both] &= similar >= _LIKELY_TEXT
        return unlike / np.maximum(count, 1.0), likely


def _positions(values: dict[int, Any], size: int) -> Indices:
    """Return for each item the position of its value among the values; -1 if it has none."""
    positions = np.full(size, -1)
    positions[list(values)] = np.arange(len(values))
    return positions


def _container(item: Any) -> int:
    return _CONTAINERS.get(json_type(item.item if isinstance(item, MapItem) else item), 0)


_CONTAINERS = {"object": 1, "array": 2}


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
                config = point.node.config
                if config is not None and config.accepted:
                    value = _first_of_class(config, value)
                column = Column(_kind(point.node, value), point.node, {})
                columns.setdefault(point.suffix or "item", column).values[row] = value
    return columns


def _first_of_class(config: NodeConfig, value: Any) -> Any:
    """Return the first of the values that the schema declares to mean the same."""
    if isinstance(value, dict | list):
        return value
    classes = (members for members in config.accepted if value in members)
    return next((m for m in next(classes, (value,)) if m is not None), value)


def _kind(node: Node, value: Any) -> str:
    if node.kind == "array" or isinstance(value, dict | list):
        return "bag"
    metric = node.config.metrics[0].metric_id if node.config is not None else "string_semantic"
    return _KINDS.get(metric, "text")


#: Compares values by their position in a column: similarity of all pairs, and likely matches.
Block: TypeAlias = Callable[[Indices, Indices], tuple[Matrix | Flags, Flags]]


def _equal(_: Node, gold: list[Any], predicted: list[Any]) -> Block:
    """Compare codes, numbers and names: the same or not."""
    codes: dict[str, int] = {}
    left, right = (
        np.array([codes.setdefault(_code(v), len(codes)) for v in side])
        for side in (gold, predicted)
    )

    def block(rows: Indices, columns: Indices) -> tuple[Flags, Flags]:
        same = left[rows][:, None] == right[columns]
        return same, same

    return block


def _code(value: Any) -> str:
    number = as_number(value)
    return repr(number + 0.0) if isinstance(number, float) else json_text(value).casefold().strip()


def _near(node: Node, gold: list[Any], predicted: list[Any]) -> Block:
    """Compare numbers by the tolerance; if any value is not a number, all as codes."""
    left, right = _numbers(gold), _numbers(predicted)
    if left is None or right is None:
        return _equal(node, gold, predicted)
    params = node.config.metrics[0].params if node.config is not None else {}
    margin = np.full_like(left, params.get("tolerance", 0.001))
    if params.get("mode", "relative") == "relative":
        margin *= np.abs(left)

    def block(rows: Indices, columns: Indices) -> tuple[Flags, Flags]:
        gap = np.abs(left[rows][:, None] - right[columns])
        near = gap <= margin[rows][:, None] * (1 + 1e-9)
        return near, near

    return block


def _numbers(values: list[Any]) -> NDArray[np.float64] | None:
    """Read the values as numbers; None unless all of them are."""
    numbers = [as_number(v) for v in values]
    try:
        return None if None in numbers else np.array(numbers, np.float64)
    except OverflowError:
        return None


class _Texts:
    """Short texts, by characters and, if given, by tokens, whichever is more similar."""

    def __init__(
        self, left: _Values, right: _Values, tokens: Callable[[], _Cosines] | None = None
    ) -> None:
        self.left, self.right = left, right
        self._tokens = cache(tokens) if tokens is not None else None

    def __call__(self, rows: Indices, columns: Indices) -> tuple[Matrix, Flags]:
        ours, back = np.unique(self.left.codes[rows], return_inverse=True)
        theirs, again = np.unique(self.right.codes[columns], return_inverse=True)
        similar: Matrix = cdist(self.left.of(ours), self.right.of(theirs), **_BY_CHARACTERS)
        if self._tokens is not None:
            np.maximum(similar, self._tokens()(ours, theirs), out=similar)
        similar = similar[np.ix_(back, again)]
        return similar, similar >= _LIKELY_TEXT

    def by_characters(self, rows: Indices, columns: Indices) -> Matrix:
        """Return the similarity by characters of single pairs of values."""
        one, two = self.left.of(self.left.codes[rows]), self.right.of(self.right.codes[columns])
        found: Matrix = cpdist(one, two, **_BY_CHARACTERS)
        return found


_BY_CHARACTERS: dict[str, Any] = {
    "scorer": Levenshtein.normalized_similarity,
    "score_cutoff": _CUTOFF,
    "dtype": np.float32,
}


def _by_text(_: Node, gold: list[Any], predicted: list[Any]) -> Block:
    left, right = (_unique([json_text(v).casefold() for v in side]) for side in (gold, predicted))
    length = sum(sum(map(len, side.texts)) / len(side.texts) for side in (left, right))
    return _bags(left, right) if length > 2 * _SHORT_TEXT else _Texts(left, right)


def _by_judge(node: Node, gold: list[Any], predicted: list[Any]) -> Block:
    """Compare short texts by characters and by the judge's tokens, whichever is more similar.

    The judge's tokens make equal dates, quantities and initials similar. Long texts are compared
    as texts only: they share enough words if they mean the same.
    """
    sides = [_unique([json_text(v) for v in side]) for side in (gold, predicted)]
    if max(len(text) for side in sides for text in side.texts) > _LONGEST_READ:
        return _by_text(node, gold, predicted)
    left, right = (s._replace(texts=[text.casefold() for text in s.texts]) for s in sides)
    return _Texts(left, right, lambda: _Cosines(*(_judge_tokens(side.texts) for side in sides)))


def _judge_tokens(texts: Sequence[str]) -> list[list[str]]:
    """Return the judge's tokens of each text, and their initials."""
    return [[part for token in prepare(text).tokens for part in _parts(token)] for text in texts]


def _parts(token: str) -> list[str]:
    if token[0] == "@":  # a date, with both its readings where there are two
        return ["@" + reading for reading in token[1:].split("~")]
    return [token, "^" + token[0]]


class _Values(NamedTuple):
    """Texts, and for each value of a field its position among them."""

    texts: list[str]
    codes: Indices

    def of(self, codes: Indices) -> list[str]:
        return [self.texts[code] for code in codes.tolist()]


def _unique(texts: list[str]) -> _Values:
    positions: dict[str, int] = {}
    codes = np.array([positions.setdefault(text, len(positions)) for text in texts], np.int64)
    return _Values(list(positions), codes)


def _bags(left: _Values, right: _Values) -> Block:
    """Compare long texts and nested arrays as bags of tokens."""
    cosines = _Cosines(*([_tokens(text) for text in side.texts] for side in (left, right)))

    def block(rows: Indices, columns: Indices) -> tuple[Matrix, Flags]:
        similar = cosines(left.codes[rows], right.codes[columns])
        return similar, similar >= _LIKELY_BAG

    return block


def _by_bag(_: Node, gold: list[Any], predicted: list[Any]) -> Block:
    left, right = ([text_of(v) for v in side] for side in (gold, predicted))
    return _bags(_Values(left, np.arange(len(left))), _Values(right, np.arange(len(right))))


_COMPARE: dict[str, Callable[[Node, list[Any], list[Any]], Block]] = {
    "equality": _equal,
    "number": _near,
    "text": _by_text,
    "judged": _by_judge,
    "bag": _by_bag,
}


class _Cosines:
    """Cosine of the tf-idf vectors of texts, which are given as tokens."""

    def __init__(self, one: Sequence[Sequence[str]], two: Sequence[Sequence[str]]) -> None:
        values, codes, starts = _unit_bags((*one, *two))
        self.all: Matrix | None = None
        if len(one) * len(two) <= _FEW_PAIRS:  # the first use of scipy.sparse takes long
            bags = [
                dict(zip(codes[start:end].tolist(), values[start:end].tolist(), strict=True))
                for start, end in itertools.pairwise(starts.tolist())
            ]
            right = bags[len(one) :]
            rows = [
                [sum(v * b[t] for t, v in a.items() if t in b) for b in right]
                for a in bags[: len(one)]
            ]
            self.all = np.array(rows, np.float32).reshape(len(one), len(two))
        else:
            from scipy.sparse import csr_matrix

            shape = len(starts) - 1, int(codes.max(initial=0)) + 1
            matrix = csr_matrix((values.astype(np.float32), codes, starts), shape=shape)
            self.left, self.right = matrix[: len(one)], matrix[len(one) :]

    def __call__(self, rows: Indices, columns: Indices) -> Matrix:
        if self.all is not None:
            similar = self.all[np.ix_(rows, columns)]
        else:
            similar = np.empty((len(rows), len(columns)), np.float32)
            right = self.right[columns].T.tocsr()
            for start in range(0, len(rows), _ROWS):  # a sparse product takes much memory
                part = rows[start : start + _ROWS]
                similar[start : start + _ROWS] = (self.left[part] @ right).toarray()
        return np.clip(similar, 0.0, 1.0, out=similar)


def _unit_bags(tokens: Sequence[Sequence[str]]) -> tuple[NDArray[np.float64], Codes, Codes]:
    """Return the tf-idf vectors of texts, scaled to length 1, as the rows of a sparse matrix.

    These are the values that are not 0, the number of the token of each, and where each row starts.
    """
    bags = [Counter(words) for words in tokens]
    numbers: defaultdict[str, int] = defaultdict(itertools.count().__next__)
    codes = np.array([numbers[token] for bag in bags for token in bag], np.int32)
    times = np.array([n for bag in bags for n in bag.values()], np.float64)
    sizes = np.array([len(bag) for bag in bags])
    weights = np.array([math.log((1 + len(bags)) / (n + 1)) + 0.01 for n in range(len(bags))])
    values = times * weights[np.bincount(codes) - 1][codes]
    rows = np.repeat(np.arange(len(bags)), sizes)
    values /= np.sqrt(np.bincount(rows, values * values))[rows]
    return values, codes, np.concatenate([[0], np.cumsum(sizes)]).astype(np.int32)


def _tokens(text: str) -> list[str]:
    """Return the words of a text; of short texts and of very long words also the trigrams."""
    words = _TOKEN.findall(text.casefold())
    short = len(text) <= _SHORT_BAG
    tokens = [word for word in words if len(word) <= _LONG_TOKEN]
    for word in words:
        if short or len(word) > _LONG_TOKEN:
            tokens += [word[i : i + 3] for i in range(len(word) - 2)]
    return tokens or [text]
