"""`View`, the base class of all views, and `Pane`, a front-end part inside one."""

from __future__ import annotations

import functools
import json
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple, ParamSpec, TypeVar

import anywidget
import ipywidgets
import pandas as pd
import traitlets

from extractbench_nb._files import write_texts
from extractbench_nb.display.text import document_json
from extractbench_nb.errors import nearest
from extractbench_nb.widgets.static import asset, page


def wire(value: object) -> str:
    """Write a view model as ASCII JSON: the order of keys and lone surrogates survive the way."""
    return json.dumps(document_json(value), separators=(",", ":"))


class Pane(anywidget.AnyWidget):
    """A part of a view with a front end of its own: `data`, JSON text, is drawn when it changes.

    Subclasses name their files in ``assets``, besides those that all panes share; `styles` is
    ``["my/my.css"]`` by default: ``class MyPane(Pane, scripts=["my/pane.js"])``.
    """

    def __init_subclass__(
        cls, *, scripts: Sequence[str] = (), styles: Sequence[str] = (), **options: Any
    ) -> None:
        """Put the files of a pane together; a class without any keeps those of its base."""
        if scripts:
            folder = scripts[-1].split("/")[0]
            cls._esm = asset("shared/dom.js", *scripts)
            cls._css = asset("shared/base.css", *(styles or [f"{folder}/{folder}.css"]))
        super().__init_subclass__(**options)

    data = traitlets.Unicode("").tag(sync=True)

    def show(self, model: object) -> None:
        """Send a view model to the page; the same one again costs nothing."""
        self.data = wire(model)

    def __repr__(self) -> str:
        """Name the class alone: no address that differs from run to run."""
        return f"{type(self).__name__}()"

    def on_event(self, kind: str, act: Callable[..., object], **parts: Any) -> None:
        """Call `act` with the parts of each message of this kind from the page.

        A part is given by its exact type (`object` for any; `int` excludes bool), or by the values
        that it may have; a message with another value is ignored.
        """

        def received(_: object, content: Any, __: object) -> None:
            if isinstance(content, dict) and content.get("kind") == kind:
                values = [content.get(name) for name in parts]
                allowed = (
                    value in expected
                    if not isinstance(expected, type)
                    else expected in (object, type(value))
                    for value, expected in zip(values, parts.values(), strict=True)
                )
                if all(allowed):
                    act(*values)

        self.on_msg(received)


#: JupyterLab delivers comm messages to the main thread of the kernel or to a subshell of it, even
#: those of two controls of one view. Whoever draws last must have seen all that was set before.
#: One lock for all views: two of them may be linked to each other.
_TURN = threading.RLock()


_P = ParamSpec("_P")
_R = TypeVar("_R")


def in_turn(act: Callable[_P, _R]) -> Callable[_P, _R]:
    """Let `act` wait until no other thread handles an event of a view."""

    @functools.wraps(act)
    def waits(*args: _P.args, **kwargs: _P.kwargs) -> _R:
        with _TURN:
            return act(*args, **kwargs)

    return waits


def _all_parts(children: Iterable[ipywidgets.Widget]) -> Iterator[ipywidgets.Widget]:
    for part in children:
        yield part
        yield from _all_parts(getattr(part, "children", ()))


def known(trait: str, value: Any, names: Iterable[str]) -> str:
    """Return a name that is one of those known, or raise `TraitError`."""
    allowed = list(names)
    if not isinstance(value, str) or value not in allowed:
        raise traitlets.TraitError(f"{trait} is {value!r}; {nearest(value, allowed)}")
    return value


class View(ipywidgets.VBox):
    """A picture in a notebook: one widget, whose static twin is what pages without a kernel show.

    Messages from the page and assignments in Python are handled one after the other, in whichever
    threads they arrive.

    Attributes
    ----------
    children : tuple of ipywidgets.Widget
        The parts, as in every `ipywidgets.VBox`.
    """

    #: Whether controls are changed by the view, not by the reader.
    _updating = False

    def __init__(self, children: Sequence[ipywidgets.Widget] = (), **options: Any) -> None:
        options.setdefault("layout", ipywidgets.Layout(width="100%"))
        super().__init__(children, **options)

    @contextmanager
    def quietly(self) -> Iterator[None]:
        """Change controls without treating the change as input of the user."""
        before, self._updating = self._updating, True
        try:
            yield
        finally:
            self._updating = before

    def link(self, controls: Mapping[str, ipywidgets.Widget]) -> None:
        """Tie each control to the trait that is named, but not while it is changed `quietly`."""
        for trait, control in controls.items():
            control.value = getattr(self, trait)
            control.observe(functools.partial(self._take, trait), "value")
            self.observe(functools.partial(self._give, control), trait)

    def _take(self, trait: str, change: Any) -> None:
        if not self._updating:
            self.set_trait(trait, change["new"])

    def _give(self, control: ipywidgets.Widget, change: Any) -> None:
        control.value = change["new"]

    @traitlets.observe("children")
    def _take_turns(self, change: Any) -> None:
        for part in _all_parts(change["new"]):
            if part.comm is not None:
                part.comm.on_msg(in_turn(part._handle_msg))

    @in_turn
    def notify_change(self, change: Any) -> None:
        """Call the observers of a trait; no other event of a view is handled meanwhile."""
        super().notify_change(change)

    def to_html(self) -> str:
        """Write the static twin: HTML of what is shown now, which needs no JavaScript."""
        raise NotImplementedError

    def save(self, path: str | Path) -> Path:
        """Write the static twin as a page of its own."""
        target = Path(path)
        write_texts({target: page(repr(self), self.to_html())})
        return target

    def __repr__(self) -> str:
        """Say in one line what is shown."""
        raise NotImplementedError

    def _repr_mimebundle_(self, **options: Any) -> Any:
        bundle = super()._repr_mimebundle_(**options)
        data, metadata = bundle if isinstance(bundle, tuple) else (bundle or {}, {})
        twin = {"text/html": self.to_html(), "text/plain": repr(self)}
        return {**data, **twin}, metadata


def beside(
    *panes: ipywidgets.Widget, widths: Sequence[int], shares: Sequence[int] | None = None
) -> Any:
    """Lay panes side by side where there is room for their widths (in pixels), else below."""
    for pane, width, share in zip(panes, widths, shares or [1] * len(panes), strict=True):
        pane.layout.flex = f"{share} 1 {width}px"
        pane.layout.min_width = "0"
        pane.layout.margin = "0 12px 8px 0"
    flow = ipywidgets.Layout(flex_flow="row wrap", align_items="flex-start", width="100%")
    return ipywidgets.Box(panes, layout=flow)


class Page(NamedTuple):
    """A page, numbered from 0: the place of its first thing, and the place behind its last."""

    number: int
    first: int
    last: int
    total: int
    pages: int

    def of(self, items: Any) -> Any:
        """Return the part of a list, array or frame that is on the page."""
        rows = items.iloc if isinstance(items, pd.DataFrame) else items
        return rows[self.first : self.last]


def page_of(total: int, number: int, size: int) -> Page:
    """Find a page of at most `size` things; one beyond the last is the last.

    Examples
    --------
    >>> page_of(5, 7, 2)
    Page(number=2, first=4, last=5, total=5, pages=3)
    """
    pages = max(1, -(-total // size))
    number = max(0, min(number, pages - 1))
    return Page(number, number * size, min(total, (number + 1) * size), total, pages)


def _made(kind: Any, label: str, layout: Mapping[str, str], **options: Any) -> Any:
    place = {"width": "auto", "max_width": "100%", "min_width": "0", "margin": "2px 10px 2px 2px"}
    return kind(description=label, layout=ipywidgets.Layout(**{**place, **layout}), **options)


_OWN_WIDTH = {"description_width": "initial"}


def menu(label: str, options: Sequence[Any] | Mapping[str, str] = (), **layout: str) -> Any:
    """Make a menu: of (text, value) pairs, or of values with their texts."""
    pairs = (
        [(text, value) for value, text in options.items()]
        if isinstance(options, Mapping)
        else options
    )
    return _made(ipywidgets.Dropdown, label, layout, options=pairs, style=_OWN_WIDTH)


def search(label: str, hint: str, *, at_once: bool = True, **layout: str) -> Any:
    """Make a box to search with; unless `at_once`, Enter ends what is typed."""
    kind = ipywidgets.Text
    return _made(kind, label, layout, placeholder=hint, continuous_update=at_once, style=_OWN_WIDTH)


def check(label: str) -> Any:
    """Make a box to tick."""
    return _made(ipywidgets.Checkbox, label, {}, indent=False)


def button(label: str, act: Callable[[], object], hint: str = "") -> Any:
    """Make a button."""
    made = _made(ipywidgets.Button, label, {}, tooltip=hint)
    made.on_click(lambda _: act())
    return made


def row(*parts: ipywidgets.Widget) -> Any:
    """Lay controls on one line, and on more where there is no room."""
    flow = ipywidgets.Layout(flex_flow="row wrap", align_items="center", width="100%")
    return ipywidgets.Box(parts, layout=flow)


class Slider(Pane, scripts=["shared/slider.js"], styles=["shared/slider.css"]):
    """A number between two bounds, which changes when the handle is let go.

    A number out of bounds is moved to the bound.
    """

    value = traitlets.Float(0.0).tag(sync=True)
    least = traitlets.Float(0.0).tag(sync=True)
    most = traitlets.Float(1.0).tag(sync=True)
    step = traitlets.Float(0.01).tag(sync=True)
    label = traitlets.Unicode("").tag(sync=True)
    disabled = traitlets.Bool(False).tag(sync=True)

    @traitlets.validate("value")
    def _within(self, proposal: Any) -> float:
        return min(max(float(proposal["value"]), self.least), self.most)
