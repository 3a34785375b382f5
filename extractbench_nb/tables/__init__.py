"""Compare tables as grids of cells: reading, GriTS, canonical form, detected objects."""

from typing import TYPE_CHECKING

# Names imported `as` themselves are for other rooms; the public ones are in `__all__`.
from extractbench_nb.support.moved import moved_names
from extractbench_nb.tables.canonical import Canonical as Canonical
from extractbench_nb.tables.canonical import canonicalize
from extractbench_nb.tables.cells import Table
from extractbench_nb.tables.cells import is_share as is_share
from extractbench_nb.tables.cells import rectangles as rectangles
from extractbench_nb.tables.evaluating import TableImage as TableImage
from extractbench_nb.tables.evaluating import TableResult as TableResult
from extractbench_nb.tables.evaluating import (
    array_tables,
    evaluate_images,
    evaluate_tables,
    load_images,
)
from extractbench_nb.tables.evaluating import read_image as read_image
from extractbench_nb.tables.grid_similarity import METRICS as METRICS
from extractbench_nb.tables.grid_similarity import SIDES as SIDES
from extractbench_nb.tables.grid_similarity import GriTS, PageGriTS, grits
from extractbench_nb.tables.grid_similarity import arrays_similarity as arrays_similarity
from extractbench_nb.tables.grid_similarity import scores_table as scores_table
from extractbench_nb.tables.grits_result import LEGEND as LEGEND
from extractbench_nb.tables.grits_result import Comparison as Comparison
from extractbench_nb.tables.grits_result import Line as Line
from extractbench_nb.tables.grits_result import boxed_grid as boxed_grid
from extractbench_nb.tables.grits_result import compare as compare
from extractbench_nb.tables.grits_result import default_metric as default_metric
from extractbench_nb.tables.grits_result import kind_of as kind_of
from extractbench_nb.tables.grits_result import tables as tables
from extractbench_nb.tables.grits_result import two_digits as two_digits
from extractbench_nb.tables.objects import STRUCTURE_LABELS as STRUCTURE_LABELS
from extractbench_nb.tables.objects import Words as Words
from extractbench_nb.tables.objects import detected_objects as detected_objects
from extractbench_nb.tables.objects import detected_words as detected_words
from extractbench_nb.tables.objects import detection_scores, to_objects
from extractbench_nb.tables.paper import check_tables, keep_curves, pubtables
from extractbench_nb.tables.reading import read_table
from extractbench_nb.tables.reading import text_of as text_of
from extractbench_nb.tables.reading import texts_of as texts_of
from extractbench_nb.tables.resolution import ResolvedTable as ResolvedTable
from extractbench_nb.tables.resolution import from_objects
from extractbench_nb.tables.table_formats import seen_csv as seen_csv
from extractbench_nb.tables.table_formats import table_of_csv as table_of_csv
from extractbench_nb.tables.table_metrics import compare_tables

__all__ = [
    "GriTS",
    "PageGriTS",
    "Table",
    "array_tables",
    "canonicalize",
    "check_tables",
    "compare_tables",
    "detection_scores",
    "evaluate_images",
    "evaluate_tables",
    "from_objects",
    "grits",
    "keep_curves",
    "load_images",
    "pubtables",
    "read_table",
    "to_objects",
]

if not TYPE_CHECKING:  # type checkers would accept any name
    __getattr__ = moved_names(__name__)
