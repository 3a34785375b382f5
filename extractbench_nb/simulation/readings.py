"""What is varied and what is read off an evaluation when the score is traced as a curve."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from statistics import fmean
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from extractbench_nb._frames import Column, FrameSpec
from extractbench_nb.display.text import fitted
from extractbench_nb.engine.inputs import read_schema
from extractbench_nb.engine.profiles import PROFILES, Profile, get_profile
from extractbench_nb.errors import ConfigError, InputError, nearest
from extractbench_nb.evaluation.api import evaluate
from extractbench_nb.evaluation.result import Evaluation
from extractbench_nb.field_metrics.registry import REGISTRY
from extractbench_nb.judges.base import Judge
from extractbench_nb.schema.config import PRESETS, NodeConfig, parse_config
from extractbench_nb.schema.nodes import Children, Node, Schema
from extractbench_nb.simulation.catalogue import CORRUPTIONS, Corruption
from extractbench_nb.simulation.corrupt import check_share
from extractbench_nb.simulation.values import LARGEST, corrupt, kind_of, kinds
from extractbench_nb.stats.intervals import Drawing, Interval, mean_intervals

__all__ = [
    "FIELD_MEAN",
    "MEASURES",
    "SENSITIVITY_COLUMNS",
    "Example",
    "Key",
    "PlainValues",
    "Reading",
    "Settings",
    "Subject",
    "by_path",
    "read",
    "subjects",
    "table",
]


_SCALARS = frozenset({"string", "number", "integer", "boolean"})


@dataclass(frozen=True)
class Subject:
    """A profile, or a metric under a profile.

    Parameters
    ----------
    metric : str or None
        The metric's label; None for a profile.
    profile : Profile
        The rules.
    config : NodeConfig or None
        The metric's rules; None for a profile.
    declared : str, mapping or None
        The ``evaluation_config`` that the user gave, to be put on single values.
    """

    metric: str | None
    profile: Profile
    config: NodeConfig | None = None
    declared: Any = field(default=None, compare=False)

    def schema(self, source: Any) -> Schema:
        """Read a schema under the rules, and put the metric on the fields it applies to."""
        schema = read_schema(source, self.profile)
        if self.config is None:
            return schema
        kinds = _kinds(self.config)
        return replace(schema, root=_with_metric(schema.root, self.config, kinds))

    @property
    def metric_ids(self) -> list[str]:
        """The ids under which the metric's rows stand in ``fields``."""
        return [] if self.config is None else [spec.metric_id for spec in self.config.metrics]


def subjects(chosen: Any, profile: str | Profile) -> list[Subject]:
    """Read what a user wants to try."""
    several = isinstance(chosen, Sequence) and not isinstance(chosen, str)
    rules = get_profile(profile)
    found = [_subject(one, rules) for one in (chosen if several else [chosen])]
    if not found:
        raise InputError("metric_or_profile is empty; expected a metric, a profile, or several")
    labels = [(subject.metric, subject.profile.name) for subject in found]
    twice = [label for label in labels if labels.count(label) > 1]
    if twice:
        raise InputError(f"metric_or_profile holds {twice[0][0] or twice[0][1]!r} twice")
    return found


def _subject(one: Any, rules: Profile) -> Subject:
    if isinstance(one, Profile) or (isinstance(one, str) and one in PROFILES):
        return Subject(None, get_profile(one))
    if isinstance(one, Mapping):
        config = parse_config(dict(one), "/evaluation_config", REGISTRY)
        assert config is not None  # noqa: S101 - only null is no config
        return Subject(_label(config), rules, config, dict(one))
    name = _registered(one) if callable(one) else one
    if not isinstance(name, str) or name not in {*PRESETS, *REGISTRY.names()}:
        known = {*PRESETS, *REGISTRY.names(), *PROFILES}
        raise ConfigError(None, f"unknown metric or profile {name!r}; {nearest(name, known)}")
    return Subject(name, rules, parse_config(name, "/evaluation_config", REGISTRY), name)


def _registered(function: Callable[..., Any]) -> str:
    for entry in REGISTRY.entries.values():
        if entry.function is function:
            return entry.name
    raise InputError(f"{function!r} is not registered; decorate it with @metric")


def _label(config: NodeConfig) -> str:
    """Name a config by its metrics, with the params that it sets."""
    return " + ".join(
        spec.metric_id + (f"({_params(spec.params)})" if spec.params else "")
        for spec in config.metrics
    )


def _params(params: Mapping[str, Any]) -> str:
    return ", ".join(f"{name}={value!r}" for name, value in params.items())


def _kinds(config: NodeConfig) -> frozenset[str]:
    """Return the JSON types that all metrics of a config are meant for; numbers may be whole."""
    found = _SCALARS | {"array"}
    for spec in config.metrics:
        own = set(REGISTRY.get(spec.metric_id).applies_to)
        own = (own - {"any"}) or set(_SCALARS)
        found &= own | ({"integer"} if "number" in own else set())
    return frozenset(found)


def _with_metric(node: Node, config: NodeConfig, kinds: frozenset[str]) -> Node:
    """Return a node whose fields have the metric; what is skipped stays so."""
    if node.config is not None and node.config.skip:
        return node
    own = node.config
    if _is_meant(node, kinds):
        own = replace(config, weight=node.weight)
    elif node.kind == "union" and "array" not in kinds:
        own = None  # its branches have their own
    return replace(
        node,
        config=own,
        loaded=None,
        loader=lambda: _children_with_metric(node.children, config, kinds),
        _choices={},
    )


def _children_with_metric(below: Children, config: NodeConfig, kinds: frozenset[str]) -> Children:
    def put(node: Node) -> Node:
        return _with_metric(node, config, kinds)

    return below.mapped(put)


def _is_meant(node: Node, kinds: frozenset[str]) -> bool:
    if node.kind == "array":
        return "array" in kinds
    if node.kind != "scalar":
        return False
    if node.label.startswith("integer"):
        return "integer" in kinds
    return bool(node.types) and node.types - {"null"} <= kinds


#: Entries of the summary that can be the score of a profile.
MEASURES = ("overall_score", "field_score", "pass_rate", "pass_rate_judged", "gold_coverage")


@dataclass(frozen=True)
class Settings:
    """What is tried, how often and how.

    Parameters
    ----------
    subjects : sequence of Subject
        Metrics and profiles.
    rates : sequence of float
        In [0, 1].
    measure : str
        The score of a profile.
    strength : float
        How much of a value in a document changes, above 0 and up to 1.
    repeats : int
        Corrupted copies of each document or value, 1 and up.
    judge : str or Judge
        Decides judged metrics.
    seed : int
        0 and up.

    Raises
    ------
    InputError
        A value is out of range.
    """

    subjects: Sequence[Subject]
    rates: Sequence[float]
    measure: str
    strength: float
    repeats: int
    judge: str | Judge
    seed: int

    def __post_init__(self) -> None:
        """Refuse values out of range."""
        if not self.rates:
            raise InputError("rates is empty; expected numbers from 0 to 1")
        for rate in self.rates:
            check_share("rate", rate)
        check_share("strength", self.strength, above=0)
        if type(self.repeats) is not int or self.repeats < 1:
            raise InputError(f"repeats={self.repeats!r}; expected 1 or more")
        if self.measure not in MEASURES:
            raise InputError(f"measure={self.measure!r}; {nearest(self.measure, MEASURES)}")


SENSITIVITY_COLUMNS = FrameSpec(
    "sensitivity",
    "one row a metric or profile, corruption and rate",
    (
        Column("metric", "string", "metric or preset; missing: as the schema declares", "", True),
        Column("profile", "string", "rules of the evaluation"),
        Column("measure", "string", "what the score is: an entry of the summary, or field mean"),
        Column("corruption", "string", "what was done"),
        Column("meaning", "string", "what becomes of the meaning", "kept, unclear, changed"),
        Column("rate", "float64", "probability of each place; of a value: share", "[0, 1]"),
        Column("n", "int64", "documents or values in which there is something to corrupt"),
        Column("changed", "Float64", "places that were changed, mean over n", "0 and up", True),
        Column("score", "Float64", "mean over n; missing where nothing was scored", "[0, 1]", True),
        Column("low", "Float64", "lower end of the interval over documents", "[0, 1]", True),
        Column("high", "Float64", "upper end", "[0, 1]", True),
        Column("interval", "string", "how it was made", "BCa, percentile, all equal, none"),
        Column("lowest", "Float64", "lowest score of a document or value", "[0, 1]", True),
        Column("pass_rate", "Float64", "share that passes, mean over n", "[0, 1]", True),
        Column("errors", "int64", "scores without a verdict, all repeats", "0 and up"),
        Column("document", "string", "an example, of the lowest score: where", "", True),
        Column("path", "string", "the example: path in gold", "", True),
        Column("gold", "object", "the example: what stood there", "", True),
        Column("corrupted", "object", "the example: what became of it", "", True),
    ),
)


FIELD_MEAN = "field mean"


class Example(NamedTuple):
    """What was done at one place."""

    document: str | None
    path: str | None
    gold: Any
    corrupted: Any


class Reading(NamedTuple):
    """The result of one corrupted document or value: of which, its score, and an example."""

    unit: str
    score: float | None
    passed: float
    errors: int
    changed: int = 0
    example: Example | None = None


class Key(NamedTuple):
    """What a row is about."""

    subject: Subject
    corruption: Corruption
    rate: float


def by_path(fields: pd.DataFrame) -> pd.DataFrame:
    """Summarise the rows of each field: mean score, and whether all metrics pass."""
    passed = fields["passed"].fillna(value=False).astype(float)
    rows = fields[["path", "score"]].assign(passed=passed)
    return rows.groupby("path", sort=False).agg({"score": "mean", "passed": "min"})


def read(ev: Evaluation, subject: Subject, measure: str, unit: str) -> Reading | None:
    """Read a profile's measure off an evaluation, or the mean over the fields of a metric."""
    if subject.config is None:
        summary = ev.summary
        score = float(summary[measure])
        known = None if np.isnan(score) else score
        return Reading(unit, known, float(summary["pass_rate"]), int(summary["judge_errors"]))
    fields = ev.fields
    rows = by_path(fields[fields["metric"].isin(subject.metric_ids)])
    if rows.empty:
        return None
    scores = rows["score"].dropna()
    mean = float(scores.mean()) if len(scores) else None
    return Reading(unit, mean, float(rows["passed"].mean()), len(rows) - len(scores))


def table(
    readings: Mapping[Key, Sequence[Reading]], measure: str, drawing: Drawing
) -> pd.DataFrame:
    """Make the frame: one row a key."""
    grouped = {key: _by_unit(found) for key, found in readings.items()}
    samples = {key: _unit_scores(units.values()) for key, units in grouped.items()}
    known = [key for key, sample in samples.items() if len(sample)]
    found = mean_intervals([samples[key] for key in known], drawing)
    intervals = dict(zip(known, found, strict=True))
    nothing = Interval(None, None, "none")
    rows = [
        _row(key, measure, grouped[key], intervals.get(key, nothing), samples[key])
        for key in readings
    ]
    columns = zip(*rows, strict=True)
    return SENSITIVITY_COLUMNS.build(dict(zip(SENSITIVITY_COLUMNS.names, columns, strict=True)))


def _by_unit(readings: Iterable[Reading]) -> dict[str, list[Reading]]:
    units = defaultdict(list)
    for reading in readings:
        units[reading.unit].append(reading)
    return units


def _scores(readings: Iterable[Reading]) -> list[float]:
    return [reading.score for reading in readings if reading.score is not None]


def _unit_scores(units: Iterable[list[Reading]]) -> np.ndarray[Any, np.dtype[np.float64]]:
    """Return the mean over the repeats of each unit that has a verdict."""
    scores = [_scores(readings) for readings in units]
    return np.array([fmean(found) for found in scores if found], dtype=np.float64)


def _row(
    key: Key,
    measure: str,
    units: Mapping[str, list[Reading]],
    interval: Interval,
    sample: np.ndarray[Any, np.dtype[np.float64]],
) -> tuple[Any, ...]:
    subject, corruption, rate = key
    readings = [reading for found in units.values() for reading in found]
    scored = [r for r in readings if r.score is not None]
    example = min(
        (r for r in scored if r.example is not None), key=lambda r: r.score or 0.0, default=None
    )
    ends = (None, None, "none") if interval.low is None else interval
    return (
        subject.metric,
        subject.profile.name,
        measure if subject.config is None else FIELD_MEAN,
        corruption.name,
        corruption.meaning,
        rate,
        len(units),
        _over_units(units, "changed"),
        float(sample.mean()) if len(sample) else None,
        *ends,
        min(_scores(readings), default=None),
        _over_units(units, "passed"),
        sum(reading.errors for reading in readings),
        *(example.example if example and example.example else (None, None, None, None)),
    )


def _over_units(units: Mapping[str, list[Reading]], name: str) -> float | None:
    means = [fmean(getattr(reading, name) for reading in found) for found in units.values()]
    return fmean(means) if means else None


#: How much of a value changes where it is only asked whether it can be corrupted at all.
_SOME = 0.5
_WIDEST = 120


class _Case(NamedTuple):
    unit: str
    gold: Any
    corrupted: Any


class PlainValues:
    """Texts and numbers, and what a metric says of their corrupted copies.

    Parameters
    ----------
    values : iterable of str, int or float
        Null, missing and empty ones are left out, equal ones count once.
    """

    def __init__(self, values: Iterable[Any]) -> None:
        self.golds = _distinct(values)

    def corruptions(self, wanted: list[Corruption] | None) -> list[Corruption]:
        """Return the corruptions that the values can undergo."""
        present = {kind_of(value) for value in self.golds}
        for corruption in wanted or ():
            if not kinds(corruption.name):
                known = [name for name in CORRUPTIONS if kinds(name)]
                raise InputError(
                    f"corruption {corruption.name!r} is for documents, and the data are plain "
                    f"values; {nearest(corruption.name, known)}"
                )
        chosen = list(CORRUPTIONS.values()) if wanted is None else wanted
        return [c for c in chosen if present & set(kinds(c.name))]

    @property
    def steps(self) -> Sequence[str]:
        """What is done one by one: here all values at once."""
        return ("values",)

    def readings(
        self, _: str, corruption: Corruption, settings: Settings
    ) -> Iterator[tuple[Subject, float, Reading]]:
        """Corrupt and evaluate the values at all rates."""
        for rate in settings.rates:
            cases = list(self._cases(corruption.name, rate, settings))
            for subject in settings.subjects if cases else ():
                for reading in _scored(subject, cases, settings):
                    yield subject, rate, reading

    def _cases(self, name: str, rate: float, settings: Settings) -> Iterator[_Case]:
        for gold in self.golds:
            unit = f"{settings.seed}/{name}/{gold!r}"
            for repeat in range(settings.repeats if rate else 1):
                made = corrupt(name, gold, rate or _SOME, f"{unit}/{repeat}")
                if made is not None:
                    yield _Case(unit, gold, made if rate else gold)


def _distinct(values: Iterable[Any]) -> list[Any]:
    present = [v.item() if hasattr(v, "item") else v for v in values]
    present = [v for v in present if v is not None and v is not pd.NA and v == v]  # noqa: PLR0124
    for value in present:
        if isinstance(value, bool) or not isinstance(value, str | int | float):
            raise InputError(
                f"data hold {fitted(repr(value), _WIDEST)}; expected texts and numbers, "
                "(schema, gold) pairs or a dataset"
            )
        if not isinstance(value, str) and abs(value) > LARGEST:
            raise InputError(f"data hold {value!r}; expected numbers up to {LARGEST:g}")
    found = list({(kind_of(v), v): v for v in present if v != ""}.values())
    if not found:
        raise InputError("data: found no text and no number to corrupt")
    return found


def _scored(subject: Subject, cases: list[_Case], settings: Settings) -> Iterator[Reading]:
    """Evaluate all cases as the properties of one object."""
    names = [str(n) for n in range(len(cases))]
    own = {} if subject.declared is None else {"evaluation_config": subject.declared}
    nodes = [{"type": kind_of(case.gold), **own} for case in cases]
    schema = {"type": "object", "properties": dict(zip(names, nodes, strict=True))}
    gold, predicted = (
        {name: getattr(case, side) for name, case in zip(names, cases, strict=True)}
        for side in ("gold", "corrupted")
    )
    ev = evaluate(schema, gold, predicted, judge=settings.judge, profile=subject.profile)
    rows = by_path(ev.fields)
    if len(rows) != len(cases):
        raise InputError(
            f"{subject.metric!r} scored {len(rows)} of {len(cases)} values; expected a metric for "
            "single values"
        )
    verdicts = zip(cases, rows["score"], rows["passed"], strict=True)
    for case, score, passed in verdicts:
        changed = case.corrupted is not case.gold
        example = Example(None, None, case.gold, case.corrupted) if changed else None
        known = None if pd.isna(score) else float(score)
        yield Reading(case.unit, known, passed, int(known is None), int(changed), example)
