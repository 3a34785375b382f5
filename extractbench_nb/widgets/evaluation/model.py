"""The rows of the view, as small records: a page of them, and one in full."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

import pandas as pd

from extractbench_nb.evaluation import Evaluation
from extractbench_nb.report.sides import Segment
from extractbench_nb.schema.nodes import Node
from extractbench_nb.widgets.evaluation.excerpts import MOST, Side, excerpts, whole
from extractbench_nb.widgets.evaluation.filters import Filters, Narrowed, row_code
from extractbench_nb.widgets.evaluation.words import line, short_path, words
from extractbench_nb.widgets.static import MARKS

__all__ = [
    "PER_PAGE",
    "Detail",
    "Page",
    "Row",
    "detail",
    "filters_text",
    "page",
    "pages",
]

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
    """Cut a page out of the rows that are left.

    Parameters
    ----------
    found : Narrowed
        The rows, and the code that gives them.
    number : int
        Which page, counted from 0; one that does not exist is the nearest.
    filters : Filters
        What left them, to say why there are none.
    in_all : int
        How many rows the evaluation has.

    Returns
    -------
    Page
        At most 50 rows.
    """
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
    """Say in words what is shown.

    Parameters
    ----------
    filters : Filters
        The conditions.

    Returns
    -------
    str
        Empty where all rows are shown in the order of the document.
    """
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
    """Tell everything about one row.

    Parameters
    ----------
    ev : Evaluation
        The evaluation.
    fields : pandas.DataFrame
        Its fields.
    label : int
        The row's label in `fields`.
    name : str, optional
        What the evaluation is called in the code.
    limit : int, optional
        Characters to show of each value.

    Returns
    -------
    Detail
        Both values, and what is known of the field.
    """
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
