"""View models of the workbench: its figures, and the curve."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from extractbench_nb.report.texts import document_json, single_line
from extractbench_nb.widgets.workbench.bench import GAINED, LOST, Baseline, Bench
from extractbench_nb.widgets.workbench.curves import MEASURES
from extractbench_nb.widgets.workbench.scores import Verdicts

__all__ = [
    "Curve",
    "Fact",
    "config_model",
    "config_text",
    "curve_model",
    "facts",
    "number_text",
    "summary_model",
]


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
    """Return the metric and the baseline in words, and the figures.

    Parameters
    ----------
    bench : Bench
        The workbench.

    Returns
    -------
    dict
        ``rules``, ``baseline``, ``facts``.
    """
    return {
        "rules": single_line(bench.rules, _LONGEST_RULES),
        "baseline": single_line(bench.baseline.rules, _LONGEST_RULES),
        "facts": facts(bench),
    }


def facts(bench: Bench) -> list[Fact]:
    """Sum up the verdicts, with those of the baseline beside them.

    Parameters
    ----------
    bench : Bench
        The workbench.

    Returns
    -------
    list of Fact
        Passing, mean score, flips; errors and agreement where there are any.
    """
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
    """Return the ``evaluation_config`` to copy, and what there is to say about the params.

    Parameters
    ----------
    config : dict
        The config.
    others : sequence of str
        Params that have no control.
    controls : bool
        Whether any param has one.

    Returns
    -------
    dict
        ``text``, empty where it is too long for a page, and ``note``.
    """
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
    """Return the curve as it is drawn.

    Parameters
    ----------
    bench : Bench
        The workbench.
    over : str
        One of ``bench.curves``.

    Returns
    -------
    Curve
        The pass rate; with labels accuracy, precision, recall and kappa too.
    """
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
