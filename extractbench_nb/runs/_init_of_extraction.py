"""Model outputs: calling a model, run folders, parsing, failures, repair, and tables of results."""

from extractbench_nb.benchmark.baseline import (
    BaselineTables,
    baseline_tables,
    forgive,
    repair_effect,
)
from extractbench_nb.stats.failures import (
    failure_modes,
    failure_positions,
    validity_by_length,
)
from extractbench_nb.runs.parsing import ParsedOutput, parse_output
from extractbench_nb.runs.outputs import Repaired, read_outputs, repair_output
from extractbench_nb.runs.extracting import Run, extract

__all__ = [
    "BaselineTables",
    "ParsedOutput",
    "Repaired",
    "Run",
    "baseline_tables",
    "extract",
    "failure_modes",
    "failure_positions",
    "forgive",
    "parse_output",
    "read_outputs",
    "repair_effect",
    "repair_output",
    "validity_by_length",
]
