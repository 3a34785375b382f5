"""Counts and rates by outcome, field, metric, domain and so on, and which fields are hard."""

from extractbench_nb.breakdowns.groups import breakdown
from extractbench_nb.breakdowns.hardest import difficulty

__all__ = ["breakdown", "difficulty"]
