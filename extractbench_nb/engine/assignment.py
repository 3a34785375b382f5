"""Optimal one-to-one assignment of predicted items to gold items.

It maximises first the number of matched pairs, then the total similarity. Ties are broken by the
items' canonical JSON, never by position, so that shuffling either side changes no score. Small
arrays are solved exactly on the declared metrics. In large arrays equal items are paired first; a
vectorised estimate (`proxy_matrix`) proposes the other pairs, and the declared metrics compare
them.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from extractbench_nb._json import canonical, canonical_unordered
from extractbench_nb.engine.proxy import proxy_matrix
from extractbench_nb.engine.scoring import Scorer
from extractbench_nb.engine.similarity import ItemComparer, MapItem
from extractbench_nb.schema.nodes import Node

#: Comparisons of scalars up to which an array is solved on the declared metrics: where items hold
#: arrays themselves, and where they don't.
EXACT_NESTED = 640
EXACT_FLAT = 1_000
#: The same for the items of a large array that the estimate left without a match.
EXACT_REST = 1_000
#: Beyond that, at most so many of the likeliest partners are compared for each of these items, and
#: so many comparisons are spent on all of them.
SECOND_LOOK = 5
SECOND_LOOK_COMPARISONS = 8_000
#: Comparisons within one pair of items beyond which the estimate stands as it is.
LARGE_PAIR = 50
#: Pairs of items up to which all pairs are estimated at once (4 matrices of 4 bytes a pair).
DENSE_PAIRS = 16_000_000
#: Candidates that are kept for each gold item beyond that.
CANDIDATES = 30
#: Items that are texts of this length are long; long texts less alike than this do not match.
LONG_TEXT = 120
HOPELESS_TEXT = 0.2
#: Candidates less alike than this are not worth a comparison.
HOPELESS = 0.1

Pairs = list[tuple[int, int]]


class OptimalAligner:
    """Aligns arrays under one scorer; a callable ``(node, gold, predicted) -> index pairs``."""

    name = "optimal"

    def __init__(self, scorer: Scorer) -> None:
        self.compare = ItemComparer(scorer, self)
        self._known: dict[tuple[Node, int, int], Pairs] = {}
        self._sides: dict[int, Side] = {}
        self._texts: dict[int, str] = {}
        self._counts: dict[int, int] = {}

    def __call__(self, node: Node, gold: Sequence[Any], predicted: Sequence[Any]) -> Pairs:
        """Align the items of one array."""
        key = (node, id(gold), id(predicted))  # the caller keeps the items alive
        known = self._known.get(key)
        if known is not None:
            return known
        # items of prefixItems are paired by position, all others optimally
        items, prefix = node.children.items, len(node.children.prefix)
        pairs = [(i, i) for i in range(min(prefix, len(gold), len(predicted)))]
        ours, theirs = self._side(gold), self._side(predicted)
        left, right = ours.order_from(prefix), theirs.order_from(prefix)
        if items is not None and left and right:
            pairs.extend(self._assign(items, ours, theirs, left, right))
        self._known[key] = sorted(pairs)
        return self._known[key]

    def _side(self, items: Sequence[Any]) -> Side:
        side = self._sides.get(id(items))
        if side is None:
            side = self._sides[id(items)] = Side(items, self._texts, self._counts)
        return side

    def _assign(
        self, node: Node, ours: Side, theirs: Side, left: list[int], right: list[int]
    ) -> Pairs:
        equal = equal_pairs(ours, theirs, left, right)
        if len(equal) == min(len(left), len(right)):
            return equal
        if _scalar_comparisons(node, ours.leaves, theirs.leaves) <= _exact_limit(node):
            equal, solve = [], self._solve_exactly
        else:
            left, right = unpaired(equal, ours, theirs, left, right)
            solve = self._solve_rest
        one, two = [ours.items[i] for i in left], [theirs.items[j] for j in right]
        return equal + [(left[a], right[b]) for a, b in solve(node, one, two)]

    def _solve_rest(self, node: Node, one: list[Any], two: list[Any]) -> Pairs:
        pairs = len(one) * len(two)
        limit = _exact_limit(node)
        if pairs <= limit and self._comparisons(node, one, two) <= limit:
            return self._solve_exactly(node, one, two)
        if pairs > DENSE_PAIRS:
            return _solve_greedily(node, one, two)
        similar, likely = proxy_matrix(node, one, two)
        worth = similar.astype(np.float64) + likely * _bonus(one, two)
        return self._look_again(node, one, two, worth)

    def _look_again(
        self, node: Node, one: list[Any], two: list[Any], worth: NDArray[np.float64]
    ) -> Pairs:
        """Compare the chosen pairs; what did not match is solved anew, now on its metrics."""
        chosen = _solve(worth)
        a_pair = self._comparisons(node, one, two) / (len(one) * len(two))
        if a_pair > LARGE_PAIR:
            return chosen
        sure = [(a, b) for a, b in chosen if self.compare(node, one[a], two[b]).matched]
        ours = sorted(set(range(len(one))) - {a for a, _ in sure})
        theirs = sorted(set(range(len(two))) - {b for _, b in sure})
        if not ours or not theirs:
            return sure
        rest, others = [one[a] for a in ours], [two[b] for b in theirs]
        if a_pair * len(rest) * len(others) <= EXACT_REST and not _are_long(rest):
            found = self._solve_exactly(node, rest, others)
        else:
            spent = a_pair * min(len(rest), len(others))
            count = round(min(SECOND_LOOK, max(1, SECOND_LOOK_COMPARISONS / spent)))
            part = worth[np.ix_(ours, theirs)]
            found = self._solve_likeliest(node, rest, others, part, count)
        return sure + [(ours[a], theirs[b]) for a, b in found]

    def _solve_likeliest(
        self,
        node: Node,
        one: list[Any],
        two: list[Any],
        worth: NDArray[np.float64],
        count: int,
    ) -> Pairs:
        """Put the declared metrics in the place of the estimate for the likeliest pairs."""
        bonus = _bonus(one, two)
        worth = np.where(worth > 1.0, 0.99, worth)  # what looked like a match is looked at
        if _are_long(one):  # long texts that mean the same have words in common
            worth[worth < HOPELESS_TEXT] = -1.0
        by_row = worth if len(one) <= len(two) else worth.T
        count = min(count, by_row.shape[1])
        best = np.argpartition(-by_row, count - 1, axis=1)[:, :count]
        for row, columns in enumerate(best.tolist()):
            for column in columns:
                a, b = (row, column) if len(one) <= len(two) else (column, row)
                if worth[a, b] < 0.0:
                    continue
                score, matched = self.compare(node, one[a], two[b])
                worth[a, b] = score + bonus if matched else score
        return _solve(worth)

    def _comparisons(self, node: Node, one: list[Any], two: list[Any]) -> float:
        ours = sum(_leaves(item, self._counts) for item in one)
        return _scalar_comparisons(node, ours, sum(_leaves(item, self._counts) for item in two))

    def _solve_exactly(self, node: Node, one: list[Any], two: list[Any]) -> Pairs:
        bonus = _bonus(one, two)
        table = self.compare.table(node, one, two)
        worth = [[score + bonus if matched else score for score, matched in row] for row in table]
        return _solve(np.array(worth))


class Side:
    """The items of one side: their canonical texts, their order by these, their size."""

    __slots__ = ("items", "keys", "leaves", "order")

    def __init__(self, items: Sequence[Any], texts: dict[int, str], counts: dict[int, int]) -> None:
        self.items = items
        self.keys = [_key(item, texts) for item in items]
        tie = list(self.keys)
        if len(set(tie)) < len(tie):  # equal but for the order of arrays inside them
            tie = [k + canonical(x) for k, x in zip(tie, items, strict=True)]
        self.order = sorted(range(len(tie)), key=tie.__getitem__)
        self.leaves = _leaves(items, counts)

    def order_from(self, start: int) -> list[int]:
        """Return the indices from `start` on, ordered by canonical text."""
        return [i for i in self.order if i >= start]


def _key(item: Any, texts: dict[int, str]) -> str:
    if type(item) is str:
        return "s" + item
    if isinstance(item, MapItem):
        return repr(item.key) + canonical_unordered(item.item, texts)
    return canonical_unordered(item, texts)


def equal_pairs(ours: Side, theirs: Side, left: list[int], right: list[int]) -> Pairs:
    """Pair items that are equal but for the order of arrays inside them."""
    waiting: dict[str, list[int]] = defaultdict(list)
    for j in reversed(right):
        waiting[theirs.keys[j]].append(j)
    return [(i, waiting[k].pop()) for i in left if waiting.get(k := ours.keys[i])]


def unpaired(
    equal: Pairs, ours: Side, theirs: Side, left: list[int], right: list[int]
) -> tuple[list[int], list[int]]:
    """Return the indices that are in no pair of equal items.

    Of equal items among them, no more are kept than can find a partner (models that loop repeat one
    item).
    """
    done = {i for i, _ in equal}, {j for _, j in equal}
    left = [i for i in left if i not in done[0]]
    right = [j for j in right if j not in done[1]]
    left = _at_most(len(right), left, ours)
    return left, _at_most(len(left), right, theirs)


def _at_most(copies: int, indices: list[int], side: Side) -> list[int]:
    seen: Counter[str] = Counter()
    kept = []
    for index in indices:
        seen[side.keys[index]] += 1
        if seen[side.keys[index]] <= copies:
            kept.append(index)
    return kept


def _are_long(items: list[Any]) -> bool:
    texts = [item for item in items if isinstance(item, str)]
    return len(texts) == len(items) and sum(map(len, texts)) > LONG_TEXT * len(texts)


def _bonus(one: list[Any], two: list[Any]) -> float:
    """Return what a match is worth: more than all similarities together."""
    return 2.0 + min(len(one), len(two))


def _scalar_comparisons(node: Node, leaves: int, others: int) -> float:
    """Estimate the comparisons of scalars that comparing all pairs of items takes.

    An item's own fields, `flat` of them, are compared one by one, the items of its arrays pair by
    pair: together about ``leaves * others / flat``.
    """
    flat = sum(1 for c in node.children if c.kind != "array") if node.kind == "object" else 1
    return leaves * others / max(1, flat)


def _exact_limit(node: Node) -> int:
    nested = node.kind != "scalar" and any(c.kind == "array" for c in node.children)
    return EXACT_NESTED if nested else EXACT_FLAT


def _leaves(value: Any, counts: dict[int, int]) -> int:
    if not isinstance(value, dict | list | tuple):
        return 1
    found = counts.get(id(value))
    if found is None:
        below = value.values() if isinstance(value, dict) else value
        found = sum(_leaves(v, counts) for v in below)
        if not isinstance(value, MapItem):
            counts[id(value)] = found
    return found


def _solve(worth: NDArray[np.float64]) -> Pairs:
    """Solve the assignment problem; a single row or column needs no solver."""
    if worth.shape[0] == 1:
        return [(0, int(np.argmax(worth[0])))]
    if worth.shape[1] == 1:
        return [(int(np.argmax(worth[:, 0])), 0)]
    if worth.shape == (2, 2):
        straight = worth[0, 0] + worth[1, 1] >= worth[0, 1] + worth[1, 0]
        return [(0, 0), (1, 1)] if straight else [(0, 1), (1, 0)]
    from scipy.optimize import linear_sum_assignment

    rows, columns = linear_sum_assignment(worth, maximize=True)
    return list(zip(rows.tolist(), columns.tolist(), strict=True))


def _solve_greedily(node: Node, one: list[Any], two: list[Any]) -> Pairs:
    """Pair the likeliest first, among the best candidates of each gold item; for huge arrays."""
    found: list[tuple[float, int, int]] = []
    step = max(1, DENSE_PAIRS // (4 * len(two)))
    for start in range(0, len(one), step):
        similar, likely = proxy_matrix(node, one[start : start + step], two)
        worth = similar + likely
        best = np.argpartition(-worth, min(CANDIDATES, len(two) - 1), axis=1)[:, :CANDIDATES]
        for row, columns in enumerate(best.tolist()):
            found.extend((-float(worth[row, b]), start + row, b) for b in columns)
    used: tuple[set[int], set[int]] = (set(), set())
    pairs: Pairs = []
    for negative, a, b in sorted(found):
        if -negative >= HOPELESS and a not in used[0] and b not in used[1]:
            used[0].add(a)
            used[1].add(b)
            pairs.append((a, b))
    return pairs
