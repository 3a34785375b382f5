"""Many tables: scored in batches, taken apart with a given probability, published figures."""

from extractbench_nb.tables.batches import TableScores, evaluate_tables
from extractbench_nb.tables.evaluated import array_tables
from extractbench_nb.tables.keeping import keep_curves
from extractbench_nb.tables.made_up import made_up_tables
from extractbench_nb.tables.published import pubtables

__all__ = [
    "TableScores",
    "array_tables",
    "evaluate_tables",
    "keep_curves",
    "made_up_tables",
    "pubtables",
]
