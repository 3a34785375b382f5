"""Run code written for extract-bench 0.1.0, and read its reports, in profile ``paper``.

A script runs after replacing ``extract_bench`` by ``extractbench_nb.compat``, also in a notebook.
The import path ``extractbench_nb.compat.evaluation.metrics`` (BaseMetric, MetricResult) exists too.

`read_report` makes frames of the reports of extract-bench 0.1.0, whose rules differ: see the guide
"Come from extract-bench".
"""

from typing import TYPE_CHECKING

from extractbench_nb.compat.metric_classes import (
    BaseMetric,
    MetricConfig,
    MetricResult,
    global_metric_registry,
)
from extractbench_nb.compat.published_reports import read_report
from extractbench_nb.compat.reports import EvaluationReport, ReportBuilder, ReportConfig
from extractbench_nb.compat.structured import StructuredEvaluator, StructuredEvaluatorConfig
from extractbench_nb.support.moved import moved_names

__all__ = [
    "BaseMetric",
    "EvaluationReport",
    "MetricConfig",
    "MetricResult",
    "ReportBuilder",
    "ReportConfig",
    "StructuredEvaluator",
    "StructuredEvaluatorConfig",
    "global_metric_registry",
    "read_report",
]

if not TYPE_CHECKING:  # type checkers would accept any name
    __getattr__ = moved_names(__name__)
