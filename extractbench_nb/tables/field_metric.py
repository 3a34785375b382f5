"""Grid table similarity of two arrays of flat objects, for the metric ``table_grits``."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from extractbench_nb.errors import InputError, nearest
from extractbench_nb.tables.grid_similarity import GRITS_VARIANTS
from extractbench_nb.tables.records import tables_of_arrays
from extractbench_nb.tables.similarity import Numbers, pair_similarity, text_similarity
from extractbench_nb.tables.substructures import align

__all__ = ["arrays_similarity"]


_MEASURES = ("con", "top")


def arrays_similarity(gold: Any, predicted: Any, measure: str, variant: str) -> float:
    """Return the f-score of two arrays of flat objects; see `field_metrics.arrays.table_grits`."""
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
