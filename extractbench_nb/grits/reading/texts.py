"""Tables in CSV text with any of the usual delimiters."""

from __future__ import annotations

import csv
import re
from collections import Counter
from collections.abc import Iterator
from io import StringIO
from itertools import islice
from typing import NamedTuple

from extractbench_nb._html import one_line
from extractbench_nb.errors import InputError
from extractbench_nb.grits.cells import Table
from extractbench_nb.grits.reading.mending import Notes, table_of_rows

__all__ = ["seen_csv", "table_of_csv"]

_DELIMITERS = ",;\t|"
#: Stands for "no delimiter": a character that text does not hold.
_NONE = "\x1f"
#: Records that are looked at to find the delimiter.
_LOOKED_AT = 200

_LINE_END = re.compile(r"\r\n|\r|\n")
_DIGIT_GROUPS = re.compile(r"(?<=\d),(?=\d{3}(?!\d))")
_QUOTED = re.compile('"[^"]*"')
_WORD = re.compile(r"[^\W\d_]{2,}")
_NUMBER = re.compile(r"[-+(]?\W?\s?\d[\d.,\s]*\W?\)?")
_BULLET = re.compile(r"\s*(?:[-*\u2022]|\d+[.)])\s")
_END_OF_SENTENCE = re.compile(r"[.!?:\u2026][\"')\]*_]*\s*\Z")
#: Words in a line, on average, from which on commas with spaces are taken for those of sentences;
#: fewer are enough where a line ends as sentences do.
_WORDY, _FEW_WORDS = 5, 3
#: The share of fields that are numbers beyond which text is no prose.
_NUMERIC = 0.25


class SeenCsv(NamedTuple):
    """CSV that is seen in a text: its delimiter, the lines that hold it, what was left out."""

    delimiter: str
    text: str
    notes: tuple[str, ...]


def seen_csv(text: str) -> SeenCsv | None:
    r"""See whether a text is CSV.

    Parameters
    ----------
    text : str
        Any text. One line will do if it has delimiters that are not those of a sentence. Of
        several, two records at least must have the same number of fields, more than one, and more
        than half of all records that number; and they must not read like sentences.

    Returns
    -------
    SeenCsv or None
        Lines of one field before the records, and after an empty line behind them, are left out
        where the records agree without them, and noted. None where no CSV is seen.

    Examples
    --------
    >>> seen_csv("Here it is:\nYear,Sales\n2020,1.5").notes
    ("left out before the records: 'Here it is:'",)
    >>> seen_csv("Sorry, I could not find\nany table in this document.")
    """
    text = text.strip("\r\n")
    lines = _LINE_END.split(text)
    if len(lines) == 1:
        return _seen_line(lines[0])
    found = [seen for one in _DELIMITERS if (seen := _seen_by(lines, text, one)) is not None]
    return max(found, key=lambda seen: _consistency(seen.text, seen.delimiter), default=None)


def _seen_line(line: str) -> SeenCsv | None:
    plain = _DIGIT_GROUPS.sub("", line)
    if not re.search(r"[\t|]|[,;](?! )", plain) or _is_sentence(line):
        return None
    delimiter = _delimiter(line)
    return None if delimiter == _NONE else SeenCsv(delimiter, line, ())


def _seen_by(lines: list[str], text: str, delimiter: str) -> SeenCsv | None:
    first, stop = _outside(lines, delimiter)
    if (first, stop) != (0, len(lines)):
        text = "\n".join(lines[first:stop])
    share, _, count = _consistency(text, delimiter)
    if count < 2 or share <= 0.5 or _is_prose(lines[first:stop], delimiter):  # noqa: PLR2004
        return None
    parts = (("before", lines[:first]), ("after", lines[stop:]))
    notes = (
        f"left out {where} the records: {one_line(' '.join(part).strip(), 60)!r}"
        for where, part in parts
        if any(part)
    )
    return SeenCsv(delimiter, text, tuple(notes))


def _outside(lines: list[str], delimiter: str) -> tuple[int, int]:
    """Find the lines that hold records: the first, and the one after the last."""
    first, stop = 0, len(lines)
    while first < stop and _is_outside(lines[first], delimiter):
        first += 1
    last = max((n for n, line in enumerate(lines) if not line.strip()), default=0)
    if last > first and all(_is_outside(line, delimiter) for line in lines[last:]):
        stop = last
    is_whole = _consistency("\n".join(lines[first:stop]), delimiter)[0] == 1
    return (first, stop) if is_whole or any(map(_is_sentence, lines[:first])) else (0, stop)


def _is_outside(line: str, delimiter: str) -> bool:
    """Whether a line is empty, or words that are none of the records beside it."""
    if line.count('"') % 2:
        return False
    if delimiter in line:
        return _is_sentence(line) and f"{delimiter} " in line
    return not line.strip() or line.rstrip().endswith(":") or len(_WORD.findall(line)) > 1


def _is_sentence(line: str) -> bool:
    """Whether a line has some words, and ends as sentences do."""
    return len(_WORD.findall(line)) >= _FEW_WORDS and bool(_END_OF_SENTENCE.search(line))


def _is_prose(lines: list[str], delimiter: str) -> bool:
    """Whether lines read like sentences or a list, and their delimiters like those of sentences."""
    if delimiter in "\t|":
        return False
    looked_at = _QUOTED.sub("", "\n".join(lines[:_LOOKED_AT])).split("\n")
    known = [_DIGIT_GROUPS.sub("", line) for line in looked_at if line.strip()]
    marks = [mark for line in known for mark in re.findall(f"{delimiter}.?", line)]
    if not marks or sum(map(bool, map(_BULLET.match, known))) * 2 > len(known):
        return True
    if sum(mark.strip() == delimiter for mark in marks) * 2 <= len(marks):
        return False
    fields = [field.strip() for line in known[1:] for field in line.split(delimiter)]
    if sum(map(bool, map(_NUMBER.fullmatch, fields))) > _NUMERIC * len(fields):
        return False
    words = sum(len(_WORD.findall(line)) for line in known) / len(known)
    return words >= (_FEW_WORDS if any(map(_END_OF_SENTENCE.search, known)) else _WORDY)


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


def _consistency(text: str, delimiter: str) -> tuple[float, int, int]:
    """Return the share of records with the usual number of fields, that number, and how many."""
    try:
        widths = Counter(map(len, islice(_records(text, delimiter), _LOOKED_AT)))
    except csv.Error:
        return 0.0, 0, 0
    count, usual = max(((count, width) for width, count in widths.items()), default=(0, 0))
    return (count / widths.total(), usual, count) if usual > 1 else (0.0, 0, 0)
