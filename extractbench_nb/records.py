"""What the traversal leaves behind: a tree of leaves, arrays and pairs of items."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from extractbench_nb._json import bracketed
from extractbench_nb.alignment.similarity import map_items
from extractbench_nb.schema.nodes import Node
from extractbench_nb.scoring import Pending, Scored
from extractbench_nb.values import PRESENT, Unusable, state_of

__all__ = ["ArrayRecord", "Leaf", "Pair", "Paths", "array_items", "item_node", "settled", "states"]


class Paths(NamedTuple):
    """Where a value stands: in gold, and in the prediction where an index differs there."""

    gold: str
    predicted: str | None = None

    def below(self, suffix: str) -> Paths:
        """Return the paths one or more steps below, the same on both sides."""
        theirs = None if self.predicted is None else self.predicted + suffix
        return Paths(self.gold + suffix, theirs)


@dataclass(slots=True, eq=False)
class Leaf:
    """A scored place that is no array: where it stands, both values, the verdicts."""

    node: Node
    paths: Paths
    gold: Any
    predicted: Any
    counted: bool
    verdicts: list[Scored | Pending]


@dataclass(slots=True, eq=False)
class ArrayRecord(Leaf):
    """An array: its items, which of them were paired, and the counts.

    Its verdicts are there from the start where a side is absent or broken, or a metric takes the
    array as a whole; the verdict of the alignment is filled in by the roll-up. ``unaligned``: who
    was asked which items belong together gave no answer; the verdict that says so.
    """

    gold_items: list[Any] = field(default_factory=list)
    predicted_items: list[Any] = field(default_factory=list)
    gold_steps: list[str] = field(default_factory=list)
    predicted_steps: list[str] = field(default_factory=list)
    pairs: list[Pair] = field(default_factory=list)
    matched: int = 0
    score: float | None = None
    passed: bool | None = None
    unaligned: Scored | None = None

    def item_paths(self, i: int | None, j: int | None) -> Paths:
        """Return where an item stands; ``[+3]`` marks predicted item 3 that gold does not have."""
        ours = self.paths.gold + (self.gold_steps[i] if i is not None else f"[+{j}]")
        if j is None:
            return Paths(ours)
        theirs = (self.paths.predicted or self.paths.gold) + self.predicted_steps[j]
        return Paths(ours, None if ours == theirs else theirs)


@dataclass(slots=True, eq=False)
class Pair:
    """Two items that belong together; on one side None for what is missed or spurious."""

    gold_index: int | None
    predicted_index: int | None
    children: list[Leaf] = field(default_factory=list)
    similarity: float | None = None
    status: str = ""
    failed_fields: tuple[str, ...] = ()
    unresolved: bool = False
    reason: str = ""


def settled(leaf: Leaf) -> list[Scored]:
    """Return the verdicts of a place that are there (all of them, once awaited ones are)."""
    return [v for v in leaf.verdicts if isinstance(v, Scored)]


def states(leaf: Leaf) -> tuple[str, str]:
    """Return the states of both sides; below a broken container that stands for what gold has."""
    gold = state_of(leaf.gold, leaf.node)
    if gold == PRESENT and isinstance(leaf.predicted, Unusable):
        return gold, PRESENT
    return gold, state_of(leaf.predicted, leaf.node)


def item_node(node: Node, index: int) -> Node | None:
    """Return the schema of the item at an index; None where the schema has none for it."""
    prefix = node.children.prefix
    return prefix[index] if index < len(prefix) else node.children.items


def array_items(node: Node, value: Any) -> tuple[list[Any] | None, list[str]]:
    """Return the items of an array value with their path steps; None where it is no array."""
    if isinstance(value, dict) and node.flattened:
        items = map_items(value)
        places: Counter[str] = Counter()
        steps = []
        for item in items:
            steps.append(f"{bracketed(item.key)}[{places[item.key]}]")
            places[item.key] += 1
        return list(items), steps
    if isinstance(value, list | tuple) and node.kind == "array":
        items = value if type(value) is list else list(value)
        return items, [f"[{i}]" for i in range(len(items))]
    return None, []
