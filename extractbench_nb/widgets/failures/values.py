"""The rows behind the chosen cells: gold against predicted, what differs marked."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from extractbench_nb.report.sides import Segment, alone, compared
from extractbench_nb.report.texts import single_line, value_text
from extractbench_nb.widgets.failures.coding import Coded, Numbers
from extractbench_nb.widgets.failures.means import rounded
from extractbench_nb.widgets.failures.words import shortened

__all__ = ["ROWS_A_PAGE", "ValueRow", "Values", "value_rows", "values_json"]

ROWS_A_PAGE = 20

_LONGEST_NAME = 60
_LONGEST_PATH = 200
_READ = (
    *("path", "metric", "score", "outcome", "reason", "reasoning"),
    *("gold", "predicted", "gold_state", "predicted_state"),
)
#: Characters of a value: at first, and where all of it is asked for.
_SHOWN, _LONGEST = 500, 100_000
#: Where both texts are shorter, all of them is shown with what differs marked.
_LONGEST_MARKED = 4000


class ValueRow(NamedTuple):
    """One row of `fields` to read: where it is, what became of it, and the two values.

    ``at`` is its place in the frame. ``whole`` says that nothing of the values is left out.
    """

    at: int
    run: str
    document: str
    path: str
    metric: str
    score: float | None
    outcome: str
    reason: str
    reasoning: str
    gold: tuple[Segment, ...]
    predicted: tuple[Segment, ...]
    whole: bool


class Values(NamedTuple):
    """One page of rows, those that fail first: ``first`` of ``total``."""

    rows: tuple[ValueRow, ...]
    first: int
    total: int
    failing: int


def value_rows(rows: Coded, places: Numbers, page: int = 0, whole: int | None = None) -> Values:
    """Lay gold and prediction of some rows side by side.

    Parameters
    ----------
    rows : Coded
        All rows.
    places : numpy.ndarray of int
        Those to show.
    page : int, optional
        Which page of 20 rows, from 0; one beyond the last is the last.
    whole : int, optional
        Place of the row whose values are wanted up to 100,000 characters.

    Returns
    -------
    Values
        Rows that fail or have no verdict come first, then those that pass; each in document order.
    """
    failing = places[~rows.passed[places]]
    ordered = np.concatenate([failing, places[rows.passed[places]]])
    first = max(0, min(page, (len(ordered) - 1) // ROWS_A_PAGE)) * ROWS_A_PAGE
    shown = ordered[first : first + ROWS_A_PAGE]
    found = tuple(_row(rows, int(at), long=at == whole) for at in shown)
    return Values(found, first, len(ordered), len(failing))


def _row(rows: Coded, at: int, *, long: bool) -> ValueRow:
    row = {name: rows.frame[name].iloc[at] for name in _READ}
    gold, predicted, whole = _sides(row, long=long)
    return ValueRow(
        at,
        _name_of(rows, "run", at),
        _name_of(rows, "document", at),
        single_line(_text(row["path"]), _LONGEST_PATH),
        single_line(_text(row["metric"]), _LONGEST_NAME),
        None if pd.isna(row["score"]) else float(rounded(row["score"])),
        _text(row["outcome"]),
        single_line(_text(row["reason"]).replace("_", " "), _LONGEST_NAME),
        single_line(_text(row["reasoning"]), _LONGEST if long else _LONGEST_PATH),
        tuple(gold),
        tuple(predicted),
        whole,
    )


def _name_of(rows: Coded, axis: str, at: int) -> str:
    found = rows.axes[axis]
    return "" if not found.given else shortened(found.names[found.codes[at]], _LONGEST_NAME)


def _text(value: Any) -> str:
    return value if isinstance(value, str) else ""


def _sides(row: dict[str, Any], *, long: bool) -> tuple[list[Segment], list[Segment], bool]:
    """Return both values, and whether that is all of them."""
    values = _readable(row["gold"]), _readable(row["predicted"])
    states = _text(row["gold_state"]), _text(row["predicted_state"])
    longest = max(len(value_text(value)) for value in values)
    both = states == ("present", "present")
    if both and longest <= _LONGEST_MARKED and long:
        return *compared(*values, limit=_LONGEST_MARKED // 2), True
    if both and not long:
        return *compared(*values, limit=_SHOWN), longest <= 2 * _SHOWN
    limit = _LONGEST if long else _SHOWN
    gold, predicted = (alone(v, s, limit=limit) for v, s in zip(values, states, strict=True))
    return gold, predicted, longest <= limit


def _readable(value: Any) -> Any:
    """Write objects and arrays as JSON, so that two of them can be compared."""
    return value_text(value) if isinstance(value, dict | list | tuple) else value


def values_json(values: Values, title: str, *, chosen: bool) -> Mapping[str, Any]:
    """Return a page of rows as the front end reads it.

    Parameters
    ----------
    values : Values
        The page.
    title : str
        What was chosen.
    chosen : bool
        Whether anything was.

    Returns
    -------
    dict
        ``title``, ``chosen``; ``rows``: the names of `ValueRow` and a list of values for each row;
        where the page is and of how many.
    """
    return {
        "title": title,
        "chosen": chosen,
        "rows": {"columns": list(ValueRow._fields), "rows": [list(row) for row in values.rows]},
        "first": values.first,
        "total": values.total,
        "page": ROWS_A_PAGE,
    }
