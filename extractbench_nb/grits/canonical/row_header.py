"""Merging below the header: projected row headers, and what the first column leaves blank."""

from __future__ import annotations

from extractbench_nb.grits.canonical.draft import FREE, Draft, Node, Rectangle

__all__ = ["fill_first_column", "project"]


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
            while bottom < draft.rows and _continues(draft.owner[bottom]):
                bottom += 1
            if bottom > node.area.bottom and _is_divided(draft, top, bottom):
                draft.stretch(node, node.area._replace(bottom=bottom), "row_header")


def _continues(row: list[int]) -> bool:
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
