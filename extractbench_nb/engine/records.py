"""The records of a traversal: a tree of leaves, arrays and pairs of items; their roll-up."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from extractbench_nb._json import bracketed
from extractbench_nb.engine.profiles import Profile
from extractbench_nb.engine.scoring import ALIGNED, Pending, Scored
from extractbench_nb.engine.similarity import array_score, map_items, pass_threshold, point_score
from extractbench_nb.schema.nodes import Node
from extractbench_nb.schema.states import PRESENT, Unusable, state_of


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
    """A scored place that is not an array: where it stands, both values, the verdicts."""

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


def array_items(node: Node, value: Any) -> tuple[list[Any] | None, list[str]]:
    """Return the items of an array value with their path steps; None if it is not an array."""
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


def roll_up(arrays: Sequence[ArrayRecord], profile: Profile) -> None:
    """Decide pairs and arrays, innermost first."""
    for array in reversed(arrays):
        for pair in array.pairs:
            _decide_pair(pair, array, profile)
        array.matched = sum(pair.status == "matched" for pair in array.pairs)
        for place, verdict in enumerate(array.verdicts):
            if isinstance(verdict, Scored) and verdict.outcome == ALIGNED:
                array.verdicts[place] = _aligned_verdict(verdict, array, profile)
        array.score, array.passed = point_score(settled(array))


def _decide_pair(pair: Pair, array: ArrayRecord, profile: Profile) -> None:
    total, count, unjudged, failed = 0.0, 0, 0, list(pair.failed_fields)
    for child in pair.children:
        if isinstance(child, ArrayRecord):
            score, passed = child.score, child.passed
        else:
            score, passed = point_score(settled(child))
        if not passed:
            failed.append(child.node.field)
        if passed is None:
            pair.unresolved = True
            unjudged += 1
        elif score is not None and PRESENT in states(child):
            total += score
            count += 1
    if pair.similarity is None:
        alike = 1.0 if not failed else 0.0
        pair.similarity = total / count if count else alike
        if array.node.flattened and count:
            same_key = array.node.field + ".*" not in pair.failed_fields
            pair.similarity = (pair.similarity + same_key) / 2
    pair.failed_fields = tuple(dict.fromkeys(failed))
    if not failed:
        pair.status = "matched"
    else:
        # leaves that count may not count as a pair's because nobody could say how alike they are
        low = pair.similarity * count / (count + unjudged) if unjudged else pair.similarity
        alike = low if profile.count_array_leaves else pair.similarity
        mark = pass_threshold(array.node, "align_threshold", 0.5)
        # prefixItems belong together by their position, however little they are alike
        by_position = pair.gold_index in range(len(array.node.children.prefix))
        pair.status = "partial" if alike >= mark or by_position else "apart"


def _aligned_verdict(open_verdict: Scored, array: ArrayRecord, profile: Profile) -> Scored:
    gold, predicted, matched = len(array.gold_items), len(array.predicted_items), array.matched
    unresolved = [pair for pair in array.pairs if pair.unresolved]
    may_match = matched + sum(pair.status != "matched" for pair in unresolved)
    score = array_score(matched, gold, predicted, profile.array_score)
    best = array_score(may_match, gold, predicted, profile.array_score)
    mark = pass_threshold(array.node)
    # undecided: with the open verdicts it may pass or not; the score is what is certain
    undecided = score < mark <= best
    passed = None if undecided else score >= mark
    outcome = "judge_error" if undecided else "correct" if passed else "incorrect"
    reason, reasoning = "items_differ", None
    if unresolved:
        reason, reasoning = "judge_error_in_items", _unresolved_text(unresolved, len(array.pairs))
    elif matched == gold == predicted:
        reason = "all_matched"
    elif any(p.reason == "gold_type_mismatch" and p.status != "matched" for p in array.pairs):
        reason = "gold_type_mismatch"
    return open_verdict._replace(
        score=score, passed=passed, outcome=outcome, reason=reason, reasoning=reasoning
    )


def _unresolved_text(unresolved: Sequence[Pair], pairs: int) -> str:
    errors = (
        verdict.reasoning
        for pair in unresolved
        for child in pair.children
        for verdict in settled(child)
        if verdict.outcome == "judge_error"
    )
    first = next(errors, None)
    text = f"{len(unresolved)} of {pairs} aligned pairs have a field without a verdict"
    return f"{text}, the first: {first}" if first else text
