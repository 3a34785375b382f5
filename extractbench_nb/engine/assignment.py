"""Optimal one-to-one assignment of predicted items to gold items.

It maximises first the number of matched pairs, then the total similarity. Ties are broken by the
items' canonical JSON, never by position, so that shuffling either side changes no score. Small
arrays are solved exactly on the declared metrics. In large arrays equal items are paired first; a
vectorised estimate (`Estimate`) proposes the other pairs, and the declared metrics compare them.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Sequence
from functools import cache
from importlib.machinery import PathFinder
from importlib.util import module_from_spec
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from extractbench_nb._json import canonical, canonical_unordered
from extractbench_nb.engine.proxy import Estimate, Flags, Indices, proxy_matrix
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
#: Pairs of items from which texts are compared where needed only, and the share of items beyond
#: which all are.
BOUNDED_PAIRS = 100_000
WEAK_SHARE = 0.3
#: Pairs of items from which a small array is solved on bounds first, and how often that is tried.
BOUNDED_TABLE = 9
BOUNDED_ROUNDS = 12
#: Errors of rounding: of an estimate, and of a total. Rounds after which prices are given up, and
#: rows for which they are always looked for.
SLACK = 1e-5
MARGIN = 1e-7
PRICE_ROUNDS = 100
FEW_ROWS = 100
#: Pairs of items up to which all pairs are estimated at once (4 matrices of 4 bytes a pair).
DENSE_PAIRS = 16_000_000
#: Candidates that are kept for each gold item beyond that.
CANDIDATES = 30
#: Items that are texts of this length are long; long texts less alike than this do not match.
LONG_TEXT = 120
HOPELESS_TEXT = 0.2
_LIKELY = 0.99
#: Candidates less alike than this are not worth a comparison.
HOPELESS = 0.1

Pairs = list[tuple[int, int]]
Worths = NDArray[np.float64]
Exact = Callable[[Indices, Indices], Worths]
Lower = Callable[[Indices, Indices], Worths]


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
        if items is not None and len(gold) == len(predicted) == prefix + 1:
            pairs.append((prefix, prefix))
        elif items is not None and min(len(gold), len(predicted)) > prefix:
            pairs.extend(self._assign(items, gold, predicted, prefix))
        self._known[key] = sorted(pairs)
        return self._known[key]

    def _side(self, items: Sequence[Any]) -> Side:
        side = self._sides.get(id(items))
        if side is None:
            side = self._sides[id(items)] = Side(items, self._texts, self._counts)
        return side

    def _assign(
        self, node: Node, gold: Sequence[Any], predicted: Sequence[Any], start: int
    ) -> Pairs:
        ours, theirs = self._side(gold), self._side(predicted)
        left, right = ours.order_from(start), theirs.order_from(start)
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
        return self._look_again(node, one, two)

    def _look_again(self, node: Node, one: list[Any], two: list[Any]) -> Pairs:
        """Compare the estimated pairs; what did not match is solved anew, now on its metrics."""
        worth = Worth.estimated(node, one, two)
        chosen = worth.best_pairs()
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
            part = worth.part(np.array(ours), np.array(theirs), _are_long(rest))
            found = self._solve_likeliest(node, rest, others, part, count)
        return sure + [(ours[a], theirs[b]) for a, b in found]

    def _solve_likeliest(
        self, node: Node, one: list[Any], two: list[Any], worth: Worth, count: int
    ) -> Pairs:
        """Put the declared metrics in the place of the estimate for the likeliest pairs."""
        bonus = _bonus(one, two)
        count = min(count, max(worth.values.shape))
        for a, b in worth.likeliest(count):
            if worth.values[a, b] < 0.0:
                continue
            score, matched = self.compare(node, one[a], two[b])
            worth.put(a, b, score + bonus if matched else score)
        return worth.best_pairs()

    def _comparisons(self, node: Node, one: list[Any], two: list[Any]) -> float:
        ours = sum(_leaves(item, self._counts) for item in one)
        return _scalar_comparisons(node, ours, sum(_leaves(item, self._counts) for item in two))

    def _solve_exactly(self, node: Node, one: list[Any], two: list[Any]) -> Pairs:
        if len(one) == len(two) == 1:
            return [(0, 0)]
        if len(one) * len(two) >= BOUNDED_TABLE and (pairs := self._solve_bounds(node, one, two)):
            return pairs
        bonus = _bonus(one, two)
        table = self.compare.table(node, one, two)
        worth = [[score + bonus if matched else score for score, matched in row] for row in table]
        return _solve(np.array(worth))

    def _solve_bounds(self, node: Node, one: list[Any], two: list[Any]) -> Pairs:
        """Solve on what pairs are worth at most, where that leaves one solution; else empty.

        The chosen pairs are compared in full until the choice stays the same.
        """
        bounds = self.compare.bounds(node, one, two)
        if bounds is None:
            return []
        bonus = _bonus(one, two)
        worth = np.array([[s + bonus if matched else s for s, matched in row] for row in bounds])
        known: set[tuple[int, int]] = set()
        for _ in range(BOUNDED_ROUNDS):
            pairs = _solve(worth)
            new = [pair for pair in pairs if pair not in known]
            for a, b in new:
                score, matched = self.compare(node, one[a], two[b])
                worth[a, b] = score + bonus if matched else score
            known.update(new)
            if not new:
                break
        rows, columns = np.array(pairs).T
        own = worth[rows, columns]
        worth[rows, columns] = -np.inf
        return [] if new or not _is_only_optimum(worth, rows, columns, own) else pairs


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


class Worth:
    """What pairs of items are worth by the estimate, and which assignment is worth most.

    It takes long to compare all texts of a large matrix. There `values` are what pairs are worth at
    most, with texts taken as equal, and texts are compared for the chosen pairs alone. Rows and
    columns for which these bounds do not decide are then made exact.
    """

    def __init__(self, values: Worths, exact: Exact, lower: Lower, done: list[Flags]) -> None:
        self.values, self.exact, self.lower, self.done = values, exact, lower, done
        self.known: dict[tuple[int, int], float] = {}

    @classmethod
    def estimated(cls, node: Node, one: list[Any], two: list[Any]) -> Worth:
        """Estimate similarity; likely pairs have a bonus."""
        estimate, bonus = Estimate(node, one, two), _bonus(one, two)

        def exact(rows: Indices, columns: Indices, upper: bool = False) -> Worths:
            similar, likely = estimate.block(rows, columns, upper=upper)
            worth = similar.astype(np.float64)
            worth[likely] += bonus
            return worth

        def lower(rows: Indices, columns: Indices) -> Worths:
            loss, likely = estimate.loss(rows, columns)
            own = found.values[rows, columns]
            return own - np.where((own >= bonus) & ~likely, bonus, 0.0) - loss - SLACK

        bounded = len(one) * len(two) >= BOUNDED_PAIRS and estimate.has_bounds
        every = np.arange(len(one)), np.arange(len(two))
        done = [np.full(len(side), not bounded) for side in (one, two)]
        found = cls(exact(*every, upper=bounded), exact, lower, done)
        return found

    def part(self, ours: Indices, theirs: Indices, are_long: bool) -> Worth:
        """Return the part of these items, to be compared: what was likely has no bonus here."""

        def unlikely(worth: Worths) -> Worths:
            worth[worth > 1.0] = _LIKELY
            if are_long:  # long texts that mean the same have words in common
                worth[worth < HOPELESS_TEXT] = -1.0
            return worth

        def exact(rows: Indices, columns: Indices) -> Worths:
            return unlikely(self.exact(ours[rows], theirs[columns]))

        def lower(rows: Indices, columns: Indices) -> Worths:
            return np.minimum(self.at_least(ours[rows], theirs[columns]), _LIKELY)

        if are_long and not self.is_exact:
            self.make_exact()
        done = [self.done[0][ours], self.done[1][theirs]]
        values = self.values[np.ix_(ours, theirs)]
        bounds = (values > 1.0) & ~done[0][:, None] & ~done[1]
        values = unlikely(values)
        values[bounds] = 1.0
        return Worth(values, exact, lower, done)

    @property
    def is_exact(self) -> bool:
        """Whether no value is a mere bound."""
        return bool(self.done[0].all() or self.done[1].all())

    def put(self, row: int, column: int, value: float) -> None:
        """Put a value in the place of an estimate."""
        self.values[row, column] = self.known[row, column] = value

    def make_exact(self, rows: Indices | None = None, columns: Indices | None = None) -> None:
        """Replace bounds in some rows and columns, or in all."""
        if rows is None and columns is None:
            rows = np.flatnonzero(~self.done[0])
        every = np.arange(self.values.shape[0]), np.arange(self.values.shape[1])
        if rows is not None:
            self.values[rows], self.done[0][rows] = self.exact(rows, every[1]), True
        if columns is not None:
            self.values[:, columns], self.done[1][columns] = self.exact(every[0], columns), True
        for place, value in self.known.items():
            self.values[place] = value

    def at_least(self, rows: Indices, columns: Indices) -> Worths:
        """Return what these pairs are worth at least."""
        own = self.values[rows, columns]
        bounds = np.flatnonzero(~self.done[0][rows] & ~self.done[1][columns])
        if bounds.size:
            own[bounds] = self.lower(rows[bounds], columns[bounds])
        pairs = zip(rows.tolist(), columns.tolist(), strict=True)
        return np.array([self.known.get(p, v) for p, v in zip(pairs, own.tolist(), strict=True)])

    def best_pairs(self) -> Pairs:
        """Solve the assignment problem: on the bounds, where they leave one solution only.

        Otherwise the solver decides on exact values which of equal solutions it takes.
        """
        solve = _solve_mutual
        while not self.is_exact:
            pairs, solve = solve(self.values), _solve
            rows, columns = np.array(pairs).T
            own, bounds = self.at_least(rows, columns), self.values[rows, columns]
            self.values[rows, columns] = -np.inf
            is_only = _is_only_optimum(self.values, rows, columns, own)
            weak_rows = rows[(own <= self.values.max(axis=1)[rows]) & ~self.done[0][rows]]
            weak = columns[(own <= self.values.max(axis=0)[columns]) & ~self.done[1][columns]]
            self.values[rows, columns] = bounds
            if is_only:
                return pairs
            if 0 < weak_rows.size + weak.size <= WEAK_SHARE * len(pairs):
                self.make_exact(weak_rows, weak)
            else:
                self.make_exact()
        return _solve(self.values)

    def likeliest(self, count: int) -> Pairs:
        """Return the best `count` partners of each item of the shorter side."""
        tall = self.values.shape[0] > self.values.shape[1]
        by_row = self.values.T if tall else self.values
        best = by_row.argmax(axis=1)
        sure = np.zeros(len(best), np.bool_)
        if not self.is_exact and count == 1:
            place = (best, np.arange(len(best))) if tall else (np.arange(len(best)), best)
            own, bounds = self.at_least(*place), self.values[place]
            self.values[place] = -np.inf
            sure = own > by_row.max(axis=1)
            self.values[place] = bounds
        unsure = np.flatnonzero(~sure)
        if not self.is_exact and unsure.size:
            if unsure.size > WEAK_SHARE * len(best):
                self.make_exact()
            else:
                self.make_exact(None if tall else unsure, unsure if tall else None)
        pairs = [(i, int(best[i])) for i in np.flatnonzero(sure).tolist()]
        likeliest = np.argpartition(-by_row[unsure], count - 1, axis=1)[:, :count].tolist()
        for i, some in zip(unsure.tolist(), likeliest, strict=True):
            pairs += [(i, j) for j in some]
        return [(j, i) for i, j in pairs] if tall else pairs


def _is_only_optimum(
    worth: Worths, rows: Indices, columns: Indices, own: NDArray[np.float64]
) -> bool:
    """Whether all other assignments are worth less, by more than an error of rounding.

    `own` is what the assigned pairs are worth. The others are worth less if each column has a
    price, zero where it is unused, so that every row gains less in any column but its own. The
    lowest such prices are found by raising them until no other column is as good.
    """
    if worth.shape[0] > worth.shape[1]:
        worth, rows, columns = worth.T, columns, rows
    order = np.argsort(rows)
    columns, own = columns[order], own[order]
    best = worth.max(axis=1)
    unused = np.delete(np.arange(worth.shape[1]), columns)
    price = np.zeros(worth.shape[1])
    tempted, part = np.arange(0), worth[:0]
    for _ in range(PRICE_ROUNDS):
        more = price[columns] - own + MARGIN
        before, tempted = tempted, np.flatnonzero(best + more > 0.0)
        if not np.array_equal(tempted, before):
            part = worth[tempted]
        if tempted.size > max(FEW_ROWS, WEAK_SHARE * len(best)):
            return False
        raised = (part + more[tempted, None]).max(axis=0, initial=0.0)
        if raised[unused].any():
            return False
        if np.array_equal(raised, price):
            return True
        price = raised
    return False


def _solve(worth: NDArray[np.float64]) -> Pairs:
    """Solve the assignment problem.

    Where no two rows are best in the same column, this needs no solver. That is also what
    scipy's solver finds then: it takes the first of equal columns, row by row.
    """
    if worth.shape == (2, 2):
        straight = worth[0, 0] + worth[1, 1] >= worth[0, 1] + worth[1, 0]
        return [(0, 0), (1, 1)] if straight else [(0, 1), (1, 0)]
    by_row = worth if worth.shape[0] <= worth.shape[1] else worth.T
    best = by_row.argmax(axis=1).tolist()
    if len(set(best)) == len(best):
        found = list(enumerate(best))
        return found if by_row is worth else sorted((b, a) for a, b in found)
    rows, columns = _solver()(worth, True)
    return list(zip(rows.tolist(), columns.tolist(), strict=True))


def _solve_mutual(worth: Worths) -> Pairs:
    """Pair items that are best for each other, and solve what is left; not always an optimum."""
    best = worth.argmax(axis=1)
    rows = np.flatnonzero(worth.max(axis=1) == worth.max(axis=0)[best])
    columns, first = np.unique(best[rows], return_index=True)
    pairs = list(zip(rows[first].tolist(), columns.tolist(), strict=True))
    ours = np.delete(np.arange(worth.shape[0]), rows[first])
    theirs = np.delete(np.arange(worth.shape[1]), columns)
    if ours.size and theirs.size:
        found = _solve(worth[np.ix_(ours, theirs)])
        pairs += [(int(ours[a]), int(theirs[b])) for a, b in found]
    return sorted(pairs)


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
