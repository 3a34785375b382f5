"""Draw figures: each function takes data and, optionally, an Axes, and returns the Axes.

Without an Axes, a figure of notebook width is created. The colours are those of reports and views
(`extractbench_nb.views.palette`). Labels that do not fit are wrapped, turned or shortened so that
they stay distinct, for the size that the figure has when it is drawn. Nothing is shown, saved or
closed, and matplotlib's settings stay unchanged; matplotlib itself is imported when the first
figure is drawn. `grid` makes one figure for several. The repr of a figure has a digest of what is
drawn, so that a kept notebook can be compared with a new run.
"""

from typing import TYPE_CHECKING

from extractbench_nb.support.moved import moved_names
from extractbench_nb.views.plots.axes import grid
from extractbench_nb.views.plots.benchmark_figures import documents, results, tokens
from extractbench_nb.views.plots.confidence_figures import reliability
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

__all__ = [
    "attempts",
    "differences",
    "difficulty",
    "documents",
    "grid",
    "keep_curves",
    "losses",
    "outcomes",
    "reliability",
    "results",
    "sensitivity",
    "tokens",
    "validity",
]

if not TYPE_CHECKING:  # type checkers would accept any name
    __getattr__ = moved_names(__name__)
