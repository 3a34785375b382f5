"""The items of one array: as evaluated, and at other thresholds."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from typing import Any, NamedTuple

import pandas as pd

from extractbench_nb.core.evaluation_frames import array_frame, field_frame, in_order, match_frame
from extractbench_nb.core.field_metrics.registry import REGISTRY
from extractbench_nb.core.profile_rules import Profile
from extractbench_nb.core.records import ArrayRecord, Leaf, Pair, Paths, roll_up
from extractbench_nb.core.result import Evaluation
from extractbench_nb.core.schema.evaluation_config import MetricSpec, NodeConfig
from extractbench_nb.core.schema.schema_nodes import Node
from extractbench_nb.core.scoring import ALIGNED, Pending, Scored, Scorer
from extractbench_nb.core.similarity import pass_threshold
from extractbench_nb.core.text.offline_judge import OfflineJudge
from extractbench_nb.core.traversal import Traversal, count_leaves
from extractbench_nb.support.wording import fitted

__all__ = ["ALIGN", "PASS", "ArrayMatches", "Knob", "Outcome", "redecided"]


#: Keys of the thresholds of the array itself; those of its items have their fields.
ALIGN, PASS = "align_threshold", "pass_threshold"
_ARRAY_METRIC = "array_llm"


class Knob(NamedTuple):
    """A threshold that can be changed: the param of one metric of one field.

    ``key`` is its name for users: ``align_threshold``, ``pass_threshold``, or the item's field.
    """

    key: str
    field: str
    metric: str
    param: str
    declared: float


#: Values by field, metric and param.
Settings = Mapping[tuple[str, str, str], float]


def _thresholds(array: Node) -> list[Knob]:
    """List the thresholds that decide about the items of an array."""
    of_array = [
        Knob(key, array.field, _ARRAY_METRIC, key, pass_threshold(array, key, default))
        for key, default in ((ALIGN, 0.5), (PASS, 0.7))
        if any(spec.metric_id == _ARRAY_METRIC for spec in _specs(array))
    ]
    of_items: dict[tuple[str, str], Knob] = {}
    for node, spec in ((below, spec) for below in _below(array) for spec in _specs(below)):
        entry = REGISTRY.entries.get(spec.metric_id)
        param = PASS if spec.metric_id == _ARRAY_METRIC else entry and entry.threshold
        if entry is not None and param:
            default = entry.defaults.get(param, 0.7)
            value = spec.params.get(param, default)
            mark = float(value if isinstance(value, int | float) else default)
            knob = Knob(node.field, node.field, spec.metric_id, param, mark)
            of_items.setdefault((knob.field, knob.metric), knob)
    names = Counter(field for field, _ in of_items)
    return of_array + [
        knob if names[knob.field] == 1 else knob._replace(key=f"{knob.field} {knob.metric}")
        for knob in of_items.values()
    ]


def _specs(node: Node) -> tuple[MetricSpec, ...]:
    return node.config.metrics if node.config is not None else ()


def _below(array: Node) -> Iterator[Node]:
    """Yield the nodes below an array; a recursive reference is not unfolded."""
    stack = list(reversed(list(array.children)))
    while stack:
        node = stack.pop()
        if node.config is not None and node.config.skip:
            continue
        yield node
        if not node.recursive:
            stack.extend(reversed(list(node.children)))


def _configured(node: Node, settings: Settings) -> NodeConfig | None:
    """Return the config of a node with `settings` applied; the same object if none applies."""
    config, changed = node.config, False
    specs = []
    for spec in config.metrics if config is not None else ():
        params = dict(spec.params)
        for (field, metric, param), value in settings.items():
            if (field, metric) == (node.field, spec.metric_id):
                params[param], changed = value, True
        specs.append(replace(spec, params=params))
    return replace(config, metrics=tuple(specs)) if config is not None and changed else config


def _under(node: Node, settings: Settings) -> Node:
    """Return a node whose thresholds, and those of all below it, are set."""
    return replace(
        node,
        config=_configured(node, settings),
        loaded=None,
        loader=lambda: node.children.mapped(lambda child: _under(child, settings)),
        _choices={},
    )


#: Pairs that profile ``strict`` adds for items on one side only.
_ONE_SIDED = ("missed", "spurious")


def redecided(array: ArrayRecord, settings: Settings, profile: Profile) -> ArrayRecord:
    """Decide the pairs of an array, and of the arrays inside its items, under other thresholds."""
    copies: list[ArrayRecord] = []
    copied = _array(array, settings, copies)
    roll_up(copies, profile)
    return copied


def _array(array: ArrayRecord, settings: Settings, copies: list[ArrayRecord]) -> ArrayRecord:
    """Copy an array without its decisions; `copies` collects the copies, outer before inner."""
    node = replace(array.node, config=_configured(array.node, settings), _choices={})
    verdicts = list(array.verdicts)
    if not array.unaligned and array.has_two_sides:  # that of the alignment becomes undecided
        verdicts = [
            Scored(v.metric, None, None, ALIGNED, "", None, v.weight)
            if v.metric == "array_llm"
            else v
            for v in array.settled
        ]
    copied = replace(array, node=node, verdicts=verdicts, pairs=[])
    copies.append(copied)
    pairs = [pair for pair in array.pairs if pair.status not in _ONE_SIDED]
    copied.pairs = [_pair(pair, settings, copies) for pair in pairs]
    return copied


def _pair(pair: Pair, settings: Settings, copies: list[ArrayRecord]) -> Pair:
    children = [
        _array(child, settings, copies)
        if isinstance(child, ArrayRecord)
        else _leaf(child, settings)
        for child in pair.children
        # profile strict added these after the pairs were decided: to pairs with a reason, a
        # container and a value of another kind, it adds all
        if not (pair.reason or any(v.reason == "undeclared" for v in child.settled))
    ]
    child_fields = {child.node.field for child in children}
    return replace(
        pair,
        children=children,
        similarity=None if children else pair.similarity,
        status="",
        failed_fields=tuple(f for f in pair.failed_fields if f not in child_fields),
        unresolved=False,
    )


def _leaf(leaf: Leaf, settings: Settings) -> Leaf:
    marks = {metric: v for (field, metric, _), v in settings.items() if field == leaf.node.field}
    verdicts: list[Scored | Pending] = []
    for verdict in leaf.settled:
        mark, was_compared = marks.get(verdict.metric), verdict.outcome in ("correct", "incorrect")
        if mark is not None and verdict.score is not None and was_compared:
            passed = verdict.score >= mark
            outcome = "correct" if passed else "incorrect"
            verdicts.append(verdict._replace(passed=passed, outcome=outcome))
        else:
            verdicts.append(verdict)
    return replace(leaf, verdicts=verdicts)


_MOST_KEPT = 4
_WIDEST_NAME = 80


class Outcome(NamedTuple):
    """The result of an array at given thresholds.

    ``summary`` is the array's row of ``Evaluation.arrays``, ``matches`` and ``fields`` are the rows
    of these frames that belong to it. ``apart`` maps the gold index of each pair that is too unlike
    to count to its predicted index and similarity.
    """

    summary: pd.Series
    matches: pd.DataFrame
    fields: pd.DataFrame
    apart: Mapping[int, tuple[int, float]]


class ArrayMatches:
    """One array of an evaluation, whose thresholds can be tried.

    ``knobs`` are the thresholds that can be changed; none if the evaluation has no records.
    ``note`` is a caveat about changed thresholds; empty if they have their full effect.
    ``evaluated`` is the outcome as evaluated.
    """

    def __init__(self, ev: Evaluation, path: str) -> None:
        self._ev = ev
        self._record = next((r for r in ev.array_records() if r.paths.gold == path), None)
        self.path = path
        self.knobs: list[Knob] = _thresholds(self._record.node) if self._record else []
        self._can_realign = _is_free(ev, self._record)
        self.note = _note(ev, self._record, self.knobs, self._can_realign)
        self.evaluated = _as_evaluated(ev, path, self._record)
        self._realigned: dict[tuple[tuple[str, float], ...], ArrayRecord] = {}

    def at(self, values: Mapping[str, float]) -> Outcome:
        """Return the outcome at other thresholds; `values` has them by key of the knob."""
        declared = {knob.key: knob.declared for knob in self.knobs}
        changed = {key: value for key, value in values.items() if declared[key] != value}
        if not changed or self._record is None:
            return self.evaluated
        record = self._record
        # thresholds of fields change similarities, and so the alignment
        of_fields = {key: value for key, value in changed.items() if key not in (ALIGN, PASS)}
        if of_fields and self._can_realign:
            record = self._aligned(of_fields)
        record = redecided(record, self._settings(changed), self._ev.profile)
        rows = in_order([record], one_sided=False)
        frames = array_frame([record]), match_frame([record]), field_frame(rows)
        arrays, matches, fields = (
            _moved(frame, self._record.paths, record.paths) for frame in frames
        )
        return Outcome(arrays.iloc[0], matches, fields, _apart(record))

    def _settings(self, values: Mapping[str, float]) -> Settings:
        return {(k.field, k.metric, k.param): values[k.key] for k in self.knobs if k.key in values}

    def _aligned(self, values: Mapping[str, float]) -> ArrayRecord:
        """Align the items again, as `evaluate` does; the last few results are cached."""
        key = tuple(sorted(values.items()))
        if key not in self._realigned:
            assert self._record is not None  # noqa: S101 - the caller checked
            node = _under(self._record.node, self._settings(values))
            scorer = Scorer(self._ev.profile, OfflineJudge())
            walk = Traversal(scorer, "optimal")
            walk.descend(node, self._record.gold, self._record.predicted)
            roll_up(walk.arrays, self._ev.profile)
            if self._ev.profile.count_array_leaves:
                count_leaves(walk)
            walk.arrays[0].counted = self._record.counted
            if len(self._realigned) == _MOST_KEPT:
                del self._realigned[next(iter(self._realigned))]
            self._realigned[key] = walk.arrays[0]
        return self._realigned[key]


def _is_free(ev: Evaluation, record: ArrayRecord | None) -> bool:
    """Whether a new alignment needs neither a user's judge or matcher nor an awaited metric."""
    if record is None or (ev.meta["judge"], ev.meta["alignment"]) != ("offline", "optimal"):
        return False
    ids = (spec.metric_id for node in _below(record.node) for spec in _specs(node))
    entries = map(REGISTRY.entries.get, ids)
    return not any(entry is not None and entry.is_async for entry in entries)


def _note(ev: Evaluation, record: ArrayRecord | None, knobs: list[Knob], is_free: bool) -> str:
    if record is None:
        return (
            "This evaluation was stored or copied without its records, so that thresholds "
            "cannot be changed. Evaluate again to try others."
        )
    if not knobs:
        return "No metric of this array or of its items has a threshold."
    if is_free:
        return ""
    judge = fitted(ev.meta["judge"], _WIDEST_NAME)
    asked = f"Judge {judge!r} is not asked again" if judge != "offline" else "Nothing is run again"
    return f"{asked}: pairs and scores stay as recorded, and thresholds are applied to them."


def _as_evaluated(ev: Evaluation, path: str, record: ArrayRecord | None) -> Outcome:
    arrays, matches, fields = ev.arrays, ev.matches, ev.fields
    paths = fields["path"]
    inside = (paths == path) | paths.str.startswith(path + "[")
    return Outcome(
        arrays[arrays["path"] == path].iloc[0],
        matches[matches["path"] == path].reset_index(drop=True),
        fields[inside.astype(bool)].reset_index(drop=True),
        _apart(record) if record is not None else {},
    )


def _apart(record: ArrayRecord) -> dict[int, tuple[int, float]]:
    return {
        pair.gold_index: (pair.predicted_index, pair.similarity)
        for pair in record.pairs
        if pair.status == "apart"
        and pair.gold_index is not None
        and pair.predicted_index is not None
        and pair.similarity is not None
    }


def _moved(frame: pd.DataFrame, base: Paths, start: Paths) -> pd.DataFrame:
    """Replace the start of all paths in a frame by `base`, the array's path in the document."""
    if start == base:
        return frame
    cut = len(start.gold)
    paths = [str(path) for path in frame["path"]]
    frame["path"] = _texts(base.gold + path[cut:] for path in paths)
    if "predicted_path" in frame.columns:  # missing where it equals the path of gold
        predicted_paths = [
            (base.predicted or base.gold) + (other if isinstance(other, str) else path)[cut:]
            for path, other in zip(paths, frame["predicted_path"], strict=True)
        ]
        pairs = zip(frame["path"], predicted_paths, strict=True)
        frame["predicted_path"] = _texts(None if path == other else other for path, other in pairs)
    return frame


def _texts(values: Iterable[str | None]) -> Any:
    return pd.array(list(values), dtype=pd.StringDtype("python"))
