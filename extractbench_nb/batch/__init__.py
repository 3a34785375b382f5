"""Many documents, many runs: `evaluate_runs`, and the `Evaluations` that it returns."""

from extractbench_nb.batch.api import evaluate_runs, load_evaluations
from extractbench_nb.batch.results import Evaluations

__all__ = ["Evaluations", "evaluate_runs", "load_evaluations"]
