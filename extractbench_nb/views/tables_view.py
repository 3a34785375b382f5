"""`TableView`: two compared tables side by side, coloured by the similarity of their cells."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar

import traitlets

from extractbench_nb.errors import InputError, nearest
from extractbench_nb.support.nodes import Node, h
from extractbench_nb.tables import (
    LEGEND,
    METRICS,
    SIDES,
    Comparison,
    GriTS,
    Line,
    compare,
    default_metric,
    kind_of,
    scores_table,
    tables,
    two_digits,
)
from extractbench_nb.views import controls as ui
from extractbench_nb.views.sides import MOST, Pair, whole
from extractbench_nb.views.view import View, known, part

ROWS_A_PAGE, COLUMNS_A_PAGE = 40, 30
#: Characters of the chosen cell's text that are shown at first.
SHORT = 2_000
#: Positions of a spanning cell that are listed.
_MOST_POSITIONS = 12
_KINDS = {"header": "column header", "projected": "projected row header", "": ""}
#: Arrow keys: rows (0) or columns (1), and the direction.
_ARROWS = {
    "ArrowUp": (0, -1),
    "PageUp": (0, -1),
    "ArrowDown": (0, 1),
    "PageDown": (0, 1),
    "ArrowLeft": (1, -1),
    "ArrowRight": (1, 1),
}


class TwoTables(View):
    """Two tables side by side, in pages of rows and columns; one of their cells may be chosen.

    ``selected`` names its side, its row and its column.
    """

    sides: ClassVar[tuple[str, str]]
    selected = traitlets.Any(None, allow_none=True)
    page = traitlets.Int(0)
    column_page = traitlets.Int(0)
    _limit = SHORT

    @property
    def _lines(self) -> tuple[Sequence[Any], Sequence[Any]]:
        """The rows that the filter leaves, and the columns; ``at(side)`` names one of a side."""
        raise NotImplementedError

    def _problem_with(self, value: Any) -> str:
        """Say why there is no such cell; nothing if there is."""
        raise NotImplementedError

    def _asked_for(self, place: Any) -> list[Any] | None:
        """Return the cell that the page names."""
        return None if self._problem_with(place) else place

    def _page(self, axis: int, number: int) -> ui.Page:
        size = COLUMNS_A_PAGE if axis else ROWS_A_PAGE
        return ui.page_of(len(self._lines[axis]), number, size)

    @property
    def _pages(self) -> tuple[ui.Page, ui.Page]:
        return self._page(0, self.page), self._page(1, self.column_page)

    @traitlets.validate("page", "column_page")
    def _known_page(self, proposal: Any) -> int:
        return self._page(proposal["trait"].name == "column_page", proposal["value"]).number

    @traitlets.validate("selected")
    def _known_cell(self, proposal: Any) -> list[Any] | None:
        value = proposal["value"]
        if value is None:
            return None
        if problem := self._problem_with(value):
            raise traitlets.TraitError(problem)
        return list(value)

    def do_cell(self, place: Any) -> None:
        """Choose a cell."""
        if (cell := self._asked_for(place)) is not None:
            self.selected = cell

    def do_clear(self, _: Any) -> None:
        """Choose nothing."""
        self.selected = None

    def do_whole(self, _: Any) -> None:
        """Show more of the chosen texts."""
        self._limit = MOST

    def do_edge(self, asked: Any) -> None:
        """Go on from a cell at the end of the page to the next one behind it."""
        match asked:
            case [place, str(key)] if key in _ARROWS and (cell := self._asked_for(place)):
                pass
            case _:
                return
        axis, step = _ARROWS[key]
        side, lines, cut = self.sides.index(cell[0]), self._lines[axis], self._pages[axis]
        behind = lines[cut.last :] if step > 0 else lines[: cut.first][::-1]
        to = next((at for line in behind if (at := line.at(side)) is not None), None)
        if to is not None:
            self.selected = [*cell[: axis + 1], to, *cell[axis + 2 :]]

    def _page_tools(self) -> tuple[list[Node | None], list[str]]:
        """Make the controls of the pages, and say in words which ones are shown."""
        nouns = ("rows", "columns")
        pages = list(zip(nouns, ("page", "column_page"), self._pages, strict=True))
        return [ui.pager(cut, f"set:{trait}", noun) for noun, trait, cut in pages], [
            f"{noun.capitalize()} {cut.first + 1:,} to {cut.last:,} of {cut.total:,}."
            for noun, _, cut in pages
            if cut.pages > 1
        ]


class TableView(TwoTables):
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

    kind = "tables"
    styles = ("tables.css",)
    settable = frozenset({"metric", "only_differing", "page", "column_page"})
    sides = SIDES
    metric = traitlets.Unicode("")
    only_differing = traitlets.Bool(False)

    def __init__(self, result: GriTS) -> None:
        if not isinstance(result, GriTS):
            raise InputError(
                f"result is of type {type(result).__name__}; expected a GriTS, as grits() returns"
            )
        first = default_metric(result)
        if first is None:
            raise InputError("result has no scores; call grits() with at least one metric")
        self._result = result
        self._compared: dict[str, Comparison] = {}
        super().__init__(metric=first)

    @property
    def _found(self) -> Comparison:
        metric = self.metric or str(default_metric(self._result))
        if metric not in self._compared:
            self._compared[metric] = compare(self._result, metric)
        return self._compared[metric]

    @property
    def _lines(self) -> tuple[Sequence[Line], Sequence[Line]]:
        found = self._found
        rows = [line for line in found.rows if not (self.only_differing and line.equal)]
        return rows, found.columns

    # --- what can be assigned ---------------------------------------------------------------------

    @traitlets.validate("metric")
    def _known_metric(self, proposal: Any) -> str:
        return known("metric", proposal["value"], map(str, self._result.scores.index))

    def _problem_with(self, value: Any) -> str:
        parts = value if isinstance(value, tuple | list) else ()
        if [type(part) for part in parts] != [str, int, int]:
            return f"selected is {value!r}; expected [side, row, column], such as ['true', 0, 1]"
        side, row, column = value
        if side not in SIDES:
            return f"selected: no side {side!r}; {nearest(side, SIDES)}"
        table = self._found.tables[SIDES.index(side)]
        height, width = table.grid.shape if table.size else (0, 0)
        if not (0 <= row < height and 0 <= column < width):
            return (
                f"selected: no row {row}, column {column}; the {side} table has {height} rows and "
                f"{width} columns, counted from 0"
            )
        return ""

    # --- what changes -----------------------------------------------------------------------------

    @traitlets.observe("only_differing")
    def _to_the_first_page(self, _: Any) -> None:
        self.page = 0

    @traitlets.observe("selected", "metric")
    def _turn_to_selected(self, _: Any) -> None:
        self._limit = SHORT
        with self.changing():
            self.page = self.page  # another metric may have fewer
            if self.selected is None:
                return
            side, *place = self.selected
            number = SIDES.index(side)
            if self.only_differing and place[0] not in [line.at(number) for line in self._lines[0]]:
                self.only_differing = False
            at = [
                [line.at(number) for line in lines].index(index)
                for lines, index in zip(self._lines, place, strict=True)
            ]
            self.page, self.column_page = at[0] // ROWS_A_PAGE, at[1] // COLUMNS_A_PAGE

    # --- what is shown ----------------------------------------------------------------------------

    def draw(self) -> dict[str, Node]:
        """Draw the scores, the present page of both tables, and the chosen pair."""
        found, metric = self._found, self._found.metric
        names = map(str, self._result.scores.index)
        differing = sum(not line.equal for line in found.rows)
        pagers, pages = self._page_tools()
        tools = ui.toolbar(
            ui.menu(
                "Metric",
                "set:metric",
                {name: f"{name}: {METRICS.get(name, name)}" for name in names},
                metric,
            ),
            ui.menu(
                "Rows",
                "set:only_differing",
                {False: f"all ({len(found.rows):,})", True: f"that differ ({differing:,})"},
                self.only_differing,
            ),
            *pagers,
        )
        only = ", only rows that differ" if self.only_differing else ""
        told = [f"Alignment and colours by {METRICS[metric]} ({metric}){only}.", *pages]
        page = h(
            "div",
            scores_table(self._result, metric),
            tools,
            h("p", " ".join(told), static=True),
            part("tables"),
            part("pair"),
            h("p", LEGEND, cls="xb-quiet") if self._lines[0] else None,
        )
        return {"page": page, "tables": self._tables(), "pair": self._pair()}

    def _tables(self) -> Node:
        lines = self._lines
        if not lines[0]:
            empty = (
                "No row differs: all that was matched is alike, and no row is alone."
                if self._found.rows
                else "Both tables are empty."
            )
            return h("p", empty, cls="xb-empty", role="status")
        cuts = [page.of(every) for every, page in zip(lines, self._pages, strict=True)]
        side, places = self._places()
        grids = tables(self._found, cuts[0], cuts[1], places, side)
        return h("div", grids, cls="xb-both", escape=None if self.selected is None else "clear")

    def _places(self) -> tuple[int, tuple[Any, Any]]:
        """Return the side of the chosen position, and by side that position and its partner."""
        if self.selected is None:
            return 0, (None, None)
        side, own = SIDES.index(self.selected[0]), tuple(self.selected[1:])
        other = self._found.partner(side, *own)
        return side, (other, own) if side else (own, other)

    def _pair(self) -> Node:
        found, (side, places) = self._found, self._places()
        if self.selected is None:
            hint = (
                "Choose a cell, by a click or by arrow keys, to see it beside its partner; Tab "
                "goes to the partner."
            )
            return h("p", hint if found.rows else "", cls="xb-quiet", live=True)
        cells = [
            None if place is None else table.cells[table.grid[place]]
            for table, place in zip(found.tables, places, strict=True)
        ]
        shown = [(at, cell) for at, cell in enumerate(cells) if cell is not None]
        values = [None if cell is None else cell.text for cell in cells]
        states = ["missing" if value is None else "present" for value in values]
        texts = whole(Pair(values[0], values[1], states[0], states[1]), self._limit)
        facts = {
            "covers": [
                f"{covered(c.rows, 'row')}, {covered(c.columns, 'column')}" for _, c in shown
            ],
            "kind": [_KINDS[kind_of(cell)] for _, cell in shown],
            "box": ["" if c.box is None else ", ".join(f"{x:g}" for x in c.box) for _, c in shown],
        }
        lines = [
            h("tr", h("th", name, scope="row"), [h("td", text) for text in written])
            for name, written in facts.items()
            if any(written)
        ]
        sides = [
            h(
                "td",
                ui.segments(texts[at].segments) if cell.text else h("em", "no text"),
                cls="xb-value",
                dir="auto",
            )
            for at, cell in shown
        ]
        heads = [h("th", SIDES[at], scope="col") for at, _ in shown]
        hidden = max(texts[at].hidden for at, _ in shown)
        body = h("tbody", h("tr", h("th", "text", scope="row"), sides), lines)
        table = ui.table((h("td"), *heads), body)
        return h(
            "div",
            h("p", h("b", _title(found, places))),
            h("p", _why_alone(found, side, *places[side])) if len(shown) == 1 else None,
            table,
            ui.more(hidden, "characters"),
            ui.button("Show all", "whole") if hidden and self._limit < MOST else None,
            cls="xb-pair",
            role="region",
            aria_label="Chosen cell",
            reveal=str(self.selected),
        )

    def __repr__(self) -> str:
        """Say what is compared, and by which metric it is shown."""
        return f"Tables · {self._result!r} · by {self.metric}"


def covered(numbers: Sequence[int], name: str) -> str:
    """Write which rows or columns a cell covers: ``row 2``, ``columns 1 to 3``."""
    if len(numbers) == 1:
        return f"{name} {numbers[0]}"
    if list(numbers) == list(range(numbers[0], numbers[-1] + 1)):
        return f"{name}s {numbers[0]} to {numbers[-1]}"
    return f"{name}s {', '.join(map(str, numbers[:_MOST_POSITIONS]))}"


def _title(found: Comparison, places: tuple[Any, Any]) -> str:
    title = " and ".join(
        f"{SIDES[side]} row {place[0]}, column {place[1]}"
        for side, place in enumerate(places)
        if place is not None
    )
    title = title[0].upper() + title[1:]
    if None in places:
        return title
    alike = two_digits(float(found.positions[0][places[0]]))
    return f"{title}: similarity {alike} ({found.metric})"


def _why_alone(found: Comparison, side: int, row: int, column: int) -> str:
    lines = (("row", found.rows, row), ("column", found.columns, column))
    alone = [f"{name} {at}" for name, every, at in lines if at not in found.partners(every, side)]
    verb = "has" if len(alone) == 1 else "have"
    return f"No partner: {' and '.join(alone)} {verb} none in the {SIDES[1 - side]} table."
