"""`FailureExplorer`: which fields fail, in which documents, for which runs."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import partial
from html import escape
from typing import Any, NamedTuple

import ipywidgets
import numpy as np
import pandas as pd
import traitlets

from extractbench_nb.display.html import element, table
from extractbench_nb.display.sides import Segment, alone, compared
from extractbench_nb.display.text import cut, one_line, plural, value_text
from extractbench_nb.errors import InputError, nearest
from extractbench_nb.evaluation.frames import OUTCOMES
from extractbench_nb.widgets import failures_model as model
from extractbench_nb.widgets import panes as ui
from extractbench_nb.widgets import static
from extractbench_nb.widgets.static import MARKS, more, score_text, segments_html, twin

ROWS_A_PAGE = 20

_LONGEST_LABEL = 60
_LONGEST_PATH = 200
#: Characters of a value: at first, and where all of it is asked for.
_SHOWN, _LONGEST = 500, 100_000
#: Where both texts are shorter, all of them is shown with what differs marked.
_LONGEST_MARKED = 4000


class ValueRow(NamedTuple):
    """One row of `fields` to read; `whole` says that nothing of its values is left out."""

    at: int
    run: str
    document: str
    path: str
    metric: str
    score: float | None
    outcome: str
    reason: str
    reasoning: str
    gold: tuple[Segment, ...]
    predicted: tuple[Segment, ...]
    whole: bool


class Values(NamedTuple):
    """One page of rows, those that fail first."""

    rows: tuple[ValueRow, ...]
    page: ui.Page
    failing: int


def value_rows(
    rows: model.Coded, places: model.Numbers, page: int = 0, whole: int | None = None
) -> Values:
    """Lay gold and prediction of some rows side by side."""
    failing = places[~rows.passed[places]]
    ordered = np.concatenate([failing, places[rows.passed[places]]])
    shown = ui.page_of(len(ordered), page, ROWS_A_PAGE)
    found = tuple(_row(rows, int(at), long=at == whole) for at in shown.of(ordered))
    return Values(found, shown, len(failing))


def _row(rows: model.Coded, at: int, *, long: bool) -> ValueRow:
    row = rows.frame.iloc[at]
    gold, predicted, whole = _sides(row, long=long)
    run, document = (
        model.shortened(axis.names[axis.codes[at]], _LONGEST_LABEL) if axis.given else ""
        for axis in (rows.axes["run"], rows.axes["document"])
    )
    return ValueRow(
        at,
        run,
        document,
        one_line(_text(row["path"]), _LONGEST_PATH),
        one_line(_text(row["metric"]), _LONGEST_LABEL),
        None if pd.isna(row["score"]) else float(model.rounded(row["score"])),
        _text(row["outcome"]),
        one_line(_text(row["reason"]).replace("_", " "), _LONGEST_LABEL),
        one_line(_text(row["reasoning"]), _LONGEST if long else _LONGEST_PATH),
        tuple(gold),
        tuple(predicted),
        whole,
    )


def _text(value: Any) -> str:
    return value if isinstance(value, str) else ""


def _sides(row: pd.Series, *, long: bool) -> tuple[list[Segment], list[Segment], bool]:
    """Return both values, and whether that is all of them."""
    values = [  # objects and arrays as JSON, so that two of them can be compared
        value_text(value) if isinstance(value, dict | list | tuple) else value
        for value in (row["gold"], row["predicted"])
    ]
    states = _text(row["gold_state"]), _text(row["predicted_state"])
    longest = max(len(value_text(value)) for value in values)
    both = states == ("present", "present")
    if both and longest <= _LONGEST_MARKED and long:
        return *compared(*values, limit=_LONGEST_MARKED // 2), True
    if both and not long:
        return *compared(*values, limit=_SHOWN), longest <= 2 * _SHOWN
    limit = _LONGEST if long else _SHOWN
    gold, predicted = (alone(v, s, limit=limit) for v, s in zip(values, states, strict=True))
    return gold, predicted, longest <= limit


_LONGEST_NAME = 80
_ABSENT = {
    frozenset({"field", "document"}): "field not in this document",
    frozenset({"field", "run"}): "field not in the documents of this run",
    frozenset({"document", "run"}): "no output of this run",
}

#: What a line is the mean of; the fields of each document and run are averaged before.
_OVER = {
    "field": "mean over documents and runs",
    "document": "mean over runs",
    "run": "mean over documents",
}


def headline(rows: model.Coded, places: model.Numbers) -> list[str]:
    """Count what is shown."""
    if not len(places):
        return []
    said = [plural(len(np.unique(rows.axes[name].codes[places])), name) for name in model.AXES]
    outputs = np.unique(rows.outputs.codes[places])
    invalid = int(rows.outputs.invalid[outputs].sum())
    if invalid:
        all_fail = f"{invalid:,} of {plural(len(outputs), 'output')} invalid: all their fields fail"
        said.append(all_fail)
    failed = int(model.failed_by_every_run(rows, places).sum())
    said.append(f"{plural(failed, 'field')} failed by every run" if failed else "")
    return [text for text in said if text]


def absent(choice: model.Choice) -> str:
    """Say what a cell without rows means."""
    return _ABSENT[frozenset({choice.rows, choice.columns})]


def every(choice: model.Choice) -> str:
    """Say what the numbers of whole rows and columns are."""
    measure = model.MEASURES["score" if choice.measure == "score" else "pass_rate"]
    means = (f"of a {axis}, {_OVER[axis]}" for axis in (choice.rows, choice.columns))
    return f"all: {measure}; {'; '.join(means)}"


def empty(rows: model.Coded, choice: model.Choice) -> str:
    """Say why nothing is shown, and what would help."""
    if not len(rows):
        return "No field was evaluated: there are no rows in `fields`."
    if not choice.inside_arrays and not rows.counted.any():
        return "Every row is inside an array; show the fields inside arrays."
    return f"No field matches: {', '.join(model.filters_in_words(choice))}. Clear the filters."


def values_title(choice: model.Choice, block: Sequence[Sequence[str]], values: Values) -> str:
    """Say which cells were chosen, and how many of their rows fail."""
    if not block:
        return "No cell is chosen."
    sides = " × ".join(
        model.shortened(names[0], _LONGEST_NAME) if len(names) == 1 else plural(len(names), axis)
        for names, axis in zip(block, (choice.rows, choice.columns), strict=True)
    )
    if not values.page.total:
        return f"{sides}: nothing here, or the filters leave nothing."
    return f"{sides}: {values.failing:,} of {plural(values.page.total, 'row')} not passed"


#: The sign of an output that is not JSON.
INVALID = "⊘"

_MOST_ROWS, _MOST_COLUMNS = 40, 20
#: Characters of all columns' names beyond which the columns are numbered.
_LONGEST_HEADS = 70


def chosen_text(choice: model.Choice) -> str:
    """Say in words what is shown, and in which order."""
    rows = f"Rows: {choice.rows}s, {model.ORDERS[choice.row_order]}."
    columns = f"Columns: {choice.columns}s, {model.ORDERS[choice.column_order]}."
    only = model.filters_in_words(choice)
    inside = " Fields inside arrays too." if choice.inside_arrays else ""
    filters = f" Only: {', '.join(only)}." if only else ""
    return f"{rows} {columns} Cells: {model.MEASURES[choice.measure]}.{inside}{filters}"


def heatmap_html(grid: model.Grid, choice: model.Choice) -> str:
    """Write the heatmap."""
    rows, columns = grid.rows.lines[:_MOST_ROWS], grid.columns.lines[:_MOST_COLUMNS]
    numbered = sum(len(line.name) for line in columns) > _LONGEST_HEADS
    heads = [element("th", f"{choice.rows} \\ {choice.columns}"), element("th", "all")]
    heads += [_head(line, "col", at if numbered else 0) for at, line in enumerate(columns, 1)]
    body, group = "", None
    for line, cells in zip(rows, grid.cells, strict=False):
        if grid.rows.grouped and line.group != group:
            group = line.group
            body += f'<tr><th colspan="{len(heads)}">{element("b", group)}</th></tr>'
        body += f"<tr>{_head(line, 'row')}{element('td', _mean(line, choice.measure), 'xb-num')}"
        body += "".join(_cell(cell, choice.measure) for cell in cells[:_MOST_COLUMNS]) + "</tr>"
    beyond = [
        f"… {len(side.codes) - len(shown):,} more {name}s"
        for side, shown, name in (
            (grid.rows, rows, choice.rows),
            (grid.columns, columns, choice.columns),
        )
        if len(side.codes) > len(shown)
    ]
    names = ""
    if numbered:
        items = (f"{_signed(line, line.title)} · {_mean(line, choice.measure)}" for line in columns)
        listed = "".join(f"<li>{element('span', item)}</li>" for item in items)
        head = element("p", f"The {choice.columns}s, by the numbers of their columns:")
        names = f'{head}<ol class="xb-columns">{listed}</ol>'
    return (
        f'<table class="xb-static-heat"><thead><tr>{"".join(heads)}</tr></thead>'
        f"<tbody>{body}</tbody></table>{names}"
        f"{element('p', ', '.join(beyond)) if beyond else ''}"
        f"{element('p', _legend(choice), 'xb-quiet')}"
    )


def _head(line: model.Line, scope: str, number: int = 0) -> str:
    """Name a line, or give the number under which it is named."""
    text = element("span", _signed(line, str(number) if number else line.name))
    return f'<th scope="{scope}" title="{escape(line.title)}">{text}</th>'


def _signed(line: model.Line, name: str) -> str:
    signs = (" ✗" if line.failed else "") + (f" {INVALID}" if line.invalid else "")
    return cut(name, _LONGEST_NAME) + signs


def _mean(line: model.Line, measure: str) -> str:
    return score_text(line.score if measure == "score" else line.pass_rate)


def _cell(cell: model.Cell | None, measure: str) -> str:
    if cell is None:
        return '<td class="xb-absent">·</td>'
    if cell.invalid == cell.rows:
        return f'<td class="xb-s0">{INVALID}</td>'
    sign = INVALID if cell.invalid else ""
    if measure == "outcome":
        text = f"{MARKS[cell.outcome]} {cell.most}/{cell.rows}{sign}"
        return f'<td class="xb-tint xb-t-{cell.outcome}">{text}</td>'
    value = cell.score if measure == "score" else cell.pass_rate
    shade = 0 if value <= 0 else 10 if value >= 1 else 1 + min(8, int(value * 9))
    return f'<td class="xb-s{shade}">{score_text(value)}{sign}</td>'


def _legend(choice: model.Choice) -> str:
    outcomes = ", ".join(static.outcome_text(name) for name in MARKS if name in OUTCOMES)
    marks = f" {outcomes}, with its share of the rows;" if choice.measure == "outcome" else ""
    return (
        f"Signs:{marks} · {absent(choice)}; {INVALID} the output, or some of the outputs, "
        f"is not JSON; ✗ failed by every run. {every(choice).capitalize()}."
    )


def bars_html(title: str, counts: Sequence[model.Bars]) -> str:
    """Write the breakdowns."""
    parts = [element("h4", title)]
    for group in counts:
        if group.by == "outcome" and group.bars:
            rows = [
                [element("span", static.outcome_text(b.title)), f"{b.rows:,}"] for b in group.bars
            ]
            parts.append(table(["outcome", "rows"], rows, numbers=[1]))
        elif group.bars:
            rows = [
                [
                    element("span", bar.name),
                    f"{bar.passed:,} of {bar.rows:,}",
                    static.counts_html(bar.rate, bar.counts),
                ]
                for bar in group.bars
            ]
            rows += [[f"… {group.more:,} more", "", ""]] if group.more else []
            heads = [group.by, "rows that pass", f"{group.measure}; outcomes of rows"]
            parts.append(table(heads, rows, numbers=[1]))
    return "".join(parts)


def values_html(title: str, values: Values) -> str:
    """Write a page of rows."""
    head = element("h4", title)
    if not values.rows:
        return head
    rows = []
    for found in values.rows:
        where = " · ".join(filter(None, (found.run, found.document, found.path)))
        outcome, score = found.outcome.replace("_", " "), score_text(found.score)
        verdict = filter(None, (outcome, score, found.metric, found.reason, found.reasoning))
        rows.append(
            [
                element("span", where),
                f"{MARKS[found.outcome]} {element('span', ' · '.join(verdict))}",
                segments_html(found.gold),
                segments_html(found.predicted),
            ]
        )
    after = more(values.page.total - values.page.last, "rows")
    return head + table(["where", "outcome", "gold", "predicted"], rows) + after


#: Names of rows and names of columns; nothing where no cell is chosen.
Block = tuple[tuple[str, ...], tuple[str, ...]] | tuple[()]


def single(block: Block) -> tuple[str, ...]:
    """Return row and column of a block of one cell; nothing for any other block."""
    alone = bool(block) and all(len(names) == 1 for names in block)
    return tuple(names[0] for names in block) if alone else ()


_LONGEST_CHOICE = 40
#: Stands for no name in a menu, where None would be no choice at all.
_ALL = ()
_NOT_ALL = (
    lambda name: _ALL if name is None else name,
    lambda value: None if value == _ALL else value,
)


def _names(label: str, names: list[str]) -> Any:
    """Make a menu of names, of which none may be chosen."""
    listed = [(model.shortened(name, _LONGEST_CHOICE), name) for name in names]
    return ui.menu(label, [("all", _ALL), *listed], width="15em")


class HeatPane(
    ui.Pane,
    scripts=["failures/cells.js", "failures/heatmap.js", "failures/heatgrid.js"],
    styles=["failures/shades.css", "failures/heatmap.css"],
):
    """The heatmap; `block` has the codes of the chosen rows and columns, or nothing."""

    block: Any = traitlets.List().tag(sync=True)


class ValuesPane(ui.Pane, scripts=["failures/values.js"], styles=["failures/details.css"]):
    """Gold beside prediction, row by row."""


class BarsPane(ui.Pane, scripts=["failures/bars.js"], styles=["failures/details.css"]):
    """Bars by outcome, by domain or schema, by run."""


#: Up to this many columns leave room for the values beside the heatmap.
_NARROW = 4


class FailureExplorer(model.Choice, ui.View):
    """Where runs fail: a heatmap, the values behind its cells, and breakdowns.

    Attributes
    ----------
    selected_cell : tuple of (str, str)
        Row and column of the chosen cell, by name; empty where none or several are chosen.
    selected_block : tuple of (tuple of str, tuple of str)
        Rows and columns of the chosen cells, by name; empty where none are chosen.
    rows, columns : str
        What has a row and what has a column: two of ``field``, ``document`` and ``run``.
    measure : str
        What the cells show: ``score``, the mean; ``pass_rate``; ``outcome``, the most frequent one.
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
        Whether invalid outputs, which are not JSON, are left out.
    """

    selected_cell = traitlets.Tuple()
    selected_block = traitlets.Tuple()

    def __init__(
        self,
        source: Any,
        *,
        rows: str = "field",
        columns: str | None = None,
        measure: str = "score",
    ) -> None:
        self._coded = model.Coded(source)
        free = [name for name in ("document", "run", "field") if name != rows]
        if columns is None:  # the first that has several items
            sizes = {name: axis.size for name, axis in self._coded.axes.items()}
            columns = next((name for name in free if sizes[name] > 1), free[0])
        names: tuple[tuple[str, str, Iterable[str]], ...] = (
            ("rows", rows, model.AXES),
            ("columns", columns, model.AXES),
            ("measure", measure, model.MEASURES),
        )
        for argument, value, allowed in names:
            if value not in allowed:
                raise InputError(f"{argument}={value!r}: {nearest(value, allowed)}")
        if rows == columns:
            raise InputError(
                f"rows and columns are both {rows!r}; choose two of {list(model.AXES)}"
            )
        self._pages = {"rows": 0, "columns": 0, "values": 0}
        self._whole: int | None = None
        self._heat, self._values, self._bars = HeatPane(), ValuesPane(), BarsPane()
        super().__init__()
        self.rows, self.columns, self.measure = rows, columns, measure
        parts = ui.beside(self._heat, self._values, self._bars, widths=[520, 420, 300])
        self.children = (ipywidgets.VBox(self._controls()), parts)
        self._listen()
        self._redraw()

    def _controls(self) -> list[ipywidgets.Widget]:
        """Make the controls, each tied to its trait of the same name."""
        axes = {name: f"{name}s" for name in model.AXES}
        made = {
            "rows": ui.menu("Rows", axes, width="12em"),
            "row_order": ui.menu("Sort rows", model.ORDERS, width="15em"),
            "columns": ui.menu("Columns", axes, width="14em"),
            "column_order": ui.menu("Sort columns", model.ORDERS, width="17em"),
            "measure": ui.menu("Show", model.MEASURES, width="19em"),
            "find": ui.search("Field", "part of its name", width="15em"),
            "failed_by_every_run": ui.check("failed by every run"),
            "inside_arrays": ui.check("inside arrays too"),
            "valid_only": ui.check("without invalid outputs"),
        }
        self.link(made)
        several = []
        for trait, axis in (("schema", self._coded.schemas), ("run", self._coded.axes["run"])):
            control = _names(trait.capitalize(), axis.names)
            traitlets.link((self, trait), (control, "value"), transform=_NOT_ALL)
            several += [control] if axis.size > 1 else []
        shown = list(made.values())
        return [ui.row(*shown[:5]), ui.row(*shown[5:6], *several, *shown[6:])]

    def _listen(self) -> None:
        self.observe(self._rechosen, model.Choice.class_trait_names())
        self.observe(self._reselected, "selected_block")
        self.observe(self._cell_set, "selected_cell")
        traitlets.link(
            (self, "selected_block"), (self._heat, "block"), transform=(self._codes, self._names)
        )
        sides = ["rows", "columns"]
        self._heat.on_event("page", self._turn, axis=sides, to=int)
        self._heat.on_event("line", self._take_line, axis=sides, code=int)
        self._values.on_event("values", partial(self._turn, "values"), to=int)
        self._values.on_event("whole", self._show_whole, at=int)

    # --- what can be assigned -------------------------------------------------------------------

    @property
    def _axes(self) -> tuple[str, str]:
        return self.rows, self.columns

    @traitlets.validate("rows", "columns", "measure", "row_order", "column_order", "schema", "run")
    def _known_name(self, proposal: Any) -> str | None:
        trait, value = proposal["trait"].name, proposal["value"]
        names: dict[str, Iterable[str]] = {
            **dict.fromkeys(("rows", "columns"), model.AXES),
            **dict.fromkeys(("row_order", "column_order"), model.ORDERS),
            "measure": model.MEASURES,
            "schema": self._coded.schemas.names,
            "run": self._coded.axes["run"].names,
        }
        return None if value is None else ui.known(trait, value, names[trait])

    @traitlets.validate("selected_cell")
    def _known_cell(self, proposal: Any) -> tuple[str, ...]:
        cell = proposal["value"]
        if len(cell) not in (0, 2):
            raise traitlets.TraitError(f"selected_cell is (row, column) or empty; found {cell!r}")
        return tuple(self._item(axis, name) for axis, name in zip(self._axes, cell, strict=False))

    @traitlets.validate("selected_block")
    def _known_block(self, proposal: Any) -> tuple[tuple[str, ...], ...]:
        block = proposal["value"]
        if len(block) not in (0, 2) or not all(isinstance(names, Iterable) for names in block):
            raise traitlets.TraitError(
                f"selected_block is (names of rows, names of columns) or empty; found {block!r}"
            )
        sides = [[names] if isinstance(names, str) else list(names) for names in block]
        if not all(sides):
            return ()
        named = zip(self._axes, sides, strict=False)
        return tuple(tuple(self._item(axis, name) for name in names) for axis, names in named)

    def _item(self, axis: str, name: object) -> str:
        """Return a name of an axis, or raise `TraitError`."""
        places = self._coded.places[axis]
        return name if isinstance(name, str) and name in places else ui.known(axis, name, places)

    def _codes(self, block: Block) -> list[list[int]]:
        """Return a block as the page has it."""
        named = zip(self._axes, block, strict=False)
        return [[self._coded.places[axis][name] for name in names] for axis, names in named]

    def _names(self, block: Sequence[object]) -> Block:
        """Return a block of the page by name; what is not there is left out."""
        found = []
        for axis, codes in zip(self._axes, block, strict=False):
            names = self._coded.axes[axis].names
            given = codes if isinstance(codes, list) else []
            there = (code for code in given if type(code) is int and 0 <= code < len(names))
            found.append(tuple(names[code] for code in there))
        return (found[0], found[1]) if len(found) == len(self._axes) and all(found) else ()

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
            if len(found) and found[0] // shown.most != shown.page.number:
                self._pages[side] = int(found[0] // shown.most)
                self._draw_grid()

    def _turn(self, part: str, to: int) -> None:
        self._pages[part] = to
        if part == "values":
            self._follow()
        else:
            self._draw_grid()

    def _show_whole(self, at: int) -> None:
        self._whole = at
        self._follow()

    def _take_line(self, side: str, code: int) -> None:
        """Choose all cells of a row or of a column."""
        down = side == "rows"
        line, across = (self._coded.axes[axis] for axis in self._axes[:: 1 if down else -1])
        crossed = across.codes[self._places[line.codes[self._places] == code]]
        codes = [[code], np.unique(crossed).tolist()]
        self.selected_block = self._names(codes if down else codes[::-1])

    # --- what is shown ---------------------------------------------------------------------------

    def _redraw(self) -> None:
        self._places = model.kept(self._coded, self)
        self._draw_grid()
        self._follow()

    def _draw_grid(self) -> None:
        pages = self._pages["rows"], self._pages["columns"]
        grid = self._grid = model.grid(self._coded, self._places, self, pages)
        narrow = len(grid.columns.lines) <= _NARROW
        self._heat.layout.flex = "1 1 520px" if narrow else "1 1 100%"
        sides = {
            name: {
                "columns": model.Line._fields,
                "rows": side.lines,
                "first": side.page.first,
                "total": side.page.total,
                "page": side.most,
                "known": side.known,
                "grouped": side.grouped,
            }
            for name, side in (("rows", grid.rows), ("columns", grid.columns))
        }
        self._heat.show(
            {
                "axes": self._axes,
                "measure": self.measure,
                "few": len(grid.columns.lines) <= model.FEW_COLUMNS,
                **sides,
                "cells": grid.cells,
                "headline": headline(self._coded, self._places),
                "absent": absent(self),
                "every": every(self),
                "empty": empty(self._coded, self),
            }
        )

    def _follow(self) -> None:
        chosen, block = self._chosen, self.selected_block
        page = self._pages["values"]
        self._found = value_rows(self._coded, chosen if block else chosen[:0], page, self._whole)
        self._counts = model.bars(self._coded, chosen)
        self._heading = values_title(self, block, self._found)
        self._values.show(
            {
                "title": self._heading,
                "chosen": bool(block),
                "rows": {"columns": ValueRow._fields, "rows": self._found.rows},
                "first": self._found.page.first,
                "total": self._found.page.total,
                "page": ROWS_A_PAGE,
            }
        )
        groups = [
            {**counts._asdict(), "bars": {"columns": model.Bar._fields, "rows": counts.bars}}
            for counts in self._counts
            if counts.bars
        ]
        what = "Selection" if block else "All that is shown"
        self._bars_title = f"{what}: {plural(len(chosen), 'row')}"
        self._bars.show({"title": self._bars_title, "groups": groups})

    @property
    def _chosen(self) -> model.Numbers:
        """Places of the rows in the chosen cells; of all that are shown, where none is chosen."""
        if not self.selected_block:
            return self._places
        rows, columns = (np.array(codes) for codes in self._codes(self.selected_block))
        return model.within(self._coded, self._places, self, (rows, columns))

    @property
    def selection(self) -> pd.DataFrame:
        """The rows of `fields` in the chosen cells, with their index; of all shown, without any."""
        return self._coded.frame.iloc[self._chosen]

    def to_html(self) -> str:
        """Write the heatmap, the breakdowns and the chosen values as HTML without JavaScript."""
        return twin(
            repr(self),
            f"<style>{static.asset('failures/shades.css')}</style>",
            element("p", " · ".join(headline(self._coded, self._places))),
            element("p", chosen_text(self)),
            heatmap_html(self._grid, self)
            if self._grid.cells
            else element("p", empty(self._coded, self)),
            values_html(self._heading, self._found) if self.selected_block else "",
            bars_html(self._bars_title, self._counts),
        )

    def __repr__(self) -> str:
        """Say how much there is, whatever is shown of it."""
        sizes = " · ".join(plural(self._coded.axes[name].size, name) for name in model.AXES)
        return f"Failures · {sizes} · {plural(len(self._coded), 'row')}"
