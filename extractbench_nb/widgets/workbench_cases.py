"""Cases of the workbench: pairs of values, and what a metric says of them."""

from __future__ import annotations

import inspect
import json
from collections.abc import Awaitable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from extractbench_nb._json import json_type, member, private_copy
from extractbench_nb.display.text import value_text
from extractbench_nb.engine.inputs import read_schema, refuse_non_json
from extractbench_nb.engine.profiles import Profile, get_profile
from extractbench_nb.engine.records import Leaf, settled
from extractbench_nb.engine.scoring import Scored
from extractbench_nb.engine.similarity import point_score
from extractbench_nb.errors import InputError, nearest
from extractbench_nb.evaluation.api import evaluate
from extractbench_nb.evaluation.frames import node_outcome
from extractbench_nb.judges.base import Judge
from extractbench_nb.judges.choosing import choose_judge
from extractbench_nb.schema.nodes import Children, Schema
from extractbench_nb.schema.states import MISSING
from extractbench_nb.stats.breakdowns import TEXT, gather

__all__ = [
    "Case",
    "CaseScorer",
    "Cases",
    "Verdicts",
    "case_schema",
    "label_text",
    "present",
    "read_cases",
    "remembering",
    "side_text",
]


_LABELS = ("run", "document", "path")
_OF_FIELDS = ("path", "field", "gold", "predicted", "gold_state", "predicted_state", "outcome")
_SIDES = ("gold", "predicted")
_PAIR, _TRIPLE = 2, 3
_SEARCHED = 20_000


class Case(NamedTuple):
    """A pair of values; `MISSING` where the key is absent.

    ``types`` are the JSON types that the field's schema allows; none allows all. ``expected`` is
    the verdict that people gave, None where they gave none.
    """

    gold: Any
    predicted: Any
    types: tuple[str, ...] = ()
    expected: bool | None = None


@dataclass(frozen=True)
class Cases:
    """Cases in order, and what else is known of each.

    Parameters
    ----------
    rows : tuple of Case
        The pairs.
    more : pandas.DataFrame
        Further columns, one row a case.
    """

    rows: tuple[Case, ...]
    more: pd.DataFrame

    def __len__(self) -> int:
        """Return the number of cases."""
        return len(self.rows)

    @cached_property
    def texts(self) -> list[str]:
        """What can be searched of each case: both values and the further columns, case folded."""
        sides = [(side_text(case.gold), side_text(case.predicted)) for case in self.rows]
        columns = [map(label_text, column.tolist()) for _, column in self.more.items()]
        labels = list(zip(*columns, strict=True)) or [()] * len(self)
        return [
            "\n".join(text[:_SEARCHED] for text in (*values, *more)).casefold()
            for values, more in zip(sides, labels, strict=True)
        ]

    @property
    def labelled(self) -> bool:
        """Whether any case has an expected verdict."""
        return any(case.expected is not None for case in self.rows)


def present(value: Any) -> Any:
    """Return a value, None where the key is absent."""
    return None if value is MISSING else value


def side_text(value: Any) -> str:
    """Write a value as one text; nothing where it is absent."""
    return value_text(present(value))


def label_text(value: Any) -> str:
    """Write a cell of a further column; a missing one is empty."""
    if isinstance(value, str):
        return value
    missing = value is None or value is pd.NA or (isinstance(value, float) and np.isnan(value))
    return "" if missing else value_text(value)


def read_cases(source: Any, *, field: str | None = None, kinds: Iterable[str] = ()) -> Cases:
    """Read cases."""
    if isinstance(source, list | tuple) and all(isinstance(one, list | tuple) for one in source):
        frame = _from_pairs(source)
    elif isinstance(source, pd.DataFrame):
        frame = source
    else:
        frame = _fields_of(source)
    if set(_OF_FIELDS) <= set(frame.columns):
        return _from_fields(frame, field, frozenset(kinds))
    if field is not None:
        raise InputError(
            f"field={field!r} chooses among the fields of an Evaluation; the cases have none"
        )
    return _from_frame(frame)


def _from_pairs(pairs: Sequence[Sequence[Any]]) -> pd.DataFrame:
    for number, pair in enumerate(pairs):
        if len(pair) not in (_PAIR, _TRIPLE):
            raise InputError(
                f"case {number} has {len(pair)} parts; expected (gold, predicted) or "
                "(gold, predicted, expected)"
            )
    whole = [(*pair, None)[:_TRIPLE] for pair in pairs]
    columns = zip((*_SIDES, "expected"), zip(*whole, strict=True), strict=False)
    made = {name: pd.Series(_cells(values), dtype=object) for name, values in columns}
    return pd.DataFrame(made or {name: pd.Series(dtype=object) for name in _SIDES})


def _cells(values: Sequence[Any]) -> Any:
    cells = np.empty(len(values), dtype=object)
    for at, value in enumerate(values):
        cells[at] = value
    return cells


def _fields_of(source: Any) -> pd.DataFrame:
    try:
        return gather(source, "fields")
    except InputError as error:
        raise InputError(
            f"cases is {type(source).__name__}; expected a DataFrame with the columns gold and "
            f"predicted, a list of (gold, predicted) tuples, or an Evaluation ({error})"
        ) from None


def _from_frame(frame: pd.DataFrame) -> Cases:
    for side in _SIDES:
        if side not in frame.columns:
            known = [str(name) for name in frame.columns]
            raise InputError(f"cases have no column {side!r}; {nearest(side, known)}")
    golds, predicted = (_values(frame[side]) for side in _SIDES)
    expected = _expected(frame)
    for number, gold in enumerate(golds):
        _refuse(number, gold)
    rows = zip(golds, predicted, map(_declared, golds), expected, strict=True)
    more = frame.drop(columns=[c for c in (*_SIDES, "expected") if c in frame.columns])
    return Cases(tuple(Case(*row) for row in rows), more.reset_index(drop=True))


def _values(column: pd.Series) -> list[Any]:
    """Return JSON values: what pandas calls missing is null, a NaN that was put there stays."""
    loose = column.dtype == object
    return [
        None if value is None or value is pd.NA or (not loose and pd.isna(value)) else value
        for value in map(private_copy, column.tolist())
    ]


def _refuse(number: int, gold: Any) -> None:
    try:
        refuse_non_json(gold)
    except InputError as error:
        raise InputError(f"case {number}: {error}") from None


def _declared(gold: Any) -> tuple[str, ...]:
    """Return the type that a schema would declare for a gold value; any for objects and null."""
    kind = json_type(gold)
    return () if gold is MISSING or kind in ("object", "null") else (kind,)


def _expected(frame: pd.DataFrame) -> list[bool | None]:
    if "expected" not in frame.columns:
        return [None] * len(frame)
    return [_verdict(number, value) for number, value in enumerate(frame["expected"].tolist())]


def _verdict(number: int, value: Any) -> bool | None:
    if value is None or value is pd.NA or (isinstance(value, float) and np.isnan(value)):
        return None
    if isinstance(value, bool | np.bool_ | int | float) and value in (0, 1):
        return bool(value)
    raise InputError(
        f"case {number}: expected is {value!r}; expected True (passes), False, or nothing"
    )


def _from_fields(fields: pd.DataFrame, field: str | None, kinds: frozenset[str]) -> Cases:
    labels = [name for name in _LABELS if name in fields.columns]
    once = [name for name in (*labels, "predicted_path") if name in fields.columns]
    rows = fields[~fields.duplicated(once)]  # a field with several metrics has several rows
    if field is not None:
        known = [str(name) for name in rows["field"].unique()]
        if field not in known:
            raise InputError(f"there is no field {field!r}; {nearest(field, known)}")
        rows = rows[rows["field"] == field]
    golds, predicted = (
        [
            MISSING if state == "missing" else value
            for value, state in zip(rows[side], rows[f"{side}_state"], strict=True)
        ]
        for side in _SIDES
    )
    found = [
        Case(*row) for row in zip(golds, predicted, _types(rows), _expected(rows), strict=True)
    ]
    taken = [field is not None or not kinds or _kind(case) in kinds for case in found]
    more = rows.loc[taken, labels].reset_index(drop=True).astype(TEXT)
    return Cases(tuple(c for c, wanted in zip(found, taken, strict=True) if wanted), more)


def _types(rows: pd.DataFrame) -> list[tuple[str, ...]]:
    """Return the types of gold, and the predicted one where the schema allowed it too."""
    cells = zip(rows["gold"], rows["predicted"], rows["outcome"], strict=True)
    return [
        tuple(dict.fromkeys(_declared(gold) + (_declared(other) if told != "structural" else ())))
        if gold is not None
        else ()
        for gold, other, told in cells
    ]


def _kind(case: Case) -> str:
    """Return the JSON type of gold, of the prediction where gold is absent."""
    value = case.predicted if case.gold is None or case.gold is MISSING else case.gold
    return json_type(value)


#: Cases that are scored in one evaluation.
_BATCH = 2000
#: Configs whose verdicts are kept.
_KEPT = 64
#: Answers of a judge that are kept.
_ANSWERS = 200_000


class Verdicts(NamedTuple):
    """What a metric says of each case: arrays of one length.

    ``score`` is NaN and ``decided`` False where there is no verdict; ``error`` says why.
    """

    score: np.ndarray[Any, np.dtype[np.float64]]
    passed: np.ndarray[Any, np.dtype[np.bool_]]
    decided: np.ndarray[Any, np.dtype[np.bool_]]
    outcome: tuple[str, ...]
    reason: tuple[str, ...]
    told: tuple[str | None, ...]

    def error(self, at: int) -> str | None:
        """Return why a case has no verdict; None where it has one."""
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
    cases : Cases
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
        self, cases: Cases, judge: str | Judge = "offline", profile: str | Profile = "paper"
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
        rows = self._cases.rows
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

    def _batch(self, rows: tuple[Case, ...], config: dict[str, Any]) -> list[_One]:
        """Score cases as the properties of one object."""
        names = [f"c{number}" for number in range(len(rows))]
        types = [case.types for case in rows]
        schema = case_schema(dict(zip(names, types, strict=True)), config, self._profile)
        gold, predicted = (
            {n: value for n, value in zip(names, side, strict=True) if value is not MISSING}
            for side in ([c.gold for c in rows], [c.predicted for c in rows])
        )
        ev = evaluate(schema, gold, predicted, judge=self._judge, profile=self._profile)
        grouped = _by_path(ev.records)
        return [_combined(grouped.get(f"$.{name}", [])) for name in names]


def case_schema(
    cases: Mapping[str, Sequence[str]], config: Mapping[str, Any], profile: Profile
) -> Schema:
    """Return the schema of an object whose properties are cases.

    Each kind of case is read once. Its nodes share what was read, so that a metric's params are
    bound once, too.
    """
    kinds = {
        tuple(types): f"kind{at}"
        for at, types in enumerate(dict.fromkeys(map(tuple, cases.values())))
    }
    document = {
        "type": "object",
        "properties": {name: _property(types, config) for types, name in kinds.items()},
    }
    schema = read_schema(document, profile)
    read = schema.root.children.properties
    nodes = {
        name: replace(
            read[kinds[tuple(types)]], name=name, field=name, step=member(name), _choices={}
        )
        for name, types in cases.items()
    }
    root = replace(schema.root, loaded=Children(properties=nodes), _choices={})
    return replace(schema, root=root)


def _property(types: Sequence[str], config: Mapping[str, Any]) -> dict[str, Any]:
    return ({"type": list(types)} if types else {}) | {"evaluation_config": dict(config)}


def _by_path(records: Iterable[Leaf]) -> dict[str, list[Scored]]:
    """Return the verdicts on each case, one a metric."""
    grouped: dict[str, list[Scored]] = {}
    for leaf in records:
        grouped.setdefault(leaf.paths.gold, []).extend(settled(leaf))
    return grouped


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
