"""A table under way to its canonical form: cells with text that grow into blank positions."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import product
from typing import NamedTuple

from extractbench_nb.grits.cells import Box, Cell, Table

__all__ = ["FREE", "REASONS", "Change", "Draft", "Node", "Rectangle"]

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
