"""What stands above and below a heatmap: what is shown, and why there may be nothing."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from extractbench_nb.report.texts import single_line
from extractbench_nb.widgets.failures.choices import MEASURES, Choice, failed_by_every_run
from extractbench_nb.widgets.failures.coding import AXES, Coded, Numbers
from extractbench_nb.widgets.failures.values import Values
from extractbench_nb.widgets.failures.words import plural, shortened

__all__ = ["absent", "bars_title", "empty", "every", "headline", "title", "values_title"]

_LONGEST_NAME = 80
_ABSENT = {
    frozenset({"field", "document"}): "field not in this document",
    frozenset({"field", "run"}): "field not in the documents of this run",
    frozenset({"document", "run"}): "no output of this run",
}

#: What a line is the mean of; the fields of each document and run are averaged before.
_OVER = {
    "field": "mean over documents and runs",
    "document": "mean over runs",
    "run": "mean over documents",
}


def title(rows: Coded) -> str:
    """Say in one line what there is, whatever is shown of it."""
    sizes = " · ".join(plural(rows.axes[name].size, name) for name in AXES)
    return f"Failures · {sizes} · {plural(len(rows), 'row')}"


def headline(rows: Coded, places: Numbers) -> list[str]:
    """Count what is shown.

    Parameters
    ----------
    rows : Coded
        All rows.
    places : numpy.ndarray of int
        Those that the filters leave.

    Returns
    -------
    list of str
        Fields, documents and runs; invalid outputs, where there are some; fields that every run
        fails.
    """
    if not len(places):
        return []
    said = [plural(len(_there(rows.axes[name].codes[places])), name) for name in AXES]
    outputs = _there(rows.outputs.codes[places])
    invalid = int(rows.outputs.invalid[outputs].sum())
    if invalid:
        all_fail = f"{invalid:,} of {plural(len(outputs), 'output')} invalid: all their fields fail"
        said.append(all_fail)
    failed = int(failed_by_every_run(rows, places).sum())
    said.append(f"{plural(failed, 'field')} failed by every run" if failed else "")
    return [text for text in said if text]


def _there(codes: Numbers) -> Numbers:
    """Return each code once."""
    return np.flatnonzero(np.bincount(codes))


def absent(choice: Choice) -> str:
    """Say what a cell without rows means."""
    return _ABSENT[frozenset({choice.rows, choice.columns})]


def every(choice: Choice) -> str:
    """Say what the numbers of whole rows and columns are."""
    measure = MEASURES["score" if choice.measure == "score" else "pass_rate"]
    means = (f"of a {axis}, {_OVER[axis]}" for axis in (choice.rows, choice.columns))
    return f"all: {measure}; {'; '.join(means)}"


def empty(rows: Coded, choice: Choice) -> str:
    """Say why nothing is shown, and what would help."""
    if not len(rows):
        return "No field was evaluated: there are no rows in `fields`."
    given = [single_line(text, _LONGEST_NAME) for text in choice.filters]
    if not choice.inside_arrays and not rows.counted.any():
        return "Every row is inside an array; show the fields inside arrays."
    return f"No field matches: {', '.join(given)}. Clear the filters."


def bars_title(total: int, *, chosen: bool) -> str:
    """Say what the bars count."""
    return f"{'Selection' if chosen else 'All that is shown'}: {plural(total, 'row')}"


def values_title(choice: Choice, block: Sequence[Sequence[str]], values: Values) -> str:
    """Say which cells were chosen, and how many of their rows fail.

    Parameters
    ----------
    choice : Choice
        The axes.
    block : sequence of (sequence of str, sequence of str)
        Names of the rows and columns that are chosen, if any.
    values : Values
        What is in them.

    Returns
    -------
    str
        One line.
    """
    if not block:
        return "No cell is chosen."
    sides = " × ".join(
        shortened(names[0], _LONGEST_NAME) if len(names) == 1 else plural(len(names), axis)
        for names, axis in zip(block, (choice.rows, choice.columns), strict=True)
    )
    if not values.total:
        return f"{sides}: nothing here, or the filters leave nothing."
    return f"{sides}: {values.failing:,} of {plural(values.total, 'row')} not passed"
