"""The front ends of the view of tables: scores, the two grids, and the chosen pair."""

from __future__ import annotations

import traitlets

from extractbench_nb.widgets.assets import asset
from extractbench_nb.widgets.view import Pane

__all__ = ["GridsPane", "PairPane", "ScoresPane"]

_STYLE = asset("shared/base.css", "tables/tables.css")


class ScoresPane(Pane):
    """The scores of each metric."""

    _esm = asset("shared/dom.js", "tables/scores.js")
    _css = _STYLE


class GridsPane(Pane):
    """A page of both grids; `selected` has side, row and column of the chosen position."""

    _esm = asset("shared/dom.js", "tables/cells.js", "tables/grids.js")
    _css = _STYLE

    selected = traitlets.Any(None, allow_none=True).tag(sync=True)


class PairPane(Pane):
    """The chosen position beside the one that it was matched with."""

    _esm = asset("shared/dom.js", "tables/pair.js")
    _css = _STYLE
