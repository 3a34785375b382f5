"""What a caller gave for a dataset: one, or what `load_dataset` finds it by."""

from __future__ import annotations

import os
from typing import Any, TypeAlias

from extractbench_nb.batch.inputs import Documents
from extractbench_nb.benchmark.dataset import Dataset, load_dataset
from extractbench_nb.errors import InputError

__all__ = ["DatasetLike", "dataset_of", "documents_of"]

DatasetLike: TypeAlias = Documents | str | os.PathLike[str] | None

_PARTS = ("documents", "schema", "gold")


def documents_of(dataset: DatasetLike) -> Documents:
    """Return the dataset that was given, or read the one that was named.

    Parameters
    ----------
    dataset : Dataset, str or path
        One, or what `load_dataset` takes; None is the sample dataset.

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
    given: Documents = _read(dataset)
    if not all(hasattr(given, part) for part in _PARTS):
        raise _no_dataset(given)
    return given


def dataset_of(dataset: Dataset | str | os.PathLike[str] | None) -> Dataset:
    """Return the dataset that was given, or read the one that was named; with its files.

    Parameters
    ----------
    dataset : Dataset, str or path
        One, or what `load_dataset` takes; None is the sample dataset.

    Returns
    -------
    Dataset
        With its listing and the paths of its PDFs.

    Raises
    ------
    InputError
        It is something else.
    DatasetError
        It cannot be read.

    Examples
    --------
    >>> dataset_of("sample").name
    'sample'
    """
    given = _read(dataset)
    if not isinstance(given, Dataset):
        raise _no_dataset(given)
    return given


def _read(dataset: Any) -> Any:
    named = dataset is None or isinstance(dataset, str | os.PathLike)
    return load_dataset(dataset) if named else dataset


def _no_dataset(given: object) -> InputError:
    return InputError(f"dataset is {type(given).__name__}; expected a Dataset, a name or a path")
