"""Draw the imports between rooms as docs/explanation/rooms.svg.

    python scripts/draw_architecture.py

A line goes from a room down to one that it imports. Lines that follow from others are left out: if
A imports B and B imports C, an import of C by A is not drawn. So are the errors, which every room
imports.
"""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path

import grimp

PICTURE = Path(__file__).parents[1] / "docs" / "explanation" / "rooms.svg"
ROOT = "extractbench_nb"
NO_ROOMS = {f"{ROOT}.{name}" for name in ("__main__", "_version", "errors")}
#: Sizes in pixels of the picture.
BOX_HEIGHT, ROW_HEIGHT, GAP, MARGIN = 32, 62, 22, 14
#: Rounds in which rows are sorted, and those in which nodes only move.
SORTED, MOVED = 40, 20
STYLE = """
  rect { fill: #eef4fb; stroke: #33658a; }
  text { font: 15px system-ui, sans-serif; fill: #12263a; text-anchor: middle; }
  path { fill: none; stroke: #6b7f94; stroke-width: 1.4; }
"""

#: A node of the drawing: a room, or a place in a row where a long line passes.
Node = tuple[str, str]


def imports_of_rooms() -> dict[str, set[str]]:
    """Return which rooms each room imports."""
    graph = grimp.build_graph(ROOT)
    rooms = set(graph.find_children(ROOT)) - NO_ROOMS
    found: dict[str, set[str]] = {}
    for name in rooms:
        imported = {
            ".".join(target.split(".")[:2])
            for module in {name, *graph.find_descendants(name)}
            for target in graph.find_modules_directly_imported_by(module)
        }
        found[name] = (imported & rooms) - {name}
    return {_short(name): {_short(other) for other in others} for name, others in found.items()}


def _short(name: str) -> str:
    return name.removeprefix(f"{ROOT}.")


def reduced(imports: dict[str, set[str]]) -> dict[str, set[str]]:
    """Leave out the imports that follow from others; the graph has no circles."""

    def below(name: str) -> set[str]:
        return imports[name].union(*map(below, imports[name]))

    return {
        name: others - set().union(*map(below, others), set()) for name, others in imports.items()
    }


def rows_of(imports: dict[str, set[str]]) -> tuple[list[list[Node]], list[tuple[Node, Node]]]:
    """Return rows of nodes from the lowest up, and the lines between neighbouring rows.

    A room is one row above the highest room that it imports. A line over several rows passes
    through a node of its own in each row between.
    """

    def level(name: str) -> int:
        return max((level(other) + 1 for other in imports[name]), default=0)

    levels = {name: level(name) for name in sorted(imports)}
    rows: list[list[Node]] = [[] for _ in range(max(levels.values()) + 1)]
    for name, at in levels.items():
        rows[at].append((name, ""))
    lines: list[tuple[Node, Node]] = []
    for name, at in levels.items():
        for other in sorted(imports[name]):
            path: list[Node] = [(name, "")]
            for row in range(at - 1, levels[other], -1):
                path.append((name, f"{other} {row}"))
                rows[row].append(path[-1])
            lines += pairwise([*path, (other, "")])
    return rows, lines


def width_of(node: Node) -> float:
    name, passing = node
    return 4.0 if passing else 9.0 * len(name) + 22


def placed(rows: list[list[Node]], lines: list[tuple[Node, Node]]) -> dict[Node, float]:
    """Return the horizontal centre of each node: near its neighbours, without overlaps.

    Rows are sorted by the mean position of the neighbours (Sugiyama, Tagawa and Toda, 1981), then
    nodes move towards that mean as far as the others in the row allow.
    """
    neighbours: dict[Node, list[Node]] = {node: [] for row in rows for node in row}
    for upper, lower in lines:
        neighbours[upper].append(lower)
        neighbours[lower].append(upper)
    at = {node: 60.0 * place for row in rows for place, node in enumerate(row)}
    for step in range(SORTED + MOVED):
        for row in rows if step % 2 else rows[::-1]:
            wish = {
                node: sum(at[other] for other in neighbours[node]) / max(len(neighbours[node]), 1)
                for node in row
            }
            if step < SORTED:
                row.sort(key=lambda node: (wish[node], node))
            centres: list[float] = []
            for node in row:
                if not centres:
                    centres.append(wish[node])
                    continue
                room = (width_of(row[len(centres) - 1]) + width_of(node)) / 2 + GAP
                centres.append(max(wish[node], centres[-1] + room))
            # what was pushed to the right moves back by the mean
            shift = sum(c - wish[node] for c, node in zip(centres, row, strict=True)) / len(row)
            at |= {node: centre - shift for node, centre in zip(row, centres, strict=True)}
    return at


def drawing() -> str:
    """Return the SVG text; the same for the same imports."""
    imports = reduced(imports_of_rooms())
    rows, lines = rows_of(imports)
    at = placed(rows, lines)
    left = min(at[node] - width_of(node) / 2 for node in at) - MARGIN
    width = max(at[node] + width_of(node) / 2 for node in at) - left + MARGIN
    height = ROW_HEIGHT * (len(rows) - 1) + BOX_HEIGHT + 2 * MARGIN
    top = {
        node: MARGIN + ROW_HEIGHT * (len(rows) - 1 - level)
        for level, row in enumerate(rows)
        for node in row
    }
    parts = []
    for upper, lower in lines:
        x, y = at[upper] - left, top[upper] + BOX_HEIGHT
        end, bottom = at[lower] - left, top[lower]
        middle = (y + bottom) / 2
        down = f" V{bottom + BOX_HEIGHT}" if lower[1] else ""
        parts.append(
            f'<path d="M{x:.0f} {y} C{x:.0f} {middle:.0f} {end:.0f} {middle:.0f} '
            f'{end:.0f} {bottom}{down}"/>'
        )
    for node, centre in at.items():
        if not node[1]:
            wide, x, y = width_of(node), centre - left, top[node]
            parts.append(
                f'<rect x="{x - wide / 2:.0f}" y="{y}" width="{wide:.0f}" height="{BOX_HEIGHT}" '
                f'rx="5"/><text x="{x:.0f}" y="{y + 21}">{node[0]}</text>'
            )
    listed = "; ".join(
        f"{name} imports {', '.join(sorted(imports[name]))}"
        for name in sorted(imports)
        if imports[name]
    )
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width:.0f} {height}" '
        f'role="img"><title>Imports between rooms</title><desc>{listed}</desc>\n'
        f"<style>{STYLE}</style>\n" + "\n".join(parts) + "\n</svg>\n"
    )


if __name__ == "__main__":
    PICTURE.write_text(drawing(), encoding="utf-8")
