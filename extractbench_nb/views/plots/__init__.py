"""Figures: each function takes data and optionally an Axes, draws, and returns the Axes.

Without an Axes, a figure of notebook width is created. The colours are those of reports and views
(`extractbench_nb.views.palette`). Labels that do not fit are wrapped, turned or shortened so that
they stay distinct, for the size that the figure has when it is drawn. Nothing is shown, saved or
closed, and matplotlib's settings stay unchanged; matplotlib itself is imported when the first
figure is drawn. `grid` makes one figure for several. The repr of a figure has a digest of what is
drawn, so that a kept notebook can be compared with a new run.
"""

from extractbench_nb.views.plots.axes import grid
from extractbench_nb.views.plots.confidence_figures import (
    reliability,
    remaining_error,
    risk_coverage,
)
from extractbench_nb.views.plots.dataset_figures import (
    complexity,
    compression,
    documents,
    findings,
    tokens,
)
from extractbench_nb.views.plots.evaluation_figures import (
    attempts,
    differences,
    difficulty,
    keep_curves,
    losses,
    outcomes,
    sensitivity,
    validity,
)
from extractbench_nb.views.plots.paper_figures import failures, modes, results

__all__ = [
    "attempts",
    "complexity",
    "compression",
    "differences",
    "difficulty",
    "documents",
    "failures",
    "findings",
    "grid",
    "keep_curves",
    "losses",
    "modes",
    "outcomes",
    "reliability",
    "remaining_error",
    "results",
    "risk_coverage",
    "sensitivity",
    "tokens",
    "validity",
]
