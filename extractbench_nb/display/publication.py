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
    """Make the Styler of a table: the best of a column in bold, complete failures in red."""
    headings, rows, best, failed = table
    frame = pd.DataFrame.from_dict(rows, orient="index", columns=headings)
    frame.attrs["best"] = sorted(best)  # outlives copies
    css = dict.fromkeys(best, _BOLD) | dict.fromkeys(failed, _RED)
    marks = {row: [css.get((row, heading), "") for heading in headings] for row in rows}
    made = PaperStyler(frame, uuid=f"paper-{name}", cell_ids=False)
    made.apply(lambda _: pd.DataFrame.from_dict(marks, orient="index", columns=headings), axis=None)
    made.format(escape="html")
    made.format_index(escape="html", axis=0)
    made.format_index(escape="html", axis=1)
    return made


class PaperStyler(Styler):
    """One table of the paper. HTML, LaTeX and Markdown are the same on every call: no random ids.

    Made by `style`.
    """

    def __repr__(self) -> str:
        """Write the table as Markdown."""
        return str(self.to_markdown())

    def to_latex(self, buf: Any = None, **options: Any) -> Any:
        """Write the table as LaTeX, for the packages booktabs and xcolor."""
        twin = copy.deepcopy(self)
        twin.format(escape="latex")
        twin.format_index(escape="latex", axis=0)
        twin.format_index(escape="latex", axis=1)
        settings = {"hrules": True, "convert_css": True, **options}
        return Styler.to_latex(twin, buf, **settings)

    def to_markdown(self) -> str:
        """Write the table as Markdown; the best of a column in bold."""
        frame: pd.DataFrame = vars(self)["data"]
        best = set(frame.attrs["best"])
        lines = [["", *frame.columns], ["---", *("---:" for _ in frame.columns)]]
        for row, texts in zip(frame.index, frame.to_numpy(), strict=True):
            marked = zip(frame.columns, texts, strict=True)
            lines.append([row, *(f"**{t}**" if (row, h) in best else t for h, t in marked)])
        return "\n".join(f"| {' | '.join(map(_escaped, line))} |" for line in lines) + "\n"


def _escaped(text: str) -> str:
    one_line = " ".join(text.split("\n")).replace("<", "&lt;")
    return one_line.replace("|", "\\|")
