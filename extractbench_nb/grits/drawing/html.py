"""Two compared tables as HTML: small, without scripts, and readable without its style."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape

from extractbench_nb._html import STYLE, document_text
from extractbench_nb.grits.cells import Cell
from extractbench_nb.grits.drawing.model import (
    METRICS,
    SIDES,
    ComparedTables,
    Comparison,
    DrawnRow,
    DrawnSide,
    Line,
    Patch,
    compare,
    drawn,
    notes_of,
    two_digits,
)

__all__ = [
    "LEGEND",
    "TABLES_STYLE",
    "default_metric",
    "grits_html",
    "kind_of",
    "line_text",
    "mark_text",
    "scores_html",
    "tables_html",
]

_MOST_ROWS, _MOST_COLUMNS = 30, 15
_MOST_NOTES = 5
#: Characters of a cell.
_LONGEST = 60
#: Characters of a cell that stand beside a similarity; of more the end is cut, not the number.
_BESIDE = 14
#: By side: the sign of what has no partner.
_ALONE = ("–", "+")
LEGEND = (
    "2 → 3: the true line 2 was matched with the predicted line 3. – lost: only in the true table. "
    "+ extra: only in the predicted one. A number in a cell is its similarity where that is not "
    "1: the mean over its positions, of which those without a partner count 0."
)

#: A tint goes over whatever page there is, so that texts stay readable on light and on dark ones.
TABLES_STYLE = """<style>
.xb-grits{display:flex;flex-wrap:wrap;gap:.4em 1.6em}
.xb-grits>div{max-width:100%;min-width:0;overflow-x:auto}
.xb-grits.xb-grits table{border-collapse:collapse;font-size:12px;margin:.2em 0;width:auto}
.xb-grits.xb-grits th,.xb-grits.xb-grits td{border:1px solid var(--jp-border-color2,#8886);
height:1.7em;max-width:13em;overflow:hidden;padding:.1em .5em;text-align:left;
text-overflow:ellipsis;unicode-bidi:plaintext;vertical-align:middle;white-space:nowrap}
.xb-grits.xb-grits .xb-gutter{border:0;font-size:11px;font-weight:400;
font-variant-numeric:tabular-nums;opacity:.85;text-align:right}
.xb-grits.xb-grits thead .xb-gutter{text-align:left}
.xb-grits.xb-grits .xb-alone{background:repeating-linear-gradient(45deg,transparent 0 5px,
#8884 5px 7px)}
.xb-grits.xb-grits .xb-partly{border-style:dashed}
.xb-grits.xb-grits .xb-gap{border:0}
.xb-grits.xb-grits td.xb-header{border-bottom-width:2px;font-weight:600}
.xb-grits.xb-grits td.xb-projected{font-style:italic;font-weight:600}
.xb-grits .xb-cut{display:inline-block;max-width:9.5em;overflow:hidden;text-overflow:ellipsis;
vertical-align:bottom}
.xb-grits small{font-variant-numeric:tabular-nums;font-weight:400}
</style>"""


def grits_html(result: ComparedTables, metric: str | None = None) -> str:
    """Write the scores and both grids, with each cell coloured by its similarity.

    Parameters
    ----------
    result : GriTS
        What was compared.
    metric : str, optional
        Whose alignment is shown, one of those in ``result.scores``; by default ``con``, or the
        first one where that was not computed.

    Returns
    -------
    str
        One element with its own style; at most 30 rows and 15 columns, and how many there are
        beyond.

    Raises
    ------
    InputError
        The metric was not computed.
    """
    chosen = metric or default_metric(result)
    parts = [] if chosen is None else [_picture(compare(result, chosen))]
    body = "".join((scores_html(result, chosen), *parts))
    title = f'<div class="xb-title">{document_text(repr(result), 200)}</div>'
    return f'<div class="xb-root">{STYLE}{TABLES_STYLE}{title}{body}</div>'


def default_metric(result: ComparedTables) -> str | None:
    """Return the metric to show at first; None where none was computed."""
    names = [str(name) for name in result.scores.index]
    return "con" if "con" in names else next(iter(names), None)


def scores_html(result: ComparedTables, chosen: str | None) -> str:
    """Write the scores of all metrics.

    Parameters
    ----------
    result : GriTS
        What was compared.
    chosen : str or None
        The metric that is shown.

    Returns
    -------
    str
        A table.
    """
    heads = ("metric", *(name.replace("_", " ") for name in result.scores.columns))
    top = "".join(f'<th class="xb-num">{head}</th>' for head in heads)
    rows = "".join(
        f"<tr><th>{name}{' (shown)' if name == chosen else ''}</th>"
        + "".join(f'<td class="xb-num">{number:.3f}</td>' for number in numbers)
        + "</tr>"
        for name, *numbers in result.scores.itertuples()
    )
    return f"<table><thead><tr>{top}</tr></thead><tbody>{rows}</tbody></table>"


def _picture(found: Comparison) -> str:
    rows, columns = found.rows[:_MOST_ROWS], found.columns[:_MOST_COLUMNS]
    pairs = ((found.rows, rows, "rows"), (found.columns, columns, "columns"))
    beyond = [
        f"{len(lines) - len(shown):,} more {name}"
        for lines, shown, name in pairs
        if len(lines) > len(shown)
    ]
    more = f"<p>… {', '.join(beyond)}</p>" if beyond else ""
    told = f"<p>Alignment and colours by {METRICS[found.metric]} ({found.metric}). {LEGEND}</p>"
    return f"{tables_html(found, rows, columns)}{more}{told}"


def tables_html(found: Comparison, rows: Sequence[Line], columns: Sequence[Line]) -> str:
    """Write some lines of both grids beside each other.

    Parameters
    ----------
    found : Comparison
        The tables.
    rows, columns : sequence of Line
        Lines of it, in order.

    Returns
    -------
    str
        One element; `TABLES_STYLE` is its style.
    """
    sides = (_table(found, side, part) for side, part in enumerate(drawn(found, rows, columns)))
    return f'<div class="xb-grits">{"".join(sides)}</div>'


def _table(found: Comparison, side: int, part: DrawnSide) -> str:
    table = found.tables[side]
    if not table.size:
        return f"<div><b>{SIDES[side]}</b><p>An empty table.</p></div>"
    shape = f"{table.grid.shape[0]:,} rows × {table.grid.shape[1]:,} columns"
    heads = "".join(_gutter(line, side, "col") for line in part.columns)
    body = "".join(_row(found, side, row) for row in part.rows)
    notes = "".join(f"<p>{document_text(note, 200)}</p>" for note in notes_of(table)[:_MOST_NOTES])
    return (
        f"<div><b>{SIDES[side]}</b>, {shape}"
        f'<table><thead><tr><td class="xb-gutter"></td>{heads}</tr></thead>'
        f"<tbody>{body}</tbody></table>{notes}</div>"
    )


def line_text(line: Line, side: int) -> str:
    """Write what a line was matched with; nothing on a side that has no such line.

    Examples
    --------
    >>> line_text(Line(2, 3), 1), line_text(Line(None, 4), 1), line_text(Line(None, 4), 0)
    ('2 → 3', '+ 4', '')
    """
    if None in (line.true, line.predicted):
        return "" if line.at(side) is None else f"{_ALONE[side]} {line.at(side)}"
    return f"{line.true} → {line.predicted}"


def _gutter(line: Line, side: int, scope: str) -> str:
    text = line_text(line, side)
    if not text:
        return '<td class="xb-gutter"></td>'
    alone = " xb-alone" if None in (line.true, line.predicted) else ""
    return f'<th class="xb-gutter{alone}" scope="{scope}">{text}</th>'


def _row(found: Comparison, side: int, row: DrawnRow) -> str:
    patches = "".join(_patch(found.tables[side].cells, side, patch) for patch in row.patches)
    return f"<tr>{_gutter(row.line, side, 'row')}{patches}</tr>"


def _patch(cells: Sequence[Cell], side: int, patch: Patch) -> str:
    spans = "".join(
        f' {name}span="{size}"'
        for name, size in (("row", patch.height), ("col", patch.width))
        if size > 1
    )
    if patch.state == "gap":
        return f'<td class="xb-gap"{spans}></td>'
    cell = cells[patch.cell]
    kinds = " ".join(f"xb-{kind}" for kind in (patch.state, kind_of(cell)) if kind)
    tint = f' style="background:{_tint(patch)}"' if patch.state in ("unlike", "partly") else ""
    sign = mark_text(patch, side)
    text = document_text(cell.text, _LONGEST)
    mark = f" <small>{sign}</small>" if sign else ""
    if mark and len(cell.text) > _BESIDE:
        text = f'<span class="xb-cut">{text}</span>'
    return f'<td class="{escape(kinds)}"{spans}{tint}>{text}{mark}</td>'


def kind_of(cell: Cell) -> str:
    """Return ``projected``, ``header``, or nothing."""
    return "projected" if cell.is_projected else "header" if cell.is_header else ""


def _tint(patch: Patch) -> str:
    """Return a colour that is the stronger the less alike a cell is, and seen from the start."""
    return f"rgba(200,74,38,{0.1 + 0.45 * (1 - patch.similarity):.2f})"


def mark_text(patch: Patch, side: int) -> str:
    """Write what is to be said of a patch: ``–`` or ``+``, or its similarity where it is not 1."""
    if patch.state in ("alike", "gap"):
        return ""
    return _ALONE[side] if patch.state == "alone" else two_digits(patch.similarity)
