"""The layout of the paper's tables, and a table as HTML, LaTeX and Markdown."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import pandas as pd

from extractbench_nb.benchmark.published import (
    HEADER,
    MODELS,
    TOTAL,
    Cell,
    Cells,
    Figure,
    figures_of,
    formatted,
    rounded,
    rows_of,
)
from extractbench_nb.errors import needs
from extractbench_nb.runs import shipped_rows
from extractbench_nb.support.cards import NO_MATHS
from extractbench_nb.support.nodes import h, static_html

#: What stands where a figure cannot be recomputed.
ABSENT = "–"
#: What follows the caption if figures are marked.
_MARKED = {
    "published": "† The recomputed figure differs.",
    "recomputed": "† The printed figure differs.",
    "both": "† The recomputed figure, in brackets, differs.",
}
_MARK = "†"
#: Headings over several columns: first and last column, and text.
SPANS = {"5": ((1, 5, "Domain Pass Rate (docs / mean pages: keys / mean gold tokens)"),)}
#: Its caption prints two ratios only; all five domains are shown.
_FIGURE = "figure2"
#: Smaller figures that are printed nowhere are written with decimals.
_THREE_DIGITS = 100
_NAME = re.compile(r"\{([^{}]+)\}")


class Head(NamedTuple):
    """A column as printed: its heading, what its cells hold, and which figure ranks them."""

    heading: str
    template: str
    ranked: str = ""


def caption_of(part: str, values: str, *, marked: bool) -> str:
    """Return the caption of a table, with what its marks mean."""
    captions = {row["table"]: row["caption"] for row in shipped_rows("benchmark/data/captions.csv")}
    name = "Figure 2" if part == _FIGURE else f"Table {part}"
    return f"{name} ({values}). {captions[part]}" + (f" {_MARKED[values]}" if marked else "")


def lay_out(
    part: str,
    cells: Cells,
    marked: Collection[tuple[str, str]],
    beside: Mapping[Any, Cell],
    caption: str,
) -> PaperTable:
    """Write figures into the cells of the printed table; those in `marked` get a mark.

    Figures in `beside` that are marked or unknown follow in brackets.
    """
    figures = {} if part == _FIGURE else figures_of(part)
    models = dict.fromkeys(figure.column for figure in rows_of(part))
    heads = [Head(**dict(list(row.items())[1:])) for row in _heads() if row["table"] == part]
    heads = heads or [Head(model, f"{{{model}}}") for model in models]
    names = {name for _, name in cells}  # a caption prints one column of Figure 2
    heads = [h for h in heads if part != _FIGURE or names & {*_NAME.findall(h.template)}]
    named = dict.fromkeys(row for row, _ in (*figures, *cells))
    # one name per model: Table 5 leaves `Claude` out of two, the other tables do not
    printed = reversed(rows_of("6" if part == _FIGURE else part))
    labels = {f.row: f.row if f.row in MODELS else f.label for f in printed}

    def text(row: str, name: str) -> str:
        key, figure = (row, name), figures.get((row, name))
        written = _text(figure, cells.get(key)) + (_MARK if key in marked else "")
        if key not in beside:
            return written
        # words and raw data of the paper are no figures that could be recomputed
        is_unknown = beside[key].value is None and figure is not None and figure.value is not None
        is_shown = key in marked or is_unknown
        return f"{written} [{_text(figure, beside[key])}]" if is_shown else written

    rows = {row: labels.get(row, row) for row in named if row != HEADER}

    def value(row: str, name: str) -> Any:
        return cells[row, name].value

    def is_red(name: str) -> bool:
        return part != "8" and name.endswith("rate")

    over = SPANS.get(part, ())
    return replace(filled(heads, rows, text, value, is_red=is_red), caption=caption, over=over)


def _heads() -> list[dict[Any, Any]]:
    return shipped_rows("benchmark/data/heads.csv")


def filled(
    heads: Iterable[Head],
    labels: Mapping[str, str],
    text: Callable[[str, str], str],
    value: Callable[[str, str], Any],
    *,
    is_red: Callable[[str], bool],
) -> PaperTable:
    """Fill the cells of a table, one row per label.

    In ranked columns the best value is marked if above 0, and 0 is red if `is_red`.
    """

    def fill(template: str, row: str) -> str:
        return _NAME.sub(lambda name: text(row, name[1]), template)

    columns = [(fill(head.heading, HEADER), head) for head in heads]
    best, failed = set(), set()
    for heading, head in columns:
        values = {row: value(row, head.ranked) for row in labels} if head.ranked else {}
        numbers = {row: v for row, v in values.items() if isinstance(v, int | float)}
        top = max((v for row, v in numbers.items() if row != TOTAL), default=0)
        for row, number in numbers.items():
            if row != TOTAL and number == top > 0:
                best.add((labels[row], heading))
            if number == 0 and is_red(head.ranked):
                failed.add((labels[row], heading))
    texts = {
        label: [fill(head.template, row) for _, head in columns] for row, label in labels.items()
    }
    return PaperTable([heading for heading, _ in columns], texts, best, failed)


def _text(figure: Figure | None, cell: Cell | None) -> str:
    if cell is None:
        return ""
    if cell.value is None:
        return ABSENT
    if figure is None:
        if isinstance(cell.value, str):
            return cell.value
        is_short = cell.value < _THREE_DIGITS and not float(cell.value).is_integer()
        return f"{cell.value:,.{2 if is_short else 0}f}"
    if figure.printed.endswith("k") and isinstance(cell.value, (int, float)):
        return f"{rounded(cell.value / 1000, 3 + (figure.digits or 0))}k"
    return formatted(figure, cell.value) or ABSENT


_BOLD, _RED = "font-weight:bold", "color:red"
#: Red with a ground of its own: red alone cannot be read on a white and on a dark page.
_RED_ON_PALE = "color:#a30000;background-color:#fdeaea"
_LEFT, _RIGHT, _MIDDLE = "text-align:left", "text-align:right", "text-align:center"


@dataclass(frozen=True, eq=False, repr=False)
class PaperTable:
    """A table in the paper's layout, shown as HTML; made by `style`.

    ``headings`` and the texts by row; by row and heading the cells in bold and in red; and first
    and last column and text of the headings over several columns.
    """

    headings: list[str]
    rows: dict[str, list[str]]
    best: set[tuple[str, str]] = frozenset()  # type: ignore[assignment]
    failed: set[tuple[str, str]] = frozenset()  # type: ignore[assignment]
    caption: str = ""
    over: Sequence[tuple[int, int, str]] = ()

    def __repr__(self) -> str:
        """Write the table as Markdown."""
        return self.to_markdown()

    def _repr_html_(self) -> str:
        return self.to_html()

    @property
    def frame(self) -> pd.DataFrame:
        """The texts as a frame with one level of headings."""
        return pd.DataFrame.from_dict(self.rows, orient="index", columns=self.headings)

    @property
    def _sides(self) -> list[str]:
        """Words stand on the left: columns without a digit at the start of any cell."""
        columns = zip(*self.rows.values(), strict=True)
        starts = [any(text[:1].isdigit() or text[:1] in "–—" for text in c) for c in columns]
        return [_RIGHT if holds_numbers else _LEFT for holds_numbers in starts]

    def to_html(self) -> str:
        """Return the table as HTML with inline styles, which notebooks keep."""
        sides, tops, end = self._sides, [], 0
        for first, last, text in self.over:
            tops += [h("th") for _ in range(end, first)]
            tops.append(h("th", text, colspan=last + 1 - first, style=_MIDDLE))
            end = last + 1
        tops += [h("th") for _ in range(end, len(self.headings))] if tops else []
        named = [
            h("th", head, style=side if side == _LEFT else _MIDDLE)
            for head, side in zip(self.headings, sides, strict=True)
        ]
        body = []
        for row, texts in self.rows.items():
            cells = []
            for head, text, side in zip(self.headings, texts, sides, strict=True):
                marks = [_BOLD] * ((row, head) in self.best)
                marks += [_RED_ON_PALE] * ((row, head) in self.failed)
                cells.append(h("td", text, style=";".join([side, "white-space:nowrap", *marks])))
            body.append(h("tr", h("th", row, style=f"{_LEFT};white-space:nowrap"), cells))
        look = f"caption-side:top;{_LEFT};max-width:60em"
        about = h("caption", self.caption, style=look) if self.caption else None
        over = h("tr", h("th"), tops) if tops else None
        table = h("table", about, h("thead", over, h("tr", h("th"), named)), h("tbody", body))
        return static_html(h("div", table, cls=NO_MATHS))

    def to_latex(self) -> str:
        """Return the table as LaTeX for the packages booktabs and xcolor; needs jinja2."""
        needs("jinja2", "notebook")
        css = dict.fromkeys(self.best, f"{_BOLD};") | dict.fromkeys(self.failed, f"{_RED};")
        marks = [[css.get((row, head), "") for head in self.headings] for row in self.rows]
        frame = self.frame
        if self.over:
            tops = [""] * len(self.headings)
            for first, last, text in self.over:
                tops[first : last + 1] = [text] * (last + 1 - first)
            frame.columns = pd.MultiIndex.from_arrays([tops, self.headings])
        styler = frame.style.format(escape="latex")
        styler.apply(lambda _: pd.DataFrame(marks, frame.index, frame.columns), axis=None)
        for axis in (0, 1):
            styler.format_index(escape="latex", axis=axis)
        if self.caption:
            styler.set_caption(re.sub("([_%&#$])", r"\\\1", self.caption))
        sides = "".join("l" if side == _LEFT else "r" for side in self._sides)
        latex: str = styler.to_latex(
            hrules=True, convert_css=True, multicol_align="c", column_format=f"l{sides}"
        )
        return latex

    def to_markdown(self) -> str:
        """Return the table as Markdown, with the best values in bold."""
        named = [*self.headings]
        for first, last, text in self.over:
            named[first : last + 1] = [f"{text}: {head}" for head in named[first : last + 1]]
        lines = [["", *named], ["---", *("---:" for _ in named)]]
        for row, texts in self.rows.items():
            cells = zip(self.headings, texts, strict=True)
            bold = (f"**{text}**" if (row, head) in self.best else text for head, text in cells)
            lines.append([row, *bold])
        table = "\n".join(f"| {' | '.join(map(_escaped, line))} |" for line in lines) + "\n"
        return f"{_escaped(self.caption)}\n\n{table}" if self.caption else table


def _escaped(text: str) -> str:
    one_line = " ".join(text.split("\n")).replace("<", "&lt;")
    return one_line.replace("|", "\\|")
