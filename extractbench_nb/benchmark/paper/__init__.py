"""The paper's tables: printed, recomputed, side by side; its errata; its claims, tested.

`table`, `published` and `compare` take a table's number. Everything works without the dataset,
from figures that come with this package.
"""

from extractbench_nb.benchmark.paper.claims import claims, correlations, regressions
from extractbench_nb.benchmark.paper.counts import counts
from extractbench_nb.benchmark.paper.errata import errata
from extractbench_nb.benchmark.paper.styling import style
from extractbench_nb.benchmark.paper.tables import (
    compare,
    published,
    reproduction,
    statements,
    table,
)
from extractbench_nb.benchmark.published import figures

__all__ = [
    "claims",
    "compare",
    "correlations",
    "counts",
    "errata",
    "figures",
    "published",
    "regressions",
    "reproduction",
    "statements",
    "style",
    "table",
]
