"""Trials of metrics on labelled pairs: which pairs pass by each setting, and cross-validation."""

from __future__ import annotations

from itertools import product
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import pandas as pd

from extractbench_nb.core import REGISTRY, Metric, evaluate
from extractbench_nb.core.text import Judge
from extractbench_nb.core.values import json_type

Flags = npt.NDArray[np.bool_]

#: Thresholds that are tried, and multiples of other numbers, such as a tolerance.
_MARKS, _FACTORS = [n / 100 for n in range(101)], (1, 5, 10, 50, 100)


def _candidates(kinds: set[str]) -> list[Metric]:
    """Return the registered metrics for values of these types, the simplest first."""
    kind = kinds.pop() if len(kinds) == 1 else "string"  # others are compared as text
    entries = [
        entry
        for entry in REGISTRY.entries.values()
        if not (entry.skips or entry.is_for_arrays)
        and (kind in entry.named_types or not (entry.named_types or entry.judged))
    ]
    return sorted(entries, key=lambda entry: (entry.judged, entry.threshold is not None))


def _settings(entry: Metric) -> list[dict[str, Any]]:
    """Return the params to score with, the declared ones first; a threshold needs one score."""
    values = {
        p.name: p.choices or [p.default * factor for factor in _FACTORS]
        for p in entry.params
        if entry.threshold is None
        and (p.choices or (p.kind == "number" and p.default and not p.is_whole))
    }
    grid = (dict(zip(values, found, strict=True)) for found in product(*values.values()))
    changed = [{n: v for n, v in params.items() if v != entry.defaults[n]} for params in grid]
    return sorted(changed, key=len)


class Trial(NamedTuple):
    """A metric with its settings, the declared one first, and which pairs pass by each."""

    metric: str
    settings: list[dict[str, Any]]
    passed: Flags

    def cross_validated(self, label: Flags, folds: npt.NDArray[np.int64]) -> Flags:
        """Return the verdicts on each fold by the setting that is best on the others."""
        agrees, verdicts = self.passed == label, np.zeros(len(label), dtype=bool)
        for fold in np.unique(folds):
            best = agrees[:, folds != fold].sum(axis=1).argmax()
            verdicts[folds == fold] = self.passed[best, folds == fold]
        return verdicts

    def config(self, label: Flags) -> dict[str, Any]:
        """Return the ``evaluation_config`` of the setting that is best on all labels."""
        params = self.settings[(self.passed == label).sum(axis=1).argmax()]
        return {"metric_id": self.metric, **({"params": params} if params else {})}


def scored_pairs(rows: pd.DataFrame, judge: str | Judge) -> tuple[pd.DataFrame, list[Trial]]:
    """Score all pairs by all settings at once; leave out what is decided before any metric."""
    entries = _candidates({json_type(value) for value in rows["gold"].tolist()})
    settings = [(entry, params) for entry in entries for params in _settings(entry)]
    config = {"metrics": [{"metric_id": e.name, "params": p} for e, p in settings]}
    sides = [{f"c{n}": v for n, v in enumerate(rows[s].tolist())} for s in ("gold", "predicted")]
    properties = {
        name: {"type": json_type(value), "evaluation_config": config}
        for name, value in sides[0].items()
    }
    schema = {"type": "object", "properties": properties}
    fields = evaluate(schema, *sides, judge=judge).fields
    is_asked = fields["outcome"].isin(("correct", "incorrect", "judge_error"))
    usable = is_asked.groupby(fields["path"], sort=False).all().to_numpy(bool)
    rows, fields = rows[usable], fields[is_asked]
    label = rows["label"].to_numpy(bool)
    shape = len(rows), len(settings)
    scores = fields["score"].astype("Float64").to_numpy(float, na_value=np.nan).reshape(shape).T
    passed = fields["passed"].astype("boolean").to_numpy(bool, na_value=False).reshape(shape).T
    passed = np.where(np.isnan(scores), ~label, passed)  # without a verdict: never right
    trials = []
    for entry in entries:
        places = [n for n, (e, _) in enumerate(settings) if e is entry]
        params, found = [settings[n][1] for n in places], passed[places]
        name, score, mark = entry.threshold, scores[places[0]], entry.pass_mark({})
        if name and (found[0] == (score >= mark))[~np.isnan(score)].all():
            marks = sorted({mark, *_MARKS}, key=lambda m: abs(m - mark))
            params = [{name: m} for m in marks]
            found = np.where(np.isnan(score), ~label, score >= np.array(marks)[:, None])
        trials.append(Trial(entry.name, params, found))
    return rows, trials
