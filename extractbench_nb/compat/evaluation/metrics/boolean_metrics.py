"""The metric for booleans."""

from __future__ import annotations

from dataclasses import dataclass

from extractbench_nb.compat.metric_classes import PublishedMetric

__all__ = ["BooleanExactMatchMetric"]


@dataclass(frozen=True)
class BooleanExactMatchMetric(PublishedMetric):
    """Both true or both false; what is no boolean equals any other that is none.

    Parameters
    ----------
    metric_id : str, optional
        The name in results.
    """

    rule = "boolean_exact"
    metric_id: str = "boolean_exact"
