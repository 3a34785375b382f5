"""Tables for publication: a pandas Styler that writes LaTeX and Markdown too.

Importing this module imports jinja2.
"""

from __future__ import annotations

import copy
from typing import Any

import pandas as pd
from pandas.io.formats.style import Styler

__all__ = ["PaperStyler", "styled"]

_BOLD, _RED = "font-weight: bold;", "color: red;"


def styled(table: pd.DataFrame, name: str) -> PaperStyler:
    """Make the Styler of a table of texts.

    Its ``attrs`` list cells as (row, heading): ``best`` is shown in bold, ``failed`` in red.
    """
    made = PaperStyler(table, uuid=f"paper-{name}", cell_ids=False)
    made.apply(_marks, axis=None)
    made.format(escape="html")
    made.format_index(escape="html", axis=0)
    made.format_index(escape="html", axis=1)
    return made


def _marks(table: pd.DataFrame) -> pd.DataFrame:
    marks = dict.fromkeys(table.attrs["best"], _BOLD) | dict.fromkeys(table.attrs["failed"], _RED)
    cells = [[marks.get((row, heading), "") for heading in table] for row in table.index]
    return pd.DataFrame(cells, table.index, table.columns)


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
