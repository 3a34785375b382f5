"""Scoring two values at one node of the schema: one verdict per metric.

States are resolved first, then types, then the metrics run. No value makes this module raise: a
metric that fails gives a verdict ``judge_error``.
"""

from __future__ import annotations

import inspect
from collections.abc import Awaitable, Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from math import nan
from typing import Any, NamedTuple

from extractbench_nb.core.accepted import Alternatives, class_members
from extractbench_nb.core.field_metrics.registry import REGISTRY, MetricScore
from extractbench_nb.core.profile_rules import Profile
from extractbench_nb.core.schema.evaluation_config import DEFAULTS, MetricSpec
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
from extractbench_nb.core.text.quantities import as_number
from extractbench_nb.core.values import (
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
_CONTAINERS = {"object", "array"}
_NUMBERS = {int, float}
#: Scores of the offline judge from here on mean the same text; lower ones are text similarity.
_SAME = 0.7

Call = Callable[[], Awaitable[Any]]
#: What two values are compared by; the node is what judges and class metrics are told about.
Compare = Callable[[Node, Any, Any], Any]

# --- verdicts -------------------------------------------------------------------------------------


class Scored(NamedTuple):
    """The verdict of one metric on one pair of values.

    ``result`` is the object that a metric with ``details`` returned, or of a metric that failed a
    dict with ``error`` and ``error_type``; ``calls`` are the calls of models behind the verdict;
    ``accepted`` is JSON text, the alternative that was compared in place of the gold value.
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

    def of_alternative(self, alternative: str, *, is_present: bool = True) -> Scored:
        """Say which alternative the verdict is about; `is_present` tells whether gold has one.

        If it has, a value that is rightly absent is correct.
        """
        verdict = self._replace(accepted=alternative)
        if is_present and verdict.outcome == "both_absent":
            return verdict._replace(outcome="correct", reason="accepted_absent")
        return verdict


class Pending(NamedTuple):
    """A verdict that must be awaited.

    ``alternative`` is what `Scored.of_alternative` is told, if the call is about an alternative.
    ``options`` are the verdicts on the gold value and its alternatives, where there are several.
    """

    metric: BoundMetric
    call: Call
    alternative: tuple[str, bool] | None = None
    options: tuple[Scored | Pending, ...] = ()

    def of_alternative(self, alternative: str, *, is_present: bool = True) -> Pending:
        """Say which alternative the verdict is about."""
        return self._replace(alternative=(alternative, is_present))

    async def settled(self) -> Scored:
        """Await one option after the other until one passes; the best counts, with all calls."""
        known: list[Scored] = []
        for option in self.options or (self,):
            if isinstance(option, Scored):
                known.append(option)
            else:
                try:
                    result = await option.call()
                except Exception as error:  # noqa: BLE001 - it becomes a verdict
                    result = error
                verdict = option.metric.verdict(result)
                if option.alternative is not None:
                    text, is_present = option.alternative
                    verdict = verdict.of_alternative(text, is_present=is_present)
                known.append(verdict)
            if known[-1].passed:
                break
        best = max(known, key=lambda verdict: _rank([verdict]))
        return best._replace(calls=tuple(call for verdict in known for call in verdict.calls))


Verdicts = tuple[Scored | Pending, ...]


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


def _rank(verdicts: Sequence[Any]) -> tuple[float, float]:
    """Rank options: those that pass, those without a verdict, the others; then by score."""
    score, passed = point_score(verdicts)
    return 0.5 if passed is None else float(passed), score or 0.0


def unaligned(error: JudgeError) -> Scored:
    """Return the verdict on an array whose items could not be aligned."""
    spec = MetricSpec(REGISTRY.built_in_that("aligns").name)
    return BoundMetric(spec, 1.0, lambda *_: None).failed(error)


# --- one metric -----------------------------------------------------------------------------------

#: What comparisons return that is no awaitable, most often.
_SETTLED = frozenset({float, MetricScore, Verdict})
_NO_DETAILS = object()


class _Later(NamedTuple):
    """What a comparison returns that must be awaited."""

    call: Call


class BoundMetric:
    """A metric with the params of a field: it turns whatever a comparison returns into a verdict.

    ``reflexive`` are the types of scalars for which the verdict on equal values is always the same.
    """

    __slots__ = ("compare", "is_judged", "mark", "reflexive", "right", "spec", "wrong")

    def __init__(
        self,
        spec: MetricSpec,
        mark: float,
        compare: Compare,
        *,
        is_judged: bool = False,
        reflexive: Collection[type] = (),
    ) -> None:
        self.spec, self.mark, self.compare = spec, mark, compare
        self.is_judged, self.reflexive = is_judged, reflexive
        name, weight = spec.metric_id, spec.weight
        self.right = Scored(name, 1.0, True, "correct", "match", None, weight)
        self.wrong = Scored(name, 0.0, False, "incorrect", "value_mismatch", None, weight)

    def __call__(self, node: Node, gold: Any, predicted: Any) -> Scored | Pending:
        """Compare two values that are present; a metric must not stop an evaluation."""
        try:
            result = self.compare(node, gold, predicted)
        except Exception as error:  # noqa: BLE001
            return self.failed(error)
        kind = type(result)
        if kind is bool:
            return self.right if result else self.wrong
        if kind is float and 0.0 <= result <= 1.0 and not self.is_judged:
            usual = self.right if result >= self.mark else self.wrong
            name, _, passed, outcome, reason, _, weight, *_ = usual
            return Scored(name, result, passed, outcome, reason, None, weight)
        if kind is Scored:
            settled: Scored = result
            return settled
        if kind is _Later:
            return Pending(self, result.call)
        if kind not in _SETTLED and inspect.isawaitable(result):
            return Pending(self, lambda: result)
        return self.verdict(result)

    def verdict(self, result: Any) -> Scored:
        """Turn what a metric or a judge returned into a verdict, or say why it is not one."""
        if isinstance(result, BaseException):
            return self.failed(result)
        value, passed, reason, reasoning, calls = result, None, None, None, ()
        is_known = type(result) in _SETTLED
        details = _NO_DETAILS if is_known else getattr(result, "details", _NO_DETAILS)
        if isinstance(result, MetricScore):
            value, passed, reason, reasoning = result
        elif self.is_judged:
            try:
                value, reason, reasoning = result.score, result.reason, result.reasoning
                passed, calls = bool(value >= self.mark), getattr(result, "calls", ())
            except (AttributeError, TypeError) as error:
                return self.failed(error, f"returned {result!r}; expected a Verdict")
        elif details is not _NO_DETAILS:
            value, passed = result.score, result.passed
            texts = details if isinstance(details, Mapping) else {}
            reason, reasoning = (
                text if isinstance(text := texts.get(name), str) and text else None
                for name in ("reason", "reasoning")
            )
        try:
            score = float(value)
        except (TypeError, ValueError):
            score = nan
        is_verdict = not isinstance(result, MetricScore) or passed in (None, True, False)
        if not 0.0 <= score <= 1.0 or not is_verdict:
            problem = f"returned {result!r}; expected a score from 0 to 1, a bool or a MetricScore"
            return self.failed(ValueError(problem), problem)
        passed = score >= self.mark if passed is None else bool(passed)
        usual = self.right if passed else self.wrong
        reason, result = reason or usual.reason, None if details is _NO_DETAILS else result
        name, weight = usual.metric, usual.weight
        return Scored(name, score, passed, usual.outcome, reason, reasoning, weight, result, calls)

    def failed(self, error: BaseException, problem: str | None = None) -> Scored:
        """Return the verdict of a metric that gave none; an `UnavailableError` is raised."""
        if isinstance(error, UnavailableError):
            raise error
        reason = "metric_error"
        calls: tuple[JudgeCall, ...] = ()
        if isinstance(error, ConfigError):
            problem = error.problem
        problem = problem or f"{type(error).__name__}: {error}"
        if isinstance(error, JudgeError):
            problem, reason, calls = error.problem, error.reason, error.calls
        details = {"error": str(error), "error_type": type(error).__name__}
        name, weight = self.spec.metric_id, self.spec.weight
        return Scored(name, None, None, "judge_error", reason, problem, weight, details, calls)


# --- one pair of values ---------------------------------------------------------------------------

_REQUIRED_MISSING = Resolution(0.0, False, "omission", "required_missing")
_STRUCTURAL = Resolution(0.0, False, "structural", "type_mismatch")
_MISFIT = Resolution(0.0, False, "incorrect", "branch_mismatch")
_ABSENT = Resolution(1.0, True, "both_absent", "both_absent")
_NO_METRIC = (MetricSpec("equality"),)


@dataclass(slots=True)
class _ScoringRules:
    """The metrics of a config, and the verdicts of all of them that do not depend on values.

    ``metrics`` are bound at the first comparison; ``equal`` are the verdicts on equal scalars by
    their type, empty where they depend on the value; ``resolved`` those that no metric decides.
    """

    specs: tuple[MetricSpec, ...]
    config: object
    metrics: tuple[BoundMetric, ...] = ()
    equal: dict[type, Verdicts] = field(default_factory=dict)
    resolved: dict[Resolution, tuple[Scored, ...]] = field(default_factory=dict)


@dataclass(eq=False)
class Scorer:
    """Scores pairs of values under one profile, with one judge."""

    profile: Profile
    judge: Judge
    accepted: Alternatives = field(default_factory=Alternatives)
    ignored_params: dict[str, str] = field(default_factory=dict)
    _rules: dict[Any, _ScoringRules] = field(default_factory=dict)

    def score(
        self, node: Node, gold: Any, predicted: Any, others: Sequence[Any] | None = ()
    ) -> Verdicts:
        """Score one pair of values, an array as a whole: its state, then its types, then metrics.

        `others` are accepted alternatives to gold's value; the schema may declare more. None:
        gold's value alone is right.
        """
        if node.kind == "array":
            node, predicted = _as_whole_array(node, gold, predicted)
        elif others or (others is not None and node.config is not None and node.config.accepted):
            return self._best_of_accepted(node, gold, predicted, others)
        kind, other = type(gold), type(predicted)
        rules = self._rules_of(node, kind)
        if (kind is other and kind in SCALARS) or (kind in _NUMBERS and other in _NUMBERS):
            # scalars of one type are compared, whatever type the schema names
            is_equal = gold == predicted
            if is_equal and (always := rules.equal.get(kind)):
                return always
            if "enum" in node.keywords and _are_other_members(node, rules, gold, predicted):
                return self._equality(rules, gold, predicted, "value_mismatch")
            verdicts = self._compare(rules, node, gold, predicted)
            if is_equal and kind not in rules.equal:
                is_fixed = all(kind in metric.reflexive for metric in rules.metrics)
                rules.equal[kind] = verdicts if is_fixed else ()
            return verdicts
        gold_state = state_of(gold, node)
        if isinstance(predicted, Unusable):
            broken = Resolution(0.0, False, predicted.outcome, predicted.reason)
            return self.resolved(rules, broken if gold_state == PRESENT else _ABSENT)
        predicted_state = state_of(predicted, node)
        absent = resolve_states(gold_state, predicted_state)
        if absent is None:
            return self._score_present(rules, node, gold, predicted)
        if predicted_state == "missing" and node.required and gold_state == PRESENT:
            absent = _REQUIRED_MISSING
        return self.resolved(rules, absent)

    def _best_of_accepted(
        self, node: Node, gold: Any, predicted: Any, others: Sequence[Any]
    ) -> Verdicts:
        """Score a value that has accepted alternatives: the best one counts, gold's own if equal.

        A judge that is awaited is asked about gold first, about an alternative only if nothing
        before it passes, and not at all if the prediction equals one of them.
        """
        options = [self.score(node, gold, predicted, None)]
        is_present = state_of(gold, node) == PRESENT
        for other in (*others, *class_members(node, gold)):
            text = canonical(other)
            verdicts = self.score(node, other, predicted, None)
            options.append(tuple(v.of_alternative(text, is_present=is_present) for v in verdicts))
        known = [verdicts for verdicts in options if Pending not in map(type, verdicts)]
        best = max(known, key=_rank, default=options[0])
        if len(known) == len(options) or (known and _rank(best)[0] == 1.0):
            return best
        return tuple(
            next(v for v in verdicts if isinstance(v, Pending))._replace(options=verdicts)
            for verdicts in zip(*options, strict=False)
        )

    def resolved(self, rules: _ScoringRules, resolution: Resolution) -> tuple[Scored, ...]:
        """Give every metric of the node the same verdict, decided without running it."""
        verdicts = rules.resolved.get(resolution)
        if verdicts is None:
            verdicts = rules.resolved[resolution] = tuple(
                [Scored(s.metric_id, *resolution, None, s.weight) for s in rules.specs]
            )
        return verdicts

    def _score_present(
        self, rules: _ScoringRules, node: Node, gold: Any, predicted: Any
    ) -> Verdicts:
        """Score two values that are present, and not scalars of one type.

        Their types decide, or else the metrics of the node.
        """
        types, specs = node.types, node.specs
        gold_type, predicted_type = json_type(gold), json_type(predicted)
        # the schema may have texts read as numbers
        is_read = any(spec.params.get("parse") == "lenient" for spec in specs)
        is_read = is_read and isinstance(predicted, str)
        fits = predicted_type in types or (is_read and as_number(predicted, "lenient") is not None)
        if not types or (gold_type in types and fits):
            if predicted_type != gold_type and _CONTAINERS & {gold_type, predicted_type}:
                return self.resolved(rules, _MISFIT)
            is_whole = node.kind == "array" or any(spec.entry.takes_node for spec in specs)
            if gold_type in _CONTAINERS and not is_whole:
                return self._equality(rules, gold, predicted, "value_mismatch")
        elif predicted_type not in types and predicted_type != gold_type:
            return self.resolved(rules, _STRUCTURAL)
        elif gold_type in _CONTAINERS or predicted_type in _CONTAINERS:
            return self._equality(rules, gold, predicted, "gold_type_mismatch")
        elif gold_type != predicted_type:
            # the annotation has another type than the schema: compare the values as JSON text
            gold, predicted = json_text(gold), json_text(predicted)
            rules = self._rules_of(node, str)
        return self._compare(rules, node, gold, predicted)

    def _equality(self, rules: _ScoringRules, gold: Any, predicted: Any, reason: str) -> Verdicts:
        same = canonical_unordered(gold) == canonical_unordered(predicted)
        outcome, reason = ("correct", "identical") if same else ("incorrect", reason)
        return self.resolved(rules, Resolution(float(same), same, outcome, reason))

    def _compare(self, rules: _ScoringRules, node: Node, gold: Any, predicted: Any) -> Verdicts:
        """Run the metrics of a node."""
        if not rules.metrics:
            rules.metrics = tuple(self._bind(spec, node) for spec in rules.specs)
        return tuple([metric(node, gold, predicted) for metric in rules.metrics])

    def _rules_of(self, node: Node, kind: type) -> _ScoringRules:
        """Return the rules of a config, the same for all nodes that share it.

        The type of gold's value decides where the schema names no metric.
        """
        config = node.config
        key = kind if config is None else (id(config), node.kind == "array")
        rules = self._rules.get(key)
        if rules is None:
            if config is None and kind in SCALARS:
                config = DEFAULTS.get("integer" if kind is int else json_type(kind()))
            specs = config.metrics if config is not None else _NO_METRIC
            rules = self._rules[key] = _ScoringRules(specs, config)
        return rules

    def _bind(self, spec: MetricSpec, node: Node) -> BoundMetric:
        """Bind one metric to its params."""
        metric_id, params = spec.metric_id, dict(spec.params)
        try:
            entry = REGISTRY.get(metric_id)
            mark = entry.pass_mark(params)
        except (ConfigError, TypeError, ValueError) as error:  # where nothing was checked before
            problem = error
            return BoundMetric(spec, 1.0, lambda *_: problem)
        if entry.judged:
            return self._bind_judge(spec, mark, node)
        if entry.aligns:
            aligned = Scored(metric_id, None, None, ALIGNED, "", None, spec.weight)
            judge = self._bind_judge(spec, mark, None)  # nothing to align: the judge decides
            alignable = _ALIGNABLE if node.kind == "array" else ()
            return BoundMetric(
                spec, mark, lambda n, g, p: aligned if isinstance(g, alignable) else judge(n, g, p)
            )
        function = entry.function
        if function is None:
            unable = ConfigError(None, f"{metric_id} cannot score this value")
            return BoundMetric(spec, mark, lambda *_: unable)
        if entry is REGISTRY.built_in.get(metric_id) and not entry.is_async:
            run: Compare = lambda _, g, p: function(g, p, **params)  # noqa: E731
            return BoundMetric(spec, mark, run, reflexive=entry.reflexive)
        if entry.takes_node:
            run = lambda n, g, p: function(n, _own(g), _own(p), spec)  # noqa: E731
        else:
            run = lambda _, g, p: function(_own(g), _own(p), **params)  # noqa: E731
        if entry.is_async:
            return BoundMetric(spec, mark, lambda *values: _Later(lambda: run(*values)))
        return BoundMetric(spec, mark, run)

    def _bind_judge(self, spec: MetricSpec, mark: float, node: Node | None) -> BoundMetric:
        """Bind a metric that a judge decides."""
        if callable(getattr(self.judge, "ask", None)):  # it takes a whole `Question`
            return self._bind_questions(spec, mark, node)
        if "model" in spec.params and node is not None:
            self.ignored_params.setdefault(node.schema_path, spec.metric_id)
        ask: Callable[[str, str], Any] = self.judge.compare
        if inspect.iscoroutinefunction(ask):

            def later(_: Node, gold: Any, predicted: Any) -> _Later:
                return _Later(lambda: ask(json_text(gold), json_text(predicted)))

            return BoundMetric(spec, mark, later, is_judged=True)
        is_offline = isinstance(self.judge, OfflineJudge)

        def judged(_: Node, gold: Any, predicted: Any) -> Any:
            verdict = ask(json_text(gold), json_text(predicted))
            # the text similarity of containers changes with every added member, and text
            # comparison ignores brackets: [1, 2] and [[1], 2], "null" and [null]
            if is_offline and (isinstance(gold, _ALIGNABLE) or isinstance(predicted, _ALIGNABLE)):
                same = verdict.score >= _SAME
                if not same or _shape(gold) != _shape(predicted):
                    return Verdict(0.0, "other_shape" if same else verdict.reason)
            return verdict

        reflexive = {str} if type(self.judge) is OfflineJudge else ()
        return BoundMetric(spec, mark, judged, is_judged=True, reflexive=reflexive)

    def _bind_questions(self, spec: MetricSpec, mark: float, node: Node | None) -> BoundMetric:
        """Ask a judge that takes the question as a whole: what the schema says, and the params.

        Two equal values need no judge, unless the field words the question itself.
        """
        ask: Callable[[Question], Awaitable[Any]] = self.judge.ask  # type: ignore[attr-defined]
        identical = Scored(spec.metric_id, 1.0, True, "correct", "identical", None, spec.weight)
        always = spec.params.get("prompt_template") is not None

        def identical_or_later(at: Node, gold: Any, predicted: Any) -> Any:
            # the same JSON: 1 is neither "1" nor true
            if not always and canonical(gold) == canonical(predicted):
                return identical
            question = Question(gold, predicted, spec.metric_id, spec.params)
            if node is not None:
                question = question._replace(
                    schema_path=at.schema_path,
                    field=at.field,
                    type=at.label,
                    description=at.description,
                )
            return _Later(lambda: ask(question))

        return BoundMetric(spec, mark, identical_or_later, is_judged=True)


def _own(value: Any) -> Any:
    """Return a copy for code that is not ours and may change what it is given."""
    return private_copy(value) if isinstance(value, list | dict) else value


def _are_other_members(node: Node, rules: _ScoringRules, gold: Any, predicted: Any) -> bool:
    """Say whether a judge would compare two members of an enum: the schema tells them apart."""
    members = node.keywords["enum"]
    if type(gold) is not str or node.kind == "array" or not isinstance(members, list):
        return False
    if gold == predicted or not (gold in members and predicted in members):
        return False
    has_prompt = any(spec.params.get("prompt_template") is not None for spec in rules.specs)
    return not has_prompt and all(spec.entry.judged for spec in rules.specs)


def _shape(value: Any) -> Any:
    """Return the nesting of a value, without keys, scalars and the order of items."""
    if not isinstance(value, _ALIGNABLE):
        return ()
    inner = value.values() if isinstance(value, dict) else value
    kind = "object" if isinstance(value, dict) else "array"
    return kind, sorted(map(_shape, inner), key=repr)


def _as_whole_array(node: Node, gold: Any, predicted: Any) -> tuple[Node, Any]:
    """Return the node of an array and the predicted value, or what they are if one is no array."""

    def is_array(value: Any) -> bool:
        return isinstance(value, list | tuple) or (node.flattened and isinstance(value, dict))

    if PRESENT == state_of(gold, node) == state_of(predicted, node):
        if not is_array(gold):  # a fault of the annotation: compared as what it is
            return replace(node, kind="any", config=None), predicted
        if not is_array(predicted) or isinstance(gold, dict) != isinstance(predicted, dict):
            known = not node.types or json_type(predicted) in node.types
            return node, MISFIT if known else BROKEN
    return node, predicted
