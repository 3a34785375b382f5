"""The front ends of the workbench."""

from __future__ import annotations

import traitlets

from extractbench_nb.widgets.assets import asset
from extractbench_nb.widgets.view import Pane

__all__ = ["CasesPane", "ConfigPane", "CurvePane", "Stops", "SummaryPane"]

_STYLE = asset("shared/base.css", "workbench/workbench.css")


class SummaryPane(Pane):
    """The figures."""

    _esm = asset("shared/dom.js", "workbench/summary.js")
    _css = _STYLE


class ConfigPane(Pane):
    """The params as an ``evaluation_config``, with a button that copies it."""

    _esm = asset("shared/dom.js", "workbench/config.js")
    _css = _STYLE


class CurvePane(Pane):
    """The curve; a click or an arrow key sends ``{"kind": "set", "over", "value", "asked"}``.

    ``asked`` comes back as ``answered``, so that the mark stays where it was put meanwhile.
    """

    _esm = asset("shared/dom.js", "workbench/curve.js")
    _css = _STYLE


class CasesPane(Pane):
    """A page of cases; `detail` is the chosen one in full, as JSON text.

    It sends ``{"kind": "turn", "by": 1 or -1}`` for another page, and ``{"kind": "whole"}`` for
    long values.
    """

    _esm = asset("shared/dom.js", "workbench/cases.js")
    _css = _STYLE

    selected = traitlets.Int(None, allow_none=True).tag(sync=True)
    detail = traitlets.Unicode("").tag(sync=True)


class Stops(Pane):
    """A slider over values that are not evenly apart.

    Attributes
    ----------
    texts : list of str
        The values in words.
    at : int
        The place of the chosen one.
    label : str
        What the number is.
    """

    _esm = asset("shared/dom.js", "workbench/stops.js")
    _css = asset("shared/base.css", "shared/slider.css")

    texts = traitlets.List(traitlets.Unicode()).tag(sync=True)
    at = traitlets.Int(0).tag(sync=True)
    label = traitlets.Unicode("").tag(sync=True)

    @traitlets.validate("at")
    def _within(self, proposal: traitlets.Bunch) -> int:
        return min(max(int(proposal["value"]), 0), max(0, len(self.texts) - 1))
