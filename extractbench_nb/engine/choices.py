"""Choices between the readings of gold at places with accepted alternatives."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from extractbench_nb._json import canonical
from extractbench_nb.engine.accepted import is_below, normal_path
from extractbench_nb.engine.profiles import Profile
from extractbench_nb.engine.records import (
    ArrayRecord,
    Leaf,
    Pair,
    decide_pair,
    in_records,
    record_score,
    roll_up,
    settled,
    states,
)
from extractbench_nb.engine.scoring import Pending
from extractbench_nb.engine.similarity import pass_threshold
from extractbench_nb.judges.base import JudgeCall
from extractbench_nb.schema.nodes import MISSING, PRESENT

_FAILS, _OPEN, _PASSES = range(3)


class _Rank(NamedTuple):
    """How good a reading is; the greatest is used, the first one of equals.

    ``verdict`` is `_PASSES`, `_OPEN` if a field has no verdict, or `_FAILS`.
    """

    verdict: int
    score: float
    passed: int


class Choice:
    """A place with alternatives: the reading in use, and those that are not compared yet.

    An alternative is used if it ranks above what is in use. It is compared only after gold, and not
    where nothing can rank above that, or where a model was asked and the fields pass.
    """

    def __init__(
        self, path: str, values: Sequence[Any], compare: Callable[[int], Pair], used: Pair
    ) -> None:
        self.path = path
        self._values = values
        self._compare = compare
        #: Where the records of the reading in use stand, others beside them.
        self._used = used
        #: The array if the place is one of its items, as a whole.
        self._array: ArrayRecord | None = None
        self._next = 0
        self._trial: Pair | None = None

    @classmethod
    def of_records(
        cls, path: str, values: Sequence[Any], compare: Callable[[int], Pair], parent: Pair
    ) -> Choice:
        """Choose between the records of a place among those of a pair."""
        return cls(path, values, compare, parent)

    @classmethod
    def of_item(
        cls,
        path: str,
        values: Sequence[Any],
        compare: Callable[[int], Pair],
        array: ArrayRecord,
        pair: Pair,
    ) -> Choice:
        """Choose between the readings of an array item as a whole."""
        choice = cls(path, values, compare, pair)
        choice._array = array
        return choice

    @property
    def is_open(self) -> bool:
        """Whether an alternative must be compared or decided yet."""
        return self._trial is not None or self._next < len(self._values)

    def contains(self, path: str) -> bool:
        """Whether a path is that of the place or below it."""
        return is_below(path, self.path)

    def advance(self, profile: Profile) -> bool:
        """Decide about the last alternative, and compare the next; say whether there was one."""
        best = self._rank(self._records(), self._used, profile)
        if self._trial is not None:
            trial, self._trial = self._trial, None
            if self._rank(trial.children, trial, profile) > best:
                best = self._rank(trial.children, trial, profile)
                self._use(trial, self._values[self._next - 1])
            else:
                _count_calls(self._records(), _calls(trial.children))
        asked = bool(_calls(self._records()))
        if best.verdict == _PASSES and (best.score >= 1.0 or asked):
            self._next = len(self._values)
        if self._next == len(self._values):
            return False
        self._trial = self._compare(self._next)
        self._next += 1
        return True

    def take_identical(self, profile: Profile) -> Leaf | None:
        """Use an alternative that the prediction equals where a verdict on gold must be awaited.

        Returns the record that is not used any more, or None.
        """
        records = self._records()
        if self._next or self._array is not None or len(records) != 1:
            return None
        (gold,) = records
        if Pending not in map(type, gold.verdicts):
            return None
        text = canonical(gold.predicted)
        for at, value in enumerate(self._values):
            if canonical(value) != text:
                continue
            trial = self._compare(at)
            if any(Pending in map(type, record.verdicts) for record in trial.children):
                return None
            if self._rank(trial.children, trial, profile).verdict == _PASSES:
                self._use(trial, value)
                self._next = len(self._values)
                return gold
        return None

    def _records(self) -> list[Leaf]:
        """Return the records of the reading in use."""
        if self._array is not None:
            return self._used.children
        return [r for r in self._used.children if self.contains(normal_path(r.paths.gold))]

    def _rank(self, records: Sequence[Leaf], pair: Pair, profile: Profile) -> _Rank:
        arrays = [r for r in in_records(records) if isinstance(r, ArrayRecord)]
        roll_up(arrays, profile)
        scores = [record_score(record) for record in records]
        passed = sum(bool(passes) for _, passes in scores)
        if self._array is not None:
            threshold = pass_threshold(self._array.node, "align_threshold", 0.5)
            decide_pair(pair, self._array, profile, threshold)
            verdict = _PASSES if pair.status == "matched" else _OPEN if pair.unresolved else _FAILS
            return _Rank(verdict, pair.similarity or 0.0, passed)
        failed = any(passes is False for _, passes in scores)
        verdict = _FAILS if failed else _OPEN if passed < len(scores) else _PASSES
        mean = sum(score or 0.0 for score, _ in scores) / len(scores) if scores else 1.0
        return _Rank(verdict, mean, passed)

    def _use(self, trial: Pair, value: Any) -> None:
        """Put an alternative in the place of the reading in use."""
        before = self._records()
        _count_calls(trial.children, _calls(before))
        own = {normal_path(record.paths.gold): record for record in before}
        for record in in_records(trial.children):
            record.accepted = canonical(None if record.gold is MISSING else record.gold)
        for record in trial.children:
            _keep_gold(record, own.get(normal_path(record.paths.gold)))
        if self._array is not None:
            trial.accepted = canonical(value)
            self._array.pairs[self._array.pairs.index(self._used)] = trial
            self._used = trial
            return
        children, gone = self._used.children, set(map(id, before))
        at = next((n for n, record in enumerate(children) if id(record) in gone), len(children))
        kept = [record for record in children if id(record) not in gone]
        self._used.children[:] = [*kept[:at], *trial.children, *kept[at:]]


def _keep_gold(record: Leaf, own: Leaf | None) -> None:
    """Show gold's own value in a record of an alternative; what is rightly absent is correct."""
    if own is None:
        return
    record.gold = own.gold
    if isinstance(record, ArrayRecord) and isinstance(own, ArrayRecord):
        record.own_items = own.weighed_items
    if states(record)[0] == PRESENT:
        for position, verdict in enumerate(settled(record)):
            if verdict.outcome == "both_absent":
                record.put(position, verdict._replace(outcome="correct", reason="accepted_absent"))


def _calls(records: Sequence[Leaf]) -> tuple[JudgeCall, ...]:
    return tuple(
        call for record in in_records(records) for v in settled(record) for call in v.calls
    )


def _count_calls(records: Sequence[Leaf], calls: tuple[JudgeCall, ...]) -> None:
    """Keep the calls behind a reading that is not used, with the first verdict of the other."""
    first = next((record for record in records if settled(record)), None)
    if calls and first is not None:
        verdict = settled(first)[0]
        first.put(0, verdict._replace(calls=(*verdict.calls, *calls)))
