"""From a schema, gold and a prediction to records.

Pairing, alignment, scoring, and what the fields add up to.
"""

from extractbench_nb.engine.assignment import OptimalAligner

__all__ = ["OptimalAligner"]
