"""`View`, the one top-level widget of every picture, and `Pane`, a front end of ours inside it."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import anywidget
import ipywidgets
import traitlets

from extractbench_nb._files import write_texts
from extractbench_nb.report.texts import document_json
from extractbench_nb.widgets.static import page

__all__ = ["Pane", "View", "beside", "wire"]


def wire(value: object) -> str:
    """Write a view model as ASCII JSON: the order of keys and lone surrogates survive the way."""
    return json.dumps(document_json(value), separators=(",", ":"))


class Pane(anywidget.AnyWidget):
    """A front end of ours: `data` is the view model as JSON text, drawn whenever it changes.

    Subclasses name their parts: ``_esm = asset("shared/dom.js", ...)``, and ``_css`` alike.
    """

    data = traitlets.Unicode("").tag(sync=True)

    def show(self, model: object) -> None:
        """Send a view model to the page; the same one again costs nothing."""
        self.data = wire(model)

    def __repr__(self) -> str:
        """Name the class alone: no address that differs from run to run."""
        return f"{type(self).__name__}()"

    def on_event(self, kind: str, act: Callable[[dict[str, Any]], None]) -> None:
        """Call `act` with the content of each message of this kind from the page."""

        def received(_: object, content: Any, __: object) -> None:
            if isinstance(content, dict) and content.get("kind") == kind:
                act(content)

        self.on_msg(received)


class View(ipywidgets.VBox):
    """A picture in a notebook: one widget, whose static twin is what pages without a kernel show.

    Attributes
    ----------
    children : tuple of ipywidgets.Widget
        The parts, as in every `ipywidgets.VBox`.
    """

    def to_html(self) -> str:
        """Write the static twin: HTML of what is shown now, which needs no JavaScript.

        Returns
        -------
        str
            One element with its own style, for a page or a notebook's output.
        """
        raise NotImplementedError

    def save(self, path: str | Path) -> Path:
        """Write the static twin as a page of its own.

        Parameters
        ----------
        path : str or pathlib.Path
            The file to write; an existing one is replaced.

        Returns
        -------
        pathlib.Path
            The file.

        Raises
        ------
        OutputError
            The file cannot be written.
        """
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
