"""Metrics for dates."""

from __future__ import annotations

from typing import Any, Literal, cast

from extractbench_nb._json import json_text
from extractbench_nb.metrics.dates import dates_equal, parse_date
from extractbench_nb.metrics.registry import REGISTRY, Metric, Param
from extractbench_nb.metrics.strings import string_normalized

__all__ = ["date"]


def date(gold: Any, predicted: Any, *, precision: str = "day") -> bool:
    """Compare dates in any common format.

    Parameters
    ----------
    gold, predicted : object
        ``2025-04-06``, ``6 Apr 2025``, ``April 6th, 2025``, ``2025-04``, ``2025``, ...
    precision : str, optional
        ``day``, ``month`` or ``year``: how far the two must agree.

    Returns
    -------
    bool
        Whether they are the same date. Two texts that are no dates are compared as
        ``string_normalized`` does.

    Examples
    --------
    >>> date("2025-04-06", "6 Apr 2025"), date("2025-04-06", "2025-04-07", precision="month")
    (True, True)
    """
    one, two = parse_date(json_text(gold)), parse_date(json_text(predicted))
    if one is None and two is None:
        return string_normalized(gold, predicted)
    if one is None or two is None:
        return False
    return dates_equal(one, two, cast(Literal["day", "month", "year"], precision))


REGISTRY.add(
    Metric(
        "date",
        date,
        ("string", "any"),
        (Param("precision", "string", "day", choices=("day", "month", "year")),),
        "same date at the precision",
        "extractbench_nb",
        "dates in any common format",
    )
)
