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
_TITLE = re.compile(r"\s*(?:#|\*\*)")
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
        What is left out and noted: lines of one field before the records where these agree without
        them, titles after ``#`` or ``**``, sentences; lines of one field after an empty line behind
        the records, and a sentence at their end. None where no CSV is seen.

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
    return max(found, key=lambda seen: _agreement(seen.text, seen.delimiter), default=None)


def _seen_line(line: str) -> SeenCsv | None:
    plain = _DIGIT_GROUPS.sub("", line)
    if not re.search(r"[\t|]|[,;](?! )", plain) or _is_sentence(line):
        return None
    delimiter = _delimiter(line)
    is_wordy = len(_WORD.findall(line)) > _FEW_WORDS * len(line.split(delimiter))
    is_prose = delimiter == "|" and is_wordy
    return None if delimiter == _NONE or is_prose else SeenCsv(delimiter, line, ())


def _seen_by(lines: list[str], text: str, delimiter: str) -> SeenCsv | None:
    first, stop = _outside(lines, delimiter)
    if (first, stop) != (0, len(lines)):
        text = "\n".join(lines[first:stop])
    share, _, count = _consistency(text, delimiter)
    if count < 2 or share <= 0.5 or _is_prose(lines[first:stop], delimiter):  # noqa: PLR2004
        return None
    parts = (("before", lines[:first]), ("after", lines[stop:]))
    notes = (
        f"left out {where} the records: {one_line(' '.join(filter(str.strip, part)).strip(), 60)!r}"
        for where, part in parts
        if any(part)
    )
    return SeenCsv(delimiter, text, tuple(notes))


def _outside(lines: list[str], delimiter: str) -> tuple[int, int]:
    """Find the lines that hold records: the first, and the one after the last."""
    usual = _consistency("\n".join(lines), delimiter)[1]
    first, stop = 0, _last(lines, delimiter)
    while first < stop and _is_before(lines[first], delimiter, usual):
        first += 1
    if first == stop:
        first, stop = 0, len(lines)
    is_whole = _consistency("\n".join(lines[first:stop]), delimiter)[0] == 1
    is_told = any(_is_sentence(line) or _TITLE.match(line) for line in lines[:first])
    return (first, stop) if is_whole or is_told else (0, stop)


def _last(lines: list[str], delimiter: str) -> int:
    """Find the line after the records: of the empty lines after which there are none, the first."""
    stop = len(lines)
    for n in reversed(range(len(lines))):
        if not lines[n].strip():
            stop = n
        elif not _is_after(lines[n], delimiter):
            break
    while stop > 0 and _is_sentence(lines[stop - 1]) and _is_after(lines[stop - 1], delimiter):
        if delimiter in lines[stop - 1]:
            break
        stop -= 1
    return stop


def _is_before(line: str, delimiter: str, usual: int) -> bool:
    """Whether a line is empty, or words or a title that are none of the records below it."""
    if line.count('"') % 2:
        return False
    if _TITLE.match(line) and len(line.split(delimiter)) != usual:
        return True
    if delimiter in line:
        return _is_sentence(line) and f"{delimiter} " in line
    return not line.strip() or line.rstrip().endswith(":") or len(_WORD.findall(line)) > 1


def _is_after(line: str, delimiter: str) -> bool:
    """Whether a line is none of the records above it: not if it is one bare word like "Total"."""
    if line.count('"') % 2:
        return False
    if delimiter in line:
        return _is_sentence(line) and f"{delimiter} " in line
    return not line.strip().isalpha()


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
    ends = sum(map(bool, map(_END_OF_SENTENCE.search, known)))
    if ends == len(known):
        return sum(len(line.split()) for line in known) >= _FEW_WORDS * len(known)
    words = sum(len(_WORD.findall(line)) for line in known) / len(known)
    return words >= (_FEW_WORDS if ends else _WORDY)


def table_of_csv(text: str, name: str, delimiter: str | None = None) -> Table:
    r"""Read CSV text; its first line is the header.

    Parameters
    ----------
    text : str
        Fields may be quoted, also after a space, and hold line ends then. A quote that holds line
        ends and never closes is read as a character, and noted. Empty lines are passed over.
    name : str
        What errors call the table.
    delimiter : str, optional
        By default that of comma, semicolon, tab and ``|`` by which most lines have the same number
        of fields, more than one, the comma only where no other does as well; if there is none, each
        line is one field.

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
    readable, swallowing = _readable(text, chosen)
    if swallowing:
        notes.add(f"quote that never closes, read as a character: {one_line(swallowing, 40)!r}")
    try:
        rows = list(_records(readable, chosen))
    except csv.Error as error:
        raise InputError(f"{name} is no CSV text that can be read: {error}") from None
    return table_of_rows(rows, 1, notes, name)


def _records(text: str, delimiter: str) -> Iterator[list[str]]:
    reader = csv.reader(StringIO(text, newline=""), delimiter=delimiter)
    return (record for record in reader if record)


def _readable(text: str, delimiter: str) -> tuple[str, str]:
    """Take spaces before quotes away, and mend a quote that never closes and swallows lines.

    Returns
    -------
    tuple of (str, str)
        The text, and the field that begins with such a quote, empty if there is none.
    """
    if '"' not in text:
        return text, ""
    mark, swallowing = re.escape(delimiter), ""

    def readable(found: re.Match[str]) -> str:
        nonlocal swallowing
        before, spaces, inside, closing = found.groups()
        if not closing and _LINE_END.search(inside.rstrip()):
            field = re.split(f"{mark}|[\r\n]", inside, maxsplit=1)[0]
            swallowing = f'"{field}'
            return before + f'"{spaces}{_doubled(swallowing)}"' + inside[len(field) :]
        is_field = text[found.end() : found.end() + 1] in (delimiter, "\r", "\n", "")
        return f'{before}"{inside}{closing}' if closing and is_field else found[0]

    field = rf'((?<![^\r\n])|{mark})( *+)"([^"]*+(?:""[^"]*+)*+)((?:" *+)?)'
    return re.sub(field, readable, text), swallowing


def _doubled(text: str) -> str:
    return text.replace('"', '""')


def _delimiter(text: str) -> str:
    """Find what divides most lines into the same number of fields."""
    best = max(_DELIMITERS, key=lambda one: _agreement(text, one))
    return best if _consistency(text, best)[0] else _NONE


def _agreement(text: str, delimiter: str) -> tuple[float, bool, int, int]:
    """Rank a delimiter: of equal shares, commas come after others that are not within quotes."""
    share, usual, count = _consistency(text, delimiter)
    bare = _QUOTED.sub('""', text)
    is_other = delimiter != "," and _consistency(bare, delimiter)[0] >= share > 0
    return share, is_other, usual, count


def _consistency(text: str, delimiter: str) -> tuple[float, int, int]:
    """Return the share of records with the usual number of fields, that number, and how many."""
    records = _records(_readable(text, delimiter)[0], delimiter)
    try:
        widths = Counter(map(len, islice(records, _LOOKED_AT)))
    except csv.Error:
        return 0.0, 0, 0
    count, usual = max(((count, width) for width, count in widths.items()), default=(0, 0))
    return (count / widths.total(), usual, count) if usual > 1 else (0.0, 0, 0)
