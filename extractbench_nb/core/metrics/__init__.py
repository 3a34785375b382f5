"""The metrics of fields: the registry, `metric`, and the built-in metrics."""

from extractbench_nb.core.metrics import (
    array_metrics as arrays,
    number_metrics as numbers,
    string_metrics as strings,
)
from extractbench_nb.core.metrics.registry import REGISTRY, MetricScore, metric, metrics

REGISTRY.built_in.update(REGISTRY.entries)

__all__ = [
    "MetricScore",
    "metric",
    "metrics",
]
