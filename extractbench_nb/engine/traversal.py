"""The traversal: AST + gold + predicted -> records.

`Traversal.descend` walks both documents: it pairs values, scores leaves, aligns arrays and enters
the pairs. `Traversal.settle` then awaits open verdicts and alignments by a model, all of them
concurrently; their pairs may open more of both. `Traversal.finish` goes back up: from the verdicts
of item fields to pairs of items, from pairs to arrays.
"""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import Awaitable, Callable
from typing import Any

from extractbench_nb._json import canonical_unordered, json_type
from extractbench_nb.engine.llm_alignment import Alignment
from extractbench_nb.engine.pairing import Point, pair_up
from extractbench_nb.engine.records import (
    ArrayRecord,
    Leaf,
    Pair,
    Paths,
    array_items,
    roll_up,
)
from extractbench_nb.engine.scoring import ALIGNED, Pending, Scored, Scorer
from extractbench_nb.engine.similarity import MapItem, never_match, same_key, unlike_similarity
from extractbench_nb.engine.strict_rules import count_leaves, invented_leaves
from extractbench_nb.judges.base import JudgeError
from extractbench_nb.schema.nodes import Node

ROOT = Paths("$")

Align = Callable[[Node, list[Any], list[Any]], list[tuple[int, int]]]
AwaitedAlign = Callable[[Node, list[Any], list[Any]], Awaitable[Alignment]]


class Traversal:
    """Compares two documents and leaves a tree of records behind.

    Parameters
    ----------
    scorer : Scorer
        Gives the verdicts.
    align : callable
        ``(array node, gold items, predicted items) -> index pairs``; or a coroutine function that
        returns an `Alignment`, or raises `JudgeError`.

    Attributes
    ----------
    top : Pair
        The two documents; its children are the records outside of arrays.
    arrays : list of ArrayRecord
        All arrays, outer before inner.
    pending : list
        Verdicts that must be awaited before `finish`.
    waits : bool
        Whether alignments must be awaited too.
    """

    def __init__(self, scorer: Scorer, align: Align | AwaitedAlign) -> None:
        self.scorer = scorer
        self.align = align
        self.waits = inspect.iscoroutinefunction(align)
        self.top = Pair(0, 0)
        self.arrays: list[ArrayRecord] = []
        self.pending: list[tuple[Leaf, int, Pending]] = []
        self._aligned = 0

    def descend(self, root: Node, gold: Any, predicted: Any) -> None:
        """Go down: everything outside of arrays first, then array by array, outer before inner."""
        self.enter(self.top, root, gold, predicted, ROOT)
        while not self.waits and self._aligned < len(self.arrays):
            self._align(self.arrays[self._aligned])
            self._aligned += 1

    def enter(self, parent: Pair, node: Node, gold: Any, predicted: Any, paths: Paths) -> None:
        """Score every place below two values that is not inside an array; note the arrays."""
        # what is in arrays the published package leaves to a language model
        profile = self.scorer.profile
        released = profile.package_010_pairing and parent is self.top
        points = pair_up(node, gold, predicted, released=released, inherit=profile.unions_inherit)
        counted = parent is self.top
        for point in points:
            at, ours, theirs, suffix = point
            if at.kind == "array":
                record = self._array(point, paths.below(suffix), counted)
            else:
                verdicts = list(self.scorer.verdicts(at, ours, theirs))
                record = Leaf(at, paths.below(suffix), ours, theirs, counted, verdicts)
            parent.children.append(record)
            for place, verdict in enumerate(record.verdicts):
                if type(verdict) is Pending:
                    self.pending.append((record, place, verdict))

    def _array(self, point: Point, paths: Paths, counted: bool) -> Leaf:
        """Record an array. Where a side is absent or broken, the verdict is known already."""
        node, gold, predicted, _ = point
        ours, gold_steps = array_items(node, gold)
        theirs, predicted_steps = array_items(node, predicted)
        verdicts = list(self.scorer.whole_array(node, gold, predicted))
        if ours is None and theirs is None:
            return Leaf(node, paths, gold, predicted, counted, verdicts)
        items = ours or [], theirs or [], gold_steps, predicted_steps
        record = ArrayRecord(node, paths, gold, predicted, counted, verdicts, *items)
        self.arrays.append(record)
        return record

    def _align(self, array: ArrayRecord) -> None:
        if not _has_two_sides(array):
            return
        try:
            pairs: Any = self.align(array.node, array.gold_items, array.predicted_items)
        except JudgeError as error:
            self._accept(array, error)
        else:
            self._accept(array, Alignment(pairs))

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
            fault = node is not None and json_type(gold) not in (node.types or {json_type(gold)})
            pair.reason = "gold_type_mismatch" if fault else "type_mismatch"
            pair.failed_fields += (array.node.field + "[]",)
            return pair
        self.enter(pair, node, gold, predicted, array.item_paths(i, j))
        if not pair.children and canonical_unordered(gold) != canonical_unordered(predicted):
            pair.failed_fields += (array.node.field + "[]",)
        return pair

    @property
    def is_open(self) -> bool:
        """Whether there is anything to await before `finish`."""
        return bool(self.pending or self._aligned < len(self.arrays))

    async def settle(self) -> None:
        """Await all that is open at once, again and again; a failure is a verdict too."""
        while self.is_open:
            pending, arrays = self.pending, self.arrays[self._aligned :]
            self.pending, self._aligned = [], len(self.arrays)
            calls = [*(_call(verdict) for _, _, verdict in pending), *map(self._awaited, arrays)]
            results = await asyncio.gather(*calls, return_exceptions=True)
            for (leaf, place, verdict), result in zip(pending, results, strict=False):
                leaf.verdicts[place] = verdict.finish(result)
            for array, result in zip(arrays, results[len(pending) :], strict=True):
                self._accept(array, result)

    async def _awaited(self, array: ArrayRecord) -> Alignment:
        if not _has_two_sides(array):
            return Alignment([])
        found: Any = self.align(array.node, array.gold_items, array.predicted_items)
        return await found  # type: ignore[no-any-return]

    def _accept(self, array: ArrayRecord, found: Alignment | BaseException) -> None:
        """Enter the pairs of an alignment; without one, there is no verdict on the array."""
        if isinstance(found, JudgeError):
            array.unaligned = self.scorer.unaligned(found)
            self._change_aligned(array, array.unaligned._asdict())
        elif isinstance(found, BaseException):
            raise found
        else:
            array.pairs = [self._pair(array, i, j) for i, j in found.pairs]
            if found.calls:
                self._change_aligned(array, {"calls": found.calls})

    @staticmethod
    def _change_aligned(array: ArrayRecord, change: dict[str, Any]) -> None:
        """Change what the alignment is to decide; its calls are counted once."""
        for place, verdict in enumerate(array.verdicts):
            if isinstance(verdict, Scored) and verdict.outcome == ALIGNED:
                own = {"metric": verdict.metric, "weight": verdict.weight}
                array.verdicts[place] = verdict._replace(**{**change, **own})
                change = {**change, "calls": ()}

    def finish(self, root: Node, gold: Any, predicted: Any) -> None:
        """Go back up; then apply the rules of profiles that count leaves."""
        profile = self.scorer.profile
        roll_up(self.arrays, profile)
        if profile.count_array_leaves:
            count_leaves(self)
        if profile.undeclared_is_hallucination:
            invented_leaves(self, root, gold, predicted)


def _has_two_sides(array: ArrayRecord) -> bool:
    same_kind = isinstance(array.gold, dict) == isinstance(array.predicted, dict)
    return bool(array.gold_items and array.predicted_items and same_kind)


async def _call(pending: Pending) -> Any:
    return await pending.call()
