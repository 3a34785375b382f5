"""A metric for arrays that are tables: grid table similarity of the whole."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from extractbench_nb.grits.api import GRITS_VARIANTS, table_similarity
from extractbench_nb.grits.reading.records import tables_of_arrays
from extractbench_nb.metrics.arrays import PASS_THRESHOLD
from extractbench_nb.metrics.registry import REGISTRY, Metric, Param

__all__ = ["table_grits"]


def table_grits(
    gold: Any,
    predicted: Any,
    *,
    measure: str = "con",
    variant: str = "paper",
    pass_threshold: float = 0.7,
) -> float:
    """Grid table similarity of two arrays of flat objects: a row an object, a column a key.

    Unlike item alignment it asks that rows are in order: what the best common part of both tables
    is worth. Columns are in the order of gold's keys, since the keys of an object have none.

    Parameters
    ----------
    gold, predicted : list of dict
        Arrays; an item that is no object is a row with one text. Texts stay as they are, null and
        a missing key are empty, other values are their JSON text.
    measure : str, optional
        ``"con"``: content; ``"top"``: the shape alone.
    variant : str, optional
        As in `grits`.
    pass_threshold : float, optional
        Score in [0, 1] that passes (used by the pass rule, not here).

    Returns
    -------
    float
        The f-score in [0, 1]; 1 where both are empty.

    Examples
    --------
    >>> year = [{"year": 2023, "sales": 10}, {"year": 2024, "sales": 12}]
    >>> table_grits(year, year[1:]), table_grits(year, year[::-1])
    (0.6666666666666666, 0.625)
    """
    del pass_threshold
    tables = tables_of_arrays(*(_items(value) for value in (gold, predicted)))
    true, found = (t.part(range(1, t.grid.shape[0]), range(t.grid.shape[1])) for t in tables)
    return table_similarity(true, found, measure, variant)[0]


def _items(value: Any) -> Sequence[Any]:
    return value if isinstance(value, list | tuple) else [value]


REGISTRY.add(
    Metric(
        "table_grits",
        table_grits,
        ("array",),
        (
            PASS_THRESHOLD,
            Param("measure", "string", "con", choices=("con", "top")),
            Param("variant", "string", "paper", choices=tuple(GRITS_VARIANTS)),
        ),
        "f-score >= pass_threshold",
        "Smock et al. 2022, section 6",
        "grid table similarity of an array of flat objects",
        threshold="pass_threshold",
    )
)
