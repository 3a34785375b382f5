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
        aligned_pairs = self._aligned.get(key)
        if aligned_pairs is not None:
            return aligned_pairs
        # items of prefixItems are paired by position, all others optimally
        item_node, prefix = node.children.items, len(node.children.prefix)
        pairs = [(i, i) for i in range(min(prefix, len(gold), len(predicted)))]
        key_param = node.alignment_params["key"]
        if item_node is not None and len(gold) == len(predicted) == prefix + 1 and not key_param:
            pairs.append((prefix, prefix))
        elif item_node is not None and min(len(gold), len(predicted)) > prefix:
            for items in (gold, predicted):
                if id(items) not in self._sides:
                    self._sides[id(items)] = Side(items, self._texts)
            ours, theirs = self._sides[id(gold)], self._sides[id(predicted)]
            left, right = ([i for i in side.order if i >= prefix] for side in (ours, theirs))
            if key_param:
                self.pairs_by_key[key] = self._pair_keys(node, gold, predicted, left, right)
                pairs += self.pairs_by_key[key]
                left, right = _without(pairs, left, right)
            if left and right:
                pairs += self._pair_by_similarity(node, item_node, ours, theirs, left, right)
        self._aligned[key] = sorted(pairs)
        return self._aligned[key]

    def _pair_by_similarity(
        self, array: Node, node: Node, ours: Side, theirs: Side, left: list[int], right: list[int]
    ) -> Pairs:
        """Pair items; pairs that do not match and are less alike than a threshold take no part."""
        least = pass_threshold(array, "align_threshold", 0.5)
        equal, *rest = _peel(ours, theirs, left, right)
        if len(equal) == min(len(left), len(right)):
            return equal
        gold, predicted = [ours.items[i] for i in left], [theirs.items[j] for j in right]
        if self._is_small(node, gold, predicted):
            # metrics with a tolerance may match more items if equal ones are not paired
            preferred = [(left.index(i), right.index(j)) for i, j in equal]
            pairs = self._solve(node, (gold, predicted), least, preferred=preferred)
            return [(left[a], right[b]) for a, b in pairs]
        left, right = rest
        gold, predicted = [ours.items[i] for i in left], [theirs.items[j] for j in right]
        if len(gold) * len(predicted) > DENSE_PAIRS:
            pairs = _solve_greedily(node, gold, predicted)
        elif self._is_small(node, gold, predicted):
            pairs = self._solve(node, (gold, predicted), least)
        else:
            pairs = self._solve_likeliest(node, gold, predicted, least)
        return equal + [(left[a], right[b]) for a, b in pairs]

    def _solve(
        self,
        node: Node,
        sides: tuple[list[Any], list[Any]],
        least: float,
        *,
        candidates: Iterable[Sequence[int]] | None = None,
        preferred: Iterable[tuple[int, int]] = (),
        by_key: bool = False,
    ) -> Pairs:
        """Pair items on the declared metrics: any of them, or candidates only.

        It may begin with what pairs are worth at most, until all chosen pairs have been compared.
        Of equal solutions the one with most of the `preferred` pairs is taken. With `by_key` the
        number of pairs comes before that of matches.
        """
        gold, predicted = sides
        worth = np.full((len(gold), len(predicted)), 0.0 if by_key or least > 0.0 else _TINY)
        match_bonus = 2.0 + min(worth.shape)  # more than all similarities together
        pair_bonus = (match_bonus + 1.0) ** 2 if by_key else 0.0
        bounds: set[tuple[int, int]] = set()

        def put(a: int, b: int, *, exactly: bool) -> None:
            (score, matched), is_bound = self.at_most(node, gold[a], predicted[b], exactly=exactly)
            takes_part = matched or score >= least
            total = max(score, _TINY) + matched * match_bonus + pair_bonus
            worth[a, b] = total if takes_part else 0.0
            (bounds.add if is_bound else bounds.discard)((a, b))

        # bounds tell pairs apart only if the items have fields that take no time to compare
        properties = node.children.properties.values()
        exactly = self._is_costly(node) or all(map(self._is_costly, properties))
        everything = itertools.product(range(len(gold)), range(len(predicted)))
        for a, b in everything if candidates is None else candidates:
            put(a, b, exactly=exactly)
        for pair in preferred:
            worth[pair] += _TINY * (worth[pair] > 0.0)
        while True:
            pairs = solve(worth)
            open_pairs = bounds.intersection(pairs)
            if not open_pairs:
                return pairs
            for a, b in open_pairs:
                put(a, b, exactly=True)

    def _solve_likeliest(
        self, node: Node, gold: list[Any], predicted: list[Any], least: float
    ) -> Pairs:
        """Compare the pairs that are best by the estimate, then the likeliest of those left."""
        similar, likely = estimate(node, gold, predicted)
        proposed = solve(similar + (2.0 + min(similar.shape)) * likely)
        matched = [
            (a, b)
            for a, b in proposed
            if self.at_most(node, gold[a], predicted[b])[0].matched
            and self.compare(node, gold[a], predicted[b]).matched
        ]
        rows, columns = _without(matched, range(len(gold)), range(len(predicted)))
        if not rows or not columns:
            return matched
        ours, theirs = [gold[a] for a in rows], [predicted[b] for b in columns]
        candidates = None
        if not self._is_small(node, ours, theirs):
            shorter = min(len(ours), len(theirs))
            per_pair = self._comparisons(node, gold, predicted) / similar.size
            affordable = round(SECOND_LOOK_COMPARISONS / (per_pair * shorter))
            count = min(SECOND_LOOK, shorter, affordable) if per_pair <= LARGE_PAIR else 0
            candidates = _likeliest(similar[np.ix_(rows, columns)], count)
            # the estimate knows no accepted alternatives
            accepting = [a for a, item in enumerate(ours) if self.scorer.accepted.of_scalars(item)]
            if len(accepting) * len(theirs) <= ALTERNATIVE_PAIRS:
                candidates += itertools.product(accepting, range(len(theirs)))
            place = [{at: n for n, at in enumerate(some)} for some in (rows, columns)]
            candidates += [(place[0][a], place[1][b]) for a, b in set(proposed) - set(matched)]
        pairs = self._solve(node, (ours, theirs), least, candidates=candidates)
        return matched + [(rows[a], columns[b]) for a, b in pairs]

    def _is_small(self, node: Node, gold: list[Any], predicted: list[Any]) -> bool:
        """Whether all pairs of items can be compared by the declared metrics."""
        pairs = len(gold) * len(predicted)  # counted first: it takes no walk through the items
        return pairs <= EXACT and self._comparisons(node, gold, predicted) <= EXACT

    def _comparisons(self, node: Node, gold: list[Any], predicted: list[Any]) -> float:
        """Estimate the comparisons of scalars that comparing all pairs of items takes.

        An item's own fields, `flat` of them, are compared one by one, the items of its arrays pair
        by pair: together about ``leaves * others / flat``.
        """
        flat = sum(c.kind != "array" for c in node.children) if node.kind == "object" else 1
        leaves, others = (
            sum([_leaves(item, self._sizes) for item in side]) for side in (gold, predicted)
        )
        return max(len(gold) * len(predicted), leaves * others / max(1, flat))

    def _pair_keys(
        self,
        array: Node,
        gold: Sequence[Any],
        predicted: Sequence[Any],
        left: list[int],
        right: list[int],
    ) -> Pairs:
        """Pair items with equal keys: the same JSON, then what the metrics of the fields pass.

        An item without a value in one of the fields has no key. Of several items with one key, the
        most similar are paired.
        """
        node = array.children.items
        assert node is not None  # noqa: S101 - see `__call__`
        fields = _key_fields(array, node)
        gold_keys, predicted_keys = (
            {at: key for at in some if (key := _key_of(items[at], fields)) is not None}
            for items, some in ((gold, left), (predicted, right))
        )
        pairs: Pairs = []

        def pair(rows: list[int], columns: list[int], passes: Flags) -> None:
            items = [gold[i] for i in rows], [predicted[j] for j in columns]
            candidates = np.argwhere(passes).tolist()
            chosen = self._solve(node, items, 0.0, candidates=candidates, by_key=True)
            pairs.extend((rows[a], columns[b]) for a, b in chosen)

        same: dict[str, tuple[list[int], list[int]]] = defaultdict(lambda: ([], []))
        for side, keys in enumerate((gold_keys, predicted_keys)):
            for at, key in keys.items():
                same[canonical(key)][side].append(at)
        for rows, columns in same.values():
            if rows and columns:
                pair(rows, columns, np.ones((len(rows), len(columns)), np.bool_))
        rows, columns = _without(pairs, gold_keys, predicted_keys)
        passes = np.ones((len(rows), len(columns)), np.bool_)
        for n, (_, field) in enumerate(fields if rows and columns else ()):
            values = [gold_keys[i][n] for i in rows], [predicted_keys[j][n] for j in columns]
            passes &= self._passing(field, *values)
        pair(rows, columns, passes)
        return pairs

    def _passing(self, node: Node, gold: list[Any], predicted: list[Any]) -> Flags:
        """Return which pairs of values pass by the metrics of a field; of many, of likely ones."""
        left, rows = _distinct(dict(enumerate(gold)), len(gold))
        right, columns = _distinct(dict(enumerate(predicted)), len(predicted))
        passes = np.ones((len(left), len(right)), np.bool_)
        if passes.size > KEY_PAIRS:
            passes = _estimated(node, left, right)[1]
        for a, b in np.argwhere(passes).tolist():
            passes[a, b] = self._score_field(node, left[a], right[b]).passed
        return passes[rows][:, columns]


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


def _likeliest(similar: Matrix, count: int) -> Pairs:
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
    return [(b, a) for a, b in pairs] if is_tall else pairs


def _leaves(value: Any, memo: dict[int, int]) -> int:
    """Count the scalars of an item; the memo is by identity."""
    if not isinstance(value, dict | list | tuple):
        return 1
    count = memo.get(id(value))
    if count is None:
        below = value.values() if isinstance(value, dict) else value
        count = memo[id(value)] = sum([_leaves(inner, memo) for inner in below])
    return count


# --- equal items ---------------------------------------------------------------------------------


class Side:
    """The items of one side, their canonical texts, and their indices ordered by these."""

    __slots__ = ("items", "order", "texts")

    def __init__(self, items: Sequence[Any], memo: dict[int, str] | None = None) -> None:
        self.items = items
        self.texts = [
            repr(item.key) + canonical_unordered(item.item, memo)
            if isinstance(item, MapItem)
            else canonical_unordered(item, memo)
            for item in items
        ]
        copies = Counter(self.texts)  # they may differ in the order of arrays inside them
        ties = [
            (text, canonical(item) if copies[text] > 1 else "")
            for text, item in zip(self.texts, items, strict=True)
        ]
        self.order = sorted(range(len(items)), key=ties.__getitem__)


def pair_equal(
    gold: Sequence[Any], predicted: Sequence[Any], start: int = 0
) -> tuple[Pairs, list[int], list[int]]:
    """Pair equal items from `start` on, and return the indices of both sides that are left."""
    ours, theirs = Side(gold), Side(predicted)
    return _peel(ours, theirs, *([i for i in s.order if i >= start] for s in (ours, theirs)))


def _peel(
    ours: Side, theirs: Side, left: list[int], right: list[int]
) -> tuple[Pairs, list[int], list[int]]:
    """Pair items that are equal but for the order of arrays inside them; return what is left.

    Of equal items that are left, no more are kept than can find a partner (models that loop repeat
    one item).
    """
    waiting: dict[str, list[int]] = defaultdict(list)
    for j in reversed(right):
        waiting[theirs.texts[j]].append(j)
    equal = [(i, waiting[text].pop()) for i in left if waiting.get(text := ours.texts[i])]
    left, right = _without(equal, left, right)
    for some, copies, texts in ((left, len(right), ours.texts), (right, len(left), theirs.texts)):
        some[:] = [
            i for n, i in enumerate(some) if n < copies or texts[some[n - copies]] != texts[i]
        ]
    return equal, left, right


def _without(
    pairs: Pairs, left: Iterable[int], right: Iterable[int]
) -> tuple[list[int], list[int]]:
    """Return the indices of both sides that are in no pair."""
    done = {i for i, _ in pairs}, {j for _, j in pairs}
    return [i for i in left if i not in done[0]], [j for j in right if j not in done[1]]


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
    kinds = [np.array([_container(item) for item in side]) for side in (gold, predicted)]
    differ = kinds[0][:, None] != kinds[1]
    if differ.any():
        total[differ] = similar_bags(gold, predicted, {})[0][differ]
        likely[differ] = False
    return total, likely


def _container(item: Any) -> int:
    kind = json_type(item.item if isinstance(item, MapItem) else item)
    return {"object": 1, "array": 2}.get(kind, 0)


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
                columns[suffix or "item"][row] = _first_of_class(at, value)
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


def _first_of_class(node: Node, value: Any) -> Any:
    """Return the first of the values that the schema declares to have the same meaning."""
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


def _solve_greedily(node: Node, gold: list[Any], predicted: list[Any]) -> Pairs:
    """Pair the likeliest first, among the best candidates of each item; for huge arrays."""
    ranked: list[tuple[float, int, int]] = []
    for start, worth in estimated_blocks(node, gold, predicted):
        ranked += [(-worth[a, b], start + a, b) for a, b in _likeliest(worth, CANDIDATES)]
    pairs: dict[int, int] = {}
    taken: set[int] = set()
    for _, a, b in sorted(ranked):
        if a not in pairs and b not in taken:
            pairs[a] = b
            taken.add(b)
    return list(pairs.items())


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
