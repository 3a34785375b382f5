"""Metric classes, presets and `PolicyAwareMetric` beside the published package's."""

import asyncio
import importlib
from typing import Any

import pytest

import extractbench_nb as xb
from extractbench_nb import compat
from extractbench_nb.compat.evaluation import metrics, presets
from extractbench_nb.schema.nodes import MISSING
from extractbench_nb.schema.parse import parse_schema

CLASSES = sorted(set(metrics.__all__) - {
    "BaseMetric", "MetricContext", "MetricResult", "PolicyAwareMetric",
})  # fmt: skip
VALUES = [
    ("Ada", "ADA"), ("Ada", "Ada"), (5, 5.5), (1, "1"), (3, 3.9), ("a", "b"), (True, False),
    (True, True), (None, "a"), ("a", None), (None, None), (MISSING, "a"), ("a", MISSING),
    (MISSING, MISSING), (None, MISSING), ("", "a"), (0, None), (None, 0),
]  # fmt: skip
PARAMS: list[dict[str, Any]] = [
    {}, {"tolerance": 1, "threshold": 0.1, "case_sensitive": True}, {"tolerance": "x"},
]  # fmt: skip


def published(name: str) -> Any:
    return importlib.import_module(f"extract_bench.evaluation.{name}")


class Place:
    """What either package asks of a node."""

    def __init__(self, gold: Any, extracted: Any) -> None:
        self.values = gold, extracted

    def get_gold_value(self) -> Any:
        return self.values[0]

    def get_extracted_value(self) -> Any:
        return self.values[1]

    def get_type(self) -> str:
        return "string"


def asked(metric: Any, place: Place, config: Any) -> tuple[Any, ...]:
    result = asyncio.run(metric.evaluate(place, config))
    return result.metric_id, result.score, result.passed, result.details


@pytest.mark.parametrize("params", PARAMS, ids=str)
@pytest.mark.parametrize("name", CLASSES)
def test_a_class_does_what_the_packages_does(name, params, package):
    theirs = getattr(published("metrics"), name)()
    other = published("schema_value_instantiator").MISSING
    config = package.MetricConfig(metric_id=theirs.metric_id, params=params)
    own = compat.MetricConfig(theirs.metric_id, params=params)
    for pair in VALUES:
        place = Place(*(other if value is MISSING else value for value in pair))
        expected = asked(theirs, place, config)
        found = asked(getattr(metrics, name)(), Place(*pair), own)
        if "similarity" in found[3]:  # difflib's there, Levenshtein's here
            assert found[3]["similarity"] == found[1]
            found, expected = ((r[0], {**r[3], "similarity": 0}) for r in (found, expected))
        assert found == expected


def test_fuzzy_is_levenshtein():
    metric = metrics.NormalizedLevenshteinSimilarityMetric(default_threshold=0.5)
    place = Place("ccbaabbc", "bccabcbc")
    assert asked(metric, place, None)[1:3] == (0.5, True)


def test_defaults_are_fields():
    metric = metrics.NumberToleranceMetric("mine", default_tolerance=2)
    name, score, passed, details = asked(metric, Place(1, 3), None)
    assert (name, score, passed, details["tolerance"]) == ("mine", 1.0, True, 2.0)


@pytest.mark.parametrize("profile", ["paper", "extract-bench-readme"])
def test_a_class_can_be_registered_under_a_name_of_ones_own(profile):
    class Close(metrics.NumberToleranceMetric):
        metric_id = "close"

    compat.global_metric_registry.register_metric(lambda: Close("close", default_tolerance=1))
    schema = {
        "type": "object",
        "properties": {"x": {"type": "number", "evaluation_config": "close"}},
    }
    fields = xb.evaluate(schema, {"x": 1}, {"x": 2}, profile=profile).fields
    assert fields[["metric", "score"]].to_numpy().tolist() == [["close", 1.0]]


def test_policy_aware():
    seen = []

    class Mine(metrics.PolicyAwareMetric):
        metric_id = "mine"

        async def _evaluate_values(
            self, *, node: Any, gold: Any, extracted: Any, config: Any
        ) -> compat.MetricResult:
            seen.append((gold, extracted))
            return compat.MetricResult(self.metric_id, 1.0, True)

    schema = {"type": "object", "properties": {"x": {"type": "array"}}}
    node = parse_schema(schema).root.children.properties["x"]
    asked_for = [([1], [2]), ([], [1]), ([1], []), ([], []), ([], None), (MISSING, [1])]
    reasons = []
    for pair in asked_for:
        details = asked(Mine(), metrics.MetricContext(node, *pair), None)[3]
        reasons.append(details["reason"] if details else None)
    assert seen == [([1], [2])]
    assert reasons == [
        None, "gold_empty_array", "extracted_empty_array", "both_empty_array", "both_absent",
        "gold_missing",
    ]  # fmt: skip


def test_what_lacks_a_comparison_says_so():
    class Unfinished(metrics.PolicyAwareMetric):
        metric_id = "unfinished"

    with pytest.raises(NotImplementedError, match="Unfinished has no method _evaluate_values"):
        asked(Unfinished(), Place(1, 2), None)


# --- presets ----------------------------------------------------------------------------------


def test_presets_of_the_package_are_here(package):
    theirs = published("presets")
    assert set(theirs.VALID_PRESETS) <= set(presets.VALID_PRESETS)
    for name, config in theirs.get_preset_configs().items():
        ours = presets.get_preset_configs()[name]
        assert ours == presets.get_preset_config(name)
        assert [m.metric_id for m in ours.metrics] == [m.metric_id for m in config.metrics]
        for one, two in zip(ours.metrics, config.metrics, strict=True):
            assert (two.params or {}).items() <= (one.params or {}).items()
        presets.validate_preset(name)
    for name in (n for n in dir(theirs) if n.endswith("_PRESET")):
        assert getattr(presets, name) == getattr(theirs, name)


def test_an_unknown_preset():
    for refuse in (presets.validate_preset, presets.get_preset_config):
        with pytest.raises(ValueError, match="unknown preset 'string_exakt'"):
            refuse("string_exakt")
    message = presets.get_preset_error_message("odd")
    assert "'odd'" in message
    assert all(name in message for name in presets.VALID_PRESETS)
