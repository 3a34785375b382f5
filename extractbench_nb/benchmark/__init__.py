"""The ExtractBench dataset and paper: data, statistics, printed and recomputed tables, errata."""

from extractbench_nb.benchmark.complexities import complexity, field_definitions
from extractbench_nb.runs.dataset import Dataset, load_dataset, recorded_outputs
from extractbench_nb.benchmark.domain_facts import gold_figures
from extractbench_nb.runs.fetch import fetch_dataset
from extractbench_nb.benchmark.paper_counts import counts
from extractbench_nb.benchmark.paper_errata import claims, errata
from extractbench_nb.benchmark.paper_tables import compare, published, style, table
from extractbench_nb.errors import DatasetError

__all__ = [
    "Dataset",
    "DatasetError",
    "claims",
    "compare",
    "complexity",
    "counts",
    "errata",
    "fetch_dataset",
    "field_definitions",
    "gold_figures",
    "load_dataset",
    "published",
    "recorded_outputs",
    "style",
    "table",
]
