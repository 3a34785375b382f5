"""`FailureExplorer`: which fields fail, in which documents, for which runs."""

from __future__ import annotations

import json
import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
import traitlets

from extractbench_nb.benchmark import display_name
from extractbench_nb.core import Evaluation, find_causes
from extractbench_nb.errors import ExtractBenchError, InputError, nearest
from extractbench_nb.support.nodes import Content, Node, h
from extractbench_nb.support.pandas_helpers import is_missing, own_copy
from extractbench_nb.support.wording import accepted_text, one_line, plural, ratio_text, value_text
from extractbench_nb.views import controls as ui
from extractbench_nb.views import failures_model as model
from extractbench_nb.views.sides import MOST, beside
from extractbench_nb.views.static import score_text
from extractbench_nb.views.view import Choice, View, checked_name, known, part

if TYPE_CHECKING:
    from extractbench_nb.construction import TableDataset
    from extractbench_nb.runs import Dataset

#: Paths on a page of the values.
KEYS_A_PAGE = 20

#: Characters of names, of paths, and of values before all of them is asked for.
_LONGEST_NAME, _LONGEST_PATH, _LONGEST_VALUE = 60, 200, 300
#: Longer arrays are shown as numbers of items.
_LONGEST_ARRAY = 120
#: Characters of the name of a row, of one of many columns, and the number of columns that are few.
_ROW_NAME, _NARROW_NAME, _FEW = 34, 24, 8
_LONGEST_COPY, _MOST_OPTIONS, _MOST_CHIPS = 20_000, 400, 8
_PASSES = ("correct", "both_absent")
#: The sign of an output that is not JSON.
INVALID = "⊘"


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


def shade(value: float, *, is_change: bool) -> str:
    """Return the class of a colour; only an exact 0 and an exact 1 are at the ends of a scale."""
    if not is_change:
        return f"xb-s{0 if value <= 0 else 10 if value >= 1 else 1 + min(8, int(value * 9))}"
    if np.isnan(value) or value == 0:
        return "xb-absent"
    step = 1 + sum(abs(value) > bound for bound in (0.1, 0.4))
    return f"xb-{'gain' if value > 0 else 'loss'}{step}"


def heatmap(grid: model.Heatmap, chosen: model.Selection, compared: str) -> Node:
    """Draw the heatmap; row 0 and column 0 are names, which take their lines."""
    few = len(grid.columns) <= _FEW

    def mean(line: Any, *axes: str) -> tuple[str, str]:
        value = getattr(line, chosen.measure)
        is_change = chosen.pair is not None and compared not in axes
        return (
            change_text(value) if is_change else score_text(value),
            shade(value, is_change=is_change),
        )

    def head(name: Any, line: Any, limit: int, **place: Any) -> Node:
        first, *rest = re.split(r"(?<=[_./\-\s])", ui.shortened(name, limit))
        words = [first, [(h("wbr"), word) for word in rest]] if few else [first, *rest]
        title = f"{one_line(name, 300)}; {plural(int(line.rows), 'row')}"
        label = h("span", words, dir="auto", cls="xb-line")
        return h("th", label, item=True, title=title, **place)

    def cell(place: tuple[int, int], names: tuple[Any, Any]) -> Node:
        found = grid.cells.get(names)
        about: dict[str, Any] = {"item": True, "row": place[0], "column": place[1]}
        if found is None:
            return h("td", "·", cls="xb-absent", **about)
        text, look = mean(found, chosen.rows, chosen.columns)
        about["title"] = f"{found.passed:,} of {plural(int(found.rows), 'row')} pass"
        if found.invalid == found.rows:
            return h("td", INVALID, cls=f"xb-invalid {look}", **about)
        return h("td", text, cls=look, **about)

    lines, columns = (list(side.itertuples()) for side in grid[:2])
    width = _LONGEST_NAME if few else _NARROW_NAME
    heads = [
        head(line.Index, line, width, scope="col", row=0, column=at)
        for at, line in enumerate(columns, 1)
    ]
    means = [h("td", mean(line, chosen.columns)[0]) for line in columns]
    body = [
        h(
            "tr",
            head(line.Index, line, _ROW_NAME, scope="row", row=at, column=0),
            h("td", mean(line, chosen.rows)[0], cls="xb-mean"),
            [cell((at, n), (line.Index, name.Index)) for n, name in enumerate(columns, 1)],
            key=at,
        )
        for at, line in enumerate(lines, 1)
    ]
    corner = h("td", f"{chosen.rows} \\ {chosen.columns}", cls="xb-corner")
    everything = h("tr", h("td", "all", cls="xb-corner"), h("td"), means, cls="xb-means")
    return h(
        "table",
        h("thead", h("tr", corner, h("td", "all", cls="xb-mean"), heads)),
        h("tbody", everything, body),
        cls=f"xb-heat {'xb-few' if few else 'xb-many'}",
        role="grid",
        aria_label=f"{chosen.rows} by {chosen.columns}, {model.MEASURES[chosen.measure]}",
    )


def legend(grid: model.Heatmap, chosen: model.Selection, compared: str) -> Node:
    """Say what colours and signs mean; only signs that are there."""

    def key(kind: str, sign: str, meaning: str) -> Node:
        return h("span", h("span", sign, cls=f"xb-swatch {kind}"), f" {meaning}", cls="xb-key")

    if chosen.pair is not None and compared not in (chosen.rows, chosen.columns):
        scale = [key("xb-loss2", "−", "B is worse"), key("xb-gain2", "+", "B is better")]
    else:
        steps = h("span", [h("i", cls=f"xb-s{at}") for at in range(11)], cls="xb-scale", live=True)
        words = model.MEASURES[chosen.measure]
        scale = [h("span", f"{words} 0 ", steps, " to 1", cls="xb-key")]
    if any(cell.invalid == cell.rows for cell in grid.cells.values()):
        scale.append(key("xb-invalid xb-s0", INVALID, "not JSON"))
    if len(grid.cells) < len(grid.rows) * len(grid.columns):
        scale.append(key("xb-absent", "·", f"no row of this {chosen.rows} and {chosen.columns}"))
    return h("p", [part for drawn in scale for part in ("; ", drawn)][1:], cls="xb-legend")


_TRAITS = model.Selection._fields
_VALUE_TRAITS = (*model.ASKED, "text", "failures_only")
_PAGES = ("row_page", "column_page", "value_page")
_OPENED = ("evaluation", "matches", "evidence", "gold")


class FailureExplorer(View):
    """Where runs fail: a heatmap, and beside it the values behind a cell, failures first.

    Attributes
    ----------
    a, b : str or None
        Runs to show: one of them alone, or two to compare, of which cells have B's mean less A's.
        Versions instead of runs, if the source maps versions to batches; their runs are paired.
    compare : str
        The values to show: ``disagree``, some runs are right and some wrong; ``gained`` and
        ``lost`` between `a` and `b`; empty for all.
    selected_cell : tuple of (str or None, str or None)
        Row and column of the chosen cell; None for one of them chooses a line. Empty for none.
    rows, columns : {"field", "document", "run"}
        What has a row and what has a column.
    measure : {"score", "pass_rate"}
        What the cells show.
    schema : str or None
        The only one to show.
    inside_arrays, valid_only : bool
        Whether rows that do not enter the scores are there too; whether outputs that are not JSON
        are left out.
    outcome, metric, reason, mismatch, citation, text : str
        What listed values must have: `text` in path, gold or predicted value. Empty for all.
    failures_only : bool
        Whether values that pass are left out.
    row_page, column_page, value_page : int
        Pages of the heatmap and of the values, from 0.
    """

    kind = "explore"
    styles = ("explore.css",)
    settable = frozenset({*_TRAITS, *_PAGES}) - {"selected_cell"}
    rows = Choice("field")
    columns = Choice("document")
    measure = Choice("score")
    a = Choice(None, allow_none=True)
    b = Choice(None, allow_none=True)
    compare = Choice("")
    schema = Choice(None, allow_none=True)
    inside_arrays = traitlets.Bool(False)
    valid_only = traitlets.Bool(False)
    selected_cell = traitlets.Tuple()
    outcome = Choice("")
    metric = Choice("")
    reason = Choice("")
    mismatch = Choice("")
    citation = Choice("")
    text = traitlets.Unicode("")
    failures_only = traitlets.Bool(False)
    row_page = traitlets.Int(0)
    column_page = traitlets.Int(0)
    value_page = traitlets.Int(0)

    def __init__(  # noqa: PLR0913 - options by name
        self,
        source: Any,
        *,
        rows: str = "field",
        columns: str | None = None,
        measure: str = "score",
        dataset: Dataset | TableDataset | None = None,
        citations: pd.DataFrame | None = None,
        name: str | None = None,
    ) -> None:
        self._changes = 1  # the page is drawn once all of it is set
        self._rows, self._citations = model.Rows(source, citations, dataset), citations
        columns = columns or _best_columns(self._rows, rows)
        if rows == columns:
            raise InputError(f"rows and columns are both {rows!r}; choose two of {model.AXES}")
        given: Any = dataset  # documents with pages, or those that tables were built from
        self._dataset: Dataset | None = given if hasattr(given, "pdf_path") else None
        self._tasks: TableDataset | None = given if hasattr(given, "tables") else None
        is_frame = isinstance(self._rows.source, pd.DataFrame)
        called = self._variable = checked_name(name or ("fields" if is_frame else "evs"))
        of_cells = hasattr(source, "rows") and not hasattr(source, "fields")
        parts = f"[e.fields.assign(version=v) for v, e in {called}.items()]"
        self._frame_name = called if is_frame else f"{called}.{'rows' if of_cells else 'fields'}"
        if self._rows.versions:
            self._frame_name = f"pd.concat({parts}, ignore_index=True)"
        several = isinstance(source, Mapping | list | tuple | Evaluation)
        self._can_open = several or hasattr(source, "evaluation") or hasattr(source, "comparison")
        self._whole: int | None = None
        self._said, self._reveals = "", 0
        self._opening: list[Any] | None = None
        self._found: tuple[model.Selection, model.Query] | None = None
        self._drawn: tuple[Any, model.Heatmap, Node, Node] | None = None
        try:
            self.rows, self.columns, self.measure = rows, columns, measure
        except traitlets.TraitError as error:
            raise InputError(str(error)) from None
        if self._rows.versions and len(self._sides) == len(("before", "after")):
            self.a, self.b = self._sides
        super().__init__()

    # --- the state ------------------------------------------------------------------------------

    @property
    def _sides(self) -> list[str]:
        return self._names_of(self._rows.compared)

    def _names_of(self, trait: str) -> list[str]:
        column = self._rows.compared if trait in ("a", "b") else trait
        return list(self._rows.names[column].categories)

    @property
    def _selection(self) -> model.Selection:
        return model.Selection(*(getattr(self, name) for name in _TRAITS))

    @property
    def _query(self) -> model.Query:
        selection = self._selection
        if self._found is None or self._found[0] != selection:
            self._found = selection, self._rows.query(selection, self._frame_name)
        return self._found[1]

    @property
    def _comparisons(self) -> dict[str, str]:
        paired = None not in (self.a, self.b)
        words = model.COMPARISONS.items()
        return {name: text for name, text in words if paired or name in ("", "disagree")}

    def choices(self, trait: str) -> Iterable[str]:
        """Return the axes, measures and comparisons, or the names that occur in the rows."""
        named: dict[str, Iterable[str]] = dict.fromkeys(("rows", "columns"), model.AXES)
        named |= {"measure": model.MEASURES, "compare": self._comparisons}
        return named[trait] if trait in named else self._names_of(trait)

    @traitlets.validate("selected_cell")
    def _known_cell(self, proposal: Any) -> tuple[str | None, ...]:
        cell = proposal["value"]
        if len(cell) not in (0, 2):
            raise traitlets.TraitError(f"selected_cell is (row, column) or empty; found {cell!r}")
        for axis, name in zip((self.rows, self.columns), cell, strict=False):
            if name is not None:
                known(axis, name, self._names_of(axis))
        return () if set(cell) <= {None} else cell

    @contextmanager
    def _undrawn(self) -> Iterator[None]:
        """Let other traits follow; the observer that comes last draws."""
        self._changes += 1
        try:
            yield
        finally:
            self._changes -= 1

    @traitlets.observe(*_TRAITS)
    def _follow(self, change: Any) -> None:
        name = change["name"]
        with self._undrawn():
            if self.rows == self.columns:
                self.set_trait("columns" if name == "rows" else "rows", change["old"])
            if name in ("a", "b") and self.compare not in self._comparisons:
                self.compare = ""
            self._whole, self._said, self.value_page = None, "", 0
            if name == "selected_cell":
                self._reveals += bool(change["new"])
            elif name not in _VALUE_TRAITS:  # another heatmap
                self.row_page = self.column_page = 0
                self.selected_cell = ()

    @property
    def _heatmap(self) -> model.Heatmap:
        """The page of the heatmap; drawn again only if it has other cells."""
        plain: dict[str, Any] = dict.fromkeys(model.ASKED, "") | {
            "text": "",
            "failures_only": False,
        }
        shown = self._selection._replace(selected_cell=(), **plain)
        asked = shown, self.row_page, self.column_page
        if self._drawn is None or self._drawn[0] != asked:
            rows = self._rows
            grid = rows.heatmap(self._query.shown, shown, (self.row_page, self.column_page))
            table = heatmap(grid, shown, rows.compared) if len(grid.rows) else h("div")
            self._drawn = asked, grid, table, self._totals()
        return self._drawn[1]

    @property
    def location(self) -> dict[str, Any]:
        """What is shown, as JSON values: assign it to a view to open it at the same place."""
        state = {name: getattr(self, name) for name in (*_TRAITS, *_PAGES)}
        found = {n: value for n, value in state.items() if value != self.traits()[n].default()}
        found |= {"selected_cell": [*self.selected_cell]} if self.selected_cell else {}
        return found | ({"opened": self._opening} if self.trail else {})

    @location.setter
    def location(self, place: Mapping[str, Any]) -> None:
        states = (*_TRAITS, *_PAGES, "opened")
        if unknown := set(place) - {*states}:
            raise InputError(f"location: {nearest(min(unknown), states)}")
        with self.changing():
            self.back(0)
            rows, columns = place.get("rows", "field"), place.get("columns", "document")
            if self.rows == columns:  # the two never are the same axis
                self.columns = next(axis for axis in model.AXES if axis not in (rows, columns))
            for name in states[:-1]:
                value = place.get(name, self.traits()[name].default())
                self.set_trait(name, tuple(value) if name == "selected_cell" else value)
            self.do_open(place.get("opened"))

    # --- what the page asks for -----------------------------------------------------------------

    def do_cell(self, place: Any) -> None:
        """Choose a cell by its place on the page; place 0 is the name of a line."""
        match place:
            case [int(row), int(column)]:
                sides = list(zip((row, column), self._heatmap[:2], strict=True))
                if all(0 <= at <= len(side) for at, side in sides):
                    self.selected_cell = tuple(
                        side.index[at - 1] if at else None for at, side in sides
                    )

    def do_clear(self, everything: Any) -> None:
        """Remove the choice of a cell and the filters of the values, or all filters."""
        more = ("schema", "compare", "valid_only", "inside_arrays") if everything else ()
        for trait in ("selected_cell", *_VALUE_TRAITS, *more):
            self.set_trait(trait, self.traits()[trait].default())

    def do_differences(self, only: Any) -> None:
        """Show only the values that the runs differ in, or all."""
        self.compare = "disagree" if only is True else ""

    def do_whole(self, key: Any) -> None:
        """Show all of the values of one path."""
        self._whole = key if type(key) is int else None

    def do_pick(self, picked: Any) -> None:
        """Set a trait to the name at a place, or to none."""
        match picked:
            case [str(trait), at] if trait in ("a", "b", "schema", *model.ASKED):
                if at is None:
                    self.set_trait(trait, self.traits()[trait].default())
                elif type(at) is int and 0 <= at < len(names := self._names_of(trait)):
                    self.set_trait(trait, names[at])

    def do_open(self, asked: Any) -> None:
        """Show the output, the matched items or the page of a row in place of this view."""
        match asked:
            case [str(kind), int(at)] if kind in _OPENED and 0 <= at < len(self._rows):
                self._said = ""
                try:
                    view, label = self._view_of(kind, at)
                except (ExtractBenchError, traitlets.TraitError) as error:
                    self._said = one_line(str(error), 400)
                else:
                    self._opening = [kind, at]
                    self.open_view(view, label)

    def _view_of(self, kind: str, at: int) -> tuple[View, str]:
        """Make the view of a row's output, and name it."""
        version, run, document = self._rows.output(at)
        row = self._rows.frame.iloc[at]
        ev = model.evaluation_of(self._rows.source, run, document, version)
        if ev is None:
            raise InputError("Outputs open only where evaluations are explored.")
        where = " · ".join(n for n in (version, run, document) if n != model.NOT_GIVEN) or "output"
        labels = {"run": run, "document": document}
        ev = ev.labelled(**{key: n for key, n in labels.items() if n != model.NOT_GIVEN})
        if not isinstance(ev, Evaluation):
            from extractbench_nb.views.construction_view import ConstructionView

            task = None if self._tasks is None else self._tasks[document]
            code = f"{self._variable}.comparison({run!r}, {document!r})"
            tables = ConstructionView(ev, documents=task, name=code)
            tables.selected = model.cell_of(row) or tables.selected
            return tables, where
        pdf, path = None, str(row["path"])
        if self._dataset is not None:
            with suppress(ExtractBenchError):  # a document without a PDF
                pdf = self._dataset.pdf_path(document)
        if kind == "matches":
            from extractbench_nb.views.matches_view import MatchesView

            return MatchesView(ev, path, pdf=pdf), f"{where} {path}"
        if kind in ("evidence", "gold") and self._dataset is not None:
            from extractbench_nb.views.evidence_view import evidence_of

            cited = self._citations
            for name, wanted in labels.items():
                if cited is not None and name in cited:
                    cited = cited[cited[name].astype(str) == wanted]
            side = "gold" if kind == "gold" else ""
            page = evidence_of(row, self._dataset, document, ev, side=side, citations=cited)
            return page, f"{where} {path} on its page"
        from extractbench_nb.views.evaluation_view import EvaluationView

        output = EvaluationView(ev, title=where, pdf=pdf)
        output.selected_row = path
        return output, where

    # --- what is shown --------------------------------------------------------------------------

    def draw(self) -> dict[str, Node]:
        """Draw the headline, the heatmap, and beside it the values."""
        grid, axes = self._heatmap, (self.rows, self.columns)
        *_, table, totals = self._drawn or (h("div"), h("div"))
        chosen = [
            [at for at, item in enumerate(side.index, 1) if name in (None, item)]
            for name, side in zip(self.selected_cell, grid[:2], strict=False)
        ]
        acts: dict[str, Any] = {"keys": "grid", "do": "cell", "escape": "clear", "scroll": True}
        box = part("grid", cls="xb-box", chosen=json.dumps(chosen), **acts)
        pagers, beyond = [], []
        for side, cut, trait, axis in zip(grid[:2], grid[3:], _PAGES, axes, strict=False):
            pagers.append(ui.pager(cut, f"set:{trait}", f"{axis}s"))
            beyond.append(ui.more(cut.total - len(side), f"{axis}s", static=True))
        says = legend(grid, self._selection, self._rows.compared)
        heat = [box, ui.toolbar(pagers) if any(pagers) else None, says, beyond]
        values = part("values", "section", cls="xb-values", reveal=str(self._reveals or ""))
        left = heat if len(grid.rows) else h("p", self._why_empty(), cls="xb-empty")
        page = h("div", self._tools(), totals, ui.split(left, values))
        return {"page": page, "grid": table, "values": self._values()}

    def _why_empty(self) -> str:
        if not self.inside_arrays and not self._rows.counted.any():
            return "No row is counted; show those that are not counted too."
        words = ", ".join(self._selection.filters_in_words())
        return f"No field matches: {words}. Clear the filters."

    def _totals(self) -> Node:
        """Draw the pass rate of what is shown, its cause, and what there is; or a difference."""
        rows, query, selection = self._rows, self._query, self._selection
        places = query.compared if selection.pair else query.shown  # also what does not differ
        if not len(places):
            return h("div", ui.headline("n/a"))
        numbers = rows.numbers.iloc[places]
        outputs = numbers["output"].nunique()
        invalid = numbers.loc[numbers["invalid"] > 0, "output"].nunique()
        left_out = 0 if self.inside_arrays else int((~rows.counted).sum())
        about = [plural(numbers[name].nunique(), name) for name in model.AXES]
        about += [f"{invalid:,} of {plural(outputs, 'output')} invalid"] if invalid else []
        about += [f"{plural(left_out, 'row')} not counted"] if left_out else []
        about += selection.filters_in_words()
        if selection.pair is None:
            shown = rows.frame.iloc[places]
            found = find_causes(shown if "weight" in shown else shown.assign(weight=1.0))
            value, cause = ratio_text(found.score), ui.because(found.text) or ["pass rate"]
            about.insert(0, plural(outputs, "output"))
        else:
            scores = [
                float(rows.means(own)["score"].iloc[0]) if len(own) else np.nan
                for own in (places[rows.of(name)[places]] for name in selection.pair)
            ]
            gained, lost = rows.changes(places, selection).values()
            a, b = (one_line(name, _LONGEST_NAME) for name in selection.pair)
            value = change_text(scores[1] - scores[0], 3)
            ends = f"{ratio_text(scores[0])} {a} → {ratio_text(scores[1])} {b}"
            cause = [f"{ends}: {plural(gained, 'value')} gained, {lost:,} lost."]
        return h("div", ui.headline(value, cause), h("p", " · ".join(about), cls="xb-quiet"))

    def _tools(self) -> Node:
        s, noun, several = self._selection, self._rows.compared, len(self._sides) > 1
        axes = {name: f"{name}s" for name in model.AXES}
        filters = [s.compare.replace("disagree", ""), *(getattr(s, name) for name in model.ASKED)]
        active = sum(map(bool, [*filters, s.schema, s.valid_only, s.inside_arrays, s.text]))
        differences = ui.check("differences only", "differences", s.compare == "disagree")
        return ui.toolbar(
            self._menu(f"A {noun}", "a"),
            self._menu(f"B {noun}", "b", "–"),
            differences if several else None,
            ui.filters(
                active,
                self._menu("Schema", "schema"),
                ui.menu("Values", "set:compare", self._comparisons, s.compare) if several else None,
                ui.check("without invalid outputs", "set:valid_only", s.valid_only),
                ui.check("rows not counted too", "set:inside_arrays", s.inside_arrays),
                [self._menu(name.capitalize(), name) for name in model.ASKED],
                ui.search("Find in values", "set:text", s.text, "path or value"),
                ui.menu("Rows", "set:rows", axes, s.rows),
                ui.menu("Columns", "set:columns", axes, s.columns),
                ui.menu("Show", "set:measure", model.MEASURES, s.measure),
                ui.button("Clear filters", "clear", send=True) if active else None,
                label="Filters and layout",
            ),
        )

    def _menu(self, label: str, trait: str, none: str = "all") -> Node | None:
        """Make a menu of names, which are sent by their places."""
        names, chosen = self._names_of(trait), getattr(self, trait)
        if len(names) < len(("one", "another")):
            return None
        column = self._rows.compared if trait in ("a", "b") else trait
        texts = {
            (trait, at): ui.shortened(display_name(names[at], column), _LONGEST_NAME)
            for at in sorted(range(len(names)), key=names.__getitem__)[:_MOST_OPTIONS]
        }
        at = names.index(chosen) if chosen else None
        return ui.menu(label, "pick", {(trait, None): none, **texts}, (trait, at))

    def _values(self) -> Node:
        """List the paths of the chosen cell, or of all, those with the most failures first."""
        rows, query = self._rows, self._query
        keys = rows.worst_keys(query.listed)
        page = ui.page_of(len(keys), self.value_page, KEYS_A_PAGE)
        places = query.shown[np.isin(rows.keys[query.shown], page.of(keys))]
        found = rows.frame.iloc[places].to_dict("records")
        of_key: defaultdict[int, dict[int, Any]] = defaultdict(dict)
        for at, record in zip(places.tolist(), found, strict=True):
            of_key[int(rows.keys[at])][at] = record
        body = [self._value(key, of_key[key]) for key in page.of(keys).tolist()]
        what = " × ".join(ui.shortened(name, _LONGEST_NAME) for _, name in self._selection.cell)
        failing = int((~rows.right[query.listed]).sum())
        title = (
            f"{what or 'All cells'}: {failing:,} of {plural(len(query.listed), 'row')} not passed"
        )
        parts = [getattr(self, name).replace("_", " ") for name in model.ASKED]
        parts += ["failures only" if self.failures_only else "", self.text.strip()]
        only = ", ".join(one_line(text, _LONGEST_NAME) for text in parts if text)
        clear = ui.button("Clear", "clear", aria_label="Clear selection and filters of values")
        saved = len(body) if self.selected_cell or only else 1  # of all cells, the worst path
        rest = h("div", body[saved:], live=True) if body[saved:] else None
        return h(
            "div",
            h("p", h("b", title), role="status", cls="xb-values-title"),
            h("p", f"Only: {only}.", static=True) if only else None,
            h("p", self._said, cls="xb-bad", role="alert") if self._said else None,
            [self._chips(trait) for trait in ("reason", "mismatch", "citation")],
            ui.toolbar(
                ui.check("failures only", "set:failures_only", self.failures_only),
                clear if self.selected_cell or only else None,
                ui.copy("Copy pandas", query.code) if len(query.code) <= _LONGEST_COPY else None,
                ui.pager(page, "set:value_page", "paths"),
            ),
            h("div", body[:saved], rest, cls="xb-list", keys="list", scroll=True) if body else None,
            ui.more(page.total - page.first - len(body[:saved]), "paths", static=True),
        )

    def _chips(self, trait: str) -> Node | None:
        """Count the chosen cell's failures, or all its citations, by kind; a click lists one."""
        places, codes, said = self._query.chosen, self._rows.names[trait].codes, "Citations"
        if trait != "citation":
            places, said = places[~self._rows.right[places]], f"Failures by {trait}"
        counts = Counter(codes[places].tolist())
        names, chosen = self._names_of(trait), getattr(self, trait)
        chips = []
        for code, number in counts.most_common(_MOST_CHIPS):
            words = one_line(names[code].replace("_", " "), _LONGEST_NAME)
            words = f"cited: {words}" if trait == "citation" else words
            if names[code] != model.NOT_GIVEN:
                chips.append(((trait, None if names[code] == chosen else code), words, number))
        return ui.chips(said, "pick", chips, (trait, None))

    def _value(self, key: int, records: Mapping[int, Any]) -> Node:
        """Draw one path: gold, and each answer with the runs that gave it, failing ones first."""
        rows, long = self._rows, key == self._whole
        by_side: defaultdict[str, list[int]] = defaultdict(list)
        for at in records:
            by_side[rows.names[rows.compared][at]].append(at)
        answers: defaultdict[Any, list[list[int]]] = defaultdict(list)
        for own in by_side.values():  # equal answers with equal verdicts are drawn once
            answer = [value_text([records[own[0]]["predicted"]])]
            answer += [str(records[at][n]) for at in own for n in ("metric", "outcome", "score")]
            answers[records[own[0]]["predicted_state"], *answer].append(own)
        ordered = sorted(answers.values(), key=lambda runs: bool(rows.right[runs[0]].all()))
        at, first = next(iter(records.items()))
        sides = [_sides(records[runs[0][0]], long=long) for runs in ordered]
        alone = {**first, "predicted": first["gold"], "predicted_state": first["gold_state"]}
        gold = sides[0][0] if len(sides) == 1 else _sides(alone, long=long)[0]
        path = one_line(str(first["path"]), _LONGEST_PATH)
        _, run, document = rows.output(at)
        about = [document if rows.sizes["document"] > 1 else "", run if rows.versions else ""]
        about += dict.fromkeys(str(record["metric"]) for record in records.values())
        quiet = " · ".join(one_line(text, _LONGEST_NAME) for text in about if text)
        label = f"Show all of {path}"
        more = ui.button("Show all", "whole", key, aria_label=label, item=True, cls="xb-link")
        is_array = isinstance(first["gold"], list | tuple)
        link = None if is_array else self._page_link("gold", at)
        name = h("b", path, cls="xb-code", dir="auto")
        return h(
            "div",
            h("div", name, h("span", f" {quiet}", cls="xb-quiet", dir="auto")),
            _answer("gold", gold, [more if any(cut for *_, cut in sides) else None, " ", link]),
            [
                self._answer(runs, value, [records[at] for at in runs[0]], long=long)
                for runs, (_, value, _) in zip(ordered, sides, strict=True)
            ],
            key=key,
            cls="xb-path-block",
        )

    def _answer(
        self, runs: Sequence[Sequence[int]], value: Any, records: Sequence[Any], *, long: bool
    ) -> Node:
        """Draw an answer: the runs that gave it, the value, and what its metrics make of it."""
        rows, at, row = self._rows, runs[0][0], records[0]
        names: list[Any] = []
        for own in runs:
            name = rows.names[rows.compared][own[0]]
            name = "predicted" if name == model.NOT_GIVEN else ui.shortened(name, _LONGEST_NAME)
            names += [self._link(h("span", name), "evaluation", own[0], "Open this output"), " "]
        verdicts = []
        for record in records:
            words = [score_text(None if is_missing(record["score"]) else float(record["score"]))]
            words += [str(record["metric"])] if len(records) > 1 else []
            if record["outcome"] not in _PASSES:
                told = (record["reason"], record["mismatch"])
                words += [text.replace("_", " ") for text in told if isinstance(text, str)]
            words.append(accepted_text(record.get("accepted_as"), _LONGEST_NAME))
            if isinstance(citation := record.get("citation"), str):
                words.append(f"cited: {citation.replace('_', ' ')}")
            said = " · ".join(one_line(text, _LONGEST_NAME) for text in words if text)
            verdicts.append(h("div", ui.mark(record["outcome"]), " ", said))
        counts: list[tuple[str, int]] = []
        if isinstance(row["gold"], list | tuple) or isinstance(row["predicted"], list | tuple):
            items = rows.arrays.get((*rows.output(at), str(row["path"])), {})
            counts = [(name, number) for name, number in items.items() if number]
            link = self._link("matches", "matches", at, "See which items were paired")
            link = link if counts else None
        else:
            link = self._page_link("evidence", at)
        bar = [ui.bar(counts), h("span", ui.counts_text(counts), live=True)]
        reasoning = row["reasoning"] if isinstance(row["reasoning"], str) else ""
        reasoning = one_line(reasoning, MOST if long else _LONGEST_PATH)
        below = [
            h("div", bar) if counts else None,
            h("div", reasoning, cls="xb-quiet", dir="auto") if reasoning else None,
        ]
        return _answer(names, value, [verdicts, link], below)

    def _link(self, content: Node | str, kind: str, at: int, title: str) -> Node | str | None:
        """Make what opens another view; without evaluations, a name is only a text."""
        is_name = isinstance(content, Node)
        if not self._can_open:
            return content if is_name else None
        about = {"title": title, "item": True, "cls": "xb-link", "keep": is_name or None}
        return ui.button(content, "open", [kind, at], **about)

    def _page_link(self, kind: str, at: int) -> Node | str | None:
        title = "See gold's value on its page" if kind == "gold" else "See the value on its page"
        return None if self._dataset is None else self._link("page", kind, at, title)

    # --- results --------------------------------------------------------------------------------

    @property
    def selection(self) -> pd.DataFrame:
        """The rows of `fields` in the chosen cell, or all shown, that the filters leave."""
        return own_copy(self._rows.given.iloc[self._query.listed])

    @property
    def code(self) -> str:
        """An expression of one line that gives `selection`."""
        return self._query.code

    def __repr__(self) -> str:
        """Say how much there is, whatever is shown of it."""
        sizes = [plural(size, name) for name, size in self._rows.sizes.items()]
        return " · ".join(["Failures", *sizes, plural(len(self._rows), "row")])


def _best_columns(rows: model.Rows, axis: str) -> str:
    """Choose the first axis with several items; runs, if hardly two documents share a field."""
    sizes = rows.sizes
    pairs = rows.numbers[["field", "document"]].drop_duplicates()
    few = min(1.5 * sizes["field"], 0.5 * sizes["field"] * sizes["document"])
    is_sparse = len(pairs) < few and sizes["run"] > 1
    order = ("run", "document") if is_sparse else ("document", "run")
    free = [name for name in (*order, "field") if name != axis]
    return next((name for name in free if sizes[name] > 1), free[0])


def _sides(row: Mapping[str, Any], *, long: bool) -> tuple[Any, Any, bool]:
    """Return gold and predicted value with what differs marked, and whether they are cut.

    A long array is a number of items until all of it is asked for.
    """
    values = row["gold"], row["predicted"]
    states = str(row["gold_state"]), str(row["predicted_state"])
    is_array = any(isinstance(value, list | tuple) for value in values)
    is_counted = is_array and not long and max(len(value_text(v)) for v in values) > _LONGEST_ARRAY
    limit, form = MOST if long else _LONGEST_VALUE, "count" if is_counted else "line"
    gold, predicted = beside(*values, states, limit=limit, form=form)
    is_cut = is_counted or bool(gold.hidden or predicted.hidden)
    return gold.segments, predicted.segments, is_cut and not long


def _answer(names: Content, value: Any, verdict: Content, below: Content = None) -> Node:
    return h(
        "div",
        h("span", names, cls="xb-side", dir="auto"),
        h("div", h("div", ui.segments(value), cls="xb-value", dir="auto"), below),
        h("div", verdict),
        cls="xb-answer",
    )
