"""`MatchesView`: the items of one array, gold and predicted, and thresholds to try."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import ipywidgets
import pandas as pd
import traitlets

from extractbench_nb.display.sides import Segment
from extractbench_nb.display.text import fitted
from extractbench_nb.errors import InputError
from extractbench_nb.evaluation.frames import chosen_array
from extractbench_nb.evaluation.result import Evaluation
from extractbench_nb.evaluation.thresholds import ALIGN, PASS, Knob
from extractbench_nb.widgets.matches_model import (
    PAGE,
    SORTS,
    STATUSES,
    Board,
    Pair,
    Row,
    counted,
    filtered,
    offered_arrays,
)
from extractbench_nb.widgets.static import (
    MARKS,
    asset,
    element,
    score_text,
    segments_html,
    table,
    twin,
)
from extractbench_nb.widgets.view import Pane, Slider, View

__all__ = []


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
    told = changed + "A partial pair counts as one missed and one spurious item. " + note
    return table(heads, rows, list(numbers)) + element("p", told.strip(), "xb-quiet")


def page_html(page: dict[str, Any], told: str) -> str:
    """Write the rows of a page: one line per pair or item, what failed marked."""
    if not page["rows"]:
        return element("p", empty_text(page), "xb-empty")
    first, last, rows = (f"{page[name]:,}" for name in ("first", "last", "rows"))
    head = f"{told}. Rows {first} to {last} of {rows}:"
    body = [_line(left, right) for left, right in _pairs(page["left"], page["right"])]
    heads = ("gold", "predicted", "status", "similarity", "gold item", "predicted item")
    hidden = page["rows"] - page["last"]
    more = element("p", f"… {hidden:,} more rows") if hidden else ""
    return element("p", head) + table(heads, body, (0, 1, 3)) + more


def empty_text(page: dict[str, Any]) -> str:
    """Say why no row is shown."""
    if page["all"]:
        return "No item matches; clear the filters."
    if page["items"]:
        return "The items were not aligned: the model that was asked gave no answer of use."
    return "Both arrays are empty: there is nothing to match."


def _pairs(
    left: Sequence[dict[str, Any]], right: Sequence[dict[str, Any]]
) -> list[tuple[dict[str, Any] | None, dict[str, Any] | None]]:
    """Put partners on one line, in the order of the gold items; then those without a partner."""
    theirs = {card["at"]: card for card in right}
    paired = [(card, theirs.get(card["partner"])) for card in left]
    return [*paired, *((None, card) for card in right if card["partner"] is None)]


def _line(left: dict[str, Any] | None, right: dict[str, Any] | None) -> list[str]:
    card = left or right or {}
    status = card["status"]
    failed = f" ({', '.join(card['failed'])})" if card["failed"] else ""
    similarity = card["similarity"]
    return [
        *(str(side["at"]) if side else "–" for side in (left, right)),
        element("span", f"{MARKS[status]} {status}{failed}"),
        "–" if similarity is None else score_text(similarity),
        _item(left),
        _item(right),
    ]


def _item(card: dict[str, Any] | None) -> str:
    if card is None:
        return ""
    key = element("div", card["key"], "xb-quiet") if card["key"] else ""
    lines = [
        f"<div>{_place(place, failed)}{_side(side)}</div>" for place, side, failed in card["lines"]
    ]
    more = element("div", f"… {card['more']:,} more", "xb-quiet") if card["more"] else ""
    return key + "".join(lines) + more


def _place(place: str, failed: bool) -> str:
    mark = f"{MARKS['incorrect']} " if failed else ""
    name = f"{mark}{place}: " if place else mark
    return element("b" if failed else "span", name, "" if failed else "xb-quiet") if name else ""


def _side(side: Sequence[Sequence[str]]) -> str:
    return segments_html(Segment(*piece) for piece in side)


def detail_html(model: dict[str, Any]) -> str:
    """Write the chosen pair key by key."""
    similarity = model["similarity"]
    alike = "" if similarity is None else f", similarity {score_text(similarity)}"
    failed = f"; failed: {', '.join(model['failed'])}" if model["failed"] else ""
    head = element("h4", f"{model['title']}: {model['status']}{alike}{failed}")
    note = element("p", model["note"]) if model["note"] else ""
    scored = ("metric", "score", "outcome") if model["scored"] else ()
    heads = ("field", *model["sides"], *scored)
    rows = [_detail_line(row, model) for row in model["rows"]]
    numbers = [at for at, name in enumerate(heads) if name == "score"]
    return head + note + table(heads, rows, numbers) + element("p", left_out(model), "xb-quiet")


def left_out(model: dict[str, Any]) -> str:
    """Say what the list of fields does not show."""
    parts = []
    if model["more"]:
        parts.append(f"… {model['more']:,} more fields.")
    if model["absent"]:
        parts.append(f"Absent on both sides: {model['absent']:,}.")
    return " ".join(parts)


def _detail_line(row: dict[str, Any], model: dict[str, Any]) -> list[str]:
    values = [element("b", row["place"])]
    for side in model["sides"]:
        length = row["more"].get(side)
        cut = element("em", f" ({length:,} characters)", "xb-quiet") if length else ""
        values.append(_side(row[side]) + cut)
    return [*values, *(_verdict_html(row["verdict"]) if model["scored"] else ())]


def _verdict_html(verdict: dict[str, Any] | None) -> list[str]:
    if verdict is None:
        return [element("em", "not scored", "xb-quiet"), "", ""]
    outcome = verdict["outcome"]
    why = f"{MARKS.get(outcome, '')} {outcome.replace('_', ' ')} ({verdict['reason']})"
    reasoning = element("div", verdict["reasoning"], "xb-quiet") if verdict["reasoning"] else ""
    return [
        element("span", verdict["metric"]),
        score_text(verdict["score"]),
        element("span", why) + reasoning,
    ]


_WIDEST = 60
_OWN = {
    ALIGN: "align_threshold: from this similarity a pair is partial",
    PASS: "pass_threshold: from this score the array passes",
}


def _row(*parts: ipywidgets.Widget) -> ipywidgets.Box:
    flow = ipywidgets.Layout(flex_flow="row wrap", align_items="center", width="100%")
    return ipywidgets.Box(parts, layout=flow)


def _layout(width: int, *, grows: bool = False) -> ipywidgets.Layout:
    flex = f"{int(grows)} 1 {width}px"
    return ipywidgets.Layout(flex=flex, width="auto", min_width="0", margin="2px 10px 2px 0")


class Tuner(traitlets.HasTraits):
    """Which threshold is changed, and its value.

    Attributes
    ----------
    box : ipywidgets.Widget
        What is shown.
    key : str
        The threshold, empty if there is none.
    value : float
        Its value.
    """

    key = traitlets.Unicode("")
    value = traitlets.Float(0.5)

    def __init__(self) -> None:
        super().__init__()
        self._which = ipywidgets.Dropdown(description="Threshold", layout=_layout(300, grows=True))
        self.slider = Slider(label="Value", layout=_layout(230))
        self.reset = ipywidgets.Button(description="As declared", layout=_layout(100))
        self.box = _row(self._which, self.slider, self.reset)
        traitlets.link((self, "value"), (self.slider, "value"))
        self._which.observe(self._chosen, "value")

    def _chosen(self, change: Any) -> None:
        self.key = change["new"] or ""

    def offer(self, knobs: Sequence[Knob]) -> None:
        """Let one of these thresholds be changed; without any all is switched off."""
        self._which.options = [(_told(knob), knob.key) for knob in knobs]
        for part in (self._which, self.slider, self.reset):
            part.disabled = not knobs
        if knobs:
            self._which.value = knobs[0].key
        self.key = knobs[0].key if knobs else ""


def _told(knob: Knob) -> str:
    if knob.key in _OWN:
        return f"{_OWN[knob.key]} ({knob.declared:.2f})"
    return f"{fitted(knob.field, _WIDEST)}: {knob.metric} {knob.param} ({knob.declared:.2f})"


class Filters(traitlets.HasTraits):
    """Which rows are shown, and in which order.

    Attributes
    ----------
    box : ipywidgets.Widget
        What is shown.
    status : str
        One of `STATUSES`, empty for all.
    sort : str
        One of `SORTS`.
    text : str
        What the items must hold.
    """

    status = traitlets.Unicode("")
    sort = traitlets.Unicode(SORTS[0])
    text = traitlets.Unicode("")

    def __init__(self) -> None:
        super().__init__()
        self._status = ipywidgets.Dropdown(description="Show", layout=_layout(220))
        self._sort = ipywidgets.Dropdown(options=SORTS, description="Order", layout=_layout(250))
        self._text = ipywidgets.Text(
            description="Find",
            placeholder="a text in the items",
            layout=_layout(260, grows=True),
        )
        self.box = _row(self._status, self._sort, self._text)
        self.count({})
        traitlets.link((self, "sort"), (self._sort, "value"))
        traitlets.link((self, "text"), (self._text, "value"))
        traitlets.link((self, "status"), (self._status, "value"))

    def count(self, counts: dict[str, int]) -> None:
        """Write the number of rows beside each status."""
        kept = self.status
        total = f" ({sum(counts.values()):,})" if counts else ""
        named = [(f"{name} ({counts.get(name, 0):,})", name) for name in STATUSES]
        with self.hold_trait_notifications():
            self._status.options = [(f"all{total}", ""), *named]
            self._status.value = kept

    def describe(self) -> str:
        """Say in words which rows are shown, and how."""
        parts = [f"Items in {self.sort}" if self.sort in SORTS[:2] else f"Items, {self.sort}"]
        if self.status:
            parts.append(f"only {self.status}")
        if self.text.strip():
            parts.append(f"with {fitted(self.text, _WIDEST)!r}")
        return ", ".join(parts)


class CountsPane(Pane):
    """Counts as evaluated, and at the present thresholds."""

    _esm = asset("shared/dom.js", "matches/counts.js")
    _css = asset("shared/base.css", "matches/matches.css")


class PairsPane(Pane):
    """The two columns of a page; `selected` has the indices of the chosen pair."""

    _esm = asset("shared/dom.js", "matches/pairs.js")
    _css = asset("shared/base.css", "matches/matches.css")

    selected = traitlets.Any(None, allow_none=True).tag(sync=True)


class DetailPane(Pane):
    """The chosen pair field by field."""

    _esm = asset("shared/dom.js", "matches/detail.js")
    _css = asset("shared/base.css", "matches/matches.css")


_NOTHING_CHOSEN = "Choose an item, by a click or by Enter, to see its pair field by field."
_PARTIAL = "A partial pair counts as one missed and one spurious item."


class MatchesView(View):
    """The items of an array: gold on the left, predicted on the right, lines between pairs.

    Parameters
    ----------
    ev : Evaluation
        The evaluation.
    path : str, optional
        The array: its instance path, ``$.authors``, or its field, ``authors`` or ``authors[]``,
        where the field has one array. May be left out where the evaluation has one array.

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
        assigned, each from 0 to 1.

    Raises
    ------
    InputError
        `ev` is not an Evaluation, or no array is meant, or more than one.

    Notes
    -----
    A change of ``align_threshold`` or ``pass_threshold`` decides the recorded pairs anew: the
    alignment does not depend on them. At another threshold of a field the items are aligned anew by
    the offline judge. Where another judge, an alignment of the user's or a metric that is awaited
    took part, nothing is asked again: thresholds are applied to the recorded pairs and scores, and
    the view says so. After pickling there are no records, and thresholds are fixed.
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
        self._board = Board(ev, chosen_array(self._arrays, path))
        self._page, self._shown, self._whole = 0, list[Row](), set[int]()
        self._updating = False
        self._make_parts()
        super().__init__(
            [
                self._picker,
                self._tuner.box,
                self._counts,
                self._filters.box,
                self._pairs,
                self._detail,
            ],
            layout=ipywidgets.Layout(width="100%"),
        )
        self._wire()
        self.path = self._board.path

    def _make_parts(self) -> None:
        wide = ipywidgets.Layout(width="auto", max_width="100%")
        self._picker = ipywidgets.Dropdown(description="Array", layout=wide)
        self._tuner, self._filters = Tuner(), Filters()
        self._counts, self._pairs, self._detail = CountsPane(), PairsPane(), DetailPane()

    def _wire(self) -> None:
        self._picker.observe(self._array_picked, "value")
        self._tuner.observe(self._knob_chosen, "key")
        self._tuner.observe(self._value_chosen, "value")
        self._tuner.reset.on_click(lambda _: self.set_trait("thresholds", {}))
        self._filters.observe(self._filter_changed)
        self._pairs.on_event("page", self._page_asked)
        self._pairs.on_event("select", self._item_clicked)
        self._detail.on_event("whole", self._whole_asked)

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
            self._board = Board(self._ev, change["new"])
        self._quietly(self._offer)
        self._page = 0
        with self.hold_trait_notifications():
            self.selected_pair, self.thresholds = None, {}
        self._draw()

    def _offer(self) -> None:
        path = self._board.path
        self._picker.options = offered_arrays(self._arrays, path)
        self._picker.value = path
        self._tuner.offer(self._board.array.knobs)
        self._show_threshold()

    @traitlets.validate("thresholds")
    def _known_thresholds(self, proposal: Any) -> dict[str, float]:
        values: Mapping[str, float] = proposal["value"]
        problem = self._board.problem_with(values)
        if problem is not None:
            raise traitlets.TraitError(problem)
        declared = {key: knob.declared for key, knob in self._board.knobs.items()}
        return {key: float(v) for key, v in values.items() if v != declared[key]}

    @traitlets.observe("thresholds")
    def _thresholds_changed(self, change: Any) -> None:
        if change["new"] == self._board.values:
            return
        if not set(change["new"]) <= {ALIGN, PASS}:
            self._counts.show(self._counts_model("Aligning anew …"))
        self._board.try_thresholds(change["new"])
        self._quietly(self._show_threshold)
        self._keep_selection()
        self._draw()

    def _keep_selection(self) -> None:
        """Stay with the chosen item where its pair is another one now."""
        if self.selected_pair is not None:
            gold_index, predicted_index = self.selected_pair
            one = (gold_index, None) if gold_index is not None else (None, predicted_index)
            self.selected_pair = one

    @traitlets.validate("selected_pair")
    def _known_pair(self, proposal: Any) -> Pair | None:
        value = proposal["value"]
        if value is None:
            return None
        if not _is_pair(value):
            raise traitlets.TraitError(
                f"selected_pair is {value!r}; expected (gold index, predicted index), "
                "one of them may be None, or None"
            )
        row = self._board.row_of(tuple(value))
        if row is None:
            raise traitlets.TraitError(f"{tuple(value)!r} is no pair; {self._near(tuple(value))}")
        return row.pair

    def _near(self, pair: Pair) -> str:
        rows = [self._board.row_of(one) for one in ((pair[0], None), (None, pair[1]))]
        found = [repr(row.pair) for row in rows if row is not None]
        sizes = self._board.outcome.summary
        return (
            f"there is {' and '.join(dict.fromkeys(found))}"
            if found
            else f"there are {sizes['gold_items']} gold and {sizes['predicted_items']} "
            "predicted items, counted from 0"
        )

    @traitlets.observe("selected_pair")
    def _pair_changed(self, change: Any) -> None:
        self._whole = set()
        pair = change["new"]
        at = next((i for i, row in enumerate(self._shown) if row.pair == pair), None)
        if at is not None and at // PAGE != self._page:
            self._page = at // PAGE
            self._draw_page()
        self._pairs.selected = None if pair is None else list(pair)
        self._draw_detail()

    # --- what the page asks ------------------------------------------------------------------

    def _quietly(self, act: Any) -> None:
        """Change controls without taking it for the reader's wish."""
        self._updating = True
        try:
            act()
        finally:
            self._updating = False

    def _show_threshold(self) -> None:
        if self._tuner.key in self._board.knobs:
            self._tuner.value = self._board.threshold(self._tuner.key)

    def _array_picked(self, change: Any) -> None:
        if not self._updating and change["new"] is not None:
            self.path = change["new"]

    def _knob_chosen(self, _: Any) -> None:
        if not self._updating:
            self._quietly(self._show_threshold)

    def _value_chosen(self, change: Any) -> None:
        if not self._updating and self._tuner.key in self._board.knobs:
            self.thresholds = {**self.thresholds, self._tuner.key: change["new"]}

    def _filter_changed(self, _: Any) -> None:
        if not self._updating:
            self._page = 0
            self._draw_page()
            self._draw_detail()

    def _page_asked(self, content: dict[str, Any]) -> None:
        page = content.get("page")
        if isinstance(page, int) and 0 <= page * PAGE < len(self._shown):
            self._page = page
            self._draw_page()

    def _item_clicked(self, content: dict[str, Any]) -> None:
        index = content.get("index")
        pair = (index, None) if content.get("side") == "gold" else (None, index)
        if isinstance(index, int) and self._board.row_of(pair) is not None:
            self.selected_pair = pair

    def _whole_asked(self, content: dict[str, Any]) -> None:
        if isinstance(content.get("at"), int):
            self._whole.add(content["at"])
            self._draw_detail()

    # --- what is shown -----------------------------------------------------------------------

    def _draw(self) -> None:
        self._quietly(lambda: self._filters.count(counted(self._board.rows)))
        self._counts.show(self._counts_model())
        self._draw_page()
        self._pair_changed({"new": self.selected_pair})

    def _draw_page(self) -> None:
        self._shown = filtered(
            self._board.in_order(self._filters.sort), self._filters.status, self._filters.text
        )
        self._page = min(self._page, max(0, (len(self._shown) - 1) // PAGE))
        self._pairs.show(self._page_model())

    def _draw_detail(self) -> None:
        hint = _NOTHING_CHOSEN if self._shown else ""
        self._detail.show(self._detail_model() or {"empty": hint})

    def _counts_model(self, told: str = "") -> dict[str, Any]:
        counts = self._board.counts()
        changed = f"Changed: {counts['values']}." if counts["values"] else ""
        note = self._board.array.note
        return {**counts, "told": told or " ".join(filter(None, (changed, _PARTIAL, note)))}

    def _page_model(self) -> dict[str, Any]:
        page = self._board.page(self._shown, self._page, self._filters.sort)
        return {**page, "empty": empty_text(page)}

    def _detail_model(self) -> dict[str, Any] | None:
        row = None if self.selected_pair is None else self._board.row_of(self.selected_pair)
        if row is None:
            return None
        model = self._board.detail(row, self._whole)
        return {**model, "left_out": left_out(model)}

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

    def to_html(self) -> str:
        """Write counts, the rows of the present page, and the chosen pair."""
        chosen = self._detail_model()
        return twin(
            repr(self),
            counts_html(self._board.counts(), self._board.array.note),
            page_html(self._page_model(), self._filters.describe()),
            detail_html(chosen) if chosen is not None else "",
        )

    def __repr__(self) -> str:
        """Say which array is shown, and what became of its items."""
        return f"Array matches · {self._board}"


def _is_pair(value: Any) -> bool:
    size = len(("gold", "predicted"))
    if not isinstance(value, tuple | list) or len(value) != size:
        return False
    return all(part is None or type(part) is int for part in value)
