"""`sensitivity`: the score as a function of a controlled corruption of documents or values."""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from statistics import fmean
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from extractbench_nb.core import PROFILES, REGISTRY, Profile, evaluate, refuse_non_json
from extractbench_nb.core.frames import Column, FrameSpec, as_pandas
from extractbench_nb.core.schema import (
    PRESETS,
    Node,
    NodeConfig,
    Schema,
    parse_config,
    parse_schema,
)
from extractbench_nb.core.text import Judge
from extractbench_nb.core.values import canonical, read_document
from extractbench_nb.errors import ConfigError, InputError, nearest
from extractbench_nb.simulation.catalogue import (
    CORRUPTIONS,
    LARGEST,
    Corruption,
    chosen,
    corrupt,
    kind_of,
    kinds,
)
from extractbench_nb.simulation.corrupt import check_share, corrupt_one_way
from extractbench_nb.simulation.documents import Change, Document, Pool, copied, pool_of
from extractbench_nb.stats import Drawing, mean_intervals
from extractbench_nb.support.concurrency import progress_bar
from extractbench_nb.support.wording import fitted

RATES = (0.0, 0.1, 0.3, 0.6, 1.0)
_PAIR, _RESAMPLES, _WIDEST = 2, 1999, 120
#: Entries of the summary that can be the score of a profile.
_MEASURES = ("pass_rate", "overall_score", "field_score", "pass_rate_judged", "gold_coverage")

SENSITIVITY_COLUMNS = FrameSpec(
    "sensitivity",
    "one row per metric or profile, corruption and rate",
    (
        Column("metric", "string", "metric or preset; missing: as the schema declares", "", True),
        Column("profile", "string", "rules of the evaluation"),
        Column("measure", "string", "what the score is: an entry of the summary, or field mean"),
        Column("corruption", "string", "what was done"),
        Column("meaning", "string", "whether the meaning is kept", "kept, unclear, changed"),
        Column("rate", "float64", "probability of each place; of a value: share", "[0, 1]"),
        Column("n", "int64", "documents or values that can be corrupted"),
        Column("changed", "Float64", "places that were changed, mean over n", "0 and up", True),
        Column("score", "Float64", "mean over n; missing if nothing was scored", "[0, 1]", True),
        Column("low", "Float64", "lower end of the interval over documents", "[0, 1]", True),
        Column("high", "Float64", "upper end", "[0, 1]", True),
        Column("interval", "string", "how it was made", "BCa, percentile, all equal, none"),
        Column("lowest", "Float64", "lowest score of a document or value", "[0, 1]", True),
        Column("pass_rate", "Float64", "share that passes, mean over n", "[0, 1]", True),
        Column("errors", "int64", "scores without a verdict, all repeats", "0 and up"),
        Column("document", "string", "an example, of the lowest score: where", "", True),
        Column("path", "string", "the example: path in gold", "", True),
        Column("gold", "object", "the example: gold's value", "", True),
        Column("corrupted", "object", "the example: the corrupted value", "", True),
    ),
)


class _Reading(NamedTuple):
    """The result of one corrupted document or value (the unit), with one change as an example."""

    unit: str
    score: float | None
    passed: float
    errors: int
    changed: int = 0
    document: str | None = None
    path: str | None = None
    gold: Any = None
    corrupted: Any = None


class _Settings(NamedTuple):
    """The options that evaluations need; the corruptions of values and documents too."""

    subjects: Sequence[_Subject]
    rates: Sequence[float]
    measure: str
    strength: float
    repeats: int
    judge: str | Judge
    seed: int

    def copies(self) -> Iterator[tuple[float, int]]:
        """Yield rate and number of each corrupted copy; rate 0 needs one copy."""
        for rate in self.rates:
            yield from ((rate, repeat) for repeat in range(self.repeats if rate else 1))


#: Readings with the subject and the rate that they are of.
_Readings = Iterator[tuple["_Subject", float, _Reading]]


def sensitivity(  # noqa: PLR0913 - one flat call is what users write; the options are keywords
    metric_or_profile: str | Profile | Callable[..., Any] | Mapping[str, Any] | Sequence[Any],
    data: Any,
    corruption: str | Iterable[str] | None = None,
    rates: Sequence[float] = RATES,
    *,
    measure: str = "pass_rate",
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

    A score should stay high if a corruption keeps the meaning, and fall if it changes the meaning.

    Parameters
    ----------
    metric_or_profile : str, Profile, callable, dict or sequence
        What is tested. A profile, or its name: documents are scored as their schemas declare. A
        metric, that is, the name of a metric or preset, a function registered with `metric`, or an
        ``evaluation_config``: it scores every field of a type that it applies to, except skipped
        fields; all other fields keep their declared metrics. (Plain values of any type are scored.)
        Or a sequence of these.
    data : Dataset, or iterable of (schema, gold), or iterable of str, int or float
        Documents: a dataset, or pairs of schema and gold as `evaluate` takes them. Or plain gold
        values, such as a column of texts; null, empty and duplicate values are left out.
    corruption : str or iterable of str, optional
        Names that `corruptions` lists; by default all that apply. Plain values take those of texts
        and numbers only.
    rates : sequence of float, optional
        In [0, 1]. For documents, the probability that a place is corrupted; at 0 gold is compared
        with itself. For plain values, the share of words, letters, digits or units that change in
        each value, at least one.
    measure : str, optional
        The entry of ``Evaluation.summary`` that is the score of a profile: pass_rate,
        overall_score, field_score, pass_rate_judged or gold_coverage. A metric's score is the mean
        over the fields that it scores, items of arrays included.
    profile : str or Profile, optional
        The rules for metrics. Under ``"strict"`` the fields of missed and spurious items count.
    documents : iterable of str, optional
        Ids of the documents of a dataset to use; all by default.
    strength : float, optional
        Share of a value in a document that changes, above 0 and up to 1; at least one word, letter
        or digit.
    repeats : int, optional
        Number of corrupted copies of each document or value, 1 and up.
    judge : str or Judge, optional
        See `evaluate`.
    confidence : float, optional
        Confidence level of the intervals, between 0 and 1.
    seed : int, optional
        The same seed gives the same corruptions for every metric and profile. Places that are
        corrupted at one rate are corrupted at every higher rate.
    progress : bool, optional
        Whether to show a progress bar.

    Returns
    -------
    pandas.DataFrame
        One row per metric or profile, corruption and rate: metric, profile, measure, corruption,
        meaning, rate, n, changed, score, low, high, interval, lowest, pass_rate, errors, and an
        example of the lowest score: document, path, gold, corrupted. ``n`` counts the documents or
        values that can be corrupted; score and interval are over the means of their repeats.

    Raises
    ------
    InputError
        `data` cannot be read, a name is unknown, or a number is out of range.
    SchemaError, ConfigError
        A schema cannot be read, or a metric is unknown.

    Notes
    -----
    The GriTS paper validates its metrics in this way [1]_: each part is kept with probability x,
    and the score should follow x. If each item is dropped with probability r, an array's expected
    recall is 1 - r, its precision 1 and its F1 about 2 (1 - r) / (2 - r). The interval is a
    bootstrap over documents (BCa, 1,999 resamples). It is too short for skewed scores of
    fewer than about ten documents, and NA for a single one.

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
    >>> found = sensitivity("strict", [(schema, gold)], "drop_items", [0, 0.5, 1])
    >>> found["score"].round(1).tolist()
    [1.0, 0.5, 0.0]
    """
    tried = subjects(metric_or_profile, profile)
    several: object = rates
    if isinstance(several, str) or not isinstance(several, Iterable):
        raise InputError(f"rates={rates!r}; expected a list of numbers from 0 to 1")
    if not (wanted := list(dict.fromkeys(rates))):
        raise InputError("rates is empty; expected numbers from 0 to 1")
    for rate in wanted:
        check_share("rate", rate)
    check_share("strength", strength, above=0)
    if type(repeats) is not int or repeats < 1:
        raise InputError(f"repeats={repeats!r}; expected 1 or more")
    if measure not in _MEASURES:
        raise InputError(f"measure={measure!r}; {nearest(measure, _MEASURES)}")
    settings = _Settings(tried, wanted, measure, strength, repeats, judge, seed)
    drawing = Drawing(confidence, _RESAMPLES, seed)
    sources = _sources(data, documents)
    material: Sequence[Any]
    read: Callable[..., _Readings]
    if isinstance(sources, list):
        material, read = [_distinct_values(sources)], _value_readings
        what = _for_values(corruption, {kind_of(value) for value in material[0]})
    else:
        material, read = _read_documents(sources, tried), _document_readings
        what = list(CORRUPTIONS.values()) if corruption is None else chosen(corruption)
    readings: dict[tuple[_Subject, Corruption, float], list[_Reading]] = {
        (subject, one, rate): [] for subject in tried for one in what for rate in wanted
    }
    steps = [(one, part) for one in what for part in material]
    for one, part in progress_bar(steps, shown=progress, desc="corrupting"):
        for subject, rate, reading in read(part, one, settings):
            readings[subject, one, rate].append(reading)
    table = _table(readings, measure, drawing)
    if table.empty:
        raise InputError(
            f"corruption={corruption!r} fits no value of the data; xb.simulation.corruptions() "
            "lists what each one is for"
        )
    return table


def _sources(
    data: Any, documents: Iterable[str] | None
) -> list[Any] | Iterator[tuple[str, Any, Any]]:
    """Return name, schema and gold of each document, or a list of plain values."""
    if callable(getattr(data, "gold", None)) and callable(getattr(data, "schema", None)):
        frame = data.listing if hasattr(data, "listing") else data.documents
        schema_of: Mapping[str, str] = dict(zip(frame["document"], frame["schema"], strict=True))
        names = list(schema_of) if documents is None else list(documents)
        for name in names:
            if name not in schema_of:
                raise InputError(f"documents hold {name!r}; {nearest(name, schema_of)}")
        if not names:
            raise InputError("documents: none are left; expected one or more")
        return ((name, data.schema(schema_of[name]), data.gold(name)) for name in names)
    if documents is not None:
        raise InputError("documents= needs a dataset, and data is not one")
    single = isinstance(as_pandas(data), str | bytes | Mapping | Schema | pd.DataFrame | type)
    if single or not isinstance(data, Iterable):
        raise InputError(
            f"data is {fitted(repr(data), _WIDEST)}; expected a dataset, a list of (schema, gold) "
            "or a list of values"
        )
    items = list(data)
    if len(items) == _PAIR and isinstance(items[0], Mapping | Schema | Path | type):
        raise InputError("data is one (schema, gold) pair; put the pair in a list")
    if items and all(isinstance(item, tuple) and len(item) == _PAIR for item in items):
        pairs = enumerate(items)
        return ((str(i), schema, read_document(gold, "gold")) for i, (schema, gold) in pairs)
    return items


def _table(
    readings: Mapping[tuple[_Subject, Corruption, float], Sequence[_Reading]],
    measure: str,
    drawing: Drawing,
) -> pd.DataFrame:
    """Return one row per key; repeats are averaged first, then documents or values."""
    rows, samples = [], []
    for (subject, corruption, rate), group in readings.items():
        units = defaultdict(list)
        for reading in group:
            units[reading.unit].append(reading)
        scores_of_units = [[r.score for r in u if r.score is not None] for u in units.values()]
        sample = np.array([fmean(scores) for scores in scores_of_units if scores], dtype=np.float64)
        examples = (r for r in group if r.score is not None and r.changed)
        lowest = min(examples, key=lambda r: r.score or 0.0, default=_Reading("", None, 0, 0))
        samples.append(sample)
        rows.append(
            {
                "metric": subject.metric,
                "profile": subject.profile.name,
                "measure": measure if subject.config is None else "field mean",
                "corruption": corruption.name,
                "meaning": corruption.meaning,
                "rate": rate,
                "n": len(units),
                "changed": _mean_of_means([[r.changed for r in unit] for unit in units.values()]),
                "score": float(sample.mean()) if len(sample) else None,
                "lowest": min((s for scores in scores_of_units for s in scores), default=None),
                "pass_rate": _mean_of_means([[r.passed for r in unit] for unit in units.values()]),
                "errors": sum(reading.errors for reading in group),
                **{name: getattr(lowest, name) for name in _Reading._fields[-4:]},
            }
        )
    for row, (low, high, method) in zip(rows, mean_intervals(samples, drawing), strict=True):
        row |= {"low": low, "high": high, "interval": "none" if low is None else method}
    return SENSITIVITY_COLUMNS.from_records(rows)


def _mean_of_means(units: Sequence[Sequence[float]]) -> float | None:
    return fmean(map(fmean, units)) if units else None


def _by_path(fields: pd.DataFrame) -> pd.DataFrame:
    """Summarise the rows of each field: mean score, and whether all metrics pass."""
    passed = fields["passed"].fillna(value=False).astype(float)
    rows = fields[["path", "score"]].assign(passed=passed)
    return rows.groupby("path", sort=False).agg({"score": "mean", "passed": "min"})


# --- metrics and profiles ---------------------------------------------------------------------

_SCALARS = frozenset({"string", "number", "integer", "boolean"})


@dataclass(frozen=True, eq=False)
class _Subject:
    """A profile, or a metric under a profile.

    `declared` is the metric's ``evaluation_config`` as the user wrote it, for plain values.
    """

    metric: str | None
    profile: Profile
    config: NodeConfig | None = None
    declared: Any = None

    def schema(self, source: Any) -> Schema:
        """Read a schema, and set the metric on the fields it applies to."""
        schema = parse_schema(source)
        if self.config is None:
            return schema
        types = _SCALARS | {"array"}  # those that all metrics of the config apply to
        for spec in self.config.metrics:
            applies_to = set(REGISTRY.get(spec.metric_id).applies_to) - {"any"} or set(_SCALARS)
            types &= applies_to | ({"integer"} if "number" in applies_to else set())
        return replace(schema, root=_with_metric(schema.root, self.config, types))


def subjects(wanted: Any, profile: str | Profile) -> list[_Subject]:
    """Read the metrics and profiles to try."""
    several = isinstance(wanted, Sequence) and not isinstance(wanted, str)
    rules = Profile.named(profile)
    tried = [_subject(item, rules) for item in (wanted if several else [wanted])]
    if not tried:
        raise InputError("metric_or_profile is empty; expected a metric, a profile, or several")
    labels = [(subject.metric, subject.profile.name) for subject in tried]
    twice = [label for label in labels if labels.count(label) > 1]
    if twice:
        raise InputError(f"metric_or_profile holds {twice[0][0] or twice[0][1]!r} twice")
    return tried


def _subject(subject: Any, rules: Profile) -> _Subject:
    if isinstance(subject, Profile) or (isinstance(subject, str) and subject in PROFILES):
        return _Subject(None, Profile.named(subject))
    if isinstance(subject, Mapping):
        config = parse_config(dict(subject), "/evaluation_config", REGISTRY)
        assert config is not None  # noqa: S101 - only null has no config
        names = []
        for spec in config.metrics:
            params = ", ".join(f"{name}={value!r}" for name, value in spec.params.items())
            names.append(f"{spec.metric_id}({params})" if params else spec.metric_id)
        return _Subject(" + ".join(names), rules, config, dict(subject))
    name = REGISTRY.config_of(subject)
    if not isinstance(name, str) or name not in {*PRESETS, *REGISTRY.entries}:
        known = {*PRESETS, *REGISTRY.entries, *PROFILES}
        raise ConfigError(None, f"unknown metric or profile {name!r}; {nearest(name, known)}")
    return _Subject(name, rules, parse_config(name, "/evaluation_config", REGISTRY), name)


def _with_metric(node: Node, config: NodeConfig, types: frozenset[str]) -> Node:
    """Return a node whose fields have the metric; skipped fields stay skipped."""
    if node.config is not None and node.config.skip:
        return node
    own_config = node.config
    if _is_meant(node, types):
        own_config = replace(config, weight=node.weight)
    elif node.kind == "union" and "array" not in types:
        own_config = None  # its branches have their own
    return replace(
        node,
        config=own_config,
        loaded=None,
        loader=lambda: node.children.mapped(lambda child: _with_metric(child, config, types)),
        choices={},
    )


def _is_meant(node: Node, kinds: frozenset[str]) -> bool:
    if node.kind == "array":
        return "array" in kinds
    if node.kind != "scalar":
        return False
    if node.label.startswith("integer"):
        return "integer" in kinds
    return bool(node.types) and node.types - {"null"} <= kinds


# --- plain values -----------------------------------------------------------------------------

#: Strength with which values are tried at rate 0, to see whether they can be corrupted.
_SOME = 0.5


def _for_values(wanted: Any, present: set[str | None]) -> list[Corruption]:
    """Return the corruptions to try on plain values of the kinds that are present."""
    corruptions = list(CORRUPTIONS.values()) if wanted is None else chosen(wanted)
    for corruption in corruptions if wanted is not None else ():
        if not kinds(corruption.name):
            known = [name for name in CORRUPTIONS if kinds(name)]
            raise InputError(
                f"corruption {corruption.name!r} is for documents, and the data are plain "
                f"values; {nearest(corruption.name, known)}"
            )
    return [c for c in corruptions if present & set(kinds(c.name))]


def _distinct_values(values: Iterable[Any]) -> list[Any]:
    present = [v.item() if hasattr(v, "item") else v for v in values]
    present = [v for v in present if v is not None and v is not pd.NA and v == v]  # noqa: PLR0124
    for value in present:
        if isinstance(value, bool) or not isinstance(value, str | int | float):
            raise InputError(
                f"data holds {fitted(repr(value), _WIDEST)}; expected texts and numbers, "
                "(schema, gold) pairs or a dataset"
            )
        if not isinstance(value, str) and abs(value) > LARGEST:
            raise InputError(f"data holds {value!r}; expected numbers up to {LARGEST:g}")
    distinct = list({(kind_of(v), v): v for v in present if v != ""}.values())
    if not distinct:
        raise InputError("data holds no text and no number to corrupt")
    return distinct


def _value_readings(golds: Sequence[Any], corruption: Corruption, settings: _Settings) -> _Readings:
    """Corrupt texts and numbers, and evaluate all of one rate as the properties of one object."""
    cases: dict[float, list[tuple[str, Any, Any]]] = {rate: [] for rate in settings.rates}
    for gold in golds:
        unit = f"{settings.seed}/{corruption.name}/{gold!r}"
        for rate, repeat in settings.copies():
            corrupted = corrupt(corruption.name, gold, rate or _SOME, f"{unit}/{repeat}")
            if corrupted is not None:
                cases[rate].append((unit, gold, corrupted if rate else gold))
    for rate, of_rate in cases.items():
        names = [str(number) for number in range(len(of_rate))]
        gold = {name: case[1] for name, case in zip(names, of_rate, strict=True)}
        predicted = {name: case[2] for name, case in zip(names, of_rate, strict=True)}
        for subject in settings.subjects if of_rate else ():
            config = {} if subject.declared is None else {"evaluation_config": subject.declared}
            nodes = {name: {"type": kind_of(value), **config} for name, value in gold.items()}
            schema = {"type": "object", "properties": nodes}
            ev = evaluate(schema, gold, predicted, judge=settings.judge, profile=subject.profile)
            rows = _by_path(ev.fields)
            if len(rows) != len(of_rate):
                raise InputError(
                    f"{subject.metric!r} scored {len(rows)} of {len(of_rate)} values; expected a "
                    "metric for single values"
                )
            for case, score, passed in zip(of_rate, rows["score"], rows["passed"], strict=True):
                unit, value, corrupted = case
                known = None if pd.isna(score) else float(score)
                reading = _Reading(unit, known, passed, int(known is None))
                if corrupted is not value:
                    reading = reading._replace(changed=1, gold=value, corrupted=corrupted)
                yield subject, rate, reading


# --- documents --------------------------------------------------------------------------------


class _Document(NamedTuple):
    """A gold document, its schema as declared and under each subject, and documents to borrow from.

    `uncorrupted` holds the results of gold against itself.
    """

    name: str
    gold: Any
    declared: Schema
    schemas: Mapping[_Subject, Schema]
    donors: Sequence[Pool]
    uncorrupted: dict[_Subject, _Reading | None]


def _read_documents(
    sources: Iterable[tuple[str, Any, Any]], tried: Sequence[_Subject]
) -> list[_Document]:
    """Read documents; those with the same schema lend values to each other."""
    schemas: dict[str, Schema] = {}
    golds: dict[str, tuple[str, Any]] = {}
    for name, source, gold in sources:
        schema = parse_schema(source)
        key = canonical(schema.document)
        schemas.setdefault(key, schema)
        golds[name] = key, copied(gold)
        try:
            refuse_non_json(golds[name][1])
        except InputError as error:
            raise InputError(f"document {name!r}: {error}") from None
    read = {key: {s: s.schema(schema) for s in tried} for key, schema in schemas.items()}
    pools = {name: pool_of(schemas[key].root, gold) for name, (key, gold) in golds.items()}
    documents = []
    for name, (key, gold) in golds.items():
        donors = [pools[n] for n, (other, _) in golds.items() if n != name and other == key]
        documents.append(_Document(name, gold, schemas[key], read[key], donors, {}))
    return documents


def _document_readings(
    document: _Document, corruption: Corruption, settings: _Settings
) -> _Readings:
    """Corrupt and evaluate one document at all rates."""

    def corrupted(rate: float, repeat: int) -> tuple[Any, list[Change]]:
        copy = Document(document.declared.root, document.gold)
        seed = f"{settings.seed}\x1f{document.name}\x1f{repeat}"
        how = settings.strength, document.donors
        changes = corrupt_one_way(copy, corruption, rate, seed, *how)
        return copy.value, changes

    if not corrupted(1.0, 0)[1]:
        return
    for rate, repeat in settings.copies():
        predicted, changes = corrupted(rate, repeat)
        for subject in settings.subjects:
            if changes:
                _, place, before, after = changes[0]
                reading = _evaluated(document, predicted, subject, settings)
                if reading is not None:
                    reading = reading._replace(
                        changed=len(changes),
                        document=document.name,
                        path=place.path,
                        gold=before,
                        corrupted=after,
                    )
            else:
                if subject not in document.uncorrupted:
                    gold = _evaluated(document, predicted, subject, settings)
                    document.uncorrupted[subject] = gold
                reading = document.uncorrupted[subject]
            if reading is not None:
                yield subject, rate, reading


def _evaluated(
    document: _Document, predicted: Any, subject: _Subject, settings: _Settings
) -> _Reading | None:
    """Return a profile's measure or a metric's mean over its fields; None if it has no fields."""
    # a text is quoted, as a document that is a text would be read as JSON
    sides = [json.dumps(v) if isinstance(v, str) else v for v in (document.gold, predicted)]
    schema = document.schemas[subject]
    try:
        ev = evaluate(schema, *sides, judge=settings.judge, profile=subject.profile)
    except InputError as error:
        raise InputError(f"document {document.name!r}: {error}") from None
    if subject.config is None:
        summary = ev.summary
        value = float(summary[settings.measure])
        score = None if np.isnan(value) else value
        errors = int(summary["judge_errors"])
        return _Reading(document.name, score, float(summary["pass_rate"]), errors)
    fields = ev.fields
    metrics = [spec.metric_id for spec in subject.config.metrics]
    rows = _by_path(fields[fields["metric"].isin(metrics)])
    if rows.empty:
        return None
    scores = rows["score"].dropna()
    mean = float(scores.mean()) if len(scores) else None
    return _Reading(document.name, mean, float(rows["passed"].mean()), len(rows) - len(scores))
