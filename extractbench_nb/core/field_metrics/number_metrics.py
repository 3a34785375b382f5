"""Metrics for numbers and booleans, from two JSON values to whether they are equal.

Booleans are not numbers. A text is read as a number; two values that are not numbers are compared
as text.
"""

from __future__ import annotations

import math
from typing import Any

from extractbench_nb.core.field_metrics.estimates import equal_codes, near_numbers
from extractbench_nb.core.field_metrics.registry import README, built_in
from extractbench_nb.core.text.quantities import as_number
from extractbench_nb.core.values import json_text
from extractbench_nb.support.foreign_values import as_written

_NUMERIC = ("number", "integer", "any")
_PARSE = {
    "choices": ("plain", "lenient"),
    "meaning": "``plain`` reads texts as JSON writes numbers, ``lenient`` also thousands "
    "separators, currency signs, percent, units, scale words, and parentheses for negatives.",
}


def _both(gold: Any, predicted: Any, parse: str) -> tuple[int | float, int | float] | bool:
    """Return both numbers, or the verdict where they are not both numbers."""
    one, two = as_number(gold, parse), as_number(predicted, parse)
    if one is None and two is None:
        return json_text(gold).strip() == json_text(predicted).strip()
    if one is None or two is None:
        return False
    return one, two


def _same(one: int | float, two: int | float) -> bool:
    return one == two or (one != one and two != two)  # noqa: PLR0124 - NaN equals only NaN


@built_in(
    _NUMERIC,
    "gold == predicted",
    README,
    "equal numbers",
    {"parse": _PARSE},
    estimate=equal_codes,
    reflexive={int, float},
    use="counts, amounts that must not be rounded",
)
def number_exact(gold: Any, predicted: Any, *, parse: str = "plain") -> bool:
    r"""Compare as numbers: ``1``, ``1.0`` and ``"1"`` are equal.

    Notes
    -----
    .. math::

        s(g, p) = \begin{cases} 1 & \text{if } g = p \\ 0 & \text{otherwise} \end{cases}

    Examples
    --------
    >>> number_exact(1, 1.0), number_exact(1200, "1,200"), number_exact(0.1 + 0.2, 0.3)
    (True, False, False)
    >>> number_exact(1200, "EUR 1,200.00", parse="lenient")
    True
    """
    pair = _both(gold, predicted, parse)
    return pair if isinstance(pair, bool) else _same(*pair)


@built_in(
    _NUMERIC,
    "|gold - predicted| <= tolerance * |gold|",
    "ExtractBench paper, Table 4 and appendix C",
    "numbers within a relative margin",
    {
        "tolerance": {"minimum": 0.0},
        "mode": {"choices": ("relative", "absolute")},
        "parse": _PARSE,
    },
    estimate=near_numbers,
    reflexive={int, float},
    use="reported values; default for numbers",
    preset={"tolerance": 0.001},
    default_for="number",
)
def number_tolerance(
    gold: Any,
    predicted: Any,
    *,
    tolerance: float = 0.001,
    mode: str = "relative",
    parse: str = "plain",
) -> bool:
    r"""Accept numbers within a margin, a share of gold or a distance.

    Gold 0 needs exactly 0 in relative mode. NaN and infinities equal nothing but themselves.

    Parameters
    ----------
    tolerance : float, optional
        The margin: a share of gold (0.001 is 0.1 %), or the distance itself where `mode` is
        ``absolute``.
    mode : str, optional
        ``relative`` (ExtractBench paper, Table 4 and appendix C) or ``absolute``.

    Notes
    -----
    .. math::

        s(g, p) = \begin{cases} 1 & \text{if } |g - p| \leq m \\ 0 & \text{otherwise} \end{cases}
        \qquad m = \begin{cases} \tau\,|g| & \text{relative} \\ \tau & \text{absolute} \end{cases}

    Examples
    --------
    >>> number_tolerance(1_000_000, 1_000_500), number_tolerance(0.0005, 0.0010)
    (True, False)
    """
    pair = _both(gold, predicted, parse)
    if isinstance(pair, bool):
        return pair
    one, two = pair
    if _same(one, two):
        return True
    if not (_is_finite(one) and _is_finite(two)):
        return False
    try:
        gap = abs(one - two)
        margin = tolerance * abs(one) if mode == "relative" else tolerance
        if not math.isclose(gap, margin, rel_tol=1e-9) and math.isfinite(gap + margin):
            return gap <= margin
    except OverflowError:
        pass
    # at the edge, or beyond the range of floats: decide exactly, by the numbers as written
    first, second, share = as_written(one), as_written(two), as_written(tolerance)
    return abs(first - second) <= (share * abs(first) if mode == "relative" else share)


def _is_finite(number: int | float) -> bool:
    return isinstance(number, int) or math.isfinite(number)


@built_in(
    _NUMERIC,
    "int(gold) == int(predicted), both whole",
    README,
    "equal whole numbers",
    {"parse": _PARSE},
    estimate=equal_codes,
    reflexive={int, float},
    use="years, counts; the default for integers",
    default_for="integer",
)
def integer_exact(gold: Any, predicted: Any, *, parse: str = "plain") -> bool:
    r"""Compare as integers: ``3``, ``3.0`` and ``"3"`` are equal, ``3.7`` is not an integer.

    Notes
    -----
    .. math::

        s(g, p) = \begin{cases} 1 & \text{if } g = p \text{ and both are whole} \\
            0 & \text{otherwise} \end{cases}

    Examples
    --------
    >>> integer_exact(3, 3.0), integer_exact(3, "3"), integer_exact(3, 3.7)
    (True, True, False)
    """
    pair = _both(gold, predicted, parse)
    if isinstance(pair, bool):
        return pair
    if all(_is_finite(n) and n == int(n) for n in pair):
        return int(pair[0]) == int(pair[1])
    return json_text(gold) == json_text(predicted)


@built_in(
    ("boolean", "any"),
    "gold == predicted",
    README,
    "equal booleans",
    estimate=equal_codes,
    reflexive={bool},
    use="flags; the default for booleans",
    default_for="boolean",
)
def boolean_exact(gold: Any, predicted: Any) -> bool:
    r"""Compare booleans; the words ``true`` and ``false`` count as such, numbers do not.

    Two values that are not booleans are compared by their JSON text.

    Notes
    -----
    .. math::

        s(g, p) = \begin{cases} 1 & \text{if } g = p \\ 0 & \text{otherwise} \end{cases}

    Examples
    --------
    >>> boolean_exact(True, "TRUE"), boolean_exact(True, False), boolean_exact(True, 1)
    (True, False, False)
    """
    one, two = _as_boolean(gold), _as_boolean(predicted)
    if one is None and two is None:
        return json_text(gold) == json_text(predicted)
    return one is two


def _as_boolean(value: Any) -> bool | None:
    if isinstance(value, bool):
        return value
    words = {"true": True, "false": False}
    return words.get(value.strip().lower()) if isinstance(value, str) else None
