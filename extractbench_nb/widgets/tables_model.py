"""Two tables as lines of cells, and the chosen cell beside the one it was matched with."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from extractbench_nb.display.sides import Segment
from extractbench_nb.display.text import single_line
from extractbench_nb.tables.cells import Cell
from extractbench_nb.tables.drawing import (
    METRICS,
    SIDES,
    Comparison,
    DrawnSide,
    Line,
    Patch,
    drawn,
    kind_of,
    line_text,
    mark_text,
    notes_of,
    two_digits,
)
from extractbench_nb.widgets.excerpts import MOST, whole
from extractbench_nb.widgets.static import element, segments_html, table

__all__ = [
    "COLUMNS_A_PAGE",
    "ROWS_A_PAGE",
    "Position",
    "Window",
    "page_model",
    "pair_html",
    "pair_model",
    "scores_model",
    "window",
]


ROWS_A_PAGE, COLUMNS_A_PAGE = 40, 30
#: Characters of a cell that a page is sent; all of the chosen cell stands below the grids.
_LONGEST = 80
_MOST_NOTES = 5


class Window(NamedTuple):
    """A page of lines: all lines to choose from, where the page begins and ends."""

    lines: Sequence[Line]
    first: int
    last: int
    page: int
    size: int

    @property
    def shown(self) -> Sequence[Line]:
        """The lines of the page."""
        return self.lines[self.first : self.last]


def window(lines: Sequence[Line], page: int, size: int) -> Window:
    """Take one page of lines; one beyond the last is the last.

    Examples
    --------
    >>> window([Line(n, n) for n in range(5)], 7, 2)[1:]
    (4, 5, 2, 2)
    """
    page = max(0, min(page, (len(lines) - 1) // size))
    return Window(lines, page * size, min(len(lines), (page + 1) * size), page, size)


def page_model(found: Comparison, rows: Window, columns: Window) -> dict[str, Any]:
    """Write a page of both grids as the front end reads it."""
    parts = drawn(found, rows.shown, columns.shown)
    return {
        "metric": METRICS[found.metric],
        "rows": _window_json(rows),
        "columns": _window_json(columns),
        "sides": [_side(found, side, parts[side], (rows, columns)) for side in (0, 1)],
    }


def _window_json(page: Window) -> dict[str, int]:
    told = {"first": page.first, "last": page.last, "total": len(page.lines), "page": page.page}
    return {**told, "pages": -(-len(page.lines) // page.size)}


def _side(
    found: Comparison, side: int, part: DrawnSide, pages: tuple[Window, Window]
) -> dict[str, Any]:
    table = found.tables[side]
    return {
        "name": SIDES[side],
        "shape": list(table.grid.shape) if table.size else [0, 0],
        "heads": [_line(line, side) for line in part.columns],
        "lines": [
            [*_line(row.line, side), [_patch(found, side, patch) for patch in row.patches]]
            for row in part.rows
        ],
        "notes": [single_line(note, 200) for note in notes_of(table)[:_MOST_NOTES]],
        "before": [_near(reversed(page.lines[: page.first]), side) for page in pages],
        "after": [_near(page.lines[page.last :], side) for page in pages],
    }


def _near(lines: Any, side: int) -> int | None:
    return next((at for line in lines if (at := line.at(side)) is not None), None)


def _line(line: Line, side: int) -> list[Any]:
    return [line.at(side), line.at(1 - side), line.similarity, line_text(line, side)]


def _patch(found: Comparison, side: int, patch: Patch) -> list[Any]:
    told = [*patch[1:], mark_text(patch, side)]
    if patch.state == "gap":
        return [*told, "", ""]
    cell = found.tables[side].cells[patch.cell]
    return [*told, kind_of(cell), single_line(cell.text, _LONGEST)]


def scores_model(scores: Any, chosen: str | None) -> dict[str, Any]:
    """Write the scores of all metrics."""
    return {
        "heads": [str(name).replace("_", " ") for name in scores.columns],
        "rows": [
            [name, METRICS.get(name, ""), [f"{number:.3f}" for number in numbers], name == chosen]
            for name, *numbers in scores.itertuples()
        ],
    }


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
    """Describe the cell at a position and its partner."""
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
    """Write the chosen pair for the static twin."""
    rows = [
        [element("b", name), *(segments_html(side) for side in sides)]
        for name, sides in model["rows"]
    ]
    hidden = f"… {model['hidden']:,} more characters" if model["hidden"] else ""
    told = (model["note"], hidden, model["others"])
    notes = "".join(element("p", text) for text in told if text)
    return element("h4", model["title"]) + table(["", *model["sides"]], rows) + notes
