"""The claims of section 4.2, tested on the paper's own counts."""

from extractbench_nb.benchmark.paper.claims.correlation import CORRELATION_COLUMNS, correlations
from extractbench_nb.benchmark.paper.claims.listing import CLAIM_COLUMNS, claims
from extractbench_nb.benchmark.paper.claims.regressions import REGRESSION_COLUMNS, regressions

__all__ = [
    "CLAIM_COLUMNS",
    "CORRELATION_COLUMNS",
    "REGRESSION_COLUMNS",
    "claims",
    "correlations",
    "regressions",
]
