"""A pandas Styler in the paper's layout, which writes LaTeX and Markdown too.

Importing this module imports jinja2.
"""

from __future__ import annotations

import copy
from typing import Any

import pandas as pd
from pandas.io.formats.style import Styler

from extractbench_nb.paper.layout import Laid

_BOLD, _RED = "font-weight: bold;", "color: red;"

#: Entry of the frame's attributes that lists the cells in bold; it outlives copies.
_BEST = "best"


def styled(laid: Laid, name: str) -> PaperStyler:
    """Make the Styler of a table: the best of a column in bold, complete failures in red."""
    frame = pd.DataFrame.from_dict(laid.rows, orient="index", columns=laid.headings)
    frame.attrs[_BEST] = sorted(laid.best)
    made = PaperStyler(frame, uuid=f"paper-{name}", cell_ids=False)
    made.apply(lambda _: _marks(laid), axis=None)
    made.format(escape="html")
    made.format_index(escape="html", axis=0)
    made.format_index(escape="html", axis=1)
    return made


def _marks(laid: Laid) -> pd.DataFrame:
    def css(row: str, heading: str) -> str:
        if (row, heading) in laid.failed:
            return _RED
        return _BOLD if (row, heading) in laid.best else ""

    cells = {row: [css(row, heading) for heading in laid.headings] for row in laid.rows}
    return pd.DataFrame.from_dict(cells, orient="index", columns=laid.headings)


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
        best = set(frame.attrs[_BEST])
        lines = [["", *frame.columns], ["---", *("---:" for _ in frame.columns)]]
        for row, texts in zip(frame.index, frame.to_numpy(), strict=True):
            marked = zip(frame.columns, texts, strict=True)
            lines.append([row, *(f"**{t}**" if (row, h) in best else t for h, t in marked)])
        return "\n".join(f"| {' | '.join(map(_escaped, line))} |" for line in lines) + "\n"


def _escaped(text: str) -> str:
    one_line = " ".join(text.split("\n")).replace("<", "&lt;")
    return one_line.replace("|", "\\|")
