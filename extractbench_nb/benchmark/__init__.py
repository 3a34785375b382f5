"""Recompute the ExtractBench paper: its tables, errata, claims and measures of complexity."""

from typing import TYPE_CHECKING

# Names imported `as` themselves are for other rooms; the public ones are in `__all__`.
from extractbench_nb.benchmark.baseline import BaselineTables as BaselineTables
from extractbench_nb.benchmark.baseline import (
    baseline_tables,
    forgive,
    repair_effect,
)
from extractbench_nb.benchmark.complexities import complexity, gold_figures
from extractbench_nb.benchmark.other_sets import load_docubench, load_llamaindex
from extractbench_nb.benchmark.paper_tables import compare, style, table
from extractbench_nb.benchmark.published import claims, counts, errata
from extractbench_nb.benchmark.published import display_name as display_name
from extractbench_nb.benchmark.recorded_verdicts import read_verdicts
from extractbench_nb.support.moved import moved_names

__all__ = [
    "baseline_tables",
    "claims",
    "compare",
    "complexity",
    "counts",
    "errata",
    "forgive",
    "gold_figures",
    "load_docubench",
    "load_llamaindex",
    "read_verdicts",
    "repair_effect",
    "style",
    "table",
]

if not TYPE_CHECKING:  # type checkers would accept any name
    __getattr__ = moved_names(__name__)
