"""From a draft back to a table: nodes as cells, what is left free as blank cells."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from extractbench_nb.grits.canonical.draft import (
    FREE,
    Draft,
    Node,
    Rectangle,
    area_of,
    hull,
    part_of_box,
)
from extractbench_nb.grits.cells import Cell, Table, table_of_cells

__all__ = ["finish"]


def finish(draft: Draft, reasons: dict[int, str], *, given: bool) -> Table:
    """Return the table that a draft has become, and note what is left to note.

    Parameters
    ----------
    draft : Draft
        After all steps.
    reasons : dict of int to str
        The rows of the header, and why they are.
    given : bool
        Whether no other row is one, whatever its flags.

    Returns
    -------
    Table
        The one that the draft was made of where nothing has changed.
    """
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
