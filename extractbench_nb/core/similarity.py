"""Similarity of two array items, by the declared metrics of their fields.

Most items are regular: objects with scalars, and arrays of such. Their values are read once per
item, and verdicts are cached by field, so that comparing all pairs of a small array is cheap.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from operator import itemgetter
from typing import Any, NamedTuple

from extractbench_nb.core.accepted import class_members
from extractbench_nb.core.field_metrics.estimates import equal_codes
from extractbench_nb.core.field_metrics.registry import REGISTRY
from extractbench_nb.core.field_metrics.string_metrics import string_normalized
from extractbench_nb.core.pairing import pair_up, resolve_union
from extractbench_nb.core.schema.schema_nodes import PRESENT, Node, state_of
from extractbench_nb.core.scoring import ALIGNED, Pending, Scored, Scorer, point_score
from extractbench_nb.core.text.offline_judge import similarity as text_similarity
from extractbench_nb.core.values.json_values import (
    canonical,
    canonical_unordered,
    json_text,
    json_type,
    leaf_texts,
    normal_path,
)

#: Score of an offline guess from which a verdict that is still awaited is taken for a pass.
_LIKELY = 0.7

Memo = dict[tuple[Any, ...], tuple[float, bool, bool]]


class _KeyAndItem(NamedTuple):
    key: str
    item: Any


class MapItem(_KeyAndItem):
    """One item of a map of arrays, which is aligned as pairs of key and item.

    Attributes
    ----------
    key : str
        The key under which the item stands.
    item : object
        The item, a JSON value.
    siblings : collection of str
        All keys of its map.
    """

    siblings: Collection[Any] = ()

    def replaced(self, item: Any) -> MapItem:
        """Return another item that stands under the same key.

        Parameters
        ----------
        item : object
            The other item, a JSON value.

        Returns
        -------
        MapItem
            With the key and the siblings of this one.
        """
        other = MapItem(self.key, item)
        other.siblings = self.siblings
        return other


class PairScore(NamedTuple):
    """Similarity in [0, 1] of two items, and whether every scored field passes."""

    similarity: float
    matched: bool


def map_items(value: dict[Any, Any]) -> list[MapItem]:
    """Flatten a map of arrays; an entry that is not an array counts as one item, null as none."""
    items = []
    for key, inner in value.items():
        for item in inner if isinstance(inner, list) else [inner] if inner is not None else ():
            items.append(MapItem(str(key), item))
            items[-1].siblings = value
    return items


def same_key(gold: MapItem, predicted: MapItem) -> bool:
    """Whether two items stand under the same key.

    Keys may differ in case and punctuation, but not where a map holds both ways of writing it.
    """
    one, two = gold.key, predicted.key
    if one == two or not string_normalized(one, two):
        return one == two
    return two not in gold.siblings and one not in predicted.siblings


def array_score(matched: int, gold: int, predicted: int, kind: str) -> float:
    """Return the score of an array from its counts."""
    if gold == predicted == 0:
        return 1.0
    if kind == "f1":
        return 2 * matched / (gold + predicted)
    return matched / gold if gold else 0.0


def pass_threshold(node: Node, name: str = "pass_threshold", default: float = 0.7) -> float:
    """Return a threshold param of an array node."""
    value = node.params_of("array_llm").get(name, default)
    return float(value) if isinstance(value, int | float) else default


def never_match(gold: Any, predicted: Any) -> bool:
    """Whether two items can never match because one is a container and the other is not."""
    one, two = json_type(gold), json_type(predicted)
    return one != two and bool({one, two} & {"object", "array"})


def text_of(value: Any) -> str:
    """Return an item as one text: its leaves, joined."""
    return value if isinstance(value, str) else " ".join(leaf_texts(value))


def unlike_similarity(gold: Any, predicted: Any) -> float:
    """Compare two items of which one is a container and the other is not of its kind, as texts.

    For an object and an array the words are sorted, so the order of keys has no effect.
    """
    texts = text_of(gold), text_of(predicted)
    if isinstance(gold, dict | list) and isinstance(predicted, dict | list):
        texts = (" ".join(sorted(texts[0].split())), " ".join(sorted(texts[1].split())))
    return text_similarity(*texts)


class ItemComparer:
    """Compares array items by the metrics that the schema declares for their fields.

    Results are remembered by the identity of the items, which must live as long as the comparer:
    an alignment asks for the same pairs at every level of nesting. A call aligns the items of
    arrays inside the items.
    """

    def __init__(self, scorer: Scorer) -> None:
        self.scorer = scorer
        self._pairs: dict[tuple[Node, int, int], PairScore] = {}
        self._fields: dict[Node, tuple[FlatField, ...] | None] = {}
        self._rows: dict[tuple[Node, int], tuple[Any, ...] | None] = {}
        self._memos: dict[tuple[int, int], Memo] = {}
        self._flattened: dict[int, list[MapItem]] = {}
        self._kept: list[Any] = []

    def __call__(self, node: Node, gold: Any, predicted: Any) -> list[tuple[int, int]]:
        """Pair the items of two arrays."""
        raise NotImplementedError

    def compare(self, node: Node, gold: Any, predicted: Any) -> PairScore:
        """Compare two items."""
        key = (node, id(gold), id(predicted))
        found = self._pairs.get(key)
        if found is None:
            found = self._pairs[key] = self._compare(node, gold, predicted)
        return found

    def _compare(self, node: Node, gold: Any, predicted: Any) -> PairScore:
        if isinstance(gold, MapItem):
            same = same_key(gold, predicted)
            inner = self.compare(node, gold.item, predicted.item)
            return PairScore((inner.similarity + same) / 2, inner.matched and same)
        ours, theirs = self.row(node, gold), self.row(node, predicted)
        if ours is not None and theirs is not None:
            fields = self._fields[node] or ()
            results = [
                self._field(field, one, two)
                for field, one, two in zip(fields, ours, theirs, strict=True)
                if one is not None or two is not None
            ]
            return (
                _mean(results, gold, predicted) if results or not fields else PairScore(1.0, True)
            )
        if never_match(gold, predicted):
            return PairScore(unlike_similarity(gold, predicted), False)
        others = self.scorer.accepted.of_scalars(gold)
        results = [
            self._point(at, one, two, others.get(normal_path(suffix), ()) if others else ())
            for at, one, two, suffix in pair_up(node, gold, predicted)
        ]
        return _mean(results, gold, predicted)

    def at_most(self, node: Node, gold: Any, predicted: Any) -> tuple[PairScore, bool]:
        """Return how similar two items are at most, and whether they may be less similar.

        Texts and arrays that differ count as equal: they take most of the time, and most pairs of
        items are unlike. Irregular items are compared.
        """
        is_regular = not isinstance(gold, MapItem)
        ours, theirs = (self.row(node, item) if is_regular else None for item in (gold, predicted))
        if ours is None or theirs is None:
            return self.compare(node, gold, predicted), False
        total, count, matched, is_bound = 0.0, 0, True, False
        for field, one, two in zip(self._fields[node] or (), ours, theirs, strict=True):
            if one is None and two is None:
                continue
            if field.is_costly and one is not None and two is not None and one != two:
                is_bound = True
                total += 1.0
                count += 1
            else:
                score, passed, present = self._field(field, one, two)
                matched = matched and passed
                if present:
                    total += score
                    count += 1
        if not count:
            return self.compare(node, gold, predicted), False
        return PairScore(total / count, matched), is_bound

    def readings(
        self, node: Node, array: Any, gold: Sequence[Any], predicted: Sequence[Any]
    ) -> dict[int, Any]:
        """Choose accepted alternatives to put in the place of gold's items, by index.

        One is chosen if it is nearer than gold's own item to a predicted item that no other item
        of gold matches: a match first, then the most similar. Ties are broken by canonical JSON.
        """
        chosen: dict[int, Any] = {}
        alternatives = self.scorer.accepted.of_items(array)
        for i in sorted(alternatives, key=lambda i: (canonical(gold[i]), i)):
            at, own = node.item(i), gold[i]
            if at is None:
                continue
            partners = predicted[i : i + 1] if i < len(node.children.prefix) else predicted
            others = [chosen.get(k, item) for k, item in enumerate(gold) if k != i]
            best = self._nearest(at, own, partners, others)
            values = sorted(alternatives[i], key=canonical)
            readings = [own.replaced(v) if isinstance(own, MapItem) else v for v in values]
            self._kept.append(readings)  # results are remembered by identity
            for reading in readings if not best[0] else ():
                nearest = self._nearest(at, reading, partners, others)
                if nearest > best:
                    best, chosen[i] = nearest, reading
        return chosen

    def _nearest(
        self, node: Node, gold: Any, partners: Sequence[Any], others: Sequence[Any]
    ) -> tuple[bool, float]:
        """Return how near an item is to the nearest partner that none of the others matches."""
        results = [self.compare(node, gold, partner) for partner in partners]
        for j in sorted(range(len(partners)), key=lambda j: (-results[j].matched, -results[j][0])):
            if not any(self.compare(node, other, partners[j]).matched for other in others):
                return results[j].matched, results[j].similarity
        return False, -1.0

    def row(self, node: Node, item: Any) -> tuple[Any, ...] | None:
        """Return an item's values by field; None if its schema or the item is irregular."""
        key = (node, id(item))
        if key not in self._rows:
            if node not in self._fields:
                flat = flat_fields(node)
                # fields that a $ref leads to the same definition share their verdicts
                self._fields[node] = flat and tuple(
                    f._replace(
                        memo=self._memos.setdefault((id(f.node.keywords), id(f.node.config)), {})
                    )
                    for f in flat
                )
            fields = self._fields[node]
            irregular = fields is None or self.scorer.accepted.of_scalars(item)
            self._rows[key] = None if irregular else _values(fields or (), item)
        return self._rows[key]

    def _field(self, field: FlatField, ours: Any, theirs: Any) -> tuple[float, bool, bool]:
        """Return score, verdict, and whether the field is present; it is not null on both sides."""
        if field.is_array:
            return self._point(field.node, ours, theirs)
        key = (ours, theirs, type(ours), type(theirs))
        found = field.memo.get(key)
        if found is None:
            found = field.memo[key] = self._point(field.node, ours, theirs)
        return found

    def _point(
        self, node: Node, gold: Any, predicted: Any, others: Sequence[Any] = ()
    ) -> tuple[float, bool, bool]:
        """Return score, verdict, and whether the field is present on either side.

        The best one of gold and its accepted alternatives counts, as in `Scorer.best_reading`.
        """
        node = resolve_union(node, gold, predicted) if node.kind == "union" else node
        score_it = self.scorer.whole_array if node.kind == "array" else self.scorer.verdicts
        settled = [self._settled(v, node, gold, predicted) for v in score_it(node, gold, predicted)]
        score, passed = point_score(settled)
        present = PRESENT in (state_of(gold, node), state_of(predicted, node))
        found = (score or 0.0, bool(passed), present)
        if not others and (node.config is None or not node.config.accepted):
            return found
        for other in (*others, *class_members(node, gold)):
            score, passed = point_score(
                [self._settled(v, node, other, predicted) for v in score_it(node, other, predicted)]
            )
            found = max(found, (score or 0.0, bool(passed), present), key=itemgetter(1, 0))
        return found

    def _settled(self, verdict: Scored | Pending, node: Node, gold: Any, predicted: Any) -> Scored:
        """Replace what is still open: an inner alignment, or a verdict that must be awaited."""
        if isinstance(verdict, Pending):  # a metric of the user's: the similarity of the texts
            spec = verdict.metric.spec
            score = text_similarity(json_text(gold), json_text(predicted))
            return Scored(spec.metric_id, score, score >= _LIKELY, "", "", weight=spec.weight)
        if verdict.outcome != ALIGNED:
            return verdict
        score, passed = self._inner_array(node, gold, predicted)
        return verdict._replace(score=score, passed=passed)

    def _inner_array(self, node: Node, gold: Any, predicted: Any) -> tuple[float, bool]:
        array = gold
        if isinstance(gold, dict):  # maps of arrays; the same items each time
            gold, predicted = (
                self._flattened.setdefault(id(value), map_items(value))
                for value in (gold, predicted)
            )
        matched = 0
        readings = self.readings(node, array, gold, predicted)
        if readings:
            gold = [readings.get(i, item) for i, item in enumerate(gold)]
            self._kept.append(gold)
        for i, j in self(node, gold, predicted):
            at = node.item(i)
            if at is not None:
                matched += self.compare(at, gold[i], predicted[j]).matched
        score = array_score(matched, len(gold), len(predicted), self.scorer.profile.array_score)
        return score, score >= pass_threshold(node)


def _mean(results: list[tuple[float, bool, bool]], gold: Any, predicted: Any) -> PairScore:
    if not results:  # no scored field: equality of the whole value
        same = canonical_unordered(gold) == canonical_unordered(predicted)
        return PairScore(float(same), same)
    present = [score for score, _, is_present in results if is_present]
    similarity = sum(present) / len(present) if present else 1.0
    return PairScore(similarity, all(passed for _, passed, _ in results))


class FlatField(NamedTuple):
    """One scored field of regular items: the keys that lead to it, its node, verdicts so far."""

    keys: tuple[str, ...]
    node: Node
    is_array: bool
    is_costly: bool
    memo: Memo


def _is_costly(node: Node) -> bool:
    """Whether a metric of a node takes more than a comparison of codes or numbers."""
    specs = node.config.metrics if node.config is not None else ()
    entries = [REGISTRY.entries.get(spec.metric_id) for spec in specs]
    return any(entry is None or entry.estimate is not equal_codes for entry in entries)


def flat_fields(node: Node, keys: tuple[str, ...] = ()) -> tuple[FlatField, ...] | None:
    """List the scored fields of items whose shape does not depend on the values."""
    kind, is_array = node.kind, node.kind == "array"
    if kind == "union" and all(b.kind in ("scalar", "null") for b in node.children.branches):
        kind = "scalar"
    if is_array or kind == "scalar":
        if node.config is not None and node.config.skip:
            return ()
        return (FlatField(keys, node, is_array, is_array or _is_costly(node), {}),)
    if node.kind != "object" or node.recursive or node.children.entries:
        return None
    found: list[FlatField] = []
    for name, child in node.children.properties.items():
        below = flat_fields(child, (*keys, name))
        if below is None:
            return None
        found.extend(below)
    return tuple(found)


def _values(fields: tuple[FlatField, ...], item: Any) -> tuple[Any, ...] | None:
    """Read an item's fields; null and missing are both None; None for an irregular item."""
    values = []
    for field in fields:
        value = item
        for key in field.keys:
            if value is None:
                break
            if type(value) is not dict:
                return None
            value = value.get(key)
        regular = value is None or (type(value) is list) == field.is_array
        if not regular or json_type(value) in ("object", "unknown"):
            return None
        values.append(value)
    if not isinstance(item, dict) and not (fields and fields[0].keys == ()):
        return None
    return tuple(values)
