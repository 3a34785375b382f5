"""Breakdowns of what is shown: by outcome, by domain or schema, by run."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from extractbench_nb.evaluation.frames import OUTCOMES
from extractbench_nb.report.texts import single_line
from extractbench_nb.widgets.failures.coding import Axis, Coded, Numbers
from extractbench_nb.widgets.failures.means import counted, rounded
from extractbench_nb.widgets.failures.words import shortened

__all__ = ["Bar", "Bars", "bars", "bars_json"]

_MOST_BARS = 12
_LONGEST_NAME = 26
_LONGEST_TITLE = 300
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
    """Break rows down.

    Parameters
    ----------
    rows : Coded
        All rows.
    places : numpy.ndarray of int
        Those to break down.

    Returns
    -------
    list of Bars
        By outcome; by domain, or by schema where no domains are known; by run, where there are
        some. The last two with the lowest rates first, at most 12 groups each: of domains and
        schemas, the share of rows that pass; of runs, the pass rate as in the heatmap.
    """
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
    """Return breakdowns as the front end reads them.

    Parameters
    ----------
    groups : sequence of Bars
        The breakdowns.
    title : str
        What they are of.

    Returns
    -------
    dict
        ``title``; ``groups``, each with ``by``, ``measure``, ``more`` and ``bars``: the names of
        `Bar` and a list of values for each bar.
    """
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
