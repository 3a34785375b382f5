"""Shared parts of all static HTML: one style block, escaped text."""

from __future__ import annotations

from collections.abc import Container, Iterable, Mapping, Sequence
from html import escape
from typing import NamedTuple

from extractbench_nb.support.wording import one_line, trimmed

#: Colours come from JupyterLab's variables where they exist, or are mixed with the colour of text,
#: so that they can be read in light and in dark themes. The class is
#: named twice where JupyterLab's own rules for tables would win otherwise.
STYLE = """<style>
.xb-root{font:13px/1.45 system-ui,sans-serif;color:var(--jp-ui-font-color1,currentColor);
max-width:64em;overflow-x:auto}
.xb-root .xb-title{font-weight:600;margin:.2em 0 .4em}
.xb-root details{margin-left:1.1em}.xb-root .xb-leaf{margin-left:2.2em}
.xb-root .xb-tree>details{margin-left:0}
.xb-root summary{cursor:pointer}
.xb-root .xb-type,.xb-root .xb-desc{color:var(--jp-ui-font-color2,
color-mix(in srgb,currentColor 75%,transparent))}
.xb-root .xb-note{color:color-mix(in srgb,#c8750f 55%,currentColor)}
.xb-root .xb-metric{font-size:12px}
.xb-root table{border-collapse:collapse;margin:.3em 0}
.xb-root.xb-root th,.xb-root.xb-root td{text-align:left;vertical-align:top;
padding:.15em .7em .15em 0;border-bottom:1px solid var(--jp-border-color2,#8884)}
.xb-root.xb-root td{min-width:4.5em;overflow-wrap:anywhere}
.xb-root.xb-root td.xb-num,.xb-root.xb-root th.xb-num{text-align:right;
font-variant-numeric:tabular-nums}
.xb-root .xb-scores{display:flex;flex-wrap:wrap;gap:.2em 1.6em;margin:.2em 0 .5em}
.xb-root .xb-scores b{font-size:16px;font-variant-numeric:tabular-nums}
.xb-root .xb-bad{color:color-mix(in srgb,#d3302a 55%,currentColor)}
.xb-root .xb-val{min-width:7em}
</style>"""


def document_text(text: str, limit: int = 80) -> str:
    """Write text that comes from documents, schemas or models on one line, escaped."""
    return escape(one_line(text, limit))


def element(tag: str, text: str, kind: str = "", limit: int = 2000) -> str:
    """Write one element around a text of a document."""
    return cell(escape(trimmed(text, limit)), escape(kind), tag)


def cell(content: str, kind: str = "", tag: str = "td", scope: str = "") -> str:
    """Write a table cell, or another element, around HTML."""
    named = f' class="{kind}"' if kind else ""
    named += f' scope="{scope}"' if scope else ""
    return f"<{tag}{named}>{content}</{tag}>"


def table_row(cells: Iterable[str], title: str = "") -> str:
    """Write a row of a table around its cells; `title` is escaped here."""
    hint = f' title="{document_text(title, 200)}"' if title else ""
    return f"<tr{hint}>{''.join(cells)}</tr>"


def table_of(heads: Iterable[str], rows: Iterable[str]) -> str:
    """Write a table around the cells of its head and its rows."""
    return f"<table><thead>{table_row(heads)}</thead><tbody>{''.join(rows)}</tbody></table>"


def table(heads: Sequence[str], rows: Iterable[Sequence[str]], numbers: Iterable[int] = ()) -> str:
    """Write a table. Heads are escaped here; the cells of `rows` are HTML already.

    Columns whose index is in `numbers` are aligned on the right.
    """
    right = set(numbers)
    kinds = ["xb-num" if i in right else "" for i in range(len(heads))]
    return table_of(
        (element("th", text, kind) for text, kind in zip(heads, kinds, strict=True)),
        (table_row(cell(*pair) for pair in zip(row, kinds, strict=True)) for row in rows),
    )


def table_html(names: Sequence[str], numbers: Sequence[str], rows: Iterable[list[str]]) -> str:
    """Write a table whose last columns are `numbers`; an empty string if there are no rows."""
    heads, body = [*names, *numbers], list(rows)
    return table(heads, body, range(len(names), len(heads))) if body else ""


def tree_html(
    labels: Sequence[Iterable[tuple[str, str]]], below: Sequence[Iterable[int]], unfolded: int = 60
) -> str:
    """Write a tree as nested ``<details>``; the first `unfolded` nodes with children are open.

    The root comes first, and a node before those below it, whose positions are in `below`. A label
    has texts of the kinds ``name``, ``type``, ``note``, ``metric`` and ``desc``, escaped here.
    """
    tags = {"name": "b", "metric": "code"}
    first = [at for at, children in enumerate(below) if children][:unfolded]
    written: dict[int, str] = {}
    for at in reversed(range(len(labels))):
        parts = []
        for kind, text in labels[at]:
            named = "" if kind == "name" else f"xb-{kind}"
            escaped = document_text(text, 120 if kind == "desc" else 80)
            parts.append(cell(escaped, named, tags.get(kind, "span")))
        label = " ".join(parts)
        if not below[at]:
            written[at] = cell(label, "xb-leaf", "div")
            continue
        inside = "".join(written.pop(child) for child in below[at])
        is_open = " open" if at in first else ""
        written[at] = f"<details{is_open}><summary>{label}</summary>{inside}</details>"
    return cell(written[0], "xb-tree", "div")


def more_rows(hidden: int, frame: str) -> str:
    """Say how many rows are not shown and which frame has them; empty if all are shown."""
    return f"… {hidden} more; .{frame} has them" if hidden > 0 else ""


def more_html(hidden: int, frame: str) -> str:
    """Write the text of `more_rows` as an HTML block."""
    return f"<div>{more_rows(hidden, frame)}</div>" if hidden > 0 else ""


#: Classes that keep MathJax, in notebooks and their exports, from reading what stands between two
#: paths, or amounts in dollars, as a formula.
NO_MATHS = "mathjax_ignore tex2jax_ignore"


def text_card(text: str) -> str:
    """Write a card of lines of text: the first is the title."""
    title, *lines = text.splitlines()
    return card_html(title, *(element("div", line.strip(), limit=400) for line in lines), limit=400)


class TextCard:
    """Base of results whose card has the lines of their `repr`."""

    def _repr_html_(self) -> str:
        """Write the same as static HTML; every text is escaped."""
        return text_card(repr(self))


class Listing(NamedTuple):
    """A table of a card, of plain text; `numbers` are the indices of columns aligned right."""

    heads: Sequence[str]
    rows: Sequence[Sequence[str]]
    numbers: Container[int] = ()
    #: What is not listed.
    more: str = ""

    def html(self) -> str:
        """Write it; an empty string if it has no rows."""
        cells = [[document_text(text, 120) for text in row] for row in self.rows]
        numbers = [i for i in range(len(self.heads)) if i in self.numbers]
        more = f"<div>{document_text(self.more)}</div>" if self.more else ""
        return table(self.heads, cells, numbers) + more if cells else more


def card(title: str, scores: Mapping[str, str], lines: Iterable[str], *lists: Listing) -> str:
    """Write a card of plain text: scores by name, lines and tables; everything is escaped here."""
    values = "".join(
        f"<span>{document_text(name)} <b>{document_text(score)}</b></span>"
        for name, score in scores.items()
    )
    texts = (element("div", line, limit=300) for line in lines)
    parts = [f'<div class="xb-scores">{values}</div>', *texts, *(part.html() for part in lists)]
    return card_html(title, *parts)


def card_html(title: str, *parts: str, limit: int = 200) -> str:
    """Write a card: a title, which is escaped here, above parts that are HTML."""
    head = f'<div class="xb-title">{document_text(title, limit)}</div>'
    return f"""<div class="xb-root {NO_MATHS}">{STYLE}{head}{"".join(parts)}</div>"""
