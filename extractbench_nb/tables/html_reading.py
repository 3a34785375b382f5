"""Tables in HTML, and cells made into a table where some are missing."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from html import unescape
from typing import Any, NamedTuple
from xml.etree import ElementTree as ET

import numpy as np

from extractbench_nb.display.html import one_line
from extractbench_nb.errors import InputError
from extractbench_nb.tables.cells import Cell, Grid, Table

__all__ = [
    "MOST_POSITIONS",
    "Notes",
    "begins_as_html",
    "check_size",
    "has_cell_tag",
    "looks_like_html",
    "mended",
    "table_of_html",
    "table_of_rows",
    "unescaped",
]


#: Positions beyond which a table is taken for a mistake.
MOST_POSITIONS = 1_000_000
_MOST_NOTES = 20


class Notes:
    """What had to be mended, in order; of very many notes the first 20 and a count are kept."""

    def __init__(self, *first: str) -> None:
        self.kept = list(first)
        self.more = 0

    def add(self, note: str) -> None:
        """Take one more note."""
        if len(self.kept) < _MOST_NOTES:
            self.kept.append(note)
        else:
            self.more += 1

    def texts(self) -> tuple[str, ...]:
        """Return the notes."""
        return (*self.kept, f"and {self.more} more") if self.more else tuple(self.kept)


def check_size(rows: int, columns: int, name: str) -> None:
    """Raise an `InputError` for a table that is greater than any on a page."""
    if rows * columns > MOST_POSITIONS:
        raise InputError(
            f"{name} has {rows:,} rows x {columns:,} columns; "
            f"expected at most {MOST_POSITIONS:,} positions"
        )


def table_of_rows(rows: Sequence[Sequence[str]], headers: int, notes: Notes, name: str) -> Table:
    """Make a table of texts, row by row; rows may be of unequal length."""
    check_size(len(rows), max(map(len, rows), default=0), name)
    cells = (
        Cell((r,), (c,), text, None, r < headers)
        for r, row in enumerate(rows)
        for c, text in enumerate(row)
    )
    return mended(cells, notes, name)


def mended(cells: Iterable[Cell], notes: Notes, name: str) -> Table:
    """Make a table of cells; a position without one gets an empty cell."""
    known = list(cells)
    if not known:
        return Table((), np.zeros((1, 0), dtype=np.intp), notes.texts())
    shape = (max(c.rows[-1] for c in known) + 1, max(c.columns[-1] for c in known) + 1)
    check_size(*shape, name)
    grid = _covered(known, shape, notes)
    known += _filled(known, grid, notes)
    order = sorted(range(len(known)), key=lambda n: (known[n].rows[0], known[n].columns[0]))
    place = np.empty(len(order), dtype=np.intp)
    place[order] = np.arange(len(order))
    return Table(tuple(known[n] for n in order), place[grid], notes.texts())


def _covered(cells: list[Cell], shape: tuple[int, int], notes: Notes) -> Grid:
    grid = np.full(shape, -1, dtype=np.intp)
    for n, (rows, columns, *_) in enumerate(cells):
        if len(rows) == len(columns) == 1:
            grid[rows[0], columns[0]] = n
            continue
        part = grid[rows[0] : rows[-1] + 1, columns[0] : columns[-1] + 1]
        if (part >= 0).any():
            notes.add(
                f"row {rows[0]}, column {columns[0]}: the cell overlaps an earlier one, and wins"
            )
        part[:] = n
    return grid


def _filled(cells: list[Cell], grid: Grid, notes: Notes) -> list[Cell]:
    """Return an empty cell for each hole, a header where the whole row is one."""
    added: list[Cell] = []
    for row in np.flatnonzero((grid < 0).any(axis=1)).tolist():
        holes = np.flatnonzero(grid[row] < 0).tolist()
        there = set(grid[row].tolist()) - {-1}
        is_header = bool(there) and all(cells[n].is_header for n in there)
        first = len(cells) + len(added)
        grid[row, holes] = np.arange(first, first + len(holes))
        added += [Cell((row,), (column,), "", None, is_header) for column in holes]
        notes.add(f"row {row}: {_positions(len(holes))} without a cell, filled")
    return added


def _positions(count: int) -> str:
    return f"{count} position{'s' * (count > 1)}"


#: What the HTML standard clips them to.
_MOST = {"colspan": 1000, "rowspan": 65534}
_TAKEN = {
    ("colspan", 0): "1",
    ("rowspan", 0): "all of the row group",
    ("rowspan", _MOST["rowspan"]): "all rows below",
}
_ROW_GROUPS = ("thead", "tbody", "tfoot")
_UNSEEN = ("script", "style", "template")
#: What begins and ends a piece of text of its own; all other elements are within a line.
_BLOCKS = frozenset(
    "address article aside blockquote body br caption center dd details div dl dt fieldset "
    "figcaption figure footer form h1 h2 h3 h4 h5 h6 header hr html legend li main nav ol option p "
    "pre section select summary table tbody td tfoot th thead tr ul".split()
)
#: Cells within cells hold their text once more each; beyond this it is a mistake, or an attack.
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
#: A tag that prose names in backticks.
_CODE = re.compile(r"`<[^`\n]{1,200}`")
_TABLE_BEGIN = re.compile(f"{_CODE.pattern}|(?P<tag>{_PREFIX}table[\\s/>])", re.IGNORECASE)
_ROW_BEGIN = re.compile(
    f"{_CODE.pattern}|(?P<tag>{_PREFIX}(?:thead|tbody|tfoot|tr|td|th|caption)[\\s/>])",
    re.IGNORECASE,
)
_TABLE_END = re.compile(_CODE.pattern + r"|(?P<tag></(?:[a-z][\w.-]*:)?table\s*+>)", re.IGNORECASE)
_ESCAPED_TAG = re.compile(r"&(?:lt|#60|#x3c);(?:table|tr)(?:\s|/|&(?:gt|#62|#x3e);)", re.IGNORECASE)
_NUMBER = re.compile(r"[ \t\n\f\r]*\+?([0-9]+)")
_UNFIT = re.compile("[\0\ud800-\udfff]")


def begins_as_html(text: str) -> bool:
    """Whether a text begins with a tag in which a table may be, or of one."""
    return _BEGIN.match(text) is not None


def looks_like_html(text: str) -> bool:
    """Whether a text has a tag of tables or rows, or begins with one of cells."""
    return bool(_TABLE_TAG.search(_CODE.sub("", text)) or _CELL_TAG.match(text.lstrip()))


def has_cell_tag(text: str) -> bool:
    """Whether a text has a tag of cells or of groups of rows, but not in backticks."""
    return _CELL_TAG.search(_CODE.sub("", text)) is not None


def unescaped(text: str) -> str | None:
    """Return HTML that was escaped as a whole, unescaped once; None for any other text."""
    if looks_like_html(text) or has_cell_tag(text) or not _ESCAPED_TAG.search(text):
        return None
    return unescape(text)


def table_of_html(text: str, name: str, *, tidy: bool = False) -> Table:
    """Read the one table in an HTML text.

    Notes
    -----
    Well-formed XML is read as by ``html_to_cells`` of the code published with Smock, Pesala and
    Abraham (2022): spans are not cut where a row group ends, rows below the last ``tr`` are there
    as far as cells cover them wholly, and the cells of a table within a cell count as cells of the
    outer one. Unlike there, the texts of scripts, styles and templates, which nobody sees, are
    left out. Where that code finds no cell, or fails, a lenient parser takes over; spans are then
    read as the HTML standard says, and each mending is among the notes of the table.

    Examples
    --------
    >>> table = table_of_html("<table><tr><th>Year<th>Sales<tr><td>2020&ndash;21</table>", "table")
    >>> table.texts
    [['Year', 'Sales'], ['2020–21', '']]
    >>> table.notes
    ('row 1: 1 position without a cell, filled',)
    """
    found = _strictly(text, tidy)
    if found is None:
        part, note = _part(text)
        found = (_strictly(part, tidy) if part != text else None) or _leniently(part, name, tidy)
        if note:
            found.notes.add(note)
    if not (found.cells or found.tables or found.groups):
        raise InputError(
            f"{name}: no table in {one_line(text, 40)!r}; expected HTML with table, or tr and td"
        )
    if found.tables > 1:
        raise InputError(f"{name} holds {found.tables} tables; expected one")
    if found.nested:
        found.notes.add("tables within cells: their cells are taken for cells of the outer table")
    texts = list(_texts(found, name))
    cells = (
        Cell(place.rows, place.columns, text, None, cell.is_header)
        for place, cell, text in zip(_placed(found, name), found.cells, texts, strict=True)
    )
    return mended(cells, found.notes, name)


def _part(text: str) -> tuple[str, str]:
    """Return the part of a text that holds the table, and what is odd about the rest."""
    starts = _tags(_TABLE_BEGIN, text) or _tags(_ROW_BEGIN, text)
    start = starts[0].start() if starts else 0
    ends = [end for end in _tags(_TABLE_END, text) if end.start() > start]
    stop = ends[-1].end() if ends else len(text)
    is_lost = has_cell_tag(text[:start]) or has_cell_tag(text[stop:])
    return text[start:stop], "tags of cells outside of the table, left out" if is_lost else ""


def _tags(pattern: re.Pattern[str], text: str) -> list[re.Match[str]]:
    return [found for found in pattern.finditer(text) if found["tag"]]


def _strictly(text: str, tidy: bool) -> _Found | None:
    """Read well-formed XML; None where it is none, or has no cell."""
    if "<!ENTITY" in text:
        return None
    found = _Found(tidy)
    parser = ET.XMLParser(target=found)  # noqa: S314 - no entity can be declared
    try:
        parser.feed(text)
        parser.close()
    except (ET.ParseError, ValueError):  # a lone surrogate is a ValueError
        return None
    return found if found.cells else None


def _leniently(text: str, name: str, tidy: bool) -> _Found:
    from lxml import etree

    found = _LenientlyFound(tidy)
    target: Any = found  # it takes no comments, which is allowed
    parser = etree.HTMLParser(target=target, encoding="utf-8", huge_tree=True)
    fit, unfit = _UNFIT.subn("\ufffd", text)
    if unfit:
        found.notes.add(f"{unfit} characters that HTML cannot hold, replaced by U+FFFD")
    try:
        parser.feed(fit.encode())
        parser.close()
    except etree.LxmlError as error:
        raise InputError(f"{name} is HTML that cannot be read: {error}") from None
    return found


@dataclass(slots=True)
class _Open:
    """A cell as it is found: its row, its spans as written, where its text begins and ends."""

    row: int
    spans: dict[str, str]
    is_header: bool
    first: int
    last: int = 0


class _Found:
    """What a parser finds in a text: cells, pieces of text, the row group of each row."""

    def __init__(self, tidy: bool) -> None:
        self.tidy = tidy
        self.cells: list[_Open] = []
        self.pieces: list[str] = []
        self.groups: list[int] = []
        self.notes = Notes()
        self.tables = self.nested = 0
        self._group = self._depth = self._unseen = 0
        self._piece: list[str] = []
        self._elements: list[tuple[str, bool, _Open | None]] = []

    def start(self, tag: str, attributes: Mapping[str, str]) -> None:
        """Take the start of an element."""
        name = self._name(tag)
        self._end_piece(name)
        in_header = bool(self._elements) and self._elements[-1][1]
        cell = None
        if name == "table":
            self._start_table()
        elif name in _ROW_GROUPS:
            self._group += 1
        elif name == "tr":
            self.groups.append(self._group)
        elif name in ("td", "th"):
            cell = self._cell(attributes, in_header or name == "th")
        self._unseen += name in _UNSEEN
        self._elements.append((name, in_header or name in ("th", "thead"), cell))

    def end(self, _tag: str) -> None:
        """Take the end of an element."""
        name, _, cell = self._elements[-1]
        self._end_piece(name)
        self._elements.pop()
        self._unseen -= name in _UNSEEN
        if cell is not None:
            cell.last = len(self.pieces)
        self._group += name in _ROW_GROUPS
        self._depth -= name == "table"

    def data(self, text: str) -> None:
        """Take text, or a part of it."""
        self._piece.append(text)

    def close(self) -> None:
        """Take the end of the text."""

    def _name(self, tag: str) -> str:
        return tag

    def _start_table(self) -> None:
        self.nested += self._depth > 0
        self.tables += self._depth == 0
        self._depth += 1

    def _cell(self, attributes: Mapping[str, str], is_header: bool) -> _Open:
        if not self.groups:
            self.groups.append(self._group)
            self.notes.add("row 0: cells outside of any row, given one")
        spans = {key: attributes[key] for key in _MOST if key in attributes}
        cell = _Open(len(self.groups) - 1, spans, is_header, len(self.pieces))
        self.cells.append(cell)
        return cell

    def _end_piece(self, name: str) -> None:
        """End a piece of text before the start or the end of an element."""
        piece = "".join(self._piece)
        self._piece.clear()
        if piece and not self._unseen:
            self.pieces.append(piece)
        if self.tidy and name in _BLOCKS:
            self.pieces.append(" ")


class _LenientlyFound(_Found):
    """The same in HTML: names in any case and with any prefix."""

    def _name(self, tag: str) -> str:
        return tag.rpartition(":")[2].lower()


def _texts(found: _Found, name: str) -> Iterator[str]:
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


class _Place(NamedTuple):
    rows: tuple[int, ...]
    columns: tuple[int, ...]


def _placed(found: _Found, name: str) -> list[_Place]:
    """Give each cell its rows and columns."""
    starts, ends = [], list[int]()  # of each cell; of each column, the first row that is free
    row, column = -1, 0
    for cell in found.cells:
        if cell.row != row:
            row, column = cell.row, 0
        while column < len(ends) and ends[column] > row:
            column += 1
        width, end = _extent(cell, column, found) if cell.spans else (1, row + 1)
        stop = column + width
        ends += [0] * (stop - len(ends))
        ends[column:stop] = [max(known, end) for known in ends[column:stop]]
        check_size(row + 1, len(ends), name)
        starts.append((column, stop, end))
    last = max(len(found.groups), min(ends, default=0))
    if last > len(found.groups):
        check_size(last, len(ends), name)
    return [
        _Place(
            tuple(range(cell.row, _cut(cell, end, last, found.notes))), tuple(range(first, stop))
        )
        for cell, (first, stop, end) in zip(found.cells, starts, strict=True)
    ]


def _cut(cell: _Open, end: int, last: int, notes: Notes) -> int:
    if end > last:
        notes.add(
            f"row {cell.row}: rowspan {end - cell.row} cut to {last - cell.row}, the last row"
        )
        return last
    return end


def _extent(cell: _Open, column: int, found: _Found) -> tuple[int, int]:
    """Return how many columns a cell covers, and the row after the last one."""
    where = f"row {cell.row}, column {column}"
    width = _span(cell, "colspan", where, found.notes)
    height = _span(cell, "rowspan", where, found.notes)
    if height == 0:
        end = bisect_right(found.groups, found.groups[cell.row])
    elif height == _MOST["rowspan"]:
        end = len(found.groups)
    else:
        end = cell.row + height
    return width or 1, end


def _span(cell: _Open, key: str, where: str, notes: Notes) -> int:
    """Read a span as the HTML standard says: 1 where it is no number, clipped where it is great."""
    if key not in cell.spans:
        return 1
    value, most = cell.spans[key], _MOST[key]
    match = _NUMBER.match(value)
    written = int(match[1].lstrip("0")[:9] or 0) if match else 1
    number = min(written, most)
    if not number or written > most or match is None or match.end() < len(value.rstrip()):
        taken = _TAKEN.get((key, number), str(number))
        notes.add(f"{where}: {key} {one_line(value, 20)!r} taken as {taken}")
    return number
