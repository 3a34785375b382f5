"""A metric's params over cases, verdicts beside a baseline's, and what of it is shown."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from extractbench_nb._frames import Column, FrameSpec
from extractbench_nb.display.text import document_json, single_line
from extractbench_nb.engine.profiles import Profile
from extractbench_nb.errors import InputError
from extractbench_nb.judges.base import Judge
from extractbench_nb.widgets.workbench_cases import Cases, CaseScorer, Verdicts, present
from extractbench_nb.widgets.workbench_metric import (
    MEASURES,
    Grid,
    Tuned,
    Tuning,
    at_marks,
    curve_frame,
    rules_text,
    stops,
)

__all__ = [
    "GAINED",
    "LOST",
    "RESULT_COLUMNS",
    "SCORE",
    "Baseline",
    "Bench",
    "Curve",
    "Fact",
    "config_model",
    "config_text",
    "curve_model",
    "facts",
    "number_text",
    "summary_model",
]


GAINED, LOST = "gained", "lost"
#: What the curve is over where no param decides: the score itself.
SCORE = "score"
#: Steps of a curve for each of which all cases are scored.
_TRIED = 20
#: Cases that are scored at all those steps without being asked.
_SOON = 2000

RESULT_COLUMNS = FrameSpec(
    "results",
    "one row a case",
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

    Parameters
    ----------
    metric : str, callable or mapping
        See `Tuning`.
    cases : Cases
        The pairs.
    baseline : str, callable, mapping or None, optional
        Another metric; None: this one as it is at the start.
    judge : str or Judge, optional
        See `evaluate`.
    profile : str or Profile, optional
        See `evaluate`.
    """

    def __init__(
        self,
        metric: Any,
        cases: Cases,
        *,
        baseline: Any = None,
        judge: str | Judge = "offline",
        profile: str | Profile = "paper",
    ) -> None:
        self._metric = metric
        self.cases = cases
        self.tuning = Tuning(metric)
        if callable(metric):
            self._metric = self.tuning.name  # the function may be redefined
        self._scorer = CaseScorer(cases, judge, profile)
        self.params = dict(self.tuning.start)
        self.baseline = self._baseline(Tuning(metric if baseline is None else baseline))

    def _baseline(self, tuning: Tuning, params: Mapping[str, Any] | None = None) -> Baseline:
        values = tuning.start if params is None else params
        same = tuning.name == self.tuning.name
        mark = values.get(tuning.threshold) if same and tuning.threshold else None
        found = self._scorer.verdicts(tuning.config(values))
        return Baseline(rules_text(tuning.name, values), mark, found)

    # --- what can be changed ----------------------------------------------------------------

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

    # --- what can be seen -------------------------------------------------------------------

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
                "score": _scores(now),
                "passed": _passed(now),
                "outcome": now.outcome,
                "reason": now.reason,
                "baseline_score": _scores(then),
                "baseline_passed": _passed(then),
                "flip": [words[flip] for flip in self.flips().tolist()],
                "expected": [case.expected for case in rows],
                "error": [now.error(at) for at in range(len(rows))],
            }
        )
        more = self.cases.more.drop(columns=RESULT_COLUMNS.names, errors="ignore")
        return pd.concat([more, frame], axis=1)

    # --- the curve --------------------------------------------------------------------------

    @property
    def curves(self) -> list[str]:
        """What a curve can be drawn over: the threshold or the score first, then other numbers."""
        numbers = [key for key, tuned in self.tuning.params.items() if self._is_number(tuned)]
        return [self.tuning.threshold or SCORE, *numbers]

    def _is_number(self, tuned: Tuned) -> bool:
        number = tuned.param.kind == "number" and not tuned.param.choices
        return number and tuned.key in self.params and tuned.key != self.tuning.threshold

    @property
    def first_curve(self) -> str:
        """What to draw at first: a margin says more than a score that is 0 or 1."""
        known = self.curves
        plain = self.tuning.threshold is None and self.tuning.own and len(self.cases) <= _SOON
        return known[1] if plain and len(known) > 1 else known[0]

    def curve(self, over: str) -> pd.DataFrame:
        """Return how many cases pass at each value of a param."""
        expected = [case.expected for case in self.cases.rows]
        values = self.curve_values(over)
        if over == (self.tuning.threshold or SCORE):
            grid = at_marks(self.verdicts, self.tuning.mark(self.params), values)
        else:
            grid = self._at_values(over, values)
        return curve_frame(over, values, grid, expected)

    def curve_values(self, over: str) -> list[float]:
        """Return the values of a curve, in order."""
        if over == SCORE and over not in self.tuning.params:
            return [n / 100 for n in range(101)]
        param, now = self.tuning.params[over].param, self.params.get(over)
        if over != self.tuning.threshold:
            return stops(param, now, parts=_TRIED)
        then = self.baseline.threshold
        return sorted({*stops(param, now), *([] if then is None else [then])})

    def _at_values(self, over: str, values: list[float]) -> Grid:
        found = [
            self._scorer.verdicts(
                self.tuning.config(self.params | self.tuning.checked({over: value}))
            )
            for value in values
        ]
        return Grid(np.array([f.passed for f in found]), np.array([f.decided for f in found]))


def _scores(found: Verdicts) -> list[float | None]:
    return [None if np.isnan(score) else score for score in found.score.tolist()]


def _passed(found: Verdicts) -> list[bool | None]:
    pairs = zip(found.passed.tolist(), found.decided.tolist(), strict=True)
    return [passed if decided else None for passed, decided in pairs]


_LONGEST_RULES, _LONGEST_NOTE, _LONGEST_CONFIG = 400, 120, 20_000
#: Values of which each is named on the axis.
_FEW = 40
#: Largest step of values that stand where they belong, as a share of the axis.
_EVEN = 0.0501


class Fact(NamedTuple):
    """A figure of the summary: as it is, the baseline's, and what there is to add."""

    name: str
    value: str
    baseline: str = ""
    note: str = ""


class Curve(NamedTuple):
    """The curve: its values, in words too, where each stands from 0 to 1, and a line a measure.

    ``ticks`` are the places that are named on the axis, ``at`` is that of now and ``baseline`` that
    of the baseline; None where there is no such value.
    """

    over: str
    values: list[float]
    texts: list[str]
    places: list[float]
    ticks: list[int]
    passing: list[int]
    cases: int
    lines: list[tuple[str, list[float | None]]]
    at: int | None
    baseline: int | None
    settable: bool
    best: str


def number_text(value: float) -> str:
    """Write a value of a param, without digits that say nothing."""
    return f"{value:.6g}"


# --- the summary ---------------------------------------------------------------------------


def summary_model(bench: Bench) -> dict[str, Any]:
    """Return the metric and the baseline in words, and the figures."""
    return {
        "rules": single_line(bench.rules, _LONGEST_RULES),
        "baseline": single_line(bench.baseline.rules, _LONGEST_RULES),
        "facts": facts(bench),
    }


def facts(bench: Bench) -> list[Fact]:
    """Sum up the verdicts, with those of the baseline beside them."""
    now, then, cases = bench.verdicts, bench.baseline.verdicts, len(bench.cases)
    flips = bench.flips()
    gained, lost = int((flips > 0).sum()), int((flips < 0).sum())
    found = [
        Fact("Passing", *map(_share, (now, then))),
        Fact("Mean score", *map(_mean, (now, then))),
        Fact("Flips", f"{gained + lost:,}", "", f"{gained:,} {GAINED}, {lost:,} {LOST}"),
    ]
    errors = cases - int(now.decided.sum())
    if errors:
        found.append(Fact("Without a verdict", f"{errors:,}"))
    if bench.cases.labelled:
        found.append(Fact("As expected", *(_agreement(bench, v) for v in (now, then))))
    return found


def _share(found: Verdicts) -> str:
    cases, passing = len(found.passed), int(found.passed.sum())
    return f"{passing:,} of {cases:,}" + (f" · {passing / cases:.1%}" if cases else "")


def _mean(found: Verdicts) -> str:
    known = found.score[~np.isnan(found.score)]
    return f"{known.mean():.3f}" if len(known) else "n/a"


def _agreement(bench: Bench, found: Verdicts) -> str:
    labels = [case.expected for case in bench.cases.rows]
    pairs = [
        bool(passed) == label
        for passed, decided, label in zip(found.passed, found.decided, labels, strict=True)
        if decided and label is not None
    ]
    return f"{sum(pairs):,} of {len(pairs):,}" + (f" · {np.mean(pairs):.1%}" if pairs else "")


def config_model(config: Any, others: Sequence[str], controls: bool) -> dict[str, str]:
    """Return the ``evaluation_config`` to copy, and what there is to say about the params."""
    text = config_text(config)
    if len(text) > _LONGEST_CONFIG:
        return {"text": "", "note": "Too long to be shown: use the attribute config."}
    note = "" if controls else "This metric has no params."
    if others:
        note = single_line(f"No control, set in Python: {', '.join(others)}", _LONGEST_NOTE)
    return {"text": text, "note": note}


def config_text(config: Any) -> str:
    """Write an ``evaluation_config`` as JSON, to be pasted in a schema."""
    return json.dumps(document_json(config), indent=2)


# --- the curve -----------------------------------------------------------------------------


def curve_model(bench: Bench, over: str) -> Curve:
    """Return the curve as it is drawn."""
    frame = bench.curve(over)
    values = frame["threshold"].tolist()
    shown = ["pass_rate", *(MEASURES if bench.cases.labelled else ())]
    settable = over in bench.tuning.params
    places = _places(values)
    return Curve(
        over,
        values,
        [number_text(value) for value in values],
        places,
        _ticks(places),
        frame["passing"].tolist(),
        len(bench.cases),
        [(_line_name(name, settable), _rounded(frame[name])) for name in shown],
        _place(values, bench.params.get(over)) if settable else None,
        _place(values, _baseline_value(bench.baseline, over, bench)),
        settable,
        _best(frame) if bench.cases.labelled else "",
    )


def _line_name(name: str, settable: bool) -> str:
    if name == "pass_rate" and not settable:
        return "cases with this score or more"
    return name.replace("_", " ")


def _baseline_value(baseline: Baseline, over: str, bench: Bench) -> float | None:
    return baseline.threshold if over == bench.tuning.threshold else None


def _rounded(column: pd.Series) -> list[float | None]:
    return [None if pd.isna(value) else round(float(value), 4) for value in column]


def _places(values: Sequence[float]) -> list[float]:
    """Put values between two bounds where they belong, and a series of 1, 2, 5 evenly."""
    low, high = values[0], values[-1]
    steps = np.diff(values)
    if high > low and steps.max() <= _EVEN * (high - low):
        return [round((value - low) / (high - low), 4) for value in values]
    return [round(at / max(1, len(values) - 1), 4) for at in range(len(values))]


def _ticks(places: Sequence[float]) -> list[int]:
    """Return those of many values that stand at a tenth of the axis; all of few."""
    if len(places) <= _FEW:
        return list(range(len(places)))
    return [at for at, place in enumerate(places) if round(10 * place, 3).is_integer()]


def _place(values: Sequence[float], value: float | None) -> int | None:
    if value is None or not np.isfinite(value):
        return None
    return int(np.argmin(np.abs(np.array(values) - value)))


def _best(frame: pd.DataFrame) -> str:
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
