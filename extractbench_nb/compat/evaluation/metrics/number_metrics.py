"""The metrics for numbers."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from extractbench_nb.compat.metric_classes import PublishedMetric

__all__ = ["ExactNumberMatchMetric", "IntegerExactMatchMetric", "NumberToleranceMetric"]


@dataclass(frozen=True)
class ExactNumberMatchMetric(PublishedMetric):
    """Equal numbers; texts are read as numbers.

    Parameters
    ----------
    metric_id : str, optional
        The name in results.
    """

    rule = "number_exact"
    metric_id: str = "number_exact"


@dataclass(frozen=True)
class NumberToleranceMetric(PublishedMetric):
    """Numbers that are at most a tolerance apart.

    Parameters
    ----------
    metric_id : str, optional
        The name in results.
    default_tolerance : float, optional
        The distance that passes, where the config names none.
    """

    rule = "number_tolerance"
    metric_id: str = "number_tolerance"
    default_tolerance: float = 1e-6

    def params(self) -> dict[str, Any]:
        """Return the params that hold where a config says nothing.

        Returns
        -------
        dict
            tolerance.
        """
        return {"tolerance": self.default_tolerance}


@dataclass(frozen=True)
class IntegerExactMatchMetric(PublishedMetric):
    """Equal whole parts.

    Parameters
    ----------
    metric_id : str, optional
        The name in results.
    """

    rule = "integer_exact"
    metric_id: str = "integer_exact"
