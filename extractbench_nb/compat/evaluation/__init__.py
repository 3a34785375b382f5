"""What ``extract_bench.evaluation`` offers."""

from extractbench_nb.compat.evaluation.evaluation_config import EvaluationConfig, MetricConfig
from extractbench_nb.compat.evaluation.metric_registry import MetricRegistry, global_metric_registry
from extractbench_nb.compat.evaluation.metrics import BaseMetric, MetricResult
from extractbench_nb.compat.evaluation.reporting import (
    EvaluationReport,
    ReportBuilder,
    ReportConfig,
)
from extractbench_nb.compat.evaluation.structured_evaluator import (
    AsyncEvaluationConfig,
    StructuredEvaluator,
    StructuredEvaluatorConfig,
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
