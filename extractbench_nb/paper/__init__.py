"""The paper's tables, printed and recomputed; its errata; tests of its claims."""

from extractbench_nb.paper.claim_tests import CLAIM_COLUMNS, claims
from extractbench_nb.paper.errata_list import ERRATA_COLUMNS, errata
from extractbench_nb.paper.facts import counts
from extractbench_nb.paper.layout import style
from extractbench_nb.paper.regression import (
    CORRELATION_COLUMNS,
    REGRESSION_COLUMNS,
    correlations,
    regressions,
)
from extractbench_nb.paper.tables import compare, published, reproduction, statements, table

__all__ = [
    "CLAIM_COLUMNS",
    "CORRELATION_COLUMNS",
    "ERRATA_COLUMNS",
    "REGRESSION_COLUMNS",
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
    "table",
]
