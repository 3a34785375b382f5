"""Tables: grid table similarity, canonical forms, and the metrics and checks beside it."""

from extractbench_nb.grits.api import GRITS_METRICS, GRITS_VARIANTS, GriTS, grits
from extractbench_nb.grits.canonical import Canonical, canonicalize, count_objects, is_complex
from extractbench_nb.grits.cells import Cell, Table
from extractbench_nb.grits.comparing import (
    TABLE_METRICS,
    compare_rows,
    compare_tables,
)
from extractbench_nb.grits.dilation import dilate
from extractbench_nb.grits.quality import align_texts, check_content, check_tables
from extractbench_nb.grits.reading import read_table

__all__ = [
    "GRITS_METRICS",
    "GRITS_VARIANTS",
    "TABLE_METRICS",
    "Canonical",
    "Cell",
    "GriTS",
    "Table",
    "align_texts",
    "canonicalize",
    "check_content",
    "check_tables",
    "compare_rows",
    "compare_tables",
    "count_objects",
    "dilate",
    "grits",
    "is_complex",
    "read_table",
]
