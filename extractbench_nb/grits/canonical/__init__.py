"""Canonical tables: one cell for each node of the headers, and how complex a table is."""

from extractbench_nb.grits.canonical.api import CHANGE_COLUMNS, Canonical, canonicalize
from extractbench_nb.grits.canonical.counting import count_objects, is_complex

__all__ = ["CHANGE_COLUMNS", "Canonical", "canonicalize", "count_objects", "is_complex"]
