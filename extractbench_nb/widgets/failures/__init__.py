"""Where many runs fail on many documents: a heatmap, the values behind its cells, breakdowns."""

from extractbench_nb.widgets.failures.explorer import FailureExplorer

__all__ = ["FailureExplorer"]
