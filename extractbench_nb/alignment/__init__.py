"""Which predicted item is which gold item: optimal one-to-one assignment, offline."""

from extractbench_nb.alignment.assignment import OptimalAligner

__all__ = ["OptimalAligner"]
