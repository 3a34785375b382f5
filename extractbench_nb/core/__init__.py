"""The engine: pairing, alignment, scoring and roll-up, from documents to records.

`evaluate` and `evaluate_runs` use it; of its names users need only the aligners and profiles.
"""

from extractbench_nb.core.alignment import OptimalAligner

__all__ = ["OptimalAligner"]
