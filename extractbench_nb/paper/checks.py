"""The kind of check that a comparison with a printed figure is, and what the figure counts."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache

from extractbench_nb.benchmark.published import PARTS, Figure, rows_of
from extractbench_nb.paper.cells import (
    DERIVED,
    DOMAIN_TABLES,
    DOMAINS,
    HEADER,
    REPEATED,
    TOTAL,
    Cell,
)

_DOMAIN_OF_TABLE = {str(table): domain for domain, table in DOMAIN_TABLES.items()}
#: Columns of tables, where the text names the quantity otherwise.
_NAMES = {
    "rate": "pass rate",
    "gold_values": "gold values",
    "array_items": "array items",
    "input_tokens": "input tokens",
    "output_tokens": "tokens",
    "hours_per_document": "hours a document",
}


def quantity_of(figure: Figure) -> str:
    """Name what a figure counts, the same wherever the paper prints it.

    Examples
    --------
    >>> quantity_of(next(f for f in rows_of("10") if f.row == "GPT-5" and f.column == "rate"))
    'pass rate of GPT-5 on credit'
    """
    if figure.table == "text":
        return figure.column
    if figure.table in _DOMAIN_OF_TABLE:
        return _of_domain(figure, _DOMAIN_OF_TABLE[figure.table])
    if figure.table in ("5", "8"):
        return _of_results(figure)
    of_total = figure.row == TOTAL
    if figure.table == "7":
        return f"failures of {figure.column}" + ("" if of_total else f" by {figure.row}")
    name = _NAMES.get(figure.column, figure.column)
    return name if of_total else f"{name} of {figure.row}"


def _of_domain(figure: Figure, domain: str) -> str:
    """Name a figure of Tables 9 to 13; documents and fields are the same for all models."""
    if figure.column == "documents":
        return f"documents of {domain}"
    if figure.column == "fields":
        return _fields(domain)
    return f"{_NAMES.get(figure.column, figure.column)} of {figure.row} on {domain}"


def _of_results(figure: Figure) -> str:
    """Name a figure of Tables 5 and 8, whose columns are ``credit rate``, ``overall rate``, ..."""
    part, _, name = figure.column.rpartition(" ")
    name, domain = _NAMES.get(name, name), part if part in DOMAINS else ""
    if figure.row == HEADER:
        return f"{name} of {domain}"
    if figure.row == TOTAL:
        name += f" of {domain}" if domain else ""
    elif name == "fields":
        return _fields(domain)
    else:
        name += " a model" if name == "attempts" else f" of {figure.row}"
        name += f" on {domain}" if domain else ""
    return f"structured {name}" if figure.table == "8" else name


def _fields(domain: str) -> str:
    """Name the denominator of a model's pass rate, documents x keys."""
    return f"fields of {domain} a model" if domain else "fields a model"


@cache
def _first_places() -> Mapping[str, tuple[str, str, str]]:
    """Return where each quantity is printed first; figures taken as printed come before all."""
    places: dict[str, tuple[str, str, str]] = {}
    inputs = (f for part in (*_DOMAIN_OF_TABLE, "7", "3") for f in rows_of(part))
    taken = (f for f in inputs if f.column in ("valid", "passed", "hours") or f.table == "7")
    everything = (f for part in PARTS for f in rows_of(part))
    for figure in (*(f for f in taken if f.row != TOTAL), *everything):
        places.setdefault(quantity_of(figure), (figure.table, figure.row, figure.column))
    return places


def check_of(figure: Figure, cell: Cell) -> str | None:
    """Name the kind of check that a comparison is; None if nothing was compared."""
    check = cell.check
    place = figure.table, figure.row, figure.column
    return REPEATED if check == DERIVED and _first_places()[quantity_of(figure)] != place else check
