"""The published ``extract_bench`` package's names over this package's engine.

A script works after replacing ``extract_bench`` by ``extractbench_nb.compat``, also in a notebook.
The rules are those of the release with what its README promises beyond it, profile
``extract-bench-readme``; ``profile="extract-bench-0.1.0"`` gives the release's own numbers. Paths
that the package emits for the inside of ``anyOf`` and of arrays are not reproduced.
"""

from extractbench_nb.compat.evaluation import (
    AsyncEvaluationConfig,
    BaseMetric,
    EvaluationConfig,
    EvaluationReport,
    MetricConfig,
    MetricRegistry,
    MetricResult,
    ReportBuilder,
    ReportConfig,
    StructuredEvaluator,
    StructuredEvaluatorConfig,
    global_metric_registry,
)

__all__ = [
    "AsyncEvaluationConfig",
    "BaseMetric",
    "EvaluationConfig",
    "EvaluationReport",
    "MetricConfig",
    "MetricRegistry",
    "MetricResult",
    "ReportBuilder",
    "ReportConfig",
    "StructuredEvaluator",
    "StructuredEvaluatorConfig",
    "global_metric_registry",
]
