"""The registry of metrics that are classes."""

from extractbench_nb.metrics.factories import MetricRegistry, global_metric_registry

__all__ = ["MetricRegistry", "global_metric_registry"]
