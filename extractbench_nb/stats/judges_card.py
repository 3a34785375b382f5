"""How agreement of judges and self-consistency show themselves: lines of text, or static HTML."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from extractbench_nb._html import STYLE, document_text
from extractbench_nb.stats.tables import number, plain, with_range

if TYPE_CHECKING:
    from extractbench_nb.stats.consistency import SelfConsistency
    from extractbench_nb.stats.judges import JudgeAgreement

__all__ = ["consistency_html", "consistency_text", "judges_html", "judges_text"]

_PAIRS, _FIELDS = 20, 8
_NAME = 40


def judges_text(found: JudgeAgreement) -> str:
    """Write each pair of judges in a line."""
    rows = found._pairs.to_dict("records")
    lines = [_head(found)]
    for row in rows[:_PAIRS]:
        names = f"{plain(row['judge_a'], _NAME)} / {plain(row['judge_b'], _NAME)}"
        lines.append(f"  {names}: {'; '.join(_said(row))}")
    more = len(rows) - _PAIRS
    return "\n".join(lines + ([f"  … {more} more; .pairs has them"] if more > 0 else []))


def _head(found: JudgeAgreement) -> str:
    confidence = f"{100 * found.drawing.confidence:.4g} %"
    return f"Agreement of {len(found.judges)} judges [{confidence} interval]"


def _said(row: dict[Any, Any]) -> list[str]:
    fields = "field" if row["fields"] == 1 else "fields"
    agree = with_range(row["agree"], row["agree_low"], row["agree_high"])
    kappa = with_range(row["kappa"], row["kappa_low"], row["kappa_high"])
    texts = [f"agree {agree} of {row['fields']} {fields}", f"kappa {kappa}"]
    return texts + [f"{row[name]} {text}" for name, text in _LEFT_OUT.items() if row[name]]


_LEFT_OUT = {
    "without_verdict": "without a verdict",
    "unmatched": "that only one has",
}


def judges_html(found: JudgeAgreement) -> str:
    """Write the pairs as static HTML; every text is escaped."""
    heads = ("judge a", "judge b", "agree", "kappa", "fields", "a only", "b only", *_LEFT_OUT)
    names = "".join(f"<th>{head}</th>" for head in heads[:2])
    numbers = "".join(f'<th class="xb-num">{head.replace("_", " ")}</th>' for head in heads[2:])
    rows = "".join(_row(row) for row in found._pairs.head(_PAIRS).to_dict("records"))
    more = len(found._pairs) - _PAIRS
    note = f"<div>… {more} more; .pairs has them</div>" if more > 0 else ""
    return _root(_head(found), f"<thead><tr>{names}{numbers}</tr></thead>", rows, note)


def _row(row: dict[Any, Any]) -> str:
    names = "".join(f"<td>{document_text(row[n], _NAME)}</td>" for n in ("judge_a", "judge_b"))
    ranges = [
        with_range(row[name], row[f"{name}_low"], row[f"{name}_high"])
        for name in ("agree", "kappa")
    ]
    counts = [row[name] for name in ("fields", "a_only", "b_only", *_LEFT_OUT)]
    cells = "".join(f'<td class="xb-num">{text}</td>' for text in (*ranges, *counts))
    return f"<tr>{names}{cells}</tr>"


def _root(title: str, head: str, rows: str, note: str) -> str:
    return (
        f'<div class="xb-root">{STYLE}<div class="xb-title">{document_text(title, 200)}</div>'
        f"{f'<table>{head}<tbody>{rows}</tbody></table>' if rows else ''}{note}</div>"
    )


def consistency_text(found: SelfConsistency) -> str:
    """Write the mean agreement, and the fields on which calls differ most."""
    lines = [_summary(found)]
    for row in _least(found):
        place = " / ".join(plain(row[n], _NAME) for n in _places(row))
        lines.append(f"  {place}: {_passes(row)}, scores {_scores(row)}")
    return "\n".join(lines)


def _summary(found: SelfConsistency) -> str:
    share = with_range(found.agreement, found.low, found.high)
    fields = len(found._fields)
    return (
        f"Self-consistency: {share} of the answers are on their field's majority side; "
        f"they differ on {found.split} of {fields} field{'s' if fields > 1 else ''}"
    )


def _least(found: SelfConsistency) -> list[dict[Any, Any]]:
    split = found._fields[found._fields["agreement"] < 1]
    return split.sort_values("agreement", kind="stable").head(_FIELDS).to_dict("records")


def _places(row: dict[Any, Any]) -> list[str]:
    return [n for n in ("run", "document", "path") if isinstance(row[n], str)]


def _passes(row: dict[Any, Any]) -> str:
    return f"{row['passes']} of {row['answered']} pass"


def _scores(row: dict[Any, Any]) -> str:
    return f"{number(row['lowest'])} to {number(row['highest'])}"


def consistency_html(found: SelfConsistency) -> str:
    """Write the same as static HTML; every text is escaped."""
    rows = "".join(
        "<tr>"
        + "".join(
            f"<td>{document_text(row[n] if isinstance(row[n], str) else '—', _NAME)}</td>"
            for n in ("run", "document", "path")
        )
        + f'<td class="xb-num">{_passes(row)}</td><td class="xb-num">{_scores(row)}</td></tr>'
        for row in _least(found)
    )
    head = "<thead><tr><th>run</th><th>document</th><th>path</th>"
    head += '<th class="xb-num">verdicts</th><th class="xb-num">scores</th></tr></thead>'
    return _root(_summary(found), head, rows, "")
