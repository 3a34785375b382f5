"""A metric's params over cases: live scores, flips against a baseline, the threshold's curve."""

from extractbench_nb.widgets.workbench.view import Workbench

__all__ = ["Workbench"]
