"""What a caller gave for a dataset: one, or what `load_dataset` finds it by."""

from __future__ import annotations

import os
from typing import TypeAlias

from extractbench_nb.batch.inputs import Documents
from extractbench_nb.benchmark.dataset import load_dataset
from extractbench_nb.errors import InputError

__all__ = ["DatasetLike", "documents_of"]

DatasetLike: TypeAlias = Documents | str | os.PathLike[str]

_PARTS = ("documents", "schema", "gold")


def documents_of(dataset: DatasetLike) -> Documents:
    """Return the dataset that was given, or read the one that was named.

    Parameters
    ----------
    dataset : Dataset, str or path
        One, or what `load_dataset` takes.

    Returns
    -------
    Documents
        With ``documents``, ``schema`` and ``gold``.

    Raises
    ------
    InputError
        It is something else.
    DatasetError
        It cannot be read.
    """
    if isinstance(dataset, str | os.PathLike):
        return load_dataset(dataset)
    given: object = dataset
    if not all(hasattr(given, part) for part in _PARTS):
        raise InputError(f"dataset is {type(given).__name__}; expected a Dataset, a name or a path")
    return dataset
