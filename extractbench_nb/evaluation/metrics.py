"""The base classes of class-based metrics, under the import path of the published package."""

from extractbench_nb.field_metrics.classes import (
    BaseMetric,
    MetricConfig,
    MetricContext,
    MetricResult,
)

__all__ = ["BaseMetric", "MetricConfig", "MetricContext", "MetricResult"]
