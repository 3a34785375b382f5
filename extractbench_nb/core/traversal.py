"""From the AST, gold and a prediction to a tree of records: leaves, arrays, and pairs of items.

`Traversal.descend` walks both documents: it pairs values, scores leaves, aligns arrays and enters
the pairs. `Traversal.settle` then awaits open verdicts and alignments by a model, all of them
concurrently; their pairs may open more of both. `rollup` goes back up.
"""

from __future__ import annotations

import inspect
from collections import Counter
from collections.abc import Awaitable, Callable, Coroutine, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from operator import index
from typing import Any, NamedTuple, Protocol, TypeAlias, runtime_checkable

from extractbench_nb.core.alignment import OptimalAligner
from extractbench_nb.core.pairing import pair_up, same_as_wholes
from extractbench_nb.core.schema.schema_nodes import (
    MISSING,
    NOWHERE,
    PRESENT,
    Node,
    Unusable,
    state_of,
)
from extractbench_nb.core.scoring import ALIGNED, Pending, Scored, Scorer, unaligned
from extractbench_nb.core.similarity import (
    MapItem,
    map_items,
    never_match,
    same_key,
    unlike_similarity,
)
from extractbench_nb.core.text.judging import Judge, JudgeCall, JudgeError
from extractbench_nb.core.text.offline_judge import OfflineJudge
from extractbench_nb.core.values import (
    SCALARS,
    bracketed,
    canonical,
    normal_path,
)
from extractbench_nb.errors import InputError

# --- records --------------------------------------------------------------------------------------

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
    """A scored pair of values: node, paths, values and verdicts.

    Records with equal verdicts share them. Until the traversal is settled, some may be `Pending`.
    """

    node: Node
    paths: Paths
    gold: Any
    predicted: Any
    counted: bool
    verdicts: Sequence[Any]
    #: What it weighs in scores, if it counts.
    weight: float
    _states: tuple[str, str] | None = None

    @property
    def states(self) -> tuple[str, str]:
        """The states of both sides; a broken container is present where gold is."""
        if self._states is None:
            gold, predicted, node = self.gold, self.predicted, self.node
            own = PRESENT if type(gold) in SCALARS else state_of(gold, node)
            if own == PRESENT and isinstance(predicted, Unusable):
                self._states = own, PRESENT
            else:
                is_scalar = type(predicted) in SCALARS
                self._states = own, PRESENT if is_scalar else state_of(predicted, node)
        return self._states

    @property
    def values(self) -> tuple[Any, Any]:
        """Both values; None where a side has no value of its own."""
        gold, predicted = (
            None if value is MISSING or isinstance(value, Unusable) else value
            for value in (self.gold, self.predicted)
        )
        return gold, predicted


@dataclass(slots=True, eq=False)
class ArrayRecord(Leaf):
    """A pair of arrays: their items, the pairs of items, and the counts.

    If a side is absent or broken, or a metric takes the array as a whole, its verdicts are known
    from the start; `decide` fills in the verdict of an alignment. ``unaligned`` is the verdict of
    an alignment that failed, because a model gave no answer. ``alternatives`` are the
    accepted ones that were aligned in place of gold's items, by index.
    """

    gold_items: list[Any] = field(default_factory=list)
    predicted_items: list[Any] = field(default_factory=list)
    gold_steps: list[str] = field(default_factory=list)
    predicted_steps: list[str] = field(default_factory=list)
    pairs: list[Pair] = field(default_factory=list)
    matched: int = 0
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
    #: matched, differing, missed, spurious; or apart: too unlike, so one missed and one spurious.
    status: str = ""
    failed_fields: tuple[str, ...] = ()
    unresolved: bool = False
    accepted: str | None = None
    #: By position, by equal keys, or by a matcher of the user's: whatever the similarity is.
    is_given: bool = False


ROOT = Paths("$")


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


def in_order(top: Sequence[Leaf], *, one_sided: bool = True, apart: bool = False) -> list[Leaf]:
    """Return the records in document order: an array, then the records of its pairs.

    The options say whether to enter missed and spurious items (`one_sided`), and pairs that are too
    unlike to count (`apart`).
    """
    entered = {*PAIRED, *(("missed", "spurious") if one_sided else ()), "apart" if apart else ""}
    records: list[Leaf] = []

    def add(leaves: Sequence[Leaf]) -> None:
        for leaf in leaves:
            records.append(leaf)
            if type(leaf) is ArrayRecord:
                for pair in leaf.pairs:
                    if pair.status in entered:
                        add(pair.children)

    add(top)
    return records


# --- aligners -------------------------------------------------------------------------------------

#: A matcher of the user's: (gold items, predicted items, item node) to index pairs.
Matcher = (
    Callable[[Sequence[Any], Sequence[Any], Node], Iterable[tuple[int, int]]]
    | Callable[[Sequence[Any], Sequence[Any], Node], Awaitable[Iterable[tuple[int, int]]]]
)
Pairs = list[tuple[int, int]]
PairsAndCalls = tuple[Pairs, tuple[JudgeCall, ...]]
#: Pairs the items of an array, given its node and both sides; some must be awaited.
Align = Callable[[Node, list[Any], list[Any]], PairsAndCalls | Coroutine[Any, Any, PairsAndCalls]]


@runtime_checkable
class ModelAligner(Protocol):
    """An aligner that asks a model about the items of each array, as `LLMAligner` does."""

    @property
    def name(self) -> str:
        """Name shown in results."""

    def asking(self, judge: Judge) -> ModelAligner:
        """Return the aligner that asks a judge's model if it has none of its own."""

    def check(self, params: Mapping[str, Any] = ...) -> None:
        """Check, before any work, that the model can be asked."""

    async def align(self, node: Node, gold: list[Any], predicted: list[Any]) -> PairsAndCalls:
        """Pair the items of an array."""


#: What ``alignment=`` takes beside a name: an aligner that asks a model, or a function.
Aligner: TypeAlias = Matcher | ModelAligner


# --- the traversal --------------------------------------------------------------------------------


@dataclass(eq=False)
class Traversal:
    """Compares two documents; the result is a tree of records.

    ``top`` stands for the two documents; its children are the records outside of arrays.
    ``arrays`` are all arrays, outer before inner; ``pending`` are verdicts that must be awaited.
    """

    scorer: Scorer
    alignment: str | Aligner
    top: Pair = field(default_factory=lambda: Pair(0, 0))
    documents: tuple[Node, Any, Any] = (NOWHERE, MISSING, MISSING)
    arrays: list[ArrayRecord] = field(default_factory=list)
    pending: list[tuple[Leaf, int, Pending]] = field(default_factory=list)
    _aligned: int = 0

    @cached_property
    def offline_aligner(self) -> OptimalAligner:
        """Compares items, whoever aligns them; the offline judge compares their texts."""
        scorer = self.scorer
        if not isinstance(scorer.judge, OfflineJudge):
            scorer = Scorer(scorer.profile, OfflineJudge(), scorer.accepted)
        return OptimalAligner(scorer)

    @cached_property
    def align(self) -> Align:
        """The function that pairs the items of an array; made for the first array."""
        return choose_aligner(self.alignment, self.offline_aligner)

    def descend(self, root: Node, gold: Any, predicted: Any) -> None:
        """Record everything outside of arrays, then array by array, outer before inner."""
        self.documents = root, gold, predicted
        self.enter(self.top, root, gold, predicted, ROOT)
        if not self.arrays or inspect.iscoroutinefunction(self.align):
            return
        for array in self.arrays:  # entering items appends their arrays
            self._aligned += 1
            try:
                result: Any = self._align_items(array)
            except JudgeError as error:
                result = error
            self._record_pairs(array, result)

    def enter(
        self, parent: Pair, node: Node, gold: Any, predicted: Any, paths: Paths, own: Any = MISSING
    ) -> None:
        """Record every leaf and array below two values; inside of arrays comes after alignment.

        `own` is gold's item if `gold` is an alternative to it; the records show its values.
        """
        start, other = paths
        score, accepted, is_top = self.scorer.score, self.scorer.accepted, parent is self.top
        others = accepted.of_scalars(gold) if accepted.scalars else {}
        own_points = pair_up(node, own, predicted) if own is not MISSING else ()
        own_values = {suffix: value for _, value, _, suffix in own_points}
        for child, ours, theirs, suffix in pair_up(node, gold, predicted):
            config, shown = child.config, ours
            at = Paths(start + suffix, None if other is None else other + suffix)
            weight = config.weight if config is not None else 1.0
            verdicts = score(
                child, ours, theirs, others.get(normal_path(suffix), ()) if others else ()
            )
            if own is not MISSING and child.kind != "array":
                text = canonical(None if ours is MISSING else ours)
                verdicts = tuple(verdict.of_alternative(text) for verdict in verdicts)
                shown = own_values.get(suffix, MISSING)
            record = Leaf(child, at, shown, theirs, is_top, verdicts, weight)
            if child.kind == "array":
                record = self._array(record)
            parent.children.append(record)
            for position, verdict in enumerate(verdicts):
                if type(verdict) is Pending:
                    self.pending.append((record, position, verdict))

    def _array(self, leaf: Leaf) -> Leaf:
        """Return the record of an array; a leaf if neither side is one."""
        node, paths, gold, predicted = leaf.node, leaf.paths, leaf.gold, leaf.predicted
        ours, gold_steps = array_items(node, gold)
        theirs, predicted_steps = array_items(node, predicted)
        if ours is None and theirs is None:
            return leaf
        record = ArrayRecord(
            node,
            paths,
            gold,
            predicted,
            leaf.counted,
            leaf.verdicts,
            leaf.weight,
            gold_items=ours or [],
            predicted_items=theirs or [],
            gold_steps=gold_steps,
            predicted_steps=predicted_steps,
        )
        self.arrays.append(record)
        return record

    def _align_items(self, array: ArrayRecord) -> Any:
        """Pair the items of an array; accepted alternatives replace some of gold's."""
        node, gold, predicted = array.node, array.gold_items, array.predicted_items
        if not array.has_two_sides:
            return [], ()
        chosen = self.offline_aligner.choose_alternatives(node, array.gold, gold, predicted)
        if chosen:
            array.alternatives = chosen
            gold = [chosen.get(i, item) for i, item in enumerate(gold)]
        return self.align(node, gold, predicted)

    def _record_pairs(self, array: ArrayRecord, result: PairsAndCalls | BaseException) -> None:
        """Record the pairs of an alignment; if it failed, the array has no verdict."""
        pairs: Pairs = []
        change: dict[str, Any] = {}
        if isinstance(result, JudgeError):
            array.unaligned = unaligned(result)
            change = array.unaligned._asdict()
        elif isinstance(result, BaseException):
            raise result
        else:
            pairs, change["calls"] = result
        sides = array.node, id(array.gold_items), id(array.predicted_items)
        given = set(self.offline_aligner.pairs_by_key.get(sides, ()))
        for i, j in pairs:
            by_position = i < len(array.node.children.prefix)
            is_given = by_position or callable(self.alignment) or (i, j) in given
            array.pairs.append(Pair(i, j, is_given=is_given))
            self._enter_pair(array.pairs[-1], array, i, j)
        array.verdicts = verdicts = list(array.verdicts)
        for position, verdict in enumerate(verdicts):
            if isinstance(verdict, Scored) and verdict.outcome == ALIGNED:
                unchanged = {"metric": verdict.metric, "weight": verdict.weight}
                verdicts[position] = verdict._replace(**{**change, **unchanged})
                change["calls"] = ()  # they are counted once

    def _enter_pair(self, pair: Pair, array: ArrayRecord, i: int, j: int) -> None:
        """Record what is below a pair of items."""
        node, own = array.node.item(i), array.gold_items[i]
        gold, predicted = array.alternatives.get(i, own), array.predicted_items[j]
        is_alternative = gold is not own
        if isinstance(gold, MapItem):
            if not same_key(gold, predicted):
                pair.failed_fields = (array.node.field + ".*",)
            gold, own, predicted = gold.item, own.item, predicted.item
        if is_alternative:
            pair.accepted = canonical(gold)
        if node is None or never_match(gold, predicted):
            pair.similarity = unlike_similarity(gold, predicted)
            pair.failed_fields += (array.node.field + "[]",)
            return
        paths = array.item_paths(i, j)
        self.enter(pair, node, gold, predicted, paths, own if is_alternative else MISSING)
        if not pair.children and not same_as_wholes(gold, predicted):
            pair.failed_fields += (array.node.field + "[]",)

    @property
    def is_open(self) -> bool:
        """Whether there is anything to await before `decide`."""
        return bool(self.pending or self._aligned < len(self.arrays))

    async def settle(self) -> None:
        """Await open verdicts and alignments, all at once, until none is left.

        An exception becomes a verdict.
        """
        import asyncio

        async def aligned(array: ArrayRecord) -> Any:
            result = self._align_items(array)
            return await result if inspect.isawaitable(result) else result

        while self.is_open:
            pending, arrays = self.pending, self.arrays[self._aligned :]
            self.pending, self._aligned = [], len(self.arrays)
            calls = [*(verdict.settled() for _, _, verdict in pending), *map(aligned, arrays)]
            results = await asyncio.gather(*calls, return_exceptions=True)
            for (leaf, position, _), result in zip(pending, results, strict=False):
                if isinstance(result, BaseException):
                    raise result
                leaf.verdicts = list(leaf.verdicts)
                leaf.verdicts[position] = result
            for array, result in zip(arrays, results[len(pending) :], strict=True):
                self._record_pairs(array, result)


def choose_aligner(alignment: str | Aligner, optimal: OptimalAligner) -> Align:
    """Return the function that aligns the items of an array; `alignment` is valid."""
    if isinstance(alignment, str):
        return lambda *sides: (optimal(*sides), ())
    if isinstance(alignment, ModelAligner):
        aligner = alignment

        async def by_model(node: Node, gold: list[Any], predicted: list[Any]) -> PairsAndCalls:
            if node.is_aligned:
                return await aligner.align(node, gold, predicted)
            # no metric depends on this alignment, so no model is needed
            return optimal(node, gold, predicted), ()

        return by_model

    match: Any = alignment
    call = getattr(match, "__call__", None)  # noqa: B004 - an object may have an async one

    def matched(node: Node, gold: list[Any], predicted: list[Any]) -> PairsAndCalls:
        result = match(list(gold), list(predicted), node.children.items or node)
        return _checked_pairs(result, node, gold, predicted), ()

    async def awaited(node: Node, gold: list[Any], predicted: list[Any]) -> PairsAndCalls:
        result = await match(list(gold), list(predicted), node.children.items or node)
        return _checked_pairs(result, node, gold, predicted), ()

    is_async = inspect.iscoroutinefunction(match) or inspect.iscoroutinefunction(call)
    return awaited if is_async else matched


def _checked_pairs(result: Any, node: Node, gold: list[Any], predicted: list[Any]) -> Pairs:
    """Check what a user's matcher returned."""
    try:
        pairs = [(index(i), index(j)) for i, j in result]
    except (TypeError, ValueError):
        raise InputError(
            f"alignment of {node.field!r} returned {result!r}; expected pairs of indices"
        ) from None
    for side, count, name in ((0, len(gold), "gold"), (1, len(predicted), "predicted")):
        indices = [pair[side] for pair in pairs]
        if len(set(indices)) < len(indices) or not {*range(count)}.issuperset(indices):
            raise InputError(
                f"alignment of {node.field!r} returned {name} indices {indices!r}; "
                f"expected each at most once, from 0 to {count - 1}"
            )
    return sorted(pairs)
