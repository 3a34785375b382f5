"""Assignments that are worth most, found without comparing the texts of all pairs.

To compare all texts of two arrays takes long, and most pairs are unlike. So the assignment is
solved on what pairs are worth at most, with texts taken as equal, and only the chosen pairs are
compared. If they are still worth more than any other assignment can be, that is the solution. If
not, items for which another pair may be better are compared with all others, and it is solved anew.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from importlib.machinery import PathFinder
from importlib.util import module_from_spec
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

#: Error of rounding of a total.
MARGIN = 1e-7
#: Solutions on bounds after which all pairs are compared.
ROUNDS = 12
#: Share of items with a better pair beyond which all are; and items of which that is no share yet.
WEAK_SHARE = 0.3
FEW_ROWS = 100
#: Rounds after which prices are given up.
PRICE_ROUNDS = 100

Pairs = list[tuple[int, int]]
Flags = NDArray[np.bool_]
Indices = NDArray[np.int64]
Worths = NDArray[np.float64]
#: What items are worth together: all of these rows and columns, or pair by pair.
Ask = Callable[[Indices, Indices], Worths]


class Worth:
    """What pairs of items are worth, or are worth at most where this is not `exact`.

    `block` gives what all pairs of some rows and columns are worth, `lower` what single pairs are
    worth at least.
    """

    def __init__(self, values: Worths, exact: Flags, block: Ask, lower: Ask) -> None:
        self.values, self.exact, self.block, self.lower = values, exact, block, lower
        self._is_tall = values.shape[0] > values.shape[1]
        # the shorter side by the longer one: each row has a partner
        self._by_row = values.T if self._is_tall else values

    def put(self, row: int, column: int, value: float) -> None:
        """Put what a pair is worth in the place of a bound or an estimate."""
        self.values[row, column], self.exact[row, column] = value, True

    def make_exact(self, rows: Indices | None = None) -> None:
        """Replace the bounds in some rows of the shorter side, or in all."""
        every = [np.arange(size) for size in self.values.shape]
        if rows is not None:
            every[self._is_tall] = rows
        grid = np.ix_(*every)
        if not self.exact[grid].all():
            self.values[grid] = np.where(self.exact[grid], self.values[grid], self.block(*every))
            self.exact[grid] = True

    def at_least(self, rows: Indices, columns: Indices) -> Worths:
        """Return what these pairs are worth at least."""
        own = self.values[rows, columns]
        bounds = ~self.exact[rows, columns]
        if bounds.any():
            own[bounds] = self.lower(rows[bounds], columns[bounds])
        return own

    def best_pairs(self) -> Pairs:
        """Solve the assignment problem: on the bounds, where they leave one solution only.

        Otherwise the solver decides on exact values which of equal solutions it takes.
        """
        for _ in range(ROUNDS):
            if self.exact.all():
                break
            chosen = _partners(self._by_row)
            is_only, weak = self._judge(chosen)
            if is_only:
                return self._pairs(list(enumerate(chosen.tolist())))
            few = 0 < weak.size <= WEAK_SHARE * len(chosen)
            self.make_exact(weak if few else None)
        self.make_exact()
        return solve(self.values)

    def likeliest(self, count: int) -> Pairs:
        """Return the best `count` partners of each item of the shorter side."""
        if not self.exact.all():
            weak = self._judge(self._by_row.argmax(axis=1))[1] if count == 1 else None
            self.make_exact(weak)
        best = np.argpartition(-self._by_row, count - 1, axis=1)[:, :count].tolist()
        return self._pairs([(row, column) for row, some in enumerate(best) for column in some])

    def _judge(self, chosen: Indices) -> tuple[bool, Indices]:
        """Return whether no other assignment can be worth as much, and the rows where a pair can.

        Rows whose values are exact are not among the latter. The former is for assignments only.
        """
        worth, rows = self._by_row, np.arange(len(chosen))
        own = self.at_least(chosen, rows) if self._is_tall else self.at_least(rows, chosen)
        bounds = worth[rows, chosen]
        worth[rows, chosen] = -np.inf
        is_open = ~(self.exact.T if self._is_tall else self.exact).all(axis=1)
        weak = np.flatnonzero((own <= worth.max(axis=1)) & is_open)
        is_only = is_only_optimum(worth, chosen, own)
        worth[rows, chosen] = bounds
        return is_only, weak

    def _pairs(self, pairs: Pairs) -> Pairs:
        return sorted((b, a) for a, b in pairs) if self._is_tall else pairs


def is_only_optimum(worth: Worths, chosen: Indices, own: Worths) -> bool:
    """Whether all other assignments are worth less, by more than an error of rounding.

    `own` is what each row is worth with the column that is `chosen` for it; `worth` has the others.
    These are worth less if each column has a price, zero where it is unused, so that every row
    gains less in any column but its own. The lowest such prices are found by raising them until no
    other column is as good, for which as many rounds are enough as there are rows.
    """
    best = worth.max(axis=1)
    unused = np.delete(np.arange(worth.shape[1]), chosen)
    price = np.zeros(worth.shape[1])
    tempted, part = np.arange(0), worth[:0]
    for _ in range(min(PRICE_ROUNDS, len(best) + 1)):
        more = price[chosen] - own + MARGIN
        before, tempted = tempted, np.flatnonzero(best + more > 0.0)
        if tempted.size > max(FEW_ROWS, WEAK_SHARE * len(best)):
            return False
        if not np.array_equal(tempted, before):
            part = worth[tempted]
        raised = (part + more[tempted, None]).max(axis=0, initial=0.0)
        if raised[unused].any():
            return False
        if np.array_equal(raised, price):
            return True
        price = raised
    return False


def solve(worth: Worths) -> Pairs:
    """Solve the assignment problem on exact values."""
    is_tall = worth.shape[0] > worth.shape[1]
    pairs = list(enumerate(_partners(worth.T if is_tall else worth).tolist()))
    return sorted((b, a) for a, b in pairs) if is_tall else pairs


def _partners(worth: Worths) -> Indices:
    """Return the column of each row, of which there are no more than columns.

    Where no two rows are best in the same column, this needs no solver. That is also what scipy's
    solver finds then: it takes the first of equal columns, row by row.
    """
    if worth.shape == (2, 2):
        straight = worth[0, 0] + worth[1, 1] >= worth[0, 1] + worth[1, 0]
        return np.array([0, 1] if straight else [1, 0])
    best: Indices = worth.argmax(axis=1)
    if len(set(best.tolist())) < len(best):
        best = _solver()(worth, True)[1]
    return best


@cache
def _solver() -> Any:
    """Return ``scipy.optimize.linear_sum_assignment``.

    Its module is loaded from its file: the package around it takes 0.3 s to import, more than the
    rest of a first evaluation.
    """
    import scipy

    folder = Path(scipy.__file__).with_name("optimize")
    spec = PathFinder.find_spec("_lsap", [str(folder)])
    if spec is not None and spec.loader is not None:
        module = module_from_spec(spec)
        spec.loader.exec_module(module)
        if hasattr(module, "linear_sum_assignment"):
            return module.linear_sum_assignment
    from scipy.optimize import linear_sum_assignment

    return linear_sum_assignment
