"""`MatchesView`: the items of one array, gold and predicted, and thresholds to try."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import ipywidgets
import pandas as pd
import traitlets

from extractbench_nb.display.html import element, table
from extractbench_nb.display.text import fitted
from extractbench_nb.errors import InputError, nearest
from extractbench_nb.evaluation.frames import chosen_array
from extractbench_nb.evaluation.result import Evaluation
from extractbench_nb.evaluation.thresholds import ALIGN, PASS, Knob
from extractbench_nb.widgets import matches_model as model
from extractbench_nb.widgets import panes as ui
from extractbench_nb.widgets import static
from extractbench_nb.widgets.static import MARKS, more, score_text, segments_html, twin

_PARTIAL = "A partial pair counts as one missed and one spurious item."


def counts_html(counts: dict[str, Any], note: str) -> str:
    """Write the counts as evaluated and at the present thresholds."""
    heads = ["", *counts["heads"]]
    numbers = range(1, len(heads) - 1)
    rows = [
        [element("b", name), *(element("span", text) for text in texts)]
        for name, texts, _ in counts["rows"]
        if name == "as evaluated" or counts["values"]
    ]
    changed = f"Thresholds: {counts['values']}. " if counts["values"] else ""
    told = f"{changed}{_PARTIAL} {note}"
    return table(heads, rows, list(numbers)) + element("p", told.strip(), "xb-quiet")


def page_html(page: dict[str, Any], told: str) -> str:
    """Write the rows of a page: one line per pair or item, what failed marked."""
    if not page["rows"]:
        return element("p", empty_text(page), "xb-empty")
    first, last, rows = (f"{page[name]:,}" for name in ("first", "last", "rows"))
    head = f"{told}. Rows {first} to {last} of {rows}:"
    theirs = {card["at"]: card for card in page["right"]}  # partners on one line, in gold's order
    pairs = [(card, theirs.get(card["partner"])) for card in page["left"]]
    pairs += [(None, card) for card in page["right"] if card["partner"] is None]
    body = []
    for left, right in pairs:
        card = left or right or {}
        failed = f" ({', '.join(card['failed'])})" if card["failed"] else ""
        status = f"{MARKS[card['status']]} {card['status']}{failed}"
        similarity = "–" if card["similarity"] is None else score_text(card["similarity"])
        places = [str(side["at"]) if side else "–" for side in (left, right)]
        items = [_item(left), _item(right)]
        body.append([*places, element("span", status), similarity, *items])
    heads = ("gold", "predicted", "status", "similarity", "gold item", "predicted item")
    hidden = page["rows"] - page["last"]
    return element("p", head) + table(heads, body, (0, 1, 3)) + more(hidden, "rows")


def empty_text(page: dict[str, Any]) -> str:
    """Say why no row is shown."""
    if page["all"]:
        return "No item matches; clear the filters."
    if page["items"]:
        return "The items were not aligned: the model that was asked gave no answer of use."
    return "Both arrays are empty: there is nothing to match."


def _item(card: dict[str, Any] | None) -> str:
    if card is None:
        return ""
    key = element("div", card["key"], "xb-quiet") if card["key"] else ""
    lines = []
    for place, side, failed in card["lines"]:
        name = f"{MARKS['incorrect']} " * failed + f"{place}: " * bool(place)
        tag, kind = ("b", "") if failed else ("span", "xb-quiet")
        lines.append(f"<div>{element(tag, name, kind) if name else ''}{segments_html(side)}</div>")
    rest = element("div", f"… {card['more']:,} more", "xb-quiet") if card["more"] else ""
    return key + "".join(lines) + rest


def detail_html(found: dict[str, Any]) -> str:
    """Write the chosen pair key by key."""
    similarity = found["similarity"]
    alike = "" if similarity is None else f", similarity {score_text(similarity)}"
    failed = f"; failed: {', '.join(found['failed'])}" if found["failed"] else ""
    head = element("h4", f"{found['title']}: {found['status']}{alike}{failed}")
    note = element("p", found["note"]) if found["note"] else ""
    scored = ("metric", "score", "outcome") if found["scored"] else ()
    heads = ("field", *found["sides"], *scored)
    rows = []
    for line in found["rows"]:
        cells = [element("b", line["place"])]
        for side in found["sides"]:
            length = line["more"].get(side)
            cut = element("em", f" ({length:,} characters)", "xb-quiet") if length else ""
            cells.append(segments_html(line[side]) + cut)
        verdict = line["verdict"]
        if scored and verdict is None:
            cells += [element("em", "not scored", "xb-quiet"), "", ""]
        elif scored:
            told = f"{static.outcome_text(verdict['outcome'])} ({verdict['reason']})"
            why = verdict["reasoning"]
            outcome = element("span", told) + (element("div", why, "xb-quiet") if why else "")
            score = score_text(verdict["score"])
            cells += [element("span", verdict["metric"]), score, outcome]
        rows.append(cells)
    numbers = [at for at, name in enumerate(heads) if name == "score"]
    return head + note + table(heads, rows, numbers) + element("p", left_out(found), "xb-quiet")


def left_out(found: dict[str, Any]) -> str:
    """Say what the list of fields does not show."""
    parts = []
    if found["more"]:
        parts.append(f"… {found['more']:,} more fields.")
    if found["absent"]:
        parts.append(f"Absent on both sides: {found['absent']:,}.")
    return " ".join(parts)


_WIDEST = 60
_OWN = {
    ALIGN: "align_threshold: from this similarity a pair is partial",
    PASS: "pass_threshold: from this score the array passes",
}


def _knob_text(knob: Knob) -> str:
    field = f"{fitted(knob.field, _WIDEST)}: {knob.metric} {knob.param}"
    return f"{_OWN.get(knob.key, field)} ({knob.declared:.2f})"


class CountsPane(ui.Pane, scripts=["matches/counts.js"]):
    """Counts as evaluated, and at the present thresholds."""


class PairsPane(ui.Pane, scripts=["matches/pairs.js"]):
    """The two columns of a page; `selected` has the indices of the chosen pair."""

    selected = traitlets.Any(None, allow_none=True).tag(sync=True)


class DetailPane(ui.Pane, scripts=["matches/detail.js"]):
    """The chosen pair field by field."""


_NOTHING_CHOSEN = "Choose an item, by a click or by Enter, to see its pair field by field."


class MatchesView(ui.View):
    """The items of an array: gold on the left, predicted on the right, lines between pairs.

    Attributes
    ----------
    path : str
        Instance path of the array. Another array can be assigned.
    selected_pair : tuple of (int or None, int or None) or None
        Gold index and predicted index of the chosen pair; None beside the index of an item without
        a partner, and None alone where nothing is chosen. A pair can be assigned; one index with
        None is enough.
    thresholds : dict of str to float
        The thresholds that differ from the declared ones: ``align_threshold`` and
        ``pass_threshold`` of the array, and those of its items' fields by field. Others can be
        assigned, each from 0 to 1; see `show_matches`.
    """

    path = traitlets.Unicode("")
    selected_pair = traitlets.Any(None, allow_none=True)
    thresholds = traitlets.Dict()

    def __init__(self, ev: Evaluation, path: str | None = None) -> None:
        if not isinstance(ev, Evaluation):
            raise InputError(
                f"ev is of type {type(ev).__name__}; expected one Evaluation, as evaluate() or "
                "Evaluations.evaluation(run, document) returns"
            )
        self._ev, self._arrays = ev, ev.arrays
        self._board = model.Board(ev, chosen_array(self._arrays, path))
        self._page, self._shown, self._whole = 0, list[model.Row](), set[int]()
        self._counts, self._pairs, self._detail = CountsPane(), PairsPane(), DetailPane()
        self._picker = ui.menu("Array")
        tuner, filters = self._make_tuner(), self._make_filters()
        super().__init__([self._picker, tuner, self._counts, filters, self._pairs, self._detail])
        self._pairs.on_event("page", self._page_asked, page=int)
        self._pairs.on_event("select", self._item_clicked, side=["gold", "predicted"], index=int)
        self._detail.on_event("whole", self._whole_asked, at=int)
        self.path = self._board.path
        self.link({"path": self._picker})

    def _make_tuner(self) -> ipywidgets.Widget:
        """Make the controls of one threshold: which, its value, back to those declared."""
        self._knob = ui.menu("Threshold", flex="1 1 300px")
        place = ipywidgets.Layout(flex="0 1 230px", min_width="0", margin="2px 10px 2px 2px")
        self._slider = ui.Slider(label="Value", layout=place)
        self._reset = ui.button("As declared", lambda: self.set_trait("thresholds", {}))
        self._knob.observe(self._knob_chosen, "value")
        self._slider.observe(self._value_chosen, "value")
        return ui.row(self._knob, self._slider, self._reset)

    def _make_filters(self) -> ipywidgets.Widget:
        self._status = ui.menu("Show", [("all", "")], flex="0 1 220px")
        self._sort = ui.menu("Order", model.SORTS, flex="0 1 250px")
        self._text = ui.search("Find", "a text in the items", flex="1 1 260px")
        for control in (self._status, self._sort, self._text):
            control.observe(self._filter_changed, "value")
        return ui.row(self._status, self._sort, self._text)

    # --- what Python code sets ---------------------------------------------------------------

    @traitlets.validate("path")
    def _known_array(self, proposal: Any) -> str:
        try:
            return chosen_array(self._arrays, proposal["value"])
        except InputError as error:
            raise traitlets.TraitError(str(error)) from None

    @traitlets.observe("path")
    def _array_changed(self, change: Any) -> None:
        if change["new"] != self._board.path:
            self._board = model.Board(self._ev, change["new"])
        path, knobs = self._board.path, self._board.array.knobs
        with self.quietly():
            self._picker.options = model.offered_arrays(self._arrays, path)
            self._picker.value = path
            self._knob.options = [(_knob_text(knob), knob.key) for knob in knobs]
            for part in (self._knob, self._slider, self._reset):
                part.disabled = not knobs
            if knobs:
                self._knob.value = knobs[0].key
            self._show_threshold()
        self._page = 0
        with self.hold_trait_notifications():
            self.selected_pair, self.thresholds = None, {}
        self._draw()

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
        if not set(change["new"]) <= {ALIGN, PASS}:
            self._show_counts("Aligning anew …")
        self._board.try_thresholds(change["new"])
        with self.quietly():
            self._show_threshold()
        if self.selected_pair is not None:  # stay with the item, whatever its pair is now
            gold_index, predicted_index = self.selected_pair
            one = (gold_index, None) if gold_index is not None else (None, predicted_index)
            self.selected_pair = one
        self._draw()

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
            raise traitlets.TraitError(f"there is no pair {tuple(value)!r}; {self._near(*value)}")
        return row.pair

    def _near(self, gold_index: int | None, predicted_index: int | None) -> str:
        rows = map(self._board.row_of, ((gold_index, None), (None, predicted_index)))
        found = dict.fromkeys(repr(near.pair) for near in rows if near is not None)
        if found:
            return f"there is {' and '.join(found)}"
        sizes = self._board.outcome.summary
        counts = f"{sizes['gold_items']} gold and {sizes['predicted_items']} predicted items"
        return f"there are {counts}, counted from 0"

    @traitlets.observe("selected_pair")
    def _pair_changed(self, change: Any) -> None:
        self._whole = set()
        pair = change["new"]
        at = next((i for i, row in enumerate(self._shown) if row.pair == pair), None)
        if at is not None and at // model.PAGE != self._page:
            self._page = at // model.PAGE
            self._draw_page()
        self._pairs.selected = None if pair is None else list(pair)
        self._draw_detail()

    # --- what the page asks ------------------------------------------------------------------

    def _show_threshold(self) -> None:
        if self._knob.value in self._board.knobs:
            self._slider.value = self._board.threshold(self._knob.value)

    def _knob_chosen(self, _: Any) -> None:
        if not self._updating:
            with self.quietly():
                self._show_threshold()

    def _value_chosen(self, change: Any) -> None:
        if not self._updating and self._knob.value in self._board.knobs:
            self.thresholds = {**self.thresholds, self._knob.value: change["new"]}

    def _filter_changed(self, _: Any) -> None:
        if not self._updating:
            self._page = 0
            self._draw_page()
            self._draw_detail()

    def _page_asked(self, page: int) -> None:
        if 0 <= page * model.PAGE < len(self._shown):
            self._page = page
            self._draw_page()

    def _item_clicked(self, side: str, index: int) -> None:
        pair = (index, None) if side == "gold" else (None, index)
        if self._board.row_of(pair) is not None:
            self.selected_pair = pair

    def _whole_asked(self, at: int) -> None:
        self._whole.add(at)
        self._draw_detail()

    # --- what is shown -----------------------------------------------------------------------

    def _draw(self) -> None:
        counts = model.counted(self._board.rows)
        named = [(f"{name} ({n:,})", name) for name, n in counts.items()]
        with self.quietly():
            kept = self._status.value
            self._status.options = [(f"all ({len(self._board.rows):,})", ""), *named]
            self._status.value = kept
        self._show_counts()
        self._draw_page()
        self._pair_changed({"new": self.selected_pair})

    def _draw_page(self) -> None:
        rows = model.ordered(self._board.rows, self._sort.value)
        self._shown = model.filtered(rows, self._status.value, self._text.value)
        self._page = min(self._page, max(0, (len(self._shown) - 1) // model.PAGE))
        self._pairs.show(self._page_model())

    def _draw_detail(self) -> None:
        hint = _NOTHING_CHOSEN if self._shown else ""
        self._detail.show(self._detail_model() or {"empty": hint})

    def _show_counts(self, told: str = "") -> None:
        counts = self._board.counts()
        changed = f"Changed: {counts['values']}." if counts["values"] else ""
        said = told or " ".join(filter(None, (changed, _PARTIAL, self._board.array.note)))
        self._counts.show({**counts, "told": said})

    def _page_model(self) -> dict[str, Any]:
        page = self._board.page(self._shown, self._page, self._sort.value)
        return {**page, "empty": empty_text(page)}

    def _detail_model(self) -> dict[str, Any] | None:
        row = None if self.selected_pair is None else self._board.row_of(self.selected_pair)
        if row is None:
            return None
        found = self._board.detail(row, self._whole)
        return {**found, "left_out": left_out(found)}

    # --- results -----------------------------------------------------------------------------

    @property
    def matches(self) -> pd.DataFrame:
        """The rows of ``Evaluation.matches`` of the array, at the present thresholds."""
        return self._board.outcome.matches.copy()

    @property
    def summary(self) -> pd.Series:
        """The row of ``Evaluation.arrays`` of the array, at the present thresholds."""
        return self._board.outcome.summary.rename("summary").copy()

    @property
    def rows(self) -> pd.DataFrame:
        """The rows of `matches` that the filters leave, in the order shown, on all pages."""
        places = {pair: at for at, pair in enumerate(r.pair for r in self._board.rows)}
        matches = self._board.outcome.matches
        return matches.iloc[[places[row.pair] for row in self._shown]].reset_index(drop=True)

    def _described(self) -> str:
        """Say in words which rows are shown, and how."""
        sort, status, text = self._sort.value, self._status.value, self._text.value
        parts = [f"Items in {sort}" if sort in model.SORTS[:2] else f"Items, {sort}"]
        if status:
            parts.append(f"only {status}")
        if text.strip():
            parts.append(f"with {fitted(text, _WIDEST)!r}")
        return ", ".join(parts)

    def to_html(self) -> str:
        """Write counts, the rows of the present page, and the chosen pair."""
        chosen = self._detail_model()
        return twin(
            repr(self),
            counts_html(self._board.counts(), self._board.array.note),
            page_html(self._page_model(), self._described()),
            detail_html(chosen) if chosen is not None else "",
        )

    def __repr__(self) -> str:
        """Say which array is shown, and what became of its items."""
        return f"Array matches · {self._board}"
