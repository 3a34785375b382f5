"""Metrics that are classes: registered, found, called, and what becomes of their results."""

import gc
import math
from dataclasses import dataclass
from typing import Any

import pandas as pd
import pytest

import extractbench_nb as xb
from extractbench_nb.compat.metric_classes import (
    BaseMetric,
    MetricResult,
    global_metric_registry,
)
from extractbench_nb.compat.structured import (
    StructuredEvaluator,
)

PROFILES = ["paper", "strict"]


class Half(BaseMetric):
    """Gives half the score.

    And no more than that.
    """

    metric_id = "half"

    async def evaluate(self, node: Any, config: Any = None) -> MetricResult:
        return MetricResult(self.metric_id, 0.5, True, {"reason": "half", "reasoning": "in words"})


def field(metric: Any, kind: str = "string", **params: Any) -> dict[str, Any]:
    config = metric if not isinstance(metric, str) else {"metric_id": metric, "params": params}
    return {"type": "object", "properties": {"x": {"type": kind, "evaluation_config": config}}}


def returning(value: Any) -> type:
    class Returning:
        metric_id = "returning"

        async def evaluate(self, node: Any, config: Any = None) -> Any:
            return value

    return Returning


def only_row(schema: Any, gold: Any = "a", predicted: Any = "b", profile: str = "paper") -> Any:
    fields = xb.evaluate(schema, {"x": gold}, {"x": predicted}, profile=profile).fields
    assert len(fields) == 1
    return fields.iloc[0]


@pytest.mark.parametrize("profile", PROFILES)
@pytest.mark.parametrize(
    "config", ["half", {"metrics": ["half"]}, {"metric_id": "half", "params": {"any": [1]}}]
)
def test_it_runs_in_every_profile_by_any_form_of_a_config(config, profile):
    assert global_metric_registry.register_metric(Half) == "half"
    row = only_row(field(config), profile=profile)
    assert (row.metric, row.score, row.passed, row.outcome) == ("half", 0.5, True, "correct")
    assert (row.reason, row.reasoning) == ("half", "in words")


@pytest.mark.parametrize("gold, predicted", [(None, "b"), ("a", None), (None, None)])
def test_states_decide_absent_values(gold, predicted):
    global_metric_registry.register_metric(Half)
    row = only_row(field("half"), gold, predicted)
    assert row.score == float(gold is predicted)
    assert row.outcome in ("both_absent", "omission", "hallucination")


def test_params_of_other_metrics_are_still_checked():
    global_metric_registry.register_metric(Half)
    with pytest.raises(xb.ConfigError, match="no param 'anything'"):
        only_row(field("string_fuzzy", anything=1))


def test_it_takes_the_place_of_a_metric_of_the_package():
    class Exact(Half):
        metric_id = "string_exact"

    with pytest.raises(xb.ConfigError, match="already registered; override=True"):
        global_metric_registry.register_metric(Exact)
    global_metric_registry.register_metric(Exact, override=True)
    assert only_row(field("string_exact")).score == 0.5


@pytest.mark.parametrize("profile", PROFILES)
def test_items_of_an_array_an_object_as_a_whole_and_shared_definitions(profile):
    seen: set[str] = set()

    class Same(BaseMetric):
        metric_id = "same"

        async def evaluate(self, node: Any, config: Any = None) -> MetricResult:
            seen.add(node.schema_path)
            same = node.get_gold_value() == node.get_extracted_value()
            return MetricResult("same", float(same), same)

    global_metric_registry.register_metric(Same)
    inner = field("same", "integer")
    whole = {**inner, "evaluation_config": "same"}
    schema = {
        "$defs": {"d": {"type": "string", "evaluation_config": "same"}},
        "type": "object",
        "properties": {
            "rows": {"type": "array", "items": inner},
            "whole": whole,
            "a": {"$ref": "#/$defs/d"},
            "b": {"$ref": "#/$defs/d"},
        },
    }
    rest = {"whole": {"x": 1}, "a": "t", "b": "t"}
    gold, predicted = ({"rows": [{"x": n} for n in ns], **rest} for ns in ([1, 2, 3], [3, 1, 9]))
    predicted["whole"] = {"x": 2}
    ev = xb.evaluate(schema, gold, predicted, profile=profile)
    assert ev.arrays[["matched", "missed", "spurious"]].to_numpy().tolist() == [[2, 1, 1]]
    scores = ev.fields.groupby("path").score.first()
    assert scores[["$.whole", "$.whole.x", "$.a", "$.b"]].tolist() == [0.0, 0.0, 1.0, 1.0]
    assert {"$.properties.a", "$.properties.b", "$.properties.whole"} <= seen
    assert ev.warnings.empty


def test_no_coroutine_is_left_behind():
    """An alignment estimates more pairs than it decides; warnings are errors here."""
    global_metric_registry.register_metric(Half)
    schema = {"type": "object", "properties": {"x": {"type": "array", "items": field("half")}}}
    items = [{"x": f"text {n}"} for n in range(30)]
    assert xb.evaluate(schema, {"x": items}, {"x": items[::-1]}).arrays.matched[0] == 30
    gc.collect()


# --- results ----------------------------------------------------------------------------------

WRONG = [
    *(None, True, 0.5, "text", {}, [], object(), MetricResult, Half),
    *(MetricResult("returning", score) for score in (1.5, -0.1, math.nan, None, "high")),
]


@pytest.mark.parametrize("value", WRONG, ids=lambda v: repr(v).partition(" at ")[0])
def test_what_is_no_result_is_no_verdict(value):
    global_metric_registry.register_metric(returning(value))
    row = only_row(field("returning"))
    assert (row.outcome, row.reason) == ("judge_error", "metric_error")
    assert pd.isna(row.score)
    assert "expected" in row.reasoning


@dataclass
class Foreign:
    metric_id: str
    score: float
    passed: bool


@pytest.mark.parametrize(
    "result, passed",
    [
        (MetricResult("returning", 1.0), True),
        (MetricResult("returning", 0.99), False),
        (MetricResult("returning", 0.25, True), True),
        (Foreign("returning", 0.25, True), True),
    ],
)
def test_a_result_of_any_class_counts(result, passed):
    global_metric_registry.register_metric(returning(result))
    row = only_row(field("returning"))
    assert (row.score, row.passed) == (result.score, passed)


class Failing(BaseMetric):
    metric_id = "failing"

    async def evaluate(self, node: Any, config: Any = None) -> MetricResult:
        raise KeyError("the service is down")


class Unfinished(BaseMetric):
    metric_id = "unfinished"


class Plain:
    metric_id = "plain"

    def evaluate(self, node: Any, config: Any = None) -> MetricResult:
        return MetricResult("plain", 0.75, True)


@pytest.mark.parametrize(
    "metric, reasoning, key, details",
    [
        (Failing, "KeyError: 'the service is down'", "error_failing",
         {"error": "'the service is down'", "error_type": "KeyError"}),
        (Unfinished, "NotImplementedError: Unfinished has no method evaluate(node, config)",
         "error_unfinished", {"error": "Unfinished has no method evaluate(node, config)",
                              "error_type": "NotImplementedError"}),
        (Plain, None, "plain", None),
    ],
)  # fmt: skip
def test_errors_are_rows_and_results(metric, reasoning, key, details):
    global_metric_registry.register_metric(metric)
    row = only_row(field(metric.metric_id))
    assert row.outcome == ("judge_error" if details else "correct")
    assert reasoning is None or row.reasoning == reasoning
    found = StructuredEvaluator().evaluate(field(metric.metric_id), {"x": "a"}, {"x": "b"})
    ((name, result),) = found["results"]["$.properties.x"].items()
    assert (name, result.details, result.score) == (key, details, 0.0 if details else 0.75)


# --- the registry -----------------------------------------------------------------------------


def test_unregister():
    global_metric_registry.register_metric(Half)
    assert global_metric_registry.has_metric("half")
    assert only_row(field("half")).score == 0.5
    for _ in range(2):
        global_metric_registry.unregister_metric("half")
        assert not global_metric_registry.has_metric("half")
    with pytest.raises(xb.ConfigError, match="unknown metric"):
        only_row(field("half"))


def test_a_cell_that_runs_again():
    """The new class is used."""
    for score in (0.1, 0.9):

        class Cell(BaseMetric):
            metric_id = "cell"
            value = score

            async def evaluate(self, node: Any, config: Any = None) -> MetricResult:
                return MetricResult("cell", self.value, True)

        global_metric_registry.register_metric(Cell)
        parsed = xb.schema.parse_schema(field("cell"))
        assert only_row(parsed).score == score


_CLASS = "class metric(Half):\n    {}\n"
_FUNCTION = "def metric():\n    return Half()\n"
_OTHER = "class Other(Half):\n    pass\nmetric = Other\n"


@pytest.mark.parametrize(
    "first, second, taken",
    [
        (_CLASS.format("pass"), _CLASS.format("again = True"), True),
        (_FUNCTION, _FUNCTION, True),
        (_CLASS.format("pass"), _OTHER, False),
        (_CLASS.format("pass"), _CLASS.format("__module__ = 'elsewhere'"), False),
    ],
)
def test_only_what_is_defined_anew_takes_its_own_place(first, second, taken):
    cells = []
    for body in (first, second):
        names: dict[str, Any] = {"__name__": "__main__", "Half": Half}
        exec(body, names)  # noqa: S102 - the same text again is a cell that runs again
        cells.append(names["metric"])
    global_metric_registry.register_metric(cells[0])
    if not taken:
        with pytest.raises(xb.ConfigError, match="'half' is already registered; override=True"):
            global_metric_registry.register_metric(cells[1])
    global_metric_registry.register_metric(cells[1], override=not taken)
    assert global_metric_registry.available_metrics().count("half") == 1


@pytest.mark.parametrize(
    "factory",
    [
        Half(),
        type("NoName", (), {"evaluate": lambda *_: None}),
        type("NoCall", (), {"metric_id": "x"}),
        type("BadName", (BaseMetric,), {"metric_id": 7}),
        type("Nameless", (BaseMetric,), {"metric_id": ""}),
    ],
)
def test_what_is_no_metric_is_refused(factory):
    before = global_metric_registry.available_metrics()
    with pytest.raises(xb.ConfigError, match="is not a metric; expected a class"):
        global_metric_registry.register_metric(factory)
    assert global_metric_registry.available_metrics() == before


# --- the context ------------------------------------------------------------------------------


TYPES = [
    ({"type": "string"}, "string"),
    ({"type": ["integer", "null"]}, "integer"),
    ({"items": {"type": "string"}}, "array"),
    ({}, None),
]


@pytest.mark.parametrize("node, kind", TYPES)
def test_a_context_has_values_and_keywords_read_only(node, kind):
    seen: list[Any] = []

    class Seen(Half):
        async def evaluate(self, node: Any, config: Any = None) -> MetricResult:
            seen.append((node, config))
            return await super().evaluate(node, config)

    global_metric_registry.register_metric(Seen)
    config = {"metrics": [{"metric_id": "half", "params": {"most": 2}}]}
    whole = {**node, "default": "d", "x-own": 1, "evaluation_config": config}
    value = [1] if kind == "array" else 1 if kind == "integer" else "a"
    xb.evaluate({"type": "object", "properties": {"x": whole}}, {"x": value}, {"x": value})
    context, given = seen[0]
    assert (context.get_gold_value(), context.get_extracted_value()) == (value, value)
    assert (context.get_type(), context.default) == (kind, "d")
    assert (context.evaluation_config, context.keywords["x-own"]) == (config, 1)
    assert (given.metric_id, given.params) == ("half", {"most": 2})
    with pytest.raises(AttributeError):
        context.description = "other"
    with pytest.raises(TypeError):
        context.keywords["title"] = "other"
