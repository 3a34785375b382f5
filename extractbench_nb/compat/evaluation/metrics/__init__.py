"""The names that the README imports from ``extract_bench.evaluation.metrics``."""

from extractbench_nb.compat.metric_classes import BaseMetric, MetricResult

__all__ = ["BaseMetric", "MetricResult"]
