"""Controls of the workbench: sliders, menus and boxes from a metric's declared params."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any

import ipywidgets
import traitlets

from extractbench_nb.display.text import clean, single_line
from extractbench_nb.field_metrics.registry import Param
from extractbench_nb.widgets.static import asset
from extractbench_nb.widgets.view import Pane, Slider, in_turn
from extractbench_nb.widgets.workbench_bench import number_text
from extractbench_nb.widgets.workbench_metric import Tuned, is_whole, stops

__all__ = [
    "CasesPane",
    "ConfigPane",
    "CurvePane",
    "Debounced",
    "Panel",
    "Stops",
    "SummaryPane",
    "button",
    "menu",
    "search",
]


class Debounced:
    """Calls a function a moment after the last time that it was asked for.

    A held arrow key or a dragged handle asks many times a second; the page is drawn once they are
    heeded. Without an event loop, as in a script, the function is called at once.

    Parameters
    ----------
    act : callable
        The function.
    wait : float, optional
        Seconds.
    """

    def __init__(self, act: Callable[[], None], wait: float = 0.02) -> None:
        self._act, self._wait = in_turn(act), wait
        self._timer: asyncio.TimerHandle | None = None

    def __call__(self) -> None:
        """Ask for it."""
        try:
            loop = asyncio.get_running_loop()
        except RuntimeError:
            self._act()
            return
        if self._timer is not None:
            self._timer.cancel()
        self._timer = loop.call_later(self._wait, self._act)


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


Change = Callable[[str, Any], None]
_LONGEST_NAME = 60
_LONGEST_TEXT = 2_000
_LARGEST = 2**31 - 1
_LAYOUT: Mapping[str, Any] = {"width": "auto", "max_width": "24em", "min_width": "0"}
_ROW: Mapping[str, Any] = {"width": "18em", "min_width": "0"}
_CONTROL_STYLE = {"description_width": "initial"}


def menu(label: str, options: Mapping[str, str]) -> ipywidgets.Dropdown:
    """Make a menu of names, each with its words."""
    shown = [(words, name) for name, words in options.items()]
    return ipywidgets.Dropdown(
        options=shown, description=label, style=_CONTROL_STYLE, layout=ipywidgets.Layout(**_ROW)
    )


def search(label: str, hint: str) -> ipywidgets.Text:
    """Make a box to search with."""
    return ipywidgets.Text(
        description=label, placeholder=hint, style=_CONTROL_STYLE, layout=ipywidgets.Layout(**_ROW)
    )


def button(text: str, hint: str, act: Callable[[], None]) -> ipywidgets.Button:
    """Make a button."""
    made = ipywidgets.Button(description=text, tooltip=hint, layout=ipywidgets.Layout(width="auto"))
    made.on_click(lambda _: act())
    return made


class Control:
    """A control of one param.

    Parameters
    ----------
    widget : ipywidgets.Widget
        What is shown.
    change : callable
        Called with each value that the user chooses.
    """

    trait = "value"

    def __init__(self, widget: ipywidgets.Widget, change: Callable[[Any], None]) -> None:
        self.widget, self._change, self._quiet = widget, change, False
        widget.observe(self._changed, self.trait)

    def _changed(self, event: Mapping[str, Any]) -> None:
        if not self._quiet:
            self._change(self.read(event["new"]))

    def show(self, value: Any) -> None:
        """Show a value that was set elsewhere."""
        with self.quiet():
            self.write(value)

    @contextmanager
    def quiet(self) -> Iterator[None]:
        """Do not tell of changes."""
        self._quiet = True
        try:
            yield
        finally:
            self._quiet = False

    def read(self, shown: Any) -> Any:
        """Return the param's value for what the control has."""
        return shown

    def write(self, value: Any) -> None:
        """Set what the control has for the param's value."""
        self.widget.value = value


class _StopsControl(Control):
    """A number without bounds: its stops grow by every value that is set."""

    trait = "at"

    def __init__(self, param: Param, label: str, value: float, change: Callable[[Any], None]):
        self._param = param
        self._values: list[float] = []
        super().__init__(Stops(label=label), change)
        self.show(value)

    def read(self, shown: int) -> float:
        return self._values[shown]

    def write(self, value: float) -> None:
        if value not in self._values:
            self._values = sorted({value, *stops(self._param, value), *self._values})
            self.widget.texts = [number_text(v) for v in self._values]
        self.widget.at = self._values.index(value)


class Panel:
    """Controls of all params that have a value; `boxes` are the widgets, in order.

    Parameters
    ----------
    params : mapping of str to Tuned
        The params.
    values : mapping
        Their values.
    change : callable
        Called with a name and the value that the user chose.
    """

    def __init__(
        self, params: Mapping[str, Tuned], values: Mapping[str, Any], change: Change
    ) -> None:
        self.keys = set(values)
        made = {
            key: _control(tuned, values[key], _told(change, key))
            for key, tuned in params.items()
            if key in values
        }
        self._controls = {key: control for key, control in made.items() if control is not None}
        self.boxes = [control.widget for control in self._controls.values()]
        self.others = [key for key in params if key not in self._controls]

    def show(self, values: Mapping[str, Any]) -> None:
        """Show values that were set elsewhere."""
        for key, control in self._controls.items():
            if key in values:
                control.show(values[key])


def _told(change: Change, key: str) -> Callable[[Any], None]:
    return lambda value: change(key, value)


def _control(tuned: Tuned, value: Any, change: Callable[[Any], None]) -> Control | None:
    """Make the control of a param; None for objects, lists and texts that no box can hold."""
    param, label = tuned.param, single_line(tuned.key, _LONGEST_NAME)
    plain: dict[str, Any] = {"description": label, "style": _CONTROL_STYLE}
    layout = ipywidgets.Layout(**_LAYOUT)
    if param.choices:
        box = ipywidgets.Dropdown(options=list(param.choices), value=value, layout=layout, **plain)
        return Control(box, change)
    if param.kind == "boolean":
        return Control(
            ipywidgets.Checkbox(value=value, indent=False, layout=layout, **plain), change
        )
    if param.kind == "string" and len(value) <= _LONGEST_TEXT and clean(value) == value:
        text = ipywidgets.Text(value=value, continuous_update=False, layout=layout, **plain)
        return Control(text, change)
    return _number(param, label, value, change) if param.kind == "number" else None


def _number(param: Param, label: str, value: Any, change: Callable[[Any], None]) -> Control:
    low, high = param.minimum, param.maximum
    if is_whole(param) and float(value).is_integer() and abs(value) <= _LARGEST:
        box = ipywidgets.BoundedIntText(
            value=int(value),
            min=-_LARGEST if low is None else int(low),
            max=_LARGEST if high is None else int(high),
            description=label,
            style=_CONTROL_STYLE,
            layout=ipywidgets.Layout(width="auto", max_width="16em"),
        )
        return Control(box, change)
    if low is None or high is None:
        return _StopsControl(param, label, value, change)
    slider = Slider(label=label, least=low, most=high, step=(high - low) / 100)
    slider.value = float(value)
    return Control(slider, change)
