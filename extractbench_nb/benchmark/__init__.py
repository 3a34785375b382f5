"""The ExtractBench dataset: loading, fetching, statistics, and recorded runs."""

from extractbench_nb.benchmark import reliability
from extractbench_nb.benchmark.complexities import complexity, field_definitions
from extractbench_nb.benchmark.dataset import Dataset, load_dataset
from extractbench_nb.benchmark.fetch import fetch_dataset
from extractbench_nb.benchmark.reliability import recorded_outputs
from extractbench_nb.errors import DatasetError

__all__ = [
    "Dataset",
    "DatasetError",
    "complexity",
    "fetch_dataset",
    "field_definitions",
    "load_dataset",
    "recorded_outputs",
    "reliability",
]
