"""Optimal one-to-one assignment of predicted items to gold items.

It maximises first the number of matched pairs, then the total similarity. Pairs that do not match
and are less alike than `align_threshold` take no part. Ties are broken by the items' canonical
JSON, never by position, so that shuffling either side changes no score. Small arrays are solved
exactly on the declared metrics. In large arrays equal items are paired first; the estimates that
the metrics declare propose the other pairs, and the metrics themselves compare these.
"""

from __future__ import annotations

import itertools
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cache
from importlib.machinery import PathFinder
from importlib.util import module_from_spec
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from extractbench_nb.core.accepted import class_members
from extractbench_nb.core.field_metrics.estimates import (
    Estimated,
    Flags,
    Matrix,
    judged_texts,
    similar_bags,
)
from extractbench_nb.core.pairing import pair_up
from extractbench_nb.core.profile_rules import Profile
from extractbench_nb.core.schema.schema_nodes import MISSING, Node
from extractbench_nb.core.scoring import Scorer
from extractbench_nb.core.similarity import ItemComparer, MapItem, pass_threshold
from extractbench_nb.core.text.offline_judge import OfflineJudge
from extractbench_nb.core.values import canonical, canonical_unordered, json_type
from extractbench_nb.errors import ConfigError, nearest

#: Comparisons of scalars up to which an array is solved on the declared metrics.
EXACT = 640
#: Beyond that, at most so many of the likeliest partners are compared for each item that the
#: estimate left without a match, and so many comparisons are spent on all of them.
SECOND_LOOK = 5
SECOND_LOOK_COMPARISONS = 8_000
#: Comparisons within one pair of items beyond which there is no second look.
LARGE_PAIR = 50
#: Pairs of items with accepted alternatives up to which all of them are compared.
ALTERNATIVE_PAIRS = 20_000
#: Pairs of items up to which all pairs are estimated at once (4 matrices of 4 bytes a pair).
DENSE_PAIRS = 16_000_000
#: Candidates of each item that are kept beyond that.
CANDIDATES = 30
#: Pairs of items without equal keys up to which all of their keys are compared.
KEY_PAIRS = 10_000
#: Candidates less alike than this are not worth a comparison.
HOPELESS = 0.2
#: What a pair is worth that takes part although it has nothing in common.
_TINY = 1e-9

Pairs = list[tuple[int, int]]
#: Items by their index, in the order of their canonical texts.
Items = dict[int, Any]


class OptimalAligner(ItemComparer):
    """Optimal one-to-one alignment of the items of arrays, ``alignment="optimal"``.

    Called with the node of an array, gold's items and the predicted items, it returns the pairs of
    their indices, ascending. See the decision record ``two-stage-alignment`` for large arrays.

    Parameters
    ----------
    scorer : Scorer
        Scores item fields by the metrics of the schema and the rules of a profile.

    Attributes
    ----------
    pairs_by_key : dict
        The pairs of items that were aligned by their keys; by the node of the array and the ids of
        gold's and the predicted items.
    """

    name = "optimal"

    def __init__(self, scorer: Scorer) -> None:
        super().__init__(scorer)
        self._aligned: dict[tuple[Node, int, int], Pairs] = {}
        self.pairs_by_key: dict[tuple[Node, int, int], Pairs] = {}
        self._sides: dict[int, Side] = {}
        self._texts: dict[int, str] = {}
        self._sizes: dict[int, int] = {}

    @classmethod
    def offline(cls, profile: Profile) -> OptimalAligner:
        """Return an aligner that compares texts with the offline judge, by a profile's rules."""
        return cls(Scorer(profile, OfflineJudge()))

    def __call__(self, node: Node, gold: Sequence[Any], predicted: Sequence[Any]) -> Pairs:
        """Align the items of one array."""
        key = (node, id(gold), id(predicted))  # the caller keeps the items alive
        pairs = self._aligned.get(key)
        if pairs is None:
            pairs = self._aligned[key] = sorted(self._pair_items(node, gold, predicted))
        return pairs

    def _pair_items(self, array: Node, gold: Sequence[Any], predicted: Sequence[Any]) -> Pairs:
        """Pair items of ``prefixItems`` by position, then by keys, all others by similarity."""
        node, prefix = array.children.items, len(array.children.prefix)
        pairs = [(i, i) for i in range(min(prefix, len(gold), len(predicted)))]
        key = array.alignment_params["key"]
        if node is None or min(len(gold), len(predicted)) <= prefix:
            return pairs
        if len(gold) == len(predicted) == prefix + 1 and not key:
            return [*pairs, (prefix, prefix)]
        for items in (gold, predicted):
            if id(items) not in self._sides:
                self._sides[id(items)] = Side.of(items, prefix, self._texts)
        (left, texts), (right, other_texts) = self._sides[id(gold)], self._sides[id(predicted)]
        if key:
            by_key = self._pair_keys(array, node, left, right)
            self.pairs_by_key[array, id(gold), id(predicted)] = by_key
            pairs, left, right = pairs + by_key, *_without(by_key, left, right)
        if not left or not right:
            return pairs
        least = pass_threshold(array, "align_threshold", 0.5)
        equal, *rest = _peel(left, right, texts, other_texts)
        if len(equal) == min(len(left), len(right)):
            return pairs + equal
        if self._is_small(node, left, right):
            # metrics with a tolerance may match more items if equal ones are not paired
            return pairs + self._solve(node, left, right, least, preferred=equal)
        left, right = rest
        if len(left) * len(right) > DENSE_PAIRS:
            others = _solve_greedily(node, left, right)
        elif self._is_small(node, left, right):
            others = self._solve(node, left, right, least)
        else:
            others = self._solve_likeliest(node, left, right, least)
        return pairs + equal + others

    def _solve(
        self,
        node: Node,
        gold: Items,
        predicted: Items,
        least: float | None,
        *,
        candidates: Iterable[Sequence[int]] | None = None,
        preferred: Iterable[tuple[int, int]] = (),
    ) -> Pairs:
        """Pair items on the declared metrics: any of them, or candidates only.

        Pairs that do not match and are less alike than `least` take no part; without it, as many
        pairs as can be do, even before matches. Of equal solutions the one with most of the
        `preferred` pairs is taken.
        """
        rows, columns = ({i: place for place, i in enumerate(side)} for side in (gold, predicted))
        worth = np.full((len(rows), len(columns)), _TINY if least == 0.0 else 0.0)
        match_bonus = 2.0 + min(worth.shape)  # more than all similarities together
        pair_bonus = (match_bonus + 1.0) ** 2 if least is None else 0.0
        for i, j in itertools.product(gold, predicted) if candidates is None else candidates:
            score, matched = self.compare(node, gold[i], predicted[j])
            if matched or least is None or score >= least:
                total = max(score, _TINY) + matched * match_bonus + pair_bonus
                worth[rows[i], columns[j]] = total
            else:
                worth[rows[i], columns[j]] = 0.0
        for i, j in preferred:
            worth[rows[i], columns[j]] += _TINY * (worth[rows[i], columns[j]] > 0.0)
        return solve(worth, gold, predicted)

    def _solve_likeliest(self, node: Node, gold: Items, predicted: Items, least: float) -> Pairs:
        """Compare the pairs that are best by the estimate, then the likeliest of those left."""
        similar, likely = estimate(node, [*gold.values()], [*predicted.values()])
        proposed = solve(similar + (2.0 + min(similar.shape)) * likely, gold, predicted)
        matched = [(i, j) for i, j in proposed if self.compare(node, gold[i], predicted[j]).matched]
        left, right = _without(matched, gold, predicted)
        if not left or not right:
            return matched
        candidates = None
        if not self._is_small(node, left, right):
            shorter = min(len(left), len(right))
            per_pair = self._comparisons(node, gold, predicted) / similar.size
            affordable = round(SECOND_LOOK_COMPARISONS / (per_pair * shorter))
            count = min(SECOND_LOOK, shorter, affordable) if per_pair <= LARGE_PAIR else 0
            among = np.ix_(*([i in some for i in side] for side, some in
                             ((gold, left), (predicted, right))))  # fmt: skip
            candidates = _likeliest(similar[among], count, left, right)
            # the estimate knows no accepted alternatives
            accepting = [i for i, item in left.items() if self.scorer.accepted.of_scalars(item)]
            if len(accepting) * len(right) <= ALTERNATIVE_PAIRS:
                candidates += itertools.product(accepting, right)
            candidates += set(proposed) - set(matched)
        return matched + self._solve(node, left, right, least, candidates=candidates)

    def _is_small(self, node: Node, gold: Items, predicted: Items) -> bool:
        """Whether all pairs of items can be compared by the declared metrics."""
        pairs = len(gold) * len(predicted)  # counted first: it takes no walk through the items
        return pairs <= EXACT and self._comparisons(node, gold, predicted) <= EXACT

    def _comparisons(self, node: Node, gold: Items, predicted: Items) -> float:
        """Estimate the comparisons of scalars that comparing all pairs of items takes.

        An item's own fields, `flat` of them, are compared one by one, the items of its arrays pair
        by pair: together about ``leaves * others / flat``.
        """
        flat = sum(c.kind != "array" for c in node.children) if node.kind == "object" else 1
        leaves, others = (
            sum([self._leaves(item) for item in side.values()]) for side in (gold, predicted)
        )
        return max(len(gold) * len(predicted), leaves * others / max(1, flat))

    def _leaves(self, value: Any) -> int:
        """Count the scalars of an item, once."""
        if not isinstance(value, dict | list | tuple):
            return 1
        if id(value) not in self._sizes:
            below = value.values() if isinstance(value, dict) else value
            self._sizes[id(value)] = sum([self._leaves(inner) for inner in below])
        return self._sizes[id(value)]

    def _pair_keys(self, array: Node, node: Node, gold: Items, predicted: Items) -> Pairs:
        """Pair items with equal keys: the same JSON, then what the metrics of the fields pass.

        An item without a value in one of the fields has no key. Of several items with one key, the
        most similar are paired.
        """
        fields = _key_fields(array, node)
        keys, other_keys = (
            {i: key for i, item in side.items() if (key := _key_of(item, fields)) is not None}
            for side in (gold, predicted)
        )

        def pair(rows: Iterable[int], columns: Iterable[int], candidates: Iterable[Any]) -> Pairs:
            sides = {i: gold[i] for i in rows}, {j: predicted[j] for j in columns}
            return self._solve(node, *sides, None, candidates=candidates)

        same: dict[str, tuple[list[int], list[int]]] = defaultdict(lambda: ([], []))
        for side, keys_of_side in enumerate((keys, other_keys)):
            for i, key in keys_of_side.items():
                same[canonical(key)][side].append(i)
        pairs: Pairs = []
        for rows, columns in same.values():
            pairs += pair(rows, columns, itertools.product(rows, columns))
        keys, other_keys = _without(pairs, keys, other_keys)
        passes = np.ones((len(keys), len(other_keys)), np.bool_)
        for n, (_, field) in enumerate(fields if passes.size else ()):
            values, others = ([key[n] for key in side.values()] for side in (keys, other_keys))
            if passes.size > KEY_PAIRS:
                passes &= _estimated(field, values, others)[1]
            for a, b in np.argwhere(passes).tolist():
                passes[a, b] = self._score_field(field, values[a], others[b]).passed
        candidates = _named(np.argwhere(passes).tolist(), keys, other_keys)
        return pairs + pair(keys, other_keys, candidates)


def _key_fields(array: Node, node: Node) -> list[tuple[str, Node]]:
    """Return the fields of the items whose values are the array's ``key``."""
    names = array.alignment_params["key"]
    names = [names] if isinstance(names, str) else names
    properties = node.children.properties
    for name in names:
        if name not in properties:
            hint = nearest(name, properties)
            problem = f"key is {name!r}, which is no field of the items; {hint}"
            raise ConfigError(array.pointer + "/evaluation_config", problem)
    return [(name, properties[name]) for name in names]


def _key_of(item: Any, fields: Iterable[tuple[str, Node]]) -> list[Any] | None:
    """Return the values of an item's key; None where one of them is absent."""
    item = item.item if isinstance(item, MapItem) else item
    values = [item.get(name) for name, _ in fields] if isinstance(item, dict) else [None]
    return None if any(value in (None, "", [], {}) for value in values) else values


# --- equal items ---------------------------------------------------------------------------------


class Side(NamedTuple):
    """Items of one side, and by index all texts, in which the order of arrays is left out."""

    items: Items
    texts: list[str]

    @classmethod
    def of(cls, items: Sequence[Any], start: int, memo: dict[int, str] | None = None) -> Side:
        """Put the items from `start` on into the order of their texts; the memo is by identity."""
        texts = [
            repr(item.key) + canonical_unordered(item.item, memo)
            if isinstance(item, MapItem)
            else canonical_unordered(item, memo)
            for item in items
        ]
        copies = Counter(texts)  # they may differ in the order of arrays inside them
        ties = [
            (text, canonical(item) if copies[text] > 1 else "")
            for text, item in zip(texts, items, strict=True)
        ]
        order = sorted(range(start, len(items)), key=ties.__getitem__)
        return cls({i: items[i] for i in order}, texts)


def pair_equal(
    gold: Sequence[Any], predicted: Sequence[Any], start: int = 0
) -> tuple[Pairs, Items, Items]:
    """Pair equal items from `start` on, and return the items of both sides that are left."""
    (left, texts), (right, other_texts) = Side.of(gold, start), Side.of(predicted, start)
    return _peel(left, right, texts, other_texts)


def _peel(
    gold: Items, predicted: Items, texts: list[str], other_texts: list[str]
) -> tuple[Pairs, Items, Items]:
    """Pair items that are equal but for the order of arrays inside them; return what is left.

    Of equal items that are left, no more are kept than can find a partner (models that loop repeat
    one item).
    """
    waiting: dict[str, list[int]] = defaultdict(list)
    for j in reversed(predicted):
        waiting[other_texts[j]].append(j)
    equal = [(i, waiting[texts[i]].pop()) for i in gold if waiting.get(texts[i])]
    left, right = _without(equal, gold, predicted)
    return equal, _fewer(left, len(right), texts), _fewer(right, len(left), other_texts)


def _fewer(items: Items, most: int, texts: list[str]) -> Items:
    """Return at most so many of the items that have the same text; equal ones are neighbours."""
    order = list(items)
    return {
        i: items[i]
        for place, i in enumerate(order)
        if place < most or texts[order[place - most]] != texts[i]
    }


def _without(pairs: Pairs, gold: Items, predicted: Items) -> tuple[Items, Items]:
    """Return the items of both sides that are in no pair."""
    done = {i for i, _ in pairs}, {j for _, j in pairs}
    left, right = (
        {i: item for i, item in side.items() if i not in paired}
        for side, paired in zip((gold, predicted), done, strict=True)
    )
    return left, right


# --- the assignment ------------------------------------------------------------------------------


def solve(worth: NDArray[Any], gold: Iterable[int], predicted: Iterable[int]) -> Pairs:
    """Solve the assignment problem; pairs that are worth nothing take no part."""
    if not worth.size:
        return []
    rows, columns = _solver()(worth, True)
    kept = worth[rows, columns] > 0.0
    return _named(zip(rows[kept].tolist(), columns[kept].tolist(), strict=True), gold, predicted)


def _named(places: Iterable[Sequence[int]], gold: Iterable[int], predicted: Iterable[int]) -> Pairs:
    """Return the indices of the items at these rows and columns of a matrix."""
    rows, columns = list(gold), list(predicted)
    return [(rows[a], columns[b]) for a, b in places]


@cache
def _solver() -> Any:
    """Return ``scipy.optimize.linear_sum_assignment``.

    Its module is loaded from its file: the package around it takes 0.3 s to import, more than the
    rest of a first evaluation.
    """
    import scipy

    folder = Path(scipy.__file__).with_name("optimize")
    spec = PathFinder.find_spec("_lsap", [str(folder)])
    if spec is not None and spec.loader is not None:
        module = module_from_spec(spec)
        spec.loader.exec_module(module)
        if hasattr(module, "linear_sum_assignment"):
            return module.linear_sum_assignment
    from scipy.optimize import linear_sum_assignment

    return linear_sum_assignment


def _likeliest(similar: Matrix, count: int, gold: Iterable[int], predicted: Iterable[int]) -> Pairs:
    """Return the likeliest partners of each item of the shorter side."""
    is_tall = similar.shape[0] > similar.shape[1]
    rest = similar.T.copy() if is_tall else similar.copy()
    rows = np.arange(len(rest))
    pairs: Pairs = []
    for _ in range(count):
        best = rest.argmax(axis=1)
        likely = rest[rows, best] >= HOPELESS
        pairs += zip(rows[likely].tolist(), best[likely].tolist(), strict=True)
        rest[rows, best] = -1.0
    return _named([(b, a) for a, b in pairs] if is_tall else pairs, gold, predicted)


def _solve_greedily(node: Node, gold: Items, predicted: Items) -> Pairs:
    """Pair the likeliest first, among the best candidates of each item; for huge arrays."""
    ranked: list[tuple[float, int, int]] = []
    columns = range(len(predicted))
    for start, worth in estimated_blocks(node, [*gold.values()], [*predicted.values()]):
        places = _likeliest(worth, CANDIDATES, range(len(worth)), columns)
        ranked += [(-worth[a, b], start + a, b) for a, b in places]
    pairs: dict[int, int] = {}
    taken: set[int] = set()
    for _, a, b in sorted(ranked):
        if a not in pairs and b not in taken:
            pairs[a] = b
            taken.add(b)
    return _named(pairs.items(), gold, predicted)


def estimated_blocks(
    node: Node, gold: Sequence[Any], predicted: Sequence[Any]
) -> Iterator[tuple[int, Matrix]]:
    """Estimate how likely items belong together, for huge arrays a block of gold items at a time.

    Yields the first gold item of a block, and the matrix of the block by predicted items; 0 where
    two items are hopelessly unlike.
    """
    step = max(1, DENSE_PAIRS // (4 * len(predicted)))
    for start in range(0, len(gold), step):
        similar, likely = estimate(node, gold[start : start + step], predicted)
        worth = similar + likely
        worth[worth < HOPELESS] = 0.0
        yield start, worth


# --- estimates of all pairs -----------------------------------------------------------------------


def estimate(node: Node, gold: Sequence[Any], predicted: Sequence[Any]) -> tuple[Matrix, Flags]:
    """Estimate the similarity of all pairs of items, and which of them are likely to match.

    Each field of the items is a column, whose distinct values are compared by the estimate that its
    metric declares.
    """
    shape = len(gold), len(predicted)
    total, count = np.zeros(shape, np.float32), np.zeros(shape, np.float32)
    likely = np.ones(shape, np.bool_)
    nodes: dict[str, Node] = {}
    ours, theirs = (_columns(node, items, nodes) for items in (gold, predicted))
    for path in ours | theirs:
        left, rows = _distinct(ours.get(path, {}), len(gold))
        right, columns = _distinct(theirs.get(path, {}), len(predicted))
        present = (rows >= 0)[:, None] | (columns >= 0)
        count += present
        if not left or not right:
            likely &= ~present
            continue
        similar: Any
        similar, passes = _estimated(nodes.get(path), left, right)
        if similar.shape != shape or -1 in rows or -1 in columns:
            # the last row and column, which index -1 takes, stand for absent values
            similar = np.pad(similar, (0, 1))[rows][:, columns]
            passes = np.pad(passes, (0, 1))[rows][:, columns]
        total += similar
        likely &= passes | ~present
    np.divide(total, count, out=total, where=count > 0)
    total[count == 0] = 1.0
    # where one item is a container and the other is not, they are compared as texts
    kinds, other_kinds = (np.array(list(map(_container, side))) for side in (gold, predicted))
    differ = kinds[:, None] != other_kinds
    if differ.any():
        total[differ] = similar_bags(gold, predicted, {})[0][differ]
        likely[differ] = False
    return total, likely


def _container(item: Any) -> str:
    kind = json_type(item.item if isinstance(item, MapItem) else item)
    return kind if kind in ("object", "array") else ""


def _columns(node: Node, items: Sequence[Any], nodes: dict[str, Node]) -> dict[str, dict[int, Any]]:
    """Spread the values of items over columns, by path within the item; note their nodes."""
    columns: defaultdict[str, dict[int, Any]] = defaultdict(dict)
    for row, entry in enumerate(items):
        item = entry
        if isinstance(entry, MapItem):
            columns["key"][row] = entry.key
            item = entry.item
        if isinstance(item, str) and node.types and "string" not in node.types:
            columns["whole"][row] = item
            continue
        for at, value, _, suffix in pair_up(node, item, MISSING):
            if value is not MISSING and value is not None:
                nodes.setdefault(suffix or "item", at)
                if at.config is not None and at.config.accepted:
                    # any of the values that mean the same stands for all of them
                    known = (m for m in (value, *class_members(at, value)) if m is not None)
                    value = min(known, key=canonical)  # noqa: PLW2901
                columns[suffix or "item"][row] = value
    return columns


def _distinct(values: Mapping[int, Any], size: int) -> tuple[list[Any], NDArray[np.int64]]:
    """Return the distinct values of a column, and of each item the position of its own or -1."""
    distinct: list[Any] = []
    numbers: dict[Any, int] = {}
    positions = [-1] * size
    for row, value in values.items():
        key = (type(value), value) if not isinstance(value, dict | list) else row
        positions[row] = numbers.setdefault(key, len(distinct))
        if positions[row] == len(distinct):
            distinct.append(value)
    return distinct, np.array(positions)


def _estimated(node: Node | None, gold: list[Any], predicted: list[Any]) -> Estimated:
    """Estimate the similarity of all values of a field by its metric."""
    specs = node.config.metrics if node is not None and node.config else ()
    params = specs[0].params if specs else {}
    compare = specs[0].entry.estimate if specs else judged_texts
    if any(isinstance(value, dict | list) for value in (*gold, *predicted)):
        compare = similar_bags
    return compare(gold, predicted, params)
