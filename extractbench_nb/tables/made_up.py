"""Tables that are made up, to try metrics on: headers over several columns, sections, boxes."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator

from extractbench_nb.errors import InputError
from extractbench_nb.grits import Cell, Table
from extractbench_nb.grits.cells import table_of_cells

__all__ = ["made_up_tables"]

_SUBJECTS = (
    *("Copper", "Maize", "Freight", "Rental", "Paper", "Cotton", "Timber", "Transit", "Licences"),
    *("Repairs", "Fuel", "Salaries", "Insurance", "Training", "Printing", "Storage", "Research"),
)
_QUALITIES = ("gross", "net", "deferred", "domestic", "exported", "leased", "adjusted", "other")
_GROUPS = ("First half", "Second half", "North", "South", "Group A", "Group B", "Audited", "Plan")
_LEAVES = ("Units", "Price", "Share", "Change", "Mean", "SD", "Low", "High", "n", "Total")
_SECTIONS = ("Continuing operations", "Discontinued operations", "Held for sale", "Not allocated")
_ROW_HEIGHT, _LETTER, _GAP = 14.0, 4.6, 12.0
_Value = Callable[[random.Random], str]


def made_up_tables(
    count: int = 1, *, seed: int = 0, rows: int = 20, columns: int = 8
) -> list[Table]:
    """Make tables of the kind that reports hold: up to so many rows and columns.

    Half of them have a header of two rows with cells that span columns, a third have sections
    (projected row headers); some positions are blank. Each cell has a box around its text, as a
    page would have it. They are canonical: `canonicalize` has nothing to change.

    Parameters
    ----------
    count : int, optional
        How many, 0 and up.
    seed : int, optional
        The same seed gives the same tables, and more of them the same first ones.
    rows, columns : int, optional
        The most that a table has, 4 and 3 or more.

    Returns
    -------
    list of Table
        With headers, projected row headers and boxes.

    Raises
    ------
    InputError
        There is no room for a table, or a negative number is asked for.

    Examples
    --------
    >>> made_up_tables(2, rows=6, columns=4)
    [Table(5 x 4 positions, 17 cells), Table(6 x 4 positions, 21 cells)]
    """
    if count < 0 or rows < _FEWEST_ROWS or columns < _FEWEST_COLUMNS:
        raise InputError(
            f"count={count}, rows={rows}, columns={columns}; expected 0 or more tables of at least "
            f"{_FEWEST_ROWS} rows and {_FEWEST_COLUMNS} columns"
        )
    return [_table(random.Random(f"{seed}/{n}"), rows, columns) for n in range(count)]


_FEWEST_ROWS, _FEWEST_COLUMNS = 4, 3
#: How often a section begins, and a row has a blank.
_SELDOM = 0.15


def _table(rng: random.Random, most_rows: int, most_columns: int) -> Table:
    rows = rng.randint(_FEWEST_ROWS, most_rows)
    columns = rng.randint(_FEWEST_COLUMNS, most_columns)
    cells = list(_head(rng, columns))
    first = max(cell.rows[-1] for cell in cells) + 1
    cells += _body(rng, range(first, rows), columns)
    return table_of_cells(_boxed(cells, columns))


def _head(rng: random.Random, columns: int) -> Iterator[Cell]:
    leaves = rng.sample(_LEAVES, len(_LEAVES)) + [f"Year {n}" for n in range(columns)]
    if rng.random() < 0.5 or columns < 4:  # noqa: PLR2004 - two groups of two need four
        yield Cell((0,), (0,), "Item", is_header=True)
        for column in range(1, columns):
            yield Cell((0,), (column,), leaves[column], is_header=True)
        return
    yield Cell((0, 1), (0,), "Item", is_header=True)
    groups = rng.sample(_GROUPS, len(_GROUPS))
    column = 1
    while column < columns:
        width = min(rng.choice((2, 2, 3)), columns - column)
        covered = tuple(range(column, column + width))
        if width == 1:
            yield Cell((0, 1), covered, leaves[column], is_header=True)
        else:
            yield Cell((0,), covered, groups.pop(), is_header=True)
            for n, leaf in enumerate(covered):
                yield Cell((1,), (leaf,), leaves[n], is_header=True)
        column += width


def _body(rng: random.Random, rows: range, columns: int) -> Iterator[Cell]:
    values: list[_Value] = [rng.choice(_VALUES) for _ in range(columns)]
    sections = rng.sample(_SECTIONS, len(_SECTIONS)) if rng.random() < 1 / 3 else []
    names = [f"{subject}, {quality}" for subject in _SUBJECTS for quality in _QUALITIES]
    rng.shuffle(names)
    before = False
    for row in rows:
        # a section is followed by a row of its own
        begins = row == rows.start or (not before and rng.random() < _SELDOM)
        if sections and begins and row < rows.stop - 1:
            text, whole = sections.pop(), tuple(range(columns))
            yield Cell((row,), whole, text, is_projected=True)
            before = True
            continue
        before = False
        yield Cell((row,), (0,), names.pop() if names else f"Item {row}")
        blank = rng.randrange(2, columns) if rng.random() < _SELDOM else None
        for column in range(1, columns):
            yield Cell((row,), (column,), "" if column == blank else values[column](rng))


_VALUES: tuple[_Value, ...] = (
    lambda rng: f"{rng.randint(1, 99_999):,}",
    lambda rng: f"{rng.uniform(0, 100):.1f}%",
    lambda rng: f"{rng.uniform(-50, 500):.2f}",
    lambda rng: f"{rng.uniform(1, 90):.1f} ± {rng.uniform(0.1, 9):.1f}",
    lambda rng: f"({rng.randint(1, 999):,})",
)


def _boxed(cells: list[Cell], columns: int) -> list[Cell]:
    """Give each cell a box around its text, on a page with one width a column."""
    widths = [0.0] * columns
    for cell in cells:
        if len(cell.columns) == 1:
            widths[cell.columns[0]] = max(widths[cell.columns[0]], _LETTER * len(cell.text))
    starts = [sum(widths[:n]) + n * _GAP for n in range(columns)]
    return [cell._replace(box=_box(cell, starts[cell.columns[0]])) for cell in cells]


def _box(cell: Cell, left: float) -> tuple[float, float, float, float]:
    top, bottom = _ROW_HEIGHT * cell.rows[0] + 2, _ROW_HEIGHT * (cell.rows[-1] + 1) - 2
    right = left + max(_LETTER * len(cell.text), _LETTER)
    return round(left, 1), top, round(right, 1), bottom
