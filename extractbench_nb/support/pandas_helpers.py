"""What pandas 2 and 3 do in different ways, and helpers that both need."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, TypeVar

import numpy as np
import numpy.typing as npt
import pandas as pd

from extractbench_nb.errors import InputError, no_column

Frame = TypeVar("Frame", pd.Series, pd.DataFrame)


def known_sums(values: Frame, keys: list[pd.Series], *, sort: bool) -> Frame:
    """Sum by keys; a sum with a missing part is missing, for which pandas 2 has no option."""
    is_known: Any = values.notna()
    sums: Any = values.groupby(keys, sort=sort).sum()
    found: Frame = sums.where(is_known.groupby(keys, sort=sort).all())
    return found


def numbered(values: pd.Series | pd.Index) -> tuple[npt.NDArray[np.int64], pd.Index]:
    """Give each value the number of its like, in the order of first rows; return these too.

    ``pandas.factorize`` does so too, but before version 3 it takes texts as equal that differ only
    after a NUL or in lone surrogates.
    """
    cells = pd.Index(values, dtype=object)
    distinct = cells.drop_duplicates()
    return distinct.get_indexer(cells).astype(np.int64), distinct


#: Whether a copy that can be written to needs values of its own; from pandas 3 it does not.
COPIES = int(pd.__version__.partition(".")[0]) < 3  # noqa: PLR2004


def own_copy(frame: Frame) -> Frame:
    """Return a copy that can be written to; the values are copied then, or at once by pandas 2."""
    return frame.copy(deep=COPIES)


def is_missing(value: Any) -> bool:
    """Whether a cell is missing; a list or an object never is."""
    return bool(pd.api.types.is_scalar(value) and pd.isna(value))


def refuse_missing(frame: pd.DataFrame, names: Iterable[str], what: str = "fields") -> None:
    """Raise `InputError` that names a column which a frame does not have, if any."""
    source: object = frame
    if not isinstance(source, pd.DataFrame):
        raise InputError(f"{what} is {type(source).__name__}; expected a DataFrame")
    for name in names:
        if name not in frame.columns:
            raise InputError(f"{what}: there is {no_column(name, frame)}")
