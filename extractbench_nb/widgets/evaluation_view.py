"""`EvaluationView`: the schema's tree and the fields of the selected node."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import ipywidgets
import pandas as pd
import traitlets

from extractbench_nb.display.text import clean, cut
from extractbench_nb.errors import nearest
from extractbench_nb.evaluation.frames import OUTCOMES
from extractbench_nb.evaluation.result import Evaluation, outcome_counts
from extractbench_nb.widgets.evaluation_model import (
    PER_PAGE,
    Detail,
    Filters,
    Page,
    Row,
    checked_name,
    detail,
    filters_text,
    narrowed,
    page,
)
from extractbench_nb.widgets.excerpts import MOST, Side, line, short_path, words
from extractbench_nb.widgets.schema_view import (
    TreeNode,
    TreePane,
    resolved_path,
    schema_tree,
    tree_html,
)
from extractbench_nb.widgets.static import (
    MARKS,
    asset,
    counts_html,
    element,
    score_text,
    segments_html,
    table,
    twin,
)
from extractbench_nb.widgets.view import Pane, View, beside

__all__ = [
    "DetailPane",
    "EvaluationView",
    "Head",
    "HeadPane",
    "RowsPane",
    "Warnings",
    "detail_html",
    "filter_bar",
    "head",
    "head_html",
    "page_html",
    "tree_part",
]


_SCORES = ("overall_score", "field_score", "pass_rate")
_MOST_GROUPS = 30
_MOST_EXAMPLES = 5
_BEGINNING = 400


class Warnings(NamedTuple):
    """Warnings of one side and kind: how many, and the first of them as (path, message)."""

    side: str
    kind: str
    number: int
    examples: tuple[tuple[str, str], ...]


class Head(NamedTuple):
    """What stands above the fields.

    ``scores`` are in [0, 1], None if nothing is scored; ``counts`` are of counted rows.
    ``problem`` is the parser's message and the beginning of a text that is not JSON.
    """

    title: str
    scores: tuple[tuple[str, float | None], ...]
    passes: str
    counts: tuple[tuple[str, int], ...]
    notes: tuple[str, ...]
    problem: tuple[str, str] | None
    warnings: tuple[Warnings, ...]
    warned: int


def head(ev: Evaluation) -> Head:
    """Sum up an evaluation."""
    summary, meta, counted = ev.summary, ev.meta, outcome_counts(ev)
    evaluated = int(summary["evaluated"])
    problem = ev.inputs.problem
    title = f"Evaluation · profile {meta['profile']} · judge {meta['judge']}"
    return Head(
        title=line(title),
        scores=tuple(
            (name.replace("_", " "), float(summary[name]) if evaluated else None)
            for name in _SCORES
        ),
        passes=f"{summary['passed']:,.0f} of {evaluated:,} fields pass",
        counts=tuple((name, counted[name]) for name in MARKS if name in counted),
        notes=tuple(_notes(summary)),
        problem=None if problem is None else (line(problem), _beginning(ev.inputs.predicted)),
        warnings=_warnings(ev.warnings),
        warned=len(ev.warnings),
    )


def _notes(summary: pd.Series) -> list[str]:
    notes = []
    if not summary["evaluated"]:
        notes.append("No field is scored: there is nothing to tell right from wrong.")
    if summary["judge_errors"]:
        errors, judged = int(summary["judge_errors"]), int(summary["judged"])
        verdict = f"; {summary['pass_rate_judged']:.1%} of the judged fields pass" if judged else ""
        notes.append(
            f"{errors:,} field{' has' if errors == 1 else 's have'} no verdict, because a judge or "
            f"metric failed: the pass rate is a lower bound{verdict}."
        )
    if summary["gold_coverage"] < 1:
        notes.append(f"The schema declares only {summary['gold_coverage']:.1%} of gold's values.")
    return notes


def _warnings(found: pd.DataFrame) -> tuple[Warnings, ...]:
    groups: list[Any] = list(found.groupby(["side", "kind"], sort=False))[:_MOST_GROUPS]
    return tuple(
        Warnings(
            str(side),
            line(kind),
            len(group),
            tuple(
                (short_path(path), line(message))
                for path, message in group[["path", "message"]].head(_MOST_EXAMPLES).to_numpy()
            ),
        )
        for (side, kind), group in groups
    )


def _beginning(text: object) -> str:
    return words(text, _BEGINNING) if isinstance(text, str) else ""


_MOST_NODES = 200
_UNFOLDED_NODES = 12
_HEADS = ("outcome", "field", "gold", "predicted", "score")


def head_html(head: Head) -> str:
    """Write scores, counts, notes and warnings."""
    overall = counts_html(head.scores[0][1], head.counts)
    scores = " · ".join(
        f"{name} {'n/a' if score is None else format(score, '.3f')}" for name, score in head.scores
    )
    parts = [element("p", f"{head.passes} · {scores}"), f"<p>{overall}</p>" if overall else ""]
    if head.problem is not None:
        message, text = head.problem
        parts.append(element("p", f"The prediction is no JSON: {message}", "xb-bad"))
        parts.append(element("pre", text, "xb-value"))
    parts.extend(element("p", note) for note in head.notes)
    return "".join(parts) + _warnings_html(head.warnings, head.warned)


def _warnings_html(groups: Sequence[Warnings], count: int) -> str:
    if not count:
        return ""
    summary = element("summary", f"{count:,} warning{'' if count == 1 else 's'}")
    return f"<details>{summary}{''.join(map(_group_html, groups))}</details>"


def _group_html(group: Warnings) -> str:
    title = element("p", f"{group.side}: {group.kind}, {group.number:,}", "xb-leaf")
    items = "".join(
        f"<li>{element('code', path)} {element('span', message)}</li>"
        for path, message in group.examples
    )
    more = group.number - len(group.examples)
    return f"{title}<ul>{items}{element('li', f'… {more:,} more') if more else ''}</ul>"


def tree_part(nodes: Sequence[TreeNode]) -> str:
    """Write the schema's tree, folded, up to 200 nodes."""
    summary = element("summary", f"Schema, {len(nodes):,} nodes")
    tree = tree_html(nodes[:_MOST_NODES], unfolded=_UNFOLDED_NODES)
    more = len(nodes) - _MOST_NODES
    rest = element("p", f"… {more:,} more nodes") if more > 0 else ""
    return f"<details>{summary}{tree}{rest}</details>"


def page_html(page: Page, filters: str, name: str) -> str:
    """Write a page of rows as a table."""
    if page.empty:
        return element("p", f"Fields {filters}".strip()) + element("p", page.empty, "xb-empty")
    last = page.first + len(page.rows)
    shown = f"Fields {page.first + 1:,} to {last:,} of {page.left:,}"
    shown += f" (of {page.all:,} in all: {filters})" if filters else ""
    rows = table(_HEADS, map(_cells, page.rows), numbers=(4,))
    more = page.left - last
    rest = element("p", f"… {more:,} more rows; {name}.fields has them all") if more else ""
    return element("p", shown) + rows + rest


def _cells(row: Row) -> tuple[str, ...]:
    note = f"{row.metric}{'' if row.counted else ', not counted'}"
    return (
        f"{element('b', _outcome(row.outcome))} {element('span', _words(row.reason), 'xb-quiet')}",
        f"{element('code', row.path)} {element('span', note, 'xb-quiet')}",
        segments_html(row.gold),
        segments_html(row.predicted),
        score_text(row.score),
    )


def _outcome(name: str) -> str:
    return f"{MARKS[name]} {_words(name)}"


def _words(name: str) -> str:
    return name.replace("_", " ")


def detail_html(detail: Detail | None) -> str:
    """Write the chosen row in full."""
    if detail is None:
        return ""
    facts = "".join(
        f"<tr>{element('th', key)}{element('td', text, 'xb-value', 4_000)}</tr>"
        for key, text in detail.facts
    )
    about = element("p", detail.about, "xb-quiet", 4_000) if detail.about else ""
    sides = [_side_html("gold", detail.gold), _side_html("predicted", detail.predicted)]
    title = element("p", f"Selected: {detail.path}", "xb-title")
    code = f"<pre>{element('code', detail.code, limit=5_000)}</pre>"
    return f"{title}{about}{''.join(sides)}<table><tbody>{facts}</tbody></table>{code}"


def _side_html(name: str, side: Side) -> str:
    state = element("b", name if side.state == "present" else f"{name} ({side.state})")
    more = element("p", f"… {side.hidden:,} more characters") if side.hidden else ""
    value = f'<div class="xb-value" dir="auto">{segments_html(side.segments)}</div>'
    return f"<div>{state}{value}{more}</div>"


_STYLES = ("shared/base.css", "evaluation/evaluation.css")


class HeadPane(Pane):
    """Scores, counts, notes and warnings."""

    _esm = asset("shared/dom.js", "evaluation/head.js")
    _css = asset(*_STYLES)


class RowsPane(Pane):
    """A page of rows; `chosen` is the label of a row, -1 for none, `number` the page from 0."""

    _esm = asset("shared/dom.js", "shared/copy.js", "evaluation/rows.js")
    _css = asset(*_STYLES)

    chosen = traitlets.Int(-1).tag(sync=True)
    number = traitlets.Int(0).tag(sync=True)


class DetailPane(Pane):
    """One row in full; sends ``show_all`` where more of its values is wanted."""

    _esm = asset("shared/dom.js", "shared/copy.js", "evaluation/detail.js")
    _css = asset(*_STYLES)


_LONGEST_NAME = 60


def filter_bar(view: Any, metrics: Sequence[str], clear: Callable[[], None]) -> Any:
    """Make the controls of a view."""
    outcomes = [(f"{MARKS[name]} {name.replace('_', ' ')}", name) for name in OUTCOMES]
    named = [(cut(clean(name[: _LONGEST_NAME + 1]), _LONGEST_NAME), name) for name in metrics]
    controls = {
        "outcome": _choice("Outcome", [("all", ""), *outcomes]),
        "metric": _choice("Metric", [("all", ""), *named]),
        "worst_first": _choice("Order", [("document", False), ("worst first", True)]),
        "text": ipywidgets.Text(
            description="Find", placeholder="path or value", style=_OWN_WIDTH, layout=_wide("220px")
        ),
        "only_counted": _check("counted only"),
        "only_failed": _check("not passed only"),
    }
    for trait, control in controls.items():
        traitlets.link((view, trait), (control, "value"))
    button = ipywidgets.Button(description="Clear filters", layout=_wide("auto"))
    button.on_click(lambda _: clear())
    flow = ipywidgets.Layout(
        flex_flow="row wrap", align_items="center", width="100%", margin="0 0 6px 0"
    )
    return ipywidgets.Box([*controls.values(), button], layout=flow)


_OWN_WIDTH = {"description_width": "initial"}


def _choice(name: str, options: Sequence[tuple[str, Any]]) -> Any:
    layout = ipywidgets.Layout(width="auto", max_width="260px", margin="2px 10px 2px 2px")
    return ipywidgets.Dropdown(
        description=name, options=options, style=_OWN_WIDTH, layout=layout, value=options[0][1]
    )


def _check(name: str) -> Any:
    return ipywidgets.Checkbox(description=name, indent=False, layout=_wide("auto"))


def _wide(width: str) -> Any:
    return ipywidgets.Layout(width=width, margin="2px 10px 2px 2px")


_NONE = -1
_CONDITIONS = ("outcome", "metric", "text", "only_counted", "only_failed")


class EvaluationView(View):
    """An evaluation: the schema's tree beside the fields, gold against predicted.

    Parameters
    ----------
    ev : Evaluation
        The evaluation.
    name : str, optional
        What it is called in the notebook, for the code that can be copied: ``"ev"``, ``"evs[0]"``.

    Attributes
    ----------
    selected_path : str
        Schema path of the chosen node; the fields at it and below it are listed. Empty for all.
        A schema path or a field can be assigned.
    selected_row : str
        Instance path of the chosen field, which is shown in full; empty for none. A path or a field
        can be assigned; filters that would hide it are cleared.
    outcome, metric : str
        The only outcome, the only metric to list; empty for all.
    text : str
        What path, gold or predicted value must contain, in any case of letters.
    only_counted : bool
        Whether to leave out the fields inside array items, which do not enter the scores.
    only_failed : bool
        Whether to leave out what passed. A field without a verdict stays.
    worst_first : bool
        Whether to sort by score, fields without one first, in place of the document's order.
    rows : pandas.DataFrame
        The rows of ``ev.fields`` that are left, in the order shown, with their labels.
    code : str
        An expression that gives `rows`.

    Raises
    ------
    InputError
        `name` is not a name.
    """

    selected_path = traitlets.Unicode("")
    selected_row = traitlets.Unicode("")
    outcome = traitlets.Unicode("")
    metric = traitlets.Unicode("")
    text = traitlets.Unicode("")
    only_counted = traitlets.Bool(False)
    only_failed = traitlets.Bool(False)
    worst_first = traitlets.Bool(False)

    def __init__(self, ev: Evaluation, *, name: str = "ev") -> None:
        self._ev, self._name, self._fields = ev, checked_name(name), ev.fields
        self._nodes = schema_tree(ev.schema, ev)
        self._chosen = _NONE
        self._detail: Detail | None = None
        self._filters = Filters()
        self._found = narrowed(self._fields, self._filters, self._name)
        self._head, self._tree = HeadPane(), TreePane(self._nodes)
        self._list, self._whole = RowsPane(), DetailPane()
        self._head.show(head(ev)._asdict())
        super().__init__(self._parts(), layout=ipywidgets.Layout(width="100%"))
        self.add_class("xb-evaluation")
        self._follow()
        self._draw()
        self._draw_detail()

    def _parts(self) -> list[Any]:
        self._metrics = list(self._fields["metric"].unique())
        self._tree.add_class("xb-node-list")
        self._whole.layout.margin = "0 12px 0 0"
        return [
            self._head,
            filter_bar(self, self._metrics, self.clear),
            beside(self._tree, self._list, widths=(220, 500), shares=(2, 5)),
            self._whole,
        ]

    def _follow(self) -> None:
        traitlets.link((self, "selected_path"), (self._tree, "path"))
        self.observe(self._narrow, ["selected_path", "worst_first", *_CONDITIONS])
        self.observe(self._row_named, "selected_row")
        self._list.observe(lambda change: self._choose(change["new"]), "chosen")
        self._list.observe(lambda _: self._draw(), "number")
        self._whole.on_event("show_all", lambda _: self._draw_detail(MOST))

    # --- what can be assigned -------------------------------------------------------------------

    @traitlets.validate("selected_path")
    def _known_node(self, proposal: Any) -> str:
        return resolved_path(self._nodes, proposal["value"])

    @traitlets.validate("selected_row")
    def _known_row(self, proposal: Any) -> str:
        wanted: str = proposal["value"]
        paths, names = self._fields["path"], self._fields["field"]
        if not wanted or (paths == wanted).any():
            return wanted
        if not (names == wanted).any():
            raise traitlets.TraitError(f"there is no field {wanted!r}; {nearest(wanted, paths)}")
        return str(paths[names == wanted].iloc[0])

    @traitlets.validate("outcome", "metric")
    def _known_word(self, proposal: Any) -> str:
        word: str = proposal["value"]
        trait = proposal["trait"].name
        known = OUTCOMES if trait == "outcome" else self._metrics
        if word and word not in known:
            raise traitlets.TraitError(f"there is no {trait} {word!r}; {nearest(word, known)}")
        return word

    @traitlets.validate("text")
    def _sendable(self, proposal: Any) -> str:
        text: str = proposal["value"]
        if not text.isascii() and clean(text) != text:
            raise traitlets.TraitError(
                f"text is {text!r}; expected printable text, as it could be typed"
            )
        return text

    # --- what changes ---------------------------------------------------------------------------

    def _narrow(self, _: Any) -> None:
        conditions = {name: getattr(self, name) for name in _CONDITIONS}
        filters = Filters(self.selected_path, worst_first=self.worst_first, **conditions)
        if filters == self._filters:
            return
        self._filters = filters
        self._found = narrowed(self._fields, filters, self._name)
        if self._chosen not in self._found.rows.index:
            self._choose(_NONE)
        before = self._list.number
        self._turn_to(self._chosen)
        if self._list.number == before:
            self._draw()

    def _row_named(self, change: Any) -> None:
        wanted = change["new"]
        if wanted == self._path_of(self._chosen):
            return
        paths = self._fields["path"]
        self._choose(int(paths.index[paths == wanted][0]) if wanted else _NONE)

    def _choose(self, label: int) -> None:
        if label == self._chosen:
            return
        known = label if label in self._fields.index else _NONE
        self._chosen = known
        if known != _NONE and known not in self._found.rows.index:
            self.clear(node=True)
        self.selected_row = self._path_of(known)
        self._turn_to(known)
        self._list.chosen = known
        self._draw_detail()

    def _path_of(self, label: int) -> str:
        return "" if label == _NONE else str(self._fields["path"][label])

    def _turn_to(self, label: int) -> None:
        """Turn to the page of a row; to the first one without a row."""
        place = 0 if label == _NONE else self._found.rows.index.tolist().index(label)
        self._list.number = place // PER_PAGE

    def clear(self, *, node: bool = False) -> None:
        """Take away what narrows the rows."""
        with self.hold_trait_notifications():
            self.outcome = self.metric = self.text = ""
            self.only_counted = self.only_failed = False
            if node:
                self.selected_path = ""

    # --- what is shown --------------------------------------------------------------------------

    def _page(self) -> Any:
        return page(self._found, self._list.number, self._filters, len(self._fields))

    def _draw(self) -> None:
        self._list.show(self._page()._asdict())

    def _draw_detail(self, limit: int = 2_000) -> None:
        self._detail = (
            None
            if self._chosen == _NONE
            else detail(self._ev, self._fields, self._chosen, self._name, limit)
        )
        self._whole.show(self._detail and self._detail._asdict())

    @property
    def rows(self) -> pd.DataFrame:
        """The rows of ``fields`` that are left, in the order that is shown, with their labels."""
        return self._found.rows.copy()

    @property
    def code(self) -> str:
        """An expression that gives `rows` where the evaluation goes by its name."""
        return self._found.code

    def to_html(self) -> str:
        """Write head, tree, the page of rows that is shown, and the chosen row."""
        shown = page_html(self._page(), filters_text(self._filters), self._name)
        parts = head_html(head(self._ev)), tree_part(self._nodes), shown, detail_html(self._detail)
        return twin(repr(self), *parts)

    def __repr__(self) -> str:
        """Say in one line what the evaluation found, and how many rows are shown."""
        s = self._ev.summary
        left, everything = len(self._found.rows), len(self._fields)
        return (
            f"Evaluation · {s['passed']:,.0f} of {s['evaluated']:,.0f} fields pass · "
            f"{left:,} of {everything:,} rows shown"
        )
