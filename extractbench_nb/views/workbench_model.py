"""State of the workbench: cases, a metric with adjustable params, verdicts, and the curve."""

from __future__ import annotations

import inspect
import json
from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from extractbench_nb.core import REGISTRY, Param, Profile, evaluate
from extractbench_nb.core.frames import TEXT, Column, FrameSpec, as_pandas
from extractbench_nb.core.schema import MISSING, PRESETS, parse_config
from extractbench_nb.core.text import Judge, choose_judge
from extractbench_nb.core.values import json_type, private_copy
from extractbench_nb.errors import ConfigError, InputError, nearest
from extractbench_nb.stats import choose_metric, gather
from extractbench_nb.support.pandas_helpers import is_missing

GAINED, LOST = "gained", "lost"
#: What the curve is over where no param decides: the score itself.
SCORE = "score"
_FIELDS = {"path", "field", "gold", "predicted", "gold_state", "predicted_state", "outcome"}
_SIDES = ("gold", "predicted")
#: Configs whose verdicts are kept, cases that are scored at each value of a param without being
#: asked, and labels among which a metric is chosen without being asked.
_KEPT, _SOON, _LABELLED = 64, 2000, 300

RESULT_COLUMNS = FrameSpec(
    "results",
    "one row per case",
    (
        Column("gold", "object", "gold value; None also if missing", nullable=True),
        Column("predicted", "object", "predicted value; None also if missing", nullable=True),
        Column("score", "Float64", "score; missing without a verdict", "0 to 1", True),
        Column("passed", "boolean", "whether the score passes", nullable=True),
        Column("outcome", "string", "result, as in `Evaluation.fields`"),
        Column("reason", "string", "short code of the reason"),
        Column("baseline_score", "Float64", "score of the baseline", "0 to 1", True),
        Column("baseline_passed", "boolean", "whether it passes with the baseline", nullable=True),
        Column("flip", "string", "change of the verdict", f"{GAINED}, {LOST}", True),
        Column("expected", "boolean", "the expected verdict", nullable=True),
        Column("error", "string", "reason for a missing verdict", nullable=True),
    ),
)
CURVE_COLUMNS = FrameSpec(
    "curve",
    "one row per value of the threshold",
    (
        Column("param", "string", "the param that changes; `score` if the score itself does"),
        Column("threshold", "float64", "value of the threshold"),
        Column("passing", "int64", "cases that pass", "0 and up"),
        Column("pass_rate", "Float64", "passing / cases; a case without a verdict fails", "0 to 1"),
        Column("labelled", "int64", "cases with a verdict and an expected verdict", "0 and up"),
        Column("accuracy", "Float64", "share of labelled cases that agree", "0 to 1", True),
    ),
)


# --- cases ----------------------------------------------------------------------------------------


class Cases(NamedTuple):
    """Pairs of values; all frames have one row per case.

    ``pairs`` has gold and predicted, `MISSING` where the key is absent; ``types``, the JSON types
    that the schema of a property allows, none for all; and ``expected``, the verdict of people.
    ``brought`` are the verdicts that the cases bring, None if they bring none.
    """

    pairs: pd.DataFrame
    more: pd.DataFrame
    brought: pd.DataFrame | None

    @property
    def is_labelled(self) -> bool:
        """Whether any case has an expected verdict."""
        return bool(self.pairs["expected"].notna().any())


def read_cases(source: Any, *, field: str | None = None, kinds: Iterable[str] = ()) -> Cases:
    """Read cases; of fields, those of a field, or those with values of some kinds."""
    source = as_pandas(source)
    if isinstance(source, list | tuple) and all(isinstance(pair, list | tuple) for pair in source):
        for number, pair in enumerate(source):
            if len(pair) not in (2, 3):
                raise InputError(
                    f"case {number} has {len(pair)} parts; expected (gold, predicted) or "
                    "(gold, predicted, expected)"
                )
        rows = [(*pair, None)[:3] for pair in source]
        frame = pd.DataFrame(rows, columns=[*_SIDES, "expected"], dtype=object)
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
    labels = [name for name in ("run", "document", "path") if name in frame.columns]
    if set(frame.columns) >= _FIELDS:
        frame = _of_fields(frame, labels, field, frozenset(kinds))
        more = frame[labels].astype(TEXT)
    elif field is not None:
        raise InputError(f"field={field!r}: the cases are not fields of an Evaluation")
    else:
        for side in _SIDES:
            if side not in frame.columns:
                known = [str(name) for name in frame.columns]
                raise InputError(f"cases have no column {side!r}; {nearest(side, known)}")
        own = (*_SIDES, "expected", *RESULT_COLUMNS.names)
        more = frame.drop(columns=[name for name in frame.columns if name in own])
    pairs = pd.DataFrame({side: _values(frame, side) for side in _SIDES}, dtype=object)
    pairs["types"] = _types(frame, pairs)
    pairs["expected"] = _expected(frame)
    return Cases(pairs, more.reset_index(drop=True), _brought(frame))


def _of_fields(
    fields: pd.DataFrame, labels: list[str], field: str | None, kinds: frozenset[str]
) -> pd.DataFrame:
    """Return the rows of fields that are cases: one row per value, whatever its metrics."""
    once = [name for name in (*labels, "predicted_path") if name in fields.columns]
    rows = fields[~fields.duplicated(once)]
    if field is not None:
        known = [str(name) for name in rows["field"].unique()]
        if field not in known:
            raise InputError(f"there is no field {field!r}; {nearest(field, known)}")
        return rows[rows["field"] == field]
    values = rows["gold"].where(rows["gold_state"].isin(["present", "empty"]), rows["predicted"])
    return rows[[not kinds or json_type(value) in kinds for value in values]]


def _values(frame: pd.DataFrame, side: str) -> list[Any]:
    """Return JSON values: what pandas calls missing is null, an absent key `MISSING`."""
    values = [None if is_missing(v) else private_copy(v) for v in frame[side].tolist()]
    states = frame.get(f"{side}_state")
    if states is None:
        return values
    absent = states.eq("missing")
    if side == "predicted":  # below a broken container, rows show the container's value
        kinds = zip(frame["gold"], values, frame["outcome"], strict=True)
        broken = [o == "structural" and json_type(g) == json_type(v) for g, v, o in kinds]
        absent |= pd.Series(broken, index=frame.index)
    return [MISSING if gone else v for v, gone in zip(values, absent, strict=True)]


def _types(frame: pd.DataFrame, pairs: pd.DataFrame) -> list[tuple[str, ...]]:
    """Return the type of gold, and that of the prediction where the schema allowed it too."""

    def declared(value: Any) -> tuple[str, ...]:
        kind = None if value is MISSING else json_type(value)
        return (kind,) if kind in ("string", "number", "boolean", "array") else ()

    both = "predicted_state" in frame.columns
    outcomes = frame["outcome"] if both else [""] * len(frame)
    return [
        ()
        if gold is None
        else tuple(
            dict.fromkeys(
                declared(gold) + (declared(other) if both and told != "structural" else ())
            )
        )
        for gold, other, told in zip(pairs["gold"], pairs["predicted"], outcomes, strict=True)
    ]


def _expected(frame: pd.DataFrame) -> Any:
    labels = frame["expected"].tolist() if "expected" in frame.columns else [None] * len(frame)
    for number, label in enumerate(labels):
        if not is_missing(label) and label not in (True, False):
            raise InputError(
                f"case {number}: expected is {label!r}; expected True (passes), False, or nothing"
            )
    return pd.array([None if is_missing(v) else bool(v) for v in labels], dtype="boolean")


def _brought(frame: pd.DataFrame) -> pd.DataFrame | None:
    """Return the verdicts in the columns `passed` and, if there is one, `score`."""
    if "passed" not in frame.columns:
        return None
    passed = frame["passed"].astype("boolean")
    score = (
        frame["score"].astype("Float64") if "score" in frame.columns else passed.astype("Float64")
    )
    return pd.DataFrame({"score": score, "passed": passed}).reset_index(drop=True)


# --- the metric -----------------------------------------------------------------------------------


class Tuning:
    """A metric with params that can be changed."""

    def __init__(self, metric: Any) -> None:
        config = dict(metric) if isinstance(metric, Mapping) else REGISTRY.config_of(metric)
        if not isinstance(config, dict) and config not in (known := {*PRESETS, *REGISTRY.entries}):
            raise ConfigError(None, f"unknown metric {metric!r}; {nearest(metric, known)}")
        parsed = parse_config(config, "/evaluation_config", REGISTRY)
        if parsed is None or parsed.skip or len(parsed.metrics) != 1:
            raise InputError(f"metric is {metric!r}; expected one metric that scores")
        self._weight, (spec,) = parsed.weight, parsed.metrics
        self.name, self._entry = spec.metric_id, REGISTRY.get(spec.metric_id)
        given = {name: Param(name, "any", value) for name, value in spec.params.items()}
        self.is_built_in = self._entry.source != "user"
        self.params = given | {param.name: param for param in self._entry.params}
        values = {name: spec.params.get(name, p.default) for name, p in self.params.items()}
        self.start = {name: value for name, value in values.items() if value is not None}
        name = self._entry.threshold
        #: The param that a score must reach to pass, None if there is none.
        self.threshold = name if isinstance(self.start.get(name or ""), int | float) else None

    @property
    def kinds(self) -> frozenset[str]:
        """The JSON types that the metric is meant for; all scalars where it takes any."""
        own = {"number" if kind == "integer" else kind for kind in self._entry.applies_to}
        return frozenset(own - {"any"}) or frozenset({"string", "number", "boolean"})

    @property
    def is_stale(self) -> bool:
        """Whether a metric of the same name was registered since."""
        return REGISTRY.entries.get(self.name, self._entry) is not self._entry

    def checked(self, params: Any) -> dict[str, Any]:
        """Check values of params; whole numbers are made integers."""
        if not isinstance(params, Mapping):
            raise InputError(f"params is {params!r}; expected a dict of names and values")
        found = dict(params)
        for name, value in params.items():
            if name not in self.params:
                raise InputError(f"{self.name} has no param {name!r}; {nearest(name, self.params)}")
            param = self.params[name]
            problem = None if value is None and param.default is None else param.problem(value)
            if problem is not None:
                raise InputError(f"{self.name}: {problem}")
            if param.is_whole and isinstance(value, float):
                found[name] = int(value)
        return found

    def config(self, params: Mapping[str, Any]) -> dict[str, Any]:
        """Return the ``evaluation_config`` of these params, to be written in a schema."""
        values = {name: params[name] for name in self.params if params.get(name) is not None}
        config = {"metric_id": self.name} | ({"params": values} if values else {})
        return config | ({"aggregation_weight": self._weight} if self._weight != 1 else {})

    def rules(self, params: Mapping[str, Any]) -> str:
        """Write the metric with its params, ``string_fuzzy(threshold=0.8)``."""
        inner = ", ".join(f"{name}={value!r}" for name, value in params.items())
        return f"{self.name}({inner})" if inner else self.name

    def values(self, name: str) -> list[float]:
        """Return values of a number to try: even steps, or multiples of its value at the start."""
        param = self.params.get(name, Param(name, "number", 0.0, 0.0, 1.0))
        if param.minimum is not None and param.maximum is not None:
            steps = 100 if name in (self.threshold, SCORE) else 20
            tried = np.linspace(param.minimum, param.maximum, steps + 1).round(12)
        else:
            factors = [0, *(step * 10.0**n for n in range(-2, 2) for step in (1, 2, 5)), 100]
            tried = np.array(factors) * (self.start[name] or 1.0)
        return sorted({float(v) for v in tried if param.problem(float(v)) is None})


# --- verdicts -------------------------------------------------------------------------------------


class _OnceJudge:
    """A judge that is asked once about each pair of texts, whatever the params."""

    def __init__(self, judge: Judge) -> None:
        self.name, self._judge, self._known = judge.name, judge, dict[tuple[str, str], Any]()

    def compare(self, gold: str, predicted: str) -> Any:
        key = gold, predicted
        if key in self._known:
            return self._known[key]
        answer = self._judge.compare(gold, predicted)
        if inspect.isawaitable(answer):
            return self._awaited(key, answer)
        return self._known.setdefault(key, answer)

    async def _awaited(self, key: tuple[str, str], answer: Any) -> Any:
        return self._known.setdefault(key, await answer)


class Bench:
    """Cases, a metric whose params change, and a baseline.

    The baseline is the verdicts that the cases bring, else the metric with its first params.
    Verdicts are frames: score and passed, both missing without a verdict; outcome, reason, and
    reasoning, which says why there is none.
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
        self.cases = cases
        self.tuning = Tuning(metric)
        self.params = dict(self.tuning.start)
        self._metric = self.tuning.name if callable(metric) else metric  # it may be redefined
        self._asked, self._profile = choose_judge(judge), Profile.named(profile)
        self._forget()
        self.baseline_threshold: float | None = None
        if baseline is None and cases.brought is not None:
            self.baseline, self.baseline_verdicts = "as evaluated", cases.brought
            return
        first = self.tuning if baseline is None else Tuning(baseline)
        self.baseline = first.rules(first.start)
        self.baseline_verdicts = self._scored(first.config(first.start))
        if first.name == self.tuning.name:
            self.baseline_threshold = first.start.get(first.threshold or "")

    def _forget(self) -> None:
        self._judge, self._known = _OnceJudge(self._asked), dict[str, pd.DataFrame]()
        self._choice = ""

    def _scored(self, config: dict[str, Any]) -> pd.DataFrame:
        """Score all cases, each as a property of one object."""
        key = json.dumps(config, sort_keys=True, default=repr)
        if key in self._known:
            self._known[key] = self._known.pop(key)  # the last one used is kept longest
            return self._known[key]
        pairs = self.cases.pairs
        names = [f"case {at}" for at in range(len(pairs))]
        properties = {
            name: {"evaluation_config": config} | ({"type": list(types)} if types else {})
            for name, types in zip(names, pairs["types"], strict=True)
        }
        sides = (
            {n: v for n, v in zip(names, pairs[side], strict=True) if v is not MISSING}
            for side in _SIDES
        )
        schema = {"type": "object", "properties": properties}
        fields = evaluate(schema, *sides, judge=self._judge, profile=self._profile).fields
        columns = ["score", "passed", "outcome", "reason", "reasoning"]
        found = fields.drop_duplicates("path").set_index("path")[columns]
        found = found.reindex([f"$['{name}']" for name in names]).reset_index(drop=True)
        found["passed"] = found["passed"].where(found["score"].notna())
        self._known = dict([*self._known.items()][-_KEPT:]) | {key: found}
        return found

    @property
    def over(self) -> str:
        """What the curve is over: the threshold, a number of a built-in metric, or the score."""
        if self.tuning.threshold or not self.tuning.is_built_in or len(self.cases.pairs) > _SOON:
            return self.tuning.threshold or SCORE
        params = self.tuning.params.items()
        return next((n for n, p in params if p.kind == "number" and n in self.params), SCORE)

    @property
    def verdicts(self) -> pd.DataFrame:
        """The verdicts under the params as they are."""
        return self._scored(self.tuning.config(self.params))

    @property
    def errors(self) -> pd.Series:
        """Why a case has no verdict; missing if it has one."""
        now = self.verdicts
        told = now["reasoning"].where(now["reasoning"].fillna("") != "", "no verdict")
        return told.where(now["passed"].isna())

    def masks(self) -> dict[str, pd.Series]:
        """Mark the cases of each kind; those that the metric never sees are of no other."""
        now, then = self.verdicts["passed"], self.baseline_verdicts["passed"]
        is_seen = self.verdicts["outcome"].isin(["correct", "incorrect", "judge_error"])
        passed, before = now.fillna(value=False), then.fillna(value=False)
        both, expected = now.notna() & then.notna(), self.cases.pairs["expected"]
        kinds = {
            LOST: both & ~passed & before,
            GAINED: both & passed & ~before,
            "failed": is_seen & now.notna() & ~passed,
            "errors": now.isna(),
            "passed": is_seen & passed,
            "disagreements": (now != expected).fillna(value=False),
            "unseen": ~is_seen,
        }
        return {name: mask.astype(bool) for name, mask in kinds.items()}

    def set_params(self, params: Any) -> None:
        """Change some of the params; None takes one away."""
        values = self.params | self.tuning.checked(params)
        self.params = {n: values[n] for n in self.tuning.params if values.get(n) is not None}

    def rescore(self) -> None:
        """Look the metric up again and score anew; the baseline's verdicts stay as they were.

        Params that the metric still has keep their values, where these are still allowed.
        """
        self.tuning = Tuning(self._metric)
        self._forget()
        kept, self.params = self.params, dict(self.tuning.start)
        for name, value in kept.items():
            try:
                self.set_params({name: value})
            except InputError:
                continue

    def label(self, at: int, verdict: bool | None) -> None:
        """Set the expected verdict of a case; None removes it."""
        expected = self.cases.pairs["expected"].copy()
        expected[at] = pd.NA if verdict is None else verdict
        self.cases = self.cases._replace(pairs=self.cases.pairs.assign(expected=expected))
        self._choice = ""

    def choice(self) -> str:
        """Return the metric that the labels choose, with the offline judge, or why none is."""
        labels = int(self.cases.pairs["expected"].notna().sum())
        if labels > _LABELLED:  # all metrics are tried
            return f"{labels:,} labels; xb.stats.choose_metric(bench.results) chooses a metric"
        if not self._choice:
            try:
                last = repr(choose_metric(self.results())).splitlines()[-1]
                self._choice = last.strip().removeprefix("all labels: ")
            except InputError as error:
                self._choice = str(error)
        return self._choice

    def results(self) -> pd.DataFrame:
        """Return the verdicts as a frame: further columns of the cases first."""
        now, then, masks = self.verdicts, self.baseline_verdicts, self.masks()
        pairs = self.cases.pairs
        frame = RESULT_COLUMNS.build(
            {
                **{s: [None if v is MISSING else v for v in pairs[s]] for s in _SIDES},
                "score": _cells(now["score"]),
                "passed": _cells(now["passed"]),
                "outcome": _cells(now["outcome"].fillna("")),
                "reason": _cells(now["reason"].fillna("")),
                "baseline_score": _cells(then["score"]),
                "baseline_passed": _cells(then["passed"]),
                "flip": [
                    LOST if lost else GAINED if gained else None
                    for lost, gained in zip(masks[LOST], masks[GAINED], strict=True)
                ],
                "expected": _cells(pairs["expected"]),
                "error": _cells(self.errors),
            }
        )
        return pd.concat([self.cases.more, frame], axis=1)

    def curve(self) -> pd.DataFrame:
        """Return how many cases pass at each value of what the curve is over."""
        tuning, now = self.tuning, self.verdicts
        over, values = self.over, tuning.values(self.over)
        decided = now["passed"].notna().to_numpy()
        if over in (tuning.threshold, SCORE):
            # what the metric passes by its score is decided by its score at other thresholds too
            mark = 1.0 if over == SCORE else float(self.params[over])
            score = now["score"].to_numpy(dtype=float, na_value=np.nan)
            passed = now["passed"].fillna(value=False).to_numpy(dtype=bool)
            follows = now["outcome"].isin(["correct", "incorrect"]).to_numpy() & decided
            follows &= (score >= mark) == passed
            found = np.where(follows, score >= np.array(values)[:, None], passed)
        else:
            tried = (self._scored(tuning.config({**self.params, over: v})) for v in values)
            found = np.array([verdicts["passed"].fillna(value=False) for verdicts in tried], bool)
        passing = found.sum(axis=1)
        expected = self.cases.pairs["expected"]
        judged = decided & expected.notna().to_numpy()
        agrees = (found == expected.fillna(value=False).to_numpy(dtype=bool)) & judged
        labelled = int(judged.sum())
        return CURVE_COLUMNS.build(
            {
                "param": [over] * len(values),
                "threshold": values,
                "passing": passing,
                "pass_rate": passing / max(1, len(expected)),
                "labelled": [labelled] * len(values),
                "accuracy": [a / labelled if labelled else None for a in agrees.sum(axis=1)],
            }
        )


def _cells(column: pd.Series) -> list[Any]:
    return column.astype(object).where(column.notna(), None).tolist()
