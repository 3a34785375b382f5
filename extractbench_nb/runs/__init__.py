"""Evaluating many documents and runs: `evaluate_runs`, its results, and cost estimates.

Cost estimates, which need the judges that call models, are loaded on first use.
"""

from typing import TYPE_CHECKING, Any

from extractbench_nb.runs.results import Evaluations
from extractbench_nb.runs.evaluate import evaluate_runs, load_evaluations

if TYPE_CHECKING:
    from extractbench_nb.runs.estimate import CostEstimate, estimate_cost

__all__ = ["CostEstimate", "Evaluations", "estimate_cost", "evaluate_runs", "load_evaluations"]


def __getattr__(name: str) -> Any:
    """Load a name of estimates on first use (PEP 562)."""
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from extractbench_nb.runs import estimate

    return getattr(estimate, name)
