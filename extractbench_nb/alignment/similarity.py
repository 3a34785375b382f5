"""How alike two array items are, by the declared metrics of their fields."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, NamedTuple

from extractbench_nb._json import canonical, json_text, json_type, leaf_texts
from extractbench_nb.judges.offline import similarity as text_similarity
from extractbench_nb.metrics.strings import string_normalized
from extractbench_nb.schema.nodes import Node
from extractbench_nb.scoring import Pending, Scored, Scorer
from extractbench_nb.values import PRESENT, pair_up, state_of

__all__ = [
    "MapItem",
    "PairScore",
    "array_score",
    "item_similarity",
    "never_match",
    "pass_threshold",
    "point_score",
    "text_of",
]

#: Score of an offline guess from which a verdict that is still awaited is taken for a pass.
_LIKELY = 0.7

Align = Callable[[Node, list[Any], list[Any]], list[tuple[int, int]]]


class MapItem(NamedTuple):
    """One item of a map of arrays, flattened: its key, its place under it, and the item."""

    key: str
    index: int
    item: Any


class PairScore(NamedTuple):
    """Similarity in [0, 1] of two items, and whether every scored field passes."""

    similarity: float
    matched: bool


def array_score(matched: int, gold: int, predicted: int, kind: str) -> float:
    """Return the score of an array from its counts.

    Parameters
    ----------
    matched, gold, predicted : int
        Matched pairs, gold items, predicted items.
    kind : str
        ``recall`` (section 3.4 of the ExtractBench paper and its README) or ``f1``.

    Returns
    -------
    float
        In [0, 1]; two empty arrays score 1, an invented one 0.
    """
    if gold == predicted == 0:
        return 1.0
    if kind == "f1":
        return 2 * matched / (gold + predicted)
    return matched / gold if gold else 0.0


def pass_threshold(node: Node, name: str = "pass_threshold", default: float = 0.7) -> float:
    """Return a threshold param of an array node."""
    params = node.config.metrics[0].params if node.config is not None else {}
    value = params.get(name, default)
    return float(value) if isinstance(value, int | float) else default


def never_match(gold: Any, predicted: Any) -> bool:
    """Whether two items can never match because one is a container and the other is not."""
    one, two = json_type(gold), json_type(predicted)
    return one != two and bool({one, two} & {"object", "array"})


def text_of(value: Any) -> str:
    """Return an item as one text: its leaves, joined."""
    return value if isinstance(value, str) else " ".join(leaf_texts(value))


def item_similarity(
    scorer: Scorer, align: Align, node: Node, gold: Any, predicted: Any
) -> PairScore:
    """Compare two items by the metrics that the schema declares for their fields.

    Parameters
    ----------
    scorer : Scorer
        Runs the metrics.
    align : callable
        Aligns arrays inside the items.
    node : Node
        The schema of the items.
    gold, predicted : object
        The items, or `MapItem`.

    Returns
    -------
    PairScore
        Similarity is the mean over the fields that are present on either side.
    """
    if isinstance(gold, MapItem):
        return _map_items(scorer, align, node, gold, predicted)
    if never_match(gold, predicted):
        return PairScore(text_similarity(text_of(gold), text_of(predicted)), False)
    points = pair_up(node, gold, predicted, released=scorer.profile.union_needs_own_metric)
    if not points:
        same = canonical(gold) == canonical(predicted)
        return PairScore(float(same), same)
    total, count, matched = 0.0, 0, True
    for at, one, two, _ in points:
        score, passed, present = _point(scorer, align, at, one, two)
        matched = matched and passed
        if present:
            total += score
            count += 1
    return PairScore(total / count if count else 1.0, matched)


def _map_items(
    scorer: Scorer, align: Align, node: Node, gold: MapItem, predicted: MapItem
) -> PairScore:
    same_key = string_normalized(gold.key, predicted.key)
    inner = item_similarity(scorer, align, node, gold.item, predicted.item)
    return PairScore((inner.similarity + same_key) / 2, inner.matched and same_key)


def _point(
    scorer: Scorer, align: Align, node: Node, gold: Any, predicted: Any
) -> tuple[float, bool, bool]:
    """Return score, verdict, and whether the field is present on either side."""
    if is_aligned(node) and isinstance(gold, list) and isinstance(predicted, list):
        if not gold or not predicted:
            both_empty = not gold and not predicted
            return float(both_empty), both_empty, not both_empty
        return _inner_array(scorer, align, node, gold, predicted)
    is_array = node.kind == "array"
    present = PRESENT in (
        state_of(gold, is_array=is_array),
        state_of(predicted, is_array=is_array),
    )
    verdicts = scorer.verdicts(node, gold, predicted)
    settled = [v if isinstance(v, Scored) else _guess(v, gold, predicted) for v in verdicts]
    score, passed = point_score(settled)
    return score or 0.0, bool(passed), present


def is_aligned(node: Node) -> bool:
    """Whether an array node is scored by aligning its items."""
    if node.kind != "array":
        return False
    return node.config is None or node.config.metrics[0].metric_id == "array_llm"


def _inner_array(
    scorer: Scorer, align: Align, node: Node, gold: list[Any], predicted: list[Any]
) -> tuple[float, bool, bool]:
    items, prefix = node.children.items, node.children.prefix
    matched = 0
    for i, j in align(node, gold, predicted):
        at = prefix[i] if i < len(prefix) else items
        if at is not None:
            matched += item_similarity(scorer, align, at, gold[i], predicted[j]).matched
    score = array_score(matched, len(gold), len(predicted), scorer.profile.array_score)
    return score, score >= pass_threshold(node), True


def _guess(pending: Pending, gold: Any, predicted: Any) -> Scored:
    score = text_similarity(json_text(gold), json_text(predicted))
    return Scored(pending.spec.metric_id, score, score >= _LIKELY, "", "", None, 1.0)


def point_score(verdicts: Iterable[Scored]) -> tuple[float | None, bool | None]:
    """Combine the verdicts of a node's metrics.

    Parameters
    ----------
    verdicts : iterable of Scored
        One a metric.

    Returns
    -------
    tuple of (float or None, bool or None)
        Score: mean weighted by metric weight. Passed: all passed. None where one gave no verdict.
    """
    rows = list(verdicts)
    if len(rows) == 1:
        return rows[0].score, rows[0].passed
    if any(row.score is None for row in rows):
        return None, None
    weights = [row.weight for row in rows]
    if not sum(weights):
        weights = [1.0] * len(rows)
    total = sum((row.score or 0.0) * w for row, w in zip(rows, weights, strict=True))
    return min(1.0, total / sum(weights)), all(row.passed for row in rows)
