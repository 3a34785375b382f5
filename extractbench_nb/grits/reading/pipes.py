"""Pipe tables of Markdown, and what looks nearly like one."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from html import unescape
from itertools import islice
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
_FENCES = ("```", "~~~")
_MARK = re.compile(
    r"\\(?P<escaped>[!-/:-@\[-`{-~])"
    r"|(?<!`)(?P<ticks>`++)(?P<code>[^`]++)(?P=ticks)(?!`)"
    r"|</?(?:(?P<block>br|div|hr|li|ol|p|ul)|a|abbr|b|big|cite|code|del|em|font|i|ins|kbd|mark|q|s"
    r"|samp|small|span|strike|strong|sub|sup|tt|u|var)(?:\s[^<>]*+|/)?>"
    r"|(?P<emphasis>\*++|_++)",
    re.IGNORECASE,
)


class _Found(NamedTuple):
    """A pipe table: its rows, how many of them are headers, its lines, what is odd about it."""

    rows: list[list[str]]
    headers: int
    lines: list[int]
    note: str


def looks_like_markdown(text: str) -> bool:
    """Whether a text holds a pipe table."""
    return bool(_found(text)[1])


def table_of_markdown(text: str, name: str, *, tidy: bool = False) -> Table:
    r"""Read the one pipe table in a Markdown text.

    Parameters
    ----------
    text : str
        A header row, a row of dashes, and rows until a line without a ``|``; after that line, rows
        as wide as the header. Other lines around the table and in it are passed over, and noted.
    name : str
        What errors call the table.
    tidy : bool, optional
        Whether texts are as they are shown: without the marks of emphasis around words, the ticks
        of code, and tags such as ``<b>`` and ``<sub>``; with what entities (``&lt;``) and escapes
        (``\\*``) stand for. White space is not collapsed here.

    Returns
    -------
    Table
        Texts are stripped, ``\|`` is a bar and ``<br>`` a space; other markup stays as it is,
        unless `tidy` is asked for.
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
    >>> table_of_markdown("| **CO<sub>2</sub>** |\n|---|\n| &lt; 5* |", "table", tidy=True).texts
    [['CO2'], ['< 5*']]
    """
    lines, tables, is_quoted = _found(text)
    if not tables:
        raise InputError(
            f"{name}: no pipe table in {one_line(text, 40)!r}; expected a header row such as "
            "| a | b |, then | --- | --- |"
        )
    if len(tables) > 1:
        raise InputError(f"{name} holds {len(tables)} tables; expected one")
    rows, headers, used, note = tables[0]
    left_out = _left_out(lines, used)
    notes = Notes(*filter(None, ("table in a quote" * is_quoted, note, *left_out)))
    if tidy:
        rows = [list(map(_shown, row)) for row in rows]
    return table_of_rows(rows, headers, notes, name)


def _left_out(lines: list[str], used: list[int]) -> Iterator[str]:
    """Say which words are not in the table, of those before it, in it and after it."""
    known, first, last = set(used), used[0], used[-1]
    within = [lines[n] for n in range(first, last) if n not in known]
    parts = (("before", lines[:first]), ("within", within), ("after", lines[last + 1 :]))
    for where, part in parts:
        words = " ".join(line.strip() for line in part if _has_words(line))
        if words:
            yield f"left out {where} the table: {one_line(words, 60)!r}"


def _has_words(line: str) -> bool:
    return any(map(str.isalnum, line)) and not line.lstrip().startswith(_FENCES)


def _found(text: str) -> tuple[list[str], list[_Found], bool]:
    """Return the lines, the tables of the first kind that there is, whether they are in a quote."""
    lines = _LINE_END.split(text)
    if not any("|" in line for line in lines):
        return lines, [], False
    plain = [_QUOTE.sub("", line, count=1) for line in lines]
    kinds: list[Callable[[list[str]], Iterator[_Found]]] = [_ruled, _without_header, _without_rule]
    for kind in kinds:
        for is_quoted, some in ((False, lines), (True, plain)):
            tables = list(kind(some))
            if tables:
                return some, tables, is_quoted
    return lines, [], False


def _ruled(lines: list[str]) -> Iterator[_Found]:
    found: list[tuple[int, int]] = []
    for rule in range(1, len(lines)):
        if (not found or rule > found[-1][1]) and _is_rule(lines, rule):
            found.append((rule, _end(lines, rule)))
    stops = [rule - 1 for rule, _ in found[1:]] + [len(lines)]
    for (rule, after), stop in zip(found, stops, strict=False):
        used = [*range(rule - 1, after), *_further(lines, rule - 1, range(after, stop))]
        rows = [_fields(lines[n]) for n in used if n != rule]
        columns, wanted = len(_fields(lines[rule])), len(rows[0])
        odd = f"row of dashes with {columns} columns below a header with {wanted}"
        yield _Found(rows, 1, used, odd if columns != wanted else "")


def _without_header(lines: list[str]) -> Iterator[_Found]:
    found: list[tuple[int, int]] = []
    for rule in range(len(lines) - 1):
        is_first = rule == 0 or "|" not in lines[rule - 1]
        is_after = not found or rule > found[-1][1]
        if is_after and is_first and "|" in lines[rule + 1] and _is_long_rule(lines[rule]):
            found.append((rule, _end(lines, rule)))
    stops = [rule for rule, _ in found[1:]] + [len(lines)]
    for (rule, after), stop in zip(found, stops, strict=False):
        used = [*range(rule, after), *_further(lines, rule + 1, range(after, stop))]
        rows = [_fields(lines[n]) for n in used if n != rule]
        yield _Found(rows, 0, used, "no header above the row of dashes")


def _further(lines: list[str], first: int, places: Iterable[int]) -> Iterator[int]:
    """Find rows of a table after a line that is none: they look and are as wide as its first."""
    is_barred, width = lines[first].lstrip().startswith("|"), len(_fields(lines[first]))
    for n in places:
        bare = lines[n].strip()
        if "|" not in bare or _is_long_rule(bare) or bare.startswith("|") != is_barred:
            continue
        is_sentence = not is_barred and bare.endswith((".", "!", "?", ":"))
        if len(_fields(bare)) == width and not is_sentence:
            yield n


def _without_rule(lines: list[str]) -> Iterator[_Found]:
    is_only = len(list(islice(filter(_has_words, lines), 2))) == 1
    for used in _groups(lines):
        rows = [_fields(lines[n]) for n in used]
        widths = {len(row) for row in rows[:2]}
        is_alone = len(rows) > 1 or _is_padded(lines[used[0]]) or is_only
        if is_alone and len(widths) == 1 and widths != {1}:
            yield _Found(rows, 1, used, "no row of dashes: the first row is taken for the header")


def _groups(lines: list[str]) -> Iterator[list[int]]:
    """Group the lines between bars that follow one another; empty lines may divide like ones."""
    group: list[int] = []
    for n, line in enumerate(lines):
        if not _is_barred(line):
            if line.strip() and group:
                yield group
                group = []
            continue
        if group and group[-1] < n - 1 and len(_fields(line)) != len(_fields(lines[group[0]])):
            yield group
            group = []
        group.append(n)
    if group:
        yield group


def _is_barred(line: str) -> bool:
    bare = line.strip()
    return len(bare) > 1 and bare[0] == bare[-1] == "|"


def _is_padded(line: str) -> bool:
    """Whether there is space within the outer bars, as it is written for people to read."""
    bare = line.strip()
    return bare[1].isspace() and bare[-2].isspace()


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


def _shown(text: str) -> str:
    """Resolve the markup within a cell."""
    pieces: list[str] = []
    opened: list[tuple[str, int]] = []  # marks of emphasis, and where in the pieces they are
    place = 0
    for found in _MARK.finditer(text):
        pieces.append(unescape(text[place : found.start()]))
        place = found.end()
        mark = found["emphasis"]
        if mark is None:
            pieces.append(found["escaped"] or found["code"] or " " * bool(found["block"]))
            continue
        if _may_close(text, found) and any(mark == known for known, _ in opened):
            while opened[-1][0] != mark:
                opened.pop()
            pieces[opened.pop()[1]] = mark = ""
        elif _may_open(text, found):
            opened = [(known, n) for known, n in opened if known != mark]
            opened.append((mark, len(pieces)))
        pieces.append(mark)
    pieces.append(unescape(text[place:]))
    return "".join(pieces).strip()


def _may_open(text: str, mark: re.Match[str]) -> bool:
    before, after = text[mark.start() - 1 : mark.start()], text[mark.end() : mark.end() + 1]
    return not before.isalnum() and bool(after.strip())


def _may_close(text: str, mark: re.Match[str]) -> bool:
    before, after = text[mark.start() - 1 : mark.start()], text[mark.end() : mark.end() + 1]
    return not after.isalnum() and bool(before.strip())
