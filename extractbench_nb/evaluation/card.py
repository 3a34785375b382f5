"""The compact card of an `Evaluation`: scores, counts by outcome, worst fields."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pandas as pd

from extractbench_nb._html import STYLE, document_text
from extractbench_nb._json import canonical, json_text, json_type

if TYPE_CHECKING:
    from extractbench_nb.evaluation.result import Evaluation

__all__ = ["card_html", "card_text", "outcome_counts", "scores_text", "worst_fields"]

_MOST_ARRAYS = 12
_NOTHING = "No field is scored: the scores say nothing."
_SCORES = ("overall_score", "field_score", "pass_rate")


def outcome_counts(ev: Evaluation) -> dict[str, int]:
    """Count the counted rows by outcome, those that occur, the most frequent first."""
    fields = ev._fields
    counts = fields.loc[fields["counted"], "outcome"].value_counts()
    return {str(name): int(n) for name, n in counts.items()}


def worst_fields(ev: Evaluation, n: int = 8) -> pd.DataFrame:
    """Return the counted rows that did not pass, lowest score first."""
    fields = ev._fields
    bad = fields[fields["counted"] & ~fields["passed"].fillna(False).astype(bool)]
    return bad.sort_values("score", kind="stable", na_position="first").head(n)


def card_text(ev: Evaluation) -> str:
    """Write the card as plain text."""
    lines = [scores_text(ev)]
    for row in worst_fields(ev, 5).itertuples():
        score = "  n/a" if row.score is pd.NA else f"{row.score:.3f}"
        why = "" if row.reasoning is pd.NA else f": {row.reasoning}"
        lines.append(f"  {score} {row.path}  {row.outcome} ({row.reason}){why}")
    return "\n".join(lines)


def scores_text(ev: Evaluation) -> str:
    """Write scores, counts by outcome, and what the reader must know to trust them."""
    s = ev.summary
    head = " · ".join(f"{name} {s[name]:.3f}" for name in _SCORES)
    counts = ", ".join(f"{n} {name}" for name, n in outcome_counts(ev).items())
    lines = [
        f"Evaluation ({ev.meta['profile']}): {head}",
        f"  {s['passed']:.0f} of {s['evaluated']:.0f} fields pass{': ' if counts else ''}{counts}",
    ]
    if not s["evaluated"]:
        lines.append(f"  {_NOTHING}")
    if s["judge_errors"]:
        judged = f"{s['pass_rate_judged']:.3f} of the judged pass" if s["judged"] else "none judged"
        open_ones = f"{s['judge_errors']:.0f} without a verdict"
        lines.append(f"  {open_ones}; pass_rate is a lower bound, {judged}")
    if s["gold_coverage"] < 1:
        lines.append(f"  the schema declares only {s['gold_coverage']:.1%} of gold's values")
    return "\n".join(lines)


def card_html(ev: Evaluation) -> str:
    """Write the card as static HTML; every text is escaped."""
    s = ev.summary
    scores = "".join(
        f"<span>{name.replace('_', ' ')} <b>{s[name]:.3f}</b></span>" for name in _SCORES
    )
    counts = " · ".join(f"{n} {name.replace('_', ' ')}" for name, n in outcome_counts(ev).items())
    passes = f"{s['passed']:.0f} of {s['evaluated']:.0f} fields pass"
    head = f"Evaluation · {passes} · profile {ev.meta['profile']}"
    return (
        f'<div class="xb-root">{STYLE}<div class="xb-title">{document_text(head, 200)}</div>'
        f'<div class="xb-scores">{scores}</div><div>{document_text(counts, 300)}</div>'
        f"{_notes_html(s)}{_worst_html(ev)}{_arrays_html(ev)}</div>"
    )


def _notes_html(s: pd.Series) -> str:
    notes = [] if s["evaluated"] else [_NOTHING]
    if s["judge_errors"]:
        judged = f"of the judged fields {s['pass_rate_judged']:.1%} pass" if s["judged"] else ""
        some = "1 field has" if s["judge_errors"] == 1 else f"{s['judge_errors']:.0f} fields have"
        open_ones = f"{some} no verdict: pass rate is a lower bound"
        notes.append(f"{open_ones}; {judged or 'no field was judged'}.")
    if s["gold_coverage"] < 1:
        notes.append(f"The schema declares only {s['gold_coverage']:.1%} of gold's values.")
    return "".join(f'<div class="xb-note">{document_text(n, 200)}</div>' for n in notes)


def _worst_html(ev: Evaluation) -> str:
    rows = []
    for row in worst_fields(ev).itertuples():
        score = "n/a" if row.score is pd.NA else f"{row.score:.2f}"
        why = "" if row.reasoning is pd.NA else f": {row.reasoning}"
        cells = (row.path, row.metric, f"{row.outcome} ({row.reason}){why}")
        texts = "".join(f"<td>{document_text(str(c), 120)}</td>" for c in cells)
        values = "".join(
            f'<td class="xb-val">{document_text(text, 60)}</td>'
            for text in _shown_pair(row.gold, row.predicted)
        )
        rows.append(f'<tr><td class="xb-num">{score}</td>{texts}{values}</tr>')
    if not rows:
        return ""
    head = '<th class="xb-num">score</th>' + "".join(
        f"<th>{h}</th>" for h in ("worst fields", "metric", "outcome", "gold", "predicted")
    )
    hidden = int(ev.summary["evaluated"] - ev.summary["passed"]) - len(rows)
    more = f"<div>… {hidden} more that do not pass; .fields has them</div>" if hidden > 0 else ""
    return f"<table><thead><tr>{head}</tr></thead><tbody>{''.join(rows)}</tbody></table>{more}"


def _arrays_html(ev: Evaluation) -> str:
    arrays = ev._arrays
    arrays = arrays[arrays["counted"] & (arrays["gold_items"] + arrays["predicted_items"] > 0)]
    off = (arrays["missed"] + arrays["spurious"] > 0).fillna(True)
    differ = arrays[off.astype(bool)].sort_values("f1", kind="stable")
    same = len(arrays) - len(differ)
    notes = [f"{same} array{'s' if same > 1 else ''} matched completely"] if same else []
    if len(differ) > _MOST_ARRAYS:
        notes.append(f"… {len(differ) - _MOST_ARRAYS} more arrays that differ; .arrays has them")
    table = _array_table(differ.head(_MOST_ARRAYS)) if len(differ) else ""
    return table + "".join(f"<div>{document_text(note)}</div>" for note in notes)


def _array_table(arrays: pd.DataFrame) -> str:
    names = ("gold_items", "predicted_items", "matched", "partial", "missed", "spurious")
    rows = "".join(
        f"<tr><td>{document_text(str(row['field']))}</td>"
        + "".join(f'<td class="xb-num">{"n/a" if row[n] is pd.NA else row[n]}</td>' for n in names)
        + "</tr>"
        for _, row in arrays.iterrows()
    )
    head = "<th>arrays that differ</th>" + "".join(
        f'<th class="xb-num">{n.replace("_", " ")}</th>' for n in names
    )
    return f"<table><thead><tr>{head}</tr></thead><tbody>{rows}</tbody></table>"


def _shown_pair(gold: Any, predicted: Any) -> tuple[str, str]:
    """Write both values; with the quotes of JSON where they differ in type."""
    quoted = None not in (gold, predicted) and json_type(gold) != json_type(predicted)
    return _shown(gold, quoted), _shown(predicted, quoted)


def _shown(value: Any, quoted: bool) -> str:
    if isinstance(value, list):
        return f"{len(value)} item{'' if len(value) == 1 else 's'}"
    if value is None:
        return "—"
    try:
        return canonical(value) if quoted else json_text(value)
    except RecursionError:
        return "… nested too deep"
