"""The draft on which headers are completed, and the way back to a table."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from itertools import product
from typing import NamedTuple

from extractbench_nb.tables.cells import Box, Cell, Table, table_of_cells

__all__ = ["FREE", "REASONS", "Change", "Draft", "Node", "Rectangle", "finish"]


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
    "split": "a blank cell over several positions is no node",
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
        owned = self._owned()
        self.nodes = {
            number: _node(number, cell, owned.get(number, 0))
            for number, cell in enumerate(table.cells)
            if cell.text.strip()
        }
        self.owner = [[n if n in self.nodes else FREE for n in row] for row in self.grid]
        self.changes: list[Change] = []

    def _owned(self) -> dict[int, int]:
        counts: dict[int, int] = {}
        for number in (n for row in self.grid for n in row):
            counts[number] = counts.get(number, 0) + 1
        return counts

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
        """Return whether a row's only text is in a cell of its own that begins in column 0."""
        found = self.nodes_in_row(row)
        if self.columns == 1 or len(found) != 1 or not found[0].whole:
            return False
        top, bottom, left, _ = found[0].area
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
    """Return the smallest box around boxes; None where there is none."""
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
        pieces: dict[int, int] = {}
        for area in (*self._blank_runs(), *self._blank_positions()):
            numbers = list(dict.fromkeys(self._draft.grid[r][c] for r, c in area.positions))
            texts = tuple(self._draft.table.cells[n].text for n in numbers)
            found.append(self._blank(area, texts[0]))
            if len(numbers) > 1:
                self._draft.note("blank", area, texts, texts[:1])
            elif area_of(self._draft.table.cells[numbers[0]]) != area:
                pieces[numbers[0]] = pieces.get(numbers[0], 0) + 1
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
