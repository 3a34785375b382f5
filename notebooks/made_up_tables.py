"""Tables like those in reports, made up at random: notebooks 05 and 07, and tests, use them."""

from __future__ import annotations

import random
from collections.abc import Callable, Hashable, Iterator, Mapping
from typing import Any

import numpy as np
import pandas as pd

from extractbench_nb.tables import Table, read_table, to_objects

_Cell = dict[str, Any]
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
    """Generate tables like those in reports, of at least 4 rows and 3 columns.

    Half of them have a header of two rows with cells that span columns, a third have sections
    (projected row headers); some positions are blank. Each cell has a box around its text, as a
    page would have it. They are canonical, and the first tables are the same for every `count`.
    """
    tables = []
    for n in range(count):
        rng = random.Random(f"{seed}/{n}")
        height, width = rng.randint(4, rows), rng.randint(3, columns)
        cells = list(_head(rng, width))
        first = max(row for cell in cells for row in cell["row_nums"]) + 1
        cells += _body(rng, range(first, height), width)
        tables.append(read_table(list(_boxed(cells, width))))
    return tables


#: The true objects of a table, and its words.
Image = tuple[pd.DataFrame, list[dict[str, Any]]]


def made_up_images(
    count: int, *, seed: int = 0, rows: int = 12, columns: int = 6
) -> dict[str, Image]:
    """Return the true objects and the words of made-up tables, by the name of the table."""
    images = {}
    for number, table in enumerate(made_up_tables(count, seed=seed, rows=rows, columns=columns)):
        words = [{"text": cell.text, "bbox": cell.box} for cell in table.cells if cell.text]
        images[f"table {number}"] = (to_objects(table), words)
    return images


def wrong_objects(
    images: Mapping[str, Image], errors: Mapping[Hashable, Mapping[str, float]], *, seed: int = 0
) -> dict[Hashable, dict[str, pd.DataFrame]]:
    """Return what a detector with these errors could find in the images, for each set of errors.

    ``moved`` is the standard deviation of each edge, in row heights; ``dropped`` the share of
    objects that are missing (never the table itself); ``doubled`` the share that is found twice,
    the second time with a lower score.
    """
    rng = np.random.default_rng(seed)
    corners = ["x0", "y0", "x1", "y1"]
    read = {
        name: (true["label"].array, true[corners].to_numpy(float))
        for name, (true, _) in images.items()
    }
    predicted: dict[Hashable, dict[str, pd.DataFrame]] = {}
    for key, sizes in errors.items():
        moved, dropped, doubled = (sizes.get(kind, 0) for kind in ("moved", "dropped", "doubled"))
        predicted[key] = {}
        for name, (labels, boxes) in read.items():
            count = len(labels)
            scores = [rng.uniform(0.7, 1, count), rng.uniform(0.5, 0.8, count)]
            second = boxes + rng.normal(0, 0.1 * _ROW_HEIGHT, boxes.shape)
            is_first = (rng.random(count) >= dropped) | np.asarray(labels == "table", bool)
            kept = np.flatnonzero([*is_first, *(rng.random(count) < doubled)])
            both = np.concatenate([boxes, second])[kept]
            both = both + rng.normal(0, moved * _ROW_HEIGHT, both.shape)
            columns = {
                "label": labels.take(kept % count),
                "score": np.concatenate(scores)[kept],
                **dict(zip(corners, both.T, strict=True)),
            }
            predicted[key][name] = pd.DataFrame(columns)
    return predicted


#: Probability that a section begins, and that a row has a blank cell.
_SELDOM = 0.15


def _cell(rows: tuple[int, ...], columns: tuple[int, ...], text: str, **flags: bool) -> _Cell:
    return {"row_nums": rows, "column_nums": columns, "text": text, **flags}


def _head(rng: random.Random, columns: int) -> Iterator[_Cell]:
    leaves = rng.sample(_LEAVES, len(_LEAVES)) + [f"Year {n}" for n in range(columns)]
    if rng.random() < 0.5 or columns < 4:
        yield _cell((0,), (0,), "Item", is_column_header=True)
        for column in range(1, columns):
            yield _cell((0,), (column,), leaves[column], is_column_header=True)
        return
    yield _cell((0, 1), (0,), "Item", is_column_header=True)
    groups = rng.sample(_GROUPS, len(_GROUPS))
    column = 1
    while column < columns:
        width = min(rng.choice((2, 2, 3)), columns - column)
        covered = tuple(range(column, column + width))
        if width == 1:
            yield _cell((0, 1), covered, leaves[column], is_column_header=True)
        else:
            yield _cell((0,), covered, groups.pop(), is_column_header=True)
            for n, leaf in enumerate(covered):
                yield _cell((1,), (leaf,), leaves[n], is_column_header=True)
        column += width


def _body(rng: random.Random, rows: range, columns: int) -> Iterator[_Cell]:
    values: list[_Value] = [rng.choice(_VALUES) for _ in range(columns)]
    sections = rng.sample(_SECTIONS, len(_SECTIONS)) if rng.random() < 1 / 3 else []
    names = [f"{subject}, {quality}" for subject in _SUBJECTS for quality in _QUALITIES]
    rng.shuffle(names)
    before = False
    for row in rows:
        # a section is followed by a row of its own
        begins = row == rows.start or (not before and rng.random() < _SELDOM)
        if sections and begins and row < rows.stop - 1:
            text, all_columns = sections.pop(), tuple(range(columns))
            yield _cell((row,), all_columns, text, is_projected_row_header=True)
            before = True
            continue
        before = False
        yield _cell((row,), (0,), names.pop() if names else f"Item {row}")
        blank = rng.randrange(2, columns) if rng.random() < _SELDOM else None
        for column in range(1, columns):
            yield _cell((row,), (column,), "" if column == blank else values[column](rng))


_VALUES: tuple[_Value, ...] = (
    lambda rng: f"{rng.randint(1, 99_999):,}",
    lambda rng: f"{rng.uniform(0, 100):.1f}%",
    lambda rng: f"{rng.uniform(-50, 500):.2f}",
    lambda rng: f"{rng.uniform(1, 90):.1f} ± {rng.uniform(0.1, 9):.1f}",
    lambda rng: f"({rng.randint(1, 999):,})",
)


def _boxed(cells: list[_Cell], columns: int) -> Iterator[_Cell]:
    """Give each cell a box around its text, on a page with one width per column."""
    widths = [0.0] * columns
    for cell in cells:
        first, *others = cell["column_nums"]
        if not others:
            widths[first] = max(widths[first], _LETTER * len(cell["text"]))
    for cell in cells:
        first, (top, *_, bottom) = cell["column_nums"][0], (*cell["row_nums"], cell["row_nums"][-1])
        left = sum(widths[:first]) + first * _GAP
        right = left + max(_LETTER * len(cell["text"]), _LETTER)
        box = round(left, 1), _ROW_HEIGHT * top + 2, round(right, 1), _ROW_HEIGHT * (bottom + 1) - 2
        yield cell | {"bbox": box}
