"""`TableView`: two compared tables side by side, coloured by the similarity of their cells."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
import traitlets

from extractbench_nb._frames import Column, FrameSpec
from extractbench_nb.display.html import element, table
from extractbench_nb.display.sides import MOST, Pair, Segment, whole
from extractbench_nb.display.text import one_line
from extractbench_nb.errors import InputError, nearest
from extractbench_nb.tables import drawing
from extractbench_nb.widgets import panes as ui
from extractbench_nb.widgets.static import segments_html, twin

ROWS_A_PAGE, COLUMNS_A_PAGE = 40, 30
#: Characters of a cell that a page is sent; all of the chosen cell stands below the grids.
_LONGEST = 80
_MOST_NOTES = 5


#: The lines to choose from, and the page of them that is shown.
Lines = tuple[Sequence[drawing.Line], ui.Page]


def page_model(found: drawing.Comparison, rows: Lines, columns: Lines) -> dict[str, Any]:
    """Write a page of both grids as the front end reads it."""
    parts = drawing.drawn(found, *(page.of(lines) for lines, page in (rows, columns)))
    return {
        "metric": drawing.METRICS[found.metric],
        "rows": rows[1]._asdict(),
        "columns": columns[1]._asdict(),
        "sides": [_side(found, side, parts[side], (rows, columns)) for side in (0, 1)],
    }


def _side(
    found: drawing.Comparison, side: int, part: drawing.DrawnSide, pages: tuple[Lines, Lines]
) -> dict[str, Any]:
    table = found.tables[side]

    def line_cells(line: drawing.Line) -> list[Any]:
        return [line.at(side), line.at(1 - side), line.similarity, drawing.line_text(line, side)]

    def nearest_index(lines: Iterable[drawing.Line]) -> int | None:
        return next((at for line in lines if (at := line.at(side)) is not None), None)

    return {
        "name": drawing.SIDES[side],
        "shape": list(table.grid.shape) if table.size else [0, 0],
        "heads": [line_cells(line) for line in part.columns],
        "lines": [
            [*line_cells(row.line), [_patch(found, side, patch) for patch in row.patches]]
            for row in part.rows
        ],
        "notes": [one_line(note, 200) for note in drawing.notes_of(table)[:_MOST_NOTES]],
        "before": [nearest_index(reversed(lines[: page.first])) for lines, page in pages],
        "after": [nearest_index(lines[page.last :]) for lines, page in pages],
    }


def _patch(found: drawing.Comparison, side: int, patch: drawing.Patch) -> list[Any]:
    told = [*patch[1:], drawing.mark_text(patch, side)]
    if patch.state == "gap":
        return [*told, "", ""]
    cell = found.tables[side].cells[patch.cell]
    return [*told, drawing.kind_of(cell), one_line(cell.text, _LONGEST)]


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
        return drawing.SIDES.index(self.side)


def pair_model(
    found: drawing.Comparison, chosen: Position, *, in_full: bool = False
) -> dict[str, Any]:
    """Describe the cell at a position and its partner."""
    own = (chosen.row, chosen.column)
    other = found.partner(chosen.number, *own)
    places = [other, own] if chosen.number else [own, other]
    cells = [
        None if place is None else table.cells[table.grid[place]]
        for table, place in zip(found.tables, places, strict=True)
    ]
    shown = [at for at in (0, 1) if cells[at] is not None]
    values = [None if cell is None else cell.text for cell in cells]
    states = ["missing" if value is None else "present" for value in values]
    texts = whole(Pair(values[0], values[1], states[0], states[1]), MOST if in_full else _SHORT)
    segments = [[piece for piece in texts[at].segments if piece.text] for at in shown]
    facts = [
        {
            "covers": f"{_lines(cell.rows, 'row')}, {_lines(cell.columns, 'column')}",
            "kind": _KINDS[drawing.kind_of(cell)],
            "box": "" if cell.box is None else ", ".join(f"{x:g}" for x in cell.box),
        }
        for cell in cells
        if cell is not None
    ]
    told = [name for name in facts[0] if any(fact[name] for fact in facts)]
    rows = [
        ("text", [side or [Segment("note", "no text")] for side in segments]),
        *((name, [[Segment("same", fact[name])] for fact in facts]) for name in told),
    ]
    return {
        "title": _title(found, places),
        "note": _note(found, chosen) if len(shown) == 1 else "",
        "sides": [drawing.SIDES[at] for at in shown],
        "rows": rows,
        "hidden": max(texts[at].hidden for at in shown),
        "others": _others(found, chosen),
    }


def _lines(numbers: Sequence[int], name: str) -> str:
    if len(numbers) == 1:
        return f"{name} {numbers[0]}"
    if list(numbers) == list(range(numbers[0], numbers[-1] + 1)):
        return f"{name}s {numbers[0]} to {numbers[-1]}"
    return f"{name}s {', '.join(map(str, numbers[:_MOST_POSITIONS]))}"


def _title(found: drawing.Comparison, places: Sequence[tuple[int, int] | None]) -> str:
    told = [
        f"{drawing.SIDES[side]} row {place[0]}, column {place[1]}"
        for side, place in enumerate(places)
        if place is not None
    ]
    title = " and ".join(told)
    if len(told) == 1:
        return title[0].upper() + title[1:]
    place = places[0]
    alike = drawing.two_digits(float(found.positions[0][place])) if place is not None else ""
    return f"{title[0].upper()}{title[1:]}: similarity {alike} ({found.metric})"


def _note(found: drawing.Comparison, chosen: Position) -> str:
    side = chosen.number
    lines = (("row", found.rows, chosen.row), ("column", found.columns, chosen.column))
    alone = [f"{name} {at}" for name, every, at in lines if at not in found.partners(every, side)]
    verb = "has" if len(alone) == 1 else "have"
    return f"No partner: {' and '.join(alone)} {verb} none in the {drawing.SIDES[1 - side]} table."


def _others(found: drawing.Comparison, chosen: Position) -> str:
    """Say what the positions of a cell that spans several were matched with."""
    side, grid = chosen.number, found.tables[chosen.number].grid
    places = np.argwhere(grid == grid[chosen.row, chosen.column]).tolist()
    if len(places) == 1:
        return ""
    told = []
    for down, across in places[:_MOST_POSITIONS]:
        partner = found.partner(side, down, across)
        alike = drawing.two_digits(float(found.positions[side][down, across]))
        with_it = f"with ({partner[0]}, {partner[1]}) {alike}" if partner else "without a partner"
        told.append(f"({down}, {across}) {with_it}")
    if len(places) > len(told):
        told.append(f"… {len(places) - len(told):,} more")
    return f"Positions of the {drawing.SIDES[side]} cell (row, column): {'; '.join(told)}."


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


class ScoresPane(ui.Pane, scripts=["tables/scores.js"]):
    """The scores of each metric."""


class GridsPane(ui.Pane, scripts=["tables/cells.js", "tables/grids.js"]):
    """A page of both grids; `selected` has side, row and column of the chosen position."""

    selected = traitlets.Any(None, allow_none=True).tag(sync=True)


class PairPane(ui.Pane, scripts=["tables/pair.js"]):
    """The chosen position beside the one that it was matched with."""


LINE_COLUMNS = FrameSpec(
    "lines",
    "one row per line (row, or column) of either table, aligned ones once, in the order shown",
    (
        Column("true", "Int64", "index in the true table", "0 and up", nullable=True),
        Column("predicted", "Int64", "index in the predicted table", "0 and up", nullable=True),
        Column("similarity", "float64", "as in `GriTS.rows`; 0 for a line alone", "0 to 1"),
    ),
)

_NOTHING_CHOSEN = "Choose a cell, by a click or by arrow keys, to see it beside its partner."
_EMPTY = "Both tables are empty."
_NO_ROWS = "No row differs: all that was matched is alike, and no row is alone."


class TableView(ui.View):
    """Two tables side by side: true on the left, predicted on the right, partners at one height.

    Attributes
    ----------
    metric : str
        By which metric lines are aligned and cells coloured, one of ``result.scores``. At first
        ``con`` where it was computed.
    selected : list of (str, int, int) or None
        Side (``"true"`` or ``"predicted"``), row and column of the chosen position; None if
        nothing is chosen. A position can be assigned.
    only_differing : bool
        Whether rows are left out that have a partner and are like it where they were matched.
    page, column_page : int
        Which page of rows and of columns is shown, from 0.
    """

    metric = traitlets.Unicode("")
    selected = traitlets.Any(None, allow_none=True)
    only_differing = traitlets.Bool(False)
    page = traitlets.Int(0)
    column_page = traitlets.Int(0)

    def __init__(self, result: drawing.GriTS) -> None:
        if not isinstance(result, drawing.GriTS):
            raise InputError(
                f"result is of type {type(result).__name__}; expected a GriTS, as grits() returns"
            )
        first = drawing.default_metric(result)
        if first is None:
            raise InputError("result has no scores; call grits() with at least one metric")
        self._result, self._whole = result, False
        self._compared: dict[str, drawing.Comparison] = {}
        self._names = [str(name) for name in result.scores.index]
        told = {name: f"{name}: {drawing.METRICS.get(name, name)}" for name in self._names}
        self._metrics, self._filter = ui.menu("Metric", told), ui.menu("Rows", [("all", False)])
        self._scores, self._grids, self._pair = ScoresPane(), GridsPane(), PairPane()
        super().__init__(
            [self._scores, ui.row(self._metrics, self._filter), self._grids, self._pair]
        )
        self._grids.observe(self._position_picked, "selected")
        self._grids.on_event("page", self._page_asked, axis=["rows", "columns"], to=int)
        self._pair.on_event("whole", self._whole_asked)
        self.metric = first
        self.link({"metric": self._metrics, "only_differing": self._filter})

    @property
    def _found(self) -> drawing.Comparison:
        if self.metric not in self._compared:
            self._compared[self.metric] = drawing.compare(self._result, self.metric)
        return self._compared[self.metric]

    @property
    def _lines(self) -> list[drawing.Line]:
        """The rows that the filter leaves."""
        rows = self._found.rows
        return [line for line in rows if not (self.only_differing and line.equal)]

    @property
    def _pages(self) -> tuple[Lines, Lines]:
        rows, columns = self._lines, self._found.columns
        return (
            (rows, ui.page_of(len(rows), self.page, ROWS_A_PAGE)),
            (columns, ui.page_of(len(columns), self.column_page, COLUMNS_A_PAGE)),
        )

    # --- what Python code sets ---------------------------------------------------------------

    @traitlets.validate("metric")
    def _known_metric(self, proposal: Any) -> str:
        return ui.known("metric", proposal["value"], self._names)

    @traitlets.observe("metric")
    def _metric_changed(self, _: Any) -> None:
        scores = self._result.scores
        rows = [
            [
                name,
                drawing.METRICS.get(name, ""),
                [f"{n:.3f}" for n in numbers],
                name == self.metric,
            ]
            for name, *numbers in scores.itertuples()
        ]
        heads = [str(name).replace("_", " ") for name in scores.columns]
        self._scores.show({"heads": heads, "rows": rows})
        every = self._found.rows
        differing = sum(not line.equal for line in every)
        with self.quietly():
            told = [(f"all ({len(every):,})", False), (f"that differ ({differing:,})", True)]
            self._filter.options = told
            self._filter.value = self.only_differing
        self.page = self.page  # another metric may have fewer
        self._draw()
        self._show_selected()

    @traitlets.validate("page", "column_page")
    def _known_page(self, proposal: Any) -> int:
        rows = proposal["trait"].name == "page"
        lines, size = (self._lines, ROWS_A_PAGE) if rows else (self._found.columns, COLUMNS_A_PAGE)
        return ui.page_of(len(lines), proposal["value"], size).number

    @traitlets.observe("only_differing")
    def _filter_changed(self, _: Any) -> None:
        self.page = 0
        self._draw()

    @traitlets.validate("selected")
    def _known_position(self, proposal: Any) -> list[Any] | None:
        value = proposal["value"]
        if value is None:
            return None
        problem = self._problem_with(value)
        if problem:
            raise traitlets.TraitError(problem)
        return list(value)

    def _problem_with(self, value: Any) -> str:
        parts = value if isinstance(value, tuple | list) else ()
        if [type(part) for part in parts] != [str, int, int]:
            return f"selected is {value!r}; expected [side, row, column], such as ['true', 0, 1]"
        side, row, column = value
        if side not in drawing.SIDES:
            return f"selected: no side {side!r}; {nearest(side, drawing.SIDES)}"
        table = self._found.tables[drawing.SIDES.index(side)]
        height, width = table.grid.shape if table.size else (0, 0)
        if not (0 <= row < height and 0 <= column < width):
            return (
                f"selected: no row {row}, column {column}; the {side} table has {height} rows and "
                f"{width} columns, counted from 0"
            )
        return ""

    @traitlets.observe("selected")
    def _selected_changed(self, _: Any) -> None:
        self._whole = False
        self._show_selected()

    def _show_selected(self) -> None:
        """Turn to the chosen position, and write it beside its partner."""
        if self.selected is not None:
            chosen = Position(*self.selected)
            at = _place(self._lines, chosen.number, chosen.row)
            if at is None:
                self.only_differing = False
                at = _place(self._lines, chosen.number, chosen.row) or 0
            across = _place(self._found.columns, chosen.number, chosen.column) or 0
            self.page, self.column_page = at // ROWS_A_PAGE, across // COLUMNS_A_PAGE
        self._grids.selected = self.selected
        self._draw_pair()

    # --- what the page asks ------------------------------------------------------------------

    def _position_picked(self, change: Any) -> None:
        value = change["new"]
        if value is None or not self._problem_with(value):
            self.selected = value
        else:
            self._grids.selected = self.selected

    def _page_asked(self, axis: str, to: int) -> None:
        self.set_trait("page" if axis == "rows" else "column_page", to)

    def _whole_asked(self) -> None:
        self._whole = True
        self._draw_pair()

    # --- what is shown -----------------------------------------------------------------------

    @traitlets.observe("page", "column_page")
    def _draw(self, _: Any = None) -> None:
        model = page_model(self._found, *self._pages)
        self._grids.show({**model, "empty": self._empty(), "legend": drawing.LEGEND})

    def _empty(self) -> str:
        if not self._found.rows:
            return _EMPTY
        return "" if self._lines else _NO_ROWS

    def _draw_pair(self) -> None:
        hint = _NOTHING_CHOSEN if self._found.rows else ""
        self._pair.show(self._pair_model() or {"empty": hint})

    def _pair_model(self) -> dict[str, Any] | None:
        if self.selected is None:
            return None
        return pair_model(self._found, Position(*self.selected), in_full=self._whole)

    # --- results -----------------------------------------------------------------------------

    @property
    def rows(self) -> pd.DataFrame:
        """The rows of both tables that are shown, on all pages, with their partners."""
        return LINE_COLUMNS.from_rows(line[:3] for line in self._lines)

    @property
    def columns(self) -> pd.DataFrame:
        """The columns of both tables, on all pages, with their partners."""
        return LINE_COLUMNS.from_rows(line[:3] for line in self._found.columns)

    def to_html(self) -> str:
        """Write the scores, the present page of both grids, and the chosen pair."""
        rows, columns = self._pages
        grids = drawing.tables_html(
            self._found, *(page.of(lines) for lines, page in (rows, columns))
        )
        chosen = self._pair_model()
        return twin(
            repr(self),
            drawing.TABLES_STYLE,
            drawing.scores_html(self._result, self.metric),
            element("p", self._told(rows, columns)),
            grids if not self._empty() else element("p", self._empty()),
            element("p", drawing.LEGEND, "xb-quiet"),
            "" if chosen is None else pair_html(chosen),
        )

    def _told(self, rows: Lines, columns: Lines) -> str:
        only = ", only rows that differ" if self.only_differing else ""
        parts = [f"Alignment and colours by {drawing.METRICS[self.metric]} ({self.metric}){only}."]
        for name, (_, page) in (("Rows", rows), ("Columns", columns)):
            if page.pages > 1:
                parts.append(f"{name} {page.first + 1:,} to {page.last:,} of {page.total:,}.")
        return " ".join(parts)

    def __repr__(self) -> str:
        """Say what is compared, and by which metric it is shown."""
        return f"Tables · {self._result!r} · by {self.metric}"


def _place(lines: Any, side: int, index: int) -> int | None:
    return next((place for place, line in enumerate(lines) if line.at(side) == index), None)
