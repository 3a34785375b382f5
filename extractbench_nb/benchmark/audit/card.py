"""The compact card of an `Audit`: findings by kind and domain."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pandas as pd

from extractbench_nb._html import STYLE, document_text
from extractbench_nb.benchmark.audit.kinds import KINDS

if TYPE_CHECKING:
    from extractbench_nb.benchmark.audit.result import Audit

__all__ = ["card_html", "card_text"]

_MOST_DOMAINS = 12
_WIDEST = 14


def _counts(audit: Audit) -> pd.DataFrame:
    """Return findings by kind (rows, in the order of the kinds) and domain."""
    summary = audit.summary
    wide = summary.pivot_table(
        index="kind", columns="domain", values="findings", aggfunc="sum", fill_value=0
    )
    return wide.reindex([kind for kind in KINDS if kind in wide.index]).iloc[:, :_MOST_DOMAINS]


def _head(audit: Audit) -> str:
    documents = audit.documents
    totals = [
        f"{documents[f'{severity}s'].sum():,} {severity}s" for severity in ("error", "warning")
    ]
    infos = f"{documents['infos'].sum():,} notes"
    looked, found = documents["looked_up"].sum(), documents["found"].sum()
    share = f"; {found:,} of {looked:,} values looked up stand in the PDFs" if looked else ""
    name = f"Audit of {audit.dataset!r}: {len(documents)} documents"
    return f"{name}, {', '.join([*totals, infos])}{share}"


def card_text(audit: Audit) -> str:
    """Write the card as plain text."""
    counts = _counts(audit)
    lines = [_head(audit)]
    if len(counts):
        lines.append("  " + " " * 30 + "".join(f"{d[:_WIDEST]:>15}" for d in counts.columns))
    for kind, row in zip(counts.index, counts.to_numpy().tolist(), strict=True):
        cells = "".join(f"{n or '·':>15}" for n in row)
        lines.append(f"  {KINDS[kind].severity:<8}{kind:<22}{cells}")
    return "\n".join(lines)


def card_html(audit: Audit) -> str:
    """Write the card as static HTML; every text is escaped."""
    counts = _counts(audit)
    names = "".join(
        f'<th class="xb-num" scope="col">{document_text(str(d), 40)}</th>' for d in counts.columns
    )
    rows = []
    for kind, row in zip(counts.index, counts.to_numpy().tolist(), strict=True):
        cells = "".join(f'<td class="xb-num">{n or "·"}</td>' for n in row)
        severity = KINDS[kind].severity
        mark = ' class="xb-bad"' if severity == "error" else ""
        rows.append(
            f'<tr title="{document_text(KINDS[kind].meaning, 200)}"><td{mark}>{severity}</td>'
            f'<th scope="row">{kind}</th>{cells}</tr>'
        )
    head = f'<tr><th scope="col">severity</th><th scope="col">kind</th>{names}</tr>'
    table = f"<table><thead>{head}</thead><tbody>{''.join(rows)}</tbody></table>" if rows else ""
    title = document_text(_head(audit), 300)
    note = "Findings are suspects; .findings lists them, Audit.kinds() says what each kind means."
    return (
        f'<div class="xb-root">{STYLE}<div class="xb-title">{title}</div>{table}'
        f'<div class="xb-desc">{note}</div></div>'
    )
