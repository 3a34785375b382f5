"""Cases of the workbench: pairs of values, each scored by `evaluate` as a property of its own."""

from __future__ import annotations

import inspect
import json
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from math import nan
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from extractbench_nb.core import REGISTRY, Profile, evaluate
from extractbench_nb.core.schema import MISSING, parse_config
from extractbench_nb.core.text import Judge, choose_judge


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
            "missing"
            if v is MISSING
            else "null"
            if v is None
            else "empty"
            if v == []
            else "present"
            for v in (self.gold, self.predicted)
        )
        return gold, predicted


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


#: Cases that are scored in one evaluation, configs whose verdicts are kept, and answers of a judge.
_BATCH, _KEPT, _ANSWERS = 2000, 64, 200_000
_COLUMNS = ("path", "score", "passed", "outcome", "reason", "reasoning")
#: Of several metrics, the gravest outcome is that of the case.
_GRAVEST = ("judge_error", "structural", "omission", "hallucination", "incorrect", "correct")


class CaseScorer:
    """Scores cases under any config.

    Verdicts are remembered, and so are the answers of the judge: it is asked once about each pair
    of texts, whatever the params.
    """

    def __init__(
        self,
        cases: Sequence[Case],
        judge: str | Judge = "offline",
        profile: str | Profile = "strict",
    ) -> None:
        self._cases, self._profile = cases, Profile.named(profile)
        self._asked = choose_judge(judge)
        self.forget()

    def forget(self) -> None:
        """Forget all verdicts and answers: a metric may have been redefined."""
        self._judge: Judge = Remembering(self._asked)
        self._known: dict[str, Verdicts] = {}

    def verdicts(self, config: Mapping[str, Any]) -> Verdicts:
        """Score all cases."""
        key = json.dumps(config, sort_keys=True, default=repr)
        if key not in self._known:
            while len(self._known) >= _KEPT:
                del self._known[next(iter(self._known))]
            starts = range(0, len(self._cases), _BATCH)
            rows = [row for at in starts for row in self._batch(at, dict(config))]
            columns: list[Any] = [*zip(*rows, strict=True)] or [()] * len(Verdicts._fields)
            for at, dtype in enumerate((np.float64, np.bool_, np.bool_)):
                columns[at] = np.array(columns[at], dtype=dtype)
            self._known[key] = Verdicts(*columns)
        return self._known[key]

    def _batch(self, start: int, config: dict[str, Any]) -> Iterator[tuple[Any, ...]]:
        """Score cases as the properties of one object; yield the cells of `Verdicts`."""
        cases = {f"c{at}": case for at, case in enumerate(self._cases[start : start + _BATCH])}
        scored = {"evaluation_config": config}
        properties = {
            name: ({"type": list(case.types)} if case.types else {}) | scored
            for name, case in cases.items()
        }
        gold = {name: case.gold for name, case in cases.items() if case.gold is not MISSING}
        predicted = {
            n: case.predicted for n, case in cases.items() if case.predicted is not MISSING
        }
        schema = {"type": "object", "properties": properties}
        ev = evaluate(schema, gold, predicted, judge=self._judge, profile=self._profile)
        rows: dict[str, list[tuple[Any, ...]]] = defaultdict(list)
        cells = zip(*(ev.fields[name].tolist() for name in _COLUMNS), strict=True)
        for path, *row in cells:
            rows[path].append(tuple(row))
        parsed = parse_config(config, "/evaluation_config", REGISTRY)
        weights = [spec.weight for spec in parsed.metrics] if parsed is not None else []
        for name in cases:
            yield _combined(rows[f"$.{name}"], weights)


def _combined(rows: Sequence[tuple[Any, ...]], weights: Sequence[float]) -> tuple[Any, ...]:
    """Combine the rows of one case: the weighted mean of its metrics, passed if all pass."""
    if not rows:
        return nan, False, False, "judge_error", "not_scored", "the metric was not asked"
    scores, passed, outcomes, reasons, told = zip(*rows, strict=True)
    is_decided = not any(cell is pd.NA for cell in (*scores, *passed))
    score = scores[0] if is_decided else nan
    if is_decided and len(rows) > 1:
        parts = list(weights) if len(weights) == len(rows) and any(weights) else [1.0] * len(rows)
        total = sum(value * part for value, part in zip(scores, parts, strict=True))
        score = min(1.0, total / sum(parts))
    gravest = next((outcome for outcome in _GRAVEST if outcome in outcomes), outcomes[0])
    return (
        score,
        is_decided and all(passed),
        is_decided,
        gravest,
        ", ".join(dict.fromkeys(reason for reason in reasons if reason)),
        "; ".join(text for text in told if isinstance(text, str) and text) or None,
    )


class Remembering:
    """A judge that is asked once about each pair of texts; failures are raised again each time."""

    def __init__(self, judge: Judge) -> None:
        self.name = judge.name
        self._judge = judge
        self._known: dict[tuple[str, str], Any] = {}

    def compare(self, gold: str, predicted: str) -> Any:
        """Return what the judge answers, or what it answered before."""
        key = gold, predicted
        if key in self._known:
            return self._told(self._known[key])
        try:
            answer: Any = self._judge.compare(gold, predicted)
        except Exception as error:  # noqa: BLE001 - raised again each time
            answer = error
        if inspect.isawaitable(answer):
            return self._awaited(key, answer)
        return self._told(self._kept(key, answer))

    async def _awaited(self, key: tuple[str, str], answer: Any) -> Any:
        try:
            answer = await answer
        except Exception as error:  # noqa: BLE001 - raised again each time
            answer = error
        return self._told(self._kept(key, answer))

    def _kept(self, key: tuple[str, str], answer: Any) -> Any:
        return self._known.setdefault(key, answer) if len(self._known) < _ANSWERS else answer

    @staticmethod
    def _told(answer: Any) -> Any:
        if isinstance(answer, Exception):
            raise answer
        return answer
