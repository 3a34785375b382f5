"""The paper's table layouts: which figures share a cell, and their format."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import NamedTuple

from extractbench_nb.benchmark.published import Figure, rows_of
from extractbench_nb.paper.cells import HEADER, TOTAL, Cells, rounded, written

__all__ = ["ABSENT", "Laid", "lay_out"]


#: What stands where a figure cannot be recomputed.
ABSENT = "–"


#: Its caption prints two ratios only; all five domains are shown.
_FIGURE = "figure2"


class _Head(NamedTuple):
    """A column as printed: its heading, what its cells hold, and which figure ranks them."""

    heading: str
    template: str
    ranked: str = ""


class Laid(NamedTuple):
    """A table laid out: texts by row, and where they are bold or red, by row and heading."""

    headings: list[str]
    rows: dict[str, list[str]]
    best: set[tuple[str, str]]
    failed: set[tuple[str, str]]


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

_HEADS: Mapping[str, tuple[_Head, ...]] = MappingProxyType(
    {
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
            _Head(heading, f"{{{column} rate}}", f"{column} rate")
            for heading, column in (
                ("Credit", "credit"),
                ("Research", "research"),
                ("Sports", "sports"),
                ("Overall", "overall"),
            )
        ),
        **{str(number): _DOMAIN_HEADS for number in range(9, 14)},
        _FIGURE: _heads(input_tokens="Input", output_tokens="Output", ratio="Ratio"),
    }
)

_NAME = re.compile(r"\{([^{}]+)\}")


def lay_out(part: str, cells: Cells) -> Laid:
    """Write figures into the cells of the printed table."""
    figures = {(f.row, f.column): f for f in rows_of(part) if part != _FIGURE}
    heads = _HEADS.get(part) or _by_model(part)
    known = dict.fromkeys(row for row, _ in (*figures, *cells))
    rows = [row for row in known if row != HEADER]

    def write(row: str) -> Callable[[re.Match[str]], str]:
        return lambda found: _text(figures, cells, row, found[1])

    headings = {head: _NAME.sub(write(HEADER), head.heading) for head in heads}
    return Laid(
        list(headings.values()),
        {
            _label(part, row): [_NAME.sub(write(row), head.template) for head in heads]
            for row in rows
        },
        {
            (_label(part, row), headings[head])
            for head in heads
            if head.ranked
            for row in _best(cells, rows, head.ranked)
        },
        {
            (_label(part, row), headings[head])
            for head in heads
            for row in rows
            if part != "8" and head.ranked.endswith("rate") and _number(cells, row, head) == 0
        },
    )


def _number(cells: Cells, row: str, head: _Head) -> float | None:
    value = cells[row, head.ranked].value
    return None if value is None or isinstance(value, str) else value


def _best(cells: Cells, rows: list[str], column: str) -> list[str]:
    values = {row: cells[row, column].value for row in rows if row != TOTAL}
    numbers = {row: v for row, v in values.items() if isinstance(v, (int, float)) and v > 0}
    return [row for row, value in numbers.items() if value == max(numbers.values())]


def _by_model(part: str) -> tuple[_Head, ...]:
    columns = dict.fromkeys(figure.column for figure in rows_of(part))
    return tuple(_Head(column, f"{{{column}}}") for column in columns)


def _label(part: str, row: str) -> str:
    named = "6" if part == _FIGURE else part
    return next((f.label for f in rows_of(named) if f.row == row), row)


def _text(figures: Mapping[tuple[str, str], Figure], cells: Cells, row: str, column: str) -> str:
    cell, figure = cells.get((row, column)), figures.get((row, column))
    if cell is None or cell.value is None:
        return ABSENT if cell is not None else ""
    if figure is None:
        return _plain(cell.value)
    if figure.printed.endswith("k") and isinstance(cell.value, (int, float)):
        return f"{rounded(cell.value / 1000, 3 + (figure.digits or 0))}k"
    return written(figure, cell.value) or ABSENT


def _plain(value: float | str) -> str:
    return value if isinstance(value, str) else f"{value:,.1f}"
