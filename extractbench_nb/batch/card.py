"""The compact card of `Evaluations`: one line a run, and what must not be overlooked."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pandas as pd

from extractbench_nb._html import STYLE, document_text, one_line
from extractbench_nb._units import dollars

__all__ = ["card_html", "card_text"]

_MOST_RUNS = 20
_MOST_NAMES = 3
_LONGEST = 40
_SCORES = ("pass_rate", "overall_score", "field_score", "pooled_pass_rate")
_COUNTS = ("documents", "invalid", "missing")


def card_text(by_run: pd.DataFrame, missing: pd.DataFrame, meta: Mapping[str, Any]) -> str:
    """Write the card as plain text.

    Parameters
    ----------
    by_run, missing : pandas.DataFrame
        The frames of the results.
    meta : mapping
        Their profile and counts.

    Returns
    -------
    str
        A few lines; at most 20 runs are listed.
    """
    shown = by_run.head(_MOST_RUNS)
    names = [one_line(run, _LONGEST) for run in shown["run"]]
    width = max(map(len, names), default=0)
    lines = [_title(meta)]
    for run, row in zip(names, shown.to_dict("records"), strict=True):
        scores = " · ".join(f"{score} {_number(row[score])}" for score in _SCORES[:3])
        counts = [_counted(row["documents"], "documents")]
        counts.extend(f"{row[name]} {name}" for name in ("invalid", "missing") if row[name])
        lines.append(f"  {run:<{width}}  {scores} · {', '.join(counts)}")
    if len(by_run) > _MOST_RUNS:
        lines.append(f"  … {len(by_run) - _MOST_RUNS} more runs; .by_run has them")
    return "\n".join([*lines, *(f"  {note}" for note in _notes(by_run, missing))])


def card_html(by_run: pd.DataFrame, missing: pd.DataFrame, meta: Mapping[str, Any]) -> str:
    """Write the card as static HTML; every text is escaped.

    Parameters
    ----------
    by_run, missing : pandas.DataFrame
        The frames of the results.
    meta : mapping
        Their profile and counts.

    Returns
    -------
    str
        One table; at most 20 runs are listed.
    """
    numbers = (*_SCORES, *_COUNTS)
    head = "<th>run</th>" + "".join(
        f'<th class="xb-num">{name.replace("_", " ")}</th>' for name in numbers
    )
    rows = "".join(
        f"<tr><td>{document_text(row['run'], _LONGEST)}</td>"
        + "".join(f'<td class="xb-num">{_number(row[name])}</td>' for name in numbers)
        + "</tr>"
        for row in by_run.head(_MOST_RUNS).to_dict("records")
    )
    hidden = len(by_run) - _MOST_RUNS
    more = f"<div>… {hidden} more runs; .by_run has them</div>" if hidden > 0 else ""
    notes = "".join(
        f'<div class="xb-note">{document_text(note, 400)}</div>' for note in _notes(by_run, missing)
    )
    title = document_text(_title(meta), 200)
    return (
        f'<div class="xb-root">{STYLE}<div class="xb-title">{title}</div>'
        f"<table><thead><tr>{head}</tr></thead><tbody>{rows}</tbody></table>{more}{notes}</div>"
    )


def _title(meta: Mapping[str, Any]) -> str:
    counts = ", ".join(_counted(meta[name], name) for name in ("runs", "documents", "outputs"))
    return f"Evaluations ({one_line(meta['profile'], _LONGEST)}): {counts}"


def _counted(count: int, plural: str) -> str:
    return f"{count} {plural[:-1] if count == 1 else plural}"


def _notes(by_run: pd.DataFrame, missing: pd.DataFrame) -> list[str]:
    notes = []
    invalid = int(by_run["invalid"].sum())
    if invalid:
        notes.append(f"{_counted(invalid, 'outputs')} invalid; none of the fields counts as passed")
    if len(missing):
        pairs = missing[["run", "document"]].head(_MOST_NAMES).itertuples(index=False, name=None)
        first = "; ".join(
            f"run {one_line(run, _LONGEST)}, document {one_line(name, _LONGEST)}"
            for run, name in pairs
        )
        more = "; …" if len(missing) > _MOST_NAMES else ""
        notes.append(
            f"{_counted(len(missing), 'outputs')} that other runs have are missing and not in any "
            f"mean: {first}{more}; .missing has them"
        )
    errors = int(by_run["judge_errors"].sum())
    if errors:
        notes.append(f"{_counted(errors, 'fields')} without a verdict: pass_rate is a lower bound")
    calls = int(by_run["llm_calls"].sum())
    if calls:
        cost = by_run["llm_cost_usd"].sum(skipna=False)
        notes.append(f"{_counted(calls, 'calls')} of models, {dollars(cost)} at list prices")
    return notes


def _number(value: Any) -> str:
    if pd.isna(value):
        return "n/a"
    return f"{value:.3f}" if isinstance(value, float) else str(value)
