"""The heatmap of failures: its rows, columns, cells and breakdowns."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from extractbench_nb.display.text import clean, single_line
from extractbench_nb.evaluation.frames import OUTCOMES
from extractbench_nb.widgets.failures_rows import (
    Axis,
    Choice,
    Coded,
    Numbers,
    Reals,
    failed_by_every_run,
)

__all__ = [
    "COLUMNS_A_PAGE",
    "FEW_COLUMNS",
    "ROWS_A_PAGE",
    "Bar",
    "Bars",
    "Cell",
    "Grid",
    "Line",
    "Side",
    "Sums",
    "Window",
    "bars",
    "bars_json",
    "counted",
    "grid",
    "grid_json",
    "plural",
    "rounded",
    "shortened",
    "side",
]


def shortened(text: str, limit: int) -> str:
    """Write a name on one line, leaving out its middle where it is too long.

    Examples
    --------
    >>> shortened("balance.deferred_tax_assets.before", 20)
    'balance.de…ts.before'
    """
    ends = text if len(text) <= 4 * limit else text[: 2 * limit] + text[-2 * limit :]
    line = " ".join(clean(ends).split())
    if len(line) <= limit:
        return line
    last = (limit - 1) // 2
    return f"{line[: limit - 1 - last]}…{line[-last:]}"


def plural(number: int, noun: str) -> str:
    """Write a number with its noun: ``1 run``, ``4 runs``."""
    return f"{number:,} {noun}{'' if number == 1 else 's'}"


class Sums(NamedTuple):
    """Per group: rows, those that pass, those of invalid outputs; means, 0 where no rows are.

    ``mean_score`` and ``pass_rate`` are in [0, 1].
    """

    rows: Numbers
    passed: Numbers
    invalid: Numbers
    mean_score: Reals
    pass_rate: Reals


def counted(rows: Coded, places: Numbers, groups: Numbers, size: int) -> Sums:
    """Sum up rows by group."""
    outputs, nodes = rows.outputs, rows.nodes
    keys, pairs = pd.factorize(groups * len(outputs.firsts) + outputs.codes[places])
    owners = pairs // max(1, len(outputs.firsts))
    weighed = np.bincount(keys, weights=nodes.weight[places], minlength=len(pairs)) > 0
    weights = np.where(weighed[keys], nodes.weight[places], nodes.share[places])
    whole = np.bincount(keys, weights=weights, minlength=len(pairs))
    several = np.maximum(1, np.bincount(owners, minlength=size))

    def mean(values: Reals) -> Reals:
        per_output = np.bincount(keys, weights=weights * values, minlength=len(pairs)) / whole
        means = np.bincount(owners, weights=per_output, minlength=size) / several
        return np.asarray(np.round(means, 12))

    return Sums(
        np.bincount(groups, minlength=size),
        np.bincount(groups[rows.passed[places]], minlength=size),
        np.bincount(groups[rows.invalid[places]], minlength=size),
        mean(nodes.score[places]),
        mean(nodes.passed[places].astype(np.float64)),
    )


def rounded(values: Reals | float) -> Reals:
    """Round to four digits; only an exact 0 and an exact 1 become 0 and 1.

    Examples
    --------
    >>> rounded(np.array([0.0, 0.00001, 0.12345, 0.99999, 1.0])).tolist()
    [0.0, 0.0001, 0.1234, 0.9999, 1.0]
    """
    exact = np.asarray(values, dtype=np.float64)
    ends = (exact <= 0) | (exact >= 1)
    return np.where(ends, exact, np.clip(np.round(exact, 4), 0.0001, 0.9999))


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
    """Sort the items of one axis, and describe those of a page."""
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
    """Sum up one page of the heatmap."""
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
    """Return a page of the heatmap as the front end reads it."""
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


_MOST_BARS = 12
_LONGEST_NAME = 26
_MEASURES = {"outcome": "share of rows", "run": "pass rate, mean over documents"}


class Bar(NamedTuple):
    """One group; ``counts`` has the outcomes that occur, with their numbers of rows.

    ``rate``, in [0, 1], is what `Bars.measure` says.
    """

    name: str
    title: str
    rows: int
    passed: int
    rate: float
    counts: tuple[tuple[str, int], ...]


class Bars(NamedTuple):
    """The groups of one breakdown, and how many there are beyond these."""

    by: str
    bars: tuple[Bar, ...]
    more: int

    @property
    def measure(self) -> str:
        """What the rates are, in words."""
        return _MEASURES.get(self.by, "share of rows that pass")


def bars(rows: Coded, places: Numbers) -> list[Bars]:
    """Break rows down."""
    axes = {"domain": rows.domains, "schema": rows.schemas, "run": rows.axes["run"]}
    given = [name for name, axis in axes.items() if axis.given]
    shown = [name for name in given if name != "schema" or "domain" not in given]
    return [_by_outcome(rows, places), *(_by_axis(rows, places, n, axes[n]) for n in shown)]


def _by_outcome(rows: Coded, places: Numbers) -> Bars:
    numbers = np.bincount(rows.outcome[places], minlength=len(OUTCOMES)).tolist()
    right = np.bincount(rows.outcome[places[rows.passed[places]]], minlength=len(OUTCOMES)).tolist()
    found = tuple(
        Bar(name.replace("_", " "), name, n, passed, n / len(places), ((name, n),))
        for name, n, passed in zip(OUTCOMES, numbers, right, strict=True)
        if n
    )
    return Bars("outcome", found, 0)


def _by_axis(rows: Coded, places: Numbers, by: str, axis: Axis) -> Bars:
    codes, kinds = axis.codes[places], len(OUTCOMES)
    sums = counted(rows, places, codes, axis.size)
    outcomes = np.bincount(codes * kinds + rows.outcome[places], minlength=axis.size * kinds)
    there = np.flatnonzero(sums.rows)
    rates = sums.pass_rate if by == "run" else sums.passed / np.maximum(1, sums.rows)
    worst = there[np.lexsort((there, sums.mean_score[there], rates[there]))]
    found = tuple(
        Bar(
            shortened(axis.names[code], _LONGEST_NAME),
            single_line(axis.names[code], _LONGEST_TITLE),
            int(sums.rows[code]),
            int(sums.passed[code]),
            float(rounded(rates[code])),
            _counts(outcomes[code * kinds : (code + 1) * kinds]),
        )
        for code in worst[:_MOST_BARS]
    )
    return Bars(by, found, len(worst) - len(found))


def _counts(numbers: Numbers) -> tuple[tuple[str, int], ...]:
    return tuple((name, int(n)) for name, n in zip(OUTCOMES, numbers, strict=True) if n)


def bars_json(groups: Sequence[Bars], title: str) -> Mapping[str, Any]:
    """Return breakdowns as the front end reads them."""
    return {
        "title": title,
        "groups": [
            {
                "by": group.by,
                "measure": group.measure,
                "more": group.more,
                "bars": {"columns": list(Bar._fields), "rows": [list(bar) for bar in group.bars]},
            }
            for group in groups
            if group.bars
        ],
    }
