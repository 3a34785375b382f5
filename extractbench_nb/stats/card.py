"""How a `Comparison` shows itself: a few lines of text, or a table with interval plots."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import pandas as pd

from extractbench_nb._html import STYLE, document_text
from extractbench_nb.stats.tables import number, plain, ranking, with_range

if TYPE_CHECKING:
    from extractbench_nb.stats.comparison import Comparison
    from extractbench_nb.stats.drawing import Drawing

__all__ = ["card_html", "card_text", "sentences"]

_GROUPS, _PAIRS = 20, 20
#: Measures whose differences are at most 1.
_SCORES = ("pass_rate", "pass_rate_judged", "overall_score", "field_score")
_WIDTH, _HEIGHT, _EDGE = 150, 16, 6


def card_text(c: Comparison) -> str:
    """Write the scores as text, and what the differences amount to."""
    shown = ranking(c)[:_GROUPS]
    cells = _score_cells(c)
    names = [plain(name, 40) for name in shown]
    width = max(map(len, names))
    columns = [[m, *(with_range(*cells[name, m]) for name in shown)] for m in c.measures]
    widths = [max(map(len, column)) for column in columns]
    lines = [_title(c)]
    for i, name in enumerate(["", *names]):
        row = "  ".join(col[i].ljust(w) for col, w in zip(columns, widths, strict=True))
        lines.append(f"  {name.ljust(width)}  {row}".rstrip())
    more = len(ranking(c)) - len(shown)
    lines += [f"  … {more} more; .scores has them"] if more else []
    return "\n".join(lines + [f"  {plain(text, 400)}" for text in sentences(c)])


def sentences(c: Comparison) -> list[str]:
    """Say how many differences are more than noise, what could be seen, and what is missing."""
    counts = ", ".join(_distinct(c, m) for m in c.measures)
    how = f"sign-flip test, Holm, confidence {percent(c.drawing)}"
    texts = [f"Distinguishable from noise ({how}): {counts}."]
    first = c._differences[c._differences["measure"] == c.measures[0]]
    detectable = first["detectable"].dropna()
    if len(detectable):
        texts.append(_power(c.measures[0], detectable.median()))
    if (first[["only_a", "only_b"]].to_numpy() > 0).any():
        texts.append("Not all have the same documents: differences are over those both have.")
    invalid = c._scores[c._scores["measure"] == c.measures[0]].set_index("group")["invalid"]
    broken = [f"{name} {n}" for name, n in invalid.items() if n]
    return texts + ([f"Invalid outputs, scored 0: {', '.join(broken)}."] if broken else [])


def _power(measure: str, detectable: float) -> str:
    if detectable >= 1 and measure in _SCORES:
        return f"So few documents cannot be trusted to show any difference in {measure}."
    return (
        f"A true difference in {measure} under about {detectable:.3f} (median over pairs) "
        "is missed more than one time in five."
    )


def percent(drawing: Drawing) -> str:
    """Write the confidence of the intervals."""
    return f"{100 * drawing.confidence:.4g} %"


def _title(c: Comparison) -> str:
    groups, drawing = len(ranking(c)), c.drawing
    base = f", against {plain(c.baseline, 40)}" if c.baseline is not None else ""
    most = int(c._scores["documents"].max())
    documents = f"up to {most}" if c._scores["documents"].min() < most else f"{most}"
    return (
        f"Comparison of {groups} groups by {', '.join(c.by)} on {documents} "
        f"document{'s' if most > 1 else ''}{base}: mean [{percent(drawing)} interval]"
    )


def _distinct(c: Comparison, measure: str) -> str:
    rows = c._differences[c._differences["measure"] == measure]
    return f"{int(rows['significant'].fillna(value=False).sum())} of {len(rows)} in {measure}"


def _score_cells(c: Comparison) -> dict[tuple[str, str], tuple[Any, Any, Any]]:
    rows = c._scores.to_dict("records")
    return {(r["group"], r["measure"]): (r["mean"], r["low"], r["high"]) for r in rows}


def card_html(c: Comparison) -> str:
    """Write scores and differences as static HTML with interval plots; every text is escaped."""
    notes = "".join(f"<div>{document_text(text, 400)}</div>" for text in sentences(c))
    differences = "".join(_differences_html(c, measure) for measure in c.measures)
    return (
        f'<div class="xb-root">{STYLE}<div class="xb-title">{document_text(_title(c), 300)}</div>'
        f"{notes}{_scores_html(c)}{differences}</div>"
    )


def _scores_html(c: Comparison) -> str:
    cells, shown = _score_cells(c), ranking(c)[:_GROUPS]
    ranges = {m: _range([cells[name, m] for name in shown]) for m in c.measures}
    heads = "".join(f"<th>{document_text(m, 60)}{_ends(ranges[m])}</th>" for m in c.measures)
    rows = [
        f"<tr><td>{document_text(name, 60)}</td>"
        + "".join(_cell(cells[name, m], ranges[m]) for m in c.measures)
        + "</tr>"
        for name in shown
    ]
    more = _more(len(ranking(c)) - len(shown), "scores")
    return _table(f"<th>{document_text(', '.join(c.by), 60)}</th>{heads}", rows) + more


def _differences_html(c: Comparison, measure: str) -> str:
    """Write the differences in one measure, those least likely to be noise first."""
    frame = c._differences[c._differences["measure"] == measure]
    frame = frame.sort_values("p_holm", kind="stable", na_position="last")
    rows = frame.head(_PAIRS).to_dict("records")
    ends = _range([(r["b_minus_a"], r["low"], r["high"]) for r in rows] + [(0.0, 0.0, 0.0)])
    heads = f"<th>a</th><th>b</th><th>b - a{_ends(ends)}</th>" + "".join(
        f'<th class="xb-num">{text}</th>' for text in ("p (Holm)", "detectable", "documents")
    )
    table = _table(heads, [_difference_row(row, ends) for row in rows])
    folded = "" if measure != c.measures[0] else " open"
    head = document_text(f"Differences: {_distinct(c, measure)} distinguishable from noise", 200)
    more = _more(len(frame) - len(rows), "differences")
    return f"<details{folded}><summary>{head}</summary>{table}{more}</details>"


def _ends(ends: tuple[float, float]) -> str:
    text = " to ".join(number(end, 2) for end in ends)
    style = "font-weight:400;white-space:nowrap"
    return f'<br><span class="xb-type" style="{style}">axis {text}</span>'


def _difference_row(row: Mapping[Any, Any], ends: tuple[float, float]) -> str:
    names = "".join(f"<td>{document_text(row[n], 60)}</td>" for n in ("a", "b"))
    p = number(row["p_holm"])
    p = f"<b>{p}</b>" if row["significant"] is True else p
    plot = _cell((row["b_minus_a"], row["low"], row["high"]), ends, difference=True)
    numbers = (p, number(row["detectable"]), row["documents"])
    cells = "".join(f'<td class="xb-num">{text}</td>' for text in numbers)
    return f"<tr>{names}{plot}{cells}</tr>"


def _table(heads: str, rows: list[str]) -> str:
    return f"<table><thead><tr>{heads}</tr></thead><tbody>{''.join(rows)}</tbody></table>"


def _more(count: int, frame: str) -> str:
    return f"<div>… {count} more; .{frame} has them</div>" if count > 0 else ""


def _range(cells: list[tuple[Any, Any, Any]]) -> tuple[float, float]:
    ends = [float(x) for cell in cells for x in cell if not pd.isna(x)]
    low, high = min(ends, default=0.0), max(ends, default=1.0)
    return (low, high) if high > low else (low - 0.5, high + 0.5)


def _cell(
    cell: tuple[Any, Any, Any], ends: tuple[float, float], *, difference: bool = False
) -> str:
    text = with_range(*cell, sign=difference)
    zero = 0.0 if difference else None
    return f'<td style="white-space:nowrap">{text}<br>{_plot(cell, ends, zero)}</td>'


def _plot(cell: tuple[Any, Any, Any], ends: tuple[float, float], zero: float | None) -> str:
    """Draw an interval with its mean; the numbers stand beside it, so readers may skip it."""
    if pd.isna(cell[0]):
        return ""
    mid = _HEIGHT / 2
    marks = [
        f'<line x1="{_EDGE}" x2="{_WIDTH - _EDGE}" y1="{mid}" y2="{mid}" stroke-opacity=".2"/>'
    ]
    if zero is not None:
        x = _x(zero, ends)
        marks.append(f'<line x1="{x}" x2="{x}" y1="1" y2="{_HEIGHT - 1}" stroke-opacity=".5"/>')
    if not pd.isna(cell[1]):
        low, high = _x(cell[1], ends), _x(cell[2], ends)
        marks.append(f'<line x1="{low}" x2="{high}" y1="{mid}" y2="{mid}" stroke-width="3"/>')
    marks.append(f'<circle cx="{_x(cell[0], ends)}" cy="{mid}" r="3.5" fill="currentColor"/>')
    return (
        f'<svg width="{_WIDTH}" height="{_HEIGHT}" aria-hidden="true" stroke="currentColor">'
        f"{''.join(marks)}</svg>"
    )


def _x(value: float, ends: tuple[float, float]) -> str:
    share = (float(value) - ends[0]) / (ends[1] - ends[0])
    return f"{_EDGE + share * (_WIDTH - 2 * _EDGE):.1f}"
