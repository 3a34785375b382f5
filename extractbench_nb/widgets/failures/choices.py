"""What a person chose to see: axes, measure, order and filters; and the rows that are left."""

from __future__ import annotations

from typing import Final, NamedTuple

import numpy as np
import numpy.typing as npt

from extractbench_nb.widgets.failures.coding import Coded, Numbers

__all__ = ["MEASURES", "ORDERS", "Choice", "failed_by_every_run", "kept", "within"]

#: What the cells show, and its words on the page.
MEASURES: Final = {
    "score": "mean score",
    "pass_rate": "pass rate",
    "outcome": "most frequent outcome",
}
#: How rows and columns are sorted, and its words on the page.
ORDERS: Final = {
    "worst": "worst first",
    "name": "by name",
    "document": "document order",
}

Marked = npt.NDArray[np.bool_]


class Choice(NamedTuple):
    """What to show.

    ``rows`` and ``columns`` are two of `AXES`; ``schema`` and ``run`` name the only one to show,
    None for all; ``find`` is a part of a field's name.
    """

    rows: str = "field"
    columns: str = "document"
    measure: str = "score"
    row_order: str = "worst"
    column_order: str = "worst"
    schema: str | None = None
    run: str | None = None
    find: str = ""
    failed_by_every_run: bool = False
    inside_arrays: bool = False
    valid_only: bool = False

    @property
    def filters(self) -> list[str]:
        """The filters in words; empty where everything is shown."""
        given = [
            (self.schema is not None, f"schema {self.schema}"),
            (self.run is not None, f"run {self.run}"),
            (bool(self.find.strip()), f"fields with {self.find.strip()!r} in their name"),
            (self.failed_by_every_run, "fields failed by every run"),
            (self.valid_only, "without invalid outputs"),
        ]
        return [text for there, text in given if there]


def kept(rows: Coded, choice: Choice) -> Numbers:
    """Return the places of the rows that the filters leave.

    Parameters
    ----------
    rows : Coded
        All rows.
    choice : Choice
        The filters. Without ``inside_arrays`` only rows that enter the scores are left.

    Returns
    -------
    numpy.ndarray of int
        Places in ``rows.frame``, in order.
    """
    chosen = np.ones(len(rows), dtype=bool) if choice.inside_arrays else rows.counted.copy()
    for axis, name in ((rows.schemas, choice.schema), (rows.axes["run"], choice.run)):
        if name is not None:
            chosen &= axis.codes == (axis.names.index(name) if name in axis.names else -1)
    if choice.valid_only:
        chosen &= ~rows.invalid
    fields = rows.axes["field"]
    wanted = choice.find.strip().casefold()
    if wanted:
        found = np.fromiter((wanted in name for name in rows.searched), dtype=bool)
        chosen &= found[fields.codes]
    places = np.flatnonzero(chosen)
    if choice.failed_by_every_run:
        places = places[failed_by_every_run(rows, places)[fields.codes[places]]]
    return places


def failed_by_every_run(rows: Coded, places: Numbers) -> Marked:
    """Tell the fields that gold has somewhere, and of which no run gets one row right.

    Parameters
    ----------
    rows : Coded
        All rows.
    places : numpy.ndarray of int
        Those to look at.

    Returns
    -------
    numpy.ndarray of bool
        One entry a field.
    """
    fields = rows.axes["field"]
    asked = places[rows.asked[places]]
    right = asked[rows.passed[asked]]
    there, passes = (np.bincount(fields.codes[at], minlength=fields.size) for at in (asked, right))
    return np.asarray((there > 0) & (passes == 0))


def within(rows: Coded, places: Numbers, choice: Choice, block: tuple[Numbers, Numbers]) -> Numbers:
    """Return those of `places` that are in a block of the heatmap.

    Parameters
    ----------
    rows : Coded
        All rows.
    places : numpy.ndarray of int
        Those that the filters leave.
    choice : Choice
        The axes.
    block : tuple of (numpy.ndarray of int, numpy.ndarray of int)
        Rows and columns of the heatmap, as codes of their axes.

    Returns
    -------
    numpy.ndarray of int
        Places in ``rows.frame``, in order.
    """
    for name, codes in zip((choice.rows, choice.columns), block, strict=True):
        axis = rows.axes[name]
        wanted = np.zeros(axis.size, dtype=bool)
        wanted[codes] = True
        places = places[wanted[axis.codes[places]]]
    return places
