"""The names that a metric of one's own needs, where the published package has them."""

from extractbench_nb.field_metrics.classes import (
    BaseMetric,
    MetricConfig,
    MetricContext,
    MetricResult,
)

__all__ = ["BaseMetric", "MetricConfig", "MetricContext", "MetricResult"]
