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

from extractbench_nb.core import OUTCOMES, Evaluation, find_causes
from extractbench_nb.errors import ExtractBenchError, InputError, nearest
from extractbench_nb.support.nodes import Content, Node, h
from extractbench_nb.support.pandas_helpers import own_copy
from extractbench_nb.support.wording import accepted_text, one_line, plural, ratio_text, value_text
from extractbench_nb.views import controls as ui
from extractbench_nb.views import failures_model as model
from extractbench_nb.views.static import MARKS, score_text
from extractbench_nb.views.view import View, checked_name, known, part

if TYPE_CHECKING:
    from extractbench_nb.construction import TableComparison, TableDataset
    from extractbench_nb.runs import Dataset

#: Paths on a page of the values.
KEYS_A_PAGE = 20

_LONGEST_LABEL, _LONGEST_NAME, _LONGEST_PATH = 60, 80, 200
#: Rows and columns of the heatmap that are written into static HTML.
_STATIC_ROWS, _STATIC_COLUMNS = 40, 20
#: Characters that are copied.
_LONGEST_COPY = 20_000
#: Names in a menu, and the characters of a column's name.
_MOST_OPTIONS, _LONGEST_HEAD = 400, 22
#: The place of a row of `fields`, and its cells by column.
_Row: TypeAlias = tuple[int, Mapping[str, Any]]
_PASSES = ("correct", "both_absent")
_HINT = (
    "Click a cell, or press Enter on it, for its values: gold, and every run's answer. Drag, or "
    "hold Shift with the arrow keys, for several; a name takes its whole line."
)

#: A line without the sign may be 0 too: no row of it has a value in gold.
_FAILED_BY_ALL = "failed by every run; without it, a field of 0 has no value in gold"
#: The sign of an output that is not JSON.
INVALID = "⊘"


# --- words ----------------------------------------------------------------------------------------


def totals(
    rows: model.Coded, places: model.Numbers, choice: model.Choice
) -> tuple[str, Content, str]:
    """Return the pass rate of what is shown, its cause, and what there is; or a difference."""
    if not len(places):
        return "n/a", None, ""
    counts = [plural(len(np.unique(rows.axes[name].codes[places])), name) for name in model.AXES]
    outputs = np.unique(rows.outputs.codes[places])
    invalid = int(rows.outputs.invalid[outputs].sum())
    failed = int(model.failed_by_every_run(rows, places).sum())
    is_part = choice.inside_arrays or model.filters_in_words(choice)
    inside = 0 if is_part else int((~rows.counted).sum())
    counts += [
        f"{invalid:,} of {plural(len(outputs), 'output')} invalid: all their fields fail"
        if invalid
        else "",
        f"{plural(failed, 'field')} failed by every run" if failed else "",
        f"{plural(inside, 'row')} not counted" if inside else "",
    ]
    about = " · ".join(filter(None, counts))
    if choice.pair is None:
        sums = model.counted(rows, places, np.zeros(len(places), dtype=np.int64), 1)
        mean = ratio_text(float(sums.mean_score[0]))
        of = f"mean score {mean} of {plural(len(outputs), 'output')}"
        shown = rows.frame.iloc[places]
        found = find_causes(shown if "weight" in shown else shown.assign(weight=1.0))
        return ratio_text(found.score), ui.because(found.text) or "pass rate", f"{of} · {about}"
    ends = []
    places = model.kept(rows, choice, compared=False)  # also of what is the same
    for name in choice.pair:
        own = places[rows.sides.codes[places] == rows.sides.names.index(name)]
        sums = model.counted(rows, own, np.zeros(len(own), dtype=np.int64), 1)
        ends.append(float(sums.mean_score[0]))
    marked = model.verdicts(rows, places, choice)
    gained, lost = (int(marked[name].sum()) for name in ("gained", "lost"))
    a, b = (one_line(name, _LONGEST_LABEL) for name in choice.pair)
    said = (
        f"{ratio_text(ends[0])} {a} → {ratio_text(ends[1])} {b}: "
        f"{plural(gained, 'value')} gained, {lost:,} lost."
    )
    return change_text(ends[1] - ends[0], 3), said, about


def change_text(value: float, digits: int = 2) -> str:
    """Write a difference with its sign.

    Examples
    --------
    >>> [change_text(value) for value in (0.5, -0.001, 0.0, float("nan"))]
    ['+0.50', '−0.00', '0', '·']
    """
    if np.isnan(value):
        return "·"
    return "0" if value == 0 else f"{value:+.{digits}f}".replace("-", "−")


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
    cells = model.MEASURES[choice.measure]
    cells += "" if choice.pair is None else f", {choice.pair[1]} less {choice.pair[0]}"
    return f"{rows} {columns} Cells: {one_line(cells, 200)}.{inside}{filters}"


def single(block: model.Block) -> tuple[str, ...]:
    """Return row and column of a block of one cell; nothing for any other block."""
    is_cell = bool(block) and all(len(names) == 1 for names in block)
    return tuple(names[0] for names in block) if is_cell else ()


# --- the heatmap ----------------------------------------------------------------------------------


def shade(value: float) -> str:
    """Return the class of a score's colour; only an exact 0 and an exact 1 are at the ends."""
    return f"xb-s{0 if value <= 0 else 10 if value >= 1 else 1 + min(8, int(value * 9))}"


#: Differences above which the colour is stronger.
_CHANGES = (0.1, 0.4)


def change_shade(value: float) -> str:
    """Return the class of a difference's colour: of a loss or a gain, in three steps."""
    if np.isnan(value) or value == 0:
        return "xb-absent"
    step = 1 + sum(abs(value) > bound for bound in _CHANGES)
    return f"xb-{'gain' if value > 0 else 'loss'}{step}"


def _cell_look(
    cell: model.Cell | None, choice: model.Choice, *, changes: bool
) -> tuple[str, list[Any], str]:
    if cell is None:
        return "xb-absent", ["·"], ""
    says = f"{cell.passed} of {plural(cell.rows, 'row')} pass, {cell.most} {cell.outcome}"
    if cell.invalid == cell.rows:
        return "xb-invalid xb-s0", [INVALID], says
    sign = h("span", INVALID, static=True) if cell.invalid else None
    partly = " xb-partly" if cell.invalid else ""
    if choice.measure == "outcome":
        share = h("span", f" {cell.most}/{cell.rows}", static=True)
        return f"xb-tint xb-t-{cell.outcome}{partly}", [MARKS[cell.outcome], share, sign], says
    value = cell.score if choice.measure == "score" else cell.pass_rate
    if changes:
        return change_shade(value) + partly, [change_text(value), sign], says
    return shade(value) + partly, [score_text(value), sign], says


def _mean(line: model.Line, choice: model.Choice, compared: str, axis: str) -> str:
    value = line.pass_rate if choice.measure == "pass_rate" else line.score
    is_change = choice.pair is not None and axis != compared
    return change_text(value) if is_change else score_text(value)


def _head(line: model.Line, *, alike: bool, breaks: bool = False, **place: Any) -> Node:
    """Draw the name of a line."""
    signs = ("✗" if line.failed else "") + (INVALID if line.invalid else "")
    says = [line.title, f"schema {line.schema}" if line.schema else ""]
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


def heatmap(grid: model.Grid, choice: model.Choice, compared: str) -> Node:
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
    changes = choice.pair is not None and compared not in (choice.rows, choice.columns)
    means = [
        h("td", _mean(line, choice, compared, choice.columns), live=beyond[at])
        for at, line in enumerate(columns)
    ]
    body: list[Node] = []
    for at, (line, cells) in enumerate(zip(lines, grid.cells, strict=True), 1):
        live = at > _STATIC_ROWS or None
        drawn = []
        for across, cell in enumerate(cells, 1):
            look, content, says = _cell_look(cell, choice, changes=changes)
            drawn.append(
                h("td", content, cls=look, item=True, row=at, column=across, title=says or None,
                  live=beyond[across - 1])
            )  # fmt: skip
        name = _head(line, alike=alike[0], scope="row", row=at, column=0)
        mean = h("td", _mean(line, choice, compared, choice.rows), cls="xb-mean")
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


def legend(grid: model.Grid, choice: model.Choice, compared: str) -> Node:
    """Say what colours and signs mean; only signs that are there."""
    some = [cell for line in grid.cells for cell in line if cell is not None]

    def key(kind: str, sign: str, meaning: str) -> Node:
        return h("span", h("span", sign, cls=f"xb-swatch {kind}"), f" {meaning}; ", cls="xb-key")

    if choice.measure == "outcome":
        named = [name for name in OUTCOMES if any(cell.outcome == name for cell in some)]
        scale = [key(f"xb-tint xb-t-{n}", MARKS[n], n.replace("_", " ")) for n in named]
    elif choice.pair is not None and compared not in (choice.rows, choice.columns):
        scale = [key("xb-loss2", "−", "B is worse"), key("xb-gain2", "+", "B is better")]
    else:
        steps = [h("i", cls=f"xb-s{at}") for at in range(11)]
        ends = h("span", steps, cls="xb-scale", live=True)
        scale = [h("span", f"{model.MEASURES[choice.measure]} 0 ", ends, " to 1; ", cls="xb-key")]
    keys = [
        (
            any(None in line for line in grid.cells),
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
_PAGES = ("row_page", "column_page", "value_page")
_STATE = (*_TRAITS, *_PAGES, "selected_block")
_SIDE_TRAITS = ("a", "b")
_VALUE_TRAITS = (*model.ASKED, "among", "text", "failures_only")


class FailureExplorer(model.Choice, View):
    """Where runs fail: a heatmap, the values behind its cells, and how they fail.

    Attributes
    ----------
    a, b : str or None
        Runs to show: one of them alone, or two to compare, of which cells have B's mean less A's.
        Versions instead of runs, if the source maps versions to batches of several runs; then their
        runs are paired. None for all.
    compare : str
        Which values are shown: ``disagree``, some runs are right and some wrong; ``gained`` and
        ``lost`` between `a` and `b`; ``all_wrong``; empty for all.
    selected_cell : tuple of (str, str)
        Row and column of the chosen cell, by name; empty where none or several are chosen.
    selected_block : tuple of (tuple of str, tuple of str)
        Rows and columns of the chosen cells, by name; empty where none are chosen.
    rows, columns : str
        What has a row and what has a column: two of ``field``, ``document`` and ``run``.
    measure : str
        What the cells show: ``score``, the mean; ``pass_rate``; ``outcome``, the most frequent one.
    row_order, column_order : str
        ``worst`` first, by ``name``, or as the fields are in the ``document``. Fields that gold has
        nowhere come after the worst.
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
    modes_by : str
        What the failure modes are counted by: ``run``, ``version``, ``field``, ``document``,
        ``schema``, ``domain``, ``outcome`` or ``mismatch``.
    row_page, column_page, value_page : int
        Pages of the heatmap and of the values, from 0.
    """

    kind = "explore"
    styles = ("explore.css",)
    settable = frozenset({*_TRAITS, *_PAGES}) - {"among"}
    selected_cell = traitlets.Tuple()
    selected_block = traitlets.Tuple()
    row_page = traitlets.Int(0)
    column_page = traitlets.Int(0)
    value_page = traitlets.Int(0)

    def __init__(
        self,
        source: Any,
        *,
        rows: str = "field",
        columns: str | None = None,
        measure: str = "score",
        dataset: Dataset | TableDataset | None = None,
        name: str | None = None,
    ) -> None:
        self._coded = model.Coded(source)
        scores = getattr(source, "scores", None)
        is_whole = isinstance(scores, pd.DataFrame) and measure in set(scores.get("measure", ()))
        if is_whole and measure not in model.MEASURES:
            raise InputError(
                f"measure is {measure!r}; expected one of {', '.join(sorted(model.MEASURES))}, of "
                "rows; compare_runs and regressions take scores of whole outputs"
            )
        if columns is None:  # the first that has several items
            sizes = {axis: found.size for axis, found in self._coded.axes.items()}
            sparse = self._coded.is_sparse() and sizes["run"] > 1
            order = ("run", "document") if sparse else ("document", "run")
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
        is_frame = isinstance(self._coded.source, pd.DataFrame)
        called = checked_name(name or ("fields" if is_frame else "evs"))
        self._source_name = called
        part = "rows" if hasattr(source, "rows") and not hasattr(source, "fields") else "fields"
        self._frame_name = called if is_frame else f"{called}.{part}"
        if self._coded.versions:
            self._frame_name = (
                f"pd.concat([e.fields.assign(version=v) for v, e in {called}.items()], "
                "ignore_index=True)"
            )
        self._whole: int | None = None
        self._said, self._reveals = "", 0
        self._opened_output: tuple[tuple[str, str, str], Any] | None = None
        self._grid: model.Grid | None = None
        self._heat = h("div")
        self._totals: tuple[str, Content, str] = "", None, ""
        try:
            self.rows, self.columns, self.measure = rows, columns, measure
        except traitlets.TraitError as error:
            raise InputError(str(error)) from None
        sides = self._coded.sides
        self.modes_by = self._coded.compared if sides.size > 1 else "mismatch"
        if self._coded.versions and sides.size == len(_SIDE_TRAITS):
            self.a, self.b = sides.names
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
        *("compare", "a", "b", "modes_by", *model.ASKED),
    )
    def _known_name(self, proposal: Any) -> str | None:
        trait, value = proposal["trait"].name, proposal["value"]
        names: dict[str, Iterable[str]] = {
            **dict.fromkeys(("rows", "columns"), model.AXES),
            **dict.fromkeys(("row_order", "column_order"), model.ORDERS),
            **dict.fromkeys(_SIDE_TRAITS, self._coded.sides.names),
            "run": self._coded.axes["run"].names,
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
        column = known("among", among[0], set(model.MODES) & set(self._coded.columns))
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
                for page in _PAGES:
                    self.set_trait(page, 0)
                if (
                    name in _SIDE_TRAITS
                    and self.pair is None
                    and self.compare in ("gained", "lost")
                ):
                    self.compare = ""
                self._places, self._grid = model.kept(self._coded, self), None
            self._filter()

    def _turned(self, _: Any) -> None:
        self._grid = None

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
            self.value_page = 0
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
        self._listed = model.listed(rows, self._chosen, self)

    @property
    def _is_listing(self) -> bool:
        """Whether values are listed: of chosen cells, or of what the filters of values leave."""
        return bool(self.selected_block or self.compare) or any(
            getattr(self, trait) for trait in _VALUE_TRAITS
        )

    def _shown_grid(self) -> model.Grid:
        if self._grid is None:
            pages = self.row_page, self.column_page
            self._grid = model.grid(self._coded, self._places, self, pages)
            self._heat = (
                heatmap(self._grid, self, self._coded.compared) if self._grid.cells else h("div")
            )
            self._totals = totals(self._coded, self._places, self)
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
            self.find = self.compare = ""
            self.failed_by_every_run = self.valid_only = False

    def do_all(self, _: Any) -> None:
        """Remove the filters of the values."""
        self._counted = False
        for trait in _VALUE_TRAITS:
            self.set_trait(trait, self.traits()[trait].default())

    def do_differences(self, only: Any) -> None:
        """Show only the values that the runs differ in, or all."""
        self.compare = "disagree" if only is True else ""

    def do_whole(self, key: Any) -> None:
        """Show all of the values of one path."""
        self._whole = key if type(key) is int else None

    def do_pick(self, picked: Any) -> None:
        """Set a trait to the name at a place, or to none."""
        axes = {**self._coded.columns, **dict.fromkeys(_SIDE_TRAITS, self._coded.sides)}
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
        match asked:
            case [str(kind), int(at)] if kind in _OPENED and 0 <= at < len(self._coded):
                row = self._coded.frame.iloc[at]
                self._open_output(*self._coded.output(at))
                has_other = row["predicted_state"] == "present" and kind != "gold"
                kind, side = kind.replace("gold", "evidence"), "predicted" if has_other else "gold"
                of_side = kind == "evidence" and side == "predicted"
                path = model.text_of(row.get("predicted_path" if of_side else "path"))
                place = {"path": path or model.text_of(row["path"]), "side": side}
                self._step(kind, place | {"cell": model.cell_of(row)})

    # --- views of one output ---------------------------------------------------------------------

    def _open_output(self, version: str, run: str, document: str) -> None:
        self._said = ""
        output = version, run, document
        if self._opened_output is not None and self._opened_output[0] == output:
            return
        self._opened_output = None
        try:
            found = model.evaluation_of(self._coded.source, run, document, version)
        except ExtractBenchError as error:
            self._said = str(error)
            return
        if found is None:
            self._said = "Outputs open only where evaluations are explored."
            return
        names = {"run": run, "document": document}
        labels = {name: value for name, value in names.items() if value != model.NOT_GIVEN}
        self._opened_output = output, found.labelled(**labels)

    def _step(self, kind: str, state: Mapping[str, Any]) -> None:
        """Open one view of the present output; where that cannot be done, say why."""
        if self._opened_output is None:
            return
        output, ev = self._opened_output
        document, path = output[-1], str(state.get("path") or "")
        where = " · ".join(name for name in output if name not in ("", model.NOT_GIVEN))
        try:
            if not isinstance(ev, Evaluation):
                self._open_tables(ev, state.get("cell"))
            elif kind == "evaluation":
                from extractbench_nb.views.evaluation_view import EvaluationView

                view: Any = EvaluationView(ev, title=where, pdf=self._pdf(document))
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
                view = EvidenceView(self._dataset, document, ev, side=side, path=path)
                self.open_view(view, f"{where} {path} on its page".strip())
        except (ExtractBenchError, traitlets.TraitError) as error:
            self._said = one_line(str(error), 400)

    def _open_tables(self, comparison: TableComparison, cell: Any) -> None:
        from extractbench_nb.views.construction_view import ConstructionView

        _, run, document = self._opened_output[0] if self._opened_output else ("", "", "")
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
        state = {name: getattr(self, name) for name in _STATE}
        found = {
            name: _as_json(value)
            for name, value in state.items()
            if value != self.traits()[name].default()
        }
        if self.trail and self._opened_output is not None:
            output = self._opened_output[0]
            found["output"] = [*output[1:], *filter(None, output[:1])]
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
                run, document, *version = map(str, place["output"])
                self._open_output("".join(version), run, document)
                for step in place.get("trail", ()):
                    self._step(step["view"], step)

    # --- what is shown ---------------------------------------------------------------------------

    def draw(self) -> dict[str, Node]:
        """Draw what is compared, the heatmap, and beside it values or failure modes."""
        grid, rows = self._shown_grid(), self._coded
        chosen = [
            [at for at, line in enumerate(side.lines, 1) if axis.names[line.code] in set(names)]
            for side, names, axis in zip(
                grid[:2], self.selected_block, (rows.axes[n] for n in self._axes), strict=False
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
        hints = legend(grid, self, rows.compared), _static_notes(grid, self)
        heat = [box, ui.toolbar(pagers) if any(pagers) else None, hints]
        nothing = h("p", empty(rows, self), cls="xb-empty")
        values = part("values", "section", cls="xb-values", reveal=str(self._reveals or ""))
        detail = [values, part("modes", "section", cls="xb-modes")]
        value, said, about = self._totals
        page = h(
            "div",
            self._tools(),
            ui.headline(value, said),
            h("p", about, cls="xb-quiet") if about else None,
            h("p", chosen_text(self), static=True),
            ui.split(heat if grid.cells else nothing, detail),
        )
        modes = self._drawn_modes()
        return {"page": page, "grid": self._heat, "values": self._drawn_values(), "modes": modes}

    def _tools(self) -> Node:
        axes = {name: f"{name}s" for name in model.AXES}
        rows = self._coded
        differ, several = self.compare == "disagree", rows.sides.size > 1
        comparisons = {
            name: words
            for name, words in model.COMPARISONS.items()
            if name not in ("gained", "lost") or self.pair is not None
        }
        noun = rows.compared
        return ui.toolbar(
            self._names(f"A {noun}", "a", rows.sides),
            self._names(f"B {noun}", "b", rows.sides, "–"),
            ui.check("differences only", "differences", differ) if several else None,
            ui.filters(
                len(model.filters_in_words(self)),
                ui.search("Field", "set:find", self.find, "part of a field's name"),
                self._names("Schema", "schema", rows.schemas),
                self._names("Run", "run", rows.axes["run"]) if rows.versions else None,
                ui.menu("Values", "set:compare", comparisons, self.compare) if several else None,
                ui.check(
                    "failed by every run", "set:failed_by_every_run", self.failed_by_every_run
                ),
                ui.check("rows not counted too", "set:inside_arrays", self.inside_arrays),
                ui.check("without invalid outputs", "set:valid_only", self.valid_only),
                ui.menu("Rows", "set:rows", axes, self.rows),
                ui.menu("Columns", "set:columns", axes, self.columns),
                ui.menu("Show", "set:measure", model.MEASURES, self.measure),
                ui.menu("Sort rows", "set:row_order", model.ORDERS, self.row_order),
                ui.menu("Sort columns", "set:column_order", model.ORDERS, self.column_order),
                label="Filters and layout",
            ),
            ui.button("Clear filters", "unfiltered") if model.filters_in_words(self) else None,
        )

    def _names(self, label: str, trait: str, axis: model.Axis, none: str = "all") -> Node | None:
        """Make a menu of names, which are sent by their places."""
        if axis.size < len(("one", "another")):
            return None
        chosen = getattr(self, trait)
        at = None if chosen in (None, "") else axis.names.index(chosen)
        texts = {(trait, None): none} | {
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
        rows, code = self._coded, self.code
        modes = self.among and f"{self.among[0]} {ui.shortened(self.among[1], _LONGEST_LABEL)}"
        active = sum(bool(getattr(self, name)) for name in (*model.ASKED, "text"))
        return ui.toolbar(
            ui.check("failures only", "set:failures_only", self.failures_only),
            ui.filters(
                active,
                ui.search("Find in values", "set:text", self.text, "path or value"),
                [self._names(n.capitalize(), n, rows.columns[n]) for n in model.ASKED],
                label="Filter values",
            ),
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
        keys = model.ordered_keys(rows, self._listed)
        page = ui.page_of(len(keys), self.value_page, KEYS_A_PAGE)
        shown: model.Numbers = page.of(keys)
        wanted = np.zeros(rows.keys.max(initial=-1) + 1, dtype=bool)
        wanted[shown] = True
        places = self._places[wanted[rows.keys[self._places]]]
        records: defaultdict[int, list[_Row]] = defaultdict(list)
        table: list[Any] = rows.frame.iloc[places].to_dict("records")
        for at, record in zip(places.tolist(), table, strict=True):
            records[int(rows.keys[at])].append((at, record))
        body = [self._value(int(key), records[int(key)]) for key in shown]
        box = h("div", body, cls="xb-list", keys="list", scroll=True)
        return h(
            "div",
            h("p", h("b", self._title()), role="status", cls="xb-values-title"),
            h("p", self._said, cls="xb-bad", role="alert") if self._said else None,
            self._value_tools(),
            ui.toolbar(ui.pager(page, "set:value_page", "paths")) if page.pages > 1 else None,
            h("p", self._values_text(), static=True) if self._values_text() else None,
            box if body else None,
            ui.more(page.total - page.last, "paths", static=True),
        )

    def _values_text(self) -> str:
        parts = [getattr(self, name).replace("_", " ") for name in model.ASKED]
        parts += [" ".join(self.among), "failures only" if self.failures_only else ""]
        parts += [f"with {self.text.strip()!r}" if self.text.strip() else ""]
        shown = ", ".join(one_line(name, _LONGEST_NAME) for name in parts if name)
        return f"Only: {shown}." if shown else ""

    def _value(self, key: int, found: Sequence[_Row]) -> Node:
        """Draw one path: gold, and each answer with the runs that gave it, failing ones first."""
        rows, long = self._coded, key == self._whole
        at, row = found[0]
        by_side: defaultdict[int, list[_Row]] = defaultdict(list)
        for place, record in found:
            by_side[int(rows.sides.codes[place])].append((place, record))
        answers: dict[Any, list[list[_Row]]] = {}
        for records in by_side.values():  # equal answers with equal verdicts are drawn once
            answer = [
                (model.text_of(r["metric"]), str(r["outcome"]), str(r["score"])) for _, r in records
            ]
            value = records[0][1]["predicted"]
            is_number = isinstance(value, int | float) and not isinstance(value, bool)
            value = value if is_number else value_text(value)
            state = str(records[0][1]["predicted_state"])
            answers.setdefault((value, state, *answer), []).append(records)
        ordered = sorted(answers.values(), key=lambda runs: _is_right(runs[0]))
        alone = {**row, "predicted": row["gold"], "predicted_state": row["gold_state"]}
        gold, _, whole = model.value_sides(row if len(ordered) == 1 else alone, long=long)
        drawn = []
        for runs in ordered:
            _, predicted, is_whole = model.value_sides(runs[0][0][1], long=long)
            whole = whole and is_whole
            drawn.append(self._answer(runs, predicted, long=long))
        path = one_line(model.text_of(row["path"]), _LONGEST_PATH)
        version, run, document = rows.output(at)
        metrics = dict.fromkeys(model.text_of(record["metric"]) for _, record in found)
        about = [document if rows.axes["document"].size > 1 else "", run if version else ""]
        quiet = " · ".join(one_line(text, _LONGEST_LABEL) for text in (*about, *metrics) if text)
        label = f"Show all of {path}"
        more = ui.button("Show all", "whole", key, aria_label=label, item=True, cls="xb-link")
        is_array = isinstance(row["gold"], list | tuple)
        page = None if is_array else self._page_link(at, "See gold's value on its page", "gold")
        return h(
            "div",
            h(
                "div",
                h("b", path, cls="xb-code", dir="auto"),
                h("span", f" {quiet}", cls="xb-quiet", dir="auto"),
            ),
            h(
                "div",
                h("span", "gold ", cls="xb-side"),
                h("div", ui.segments(gold), cls="xb-value", dir="auto"),
                h("div", None if whole or long else [more, " "], page),
                cls="xb-answer",
            ),
            drawn,
            key=key,
            cls="xb-path-block",
        )

    def _answer(self, runs: Sequence[Sequence[_Row]], value: Sequence[Any], *, long: bool) -> Node:
        """Draw an answer: the runs that gave it, the value, and what its metrics make of it."""
        rows, (at, row) = self._coded, runs[0][0]
        path = model.text_of(row["path"])
        is_array = any(isinstance(row[side], list | tuple) for side in ("gold", "predicted"))
        names = []
        for records in runs:
            place = records[0][0]
            name = ui.shortened(rows.sides.names[rows.sides.codes[place]], _LONGEST_LABEL)
            name = name if rows.sides.given else "predicted"
            names.append(self._link(h("span", name), "evaluation", place, "Open this output here"))
        verdicts = []
        for _, record in runs[0]:
            outcome, given = model.text_of(record["outcome"]), record["score"]
            score: Any = None if given is None or given is pd.NA else float(given)
            words = [score_text(score)]
            words += [] if len(runs[0]) == 1 else [model.text_of(record["metric"])]
            if outcome not in _PASSES:
                told = model.text_of(record["reason"]), model.text_of(record.get("mismatch"))
                words += [name.replace("_", " ") for name in told]
            words.append(accepted_text(record.get("accepted_as"), _LONGEST_LABEL))
            said = " · ".join(one_line(text, _LONGEST_LABEL) for text in words if text)
            verdicts.append(h("div", ui.mark(outcome), " ", said, cls="xb-verdict"))
        counts = []
        links: list[Any] = []
        if is_array:
            version, run, document = rows.output(at)
            items = rows.arrays.get((version, run, document, path)) or ()
            counts = [(n, c) for n, c in zip(model.ITEMS, items, strict=False) if c]
        if counts:
            links.append(self._link("matches", "matches", at, "See which items were paired"))
        elif not is_array:
            links.append(self._page_link(at, "See the value on its page", "page"))
        longest = model.LONGEST if long else _LONGEST_PATH
        reasoning = one_line(model.text_of(row["reasoning"]), longest)
        return h(
            "div",
            h("span", [(name, " ") for name in names], cls="xb-side", dir="auto"),
            h(
                "div",
                h("div", ui.segments(value), cls="xb-value", dir="auto"),
                h("div", ui.bar(counts), h("span", ui.counts_text(counts), live=True))
                if counts
                else None,
                h("div", reasoning, cls="xb-quiet", dir="auto") if reasoning else None,
            ),
            h("div", verdicts, links),
            cls="xb-answer",
        )

    @property
    def _can_open(self) -> bool:
        source = self._coded.source
        several = isinstance(source, Mapping | list | tuple | Evaluation)
        return several or hasattr(source, "evaluation") or hasattr(source, "comparison")

    def _link(self, content: Node | str, kind: str, at: int, title: str) -> Node | None:
        """Make what opens another view; without evaluations, it is only a text."""
        if not self._can_open:
            return content if isinstance(content, Node) else None
        keep = isinstance(content, Node)
        about = {"title": title, "item": True, "cls": "xb-link", "keep": keep or None}
        return ui.button(content, "open", [kind, at], **about)

    def _page_link(self, at: int, title: str, side: str) -> Node | None:
        """Make what opens the page of a value: of gold's own, or of the predicted one."""
        if self._dataset is None:
            return None
        return self._link("page", "gold" if side == "gold" else "evidence", at, title)

    # --- failure modes ----------------------------------------------------------------------------

    def _drawn_modes(self) -> Node:
        rows, what = self._coded, "Selection" if self.selected_block else "All that is shown"
        found = model.modes(rows, self._chosen, self.modes_by)
        offered = {n: text for n, text in model.MODES.items() if n in rows.columns}
        offered = {n: text for n, text in offered.items() if n in rows.frame.columns}
        title = f"{what}: {plural(len(self._chosen), 'row')}, {found.totals[0]:,} not passed"
        axis = rows.columns[self.modes_by]
        heads = [
            h(
                "th",
                h("span", _wrapped(ui.shortened(axis.labels[code], _LONGEST_HEAD))),
                scope="col",
            )
            for code in found.columns
        ]
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
        if not found.totals[0]:
            return h("div", h("p", h("b", title)))
        table = ui.table(
            ["reason · metric", "all", *heads], h("tbody", body), role="grid", aria_label=label
        )
        left_out = [
            f"{found.more_lines:,} more reasons" if found.more_lines else "",
            f"more columns: {found.more_columns:,}" if found.more_columns else "",
        ]
        said = ", ".join(text for text in left_out if text)
        return h(
            "div",
            h(
                "p",
                h("b", title),
                " ",
                ui.menu("Failures by", "set:modes_by", offered, self.modes_by),
            ),
            h("div", table, keys="grid", cls="xb-mode-grid"),
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


_OPENED = ("evaluation", "matches", "evidence", "gold", "construction")


def _is_right(records: Sequence[_Row]) -> bool:
    return all(model.text_of(record["outcome"]) in _PASSES for _, record in records)


def _wrapped(name: str) -> list[Any]:
    """Write a name that is broken between its words only."""
    first, *rest = re.split(r"(?<=[_./\-\s])", name)
    return [first, [(h("wbr"), word) for word in rest]]


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
