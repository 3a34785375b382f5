"""A comparison as rows of text, and these as Markdown and LaTeX."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import pandas as pd

from extractbench_nb._html import one_line
from extractbench_nb.errors import InputError, nearest

if TYPE_CHECKING:
    from extractbench_nb.stats.comparison import Comparison

__all__ = [
    "TextTable",
    "latex",
    "markdown",
    "number",
    "plain",
    "ranking",
    "text_table",
    "with_range",
]

_TABLES = ("scores", "differences", "domains", "domain_differences")
_MOST_DIGITS = 15  # what a float holds
_MARKED = re.compile(r"([\\`*_{}\[\]<>|#~&!])")


class TextTable(NamedTuple):
    """Heads and rows; the first `names` columns hold names, the others numbers."""

    heads: list[str]
    rows: list[list[str]]
    names: int


def number(value: Any, digits: int = 3, *, sign: bool = False) -> str:
    """Write a number, ``n/a`` where it is missing."""
    return "n/a" if pd.isna(value) else f"{value:{'+' if sign else ''}.{digits}f}"


def with_range(value: Any, low: Any, high: Any, digits: int = 3, *, sign: bool = False) -> str:
    """Write a number with its interval, ``0.812 [0.790, 0.833]``."""
    ends = ", ".join(number(end, digits, sign=sign) for end in (low, high))
    ends = "n/a" if pd.isna(low) else ends
    return f"{number(value, digits, sign=sign)} [{ends}]"


def plain(text: object, limit: int = 80) -> str:
    """Return a name on one line, without control characters, cut to `limit` characters."""
    return one_line(str(text), limit)


def ranking(comparison: Comparison) -> list[str]:
    """Return the groups, the highest mean of the first measure first."""
    scores = comparison._scores
    first = scores[scores["measure"] == comparison.measures[0]]
    ranked = first.sort_values("mean", ascending=False, kind="stable")
    return [str(name) for name in ranked["group"]]


def text_table(comparison: Comparison, table: str, digits: int) -> TextTable:
    """Return one frame as text.

    Parameters
    ----------
    comparison : Comparison
        Whose frames.
    table : str
        Which one.
    digits : int
        Digits after the point, 0 to 15.

    Returns
    -------
    TextTable
        Means with intervals, measures as columns; differences one row a pair and measure.

    Raises
    ------
    InputError
        There is no such table, or `digits` is out of range.
    """
    if table not in _TABLES:
        raise InputError(f"there is no table {table!r}; {nearest(table, _TABLES)}")
    if not 0 <= digits <= _MOST_DIGITS:
        raise InputError(f"digits={digits!r}; it is a whole number from 0 to {_MOST_DIGITS}")
    frame: pd.DataFrame = getattr(comparison, table)
    keys = ["domain"] if table.startswith("domain") else []
    if table in ("scores", "domains"):
        return _score_table(frame, comparison, keys, digits)
    return _difference_table(frame, keys, digits)


def _score_table(
    frame: pd.DataFrame, comparison: Comparison, keys: list[str], digits: int
) -> TextTable:
    place = {name: i for i, name in enumerate(ranking(comparison))}
    frame = frame.assign(place=[place[name] for name in frame["group"]])
    cells: dict[tuple[Any, ...], dict[str, str]] = {}
    for row in frame.sort_values([*keys, "place"], kind="stable").to_dict("records"):
        names = (*(row[key] for key in keys), row["group"], row["documents"])
        text = with_range(row["mean"], row["low"], row["high"], digits)
        cells.setdefault(names, {})[row["measure"]] = text
    rows = [
        [*map(plain, names), *(found[m] for m in comparison.measures)]
        for names, found in cells.items()
    ]
    return TextTable(
        [*keys, "group", "documents", *map(plain, comparison.measures)], rows, len(keys) + 1
    )


def _difference_table(frame: pd.DataFrame, keys: list[str], digits: int) -> TextTable:
    heads = [*keys, "a", "b", "measure", "documents", "b - a", "p (Holm)"]
    rows = [
        [
            *(plain(row[name]) for name in [*keys, "a", "b", "measure", "documents"]),
            with_range(row["b_minus_a"], row["low"], row["high"], digits, sign=True),
            number(row["p_holm"], max(3, digits)),
        ]
        for row in frame.to_dict("records")
    ]
    return TextTable(heads, rows, len(keys) + 3)


def markdown(comparison: Comparison, table: str, digits: int) -> str:
    """Write one frame of a comparison as a Markdown table."""
    heads, rows, names = text_table(comparison, table, digits)
    lines = [
        _line([_MARKED.sub(r"\\\1", head) for head in heads]),
        _line(["---"] * names + ["---:"] * (len(heads) - names)),
    ]
    lines += [
        _line([*(_MARKED.sub(r"\\\1", c) for c in row[:names]), *row[names:]]) for row in rows
    ]
    return "\n".join(lines) + "\n"


def _line(cells: Sequence[str]) -> str:
    return "| " + " | ".join(cells) + " |"


def latex(comparison: Comparison, table: str, digits: int) -> str:
    """Write one frame of a comparison as a LaTeX tabular."""
    heads, rows, names = text_table(comparison, table, digits)
    style = pd.DataFrame(rows, columns=heads).style.hide(axis="index")
    style = style.format(escape="latex").format_index(escape="latex", axis="columns")
    layout = "l" * names + "r" * (len(heads) - names)
    return str(style.to_latex(hrules=True, column_format=layout))
