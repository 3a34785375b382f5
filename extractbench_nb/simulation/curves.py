"""`sensitivity`: the score as a function of a controlled corruption of documents or values."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import product
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
from extractbench_nb.simulation.document_corruptions import (
    CORRUPTIONS,
    Change,
    Corruption,
    chosen,
)
from extractbench_nb.simulation.documents import Document, Task, copied, pool_of
from extractbench_nb.simulation.value_corruptions import VALUE_CORRUPTIONS, corrupt, kind_of
from extractbench_nb.stats import Drawing, check_share, mean_intervals
from extractbench_nb.support.wording import fitted

RATES = (0.0, 0.1, 0.3, 0.6, 1.0)
#: Share of a value in a document that changes, and of a plain value that is tried at rate 0.
_STRENGTH, _TRIED = 0.3, 0.5
#: Entries of the summary that can be the score of a profile.
_MEASURES = ("pass_rate", "overall_score", "field_score", "pass_rate_judged", "gold_coverage")

SENSITIVITY_COLUMNS = FrameSpec(
    "sensitivity",
    "one row per metric or profile, corruption and rate",
    (
        Column("metric", "string", "metric or preset; missing if the schema decides", "", True),
        Column("profile", "string", "rules of the evaluation"),
        Column("measure", "string", "meaning of the score: an entry of the summary, or field mean"),
        Column("corruption", "string", "what was done"),
        Column("meaning", "string", "whether the meaning is kept", "kept, unclear, changed"),
        Column("rate", "float64", "probability of a change, or share of a value", "[0, 1]"),
        Column("n", "int64", "documents or values that can be corrupted"),
        Column("changed", "Float64", "number of changes, mean over n", "0 and up", True),
        Column("score", "Float64", "mean over n; missing if nothing was scored", "[0, 1]", True),
        Column("low", "Float64", "lower end of the interval over documents", "[0, 1]", True),
        Column("high", "Float64", "upper limit of its interval", "[0, 1]", True),
        Column("interval", "string", "method of the interval", "BCa, percentile, all equal, none"),
        Column("lowest", "Float64", "lowest score of a document or value", "[0, 1]", True),
        Column("pass_rate", "Float64", "share that passes, mean over n", "[0, 1]", True),
        Column("errors", "int64", "scores without a verdict, over all repeats", "0 and up"),
        Column("document", "string", "document of an example with the lowest score", "", True),
        Column("path", "string", "path of the example in gold", "", True),
        Column("gold", "object", "gold value of the example", "", True),
        Column("corrupted", "object", "corrupted value of the example", "", True),
    ),
)


def sensitivity(  # noqa: PLR0913 - one flat call is what users write; the options are keywords
    metric_or_profile: str | Profile | Callable[..., Any] | Mapping[str, Any] | Sequence[Any],
    data: Any,
    corruption: str | Iterable[str] | None = None,
    rates: Iterable[float] = RATES,
    *,
    measure: str = "pass_rate",
    profile: str | Profile = "strict",
    repeats: int = 3,
    judge: str | Judge = "offline",
    seed: int = 0,
) -> pd.DataFrame:
    """Score gold against corrupted copies of itself, at increasing rates of corruption.

    A score should stay high if a corruption keeps the meaning, and fall if it changes the meaning.

    Parameters
    ----------
    metric_or_profile : str, Profile, callable, dict or sequence
        The metric or profile to test, or a sequence of them. With a profile, documents are scored
        by the metrics in their schemas. A metric (a name, a function registered with `metric`, or
        an ``evaluation_config``) scores every field whose type it supports, except skipped fields.
    data : Dataset, or iterable of (schema, gold), or iterable of str, int or float
        Documents or plain gold values; null, empty and duplicate values are left out.
    corruption : str or iterable of str, optional
        Names from `corruptions`; by default all that apply.
    rates : iterable of float, optional
        Rates in [0, 1]. In documents, a rate is the probability that a value is corrupted; in plain
        values, it is the share of words, letters, digits or units that change (at least one).
    measure : str, optional
        The entry of ``Evaluation.summary`` that is the score of a profile. A metric's score is the
        mean over the fields that it scores, items of arrays included.
    profile : str or Profile, optional
        For metrics; see `evaluate`.
    repeats : int, optional
        Number of corrupted copies of each document or value, 1 and up.
    judge : str or Judge, optional
        See `evaluate`.
    seed : int, optional
        The same seed gives the same corruptions for every metric and profile. Places that are
        corrupted at one rate are corrupted at every higher rate.

    Returns
    -------
    pandas.DataFrame
        One row per metric or profile, corruption and rate, see `SENSITIVITY_COLUMNS`. Repeats are
        averaged first, then documents or values.

    Raises
    ------
    InputError
        `data` cannot be read, a name is unknown, or a number is out of range.
    SchemaError, ConfigError
        A schema cannot be read, or a metric is unknown.

    Notes
    -----
    The GriTS paper validates its metrics in this way [1]_: each part is kept with probability x,
    and the score should follow x. The 95% interval is a bootstrap interval over documents (BCa,
    1,999 resamples). It is too short if scores are skewed and there are fewer than about ten
    documents.

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
    rules = Profile.named(profile)
    several = isinstance(metric_or_profile, Sequence) and not isinstance(metric_or_profile, str)
    wanted = list(metric_or_profile) if several else [metric_or_profile]  # type: ignore[arg-type]
    subjects = [_subject(one, rules, measure, judge) for one in wanted]
    distinct_rates = dict.fromkeys(rates)
    for rate in distinct_rates:
        check_share("rate", rate)
    if type(repeats) is not int or repeats < 1:
        raise InputError(f"repeats={repeats!r}; expected 1 or more")
    if measure not in _MEASURES:
        raise InputError(f"measure={measure!r}; {nearest(measure, _MEASURES)}")
    names = [corruption] if isinstance(corruption, str) else corruption
    tried = list(CORRUPTIONS.values()) if names is None else chosen(list(names))
    copies = [(rate, n) for rate in distinct_rates for n in range(repeats if rate else 1)]
    found = _read(data)
    if isinstance(found, dict):
        readings = _of_documents(found, subjects, tried, copies, seed)
    else:
        kinds = {kind_of(value) for value in found}
        of_kinds = {name for name, (*_, known) in VALUE_CORRUPTIONS.items() if kinds & {*known}}
        tried = [one for one in tried if one.name in of_kinds]
        readings = _of_values(found, subjects, tried, copies, seed)
    groups: dict[Any, list[_Reading]] = {
        key: [] for key in product(subjects, tried, distinct_rates)
    }
    if not groups:
        raise InputError(
            f"corruption={corruption!r}, rates={rates!r}: nothing fits the data; "
            "xb.simulation.corruptions() lists what each corruption is for"
        )
    for key, reading in readings:
        groups[key].append(reading)
    return _table(groups, seed)


def _read(data: Any) -> dict[str, tuple[Any, Any]] | list[Any]:
    """Return schema and gold of each document by name, or a list of distinct plain values."""
    if callable(getattr(data, "gold", None)) and callable(getattr(data, "schema", None)):
        rows = data.listing[["document", "schema"]].itertuples(index=False)
        return {name: (data.schema(schema), data.gold(name)) for name, schema in rows}
    frame = as_pandas(data)
    single = isinstance(frame, str | bytes | Mapping | Schema | pd.DataFrame | type)
    if single or not isinstance(data, Iterable):
        raise InputError(
            f"data is {fitted(repr(data), 120)}; expected a dataset, a list of (schema, gold) "
            "or a list of values"
        )
    items = list(data)
    if items and all(isinstance(item, tuple) and len(item) == 2 for item in items):  # noqa: PLR2004
        return {str(i): (one, read_document(gold, "gold")) for i, (one, gold) in enumerate(items)}
    present = [item.item() if hasattr(item, "item") else item for item in items]
    present = [v for v in present if v is not None and v is not pd.NA and v == v]  # noqa: PLR0124
    for value in present:
        if value != "" and kind_of(value) is None:
            raise InputError(
                f"data holds {fitted(repr(value), 120)}; expected texts and numbers up to 1e300, "
                "(schema, gold) pairs or a dataset"
            )
    return list({(kind_of(v), v): v for v in present if v != ""}.values())


# --- metrics and profiles ---------------------------------------------------------------------

_SCALARS = frozenset({"string", "number", "integer", "boolean"})


@dataclass(frozen=True, eq=False)
class _Subject:
    """A profile and its measure, or a metric under a profile with its ``evaluation_config``."""

    metric: str | None
    profile: Profile
    measure: str
    judge: str | Judge
    declared: Any = None
    config: NodeConfig | None = None

    def schema(self, schema: Schema) -> Schema:
        """Set the metric on the fields of a schema that it applies to."""
        return schema if self.config is None else _with_metric(schema, self.config)

    def fields(self, schema: Any, gold: Any, predicted: Any) -> pd.DataFrame:
        """Evaluate; return the mean score of each field of the metric, and whether it passes."""
        ev = evaluate(schema, gold, predicted, judge=self.judge, profile=self.profile)
        metrics = [spec.metric_id for spec in self.config.metrics] if self.config else None
        rows = ev.fields if metrics is None else ev.fields[ev.fields["metric"].isin(metrics)]
        passed = rows["passed"].fillna(value=False).astype(float)
        groups = rows[["path", "score"]].assign(passed=passed).groupby("path", sort=False)
        return groups.agg({"score": "mean", "passed": "min"}).astype(float)

    def reading(self, unit: int, schema: Schema, gold: Any, predicted: Any) -> _Reading | None:
        """Evaluate a document; None if the metric scores nothing of it."""
        # a text is quoted, as a document that is a text would be read as JSON
        gold, predicted = (
            json.dumps(value) if isinstance(value, str) else value for value in (gold, predicted)
        )
        if self.config is None:
            summary = evaluate(
                schema, gold, predicted, judge=self.judge, profile=self.profile
            ).summary
            score, passed = float(summary[self.measure]), float(summary["pass_rate"])
            return _Reading(unit, score, passed, int(summary["judge_errors"]))
        rows = self.fields(schema, gold, predicted)
        if rows.empty:
            return None
        score, passed = rows.mean()
        return _Reading(unit, float(score), float(passed), int(rows["score"].isna().sum()))


def _subject(wanted: Any, rules: Profile, measure: str, judge: str | Judge) -> _Subject:
    if isinstance(wanted, Profile) or (isinstance(wanted, str) and wanted in PROFILES):
        return _Subject(None, Profile.named(wanted), measure, judge)
    declared = dict(wanted) if isinstance(wanted, Mapping) else REGISTRY.config_of(wanted)
    known = {*PRESETS, *REGISTRY.entries}
    if not isinstance(declared, dict) and declared not in known:
        hint = nearest(declared, known | {*PROFILES})
        raise ConfigError(None, f"unknown metric or profile {declared!r}; {hint}")
    config = parse_config(declared, "/evaluation_config", REGISTRY)
    assert config is not None  # noqa: S101 - only null has no config
    names = []
    for spec in config.metrics:
        params = ", ".join(f"{name}={value!r}" for name, value in spec.params.items())
        names.append(f"{spec.metric_id}({params})" if params else spec.metric_id)
    label = " + ".join(names) if isinstance(declared, dict) else declared
    return _Subject(label, rules, "field mean", judge, declared, config)


def _with_metric(schema: Schema, config: NodeConfig) -> Schema:
    """Return a schema whose fields have the metric; skipped fields stay skipped."""
    types = _SCALARS | {"array"}  # those that all metrics of the config apply to
    for spec in config.metrics:
        applies_to = set(REGISTRY.get(spec.metric_id).applies_to) - {"any"} or set(_SCALARS)
        types &= applies_to | ({"integer"} if "number" in applies_to else set())

    def is_meant(node: Node) -> bool:
        if node.kind == "scalar" and node.label.startswith("integer"):
            return "integer" in types
        own_types = {"array"} if node.kind == "array" else node.types - {"null"}
        return node.kind in ("array", "scalar") and bool(own_types) and own_types <= types

    def changed(node: Node) -> Node:
        own_config = node.config
        if own_config is not None and own_config.skip:
            return node
        if is_meant(node):
            own_config = replace(config, weight=node.weight)
        elif node.kind == "union" and "array" not in types:
            own_config = None  # its branches have their own
        return replace(
            node,
            config=own_config,
            loaded=None,
            loader=lambda: node.children.mapped(changed),
            choices={},
        )

    return replace(schema, root=changed(schema.root))


# --- readings ---------------------------------------------------------------------------------


class _Reading(NamedTuple):
    """The result of one corrupted document or value (the unit), with one change as an example."""

    unit: int
    score: float
    passed: float
    errors: int
    changed: int = 0
    document: str | None = None
    path: str | None = None
    gold: Any = None
    corrupted: Any = None


#: A subject, a corruption and a rate; and a reading of theirs.
_Readings = Iterator[tuple[tuple[_Subject, Corruption, float], _Reading]]
#: Rate and number of each corrupted copy.
_Copies = Sequence[tuple[float, int]]


def _of_values(
    values: Sequence[Any],
    subjects: Sequence[_Subject],
    corruptions: Sequence[Corruption],
    copies: _Copies,
    seed: int,
) -> _Readings:
    """Corrupt texts and numbers, and evaluate all of one rate as members of one object."""
    for corruption in corruptions:
        cases: dict[float, list[tuple[int, Any, Any]]] = {rate: [] for rate, _ in copies}
        for (unit, gold), (rate, n) in product(enumerate(values), copies):
            key = f"{seed}/{corruption.name}/{gold!r}/{n}"
            changed = corrupt(corruption.name, gold, rate or _TRIED, key)
            if changed is not None:
                cases[rate].append((unit, gold, changed if rate else gold))
        for subject, (rate, of_rate) in product(subjects, cases.items()):
            for reading in _values_read(subject, of_rate) if of_rate else ():
                yield (subject, corruption, rate), reading


def _values_read(subject: _Subject, cases: Sequence[tuple[int, Any, Any]]) -> Iterator[_Reading]:
    gold, predicted = ({str(i): case[at] for i, case in enumerate(cases)} for at in (1, 2))
    config = {} if subject.config is None else {"evaluation_config": subject.declared}
    nodes = {name: {"type": kind_of(value), **config} for name, value in gold.items()}
    rows = subject.fields({"type": "object", "properties": nodes}, gold, predicted)
    if len(rows) != len(cases):
        raise InputError(
            f"{subject.metric!r} scored {len(rows)} of {len(cases)} values; expected a metric "
            "for single values"
        )
    for (unit, value, corrupted), (score, passed) in zip(cases, rows.to_numpy(), strict=True):
        reading = _Reading(unit, score, passed, int(np.isnan(score)))
        changed = {"changed": 1, "gold": value, "corrupted": corrupted}
        yield reading if corrupted is value else reading._replace(**changed)


def _of_documents(
    sources: Mapping[str, tuple[Any, Any]],
    subjects: Sequence[_Subject],
    corruptions: Sequence[Corruption],
    copies: _Copies,
    seed: int,
) -> _Readings:
    """Corrupt and evaluate documents; those with the same schema lend values to each other."""
    schemas: dict[str, Schema] = {}
    golds, keys = {}, {}
    for name, (source, gold) in sources.items():
        schema = parse_schema(source)
        keys[name] = canonical(schema.document)
        schemas.setdefault(keys[name], schema)
        golds[name] = copied(gold)
        try:
            refuse_non_json(golds[name])
        except InputError as error:
            raise InputError(f"document {name!r}: {error}") from None
    tried = {key: {s: s.schema(schemas[key]) for s in subjects} for key in schemas}
    pools = {name: pool_of(schemas[key].root, golds[name]) for name, key in keys.items()}
    for unit, (name, key) in enumerate(keys.items()):
        donors = [pools[other] for other in keys if other != name and keys[other] == key]
        of_gold: dict[_Subject, _Reading | None] = {}

        def corrupted(corruption: Corruption, rate: float, n: int) -> tuple[Any, list[Change]]:
            copy = Document(schemas[key].root, golds[name])  # noqa: B023 - called in this turn
            text = f"{seed}\x1f{name}\x1f{n}\x1f{corruption.name}"  # noqa: B023
            task = Task(copy, text, rate, _STRENGTH, donors)  # noqa: B023
            changes = corruption.apply(task)
            return copy.value, changes

        apt = [one for one in corruptions if corrupted(one, 1.0, 0)[1]]
        for corruption, (rate, n) in product(apt, copies):
            predicted, changes = corrupted(corruption, rate, n)
            for subject in subjects:
                reading = None if changes else of_gold.get(subject)
                if subject not in of_gold or changes:
                    try:
                        schema = tried[key][subject]
                        reading = subject.reading(unit, schema, golds[name], predicted)
                    except InputError as error:
                        raise InputError(f"document {name!r}: {error}") from None
                if changes and reading is not None:
                    place, before, after = changes[0]
                    about: dict[str, Any] = {"document": name, "path": place.path, "gold": before}
                    reading = reading._replace(changed=len(changes), corrupted=after, **about)
                elif not changes:
                    of_gold[subject] = reading
                if reading is not None:
                    yield (subject, corruption, rate), reading


def _table(
    readings: Mapping[tuple[_Subject, Corruption, float], list[_Reading]], seed: int
) -> pd.DataFrame:
    """Return one row per key; repeats are averaged first, then documents or values."""
    rows, samples = [], []
    for (subject, corruption, rate), group in readings.items():
        frame = pd.DataFrame([r[:5] for r in group], columns=list(_Reading._fields[:5]))
        means = frame.groupby("unit")[["score", "passed", "changed"]].mean().astype(float)
        examples = (r for r in group if r.changed and not np.isnan(r.score))
        example = min(examples, key=lambda r: r.score, default=_Reading(0, 0, 0, 0))
        samples.append(means["score"].dropna().to_numpy())
        rows.append(
            {
                "metric": subject.metric,
                "profile": subject.profile.name,
                "measure": subject.measure,
                "corruption": corruption.name,
                "meaning": corruption.meaning,
                "rate": rate,
                "n": len(means),
                "changed": means["changed"].mean(),
                "score": means["score"].mean(),
                "lowest": frame["score"].astype(float).min(),
                "pass_rate": means["passed"].mean(),
                "errors": int(frame["errors"].sum()),
                **{name: getattr(example, name) for name in _Reading._fields[-4:]},
            }
        )
    intervals = mean_intervals(samples, Drawing(0.95, 1999, seed))
    for row, (low, high, method) in zip(rows, intervals, strict=True):
        row |= {"low": low, "high": high, "interval": "none" if low is None else method}
    return SENSITIVITY_COLUMNS.from_records(
        {
            name: None if isinstance(cell, float) and np.isnan(cell) else cell
            for name, cell in row.items()
        }
        for row in rows
    )
