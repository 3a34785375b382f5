"""`sensitivity`: the score as a function of a controlled corruption of documents."""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import cached_property
from pathlib import Path
from typing import Any

import pandas as pd

from extractbench_nb._concurrency import progress_bar
from extractbench_nb._json import canonical, read_document
from extractbench_nb.display.text import fitted
from extractbench_nb.engine.inputs import refuse_non_json
from extractbench_nb.engine.profiles import Profile
from extractbench_nb.errors import InputError, nearest
from extractbench_nb.evaluation.api import evaluate
from extractbench_nb.evaluation.result import Evaluation
from extractbench_nb.judges.base import Judge
from extractbench_nb.schema.nodes import Schema
from extractbench_nb.schema.parse import parse_schema
from extractbench_nb.simulation.catalogue import CORRUPTIONS, Corruption, chosen
from extractbench_nb.simulation.corrupt import corrupted_copy
from extractbench_nb.simulation.readings import (
    Example,
    Key,
    PlainValues,
    Reading,
    Settings,
    Subject,
    read,
    subjects,
    table,
)
from extractbench_nb.simulation.tasks import Change, Draws, Pool, copied, pool_of
from extractbench_nb.stats.intervals import Drawing

__all__ = ["RATES", "Documents", "of_dataset", "of_pairs", "sensitivity"]


class _Sheet:
    """One schema: parsed, and read by each subject once."""

    def __init__(self, source: Any) -> None:
        self.schema: Schema = parse_schema(source)
        self._read: dict[Subject, Schema] = {}

    def under(self, subject: Subject) -> Schema:
        if subject not in self._read:
            self._read[subject] = subject.schema(self.schema)
        return self._read[subject]


class _Shelf:
    """Schemas by content; one that is given again as the same object is not even parsed."""

    def __init__(self) -> None:
        self._by_object: dict[int, tuple[Any, _Sheet]] = {}
        self._by_content: dict[str, _Sheet] = {}

    def sheet(self, source: Any) -> _Sheet:
        if id(source) not in self._by_object:
            sheet = _Sheet(source)
            sheet = self._by_content.setdefault(canonical(sheet.schema.document), sheet)
            self._by_object[id(source)] = (source, sheet)  # keeps the object, and so its id
        return self._by_object[id(source)][1]


class _Document:
    """One gold document, what it can lend to others, and who lends to it."""

    def __init__(self, name: str, sheet: _Sheet, gold: Any) -> None:
        self.name = name
        self.sheet = sheet
        self.gold = copied(gold)
        self.others: list[_Document] = []
        with _naming(name):
            refuse_non_json(self.gold)

    @cached_property
    def pool(self) -> Pool:
        return pool_of(self.sheet.schema.root, self.gold)

    def corrupted(
        self, corruption: Corruption, rate: float, settings: Settings, repeat: int = 0
    ) -> tuple[Any, list[Change]]:
        draws = Draws(f"{settings.seed}\x1f{self.name}\x1f{repeat}", rate)
        how = (settings.strength, [other.pool for other in self.others])
        return corrupted_copy(self.sheet.schema.root, self.gold, corruption, draws, how)

    def evaluated(self, predicted: Any, subject: Subject, settings: Settings) -> Evaluation:
        sides = [json.dumps(v) if isinstance(v, str) else v for v in (self.gold, predicted)]
        schema = self.sheet.under(subject)
        with _naming(self.name):
            return evaluate(schema, *sides, judge=settings.judge, profile=subject.profile)


@contextmanager
def _naming(document: str) -> Iterator[None]:
    """Say in an error of which document it is."""
    try:
        yield
    except InputError as error:
        raise InputError(f"document {document!r}: {error}") from None


class Documents:
    """Gold documents with their schemas; those of one schema lend values to each other.

    Parameters
    ----------
    documents : iterable of tuple of (str, object, object)
        Name, schema and gold value; the same schema may be given again and again.
    """

    def __init__(self, documents: Iterable[tuple[str, Any, Any]]) -> None:
        shelf = _Shelf()
        self.documents = {
            name: _Document(name, shelf.sheet(source), gold) for name, source, gold in documents
        }
        of_sheet: dict[_Sheet, list[_Document]] = defaultdict(list)
        for document in self.documents.values():
            of_sheet[document.sheet].append(document)
        for document in self.documents.values():
            document.others = [o for o in of_sheet[document.sheet] if o is not document]
        self._whole: dict[tuple[str, Subject], Reading | None] = {}

    def corruptions(self, wanted: list[Corruption] | None) -> list[Corruption]:
        """Return the corruptions of the user, or all."""
        return list(CORRUPTIONS.values()) if wanted is None else wanted

    @property
    def steps(self) -> Sequence[str]:
        """What is done one by one: the documents."""
        return list(self.documents)

    def readings(
        self, name: str, corruption: Corruption, settings: Settings
    ) -> Iterator[tuple[Subject, float, Reading]]:
        """Corrupt and evaluate one document at all rates."""
        document = self.documents[name]
        if not document.corrupted(corruption, 1.0, settings)[1]:
            return
        for rate in settings.rates:
            for repeat in range(settings.repeats if rate else 1):
                made, changes = document.corrupted(corruption, rate, settings, repeat)
                for subject in settings.subjects:
                    reading = self._reading(document, made, changes, subject, settings)
                    if reading is not None:
                        yield subject, rate, reading

    def _reading(
        self,
        document: _Document,
        made: Any,
        changes: list[Change],
        subject: Subject,
        settings: Settings,
    ) -> Reading | None:
        if not changes:
            return self._unchanged(document, subject, settings)
        ev = document.evaluated(made, subject, settings)
        reading = read(ev, subject, settings.measure, document.name)
        if reading is None:
            return None
        place, before, after = changes[0]
        example = Example(document.name, place.path, before, after)
        return reading._replace(changed=len(changes), example=example)

    def _unchanged(
        self, document: _Document, subject: Subject, settings: Settings
    ) -> Reading | None:
        """Read off gold against itself, once for each document and subject."""
        key = (document.name, subject)
        if key not in self._whole:
            ev = document.evaluated(document.gold, subject, settings)
            self._whole[key] = read(ev, subject, settings.measure, document.name)
        return self._whole[key]


def of_pairs(pairs: Iterable[tuple[Any, Any]]) -> Documents:
    """Take (schema, gold) pairs; the documents are called ``0``, ``1`` and so on."""
    return Documents(
        (str(i), schema, read_document(gold, "gold")) for i, (schema, gold) in enumerate(pairs)
    )


def of_dataset(dataset: Any, wanted: Iterable[str] | None) -> Documents:
    """Take the documents of a dataset."""
    frame = dataset.listing if hasattr(dataset, "listing") else dataset.documents
    schema_of: Mapping[str, str] = dict(zip(frame["document"], frame["schema"], strict=True))
    chosen = list(schema_of) if wanted is None else list(wanted)
    for name in chosen:
        if name not in schema_of:
            raise InputError(f"documents hold {name!r}; {nearest(name, schema_of)}")
    if not chosen:
        raise InputError("documents: none are left; expected one or more")
    sources = {schema: dataset.schema(schema) for schema in {schema_of[n] for n in chosen}}
    return Documents((n, sources[schema_of[n]], dataset.gold(n)) for n in chosen)


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
    """Score gold against copies of it that are corrupted at increasing rates.

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
        One row per metric or profile, corruption and rate: metric, profile, measure, corruption,
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
