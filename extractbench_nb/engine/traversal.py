"""From the AST, gold and a prediction to a tree of records.

`Traversal.descend` walks both documents: it pairs values, scores leaves, aligns arrays and enters
the pairs. `Traversal.settle` then awaits open verdicts and alignments by a model, all of them
concurrently; their pairs may open more of both. `roll_up` goes back up: from the verdicts of item
fields to pairs of items, from pairs to arrays.
"""

from __future__ import annotations

import inspect
from collections.abc import Awaitable, Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from functools import cached_property
from operator import index
from typing import TYPE_CHECKING, Any, TypeAlias

from extractbench_nb._json import canonical_unordered, json_type
from extractbench_nb.engine.accepted import (
    Alternatives,
    Place,
    class_members,
    normal_path,
)
from extractbench_nb.engine.assignment import OptimalAligner
from extractbench_nb.engine.choices import Choice
from extractbench_nb.engine.pairing import Point, pair_up
from extractbench_nb.engine.records import (
    ROOT,
    ArrayRecord,
    Leaf,
    Pair,
    Paths,
    array_items,
    in_records,
)
from extractbench_nb.engine.scoring import ALIGNED, Pending, Scored, Scorer
from extractbench_nb.engine.similarity import (
    MapItem,
    is_aligned,
    never_match,
    same_key,
    unlike_similarity,
)
from extractbench_nb.errors import InputError
from extractbench_nb.judges.base import JudgeCall, JudgeError
from extractbench_nb.schema.nodes import Node

if TYPE_CHECKING:
    from extractbench_nb.engine.llm_alignment import LLMAligner

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
    ``arrays`` are all arrays, outer before inner; ``pending`` are verdicts that must be awaited;
    ``choices`` are the places where gold has accepted alternatives, outer before inner.
    """

    def __init__(
        self, scorer: Scorer, alignment: str | Aligner, accepted: Alternatives | None = None
    ) -> None:
        self.scorer = scorer
        self.alignment = alignment
        self.accepted = accepted
        self.choices: list[Choice] = []
        self.has_choices = False
        self.top = Pair(0, 0)
        self.arrays: list[ArrayRecord] = []
        self.pending: list[tuple[Leaf, int, Pending]] = []
        self._aligned = 0

    @cached_property
    def align(self) -> Align | AwaitedAlign:
        """The function that pairs the items of an array; made for the first array."""
        return choose_aligner(self.alignment, self.scorer, self.accepted)

    @cached_property
    def waits(self) -> bool:
        """Whether alignments must be awaited."""
        return inspect.iscoroutinefunction(self.align)

    def descend(self, root: Node, gold: Any, predicted: Any) -> None:
        """Record everything outside of arrays, then array by array, outer before inner."""
        places = self.accepted.root if self.accepted is not None else ()
        self.enter(self.top, root, gold, predicted, ROOT, places)
        self._align_open()
        while self.choices and not self.is_open and self._try_next():
            pass

    def _align_open(self) -> None:
        """Align the arrays that are open, unless alignments must be awaited."""
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

    def enter(
        self,
        parent: Pair,
        node: Node,
        gold: Any,
        predicted: Any,
        paths: Paths,
        places: Sequence[Place] = (),
    ) -> None:
        """Record every leaf and array below two values; inside of arrays comes after alignment."""
        counted = parent is self.top
        for place in places:
            if not place.suffix and not counted:
                continue  # of the item as a whole: its pair is a choice

            def compare(at: int, place: Place = place) -> Pair:
                reading = place.readings[at]
                below = [p for p in pair_up(node, reading, predicted) if place.holds(p.suffix)]
                return self._recorded(Pair(None, None), below, paths, counted)

            own = normal_path(paths.gold) + place.suffix
            self.choices.append(Choice.of_records(own, place.values, compare, parent))
        self._recorded(parent, pair_up(node, gold, predicted), paths, counted)

    def _recorded(self, parent: Pair, points: Iterable[Point], paths: Paths, counted: bool) -> Pair:
        """Add the records of points to a pair."""
        for child, ours, theirs, suffix in points:
            record: Leaf
            at = paths.below(suffix)
            if child.kind == "array":
                record = self._array(child, ours, theirs, at, counted)
            else:
                verdicts = self.scorer.verdicts(child, ours, theirs)
                record = Leaf(child, at, ours, theirs, counted, verdicts)
                if child.config is not None and child.config.accepted:
                    self._choose_in_class(record, parent)
            parent.children.append(record)
            for position, verdict in enumerate(record.verdicts):
                if type(verdict) is Pending:
                    self.pending.append((record, position, verdict))
        return parent

    def _choose_in_class(self, leaf: Leaf, parent: Pair) -> None:
        """Open a choice where the schema declares values that mean the same as gold's."""
        members = class_members(leaf.node, leaf.gold)

        def compare(at: int) -> Pair:
            verdicts = self.scorer.verdicts(leaf.node, members[at], leaf.predicted)
            found = Leaf(leaf.node, leaf.paths, members[at], leaf.predicted, leaf.counted, verdicts)
            self.pending += [(found, n, v) for n, v in enumerate(verdicts) if type(v) is Pending]
            return Pair(None, None, [found])

        if members:
            own = normal_path(leaf.paths.gold)
            self.choices.append(Choice.of_records(own, members, compare, parent))

    def _try_next(self) -> bool:
        """Compare the next alternatives; return whether there were any.

        An outer choice waits for those inside of it.
        """
        self.has_choices = True
        waiting: list[str] = []
        for choice in reversed(self.choices):
            if not choice.is_open or any(choice.contains(path) for path in waiting):
                continue
            if choice.advance(self.scorer.profile):
                waiting.append(choice.path)
        self.choices = [choice for choice in self.choices if choice.is_open]
        self._align_open()
        return bool(waiting)

    def _take_identical(self) -> None:
        """Use an alternative that the prediction equals, in place of asking a model about gold."""
        for choice in reversed(self.choices):
            dropped = choice.take_identical(self.scorer.profile)
            if dropped:
                self.pending = [entry for entry in self.pending if entry[0] is not dropped]

    def drop_unused(self) -> None:
        """Forget the arrays of readings that are not used; call it before `roll_up`."""
        used = {id(record) for record in in_records(self.top.children)}
        self.arrays = [array for array in self.arrays if id(array) in used]

    def _array(self, node: Node, gold: Any, predicted: Any, paths: Paths, counted: bool) -> Leaf:
        """Record an array; if a side is absent or broken, its verdict is known at once."""
        ours, gold_steps = array_items(node, gold)
        theirs, predicted_steps = array_items(node, predicted)
        verdicts = self.scorer.whole_array(node, gold, predicted)
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

    def _accept(self, array: ArrayRecord, pairs: Pairs, calls: tuple[JudgeCall, ...] = ()) -> None:
        """Record the pairs of an alignment."""
        places = self.accepted.of_items(array.gold) if self.accepted is not None else {}
        array.pairs = []
        for i, j in pairs:
            pair = Pair(i, j)
            array.pairs.append(pair)
            for place in places.get(i, ()):
                if not place.suffix:
                    self._choose_item(array, pair, place)
            self._fill(pair, array, array.gold_items[i], places.get(i, ()))
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

    def _choose_item(self, array: ArrayRecord, pair: Pair, place: Place) -> None:
        """Open a choice between the readings of an item as a whole."""

        def compare(at: int) -> Pair:
            gold, value = array.gold_items[pair.gold_index or 0], place.values[at]
            if isinstance(gold, MapItem):
                value = gold.replaced(value)
            found = Pair(pair.gold_index, pair.predicted_index)
            return self._fill(found, array, value, ())

        own = normal_path(array.item_paths(pair.gold_index, pair.predicted_index).gold)
        self.choices.append(Choice.of_item(own, place.values, compare, array, pair))

    def _fill(self, pair: Pair, array: ArrayRecord, gold: Any, places: Sequence[Place]) -> Pair:
        """Record what is below a pair of items."""
        i, j = pair.gold_index or 0, pair.predicted_index or 0
        node = array.node.item(i)
        predicted = array.predicted_items[j]
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
        self.enter(pair, node, gold, predicted, array.item_paths(i, j), places)
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

        while self.is_open or (self.choices and self._try_next()):
            self._take_identical()
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


def choose_aligner(
    alignment: str | Aligner, scorer: Scorer, accepted: Alternatives | None = None
) -> Align | AwaitedAlign:
    """Return the function that aligns the items of an array; `alignment` is valid."""
    if isinstance(alignment, str):
        return OptimalAligner(scorer, accepted)
    from extractbench_nb.engine.llm_alignment import LLMAligner

    if isinstance(alignment, LLMAligner):
        aligner, optimal = alignment, OptimalAligner(scorer, accepted)

        async def asked(node: Node, gold: list[Any], predicted: list[Any]) -> PairsAndCalls:
            if is_aligned(node):
                return await aligner.align(node, gold, predicted)
            # no metric depends on this alignment, so no model is asked
            return optimal(node, gold, predicted), ()

        return asked

    match: Any = alignment

    def matched(node: Node, gold: list[Any], predicted: list[Any]) -> Any:
        with _naming(node):
            return match(list(gold), list(predicted), node.children.items or node)

    call = getattr(match, "__call__", None)  # noqa: B004 - an object may have an async one
    if not (inspect.iscoroutinefunction(match) or inspect.iscoroutinefunction(call)):
        return lambda node, *sides: _checked_pairs(matched(node, *sides), node, *sides)

    async def awaited(node: Node, gold: list[Any], predicted: list[Any]) -> PairsAndCalls:
        with _naming(node):
            pairs = await matched(node, gold, predicted)
        return _checked_pairs(pairs, node, gold, predicted), ()

    return awaited


@contextmanager
def _naming(node: Node) -> Iterator[None]:
    """Say in an error of a user's matcher which array it was given."""
    try:
        yield
    except Exception as error:
        error.add_note(f"in the alignment function, for the array {node.field!r}")
        raise


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
