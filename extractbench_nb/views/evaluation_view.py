"""`EvaluationView`: the schema's tree, the fields of the selected node, and one field in full."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable
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
    one_line,
    plural,
    ratio_text,
    trimmed,
)
from extractbench_nb.views import controls as ui
from extractbench_nb.views.matches_drawing import field_chips, pair_detail, pairs, sums_table
from extractbench_nb.views.matches_model import Board, ordered
from extractbench_nb.views.report_pages import limits
from extractbench_nb.views.schema_view import SchemaTree, resolved_path, schema_tree
from extractbench_nb.views.sides import MOST, beside
from extractbench_nb.views.static import MARKS, outcome_text, score_text
from extractbench_nb.views.view import Choice, View, checked_name, part

#: Rows of a page, and pairs under the row of their array.
PER_PAGE, _MOST_PAIRS = 40, 25
#: Characters of lines, names, paths, and texts in full.
_LONGEST_LINE, _LONGEST_NAME, _LONGEST_PATH, _LONGEST_WORDS = 400, 60, 2_000, 4_000
#: Characters of a value in a row, and of a prediction that is not JSON.
_LONGEST_EXCERPT, _BEGINNING = 160, 400
_SCORES = ("pass_rate", "overall_score", "field_score")
_SIDES = ("gold", "predicted")
_NONE = -1


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

    def in_words(self) -> str:
        """Describe the filters."""
        conditions = {name: found for name, found in self._asdict().items() if name != "sort"}
        parts = [
            name if found is True else f"{name} {str(found).strip()}"
            for name, found in conditions.items()
            if found
        ]
        return one_line(", ".join(parts).replace("_", " "), _LONGEST_LINE)


#: The conditions that are traits of the view by the same name.
_CONDITIONS = Filters._fields[1:]
ORDERS = {"failures": "failures first", "document": "order of the document"}


def narrowed(fields: pd.DataFrame, filters: Filters, name: str = "ev") -> tuple[pd.DataFrame, str]:
    """Return the rows that meet all conditions, with their labels, and code that selects them."""
    terms: list[ui.Term] = []
    if filters.node not in ("", "$"):
        starts = (f"{filters.node}.", f"{filters.node}[")
        code, own = ui.equal_term(fields, "schema_path", [filters.node])
        code = f'({code} | f["schema_path"].str.startswith({starts!r}))'
        terms.append((code, own | fields["schema_path"].str.startswith(starts)))
    terms += [
        ui.equal_term(fields, column, [wanted])
        for column in ("outcome", "reason", "metric")
        if (wanted := getattr(filters, column))
    ]
    if filters.only_counted:
        terms.append(('f["counted"]', fields["counted"]))
    if filters.only_failed:
        terms.append(('~f["passed"].fillna(False)', ~fields["passed"].fillna(False)))
    if filters.text.strip():
        terms.append(ui.text_term(fields, filters.text))
    rows, sorting = fields[reduce(and_, (mask for _, mask in terms))] if terms else fields, ""
    if filters.sort == "failures":  # of those that count first, and without a verdict first
        rows = rows.sort_values("counted", ascending=False, kind="stable")
        rows = rows.sort_values("passed", kind="stable", na_position="first")
        sorting = (
            '.sort_values("counted", ascending=False, kind="stable")'
            '.sort_values("passed", kind="stable", na_position="first")'
        )
    by_label = f".loc[{rows.index.tolist()}]"
    return rows, ui.selection_code(f"{name}.fields", terms, by_label, sorting)


# --- the head -------------------------------------------------------------------------------------


def head(ev: Evaluation) -> Node:
    """Draw the pass rate and its cause, the other scores, and what limits them."""
    summary = ev.summary
    evaluated, rows = int(summary["evaluated"]), sum(ev.outcome_counts().values())
    texts = {name: ratio_text(summary[name]) if evaluated else "n/a" for name in _SCORES}
    about = [f"{summary['passed']:,.0f} of {evaluated:,} counted fields pass"]
    about += [f"{name.replace('_', ' ')} {texts[name]}" for name in _SCORES[1:]]
    left_out = len(ev.fields) - rows
    about += [f"{plural(left_out, 'row')} not counted"] if left_out else []
    if ev.fields.loc[ev.fields["counted"], "weight"].unique().size > 1:
        about.append("weighted by field")
    problem, predicted = ev.inputs.problem, ev.inputs.predicted
    begins = predicted[:_BEGINNING] if problem and isinstance(predicted, str) else ""
    notes = [f"{short} {rest}" for short, rest in limits(summary, problem)]
    rules = ev.rules[ev.rules["finding"].notna()]
    for counted, examples, name in (
        (f"{plural(len(rules), 'rule')} broken or failed", rules["rule"], "rules"),
        (plural(len(ev.warnings), "warning"), ev.warnings["message"], "warnings"),
    ):
        if len(examples):
            first = one_line(str(examples.iloc[0]), _LONGEST_LINE)
            notes.append(f"{counted}, such as: {first}. See ev.{name}.")
    return h(
        "div",
        ui.headline(texts["pass_rate"], ui.because(find_causes(ev).text)),
        h("p", " · ".join(about), cls="xb-quiet"),
        [h("p", note, cls="xb-note") for note in notes],
        h("pre", trimmed(begins, _BEGINNING)) if begins else None,
    )


# --- arrays ---------------------------------------------------------------------------------------

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


def items_text(array: Any) -> str:
    """Describe the numbers of items of an array, a row of ``arrays``."""
    if array.matched is pd.NA:
        sizes = f"{array.gold_items:,} gold and {array.predicted_items:,} predicted items"
        return f"{sizes}, not aligned"
    counts = [f"{getattr(array, n):,} {n}" for n in ("matched", "differing", "missed", "spurious")]
    return f"{', '.join(counts)}; F1 {'n/a' if array.f1 is pd.NA else format(array.f1, '.2f')}"


class EvaluationView(View):
    """An evaluation: the schema's tree beside the fields, gold against predicted.

    Attributes
    ----------
    selected_path : str
        Schema path of the chosen node, or its field; its rows are listed. Empty for all.
    selected_row : str
        Instance path of the chosen row, or its field; filters that would hide it are cleared.
    outcome, reason, metric, text : str
        What listed rows must have: `text` in path, gold or predicted value. Empty for all.
    only_counted, only_failed : bool
        Whether to leave out rows that do not enter the scores, and rows that passed.
    sort : {"failures", "document"}
        The order of the rows: failures first, or as in the document.
    page : int
        The page of rows that is shown, from 0.
    """

    kind = "evaluation"
    styles = ("tree.css", "pairs.css", "evaluation.css")
    settable = frozenset({*_CONDITIONS, "page"})
    selected_path = traitlets.Unicode("")
    selected_row = traitlets.Unicode("")
    outcome = Choice("")
    reason = Choice("")
    metric = Choice("")
    text = traitlets.Unicode("")
    only_counted = traitlets.Bool(False)
    only_failed = traitlets.Bool(False)
    sort = Choice("failures")
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
        self._tree, self._head = SchemaTree(schema_tree(ev.schema, ev)), head(ev)
        self._boards: dict[str, Board] = {}
        #: What is open: a row by its label, a pair of an array, and how much of it is shown.
        self._chosen, self._limit = _NONE, 2_000
        self._field, self._whole, self._unfolded = "", set[int](), False
        self._pair: tuple[int | None, int | None] | None = None
        paths = self._fields["path"]
        self._items = {array.path: items_text(array) for array in ev.arrays.itertuples()}
        labels = {path: label for label, path in reversed(list(paths.items()))}
        #: The label of the row of the outermost array that a row is in.
        owners = [labels.get(outermost(path), _NONE) for path in paths]
        self._owners = pd.Series(owners, index=paths.index, dtype=int)
        self._filters = Filters()
        self._rows, self._code = narrowed(self._fields, self._filters, name)
        self._listed = self._fold()
        mismatches = ev.mismatches
        self._kinds = dict(zip(mismatches["path"], mismatches["kind"], strict=True))
        super().__init__()

    # --- what can be assigned, and what follows -------------------------------------------------

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

    def choices(self, trait: str) -> Iterable[str]:
        """Return the names of outcomes and orders, or those that occur in the fields."""
        named: dict[str, Iterable[str]] = {"outcome": OUTCOMES, "sort": ORDERS}
        return named[trait] if trait in named else self._fields[trait].unique()

    @traitlets.validate("page")
    def _existing_page(self, proposal: Any) -> int:
        return ui.page_of(len(self._listed), proposal["value"], PER_PAGE).number

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

        They are listed themselves if the array is not, or rows were asked for by what they are.
        """
        labels: list[int] = self._rows.index.tolist()
        found = self._filters
        if found.outcome or found.reason or found.metric or found.text.strip():
            return labels
        there = set(labels)
        rows = zip(self._owners[labels].tolist(), labels, strict=True)
        return list(dict.fromkeys(own if own in there else label for own, label in rows))

    def _shown_in(self, label: int) -> int:
        """Return the listed row that a row is, or that it is under."""
        if label == _NONE or label in self._listed:
            return label
        own = int(self._owners[label])
        return own if own in self._listed else label

    @property
    def _open_array(self) -> str:
        """The path of the array whose pairs are listed under its row."""
        path = self._path_of(self._shown_in(self._chosen))
        return path if path in self._items else ""

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
        """Open a row, or close it where it is open; None closes what is."""
        if label is None or (type(label) is int and label in self._fields.index):
            self._choose(_NONE if label in (None, self._chosen) else label)

    def do_whole(self, at: Any) -> None:
        """Show more of the values of the chosen row, or of a line of the chosen pair."""
        if self._pair is not None and type(at) is int:
            self._whole.add(at)
        self._limit = MOST

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
            from extractbench_nb.views.evidence_view import evidence_of

            view = evidence_of(self._fields.loc[label], None, self._pdf, self._ev)
            self.open_view(view, "PDF")

    # --- what is shown --------------------------------------------------------------------------

    def draw(self) -> dict[str, Node]:
        """Draw head, filters, tree, rows, and what is chosen."""
        found, meta = self._filters, self._ev.meta
        active = sum(map(bool, found[1:-1]))
        counted = self._ev.outcome_counts()
        chips = [(name, ui.mark(name), counted[name]) for name in MARKS if name in counted]
        bar = ui.bar([(name, number) for name, _, number in chips])[:1]
        menus = []
        for name in ("reason", "metric"):
            counts = Counter(self._fields[name]).items()
            options = {word: f"{trimmed(word, _LONGEST_NAME)} ({n:,})" for word, n in counts}
            label = name.capitalize()
            menus.append(ui.menu(label, f"set:{name}", {"": "all", **options}, getattr(self, name)))
        filters = ui.filters(
            active,
            ui.search("Find path or value", "set:text", self.text, "path or value", "rows"),
            menus,
            ui.menu("Order", "set:sort", ORDERS, self.sort),
            ui.check("counted only", "set:only_counted", self.only_counted),
            ui.check("not passed only", "set:only_failed", self.only_failed),
        )
        clear = ui.button("Clear filters", "clear") if active or found.node else None
        listed = ui.chips("Rows by outcome", "toggle:outcome", chips, self.outcome)
        tools = h("div", bar, listed, ui.toolbar(filters, clear), cls="xb-counts")
        about = f"profile {meta['profile']} · judge {one_line(str(meta['judge']), _LONGEST_NAME)}"
        named = [h("b", self.title, live=True), h("span", " · ", live=True)]
        nodes = h("summary", f"Schema, {plural(len(self._tree.nodes), 'node')}")
        tree = h("details", nodes, part("tree"), open=True)
        body = h("div", tree, ui.split(part("rows"), part("detail")), cls="xb-beside")
        title = h("p", named, h("span", about, cls="xb-quiet"))
        return {
            "page": h("div", title, self._head, part("tools"), body),
            "tools": tools,
            "tree": self._tree.draw(self.selected_path),
            "rows": self._list(),
            "detail": self._beside(),
        }

    def _list(self) -> Node:
        cut = ui.page_of(len(self._listed), self.page, PER_PAGE)
        words, total = self._filters.in_words(), len(self._rows)
        folded = total - len(self._listed)
        said = f"{total:,} of {plural(len(self._fields), 'row')}"
        said += f", {folded:,} of them under their arrays" if folded else ""
        only = f": {words}" if words else ""
        inside = f"; {folded:,} more in arrays: xb.show_matches({self._variable}, path)"
        body: list[Node] = []
        opened = self._shown_in(self._chosen)
        for row in self._fields.loc[cut.of(self._listed)].itertuples():
            body.append(self._row(row, chosen=row.Index == opened))
            if row.Index == opened and row.path in self._items:
                cell = h("td", self._pairs(row.path), colspan=5)
                body.append(h("tr", cell, key=f"pairs {row.Index}", cls="xb-inside"))
        heads = [
            h("th", name, scope="col", cls="xb-num" if name == "score" else None)
            for name in ("outcome", "path", "gold", "predicted", "score")
        ]
        closes = "row" if self._chosen != _NONE else None
        table = ui.table(heads, h("tbody", body, keys="list"), cls="xb-rows", escape=closes)
        empty = "No field matches; clear the filters."
        if not (words or len(self._fields)):
            empty = "The schema scores no field of this document."
        return h(
            "div",
            ui.listed(said + only, cut, "rows"),
            h("p", ui.shown_text(cut, "Rows") + only + (inside if folded else ""), static=True),
            h("div", table, cls="xb-scroll", scroll=True)
            if cut.total
            else h("p", empty, cls="xb-empty"),
            ui.more(cut.total - cut.last, f"rows; {self._variable}.fields has them", static=True),
            ui.code(self._code, self._variable),
            id="rows",
        )

    def _row(self, row: Any, *, chosen: bool) -> Node:
        note = f" {one_line(row.metric, _LONGEST_LINE)}{'' if row.counted else ', not counted'}"
        if counts := self._items.get(row.path):
            sides = [h("td", counts, cls="xb-quiet", colspan=2)]
        else:
            states = row.gold_state, row.predicted_state
            shown = beside(row.gold, row.predicted, states, limit=_LONGEST_EXCERPT)
            sides = [h("td", ui.segments(s.segments, self.text), cls="xb-value") for s in shown]
        accepted = accepted_text(row.accepted_as, _LONGEST_LINE)
        reason = one_line(row.reason.replace("_", " "), _LONGEST_LINE)
        return h(
            "tr",
            h(
                "td",
                ui.mark(row.outcome),
                h("span", f" {reason}", cls="xb-quiet"),
                h("span", f" {accepted}", cls="xb-quiet xb-sub") if accepted else None,
            ),
            h("td", ui.breakable(row.path, self.text), h("span", note, cls="xb-quiet xb-sub")),
            sides,
            h("td", score_text(None if row.score is pd.NA else float(row.score)), cls="xb-num"),
            key=row.Index,
            item=True,
            found=bool(self.text.strip()),
            do="row",
            send=row.Index,
            aria_current="true" if chosen else None,
            reveal=str(row.Index) if chosen else None,
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
        inside = self._path_of(self._chosen)
        chosen = next((row for row in others if row.pair == self._pair), None)
        if chosen is None and inside.startswith(f"{path}["):
            chosen = next((row for row in others if board.holds(row, inside)), None)
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

    def _beside(self) -> Node:
        """Draw what is chosen: a pair of the open array, else a row."""
        if self._pair is not None and self._open_array:
            board = self._board(self._open_array)
            pair = board.row_of(self._pair)
            if pair is not None:
                return h("div", pair_detail(board, pair, self._whole), cls="xb-detail", key="pair")
        if self._chosen == _NONE:
            hint = "Choose a row to see both values in full; an array lists its pairs below it."
            return h("p", hint, cls="xb-quiet", live=True)
        (row,) = self._fields.loc[[self._chosen]].itertuples()
        return self._detail(row)

    def _detail(self, row: Any) -> Node:
        ev = self._ev
        path = row.schema_path if isinstance(row.schema_path, str) else None
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
        about, label = "", ""
        if node is not None:
            about = trimmed(node.description or "", _LONGEST_WORDS)
            label = one_line(node.label + ", required" * row.required, _LONGEST_LINE)
        facts = {
            "outcome": f"{outcome_text(row.outcome)}: {row.reason.replace('_', ' ')}",
            "read": accepted_text(row.accepted_as, _LONGEST_LINE),
            "score": f"{score}{passed}",
            "metric": row.metric + (f" ({written})" if written else ""),
            "difference": self._kinds.get(row.path, "").replace("_", " "),
            "reasoning": row.reasoning,
            "predicted at": row.predicted_path,
            "type": label,
            "schema path": row.schema_path,
            "weight": f"{row.weight:g}, {counted}",
        }
        states = row.gold_state, row.predicted_state
        found = beside(row.gold, row.predicted, states, limit=self._limit, form="indented")
        sides = {
            name if side.state == "present" else f"{name} ({side.state})": side
            for name, side in zip(_SIDES, found, strict=True)
        }
        is_cut = any(side.hidden for side in found) and not items and self._limit < MOST
        code = f"{self._variable}.fields.loc[[{row.Index}]]"
        return h(
            "div",
            h("p", about, cls="xb-quiet") if about else None,
            # the pairs of an array are under its row: two boxes of JSON would say less
            ui.whole_sides(sides, self.text) if not items else sums_table(self._board(row.path)),
            ui.toolbar(
                ui.button("Show all", "whole", 0) if is_cut else None,
                ui.button("Show on the page", "page", row.Index) if self._pdf is not None else None,
                ui.copy("Copy code", code),
            ),
            ui.facts_list(
                (name, trimmed(text, _LONGEST_WORDS))
                for name, text in facts.items()
                if isinstance(text, str)
            ),
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
        return one_line(self._titled or ", ".join(known) or self._variable, 120)

    def __repr__(self) -> str:
        """Summarise the evaluation and the number of rows shown in one line."""
        s = self._ev.summary
        passed = f"{s['passed']:,.0f} of {s['evaluated']:,.0f} counted fields pass"
        shown = f"{len(self._rows):,} of {len(self._fields):,} rows shown"
        return f"Evaluation of {self.title} · {passed} · {shown}"
