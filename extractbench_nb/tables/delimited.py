"""Tables in CSV text and in Markdown."""

from __future__ import annotations

import csv
import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from html import unescape
from io import StringIO
from itertools import islice
from typing import NamedTuple

from extractbench_nb.display.html import one_line
from extractbench_nb.errors import InputError
from extractbench_nb.tables.cells import Table
from extractbench_nb.tables.html_reading import Notes, table_of_rows

__all__ = ["looks_like_markdown", "seen_csv", "table_of_csv", "table_of_markdown"]


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
    """Take spaces before quotes away, and mend a quote that never closes and swallows lines."""
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
