"""From the AST, gold and a prediction to a tree of records.

`Traversal.descend` walks both documents: it pairs values, scores leaves, aligns arrays and enters
the pairs. `Traversal.settle` then awaits open verdicts and alignments by a model, all of them
concurrently; their pairs may open more of both. `roll_up` goes back up: from the verdicts of item
fields to pairs of items, from pairs to arrays.
"""

from __future__ import annotations

import inspect
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from functools import cached_property
from operator import index
from typing import Any, Protocol, TypeAlias, runtime_checkable

from extractbench_nb.core.alignment import OptimalAligner
from extractbench_nb.core.pairing import pair_up, same_as_wholes
from extractbench_nb.core.records import (
    ROOT,
    ArrayRecord,
    Leaf,
    Pair,
    Paths,
    array_items,
)
from extractbench_nb.core.schema.schema_nodes import (
    MISSING,
    NOWHERE,
    Node,
)
from extractbench_nb.core.scoring import ALIGNED, Pending, Scored, Scorer, unaligned
from extractbench_nb.core.similarity import (
    MapItem,
    never_match,
    same_key,
    unlike_similarity,
)
from extractbench_nb.core.text.judging import Judge, JudgeCall, JudgeError
from extractbench_nb.core.text.offline_judge import OfflineJudge
from extractbench_nb.core.values import (
    canonical,
    json_type,
    normal_path,
)
from extractbench_nb.errors import InputError

#: A matcher of the user's: (gold items, predicted items, item node) to index pairs.
Matcher = (
    Callable[[Sequence[Any], Sequence[Any], Node], Iterable[tuple[int, int]]]
    | Callable[[Sequence[Any], Sequence[Any], Node], Awaitable[Iterable[tuple[int, int]]]]
)
Pairs = list[tuple[int, int]]
Align = Callable[[Node, list[Any], list[Any]], Pairs]
PairsAndCalls = tuple[Pairs, tuple[JudgeCall, ...]]
AwaitedAlign = Callable[[Node, list[Any], list[Any]], Awaitable[PairsAndCalls]]


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


class Traversal:
    """Compares two documents; the result is a tree of records.

    ``top`` stands for the two documents; its children are the records outside of arrays.
    ``arrays`` are all arrays, outer before inner; ``pending`` are verdicts that must be awaited.
    """

    def __init__(self, scorer: Scorer, alignment: str | Aligner) -> None:
        self.scorer = scorer
        self.alignment = alignment
        self.top = Pair(0, 0)
        self.documents: tuple[Node, Any, Any] = (NOWHERE, MISSING, MISSING)
        self.arrays: list[ArrayRecord] = []
        self.pending: list[tuple[Leaf, int, Pending]] = []
        self._aligned = 0

    @cached_property
    def align(self) -> Align | AwaitedAlign:
        """The function that pairs the items of an array; made for the first array."""
        return choose_aligner(self.alignment, self.comparer)

    @cached_property
    def comparer(self) -> OptimalAligner:
        """Compares items, whoever aligns them; the offline judge compares their texts."""
        scorer = self.scorer
        if not isinstance(scorer.judge, OfflineJudge):
            scorer = Scorer(scorer.profile, OfflineJudge(), scorer.accepted)
        return OptimalAligner(scorer)

    @cached_property
    def waits(self) -> bool:
        """Whether alignments must be awaited."""
        return inspect.iscoroutinefunction(self.align)

    def descend(self, root: Node, gold: Any, predicted: Any) -> None:
        """Record everything outside of arrays, then array by array, outer before inner."""
        self.documents = root, gold, predicted
        self.enter(self.top, root, gold, predicted, ROOT)
        while self._aligned < len(self.arrays) and not self.waits:
            array = self.arrays[self._aligned]
            self._aligned += 1
            if not array.has_two_sides:
                continue
            try:
                pairs: Any = self.align(array.node, self._gold_items(array), array.predicted_items)
            except JudgeError as error:
                self._fail(array, error)
            else:
                self._accept(array, pairs)

    def enter(
        self, parent: Pair, node: Node, gold: Any, predicted: Any, paths: Paths, own: Any = MISSING
    ) -> None:
        """Record every leaf and array below two values; inside of arrays comes after alignment.

        `own` is gold's item if `gold` is an alternative to it; the records show its values.
        """
        counted = parent is self.top
        others = self.scorer.accepted.of_scalars(gold)
        own_points = pair_up(node, own, predicted) if own is not MISSING else ()
        own_values = {point.suffix: point.gold for point in own_points}
        for child, ours, theirs, suffix in pair_up(node, gold, predicted):
            record: Leaf
            at = paths.below(suffix)
            if child.kind == "array":
                record = self._array(child, ours, theirs, at, counted)
            else:
                some = others.get(normal_path(suffix), ()) if others else ()
                verdicts = self.scorer.score(child, ours, theirs, some)
                if own is not MISSING:
                    text = canonical(None if ours is MISSING else ours)
                    verdicts = tuple(verdict.of_alternative(text) for verdict in verdicts)
                shown = ours if own is MISSING else own_values.get(suffix, MISSING)
                record = Leaf(child, at, shown, theirs, counted, verdicts)
            parent.children.append(record)
            for position, verdict in enumerate(record.verdicts):
                if type(verdict) is Pending:
                    self.pending.append((record, position, verdict))

    def _array(self, node: Node, gold: Any, predicted: Any, paths: Paths, counted: bool) -> Leaf:
        """Record an array; if a side is absent or broken, its verdict is known at once."""
        ours, gold_steps = array_items(node, gold)
        theirs, predicted_steps = array_items(node, predicted)
        verdicts = self.scorer.score(node, gold, predicted)
        if ours is None and theirs is None:
            return Leaf(node, paths, gold, predicted, counted, verdicts)
        record = ArrayRecord(
            node,
            paths,
            gold,
            predicted,
            counted,
            verdicts,
            gold_items=ours or [],
            predicted_items=theirs or [],
            gold_steps=gold_steps,
            predicted_steps=predicted_steps,
        )
        self.arrays.append(record)
        return record

    def _gold_items(self, array: ArrayRecord) -> list[Any]:
        """Return gold's items as they are aligned: alternatives replace some of them."""
        array.alternatives = self.comparer.choose_alternatives(
            array.node, array.gold, array.gold_items, array.predicted_items
        )
        if not array.alternatives:
            return array.gold_items
        return [array.alternatives.get(i, item) for i, item in enumerate(array.gold_items)]

    def _accept(self, array: ArrayRecord, pairs: Pairs, calls: tuple[JudgeCall, ...] = ()) -> None:
        """Record the pairs of an alignment."""
        array.pairs = []
        sides = array.node, id(array.gold_items), id(array.predicted_items)
        given = set(self.comparer.pairs_by_key.get(sides, ()))
        for i, j in pairs:
            by_position = i < len(array.node.children.prefix)
            is_given = by_position or callable(self.alignment) or (i, j) in given
            pair = Pair(i, j, is_given=is_given)
            array.pairs.append(pair)
            self._fill(pair, array, i, j)
        if calls:
            self._change(array, {"calls": calls})

    def _fail(self, array: ArrayRecord, error: JudgeError) -> None:
        """Record that an alignment failed: the array has no verdict."""
        array.unaligned = unaligned(error)
        self._change(array, array.unaligned._asdict())

    def _change(self, array: ArrayRecord, change: dict[str, Any]) -> None:
        """Change the verdicts of an array that depend on its alignment."""
        for position, verdict in enumerate(array.verdicts):
            if isinstance(verdict, Scored) and verdict.outcome == ALIGNED:
                unchanged = {"metric": verdict.metric, "weight": verdict.weight}
                array.put(position, verdict._replace(**{**change, **unchanged}))
                change = {**change, "calls": ()}  # the calls are counted once

    def _fill(self, pair: Pair, array: ArrayRecord, i: int, j: int) -> None:
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
            gold_type = json_type(gold)
            gold_fits = node is None or not node.types or gold_type in node.types
            pair.reason = "type_mismatch" if gold_fits else "gold_type_mismatch"
            pair.failed_fields += (array.node.field + "[]",)
            return
        paths = array.item_paths(i, j)
        self.enter(pair, node, gold, predicted, paths, own if is_alternative else MISSING)
        if not pair.children and not same_as_wholes(gold, predicted):
            pair.failed_fields += (array.node.field + "[]",)

    @property
    def is_open(self) -> bool:
        """Whether there is anything to await before `roll_up`."""
        return bool(self.pending or self._aligned < len(self.arrays))

    async def settle(self) -> None:
        """Await open verdicts and alignments, all at once, until none is left.

        An exception becomes a verdict.
        """
        import asyncio

        async def aligned(array: ArrayRecord) -> Any:
            if not array.has_two_sides:
                return [], ()
            alignment: Any = self.align(array.node, self._gold_items(array), array.predicted_items)
            return await alignment

        while self.is_open:
            pending, arrays = self.pending, self.arrays[self._aligned :]
            self.pending, self._aligned = [], len(self.arrays)
            calls = [*(verdict.settled() for _, _, verdict in pending), *map(aligned, arrays)]
            results = await asyncio.gather(*calls, return_exceptions=True)
            for (leaf, position, _), result in zip(pending, results, strict=False):
                if isinstance(result, BaseException):
                    raise result
                leaf.put(position, result)
            for array, result in zip(arrays, results[len(pending) :], strict=True):
                if isinstance(result, JudgeError):
                    self._fail(array, result)
                elif isinstance(result, BaseException):
                    raise result
                else:
                    self._accept(array, *result)


def choose_aligner(alignment: str | Aligner, optimal: OptimalAligner) -> Align | AwaitedAlign:
    """Return the function that aligns the items of an array; `alignment` is valid."""
    if isinstance(alignment, str):
        return optimal
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

    def matched(node: Node, gold: list[Any], predicted: list[Any]) -> Any:
        return match(list(gold), list(predicted), node.children.items or node)

    async def awaited(node: Node, gold: list[Any], predicted: list[Any]) -> PairsAndCalls:
        return _checked_pairs(await matched(node, gold, predicted), node, gold, predicted), ()

    if inspect.iscoroutinefunction(match) or inspect.iscoroutinefunction(call):
        return awaited
    return lambda node, *sides: _checked_pairs(matched(node, *sides), node, *sides)


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
