"""One table from many documents: data, retrieval, statistics, published figures (AOE)."""

from extractbench_nb.construction.loading import TableDataset, TableTask, load

__all__ = [
    "TableDataset",
    "TableTask",
    "load",
]
