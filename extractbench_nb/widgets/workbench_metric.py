"""A metric with adjustable params, and its pass rate at every threshold."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from extractbench_nb._frames import Column, FrameSpec
from extractbench_nb.errors import ConfigError, InputError, nearest
from extractbench_nb.field_metrics.registry import REGISTRY, Metric, Param
from extractbench_nb.schema.config import PRESETS, MetricSpec, parse_config
from extractbench_nb.stats.agreements import kappas
from extractbench_nb.widgets.workbench_cases import Verdicts

__all__ = [
    "CURVE_COLUMNS",
    "MEASURES",
    "Grid",
    "Tuned",
    "Tuning",
    "at_marks",
    "curve_frame",
    "is_whole",
    "rules_text",
    "stops",
]


_KINDS = {bool: "boolean", int: "number", float: "number", str: "string"}
_SCALARS = frozenset({"string", "number", "boolean"})


class Tuned(NamedTuple):
    """A param that can be changed: its name, of which metric it is, and its value at the start.

    ``value`` is None if neither the metric nor the user gives one.
    """

    key: str
    place: int
    param: Param
    value: Any


class Tuning:
    """A metric, or several together, with params that can be changed.

    Parameters
    ----------
    metric : str, callable or mapping
        Name of a metric or preset, a function registered with `metric`, or an
        ``evaluation_config``.

    Attributes
    ----------
    name : str
        The ids of the metrics, joined by `` + ``.
    params : dict of str to Tuned
        What can be changed. With several metrics the names are ``metric_id.param``.
    threshold : str or None
        The param that a score must reach to pass; None if there is no single one.
    start : dict
        Values at the start.

    Raises
    ------
    ConfigError
        The metric is not known, or its params are wrong.
    InputError
        The function is not registered, or nothing is scored.
    """

    def __init__(self, metric: Any) -> None:
        self._specs, self._weight = _specs(metric)
        self._entries = [REGISTRY.get(spec.metric_id) for spec in self._specs]
        self.name = " + ".join(spec.metric_id for spec in self._specs)
        self.params = {tuned.key: tuned for tuned in self._tuned()}
        self.start = {key: t.value for key, t in self.params.items() if t.value is not None}
        self.threshold = self._threshold()

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

    def mark(self, params: Mapping[str, Any]) -> float | None:
        """Return the score that passes; None with several metrics, or one that is not a number."""
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
        return {k: _typed(self.params[k].param, params[k]) for k in self.params if k in params}

    def config(self, params: Mapping[str, Any]) -> dict[str, Any]:
        """Return the ``evaluation_config`` of these params, to be written in a schema."""
        several = len(self._specs) > 1
        entries = [
            _entry(spec, self._values(place, params), with_weight=several)
            for place, spec in enumerate(self._specs)
        ]
        config: dict[str, Any] = {"metrics": entries} if several else entries[0]
        return config | ({"aggregation_weight": self._weight} if self._weight != 1 else {})

    def _threshold(self) -> str | None:
        name = self._entries[0].threshold if len(self._entries) == 1 else None
        number = isinstance(self.start.get(name or ""), int | float)
        return name if number else None

    def _values(self, place: int, params: Mapping[str, Any]) -> dict[str, Any]:
        mine = [tuned for tuned in self.params.values() if tuned.place == place]
        values = {t.param.name: params.get(t.key) for t in mine}
        return {name: value for name, value in values.items() if value is not None}

    def _tuned(self) -> Iterator[Tuned]:
        ids: Counter[str] = Counter()
        for place, (spec, entry) in enumerate(zip(self._specs, self._entries, strict=True)):
            ids[spec.metric_id] += 1
            again = f"#{ids[spec.metric_id]}" if ids[spec.metric_id] > 1 else ""
            prefix = f"{spec.metric_id}{again}." if len(self._specs) > 1 else ""
            for param in _declared(entry, spec):
                value = spec.params.get(param.name, param.default)
                yield Tuned(prefix + param.name, place, param, value)


def _specs(metric: Any) -> tuple[tuple[MetricSpec, ...], float]:
    config = dict(metric) if isinstance(metric, Mapping) else _name(metric)
    parsed = parse_config(config, "/evaluation_config", REGISTRY)
    if parsed is None or parsed.skip:
        raise InputError(f"metric is {metric!r}, which scores nothing; expected a metric")
    return parsed.metrics, parsed.weight


def _name(metric: Any) -> str:
    if callable(metric):
        return _registered(metric)
    if not isinstance(metric, str) or metric not in {*PRESETS, *REGISTRY.names()}:
        known = {*PRESETS, *REGISTRY.names()}
        raise ConfigError(None, f"unknown metric {metric!r}; {nearest(metric, known)}")
    return metric


def _registered(function: Callable[..., Any]) -> str:
    for entry in REGISTRY.entries.values():
        if entry.function is function:
            return entry.name
    raise InputError(f"{function!r} is not registered; decorate it with @metric")


def _declared(entry: Metric, spec: MetricSpec) -> Iterable[Param]:
    """Return the params of a metric; those of one that is a class are what the config has."""
    if not entry.takes_node:
        return entry.params
    return [Param(name, _KINDS.get(type(v), "any"), v) for name, v in spec.params.items()]


def _entry(spec: MetricSpec, params: dict[str, Any], *, with_weight: bool) -> dict[str, Any]:
    entry: dict[str, Any] = {"metric_id": spec.metric_id}
    if params:
        entry["params"] = params
    if with_weight and spec.weight != 1:
        entry["weight"] = spec.weight
    return entry


def is_whole(param: Param) -> bool:
    """Say whether a number is a whole one: its default is, and it is not a share from 0 to 1."""
    return type(param.default) is int and (param.minimum, param.maximum) != (0, 1)


def _typed(param: Param, value: Any) -> Any:
    whole = isinstance(value, float) and is_whole(param) and value.is_integer()
    return int(value) if whole else value


def rules_text(name: str, params: Mapping[str, Any]) -> str:
    """Write a metric with its params, ``string_fuzzy(threshold=0.8)``."""
    inner = ", ".join(f"{key}={value!r}" for key, value in params.items())
    return f"{name}({inner})" if inner else name


Flags = np.ndarray[Any, np.dtype[np.bool_]]

#: What is measured where cases have an expected verdict.
MEASURES = ("accuracy", "precision", "recall", "kappa")

CURVE_COLUMNS = FrameSpec(
    "curve",
    "one row a value of the threshold",
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


class Grid(NamedTuple):
    """Which cases pass, and which have a verdict: one row per value of the threshold."""

    passed: Flags
    decided: Flags


def at_marks(found: Verdicts, mark: float | None, thresholds: Sequence[float]) -> Grid:
    """Decide every case at other thresholds, from its score alone."""
    metric = np.isin(np.array(found.outcome, dtype=object), ("correct", "incorrect"))
    follows = metric & found.decided
    if mark is not None:
        follows &= (found.score >= mark) == found.passed
    reached = found.score >= np.array(thresholds, dtype=np.float64)[:, None]
    passed = np.where(follows, reached, found.passed)
    return Grid(passed, np.broadcast_to(found.decided, passed.shape))


def curve_frame(
    param: str, thresholds: Sequence[float], grid: Grid, expected: Sequence[bool | None]
) -> pd.DataFrame:
    """Make the frame of a curve."""
    cases = len(expected)
    passing = grid.passed.sum(axis=1)
    labels = np.array([value is not None for value in expected], dtype=np.bool_)
    counts = _counts(grid, labels, np.array([bool(value) for value in expected], dtype=np.bool_))
    measured = _measures(counts)
    return CURVE_COLUMNS.build(
        {
            "param": [param] * len(thresholds),
            "threshold": list(thresholds),
            "passing": passing.tolist(),
            "pass_rate": (passing / cases if cases else np.zeros(len(thresholds))).tolist(),
            "labelled": counts.sum(axis=(1, 2)).astype(int).tolist(),
            **{name: _known(values) for name, values in measured.items()},
        }
    )


def _counts(grid: Grid, labels: Flags, right: Flags) -> Any:
    """Return a table a threshold: expected to pass or not, by passed or not."""
    known = grid.decided & labels
    cells = [
        [(known & (right == should) & (grid.passed == does)).sum(axis=1) for does in (True, False)]
        for should in (True, False)
    ]
    return np.moveaxis(np.array(cells, dtype=np.float64), 2, 0)


def _measures(counts: Any) -> dict[str, Any]:
    both, missed, extra = counts[:, 0, 0], counts[:, 0, 1], counts[:, 1, 0]
    total = counts.sum(axis=(1, 2))
    with np.errstate(invalid="ignore"):
        return {
            "accuracy": np.trace(counts, axis1=1, axis2=2) / total,
            "precision": both / (both + extra),
            "recall": both / (both + missed),
            "kappa": kappas(counts),
        }


def _known(values: Any) -> list[float | None]:
    return [None if np.isnan(value) else float(value) for value in values]


def stops(param: Param, value: float | None, *, parts: int = 100) -> list[float]:
    """Return values of a number to try: even steps between two bounds, else 1, 2, 5, 10, ..."""
    own = [float(v) for v in (value, param.default) if v is not None and math.isfinite(v)]
    if param.minimum is not None and param.maximum is not None:
        low, high = param.minimum, param.maximum
        found = [low + (high - low) * n / parts for n in range(parts + 1)]
    else:
        found = _series(abs(own[-1]) if own and own[-1] else 1.0, both=not own or own[-1] <= 0)
    inside = [v for v in (*found, *own) if param.problem(v) is None]
    if is_whole(param):
        inside = [v for v in inside if v.is_integer()]
    return sorted({float(f"{v:.12g}") for v in inside} | set(own))


def _series(size: float, *, both: bool) -> list[float]:
    top = 10.0 ** math.floor(math.log10(size))
    up = [step * top * 10.0**decade for decade in _DECADES for step in _STEPS]
    return [0.0, *filter(math.isfinite, up), *(-v for v in up if both and math.isfinite(v))]
