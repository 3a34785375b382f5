"""What a metric of one's own derives from, is given and returns."""

from extractbench_nb.metrics.classes import BaseMetric, MetricContext, MetricResult

__all__ = ["BaseMetric", "MetricContext", "MetricResult"]
