"""The cases that are shown: in which order, as rows, in full, as static HTML."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from extractbench_nb._json import json_type
from extractbench_nb.display.sides import Segment
from extractbench_nb.display.text import clean, cut, single_line
from extractbench_nb.schema.states import EMPTY, PRESENT, state_of
from extractbench_nb.widgets.excerpts import MOST, excerpts
from extractbench_nb.widgets.excerpts import whole as both_whole
from extractbench_nb.widgets.static import element, segments_html, table
from extractbench_nb.widgets.workbench_bench import GAINED, LOST, Bench, Curve, Fact
from extractbench_nb.widgets.workbench_cases import Case, Verdicts, label_text, present, side_text

__all__ = [
    "PAGE",
    "SHOWN",
    "SORTS",
    "CaseRow",
    "case_detail",
    "case_row",
    "cases_html",
    "chosen",
    "config_html",
    "curve_html",
    "detail_html",
    "empty_text",
    "facts_html",
    "page_model",
    "titles",
]


#: Cases on a page.
PAGE = 20
#: Which cases can be shown, with the words for them.
SHOWN = {
    "all": "All cases",
    "flips": "Only flips",
    "passed": "Passing",
    "failed": "Failing",
    "errors": "Without a verdict",
    "disagreements": "Other than expected",
}
#: In which order, with the words for it.
SORTS = {
    "given": "As given",
    "lowest": "Lowest score first",
    "highest": "Highest score first",
    "change": "Largest change first",
}
#: Further columns that are shown, in a row and of the chosen case; all are in ``results``.
_MOST_COLUMNS, _MOST_LABELS = 4, 20
_LONGEST_NAME, _LONGEST_LABEL, _LONGEST_VALUE, _LONGEST_ERROR = 60, 60, 160, 300
#: Characters of a value of the chosen case that are shown at first.
_FULL = 2_000
_NOT_TOLD = -2.0  # sorts cases without a score behind those with one


class CaseRow(NamedTuple):
    """A case as the table shows it; verdicts are ``pass``, ``fail`` and ``no verdict``."""

    case: int
    labels: tuple[str, ...]
    gold: list[Segment]
    predicted: list[Segment]
    score: str
    verdict: str
    before: str
    verdict_before: str
    flip: str
    expected: str
    error: str


class _Pair(NamedTuple):
    gold: Any
    predicted: Any
    gold_state: str
    predicted_state: str


# --- which cases, in which order -----------------------------------------------------------


def chosen(bench: Bench, shown: str, sort: str, text: str) -> list[int]:
    """Return the places of the cases to show."""
    keep = _SELECT[shown](bench)
    places = [at for at in range(len(bench.cases)) if keep[at]]
    wanted = text.strip().casefold()
    if wanted:
        places = [at for at in places if wanted in _searched(bench, at)]
    if sort != "given":
        keys = _keys(bench, sort)
        places.sort(key=lambda at: keys[at])
    return places


def _disagreements(bench: Bench) -> Any:
    now = bench.verdicts
    labels = np.array([-1 if c.expected is None else int(c.expected) for c in bench.cases.rows])
    return now.decided & (labels >= 0) & (labels != now.passed)


_SELECT: dict[str, Callable[[Bench], Any]] = {
    "all": lambda bench: np.ones(len(bench.cases), dtype=bool),
    "flips": lambda bench: bench.flips() != 0,
    "passed": lambda bench: bench.verdicts.passed,
    "failed": lambda bench: bench.verdicts.decided & ~bench.verdicts.passed,
    "errors": lambda bench: ~bench.verdicts.decided,
    "disagreements": _disagreements,
}


def _searched(bench: Bench, at: int) -> str:
    return bench.cases.texts[at] + "\n" + (bench.verdicts.error(at) or "").casefold()


def _keys(bench: Bench, sort: str) -> Any:
    now, then = bench.verdicts.score, bench.baseline.verdicts.score
    if sort == "change":
        return -np.nan_to_num(np.abs(now - then), nan=_NOT_TOLD)
    if sort == "lowest":
        return np.nan_to_num(now, nan=-_NOT_TOLD)
    return -np.nan_to_num(now, nan=_NOT_TOLD)


def titles(bench: Bench) -> list[str]:
    """Return the names of the further columns that are shown."""
    names = bench.cases.more.columns[:_MOST_COLUMNS]
    return [single_line(label_text(name), _LONGEST_NAME) for name in names]


def page_model(bench: Bench, places: list[int], page: int) -> dict[str, Any]:
    """Return a page of cases as the front end reads it."""
    start = page * PAGE
    return {
        "columns": list(CaseRow._fields),
        "rows": [case_row(bench, at) for at in places[start : start + PAGE]],
        "titles": titles(bench),
        "labelled": bench.cases.labelled,
        "start": start,
        "size": PAGE,
        "total": len(places),
    }


def empty_text(bench: Bench, shown: str) -> str:
    """Say why no case is shown, and what would show some."""
    if not len(bench.cases):
        return "There are no cases: no pairs were given, or none has a type for the metric."
    if shown == "flips" and not bench.flips().any():
        return "No verdict differs from the baseline; change a param to see flips."
    return "No case matches; show all cases, or clear the text."


def case_row(bench: Bench, at: int) -> CaseRow:
    """Return one row of the table."""
    case, now, then = bench.cases.rows[at], bench.verdicts, bench.baseline.verdicts
    labels = bench.cases.more.iloc[at, :_MOST_COLUMNS]
    gold, predicted = excerpts(_pair(case), _LONGEST_VALUE)
    return CaseRow(
        at,
        tuple(single_line(label_text(label), _LONGEST_LABEL) for label in labels),
        gold,
        predicted,
        _score(now, at),
        verdict_text(now, at),
        _score(then, at),
        verdict_text(then, at),
        {1: GAINED, -1: LOST, 0: ""}[int(bench.flips()[at])],
        "" if case.expected is None else "pass" if case.expected else "fail",
        single_line(now.error(at) or "", _LONGEST_ERROR),
    )


def case_detail(bench: Bench, at: int, *, whole: bool = False) -> dict[str, Any]:
    """Return a case in full."""
    case, now, then = bench.cases.rows[at], bench.verdicts, bench.baseline.verdicts
    gold, predicted = both_whole(_pair(case), MOST if whole else _FULL)
    notes = [
        ("Score", f"{_score(now, at)} · {verdict_text(now, at)}"),
        ("Baseline", f"{_score(then, at)} · {verdict_text(then, at)}"),
        ("Expected", "" if case.expected is None else "pass" if case.expected else "fail"),
        ("Outcome", f"{now.outcome[at].replace('_', ' ')} · {now.reason[at]}"),
        ("Error" if not now.decided[at] else "Reasoning", now.told[at] or ""),
        *_labels(bench, at),
    ]
    return {
        "case": at,
        "gold": gold.segments,
        "predicted": predicted.segments,
        "notes": [(name, cut(clean(text[: _FULL + 1]), _FULL)) for name, text in notes if text],
        "longer": not whole and bool(gold.hidden or predicted.hidden),
    }


def _labels(bench: Bench, at: int) -> list[tuple[str, str]]:
    names, cells = bench.cases.more.columns, bench.cases.more.iloc[at]
    pairs = list(zip(names, cells, strict=True))[:_MOST_LABELS]
    return [
        (single_line(label_text(name), _LONGEST_NAME), label_text(cell)) for name, cell in pairs
    ]


def _pair(case: Case) -> _Pair:
    """Return both sides with their states; a list or object that is compared as its JSON text."""
    states = _state(case.gold), _state(case.predicted)
    kinds = {json_type(case.gold), json_type(case.predicted)}
    if states == (PRESENT, PRESENT) and kinds & {"array", "object"}:
        return _Pair(side_text(case.gold), side_text(case.predicted), *states)
    return _Pair(present(case.gold), present(case.predicted), *states)


def _state(value: Any) -> str:
    return EMPTY if isinstance(value, list) and not value else state_of(value)


def verdict_text(found: Verdicts, at: int) -> str:
    """Say whether a case passes."""
    if not found.decided[at]:
        return "no verdict"
    return "pass" if found.passed[at] else "fail"


def _score(found: Verdicts, at: int) -> str:
    return "n/a" if np.isnan(found.score[at]) else f"{found.score[at]:.3f}"


_MOST_POINTS = 11
_SIGNS = {
    "pass": "✓",
    "fail": "✗",
    "no verdict": "?",
    "gained": "▲",
    "lost": "▼",
}


def facts_html(summary: Mapping[str, Any]) -> str:
    """Write the metric, the baseline and the figures."""
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
    """Write the curve as a table of some values, those of now and of the baseline included."""
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
    """Write the cases of a page."""
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
    """Write a case in full."""
    names = ["Gold", "Predicted", *(name for name, _ in found["notes"])]
    texts = [segments_html(found[side]) for side in ("gold", "predicted")]
    texts += [element("span", text) for _, text in found["notes"]]
    rows = [[element("b", name), text] for name, text in zip(names, texts, strict=True)]
    return table([f"Case {found['case']}", ""], rows)
