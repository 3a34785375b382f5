"""From the AST, gold and a prediction to a tree of records.

`Traversal.descend` walks both documents: it pairs values, scores leaves, aligns arrays and enters
the pairs. `Traversal.settle` then awaits open verdicts and alignments by a model, all of them
concurrently; their pairs may open more of both. `roll_up` goes back up: from the verdicts of item
fields to pairs of items, from pairs to arrays.
"""

from __future__ import annotations

import inspect
from collections import Counter
from collections.abc import Awaitable, Callable, Iterable, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from operator import index
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

from extractbench_nb._json import SCALARS, bracketed, canonical_unordered, json_type
from extractbench_nb.engine.assignment import OptimalAligner
from extractbench_nb.engine.pairing import pair_up
from extractbench_nb.engine.profiles import Profile
from extractbench_nb.engine.scoring import ALIGNED, Pending, Scored, Scorer, point_score
from extractbench_nb.engine.similarity import (
    MapItem,
    array_score,
    is_aligned,
    map_items,
    never_match,
    pass_threshold,
    same_key,
    unlike_similarity,
)
from extractbench_nb.errors import InputError
from extractbench_nb.judges.base import JudgeCall, JudgeError
from extractbench_nb.schema.nodes import PRESENT, Node, Unusable, state_of

if TYPE_CHECKING:
    from extractbench_nb.engine.llm_alignment import LLMAligner

# --- records ----------------------------------------------------------------------------------


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
    an alignment that failed, because a model gave no answer.
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


def settled(leaf: Leaf) -> list[Scored]:
    """Return the verdicts of a record without pending ones."""
    return [v for v in leaf.verdicts if type(v) is Scored]


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


# --- down ---------------------------------------------------------------------------------------

ROOT = Paths("$")

#: A matcher of the user's: (gold items, predicted items, item node) to index pairs.
Matcher = (
    Callable[[Sequence[Any], Sequence[Any], Node], Iterable[tuple[int, int]]]
    | Callable[[Sequence[Any], Sequence[Any], Node], Awaitable[Iterable[tuple[int, int]]]]
)
Aligner: TypeAlias = "Matcher | LLMAligner"
Pairs = list[tuple[int, int]]
Align = Callable[[Node, list[Any], list[Any]], Pairs]
PairsAndCalls = tuple[Pairs, tuple[JudgeCall, ...]]
AwaitedAlign = Callable[[Node, list[Any], list[Any]], Awaitable[PairsAndCalls]]


class Traversal:
    """Compares two documents; the result is a tree of records.

    ``top`` stands for the two documents; its children are the records outside of arrays.
    ``arrays`` are all arrays, outer before inner; ``pending`` are verdicts that must be awaited.
    """

    def __init__(self, scorer: Scorer, alignment: str | Aligner) -> None:
        self.scorer = scorer
        self.alignment = alignment
        self.top = Pair(0, 0)
        self.arrays: list[ArrayRecord] = []
        self.pending: list[tuple[Leaf, int, Pending]] = []
        self._aligned = 0

    @cached_property
    def align(self) -> Align | AwaitedAlign:
        """The function that pairs the items of an array; made for the first array."""
        return choose_aligner(self.alignment, self.scorer)

    @cached_property
    def waits(self) -> bool:
        """Whether alignments must be awaited."""
        return inspect.iscoroutinefunction(self.align)

    def descend(self, root: Node, gold: Any, predicted: Any) -> None:
        """Record everything outside of arrays, then array by array, outer before inner."""
        self.enter(self.top, root, gold, predicted, ROOT)
        while self._aligned < len(self.arrays) and not self.waits:
            array = self.arrays[self._aligned]
            self._aligned += 1
            if not array.has_two_sides:
                continue
            try:
                pairs: Any = self.align(array.node, array.gold_items, array.predicted_items)
            except JudgeError as error:
                self._fail(array, error)
            else:
                self._accept(array, pairs)

    def enter(self, parent: Pair, node: Node, gold: Any, predicted: Any, paths: Paths) -> None:
        """Record every leaf and array below two values; inside of arrays comes after alignment."""
        profile, counted = self.scorer.profile, parent is self.top
        # the published package leaves values inside arrays to a language model, without pairing
        released = profile.package_010_pairing and counted
        points = pair_up(node, gold, predicted, released=released, inherit=profile.unions_inherit)
        for child, ours, theirs, suffix in points:
            record: Leaf
            at = paths.below(suffix)
            if child.kind == "array":
                record = self._array(child, ours, theirs, at, counted)
            else:
                verdicts = self.scorer.verdicts(child, ours, theirs)
                record = Leaf(child, at, ours, theirs, counted, verdicts)
            parent.children.append(record)
            for position, verdict in enumerate(record.verdicts):
                if type(verdict) is Pending:
                    self.pending.append((record, position, verdict))

    def _array(self, node: Node, gold: Any, predicted: Any, paths: Paths, counted: bool) -> Leaf:
        """Record an array; if a side is absent or broken, its verdict is known at once."""
        ours, gold_steps = array_items(node, gold)
        theirs, predicted_steps = array_items(node, predicted)
        verdicts = self.scorer.whole_array(node, gold, predicted)
        if ours is None and theirs is None:
            return Leaf(node, paths, gold, predicted, counted, verdicts)
        items = ours or [], theirs or [], gold_steps, predicted_steps
        record = ArrayRecord(node, paths, gold, predicted, counted, verdicts, *items)
        self.arrays.append(record)
        return record

    def _accept(self, array: ArrayRecord, pairs: Pairs, calls: tuple[JudgeCall, ...] = ()) -> None:
        """Record the pairs of an alignment."""
        array.pairs = [self._pair(array, i, j) for i, j in pairs]
        if calls:
            self._change(array, {"calls": calls})

    def _fail(self, array: ArrayRecord, error: JudgeError) -> None:
        """Record that an alignment failed: the array has no verdict."""
        array.unaligned = self.scorer.unaligned(error)
        self._change(array, array.unaligned._asdict())

    def _change(self, array: ArrayRecord, change: dict[str, Any]) -> None:
        """Change the verdicts of an array that depend on its alignment."""
        for position, verdict in enumerate(array.verdicts):
            if isinstance(verdict, Scored) and verdict.outcome == ALIGNED:
                unchanged = {"metric": verdict.metric, "weight": verdict.weight}
                array.put(position, verdict._replace(**{**change, **unchanged}))
                change = {**change, "calls": ()}  # the calls are counted once

    def _pair(self, array: ArrayRecord, i: int, j: int) -> Pair:
        pair = Pair(i, j)
        node = array.node.item(i)
        gold, predicted = array.gold_items[i], array.predicted_items[j]
        if isinstance(gold, MapItem):
            if not same_key(gold, predicted):
                pair.failed_fields = (array.node.field + ".*",)
            gold, predicted = gold.item, predicted.item
        if node is None or never_match(gold, predicted):
            pair.similarity = unlike_similarity(gold, predicted)
            gold_type = json_type(gold)
            gold_fits = node is None or not node.types or gold_type in node.types
            pair.reason = "type_mismatch" if gold_fits else "gold_type_mismatch"
            pair.failed_fields += (array.node.field + "[]",)
            return pair
        self.enter(pair, node, gold, predicted, array.item_paths(i, j))
        if not pair.children and canonical_unordered(gold) != canonical_unordered(predicted):
            pair.failed_fields += (array.node.field + "[]",)
        return pair

    @property
    def is_open(self) -> bool:
        """Whether there is anything to await before `roll_up`."""
        return bool(self.pending or self._aligned < len(self.arrays))

    async def settle(self) -> None:
        """Await open verdicts and alignments, all at once, until none is left.

        An exception becomes a verdict.
        """
        import asyncio

        async def verdict_of(pending: Pending) -> Any:
            return await pending.call()

        async def aligned(array: ArrayRecord) -> Any:
            if not array.has_two_sides:
                return [], ()
            alignment: Any = self.align(array.node, array.gold_items, array.predicted_items)
            return await alignment

        while self.is_open:
            pending, arrays = self.pending, self.arrays[self._aligned :]
            self.pending, self._aligned = [], len(self.arrays)
            calls = [*(verdict_of(verdict) for _, _, verdict in pending), *map(aligned, arrays)]
            results = await asyncio.gather(*calls, return_exceptions=True)
            for (leaf, position, verdict), result in zip(pending, results, strict=False):
                leaf.put(position, verdict.finish(result))
            for array, result in zip(arrays, results[len(pending) :], strict=True):
                if isinstance(result, JudgeError):
                    self._fail(array, result)
                elif isinstance(result, BaseException):
                    raise result
                else:
                    self._accept(array, *result)


def choose_aligner(alignment: str | Aligner, scorer: Scorer) -> Align | AwaitedAlign:
    """Return the function that aligns the items of an array; `alignment` is valid."""
    if isinstance(alignment, str):
        return OptimalAligner(scorer)
    from extractbench_nb.engine.llm_alignment import LLMAligner

    if isinstance(alignment, LLMAligner):
        aligner, optimal = alignment, OptimalAligner(scorer)

        async def asked(node: Node, gold: list[Any], predicted: list[Any]) -> PairsAndCalls:
            if is_aligned(node):
                return await aligner.align(node, gold, predicted)
            # no metric depends on this alignment, so no model is asked
            return optimal(node, gold, predicted), ()

        return asked

    match: Any = alignment

    def matched(node: Node, gold: list[Any], predicted: list[Any]) -> Any:
        return match(list(gold), list(predicted), node.children.items or node)

    call = getattr(match, "__call__", None)  # noqa: B004 - an object may have an async one
    if not (inspect.iscoroutinefunction(match) or inspect.iscoroutinefunction(call)):
        return lambda node, *sides: _checked_pairs(matched(node, *sides), node, *sides)

    async def awaited(node: Node, gold: list[Any], predicted: list[Any]) -> PairsAndCalls:
        pairs = await matched(node, gold, predicted)
        return _checked_pairs(pairs, node, gold, predicted), ()

    return awaited


def _checked_pairs(
    result: Any, node: Node, gold: list[Any], predicted: list[Any]
) -> list[tuple[int, int]]:
    """Check what a user's matcher returned."""
    if inspect.isawaitable(result):
        if inspect.iscoroutine(result):
            result.close()
        raise InputError(
            f"alignment of {node.field!r} returned an awaitable; define it with async def"
        )
    try:
        pairs = [(index(i), index(j)) for i, j in result]
    except (TypeError, ValueError):
        raise InputError(
            f"alignment of {node.field!r} returned {result!r}; expected pairs of indices"
        ) from None
    for side, count, name in ((0, len(gold), "gold"), (1, len(predicted), "predicted")):
        indices = [pair[side] for pair in pairs]
        bad = [i for i in indices if not 0 <= i < count]
        if bad or len(set(indices)) < len(indices):
            raise InputError(
                f"alignment of {node.field!r} returned {name} indices {indices!r}; "
                f"expected each at most once, from 0 to {count - 1}"
            )
    return sorted(pairs)


# --- back up ------------------------------------------------------------------------------------


def roll_up(arrays: Sequence[ArrayRecord], profile: Profile) -> None:
    """Decide pairs and arrays, innermost first."""
    for array in reversed(arrays):
        threshold = pass_threshold(array.node, "align_threshold", 0.5)
        for pair in array.pairs:
            _decide_pair(pair, array, profile, threshold)
        array.matched = sum(pair.status == "matched" for pair in array.pairs)
        for position, verdict in enumerate(array.verdicts):
            if isinstance(verdict, Scored) and verdict.outcome == ALIGNED:
                array.put(position, _aligned_verdict(verdict, array, profile))
        array.score, array.passed = point_score(settled(array))


def _decide_pair(pair: Pair, array: ArrayRecord, profile: Profile, threshold: float) -> None:
    total, count, unjudged, failed = 0.0, 0, 0, list(pair.failed_fields)
    for child in pair.children:
        if type(child) is ArrayRecord:
            score, passed = child.score, child.passed
        else:
            score, passed = point_score(settled(child))
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
        # items of prefixItems are paired by position, whatever their similarity
        by_position = pair.gold_index in range(len(array.node.children.prefix))
        pair.status = "partial" if similarity >= threshold or by_position else "apart"


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
