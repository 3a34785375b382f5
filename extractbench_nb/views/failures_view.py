"""`FailureExplorer`: which fields fail, in which documents, for which runs."""

from __future__ import annotations

import json
import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
import pandas as pd
import traitlets

from extractbench_nb.core import OUTCOMES, Evaluation
from extractbench_nb.errors import ExtractBenchError, InputError, nearest
from extractbench_nb.gold import Annotations
from extractbench_nb.support.nodes import Node, h
from extractbench_nb.support.pandas_helpers import own_copy
from extractbench_nb.support.wording import accepted_text, one_line, plural
from extractbench_nb.views import controls as ui
from extractbench_nb.views import failures_model as model
from extractbench_nb.views.sides import Segment
from extractbench_nb.views.static import MARKS, score_text
from extractbench_nb.views.view import View, checked_name, known, part

if TYPE_CHECKING:
    from extractbench_nb.construction import TableComparison, TableDataset
    from extractbench_nb.runs import Dataset

#: Paths on a page of the values, and runs beside each other.
KEYS_A_PAGE, RUNS_A_PAGE = 20, 6

_LONGEST_LABEL, _LONGEST_NAME = 60, 80
_LONGEST_PATH = 200
#: Rows and columns of the heatmap that are written into static HTML.
_STATIC_ROWS, _STATIC_COLUMNS = 40, 20
#: Characters that are copied.
_LONGEST_COPY = 20_000
#: Documents of a schema below which a heatmap of fields by documents is mostly empty.
_DENSE = 1.5
#: Names in a menu, and the characters of a column's name.
_MOST_OPTIONS, _LONGEST_HEAD = 400, 22
#: The place of a row of `fields`, and its cells by column.
_Row: TypeAlias = tuple[int, Mapping[str, Any]]
_PASSES = ("correct", "both_absent")
_HINT = (
    "Click a cell, or press Enter on it, to see its values: gold, and each run's beside it. Drag, "
    "or hold Shift with the arrow keys, for several cells; a name takes its whole line. A count "
    "of failures lists its rows."
)

#: A line without the sign may be 0 too: no row of it has a value in gold.
_FAILED_BY_ALL = "failed by every run; without it, a field of 0 has no value in gold"
#: The sign of an output that is not JSON.
INVALID = "⊘"


# --- words ----------------------------------------------------------------------------------------


def headline(rows: model.Coded, places: model.Numbers, choice: model.Choice) -> str:
    """Count what is shown."""
    if not len(places):
        return ""
    said = [plural(len(np.unique(rows.axes[name].codes[places])), name) for name in model.AXES]
    outputs = np.unique(rows.outputs.codes[places])
    invalid = int(rows.outputs.invalid[outputs].sum())
    if invalid:
        all_fail = f"{invalid:,} of {plural(len(outputs), 'output')} invalid: all their fields fail"
        said.append(all_fail)
    failed = int(model.failed_by_every_run(rows, places).sum())
    said.append(f"{plural(failed, 'field')} failed by every run" if failed else "")
    is_part = choice.inside_arrays or model.filters_in_words(choice)
    inside = 0 if is_part else int((~rows.counted).sum())
    said.append(f"{plural(inside, 'row')} not counted" if inside else "")
    return " · ".join(text for text in said if text)


def empty(rows: model.Coded, choice: model.Choice) -> str:
    """Say why nothing is shown, and what would help."""
    if not len(rows):
        return "No field was evaluated: there is nothing to show."
    if not choice.inside_arrays and not rows.counted.any():
        return "No row is counted; show those that are not counted too."
    return f"No field matches: {', '.join(model.filters_in_words(choice))}. Clear the filters."


def chosen_text(choice: model.Choice) -> str:
    """Say in words what is shown, and in which order."""
    rows = f"Rows: {choice.rows}s, {model.ORDERS[choice.row_order]}."
    columns = f"Columns: {choice.columns}s, {model.ORDERS[choice.column_order]}."
    only = model.filters_in_words(choice)
    inside = " Rows that are not counted too." if choice.inside_arrays else ""
    filters = f" Only: {', '.join(only)}." if only else ""
    return f"{rows} {columns} Cells: {model.MEASURES[choice.measure]}.{inside}{filters}"


def single(block: model.Block) -> tuple[str, ...]:
    """Return row and column of a block of one cell; nothing for any other block."""
    is_cell = bool(block) and all(len(names) == 1 for names in block)
    return tuple(names[0] for names in block) if is_cell else ()


# --- the heatmap ----------------------------------------------------------------------------------


def shade(value: float) -> str:
    """Return the class of a score's colour; only an exact 0 and an exact 1 are at the ends."""
    return f"xb-s{0 if value <= 0 else 10 if value >= 1 else 1 + min(8, int(value * 9))}"


def _cell_look(cell: model.Cell | None, measure: str) -> tuple[str, list[Any], str]:
    if cell is None:
        return "xb-absent", ["·"], ""
    says = f"{cell.passed} of {plural(cell.rows, 'row')} pass, {cell.most} {cell.outcome}"
    if cell.invalid == cell.rows:
        return "xb-invalid xb-s0", [INVALID], says
    sign = h("span", INVALID, static=True) if cell.invalid else None
    partly = " xb-partly" if cell.invalid else ""
    if measure == "outcome":
        share = h("span", f" {cell.most}/{cell.rows}", static=True)
        return f"xb-tint xb-t-{cell.outcome}{partly}", [MARKS[cell.outcome], share, sign], says
    value = cell.score if measure == "score" else cell.pass_rate
    return shade(value) + partly, [score_text(value), sign], says


def _mean(line: model.Line, measure: str) -> str:
    return score_text(line.score if measure == "score" else line.pass_rate)


def _head(line: model.Line, *, alike: bool, breaks: bool = False, **place: Any) -> Node:
    """Draw the name of a line."""
    signs = ("✗" if line.failed else "") + (INVALID if line.invalid else "")
    says = [line.title, f"schema {line.schema}" if line.schema else ""]
    says += [f"score {score_text(line.score)}, pass rate {score_text(line.pass_rate)}"]
    says += [plural(line.rows, "row"), "failed by every run" if line.failed else ""]
    if line.invalid:
        says.append(f"{line.invalid} of {plural(line.outputs, 'output')} invalid")
    schema = None if alike or not line.schema else h("i", f" · {line.schema}", cls="xb-quiet")
    first, *rest = re.split(r"(?<=[_./\-\s])", line.name) if breaks else [line.name]
    name = [h("span", first, ((h("wbr"), word) for word in rest), dir="auto"), schema]
    return h(
        "th",
        h("span", name, cls="xb-line"),
        h("span", f" {signs}", cls="xb-signs") if signs else None,
        item=True,
        title="; ".join(filter(None, says)),
        cls="xb-failed" if line.failed else None,
        **place,
    )


def heatmap(grid: model.Grid, choice: model.Choice) -> Node:
    """Draw the heatmap; row 0 and column 0 are names, which take their lines."""
    lines, columns = grid.rows.lines, grid.columns.lines
    few = len(columns) <= model.FEW_COLUMNS
    alike = [len({line.schema for line in side.lines}) == 1 for side in grid[:2]]
    beyond = [at >= _STATIC_COLUMNS or None for at in range(len(columns))]
    heads = [
        _head(line, alike=alike[1], breaks=few, scope="col",
              row=0, column=at, live=beyond[at - 1])
        for at, line in enumerate(columns, 1)
    ]  # fmt: skip
    means = [
        h("td", _mean(line, choice.measure), live=beyond[at]) for at, line in enumerate(columns)
    ]
    body: list[Node] = []
    for at, (line, cells) in enumerate(zip(lines, grid.cells, strict=True), 1):
        live = at > _STATIC_ROWS or None
        drawn = []
        for across, cell in enumerate(cells, 1):
            look, content, says = _cell_look(cell, choice.measure)
            drawn.append(
                h("td", content, cls=look, item=True, row=at, column=across, title=says or None,
                  live=beyond[across - 1])
            )  # fmt: skip
        name = _head(line, alike=alike[0], scope="row", row=at, column=0)
        mean = h("td", _mean(line, choice.measure), cls="xb-mean")
        body.append(h("tr", name, mean, drawn, live=live, key=at))
    corner = h("td", f"{choice.rows} \\ {choice.columns}", cls="xb-corner")
    everything = h("tr", h("td", "all", cls="xb-corner"), h("td"), means, cls="xb-means")
    return h(
        "table",
        h("thead", h("tr", corner, h("td", "all", cls="xb-mean"), heads)),
        h("tbody", everything, body),
        cls=f"xb-heat {'xb-few' if few else 'xb-many'}",
        role="grid",
        aria_multiselectable="true",
        aria_label=f"{choice.rows} by {choice.columns}, {model.MEASURES[choice.measure]}",
    )


def _static_notes(grid: model.Grid, choice: model.Choice) -> Node | None:
    """Say what static HTML leaves out of the heatmap."""
    beyond = [
        f"… {len(side.codes) - min(most, len(side.lines)):,} more {name}s"
        for side, most, name in (
            (grid.rows, _STATIC_ROWS, choice.rows),
            (grid.columns, _STATIC_COLUMNS, choice.columns),
        )
        if len(side.codes) > min(most, len(side.lines))
    ]
    return h("p", ", ".join(beyond), static=True) if beyond else None


def legend(grid: model.Grid, choice: model.Choice) -> Node:
    """Say what colours and signs mean; only signs that are there."""
    cells = [cell for line in grid.cells for cell in line]

    def key(kind: str, sign: str, meaning: str) -> Node:
        return h("span", h("span", sign, cls=f"xb-swatch {kind}"), f" {meaning}; ", cls="xb-key")

    if choice.measure == "outcome":
        named = [name for name in OUTCOMES if any(c and c.outcome == name for c in cells)]
        scale = [key(f"xb-tint xb-t-{n}", MARKS[n], n.replace("_", " ")) for n in named]
    else:
        steps = [h("i", cls=f"xb-s{at}") for at in range(11)]
        ends = h("span", steps, cls="xb-scale", live=True)
        scale = [h("span", f"{model.MEASURES[choice.measure]} 0 ", ends, " to 1; ", cls="xb-key")]
    some = [c for c in cells if c is not None]
    keys = [
        (
            None in cells,
            key("xb-absent", "·", f"no row of this {choice.rows} and {choice.columns}"),
        ),
        (any(c.invalid == c.rows for c in some), key("xb-invalid xb-s0", INVALID, "not JSON")),
        (
            any(0 < c.invalid < c.rows for c in some),
            key("xb-partly xb-s6", "", "corner or ⊘: some outputs are not JSON"),
        ),
        (
            any(line.failed for side in grid[:2] for line in side.lines),
            key("xb-signs", "✗", _FAILED_BY_ALL),
        ),
    ]
    shown = [drawn for there, drawn in keys if there]
    return h("p", scale, shown, cls="xb-legend")


# --- the view -------------------------------------------------------------------------------------

_TRAITS = tuple(model.Choice.class_trait_names())
#: The state besides the traits of `Choice` that a location has.
_PAGES = ("row_page", "column_page", "value_page", "run_page")
_STATE = (*_TRAITS, *_PAGES, "selected_block")
_RUN_TRAITS = ("wrong_in", "right_in")
_VALUE_TRAITS = (
    *model.ASKED,
    *("among", "text", "failures_only", "compare", "wrong_in", "right_in"),
)


class FailureExplorer(model.Choice, View):
    """Where runs fail: a heatmap, the values behind its cells, and how they fail.

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
        Whether the rows that do not enter the scores are there too: those inside arrays in profile
        ``paper``, those of the arrays themselves in ``strict``.
    valid_only : bool
        Whether invalid outputs, which are not JSON, are left out.
    outcome, metric, reason, mismatch : str
        The only one whose values are listed; empty for all.
    among : tuple of (str, str)
        A column of the failure modes and one of its names, ``("run", "quill")``, to list no others.
    text : str
        What path, gold or predicted value must contain, in any case of letters.
    failures_only : bool
        Whether values that pass are left out.
    compare : str
        Which paths are listed: ``disagree``, some runs are right and some wrong; ``all_wrong``;
        empty for all.
    wrong_in, right_in : str or None
        Runs that must be wrong, and right, at the paths that are listed.
    modes_by : str
        What the failure modes are counted by: ``run``, ``field``, ``document``, ``schema``,
        ``domain``, ``outcome`` or ``mismatch``.
    row_page, column_page, value_page, run_page : int
        Pages of the heatmap, of the values, and of the runs beside each other, from 0.
    """

    kind = "explore"
    styles = ("explore.css",)
    settable = frozenset({*_TRAITS, *_PAGES}) - {"among"}
    selected_cell = traitlets.Tuple()
    selected_block = traitlets.Tuple()
    row_page = traitlets.Int(0)
    column_page = traitlets.Int(0)
    value_page = traitlets.Int(0)
    run_page = traitlets.Int(0)

    def __init__(  # noqa: PLR0913 - keyword options
        self,
        source: Any,
        *,
        rows: str = "field",
        columns: str | None = None,
        measure: str = "score",
        dataset: Dataset | TableDataset | None = None,
        name: str | None = None,
        annotations: Annotations | str | Path | None = None,
    ) -> None:
        self._coded = model.Coded(source)
        if columns is None:  # the first that has several items
            sizes = {axis: found.size for axis, found in self._coded.axes.items()}
            is_sparse = sizes["document"] < _DENSE * self._coded.schemas.size
            order = ("run", "document") if is_sparse and sizes["run"] > 1 else ("document", "run")
            free = [axis for axis in (*order, "field") if axis != rows]
            columns = next((axis for axis in free if sizes[axis] > 1), free[0])
        if rows == columns:
            raise InputError(
                f"rows and columns are both {rows!r}; choose two of {list(model.AXES)}"
            )
        self._counted = False  # whether the values are those of a count
        given: Any = dataset  # documents with pages, or those that tables were built from
        self._dataset: Dataset | None = given if hasattr(given, "pdf_path") else None
        self._tasks: TableDataset | None = given if hasattr(given, "disagreements") else None
        if not isinstance(annotations, Annotations):
            annotations = Annotations(annotations)
        self._annotations = annotations
        is_frame = isinstance(self._coded.source, pd.DataFrame)
        called = checked_name(name or ("fields" if is_frame else "evs"))
        self._source_name = called
        self._frame_name = called if is_frame else f"{called}.fields"
        self._whole: int | None = None
        self._said, self._reveals = "", 0
        self._outputs: dict[tuple[str, str], Evaluation | TableComparison] = {}
        self._output: tuple[str, str] | None = None
        self._grid: model.Grid | None = None
        self._drawn_grid: tuple[model.Grid | None, str, Node] = None, "", h("div")
        try:
            self.rows, self.columns, self.measure = rows, columns, measure
        except traitlets.TraitError as error:
            raise InputError(str(error)) from None
        self.modes_by = "run" if self._coded.axes["run"].size > 1 else "mismatch"
        self._places = model.kept(self._coded, self)
        self._filter()
        # before the observer that draws
        self.observe(self._rechosen, list(_TRAITS))
        self.observe(self._turned, _PAGES[:2])
        self.observe(self._reselected, "selected_block")
        self.observe(self._cell_set, "selected_cell")
        super().__init__()

    # --- what can be assigned -------------------------------------------------------------------

    @property
    def _axes(self) -> tuple[str, str]:
        return self.rows, self.columns

    @traitlets.validate(
        *("rows", "columns", "measure", "row_order", "column_order", "schema", "run"),
        *("compare", "wrong_in", "right_in", "modes_by", *model.ASKED),
    )
    def _known_name(self, proposal: Any) -> str | None:
        trait, value = proposal["trait"].name, proposal["value"]
        runs = self._coded.axes["run"].names
        names: dict[str, Iterable[str]] = {
            **dict.fromkeys(("rows", "columns"), model.AXES),
            **dict.fromkeys(("row_order", "column_order"), model.ORDERS),
            **dict.fromkeys(("run", "wrong_in", "right_in"), runs),
            "measure": model.MEASURES,
            "schema": self._coded.schemas.names,
            "compare": model.COMPARISONS,
            "modes_by": model.MODES,
        }
        if value is None or trait in model.ASKED:
            return value and known(trait, value, self._coded.columns[trait].names)
        return known(trait, value, names[trait])

    @traitlets.validate("among")
    def _known_item(self, proposal: Any) -> tuple[str, ...]:
        among = proposal["value"]
        if not among:
            return ()
        if len(among) != len(("column", "name")):
            raise traitlets.TraitError(f"among is (column, name) or empty; found {among!r}")
        column = known("among", among[0], model.MODES)
        return column, known(column, among[1], self._coded.columns[column].names)

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
        return name if isinstance(name, str) and name in places else known(axis, name, places)

    # --- what follows from it --------------------------------------------------------------------

    @contextmanager
    def _undrawn(self) -> Iterator[None]:
        """Let other traits follow; the observer that comes last draws."""
        self._changes += 1
        try:
            yield
        finally:
            self._changes -= 1

    def _rechosen(self, change: Any) -> None:
        name = change["name"]
        with self._undrawn():
            if self.rows == self.columns:
                self.set_trait("columns" if name == "rows" else "rows", change["old"])
            if name in ("rows", "columns"):
                self.selected_block = ()
            if name in _VALUE_TRAITS:
                self.value_page = 0
            elif name != "modes_by":
                self._turn_back(*_PAGES)
                self._places, self._grid = model.kept(self._coded, self), None
            self._filter()

    def _turned(self, _: Any) -> None:
        self._grid = None

    def _turn_back(self, *pages: str) -> None:
        for page in pages:
            self.set_trait(page, 0)

    def _cell_set(self, change: Any) -> None:
        cell = change["new"]
        with self._undrawn():
            if cell:
                self.selected_block = tuple((name,) for name in cell)
                self._find_page(cell)
            elif single(self.selected_block):
                self.selected_block = ()

    def _reselected(self, change: Any) -> None:
        with self._undrawn():
            self._turn_back("value_page", "run_page")
            self._whole, self._said = None, ""
            self._reveals += bool(change["new"])
            self.selected_cell = single(change["new"])
            self._filter()

    def _find_page(self, cell: tuple[str, ...]) -> None:
        grid = self._shown_grid()
        for page, side, axis, name in zip(_PAGES, grid[:2], self._axes, cell, strict=False):
            found = np.flatnonzero(side.codes == self._coded.places[axis][name])
            if len(found):
                self.set_trait(page, int(found[0] // side.most))

    def _filter(self) -> None:
        """Find the rows in chosen cells, and those whose values are listed."""
        rows, block = self._coded, self.selected_block
        self._chosen = self._places
        if block:
            codes = [
                np.array([rows.places[axis][name] for name in names])
                for axis, names in zip(self._axes, block, strict=True)
            ]
            self._chosen = model.within(rows, self._places, self, (codes[0], codes[1]))
        self._listed = model.listed(rows, self._places, self._chosen, self)

    @property
    def _is_listing(self) -> bool:
        """Whether values are listed: of chosen cells, or of what the filters of values leave."""
        return bool(self.selected_block) or any(getattr(self, trait) for trait in _VALUE_TRAITS)

    def _shown_grid(self) -> model.Grid:
        if self._grid is None:
            pages = self.row_page, self.column_page
            self._grid = model.grid(self._coded, self._places, self, pages)
        return self._grid

    # --- what the page asks for ------------------------------------------------------------------

    def do_cell(self, place: Any) -> None:
        """Choose a cell by its place on the page; place 0 is the name of a line."""
        self.do_block([*place, *place] if isinstance(place, list) else None)

    def do_block(self, corners: Any) -> None:
        """Choose the cells between two places; from a name on, whole lines of all pages."""
        if not isinstance(corners, list) or [type(at) for at in corners] != [int] * 4:
            return
        grid = self._shown_grid()
        top, left, bottom, right = corners
        codes = []
        for side, (one, two) in zip(grid[:2], ((top, bottom), (left, right)), strict=True):
            first, last = sorted((one, two))
            lines = side.lines[max(0, first - 1) : max(0, last)]
            codes.append(np.array([line.code for line in lines], dtype=np.int64))
        if top == 0 or left == 0:
            whole = 1 if left == 0 and top != 0 else 0
            if not len(codes[1 - whole]):
                return
            line, across = (self._coded.axes[axis] for axis in self._axes[:: 1 if whole else -1])
            of_line = np.isin(line.codes[self._places], codes[1 - whole])
            codes[whole] = np.unique(across.codes[self._places[of_line]])
        if len(codes[0]) and len(codes[1]):
            if self._counted:  # the filters of a count are not of other cells
                self.do_all(None)
            self.selected_block = tuple(
                tuple(self._coded.axes[axis].names[code] for code in found)
                for axis, found in zip(self._axes, codes, strict=True)
            )

    def do_clear(self, _: Any) -> None:
        """Choose no cell, and list no values."""
        self.selected_block = ()
        self.do_all(None)

    def do_unfiltered(self, _: Any) -> None:
        """Remove the filters of what the heatmap shows."""
        with self.hold_trait_notifications():
            self.schema = self.run = None
            self.find, self.failed_by_every_run, self.valid_only = "", False, False

    def do_all(self, _: Any) -> None:
        """Remove the filters of the values."""
        self._counted = False
        for trait in _VALUE_TRAITS:
            self.set_trait(trait, self.traits()[trait].default())

    def do_whole(self, key: Any) -> None:
        """Show all of the values of one path."""
        self._whole = key if type(key) is int else None

    def do_pick(self, picked: Any) -> None:
        """Set a trait to the name at a place, or to none."""
        axes = {**self._coded.columns, **dict.fromkeys(_RUN_TRAITS, self._coded.axes["run"])}
        match picked:
            case [str(trait), at] if trait in self.settable and trait in axes:
                if at is None:
                    self.set_trait(trait, self.traits()[trait].default())
                elif type(at) is int and 0 <= at < axes[trait].size:
                    self.set_trait(trait, axes[trait].names[at])

    def do_mode(self, mode: Any) -> None:
        """List the rows of a count: places of its reason, its metric and the name of its column."""
        if mode is None:
            self.among = ()
        if not isinstance(mode, list) or len(mode) != len(("reason", "metric", "name")):
            return
        axes = [self._coded.columns[name] for name in ("reason", "metric", self.modes_by)]
        if not all(
            at is None or (type(at) is int and 0 <= at < axis.size)
            for at, axis in zip(mode, axes, strict=True)
        ):
            return
        reason, metric, name = (
            "" if at is None else axis.names[at] for at, axis in zip(mode, axes, strict=True)
        )
        self.reason, self.metric, self.failures_only = reason, metric, True
        self.among = (self.modes_by, name) if name else ()
        self._counted = True
        self._reveals += 1

    def do_open(self, asked: Any) -> None:
        """Show the output, the matched items or the page of a row in place of this view."""
        if isinstance(asked, list) and len(asked) == len(("kind", "row")):
            kind, at = asked
            if type(at) is int and 0 <= at < len(self._coded) and kind in _OPENED:
                row = self._coded.frame.iloc[at]
                run, document = (
                    self._coded.axes[axis].names[self._coded.axes[axis].codes[at]]
                    for axis in ("run", "document")
                )
                self._open_output(run, document)
                side = "predicted" if row["predicted_state"] == "present" else "gold"
                of_side = kind == "evidence" and side == "predicted"
                path = model.text_of(row.get("predicted_path" if of_side else "path"))
                place = {"path": path or model.text_of(row["path"]), "side": side}
                self._step(kind, place | {"cell": model.cell_of(row)})

    # --- views of one output ---------------------------------------------------------------------

    def _open_output(self, run: str, document: str) -> None:
        self._said = ""
        output = run, document
        if output not in self._outputs:
            try:
                found = model.evaluation_of(self._coded.source, run, document)
            except ExtractBenchError as error:
                self._said, found = str(error), None
            if found is None:
                self._output = None
                self._said = self._said or "Outputs open only where evaluations are explored."
                return
            names = zip(("run", "document"), output, strict=True)
            labels = {name: value for name, value in names if value != model.NOT_GIVEN}
            self._outputs = {output: found.labelled(**labels)}
        self._output = output

    def _step(self, kind: str, state: Mapping[str, Any]) -> None:
        """Open one view of the present output; where that cannot be done, say why."""
        if self._output is None:
            return
        ev, (_, document) = self._outputs[self._output], self._output
        path = str(state.get("path") or "")
        where = " · ".join(name for name in self._output if name != model.NOT_GIVEN)
        try:
            if not isinstance(ev, Evaluation):
                self._open_tables(ev, state.get("cell"))
            elif kind == "evaluation":
                from extractbench_nb.views.evaluation_view import EvaluationView

                view: Any = EvaluationView(
                    ev, title=where, pdf=self._pdf(document), annotations=self._annotations
                )
                if path:
                    view.selected_row = path
                self.open_view(view, where or "output")
            elif kind == "matches":
                from extractbench_nb.views.matches_view import MatchesView

                view = MatchesView(ev, path, pdf=self._pdf(document))
                if state.get("pair"):
                    view.selected_pair = tuple(state["pair"])
                self.open_view(view, f"{where} {path}".strip())
            elif self._dataset is not None:
                from extractbench_nb.views.evidence_view import EvidenceView

                side = str(state.get("side") or "predicted")
                view = EvidenceView(self._dataset, document, ev, side=side)
                if path in set(view.values["path"]):
                    view.selected_path = path
                self.open_view(view, f"{where} {path} on its page".strip())
        except (ExtractBenchError, traitlets.TraitError) as error:
            self._said = one_line(str(error), 400)

    def _open_tables(self, comparison: TableComparison, cell: Any) -> None:
        from extractbench_nb.views.construction_view import ConstructionView

        run, document = self._output or ("", "")
        task = None if self._tasks is None else self._tasks[document]
        code = f"{self._source_name}.comparison({run!r}, {document!r})"
        view = ConstructionView(comparison, documents=task, name=code)
        if cell:
            view.selected = cell
        self.open_view(view, f"{run} · {document}")

    def _pdf(self, document: str) -> Path | None:
        try:
            return None if self._dataset is None else self._dataset.pdf_path(document)
        except ExtractBenchError:
            return None

    @property
    def location(self) -> dict[str, Any]:
        """What is shown, as JSON values: assign it to a view to open it at the same place."""
        state = {
            name: getattr(self, name)
            for name in _STATE
            if getattr(self, name) != self.traits()[name].default()
        }
        found: dict[str, Any] = {
            name: _as_json(value) for name, value in state.items() if name not in ("", None)
        }
        if self.trail and self._output is not None:
            found["output"] = list(self._output)
            found["trail"] = [
                {"view": view.kind, **_place_of(view)}
                for view in self.trail
                if view.kind in _OPENED
            ]
        return found

    @location.setter
    def location(self, place: Mapping[str, Any]) -> None:
        unknown = set(place) - {*_STATE, "output", "trail"}
        if unknown:
            raise InputError(f"location: {nearest(min(unknown), [*_STATE, 'output', 'trail'])}")
        with self.changing():
            self.back(0)
            axes = place.get("rows", "field"), place.get("columns", "document")
            if self.rows == axes[1] or self.columns == axes[0]:
                self.rows, self.columns = axes[0], next(a for a in model.AXES if a not in axes)
            self.rows, self.columns = axes
            for name in _STATE[:-1]:
                if name not in ("rows", "columns"):
                    value = place.get(name, self.traits()[name].default())
                    self.set_trait(name, tuple(value) if name == "among" else value)
            self.selected_block = tuple(tuple(names) for names in place.get("selected_block", ()))
            if self.selected_cell:
                self._find_page(self.selected_cell)
            if place.get("output"):
                self._open_output(*map(str, place["output"]))
                for step in place.get("trail", ()):
                    self._step(step["view"], step)

    # --- what is shown ---------------------------------------------------------------------------

    def draw(self) -> dict[str, Node]:
        """Draw controls, heatmap, values and failure modes; the heatmap, when it has changed."""
        grid = self._shown_grid()
        if self._drawn_grid[0] is not grid:
            drawn = heatmap(grid, self) if grid.cells else h("div")
            self._drawn_grid = (
                grid,
                headline(self._coded, self._places, self),
                drawn,
            )
        sides = [set(names) for names in self.selected_block]
        chosen = [
            [at for at, line in enumerate(side.lines, 1) if axis.names[line.code] in names]
            for side, names, axis in zip(
                grid[:2], sides, (self._coded.axes[name] for name in self._axes), strict=False
            )
        ]
        box = part(
            "grid",
            cls="xb-box",
            keys="grid",
            do="cell",
            drag="block",
            escape="clear",
            chosen=json.dumps(chosen),
            scroll=True,
        )
        pagers = [self._pager(*of) for of in zip(_PAGES, grid[:2], self._axes, strict=False)]
        hints = legend(grid, self), _static_notes(grid, self)
        heat = h("section", ui.toolbar(pagers) if any(pagers) else None, box, hints, cls="xb-map")
        body = h(
            "div",
            heat if grid.cells else h("p", empty(self._coded, self), cls="xb-empty xb-map"),
            part("values", "section", cls="xb-values", reveal=str(self._reveals or "")),
            part("modes", "section", cls="xb-modes"),
            cls="xb-parts",
        )
        page = h(
            "div",
            self._tools(),
            h("p", self._drawn_grid[1], role="status", cls="xb-headline"),
            h("p", chosen_text(self), static=True),
            body,
        )
        values, modes = self._drawn_values(), self._drawn_modes()
        return {"page": page, "grid": self._drawn_grid[2], "values": values, "modes": modes}

    def _tools(self) -> Node:
        axes = {name: f"{name}s" for name in model.AXES}
        rows = self._coded
        return ui.toolbar(
            ui.menu("Rows", "set:rows", axes, self.rows),
            ui.menu("Columns", "set:columns", axes, self.columns),
            ui.menu("Show", "set:measure", model.MEASURES, self.measure),
            ui.menu("Sort rows", "set:row_order", model.ORDERS, self.row_order),
            ui.menu("Sort columns", "set:column_order", model.ORDERS, self.column_order),
            ui.search("Field", "set:find", self.find, "part of a field's name"),
            self._names("Schema", "schema", rows.schemas),
            self._names("Run", "run", rows.axes["run"]),
            ui.check("failed by every run", "set:failed_by_every_run", self.failed_by_every_run),
            ui.check("rows not counted too", "set:inside_arrays", self.inside_arrays),
            ui.check("without invalid outputs", "set:valid_only", self.valid_only),
            ui.button("Clear filters", "unfiltered") if model.filters_in_words(self) else None,
        )

    def _names(self, label: str, trait: str, axis: model.Axis) -> Node | None:
        """Make a menu of names, which are sent by their places."""
        if axis.size < len(("one", "another")):
            return None
        chosen = getattr(self, trait)
        at = None if chosen in (None, "") else axis.names.index(chosen)
        texts = {(trait, None): "all"} | {
            (trait, code): ui.shortened(axis.labels[code], _LONGEST_LABEL)
            for code in sorted(range(axis.size), key=axis.labels.__getitem__)[:_MOST_OPTIONS]
        }
        return ui.menu(label, "pick", texts, (trait, at))

    def _pager(self, trait: str, side: model.Side, noun: str) -> Node | None:
        total = len(side.codes)
        if side.page.pages == 1 and total < side.known:
            return h("span", f"{total:,} of {plural(side.known, noun)} with these fields")
        return ui.pager(side.page, f"set:{trait}", f"{noun}s")

    # --- values -----------------------------------------------------------------------------------

    def _title(self) -> str:
        sides = " × ".join(
            ui.shortened(names[0], _LONGEST_NAME) if len(names) == 1 else plural(len(names), axis)
            for names, axis in zip(self.selected_block, self._axes, strict=False)
        )
        what = sides or "All cells"
        if not len(self._listed):
            return f"{what}: nothing here, or the filters leave nothing."
        failing = int((~self._coded.passed[self._listed]).sum())
        return f"{what}: {failing:,} of {plural(len(self._listed), 'row')} not passed"

    def _value_tools(self) -> Node:
        rows = self._coded
        runs = rows.axes["run"]
        modes = self.among and f"{self.among[0]} {ui.shortened(self.among[1], _LONGEST_LABEL)}"
        several = runs.size > 1
        code = self.code
        return ui.toolbar(
            ui.search("Find in values", "set:text", self.text, "path or value"),
            ui.check("failures only", "set:failures_only", self.failures_only),
            [self._names(n.capitalize(), n, rows.columns[n]) for n in model.ASKED],
            ui.menu("Paths", "set:compare", model.COMPARISONS, self.compare) if several else None,
            self._names("Wrong in", "wrong_in", runs) if several else None,
            self._names("Right in", "right_in", runs) if several else None,
            ui.button(f"✕ {modes}", "mode", None, aria_label=f"Not only {modes}")
            if modes
            else None,
            ui.button("Clear", "clear", aria_label="Clear selection and filters of values"),
            ui.copy("Copy pandas", code) if len(code) <= _LONGEST_COPY else None,
        )

    def _drawn_values(self) -> Node:
        rows = self._coded
        if not self._is_listing:
            return h("p", _HINT if len(self._places) else "", cls="xb-quiet", live=True)
        keys = model.ordered_keys(rows, self._places, self._listed)
        page = ui.page_of(len(keys), self.value_page, KEYS_A_PAGE)
        shown: model.Numbers = page.of(keys)
        wanted = np.zeros(rows.keys.max(initial=-1) + 1, dtype=bool)
        wanted[shown] = True
        places = self._places[wanted[rows.keys[self._places]]]
        runs, across = self._run_page()
        records: defaultdict[tuple[int, int], list[_Row]] = defaultdict(list)
        firsts: dict[int, _Row] = {}
        table: list[Any] = rows.frame.iloc[places].to_dict("records")
        for at, record in zip(places.tolist(), table, strict=True):
            key = int(rows.keys[at])
            records[key, int(rows.axes["run"].codes[at])].append((at, record))
            firsts.setdefault(key, (at, record))
        names = rows.axes["run"].names
        heads = [
            ui.shortened(names[run], _LONGEST_LABEL) if rows.axes["run"].given else "predicted"
            for run in runs
        ]
        body = [
            self._value_row(int(key), firsts[int(key)], [records[int(key), run] for run in runs])
            for key in shown
        ]
        links = self._can_open or self._dataset is not None
        drawn = ui.table(("path", "gold", *heads), h("tbody", body))
        box = h(
            "div",
            drawn if body else None,
            cls="xb-list",
            keys="list" if links else None,
            tabindex=None if links else 0,
            role=None if links else "region",
            aria_label=None if links else "Values",
            scroll=True,
        )
        return h(
            "div",
            h("p", h("b", self._title()), role="status", cls="xb-values-title"),
            h("p", self._said, cls="xb-bad", role="alert") if self._said else None,
            self._value_tools(),
            ui.toolbar(
                ui.pager(page, "set:value_page", "paths"), ui.pager(across, "set:run_page", "runs")
            )
            if max(page.pages, across.pages) > 1
            else None,
            h("p", self._values_text(), static=True) if self._values_text() else None,
            box,
            ui.more(page.total - page.last, "paths", static=True),
        )

    def _values_text(self) -> str:
        parts = [getattr(self, name).replace("_", " ") for name in model.ASKED]
        parts += [" ".join(self.among), model.COMPARISONS[self.compare] if self.compare else ""]
        parts += ["failures only" if self.failures_only else ""]
        parts += [f"wrong in {self.wrong_in}" if self.wrong_in else ""]
        parts += [f"right in {self.right_in}" if self.right_in else ""]
        parts += [f"with {self.text.strip()!r}" if self.text.strip() else ""]
        shown = ", ".join(one_line(name, _LONGEST_NAME) for name in parts if name)
        return f"Only: {shown}." if shown else ""

    def _run_page(self) -> tuple[list[int], ui.Page]:
        """Return the runs that are beside each other: first those that are asked for."""
        codes = self._coded.axes["run"].codes
        asked = [run for run in (self.wrong_in, self.right_in) if run is not None]
        first = [self._coded.axes["run"].names.index(run) for run in asked]
        chosen = np.unique(codes[self._chosen]).tolist()
        ordered = list(dict.fromkeys([*first, *chosen, *np.unique(codes[self._places]).tolist()]))
        page = ui.page_of(len(ordered), self.run_page, RUNS_A_PAGE)
        return page.of(ordered), page

    def _value_row(self, key: int, first: _Row, cells: Sequence[Sequence[_Row]]) -> Node:
        at, row = first
        documents = self._coded.axes["document"]
        long = key == self._whole
        alone = len(cells) == 1 and bool(cells[0])
        beside = cells[0][0][1] if alone else {**row, "predicted": row["gold"]}
        beside = beside if alone else {**beside, "predicted_state": row["gold_state"]}
        gold, _, whole = model.value_sides(beside, long=long)
        drawn = []
        for found in cells:
            if not found:
                drawn.append(h("td", "·", cls="xb-quiet"))
                continue
            _, predicted, is_whole = model.value_sides(found[0][1], long=long)
            whole = whole and is_whole
            drawn.append(self._run_cell(found, predicted, long=long))
        path = one_line(model.text_of(row["path"]), _LONGEST_PATH)
        document = ui.shortened(documents.names[documents.codes[at]], _LONGEST_LABEL)
        metrics = dict.fromkeys(
            model.text_of(record["metric"]) for found in cells for _, record in found
        )
        about = [document if documents.size > 1 else "", *metrics]
        quiet = " · ".join(one_line(text, _LONGEST_LABEL) for text in about if text)
        label = f"Show all of {path}"
        more = ui.button("Show all", "whole", key, aria_label=label, item=True, cls="xb-link")
        return h(
            "tr",
            h(
                "th",
                h("span", path, cls="xb-value", dir="auto"),
                h("br"),
                h("span", quiet, cls="xb-quiet", dir="auto"),
                scope="row",
            ),
            h(
                "td",
                h("div", ui.segments(gold), cls="xb-value", dir="auto"),
                None if whole or long else [more, " "],
                None
                if isinstance(row["gold"], list | tuple)
                else self._page_link(at, "See gold's value on its page"),
            ),
            drawn,
            key=key,
        )

    def _run_cell(self, found: Sequence[_Row], value: Sequence[Segment], *, long: bool) -> Node:
        at, row = found[0]
        axes = self._coded.axes
        output = [axes[name].names[axes[name].codes[at]] for name in ("run", "document")]
        path = model.text_of(row["path"])
        is_array = any(isinstance(row[side], list | tuple) for side in ("gold", "predicted"))
        items = self._coded.arrays.get((output[0], output[1], path)) if is_array else None
        counts = [(n, c) for n, c in zip(model.ITEMS, items or (), strict=False) if c]
        verdicts = []
        for place, record in found:
            outcome = model.text_of(record["outcome"])
            given: Any = record["score"]
            words = [score_text(None if given is None or given is pd.NA else float(given))]
            words += [] if len(found) == 1 else [model.text_of(record["metric"])]
            if outcome not in _PASSES:
                detail = model.text_of(record.get("mismatch"))
                words += [
                    name.replace("_", " ") for name in (model.text_of(record["reason"]), detail)
                ]
            words.append(accepted_text(record.get("accepted_as"), _LONGEST_LABEL))
            said = " · ".join(one_line(text, _LONGEST_LABEL) for text in words if text)
            verdict = self._link(ui.mark(outcome), "evaluation", place, "Open this output here")
            verdicts.append(h("div", verdict, " ", said, " ", cls="xb-verdict"))
        links = [
            self._link("matches", "matches", at, "See which items were paired") if counts else None,
            " ",
            None if is_array else self._page_link(at, "See the value on its page"),
        ]
        reasoning = one_line(
            model.text_of(row["reasoning"]), model.LONGEST if long else _LONGEST_PATH
        )
        return h(
            "td",
            h("div", ui.segments(value), cls="xb-value", dir="auto"),
            h("div", ui.bar(counts), h("span", ui.counts_text(counts), live=True))
            if counts
            else None,
            verdicts,
            h("div", links) if any(isinstance(link, Node) for link in links) else None,
            h("div", reasoning, cls="xb-quiet", dir="auto") if reasoning else None,
        )

    @property
    def _can_open(self) -> bool:
        return not isinstance(self._coded.source, pd.DataFrame)

    def _link(self, content: Node | str, kind: str, at: int, title: str) -> Node | None:
        """Make what opens another view; without evaluations, it is only a text."""
        if not self._can_open:
            return content if isinstance(content, Node) else None
        keep = isinstance(content, Node)
        about = {"title": title, "item": True, "cls": "xb-link", "keep": keep or None}
        return ui.button(content, "open", [kind, at], **about)

    def _page_link(self, at: int, title: str) -> Node | None:
        return self._link("page", "evidence", at, title) if self._dataset is not None else None

    # --- failure modes ----------------------------------------------------------------------------

    def _drawn_modes(self) -> Node:
        rows, what = self._coded, "Selection" if self.selected_block else "All that is shown"
        found = model.modes(rows, self._chosen, self.modes_by)
        offered = {n: text for n, text in model.MODES.items() if n in rows.frame.columns}
        title = f"{what}: {plural(len(self._chosen), 'row')}, {found.totals[0]:,} not passed"
        axis = rows.columns[self.modes_by]
        heads = [ui.shortened(axis.labels[code], _LONGEST_HEAD) for code in found.columns]
        lines = [(None, None, found.totals), *found.lines]
        body = [
            h(
                "tr",
                self._mode_name(reason, metric),
                [
                    self._mode_cell((reason, metric, code), n, total, at, across)
                    for across, (code, n, total) in enumerate(
                        zip((None, *found.columns), counts, found.totals, strict=True)
                    )
                ],
            )
            for at, (reason, metric, counts) in enumerate(lines)
        ]
        label = f"Rows that do not pass, by reason and {model.MODES[self.modes_by]}"
        heads = ["reason · metric", "all", *heads]
        table = ui.table(heads, h("tbody", body), role="grid", aria_label=label)
        left_out = [
            f"{found.more_lines:,} more reasons" if found.more_lines else "",
            f"more columns: {found.more_columns:,}" if found.more_columns else "",
        ]
        said = ", ".join(text for text in left_out if text)
        return h(
            "div",
            h("p", h("b", title)),
            ui.toolbar(ui.menu("Failures by", "set:modes_by", offered, self.modes_by)),
            h("div", table, keys="grid", cls="xb-mode-grid") if found.totals[0] else None,
            h("p", f"… {said}", cls="xb-quiet") if said else None,
        )

    def _mode_name(self, reason: int | None, metric: int | None) -> Node:
        if reason is None or metric is None:
            return h("th", h("b", "all"), scope="row")
        names = (
            self._coded.columns[n].names[c] for n, c in (("reason", reason), ("metric", metric))
        )
        why, how = (one_line(name.replace("_", " "), _LONGEST_LABEL) for name in names)
        return h("th", why, h("span", f" · {how}", cls="xb-quiet"), scope="row")

    def _mode_cell(
        self, mode: tuple[int | None, int | None, int | None], n: int, total: int, at: int, to: int
    ) -> Node:
        """Draw a count and its share of its column; it lists its rows."""
        if not n:
            return h("td", "·", cls="xb-quiet", item=True, row=at, column=to)
        share = h("span", f" {100 * n / total:.0f}%", cls="xb-quiet")
        return h(
            "td", f"{n:,}", share, do="mode", send=list(mode), item=True, row=at, column=to,
            cls="xb-num xb-link", aria_selected=str(mode == self._mode()).lower(),
        )  # fmt: skip

    def _mode(self) -> tuple[int | None, int | None, int | None] | None:
        """Return the count whose rows are listed, as codes."""
        if not self.failures_only:
            return None
        columns = self._coded.columns
        reason, metric = (
            columns[name].names.index(wanted) if wanted else None
            for name, wanted in (("reason", self.reason), ("metric", self.metric))
        )
        if self.among and self.among[0] != self.modes_by:
            return None
        name = columns[self.modes_by].names.index(self.among[1]) if self.among else None
        return reason, metric, name

    # --- results ----------------------------------------------------------------------------------

    @property
    def annotations(self) -> pd.DataFrame:
        """What was decided about fields in opened outputs; see `xb.gold.Annotations`."""
        return self._annotations.frame

    @property
    def selection(self) -> pd.DataFrame:
        """The rows of `fields` in the chosen cells that the filters of values leave.

        All rows that are shown, where no cell is chosen; with their index.
        """
        return own_copy(self._coded.given.iloc[np.sort(self._listed)])

    @property
    def code(self) -> str:
        """An expression of one line that gives `selection`."""
        return model.selection_code(
            self._coded, self, self.selected_block, self._listed, self._frame_name
        )

    def __repr__(self) -> str:
        """Say how much there is, whatever is shown of it."""
        sizes = " · ".join(plural(self._coded.axes[name].size, name) for name in model.AXES)
        return f"Failures · {sizes} · {plural(len(self._coded), 'row')}"


_OPENED = ("evaluation", "matches", "evidence", "construction")


def _place_of(view: Any) -> dict[str, Any]:
    """Return what of an opened view its location keeps."""
    if view.kind == "matches":
        pair = view.selected_pair
        return {"path": view.path, "pair": None if pair is None else list(pair)}
    if view.kind == "evidence":
        return {"path": view.selected_path, "side": view.side}
    if view.kind == "construction":
        return {"cell": view.selected}
    return {"path": view.selected_row}


def _as_json(value: Any) -> Any:
    return [_as_json(part) for part in value] if isinstance(value, tuple) else value
