"""`EvaluationView`: the schema's tree and the fields of the selected node."""

from __future__ import annotations

import ast
from collections.abc import Callable, Mapping
from functools import reduce
from operator import and_
from typing import Any, NamedTuple

import pandas as pd
import traitlets

from extractbench_nb.display.html import element, table
from extractbench_nb.display.sides import MOST, Segment, Side, excerpts, whole
from extractbench_nb.display.text import clean, one_line, plural, trimmed, value_text
from extractbench_nb.errors import InputError, nearest
from extractbench_nb.evaluation.frames import OUTCOMES
from extractbench_nb.evaluation.result import Evaluation, outcome_counts
from extractbench_nb.widgets import panes as ui
from extractbench_nb.widgets import static
from extractbench_nb.widgets.schema_view import (
    TreePane,
    resolved_path,
    schema_tree,
    tree_html,
)
from extractbench_nb.widgets.static import MARKS, more, score_text, segments_html, twin

_LONGEST_LINE, _LONGEST_SHOWN_PATH = 400, 200
#: Characters of code that a person may want to paste; longer code lists the rows instead.
_LONGEST_CODE = 4000


class Filters(NamedTuple):
    """Conditions that a row must meet; ``text`` is looked for in path, gold and predicted value."""

    node: str = ""
    outcome: str = ""
    metric: str = ""
    text: str = ""
    only_counted: bool = False
    only_failed: bool = False
    worst_first: bool = False


#: The conditions that are traits of the view by the same name.
_CONDITIONS = Filters._fields[1:]


def checked_name(name: object) -> str:
    """Check the name of an evaluation's variable in a notebook."""
    try:
        code = ast.parse(name, mode="eval").body if isinstance(name, str) else None
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        code = None
    if not isinstance(name, str) or not isinstance(code, ast.Name | ast.Attribute | ast.Subscript):
        raise InputError(
            f"name is {name!r}; expected the variable of the evaluation in your notebook, such as "
            "'ev' or 'evs[0]'"
        )
    return name


def narrowed(fields: pd.DataFrame, filters: Filters, name: str = "ev") -> tuple[pd.DataFrame, str]:
    """Return the rows that meet all conditions, with their labels, and code that selects them."""
    source = f"{name}.fields"
    terms: list[tuple[str | None, Any]] = []  # code, None where no short code exists, and mask
    if filters.node not in ("", "$"):
        paths, starts = fields["schema_path"], (f"{filters.node}.", f"{filters.node}[")
        literals = ", ".join(map(_literal, starts))
        code = (
            f"({_equals(source, 'schema_path', filters.node)})\n"
            f'        | {source}["schema_path"].str.startswith(({literals}))'
        )
        terms.append((code, (paths == filters.node) | paths.str.startswith(starts)))
    for column, wanted in (("outcome", filters.outcome), ("metric", filters.metric)):
        if wanted:
            terms.append((_equals(source, column, wanted), fields[column] == wanted))
    if filters.only_counted:
        terms.append((f'{source}["counted"]', fields["counted"]))
    if filters.only_failed:
        terms.append((f'~{source}["passed"].fillna(False)', ~fields["passed"].fillna(False)))
    if filters.text.strip():
        terms.append(_containing(fields, filters.text.strip().lower(), source))
    rows = fields[reduce(and_, (mask for _, mask in terms))] if terms else fields
    codes = [code for code, _ in terms if code is not None]
    code = _selection(source, codes)
    if filters.worst_first:
        rows = rows.sort_values("score", kind="stable", na_position="first")
        code += '.sort_values("score", kind="stable", na_position="first")'
    if len(codes) < len(terms) or len(code) > _LONGEST_CODE:
        code = f"{source}.loc[{rows.index.tolist()}]"
    return rows, code


def row_code(fields: pd.DataFrame, label: int, name: str = "ev") -> str:
    """Write an expression that selects one row of ``fields``."""
    source = f"{name}.fields"
    codes: list[str] = []
    mask = pd.Series(data=True, index=fields.index)
    for column in ("path", "metric"):
        wanted = fields[column][label]
        codes.append(_equals(source, column, wanted))
        mask &= fields[column] == wanted
        code = _selection(source, codes)
        if mask.sum() == 1 and len(code) <= _LONGEST_CODE:
            return code
    return f"{source}.loc[[{label}]]"


def _containing(fields: pd.DataFrame, wanted: str, source: str) -> tuple[str | None, Any]:
    def holding(write: Callable[[Any], str]) -> Any:
        cells = fields[["path", "gold", "predicted"]]
        found = cells.map(lambda value: value is not None and wanted in write(value).lower())
        return found.astype(bool).any(axis=1)

    test = f"value is not None and {_literal(wanted)} in str(value).lower()"
    code = (
        f'{source}[["path", "gold", "predicted"]]\n'
        f"        .map(lambda value: {test})\n"
        "        .astype(bool).any(axis=1)"
    )
    try:
        return code, holding(str)
    except Exception:  # noqa: BLE001 - a value of a document that Python itself cannot write
        return None, holding(value_text)


def _equals(source: str, column: str, wanted: str) -> str:
    return f'{source}["{column}"] == {_literal(wanted)}'


def _literal(text: str) -> str:
    """Write a text as Python does, in double quotes where these need no escaping."""
    written = repr(text)
    return f'"{text}"' if written == f"'{text}'" and '"' not in text else written


def _selection(source: str, codes: list[str]) -> str:
    if not codes:
        return source
    if len(codes) == 1:
        (code,) = codes
        return f"{source}[\n    {code}\n]" if "\n" in code else f"{source}[{code}]"
    lines = "\n    & ".join(f"({code})" if "==" in code or "\n" in code else code for code in codes)
    return f"{source}[\n    {lines}\n]"


#: Rows that are sent at a time.
PER_PAGE = 50
_LONGEST_PATH = 2_000
_LONGEST_WORDS = 4_000


class Row(NamedTuple):
    """One line of the list; `label` is its place in ``fields``."""

    label: int
    outcome: str
    reason: str
    path: str
    metric: str
    counted: bool
    score: float | None
    gold: list[Segment]
    predicted: list[Segment]


def page(rows: pd.DataFrame, number: int, filters: Filters, in_all: int) -> dict[str, Any]:
    """Return a page of the filtered rows; ``empty`` says why there are none."""
    cut, text = ui.page_of(len(rows), number, PER_PAGE), filters.text.strip()
    empty = ""
    if not in_all:
        empty = (
            "The schema scores no field of this document. "
            "A field is scored where the schema declares it, and evaluation_config is not skip."
        )
    elif not cut.total and filters._replace(node="", worst_first=False, text=text) != Filters():
        empty = "No field matches; clear the filters."
    elif not cut.total:
        empty = "No field is scored at this node or below it; choose another one, $ for all."
    return {
        "rows": [_row(row) for row in cut.of(rows).itertuples()],
        "first": cut.first,
        "left": cut.total,
        "all": in_all,
        "number": cut.number,
        "pages": cut.pages,
        "empty": empty,
        "columns": Row._fields,
    }


def _row(row: Any) -> Row:
    """Return a row of the table, with long texts cut."""
    gold, predicted = excerpts(row)
    return Row(
        label=row.Index,
        outcome=row.outcome,
        reason=one_line(row.reason, _LONGEST_LINE),
        path=one_line(row.path, _LONGEST_SHOWN_PATH),
        metric=one_line(row.metric, _LONGEST_LINE),
        counted=bool(row.counted),
        score=None if row.score is pd.NA else float(row.score),
        gold=gold,
        predicted=predicted,
    )


def filters_text(filters: Filters) -> str:
    """Describe the filters in words."""
    parts = [
        filters.node and f"at or below {one_line(filters.node, _LONGEST_SHOWN_PATH)}",
        filters.outcome.replace("_", " "),
        filters.metric and f"metric {one_line(filters.metric, _LONGEST_LINE)}",
        filters.text.strip() and f"with “{one_line(filters.text.strip(), _LONGEST_LINE)}”",
        "counted only" if filters.only_counted else "",
        "not passed only" if filters.only_failed else "",
        "worst first" if filters.worst_first else "",
    ]
    return ", ".join(filter(None, parts))


def detail(
    ev: Evaluation, fields: pd.DataFrame, label: int, name: str = "ev", limit: int = 2_000
) -> dict[str, Any]:
    """Describe one row in full; ``more`` says whether more of its values can be shown."""
    row: Any = next(fields.loc[[label]].itertuples())
    path = None if row.schema_path is pd.NA else row.schema_path
    node = next((n for n in ev.schema.nodes() if n.schema_path == path), None)
    gold, predicted = whole(row, limit)
    score = "no verdict" if row.score is pd.NA else f"{row.score:.4g}"
    passed = "" if row.passed is pd.NA else ", passed" if row.passed else ", not passed"
    specs = node.config.metrics if node is not None and node.config is not None else ()
    params = next((dict(spec.params) for spec in specs if spec.metric_id == row.metric), {})
    written = ", ".join(f"{key}={value!r}" for key, value in params.items())
    counted = "counts for the scores" if row.counted else "inside an array item, not counted"
    facts = {
        "outcome": f"{static.outcome_text(row.outcome)} ({one_line(row.reason, _LONGEST_LINE)})",
        "score": f"{score}{passed}",
        "metric": one_line(row.metric + (f" ({written})" if written else ""), _LONGEST_LINE),
        "reasoning": _text(row.reasoning, _LONGEST_WORDS),
        "items": _items(ev, row.path, name),
        "predicted at": _text(row.predicted_path, _LONGEST_PATH),
        "type": node and one_line(node.label + ", required" * row.required, _LONGEST_LINE),
        "schema path": _text(row.schema_path, _LONGEST_PATH),
        "weight": f"{row.weight:g}, {counted}",
    }
    return {
        "label": label,
        "path": trimmed(row.path, _LONGEST_PATH),
        "outcome": row.outcome,
        "about": trimmed((node and node.description) or "", _LONGEST_WORDS),
        "facts": [(key, text) for key, text in facts.items() if text],
        "gold": gold,
        "predicted": predicted,
        "more": limit < MOST and bool(gold.hidden or predicted.hidden),
        "code": row_code(fields, label, name),
    }


def _text(cell: Any, limit: int) -> str:
    return "" if cell is pd.NA else trimmed(cell, limit)


def _items(ev: Evaluation, path: str, name: str) -> str:
    """Describe the numbers of items of an array; empty for any other path."""
    arrays = ev.arrays[ev.arrays["path"] == path]
    if arrays.empty:
        return ""
    a = arrays.iloc[0]
    if a["matched"] is pd.NA:
        return f"{a['gold_items']:,} gold and {a['predicted_items']:,} predicted items, not aligned"
    ratios = ", ".join(
        f"{measure} {'n/a' if a[measure] is pd.NA else format(a[measure], '.2f')}"
        for measure in ("precision", "recall", "f1")
    )
    return (
        f"{a['matched']:,} matched, {a['partial']:,} partial, {a['missed']:,} missed, "
        f"{a['spurious']:,} spurious; {ratios}. "
        f"xb.show_matches({name}, {trimmed(repr(path), 300)}) shows them side by side"
    )


_SCORES = ("overall_score", "field_score", "pass_rate")
_MOST_GROUPS = 30
_MOST_EXAMPLES = 5
_BEGINNING = 400


def head(ev: Evaluation) -> dict[str, Any]:
    """Sum up an evaluation: scores, counts of counted rows, notes, and groups of warnings."""
    summary, meta, counted = ev.summary, ev.meta, outcome_counts(ev)
    evaluated = int(summary["evaluated"])
    problem, predicted = ev.inputs.problem, ev.inputs.predicted
    text = predicted if isinstance(predicted, str) else ""
    title = f"Evaluation · profile {meta['profile']} · judge {meta['judge']}"
    scores = [
        (name.replace("_", " "), float(summary[name]) if evaluated else None) for name in _SCORES
    ]
    warnings = []
    groups: list[Any] = list(ev.warnings.groupby(["side", "kind"], sort=False))
    for (side, kind), group in groups[:_MOST_GROUPS]:
        examples = [
            (one_line(path, _LONGEST_SHOWN_PATH), one_line(message, _LONGEST_LINE))
            for path, message in group[["path", "message"]].head(_MOST_EXAMPLES).to_numpy()
        ]
        warnings.append((side, one_line(kind, _LONGEST_LINE), len(group), examples))
    return {
        "title": one_line(title, _LONGEST_LINE),
        "scores": scores,
        "passes": f"{summary['passed']:,.0f} of {evaluated:,} fields pass",
        "counts": [(name, counted[name]) for name in MARKS if name in counted],
        "notes": _notes(summary),
        "problem": problem and (one_line(problem, _LONGEST_LINE), trimmed(text, _BEGINNING)),
        "warnings": warnings,
        "warned": len(ev.warnings),
    }


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


_MOST_NODES = 200
_UNFOLDED_NODES = 12
_HEADS = ("outcome", "field", "gold", "predicted", "score")


def head_html(head: dict[str, Any]) -> str:
    """Write scores, counts, notes and warnings."""
    counts = static.counts_html(head["scores"][0][1], head["counts"])
    scores = " · ".join(
        f"{name} {'n/a' if score is None else format(score, '.3f')}"
        for name, score in head["scores"]
    )
    parts = [element("p", f"{head['passes']} · {scores}"), f"<p>{counts}</p>" if counts else ""]
    if head["problem"] is not None:
        message, text = head["problem"]
        parts.append(element("p", f"The prediction is not JSON: {message}", "xb-bad"))
        parts.append(element("pre", text, "xb-value"))
    parts.extend(element("p", note) for note in head["notes"])
    groups = []
    for side, kind, number, examples in head["warnings"]:
        items = [
            f"<li>{element('code', path)} {element('span', message)}</li>"
            for path, message in examples
        ]
        if number > len(examples):
            items.append(element("li", f"… {number - len(examples):,} more"))
        groups.append(element("p", f"{side}: {kind}, {number:,}", "xb-leaf"))
        groups.append(f"<ul>{''.join(items)}</ul>")
    if groups:
        title = element("summary", plural(head["warned"], "warning"))
        parts.append(f"<details>{title}{''.join(groups)}</details>")
    return "".join(parts)


def page_html(page: dict[str, Any], filters: str, name: str) -> str:
    """Write a page of rows as a table."""
    if page["empty"]:
        return element("p", f"Fields {filters}".strip()) + element("p", page["empty"], "xb-empty")
    last = page["first"] + len(page["rows"])
    shown = f"Fields {page['first'] + 1:,} to {last:,} of {page['left']:,}"
    shown += f" (of {page['all']:,} in all: {filters})" if filters else ""
    rows = table(_HEADS, map(_cells, page["rows"]), numbers=(4,))
    rest = more(page["left"] - last, f"rows; {name}.fields has them all")
    return element("p", shown) + rows + rest


def _cells(row: Row) -> tuple[str, ...]:
    note = f"{row.metric}{'' if row.counted else ', not counted'}"
    reason = row.reason.replace("_", " ")
    return (
        f"{element('b', static.outcome_text(row.outcome))} {element('span', reason, 'xb-quiet')}",
        f"{element('code', row.path)} {element('span', note, 'xb-quiet')}",
        segments_html(row.gold),
        segments_html(row.predicted),
        score_text(row.score),
    )


def detail_html(detail: Mapping[str, Any]) -> str:
    """Write the chosen row in full."""
    facts = "".join(
        f"<tr>{element('th', key)}{element('td', text, 'xb-value', 4_000)}</tr>"
        for key, text in detail["facts"]
    )
    about = element("p", detail["about"], "xb-quiet", 4_000) if detail["about"] else ""
    sides = ""
    for name in ("gold", "predicted"):
        side: Side = detail[name]
        state = element("b", name if side.state == "present" else f"{name} ({side.state})")
        value = f'<div class="xb-value" dir="auto">{segments_html(side.segments)}</div>'
        sides += f"<div>{state}{value}{more(side.hidden, 'characters')}</div>"
    title = element("p", f"Selected: {detail['path']}", "xb-title")
    code = f"<pre>{element('code', detail['code'], limit=5_000)}</pre>"
    return f"{title}{about}{sides}<table><tbody>{facts}</tbody></table>{code}"


class HeadPane(ui.Pane, scripts=["evaluation/head.js"]):
    """Scores, counts, notes and warnings."""


class RowsPane(ui.Pane, scripts=["shared/copy.js", "evaluation/rows.js"]):
    """A page of rows; `chosen` is the label of a row, -1 for none, `number` the page from 0."""

    chosen = traitlets.Int(-1).tag(sync=True)
    number = traitlets.Int(0).tag(sync=True)


class DetailPane(ui.Pane, scripts=["shared/copy.js", "evaluation/detail.js"]):
    """One row in full; sends ``show_all`` where more of its values is wanted."""


_LONGEST_NAME = 60
_NONE = -1


class EvaluationView(ui.View):
    """An evaluation: the schema's tree beside the fields, gold against predicted.

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
        self._detail: dict[str, Any] | None = None
        self._filters = Filters()
        self._rows, self._code = narrowed(self._fields, self._filters, self._name)
        self._head, self._tree = HeadPane(), TreePane(self._nodes)
        self._list, self._whole = RowsPane(), DetailPane()
        self._head.show(head(ev))
        super().__init__(self._parts())
        self.add_class("xb-evaluation")
        traitlets.link((self, "selected_path"), (self._tree, "path"))
        self.observe(self._narrow, ["selected_path", *_CONDITIONS])
        self.observe(self._row_named, "selected_row")
        self._list.observe(lambda change: self._choose(change["new"]), "chosen")
        self._list.observe(lambda _: self._draw(), "number")
        self._whole.on_event("show_all", lambda: self._draw_detail(MOST))
        self._draw()
        self._draw_detail()

    def _parts(self) -> list[Any]:
        self._metrics = list(self._fields["metric"].unique())
        outcomes = [(static.outcome_text(name), name) for name in OUTCOMES]
        metrics = [(trimmed(name, _LONGEST_NAME), name) for name in self._metrics]
        controls = {
            "outcome": ui.menu("Outcome", [("all", ""), *outcomes], max_width="260px"),
            "metric": ui.menu("Metric", [("all", ""), *metrics], max_width="260px"),
            "worst_first": ui.menu("Order", [("document", False), ("worst first", True)]),
            "text": ui.search("Find", "path or value", width="220px"),
            "only_counted": ui.check("counted only"),
            "only_failed": ui.check("not passed only"),
        }
        self.link(controls)
        self._tree.add_class("xb-node-list")
        self._whole.layout.margin = "0 12px 0 0"
        return [
            self._head,
            ui.row(*controls.values(), ui.button("Clear filters", self.clear)),
            ui.beside(self._tree, self._list, widths=(220, 500), shares=(2, 5)),
            self._whole,
        ]

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
        trait, word = proposal["trait"].name, proposal["value"]
        return word and ui.known(trait, word, OUTCOMES if trait == "outcome" else self._metrics)

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
        filters = Filters(self.selected_path, *(getattr(self, name) for name in _CONDITIONS))
        if filters == self._filters:
            return
        self._filters = filters
        self._rows, self._code = narrowed(self._fields, filters, self._name)
        if self._chosen not in self._rows.index:
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
        if known != _NONE and known not in self._rows.index:
            self.clear(node=True)
        self.selected_row = self._path_of(known)
        self._turn_to(known)
        self._list.chosen = known
        self._draw_detail()

    def _path_of(self, label: int) -> str:
        return "" if label == _NONE else str(self._fields["path"][label])

    def _turn_to(self, label: int) -> None:
        """Go to the page of a row, or to the first page."""
        place = 0 if label == _NONE else self._rows.index.tolist().index(label)
        self._list.number = place // PER_PAGE

    def clear(self, *, node: bool = False) -> None:
        """Remove all filters."""
        with self.hold_trait_notifications():
            self.outcome = self.metric = self.text = ""
            self.only_counted = self.only_failed = False
            if node:
                self.selected_path = ""

    # --- what is shown --------------------------------------------------------------------------

    def _page(self) -> dict[str, Any]:
        cut = page(self._rows, self._list.number, self._filters, len(self._fields))
        return cut | {"code": self._code}

    def _draw(self) -> None:
        self._list.show(self._page())

    def _draw_detail(self, limit: int = 2_000) -> None:
        chosen = self._ev, self._fields, self._chosen, self._name, limit
        self._detail = None if self._chosen == _NONE else detail(*chosen)
        self._whole.show(self._detail)

    @property
    def rows(self) -> pd.DataFrame:
        """The filtered rows of ``fields`` in the order shown, with their labels."""
        return self._rows.copy()

    @property
    def code(self) -> str:
        """An expression that evaluates to `rows`, using the evaluation's variable name."""
        return self._code

    def to_html(self) -> str:
        """Write head, tree, the page of rows that is shown, and the chosen row."""
        shown = page_html(self._page(), filters_text(self._filters), self._name)
        chosen = "" if self._detail is None else detail_html(self._detail)
        nodes = self._nodes
        tree = (
            f"<details>{element('summary', f'Schema, {len(nodes):,} nodes')}"
            f"{tree_html(nodes[:_MOST_NODES], unfolded=_UNFOLDED_NODES)}"
            f"{more(len(nodes) - _MOST_NODES, 'nodes')}</details>"
        )
        return twin(repr(self), head_html(head(self._ev)), tree, shown, chosen)

    def __repr__(self) -> str:
        """Summarise the evaluation and the number of rows shown in one line."""
        s = self._ev.summary
        left, everything = len(self._rows), len(self._fields)
        return (
            f"Evaluation · {s['passed']:,.0f} of {s['evaluated']:,.0f} fields pass · "
            f"{left:,} of {everything:,} rows shown"
        )
