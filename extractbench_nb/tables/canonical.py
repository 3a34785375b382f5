"""`canonicalize`: one cell for each node of a table's headers."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from itertools import product, takewhile
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from extractbench_nb._frames import Column, FrameSpec
from extractbench_nb.display.html import STYLE, document_text
from extractbench_nb.errors import InputError
from extractbench_nb.tables.cells import Box, Cell, Table, spans_html, table_of_cells
from extractbench_nb.tables.reading import read_table

#: In place of a node's number: no cell with text covers the position.
FREE = -1

#: What each step does, in the order of the steps.
REASONS = {
    "header": "",  # each row has a reason of its own
    "repeated": "neighbours in the header with the same text are one node",
    "parent": "a node takes the blank header cells on its right over columns told apart below it",
    "blank": "blank header cells belong to the node below them, else to the one above",
    "projected": "a row whose only text is in its first cell names the rows below it",
    "row_header": "blank cells in the first column belong to the text above, which the second "
    "column divides",
    "split": "a blank cell over several positions is not a node",
}


class Rectangle(NamedTuple):
    """Rows from `top` to before `bottom`, columns from `left` to before `right`."""

    top: int
    bottom: int
    left: int
    right: int

    @property
    def rows(self) -> tuple[int, ...]:
        """The numbers of its rows."""
        return tuple(range(self.top, self.bottom))

    @property
    def columns(self) -> tuple[int, ...]:
        """The numbers of its columns."""
        return tuple(range(self.left, self.right))

    @property
    def positions(self) -> Iterator[tuple[int, int]]:
        """Row and column of each position, row by row."""
        return product(self.rows, self.columns)


class Change(NamedTuple):
    """One change: a row of the frame of changes."""

    step: str
    rows: tuple[int, ...]
    columns: tuple[int, ...]
    before: tuple[str, ...]
    after: tuple[str, ...]
    reason: str


@dataclass(slots=True, eq=False)
class Node:
    """A cell with text.

    Attributes
    ----------
    number : int
        Its number in the table.
    text : str
        Its text.
    box : tuple of float or None
        The smallest box around all that it consists of by now.
    area : Rectangle
        What it covers by now.
    whole : bool
        Whether it covers a rectangle, and alone; else it stays as it is.
    projected : bool
        Whether it is a projected row header.
    """

    number: int
    text: str
    box: Box | None
    area: Rectangle
    whole: bool
    projected: bool


class Draft:
    """A table under way to its canonical form.

    Blank cells are not kept: the positions that no text covers are free, nodes grow into them, and
    what is left is blank cells again in the end.

    Attributes
    ----------
    table : Table
        As given.
    rows, columns : int
        The size of its grid.
    nodes : dict of int to Node
        The cells with text by their numbers.
    owner : list of list of int
        The number of the node at each position, or `FREE`.
    changes : list of Change
        What was changed so far.
    """

    def __init__(self, table: Table) -> None:
        self.table = table
        self.rows, self.columns = table.grid.shape
        self.grid: list[list[int]] = table.grid.tolist()
        owned = Counter(number for row in self.grid for number in row)
        self.nodes = {
            number: _node(number, cell, owned[number])
            for number, cell in enumerate(table.cells)
            if cell.text.strip()
        }
        self.owner = [[n if n in self.nodes else FREE for n in row] for row in self.grid]
        self.changes: list[Change] = []

    def is_free(self, area: Rectangle) -> bool:
        """Return whether no text covers any position of an area."""
        return all(self.owner[row][column] == FREE for row, column in area.positions)

    def nodes_in_row(self, row: int) -> list[Node]:
        """Return the cells with text that reach into a row, from left to right."""
        numbers = dict.fromkeys(n for n in self.owner[row] if n != FREE)
        return [self.nodes[n] for n in numbers]

    def node_at(self, row: int, column: int) -> Node | None:
        """Return the cell with text at a position."""
        number = self.owner[row][column]
        return None if number == FREE else self.nodes[number]

    def is_section(self, row: int) -> bool:
        """Return whether a row's only text is one cell, one row high, that begins in column 0."""
        nodes = self.nodes_in_row(row)
        if self.columns == 1 or len(nodes) != 1 or not nodes[0].whole:
            return False
        top, bottom, left, _ = nodes[0].area
        return left == 0 and bottom - top == 1

    def stretch(self, node: Node, area: Rectangle, step: str) -> None:
        """Let a node cover an area; other nodes within it have the same text and end there."""
        before: dict[int, str] = {}
        boxes = [node.box]
        for row, column in area.positions:
            number = self.owner[row][column]
            found = self.grid[row][column] if number == FREE else number
            before.setdefault(found, self.table.cells[found].text)
            if number == FREE:
                boxes.append(part_of_box(self.table.cells[found], row, column))
            elif number != node.number:
                other = self.nodes.get(number)
                boxes.append(other.box if other else None)
                self.nodes.pop(number, None)
            self.owner[row][column] = node.number
        node.area, node.box = area, hull(boxes)
        self.note(step, area, tuple(before.values()), (node.text,))

    def note(
        self,
        step: str,
        area: Rectangle,
        before: tuple[str, ...],
        after: tuple[str, ...],
        reason: str = "",
    ) -> None:
        """Note a change."""
        reason = reason or REASONS[step]
        self.changes.append(Change(step, area.rows, area.columns, before, after, reason))


def _node(number: int, cell: Cell, owned: int) -> Node:
    area = area_of(cell)
    covered = len(area.rows) * len(area.columns)
    whole = owned == covered == len(cell.rows) * len(cell.columns)
    return Node(number, cell.text, cell.box, area, whole, cell.is_projected)


def area_of(cell: Cell) -> Rectangle:
    """Return the rectangle from a cell's first row and column to its last."""
    return Rectangle(cell.rows[0], cell.rows[-1] + 1, cell.columns[0], cell.columns[-1] + 1)


def hull(boxes: Iterable[Box | None]) -> Box | None:
    """Return the smallest box around boxes; None if there is none."""
    known = [box for box in boxes if box is not None]
    if not known:
        return None
    lefts, tops, rights, bottoms = zip(*known, strict=True)
    return (min(lefts), min(tops), max(rights), max(bottoms))


def part_of_box(cell: Cell, row: int, column: int) -> Box | None:
    """Return the part of a cell's box at a position: the box is divided evenly."""
    if cell.box is None:
        return None
    x0, y0, x1, y1 = cell.box
    left, right = _share(x0, x1, cell.columns, column)
    top, bottom = _share(y0, y1, cell.rows, row)
    return (left, top, right, bottom)


def _share(low: float, high: float, lines: tuple[int, ...], line: int) -> tuple[float, float]:
    at, count = lines.index(line), len(lines)
    edges = [low + (high - low) * n / count for n in (at, at + 1)]
    return edges[0], high if at + 1 == count else edges[1]


def finish(draft: Draft, reasons: dict[int, str], *, given: bool) -> Table:
    """Return the table that a draft has become, and note what is left to note."""
    ending = _Ending(draft, len(reasons), given=given)
    nodes = sorted(draft.nodes.values(), key=lambda n: (n.whole, n.whole and n.area[::2]))
    odd = [ending.cell_of(node) for node in nodes if not node.whole]
    cells = [ending.cell_of(node) for node in nodes if node.whole]
    cells += ending.blank_cells()
    cells.sort(key=lambda cell: (cell.rows[0], cell.columns[0]))
    new = table_of_cells([*odd, *cells])
    table = replace(draft.table, cells=new.cells, grid=new.grid)
    _note_header(draft, table, reasons)
    return table if draft.changes else draft.table


class _Ending:
    def __init__(self, draft: Draft, height: int, *, given: bool) -> None:
        self._draft = draft
        self._height = height
        self._given = given

    def cell_of(self, node: Node) -> Cell:
        cell = self._draft.table.cells[node.number]
        inside = node.area.bottom <= self._height
        stays = cell.is_header and not (self._given or node.projected != cell.is_projected)
        cell = cell._replace(is_header=inside or stays, is_projected=node.projected)
        if not node.whole:
            return cell
        return cell._replace(rows=node.area.rows, columns=node.area.columns, box=node.box)

    def blank_cells(self) -> list[Cell]:
        """Return the blank cells: runs of rows in the header, single positions below."""
        found = []
        pieces: Counter[int] = Counter()
        for area in (*self._blank_runs(), *self._blank_positions()):
            numbers = list(dict.fromkeys(self._draft.grid[r][c] for r, c in area.positions))
            texts = tuple(self._draft.table.cells[n].text for n in numbers)
            found.append(self._blank(area, texts[0]))
            if len(numbers) > 1:
                self._draft.note("blank", area, texts, texts[:1])
            elif area_of(self._draft.table.cells[numbers[0]]) != area:
                pieces[numbers[0]] += 1
        for number, count in pieces.items():
            cell = self._draft.table.cells[number]
            self._draft.note("split", area_of(cell), (cell.text,), (cell.text,) * count)
        return found

    def _blank(self, area: Rectangle, text: str) -> Cell:
        cells = [(self._draft.table.cells[self._draft.grid[r][c]], r, c) for r, c in area.positions]
        box = hull(part_of_box(*part) for part in cells)
        inside = area.bottom <= self._height
        is_header = inside or (cells[0][0].is_header and not self._given)
        is_projected = cells[0][0].is_projected
        return Cell(area.rows, area.columns, text, box, is_header, is_projected)

    def _blank_runs(self) -> Iterator[Rectangle]:
        owner = self._draft.owner
        for column in range(self._draft.columns):
            top = 0
            for row in range(self._height + 1):
                if row == self._height or owner[row][column] != FREE:
                    if row > top:
                        yield Rectangle(top, row, column, column + 1)
                    top = row + 1

    def _blank_positions(self) -> Iterator[Rectangle]:
        for row in range(self._height, self._draft.rows):
            for column, number in enumerate(self._draft.owner[row]):
                if number == FREE:
                    yield Rectangle(row, row + 1, column, column + 1)


def _note_header(draft: Draft, table: Table, reasons: dict[int, str]) -> None:
    """Note the rows in which flags of the header are set or taken away, before all else."""
    noted, draft.changes = draft.changes, []
    for row, (numbers, others) in enumerate(zip(draft.grid, table.grid.tolist(), strict=True)):
        before = [draft.table.cells[n].is_header for n in numbers]
        after = [table.cells[n].is_header for n in others]
        if before != after:
            texts = tuple(draft.table.cells[n].text for n in dict.fromkeys(numbers))
            reason = reasons.get(row, "the row is not one of the header")
            area = Rectangle(row, row + 1, 0, draft.columns)
            draft.note("header", area, texts, texts, reason)
    draft.changes += noted


def merge_header(draft: Draft, height: int) -> None:
    """Merge what is one node in the first rows of a draft, until nothing is left to merge."""
    rules = (_merge_repeated, _widen, _grow_up, _grow_down)
    while any(_apply(rule, draft, height) for rule in rules):
        pass


_Rule = Callable[[Draft, Node, int], tuple[Rectangle, str] | None]


def _apply(rule: _Rule, draft: Draft, height: int) -> bool:
    """Apply a rule to all cells of the header, from the top."""
    changed = False
    nodes = [n for n in draft.nodes.values() if n.whole and n.area.bottom <= height]
    for node in sorted(nodes, key=lambda n: (n.area.top, n.area.left)):
        found = rule(draft, node, height) if node.number in draft.nodes else None
        if found is not None:
            draft.stretch(node, *found)
            changed = True
    return changed


def _merge_repeated(draft: Draft, node: Node, height: int) -> tuple[Rectangle, str] | None:
    """Return the area of a cell and its neighbours on the right, or below, with the same text."""
    area = node.area
    wider = area._replace(right=_last_on_right(draft, node).area.right)
    if wider != area and _is_parent(draft, wider, height):
        return wider, "repeated"
    taller = area._replace(bottom=_last_below(draft, node, height).area.bottom)
    return (taller, "repeated") if taller != area else None


def _last_on_right(draft: Draft, node: Node) -> Node:
    """Return the last of the cells on the right of a cell with the same text, and parent."""
    last, above = node, draft.owner[node.area.top - 1] if node.area.top else None
    while (column := last.area.right) < draft.columns:
        other = draft.node_at(node.area.top, column)
        if other is None or not _is_same(last, other, axis=0):
            break
        if above is not None and above[column] != above[node.area.left]:
            break
        last = other
    return last


def _last_below(draft: Draft, node: Node, height: int) -> Node:
    """Return the last of the header cells below a cell with the same text."""
    last = node
    while last.area.bottom < height:
        other = draft.node_at(last.area.bottom, last.area.left)
        if other is None or other.area.bottom > height or not _is_same(last, other, axis=1):
            break
        last = other
    return last


def _is_same(one: Node, other: Node, *, axis: int) -> bool:
    """Return whether neighbours have the same text and extent, and boxes without a gap."""
    along = slice(0, 2) if axis == 0 else slice(2, 4)
    return (
        other.whole
        and one.text.strip() == other.text.strip()
        and one.area[along] == other.area[along]
        and _touch(one.box, other.box, axis)
    )


def _touch(one: Box | None, other: Box | None, axis: int) -> bool:
    if one is None or other is None:
        return True
    return max(one[axis], other[axis]) <= min(one[axis + 2], other[axis + 2])


def _widen(draft: Draft, node: Node, height: int) -> tuple[Rectangle, str] | None:
    """Return the area of a cell over one column with the blank ones on its right."""
    area, below = node.area, range(node.area.bottom, height)
    column = area.right
    if column - area.left > 1 or not below or draft.owner[area.bottom][area.left] == FREE:
        return None
    while column < draft.columns and _continues(draft, area, column):
        if not _has_own(draft, below, column):
            break
        column += 1
    wider = area._replace(right=column)
    return (wider, "parent") if wider != area and _is_parent(draft, wider, height) else None


def _continues(draft: Draft, area: Rectangle, column: int) -> bool:
    """Return whether a column is blank beside an area, and below the same node."""
    if area.top and draft.owner[area.top - 1][column] != draft.owner[area.top - 1][area.left]:
        return False
    return draft.is_free(area._replace(left=column, right=column + 1))


def _is_parent(draft: Draft, area: Rectangle, height: int) -> bool:
    """Return whether an area can be one node: its columns are told apart below it."""
    below = range(area.bottom, height)
    paths = [_texts_below(draft, below, column) for column in area.columns]
    return (
        len(set(paths)) == len(paths)
        and all(_has_own(draft, below, column) for column in area.columns)
        and not any(_is_crossed(draft, below, edge) for edge in (area.left, area.right))
    )


def _has_own(draft: Draft, rows: range, column: int) -> bool:
    """Return whether one of the rows has a cell with text over this column alone."""
    found = (draft.node_at(row, column) for row in rows)
    return any(
        node is not None and node.area.right - node.area.left == 1 and node.area.bottom <= rows.stop
        for node in found
    )


def _texts_below(draft: Draft, rows: range, column: int) -> tuple[str, ...]:
    numbers = dict.fromkeys(draft.owner[row][column] for row in rows)
    return tuple(draft.nodes[n].text.strip() for n in numbers if n != FREE)


def _is_crossed(draft: Draft, rows: range, edge: int) -> bool:
    """Return whether a cell with text lies on both sides of the left edge of a column."""
    if edge in (0, draft.columns):
        return False
    pairs = ((draft.owner[row][edge - 1], draft.owner[row][edge]) for row in rows)
    return any(left == right != FREE for left, right in pairs)


def _grow_up(draft: Draft, node: Node, height: int) -> tuple[Rectangle, str] | None:
    """Return the area of a cell with the rows above it in which all its columns are blank."""
    area = node.area
    while area.top and draft.is_free(area._replace(top=area.top - 1, bottom=area.top)):
        area = area._replace(top=area.top - 1)
    return (area, "blank") if area != node.area else None


def _grow_down(draft: Draft, node: Node, height: int) -> tuple[Rectangle, str] | None:
    """Return the area of a cell with the header rows below it that are blank."""
    area = node.area
    while area.bottom < height and draft.is_free(
        area._replace(top=area.bottom, bottom=area.bottom + 1)
    ):
        area = area._replace(bottom=area.bottom + 1)
    return (area, "blank") if area != node.area else None


_GUESSED = "no row is flagged as the header: the first one is taken for it"
_GIVEN = "the header has as many rows as the caller says"
_FLAGGED = "the other cells of the row are flagged as the header"
_NEXT = "the row is flagged as the header and follows it"
_TIED = "a header cell reaches into the row"
_OPEN = "above it a cell spans columns that have no header cell of their own"
_UNTOLD = "above it columns have no name, or the same; the row, blank at its start, has names"


class HeaderRows:
    """The rows of the column header of a draft.

    Attributes
    ----------
    count : int
        How many rows from the first.
    reasons : dict of int to str
        Why a row belongs to it.
    """

    def __init__(self, draft: Draft, given: int | None) -> None:
        self._draft = draft
        self._given = given
        self._flagged = self._flagged_rows()
        self.count = 0
        self.reasons: dict[int, str] = {}
        if given is not None:
            self._take(given, _GIVEN)
        else:
            self._take(len(list(takewhile(bool, self._flagged))), _FLAGGED)
        is_guessed = given is None and not self.count and draft.rows > 1
        if is_guessed:
            self._take(1, _GUESSED)
        if not self.extend() and is_guessed and self._next() is not None:
            self.count, self.reasons = 0, {}

    def _take(self, count: int, reason: str) -> None:
        for row in range(self.count, count):
            self.reasons[row] = reason
        self.count = count

    def extend(self) -> bool:
        """Add the rows below that belong to the header; return whether there were any.

        A header that would reach to the last row stays as it is.
        """
        start, known = self.count, dict(self.reasons)
        while self.count < self._draft.rows and (found := self._next()) is not None:
            self._take(*found)
        if self.count == self._draft.rows:
            self.count, self.reasons = start, known
        return self.count > start

    def _next(self) -> tuple[int, str] | None:
        """Return to where the header reaches at least, and why; None if it is complete."""
        if self.count in (0, self._draft.rows):
            return None
        areas = [node.area for node in self._draft.nodes.values()]
        reach = max((area.bottom for area in areas if area.top < self.count), default=0)
        if reach > self.count:
            return reach, _TIED
        if self._given is not None:
            return None
        if self._flagged[self.count]:
            return self.count + 1, _NEXT
        if any(map(self._is_column_open, range(self._draft.columns))):
            return self.count + 1, _OPEN
        return (self.count + 1, _UNTOLD) if self._is_untold() else None

    def _is_column_open(self, column: int) -> bool:
        """Return whether a column ends in a cell over several, one row high, and has none alone."""
        last = self._draft.node_at(self.count - 1, column)
        if last is None or last.area.bottom - last.area.top > 1:
            return False
        return not any(_is_single(node) for node in self._path(column))

    def _is_untold(self) -> bool:
        """Return whether the next row tells columns apart that have no name, or the same."""
        below = self._draft.owner[self.count]
        if not self._path(0) or below[0] != FREE:
            return False
        unnamed = sorted(self._unnamed())
        nodes = {c: self._draft.node_at(self.count, c) for c in unnamed}
        texts = {c: n.text.strip() for c, n in nodes.items() if n is not None and _is_single(n)}
        return (
            bool(unnamed)
            and len(texts) == len(unnamed)
            and not any(texts[c] == texts.get(c + 1) for c in unnamed)
        )

    def _unnamed(self) -> set[int]:
        """Return the columns that have no header text of their own, or the same as a neighbour."""
        paths = [self._path(column) for column in range(self._draft.columns)]
        names = [_texts(path) for path in paths]
        found = {c for c, path in enumerate(paths) if c and not any(map(_is_single, path))}
        for column in range(2, self._draft.columns):
            if names[column - 1] == names[column]:
                found |= {column - 1, column}
        return found

    def _path(self, column: int) -> list[Node]:
        """Return the header's cells with text over a column, from the top."""
        numbers = dict.fromkeys(self._draft.owner[row][column] for row in range(self.count))
        return [self._draft.nodes[n] for n in numbers if n != FREE]

    def _flagged_rows(self) -> list[bool]:
        """Return for each row whether its flags make it one of the header.

        A row with a section's name alone is one only if all of it is flagged, blank cells too, and
        it is more than one cell; or if it is the first; or if such a row follows.
        """
        found = [self._is_flagged(row) for row in range(self._draft.rows)]
        for row in reversed(range(1, self._draft.rows)):
            follows = row + 1 < self._draft.rows and found[row + 1]
            if found[row] and self._draft.is_section(row) and not follows:
                found[row] = FREE in self._draft.owner[row] and self._all_flagged(row)
        return found

    def _is_flagged(self, row: int) -> bool:
        """Return whether all texts of a row are flagged, or all beyond the first column."""
        cells = [self._draft.table.cells[node.number] for node in self._draft.nodes_in_row(row)]
        beyond = [cell for cell in cells if cell.columns[0] > 0]
        return all(c.is_header for c in (beyond or cells)) if cells else self._all_flagged(row)

    def _all_flagged(self, row: int) -> bool:
        return all(self._draft.table.cells[n].is_header for n in self._draft.grid[row])


def _is_single(node: Node) -> bool:
    return node.area.right - node.area.left == 1


def _texts(path: list[Node]) -> list[str]:
    """Return the texts of a path; one that is repeated below itself counts once."""
    texts = [node.text.strip() for node in path]
    return [text for n, text in enumerate(texts) if not n or texts[n - 1] != text]


def project(draft: Draft, height: int) -> None:
    """Make one flagged cell of each row below the header whose only text is in its first cell.

    Rows of that kind after which no other row has text are notes, or a total without numbers; they
    stay as they are unless they were flagged.
    """
    body = range(height, draft.rows)
    sections = [row for row in body if draft.is_section(row)]
    others = [row for row in body if draft.nodes_in_row(row) and row not in set(sections)]
    last = max(others, default=-1)
    for row in sections:
        node = draft.nodes_in_row(row)[0]
        if row < last or node.projected:
            _project(draft, node, Rectangle(row, row + 1, 0, draft.columns))


def _project(draft: Draft, node: Node, area: Rectangle) -> None:
    known, node.projected = node.projected, True
    if node.area != area:
        draft.stretch(node, area, "projected")
    elif not known:
        draft.note("projected", area, (node.text,), (node.text,))


def fill_first_column(draft: Draft, height: int) -> None:
    """Merge cells of the first column below the header with the blank ones below them.

    Only where the second column has text in each of their rows, all different, and no cell of it
    reaches beyond them.
    """
    if draft.columns == 1:
        return
    for node in sorted(draft.nodes.values(), key=lambda node: node.area.top):
        top, bottom, _, right = node.area
        if node.whole and right == 1 and top >= height:
            while bottom < draft.rows and _continues_above(draft.owner[bottom]):
                bottom += 1
            if bottom > node.area.bottom and _is_divided(draft, top, bottom):
                draft.stretch(node, node.area._replace(bottom=bottom), "row_header")


def _continues_above(row: list[int]) -> bool:
    return row[0] == FREE != row[1]


def _is_divided(draft: Draft, top: int, bottom: int) -> bool:
    column = [row[1] for row in draft.owner]
    numbers = list(dict.fromkeys(column[top:bottom]))
    if FREE in numbers or column[top - 1 : top] == column[top : top + 1]:
        return False
    if column[bottom - 1 : bottom] == column[bottom : bottom + 1]:
        return False
    texts = [draft.nodes[number].text.strip() for number in numbers]
    return len(set(texts)) == len(texts)


_MOST_ROWS, _MOST_COLUMNS = 30, 12
_STYLE = """<style>
.xb-canonical{display:flex;flex-wrap:wrap;gap:.4em 2em}
.xb-canonical>div{max-width:100%;overflow-x:auto}
.xb-canonical.xb-canonical td{border:1px solid var(--jp-border-color2,#8886);height:1.5em;
min-width:1.5em;padding:.1em .5em;unicode-bidi:plaintext}
.xb-canonical.xb-canonical td.xb-header{font-weight:600}
.xb-canonical.xb-canonical td.xb-projected{font-style:italic;font-weight:600}
.xb-canonical.xb-canonical td.xb-changed{border:2px dashed #b3701a;background:#e8a33d33}
</style>"""


def canonical_html(title: str, before: Table, after: Table) -> str:
    """Write both tables side by side, with the cells marked that only one of them has."""
    grids = "".join(
        f"<div><div>{name}</div>{_grid_html(table, frozenset(other.cells))}</div>"
        for name, table, other in (("before", before, after), ("after", after, before))
    )
    legend = "Dashed: cells that only this side has. Bold: header. Italic: projected row header."
    return (
        f'<div class="xb-root">{STYLE}{_STYLE}<div class="xb-title">{document_text(title, 200)}'
        f'</div><div class="xb-canonical">{grids}</div><div>{legend}{_beyond(before)}</div></div>'
    )


def _beyond(table: Table) -> str:
    sizes = zip(("rows", "columns"), table.grid.shape, (_MOST_ROWS, _MOST_COLUMNS), strict=True)
    hidden = [f"{size - most:,} more {name}" for name, size, most in sizes if size > most]
    return f" … {', '.join(hidden)}." if hidden else ""


def _grid_html(table: Table, others: frozenset[Cell]) -> str:
    shown = table.grid[:_MOST_ROWS, :_MOST_COLUMNS].tolist()
    rows = ("".join(_cells_html(table, shown, row, others)) for row in range(len(shown)))
    return f"<table><tbody>{''.join(f'<tr>{row}</tr>' for row in rows)}</tbody></table>"


def _cells_html(
    table: Table, shown: list[list[int]], row: int, others: frozenset[Cell]
) -> Iterator[str]:
    for column, number in enumerate(shown[row]):
        cell = table.cells[number]
        height, width = _extent(cell, shown, number)
        if height and (row, column) != (cell.rows[0], cell.columns[0]):
            continue
        marks = {
            "xb-header": cell.is_header,
            "xb-projected": cell.is_projected,
            "xb-changed": cell not in others,
        }
        names = " ".join(name for name, is_set in marks.items() if is_set)
        told = f' class="{names}"' if names else ""
        text = document_text(cell.text, 40)
        yield f"<td{told}{spans_html(height, width)}>{text}</td>"


def _extent(cell: Cell, shown: list[list[int]], number: int) -> tuple[int, int]:
    """Return how many shown rows and columns a cell covers; (0, 0) if it is not a rectangle."""
    rows = [row for row in cell.rows if row < len(shown)]
    columns = [column for column in cell.columns if column < len(shown[0])]
    covered = [
        shown[row][column]
        for row in range(rows[0], rows[-1] + 1)
        for column in range(columns[0], columns[-1] + 1)
    ]
    is_alone = all(found == number for found in covered)
    return (len(rows), len(columns)) if is_alone else (0, 0)


CHANGE_COLUMNS = FrameSpec(
    "changes",
    "one row per change: a cell that covers more than before, is cut, or has other flags",
    (
        Column("step", "string", "what was done", ", ".join(REASONS)),
        Column("rows", "object", "the rows that the change is about, a tuple of int"),
        Column("columns", "object", "its columns, a tuple of int"),
        Column("before", "object", "texts of the cells that stood there, a tuple of str"),
        Column("after", "object", "texts of the cells that stand there now, a tuple of str"),
        Column("reason", "string", "why, in words"),
    ),
)


@dataclass(frozen=True, eq=False, repr=False)
class Canonical:
    """A table in canonical form; made by `canonicalize`.

    Parameters
    ----------
    table : Table
        The table; the given one where nothing was changed, else with its cells in reading order.
    changes : pandas.DataFrame
        One row per change, in the order of the steps: step, rows, columns, before, after, reason.
    given : Table
        The table as it was read.
    """

    table: Table
    changes: pd.DataFrame
    given: Table

    def __repr__(self) -> str:
        """Return how many changes there are, by step, and the size of the table."""
        rows, columns = self.table.grid.shape
        count = len(self.changes)
        steps = self.changes["step"].value_counts(sort=False)
        by_step = ", ".join(f"{number} {step}" for step, number in steps.items())
        told = f"{count} change{'' if count == 1 else 's'}{': ' if by_step else ''}{by_step}"
        return f"Canonical({told}; {rows} x {columns} positions)"

    def _repr_html_(self) -> str:
        return canonical_html(repr(self), self.given, self.table)


def canonicalize(cells: Any, *, header_rows: int | None = None, name: str = "table") -> Canonical:
    """Bring a table into canonical form: one cell for each node of its headers.

    Parameters
    ----------
    cells : Table or whatever `read_table` reads
        The table: a list of cells with ``row_nums`` and ``column_nums``, say.
    header_rows : int, optional
        How many rows the column header has, whatever is flagged; 0 for none. By default as flagged,
        or the first row where none is, and then as many more as it takes until every column has a
        header cell of its own.
    name : str, optional
        What errors call the table.

    Returns
    -------
    Canonical
        ``.table``, ``.changes``. Canonicalizing the result again with the same arguments changes
        nothing. No text is lost or moved, and no cells with different texts are merged.

    Raises
    ------
    InputError
        The table is not as it should be, or has fewer rows than `header_rows`.

    Notes
    -----
    The principle is that of section 4 of Smock, Pesala and Abraham, "PubTables-1M: Towards
    comprehensive table extraction from unstructured documents" (2022): the headers of rows and
    columns are trees, with one cell per node. ``docs/tables.md`` has the steps as rules, and says
    which are ours.

    Examples
    --------
    >>> texts = [["Item", "Sales", ""], ["", "2020", "2021"], ["Paper", "5", "7"]]
    >>> cells = [
    ...     {"row_nums": [r], "column_nums": [c], "text": text, "is_column_header": r < 2}
    ...     for r, row in enumerate(texts)
    ...     for c, text in enumerate(row)
    ... ]
    >>> found = canonicalize(cells)
    >>> found
    Canonical(2 changes: 1 parent, 1 blank; 3 x 3 positions)
    >>> found.table.texts[:2]
    [['Item', 'Sales', 'Sales'], ['Item', '2020', '2021']]
    """
    table = read_table(cells, name=name).rebuilt()
    asked: Any = header_rows
    if asked is not None:
        if not isinstance(asked, int | np.integer) or isinstance(asked, bool):
            raise InputError(f"header_rows is {asked!r}; expected a whole number, or None")
        if not 0 <= asked <= len(table.grid):
            raise InputError(
                f"header_rows is {asked}; expected 0 to {len(table.grid)}, the rows of {name}"
            )
    found, changes = table, list[Change]()
    while more := (result := _once(found, header_rows))[1]:  # a step may make way for one before it
        found = result[0]
        changes += more
    return Canonical(found, CHANGE_COLUMNS.from_rows(changes), table)


def _once(table: Table, header_rows: int | None) -> tuple[Table, list[Change]]:
    """Do all steps, and return the table with its changes."""
    if not table.size:
        return table, []
    draft = Draft(table)
    header = HeaderRows(draft, header_rows)
    merge_header(draft, header.count)
    while header.extend():
        merge_header(draft, header.count)
    project(draft, header.count)
    fill_first_column(draft, header.count)
    return finish(draft, header.reasons, given=header_rows is not None), draft.changes
