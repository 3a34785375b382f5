"""Metrics: pure functions ``(gold, predicted, *, params) -> score``, a small file a value type."""

from extractbench_nb.metrics import (  # noqa: F401 - importing them fills the registry
    arrays,
    booleans,
    judged,
    numbers,
    strings,
    tables,
    temporal,
)
from extractbench_nb.metrics.registry import REGISTRY, Metric, MetricScore, metric, metrics

__all__ = ["REGISTRY", "Metric", "MetricScore", "metric", "metrics"]
