"""State of the workbench: cases, a metric with adjustable params, verdicts, and the curve."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from pandas.api.types import infer_dtype

from extractbench_nb.core import REGISTRY, Param, Profile, refuse_non_json
from extractbench_nb.core.frames import TEXT, Column, FrameSpec, as_pandas
from extractbench_nb.core.schema import MISSING, PRESETS, parse_config
from extractbench_nb.core.text import Judge
from extractbench_nb.core.values import json_type, private_copy
from extractbench_nb.errors import ConfigError, InputError, nearest
from extractbench_nb.stats import choose_metric, gather, kappas
from extractbench_nb.support.wording import ratio_text, value_text
from extractbench_nb.views.workbench_cases import Case, CaseScorer, Verdicts

#: Columns of `fields` that name a case.
LABELS = ("run", "document", "path")
_OF_FIELDS = ("path", "field", "gold", "predicted", "gold_state", "predicted_state", "outcome")
_SIDES = ("gold", "predicted")
_PAIR, _TRIPLE = 2, 3
_SEARCHED = 20_000


@dataclass(frozen=True)
class Cases:
    """Pairs of values, and a frame of further columns with a row for each."""

    rows: tuple[Case, ...]
    more: pd.DataFrame
    #: The verdicts that the cases bring: those of the evaluation they are from.
    brought: Verdicts | None = None

    def __len__(self) -> int:
        """Return the number of cases."""
        return len(self.rows)

    @cached_property
    def texts(self) -> list[str]:
        """The searchable text of each case: both values and the further columns, case folded."""
        gold = [side_text(case.gold) for case in self.rows]
        predicted = [side_text(case.predicted) for case in self.rows]
        further = [map(label_text, column.tolist()) for _, column in self.more.items()]
        return [
            "\n".join(text[:_SEARCHED] for text in texts).casefold()
            for texts in zip(gold, predicted, *further, strict=True)
        ]

    @property
    def expected(self) -> list[bool | None]:
        """The verdict of people on each case."""
        return [case.expected for case in self.rows]

    @property
    def labelled(self) -> bool:
        """Whether any case has an expected verdict."""
        return any(verdict is not None for verdict in self.expected)


def present(value: Any) -> Any:
    """Return a value, None if the key is absent."""
    return None if value is MISSING else value


def side_text(value: Any) -> str:
    """Write a value as one text; nothing where it is absent."""
    return value_text(present(value))


def label_text(value: Any) -> str:
    """Write a cell of a further column; a missing one is empty."""
    return "" if _is_missing(value) else value_text(value)


def read_cases(source: Any, *, field: str | None = None, kinds: Iterable[str] = ()) -> Cases:
    """Read cases."""
    source = as_pandas(source)
    if isinstance(source, list | tuple) and all(isinstance(one, list | tuple) for one in source):
        frame = _from_pairs(source)
    elif isinstance(source, pd.DataFrame):
        frame = source
    else:
        try:
            frame = gather(source, "fields")
        except InputError as error:
            raise InputError(
                f"cases is {type(source).__name__}; expected a DataFrame with the columns gold and "
                f"predicted, a list of (gold, predicted) tuples, or an Evaluation ({error})"
            ) from None
    if set(_OF_FIELDS) <= set(frame.columns):
        return _from_fields(frame, field, frozenset(kinds))
    if field is not None:
        raise InputError(
            f"field={field!r} chooses among the fields of an Evaluation; the cases have none"
        )
    return _from_frame(frame, as_given=frame is not source)


def _from_pairs(pairs: Sequence[Sequence[Any]]) -> pd.DataFrame:
    for number, pair in enumerate(pairs):
        if len(pair) not in (_PAIR, _TRIPLE):
            raise InputError(
                f"case {number} has {len(pair)} parts; expected (gold, predicted) or "
                "(gold, predicted, expected)"
            )
    rows = [(*pair, None)[:_TRIPLE] for pair in pairs]
    return pd.DataFrame(rows, columns=[*_SIDES, "expected"], dtype=object)


def _from_frame(frame: pd.DataFrame, *, as_given: bool) -> Cases:
    for side in _SIDES:
        if side not in frame.columns:
            known = [str(name) for name in frame.columns]
            raise InputError(f"cases have no column {side!r}; {nearest(side, known)}")
    golds, predicted = (_json_values(frame[side], as_given) for side in _SIDES)
    expected = _expected(frame)
    for number, gold in enumerate(golds):
        try:
            refuse_non_json(gold)
        except InputError as error:
            raise InputError(f"case {number}: {error}") from None
    rows = zip(golds, predicted, map(_declared, golds), expected, strict=True)
    more = frame.drop(columns=[c for c in (*_SIDES, "expected") if c in frame.columns])
    return Cases(tuple(Case(*row) for row in rows), more.reset_index(drop=True), _brought(frame))


def _brought(frame: pd.DataFrame) -> Verdicts | None:
    """Return the verdicts in the columns `passed` and, if there is one, `score`."""
    if "passed" not in frame.columns:
        return None
    verdicts = frame["passed"].astype("boolean")
    passed = verdicts.fillna(value=False).to_numpy(dtype=bool)
    scores = frame["score"] if "score" in frame.columns else verdicts
    texts = [
        tuple(frame[name].fillna("").astype(str)) if name in frame.columns else ("",) * len(frame)
        for name in ("outcome", "reason")
    ]
    return Verdicts(
        np.asarray(scores.astype("Float64").fillna(np.nan), dtype=np.float64),
        passed,
        verdicts.notna().to_numpy(dtype=bool),
        texts[0],
        texts[1],
        (None,) * len(frame),
    )


def _json_values(column: pd.Series, as_given: bool) -> list[Any]:
    """Return JSON values: what pandas calls missing is null, a NaN that was put there stays."""
    # a column of texts with gaps, of which pandas 2 makes objects, is no column of any values
    is_text = infer_dtype(column, skipna=True) == "string"
    loose = column.dtype == object and (as_given or not is_text)
    return [
        None if value is None or value is pd.NA or (not loose and pd.isna(value)) else value
        for value in map(private_copy, column.tolist())
    ]


def _declared(gold: Any) -> tuple[str, ...]:
    """Return the type that a schema would declare for a gold value; any for objects and null."""
    kind = json_type(gold)
    return () if gold is MISSING or kind in ("object", "null") else (kind,)


def _expected(frame: pd.DataFrame) -> list[bool | None]:
    if "expected" not in frame.columns:
        return [None] * len(frame)
    found: list[bool | None] = []
    for number, value in enumerate(frame["expected"].tolist()):
        if _is_missing(value):
            found.append(None)
        elif isinstance(value, bool | np.bool_ | int | float) and value in (0, 1):
            found.append(bool(value))
        else:
            raise InputError(
                f"case {number}: expected is {value!r}; expected True (passes), False, or nothing"
            )
    return found


def _is_missing(value: Any) -> bool:
    return value is None or value is pd.NA or (isinstance(value, float) and np.isnan(value))


def _from_fields(fields: pd.DataFrame, field: str | None, kinds: frozenset[str]) -> Cases:
    labels = [name for name in LABELS if name in fields.columns]
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
    gold_or_predicted = (
        case.predicted if case.gold is None or case.gold is MISSING else case.gold for case in found
    )
    taken = [
        field is not None or not kinds or json_type(value) in kinds for value in gold_or_predicted
    ]
    more = rows.loc[taken, labels].reset_index(drop=True).astype(TEXT)
    kept = tuple(c for c, wanted in zip(found, taken, strict=True) if wanted)
    return Cases(kept, more, _brought(rows[taken]))


def _types(rows: pd.DataFrame) -> list[tuple[str, ...]]:
    """Return the types of gold, and the predicted one where the schema allowed it too."""
    cells = zip(rows["gold"], rows["predicted"], rows["outcome"], strict=True)
    return [
        tuple(dict.fromkeys(_declared(gold) + (_declared(other) if told != "structural" else ())))
        if gold is not None
        else ()
        for gold, other, told in cells
    ]


_KINDS = {bool: "boolean", int: "number", float: "number", str: "string"}
_SCALARS = frozenset({"string", "number", "boolean"})


class Tuned(NamedTuple):
    """A param that can be changed: its name, the place of its metric, its value at the start."""

    key: str
    place: int
    param: Param
    value: Any


class Tuning:
    """One or several metrics with params that can be changed, by name as ``metric_id.param``."""

    def __init__(self, metric: Any) -> None:
        config = dict(metric) if isinstance(metric, Mapping) else _metric_name(metric)
        parsed = parse_config(config, "/evaluation_config", REGISTRY)
        if parsed is None or parsed.skip:
            raise InputError(f"metric is {metric!r}, which scores nothing; expected a metric")
        self._specs, self._weight = parsed.metrics, parsed.weight

        self._entries = [REGISTRY.get(spec.metric_id) for spec in self._specs]
        self.name = " + ".join(spec.metric_id for spec in self._specs)
        self.params = {tuned.key: tuned for tuned in self._tuned()}
        self.start = {key: t.value for key, t in self.params.items() if t.value is not None}
        name = self._entries[0].threshold if len(self._entries) == 1 else None
        number = isinstance(self.start.get(name or ""), int | float)
        #: The param that a score must reach to pass; None if there is no single one.
        self.threshold = name if number else None

    @property
    def kinds(self) -> frozenset[str]:
        """The JSON types that all metrics are meant for; scalars where they take any."""
        found = _SCALARS | {"array"}
        for entry in self._entries:
            own = {"number" if kind == "integer" else kind for kind in entry.applies_to}
            found &= (own - {"any"}) or _SCALARS
        return frozenset(found)

    @property
    def own(self) -> bool:
        """Whether the metric is one of this package's, and not the user's."""
        return all(entry.source != "user" for entry in self._entries)

    @property
    def is_stale(self) -> bool:
        """Whether a metric of the same name was registered since."""
        pairs = zip(self._specs, self._entries, strict=True)
        return any(REGISTRY.entries.get(spec.metric_id) is not entry for spec, entry in pairs)

    def mark(self, params: Mapping[str, Any]) -> float | None:
        """Return the lowest score that passes; None if there is no single numeric threshold."""
        if self.threshold is not None:
            return float(params[self.threshold])
        single = len(self._entries) == 1 and self._entries[0].threshold is None
        return 1.0 if single else None

    def checked(self, params: Any) -> dict[str, Any]:
        """Check values of params."""
        if not isinstance(params, Mapping):
            raise InputError(f"params is {params!r}; expected a dict of names and values")
        for name, value in params.items():
            if name not in self.params:
                raise InputError(f"{self.name} has no param {name!r}; {nearest(name, self.params)}")
            param = self.params[name].param
            problem = None if value is None and param.default is None else param.problem(value)
            if problem is not None:
                raise InputError(f"{self.name}: {problem}")
        found = {}
        for key, tuned in self.params.items():
            if key in params:
                value = params[key]
                whole = isinstance(value, float) and tuned.param.is_whole and value.is_integer()
                found[key] = int(value) if whole else value
        return found

    def config(self, params: Mapping[str, Any]) -> dict[str, Any]:
        """Return the ``evaluation_config`` of these params, to be written in a schema."""
        several = len(self._specs) > 1
        entries: list[dict[str, Any]] = []
        for place, spec in enumerate(self._specs):
            mine = [tuned for tuned in self.params.values() if tuned.place == place]
            given = {tuned.param.name: params.get(tuned.key) for tuned in mine}
            values = {name: value for name, value in given.items() if value is not None}
            weight = {"weight": spec.weight} if several and spec.weight != 1 else {}
            found = {"params": values} if values else {}
            entries.append({"metric_id": spec.metric_id, **found, **weight})
        config: dict[str, Any] = {"metrics": entries} if several else entries[0]
        return config | ({"aggregation_weight": self._weight} if self._weight != 1 else {})

    def _tuned(self) -> Iterator[Tuned]:
        ids: Counter[str] = Counter()
        for place, (spec, entry) in enumerate(zip(self._specs, self._entries, strict=True)):
            ids[spec.metric_id] += 1
            again = f"#{ids[spec.metric_id]}" if ids[spec.metric_id] > 1 else ""
            prefix = f"{spec.metric_id}{again}." if len(self._specs) > 1 else ""
            params = entry.params
            if entry.takes_node:  # its params are those of the config
                given = spec.params.items()
                params = tuple(Param(name, _KINDS.get(type(v), "any"), v) for name, v in given)
            for param in params:
                value = spec.params.get(param.name, param.default)
                yield Tuned(prefix + param.name, place, param, value)


def _metric_name(metric: Any) -> str:
    name = REGISTRY.config_of(metric)
    known = {*PRESETS, *REGISTRY.entries}
    if not isinstance(name, str) or name not in known:
        raise ConfigError(None, f"unknown metric {metric!r}; {nearest(metric, known)}")
    return name


def rules_text(name: str, params: Mapping[str, Any]) -> str:
    """Write a metric with its params, ``string_fuzzy(threshold=0.8)``."""
    inner = ", ".join(f"{key}={value!r}" for key, value in params.items())
    return f"{name}({inner})" if inner else name


Flags = np.ndarray[Any, np.dtype[np.bool_]]

#: What is measured where cases have an expected verdict.
MEASURES = ("accuracy", "precision", "recall", "kappa")

CURVE_COLUMNS = FrameSpec(
    "curve",
    "one row per value of the threshold",
    (
        Column("param", "string", "the param that changes; `score` where a score itself does"),
        Column("threshold", "float64", "its value"),
        Column("passing", "int64", "cases that pass", "0 and up"),
        Column("pass_rate", "Float64", "passing / cases; one without a verdict fails", "0 to 1"),
        Column("labelled", "int64", "cases with a verdict and an expected one", "0 and up"),
        Column("accuracy", "Float64", "share of the labelled that agree", "0 to 1", True),
        Column("precision", "Float64", "share of the passing that should", "0 to 1", True),
        Column("recall", "Float64", "share of those that should pass that do", "0 to 1", True),
        Column("kappa", "Float64", "agreement beyond chance, Cohen's", "-1 to 1", True),
    ),
)

_STEPS = (1, 2, 5)
_DECADES = range(-3, 3)


def at_marks(found: Verdicts, mark: float | None, thresholds: Sequence[float]) -> Flags:
    """Decide every case at other thresholds, from its score alone."""
    metric = np.isin(np.array(found.outcome, dtype=object), ("correct", "incorrect"))
    follows = metric & found.decided
    if mark is not None:
        follows &= (found.score >= mark) == found.passed
    reached = found.score >= np.array(thresholds, dtype=np.float64)[:, None]
    return np.where(follows, reached, found.passed)


def curve_frame(
    param: str,
    thresholds: Sequence[float],
    passed: Flags,
    decided: Flags,
    expected: Sequence[bool | None],
) -> pd.DataFrame:
    """Make the frame of a curve from the cases that pass at each threshold."""
    cases = len(expected)
    passing = passed.sum(axis=1)
    labels = np.array([value is not None for value in expected], dtype=np.bool_)
    right = np.array([bool(value) for value in expected], dtype=np.bool_)
    judged = decided & labels
    # a table for each threshold: expected to pass or not, by passed or not
    cells = [
        [(judged & (right == should) & (passed == does)).sum(axis=1) for does in (True, False)]
        for should in (True, False)
    ]
    counts = np.moveaxis(np.array(cells, dtype=np.float64), 2, 0)
    both, missed, extra = counts[:, 0, 0], counts[:, 0, 1], counts[:, 1, 0]
    total = counts.sum(axis=(1, 2))
    with np.errstate(invalid="ignore"):
        measured = {
            "accuracy": np.trace(counts, axis1=1, axis2=2) / total,
            "precision": both / (both + extra),
            "recall": both / (both + missed),
            "kappa": kappas(counts),
        }
    return CURVE_COLUMNS.build(
        {
            "param": [param] * len(thresholds),
            "threshold": list(thresholds),
            "passing": passing.tolist(),
            "pass_rate": (passing / cases if cases else np.zeros(len(thresholds))).tolist(),
            "labelled": total.astype(int).tolist(),
            **{name: _or_none(values) for name, values in measured.items()},
        }
    )


def _or_none(values: Any) -> list[float | None]:
    return [None if np.isnan(value) else float(value) for value in values]


def stops(param: Param, value: float | None, *, parts: int = 100) -> list[float]:
    """Return values of a number to try: even steps between two bounds, else 1, 2, 5, 10, ..."""
    own = [float(v) for v in (value, param.default) if v is not None and math.isfinite(v)]
    if param.minimum is not None and param.maximum is not None:
        low, high = param.minimum, param.maximum
        found = [low + (high - low) * n / parts for n in range(parts + 1)]
    else:
        top = 10.0 ** math.floor(math.log10(abs(own[-1]) if own and own[-1] else 1.0))
        up = [step * top * 10.0**decade for decade in _DECADES for step in _STEPS]
        down = [-v for v in up] if not own or own[-1] <= 0 else []
        found = [0.0, *filter(math.isfinite, [*up, *down])]
    inside = [v for v in (*found, *own) if param.problem(v) is None]
    if param.is_whole:
        inside = [v for v in inside if v.is_integer()]
    return sorted({float(f"{v:.12g}") for v in inside} | set(own))


GAINED, LOST = "gained", "lost"
#: What the curve is over where no param decides: the score itself.
SCORE = "score"
#: Steps of a curve for each of which all cases are scored.
_TRIED = 20
#: Cases that are scored at all those steps, and labels that choose, without being asked.
_SOON, _LABELLED = 2000, 300

RESULT_COLUMNS = FrameSpec(
    "results",
    "one row per case",
    (
        Column("gold", "object", "gold's value; None also where missing", nullable=True),
        Column("predicted", "object", "predicted value; None also where missing", nullable=True),
        Column("score", "Float64", "score; missing without a verdict", "0 to 1", True),
        Column("passed", "boolean", "whether the score passes", nullable=True),
        Column("outcome", "string", "what happened, as in `Evaluation.fields`"),
        Column("reason", "string", "short machine word for why"),
        Column("baseline_score", "Float64", "score of the baseline", "0 to 1", True),
        Column("baseline_passed", "boolean", "whether it passes there", nullable=True),
        Column("flip", "string", "the verdict is another", f"{GAINED}, {LOST}", True),
        Column("expected", "boolean", "the verdict of people", nullable=True),
        Column("error", "string", "why there is no verdict", nullable=True),
    ),
)


class Baseline(NamedTuple):
    """What is compared with: its rules in words, its threshold, its verdicts."""

    rules: str
    threshold: float | None
    verdicts: Verdicts


class Bench:
    """Cases, a metric whose params change, and a baseline.

    The baseline is the verdicts that the cases bring, else the metric with its first params.
    """

    def __init__(
        self,
        metric: Any,
        cases: Cases,
        *,
        baseline: Any = None,
        judge: str | Judge = "offline",
        profile: str | Profile = "strict",
    ) -> None:
        self._metric = metric
        self.cases = cases
        self.tuning = Tuning(metric)
        if callable(metric):
            self._metric = self.tuning.name  # the function may be redefined
        self._scorer = CaseScorer(cases.rows, judge, profile)
        self._choice: str | None = None
        self.params = dict(self.tuning.start)
        if baseline is None and cases.brought is not None:
            self.baseline = Baseline("as evaluated", None, cases.brought)
        else:
            self.baseline = self._baseline(Tuning(metric if baseline is None else baseline))

    def _baseline(self, tuning: Tuning, params: Mapping[str, Any] | None = None) -> Baseline:
        values = tuning.start if params is None else params
        same = tuning.name == self.tuning.name
        mark = values.get(tuning.threshold) if same and tuning.threshold else None
        found = self._scorer.verdicts(tuning.config(values))
        return Baseline(rules_text(tuning.name, values), mark, found)

    def label(self, at: int, verdict: bool | None) -> None:
        """Set the expected verdict of a case; None removes it."""
        rows = [*self.cases.rows]
        rows[at] = rows[at]._replace(expected=verdict)
        self.cases = replace(self.cases, rows=tuple(rows))
        self._choice = None

    def choice(self) -> str:
        """Return the metric that the labels choose, with the offline judge, or why none is."""
        labels = sum(verdict is not None for verdict in self.cases.expected)
        if labels > _LABELLED:  # all metrics are tried
            return f"{labels:,} labels; xb.stats.choose_metric(bench.results) chooses a metric"
        if self._choice is None:
            try:
                last = repr(choose_metric(self.results())).splitlines()[-1]
                self._choice = last.strip().removeprefix("all labels: ")
            except InputError as error:
                self._choice = str(error)
        return self._choice

    def with_params(self, params: Any) -> dict[str, Any]:
        """Return the params with some of them changed."""
        values = self.params | self.tuning.checked(params)
        return {key: values[key] for key in self.tuning.params if values.get(key) is not None}

    def keep_as_baseline(self) -> None:
        """Compare with the params as they are now."""
        self.baseline = self._baseline(self.tuning, self.params)

    def rescore(self) -> None:
        """Look the metric up again and score anew; the baseline's verdicts stay as they were.

        Params that the metric still has keep their values, where these are still allowed.
        """
        self.tuning = Tuning(self._metric)
        self._scorer.forget()
        kept, self.params = self.params, dict(self.tuning.start)
        for key, value in kept.items():
            try:
                self.params = self.with_params({key: value})
            except InputError:
                continue

    @property
    def is_stale(self) -> bool:
        """Whether the metric was redefined since it was looked up."""
        return self.tuning.is_stale

    @property
    def seen(self) -> Flags:
        """Mark the cases that the metric is asked about: those that no missing value decides."""
        outcomes = np.array(self.verdicts.outcome, dtype=object)
        return np.isin(outcomes, ("correct", "incorrect", "judge_error"))

    @property
    def rules(self) -> str:
        """The metric with its params."""
        return rules_text(self.tuning.name, self.params)

    @property
    def config(self) -> dict[str, Any]:
        """The ``evaluation_config`` of the params as they are."""
        return self.tuning.config(self.params)

    @property
    def verdicts(self) -> Verdicts:
        """The verdicts under the params as they are."""
        return self._scorer.verdicts(self.config)

    def flips(self) -> np.ndarray[Any, np.dtype[np.int8]]:
        """Return 1 for a case that passes now and did not, -1 for the reverse, else 0."""
        now, then = self.verdicts, self.baseline.verdicts
        change = now.passed.astype(np.int8) - then.passed.astype(np.int8)
        return np.where(now.decided & then.decided, change, 0).astype(np.int8)

    def results(self) -> pd.DataFrame:
        """Return the verdicts as a frame: further columns of the cases first."""
        now, then = self.verdicts, self.baseline.verdicts
        words = {1: GAINED, -1: LOST, 0: None}
        rows = self.cases.rows
        frame = RESULT_COLUMNS.build(
            {
                "gold": [present(case.gold) for case in rows],
                "predicted": [present(case.predicted) for case in rows],
                "score": _or_none(now.score),
                "passed": _passed(now),
                "outcome": now.outcome,
                "reason": now.reason,
                "baseline_score": _or_none(then.score),
                "baseline_passed": _passed(then),
                "flip": [words[flip] for flip in self.flips().tolist()],
                "expected": self.cases.expected,
                "error": [now.error(at) for at in range(len(rows))],
            }
        )
        more = self.cases.more.drop(columns=RESULT_COLUMNS.names, errors="ignore")
        return pd.concat([more, frame], axis=1)

    @property
    def curves(self) -> list[str]:
        """What a curve can be drawn over: the threshold or the score first, then other numbers."""
        first = self.tuning.threshold or SCORE
        numbers = [
            key
            for key, tuned in self.tuning.params.items()
            if tuned.param.kind == "number" and not tuned.param.choices and key in self.params
        ]
        return [first, *(key for key in numbers if key != first)]

    @property
    def first_curve(self) -> str:
        """What to draw at first: a margin says more than a score that is 0 or 1."""
        known = self.curves
        plain = self.tuning.threshold is None and self.tuning.own and len(self.cases) <= _SOON
        return known[1] if plain and len(known) > 1 else known[0]

    def curve(self, over: str) -> pd.DataFrame:
        """Return how many cases pass at each value of a param."""
        tuning = self.tuning
        if over != (tuning.threshold or SCORE):
            values = stops(tuning.params[over].param, self.params.get(over), parts=_TRIED)
            tried = (self.params | tuning.checked({over: value}) for value in values)
            found = [self._scorer.verdicts(tuning.config(params)) for params in tried]
            passed = np.array([verdicts.passed for verdicts in found])
            decided = np.array([verdicts.decided for verdicts in found])
        else:
            values = [n / 100 for n in range(101)]
            if tuning.threshold is not None:
                then = self.baseline.threshold
                values = stops(tuning.params[over].param, self.params.get(over))
                values = sorted({*values, *([] if then is None else [then])})
            passed = at_marks(self.verdicts, tuning.mark(self.params), values)
            decided = self.verdicts.decided
        return curve_frame(over, values, passed, decided, self.cases.expected)


def _passed(found: Verdicts) -> list[bool | None]:
    pairs = zip(found.passed.tolist(), found.decided.tolist(), strict=True)
    return [passed if decided else None for passed, decided in pairs]


#: Largest step of values that stand where they belong, as a share of the axis.
_EVEN = 0.0501


def number_text(value: float) -> str:
    """Write a value of a param, without digits that say nothing."""
    return f"{value:.6g}"


def facts(bench: Bench) -> list[tuple[str, str, str, str]]:
    """Return name, value, baseline's value and a note of each figure of the verdicts."""
    now, then, cases = bench.verdicts, bench.baseline.verdicts, len(bench.cases)
    flips = bench.flips()
    gained, lost = int((flips > 0).sum()), int((flips < 0).sum())
    found = [
        ("Passing", _share(now), _share(then), ""),
        ("Mean score", _mean(now), _mean(then), ""),
        ("Flips", f"{gained + lost:,}", "", f"{gained:,} {GAINED}, {lost:,} {LOST}"),
    ]
    errors = cases - int(now.decided.sum())
    if errors:
        found.append(("Without a verdict", f"{errors:,}", "", ""))
    if bench.cases.labelled:
        found.append(("As expected", _agreement(bench, now), _agreement(bench, then), ""))
    return found


def _share(found: Verdicts) -> str:
    cases, passing = len(found.passed), int(found.passed.sum())
    return f"{passing:,} of {cases:,}" + (f" · {passing / cases:.1%}" if cases else "")


def _mean(found: Verdicts) -> str:
    known = found.score[~np.isnan(found.score)]
    return ratio_text(known.mean()) if len(known) else "n/a"


def _agreement(bench: Bench, found: Verdicts) -> str:
    labels = bench.cases.expected
    pairs = [
        bool(passed) == label
        for passed, decided, label in zip(found.passed, found.decided, labels, strict=True)
        if decided and label is not None
    ]
    return f"{sum(pairs):,} of {len(pairs):,}" + (f" · {np.mean(pairs):.1%}" if pairs else "")


def places(values: Sequence[float]) -> list[float]:
    """Put values between two bounds where they belong, and a series of 1, 2, 5 evenly."""
    low, high = values[0], values[-1]
    steps = np.diff(values)
    if high > low and steps.max() <= _EVEN * (high - low):
        return [round((value - low) / (high - low), 4) for value in values]
    return [round(at / max(1, len(values) - 1), 4) for at in range(len(values))]


def best_text(frame: pd.DataFrame) -> str:
    """Say where the verdicts agree best with those of people."""
    for name in ("kappa", "accuracy"):
        known = frame[name].astype(float)
        if known.notna().any():
            best = np.isclose(known.to_numpy(), known.max())
            start = int(best.argmax())
            length = int((~best[start:]).argmax()) or len(best) - start
            ends = [number_text(frame["threshold"].iloc[n]) for n in (start, start + length - 1)]
            where = ends[0] if length == 1 else f"{ends[0]} to {ends[1]}"
            return f"highest {name} {known.max():.2f} at {where}"
    return ""
