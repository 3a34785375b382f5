"""The chosen position: its cell beside the one that it was matched with."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from extractbench_nb.grits.cells import Cell
from extractbench_nb.grits.drawing.html import kind_of
from extractbench_nb.grits.drawing.model import SIDES, Comparison, two_digits
from extractbench_nb.report.sides import Segment
from extractbench_nb.widgets.evaluation.excerpts import MOST, whole
from extractbench_nb.widgets.static import element, segments_html, table

__all__ = ["Position", "pair_html", "pair_model"]

_SHORT = 2_000
#: Positions of a spanning cell that are listed.
_MOST_POSITIONS = 12
_KINDS = {"header": "column header", "projected": "projected row header", "": ""}


class Position(NamedTuple):
    """A position of a grid."""

    side: str
    row: int
    column: int

    @property
    def number(self) -> int:
        """0 for the true table, 1 for the predicted one."""
        return SIDES.index(self.side)


class _Both(NamedTuple):
    """Two texts, as the excerpts of evaluations take them."""

    gold: str | None
    predicted: str | None
    gold_state: str
    predicted_state: str


def pair_model(found: Comparison, chosen: Position, *, in_full: bool = False) -> dict[str, Any]:
    """Describe the cell at a position and its partner.

    Parameters
    ----------
    found : Comparison
        The tables.
    chosen : Position
        The position.
    in_full : bool, optional
        Whether long texts are shown whole, up to 100,000 characters.

    Returns
    -------
    dict
        ``title``; ``note`` where there is no partner; ``sides``, the names of those shown;
        ``rows`` of name and stretches of text a side; ``hidden`` characters; ``others``, what the
        positions of a spanning cell were matched with.
    """
    places = _places(found, chosen)
    cells = [_cell(found, at, place) for at, place in enumerate(places)]
    shown = [at for at in (0, 1) if cells[at] is not None]
    texts = whole(_both(cells), MOST if in_full else _SHORT)
    facts = [_facts(cell) for cell in cells if cell is not None]
    told = [name for name in facts[0] if any(fact[name] for fact in facts)]
    rows = [
        ("text", [_text(texts[at]) for at in shown]),
        *((name, [[Segment("same", fact[name])] for fact in facts]) for name in told),
    ]
    return {
        "title": _title(found, places),
        "note": _note(found, chosen) if len(shown) == 1 else "",
        "sides": [SIDES[at] for at in shown],
        "rows": rows,
        "hidden": max(texts[at].hidden for at in shown),
        "others": _others(found, chosen),
    }


def _places(found: Comparison, chosen: Position) -> list[tuple[int, int] | None]:
    own = (chosen.row, chosen.column)
    other = found.partner(chosen.number, *own)
    return [other, own] if chosen.number else [own, other]


def _cell(found: Comparison, side: int, place: tuple[int, int] | None) -> Cell | None:
    return None if place is None else found.tables[side].cells[found.tables[side].grid[place]]


def _both(cells: Sequence[Cell | None]) -> _Both:
    texts = [None if cell is None else cell.text for cell in cells]
    states = ["missing" if text is None else "present" for text in texts]
    return _Both(texts[0], texts[1], states[0], states[1])


def _text(side: Any) -> list[Segment]:
    return [piece for piece in side.segments if piece.text] or [Segment("note", "no text")]


def _lines(numbers: Sequence[int], name: str) -> str:
    whole_run = list(numbers) == list(range(numbers[0], numbers[-1] + 1))
    if len(numbers) == 1:
        return f"{name} {numbers[0]}"
    if whole_run:
        return f"{name}s {numbers[0]} to {numbers[-1]}"
    return f"{name}s {', '.join(map(str, numbers[:_MOST_POSITIONS]))}"


def _facts(cell: Cell) -> dict[str, str]:
    return {
        "covers": f"{_lines(cell.rows, 'row')}, {_lines(cell.columns, 'column')}",
        "kind": _KINDS[kind_of(cell)],
        "box": "" if cell.box is None else ", ".join(f"{x:g}" for x in cell.box),
    }


def _title(found: Comparison, places: Sequence[tuple[int, int] | None]) -> str:
    told = [
        f"{SIDES[side]} row {place[0]}, column {place[1]}"
        for side, place in enumerate(places)
        if place is not None
    ]
    title = " and ".join(told)
    if len(told) == 1:
        return title[0].upper() + title[1:]
    place = places[0]
    alike = two_digits(float(found.positions[0][place])) if place is not None else ""
    return f"{title[0].upper()}{title[1:]}: similarity {alike} ({found.metric})"


def _note(found: Comparison, chosen: Position) -> str:
    side = chosen.number
    lines = (("row", found.rows, chosen.row), ("column", found.columns, chosen.column))
    alone = [f"{name} {at}" for name, every, at in lines if at not in found.partners(every, side)]
    verb = "has" if len(alone) == 1 else "have"
    return f"No partner: {' and '.join(alone)} {verb} none in the {SIDES[1 - side]} table."


def _others(found: Comparison, chosen: Position) -> str:
    """Say what the positions of a cell that spans several were matched with."""
    side, grid = chosen.number, found.tables[chosen.number].grid
    places = np.argwhere(grid == grid[chosen.row, chosen.column]).tolist()
    if len(places) == 1:
        return ""
    told = [_told(found, side, (row, column)) for row, column in places[:_MOST_POSITIONS]]
    more = len(places) - len(told)
    rest = f"; … {more:,} more" if more else ""
    return f"Positions of the {SIDES[side]} cell (row, column): {'; '.join(told)}{rest}."


def _told(found: Comparison, side: int, place: tuple[int, int]) -> str:
    partner = found.partner(side, *place)
    here = f"({place[0]}, {place[1]})"
    if partner is None:
        return f"{here} without a partner"
    alike = two_digits(float(found.positions[side][place]))
    return f"{here} with ({partner[0]}, {partner[1]}) {alike}"


def pair_html(model: dict[str, Any]) -> str:
    """Write the chosen pair for the static twin.

    Parameters
    ----------
    model : dict
        As `pair_model` gives it.

    Returns
    -------
    str
        HTML.
    """
    rows = [
        [element("b", name), *(segments_html(side) for side in sides)]
        for name, sides in model["rows"]
    ]
    hidden = f"… {model['hidden']:,} more characters" if model["hidden"] else ""
    told = (model["note"], hidden, model["others"])
    notes = "".join(element("p", text) for text in told if text)
    return element("h4", model["title"]) + table(["", *model["sides"]], rows) + notes
