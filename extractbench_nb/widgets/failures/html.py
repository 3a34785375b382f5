"""The static twin of the failure explorer: the heatmap as a table, the bars and values as text."""

from __future__ import annotations

from html import escape
from typing import NamedTuple

from extractbench_nb.report.texts import cut, single_line
from extractbench_nb.widgets.assets import asset
from extractbench_nb.widgets.failures.bars import Bars
from extractbench_nb.widgets.failures.choices import MEASURES, ORDERS, Choice
from extractbench_nb.widgets.failures.grids import Cell, Grid
from extractbench_nb.widgets.failures.lines import Line
from extractbench_nb.widgets.failures.notes import absent, every
from extractbench_nb.widgets.failures.values import ValueRow, Values
from extractbench_nb.widgets.static import (
    MARKS,
    counts_html,
    element,
    score_text,
    segments_html,
    table,
    twin,
)

__all__ = ["INVALID", "Picture", "picture_html"]

#: The sign of an output that is no JSON.
INVALID = "⊘"

_MOST_ROWS, _MOST_COLUMNS = 40, 20
_LONGEST_NAME = 80
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
    """Write the heatmap, the bars and the chosen values.

    Parameters
    ----------
    picture : Picture
        What is shown.

    Returns
    -------
    str
        One element; at most 40 rows and 20 columns of the heatmap, and how many there are beyond.
    """
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
