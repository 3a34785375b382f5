"""Pipe tables of Markdown, and what looks nearly like one."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from typing import NamedTuple

from extractbench_nb._html import one_line
from extractbench_nb.errors import InputError
from extractbench_nb.grits.cells import Table
from extractbench_nb.grits.reading.mending import Notes, table_of_rows

__all__ = ["looks_like_markdown", "table_of_markdown"]

_LINE_END = re.compile(r"\r\n|\r|\n")
_BAR = re.compile(r"(?<!\\)\|")
_RULE = re.compile(r":?-+:?")
_LONG_RULE = re.compile(r":?-{2,}:?")
_BREAK = re.compile(r"<br\s*/?>", re.IGNORECASE)
_QUOTE = re.compile(r" {0,3}(?:> ?)+")


class _Found(NamedTuple):
    """A pipe table: its rows, how many of them are headers, what is odd about it."""

    rows: list[list[str]]
    headers: int
    note: str


def looks_like_markdown(text: str) -> bool:
    """Whether a text holds a pipe table."""
    return bool(_found(text)[0])


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
        Where there is no such table, one in a quote is read, one whose row of dashes does not fit
        the header, one without a header, and one without a row of dashes whose rows begin and end
        with a ``|``; with a note.

    Raises
    ------
    InputError
        There is no pipe table or more than one, or it has more than a million positions.

    Examples
    --------
    >>> table_of_markdown("| Year | Sales |\n|:--|--:|\n| 2020 | a\\|b |", "table").texts
    [['Year', 'Sales'], ['2020', 'a|b']]
    """
    tables, is_quoted = _found(text)
    if not tables:
        raise InputError(
            f"{name}: no pipe table in {one_line(text, 40)!r}; expected a header row such as "
            "| a | b |, then | --- | --- |"
        )
    if len(tables) > 1:
        raise InputError(f"{name} holds {len(tables)} tables; expected one")
    rows, headers, note = tables[0]
    notes = Notes(*filter(None, ("table in a quote" * is_quoted, note)))
    return table_of_rows(rows, headers, notes, name)


def _found(text: str) -> tuple[list[_Found], bool]:
    """Return the tables of the first kind that there is, and whether they are in a quote."""
    lines = _LINE_END.split(text)
    if not any("|" in line for line in lines):
        return [], False
    plain = [_QUOTE.sub("", line, count=1) for line in lines]
    kinds: list[Callable[[list[str]], Iterator[_Found]]] = [_ruled, _without_header, _without_rule]
    for kind in kinds:
        for is_quoted, some in ((False, lines), (True, plain)):
            tables = list(kind(some))
            if tables:
                return tables, is_quoted
    return [], False


def _ruled(lines: list[str]) -> Iterator[_Found]:
    after = 0
    for rule in range(1, len(lines)):
        if rule > after and _is_rule(lines, rule):
            after = _end(lines, rule)
            rows = [_fields(lines[n]) for n in range(rule - 1, after) if n != rule]
            columns, wanted = len(_fields(lines[rule])), len(rows[0])
            odd = f"row of dashes with {columns} columns below a header with {wanted}"
            yield _Found(rows, 1, odd if columns != wanted else "")


def _without_header(lines: list[str]) -> Iterator[_Found]:
    after = -1
    for rule in range(len(lines) - 1):
        is_first = rule == 0 or "|" not in lines[rule - 1]
        if rule > after and is_first and "|" in lines[rule + 1] and _is_long_rule(lines[rule]):
            after = _end(lines, rule)
            rows = [_fields(line) for line in lines[rule + 1 : after]]
            yield _Found(rows, 0, "no header above the row of dashes")


def _without_rule(lines: list[str]) -> Iterator[_Found]:
    rows: list[list[str]] = []
    for line in [*lines, ""]:
        bare = line.strip()
        if len(bare) > 1 and bare[0] == bare[-1] == "|":
            rows.append(_fields(bare))
            continue
        if len(rows) > 1 and len(rows[0]) == len(rows[1]) > 1:
            yield _Found(rows, 1, "no row of dashes: the first row is taken for the header")
        rows = []


def _is_rule(lines: list[str], number: int) -> bool:
    """Whether a line is the row of dashes below a header, of its width or plainly one anyway."""
    line, header = lines[number], lines[number - 1]
    if "|" not in header or not _is_drawn(line):
        return False
    dashes = _fields(line)
    if len(dashes) == len(_fields(header)):
        return all(_RULE.fullmatch(field) for field in dashes)
    return _is_long_rule(line)


def _is_drawn(line: str) -> bool:
    return "-" in line and not line.strip("-|: \t")


def _is_long_rule(line: str) -> bool:
    """Whether a line is a row of dashes whatever is above: bars, and two dashes in each field."""
    if "|" not in line or not _is_drawn(line):
        return False
    return all(_LONG_RULE.fullmatch(field) for field in _fields(line))


def _end(lines: list[str], start: int) -> int:
    return next((n for n in range(start + 1, len(lines)) if "|" not in lines[n]), len(lines))


def _fields(line: str) -> list[str]:
    fields = _BAR.split(line.strip())
    if len(fields) > 1 and not fields[0]:
        del fields[0]
    if len(fields) > 1 and not fields[-1]:
        del fields[-1]
    return [_BREAK.sub(" ", field.replace("\\|", "|")).strip() for field in fields]
