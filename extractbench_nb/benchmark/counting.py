"""Count what a gold document holds: leaf values, array items, fields outside arrays."""

from __future__ import annotations

from typing import Any, NamedTuple

__all__ = ["GoldCounts", "count_gold"]


class GoldCounts(NamedTuple):
    """What a JSON value holds.

    Attributes
    ----------
    gold_values : int
        Leaf values anywhere, nulls included (Table 2 of the ExtractBench paper).
    array_items : int
        Items of all arrays, those of arrays inside arrays included (Table 6).
    fields : int
        Leaf values that no array holds, nulls included.
    """

    gold_values: int
    array_items: int
    fields: int


def count_gold(value: Any) -> GoldCounts:
    """Count the leaf values and array items of a JSON value, at any depth.

    Parameters
    ----------
    value : object
        A parsed JSON value. An empty object or array holds no leaf value.

    Returns
    -------
    GoldCounts
        gold_values, array_items and fields, each 0 and up.

    Examples
    --------
    >>> count_gold({"name": "A", "rate": None, "parts": [{"tags": ["x", "y"]}, {"tags": []}]})
    GoldCounts(gold_values=4, array_items=4, fields=2)
    """
    leaves = items = fields = 0
    stack = [(value, False)]
    while stack:
        here, in_array = stack.pop()
        if isinstance(here, dict):
            stack.extend((child, in_array) for child in here.values())
        elif isinstance(here, list):
            items += len(here)
            stack.extend((child, True) for child in here)
        else:
            leaves += 1
            fields += not in_array
    return GoldCounts(leaves, items, fields)
