"""`TwoTables`, two grids side by side and their chosen cell, and `TableView` of a GriTS."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from typing import Any, ClassVar

import traitlets

from extractbench_nb.errors import InputError
from extractbench_nb.support.nodes import Content, Node, h
from extractbench_nb.support.wording import plural
from extractbench_nb.tables import (
    LEGEND,
    METRICS,
    SIDES,
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
from extractbench_nb.views.sides import beside
from extractbench_nb.views.view import Choice, View, part

ROWS_A_PAGE, COLUMNS_A_PAGE, _LONGEST = 40, 30, 2_000
_KINDS = {"header": "column header", "projected": "projected row header", "": ""}


class TwoTables(View):
    """Two tables side by side, matched rows at one height; one of their cells may be chosen.

    A subclass gives their lines, of which ``at(side)`` is the number or the name on a side, and
    draws the grids and what is told about the chosen cell.

    Attributes
    ----------
    selected : list of (str, int, int or str) or None
        Side, row and column of the chosen cell. A cell can be assigned.
    only_differing : bool
        Whether rows are left out in which nothing differs.
    page, column_page : int
        Which page of rows and of columns is shown, from 0.
    """

    sides: ClassVar[tuple[str, str]]
    legend: ClassVar[str]
    settable = frozenset({"only_differing", "page", "column_page"})
    selected = traitlets.Any(None, allow_none=True)
    only_differing = traitlets.Bool(False)
    page = traitlets.Int(0)
    column_page = traitlets.Int(0)

    @property
    def _rows(self) -> Sequence[tuple[Any, bool]]:
        """All rows, and whether something in them differs."""
        raise NotImplementedError

    @property
    def _columns(self) -> Sequence[Any]:
        raise NotImplementedError

    # --- what can be assigned ---------------------------------------------------------------------

    @property
    def _shown_rows(self) -> list[Any]:
        return [row for row, differs in self._rows if differs or not self.only_differing]

    def _cut(self, axis: int, number: int) -> ui.Page:
        if axis:
            return ui.page_of(len(self._columns), number, COLUMNS_A_PAGE)
        return ui.page_of(len(self._shown_rows), number, ROWS_A_PAGE)

    @traitlets.validate("page", "column_page")
    def _known_page(self, proposal: Any) -> int:
        return self._cut(proposal["trait"].name == "column_page", proposal["value"]).number

    @traitlets.validate("selected")
    def _known_cell(self, proposal: Any) -> list[Any] | None:
        value = proposal["value"]
        if value is None:
            return None
        match value:
            case [str(side), int(row), int() | str() as column] if side in self.sides:
                at = self.sides.index(side)
                rows = [line.at(at) for line, _ in self._rows]
                if row in rows and column in [line.at(at) for line in self._columns]:
                    return [side, row, column]
        first = self._columns[0].at(0) if self._columns else 0
        raise traitlets.TraitError(
            f"there is no cell {value!r}; expected [side, row, column], such as "
            f"[{self.sides[0]!r}, 0, {first!r}]"
        )

    @traitlets.observe("only_differing")
    def _to_the_first_page(self, _: Any) -> None:
        self.page = 0

    @traitlets.observe("selected")
    def _turn_to_selected(self, _: Any = None) -> None:
        with self.changing():
            self.page = self.page  # there may be fewer
            if self.selected is None:
                return
            side, row, column = self.selected
            at = self.sides.index(side)
            if row not in [line.at(at) for line in self._shown_rows]:
                self.only_differing = False
            self.page = [line.at(at) for line in self._shown_rows].index(row) // ROWS_A_PAGE
            columns = [line.at(at) for line in self._columns]
            self.column_page = columns.index(column) // COLUMNS_A_PAGE

    def do_cell(self, place: Any) -> None:
        """Choose a cell; a place without one is ignored."""
        with suppress(traitlets.TraitError):
            self.set_trait("selected", place)

    def do_clear(self, _: Any) -> None:
        """Choose nothing."""
        self.selected = None

    # --- what is shown ----------------------------------------------------------------------------

    def _drawn(
        self, head: Node, control: Node | None, setting: str, grids: Callable[..., Content]
    ) -> dict[str, Node]:
        """Draw the scores, the present page of both tables, and the place of the chosen cell.

        `control` sets how they are compared, `setting` says it in words, and `grids` draws some
        rows, and some columns with their numbers.
        """
        rows, shown = self._rows, self._shown_rows
        cuts = self._cut(0, self.page), self._cut(1, self.column_page)
        differing = sum(differs for _, differs in rows)
        choices = {False: f"all ({len(rows):,})", True: f"that differ ({differing:,})"}
        pagers = (
            ui.pager(cuts[0], "set:page", "rows"),
            ui.pager(cuts[1], "set:column_page", "columns"),
        )
        told = [setting, *["only rows that differ"] * self.only_differing]
        told += [
            ui.shown_text(cut, noun) for cut, noun in zip(cuts, ("rows", "columns"), strict=True)
        ]
        menu = ui.menu("Rows", "set:only_differing", choices, self.only_differing)
        page = h(
            "div",
            head,
            ui.toolbar(control, menu, *pagers),
            h("p", f"{'; '.join(told)}.", static=True),
            part("tables"),
            part("cell"),
            h("p", self.legend, cls="xb-quiet") if rows else None,
            cls="xb-tables",
        )
        empty = "No row differs." if rows else "Both tables are empty."
        tables = h("p", empty, cls="xb-empty", role="status")
        if shown:
            drawn = grids(cuts[0].of(shown), cuts[1].of(list(enumerate(self._columns))))
            escape = None if self.selected is None else "clear"
            tables = h("div", drawn, cls="xb-both", escape=escape)
        hint = "Choose a cell, by a click or by arrow keys, to see it beside its partner."
        cell = h("p", hint if rows else "", cls="xb-quiet", live=True)
        return {"page": page, "tables": tables, "cell": cell}

    def _pair(
        self,
        title: Content,
        texts: Sequence[str | None],
        facts: Sequence[tuple[str, Content]],
        more: Node | None = None,
    ) -> Node:
        """Draw the texts of the chosen cell and its partner, and facts about them."""
        states = ["missing" if text is None else "present" if text else "null" for text in texts]
        sides = beside(texts[0], texts[1], states, limit=_LONGEST)
        return h(
            "div",
            h("p", title),
            ui.whole_sides(dict(zip(self.sides, sides, strict=True))),
            ui.facts_list(facts),
            more,
            cls="xb-detail",
            role="region",
            aria_label="Chosen cell",
            reveal=str(self.selected),
        )


class TableView(TwoTables):
    """True and predicted table, aligned and coloured by one metric of a GriTS.

    Attributes
    ----------
    metric : str
        The metric, one of ``result.scores``; at first ``con`` where it was computed.
    """

    kind = "tables"
    styles = ("tables.css",)
    settable = TwoTables.settable | {"metric"}
    sides = SIDES
    legend = LEGEND
    metric = Choice("con")

    def __init__(self, result: GriTS) -> None:
        if not isinstance(result, GriTS):
            raise InputError(
                f"result is of type {type(result).__name__}; expected a GriTS, as grits() returns"
            )
        first = default_metric(result)
        if first is None:
            raise InputError("result has no scores; call grits() with at least one metric")
        self._result, self._found = result, compare(result, first)
        super().__init__(metric=first)

    def choices(self, trait: str) -> Iterable[str]:
        """Return the metrics that were computed."""
        return self._names

    @traitlets.observe("metric")
    def _compare_anew(self, change: Any) -> None:
        if change["new"] != self._found.metric:
            self._found = compare(self._result, change["new"])
            self._turn_to_selected()

    @property
    def _rows(self) -> list[tuple[Line, bool]]:
        return [(line, not line.equal) for line in self._found.rows]

    @property
    def _columns(self) -> Sequence[Line]:
        return self._found.columns

    def draw(self) -> dict[str, Node]:
        """Draw the scores, both tables, and the chosen cell."""
        metric = self._found.metric
        metrics = {name: f"{name}: {METRICS.get(name, name)}" for name in self._names}
        control = ui.menu("Metric", "set:metric", metrics, metric)
        said = f"Alignment and colours by {METRICS[metric]} ({metric})"
        drawn = self._drawn(scores_table(self._result, metric), control, said, self._grids)
        return drawn if self.selected is None else {**drawn, "cell": self._cell()}

    @property
    def _names(self) -> list[str]:
        return [str(name) for name in self._result.scores.index]

    def _grids(self, rows: Sequence[Any], columns: Sequence[tuple[int, Any]]) -> Content:
        side, places = self._places()
        return tables(self._found, rows, [column for _, column in columns], places, side)

    def _places(self) -> tuple[int, tuple[Any, Any]]:
        """Return the side of the chosen position, and by side that position and its partner."""
        if self.selected is None:
            return 0, (None, None)
        side, own = SIDES.index(self.selected[0]), tuple(self.selected[1:])
        other = self._found.partner(side, *own)
        return side, (other, own) if side else (own, other)

    def _cell(self) -> Node:
        found, (_, places) = self._found, self._places()
        cells = [
            None if place is None else table.cells[table.grid[place]]
            for table, place in zip(found.tables, places, strict=True)
        ]
        facts = []
        for name, cell in zip(SIDES, cells, strict=True):
            if cell is not None:
                covers = f"{covered(cell.rows, 'row')}, {covered(cell.columns, 'column')}"
                facts.append((name, ", ".join(filter(None, [covers, _KINDS[kind_of(cell)]]))))
        title = " and ".join(
            f"{name} row {place[0]}, column {place[1]}"
            for name, place in zip(SIDES, places, strict=True)
            if place is not None
        )
        said = ": no partner"
        if None not in places:
            alike = two_digits(float(found.positions[0][places[0]]))
            said = f": similarity {alike} ({found.metric})"
        texts = [None if cell is None else cell.text for cell in cells]
        return self._pair([h("b", title[0].upper() + title[1:]), said], texts, facts)

    def __repr__(self) -> str:
        """Say what is compared, and by which metric it is shown."""
        return f"Tables · {self._result!r} · by {self.metric}"


def covered(numbers: Sequence[int], name: str) -> str:
    """Write which rows or columns a cell covers: ``row 2``, ``columns 1 to 3``."""
    if len(numbers) == 1:
        return f"{name} {numbers[0]}"
    if list(numbers) == list(range(numbers[0], numbers[-1] + 1)):
        return f"{name}s {numbers[0]} to {numbers[-1]}"
    return f"{plural(len(numbers), name)} from {numbers[0]} to {numbers[-1]}"
