"""What a metric derives from that is asked about present values only."""

from extractbench_nb.compat.metric_classes import PolicyAwareMetric

__all__ = ["PolicyAwareMetric"]
