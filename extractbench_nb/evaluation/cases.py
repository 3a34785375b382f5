"""Pairs of values that stand for themselves, scored by `evaluate` under any config."""

from __future__ import annotations

import inspect
import json
from collections.abc import Awaitable, Mapping, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np

from extractbench_nb._json import member
from extractbench_nb.engine.profiles import Profile, get_profile
from extractbench_nb.engine.scoring import Scored, point_score
from extractbench_nb.engine.traversal import settled
from extractbench_nb.errors import InputError
from extractbench_nb.evaluation.api import evaluate, read_schema, refuse_non_json
from extractbench_nb.evaluation.frames import node_outcome
from extractbench_nb.judges.base import Judge
from extractbench_nb.judges.choosing import choose_judge
from extractbench_nb.schema.nodes import MISSING, Children, Schema

__all__ = ["Case", "CaseScorer", "Verdicts", "case_schema", "check_gold", "remembering"]


class Case(NamedTuple):
    """A pair of values; `MISSING` where the key is absent.

    ``types`` are the JSON types that the field's schema allows; none allows all. ``expected`` is
    the verdict that people gave, None if they gave none.
    """

    gold: Any
    predicted: Any
    types: tuple[str, ...] = ()
    expected: bool | None = None


def check_gold(number: int, gold: Any) -> None:
    """Refuse a gold value that is not JSON."""
    try:
        refuse_non_json(gold)
    except InputError as error:
        raise InputError(f"case {number}: {error}") from None


#: Cases that are scored in one evaluation.
_BATCH = 2000
#: Configs whose verdicts are kept.
_KEPT = 64
#: Answers of a judge that are kept.
_ANSWERS = 200_000


class Verdicts(NamedTuple):
    """What a metric says of each case: arrays of one length.

    ``score`` is NaN and ``decided`` False if there is no verdict; ``error`` says why.
    """

    score: np.ndarray[Any, np.dtype[np.float64]]
    passed: np.ndarray[Any, np.dtype[np.bool_]]
    decided: np.ndarray[Any, np.dtype[np.bool_]]
    outcome: tuple[str, ...]
    reason: tuple[str, ...]
    told: tuple[str | None, ...]

    def error(self, at: int) -> str | None:
        """Return why a case has no verdict; None if it has one."""
        return None if self.decided[at] else self.told[at] or "no verdict"


class _One(NamedTuple):
    score: float
    passed: bool
    decided: bool
    outcome: str
    reason: str
    told: str | None


class CaseScorer:
    """Scores cases under any config; verdicts and the answers of the judge are remembered.

    Parameters
    ----------
    cases : sequence of Case
        The pairs.
    judge : str or Judge, optional
        See `evaluate`; it is asked once about each pair of texts, whatever the params.
    profile : str or Profile, optional
        See `evaluate`.

    Raises
    ------
    InputError
        The judge or the profile is not known.
    """

    def __init__(
        self,
        cases: Sequence[Case],
        judge: str | Judge = "offline",
        profile: str | Profile = "paper",
    ) -> None:
        self._cases, self._profile = cases, get_profile(profile)
        self._asked = choose_judge(judge)
        self.forget()

    def forget(self) -> None:
        """Forget all verdicts and answers: a metric may have been redefined."""
        self._judge = remembering(self._asked)
        self._known: dict[str, Verdicts] = {}

    def verdicts(self, config: Mapping[str, Any]) -> Verdicts:
        """Score all cases."""
        key = json.dumps(config, sort_keys=True, default=repr)
        if key not in self._known:
            while len(self._known) >= _KEPT:
                del self._known[next(iter(self._known))]
            self._known[key] = self._scored(dict(config))
        return self._known[key]

    def _scored(self, config: dict[str, Any]) -> Verdicts:
        rows = self._cases
        found: list[_One] = []
        for start in range(0, max(1, len(rows)), _BATCH):
            found.extend(self._batch(rows[start : start + _BATCH], config))
        columns = list(zip(*found, strict=True)) or [()] * len(_One._fields)
        score, passed, decided, *texts = columns
        return Verdicts(
            np.array(score, dtype=np.float64),
            np.array(passed, dtype=np.bool_),
            np.array(decided, dtype=np.bool_),
            *texts,
        )

    def _batch(self, rows: Sequence[Case], config: dict[str, Any]) -> list[_One]:
        """Score cases as the properties of one object."""
        names = [f"c{number}" for number in range(len(rows))]
        types = {name: case.types for name, case in zip(names, rows, strict=True)}
        schema = case_schema(types, config, self._profile)
        gold, predicted = (
            {n: value for n, value in zip(names, side, strict=True) if value is not MISSING}
            for side in ([c.gold for c in rows], [c.predicted for c in rows])
        )
        ev = evaluate(schema, gold, predicted, judge=self._judge, profile=self._profile)
        grouped: dict[str, list[Scored]] = {}  # one a metric
        for leaf in ev.records:
            grouped.setdefault(leaf.paths.gold, []).extend(settled(leaf))
        return [_combined(grouped.get(f"$.{name}", [])) for name in names]


def case_schema(
    cases: Mapping[str, Sequence[str]], config: Mapping[str, Any], profile: Profile
) -> Schema:
    """Return the schema of an object whose properties are cases.

    Cases of the same types share one parsed node, so that the schema is parsed, and a metric's
    params are bound, once for all of them.
    """
    kinds = {
        types: f"kind{number}"
        for number, types in enumerate(dict.fromkeys(map(tuple, cases.values())))
    }
    declared = {"evaluation_config": dict(config)}
    properties = {
        name: ({"type": list(types)} if types else {}) | declared for types, name in kinds.items()
    }
    document = {"type": "object", "properties": properties}
    schema = read_schema(document, profile)
    parsed = schema.root.children.properties
    nodes = {
        name: replace(
            parsed[kinds[tuple(types)]], name=name, field=name, step=member(name), _choices={}
        )
        for name, types in cases.items()
    }
    root = replace(schema.root, loaded=Children(properties=nodes), _choices={})
    return replace(schema, root=root)


def _combined(verdicts: list[Scored]) -> _One:
    if not verdicts:
        return _One(np.nan, False, False, "judge_error", "not_scored", "the metric was not asked")
    score, passed = point_score(verdicts)
    told = [v.reasoning for v in verdicts if v.reasoning]
    reasons = dict.fromkeys(v.reason for v in verdicts if v.reason)
    return _One(
        np.nan if score is None else score,
        bool(passed),
        passed is not None and score is not None,
        node_outcome(verdicts),
        ", ".join(reasons),
        "; ".join(told) or None,
    )


class _Remembering:
    def __init__(self, judge: Judge) -> None:
        self.name = judge.name
        self._ask = judge.compare
        self._known: dict[tuple[str, str], Any] = {}

    def compare(self, gold: str, predicted: str) -> Any:
        key = gold, predicted
        if key in self._known:
            return self._again(key)
        try:
            verdict: Any = self._ask(gold, predicted)
        except Exception as error:  # noqa: BLE001 - raised again each time
            verdict = error
        if inspect.isawaitable(verdict):
            return self._awaited(key, verdict)
        return self._again(key, verdict)

    async def _awaited(self, key: tuple[str, str], waiting: Awaitable[Any]) -> Any:
        try:
            verdict = await waiting
        except Exception as error:  # noqa: BLE001 - raised again each time
            verdict = error
        return self._again(key, verdict)

    def _again(self, key: tuple[str, str], new: Any = None) -> Any:
        found = self._known.get(key, new)
        if len(self._known) < _ANSWERS:
            self._known[key] = found
        if isinstance(found, Exception):
            raise found
        return found


class _RememberingAsync(_Remembering):
    async def compare(self, gold: str, predicted: str) -> Any:
        found = super().compare(gold, predicted)
        return await found if inspect.isawaitable(found) else found


def remembering(judge: Judge) -> Judge:
    """Wrap a judge so that it is asked once about each pair of texts; failures are kept too."""
    awaited = inspect.iscoroutinefunction(judge.compare)
    return _RememberingAsync(judge) if awaited else _Remembering(judge)
