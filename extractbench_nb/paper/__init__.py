"""The paper's tables, printed and recomputed; its errata; tests of its claims."""

from extractbench_nb.paper.claim_tests import claims
from extractbench_nb.paper.errata_list import errata
from extractbench_nb.paper.facts import counts
from extractbench_nb.paper.regression import correlations, regressions
from extractbench_nb.paper.tables import (
    compare,
    published,
    reproduction,
    statements,
    style,
    summary,
    table,
)

__all__ = [
    "claims",
    "compare",
    "correlations",
    "counts",
    "errata",
    "published",
    "regressions",
    "reproduction",
    "statements",
    "style",
    "summary",
    "table",
]
