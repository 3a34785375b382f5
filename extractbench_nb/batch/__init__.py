"""Many documents, many runs: `evaluate_runs`, what it returns, and what models would cost."""

from extractbench_nb.batch.api import evaluate_runs, load_evaluations
from extractbench_nb.batch.estimate import CostEstimate, estimate_cost
from extractbench_nb.batch.files import write_evaluation
from extractbench_nb.batch.results import Evaluations
from extractbench_nb.evaluation.result import use_writer

__all__ = ["CostEstimate", "Evaluations", "estimate_cost", "evaluate_runs", "load_evaluations"]

use_writer("parquet", write_evaluation)
