"""The metrics of fields: the registry, `metric`, and the built-in metrics."""

from extractbench_nb.field_metrics import (  # noqa: F401 - importing them fills the registry
    arrays,
    numbers,
    strings,
)
from extractbench_nb.field_metrics.registry import REGISTRY, MetricScore, metric, metrics

REGISTRY.built_in.update(REGISTRY.entries)

__all__ = [
    "MetricScore",
    "metric",
    "metrics",
]
