"""The score as a function of a controlled corruption, for any metric and any profile."""

from extractbench_nb.sensitivity.api import sensitivity
from extractbench_nb.sensitivity.columns import SENSITIVITY_COLUMNS

__all__ = ["SENSITIVITY_COLUMNS", "sensitivity"]
