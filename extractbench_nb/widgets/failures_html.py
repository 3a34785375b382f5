"""The failure explorer as static HTML, and the rows behind chosen cells."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from html import escape
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from extractbench_nb.display.sides import Segment, alone, compared
from extractbench_nb.display.text import cut, single_line, value_text
from extractbench_nb.widgets.failures_grid import Bars, Cell, Grid, Line, plural, rounded, shortened
from extractbench_nb.widgets.failures_rows import (
    AXES,
    MEASURES,
    ORDERS,
    Choice,
    Coded,
    Numbers,
    failed_by_every_run,
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

__all__ = [
    "INVALID",
    "ROWS_A_PAGE",
    "Picture",
    "ValueRow",
    "Values",
    "absent",
    "bars_title",
    "empty",
    "every",
    "headline",
    "picture_html",
    "title",
    "value_rows",
    "values_json",
    "values_title",
]


ROWS_A_PAGE = 20

_LONGEST_LABEL = 60
_LONGEST_PATH = 200
_READ = (
    *("path", "metric", "score", "outcome", "reason", "reasoning"),
    *("gold", "predicted", "gold_state", "predicted_state"),
)
#: Characters of a value: at first, and where all of it is asked for.
_SHOWN, _LONGEST = 500, 100_000
#: Where both texts are shorter, all of them is shown with what differs marked.
_LONGEST_MARKED = 4000


class ValueRow(NamedTuple):
    """One row of `fields` to read: where it is, what became of it, and the two values.

    ``at`` is its place in the frame. ``whole`` says that nothing of the values is left out.
    """

    at: int
    run: str
    document: str
    path: str
    metric: str
    score: float | None
    outcome: str
    reason: str
    reasoning: str
    gold: tuple[Segment, ...]
    predicted: tuple[Segment, ...]
    whole: bool


class Values(NamedTuple):
    """One page of rows, those that fail first: ``first`` of ``total``."""

    rows: tuple[ValueRow, ...]
    first: int
    total: int
    failing: int


def value_rows(rows: Coded, places: Numbers, page: int = 0, whole: int | None = None) -> Values:
    """Lay gold and prediction of some rows side by side."""
    failing = places[~rows.passed[places]]
    ordered = np.concatenate([failing, places[rows.passed[places]]])
    first = max(0, min(page, (len(ordered) - 1) // ROWS_A_PAGE)) * ROWS_A_PAGE
    shown = ordered[first : first + ROWS_A_PAGE]
    found = tuple(_row(rows, int(at), long=at == whole) for at in shown)
    return Values(found, first, len(ordered), len(failing))


def _row(rows: Coded, at: int, *, long: bool) -> ValueRow:
    row = {name: rows.frame[name].iloc[at] for name in _READ}
    gold, predicted, whole = _sides(row, long=long)
    return ValueRow(
        at,
        _name_of(rows, "run", at),
        _name_of(rows, "document", at),
        single_line(_text(row["path"]), _LONGEST_PATH),
        single_line(_text(row["metric"]), _LONGEST_LABEL),
        None if pd.isna(row["score"]) else float(rounded(row["score"])),
        _text(row["outcome"]),
        single_line(_text(row["reason"]).replace("_", " "), _LONGEST_LABEL),
        single_line(_text(row["reasoning"]), _LONGEST if long else _LONGEST_PATH),
        tuple(gold),
        tuple(predicted),
        whole,
    )


def _name_of(rows: Coded, axis: str, at: int) -> str:
    found = rows.axes[axis]
    return "" if not found.given else shortened(found.names[found.codes[at]], _LONGEST_LABEL)


def _text(value: Any) -> str:
    return value if isinstance(value, str) else ""


def _sides(row: dict[str, Any], *, long: bool) -> tuple[list[Segment], list[Segment], bool]:
    """Return both values, and whether that is all of them."""
    values = _readable(row["gold"]), _readable(row["predicted"])
    states = _text(row["gold_state"]), _text(row["predicted_state"])
    longest = max(len(value_text(value)) for value in values)
    both = states == ("present", "present")
    if both and longest <= _LONGEST_MARKED and long:
        return *compared(*values, limit=_LONGEST_MARKED // 2), True
    if both and not long:
        return *compared(*values, limit=_SHOWN), longest <= 2 * _SHOWN
    limit = _LONGEST if long else _SHOWN
    gold, predicted = (alone(v, s, limit=limit) for v, s in zip(values, states, strict=True))
    return gold, predicted, longest <= limit


def _readable(value: Any) -> Any:
    """Write objects and arrays as JSON, so that two of them can be compared."""
    return value_text(value) if isinstance(value, dict | list | tuple) else value


def values_json(values: Values, title: str, *, chosen: bool) -> Mapping[str, Any]:
    """Return a page of rows as the front end reads it."""
    return {
        "title": title,
        "chosen": chosen,
        "rows": {"columns": list(ValueRow._fields), "rows": [list(row) for row in values.rows]},
        "first": values.first,
        "total": values.total,
        "page": ROWS_A_PAGE,
    }


_LONGEST_NAME = 80
_ABSENT = {
    frozenset({"field", "document"}): "field not in this document",
    frozenset({"field", "run"}): "field not in the documents of this run",
    frozenset({"document", "run"}): "no output of this run",
}

#: What a line is the mean of; the fields of each document and run are averaged before.
_OVER = {
    "field": "mean over documents and runs",
    "document": "mean over runs",
    "run": "mean over documents",
}


def title(rows: Coded) -> str:
    """Say in one line what there is, whatever is shown of it."""
    sizes = " · ".join(plural(rows.axes[name].size, name) for name in AXES)
    return f"Failures · {sizes} · {plural(len(rows), 'row')}"


def headline(rows: Coded, places: Numbers) -> list[str]:
    """Count what is shown."""
    if not len(places):
        return []
    said = [plural(len(_there(rows.axes[name].codes[places])), name) for name in AXES]
    outputs = _there(rows.outputs.codes[places])
    invalid = int(rows.outputs.invalid[outputs].sum())
    if invalid:
        all_fail = f"{invalid:,} of {plural(len(outputs), 'output')} invalid: all their fields fail"
        said.append(all_fail)
    failed = int(failed_by_every_run(rows, places).sum())
    said.append(f"{plural(failed, 'field')} failed by every run" if failed else "")
    return [text for text in said if text]


def _there(codes: Numbers) -> Numbers:
    """Return each code once."""
    return np.flatnonzero(np.bincount(codes))


def absent(choice: Choice) -> str:
    """Say what a cell without rows means."""
    return _ABSENT[frozenset({choice.rows, choice.columns})]


def every(choice: Choice) -> str:
    """Say what the numbers of whole rows and columns are."""
    measure = MEASURES["score" if choice.measure == "score" else "pass_rate"]
    means = (f"of a {axis}, {_OVER[axis]}" for axis in (choice.rows, choice.columns))
    return f"all: {measure}; {'; '.join(means)}"


def empty(rows: Coded, choice: Choice) -> str:
    """Say why nothing is shown, and what would help."""
    if not len(rows):
        return "No field was evaluated: there are no rows in `fields`."
    given = [single_line(text, _LONGEST_NAME) for text in choice.filters]
    if not choice.inside_arrays and not rows.counted.any():
        return "Every row is inside an array; show the fields inside arrays."
    return f"No field matches: {', '.join(given)}. Clear the filters."


def bars_title(total: int, *, chosen: bool) -> str:
    """Say what the bars count."""
    return f"{'Selection' if chosen else 'All that is shown'}: {plural(total, 'row')}"


def values_title(choice: Choice, block: Sequence[Sequence[str]], values: Values) -> str:
    """Say which cells were chosen, and how many of their rows fail."""
    if not block:
        return "No cell is chosen."
    sides = " × ".join(
        shortened(names[0], _LONGEST_NAME) if len(names) == 1 else plural(len(names), axis)
        for names, axis in zip(block, (choice.rows, choice.columns), strict=True)
    )
    if not values.total:
        return f"{sides}: nothing here, or the filters leave nothing."
    return f"{sides}: {values.failing:,} of {plural(values.total, 'row')} not passed"


#: The sign of an output that is no JSON.
INVALID = "⊘"

_MOST_ROWS, _MOST_COLUMNS = 40, 20
#: Characters of all columns' names beyond which the columns are numbered.
_LONGEST_HEADS = 70


class Picture(NamedTuple):
    """Everything that is shown; ``values_title`` is empty where no cell is chosen."""

    title: str
    headline: list[str]
    choice: Choice
    grid: Grid
    empty: str
    bars_title: str
    bars: list[Bars]
    values_title: str
    values: Values


def picture_html(picture: Picture) -> str:
    """Write the heatmap, the bars and the chosen values."""
    heatmap = _heatmap(picture) if picture.grid.cells else element("p", picture.empty)
    return twin(
        picture.title,
        f"<style>{asset('failures/shades.css')}</style>",
        element("p", " · ".join(picture.headline)),
        element("p", _chosen(picture.choice)),
        heatmap,
        _values(picture),
        _bars(picture),
    )


def _chosen(choice: Choice) -> str:
    rows = f"Rows: {choice.rows}s, {ORDERS[choice.row_order]}."
    columns = f"Columns: {choice.columns}s, {ORDERS[choice.column_order]}."
    only = [single_line(text, _LONGEST_NAME) for text in choice.filters]
    inside = " Fields inside arrays too." if choice.inside_arrays else ""
    filters = f" Only: {', '.join(only)}." if only else ""
    return f"{rows} {columns} Cells: {MEASURES[choice.measure]}.{inside}{filters}"


def _heatmap(picture: Picture) -> str:
    grid, choice = picture.grid, picture.choice
    rows, columns = grid.rows.lines[:_MOST_ROWS], grid.columns.lines[:_MOST_COLUMNS]
    numbered = sum(len(line.name) for line in columns) > _LONGEST_HEADS
    heads = [element("th", f"{choice.rows} \\ {choice.columns}"), element("th", "all")]
    heads += [_head(line, "col", at if numbered else 0) for at, line in enumerate(columns, 1)]
    body = "".join(
        _group(line, before, len(heads)) * grid.rows.grouped
        + f"<tr>{_head(line, 'row')}{element('td', _whole(line, choice.measure), 'xb-num')}"
        + "".join(_cell(cell, choice.measure) for cell in cells[:_MOST_COLUMNS])
        + "</tr>"
        for line, before, cells in zip(rows, (None, *rows), grid.cells, strict=False)
    )
    beyond = [
        f"… {len(side.codes) - len(shown):,} more {name}s"
        for side, shown, name in (
            (grid.rows, rows, choice.rows),
            (grid.columns, columns, choice.columns),
        )
        if len(side.codes) > len(shown)
    ]
    return (
        f'<table class="xb-static-heat"><thead><tr>{"".join(heads)}</tr></thead>'
        f"<tbody>{body}</tbody></table>{_numbers(picture) if numbered else ''}"
        f"{element('p', ', '.join(beyond)) if beyond else ''}"
        f"{element('p', _legend(choice), 'xb-quiet')}"
    )


def _numbers(picture: Picture) -> str:
    """Name the columns that are numbered."""
    choice = picture.choice
    names = (
        element("span", f"{_signed(line, line.title)} · {_whole(line, choice.measure)}")
        for line in picture.grid.columns.lines[:_MOST_COLUMNS]
    )
    items = "".join(f"<li>{name}</li>" for name in names)
    head = element("p", f"The {choice.columns}s, by the numbers of their columns:")
    return f'{head}<ol class="xb-columns">{items}</ol>'


def _group(line: Line, before: Line | None, width: int) -> str:
    """Name the schema above its first row."""
    if before is not None and before.group == line.group:
        return ""
    return f'<tr><th colspan="{width}">{element("b", line.group)}</th></tr>'


def _head(line: Line, scope: str, number: int = 0) -> str:
    """Name a line, or give the number under which it is named."""
    text = element("span", _signed(line, str(number) if number else line.name))
    return f'<th scope="{scope}" title="{escape(line.title)}">{text}</th>'


def _signed(line: Line, name: str) -> str:
    signs = (" ✗" if line.failed else "") + (f" {INVALID}" if line.invalid else "")
    return cut(name, _LONGEST_NAME) + signs


def _whole(line: Line, measure: str) -> str:
    return score_text(line.score if measure == "score" else line.pass_rate)


def _cell(cell: Cell | None, measure: str) -> str:
    if cell is None:
        return '<td class="xb-absent">·</td>'
    if cell.invalid == cell.rows:
        return f'<td class="xb-s0">{INVALID}</td>'
    sign = INVALID if cell.invalid else ""
    if measure == "outcome":
        text = f"{MARKS[cell.outcome]} {cell.most}/{cell.rows}{sign}"
        return f'<td class="xb-tint xb-t-{cell.outcome}">{text}</td>'
    value = cell.score if measure == "score" else cell.pass_rate
    return f'<td class="xb-s{_shade(value)}">{score_text(value)}{sign}</td>'


def _shade(value: float) -> int:
    """Return the step of the colour scale, 0 to 10; only 0 and 1 are at its ends."""
    return 0 if value <= 0 else 10 if value >= 1 else 1 + min(8, int(value * 9))


def _legend(choice: Choice) -> str:
    outcomes = ", ".join(f"{MARKS[name]} {name.replace('_', ' ')}" for name in _NAMED)
    marks = f" {outcomes}, with its share of the rows;" if choice.measure == "outcome" else ""
    return (
        f"Signs:{marks} · {absent(choice)}; {INVALID} the output, or some of the outputs, "
        f"is no JSON; ✗ failed by every run. {every(choice).capitalize()}."
    )


_NAMED = [name for name in MARKS if name not in ("matched", "partial", "missed", "spurious")]


def _bars(picture: Picture) -> str:
    parts = [_outcomes(b) if b.by == "outcome" else _groups(b) for b in picture.bars if b.bars]
    return element("h4", picture.bars_title) + "".join(parts)


def _outcomes(bars: Bars) -> str:
    rows = [[element("span", f"{MARKS[b.title]} {b.name}"), f"{b.rows:,}"] for b in bars.bars]
    return table(["outcome", "rows"], rows, numbers=[1])


def _groups(bars: Bars) -> str:
    rows = [
        [
            element("span", bar.name),
            f"{bar.passed:,} of {bar.rows:,}",
            counts_html(bar.rate, bar.counts),
        ]
        for bar in bars.bars
    ]
    rows += [[f"… {bars.more:,} more", "", ""]] if bars.more else []
    return table(
        [bars.by, "rows that pass", f"{bars.measure}; outcomes of rows"], rows, numbers=[1]
    )


def _values(picture: Picture) -> str:
    values = picture.values
    if not picture.values_title:
        return ""
    head = element("h4", picture.values_title)
    if not values.rows:
        return head
    rows = [
        [
            element("span", " · ".join(filter(None, (row.run, row.document, row.path)))),
            f"{MARKS[row.outcome]} {element('span', _verdict(row))}",
            segments_html(row.gold),
            segments_html(row.predicted),
        ]
        for row in values.rows
    ]
    after = values.total - values.first - len(values.rows)
    more = element("p", f"… {after:,} more rows") if after else ""
    return head + table(["where", "outcome", "gold", "predicted"], rows) + more


def _verdict(row: ValueRow) -> str:
    said = [row.outcome.replace("_", " "), score_text(row.score), row.metric, row.reason]
    return " · ".join(text for text in (*said, row.reasoning) if text)
