"""What is chosen above the heatmap: axes, orders, measure and filters, tied to a view's traits."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import ipywidgets
import traitlets

from extractbench_nb.widgets.failures.choices import MEASURES, ORDERS
from extractbench_nb.widgets.failures.coding import AXES, Coded
from extractbench_nb.widgets.failures.words import shortened

__all__ = ["controls"]

_LONGEST_NAME = 40
#: Stands for no name in a menu, where None would be no choice at all.
_ALL = ()


def controls(view: Any, rows: Coded) -> Any:
    """Make the controls of a view, each tied to its trait of the same name.

    Parameters
    ----------
    view : ipywidgets.Widget
        Has a trait for each field of `Choice`.
    rows : Coded
        Where the names of schemas and runs are.

    Returns
    -------
    ipywidgets.VBox
        Two lines that wrap.
    """
    axes, orders = [(f"{name}s", name) for name in AXES], _turned(ORDERS)
    made = {
        "rows": _menu("Rows", axes, "12em"),
        "row_order": _menu("Sort rows", orders, "15em"),
        "columns": _menu("Columns", axes, "14em"),
        "column_order": _menu("Sort columns", orders, "17em"),
        "measure": _menu("Show", _turned(MEASURES), "19em"),
        "find": _search("Field"),
        "schema": _names("Schema", rows.schemas.names),
        "run": _names("Run", rows.axes["run"].names),
        "failed_by_every_run": _box("failed by every run"),
        "inside_arrays": _box("inside arrays too"),
        "valid_only": _box("without invalid outputs"),
    }
    for name, control in made.items():
        turned = (_from_none, _to_none) if name in ("schema", "run") else None
        traitlets.link((view, name), (control, "value"), transform=turned)
    several = {"schema": rows.schemas.size > 1, "run": rows.axes["run"].size > 1}
    shown = [control for name, control in made.items() if several.get(name, True)]
    return ipywidgets.VBox([_line(shown[:5]), _line(shown[5:])])


def _turned(words: dict[str, str]) -> list[tuple[str, str]]:
    return [(text, name) for name, text in words.items()]


def _line(parts: list[Any]) -> Any:
    flow = ipywidgets.Layout(flex_flow="row wrap", align_items="center", width="100%")
    return ipywidgets.Box(parts, layout=flow)


def _layout(width: str) -> Any:
    return ipywidgets.Layout(width=width, max_width="100%", margin="2px 14px 2px 2px")


def _menu(label: str, options: Iterable[tuple[str, Any]], width: str) -> Any:
    return ipywidgets.Dropdown(
        options=list(options),
        description=label,
        layout=_layout(width),
        style={"description_width": "initial"},
    )


def _names(label: str, names: list[str]) -> Any:
    """Make a menu of names, of which none may be chosen."""
    listed = [(shortened(name, _LONGEST_NAME), name) for name in names]
    return _menu(label, [("all", _ALL), *listed], "15em")


def _from_none(name: str | None) -> object:
    return _ALL if name is None else name


def _to_none(value: object) -> object:
    return None if value == _ALL else value


def _search(label: str) -> Any:
    return ipywidgets.Text(
        description=label,
        placeholder="part of its name",
        layout=_layout("15em"),
        style={"description_width": "initial"},
    )


def _box(label: str) -> Any:
    return ipywidgets.Checkbox(description=label, indent=False, layout=_layout("auto"))
