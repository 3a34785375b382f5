"""The front ends of the failure explorer."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import traitlets

from extractbench_nb.widgets.assets import asset
from extractbench_nb.widgets.view import Pane

__all__ = ["BarsPane", "HeatPane", "ValuesPane", "whole_number"]


class HeatPane(Pane):
    """The heatmap; `block` has the codes of the chosen rows and columns, or nothing."""

    _esm = asset(
        *("shared/dom.js", "failures/cells.js", "failures/heatmap.js", "failures/heatgrid.js")
    )
    _css = asset("shared/base.css", "failures/shades.css", "failures/heatmap.css")

    block: Any = traitlets.List().tag(sync=True)


class ValuesPane(Pane):
    """Gold beside prediction, row by row."""

    _esm = asset("shared/dom.js", "failures/values.js")
    _css = asset("shared/base.css", "failures/details.css")


class BarsPane(Pane):
    """Bars by outcome, by domain or schema, by run."""

    _esm = asset("shared/dom.js", "failures/bars.js")
    _css = asset("shared/base.css", "failures/details.css")


def whole_number(act: Callable[[int], None], name: str) -> Callable[[dict[str, Any]], None]:
    """Make a handler of messages that calls `act` with their whole number `name`, if they have one.

    Parameters
    ----------
    act : callable
        What to do with the number.
    name : str
        Key in the message.

    Returns
    -------
    callable
        For `Pane.on_event`.
    """

    def received(content: dict[str, Any]) -> None:
        value = content.get(name)
        if isinstance(value, int) and not isinstance(value, bool):
            act(value)

    return received
