"""Tables for publication: a pandas Styler that writes LaTeX and Markdown too.

Importing this module imports jinja2.
"""

from __future__ import annotations

import copy
import re
from collections.abc import Sequence
from typing import Any, TypeAlias

import pandas as pd
from pandas.io.formats.style import Styler

from extractbench_nb.support.cards import NO_MATHS
from extractbench_nb.support.nodes import h, static_html

#: A table of texts: headings, texts by row; and by row and heading the cells in bold and in red.
Texts: TypeAlias = tuple[
    list[str], dict[str, list[str]], set[tuple[str, str]], set[tuple[str, str]]
]

#: First and last column, and the heading over them.
Spans: TypeAlias = Sequence[tuple[int, int, str]]

_BOLD, _RED = "font-weight:bold", "color:red"
#: Red with a ground of its own: red alone cannot be read on a white and on a dark page.
_RED_ON_PALE = "color:#a30000;background-color:#fdeaea"
_LEFT, _RIGHT, _MIDDLE = "text-align:left", "text-align:right", "text-align:center"


def styled(table: Texts, name: str, *, caption: str = "", over: Spans = ()) -> PaperStyler:
    """Return the Styler of a table: best values in bold, complete failures in red.

    `over` are headings over several columns: first and last column, and text.
    """
    headings, rows, best, failed = table
    frame = pd.DataFrame.from_dict(rows, orient="index", columns=headings)
    frame.attrs["best"] = sorted(best)  # outlives copies
    frame.attrs["caption"], frame.attrs["over"] = caption, list(over)
    frame.attrs["failed"] = sorted(failed)
    css = dict.fromkeys(best, f"{_BOLD};") | dict.fromkeys(failed, f"{_RED};")
    marks = {row: [css.get((row, heading), "") for heading in headings] for row in rows}
    css_frame = pd.DataFrame.from_dict(marks, orient="index", columns=headings)
    if over:
        tops = [""] * len(headings)
        for first, last, text in over:
            tops[first : last + 1] = [text] * (last + 1 - first)
        frame.columns = css_frame.columns = pd.MultiIndex.from_arrays([tops, headings])
    styler = PaperStyler(frame, uuid=f"paper-{name}", cell_ids=False)
    styler.apply(lambda _: css_frame, axis=None)
    if caption:
        styler.set_caption(caption)
    return styler


def _words(frame: pd.DataFrame) -> list[int]:
    """Return the positions of the columns without a digit at the start of any cell."""
    starts = frame.map(lambda text: text[:1].isdigit() or text[:1] in "–—")
    return [position for position, any_ in enumerate(starts.any().tolist()) if not any_]


class PaperStyler(Styler):
    """One table of the paper. HTML, LaTeX and Markdown are the same on every call: no random ids.

    Made by `styled`.
    """

    def __repr__(self) -> str:
        """Write the table as Markdown."""
        return str(self.to_markdown())

    def to_html(self, buf: Any = None, **options: Any) -> Any:
        """Write the table as HTML, with all styles in its elements: notebooks keep these."""
        if buf is not None or options:
            return Styler.to_html(self, buf, **options)
        frame: pd.DataFrame = vars(self)["data"]
        best, failed = set(frame.attrs["best"]), set(frame.attrs["failed"])
        heads, left = list(frame.columns.get_level_values(-1)), _words(frame)
        sides = [_LEFT if at in left else _RIGHT for at in range(len(heads))]
        tops, end = [], 0
        for first, last, text in frame.attrs["over"]:
            tops += [h("th") for _ in range(end, first)]
            tops.append(h("th", text, colspan=last + 1 - first, style=_MIDDLE))
            end = last + 1
        over = h("tr", h("th"), tops, [h("th") for _ in range(end, len(heads))]) if tops else None
        named = [
            h("th", head, style=side if side == _LEFT else _MIDDLE)
            for head, side in zip(heads, sides, strict=True)
        ]
        body = []
        for row, texts in zip(frame.index, frame.to_numpy(), strict=True):
            cells = []
            for head, text, side in zip(heads, texts, sides, strict=True):
                marks = [_BOLD] * ((row, head) in best) + [_RED_ON_PALE] * ((row, head) in failed)
                cells.append(h("td", text, style=";".join([side, "white-space:nowrap", *marks])))
            body.append(h("tr", h("th", row, style=f"{_LEFT};white-space:nowrap"), cells))
        caption = frame.attrs["caption"]
        look = f"caption-side:top;{_LEFT};max-width:60em"
        about = h("caption", caption, style=look) if caption else None
        table = h("table", about, h("thead", over, h("tr", h("th"), named)), h("tbody", body))
        return static_html(h("div", table, cls=NO_MATHS))

    def _repr_html_(self) -> str:
        html: str = self.to_html()
        return html

    def to_latex(self, buf: Any = None, **options: Any) -> Any:
        """Write the table as LaTeX, for the packages booktabs and xcolor."""
        copied = copy.deepcopy(self)  # escaping is a state of the Styler
        copied.format(escape="latex")
        for axis in (0, 1):
            copied.format_index(escape="latex", axis=axis)
        frame: pd.DataFrame = vars(self)["data"]
        if frame.attrs["caption"]:
            copied.set_caption(re.sub("([_%&#$])", r"\\\1", frame.attrs["caption"]))
        sides = "".join(
            "l" if position in _words(frame) else "r" for position in range(frame.shape[1])
        )
        settings: dict[str, Any] = {"hrules": True, "convert_css": True, "multicol_align": "c"}
        settings |= {"column_format": f"l{sides}", **options}
        return Styler.to_latex(copied, buf, **settings)

    def to_markdown(self) -> str:
        """Write the table as Markdown, best values in bold."""
        frame: pd.DataFrame = vars(self)["data"]
        best, heads = set(frame.attrs["best"]), list(frame.columns.get_level_values(-1))
        named = [*heads]
        for first, last, text in frame.attrs["over"]:
            named[first : last + 1] = [f"{text}: {head}" for head in heads[first : last + 1]]
        lines = [["", *named], ["---", *("---:" for _ in heads)]]
        for row, texts in zip(frame.index, frame.to_numpy(), strict=True):
            cells = zip(heads, texts, strict=True)
            lines.append([row, *(f"**{t}**" if (row, head) in best else t for head, t in cells)])
        table = "\n".join(f"| {' | '.join(map(_escaped, line))} |" for line in lines) + "\n"
        caption = _escaped(frame.attrs["caption"])
        return f"{caption}\n\n{table}" if caption else table


def _escaped(text: str) -> str:
    one_line = " ".join(text.split("\n")).replace("<", "&lt;")
    return one_line.replace("|", "\\|")
