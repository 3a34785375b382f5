"""Tables as grids of cells: reading, GriTS and other metrics, canonical form, detected objects."""

from extractbench_nb.tables.batches import TableScores, array_tables, evaluate_tables
from extractbench_nb.tables.canonical import Canonical, canonicalize
from extractbench_nb.tables.cells import Cell, Table
from extractbench_nb.tables.comparing import TABLE_METRICS, compare_rows, compare_tables
from extractbench_nb.tables.curves import keep_curves, made_up_tables, pubtables
from extractbench_nb.tables.detection import detection_scores
from extractbench_nb.tables.drawing import GriTS
from extractbench_nb.tables.grid_similarity import GRITS_METRICS, GRITS_VARIANTS, dilate, grits
from extractbench_nb.tables.images import (
    ImageScores,
    TableImage,
    TableImages,
    evaluate_images,
    load_images,
    locate_cells,
)
from extractbench_nb.tables.models import detect, page_tables
from extractbench_nb.tables.objects import (
    DETECTION_LABELS,
    STRUCTURE_LABELS,
    Crop,
    crop,
    read_objects,
    read_words,
    to_objects,
)
from extractbench_nb.tables.quality import (
    align_texts,
    check_content,
    check_tables,
    count_objects,
    is_complex,
)
from extractbench_nb.tables.reading import read_table
from extractbench_nb.tables.resolution import (
    RESOLUTION_VARIANTS,
    ResolvedTable,
    from_objects,
    raw_grid,
)

__all__ = [
    "DETECTION_LABELS",
    "GRITS_METRICS",
    "GRITS_VARIANTS",
    "RESOLUTION_VARIANTS",
    "STRUCTURE_LABELS",
    "TABLE_METRICS",
    "Canonical",
    "Cell",
    "Crop",
    "GriTS",
    "ImageScores",
    "ResolvedTable",
    "Table",
    "TableImage",
    "TableImages",
    "TableScores",
    "align_texts",
    "array_tables",
    "canonicalize",
    "check_content",
    "check_tables",
    "compare_rows",
    "compare_tables",
    "count_objects",
    "crop",
    "detect",
    "detection_scores",
    "dilate",
    "evaluate_images",
    "evaluate_tables",
    "from_objects",
    "grits",
    "is_complex",
    "keep_curves",
    "load_images",
    "locate_cells",
    "made_up_tables",
    "page_tables",
    "pubtables",
    "raw_grid",
    "read_objects",
    "read_table",
    "read_words",
    "to_objects",
]
