"""Similarity of two array items, by the metrics that the schema declares for their fields."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Any, NamedTuple

from extractbench_nb.core.field_metrics.built_in_metrics import string_normalized
from extractbench_nb.core.pairing import pair_up, resolve_union, same_as_wholes
from extractbench_nb.core.schema.schema_nodes import MISSING, PRESENT, Node, state_of
from extractbench_nb.core.scoring import ALIGNED, Pending, Scored, Scorer, point_score
from extractbench_nb.core.text.offline_judge import similarity as text_similarity
from extractbench_nb.core.values import (
    SCALARS,
    canonical,
    json_text,
    json_type,
    leaf_texts,
    normal_path,
)

#: Score of an offline guess from which a verdict that is still awaited is taken for a pass.
_LIKELY = 0.7
_HASHABLE = SCALARS | {type(None), type(MISSING)}


class _KeyAndItem(NamedTuple):
    key: str
    item: Any


class MapItem(_KeyAndItem):
    """One item of a map of arrays, which is aligned as pairs of key and item.

    Attributes
    ----------
    key : str
        The key of the item in the map.
    item : object
        The item, a JSON value.
    siblings : collection of str
        All keys of its map.
    """

    siblings: Collection[Any]

    def __new__(cls, key: str, item: Any, siblings: Collection[Any] = ()) -> MapItem:
        """Return an item that stands under a key; its siblings do not count in comparisons."""
        self = super().__new__(cls, key, item)
        self.siblings = siblings
        return self


class PairScore(NamedTuple):
    """Similarity in [0, 1] of two items, and whether every scored field passes."""

    similarity: float
    matched: bool


def map_items(value: dict[Any, Any]) -> list[MapItem]:
    """Flatten a map of arrays; an entry that is not an array counts as one item, null as none."""
    return [
        MapItem(str(key), item, value)
        for key, inner in value.items()
        for item in (inner if isinstance(inner, list) else [inner] if inner is not None else ())
    ]


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
    value = node.alignment_params[name]
    return float(value) if isinstance(value, int | float) else default


def never_match(gold: Any, predicted: Any) -> bool:
    """Whether two items can never match because one is a container and the other is not."""
    if type(gold) is type(predicted):
        return False
    one, two = json_type(gold), json_type(predicted)
    return one != two and bool({one, two} & {"object", "array"})


def unlike_similarity(gold: Any, predicted: Any) -> float:
    """Compare two items of which one is a container and the other is not of its kind, as texts.

    For an object and an array the words are sorted, so the order of keys has no effect.
    """
    texts = [" ".join(leaf_texts(value)) for value in (gold, predicted)]
    if isinstance(gold, dict | list) and isinstance(predicted, dict | list):
        texts = [" ".join(sorted(text.split())) for text in texts]
    return text_similarity(*texts)


class FieldScore(NamedTuple):
    """Score of a field in [0, 1], its verdict, and whether it is present on either side."""

    score: float
    passed: bool
    is_present: bool


class ItemComparer:
    """Compares array items by the metrics that the schema declares for their fields.

    Results are remembered by the identity of the items, which must live as long as the comparer:
    an alignment asks for the same pairs at every level of nesting. A call aligns the items of
    arrays inside the items.
    """

    def __init__(self, scorer: Scorer) -> None:
        self.scorer = scorer
        self._pairs: dict[tuple[Node, int, int], PairScore] = {}
        self._field_scores: dict[tuple[Any, ...], FieldScore] = {}
        self._flattened: dict[int, list[MapItem]] = {}
        self._kept: list[Any] = []

    def __call__(self, node: Node, gold: Any, predicted: Any) -> list[tuple[int, int]]:
        """Pair the items of two arrays."""
        raise NotImplementedError

    def compare(self, node: Node, gold: Any, predicted: Any) -> PairScore:
        """Compare two items; of a map of arrays, their keys count as much as the items."""
        key = (node, id(gold), id(predicted))
        known = self._pairs.get(key)
        if known is not None:
            return known
        if isinstance(gold, MapItem):
            same = same_key(gold, predicted)
            inner = self.compare(node, gold.item, predicted.item)
            result = PairScore((inner.similarity + same) / 2, inner.matched and same)
        elif never_match(gold, predicted):
            result = PairScore(unlike_similarity(gold, predicted), False)
        else:
            result = self._compare_fields(node, gold, predicted)
        self._pairs[key] = result
        return result

    def _compare_fields(self, node: Node, gold: Any, predicted: Any) -> PairScore:
        points = pair_up(node, gold, predicted)
        if not points:  # no scored field: equality of the whole value
            same = same_as_wholes(gold, predicted)
            return PairScore(float(same), same)
        accepted = self.scorer.accepted.of_scalars(gold)
        total, present, matched = 0.0, 0, True
        for at, one, two, suffix in points:
            others = accepted.get(normal_path(suffix), ()) if accepted else ()
            score, passed, is_present = self._score_field(at, one, two, others)
            matched = matched and passed
            if is_present:
                total, present = total + score, present + 1
        return PairScore(total / present if present else 1.0, matched)

    def _score_field(
        self, node: Node, gold: Any, predicted: Any, others: Sequence[Any] = ()
    ) -> FieldScore:
        """Score one field by the best one of the gold value and its accepted alternatives."""
        kind, other_kind = type(gold), type(predicted)
        key: tuple[Any, ...] | None = None
        if kind in _HASHABLE and other_kind in _HASHABLE and not others:
            key = node, gold, predicted, kind, other_kind
            known = self._field_scores.get(key)
            if known is not None:
                return known
        at = resolve_union(node, gold, predicted)
        is_present = kind in SCALARS or PRESENT in (state_of(gold, at), state_of(predicted, at))
        verdicts = [
            verdict
            if type(verdict) is Scored and verdict.outcome != ALIGNED
            else self._settled(verdict, at, gold, predicted)
            for verdict in self.scorer.score(at, gold, predicted, others)
        ]
        score, passed = point_score(verdicts)
        found = FieldScore(score or 0.0, bool(passed), is_present)
        if key is not None:
            self._field_scores[key] = found
        return found

    def _settled(self, verdict: Scored | Pending, node: Node, gold: Any, predicted: Any) -> Scored:
        """Replace what is still open: an inner alignment, or a verdict that must be awaited."""
        if isinstance(verdict, Pending):  # a metric of the user's: the similarity of the texts
            spec = verdict.metric.spec
            score = text_similarity(json_text(gold), json_text(predicted))
            return Scored(spec.metric_id, score, score >= _LIKELY, "", "", weight=spec.weight)
        array = gold
        if isinstance(gold, dict):  # maps of arrays; the same items each time
            gold, predicted = (
                self._flattened.setdefault(id(value), map_items(value))
                for value in (gold, predicted)
            )
        replaced = self.choose_alternatives(node, array, gold, predicted)
        if replaced:
            gold = [replaced.get(i, item) for i, item in enumerate(gold)]
            self._kept.append(gold)
        matched = 0
        for i, j in self(node, gold, predicted):
            at = node.item(i)
            matched += at is not None and self.compare(at, gold[i], predicted[j]).matched
        score = array_score(matched, len(gold), len(predicted), self.scorer.profile.array_score)
        return verdict._replace(score=score, passed=score >= pass_threshold(node))

    def choose_alternatives(
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
            options = [
                MapItem(own.key, value, own.siblings) if isinstance(own, MapItem) else value
                for value in sorted(alternatives[i], key=canonical)
            ]
            self._kept.append(options)  # results are remembered by identity
            for option in options if not best[0] else ():
                nearest = self._nearest(at, option, partners, others)
                if nearest > best:
                    best, chosen[i] = nearest, option
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
