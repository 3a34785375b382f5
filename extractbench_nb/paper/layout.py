"""The layouts of the paper's tables: which figures share a cell, and their format."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import NamedTuple

from extractbench_nb.benchmark.published import Figure, rows_of
from extractbench_nb.display.publication import Texts
from extractbench_nb.paper.cells import HEADER, TOTAL, Cell, Cells, figures_of, formatted, rounded

#: What stands where a figure cannot be recomputed.
ABSENT = "–"

#: Its caption prints two ratios only; all five domains are shown.
_FIGURE = "figure2"


class _Head(NamedTuple):
    """A column as printed: its heading, what its cells hold, and which figure ranks them."""

    heading: str
    template: str
    ranked: str = ""


def _heads(**named: str) -> tuple[_Head, ...]:
    return tuple(_Head(heading, f"{{{column}}}") for column, heading in named.items())


def _counted(heading: str, name: str) -> _Head:
    template = f"{{{name}passed}}/{{{name}fields}} ({{{name}rate}})"
    return _Head(heading, template, f"{name}rate")


def _under(heading: str, domain: str) -> _Head:
    size = (
        f"({{{domain} documents}}docs/{{{domain} pages}}pgs: {{{domain} keys}}/{{{domain} tokens}})"
    )
    return _counted(f"{heading} {size}", f"{domain} ")


_DOMAIN_HEADS = (_Head("Valid", "{valid}/{documents}"), _counted("Pass Rate", ""))

_HEADS: Mapping[str, tuple[_Head, ...]] = {
    "1": _heads(keys="Keys", depth="Depth", documents="Docs"),
    "2": _heads(documents="Documents", pages="Pages", gold_values="Gold Values"),
    "3": _heads(hours="Hours", hours_per_document="Hrs/Doc"),
    "4": _heads(metric="Metric", margin="Margin"),
    "5": (
        _Head("Valid JSON", "{valid}/{attempts}", "valid"),
        _under("Credit", "credit"),
        _under("Research", "research"),
        _under("Resumes", "resumes"),
        _under("Sports", "sports"),
        _under("SEC 10-K/Q", "10-K/Q"),
        _counted("Overall Pass Rate", "overall "),
        _Head("Acc Valid", "{accuracy}", "accuracy"),
    ),
    "6": _heads(
        pages="Pages",
        keys="Keys",
        depth="Depth",
        tokens="Tokens",
        fields="Fields",
        array_items="Arr. Items",
    ),
    "8": tuple(
        _Head(name.capitalize(), f"{{{name} rate}}", f"{name} rate")
        for name in ("credit", "research", "sports", "overall")
    ),
    **{str(number): _DOMAIN_HEADS for number in range(9, 14)},
    _FIGURE: _heads(input_tokens="Input", output_tokens="Output", ratio="Ratio"),
}

_NAME = re.compile(r"\{([^{}]+)\}")


def lay_out(part: str, cells: Cells) -> Texts:
    """Write figures into the cells of the printed table."""
    figures = {} if part == _FIGURE else figures_of(part)
    models = dict.fromkeys(figure.column for figure in rows_of(part))
    heads = _HEADS.get(part) or tuple(_Head(model, f"{{{model}}}") for model in models)
    named = dict.fromkeys(row for row, _ in (*figures, *cells))
    labels = {f.row: f.label for f in reversed(rows_of("6" if part == _FIGURE else part))}
    rows = {row: labels.get(row, row) for row in named if row != HEADER}

    def filled(template: str, row: str) -> str:
        return _NAME.sub(
            lambda name: _text(figures.get((row, name[1])), cells.get((row, name[1]))), template
        )

    best, failed = set(), set()
    for head in heads:
        if not head.ranked:
            continue
        heading = filled(head.heading, HEADER)
        values = {row: cells[row, head.ranked].value for row in rows}
        numbers = [v for row, v in values.items() if row != TOTAL and isinstance(v, (int, float))]
        top = max(numbers, default=0)
        for row, label in rows.items():
            if row != TOTAL and values[row] == top > 0:
                best.add((label, heading))
            if part != "8" and head.ranked.endswith("rate") and values[row] == 0:
                failed.add((label, heading))
    texts = {label: [filled(head.template, row) for head in heads] for row, label in rows.items()}
    return [filled(head.heading, HEADER) for head in heads], texts, best, failed


def _text(figure: Figure | None, cell: Cell | None) -> str:
    if cell is None:
        return ""
    if cell.value is None:
        return ABSENT
    if figure is None:
        return cell.value if isinstance(cell.value, str) else f"{cell.value:,.1f}"
    if figure.printed.endswith("k") and isinstance(cell.value, (int, float)):
        return f"{rounded(cell.value / 1000, 3 + (figure.digits or 0))}k"
    return formatted(figure, cell.value) or ABSENT
