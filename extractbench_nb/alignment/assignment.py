"""Optimal one-to-one assignment of predicted items to gold items.

It maximises first the number of matched pairs, then the total similarity. Ties are broken by the
items' canonical JSON, never by position, so that shuffling either side changes no score. Small
arrays are solved exactly on the declared metrics; of large ones, equal items are paired first, and
the rest is chosen by a vectorised estimate.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from extractbench_nb._json import canonical, canonical_unordered
from extractbench_nb.alignment.proxy import proxy_matrix, sparse_bags
from extractbench_nb.alignment.similarity import MapItem, item_similarity, text_of
from extractbench_nb.schema.nodes import Node
from extractbench_nb.scoring import Scorer

__all__ = ["OptimalAligner"]

#: Comparisons of scalars up to which an array is solved on the declared metrics.
EXACT_COMPARISONS = 4_096
#: Pairs of items up to which all pairs are estimated at once (4 matrices of 4 bytes a pair).
DENSE_PAIRS = 16_000_000
#: Candidates that are kept for each gold item beyond that.
CANDIDATES = 30
#: Pairs whose estimate is below this are not worth a comparison.
HOPELESS = 0.1

Pairs = list[tuple[int, int]]


class OptimalAligner:
    """Aligns arrays under one scorer; a callable ``(node, gold, predicted) -> index pairs``.

    Parameters
    ----------
    scorer : Scorer
        Runs the declared metrics on pairs of items.
    """

    name = "optimal"

    def __init__(self, scorer: Scorer) -> None:
        self.scorer = scorer

    def __call__(self, node: Node, gold: Sequence[Any], predicted: Sequence[Any]) -> Pairs:
        """Align the items of one array.

        Parameters
        ----------
        node : Node
            The array.
        gold, predicted : sequence
            The items of both sides.

        Returns
        -------
        list of tuple of int
            (gold index, predicted index), in gold order. ``prefixItems`` are paired by position.
        """
        items, prefix = node.children.items, len(node.children.prefix)
        pairs = [(i, i) for i in range(min(prefix, len(gold), len(predicted)))]
        ours, theirs = list(range(prefix, len(gold))), list(range(prefix, len(predicted)))
        if items is None or not ours or not theirs:
            return pairs
        keys = [[_key(x) for x in side] for side in (gold, predicted)]
        ours.sort(key=lambda i: keys[0][i])
        theirs.sort(key=lambda j: keys[1][j])
        pairs.extend(self._assign(items, gold, predicted, ours, theirs, keys))
        return sorted(pairs)

    def _assign(
        self,
        node: Node,
        gold: Sequence[Any],
        predicted: Sequence[Any],
        ours: list[int],
        theirs: list[int],
        keys: list[list[tuple[str, str]]],
    ) -> Pairs:
        equal = _equal_pairs(ours, theirs, keys)
        everything = len(equal) == min(len(ours), len(theirs))
        if not everything and not self._is_small(node, gold, predicted, ours, theirs):
            left_out = {i for i, _ in equal}, {j for _, j in equal}
            ours = [i for i in ours if i not in left_out[0]]
            theirs = [j for j in theirs if j not in left_out[1]]
            solve = self._solve_rest
        elif everything:
            return equal
        else:
            equal, solve = [], self._solve_exactly
        one, two = [gold[i] for i in ours], [predicted[j] for j in theirs]
        return equal + [(ours[a], theirs[b]) for a, b in solve(node, one, two)]

    def _is_small(
        self,
        node: Node,
        gold: Sequence[Any],
        predicted: Sequence[Any],
        ours: list[int],
        theirs: list[int],
    ) -> bool:
        if len(ours) * len(theirs) > EXACT_COMPARISONS:
            return False
        one = [gold[i] for i in ours]
        two = [predicted[j] for j in theirs]
        return _comparisons(node, one, two) <= EXACT_COMPARISONS

    def _solve_rest(self, node: Node, one: list[Any], two: list[Any]) -> Pairs:
        pairs = len(one) * len(two)
        if pairs <= EXACT_COMPARISONS and _comparisons(node, one, two) <= EXACT_COMPARISONS:
            return self._solve_exactly(node, one, two)
        if pairs > DENSE_PAIRS:
            return _solve_greedily(one, two)
        similar, likely = proxy_matrix(node, one, two)
        chosen = _solve(similar.astype(np.float64) + likely * (1.0 + min(similar.shape)))
        return [(a, b) for a, b in chosen if similar[a, b] >= HOPELESS]

    def _solve_exactly(self, node: Node, one: list[Any], two: list[Any]) -> Pairs:
        bonus = 1.0 + min(len(one), len(two))
        worth = np.empty((len(one), len(two)))
        for a, gold in enumerate(one):
            for b, predicted in enumerate(two):
                score, matched = item_similarity(self.scorer, self, node, gold, predicted)
                worth[a, b] = score + bonus if matched else score
        return _solve(worth)


def _key(item: Any) -> tuple[str, str]:
    value = list(item) if isinstance(item, MapItem) else item
    if isinstance(value, str):
        return "s" + value, ""
    return canonical_unordered(value), canonical(value)


def _equal_pairs(ours: list[int], theirs: list[int], keys: list[list[tuple[str, str]]]) -> Pairs:
    """Pair items that are equal but for the order of arrays inside them."""
    waiting: dict[str, list[int]] = defaultdict(list)
    for j in reversed(theirs):
        waiting[keys[1][j][0]].append(j)
    return [(i, waiting[k].pop()) for i in ours if waiting.get(k := keys[0][i][0])]


def _comparisons(node: Node, one: list[Any], two: list[Any]) -> float:
    """Estimate how many scalars an exact solution would compare."""
    flat = sum(1 for c in node.children if c.kind != "array") if node.kind == "object" else 1
    return _leaves(one) * _leaves(two) / max(1, flat)


def _leaves(value: Any) -> int:
    count, stack = 0, [value]
    while stack:
        top = stack.pop()
        if isinstance(top, dict):
            stack.extend(top.values())
        elif isinstance(top, list | tuple):
            stack.extend(top)
        else:
            count += 1
    return count


def _solve(worth: NDArray[np.float64]) -> Pairs:
    """Solve the assignment problem; a single row or column needs no solver."""
    if worth.shape[0] == 1:
        return [(0, int(worth[0].argmax()))]
    if worth.shape[1] == 1:
        return [(int(worth[:, 0].argmax()), 0)]
    if worth.shape == (2, 2):
        straight = worth[0, 0] + worth[1, 1] >= worth[0, 1] + worth[1, 0]
        return [(0, 0), (1, 1)] if straight else [(0, 1), (1, 0)]
    from scipy.optimize import linear_sum_assignment

    rows, columns = linear_sum_assignment(worth, maximize=True)
    return list(zip(rows.tolist(), columns.tolist(), strict=True))


def _solve_greedily(one: list[Any], two: list[Any]) -> Pairs:
    """Pair the most similar first, among the best candidates by tokens; for huge arrays."""
    left, right = sparse_bags([text_of(x) for x in one], [text_of(x) for x in two])
    found: list[tuple[float, int, int]] = []
    step = max(1, DENSE_PAIRS // max(1, len(two)))
    for start in range(0, len(one), step):
        block = (left[start : start + step] @ right.T).tocsr()
        for row in range(block.shape[0]):
            cells = slice(block.indptr[row], block.indptr[row + 1])
            best = np.argsort(-block.data[cells], kind="stable")[:CANDIDATES]
            columns, values = block.indices[cells][best], block.data[cells][best]
            a = start + row
            found.extend((-float(v), a, int(b)) for v, b in zip(values, columns, strict=True))
    found.sort()
    used: tuple[set[int], set[int]] = (set(), set())
    pairs: Pairs = []
    for negative, a, b in found:
        if -negative >= HOPELESS and a not in used[0] and b not in used[1]:
            used[0].add(a)
            used[1].add(b)
            pairs.append((a, b))
    return pairs
