"""Shared parts of all static HTML: one style block, escaped text."""

from __future__ import annotations

from collections.abc import Iterable
from html import escape

__all__ = ["STYLE", "card_html", "document_text", "one_line", "table_html"]


#: Colours come from JupyterLab's variables where they exist, so that dark themes work. The class is
#: named twice where JupyterLab's own rules for tables would win otherwise.
STYLE = """<style>
.xb-root{font:13px/1.45 system-ui,sans-serif;color:var(--jp-ui-font-color1,currentColor);
max-width:64em}
.xb-root .xb-title{font-weight:600;margin:.2em 0 .4em}
.xb-root details{margin-left:1.1em}.xb-root .xb-leaf{margin-left:2.2em}
.xb-root .xb-tree>details{margin-left:0}
.xb-root summary{cursor:pointer}
.xb-root .xb-type{color:var(--jp-ui-font-color2,#667)}
.xb-root .xb-note{color:#96601a}.xb-root .xb-desc{color:var(--jp-ui-font-color2,#778)}
.xb-root .xb-metric{font-size:12px}
.xb-root table{border-collapse:collapse;margin:.3em 0}
.xb-root.xb-root th,.xb-root.xb-root td{text-align:left;vertical-align:top;
padding:.15em .7em .15em 0;border-bottom:1px solid var(--jp-border-color2,#8884)}
.xb-root.xb-root td.xb-num,.xb-root.xb-root th.xb-num{text-align:right;
font-variant-numeric:tabular-nums}
.xb-root .xb-scores{display:flex;flex-wrap:wrap;gap:.2em 1.6em;margin:.2em 0 .5em}
.xb-root .xb-scores b{font-size:16px;font-variant-numeric:tabular-nums}
.xb-root .xb-bad{color:#b3261e}.xb-root .xb-val{min-width:9em;overflow-wrap:break-word}
</style>"""


def _stand_in(character: str) -> str:
    return " " if character.isspace() else "\ufffd"


def document_text(text: str, limit: int = 80) -> str:
    """Escape text that comes from documents, schemas or models, cut to `limit` characters."""
    return escape(one_line(text, limit))


def one_line(text: str, limit: int = 80) -> str:
    """Write such text on one line, without control characters, cut to `limit` characters."""
    clean = "".join(c if c.isprintable() else _stand_in(c) for c in text[: limit + 1])
    return clean if len(clean) <= limit else clean[: limit - 1] + "…"


def card_html(title: str, *parts: str, limit: int = 200) -> str:
    """Write a card: a title, which is escaped here, and what is under it, which is HTML."""
    head = f'<div class="xb-title">{document_text(title, limit)}</div>'
    return f"""<div class="xb-root">{STYLE}{head}{"".join(parts)}</div>"""


def table_html(names: Iterable[str], numbers: Iterable[str], rows: Iterable[list[str]]) -> str:
    """Write a table of cells that are HTML, the columns of numbers last; without rows, nothing."""
    heads = [f"<th>{name}</th>" for name in names]
    first = len(heads)
    heads += [f'<th class="xb-num">{name}</th>' for name in numbers]
    body = ""
    for row in rows:
        cells = [f"<td>{cell}</td>" for cell in row[:first]]
        cells += [f'<td class="xb-num">{cell}</td>' for cell in row[first:]]
        body += f"<tr>{''.join(cells)}</tr>"
    head = f"<thead><tr>{''.join(heads)}</tr></thead>"
    return f"<table>{head}<tbody>{body}</tbody></table>" if body else ""
