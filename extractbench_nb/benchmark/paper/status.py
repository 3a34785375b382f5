"""Whether a recomputed figure is the printed one."""

from __future__ import annotations

from decimal import ROUND_HALF_EVEN, ROUND_HALF_UP, Decimal

from extractbench_nb.benchmark.paper.cells import Cell
from extractbench_nb.benchmark.published import Figure

__all__ = ["DIFFERS", "EQUAL", "NOT_REPRODUCIBLE", "ROUNDING", "STATUSES", "rounded", "status_of"]

EQUAL, ROUNDING, DIFFERS = "equal", "rounding", "differs"
NOT_REPRODUCIBLE = "not reproducible"
STATUSES = (EQUAL, ROUNDING, DIFFERS, NOT_REPRODUCIBLE)

#: Units that are counted: no rounding explains a difference of one.
_COUNTED = frozenset(
    "documents pages keys levels values fields failures kinds items people models schemas domains"
    " words".split()
)

#: Digits beyond which two results of floating-point arithmetic are the same number.
_NOISE = Decimal("1e-9")


def rounded(value: float, digits: int, *, how: str = ROUND_HALF_EVEN) -> Decimal:
    """Round to so many decimals, or to tens and thousands where `digits` is negative."""
    exact = Decimal(repr(float(value))).quantize(_NOISE)
    return exact.quantize(Decimal(1).scaleb(-digits), rounding=how)


def status_of(figure: Figure, cell: Cell) -> str:
    """Compare a printed figure with a recomputed one.

    Parameters
    ----------
    figure : Figure
        As printed. ``100+`` is a lower bound, ``<1×`` an upper one.
    cell : Cell
        As recomputed.

    Returns
    -------
    str
        ``equal``: the same after rounding to the printed decimals (half up or half even).
        ``rounding``: one unit of the last decimal apart, for averages and shares only.
        ``differs``; ``not reproducible``.

    Examples
    --------
    >>> figure = Figure("5", "GPT-5.2", "", "rate", 6.2, "%", 1, "6.2%", False, False, "")
    >>> [status_of(figure, Cell(v, "")) for v in (6.25, 6.3, 7.0, None)]
    ['equal', 'rounding', 'differs', 'not reproducible']
    """
    if cell.value is None or cell.given:
        return NOT_REPRODUCIBLE
    if figure.value is None or isinstance(cell.value, str):
        return EQUAL if cell.value == figure.printed else DIFFERS
    return _of_numbers(figure, figure.value, cell.value)


def _of_numbers(figure: Figure, printed: float, value: float) -> str:
    if figure.printed.endswith(("+", "+%")):
        return EQUAL if value >= printed else DIFFERS
    if figure.printed.startswith("<"):
        return EQUAL if value < printed else DIFFERS
    digits = figure.digits or 0
    target = rounded(printed, digits)
    near = {rounded(value, digits, how=how) for how in (ROUND_HALF_EVEN, ROUND_HALF_UP)}
    if target in near:
        return EQUAL
    unit = Decimal(1).scaleb(-digits)
    if figure.unit not in _COUNTED and min(abs(n - target) for n in near) <= unit:
        return ROUNDING
    return DIFFERS
