"""`EvaluationView`: the schema's tree and the fields of the selected node."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Sequence
from functools import reduce
from operator import and_
from pathlib import Path
from typing import Any, NamedTuple

import pandas as pd
import traitlets

from extractbench_nb.core import OUTCOMES, Evaluation, find_causes
from extractbench_nb.errors import nearest
from extractbench_nb.support.nodes import Node, h
from extractbench_nb.support.wording import (
    accepted_text,
    clean,
    one_line,
    plural,
    ratio_text,
    trimmed,
    value_text,
)
from extractbench_nb.views import controls as ui
from extractbench_nb.views.matches_model import Board, ordered
from extractbench_nb.views.matches_view import field_chips, pair_detail, pairs, sums_table
from extractbench_nb.views.schema_view import SchemaTree, resolved_path, schema_tree
from extractbench_nb.views.sides import MOST, Segment, excerpts, whole
from extractbench_nb.views.static import MARKS, outcome_text, score_text
from extractbench_nb.views.view import View, checked_name, known, part

_LONGEST_LINE, _LONGEST_SHOWN_PATH = 400, 200


class Filters(NamedTuple):
    """Conditions that a row must meet; ``text`` is looked for in path, gold and predicted value."""

    node: str = ""
    outcome: str = ""
    reason: str = ""
    metric: str = ""
    text: str = ""
    only_counted: bool = False
    only_failed: bool = False
    sort: str = "failures"


#: The conditions that are traits of the view by the same name.
_CONDITIONS = Filters._fields[1:]

#: Orders of the rows: in words, and the column with the end at which missing values go.
ORDERS = {
    "failures": ("failures first", ("passed", "first")),
    "document": ("order of the document", None),
    "score": ("lowest score first", ("score", "first")),
    "outcome": ("by outcome", ("outcome", "last")),
    "path": ("by path", ("path", "last")),
}


def narrowed(fields: pd.DataFrame, filters: Filters, name: str = "ev") -> tuple[pd.DataFrame, str]:
    """Return the rows that meet all conditions, with their labels, and code that selects them."""
    terms: list[ui.Term] = []
    if filters.node not in ("", "$"):
        paths, starts = fields["schema_path"], (f"{filters.node}.", f"{filters.node}[")
        code, own = ui.equal_term(fields, "schema_path", [filters.node])
        code = f'({code} | f["schema_path"].str.startswith({starts!r}))'
        terms.append((code, own | paths.str.startswith(starts)))
    terms += [
        ui.equal_term(fields, column, [wanted])
        for column in ("outcome", "reason", "metric")
        if (wanted := getattr(filters, column))
    ]
    if filters.only_counted:
        terms.append(('f["counted"]', fields["counted"]))
    if filters.only_failed:
        terms.append(('~f["passed"].fillna(False)', ~fields["passed"].fillna(False)))
    if text := filters.text.strip().lower():
        terms.append(_containing(fields, text))
    rows = fields[reduce(and_, (mask for _, mask in terms))] if terms else fields
    order = ORDERS[filters.sort][1]
    sorting = ""
    if order is not None:
        column, end = order
        at_end: Any = end
        if filters.sort == "failures":  # of those that count first
            rows = rows.sort_values("counted", ascending=False, kind="stable")
            sorting = '.sort_values("counted", ascending=False, kind="stable")'
        rows = rows.sort_values(column, kind="stable", na_position=at_end)
        at_first = ', na_position="first"' if end == "first" else ""
        sorting += f'.sort_values("{column}", kind="stable"{at_first})'
    by_label = f".loc[{rows.index.tolist()}]"
    return rows, ui.selection_code(f"{name}.fields", terms, by_label, sorting)


def row_code(fields: pd.DataFrame, label: int, name: str = "ev") -> str:
    """Write an expression that selects one row of ``fields``."""
    own, metric = (
        ui.equal_term(fields, column, [fields[column][label]]) for column in ("path", "metric")
    )
    terms = [own] if own[1].sum() == 1 else [own, metric]
    is_alone = reduce(and_, (mask for _, mask in terms)).sum() == 1
    by_label = f".loc[[{label}]]"
    source = f"{name}.fields"
    return ui.selection_code(source, terms, by_label) if is_alone else source + by_label


def _containing(fields: pd.DataFrame, wanted: str) -> ui.Term:
    def holding(write: Callable[[Any], str]) -> Any:
        cells = fields[list(ui.SEARCHED)]
        found = cells.map(lambda value: value is not None and wanted in write(value).lower())
        return found.astype(bool).any(axis=1)

    try:
        return ui.text_code(wanted), holding(str)
    except Exception:  # noqa: BLE001 - a value of a document that Python itself cannot write
        return None, holding(value_text)


#: Rows of a page, in a live page and in static HTML.
PER_PAGE = 50
_STATIC_ROWS = 30
_LONGEST_PATH = 2_000
_LONGEST_WORDS = 4_000
_LONGEST_NAME, _LONGEST_TITLE = 60, 120
_SCORES = ("pass_rate", "overall_score", "field_score")
_MOST_ROWS, _MOST_EXAMPLES = 60, 5
_SIDES = ("gold", "predicted")
_BEGINNING = 400
#: Characters of a value before and behind a hit that its excerpt leaves out.
_AROUND = 40
#: Reasons that would contradict their outcome, in words that do not.
_REASONS = {("correct", "items_differ"): "some items differ, the array passes"}
_NONE = -1
#: Pairs under the row of their array.
_MOST_PAIRS = 25


def why_empty(filters: Filters, in_all: int) -> str:
    """Say why no row is shown, and what would help."""
    if not in_all:
        return (
            "The schema scores no field of this document. "
            "A field is scored where the schema declares it, and evaluation_config is not skip."
        )
    if filters._replace(node="", sort="failures", text=filters.text.strip()) != Filters():
        return "No field matches; clear the filters."
    return "No field is scored at this node or below it; choose another one, $ for all."


def filters_text(filters: Filters) -> str:
    """Describe the filters in words."""
    parts = [
        filters.node and f"at or below {one_line(filters.node, _LONGEST_SHOWN_PATH)}",
        filters.outcome.replace("_", " "),
        filters.reason and f"reason {one_line(filters.reason, _LONGEST_LINE)}",
        filters.metric and f"metric {one_line(filters.metric, _LONGEST_LINE)}",
        filters.text.strip() and f"with “{one_line(filters.text.strip(), _LONGEST_LINE)}”",
        "counted only" if filters.only_counted else "",
        "not passed only" if filters.only_failed else "",
    ]
    return ", ".join(filter(None, parts))


def head(ev: Evaluation) -> Node:
    """Draw scores, counts of counted rows, notes, and warnings: equal ones once, with a number."""
    summary, counted = ev.summary, ev.outcome_counts()
    evaluated = int(summary["evaluated"])
    texts = {name: ratio_text(summary[name]) if evaluated else "n/a" for name in _SCORES}
    passes = f"pass rate: {summary['passed']:,.0f} of {evaluated:,} counted fields pass"
    rows = sum(counted.values())
    if rows > evaluated:
        passes += f" ({rows:,} rows, one per metric)"
    inside = len(ev.fields) - rows
    if inside > 0:
        passes += f"; {plural(inside, 'row')} not counted"
    if len(set(ev.fields.loc[ev.fields["counted"], "weight"])) > 1:
        passes += "; the scores are weighted by field"
    others = [f"{name.replace('_', ' ')} {texts[name]}" for name in _SCORES[1:]]
    problem, predicted = ev.inputs.problem, ev.inputs.predicted
    text = predicted if isinstance(predicted, str) else ""
    return h(
        "div",
        ui.headline(texts["pass_rate"], ui.because(find_causes(ev).text), h("br"), f"{passes}."),
        h("p", " · ".join(others), cls="xb-quiet"),
        h(
            "div",
            h("b", f"The prediction is not JSON: {one_line(problem, _LONGEST_LINE)}"),
            h("pre", trimmed(text, _BEGINNING)),
            cls="xb-note xb-bad",
        )
        if problem
        else None,
        [h("p", note, cls="xb-note") for note in _notes(summary)],
        _rules(ev.rules),
        _warnings(ev.warnings),
        cls="xb-head",
    )


#: The path of the outermost array that a path is in; a step of a map is in quotes.
_IN_ARRAY = re.compile(r"((?:[^\['\"]|\[['\"](?:[^'\"\\]|\\.)*['\"]\])*?)\[\+?\d+\]", re.DOTALL)


def outermost(path: str) -> str:
    """Return the path of the outermost array that a path is in; empty for none.

    Examples
    --------
    >>> [outermost(path) for path in ("$.a[3].b[0]", "$.m['x[1]'].c", "$.title")]
    ['$.a', '', '']
    """
    found = _IN_ARRAY.match(path)
    return found[1] if found else ""


def _notes(summary: pd.Series) -> list[str]:
    notes = []
    if not summary["evaluated"]:
        notes.append("No field is scored: there is nothing to tell right from wrong.")
    if summary["judge_errors"]:
        errors, judged = int(summary["judge_errors"]), int(summary["judged"])
        verdict = f"; {summary['pass_rate_judged']:.1%} of the judged fields pass" if judged else ""
        notes.append(
            f"{plural(errors, 'field')} {'has' if errors == 1 else 'have'} no verdict, because a "
            f"judge or metric failed: the pass rate is a lower bound{verdict}."
        )
    if summary["gold_coverage"] < 1:
        notes.append(f"The schema declares only {summary['gold_coverage']:.1%} of gold's values.")
    return notes


def _rules(rules: pd.DataFrame) -> Node | None:
    """List the rules that a side breaks, and those without a verdict."""
    found = rules[rules["finding"].notna()].astype(object).fillna("")
    rows = [
        (
            row["rule"],
            *(row[f"outcome_{side}"].replace("_", " ") or "not JSON" for side in _SIDES),
            *(", ".join(row[f"paths_{side}"][:_MOST_EXAMPLES]) for side in _SIDES),
            row["message"],
        )
        for row in found.to_dict("records")
    ]
    heads = ("rule", *_SIDES, *(f"{side} paths" for side in _SIDES), "message")
    return _folded(f"{plural(len(found), 'rule')} broken or failed", heads, rows, "rules")


def _warnings(warnings: pd.DataFrame) -> Node | None:
    """List warnings, equal ones once."""
    paths = warnings.groupby(["side", "kind", "message"], sort=False)["path"]
    alike = paths.agg(["first", "size"]).reset_index()
    rows = [
        (side, kind, f"{path} and {n - 1:,} more" if n > 1 else path, message)
        for side, kind, message, path, n in alike.to_numpy().tolist()
    ]
    title = plural(len(warnings), "warning")
    return _folded(title, ("side", "kind", "path", "message"), rows, "warnings")


def _folded(title: str, heads: Sequence[str], rows: Sequence[Any], frame: str) -> Node | None:
    if not rows:
        return None
    body = [
        h("tr", [h("td", one_line(text, _LONGEST_LINE), dir="auto") for text in row])
        for row in rows[:_MOST_ROWS]
    ]
    left = ui.more(len(rows) - _MOST_ROWS, f"rows; ev.{frame} has them all")
    return h("details", h("summary", title), ui.table(heads, h("tbody", body)), left)


def _hit(side: list[Segment], value: Any, wanted: str) -> Node | None:
    """Write where a value has what was searched for, if its excerpt leaves that out."""
    wanted = wanted.strip().lower()
    if not wanted or wanted in "".join(piece.text for piece in side).lower():
        return None
    text = "" if value is None else value_text(value)
    at = text.lower().find(wanted)
    if at < 0:
        return None
    start, end = max(0, at - _AROUND), at + len(wanted) + _AROUND
    return h("div", "… ", ui.found(one_line(text[start:end], 4 * _LONGEST_LINE), wanted), " …")


def reason_text(row: Any, replaced: tuple[str, ...] = ()) -> str:
    """Write the reason of an outcome in words; a value may stand in place of `replaced` objects."""
    reason: str = row.reason
    if row.outcome == "structural" and row.path.startswith(replaced):
        return "the value stands in place of an object or array above"
    return one_line(_REASONS.get((row.outcome, reason), reason.replace("_", " ")), _LONGEST_LINE)


def items_text(array: Any) -> str:
    """Describe the numbers of items of an array, a row of ``arrays``."""
    if array.matched is pd.NA:
        return (
            f"{array.gold_items:,} gold and {array.predicted_items:,} predicted items, not aligned"
        )
    ratios = ", ".join(
        f"{name} {'n/a' if value is pd.NA else format(value, '.2f')}"
        for name in ("precision", "recall", "F1")
        for value in [getattr(array, name.lower())]
    )
    return (
        f"{array.matched:,} matched, {array.differing:,} differing, {array.missed:,} missed, "
        f"{array.spurious:,} spurious; {ratios}"
    )


class EvaluationView(View):
    """An evaluation: the schema's tree beside the fields, gold against predicted.

    Attributes
    ----------
    selected_path : str
        Schema path of the chosen node; the fields at it and below it are listed. Empty for all.
        A schema path or a field can be assigned.
    selected_row : str
        Instance path of the chosen field, which is shown in full; empty for none. A path or a field
        can be assigned; filters that would hide it are cleared.
    outcome, reason, metric : str
        The only outcome, reason or metric to list; empty for all.
    text : str
        What path, gold or predicted value must contain, in any case of letters.
    only_counted : bool
        Whether to leave out the fields inside array items, which do not enter the scores.
    only_failed : bool
        Whether to leave out what passed. A field without a verdict stays.
    sort : str
        The order of the rows: ``failures`` first, as in the ``document``, by ``score`` (lowest
        first), ``outcome`` or ``path``.
    page : int
        The page of rows that is shown, from 0.
    """

    kind = "evaluation"
    styles = ("tree.css", "pairs.css", "evaluation.css")
    settable = frozenset({*_CONDITIONS, "page"})
    selected_path = traitlets.Unicode("")
    selected_row = traitlets.Unicode("")
    outcome = traitlets.Unicode("")
    reason = traitlets.Unicode("")
    metric = traitlets.Unicode("")
    text = traitlets.Unicode("")
    only_counted = traitlets.Bool(False)
    only_failed = traitlets.Bool(False)
    sort = traitlets.Unicode("failures")
    page = traitlets.Int(0)

    def __init__(
        self,
        ev: Evaluation,
        *,
        name: str = "ev",
        title: str = "",
        pdf: str | Path | None = None,
    ) -> None:
        self._ev, self._variable, self._fields = ev, checked_name(name), ev.fields
        self._titled, self._pdf = title, pdf
        self._tree = SchemaTree(schema_tree(ev.schema, ev))
        self._chosen, self._limit = _NONE, 2_000
        self._boards: dict[str, Board] = {}
        self._field, self._whole, self._unfolded = "", set[int](), False
        self._pair: tuple[int | None, int | None] | None = None
        self._owners = self._fields["path"].map(outermost)
        own = pd.Series(self._fields.index, index=self._fields["path"])
        self._own = own[~own.index.duplicated()].to_dict()
        self._filters = Filters()
        self._rows, self._code = narrowed(self._fields, self._filters, name)
        self._listed = self._fold()
        self._head = head(ev)
        wrong = ev.warnings.query("side == 'predicted' and kind == 'type'")["path"]
        self._replaced = tuple(path + step for path in wrong for step in ".[")
        mismatches = ev.mismatches
        self._kinds = dict(zip(mismatches["path"], mismatches["kind"], strict=True))
        self._items = {array.path: items_text(array) for array in ev.arrays.itertuples()}
        super().__init__()

    # --- what can be assigned -------------------------------------------------------------------

    @traitlets.validate("selected_path")
    def _known_node(self, proposal: Any) -> str:
        return resolved_path(self._tree.nodes, proposal["value"])

    @traitlets.validate("selected_row")
    def _known_row(self, proposal: Any) -> str:
        wanted: str = proposal["value"]
        paths, names = self._fields["path"], self._fields["field"]
        if not wanted or (paths == wanted).any():
            return wanted
        if not (names == wanted).any():
            raise traitlets.TraitError(f"there is no field {wanted!r}; {nearest(wanted, paths)}")
        return str(paths[names == wanted].iloc[0])

    @traitlets.validate("outcome", "reason", "metric", "sort")
    def _known_word(self, proposal: Any) -> str:
        trait, word = proposal["trait"].name, proposal["value"]
        allowed = {"outcome": OUTCOMES, "sort": ORDERS}.get(trait)
        return word and known(trait, word, allowed or self._fields[trait].unique())

    @traitlets.validate("text")
    def _sendable(self, proposal: Any) -> str:
        text: str = proposal["value"]
        if not text.isascii() and clean(text) != text:
            raise traitlets.TraitError(
                f"text is {text!r}; expected printable text, as it could be typed"
            )
        return text

    @traitlets.validate("page")
    def _existing_page(self, proposal: Any) -> int:
        return ui.page_of(len(self._listed), proposal["value"], PER_PAGE).number

    # --- what changes ---------------------------------------------------------------------------

    @traitlets.observe("selected_path", *_CONDITIONS)
    def _narrow(self, _: Any) -> None:
        filters = Filters(self.selected_path, *(getattr(self, name) for name in _CONDITIONS))
        if filters == self._filters:
            return
        self._filters = filters
        with self.changing():
            self._rows, self._code = narrowed(self._fields, filters, self._variable)
            self._listed = self._fold()
            if self._chosen not in self._rows.index:
                self._choose(_NONE)
            self._turn_to(self._chosen)

    @traitlets.observe("selected_row")
    def _row_named(self, change: Any) -> None:
        wanted = change["new"]
        if wanted != self._path_of(self._chosen):
            paths = self._fields["path"]
            self._choose(int(paths.index[paths == wanted][0]) if wanted else _NONE)

    def _choose(self, label: int) -> None:
        with self.changing():
            self._chosen, self._limit = label, 2_000
            self._field, self._pair, self._whole, self._unfolded = "", None, set(), False
            if label != _NONE and label not in self._rows.index:
                self.clear()
            self.selected_row = self._path_of(label)
            if label != _NONE:
                self._turn_to(label)

    def _path_of(self, label: int) -> str:
        return "" if label == _NONE else str(self._fields["path"][label])

    def _turn_to(self, label: int) -> None:
        shown = self._shown_in(label)
        self.page = self._listed.index(shown) // PER_PAGE if shown in self._listed else 0

    def _fold(self) -> list[int]:
        """Return the labels of the listed rows: those in an array are under its own row.

        They are listed themselves if the array has no row, or rows were asked for by what they are.
        """
        labels: list[int] = self._rows.index.tolist()
        found = self._filters
        if found.outcome or found.reason or found.metric or found.text.strip():
            return labels
        there = set(labels)
        own = (self._own.get(owner, _NONE) for owner in self._owners[labels])
        return list(
            dict.fromkeys(
                array if array in there else label for array, label in zip(own, labels, strict=True)
            )
        )

    def _shown_in(self, label: int) -> int:
        """Return the listed row that a row is, or that it is under."""
        if label == _NONE or label in self._listed:
            return label
        own: int = self._own.get(self._owners[label], _NONE)
        return own if own in self._listed else label

    def _board(self, path: str) -> Board:
        if path not in self._boards:
            self._boards = {path: Board(self._ev, path)}
        return self._boards[path]

    def clear(self) -> None:
        """Remove all filters, the chosen node too."""
        with self.changing(), self.hold_trait_notifications():
            self.outcome = self.reason = self.metric = self.text = self.selected_path = ""
            self.only_counted = self.only_failed = False

    # --- events of the page ---------------------------------------------------------------------

    def do_clear(self, _: Any) -> None:
        """Remove all filters."""
        self.clear()

    def do_node(self, at: Any) -> None:
        """Choose a node of the tree, or all where it is chosen already."""
        if type(at) is int and 0 <= at < len(self._tree.nodes):
            path = self._tree.nodes[at].path
            self.selected_path = "" if path == self.selected_path else path

    def do_row(self, label: Any) -> None:
        """Open a row, or close it where it is open."""
        if type(label) is int and label in self._fields.index:
            self._choose(_NONE if label == self._chosen else label)

    def do_close(self, _: Any) -> None:
        """Close the open row."""
        self._choose(_NONE)

    def do_whole(self, at: Any) -> None:
        """Show more of the values of the chosen row, or of a line of the chosen pair."""
        if self._pair is not None and type(at) is int:
            self._whole.add(at)
        self._limit = MOST

    def do_chip(self, outcome: Any) -> None:
        """List the rows of one outcome only, or all again."""
        if outcome in OUTCOMES:
            self.outcome = "" if outcome == self.outcome else outcome

    @property
    def _open_array(self) -> str:
        """The path of the array whose pairs are listed under its row."""
        shown = self._shown_in(self._chosen)
        path = "" if shown == _NONE else str(self._fields["path"][shown])
        return path if path in self._items else ""

    def do_field_chip(self, field: Any) -> None:
        """List the pairs of the open array that fail in one field, or all again."""
        self._field = field if isinstance(field, str) and field != self._field else ""

    def do_unfold(self, _: Any) -> None:
        """List the matched pairs of the open array too, or fold them again."""
        self._unfolded = not self._unfolded

    def do_pair(self, pair: Any) -> None:
        """Show a pair of the open array beside the list."""
        if self._open_array and isinstance(pair, list):
            there = [row.pair for row in self._board(self._open_array).rows]
            found = tuple(pair)
            self._pair = found if found in there and found != self._pair else None
            self._whole = set()

    def do_matches(self, path: Any) -> None:
        """Open the matches of an array."""
        if isinstance(path, str) and path in self._items:
            from extractbench_nb.views.matches_view import MatchesView

            view = MatchesView(self._ev, path, name=self._variable, pdf=self._pdf)
            self.open_view(view, path)

    def do_page(self, label: Any) -> None:
        """Open the PDF page where a value is."""
        if self._pdf is not None and type(label) is int and label in self._fields.index:
            from extractbench_nb.views.evidence_view import EvidenceView

            row = self._fields.loc[label]
            side = "predicted" if row["predicted_state"] == "present" else "gold"
            path = row["predicted_path"] if side == "predicted" else row["path"]
            path = path if isinstance(path, str) else ""
            view = EvidenceView(None, self._pdf, self._ev, side=side, path=path)
            if not view.selected_path:
                view.text = path  # an array or object: the values in it
            self.open_view(view, "PDF")

    # --- what is shown --------------------------------------------------------------------------

    def draw(self) -> dict[str, Node]:
        """Draw head, filters, tree and rows."""
        texts = {name: [("", "all")] for name in ("reason", "metric")}
        for column, options in texts.items():
            counts = Counter(self._fields[column])
            options += [
                (name, f"{trimmed(name, _LONGEST_NAME)} ({counts[name]:,})") for name in counts
            ]
        outcomes = {"": "all"} | {name: outcome_text(name) for name in OUTCOMES}
        orders = {name: words for name, (words, _) in ORDERS.items()}
        found = self._filters
        active = sum(map(bool, (found.outcome, found.reason, found.metric, found.text.strip())))
        active += found.only_counted + found.only_failed
        counted = self._ev.outcome_counts()
        chips = [(name, ui.mark(name), counted[name]) for name in MARKS if name in counted]
        bar = ui.bar([(name, number) for name, _, number in chips])[:1]
        tools = h(
            "div",
            h(
                "div",
                bar,
                ui.chips("Rows by outcome", "chip", chips, self.outcome),
                cls="xb-counts",
            ),
            ui.toolbar(
                ui.filters(
                    active,
                    ui.search("Find path or value", "set:text", self.text, "path or value", "rows"),
                    ui.menu("Outcome", "set:outcome", outcomes, self.outcome),
                    ui.menu("Reason", "set:reason", dict(texts["reason"]), self.reason),
                    ui.menu("Metric", "set:metric", dict(texts["metric"]), self.metric),
                    ui.menu("Order", "set:sort", orders, self.sort),
                    ui.check("counted only", "set:only_counted", self.only_counted),
                    ui.check("not passed only", "set:only_failed", self.only_failed),
                ),
                ui.button("Clear filters", "clear") if active or found.node else None,
            ),
        )
        meta = self._ev.meta
        about = f"profile {meta['profile']} · judge {one_line(str(meta['judge']), _LONGEST_NAME)}"
        named = h("b", self.title, live=True)
        title = h("p", named, h("span", " · ", live=True), h("span", about, cls="xb-quiet"))
        tree = h(
            "details",
            h("summary", f"Schema, {plural(len(self._tree.nodes), 'node')}"),
            part("tree"),
            open=True,
        )
        body = h("div", tree, ui.split(part("rows"), part("detail")), cls="xb-beside")
        return {
            "page": h("div", title, self._head, part("tools"), body),
            "tools": tools,
            "tree": self._tree.draw(self.selected_path),
            "rows": self._list(),
            "detail": self._beside(),
        }

    def _beside(self) -> Node:
        """Draw what is chosen: a pair of the open array, else a row."""
        if self._pair is not None and self._open_array:
            board = self._board(self._open_array)
            pair = board.row_of(self._pair)
            if pair is not None:
                return h("div", pair_detail(board, pair, self._whole), cls="xb-detail", key="pair")
        if self._chosen == _NONE:
            hint = (
                "Choose a row to see both values in full; an array lists its pairs below its row."
            )
            return h("p", hint, cls="xb-quiet", live=True)
        (row,) = self._fields.loc[[self._chosen]].itertuples()
        return self._detail(row)

    def _list(self) -> Node:
        cut = ui.page_of(len(self._listed), self.page, PER_PAGE)
        words = filters_text(self._filters)
        total, folded = len(self._rows), len(self._rows) - len(self._listed)
        shown = f"{total:,} of {plural(len(self._fields), 'row')}"
        shown += f", {folded:,} of them under their arrays" if folded else ""
        shown += f": {words}" if words else ""
        body: list[Node] = []
        opened = self._shown_in(self._chosen)
        for at, row in enumerate(self._fields.loc[cut.of(self._listed)].itertuples()):
            chosen = row.Index == opened
            body.append(self._row(row, chosen=chosen, live=at >= _STATIC_ROWS and not chosen))
            if chosen and row.path in self._items:
                inside = h("td", self._pairs(row.path), colspan=5)
                body.append(h("tr", inside, key=f"pairs {row.Index}", cls="xb-inside"))
        heads = [
            h("th", name, scope="col", cls="xb-num" if name == "score" else None)
            for name in ("outcome", "path", "gold", "predicted", "score")
        ]
        closes = "close" if self._chosen != _NONE else None
        table = ui.table(heads, h("tbody", body, keys="list"), cls="xb-rows", escape=closes)
        rest = max(0, cut.total - (cut.first + min(_STATIC_ROWS, cut.last - cut.first)))
        twin = ui.shown_text(cut, "Rows", _STATIC_ROWS) + (f": {words}" if words else "")
        return h(
            "div",
            ui.listed(shown, cut, "rows"),
            h("p", twin, static=True),
            h("div", table, cls="xb-scroll", scroll=True)
            if cut.total
            else h("p", why_empty(self._filters, len(self._fields)), cls="xb-empty"),
            ui.more(rest, f"rows; {self._variable}.fields has them all", static=True),
            ui.code(self._code, self._variable),
            id="rows",
        )

    def _pairs(self, path: str) -> Node:
        """Draw the pairs of an array under its row: those that differ, and why."""
        board = self._board(path)
        rows = [
            row
            for row in ordered(board.rows, "failing")
            if not self._field or self._field in board.failing(row)
        ]
        others = rows if self._unfolded else [row for row in rows if row.status != "matched"]
        folded = len(rows) - len(others)
        path_in = self._fields["path"].get(self._chosen, "")
        chosen = next((row for row in others if row.pair == self._pair), None)
        if chosen is None and path_in.startswith(f"{path}["):
            chosen = next((row for row in others if board.holds(row, path_in)), None)
        listed = others[:_MOST_PAIRS]
        if chosen is not None and chosen not in listed:
            listed = [chosen, *listed[:-1]]
        fold = f"{folded:,} matched ▸" if folded else "Fold matched ▾" if self._unfolded else ""
        return h(
            "div",
            h("p", ui.sentence(board.cause)),
            field_chips(board, "field_chip", self._field),
            pairs(board, listed, chosen, self.text) if listed else None,
            ui.more(len(others) - len(listed), "pairs"),
            ui.toolbar(
                ui.button(fold, "unfold") if fold else None,
                ui.button("All pairs and thresholds", "matches", path),
            ),
        )

    def _row(self, row: Any, *, chosen: bool, live: bool) -> Node:
        gold, predicted = excerpts(row)
        note = f" {one_line(row.metric, _LONGEST_LINE)}{'' if row.counted else ', not counted'}"
        counts = self._items.get(row.path)
        if counts:
            hits = (_hit([], value, self.text) for value in (row.gold, row.predicted))
            hit = next(filter(None, hits), None)
            sides = [h("td", counts, hit, cls="xb-quiet", colspan=2)]
        else:
            sides = [
                h("td", ui.segments(side, self.text), _hit(side, value, self.text), cls="xb-value")
                for side, value in ((gold, row.gold), (predicted, row.predicted))
            ]
        score = None if row.score is pd.NA else float(row.score)
        accepted = accepted_text(row.accepted_as, _LONGEST_LINE)
        return h(
            "tr",
            h(
                "td",
                ui.mark(row.outcome),
                h("span", f" {reason_text(row, self._replaced)}", cls="xb-quiet"),
                h("span", f" {accepted}", cls="xb-quiet xb-sub") if accepted else None,
            ),
            h("td", ui.breakable(row.path, self.text), h("span", note, cls="xb-quiet xb-sub")),
            sides,
            h("td", score_text(score), cls="xb-num"),
            key=row.Index,
            item=True,
            found=bool(self.text.strip()),
            do="row",
            send=row.Index,
            aria_current="true" if chosen else None,
            reveal=str(row.Index) if chosen else None,
            live=live,
        )

    def _detail(self, row: Any) -> Node:
        ev = self._ev
        path = None if row.schema_path is pd.NA else row.schema_path
        node = next((n for n in ev.schema.nodes() if n.schema_path == path), None)
        specs = node.config.metrics if node is not None and node.config is not None else ()
        params = next((dict(spec.params) for spec in specs if spec.metric_id == row.metric), {})
        written = ", ".join(f"{key}={value!r}" for key, value in params.items())
        score = "no verdict" if row.score is pd.NA else f"{row.score:.4g}"
        passed = "" if row.passed is pd.NA else ", passed" if row.passed else ", not passed"
        items = self._items.get(row.path)
        by_leaves = items is not None and ev.profile.count_array_leaves
        why = "the fields of its items count in its place" if by_leaves else "inside an array item"
        counted = "counts toward the scores" if row.counted else f"not counted: {why}"
        facts = {
            "outcome": f"{outcome_text(row.outcome)}: {reason_text(row, self._replaced)}",
            "read": accepted_text(row.accepted_as, _LONGEST_WORDS),
            "score": f"{score}{passed}",
            "metric": one_line(row.metric + (f" ({written})" if written else ""), _LONGEST_LINE),
            "difference": self._kinds.get(row.path, "").replace("_", " "),
            "reasoning": _text(row.reasoning, _LONGEST_WORDS),
            "items": items,
            "path": trimmed(row.path, _LONGEST_PATH),
            "predicted at": _text(row.predicted_path, _LONGEST_PATH),
            "type": node
            if node is None
            else one_line(node.label + ", required" * row.required, _LONGEST_LINE),
            "schema path": _text(row.schema_path, _LONGEST_PATH),
            "weight": f"{row.weight:g}, {counted}",
        }
        gold, predicted = whole(row, self._limit)
        hidden = gold.hidden or predicted.hidden
        sides = {
            name if side.state == "present" else f"{name} ({side.state})": side
            for name, side in (("gold", gold), ("predicted", predicted))
        }
        about = trimmed((node and node.description) or "", _LONGEST_WORDS)
        code = row_code(self._fields, row.Index, self._variable)
        return h(
            "div",
            h("p", about, cls="xb-quiet") if about else None,
            # the pairs of an array are under its row: two boxes of JSON would say less
            ui.whole_sides(sides, self.text) if not items else sums_table(self._board(row.path)),
            ui.toolbar(
                ui.button("Show all", "whole", 0)
                if hidden and not items and self._limit < MOST
                else None,
                ui.button("Show on the page", "page", row.Index) if self._pdf is not None else None,
                ui.copy("Copy code", code),
            ),
            ui.facts_list(facts.items()),
            h("pre", code),
            cls="xb-detail",
        )

    @property
    def rows(self) -> pd.DataFrame:
        """The filtered rows of ``fields`` in the order shown, with their labels."""
        return self._rows.copy()

    @property
    def code(self) -> str:
        """An expression that evaluates to `rows`, using the evaluation's variable name."""
        return self._code

    @property
    def title(self) -> str:
        """The title that was given, else run and document where known, else the variable."""
        meta = self._ev.meta
        known = [f"{key} {meta[key]}" for key in ("run", "document") if key in meta]
        return one_line(self._titled or ", ".join(known) or self._variable, _LONGEST_TITLE)

    def __repr__(self) -> str:
        """Summarise the evaluation and the number of rows shown in one line."""
        s = self._ev.summary
        left, everything = len(self._rows), len(self._fields)
        return (
            f"Evaluation of {self.title} · "
            f"{s['passed']:,.0f} of {s['evaluated']:,.0f} counted fields pass · "
            f"{left:,} of {everything:,} rows shown"
        )


def _text(cell: Any, limit: int) -> str:
    return "" if cell is pd.NA else trimmed(cell, limit)
