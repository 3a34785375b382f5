"""Profile ``strict``: the leaves of array items count in place of their array.

Leaves of missed items are omissions, leaves of spurious items hallucinations, and so are predicted
leaves that nobody asked for. Where items were not aligned, all their leaves are without a verdict.
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from typing import Any, Protocol

from extractbench_nb._json import json_text
from extractbench_nb.alignment.similarity import MapItem
from extractbench_nb.coverage import leaves, undeclared
from extractbench_nb.records import (
    ArrayRecord,
    Leaf,
    Pair,
    Paths,
    item_node,
    settled,
    states,
)
from extractbench_nb.schema.nodes import Node
from extractbench_nb.scoring import Scored
from extractbench_nb.values import BROKEN, MISFIT, MISSING, PRESENT, Unusable

__all__ = ["count_leaves", "invented_leaves"]

_INDEX = re.compile(r"\[\+?\d+\]")


class Walk(Protocol):
    """What is needed of the traversal."""

    top: Pair
    arrays: list[ArrayRecord]

    def enter(self, parent: Pair, node: Node, gold: Any, predicted: Any, paths: Paths) -> None:
        """Score everything below two values."""
        ...


def count_leaves(walk: Walk) -> None:
    """Count item leaves instead of arrays, and give missed and spurious items their rows.

    Parameters
    ----------
    walk : Traversal
        After the roll-up. Arrays that appear inside one-sided items are visited in turn.
    """
    place = 0
    while place < len(walk.arrays):
        array = walk.arrays[place]
        place += 1
        paired = [p for p in array.pairs if p.status in ("matched", "partial")]
        ours, theirs = {p.gold_index for p in paired}, {p.predicted_index for p in paired}
        one_sided = [
            *(_one_sided(walk, array, i, None) for i in _others(array.gold_items, ours)),
            *(_one_sided(walk, array, None, j) for j in _others(array.predicted_items, theirs)),
        ]
        array.pairs.extend(one_sided)
        below = [child for pair in (*paired, *one_sided) for child in pair.children]
        for child in _without_verdict(array, one_sided, below):
            _leave_open(child, array)
        for child in below:
            child.counted = array.counted
        array.counted = array.counted and not below


def _without_verdict(array: ArrayRecord, one_sided: list[Pair], below: list[Leaf]) -> list[Leaf]:
    """Return the places of items of which nobody could say whether they belong together."""
    if array.unaligned:
        return below
    unsure = [pair for pair in array.pairs if pair.status == "apart" and pair.unresolved]
    ours, theirs = {p.gold_index for p in unsure}, {p.predicted_index for p in unsure}
    return [
        child
        for pair in one_sided
        if (pair.gold_index if pair.predicted_index is None else pair.predicted_index)
        in (ours if pair.predicted_index is None else theirs)
        for child in pair.children
    ]


def _leave_open(leaf: Leaf, array: ArrayRecord) -> None:
    """Give a place in an array no verdict, for the reason that the array has."""
    of_array = array.unaligned or settled(array)[0]
    why = of_array._replace(score=None, passed=None, outcome="judge_error", calls=())
    leaf.verdicts = [why._replace(metric=v.metric, weight=v.weight) for v in settled(leaf)]
    if isinstance(leaf, ArrayRecord):
        leaf.unaligned = why
        leaf.score, leaf.passed = None, None


def _others(items: list[Any], paired: set[int | None]) -> list[int]:
    return [i for i in range(len(items)) if i not in paired]


def _one_sided(walk: Walk, array: ArrayRecord, i: int | None, j: int | None) -> Pair:
    """Make the rows of an item that stands on one side only; what is absent has no row."""
    pair = Pair(i, j, status="missed" if j is None else "spurious")
    gold = _item(array.gold_items, i)
    predicted = _item(array.predicted_items, j) if j is not None else _in_place_of_items(array)
    node = item_node(array.node, i if i is not None else (j or 0))
    if node is not None:
        walk.enter(pair, node, gold, predicted, array.item_paths(i, j))
    pair.children = [child for child in pair.children if PRESENT in states(child)]
    return pair


def _in_place_of_items(array: ArrayRecord) -> Any:
    """Return what stands for a missed item: nothing, or what is below a broken container."""
    if isinstance(array.predicted, Unusable):
        return array.predicted
    outcomes = {verdict.outcome for verdict in settled(array)}
    reasons = {verdict.reason for verdict in settled(array)}
    if "structural" in outcomes:
        return BROKEN
    return MISFIT if MISFIT.reason in reasons else MISSING


def _item(items: list[Any], index: int | None) -> Any:
    if index is None:
        return MISSING
    item = items[index]
    return item.item if isinstance(item, MapItem) else item


def invented_leaves(walk: Walk, root: Node, gold: Any, predicted: Any) -> None:
    """Add a hallucination for each predicted leaf that the schema and gold do not have.

    Parameters
    ----------
    walk : Traversal
        After `count_leaves`.
    root : Node
        The schema.
    gold, predicted : object
        The documents.
    """
    _add_invented(walk.top, root, gold, predicted, Paths("$"))
    for array in walk.arrays:
        for pair in array.pairs:
            i, j = pair.gold_index, pair.predicted_index
            node = item_node(array.node, i if i is not None else (j or 0))
            if j is not None and node is not None and pair.status != "apart":
                ours, theirs = _item(array.gold_items, i), _item(array.predicted_items, j)
                _add_invented(pair, node, ours, theirs, array.item_paths(i, j))


def _add_invented(parent: Pair, node: Node, gold: Any, predicted: Any, paths: Paths) -> None:
    verdict = Scored("undeclared", 0.0, False, "hallucination", "undeclared")
    found = [
        leaf
        for start, part in undeclared(node, predicted, into_arrays=False)
        for leaf in leaves(part, start)
    ]
    for suffix, value in _beyond_gold(found, gold):
        at = _undeclared_node(node, suffix)
        parent.children.append(Leaf(at, paths.below(suffix), MISSING, value, True, [verdict]))


def _beyond_gold(found: list[tuple[str, Any]], gold: Any) -> list[tuple[str, Any]]:
    """Return the leaves that gold does not have as many of, whatever the order of items."""
    known: dict[str, Counter[str]] = defaultdict(Counter)
    for path, value in leaves(gold) if gold is not MISSING else ():
        known[_INDEX.sub("[]", path)][json_text(value)] += 1
    places: dict[str, list[tuple[str, Any]]] = defaultdict(list)
    for path, value in found:
        places[_INDEX.sub("[]", path)].append((path, value))
    invented = []
    for place, here in places.items():
        spare = known[place].total()
        # equal values first: the leaves left over are the ones that gold does not have
        ranked = sorted(here, key=lambda leaf: json_text(leaf[1]) not in known[place])
        invented.extend(ranked[spare:])
    return invented


def _undeclared_node(above: Node, suffix: str) -> Node:
    field = (above.field + _INDEX.sub("[]", suffix)).removeprefix(".")
    return Node(
        kind="any",
        types=frozenset(),
        label="any",
        schema_path="",
        pointer="",
        field=field,
        name=suffix,
        depth=above.depth + 1,
        required=False,
        nullable=True,
        config=None,
        declared=False,
        keywords={},
    )
