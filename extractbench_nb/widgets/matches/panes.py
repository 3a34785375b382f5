"""The front ends of the view of matches: counts, pairs, and the chosen pair."""

from __future__ import annotations

import traitlets

from extractbench_nb.widgets.assets import asset
from extractbench_nb.widgets.view import Pane

__all__ = ["CountsPane", "DetailPane", "PairsPane"]


class CountsPane(Pane):
    """Counts as evaluated, and at the present thresholds."""

    _esm = asset("shared/dom.js", "matches/counts.js")
    _css = asset("shared/base.css", "matches/matches.css")


class PairsPane(Pane):
    """The two columns of a page; `selected` has the indices of the chosen pair."""

    _esm = asset("shared/dom.js", "matches/pairs.js")
    _css = asset("shared/base.css", "matches/matches.css")

    selected = traitlets.Any(None, allow_none=True).tag(sync=True)


class DetailPane(Pane):
    """The chosen pair field by field."""

    _esm = asset("shared/dom.js", "matches/detail.js")
    _css = asset("shared/base.css", "matches/matches.css")
