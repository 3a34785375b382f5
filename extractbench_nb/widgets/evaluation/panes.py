"""The front ends of the view: the head, the list of rows, and one row in full."""

from __future__ import annotations

import traitlets

from extractbench_nb.widgets.assets import asset
from extractbench_nb.widgets.view import Pane

__all__ = ["DetailPane", "HeadPane", "RowsPane"]

_STYLES = ("shared/base.css", "evaluation/evaluation.css")


class HeadPane(Pane):
    """Scores, counts, notes and warnings."""

    _esm = asset("shared/dom.js", "evaluation/head.js")
    _css = asset(*_STYLES)


class RowsPane(Pane):
    """A page of rows; `chosen` is the label of a row, -1 for none, `number` the page from 0."""

    _esm = asset("shared/dom.js", "shared/copy.js", "evaluation/rows.js")
    _css = asset(*_STYLES)

    chosen = traitlets.Int(-1).tag(sync=True)
    number = traitlets.Int(0).tag(sync=True)


class DetailPane(Pane):
    """One row in full; sends ``show_all`` where more of its values is wanted."""

    _esm = asset("shared/dom.js", "shared/copy.js", "evaluation/detail.js")
    _css = asset(*_STYLES)
