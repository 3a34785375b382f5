"""The controls above the list: array, threshold, status, order and search."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import ipywidgets
import traitlets

from extractbench_nb.report.texts import fitted
from extractbench_nb.widgets.controls import Slider
from extractbench_nb.widgets.matches.model import SORTS, STATUSES
from extractbench_nb.widgets.matches.thresholds import ALIGN, PASS, Knob

__all__ = ["Filters", "Tuner"]

_WIDEST = 60
_OWN = {
    ALIGN: "align_threshold: from this similarity a pair is partial",
    PASS: "pass_threshold: from this score the array passes",
}


def _row(*parts: ipywidgets.Widget) -> ipywidgets.Box:
    flow = ipywidgets.Layout(flex_flow="row wrap", align_items="center", width="100%")
    return ipywidgets.Box(parts, layout=flow)


def _layout(width: int, *, grows: bool = False) -> ipywidgets.Layout:
    flex = f"{int(grows)} 1 {width}px"
    return ipywidgets.Layout(flex=flex, width="auto", min_width="0", margin="2px 10px 2px 0")


class Tuner(traitlets.HasTraits):
    """Which threshold is changed, and its value.

    Attributes
    ----------
    box : ipywidgets.Widget
        What is shown.
    key : str
        The threshold, empty where there is none.
    value : float
        Its value.
    """

    key = traitlets.Unicode("")
    value = traitlets.Float(0.5)

    def __init__(self) -> None:
        super().__init__()
        self._which = ipywidgets.Dropdown(description="Threshold", layout=_layout(300, grows=True))
        self.slider = Slider(label="Value", layout=_layout(230))
        self.reset = ipywidgets.Button(description="As declared", layout=_layout(100))
        self.box = _row(self._which, self.slider, self.reset)
        traitlets.link((self, "value"), (self.slider, "value"))
        self._which.observe(self._chosen, "value")

    def _chosen(self, change: Any) -> None:
        self.key = change["new"] or ""

    def offer(self, knobs: Sequence[Knob]) -> None:
        """Let one of these thresholds be changed; without any all is switched off."""
        self._which.options = [(_told(knob), knob.key) for knob in knobs]
        for part in (self._which, self.slider, self.reset):
            part.disabled = not knobs
        if knobs:
            self._which.value = knobs[0].key
        self.key = knobs[0].key if knobs else ""


def _told(knob: Knob) -> str:
    if knob.key in _OWN:
        return f"{_OWN[knob.key]} ({knob.declared:.2f})"
    return f"{fitted(knob.field, _WIDEST)}: {knob.metric} {knob.param} ({knob.declared:.2f})"


class Filters(traitlets.HasTraits):
    """Which rows are shown, and in which order.

    Attributes
    ----------
    box : ipywidgets.Widget
        What is shown.
    status : str
        One of `STATUSES`, empty for all.
    sort : str
        One of `SORTS`.
    text : str
        What the items must hold.
    """

    status = traitlets.Unicode("")
    sort = traitlets.Unicode(SORTS[0])
    text = traitlets.Unicode("")

    def __init__(self) -> None:
        super().__init__()
        self._status = ipywidgets.Dropdown(description="Show", layout=_layout(220))
        self._sort = ipywidgets.Dropdown(options=SORTS, description="Order", layout=_layout(250))
        self._text = ipywidgets.Text(
            description="Find",
            placeholder="a text in the items",
            layout=_layout(260, grows=True),
        )
        self.box = _row(self._status, self._sort, self._text)
        self.count({})
        traitlets.link((self, "sort"), (self._sort, "value"))
        traitlets.link((self, "text"), (self._text, "value"))
        traitlets.link((self, "status"), (self._status, "value"))

    def count(self, counts: dict[str, int]) -> None:
        """Write the number of rows beside each status."""
        kept = self.status
        total = f" ({sum(counts.values()):,})" if counts else ""
        named = [(f"{name} ({counts.get(name, 0):,})", name) for name in STATUSES]
        with self.hold_trait_notifications():
            self._status.options = [(f"all{total}", ""), *named]
            self._status.value = kept

    def describe(self) -> str:
        """Say in words which rows are shown, and how."""
        parts = [f"Items in {self.sort}" if self.sort in SORTS[:2] else f"Items, {self.sort}"]
        if self.status:
            parts.append(f"only {self.status}")
        if self.text.strip():
            parts.append(f"with {fitted(self.text, _WIDEST)!r}")
        return ", ".join(parts)
