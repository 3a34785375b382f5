"""The rows and the columns of the heatmap: their order, and what each sums up."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from extractbench_nb.report.texts import single_line
from extractbench_nb.widgets.failures.choices import Choice, failed_by_every_run
from extractbench_nb.widgets.failures.coding import Axis, Coded, Numbers
from extractbench_nb.widgets.failures.means import Sums, counted, rounded
from extractbench_nb.widgets.failures.words import shortened

__all__ = ["FEW_COLUMNS", "Line", "Side", "Window", "side"]

#: Characters of a name in a row, in one of many columns, in one of few.
_ROW_NAME, _NARROW_NAME, _WIDE_NAME = 34, 24, 60
#: So many columns are wide.
FEW_COLUMNS = 8
_LONGEST_TITLE = 300


class Line(NamedTuple):
    """A row or a column: its item, and what its rows of `fields` sum up to.

    ``score`` and ``pass_rate``, in [0, 1], are means over its outputs; ``failed`` says of a field
    that gold has it and no run gets it right anywhere; ``outputs`` and ``invalid`` count outputs,
    0 for a field.
    """

    code: int
    name: str
    title: str
    group: str
    rows: int
    score: float
    pass_rate: float
    failed: bool
    outputs: int
    invalid: int


class Side(NamedTuple):
    """The lines of one page of at most `most`, from `first`; ``codes`` has the items of all pages.

    ``known`` is the number of items that are left by the filters.
    """

    lines: tuple[Line, ...]
    codes: Numbers
    first: int
    most: int
    known: int
    grouped: bool


class Window(NamedTuple):
    """A page, counted from 0; one beyond the last is the last.

    It has at most so many items, and only such as have a row among those `present`.
    """

    page: int
    most: int
    present: Numbers


def side(rows: Coded, places: Numbers, choice: Choice, name: str, window: Window) -> Side:
    """Sort the items of one axis, and describe those of a page.

    Parameters
    ----------
    rows : Coded
        All rows.
    places : numpy.ndarray of int
        Those that the filters leave.
    choice : Choice
        Axes, measure and orders.
    name : str
        The axis: that of the rows or that of the columns.
    window : Window
        Which page, and which items may be on it.

    Returns
    -------
    Side
        Items are sorted by all of `places`. Where there are several schemas, the items of each are
        together.
    """
    axis = rows.axes[name]
    sums = counted(rows, places, axis.codes[places], axis.size)
    order = choice.row_order if name == choice.rows else choice.column_order
    ranks = _ranks(axis.names, sums, order, choice.measure)
    there = np.flatnonzero(np.bincount(axis.codes[window.present], minlength=axis.size))
    above = _group_ranks(rows, places, name, order, choice.measure)[there]
    codes = there[np.lexsort((ranks[there], above))]
    first = max(0, min(window.page, (len(codes) - 1) // window.most)) * window.most
    shown = codes[first : first + window.most]
    wide = _WIDE_NAME if len(shown) <= FEW_COLUMNS else _NARROW_NAME
    limit = wide if name == choice.columns else _ROW_NAME
    lines = _lines(rows, places, name, (sums, shown), limit)
    known = int(np.count_nonzero(sums.rows))
    return Side(lines, codes, first, window.most, known, len(np.unique(above)) > 1)


def _ranks(names: list[str], sums: Sums, order: str, measure: str) -> Numbers:
    """Return the place of each item in an order."""
    size = len(names)
    if order == "document":
        return np.arange(size)
    if order == "name":
        items = np.array(sorted(range(size), key=lambda code: (names[code].casefold(), code)), int)
    else:
        value = sums.mean_score if measure == "score" else sums.pass_rate
        items = np.lexsort((np.arange(size), -sums.rows, sums.pass_rate, value))
    ranks = np.empty(size, dtype=np.int64)
    ranks[items] = np.arange(size)
    return ranks


def _group_ranks(rows: Coded, places: Numbers, name: str, order: str, measure: str) -> Numbers:
    """Return the place of each item's schema in the same order; 0 where items have none."""
    axis, schemas = rows.axes[name], rows.schemas
    groups = axis.groups
    if groups is None:
        return np.zeros(axis.size, dtype=np.int64)
    whole = counted(rows, places, groups[axis.codes[places]], schemas.size)
    return _ranks(schemas.names, whole, order, measure)[groups]


def _lines(
    rows: Coded, places: Numbers, name: str, items: tuple[Sums, Numbers], limit: int
) -> tuple[Line, ...]:
    sums, shown = items
    axis, is_field = rows.axes[name], name == "field"
    failed = failed_by_every_run(rows, places) if is_field else np.zeros(axis.size, dtype=bool)
    outputs, invalid = _outputs(rows, places, axis)
    groups = axis.groups
    return tuple(
        Line(
            int(code),
            shortened(axis.names[code], limit),
            single_line(axis.names[code], _LONGEST_TITLE),
            "" if groups is None else single_line(rows.schemas.names[groups[code]], _WIDE_NAME),
            int(sums.rows[code]),
            float(rounded(sums.mean_score[code])),
            float(rounded(sums.pass_rate[code])),
            bool(failed[code]),
            0 if is_field else int(outputs[code]),
            0 if is_field else int(invalid[code]),
        )
        for code in shown
    )


def _outputs(rows: Coded, places: Numbers, axis: Axis) -> tuple[Numbers, Numbers]:
    """Count the outputs, and those that are invalid, of each item."""
    outputs = rows.outputs
    there = np.bincount(outputs.codes[places], minlength=len(outputs.firsts)) > 0
    items = axis.codes[outputs.firsts]
    return (
        np.bincount(items[there], minlength=axis.size),
        np.bincount(items[there & outputs.invalid], minlength=axis.size),
    )
