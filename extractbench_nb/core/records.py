"""The records of a comparison, and roll-up: from item fields to pairs of items, to arrays."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from extractbench_nb.core.profile_rules import Profile
from extractbench_nb.core.schema.schema_nodes import MISSING, PRESENT, Node, Unusable, state_of
from extractbench_nb.core.scoring import ALIGNED, Pending, Scored, point_score
from extractbench_nb.core.similarity import array_score, map_items, pass_threshold
from extractbench_nb.core.values.json_values import SCALARS, bracketed, json_type


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
    an alignment that failed, because a model gave no answer. ``readings`` are the accepted
    alternatives that were aligned in place of gold's items, by index.
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
    readings: dict[int, Any] = field(default_factory=dict)

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


ROOT = Paths("$")


# --- roll-up --------------------------------------------------------------------------------------


def roll_up(arrays: Sequence[ArrayRecord], profile: Profile) -> None:
    """Decide pairs and arrays, innermost first."""
    for array in reversed(arrays):
        threshold = pass_threshold(array.node, "align_threshold", 0.5)
        for pair in array.pairs:
            decide_pair(pair, array, profile, threshold)
        array.matched = sum(pair.status == "matched" for pair in array.pairs)
        for position, verdict in enumerate(array.verdicts):
            if isinstance(verdict, Scored) and verdict.outcome == ALIGNED:
                array.put(position, _aligned_verdict(verdict, array, profile))
        array.score, array.passed = point_score(array.settled)


def record_score(record: Leaf) -> tuple[float | None, bool | None]:
    """Return score and verdict of a record that is decided."""
    if type(record) is ArrayRecord:
        return record.score, record.passed
    return point_score(record.settled)


def decide_pair(pair: Pair, array: ArrayRecord, profile: Profile, threshold: float) -> None:
    """Decide whether two items match, once their records are decided."""
    total, count, unjudged, failed = 0.0, 0, 0, list(pair.failed_fields)
    for child in pair.children:
        score, passed = record_score(child)
        if not passed:
            failed.append(child.node.field)
        if passed is None:
            pair.unresolved = True
            unjudged += 1
        elif score is not None and (type(child.gold) in SCALARS or PRESENT in states(child)):
            total += score
            count += 1
    if pair.similarity is None:
        pair.similarity = total / count if count else float(not failed)
        if array.node.flattened and count:
            same_key = array.node.field + ".*" not in pair.failed_fields
            pair.similarity = (pair.similarity + same_key) / 2
    pair.failed_fields = tuple(dict.fromkeys(failed))
    if not failed:
        pair.status = "matched"
    else:
        similarity = pair.similarity
        if unjudged and profile.count_array_leaves:
            # a pair needs enough judged leaves before its leaves count: unjudged ones score 0 here
            similarity = similarity * count / (count + unjudged)
        pair.status = "partial" if similarity >= threshold or pair.is_given else "apart"


def _aligned_verdict(open_verdict: Scored, array: ArrayRecord, profile: Profile) -> Scored:
    gold, predicted, matched = len(array.gold_items), len(array.predicted_items), array.matched
    unresolved = [pair for pair in array.pairs if pair.unresolved]
    may_match = matched + sum(pair.status != "matched" for pair in unresolved)
    score = array_score(matched, gold, predicted, profile.array_score)
    best = array_score(may_match, gold, predicted, profile.array_score)
    threshold = pass_threshold(array.node)
    # undecided: with the open verdicts it may pass or not; the score is what is certain
    undecided = score < threshold <= best
    passed = None if undecided else score >= threshold
    outcome = "judge_error" if undecided else "correct" if passed else "incorrect"
    reason, reasoning = "items_differ", None
    if unresolved:
        reason, reasoning = "judge_error_in_items", _unresolved_text(unresolved, len(array.pairs))
    elif matched == gold == predicted:
        reason = "all_matched"
    elif _has_other_types(array):
        reason = "gold_type_mismatch"
    return open_verdict._replace(
        score=score, passed=passed, outcome=outcome, reason=reason, reasoning=reasoning
    )


def _has_other_types(array: ArrayRecord) -> bool:
    """Whether gold has items of a type that the schema does not have, and that cannot match."""
    types = array.node.children.items.types if array.node.children.items is not None else ()
    mine = {json_type(item) for item in array.gold_items}
    faults = mine - set(types) if types else set()
    others = {json_type(item) for item in array.predicted_items}
    containers = {"object", "array"}
    return any(a != b and {a, b} & containers for a in faults for b in others)


def _unresolved_text(unresolved: Sequence[Pair], pairs: int) -> str:
    errors = (
        verdict.reasoning
        for pair in unresolved
        for child in pair.children
        for verdict in child.settled
        if verdict.outcome == "judge_error"
    )
    first = next(errors, None)
    text = f"{len(unresolved)} of {pairs} aligned pairs have a field without a verdict"
    return f"{text}, the first: {first}" if first else text
