"""Profile ``strict``: the leaves of array items count in place of their array.

Leaves of missed items are omissions, leaves of spurious items hallucinations, and so are predicted
leaves that nobody asked for.
"""

from __future__ import annotations

import re
from typing import Any, Protocol

from extractbench_nb.alignment.similarity import MapItem
from extractbench_nb.coverage import leaves, undeclared
from extractbench_nb.records import ArrayRecord, Leaf, Pair, Paths, item_node, states
from extractbench_nb.schema.nodes import Node
from extractbench_nb.scoring import Scored
from extractbench_nb.values import MISSING, PRESENT

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
        for child in below:
            child.counted = array.counted
        array.counted = array.counted and not below


def _others(items: list[Any], paired: set[int | None]) -> list[int]:
    return [i for i in range(len(items)) if i not in paired]


def _one_sided(walk: Walk, array: ArrayRecord, i: int | None, j: int | None) -> Pair:
    """Make the rows of an item that stands on one side only; what is absent has no row."""
    pair = Pair(i, j, status="missed" if j is None else "spurious")
    gold = _item(array.gold_items, i)
    predicted = _item(array.predicted_items, j)
    node = item_node(array.node, i if i is not None else (j or 0))
    if node is not None:
        walk.enter(pair, node, gold, predicted, array.item_paths(i, j))
    pair.children = [child for child in pair.children if PRESENT in states(child)]
    return pair


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
    known = {path for path, _ in leaves(gold)} if gold is not MISSING else set()
    verdict = Scored("undeclared", 0.0, False, "hallucination", "undeclared")
    for start, part in undeclared(node, predicted, into_arrays=False):
        for suffix, value in leaves(part, start):
            if suffix not in known:
                at = _undeclared_node(node, suffix)
                leaf = Leaf(at, paths.below(suffix), MISSING, value, True, [verdict])
                parent.children.append(leaf)


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
