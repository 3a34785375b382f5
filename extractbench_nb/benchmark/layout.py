"""The layout of the paper's tables: captions and columns from ``data``, marks of best and red."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable, Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

from extractbench_nb.benchmark.paper_cells import (
    HEADER,
    MODELS,
    TOTAL,
    Cell,
    Cells,
    figures_of,
    formatted,
    rounded,
)
from extractbench_nb.benchmark.published import Figure, rows_of
from extractbench_nb.runs import shipped_rows

if TYPE_CHECKING:
    from extractbench_nb.benchmark.publication import Texts

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
    part: str, cells: Cells, marked: Collection[tuple[str, str]], beside: Mapping[Any, Cell]
) -> Texts:
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

    return filled(heads, rows, text, value, is_red=is_red)


def _heads() -> list[dict[Any, Any]]:
    return shipped_rows("benchmark/data/heads.csv")


def filled(
    heads: Iterable[Head],
    labels: Mapping[str, str],
    text: Callable[[str, str], str],
    value: Callable[[str, str], Any],
    *,
    is_red: Callable[[str], bool],
) -> Texts:
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
    return [heading for heading, _ in columns], texts, best, failed


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
