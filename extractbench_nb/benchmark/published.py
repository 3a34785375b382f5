"""The published figures, read from the files in ``data/published``."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cache
from typing import Any, NamedTuple

import pandas as pd

from extractbench_nb._frames import Column, FrameSpec
from extractbench_nb.benchmark.statistics import shipped_rows
from extractbench_nb.display.names import SCHEMA_NAMES
from extractbench_nb.errors import InputError, nearest

_TABLES = range(1, 14)

#: Parts of the paper and their files: tables, Figure 2's caption and the numbers of the text.
PARTS: Mapping[str, str] = {
    **{str(number): f"table_{number:02d}.csv" for number in _TABLES},
    "figure2": "figure_2.csv",
    "text": "text.csv",
}

#: What the paper calls the schemas of the released dataset.
DOMAIN_OF_SCHEMA = SCHEMA_NAMES

FIGURE_COLUMNS = FrameSpec(
    "figures",
    "one row per printed figure, in the order of printing",
    (
        Column("table", "string", "where it is printed", "1 to 13, figure2, text"),
        Column("row", "string", "domain, model, preset or kind of failure; an id in the text"),
        Column("label", "string", "the row's name as printed; in the text, what is counted"),
        Column("column", "string", "what the figure is; in the text, a quantity and its subject"),
        Column("value", "Float64", "the number, percentages as 85.4; missing for words", "", True),
        Column("unit", "string", "unit of the value"),
        Column("digits", "Int64", "decimals printed; -3 for 25k", "-3 to 1", True),
        Column("printed", "string", "the figure as printed"),
        Column("bold", "bool", "printed in bold"),
        Column("red", "bool", "printed in red: nothing passed"),
        Column("where", "string", "section, caption or footnote"),
        Column("repeats", "string", "first place of the same quantity: table > row > column"),
    ),
)


class Figure(NamedTuple):
    """One printed figure; the fields are the columns of `FIGURE_COLUMNS`."""

    table: str
    row: str
    label: str
    column: str
    value: float | None
    unit: str
    digits: int | None
    printed: str
    bold: bool
    red: bool
    where: str
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
    rows = shipped_rows(f"data/published/{PARTS[part]}")
    return tuple(
        Figure(**{name: converters.get(name, str)(row[name]) for name in Figure._fields})
        for row in rows
    )


def figures(part: int | str | None = None) -> pd.DataFrame:
    """Return the printed figures of the paper, one per row.

    Notes
    -----
    Source: arXiv 2602.12247.

    Examples
    --------
    >>> frame = figures(2)
    >>> frame.loc[frame["row"] == "total", "printed"].tolist()
    ['35', '2,076', '12,867']
    """
    names = PARTS if part is None else (part_name(part),)
    return FIGURE_COLUMNS.from_rows(figure for name in names for figure in rows_of(name))
