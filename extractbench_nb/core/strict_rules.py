"""Profile ``strict``: the leaves of array items count in place of their array.

Leaves of missed items are omissions; leaves of spurious items and undeclared predicted leaves are
hallucinations. If items were not aligned, none of their leaves has a verdict.
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Iterable
from dataclasses import replace
from typing import Any

from extractbench_nb.core.pairing import Part, leaves, undeclared
from extractbench_nb.core.records import ArrayRecord, Leaf, Pair, Paths, states
from extractbench_nb.core.schema.schema_nodes import (
    BROKEN,
    MISFIT,
    MISSING,
    NOWHERE,
    PRESENT,
    Node,
    Unusable,
)
from extractbench_nb.core.scoring import Scored
from extractbench_nb.core.similarity import MapItem, never_match
from extractbench_nb.core.traversal import Traversal
from extractbench_nb.core.values.json_values import json_text

_STEP = re.compile(r"[.\[]")
_INDEX = re.compile(r"\[\+?\d+\]")


def count_leaves(walk: Traversal) -> None:
    """Count item leaves instead of arrays, and give missed and spurious items their rows."""
    position = 0
    while position < len(walk.arrays):  # entering items appends their arrays
        array = walk.arrays[position]
        position += 1
        paired = [p for p in array.pairs if p.status in ("matched", "partial")]
        gold_indices = {p.gold_index for p in paired}
        predicted_indices = {p.predicted_index for p in paired}
        missed = [i for i in range(len(array.gold_items)) if i not in gold_indices]
        spurious = [j for j in range(len(array.predicted_items)) if j not in predicted_indices]
        one_sided = [
            *(_one_sided(walk, array, i, None) for i in missed),
            *(_one_sided(walk, array, None, j) for j in spurious),
        ]
        array.pairs.extend(one_sided)
        for pair in paired:
            node = array.node.item(pair.gold_index or 0)
            gold = _item(array.gold_items, pair.gold_index)
            predicted = _item(array.predicted_items, pair.predicted_index)
            if not pair.children and node is not None and never_match(gold, predicted):
                paths = array.item_paths(pair.gold_index, pair.predicted_index)
                _enter_present(walk, pair, node, gold, predicted, paths)
        in_items = [child for pair in (*paired, *one_sided) for child in pair.children]
        for child in _without_verdict(array, one_sided, in_items):
            _remove_verdicts(child, array)
        # leaves that are absent on both sides do not count
        present = [child for child in in_items if PRESENT in states(child)]
        for child in present:
            child.counted = array.counted
        # if the gold items have no leaves, only the array can count
        in_gold = not array.gold_items or any(states(c)[0] == PRESENT for c in present)
        array.counted = array.counted and not (present and in_gold)


def _without_verdict(array: ArrayRecord, one_sided: list[Pair], in_items: list[Leaf]) -> list[Leaf]:
    """Return the records of items that a missing verdict kept from being paired."""
    if array.unaligned:
        return in_items
    unsure = [pair for pair in array.pairs if pair.status == "apart" and pair.unresolved]
    ends = {(p.gold_index, None) for p in unsure} | {(None, p.predicted_index) for p in unsure}
    unknown = [pair for pair in one_sided if (pair.gold_index, pair.predicted_index) in ends]
    return [child for pair in unknown for child in pair.children]


def _remove_verdicts(leaf: Leaf, array: ArrayRecord) -> None:
    """Remove the verdicts of a record inside an array, for the same reason as the array's."""
    array_verdict = array.unaligned or array.settled[0]
    no_verdict = array_verdict._replace(score=None, passed=None, outcome="judge_error", calls=())
    leaf.verdicts = [no_verdict._replace(metric=v.metric, weight=v.weight) for v in leaf.settled]
    if isinstance(leaf, ArrayRecord):
        leaf.unaligned = no_verdict
        leaf.score, leaf.passed = None, None


def _one_sided(walk: Traversal, array: ArrayRecord, i: int | None, j: int | None) -> Pair:
    """Record an item that is on one side only; values absent on both sides have no record."""
    pair = Pair(i, j, status="missed" if j is None else "spurious")
    gold = _item(array.gold_items, i)
    predicted = _item(array.predicted_items, j) if j is not None else _in_place_of_items(array)
    node = array.node.item(i if i is not None else (j or 0))
    paths = array.item_paths(i, j)
    if i is not None and isinstance(predicted, Unusable):  # what is broken may stand elsewhere
        paths = array.paths.below(array.gold_steps[i])
    if node is not None:
        _enter_present(walk, pair, node, gold, predicted, paths)
    return pair


def _enter_present(
    walk: Traversal, pair: Pair, node: Node, gold: Any, predicted: Any, paths: Paths
) -> None:
    """Record the values of a pair, except those that are absent on both sides."""
    walk.enter(pair, node, gold, predicted, paths)
    pair.children = [child for child in pair.children if PRESENT in states(child)]


def _in_place_of_items(array: ArrayRecord) -> Any:
    """Return the predicted value of a missed item: missing, or broken if the array is."""
    if isinstance(array.predicted, Unusable):
        return array.predicted
    outcomes = {verdict.outcome for verdict in array.settled}
    reasons = {verdict.reason for verdict in array.settled}
    if "structural" in outcomes:
        return BROKEN.of(array.predicted)
    return MISFIT.of(array.predicted) if MISFIT.reason in reasons else MISSING


def _item(items: list[Any], index: int | None) -> Any:
    if index is None:
        return MISSING
    item = items[index]
    return item.item if isinstance(item, MapItem) else item


def invented_leaves(walk: Traversal, root: Node, gold: Any, predicted: Any) -> None:
    """Add a hallucination for each predicted leaf that the schema and gold do not have."""
    _add_invented(walk.top, root, gold, predicted, Paths("$"))
    for array in walk.arrays:
        for pair in array.pairs:
            i, j = pair.gold_index, pair.predicted_index
            node = array.node.item(i if i is not None else (j or 0))
            if j is not None and node is not None and pair.status != "apart":
                ours, theirs = _item(array.gold_items, i), _item(array.predicted_items, j)
                _add_invented(pair, node, ours, theirs, array.item_paths(i, j))


def _add_invented(parent: Pair, node: Node, gold: Any, predicted: Any, paths: Paths) -> None:
    scored = {leaf.paths.gold for leaf in parent.children}
    for part in undeclared(node, predicted, gold, compared=True):
        if paths.below(part.path).gold in scored:
            continue
        verdict = Scored("undeclared", 0.0, False, "hallucination", part.reason)
        for suffix, value in _beyond_gold(part):
            field = (node.field + _INDEX.sub("[]", suffix)).removeprefix(".")
            at = replace(NOWHERE, field=field, name=suffix, depth=node.depth + 1, _choices={})
            parent.children.append(Leaf(at, paths.below(suffix), MISSING, value, True, [verdict]))


def _beyond_gold(part: Part) -> list[tuple[str, Any]]:
    """Return the predicted leaves in excess of gold's, counted per path without indices."""
    gold = dict(leaves(part.gold, part.path)) if part.gold is not MISSING else {}
    gold_values: dict[str, Counter[str]] = defaultdict(Counter)
    for path, value in gold.items():
        gold_values[_INDEX.sub("[]", path)][json_text(value)] += 1
    predicted = dict(leaves(part.value, part.path))
    predicted_leaves: dict[str, list[tuple[str, Any]]] = defaultdict(list)
    for path, value in predicted.items():
        predicted_leaves[_INDEX.sub("[]", path)].append((path, value))
    gold_containers, predicted_containers = _containers(gold), _containers(predicted)
    invented = []
    for field, candidates in predicted_leaves.items():
        values = gold_values[field]
        # a leaf may also stand for an object or array that gold has at this path
        containers = max(0, gold_containers[field] - predicted_containers[field])
        # leaves with a value of gold's count first, then those with a path of gold's
        ranked = sorted(
            candidates, key=lambda leaf: (json_text(leaf[1]) not in values, leaf[0] not in gold)
        )
        invented.extend(ranked[values.total() + containers :])
    return invented


def _containers(paths: Iterable[str]) -> Counter[str]:
    """Count the objects and arrays that hold leaves, by their path without indices."""
    containers = {path[: step.start()] for path in paths for step in _STEP.finditer(path)}
    return Counter(_INDEX.sub("[]", path) for path in containers)
