"""`FailureExplorer`: which fields fail, in which documents, for which runs."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import ipywidgets
import numpy as np
import pandas as pd
import traitlets

from extractbench_nb.errors import InputError, nearest
from extractbench_nb.widgets.failures.bars import bars, bars_json
from extractbench_nb.widgets.failures.choices import MEASURES, Choice, kept, within
from extractbench_nb.widgets.failures.choosing import Choosing, single
from extractbench_nb.widgets.failures.coding import AXES, Coded, Numbers, coded
from extractbench_nb.widgets.failures.controls import controls
from extractbench_nb.widgets.failures.grids import grid, grid_json
from extractbench_nb.widgets.failures.html import Picture, picture_html
from extractbench_nb.widgets.failures.notes import (
    absent,
    bars_title,
    empty,
    every,
    headline,
    title,
    values_title,
)
from extractbench_nb.widgets.failures.panes import BarsPane, HeatPane, ValuesPane, whole_number
from extractbench_nb.widgets.failures.values import value_rows, values_json
from extractbench_nb.widgets.view import beside

__all__ = ["FailureExplorer"]

#: So many columns leave room for the values beside them.
_NARROW = 4


class FailureExplorer(Choosing):
    """Where runs fail: a heatmap, the values behind its cells, and breakdowns.

    Parameters
    ----------
    source : Evaluations, Evaluation, pandas.DataFrame, mapping or list
        Where the rows of `fields` are, as `breakdown` takes them.
    rows : str, optional
        What has a row: ``field``, ``document`` or ``run``.
    columns : str, optional
        What has a column. By default documents; runs, where the rows are documents or there is
        only one; fields, where there is only one of either.
    measure : str, optional
        What the cells show: ``score``, the mean; ``pass_rate``; ``outcome``, the most frequent one.

    Attributes
    ----------
    selected_cell : tuple of (str, str)
        Row and column of the chosen cell, by name; empty where none or several are chosen.
    selected_block : tuple of (tuple of str, tuple of str)
        Rows and columns of the chosen cells, by name; empty where none are chosen.
    rows, columns, measure : str
        As above.
    row_order, column_order : str
        ``worst`` first, by ``name``, or as the fields are in the ``document``.
    schema, run : str or None
        The only one to show.
    find : str
        Part of the names of the fields to show.
    failed_by_every_run : bool
        Whether only fields are shown that gold has and that no run gets right in any document.
    inside_arrays : bool
        Whether the rows inside array items, which do not enter the scores, are there too.
    valid_only : bool
        Whether invalid outputs, which are no JSON, are left out.

    Raises
    ------
    InputError
        The source holds no fields, or there is no such axis or measure.
    """

    def __init__(
        self,
        source: Any,
        *,
        rows: str = "field",
        columns: str | None = None,
        measure: str = "score",
    ) -> None:
        self._coded = coded(source)
        _refuse_unknown({"rows": rows, "columns": columns or AXES[0]}, AXES)
        _refuse_unknown({"measure": measure}, MEASURES)
        columns = columns or _other_axis(self._coded, rows)
        if rows == columns:
            raise InputError(f"rows and columns are both {rows!r}; choose two of {list(AXES)}")
        self._pages = {"rows": 0, "columns": 0, "values": 0}
        self._whole: int | None = None
        self._heat, self._values, self._bars = HeatPane(), ValuesPane(), BarsPane()
        super().__init__(layout=ipywidgets.Layout(width="100%"))
        self.rows, self.columns, self.measure = rows, columns, measure
        parts = beside(self._heat, self._values, self._bars, widths=[520, 420, 300])
        self.children = (controls(self, self._coded), parts)
        self._listen()
        self._redraw()

    def _listen(self) -> None:
        self.observe(self._rechosen, list(Choice._fields))
        self.observe(self._reselected, "selected_block")
        self.observe(self._cell_set, "selected_cell")
        traitlets.link(
            (self, "selected_block"), (self._heat, "block"), transform=(self._codes, self._names)
        )
        self._heat.on_event("page", self._turn)
        self._heat.on_event("line", self._take_line)
        self._values.on_event("values", whole_number(self._turn_values, "to"))
        self._values.on_event("whole", whole_number(self._show_whole, "at"))

    # --- what follows from it --------------------------------------------------------------------

    def _rechosen(self, change: Any) -> None:
        name = change["name"]
        if self.rows == self.columns:
            self.set_trait("columns" if name == "rows" else "rows", change["old"])
            return
        if name in ("rows", "columns"):
            self.selected_block = ()
        self._pages = dict.fromkeys(self._pages, 0)
        self._redraw()

    def _cell_set(self, change: Any) -> None:
        cell = change["new"]
        if cell:
            self.selected_block = tuple((name,) for name in cell)
            self._reveal(cell)
        elif single(self.selected_block):
            self.selected_block = ()

    def _reselected(self, change: Any) -> None:
        self._pages["values"], self._whole = 0, None
        self.selected_cell = single(change["new"])
        self._follow()

    def _reveal(self, cell: tuple[str, str]) -> None:
        """Turn to the pages on which a cell is."""
        for side, axis, name in zip(("rows", "columns"), self._axes, cell, strict=True):
            shown = getattr(self._grid, side)
            found = np.flatnonzero(shown.codes == self._coded.places[axis][name])
            if len(found) and found[0] // shown.most != shown.first // shown.most:
                self._pages[side] = int(found[0] // shown.most)
                self._draw_grid()

    def _turn(self, content: dict[str, Any]) -> None:
        if content.get("axis") in ("rows", "columns"):
            axis = content["axis"]
            whole_number(lambda to: self._turn_to(axis, to), "to")(content)

    def _turn_to(self, side: str, page: int) -> None:
        self._pages[side] = page
        self._draw_grid()

    def _turn_values(self, page: int) -> None:
        self._pages["values"] = page
        self._follow()

    def _show_whole(self, at: int) -> None:
        self._whole = at
        self._follow()

    def _take_line(self, content: dict[str, Any]) -> None:
        """Choose all cells of a row or of a column."""
        down = content.get("axis") == "rows"
        whole_number(lambda code: self._take(code, down=down), "code")(content)

    def _take(self, code: int, *, down: bool) -> None:
        sides = self._axes if down else self._axes[::-1]
        line, across = (self._coded.axes[axis] for axis in sides)
        crossed = across.codes[self._places[line.codes[self._places] == code]]
        codes = [[code], np.unique(crossed).tolist()]
        self.selected_block = self._names(codes if down else codes[::-1])

    # --- what is shown ---------------------------------------------------------------------------

    def _redraw(self) -> None:
        self._places = kept(self._coded, self._choice)
        self._draw_grid()
        self._follow()

    def _draw_grid(self) -> None:
        choice = self._choice
        self._grid = grid(
            self._coded, self._places, choice, (self._pages["rows"], self._pages["columns"])
        )
        narrow = len(self._grid.columns.lines) <= _NARROW
        self._heat.layout.flex = "1 1 520px" if narrow else "1 1 100%"
        self._heat.show(
            {
                **grid_json(self._grid, choice),
                "headline": headline(self._coded, self._places),
                "absent": absent(choice),
                "every": every(choice),
                "empty": empty(self._coded, choice),
            }
        )

    def _follow(self) -> None:
        chosen, block = self._chosen, self.selected_block
        page, total = self._pages["values"], len(chosen)
        self._found = value_rows(self._coded, chosen if block else chosen[:0], page, self._whole)
        self._counts = bars(self._coded, chosen)
        heading = values_title(self._choice, block, self._found)
        self._values.show(values_json(self._found, heading, chosen=bool(block)))
        self._bars.show(bars_json(self._counts, bars_title(total, chosen=bool(block))))

    @property
    def _chosen(self) -> Numbers:
        """Places of the rows in the chosen cells; of all that are shown, where none is chosen."""
        if not self.selected_block:
            return self._places
        rows, columns = (np.array(codes) for codes in self._codes(self.selected_block))
        return within(self._coded, self._places, self._choice, (rows, columns))

    @property
    def selection(self) -> pd.DataFrame:
        """The rows of `fields` in the chosen cells, with their index; of all shown, without any."""
        return self._coded.frame.iloc[self._chosen]

    def to_html(self) -> str:
        """Write the heatmap, the breakdowns and the chosen values as HTML without JavaScript.

        Returns
        -------
        str
            One element; what is chosen and filtered now.
        """
        block = self.selected_block
        return picture_html(
            Picture(
                repr(self),
                headline(self._coded, self._places),
                self._choice,
                self._grid,
                empty(self._coded, self._choice),
                bars_title(len(self._chosen), chosen=bool(block)),
                self._counts,
                values_title(self._choice, block, self._found) if block else "",
                self._found,
            )
        )

    def __repr__(self) -> str:
        """Say how much there is, whatever is shown of it."""
        return title(self._coded)


def _refuse_unknown(given: dict[str, str], known: Iterable[str]) -> None:
    for argument, value in given.items():
        if value not in known:
            raise InputError(f"{argument}={value!r}: {nearest(value, known)}")


def _other_axis(rows: Coded, taken: str) -> str:
    """Return documents, runs or fields: the first that is not taken and has several items."""
    free = [name for name in ("document", "run", "field") if name != taken]
    return next((name for name in free if rows.axes[name].size > 1), free[0])
