"""`sensitivity`: the score as a function of a controlled corruption."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import pandas as pd

from extractbench_nb._progress import progress_bar
from extractbench_nb.errors import InputError
from extractbench_nb.extraction.catalogue import chosen
from extractbench_nb.judges.base import Judge
from extractbench_nb.profiles import Profile
from extractbench_nb.report.texts import fitted
from extractbench_nb.schema import Schema
from extractbench_nb.sensitivity.documents import Documents, of_dataset, of_pairs
from extractbench_nb.sensitivity.plain import PlainValues
from extractbench_nb.sensitivity.readings import Key, Reading, table
from extractbench_nb.sensitivity.settings import Settings
from extractbench_nb.sensitivity.subjects import subjects
from extractbench_nb.stats.drawing import Drawing

__all__ = ["RATES", "sensitivity"]

RATES = (0.0, 0.1, 0.3, 0.6, 1.0)

_PAIR, _RESAMPLES = 2, 1999
_WIDEST = 120


def sensitivity(  # noqa: PLR0913 - one flat call is what users write; the options are keywords
    metric_or_profile: str | Profile | Callable[..., Any] | Mapping[str, Any] | Sequence[Any],
    data: Any,
    corruption: str | Iterable[str] | None = None,
    rates: Sequence[float] = RATES,
    *,
    measure: str = "overall_score",
    profile: str | Profile = "strict",
    documents: Iterable[str] | None = None,
    strength: float = 0.3,
    repeats: int = 3,
    judge: str | Judge = "offline",
    confidence: float = 0.95,
    seed: int = 0,
    progress: bool = False,
) -> pd.DataFrame:
    """Score gold against copies of it that were corrupted on purpose, more and more.

    A score should stay high where a corruption keeps the meaning, and fall where it changes it.

    Parameters
    ----------
    metric_or_profile : str, Profile, callable, dict or sequence
        A profile's name: documents are scored as their schemas declare. The name of a metric or
        preset, a function registered with `metric`, or an ``evaluation_config`` with params: it is
        put on every field of a type that it is meant for, but not on fields that are skipped, and
        all other fields stay as they are declared. (On plain values it is put whatever their type.)
        Or several of all these.
    data : Dataset, or iterable of (schema, gold), or iterable of str, int or float
        Documents: a dataset, or pairs of schema and gold as `evaluate` takes them. Or plain gold
        values, such as a column of texts; null and empty ones are left out, equal ones count once.
    corruption : str or iterable of str, optional
        Names that `corruptions` lists; all that apply by default. For plain values: those of texts
        and numbers.
    rates : sequence of float, optional
        In [0, 1]. In documents the probability that a place is corrupted; at 0 gold meets itself.
        Each plain value is corrupted, and the rate is the share of its words, letters, digits or
        units that change, at least one.
    measure : str, optional
        The entry of ``Evaluation.summary`` that is the score of a profile: overall_score,
        field_score, pass_rate, pass_rate_judged or gold_coverage. A metric's score is the mean over
        the fields that it scores, items of arrays included.
    profile : str or Profile, optional
        The rules for metrics. Under ``"strict"`` the fields of missed and spurious items count.
    documents : iterable of str, optional
        Ids, to take only these of a dataset.
    strength : float, optional
        How much of a value in a document changes, above 0 and up to 1; at least one word, letter or
        digit.
    repeats : int, optional
        How many corrupted copies of each document or value, 1 and up.
    judge : str or Judge, optional
        See `evaluate`.
    confidence : float, optional
        Of the intervals, between 0 and 1.
    seed : int, optional
        The same seed gives the same corruptions, whatever is scored. What is corrupted at one rate
        is corrupted at every higher one, so that a curve moves by the rate alone.
    progress : bool, optional
        Whether to show a progress bar.

    Returns
    -------
    pandas.DataFrame
        One row a metric or profile, corruption and rate: metric, profile, measure, corruption,
        meaning, rate, n, changed, score, low, high, interval, lowest, pass_rate, errors, and an
        example of the lowest score: document, path, gold, corrupted. ``n`` counts the documents or
        values in which there is something to corrupt; score and interval are over these, the mean
        of the repeats standing for each.

    Raises
    ------
    InputError
        Data, a name or a number cannot be used.
    SchemaError, ConfigError
        A schema cannot be read, or a metric is not known.

    Notes
    -----
    This is how the GriTS paper validates its metrics [1]_: keep each part with probability x, and
    see that the score follows x. Where each item is dropped with probability r, an array's recall
    is expected to be 1 - r, its precision 1 and its F1 about 2 (1 - r) / (2 - r). The interval is a
    bootstrap over documents (BCa, 1,999 resamples). Below some ten documents it is too narrow, and
    of one there is none.

    References
    ----------
    .. [1] B. Smock, R. Pesala, R. Abraham, Towards a universal dataset and metrics for training and
       evaluating table extraction models (2021), Figure 6.

    Examples
    --------
    >>> found = sensitivity("string_fuzzy", ["Northwind Paper, Inc.", "Acme Envelopes Ltd"])
    >>> by_name = found.groupby("corruption")["score"].mean()
    >>> bool(by_name["case"] > by_name["truncation"])
    True
    >>> schema = {"type": "array", "items": {"type": "string"}}
    >>> gold = [f"street {n}" for n in range(200)]
    >>> sensitivity("paper", [(schema, gold)], "drop_items", [0, 0.5, 1])["score"].round(1).tolist()
    [1.0, 0.5, 0.0]
    """
    tried = subjects(metric_or_profile, profile)
    settings = Settings(tried, _distinct(rates), measure, strength, repeats, judge, seed)
    drawing = Drawing(confidence, _RESAMPLES, seed)
    material = _material(data, documents)
    what = material.corruptions(None if corruption is None else chosen(corruption))
    readings: dict[Key, list[Reading]] = {
        Key(subject, one, rate): [] for subject in tried for one in what for rate in settings.rates
    }
    steps = [(one, step) for one in what for step in material.steps]
    for one, step in progress_bar(steps, shown=progress, desc="corrupting"):
        for subject, rate, reading in material.readings(step, one, settings):
            readings[Key(subject, one, rate)].append(reading)
    return table(readings, measure, drawing)


def _distinct(rates: Any) -> list[float]:
    if isinstance(rates, str) or not isinstance(rates, Iterable):
        raise InputError(f"rates={rates!r}; expected a list of numbers from 0 to 1")
    return list(dict.fromkeys(rates))


def _material(data: Any, documents: Iterable[str] | None) -> Documents | PlainValues:
    if callable(getattr(data, "gold", None)) and callable(getattr(data, "schema", None)):
        return of_dataset(data, documents)
    if documents is not None:
        raise InputError("documents= goes with a dataset, and data is none")
    single = isinstance(data, str | bytes | Mapping | Schema | pd.DataFrame)
    if single or not isinstance(data, Iterable):
        raise InputError(
            f"data is {fitted(repr(data), _WIDEST)}; expected a dataset, a list of (schema, gold) "
            "or a list of values"
        )
    found = list(data)
    if len(found) == _PAIR and isinstance(found[0], Mapping | Schema | Path):
        raise InputError("data is one (schema, gold) pair; put the pair in a list")
    if found and all(isinstance(one, tuple) and len(one) == _PAIR for one in found):
        return of_pairs(found)
    return PlainValues(found)
