"""Controls that ipywidgets does not have, or not with a name that screen readers can say."""

from __future__ import annotations

from typing import Any

import traitlets

from extractbench_nb.widgets.assets import asset
from extractbench_nb.widgets.view import Pane

__all__ = ["Slider"]


class Slider(Pane):
    """A number between two bounds, chosen by pulling, by arrow keys, or in Python.

    Attributes
    ----------
    value : float
        The number. It changes when the handle is let go; one out of bounds is moved to the bound.
    least, most, step : float
        The bounds, and the distance between two values.
    label : str
        What the number is.
    disabled : bool
        Whether it cannot be moved.
    """

    _esm = asset("shared/dom.js", "shared/slider.js")
    _css = asset("shared/base.css", "shared/slider.css")

    value = traitlets.Float(0.0).tag(sync=True)
    least = traitlets.Float(0.0).tag(sync=True)
    most = traitlets.Float(1.0).tag(sync=True)
    step = traitlets.Float(0.01).tag(sync=True)
    label = traitlets.Unicode("").tag(sync=True)
    disabled = traitlets.Bool(False).tag(sync=True)

    @traitlets.validate("value")
    def _within(self, proposal: Any) -> float:
        return min(max(float(proposal["value"]), self.least), self.most)
