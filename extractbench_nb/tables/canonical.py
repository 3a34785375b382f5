"""`canonicalize`: one cell for each node of a table's headers."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from functools import partial
from itertools import groupby, product
from typing import Any, NamedTuple, TypeAlias

import numpy as np
import pandas as pd

from extractbench_nb.core.frames import Column, FrameSpec
from extractbench_nb.errors import InputError
from extractbench_nb.support.wording import plural
from extractbench_nb.tables.cells import (
    Box,
    Cell,
    Indices,
    Table,
    is_whole,
    leading,
    table_of_cells,
)
from extractbench_nb.tables.reading import read_table

#: In place of a node's number: no cell with text covers the position.
FREE = -1

#: In order.
STEPS = ("header", "repeated", "parent", "blank", "projected", "row_header", "split")

Texts: TypeAlias = tuple[str, ...]
#: A row of `CHANGE_COLUMNS`.
Change: TypeAlias = tuple[str, tuple[int, ...], tuple[int, ...], Texts, Texts]


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


def area_of(cell: Cell) -> Rectangle:
    """Return the rectangle from a cell's first row and column to its last."""
    return Rectangle(cell.rows[0], cell.rows[-1] + 1, cell.columns[0], cell.columns[-1] + 1)


@dataclass(slots=True, eq=False)
class Node:
    """A cell with text, the area that it covers so far, and the smallest box around that area.

    A cell that does not cover a rectangle alone is not `whole`, and is not changed.
    """

    number: int
    text: str
    box: Box | None
    area: Rectangle
    whole: bool
    projected: bool

    @property
    def is_single(self) -> bool:
        """Whether it covers one column."""
        return self.area.right - self.area.left == 1


class Draft:
    """A table while it is brought into canonical form.

    Blank cells are dropped: positions without text are free, nodes grow into them, and the
    remaining ones become blank cells again at the end. `owner` has the number of the node at each
    position, or `FREE`; `height` is the number of header rows.
    """

    def __init__(self, table: Table, header_rows: int | None) -> None:
        self.table, self.grid, self.header_rows = table, table.grid, header_rows
        self.rows, self.columns = table.grid.shape
        owned = np.bincount(table.grid.ravel(), minlength=len(table.cells)).tolist()
        self.nodes: dict[int, Node] = {}
        for n, cell in enumerate(table.cells):
            if cell.text.strip():
                area = area_of(cell)
                covered = len(area.rows) * len(area.columns)
                is_rectangle = owned[n] == covered == len(cell.rows) * len(cell.columns)
                flags = is_rectangle, cell.is_projected
                self.nodes[n] = Node(n, cell.text, cell.box, area, *flags)
        self.owner = np.where(np.isin(table.grid, list(self.nodes)), table.grid, FREE)
        self.changes: list[Change] = []
        self._flagged = self._flagged_rows()
        self.height = leading(self._flagged) if header_rows is None else header_rows
        is_guessed = header_rows is None and not self.height and self.rows > 1
        self.height = 1 if is_guessed else self.height
        if not self.extend_header() and is_guessed and self._next_header_row() is not None:
            self.height = 0

    def nodes_in(self, owners: Indices) -> list[Node]:
        """Return the cells with text among the owners of some positions, each once."""
        return [self.nodes[n] for n in dict.fromkeys(owners.tolist()) if n != FREE]

    def node_at(self, row: int, column: int) -> Node | None:
        """Return the cell with text at a position."""
        return self.nodes.get(int(self.owner[row, column]))

    def is_free(self, area: Rectangle) -> bool:
        """Return whether no text covers any position of an area."""
        return bool((self.owner[area.top : area.bottom, area.left : area.right] == FREE).all())

    def is_section(self, row: int) -> bool:
        """Return whether a row's only text is one cell, one row high, that begins in column 0."""
        nodes = self.nodes_in(self.owner[row])
        if self.columns == 1 or len(nodes) != 1 or not nodes[0].whole:
            return False
        top, bottom, left, _ = nodes[0].area
        return left == 0 and bottom - top == 1

    def stretch(self, node: Node, area: Rectangle, step: str) -> None:
        """Extend a node to an area; other nodes in it have the same text and are removed."""
        before: dict[int, str] = {}
        boxes = [node.box]
        for row, column in product(area.rows, area.columns):
            number = int(self.owner[row, column])
            found = int(self.grid[row, column]) if number == FREE else number
            before.setdefault(found, self.table.cells[found].text)
            if number == FREE:
                boxes.append(part_of_box(self.table.cells[found], row, column))
            elif number != node.number:
                other = self.nodes.pop(number, None)
                boxes.append(other.box if other else None)
            self.owner[row, column] = node.number
        node.area, node.box = area, hull(boxes)
        self.note(step, area, tuple(before.values()), (node.text,))

    def note(self, step: str, area: Rectangle, before: Texts, after: Texts) -> None:
        """Note a change."""
        self.changes.append((step, area.rows, area.columns, before, after))

    def extend_header(self) -> bool:
        """Add the rows below that belong to the header; return whether there were any.

        A header that would include the last row is not changed.
        """
        start = self.height
        while self.height < self.rows and (height := self._next_header_row()) is not None:
            self.height = height
        if self.height == self.rows:
            self.height = start
        return self.height > start

    def _next_header_row(self) -> int | None:
        """Return the least number of header rows; None if the header is complete.

        The next row belongs to it if a header cell reaches into it, if it is flagged, if a cell
        above spans columns that have no header cell of their own, or if it names columns.
        """
        if self.height in (0, self.rows):
            return None
        areas = [node.area for node in self.nodes.values()]
        reach = max((area.bottom for area in areas if area.top < self.height), default=0)
        if reach > self.height:
            return reach
        belongs = self.header_rows is None and (
            self._flagged[self.height]
            or any(map(self._is_column_open, range(self.columns)))
            or self._names_columns()
        )
        return self.height + 1 if belongs else None

    def _is_column_open(self, column: int) -> bool:
        """Return whether a column ends in a cell over several, one row high, and has none alone."""
        last = self.node_at(self.height - 1, column)
        if last is None or last.area.bottom - last.area.top > 1:
            return False
        return not any(node.is_single for node in self.nodes_in(self.owner[: self.height, column]))

    def _names_columns(self) -> bool:
        """Return whether the next row names columns that have no name, or the same name."""
        paths = [self.nodes_in(self.owner[: self.height, column]) for column in range(self.columns)]
        if not paths[0] or self.owner[self.height, 0] != FREE:
            return False
        # the texts of a column; one that is repeated below itself counts once
        names = [[text for text, _ in groupby(n.text.strip() for n in path)] for path in paths]
        unnamed = {c for c, path in enumerate(paths) if c and not any(n.is_single for n in path)}
        for column in range(2, len(paths)):
            if names[column - 1] == names[column]:
                unnamed |= {column - 1, column}
        nodes = {c: self.node_at(self.height, c) for c in unnamed}
        texts = {c: n.text.strip() for c, n in nodes.items() if n is not None and n.is_single}
        are_all_named = len(texts) == len(unnamed) > 0
        return are_all_named and not any(texts[c] == texts.get(c + 1) for c in unnamed)

    def _flagged_rows(self) -> list[bool]:
        """Return for each row whether its flags make it one of the header.

        All texts of such a row are flagged, or all beyond the first column. A row with a section's
        name alone is one only if all of it is flagged, blank cells too, and it is more than one
        cell; or if it is the first; or if such a row follows.
        """
        cells, flagged, complete = self.table.cells, [], []
        for row, numbers in enumerate(self.grid.tolist()):
            complete.append(all(cells[n].is_header for n in numbers))
            texts = [cells[node.number] for node in self.nodes_in(self.owner[row])]
            beyond = [cell for cell in texts if cell.columns[0] > 0]
            flagged.append(all(c.is_header for c in beyond or texts) if texts else complete[-1])
        for row in reversed(range(1, self.rows)):
            follows = row + 1 < self.rows and flagged[row + 1]
            if flagged[row] and self.is_section(row) and not follows:
                flagged[row] = FREE in self.owner[row] and complete[row]
        return flagged


def hull(boxes: Iterable[Box | None]) -> Box | None:
    """Return the smallest box around boxes; None if there is none."""
    present = [box for box in boxes if box is not None]
    if not present:
        return None
    lefts, tops, rights, bottoms = zip(*present, strict=True)
    return (min(lefts), min(tops), max(rights), max(bottoms))


def part_of_box(cell: Cell, row: int, column: int) -> Box | None:
    """Return the part of a cell's box at a position: the box is divided evenly."""
    if cell.box is None:
        return None
    x0, y0, x1, y1 = cell.box
    edges = []
    for low, high, lines, line in ((x0, x1, cell.columns, column), (y0, y1, cell.rows, row)):
        index, count = lines.index(line), len(lines)
        end = high if index + 1 == count else low + (high - low) * (index + 1) / count
        edges.append((low + (high - low) * index / count, end))
    (left, right), (top, bottom) = edges
    return (left, top, right, bottom)


def finish(draft: Draft) -> Table:
    """Return the resulting table, and note the remaining changes."""
    odd, cells = [], _blank_cells(draft)
    for node in draft.nodes.values():
        cell = draft.table.cells[node.number]
        inside = node.area.bottom <= draft.height
        stays = cell.is_header and draft.header_rows is None and node.projected == cell.is_projected
        cell = cell._replace(is_header=inside or stays, is_projected=node.projected)
        if node.whole:
            rows, columns = node.area.rows, node.area.columns
            cells.append(cell._replace(rows=rows, columns=columns, box=node.box))
        else:
            odd.append(cell)
    cells.sort(key=lambda cell: (cell.rows[0], cell.columns[0]))
    new = table_of_cells([*odd, *cells])
    table = replace(draft.table, cells=new.cells, grid=new.grid)
    # rows in which header flags change are noted first
    noted, draft.changes = draft.changes, []
    grids = zip(draft.grid.tolist(), table.grid.tolist(), strict=True)
    for row, (numbers, others) in enumerate(grids):
        before = [draft.table.cells[n].is_header for n in numbers]
        if before != [table.cells[n].is_header for n in others]:
            texts = tuple(draft.table.cells[n].text for n in dict.fromkeys(numbers))
            draft.note("header", Rectangle(row, row + 1, 0, draft.columns), texts, texts)
    draft.changes += noted
    return table if draft.changes else draft.table


def _blank_areas(draft: Draft) -> Iterator[Rectangle]:
    """Yield the areas of blank cells: runs of rows in the header, single positions below."""
    for column in range(draft.columns):
        top = 0
        for row in range(draft.height + 1):
            if row == draft.height or draft.owner[row, column] != FREE:
                if row > top:
                    yield Rectangle(top, row, column, column + 1)
                top = row + 1
    for row, column in np.argwhere(draft.owner[draft.height :] == FREE).tolist():
        top = draft.height + row
        yield Rectangle(top, top + 1, column, column + 1)


def _blank_cells(draft: Draft) -> list[Cell]:
    blank = []
    pieces: Counter[int] = Counter()
    for area in _blank_areas(draft):
        numbers = list(dict.fromkeys(draft.grid[area.top : area.bottom, area.left].tolist()))
        cells = [draft.table.cells[n] for n in numbers]
        texts = tuple(cell.text for cell in cells)
        boxes = (
            part_of_box(draft.table.cells[draft.grid[r, area.left]], r, area.left)
            for r in area.rows
        )
        stays = cells[0].is_header and draft.header_rows is None
        flags = (area.bottom <= draft.height or stays, cells[0].is_projected)
        blank.append(Cell(area.rows, area.columns, texts[0], hull(boxes), *flags))
        if len(numbers) > 1:
            draft.note("blank", area, texts, texts[:1])
        elif area_of(cells[0]) != area:
            pieces[numbers[0]] += 1
    for number, count in pieces.items():
        cell = draft.table.cells[number]
        draft.note("split", area_of(cell), (cell.text,), (cell.text,) * count)
    return blank


def merge_header(draft: Draft) -> None:
    """Merge the nodes in the header of a draft until nothing changes."""
    rules = (_merge_repeated, _widen, partial(_grow, -1), partial(_grow, 1))
    while any(_apply(rule, draft) for rule in rules):
        pass


#: Returns the new area of a cell, and the step; None if the cell does not change.
_Rule: TypeAlias = Callable[[Draft, Node], tuple[Rectangle, str] | None]


def _apply(rule: _Rule, draft: Draft) -> bool:
    changed = False
    nodes = [n for n in draft.nodes.values() if n.whole and n.area.bottom <= draft.height]
    for node in sorted(nodes, key=lambda n: (n.area.top, n.area.left)):
        found = rule(draft, node) if node.number in draft.nodes else None
        if found is not None:
            draft.stretch(node, *found)
            changed = True
    return changed


def _merge_repeated(draft: Draft, node: Node) -> tuple[Rectangle, str] | None:
    """Join a cell and its neighbours on the right, or below, with the same text."""
    area = node.area
    wider = area._replace(right=_last_alike(draft, node, axis=0).right)
    if wider != area and _is_parent(draft, wider):
        return wider, "repeated"
    taller = area._replace(bottom=_last_alike(draft, node, axis=1).bottom)
    return (taller, "repeated") if taller != area else None


def _last_alike(draft: Draft, node: Node, *, axis: int) -> Rectangle:
    """Return the area of the last of the neighbours on the right (axis 0) or below (1).

    They have the same text and extent, boxes without a gap, and on the right the same parent.
    """
    last, top = node, node.area.top
    above = draft.owner[top - 1] if top and axis == 0 else None
    along = slice(2 * axis, 2 * axis + 2)
    while (last.area.right < draft.columns) if axis == 0 else (last.area.bottom < draft.height):
        row, column = (top, last.area.right) if axis == 0 else (last.area.bottom, last.area.left)
        other = draft.node_at(row, column)
        if (
            other is None
            or not other.whole
            or other.area.bottom > draft.height
            or other.text.strip() != last.text.strip()
            or other.area[along] != last.area[along]
            or not _touch(last.box, other.box, axis)
            or (above is not None and above[column] != above[node.area.left])
        ):
            break
        last = other
    return last.area


def _touch(one: Box | None, other: Box | None, axis: int) -> bool:
    if one is None or other is None:
        return True
    return max(one[axis], other[axis]) <= min(one[axis + 2], other[axis + 2])


def _widen(draft: Draft, node: Node) -> tuple[Rectangle, str] | None:
    """Join a cell over one column and the blank ones on its right, all below the same node."""
    area = node.area
    above = draft.owner[area.top - 1] if area.top else np.full(draft.columns, FREE)
    is_last = area.bottom >= draft.height
    if not node.is_single or is_last or draft.owner[area.bottom, area.left] == FREE:
        return None
    column = area.right
    while (
        column < draft.columns
        and above[column] == above[area.left]
        and draft.is_free(area._replace(left=column, right=column + 1))
        and _has_own(draft, area.bottom, column)
    ):
        column += 1
    wider = area._replace(right=column)
    return (wider, "parent") if wider != area and _is_parent(draft, wider) else None


def _is_parent(draft: Draft, area: Rectangle) -> bool:
    """Return whether an area can be one node: its columns have different names below it."""
    below = draft.owner[area.bottom : draft.height]
    paths = {
        tuple(node.text.strip() for node in draft.nodes_in(below[:, column]))
        for column in area.columns
    }
    # a cell on both sides of an edge would have two parents
    is_crossed = any(
        ((below[:, edge - 1] == below[:, edge]) & (below[:, edge] != FREE)).any()
        for edge in (area.left, area.right)
        if 0 < edge < draft.columns
    )
    has_own = all(_has_own(draft, area.bottom, column) for column in area.columns)
    return len(paths) == len(area.columns) and has_own and not is_crossed


def _has_own(draft: Draft, top: int, column: int) -> bool:
    """Return whether a header row from `top` on has a cell with text over this column alone."""
    nodes = draft.nodes_in(draft.owner[top : draft.height, column])
    return any(node.is_single and node.area.bottom <= draft.height for node in nodes)


def _grow(step: int, draft: Draft, node: Node) -> tuple[Rectangle, str] | None:
    """Join a cell and the header rows above (-1) or below it (1) in which it is all blank."""
    area = node.area
    while True:
        row = area.top - 1 if step < 0 else area.bottom
        if not 0 <= row < draft.height or not draft.is_free(area._replace(top=row, bottom=row + 1)):
            return (area, "blank") if area != node.area else None
        area = area._replace(top=min(area.top, row), bottom=max(area.bottom, row + 1))


def project(draft: Draft) -> None:
    """Make one flagged cell of each row below the header whose only text is in its first cell.

    Rows of that kind after which no other row has text are notes, or a total without numbers; they
    stay as they are unless they were flagged.
    """
    body = range(draft.height, draft.rows)
    sections = [row for row in body if draft.is_section(row)]
    others = [row for row in body if draft.nodes_in(draft.owner[row]) and not draft.is_section(row)]
    last = max(others, default=-1)
    for row in sections:
        node = draft.nodes_in(draft.owner[row])[0]
        area = Rectangle(row, row + 1, 0, draft.columns)
        if node.area != area and (row < last or node.projected):
            draft.stretch(node, area, "projected")
        elif row < last and not node.projected:
            draft.note("projected", area, (node.text,), (node.text,))
        node.projected = node.projected or row < last


def fill_first_column(draft: Draft) -> None:
    """Merge cells of the first column below the header with the blank ones below them.

    Only where the second column has text in each of their rows, all different, and no cell of it
    reaches beyond them.
    """
    if draft.columns == 1:
        return
    second = draft.owner[:, 1].tolist()
    for node in sorted(draft.nodes.values(), key=lambda node: node.area.top):
        top, bottom, _, right = node.area
        if not node.whole or right != 1 or top < draft.height:
            continue
        while bottom < draft.rows and draft.owner[bottom, 0] == FREE != second[bottom]:
            bottom += 1
        numbers = list(dict.fromkeys(second[top:bottom]))
        if bottom == node.area.bottom or FREE in numbers:
            continue
        is_crossed = any(second[end - 1 : end] == second[end : end + 1] for end in (top, bottom))
        texts = {draft.nodes[number].text.strip() for number in numbers}
        if not is_crossed and len(texts) == len(numbers):
            draft.stretch(node, node.area._replace(bottom=bottom), "row_header")


CHANGE_COLUMNS = FrameSpec(
    "changes",
    "one row per change: a cell that covers more than before, is divided, or has other flags",
    (
        Column("step", "string", "what was done", ", ".join(STEPS)),
        Column("rows", "object", "rows of the change, a tuple of int"),
        Column("columns", "object", "columns of the change, a tuple of int"),
        Column("before", "object", "texts of the cells before, a tuple of str"),
        Column("after", "object", "texts of the cells after, a tuple of str"),
    ),
)


@dataclass(frozen=True, eq=False, repr=False)
class Canonical:
    """A table in canonical form, with the original table and the changes in order."""

    table: Table
    changes: pd.DataFrame
    given: Table

    def __repr__(self) -> str:
        """Return how many changes there are, by step, and the size of the table."""
        rows, columns = self.table.grid.shape
        steps = self.changes["step"].value_counts(sort=False)
        by_step = ", ".join(f"{number} {step}" for step, number in steps.items())
        changes = plural(len(self.changes), "change") + (f": {by_step}" if by_step else "")
        return f"Canonical({changes}; {rows} x {columns} positions)"

    def _repr_html_(self) -> str:
        return self.table._repr_html_()


def canonicalize(cells: Any, *, header_rows: int | None = None) -> Canonical:
    """Bring a table into canonical form: one cell for each node of its headers.

    Parameters
    ----------
    cells : Table, or an input of `read_table`
        The table, for example a list of cells with ``row_nums`` and ``column_nums``.
    header_rows : int, optional
        Number of rows of the column header, regardless of flags; 0 for none. By default the flagged
        rows, or the first row if none is flagged, and further rows until every column has a header
        cell of its own.

    Returns
    -------
    Canonical
        The table and its changes. Canonicalizing the result again with the same arguments changes
        nothing. No text is lost or moved, and no cells with different texts are merged.

    Raises
    ------
    InputError
        The table is invalid, or has fewer rows than `header_rows`.

    Notes
    -----
    The principle is that of section 4 of Smock, Pesala and Abraham, "PubTables-1M: Towards a
    universal dataset and metrics for training and evaluating table extraction models" (2021): the
    headers of rows and columns are trees, with one cell per node. The paper's appendix with the
    steps is not published with it; ``docs/howto/tables_from_images.md`` has ours.

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
    table = read_table(cells)
    most = len(table.grid)
    if header_rows is not None and not (is_whole(header_rows) and 0 <= header_rows <= most):
        raise InputError(f"header_rows is {header_rows!r}; expected None or 0 to {most}, the rows")
    found, changes = table, list[Change]()
    while found.size:  # a step may enable an earlier one
        draft = Draft(found, header_rows)
        merge_header(draft)
        while draft.extend_header():
            merge_header(draft)
        project(draft)
        fill_first_column(draft)
        found = finish(draft)
        if not draft.changes:
            break
        changes += draft.changes
    return Canonical(found, CHANGE_COLUMNS.from_rows(changes), table)
