"""The same metric classes in the published package and here: what they are asked, what comes back.

A class is written once, over whichever package's `BaseMetric` and `MetricResult`.
"""

import itertools
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import pytest

import extractbench_nb as xb
from extractbench_nb import compat
from extractbench_nb.field_metrics.registry import REGISTRY

ABSENT = object()


def _echo(module: Any) -> Any:
    class Echo(module.BaseMetric):
        metric_id = "echo"

        async def evaluate(self, node, config=None):
            gold, extracted = node.get_gold_value(), node.get_extracted_value()
            said = {
                "gold": repr(gold),
                "extracted": repr(extracted),
                "truth": (bool(gold), bool(extracted)),
                "type": node.get_type(),
                "meta": node.get_metadata_summary(),
                "description": node.description,
                "title": node.title,
                "example": node.example,
                "nullable": node.nullable,
                "params": config.params,
                "config": config.metric_id,
            }
            return module.MetricResult(self.metric_id, 0.25, True, said)

    return Echo


def _of_dataclass(module: Any) -> Any:
    @dataclass(frozen=True, slots=True)
    class Within(module.BaseMetric):
        metric_id: str = "within"
        default: float = 1.0

        async def evaluate(self, node, config=None):
            most = (config.params or {}).get("most", self.default)
            gap = abs((node.get_gold_value() or 0) - (node.get_extracted_value() or 0))
            return module.MetricResult(
                metric_id=self.metric_id, score=float(gap <= most), passed=gap <= most
            )

    return Within


def _other_name(module: Any) -> Any:
    class Renamed(module.BaseMetric):
        metric_id = "renamed"

        async def evaluate(self, node, config=None):
            return module.MetricResult("another_name", 0.5)

    return Renamed


def _raising(module: Any) -> Any:
    class Raising(module.BaseMetric):
        metric_id = "raising"

        async def evaluate(self, node, config=None):
            raise LookupError("nothing there")

    return Raising


def _duck(module: Any) -> Any:
    class Duck:
        metric_id = "duck"

        async def evaluate(self, node, config=None):
            return module.MetricResult(self.metric_id, 1.0, False, {"reason": "own_words"})

    return Duck


MAKERS = {
    "echo": _echo, "within": _of_dataclass, "renamed": _other_name, "raising": _raising,
    "duck": _duck,
}  # fmt: skip

VALUES: dict[str, list[Any]] = {
    "string": [ABSENT, None, "", "a"],
    "number": [ABSENT, None, 0, 2.5],
    "boolean": [ABSENT, None, False],
    "array": [ABSENT, None, [], ["a"]],
    "object": [ABSENT, None, {}, {"x": "a"}],
    "anyOf": [ABSENT, None, "a", [], ["b"], {"x": 1}],
}


def _field(kind: str, metric: str) -> dict[str, Any]:
    config = {"metrics": [{"metric_id": metric, "params": {"most": 2, "odd": [1]}}]}
    field: dict[str, Any] = {"description": "What it is", "title": "A title", "examples": ["e"]}
    if kind == "anyOf":
        branches = [{"type": "string"}, {"type": "array", "items": {"type": "string"}}]
        return {**field, "anyOf": [*branches, {"type": "null"}], "evaluation_config": config}
    below: dict[str, Any] = {
        "array": {"items": {"type": "string"}},
        "object": {"properties": {"x": {"type": "string", "evaluation_config": "string_exact"}}},
    }.get(kind, {})
    return {**field, **below, "type": kind, "nullable": True, "evaluation_config": config}


def _document(value: Any) -> dict[str, Any]:
    return {} if value is ABSENT else {"v": value}


def _cases() -> Iterator[Any]:
    for metric in MAKERS:
        kinds = ["number"] if metric == "within" else list(VALUES)
        for kind in kinds:
            yield pytest.param(metric, kind, id=f"{metric}-{kind}")


@pytest.fixture
def registered(published: Any) -> Iterator[None]:
    """Register every class in both packages, and forget them again."""
    before = dict(REGISTRY.entries)
    for make in MAKERS.values():
        published.module.global_metric_registry.register_metric(make(published.module))
        compat.global_metric_registry.register_metric(make(compat))
    yield
    for name in MAKERS:
        published.module.global_metric_registry.unregister_metric(name)
    REGISTRY.entries.clear()
    REGISTRY.entries.update(before)


def _seen(results: Any, metric: str) -> dict[str, tuple[Any, ...]]:
    """Results at the field itself; the package's key of a failed metric is an object's id."""
    found = results["$.properties.v"]
    return {
        metric if name.startswith("error_") else name: (
            type(result).__name__, result.metric_id, result.score, result.passed, result.details
        )
        for name, result in found.items()
    }  # fmt: skip


@pytest.mark.usefixtures("registered")
@pytest.mark.parametrize("profile", ["extract-bench-0.1.0", "extract-bench-readme"])
@pytest.mark.parametrize("metric, kind", list(_cases()))
def test_a_class_is_asked_the_same_and_heard_the_same(metric, kind, profile, published):
    schema = {"type": "object", "properties": {"v": _field(kind, metric)}}
    config = compat.StructuredEvaluatorConfig(metrics=[], profile=profile)
    evaluator = compat.StructuredEvaluator(config)
    for gold, extracted in itertools.product(VALUES[kind], repeat=2):
        documents = (schema, _document(gold), _document(extracted))
        theirs = published.evaluator.evaluate(*documents)["results"]
        ours = evaluator.evaluate(*documents)["results"]
        assert _seen(ours, metric) == _seen(theirs, metric), (gold, extracted)


@pytest.mark.usefixtures("registered")
@pytest.mark.parametrize("profile", ["paper", "strict"])
def test_the_states_decide_first_where_the_paper_says_so(profile):
    schema = {"type": "object", "properties": {"v": _field("string", "echo")}}
    for gold, extracted in itertools.product(VALUES["string"], repeat=2):
        fields = xb.evaluate(schema, _document(gold), _document(extracted), profile=profile).fields
        present = isinstance(gold, str) and isinstance(extracted, str)
        assert bool(fields.score[0] == 0.25) == present
        if not present:
            assert fields.outcome[0] in ("both_absent", "omission", "hallucination")
