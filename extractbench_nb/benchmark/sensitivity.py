"""`sensitivity`: what a metric says about values that were corrupted on purpose."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, NamedTuple

import pandas as pd

from extractbench_nb._frames import Column, FrameSpec
from extractbench_nb.benchmark.corruptions import CORRUPTIONS, Corruption, corrupt
from extractbench_nb.errors import InputError, nearest
from extractbench_nb.evaluation import evaluate
from extractbench_nb.judges.base import Judge
from extractbench_nb.metrics import REGISTRY

__all__ = ["SENSITIVITY_COLUMNS", "sensitivity"]

STRENGTHS = (0.1, 0.3, 0.6)
_LARGEST = 1e300  # a million times as much is still a number

SENSITIVITY_COLUMNS = FrameSpec(
    "sensitivity",
    "one row a metric, corruption and strength",
    (
        Column("metric", "string", "metric or preset"),
        Column("corruption", "string", "what was done to the values"),
        Column("meaning", "string", "what becomes of the meaning", "kept, unclear, changed"),
        Column("strength", "float64", "share of words, letters, digits or units", "(0, 1]"),
        Column("values", "int64", "corrupted values; others have nothing to corrupt", "0 and up"),
        Column("score", "Float64", "mean score; missing without values", "[0, 1]", True),
        Column("lowest", "Float64", "lowest score", "[0, 1]", True),
        Column("pass_rate", "Float64", "share that still passes", "[0, 1]", True),
        Column("errors", "int64", "values for which the metric gave no verdict", "0 to values"),
        Column("gold", "object", "an example: the value", "", True),
        Column("corrupted", "object", "an example: what became of it", "", True),
    ),
)


class _Case(NamedTuple):
    gold: Any
    corrupted: Any


def sensitivity(  # noqa: PLR0913 - one flat call is what users write; the options are keywords
    metric: str | Callable[..., Any] | Mapping[str, Any] | Sequence[Any],
    values: Iterable[Any],
    *,
    strengths: Sequence[float] = STRENGTHS,
    corruptions: Iterable[str] | None = None,
    repeats: int = 3,
    judge: str | Judge = "offline",
    seed: int = 0,
) -> pd.DataFrame:
    """Score values against corrupted copies of themselves.

    A metric should stay high where a corruption keeps the meaning, and fall where it changes it.

    Parameters
    ----------
    metric : str, callable, dict or sequence
        Name of a metric or preset, a function registered with `metric`, an ``evaluation_config``
        with params, or several of them.
    values : iterable of str, int or float
        Gold values, such as a column of gold texts. Null and repeated ones count once or not at
        all; texts get the corruptions of texts, numbers those of numbers.
    strengths : sequence of float, optional
        How much of a value is corrupted, above 0 and up to 1; at least one word, letter or digit.
    corruptions : iterable of str, optional
        Names: whitespace, case, word_order, typo, dropped_word, truncation, changed_digit, unit,
        rounding, sign. All that apply by default.
    repeats : int, optional
        How many corrupted copies of each value, 1 and up.
    judge : str or Judge, optional
        See `evaluate`; decides judged metrics.
    seed : int, optional
        The same seed gives the same corruptions, whatever the metric.

    Returns
    -------
    pandas.DataFrame
        One row a metric, corruption and strength: metric, corruption, meaning, strength, values,
        score, lowest, pass_rate, errors, gold, corrupted (an example with the lowest score).

    Raises
    ------
    InputError
        A value is neither text nor number, there are none, or an option is out of range.
    ConfigError
        The metric is not known.

    Notes
    -----
    Two metrics get the same corrupted values. Scores come from `evaluate`, so that errors and
    metrics that are awaited are treated as they are there.

    Examples
    --------
    >>> found = sensitivity("string_fuzzy", ["Northwind Paper, Inc.", "Acme Envelopes Ltd"])
    >>> by_name = found.groupby("corruption")["score"].mean()
    >>> bool(by_name["case"] > by_name["truncation"])
    True
    >>> numbers = sensitivity("number_tolerance", [1240.5], corruptions=["unit", "rounding"])
    >>> numbers[["corruption", "strength", "score"]].values.tolist()[-1]
    ['unit', 0.6, 0.0]
    """
    golds = _values(values)
    _check(strengths, repeats)
    chosen = _chosen(corruptions, golds)
    grid = [(c, s) for c in _merged(chosen) for s in strengths]
    cases = {
        (name, strength): _cases(chosen, name, golds, (strength, repeats, seed))
        for (name, _), strength in grid
    }
    rows = []
    for name, config in map(_named, _several(metric)):
        for (corruption, meaning), strength in grid:
            found = _scored(config, cases[corruption, strength], judge)
            rows.append((name, corruption, meaning, strength, *found))
    return SENSITIVITY_COLUMNS.build(
        dict(zip(SENSITIVITY_COLUMNS.names, zip(*rows, strict=True), strict=True))
    )


def _kind(value: object) -> str:
    return "string" if isinstance(value, str) else "number"


def _values(values: Iterable[Any]) -> list[Any]:
    if isinstance(values, str):
        raise InputError(f"values={values!r}; expected a list of values, found one text")
    present = [v.item() if hasattr(v, "item") else v for v in values]
    present = [v for v in present if v is not None and v is not pd.NA and v == v]  # noqa: PLR0124
    for value in present:
        if isinstance(value, bool) or not isinstance(value, str | int | float):
            raise InputError(f"values hold {value!r}; expected texts and numbers")
        if not isinstance(value, str) and abs(value) > _LARGEST:
            raise InputError(f"values hold {value!r}; expected numbers up to {_LARGEST:g}")
    found = list({(_kind(v), v): v for v in present if v != ""}.values())
    if not found:
        raise InputError("values: found no text and no number to corrupt")
    return found


def _check(strengths: Sequence[float], repeats: int) -> None:
    if not strengths or not all(0 < s <= 1 for s in strengths):
        raise InputError(f"strengths={list(strengths)!r}; expected numbers above 0 and up to 1")
    if repeats < 1:
        raise InputError(f"repeats={repeats!r}; expected 1 or more")


def _chosen(names: Iterable[str] | None, golds: list[Any]) -> list[Corruption]:
    kinds = {_kind(value) for value in golds}
    known = list(dict.fromkeys(c.name for c in CORRUPTIONS))
    wanted = known if names is None else list(names)
    for name in wanted:
        if name not in known:
            raise InputError(f"corruptions hold {name!r}; {nearest(name, known)}")
    return [c for c in CORRUPTIONS if c.name in wanted and c.kind in kinds]


def _merged(chosen: list[Corruption]) -> list[tuple[str, str]]:
    return list(dict.fromkeys((c.name, c.meaning) for c in chosen))


def _cases(
    chosen: list[Corruption], name: str, golds: list[Any], draw: tuple[float, int, int]
) -> list[_Case]:
    strength, repeats, seed = draw
    by_kind = {c.kind: c for c in chosen if c.name == name}
    cases: list[_Case] = []
    for gold in golds:
        corruption = by_kind.get(_kind(gold))
        if corruption is None:
            continue
        made = [
            corrupt(corruption, gold, strength, f"{seed}/{name}/{gold!r}/{n}")
            for n in range(repeats)
        ]
        cases.extend(_Case(gold, c) for c in dict.fromkeys(made) if c is not None)
    return cases


def _several(metric: Any) -> list[Any]:
    several = isinstance(metric, Sequence) and not isinstance(metric, str)
    return list(metric) if several else [metric]


def _named(metric: Any) -> tuple[str, Any]:
    """Return a metric's name, and what to write in an ``evaluation_config``."""
    if isinstance(metric, Mapping):
        return str(metric.get("metric_id", dict(metric))), dict(metric)
    if not callable(metric):
        return str(metric), metric
    for entry in REGISTRY.entries.values():
        if entry.function is metric:
            return entry.name, entry.name
    raise InputError(f"{metric!r} is not registered; decorate it with @metric")


def _scored(config: Any, cases: list[_Case], judge: str | Judge) -> tuple[Any, ...]:
    if not cases:
        return 0, None, None, None, 0, None, None
    names = [str(n) for n in range(len(cases))]
    properties = {
        name: {"type": _kind(case.gold), "evaluation_config": config}
        for name, case in zip(names, cases, strict=True)
    }
    gold, predicted = (dict(zip(names, side, strict=True)) for side in zip(*cases, strict=True))
    schema = {"type": "object", "properties": properties}
    return _measured(evaluate(schema, gold, predicted, judge=judge).fields, cases)


def _measured(fields: pd.DataFrame, cases: list[_Case]) -> tuple[Any, ...]:
    """Summarise the rows of all cases; one without a verdict does not pass."""
    verdicts = fields.assign(passed=fields["passed"].fillna(False).astype(float))
    by_case = verdicts.groupby("path", sort=False)
    scores = by_case["score"].mean()
    judged = scores.dropna()
    mean, lowest = (judged.mean(), judged.min()) if len(judged) else (None, None)
    example = cases[int(scores.fillna(math.inf).to_numpy().argmin())]
    errors = len(scores) - len(judged)
    return len(cases), mean, lowest, float(by_case["passed"].min().mean()), errors, *example
