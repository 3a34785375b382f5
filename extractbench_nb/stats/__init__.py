"""Uncertainty: intervals over documents, paired comparisons, agreement of two judges."""

from extractbench_nb.stats.agreeing import Agreement, agreement
from extractbench_nb.stats.compare import compare_runs
from extractbench_nb.stats.comparison import Comparison

__all__ = ["Agreement", "Comparison", "agreement", "compare_runs"]
