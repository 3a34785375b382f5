"""`choose_metric`: the metric and threshold that agree best with verdicts on pairs of values."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from itertools import product
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import pandas as pd

from extractbench_nb.core import REGISTRY, Metric, evaluate
from extractbench_nb.core.frames import Column, DescribedFrames, FrameSpec
from extractbench_nb.core.schema import SchemaSource, parse_schema
from extractbench_nb.core.text import Judge
from extractbench_nb.core.values import canonical, json_type
from extractbench_nb.errors import InputError
from extractbench_nb.stats.agreements import kappas, share_interval
from extractbench_nb.stats.breakdowns import gather
from extractbench_nb.stats.intervals import EQUAL, Drawing, number, with_range
from extractbench_nb.support.cards import TextCard, more_rows
from extractbench_nb.support.pandas_helpers import refuse_missing
from extractbench_nb.support.wording import one_line, plural

_METRIC = (
    Column("field", "string", "field; missing in the row for all fields", nullable=True),
    Column("metric", "string", "metric; if missing in `choices`, see `note`", nullable=True),
    Column("config", "object", "`evaluation_config`, fitted to all its labels", nullable=True),
)
_AGREEMENT = (
    Column("right", "Int64", "labels that the metric agrees with, cross-validated", nullable=True),
    Column("agreement", "Float64", "right / labels", "0 to 1", True),
    Column("low", "Float64", "lower limit of its interval", "0 to 1", True),
    Column("high", "Float64", "upper limit of its interval", "0 to 1", True),
    Column("false_accepts", "Int64", "pairs labelled fail that the metric passes", nullable=True),
    Column("false_rejects", "Int64", "pairs labelled pass that the metric fails", nullable=True),
    Column(
        "kappa", "Float64", "Cohen's kappa; missing if only one verdict exists", "-1 to 1", True
    ),
)
CHOICE_COLUMNS = FrameSpec(
    "choices",
    "one row per field, and a last one for the labels of all fields",
    (
        *_METRIC,
        Column("labels", "int64", "usable labels", "0 and up"),
        Column("passing", "int64", "labels with the verdict pass", "0 to labels"),
        *_AGREEMENT,
        Column("note", "string", "reason for a missing choice, or a caveat"),
    ),
)
SCORE_COLUMNS = FrameSpec(
    "scores",
    "one row per field with both verdicts and metric, simplest metric first",
    (
        *_METRIC,
        Column("declared_right", "int64", "labels that it agrees with under its declared params"),
        *_AGREEMENT,
        Column("within_error", "bool", "whether it is within one standard error of the best"),
    ),
)
#: Labels that a choice needs, and labels of the rarer verdict among them; folds at most.
_LABELS, _RARER, _FOLDS = 20, 5, 10
#: Fields that a card shows.
_SHOWN = 12
_SIDES = ("gold", "predicted")
_SCALARS = {"string", "number", "integer", "boolean"}


@dataclass(frozen=True, repr=False, eq=False)
class MetricChoice(TextCard, DescribedFrames):
    """Metrics that fit labels. Made by `choose_metric`.

    Attributes
    ----------
    choices : pandas.DataFrame
        One row per field, and one for all labels; see `MetricChoice.columns()`.
    scores : pandas.DataFrame
        One row per field and metric that was tried.
    left_out : int
        Rows without a label, with a list or an object, or decided before any metric by a missing
        value or a wrong type.
    """

    _specs = (CHOICE_COLUMNS, SCORE_COLUMNS)

    choices: pd.DataFrame
    scores: pd.DataFrame
    left_out: int

    def write(self, schema: SchemaSource, *, pooled: bool = False) -> dict[str, Any]:
        """Write the chosen metrics into a copy of a schema, as ``evaluation_config``.

        Parameters
        ----------
        schema : dict, pathlib.Path, str, Pydantic model or Schema
            The schema of the labelled fields.
        pooled : bool, optional
            Use the choice of all labels for labelled fields without one of their own.

        Returns
        -------
        dict
            The schema without an envelope. ``aggregation_weight`` and ``accepted`` stay. A field
            that shares its definition has its config under ``evaluation_config_by_field``.

        Raises
        ------
        InputError
            There is nothing to write, or the schema has no such field.
        ConfigError
            A metric does not apply to the type of its field.
        """
        *rows, total = self.choices.to_dict("records")
        chosen = {r["field"]: r["config"] or (pooled and total["config"]) for r in rows}
        configs = {field: {**config} for field, config in chosen.items() if config}
        if not configs:
            raise InputError("no field has a metric to write; see the notes in .choices")
        before = parse_schema(schema)
        for field in configs:
            for old in filter(None, (node.config for node in before.nodes_of(field))):
                weight = {"aggregation_weight": old.weight} if old.weight != 1 else {}
                same = {"accepted": [*map(list, old.accepted)]} if old.accepted else {}
                configs[field] |= weight | same
        document: dict[str, Any] = json.loads(
            json.dumps(parse_schema(before, metrics=configs).document)
        )
        by_field = document["evaluation_config_by_field"]
        for field in configs:
            own = {node.pointer for node in before.nodes_of(field)}
            others = [node for node in before.nodes() if node.field != field]
            if own & {at for o in others for at in (o.pointer, (o.ref or "").removeprefix("#"))}:
                continue  # they share a definition
            for pointer in own:
                place: Any = document
                for step in pointer.split("/")[1:]:
                    key = step.replace("~1", "/").replace("~0", "~")
                    place = place[int(key) if isinstance(place, list) else key]
                place["evaluation_config"] = by_field[field]
            del by_field[field]
        if not by_field:
            del document["evaluation_config_by_field"]
        return document

    def __repr__(self) -> str:
        """Write the choice of each field with its agreement, or why there is none."""
        title = f"Metrics for {plural(int(self.choices['labels'].iloc[-1]), 'label')}"
        lines = [f"{title}; {plural(self.left_out, 'row')} left out" if self.left_out else title]
        *fields, total = self.choices.to_dict("records")
        for row in (*fields[:_SHOWN], total):
            text = row["note"]
            if row["config"]:
                params = row["config"].get("params", {}).items()
                rules = ", ".join(f"{name}={value!r}" for name, value in params)
                agreement = with_range(row["agreement"], row["low"], row["high"])
                accepts = plural(row["false_accepts"], "false accept")
                rejects = plural(row["false_rejects"], "false reject")
                text = (
                    f"{row['metric']}{f'({rules})' if rules else ''} agrees with {row['right']} of "
                    f"{row['labels']}, {agreement}; {accepts}, {rejects}; kappa "
                    f"{number(row['kappa'])}{text and '; '}{text}"
                )
            field = "all labels" if pd.isna(row["field"]) else one_line(row["field"], 40)
            lines.append(f"{field}: {text}")
        lines += filter(None, [more_rows(len(fields) - _SHOWN, "choices")])
        return "\n  ".join(lines)


def choose_metric(
    labels: object,
    *,
    judge: str | Judge = "offline",
    confidence: float = 0.95,
) -> MetricChoice:
    """Choose the metric and threshold for each field that agree best with labelled pairs.

    Parameters
    ----------
    labels : pandas.DataFrame, Evaluation, results of a batch, mapping or list
        Pairs with the verdicts of a person or a model: columns gold, predicted, ``expected`` or
        else ``passed``, and optionally field and document. Of ``fields`` without ``expected``, the
        rows that a judge decided are used.
    judge : str or Judge, optional
        Of judged metrics.
    confidence : float, optional
        Confidence level of the intervals, between 0 and 1.

    Returns
    -------
    MetricChoice
        `choices`, and `scores` of all metrics; ``write(schema)`` writes the chosen ones.

    Raises
    ------
    InputError
        A column is missing, a label is not True or False, no row has a label, or the labels are
        verdicts of the offline judge.

    Notes
    -----
    All metrics that are registered for the type of the values are tried. A metric without a
    threshold is simpler than one with a threshold, and a judged one is the least simple.

    Thresholds (and other settings of metrics without one) are fitted to all folds but one and tried
    on that one. Folds are documents, or groups of rows without them; ten at most. Of equally good
    settings the one nearest to the declared one is used.

    The choice is the simplest metric at most one standard error below the best (L. Breiman et al.,
    Classification and Regression Trees, 1984, section 3.4.3), here that of the paired difference.
    There is none with fewer than 20 labels or 5 of the rarer verdict, or if the interval of its
    agreement includes the share of the more frequent verdict.

    Examples
    --------
    >>> pairs = [("Acme", "ACME", True), ("Bolt", "bolt", True), ("Acme", "Acne", False)] * 8
    >>> labels = pd.DataFrame(pairs, columns=["gold", "predicted", "passed"])
    >>> found = choose_metric(labels)
    >>> found.choices["config"].tolist()
    [{'metric_id': 'string_case_insensitive'}]
    """
    drawing = Drawing(confidence, 2000)
    rows, left_out = _labelled(labels)
    choices: list[dict[str, Any]] = []
    scores: list[dict[str, Any]] = []
    for field in (*rows["field"].dropna().unique(), None):
        group = rows if field is None else rows[rows["field"] == field]
        choice, tables = _chosen(group, judge, drawing)
        choices.append({"field": field, **choice})
        scores += [{"field": field, **row} for row in tables]
    frames = CHOICE_COLUMNS.from_records(choices), SCORE_COLUMNS.from_records(scores)
    return MetricChoice(*frames, left_out + len(rows) - choices[-1]["labels"])


def _labelled(source: object) -> tuple[pd.DataFrame, int]:
    """Return the rows with a label and a scalar as gold, and the number of others."""
    several = [*source.values()] if isinstance(source, Mapping) else source
    results = several if isinstance(several, list | tuple) else [several]
    if any(getattr(result, "meta", {}).get("judge") == "offline" for result in results):
        raise InputError("labels are of the offline judge; expected those of a person or a model")
    frame = gather(source, "fields")
    name = "expected" if "expected" in frame.columns else "passed"
    refuse_missing(frame, (*_SIDES, name), "labels")
    if name == "passed" and {"metric", "outcome"} <= set(frame.columns):
        judged = [metric for metric, entry in REGISTRY.entries.items() if entry.judged]
        is_answer = frame["outcome"].isin(("correct", "incorrect"))
        frame = frame[frame["metric"].isin(judged) & is_answer]
    try:
        label = frame[name].astype("boolean")
    except (TypeError, ValueError):
        raise InputError(f"labels: {name} has a value that is not True, False or missing") from None
    rows = frame.reindex(columns=[*_SIDES, "field", "document"]).astype(object)
    rows = rows.where(rows.notna(), None).assign(label=label)
    is_scalar = [json_type(value) in _SCALARS for value in rows["gold"].tolist()]
    rows = rows[label.notna().to_numpy() & np.array(is_scalar, dtype=bool)]
    if rows.empty:
        raise InputError(f"labels: no row has a text, a number or a boolean as gold and a {name}")
    return rows, len(frame) - len(rows)


def _chosen(
    rows: pd.DataFrame, judge: str | Judge, drawing: Drawing
) -> tuple[dict[str, Any], list[dict[str, Any]]]:
    """Return the choice for some rows, and the scores of all metrics."""
    rows, trials = _scored_pairs(rows, judge)
    label, size = rows["label"].to_numpy(bool), len(rows)
    passing = int(label.sum())
    choice = {"labels": size, "passing": passing}
    if size < _LABELS or min(passing, size - passing) < _RARER:
        given = f"{passing} pass, {size - passing} fail"
        note = f"too few labels: {given}; {_LABELS} are needed, {_RARER} of each verdict"
        return choice | {"note": note}, []
    documents = pd.factorize(rows["document"], use_na_sentinel=False)[0]
    units = documents if documents.any() else np.arange(size)
    folds = np.random.default_rng(drawing.seed).permutation(units.max() + 1)[units] % _FOLDS
    verdicts = np.array([trial.cross_validated(label, folds) for trial in trials])
    right = verdicts == label
    best = right[right.sum(axis=1).argmax()].astype(float)
    scores: list[dict[str, Any]] = []
    for trial, verdict, agrees in zip(trials, verdicts, right, strict=True):
        counts = np.zeros((documents.max() + 1, 2, 2))  # pass first, as labelled by as scored
        np.add.at(counts, (documents, (~label).astype(int), (~verdict).astype(int)), 1)
        low, high, _ = share_interval(counts, drawing)
        kappa = float(kappas(counts.sum(axis=0)))
        behind = best - agrees
        spread = np.bincount(units, behind - behind.mean())
        error = np.sqrt(len(spread) / (len(spread) - 1) * (spread**2).sum()) / size
        scores.append(
            {
                "metric": trial.metric,
                "config": trial.config(label),
                "declared_right": int((trial.passed[0] == label).sum()),
                "right": int(agrees.sum()),
                "agreement": float(agrees.mean()),
                "low": low,
                "high": high,
                "false_accepts": int((~label & verdict).sum()),
                "false_rejects": int((label & ~verdict).sum()),
                "kappa": None if np.isnan(kappa) else kappa,
                "within_error": bool(behind.mean() <= error + EQUAL),
            }
        )
    chosen = next(row for row in scores if row["within_error"])
    notes = []
    constant = max(passing, size - passing)
    if chosen["low"] * size <= constant:
        always = "pass" if constant == passing else "fail"
        notes = [f"no metric is clearly better than {always!r} for all pairs, {constant} right"]
        chosen = {}
    texts = [canonical([*pair]) for pair in zip(rows["gold"], rows["predicted"], strict=True)]
    alike = rows["label"].astype(int).groupby(texts).agg(["sum", "size"])
    most = np.maximum(alike["sum"], alike["size"] - alike["sum"]).sum()
    if most < size:
        notes.append(f"labels contradict each other: at most {most} can be right")
    return choice | chosen | {"note": "; ".join(notes)}, scores


# --- trials: which pairs pass by each setting of a metric ---------------------------------------

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


class _Trial(NamedTuple):
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


def _scored_pairs(rows: pd.DataFrame, judge: str | Judge) -> tuple[pd.DataFrame, list[_Trial]]:
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
        trials.append(_Trial(entry.name, params, found))
    return rows, trials
