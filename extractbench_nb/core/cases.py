"""Pairs of values that stand for themselves, scored by `evaluate` under any config."""

from __future__ import annotations

import inspect
import json
from collections.abc import Awaitable, Iterator, Mapping, Sequence
from dataclasses import replace
from math import nan
from typing import Any, NamedTuple

import numpy as np

from extractbench_nb.core.evaluation import evaluate
from extractbench_nb.core.evaluation_frames import node_outcome
from extractbench_nb.core.profile_rules import Profile
from extractbench_nb.core.schema.parse import parse_schema
from extractbench_nb.core.schema.schema_nodes import EMPTY, MISSING, Children, Schema, state_of
from extractbench_nb.core.scoring import Scored, point_score
from extractbench_nb.core.text.judging import Judge
from extractbench_nb.core.text.offline_judge import choose_judge
from extractbench_nb.core.values.json_values import member

__all__ = ["Case", "CaseScorer", "Verdicts", "case_schema", "remembering"]


class Case(NamedTuple):
    """A pair of values; `MISSING` where the key is absent.

    ``types`` are the JSON types that the field's schema allows; none allows all. ``expected`` is
    the verdict that people gave, None if they gave none.
    """

    gold: Any
    predicted: Any
    types: tuple[str, ...] = ()
    expected: bool | None = None

    @property
    def states(self) -> tuple[str, str]:
        """The states of both values; an empty list is empty, whatever the types."""
        gold, predicted = (
            EMPTY if isinstance(value, list) and not value else state_of(value)
            for value in (self.gold, self.predicted)
        )
        return gold, predicted


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


class CaseScorer:
    """Scores cases under any config.

    Verdicts are remembered, and so are the answers of the judge: it is asked once about each pair
    of texts, whatever the params.
    """

    def __init__(
        self,
        cases: Sequence[Case],
        judge: str | Judge = "offline",
        profile: str | Profile = "paper",
    ) -> None:
        self._cases, self._profile = cases, Profile.named(profile)
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
        rows: list[tuple[Any, ...]] = []
        for start in range(0, max(1, len(self._cases)), _BATCH):
            rows.extend(self._batch(self._cases[start : start + _BATCH], config))
        columns = list(zip(*rows, strict=True)) or [()] * len(Verdicts._fields)
        score, passed, decided, *texts = columns
        return Verdicts(
            np.array(score, dtype=np.float64),
            np.array(passed, dtype=np.bool_),
            np.array(decided, dtype=np.bool_),
            *texts,
        )

    def _batch(self, cases: Sequence[Case], config: dict[str, Any]) -> Iterator[tuple[Any, ...]]:
        """Score cases as the properties of one object; yield the cells of `Verdicts`."""
        named = {f"c{number}": case for number, case in enumerate(cases)}
        schema = case_schema({n: case.types for n, case in named.items()}, config)
        gold = {n: case.gold for n, case in named.items() if case.gold is not MISSING}
        predicted = {n: c.predicted for n, c in named.items() if c.predicted is not MISSING}
        ev = evaluate(schema, gold, predicted, judge=self._judge, profile=self._profile)
        found: dict[str, list[Scored]] = {}
        for leaf in ev.records:
            found.setdefault(leaf.paths.gold, []).extend(leaf.settled)
        for name in named:
            verdicts = found.get(f"$.{name}", [])
            if not verdicts:
                yield nan, False, False, "judge_error", "not_scored", "the metric was not asked"
                continue
            score, passed = point_score(verdicts)
            yield (
                nan if score is None else score,
                bool(passed),
                passed is not None and score is not None,
                node_outcome(verdicts),
                ", ".join(dict.fromkeys(v.reason for v in verdicts if v.reason)),
                "; ".join(v.reasoning for v in verdicts if v.reasoning) or None,
            )


def case_schema(cases: Mapping[str, Sequence[str]], config: Mapping[str, Any]) -> Schema:
    """Return the schema of an object whose properties are cases.

    Cases of the same types share one parsed node, so that the schema is parsed, and a metric's
    params are bound, once for all of them.
    """
    different = dict.fromkeys(map(tuple, cases.values()))
    kinds = {types: f"kind{number}" for number, types in enumerate(different)}
    declared = {"evaluation_config": dict(config)}
    properties = {
        name: ({"type": list(types)} if types else {}) | declared for types, name in kinds.items()
    }
    document = {"type": "object", "properties": properties}
    schema = parse_schema(document)
    parsed = schema.root.children.properties
    nodes = {
        name: replace(
            parsed[kinds[tuple(types)]], name=name, field=name, step=member(name), _choices={}
        )
        for name, types in cases.items()
    }
    root = replace(schema.root, loaded=Children(properties=nodes), _choices={})
    return replace(schema, root=root)


class _Remembering:
    """A judge's answers by the pair of texts; failures are kept too and raised again each time."""

    def __init__(self, judge: Judge) -> None:
        self.name = judge.name
        self._ask: Any = judge.compare
        self._known: dict[tuple[str, str], Any] = {}

    def compare(self, gold: str, predicted: str) -> Any:
        key = gold, predicted
        if key in self._known:
            return self._kept(key, self._known[key])
        try:
            answer = self._ask(gold, predicted)
        except Exception as error:  # noqa: BLE001 - raised again each time
            answer = error
        return self.awaited(key, answer) if inspect.isawaitable(answer) else self._kept(key, answer)

    async def awaited(self, key: tuple[str, str], answer: Awaitable[Any]) -> Any:
        try:
            found = await answer
        except Exception as error:  # noqa: BLE001 - raised again each time
            found = error
        return self._kept(key, found)

    def _kept(self, key: tuple[str, str], answer: Any) -> Any:
        if len(self._known) < _ANSWERS:
            answer = self._known.setdefault(key, answer)
        if isinstance(answer, Exception):
            raise answer
        return answer


class _RememberingAsync(_Remembering):
    async def compare(self, gold: str, predicted: str) -> Any:
        found = super().compare(gold, predicted)
        return await found if inspect.isawaitable(found) else found


def remembering(judge: Judge) -> Judge:
    """Wrap a judge so that it is asked once about each pair of texts."""
    awaited = inspect.iscoroutinefunction(judge.compare)
    return _RememberingAsync(judge) if awaited else _Remembering(judge)
