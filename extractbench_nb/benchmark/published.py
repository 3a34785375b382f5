"""The published figures, read from the files in ``data/published``."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cache
from typing import Any, NamedTuple

from extractbench_nb.benchmark.display_names import SCHEMA_NAMES
from extractbench_nb.errors import InputError, nearest
from extractbench_nb.runs import shipped_rows

_TABLES = range(1, 14)

#: Parts of the paper and their files: tables, Figure 2's caption and the numbers of the text.
PARTS: Mapping[str, str] = {
    **{str(number): f"table_{number:02d}.csv" for number in _TABLES},
    "figure2": "figure_2.csv",
    "text": "text.csv",
}

#: What the paper calls the schemas of the released dataset.
DOMAIN_OF_SCHEMA = SCHEMA_NAMES


class Figure(NamedTuple):
    """One printed figure; the fields are the columns of the files."""

    #: 1 to 13, figure2 or text.
    table: str
    #: Domain, model, preset or kind of failure; an id in the text.
    row: str
    #: The row's name as printed; in the text, what is counted.
    label: str
    #: What the figure is; in the text, a quantity and its subject.
    column: str
    #: Percentages as 85.4; None for words.
    value: float | None
    unit: str
    #: Decimals printed; -3 for 25k.
    digits: int | None
    printed: str
    bold: bool
    #: Printed in red: nothing passed.
    red: bool
    #: Section, caption or footnote.
    where: str
    #: First place of the same quantity: table > row > column.
    repeats: str = ""


def part_name(part: object) -> str:
    """Return the name of a part of the paper as text, or raise `InputError`.

    Examples
    --------
    >>> part_name(5)
    '5'
    """
    if isinstance(part, (int, str)) and not isinstance(part, bool) and str(part) in PARTS:
        return str(part)
    known = "tables 1 to 13, 'figure2' and 'text'"
    hint = f"; {nearest(part, ('figure2', 'text'))}" if isinstance(part, str) else ""
    raise InputError(f"no table {part!r} in the paper: there are {known}{hint}")


@cache
def rows_of(part: str) -> tuple[Figure, ...]:
    """Return the figures of one part of the paper."""
    converters: dict[str, Callable[[str], Any]] = {
        "value": lambda text: float(text) if text else None,
        "digits": lambda text: int(text) if text else None,
        "bold": lambda text: text == "1",
        "red": lambda text: text == "1",
    }
    rows = shipped_rows(f"benchmark/data/published/{PARTS[part]}")
    return tuple(
        Figure(**{name: converters.get(name, str)(row[name]) for name in Figure._fields})
        for row in rows
    )
