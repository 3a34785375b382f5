"""Optimal one-to-one assignment of predicted items to gold items.

It maximises first the number of matched pairs, then the total similarity. Pairs that do not match
and are less alike than `align_threshold` take no part. Ties are broken by the items' canonical
JSON, never by position, so that shuffling either side changes no score. Small arrays are solved
exactly on the declared metrics. In large arrays equal items are paired first; the estimates that
the metrics declare propose the other pairs, and the metrics themselves compare these.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence
from functools import cache
from importlib.machinery import PathFinder
from importlib.util import module_from_spec
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from extractbench_nb.core.field_metrics.estimates import (
    Estimated,
    Flags,
    Matrix,
    judged_texts,
    similar_bags,
)
from extractbench_nb.core.field_metrics.registry import REGISTRY
from extractbench_nb.core.pairing import pair_up
from extractbench_nb.core.profile_rules import Profile
from extractbench_nb.core.schema.schema_nodes import MISSING, Node
from extractbench_nb.core.scoring import Scorer
from extractbench_nb.core.similarity import ItemComparer, MapItem, pass_threshold
from extractbench_nb.core.text.offline_judge import OfflineJudge
from extractbench_nb.core.values.json_values import canonical, canonical_unordered, json_type
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
#: Candidates that are kept for each gold item beyond that.
CANDIDATES = 30
#: Pairs of items without equal keys up to which all of their keys are compared.
KEY_PAIRS = 10_000
#: Candidates less alike than this are not worth a comparison.
HOPELESS = 0.2
#: What a pair is worth that takes part although it has nothing in common.
_TINY = 1e-9

Pairs = list[tuple[int, int]]
Worths = NDArray[np.float64]


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
        self._by_key: dict[tuple[Node, int, int], Pairs] = {}

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
        has_key = bool(node.params_of("array_llm").get("key"))
        if items is not None and len(gold) == len(predicted) == prefix + 1 and not has_key:
            pairs.append((prefix, prefix))
        elif items is not None and min(len(gold), len(predicted)) > prefix:
            pairs.extend(self._assign(node, items, gold, predicted, prefix))
        self._known[key] = sorted(pairs)
        return self._known[key]

    def _assign(
        self, array: Node, node: Node, gold: Sequence[Any], predicted: Sequence[Any], start: int
    ) -> Pairs:
        """Align items from `start` on: those with equal keys, then the others by similarity."""
        ours, theirs = self._side(gold), self._side(predicted)
        left, right = ours.order_from(start), theirs.order_from(start)
        if array.params_of("array_llm").get("key"):
            found = self._equal_keys(array, node, ours, theirs, left, right)
            self._by_key[array, id(gold), id(predicted)] = found
            left, right = _without(found, left, right)
            return found + self._by_similarity(array, node, ours, theirs, left, right)
        return self._by_similarity(array, node, ours, theirs, left, right)

    def _by_similarity(
        self, array: Node, node: Node, ours: Side, theirs: Side, left: list[int], right: list[int]
    ) -> Pairs:
        """Align items; pairs that do not match and are less alike than a threshold take no part."""
        if not left or not right:
            return []
        least = pass_threshold(array, "align_threshold", 0.5)
        equal = equal_pairs(ours, theirs, left, right)
        if len(equal) == min(len(left), len(right)):
            return equal
        preferred: Pairs = []
        if _comparisons(node, ours.leaves, theirs.leaves) <= EXACT:
            rows, columns = ({at: n for n, at in enumerate(some)} for some in (left, right))
            preferred, equal = [(rows[i], columns[j]) for i, j in equal], []
        else:
            left, right = unpaired(equal, ours, theirs, left, right)
        one, two = [ours.items[i] for i in left], [theirs.items[j] for j in right]
        pairs = len(one) * len(two)
        if self._cost(node, one, two) <= EXACT:
            found = self._solve_exactly(node, one, two, least, preferred)
        elif pairs > DENSE_PAIRS:
            found = _solve_greedily(node, one, two)
        else:
            found = self._solve_likeliest(node, one, two, least)
        return equal + [(left[a], right[b]) for a, b in found]

    def by_key(self, node: Node, gold: Sequence[Any], predicted: Sequence[Any]) -> Pairs:
        """Return the pairs of an alignment that was made whose items have equal keys.

        Parameters
        ----------
        node : Node
            The array.
        gold, predicted : sequence of object
            Its items: the same objects that were aligned.

        Returns
        -------
        list of tuple of int
            Indices of gold and predicted items; empty where the array has no ``key``.
        """
        return self._by_key.get((node, id(gold), id(predicted)), [])

    def _equal_keys(
        self, array: Node, node: Node, ours: Side, theirs: Side, left: list[int], right: list[int]
    ) -> Pairs:
        """Pair items with equal keys: the same JSON, then what the metrics of the fields pass.

        An item without a value in one of the fields has no key. Of several items with one key, the
        most similar are paired.
        """
        fields = _key_fields(array, node)
        keys = [
            {at: key for at in some if (key := _key_of(side.items[at], fields)) is not None}
            for side, some in ((ours, left), (theirs, right))
        ]
        same: dict[str, tuple[list[int], list[int]]] = defaultdict(lambda: ([], []))
        for side, some in enumerate(keys):
            for at, key in some.items():
                same[canonical(key)][side].append(at)

        def paired(mine: list[int], other: list[int], passes: Flags) -> Pairs:
            worth = np.zeros(passes.shape)
            for a, b in np.argwhere(passes).tolist():
                score, matched = self.compare(node, ours.items[mine[a]], theirs.items[other[b]])
                worth[a, b] = 2 * passes.size + _worth(score, matched, 1, 0.0)
            return [(mine[a], other[b]) for a, b in solve(worth)]

        found: Pairs = []
        for mine, other in same.values():
            if mine and other:
                found += paired(mine, other, np.ones((len(mine), len(other)), np.bool_))
        mine, other = _without(found, *keys)
        passes = np.ones((len(mine), len(other)), np.bool_)
        for position, (_, field) in enumerate(fields if mine and other else ()):
            values = ([side[item][position] for item in some] for side, some in
                      zip(keys, (mine, other), strict=True))  # fmt: skip
            passes &= self._passing(field, *values)
        return found + paired(mine, other, passes)

    def _passing(self, node: Node, gold: list[Any], predicted: list[Any]) -> Flags:
        """Return which pairs of values pass by the metrics of a field; of many, of likely ones."""
        ours, theirs = Column(node), Column(node)
        for column, values in ((ours, gold), (theirs, predicted)):
            for row, value in enumerate(values):
                column.add(row, value)
        passes = np.ones((len(ours.values), len(theirs.values)), np.bool_)
        if passes.size > KEY_PAIRS:
            passes = ours.compare(theirs)[1]
        for a, b in np.argwhere(passes).tolist():
            passes[a, b] = self._point(node, ours.values[a], theirs.values[b])[1]
        return passes[np.ix_(_positions(ours, len(gold)), _positions(theirs, len(predicted)))]

    def _side(self, items: Sequence[Any]) -> Side:
        side = self._sides.get(id(items))
        if side is None:
            side = self._sides[id(items)] = Side(items, self._texts, self._counts)
        return side

    def _cost(self, node: Node, one: list[Any], two: list[Any]) -> float:
        """Return the comparisons of scalars that comparing all pairs of items takes."""
        ours, theirs = (_leaves(side, self._counts) for side in (one, two))
        return max(len(one) * len(two), _comparisons(node, ours, theirs))

    def _solve_exactly(
        self, node: Node, one: list[Any], two: list[Any], least: float, preferred: Pairs
    ) -> Pairs:
        """Solve on what pairs are worth at most, until all chosen pairs have been compared.

        Of equal solutions the one with most of the preferred pairs, those of equal items, is taken.
        """
        worth = np.empty((len(one), len(two)))
        is_bound = np.zeros(worth.shape, np.bool_)
        bonus = _bonus(worth)
        for a, gold in enumerate(one):
            for b, predicted in enumerate(two):
                (score, matched), is_bound[a, b] = self.at_most(node, gold, predicted)
                worth[a, b] = _worth(score, matched, bonus, least)
        for pair in preferred:
            worth[pair] += _TINY * (worth[pair] > 0.0)
        while True:
            pairs = solve(worth)
            compared = [(a, b) for a, b in pairs if is_bound[a, b] and worth[a, b] > 0.0]
            if not compared:
                return pairs
            self._put(worth, node, one, two, compared, least)
            for pair in compared:
                is_bound[pair] = False

    def _put(
        self,
        worth: Worths,
        node: Node,
        one: list[Any],
        two: list[Any],
        pairs: Iterable[tuple[int, int]],
        least: float,
    ) -> None:
        """Put what pairs are worth by the declared metrics into a matrix."""
        bonus = _bonus(worth)
        for a, b in pairs:
            score, matched = self.compare(node, one[a], two[b])
            worth[a, b] = _worth(score, matched, bonus, least)

    def _solve_likeliest(self, node: Node, one: list[Any], two: list[Any], least: float) -> Pairs:
        """Compare the pairs that are best by the estimate, then the likeliest of those left."""
        similar, likely = estimate(node, one, two)
        pairs = solve(similar + _bonus(similar) * likely)
        matched = [(a, b) for a, b in pairs if self.compare(node, one[a], two[b]).matched]
        ours = sorted(set(range(len(one))) - {a for a, _ in matched})
        theirs = sorted(set(range(len(two))) - {b for _, b in matched})
        if not ours or not theirs:
            return matched
        rest, others = [one[a] for a in ours], [two[b] for b in theirs]
        if self._cost(node, rest, others) <= EXACT:
            found = self._solve_exactly(node, rest, others, least, [])
            return matched + [(ours[a], theirs[b]) for a, b in found]
        a_pair = self._cost(node, one, two) / similar.size
        spent = a_pair * min(len(rest), len(others))
        most = min(SECOND_LOOK, len(rest), len(others))
        count = min(most, round(SECOND_LOOK_COMPARISONS / spent)) if a_pair <= LARGE_PAIR else 0
        candidates = _candidates(similar[np.ix_(ours, theirs)], count)
        # the estimate does not know of accepted alternatives
        known = [a for a, item in enumerate(rest) if self.scorer.accepted.of_scalars(item)]
        if len(known) * len(others) <= ALTERNATIVE_PAIRS:
            candidates += [(a, b) for a in known for b in range(len(others))]
        place = {i: a for a, i in enumerate(ours)}, {j: b for b, j in enumerate(theirs)}
        candidates += [(place[0][i], place[1][j]) for i, j in set(pairs) - set(matched)]
        worth = np.full((len(rest), len(others)), _TINY if least <= 0.0 else 0.0)
        self._put(worth, node, rest, others, candidates, least)
        return matched + [(ours[a], theirs[b]) for a, b in solve(worth)]


def _key_fields(array: Node, node: Node) -> list[tuple[str, Node]]:
    """Return the fields of the items whose values are the array's ``key``."""
    names = array.params_of("array_llm")["key"]
    fields = []
    for name in [names] if isinstance(names, str) else names:
        if name not in node.children.properties:
            hint = nearest(name, node.children.properties)
            problem = f"key of array_llm is {name!r}, which is no field of the items; {hint}"
            raise ConfigError(array.pointer + "/evaluation_config", problem)
        fields.append((name, node.children.properties[name]))
    return fields


def _key_of(item: Any, fields: Iterable[tuple[str, Node]]) -> list[Any] | None:
    """Return the values of an item's key; None where one of them is absent."""
    item = item.item if isinstance(item, MapItem) else item
    values = [item.get(name) for name, _ in fields] if isinstance(item, dict) else [None]
    return None if any(value in (None, "", [], {}) for value in values) else values


def _bonus(worth: NDArray[Any]) -> int:
    """Return what a match is worth: more than all similarities together."""
    return 2 + int(min(worth.shape))


def _worth(score: float, matched: bool, bonus: float, least: float) -> float:
    """Return what a pair of items is worth: nothing if it takes no part."""
    if matched:
        return score + bonus
    return max(score, _TINY) if score >= least else 0.0


def _candidates(similar: Matrix, count: int) -> Pairs:
    """Return the likeliest partners of each item of the shorter side."""
    is_tall = similar.shape[0] > similar.shape[1]
    part = similar.T if is_tall else similar
    best = np.argpartition(-part, count - 1, axis=1)[:, :count] if count else np.empty((0, 0))
    pairs = [(row, c) for row, some in enumerate(best.tolist()) for c in some]
    likely = [(row, c) for row, c in pairs if part[row, c] >= HOPELESS]
    return [(c, row) for row, c in likely] if is_tall else likely


# --- the items of one side -----------------------------------------------------------------------


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


def _without(
    pairs: Pairs, left: Iterable[int], right: Iterable[int]
) -> tuple[list[int], list[int]]:
    """Return the indices of both sides that are in no pair."""
    done = {i for i, _ in pairs}, {j for _, j in pairs}
    return [i for i in left if i not in done[0]], [j for j in right if j not in done[1]]


def unpaired(
    equal: Pairs, ours: Side, theirs: Side, left: list[int], right: list[int]
) -> tuple[list[int], list[int]]:
    """Return the indices that are in no pair of equal items.

    Of equal items among them, no more are kept than can find a partner (models that loop repeat one
    item).
    """
    left, right = _without(equal, left, right)
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


def _comparisons(node: Node, leaves: int, others: int) -> float:
    """Estimate the comparisons of scalars that comparing all pairs of items takes.

    An item's own fields, `flat` of them, are compared one by one, the items of its arrays pair by
    pair: together about ``leaves * others / flat``.
    """
    flat = sum(1 for c in node.children if c.kind != "array") if node.kind == "object" else 1
    return leaves * others / max(1, flat)


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


# --- estimates of all pairs -----------------------------------------------------------------------


def estimate(node: Node, gold: Sequence[Any], predicted: Sequence[Any]) -> tuple[Matrix, Flags]:
    """Estimate the similarity of all pairs of items, and which of them are likely to match.

    Each field of the items is a column, whose different values are compared by the estimate that
    its metric declares.
    """
    shape = len(gold), len(predicted)
    total, count = np.zeros(shape, np.float32), np.zeros(shape, np.float32)
    likely = np.ones(shape, np.bool_)
    ours, theirs = _columns(node, gold), _columns(node, predicted)
    for suffix in dict.fromkeys((*ours, *theirs)):
        left, right = ours.get(suffix), theirs.get(suffix)
        rows, columns = (_positions(c, n) for c, n in ((left, shape[0]), (right, shape[1])))
        in_gold, in_predicted = rows >= 0, columns >= 0
        everywhere = bool(in_gold.all() and in_predicted.all())
        if left is not None and right is not None:
            similar, passes = left.compare(right)
            if similar.shape != shape or not everywhere:
                values = np.ix_(rows[in_gold], columns[in_predicted])
                similar, passes = similar[values], passes[values]
            block = ... if everywhere else np.ix_(in_gold, in_predicted)  # faster without
            total[block] += similar
            likely[block] &= passes
        if everywhere:
            count += 1.0
        else:
            count += in_gold[:, None] | in_predicted
            likely &= in_gold[:, None] == in_predicted
    np.divide(total, count, out=total, where=count > 0)
    total[count == 0] = 1.0
    # where one item is a container and the other is not, they are compared as texts
    kinds = [np.array([_container(item) for item in side]) for side in (gold, predicted)]
    differ = kinds[0][:, None] != kinds[1]
    if differ.any():
        total[differ] = similar_bags(gold, predicted, {})[0][differ]
        likely[differ] = False
    return total, likely


def _container(item: Any) -> int:
    kind = json_type(item.item if isinstance(item, MapItem) else item)
    return {"object": 1, "array": 2}.get(kind, 0)


class Column:
    """One field of the items of one side: its node, its different values, and which an item has."""

    def __init__(self, node: Node | None) -> None:
        self.node = node
        self.values: list[Any] = []
        self.positions: dict[int, int] = {}
        self._known: dict[Any, int] = {}

    def add(self, row: int, value: Any) -> None:
        """Set the value of an item."""
        key = (type(value), value) if not isinstance(value, dict | list) else row
        at = self._known.setdefault(key, len(self.values))
        if at == len(self.values):
            self.values.append(value)
        self.positions[row] = at

    def compare(self, other: Column) -> Estimated:
        """Estimate the similarity of all values of both sides, by the metric of the field."""
        specs = self.node.config.metrics if self.node is not None and self.node.config else ()
        params = specs[0].params if specs else {}
        entry = REGISTRY.entries.get(specs[0].metric_id) if specs else None
        compare = entry.estimate if entry is not None else judged_texts
        if any(isinstance(value, dict | list) for value in (*self.values, *other.values)):
            compare = similar_bags
        return compare(self.values, other.values, params)


def _columns(node: Node, items: Sequence[Any]) -> dict[str, Column]:
    """Spread items over columns, by path within the item."""
    columns: dict[str, Column] = {}

    def add(suffix: str, at: Node | None, row: int, value: Any) -> None:
        column = columns.get(suffix)
        if column is None:
            column = columns[suffix] = Column(at)
        column.add(row, value)

    for row, entry in enumerate(items):
        item = entry
        if isinstance(entry, MapItem):
            add("key", None, row, entry.key)
            item = entry.item
        if isinstance(item, str) and node.types and "string" not in node.types:
            add("whole", None, row, item)
            continue
        for at, value, _, suffix in pair_up(node, item, MISSING):
            if value is not MISSING and value is not None:
                add(suffix or "item", at, row, _first_of_class(at, value))
    return columns


def _positions(column: Column | None, size: int) -> NDArray[np.int64]:
    """Return for each item the position of its value among the values; -1 if it has none."""
    positions = np.full(size, -1)
    if column is not None:
        positions[list(column.positions)] = list(column.positions.values())
    return positions


def _first_of_class(node: Node, value: Any) -> Any:
    """Return the first of the values that the schema declares to mean the same."""
    if node.config is None or not node.config.accepted or isinstance(value, dict | list):
        return value
    classes = (members for members in node.config.accepted if value in members)
    return next((m for m in next(classes, (value,)) if m is not None), value)


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


def solve(worth: NDArray[Any]) -> Pairs:
    """Solve the assignment problem; pairs that are worth nothing take no part."""
    if not worth.size:
        return []
    rows, columns = _solver()(worth, True)
    kept = worth[rows, columns] > 0.0
    return list(zip(rows[kept].tolist(), columns[kept].tolist(), strict=True))


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
