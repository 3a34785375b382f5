"""Recorded pairs decided anew: the same pairs and scores, other thresholds, no metric and no judge.

The pairs themselves do not depend on ``align_threshold``, so for that one this is all there is to
do.
"""

from __future__ import annotations

from dataclasses import replace

from extractbench_nb.profiles import Profile
from extractbench_nb.records import ArrayRecord, Leaf, Pair, settled
from extractbench_nb.rollup import roll_up
from extractbench_nb.scoring import ALIGNED, Pending, Scored
from extractbench_nb.widgets.matches.thresholds import Settings, configured

__all__ = ["decided_anew"]

#: Pairs that profile ``strict`` adds for items on one side only.
_ONE_SIDED = ("missed", "spurious")


def decided_anew(array: ArrayRecord, settings: Settings, profile: Profile) -> ArrayRecord:
    """Decide the pairs of an array, and of the arrays inside its items, under other thresholds.

    Parameters
    ----------
    array : ArrayRecord
        The record of an evaluation; it stays as it is.
    settings : mapping
        Thresholds by field, metric and param.
    profile : Profile
        The rules.

    Returns
    -------
    ArrayRecord
        A copy. Where a field got a score, that score is compared with the new threshold.
    """
    found: list[ArrayRecord] = []
    copied = _array(array, settings, found)
    roll_up(found, profile)
    return copied


def _array(array: ArrayRecord, settings: Settings, found: list[ArrayRecord]) -> ArrayRecord:
    node = replace(array.node, config=configured(array.node, settings), _choices={})
    copied = replace(array, node=node, verdicts=_reopened(array), pairs=[])
    found.append(copied)
    pairs = [pair for pair in array.pairs if pair.status not in _ONE_SIDED]
    copied.pairs = [_pair(pair, settings, found) for pair in pairs]
    return copied


def _reopened(array: ArrayRecord) -> list[Scored | Pending]:
    """Take the verdict of the alignment back, where there was one: two sides of a kind."""
    same_kind = isinstance(array.gold, dict) == isinstance(array.predicted, dict)
    if array.unaligned or not (array.gold_items and array.predicted_items and same_kind):
        return list(array.verdicts)
    return [
        Scored(v.metric, None, None, ALIGNED, "", None, v.weight) if v.metric == "array_llm" else v
        for v in settled(array)
    ]


def _pair(pair: Pair, settings: Settings, found: list[ArrayRecord]) -> Pair:
    children = [
        _array(child, settings, found) if isinstance(child, ArrayRecord) else _leaf(child, settings)
        for child in pair.children
        if not (pair.reason or _is_invented(child))
    ]
    of_children = {child.node.field for child in children}
    return replace(
        pair,
        children=children,
        similarity=None if children else pair.similarity,
        status="",
        failed_fields=tuple(f for f in pair.failed_fields if f not in of_children),
        unresolved=False,
    )


def _is_invented(leaf: Leaf) -> bool:
    """Whether profile ``strict`` added the place after the pairs were decided.

    To pairs with a reason, a container and a value of another kind, it adds all places.
    """
    return any(verdict.reason == "undeclared" for verdict in settled(leaf))


def _leaf(leaf: Leaf, settings: Settings) -> Leaf:
    marks = {metric: v for (field, metric, _), v in settings.items() if field == leaf.node.field}
    verdicts = [_judged_by(verdict, marks.get(verdict.metric)) for verdict in settled(leaf)]
    return replace(leaf, verdicts=list(verdicts))


def _judged_by(verdict: Scored, mark: float | None) -> Scored:
    if mark is None or verdict.score is None or verdict.outcome not in ("correct", "incorrect"):
        return verdict
    passed = verdict.score >= mark
    return verdict._replace(passed=passed, outcome="correct" if passed else "incorrect")
