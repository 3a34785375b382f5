"""The view model of the heatmap: one page of its rows and columns, and what each cell sums up."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np

from extractbench_nb.evaluation.frames import OUTCOMES
from extractbench_nb.widgets.failures.choices import Choice
from extractbench_nb.widgets.failures.coding import Axis, Coded, Numbers
from extractbench_nb.widgets.failures.lines import FEW_COLUMNS, Line, Side, Window, side
from extractbench_nb.widgets.failures.means import counted, rounded

__all__ = ["COLUMNS_A_PAGE", "ROWS_A_PAGE", "Cell", "Grid", "grid", "grid_json"]

ROWS_A_PAGE, COLUMNS_A_PAGE = 60, 40

#: Of two outcomes that are as frequent, the one that is more of a fault is shown.
_GRAVEST_FIRST = np.array(
    [
        OUTCOMES.index(name)
        for name in (
            *("structural", "hallucination", "omission", "incorrect", "judge_error"),
            *("correct", "both_absent"),
        )
    ]
)


class Cell(NamedTuple):
    """What the rows of a cell say: ``most`` of them have the outcome.

    ``score`` and ``pass_rate``, in [0, 1], are means over the outputs that the cell spans.
    """

    rows: int
    passed: int
    score: float
    pass_rate: float
    outcome: str
    most: int
    invalid: int


class Grid(NamedTuple):
    """One page of the heatmap; a cell without rows of `fields` is None."""

    rows: Side
    columns: Side
    cells: tuple[tuple[Cell | None, ...], ...]


def grid(rows: Coded, places: Numbers, choice: Choice, pages: tuple[int, int] = (0, 0)) -> Grid:
    """Sum up one page of the heatmap.

    Parameters
    ----------
    rows : Coded
        All rows.
    places : numpy.ndarray of int
        Those that the filters leave.
    choice : Choice
        Axes, measure and orders.
    pages : tuple of (int, int), optional
        Which page of rows and of columns, from 0; one beyond the last is the last.

    Returns
    -------
    Grid
        At most 60 rows and 40 columns. Documents and runs that have none of the fields of the
        page are left out.
    """
    sides = {
        "rows": (choice.rows, Window(pages[0], ROWS_A_PAGE, places)),
        "columns": (choice.columns, Window(pages[1], COLUMNS_A_PAGE, places)),
    }
    order = ["columns", "rows"] if choice.columns == "field" else ["rows", "columns"]
    found, present = {}, places
    for which in order:
        name, window = sides[which]
        found[which] = side(rows, places, choice, name, window._replace(present=present))
        present = present[
            _on_page(rows.axes[name], found[which])[rows.axes[name].codes[present]] >= 0
        ]
    return Grid(found["rows"], found["columns"], _cells(rows, present, choice, found))


def _cells(
    rows: Coded, places: Numbers, choice: Choice, found: Mapping[str, Side]
) -> tuple[tuple[Cell | None, ...], ...]:
    height, width = len(found["rows"].lines), len(found["columns"].lines)
    down, across = (
        _on_page(rows.axes[name], found[which])[rows.axes[name].codes[places]]
        for which, name in (("rows", choice.rows), ("columns", choice.columns))
    )
    cells = _summed(rows, places, down * width + across, height * width)
    return tuple(tuple(cells[at * width : (at + 1) * width]) for at in range(height))


def _on_page(axis: Axis, shown: Side) -> Numbers:
    """Return the place on the page of each item of an axis, -1 where it is not there."""
    found = np.full(axis.size, -1, dtype=np.int64)
    found[[line.code for line in shown.lines]] = np.arange(len(shown.lines))
    return found


def _summed(rows: Coded, places: Numbers, groups: Numbers, size: int) -> list[Cell | None]:
    sums = counted(rows, places, groups, size)
    kinds = len(OUTCOMES)
    outcomes = np.bincount(groups * kinds + rows.outcome[places], minlength=size * kinds)
    by_gravity = outcomes.reshape(size, kinds)[:, _GRAVEST_FIRST]
    top = by_gravity.argmax(axis=1)
    table = zip(
        sums.rows.tolist(),
        sums.passed.tolist(),
        rounded(sums.mean_score).tolist(),
        rounded(sums.pass_rate).tolist(),
        [OUTCOMES[code] for code in _GRAVEST_FIRST[top]],
        by_gravity.max(axis=1).tolist(),
        sums.invalid.tolist(),
        strict=True,
    )
    return [Cell(*values) if values[0] else None for values in table]


def grid_json(shown: Grid, choice: Choice) -> Mapping[str, Any]:
    """Return a page of the heatmap as the front end reads it.

    Parameters
    ----------
    shown : Grid
        The page.
    choice : Choice
        Axes and measure.

    Returns
    -------
    dict
        ``axes``, ``measure``, ``few`` where columns are wide; ``rows`` and ``columns``, each with
        the names of `Line`, a list of values for each line, where the page is and of how many;
        ``cells``, a list for each row of null or the values of `Cell`.
    """
    return {
        "axes": [choice.rows, choice.columns],
        "measure": choice.measure,
        "few": len(shown.columns.lines) <= FEW_COLUMNS,
        "rows": _side_json(shown.rows),
        "columns": _side_json(shown.columns),
        "cells": [[None if c is None else list(c) for c in row] for row in shown.cells],
    }


def _side_json(shown: Side) -> Mapping[str, Any]:
    return {
        "columns": list(Line._fields),
        "rows": [list(line) for line in shown.lines],
        "first": shown.first,
        "total": len(shown.codes),
        "page": shown.most,
        "known": shown.known,
        "grouped": shown.grouped,
    }
