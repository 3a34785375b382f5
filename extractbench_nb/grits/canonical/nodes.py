"""Merging in the column header: one cell for each node of its tree."""

from __future__ import annotations

from collections.abc import Callable

from extractbench_nb.grits.canonical.draft import FREE, Draft, Node, Rectangle
from extractbench_nb.grits.cells import Box

__all__ = ["merge_header"]


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
