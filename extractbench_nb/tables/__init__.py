"""Tables as grids of cells: reading, GriTS and other metrics, canonical form, detected objects."""

from extractbench_nb.tables.batches import TableScores, array_tables, evaluate_tables
from extractbench_nb.tables.canonical import canonicalize
from extractbench_nb.tables.cells import Table
from extractbench_nb.tables.compare_arrays import compare_tables
from extractbench_nb.tables.keep_curves import keep_curves, made_up_tables, pubtables
from extractbench_nb.tables.detection import detection_scores
from extractbench_nb.tables.grits_result import GriTS
from extractbench_nb.tables.grid_similarity import dilate, grits
from extractbench_nb.tables.images import evaluate_images, load_images
from extractbench_nb.tables.detectors import detect, page_tables
from extractbench_nb.tables.objects import STRUCTURE_LABELS, crop, read_objects, to_objects
from extractbench_nb.tables.quality import align_texts, check_tables
from extractbench_nb.tables.reading import read_table
from extractbench_nb.tables.resolution import ResolvedTable, from_objects, raw_grid

__all__ = [
    "STRUCTURE_LABELS",
    "GriTS",
    "ResolvedTable",
    "Table",
    "TableScores",
    "align_texts",
    "array_tables",
    "canonicalize",
    "check_tables",
    "compare_tables",
    "crop",
    "detect",
    "detection_scores",
    "dilate",
    "evaluate_images",
    "evaluate_tables",
    "from_objects",
    "grits",
    "keep_curves",
    "load_images",
    "made_up_tables",
    "page_tables",
    "pubtables",
    "raw_grid",
    "read_objects",
    "read_table",
    "to_objects",
]
