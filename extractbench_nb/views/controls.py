"""What views have in common on their pages: controls, pages of rows, scores, bars, marked texts."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, NamedTuple, TypeAlias

import pandas as pd

from extractbench_nb.support.nodes import Child, Content, Node, h
from extractbench_nb.support.wording import clean, one_line, trimmed, value_text
from extractbench_nb.views.sides import Segment, Side
from extractbench_nb.views.static import MARKS, score_text

#: Hits that are marked in one text.
_MOST_MARKED = 50

# --- controls: each sends an event, by default that which sets a trait of the view ----------------


def menu(label: str, do: str, options: Mapping[Any, str] | Sequence[Any], value: Any) -> Node:
    """Make a menu of values, with their texts in a mapping."""
    texts = options.items() if isinstance(options, Mapping) else ((name, name) for name in options)
    listed = [
        h("option", trimmed(str(text), 60), value=json.dumps(name), selected=name == value, key=at)
        for at, (name, text) in enumerate(texts)
    ]
    chosen = h("select", listed, do=do, value=json.dumps(value))
    return h("label", f"{label} ", chosen, cls="xb-control", live=True)


def check(label: str, do: str, value: bool) -> Node:
    """Make a box to tick."""
    box = h("input", type="checkbox", do=do, checked=value)
    return h("label", box, f" {label}", cls="xb-control", live=True)


def search(label: str, do: str, value: str, hint: str, controls: str = "") -> Node:
    """Make a box to search with; Enter goes to the first hit in the element named `controls`."""
    box = h(
        "input",
        type="search",
        do=do,
        value=value,
        placeholder=hint,
        aria_label=label,
        aria_controls=controls or None,
    )
    return h("span", box, cls="xb-control xb-search", live=True)


def button(label: Child, do: str, send: Any = None, **attributes: Any) -> Node:
    """Make a button."""
    return h("button", label, type="button", do=do, send=send, **attributes)


def slider(label: str, do: str, value: float, bounds: tuple[float, float], step: float) -> Node:
    """Make a slider that says its value."""
    least, most = bounds
    digits = 0 if step >= 1 else math.ceil(-math.log10(step) - 1e-9)
    handle = h("input", type="range", do=do, min=least, max=most, step=step, value=value)
    shown = h("output", f"{value:.{digits}f}", cls="xb-num")
    return h("label", f"{label} ", handle, shown, cls="xb-control xb-slider", live=True)


def copy(label: str, text: str) -> Node:
    """Make a button that copies a text."""
    status = h("span", role="status", cls="xb-quiet")
    return h("span", h("button", label, type="button", copy=text), " ", status, live=True)


def code(text: str, name: str = "") -> Node:
    """Show code to be copied, folded; `name` is that of the evaluation in it."""
    said = f"{name} stands for the evaluation of this view; set your own variable with name=."
    note = h("p", said, cls="xb-quiet") if name else None
    return h("details", h("summary", "Code"), h("pre", text), copy("Copy", text), note, live=True)


#: A condition on the rows of a frame ``f``: its code, None if it cannot be written, and its mask.
Term: TypeAlias = tuple[str | None, Any]

#: Where a text is searched, and the characters of code that a person may want to paste.
SEARCHED = ("path", "gold", "predicted")
_LONGEST_CODE = 4000


def equal_term(frame: pd.DataFrame, column: str, names: Sequence[str]) -> Term:
    """Make the condition that a column has one of the names."""
    if len(names) == 1:
        return f'(f["{column}"] == {names[0]!r})', frame[column] == names[0]
    return f'f["{column}"].isin({list(names)!r})', frame[column].isin(names)


def text_term(frame: pd.DataFrame, wanted: str) -> Term:
    """Make the condition that path, gold or predicted value has a text, in any case of letters."""
    wanted = wanted.strip().lower()

    def holding(write: Callable[[Any], str]) -> Any:
        cells = frame[list(SEARCHED)]
        found = cells.map(lambda value: value is not None and wanted in write(value).lower())
        return found.astype(bool).any(axis=1)

    has_text = f"lambda v: v is not None and {wanted!r} in str(v).lower()"
    code = f"f[{list(SEARCHED)!r}].map({has_text}).astype(bool).any(axis=1)"
    try:
        return code, holding(str)
    except Exception:  # noqa: BLE001 - a value of a document that Python itself cannot write
        return None, holding(value_text)


def selection_code(source: str, terms: Sequence[Term], otherwise: str, order: str = "") -> str:
    """Write an expression that selects rows, `otherwise` if it would be too long."""
    codes = [code for code, _ in terms if code is not None]
    code = f"{source}[lambda f: {' & '.join(codes)}]" if codes else source
    is_written = len(codes) == len(terms) and len(code) <= _LONGEST_CODE
    return code + order if is_written else f"{source}{otherwise}"


def toolbar(*controls: Content) -> Node:
    """Lay controls on one line, and on more where there is no room."""
    return h("div", *controls, cls="xb-controls", live=True)


def filters(active: int, *controls: Content, label: str = "Filters") -> Node:
    """Fold controls behind one button, which says how many of them are set."""
    said = f"{label} · {active}" if active else label
    summary = h("summary", said, cls="xb-button")
    return h("details", summary, toolbar(*controls), cls="xb-filters", live=True)


def chips(
    label: str, do: str, counts: Iterable[tuple[Any, Content, int]], chosen: Any = None
) -> Node | None:
    """Make a row of counts that filter when they are clicked; nothing where there are none."""
    drawn = [
        h(
            "button",
            content,
            h("b", f" {number:,}", cls="xb-num"),
            type="button",
            do=do,
            send=value,
            item=True,
            keep=True,
            cls="xb-chip",
            key=at,
            aria_pressed="true" if value == chosen else "false",
        )
        for at, (value, content, number) in enumerate(counts)
    ]
    return (
        h("div", drawn, cls="xb-chips", keys="list", role="group", aria_label=label)
        if drawn
        else None
    )


def because(text: str) -> list[Child]:
    """Write a sentence of a cause without the score that it begins with; names are code."""
    return sentence(text.partition(" ")[2])


def sentence(text: str) -> list[Child]:
    """Write a sentence in which names are between backticks."""
    parts = text.split("`")
    return [h("code", part, key=at) if at % 2 else part for at, part in enumerate(parts) if part]


def headline(value: str, *said: Content) -> Node:
    """Write the number that a view is about, and what causes it."""
    return h("p", h("b", value, cls="xb-big"), " ", *said, cls="xb-headline", role="status")


def split(listing: Content, detail: Content) -> Node:
    """Lay a list on the left, and what is chosen in it on the right, or below in a narrow page."""
    left, right = h("div", listing, cls="xb-left"), h("div", detail, cls="xb-right")
    return h("div", h("div", left, right, cls="xb-panes"), cls="xb-split")


# --- pages ----------------------------------------------------------------------------------------


class Page(NamedTuple):
    """A page, numbered from 0: the place of its first thing, and the place behind its last."""

    number: int
    first: int
    last: int
    total: int
    pages: int

    def of(self, items: Any) -> Any:
        """Return the part of a list, array or frame that is on the page."""
        rows = items.iloc if isinstance(items, pd.DataFrame) else items
        return rows[self.first : self.last]


def page_of(total: int, number: int, size: int) -> Page:
    """Find a page of at most `size` things; one beyond the last is the last.

    Examples
    --------
    >>> page_of(5, 7, 2)
    Page(number=2, first=4, last=5, total=5, pages=3)
    """
    pages = max(1, -(-total // size))
    number = max(0, min(number, pages - 1))
    return Page(number, number * size, min(total, (number + 1) * size), total, pages)


def pager(page: Page, do: str, noun: str) -> Node | None:
    """Make buttons to turn the page; nothing where there is one page."""
    if page.pages == 1:
        return None

    def turn(sign: str, name: str, to: int) -> Node:
        label = f"{name} {noun}"
        return button(sign, do, to, aria_label=label, disabled=not 0 <= to < page.pages)

    shown = h("span", f"{noun} {page.first + 1:,} to {page.last:,} of {page.total:,}")
    before, after = turn("◂", "Previous", page.number - 1), turn("▸", "Next", page.number + 1)
    return h("span", before, shown, after, cls="xb-pager", live=True)


def listed(said: str, cut: Page, noun: str, do: str = "set:page") -> Node:
    """Say what is listed, beside what turns its pages."""
    return h("p", h("span", said, role="status"), " ", pager(cut, do, noun), live=True)


def shown_text(page: Page, noun: str, most: int | None = None) -> str:
    """Say which things of a page a static view shows: ``rows 1 to 30 of 217``."""
    last = page.last if most is None else min(page.last, page.first + most)
    return f"{noun} {min(page.first + 1, last):,} to {last:,} of {page.total:,}"


def rows_of(frame: pd.DataFrame) -> list[list[Any]]:
    """Return the rows of a frame, with None for what is missing."""
    rows: list[list[Any]] = frame.astype(object).where(frame.notna(), None).to_numpy().tolist()
    return rows


def more(hidden: int, what: str, **attributes: Any) -> Node | None:
    """Say how many things are not shown; nothing where all are."""
    return h("p", f"… {hidden:,} more {what}", cls="xb-quiet", **attributes) if hidden > 0 else None


# --- results --------------------------------------------------------------------------------------


def table(heads: Iterable[Node | str], *body: Content, **attributes: Any) -> Node:
    """Make a table: names of columns, or cells, above its body."""
    cells = [name if isinstance(name, Node) else h("th", name, scope="col") for name in heads]
    return h("table", h("thead", h("tr", cells)), *body, **attributes)


def counts_text(counts: Iterable[tuple[str, int]]) -> str:
    """Write counts in words: ``3 correct, 1 omission``."""
    return ", ".join(f"{n:,} {name.replace('_', ' ')}" for name, n in counts)


def bar(counts: Sequence[tuple[str, int]]) -> list[Node]:
    """Draw counts as a bar whose label says them; static HTML says them in words beside it."""
    total = sum(n for _, n in counts)
    if not total:
        return []
    parts = [
        h("i", cls=f"xb-part xb-{name}", style=f"width:{100 * n / total:.1f}%", key=name)
        for name, n in counts
    ]
    words = counts_text(counts)
    drawn = h("span", parts, cls="xb-bar", role="img", aria_label=words, title=words)
    return [drawn, h("span", f" {words}", cls="xb-quiet", static=True)]


def mark(name: str) -> Node:
    """Write an outcome or a status: its sign in its colour, and its name."""
    sign = h("span", MARKS[name], cls=f"xb-mark xb-tint xb-t-{name}", aria_hidden="true")
    return h("span", sign, f" {name.replace('_', ' ')}", cls="xb-outcome")


def score(value: float | None) -> Node:
    """Write a score."""
    return h("span", score_text(value), cls="xb-num")


def segments(side: Iterable[Segment], wanted: str = "") -> list[Node]:
    """Write one side of a comparison, with what differs and what was searched for marked."""
    kinds = {"changed": ("mark", "xb-changed"), "note": ("em", "xb-quiet")}
    written = []
    for at, piece in enumerate(side):
        tag, kind = kinds.get(piece.kind, ("span", None))
        text = trimmed(piece.text, 100_000)
        written.append(h(tag, found(text, wanted), cls=kind, key=at))
    return written


def whole_sides(sides: Mapping[str, Side], wanted: str = "") -> Node:
    """Write two values in full beside each other, by name."""
    drawn = []
    for name, side in sides.items():
        shown = segments(side.segments, wanted)
        value = h("div", shown, cls="xb-value xb-whole", dir="auto", tabindex=0)
        drawn.append(h("div", h("b", name), value, more(side.hidden, "characters")))
    return h("div", drawn, cls="xb-beside")


def facts_list(facts: Iterable[tuple[str, Content]]) -> Node:
    """List facts by name; those without a text are left out."""
    rows = [h("div", h("dt", name), h("dd", text)) for name, text in facts if text]
    return h("dl", rows)


def found(text: str, wanted: str) -> list[Child]:
    """Mark where a text has what was searched for, in any case of letters."""
    wanted = wanted.strip()
    if not wanted:
        return [text]
    parts = re.split(f"({re.escape(wanted)})", text, maxsplit=_MOST_MARKED, flags=re.IGNORECASE)
    return [
        h("mark", part, cls="xb-found", key=at) if at % 2 else part
        for at, part in enumerate(parts)
        if part
    ]


_LONGEST_PATH = 200


def shown_path(path: str) -> str:
    """Write a path on one line; the middle of a long one is left out."""
    half = _LONGEST_PATH // 2
    if len(path) <= 2 * half:
        return one_line(path, 2 * half)
    return f"{one_line(path[:half], half)} … {one_line(path[-half:], half)}"


def breakable(path: str, wanted: str = "") -> Node:
    """Write a path that may be broken before each of its steps, with hits marked."""

    def steps(piece: Child) -> list[Child]:
        if isinstance(piece, Node):
            return [piece]
        spaced = piece.replace(".", "\0.").replace("[", "\0[")
        first, *others = spaced.replace("$\0", "$", 1).split("\0")
        return [first, *(part for step in others for part in (h("wbr"), step))]

    return h("code", [steps(piece) for piece in found(shown_path(path), wanted)], cls="xb-path")


def shortened(text: str, limit: int) -> str:
    """Write a name on one line, with its middle left out if it is too long.

    Examples
    --------
    >>> shortened("balance.deferred_tax_assets.before", 20)
    'balance.de…ts.before'
    """
    ends = text if len(text) <= 4 * limit else text[: 2 * limit] + text[-2 * limit :]
    line = " ".join(clean(ends).split())
    if len(line) <= limit:
        return line
    last = (limit - 1) // 2
    return f"{line[: limit - 1 - last]}…{line[-last:]}"
