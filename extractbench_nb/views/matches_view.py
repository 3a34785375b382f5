"""`MatchesView`: the items of one array, gold beside predicted, and thresholds to try."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

import pandas as pd
import traitlets

from extractbench_nb.core import Evaluation
from extractbench_nb.errors import InputError, nearest
from extractbench_nb.support.nodes import Node, h
from extractbench_nb.support.wording import fitted, plural, ratio_text
from extractbench_nb.views import controls as ui
from extractbench_nb.views.matches_drawing import field_chips, pair_detail, pairs, sums_table
from extractbench_nb.views.matches_model import (
    ORDERS,
    SORTED,
    STATUSES,
    Board,
    Row,
    ordered,
)
from extractbench_nb.views.view import Choice, View, checked_name, part

_SIDES = ("gold", "predicted")
#: Rows on a page, and arrays in the menu.
PAGE, _MOST_ARRAYS, _WIDEST = 25, 200, 60


class MatchesView(View):
    """The items of an array in pairs: gold and predicted side by side.

    Attributes
    ----------
    path : str
        Instance path of the array. Another array can be assigned.
    selected_pair : tuple of (int or None, int or None) or None
        Gold index and predicted index of the chosen pair, None beside the index of an item without
        a partner. Filters that would hide it are cleared.
    thresholds : dict of str to float
        The thresholds that differ from the declared ones, 0 to 1: ``align_threshold`` and
        ``pass_threshold`` of the array, and those of its items' metrics by field.
    status : str
        The only status to list: ``matched``, ``differing``, ``missed`` or ``spurious``.
    field : str
        The only field that pairs must fail in, below the array, such as ``nights``.
    text : str
        What one of the two items must contain, in any case of letters.
    sort : str
        The order: ``failing`` first, ``pairs`` in gold's order, or least ``similarity`` first.
    page : int
        The page of rows that is shown, from 0.
    """

    kind = "matches"
    styles = ("pairs.css", "matches.css")
    settable = frozenset({"path", "status", "field", "text", "sort", "page"})
    path = traitlets.Unicode("")
    selected_pair = traitlets.Any(None, allow_none=True)
    thresholds = traitlets.Dict()
    status = Choice("")
    text = traitlets.Unicode("")
    field = Choice("")
    sort = Choice("failing")
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
        self._ev, self._variable, self._pdf = ev, checked_name(name), pdf
        self._use(Board(ev, ev.array_path(path)))
        super().__init__(path=self._board.path)

    def _use(self, board: Board) -> None:
        self._board, self._whole, self._unfolded = board, set[int](), False

    @property
    def _listed(self) -> list[Row]:
        """The rows that the filters leave, in order."""
        return [
            row
            for row in ordered(self._board.rows, self.sort)
            if self.status in ("", row.status)
            and (not self.field or self.field in self._board.failing(row))
            and (not self.text.strip() or self._board.has_text(row, self.text))
        ]

    @property
    def _in_list(self) -> list[Row]:
        """Those that are not folded: matched ones are, unless something else is asked for."""
        listed, chosen = self._listed, self._chosen
        if self._unfolded or self.sort != "failing" or self.status or self.text.strip():
            return listed
        return [row for row in listed if row.status != "matched" or row is chosen] or listed

    @property
    def _chosen(self) -> Row | None:
        return None if self.selected_pair is None else self._board.row_of(self.selected_pair)

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
                self.field = ""
                self._use(Board(self._ev, change["new"]))
                self.thresholds, self.page = {}, 0

    def choices(self, trait: str) -> Iterable[str]:
        """Return the statuses, the orders, or the fields that pairs fail in."""
        return {"status": STATUSES, "sort": ORDERS, "field": self._board.sums}[trait]

    @traitlets.validate("page")
    def _existing_page(self, proposal: Any) -> int:
        return ui.page_of(len(self._in_list), proposal["value"], PAGE).number

    @traitlets.validate("thresholds")
    def _known_thresholds(self, proposal: Any) -> dict[str, float]:
        declared = self._board.declared
        for name, value in proposal["value"].items():
            is_share = type(value) in (int, float) and 0 <= value <= 1
            if name not in declared or not is_share:
                wanted = f"a number from 0 to 1; {nearest(name, declared)}"
                raise traitlets.TraitError(f"thresholds has {name!r}: {value!r}; expected {wanted}")
        values = {n: float(v) for n, v in proposal["value"].items() if v != declared[n]}
        if values != self._board.values:
            try:
                self._board.try_thresholds(values)
            except InputError as error:
                raise traitlets.TraitError(str(error)) from None
        return values

    @traitlets.observe("thresholds")
    def _thresholds_changed(self, _: Any) -> None:
        with self.changing():
            if self.selected_pair is not None:  # stay with the item, whatever its pair is now
                gold, predicted = self.selected_pair
                row = self._board.row_of((gold, None) if gold is not None else (None, predicted))
                self.selected_pair = row.pair if row in self._listed else None
            self.page = self.page  # there may be fewer

    @traitlets.observe("status", "field", "text", "sort")
    def _filters_changed(self, _: Any) -> None:
        with self.changing():
            if self._chosen not in self._listed:
                self.selected_pair = None
            self._turn_to_chosen()

    def _turn_to_chosen(self) -> None:
        row = self._chosen
        self.page = 0 if row is None else self._in_list.index(row) // PAGE

    @traitlets.validate("selected_pair")
    def _known_pair(self, proposal: Any) -> tuple[int | None, int | None] | None:
        value = proposal["value"]
        if value is None:
            return None
        is_pair = isinstance(value, tuple | list) and len(value) == len(_SIDES)
        if not is_pair or (row := self._board.row_of(tuple(value))) is None:
            raise traitlets.TraitError(
                f"there is no pair {value!r}; expected (gold index, predicted index) of a row of "
                "view.matches, with None for an item without a partner"
            )
        return row.pair

    @traitlets.observe("selected_pair")
    def _pair_changed(self, _: Any) -> None:
        self._whole = set()
        if self._chosen is not None:
            with self.changing():
                if self._chosen not in self._listed:
                    self.do_clear(None)
                self._turn_to_chosen()

    # --- what the page asks ------------------------------------------------------------------

    def do_pair(self, pair: Any) -> None:
        """Open a pair, or close it where it is open."""
        if isinstance(pair, list) and tuple(pair) in [row.pair for row in self._board.rows]:
            self.selected_pair = None if tuple(pair) == self.selected_pair else pair

    def do_close(self, _: Any) -> None:
        """Close the chosen pair."""
        self.selected_pair = None

    def do_clear(self, _: Any) -> None:
        """Remove the filters."""
        with self.hold_trait_notifications():
            self.status = self.text = self.field = ""

    def do_unfold(self, _: Any) -> None:
        """List the matched pairs too, or fold them again."""
        self._unfolded = not self._unfolded

    def do_whole(self, at: Any) -> None:
        """Show all of the values at a place of the chosen pair."""
        if type(at) is int:
            self._whole.add(at)

    def do_align(self, value: Any) -> None:
        """Move ``align_threshold``."""
        self._try("align_threshold", value)

    def do_pass(self, value: Any) -> None:
        """Move ``pass_threshold``."""
        self._try("pass_threshold", value)

    def _try(self, name: str, value: Any) -> None:
        with suppress(traitlets.TraitError):
            self.thresholds = {**self.thresholds, name: value}

    def do_declared(self, _: Any) -> None:
        """Set all thresholds back."""
        self.thresholds = {}

    def do_page(self, number: Any) -> None:
        """Open the PDF page where the value at a place of the chosen pair is."""
        from extractbench_nb.views.evidence_view import evidence_of

        if self._chosen is None or self._pdf is None:
            return
        for place in self._board.places(self._chosen, ())[0]:
            if place.number == number and place.field is not None:
                side = _SIDES[place.field.gold_state == "missing"]
                view = evidence_of(place.field, None, self._pdf, self._ev, side=side)
                self.open_view(view, f"PDF, {side}")

    # --- what is shown -----------------------------------------------------------------------

    def draw(self) -> dict[str, Node]:
        """Draw the cause, chips that filter, the list, and beside it a pair or the sums."""
        board, row = self._board, self._chosen
        score = board.summary["score"]
        value = "n/a" if score is pd.NA else ratio_text(score)
        detail = sums_table(board, self.field)
        if row is not None:
            detail = pair_detail(board, row, self._whole, on_page=self._pdf is not None)
        return {
            "page": h(
                "div",
                h("p", self.title, cls="xb-title", live=True),
                ui.headline(value, ui.sentence(board.cause)),
                part("tools"),
                ui.split(part("rows"), part("detail")),
                part("sums"),
            ),
            "tools": self._tools(),
            "rows": self._rows(),
            "detail": h("div", detail, cls="xb-detail", key=f"{row and row.pair}"),
            "sums": h("div", self._counts(), self._thresholds(), cls="xb-sums"),
        }

    def _tools(self) -> Node:
        counts = Counter(row.status for row in self._board.rows)
        outermost = self._ev.arrays.sort_values(
            "path", key=lambda paths: paths.str.count(r"\["), kind="stable"
        ).head(_MOST_ARRAYS)
        arrays = {
            row.path: f"{ui.shortened(str(row.path), 30)}: {row.gold_items:,} gold, "
            f"{row.predicted_items:,} predicted"
            for row in outermost.itertuples()
        }
        arrays.setdefault(self._board.path, ui.shortened(self._board.path, 60))
        active = bool(self.status) + bool(self.text.strip()) + bool(self.field)
        shown = [(name, ui.mark(name), counts[name]) for name in STATUSES if counts[name]]
        hint = "text in the items"
        return h(
            "div",
            ui.toolbar(
                ui.menu("Array", "set:path", arrays, self._board.path) if len(arrays) > 1 else None,
                ui.filters(
                    active,
                    ui.menu("Order", "set:sort", ORDERS, self.sort),
                    ui.search("Find a text in the items", "set:text", self.text, hint, "rows"),
                ),
                ui.button("Clear filters", "clear") if active else None,
            ),
            h(
                "div",
                ui.chips("Items by status", "toggle:status", shown, self.status),
                field_chips(self._board, "toggle:field", self.field),
                cls="xb-by-chips",
            ),
        )

    def _counts(self) -> Node:
        """Write the measures as evaluated, and at the present thresholds where these differ."""
        board = self._board
        lines = {"Now": board.summary, "As evaluated": board.evaluated} if board.values else {}
        told = [f"{name}: {_measures(one)}." for name, one in lines.items()]
        told = told or [f"{_measures(board.summary).capitalize()}.", board.note]
        return h("div", [h("p", text, cls="xb-quiet") for text in told if text], role="status")

    def _thresholds(self) -> Node | None:
        board = self._board
        sliders = [
            ui.slider(f"{name} ({declared:g})", do, board.values.get(name, declared), (0, 1), 0.01)
            for do, (name, declared) in zip(("align", "pass"), board.declared.items(), strict=False)
        ]
        reset = ui.button("As declared", "declared", disabled=not board.values)
        changed = len(board.values)
        return ui.filters(changed, sliders, reset, label="Try thresholds") if sliders else None

    def _rows(self) -> Node:
        board, chosen, in_list, listed = self._board, self._chosen, self._in_list, self._listed
        cut = ui.page_of(len(in_list), self.page, PAGE)
        parts = [ORDERS[self.sort]]
        parts += [f"only {self.status}"] if self.status else []
        parts += [f"failing in {fitted(self.field, _WIDEST)}"] if self.field else []
        parts += [f"with {fitted(self.text, _WIDEST)!r}"] if self.text.strip() else []
        which, folded = ", ".join(parts), len(listed) - len(in_list)
        fold = f"{folded:,} matched ▸" if folded else "Fold matched ▾" if self._unfolded else ""
        table = pairs(board, cut.of(in_list), chosen, self.text)
        return h(
            "div",
            ui.listed(f"{len(listed):,} of {plural(len(board.rows), 'row')}, {which}", cut, "rows"),
            h("p", f"{ui.shown_text(cut, 'Rows')}, {which}", static=True),
            h("div", table, cls="xb-scroll", scroll=True, escape="close" if chosen else None)
            if in_list
            else h("p", self._why_empty(), cls="xb-empty"),
            ui.button(fold, "unfold") if fold else None,
            ui.more(cut.total - cut.last, "rows", static=True),
            ui.more(folded, "matched", static=True),
            ui.code(self.code, self._variable),
            id="rows",
        )

    def _why_empty(self) -> str:
        if self._board.rows:
            return "No item matches; clear the filters."
        if self._board.summary[["gold_items", "predicted_items"]].sum():
            return "The items were not aligned: the model gave no answer of use."
        return "Both arrays are empty: there is nothing to match."

    # --- results -----------------------------------------------------------------------------

    @property
    def matches(self) -> pd.DataFrame:
        """The rows of ``Evaluation.matches`` of the array, at the present thresholds."""
        return self._board.matches.copy()

    @property
    def summary(self) -> pd.Series:
        """The row of ``Evaluation.arrays`` of the array, at the present thresholds."""
        return self._board.summary.rename("summary").copy()

    @property
    def rows(self) -> pd.DataFrame:
        """The rows of `matches` that the filters leave, in the order shown, on all pages."""
        return self.matches.iloc[self._places(self._listed)].reset_index(drop=True)

    @property
    def code(self) -> str:
        """A line of pandas that gives `rows`: of ``ev.matches``, or of ``view.matches``.

        At other thresholds than those declared, `matches` of this view has the rows.
        """
        source, frame, labels = "view.matches", self._board.matches, self._places(self._listed)
        terms = {"status": self.status} if self.status else {}
        if not self._board.values:
            source, frame = f"{self._variable}.matches", self._ev.matches
            own = frame.index[frame["path"] == self._board.path]
            labels, terms = own[labels].tolist(), {"path": self._board.path, **terms}
        by_label = f".loc[{labels}]"
        if self.text.strip() or self.field:
            return source + by_label
        conditions = [ui.equal_term(frame, column, [name]) for column, name in terms.items()]
        return ui.selection_code(source, conditions, by_label, SORTED[self.sort])

    def _places(self, rows: Sequence[Row]) -> list[int]:
        places = {row.pair: at for at, row in enumerate(self._board.rows)}
        return [places[row.pair] for row in rows]

    @property
    def title(self) -> str:
        """The array."""
        return f"Array matches · {fitted(self._board.path, 90)}"

    def __repr__(self) -> str:
        """Say which array is shown, and what became of its items."""
        return f"Array matches · {self._board}"


def _measures(summary: pd.Series) -> str:
    counts = [f"{summary[name]:,} {name}" for name in STATUSES]
    ratios = [
        f"{name} {'n/a' if pd.isna(summary[name]) else ratio_text(summary[name])}"
        for name in ("precision", "recall", "f1", "score")
    ]
    verdict = {True: "passes", False: "fails"}.get(summary["passed"], "no verdict")
    return ", ".join([*counts, *ratios, verdict])
