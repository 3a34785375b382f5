"""Scores and counts over the counted nodes of one document (README of ExtractBench)."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

from extractbench_nb.alignment.similarity import point_score
from extractbench_nb.profiles import Profile
from extractbench_nb.records import ArrayRecord, Leaf, settled
from extractbench_nb.scoring import Scored

__all__ = ["node_outcome", "summarise"]

#: Where a node has several metrics, the first of these that occurs is the node's outcome.
_PRECEDENCE = ("judge_error", "structural", "omission", "hallucination", "incorrect", "correct")


@dataclass(slots=True)
class _Mean:
    of_nothing: float
    total: float = 0.0
    weight: float = 0.0
    plain: float = 0.0
    count: int = 0

    def add(self, value: float, weight: float) -> None:
        self.total += value * weight
        self.weight += weight
        self.plain += value
        self.count += 1

    @property
    def value(self) -> float:
        if self.weight > 0:
            return min(1.0, self.total / self.weight)
        return min(1.0, self.plain / self.count) if self.count else self.of_nothing


@dataclass(slots=True)
class _Tally:
    scores: _Mean
    overall: _Mean
    passes: _Mean
    judged: _Mean
    outcomes: Counter[str] = field(default_factory=Counter)
    passed: int = 0


def summarise(counted: Iterable[Leaf], profile: Profile) -> dict[str, Any]:
    """Aggregate the counted nodes.

    Parameters
    ----------
    counted : iterable of Leaf
        The nodes.
    profile : Profile
        The rules: whether weights and array sizes count.

    Returns
    -------
    dict
        The entries of ``Evaluation.summary`` but for coverage and calls. A node without a verdict
        adds 0 to every score, so that a judge that is down never raises one.
    """
    one, two, three, four = (_Mean(profile.nothing_scored) for _ in range(4))
    tally = _Tally(one, two, three, four)
    for leaf in counted:
        verdicts = settled(leaf)
        for unit in [[v] for v in verdicts] if profile.metrics_count else [verdicts]:
            _add(tally, leaf, unit, profile)
    outcomes, evaluated = tally.outcomes, tally.scores.count
    judged = tally.judged.count
    return {
        "overall_score": tally.overall.value,
        "field_score": tally.scores.value,
        "pass_rate": tally.passes.value,
        "pass_rate_judged": tally.judged.value if judged or not evaluated else math.nan,
        "evaluated": evaluated,
        "judged": judged,
        "passed": tally.passed,
        "failed": judged - tally.passed,
        "omissions": outcomes["omission"],
        "hallucinations": outcomes["hallucination"],
        "structural": outcomes["structural"],
        "judge_errors": outcomes["judge_error"],
    }


def _add(tally: _Tally, leaf: Leaf, verdicts: list[Scored], profile: Profile) -> None:
    score, passed = point_score(verdicts)
    weight = leaf.node.weight if profile.node_weights else 1.0
    tally.scores.add(score or 0.0, weight)
    tally.passes.add(float(bool(passed)), weight)
    if passed is not None:
        tally.judged.add(float(passed), weight)
        tally.passed += passed
    tally.outcomes[node_outcome(verdicts)] += 1
    if profile.item_weighted_overall:
        items = len(leaf.gold_items) if isinstance(leaf, ArrayRecord) else 1
        tally.overall.add(score or 0.0, weight * max(1, items))
    else:
        for verdict in verdicts:
            tally.overall.add(verdict.score or 0.0, 1.0)


def node_outcome(verdicts: list[Scored]) -> str:
    """Return the outcome of a node from those of its metrics: the gravest one."""
    found = {v.outcome for v in verdicts}
    return next((o for o in _PRECEDENCE if o in found), "both_absent")
