"""Two compared tables, which of their lines and cells were matched, and HTML of them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import Any, NamedTuple, TypeAlias

import numpy as np

from extractbench_nb.support.nodes import Node, h
from extractbench_nb.support.wording import one_line, plural
from extractbench_nb.tables.cells import GAP, Cell, Numbers, Table, rectangles
from extractbench_nb.tables.grid_similarity import SIDES, GriTS

#: Similarities this close to 1 count as 1.
NEARLY = 1e-9

_Place: TypeAlias = tuple[int, int]


class Line(NamedTuple):
    """A row or column of both tables, or of one table only.

    ``similarity`` is as in the frames of `GriTS`, 0 for a line of one table only. ``equal`` means
    that both tables have the line and all its matched positions are alike.
    """

    true: int | None
    predicted: int | None
    similarity: float = 0.0
    equal: bool = False

    def at(self, side: int) -> int | None:
        """Return the line's index in the true (0) or the predicted table (1)."""
        return self.predicted if side else self.true


class Patch(NamedTuple):
    """A rectangle that one cell covers; all of the cell, unless others lie over it.

    ``row`` and ``column`` are of its first position, ``height`` and ``width`` count lines as drawn.
    ``state`` is ``alike``, ``unlike``, ``partly`` (some of the cell's positions have no partner),
    ``alone`` (none has) or ``gap``; ``similarity`` is the mean over the cell's positions, 0 for
    those without a partner.
    """

    cell: int
    row: int
    column: int
    height: int
    width: int
    state: str
    similarity: float


@dataclass(frozen=True, eq=False)
class Comparison:
    """Two tables, true and predicted, as one metric aligned them.

    ``rows`` and ``columns`` are the lines of both tables in one order; between aligned ones the
    true lines come first. ``common`` has the similarity of the pairs of positions, 0 to 1, in the
    shape (aligned rows, aligned columns).
    """

    metric: str
    tables: tuple[Table, Table]
    rows: tuple[Line, ...]
    columns: tuple[Line, ...]
    common: Numbers

    @cached_property
    def positions(self) -> list[Numbers]:
        """For each side the similarity at each position, NaN if it has no partner."""
        positions = []
        for side, table in enumerate(self.tables):
            similarity = np.full(table.grid.shape, np.nan)
            aligned = [[*self.partners(lines, side)] for lines in (self.rows, self.columns)]
            similarity[np.ix_(*(np.array(n, dtype=np.intp) for n in aligned))] = self.common
            positions.append(similarity)
        return positions

    def partners(self, lines: Sequence[Line], side: int) -> dict[int, int]:
        """Map the indices of a side's aligned lines to those of their partners, in order."""
        pairs = ((line.at(side), line.at(1 - side)) for line in lines)
        return {index: other for index, other in pairs if index is not None and other is not None}

    def partner(self, side: int, row: int, column: int) -> _Place | None:
        """Return the position that a position is matched with; None if there is none."""
        down = self.partners(self.rows, side).get(row)
        across = self.partners(self.columns, side).get(column)
        return None if down is None or across is None else (down, across)

    def states(self, side: int) -> list[tuple[str, float]]:
        """Return the state and similarity of each cell of a side, as in `Patch`."""
        grid, values = self.tables[side].grid.ravel(), self.positions[side].ravel()
        paired = ~np.isnan(values)
        # by cell: its positions, the sum of their similarities, how many have a partner
        weights = (np.ones(grid.size), np.where(paired, values, 0), paired)
        count = len(self.tables[side].cells)
        sums = (np.bincount(grid, w, minlength=count).tolist() for w in weights)
        states = []
        for size, total, partners in zip(*sums, strict=True):
            if not partners:
                states.append(("alone", 0.0))
            elif partners < size:
                states.append(("partly", total / size))
            else:
                is_alike = total >= size - NEARLY
                states.append(("alike", 1.0) if is_alike else ("unlike", total / size))
        return states


def compare(result: GriTS, metric: str) -> Comparison:
    """Merge the lines of both tables into one order."""
    found, tables = result.found[metric], (result.true, result.predicted)
    # an empty table has neither rows nor columns
    shapes = [table.grid.shape if table.size else (0, 0) for table in tables]
    rows, columns = (
        _lines(aligned, found.similarity.min(axis=1 - axis, initial=1.0), (one[axis], other[axis]))
        for one, other in [shapes]
        for axis, aligned in enumerate(found.aligned)
    )
    return Comparison(metric, tables, tuple(rows), tuple(columns), found.similarity)


def _lines(
    pairs: Sequence[tuple[int, int, float]], least: Numbers, sizes: tuple[int, int]
) -> Iterator[Line]:
    aligned = [
        Line(*pair, low >= 1 - NEARLY) for pair, low in zip(pairs, least.tolist(), strict=True)
    ]
    true = predicted = 0
    for line in (*aligned, Line(*sizes)):  # the last one stands behind both tables
        stops = line.true or 0, line.predicted or 0
        yield from (Line(n, None) for n in range(true, stops[0]))
        yield from (Line(None, n) for n in range(predicted, stops[1]))
        if stops != sizes:
            yield line
        true, predicted = stops[0] + 1, stops[1] + 1


def patches_of(
    found: Comparison, side: int, rows: Sequence[Line], columns: Sequence[Line]
) -> list[list[Patch]]:
    """Divide some lines of a side into patches, by the row that each begins on.

    Rows that only the other side has are gaps; a cell on both sides of a gap covers it.
    """
    across = [number for line in columns if (number := line.at(side)) is not None]
    down = [line.at(side) for line in rows]
    shown = np.full((len(down), len(across)), GAP, dtype=np.intp)
    present = [place for place, row in enumerate(down) if row is not None]
    own_rows = [row for row in down if row is not None]
    shown[present] = found.tables[side].grid[np.ix_(own_rows, across)]
    for above, below in pairwise(present):
        shown[above + 1 : below] = np.where(shown[above] == shown[below], shown[above], GAP)
    patches: list[list[Patch]] = [[] for _ in rows]
    states = found.states(side)
    for cell, top, left, height, width in rectangles(shown):
        row = next((number for number in down[top : top + height] if number is not None), GAP)
        state = ("gap", 0.0) if cell == GAP else states[cell]
        patches[top].append(Patch(cell, row, across[left], height, width, *state))
    return patches


def two_digits(similarity: float) -> str:
    """Write a similarity with two digits; only 0 and 1 themselves become 0.00 and 1.00."""
    inside = 0 < similarity < 1
    return f"{min(0.99, max(0.01, similarity)) if inside else similarity:.2f}"


_MOST_NOTES = 5
#: Characters of a cell, and of a cell that has a similarity beside its text.
_LONGEST, _BESIDE = 80, 14
#: By side: the sign of what has no partner.
_ALONE = ("–", "+")
LEGEND = (
    "2 → 3: the true line 2 was matched with the predicted line 3. – lost: only in the true table. "
    "+ extra: only in the predicted one. A number in a cell is its similarity where that is not "
    "1: the mean over its positions, of which those without a partner count 0."
)


def default_metric(result: GriTS) -> str | None:
    """Return the metric to show at first; None if none was computed."""
    return "con" if "con" in result.found else next(iter(result.found), None)


def tables(
    found: Comparison,
    rows: Sequence[Line],
    columns: Sequence[Line],
    chosen: tuple[_Place | None, _Place | None] = (None, None),
    selected: int = 0,
) -> list[Node]:
    """Draw some lines of both tables.

    `chosen` has by side the position that is chosen or matched with the chosen one, and `selected`
    is the side that it was chosen on. Both, and what a cell does when it is chosen, are for a live
    page: static HTML has only the tables.
    """
    return [_table(found, side, rows, columns, chosen[side], side == selected) for side in (0, 1)]


def _table(
    found: Comparison,
    side: int,
    rows: Sequence[Line],
    columns: Sequence[Line],
    chosen: _Place | None,
    selected: bool,
) -> Node:
    table, name = found.tables[side], SIDES[side]
    if not table.size:
        return h("div", h("b", name), h("p", "An empty table."), key=name)
    columns = [line for line in columns if line.at(side) is not None]
    lefts = {line.at(side): left for left, line in enumerate(columns)}
    row, column = chosen or (-1, -1)
    partners = [found.partners(lines, side) for lines in (found.rows, found.columns)]
    body = []
    for top, (line, patches) in enumerate(
        zip(rows, patches_of(found, side, rows, columns), strict=True)
    ):
        cells = []
        for patch in patches:
            sizes = {"rowspan": patch.height, "colspan": patch.width}
            spans = {kind: size for kind, size in sizes.items() if size > 1}
            if patch.cell == GAP:
                cells.append(h("td", cls="xb-gap", key=f"gap {patch.column}", **spans))
                continue
            on = chosen is not None and patch.cell == table.grid[chosen]
            other = partners[0].get(patch.row), partners[1].get(patch.column)
            pair = None
            if None not in other:  # the number of the true cell
                pair = patch.cell if side == 0 else int(found.tables[0].grid[other])
            live = {
                "row": top,
                "column": lefts[patch.column],
                "send": [name, patch.row, patch.column],
                "pair": pair,
                "aria_selected": "true" if on and selected else None,
                "aria_current": "true" if on and not selected else None,
                "reveal": f"{row} {column}" if on else None,
            }
            cells.append(_cell(table.cells[patch.cell], patch, side, spans | live))
        head = _gutter(line, side, "row", on=line.at(side) == row)
        body.append(h("tr", head, cells, key=f"{line.true} {line.predicted}"))
    heads = [_gutter(line, side, "col", on=line.at(side) == column) for line in columns]
    height, width = table.grid.shape
    shape = f"{plural(height, 'row')} × {plural(width, 'column')}"
    covered = len(table.cells) - len(np.unique(table.grid))
    hidden = [f"{plural(covered, 'cell')} covered by others, not drawn"] if covered else []
    notes = [h("p", one_line(note, 200)) for note in [*table.notes, *hidden][:_MOST_NOTES]]
    return boxed_grid(name, shape, heads, body, notes)


def boxed_grid(
    name: str, shape: str, heads: Sequence[Node], body: Sequence[Node], notes: Sequence[Node] = ()
) -> Node:
    """Draw one of two tables that stand side by side and scroll together; arrow keys move in it."""
    grid = h(
        "table",
        h("thead", h("tr", h("td", cls="xb-gutter xb-corner"), heads)),
        h("tbody", body),
        role="grid",
        aria_label=f"{name} table",
        keys="grid",
        follow=True,
        edge="edge",
    )
    return h(
        "div",
        h("div", h("b", name), f", {shape}"),
        h("div", grid, cls="xb-box", scroll="tables"),
        notes,
        key=name,
    )


def _gutter(line: Line, side: int, scope: str, *, on: bool) -> Node:
    """Draw what a line was matched with; nothing on a side that has no such line."""
    key = f"head {line.true} {line.predicted}"
    if line.at(side) is None:
        return h("td", cls="xb-gutter", key=key)
    alone = line.at(1 - side) is None
    text = f"{_ALONE[side]} {line.at(side)}" if alone else f"{line.true} → {line.predicted}"
    kinds = f"xb-gutter{' xb-alone' if alone else ''}{' xb-on' if on else ''}"
    says = "without a partner" if alone else f"similarity {two_digits(line.similarity)}"
    return h("th", text, scope=scope, cls=kinds, title=says, key=key)


def _cell(cell: Cell, patch: Patch, side: int, attributes: Mapping[str, Any]) -> Node:
    tint = None
    if patch.state in ("unlike", "partly"):
        # over whatever page there is; seen from the start
        tint = f"background:rgba(200,74,38,{0.1 + 0.45 * (1 - patch.similarity):.2f})"
    text, sign = one_line(cell.text, _LONGEST), ""
    if patch.state != "alike":
        sign = _ALONE[side] if patch.state == "alone" else two_digits(patch.similarity)
    kinds = [patch.state if sign else "", kind_of(cell)]
    return h(
        "td",
        # of a long text the end is cut, not the number beside it
        h("span", text, cls="xb-cut") if sign and len(text) > _BESIDE else text,
        [" ", h("small", sign)] if sign else None,
        cls=" ".join(f"xb-{kind}" for kind in kinds if kind) or None,
        style=tint,
        dir=None if text.isascii() else "auto",
        key=f"{patch.row} {patch.column}",
        title=text if len(text) > _BESIDE else None,
        item=True,
        do="cell",
        **attributes,
    )


def kind_of(cell: Cell) -> str:
    """Return ``projected``, ``header``, or nothing."""
    return "projected" if cell.is_projected else "header" if cell.is_header else ""
