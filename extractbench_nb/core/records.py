"""The records of a comparison: leaves, arrays, and the pairs of their items."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from extractbench_nb.core.schema.schema_nodes import MISSING, PRESENT, Node, Unusable, state_of
from extractbench_nb.core.scoring import Pending, Scored
from extractbench_nb.core.similarity import map_items
from extractbench_nb.core.values import bracketed

#: The status of a pair of items; other items have no partner.
PAIRED = ("matched", "differing")


class Paths(NamedTuple):
    """The path of a value in gold, and in the prediction if it differs there."""

    gold: str
    predicted: str | None = None

    def below(self, suffix: str) -> Paths:
        """Return the paths one or more steps below, the same on both sides."""
        predicted = None if self.predicted is None else self.predicted + suffix
        return Paths(self.gold + suffix, predicted)


@dataclass(slots=True, eq=False)
class Leaf:
    """A scored pair of values that is not an array: node, paths, values and verdicts."""

    node: Node
    paths: Paths
    gold: Any
    predicted: Any
    counted: bool
    verdicts: Sequence[Scored | Pending]
    #: Weights of the arrays in whose place the record counts.
    factor: float = 1.0

    @property
    def weight(self) -> float:
        """What the record weighs in scores, if it counts."""
        return self.node.weight * self.factor

    @property
    def settled(self) -> list[Scored]:
        """The verdicts without pending ones."""
        return [v for v in self.verdicts if type(v) is Scored]

    @property
    def values(self) -> tuple[Any, Any]:
        """Both values; None where a side has no value of its own."""
        gold, predicted = (
            None if value is MISSING or isinstance(value, Unusable) else value
            for value in (self.gold, self.predicted)
        )
        return gold, predicted

    def put(self, position: int, verdict: Scored) -> None:
        """Replace one verdict; records with equal verdicts share the sequence."""
        changed = list(self.verdicts)
        changed[position] = verdict
        self.verdicts = changed


@dataclass(slots=True, eq=False)
class ArrayRecord(Leaf):
    """A pair of arrays: their items, the pairs of items, and the counts.

    If a side is absent or broken, or a metric takes the array as a whole, its verdicts are known
    from the start; `roll_up` fills in the verdict of an alignment. ``unaligned`` is the verdict of
    an alignment that failed, because a model gave no answer. ``alternatives`` are the
    accepted ones that were aligned in place of gold's items, by index.
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
    alternatives: dict[int, Any] = field(default_factory=dict)

    @property
    def has_two_sides(self) -> bool:
        """Whether there are items to align, and both sides are arrays or both maps of arrays."""
        same_kind = isinstance(self.gold, dict) == isinstance(self.predicted, dict)
        return bool(self.gold_items and self.predicted_items and same_kind)

    def item_paths(self, i: int | None, j: int | None) -> Paths:
        """Return the paths of an item; ``[+3]`` is predicted item 3, which gold does not have."""
        ours = self.paths.gold + (self.gold_steps[i] if i is not None else f"[+{j}]")
        if j is None:
            return Paths(ours)
        theirs = (self.paths.predicted or self.paths.gold) + self.predicted_steps[j]
        return Paths(ours, None if ours == theirs else theirs)


@dataclass(slots=True, eq=False)
class Pair:
    """Two items that were paired; one index is None if an item is missed or spurious."""

    gold_index: int | None
    predicted_index: int | None
    children: list[Leaf] = field(default_factory=list)
    similarity: float | None = None
    status: str = ""
    failed_fields: tuple[str, ...] = ()
    unresolved: bool = False
    reason: str = ""
    accepted: str | None = None
    #: By position, by equal keys, or by a matcher of the user's: whatever the similarity is.
    is_given: bool = False


def states(leaf: Leaf) -> tuple[str, str]:
    """Return the states of both sides; a broken container is present where gold is."""
    gold = state_of(leaf.gold, leaf.node)
    if gold == PRESENT and isinstance(leaf.predicted, Unusable):
        return gold, PRESENT
    return gold, state_of(leaf.predicted, leaf.node)


def array_items(node: Node, value: Any) -> tuple[list[Any] | None, list[str]]:
    """Return the items of an array value with their path steps; None if it is not an array."""
    if isinstance(value, dict) and node.flattened:
        items = map_items(value)
        counts: Counter[str] = Counter()
        steps = []
        for item in items:
            steps.append(f"{bracketed(item.key)}[{counts[item.key]}]")
            counts[item.key] += 1
        return list(items), steps
    if isinstance(value, list | tuple) and node.kind == "array":
        items = value if type(value) is list else list(value)  # alignments are cached by identity
        return items, [f"[{i}]" for i in range(len(items))]
    return None, []


def in_order(top: Sequence[Leaf], *, one_sided: bool = True, apart: bool = False) -> Iterator[Leaf]:
    """Yield the records in document order: an array, then the records of its pairs.

    The options say whether to enter missed and spurious items (`one_sided`), and pairs that are too
    unlike to count (`apart`).
    """
    entered = {*PAIRED}
    if one_sided:
        entered |= {"missed", "spurious"}
    if apart:
        entered.add("apart")
    stack = list(reversed(top))
    while stack:
        leaf = stack.pop()
        yield leaf
        if isinstance(leaf, ArrayRecord):
            for pair in reversed(leaf.pairs):
                if pair.status in entered:
                    stack.extend(reversed(pair.children))


ROOT = Paths("$")
