"""`sensitivity`: the score as a function of a controlled corruption of documents or values."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
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
    check_share,
    chosen,
)
from extractbench_nb.simulation.documents import Document, Pool, Task, copied, pool_of
from extractbench_nb.simulation.value_corruptions import VALUE_CORRUPTIONS, corrupt, kind_of
from extractbench_nb.stats import Drawing, mean_intervals
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

    unit: int
    score: float
    passed: float
    errors: int
    changed: int = 0
    document: str | None = None
    path: str | None = None
    gold: Any = None
    corrupted: Any = None


@dataclass(frozen=True, eq=False)
class _Subject:
    """A profile, or a metric under a profile with its ``evaluation_config``."""

    metric: str | None
    profile: Profile
    declared: Any = None
    config: NodeConfig | None = None

    def schema(self, schema: Schema) -> Schema:
        """Set the metric on the fields of a schema that it applies to."""
        return schema if self.config is None else _with_metric(schema, self.config)


#: Readings by subject, corruption and rate.
_Readings = dict[tuple[_Subject, Corruption, float], list[_Reading]]


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
    """Score gold against copies of it that are corrupted at increasing rates.

    A score should stay high if a corruption keeps the meaning, and fall if it changes the meaning.

    Parameters
    ----------
    metric_or_profile : str, Profile, callable, dict or sequence
        What is tested, or a sequence of that. A profile: documents are scored as their schemas
        declare. A metric (a name, a function registered with `metric`, or an
        ``evaluation_config``): it scores every field of a type that it applies to, except skipped
        fields; all other fields keep their declared metrics.
    data : Dataset, or iterable of (schema, gold), or iterable of str, int or float
        Documents; or plain gold values, such as a column of texts, of which null, empty and
        duplicate ones are left out.
    corruption : str or iterable of str, optional
        Names that `corruptions` lists; by default all that apply. Plain values take those of texts
        and numbers only.
    rates : iterable of float, optional
        In [0, 1]: the probability that a place of a document is corrupted; of plain values, the
        share of words, letters, digits or units that change in each, at least one.
    measure : str, optional
        The entry of ``Evaluation.summary`` that is the score of a profile. A metric's score is the
        mean over the fields that it scores, items of arrays included.
    profile : str or Profile, optional
        The rules for metrics. Under ``"strict"`` the fields of missed and spurious items count.
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
        One row per metric or profile, corruption and rate, see `SENSITIVITY_COLUMNS`: among others
        ``n``, the documents or values that can be corrupted, score and interval over the means of
        their repeats, and an example of the lowest score.

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
    recall is 1 - r, its precision 1 and its F1 about 2 (1 - r) / (2 - r). The 95 % interval is a
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
    rules = Profile.named(profile)
    several = isinstance(metric_or_profile, Sequence) and not isinstance(metric_or_profile, str)
    wanted = list(metric_or_profile) if several else [metric_or_profile]  # type: ignore[arg-type]
    subjects = [_subject(one, rules) for one in wanted]
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
    study = _Study(subjects, tried, copies, measure, judge, seed)
    found = _read(data)
    readings = study.of_documents(found) if isinstance(found, dict) else study.of_values(found)
    if not readings:
        raise InputError(
            f"corruption={corruption!r}, rates={rates!r}: nothing fits the data; "
            "xb.simulation.corruptions() lists what each corruption is for"
        )
    return _table(readings, measure, seed)


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


def _table(readings: _Readings, measure: str, seed: int) -> pd.DataFrame:
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
                "measure": measure if subject.config is None else "field mean",
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


def _by_path(fields: pd.DataFrame) -> pd.DataFrame:
    """Summarise the rows of each field: mean score, and whether all metrics pass."""
    passed = fields["passed"].fillna(value=False).astype(float)
    rows = fields[["path", "score"]].assign(passed=passed)
    return rows.groupby("path", sort=False).agg({"score": "mean", "passed": "min"})


# --- metrics and profiles ---------------------------------------------------------------------

_SCALARS = frozenset({"string", "number", "integer", "boolean"})


def _subject(wanted: Any, rules: Profile) -> _Subject:
    if isinstance(wanted, Profile) or (isinstance(wanted, str) and wanted in PROFILES):
        return _Subject(None, Profile.named(wanted))
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
    return _Subject(label, rules, declared, config)


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


# --- plain values and documents ---------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class _Study:
    """What is tried on the data: `copies` has rate and number of each corrupted copy."""

    subjects: Sequence[_Subject]
    corruptions: Sequence[Corruption]
    copies: Sequence[tuple[float, int]]
    measure: str
    judge: str | Judge
    seed: int

    def of_values(self, values: Sequence[Any]) -> _Readings:
        """Corrupt texts and numbers, and evaluate all of one rate as members of one object."""
        kinds = {kind_of(value) for value in values}
        of_kinds = {name for name, (*_, known) in VALUE_CORRUPTIONS.items() if kinds & {*known}}
        fitting = [one for one in self.corruptions if one.name in of_kinds]
        readings = self._empty(fitting)
        for corruption in fitting:
            cases: dict[float, list[tuple[int, Any, Any]]] = {rate: [] for rate, _ in self.copies}
            for unit, gold in enumerate(values):
                for rate, n in self.copies:
                    key = f"{self.seed}/{corruption.name}/{gold!r}/{n}"
                    changed = corrupt(corruption.name, gold, rate or _TRIED, key)
                    if changed is not None:
                        cases[rate].append((unit, gold, changed if rate else gold))
            for subject, one, rate in readings:
                if one is corruption and cases[rate]:
                    readings[subject, one, rate] += self._evaluated_values(subject, cases[rate])
        return readings

    def _evaluated_values(
        self, subject: _Subject, cases: Sequence[tuple[int, Any, Any]]
    ) -> Iterator[_Reading]:
        gold, predicted = ({str(i): case[at] for i, case in enumerate(cases)} for at in (1, 2))
        config = {} if subject.config is None else {"evaluation_config": subject.declared}
        nodes = {name: {"type": kind_of(value), **config} for name, value in gold.items()}
        schema = {"type": "object", "properties": nodes}
        ev = evaluate(schema, gold, predicted, judge=self.judge, profile=subject.profile)
        rows = _by_path(ev.fields)
        if len(rows) != len(cases):
            raise InputError(
                f"{subject.metric!r} scored {len(rows)} of {len(cases)} values; expected a metric "
                "for single values"
            )
        scores = rows["score"].to_numpy(float, na_value=np.nan)
        for case, score, passed in zip(cases, scores, rows["passed"], strict=True):
            unit, value, corrupted = case
            reading = _Reading(unit, score, passed, int(np.isnan(score)))
            changed = {"changed": 1, "gold": value, "corrupted": corrupted}
            yield reading if corrupted is value else reading._replace(**changed)

    def of_documents(self, sources: Mapping[str, tuple[Any, Any]]) -> _Readings:
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
        tried = {key: {s: s.schema(schemas[key]) for s in self.subjects} for key in schemas}
        pools = {name: pool_of(schemas[key].root, golds[name]) for name, key in keys.items()}
        readings = self._empty(self.corruptions)
        for unit, (name, key) in enumerate(keys.items()):
            donors = [pools[other] for other in keys if other != name and keys[other] == key]
            document = _Document(unit, name, schemas[key].root, golds[name], tried[key], donors)
            of_gold: dict[_Subject, _Reading | None] = {}
            for corruption in self.corruptions:
                is_apt = bool(self._corrupted(document, corruption, 1.0, 0)[1])
                for rate, n in self.copies if is_apt else ():
                    predicted, changes = self._corrupted(document, corruption, rate, n)
                    for subject in self.subjects:
                        if changes:
                            place, before, after = changes[0]
                            reading = self._evaluated(document, predicted, subject)
                            if reading is not None:
                                reading = reading._replace(
                                    changed=len(changes),
                                    document=name,
                                    path=place.path,
                                    gold=before,
                                    corrupted=after,
                                )
                        else:
                            if subject not in of_gold:
                                of_gold[subject] = self._evaluated(document, predicted, subject)
                            reading = of_gold[subject]
                        readings[subject, corruption, rate] += [reading] if reading else []
        return readings

    def _corrupted(
        self, document: _Document, corruption: Corruption, rate: float, n: int
    ) -> tuple[Any, list[Change]]:
        copy = Document(document.root, document.gold)
        seed = f"{self.seed}\x1f{document.name}\x1f{n}\x1f{corruption.name}"
        changes = corruption.apply(Task(copy, seed, rate, _STRENGTH, document.donors))
        return copy.value, changes

    def _evaluated(self, document: _Document, predicted: Any, subject: _Subject) -> _Reading | None:
        """Return a profile's measure or a metric's mean over its fields; None if it has none."""
        # a text is quoted, as a document that is a text would be read as JSON
        sides = [json.dumps(v) if isinstance(v, str) else v for v in (document.gold, predicted)]
        schema = document.tried[subject]
        try:
            ev = evaluate(schema, *sides, judge=self.judge, profile=subject.profile)
        except InputError as error:
            raise InputError(f"document {document.name!r}: {error}") from None
        if subject.config is None:
            score, passed = (float(ev.summary[name]) for name in (self.measure, "pass_rate"))
            return _Reading(document.unit, score, passed, int(ev.summary["judge_errors"]))
        metrics = [spec.metric_id for spec in subject.config.metrics]
        rows = _by_path(ev.fields[ev.fields["metric"].isin(metrics)])
        if rows.empty:
            return None
        scores = rows["score"].to_numpy(float, na_value=np.nan)
        errors = int(np.isnan(scores).sum())
        mean = float(np.nanmean(scores)) if errors < len(scores) else np.nan
        return _Reading(document.unit, mean, float(rows["passed"].mean()), errors)

    def _empty(self, corruptions: Iterable[Corruption]) -> _Readings:
        rates = dict.fromkeys(rate for rate, _ in self.copies)
        return {(s, one, rate): [] for s in self.subjects for one in corruptions for rate in rates}


class _Document(NamedTuple):
    """A gold document, its schema as declared and under each subject, and what it may borrow."""

    unit: int
    name: str
    root: Node
    gold: Any
    tried: Mapping[_Subject, Schema]
    donors: Sequence[Pool]
