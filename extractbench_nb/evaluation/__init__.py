"""From records to results: `evaluate`, and the `Evaluation` that it returns."""

from extractbench_nb.engine.profiles import Profile
from extractbench_nb.engine.similarity import MapItem
from extractbench_nb.evaluation.api import evaluate, evaluate_async
from extractbench_nb.evaluation.result import Evaluation

__all__ = ["Evaluation", "MapItem", "Profile", "evaluate", "evaluate_async"]
