"""Tables in HTML, CSV and Markdown texts."""

from __future__ import annotations

import csv
import re
from bisect import bisect_right
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from html import unescape
from html.parser import HTMLParser
from io import StringIO
from typing import Any, NamedTuple, TypeAlias

import numpy as np

from extractbench_nb.errors import InputError
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
_CELLS = ("td", "th")
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
_BEGINS = re.compile(r"\s*" + _PREFIX + r"(?:table|thead|tbody|tr|td|th)[\s/>]", re.IGNORECASE)
_ROW_TAG = re.compile(_PREFIX + r"(?:table|tr)[\s/>]", re.IGNORECASE)
_CELL_TAG = re.compile(_PREFIX + r"(?:td|th)[\s/>]", re.IGNORECASE)
_TABLE_BEGIN = re.compile(_PREFIX + r"table[\s/>]", re.IGNORECASE)
_TABLE_END = re.compile(r"</(?:[a-z][\w.-]*:)?table\s*+>", re.IGNORECASE)
_NUMBER = re.compile(r"[ \t\n\f\r]*\+?([0-9]+)")
_LINE_END = re.compile(r"\r\n|\r|\n")


def looks_like_html(text: str) -> bool:
    """Whether a text begins with a tag of tables, or has tags of rows and of cells."""
    return bool(_BEGINS.match(text) or (_ROW_TAG.search(text) and _CELL_TAG.search(text)))


def table_of_html(text: str, name: str, *, tidy: bool = False) -> Table:
    """Read the one table in an HTML text.

    Like ``html_to_cells`` in the code published with Smock, Pesala and Abraham (2021): spans may
    reach beyond the end of a row group, rows below the last ``tr`` are added if cells cover them
    completely, and the cells of a table within a cell count as cells of the outer table. Unlike
    there, elements need not be closed, the texts of scripts, styles and templates are left out, and
    spans follow the HTML standard.
    """
    begin = _TABLE_BEGIN.search(text)
    found = _Html(tidy, has_table=begin is not None)
    found.feed(_LINE_END.sub("\n", text[begin.start() if begin else 0 :]))
    found.close()
    found.close_all()
    if not (found.cells or found.tables or found.groups):
        raise InputError(
            f"{name}: no table in {one_line(text, 40)!r}; expected HTML with table, or tr and td"
        )
    if found.tables > 1:
        raise InputError(f"{name} holds {found.tables} tables; expected one")
    if found.has_nested:
        found.notes.append(
            "tables within cells: their cells are taken for cells of the outer table"
        )
    placed = zip(found.cells, list(_texts(found, name)), _placed(found, name), strict=True)
    cells = (
        Cell(rows, columns, cell_text, None, cell.is_header)
        for cell, cell_text, (rows, columns) in placed
    )
    return mended(cells, name, found.notes)


def tables_in(text: str) -> list[str]:
    """Divide a text with several HTML or Markdown tables; a text with one or none is left whole."""
    spans, depth, start = [], 0, 0
    tags = [(m.start(), 1, m.start()) for m in _TABLE_BEGIN.finditer(text)]
    tags += [(m.start(), -1, m.end()) for m in _TABLE_END.finditer(text)]
    for _, step, place in sorted(tags):
        start = place if depth == 0 and step > 0 else start
        depth = max(0, depth + step)
        if depth == 0 and step < 0:
            spans.append(text[start:place])
    if not spans:
        lines, tables = _pipe_tables(text)
        spans = ["\n".join(lines[table.first : table.stop]) for table in tables]
    return spans if len(spans) > 1 else [text]


@dataclass(slots=True)
class _Open:
    """An open element of a table; of a cell its row, its spans, and where its text is."""

    name: str
    row: int = 0
    spans: dict[str, str] = field(default_factory=dict)
    is_header: bool = False
    first: int = 0
    last: int = 0


class _Html(HTMLParser):
    """Collects cells, pieces of text, and the row group of each row."""

    def __init__(self, tidy: bool, *, has_table: bool) -> None:
        super().__init__()
        self.tidy = tidy
        self._has_table = has_table
        self.cells: list[_Open] = []
        self.pieces: list[str] = []
        self.groups: list[int] = []
        self.notes: list[str] = []
        self.tables = 0
        self.has_nested = False
        self._group = self._unseen = 0
        self._piece: list[str] = []
        self._open: list[_Open] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Open an element, after those that it ends."""
        name = tag.rpartition(":")[2]
        self._end_piece(name)
        self._unseen += name in _UNSEEN
        if self._has_table and name != "table" and not self._open:
            return  # a tag in prose
        if name == "table":
            self.has_nested = self.has_nested or bool(self._open)
            self.tables += not self._open
        elif name in _ROW_GROUPS:
            self._close(*_ROW_GROUPS) or self._close("tr")
            self._group += 1
        elif name == "tr":
            self._close("tr") or self._close(*_CELLS)
            self.groups.append(self._group)
        elif name in _CELLS:
            self._close(*_CELLS)
            if not self.groups:
                self.groups.append(self._group)
                self.notes.append("row 0: cells outside of any row, given one")
        else:
            return
        is_header = name in ("thead", "th") or (bool(self._open) and self._open[-1].is_header)
        element = _Open(name, len(self.groups) - 1, is_header=is_header, first=len(self.pieces))
        if name in _CELLS:
            element.spans = {key: value or "" for key, value in attrs if key in _MOST}
            self.cells.append(element)
        self._open.append(element)

    def handle_endtag(self, tag: str) -> None:
        """Close an element, with all that is open in it."""
        name = tag.rpartition(":")[2]
        self._end_piece(name)
        self._unseen = max(0, self._unseen - (name in _UNSEEN))
        self._close(*(_CELLS if name in _CELLS else (name,)))

    def handle_data(self, data: str) -> None:
        """Take text, or a part of it."""
        self._piece.append(data)

    def close_all(self) -> None:
        """Close what is still open."""
        self._end_piece("")
        while self._open:
            self._finish(self._open.pop())

    def _close(self, *names: str) -> bool:
        """Close the innermost of these elements in the innermost table; say if there was one."""
        for place in reversed(range(len(self._open))):
            if self._open[place].name in names:
                while len(self._open) > place:
                    self._finish(self._open.pop())
                return True
            if self._open[place].name == "table":
                return False
        return False

    def _finish(self, element: _Open) -> None:
        element.last = len(self.pieces)
        self._group += element.name in _ROW_GROUPS

    def _end_piece(self, name: str) -> None:
        """End a piece of text before the start or the end of an element."""
        piece = "".join(self._piece)
        self._piece.clear()
        if piece and not self._unseen:
            self.pieces.append(piece)
        if self.tidy and name in _BLOCKS:
            self.pieces.append(" ")


def _texts(found: _Html, name: str) -> Iterator[str]:
    left, between = _MOST_TEXT, "" if found.tidy else " "
    for cell in found.cells:
        text = between.join(found.pieces[cell.first : cell.last]) if left > 0 else ""
        left -= len(text) + cell.last - cell.first
        if left < 0:
            raise InputError(
                f"{name}: cells within cells, with more than {_MOST_TEXT:,} characters in all"
            )
        yield text


_Lines: TypeAlias = tuple[int, ...]


def _placed(found: _Html, name: str) -> list[tuple[_Lines, _Lines]]:
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
#: Number of lines in which the delimiter is searched.
_LOOKED_AT = 200

_DIGIT_GROUPS = re.compile(r"(?<=\d),(?=\d{3}(?!\d))")
_QUOTED = re.compile('"[^"]*"')
_DIVIDED = re.compile(r"\t|[,;](?! )")
_WORD = re.compile(r"[^\W\d_]{2,}")
_NUMERAL = re.compile(r"[-+(]?\W?\s?\d[\d.,\s]*\W?\)?")
_BULLET = re.compile(r"\s*(?:[-*\u2022]|\d+[.)])\s")
_END_OF_SENTENCE = re.compile(r"[.!?:\u2026][\"')\]*_]*\s*\Z")
#: Mean number of words per line from which on commas with spaces are taken for punctuation; the
#: lower one applies if a line ends like a sentence.
_WORDY, _FEW_WORDS = 5, 3
#: Text with a higher share of numeric fields is not prose.
_NUMERIC = 0.25


class Seen(NamedTuple):
    """A table found in a text: its kind, the part that contains it, and notes on the rest."""

    kind: str
    text: str
    notes: tuple[str, ...] = ()
    delimiter: str | None = None


def seen_csv(text: str) -> Seen | None:
    """Find CSV in a text, possibly between lines of prose: lines with as many fields."""
    lines = _LINE_END.split(text.strip("\r\n"))
    if len(lines) == 1 and not _DIVIDED.search(_DIGIT_GROUPS.sub("", text)):
        return None
    found = [seen for one in _DELIMITERS if (seen := _seen_by(lines, one)) is not None]
    return max(found, key=lambda seen: _agreement(seen.text, str(seen.delimiter)), default=None)


def _seen_by(lines: list[str], delimiter: str) -> Seen | None:
    apart = [_is_apart(line, delimiter) for line in lines]
    first, stop = leading(apart), len(lines) - leading(apart[::-1])
    if first >= stop:
        first, stop = 0, len(lines)
    text = "\n".join(lines[first:stop])
    share, *_, count = _agreement(text, delimiter)
    is_divided = share > 0.5 and count >= min(2, len(lines))  # noqa: PLR2004
    if not is_divided or _is_prose(text, delimiter):
        return None
    parts = (("before", lines[:first]), ("after", lines[stop:]))
    notes = [note for where, part in parts for note in left_out(where, "records", " ".join(part))]
    return Seen("csv", text, tuple(notes), delimiter)


def _is_apart(line: str, delimiter: str) -> bool:
    """Whether a line is no record: empty, a sentence or words; "Total" is one."""
    if line.count('"') % 2:
        return False
    if delimiter not in line:
        return not line.strip().isalpha()
    is_sentence = len(_WORD.findall(line)) >= _FEW_WORDS and _END_OF_SENTENCE.search(line)
    return bool(is_sentence) and f"{delimiter} " in line


def _is_prose(text: str, delimiter: str) -> bool:
    """Whether lines are sentences or a list, and their delimiters punctuation."""
    if delimiter == "\t":
        return False
    lines = [_DIGIT_GROUPS.sub("", line) for line in _bare_lines(text)]
    marks = [mark for line in lines for mark in re.findall(f"{delimiter}.?", line)]
    if not marks or sum(map(bool, map(_BULLET.match, lines))) * 2 > len(lines):
        return True
    if sum(mark.strip() == delimiter for mark in marks) * 2 <= len(marks):
        return False
    fields = [part.strip() for line in lines[1:] for part in line.split(delimiter)]
    if sum(map(bool, map(_NUMERAL.fullmatch, fields))) > _NUMERIC * len(fields):
        return False
    words = sum(len(_WORD.findall(line)) for line in lines) / len(lines)
    return words >= (_FEW_WORDS if any(map(_END_OF_SENTENCE.search, lines)) else _WORDY)


def _bare_lines(text: str) -> list[str]:
    """Return the first lines that are not empty, without what is in quotes."""
    lines = _LINE_END.split(_QUOTED.sub("", text))
    return [line for line in lines if line.strip()][:_LOOKED_AT]


def _agreement(text: str, delimiter: str) -> tuple[float, bool, int, int]:
    """Rank a delimiter by the share of lines with as many fields; of equal ones a comma is last.

    Then by the number of fields, and of such lines.
    """
    lines = _bare_lines(text)
    widths = Counter(line.count(delimiter) + 1 for line in lines)
    count, width = max(((count, width) for width, count in widths.items()), default=(0, 0))
    return (count / len(lines) if width > 1 else 0.0), delimiter != ",", width, count


def table_of_csv(text: str, name: str, delimiter: str | None = None) -> Table:
    """Read CSV text; its first line is the header. A quote that never closes is a character."""
    ranks = {_agreement(text, one): one for one in _DELIMITERS}
    chosen, notes = delimiter or (ranks[max(ranks)] if max(ranks)[0] else _NONE), list[str]()
    if chosen == _NONE:
        notes.append("no delimiter found: each line is one field")
    is_odd = text.count('"') % 2 == 1
    if is_odd:
        notes.append("quote that never closes, read as a character")
    rows: list[list[str]] = []
    try:
        for part in _LINE_END.split(text) if is_odd else [text]:
            # else a quote after a space is a character
            options: dict[str, Any] = {"delimiter": chosen, "skipinitialspace": True}
            if part.count('"') % 2:
                options["quoting"] = csv.QUOTE_NONE
            rows += filter(None, csv.reader(StringIO(part, newline=""), **options))
    except csv.Error as error:
        raise InputError(f"{name} cannot be read as CSV: {error}") from None
    return table_of_rows(rows, name, notes)


_BAR = re.compile(r"(?<!\\)\|")
_RULE = re.compile(r":?-+:?")
_BREAK = re.compile(r"<br\s*/?>", re.IGNORECASE)
_FENCES = ("```", "~~~")
_EMPHASIS = re.compile(r"(?<![\w\\])([*_]{1,3}|`)(?=[^\s*_`])([^*_`]*+)(?<=\S)\1(?!\w)")
#: Bold, italic and code at once.
_MOST_NESTED = 3


class _PipeTable(NamedTuple):
    """A pipe table: its rows, and its first line and the one after its last."""

    rows: list[list[str]]
    first: int
    stop: int


def looks_like_markdown(text: str) -> bool:
    """Whether a text contains a pipe table."""
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
    rows, first, stop = tables[0]
    notes: list[str] = []
    for where, part in (("before", lines[:first]), ("after", lines[stop:])):
        notes += left_out(where, "table", " ".join(filter(_has_words, part)))
    if tidy:
        rows = [list(map(_shown, row)) for row in rows]
    return table_of_rows(rows, name, notes)


def _has_words(line: str) -> bool:
    return any(map(str.isalnum, line)) and not line.lstrip().startswith(_FENCES)


def _pipe_tables(text: str) -> tuple[list[str], list[_PipeTable]]:
    """Return the lines, and the tables in them: a header, a row of dashes, and rows with bars."""
    lines = _LINE_END.split(text)
    tables: list[_PipeTable] = []
    end = -1
    for rule in range(1, len(lines)):
        if rule <= end or not _is_rule(lines[rule], lines[rule - 1]):
            continue
        end = next((n for n in range(rule + 1, len(lines)) if "|" not in lines[n]), len(lines))
        rows = [_fields(line) for line in (lines[rule - 1], *lines[rule + 1 : end])]
        tables.append(_PipeTable(rows, rule - 1, end))
    return lines, tables


def _is_rule(line: str, header: str) -> bool:
    """Whether a line is the row of dashes below a header."""
    if "|" not in header or "-" not in line or line.strip("-|: \t"):
        return False
    dashes = _fields(line)
    is_rule = all(_RULE.fullmatch(part) for part in dashes)
    return is_rule and ("|" in line or len(dashes) == len(_fields(header)))


def _fields(line: str) -> list[str]:
    fields = _BAR.split(line.strip())
    if len(fields) > 1 and not fields[0]:
        del fields[0]
    if len(fields) > 1 and not fields[-1]:
        del fields[-1]
    return [_BREAK.sub(" ", part.replace("\\|", "|")).strip() for part in fields]


def _shown(text: str) -> str:
    """Remove emphasis from the inside out, and resolve entities."""
    for _ in range(_MOST_NESTED):
        text, count = _EMPHASIS.subn(r"\2", text)
        if not count:
            break
    return unescape(text)
