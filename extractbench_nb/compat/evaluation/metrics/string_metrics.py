"""The metrics for strings that need no judge."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from extractbench_nb.compat.metric_classes import PublishedMetric

__all__ = [
    "CaseInsensitiveStringMatchMetric",
    "ExactStringMatchMetric",
    "NormalizedLevenshteinSimilarityMetric",
]


@dataclass(frozen=True)
class ExactStringMatchMetric(PublishedMetric):
    """Equal text, case included.

    Parameters
    ----------
    metric_id : str, optional
        The name in results.
    """

    rule = "string_exact"
    metric_id: str = "string_exact"


@dataclass(frozen=True)
class CaseInsensitiveStringMatchMetric(PublishedMetric):
    """Equal text after case folding.

    Parameters
    ----------
    metric_id : str, optional
        The name in results.
    """

    rule = "string_case_insensitive"
    metric_id: str = "string_case_insensitive"


@dataclass(frozen=True)
class NormalizedLevenshteinSimilarityMetric(PublishedMetric):
    """Levenshtein similarity, ``1 - distance / max(len)``, that passes from a threshold on.

    Parameters
    ----------
    metric_id : str, optional
        The name in results.
    default_threshold : float, optional
        The least similarity in [0, 1] that passes, where the config names none.
    default_case_sensitive : bool, optional
        Whether case counts, where the config does not say.
    """

    rule = "string_fuzzy"
    metric_id: str = "string_fuzzy"
    default_threshold: float = 0.8
    default_case_sensitive: bool = False

    def params(self) -> dict[str, Any]:
        """Return the params that hold where a config says nothing.

        Returns
        -------
        dict
            threshold, case_sensitive.
        """
        return {
            "threshold": self.default_threshold,
            "case_sensitive": self.default_case_sensitive,
        }
