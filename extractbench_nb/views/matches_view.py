"""`MatchesView`: the items of one array, gold beside predicted, and thresholds to try."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import pandas as pd
import traitlets

from extractbench_nb.core import Evaluation, MapItem
from extractbench_nb.errors import InputError, nearest
from extractbench_nb.support.nodes import Content, Node, h
from extractbench_nb.support.wording import fitted, plural, ratio_text
from extractbench_nb.views import controls as ui
from extractbench_nb.views import matches_model as model
from extractbench_nb.views.matches_thresholds import ALIGN, PASS
from extractbench_nb.views.sides import Segment
from extractbench_nb.views.view import View, checked_name, known, part

#: What stands in the place of an item that no other is paired with, and what its side is called.
_ALONE = {"missed": "not in the prediction", "spurious": "not in gold"}
_SIDES = ("gold", "predicted")
_WIDEST = 60
#: Fields whose sums are shown.
_MOST_SUMS = 12
#: A name may be broken behind each underscore.
_WORDS = re.compile(r"[^_]*_|[^_]+")


# --- the view -------------------------------------------------------------------------------------


class MatchesView(View):
    """The items of an array in pairs: gold and predicted side by side.

    Attributes
    ----------
    path : str
        Instance path of the array. Another array can be assigned.
    selected_pair : tuple of (int or None, int or None) or None
        Gold index and predicted index of the chosen pair; None beside the index of an item without
        a partner, and None alone where nothing is chosen. A pair can be assigned; one index with
        None is enough. Filters that would hide it are cleared.
    thresholds : dict of str to float
        The thresholds that differ from the declared ones: ``align_threshold`` and
        ``pass_threshold`` of the array, and those of its items' fields by field. Others can be
        assigned, each from 0 to 1; see `show_matches`.
    status : str
        The only status to list: ``matched``, ``differing``, ``missed`` or ``spurious``; empty for
        all.
    text : str
        What one of the two items must contain, in any case of letters.
    field : str
        The only field that pairs must fail in, below the array, such as ``nights``; empty for all.
    sort : str
        The order: ``failing`` first, ``pairs`` in gold's order and spurious items last,
        ``predicted``, or ``similarity`` with the least alike pair first.
    page : int
        The page of rows that is shown, from 0.
    """

    kind = "matches"
    styles = ("pairs.css", "matches.css")
    settable = frozenset({"status", "field", "text", "sort", "page"})
    path = traitlets.Unicode("")
    selected_pair = traitlets.Any(None, allow_none=True)
    thresholds = traitlets.Dict()
    status = traitlets.Unicode("")
    text = traitlets.Unicode("")
    field = traitlets.Unicode("")
    sort = traitlets.Unicode("failing")
    page = traitlets.Int(0)

    def __init__(
        self,
        ev: Evaluation,
        path: str | None = None,
        *,
        name: str = "ev",
        pdf: str | Path | None = None,
    ) -> None:
        if not isinstance(ev, Evaluation):
            raise InputError(
                f"ev is of type {type(ev).__name__}; expected one Evaluation, as evaluate() or "
                "Evaluations.evaluation(run, document) returns"
            )
        self._ev, self._arrays = ev, ev.arrays
        self._variable, self._pdf = checked_name(name), pdf
        self._use(model.Board(ev, ev.array_path(path)))
        super().__init__(path=self._board.path)

    def _use(self, board: model.Board) -> None:
        self._board, self._whole = board, set[int]()
        self._unfolded = False
        self._knob = next((key for key in board.knobs if key not in (ALIGN, PASS)), "")
        self._listed = self._left()

    def _left(self) -> list[model.Row]:
        rows = model.ordered(self._board.rows, self.sort)
        rows = model.filtered(rows, self.status, self.text)
        failing = self._board.failing
        return [row for row in rows if not self.field or self.field in failing(row)]

    @property
    def _unfold(self) -> bool:
        """Whether matched pairs are listed with the others, and not folded behind them."""
        return self._unfolded or self.sort != "failing" or bool(self.status or self.text.strip())

    @property
    def _in_list(self) -> list[model.Row]:
        others = [row for row in self._listed if row.status != "matched" or row is self._chosen]
        return self._listed if self._unfold or not others else others

    # --- what Python code sets ---------------------------------------------------------------

    @traitlets.validate("path")
    def _known_array(self, proposal: Any) -> str:
        try:
            return self._ev.array_path(proposal["value"])
        except InputError as error:
            raise traitlets.TraitError(str(error)) from None

    @traitlets.observe("path")
    def _array_changed(self, change: Any) -> None:
        if change["new"] != self._board.path:
            with self.changing():
                self.selected_pair = None
                self._use(model.Board(self._ev, change["new"]))
                self.field = self.field if self.field in self._board.sums else ""
                self._listed = self._left()
                self.thresholds, self.page = {}, 0

    @traitlets.validate("status", "sort")
    def _known_word(self, proposal: Any) -> str:
        trait, word = proposal["trait"].name, proposal["value"]
        return known(trait, word, ("", *model.STATUSES) if trait == "status" else model.ORDERS)

    @traitlets.validate("field")
    def _known_field(self, proposal: Any) -> str:
        wanted: str = proposal["value"]
        return wanted and known("field", wanted, self._board.sums)

    @traitlets.validate("page")
    def _existing_page(self, proposal: Any) -> int:
        return ui.page_of(len(self._in_list), proposal["value"], model.PAGE).number

    @traitlets.validate("thresholds")
    def _known_thresholds(self, proposal: Any) -> dict[str, float]:
        values: Mapping[Any, Any] = proposal["value"]
        knobs = self._board.knobs
        for key, value in values.items():
            if key not in knobs:
                raise traitlets.TraitError(f"there is no threshold {key!r}; {nearest(key, knobs)}")
            number = isinstance(value, int | float) and not isinstance(value, bool)
            if not number or not 0.0 <= value <= 1.0:
                raise traitlets.TraitError(f"{key} is {value!r}; expected a number from 0 to 1")
        return {key: float(v) for key, v in values.items() if v != knobs[key].declared}

    @traitlets.observe("thresholds")
    def _thresholds_changed(self, change: Any) -> None:
        if change["new"] == self._board.values:
            return
        self._board.try_thresholds(change["new"])
        with self.changing():
            self._listed = self._left()
            self.page = self.page
            if self.selected_pair is not None:  # stay with the item, whatever its pair is now
                ours, theirs = self.selected_pair
                row = self._board.row_of((ours, None) if ours is not None else (None, theirs))
                self.selected_pair = row.pair if row in self._listed else None

    @traitlets.observe("status", "field", "text", "sort")
    def _filters_changed(self, _: Any) -> None:
        with self.changing():
            self._listed = self._left()
            row = self._chosen
            if row not in self._listed:
                self.selected_pair = row = None
            self.page = 0 if row is None else self._in_list.index(row) // model.PAGE

    @traitlets.validate("selected_pair")
    def _known_pair(self, proposal: Any) -> model.Pair | None:
        value = proposal["value"]
        if value is None:
            return None
        pair = isinstance(value, tuple | list) and len(value) == len(("gold", "predicted"))
        if not pair or not all(part is None or type(part) is int for part in value):
            raise traitlets.TraitError(
                f"selected_pair is {value!r}; expected (gold index, predicted index), "
                "one of them may be None, or None"
            )
        row = self._board.row_of(tuple(value))
        if row is None:
            sizes = self._board.outcome.summary
            raise traitlets.TraitError(
                f"there is no pair {tuple(value)!r}; there are {sizes['gold_items']} gold and "
                f"{sizes['predicted_items']} predicted items, counted from 0, and view.matches "
                "has their pairs"
            )
        return row.pair

    @traitlets.observe("selected_pair")
    def _pair_changed(self, _: Any) -> None:
        self._whole = set()
        row = self._chosen
        if row is not None:
            with self.changing():
                if row not in self._listed:
                    with self.hold_trait_notifications():
                        self.status = self.text = self.field = ""
                self.page = self._in_list.index(row) // model.PAGE

    @property
    def _chosen(self) -> model.Row | None:
        return None if self.selected_pair is None else self._board.row_of(self.selected_pair)

    # --- what the page asks ------------------------------------------------------------------

    def do_array(self, at: Any) -> None:
        """Show another array."""
        if type(at) is int and 0 <= at < len(self._arrays):
            self.path = str(self._arrays["path"].iloc[at])

    def do_pair(self, pair: Any) -> None:
        """Open a pair, or close it where it is open."""
        if isinstance(pair, list) and tuple(pair) in [row.pair for row in self._listed]:
            self.selected_pair = None if tuple(pair) == self.selected_pair else pair

    def do_close(self, _: Any) -> None:
        """Close the chosen pair."""
        self.selected_pair = None

    def do_clear(self, _: Any) -> None:
        """Remove the filters."""
        with self.hold_trait_notifications():
            self.status = self.text = self.field = ""

    def do_status(self, status: Any) -> None:
        """List the items of one status only, or all again."""
        if status in model.STATUSES:
            self.status = "" if status == self.status else status

    def do_field_chip(self, field: Any) -> None:
        """List the pairs that fail in one field only, or all again."""
        if isinstance(field, str) and field in self._board.sums:
            self.field = "" if field == self.field else field

    def do_unfold(self, _: Any) -> None:
        """List the matched pairs too, or fold them again."""
        self._unfolded = not self._unfolded

    def do_whole(self, at: Any) -> None:
        """Show all of the values in a row of the chosen pair."""
        if type(at) is int:
            self._whole.add(at)

    def do_align(self, value: Any) -> None:
        """Set ``align_threshold``."""
        self._try(ALIGN, value)

    def do_pass(self, value: Any) -> None:
        """Set ``pass_threshold``."""
        self._try(PASS, value)

    def do_knob(self, at: Any) -> None:
        """Choose the field whose threshold the last slider moves."""
        if type(at) is int and 0 <= at < len(self._board.knobs):
            self._knob = list(self._board.knobs)[at]

    def do_field(self, value: Any) -> None:
        """Set the threshold of the chosen field."""
        self._try(self._knob, value)

    def do_declared(self, _: Any) -> None:
        """Set all thresholds back."""
        self.thresholds = {}

    def _try(self, key: str, value: Any) -> None:
        if key in self._board.knobs and type(value) in (int, float) and 0 <= value <= 1:
            self.thresholds = {**self.thresholds, key: value}

    def do_page(self, asked: Any) -> None:
        """Open the PDF page where a value of the chosen pair is: its row, and the side."""
        if self._chosen is None or self._pdf is None:
            return
        for line in self._board.detail(self._chosen, set())["rows"]:
            for side, path in line["paths"].items():
                if asked == [line["at"], side]:
                    self._open_page(self._pdf, side, model.plain(path))

    def _open_page(self, pdf: str | Path, side: str, wanted: str) -> None:
        from extractbench_nb.views.evidence_view import EvidenceView

        view = EvidenceView(None, pdf, self._ev, side=side, path="")
        below = (f"{wanted}.", f"{wanted}[")  # of an array, the first value
        for path in view.values["path"]:
            if model.plain(path) == wanted or model.plain(path).startswith(below):
                view.selected_path = path
                break
        self.open_view(view, f"PDF, {side}")

    # --- what is shown -----------------------------------------------------------------------

    def draw(self) -> dict[str, Node]:
        """Draw the cause, chips that filter, the list, and beside it a pair or the sums."""
        board = self._board
        score = board.outcome.summary["score"]
        value = "n/a" if score is pd.NA else ratio_text(score)
        title = h("p", self.title, cls="xb-title", live=True)
        row = self._chosen
        detail = sums_table(board, self.field) if row is None else self._detail(row)
        return {
            "page": h(
                "div",
                title,
                ui.headline(value, ui.sentence(board.cause)),
                part("tools"),
                ui.split(part("rows"), part("detail")),
                part("sums"),
            ),
            "tools": self._tools(),
            "rows": self._rows(),
            "detail": h("div", detail, cls="xb-detail", key=f"{row and row.pair}"),
            "sums": h("div", self._counts(), self._sliders(), cls="xb-sums"),
        }

    def _tools(self) -> Node:
        counts = model.counted(self._board.rows)
        arrays = model.offered_arrays(self._arrays, self._board.path)
        at = self._arrays["path"].tolist().index(self._board.path)
        hint = "text in the items"
        active = bool(self.status) + bool(self.text.strip()) + bool(self.field)
        statuses = {"": "all"} | {name: f"{name} ({n:,})" for name, n in counts.items()}
        order = ("differing", "missed", "spurious", "matched")
        return h(
            "div",
            ui.toolbar(
                ui.menu("Array", "array", arrays, at) if len(arrays) > 1 else None,
                ui.filters(
                    active,
                    ui.menu("Show", "set:status", statuses, self.status),
                    ui.menu("Order", "set:sort", model.ORDERS, self.sort),
                    ui.search("Find a text in the items", "set:text", self.text, hint, "rows"),
                ),
                ui.button("Clear filters", "clear") if active else None,
            ),
            h(
                "div",
                ui.chips(
                    "Items by status",
                    "status",
                    [(name, ui.mark(name), counts[name]) for name in order if counts[name]],
                    self.status,
                ),
                field_chips(self._board, "field_chip", self.field),
                cls="xb-by-chips",
            ),
        )

    def _sliders(self) -> Node | None:
        knobs, level = self._board.knobs, self._board.threshold
        controls = [
            ui.slider(f"{key} ({knobs[key].declared:.2f})", do, level(key), (0, 1), 0.01)
            for key, do in ((ALIGN, "align"), (PASS, "pass"))
            if key in knobs
        ]
        if self._knob:
            fields = {
                at: f"{fitted(knob.field, 30)}: {fitted(knob.metric, 20)} ({knob.declared:.2f})"
                for at, knob in enumerate(knobs.values())
                if knob.key not in (ALIGN, PASS)
            }
            controls += [
                ui.menu("Field threshold", "knob", fields, list(knobs).index(self._knob)),
                ui.slider("Value", "field", level(self._knob), (0, 1), 0.01),
            ]
        reset = ui.button("As declared", "declared", disabled=not self._board.values)
        changed = len(self._board.values)
        return ui.filters(changed, controls, reset, label="Try thresholds") if knobs else None

    def _counts(self) -> Node:
        counts = self._board.counts()
        heads = [h("th", name, scope="col", cls="xb-num") for name in counts["heads"]]
        rows = []
        for name, texts, changed in counts["rows"]:
            shown = [
                h("mark", text, cls="xb-changed") if is_new else text
                for text, is_new in zip(texts, changed, strict=True)
            ]
            cells = [h("td", text, cls="xb-num") for text in shown]
            rows.append(h("tr", h("th", name, scope="row"), cells, key=name))
        values = f"Changed: {counts['values']}." if counts["values"] else ""
        told = " ".join(filter(None, (values, self._board.array.note)))
        said = h("p", told, cls="xb-quiet", role="status")
        return h("div", ui.table((h("td"), *heads), h("tbody", rows), cls="xb-counts"), said)

    def _rows(self) -> Node:
        board, in_list = self._board, self._in_list
        cut = ui.page_of(len(in_list), self.page, model.PAGE)
        chosen = self._chosen
        table = pairs(board, cut.of(in_list), chosen, self.text)
        parts = [f"Items: {model.ORDERS[self.sort]}"]
        parts += [f"only {self.status}"] if self.status else []
        parts += [f"failing in {fitted(self.field, _WIDEST)}"] if self.field else []
        parts += [f"with {fitted(self.text, _WIDEST)!r}"] if self.text.strip() else []
        which = ", ".join(parts)
        said = f"{which}: {len(self._listed):,} of {plural(len(board.rows), 'row')}"
        folded = len(self._listed) - len(in_list)
        fold = f"{folded:,} matched ▸" if folded else "Fold matched ▾" if self._unfolded else ""
        return h(
            "div",
            ui.listed(said, cut, "rows"),
            h("p", f"{which}: {ui.shown_text(cut, 'rows')}", static=True),
            h("div", table, cls="xb-scroll", scroll=True, escape="close" if chosen else None)
            if cut.total
            else h("p", self._why_empty(), cls="xb-empty"),
            ui.button(fold, "unfold") if fold else None,
            ui.more(cut.total - cut.last, "rows", static=True),
            h("p", f"{folded:,} matched, not listed", cls="xb-quiet", static=True)
            if folded
            else None,
            ui.code(self.code, self._variable),
            id="rows",
        )

    def _why_empty(self) -> str:
        if self._board.rows:
            return "No item matches; clear the filters."
        if self._board.outcome.summary[["gold_items", "predicted_items"]].sum():
            return (
                "The items were not aligned: a model gave no answer of use, or the items around "
                "the array have no partner."
            )
        return "Both arrays are empty: there is nothing to match."

    def _detail(self, row: model.Row) -> Node:
        code = self._code(None, {}, [row])
        drawn = pair_detail(self._board, row, self._whole, on_page=self._pdf is not None)
        return h("div", drawn, ui.toolbar(ui.copy("Copy code", code), h("code", code)))

    # --- results -----------------------------------------------------------------------------

    @property
    def matches(self) -> pd.DataFrame:
        """The rows of ``Evaluation.matches`` of the array, at the present thresholds."""
        matches: pd.DataFrame = self._board.outcome.matches
        return matches.copy()

    @property
    def summary(self) -> pd.Series:
        """The row of ``Evaluation.arrays`` of the array, at the present thresholds."""
        summary: pd.Series = self._board.outcome.summary
        return summary.rename("summary").copy()

    @property
    def rows(self) -> pd.DataFrame:
        """The rows of `matches` that the filters leave, in the order shown, on all pages."""
        return self.matches.iloc[self._places(self._listed)].reset_index(drop=True)

    @property
    def code(self) -> str:
        """A line of pandas that gives `rows`: of ``ev.matches``, or of ``view.matches``.

        At other thresholds than those declared, `matches` of this view has the rows.
        """
        sort = (
            None if self.text.strip() or self.field else self.sort
        )  # these rows are known by their labels
        return self._code(sort, {"status": self.status} if self.status else {}, self._listed)

    def _code(self, sort: str | None, conditions: dict[str, str], rows: Sequence[model.Row]) -> str:
        labels = self._places(rows)
        source, frame = "view.matches", self.matches
        if not self._board.values:
            source, frame = f"{self._variable}.matches", self._ev.matches
            own = frame.index[frame["path"] == self._board.path].tolist()
            labels = [own[at] for at in labels]
            conditions = {"path": self._board.path, **conditions}
        terms = [ui.equal_term(frame, column, [name]) for column, name in conditions.items()]
        by_label = f".loc[{labels}]"
        if sort is None:
            return source + by_label
        return ui.selection_code(source, terms, by_label, model.SORTED[sort])

    def _places(self, rows: Iterable[model.Row]) -> list[int]:
        places = {row.pair: at for at, row in enumerate(self._board.rows)}
        return [places[row.pair] for row in rows]

    @property
    def title(self) -> str:
        """The array."""
        return f"Array matches · {fitted(self._board.path, 90)}"

    def __repr__(self) -> str:
        """Say which array is shown, and what became of its items."""
        return f"Array matches · {self._board}"


def sums_table(board: model.Board, field: str = "") -> Node | None:
    """Draw in which fields pairs differ, how many of them, and the difference most of them have."""
    if not board.sums:
        return None
    rows = []
    for name, total in board.sums.items():
        (gold, predicted), often = board.commonest(name)
        said = f"{often:,} of {total:,}" if often > 1 else ""
        rows.append(
            h(
                "tr",
                h("th", name or "value", scope="row"),
                h("td", f"{total:,}", cls="xb-num"),
                h("td", ui.segments(gold), cls="xb-value", dir="auto"),
                h("td", ui.segments(predicted), cls="xb-value", dir="auto"),
                h("td", said, cls="xb-quiet"),
                cls="xb-failed" if name == field else None,
                key=name,
            )
        )
    heads = ("field", "pairs", *_SIDES, "most frequent difference")
    title = h("p", h("b", "What differs in pairs"))
    return h("div", title, ui.table(heads, h("tbody", rows[:_MOST_SUMS])))


def field_chips(board: model.Board, do: str, chosen: str) -> Node | None:
    """Make chips of the fields that pairs fail in, most first."""
    shown = list(board.sums.items())[:_MOST_SUMS]
    return ui.chips(
        "Pairs by the field that differs",
        do,
        [(name, f"≠ {name or 'value'}", total) for name, total in shown],
        chosen or None,
    )


def pairs(
    board: model.Board, rows: Sequence[model.Row], chosen: model.Row | None, text: str = ""
) -> Node:
    """Draw pairs and items without a partner: of a pair that differs, what differs only."""
    shown = [(row, *model.lines(row, board.failing(row), text)) for row in rows]
    is_named = any(place for _, lines, _ in shown for place, *_ in lines)
    bodies = [
        _pair(board, row, lines, hidden, named=is_named, chosen=row is chosen, text=text)
        for row, lines, hidden in shown
    ]
    heads = ("status", "gold → predicted", *["field"] * is_named, *_SIDES, "similarity")
    cells = [h("th", name, scope="col", key=name) for name in heads]
    return ui.table(cells, bodies, cls="xb-pairs", keys="list")


def _pair(  # noqa: PLR0913 - options by name
    board: model.Board,
    row: model.Row,
    lines: list[tuple[str, list[Segment], list[Segment], bool]],
    hidden: int,
    *,
    named: bool,
    chosen: bool,
    text: str,
) -> Node:
    """Draw a pair, or an item without a partner: a line per field."""
    span = max(1, len(lines) + bool(hidden))
    failed = [name or "value" for name in sorted(board.failing(row))]
    told = f"failed: {fitted(', '.join(failed), 200)}" if failed and hidden else ""
    others = [model.label(place) or "value" for place in sorted(board.accepted(row))]
    read = f"accepted: {fitted(', '.join(others), 200)}" if others else ""
    items = [item for item in (row.gold, row.predicted) if isinstance(item, MapItem)]
    keys = " → ".join(dict.fromkeys(fitted(item.key, _WIDEST) for item in items))
    places = " → ".join("–" if at is None else str(at) for at in row.pair)
    first = [
        _noted(ui.mark(row.status), told, read, rowspan=span),
        _noted(places, keys, rowspan=span),
    ]
    alike: Node | str = "–" if row.similarity is None else ui.score(row.similarity)
    last = h("td", alike, cls="xb-num", rowspan=span)
    alone = _ALONE.get(row.status)
    trs = []
    for at, (place, gold, predicted, is_bad) in enumerate(lines):
        sides: list[Node] = [
            h("td", ui.segments(side, text), cls="xb-value", dir="auto", key=name)
            for name, side in zip(_SIDES, (gold, predicted), strict=True)
        ]
        if alone:
            empty = h("td", alone, cls="xb-quiet xb-alone", rowspan=span, key="alone")
            kept = row.gold_index is None
            sides = [sides[kept]] if at else [empty, sides[1]] if kept else [sides[0], empty]
        name = [h("th", "≠ " if is_bad else "", place, scope="row")] if named else []
        opens, closes = (first, [last]) if not at else ([], [])
        trs.append(h("tr", opens, name, sides, closes, cls="xb-failed" if is_bad else None))
    if not lines:
        trs = [h("tr", first, h("td", model.title(row), colspan=2 + named), last)]
    elif hidden:
        trs.append(h("tr", h("th", f"… {hidden:,} more", scope="row", colspan=2)))
    return h(
        "tbody",
        trs,
        key=f"{row.pair}",
        item=True,
        do="pair",
        send=list(row.pair),
        aria_current="true" if chosen else None,
        reveal=f"{row.pair}" if chosen else None,
        found=bool(text.strip()),
        cls=f"xb-row xb-t-{row.status}",
    )


def pair_detail(
    board: model.Board, row: model.Row, whole: set[int], *, on_page: bool = False
) -> Node:
    """Draw one pair, or an item without a partner, in full: a line per field and metric."""
    shown = board.detail(row, whole)
    scored = ("verdict",) if shown["scored"] else ()
    heads = [
        h("th", name, scope="col", key=name) for name in ("field", *shown["sides"], *scored)
    ] + [h("th", "PDF", scope="col", live=True)] * on_page
    rows = []
    for line in shown["rows"]:
        verdict = line["verdict"]
        name = line["place"] or "value"
        pages = [
            ui.button(
                side, "page", [line["at"], side], aria_label=f"Show {side} {name} on its page"
            )
            for side in line["paths"]
        ]
        cells = [
            h("th", line["place"], scope="row"),
            [_whole_value(line, side) for side in shown["sides"]],
            _verdict(verdict) if scored else None,
            h("td", pages, live=True) if on_page else None,
        ]
        is_bad = verdict is not None and verdict["outcome"] != "correct"
        rows.append(h("tr", cells, cls="xb-failed" if is_bad else None, key=line["at"]))
    left_out = (f"… {shown['more']:,} more fields. " if shown["more"] else "") + (
        f"Absent on both sides: {shown['absent']:,}." if shown["absent"] else ""
    )
    return h(
        "div",
        h("p", h("b", model.title(row))),
        h("p", shown["note"]) if shown["note"] else None,
        h("div", ui.table(heads, h("tbody", rows)), cls="xb-wide"),
        h("p", left_out, cls="xb-quiet") if left_out else None,
        key=f"pair {row.pair}",
    )


def _whole_value(line: dict[str, Any], side: str) -> Node:
    length = line["more"].get(side)
    label = f"Show all of {line['place'] or 'the value'}, {side}"
    rest = length and [
        h("em", f" ({length:,} characters) ", cls="xb-quiet"),
        ui.button("show all", "whole", line["at"], aria_label=label),
    ]
    return h("td", ui.segments(line[side]), rest, cls="xb-value", dir="auto")


def _noted(content: Content, *notes: str, **attributes: Any) -> Node:
    """Make a cell with notes below its content; an empty one is left out."""
    below = [h("div", note, cls="xb-quiet xb-value") for note in notes if note]
    return h("td", content, below, **attributes)


def _verdict(verdict: dict[str, Any] | None) -> Node:
    if verdict is None:
        return h("td", "not scored", cls="xb-quiet")
    metric = [(piece, h("wbr")) for piece in _WORDS.findall(verdict["metric"])]
    told = h("div", metric, f" · {verdict['reason']}" if verdict["reason"] else "", cls="xb-quiet")
    said = [ui.mark(verdict["outcome"]), " ", ui.score(verdict["score"]), told]
    return _noted(said, verdict["reasoning"], cls="xb-word")
