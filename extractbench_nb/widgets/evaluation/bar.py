"""The controls that narrow the rows, each linked to a trait of the view."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import ipywidgets
import traitlets

from extractbench_nb.evaluation.frames import OUTCOMES
from extractbench_nb.report.texts import clean, cut
from extractbench_nb.widgets.static import MARKS

__all__ = ["filter_bar"]

_LONGEST_NAME = 60


def filter_bar(view: Any, metrics: Sequence[str], clear: Callable[[], None]) -> Any:
    """Make the controls of a view.

    Parameters
    ----------
    view : EvaluationView
        Its traits ``outcome``, ``metric``, ``text``, ``only_counted``, ``only_failed`` and
        ``worst_first`` follow the controls, and the controls follow them.
    metrics : sequence of str
        The metrics that occur.
    clear : callable
        What the button does.

    Returns
    -------
    ipywidgets.Box
        The controls in a row that wraps.
    """
    outcomes = [(f"{MARKS[name]} {name.replace('_', ' ')}", name) for name in OUTCOMES]
    named = [(cut(clean(name[: _LONGEST_NAME + 1]), _LONGEST_NAME), name) for name in metrics]
    controls = {
        "outcome": _choice("Outcome", [("all", ""), *outcomes]),
        "metric": _choice("Metric", [("all", ""), *named]),
        "worst_first": _choice("Order", [("document", False), ("worst first", True)]),
        "text": ipywidgets.Text(
            description="Find", placeholder="path or value", style=_OWN_WIDTH, layout=_wide("220px")
        ),
        "only_counted": _check("counted only"),
        "only_failed": _check("not passed only"),
    }
    for trait, control in controls.items():
        traitlets.link((view, trait), (control, "value"))
    button = ipywidgets.Button(description="Clear filters", layout=_wide("auto"))
    button.on_click(lambda _: clear())
    flow = ipywidgets.Layout(
        flex_flow="row wrap", align_items="center", width="100%", margin="0 0 6px 0"
    )
    return ipywidgets.Box([*controls.values(), button], layout=flow)


_OWN_WIDTH = {"description_width": "initial"}


def _choice(name: str, options: Sequence[tuple[str, Any]]) -> Any:
    layout = ipywidgets.Layout(width="auto", max_width="260px", margin="2px 10px 2px 2px")
    return ipywidgets.Dropdown(
        description=name, options=options, style=_OWN_WIDTH, layout=layout, value=options[0][1]
    )


def _check(name: str) -> Any:
    return ipywidgets.Checkbox(description=name, indent=False, layout=_wide("auto"))


def _wide(width: str) -> Any:
    return ipywidgets.Layout(width=width, margin="2px 10px 2px 2px")
