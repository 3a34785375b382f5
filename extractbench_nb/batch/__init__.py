"""Many documents, many runs: `evaluate_runs`, its results, and cost estimates."""

from extractbench_nb.batch.estimate import CostEstimate, estimate_cost
from extractbench_nb.batch.results import Evaluations
from extractbench_nb.batch.run import evaluate_runs, load_evaluations

__all__ = ["CostEstimate", "Evaluations", "estimate_cost", "evaluate_runs", "load_evaluations"]
