"""THE traversal: AST + gold + predicted -> records. The only one in the project.

It runs in three steps. `_Walk` goes down: it pairs values, scores leaves, aligns arrays and enters
the pairs. Verdicts that must be awaited are settled next, all at once. Then `roll_up` goes back up:
from the verdicts of item fields to pairs, from pairs to arrays.
"""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

from extractbench_nb._json import bracketed, json_type, read_text
from extractbench_nb.alignment.assignment import OptimalAligner
from extractbench_nb.alignment.similarity import (
    MapItem,
    array_score,
    is_aligned,
    never_match,
    pass_threshold,
    point_score,
    text_of,
)
from extractbench_nb.coverage import leaves, undeclared
from extractbench_nb.errors import InputError, nearest
from extractbench_nb.evaluation import Evaluation, Inputs
from extractbench_nb.judges.base import Judge
from extractbench_nb.judges.offline import OfflineJudge, similarity
from extractbench_nb.metrics.strings import string_normalized
from extractbench_nb.profiles import Profile, get_profile
from extractbench_nb.records import ArrayRecord, Leaf, Pair
from extractbench_nb.schema.nodes import Node, Schema
from extractbench_nb.schema.parse import parse_schema
from extractbench_nb.scoring import Pending, Scored, Scorer
from extractbench_nb.values import (
    EMPTY,
    MISSING,
    PRESENT,
    Point,
    Unusable,
    pair_up,
    state_of,
)
from extractbench_nb._json import canonical, read_document

__all__ = ["evaluate", "evaluate_async"]

Aligner = Callable[[Sequence[Any], Sequence[Any], Node], Iterable[tuple[int, int]]]


def evaluate(
    schema: Mapping[str, Any] | str | Path | Schema,
    gold: Any,
    predicted: Any,
    *,
    judge: str | Judge = "offline",
    alignment: str | Aligner = "optimal",
    profile: str | Profile = "paper",
) -> Evaluation:
    """Compare a predicted document with gold, field by field, as the schema says.

    Parameters
    ----------
    schema : dict, str, pathlib.Path or Schema
        JSON Schema with ``evaluation_config`` annotations: a dict, JSON text, a file, or parsed.
    gold : object
        The right document: a value, a ``pathlib.Path`` (a file) or a ``str`` (JSON text).
    predicted : object
        What a model said, in the same forms. Nothing in it can stop the evaluation; text that does
        not parse is one structural row at the root.
    judge : str or Judge, optional
        Who decides that two texts mean the same. ``"offline"`` is deterministic.
    alignment : str or callable, optional
        ``"optimal"``, or a function ``(gold items, predicted items, item node) -> index pairs``.
    profile : str or Profile, optional
        The rules: ``"paper"``, ``"strict"`` or ``"extract-bench-0.1.0"``.

    Returns
    -------
    Evaluation
        With ``.fields``, ``.arrays``, ``.matches``, ``.summary`` and ``.warnings``.

    Raises
    ------
    SchemaError, ConfigError
        The schema cannot be read.
    InputError
        Gold is not JSON, a file cannot be read, or an option is unknown.

    Notes
    -----
    The semantics follow sections 3.2 to 3.4 of the ExtractBench paper. It works the same in a
    script and in a notebook cell, where an event loop is running.

    Examples
    --------
    >>> schema = {"type": "object", "properties": {"year": {"type": "integer"}}}
    >>> evaluate(schema, {"year": 2024}, {"year": 2025}).fields[["path", "outcome"]].values.tolist()
    [['$.year', 'incorrect']]
    """
    run = _Run(schema, gold, predicted, judge, alignment, profile)
    if run.pending:
        _run_sync(run.settle)
    return run.finish()


async def evaluate_async(
    schema: Mapping[str, Any] | str | Path | Schema,
    gold: Any,
    predicted: Any,
    *,
    judge: str | Judge = "offline",
    alignment: str | Aligner = "optimal",
    profile: str | Profile = "paper",
) -> Evaluation:
    """Do what `evaluate` does, awaiting metrics and judges that wait.

    Parameters
    ----------
    schema, gold, predicted : object
        See `evaluate`.
    judge, alignment, profile : object, optional
        See `evaluate`.

    Returns
    -------
    Evaluation
        The same as `evaluate` returns.
    """
    run = _Run(schema, gold, predicted, judge, alignment, profile)
    if run.pending:
        await run.settle()
    return run.finish()


def _run_sync(task: Callable[[], Awaitable[None]]) -> None:
    """Run an async task to its end, also where an event loop is running (a notebook cell)."""
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        asyncio.run(_awaited(task))
    else:
        with ThreadPoolExecutor(1) as pool:
            pool.submit(asyncio.run, _awaited(task)).result()


async def _awaited(task: Callable[[], Awaitable[None]]) -> None:
    await task()


class _Run:
    """One evaluation: inputs, the walk, what is still awaited."""

    def __init__(
        self,
        schema: Any,
        gold: Any,
        predicted: Any,
        judge: str | Judge,
        alignment: str | Aligner,
        profile: str | Profile,
    ) -> None:
        self.started = time.perf_counter()
        self.profile = get_profile(profile)
        self.schema = _parsed(schema, self.profile)
        self.gold = read_document(gold, "gold")
        self.predicted, self.problem = read_predicted(predicted)
        self.judge = _judge(judge)
        self.alignment = alignment
        self.scorer = Scorer(self.profile, self.judge)
        self.walk = _Walk(self.scorer, _aligner(alignment, self.scorer))
        self.pending: list[tuple[Leaf, int, Pending]] = []
        self._descend()

    def _descend(self) -> None:
        root = self.schema.root
        if self.problem is not None:
            verdict = Scored("json", 0.0, False, "structural", "unparsable_json", self.problem)
            self.walk.top.children.append(
                Leaf(root, "$", None, self.gold, self.predicted, True, [verdict])
            )
            return
        try:
            self.walk.enter(self.walk.top, root, self.gold, self.predicted, ("$", None), True)
            self.walk.run()
        except RecursionError:
            self._start_again_without_depth()
        self.pending = self.walk.pending

    def _start_again_without_depth(self) -> None:
        """Cut what is nested beyond reason; gold that deep is an error."""
        if _depth(self.gold) > MAX_DEPTH:
            raise InputError(
                f"gold is nested deeper than {MAX_DEPTH} levels; expected a document that is not"
            ) from None
        self.predicted = _cut(self.predicted, MAX_DEPTH)
        self.walk = _Walk(self.scorer, _aligner(self.alignment, self.scorer))
        self.walk.enter(self.walk.top, self.schema.root, self.gold, self.predicted, ("$", None), True)
        self.walk.run()

    async def settle(self) -> None:
        """Await every verdict that is still open, all at once; a failure is a verdict too."""
        calls = [_call(pending) for _, _, pending in self.pending]
        results = await asyncio.gather(*calls, return_exceptions=True)
        for (leaf, place, pending), result in zip(self.pending, results, strict=True):
            leaf.verdicts[place] = pending.finish(result)

    def finish(self) -> Evaluation:
        """Roll up and hand over."""
        self.walk.roll_up()
        if self.profile.count_array_leaves:
            self.walk.count_leaves()
        if self.profile.undeclared_is_hallucination and self.problem is None:
            self.walk.add_undeclared(self.schema.root, self.gold, self.predicted)
        inputs = Inputs(self.schema, self.gold, self.predicted, self.problem)
        meta = {
            "profile": self.profile.name,
            "judge": self.judge.name,
            "alignment": self.alignment if isinstance(self.alignment, str) else "callable",
            "seconds": time.perf_counter() - self.started,
        }
        return Evaluation(
            self.walk.top.children, self.profile, inputs, meta, dict(self.scorer.ignored_params)
        )


def _parsed(schema: Any, profile: Profile) -> Schema:
    if isinstance(schema, Schema) and not profile.url_rule:
        schema = dict(schema.document)
    return parse_schema(schema, check_metrics=profile.check_metrics, url_rule=profile.url_rule)


async def _call(pending: Pending) -> Any:
    return await pending.call()


class _Walk:
    """Goes down the schema with both documents, arrays through a worklist, not through recursion."""

    def __init__(self, scorer: Scorer, align: Callable[..., list[tuple[int, int]]]) -> None:
        self.scorer = scorer
        self.profile = scorer.profile
        self.align = align
        self.top = Pair(None, None)
        self.arrays: list[ArrayRecord] = []
        self.pending: list[tuple[Leaf, int, Pending]] = []
        self._next = 0

    def enter(
        self,
        parent: Pair,
        node: Node,
        gold: Any,
        predicted: Any,
        paths: tuple[str, str | None],
        counted: bool,
    ) -> None:
        """Score everything below one pair of values that is not inside an array."""
        points = pair_up(node, gold, predicted, released=self.profile.union_needs_own_metric)
        for point in points:
            path = paths[0] + point.suffix
            theirs = None if paths[1] is None else paths[1] + point.suffix
            if point.node.kind == "array":
                record: Leaf = self._array(point, path, theirs, counted)
            else:
                verdicts = list(self.scorer.verdicts(*point[:3]))
                record = Leaf(*point[:1], path, theirs, *point[1:3], counted, verdicts)
                self._note_pending(record)
            parent.children.append(record)

    def _note_pending(self, leaf: Leaf) -> None:
        for place, verdict in enumerate(leaf.verdicts):
            if type(verdict) is Pending:
                self.pending.append((leaf, place, verdict))

    def _array(self, point: Point, path: str, theirs: str | None, counted: bool) -> Leaf:
        node, gold, predicted, _ = point
        ours, gold_steps = _items(node, gold)
        others, predicted_steps = _items(node, predicted)
        if ours is None and others is None:
            leaf = Leaf(node, path, theirs, gold, predicted, counted, list(self._whole(*point[:3])))
            self._note_pending(leaf)
            return leaf
        aligned = bool(ours and others) and is_aligned(node)
        verdicts = [] if aligned else list(self._whole(*point[:3]))
        record = ArrayRecord(
            node, path, theirs, gold, predicted, counted, verdicts,
            ours or [], others or [], gold_steps, predicted_steps, aligned,
        )  # fmt: skip
        self._note_pending(record)
        self.arrays.append(record)
        return record

    def _whole(self, node: Node, gold: Any, predicted: Any) -> tuple[Scored | Pending, ...]:
        """Score an array node where there is nothing to align: absent, broken, or by a metric."""
        return self.scorer.whole_array(node, gold, predicted)

    def run(self) -> None:
        """Align every array and enter its pairs, until no array is left."""
        while self._next < len(self.arrays):
            record = self.arrays[self._next]
            self._next += 1
            if not (record.gold_items and record.predicted_items):
                continue
            found = self.align(record.node, record.gold_items, record.predicted_items)
            record.pairs = [self._pair(record, i, j) for i, j in found]

    def _pair(self, array: ArrayRecord, i: int, j: int) -> Pair:
        pair = Pair(i, j)
        node, gold, predicted = _item_node(array.node, i), array.gold_items[i], array.predicted_items[j]
        ours = array.path + array.gold_steps[i]
        theirs = (array.predicted_path or array.path) + array.predicted_steps[j]
        if isinstance(gold, MapItem):
            if not string_normalized(gold.key, predicted.key):
                pair.failed_fields = (array.node.field + ".*",)
            gold, predicted = gold.item, predicted.item
        if node is None or never_match(gold, predicted):
            pair.similarity = similarity(text_of(gold), text_of(predicted))
            pair.reason = "gold_type_mismatch" if _is_fault(node, gold) else "type_mismatch"
            pair.failed_fields += (array.node.field + "[]",)
            return pair
        paths = (ours, None if ours == theirs else theirs)
        self.enter(pair, node, gold, predicted, paths, False)
        if not pair.children and canonical(gold) != canonical(predicted):
            pair.failed_fields += (array.node.field + "[]",)
        return pair

    def roll_up(self) -> None:
        """Decide pairs and arrays, innermost first (arrays were found outermost first)."""
        for array in reversed(self.arrays):
            for pair in array.pairs:
                _decide_pair(pair, array)
            _decide_array(array, self.profile)

    def count_leaves(self) -> None:
        """Profile strict: item leaves count in place of their array; absent items have leaves too."""
        place = 0
        while place < len(self.arrays):
            array = self.arrays[place]
            place += 1
            paired = [p for p in array.pairs if p.status in ("matched", "partial")]
            ours = {p.gold_index for p in paired}
            theirs = {p.predicted_index for p in paired}
            missed = [self._one_sided(array, i, None) for i in _others(array.gold_items, ours)]
            spurious = [self._one_sided(array, None, j) for j in _others(array.predicted_items, theirs)]
            array.pairs.extend([*missed, *spurious])
            below = [child for p in [*paired, *missed, *spurious] for child in p.children]
            for child in below:
                child.counted = array.counted
            array.counted = array.counted and not below

    def _one_sided(self, array: ArrayRecord, i: int | None, j: int | None) -> Pair:
        """Make the rows of an item that stands on one side only; what is absent has no row."""
        pair = Pair(i, j, status="missed" if j is None else "spurious")
        gold = array.gold_items[i] if i is not None else MISSING
        predicted = array.predicted_items[j] if j is not None else MISSING
        ours = array.path + (array.gold_steps[i] if i is not None else f"[+{j}]")
        theirs = array.path + array.predicted_steps[j] if j is not None else None
        gold, predicted = _unwrapped(gold), _unwrapped(predicted)
        node = _item_node(array.node, i if i is not None else (j or 0))
        if node is not None:
            self.enter(pair, node, gold, predicted, (ours, theirs), True)
        pair.children = [c for c in pair.children if PRESENT in _states(c)]
        return pair

    def add_undeclared(self, root: Node, gold: Any, predicted: Any) -> None:
        """Profile strict: predicted leaves that the schema does not know, and gold does not have."""
        self._invented(self.top, root, gold, predicted, ("$", None))
        for array in self.arrays:
            for pair in array.pairs:
                if pair.status in ("matched", "partial", "spurious") and pair.predicted_index is not None:
                    self._invented_in(array, pair)

    def _invented_in(self, array: ArrayRecord, pair: Pair) -> None:
        i, j = pair.gold_index, pair.predicted_index
        node = _item_node(array.node, i if i is not None else (j or 0))
        if node is None or j is None:
            return
        gold = _unwrapped(array.gold_items[i]) if i is not None else MISSING
        ours = array.path + (array.gold_steps[i] if i is not None else f"[+{j}]")
        theirs = (array.predicted_path or array.path) + array.predicted_steps[j]
        self._invented(pair, node, gold, _unwrapped(array.predicted_items[j]), (ours, theirs))

    def _invented(
        self, parent: Pair, node: Node, gold: Any, predicted: Any, paths: tuple[str, str | None]
    ) -> None:
        known = {path for path, _ in leaves(gold)} if gold is not MISSING else set()
        verdict = Scored("undeclared", 0.0, False, "hallucination", "undeclared")
        for start, part in undeclared(node, predicted, into_arrays=False):
            for suffix, value in leaves(part, start):
                if suffix not in known:
                    theirs = None if paths[1] is None else paths[1] + suffix
                    at = _Undeclared.node(node, suffix)
                    parent.children.append(
                        Leaf(at, paths[0] + suffix, theirs, MISSING, value, True, [verdict])
                    )


class _Undeclared:
    """Nodes for leaves that the schema does not have."""

    @staticmethod
    def node(below: Node, suffix: str) -> Node:
        import re

        field = (below.field + re.sub(r"\[\d+\]", "[]", suffix)).removeprefix(".")
        return Node(
            "any", frozenset(), "any", "", "", field, suffix, below.depth + 1, False, True,
            None, False, {},
        )  # fmt: skip


def _unwrapped(item: Any) -> Any:
    return item.item if isinstance(item, MapItem) else item


def _states(leaf: Leaf) -> tuple[str, str]:
    is_array = leaf.node.kind == "array"
    predicted = MISSING if isinstance(leaf.predicted, Unusable) else leaf.predicted
    return state_of(leaf.gold, is_array=is_array), state_of(predicted, is_array=is_array)


def _others(items: list[Any], paired: set[int | None]) -> list[int]:
    return [i for i in range(len(items)) if i not in paired]


def _is_fault(node: Node | None, gold: Any) -> bool:
    return node is not None and bool(node.types) and json_type(gold) not in node.types


def _item_node(node: Node, index: int) -> Node | None:
    prefix = node.children.prefix
    return prefix[index] if index < len(prefix) else node.children.items


def _items(node: Node, value: Any) -> tuple[list[Any] | None, list[str]]:
    """Return the items of an array value with their path steps; None where it is no array."""
    if isinstance(value, dict) and node.flattened:
        items, steps = [], []
        for key, inner in value.items():
            for i, item in enumerate(inner if isinstance(inner, list) else [inner]):
                items.append(MapItem(str(key), i, item))
                steps.append(f"{bracketed(str(key))}[{i}]")
        return items, steps
    if isinstance(value, list | tuple) and node.kind == "array":
        return list(value), [f"[{i}]" for i in range(len(value))]
    return None, []


def _decide_pair(pair: Pair, array: ArrayRecord) -> None:
    total, count, failed = 0.0, 0, list(pair.failed_fields)
    for child in pair.children:
        if isinstance(child, ArrayRecord):
            score, passed = child.score, child.passed
        else:
            score, passed = point_score([v for v in child.verdicts if isinstance(v, Scored)])
        if not passed:
            failed.append(child.node.field)
        if score is None:
            pair.unresolved = True
        elif PRESENT in _states(child):
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
    elif pair.similarity >= pass_threshold(array.node, "align_threshold", 0.5):
        pair.status = "partial"
    else:
        pair.status = "apart"


def _decide_array(array: ArrayRecord, profile: Profile) -> None:
    array.matched = sum(pair.status == "matched" for pair in array.pairs)
    if not array.aligned:
        array.score, array.passed = point_score(
            [v for v in array.verdicts if isinstance(v, Scored)]
        )
        return
    score = array_score(
        array.matched, len(array.gold_items), len(array.predicted_items), profile.array_score
    )
    array.score, array.passed = score, score >= pass_threshold(array.node)
    outcome = "correct" if array.passed else "incorrect"
    metric = array.node.config.metrics[0].metric_id if array.node.config else "array_llm"
    array.verdicts = [
        Scored(metric, score, array.passed, outcome, _array_reason(array), _unresolved_text(array))
    ]


def _array_reason(array: ArrayRecord) -> str:
    if any(pair.unresolved for pair in array.pairs):
        return "judge_error_in_items"
    if array.matched == len(array.gold_items) == len(array.predicted_items):
        return "all_matched"
    reasons = {pair.reason for pair in array.pairs if pair.status != "matched"} - {""}
    if "gold_type_mismatch" in reasons:
        return "gold_type_mismatch"
    return "items_differ"


def _unresolved_text(array: ArrayRecord) -> str | None:
    count = sum(pair.unresolved for pair in array.pairs)
    return f"{count} of {len(array.pairs)} aligned pairs have a field without a verdict" if count else None


def _judge(judge: str | Judge) -> Judge:
    if not isinstance(judge, str):
        if not callable(getattr(judge, "compare", None)):
            raise InputError(f"judge is {judge!r}; expected 'offline' or an object with .compare")
        return judge
    if judge != "offline":
        raise InputError(f"unknown judge {judge!r}; {nearest(judge, ['offline'])}")
    return OfflineJudge()


def _aligner(
    alignment: str | Aligner, scorer: Scorer
) -> Callable[[Node, list[Any], list[Any]], list[tuple[int, int]]]:
    if alignment == "optimal":
        return OptimalAligner(scorer)
    if isinstance(alignment, str) or not callable(alignment):
        raise InputError(
            f"alignment is {alignment!r}; expected 'optimal' or a function "
            "(gold items, predicted items, item node) -> index pairs"
        )
    return lambda node, gold, predicted: _checked_pairs(alignment, node, gold, predicted)


def _checked_pairs(
    align: Aligner, node: Node, gold: list[Any], predicted: list[Any]
) -> list[tuple[int, int]]:
    items = node.children.items or node
    pairs = [(int(i), int(j)) for i, j in align(gold, predicted, items)]
    for side, count, name in ((0, len(gold), "gold"), (1, len(predicted), "predicted")):
        indices = [pair[side] for pair in pairs]
        bad = [i for i in indices if not 0 <= i < count]
        if bad or len(set(indices)) < len(indices):
            raise InputError(
                f"alignment of {node.field!r} gave {name} indices {indices!r}; "
                f"expected each at most once, from 0 to {count - 1}"
            )
    return sorted(pairs)


#: Levels of containers beyond which a predicted document is cut.
MAX_DEPTH = 100


def read_predicted(source: Any) -> tuple[Any, str | None]:
    """Read what a model said; a text that is no JSON is no error here.

    Parameters
    ----------
    source : object
        A ``pathlib.Path`` (a file), a ``str`` (JSON text) or the value itself.

    Returns
    -------
    tuple of (object, str or None)
        The value and None; or the text and the parser's message with its position.

    Raises
    ------
    InputError
        The file cannot be read at all.
    """
    if isinstance(source, Path):
        try:
            source = read_text(source, "predicted")
        except InputError as error:
            if "not UTF-8" in str(error):
                return None, str(error)
            raise
    if not isinstance(source, str):
        return source, None
    try:
        return json.loads(source.removeprefix("\ufeff")), None
    except json.JSONDecodeError as error:
        return source, f"{error.msg} at line {error.lineno} column {error.colno}"
    except (RecursionError, ValueError) as error:
        return source, str(error)


def _depth(value: Any) -> int:
    deepest, stack = 0, [(value, 1)]
    while stack:
        top, level = stack.pop()
        if isinstance(top, dict | list):
            deepest = max(deepest, level)
            if level <= MAX_DEPTH:
                stack.extend((v, level + 1) for v in (top.values() if isinstance(top, dict) else top))
    return deepest


def _cut(value: Any, levels: int) -> Any:
    """Copy a value with everything below `levels` containers replaced by a short text."""
    if isinstance(value, dict):
        return {k: _cut(v, levels - 1) for k, v in value.items()} if levels else "… nested too deep"
    if isinstance(value, list):
        return [_cut(v, levels - 1) for v in value] if levels else "… nested too deep"
    return value
