"""The state behind the view: one array, its thresholds, and the view models of what is asked."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pandas as pd

from extractbench_nb.errors import nearest
from extractbench_nb.evaluation import Evaluation
from extractbench_nb.report.texts import fitted
from extractbench_nb.widgets.matches.alignments import ArrayMatches, Outcome
from extractbench_nb.widgets.matches.cards import cards
from extractbench_nb.widgets.matches.detail import detail, rows_of_pair
from extractbench_nb.widgets.matches.model import (
    STATUSES,
    Row,
    failed_places,
    item_steps,
    ordered,
    read_rows,
)
from extractbench_nb.widgets.matches.thresholds import ALIGN

__all__ = ["PAGE", "Board", "Pair"]

#: Rows on a page.
PAGE = 25

Pair = tuple[int | None, int | None]

_COUNTS = ("gold_items", "predicted_items", "matched", "partial", "missed", "spurious")
_RATIOS = ("precision", "recall", "f1", "score")
_HEADS = ("gold", "predicted", *STATUSES, "precision", "recall", "F1", "score", "passes")


class Board:
    """One array of an evaluation at the present thresholds.

    Parameters
    ----------
    ev : Evaluation
        The evaluation.
    path : str
        Instance path of the array.
    """

    def __init__(self, ev: Evaluation, path: str) -> None:
        self.path = path
        self.array = ArrayMatches(ev, path)
        self.knobs = {knob.key: knob for knob in self.array.knobs}
        self.values: dict[str, float] = {}
        self._use(self.array.evaluated)

    def try_thresholds(self, values: Mapping[str, float]) -> None:
        """Decide what becomes of the items at other thresholds; see `ArrayMatches.at`."""
        self.values = dict(values)
        self._use(self.array.at(values))

    def _use(self, outcome: Outcome) -> None:
        self.outcome = outcome
        self.rows = read_rows(outcome.matches)
        ours = {row.gold_index: row.gold for row in self.rows if row.gold_index is not None}
        self._steps = item_steps([ours[at] for at in sorted(ours)])
        places = failed_places(outcome.fields, self.path, self._steps)
        self._failed = dict(enumerate(places))
        self._theirs = {r.predicted_index: r for r in self.rows if r.predicted_index is not None}
        self._ours = {r.gold_index: r for r in self.rows if r.gold_index is not None}

    @property
    def field(self) -> str:
        """The field of the array's items, ``authors[]``."""
        field = str(self.outcome.summary["field"])
        return ("" if field == "$" else field) + "[]"

    def threshold(self, key: str) -> float:
        """Return the present value of a threshold."""
        return self.values.get(key, self.knobs[key].declared)

    def problem_with(self, values: Mapping[Any, Any]) -> str | None:
        """Say what is wrong with values of thresholds, or return None."""
        for key, value in values.items():
            if key not in self.knobs:
                return f"there is no threshold {key!r}; {nearest(key, self.knobs)}"
            number = isinstance(value, int | float) and not isinstance(value, bool)
            if not number or not 0.0 <= value <= 1.0:
                return f"{key} is {value!r}; expected a number from 0 to 1"
        return None

    def row_of(self, pair: Pair) -> Row | None:
        """Return the row of a pair; one index is enough where the other is None."""
        gold_index, predicted_index = pair
        if gold_index is not None:
            row = self._ours.get(gold_index)
            return row if row and predicted_index in (None, row.predicted_index) else None
        return self._theirs.get(predicted_index) if predicted_index is not None else None

    def in_order(self, sort: str) -> list[Row]:
        """Return all rows in an order of `SORTS`."""
        return ordered(self.rows, sort)

    def page(self, rows: list[Row], number: int, sort: str) -> dict[str, Any]:
        """Write one page of rows as the front end draws it.

        Parameters
        ----------
        rows : list of Row
            What the filters leave, in order.
        number : int
            The page, counted from 0.
        sort : str
            The order.

        Returns
        -------
        dict
            ``left`` and ``right`` (see `cards`), the number of the page, of pages, of the first
            row, of the rows, of all rows and of all items.
        """
        start, array = number * PAGE, self.outcome.summary
        shown = rows[start : start + PAGE]
        return {
            **cards(shown, self._failed, self.field, sort != "gold order"),
            "page": number,
            "pages": max(1, -(-len(rows) // PAGE)),
            "first": start + 1 if shown else 0,
            "last": start + len(shown),
            "rows": len(rows),
            "all": len(self.rows),
            "items": int(array["gold_items"] + array["predicted_items"]),
        }

    def detail(self, row: Row, whole: set[int]) -> dict[str, Any]:
        """Write one row in full; see `detail`."""
        start = self.path + self._step(row)
        fields = rows_of_pair(self.outcome.fields, start)
        return detail(row, fields, start, self._note(row), whole)

    def _step(self, row: Row) -> str:
        if row.gold_index is not None:
            return self._steps[row.gold_index]
        return f"[+{row.predicted_index}]"

    def _note(self, row: Row) -> str:
        """Say which item the alignment would have paired it with."""
        if row.is_pair:
            return ""
        for gold_index, (predicted_index, similarity) in self.outcome.apart.items():
            if row.pair in ((gold_index, None), (None, predicted_index)):
                ours = row.gold_index is not None
                other = f"predicted item {predicted_index}" if ours else f"gold item {gold_index}"
                mark = f" {self.threshold(ALIGN):.2f}" if ALIGN in self.knobs else ""
                return (
                    f"The alignment set it beside {other}: similarity {similarity:.2f} is below "
                    f"align_threshold{mark}."
                )
        return ""

    def counts(self) -> dict[str, Any]:
        """Write the counts as evaluated and at the present thresholds.

        Returns
        -------
        dict
            ``heads``, and ``rows``: name, texts, and whether each differs from the first row's.
        """
        first = _texts(self.array.evaluated.summary)
        now = _texts(self.outcome.summary)
        changed = [one != two for one, two in zip(first, now, strict=True)]
        rows = [["as evaluated", first, [False] * len(first)]]
        if self.knobs:
            rows.append(["now", now, changed])
        return {"heads": list(_HEADS), "rows": rows, "values": self.changes()}

    def changes(self) -> str:
        """Say which thresholds differ from the declared ones."""
        told = [
            f"{fitted(key, 60)} {self.knobs[key].declared:.2f} → {value:.2f}"
            for key, value in self.values.items()
            if value != self.knobs[key].declared
        ]
        return "; ".join(told)

    def __str__(self) -> str:
        """Say what is shown, in one line."""
        ours, theirs = (int(self.outcome.summary[name]) for name in _COUNTS[:2])
        head = f"{fitted(self.path, 90)} · {ours:,} gold, {theirs:,} predicted items · "
        if self.outcome.summary["matched"] is pd.NA:
            return head + "not aligned"
        matched, partial, missed, spurious = (
            f"{int(self.outcome.summary[status]):,} {status}" for status in STATUSES
        )
        return f"{head}{matched}, {partial}; {missed}, {spurious}"


def _texts(summary: pd.Series) -> list[str]:
    counts = ["n/a" if summary[n] is pd.NA else f"{int(summary[n]):,}" for n in _COUNTS]
    ratios = ["n/a" if summary[name] is pd.NA else f"{summary[name]:.3f}" for name in _RATIOS]
    passed = summary["passed"]
    return [*counts, *ratios, "n/a" if passed is pd.NA else "yes" if passed else "no"]
