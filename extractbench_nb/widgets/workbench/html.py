"""The static twin of the workbench: figures, the curve as a table, and the cases that are shown."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from extractbench_nb.widgets.static import element, segments_html, table
from extractbench_nb.widgets.workbench.model import Curve, Fact
from extractbench_nb.widgets.workbench.rows import CaseRow

__all__ = ["cases_html", "config_html", "curve_html", "detail_html", "facts_html"]

_MOST_POINTS = 11
_SIGNS = {
    "pass": "✓",
    "fail": "✗",
    "no verdict": "?",
    "gained": "▲",
    "lost": "▼",
}


def facts_html(summary: Mapping[str, Any]) -> str:
    """Write the metric, the baseline and the figures.

    Parameters
    ----------
    summary : mapping
        As `summary_model` gives it.

    Returns
    -------
    str
        HTML.
    """
    rows = [[element("span", text) for text in _fact(fact)] for fact in summary["facts"]]
    return (
        element("p", f"Metric: {summary['rules']}")
        + element("p", f"Baseline: {summary['baseline']}", "xb-quiet")
        + table(["", "Now", "Baseline"], rows)
    )


def _fact(fact: Fact) -> tuple[str, str, str]:
    return fact.name, " · ".join(filter(None, (fact.value, fact.note))), fact.baseline


def config_html(text: str) -> str:
    """Write the ``evaluation_config``."""
    return "<details><summary>evaluation_config</summary>" + element("pre", text) + "</details>"


def curve_html(curve: Curve) -> str:
    """Write the curve as a table of some of its values, those of now and of the baseline included.

    Parameters
    ----------
    curve : Curve
        The curve.

    Returns
    -------
    str
        HTML.
    """
    heads = [curve.over, "passing", *(name for name, _ in curve.lines)]
    rows = [
        [element(*_value(curve, n)), element("span", f"{curve.passing[n]:,}")]
        + [element("span", _measure(shares[n])) for _, shares in curve.lines]
        for n in _points(curve)
    ]
    best = element("p", curve.best) if curve.best else ""
    body = table(heads, rows, range(1, len(heads)))
    return element("p", f"Curve over {curve.over}:") + body + best


def _points(curve: Curve) -> list[int]:
    """Return some places, evenly apart, and those of now and of the baseline."""
    count = len(curve.texts)
    every = max(1, round((count - 1) / (_MOST_POINTS - 1)))
    marked = {at for at in (curve.at, curve.baseline) if at is not None}
    return sorted({*range(0, count, every), count - 1} | marked)


def _value(curve: Curve, n: int) -> tuple[str, str]:
    notes = [word for word, at in (("now", curve.at), ("baseline", curve.baseline)) if at == n]
    return ("b" if notes else "span"), " ← ".join([curve.texts[n], *notes])


def _measure(value: float | None) -> str:
    return "n/a" if value is None else f"{value:.3f}"


def cases_html(rows: Sequence[CaseRow], titles: Sequence[str], total: int, labelled: bool) -> str:
    """Write the cases of a page.

    Parameters
    ----------
    rows : sequence of CaseRow
        The cases.
    titles : sequence of str
        Names of the further columns.
    total : int
        How many cases the filters leave.
    labelled : bool
        Whether there are expected verdicts.

    Returns
    -------
    str
        HTML; it says how many more there are.
    """
    last = ["Expected"] if labelled else []
    heads = ["Case", *titles, "Gold", "Predicted", "Score", "Baseline", "Flip", *last]
    cells = [_cells(row, labelled) for row in rows]
    more = f"<p>… {total - len(rows):,} more cases</p>" if total > len(rows) else ""
    return table(heads, cells, [0]) + more


def _cells(row: CaseRow, labelled: bool) -> list[str]:
    error = f"<div>{element('em', row.error, 'xb-quiet')}</div>" if row.error else ""
    return [
        element("span", str(row.case)),
        *(element("span", text) for text in row.labels),
        segments_html(row.gold),
        segments_html(row.predicted) + error,
        element("span", f"{row.score} {_signed(row.verdict)}"),
        element("span", f"{row.before} {_signed(row.verdict_before)}", "xb-quiet"),
        element("b", _signed(row.flip)) if row.flip else "",
        *([element("span", _signed(row.expected))] if labelled else []),
    ]


def _signed(word: str) -> str:
    return f"{_SIGNS[word]} {word}" if word in _SIGNS else word


def detail_html(found: Mapping[str, Any]) -> str:
    """Write a case in full.

    Parameters
    ----------
    found : mapping
        As `case_detail` gives it.

    Returns
    -------
    str
        HTML.
    """
    names = ["Gold", "Predicted", *(name for name, _ in found["notes"])]
    texts = [segments_html(found[side]) for side in ("gold", "predicted")]
    texts += [element("span", text) for _, text in found["notes"]]
    rows = [[element("b", name), text] for name, text in zip(names, texts, strict=True)]
    return table([f"Case {found['case']}", ""], rows)
