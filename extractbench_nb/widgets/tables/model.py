"""The view model of two tables: a page of lines, as the front end reads it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from extractbench_nb.grits.drawing.html import kind_of, line_text, mark_text
from extractbench_nb.grits.drawing.model import (
    METRICS,
    SIDES,
    Comparison,
    DrawnSide,
    Line,
    Patch,
    drawn,
    notes_of,
)
from extractbench_nb.report.texts import single_line

__all__ = ["COLUMNS_A_PAGE", "ROWS_A_PAGE", "Window", "page_model", "scores_model", "window"]

ROWS_A_PAGE, COLUMNS_A_PAGE = 40, 30
#: Characters of a cell that a page is sent; all of the chosen cell stands below the grids.
_LONGEST = 80
_MOST_NOTES = 5


class Window(NamedTuple):
    """A page of lines: all lines to choose from, where the page begins and ends."""

    lines: Sequence[Line]
    first: int
    last: int
    page: int
    size: int

    @property
    def shown(self) -> Sequence[Line]:
        """The lines of the page."""
        return self.lines[self.first : self.last]


def window(lines: Sequence[Line], page: int, size: int) -> Window:
    """Take one page of lines; one beyond the last is the last.

    Examples
    --------
    >>> window([Line(n, n) for n in range(5)], 7, 2)[1:]
    (4, 5, 2, 2)
    """
    page = max(0, min(page, (len(lines) - 1) // size))
    return Window(lines, page * size, min(len(lines), (page + 1) * size), page, size)


def page_model(found: Comparison, rows: Window, columns: Window) -> dict[str, Any]:
    """Write a page of both grids as the front end reads it.

    Parameters
    ----------
    found : Comparison
        The tables.
    rows, columns : Window
        What is shown of them.

    Returns
    -------
    dict
        ``metric``; ``rows`` and ``columns``, where the page is; ``sides``, for each its shape, its
        ``heads`` (index, partner, similarity, text of each column), its ``lines`` (the same of each
        row, then its patches: place, size, state, similarity, mark, kind and text), ``notes``, and
        the nearest row and column ``before`` and ``after`` the page.
    """
    parts = drawn(found, rows.shown, columns.shown)
    return {
        "metric": METRICS[found.metric],
        "rows": _window_json(rows),
        "columns": _window_json(columns),
        "sides": [_side(found, side, parts[side], (rows, columns)) for side in (0, 1)],
    }


def _window_json(page: Window) -> dict[str, int]:
    told = {"first": page.first, "last": page.last, "total": len(page.lines), "page": page.page}
    return {**told, "pages": -(-len(page.lines) // page.size)}


def _side(
    found: Comparison, side: int, part: DrawnSide, pages: tuple[Window, Window]
) -> dict[str, Any]:
    table = found.tables[side]
    return {
        "name": SIDES[side],
        "shape": list(table.grid.shape) if table.size else [0, 0],
        "heads": [_line(line, side) for line in part.columns],
        "lines": [
            [*_line(row.line, side), [_patch(found, side, patch) for patch in row.patches]]
            for row in part.rows
        ],
        "notes": [single_line(note, 200) for note in notes_of(table)[:_MOST_NOTES]],
        "before": [_near(reversed(page.lines[: page.first]), side) for page in pages],
        "after": [_near(page.lines[page.last :], side) for page in pages],
    }


def _near(lines: Any, side: int) -> int | None:
    return next((at for line in lines if (at := line.at(side)) is not None), None)


def _line(line: Line, side: int) -> list[Any]:
    return [line.at(side), line.at(1 - side), line.similarity, line_text(line, side)]


def _patch(found: Comparison, side: int, patch: Patch) -> list[Any]:
    told = [*patch[1:], mark_text(patch, side)]
    if patch.state == "gap":
        return [*told, "", ""]
    cell = found.tables[side].cells[patch.cell]
    return [*told, kind_of(cell), single_line(cell.text, _LONGEST)]


def scores_model(scores: Any, chosen: str | None) -> dict[str, Any]:
    """Write the scores of all metrics.

    Parameters
    ----------
    scores : pandas.DataFrame
        As in `GriTS`.
    chosen : str or None
        The metric that is shown.

    Returns
    -------
    dict
        ``heads``, ``rows`` of name, what it compares, texts, and whether it is shown.
    """
    return {
        "heads": [str(name).replace("_", " ") for name in scores.columns],
        "rows": [
            [name, METRICS.get(name, ""), [f"{number:.3f}" for number in numbers], name == chosen]
            for name, *numbers in scores.itertuples()
        ],
    }
