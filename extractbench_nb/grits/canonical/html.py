"""A table before and after canonicalization, side by side, as static HTML."""

from __future__ import annotations

from collections.abc import Iterator

from extractbench_nb._html import STYLE, document_text
from extractbench_nb.grits.cells import Cell, Table

__all__ = ["canonical_html"]

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
    """Write both tables side by side, with the cells marked that only one of them has.

    Parameters
    ----------
    title : str
        What stands above them.
    before, after : Table
        The tables, of one size.

    Returns
    -------
    str
        One element with its own style; at most 30 rows and 12 columns of each, and how many there
        are beyond.
    """
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
        spans = "".join(
            f' {name}="{size}"'
            for name, size in (("rowspan", height), ("colspan", width))
            if size > 1
        )
        yield f"<td{_classes(cell, others)}{spans}>{document_text(cell.text, 40)}</td>"


def _extent(cell: Cell, shown: list[list[int]], number: int) -> tuple[int, int]:
    """Return how many shown rows and columns a cell covers; (0, 0) if it is no rectangle."""
    rows = [row for row in cell.rows if row < len(shown)]
    columns = [column for column in cell.columns if column < len(shown[0])]
    covered = [
        shown[row][column]
        for row in range(rows[0], rows[-1] + 1)
        for column in range(columns[0], columns[-1] + 1)
    ]
    is_alone = all(found == number for found in covered)
    return (len(rows), len(columns)) if is_alone else (0, 0)


def _classes(cell: Cell, others: frozenset[Cell]) -> str:
    marks = {
        "xb-header": cell.is_header,
        "xb-projected": cell.is_projected,
        "xb-changed": cell not in others,
    }
    names = " ".join(name for name, is_set in marks.items() if is_set)
    return f' class="{names}"' if names else ""
