"""What does not add up: each erratum is a function that computes both of its sides."""

from extractbench_nb.benchmark.paper.errata.listing import ERRATA_COLUMNS, errata

__all__ = ["ERRATA_COLUMNS", "errata"]
