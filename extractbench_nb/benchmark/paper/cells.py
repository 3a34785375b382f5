"""One recomputed cell, and how a printed figure is looked up."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from types import MappingProxyType
from typing import NamedTuple, TypeAlias

from extractbench_nb.benchmark.published import Figure, part_name, rows_of

__all__ = ["Cell", "Cells", "given", "printed", "ratio", "said", "value_of"]


class Cell(NamedTuple):
    """A recomputed figure.

    Attributes
    ----------
    value : float, str or None
        The figure; None where it cannot be recomputed.
    source : str
        What it was computed from.
    note : str
        Why it may differ from the printed one, or what is missing.
    given : bool
        Whether the figure is the printed one: data of its own, which nothing released gives.
    """

    value: float | str | None
    source: str
    note: str = ""
    given: bool = False


#: Cells by row and column.
Cells: TypeAlias = dict[tuple[str, str], Cell]


@cache
def _by_cell(part: str) -> Mapping[tuple[str, str], Figure]:
    return MappingProxyType({(f.row, f.column): f for f in rows_of(part)})


def printed(part: int | str, row: str, column: str) -> Figure:
    """Return a printed figure by its table, row and column."""
    return _by_cell(part_name(part))[row, column]


def value_of(part: int | str, row: str, column: str) -> float:
    """Return a printed number by its table, row and column."""
    value = printed(part, row, column).value
    if value is None:
        raise TypeError(f"table {part}, {row}, {column}: words, not a number")
    return value


def given(part: int | str, row: str, column: str, missing: str) -> Cell:
    """Take a printed number over as data, and say what its own source would be."""
    return Cell(value_of(part, row, column), f"Table {part}, as printed", missing, given=True)


def said(quantity: str, place: str = "") -> Figure:
    """Return the first number that the text gives for a quantity, in a section if one is named."""
    found = (f for f in rows_of("text") if f.column == quantity and f.where.startswith(place))
    return next(found)


def ratio(part: float, whole: float) -> float:
    """Return a share in percent."""
    return 100 * part / whole
