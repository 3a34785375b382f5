"""A metric for arrays that are tables: grid table similarity of the whole."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from extractbench_nb.errors import InputError, nearest
from extractbench_nb.grits.api import GRITS_VARIANTS
from extractbench_nb.grits.reading.records import tables_of_arrays
from extractbench_nb.grits.similarity import Numbers, pair_similarity, text_similarity
from extractbench_nb.grits.substructures import align
from extractbench_nb.metrics.arrays import PASS_THRESHOLD
from extractbench_nb.metrics.registry import REGISTRY, Metric, Param

__all__ = ["table_grits"]

_MEASURES = ("con", "top")


def table_grits(
    gold: Any,
    predicted: Any,
    *,
    measure: str = "con",
    variant: str = "paper",
    pass_threshold: float = 0.7,
) -> float:
    """Grid table similarity of two arrays of flat objects: a row an object, a column a key.

    A column is compared with the one of the same key; a key that only one side has counts as
    missing or made up. Rows are aligned in order, unlike the items of an alignment.

    Parameters
    ----------
    gold, predicted : list of dict
        Arrays; an item that is no object is a row with one text. Texts stay as they are, null and
        a missing key are empty, other values are written as by `read_table`: 1.0 is 1.
    measure : str, optional
        ``"con"``: content; ``"top"``: the shape alone.
    variant : str, optional
        How texts are compared, as in `grits`.
    pass_threshold : float, optional
        Score in [0, 1] that passes (used by the pass rule, not here).

    Returns
    -------
    float
        The f-score in [0, 1]; 1 where both are empty. With columns given by their keys it is the
        best there is, not a lower bound.

    Raises
    ------
    InputError
        A name is not known.

    Examples
    --------
    >>> year = [{"year": 2023, "sales": 10}, {"year": 2024, "sales": 12}]
    >>> table_grits(year, year[1:]), table_grits(year, [{"jahr": 2023, "sales": 10}])
    (0.6666666666666666, 0.3333333333333333)
    """
    del pass_threshold
    for name, value, known in (
        ("measure", measure, _MEASURES),
        ("variant", variant, GRITS_VARIANTS),
    ):
        if value not in known:
            raise InputError(f"{name} is {value!r}; {nearest(str(value), known)}")
    true, found = tables_of_arrays(*(_items(value) for value in (gold, predicted)))
    sizes: list[int] = [(len(table.texts) - 1) * table.grid.shape[1] for table in (true, found)]
    if not all(sizes):
        return float(sizes[0] == sizes[1])
    columns = [
        dict(zip(head, zip(*rows, strict=True), strict=True))
        for head, *rows in (true.texts, found.texts)
    ]
    alike = np.zeros((len(true.texts) - 1, len(found.texts) - 1))
    for key in columns[0].keys() & columns[1].keys():
        texts, others = columns[0][key], columns[1][key]
        alike += 1 if measure == "top" else _alike(texts, others, GRITS_VARIANTS[variant].texts)
    return 2.0 * align(alike).score / sum(sizes)


def _alike(texts: Sequence[str], others: Sequence[str], kind: str | None) -> Numbers:
    if kind is None:
        return text_similarity(texts, others)
    pairs = ((text, other) for text in texts for other in others)
    return np.array(pair_similarity(pairs, kind)).reshape(len(texts), len(others))


def _items(value: Any) -> Sequence[Any]:
    if value is None:
        return []
    return value if isinstance(value, list | tuple) else [value]


REGISTRY.add(
    Metric(
        "table_grits",
        table_grits,
        ("array",),
        (
            PASS_THRESHOLD,
            Param("measure", "string", "con", choices=_MEASURES),
            Param("variant", "string", "paper", choices=tuple(GRITS_VARIANTS)),
        ),
        "f-score >= pass_threshold",
        "after Smock et al. 2022, section 6",
        "grid table similarity of an array of flat objects",
        threshold="pass_threshold",
    )
)
