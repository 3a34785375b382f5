"""The items of one array, as evaluated and at other thresholds: then they are evaluated again."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

import pandas as pd

from extractbench_nb.core import REGISTRY, Evaluation, MapItem, evaluate
from extractbench_nb.core.schema import NodeConfig, Schema
from extractbench_nb.core.text import JudgeError, Verdict
from extractbench_nb.core.values import canonical, json_text
from extractbench_nb.support.wording import fitted

#: Keys of the thresholds of the array itself; those of its items have their fields.
ALIGN, PASS = "align_threshold", "pass_threshold"
_ARRAY_METRIC = "array_llm"
_WIDEST_NAME, _MOST_KEPT = 80, 4


class Knob(NamedTuple):
    """A threshold that can be changed: the param of one metric of one field.

    ``key`` is its name for users: ``align_threshold``, ``pass_threshold``, or the item's field.
    """

    key: str
    field: str
    metric: str
    param: str
    declared: float


class Outcome(NamedTuple):
    """The array's row of ``arrays``, and its rows of ``matches`` and ``fields``."""

    summary: pd.Series
    matches: pd.DataFrame
    fields: pd.DataFrame


class ArrayMatches:
    """One array of an evaluation, whose thresholds can be tried.

    ``knobs`` are the thresholds that can be changed. ``note`` is a caveat about changed ones; empty
    if they have their full effect. ``evaluated`` is the outcome as evaluated.
    """

    def __init__(self, ev: Evaluation, path: str) -> None:
        self._ev, self.path = ev, path
        self._known: dict[tuple[float, ...], Outcome] = {}
        self.evaluated = self._outcome(ev)
        field = str(self.evaluated.summary["field"])
        self._configs = _configs(ev.schema, field)
        self.knobs = _knobs(field, self._configs)
        self._is_replayed = (ev.meta["judge"], ev.meta["alignment"]) != ("offline", "optimal")
        metrics = map(REGISTRY.entries.get, ev.fields["metric"].unique())
        self.note = ""
        if not self.knobs:
            self.note = "No metric of this array or of its items has a threshold."
        elif any(metric is not None and metric.is_async for metric in metrics):
            self.knobs = []
            self.note = "A metric is awaited and is not run again: thresholds stay as declared."
        elif self._is_replayed and not ev.array_records():
            self.knobs = []
            self.note = (
                "This evaluation was stored or copied without its records, so that thresholds "
                "cannot be changed. Evaluate again to try others."
            )
        elif self._is_replayed:
            judge = fitted(ev.meta["judge"], _WIDEST_NAME)
            who = "Nothing is run" if judge == "offline" else f"Judge {judge!r} is not asked"
            self.note = f"{who} again: thresholds are applied to recorded pairs and answers."

    def at(self, values: Mapping[str, float]) -> Outcome:
        """Return the outcome at other thresholds; `values` has them by key of the knob."""
        marks = {knob: values.get(knob.key, knob.declared) for knob in self.knobs}
        changed = {knob: mark for knob, mark in marks.items() if mark != knob.declared}
        if not changed or self.evaluated.summary["matched"] is pd.NA:
            return self.evaluated
        key = tuple(marks.values())
        if key not in self._known:
            if len(self._known) == _MOST_KEPT:
                del self._known[next(iter(self._known))]
            self._known[key] = self._outcome(self._again(marks, changed))
        return self._known[key]

    def _again(self, marks: Mapping[Knob, float], changed: Mapping[Knob, float]) -> Evaluation:
        ev = self._ev
        metrics = {
            field: _with_params(
                self._configs[field],
                {(k.metric, k.param): mark for k, mark in changed.items() if k.field == field},
            )
            for field in {knob.field for knob in changed}
        }
        options: dict[str, Any] = {"profile": ev.profile, "accepted": _accepted(ev)}
        if self._is_replayed:
            align = next((mark for knob, mark in marks.items() if knob.key == ALIGN), 0.0)
            options["judge"] = _RecordedJudge(ev)
            options["alignment"] = _recorded_pairs(ev, self.path, align)
        _, gold, predicted, _ = ev.inputs
        if isinstance(predicted, str):  # a text would be read as JSON
            predicted = json.dumps(predicted)
        return evaluate(ev.schema, gold, predicted, metrics=metrics, **options)

    def unlike(self, values: Mapping[str, float]) -> dict[int, tuple[int, float]]:
        """Return the pairs that only ``align_threshold`` keeps apart.

        They are the predicted index and the similarity, by the gold index.
        """
        if ALIGN not in {knob.key for knob in self.knobs}:
            return {}
        now, then = self.at(values).matches, self.at({**values, ALIGN: 0.0}).matches
        alone = {
            side: set(now.loc[now["status"] == status, f"{side}_index"])
            for side, status in (("gold", "missed"), ("predicted", "spurious"))
        }
        rows = then[then["gold_index"].isin(alone["gold"])]
        rows = rows[rows["predicted_index"].isin(alone["predicted"])]
        cells = zip(rows["predicted_index"], rows["similarity"], strict=True)
        return dict(zip(rows["gold_index"], cells, strict=True))

    def _outcome(self, ev: Evaluation) -> Outcome:
        arrays, matches, fields = ev.arrays, ev.matches, ev.fields
        own = arrays[arrays["path"] == self.path]
        if own.empty:  # the items around it have no partner at these thresholds
            summary, matches, fields = self.evaluated
            found = ("path", "field", "counted", "gold_items", "predicted_items")
            summary = summary.where(summary.index.isin(found), pd.NA)
            return Outcome(summary, matches.head(0), fields.head(0))
        paths = fields["path"]
        inside = (paths == self.path) | paths.str.startswith(self.path + "[")
        return Outcome(
            own.iloc[0],
            matches[matches["path"] == self.path].reset_index(drop=True),
            fields[inside.astype(bool)].reset_index(drop=True),
        )


# --- thresholds in the schema -----------------------------------------------------------------


def _configs(schema: Schema, field: str) -> dict[str, NodeConfig]:
    """Return the configs of an array and of what is below it, by field.

    A field is left out whose branches of a union have several; recursion is not unfolded.
    """
    found: dict[str, list[NodeConfig]] = {}
    todo = schema.nodes_of(field)
    while todo:
        node = todo.pop()
        if node.config is not None and node.config.skip:
            continue
        known = found.setdefault(node.field or "$", [])
        if node.config is not None and node.config not in known:
            known.append(node.config)
        if not node.recursive:
            todo.extend(reversed(list(node.children)))
    # arrays in a map are flattened, and have no thresholds of their own
    return {f: some[0] for f, some in found.items() if len(some) == 1 and f != f"{field}.*"}


def _knobs(array: str, configs: Mapping[str, NodeConfig]) -> list[Knob]:
    knobs: list[Knob] = []
    for field, config in configs.items():
        own: dict[str, Knob] = {}
        for spec in config.metrics:
            entry = REGISTRY.entries.get(spec.metric_id)
            param = PASS if spec.metric_id == _ARRAY_METRIC else entry and entry.threshold
            if (field == array and spec.metric_id != _ARRAY_METRIC) or entry is None or not param:
                continue
            params = {ALIGN: 0.5, PASS: 0.7} if field == array else {param: 0.7}
            for name, otherwise in params.items():
                value = spec.params.get(name, entry.defaults.get(name, otherwise))
                declared = float(value if isinstance(value, int | float) else otherwise)
                key = name if field == array else f"{field} {spec.metric_id}"
                own.setdefault(key, Knob(key, field, spec.metric_id, name, declared))
        is_single = field != array and len(own) == 1
        knobs += [knob._replace(key=field) if is_single else knob for knob in own.values()]
    return knobs


def _with_params(config: NodeConfig, values: Mapping[tuple[str, str], float]) -> dict[str, Any]:
    """Write a config with other values of some params, by metric and name."""
    metrics = [
        {
            "metric_id": spec.metric_id,
            "weight": spec.weight,
            "params": {
                **spec.params,
                **{p: v for (m, p), v in values.items() if m == spec.metric_id},
            },
        }
        for spec in config.metrics
    ]
    accepted = {"accepted": [list(same) for same in config.accepted]} if config.accepted else {}
    return {"metrics": metrics, "aggregation_weight": config.weight, **accepted}


# --- what was recorded ------------------------------------------------------------------------


def _accepted(ev: Evaluation) -> list[dict[str, Any]]:
    """Return the accepted alternatives that scored, of items and of scalars that are in none."""
    matches, fields = ev.matches, ev.fields
    rows = matches[matches["accepted_as"].notna()]
    texts = {
        f"{path}[{at}]": text
        for path, at, gold, text in rows[["path", "gold_index", "gold", "accepted_as"]].to_numpy()
        if not isinstance(gold, MapItem)
    }
    rows = fields.loc[fields["accepted_as"].notna(), ["path", "accepted_as"]]
    texts |= {p: text for p, text in rows.to_numpy() if not p.startswith(tuple(texts))}
    return [{"path": path, "value": json.loads(text)} for path, text in texts.items()]


class _RecordedJudge:
    """Gives the answers that another judge gave; about other texts it has no verdict."""

    def __init__(self, ev: Evaluation) -> None:
        self.name = ev.meta["judge"]
        columns = ("gold", "accepted_as", "predicted", "score", "reason", "reasoning", "metric")
        self._answers: dict[tuple[str, str], Any] = {}
        for gold, accepted, predicted, *answer, metric in ev.fields[[*columns]].to_numpy():
            if metric in REGISTRY.entries and REGISTRY.entries[metric].judged:
                read = json.loads(accepted) if isinstance(accepted, str) else gold
                self._answers[json_text(read), json_text(predicted)] = answer

    def compare(self, gold: str, predicted: str) -> Verdict:
        """Return the recorded answer."""
        score, reason, told = self._answers.get((gold, predicted), (pd.NA, "", "not asked again"))
        told = None if told is pd.NA else told
        if score is pd.NA:
            raise JudgeError(told or "no verdict")
        return Verdict(score, reason, told)


def _recorded_pairs(ev: Evaluation, path: str, align: float) -> Callable[..., list[Any]]:
    """Return a matcher that pairs items as recorded; in one array only those that are alike."""
    recorded: dict[tuple[int, str], list[Any]] = {}
    for array in ev.array_records():
        pairs = []
        for pair in array.pairs:
            is_alike = pair.status == "matched" or (pair.similarity or 0.0) >= align
            is_kept = is_alike if array.paths.gold == path else pair.status != "apart"
            if is_kept or pair.unresolved or ev.meta["alignment"] == "callable":
                pairs.append((pair.gold_index, pair.predicted_index))
        key = len(array.gold_items), canonical(array.predicted_items)
        if array.paths.gold == path or key not in recorded:
            recorded[key] = [pair for pair in pairs if None not in pair]
    return lambda gold, predicted, _: recorded.get((len(gold), canonical(predicted)), [])
