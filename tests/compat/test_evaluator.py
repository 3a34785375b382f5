"""`StructuredEvaluator`: its results, and how it calls metrics that wait."""

import asyncio
from typing import Any

import pytest

import extractbench_nb as xb
from extractbench_nb import compat
from extractbench_nb.field_metrics.classes import BaseMetric, MetricResult
from tests.waiting import until

RELEASE = "extract-bench-0.1.0"


def obj(**properties: Any) -> dict[str, Any]:
    return {"type": "object", "properties": properties}


def results(schema: Any, gold: Any, extracted: Any, **options: Any) -> Any:
    config = compat.StructuredEvaluatorConfig(metrics=[], **options)
    return compat.StructuredEvaluator(config).evaluate(schema, gold, extracted)["results"]


def calls(**options: Any) -> compat.AsyncEvaluationConfig:
    return compat.AsyncEvaluationConfig(
        **{"sleep_base_seconds_for_retry": 0, "max_sleep_time_seconds": 0, **options}
    )


# --- results ----------------------------------------------------------------------------------

DETAILS = [
    (..., ..., {"reason": "both_missing"}),
    (None, None, {"reason": "both_null"}),
    ([], [], {"reason": "both_empty_array"}),
    (None, [], {"reason": "both_absent"}),
    (..., ["a"], {"reason": "gold_missing", "gold": None, "extracted": ["a"]}),
    ([], ["a"], {"reason": "gold_empty_array", "gold": [], "extracted": ["a"]}),
    (["a"], None, {"reason": "extracted_null", "gold": ["a"], "extracted": None}),
    (["a"], ..., {"reason": "extracted_missing", "gold": ["a"], "extracted": None}),
    (["a"], [], {"reason": "extracted_empty_array", "gold": ["a"], "extracted": []}),
    (["a"], {"b": 1}, {"reason": "type_mismatch", "gold": ["a"], "extracted": {"b": 1}}),
]


@pytest.mark.parametrize("profile", ["paper", RELEASE, "extract-bench-readme"])
@pytest.mark.parametrize("required", [[], ["x"]])
@pytest.mark.parametrize("gold, extracted, details", DETAILS)
def test_details_of_what_no_metric_decides(gold, extracted, details, required, profile):
    array = {"type": "array", "items": {"type": "string", "evaluation_config": "string_exact"}}
    schema = {**obj(x=array), "required": required}
    documents = [{} if value is ... else {"x": value} for value in (gold, extracted)]
    found = results(schema, *documents, profile=profile)["$.properties.x"]["array_llm"]
    assert found.details == details
    assert found.passed is details["reason"].startswith("both")


def test_a_judges_words():
    class Judge:
        name = "judge"

        def compare(self, gold: str, predicted: str) -> xb.judges.Verdict:
            return xb.judges.Verdict(0.9, "alike", "nearly the same")

    found = results(obj(x={"type": "string"}), {"x": "a"}, {"x": "b"}, judge=Judge())
    assert found["$.properties.x"]["string_semantic"] == MetricResult(
        "string_semantic",
        0.9,
        True,
        {
            "gold": "a",
            "extracted": "b",
            "pass_threshold": 0.7,
            "structured_output": {"score": 0.9, "reasoning": "nearly the same"},
            "reasoning": "nearly the same",
        },
    )


def test_a_matcher_of_ones_own():
    array = {"type": "array", "items": {"type": "integer"}}
    found = results(
        obj(x=array), {"x": [1, 2]}, {"x": [2, 1]}, alignment=lambda *_: [(0, 0), (1, 1)]
    )
    assert found["$.properties.x"]["array_llm"].score == 0.0


@pytest.mark.parametrize("profile", ["paper", "strict", RELEASE, "extract-bench-readme"])
def test_a_metric_that_failed(profile):
    class Failing(BaseMetric):
        metric_id = "failing"

        async def evaluate(self, node: Any, config: Any = None) -> MetricResult:
            raise KeyError("a")

    compat.global_metric_registry.register_metric(Failing)
    field = {"type": "string", "evaluation_config": "failing"}
    found = results(obj(x=field), {"x": "a"}, {"x": "a"}, profile=profile)
    assert found == {
        "$.properties.x": {
            "error_failing": MetricResult(
                "unknown", 0.0, False, {"error": "'a'", "error_type": "KeyError"}
            )
        }
    }


KEYS = [
    "a",
    "b c",
    "it's",
    "a.properties.x",
    "",
    "items[0]",
    "back\\slash",
    "\ud800",
    "['q']",
    "[*]",
]


@pytest.mark.parametrize("profile", ["paper", RELEASE, "extract-bench-readme"])
def test_no_key_of_a_map_takes_anothers_place(profile):
    one = {"type": "integer"}
    schema = obj(m={"type": "object", "additionalProperties": obj(x=one, **{"a.b": one})})
    gold = {"m": {key: {"x": n, "a.b": n} for n, key in enumerate(KEYS)}}
    found = results(schema, gold, gold, profile=profile)
    assert len(found) == 2 * len(KEYS)
    assert found["$.properties.m.additionalProperties.b c.properties.a.b"]
    values = [m["integer_exact"].details["gold"] for m in found.values()]
    assert sorted(values) == sorted([*range(len(KEYS))] * 2)


def test_keys_that_look_like_other_paths():
    one = {"type": "integer"}
    schema = obj(a=obj(b=one), **{"a.properties.b": one})
    gold = {"a": {"b": 1}, "a.properties.b": 2}
    found = results(schema, gold, gold)
    assert [m["integer_exact"].details["gold"] for m in found.values()] == [1, 2]


def test_a_map_without_entries_stands_where_the_package_has_it():
    schema = obj(m={"type": "object", "additionalProperties": obj(x={"type": "integer"})})
    found = results(schema, {"m": {}}, {}, profile=RELEASE)
    (path,) = found
    assert path == "$.properties.m.additionalProperties.properties.x"
    assert found[path]["integer_exact"].details == {"reason": "both_null"}


def test_leaves_of_items_where_they_count():
    array = {"type": "array", "items": obj(x={"type": "integer"})}
    gold, extracted = {"r": [{"x": 1}, {"x": 2}]}, {"r": [{"x": 2}, {"x": 5}]}
    found = results(obj(r=array), gold, extracted, profile="strict")
    reasons = {path: m["integer_exact"].details.get("reason") for path, m in found.items()}
    assert reasons == {
        "$.properties.r.items[0].properties.x": "extracted_missing",
        "$.properties.r.items[1].properties.x": None,
        "$.properties.r.items[+1].properties.x": "gold_missing",
    }


def test_text_that_is_no_json():
    found = results(obj(x={"type": "integer"}), {"x": 1}, "no JSON")
    assert found["$"]["json"].details["reason"] == "unparsable_json"


def test_the_schema_comes_back_parsed():
    config = compat.StructuredEvaluatorConfig(metrics=[])
    found = compat.StructuredEvaluator(config).evaluate(obj(x={"type": "integer"}), {}, {})
    assert isinstance(found["schema"], xb.schema.Schema)


def test_configs_may_stand_in_the_schema():
    config = compat.EvaluationConfig([compat.MetricConfig("string_exact")], aggregation_weight=2)
    skip = compat.EvaluationConfig.from_preset("skip")
    schema = obj(
        a={"type": "string", "evaluation_config": config},
        b={"type": "string", "evaluation_config": skip},
    )
    documents = (schema, {"a": "x", "b": "y"}, {"a": "X"})
    for profile in ("paper", "extract-bench-readme"):
        found = results(*documents, profile=profile)
        assert {path: list(m) for path, m in found.items()} == {"$.properties.a": ["string_exact"]}
    assert xb.evaluate(*documents).fields.weight.tolist() == [2.0]
    assert compat.ReportBuilder().build(*documents).overall_score == 0.0


def test_the_same_evaluator_in_two_profiles():
    schema = obj(x={"type": "number", "evaluation_config": "number_tolerance"})
    documents = (schema, {"x": 1000.0}, {"x": 1000.5})
    paper = compat.StructuredEvaluator(compat.StructuredEvaluatorConfig(profile="paper"))
    readme = compat.StructuredEvaluator(compat.StructuredEvaluatorConfig(metrics=[]))
    cases = ((paper, True), (readme, False), (compat.StructuredEvaluator(), False))
    for evaluator, passed in cases:
        found = evaluator.evaluate(*documents)["results"]["$.properties.x"]["number_tolerance"]
        assert found.passed is passed


# --- metrics that wait ------------------------------------------------------------------------


class Counting(BaseMetric):
    """Fails until it has been asked often enough."""

    metric_id = "counting"
    asked = 0
    fails = 0
    error: Exception = RuntimeError("not yet")

    async def evaluate(self, node: Any, config: Any = None) -> MetricResult:
        type(self).asked += 1
        if self.asked <= self.fails:
            raise self.error
        return MetricResult(self.metric_id, 1.0, True)


def counting(fails: int, error: Exception) -> type[Counting]:
    fresh = type("Fresh", (Counting,), {"asked": 0, "fails": fails, "error": error})
    compat.global_metric_registry.register_metric(fresh, override=True)
    return fresh


COUNTED = obj(x={"type": "string", "evaluation_config": "counting"})


@pytest.mark.parametrize(
    "fails, error, attempts, asked, key",
    [
        (2, RuntimeError("not yet"), 3, 3, "counting"),
        (2, TimeoutError("slow"), 3, 3, "counting"),
        (3, RuntimeError("not yet"), 3, 3, "error_counting"),
        (1, RuntimeError("not yet"), 1, 1, "error_counting"),
        (1, TypeError("a mistake"), 3, 1, "error_counting"),
        (1, AttributeError("a mistake"), 3, 1, "error_counting"),
    ],
)
def test_attempts(fails, error, attempts, asked, key):
    metric = counting(fails, error)
    found = results(COUNTED, {"x": "a"}, {"x": "a"}, async_config=calls(n_max_retries=attempts))
    assert list(found["$.properties.x"]) == [key]
    assert metric.asked == asked
    if key != "counting":
        assert found["$.properties.x"][key].details == {
            "error": str(error), "error_type": type(error).__name__
        }  # fmt: skip


def test_attempts_of_an_async_function():
    asked = []

    @xb.metric("waits")
    async def waits(gold: Any, predicted: Any) -> float:
        asked.append(gold)
        if len(asked) < 3:
            raise OSError("not yet")
        return 1.0

    field = {"type": "string", "evaluation_config": "waits"}
    found = results(obj(x=field), {"x": "a"}, {"x": "b"}, async_config=calls())
    assert found["$.properties.x"]["waits"].passed
    assert asked == ["a"] * 3


def test_a_metric_that_never_answers():
    class Slow(BaseMetric):
        metric_id = "slow"

        async def evaluate(self, node: Any, config: Any = None) -> MetricResult:
            await asyncio.sleep(3600)
            raise AssertionError

    compat.global_metric_registry.register_metric(Slow)
    schema = obj(x={"type": "string", "evaluation_config": "slow"}, y={"type": "integer"})
    found = results(
        schema,
        {"x": "a", "y": 1},
        {"x": "a", "y": 1},
        async_config=calls(metric_timeout_seconds=0.02, n_max_retries=2),
    )
    assert found["$.properties.x"]["error_slow"].details == {
        "error": "no result within 0.02 seconds", "error_type": "TimeoutError"
    }  # fmt: skip
    assert found["$.properties.y"]["integer_exact"].passed


@pytest.mark.parametrize("parallel, most", [(True, 4), (False, 1)])
def test_one_after_the_other_or_all_at_once(parallel, most):
    running: list[int] = [0, 0]

    class Busy(BaseMetric):
        metric_id = "busy"

        async def evaluate(self, node: Any, config: Any = None) -> MetricResult:
            running[0] += 1
            running[1] = max(running)
            await until(lambda: running[1] >= most)
            running[0] -= 1
            return MetricResult("busy", 1.0, True)

    compat.global_metric_registry.register_metric(Busy)
    names = "abcd"
    schema = obj(**{n: {"type": "string", "evaluation_config": "busy"} for n in names})
    document = dict.fromkeys(names, "x")
    found = results(schema, document, document, async_config=calls(parallel_traversal=parallel))
    assert len(found) == len(names)
    assert running[1] == most


def test_waiting_between_attempts_grows_to_a_limit(monkeypatch):
    counting(4, RuntimeError("not yet"))
    pauses: list[float] = []

    async def sleep(seconds: float) -> None:
        pauses.append(seconds)

    monkeypatch.setattr(asyncio, "sleep", sleep)
    config = compat.AsyncEvaluationConfig(n_max_retries=5, max_sleep_time_seconds=7)
    results(COUNTED, {"x": "a"}, {"x": "a"}, async_config=config)
    assert pauses == [3, 6, 7, 7]


def test_other_evaluations_are_not_touched():
    metric = counting(1, RuntimeError("not yet"))
    results(COUNTED, {"x": "a"}, {"x": "a"}, async_config=calls())
    assert metric.asked == 2
    metric = counting(1, RuntimeError("not yet"))
    assert xb.evaluate(COUNTED, {"x": "a"}, {"x": "a"}).fields.outcome[0] == "judge_error"
    assert metric.asked == 1


def test_in_a_running_loop_with_others():
    """Several evaluations in one loop, each with its own patience; and the sync call in between."""
    counting(0, RuntimeError())

    async def cell() -> list[Any]:
        configs = [
            compat.StructuredEvaluatorConfig(metrics=[], async_config=calls(n_max_retries=n))
            for n in (1, 2, 3)
        ]
        documents = (COUNTED, {"x": "a"}, {"x": "a"})
        waited = asyncio.gather(
            *(compat.StructuredEvaluator(c).evaluate_async(*documents) for c in configs)
        )
        now = compat.StructuredEvaluator(configs[0]).evaluate(*documents)
        return [*(await waited), now]

    found = asyncio.run(cell())
    assert [r["results"]["$.properties.x"]["counting"].passed for r in found] == [True] * 4


@pytest.mark.parametrize(
    "options, problem",
    [
        ({"metric_timeout_seconds": 0}, "metric_timeout_seconds is 0; expected .* more than 0"),
        ({"metric_timeout_seconds": "60"}, "metric_timeout_seconds is '60'"),
        ({"n_max_retries": 0}, "n_max_retries is 0; expected a number that is 1 or more"),
        ({"sleep_base_seconds_for_retry": -1}, "sleep_base_seconds_for_retry is -1"),
        ({"max_sleep_time_seconds": float("nan")}, "max_sleep_time_seconds is nan"),
        ({"n_max_retries": True}, "n_max_retries is True"),
    ],
)
def test_numbers_out_of_range(options, problem):
    with pytest.raises(xb.InputError, match=problem):
        compat.AsyncEvaluationConfig(**options)


def test_no_limit():
    counting(0, RuntimeError())
    config = calls(metric_timeout_seconds=None)
    found = results(COUNTED, {"x": "a"}, {"x": "a"}, async_config=config)
    assert list(found["$.properties.x"]) == ["counting"]


# --- configs ----------------------------------------------------------------------------------


def test_presets_as_objects():
    config = compat.EvaluationConfig.from_preset("string_fuzzy")
    (metric,) = config.metrics
    assert (metric.metric_id, metric.weight) == ("string_fuzzy", None)
    assert metric.params["threshold"] == 0.8
    assert compat.EvaluationConfig.from_preset("skip").metrics == []


def test_equal_configs():
    one = compat.EvaluationConfig(metrics=[{"metric_id": "a", "params": {"b": 1}}])
    two = compat.EvaluationConfig(metrics=[compat.MetricConfig("a", params={"b": 1})])
    assert one == two
    assert one != compat.EvaluationConfig(metrics=[{"metric_id": "a"}])
    assert one.model_dump() == {
        "metrics": [{"metric_id": "a", "weight": None, "params": {"b": 1}}],
        "aggregation_weight": None,
    }


@pytest.mark.parametrize(
    "make, problem",
    [
        (lambda: compat.MetricConfig("a", parms={}), "no field 'parms'; did you mean 'params'"),
        (lambda: compat.MetricConfig(5), "metric_id is 5"),
        (lambda: compat.EvaluationConfig(metric=[]), "no field 'metric'; did you mean 'metrics'"),
        (lambda: compat.EvaluationConfig(["a"]), "found 'a'; expected a MetricConfig"),
        (lambda: compat.EvaluationConfig([{"metric_id": "a", "w": 1}]), "no field 'w'"),
        (lambda: compat.EvaluationConfig.from_preset("string_exakt"), "mean 'string_exact'"),
    ],
)
def test_fields_that_do_not_exist(make, problem):
    with pytest.raises(xb.ConfigError, match=problem):
        make()


def test_configs_are_frozen():
    for config in (compat.MetricConfig("a"), compat.EvaluationConfig()):
        with pytest.raises(AttributeError):
            config.metrics = []  # type: ignore[misc, union-attr]
