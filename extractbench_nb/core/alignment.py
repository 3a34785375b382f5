"""Optimal one-to-one assignment of predicted items to gold items.

It maximises first the number of matched pairs, then the total similarity. Ties are broken by the
items' canonical JSON, never by position, so that shuffling either side changes no score. Small
arrays are solved exactly on the declared metrics. In large arrays equal items are paired first; a
vectorised estimate (`Estimate`) proposes the other pairs, and the declared metrics compare them.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Sequence
from functools import cache
from importlib.machinery import PathFinder
from importlib.util import module_from_spec
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from extractbench_nb.core.profile_rules import Profile
from extractbench_nb.core.proxy import Estimate, proxy_matrix
from extractbench_nb.core.schema.schema_nodes import Node
from extractbench_nb.core.scoring import Scorer
from extractbench_nb.core.similarity import ItemComparer, MapItem, PairScore
from extractbench_nb.core.text.offline_judge import OfflineJudge
from extractbench_nb.core.values.json_values import canonical, canonical_unordered

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
#: Pairs of items with accepted alternatives up to which all of them are compared.
ALTERNATIVE_PAIRS = 20_000
#: Comparisons within one pair of items beyond which the estimate stands as it is.
LARGE_PAIR = 50
#: Pairs of items from which arrays are solved on bounds: large ones, and small ones.
BOUNDED_PAIRS = 100_000
BOUNDED_TABLE = 9
#: Error of rounding of an estimate.
SLACK = 1e-5
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


class OptimalAligner(ItemComparer):
    """Optimal one-to-one alignment of the items of arrays, ``alignment="optimal"``.

    Called with the node of an array, gold's items and the predicted items, it returns the pairs of
    their indices, ascending. See the decision record ``two-stage-alignment`` for large arrays.

    Parameters
    ----------
    scorer : Scorer
        Scores item fields by the metrics of the schema and the rules of a profile.
    """

    name = "optimal"

    def __init__(self, scorer: Scorer) -> None:
        super().__init__(scorer)
        self._known: dict[tuple[Node, int, int], Pairs] = {}
        self._sides: dict[int, Side] = {}
        self._texts: dict[int, str] = {}
        self._counts: dict[int, int] = {}

    @classmethod
    def offline(cls, profile: Profile) -> OptimalAligner:
        """Return one that compares texts with the offline judge.

        Parameters
        ----------
        profile : Profile
            The rules.

        Returns
        -------
        OptimalAligner
            With a scorer of its own.
        """
        return cls(Scorer(profile, OfflineJudge()))

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
        worth = _estimated(node, one, two)
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
            part = _rest_of(worth, np.array(ours), np.array(theirs), _are_long(rest))
            found = self._solve_likeliest(node, rest, others, part, count)
        return sure + [(ours[a], theirs[b]) for a, b in found]

    def _solve_likeliest(
        self, node: Node, one: list[Any], two: list[Any], worth: Worth, count: int
    ) -> Pairs:
        """Put the declared metrics in the place of the estimate for the likeliest pairs."""
        bonus = _bonus(one, two)
        count = min(count, max(worth.values.shape))
        # the estimate does not know of accepted alternatives
        known = {a for a, item in enumerate(one) if self.scorer.accepted.of_scalars(item)}
        if len(known) * len(two) > ALTERNATIVE_PAIRS:
            known.clear()
        compared = [(a, b) for a in sorted(known) for b in range(len(two))]
        for a, b in [*compared, *worth.likeliest(count)]:
            if worth.values[a, b] < 0.0 and a not in known:
                continue
            score, matched = self.compare(node, one[a], two[b])
            worth.put(a, b, score + bonus if matched else score)
        return worth.best_pairs()

    def _comparisons(self, node: Node, one: list[Any], two: list[Any]) -> float:
        ours = sum(_leaves(item, self._counts) for item in one)
        return _scalar_comparisons(node, ours, sum(_leaves(item, self._counts) for item in two))

    def _solve_exactly(self, node: Node, one: list[Any], two: list[Any]) -> Pairs:
        bonus = _bonus(one, two)

        def block(rows: Indices, columns: Indices) -> Worths:
            sides = [one[a] for a in rows.tolist()], [two[b] for b in columns.tolist()]
            return _worths(self.table(node, *sides), bonus)

        bounds = None
        if len(one) * len(two) >= BOUNDED_TABLE:
            bounds = self.bounds(node, one, two)
        if bounds is None:
            return solve(_worths(self.table(node, one, two), bonus))
        values = _worths(bounds, bonus)
        exact = np.full(values.shape, False)

        def compared(rows: Indices, columns: Indices) -> Worths:
            for a, b in zip(rows.tolist(), columns.tolist(), strict=True):
                score, matched = self.compare(node, one[a], two[b])
                values[a, b], exact[a, b] = score + bonus if matched else score, True
            return values[rows, columns]

        return Worth(values, exact, block, compared).best_pairs()


def _worths(table: list[list[PairScore]], bonus: float) -> Worths:
    """Return what pairs are worth: matches have a bonus."""
    return np.array([[s + bonus if matched else s for s, matched in row] for row in table])


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


def pair_equal(
    gold: Sequence[Any], predicted: Sequence[Any], start: int = 0
) -> tuple[Pairs, list[int], list[int]]:
    """Pair equal items from `start` on, and return the indices of both sides that are left."""
    ours, theirs = Side(gold, {}, {}), Side(predicted, {}, {})
    left, right = ours.order_from(start), theirs.order_from(start)
    equal = equal_pairs(ours, theirs, left, right)
    return equal, *unpaired(equal, ours, theirs, left, right)


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


def _estimated(node: Node, one: list[Any], two: list[Any]) -> Worth:
    """Estimate similarity; likely pairs have a bonus. In large matrices, values are bounds."""
    estimate, bonus = Estimate(node, one, two), _bonus(one, two)

    def block(rows: Indices, columns: Indices, upper: bool = False) -> Worths:
        similar, likely = estimate.block(rows, columns, upper=upper)
        worth = similar.astype(np.float64)
        worth[likely] += bonus
        return worth

    def lower(rows: Indices, columns: Indices) -> Worths:
        loss, likely = estimate.loss(rows, columns)
        own = values[rows, columns]
        return own - np.where((own >= bonus) & ~likely, bonus, 0.0) - loss - SLACK

    bounded = len(one) * len(two) >= BOUNDED_PAIRS and estimate.has_bounds
    values = block(np.arange(len(one)), np.arange(len(two)), upper=bounded)
    return Worth(values, np.full(values.shape, not bounded), block, lower)


def _rest_of(worth: Worth, ours: Indices, theirs: Indices, are_long: bool) -> Worth:
    """Return the part of these items, to be compared: what was likely has no bonus here."""
    if are_long:  # long texts that mean the same have words in common
        worth.make_exact()

    def block(rows: Indices, columns: Indices) -> Worths:
        part = worth.block(ours[rows], theirs[columns])
        part[part > 1.0] = _LIKELY
        return part

    def lower(rows: Indices, columns: Indices) -> Worths:
        return np.minimum(worth.at_least(ours[rows], theirs[columns]), _LIKELY)

    grid = np.ix_(ours, theirs)
    values, exact = worth.values[grid], worth.exact[grid]
    likely = values > 1.0
    values[likely] = np.where(exact[likely], _LIKELY, 1.0)
    if are_long:
        values[values < HOPELESS_TEXT] = -1.0
    return Worth(values, exact, block, lower)


def estimated_blocks(
    node: Node, gold: Sequence[Any], predicted: Sequence[Any]
) -> Iterator[tuple[int, NDArray[np.float32]]]:
    """Estimate how likely items belong together, for huge arrays a block of gold items at a time.

    Yields the first gold item of a block, and the matrix of the block by predicted items; 0 where
    two items are hopelessly unlike.
    """
    step = max(1, DENSE_PAIRS // (4 * len(predicted)))
    for start in range(0, len(gold), step):
        similar, likely = proxy_matrix(node, gold[start : start + step], predicted)
        worth = similar + likely
        worth[worth < HOPELESS] = 0.0
        yield start, worth


def _solve_greedily(node: Node, one: list[Any], two: list[Any]) -> Pairs:
    """Pair the likeliest first, among the best candidates of each gold item; for huge arrays."""
    found: list[tuple[float, int, int]] = []
    for start, worth in estimated_blocks(node, one, two):
        best = np.argpartition(-worth, min(CANDIDATES, len(two) - 1), axis=1)[:, :CANDIDATES]
        for row, columns in enumerate(best.tolist()):
            found.extend((-float(worth[row, b]), start + row, b) for b in columns)
    used: tuple[set[int], set[int]] = (set(), set())
    pairs: Pairs = []
    for negative, a, b in sorted(found):
        if negative < 0.0 and a not in used[0] and b not in used[1]:
            used[0].add(a)
            used[1].add(b)
            pairs.append((a, b))
    return pairs


# --- assignments that are worth most --------------------------------------------------------------

# To compare all texts of two arrays takes long, and most pairs are unlike. So the assignment is
# solved on what pairs are worth at most, with texts taken as equal, and only the chosen pairs are
# compared. If they are still worth more than any other assignment can be, that is the solution. If
# not, items for which another pair may be better are compared with all others, and it is solved
# anew.

#: Error of rounding of a total.
MARGIN = 1e-7
#: Solutions on bounds after which all pairs are compared.
ROUNDS = 12
#: Share of items with a better pair beyond which all are; and items of which that is no share yet.
WEAK_SHARE = 0.3
FEW_ROWS = 100
#: Rounds after which prices are given up.
PRICE_ROUNDS = 100

Pairs = list[tuple[int, int]]
Flags = NDArray[np.bool_]
Indices = NDArray[np.int64]
Worths = NDArray[np.float64]
#: What items are worth together: all of these rows and columns, or pair by pair.
Ask = Callable[[Indices, Indices], Worths]


class Worth:
    """What pairs of items are worth, or are worth at most where this is not `exact`.

    `block` gives what all pairs of some rows and columns are worth, `lower` what single pairs are
    worth at least.
    """

    def __init__(self, values: Worths, exact: Flags, block: Ask, lower: Ask) -> None:
        self.values, self.exact, self.block, self.lower = values, exact, block, lower
        self._is_tall = values.shape[0] > values.shape[1]
        # the shorter side by the longer one: each row has a partner
        self._by_row = values.T if self._is_tall else values

    def put(self, row: int, column: int, value: float) -> None:
        """Put what a pair is worth in the place of a bound or an estimate."""
        self.values[row, column], self.exact[row, column] = value, True

    def make_exact(self, rows: Indices | None = None) -> None:
        """Replace the bounds in some rows of the shorter side, or in all."""
        every = [np.arange(size) for size in self.values.shape]
        if rows is not None:
            every[self._is_tall] = rows
        grid = np.ix_(*every)
        if not self.exact[grid].all():
            self.values[grid] = np.where(self.exact[grid], self.values[grid], self.block(*every))
            self.exact[grid] = True

    def at_least(self, rows: Indices, columns: Indices) -> Worths:
        """Return what these pairs are worth at least."""
        own = self.values[rows, columns]
        bounds = ~self.exact[rows, columns]
        if bounds.any():
            own[bounds] = self.lower(rows[bounds], columns[bounds])
        return own

    def best_pairs(self) -> Pairs:
        """Solve the assignment problem: on the bounds, where they leave one solution only.

        Otherwise the solver decides on exact values which of equal solutions it takes.
        """
        for _ in range(ROUNDS):
            if self.exact.all():
                break
            chosen = _partners(self._by_row)
            is_only, weak = self._judge(chosen)
            if is_only:
                return self._pairs(list(enumerate(chosen.tolist())))
            few = 0 < weak.size <= WEAK_SHARE * len(chosen)
            self.make_exact(weak if few else None)
        self.make_exact()
        return solve(self.values)

    def likeliest(self, count: int) -> Pairs:
        """Return the best `count` partners of each item of the shorter side."""
        if not self.exact.all():
            weak = self._judge(self._by_row.argmax(axis=1))[1] if count == 1 else None
            self.make_exact(weak)
        best = np.argpartition(-self._by_row, count - 1, axis=1)[:, :count].tolist()
        return self._pairs([(row, column) for row, some in enumerate(best) for column in some])

    def _judge(self, chosen: Indices) -> tuple[bool, Indices]:
        """Return whether no other assignment can be worth as much, and the rows where a pair can.

        Rows whose values are exact are not among the latter. The former is for assignments only.
        """
        worth, rows = self._by_row, np.arange(len(chosen))
        own = self.at_least(chosen, rows) if self._is_tall else self.at_least(rows, chosen)
        bounds = worth[rows, chosen]
        worth[rows, chosen] = -np.inf
        is_open = ~(self.exact.T if self._is_tall else self.exact).all(axis=1)
        weak = np.flatnonzero((own <= worth.max(axis=1)) & is_open)
        is_only = is_only_optimum(worth, chosen, own)
        worth[rows, chosen] = bounds
        return is_only, weak

    def _pairs(self, pairs: Pairs) -> Pairs:
        return sorted((b, a) for a, b in pairs) if self._is_tall else pairs


def is_only_optimum(worth: Worths, chosen: Indices, own: Worths) -> bool:
    """Whether all other assignments are worth less, by more than an error of rounding.

    `own` is what each row is worth with the column that is `chosen` for it; `worth` has the others.
    These are worth less if each column has a price, zero where it is unused, so that every row
    gains less in any column but its own. The lowest such prices are found by raising them until no
    other column is as good, for which as many rounds are enough as there are rows.
    """
    best = worth.max(axis=1)
    unused = np.delete(np.arange(worth.shape[1]), chosen)
    price = np.zeros(worth.shape[1])
    tempted, part = np.arange(0), worth[:0]
    for _ in range(min(PRICE_ROUNDS, len(best) + 1)):
        more = price[chosen] - own + MARGIN
        before, tempted = tempted, np.flatnonzero(best + more > 0.0)
        if tempted.size > max(FEW_ROWS, WEAK_SHARE * len(best)):
            return False
        if not np.array_equal(tempted, before):
            part = worth[tempted]
        raised = (part + more[tempted, None]).max(axis=0, initial=0.0)
        if raised[unused].any():
            return False
        if np.array_equal(raised, price):
            return True
        price = raised
    return False


def solve(worth: Worths) -> Pairs:
    """Solve the assignment problem on exact values."""
    is_tall = worth.shape[0] > worth.shape[1]
    pairs = list(enumerate(_partners(worth.T if is_tall else worth).tolist()))
    return sorted((b, a) for a, b in pairs) if is_tall else pairs


def _partners(worth: Worths) -> Indices:
    """Return the column of each row, of which there are no more than columns.

    Where no two rows are best in the same column, this needs no solver. That is also what scipy's
    solver finds then: it takes the first of equal columns, row by row.
    """
    if worth.shape == (2, 2):
        straight = worth[0, 0] + worth[1, 1] >= worth[0, 1] + worth[1, 0]
        return np.array([0, 1] if straight else [1, 0])
    best: Indices = worth.argmax(axis=1)
    if len(set(best.tolist())) < len(best):
        best = _solver()(worth, True)[1]
    return best


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
