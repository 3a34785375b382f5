"""Grid table similarity: how alike two tables are in topology, content and location."""

from extractbench_nb.grits.api import GriTS, grits

__all__ = ["GriTS", "grits"]
