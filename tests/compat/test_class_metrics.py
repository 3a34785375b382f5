"""Metrics that are classes: registered, found, asked, and what becomes of what they return."""

import asyncio
import gc
import math
from dataclasses import dataclass
from typing import Any

import pandas as pd
import pytest

import extractbench_nb as xb
from extractbench_nb.field_metrics.classes import (
    BaseMetric,
    MetricConfig,
    MetricContext,
    MetricRegistry,
    MetricResult,
    UnknownMetricError,
    global_metric_registry,
)
from extractbench_nb.schema.parse import parse_schema

PROFILES = ["paper", "strict", "extract-bench-0.1.0", "extract-bench-readme"]
SCORES_ZERO = PROFILES[2:]


class Half(BaseMetric):
    """Gives half the score.

    And no more than that.
    """

    metric_id = "half"

    async def evaluate(self, node: Any, config: Any = None) -> MetricResult:
        return MetricResult(self.metric_id, 0.5, True, {"reason": "half", "reasoning": "in words"})


def field(metric: str, kind: str = "string", **params: Any) -> dict[str, Any]:
    config = {"metrics": [{"metric_id": metric, "params": params}]}
    return {"type": "object", "properties": {"x": {"type": kind, "evaluation_config": config}}}


def returning(value: Any) -> type:
    class Returning:
        metric_id = "returning"

        async def evaluate(self, node: Any, config: Any = None) -> Any:
            return value

    return Returning


def _half() -> BaseMetric:
    return Half()


def only_row(schema: Any, gold: Any = "a", predicted: Any = "b", profile: str = "paper") -> Any:
    fields = xb.evaluate(schema, {"x": gold}, {"x": predicted}, profile=profile).fields
    assert len(fields) == 1
    return fields.iloc[0]


# --- in every profile -------------------------------------------------------------------------


@pytest.mark.parametrize("profile", PROFILES)
def test_it_runs_in_every_profile(profile):
    assert global_metric_registry.register_metric(Half) == "half"
    row = only_row(field("half", anything=[1, {"goes": None}]), profile=profile)
    assert (row.metric, row.score, row.passed, row.outcome) == ("half", 0.5, True, "correct")
    assert (row.reason, row.reasoning) == ("half", "in words")


@pytest.mark.parametrize("form", ["half", {"metric_id": "half"}, {"metrics": ["half"]}])
def test_every_form_of_a_config_can_name_it(form):
    global_metric_registry.register_metric(Half)
    schema = {"type": "object", "properties": {"x": {"type": "string", "evaluation_config": form}}}
    assert only_row(schema).metric == "half"


def test_it_is_listed():
    global_metric_registry.register_metric(Half, aliases=("halved",))
    row = xb.metrics().set_index("metric").loc["half"]
    assert (row.source, row.summary) == ("class", "Gives half the score.")
    assert "halved" not in set(xb.metrics().metric)


def test_a_summary_is_its_own_docstring():
    @dataclass(frozen=True, slots=True)
    class Silent(BaseMetric):
        metric_id: str = "silent"

    global_metric_registry.register_metric(Silent)
    global_metric_registry.register_metric_factory("made", _half)
    listed = xb.metrics().set_index("metric").summary
    assert (listed["silent"], listed["made"]) == ("", "")


@pytest.mark.parametrize("profile", PROFILES)
def test_it_takes_the_place_of_a_metric_of_the_package(profile):
    class Exact(Half):
        metric_id = "string_exact"

    with pytest.raises(xb.ConfigError, match="already registered; override=True"):
        global_metric_registry.register_metric(Exact)
    global_metric_registry.register_metric(Exact, override=True)
    assert only_row(field("string_exact"), profile=profile).score == 0.5


def test_params_of_other_metrics_are_still_checked():
    global_metric_registry.register_metric(Half)
    with pytest.raises(xb.ConfigError, match="no param 'anything'"):
        only_row(field("string_fuzzy", anything=1))


@pytest.mark.parametrize("profile", PROFILES)
def test_items_of_an_array(profile):
    class Same(BaseMetric):
        metric_id = "same"

        async def evaluate(self, node: Any, config: Any = None) -> MetricResult:
            same = node.get_gold_value() == node.get_extracted_value()
            return MetricResult("same", float(same), same)

    global_metric_registry.register_metric(Same)
    item = field("same", "integer")
    schema = {"type": "object", "properties": {"rows": {"type": "array", "items": item}}}
    gold, predicted = ({"rows": [{"x": n} for n in found]} for found in ([1, 2, 3], [3, 1, 9]))
    arrays = xb.evaluate(schema, gold, predicted, profile=profile).arrays
    assert arrays[["matched", "missed", "spurious"]].to_numpy().tolist() == [[2, 1, 1]]


@pytest.mark.parametrize("profile", PROFILES)
def test_an_object_as_a_whole_and_its_children(profile):
    class Keys(BaseMetric):
        metric_id = "keys"

        async def evaluate(self, node: Any, config: Any = None) -> MetricResult:
            assert node.get_type() == "object"
            same = set(node.get_gold_value()) == set(node.get_extracted_value())
            return MetricResult("keys", float(same), same)

    global_metric_registry.register_metric(Keys)
    inner = {"type": "object", "properties": {"a": {"type": "integer"}, "b": {"type": "integer"}}}
    schema = {"type": "object", "properties": {"x": {**inner, "evaluation_config": "keys"}}}
    documents = (schema, {"x": {"a": 1, "b": 2}}, {"x": {"a": 1, "b": 3}})
    ev = xb.evaluate(*documents, profile=profile)
    assert ev.fields[["path", "metric", "score"]].to_numpy().tolist() == [
        ["$.x", "keys", 1.0], ["$.x.a", "integer_exact", 1.0], ["$.x.b", "integer_exact", 0.0],
    ]  # fmt: skip
    assert ev.warnings.empty
    broken = xb.evaluate(schema, documents[1], {"x": [1]}, profile=profile).fields
    assert broken.outcome.tolist() == ["structural"] * 3


def test_a_builtin_metric_on_an_object_stays_a_warning():
    inner = {"type": "object", "properties": {"a": {"type": "integer"}}}
    schema = {"type": "object", "properties": {"x": {**inner, "evaluation_config": "string_exact"}}}
    ev = xb.evaluate(schema, {"x": {"a": 1}}, {"x": {"a": 1}})
    assert ev.fields.path.tolist() == ["$.x.a"]
    assert len(ev.warnings) == 1


def test_nodes_that_share_a_definition_are_told_apart():
    seen: list[str] = []

    class Where(BaseMetric):
        metric_id = "where"

        async def evaluate(self, node: Any, config: Any = None) -> MetricResult:
            seen.append(node.schema_path)
            return MetricResult("where", 1.0, True)

    global_metric_registry.register_metric(Where)
    schema = {
        "$defs": {"d": {"type": "string", "evaluation_config": "where"}},
        "type": "object",
        "properties": {"a": {"$ref": "#/$defs/d"}, "b": {"$ref": "#/$defs/d"}},
    }
    xb.evaluate(schema, {"a": "1", "b": "1"}, {"a": "1", "b": "1"})
    assert sorted(seen) == ["$.properties.a", "$.properties.b"]


# --- what goes wrong --------------------------------------------------------------------------

JUNK = [None, True, 0.5, "text", {}, [], object(), MetricResult, Half]
WRONG = [
    MetricResult("returning", 1.5),
    MetricResult("returning", -0.1),
    MetricResult("returning", math.nan),
    MetricResult("returning", None),  # type: ignore[arg-type]
    MetricResult("returning", "high"),  # type: ignore[arg-type]
]


@pytest.mark.parametrize("profile", PROFILES)
@pytest.mark.parametrize("value", [*JUNK, *WRONG], ids=lambda v: repr(v).partition(" at ")[0])
def test_what_is_no_result_is_no_verdict(value, profile):
    global_metric_registry.register_metric(returning(value))
    row = only_row(field("returning"), profile=profile)
    assert (row.outcome, row.reason) == ("judge_error", "metric_error")
    assert row.score == 0 if profile in SCORES_ZERO else pd.isna(row.score)
    assert "expected" in row.reasoning


class Failing(BaseMetric):
    metric_id = "failing"

    async def evaluate(self, node: Any, config: Any = None) -> MetricResult:
        raise RuntimeError("the service is down")


class Unfinished(BaseMetric):
    metric_id = "unfinished"


@pytest.mark.parametrize(
    "metric, problem",
    [
        (Failing, "RuntimeError: the service is down"),
        (Unfinished, "NotImplementedError: Unfinished has no method evaluate(node, config)"),
    ],
)
@pytest.mark.parametrize("profile", PROFILES)
def test_what_it_raises_is_a_row(metric, problem, profile):
    global_metric_registry.register_metric(metric)
    row = only_row(field(metric.metric_id), profile=profile)
    assert (row.outcome, row.reasoning) == ("judge_error", problem)


def test_a_factory_that_breaks_later():
    made: list[int] = []

    def factory() -> Any:
        made.append(1)
        if len(made) > 1:
            raise OSError("no more")
        return Half()

    global_metric_registry.register_metric(factory)
    assert only_row(field("half")).reasoning == "OSError: no more"


def test_an_evaluate_that_does_not_wait_is_tolerated():
    class Plain:
        metric_id = "plain"

        def evaluate(self, node: Any, config: Any = None) -> MetricResult:
            return MetricResult("plain", 0.75, True)

    global_metric_registry.register_metric(Plain)
    assert only_row(field("plain")).score == 0.75


def test_a_result_of_another_package_counts():
    @dataclass
    class Foreign:
        metric_id: str
        score: float
        passed: bool

    global_metric_registry.register_metric(returning(Foreign("returning", 0.25, True)))
    row = only_row(field("returning"))
    assert (row.score, row.passed) == (0.25, True)


def test_a_verdict_that_is_left_open_passes_at_one():
    for score, passed in ((1.0, True), (0.99, False)):
        global_metric_registry.register_metric(
            returning(MetricResult("returning", score)), override=True
        )
        assert only_row(field("returning")).passed == passed


def test_no_coroutine_is_left_behind():
    """An alignment estimates more pairs than it decides; warnings are errors here."""
    global_metric_registry.register_metric(Half)
    schema = {"type": "object", "properties": {"x": {"type": "array", "items": field("half")}}}
    items = [{"x": f"text {n}"} for n in range(30)]
    assert xb.evaluate(schema, {"x": items}, {"x": items[::-1]}).arrays.matched[0] == 30
    gc.collect()


# --- the registry -----------------------------------------------------------------------------


def test_aliases():
    global_metric_registry.register_metric(Half, aliases=("halved", "50%"))
    assert global_metric_registry.has_metric("50%")
    assert isinstance(global_metric_registry.create_metric("halved"), Half)
    assert only_row(field("halved")).score == 0.5
    assert global_metric_registry.available_metrics().count("half") == 1
    assert "halved" not in global_metric_registry.available_metrics()


def test_an_alias_takes_no_metric_away():
    with pytest.raises(xb.ConfigError, match="'string_exact' is the name of a metric"):
        global_metric_registry.register_metric(Half, aliases=("string_exact",))
    assert not global_metric_registry.has_metric("half")
    assert only_row(field("string_exact")).score == 0.0


@pytest.mark.parametrize("name", ["half", "halved"])
def test_unregister(name):
    global_metric_registry.register_metric(Half, aliases=("halved",))
    global_metric_registry.unregister_metric(name)
    for gone in ("half", "halved"):
        assert not global_metric_registry.has_metric(gone)
        with pytest.raises(xb.ConfigError, match="unknown metric"):
            only_row(field(gone))
    global_metric_registry.unregister_metric(name)
    assert global_metric_registry.register_metric(Half) == "half"


def test_a_cell_that_runs_again():
    """The new class is used, also by a schema that was parsed before."""
    schema = parse_schema
    for score in (0.1, 0.9):

        class Cell(BaseMetric):
            metric_id = "cell"
            value = score

            async def evaluate(self, node: Any, config: Any = None) -> MetricResult:
                return MetricResult("cell", self.value, True)

        global_metric_registry.register_metric(Cell, aliases=("again",))
        parsed = schema(field("cell"))
        assert only_row(parsed).score == score
        assert only_row(field("again")).score == score


def test_two_registries():
    other = MetricRegistry(aliases={"later": "half"})
    assert other.available_metrics() == ()
    assert not other.has_metric("later")
    other.register_metric(Half)
    assert other.available_metrics() == ("half",)
    assert other.has_metric("later")
    assert isinstance(other.create_metric("later"), Half)
    assert not global_metric_registry.has_metric("half")
    with pytest.raises(xb.ConfigError, match="unknown metric 'half'"):
        only_row(field("half"))


def _defined(body: str) -> Any:
    """What a cell named `metric`; cells run in one module."""
    names: dict[str, Any] = {"__name__": "__main__", "Half": Half}
    exec(body, names)  # noqa: S102 - the same text again is a cell that runs again
    return names["metric"]


_CLASS = "class metric(Half):\n    {}\n"
_FUNCTION = "def metric():\n    return Half()\n"
_LAMBDA = "metric = lambda: Half()\n"
_PARTIAL = "from functools import partial\nmetric = partial(Half)\n"
_OTHER = "class Other(Half):\n    pass\nmetric = Other\n"


@pytest.mark.parametrize(
    "first, second, taken",
    [
        (_CLASS.format("pass"), _CLASS.format("again = True"), True),
        (_CLASS.format("pass"), _CLASS.format("pass"), True),
        (_FUNCTION, _FUNCTION, True),
        (_CLASS.format("pass"), _OTHER, False),
        (_LAMBDA, _LAMBDA, False),
        (_PARTIAL, _PARTIAL, False),
        (_LAMBDA, _FUNCTION, False),
    ],
)
def test_only_what_is_defined_anew_takes_its_own_place(first, second, taken):
    global_metric_registry.register_metric(_defined(first))
    anew = _defined(second)
    if not taken:
        with pytest.raises(xb.ConfigError, match="'half' is already registered; override=True"):
            global_metric_registry.register_metric(anew)
    global_metric_registry.register_metric(anew, override=not taken)
    assert global_metric_registry.available_metrics().count("half") == 1
    if isinstance(anew, type):
        assert type(global_metric_registry.create_metric("half")) is anew


def test_the_same_name_in_another_module_is_another_class():
    global_metric_registry.register_metric(_defined(_CLASS.format("pass")))
    elsewhere = _defined(_CLASS.format("__module__ = 'elsewhere'"))
    with pytest.raises(xb.ConfigError, match="already registered"):
        global_metric_registry.register_metric(elsewhere)


def test_no_class_takes_the_place_of_an_alias():
    global_metric_registry.register_metric(Half, aliases=("halved",))
    with pytest.raises(xb.ConfigError, match="'halved' is already registered"):
        global_metric_registry.register_metric_factory("halved", Half)


@pytest.mark.parametrize(
    "factory, problem",
    [
        (Half(), "is not a metric class; pass the class itself"),
        (
            type("NoName", (), {"evaluate": lambda *_: None}),
            "is not a metric; expected a metric_id",
        ),
        (type("NoCall", (), {"metric_id": "x"}), "is not a metric; expected a metric_id"),
        (type("BadName", (BaseMetric,), {"metric_id": 7}), "is not a metric; expected a metric_id"),
        (type("Nameless", (BaseMetric,), {"metric_id": ""}), "metric_id is ''; expected a name"),
    ],
)
def test_what_is_no_metric_is_refused(factory, problem):
    before = global_metric_registry.available_metrics()
    with pytest.raises(xb.ConfigError, match=problem):
        global_metric_registry.register_metric(factory)
    assert global_metric_registry.available_metrics() == before


def test_a_factory_under_a_name():
    global_metric_registry.register_metric_factory("another", Half)
    assert only_row(field("another")).score == 0.5
    for bad in ("", None):
        with pytest.raises(xb.ConfigError, match="expected a name"):
            global_metric_registry.register_metric_factory(bad, Half)
    with pytest.raises(xb.ConfigError, match="is not a factory"):
        global_metric_registry.register_metric_factory("third", Half())


def test_an_unknown_metric():
    with pytest.raises(UnknownMetricError, match="did you mean 'string_exact'") as caught:
        global_metric_registry.create_metric("string_exakt")
    assert isinstance(caught.value, KeyError)
    assert isinstance(caught.value, xb.ConfigError)
    assert str(caught.value).startswith("unknown metric")


def test_descriptors():
    @dataclass
    class Descriptor:
        metric_id: str

    registry = MetricRegistry(aliases={"halved": "half"})
    assert registry.get_metric_descriptor("half") is None
    registry.register_metric_descriptor("half", Descriptor("half"))
    assert registry.get_metric_descriptor("halved") == Descriptor("half")
    with pytest.raises(xb.ConfigError, match="has a descriptor"):
        registry.register_metric_descriptor("half", Descriptor("half"))
    with pytest.raises(xb.ConfigError, match="expected 'other'"):
        registry.register_metric_descriptor("other", Descriptor("half"))


@pytest.mark.parametrize(
    "metric, gold, extracted, params, expected",
    [
        ("string_exact", "a", "a", {}, (1.0, True)),
        ("string_fuzzy", "abcd", "abcx", {"threshold": 0.7}, (0.75, True)),
        ("string_fuzzy", "abcd", "abcx", {}, (0.75, False)),
        ("number_tolerance", 100, 101, {"tolerance": 0.1}, (1.0, True)),
        ("integer_exact", 3, None, {}, (0.0, False)),
        ("boolean_exact", None, None, {}, (1.0, True)),
    ],
)
def test_a_metric_that_is_a_function_can_be_asked_as_a_class(
    metric, gold, extracted, params, expected
):
    """A metric of one's own may build on it."""
    node = parse_schema(field(metric)).root.children.properties["x"]
    asked = global_metric_registry.create_metric(metric)
    config = MetricConfig(metric, params=params)
    result = asyncio.run(asked.evaluate(MetricContext(node, gold, extracted), config))
    assert (result.metric_id, result.score, result.passed) == (metric, *expected)


def test_a_judged_metric_cannot_be_asked_alone():
    node = parse_schema(field("string_semantic")).root.children.properties["x"]
    asked = global_metric_registry.create_metric("string_semantic")
    with pytest.raises(TypeError, match="cannot be called by itself"):
        asyncio.run(asked.evaluate(MetricContext(node, "a", "b")))


# --- what it is given -------------------------------------------------------------------------

TYPES = [
    ({"type": "string"}, "string"),
    ({"type": ["integer", "null"]}, "integer"),
    ({"type": ["integer", "string"]}, None),
    ({"anyOf": [{"type": "string"}, {"type": "null"}]}, None),
    ({"items": {"type": "string"}}, "array"),
    ({"properties": {}, "additionalProperties": {"type": "string"}}, "object"),
    ({"enum": ["a", 1]}, None),
    ({}, None),
]


@pytest.mark.parametrize("schema, expected", TYPES)
def test_the_type_of_a_place(schema, expected):
    node = parse_schema({"type": "object", "properties": {"x": schema}}).root
    assert MetricContext(node.children.properties["x"], 1, 2).get_type() == expected


def test_a_place_is_read_only():
    schema = {"type": "string", "default": "d", "evaluation_config": "string_exact", "x-own": 1}
    node = parse_schema({"type": "object", "properties": {"x": schema}}).root
    place = MetricContext(node.children.properties["x"], "a", "b")
    assert (place.default, place.evaluation_config, place.keywords["x-own"]) == (
        "d", "string_exact", 1,
    )  # fmt: skip
    assert repr(place) == "MetricContext('$.properties.x', 'a', 'b')"
    with pytest.raises(AttributeError):
        place.description = "other"  # type: ignore[misc]
    with pytest.raises(TypeError):
        place.keywords["title"] = "other"  # type: ignore[index]
