"""What a metric of one's own derives from, is given and returns; the metrics that need no judge."""

from extractbench_nb.compat.evaluation.metrics.boolean_metrics import BooleanExactMatchMetric
from extractbench_nb.compat.evaluation.metrics.number_metrics import (
    ExactNumberMatchMetric,
    IntegerExactMatchMetric,
    NumberToleranceMetric,
)
from extractbench_nb.compat.evaluation.metrics.policy_metric import PolicyAwareMetric
from extractbench_nb.compat.evaluation.metrics.string_metrics import (
    CaseInsensitiveStringMatchMetric,
    ExactStringMatchMetric,
    NormalizedLevenshteinSimilarityMetric,
)
from extractbench_nb.metrics.classes import BaseMetric, MetricContext, MetricResult

__all__ = [
    "BaseMetric",
    "BooleanExactMatchMetric",
    "CaseInsensitiveStringMatchMetric",
    "ExactNumberMatchMetric",
    "ExactStringMatchMetric",
    "IntegerExactMatchMetric",
    "MetricContext",
    "MetricResult",
    "NormalizedLevenshteinSimilarityMetric",
    "NumberToleranceMetric",
    "PolicyAwareMetric",
]
