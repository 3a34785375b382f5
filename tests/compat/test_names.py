"""Every public name of the published package is here, in the same module, called the same way."""

import importlib
import inspect
import warnings
from typing import Any

import pytest

from extractbench_nb import compat
from extractbench_nb.compat.evaluation import metrics, presets
from extractbench_nb.compat.evaluation.metrics import (
    boolean_metrics,
    number_metrics,
    string_metrics,
)

MODULES = {
    "": compat.__all__,
    ".evaluation": compat.__all__,
    ".evaluation.metrics": metrics.__all__,
    ".evaluation.metrics.policy_metric": ["PolicyAwareMetric"],
    ".evaluation.metrics.string_metrics": string_metrics.__all__,
    ".evaluation.metrics.number_metrics": number_metrics.__all__,
    ".evaluation.metrics.boolean_metrics": boolean_metrics.__all__,
    ".evaluation.presets": presets.__all__,
    ".evaluation.metrics.base_metric": ["BaseMetric", "MetricContext", "MetricResult"],
    ".evaluation.evaluation_config": ["EvaluationConfig", "MetricConfig"],
    ".evaluation.metric_registry": ["MetricRegistry", "global_metric_registry"],
    ".evaluation.structured_evaluator": [
        "AsyncEvaluationConfig", "StructuredEvaluator", "StructuredEvaluatorConfig",
    ],
    ".evaluation.reporting": [
        "ArrayStats", "ConfusionCounts", "ContentStats", "CoverageStats", "ErrorBreakdown",
        "ErrorGroup", "EvaluationReport", "FieldOutcome", "LlmStats", "LowScoringField",
        "OutcomeStats", "ReportBuilder", "ReportConfig", "SchemaStats", "format_csv", "format_json",
        "format_markdown_table", "format_text_summary",
    ],
    ".evaluation.reporting.models": ["EvaluationReport", "FieldOutcome"],
    ".evaluation.reporting.formatters": ["format_csv", "format_json"],
    ".evaluation.reporting.report_builder": ["ReportBuilder", "ReportConfig"],
}  # fmt: skip

CALLS = [
    ("StructuredEvaluator", None),
    ("StructuredEvaluator", "evaluate"),
    ("StructuredEvaluator", "evaluate_async"),
    ("StructuredEvaluatorConfig", None),
    ("AsyncEvaluationConfig", None),
    ("EvaluationConfig", None),
    ("EvaluationConfig", "from_preset"),
    ("MetricConfig", None),
    ("MetricResult", None),
    ("BaseMetric", "evaluate"),
    ("ReportBuilder", None),
    ("ReportBuilder", "build"),
    ("ReportBuilder", "build_async"),
    ("ReportBuilder", "save"),
    ("ReportConfig", None),
    *(
        ("MetricRegistry", method)
        for method in (
            None, "available_metrics", "create_metric", "get_metric_descriptor", "has_metric",
            "register_metric", "register_metric_descriptor", "register_metric_factory",
            "unregister_metric",
        )
    ),
]  # fmt: skip


@pytest.fixture(scope="module")
def package() -> Any:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return pytest.importorskip("extract_bench")


@pytest.mark.parametrize("module", MODULES)
def test_names_are_where_the_package_has_them(module, package):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        theirs = importlib.import_module("extract_bench" + module)
    ours = importlib.import_module("extractbench_nb.compat" + module)
    for name in MODULES[module]:
        assert hasattr(theirs, name), f"{name} is not published in {module}"
        assert hasattr(ours, name)


def test_all_public_names_of_the_package_are_here(package):
    assert set(package.__all__) == set(compat.__all__)


def _parameters(value: Any) -> list[tuple[str, Any]]:
    """Parameters that can be given by place or by name, in order; keyword-only ones after them."""
    found = inspect.signature(value).parameters.values()
    return [(p.name, p.kind) for p in found if p.kind is not p.VAR_KEYWORD]


@pytest.mark.parametrize("name, method", CALLS)
def test_calls_are_the_same(name, method, package):
    """What the package's signature accepts, ours accepts; ours may have more keywords."""
    theirs, ours = (
        getattr(module, name) if method is None else getattr(getattr(module, name), method)
        for module in (package, compat)
    )
    accepted = {parameter for parameter, _ in _parameters(ours)}
    wanted = _parameters(theirs)
    assert {parameter for parameter, _ in wanted} <= accepted
    by_place = [p for p, kind in wanted if kind is inspect.Parameter.POSITIONAL_OR_KEYWORD]
    assert [p for p, _ in _parameters(ours)][: len(by_place)] == by_place


def test_defaults_of_the_configs_are_the_same(package):
    for name in ("AsyncEvaluationConfig", "ReportConfig"):
        theirs, ours = getattr(package, name)(), getattr(compat, name)()
        for field in vars(theirs):
            assert getattr(ours, field) == getattr(theirs, field), (name, field)


def test_the_docstring_tells_what_is_left_out(package):
    """Every name of a module that is here is here too, or is named as left out."""
    for module in MODULES:
        theirs = importlib.import_module("extract_bench" + module)
        ours = importlib.import_module("extractbench_nb.compat" + module)
        published = getattr(theirs, "__all__", None) or [
            name
            for name, value in vars(theirs).items()
            if not name.startswith("_") and getattr(value, "__module__", "") == theirs.__name__
        ]
        for name in published:
            assert hasattr(ours, name) or f"``{name}``" in str(compat.__doc__), (module, name)


def test_the_docstring_names_modules_that_exist():
    for module in MODULES:
        last = module.rpartition(".")[2]
        assert last in str(compat.__doc__), module
