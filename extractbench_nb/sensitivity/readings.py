"""What is read off an evaluation, and how the readings of many become one row."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from statistics import fmean
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from extractbench_nb.evaluation import Evaluation
from extractbench_nb.extraction.catalogue import Corruption
from extractbench_nb.sensitivity.columns import SENSITIVITY_COLUMNS
from extractbench_nb.sensitivity.subjects import Subject
from extractbench_nb.stats.bootstrap import Interval, mean_intervals
from extractbench_nb.stats.drawing import Drawing

__all__ = ["FIELD_MEAN", "Example", "Key", "Reading", "by_path", "read", "table"]

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
    """Summarise the rows of each field: mean score, and whether all metrics pass.

    Parameters
    ----------
    fields : pandas.DataFrame
        Rows of ``Evaluation.fields``.

    Returns
    -------
    pandas.DataFrame
        Columns score (missing without a verdict) and passed (0.0 or 1.0); the path is the index.
    """
    passed = fields["passed"].fillna(value=False).astype(float)
    rows = fields[["path", "score"]].assign(passed=passed)
    return rows.groupby("path", sort=False).agg({"score": "mean", "passed": "min"})


def read(ev: Evaluation, subject: Subject, measure: str, unit: str) -> Reading | None:
    """Read a profile's measure off an evaluation, or the mean over the fields of a metric.

    Parameters
    ----------
    ev : Evaluation
        One corrupted document against gold.
    subject : Subject
        Whose score is asked for.
    measure : str
        An entry of the summary, for profiles.
    unit : str
        The document.

    Returns
    -------
    Reading or None
        None where the metric has no field.
    """
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
    """Make the frame: one row a key.

    Parameters
    ----------
    readings : mapping of Key to sequence of Reading
        All repeats of all units.
    measure : str
        What the score of a profile is.
    drawing : Drawing
        Confidence, resamples and seed of the intervals.

    Returns
    -------
    pandas.DataFrame
        With the columns of `SENSITIVITY_COLUMNS`.
    """
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
