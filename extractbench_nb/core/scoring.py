"""Scoring two values at one node of the schema: one verdict per metric.

States are resolved first, then types, then the metrics run. No value makes this module raise: a
metric that fails gives a verdict ``judge_error``.
"""

from __future__ import annotations

import inspect
from collections.abc import Awaitable, Callable, Collection, Mapping, Sequence
from dataclasses import replace
from functools import partial
from math import nan
from typing import Any, NamedTuple

from extractbench_nb.core.accepted import Alternatives, class_members
from extractbench_nb.core.field_metrics.number_metrics import (
    as_number,
    boolean_exact,
    integer_exact,
    number_exact,
    number_tolerance,
)
from extractbench_nb.core.field_metrics.registry import REGISTRY, MetricScore
from extractbench_nb.core.field_metrics.string_metrics import (
    string_case_insensitive,
    string_exact,
    string_fuzzy,
    string_normalized,
)
from extractbench_nb.core.profile_rules import Profile
from extractbench_nb.core.schema.evaluation_config import MetricSpec, NodeConfig, default_config
from extractbench_nb.core.schema.schema_nodes import (
    BROKEN,
    MISFIT,
    PRESENT,
    Node,
    Resolution,
    Unusable,
    resolve_states,
    state_of,
)
from extractbench_nb.core.text.judging import Judge, JudgeCall, JudgeError, Question, Verdict
from extractbench_nb.core.text.offline_judge import OfflineJudge
from extractbench_nb.core.values.json_values import (
    SCALARS,
    canonical,
    canonical_unordered,
    json_text,
    json_type,
    private_copy,
)
from extractbench_nb.errors import ConfigError, UnavailableError

#: Outcome of a verdict that the alignment of items will replace.
ALIGNED = "aligned"

_ALIGNABLE = (list, tuple, dict)
_MEMO = 200_000
#: Scores of the offline judge from here on mean the same text; lower ones are text similarity.
_SAME = 0.7
_CONTAINERS = {"object", "array"}
_NO_METRIC = NodeConfig((MetricSpec("equality"),))


Call = Callable[[], Awaitable[Any]]


class Scored(NamedTuple):
    """The verdict of one metric on one pair of values.

    ``result`` is the object that a metric with ``details`` returned, or of a metric that failed a
    dict with ``error`` and ``error_type``; ``calls`` are the calls of models behind the verdict;
    ``accepted`` is JSON text, the alternative that was compared in place of gold's value.
    """

    metric: str
    score: float | None
    passed: bool | None
    outcome: str
    reason: str
    reasoning: str | None = None
    weight: float = 1.0
    result: Any = None
    calls: tuple[JudgeCall, ...] = ()
    accepted: str | None = None


class Pending(NamedTuple):
    """A verdict that must be awaited: the metric, and the call that gives its result."""

    spec: MetricSpec
    call: Call
    finish: Callable[[Any], Scored]


Verdicts = tuple[Scored | Pending, ...]
#: A metric bound to its params. The node is what judges and class metrics are told about. The
#: scorer is not bound, so that it goes with its evaluation, not with the next garbage collection.
Run = Callable[["Scorer", Node | None, Any, Any], Scored | Pending]


class _Rules(NamedTuple):
    """The metrics of a config, bound; and their verdicts on equal scalars by type.

    The latter are empty where they depend on the value.
    """

    runs: tuple[Run, ...]
    equal: dict[type, Verdicts]


class Scorer:
    """Scores pairs of values under one profile, with one judge."""

    def __init__(
        self, profile: Profile, judge: Judge, accepted: Alternatives | None = None
    ) -> None:
        self.profile = profile
        self.judge = judge
        self.accepted = Alternatives() if accepted is None else accepted
        #: Whether the judge takes a whole `Question`, which is then awaited.
        self._asks = callable(getattr(judge, "ask", None))
        self.ignored_params: dict[str, str] = {}
        self._rules: dict[Node, _Rules] = {}
        self._shared: dict[tuple[Any, ...], _Rules] = {}
        #: Types of scalars for which a metric's verdict on equal values is always the same.
        self._reflexive: dict[Run, Collection[type]] = {}
        self._resolved: dict[tuple[int, Resolution], tuple[Scored, ...]] = {}
        self._texts: dict[tuple[int, int, str, str], Verdicts] = {}
        self._kept: dict[int, Any] = {}  # what is known by its id, which stays unique

    def verdicts(self, node: Node, gold: Any, predicted: Any) -> Verdicts:
        """Score one pair of values at a leaf, or at an array that is scored as a whole."""
        kind, other = type(gold), type(predicted)
        if (kind is other and kind in SCALARS) or (kind in _NUMBERS and other in _NUMBERS):
            # scalars of one type are compared, whatever type the schema names
            rules = self._rules.get(node) or self._rules_of(node, gold)
            is_equal = gold == predicted
            verdicts = rules.equal.get(kind) if is_equal else None
            return verdicts or self._score_scalars(node, gold, predicted, rules, is_equal)
        gold_state = state_of(gold, node)
        if isinstance(predicted, Unusable):
            broken = Resolution(0.0, False, predicted.outcome, predicted.reason)
            return self.resolved(node, gold, broken if gold_state == PRESENT else _ABSENT)
        predicted_state = state_of(predicted, node)
        absent = resolve_states(gold_state, predicted_state)
        if absent is None:
            return self._score_present(node, gold, predicted)
        if predicted_state == "missing" and node.required and gold_state == PRESENT:
            absent = _REQUIRED_MISSING
        return self.resolved(node, gold, absent)

    def best_reading(
        self, node: Node, gold: Any, predicted: Any, others: Sequence[Any] = ()
    ) -> Verdicts:
        """Score a value that has accepted alternatives: the best one counts, gold's own if equal.

        A judge that is awaited is asked about gold first, about an alternative only if nothing
        before it passes, and not at all if the prediction equals one of them.
        """
        readings = [self.verdicts(node, gold, predicted)]
        is_present = state_of(gold, node) == PRESENT
        for other in (*others, *class_members(node, gold)):
            verdicts = self.verdicts(node, other, predicted)
            readings.append(accept(verdicts, canonical(other), is_present=is_present))
        known = [verdicts for verdicts in readings if Pending not in map(type, verdicts)]
        best = max(known, key=_rank, default=readings[0])
        if len(known) == len(readings) or (known and _rank(best)[0] == 1.0):
            return best
        return tuple(_first_that_passes(verdicts) for verdicts in zip(*readings, strict=False))

    def text_comparer(self, node: Node) -> Callable[[str, str], tuple[float, bool]] | None:
        """Return a fast comparison of texts at a node, for alignments; None if there is none."""
        config = node.config
        if node.kind != "scalar" or "string" not in node.types or config is None:
            return None
        entry = REGISTRY.entries.get(config.metrics[0].metric_id)
        if len(config.metrics) > 1 or entry is None or entry.is_async or config.accepted:
            return None
        if not entry.judged:
            run = self._rules_of(node, "").runs[0]

            def compare(gold: str, predicted: str) -> tuple[float, bool]:
                verdict = run(self, node, gold, predicted)
                if isinstance(verdict, Pending):
                    return 0.0, False
                return verdict.score or 0.0, bool(verdict.passed)

            return compare
        if "enum" in node.keywords:
            return None
        mark = entry.pass_mark(config.metrics[0].params)
        # an alignment compares too many pairs to await a judge for each
        awaited = self._asks or inspect.iscoroutinefunction(self.judge.compare)
        ask: Callable[[str, str], Any] = OfflineJudge().compare if awaited else self.judge.compare

        def compare_by_judge(gold: str, predicted: str) -> tuple[float, bool]:
            try:
                score = float(ask(gold, predicted).score)
            except Exception:  # noqa: BLE001 - reported when the pair itself is scored
                return 0.0, False
            return (score, score >= mark) if 0.0 <= score <= 1.0 else (0.0, False)

        return compare_by_judge

    def whole_array(self, node: Node, gold: Any, predicted: Any) -> Verdicts:
        """Score an array without alignment: a side is absent or broken, or a metric takes all."""
        if PRESENT == state_of(gold, node) == state_of(predicted, node):
            if not _is_array(node, gold):  # a fault of the annotation: compared as what it is
                node = replace(node, kind="any", config=None)
            elif not _is_array(node, predicted) or (
                isinstance(gold, dict) != isinstance(predicted, dict)
            ):
                known = not node.types or json_type(predicted) in node.types
                predicted = MISFIT if known else BROKEN
        return self.verdicts(node, gold, predicted)

    def resolved(self, node: Node, gold: Any, resolution: Resolution) -> tuple[Scored, ...]:
        """Give every metric of the node the same verdict, decided without running it."""
        config = _config(node, gold)
        verdicts = self._resolved.get((id(config), resolution))
        if verdicts is None:
            self._kept[id(config)] = config
            verdicts = self._resolved[id(config), resolution] = tuple(
                [Scored(s.metric_id, *resolution, None, s.weight) for s in config.metrics]
            )
        return verdicts

    def _score_scalars(
        self, node: Node, gold: Any, predicted: Any, rules: _Rules, is_equal: bool
    ) -> Verdicts:
        kind, key = type(gold), None
        if kind is str and node.kind != "array":
            # an alignment scores the same pair many times
            key = (id(node.keywords), id(node.config), gold, predicted)
            verdicts = self._texts.get(key)
            if verdicts is not None:
                return verdicts
            if "enum" in node.keywords and _are_other_members(node, gold, predicted):
                return self._equality(node, gold, predicted, "value_mismatch")
        verdicts = tuple([run(self, node, gold, predicted) for run in rules.runs])
        if is_equal and kind not in rules.equal:
            always = all(kind in self._reflexive.get(run, ()) for run in rules.runs)
            rules.equal[kind] = verdicts if always else ()
        if key is not None and len(self._texts) < _MEMO and Pending not in map(type, verdicts):
            self._kept[id(node)] = node
            self._texts[key] = verdicts
        return verdicts

    def _score_present(self, node: Node, gold: Any, predicted: Any) -> Verdicts:
        """Score two values that are present, and not scalars of one type.

        Their types decide, or else the metrics of the node.
        """
        types = node.types
        gold_type, predicted_type = json_type(gold), json_type(predicted)
        fits = predicted_type in types or _reads_texts(node, predicted)
        if not types or (gold_type in types and fits):
            if predicted_type != gold_type and _CONTAINERS & {gold_type, predicted_type}:
                return self.resolved(node, gold, _MISFIT)
            if gold_type in _CONTAINERS and not (node.kind == "array" or _has_class_metric(node)):
                return self._equality(node, gold, predicted, "value_mismatch")
        elif predicted_type not in types and predicted_type != gold_type:
            return self.resolved(node, gold, _STRUCTURAL)
        elif gold_type in _CONTAINERS or predicted_type in _CONTAINERS:
            return self._equality(node, gold, predicted, "gold_type_mismatch")
        elif gold_type != predicted_type:
            # the annotation has another type than the schema: compare the values as JSON text
            gold, predicted = json_text(gold), json_text(predicted)
        return tuple([run(self, node, gold, predicted) for run in self._rules_of(node, gold).runs])

    def _equality(self, node: Node, gold: Any, predicted: Any, reason: str) -> Verdicts:
        same = canonical_unordered(gold) == canonical_unordered(predicted)
        outcome, reason = ("correct", "identical") if same else ("incorrect", reason)
        return self.resolved(node, gold, Resolution(float(same), same, outcome, reason))

    def _rules_of(self, node: Node, gold: Any) -> _Rules:
        """Bind the metrics of a node to their params, once for all that declare them alike.

        The param ``model`` gives a warning for each config, which nodes of a ``$ref`` share.
        """
        rules = self._rules.get(node)
        if rules is not None:
            return rules
        config = _config(node, gold)
        key: tuple[Any, ...] = (node.kind == "array",)
        for spec in config.metrics:
            own = id(config) if "model" in spec.params else None
            key += (spec.metric_id, id(spec.params) if spec.params else None, spec.weight, own)
        rules = self._shared.get(key)
        if rules is None:
            self._kept[id(config)] = config
            runs = [self._bind(spec, node) for spec in config.metrics]
            rules = self._shared[key] = _Rules(tuple(runs), {})
        if node.config is not None:
            self._rules[node] = rules
        return rules

    def _bind(self, spec: MetricSpec, node: Node) -> Run:
        """Bind one metric to its params: a function that never raises."""
        metric_id, params = spec.metric_id, dict(spec.params)
        try:
            entry = REGISTRY.get(metric_id)
            mark = entry.pass_mark(params)
        except (ConfigError, TypeError, ValueError) as error:  # where nothing was checked before
            problem = error.problem if isinstance(error, ConfigError) else _message(error)
            failed = self.failed(spec, problem, error)
            return lambda s, n, g, p: failed
        function = entry.function
        if entry.takes_node and function is not None:
            return lambda s, n, g, p: s._pending(
                spec, lambda: function(n, _own(g), _own(p), spec), mark
            )
        if entry.judged:
            return self._bind_judge(spec, mark, node)
        if metric_id == "array_llm":
            aligned = Scored(metric_id, None, None, ALIGNED, "", None, spec.weight)
            judged = self._bind_judge(spec, mark, None)  # nothing to align: the judge decides
            alignable = _ALIGNABLE if node.kind == "array" else ()
            return lambda s, n, g, p: aligned if isinstance(g, alignable) else judged(s, None, g, p)
        if function is None:
            return lambda s, n, g, p: s.failed(spec, f"{metric_id} cannot score this value")
        if entry.is_async:
            return lambda s, n, g, p: s._pending(
                spec, lambda: function(_own(g), _own(p), **params), mark
            )
        bound = partial(function, **params) if params else function
        if entry is not REGISTRY.built_in.get(metric_id):
            return self._bind_function(spec, lambda g, p: bound(_own(g), _own(p)), mark)
        run = self._bind_function(spec, bound, mark)
        self._reflexive[run] = next((kinds for f, kinds in _REFLEXIVE if f is function), ())
        return run

    def _pending(self, spec: MetricSpec, call: Call, mark: float) -> Pending:
        return Pending(spec, call, lambda r: self._finish(spec, r, mark))

    def _bind_function(
        self, spec: MetricSpec, function: Callable[[Any, Any], Any], mark: float = 1.0
    ) -> Run:
        metric_id, weight = spec.metric_id, spec.weight
        right = Scored(metric_id, 1.0, True, "correct", "match", None, weight)
        wrong = Scored(metric_id, 0.0, False, "incorrect", "value_mismatch", None, weight)

        def run(scorer: Scorer, _: Node | None, gold: Any, predicted: Any) -> Scored | Pending:
            try:
                result = function(gold, predicted)
            except Exception as error:  # noqa: BLE001 - a metric must not stop an evaluation
                return scorer.failed(spec, _message(error), error)
            if result is True:
                return right
            if result is False:
                return wrong
            if type(result) is float and 0.0 <= result <= 1.0:
                passed = result >= mark
                outcome, reason = _RIGHT if passed else _WRONG
                return Scored(metric_id, result, passed, outcome, reason, None, weight)
            if inspect.isawaitable(result):
                return Pending(spec, lambda: result, lambda r: scorer._finish(spec, r, mark))
            return scorer._finish(spec, result, mark)

        return run

    def _bind_judge(self, spec: MetricSpec, mark: float, node: Node | None) -> Run:
        if self._asks:
            return self._bind_questions(spec, mark)
        if "model" in spec.params and node is not None:
            self.ignored_params.setdefault(node.schema_path, spec.metric_id)
        ask: Callable[[str, str], Any] = self.judge.compare
        if inspect.iscoroutinefunction(ask):

            async def awaited(gold: Any, predicted: Any) -> Any:
                return await ask(json_text(gold), json_text(predicted))

            return lambda s, n, g, p: s._judged(spec, lambda: awaited(g, p), mark)
        graded = isinstance(self.judge, OfflineJudge)

        def run(scorer: Scorer, _: Node | None, gold: Any, predicted: Any) -> Scored:
            try:
                verdict = ask(json_text(gold), json_text(predicted))
                # the text similarity of containers changes with every added member, and text
                # comparison ignores brackets: [1, 2] and [[1], 2], "null" and [null]
                if graded and (isinstance(gold, _ALIGNABLE) or isinstance(predicted, _ALIGNABLE)):
                    same = verdict.score >= _SAME
                    if not same or _shape(gold) != _shape(predicted):
                        verdict = Verdict(0.0, "other_shape" if same else verdict.reason)
                passed = verdict.score >= mark
                score = MetricScore(verdict.score, passed, verdict.reason, verdict.reasoning)
            except Exception as error:  # noqa: BLE001 - a judge must not stop an evaluation
                return scorer.failed(spec, _message(error), error)
            return scorer._finish(spec, score, mark)

        if type(self.judge) is OfflineJudge:
            self._reflexive[run] = {str}
        return run

    def _bind_questions(self, spec: MetricSpec, mark: float) -> Run:
        """Ask a judge that takes the question as a whole: what the schema says, and the params.

        Two equal values need no judge, unless the field words the question itself.
        """
        ask: Callable[[Question], Awaitable[Any]] = self.judge.ask  # type: ignore[attr-defined]
        identical = Scored(spec.metric_id, 1.0, True, "correct", "identical", None, spec.weight)
        always = spec.params.get("prompt_template") is not None

        def run(scorer: Scorer, node: Node | None, gold: Any, predicted: Any) -> Scored | Pending:
            # the same JSON: 1 is neither "1" nor true
            if not always and canonical(gold) == canonical(predicted):
                return identical
            question = Question(gold, predicted, spec.metric_id, spec.params)
            if node is not None:
                question = question._replace(
                    schema_path=node.schema_path,
                    field=node.field,
                    type=node.label,
                    description=node.description,
                )
            return scorer._judged(spec, lambda: ask(question), mark)

        return run

    def _judged(self, spec: MetricSpec, call: Call, mark: float) -> Pending:
        return Pending(spec, call, lambda r: self._finish_judged(spec, mark, r))

    def _finish_judged(self, spec: MetricSpec, mark: float, result: Any) -> Scored:
        """Turn a judge's verdict into one of ours, with the calls behind it."""
        if isinstance(result, JudgeError):
            failed = self.failed(spec, str(result), result)
            return failed._replace(reason=result.reason, calls=result.calls)
        if isinstance(result, BaseException):
            return self.failed(spec, _message(result), result)
        try:
            passed = result.score >= mark
            score = MetricScore(result.score, passed, result.reason, result.reasoning)
        except (AttributeError, TypeError) as error:
            return self.failed(spec, f"returned {result!r}; expected a Verdict", error)
        return self._finish(spec, score, mark)._replace(calls=getattr(result, "calls", ()))

    def _finish(self, spec: MetricSpec, result: Any, mark: float) -> Scored:
        """Turn what a metric returned into a verdict, or say why it is not one."""
        if type(result) is MetricScore:  # the usual case, in short
            score, passed, reason, reasoning = result
            if type(score) is float and 0.0 <= score <= 1.0 and type(passed) is bool:
                outcome, usual = _RIGHT if passed else _WRONG
                reason = reason or usual
                return Scored(
                    spec.metric_id, score, passed, outcome, reason, reasoning, spec.weight
                )
        if isinstance(result, BaseException):
            return self.failed(spec, _message(result), result)
        value, passed, reason, reasoning = result, None, None, None
        if isinstance(result, MetricScore):
            value, passed, reason, reasoning = result
        elif hasattr(result, "details"):
            value, passed = result.score, result.passed
            details = result.details if isinstance(result.details, Mapping) else {}
            reason, reasoning = (
                text if isinstance(text := details.get(name), str) and text else None
                for name in ("reason", "reasoning")
            )
        try:
            score = float(value)
        except (TypeError, ValueError):
            score = nan
        no_verdict = isinstance(result, MetricScore) and passed not in (None, True, False)
        if not 0.0 <= score <= 1.0 or no_verdict:
            return self.failed(
                spec, f"returned {result!r}; expected a score from 0 to 1, a bool or a MetricScore"
            )
        passed = score >= mark if passed is None else bool(passed)
        outcome = "correct" if passed else "incorrect"
        reason = reason or ("match" if passed else "value_mismatch")
        verdict = Scored(spec.metric_id, score, passed, outcome, reason, reasoning, spec.weight)
        return verdict._replace(result=result) if hasattr(result, "details") else verdict

    def unaligned(self, error: JudgeError) -> Scored:
        """Return the verdict on an array whose items could not be aligned."""
        failed = self.failed(MetricSpec("array_llm"), error.problem, error)
        return failed._replace(reason=error.reason, calls=error.calls)

    def failed(self, spec: MetricSpec, problem: str, error: BaseException | None = None) -> Scored:
        """Return the verdict of a metric that gave none; an `UnavailableError` is raised."""
        if isinstance(error, UnavailableError):
            raise error
        error = error or ValueError(problem)
        details = {"error": str(error), "error_type": type(error).__name__}
        verdict = Scored(spec.metric_id, None, None, "judge_error", "metric_error", problem)
        return verdict._replace(weight=spec.weight, result=details)


def accept(verdicts: Verdicts, text: str, *, is_present: bool = True) -> Verdicts:
    """Say in verdicts which alternative they are about; `is_present` tells whether gold has one.

    If it has, a value that is rightly absent is correct.
    """

    def accepted(verdict: Scored) -> Scored:
        if is_present and verdict.outcome == "both_absent":
            verdict = verdict._replace(outcome="correct", reason="accepted_absent")
        return verdict._replace(accepted=text)

    def finished(pending: Pending) -> Pending:
        return pending._replace(finish=lambda result: accepted(pending.finish(result)))

    return tuple(accepted(v) if isinstance(v, Scored) else finished(v) for v in verdicts)


def _rank(verdicts: Sequence[Any]) -> tuple[float, float]:
    """Rank readings: those that pass, those without a verdict, the others; then by score."""
    score, passed = point_score(verdicts)
    return 0.5 if passed is None else float(passed), score or 0.0


def _first_that_passes(verdicts: Sequence[Scored | Pending]) -> Pending:
    """Await the verdicts of several readings, until one passes; the best counts, with all calls."""

    async def ask() -> Scored:
        settled: list[Scored] = []
        for verdict in verdicts:
            if isinstance(verdict, Pending):
                try:
                    result = await verdict.call()
                except Exception as error:  # noqa: BLE001 - it becomes a verdict
                    result = error
                settled.append(verdict.finish(result))
            else:
                settled.append(verdict)
            if settled[-1].passed:
                break
        best = max(settled, key=lambda verdict: _rank([verdict]))
        return best._replace(calls=tuple(call for v in settled for call in v.calls))

    def finish(result: Any) -> Scored:
        if isinstance(result, BaseException):
            raise result
        scored: Scored = result
        return scored

    first = next(v for v in verdicts if isinstance(v, Pending))
    return Pending(first.spec, ask, finish)


def _own(value: Any) -> Any:
    """Return a copy for code that is not ours and may change what it is given."""
    return private_copy(value) if isinstance(value, list | dict) else value


_NUMBERS = {int, float}
#: Metrics whose verdict on two equal scalars of these types is always the same; 1 equals 1.0.
_REFLEXIVE: tuple[tuple[Callable[..., Any], Collection[type]], ...] = (
    (string_exact, {str}),
    (string_case_insensitive, {str}),
    (string_normalized, {str}),
    (string_fuzzy, {str}),
    (number_exact, _NUMBERS),
    (number_tolerance, _NUMBERS),
    (integer_exact, _NUMBERS),
    (boolean_exact, {bool}),
)
_RIGHT = ("correct", "match")
_WRONG = ("incorrect", "value_mismatch")
_REQUIRED_MISSING = Resolution(0.0, False, "omission", "required_missing")
_STRUCTURAL = Resolution(0.0, False, "structural", "type_mismatch")
_MISFIT = Resolution(0.0, False, "incorrect", "branch_mismatch")
_ABSENT = Resolution(1.0, True, "both_absent", "both_absent")


def _config(node: Node, gold: Any) -> NodeConfig:
    """Return the config of a node; gold's type decides where the schema names no metric."""
    if node.config is not None:
        return node.config
    kind = json_type(gold)
    if kind in _CONTAINERS:
        return _NO_METRIC
    return default_config("integer" if type(gold) is int else kind) or _NO_METRIC


def _are_other_members(node: Node, gold: str, predicted: str) -> bool:
    """Say whether a judge would compare two members of an enum: the schema tells them apart."""
    members = node.keywords.get("enum")
    if members is None or gold == predicted or gold not in members or predicted not in members:
        return False
    specs = _config(node, gold).metrics
    entries = [REGISTRY.entries.get(spec.metric_id) for spec in specs]
    has_prompt = any(spec.params.get("prompt_template") is not None for spec in specs)
    return not has_prompt and all(entry is not None and entry.judged for entry in entries)


def _shape(value: Any) -> Any:
    """Return the nesting of a value, without keys, scalars and the order of items."""
    if not isinstance(value, _ALIGNABLE):
        return ()
    inner = value.values() if isinstance(value, dict) else value
    kind = "object" if isinstance(value, dict) else "array"
    return kind, sorted(map(_shape, inner), key=repr)


def _message(error: BaseException) -> str:
    return f"{type(error).__name__}: {error}"


def _has_class_metric(node: Node) -> bool:
    specs = node.config.metrics if node.config is not None else ()
    return any(REGISTRY.takes_objects(spec.metric_id) for spec in specs)


def _reads_texts(node: Node, predicted: Any) -> bool:
    """Whether a text stands for a number, because the schema has texts read as numbers."""
    specs = node.config.metrics if node.config is not None else ()
    lenient = any(spec.params.get("parse") == "lenient" for spec in specs)
    return lenient and isinstance(predicted, str) and as_number(predicted, "lenient") is not None


def _is_array(node: Node, value: Any) -> bool:
    return isinstance(value, list | tuple) or (node.flattened and isinstance(value, dict))


def point_score(rows: Sequence[Scored]) -> tuple[float | None, bool | None]:
    """Combine the verdicts of a node's metrics."""
    if len(rows) == 1:
        return rows[0].score, rows[0].passed
    if any(row.passed is None for row in rows):
        return None, None
    weights = [row.weight for row in rows]
    if not sum(weights):
        weights = [1.0] * len(rows)
    total = sum((row.score or 0.0) * w for row, w in zip(rows, weights, strict=True))
    return min(1.0, total / sum(weights)), all(row.passed for row in rows)
