"""How an estimate of costs shows itself: lines of text, or static HTML."""

from __future__ import annotations

from math import isnan
from typing import TYPE_CHECKING, Any

import pandas as pd

from extractbench_nb._html import STYLE, document_text
from extractbench_nb._units import dollars

if TYPE_CHECKING:
    from extractbench_nb.batch.estimate import CostEstimate

__all__ = ["estimate_html", "estimate_text"]

_MOST = 8
_NAME, _NAMES = 60, 200
_HEADS = ("calls", "cached", "requests", "prompt tokens", "cost")


def estimate_text(estimate: CostEstimate) -> str:
    """Write the totals, and the dearest fields."""
    models = estimate.by_field["model"].nunique()
    lines = [
        f"  {_named(row, models)}: {_count(row['requests'], 'request')}, "
        f"{row['prompt_tokens']:,.0f} tokens, {_dollars(row['cost_usd'])}"
        for row in _rows(estimate)
    ]
    return "\n".join([_head(estimate.summary), *lines, *_more(estimate)])


def _rows(estimate: CostEstimate) -> list[dict[Any, Any]]:
    return estimate.by_field.head(_MOST).to_dict("records")


def _named(row: dict[Any, Any], models: int) -> str:
    model = f", {row['model']}" if models > 1 else ""
    return f"{row['field']} ({row['metric']}{model})"


def _head(s: pd.Series) -> str:
    cached = f", {s['cached']:,.0f} of them at hand" if s["cached"] else ""
    cost = _dollars(s["cost_usd"])
    if s["cost_usd"] > 0:
        cost = f"about {cost}, at most {_dollars(s['highest_cost_usd'])}"
    return (
        f"CostEstimate: {_count(s['calls'], 'call')} of models{cached}; "
        f"{_count(s['requests'], 'request')}, {s['prompt_tokens']:,.0f} tokens to ask; {cost}"
    )


def _count(value: float, noun: str) -> str:
    return f"{value:,.0f} {noun}{'' if value == 1 else 's'}"


def _dollars(value: float) -> str:
    return "cost unknown: the model has no list price" if isnan(value) else dollars(value)


def _more(estimate: CostEstimate) -> list[str]:
    more = len(estimate.by_field) - _MOST
    lines = [f"  … {more} more; .by_field has them"] if more > 0 else []
    if estimate.unknown:
        names = ", ".join(estimate.unknown)
        lines.append(f"  not in it: what {names[:_NAMES]} would ask or cost is not known")
    return lines


def estimate_html(estimate: CostEstimate) -> str:
    """Write the same as static HTML; every text is escaped."""
    rows = ""
    for row in _rows(estimate):
        names = [row[name] for name in ("field", "metric", "model")]
        numbers = [row[name] for name in ("calls", "cached", "requests", "prompt_tokens")]
        rows += (
            "<tr>"
            + "".join(f"<td>{document_text(name, _NAME)}</td>" for name in names)
            + "".join(f'<td class="xb-num">{number:,.0f}</td>' for number in numbers)
            + f'<td class="xb-num">{_dollars(row["cost_usd"])}</td></tr>'
        )
    heads = "".join(f"<th>{name}</th>" for name in ("field", "metric", "model"))
    heads += "".join(f'<th class="xb-num">{name}</th>' for name in _HEADS)
    table = f"<table><thead><tr>{heads}</tr></thead><tbody>{rows}</tbody></table>" if rows else ""
    more = "".join(f"<div>{document_text(line.strip(), 400)}</div>" for line in _more(estimate))
    title = document_text(_head(estimate.summary), 400)
    return f'<div class="xb-root">{STYLE}<div class="xb-title">{title}</div>{table}{more}</div>'
