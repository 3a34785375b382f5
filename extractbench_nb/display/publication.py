"""Tables for publication: a pandas Styler that writes LaTeX and Markdown too.

Importing this module imports jinja2.
"""

from __future__ import annotations

import copy
from typing import Any, TypeAlias

import pandas as pd
from pandas.io.formats.style import Styler

#: A table of texts: headings, texts by row; and by row and heading the cells in bold and in red.
Texts: TypeAlias = tuple[
    list[str], dict[str, list[str]], set[tuple[str, str]], set[tuple[str, str]]
]

_BOLD, _RED = "font-weight: bold;", "color: red;"


def styled(table: Texts, name: str) -> PaperStyler:
    """Return the Styler of a table: best values in bold, complete failures in red."""
    headings, rows, best, failed = table
    frame = pd.DataFrame.from_dict(rows, orient="index", columns=headings)
    frame.attrs["best"] = sorted(best)  # outlives copies
    css = dict.fromkeys(best, _BOLD) | dict.fromkeys(failed, _RED)
    marks = {row: [css.get((row, heading), "") for heading in headings] for row in rows}
    styler = PaperStyler(frame, uuid=f"paper-{name}", cell_ids=False)
    css_frame = pd.DataFrame.from_dict(marks, orient="index", columns=headings)
    styler.apply(lambda _: css_frame, axis=None)
    _escape(styler, "html")
    return styler


def _escape(styler: Styler, mode: str) -> None:
    """Set how cells, row names and headings are escaped."""
    styler.format(escape=mode)
    styler.format_index(escape=mode, axis=0)
    styler.format_index(escape=mode, axis=1)


class PaperStyler(Styler):
    """One table of the paper. HTML, LaTeX and Markdown are the same on every call: no random ids.

    Made by `styled`.
    """

    def __repr__(self) -> str:
        """Write the table as Markdown."""
        return str(self.to_markdown())

    def to_latex(self, buf: Any = None, **options: Any) -> Any:
        """Write the table as LaTeX, for the packages booktabs and xcolor."""
        copied = copy.deepcopy(self)  # escaping is a state of the Styler; this one stays HTML
        _escape(copied, "latex")
        settings = {"hrules": True, "convert_css": True, **options}
        return Styler.to_latex(copied, buf, **settings)

    def to_markdown(self) -> str:
        """Write the table as Markdown, best values in bold."""
        frame: pd.DataFrame = vars(self)["data"]
        best = set(frame.attrs["best"])
        lines = [["", *frame.columns], ["---", *("---:" for _ in frame.columns)]]
        for row, texts in zip(frame.index, frame.to_numpy(), strict=True):
            cells = zip(frame.columns, texts, strict=True)
            lines.append([row, *(f"**{t}**" if (row, head) in best else t for head, t in cells)])
        return "\n".join(f"| {' | '.join(map(_escaped, line))} |" for line in lines) + "\n"


def _escaped(text: str) -> str:
    one_line = " ".join(text.split("\n")).replace("<", "&lt;")
    return one_line.replace("|", "\\|")
