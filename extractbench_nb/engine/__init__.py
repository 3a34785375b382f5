"""From a schema, gold and a prediction to records.

Pairing, alignment, scoring, and the roll-up of verdicts.
"""

from extractbench_nb.engine.assignment import OptimalAligner

__all__ = ["OptimalAligner"]
