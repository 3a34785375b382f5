"""Tables in plain text: CSV with any of the usual delimiters, and pipe tables of Markdown."""

from __future__ import annotations

import csv
import re
from collections import Counter
from collections.abc import Iterator
from io import StringIO
from itertools import islice

from extractbench_nb._html import one_line
from extractbench_nb.errors import InputError
from extractbench_nb.grits.cells import Table
from extractbench_nb.grits.reading.mending import Notes, table_of_rows

__all__ = ["looks_like_csv", "looks_like_markdown", "table_of_csv", "table_of_markdown"]

_DELIMITERS = ",;\t|"
#: Stands for "no delimiter": a character that text does not hold.
_NONE = "\x1f"
#: Records that are looked at to find the delimiter.
_LOOKED_AT = 200

_LINE_END = re.compile(r"\r\n|\r|\n")
_BAR = re.compile(r"(?<!\\)\|")
_RULE = re.compile(r":?-+:?")
_BREAK = re.compile(r"<br\s*/?>", re.IGNORECASE)


def looks_like_csv(text: str) -> bool:
    """Whether a text has several lines, or one with delimiters that are not those of a sentence."""
    line, *more = _LINE_END.split(text.strip("\r\n"), maxsplit=1)
    return bool(more) or bool(re.search(r"[;\t|]|,(?! )", line))


def table_of_csv(text: str, name: str, delimiter: str | None = None) -> Table:
    r"""Read CSV text; its first line is the header.

    Parameters
    ----------
    text : str
        Fields may be quoted, and hold line ends then. Empty lines are passed over.
    name : str
        What errors call the table.
    delimiter : str, optional
        By default that of comma, semicolon, tab and ``|`` by which most lines have the same number
        of fields, more than one; if there is none, each line is one field.

    Returns
    -------
    Table
        As wide as the longest line; what shorter ones lack is filled and noted.

    Raises
    ------
    InputError
        The text cannot be read as CSV, or has more than a million positions.

    Examples
    --------
    >>> table_of_csv('Year;Sales\n2020;"1,5"\n2021', "table").texts
    [['Year', 'Sales'], ['2020', '1,5'], ['2021', '']]
    """
    chosen, notes = delimiter or _delimiter(text), Notes()
    if chosen == _NONE:
        notes.add("no delimiter found: each line is one field")
    try:
        rows = list(_records(text, chosen))
    except csv.Error as error:
        raise InputError(f"{name} is no CSV text that can be read: {error}") from None
    return table_of_rows(rows, 1, notes, name)


def _records(text: str, delimiter: str) -> Iterator[list[str]]:
    reader = csv.reader(StringIO(text, newline=""), delimiter=delimiter)
    return (record for record in reader if record)


def _delimiter(text: str) -> str:
    """Find what divides most lines into the same number of fields; the first of equals."""
    best = max(_DELIMITERS, key=lambda one: _consistency(text, one))
    return best if _consistency(text, best)[0] else _NONE


def _consistency(text: str, delimiter: str) -> tuple[float, int]:
    """Return the share of records that have the usual number of fields, and that number."""
    try:
        widths = Counter(map(len, islice(_records(text, delimiter), _LOOKED_AT)))
    except csv.Error:
        return 0.0, 0
    count, usual = max(((count, width) for width, count in widths.items()), default=(0, 0))
    return (count / widths.total(), usual) if usual > 1 else (0.0, 0)


def looks_like_markdown(text: str) -> bool:
    """Whether a text holds a pipe table."""
    lines = _LINE_END.split(text)
    return any(_is_rule(lines, n) for n in range(1, len(lines)))


def table_of_markdown(text: str, name: str) -> Table:
    r"""Read the one pipe table in a Markdown text.

    Parameters
    ----------
    text : str
        A header row, a row of dashes, and rows until a line without a ``|``. Lines around the table
        are passed over.
    name : str
        What errors call the table.

    Returns
    -------
    Table
        Texts are stripped, ``\|`` is a bar and ``<br>`` a space; other markup stays as it is.

    Raises
    ------
    InputError
        There is no pipe table or more than one, or it has more than a million positions.

    Examples
    --------
    >>> table_of_markdown("| Year | Sales |\n|:--|--:|\n| 2020 | a\\|b |", "table").texts
    [['Year', 'Sales'], ['2020', 'a|b']]
    """
    lines = _LINE_END.split(text)
    tables, after = [], 0
    for rule in range(1, len(lines)):
        if rule > after and _is_rule(lines, rule):
            after = _end(lines, rule)
            tables.append([_fields(lines[n]) for n in range(rule - 1, after) if n != rule])
    if not tables:
        raise InputError(
            f"{name}: no pipe table in {one_line(text, 40)!r}; expected a header row such as "
            "| a | b |, then | --- | --- |"
        )
    if len(tables) > 1:
        raise InputError(f"{name} holds {len(tables)} tables; expected one")
    return table_of_rows(tables[0], 1, Notes(), name)


def _is_rule(lines: list[str], number: int) -> bool:
    """Whether a line is the row of dashes below a header of the same width."""
    if "-" not in lines[number] or "|" not in lines[number - 1]:
        return False
    dashes = _fields(lines[number])
    fits = len(dashes) == len(_fields(lines[number - 1]))
    return fits and all(_RULE.fullmatch(field) for field in dashes)


def _end(lines: list[str], start: int) -> int:
    return next((n for n in range(start + 1, len(lines)) if "|" not in lines[n]), len(lines))


def _fields(line: str) -> list[str]:
    fields = _BAR.split(line.strip())
    if len(fields) > 1 and not fields[0]:
        del fields[0]
    if len(fields) > 1 and not fields[-1]:
        del fields[-1]
    return [_BREAK.sub(" ", field.replace("\\|", "|")).strip() for field in fields]
