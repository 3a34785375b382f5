"""Points in time, with a zone or without: counted since 1970 on the way, as pandas counts them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
from pandas.api.types import pandas_dtype

if TYPE_CHECKING:
    import pyarrow as pa

__all__ = ["is_time", "time_array", "time_cells", "time_dtype", "time_type"]

_MISSING = np.iinfo(np.int64).min


def is_time(dtype: str) -> bool:
    """Say whether a dtype, as text, is one of points in time."""
    return dtype.startswith("datetime64[")


def time_dtype(dtype: Any) -> str | None:
    """Return the text of a dtype of points in time; None for any other dtype.

    Parameters
    ----------
    dtype : dtype
        Of a Series.

    Returns
    -------
    str or None
        Such as ``datetime64[us, Europe/Berlin]``. A zone that has no name, or one that means
        something else on another machine, becomes UTC.
    """
    if isinstance(dtype, np.dtype) and dtype.kind == "M":
        return str(dtype)
    if not isinstance(dtype, pd.DatetimeTZDtype):
        return None
    try:
        named = pd.DatetimeTZDtype.construct_from_string(str(dtype)) == dtype
    except TypeError:
        named = False
    portable = named and "local" not in str(dtype)
    return str(dtype) if portable else f"datetime64[{dtype.unit}, UTC]"


def time_cells(series: pd.Series[Any], dtype: str) -> list[int | None]:
    """Count since 1970 in UTC, in the unit of a dtype.

    Parameters
    ----------
    series : pandas.Series
        Points in time.
    dtype : str
        From `time_dtype`.

    Returns
    -------
    list of int or None
        None where a point is missing.
    """
    unit = time_type(dtype).unit
    counts = series.astype(pandas_dtype(dtype)).to_numpy(dtype=f"datetime64[{unit}]").view(np.int64)
    return [None if count == _MISSING else count for count in counts.tolist()]


def time_type(dtype: str) -> pa.DataType:
    """Return the Arrow type of a dtype."""
    import pyarrow as pa

    return pa.Array.from_pandas(pd.Series([], dtype=pandas_dtype(dtype))).type


def time_array(data: pa.ChunkedArray, dtype: str) -> Any:
    """Make the pandas array of a dtype from an Arrow column; Parquet may have changed its unit."""
    import pyarrow as pa

    kind = time_type(dtype)
    counts = data.cast(kind).cast(pa.int64()).fill_null(_MISSING).to_numpy()
    points = pd.DatetimeIndex(np.asarray(counts).view(f"datetime64[{kind.unit}]"))
    zone = getattr(pandas_dtype(dtype), "tz", None)
    return (points if zone is None else points.tz_localize("UTC").tz_convert(zone)).array
