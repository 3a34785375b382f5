"""How an `Agreement` shows itself: a few lines of text, or static HTML."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import pandas as pd

from extractbench_nb._html import STYLE, document_text
from extractbench_nb._json import canonical
from extractbench_nb.stats.tables import number, plain, with_range

if TYPE_CHECKING:
    from extractbench_nb.stats.agreeing import Agreement

__all__ = ["agreement_html", "agreement_text"]

_SHOWN = 8


def agreement_text(found: Agreement) -> str:
    """Write agreement, kappa, counts and what could not be compared."""
    table = found._table
    lines = [_head(found), f"  {_kappa(found)}"]
    for name in table.index:
        counts = ", ".join(f"b {plain(to, 20)} {n}" for to, n in table.loc[name].items())
        lines.append(f"  a {plain(name, 20)}: {counts}")
    return "\n".join(lines + [f"  {text}" for text in _left_out(found)])


def _head(found: Agreement) -> str:
    rows = "row" if found.rows == 1 else "rows"
    return f"Agreement on {found.on}: {number(found.raw)} of {found.rows} {rows}"


def _kappa(found: Agreement) -> str:
    if not found.rows:
        return "Cohen's kappa is undefined: no row has a verdict on both sides"
    if math.isnan(found.kappa):
        words = [name for name in found._table.index if found._table.loc[name].sum()]
        return f"Cohen's kappa is undefined: both sides say {plain(words[0])!r} in every row"
    value = with_range(found.kappa, found.kappa_low, found.kappa_high)
    unit = found.unit if found.units != 1 else found.unit.removesuffix("s")
    return f"Cohen's kappa {value} ({found.kappa_method}, {found.units} {unit} resampled)"


def _left_out(found: Agreement) -> list[str]:
    texts = []
    if found.unjudged:
        texts.append(f"{found.unjudged} rows left out: a side gave no verdict")
    if any(found.unmatched):
        texts.append(f"{found.unmatched.a} rows are only in a, {found.unmatched.b} only in b")
    return texts


def agreement_html(found: Agreement) -> str:
    """Write the same as static HTML with the first disagreements; every text is escaped."""
    notes = "".join(f'<div class="xb-note">{document_text(t, 200)}</div>' for t in _left_out(found))
    return (
        f'<div class="xb-root">{STYLE}<div class="xb-title">'
        f"{document_text(_head(found), 200)}</div><div>{document_text(_kappa(found), 200)}</div>"
        f"{notes}{_table(found)}{_disagreements(found)}</div>"
    )


def _table(found: Agreement) -> str:
    table = found._table
    heads = "".join(f'<th class="xb-num">b {document_text(str(name), 30)}</th>' for name in table)
    rows = "".join(
        f"<tr><th>a {document_text(str(name), 30)}</th>"
        + "".join(f'<td class="xb-num">{count}</td>' for count in table.loc[name])
        + "</tr>"
        for name in table.index
    )
    return f"<table><thead><tr><th></th>{heads}</tr></thead><tbody>{rows}</tbody></table>"


def _disagreements(found: Agreement) -> str:
    frame = found._disagreements
    if frame.empty:
        return ""
    names = [
        n for n in ("run", "document", "path", "metric", "outcome_a", "outcome_b") if n in frame
    ]
    values = [n for n in ("gold_a", "predicted_a", "predicted_b") if n in frame]
    heads = "".join(f"<th>{name.replace('_', ' ')}</th>" for name in [*names, *values])
    rows = [
        "<tr>"
        + "".join(f"<td>{_text(row[name], 60)}</td>" for name in names)
        + "".join(f'<td class="xb-val">{_text(row[name], 60)}</td>' for name in values)
        + "</tr>"
        for row in frame.head(_SHOWN).to_dict("records")
    ]
    more = len(frame) - len(rows)
    note = f"<div>… {more} more; .disagreements has them</div>" if more else ""
    head = f"<thead><tr>{heads}</tr></thead>"
    return f"<table>{head}<tbody>{''.join(rows)}</tbody></table>{note}"


def _text(value: object, limit: int) -> str:
    if value is None or value is pd.NA:
        return "—"
    try:
        return document_text(value if isinstance(value, str) else canonical(value), limit)
    except RecursionError:
        return "… nested too deep"
