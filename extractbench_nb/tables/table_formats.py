"""Tables in HTML, CSV and Markdown texts."""

from __future__ import annotations

import csv
import re
from bisect import bisect_right
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from html import unescape
from io import StringIO
from itertools import groupby, islice
from typing import Any, NamedTuple, TypeAlias
from xml.etree import ElementTree as ET

import numpy as np

from extractbench_nb.errors import InputError, needs
from extractbench_nb.support.wording import one_line, plural
from extractbench_nb.tables.cells import Cell, Indices, Table, covered_grid, leading

#: Largest number of grid positions of a table; more is taken for a mistake.
MOST_POSITIONS = 1_000_000
_MOST_NOTES = 20


def check_size(rows: int, columns: int, name: str) -> None:
    """Raise an `InputError` for a table that is larger than any on a page."""
    if rows * columns > MOST_POSITIONS:
        raise InputError(
            f"{name} has {rows:,} rows x {columns:,} columns; "
            f"expected at most {MOST_POSITIONS:,} positions"
        )


def left_out(where: str, what: str, text: str) -> tuple[str, ...]:
    """Return a note on the text before or after what was read; none if there is none."""
    bare = text.strip()
    return (f"left out {where} the {what}: {one_line(bare, 60)!r}",) if bare else ()


def table_of_rows(rows: Sequence[Sequence[str]], name: str, notes: Sequence[str] = ()) -> Table:
    """Make a table of texts, of which the first row is the header; rows may differ in length."""
    check_size(len(rows), max(map(len, rows), default=0), name)
    cells = (
        Cell((r,), (c,), text, None, r == 0)
        for r, row in enumerate(rows)
        for c, text in enumerate(row)
    )
    return mended(cells, name, notes)


def mended(cells: Iterable[Cell], name: str, notes: Sequence[str] = ()) -> Table:
    """Make a table of cells; a position without one gets an empty cell.

    At most 20 notes on repairs are kept, and the count of the others.
    """
    all_cells, notes = list(cells), list(notes)
    if not all_cells:
        return Table((), np.zeros((1, 0), dtype=np.intp), tuple(notes))
    shape = (max(c.rows[-1] for c in all_cells) + 1, max(c.columns[-1] for c in all_cells) + 1)
    check_size(*shape, name)
    grid, overlapping = covered_grid(all_cells, shape)
    notes += [
        f"row {cell.rows[0]}, column {cell.columns[0]}: the cell overlaps an earlier one, which it "
        "replaces there"
        for cell in overlapping
    ]
    all_cells += _filled(all_cells, grid, notes)
    order = sorted(
        range(len(all_cells)), key=lambda n: (all_cells[n].rows[0], all_cells[n].columns[0])
    )
    rank = np.empty(len(order), dtype=np.intp)
    rank[order] = np.arange(len(order))
    if len(notes) > _MOST_NOTES:
        notes[_MOST_NOTES:] = [f"and {len(notes) - _MOST_NOTES} more"]
    return Table(tuple(all_cells[n] for n in order), rank[grid], tuple(notes))


def _filled(cells: list[Cell], grid: Indices, notes: list[str]) -> list[Cell]:
    """Return an empty cell for each hole; a header cell in a row of header cells."""
    added: list[Cell] = []
    for row in np.flatnonzero((grid < 0).any(axis=1)).tolist():
        holes = np.flatnonzero(grid[row] < 0).tolist()
        present = set(grid[row].tolist()) - {-1}
        is_header = bool(present) and all(cells[n].is_header for n in present)
        first = len(cells) + len(added)
        grid[row, holes] = np.arange(first, first + len(holes))
        added += [Cell((row,), (column,), "", None, is_header) for column in holes]
        notes.append(f"row {row}: {plural(len(holes), 'position')} without a cell, filled")
    return added


#: Largest spans of the HTML standard, to which larger ones are clipped.
_MOST = {"colspan": 1000, "rowspan": 65534}
_ROW_GROUPS = ("thead", "tbody", "tfoot")
_UNSEEN = ("script", "style", "template")
#: Elements that begin and end a piece of text; all others are inline.
_BLOCKS = frozenset(
    "address article aside blockquote body br caption center dd details div dl dt fieldset "
    "figcaption figure footer form h1 h2 h3 h4 h5 h6 header hr html legend li main nav ol option p "
    "pre section select summary table tbody td tfoot th thead tr ul".split()
)
#: Maximum number of characters in all cells; a cell's text includes that of cells within it.
_MOST_TEXT = 50_000_000

_PREFIX = r"<(?:[a-z][\w.-]*:)?"
_TABLE_TAG = re.compile(_PREFIX + r"(?:table|tr)[\s/>]", re.IGNORECASE)
_CELL_TAG = re.compile(_PREFIX + r"(?:thead|tbody|tfoot|td|th)[\s/>]", re.IGNORECASE)
_BEGIN = re.compile(
    r"\s*+(?:<!doctype|<\?xml|"
    + _PREFIX
    + r"(?:table|thead|tbody|tfoot|tr|td|th|caption|html|body|div|p)[\s/>])",
    re.IGNORECASE,
)
#: A tag in backticks, as in prose.
_CODE = re.compile(r"`<[^`\n]{1,200}`")
_TABLE_BEGIN = re.compile(_PREFIX + r"table[\s/>]", re.IGNORECASE)
_ROW_BEGIN = re.compile(_PREFIX + r"(?:thead|tbody|tfoot|tr|td|th|caption)[\s/>]", re.IGNORECASE)
_TABLE_END = re.compile(r"</(?:[a-z][\w.-]*:)?table\s*+>", re.IGNORECASE)
_NUMBER = re.compile(r"[ \t\n\f\r]*\+?([0-9]+)")
_UNFIT = re.compile("[\0\ud800-\udfff]")


def begins_as_html(text: str) -> bool:
    """Whether a text begins with a tag of a table, or one that may contain a table."""
    return _BEGIN.match(text) is not None


def looks_like_html(text: str) -> bool:
    """Whether a text has a tag of tables or rows, or begins with a tag of cells."""
    return bool(_TABLE_TAG.search(_without_code(text)) or _CELL_TAG.match(text.lstrip()))


def has_cell_tag(text: str) -> bool:
    """Whether a text has a tag of cells or of groups of rows, but not in backticks."""
    return _CELL_TAG.search(_without_code(text)) is not None


def _without_code(text: str) -> str:
    return _CODE.sub(lambda code: " " * len(code[0]), text)


def table_of_html(text: str, name: str, *, tidy: bool = False) -> Table:
    """Read the one table in an HTML text.

    Well-formed XML is read like ``html_to_cells`` in the code published with Smock, Pesala and
    Abraham (2021): spans may reach beyond the end of a row group, rows below the last ``tr`` are
    added if cells cover them completely, and the cells of a table within a cell count as cells of
    the outer table. Unlike there, the texts of scripts, styles and templates are left out. If that
    code fails or finds no cell, a lenient parser is used, and spans follow the HTML standard.
    """
    parsed = _strictly(text, tidy)
    if parsed is None:
        part, note = _part(text)
        parsed = (_strictly(part, tidy) if part != text else None) or _leniently(part, name, tidy)
        if note:
            parsed.notes.append(note)
    if not (parsed.cells or parsed.tables or parsed.groups):
        raise InputError(
            f"{name}: no table in {one_line(text, 40)!r}; expected HTML with table, or tr and td"
        )
    if parsed.tables > 1:
        raise InputError(f"{name} holds {parsed.tables} tables; expected one")
    if parsed.nested:
        parsed.notes.append(
            "tables within cells: their cells are taken for cells of the outer table"
        )
    texts = list(_texts(parsed, name))
    cells = (
        Cell(rows, columns, cell_text, None, cell.is_header)
        for cell, cell_text, (rows, columns) in zip(
            parsed.cells, texts, _placed(parsed, name), strict=True
        )
    )
    return mended(cells, name, parsed.notes)


def _part(text: str) -> tuple[str, str]:
    """Return the part of a text that holds the table, and a note if the rest has cells."""
    plain = _without_code(text)
    begin = _TABLE_BEGIN.search(plain) or _ROW_BEGIN.search(plain)
    start = begin.start() if begin else 0
    ends = [end.end() for end in _TABLE_END.finditer(plain, start + 1)]
    stop = ends[-1] if ends else len(text)
    is_lost = _CELL_TAG.search(plain[:start]) or _CELL_TAG.search(plain[stop:])
    return text[start:stop], "tags of cells outside of the table, left out" if is_lost else ""


def tables_in(text: str) -> list[str]:
    """Divide a text with several HTML or Markdown tables; a text with one or none is left whole."""
    plain, spans, depth, start = _without_code(text), [], 0, 0
    tags = [(m.start(), 1, m.start()) for m in _TABLE_BEGIN.finditer(plain)]
    tags += [(m.start(), -1, m.end()) for m in _TABLE_END.finditer(plain)]
    for _, step, place in sorted(tags):
        start = place if depth == 0 and step > 0 else start
        depth = max(0, depth + step)
        if depth == 0 and step < 0:
            spans.append(text[start:place])
    if not spans:
        lines, tables = _pipe_tables(text)
        spans = ["\n".join(lines[table.lines[0] : table.lines[-1] + 1]) for table in tables]
    return spans if len(spans) > 1 else [text]


def _strictly(text: str, tidy: bool) -> _Parsed | None:
    """Read well-formed XML; return None if it is not well-formed or has no cell."""
    if "<!ENTITY" in text:
        return None
    found = _Parsed(tidy)
    parser = ET.XMLParser(target=found)  # noqa: S314 - no entity can be declared
    try:
        parser.feed(text)
        parser.close()
    except (ET.ParseError, ValueError):  # a lone surrogate is a ValueError
        return None
    return found if found.cells else None


def _leniently(text: str, name: str, tidy: bool) -> _Parsed:
    etree = needs("lxml.etree", "tables")

    found = _Parsed(tidy, lenient=True)
    target: Any = found  # it takes no comments, which is allowed
    parser = etree.HTMLParser(target=target, encoding="utf-8", huge_tree=True)
    fit, unfit = _UNFIT.subn("\ufffd", text)
    if unfit:
        found.notes.append(f"{unfit} characters that HTML cannot hold, replaced by U+FFFD")
    try:
        parser.feed(fit.encode())
        parser.close()
    except etree.LxmlError as error:
        raise InputError(f"{name} is HTML that cannot be read: {error}") from None
    return found


@dataclass(slots=True)
class _Open:
    """A parsed cell: its row, its spans as written, and where its text begins and ends."""

    row: int
    spans: dict[str, str]
    is_header: bool
    first: int
    last: int = 0


class _Parsed:
    """The target of a parser: collects cells, pieces of text, and the row group of each row."""

    def __init__(self, tidy: bool, *, lenient: bool = False) -> None:
        self.tidy = tidy
        self._lenient = lenient  # names with any prefix
        self.cells: list[_Open] = []
        self.pieces: list[str] = []
        self.groups: list[int] = []
        self.notes: list[str] = []
        self.tables = self.nested = 0
        self._group = self._depth = self._unseen = 0
        self._piece: list[str] = []
        self._elements: list[tuple[str, bool, _Open | None]] = []

    def start(self, tag: str, attributes: Mapping[str, str]) -> None:
        """Handle the start of an element."""
        # the published reader sees no tag in capitals; a namespace is for the lenient parser
        name = tag.rpartition(":")[2].lower() if self._lenient else tag.lower()
        self._end_piece(name)
        in_header = bool(self._elements) and self._elements[-1][1]
        cell = None
        if name == "table":
            self.nested += self._depth > 0
            self.tables += self._depth == 0
            self._depth += 1
        elif name in _ROW_GROUPS:
            self._group += 1
        elif name == "tr":
            self.groups.append(self._group)
        elif name in ("td", "th"):
            if not self.groups:
                self.groups.append(self._group)
                self.notes.append("row 0: cells outside of any row, given one")
            lower = {key.lower(): value for key, value in attributes.items()}
            spans = {key: lower[key] for key in _MOST if key in lower}
            is_header = in_header or name == "th"
            cell = _Open(len(self.groups) - 1, spans, is_header, len(self.pieces))
            self.cells.append(cell)
        self._unseen += name in _UNSEEN
        self._elements.append((name, in_header or name in ("th", "thead"), cell))

    def end(self, _tag: str) -> None:
        """Handle the end of an element."""
        name, _, cell = self._elements[-1]
        self._end_piece(name)
        self._elements.pop()
        self._unseen -= name in _UNSEEN
        if cell is not None:
            cell.last = len(self.pieces)
        self._group += name in _ROW_GROUPS
        self._depth -= name == "table"

    def data(self, text: str) -> None:
        """Handle text, or a part of it."""
        self._piece.append(text)

    def close(self) -> None:
        """Handle the end of the document."""

    def _end_piece(self, name: str) -> None:
        """End a piece of text before the start or the end of an element."""
        piece = "".join(self._piece)
        self._piece.clear()
        if piece and not self._unseen:
            self.pieces.append(piece)
        if self.tidy and name in _BLOCKS:
            self.pieces.append(" ")


def _texts(found: _Parsed, name: str) -> Iterator[str]:
    left, between = _MOST_TEXT, "" if found.tidy else " "
    for cell in found.cells:
        left -= cell.last - cell.first
        text = between.join(found.pieces[cell.first : cell.last]) if left > 0 else ""
        left -= len(text)
        if left < 0:
            raise InputError(
                f"{name}: cells within cells, with more than {_MOST_TEXT:,} characters in all"
            )
        yield text


_Lines: TypeAlias = tuple[int, ...]


def _placed(found: _Parsed, name: str) -> list[tuple[_Lines, _Lines]]:
    """Return the rows and columns of each cell."""
    starts, ends = [], list[int]()  # of each cell; of each column, the first row that is free
    row, column, groups = -1, 0, found.groups
    for cell in found.cells:
        if cell.row != row:
            row, column = cell.row, 0
        while column < len(ends) and ends[column] > row:
            column += 1
        stop = column + _span(cell, "colspan", column, found.notes)
        height = _span(cell, "rowspan", column, found.notes)
        end = row + height
        if height == 0:
            end = bisect_right(groups, groups[row])
        elif height == _MOST["rowspan"]:
            end = len(groups)
        ends += [0] * (stop - len(ends))
        ends[column:stop] = [max(other, end) for other in ends[column:stop]]
        check_size(row + 1, len(ends), name)
        starts.append((column, stop, end))
    last = max(len(groups), min(ends, default=0))
    if last > len(groups):
        check_size(last, len(ends), name)
    placed = []
    for cell, (first, stop, end) in zip(found.cells, starts, strict=True):
        if end > last:
            cut = f"rowspan {end - cell.row} cut to {last - cell.row}, the last row"
            found.notes.append(f"row {cell.row}: {cut}")
        placed.append((tuple(range(cell.row, min(end, last))), tuple(range(first, stop))))
    return placed


def _span(cell: _Open, key: str, column: int, notes: list[str]) -> int:
    """Read a span by the HTML standard: 1 if it is not a number, clipped if it is too large.

    A rowspan of 0 is all of the row group.
    """
    if key not in cell.spans:
        return 1
    value, most = cell.spans[key], _MOST[key]
    match = _NUMBER.match(value)
    written = int(match[1].lstrip("0")[:9] or 0) if match else 1
    number = min(max(written, 1 if key == "colspan" else 0), most)
    if number != written or match is None or match.end() < len(value.rstrip()):
        where = f"row {cell.row}, column {column}"
        notes.append(f"{where}: {key} {one_line(value, 20)!r} taken as {number}")
    return number


_DELIMITERS = ",;\t"
#: Means "no delimiter": a character that does not occur in text.
_NONE = "\x1f"
#: Number of records in which the delimiter is searched.
_LOOKED_AT = 200

_LINE_END = re.compile(r"\r\n|\r|\n")
_DIGIT_GROUPS = re.compile(r"(?<=\d),(?=\d{3}(?!\d))")
_QUOTED = re.compile('"[^"]*"')
_WORD = re.compile(r"[^\W\d_]{2,}")
_NUMERAL = re.compile(r"[-+(]?\W?\s?\d[\d.,\s]*\W?\)?")
_BULLET = re.compile(r"\s*(?:[-*\u2022]|\d+[.)])\s")
_TITLE = re.compile(r"\s*(?:#|\*\*)")
_END_OF_SENTENCE = re.compile(r"[.!?:\u2026][\"')\]*_]*\s*\Z")
#: Mean number of words per line from which on commas with spaces are taken for punctuation; the
#: lower one applies if a line ends like a sentence.
_WORDY, _FEW_WORDS = 5, 3
#: Text with a higher share of numeric fields is not prose.
_NUMERIC = 0.25


class Seen(NamedTuple):
    """A table found in a text: its kind, the part that holds it, and notes on the rest."""

    kind: str
    text: str
    notes: tuple[str, ...] = ()
    delimiter: str | None = None


def seen_csv(text: str) -> Seen | None:
    """Find CSV in a text, possibly between lines of prose."""
    text = text.strip("\r\n")
    lines = _LINE_END.split(text)
    if len(lines) > 1:
        found = [seen for one in _DELIMITERS if (seen := _seen_by(lines, text, one)) is not None]
        return max(found, key=lambda seen: _agreement(seen.text, str(seen.delimiter)), default=None)
    is_divided = re.search(r"\t|[,;](?! )", _DIGIT_GROUPS.sub("", text))
    if not is_divided or _is_sentence(text):
        return None
    delimiter = _delimiter(text)
    return None if delimiter == _NONE else Seen("csv", text, (), delimiter)


def _seen_by(lines: list[str], text: str, delimiter: str) -> Seen | None:
    usual = _consistency(text, delimiter)[1]
    apart = [_is_apart(line, delimiter, usual) for line in lines]
    first, stop = leading(apart), len(lines) - leading(apart[::-1])
    if first >= stop:
        first, stop = 0, len(lines)
    elif stop - first < len(lines):
        text = "\n".join(lines[first:stop])
    share, _, count = _consistency(text, delimiter)
    if count < 2 or share <= 0.5 or _is_prose(lines[first:stop], delimiter):  # noqa: PLR2004
        return None
    parts = (("before", lines[:first]), ("after", lines[stop:]))
    notes = [note for where, part in parts for note in left_out(where, "records", " ".join(part))]
    return Seen("csv", text, tuple(notes), delimiter)


def _is_apart(line: str, delimiter: str, usual: int) -> bool:
    """Whether a line is no record: empty, a title, a sentence or words; "Total" is one."""
    if line.count('"') % 2:
        return False
    if delimiter not in line:
        return not line.strip().isalpha()
    is_title = _TITLE.match(line) and len(line.split(delimiter)) != usual
    return bool(is_title or (_is_sentence(line) and f"{delimiter} " in line))


def _is_sentence(line: str) -> bool:
    """Whether a line has some words, and ends as sentences do."""
    return len(_WORD.findall(line)) >= _FEW_WORDS and bool(_END_OF_SENTENCE.search(line))


def _is_prose(lines: list[str], delimiter: str) -> bool:
    """Whether lines are sentences or a list, and their delimiters punctuation."""
    if delimiter == "\t":
        return False
    sample = _QUOTED.sub("", "\n".join(lines[:_LOOKED_AT])).split("\n")
    filled = [_DIGIT_GROUPS.sub("", line) for line in sample if line.strip()]
    marks = [mark for line in filled for mark in re.findall(f"{delimiter}.?", line)]
    if not marks or sum(map(bool, map(_BULLET.match, filled))) * 2 > len(filled):
        return True
    if sum(mark.strip() == delimiter for mark in marks) * 2 <= len(marks):
        return False
    fields = [field.strip() for line in filled[1:] for field in line.split(delimiter)]
    if sum(map(bool, map(_NUMERAL.fullmatch, fields))) > _NUMERIC * len(fields):
        return False
    ends = sum(map(bool, map(_END_OF_SENTENCE.search, filled)))
    if ends == len(filled):
        return sum(len(line.split()) for line in filled) >= _FEW_WORDS * len(filled)
    words = sum(len(_WORD.findall(line)) for line in filled) / len(filled)
    return words >= (_FEW_WORDS if ends else _WORDY)


def table_of_csv(text: str, name: str, delimiter: str | None = None) -> Table:
    """Read CSV text; its first line is the header."""
    chosen, notes = delimiter or _delimiter(text), list[str]()
    if chosen == _NONE:
        notes.append("no delimiter found: each line is one field")
    readable, swallowing = _readable(text, chosen)
    if swallowing:
        notes.append(f"quote that never closes, read as a character: {one_line(swallowing, 40)!r}")
    try:
        rows = list(_records(readable, chosen))
    except csv.Error as error:
        raise InputError(f"{name} cannot be read as CSV: {error}") from None
    return table_of_rows(rows, name, notes)


def _records(text: str, delimiter: str) -> Iterator[list[str]]:
    reader = csv.reader(StringIO(text, newline=""), delimiter=delimiter)
    return (record for record in reader if record)


def _readable(text: str, delimiter: str) -> tuple[str, str]:
    """Remove spaces before quotes, and repair a quote that is never closed."""
    if '"' not in text:
        return text, ""
    mark, swallowing = re.escape(delimiter), ""

    def readable(found: re.Match[str]) -> str:
        nonlocal swallowing
        before, spaces, inside, closing = found.groups()
        if not closing and _LINE_END.search(inside.rstrip()):
            field = re.split(f"{mark}|[\r\n]", inside, maxsplit=1)[0]
            swallowing = f'"{field}'
            doubled = swallowing.replace('"', '""')
            return f'{before}"{spaces}{doubled}"{inside[len(field) :]}'
        is_field = text[found.end() : found.end() + 1] in (delimiter, "\r", "\n", "")
        return f'{before}"{inside}{closing}' if closing and is_field else found[0]

    field = rf'((?<![^\r\n])|{mark})( *+)"([^"]*+(?:""[^"]*+)*+)((?:" *+)?)'
    return re.sub(field, readable, text), swallowing


def _delimiter(text: str) -> str:
    """Find the delimiter that divides most lines into the same number of fields."""
    best = max(_DELIMITERS, key=lambda one: _agreement(text, one))
    return best if _consistency(text, best)[0] else _NONE


def _agreement(text: str, delimiter: str) -> tuple[float, bool, int, int]:
    """Rank a delimiter: with equal shares, commas rank below delimiters outside of quotes."""
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
_FENCES = ("```", "~~~")
_TAG = re.compile(
    r"</?(?:(?P<block>br|div|hr|li|ol|p|ul)|a|b|code|del|em|i|mark|s|small|span|strong|sub|sup|u)"
    r"(?:\s[^<>]*+|/)?>",
    re.IGNORECASE,
)
_EMPHASIS = re.compile(r"(?<![\w\\])([*_]{1,3}|`)(?=[^\s*_`])([^*_`]*+)(?<=\S)\1(?!\w)")
_ESCAPED = re.compile(r"\\([!-/:-@\[-`{-~])")


class _PipeTable(NamedTuple):
    """A pipe table: its rows, the numbers of its lines, and a note."""

    rows: list[list[str]]
    lines: list[int]
    note: str = ""


def looks_like_markdown(text: str) -> bool:
    """Whether a text holds a pipe table."""
    return bool(_pipe_tables(text)[1])


def table_of_markdown(text: str, name: str, *, tidy: bool = False) -> Table:
    """Read the one pipe table in a Markdown text."""
    lines, tables = _pipe_tables(text)
    if not tables:
        raise InputError(
            f"{name}: no pipe table in {one_line(text, 40)!r}; expected a header row such as "
            "| a | b |, then | --- | --- |"
        )
    if len(tables) > 1:
        raise InputError(f"{name} holds {len(tables)} tables; expected one")
    rows, used, note = tables[0]
    notes = [note] if note else []
    for where, part in (("before", lines[: used[0]]), ("after", lines[used[-1] + 1 :])):
        notes += left_out(where, "table", " ".join(filter(_has_words, part)))
    if tidy:
        rows = [list(map(_shown, row)) for row in rows]
    return table_of_rows(rows, name, notes)


def _has_words(line: str) -> bool:
    return any(map(str.isalnum, line)) and not line.lstrip().startswith(_FENCES)


def _pipe_tables(text: str) -> tuple[list[str], list[_PipeTable]]:
    """Return the lines and the tables in them; rows without dashes count only if no other do."""
    lines = _LINE_END.split(text)
    if not any("|" in line for line in lines):
        return lines, []
    return lines, list(_ruled(lines)) or list(_without_rule(lines))


def _ruled(lines: list[str]) -> Iterator[_PipeTable]:
    end = -1
    for rule in range(1, len(lines)):
        if rule <= end or not _is_rule(lines[rule], lines[rule - 1]):
            continue
        end = next((n for n in range(rule + 1, len(lines)) if "|" not in lines[n]), len(lines))
        used = [*range(rule - 1, end)]
        rows = [_fields(lines[n]) for n in used if n != rule]
        columns, wanted = len(_fields(lines[rule])), len(rows[0])
        note = f"row of dashes with {columns} columns below a header with {wanted}"
        yield _PipeTable(rows, used, note if columns != wanted else "")


def _without_rule(lines: list[str]) -> Iterator[_PipeTable]:
    """Find rows between bars, of which the first two have the same width."""
    is_only = len(list(islice(filter(_has_words, lines), 2))) == 1
    bars = [len(bare) > 1 and bare[0] == bare[-1] == "|" for bare in map(str.strip, lines)]
    for is_barred, group in groupby(range(len(lines)), lambda n: bars[n]):
        used = list(group) if is_barred else []
        rows = [_fields(lines[n]) for n in used]
        widths = {len(row) for row in rows[:2]}
        if (len(rows) > 1 or is_only) and len(widths) == 1 and widths != {1}:
            note = "no row of dashes: the first row is taken for the header"
            yield _PipeTable(rows, used, note)


def _is_rule(line: str, header: str) -> bool:
    """Whether a line is the row of dashes below a header, of the same width or unmistakable."""
    if "|" not in header or "-" not in line or line.strip("-|: \t"):
        return False
    dashes = _fields(line)
    if len(dashes) == len(_fields(header)):
        return all(_RULE.fullmatch(field) for field in dashes)
    return "|" in line and all(_LONG_RULE.fullmatch(field) for field in dashes)


def _fields(line: str) -> list[str]:
    fields = _BAR.split(line.strip())
    if len(fields) > 1 and not fields[0]:
        del fields[0]
    if len(fields) > 1 and not fields[-1]:
        del fields[-1]
    return [_BREAK.sub(" ", field.replace("\\|", "|")).strip() for field in fields]


def _shown(text: str) -> str:
    """Remove the markup of a cell: tags, then emphasis from the inside out."""
    text = _TAG.sub(lambda tag: " " * bool(tag["block"]), text)
    for _ in range(_MOST_NESTED):
        text, count = _EMPHASIS.subn(r"\2", text)
        if not count:
            break
    return unescape(_ESCAPED.sub(r"\1", text)).strip()


#: Bold, italic and code at once.
_MOST_NESTED = 3
