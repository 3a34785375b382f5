"""Which rows of ``fields`` are shown, as small records, a page at a time."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator, Mapping
from functools import reduce
from operator import and_
from typing import Any, NamedTuple

import pandas as pd

from extractbench_nb.display.sides import Segment
from extractbench_nb.display.text import value_text
from extractbench_nb.errors import InputError
from extractbench_nb.evaluation.result import Evaluation
from extractbench_nb.schema.nodes import Node
from extractbench_nb.widgets.excerpts import MOST, Side, excerpts, line, short_path, whole, words
from extractbench_nb.widgets.static import MARKS

__all__ = [
    "PER_PAGE",
    "Detail",
    "Filters",
    "Narrowed",
    "Page",
    "Row",
    "checked_name",
    "detail",
    "filters_text",
    "narrowed",
    "page",
    "pages",
    "row_code",
]


#: Characters of code that a person may want to paste; longer code lists the rows instead.
_LONGEST_CODE = 4000
_SEARCHED = ["path", "gold", "predicted"]


class Filters(NamedTuple):
    """What is to be left: a node with what is below it, and conditions that must all hold.

    ``text`` is looked for in path, gold and predicted value, in any case of letters.
    """

    node: str = ""
    outcome: str = ""
    metric: str = ""
    text: str = ""
    only_counted: bool = False
    only_failed: bool = False
    worst_first: bool = False

    @property
    def narrow(self) -> bool:
        """Whether there is a condition beside the node."""
        return self._replace(node="", worst_first=False, text=self.text.strip()) != Filters()


class Narrowed(NamedTuple):
    """The rows that are left, with their labels in ``fields``, and code that gives them."""

    rows: pd.DataFrame
    code: str


class _Term(NamedTuple):
    """A condition; without code where no short code gives it."""

    code: str | None
    mask: Any


def checked_name(name: object) -> str:
    """Return how an evaluation is called in a notebook, or raise `InputError`."""
    try:
        found = ast.parse(name, mode="eval").body if isinstance(name, str) else None
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        found = None
    if not isinstance(name, str) or not isinstance(found, ast.Name | ast.Attribute | ast.Subscript):
        raise InputError(
            f"name is {name!r}; expected what the evaluation is called in your notebook, "
            "such as 'ev' or 'evs[0]'"
        )
    return name


def narrowed(fields: pd.DataFrame, filters: Filters, name: str = "ev") -> Narrowed:
    """Leave the rows that all conditions allow."""
    source = f"{name}.fields"
    terms = list(_terms(fields, filters, source))
    rows = fields[reduce(and_, (term.mask for term in terms))] if terms else fields
    if filters.worst_first:
        rows = rows.sort_values("score", kind="stable", na_position="first")
    codes = [term.code for term in terms if term.code is not None]
    code = _selection(source, codes) + _order(filters)
    if len(codes) < len(terms) or len(code) > _LONGEST_CODE:
        code = f"{source}.loc[{rows.index.tolist()}]"
    return Narrowed(rows, code)


def row_code(fields: pd.DataFrame, label: int, name: str = "ev") -> str:
    """Write an expression that gives one row of ``fields``."""
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


def _terms(fields: pd.DataFrame, filters: Filters, source: str) -> Iterator[_Term]:
    if filters.node not in ("", "$"):
        yield _below(fields, filters.node, source)
    for column in ("outcome", "metric"):
        wanted = getattr(filters, column)
        if wanted:
            yield _Term(_equals(source, column, wanted), fields[column] == wanted)
    if filters.only_counted:
        yield _Term(f'{source}["counted"]', fields["counted"])
    if filters.only_failed:
        yield _Term(f'~{source}["passed"].fillna(False)', ~fields["passed"].fillna(False))
    if filters.text.strip():
        yield _containing(fields[_SEARCHED], filters.text.strip().lower(), source)


def _below(fields: pd.DataFrame, node: str, source: str) -> _Term:
    paths, starts = fields["schema_path"], (f"{node}.", f"{node}[")
    literals = ", ".join(map(_literal, starts))
    code = (
        f"({_equals(source, 'schema_path', node)})\n"
        f'        | {source}["schema_path"].str.startswith(({literals}))'
    )
    return _Term(code, (paths == node) | paths.str.startswith(starts))


def _containing(cells: pd.DataFrame, wanted: str, source: str) -> _Term:
    test = f"value is not None and {_literal(wanted)} in str(value).lower()"
    code = (
        f'{source}[["path", "gold", "predicted"]]\n'
        f"        .map(lambda value: {test})\n"
        "        .astype(bool).any(axis=1)"
    )
    try:
        return _Term(code, _holding(cells, wanted, str))
    except Exception:  # noqa: BLE001 - a value of a document that Python itself cannot write
        return _Term(None, _holding(cells, wanted, value_text))


def _holding(cells: pd.DataFrame, wanted: str, write: Callable[[Any], str]) -> Any:
    found = cells.map(lambda value: value is not None and wanted in write(value).lower())
    return found.astype(bool).any(axis=1)


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
    lines = "\n    & ".join(f"({code})" if _compound(code) else code for code in codes)
    return f"{source}[\n    {lines}\n]"


def _compound(code: str) -> bool:
    return "==" in code or "\n" in code


def _order(filters: Filters) -> str:
    if not filters.worst_first:
        return ""
    return '.sort_values("score", kind="stable", na_position="first")'


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


class Page(NamedTuple):
    """Some of the rows that are left; `first` counts from 0, `empty` says why there are none.

    ``columns`` are the names of what a row holds, for the page.
    """

    rows: tuple[Row, ...]
    first: int
    left: int
    all: int
    number: int
    pages: int
    code: str
    empty: str
    columns: tuple[str, ...] = Row._fields


class Detail(NamedTuple):
    """One row in full; `facts` are pairs of name and text, `more` says if more can be shown."""

    label: int
    path: str
    outcome: str
    about: str
    facts: tuple[tuple[str, str], ...]
    gold: Side
    predicted: Side
    more: bool
    code: str


def pages(left: int) -> int:
    """Count the pages that so many rows take, at least one."""
    return max(1, -(-left // PER_PAGE))


def page(found: Narrowed, number: int, filters: Filters, in_all: int) -> Page:
    """Cut a page out of the rows that are left."""
    left = len(found.rows)
    number = min(max(0, number), pages(left) - 1)
    first = number * PER_PAGE
    shown = found.rows.iloc[first : first + PER_PAGE]
    return Page(
        rows=tuple(_row(row) for row in shown.itertuples()),
        first=first,
        left=left,
        all=in_all,
        number=number,
        pages=pages(left),
        code=found.code,
        empty="" if left else _why_empty(filters, in_all),
    )


def _row(row: Any) -> Row:
    gold, predicted = excerpts(row)
    return Row(
        label=row.Index,
        outcome=row.outcome,
        reason=line(row.reason),
        path=short_path(row.path),
        metric=line(row.metric),
        counted=bool(row.counted),
        score=None if row.score is pd.NA else float(row.score),
        gold=gold,
        predicted=predicted,
    )


def _why_empty(filters: Filters, in_all: int) -> str:
    if not in_all:
        return (
            "The schema scores no field of this document. "
            "A field is scored where the schema declares it, and evaluation_config is not skip."
        )
    if filters.narrow:
        return "No field matches; clear the filters."
    return "No field is scored at this node or below it; choose another one, $ for all."


def filters_text(filters: Filters) -> str:
    """Say in words what is shown."""
    parts = [
        filters.node and f"at or below {short_path(filters.node)}",
        filters.outcome.replace("_", " "),
        filters.metric and f"metric {line(filters.metric)}",
        filters.text.strip() and f"with “{line(filters.text.strip())}”",
        "counted only" if filters.only_counted else "",
        "not passed only" if filters.only_failed else "",
        "worst first" if filters.worst_first else "",
    ]
    return ", ".join(filter(None, parts))


def detail(
    ev: Evaluation, fields: pd.DataFrame, label: int, name: str = "ev", limit: int = 2_000
) -> Detail:
    """Tell everything about one row."""
    row: Any = next(fields.loc[[label]].itertuples())
    path = None if row.schema_path is pd.NA else row.schema_path
    node = next((n for n in ev.schema.nodes() if n.schema_path == path), None)
    gold, predicted = whole(row, limit)
    return Detail(
        label=label,
        path=words(row.path, _LONGEST_PATH),
        outcome=row.outcome,
        about=words((node and node.description) or "", _LONGEST_WORDS),
        facts=tuple((key, text) for key, text in _facts(ev, row, node, name).items() if text),
        gold=gold,
        predicted=predicted,
        more=limit < MOST and bool(gold.hidden or predicted.hidden),
        code=row_code(fields, label, name),
    )


def _facts(ev: Evaluation, row: Any, node: Node | None, name: str) -> Mapping[str, str]:
    counted = "counts for the scores" if row.counted else "inside an array item, not counted"
    score = "no verdict" if row.score is pd.NA else f"{row.score:.4g}"
    passed = "" if row.passed is pd.NA else ", passed" if row.passed else ", not passed"
    return {
        "outcome": f"{MARKS[row.outcome]} {row.outcome.replace('_', ' ')} ({line(row.reason)})",
        "score": f"{score}{passed}",
        "metric": line(row.metric + _params(node, row.metric)),
        "reasoning": _text(row.reasoning, _LONGEST_WORDS),
        "items": _items(ev, row, name),
        "predicted at": ""
        if row.predicted_path is pd.NA
        else words(row.predicted_path, _LONGEST_PATH),
        "type": "" if node is None else line(f"{node.label}{', required' * row.required}"),
        "schema path": _text(row.schema_path, _LONGEST_PATH),
        "weight": f"{row.weight:g}, {counted}",
    }


def _text(cell: Any, limit: int) -> str:
    return "" if cell is pd.NA else words(cell, limit)


def _params(node: Node | None, metric: str) -> str:
    specs = node.config.metrics if node is not None and node.config is not None else ()
    params = next((dict(spec.params) for spec in specs if spec.metric_id == metric), {})
    written = ", ".join(f"{key}={value!r}" for key, value in params.items())
    return f" ({written})" if written else ""


def _items(ev: Evaluation, row: Any, name: str) -> str:
    arrays = ev.arrays
    found = arrays[arrays["path"] == row.path]
    if found.empty:
        return ""
    a = found.iloc[0]
    if a["matched"] is pd.NA:
        return f"{a['gold_items']:,} gold and {a['predicted_items']:,} predicted items, not aligned"
    ratios = ", ".join(
        f"{measure} {'n/a' if a[measure] is pd.NA else format(a[measure], '.2f')}"
        for measure in ("precision", "recall", "f1")
    )
    return (
        f"{a['matched']:,} matched, {a['partial']:,} partial, {a['missed']:,} missed, "
        f"{a['spurious']:,} spurious; {ratios}. "
        f"xb.show_matches({name}, {words(repr(row.path), 300)}) shows them side by side"
    )
