"""Cards: results as static HTML, which can be read where a notebook removes their style sheet."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from extractbench_nb.support.nodes import Content, Node, h, static_html
from extractbench_nb.support.wording import one_line, trimmed

#: The styles without which a card cannot be read, by tag and class, written into its elements:
#: JupyterLab removes style sheets from notebooks that are not trusted, and keeps these.
#: They have no colours, which differ between themes.
ESSENTIAL = {
    "th": "text-align:left",
    "td": "text-align:left",
    "xb-num": "text-align:right",
    "xb-title": "font-weight:600;margin:2px 0 5px",
    "xb-headline": "margin:2px 0",
    "xb-score": "font-size:20px;font-weight:600;margin-right:6px",
    "xb-desc": "opacity:0.8",
    "xb-leaf": "margin-left:26px",
    "xb-below": "margin-left:13px",
}

#: Colours come from JupyterLab's variables where they exist, or are mixed with the colour of text,
#: so that they can be read in light and in dark themes. The class is
#: named twice where JupyterLab's own rules for tables would win otherwise.
STYLE = """<style>
.xb-root{font:13px/1.45 system-ui,sans-serif;color:var(--jp-ui-font-color1,currentColor);
max-width:72em;overflow-x:auto}
.xb-root summary{cursor:pointer}
.xb-root .xb-type{color:var(--jp-ui-font-color2,
color-mix(in srgb,currentColor 75%,transparent))}
.xb-root .xb-note{color:color-mix(in srgb,#c8750f 55%,currentColor)}
.xb-root .xb-metric{font-size:12px}
.xb-root table{border-collapse:collapse;margin:.5em 0}
.xb-root.xb-root th,.xb-root.xb-root td{vertical-align:top;padding:.15em .9em .15em 0;
border-bottom:1px solid var(--jp-border-color2,#8884);overflow-wrap:break-word;max-width:26em}
.xb-root.xb-root .xb-num{font-variant-numeric:tabular-nums}
.xb-root.xb-root thead th{vertical-align:bottom}
.xb-root .xb-score{font-variant-numeric:tabular-nums}
</style>"""


def element(tag: str, text: str, kind: str = "", limit: int = 2000) -> Node:
    """Make one element around a text of a document."""
    return h(tag, trimmed(text, limit), cls=kind or None)


def card_table(
    heads: Sequence[str], rows: Iterable[Sequence[Content]], numbers: int = 0
) -> Node | None:
    """Make a table, whose last columns are `numbers`; None if there are no rows."""
    texts = len(heads) - numbers

    def row(tag: str, cells: Sequence[Content]) -> Node:
        return h(
            "tr",
            (h(tag, cell, cls="xb-num" if n >= texts else None) for n, cell in enumerate(cells)),
        )

    body = [row("td", cells) for cells in rows]
    return h("table", h("thead", row("th", heads)), h("tbody", body)) if body else None


def breakable(name: str) -> list[Node | str]:
    """Let a path or a field break behind its steps, and nowhere else."""
    steps = name.replace(".", "\0.").replace("[", "\0[").split("\0")
    return [part for step in steps for part in (h("wbr"), step)][1:]


def coded(text: str) -> list[Content]:
    """Write the names in a sentence, which are between backticks, as code."""
    return [h("code", part) if n % 2 else part for n, part in enumerate(text.split("`"))]


def tree_html(
    labels: Sequence[Iterable[tuple[str, str]]], below: Sequence[Iterable[int]], unfolded: int = 60
) -> Node:
    """Make a tree of nested ``<details>``; the first `unfolded` nodes with children are open.

    The root comes first, and a node before those below it, whose positions are in `below`. A label
    has texts of the kinds ``name``, ``type``, ``note``, ``metric`` and ``desc``.
    """
    tags = {"name": "b", "metric": "code"}
    opened = [at for at, children in enumerate(below) if children][:unfolded]
    made: dict[int, Node] = {}
    for at in reversed(range(len(labels))):
        label: list[Content] = []
        for kind, text in labels[at]:
            named = None if kind == "name" else f"xb-{kind}"
            shown = one_line(text, 120 if kind == "desc" else 80)
            label += [h(tags.get(kind, "span"), shown, cls=named), " "]
        if below[at]:
            inside = h("div", [made.pop(child) for child in below[at]], cls="xb-below")
            made[at] = h("details", h("summary", label[:-1]), inside, open=at in opened)
        else:
            made[at] = h("div", label[:-1], cls="xb-leaf")
    return h("div", made[0], cls="xb-tree")


def more_rows(hidden: int, frame: str) -> str:
    """Say how many rows are not shown and which frame has them; empty if all are shown."""
    return f"… {hidden} more; .{frame} has them" if hidden > 0 else ""


def more_block(hidden: int, frame: str) -> Node | None:
    """Make a block of the text of `more_rows`; None if all rows are shown."""
    return h("div", more_rows(hidden, frame)) if hidden > 0 else None


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


def card_html(title: str, *parts: Node | str | None, limit: int = 200) -> str:
    """Write a card: a title above elements; a text is HTML that a library has written."""
    written = "".join(
        part if isinstance(part, str) else static_html(part, styles=ESSENTIAL)
        for part in (element("div", one_line(title, limit), "xb-title"), *parts)
        if part is not None
    )
    opening, closing = static_html(h("div", cls=f"xb-root {NO_MATHS}")).split("></")
    return f"{opening}>{STYLE}{written}</{closing}"
